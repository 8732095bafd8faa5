"""Who may consume what: the maps with which the sticky assignors begin.

The originals write out ``partition2AllPotentialConsumers`` and ``consumer2AllPotentialPartitions``,
one list for every partition and every member. The same knowledge fits in a few tables by topic and
by kind: members that subscribe to the same existing topics are of one kind.

Inside, members are numbered by member id, so that of two the one with the smaller number comes
first where sizes are equal; partitions are numbered in the order in which the original puts them
in its map. A table is an int64 array with one row for each thing and named columns.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.group import Group

NONE = -1

# columns of the table of consumers
SIZE, HEAD, TAIL = 0, 1, 2
"""How many partitions a consumer has; the first and the last entry of its list."""
KIND, MOST, TREE, LEAF = 3, 4, 5, 6
"""Its kind; how many partitions it could get; its kind's tree and its own leaf there."""

# columns of the table of partitions
OWNER, ENTRY = 0, 1
"""The consumer of a partition, as the original's map has it; its entry in a list."""
TOPIC = 2

# columns of the table of topics, which has one row more than there are topics
FIRST, COUNT, SUBSCRIBERS = 0, 1, 2
"""The number of partition 0; how many partitions follow; how many consumers may have them."""
ROOTS = 3
"""Where the topic's roots begin in the list of roots; they end where the next topic's begin."""


class Potential(NamedTuple):
    """Potential consumers of partitions, and potential partitions of consumers.

    ``consumers`` int64[members, 7], ``partitions`` int64[n, 3] and ``topics`` int64[topics + 1, 4]
    are the tables while nobody has anything. ``codes`` int64[n]: partition codes. ``may``
    bool[kinds, topics]. ``roots`` int64[...]: topic by topic the roots of the trees of the kinds
    that subscribe to it; ``winners`` int64[nodes]: the trees, empty. ``by_id`` int64[members]: the
    group's index of every consumer; ``by_hash`` int64[members]: consumers in the order of the
    HashMap of subscriptions.
    """

    consumers: np.ndarray
    partitions: np.ndarray
    topics: np.ndarray
    codes: np.ndarray
    may: np.ndarray
    roots: np.ndarray
    winners: np.ndarray
    by_id: np.ndarray
    by_hash: np.ndarray


def potential(group: Group) -> Potential:
    """The potential consumers and partitions of a group."""
    names, there = group.members.names, group.prepared(orders.topics_by_hash)
    kind, may = kinds_of_members(group)
    kind = kind[names.order]

    topics = np.zeros((len(group.topics) + 1, 4), dtype=np.int64)
    counts = group.topics.partitions[there]
    topics[there, FIRST] = np.cumsum(counts) - counts
    topics[there, COUNT] = counts
    topics[:-1, SUBSCRIBERS] = np.bincount(kind, minlength=len(may)) @ may
    np.cumsum(may.sum(axis=0), out=topics[1:, ROOTS])

    partitions = np.full((counts.sum(), 3), NONE, dtype=np.int64)
    topic = np.repeat(there, counts)
    partitions[:, TOPIC] = topic
    codes = (topic << 32) + np.arange(topic.size) - topics[topic, FIRST]

    consumers = np.full((len(names), 7), NONE, dtype=np.int64)
    consumers[:, SIZE] = 0
    consumers[:, KIND] = kind
    consumers[:, MOST] = (may @ topics[:-1, COUNT])[kind]
    base, consumers[:, LEAF], nodes = trees(kind, len(may))
    consumers[:, TREE] = base[kind]
    return Potential(
        consumers,
        partitions,
        topics,
        codes,
        may,
        base[np.nonzero(may.T)[1]] + 1,
        np.full(nodes, NONE),
        names.order,
        names.rank[group.prepared(orders.members_by_hash)],
    )


def kinds_of_members(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(kind of every member, topics of every kind): what counts is the set of existing topics."""
    may = group.prepared(subscriptions_by_topic) & (group.topics.partitions > 0)
    if len(may) == 1:
        return group.members.subscription, may
    sets: dict[bytes, int] = {}
    kind = np.array([sets.setdefault(row.tobytes(), len(sets)) for row in may], dtype=np.int64)
    rows = b"".join(sets)
    may = np.frombuffer(bytearray(rows), dtype=np.bool_).reshape(len(sets), may.shape[1])
    return kind[group.members.subscription], may


def trees(kind: np.ndarray, kinds: int) -> tuple[np.ndarray, np.ndarray, int]:
    """Where each kind's tree begins, where each consumer's leaf is, and how many nodes there are.

    The consumers of a kind are the leaves of its tree, in their order; the children of node i are
    the nodes 2i and 2i + 1, and node 1 is the root.
    """
    members = np.bincount(kind, minlength=kinds)
    width = 1 << np.ceil(np.log2(np.maximum(members, 1))).astype(np.int64)
    base = np.cumsum(2 * width) - 2 * width
    order = np.argsort(kind, kind="stable")
    leaf = np.empty(kind.size, dtype=np.int64)
    first = base + width - np.cumsum(members) + members
    leaf[order] = np.arange(kind.size) + np.repeat(first, members)
    return base, leaf, int(2 * width.sum())
