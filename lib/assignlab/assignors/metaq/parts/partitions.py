"""Partitions of MetaQ: strings ``broker-partition``, sorted as strings (``0-10`` before ``0-2``).

A topic that is given by a plain number of partitions lies on one broker, 0.
"""

from typing import Any, NamedTuple

import numpy as np

from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group
from assignlab.jvm.names import Names

BROKER = "0"


class Lines(NamedTuple):
    """The partitions of every topic, sorted; topics with equal partitions share a line.

    Topic t has line ``l = of_topic[t]`` (int64[topics]): the partition indices
    ``order[starts[l]:starts[l + 1]]`` (int64), called ``names`` at the same positions. A broker that
    is listed twice has its partitions once.
    """

    of_topic: np.ndarray
    starts: np.ndarray
    order: np.ndarray
    names: tuple[str, ...]


def lines(group: Group) -> Lines:
    """Sort the partitions of every topic."""
    topics = group.topics
    found: dict[tuple, int] = {}
    of_topic = [
        found.setdefault(queues if queues is not None else (count,), len(found))
        for queues, count in zip(
            topics.queues or (None,) * len(topics),
            np.maximum(topics.partitions, 0).tolist(),
            strict=True,
        )
    ]
    orders, names = [], []
    for line in found:
        plain = len(line) == 1 and isinstance(line[0], int)
        first: dict[str, int] = {}
        for p in range(line[0] if plain else len(line)):
            first.setdefault(partition_name(None if plain else line, p), p)
        called = Names(tuple(first))
        orders.append(np.array(list(first.values()), dtype=np.int64)[called.order])
        names.extend(called.names[p] for p in called.order.tolist())
    starts = np.cumsum([0] + [order.size for order in orders], dtype=np.int64)
    order = np.concatenate(orders) if orders else np.empty(0, dtype=np.int64)
    return Lines(np.array(of_topic, dtype=np.int64), starts, order, tuple(names))


def partition_name(queues: tuple[tuple[str, int], ...] | None, partition: int) -> str:
    """``broker-partition`` of a partition index.

    >>> partition_name((("a", 0), ("b", 0), ("b", 1)), 2), partition_name(None, 2)
    ('b-1', '0-2')
    """
    broker, number = (BROKER, partition) if queues is None else queues[partition]
    return f"{broker}-{number}"


def lists(group: Group, assignment: Assignment) -> dict[str, list[list[Any]]]:
    """``[topic, "broker-partition"]`` pairs by member, in order."""
    topics = group.topics
    queues = topics.queues or (None,) * len(topics)
    pairs = [
        [topics.names[t], partition_name(queues[t], p)]
        for t, p in zip(
            topic_of(assignment.codes).tolist(),
            partition_of(assignment.codes).tolist(),
            strict=True,
        )
    ]
    bounds = assignment.offsets.tolist()
    return {name: pairs[bounds[m] : bounds[m + 1]] for m, name in enumerate(group.members.names)}
