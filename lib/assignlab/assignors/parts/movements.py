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
from assignlab.jvm.hash_set import HashSets, hash_sets, set_add, set_first, set_new, set_remove

NONE = -1


class Movements(NamedTuple):
    """Moves of numbered partitions; ``NONE`` stands for nothing.

    ``pair``: int32[partitions], the number of a moved partition's pair. A pair is a topic with a
    source and a destination, ``key`` int64[pairs]; its ``source``: int32[pairs]; pairs are found
    through a hash table: ``bucket`` int32[power of 2] holds the first, ``chain`` int32[pairs] the
    next. ``free``: int64[2], the first of the pairs that were dropped, which are chained, too, and
    how many numbers were ever given to pairs. ``sets``: per pair the set of its partitions.
    ``members``: int64[1], number of members.

    Of all these only ``pair`` and ``bucket`` are written before anything moves: few groups of
    millions of partitions move many, and to write all would take longer than to assign.
    """

    pair: np.ndarray
    key: np.ndarray
    source: np.ndarray
    bucket: np.ndarray
    chain: np.ndarray
    free: np.ndarray
    sets: HashSets
    members: np.ndarray


@inner
def no_movements(hashes, members):
    """Nothing has moved yet. ``hashes``: int[partitions], ``TopicPartition.hashCode`` of each."""
    n = hashes.size
    buckets = 16
    while 4 * buckets < n:
        buckets *= 2
    free = np.zeros(2, dtype=np.int64)
    free[0] = NONE
    return Movements(
        np.full(n, NONE, dtype=np.int32),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int32),
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
    back = find_pair(moves, pair_key(moves, topic, new, source_of(moves, x, old)))
    return x if back == NONE else set_first(moves.sets, back)


@leaf
def move_partition(moves, x, topic, old, new):
    """Partition ``x`` goes from ``old`` to ``new`` (``movePartition``); a return is no move."""
    source = source_of(moves, x, old)
    if moves.pair[x] != NONE:
        forget_movement(moves, x)
        if source == new:
            return
    key = pair_key(moves, topic, source, new)
    pair = find_pair(moves, key)
    if pair == NONE:
        pair = new_pair(moves, key)
        moves.source[pair] = source
    moves.pair[x] = pair
    set_add(moves.sets, pair, x)


@leaf
def source_of(moves, x, owner):
    """Where partition ``x`` came from: its ``owner``, unless it has moved."""
    return owner if moves.pair[x] == NONE else moves.source[moves.pair[x]]


@leaf
def forget_movement(moves, x):
    """The original's ``removeMovementRecordOfPartition``."""
    pair = moves.pair[x]
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
    """A pair for a key that has none yet: one that was dropped, or the next number."""
    pair = moves.free[0]
    if pair != NONE:
        moves.free[0] = moves.chain[pair]
    else:
        pair = moves.free[1]
        moves.free[1] += 1
    set_new(moves.sets, pair)
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
    moves.chain[pair] = moves.free[0]
    moves.free[0] = pair
