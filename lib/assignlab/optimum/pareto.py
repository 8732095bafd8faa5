"""All that can be had: sums of squares and moves that no assignment beats in both.

One walk leads from the evenest assignment without moves to the evenest of all. Each of its corners
is least for a rate at which squares are exchanged for moves; the next corner is where the best rate
that any path offers (found by Dinkelbach's iteration, 1967) is taken as often as it is offered.
What lies between two corners and is least at no rate, because what it takes is not divisible, is
searched by branching on the size of a member that differs between the corners.
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import njit
from assignlab.optimum.network import Network
from assignlab.optimum.paths import Flow, Weights, cheapest_ways, gains, improve, survey

PATIENCE = 2_000
"""So many branches are looked into for one front, fewer if the network is large."""


class Corner(NamedTuple):
    """A flow with its sum of squares and its moves."""

    flow: Flow
    squares: int
    moves: int


class Rate(NamedTuple):
    """So many squares less for so many moves more. No moves: there is nothing to be had."""

    squares: int
    moves: int


class Window(NamedTuple):
    """The fewest squares known for ``first`` moves, for one more, and so on: int64[n]."""

    first: int
    best: np.ndarray

    @property
    def last(self) -> int:
        """The last number of moves that it covers."""
        return self.first + self.best.size - 1

    def part(self, first: int, last: int) -> "Window":
        """The same numbers, of at least ``first`` and at most ``last`` moves."""
        first, last = max(first, self.first), min(last, self.last)
        return Window(first, self.best[first - self.first : max(last - self.first + 1, 0)])

    def lower(self, corner: Corner, steps: np.ndarray) -> None:
        """Take in a corner, and where these steps (squares, moves) lead from it."""
        squares = corner.squares + np.concatenate(([0], np.cumsum(steps[:, 0])))
        place = corner.moves + np.concatenate(([0], np.cumsum(steps[:, 1]))) - self.first
        within = place < self.best.size
        np.minimum.at(self.best, np.maximum(place[within], 0), squares[within])
        np.minimum.accumulate(self.best, out=self.best)

    def hopeful(self, corner: Corner, rate: Rate) -> bool:
        """Whether squares may be lower than known, at this rate from the corner on, or worse ones.

        Sums of squares of assignments of one group differ by even numbers.
        """
        part = self.part(corner.moves, self.last)
        further = part.first - corner.moves + np.arange(part.best.size)
        saved = rate.squares * further // rate.moves // 2 * 2
        return bool((corner.squares - saved < part.best).any())


def front(network, flow: Flow, until: int = 0) -> tuple[np.ndarray, int]:
    """(points int64[n, 2], stretches given up) of a network; ``flow`` is one without moves.

    The walk ends as soon as it is at a sum of squares of ``until`` or less.

    The points (sum of squares, moves) go from the least squares to no moves. A stretch is given up
    after ``PATIENCE`` branches; there may be more points in it than those returned.
    """
    search = _Search(network)
    corner = search.cheapest(flow)
    points = [np.array([[corner.squares, corner.moves]])]
    while corner.squares > until and (rate := search.rate(corner)).moves > 0:
        after, steps = search.next_corner(corner, rate)
        window = Window(corner.moves, np.full(after.moves - corner.moves + 1, corner.squares))
        window.lower(corner, steps)
        if window.hopeful(corner, rate):
            search.between(corner, after, rate, window)
            search.explore_all()
        np.minimum.accumulate(window.best, out=window.best)
        place = 1 + np.flatnonzero(np.diff(window.best))
        points.append(np.stack((window.best[place], window.first + place), axis=1))
        corner = after
    return np.concatenate(points)[::-1], search.given_up


class _Search:
    """Walks in one network, and how many branches may still be looked into."""

    def __init__(self, network: Network):
        self.network = network
        self.left = min(PATIENCE, 20_000_000 // max(network.head.size, 1))
        self.waiting: list[tuple[Flow, Rate, Window]] = []
        self.given_up = 0

    def cheapest(self, flow: Flow) -> Corner:
        """The fewest moves, and the least squares that go with them; changes ``flow``."""
        squares = 2 * int(self.network.supply.sum()) + 2  # more than a path can save
        improve(self.network, flow, Weights(1, squares))
        moves = int(flow.on @ self.network.moves)
        return Corner(flow, int(flow.sizes @ flow.sizes), moves)

    def at_most(self, moves: int, flow: Flow, rate: Rate) -> Corner:
        """A corner with no more moves, the last at this or a multiple of it; changes ``flow``."""
        part = self.network.pools + 1
        while rate.squares < 2 * int(self.network.supply.sum()) * rate.moves:
            improve(self.network, flow, Weights(part * rate.moves, part * rate.squares + 1))
            reached = int(flow.on @ self.network.moves)
            if reached <= moves:
                return Corner(flow, int(flow.sizes @ flow.sizes), reached)
            rate = Rate(2 * rate.squares, rate.moves)
        return self.cheapest(flow)

    def rate(self, corner: Corner) -> Rate:
        """The best rate that a path offers."""
        lexicographic = Weights(self.network.pools + 1, 1)  # no path has more moves than pools
        return Rate(*best_rate(self.network, corner.flow, lexicographic))

    def next_corner(self, corner: Corner, rate: Rate) -> tuple[Corner, np.ndarray]:
        """All that is offered at the best rate: (where it leads, the steps int64[n, 2])."""
        flow = corner.flow._replace(on=corner.flow.on.copy(), sizes=corner.flow.sizes.copy())
        part = self.network.pools + 1
        _, steps = improve(self.network, flow, Weights(part * rate.moves, part * rate.squares - 1))
        squares, moves = steps.sum(axis=0).tolist()
        return Corner(flow, corner.squares + squares, corner.moves + moves), steps

    def between(self, one: Corner, other: Corner, rate: Rate, window: Window) -> None:
        """Let what lies between two corners, neighbours at this rate, wait for its turn: branch."""
        member = int(np.abs(one.flow.sizes - other.flow.sizes).argmax())
        middle = int(one.flow.sizes[member] + other.flow.sizes[member]) // 2
        for flow, _, _ in (one, other):
            least, most = flow.least.copy(), flow.most.copy()
            if flow.sizes[member] <= middle:
                most[member] = middle
            else:
                least[member] = middle + 1
            self.waiting.append((flow._replace(least=least, most=most), rate, window))

    def explore_all(self) -> None:
        """Lower the windows to what there is on the branches that wait, and theirs."""
        while self.waiting and self.left > 0:
            self.left -= 1
            flow, rate, window = self.waiting.pop()
            flow = flow._replace(on=flow.on.copy(), sizes=flow.sizes.copy())
            self.explore(self.at_most(window.first, flow, rate), window)
        self.given_up += len(self.waiting)
        self.waiting.clear()

    def explore(self, corner: Corner, window: Window) -> None:
        """Lower the window to what is on the walk from a corner; what lies beside it waits."""
        window.lower(corner, np.empty((0, 2), dtype=np.int64))
        while corner.moves < window.last:
            rate = self.rate(corner)
            if rate.moves == 0 or not window.hopeful(corner, rate):
                return
            after, steps = self.next_corner(corner, rate)
            window.lower(corner, steps)
            part = window.part(corner.moves, after.moves)
            if part.hopeful(corner, rate):
                self.between(corner, after, rate, part)
            corner = after


@njit
def fewest_moves(network, flow, until):
    """The fewest moves of a sum of squares of ``until`` or less; -1 where branching has to tell.

    ``flow`` is one without moves, and is changed. The walk of :func:`front`, of which the corners
    are enough if what may lie before the first step that gets there is no better at the best rate.
    """
    part = network.pools + 1
    improve(network, flow, Weights(1, 2 * network.supply.sum() + 2))
    squares = (flow.sizes * flow.sizes).sum()
    moves = (flow.on * network.moves).sum()
    while squares > until:
        saved, spent = best_rate(network, flow, Weights(part, 1))
        if spent == 0:
            return -1
        _, steps = improve(network, flow, Weights(part * spent, part * saved - 1))
        after = squares + np.cumsum(steps[:, 0])
        enough = after <= until
        if enough.any():
            least = np.cumsum(steps[:, 1])[enough].min()
            sooner = squares - saved * (least - 1) // spent // 2 * 2
            return moves + least if sooner > until else -1
        squares = after[-1]
        moves += steps[:, 1].sum()
    return moves


@njit
def best_rate(network, flow, weights):
    """The :class:`Rate` of the path that saves most squares for each of its moves, as a tuple.

    ``weights``: with which every path that saves squares is an improvement.
    """
    squares, moves = 0, 0
    while True:
        ways = cheapest_ways(network, flow, weights)
        gain = gains(flow, weights, ways)
        if (gain <= 0).all():
            return squares, moves
        giver = gain.argmax()
        path = survey(network, flow, ways, giver)
        squares = 2 * (flow.sizes[giver] - flow.sizes[path.end] - 1)
        moves = path.moves
        weights = Weights(moves, squares)
