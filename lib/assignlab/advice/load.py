"""What the members have to do, where lag or two snapshots tell it: per member, and its law."""

from itertools import repeat
from typing import Any

from assignlab.advice.report import Table
from assignlab.advice.subject import NotAnswerable, subject, untold
from assignlab.errors import AssignlabError
from assignlab.groups.show import claims_by_name
from assignlab.optimum.load import load_bounds
from assignlab.words import counted


def with_rates(document: dict[str, Any], later: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The document with records a second as weights, from the log ends of two snapshots.

    Raises AssignlabError where one of them lacks the log end of a partition.
    """
    after = {topic["name"]: topic.get("ends") for topic in later["topics"]}
    topics, produced = [], 0
    for topic in document["topics"]:
        name, begun = topic["name"], topic.get("ends") or []
        ended = (after.get(name) or [])[: len(begun)]
        if {len(begun), len(ended)} != {len(_queues(topic))} or None in [*begun, *ended]:
            raise AssignlabError(
                f"rates: both snapshots need the log end of every partition of {name}"
                " (kafka-consumer-groups --describe has them)"
            )
        grown = [new - old for old, new in zip(begun, ended, strict=True)]
        if min(grown, default=0) < 0:
            raise AssignlabError(
                f"rates: a log of {name} ends earlier in the later snapshot: they are the other way"
                " round, or the topic was created anew"
            )
        produced += sum(grown)
        topics.append(topic | {"weights": [records / seconds for records in grown]})
    read = counted(produced, "record")
    told = f"weights: records a second, {read} in {seconds:g} s between two snapshots"
    inferred = [s for s in document.get("inferred", []) if not s.startswith("weights: ")]
    return document | {"topics": topics, "inferred": [*inferred, told], "rates": True}


def load(document: dict[str, Any]) -> tuple[list[str], list[Table]]:
    """(sentences, tables) of the load per member; nothing where the texts tell none."""
    topics = document["topics"]
    if untold(document) or all(topic.get("weights") is None for topic in topics):
        return [], []
    weights = {
        topic["name"]: dict(zip(_queues(topic), topic.get("weights") or repeat(1.0), strict=False))
        for topic in topics
    }
    unit = _unit(document)
    per_member, owned = [], set()
    for member in claims_by_name(document):
        own = [
            (weights[topic][partition], topic, partition)
            for topic, partition in member.get("owned") or ()
            if topic in weights and partition in weights[topic]
        ]
        owned |= {(topic, partition) for _, topic, partition in own}
        weight, topic, partition = max(own, default=(0, None, None))
        heaviest = f"{topic}-{partition}: {amount(weight)}" if weight else None
        per_member.append((sum(weight for weight, *_ in own), member["id"], len(own), heaviest))
    per_member.sort(key=lambda row: -row[0])
    if not any(row[2] for row in per_member):
        return [], []
    read = {topic for member in document["members"] for topic in member.get("topics", weights)}
    shared = {(t, p): w for t, each in weights.items() if t in read for p, w in each.items()}
    if not shared:
        return [], []
    total, largest = sum(shared.values()), max(shared.values())
    if not total:
        return [f"No load to compare: {unit} are 0 everywhere."], []
    mean = total / len(per_member)
    try:
        bound = subject(document).group.prepared(load_bounds).least_largest
    except NotAnswerable:
        bound = max(mean, largest)
    free = sum(weight for place, weight in shared.items() if place not in owned)
    beside = (
        f"partitions without an owner {amount(free)}" if free > 0 else f"the mean is {amount(mean)}"
    )
    said = (
        f"Load in {unit}: the most loaded member has {amount(per_member[0][0])}, {beside};"
        f" no assignment {'of all ' * (free > 0)}can be below {amount(bound)}"
        + (", since one partition alone has that much." if mean < bound == largest else ".")
    )
    rows = [(amount(row[0]), *row[1:]) for row in per_member]
    columns = (unit, "member", "partitions", "heaviest partition")
    return [said], [Table("load", f"Load in {unit}", columns, rows)]


def _unit(document: dict[str, Any]) -> str:
    if document.get("rates"):
        return "records a second"
    of_lag = any(said.startswith("weights: the lag") for said in document.get("inferred") or ())
    return "records of lag" if of_lag else "weights"


def amount(load: float) -> float:
    """A load as it is told: a whole number from a thousand on, else three digits.

    >>> amount(3580245.4), amount(12.3456789), amount(7.0)
    (3580245, 12.3, 7)
    """
    if abs(load) >= 1000 or float(load).is_integer():
        return round(load)
    return float(f"{load:.3g}")


def _queues(topic: dict[str, Any]) -> list:
    if topic.get("brokers") is not None:
        return [f"{broker}-{n}" for broker, count in topic["brokers"] for n in range(count)]
    return list(range(topic["partitions"]))
