"""Modified worst fit and modified best fit: partitions packed into members of one capacity.

D. Landau, X. Andrade, J. G. Barbosa, Kafka consumer group autoscaler (arXiv 2402.06085; Journal of
Parallel and Distributed Computing 201, 2025): bin packing with items whose sizes change, in which
what stays with its member costs nothing. Their consumers come and go as the packing asks for them;
here they are the group's members, and those that are not needed get nothing.
"""

import numpy as np

from assignlab.assignors.load_aware.parts import weighed
from assignlab.compiled import inner, njit
from assignlab.errors import DocumentError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def pack(group: Group, best: bool) -> Assignment:
    """Pack by modified best fit, or by modified worst fit; lists by topic and partition.

    Raises :class:`~assignlab.errors.DocumentError` for a capacity that is no number above 0.
    """
    known, members = group.prepared(weighed.weighed), group.members
    order = weighed.heaviest_first(known.weights)
    owners = modified_fit(
        order, known[1:5], weighed.claimed(group), members.names.order, capacity(group), best
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


@njit
def modified_fit(order, known, claimed, by_id, capacity, best):
    """The owner of each partition: int64[n].

    ``order``: partitions, the heaviest first; ``known``: the fields topic, weights, starts and
    readers of :class:`~assignlab.assignors.load_aware.parts.weighed.Weighed`; ``claimed``: who had
    each, or -1; ``by_id``: members by id.
    """
    topic, weights, starts, readers = known
    owners = np.full(weights.size, -1, dtype=np.int64)
    load, size = np.zeros(by_id.size), np.full(by_id.size, -1, dtype=np.int64)  # -1: not open
    had = np.zeros(by_id.size)
    for p in order:
        if claimed[p] >= 0:
            had[claimed[p]] += weights[p]
    for m in by_id[np.argsort(-had[by_id], kind="mergesort")]:
        mine = order[claimed[order] == m]
        rest = mine.size
        while rest > 0:  # the lightest first, to those that are open already
            p = mine[rest - 1]
            to = fitting(
                readers[starts[topic[p]] : starts[topic[p] + 1]],
                weights[p],
                load,
                size,
                capacity,
                best,
            )
            if to < 0:
                break
            give(p, to, owners, weights, load, size)
            rest -= 1
        if rest > 0 and size[m] < 0:
            size[m] = 0
        for p in mine[:rest]:  # the heaviest first, to whom they had
            if not fits(weights[p], load[m], size[m], capacity):
                break
            give(p, m, owners, weights, load, size)
    for p in order:
        if owners[p] < 0:
            may = readers[starts[topic[p]] : starts[topic[p] + 1]]
            to = fitting(may, weights[p], load, size, capacity, best)
            if to < 0:
                to = opened(may, claimed[p], load, size)
            give(p, to, owners, weights, load, size)
    return owners


@inner
def fits(weight, load, size, capacity):
    """An empty member takes a partition of any weight."""
    return size == 0 or load + weight <= capacity


@inner
def fitting(readers, weight, load, size, capacity, best):
    """Of the open readers with room: the fullest (best fit) or the emptiest (worst fit), or -1."""
    found = -1
    for m in readers:
        if size[m] < 0 or not fits(weight, load[m], size[m], capacity):
            continue
        if found < 0 or (load[m] > load[found] if best else load[m] < load[found]):
            found = m
    return found


@inner
def opened(readers, claimant, load, size):
    """The claimant if it is not open yet, else the first reader that is not, else the emptiest."""
    if claimant >= 0 and size[claimant] < 0:
        size[claimant] = 0
        return claimant
    emptiest = readers[0]
    for m in readers:
        if size[m] < 0:
            size[m] = 0
            return m
        if load[m] < load[emptiest]:
            emptiest = m
    return emptiest


@inner
def give(p, m, owners, weights, load, size):
    """Partition p goes to member m."""
    owners[p] = m
    load[m] += weights[p]
    size[m] += 1
