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

from assignlab.assignors.parts.code_points import members_by_id, topics_by_name
from assignlab.assignors.parts.dealing import deal
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle of members."""
    return deal(group, group.prepared(topics_by_name), group.prepared(members_by_id))


STRATEGY = Strategy(
    name="aiokafka-roundrobin",
    system="aiokafka",
    client_id="aiokafka-",
    protocol="eager",
    source="aiokafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
    first="0.11.0",
    original="aiokafka:0.14.0",
    look=("olive", "o", "dashed"),
    promises=("floor_and_ceiling", "goes_round"),
    assign=assign,
)
