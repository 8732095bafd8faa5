"""``weighted-sticky``: sticky, then bounded moves by weight, as kafka-weighted-assignor 1.0.0 does.

The rule. Assign as ``sticky`` does (the original extends the AbstractStickyAssignor of the client
that it runs in; here that of 3.4.1, the last in which it weighs). Then, while the heaviest and the
lightest member differ by more than 5 % of the mean load and at most two moves per partition have
been made: walk the members from the heaviest (equal ones by id) as long as they are above the mean,
and let each give partitions to the lightest other member. It gives the partition that the other
subscribes to, that leaves the other lighter than the giver then is, and whose weight is nearest to
half of the difference; of equally near ones the first by topic and number. It gives until there is
none; then comes the next member. The list of a member that is to give is sorted, whether it gives
anything or not.

Consumers from 3.5 on call ``assignPartitions``, which the original does not have: there no partition
moves by weight, and what is left is sticky's answer.

What it promises, in order
1. All that sticky promises of completeness.
2. No member above the mean can give a partition to the lightest other one without becoming the
   lighter of the two, or the loads are within 5 % of the mean, or the moves are used up.
It does not promise equal counts, nor the least largest load: it moves single partitions, only to
the lightest member, and does not look further where that one may not read the topic. Where all
weights are the same and subscriptions equal, sticky's answer stays.

The README's example: ten partitions, of which two carry a hundred times as much as the others.

>>> from assignlab.group.plain import group
>>> members = {c: ["t"] for c in ("C0", "C1", "C2", "C3")}
>>> g = group({"t": 10}, members, weights={"t": [100, 100, *[1] * 8]})
>>> assign(g).sizes.tolist()
[1, 1, 4, 4]
>>> assign(group({"t": 10}, members)).sizes.tolist()
[3, 3, 2, 2]
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assignlab import assignors
from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.load_aware.parts.readers import all_play, leaves, nobody_plays, plays
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import Assignment, number_of
from assignlab.group.model import Group, subscriptions_by_topic

TOLERANCE_RATIO = 0.05
MAX_MOVES_FACTOR = 2
STICKY = "sticky@3.4"
NONE = -1


def assign(group: Group) -> Assignment:
    """Assign as sticky does, then move by weight.

    Raises :class:`~assignlab.errors.OriginalError` where sticky's original throws or never
    ends. Notes what ``sticky`` notes.
    """
    sticky = assignors.get(STICKY).assign(group)
    known = group.prepared(weighed.weighed)
    if not np.array_equal(np.sort(sticky.codes), np.sort(known.codes)):
        return sticky  # a claim beyond a topic's end was kept: there is no weight of it
    given = number_of(sticky.codes, known.first)
    owners = np.empty(given.size, dtype=np.int64)
    owners[given] = sticky.owners
    places = np.empty(given.size, dtype=np.int64)
    places[given] = np.arange(given.size)
    sorted_lists = rebalance_by_weight(
        owners, places, given, known.weights, known.topic, group.prepared(subscriptions_by_topic),
        group.members.subscription, group.members.names.order,
    )  # fmt: skip
    if not sorted_lists:
        return sticky
    lists = weighed.in_order(group, owners, np.argsort(places, kind="stable"))
    return replace(lists, notes=sticky.notes)


@njit
def rebalance_by_weight(owners, places, in_turn, weights, topic, named, subscription, by_id):
    """Moves partitions until loads are near, no move helps or there were too many; how many lists of
    members that could give some were sorted.

    ``owners``: whose each partition is; ``places``: what sorts the partitions inside a list. Both
    are changed. ``in_turn``: the partitions list by list; ``named``: whether a subscription names a
    topic.
    """
    load = np.zeros(by_id.size)
    for p in in_turn:
        load[owners[p]] += weights[p]
    target = load.sum() / by_id.size
    tolerance = target * TOLERANCE_RATIO
    most = owners.size * MAX_MOVES_FACTOR
    moves = sorted_lists = 0
    held = all_held(owners, by_id.size)
    rank = np.empty_like(by_id)
    while moves < most:
        before = moves
        order = by_id[np.argsort(-load[by_id], kind="mergesort")]
        if load[order[0]] - load[order[-1]] <= tolerance:
            break
        for i in range(order.size):
            rank[order[i]] = i
        lightest = nobody_plays(leaves(rank), rank, load, rank)
        all_play(lightest)
        for source in order:
            if moves >= most or load[source] <= target:
                break
            p = held.first[source]
            while p != NONE:
                places[p] = p  # the source's list is sorted by topic and number
                p = held.after[p]
            sorted_lists += 1
            while moves < most:
                to = lightest.winners[1]  # not the source, which is above the mean
                readable = named[subscription[to]]
                best = best_to_move(held, source, weights, topic, readable, load[to], load[source])
                if best == NONE:
                    break
                take(held, source, best)
                put(held, to, best)
                owners[best] = to
                places[best] = owners.size + moves  # at the end of the list
                load[source] -= weights[best]
                load[to] += weights[best]
                plays(lightest, source)
                plays(lightest, to)
                moves += 1
        if moves == before:
            break
    return sorted_lists


@leaf
def best_to_move(held, source, weights, topic, readable, lightest, heaviest):
    """The source's partition nearest to half of the difference that helps, or ``NONE``."""
    best, nearest = NONE, np.inf
    p = held.first[source]
    while p != NONE:
        if readable[topic[p]] and lightest + weights[p] < heaviest - weights[p]:
            distance = abs(weights[p] - (heaviest - lightest) / 2)
            if distance < nearest or (distance == nearest and p < best):
                best, nearest = p, distance
        p = held.after[p]
    return best


class Held(NamedTuple):
    """What the members hold, in no order: each one's ``first`` partition, int64[members], and those
    ``before`` and ``after`` each, int64[n]; ``NONE`` where there is none."""

    first: np.ndarray
    before: np.ndarray
    after: np.ndarray


@inner
def all_held(owners, members):
    """:class:`Held` as the owners say."""
    held = Held(np.full(members, NONE), np.empty_like(owners), np.empty_like(owners))
    for p in range(owners.size):
        put(held, owners[p], p)
    return held


@leaf
def put(held, m, p):
    """Member m holds partition p, too."""
    first = held.first[m]
    held.before[p], held.after[p] = NONE, first
    if first != NONE:
        held.before[first] = p
    held.first[m] = p


@leaf
def take(held, m, p):
    """Member m does not hold partition p any more."""
    before, after = held.before[p], held.after[p]
    if before == NONE:
        held.first[m] = after
    else:
        held.after[before] = after
    if after != NONE:
        held.before[after] = before


STRATEGY = Strategy(
    name="weighted-sticky",
    system="load-aware",
    first="1.0.0",
    last="1.0.0",
    protocol="eager",
    sticky=True,
    source="io.github.guyozeri.kafka.assignor.WeightedPartitionAssignor",
    look=("purple", "d", "dash dot dot"),
    member_fields=("owned", "generation", "sub_generation", "instance", "rack"),
    generations=("generation", "sub_generation"),
    exceptions={"vectors": weighed.NO_ORIGINAL, "promises": weighed.WEIGHTS_DECIDE},
    reads_weights=True,
    assign=assign,
)
