"""Which of a topic's readers comes first: a tournament among all members.

Members are the leaves of one tree, those with the same subscription side by side. So the readers of
a topic stand in runs of leaves, and a run is all that is below a few nodes.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.assignors.parts.trees import width_of
from assignlab.compiled import inner, leaf, njit
from assignlab.group.model import Group

NOBODY = -1


class Readers(NamedTuple):
    """Where the members stand in the tree, whose node n has the children 2n and 2n + 1.

    ``leaf``: int64[members]; ``place``: int64[members], by id; ``kinds``: int64[topics]. The readers
    of topics of kind k are the members below the nodes ``nodes[starts[k]:starts[k + 1]]``.
    """

    leaf: np.ndarray
    place: np.ndarray
    kinds: np.ndarray
    starts: np.ndarray
    nodes: np.ndarray


def readers(group: Group) -> Readers:
    """The :class:`Readers` of a group (for ``group.prepared``)."""
    members = group.members
    kinds, subscribed = group.prepared(kinds_of_topics)
    leaf, starts, nodes = tree(members.subscription, subscribed)
    return Readers(leaf, members.names.rank, kinds, starts, nodes)


@njit
def tree(subscription, subscribed):
    """(leaf, starts, nodes) of :class:`Readers`.

    ``subscribed``: bool[kinds of topics, subscriptions].
    """
    width = width_of(subscription.size)
    ends = np.full(subscribed.shape[1], width)  # the leaf behind those with a subscription
    for s in subscription:
        ends[s] += 1
    for s in range(1, ends.size):
        ends[s] += ends[s - 1] - width
    leaf = np.empty_like(subscription)
    before = ends.copy()
    for m in range(leaf.size - 1, -1, -1):
        before[subscription[m]] -= 1
        leaf[m] = before[subscription[m]]
    starts = np.zeros(subscribed.shape[0] + 1, dtype=np.int64)
    nodes = np.empty(0, dtype=np.int64)
    for turn in range(2):
        n = 0
        for k in range(subscribed.shape[0]):
            s = 0
            while s < ends.size:
                if not subscribed[k, s]:
                    s += 1
                    continue
                low = ends[s - 1] if s > 0 else width
                while s < ends.size and subscribed[k, s]:
                    s += 1
                high = ends[s - 1]
                while low < high:
                    if low % 2 == 1:
                        if turn == 1:
                            nodes[n] = low
                        n += 1
                        low += 1
                    if high % 2 == 1:
                        high -= 1
                        if turn == 1:
                            nodes[n] = high
                        n += 1
                    low //= 2
                    high //= 2
            starts[k + 1] = n
        if turn == 0:
            nodes = np.empty(n, dtype=np.int64)
    return leaf, starts, nodes


@inner
def leaves(place):
    """The leaf at each place: int64[members]."""
    return place + width_of(place.size)


class Tournament(NamedTuple):
    """Members with the least ``first`` win, of these those with the least ``second``, of these the
    one with the least ``place``: float64, int64, int64[members]; who is below no node does not play.

    ``winners``: int64[nodes], or ``NOBODY``.
    """

    winners: np.ndarray
    leaf: np.ndarray
    place: np.ndarray
    first: np.ndarray
    second: np.ndarray


@inner
def nobody_plays(leaf, place, first, second):
    """The :class:`Tournament` before it begins."""
    return Tournament(np.full(2 * width_of(leaf.size), NOBODY), leaf, place, first, second)


@leaf
def all_play(tournament):
    """Let every member play."""
    winners = tournament.winners
    for m in range(tournament.leaf.size):
        winners[tournament.leaf[m]] = m
    for node in range(winners.size // 2 - 1, 0, -1):
        winners[node] = better(tournament, winners[2 * node], winners[2 * node + 1])


@leaf
def plays(tournament, m):
    """Member m plays, or plays with what it has now."""
    winners = tournament.winners
    node = tournament.leaf[m]
    winners[node] = m
    while node > 1:
        node //= 2
        before = winners[node]
        winners[node] = better(tournament, winners[2 * node], winners[2 * node + 1])
        if before != m and winners[node] != m:
            break  # nothing has changed above


@leaf
def better(tournament, a, b):
    """Which of two members wins; each may be ``NOBODY``."""
    if a == NOBODY or b == NOBODY:
        return max(a, b)
    first, second = tournament.first, tournament.second
    if first[a] != first[b]:
        return a if first[a] < first[b] else b
    if second[a] != second[b]:
        return a if second[a] < second[b] else b
    return a if tournament.place[a] <= tournament.place[b] else b


@leaf
def winner(tournament, readers, topic):
    """The winner among the readers of a topic, or ``NOBODY``."""
    kind = readers.kinds[topic]
    best = NOBODY
    for n in range(readers.starts[kind], readers.starts[kind + 1]):
        best = better(tournament, best, tournament.winners[readers.nodes[n]])
    return best
