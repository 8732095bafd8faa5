"""``roundrobin``: Kafka's RoundRobinAssignor (since 2.4, with static members).

The rule. Lay out all partitions of all subscribed topics by topic name and number, and all members
in a circle: static members first, by group.instance.id, then the others by member id. Deal the
partitions one by one; a member that does not subscribe to the topic is passed over, and the deal
goes on behind the member that was served.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky: one member more or less reshuffles nearly everything. Without members it throws.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> g = group({"t0": 1, "t1": 2, "t2": 3},
...           {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0]], 'C1': [['t1', 0]], 'C2': [['t1', 1], ['t2', 0], ['t2', 1], ['t2', 2]]}
"""

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.dealing import deal
from assignlab.assignors.strategy import Strategy
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group, circle=orders.members_by_info) -> Assignment:
    """Deal the sorted partitions around the circle of members.

    Raises :class:`~assignlab.errors.OriginalError` without members.
    """
    if len(group.members) == 0:
        raise OriginalError("IllegalArgumentException", "the circle of members is empty")
    return deal(group, orders.topics_by_name, circle)


STRATEGY = Strategy(
    name="roundrobin",
    system="Kafka consumer",
    first="2.4.0",
    last="4.4.0",
    protocol="eager",
    source="org.apache.kafka.clients.consumer.RoundRobinAssignor",
    original="kafka-clients:4.4.0",
    look=("olive", "D", "solid"),
    member_fields=("instance", "rack"),
    promises=("circle", "floor_and_ceiling"),
    assign=assign,
)
