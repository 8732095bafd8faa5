"""The optimum of a group, what can be had for fewer moves, and how far an answer is from both."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.optimum import closed_form, network, pareto, paths
from assignlab.optimum.certificate import Certificate, check, measured


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
    shared, claimed, arcs = _modelled(group)
    flow = paths.start(arcs)
    weight = int(claimed.partitions.sum()) + 1
    costs, _ = paths.improve(arcs, flow, paths.Weights(weight, 1))
    assignment = network.assignment(arcs, shared, claimed, flow.on)
    certificate = Certificate(weight, costs[: len(group.members)])
    found = check(group, assignment, certificate)
    return Optimum(assignment, found.sum_of_squares, found.moves, certificate)


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
    *_, arcs = _modelled(group)
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
        *_, arcs = _modelled(group)
        points, _ = pareto.front(arcs, paths.start(arcs), own.sum_of_squares)
        squares, moves = points.T
        fewest = int(moves[np.searchsorted(squares, own.sum_of_squares, side="right") - 1])
    return Regret(
        sum_of_squares=own.sum_of_squares,
        moves=own.moves,
        gap_regret=gap(assignment.sizes) - gap(best.assignment.sizes),
        moves_regret=own.moves - fewest,
        price_of_balance=best.moves,  # every claim can be kept: the fewest moves of all are none
    )


def _modelled(group: Group) -> tuple[network.Pools, network.Kinds, network.Network]:
    shared = group.prepared(network.pools)
    claimed = network.kinds(group, shared)
    return shared, claimed, network.network(len(group.members), shared, claimed)


def gap(sizes: np.ndarray) -> int:
    """The largest size less the smallest; 0 without members."""
    return int(sizes.max() - sizes.min()) if sizes.size else 0
