"""``range``: Kafka's RangeAssignor (since 3.5, with static members and racks).

The rule. For each topic by itself: lay out its partitions in numeric order and its subscribers in
order, static members first, by group.instance.id, then the others by member id; cut the partitions
into as many contiguous ranges as there are subscribers; where that does not divide evenly, the
first subscribers get one partition more.

With racks (see :mod:`assignlab.assignors.parts.racks`) the same quotas are first filled with
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

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
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

import numpy as np

from assignlab.assignors.kafka.parts.claims import shape_of
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.rack_ranges import RackMatching, assign_with_rack_matching
from assignlab.assignors.parts.racks import NO_RACK, numbered_racks
from assignlab.assignors.parts.ranges import assign_ranges
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber, along racks where they count."""
    matching = group.prepared(rack_matching)
    if matching is not None:
        shape = group.prepared(shape_of)
        owners, _ = assign_with_rack_matching(*matching)
        return Assignment(*by_member(owners, shape.codes, len(group.members)))
    topics = group.prepared(orders.topics_by_hash)
    return assign_ranges(group, topics, *group.prepared(orders.crowds_by_info))


def rack_matching(group: Group) -> RackMatching | None:
    """The input of ``assign_with_rack_matching``; None where racks count for no topic."""
    if group.members.racks is None or group.topics.racks is None:
        return None
    spans, all_subscribers = group.prepared(orders.crowds_by_info)
    topics = group.prepared(orders.topics_by_name)
    known = numbered_racks(group, topics)
    first = np.cumsum(np.append(0, group.topics.partitions[topics]))
    kinds, _ = group.prepared(orders.kinds_of_topics)
    lists: dict[int, bytes] = {}
    racks: dict[int, set[int]] = {}  # by kind of topics, of their subscribers
    sets: dict[tuple, int] = {}
    together: list[int] = []
    of_topic = topics, kinds[topics], group.topics.partitions[topics]
    for topic, kind, count in zip(*(each.tolist() for each in of_topic), strict=True):
        if kind not in lists:
            subscribers = all_subscribers[slice(*spans[topic])]
            lists[kind] = subscribers.tobytes()
            racks[kind] = {known.of_member[m] for m in subscribers.tolist()} - {NO_RACK}
        key = (lists[kind], count) if racks[kind] else (topic,)
        together.append(sets.setdefault(key, len(sets)))
    needed = known.count_each(racks, kinds[topics], first)
    if not any(needed):
        return None
    of_member = np.array(known.of_member, dtype=np.int64)
    return RackMatching(
        spans[topics], all_subscribers, first, np.array(together, dtype=np.int64),
        np.array(needed, dtype=np.bool_), of_member, of_member, known.kind, *known.by_kind,
    )  # fmt: skip


STRATEGY = Strategy(
    name="range",
    system="Kafka consumer",
    first="3.5.0",
    last="4.4.0",
    protocol="eager",
    source="org.apache.kafka.clients.consumer.RangeAssignor",
    original="kafka-clients:4.4.0",
    look=("black", "^", "solid"),
    member_fields=("instance", "rack"),
    promises=("blocks", "even_topics", "cut_alike"),
    assign=assign,
)
