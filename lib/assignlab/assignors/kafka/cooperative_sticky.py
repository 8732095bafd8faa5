"""``cooperative-sticky``: Kafka's CooperativeStickyAssignor (since 3.7.1).

The rule is that of ``sticky``, in rounds. Members keep consuming during a rebalance, so a partition
that goes from one to another must first be given up: it is left out of this assignment, its old
owner gives it up and asks for another rebalance, and in that one it is free to be assigned.

What it promises beside balance and stickiness: nobody stops consuming what it keeps. Usually two
rounds are enough.

Claims are the partitions that members own (``Subscription.ownedPartitions``) with the
subscription's generation, or one from the user data of older clients.

A third member joins: in the first round C1 gives up one partition, which nobody has until C2 gets
it in the second.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 4}, {"C0": ["t0"], "C1": ["t0"], "C2": ["t0"]}, generation=1,
...           owned={"C0": [("t0", 0), ("t0", 2)], "C1": [("t0", 1), ("t0", 3)]})
>>> first = lists(g, assign(g))
>>> first
{'C0': [['t0', 0], ['t0', 2]], 'C1': [['t0', 1]], 'C2': []}
>>> g = group({"t0": 4}, {"C0": ["t0"], "C1": ["t0"], "C2": ["t0"]}, generation=2, owned=first)
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2]], 'C1': [['t0', 1]], 'C2': [['t0', 3]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import sticky
from assignlab.assignors.kafka.parts.claims import shape_of
from assignlab.assignors.kafka.sticky import assign_sticky
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """As ``sticky``, without the partitions that another member must first give up.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where a crowded hash bin, which Java may walk otherwise, decided.
    """
    return assign_sticky(group, cooperative=True)


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: by topic name and partition."""
    shape = group.prepared(shape_of)
    owners = owner_by_number(
        assignment.offsets, assignment.codes, shape.base, shape.partitions, shape.codes.size
    )
    if owners.size == 0 and assignment.codes.size > 0:
        rank = group.topics.names.rank[topic_of(assignment.codes)]
        order = np.lexsort((partition_of(assignment.codes), rank, assignment.owners))
        return Assignment(assignment.offsets, assignment.codes[order])
    return Assignment(assignment.offsets, lists_by_number(assignment.offsets, owners, shape.codes))


@njit
def owner_by_number(offsets, codes, base, partitions, total):
    """Who has each partition, int64[partitions]; empty if some do not exist or are held twice."""
    owners = np.full(total, -1, dtype=np.int64)
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            topic = topic_of(codes[k])
            partition = partition_of(codes[k])
            if base[topic] < 0 or partition >= partitions[topic]:
                return owners[:0]
            x = base[topic] + partition
            if owners[x] >= 0:
                return owners[:0]
            owners[x] = m
    return owners


@njit
def lists_by_number(offsets, owners, codes):
    """The lists in the order of the partitions' numbers."""
    fill = offsets[:-1].copy()
    lists = np.empty(offsets[-1], dtype=np.int64)
    for x in range(owners.size):
        m = owners[x]
        if m >= 0:
            lists[fill[m]] = codes[x]
            fill[m] += 1
    return lists


STRATEGY = replace(
    sticky.STRATEGY,
    name="cooperative-sticky",
    protocol="cooperative",
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    look=("purple", "s", "solid"),
    generations=("sub_generation",),
    promises=(*sticky.STRATEGY.promises, "eager_less_held_back"),
    assign=assign,
    reclaim=reclaim,
)
