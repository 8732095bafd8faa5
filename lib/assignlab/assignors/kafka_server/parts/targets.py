"""What members hold next: a target assignment on its way through the coordinator's records.

A member's new target is a ``HashMap`` of ``HashSet``s. The assignor makes it from a copy of the old
one: topics and partitions come and go in a certain order, and new topics are put in front of a
crowded slot (``computeIfAbsent``), new partitions behind. The coordinator writes it to a record as
it is walked, and reads the record into new maps and sets. A member whose target is the same set of
partitions gets no record and keeps the map that it had. How these are walked at the next rebalance
decides which partitions the uniform and the simple assignor revoke.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.slices import copy_into, equal, first_alike, first_slot, taken
from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group
from assignlab.jvm import tree_bins
from assignlab.jvm.hash_map import (
    NOTHING,
    collection_capacity,
    spread,
    spread_all,
    table_size,
    table_size_for,
    walk_map,
    was_crowded,
)


class Changes(NamedTuple):
    """What the assignor did to every member's map, in order.

    Member m: ``steps[offsets[m]:offsets[m + 1]]``, a code that was added or ``~code`` of one that
    was removed. ``slots``: int64[topics], initial slots of a new topic's set. ``anew``: the map was
    empty before, else it was a copy of the old one.
    """

    offsets: np.ndarray
    steps: np.ndarray
    slots: np.ndarray
    anew: bool = False


def plain_slots(topics: int) -> np.ndarray:
    """Slots of ``new HashSet<>()``, for every topic."""
    return np.full(topics, 16, dtype=np.int64)


def reclaimed(group: Group, changes: Changes, stays: np.ndarray) -> Assignment:
    """Every member's next claim in the order in which the assignor will read it.

    ``stays``: bool[topics], whether a topic stays in a map that has lost its last partition.
    """
    held = group.of_claims(sets.walked)
    ids = group.topics.prepared(sets.topic_ids)
    partitions = group.topics.prepared(sets.dense_starts)[-1]
    offsets, codes, crowded = _rewrite(
        held.offsets, held.codes, *changes, partitions, ids.hashes, stays
    )
    if crowded.size > 0:
        before = held.offsets, held.codes
        walk_trees(crowded, before, tuple(changes), (ids.hashes, ids.rank), stays, offsets, codes)
    return Assignment(offsets, codes)


def reclaimed_anew(group: Group, offsets: np.ndarray, steps: np.ndarray) -> Assignment:
    """:func:`reclaimed` of an assignor that makes every map anew, with these steps of
    :class:`Changes`."""
    topics = len(group.topics)
    changes = Changes(offsets, steps, plain_slots(topics), anew=True)
    return reclaimed(group, changes, np.zeros(topics, dtype=np.bool_))


@njit
def walk_trees(crowded, held, changes, ids, stays, offsets, codes):
    """Bring what was written from maps without trees into the order of maps in which topics stand in
    trees, once they were written to a record and read again.

    ``crowded``: the members whose maps are such; ``held``: (offsets, codes) of their old maps;
    ``changes``: plain :class:`Changes`; ``ids``: (hash codes, rank) of the topics' ids.
    """
    old_offsets, old_codes = held
    step_offsets, steps, _, anew = changes
    topics = stays.size
    met = np.full(topics, -1, dtype=np.int64)  # by which member last
    starts = np.empty(topics, dtype=np.int64)  # where a topic's partitions are written
    sizes = np.zeros(topics, dtype=np.int64)  # how many they are
    inside = np.empty(topics, dtype=np.int64)  # topics as they came: those that were copied first
    latest = inside[:0]  # of the member before, which often has the same topics
    copied = -1
    called_again = False
    walked = latest
    for m in crowded:
        n = 0
        if not anew:
            for c in old_codes[old_offsets[m] : old_offsets[m + 1]]:
                n = meet(topic_of(c), m, met, inside, n)
        old = n
        again = False  # whether partitions of known topics were added after the last new one
        for step in steps[step_offsets[m] : step_offsets[m + 1]]:
            if step >= 0:
                before = n
                n = meet(topic_of(step), m, met, inside, n)
                again = n == before and n > old
        written = codes[offsets[m] : offsets[m + 1]].copy()
        for k in range(written.size):
            t = topic_of(written[k])
            if sizes[t] == 0:
                starts[t] = k
            sizes[t] += 1
        left = False
        for t in inside[:old]:
            left |= sizes[t] == 0 and not stays[t]
        if not left:  # A topic that leaves a tree is not followed: slots stay walked as lists.
            if old != copied or again != called_again or not equal(inside[:n], latest):
                latest, copied, called_again = inside[:n].copy(), old, again
                walked = walk_of_trees(latest, old, again, ids)
            k = offsets[m]
            for t in walked:
                copy_into(codes, k, written[starts[t] : starts[t] + sizes[t]])
                k += sizes[t]
        for t in inside[:n]:
            sizes[t] = 0


@leaf
def meet(t, m, met, topics, n):
    """Put a topic behind the n that member m has met, if it is new: how many these are now."""
    if met[t] != m:
        met[t] = m
        topics[n] = t
        n += 1
    return n


@inner
def walk_of_trees(topics, old, again, ids):
    """The topics of a map with trees as they are walked, once it was written to a record and read
    again; the first ``old`` were copied, the others came then."""
    hashes, rank = taken(ids[0], topics), taken(ids[1], topics)
    slots = table_size_for(old)
    spreads = spread_all(hashes)
    record, _, _ = tree_bins.walk(spreads, rank, slots, old, again, NOTHING, tree_bins.ALL)
    read, _ = walk_map(taken(hashes, record), 16, taken(rank, record), False, False)
    return taken(topics, taken(record, read))


def reclaimed_after(
    group: Group, after: Assignment, stays: np.ndarray, taken_again: bool
) -> Assignment:
    """:func:`reclaimed` of an assignor that first removes and then adds; its result has that order.

    Of each topic every member's list in ``after`` has first what it keeps. ``taken_again``: a
    partition may be removed and added again; what is kept then stands in the order of the walk.
    """
    held = group.of_claims(sets.walked)
    offsets, steps = after.offsets, after.codes
    if held.codes.size > 0:
        numbers = sets.numbers(group, held, steps)
        offsets, steps = _differences(
            held.offsets, held.codes, offsets, steps, numbers, taken_again
        )
    return reclaimed(group, Changes(offsets, steps, plain_slots(len(group.topics))), stays)


@njit
def _differences(offsets, codes, new_offsets, new_codes, numbers, in_order):
    """(offsets, steps) of :class:`Changes`."""
    members = offsets.size - 1
    starts, others = numbers
    place = np.empty(0, dtype=np.int64)  # of what a member holds; made where it is asked for
    last = np.full(starts.size - 1, -1, dtype=np.int64)  # place of what a topic kept last
    sizes = np.zeros(members + 1, dtype=np.int64)
    steps = np.empty(codes.size + new_codes.size, dtype=np.int64)
    n = 0
    for m in range(members):
        new = new_codes[new_offsets[m] : new_offsets[m + 1]]
        first, kept = n, 0  # of the new list, in the order of the old one
        for code in codes[offsets[m] : offsets[m + 1]]:
            if kept < new.size and new[kept] == code:
                kept += 1
            else:
                steps[n] = ~code
                n += 1
        if n == first or kept == new.size:  # nothing can have come back
            copy_into(steps, n, new[kept:])
            sizes[m + 1] = n = n + new.size - kept
            continue
        n, a = first, 0
        if place.size == 0:
            place = np.full(starts[-1] + others.size, -1, dtype=np.int64)
        for k in range(offsets[m], offsets[m + 1]):
            place[sets.number_in(codes[k], numbers)] = k
        added = np.empty(new.size, dtype=np.int64)
        for code in new:
            t = topic_of(code)
            at = sets.number_in(code, numbers)
            if place[at] >= max(last[t], offsets[m]) or (not in_order and place[at] >= offsets[m]):
                last[t] = place[at]
                place[at] = -1
            else:
                added[a] = code
                a += 1
                if in_order:
                    last[t] = offsets[m + 1]
        for k in range(offsets[m], offsets[m + 1]):
            if place[sets.number_in(codes[k], numbers)] == k:
                steps[n] = ~codes[k]
                n += 1
        copy_into(steps, n, added[:a])
        n += a
        sizes[m + 1] = n
    return sizes, steps[:n]


@njit
def _rewrite(offsets, codes, step_offsets, steps, slots, anew, partitions, hashes, stays):
    """(offsets, codes) after the changes, written to records and read again; crowded members.

    ``partitions``: how many there are.
    """
    members = offsets.size - 1
    most = 1
    for m in range(members):
        most = max(most, offsets[m + 1] - offsets[m] + step_offsets[m + 1] - step_offsets[m])
    map_ = new_map(stays.size, most)
    alike = np.arange(members)
    if steps.size > sets.SHARING * partitions:
        alike = first_alike(first_alike(np.zeros_like(alike), offsets, codes), step_offsets, steps)
    new_offsets = np.zeros(members + 1, dtype=np.int64)
    new_codes = np.empty(codes.size + steps.size, dtype=np.int64)
    crowded = np.zeros(members, dtype=np.bool_)
    n = 0
    for m in range(members):
        if alike[m] < m:
            same = new_codes[new_offsets[alike[m]] : new_offsets[alike[m] + 1]]
            copy_into(new_codes, n, same)
            n += same.size
            new_offsets[m + 1] = n
            crowded[m] = crowded[alike[m]]
            continue
        old = codes[offsets[m] : offsets[m + 1]]
        changes = steps[step_offsets[m] : step_offsets[m + 1]]
        changed = False
        if changes.size > 0 or anew:
            copy(map_, old[:0] if anew else old, old.size + changes.size)
            for step in changes:
                if step >= 0:
                    add(map_, step, slots)
                else:
                    remove(map_, ~step, stays)
            changed = differs(map_, old)
            if changed:
                n, fine = write(map_, hashes, new_codes, n)
                crowded[m] = not fine
            clear(map_)
        if not changed:
            copy_into(new_codes, n, old)
            n += old.size
        new_offsets[m + 1] = n
    return new_offsets, new_codes[:n], np.flatnonzero(crowded)


class Map(NamedTuple):
    """One member's map while it is changed; scratch for one member after the other.

    Topics stand in ``topics``, the old ones from the middle to the right, new ones from the middle
    to the left. Partitions are nodes of one chain per topic, in order of insertion. ``code``: of every
    node, -1 if that was removed. ``place``: where a topic stands in ``topics``, -1 for nowhere.
    ``table``: the nodes by the hash code of their partition, -1 for none. ``keys``: scratch. ``at``
    AT[1].
    """

    topics: np.ndarray
    place: np.ndarray
    first: np.ndarray
    last: np.ndarray
    size: np.ndarray
    capacity: np.ndarray
    code: np.ndarray
    next: np.ndarray
    table: np.ndarray
    keys: np.ndarray
    at: np.ndarray


AT = record("left", "right", "count", "slots", "nodes", "room")
"""Topics stand from ``left`` to ``right``, ``count`` of them, in a table of so many ``slots``; so
many ``nodes`` are in use, and so much of their table is there for this member."""


@inner
def new_map(topics, most):
    """Room for ``most`` nodes."""
    return Map(
        np.empty(2 * most + 2, dtype=np.int64),
        np.full(topics, -1, dtype=np.int64),
        np.empty(topics, dtype=np.int64),
        np.empty(topics, dtype=np.int64),
        np.empty(topics, dtype=np.int64),
        np.empty(topics, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.empty(table_size_for(2 * most), dtype=np.int64),
        np.empty(most, dtype=np.int64),
        np.zeros(1, AT),
    )


@leaf
def entry_of(map_, code):
    """Where a partition stands in the table, or would."""
    room = map_.at[0].room
    entry = first_slot(code, room)
    while map_.table[entry] != -1 and map_.code[map_.table[entry]] != code:
        entry = (entry + 1) & (room - 1)
    return entry


@leaf
def copy(map_, old, most):
    """``deepCopyAssignment``: a map with as many slots as topics, sets made of the old sets.

    ``most``: of the nodes that this member may have.
    """
    at = map_.at[0]
    at.left = at.right = map_.topics.size // 2
    at.count = at.nodes = 0
    at.room = table_size_for(2 * most)
    map_.table[: at.room] = -1
    for code in old:
        t = topic_of(code)
        if map_.place[t] == -1:
            begin(map_, t, at.right)
            at.right += 1
        append(map_, code, entry_of(map_, code))
    for i in range(at.left, at.right):
        t = map_.topics[i]
        map_.capacity[t] = collection_capacity(map_.size[t])
    at.slots = table_size(at.count, table_size_for(at.count))


@leaf
def begin(map_, t, place):
    """A topic without partitions, at this place."""
    map_.topics[place] = t
    map_.place[t] = place
    map_.size[t] = 0
    map_.first[t] = -1
    map_.at[0].count += 1


@leaf
def append(map_, code, entry):
    """A new partition at the end of its topic's set, and at this entry of the table."""
    t, node = topic_of(code), map_.at[0].nodes
    map_.at[0].nodes += 1
    map_.code[node] = code
    map_.next[node] = -1
    if map_.first[t] == -1:
        map_.first[t] = node
    else:
        map_.next[map_.last[t]] = node
    map_.last[t] = node
    map_.size[t] += 1
    map_.table[entry] = node


@leaf
def add(map_, code, slots):
    """``computeIfAbsent(topic, new HashSet).add(partition)``."""
    t, at = topic_of(code), map_.at[0]
    if at.count > at.slots * 3 // 4:
        at.slots *= 2
    if map_.place[t] == -1:
        at.left -= 1
        begin(map_, t, at.left)
        map_.capacity[t] = slots[t]
    entry = entry_of(map_, code)
    if map_.table[entry] == -1:
        append(map_, code, entry)
        map_.capacity[t] = table_size(map_.size[t], map_.capacity[t])


@leaf
def remove(map_, code, stays):
    """Remove a partition, and with the last one its topic, unless it stays."""
    t, node = topic_of(code), map_.table[entry_of(map_, code)]
    if node == -1:
        return
    map_.code[node] = -1
    map_.size[t] -= 1
    if map_.size[t] == 0 and not stays[t]:
        map_.topics[map_.place[t]] = -1
        map_.place[t] = -1
        map_.at[0].count -= 1


@leaf
def differs(map_, old):
    """Whether the map holds other partitions than the old one, or other topics."""
    n = 0
    for i in range(map_.at[0].left, map_.at[0].right):
        t = map_.topics[i]
        if t != -1:
            n += map_.size[t]
            if map_.size[t] == 0:
                return True
    if n != old.size:
        return True
    for code in old:
        if map_.table[entry_of(map_, code)] == -1:
            return True
    return False


@leaf
def clear(map_):
    """No topic stands anywhere."""
    for i in range(map_.at[0].left, map_.at[0].right):
        if map_.topics[i] != -1:
            map_.place[map_.topics[i]] = -1


@inner
def write(map_, hashes, codes, n):
    """Walk the map into ``codes`` from ``n`` on, as it is read from its record.

    Returns the end, and False if a slot of topics was crowded.
    """
    at = map_.at[0]
    topics = np.empty(at.count, dtype=np.int64)
    k = 0
    for i in range(at.left, at.right):
        if map_.topics[i] != -1:
            topics[k] = map_.topics[i]
            k += 1
    keys = np.empty(topics.size, dtype=np.int64)
    for k in range(topics.size):
        keys[k] = spread(hashes[topics[k]])
    fine = not was_crowded(keys, 16, 7)
    walk(keys, topics, at.slots)
    fine &= not was_crowded(keys, 16, 8)  # as the record is read
    walk(keys, topics, table_size(topics.size, 16))
    for t in topics:
        start = n
        node = map_.first[t]
        while node != -1:
            if map_.code[node] != -1:
                codes[n] = map_.code[node]
                n += 1
            node = map_.next[node]
        if n - start > 1:
            partitions, keys = codes[start:n], map_.keys[: n - start]
            for k in range(keys.size):
                keys[k] = spread(partition_of(partitions[k]))
            walk(keys, partitions, map_.capacity[t])
            walk(keys, partitions, collection_capacity(keys.size))
    return n, fine


@inner
def walk(keys, values, slots):
    """Bring both into the order of a table of ``slots`` slots; stable inside a slot."""
    n = keys.size
    ordered = True
    for k in range(1, n):
        ordered &= (keys[k - 1] & (slots - 1)) <= (keys[k] & (slots - 1))
    if ordered:
        return
    start = np.zeros(slots + 1, dtype=np.int64)
    for key in keys:
        start[(key & (slots - 1)) + 1] += 1
    for slot in range(slots):
        start[slot + 1] += start[slot]
    old_keys, old_values = keys.copy(), values.copy()
    for k in range(n):
        slot = old_keys[k] & (slots - 1)
        keys[start[slot]] = old_keys[k]
        values[start[slot]] = old_values[k]
        start[slot] += 1
