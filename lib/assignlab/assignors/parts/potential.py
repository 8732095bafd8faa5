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
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.assignors.parts.packed import part, room_for
from assignlab.assignors.parts.slices import copy_into
from assignlab.assignors.parts.trees import leaves
from assignlab.compiled import inner, njit
from assignlab.group.assignment import code
from assignlab.group.model import Group, Members, subscriptions_by_topic
from assignlab.jvm.hash_map import walk_map

NONE = -1


class Potential(NamedTuple):
    """Potential consumers of partitions, and potential partitions of consumers.

    Of every consumer, int64[members]: its ``kind``; how many partitions it could get, ``most``,
    those of a topic that it names twice counted twice; where its kind's ``tree`` begins and its own
    ``leaf`` there. Of every partition, int64[n]: its ``topic``, its code in ``codes`` and its hash
    code in ``hashes``. Of every topic, int64[topics]: the number of its ``first`` partition, how
    many follow (``count``), how many consumers may have them (``subscribers``, who names it twice
    counted twice); the roots of the trees of the kinds that subscribe to topic t are
    ``roots[root_starts[t]:root_starts[t + 1]]``; ``nodes`` int64[1]: of all trees. ``by_id``
    int64[members]: the group's index of every consumer; ``as_read`` int64[members]: consumers in the
    order in which their claims are read, which is that of a HashMap in Java. ``in_order``, ``keys``
    int64[n]: partitions by (number of potential consumers, topic, partition), and as
    ``partition2AllPotentialConsumers.keySet()`` walks them, which nobody asks where there are several
    kinds: then ``keys`` are empty. ``may`` bool[kinds, topics].
    """

    kind: np.ndarray
    most: np.ndarray
    tree: np.ndarray
    leaf: np.ndarray
    topic: np.ndarray
    codes: np.ndarray
    hashes: np.ndarray
    first: np.ndarray
    count: np.ndarray
    subscribers: np.ndarray
    root_starts: np.ndarray
    roots: np.ndarray
    nodes: np.ndarray
    by_id: np.ndarray
    as_read: np.ndarray
    in_order: np.ndarray
    keys: np.ndarray
    may: np.ndarray


@inner
def unpack_potential(packed, may):
    """The :class:`Potential` in a packed one."""
    return Potential(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3), part(packed, 4),
        part(packed, 5), part(packed, 6), part(packed, 7), part(packed, 8), part(packed, 9),
        part(packed, 10), part(packed, 11), part(packed, 12), part(packed, 13), part(packed, 14),
        part(packed, 15), part(packed, 16), may,
    )  # fmt: skip


def potential(group: Group) -> tuple[np.ndarray, np.ndarray, bool]:
    """The :class:`Potential` of a group in Java: all but ``may`` packed, ``may``, and whether Java
    always walks the ``keys`` so.

    It may not where a slot with nine partitions or more becomes a tree, in which partitions with
    equal hash codes are ordered by identity.
    """
    return potential_in(
        group, group.sent, group.members.names.order, group.prepared(orders.members_by_hash),
        group.prepared(orders.topics_by_hash), group.topics.names.rank,
    )  # fmt: skip


def potential_in(
    group: Group,
    sent: Members,
    by_id: np.ndarray,
    as_read: np.ndarray,
    topics: np.ndarray,
    rank: np.ndarray,
    kinds: tuple[np.ndarray, np.ndarray] | None = None,
) -> tuple[np.ndarray, np.ndarray, bool]:
    """:func:`potential` of any client.

    ``sent``: the members as far as it counts how often they name a topic; ``by_id``, ``as_read``:
    int64[members], their indices in both orders; ``topics``: those that can be assigned, in the
    order in which their partitions are numbered; ``rank``: int64[topics], that of their names;
    ``kinds``: instead of :func:`kinds_of_members`, as it returns them.
    """
    kind, may = kinds or kinds_of_members(group)
    packed, certain = tables(
        kind, may, (by_id, as_read, topics, rank), group.topics.names.hashes,
        group.topics.partitions, (sent.subscription, sent.offsets, sent.topics),
    )  # fmt: skip
    return packed, may, certain


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


def kinds_in_racks(
    kind: np.ndarray, may: np.ndarray, rack: np.ndarray, racks: int
) -> tuple[np.ndarray, np.ndarray]:
    """(kind of every member, topics of every kind) where the members of a kind are in one rack, too.

    ``rack``: int64[members], less than ``racks``.
    """
    numbers: dict[int, int] = {}
    pairs = (kind * racks + rack).tolist()
    kind = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs], dtype=np.int64)
    return kind, may[np.array([*numbers], dtype=np.int64) // racks]


@njit
def tables(kind, may, known_orders, topic_hashes, partitions, sent):
    """(the packed :class:`Potential`, whether Java always walks the map of partitions so).

    ``known_orders``: ``by_id``, ``as_read``, ``topics`` and ``rank`` of :func:`potential_in`;
    ``sent``: the subscriptions, as in :class:`assignlab.group.model.Members`.
    """
    by_id, as_read, topics, rank = known_orders
    subscription, offsets, named = sent
    partitions_named = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in range(partitions_named.size):
        for k in range(offsets[s], offsets[s + 1]):
            partitions_named[s] += max(partitions[named[k]], 0)
    members, known = by_id.size, partitions.size
    total = 0
    for t in topics:
        total += partitions[t]
    walked = total if len(may) == 1 else 0
    packed = room_for(
        (members, members, members, members, total, total, total, known, known, known,
         known + 1, may.sum(), 1, members, members, total, walked)
    )  # fmt: skip
    into = unpack_potential(packed, may)
    copy_into(into.by_id, 0, by_id)
    number = np.empty(members, dtype=np.int64)
    for m in range(members):
        number[by_id[m]] = m
        into.kind[m] = kind[by_id[m]]
        into.most[m] = partitions_named[subscription[by_id[m]]]
    for i in range(members):
        into.as_read[i] = number[as_read[i]]
    for t in range(known):
        into.first[t] = into.count[t] = 0
    i = 0
    for t in topics:
        into.first[t] = i
        into.count[t] = partitions[t]
        for p in range(partitions[t]):
            into.topic[i] = t
            into.codes[i] = code(t, p)
            i += 1
    hashes = partition_hashes(topic_hashes, into.codes, TOPIC_PARTITION)
    copy_into(into.hashes, 0, hashes)
    certain = True
    if walked > 0:
        keys, certain = walk_map(hashes, 16, np.empty(0, dtype=np.int64), False, False)
        copy_into(into.keys, 0, keys)
    times_named = orders.count_named(subscription, offsets, named, known)
    copy_into(into.subscribers, 0, times_named)
    plant_trees(into)
    by_partition_comparator(rank, into)
    return packed, certain


@inner
def plant_trees(into):
    """Where each kind's tree begins, where each consumer's leaf is, how many nodes there are, and
    the roots of every topic (:mod:`assignlab.assignors.parts.trees`)."""
    kinds, topics = into.may.shape
    trees, node = leaves(into.kind, kinds)
    into.nodes[0] = trees[kinds]
    for m in range(into.kind.size):
        into.tree[m] = trees[into.kind[m]]
        into.leaf[m] = into.tree[m] + node[m]
    at = 0
    for t in range(topics):
        into.root_starts[t] = at
        for k in range(kinds):
            if into.may[k, t]:
                into.roots[at] = trees[k] + 1
                at += 1
    into.root_starts[topics] = at


@inner
def by_partition_comparator(rank, into):
    """All partitions ``in_order``: by (number of potential consumers, topic, partition)."""
    subscribers, first, count = into.subscribers, into.first, into.count
    most = 0
    by_name = np.empty(rank.size, dtype=np.int64)
    for t in range(rank.size):
        by_name[rank[t]] = t
        most = max(most, subscribers[t])
    start = np.zeros(most + 2, dtype=np.int64)
    for t in range(rank.size):
        start[subscribers[t] + 1] += count[t]
    for n in range(most + 1):
        start[n + 1] += start[n]
    for t in by_name:
        for p in range(count[t]):
            into.in_order[start[subscribers[t]]] = first[t] + p
            start[subscribers[t]] += 1
