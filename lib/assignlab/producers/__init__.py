"""How producers choose partitions, discovered: one module for each rule or client.

    producers.partitions_of("default@2.0", ["TT0124", None, ""], partitions=15)

A module is found by its attribute ``PARTITIONERS``. Names and facts (client, versions, source) are
data, as those of strategies.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from assignlab import discovery
from assignlab.errors import UnknownName, refuse_unknown
from assignlab.producers import hashes
from assignlab.producers.hashes import Keys
from assignlab.producers.partitioner import NONE, Partitioner, Records, Topics, column, topics
from assignlab.releases import Facts, Release, resolve


@cache
def partitioners() -> dict[str, Partitioner]:
    """All partitioners by name, sorted by client and name."""
    found = sum(discovery.carried(sys.modules[__name__], "PARTITIONERS"), ())
    ordered = sorted(found, key=lambda partitioner: (partitioner.client, partitioner.name))
    return discovery.by_name(ordered, "partitioners")


def names() -> list[str]:
    """The names of all partitioners."""
    return list(partitioners())


def get(name: str) -> Partitioner:
    """The partitioner of that name, or of that name and release, which keeps the name it is asked by.

    :class:`~assignlab.errors.UnknownName` says the nearest one, or what is wrong with the release.

    >>> get("default@3.0").source == get("default@2.4").source, get("default@3.0").first
    (True, '3.0.2')
    """
    known = partitioners()
    if isinstance(name, str) and name in known:
        return known[name]
    same, release = resolved(name)
    return replace(known[same], name=name, first=release, last=release)


def resolved(name: str) -> Release:
    """The partitioner here that a name with a release stands for; errors as :func:`get`."""
    if not isinstance(name, str):
        raise UnknownName("partitioner", name, names())
    known = [Facts(p.name, p.first, p.last) for p in partitioners().values()]
    return resolve(name, known, "partitioner")


def records(
    keys: Keys | Iterable[bytes | str | None],
    *,
    topics: np.ndarray | None = None,
    explicit: Sequence[int | None] | None = None,
    new_batch: np.ndarray | None = None,
    full_before: np.ndarray | None = None,
    full_after: np.ndarray | None = None,
    sizes: np.ndarray | None = None,
) -> Records:
    """Records in the order of sending, all of topic 0 with no explicit partition unless told.

    The flags of the buffer (see :class:`~assignlab.producers.partitioner.Records`) are false where
    they are not given, and ``sizes`` 0. Raises ValueError where lengths differ, for values that are no
    whole numbers or flags, and for sizes below 0; an ``explicit`` one has 32 bits, as Java's.
    """
    of = keys if isinstance(keys, Keys) else hashes.keys(keys)
    count = of.null.size

    def beside(name: str, values: Any, kind: type = np.int64) -> np.ndarray:
        found = np.zeros(count, kind) if values is None else column(name, values, kind)
        if found.size != count:
            raise ValueError(f"{count} keys, but {found.size} values of {name} beside them")
        return found

    partitions = np.full(count, NONE)
    if explicit is not None:
        named = np.array(explicit, dtype=object)
        there = np.not_equal(named, None)
        given = beside("explicit", np.where(there, named, 0).tolist(), np.int32)
        partitions[there] = given[there]
    if ((bytes_of := beside("sizes", sizes)) < 0).any():
        raise ValueError("sizes have to be 0 or more")
    return Records(
        beside("topics", topics),
        of,
        partitions,
        beside("new_batch", new_batch, bool),
        beside("full_before", full_before, bool),
        beside("full_after", full_after, bool),
        bytes_of,
    )


def partitions_of(
    name: str,
    keys: Keys | Iterable[bytes | str | None],
    partitions: int,
    *,
    available: Sequence[int] | None = None,
    seed: int = 0,
    explicit: Sequence[int | None] | None = None,
    new_batch: np.ndarray | None = None,
) -> np.ndarray:
    """The partition of every record that a new producer sends to one topic: int64[n].

    ``keys``: bytes, texts and None, or :class:`~assignlab.producers.hashes.Keys`. ``available``:
    the partitions that have a leader, in the client's order (all, by number). ``seed`` decides the
    draws. ``explicit``: partitions that records name, None for those that do not. ``new_batch``
    bool[n]: where the buffer has no batch with room at the partition chosen first. State over
    several calls, several topics, bytes and loads: :meth:`Partitioner.choose`.

    Raises UnknownName for the name, ValueError for partitions below 1, columns of another length and
    values of another kind, TypeError for a key or a seed of another type, OriginalError where the
    original throws.

    >>> partitions_of("default@2.0", ["TT0124"], 15).tolist()
    [10]
    >>> partitions_of("librdkafka-consistent-random", ["TT0124"], 15).tolist()
    [9]
    """
    partitioner = get(name)
    of = topics([partitions], None if available is None else [available])
    sent = records(keys, explicit=explicit, new_batch=new_batch)
    return partitioner.choose(sent, of, partitioner.start(of, seed))[0]


def table(form: str = "markdown") -> str:
    """The partitioners and their facts as ``markdown`` or ``json``."""
    refuse_unknown("form", [form], ("markdown", "json"))
    head = ("name", "client", "versions", "rule", "source")
    rows = [(p.name, p.client, p.versions, p.rule, p.source) for p in partitioners().values()]
    if form == "json":
        return json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2)
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


__all__ = [
    "Partitioner", "Records", "Topics", "get", "names", "partitioners", "partitions_of", "records",
    "table", "topics",
]  # fmt: skip
