"""The uniform assignor of 3.7 where all members name the same topics that exist.

Members stand in the order of the HashMap of members. With P partitions and C members everybody
keeps up to P div C of what it holds, as its map is walked; the first P mod C members that hold more
keep one more. The other partitions, by topic id and number, go in turn to the members that are not
full, one each; they take turns in the order of a HashMap of their own. Once the extra partitions
are given out, members that have P div C are passed over.
"""

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.kafka_server import sets
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group import NO_METADATA, Group
from assignlab.jvm import hash_map_order


def topics_by_id(group: Group) -> np.ndarray:
    """The topics that exist and that the members name, by Uuid."""
    subscribed = group.prepared(subscriptions_by_topic)[group.members.subscription[0]]
    topics = np.flatnonzero(subscribed & (group.topics.partitions != NO_METADATA))
    return topics[np.argsort(group.prepared(sets.topic_ids).rank[topics])]


def assign(group: Group) -> Assignment:
    """Keep, then deal; every member's list has what it keeps first."""
    topics = group.prepared(topics_by_id)
    if topics.size == 0:
        return sets.nothing(group)
    order = group.prepared(orders.members_by_hash)
    held = sets.held(group)
    codes = sets.read(group, held.offsets, held.codes, order)
    subscribed = np.zeros(len(group.topics), dtype=np.bool_)
    subscribed[topics] = True
    total = int(group.topics.partitions[topics].sum())
    keep, room, extras = kept_sizes(order, held.offsets, codes, subscribed, total)
    unfilled = order[room[order] >= 0]
    names = group.members.names
    queue = unfilled[hash_map_order(names.hashes[unfilled], rank=names.rank[unfilled])]
    offsets, codes, left = deal(
        queue, topics, group.topics.partitions, group.prepared(sets.dense_starts), subscribed,
        held.offsets, codes, keep, room, extras,
    )  # fmt: skip
    if left:
        raise OriginalError("PartitionAssignorException", "partitions were left unassigned")
    return Assignment(offsets, codes)


@njit
def kept_sizes(order, offsets, codes, subscribed, total):
    """(keep, room, extras): how many every member keeps, how many it lacks of the quota (-1 where
    it has more than that), and how many extra partitions are left."""
    quota, extras = total // order.size, total % order.size
    keep = np.zeros(order.size, dtype=np.int64)
    room = np.empty(order.size, dtype=np.int64)
    for m in order:
        size = 0
        for code in codes[offsets[m] : offsets[m + 1]]:
            size += subscribed[code >> 32]
        keep[m] = min(size, quota)
        room[m] = max(quota - size, -1)
        if size > quota and extras > 0:
            keep[m] += 1
            extras -= 1
    return keep, room, extras


@njit
def deal(queue, topics, partitions, starts, subscribed, offsets, codes, keep, room, extras):
    """(offsets, codes, whether partitions are left)."""
    taken = np.zeros(starts[-1], dtype=np.bool_)
    kept = np.zeros(keep.size, dtype=np.int64)
    for m in range(keep.size):
        for code in codes[offsets[m] : offsets[m + 1]]:
            t, p = code >> 32, code & 0xFFFFFFFF
            if subscribed[t] and kept[m] < keep[m]:
                kept[m] += 1
                if p < partitions[t]:
                    taken[starts[t] + p] = True
    most = 0
    for t in topics:
        most += partitions[t]
    owners = np.empty(most, dtype=np.int64)
    given = np.empty(most, dtype=np.int64)
    n = 0
    ring = queue.copy()  # those in turn: ``waiting`` of them from ``head`` on
    head, waiting = 0, ring.size
    left = False
    for t in topics:
        for p in range(partitions[t]):
            if taken[starts[t] + p]:
                continue
            assigned = False
            i = 0
            while i < waiting and not assigned:
                m = ring[head]
                head = (head + 1) % ring.size
                stays = True
                if room[m] > 0:
                    room[m] -= 1
                    assigned = True
                    stays = room[m] > 0 or extras > 0
                elif extras > 0:
                    extras -= 1
                    assigned = True
                    stays = False
                if stays:
                    ring[(head + waiting - 1) % ring.size] = m
                else:
                    waiting -= 1
                i += 1
            if assigned:
                owners[n], given[n] = m, (t << 32) + p
                n += 1
            left |= not assigned
    results = np.zeros(keep.size + 1, dtype=np.int64)
    for m in range(keep.size):
        results[m + 1] = keep[m]
    for m in owners[:n]:
        results[m + 1] += 1
    for m in range(keep.size):
        results[m + 1] += results[m]
    lists = np.empty(results[-1], dtype=np.int64)
    fill = results[:-1].copy()
    for m in range(keep.size):
        for code in codes[offsets[m] : offsets[m + 1]]:
            if subscribed[code >> 32] and fill[m] < results[m] + keep[m]:
                lists[fill[m]] = code
                fill[m] += 1
    for k in range(n):
        lists[fill[owners[k]]] = given[k]
        fill[owners[k]] += 1
    return results, lists, left
