"""``server-range@3.8``: the coordinator's range assignor while it was sticky (3.7 and 3.8).

The rule. For each topic by itself: with P partitions and C subscribers everybody keeps up to P div
C of what it holds of the topic, the lowest numbers first, and the first P mod C members that hold
more keep one more. The other partitions, in numeric order, fill up the subscribers one after the
other, in the order of the HashMap of members; the first of them get what is left of the extra
partitions.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Partitions stay with their owner as far as that allows.
Ranges are contiguous only where nobody holds anything, and topics are then cut alike.

>>> from assignlab.group.plain import group
>>> everybody = dict.fromkeys(["C0", "C1", "C2"], ["t"])
>>> g = group({"t": 6}, everybody, {"C0": [("t", p) for p in (0, 2, 4)], "C1": [("t", 5)]})
>>> sets.as_sets(g, assign(g))
{'C0': [['t', 0], ['t', 2]], 'C1': [['t', 1], ['t', 5]], 'C2': [['t', 3], ['t', 4]]}

A partition that two members claim may stay with both. The result is a set.
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka_server import range as newest
from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts import orders
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, code, partition_of, topic_of
from assignlab.group.model import NO_METADATA, Group


def assign(group: Group) -> Assignment:
    """Topic by topic: keep, then fill up.

    Raises :class:`OriginalError` without members: the original looks at the first one's topics.
    """
    if len(group.members) == 0:
        raise OriginalError("NoSuchElementException", "the group has no members")
    group = sets.as_told(group, orders.members_by_hash)
    topics, starts, subscribers = group.prepared(subscribed_topics)
    if topics.size == 0:
        return sets.nothing(group)
    held = sets.held(group)
    owners, codes = assign_topics(
        topics, group.topics.partitions, starts, subscribers, held.offsets, held.codes
    )
    return Assignment(*by_member(owners, codes, len(group.members)))


def subscribed_topics(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Subscribed topics that exist, ascending; and :func:`orders.subscribers` in hash order."""
    starts, subscribers = orders.subscribers(group, group.prepared(orders.members_by_hash))
    exists = group.topics.partitions != NO_METADATA
    return np.flatnonzero((np.diff(starts) > 0) & exists), starts, subscribers


@njit
def assign_topics(topics, partitions, starts, subscribers, offsets, codes):
    """(owners, codes) of the result, topic by topic."""
    codes = codes.copy()
    for m in range(offsets.size - 1):
        codes[offsets[m] : offsets[m + 1]].sort()
    total = codes.size
    for t in topics:
        total += partitions[t]
    owners = np.empty(total, dtype=np.int64)
    given = np.empty(total, dtype=np.int64)
    n = 0
    cursor = offsets[:-1].copy()  # topics ascend, and so do every member's codes
    kept = np.full(partitions.max(), -1, dtype=np.int64)  # topic in which a partition was kept
    remaining = np.empty(offsets.size, dtype=np.int64)
    for t in topics:
        members = subscribers[starts[t] : starts[t + 1]]
        quota = partitions[t] // members.size
        extras = partitions[t] % members.size
        for i in range(members.size):
            m = members[i]
            k = cursor[m]
            while k < offsets[m + 1] and topic_of(codes[k]) < t:
                k += 1
            first = k
            while k < offsets[m + 1] and topic_of(codes[k]) == t:
                k += 1
            cursor[m] = k
            keep = min(k - first, quota)
            remaining[i] = quota - keep
            if k - first > quota:
                remaining[i] = -1  # has more than its part
                if extras > 0:
                    extras -= 1
                    keep += 1
            for own in codes[first : first + keep]:
                owners[n], given[n] = m, own
                n += 1
                if partition_of(own) < partitions[t]:
                    kept[partition_of(own)] = t
        p = 0
        for i in range(members.size):
            missing = remaining[i]
            if missing >= 0 and extras > 0:
                extras -= 1
                missing += 1
            while missing > 0:
                if kept[p] != t:
                    owners[n], given[n] = members[i], code(t, p)
                    n += 1
                    missing -= 1
                p += 1
    return owners[:n], given[:n]


STRATEGY = replace(
    newest.STRATEGY,
    name="server-range@3.8",
    first="3.7.0",
    last="3.8.1",
    sticky=True,
    original="kafka-group-coordinator:3.8.1",
    look=("blue", "P", "dashdot"),
    promises=("even_topics",),
    assign=assign,
)
