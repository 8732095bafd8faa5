"""What the members hold while a sticky assignor works: its lists and its sorted set of consumers.

The originals keep an ``ArrayList`` of partitions per member and a ``TreeSet`` of members sorted by
(number of partitions, member id), ``sortedCurrentSubscriptions``. Here a list is a chain of
entries, so that "remove this partition, append it there" costs the same however long the lists are.
And the first member of the TreeSet that may have a topic is the best of a few tournament trees, one
for each kind of member: every node holds the winner of its two children.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.potential import NONE
from assignlab.compiled import inner, leaf
from assignlab.jvm.names import signed

SEVERAL = -2
"""Instead of the entry of a partition that is in several lists, or not in its owner's."""


def record(*columns: str, of: type = np.int64) -> np.dtype:
    """Records of integers whose columns are attributes, in compiled code and in Python.

    Raises ``ValueError`` for a column that numpy has an attribute for: Python would read that.

    >>> int(np.zeros(2, record("owner", "entry"))[1].entry)
    0
    >>> record("owner", "size")
    Traceback (most recent call last):
    ValueError: numpy reads ['size'] of a record otherwise
    """
    if taken := set(columns) & set(dir(np.record)):
        raise ValueError(f"numpy reads {sorted(taken)} of a record otherwise")
    return np.dtype((np.record, [(name, of) for name in columns]))


CONSUMER = record("count", "head", "tail", "kind", "most", "tree", "leaf")
"""How many partitions a consumer has, the first and the last entry of its list; its kind, how many
it could get, where its kind's tree begins and its own leaf there."""

PARTITION = record("owner", "entry", "topic", of=np.int32)
"""The consumer of a partition, as ``currentPartitionConsumer`` has it; its entry in a list, or
``SEVERAL``."""

TOPIC = record("first", "count", "subscribers", "roots")
"""The number of the first partition, how many follow, how many consumers may have them; where the
topic's roots begin in the list of roots: they end where the next topic's begin."""

ENTRY = record("before", "after", "partition", of=np.int32)
"""One place in a list: the entries of the same list around it, and what stands there."""


class Current(NamedTuple):
    """``currentAssignment`` when balancing begins.

    Consumer m has the partitions ``listed[offsets[m]:offsets[m + 1]]``; ``owner`` int64[n]: that of
    every partition in a list. ``doubled``: consumers in the order of the HashMap of current
    assignments, if a partition may be in two lists or in that of a consumer that does not subscribe
    to it; else empty: nothing depends on it then. ``previous``: since 2.3, int64[n], the consumer
    before the current one, or empty.
    """

    offsets: np.ndarray
    listed: np.ndarray
    owner: np.ndarray
    doubled: np.ndarray
    previous: np.ndarray


class Holdings(NamedTuple):
    """The assignment so far.

    ``consumers`` CONSUMER[members], ``partitions`` PARTITION[n], ``topics`` TOPIC[topics + 1],
    ``entries`` ENTRY[...]: the lists; ``winners`` int64[nodes]: the trees, whose ``roots`` are
    there for every topic; ``may`` bool[kinds, topics].
    """

    consumers: np.ndarray
    partitions: np.ndarray
    topics: np.ndarray
    entries: np.ndarray
    winners: np.ndarray
    roots: np.ndarray
    may: np.ndarray


@inner
def holdings(known, current):
    """The lists of :class:`Current`; nobody is in a tree yet."""
    held = Holdings(
        np.empty(known.kind.size, CONSUMER),
        np.empty(known.topic.size, PARTITION),
        np.empty(known.root_starts.size, TOPIC),
        np.empty(current.listed.size + known.topic.size, ENTRY),
        np.full(known.nodes[0], NONE),
        known.roots,
        known.may,
    )
    fill_tables(held, known, current.owner)
    fill_lists(held, current)
    return held


@leaf
def fill_tables(held, known, owner):
    """What is known of consumers, partitions and topics, and who owns what."""
    for m in range(known.kind.size):
        consumer = held.consumers[m]
        consumer.count = 0
        consumer.head = consumer.tail = NONE
        consumer.kind = known.kind[m]
        consumer.most = known.most[m]
        consumer.tree = known.tree[m]
        consumer.leaf = known.leaf[m]
    for i in range(known.topic.size):
        partition = held.partitions[i]
        partition.owner = owner[i]
        partition.entry = NONE
        partition.topic = known.topic[i]
    for t in range(known.first.size):
        topic = held.topics[t]
        topic.first = known.first[t]
        topic.count = known.count[t]
        topic.subscribers = known.subscribers[t]
        topic.roots = known.root_starts[t]
    held.topics[known.first.size].roots = known.roots.size


@leaf
def fill_lists(held, current):
    """The lists of :class:`Current`."""
    for m in range(held.consumers.size):
        for e in range(current.offsets[m], current.offsets[m + 1]):
            partition = held.partitions[current.listed[e]]
            several = partition.entry != NONE or partition.owner != m
            append(held, m, current.listed[e], e)
            if several:
                partition.entry = SEVERAL


@leaf
def spare_entry(held, i):
    """The entry of partition i that no claim takes."""
    return held.entries.size - held.partitions.size + i


@leaf
def append(held, m, i, e):
    """Append partition i to consumer m's list, as entry e. Trees and owner are not told."""
    consumer, entry = held.consumers[m], held.entries[e]
    entry.before = consumer.tail
    entry.after = NONE
    entry.partition = i
    if consumer.tail == NONE:
        consumer.head = e
    else:
        held.entries[consumer.tail].after = e
    consumer.tail = e
    consumer.count += 1
    held.partitions[i].entry = e


@leaf
def unlink(held, m, e):
    """Remove entry e from consumer m's list."""
    consumer, entry = held.consumers[m], held.entries[e]
    if entry.before == NONE:
        consumer.head = entry.after
    else:
        held.entries[entry.before].after = entry.after
    if entry.after == NONE:
        consumer.tail = entry.before
    else:
        held.entries[entry.after].before = entry.before
    consumer.count -= 1


@leaf
def first_entry(held, m, i):
    """The first entry of partition i in consumer m's list, or ``NONE``."""
    e = held.consumers[m].head
    while e != NONE and held.entries[e].partition != i:
        e = held.entries[e].after
    return e


@inner
def lists(held, codes, by_id):
    """The lists as (offsets int64[members + 1], codes int64[...]), in the group's order."""
    consumers, entries = held.consumers, held.entries
    members = by_id.size
    offsets = np.zeros(members + 1, dtype=np.int64)
    for c in range(members):
        offsets[by_id[c] + 1] = consumers[c].count
    for m in range(members):
        offsets[m + 1] += offsets[m]
    flat = np.empty(offsets[members], dtype=np.int64)
    for c in range(members):
        at = offsets[by_id[c]]
        e = consumers[c].head
        while e != NONE:
            flat[at] = codes[entries[e].partition]
            at += 1
            e = entries[e].after
    return offsets, flat


# sortedCurrentSubscriptions


@leaf
def subscription_comparator(consumers, left, right):
    """Who comes first: fewer partitions, then the smaller id, which is ``left``'s."""
    if right == NONE or (left != NONE and consumers[left].count <= consumers[right].count):
        return left
    return right


@leaf
def first_of(consumers, one, other):
    """Who of two comes first, whoever has the smaller id; either may be ``NONE``."""
    left, right = (one, other) if one < other else (other, one)
    return subscription_comparator(consumers, left, right)


@leaf
def seat_everybody(held):
    """Put every consumer into its tree, where nobody is yet."""
    consumers, winners = held.consumers, held.winners
    for m in range(len(consumers)):
        base, node = consumers[m].tree, consumers[m].leaf
        winners[node] = m
        node = (node - base) >> 1
        while node > 0 and subscription_comparator(consumers, winners[base + node], m) == m:
            winners[base + node] = m
            node >>= 1


@leaf
def replay(held, m):
    """Consumer m has another size, or has left its leaf: play its matches again."""
    consumers, winners = held.consumers, held.winners
    base = consumers[m].tree
    node = (consumers[m].leaf - base) >> 1
    while node > 0:
        left, right = winners[base + 2 * node], winners[base + 2 * node + 1]
        winners[base + node] = subscription_comparator(consumers, left, right)
        node >>= 1


@leaf
def least_loaded(held, t):
    """The first consumer of the sorted set that subscribes to topic t, or ``NONE``."""
    best = NONE
    for k in range(held.topics[t].roots, held.topics[t + 1].roots):
        best = first_of(held.consumers, best, held.winners[held.roots[k]])
    return best


# How many consumers have how many partitions


class Levels(NamedTuple):
    """``fewest``, ``greatest`` int64[1]: of a consumer that takes part; ``counts`` int64[...]: how
    many of these have so many partitions."""

    fewest: np.ndarray
    greatest: np.ndarray
    counts: np.ndarray


@inner
def levels_of(held, fixed):
    """The levels of the consumers that are not ``fixed`` (bool[members])."""
    consumers = held.consumers
    greatest = 0
    for m in range(fixed.size):
        greatest = max(greatest, consumers[m].count)
    # One more than that: a consumer may get a partition just before it gives one away.
    counts = np.zeros(greatest + 2, dtype=np.int64)
    fewest = greatest
    greatest = 0
    for m in range(fixed.size):
        if not fixed[m]:
            count = consumers[m].count
            counts[count] += 1
            fewest = min(fewest, count)
            greatest = max(greatest, count)
    return Levels(np.full(1, fewest), np.full(1, greatest), counts)


@leaf
def count_up(levels, size):
    """A consumer has ``size`` partitions now, one more than before."""
    levels.counts[size - 1] -= 1
    levels.counts[size] += 1
    levels.greatest[0] = max(levels.greatest[0], size)
    if levels.fewest[0] == size - 1 and levels.counts[size - 1] == 0:
        levels.fewest[0] = size


@leaf
def count_down(levels, size):
    """A consumer has ``size`` partitions now, one less than before."""
    levels.counts[size + 1] -= 1
    levels.counts[size] += 1
    levels.fewest[0] = min(levels.fewest[0], size)
    if levels.greatest[0] == size + 1 and levels.counts[size + 1] == 0:
        levels.greatest[0] = size


@leaf
def balance_score(counts):
    """The sum of the differences in size of all pairs of consumers, in a Java int: it may wrap."""
    return signed(sum_of_differences(counts, 0))


@leaf
def sum_of_differences(counts, idle):
    """Of all pairs of consumers; ``idle``: how many with nothing there are beside the counted."""
    score = partitions = 0
    members = idle
    for size in range(counts.size):
        score += counts[size] * (members * size - partitions)
        members += counts[size]
        partitions += counts[size] * size
    return score
