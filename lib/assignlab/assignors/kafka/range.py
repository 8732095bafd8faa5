"""``range``: Kafka's RangeAssignor (since 3.5, with static members and racks).

The rule. For each topic by itself: lay out its partitions in numeric order and its subscribers in
order, static members first, by group.instance.id, then the others by member id; cut the partitions
into as many contiguous ranges as there are subscribers; where that does not divide evenly, the
first subscribers get one partition more.

With racks (see :mod:`assignlab.assignors.kafka.racks`) the same quotas are first filled with
partitions that have a replica in the subscriber's rack. Topics with the same subscribers and the
same number of partitions go together: partition i of all of them goes to the first subscriber with
room whose rack has a replica of each. What then is left is cut into ranges.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike, so partition i
   of both has the same owner (co-partitioning).
3. As many partitions as possible, one subscriber after the other, stay in their owner's rack.
It does not promise balance over topics: the first subscribers get the extra partition of *every*
topic that does not divide evenly, so with equal subscriptions the gap grows by one with each.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

A restart of C0 as C2 turns the ranges over; static members keep theirs.

>>> g = group({"t0": 3}, {"C2": ["t0"], "C1": ["t0"]}, instances={"C2": "I0", "C1": "I1"})
>>> lists(g, assign(g))
{'C2': [['t0', 0], ['t0', 1]], 'C1': [['t0', 2]]}

Inside a member's list the topics stand in the order of a Java HashMap; with racks in use the list
is sorted by topic name and partition.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import Assignment, by_member
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.racks import NO_RACK, numbered_racks, use_rack_aware_assignment
from assignlab.assignors.kafka.range_2_0 import assign_ranges
from assignlab.assignors.kafka.sticky_claims import shape_of
from assignlab.compiled import inner, njit
from assignlab.group import Group
from assignlab.strategy import Strategy

NOBODY = -1


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber, along racks where they count."""
    matching = group.prepared(rack_matching)
    if matching is not None:
        shape = group.prepared(shape_of)
        owners, _ = assign_with_rack_matching(*matching)
        return Assignment(*by_member(owners, shape.codes, len(group.members)))
    topics = group.prepared(orders.topics_by_hash)
    return assign_ranges(group, topics, *orders.subscribers_by_info(group))


class RackMatching(NamedTuple):
    """Topics and racks as ``assign_with_rack_matching`` takes them.

    ``starts``, ``subscribers``: topic i (by name) has ``subscribers[starts[i]:starts[i + 1]]``, in
    order, and the partitions ``first[i]`` to ``first[i + 1]``, numbered over all topics;
    ``together``: per topic the number of its co-partitioned set, sets numbered from 0 (a topic
    whose subscribers have no racks stands alone);
    ``needed``: bool per topic, whether racks count for it alone. ``of_member``, ``in_sets``:
    int64[members], the rack of every member for topics alone and for co-partitioned sets;
    ``rack_starts``, ``racks``: the racks of every partition.
    """

    starts: np.ndarray
    subscribers: np.ndarray
    first: np.ndarray
    together: np.ndarray
    needed: np.ndarray
    of_member: np.ndarray
    in_sets: np.ndarray
    rack_starts: np.ndarray
    racks: np.ndarray


def rack_matching(group: Group) -> RackMatching | None:
    """The input of ``assign_with_rack_matching``; None where racks count for no topic."""
    if group.members.racks is None or group.topics.racks is None:
        return None
    of_member, of_partition = numbered_racks(group)
    all_starts, all_subscribers = orders.subscribers_by_info(group)
    topics = group.prepared(orders.topics_by_name)
    first = np.cumsum(np.append(0, group.topics.partitions[topics]))
    sets: dict[tuple, int] = {}
    together: list[int] = []
    needed: list[bool] = []
    lists: list[np.ndarray] = []
    for i, topic in enumerate(topics.tolist()):
        subscribers = all_subscribers[all_starts[topic] : all_starts[topic + 1]]
        partitions = of_partition[first[i] : first[i + 1]]
        racks = {of_member[m] for m in subscribers.tolist()} - {NO_RACK}
        key = (subscribers.tobytes(), len(partitions)) if racks else (topic,)
        together.append(sets.setdefault(key, len(sets)))
        needed.append(use_rack_aware_assignment(racks, partitions))
        lists.append(subscribers)
    if not any(needed):
        return None
    return RackMatching(
        np.cumsum([0] + [len(members) for members in lists], dtype=np.int64),
        np.concatenate(lists),
        first,
        np.array(together, dtype=np.int64),
        np.array(needed, dtype=np.bool_),
        np.array(of_member, dtype=np.int64),
        np.array(of_member, dtype=np.int64),
        np.cumsum([0] + [len(racks) for racks in of_partition], dtype=np.int64),
        np.array([rack for racks in of_partition for rack in racks], dtype=np.int64),
    )


@njit
def assign_with_rack_matching(
    starts, subscribers, first, together, needed, of_member, in_sets, rack_starts, racks
):
    """Along racks as far as the quotas allow, then in ranges.

    ``got`` counts what each subscriber has of each topic, ``extra`` the subscribers per topic that
    may still have one more than the others. Returns (owner of every partition, bool[partitions]:
    whether it was found along racks).
    """
    owners = np.full(first[-1], NOBODY, dtype=np.int64)
    got = np.zeros(subscribers.size, dtype=np.int64)
    extra = np.empty(together.size, dtype=np.int64)
    for i in range(extra.size):
        extra[i] = (first[i + 1] - first[i]) % (starts[i + 1] - starts[i])
    matches = np.empty((0, 0), dtype=np.bool_)
    for s in range(together.max() + 1):
        topics = np.flatnonzero(together == s)
        lead = topics[0]
        consumers = subscribers[starts[lead] : starts[lead + 1]]
        if topics.size > 1:
            matches = racks_match(topics, first, in_sets, rack_starts, racks)
            assign_co_partitioned(
                topics, starts, first, consumers, in_sets, matches, owners, got, extra
            )
        elif needed[lead]:
            matches = racks_match(topics, first, of_member, rack_starts, racks)
            assign_matching_ranges(
                lead, starts, first, consumers, of_member, matches, owners, got, extra
            )
    along_racks = owners != NOBODY
    nowhere = np.full(of_member.size, NO_RACK, dtype=np.int64)
    for i in range(together.size):
        consumers = subscribers[starts[i] : starts[i + 1]]
        assign_matching_ranges(i, starts, first, consumers, nowhere, matches, owners, got, extra)
    return owners, along_racks


@inner
def racks_match(topics, first, of_member, rack_starts, racks):
    """Whether partition p of all these topics has a replica in rack r: bool[racks, partitions]."""
    lead = topics[0]
    partitions = first[lead + 1] - first[lead]
    count = of_member.max() + 1
    if racks.size > 0:
        count = max(count, racks.max() + 1)
    topics_in_rack = np.zeros((count, partitions), dtype=np.int64)
    for t in topics:
        for p in range(partitions):
            for k in range(rack_starts[first[t] + p], rack_starts[first[t] + p + 1]):
                topics_in_rack[racks[k], p] += 1
    return topics_in_rack == topics.size


@inner
def max_assignable(i, c, starts, first, got, extra):
    """How many partitions of topic i its c-th subscriber may still get."""
    share = (first[i + 1] - first[i]) // (starts[i + 1] - starts[i])
    return max(0, share + (1 if extra[i] > 0 else 0) - got[starts[i] + c])


@inner
def on_assigned(i, c, count, starts, first, got, extra):
    """The c-th subscriber of topic i got ``count`` more of it."""
    got[starts[i] + c] += count
    if got[starts[i] + c] > (first[i + 1] - first[i]) // (starts[i + 1] - starts[i]):
        extra[i] -= 1


@inner
def assign_co_partitioned(topics, starts, first, consumers, of_member, matches, owners, got, extra):
    """Partition by partition of all topics at once, to the first subscriber that suits them all.

    The topics are alike and filled alike, so the first speaks for all.
    """
    lead = topics[0]
    remaining = np.arange(consumers.size)
    left = remaining.size
    for p in range(first[lead + 1] - first[lead]):
        at = 0
        while at < left:
            rack = of_member[consumers[remaining[at]]]
            if (rack == NO_RACK or matches[rack, p]) and max_assignable(
                lead, remaining[at], starts, first, got, extra
            ) > 0:
                break
            at += 1
        if at == left:
            continue
        c = remaining[at]
        for t in topics:
            owners[first[t] + p] = consumers[c]
            on_assigned(t, c, 1, starts, first, got, extra)
        if max_assignable(lead, c, starts, first, got, extra) == 0:
            left -= 1
            for k in range(at, left):
                remaining[k] = remaining[k + 1]


@inner
def assign_matching_ranges(i, starts, first, consumers, of_member, matches, owners, got, extra):
    """Subscriber after subscriber takes the next partitions that suit its rack, up to its quota."""
    for c in range(consumers.size):
        room = max_assignable(i, c, starts, first, got, extra)
        rack = of_member[consumers[c]]
        count = 0
        for p in range(first[i + 1] - first[i]):
            if count == room:
                break
            x = first[i] + p
            if owners[x] == NOBODY and (rack == NO_RACK or matches[rack, p]):
                owners[x] = consumers[c]
                count += 1
        if count > 0:
            on_assigned(i, c, count, starts, first, got, extra)


STRATEGY = Strategy(
    name="range",
    system="Kafka consumer",
    first="3.5.0",
    last="4.4.0",
    protocol="eager",
    sticky=False,
    source="org.apache.kafka.clients.consumer.RangeAssignor (kafka-clients 4.4.0)",
    assign=assign,
)
