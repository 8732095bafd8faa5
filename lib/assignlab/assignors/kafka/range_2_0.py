"""``range@2.0``: Kafka's RangeAssignor before static members and racks.

The rule. For each topic by itself: lay out its partitions in numeric order and its subscribers in
the order of their member ids; cut the partitions into as many contiguous ranges as there are
subscribers; where that does not divide evenly, the first subscribers get one partition more.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike, so partition i
   of both has the same owner (co-partitioning).
It does not promise balance over topics: the first subscribers get the extra partition of *every*
topic that does not divide evenly, so with equal subscriptions the gap grows by one with each.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

Inside a member's list the topics stand in the order of a Java HashMap, not sorted.
"""

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import orders
from assignlab.compiled import njit
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber."""
    topics = group.prepared(orders.subscribed_by_hash)
    return assign_ranges(group, topics, *group.prepared(orders.subscribers_by_id))


def assign_ranges(
    group: Group, topics: np.ndarray, starts: np.ndarray, subscribers: np.ndarray
) -> Assignment:
    """Range after range, topic after topic.

    ``topics``: int64[n] topic indices in the order of the walk; ``starts``, ``subscribers``: per
    topic its members, sorted (:func:`orders.subscribers`).
    """
    partitions = group.topics.partitions
    return Assignment(*lists_of_ranges(topics, partitions, starts, subscribers, len(group.members)))


@njit
def lists_of_ranges(topics, partitions, starts, subscribers, members):
    """(offsets int64[members + 1], codes int64[n]) of :func:`assign_ranges`."""
    offsets = np.zeros(members + 1, dtype=np.int64)
    for t in topics:
        consumers = starts[t + 1] - starts[t]
        if partitions[t] > 0 and consumers > 0:
            for i in range(min(consumers, partitions[t])):
                offsets[subscribers[starts[t] + i] + 1] += range_length(i, partitions[t], consumers)
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    for t in topics:
        consumers = starts[t + 1] - starts[t]
        if partitions[t] > 0 and consumers > 0:
            first = t << 32
            for i in range(min(consumers, partitions[t])):
                m = subscribers[starts[t] + i]
                length = range_length(i, partitions[t], consumers)
                for k in range(length):
                    codes[fill[m] + k] = first + k
                fill[m] += length
                first += length
    return offsets, codes


@njit
def range_length(i, partitions, consumers):
    """How many partitions the i-th of the sorted consumers gets."""
    return partitions // consumers + (1 if i < partitions % consumers else 0)


STRATEGY = Strategy(
    name="range@2.0",
    system="Kafka consumer",
    first="0.9.0",
    last="2.0.1",
    protocol="eager",
    sticky=False,
    source="org.apache.kafka.clients.consumer.RangeAssignor (kafka-clients 2.0.1)",
    assign=assign,
)
