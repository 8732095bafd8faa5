"""Which members may take a topic, and which topics a member may have."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.packed import pack, part
from assignlab.compiled import inner, njit
from assignlab.group.model import Group, subscriptions_by_topic


class Potential(NamedTuple):
    """Who may have what.

    ``topics``: int64[n], by (how often they are named, name); ``named``: int64[all topics], how
    often: one time for each subscriber, if none names the topic twice. The subscribers of topic t
    are ``members[starts[t]:starts[t + 1]]``, by member id; ``rank``: int64[members] position by
    member id; ``kind``: int64[members], the subscription; ``most``: int64[members], partitions that
    a member could have; ``hashes``: int64[topics], hash codes; ``may``:
    bool[subscriptions, topics].
    """

    topics: np.ndarray
    named: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    rank: np.ndarray
    kind: np.ndarray
    most: np.ndarray
    hashes: np.ndarray
    may: np.ndarray


def potential_of(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Who may have what, in the orders of the original: all of it packed, and ``may``."""
    members, sent = group.members, group.sent
    by_name, named = group.prepared(orders.topics_by_name), group.prepared(orders.times_named)
    return pack((
        by_name[np.argsort(named[by_name], kind="stable")], named,
        *group.prepared(orders.subscribers_by_id), members.names.rank, members.subscription,
        max_assignment_sizes(by_name, group.topics.partitions, sent.offsets, sent.topics)[
            sent.subscription
        ],
        group.topics.names.hashes.astype(np.int64),
    )), group.prepared(subscriptions_by_topic)  # fmt: skip


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
    """The :class:`Potential` in a packed one."""
    return Potential(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4), part(packed, 5), part(packed, 6), part(packed, 7), may,
    )  # fmt: skip
