"""Modified worst fit and modified best fit: partitions packed into members of one capacity.

D. Landau, X. Andrade, J. G. Barbosa, Kafka consumer group autoscaler (arXiv 2402.06085; Journal of
Parallel and Distributed Computing 201, 2025): bin packing with items whose sizes change, in which
what stays with its member costs nothing. Their consumers come and go as the packing asks for them;
here they are the group's members, and those that are not needed get nothing.
"""

import sys
from typing import NamedTuple

import numpy as np

from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.load_aware.parts.readers import (
    NOBODY,
    Readers,
    Tournament,
    better,
    nobody_plays,
    plays,
    readers,
    winner,
)
from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import DocumentError, shown
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group


def pack(group: Group, best: bool) -> Assignment:
    """Pack by modified best fit, or by modified worst fit; lists by topic and partition.

    Raises :class:`~assignlab.errors.DocumentError` for a capacity that is no number above 0.
    """
    known, members = group.prepared(weighed.weighed), group.members
    order = weighed.heaviest_first(known.weights)
    owners = modified_fit(
        order, known.topic, known.weights, tuple(group.prepared(readers)),
        group.prepared(kinds_of_topics)[1], members.subscription, weighed.claimed(group),
        members.names.order, capacity(group), best,
    )  # fmt: skip
    return weighed.in_order(group, owners, np.arange(owners.size))


def capacity(group: Group) -> float:
    """The load that a member should have at the most: the document's, or an even share of all."""
    given = group.options.get("capacity")
    if given is None:
        return float(group.prepared(weighed.weighed).weights.sum() / max(1, len(group.members)))
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < np.inf:
        raise DocumentError("capacity", f"expected a number above 0, got {shown(given)}")
    return float(min(given, sys.float_info.max))


class Packed(NamedTuple):
    """Open members, and how loaded they are.

    ``load``, ``size``: float64 and int64[members], weight and number of their partitions, size -1
    where a member is not open yet. Open members play for the least load, and for the greatest one,
    with ``below_zero``: their loads with the sign changed. ``waiting``: int64[...], nodes that a
    search has still to look at.
    """

    load: np.ndarray
    size: np.ndarray
    emptiest: Tournament
    below_zero: np.ndarray
    fullest: Tournament
    waiting: np.ndarray


@njit
def modified_fit(
    order, topic, weights, the_readers, subscribed, subscription, claimed, by_id, capacity, best
):
    """The owner of each partition: int64[n].

    ``order``: partitions, the heaviest first; ``topic``, ``weights``: of partitions; then
    :class:`~assignlab.assignors.load_aware.parts.readers.Readers`; ``subscribed``: whether a subscription
    names the topics of a kind; ``claimed``: who had each, or -1; ``by_id``: members by id.
    """
    who = Readers(*the_readers)
    owners = np.full(weights.size, -1, dtype=np.int64)
    members = nobody_open(who)
    held = order[claimed[order] >= 0]
    first, of_members = by_member(claimed[held], held, by_id.size)
    had = np.zeros(by_id.size)
    for p in held:
        had[claimed[p]] += weights[p]
    for m in by_id[np.argsort(-had[by_id], kind="mergesort")]:
        mine = of_members[first[m] : first[m + 1]]
        rest = mine.size
        while rest > 0:  # the lightest first, to those that are open already
            p = mine[rest - 1]
            to = fitting(members, who, topic[p], weights[p], capacity, best)
            if to == NOBODY:
                break
            give(p, to, owners, weights, members)
            rest -= 1
        for p in mine[:rest]:  # the heaviest first, to whom they had
            if members.size[m] > 0 and members.load[m] + weights[p] > capacity:
                break
            give(p, m, owners, weights, members)
    next_reader = np.zeros(subscribed.shape[0], dtype=np.int64)  # those before are open
    for p in order:
        if owners[p] != NOBODY:
            continue
        to = fitting(members, who, topic[p], weights[p], capacity, best)
        if to == NOBODY and claimed[p] >= 0 and members.size[claimed[p]] < 0:
            to = claimed[p]
        if to == NOBODY:
            kind = who.kinds[topic[p]]
            k = next_reader[kind]
            while k < by_id.size and not (
                members.size[by_id[k]] < 0 and subscribed[kind, subscription[by_id[k]]]
            ):
                k += 1
            next_reader[kind] = k
            to = by_id[k] if k < by_id.size else winner(members.emptiest, who, topic[p])
        give(p, to, owners, weights, members)
    return owners


@inner
def nobody_open(who):
    """:class:`Packed` before any member is open."""
    load = np.zeros(who.leaf.size)
    below_zero = np.zeros(who.leaf.size)
    none = np.zeros(who.leaf.size, dtype=np.int64)
    return Packed(
        load,
        np.full(who.leaf.size, -1),
        nobody_plays(who.leaf, who.place, load, none),
        below_zero,
        nobody_plays(who.leaf, who.place, below_zero, none),
        np.empty(64, dtype=np.int64),
    )


@leaf
def fitting(members, who, topic, weight, capacity, best):
    """Of the open readers with room: the fullest (best fit) or the emptiest (worst fit), the first
    of equals by id, or ``NOBODY``."""
    if best:
        return fullest_with_room(members, who, topic, weight, capacity)
    m = winner(members.emptiest, who, topic)
    return m if m != NOBODY and members.load[m] + weight <= capacity else NOBODY


@leaf
def fullest_with_room(members, who, topic, weight, capacity):
    """The fullest of the open readers with room, or ``NOBODY``."""
    load, waiting = members.load, members.waiting
    kind = who.kinds[topic]
    found = NOBODY
    for n in range(who.starts[kind], who.starts[kind + 1]):
        waiting[0] = who.nodes[n]
        left = 1
        while left > 0:
            left -= 1
            node = waiting[left]
            least = members.emptiest.winners[node]
            if least == NOBODY or load[least] + weight > capacity:
                continue
            most = members.fullest.winners[node]
            if better(members.fullest, found, most) == found:
                continue
            if load[most] + weight <= capacity:
                found = most
            else:
                waiting[left], waiting[left + 1] = 2 * node + 1, 2 * node
                left += 2
    return found


@leaf
def give(p, m, owners, weights, members):
    """Partition p goes to member m, who is open now."""
    owners[p] = m
    members.load[m] += weights[p]
    members.below_zero[m] = -members.load[m]
    members.size[m] = max(members.size[m], 0) + 1
    plays(members.emptiest, m)
    plays(members.fullest, m)
