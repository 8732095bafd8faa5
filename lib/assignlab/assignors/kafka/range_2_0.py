"""``range@2.0``: Kafka's RangeAssignor before static members and racks.

The rule. For each topic by itself: lay out its partitions in numeric order and its subscribers in
the order of their member ids; cut the partitions into as many contiguous ranges as there are
subscribers; where that does not divide evenly, the first subscribers get one partition more.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike, so partition i
   of both has the same owner (co-partitioning).
It does not promise balance over topics: the first subscribers get the extra partition of *every*
topic that does not divide evenly, so with equal subscriptions the gap grows by one with each.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

A member that names a topic twice counts as two of its subscribers.
Inside a member's list the topics stand in the order of a Java HashMap, not sorted; up to 0.10.2 the
original walks the members in another order first, which shows where the hash codes of many ids are
alike, and those of topics, too (docs/versions.md): that is not played.
"""

from dataclasses import replace

from assignlab.assignors.kafka import range as newest
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.ranges import cut_topics
from assignlab.assignors.strategy import by_rules

assign = by_rules(cut_topics, walk=orders.subscribed_by_hash, crowds=orders.crowds_by_id)

STRATEGY = replace(
    newest.STRATEGY,
    name="range@2.0",
    first="0.9.0",
    last="2.0.1",
    original="kafka-clients:2.0.1",
    look=("black", "o", "dashdot"),
    member_fields=(),
    assign=assign,
)
