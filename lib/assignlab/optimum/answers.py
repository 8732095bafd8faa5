"""The optimum of a group, what can be had for fewer moves, and how far an answer is from both."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignlab.compiled import njit
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.optimum import closed_form, network, pareto, paths
from assignlab.optimum.certificate import (
    Certificate,
    Found,
    check,
    examined,
    measured,
    reads_of,
)


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
    >>> best.assignment.sizes.tolist(), best.sum_of_squares, best.moves
    ([2, 2], 8, 1)
    """
    shared = group.prepared(network.pools)
    claimed = network.kinds(group, shared)
    arcs = network.network(len(group.members), shared, claimed)
    offsets, codes, weight, prices = _solved(arcs, shared, claimed)
    assignment, certificate = Assignment(offsets, codes), Certificate(weight, prices)
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
    members = len(group.members)
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
    arcs = _modelled(group)
    points, given_up = pareto.front(arcs, paths.start(arcs))
    return Front(points, given_up == 0)


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
    arcs = _modelled(group)
    points, _ = pareto.front(arcs, paths.start(arcs), until)
    squares, moves = points.T
    return int(moves[np.searchsorted(squares, until, side="right") - 1])


def compared(group: Group, assignment: Assignment) -> tuple[np.ndarray, Least, Regret] | None:
    """(the optimum's sizes int64[members], its numbers, the :class:`Regret`) of a complete answer to a
    group in which every partition has one claimant at the most; None for anything else.

    What :func:`optimum` and :func:`regret` say, certificate checked, in one compiled call: of a small
    group most of their time is the way in and out of compiled code.
    """
    claims, reads = group.claims, group.prepared(reads_of)
    if assignment.offsets.size != claims.offsets.size or (
        assignment.codes.max(initial=-1) >= len(group.topics) << 32
    ):
        return None
    offsets, best, own, fewest = _compared(
        group.prepared(network.pools), reads, claims.offsets, claims.codes,
        assignment.offsets, assignment.codes,
    )  # fmt: skip
    if not offsets.size:
        return None
    if fewest < 0:
        fewest = _fewest_moves(group, own[0])
    sizes, least = np.diff(offsets), Least(*best)
    uneven = gap(assignment.sizes) - gap(sizes)
    squares, moves = own
    return sizes, least, Regret(squares, moves, uneven, moves - fewest, least.moves)


@njit
def _compared(shared, reads, claim_offsets, claim_codes, offsets, codes):
    """(offsets of the optimum's lists, its squares and moves, those of the answer, the fewest moves of
    what is as even as the answer or -1 where they are still to be searched).

    No offsets where there is more to be said: several claimants, a proof that fails, an answer that
    is not complete.
    """
    nothing = claim_offsets[:0].copy(), (0, 0), (0, 0), 0
    claims = network.Claimed(
        claim_offsets, claim_codes, reads.subscription, reads.offsets, reads.topics
    )
    members = reads.subscription.size
    node, several = network.claimants(claims, shared)
    if several:
        return nothing
    claimed = network.Kinds(node, *network.kinds_of_one(node, shared, members))
    arcs = network.network(members, shared, claimed)
    of_best, given, weight, prices = _solved(arcs, shared, claimed)
    best = Found(*examined(reads, claim_offsets, claim_codes, of_best, given, weight, prices))
    proven = best.claimed < weight and best.unfit < 0 and best.dear < 0
    own = Found(*examined(reads, claim_offsets, claim_codes, offsets, codes, weight, prices))
    if not proven or best.fault or best.missing or own.fault or own.missing:
        return nothing
    fewest = min(best.moves, own.moves)
    if fewest > 0 and own.squares > best.squares:
        fewest = pareto.fewest_moves(arcs, paths.start(arcs), own.squares)
    return of_best, (best.squares, best.moves), (own.squares, own.moves), fewest


def _modelled(group: Group) -> network.Network:
    shared = group.prepared(network.pools)
    return network.network(len(group.members), shared, network.kinds(group, shared))


def gap(sizes: np.ndarray) -> int:
    """The largest size less the smallest; 0 without members."""
    return int(sizes.max() - sizes.min()) if sizes.size else 0
