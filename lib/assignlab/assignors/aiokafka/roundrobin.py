"""``aiokafka-roundrobin``: aiokafka's RoundRobinPartitionAssignor.

The rule. All partitions of the subscribed topics, by topic and number, are dealt around the circle
of member ids; members that do not subscribe to the topic are passed over. Static members do not
come first.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.aiokafka.range import STRATEGY as RANGE
from assignlab.assignors.parts.code_points import members_by_id, topics_by_name
from assignlab.assignors.parts.dealing import deal
from assignlab.assignors.strategy import by_rules

assign = by_rules(deal, walk=topics_by_name, circle=members_by_id)

STRATEGY = replace(
    RANGE,
    name="aiokafka-roundrobin",
    source="aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
    look=("olive", "o", "dashed"),
    promises=("floor_and_ceiling", "goes_round"),
    assign=assign,
)
