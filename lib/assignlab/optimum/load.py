"""What balance means, counted three ways: by partitions, inside each topic, by load;
each beside a bound.

The load of a member is the sum of the weights of its partitions. That the largest load be least is
NP-hard for two members already (PARTITION), so the optimum is not promised. A **bound** is: no
complete assignment is below it. Each bound on loads rests on a set of members, its proof, and on
sums.

- Members S alone read partitions of the weight W: one of them has at least W / |S|. The best set is
  found by a maximum flow, in which weight may be divided (Dinkelbach's iteration over minimum
  cuts).
- One of n members has at least k + 1 of the k n + 1 heaviest partitions that S alone reads; their
  least weight is that of the lightest k + 1 of these. With k = 0 that is the heaviest partition.
- Members S read partitions of the weight N at all: one of them has at most N / |S|. If the k
  heaviest go to k of them, the others share what is left: (N - these) / (|S| - k).

Hence the least possible largest load, the largest possible smallest load, and what the two differ
by at least. The count gap's bound is that of the proven optimum
(:func:`assignlab.optimum.optimum`); a topic is even within 0 or 1 by itself.
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import njit
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import Group, numbers_of, subscriptions_by_topic, weights_of
from assignlab.optimum.answers import gap, optimum
from assignlab.optimum.certificate import measured

TINY = 1e-12
"""A share of the whole load that counts as nothing: sums of weights are rounded."""


class Measure(NamedTuple):
    """A ``value`` that is better when smaller, and a ``bound`` below which no assignment is."""

    value: float
    bound: float

    @property
    def percent(self) -> float | None:
        """How far the value is above the bound, in per cent; None above a bound of 0."""
        if self.bound == 0:
            return None if self.value else 0.0
        return 100 * (self.value / self.bound - 1)


class Loads(NamedTuple):
    """``least_largest``: no assignment's largest load is below; ``largest_least``:
    no smallest above.

    ``crowded`` and ``starved``: the members, as indices, whose sums prove the one and the other.
    """

    least_largest: float
    largest_least: float
    crowded: np.ndarray
    starved: np.ndarray


class WrongBound(AssignlabError):
    """A complete assignment lies below a bound: the bound is wrong."""


def loads(group: Group, assignment: Assignment) -> np.ndarray:
    """The load of every member: float64[members]."""
    weights = group.prepared(weights_of)[numbers_of(group, assignment.codes)]
    return np.bincount(assignment.owners, weights, len(group.members))


def measures(group: Group, assignment: Assignment) -> dict[str, Measure]:
    """``count_gap``, ``topic_gap``, ``load_gap`` and ``load_max_over_mean`` of a complete
    assignment.

    Gaps are of the most and the least that members have, that of a topic of its readers; the
    largest of all topics counts. ``load_max_over_mean`` is 1 where there is no load; without members
    there is nothing. Raises :class:`~assignlab.optimum.certificate.NotComplete` for other
    assignments, :class:`WrongBound` if one lies below its bound, and what ``optimum`` raises.

    >>> from assignlab.group import group
    >>> from assignlab.group.assignment import Assignment, code
    >>> g = group({"t": 3}, {"a": ["t"], "b": ["t"]}, weights={"t": [100, 60, 50]})
    >>> one = Assignment(np.array([0, 2, 3]), code(0, np.array([0, 1, 2])))
    >>> for name, measure in measures(g, one).items():
    ...     print(name, [round(number, 3) for number in measure], round(measure.percent, 1))
    count_gap [1, 1] 0.0
    topic_gap [1, 1] 0.0
    load_gap [110.0, 10.0] 1000.0
    load_max_over_mean [1.524, 1.048] 45.5
    """
    measured(group, assignment)  # or it is not complete
    if not len(group.members):
        return {}
    sizes, own = assignment.sizes, loads(group, assignment)
    least = optimum(group).assignment.sizes
    possible = group.prepared(load_bounds)
    mean = own.mean()
    found = {
        "count_gap": Measure(gap(sizes), gap(least)),
        "topic_gap": topic_gap(group, assignment),
        "load_gap": Measure(float(np.ptp(own)), least_gap(possible, float(own.sum()), own.size)),
        "load_max_over_mean": Measure(
            float(own.max() / mean) if mean else 1.0,
            float(possible.least_largest / mean) if mean else 1.0,
        ),
    }
    for name, measure in found.items():
        if measure.bound > measure.value + TINY * max(1.0, own.sum()):
            raise WrongBound(f"{name}: {measure.value} lies below {measure.bound}")
    return {name: m._replace(bound=min(m.bound, m.value)) for name, m in found.items()}


def least_gap(possible: Loads, total: float, members: int) -> float:
    """What the largest and the smallest load differ by at least.

    All loads together are the same in every assignment: if one is large, the others share less.
    """
    largest, least = possible.least_largest, possible.largest_least
    others = max(1, members - 1)
    return max(
        0.0,
        largest - least,
        largest - (total - largest) / others if members > 1 else 0.0,
        (total - least) / others - least if members > 1 else 0.0,
    )


def topic_gap(group: Group, assignment: Assignment) -> Measure:
    """The largest gap inside a topic, and what it must be: 1 where its readers do not divide it."""
    members, reads = group.members, group.prepared(subscriptions_by_topic)
    gap = least = 0
    owners, topics = assignment.owners, topic_of(assignment.codes)
    for t, count in enumerate(group.topics.partitions.tolist()):
        readers = np.flatnonzero(reads[members.subscription, t])
        if count > 0 and readers.size:
            held = np.bincount(owners[topics == t], minlength=len(members))[readers]
            gap = max(gap, int(np.ptp(held)))
            least = max(least, int(count % readers.size > 0))
    return Measure(gap, least)


def load_bounds(group: Group) -> Loads:
    """The :class:`Loads` of a group (for ``group.prepared``).

    >>> from assignlab.group import group
    >>> g = group({"t": 2, "u": 1}, {"a": ["t"], "b": ["t", "u"]}, weights={"t": [6, 2], "u": [9]})
    >>> bounds = load_bounds(g)
    >>> bounds.least_largest, bounds.largest_least, bounds.crowded.tolist()
    (9.0, 8.0, [1])
    """
    members, weights = group.members, group.prepared(weights_of)
    counts = np.maximum(group.topics.partitions, 0)
    topic = np.repeat(np.arange(counts.size), counts)
    many = np.bincount(members.subscription, minlength=members.offsets.size - 1).astype(float)
    reads = group.prepared(subscriptions_by_topic)
    everybody = many > 0

    def read_by(some: np.ndarray) -> np.ndarray:
        return np.logical_or.reduce(reads[some], axis=0)

    weights = np.where(read_by(everybody)[topic], weights, 0.0)
    of_topic = np.bincount(topic, weights, counts.size)
    crowded, starved = tightest(reads, of_topic, many)

    def heaviest(readable: np.ndarray) -> np.ndarray:
        return np.sort(weights[readable[topic]])[::-1]

    least = max(
        [
            crowded_load(heaviest(read_by(s) & ~read_by(~s)), int(many[s].sum()))
            for s in (everybody, crowded)
        ],
        default=0.0,
    )
    most = min(starved_load(heaviest(read_by(s)), int(many[s].sum())) for s in (everybody, starved))
    sets = [np.flatnonzero(s[members.subscription]) for s in (crowded, starved)]
    return Loads(least, most, *sets)


def crowded_load(weights: np.ndarray, members: int) -> float:
    """What one of the members has at least who share these partitions alone, heaviest first."""
    if not weights.size or not members:
        return 0.0
    sums = np.concatenate(([0.0], np.cumsum(weights)))
    k = np.arange((weights.size - 1) // members + 1)
    return float(max(sums[-1] / members, (sums[k * members + 1] - sums[k * (members - 1)]).max()))


def starved_load(weights: np.ndarray, members: int) -> float:
    """What one of the members has at the most, who read these partitions, the heaviest first."""
    if not members:
        return 0.0
    k = np.arange(min(members, weights.size + 1))
    taken = np.concatenate(([0.0], np.cumsum(weights)))[k]
    return max(0.0, float(((weights.sum() - taken) / (members - k)).min()))


def tightest(
    reads: np.ndarray, of_topic: np.ndarray, many: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(crowded, starved): the subscriptions with the most weight of their own per member, and those
    with the least weight to read per member; bool[subscriptions].

    ``reads`` bool[subscriptions, topics]; ``of_topic``: weight; ``many``: members per subscription.
    Each step asks whether the rate of the set so far can be had by all; if not, the flow's minimum
    cut is a better set.
    """
    crowded = starved = used = many > 0
    if not of_topic.any():
        return crowded, starved
    topics, subscriptions = arcs(reads.T), arcs(reads)
    rate = of_topic.sum() / many.sum()
    while (cut := unserved(of_topic, rate * many, topics)[1] & used).any():
        alone = of_topic[reads[cut].any(axis=0) & ~reads[~cut & used].any(axis=0)].sum()
        better = alone / many[cut].sum()
        if better <= rate * (1 + TINY):
            break
        crowded, rate = cut, better
    rate = of_topic.sum() / many.sum()
    while (cut := unserved(rate * many, of_topic, subscriptions)[0] & used).any():
        better = of_topic[reads[cut].any(axis=0)].sum() / many[cut].sum()
        if better >= rate * (1 - TINY):
            break
        starved, rate = cut, better
    return crowded, starved


class Arcs(NamedTuple):
    """The true cells of a table: arc k leads from row ``tails[k]`` to column ``heads[k]``.

    ``starts`` int64[rows + 1]: row i has the arcs ``starts[i]`` to ``starts[i + 1]``; ``back``: the
    arcs by column, ``back_starts`` int64[columns + 1] where each begins in it.
    """

    tails: np.ndarray
    heads: np.ndarray
    starts: np.ndarray
    back: np.ndarray
    back_starts: np.ndarray


def arcs(reads: np.ndarray) -> Arcs:
    """The :class:`Arcs` of bool[rows, columns]."""
    tails, heads = np.nonzero(reads)
    starts, back_starts = (
        np.append(0, np.cumsum(reads.sum(axis=axis, dtype=np.int64))) for axis in (1, 0)
    )
    return Arcs(tails, heads, starts, np.argsort(heads, kind="stable"), back_starts)


@njit
def unserved(supply, capacity, arcs):
    """The nodes on both sides that supply without room can reach, after a maximum flow.

    Left node i supplies ``supply[i]`` to the right nodes that ``arcs`` lead to, which take
    ``capacity`` each. Shortest augmenting paths (Edmonds, Karp 1972). Returns (bool[left],
    bool[right]): a minimum cut; none where all supply is served.
    """
    tails, heads, starts, back, back_starts = arcs
    flow = np.zeros(heads.size)
    rest, room = supply.copy(), capacity.copy()
    tiny = supply.sum() * TINY
    while True:
        seen = rest > tiny
        queue = np.empty(supply.size, dtype=np.int64)
        fill = 0
        for i in range(supply.size):
            if seen[i]:
                queue[fill] = i
                fill += 1
        to_left = np.full(supply.size, -1, dtype=np.int64)
        to_right = np.full(capacity.size, -1, dtype=np.int64)
        at, end = 0, -1
        while at < fill and end < 0:
            i = queue[at]
            at += 1
            for k in range(starts[i], starts[i + 1]):
                j = heads[k]
                if to_right[j] >= 0:
                    continue
                to_right[j] = k
                if room[j] > tiny:
                    end = j
                    break
                for b in back[back_starts[j] : back_starts[j + 1]]:
                    if flow[b] > tiny and not seen[tails[b]]:
                        seen[tails[b]] = True
                        to_left[tails[b]] = b
                        queue[fill] = tails[b]
                        fill += 1
        if end < 0:
            return seen, to_right >= 0
        amount, j = room[end], end
        while True:
            i = tails[to_right[j]]
            if to_left[i] < 0:
                amount = min(amount, rest[i])
                break
            amount = min(amount, flow[to_left[i]])
            j = heads[to_left[i]]
        room[end] -= amount
        j = end
        while True:
            i = tails[to_right[j]]
            flow[to_right[j]] += amount
            if to_left[i] < 0:
                rest[i] -= amount
                break
            flow[to_left[i]] -= amount
            j = heads[to_left[i]]
