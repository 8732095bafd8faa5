"""The uniform assignor of 3.7 where all members name the same topics that exist.

Members stand in the order of the HashMap of members. With P partitions and C members everybody
keeps up to P div C of what it holds, as its map is walked; the first P mod C members that hold more
keep one more. The other partitions, by topic id and number, go in turn to the members that are not
full, one each; they take turns in the order of a HashMap of their own. Once the extra partitions
are given out, members that have P div C are passed over.

Where racks count (:mod:`~assignlab.assignors.kafka_server.parts.racks_3_7`), what is held by a
member in none of its racks is not kept. Before the others take turns, every partition goes to the
member in its racks that has least and is not full; and in the end a partition that found nobody
there goes back to its holder, if that is not full.
"""

import numpy as np

from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.kafka_server.parts.racks_3_7 import rack_info, racks_mismatch
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.trees import (
    NOT_SEATED,
    NUMBER_BITS,
    NUMBERS,
    leaves,
    play_all,
    replay,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, code, number_of, partition_of, topic_of
from assignlab.group.model import NO_METADATA, Group
from assignlab.jvm.hash_map import walk_map_without

FULL = -1


def topics_by_id(group: Group) -> np.ndarray:
    """The topics that exist and that the members name, by Uuid."""
    topics = group.members.topics_of(0)
    topics = topics[group.topics.partitions[topics] != NO_METADATA]
    return topics[np.argsort(group.topics.prepared(sets.topic_ids).rank[topics])]


def assign(group: Group) -> Assignment:
    """Keep, then deal; every member's list has what it keeps first."""
    topics = group.prepared(topics_by_id)
    if topics.size == 0:
        return sets.nothing(group)
    known = (
        group.prepared(orders.members_by_hash), group.members.names.hashes,
        group.members.names.rank, topics, group.topics.partitions,
        group.topics.prepared(sets.dense_starts),
    )  # fmt: skip
    racks, held = group.prepared(rack_info), group.of_claims(sets.walked)
    offsets, codes, left = build(known, racks, held.offsets, held.codes)
    if left:
        raise OriginalError("PartitionAssignorException", "partitions were left unassigned")
    return Assignment(offsets, codes)


@njit
def build(known, racks, offsets, codes):
    """(offsets, codes, whether partitions were left) of the result.

    ``known``: members in hash order, their hash codes and rank; topics that exist, by id; partitions
    of every topic and where they begin.
    """
    order, hashes, rank, topics, partitions, starts = known
    subscribed = np.zeros(partitions.size, dtype=np.bool_)
    total = 0
    for t in topics:
        subscribed[t] = True
        total += partitions[t]
    valid, holder = valid_claims(order, offsets, codes, subscribed, partitions, starts, racks)
    keep, room, extras = kept_sizes(order, offsets, valid, total)
    unfilled = order[room[order] != FULL]
    taken = kept(offsets, codes, valid, keep, partitions, starts)
    owners, given, filled = deal_by_rack(racks, order, starts, taken, keep, room, extras)
    place = np.empty(order.size, dtype=np.int64)
    place[unfilled] = np.arange(unfilled.size)
    walk, _ = walk_map_without(hashes[unfilled], place[filled], 16, rank[unfilled])
    queue = unfilled[walk]  # the map of those that were not full, without those that got full
    more_owners, more, left = deal(queue, topics, partitions, starts, taken, holder, room, extras)
    new_offsets, listed = lists(offsets, codes, valid, keep, (owners, given), (more_owners, more))
    return new_offsets, listed, left


@inner
def valid_claims(order, offsets, codes, subscribed, partitions, starts, racks):
    """(valid, holder): which codes may be kept, and who holds a partition in none of whose racks it
    is (the last one counts), -1 for nobody; empty if racks do not count."""
    valid = np.empty(codes.size, dtype=np.bool_)
    holder = np.full(starts[-1] if racks.in_use else 0, -1, dtype=np.int64)
    for m in order:
        for k in range(offsets[m], offsets[m + 1]):
            t, p = topic_of(codes[k]), partition_of(codes[k])
            valid[k] = subscribed[t]
            if racks.in_use and subscribed[t]:
                exists = p < partitions[t]
                if racks_mismatch(racks, m, starts[t] + p, exists):
                    valid[k] = False
                    if exists:
                        holder[starts[t] + p] = m
    return valid, holder


@inner
def kept_sizes(order, offsets, valid, total):
    """(keep, room, extras): how many every member keeps, how many it lacks of the quota (FULL where
    it has more than that), and, in an array of one, how many extra partitions are left."""
    quota, extras = total // order.size, total % order.size
    keep = np.zeros(order.size, dtype=np.int64)
    room = np.empty(order.size, dtype=np.int64)
    for m in order:
        size = 0
        for k in range(offsets[m], offsets[m + 1]):
            size += valid[k]
        keep[m] = min(size, quota)
        room[m] = max(quota - size, FULL)
        if size > quota and extras > 0:
            keep[m] += 1
            extras -= 1
    return keep, room, np.full(1, extras)


@inner
def kept(offsets, codes, valid, keep, partitions, starts):
    """Which partitions their holders keep: bool[partitions]."""
    taken = np.zeros(starts[-1], dtype=np.bool_)
    for m in range(keep.size):
        left = keep[m]
        k = offsets[m]
        while left > 0:
            if valid[k]:
                left -= 1
                t, p = topic_of(codes[k]), partition_of(codes[k])
                if p < partitions[t]:
                    taken[starts[t] + p] = True
            k += 1
    return taken


@leaf
def maybe_assign(m, room, extras):
    """Whether a member that is not FULL takes one more partition."""
    if room[m] > 0:
        room[m] -= 1
        if room[m] == 0 and extras[0] == 0:
            room[m] = FULL
        return True
    if extras[0] > 0:
        extras[0] -= 1
        room[m] = FULL
        return True
    return False


@inner
def deal_by_rack(racks, order, starts, taken, keep, room, extras):
    """(owners, codes) of what goes to members in the partitions' racks, and who is full then.

    The members of a rack are in a tree, those that can take no more without a key; ties go to the
    rack that comes first among the partition's, then to the member that does in hash order.
    """
    owners = np.empty(racks.sorted.size, dtype=np.int64)
    given = np.empty(racks.sorted.size, dtype=np.int64)
    filled = np.empty(room.size, dtype=np.int64)
    if racks.sorted.size == 0:
        return owners, given, filled[:0]
    n = f = 0
    sizes = keep.copy()
    several = racks.place.shape[1]
    trees, node = leaves(racks.of_member[order] % several, several)
    tree = np.full(trees[-1], NOT_SEATED)
    seated = False
    for c in racks.sorted:
        at = number_of(c, starts)
        if taken[at]:
            continue
        if not seated:
            for i in range(order.size):
                x = trees[racks.of_member[order[i]] % several] + node[i]
                tree[x] = key_of(i, order[i], sizes, room, extras)
            play_all(tree, trees)
            seated = True
        i = least_in_racks(racks.place, racks.kind[at], tree, trees)
        if i != -1:
            m = order[i]
            left = extras[0]
            maybe_assign(m, room, extras)
            if room[m] == FULL:
                filled[f] = m
                f += 1
            sizes[m] += 1
            taken[at] = True
            owners[n], given[n] = m, c
            n += 1
            base = trees[racks.of_member[m] % several]
            replay(tree, base, node[i], key_of(i, m, sizes, room, extras))
            seated = extras[0] > 0 or left == 0  # if not, many have lost their room
    return owners[:n], given[:n], filled[:f]


@leaf
def key_of(i, m, sizes, room, extras):
    """Of the i-th member in hash order, m, in a tree."""
    if room[m] > 0 or (room[m] == 0 and extras[0] > 0):
        return sizes[m] << NUMBER_BITS | i
    return NOT_SEATED


@leaf
def least_in_racks(places, kind, tree, trees):
    """Who has least in the racks of a kind of partitions; -1 if nobody there can take one more."""
    best, best_place = NOT_SEATED, 0
    for r in range(places.shape[1]):
        key, place = tree[trees[r] + 1], places[kind, r]
        if place > 0 and key != NOT_SEATED:
            size, least = key >> NUMBER_BITS, best >> NUMBER_BITS
            if size < least or (size == least and place < best_place):
                best, best_place = key, place
    return -1 if best == NOT_SEATED else best & NUMBERS


@inner
def deal(queue, topics, partitions, starts, taken, holder, room, extras):
    """(owners, codes) of what is given in turn, and whether partitions are left."""
    most = 0
    for t in topics:
        most += partitions[t]
    owners = np.empty(most, dtype=np.int64)
    given = np.empty(most, dtype=np.int64)
    n = 0
    none = room.size
    after = np.full(none + 1, none, dtype=np.int64)  # a ring: entry ``none`` is its start
    before = np.full(none + 1, none, dtype=np.int64)
    for m in queue:
        append(m, after, before)
    waiting = queue.size
    left = False
    for t in topics:
        for p in range(partitions[t]):
            if taken[starts[t] + p]:
                continue
            assigned = False
            m = holder[starts[t] + p] if holder.size > 0 else -1
            if m != -1 and room[m] != FULL:
                assigned = maybe_assign(m, room, extras)
                if room[m] == FULL:
                    unlink(m, after, before)
                    waiting -= 1
            i = 0
            while i < waiting and not assigned:
                m = after[none]
                unlink(m, after, before)
                assigned = maybe_assign(m, room, extras)
                if room[m] == FULL:
                    waiting -= 1
                else:
                    append(m, after, before)
                i += 1
            if assigned:
                owners[n], given[n] = m, code(t, p)
                n += 1
            left |= not assigned
    return owners[:n], given[:n], left


@leaf
def append(m, after, before):
    """Put a member at the end of the ring."""
    none = after.size - 1
    last = before[none]
    after[last], before[m] = m, last
    after[m], before[none] = none, m


@leaf
def unlink(m, after, before):
    """Take a member out of the ring."""
    after[before[m]], before[after[m]] = after[m], before[m]


@inner
def lists(offsets, codes, valid, keep, dealt, more):
    """(offsets, codes) of the result: what a member keeps, then what it was given, in two parts."""
    results = np.zeros(keep.size + 1, dtype=np.int64)
    for m in range(keep.size):
        results[m + 1] = keep[m]
    for owners, _ in (dealt, more):
        for m in owners:
            results[m + 1] += 1
    for m in range(keep.size):
        results[m + 1] += results[m]
    listed = np.empty(results[-1], dtype=np.int64)
    fill = results[:-1].copy()
    for m in range(keep.size):
        k = offsets[m]
        while fill[m] < results[m] + keep[m]:
            if valid[k]:
                listed[fill[m]] = codes[k]
                fill[m] += 1
            k += 1
    for owners, given in (dealt, more):
        for k in range(owners.size):
            listed[fill[owners[k]]] = given[k]
            fill[owners[k]] += 1
    return results, listed
