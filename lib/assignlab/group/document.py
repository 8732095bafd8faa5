"""The group document: one JSON object for one group at one rebalance, and its answer.

``parse`` turns a document into a :class:`~assignlab.group.model.Group`, ``dump`` back;
:mod:`assignlab.assignors.answer` runs the strategy that a document names.
Unknown fields are ignored.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from assignlab.errors import DocumentError, shown
from assignlab.group.assignment import Assignment, code, partition_names, partition_of
from assignlab.group.model import (
    ABSENT,
    MIXED,
    NO_METADATA,
    Claims,
    Group,
    Members,
    Topics,
    subscriptions,
)
from assignlab.jvm.names import Names

Document = dict[str, Any]
"""A group document, as JSON has it."""
T = TypeVar("T")
OPTIONS = ("idcs", "vnodes", "inner", "config", "capacity", "subscribed")
MAX_NUMBER = 2**31 - 1
MAX_PARTITIONS = 10_000_000
"""Of all topics together: their lists would fill the memory of most machines."""
MAX_STREAMS = 1_000_000
"""Of all members together, over all their topics: each becomes a consumer thread with a name."""
MAX_WEIGHT = 1e15
"""Of one partition: beside eight of them a weight of 1 still counts in the sum."""


def parse(document: Mapping[str, Any]) -> Group:
    """The group of a document; raises :class:`DocumentError` naming the field and the reason."""
    expect(document, dict, "document", "a JSON object")
    topic_entries = required(document, "topics", list, "an array of topics")
    member_entries = required(document, "members", list, "an array of members")
    topics = _topics_within_reach(topic_entries)
    index = _index([topic["name"] for topic in topics], "topics", "topic")
    with_id = [topic for topic in topics if topic["id"] is not None]
    _index([topic["id"] for topic in with_id], "topics", "topic id")
    by_id = {topic["id"]: topic["name"] for topic in with_id}
    by_id |= {name: name for name in index}  # a claim names a topic by name first
    queue_index = {
        t: {"{}-{}".format(*queue): i for i, queue in enumerate(topic["queues"])}
        for t, topic in enumerate(topics)
        if topic["queues"] is not None
    }

    def named(name: str) -> int:
        return index.setdefault(name, len(index))

    def claimed(name_or_id: str, partition: Any) -> int:
        topic = named(by_id.get(name_or_id, name_or_id))
        return code(topic, _partition(partition, queue_index.get(topic)))

    each = _each(member_entries, "members", lambda entry: _member(entry, named, claimed))
    members = list(each)
    _index([member["id"] for member in members], "members", "member id")
    _streams_within_reach(members)
    options = {name: document[name] for name in OPTIONS if document.get(name) is not None}
    for name, only in MIXED.items():
        if (given := options.get(name, only)) != only:
            raise DocumentError(name, f"expected {only!r}, got {shown(given)}")
    return Group(_topics(topics, index), _members(members), _claims(members), options)


def _each(entries: Sequence, field: str, read: Callable[[Any], T]) -> Iterator[T]:
    """What ``read`` makes of every entry; what it refuses is a field of that entry."""
    for i, entry in enumerate(entries):
        try:
            yield read(entry)
        except DocumentError as error:
            place = f"{field}[{i}].{error.field}".rstrip(".")
            raise DocumentError(place, error.reason) from None


def _topics_within_reach(entries: list) -> list[dict[str, Any]]:
    topics, total = [], 0
    for topic in _each(entries, "topics", _topic):
        topics.append(topic)
        total += topic["partitions"]
        if total > MAX_PARTITIONS:
            raise DocumentError(
                "topics",
                f"have more than {MAX_PARTITIONS} partitions together: ask for fewer, or for the "
                "topics in several documents",
            )
    return topics


def _streams_within_reach(members: list[dict]) -> None:
    total = 0
    for i, member in enumerate(members):
        streams, topics = member["streams"], len(member["topics"])
        total += sum(streams) if isinstance(streams, tuple) else (streams or 0) * topics
        if total > MAX_STREAMS:
            raise DocumentError(
                f"members[{i}].streams",
                f"makes more than {MAX_STREAMS} streams of all members and topics together: ask for "
                "fewer, those beyond a topic's partitions stay idle",
            )


def _topic(entry: Any) -> dict[str, Any]:
    expect(entry, dict, "", "an object")
    name = required(entry, "name", str, "a string")
    queues = None
    if entry.get("brokers") is not None:
        brokers = _pairs(entry["brokers"], "brokers", str, "[broker, count]")
        partitions = sum(_count(count, "brokers") for _, count in brokers)
        _count(partitions, "brokers", MAX_PARTITIONS)
        if entry.get("partitions") not in (None, partitions):
            raise DocumentError(
                "brokers",
                f"have {partitions} partitions, but partitions is {entry['partitions']!r}",
            )
        queues = tuple((broker, number) for broker, count in brokers for number in range(count))
    else:
        partitions = required(entry, "partitions", int, "a count of 0 or more")
        _count(partitions, "partitions", MAX_PARTITIONS)
    racks = _optional(entry, "racks", list, "one list of racks per partition")
    if racks is not None:
        if len(racks) != partitions:
            raise DocumentError("racks", f"has {len(racks)} entries for {partitions} partitions")
        racks = tuple(tuple(map(_rack, _list(replicas, "racks"))) for replicas in racks)
    weights = entry.get("weights")
    if weights is not None:
        weights = _weights(weights, partitions)
    return {
        "name": name,
        "partitions": partitions,
        "racks": racks,
        "id": _optional(entry, "id", str, "a Uuid in base64"),
        "queues": queues,
        "weights": weights,
    }


def _weights(value: Any, partitions: int) -> np.ndarray:
    weights = list(_each(_list(value, "weights"), "weights", _weight))
    if len(weights) != partitions:
        raise DocumentError("weights", f"has {len(weights)} entries for {partitions} partitions")
    return np.array(weights, dtype=np.float64)


def _weight(value: Any) -> float:
    expect(value, (int, float), "", "a number of 0 or more")
    return _within(value, "", 0, MAX_WEIGHT)


def _member(
    entry: Any, named: Callable[[str], int], claimed: Callable[[str, Any], int]
) -> dict[str, Any]:
    expect(entry, dict, "", "an object")
    names = _list(entry.get("topics", []), "topics")
    for name in names:
        expect(name, str, "topics", "topic names")
    member = {
        "id": required(entry, "id", str, "a string"),
        "topics": [named(name) for name in names],
        "owned": None,
    }
    for name in ("instance", "rack"):
        member[name] = _optional(entry, name, str, "a string")
    for name in ("generation", "sub_generation"):
        value = _optional(entry, name, int, "an integer")
        member[name] = ABSENT if value is None else _within(value, name, -MAX_NUMBER, MAX_NUMBER)
    member["streams"] = _streams(entry.get("streams"), len(names))
    owned = entry.get("owned")
    if owned is not None:
        member["owned"] = [
            claimed(topic, partition)
            for topic, partition in _pairs(owned, "owned", str, "[topic, partition]")
        ]
    return member


def _partition(value: Any, queues: Mapping[str, int] | None) -> int:
    if isinstance(value, str) and queues is not None:
        if value not in queues:
            raise DocumentError("owned", f"no partition {shown(value)}")
        return queues[value]
    return _count(value, "owned")


def _streams(value: Any, topics: int) -> int | tuple[int, ...] | None:
    if value is None:
        return None
    if isinstance(value, list):
        if len(value) != topics:
            raise DocumentError("streams", f"has {len(value)} entries for {topics} topics")
        return tuple(_count(number, "streams", MAX_STREAMS) for number in value)
    expect(value, int, "streams", "a whole number of 0 or more, or a list of one for each topic")
    return _count(value, "streams", MAX_STREAMS)


def _topics(topics: list[dict], index: Mapping[str, int]) -> Topics:
    partitions = np.full(len(index), NO_METADATA, dtype=np.int64)
    partitions[: len(topics)] = [topic["partitions"] for topic in topics]

    def column(name):
        if all(topic[name] is None for topic in topics):
            return None
        return tuple(t[name] for t in topics) + (None,) * (len(index) - len(topics))

    columns = [column(name) for name in ("racks", "id", "queues", "weights")]
    return Topics(Names(tuple(index)), partitions, *columns)


def _members(members: list[dict]) -> Members:
    def column(name):
        values = tuple(member[name] for member in members)
        return None if all(value is None for value in values) else values

    names = Names(tuple(member["id"] for member in members))
    shared = subscriptions([member["topics"] for member in members])
    return Members(names, *shared, column("instance"), column("rack"), column("streams"))


def _claims(members: list[dict]) -> Claims:
    lists = [member["owned"] or [] for member in members]
    return Claims(
        np.cumsum([0] + [len(claim) for claim in lists], dtype=np.int64),
        np.array([code for claim in lists for code in claim], dtype=np.int64),
        np.array([member["owned"] is not None for member in members], dtype=np.bool_),
        np.array([member["generation"] for member in members], dtype=np.int64),
        np.array([member["sub_generation"] for member in members], dtype=np.int64),
    )


def expect(value: Any, kind: type | tuple[type, ...], field: str, wanted: str) -> None:
    """Raise :class:`DocumentError` unless the value is of that kind; no number is a bool."""
    if not isinstance(value, kind) or value is True or value is False:
        raise DocumentError(field, f"expected {wanted}, got {shown(value)}")


def required(entry: Mapping, name: str, kind: type, wanted: str) -> Any:
    """The field ``name`` of an entry; raises :class:`DocumentError` unless it is there and of that
    kind."""
    if name not in entry:
        raise DocumentError(name, f"is missing; expected {wanted}")
    expect(entry[name], kind, name, wanted)
    return entry[name]


def _optional(entry: Mapping, name: str, kind: type, wanted: str) -> Any:
    """The field ``name``, None where it is not given; otherwise as :func:`required`."""
    value = entry.get(name)
    if value is not None:
        expect(value, kind, name, wanted)
    return value


def _list(value: Any, field: str) -> list:
    expect(value, list, field, "an array")
    return value


def _count(value: Any, field: str, most: int = MAX_NUMBER) -> int:
    expect(value, int, field, "a whole number of 0 or more")
    return _within(value, field, 0, most)


def _within(value: float, field: str, least: int, most: float) -> Any:
    if not least <= value <= most:  # nor NaN
        raise DocumentError(field, f"{shown(value)} is not between {least} and {most:.12g}")
    return value


def _rack(value: Any) -> str | None:
    if value is not None:
        expect(value, str, "racks", "rack names or null")
    return value


def _pairs(value: Any, field: str, first: type, wanted: str) -> list:
    for pair in _list(value, field):
        if not (isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], first)):
            raise DocumentError(field, f"expected {wanted}, got {shown(pair)}")
    return value


def _index(names: list[str], field: str, kind: str) -> dict[str, int]:
    index: dict[str, int] = {}
    for name in names:
        if name in index:
            raise DocumentError(field, f"{kind} {shown(name)} appears twice")
        index[name] = len(index)
    return index


def _entry(column: Sequence[T] | None, index: int) -> T | None:
    """What a column that may be missing has for one topic or member."""
    return None if column is None else column[index]


def _brokers(queues: Sequence[tuple[str, int]]) -> list[list]:
    """[broker, count] of queues; a broker that was listed twice is again.

    >>> _brokers([("a", 0), ("b", 0), ("a", 1), ("a", 0)])
    [['a', 2], ['b', 1], ['a', 1]]
    """
    listed: list[list] = []
    last: dict[str, list] = {}
    for broker, number in queues:
        if number == 0:
            last[broker] = [broker, 0]
            listed.append(last[broker])
        last[broker][1] += 1
    return listed


def dump(group: Group) -> dict[str, Any]:
    """The document of a group: ``parse(dump(g))`` describes the same group as ``g``."""
    topics, members, claims = group.topics, group.sent, group.claims
    document: dict[str, Any] = {"topics": [], "members": []}
    listed = zip(topics.names, topics.queues or (), strict=False)
    # A broker is listed twice: claims by number, since a name stands for two partitions.
    twice = {name for name, queues in listed if queues and len({*queues}) < len(queues)}
    for t, name in enumerate(topics.names):
        if topics.partitions[t] == NO_METADATA:
            continue
        entry: dict[str, Any] = {"name": name}
        if (queues := _entry(topics.queues, t)) is not None:
            entry["brokers"] = _brokers(queues)
        else:
            entry["partitions"] = int(topics.partitions[t])
        if (racks := _entry(topics.racks, t)) is not None:
            entry["racks"] = [list(replicas) for replicas in racks]
        if (uuid := _entry(topics.ids, t)) is not None:
            entry["id"] = uuid
        if (weights := _entry(topics.weights, t)) is not None:
            entry["weights"] = [int(w) if w.is_integer() else w for w in weights.tolist()]
        document["topics"].append(entry)
    for m, name in enumerate(members.names):
        entry = {"id": name, "topics": [topics.names[t] for t in members.topics_of(m).tolist()]}
        for field, column in (("instance", members.instances), ("rack", members.racks)):
            if (value := _entry(column, m)) is not None:
                entry[field] = value
        if (streams := _entry(members.streams, m)) is not None:
            entry["streams"] = list(streams) if isinstance(streams, tuple) else streams
        if claims.present[m]:
            owned = claims.codes[claims.offsets[m] : claims.offsets[m + 1]]
            named = zip(partition_names(group, owned), partition_of(owned).tolist(), strict=True)
            entry["owned"] = [[t, p if t in twice else name] for (t, name), p in named]
        for field, generations in (
            ("generation", claims.generation),
            ("sub_generation", claims.sub_generation),
        ):
            if generations[m] != ABSENT:
                entry[field] = int(generations[m])
        document["members"].append(entry)
    return document | dict(group.options)


def lists(group: Group, assignment: Assignment) -> dict[str, list[list]]:
    """An assignment for people: ``[topic, partition]`` pairs by member, in order."""
    pairs = partition_names(group, assignment.codes)
    if assignment.threads is not None:
        owners, members = assignment.owners.tolist(), group.members.names
        pairs = [
            [*pair, f"{members[m]}-{thread}"]
            for pair, m, thread in zip(pairs, owners, assignment.threads.tolist(), strict=True)
        ]
    return named_lists(group, assignment, pairs)


def named_lists(group: Group, assignment: Assignment, entries: list) -> dict[str, list]:
    """Member name -> its part of ``entries``, of which there is one for every code, in order."""
    bounds = assignment.offsets.tolist()
    return {name: entries[bounds[m] : bounds[m + 1]] for m, name in enumerate(group.members.names)}
