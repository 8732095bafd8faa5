"""How even an assignment is, and what a rebalance moved: small functions of arrays.

Imbalance looks at ``sizes``, partitions per member. Moves compare two assignments as sets of
(member, partition) pairs, so that partitions with several owners (share groups) and consumers with
several threads need no special case. :func:`measure` computes everything for one rebalance in one
compiled pass, in time linear in partitions and members (only what is gone may have to be sorted);
:data:`assignlab.replay.columns.METRICS` says what it returns.

Sources of the definitions: Jain, Chiu, Hawe 1984 (fairness index); Kafka's ``getBalanceScore`` in
``AbstractStickyAssignor``; the closed form of the fewest moves follows from keeping, per member,
as much as an even assignment allows.
"""

from collections import namedtuple
from collections.abc import Sequence
from math import isnan
from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import Assignment, partition_of, same_list, topic_of
from assignlab.group.model import Group, first_numbers, named
from assignlab.jvm.names import signed
from assignlab.optimum.closed_form import fewest_moves, fewest_moves_within
from assignlab.replay.columns import EVENNESS, FEWEST, METRICS, MOVES, RATIOS, Column

# ---- imbalance: functions of sizes -------------------------------------------------------------


@njit
def count_gap(sizes):
    """Partitions between the fullest and the emptiest member: max - min. 0 without members."""
    return sizes.max() - sizes.min() if sizes.size > 0 else 0


@njit
def max_over_mean(sizes):
    """Partitions of the fullest member over the mean, >= 1; NaN where there is nothing to share."""
    total = sizes.sum()
    return sizes.max() * sizes.size / total if total > 0 else np.nan


@njit
def max_over_mean_floor(partitions, members):
    """The smallest max / mean that whole partitions allow: ceil(P / C) / (P / C); NaN for P = 0."""
    if partitions == 0 or members == 0:
        return np.nan
    return -(-partitions // members) * members / partitions


@njit
def variation(sizes):
    """Coefficient of variation: population standard deviation over mean, >= 0; NaN for mean 0."""
    total = sizes.sum()
    if total == 0:
        return np.nan
    mean = total / sizes.size
    squares = 0.0
    for size in sizes:
        squares += (size - mean) ** 2
    return np.sqrt(squares / sizes.size) / mean


@njit
def jain(sizes):
    """Jain's fairness index (sum n)^2 / (C sum n^2): 1 is even, 1 / C one member has all."""
    total = sizes.sum()
    if total == 0:
        return np.nan
    squares = 0.0
    for size in sizes:
        squares += float(size) * size
    return float(total) * total / (sizes.size * squares)


@njit
def balance_score(sizes):
    """Kafka's balance score over all members: the sum of |n_i - n_j| over pairs; 0 is perfect.

    The exact value. Kafka computes it in a Java ``int`` (:func:`assignlab.jvm.names.signed`) and
    leaves members out whose partitions cannot move. Counted level by level instead of pair by pair: between
    n and n + 1 partitions every member at or below is one apart from every member above.
    """
    if sizes.size == 0:
        return 0
    least = sizes.min()
    at_level = np.zeros(sizes.max() - least + 1, dtype=np.int64)
    for size in sizes:
        at_level[size - least] += 1
    score = 0
    below = 0
    for level in range(at_level.size):
        below += at_level[level]
        score += below * (sizes.size - below)
    return score


@njit
def gini(sizes, score):
    """Gini coefficient: balance score / (members x partitions), 0 is even; NaN for nothing."""
    total = sizes.sum()
    return score / (float(sizes.size) * total) if total > 0 else np.nan


@njit
def idle(sizes):
    """Members without any partition."""
    count = 0
    for size in sizes:
        if size == 0:
            count += 1
    return count


@inner
def models(offsets, codes, subscription, rows):
    """For each member the first of those with its subscription and its list: int64[members].

    A list that is not the one before it, of the same subscription, is taken for another.
    """
    model = np.arange(subscription.size)
    latest = np.full(rows, -1, dtype=np.int64)
    for m in range(model.size):
        last = latest[subscription[m]]
        if last >= 0 and same_list(offsets, codes, m, last):
            model[m] = last
        else:
            latest[subscription[m]] = m
    return model


@inner
def _times(model):
    """How many members a member is the model of: int64[members], or empty without models."""
    times = np.zeros_like(model)
    for m in model:
        times[m] += 1
    return times


@inner
def topic_gaps(offsets, codes, group, model):
    """Per topic, max - min of its partitions over its subscribers: int64[topics].

    ``offsets``, ``codes``: an assignment of the group. -1 for a topic without subscribers. Owners that
    do not subscribe count like the others. ``model``: :func:`models`, or empty where all are looked
    at.
    """
    subscribers = group.subscribers
    topics = subscribers.size
    readers = np.zeros(topics, dtype=np.int64)  # of the owners
    owners = np.zeros(topics, dtype=np.int64)
    most = np.zeros(topics, dtype=np.int64)
    fewest = np.zeros(topics, dtype=np.int64)  # of the owners
    own = np.zeros(topics, dtype=np.int64)  # of one member, who has some of the topics ``met``
    met = np.empty(topics, dtype=np.int64)
    how_many = _times(model) if model.size > 0 else model
    for m in range(offsets.size - 1):
        times = how_many[m] if how_many.size > 0 else 1
        if times == 0:
            continue
        count = 0
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            if own[t] == 0:
                met[count] = t
                count += 1
            own[t] += 1
        for t in met[:count]:
            most[t] = max(most[t], own[t])
            fewest[t] = own[t] if owners[t] == 0 else min(fewest[t], own[t])
            owners[t] += times
            readers[t] += times if group.subscribed[group.subscription[m], t] else 0
            own[t] = 0
    gaps = np.full(topics, -1, dtype=np.int64)
    for t in range(topics):
        if subscribers[t] > 0:
            gaps[t] = most[t] - (fewest[t] if readers[t] >= subscribers[t] else 0)
    return gaps


@njit
def uneven_topics(partitions, subscribers):
    """Topics whose partitions do not divide evenly among their subscribers.

    The law of ``range``: with equal subscriptions its count gap is this number.
    """
    count = 0
    for t in range(partitions.size):
        if partitions[t] > 0 and subscribers[t] > 0 and partitions[t] % subscribers[t] != 0:
            count += 1
    return count


# ---- moves -------------------------------------------------------------------------------------


@njit
def still_held(offsets, codes, after_offsets, after_codes):
    """What every member holds before and after: (offsets, codes), each once, in the order held before;
    and whether that is all that was held.

    Both assignments speak of the same members. Partitions that the cluster does not have count like
    others, because a client knows only its lists.
    """
    topics = 0
    for code in codes:
        topics = max(topics, topic_of(code) + 1)
    room = np.zeros(topics, dtype=np.int64)
    for code in codes:
        room[topic_of(code)] = max(room[topic_of(code)], partition_of(code) + 1)
    starts = first_numbers(room)
    given = np.full(starts[-1], -1, dtype=np.int32)
    kept_offsets = np.zeros(offsets.size, dtype=np.int64)
    kept = np.empty(codes.size, dtype=np.int64)
    n = 0
    every = True
    for m in range(offsets.size - 1):
        taken = -(m + 2)
        for k in range(after_offsets[m], after_offsets[m + 1]):
            d = _place(after_codes[k], starts)
            if d >= 0:
                given[d] = m
        for k in range(offsets[m], offsets[m + 1]):
            d = _place(codes[k], starts)
            if given[d] == m:
                kept[n] = codes[k]
                n += 1
                given[d] = taken
            elif given[d] != taken:
                every = False
        kept_offsets[m + 1] = n
    return kept_offsets, kept[:n], every


@leaf
def _place(code, starts):
    """The place of a partition among all that the cluster has, or -1."""
    t = topic_of(code)
    if t + 1 >= starts.size:
        return -1
    d = starts[t] + partition_of(code)
    return d if d < starts[t + 1] else -1


class Subscribers(NamedTuple):
    """What the metrics need of topics and members, prepared once per group.

    ``partitions`` int64[topics] (0 where the cluster has none), ``subscription`` int64[members] row
    of ``subscribed`` bool[rows, topics], ``subscribers`` int64[topics], ``equal``: every member
    subscribes to the same topics with partitions, at least one.
    """

    partitions: np.ndarray
    subscription: np.ndarray
    subscribed: np.ndarray
    subscribers: np.ndarray
    equal: bool


def subscribers(group: Group) -> Subscribers:
    """The :class:`Subscribers` of a group (for ``group.prepared``)."""
    members = group.members
    partitions = np.maximum(group.topics.partitions, 0)
    return Subscribers(
        partitions,
        members.subscription,
        *_subscribers(members.subscription, members.offsets, members.topics, partitions),
    )


def plain_subscribers(group: Group) -> tuple:
    """:class:`Subscribers` as :func:`_measure` takes them."""
    return tuple(group.prepared(subscribers))


@njit
def _subscribers(subscription, offsets, topics, partitions):
    rows = offsets.size - 1
    subscribed, _ = named(offsets, topics, partitions.size)
    weight = np.zeros(rows, dtype=np.int64)
    for s in subscription:
        weight[s] += 1
    subscribers = np.zeros(partitions.size, dtype=np.int64)
    for s in range(rows):
        if weight[s] > 0:
            for t in range(partitions.size):
                if subscribed[s, t]:
                    subscribers[t] += weight[s]
    somebody = False
    equal = True
    for t in range(partitions.size):
        if partitions[t] > 0 and subscribers[t] > 0:
            somebody = True
            equal = equal and subscribers[t] == subscription.size
    return subscribed, subscribers, equal and somebody


# ---- one rebalance -----------------------------------------------------------------------------


class Change(NamedTuple):
    """Two assignments, (``offsets``, ``codes``) after and before a rebalance.

    ``origin``: int64[members], the index of each member among those before, -1 for a newcomer.
    """

    offsets: np.ndarray
    codes: np.ndarray
    before_offsets: np.ndarray
    before_codes: np.ndarray
    origin: np.ndarray


def _tuple_of(name: str, columns: Sequence[Column]) -> type[tuple]:
    """A named tuple of these columns, for compiled code."""
    return namedtuple(name, [column.name for column in columns], module=__name__)


Evenness, Moves = _tuple_of("Evenness", EVENNESS), _tuple_of("Moves", MOVES)
Fewest, Ratios = _tuple_of("Fewest", FEWEST), _tuple_of("Ratios", RATIOS)
FIELDS = tuple(column.name for column in METRICS)


def measure(
    group: Group,
    after: Assignment,
    before: Assignment,
    origin: np.ndarray,
    eager: bool,
    revoked_kept: int = 0,
) -> tuple:
    """All ``METRICS`` of one rebalance, as a tuple of int, float and None.

    ``after``: the assignment of the group's members; ``before``: what the members of the group
    before the event held; ``origin``: see :class:`Change`. ``eager``: everybody gives up everything
    before the rebalance, so all that stayed was revoked; otherwise ``revoked_kept`` says how many.
    """
    counts, fewest, ratios = _measure(
        (after.offsets, after.codes, before.offsets, before.codes, origin),
        group.prepared(plain_subscribers),
        -1 if eager else revoked_kept,
    )
    if fewest[0] < 0:  # no closed form proves them
        fewest = (None, None, None)
    if isnan(sum(ratios)):
        ratios = tuple([None if isnan(ratio) else ratio for ratio in ratios])
    return counts + fewest + ratios


@njit
def _measure(change, group, revoked_kept):
    """(Evenness + Moves, Fewest, Ratios) of a Change and Subscribers.

    All of them travel as plain tuples, since numba takes 1 us more to turn a named one from or to
    Python. ``revoked_kept``: -1 for all that stayed.
    """
    change = Change(*change)
    group = Subscribers(*group)
    sizes = change.offsets[1:] - change.offsets[:-1]
    topics, partitions = _wanted(group)
    # In a share group thousands may have the same list: what is found out about one holds for all.
    model = np.empty(0, dtype=np.int64)
    if change.codes.size > partitions:
        rows = group.subscribed.shape[0]
        model = models(change.offsets, change.codes, group.subscription, rows)
    gap, gap_mean = _topic_gap(change, group, model)
    score = balance_score(sizes)
    largest = sizes.max() if sizes.size > 0 else 0
    smallest = sizes.min() if sizes.size > 0 else 0
    evenness = Evenness(
        members_now=sizes.size,
        topics_now=topics,
        partitions_now=partitions,
        largest=largest,
        smallest=smallest,
        count_gap=count_gap(sizes),
        idle=idle(sizes),
        balance_score=score,
        balance_score_int=signed(score),
        topic_gap=gap,
        uneven_topics=uneven_topics(group.partitions, group.subscribers),
    )
    ratios = Ratios(
        max_over_mean=max_over_mean(sizes),
        floor=max_over_mean_floor(partitions, sizes.size),
        variation=variation(sizes),
        gini=gini(sizes, score),
        jain=jain(sizes),
        topic_gap_mean=gap_mean,
    )
    moves, fewest = _moves(change, group, partitions, revoked_kept, model)
    return evenness[:] + moves[:], fewest[:], ratios[:]


@leaf
def _wanted(group):
    """(topics, partitions) that the cluster has and somebody subscribes to."""
    topics = 0
    partitions = 0
    for t in range(group.partitions.size):
        if group.partitions[t] > 0 and group.subscribers[t] > 0:
            topics += 1
            partitions += group.partitions[t]
    return topics, partitions


@inner
def _topic_gap(change, group, model):
    """(max, mean) over topics of max - min inside the topic."""
    largest = 0
    total = 0
    topics = 0
    gaps = topic_gaps(change.offsets, change.codes, group, model)
    for t in range(gaps.size):
        if group.partitions[t] > 0 and gaps[t] >= 0:
            topics += 1
            total += gaps[t]
            largest = max(largest, gaps[t])
    return largest, total / topics if topics > 0 else np.nan


SEEN = np.dtype((np.record, [(name, np.int32) for name in ("before", "now", "last")]))
"""How many members held a partition before, how many have it now, and which was given it last (from
1). They lie together, so that a visit costs one cache miss."""


@inner
def _moves(change, group, partitions_now, revoked_kept, model):
    """(Moves, Fewest); ``revoked_kept``: see :func:`_measure`, ``model``: :func:`topic_gaps`."""
    starts = first_numbers(group.partitions)
    seen = np.zeros(starts[-1], dtype=SEEN)
    given, invalid, stayed, unsubscribed, not_there, by_choice, owned = _compare_members(
        change, group, starts, seen, model
    )
    owner_left, lost = _see_left(change, starts, seen)
    assigned, unassigned, doubled, held_once = _count_owners(group, starts, seen)
    fewest = Fewest(-1, -1, -1)
    if group.equal and held_once and unassigned + doubled + invalid == 0:
        sizes = change.offsets[1:] - change.offsets[:-1]
        needed = fewest_moves_within(owned, partitions_now, (sizes * sizes).sum())
        fewest = Fewest(fewest_moves(owned, partitions_now), needed, by_choice - needed)
    gone = not_there + lost
    forced = owner_left + unsubscribed
    revoked = stayed if revoked_kept < 0 else revoked_kept
    moves = Moves(
        unassigned=unassigned,
        doubled=doubled,
        invalid=invalid,
        held=stayed + by_choice + forced + gone,
        stayed=stayed,
        owner_left=owner_left,
        unsubscribed=unsubscribed,
        gone=gone,
        by_choice=by_choice,
        forced=forced,
        received=given - stayed,
        assigned=assigned,
        revoked_kept=revoked,
        interrupted=forced + by_choice + revoked,
    )
    return moves, fewest


@inner
def _compare_members(change, group, starts, seen, model):
    """First step: each member's list now, then the one it had; once for all with the same model.

    Returns (pairs of existing partitions that were given, invalid; of what was held: stayed,
    unsubscribed, gone, by choice; int64[members], how much of that members could have kept).
    """
    given = invalid = stayed = unsubscribed = gone = by_choice = 0
    owned = np.zeros(change.origin.size, dtype=np.int64)
    if model.size > 0:
        model = _models_that_held_it(change, model)
    how_many = _times(model) if model.size > 0 else model
    for m in range(owned.size):
        times = how_many[m] if how_many.size > 0 else 1
        if times == 0:
            owned[m] = owned[model[m]]
            continue
        subscribed = group.subscribed[group.subscription[m]]
        for k in range(change.offsets[m], change.offsets[m + 1]):
            d = _place(change.codes[k], starts)
            if d < 0 or seen[d].last == m + 1:
                invalid += times
                continue
            given += times
            invalid += 0 if subscribed[topic_of(change.codes[k])] else times
            seen[d].now += times
            seen[d].last = m + 1
        before = change.origin[m]
        if before < 0:
            continue
        beyond = 0
        for k in range(change.before_offsets[before], change.before_offsets[before + 1]):
            d = _place(change.before_codes[k], starts)
            if d < 0:
                beyond += 1
                continue
            if seen[d].last == -(m + 1):
                continue
            seen[d].before += times
            may_keep = subscribed[topic_of(change.before_codes[k])]
            owned[m] += may_keep
            if seen[d].last == m + 1:
                stayed += times
            elif may_keep:
                by_choice += times
            else:
                unsubscribed += times
            seen[d].last = -(m + 1)
        if beyond > 0:
            gone += times * _different_beyond(change, before, starts)
    return given, invalid, stayed, unsubscribed, gone, by_choice, owned


@inner
def _models_that_held_it(change, model):
    """:func:`models`, but only those that also held the same before."""
    kept = model.copy()
    for m in range(kept.size):
        before, held = change.origin[m], change.origin[model[m]]
        if before < 0 or held < 0:
            alike = before == held
        else:
            alike = same_list(change.before_offsets, change.before_codes, before, held)
        if not alike:
            kept[m] = m
    return kept


@inner
def _see_left(change, starts, seen):
    """Second step: what was held by members that left: (existing, gone)."""
    here = np.zeros(change.before_offsets.size - 1, dtype=np.bool_)
    for before in change.origin:
        if before >= 0:
            here[before] = True
    left = gone = 0
    for before in range(here.size):
        if here[before]:
            continue
        mark = change.origin.size + before + 1  # of no member
        beyond = 0
        for k in range(change.before_offsets[before], change.before_offsets[before + 1]):
            d = _place(change.before_codes[k], starts)
            if d < 0:
                beyond += 1
            elif seen[d].last != mark:
                left += 1
                seen[d].before += 1
                seen[d].last = mark
        if beyond > 0:
            gone += _different_beyond(change, before, starts)
    return left, gone


@inner
def _different_beyond(change, before, starts):
    """How many different partitions a list of before has that the cluster does not have."""
    codes = change.before_codes[change.before_offsets[before] : change.before_offsets[before + 1]]
    beyond = 0
    rising = True
    last = -1
    for code in codes:
        if _place(code, starts) < 0:
            beyond += 1
            rising = rising and code > last
            last = code
    if rising:  # as most lists are
        return beyond
    return np.unique(np.array([code for code in codes if _place(code, starts) < 0])).size


@leaf
def _count_owners(group, starts, seen):
    """Third step, partition by partition: (assigned, unassigned, doubled, whether none had two owners
    before)."""
    assigned = unassigned = doubled = 0
    held_once = True
    for t in range(group.partitions.size):
        for d in range(starts[t], starts[t + 1]):
            if seen[d].before == 0:
                assigned += seen[d].now
            unassigned += seen[d].now == 0 and group.subscribers[t] > 0
            doubled += seen[d].now > 1
            held_once = held_once and seen[d].before <= 1
    return assigned, unassigned, doubled, held_once
