"""The short form in which published examples are written down, and its reading."""

import re
from importlib.resources import files

from assignlab.group.document import Document
from assignlab.proof.verify import Answer

PUBLISHED = files("assignlab.published") / "data"


def described(group: dict) -> Document:
    """The group document of a group in the short form of the file.

    >>> group = {"topics": {"t{0..1}": 2}, "members": {"a": {"topics": "all", "owned": "t0p{0..1}"}}}
    >>> described(group)["members"]
    [{'id': 'a', 'topics': ['t0', 't1'], 'owned': [['t0', 0], ['t0', 1]]}]
    """
    topics = [
        {"name": name, **_topic(facts)}
        for pattern, facts in group["topics"].items()
        for name in spelled_out(pattern)
    ]
    everything = [topic["name"] for topic in topics]
    members = []
    for pattern, facts in group["members"].items():
        facts = dict(facts) if isinstance(facts, dict) else {"topics": facts}
        if facts["topics"] == "all":
            facts["topics"] = everything
        if "owned" in facts:
            claims = map(spelled_out, facts["owned"].split())
            facts["owned"] = [pair_of(text) for some in claims for text in some]
        members += [{"id": name, **facts} for name in spelled_out(pattern)]
    return {"topics": topics, "members": members}


def _topic(facts: int | dict) -> dict:
    """A number of partitions, or all facts; racks may be words, a letter per replica."""
    if isinstance(facts, int):
        return {"partitions": facts}
    if isinstance(facts.get("racks"), str):
        return {**facts, "racks": [list(replicas) for replicas in facts["racks"].split()]}
    return facts


def spelled_out(pattern: str) -> list[str]:
    """The names that a pattern stands for.

    >>> spelled_out("c{08..10}"), spelled_out("c")
    (['c08', 'c09', 'c10'], ['c'])
    """
    found = re.fullmatch(r"(.*)\{(\d+)\.\.(\d+)\}(.*)", pattern)
    if found is None:
        return [pattern]
    start, first, last, end = found.groups()
    return [f"{start}{i:0{len(first)}}{end}" for i in range(int(first), int(last) + 1)]


def pair_of(text: str) -> list:
    """``t0p1`` as a group document has it: ``["t0", 1]``."""
    topic, _, partition = text.rpartition("p")
    return [topic, int(partition)]


# ---- answers and groups as text ------------------------------------------------------------------


def lists(document: Document, answer: Answer, *_) -> str:
    """Every member's partitions, in order."""
    return "; ".join(
        f"{member['id']}: {' '.join(map(short, answer['assignment'][member['id']])) or '-'}"
        for member in document["members"]
    )


def short(pair: list) -> str:
    """``t0p1``, without the thread of Kafka 0.8; for queues on named brokers ``t0pbroker-1``."""
    topic, partition, *rest = pair
    return f"{topic}p{partition}" + "".join(f"-{n}" for n in rest if isinstance(n, int))


def group_text(document: Document) -> str:
    """A group in a line: topics with their partitions, members with topics and claims.

    >>> group_text({"topics": [{"name": "t", "partitions": 2}], "members": [
    ...     {"id": "A", "topics": ["t"], "owned": [["t", 1]], "generation": 3}]})
    't x2 | A reads t, claims tp1 (generation 3)'
    """
    topics = []
    for topic in document["topics"]:
        count = topic.get("partitions", sum(n for _, n in topic.get("brokers", [])))
        racks = " on " + ", ".join("+".join(r) for r in topic["racks"]) if "racks" in topic else ""
        topics.append(f"{topic['name']} x{count}{racks}")
    members = []
    for member in document["members"]:
        told = f"{member['id']} reads {', '.join(member['topics']) or 'nothing'}"
        told += f" on {member['rack']}" if "rack" in member else ""
        if "owned" in member:
            claim = " ".join(f"{topic}p{number}" for topic, number in member["owned"])
            told += f", claims {claim or 'nothing'}"
            told += f" (generation {member['generation']})" if "generation" in member else ""
        members.append(told)
    return " | ".join([", ".join(topics) or "no topics", *members])
