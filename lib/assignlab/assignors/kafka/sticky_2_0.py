"""``sticky@2.0``: Kafka's first StickyAssignor, with one algorithm for all groups (KIP-54).

The rule. Every member sends the partitions that it had. What is still valid stays where it is; each
partition without an owner goes to the subscribed member that has the fewest; then partitions are
moved, one by one, from members that have two or more too many to the subscribed member that has the
fewest, until no move helps.

What it promises, in order
1. The assignment is as balanced as possible: no member could give a partition to a subscribed
   member that has at least two fewer. Should the moves not improve the balance score (the sum of
   the differences of all pairs of members), they are taken back.
2. Among these it keeps as many partitions as possible with the member that had them. When a move
   would undo an earlier one of the same topic in the other direction, the earlier one is undone.

What it does not promise. Two members that claim one partition both keep it: claims carry no
generation yet (KAFKA-7026). Balance is looked for one move at a time, so it need not be the best.
A subscribed topic without partitions makes it throw (KAFKA-7962), and so do claims while nobody
subscribes to anything, and some double claims.

The original itself is not certain where nine or more partitions share a slot of a HashMap and two
of them have equal hash codes ("t10" partition 1, "t20" partition 0): the slot becomes a tree that
is ordered by identity. If partitions without an owner are handed out in such an order, the answer
carries the note ``nondeterministic``.

Three members, four topics of two partitions; then C1 leaves, and only its partitions move:

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> topics = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
>>> before = lists(g := group(topics, {c: list(topics) for c in ("C0", "C1", "C2")}), assign(g))
>>> before
{'C0': [['t0', 0], ['t1', 1], ['t3', 0]], 'C1': [['t0', 1], ['t2', 0], ['t3', 1]], \
'C2': [['t1', 0], ['t2', 1]]}
>>> lists(g := group(topics, {c: list(topics) for c in ("C0", "C2")}, owned=before | {"C1": []}),
...       assign(g))
{'C0': [['t0', 0], ['t1', 1], ['t3', 0], ['t2', 0]], \
'C2': [['t1', 0], ['t2', 1], ['t0', 1], ['t3', 1]]}

Different subscriptions; then consumer3 joins with t0 alone. t0p0 is first in the order and its
owner has four partitions, so it moves; then t0p1, whose owner still has two more than consumer3:

>>> topics = {"t0": 4, "t1": 3, "t2": 2}
>>> members = {"consumer0": ["t0", "t1", "t2"], "consumer1": ["t0", "t1"], "consumer2": ["t2"]}
>>> before = lists(g := group(topics, members), assign(g))
>>> for member, partitions in before.items():
...     print(member, *("p".join(map(str, partition)) for partition in partitions))
consumer0 t0p0 t0p2 t1p0 t1p2
consumer1 t0p1 t0p3 t1p1
consumer2 t2p0 t2p1
>>> g = group(topics, members | {"consumer3": ["t0"]}, owned=before)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *("p".join(map(str, partition)) for partition in partitions))
consumer0 t0p2 t1p0 t1p2
consumer1 t0p3 t1p1
consumer2 t2p0 t2p1
consumer3 t0p0 t0p1
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.holdings import (
    AFTER,
    FEWEST,
    GREATEST,
    PARTITION,
    append,
    balance_score,
    count_down,
    count_up,
    first_entry,
    least_loaded,
    levels_of,
    lists,
    replay,
    seat_everybody,
    unlink,
)
from assignlab.assignors.kafka.movements import (
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.kafka.potential import (
    COUNT,
    ENTRY,
    FIRST,
    HEAD,
    KIND,
    LEAF,
    MOST,
    NONE,
    OWNER,
    SIZE,
    SUBSCRIBERS,
    TOPIC,
    Potential,
    potential,
)
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group import Group
from assignlab.jvm import (
    Names,
    hash_map_order,
    hash_map_walk,
    spread_all,
    table_size,
    topic_partition_hashes,
    walk_lists,
    was_crowded,
)
from assignlab.strategy import Strategy

NOBODY = np.empty(0, dtype=np.int64)
NOTHING = np.empty(0, dtype=np.bool_)
SEVERAL = -2
"""Instead of the entry of a partition that is claimed twice."""


class Current(NamedTuple):
    """The assignment so far: the tables of :mod:`assignlab.assignors.kafka.holdings`.

    ``kept``: how many claimed partitions stay; ``used``: entries taken by claims. ``doubled``:
    consumers in the order of the HashMap of current assignments, if a partition may be in two lists
    or in that of a consumer that does not subscribe to it; else empty: nothing depends on it then.
    """

    consumers: np.ndarray
    partitions: np.ndarray
    entries: np.ndarray
    winners: np.ndarray
    kept: int
    used: int
    doubled: np.ndarray


def assign(group: Group) -> Assignment:
    """Keep what is claimed, sort the partitions, balance.

    Raises :class:`OriginalError` where the original throws. Notes ``nondeterministic`` where it
    orders partitions by identity hash codes, so that two runs of it may differ.
    """
    known = group.prepared(potential_consumers)
    fresh = not group.claims.present.any()
    current = prepopulate_current_assignments(group, known)
    sorted_partitions, certain = sort_partitions(group, known, current, fresh)
    offsets, codes = balance(group, known, current, sorted_partitions)
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


def potential_consumers(group: Group) -> Potential:
    """Who may have what; every subscribed topic must exist."""
    subscribed = group.prepared(subscriptions_by_topic).any(axis=0)
    missing = np.flatnonzero(subscribed & (group.topics.partitions <= 0))
    if missing.size:
        raise OriginalError(
            "NullPointerException",
            f"topic {group.topics.names[missing[0]]!r} is subscribed, but has no metadata or no "
            "partitions",
        )
    return group.prepared(potential)


def prepopulate_current_assignments(group: Group, known: Potential) -> Current:
    """Let members keep what they claim, if it exists and they still subscribe to it."""
    claims = group.claims
    entries = np.empty((claims.codes.size + 2 * len(known.codes), 3), dtype=np.int64)
    consumers, partitions = known.consumers.copy(), known.partitions.copy()
    kept, doubled = 0, NOBODY
    if claims.codes.size:
        claimed = (known.topics, known.by_id, claims.offsets, claims.codes)
        kept, twice = keep_claims(consumers, partitions, entries, known.may, *claimed)
        if twice:
            doubled = current_assignment_order(group)
            last_claimants(partitions, doubled, *claimed)
    winners = known.winners.copy()
    return Current(consumers, partitions, entries, winners, kept, claims.codes.size, doubled)


@njit
def keep_claims(consumers, partitions, entries, may, topics, by_id, offsets, codes):
    """Fill the lists from the claims. The owner of a partition is its last claimant.

    Returns (partitions kept, whether one was claimed twice).
    """
    kept = 0
    twice = False
    for m in range(len(consumers)):
        for k in range(offsets[by_id[m]], offsets[by_id[m] + 1]):
            i = partition_number(topics, codes[k])
            if i == NONE:
                continue
            claimed = partitions[i, OWNER] != NONE
            twice |= claimed
            partitions[i, OWNER] = m
            if may[consumers[m, KIND], partitions[i, TOPIC]]:
                append(consumers, partitions, entries, m, i, k)
                kept += 1
            if claimed and partitions[i, ENTRY] != NONE:
                partitions[i, ENTRY] = SEVERAL
    return kept, twice


@inner
def partition_number(topics, code):
    """The number of a claimed partition, ``NONE`` if it does not exist or nobody may have it."""
    t, partition = code >> 32, code & 0xFFFFFFFF
    return topics[t, FIRST] + partition if partition < topics[t, COUNT] else NONE


def current_assignment_order(group: Group) -> np.ndarray:
    """Consumers as the HashMap of current assignments has them: those that claim are put first."""
    members, names = group.prepared(orders.members_by_hash), group.members.names
    claim = group.claims.present[members]
    put = np.concatenate((members[claim], members[~claim]))
    return names.rank[put[hash_map_order(names.hashes[put], rank=names.rank[put])]]


@njit
def last_claimants(partitions, order, topics, by_id, offsets, codes):
    """The owner of every claimed partition: its last claimant in that order, subscribed or not."""
    for m in order:
        for k in range(offsets[by_id[m]], offsets[by_id[m] + 1]):
            i = partition_number(topics, codes[k])
            if i != NONE:
                partitions[i, OWNER] = m


def sort_partitions(
    group: Group, known: Potential, current: Current, fresh: bool
) -> tuple[np.ndarray, bool]:
    """The order in which partitions are handed out and later considered for a move.

    A reassignment with identical subscriptions goes through the members' lists, then through the
    rest as the key set of a HashMap has it; anything else goes by (number of potential consumers,
    topic, partition). Returns (partition numbers int64[...], whether Java fixes that order). A
    partition that is kept twice appears twice.
    """
    if not fresh and len(known.codes) == 0:
        raise OriginalError(
            "NoSuchElementException",
            "a member sends a claim, even an empty one, and nobody subscribes to anything",
        )
    if fresh or not are_subscriptions_identical(known):
        return group.prepared(by_potential_consumers), True
    kept = kept_partitions(current.consumers, current.entries, current.kept)
    listed = from_most_loaded(current.consumers, kept)
    if current.kept >= len(known.codes) and not current.doubled.size:
        return listed, True
    keys, certain = group.prepared(key_set)
    rest = keys[current.partitions[keys, OWNER] == NONE]
    return np.concatenate((listed, rest)), certain or rest.size < 2


def are_subscriptions_identical(known: Potential) -> bool:
    """Whether all members may have the same partitions."""
    return len(known.may) == 1


@njit
def kept_partitions(consumers, entries, kept):
    """The lists one behind the other: int64[kept] partition numbers."""
    listed = np.empty(kept, dtype=np.int64)
    at = 0
    for m in range(len(consumers)):
        e = consumers[m, HEAD]
        while e != NONE:
            listed[at] = entries[e, PARTITION]
            at += 1
            e = entries[e, AFTER]
    return listed


@njit
def from_most_loaded(consumers, listed):
    """The kept partitions: again and again the first one left to the consumer that has the most.

    Among consumers with equally many it is the turn of the greatest id. So all that have ``left``
    partitions or more give one, in descending order, and go on with one less.
    """
    members = len(consumers)
    left = 0
    for m in range(members):
        left = max(left, consumers[m, SIZE])
    with_size = np.zeros(left + 1, dtype=np.int64)
    turn = np.empty(members, dtype=np.int64)
    start = 0
    for m in range(members):
        turn[m] = start
        start += consumers[m, SIZE]
        with_size[consumers[m, SIZE]] += 1
    giving = np.empty(members, dtype=np.int64)
    givers = 0
    order = np.empty(listed.size, dtype=np.int64)
    at = 0
    while left > 0:
        if with_size[left] > 0:
            givers = 0
            for m in range(members - 1, -1, -1):
                if consumers[m, SIZE] >= left:
                    giving[givers] = m
                    givers += 1
        for k in range(givers):
            order[at] = listed[turn[giving[k]]]
            turn[giving[k]] += 1
            at += 1
        left -= 1
    return order


def key_set(group: Group) -> tuple[np.ndarray, bool]:
    """Partition numbers as ``partition2AllPotentialConsumers.keySet()`` walks them.

    The second value is False if Java itself may walk otherwise: a slot with nine partitions or more
    becomes a tree, where partitions with equal hash codes are ordered by identity.
    """
    return hash_map_walk(group.prepared(partition_hashes))


def partition_hashes(group: Group) -> np.ndarray:
    """``TopicPartition.hashCode`` of every partition: int32[n]."""
    codes = group.prepared(potential).codes
    return topic_partition_hashes(group.topics.names.hashes, codes)


def by_potential_consumers(group: Group) -> np.ndarray:
    """All partition numbers by (number of potential consumers, topic, partition)."""
    known = group.prepared(potential)
    topics = known.topics[:-1]
    in_order = np.lexsort((group.topics.names.rank, topics[:, SUBSCRIBERS]))
    counts = topics[in_order, COUNT]
    before = np.cumsum(counts) - counts
    return np.arange(counts.sum()) + np.repeat(topics[in_order, FIRST] - before, counts)


def balance(
    group: Group,
    known: Potential,
    current: Current,
    sorted_partitions: np.ndarray,
    previous: np.ndarray = NOBODY,
    new_first: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Hand out what has no owner, set aside what cannot change, then move, unless in vain.

    ``previous``: since 2.3, int64[partitions], the consumer before the current one. ``new_first``:
    since 2.4, whether moving what was just handed out is tried before moving anything else. Returns
    the lists as (offsets, codes).
    """
    if len(group.members) == 0:
        raise OriginalError("NoSuchElementException", "the group has no members")
    consumers, partitions, entries, winners, kept, used, doubled = current
    initializing = kept == 0
    held = (consumers, partitions, entries, winners, known.topics)
    new = partitions[:, ENTRY] == NONE if new_first else NOTHING
    assign_unassigned(*held, known.roots, sorted_partitions, used)

    fixed = set_fixed_consumers_aside(*held)
    levels = levels_of(consumers, fixed)
    score = balance_score(levels)
    pre_balance = lists(consumers, entries, known.codes, known.by_id)
    performed, missing = perform_reassignments(
        *held,
        known.roots,
        levels,
        sorted_partitions,
        new,
        fixed,
        group.prepared(partition_hashes),
        previous,
        known.may,
        known.by_hash,
        doubled,
    )
    if missing:
        raise OriginalError(
            "NullPointerException",
            "rival claims name a consumer that has left the balancing",
        )
    in_vain = performed and not initializing and balance_score(levels) >= score
    if in_vain or not (performed or new_first):
        return pre_balance
    return lists(consumers, entries, known.codes, known.by_id)


@njit
def assign_unassigned(
    consumers, partitions, entries, winners, topics, roots, sorted_partitions, claimed
):
    """Assign every partition that is in nobody's list; entries below ``claimed`` are in use."""
    seat_everybody(consumers, winners)
    for i in sorted_partitions:
        if partitions[i, ENTRY] == NONE:
            m = least_loaded(consumers, winners, topics, roots, partitions[i, TOPIC])
            assign_partition(consumers, partitions, entries, winners, m, i, claimed + i)


@inner
def assign_partition(consumers, partitions, entries, winners, m, i, e):
    """Give partition i to consumer m, the subscribed one with the fewest (then the smallest id)."""
    append(consumers, partitions, entries, m, i, e)
    partitions[i, OWNER] = m
    replay(consumers, winners, m)


@njit
def set_fixed_consumers_aside(consumers, partitions, entries, winners, topics):
    """Take the consumers out that cannot take part in a reassignment: bool[members]."""
    fixed = np.zeros(len(consumers), dtype=np.bool_)
    for m in range(len(consumers)):
        if not can_participate_in_reassignment(consumers, partitions, entries, topics, m):
            fixed[m] = True
            winners[consumers[m, LEAF]] = NONE
            replay(consumers, winners, m)
    return fixed


@inner
def can_participate_in_reassignment(consumers, partitions, entries, topics, m):
    """Whether consumer m could get more, or has a partition that somebody else could have."""
    if consumers[m, SIZE] < consumers[m, MOST]:
        return True
    e = consumers[m, HEAD]
    while e != NONE:
        if topics[partitions[entries[e, PARTITION], TOPIC], SUBSCRIBERS] >= 2:
            return True
        e = entries[e, AFTER]
    return False


@njit
def perform_reassignments(
    consumers,
    partitions,
    entries,
    winners,
    topics,
    roots,
    levels,
    sorted_partitions,
    new,
    fixed,
    hashes,
    previous,
    may,
    by_hash,
    doubled,
):
    """Walk the partitions and move what helps, until balanced or until a walk changes nothing.

    ``fixed``: bool[members], the consumers set aside; partitions with one potential consumer are
    passed over. Since 2.3 a partition first of all goes back to its ``previous`` consumer, if that
    has at least two fewer. Since 2.4 the ``new`` partitions (bool[partitions], or empty) are walked
    alone before all are.

    Returns (whether the walk of all partitions moved anything, whether a consumer was missing).
    """
    witness = np.full(2, NONE)
    held = (consumers, partitions, entries, winners, topics, roots)
    if is_balanced(*held, levels, witness, fixed, may, doubled):
        return False, False
    movements = no_movements(hashes, len(consumers))
    performed = False
    for everything in range(0 if new.size else 1, 2):
        performed = False
        modified = True
        while modified:
            modified = False
            looked = False
            for i in sorted_partitions:
                t = partitions[i, TOPIC]
                if topics[t, SUBSCRIBERS] < 2 or not (everything or new[i]):
                    continue
                if not looked and is_balanced(*held, levels, witness, fixed, may, doubled):
                    break
                looked = True
                new_consumer = previous[i] if previous.size else NONE
                if new_consumer != NONE and fixed[new_consumer]:
                    return performed, True
                if new_consumer == NONE or not has_two_fewer(
                    consumers, partitions, new_consumer, i
                ):
                    if doubled.size and is_consumer_missing(
                        consumers, partitions, fixed, may, by_hash, i
                    ):
                        return performed, True
                    new_consumer = least_loaded(consumers, winners, topics, roots, t)
                if has_two_fewer(consumers, partitions, new_consumer, i):
                    reassign_partition(
                        consumers, partitions, entries, winners, levels, movements, i, new_consumer
                    )
                    performed = True
                    modified = True
                    looked = False
    return performed, False


@inner
def has_two_fewer(consumers, partitions, m, i):
    """Whether consumer m would still have less than the owner of partition i has now."""
    return consumers[m, SIZE] + 1 < consumers[partitions[i, OWNER], SIZE]


@inner
def is_consumer_missing(consumers, partitions, fixed, may, by_hash, i):
    """Whether the search for a better consumer of partition i meets one that was set aside.

    That takes a double claim: a consumer is set aside if it has as many partitions as it could get,
    and one that has a partition twice may lack another.
    """
    owner = partitions[i, OWNER]
    if fixed[owner]:
        return True
    for other in by_hash:
        if may[consumers[other, KIND], partitions[i, TOPIC]]:
            if fixed[other]:
                return True
            if has_two_fewer(consumers, partitions, other, i):
                return False
    return False


@inner
def is_balanced(
    consumers,
    partitions,
    entries,
    winners,
    topics,
    roots,
    levels,
    witness,
    fixed,
    may,
    doubled,
):
    """Whether nobody has more than a consumer that could have one of its partitions.

    The original is content with a difference of one over all consumers, but otherwise counts a
    difference of one as imbalance (corrected by KAFKA-15106). ``witness``: int64[2], a partition
    and a consumer with fewer partitions than its owner, kept from call to call: while it holds,
    nothing is searched.
    """
    if levels[FEWEST] >= levels[GREATEST] - 1:
        return True
    if doubled.size:
        return is_balanced_by_lists(consumers, partitions, entries, fixed, may, doubled)
    i, m = witness
    if i != NONE and consumers[m, SIZE] < consumers[partitions[i, OWNER], SIZE]:
        return False
    known = len(topics) - 1
    start = 0 if i == NONE else partitions[i, TOPIC]
    for turn in range(start, start + known):
        t = turn if turn < known else turn - known
        if topics[t, SUBSCRIBERS] < 2 or topics[t, COUNT] == 0:
            continue
        m = least_loaded(consumers, winners, topics, roots, t)
        for i in range(topics[t, FIRST], topics[t, FIRST] + topics[t, COUNT]):
            if consumers[m, SIZE] < consumers[partitions[i, OWNER], SIZE]:
                witness[0] = i
                witness[1] = m
                return False
    return True


@inner
def is_balanced_by_lists(consumers, partitions, entries, fixed, may, doubled):
    """:func:`is_balanced` where partitions are claimed twice: list by list, as in the original.

    There the owner of a partition is the last consumer whose list has it; and a consumer with as
    many partitions as it could get is passed over, even if it has one of them twice.
    """
    owner = np.full(len(partitions), NONE)
    for m in doubled:
        e = NONE if fixed[m] else consumers[m, HEAD]
        while e != NONE:
            owner[entries[e, PARTITION]] = m
            e = entries[e, AFTER]
    has = np.full(len(partitions), NONE)
    for m in doubled:
        if fixed[m] or consumers[m, SIZE] == consumers[m, MOST]:
            continue
        e = consumers[m, HEAD]
        while e != NONE:
            has[entries[e, PARTITION]] = m
            e = entries[e, AFTER]
        for i in range(len(partitions)):
            if (
                may[consumers[m, KIND], partitions[i, TOPIC]]
                and has[i] != m
                and consumers[m, SIZE] < consumers[owner[i], SIZE]
            ):
                return False
    return True


@inner
def reassign_partition(consumers, partitions, entries, winners, levels, movements, i, new_consumer):
    """Move partition i, or the one whose earlier move this would undo, to the new consumer."""
    t, owner = partitions[i, TOPIC], partitions[i, OWNER]
    actual = the_actual_partition_to_be_moved(movements, i, t, owner, new_consumer)
    old_consumer = partitions[actual, OWNER]
    move_partition(movements, actual, t, old_consumer, new_consumer)
    process_partition_movement(
        consumers, partitions, entries, winners, levels, actual, old_consumer, new_consumer
    )


@inner
def process_partition_movement(
    consumers, partitions, entries, winners, levels, i, old_consumer, new_consumer
):
    """Take partition i out of the old consumer's list and append it to the new one's.

    With a double claim the owner may not have it, or somebody else's list may have it too.
    """
    e = partitions[i, ENTRY]
    several = e == SEVERAL
    if several:
        e = first_entry(consumers, entries, old_consumer, i)
    if e == NONE:
        e = len(entries) - len(partitions) + i
    else:
        unlink(consumers, entries, old_consumer, e)
        count_down(levels, consumers[old_consumer, SIZE])
    append(consumers, partitions, entries, new_consumer, i, e)
    if several:
        partitions[i, ENTRY] = SEVERAL
    count_up(levels, consumers[new_consumer, SIZE])
    partitions[i, OWNER] = new_consumer
    replay(consumers, winners, new_consumer)
    replay(consumers, winners, old_consumer)


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims."""
    return regroup(group, assignment, newest_first=False)


def regroup(group: Group, assignment: Assignment, newest_first: bool, times: int = 2) -> Assignment:
    """The lists after the leader's assignment has crossed the wire and come back as user data.

    Both times a list is grouped by topic in a HashMap, which a release fills by ``put`` or by
    ``computeIfAbsent`` (``newest_first``); partitions of one topic keep their order.
    """
    names = group.topics.names
    offsets, codes = assignment.offsets, assignment.codes
    regrouped, crowded = codes.copy(), False
    for _ in range(times):
        crowded |= group_data_by_topic(offsets, regrouped, names.hashes, newest_first)
    if crowded:
        regrouped = codes.copy()
        for m in range(offsets.size - 1):
            part = regrouped[offsets[m] : offsets[m + 1]]
            for _ in range(times):
                part[:] = regroup_crowded(names, part, newest_first)
    return Assignment(offsets, regrouped)


def regroup_crowded(names: Names, codes: np.ndarray, newest_first: bool) -> np.ndarray:
    """One list grouped by topic, for any number of topics in one slot of the HashMap."""
    topics, first, topic = np.unique(codes >> 32, return_index=True, return_inverse=True)
    met = np.argsort(first)
    called_again = met.size > 0 and first[met[-1]] < codes.size - 1
    hashes, rank = names.hashes[topics[met]], names.rank[topics[met]]
    walk = met[hash_map_order(hashes, 16, rank, newest_first, called_again)]
    place = np.empty(topics.size, dtype=np.int64)
    place[walk] = np.arange(topics.size)
    return codes[np.argsort(place[topic], kind="stable")]


@njit
def group_data_by_topic(offsets, codes, hashes, newest_first):
    """Group every list by topic, in place, topics in the order of a HashMap.

    Returns whether a slot of such a map was so crowded that the order may be another one.
    """
    spreads = spread_all(hashes)
    at = np.zeros(hashes.size, dtype=np.int64)
    topics = np.empty(hashes.size, dtype=np.int64)
    put = np.empty(hashes.size, dtype=np.int64)
    crowded = False
    for m in range(offsets.size - 1):
        met = 0
        late = 0
        for k in range(offsets[m], offsets[m + 1]):
            t = codes[k] >> 32
            late = 0
            if at[t] == 0:
                topics[met] = t
                put[met] = spreads[t]
                met += 1
                late = 1 if newest_first else 0
            at[t] += 1
        crowded |= was_crowded(put[:met], 16, 7 if newest_first else 8)
        walk = walk_lists(put[:met], table_size(met - late, 16), newest_first)
        start = offsets[m]
        for k in walk:
            start, at[topics[k]] = start + at[topics[k]], start
        before = codes[offsets[m] : offsets[m + 1]].copy()
        for c in before:
            codes[at[c >> 32]] = c
            at[c >> 32] += 1
        for k in range(met):
            at[topics[k]] = 0
    return crowded


STRATEGY = Strategy(
    name="sticky@2.0",
    system="Kafka consumer",
    first="1.1.1",
    last="2.0.1",
    protocol="eager",
    sticky=True,
    source="org.apache.kafka.clients.consumer.StickyAssignor (kafka-clients 2.0.1)",
    assign=assign,
    reclaim=reclaim,
)
