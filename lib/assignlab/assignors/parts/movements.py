"""Which partition moved from whom to whom during one rebalance.

The sticky assignors remember every move by topic and pair of members (source, destination). When a
partition of a topic is about to go from a member to another, and one of the same topic has come the
other way, they send that one back instead. Which one, if several came, is the first that a
``HashSet<TopicPartition>`` yields.

Source: ``PartitionMovements`` inside ``AbstractStickyAssignor`` (1.1.0 to 2.3.1 inside
``StickyAssignor``).
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf
from assignlab.jvm.hash_set import HashSets, hash_sets, set_add, set_first, set_remove, set_renew

NONE = -1


class Movements(NamedTuple):
    """Moves of numbered partitions; ``NONE`` stands for nothing.

    ``source``, ``pair``: int32[partitions], where a moved partition came from and the number of
    its pair. A pair is a topic with a source and a destination, ``key`` int64[pairs]; pairs are
    found through a hash table: ``bucket`` int32[power of 2] holds the first, ``chain`` int32[pairs]
    the next. ``free``: int32[pairs + 1], a stack of unused pairs, its height in the last element.
    ``sets``: per pair the set of its partitions. ``members``: int64[1], number of members.
    """

    source: np.ndarray
    pair: np.ndarray
    key: np.ndarray
    bucket: np.ndarray
    chain: np.ndarray
    free: np.ndarray
    sets: HashSets
    members: np.ndarray


@inner
def no_movements(hashes, members):
    """Nothing has moved yet. ``hashes``: int32[partitions], ``TopicPartition.hashCode`` of each."""
    n = hashes.size
    buckets = 16
    while buckets < n:
        buckets *= 2
    free = np.arange(n + 1).astype(np.int32)
    return Movements(
        np.full(n, NONE, dtype=np.int32),
        np.full(n, NONE, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.full(buckets, NONE, dtype=np.int32),
        np.empty(n, dtype=np.int32),
        free,
        hash_sets(hashes, n),
        np.full(1, members, dtype=np.int64),
    )


@leaf
def the_actual_partition_to_be_moved(moves, x, topic, old, new):
    """The partition to move in place of ``x`` from ``old`` to ``new``.

    The original's ``getTheActualPartitionToBeMoved``.
    """
    if moves.source[x] != NONE:
        old = moves.source[x]
    back = find_pair(moves, pair_key(moves, topic, new, old))
    return x if back == NONE else set_first(moves.sets, back)


@leaf
def move_partition(moves, x, topic, old, new):
    """Partition ``x`` goes from ``old`` to ``new`` (``movePartition``); a return is no move."""
    source = old
    if moves.source[x] != NONE:
        source = moves.source[x]
        forget_movement(moves, x)
        if source == new:
            return
    key = pair_key(moves, topic, source, new)
    pair = find_pair(moves, key)
    if pair == NONE:
        pair = new_pair(moves, key)
    moves.source[x] = source
    moves.pair[x] = pair
    set_add(moves.sets, pair, x)


@leaf
def forget_movement(moves, x):
    """The original's ``removeMovementRecordOfPartition``."""
    pair = moves.pair[x]
    moves.source[x] = NONE
    moves.pair[x] = NONE
    set_remove(moves.sets, pair, x)
    if moves.sets.size[pair] == 0:
        drop_pair(moves, pair)


@leaf
def pair_key(moves, topic, source, destination):
    """One number for (topic, source, destination)."""
    return (topic * moves.members[0] + source) * moves.members[0] + destination


@leaf
def bucket_of(moves, key):
    """The bucket that a key belongs to: its halves folded, then multiplied."""
    folded = (key ^ key >> 32) & 0xFFFFFFFF
    return (folded * 0x5E3779B1 >> 20) & (moves.bucket.size - 1)


@leaf
def find_pair(moves, key):
    """The pair of a key, or NONE."""
    pair = moves.bucket[bucket_of(moves, key)]
    while pair != NONE and moves.key[pair] != key:
        pair = moves.chain[pair]
    return pair


@leaf
def new_pair(moves, key):
    """A pair for a key that has none yet, from those that are free."""
    height = moves.free[moves.key.size] - 1
    moves.free[moves.key.size] = height
    pair = moves.free[height]
    slot = bucket_of(moves, key)
    moves.key[pair] = key
    moves.chain[pair] = moves.bucket[slot]
    moves.bucket[slot] = pair
    return pair


@leaf
def drop_pair(moves, pair):
    """An empty set is thrown away: if the pair moves again, it begins with a new one."""
    slot = bucket_of(moves, moves.key[pair])
    if moves.bucket[slot] == pair:
        moves.bucket[slot] = moves.chain[pair]
    else:
        before = moves.bucket[slot]
        while moves.chain[before] != pair:
            before = moves.chain[before]
        moves.chain[before] = moves.chain[pair]
    set_renew(moves.sets, pair)
    moves.free[moves.free[moves.key.size]] = pair
    moves.free[moves.key.size] += 1
