"""Least flows: paths along which partitions change hands as long as that is an improvement.

The price of a flow is ``weights.squares`` times the sum of squared sizes plus ``weights.moves``
times the moves. When member a gives up a partition, it saves ``squares * (2 size - 1)``; when b
takes one more, that costs ``squares * (2 size + 1)``; in between partitions are passed on along a
path through kinds and pools, each step with its moves. Where no member saves more than the
cheapest way to another one costs, no cycle of the residual network has a negative price, and the
flow is least (Klein 1967; sizes are convex, so that one partition at a time is enough).

The costs of these cheapest ways are node potentials: they prove the optimum (``certificate.py``).
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit

FAR = 2**62
"""The cost of a way that does not exist."""


class Weights(NamedTuple):
    """The price of a flow, in units of which only the ratio matters: int each."""

    squares: int
    moves: int


class Flow(NamedTuple):
    """``on`` int64[arcs]; ``sizes`` int64[members], each within ``least`` and ``most``."""

    on: np.ndarray
    sizes: np.ndarray
    least: np.ndarray
    most: np.ndarray


# ---- a start -----------------------------------------------------------------------------------


@njit
def start(network):
    """Every claim is kept: no moves. What is free goes to who has least, fewest takers first."""
    flow = Flow(
        np.zeros(network.head.size, dtype=np.int64),
        np.zeros(network.members, dtype=np.int64),
        np.zeros(network.members, dtype=np.int64),
        np.full(network.members, network.supply.sum() + 1, dtype=np.int64),
    )
    takers = np.diff(network.first)
    kinds = np.arange(network.pools, takers.size)
    pools = np.arange(network.pools)
    for node in kinds[np.argsort(takers[kinds], kind="mergesort")]:
        _pour(network, flow, node, network.first[node + 1] - 1)
    for node in pools[np.argsort(takers[pools], kind="mergesort")]:
        _pour(network, flow, node, network.first[node + 1])
    return flow


@inner
def _pour(network, flow, node, end):
    """Deal the supply of a node over its arcs before ``end``: fill up the emptiest members."""
    amount = network.supply[node]
    begin = network.first[node]
    if amount == 0:
        return
    order = begin + np.argsort(flow.sizes[network.head[begin:end]], kind="mergesort")
    total = amount
    filled = 0
    for arc in order:
        size = flow.sizes[network.head[arc]]
        if filled > 0 and size * filled >= total:
            break
        total += size
        filled += 1
    level, more = divmod(total, filled)
    for i in range(filled):
        member = network.head[order[i]]
        given = level + (1 if i < more else 0) - flow.sizes[member]
        flow.on[order[i]] += given
        flow.sizes[member] += given


# ---- cheapest ways -----------------------------------------------------------------------------


class Ways(NamedTuple):
    """From every node the cheapest way to a member that takes one partition more.

    ``cost`` int64[nodes], the taking included, ``FAR`` where there is none; ``arc`` int64[nodes]:
    the first arc of the way, -1 at its end.
    """

    cost: np.ndarray
    arc: np.ndarray


@inner
def cheapest_ways(network, flow, weights):
    """The :class:`Ways` of a flow that no other one of the same sizes improves (Bellman, Ford).

    Nodes whose cost fell wait in a ring for their turn, when whoever can pass a partition on to
    them looks whether this way is cheaper. One function on purpose: a call in the innermost loop
    would take several times as long as what it does.
    """
    nodes = network.members + network.supply.size
    ways = Ways(np.full(nodes, FAR, dtype=np.int64), np.full(nodes, -1, dtype=np.int64))
    takers = np.flatnonzero(flow.sizes < flow.most)
    ways.cost[takers] = weights.squares * (2 * flow.sizes[takers] + 1)
    ring = np.empty(nodes, dtype=np.int64)
    ring[: takers.size] = takers
    waiting = np.zeros(nodes, dtype=np.bool_)
    waiting[takers] = True
    cost, way, on = ways.cost, ways.arc, flow.on
    tail, head, capacity, moves = network.tail, network.head, network.capacity, network.moves
    starts, at = network.starts, network.at
    turn, length = 0, takers.size
    while length > 0:
        node = ring[turn]
        turn, length = (turn + 1) % nodes, length - 1
        waiting[node] = False
        for i in range(starts[node], starts[node + 1]):
            arc = at[i]
            if head[arc] == node:
                before, room, step = tail[arc], capacity[arc] - on[arc], moves[arc]
            else:
                before, room, step = head[arc], on[arc], -moves[arc]
            offer = cost[node] + weights.moves * step
            if room > 0 and offer < cost[before]:
                cost[before] = offer
                way[before] = arc
                if not waiting[before]:
                    waiting[before] = True
                    ring[(turn + length) % nodes] = before
                    length += 1
    return ways


# ---- improving paths ---------------------------------------------------------------------------


class Path(NamedTuple):
    """A way: the member at its end, the node before it, the moves of a partition, how many fit."""

    end: int
    last: int
    moves: int
    room: int


@njit
def improve(network, flow, weights):
    """Send partitions along improving paths until none is left: (costs of the ways, steps).

    Changes ``flow``, which must have the fewest moves of all flows of its sizes, and keeps it so.
    ``steps`` int64[steps, 2]: what each path changed in the sum of squares and in the moves.
    """
    mean = network.supply.sum() // max(network.members, 1)
    steps = np.empty((16, 2), dtype=np.int64)
    count = 0
    while True:
        ways = cheapest_ways(network, flow, weights)
        gain = gains(flow, weights, ways)
        givers = np.flatnonzero(gain > 0)
        if givers.size == 0:
            return ways.cost, steps[:count]
        turn = network.first.copy()
        for giver in givers[np.argsort(-gain[givers], kind="mergesort")]:
            path = _open_path(network, flow, weights, ways, giver, turn)
            amount, squares, moves = _worth(flow, weights, path, giver, mean)
            if amount > 0:
                _push(network, flow, ways, giver, amount)
                if count == steps.shape[0]:
                    steps = np.concatenate((steps, np.empty_like(steps)))
                steps[count, 0], steps[count, 1] = squares, moves
                count += 1


@inner
def gains(flow, weights, ways):
    """What each member saves by giving up a partition, less what its way costs: int64[members]."""
    saved = weights.squares * (2 * flow.sizes - 1)
    return np.where(flow.sizes > flow.least, saved - ways.cost[: saved.size], 0)


@leaf
def _open_path(network, flow, weights, ways, giver, turn):
    """The way of ``giver``; where its end has taken one, to the next member that is as cheap.

    ``turn`` int64[pools + kinds]: the next arc of every node to be looked at for that.
    """
    while True:
        path = survey(network, flow, ways, giver)
        if weights.squares * (2 * flow.sizes[path.end] + 1) == ways.cost[path.end]:
            return path
        if not _turn(network, flow, weights, ways, path.last, turn):
            return path


@leaf
def _turn(network, flow, weights, ways, node, turn):
    """Let the way of a pool or kind end with another member that costs the same, if any."""
    i = node - network.members
    while turn[i] < network.first[i + 1]:
        arc = turn[i]
        turn[i] += 1
        taker = network.head[arc]
        if (
            taker < network.members
            and flow.on[arc] < network.capacity[arc]
            and flow.sizes[taker] < flow.most[taker]
            and weights.squares * (2 * flow.sizes[taker] + 1) == ways.cost[node]
        ):
            ways.arc[node] = arc
            return True
    return False


@leaf
def _worth(flow, weights, path, giver, mean):
    """What to send from ``giver`` along a path: (amount, squares and moves that this adds).

    One partition more lowers the gain by four times the weight of the squares. Whoever is below the
    mean is filled up to it at once, whoever is above it emptied down to it; beyond it sizes change
    by one, so that other members have their turn.
    """
    given = flow.sizes[giver]
    taken = flow.sizes[path.end]
    gain = 2 * weights.squares * (given - taken - 1) - weights.moves * path.moves
    amount = min(
        -(-gain // (4 * weights.squares)),
        path.room,
        given - flow.least[giver],
        flow.most[path.end] - taken,
        max(given - mean, 1),
        max(mean - taken, 1),
    )
    if gain <= 0 or amount <= 0:
        return 0, 0, 0
    return amount, 2 * amount * (taken - given + amount), amount * path.moves


@inner
def survey(network, flow, ways, giver):
    """The :class:`Path` of a member's way."""
    moves = 0
    room = FAR
    node = last = giver
    while ways.arc[node] >= 0:
        arc = ways.arc[node]
        last = node
        if network.tail[arc] == node:
            moves += network.moves[arc]
            room = min(room, network.capacity[arc] - flow.on[arc])
            node = network.head[arc]
        else:
            moves -= network.moves[arc]
            room = min(room, flow.on[arc])
            node = network.tail[arc]
    return Path(node, last, moves, room)


@leaf
def _push(network, flow, ways, giver, amount):
    flow.sizes[giver] -= amount
    node = giver
    while ways.arc[node] >= 0:
        arc = ways.arc[node]
        if network.tail[arc] == node:
            flow.on[arc] += amount
            node = network.head[arc]
        else:
            flow.on[arc] -= amount
            node = network.tail[arc]
    flow.sizes[node] += amount
