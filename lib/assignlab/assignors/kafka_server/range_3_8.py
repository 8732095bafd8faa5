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
from assignlab.group.model import NO_METADATA, Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Topic by topic: keep, then fill up.

    Raises :class:`OriginalError` without members: the original looks at the first one's topics.
    """
    if len(group.members) == 0:
        raise OriginalError("NoSuchElementException", "the group has no members")
    group = sets.as_told(group, orders.members_by_hash)
    topics, *known = group.prepared(subscribed_topics)
    if topics.size == 0:
        return sets.nothing(group)
    held = group.of_claims(sets.held)
    owners, codes = assign_topics(topics, *known, held.offsets, held.codes)
    return Assignment(*by_member(owners, codes, len(group.members)))


def subscribed_topics(group: Group) -> tuple[np.ndarray, ...]:
    """The topics of a group, and by whom they are subscribed, as :func:`assign_topics` takes it."""
    partitions, order = group.topics.partitions, group.prepared(orders.members_by_hash)
    spans, subscribers = orders.crowds(group, order)
    topics = np.flatnonzero((spans[:, 0] < spans[:, 1]) & (partitions != NO_METADATA))
    subscribed = group.prepared(subscriptions_by_topic)
    of_members = spans, subscribers, group.members.subscription, subscribed
    return topics, partitions, order, *of_members


@njit
def assign_topics(
    topics, partitions, order, spans, subscribers, subscription, subscribed, offsets, codes
):
    """(owners, codes) of the result, topic by topic.

    ``topics``: int64[n], those that exist and have subscribers, ascending; ``partitions``: of all;
    ``order``: members by hash; ``spans``, ``subscribers``: :func:`orders.crowds` in that order;
    ``subscription``: of every member; ``subscribed``: bool[subscriptions, topics], whether it names
    a topic.

    Members are walked only as far as there is something to give: most topics have fewer partitions
    than subscribers.
    """
    everybody = np.arange(order.size)
    begins, claims = sets.claims_by_topic(order, everybody, offsets, codes, partitions.size)
    total = codes.size
    for t in topics:
        total += partitions[t]
    owners = np.empty(total, dtype=np.int64)
    given = np.empty(total, dtype=np.int64)
    n = 0
    kept = np.full(partitions.max(), -1, dtype=np.int64)  # topic in which a partition was kept
    has = np.zeros(order.size, dtype=np.int64)  # of the topic, quota + 1 for more than that
    for t in topics:
        members = spans[t, 1] - spans[t, 0]
        quota = partitions[t] // members
        extras = partitions[t] % members
        k = begins[t]
        while k < begins[t + 1]:
            m, first, ascending = topic_of(claims[k]), k, True
            while k < begins[t + 1] and topic_of(claims[k]) == m:
                ascending &= k == first or claims[k - 1] < claims[k]
                k += 1
            if not subscribed[subscription[m], t]:
                continue
            if not ascending:
                claims[first:k].sort()
            has[m] = min(k - first, quota + 1)
            keep = min(k - first, quota)
            if k - first > quota and extras > 0:
                extras -= 1
                keep += 1
            for i in range(first, first + keep):
                p = partition_of(claims[i])
                owners[n], given[n] = m, code(t, p)
                n += 1
                if p < partitions[t]:
                    kept[p] = t
        p = 0
        for i in range(spans[t, 0], spans[t, 1]):
            if quota == 0 and extras == 0:
                break
            missing = quota - has[subscribers[i]]
            if missing >= 0 and extras > 0:
                extras -= 1
                missing += 1
            while missing > 0:
                if kept[p] != t:
                    owners[n], given[n] = subscribers[i], code(t, p)
                    n += 1
                    missing -= 1
                p += 1
        for k in range(begins[t], begins[t + 1]):
            has[topic_of(claims[k])] = 0
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
