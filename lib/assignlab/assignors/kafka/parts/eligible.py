"""Which members may take a topic, and which topics a member may have."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.packed import part, room_for
from assignlab.assignors.parts.potential import kinds_in_racks, plant_trees
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner, njit
from assignlab.group.model import Group, subscriptions_by_topic


class Eligible(NamedTuple):
    """Who may have what.

    Members with one subscription, in one rack, are of one kind. ``topics``: int64[n], by (how often
    they are named, name); ``named``: int64[all topics], how often: one time for each subscriber, if
    none names the topic twice. Of every member, int64[members]: its ``kind``; where its kind's
    ``tree`` begins and its own ``leaf`` there (:mod:`assignlab.assignors.kafka.parts.seats`);
    ``rank``, its position by member id; ``most``, partitions that it could have. The roots of the
    kinds that subscribe to topic t are ``roots[root_starts[t]:root_starts[t + 1]]``; ``nodes``
    int64[1]: of all trees. ``hashes``: int64[topics], hash codes; ``may``: bool[kinds, topics].
    """

    topics: np.ndarray
    named: np.ndarray
    kind: np.ndarray
    tree: np.ndarray
    leaf: np.ndarray
    rank: np.ndarray
    most: np.ndarray
    root_starts: np.ndarray
    roots: np.ndarray
    nodes: np.ndarray
    hashes: np.ndarray
    may: np.ndarray


def potential_of(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Who may have what, in the orders of the original: all of it packed, and ``may``."""
    members, sent = group.members, group.sent
    by_name, named = group.prepared(orders.topics_by_name), group.prepared(orders.times_named)
    kind, may = members.subscription, group.prepared(subscriptions_by_topic)
    if members.racks is not None:
        numbers: dict[str | None, int] = {}
        rack = [numbers.setdefault(name, len(numbers)) for name in members.racks]
        kind, may = kinds_in_racks(kind, may, np.array(rack, dtype=np.int64), len(numbers))
    most = max_assignment_sizes(by_name, group.topics.partitions, sent.offsets, sent.topics)
    packed = tables(
        by_name[np.argsort(named[by_name], kind="stable")], named, kind, may, members.names.rank,
        most[sent.subscription], group.topics.names.hashes,
    )  # fmt: skip
    return packed, may


@njit
def tables(topics, named, kind, may, rank, most, hashes):
    """The packed :class:`Eligible`."""
    members, known = kind.size, named.size
    packed = room_for(
        (topics.size, known, members, members, members, members, members, known + 1, may.sum(), 1,
         known)
    )  # fmt: skip
    into = unpack_potential(packed, may)
    copy_into(into.topics, 0, topics)
    copy_into(into.named, 0, named)
    copy_into(into.kind, 0, kind)
    copy_into(into.rank, 0, rank)
    copy_into(into.most, 0, most)
    copy_into(into.hashes, 0, hashes)
    plant_trees(into)
    return packed


@njit
def max_assignment_sizes(topics, partitions, offsets, subscribed):
    """``getMaxAssignmentSize`` of every subscription: all partitions of its topics.

    Those of a topic that it names twice count twice, unless it names just as many topics as there
    are ``topics`` in all: then the original takes it that these are all of them.
    """
    total = partitions[topics].sum()
    sizes = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in range(sizes.size):
        there = 0
        for k in range(offsets[s], offsets[s + 1]):
            sizes[s] += max(partitions[subscribed[k]], 0)
            there += partitions[subscribed[k]] > 0
        if there == topics.size:
            sizes[s] = total
    return sizes


@inner
def unpack_potential(packed, may):
    """The :class:`Eligible` in a packed one."""
    return Eligible(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4), part(packed, 5), part(packed, 6), part(packed, 7),
        part(packed, 8), part(packed, 9), part(packed, 10), may,
    )  # fmt: skip
