"""What a group document says of its group: sizes, gap, idle members, topics; as data and text."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from unicodedata import east_asian_width

from assignlab.groups.text import printable
from assignlab.words import counted

NOBODY = ("Empty", "Dead")
"""The states of a group without members."""


def summary(group: dict[str, Any]) -> dict[str, Any]:
    """Sizes of a group as plain data, from its document.

    ``members``: per member ``partitions`` (None where the text does not say) and ``topics``
    (partitions by topic); ``fullest``, ``emptiest``, ``gap`` (the difference) and ``idle`` (ids)
    count partitions per member; ``counted_idle`` is a number that the text gives instead.
    ``topics``: per topic the same among its subscribers, ``owned`` and ``without_owner``
    partitions, and the sum of its ``weights``. Counts are None where the text does not say who
    holds what.
    """
    documents = claims_by_name(group)
    claiming = any(member.get("owned") is not None for member in documents)
    members = [_member(member, claiming) for member in documents]
    sizes = [member["partitions"] for member in members]
    known = bool(sizes) and None not in sizes
    return {
        **{name: group.get(name) for name in ("group", "state", "assignor", "strategy")},
        **_spread(sizes if known else []),
        "idle": [m["id"] for m in members if m["partitions"] == 0] if known else None,
        "counted_idle": group.get("idle"),
        "members": members,
        "topics": [
            _topic(topic, documents, members, group.get("state")) for topic in group["topics"]
        ],
        "inferred": group.get("inferred", []),
    }


def claims_by_name(group: dict[str, Any]) -> list[dict[str, Any]]:
    """The members of a document; claims that name a topic by its id name it by its name."""
    names = {topic["id"]: topic["name"] for topic in group["topics"] if topic.get("id")}
    return [
        member | {"owned": [(names.get(t, t), p) for t, p in member["owned"]]}
        if member.get("owned")
        else member
        for member in group["members"]
    ]


def _member(member: dict[str, Any], claiming: bool) -> dict[str, Any]:
    """``claiming``: whether any member of the group has a claim; who leaves it out then has none."""
    owned = member.get("owned", [] if claiming else None)
    held = Counter(topic for topic, _ in owned or ())
    return {
        **{name: member.get(name) for name in ("id", "instance", "client", "host")},
        "partitions": member.get("partitions") if owned is None else len(owned),
        "topics": None if owned is None else dict(held),
    }


def _topic(
    topic: dict[str, Any], documents: list[dict], members: list[dict], state: str | None
) -> dict[str, Any]:
    name, weights, count = topic["name"], topic.get("weights"), partitions_in(topic)
    subscribers = [
        member["topics"]
        for document, member in zip(documents, members, strict=True)
        if name in document.get("topics", ())
    ]
    known = bool(subscribers) and None not in subscribers
    sizes = [held.get(name, 0) for held in subscribers] if known else []
    claims = {tuple(p) for d in documents for p in d.get("owned") or () if p[0] == name}
    owned = {p for p in claims if topic.get("brokers") is not None or p[1] < count}
    return {
        "topic": name,
        "partitions": count,
        "subscribers": len(subscribers),
        **_spread(sizes),
        "without_owner": max(0, count - len(owned))
        if known or (not documents and state in NOBODY)
        else None,
        "weight": None if weights is None else sum(weights),
    }


def partitions_in(topic: dict[str, Any]) -> int:
    """How many partitions a topic of a document has, on all its brokers."""
    brokers = topic.get("brokers")
    return topic["partitions"] if brokers is None else sum(count for _, count in brokers)


def _spread(sizes: list[int]) -> dict[str, int | None]:
    if not sizes:
        return {"fullest": None, "emptiest": None, "gap": None}
    return {"fullest": max(sizes), "emptiest": min(sizes), "gap": max(sizes) - min(sizes)}


def name_of(group: dict[str, Any]) -> str:
    """The name of a group, as answers say it."""
    return group.get("group") or "a group without a name"


def title(group: dict[str, Any]) -> str:
    """Name, state and strategy of a group, from its document or its summary."""
    facts = [group.get("state"), group.get("assignor") or group.get("strategy")]
    return ", ".join([name_of(group), *filter(None, facts)])


MEMBER = ("partitions", "id", "instance", "client", "host")
TOPIC = (
    "topic", "partitions", "subscribers", "fullest", "emptiest", "gap", "without_owner", "weight",
)  # fmt: skip
"""What tables of members and of topics show, by the names of :func:`summary`."""
HEADS = {name: name.replace("_", " ") for name in (*MEMBER, *TOPIC)} | {"id": "member"}
"""Their headings."""


def tables(found: dict[str, Any]) -> Iterator[tuple[str, list[str], list[tuple]]]:
    """(name, headings, rows) of a summary's members, those that hold most first, and of its topics."""
    members = sorted(found["members"], key=lambda member: -(member["partitions"] or 0))
    for name, fields, told in (("members", MEMBER, members), ("topics", TOPIC, found["topics"])):
        rows = [tuple(row[field] for field in fields) for row in told]
        yield name, [HEADS[field] for field in fields], rows


def as_text(found: dict[str, Any]) -> str:
    """A summary for people; what was inferred stands above every result."""
    lines = [
        title(found),
        *(f"  inferred: {sentence}" for sentence in found["inferred"]),
        "",
        sentence(found),
    ]
    for _, heads, rows in tables(found):
        if rows:
            lines += ["", *aligned(heads, rows)]
    return "\n".join(printable(line) for line in lines)


def sentence(found: dict[str, Any]) -> str:
    """Sizes, gap and idle members of a summary, in one sentence."""
    topics = [t for t in found["topics"] if t["subscribers"]] or found["topics"]
    partitions = sum(topic["partitions"] for topic in topics)
    size = counted(len(found["members"]), "member")
    size += (
        f", {counted(partitions, 'partition')} of {counted(len(topics), 'topic')}"
        if found["topics"]
        else "; the text names no topic"
    )
    if not found["members"] and found["state"] in NOBODY:
        return f"{size}; nobody holds anything."
    if found["gap"] is None:
        idle = f"; idle: {found['counted_idle']}" if found["counted_idle"] is not None else ""
        return f"{size}; who holds what is not known{idle}."
    idle = f"{len(found['idle'])} idle" if found["idle"] else "nobody idle"
    return (
        f"{size}: the fullest member holds {found['fullest']}, the emptiest {found['emptiest']}"
        f" (gap {found['gap']}), {idle}."
    )


def aligned(
    head: Sequence[str], rows: Sequence[Sequence], shown: Callable[[Any], str] = str
) -> list[str]:
    """Left-aligned columns; a dash where there is nothing, no column where there is nothing at all.

    ``shown``: a cell as text.
    """
    keep = [i for i in range(len(head)) if any(row[i] is not None for row in rows)]
    cells = [[head[i] for i in keep]]
    cells += [["-" if row[i] is None else printable(shown(row[i])) for i in keep] for row in rows]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    return [
        "  ".join(
            cell + " " * (most - width(cell)) for cell, most in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def width(text: str) -> int:
    """How many columns of a terminal a text takes.

    >>> width("orders"), width("订单")
    (6, 4)
    """
    return sum(2 if east_asian_width(letter) in "WF" else 1 for letter in text)
