"""What the members hold while a sticky assignor works: its lists and its sorted set of consumers.

The originals keep an ``ArrayList`` of partitions per member and a ``TreeSet`` of members sorted by
(number of partitions, member id). Here a list is a chain of entries, so that "remove this
partition, append it there" costs the same however long the lists are. And the first member of the
TreeSet that may have a topic is the best of a few tournament trees, one for each kind of member:
every node holds the winner of its two children.

The tables of consumers, partitions and topics are those of
:mod:`assignlab.assignors.kafka.potential`. ``entries`` is int64[..., 3] with the columns
``BEFORE``, ``AFTER`` (entries of the same list) and ``PARTITION``; ``winners`` int64[nodes] are the
trees.
"""

import numpy as np

from assignlab.assignors.kafka.potential import (
    ENTRY,
    HEAD,
    LEAF,
    NONE,
    ROOTS,
    SIZE,
    TAIL,
    TREE,
)
from assignlab.compiled import inner, njit
from assignlab.jvm import signed

BEFORE, AFTER, PARTITION = 0, 1, 2


@inner
def append(consumers, partitions, entries, m, i, e):
    """Append partition i to consumer m's list, as entry e. Trees and owner are not told."""
    last = consumers[m, TAIL]
    entries[e, BEFORE] = last
    entries[e, AFTER] = NONE
    entries[e, PARTITION] = i
    if last == NONE:
        consumers[m, HEAD] = e
    else:
        entries[last, AFTER] = e
    consumers[m, TAIL] = e
    consumers[m, SIZE] += 1
    partitions[i, ENTRY] = e


@inner
def unlink(consumers, entries, m, e):
    """Remove entry e from consumer m's list."""
    before, after = entries[e, BEFORE], entries[e, AFTER]
    if before == NONE:
        consumers[m, HEAD] = after
    else:
        entries[before, AFTER] = after
    if after == NONE:
        consumers[m, TAIL] = before
    else:
        entries[after, BEFORE] = before
    consumers[m, SIZE] -= 1


@inner
def first_entry(consumers, entries, m, i):
    """The first entry of partition i in consumer m's list, or ``NONE``."""
    e = consumers[m, HEAD]
    while e != NONE and entries[e, PARTITION] != i:
        e = entries[e, AFTER]
    return e


@njit
def lists(consumers, entries, codes, by_id):
    """The lists as (offsets int64[members + 1], codes int64[...]), in the group's order."""
    members = by_id.size
    offsets = np.zeros(members + 1, dtype=np.int64)
    for c in range(members):
        offsets[by_id[c] + 1] = consumers[c, SIZE]
    for m in range(members):
        offsets[m + 1] += offsets[m]
    flat = np.empty(offsets[members], dtype=np.int64)
    for c in range(members):
        at = offsets[by_id[c]]
        e = consumers[c, HEAD]
        while e != NONE:
            flat[at] = codes[entries[e, PARTITION]]
            at += 1
            e = entries[e, AFTER]
    return offsets, flat


@inner
def less_loaded(consumers, left, right):
    """The winner of two: fewer partitions, then the smaller id, which is ``left``'s."""
    if right == NONE or (left != NONE and consumers[left, SIZE] <= consumers[right, SIZE]):
        return left
    return right


@inner
def seat_everybody(consumers, winners):
    """Put every consumer into its tree. ``winners``: all ``NONE``."""
    for m in range(len(consumers)):
        node = consumers[m, LEAF]
        base = consumers[m, TREE]
        winners[node] = m
        node = (node - base) >> 1
        while node > 0 and less_loaded(consumers, winners[base + node], m) == m:
            winners[base + node] = m
            node >>= 1


@inner
def replay(consumers, winners, m):
    """Consumer m has another size, or has left its leaf: play its matches again."""
    base = consumers[m, TREE]
    node = (consumers[m, LEAF] - base) >> 1
    while node > 0:
        winners[base + node] = less_loaded(
            consumers, winners[base + 2 * node], winners[base + 2 * node + 1]
        )
        node >>= 1


@inner
def least_loaded(consumers, winners, topics, roots, t):
    """The first consumer of the sorted set that subscribes to topic t, or ``NONE``."""
    best = NONE
    for k in range(topics[t, ROOTS], topics[t + 1, ROOTS]):
        m = winners[roots[k]]
        best = less_loaded(consumers, best, m) if best < m else less_loaded(consumers, m, best)
    return best


# How many consumers have how many partitions: levels, int64[most + 3].

FEWEST, GREATEST, COUNTS = 0, 1, 2
"""The fewest and the most partitions of a consumer; then one count for every size."""


@njit
def levels_of(consumers, fixed):
    """The levels of the consumers that are not ``fixed`` (bool[members])."""
    greatest = 0
    for m in range(len(consumers)):
        greatest = max(greatest, consumers[m, SIZE])
    levels = np.zeros(greatest + 1 + COUNTS, dtype=np.int64)
    levels[FEWEST] = greatest
    for m in range(len(consumers)):
        size = consumers[m, SIZE]
        if not fixed[m]:
            levels[COUNTS + size] += 1
            levels[FEWEST] = min(levels[FEWEST], size)
            levels[GREATEST] = max(levels[GREATEST], size)
    return levels


@inner
def count_up(levels, size):
    """A consumer has ``size`` partitions now, one more than before; no move makes a new most."""
    levels[COUNTS + size - 1] -= 1
    levels[COUNTS + size] += 1
    levels[GREATEST] = max(levels[GREATEST], size)
    if levels[FEWEST] == size - 1 and levels[COUNTS + size - 1] == 0:
        levels[FEWEST] = size


@inner
def count_down(levels, size):
    """A consumer has ``size`` partitions now, one less than before."""
    levels[COUNTS + size + 1] -= 1
    levels[COUNTS + size] += 1
    levels[FEWEST] = min(levels[FEWEST], size)
    if levels[GREATEST] == size + 1 and levels[COUNTS + size + 1] == 0:
        levels[GREATEST] = size


@njit
def balance_score(levels):
    """The sum of the differences in size of all pairs of consumers, in a Java int: it may wrap."""
    score = 0
    members = 0
    partitions = 0
    for size in range(levels[FEWEST], levels[GREATEST] + 1):
        count = levels[COUNTS + size]
        score += count * (members * size - partitions)
        members += count
        partitions += count * size
    return signed(score)
