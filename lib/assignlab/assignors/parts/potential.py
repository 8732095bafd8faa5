"""Who may consume what: the maps with which the sticky assignors begin.

The originals write out ``partition2AllPotentialConsumers`` and ``consumer2AllPotentialPartitions``,
one list for every partition and every member. The same knowledge fits in a few tables by topic and
by kind: members that subscribe to the same existing topics are of one kind.

Inside, members are numbered by member id, so that of two the one with the smaller number comes
first where sizes are equal; partitions are numbered in the order in which the original puts them
in its map.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.group.assignment import code
from assignlab.group.model import Group, subscriptions_by_topic

NONE = -1


class Potential(NamedTuple):
    """Potential consumers of partitions, and potential partitions of consumers.

    Of every consumer, int64[members]: its ``kind``; how many partitions it could get, ``most``, those
    of a topic that it names twice counted twice; where its kind's ``tree`` begins and its own ``leaf``
    there. Of every partition, int64[n]: its
    ``topic`` and its code in ``codes``. Of every topic, int64[topics]: the number of its ``first``
    partition, how many follow (``count``), how many consumers may have them (``subscribers``, who
    names it twice counted twice); the roots of the trees of the kinds that subscribe to topic t are
    ``roots[root_starts[t]:root_starts[t + 1]]``. ``nodes``: of all trees. ``may``
    bool[kinds, topics]. ``by_id`` int64[members]: the group's index of every consumer; ``by_hash``
    int64[members]: consumers in the order of the HashMap of subscriptions.
    """

    kind: np.ndarray
    most: np.ndarray
    tree: np.ndarray
    leaf: np.ndarray
    topic: np.ndarray
    codes: np.ndarray
    first: np.ndarray
    count: np.ndarray
    subscribers: np.ndarray
    root_starts: np.ndarray
    roots: np.ndarray
    nodes: int
    may: np.ndarray
    by_id: np.ndarray
    by_hash: np.ndarray


def potential(group: Group) -> Potential:
    """The potential consumers and partitions of a group."""
    names, there = group.members.names, group.prepared(orders.topics_by_hash)
    kind, may = kinds_of_members(group)
    kind = kind[names.order]
    first = np.zeros(len(group.topics), dtype=np.int64)
    count = np.zeros(len(group.topics), dtype=np.int64)
    count[there] = group.topics.partitions[there]
    first[there] = np.cumsum(count[there]) - count[there]
    topic = np.repeat(there, count[there])
    base, leaf, nodes = trees(kind, len(may))
    return Potential(
        kind=kind,
        most=partitions_named(group)[group.sent.subscription[names.order]],
        tree=base[kind],
        leaf=leaf,
        topic=topic,
        codes=code(topic, np.arange(topic.size) - first[topic]),
        first=first,
        count=count,
        subscribers=group.prepared(orders.times_named),
        root_starts=np.concatenate(([0], np.cumsum(may.sum(axis=0)))),
        roots=base[np.nonzero(may.T)[1]] + 1,
        nodes=nodes,
        may=may,
        by_id=names.order,
        by_hash=names.rank[group.prepared(orders.members_by_hash)],
    )


def partitions_named(group: Group) -> np.ndarray:
    """How many partitions a subscription, as it was sent, names: int64[subscriptions]."""
    sent = group.sent
    subscription = np.repeat(np.arange(sent.offsets.size - 1), np.diff(sent.offsets))
    counts = np.maximum(group.topics.partitions, 0)[sent.topics]
    return np.bincount(subscription, counts, sent.offsets.size - 1).astype(np.int64)


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
