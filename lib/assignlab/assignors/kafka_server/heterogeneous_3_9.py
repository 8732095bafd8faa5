"""The uniform assignor of 3.8 and 3.9 where members name different topics.

It works partition by partition, as the client's sticky assignor did. Every member keeps what it
holds of subscribed topics. Then each partition that nobody holds goes to the subscriber that has
least, by size and member id; a member that has all partitions of its topics takes no more.
Partitions come by partitions per subscriber (most first), then by subscribers (fewest first), then
by number; what is still equal stands in the order of a ``HashSet<TopicIdPartition>``.

Then all partitions are gone through in the same order, again and again: where some subscriber has
at least two less than the owner, the partition moves to the subscriber that has least, and is done
with. That ends when nothing moves or the group is balanced. Movements are recorded so that, instead
of a move against an earlier one of the same topic, the partition that came can be sent back; but
the check of these records is the wrong way round, and such a move ends in an exception.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import Assignment, by_member
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.kafka_server import sets, targets
from assignlab.assignors.kafka_server.heterogeneous import steps_of
from assignlab.assignors.kafka_server.homogeneous import without_doubles
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group import NO_METADATA, Group
from assignlab.jvm import hash_map_walk, signed

FINE, LEFT_OVER, EMPTY_SET, MOVED_BACK, NO_TAKER, NO_ENTRY = range(6)
FAILURES = {
    LEFT_OVER: ("PartitionAssignorException", "some partitions were left unassigned"),
    EMPTY_SET: ("NoSuchElementException", "all members have all that they can have"),
    MOVED_BACK: ("PartitionAssignorException", "a partition would move back"),
    NO_ENTRY: ("NullPointerException", "a member subscribes to nothing that exists"),
    NO_TAKER: ("PartitionAssignorException", "no subscriber can take one more"),
}


class Shape(NamedTuple):
    """Members are numbered in hash order. ``order``: member indices; ``rank``: places by member id;
    ``most``: how many partitions each can have; ``starts``, ``members``: subscribers of each topic,
    ascending; ``subscribed``: bool[subscriptions, topics], only topics that exist; ``sorted``:
    codes of all partitions of subscribed topics, in the order in which they are dealt with;
    ``idle_fail``: whether there is a member without topics, for which the release has no entry;
    ``certain``: whether Java fixes the order.
    """

    order: np.ndarray
    rank: np.ndarray
    most: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    subscribed: np.ndarray
    sorted: np.ndarray
    idle_fail: bool
    certain: bool


def shape(group: Group) -> Shape:
    """What is the same whatever the members hold."""
    topics = group.prepared(sets.topics_subscribed)
    codes, certain = walked_partitions(group, topics)
    return shape_of(group, codes, False, certain)


def walked_partitions(group: Group, topics: np.ndarray) -> tuple[np.ndarray, bool]:
    """All partitions of some topics as their ``HashSet`` is walked, and whether that is certain."""
    counts = group.topics.partitions[topics]
    topic = np.repeat(topics, counts)
    partition = np.arange(topic.size) - np.repeat(np.cumsum(counts) - counts, counts)
    codes = (topic << 32) + partition
    walk, certain = hash_map_walk(partition_hashes(group, codes))
    return codes[walk], certain


def partition_hashes(group: Group, codes: np.ndarray) -> np.ndarray:
    """``TopicIdPartition.hashCode`` before 4.1: int32[n]."""
    ids = group.prepared(sets.topic_ids).hashes.astype(np.int64)
    return signed(31 * (31 + ids[codes >> 32]) + (codes & 0xFFFFFFFF)).astype(np.int32)


def shape_of(group: Group, codes: np.ndarray, idle_fail: bool, certain: bool) -> Shape:
    """The shape from the partitions as the set of unassigned ones is walked."""
    order = group.prepared(orders.members_by_hash)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    starts, members = orders.subscribers(group, order)
    exists = group.topics.partitions != NO_METADATA
    subscribed = group.prepared(subscriptions_by_topic) & exists
    counts = np.maximum(group.topics.partitions, 0)
    topic = codes >> 32
    subscribers = np.diff(starts)[topic]
    ratio = counts[topic] / subscribers
    in_turn = np.lexsort((codes & 0xFFFFFFFF, subscribers, -ratio))
    most = (subscribed @ counts)[group.members.subscription[order]]
    rank = group.members.names.rank[order]
    return Shape(
        order, rank, most, starts, number[members], subscribed, codes[in_turn], idle_fail, certain
    )


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
    held = sets.held(group)
    codes = sets.read(group, held.offsets, held.codes, the_shape.order)
    log, lost, state = build(
        *the_shape[:-1], group.topics.partitions, group.prepared(sets.dense_starts),
        group.members.subscription, held.offsets, codes, held.rivals,
    )  # fmt: skip
    if state != FINE:
        raise OriginalError(*FAILURES[state])
    return held, log, lost


@njit
def build(
    order, rank, most, starts, members, subscribed, in_turn, idle_fail, partitions, first,
    subscription, offsets, codes, rivals,
):  # fmt: skip
    """(log, lost, state): see :func:`moves`."""
    log = np.empty((codes.size + 2 * in_turn.size, 3), dtype=np.int64)
    lost = np.zeros(log.shape[0], dtype=np.bool_)
    entry = np.empty(first[-1], dtype=np.int64)  # of the log, that made the owner the owner
    n = 0
    owner = np.full(first[-1], -1, dtype=np.int64)
    sizes = np.zeros(order.size, dtype=np.int64)
    for i in range(order.size):
        m = order[i]
        for code in codes[offsets[m] : offsets[m + 1]]:
            t, p = code >> 32, code & 0xFFFFFFFF
            if subscribed[subscription[m], t]:
                if p < partitions[t]:
                    owner[first[t] + p] = i
                    entry[first[t] + p] = n
                log[n, 0], log[n, 1], log[n, 2] = code, -1, i
                n += 1
                sizes[i] += 1
    claims = n
    left_over = False
    for code in in_turn:
        t = code >> 32
        at = first[t] + (code & 0xFFFFFFFF)
        if owner[at] == -1:
            taker = least(members[starts[t] : starts[t + 1]], sizes, most, rank)
            if taker == -1:
                left_over = True
            else:
                owner[at] = taker
                entry[at] = n
                log[n, 0], log[n, 1], log[n, 2] = code, -1, taker
                n += 1
                sizes[taker] += 1
    if left_over:
        return log[:n], lost[:n], LEFT_OVER
    if idle_fail:
        return log[:n], lost[:n], NO_ENTRY
    n, state = perform_reassignments(
        in_turn, starts, members, partitions, first, owner, entry, sizes, most, rank, rivals,
        claims, log, lost, n,
    )  # fmt: skip
    return log[:n], lost[:n], state


@inner
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


@inner
def perform_reassignments(
    in_turn, starts, members, partitions, first, owner, entry, sizes, most, rank, rivals, claims,
    log, lost, n,
):  # fmt: skip
    """Moves until nothing moves, or until balanced: (n, state)."""
    moved = np.zeros(owner.size, dtype=np.bool_)
    pairs = np.zeros(1, dtype=np.int64)  # made when first needed
    smallest = np.empty(partitions.size, dtype=np.int64)  # size among a topic's subscribers
    when = np.full(partitions.size, -1, dtype=np.int64)  # how many moves there were then
    modified = True
    occurred = False
    while modified:
        modified = occurred = False
        for code in in_turn:
            t = code >> 32
            some = members[starts[t] : starts[t + 1]]
            at = first[t] + (code & 0xFFFFFFFF)
            if some.size < 2 or moved[at]:  # that is taken off the list
                continue
            if occurred:
                balanced, empty = is_balanced(
                    in_turn, starts, members, first, owner, sizes, most, rivals, claims, log
                )
                if empty:
                    return n, EMPTY_SET
                if balanced:
                    return n, FINE
            occurred = False
            if when[t] != n:
                when[t] = n
                smallest[t] = sizes[some[0]]
                for i in some:
                    smallest[t] = min(smallest[t], sizes[i])
            loser = owner[at]
            if sizes[loser] > smallest[t] + 1:
                taker = least(some, sizes, most, rank)
                if taker == -1:
                    return n, NO_TAKER
                if pairs.size == 1:
                    pairs = np.zeros(table_slots(in_turn.size), dtype=np.int64)
                if pairs[slot_of(pairs, key_of(t, taker, loser, sizes.size))] != 0:
                    return n, MOVED_BACK
                key = key_of(t, loser, taker, sizes.size)
                pairs[slot_of(pairs, key)] = key
                moved[at] = True
                sizes[loser] -= 1
                sizes[taker] += 1
                owner[at] = taker
                lost[entry[at]] = True
                log[n, 0], log[n, 1], log[n, 2] = code, loser, taker
                n += 1
                modified = occurred = True
    return n, FINE


@inner
def is_balanced(in_turn, starts, members, first, owner, sizes, most, rivals, claims, log):
    """(balanced, whether no member can have more): among those that can have more."""
    low = high = -1
    for i in range(sizes.size):
        if sizes[i] < most[i]:
            low = sizes[i] if low == -1 else min(low, sizes[i])
            high = max(high, sizes[i])
    if low == -1:
        return False, True
    if low >= high - 1:
        return True, False
    for code in in_turn:
        t = code >> 32
        holder = owner[first[t] + (code & 0xFFFFFFFF)]
        if sizes[holder] > low + 1:
            for i in members[starts[t] : starts[t + 1]]:
                if sizes[i] < most[i] and sizes[i] + 1 < sizes[holder]:
                    if not (rivals and claimed(log[:claims], code, i)):
                        return False, False
    return True, False


@inner
def claimed(claims, code, i):
    """Whether a member claimed a partition, which others may own by now."""
    for k in range(claims.shape[0]):
        if claims[k, 0] == code and claims[k, 2] == i:
            return True
    return False


@inner
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


@inner
def slot_of(table, key):
    """Where a key stands in an open hash table, or the empty slot where it would."""
    slot = (key * 0x9E3779B97F4A7C1 >> 20) & (table.size - 1)
    while table[slot] != 0 and table[slot] != key:
        slot = (slot + 1) & (table.size - 1)
    return slot
