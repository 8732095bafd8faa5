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
- Where subscriptions are equal and something is claimed, new partitions are handed out from the
  last topic that the broker lists to the leader, here the document's last, back to the first: with
  topics in another order members may get other partitions.
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

>>> from assignlab.group.plain import group
>>> from assignlab.assignors.answer import answer
>>> from assignlab.group.document import lists
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

from assignlab.assignors.librdkafka.parts.orders import members_that_subscribe
from assignlab.assignors.librdkafka.parts.racks import racks_of_leader
from assignlab.assignors.parts.code_points import members_by_id, topic_ranks, topics_by_name
from assignlab.assignors.parts.holdings import (
    Current,
    balance_score,
    first_of,
    holdings,
    lists,
    record,
    seat_everybody,
)
from assignlab.assignors.parts.movements import (
    Movements,
    find_pair,
    forget_movement,
    move_partition,
    no_movements,
    pair_key,
)
from assignlab.assignors.parts.never_ends import never_ends, tell, tell_movements
from assignlab.assignors.parts.potential import (
    NONE,
    kinds_in_racks,
    kinds_of_members,
    potential_in,
    unpack_potential,
)
from assignlab.assignors.parts.racks import NO_RACK
from assignlab.assignors.parts.reassignment import (
    DONE,
    MISSING,
    NO_MEMBERS,
    assign_partition,
    assign_unassigned,
    followed_by,
    from_most_loaded,
    has_two_fewer,
    is_balanced,
    least_loaded_with_two_fewer,
    move_new_first,
    process_partition_movement,
    state_of,
    unassigned_partitions,
)
from assignlab.assignors.parts.rival_claims import (
    DEFAULT_GENERATION,
    keep_claimed,
    partition_number,
)
from assignlab.assignors.parts.slices import copy_into, taken
from assignlab.assignors.parts.sorted_lists import by_topic_and_partition
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import ABSENT, Group
from assignlab.jvm.names import signed

FREED, STALE, LOST = 2, 3, 4
FAULTS = {
    MISSING: ("SIGSEGV", "a consumer that has left the balancing is asked for its partitions"),
    FREED: ("SIGSEGV", "the record of moves is read from freed memory"),
    STALE: ("SIGABRT", "an assertion fails: the record of moves is wrong"),
    LOST: ("SIGSEGV", "a move is on record, but none of its topic"),
}


class Shape(NamedTuple):
    """What is the same whatever the members hold.

    ``packed``: the potential consumers and partitions, consumers by member id, partitions by topic
    name; ``reads``: bool[members], whom the leader can read; ``identical``: whether all of these
    subscribe to the same; ``rack`` and ``suits``: :func:`suiting_racks`; ``same``:
    int64[consumers], :func:`identities`.
    """

    packed: np.ndarray
    may: np.ndarray
    reads: np.ndarray
    identical: bool
    rack: np.ndarray
    suits: np.ndarray
    same: np.ndarray


def shape(group: Group) -> tuple[Shape, bool]:
    """The :class:`Shape`, and whether the leader can read any member."""
    members = group.members
    by_id, topics = members_by_id(group), group.prepared(topics_by_name)
    reads = np.zeros(by_id.size, dtype=np.bool_)
    reads[members_that_subscribe(group)] = True
    kind, may = kinds_of_members(group)
    identical = len(may) < 2 or np.unique(kind[reads]).size < 2
    rack, suits = suiting_racks(group, topics)
    if suits.size > 0:  # of one kind are those in one rack
        kind, may = kinds_in_racks(kind, may, rack, len(suits))
    # Who may have a topic is looked up member by member, however often one names it.
    packed, may, _ = potential_in(
        group, members, by_id, np.arange(by_id.size), topics, group.prepared(topic_ranks),
        (kind, may),
    )  # fmt: skip
    same = identities(group)[by_id]
    return Shape(packed, may, reads, identical, rack[by_id], suits, same), bool(reads.any())


def suiting_racks(group: Group, topics: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(int64[members], the rack of each; bool[racks, partitions], which it suits).

    Members without a rack are in the last one, which suits all partitions. The second is empty where
    racks do not count for the group. That is asked of members that name any topic, be it one that
    does not exist: the broker names that to the leader, too, without partitions. An empty rack name
    does not make racks count, but suits no partition then.
    """
    nothing = np.zeros(len(group.members), dtype=np.int64), np.empty((0, 0), dtype=np.bool_)
    known = racks_of_leader(group, topics, no_rack=(None,))
    if not known.of_member:
        return nothing
    readers = members_that_subscribe(group).tolist()
    counting = {known.of_member[m] for m in readers if group.members.racks[m]}
    if not known.count(counting, known.kind):
        return nothing
    rack = np.array(known.of_member, dtype=np.int64)
    nowhere = rack.max() + 1
    suits = np.array(
        [[rack in there for there in known.of_kind] for rack in range(nowhere)]
        + [[True] * len(known.of_kind)]
    )
    return np.where(rack == NO_RACK, nowhere, rack), suits[:, known.kind]


def assign(group: Group) -> Assignment:
    """Balance, then withhold what others still claim.

    Raises :class:`OriginalError` where the original's process ends, or never does.
    """
    prepared, anybody = group.prepared(shape)
    if not anybody:
        return Assignment(*by_member(NO_MEMBERS, NO_MEMBERS, len(group.members)))
    claims = group.claims
    claimed = claims.offsets, claims.codes, claims.sub_generation
    status, assigned, offsets, codes, gone = build(*prepared, claimed)
    if status < 0:
        raise never_ends(-status)
    if status != DONE:
        raise OriginalError(*FAULTS[status])
    if gone:
        return Assignment(*with_gone(group, assigned, offsets, codes))
    return Assignment(offsets, codes)


@njit
def build(packed, may, reads, identical, rack, suits, same, claims):
    """(how it ended, the codes of the assignor's own lists, offsets and codes of what the leader
    sends, whether something is claimed that was not assigned); ``claims``: their offsets, codes and
    generations."""
    claimed_offsets, claimed, generation = claims
    known = unpack_potential(packed, may)
    claimed_by = settle_claims(known, reads, claimed_offsets, claimed, generation)
    walk, kept = sorted_partitions(known, identical, claimed_by)
    current = current_assignment(known, rack, suits, kept, claimed_by)
    revoked = current.listed.size < kept.size
    offsets, codes, status = balance(known, current, rack, suits, walk, revoked)
    sent_offsets, sent, gone = adjusted(known, same, claimed_by, offsets, codes)
    return status, codes, sent_offsets, sent, gone


class Claimants(NamedTuple):
    """Who claims a partition in the newest generation, and in the one before; and last of all.

    ``first``: partitions in the order of their first claim; ``current``, ``previous``, ``holder``:
    int64[partitions], consumers, ``NONE`` where there is none; ``last``: as ``holder``, but
    ``NONE`` also for what is nobody's; ``gone``: whether something is claimed that does not exist.
    """

    first: np.ndarray
    current: np.ndarray
    previous: np.ndarray
    holder: np.ndarray
    last: np.ndarray
    gone: bool


@inner
def settle_claims(known, reads, offsets, codes, sub_generation):
    """The :class:`Claimants` of all partitions.

    Two claims in one generation, be it an old one, make the partition nobody's.
    """
    total = known.codes.size
    generation = sub_generation.copy()
    for member in range(generation.size):
        if generation[member] == ABSENT:
            generation[member] = DEFAULT_GENERATION
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    holder = np.full(total, NONE)
    first = np.empty(total, dtype=np.int64)
    head = np.full(total, NONE)
    before = np.empty(codes.size, dtype=np.int64)
    claimant = np.empty(codes.size, dtype=np.int64)
    met = 0
    gone = False
    for member in range(reads.size):
        if not reads[member]:
            continue
        for k in range(offsets[member], offsets[member + 1]):
            x = partition_number(known.first, known.count, codes[k])
            if x == NONE:
                gone = True
                continue
            if head[x] == NONE:
                first[met] = x
                met += 1
            before[k] = head[x]
            head[x] = k
            claimant[k] = member
            holder[x] = known.as_read[member]
    last = holder.copy()
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
            current[x] = known.as_read[ranked[-1]]
            if start < codes.size - 1:
                previous[x] = known.as_read[ranked[-2]]
    return Claimants(first[:met], current, previous, holder, last, gone)


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
    copy_into(claimants, start, merged[start:end])


@inner
def sorted_partitions(known, identical, claimed_by):
    """The order in which partitions are handed out and considered for a move.

    Returns (int64[partitions]; the claimed partitions in the order in which they stand in the
    lists).
    """
    first, current, previous = claimed_by.first, claimed_by.current, claimed_by.previous
    claimed = np.empty(first.size, dtype=np.int64)
    n = 0
    for x in first[::-1]:
        if current[x] != NONE:
            claimed[n] = x
            n += 1
    if not identical or n == 0:
        by_name = np.arange(current.size)
        return by_name if identical else known.in_order, claimed[:n]
    claimed = np.flatnonzero(current != NONE)
    had_another = taken(previous, claimed) != NONE
    listed = np.concatenate((claimed[had_another], claimed[~had_another]))
    offsets, listed = by_member(taken(current, listed), listed, known.kind.size)
    listed = from_most_loaded(offsets, listed)
    return followed_by(listed, backwards(known), current), claimed


@inner
def backwards(known):
    """Partitions as the map of all is walked: the cluster's last topic first, int64[partitions]."""
    walk = np.empty(known.codes.size, dtype=np.int64)
    n = 0
    for t in range(known.count.size - 1, -1, -1):
        for x in range(known.first[t] + known.count[t] - 1, known.first[t] - 1, -1):
            walk[n] = x
            n += 1
    return walk


@inner
def current_assignment(known, rack, suits, claimed, claimed_by):
    """Fill the lists with what stays."""
    claimant, previous = claimed_by.current, claimed_by.previous
    offsets, listed, owner, _, strange = keep_claimed(known, claimed, claimant, previous)
    if suits.size > 0:
        suited = np.empty(claimed.size, dtype=np.int64)
        n = 0
        for x in claimed:
            if suits[rack[claimant[x]], x]:
                suited[n] = x
                n += 1
        offsets, listed, owner, _, _ = keep_claimed(known, suited[:n], claimant, previous)
    for x in listed:
        strange = strange or claimed_by.last[x] != owner[x]
    if strange:
        return Current(offsets, listed, claimed_by.last, known.as_read[::-1].copy(), previous)
    return Current(offsets, listed, owner, known.as_read[:0], previous)


@inner
def balance(may_have, current, rack, suits, walk, revoked):
    """Hand out what has no owner, move it where that helps, then move anything, unless in vain.

    The steps are Java's and stand in :mod:`assignlab.assignors.parts.reassignment`; not one with its
    ``balance``, since racks come in between and other answers are taken for in vain.

    Returns the lists as (offsets, codes), and a status.
    """
    initializing = current.listed.size == 0
    held = holdings(may_have, current)
    unassigned = unassigned_partitions(held, walk)
    seat_everybody(held)
    if suits.size > 0:
        assign_along_racks(held, rack, suits, unassigned)
    assign_unassigned(held, unassigned_partitions(held, unassigned))
    state = state_of(held, current, may_have.as_read)
    before = balance_score(state.levels.counts)
    offsets, codes = lists(held, may_have.codes, may_have.by_id)
    if is_balanced(state):
        return offsets, codes, DONE
    partitions = may_have.topic.size
    movements = PartitionMovements(
        no_movements(np.arange(partitions), state.fixed.size),
        np.zeros(1, dtype=np.int64),
        np.zeros(partitions, RECORD),
        np.full(partitions, NONE),
    )
    steps = better_consumer, reassign_partition, tell_moves
    tried_first = unassigned[: 0 if revoked else unassigned.size]
    performed, status = move_new_first(state, movements, tried_first, walk, steps)
    if not performed or initializing or balance_score(state.levels.counts) < before:
        offsets, codes = lists(held, may_have.codes, may_have.by_id)
    return offsets, codes, status


@leaf
def assign_along_racks(held, rack, suits, unassigned):
    """Assign every one of these partitions to the first consumer that it suits by rack, if any."""
    for i in unassigned:
        m = least_loaded_in_rack(held, rack, suits, i)
        if m != NONE:
            assign_partition(held, m, i)


@leaf
def least_loaded_in_rack(held, rack, suits, i):
    """The first consumer of the sorted set that may have partition i and suits by rack."""
    t = held.partitions[i].topic
    best = NONE
    for k in range(held.topics[t].roots, held.topics[t + 1].roots):
        m = held.winners[held.roots[k]]
        if suits[rack[m], i]:
            best = first_of(held.consumers, best, m)
    return best


RECORD = record("when", "state", "source")
ON_RECORD, ABANDONED, ELSEWHERE = 0, 1, 2


class PartitionMovements(NamedTuple):
    """The two maps of moves, which come to disagree: by partition, and by (topic, pair).

    ``moves``: the second; ``last``: int64[1], number of the last move. ``records``
    RECORD[partitions]: the number of a partition's last move on record, and whether only the map of
    partitions has the move, ``ABANDONED``, from ``source``, or the partition is not where the
    record says, ``ELSEWHERE``. ``keys``: int64[pairs], the partition whose record is the key of a
    pair in the map of moves, ``NONE`` once that record is freed.
    """

    moves: Movements
    last: np.ndarray
    records: np.ndarray
    keys: np.ndarray


@leaf
def better_consumer(state, _, i):
    """The previous consumer of partition i, then the first of the sorted set.

    Racks play no part here: whoever is found by rack is found without it, too.
    """
    new_consumer = state.previous[i]
    if state.fixed[state.held.partitions[i].owner]:
        return NONE, MISSING
    if new_consumer != NONE and state.fixed[new_consumer]:
        return NONE, MISSING
    if new_consumer != NONE and has_two_fewer(state.held, new_consumer, i):
        return new_consumer, DONE
    return least_loaded_with_two_fewer(state.held, i), DONE


@leaf
def tell_moves(memory, movements):
    """Both maps of moves, and whose record is the key of each pair."""
    moves, records = movements.moves, movements.records
    tell_movements(memory, moves)
    for x in range(records.size):
        if records[x].state != ON_RECORD:
            tell(memory, x)
            tell(memory, records[x].state)
            tell(memory, records[x].source)
        elif moves.pair[x] != NONE:
            tell(memory, movements.keys[moves.pair[x]])


@leaf
def reassign_partition(state, movements, i, new_consumer):
    """Move partition i, or the one that returns in its place, to the new consumer."""
    actual, status = put_on_record(state.held.partitions, movements, i, new_consumer)
    if status == DONE:
        process_partition_movement(state, actual, new_consumer)
    return status


@leaf
def put_on_record(partitions, movements, i, new_consumer):
    """Which partition goes to the new consumer, and what is noted of it: (partition, status)."""
    moves, records, keys = movements.moves, movements.records, movements.keys
    owner, t = partitions[i].owner, partitions[i].topic
    if records[i].state == ABANDONED and not is_any_listed(partitions, moves, t):
        return i, LOST
    if records[i].state == ELSEWHERE:
        return i, STALE
    back = find_pair(moves, pair_key(moves, t, new_consumer, owner))
    if back == NONE:
        source = owner
        before = moves.pair[i]
        if records[i].state == ABANDONED:
            source = records[i].source
            before = find_pair(moves, pair_key(moves, t, source, owner))
            if before == NONE:
                return i, STALE
        if before != NONE and keys[before] == NONE:
            return i, FREED
        move_partition(moves, i, t, source, new_consumer)
        movements.last[0] += 1
        records[i].when = movements.last[0]
        records[i].state = ON_RECORD
        if before != NONE and keys[before] == i:
            keys[before] = NONE
        pair = moves.pair[i]
        if moves.sets.size[pair] == 1:
            keys[pair] = i
        return i, DONE if keys[pair] != NONE else FREED
    if keys[back] == NONE:
        return i, FREED
    first, second = first_two(moves, records, back)
    elsewhere = records[first].state == ELSEWHERE
    if second != NONE and (elsewhere or records[second].state == ELSEWHERE):
        return i, STALE
    records[first].source = moves.source[back]
    forget_movement(moves, first)
    if second == NONE:  # whose name is needed again at once if nothing of the topic is left
        return i, STALE if elsewhere and is_any_listed(partitions, moves, t) else FREED
    records[first].state = ABANDONED
    records[second].state = ELSEWHERE
    return second, DONE


@leaf
def is_any_listed(partitions, moves, t):
    """Whether a move of any partition of the topic is on record by pair of consumers."""
    for x in range(len(partitions)):
        if partitions[x].topic == t and moves.pair[x] != NONE:
            return True
    return False


@leaf
def first_two(moves, records, pair):
    """The two partitions that were put on record first for a pair of consumers; or ``NONE``."""
    first = NONE
    second = NONE
    for x in range(moves.pair.size):
        if moves.pair[x] == pair:
            if first == NONE or records[x].when < records[first].when:
                first, second = x, first
            elif second == NONE or records[x].when < records[second].when:
                second = x
    return first, second


@inner
def adjusted(known, same, claimed_by, offsets, codes):
    """The lists that the leader sends, without what is claimed and was not assigned.

    First come the partitions that a member keeps, then those that nobody claims. Of two lists that
    hold a partition the later counts, where the first has it. Returns (offsets, codes, whether
    something is claimed that was not assigned).
    """
    holder, gone = claimed_by.holder, claimed_by.gone
    owner = np.full(known.codes.size, NONE)
    assigned = np.empty(known.codes.size, dtype=np.int64)
    n = 0
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            x = partition_number(known.first, known.count, codes[k])
            if owner[x] == NONE:
                assigned[n] = x
                n += 1
            owner[x] = known.as_read[m]
    members = np.empty(n, dtype=np.int64)
    sent = np.empty(n, dtype=np.int64)
    at = 0
    for free in (False, True):
        for x in assigned[:n]:
            if (holder[x] == NONE) == free and (free or same[holder[x]] == same[owner[x]]):
                members[at] = known.by_id[owner[x] if free else holder[x]]
                sent[at] = known.codes[x]
                at += 1
    for x in claimed_by.first:
        gone = gone or owner[x] == NONE
    sent_offsets, sent = by_member(members[:at], sent[:at], offsets.size - 1)
    return sent_offsets, sent, gone


def with_gone(
    group: Group, assigned: np.ndarray, offsets: np.ndarray, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The lists that the leader sends, with the claimed partitions that are not ``assigned``.

    They do not exist, and go back to the last claimant, behind everything else.
    """
    claims, claimants = group.claims.codes, group.claims.claimants
    gone = np.isin(claimants, members_that_subscribe(group)) & ~np.isin(claims, assigned)
    last = dict(zip(claims[gone].tolist(), claimants[gone].tolist(), strict=True))
    back = np.array([*last.items()], dtype=np.int64).reshape(-1, 2)
    owners = np.concatenate((Assignment(offsets, codes).owners, back[:, 1]))
    return by_member(owners, np.concatenate((codes, back[:, 0])), len(group.members))


def identities(group: Group) -> np.ndarray:
    """A number for every member, the same for those of one instance id: int64[members]."""
    instances = group.members.instances or (None,) * len(group.members)
    first: dict[str, int] = {}
    numbers = [m if i is None else first.setdefault(i, m) for m, i in enumerate(instances)]
    return np.array(numbers, dtype=np.int64)


def numbered(group: Group) -> tuple[np.ndarray, ...]:
    """The members by id; ``first``, ``count`` and ``codes`` of the potential partitions; the ranks of
    the topics."""
    prepared, _ = group.prepared(shape)
    potential = unpack_potential(prepared.packed, prepared.may)
    return (
        potential.by_id, potential.first, potential.count, potential.codes,
        group.prepared(topic_ranks),
    )  # fmt: skip


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: sorted by topic and partition."""
    return by_topic_and_partition(assignment, *group.prepared(numbered))


STRATEGY = Strategy(
    name="librdkafka-cooperative-sticky",
    system="librdkafka",
    client_id="rdkafka-",
    protocol="cooperative",
    sticky=True,
    source="rd_kafka_sticky_assignor_assign_cb",
    first="2.6.1",
    original="librdkafka:2.15.1",
    look=("purple", "h", "long dashes"),
    member_fields=("owned", "sub_generation", "instance", "rack"),
    generations=("sub_generation",),
    promises=("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange"),
    reclaim=reclaim,
    assign=assign,
)
