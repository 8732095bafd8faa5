"""Partitions of MetaQ: strings ``broker-partition``, sorted as strings (``0-10`` before ``0-2``).

A topic that is given by a plain number of partitions lies on one broker, 0.
"""

from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from assignlab.group.assignment import Assignment, partition_names
from assignlab.group.document import named_lists
from assignlab.group.model import Group
from assignlab.jvm.names import Names

BROKER = "0"


class Lines(NamedTuple):
    """The partitions of every topic, sorted; topics with equal partitions share a line.

    Topic t has line ``l = of_topic[t]`` (int64[topics]): the partition indices
    ``order[starts[l]:starts[l + 1]]`` (int64), called ``names`` at the same positions. A broker
    that is listed twice has its partitions once.
    """

    of_topic: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    names: tuple[str, ...]


def lines(group: Group) -> Lines:
    """Sort the partitions of every topic."""
    topics = group.topics
    counts = np.maximum(topics.partitions, 0).tolist()
    found: dict[Line, int] = {}
    of_topic = [
        found.setdefault(count if queues is None else queues, len(found))
        for queues, count in zip(topics.queues or (None,) * len(topics), counts, strict=True)
    ]
    known = [line_of(line) for line in found]
    starts = np.cumsum([0] + [order.size for order, _ in known], dtype=np.int64)
    order = np.concatenate([np.empty(0, dtype=np.int64), *(order for order, _ in known)])
    names = tuple(chain.from_iterable(names for _, names in known))
    return Lines(np.array(of_topic, dtype=np.int64), starts, order, names)


Line = int | tuple[tuple[str, int], ...]
"""The partitions of a topic: how many on one broker, or (broker, number) of each."""


@lru_cache(maxsize=256)
def line_of(line: Line) -> tuple[np.ndarray, tuple[str, ...]]:
    """(order, names) of a line, whatever its topic."""
    queues = None if isinstance(line, int) else line
    first: dict[str, int] = {}
    for p in range(line if isinstance(line, int) else len(line)):
        first.setdefault(partition_name(queues, p), p)
    called = Names(tuple(first))
    order = np.array(list(first.values()), dtype=np.int64)[called.order]
    return order, tuple(called.names[p] for p in called.order.tolist())


def partition_name(queues: tuple[tuple[str, int], ...] | None, partition: int) -> str:
    """``broker-partition`` of a partition index.

    >>> partition_name((("a", 0), ("b", 0), ("b", 1)), 2), partition_name(None, 2)
    ('b-1', '0-2')
    """
    broker, number = (BROKER, partition) if queues is None else queues[partition]
    return f"{broker}-{number}"


def lists(group: Group, assignment: Assignment) -> dict[str, list[list[Any]]]:
    """``[topic, "broker-partition"]`` pairs by member, in order."""
    pairs = partition_names(group, assignment.codes)
    named = [[t, f"{BROKER}-{p}" if isinstance(p, int) else p] for t, p in pairs]
    return named_lists(group, assignment, named)
