"""Modified worst fit and modified best fit: partitions packed into members of one capacity.

D. Landau, X. Andrade, J. G. Barbosa, Kafka consumer group autoscaler (arXiv 2402.06085; Journal of
Parallel and Distributed Computing 201, 2025): bin packing with items whose sizes change, in which
what stays with its member costs nothing. Their consumers come and go as the packing asks for them;
here they are the group's members, and those that are not needed get nothing.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import DocumentError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def pack(group: Group, best: bool) -> Assignment:
    """Pack by modified best fit, or by modified worst fit; lists by topic and partition.

    Raises :class:`~assignlab.errors.DocumentError` for a capacity that is no number above 0.
    """
    known, members = group.prepared(weighed.weighed), group.members
    order = weighed.heaviest_first(known.weights)
    kinds, subscribed = group.prepared(kinds_of_topics)
    by_id = members.names.order
    reads = np.ascontiguousarray(subscribed[:, members.subscription[by_id]])
    owners = modified_fit(
        order, (*known[1:5], kinds, reads), weighed.claimed(group), by_id, capacity(group), best
    )
    return weighed.in_order(group, owners, np.arange(owners.size))


def capacity(group: Group) -> float:
    """The load that a member should have at the most: the document's, or an even share of all."""
    given = group.options.get("capacity")
    if given is None:
        return float(group.prepared(weighed.weighed).weights.sum() / max(1, len(group.members)))
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 < given < np.inf:
        raise DocumentError("capacity", f"expected a number above 0, got {given!r}")
    return float(given)


class Packed(NamedTuple):
    """Open members, and how loaded they are.

    ``load``, ``size``: float64 and int64[members], weight and number of their partitions, size -1
    where a member is not open yet. ``lightest``, ``heaviest``: float64[nodes], a tree whose leaves are
    the members by id and whose node n has the children 2n and 2n + 1: the least and the greatest load
    of the open ones below, inf and -inf where nobody is open. ``place``: int64[members], by id;
    ``waiting``: int64[...], nodes that a search has still to look at.
    """

    load: np.ndarray
    size: np.ndarray
    lightest: np.ndarray
    heaviest: np.ndarray
    place: np.ndarray
    waiting: np.ndarray


@njit
def modified_fit(order, known, claimed, by_id, capacity, best):
    """The owner of each partition: int64[n].

    ``order``: partitions, the heaviest first; ``known``: the fields topic, weights, starts and
    readers of :class:`~assignlab.assignors.load_aware.parts.weighed.Weighed`, then kinds of topics, and
    whether members read them, bool[kinds, members by id]; ``claimed``: who had each, or -1;
    ``by_id``: members by id.
    """
    topic, weights, starts, readers, kinds, reads = known
    owners = np.full(weights.size, -1, dtype=np.int64)
    members = nobody_open(by_id)
    had = np.zeros(by_id.size)
    first = np.zeros(by_id.size + 1, dtype=np.int64)
    for p in order:
        if claimed[p] >= 0:
            had[claimed[p]] += weights[p]
            first[claimed[p] + 1] += 1
    for m in range(by_id.size):
        first[m + 1] += first[m]
    of_members = np.empty(first[-1], dtype=np.int64)
    fill = first.copy()
    for p in order:
        if claimed[p] >= 0:
            of_members[fill[claimed[p]]] = p
            fill[claimed[p]] += 1
    for m in by_id[np.argsort(-had[by_id], kind="mergesort")]:
        mine = of_members[first[m] : first[m + 1]]
        rest = mine.size
        while rest > 0:  # the lightest first, to those that are open already
            p = mine[rest - 1]
            to = fitting(members, reads[kinds[topic[p]]], weights[p], capacity, best)
            if to < 0:
                break
            give(p, by_id[to], owners, weights, members)
            rest -= 1
        for p in mine[:rest]:  # the heaviest first, to whom they had
            if members.size[m] > 0 and members.load[m] + weights[p] > capacity:
                break
            give(p, m, owners, weights, members)
    next_reader = np.zeros(reads.shape[0], dtype=np.int64)  # those before are open
    for p in order:
        if owners[p] < 0:
            kind = kinds[topic[p]]
            to = fitting(members, reads[kind], weights[p], capacity, best)
            if to >= 0:
                give(p, by_id[to], owners, weights, members)
                continue
            may = readers[starts[topic[p]] : starts[topic[p] + 1]]
            k = next_reader[kind]
            while k < may.size and members.size[may[k]] >= 0:
                k += 1
            next_reader[kind] = k
            if claimed[p] >= 0 and members.size[claimed[p]] < 0:
                give(p, claimed[p], owners, weights, members)
            elif k < may.size:
                give(p, may[k], owners, weights, members)
            else:
                to = fitting(members, reads[kind], weights[p], np.inf, False)  # the emptiest
                give(p, by_id[to], owners, weights, members)
    return owners


@inner
def nobody_open(by_id):
    """:class:`Packed` before any member is open."""
    leaves = 1
    while leaves < by_id.size:
        leaves *= 2
    place = np.empty(by_id.size, dtype=np.int64)
    for k in range(by_id.size):
        place[by_id[k]] = k
    return Packed(
        np.zeros(by_id.size),
        np.full(by_id.size, -1, dtype=np.int64),
        np.full(2 * leaves, np.inf),
        np.full(2 * leaves, -np.inf),
        place,
        np.empty(64, dtype=np.int64),
    )


@leaf
def fitting(members, reads, weight, capacity, best):
    """Of the open readers with room: the fullest (best fit) or the emptiest (worst fit), as a place by
    id, the first of equals, or -1. Every open member has a partition."""
    leaves = members.lightest.size // 2
    found = -1
    members.waiting[0] = 1
    left = 1
    while left > 0:
        left -= 1
        node = members.waiting[left]
        lightest, heaviest = members.lightest[node], members.heaviest[node]
        if lightest + weight > capacity or lightest > heaviest:
            continue
        if found >= 0 and (
            heaviest <= members.heaviest[leaves + found]
            if best
            else lightest >= members.lightest[leaves + found]
        ):
            continue
        if node < leaves:
            members.waiting[left], members.waiting[left + 1] = 2 * node + 1, 2 * node
            left += 2
        elif reads[node - leaves]:
            found = node - leaves
    return found


@leaf
def give(p, m, owners, weights, members):
    """Partition p goes to member m, who is open now."""
    owners[p] = m
    members.load[m] += weights[p]
    members.size[m] = max(members.size[m], 0) + 1
    node = members.lightest.size // 2 + members.place[m]
    members.lightest[node] = members.heaviest[node] = members.load[m]
    while node > 1:
        node //= 2
        members.lightest[node] = min(members.lightest[2 * node], members.lightest[2 * node + 1])
        members.heaviest[node] = max(members.heaviest[2 * node], members.heaviest[2 * node + 1])
