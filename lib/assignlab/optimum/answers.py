"""The optimum of a group, what can be had for fewer moves, and how far an answer is from both."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from assignlab.compiled import leaf, njit
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Claims, Group, a_group
from assignlab.optimum import closed_form, network, pareto, paths
from assignlab.optimum.certificate import Certificate, Found, check, examined, measured, reads_of


@dataclass(frozen=True, eq=False, slots=True)
class Optimum:
    """A complete assignment with the least sum of squares, and the fewest moves that go with it.

    ``assignment``: lists by topic and partition. ``sum_of_squares``: partitions per member squared,
    added over members. ``moves``: partitions that leave all that validly claim them.
    ``certificate``: proves both (:func:`assignlab.optimum.certificate.check`).
    """

    assignment: Assignment
    sum_of_squares: int
    moves: int
    certificate: Certificate


class Least(NamedTuple):
    """The numbers of an :class:`Optimum`, without an assignment."""

    sum_of_squares: int
    moves: int


@dataclass(frozen=True, eq=False, slots=True)
class Front:
    """Every pair (sum of squares, moves) that no complete assignment beats in both.

    ``points``: int64[n, 2], from the least sum of squares to the fewest moves, which are always 0.
    ``whole``: whether the search came to its end; if not, pairs may be missing between two others.
    """

    points: np.ndarray
    whole: bool


@dataclass(frozen=True, slots=True)
class Regret:
    """A complete assignment beside the best there is.

    ``sum_of_squares``, ``moves``: its own. ``gap_regret``: its count gap (largest size - smallest)
    less that of the optimum, in partitions. ``moves_regret``: its moves less the fewest of all
    assignments that are at least as even, so that moves at different balance are never compared.
    ``price_of_balance``: the optimum's moves less the fewest of all complete assignments.
    """

    sum_of_squares: int
    moves: int
    gap_regret: int
    moves_regret: int
    price_of_balance: int


def optimum(group: Group) -> Optimum:
    """The :class:`Optimum` of a group, its certificate checked.

    The claims are those of ``group.claims``, whatever their generation. Raises
    :class:`~assignlab.optimum.certificate.WrongCertificate` if the proof fails.

    >>> from assignlab.group import group
    >>> g = group({"t": 4}, {"a": ["t"], "b": ["t"]}, {"a": [("t", 0), ("t", 1), ("t", 2)]})
    >>> best = optimum(g)
    >>> best.sum_of_squares, best.moves
    (8, 1)
    >>> best.assignment
    4 partitions of 2 members
    a  2  t-0 t-1
    b  2  t-2 t-3
    """
    shared = a_group(group).prepared(network.pools)
    claimed = network.kinds(group, shared)
    arcs = network.network(len(group.members), shared, claimed)
    offsets, codes, weight, prices = _solved(arcs, shared, claimed)
    assignment, certificate = Assignment(offsets, codes, group=group), Certificate(weight, prices)
    found = check(group, assignment, certificate)
    return Optimum(assignment, found.sum_of_squares, found.moves, certificate)


@njit
def _solved(arcs, shared, claimed):
    """(offsets, codes, weight, prices): an optimal assignment and its certificate."""
    flow = paths.start(arcs)
    weight = claimed.partitions.sum() + 1
    costs, _ = paths.improve(arcs, flow, paths.Weights(weight, 1))
    return *network.dealt(arcs, shared, claimed.node, flow.on), weight, costs[: arcs.members]


def least(group: Group) -> Least:
    """The numbers of the optimum: by the closed form for equal subscriptions, else by solving.

    Raises what :func:`optimum` raises. The closed form holds where every member reads every
    topic that has a reader, and no partition has several claimants.
    """
    members = len(a_group(group).members)
    shared = group.prepared(network.pools)
    if shared.offsets.tolist() == [0, members]:  # one pool, read by everybody
        claimed = network.kinds(group, shared)
        if claimed.claimants.size == claimed.pool.size:
            owned = np.zeros(members, dtype=np.int64)
            owned[claimed.claimants] = claimed.partitions
            partitions = int(shared.starts[-1])
            squares = closed_form.least_squares(partitions, members)
            return Least(squares, int(closed_form.fewest_moves(owned, partitions)))
    best = optimum(group)
    return Least(best.sum_of_squares, best.moves)


def front(group: Group) -> Front:
    """The :class:`Front` of a group.

    >>> from assignlab.group import group
    >>> g = group({"t": 4}, {"a": ["t"], "b": ["t"]}, {"a": [("t", p) for p in range(4)]})
    >>> front(g).points.tolist()
    [[8, 2], [10, 1], [16, 0]]
    """
    points, given_up = _front(group)
    return Front(points, given_up == 0)


def _front(group: Group, until: int = 0) -> tuple[np.ndarray, int]:
    """What :func:`assignlab.optimum.pareto.front` says of a group."""
    shared = a_group(group).prepared(network.pools)
    arcs = network.network(len(group.members), shared, network.kinds(group, shared))
    return pareto.front(arcs, paths.start(arcs), until)


def regret(group: Group, assignment: Assignment, best: Optimum | None = None) -> Regret:
    """The :class:`Regret` of an answer to a group; ``best``: the group's optimum, if it is known.

    Raises :class:`~assignlab.optimum.certificate.NotComplete` unless every assignable partition has
    one owner that subscribes to its topic. Where the front is not whole, ``moves_regret`` is a
    lower bound.
    """
    own = measured(group, assignment)
    best = best or optimum(group)
    fewest = min(best.moves, own.moves)
    if fewest > 0 and own.sum_of_squares > best.sum_of_squares:
        fewest = _fewest_moves(group, own.sum_of_squares)
    return Regret(
        sum_of_squares=own.sum_of_squares,
        moves=own.moves,
        gap_regret=gap(assignment.sizes) - gap(best.assignment.sizes),
        moves_regret=own.moves - fewest,
        price_of_balance=best.moves,  # every claim can be kept: the fewest moves of all are none
    )


def _fewest_moves(group: Group, until: int) -> int:
    """The fewest moves of all assignments whose sum of squares is ``until`` or less."""
    squares, moves = _front(group, until)[0].T
    return int(moves[np.searchsorted(squares, until, side="right") - 1])


def holding(group: Group, held: Assignment) -> Group:
    """The group, whose members claim what they ``held``, whoever they asked."""
    none = Claims.none(len(group.members))
    return group.with_claims(
        replace(none, offsets=held.offsets, codes=held.codes, present=~none.present)
    )


Beside = tuple[Least, int, int, int, Regret | None]
"""The best there is, how many partitions it has assigned, its largest size and how many of its members
are idle; and the regret of an answer, None if that is not complete."""


def compared(group: Group, held: Assignment, answer: Assignment) -> Beside | None:
    """An answer to a group in which every partition was held by one member at the most, beside the
    optimum; None for anything else.

    What :func:`optimum` and :func:`regret` say where members claim what they ``held``, certificate
    checked, in one compiled call: of a small group most of their time is the way in and out of
    compiled code.
    """
    beyond = answer.codes.max(initial=-1) >= code(len(group.topics), 0)
    if beyond or answer.offsets.size != held.offsets.size:
        return None
    proven, complete, best, own = _compared(
        group.prepared(network.pools), group.prepared(reads_of), held.offsets, held.codes,
        answer.offsets, answer.codes,
    )  # fmt: skip
    if not proven:
        return None
    squares, least_moves, assigned, largest, idle = best
    regret = None
    if complete:
        own_squares, moves, uneven, fewest = own
        if fewest < 0:
            fewest = _fewest_moves(holding(group, held), own_squares)
        regret = Regret(own_squares, moves, uneven, moves - fewest, least_moves)
    return Least(squares, least_moves), assigned, largest, idle, regret


@njit
def _compared(shared, reads, claim_offsets, claim_codes, offsets, codes):
    """(whether the optimum is proven, whether the answer is complete, (the optimum's squares, moves,
    partitions, largest size and idle members), (the answer's squares, moves, gap less that of the
    optimum, and the fewest moves of what is as even or -1 where they are still to be searched)).

    Nothing is proven where a partition has several claimants, which needs another network.
    """
    claims = network.Claimed(
        claim_offsets, claim_codes, reads.subscription, reads.offsets, reads.topics
    )
    members = reads.subscription.size
    node, several = network.claimants(claims, shared)
    if several:
        return False, False, (0, 0, 0, 0, 0), (0, 0, 0, 0)
    claimed = network.Kinds(node, *network.kinds_of_one(node, shared, members))
    arcs = network.network(members, shared, claimed)
    of_best, given, weight, prices = _solved(arcs, shared, claimed)
    best = Found(*examined(reads, claim_offsets, claim_codes, of_best, given, weight, prices))
    proven = best.claimed < weight and best.unfit < 0 and best.dear < 0
    proven = proven and not best.fault and not best.missing
    largest, smallest, idle = _spread(of_best)
    of_optimum = best.squares, best.moves, of_best[-1], largest, idle
    own = Found(*examined(reads, claim_offsets, claim_codes, offsets, codes, weight, prices))
    if not proven or own.fault or own.missing:
        return proven, False, of_optimum, (0, 0, 0, 0)
    fewest = min(best.moves, own.moves)
    if fewest > 0 and own.squares > best.squares:
        fewest = pareto.fewest_moves(arcs, paths.start(arcs), own.squares)
    own_largest, own_smallest, _ = _spread(offsets)
    uneven = own_largest - own_smallest - largest + smallest
    return proven, True, of_optimum, (own.squares, own.moves, uneven, fewest)


@leaf
def _spread(offsets):
    """The largest size, the smallest, and how many are 0; zeros without members."""
    largest, smallest, idle = 0, 0, 0
    for m in range(offsets.size - 1):
        size = offsets[m + 1] - offsets[m]
        largest = max(largest, size)
        smallest = size if m == 0 else min(smallest, size)
        idle += size == 0
    return largest, smallest, idle


def gap(sizes: np.ndarray) -> int:
    """The largest size less the smallest; 0 without members."""
    return int(sizes.max() - sizes.min()) if sizes.size else 0
