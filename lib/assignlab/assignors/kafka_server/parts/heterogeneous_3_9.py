"""The uniform assignor of 3.8 and 3.9 where members name different topics.

It works partition by partition, as the client's sticky assignor did. Every member keeps what it
holds of subscribed topics. Then each partition that nobody holds goes to the subscriber that has
least, by size and member id; a member that has all partitions of its topics takes no more.
Partitions come by partitions per subscriber (most first), then by subscribers (fewest first), then
by number; what is still equal stands in the order of a ``HashSet<TopicIdPartition>``.

Then all partitions are put into that set again, which may have grown, and gone through in the same
order, again and again: where some subscriber has at least two less than the owner, the partition
moves to the subscriber that has least, and is done with. That ends when nothing moves or the group
is balanced. Movements are recorded so that, instead of a move against an earlier one of the same
topic, the partition that came can be sent back; but the check of these records is the wrong way
round, and such a move ends in an exception.

3.7 did the same with racks (:mod:`~assignlab.assignors.kafka_server.parts.racks_3_7`), where they
count: what is held by a member in none of its racks is not kept at first. Partitions that nobody
keeps go to the subscriber in their racks that has least, else back to their holder, else to any.
And a partition whose owner is in its racks moves, if anywhere, to a member there, but nobody asks
whether that one subscribes to the topic.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets, targets
from assignlab.assignors.kafka_server.parts.heterogeneous import bounds, by_size, steps_of
from assignlab.assignors.kafka_server.parts.homogeneous import without_doubles
from assignlab.assignors.kafka_server.parts.racks_3_7 import (
    NO_RACKS,
    Racks,
    candidates,
    racks_mismatch,
)
from assignlab.assignors.parts import hash_codes, orders
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import (
    Assignment,
    by_member,
    code,
    number_of,
    partition_of,
    topic_of,
)
from assignlab.group.model import NO_METADATA, Group, subscriptions_by_topic
from assignlab.jvm.hash_map import (
    collection_capacity,
    hash_map_slots,
    hash_map_walk_without,
    spread_all,
    walk_uncrowded,
    was_crowded,
)

FINE, LEFT_OVER, EMPTY_SET, MOVED_BACK, NO_TAKER, NO_ENTRY = range(6)
FAILURES = {
    LEFT_OVER: ("PartitionAssignorException", "some partitions were left unassigned"),
    EMPTY_SET: ("NoSuchElementException", "all members have all that they can have"),
    MOVED_BACK: ("PartitionAssignorException", "a partition would move back"),
    NO_ENTRY: ("NullPointerException", "a member subscribes to nothing that exists"),
    NO_TAKER: ("PartitionAssignorException", "no subscriber can take one more"),
}


EMPTY = np.empty(0, dtype=np.int64)


class Shape(NamedTuple):
    """Members are numbered in hash order. ``order``: member indices; ``rank``: places by member id;
    ``most``: how many partitions each can have; ``starts``, ``members``: subscribers of each topic,
    ascending; ``subscribed``: bool[subscriptions, topics], only topics that exist; ``turns``: of
    each topic, see :func:`turns_of`; ``sorted``: codes of all partitions of subscribed topics, in
    the order in which they are given out, and ``again`` in that in which they are moved;
    ``unassigned``: the set of the former, which grows when it is filled again, and turns when
    something is removed, only if it is ``crowded``; ``no_entry``: bool[members], members without
    topics of which the release trips over; ``racks``: members by number; ``certain``: whether Java
    fixes the order.
    """

    order: np.ndarray
    rank: np.ndarray
    most: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    subscribed: np.ndarray
    turns: np.ndarray
    sorted: np.ndarray
    again: np.ndarray
    unassigned: "Filling"
    crowded: bool
    no_entry: np.ndarray
    racks: Racks
    certain: bool


class Filling(NamedTuple):
    """A ``HashSet`` is filled with ``codes``, int64[n], in this order; it has ``capacity`` slots
    when that begins."""

    codes: np.ndarray
    capacity: int = 16


def shape(group: Group) -> Shape:
    """What is the same whatever the members hold."""
    return shape_of(group, group.prepared(sets.topics_walked).by_id)


def shape_of(group: Group, topics: np.ndarray, copied: bool = False) -> Shape:
    """The shape from subscribed topics as their partitions enter a set, without racks.

    That set, or a copy of it, is the one of the unassigned partitions. It is empty when all have
    owners, and filled again with the partitions of a new set; then those of one subscriber go.
    """
    order, partitions = group.prepared(orders.members_by_hash), group.topics.partitions
    starts, members = orders.subscribers(group, order)
    subscribed = group.prepared(subscriptions_by_topic) & (partitions != NO_METADATA)
    subscribers = np.diff(starts)
    own = subscribers[topics]
    numbers, turns, filled, in_turn, crowded = _shape(
        order, members, topics, topics[np.lexsort((own, -(partitions[topics] / own)))], partitions,
        subscribers, group.prepared(sets.topic_ids).hashes, copied,
    )  # fmt: skip
    again, unassigned, certain = in_turn, Filling(*filled), True
    if crowded:
        first, again, unassigned, certain = crowded_walks(
            group, partitions_of(topics, partitions), subscribers, copied
        )
        in_turn, again = by_turn(first, turns), by_turn(again, turns)
    return Shape(
        order, group.members.names.rank[order],
        (subscribed @ np.maximum(partitions, 0))[group.members.subscription[order]], starts,
        numbers, subscribed, turns, in_turn, again, unassigned, crowded,
        np.zeros(order.size, dtype=np.bool_), NO_RACKS, certain,
    )  # fmt: skip


@njit
def _shape(order, members, topics, ordered, partitions, subscribers, of_id, copied):
    """(numbers, turns, (codes, capacity) of ``unassigned``, ``sorted``) of the :class:`Shape`, and
    whether a slot was crowded, which makes the last two worthless.

    ``ordered``: the topics as :func:`turns_of` has them; ``of_id``: hash codes of topic ids.
    """
    number = np.empty_like(order)
    for i in range(order.size):
        number[order[i]] = i
    turns = turns_of(ordered, partitions, subscribers)
    codes, capacity = partitions_of(topics, partitions), 16
    walked, crowded = _walked(codes, of_id, capacity)
    if copied and not crowded:
        codes, capacity = walked, collection_capacity(walked.size)
        walked, crowded = _walked(codes, of_id, capacity)
    return number[members], turns, (codes, capacity), sort_partitions(walked, turns), crowded


@inner
def turns_of(topics, partitions, subscribers):
    """Where the partitions of each topic begin if all partitions take turns: int64[all topics].

    ``topics``: by partitions per subscriber (most first), then by subscribers (fewest first). Those
    in which both are equal begin together.
    """
    turns = np.zeros(partitions.size, dtype=np.int64)
    begin = end = 0
    for i in range(topics.size):
        t, last = topics[i], topics[max(i - 1, 0)]
        if partitions[t] != partitions[last] or subscribers[t] != subscribers[last]:
            begin = end
        turns[t] = begin
        end = begin + partitions[t]
    return turns


@inner
def sort_partitions(codes, turns):
    """The codes sorted (``sortTopicIdPartitions``), equal ones as they stand."""
    last = 0
    for c in codes:
        last = max(last, number_of(c, turns) + 1)
    fill = np.zeros(last + 1, dtype=np.int64)
    for c in codes:
        fill[number_of(c, turns) + 1] += 1
    for turn in range(last):
        fill[turn + 1] += fill[turn]
    in_turn = np.empty_like(codes)
    for c in codes:
        turn = number_of(c, turns)
        in_turn[fill[turn]] = c
        fill[turn] += 1
    return in_turn


def by_turn(codes: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """:func:`sort_partitions` for what is not compiled."""
    return codes[np.argsort(number_of(codes, turns), kind="stable")]


@inner
def partitions_of(topics, partitions):
    """The codes of all partitions of some topics, topic by topic: int64[n]."""
    total = 0
    for t in topics:
        total += partitions[t]
    codes = np.empty(total, dtype=np.int64)
    n = 0
    for t in topics:
        for p in range(partitions[t]):
            codes[n] = code(t, p)
            n += 1
    return codes


@inner
def _walked(codes, of_id, capacity):
    """(the codes as a set of so many slots is walked into which they were put, whether a slot was
    crowded: then as they stand)."""
    hashes = hash_codes.partition_hashes(of_id, codes, hash_codes.TOPIC_ID_PARTITION_BEFORE_4_1)
    walk, crowded = walk_uncrowded(hashes, capacity, False, False)
    return codes if crowded else codes[walk], crowded


def crowded_walks(group: Group, codes: np.ndarray, subscribers: np.ndarray, copied: bool):
    """(``sorted`` and ``again`` before they are sorted, ``unassigned``, ``certain``) of the
    :class:`Shape` where partitions may stand in trees."""
    unassigned = Filling(codes)
    new, certain = first, still = walked(group, unassigned)
    if copied:
        unassigned = Filling(new, collection_capacity(new.size))
        first, still = walked(group, unassigned)
    again, fine = first, True
    hashes = partition_hashes(group, unassigned.codes)
    if was_crowded(spread_all(hashes), unassigned.capacity, 8):
        fixed, _ = walked(group, Filling(codes[subscribers[topic_of(codes)] < 2]))
        slots = hash_map_slots(hashes, unassigned.capacity)
        again, fine = walked(group, Filling(new, slots), fixed)
    return first, again, unassigned, certain and still and fine


def walked(group: Group, filled: Filling, removed: np.ndarray = EMPTY) -> tuple[np.ndarray, bool]:
    """The codes as the set is walked once some (codes, in turn) are removed from it, and whether
    Java fixes that."""
    by_code = np.argsort(filled.codes)
    gone = by_code[np.searchsorted(filled.codes, removed, sorter=by_code)]
    hashes = partition_hashes(group, filled.codes)
    walk, certain = hash_map_walk_without(hashes, gone, filled.capacity)
    return filled.codes[walk], certain


def partition_hashes(group: Group, codes: np.ndarray) -> np.ndarray:
    """``TopicIdPartition.hashCode`` before 4.1: int32[n]."""
    ids = group.prepared(sets.topic_ids)
    return hash_codes.partition_hashes(ids.hashes, codes, hash_codes.TOPIC_ID_PARTITION_BEFORE_4_1)


def assign(group: Group) -> Assignment:
    """Keep, give out, move."""
    return assign_in(group, group.prepared(shape))


def assign_in(group: Group, the_shape: Shape) -> Assignment:
    """The assignment, once it is known how the unassigned partitions are walked."""
    if not the_shape.subscribed.any():
        return sets.nothing(group)
    held, log, lost = moves(group, the_shape)
    stays = log[~lost]
    offsets, codes = by_member(the_shape.order[stays[:, 2]], stays[:, 0], the_shape.order.size)
    if held.rivals:
        offsets, codes = without_doubles(offsets, codes)
    return Assignment(offsets, codes, notes={} if the_shape.certain else {"nondeterministic": True})


def changes_in(group: Group, the_shape: Shape) -> targets.Changes:
    """What the assignor does to every member's map, which it makes anew."""
    slots = targets.plain_slots(len(group.topics))
    nobody = np.zeros(len(group.members) + 1, dtype=np.int64)
    nothing = np.empty(0, dtype=np.int64)
    log = np.empty((0, 3), dtype=np.int64)
    if the_shape.subscribed.any():
        _, log, _ = moves(group, the_shape)
    offsets, steps = steps_of(
        the_shape.order, group.members.subscription, the_shape.subscribed, nobody, nothing, log
    )
    return targets.Changes(offsets, steps, slots, anew=True)


def moves(group: Group, the_shape: Shape) -> tuple[sets.Held, np.ndarray, np.ndarray]:
    """(what members hold, log, lost).

    ``log``: int64[n, 3], (code, loser or -1, taker) of everything that happened, in turn, members
    by number; ``lost``: bool[n], whether the taker gave it away later.
    """
    held = sets.held(group, walked=True)
    codes = held.codes
    in_turn = the_shape.sorted
    if the_shape.crowded and codes.size > 0 and not the_shape.racks.in_use:
        in_turn = without_kept(group, the_shape, held.offsets, codes)
    known = Known(
        the_shape.order, the_shape.rank, the_shape.most, the_shape.starts, the_shape.members,
        the_shape.subscribed, in_turn, the_shape.again, the_shape.no_entry,
        group.topics.partitions, group.prepared(sets.dense_starts), group.members.subscription,
    )  # fmt: skip
    log, lost, state = build(known, the_shape.racks, held.offsets, codes, held.rivals)
    if state != FINE:
        raise OriginalError(*FAILURES[state])
    return held, log, lost


def without_kept(
    group: Group, the_shape: Shape, offsets: np.ndarray, codes: np.ndarray
) -> np.ndarray:
    """``sorted`` of the :class:`Shape`, without what members keep, which was removed before."""
    holders = np.repeat(np.arange(offsets.size - 1), np.diff(offsets))
    reads = the_shape.subscribed[group.members.subscription[holders], topic_of(codes)]
    there = np.flatnonzero(reads & np.isin(codes, the_shape.unassigned.codes))
    in_order = np.argsort(np.argsort(the_shape.order)[holders[there]], kind="stable")
    left, _ = walked(group, the_shape.unassigned, targets.distinct(codes[there[in_order]]))
    return by_turn(left, the_shape.turns)


class Known(NamedTuple):
    """What of the :class:`Shape` the steps look at, by the same names.

    ``in_turn``: its ``sorted``, as far as it is still to be given out; ``partitions``: how many
    each topic has; ``first``: number of each topic's first partition; ``subscription``:
    int64[members], by member index.
    """

    order: np.ndarray
    rank: np.ndarray
    most: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    subscribed: np.ndarray
    in_turn: np.ndarray
    again: np.ndarray
    no_entry: np.ndarray
    partitions: np.ndarray
    first: np.ndarray
    subscription: np.ndarray


class State(NamedTuple):
    """The assignment while it is made, members by number, partitions numbered through.

    ``owner``: int64 per partition, -1 for nobody; ``sizes``: int64[members], by the original's
    count; ``held``: int64[members], how many are in a member's sets (not the same where claims are
    rivals); ``log``: int64[n, 3] and ``lost``: bool[n], see :func:`moves`; ``entry``: of the log,
    that made the owner the owner; ``at``: one :data:`LENGTHS`.
    """

    owner: np.ndarray
    sizes: np.ndarray
    held: np.ndarray
    log: np.ndarray
    lost: np.ndarray
    entry: np.ndarray
    at: np.ndarray


LENGTHS = np.dtype([("log", np.int64), ("claims", np.int64)])
"""How long the log is, and how long it was when only claims were in it."""


@njit
def build(known, racks, offsets, codes, rivals):
    """(log, lost, state): see :func:`moves`."""
    members, total = known.order.size, known.first[-1]
    size = codes.size + known.in_turn.size + known.again.size
    state = State(
        np.full(total, -1, dtype=np.int64), np.zeros(members, dtype=np.int64),
        np.zeros(members, dtype=np.int64), np.empty((size, 3), dtype=np.int64),
        np.zeros(size, dtype=np.bool_), np.empty(total, dtype=np.int64),
        np.zeros(1, dtype=LENGTHS),
    )  # fmt: skip
    holder = keep(known, racks, offsets, codes, state)
    nearby = new_nearby(racks)
    failure = FINE
    if racks.in_use:
        failure = give_out_by_rack(known, racks, nearby, state)
    if failure == FINE:
        failure = give_out(known, holder, state)
    if failure == FINE and known.no_entry.any():
        failure = NO_ENTRY
    if failure == FINE:
        failure = perform_reassignments(known, racks, rivals, holder, nearby, state)
    n = state.at[0]["log"]
    return state.log[:n], state.lost[:n], failure


@inner
def keep(known, racks, offsets, codes, state):
    """Everybody keeps what it holds of its topics, as far as racks match.

    Returns the last holder of each partition in none of its racks, -1 where there is none; nothing
    where racks do not count.
    """
    order, first, subscribed = known.order, known.first, known.subscribed
    partitions, subscription = known.partitions, known.subscription
    holder = np.full(first[-1] if racks.in_use else 0, -1, dtype=np.int64)
    for i in range(order.size):
        m = order[i]
        for c in codes[offsets[m] : offsets[m + 1]]:
            t, p = topic_of(c), partition_of(c)
            if not subscribed[subscription[m], t]:
                continue
            exists = p < partitions[t]
            if racks.in_use and racks_mismatch(racks, i, first[t] + p, exists):
                if exists:
                    holder[first[t] + p] = i
            else:
                take(c, first[t] + p if exists else -1, -1, i, state)
    state.at[0]["claims"] = state.at[0]["log"]
    return holder


@leaf
def take(c, at, loser, taker, state):
    """A member takes a partition; ``at``: its number, -1 if it does not exist."""
    n = state.at[0]["log"]
    if at != -1:
        state.owner[at] = taker
        state.entry[at] = n
    state.log[n, 0], state.log[n, 1], state.log[n, 2] = c, loser, taker
    state.at[0]["log"] += 1
    state.sizes[taker] += 1
    state.held[taker] += 1


@inner
def give_out(known, holder, state):
    """Partitions that nobody has go back to who held them, or to the subscriber with least."""
    first, most, rank = known.first, known.most, known.rank
    starts, members = known.starts, known.members
    failure = FINE
    for c in known.in_turn:
        t = topic_of(c)
        at = number_of(c, first)
        if state.owner[at] == -1:
            taker = holder[at] if holder.size > 0 else -1
            if taker == -1 or state.sizes[taker] >= most[taker]:
                taker = least(members[starts[t] : starts[t + 1]], state.sizes, most, rank)
            if taker == -1:
                failure = LEFT_OVER
            else:
                take(c, at, -1, taker, state)
    return failure


@leaf
def least(some, sizes, most, rank):
    """The one of some members that has least and can have more, ties by member id; -1 if none."""
    best = -1
    for i in some:
        if sizes[i] < most[i] and (
            best == -1
            or sizes[i] < sizes[best]
            or (sizes[i] == sizes[best] and rank[i] < rank[best])
        ):
            best = i
    return best


class Nearby(NamedTuple):
    """The candidates of every partition, by how much they have when they are looked at.

    They are sorted in place, so that equal ones stay as they were sorted the time before.
    ``first``: int64[partitions + 1], where a partition's members begin; ``made``: bool[partitions],
    whether they have been looked at.
    """

    first: np.ndarray
    members: np.ndarray
    made: np.ndarray


@inner
def new_nearby(racks):
    """Room for the candidates of every partition; none if racks do not count."""
    first = np.zeros(racks.kind.size + 1, dtype=np.int64)
    for at in range(racks.kind.size):
        first[at + 1] = first[at] + candidates(racks, at).size
    return Nearby(
        first, np.empty(first[-1], dtype=np.int32), np.zeros(racks.kind.size, dtype=np.bool_)
    )


@inner
def by_held(nearby, racks, at, held):
    """The candidates of a partition, those first that hold least."""
    members = nearby.members[nearby.first[at] : nearby.first[at + 1]]
    if not nearby.made[at]:
        nearby.made[at] = True
        copy_into(members, 0, candidates(racks, at))
    for k in range(1, members.size):
        if held[members[k - 1]] > held[members[k]]:
            copy_into(members, 0, by_size(members, held, *bounds(members, held)))
            break
    return members


@inner
def give_out_by_rack(known, racks, nearby, state):
    """Partitions that nobody has go to subscribers in their racks."""
    order, first, most, no_entry = known.order, known.first, known.most, known.no_entry
    subscribed, subscription = known.subscribed, known.subscription
    for c in racks.sorted:
        t = topic_of(c)
        at = number_of(c, first)
        if state.owner[at] != -1:
            continue
        some = by_held(nearby, racks, at, state.held)
        if some.size > 1 and no_entry[some].any():
            return NO_ENTRY
        for i in some:
            if subscribed[subscription[order[i]], t] and state.sizes[i] < most[i]:
                take(c, at, -1, i, state)
                break
    return FINE


@inner
def perform_reassignments(known, racks, rivals, holder, nearby, state):
    """Moves until nothing moves, or until balanced: FINE or what went wrong."""
    in_turn, starts, members = known.again, known.starts, known.members
    first, most, rank, topics = known.first, known.most, known.rank, known.partitions.size
    sizes, owner = state.sizes, state.owner
    moved = np.zeros(owner.size, dtype=np.bool_)
    pairs = np.zeros(1, dtype=np.int64)  # made when first needed
    smallest = np.empty(topics, dtype=np.int64)  # size among a topic's subscribers
    when = np.full(topics, -1, dtype=np.int64)  # how long the log was then
    modified = True
    occurred = False
    while modified:
        modified = occurred = False
        for c in in_turn:
            t = topic_of(c)
            some = members[starts[t] : starts[t + 1]]
            at = number_of(c, first)
            if some.size < 2 or moved[at]:  # that is taken off the list
                continue
            if occurred:
                balanced, empty = is_balanced(known, rivals, state)
                if empty:
                    return EMPTY_SET
                if balanced:
                    return FINE
            occurred = False
            loser = owner[at]
            taker = -1
            if racks.in_use:
                taker = taker_by_rack(at, loser, most, racks, holder, nearby, state)
            if taker == -1:
                if when[t] != state.at[0]["log"]:
                    when[t] = state.at[0]["log"]
                    smallest[t] = sizes[some[0]]
                    for i in some:
                        smallest[t] = min(smallest[t], sizes[i])
                if sizes[loser] <= smallest[t] + 1:
                    continue
                taker = least(some, sizes, most, rank)
                if taker == -1:
                    return NO_TAKER
            if pairs.size == 1:
                pairs = np.zeros(table_slots(in_turn.size), dtype=np.int64)
            if pairs[slot_of(pairs, key_of(t, taker, loser, sizes.size))] != 0:
                return MOVED_BACK
            key = key_of(t, loser, taker, sizes.size)
            pairs[slot_of(pairs, key)] = key
            moved[at] = True
            has_it = rivals and claims_still(state, c, taker)
            state.lost[state.entry[at]] = True
            sizes[loser] -= 1
            state.held[loser] -= 1
            take(c, at, loser, taker, state)
            state.held[taker] -= has_it
            modified = occurred = True
    return FINE


@inner
def taker_by_rack(at, owner, most, racks, holder, nearby, state):
    """Who takes a partition with regard to racks: a member in its racks, if the owner is in them;
    or else its holder, if it was not kept; -1 if neither has at least two less."""
    sizes = state.sizes
    if not racks_mismatch(racks, owner, at, True):
        for i in by_held(nearby, racks, at, state.held):
            if sizes[i] < most[i] and sizes[owner] > sizes[i] + 1:
                return i
    i = holder[at]
    if i != -1 and state.entry[at] >= state.at[0]["claims"] and sizes[owner] > sizes[i] + 1:
        return i
    return -1


@leaf
def is_balanced(known, rivals, state):
    """(balanced, whether no member can have more): among those that can have more."""
    starts, members, first, most = known.starts, known.members, known.first, known.most
    sizes = state.sizes
    low = high = -1
    for i in range(sizes.size):
        if sizes[i] < most[i]:
            low = sizes[i] if low == -1 else min(low, sizes[i])
            high = max(high, sizes[i])
    if low == -1:
        return False, True
    if low >= high - 1:
        return True, False
    for c in known.again:
        t = topic_of(c)
        holder = state.owner[number_of(c, first)]
        if sizes[holder] > low + 1:
            for i in members[starts[t] : starts[t + 1]]:
                could = sizes[i] < most[i] and sizes[i] + 1 < sizes[holder]
                if could and not (rivals and claims_still(state, c, i)):
                    return False, False
    return True, False


@leaf
def claims_still(state, c, i):
    """Whether a partition is still in the sets of a member that claimed it."""
    for k in range(state.at[0]["claims"]):
        if state.log[k, 0] == c and state.log[k, 2] == i:
            return not state.lost[k]
    return False


@leaf
def table_slots(count):
    """A power of two, at least twice as many."""
    slots = 2
    while slots < 2 * count:
        slots *= 2
    return slots


@inner
def key_of(t, source, destination, members):
    """A number for a topic and a pair of members, never 0."""
    return (t * members + source) * members + destination + 1


@leaf
def slot_of(table, key):
    """Where a key stands in an open hash table, or the empty slot where it would."""
    slot = (key * 0x9E3779 >> 12) & (table.size - 1)
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot
