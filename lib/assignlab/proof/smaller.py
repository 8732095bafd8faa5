"""Smaller groups that still show a difference: the steps of shrinking."""

import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from assignlab.group.document import Document


def smaller(document: Document) -> Iterator[Document]:
    """Documents that are one step smaller, the largest steps first."""

    def with_(key: str, index: int, entry: dict) -> Document:
        entries = list(document[key])
        entries[index] = entry
        return {**document, key: entries}

    members, topics = document["members"], document["topics"]
    for key in ("members", "topics"):
        for part in _parts(len(document[key])):
            yield {**document, key: document[key][: part.start] + document[key][part.stop :]}
    for i, member in enumerate(members):
        for name in ("owned", "generation", "sub_generation", "instance", "rack", "streams"):
            if name in member:
                yield with_("members", i, without(member, name))
    for i, topic in enumerate(topics):
        if "racks" in topic:
            yield with_("topics", i, without(topic, "racks"))
        for part in _parts(len(topic.get("brokers", []))):
            kept = topic["brokers"][: part.start] + topic["brokers"][part.stop :]
            yield with_("topics", i, {**topic, "brokers": kept})
        for b, (broker, partitions) in enumerate(topic.get("brokers", [])):
            for count in _fewer(partitions):
                brokers = list(topic["brokers"])
                brokers[b] = [broker, count]
                yield with_("topics", i, {**topic, "brokers": brokers})
        for count in _fewer(topic.get("partitions", 0)):
            changed = {**topic, "partitions": count}
            if "racks" in topic:
                changed["racks"] = topic["racks"][:count]
            yield with_("topics", i, changed)
    for i, member in enumerate(members):
        for name in ("owned", "topics"):
            entries = member.get(name) or []
            for part in _parts(len(entries)):
                changed = {**member, name: entries[: part.start] + entries[part.stop :]}
                if name == "topics" and isinstance(member.get("streams"), list):
                    streams = member["streams"]
                    changed["streams"] = streams[: part.start] + streams[part.stop :]
                yield with_("members", i, changed)


def without(entry: dict[str, Any], name: str) -> dict[str, Any]:
    """The entry less one of its fields."""
    return {key: value for key, value in entry.items() if key != name}


def smallest(
    document: Document, shows: Callable[[Document], bool], seconds: float = math.inf
) -> Document:
    """The document cut down, member by member, topic by topic, partition by partition, claim by
    claim, until every further cut loses what ``shows`` looks for, or the time is up."""
    deadline = time.monotonic() + seconds

    def still(candidate: Document) -> bool:
        return time.monotonic() < deadline and shows(candidate)

    while (cut := first_cut(document, still)) is not None:
        document = cut
    return document


def first_cut(document: Document, shows: Callable[[Document], bool]) -> Document | None:
    """A smaller document that still shows it; None proves that there is nothing to leave out."""
    return next((cut for cut in smaller(document) if shows(cut)), None)


def _fewer(count: int) -> list[int]:
    return sorted({0, count // 2, count - 1} - {count, -1})


def _parts(length: int) -> Iterator[range]:
    """Halves first, then single entries."""
    if length > 3:
        yield range(length // 2)
        yield range(length // 2, length)
    for i in range(length):
        yield range(i, i + 1)
