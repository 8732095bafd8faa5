"""How even an assignment is, and what a rebalance moved: small functions of arrays.

Imbalance looks at ``sizes``, partitions per member. Moves compare two assignments as sets of
(member, partition) pairs, so that partitions with several owners (share groups) and consumers with
several threads need no special case. :func:`measure` computes everything for one rebalance in one
compiled pass, in time linear in partitions and members; ``COLUMNS`` documents what it returns.

Sources of the definitions: Jain, Chiu, Hawe 1984 (fairness index); Kafka's ``getBalanceScore`` in
``AbstractStickyAssignor``; the closed form of the fewest moves follows from keeping, per member,
as much as an even assignment allows.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import Assignment
from assignlab.compiled import njit
from assignlab.group import Group


class Column(NamedTuple):
    """A column of the records: ``type`` is ``string``, ``int64``, ``float64`` or ``bool``."""

    name: str
    type: str
    unit: str
    meaning: str


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

    The exact value. Kafka computes it in a Java ``int`` (see :func:`java_int`) and leaves members
    out whose partitions cannot move. Counted level by level instead of pair by pair: between
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
def java_int(value):
    """The value as a Java ``int`` would hold it: wrapped to 32 bits."""
    return ((value + 2**31) & 0xFFFFFFFF) - 2**31


@njit
def gini(sizes):
    """Gini coefficient: balance score / (members x partitions), 0 is even; NaN for nothing."""
    total = sizes.sum()
    return balance_score(sizes) / (float(sizes.size) * total) if total > 0 else np.nan


@njit
def idle(sizes):
    """Members without any partition."""
    count = 0
    for size in sizes:
        if size == 0:
            count += 1
    return count


@njit
def topic_gaps(offsets, codes, subscribers):
    """Per topic, max - min of its partitions over its subscribers: int64[topics].

    ``offsets``, ``codes``: an assignment; ``subscribers``: int64[topics], how many subscribe. -1
    for a topic without subscribers. Owners that do not subscribe count like the others.
    """
    topics = subscribers.size
    members = offsets.size - 1
    starts = np.zeros(topics + 1, dtype=np.int64)
    for code in codes:
        starts[(code >> 32) + 1] += 1
    for t in range(topics):
        starts[t + 1] += starts[t]
    fill = starts[:-1].copy()
    owners = np.empty(codes.size, dtype=np.int64)
    for m in range(members):
        for k in range(offsets[m], offsets[m + 1]):
            t = codes[k] >> 32
            owners[fill[t]] = m
            fill[t] += 1
    gaps = np.full(topics, -1, dtype=np.int64)
    for t in range(topics):
        if subscribers[t] > 0:
            gaps[t] = _run_gap(owners[starts[t] : starts[t + 1]], subscribers[t])
    return gaps


@njit
def _run_gap(owners, subscribers):
    """Longest minus shortest run of equal values; fewer runs than subscribers: shortest is 0."""
    if owners.size == 0:
        return 0
    longest = 0
    shortest = owners.size
    runs = 0
    k = 0
    while k < owners.size:
        first = k
        while k < owners.size and owners[k] == owners[first]:
            k += 1
        runs += 1
        longest = max(longest, k - first)
        shortest = min(shortest, k - first)
    return longest - (shortest if runs >= subscribers else 0)


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
def fewest_moves(owned, partitions):
    """The fewest partitions that must change hands to become even, for equal subscriptions.

    ``owned``: int64[members], what each member still validly owns, each partition with one owner at
    the most; ``partitions``: of all subscribed topics. With q = P div C and r = P mod C a member
    can keep min(owned, q), and r members one more; the rest of what is owned has to move. Proven:
    an even assignment gives nobody more than that, and every such choice can be completed.
    """
    q = partitions // owned.size
    r = partitions % owned.size
    total = 0
    kept = 0
    above = 0
    for own in owned:
        total += own
        kept += min(own, q)
        above += own > q
    return total - kept - min(r, above)


@njit
def still_held(offsets, codes, after_offsets, after_codes):
    """What every member holds before and after: (offsets, codes), in the order held before.

    Both assignments speak of the same members. Partitions that the cluster does not have count like
    others, because a client knows only its lists.
    """
    topics = 0
    for code in codes:
        topics = max(topics, (code >> 32) + 1)
    room = np.zeros(topics, dtype=np.int64)
    for code in codes:
        room[code >> 32] = max(room[code >> 32], (code & 0xFFFFFFFF) + 1)
    starts = _starts(room)
    given = np.full(starts[-1], -1, dtype=np.int32)
    kept_offsets = np.zeros(offsets.size, dtype=np.int64)
    kept = np.empty(codes.size, dtype=np.int64)
    n = 0
    for m in range(offsets.size - 1):
        for k in range(after_offsets[m], after_offsets[m + 1]):
            d = _place(after_codes[k], starts)
            if d >= 0:
                given[d] = m
        for k in range(offsets[m], offsets[m + 1]):
            if given[_place(codes[k], starts)] == m:
                kept[n] = codes[k]
                n += 1
        kept_offsets[m + 1] = n
    return kept_offsets, kept[:n]


@njit
def _starts(partitions):
    starts = np.zeros(partitions.size + 1, dtype=np.int64)
    for t in range(partitions.size):
        starts[t + 1] = starts[t] + max(partitions[t], 0)
    return starts


@njit
def _place(code, starts):
    """The place of a partition among all that the cluster has, or -1."""
    t = code >> 32
    if t + 1 >= starts.size:
        return -1
    d = starts[t] + (code & 0xFFFFFFFF)
    return d if d < starts[t + 1] else -1


# ---- everything about one rebalance ------------------------------------------------------------

INTEGERS = (
    Column("members_now", "int64", "members", "members after the event"),
    Column("topics_now", "int64", "topics", "topics with partitions and a subscriber"),
    Column("partitions_now", "int64", "partitions", "partitions of those topics"),
    Column("largest", "int64", "partitions", "partitions of the fullest member"),
    Column("smallest", "int64", "partitions", "partitions of the emptiest member"),
    Column("count_gap", "int64", "partitions", "largest - smallest"),
    Column("idle", "int64", "members", "members without any partition"),
    Column("balance_score", "int64", "partitions", "sum of |n_i - n_j| over pairs of members"),
    Column("balance_score_int", "int64", "partitions", "the same in a Java int, which wraps"),
    Column("topic_gap", "int64", "partitions", "max over topics of max - min inside the topic"),
    Column("uneven_topics", "int64", "topics", "topics with P mod subscribers != 0"),
    Column("unassigned", "int64", "partitions", "partitions_now without an owner"),
    Column("doubled", "int64", "partitions", "partitions with more than one owner"),
    Column("invalid", "int64", "pairs", "assigned, though no partition, not subscribed, or twice"),
    Column("held", "int64", "pairs", "(member, partition) pairs before the event"),
    Column("stayed", "int64", "pairs", "of held: the same member has it afterwards"),
    Column("owner_left", "int64", "pairs", "of held: the member left the group"),
    Column("unsubscribed", "int64", "pairs", "of held: the member no longer subscribes"),
    Column("gone", "int64", "pairs", "of held: the cluster no longer has the partition"),
    Column("by_choice", "int64", "pairs", "of held: taken from a member that could have kept it"),
    Column("forced", "int64", "pairs", "owner_left + unsubscribed"),
    Column("received", "int64", "pairs", "pairs afterwards that were not held before"),
    Column("assigned", "int64", "pairs", "of received: nobody held the partition before"),
    Column("revoked_kept", "int64", "pairs", "of stayed: given up during the rebalance"),
    Column("interrupted", "int64", "pairs", "forced + by_choice + revoked_kept"),
    Column("fewest", "int64", "pairs", "fewest moves by choice to be even; null if not proven"),
    Column("needed", "int64", "pairs", "of by_choice: min(by_choice, fewest); null if not proven"),
    Column("avoidable", "int64", "pairs", "by_choice - needed; null if not proven"),
)
FLOATS = (
    Column("max_over_mean", "float64", "ratio", "largest over the mean; null without partitions"),
    Column("floor", "float64", "ratio", "ceil(P / C) / (P / C), the least max_over_mean"),
    Column("variation", "float64", "ratio", "standard deviation over mean"),
    Column("gini", "float64", "ratio", "Gini coefficient, 0 is even"),
    Column("jain", "float64", "ratio", "Jain's fairness index, 1 is even"),
    Column("topic_gap_mean", "float64", "partitions", "mean over topics of max - min inside"),
)
COLUMNS = INTEGERS + FLOATS
"""What :func:`measure` returns, in order."""

_UNPROVEN = (None, None, None)


class Shape(NamedTuple):
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


def shape(group: Group) -> Shape:
    """The :class:`Shape` of a group (for ``group.prepared``)."""
    members = group.members
    partitions = np.maximum(group.topics.partitions, 0)
    arrays = _subscribers(members.subscription, members.offsets, members.topics, partitions)
    return Shape(partitions, members.subscription, *arrays)


@njit
def _subscribers(subscription, offsets, topics, partitions):
    rows = offsets.size - 1
    subscribed = np.zeros((rows, partitions.size), dtype=np.bool_)
    for s in range(rows):
        for k in range(offsets[s], offsets[s + 1]):
            subscribed[s, topics[k]] = True
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


def measure(
    group: Group,
    after: Assignment,
    before: Assignment,
    origin: np.ndarray,
    eager: bool,
    revoked_kept: int = 0,
) -> tuple:
    """All ``COLUMNS`` of one rebalance, as a tuple of int, float and None.

    ``after``: the assignment of the group's members; ``before``: what the members of the group
    before the event held; ``origin``: int64[members], the index of each member among them, -1 for
    a newcomer. ``eager``: everybody gives up everything before the rebalance, so all that stayed
    was revoked; otherwise ``revoked_kept`` says how many.
    """
    prepared = group.prepared(shape)
    counts, ratios = _measure(
        after.offsets, after.codes, before.offsets, before.codes, origin,
        prepared.partitions, prepared.subscription, prepared.subscribed, prepared.subscribers,
        prepared.equal, eager, revoked_kept,
    )  # fmt: skip
    if counts[-1] < 0:
        counts = counts[:-3] + _UNPROVEN
    return counts + tuple([None if ratio != ratio else ratio for ratio in ratios])


@njit
def _measure(
    offsets, codes, before_offsets, before_codes, origin,
    partitions, subscription, subscribed, subscribers, equal, eager, revoked_kept,
):  # fmt: skip
    members = offsets.size - 1
    topics_now = 0
    partitions_now = 0
    for t in range(partitions.size):
        if partitions[t] > 0 and subscribers[t] > 0:
            topics_now += 1
            partitions_now += partitions[t]
    sizes = offsets[1:] - offsets[:-1]
    largest = sizes.max() if members > 0 else 0
    smallest = sizes.min() if members > 0 else 0
    score = balance_score(sizes)
    gap, gap_mean = _topic_gap(offsets, codes, partitions, subscribers)
    counts = (
        members, topics_now, partitions_now, largest, smallest, largest - smallest, idle(sizes),
        score, java_int(score), gap, uneven_topics(partitions, subscribers),
    ) + _moves(
        offsets, codes, before_offsets, before_codes, origin, partitions, subscription, subscribed,
        subscribers, partitions_now, equal, eager, revoked_kept,
    )  # fmt: skip
    ratios = (
        max_over_mean(sizes), max_over_mean_floor(partitions_now, members), variation(sizes),
        score / (float(members) * codes.size) if codes.size > 0 else np.nan, jain(sizes), gap_mean,
    )  # fmt: skip
    return counts, ratios


@njit
def _topic_gap(offsets, codes, partitions, subscribers):
    largest = 0
    total = 0
    topics = 0
    gaps = topic_gaps(offsets, codes, subscribers)
    for t in range(gaps.size):
        if partitions[t] > 0 and gaps[t] >= 0:
            topics += 1
            total += gaps[t]
            largest = max(largest, gaps[t])
    return largest, total / topics if topics > 0 else np.nan


@njit
def _moves(
    offsets, codes, before_offsets, before_codes, origin, partitions, subscription, subscribed,
    subscribers, partitions_now, equal, eager, revoked_kept,
):  # fmt: skip
    starts = _starts(partitions)
    # one row per partition, so that a visit costs one cache miss: how many owned it before, how
    # many own it now, and which member was given it last (from 1)
    seen = np.zeros((starts[-1], 3), dtype=np.int32)
    members = offsets.size - 1
    owned = np.zeros(members, dtype=np.int64)
    here = np.zeros(before_offsets.size - 1, dtype=np.bool_)
    pairs = 0
    invalid = 0
    stayed = 0
    unsubscribed = 0
    gone = 0
    by_choice = 0
    for m in range(members):
        row = subscription[m]
        for k in range(offsets[m], offsets[m + 1]):
            d = _place(codes[k], starts)
            if d < 0 or seen[d, 2] == m + 1:
                invalid += 1
                continue
            pairs += 1
            invalid += not subscribed[row, codes[k] >> 32]
            seen[d, 1] += 1
            seen[d, 2] = m + 1
        before = origin[m]
        if before < 0:
            continue
        here[before] = True
        for k in range(before_offsets[before], before_offsets[before + 1]):
            d = _place(before_codes[k], starts)
            if d < 0:
                gone += 1
                continue
            seen[d, 0] += 1
            may_keep = subscribed[row, before_codes[k] >> 32]
            owned[m] += may_keep
            if seen[d, 2] == m + 1:
                stayed += 1
            elif may_keep:
                by_choice += 1
            else:
                unsubscribed += 1
    owner_left = 0
    for before in range(here.size):
        if not here[before]:
            for k in range(before_offsets[before], before_offsets[before + 1]):
                d = _place(before_codes[k], starts)
                if d < 0:
                    gone += 1
                else:
                    owner_left += 1
                    seen[d, 0] += 1
    assigned = 0
    unassigned = 0
    doubled = 0
    once = True
    for t in range(partitions.size):
        for d in range(starts[t], starts[t + 1]):
            if seen[d, 0] == 0:
                assigned += seen[d, 1]
            unassigned += seen[d, 1] == 0 and subscribers[t] > 0
            doubled += seen[d, 1] > 1
            once = once and seen[d, 0] <= 1
    fewest = -1
    needed = -1
    avoidable = -1
    if equal and once and doubled == 0:
        fewest = fewest_moves(owned, partitions_now)
        needed = min(by_choice, fewest)
        avoidable = by_choice - needed
    forced = owner_left + unsubscribed
    revoked = stayed if eager else revoked_kept
    return (
        unassigned, doubled, invalid, before_codes.size, stayed, owner_left, unsubscribed, gone,
        by_choice, forced, pairs - stayed, assigned, revoked, forced + by_choice + revoked,
        fewest, needed, avoidable,
    )  # fmt: skip
