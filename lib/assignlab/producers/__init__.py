"""How producers choose partitions, discovered: one module for each rule or client.

    producers.partitions_of("default@2.0", ["TT0124", None, ""], partitions=15)

A module is found by its attribute ``PARTITIONERS``. Names and facts (client, versions, source) are
data, as those of strategies.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from assignlab import discovery
from assignlab.errors import UnknownName, refuse_unknown
from assignlab.producers import hashes
from assignlab.producers.hashes import Keys
from assignlab.producers.partitioner import NONE, Partitioner, Records, Topics, topics


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
    """The partitioner of that name; :class:`~assignlab.errors.UnknownName` says the nearest one."""
    if not isinstance(name, str) or name not in partitioners():
        raise UnknownName("partitioner", name, names())
    return partitioners()[name]


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
    they are not given, and ``sizes`` 0. Raises ValueError where lengths differ.
    """
    of = keys if isinstance(keys, Keys) else hashes.keys(keys)
    count = of.null.size

    def column(values, kind) -> np.ndarray:
        found = np.zeros(count, kind) if values is None else np.asarray(values, dtype=kind)
        if found.shape != (count,):
            raise ValueError(f"{count} keys, but a column of shape {found.shape} beside them")
        return found

    named = None if explicit is None else np.array([NONE if p is None else p for p in explicit])
    if named is not None and named.size and named.dtype.kind not in "iu":
        raise ValueError(f"explicit: expected whole numbers or None, got {explicit!r}")
    return Records(
        column(topics, np.int64),
        of,
        np.full(count, NONE) if named is None else column(named, np.int64),
        column(new_batch, bool),
        column(full_before, bool),
        column(full_after, bool),
        column(sizes, np.int64),
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
    the partitions that have a leader (all). ``seed`` decides the draws. ``explicit``: partitions
    that records name, None for those that do not. ``new_batch`` bool[n]: where the buffer has no
    batch with room at the partition chosen first. State over several calls, several topics, bytes
    and loads: :meth:`Partitioner.choose`.

    Raises UnknownName for the name, ValueError for partitions below 1 or columns of another length,
    TypeError for a key of another type, OriginalError where the original throws.

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
    "Partitioner",
    "Records",
    "Topics",
    "get",
    "names",
    "partitioners",
    "partitions_of",
    "records",
    "table",
    "topics",
]
