"""``librdkafka-cooperative-sticky``: librdkafka's only sticky assignor.

The rule. KIP-54's general algorithm, as Java ran it for all groups until 2.5, with generations and
racks: what is claimed and still valid stays; each partition without an owner goes to the subscribed
member with the fewest, along racks first; then partitions are moved, new ones first, until no move
helps. The leader then withholds every partition that somebody else still claims.

What it promises, in order
1. No member could give a partition to a subscribed member that has at least two fewer; should the
   moves not improve the balance score, they are taken back.
2. Among these it keeps many partitions with the member that had them.
3. No member is given a partition that another one claims: that takes a second rebalance.

What differs from Java's
- A partition that two members claim in one generation belongs to neither. But what a member must
  give up is judged by the last claimant in the order of the members, of whatever generation.
- A claimed partition that does not exist any more is given back to its claimant.
- When a partition should go back the way that it or another one of its topic has come, librdkafka
  uses a pointer into the list of these after it has taken the first out. If that was the only one,
  it reads freed memory. What comes of that is up to the C library, which mostly ends the leader's
  process: here always, with a SIGSEGV. Else the second one goes back instead, and the record of
  moves is wrong from then on.
- The first partition that goes from one member to another lends its record to all that follow, as
  the key of that pair. When it goes on to a third member, the record is freed; the next question
  after that pair reads freed memory, again a SIGSEGV.

>>> from assignlab.group import group
>>> from assignlab.document import answer, lists
>>> owned = {"C0": [("t", p) for p in range(5)], "C1": [("t", p) for p in range(5, 10)]}
>>> members = {"C0": ["t"], "C1": ["t"], "C2": ["t"]}
>>> first = lists(g := group({"t": 10}, members, owned=owned, generation=1), assign(g))
>>> for member, partitions in first.items():
...     print(member, *(partition for _, partition in partitions))
C0 1 2 3 4
C1 7 8 9
C2
>>> g = group({"t": 10}, members, owned=first, generation=2)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *(partition for _, partition in partitions))
C0 1 2 3 4
C1 7 8 9
C2 6 5 0
>>> answer({"strategy": "librdkafka-cooperative-sticky",
...         "topics": [{"name": t, "partitions": n} for t, n in (("t", 4), ("s", 2), ("u", 5))],
...         "members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t", "u"]},
...                     {"id": "C", "topics": ["s", "t", "u"],
...                      "owned": [["t", 1], ["t", 2], ["t", 3], ["u", 1]]}]})
{'error': 'SIGSEGV: the record of moves is read from freed memory'}
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import Assignment, by_member, topic_of
from assignlab.assignors.code_points import as_java_sorts, topic_ranks
from assignlab.assignors.kafka.holdings import (
    append,
    balance_score,
    least_loaded,
    levels_of,
    lists,
    seat_everybody,
)
from assignlab.assignors.kafka.movements import (
    find_pair,
    forget_movement,
    move_partition,
    no_movements,
    pair_key,
)
from assignlab.assignors.kafka.potential import (
    ENTRY,
    KIND,
    NONE,
    OWNER,
    SIZE,
    SUBSCRIBERS,
    TOPIC,
    Potential,
    potential,
)
from assignlab.assignors.kafka.racks import use_rack_aware_assignment
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.kafka.sticky_2_0 import (
    SEVERAL,
    assign_partition,
    by_potential_consumers,
    from_most_loaded,
    has_two_fewer,
    is_balanced,
    partition_number,
    process_partition_movement,
    set_fixed_consumers_aside,
)
from assignlab.assignors.librdkafka.orders import members_that_subscribe
from assignlab.assignors.librdkafka.range import numbered_racks
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group import ABSENT, NO_METADATA, Group
from assignlab.jvm import signed
from assignlab.strategy import Strategy

DEFAULT_GENERATION = -1
NOBODY = np.empty(0, dtype=np.int64)
DONE, MISSING, FREED, STALE, LOST = 0, 1, 2, 3, 4
FAULTS = {
    MISSING: ("SIGSEGV", "a consumer that has left the balancing is asked for its partitions"),
    FREED: ("SIGSEGV", "the record of moves is read from freed memory"),
    STALE: ("SIGABRT", "an assertion fails: the record of moves is wrong"),
    LOST: ("SIGSEGV", "a move is on record, but none of its topic"),
}


class Known(NamedTuple):
    """What does not depend on claims.

    ``may_have``: who may have what, consumers numbered by member id; ``in_order``:
    int64[partitions], by (potential consumers, topic, partition); ``identical``: whether all
    subscriptions are; ``by_name``, ``backwards``: int64[partitions], by (topic, partition), and as
    the map of partitions is walked, last topic of the cluster first; ``number``: int64[members];
    ``reads``: bool[members], whom the leader can read; ``suits``: bool[consumers, partitions], by
    rack, empty where racks do not count.
    """

    may_have: Potential
    in_order: np.ndarray
    identical: bool
    by_name: np.ndarray
    backwards: np.ndarray
    number: np.ndarray
    reads: np.ndarray
    suits: np.ndarray


def known(group: Group) -> Known:
    """Prepare a group. Names are replaced by some that Java sorts as C sorts them."""
    renamed = as_java_sorts(group)
    may_have, number = renamed.prepared(potential), renamed.members.names.rank
    reads = np.zeros(number.size, dtype=np.bool_)
    reads[members_that_subscribe(group)] = True
    kinds = np.unique(may_have.consumers[number[reads], KIND])
    topics = renamed.topics.names.rank[topic_of(may_have.codes)]
    return Known(
        may_have,
        renamed.prepared(by_potential_consumers),
        kinds.size < 2,
        np.lexsort((may_have.codes, topics)),
        np.argsort(-may_have.codes),
        number,
        reads,
        suiting_racks(group, may_have),
    )


def suiting_racks(group: Group, may_have: Potential) -> np.ndarray:
    """Whether no rack speaks against a partition with a consumer: bool[consumers, partitions].

    Empty where racks do not count for the group. That is asked of members that read any topic of
    the cluster, be it one without partitions; an empty rack name does not make racks count, but
    suits no partition then.
    """
    nothing = np.empty((0, 0), dtype=np.bool_)
    topics = list(dict.fromkeys(topic_of(may_have.codes).tolist()))
    of_member, of_partition = numbered_racks(group, topics, no_rack=(None,))
    if not of_member:
        return nothing
    members = group.members
    exists = group.topics.partitions != NO_METADATA
    reads = subscriptions_by_topic(group)[:, exists].any(axis=1)[members.subscription]
    counting = {of_member[m] for m in np.flatnonzero(reads).tolist() if members.racks[m]}
    if not use_rack_aware_assignment(counting, of_partition):
        return nothing
    racks = np.array(of_member, dtype=np.int64)[may_have.by_id]
    suits = np.ones((racks.max() + 2, len(of_partition)), dtype=np.bool_)
    for rack in range(racks.max() + 1):
        suits[rack] = [rack in there for there in of_partition]
    return suits[racks]


def assign(group: Group) -> Assignment:
    """Balance, then withhold what others still claim.

    Raises :class:`OriginalError` where the original's process ends.
    """
    if not group.prepared(known).reads.any():
        return Assignment(*by_member(NOBODY, NOBODY, len(group.members)))
    owners, codes = balanced(group)
    return adjusted(group, owners, codes)


def balanced(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """The assignor's own answer: (owner int64[n], code int64[n]), list by list."""
    prepared = group.prepared(known)
    may_have, claims = prepared.may_have, group.claims
    generation = np.where(
        claims.sub_generation == ABSENT, DEFAULT_GENERATION, claims.sub_generation
    )
    first, current, previous, last = settle_claims(
        len(may_have.partitions), may_have.topics, prepared.number, prepared.reads,
        claims.offsets, claims.codes, generation,
    )  # fmt: skip
    walk, claimed = sorted_partitions(prepared, first, current, previous)
    consumers, partitions = may_have.consumers.copy(), may_have.partitions.copy()
    entries = np.empty((2 * len(partitions), 3), dtype=np.int64)
    partitions[:, OWNER] = last
    revoked, strange = keep_current(
        consumers, partitions, entries, may_have.may, prepared.suits, claimed, current, previous
    )
    doubled = prepared.number[::-1].copy() if strange else NOBODY
    offsets, codes, status = balance(
        consumers, partitions, entries, may_have.winners.copy(), may_have.topics, may_have.roots,
        may_have.may, may_have.codes, may_have.by_id, prepared.suits, walk, previous, revoked,
        doubled,
    )  # fmt: skip
    if status != DONE:
        raise OriginalError(*FAULTS[status])
    return np.repeat(np.arange(offsets.size - 1), np.diff(offsets)), codes


@njit
def settle_claims(total, topics, number, reads, offsets, codes, generation):
    """Who claims every partition in the newest generation, in the one before, and last of all.

    Two claims in one generation, be it an old one, make the partition nobody's. Returns (partitions
    in the order of their first claim; current, previous and last consumer int64[total], ``NONE``
    where there is none).
    """
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    last = np.full(total, NONE)
    first = np.empty(total, dtype=np.int64)
    head = np.full(total, NONE)
    before = np.empty(codes.size, dtype=np.int64)
    claimant = np.empty(codes.size, dtype=np.int64)
    met = 0
    for member in range(number.size):
        if not reads[member]:
            continue
        for k in range(offsets[member], offsets[member + 1]):
            x = partition_number(topics, codes[k])
            if x == NONE:
                continue
            if head[x] == NONE:
                first[met] = x
                met += 1
            before[k] = head[x]
            head[x] = k
            claimant[k] = member
            last[x] = number[member]
    ranked = np.empty(codes.size, dtype=np.int64)  # claimants of a partition, the newest last
    merged = np.empty(codes.size, dtype=np.int64)
    for x in first[:met]:
        start = codes.size
        k = head[x]
        while k != NONE:
            start -= 1
            ranked[start] = claimant[k]
            k = before[k]
        sort_by_generation(ranked, generation, merged, start, codes.size)
        rivals = False
        for i in range(start + 1, codes.size):
            rivals |= generation[ranked[i - 1]] == generation[ranked[i]]
        if rivals:
            last[x] = NONE
        else:
            current[x] = number[ranked[-1]]
            if start < codes.size - 1:
                previous[x] = number[ranked[-2]]
    return first[:met], current, previous, last


@njit
def sort_by_generation(claimants, generation, merged, start, end):
    """The C library's merge sort of ``claimants[start:end]``, in place; ``merged`` is scratch.

    Generations compare by the sign of their difference as ints, which wraps: with some that lie far
    apart this goes round in circles, and the steps of the sort decide.
    """
    if end - start < 2:
        return
    middle = start + (end - start) // 2
    sort_by_generation(claimants, generation, merged, start, middle)
    sort_by_generation(claimants, generation, merged, middle, end)
    left, right = start, middle
    for at in range(start, end):
        take_right = left == middle or (
            right < end and signed(generation[claimants[left]] - generation[claimants[right]]) > 0
        )
        merged[at] = claimants[right if take_right else left]
        right += take_right
        left += not take_right
    claimants[start:end] = merged[start:end]


def sorted_partitions(prepared, first, current, previous) -> tuple[np.ndarray, np.ndarray]:
    """The order in which partitions are handed out and considered for a move.

    Returns (int64[partitions]; the claimed partitions in the order in which they stand in the
    lists).
    """
    claimed = first[::-1][current[first[::-1]] != NONE]
    if not prepared.identical:
        return prepared.in_order, claimed
    if claimed.size == 0:
        return prepared.by_name, claimed
    by_name = prepared.by_name[current[prepared.by_name] != NONE]
    consumers = prepared.may_have.consumers.copy()
    consumers[:, SIZE] = np.bincount(current[by_name], minlength=len(consumers))
    listed = by_name[np.lexsort((previous[by_name] == NONE, current[by_name]))]
    listed = from_most_loaded(consumers, listed)
    rest = prepared.backwards[current[prepared.backwards] == NONE]
    return np.concatenate((listed, rest)), by_name


@njit
def keep_current(consumers, partitions, entries, may, suits, claimed, current, previous):
    """Fill the lists with what stays.

    Returns (whether something was taken from its claimant; whether the map of owners and the lists
    disagree, or a previous consumer does not subscribe).
    """
    revoked = False
    strange = False
    for x in claimed:
        m, t = current[x], partitions[x, TOPIC]
        if may[consumers[m, KIND], t] and (suits.size == 0 or suits[m, x]):
            append(consumers, partitions, entries, m, x, x)
            if partitions[x, OWNER] != m:
                partitions[x, ENTRY] = SEVERAL
                strange = True
        else:
            revoked = True
        if previous[x] != NONE and not may[consumers[previous[x], KIND], t]:
            strange = True
    return revoked, strange


@njit
def balance(
    consumers, partitions, entries, winners, topics, roots, may, codes, by_id, suits, walk,
    previous, revoked, doubled,
):  # fmt: skip
    """Hand out what has no owner, move it where that helps, then move anything, unless in vain.

    Returns the lists as (offsets, codes), and a status.
    """
    initializing = True
    for m in range(len(consumers)):
        initializing = initializing and consumers[m, SIZE] == 0
    new = partitions[:, ENTRY] == NONE
    seat_everybody(consumers, winners)
    for along_racks in range(0 if suits.size > 0 else 1, 2):
        for i in walk:
            if partitions[i, ENTRY] != NONE:
                continue
            m = least_loaded(consumers, winners, topics, roots, partitions[i, TOPIC])
            if along_racks == 0:
                m = least_loaded_in_rack(consumers, may, suits, partitions[i, TOPIC], i)
            if m != NONE:
                assign_partition(consumers, partitions, entries, winners, m, i, i)
    fixed = set_fixed_consumers_aside(consumers, partitions, entries, winners, topics)
    levels = levels_of(consumers, fixed)
    before = balance_score(levels)
    offsets, listed = lists(consumers, entries, codes, by_id)
    movements = no_movements(np.arange(len(partitions)).astype(np.int32), len(consumers))
    moved = np.full((len(partitions) + 1, 4), NONE)
    witness = np.full(2, NONE)
    performed = False
    for everything in range(1 if revoked else 0, 2):
        performed, status = perform_reassignments(
            consumers, partitions, entries, winners, topics, roots, may, levels, fixed, previous,
            doubled, movements, moved, witness, walk if everything else walk[new[walk]],
        )  # fmt: skip
        if status != DONE:
            return offsets, listed, status
    if performed and not initializing and balance_score(levels) >= before:
        return offsets, listed, DONE
    offsets, listed = lists(consumers, entries, codes, by_id)
    return offsets, listed, DONE


@inner
def least_loaded_in_rack(consumers, may, suits, t, i):
    """The first consumer by (size, id) that may have partition i of topic t and suits by rack."""
    best = NONE
    for m in range(len(consumers)):
        suited = may[consumers[m, KIND], t] and suits[m, i]
        if suited and (best == NONE or consumers[m, SIZE] < consumers[best, SIZE]):
            best = m
    return best


WHEN, RECORD, SOURCE, KEY = 0, 1, 2, 3
"""Columns of ``moved``, int64[partitions + 1, 4]: the number of a partition's last move on record
(in the last row: of all); ``ABANDONED`` where only the map of partitions has the move, from
``SOURCE``; ``ELSEWHERE`` where the partition is not where the record says; else ``NONE``. And by
number of a pair of consumers: the partition whose record is the key of that pair in the map of
moves, ``NONE`` once that record is freed."""
ABANDONED, ELSEWHERE = 1, 2


@inner
def perform_reassignments(
    consumers, partitions, entries, winners, topics, roots, may, levels, fixed, previous, doubled,
    movements, moved, witness, walk,
):  # fmt: skip
    """Walk the partitions and move what helps, until balanced or until a walk changes nothing.

    Racks play no part here: whoever is found by rack is found without it, too. Returns (whether
    anything moved, status).
    """
    performed = False
    modified = True
    while modified:
        modified = False
        looked = False
        for i in walk:
            t = partitions[i, TOPIC]
            if topics[t, SUBSCRIBERS] < 2:
                continue
            if not looked and is_balanced(
                consumers, partitions, entries, winners, topics, roots, levels, witness, fixed, may,
                doubled,
            ):  # fmt: skip
                break
            looked = True
            if fixed[partitions[i, OWNER]]:
                return performed, MISSING
            new_consumer = previous[i]
            if new_consumer != NONE and fixed[new_consumer]:
                return performed, MISSING
            if new_consumer == NONE or not has_two_fewer(consumers, partitions, new_consumer, i):
                new_consumer = least_loaded(consumers, winners, topics, roots, t)
                if not has_two_fewer(consumers, partitions, new_consumer, i):
                    continue
            actual, status = put_on_record(partitions, movements, moved, t, i, new_consumer)
            if status != DONE:
                return performed, status
            process_partition_movement(
                consumers, partitions, entries, winners, levels, actual, partitions[actual, OWNER],
                new_consumer,
            )  # fmt: skip
            performed = True
            modified = True
            looked = False
    return performed, DONE


@inner
def put_on_record(partitions, movements, moved, t, i, new_consumer):
    """Which partition goes to the new consumer, and what is noted of it: (partition, status).

    The original finds moves in two maps, by partition and by (topic, pair of consumers), which come
    to disagree.
    """
    owner = partitions[i, OWNER]
    if moved[i, RECORD] == ABANDONED and not is_any_listed(partitions, movements, t):
        return i, LOST
    if moved[i, RECORD] == ELSEWHERE:
        return i, STALE
    back = find_pair(movements, pair_key(movements, t, new_consumer, owner))
    if back == NONE:
        source = owner
        before = movements.pair[i]
        if moved[i, RECORD] == ABANDONED:
            source = moved[i, SOURCE]
            before = find_pair(movements, pair_key(movements, t, source, owner))
            if before == NONE:
                return i, STALE
        if before != NONE and moved[before, KEY] == NONE:
            return i, FREED
        move_partition(movements, i, t, source, new_consumer)
        moved[-1, WHEN] += 1
        moved[i, WHEN] = moved[-1, WHEN]
        moved[i, RECORD] = NONE
        if before != NONE and moved[before, KEY] == i:
            moved[before, KEY] = NONE
        pair = movements.pair[i]
        if movements.sets.size[pair] == 1:
            moved[pair, KEY] = i
        return i, DONE if moved[pair, KEY] != NONE else FREED
    if moved[back, KEY] == NONE:
        return i, FREED
    first, second = first_two(movements, moved, back)
    elsewhere = moved[first, RECORD] == ELSEWHERE
    if second != NONE and (elsewhere or moved[second, RECORD] == ELSEWHERE):
        return i, STALE
    moved[first, SOURCE] = movements.source[first]
    forget_movement(movements, first)
    if second == NONE:  # whose name is needed again at once if nothing of the topic is left
        return i, STALE if elsewhere and is_any_listed(partitions, movements, t) else FREED
    moved[first, RECORD] = ABANDONED
    moved[second, RECORD] = ELSEWHERE
    return second, DONE


@inner
def is_any_listed(partitions, movements, t):
    """Whether a move of any partition of the topic is on record by pair of consumers."""
    for x in range(len(partitions)):
        if partitions[x, TOPIC] == t and movements.pair[x] != NONE:
            return True
    return False


@inner
def first_two(movements, moved, pair):
    """The two partitions that were put on record first for a pair of consumers; or ``NONE``."""
    first = NONE
    second = NONE
    for x in range(movements.pair.size):
        if movements.pair[x] == pair:
            if first == NONE or moved[x, WHEN] < moved[first, WHEN]:
                first, second = x, first
            elif second == NONE or moved[x, WHEN] < moved[second, WHEN]:
                second = x
    return first, second


def adjusted(group: Group, owners: np.ndarray, codes: np.ndarray) -> Assignment:
    """The lists that the leader sends.

    First come the partitions that a member keeps, then those that nobody claims, then those that
    it claims and nobody was assigned, as they do not exist. Of two lists that hold a partition the
    later counts.
    """
    claimants, claims = claims_read(group)
    codes, owners = last_of_each(codes, owners)
    claims, claimants = last_of_each(claims, claimants)
    holder = dict(zip(claims.tolist(), claimants.tolist(), strict=True))
    holders = np.array([holder.get(c, NONE) for c in codes.tolist()], dtype=np.int64)
    same = identities(group)
    free = holders == NONE
    kept = ~free & (same[holders] == same[owners])
    gone = ~np.isin(claims, codes)
    return Assignment(
        *by_member(
            np.concatenate((holders[kept], owners[free], claimants[gone])),
            np.concatenate((codes[kept], codes[free], claims[gone])),
            len(group.members),
        )
    )


def identities(group: Group) -> np.ndarray:
    """A number for every member, the same for those of one instance id: int64[members]."""
    instances = group.members.instances or (None,) * len(group.members)
    first: dict[str, int] = {}
    numbers = [m if i is None else first.setdefault(i, m) for m, i in enumerate(instances)]
    return np.array(numbers, dtype=np.int64)


def claims_read(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(claimant int64[n], code int64[n]) of the members that the leader can read."""
    claims = group.claims
    claimants = np.repeat(np.arange(len(group.members)), np.diff(claims.offsets))
    read = group.prepared(known).reads[claimants]
    return claimants[read], claims.codes[read]


def last_of_each(codes: np.ndarray, owners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Every code once, where it stands first, with the owner that stands last.

    >>> codes, owners = last_of_each(np.array([7, 5, 7]), np.array([0, 1, 2]))
    >>> codes.tolist(), owners.tolist()
    ([7, 5], [2, 1])
    """
    values, first = np.unique(codes, return_index=True)
    last = codes.size - 1 - np.unique(codes[::-1], return_index=True)[1]
    order = np.argsort(first)
    return values[order], owners[last[order]]


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: sorted by topic and partition."""
    topics = group.prepared(topic_ranks)[topic_of(assignment.codes)]
    order = np.lexsort((assignment.codes, topics, assignment.owners))
    return Assignment(assignment.offsets, assignment.codes[order])


STRATEGY = Strategy(
    name="librdkafka-cooperative-sticky",
    system="librdkafka",
    first="2.15.1",
    last="2.15.1",
    protocol="cooperative",
    sticky=True,
    source="rd_kafka_sticky_assignor_assign_cb (librdkafka 2.15.1)",
    assign=assign,
    reclaim=reclaim,
    generations=("sub_generation",),
)
