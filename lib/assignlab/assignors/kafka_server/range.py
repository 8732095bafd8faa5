"""``server-range``: the group coordinator's range assignor (KIP-848).

The rule. The same as the client's range assignor: for each topic by itself, lay out the partitions
in numeric order and the subscribers in order, and cut the partitions into as many contiguous ranges
as there are subscribers; the first ones get one partition more where that does not divide evenly.
Members with a group.instance.id come first, by that, then the others by member id.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It is computed anew each time: what members held before does not count.

>>> from assignlab.group.plain import group
>>> g = group({"t0": 3, "t1": 3}, {"C1": ["t0", "t1"], "C0": ["t0", "t1"]})
>>> sets.as_sets(g, assign(g))
{'C1': [['t0', 2], ['t1', 2]], 'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]]}

The result is a set; it is given by topic name and partition.
"""

from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.ranges import assign_ranges
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber."""
    group = sets.as_told(group, orders.members_by_info)
    # Topics without partitions or subscribers give nothing.
    topics = group.topics.names.order
    return assign_ranges(group, topics, *group.prepared(orders.crowds_by_info))


STRATEGY = Strategy(
    name="server-range",
    system="Kafka coordinator",
    first="3.9.0",
    last="4.4.0",
    protocol="server",
    source="org.apache.kafka.coordinator.group.assignor.RangeAssignor",
    original="kafka-group-coordinator:4.4.0",
    look=("blue", "P", "solid"),
    member_fields=("owned", "instance"),
    promises=("blocks", "even_topics", "cut_alike"),
    assign=assign,
    render=sets.as_sets,
)
