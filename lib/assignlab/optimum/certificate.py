"""Proof that an assignment is optimal, checked by code that shares nothing with the solver.

A certificate is a price for every member: what one partition more costs there, if a unit of the sum
of squares costs ``weight`` and a move costs 1. Two conditions are enough.

1. The price of a member of size z is between ``weight * (2 z - 1)``, what its last partition costs,
   and ``weight * (2 z + 1)``, what the next one would (an empty member has no lower bound).
2. Every partition is where it is cheapest: no reader of its topic has a lower price, the move
   included (1 if somebody claims the partition and the reader does not, else 0).

Add 2. over all partitions: at fixed prices no other assignment is cheaper. Squares are convex, so
by 1. another assignment's sum of squares, times ``weight``, is larger at least by what its sizes
cost more at these prices. Together: ``weight * squares + moves`` is least; and since ``weight`` is
more than there are claimed partitions to move, the squares are least, and the moves are the fewest
that go with them. These are the conditions of complementary slackness for a transport problem
(Ford, Fulkerson: Flows in Networks, 1962).
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment, code, partition_of, topic_of
from assignlab.group.model import Group, first_numbers

UNREAD = 2**62
"""The price of a topic that nobody reads."""

FAULTS = ("", "is not there", "is not subscribed to by its owner", "is assigned twice")
NOT_THERE, NOT_READ, TWICE = 1, 2, 3


class Certificate(NamedTuple):
    """``weight``: of the sum of squares, an int; ``prices``: int64[members]."""

    weight: int
    prices: np.ndarray


class Measured(NamedTuple):
    """An assignment in numbers, as ints.

    ``sum_of_squares``: of the sizes, in partitions squared. ``moves``: partitions that somebody
    validly claims and that a member has that does not. ``claimed``: partitions that somebody
    validly claims.
    """

    sum_of_squares: int
    moves: int
    claimed: int


class NotComplete(AssignlabError):
    """Not every assignable partition has one owner that reads it; the message names one."""


class WrongCertificate(AssignlabError):
    """A certificate does not prove what it should; the message names the condition that fails."""


def measured(group: Group, assignment: Assignment) -> Measured:
    """The :class:`Measured` of a complete assignment; raises :class:`NotComplete` for others."""
    free = Certificate(0, np.zeros(len(group.members), dtype=np.int64))
    return _measured(group, _examined(group, assignment, free))


def check(group: Group, assignment: Assignment, certificate: Certificate) -> Measured:
    """Prove that no assignment of the group has a smaller sum of squares, or as small a one with
    fewer moves; returns its :class:`Measured`.

    Raises :class:`WrongCertificate` where the proof fails, :class:`NotComplete` where there is
    nothing to prove. Takes time linear in partitions, claims and the members' subscribed topics.
    """
    weight, prices = certificate
    if prices.shape != (len(group.members),) or prices.dtype != np.int64:
        raise WrongCertificate(f"prices are not int64[{len(group.members)}]")
    found = _examined(group, assignment, certificate)
    numbers = _measured(group, found)
    if numbers.claimed >= weight:
        raise WrongCertificate(f"weight {weight} is not above {numbers.claimed} possible moves")
    if found.unfit >= 0:
        member, price = group.members.names[found.unfit], prices[found.unfit]
        size = assignment.sizes[found.unfit]
        raise WrongCertificate(f"price {price} of {member!r} does not fit its size {size}")
    if found.dear >= 0:
        raise WrongCertificate(f"{_named(group, found.dear)} is cheaper with another member")
    return numbers


class Reads(NamedTuple):
    """Member i subscribes to ``topics[offsets[s]:offsets[s + 1]]`` with ``s = subscription[i]``;
    ``partitions`` int64[topics]."""

    partitions: np.ndarray
    subscription: np.ndarray
    offsets: np.ndarray
    topics: np.ndarray


class Found(NamedTuple):
    """What :func:`examined` finds.

    ``squares``, ``moves``, ``claimed``: as in :class:`Measured`; ``missing``: partitions without an
    owner. -1 where there is none: ``dear``, a partition's code that is cheaper elsewhere;
    ``unfit``, the first member whose price does not fit its size. ``fault``, ``faulty``: the first
    of :data:`FAULTS` and the partition's code that has it; the rest is not looked at then.
    """

    squares: int
    moves: int
    claimed: int
    missing: int
    dear: int
    unfit: int
    fault: int
    faulty: int


def reads_of(group: Group) -> Reads:
    """The :class:`Reads` of a group (for ``group.prepared``)."""
    members = group.members
    return Reads(group.topics.partitions, members.subscription, members.offsets, members.topics)


def _examined(group: Group, assignment: Assignment, certificate: Certificate) -> Found:
    lists = assignment.offsets.size - 1
    if lists != len(group.members):
        raise NotComplete(f"{lists} lists of partitions for {len(group.members)} members")
    if assignment.codes.max(initial=-1) >= code(len(group.topics), 0):
        raise NotComplete("there are partitions of topics that the group does not know")
    claims, reads = group.claims, group.prepared(reads_of)
    return Found(*examined(
        reads, claims.offsets, claims.codes, assignment.offsets, assignment.codes, *certificate
    ))  # fmt: skip


@njit
def examined(reads, claim_offsets, claim_codes, offsets, codes, weight, prices):
    """What is given, then what is claimed, then every partition where it is: a :class:`Found`, as a
    plain tuple, which numba turns to Python's sooner. All topics of the codes are the group's.

    Three steps more and not one, in which numba counts references in the loops.
    """
    starts = first_numbers(reads.partitions)
    owner, fault, faulty = _owners(starts, reads, offsets, codes)
    if fault:
        return Found(0, 0, 0, 0, dear=-1, unfit=-1, fault=fault, faulty=faulty)[:]
    claimant, kept = _cheapest_claimants(starts, reads, claim_offsets, claim_codes, prices, owner)
    readers = _cheapest_readers(starts.size - 1, reads, prices)
    dear, missing, claimed, moves = _compare(starts, readers, owner, claimant, kept, prices)
    squares, unfit = 0, -1
    for m in range(prices.size):
        size = offsets[m + 1] - offsets[m]
        squares += size * size
        low = size > 0 and prices[m] < weight * (2 * size - 1)
        if unfit < 0 and (low or prices[m] > weight * (2 * size + 1)):
            unfit = m
    return Found(squares, moves, claimed, missing, dear, unfit, fault=0, faulty=-1)[:]


def _measured(group: Group, found: Found) -> Measured:
    if found.fault:
        raise NotComplete(f"{_named(group, found.faulty)} {FAULTS[found.fault]}")
    if found.missing:
        raise NotComplete(f"{found.missing} of the partitions have no owner")
    return Measured(int(found.squares), int(found.moves), int(found.claimed))


def _named(group: Group, of: int) -> str:
    topic = int(topic_of(of))
    name = group.topics.names[topic] if topic < len(group.topics) else topic
    return f"partition {partition_of(of)} of topic {name!r}"


@njit
def _owners(starts, reads, offsets, codes):
    """(the member that has each partition or -1, the first fault, the code of its partition)."""
    owner = np.full(starts[-1], -1, dtype=np.int32)
    mark = np.full(starts.size - 1, -1, dtype=np.int64)
    for m in range(reads.subscription.size):
        _mark(reads, m, mark)
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            place = starts[t] + partition_of(codes[k])
            if place >= starts[t + 1]:
                return owner, NOT_THERE, codes[k]
            if mark[t] != reads.subscription[m]:
                return owner, NOT_READ, codes[k]
            if owner[place] >= 0:
                return owner, TWICE, codes[k]
            owner[place] = m
    return owner, 0, -1


@inner
def _cheapest_claimants(starts, reads, offsets, codes, prices, owner):
    """Of each partition the valid claimant of the least price, or -1; whether its owner is one."""
    cheapest = np.full(starts[-1], -1, dtype=np.int32)
    kept = np.zeros(starts[-1], dtype=np.bool_)
    mark = np.full(starts.size - 1, -1, dtype=np.int64)
    for m in range(reads.subscription.size):
        _mark(reads, m, mark)
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            place = starts[t] + partition_of(codes[k])
            if mark[t] != reads.subscription[m] or place >= starts[t + 1]:
                continue
            if cheapest[place] < 0 or prices[m] < prices[cheapest[place]]:
                cheapest[place] = m
            if owner[place] == m:
                kept[place] = True
    return cheapest, kept


@inner
def _cheapest_readers(topics, reads, prices):
    """The least price among the readers of each topic: int64[topics]."""
    cheapest = np.full(topics, UNREAD, dtype=np.int64)
    least = np.full(reads.offsets.size - 1, UNREAD, dtype=np.int64)
    for m in range(reads.subscription.size):
        s = reads.subscription[m]
        least[s] = min(least[s], prices[m])
    for s in range(least.size):
        for t in reads.topics[reads.offsets[s] : reads.offsets[s + 1]]:
            cheapest[t] = min(cheapest[t], least[s])
    return cheapest


@inner
def _mark(reads, member, mark):
    """Mark the topics that the member subscribes to, unless the one before marked the same."""
    s = reads.subscription[member]
    if member == 0 or reads.subscription[member - 1] != s:
        for t in reads.topics[reads.offsets[s] : reads.offsets[s + 1]]:
            mark[t] = s


@inner
def _compare(starts, readers, owner, claimant, kept, prices):
    """(a partition that is cheaper elsewhere or -1, partitions missing, claimed, moved)."""
    dear = -1
    missing, claimed, moves = 0, 0, 0
    for t in range(readers.size):
        if readers[t] == UNREAD:
            continue
        for place in range(starts[t], starts[t + 1]):
            if owner[place] < 0:
                missing += 1
                continue
            best = readers[t]
            move = 0
            if claimant[place] >= 0:
                best = min(best + 1, prices[claimant[place]])
                move = 0 if kept[place] else 1
                claimed += 1
                moves += move
            if prices[owner[place]] + move > best:
                dear = code(t, place - starts[t])
    return dear, missing, claimed, moves
