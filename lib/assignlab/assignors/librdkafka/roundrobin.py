"""``librdkafka-roundrobin``: librdkafka's roundrobin assignor.

The rule is Java's (see ``roundrobin``): all partitions by topic and number around one circle of
members, passing over those that do not subscribe to the topic. The circle is in the order of
:mod:`assignlab.assignors.librdkafka.parts.orders`: static members do not come first, they mix with
the others.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> g = group({"t": 3}, {"a": ["t"], "b": ["t"], "c": ["t"]}, instances={"c": "1"})
>>> lists(g, assign(g))
{'a': [['t', 0]], 'b': [['t', 1]], 'c': [['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.librdkafka.parts.orders import circle_of_all
from assignlab.assignors.librdkafka.range import STRATEGY as RANGE
from assignlab.assignors.parts import partitions
from assignlab.assignors.parts.dealing import deal_in_order
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle of members."""
    codes = group.prepared(partitions.subscribed)
    circle = group.prepared(circle_of_all)
    subscribed = group.prepared(subscriptions_by_topic)
    owners = deal_in_order(codes, circle, group.members.subscription, subscribed)
    return Assignment(*by_member(owners, codes, len(group.members)))


STRATEGY = replace(
    RANGE,
    name="librdkafka-roundrobin",
    source="rd_kafka_roundrobin_assignor_assign_cb",
    look=("olive", "*", "long dashes"),
    member_fields=("instance",),
    promises=("floor_and_ceiling", "goes_round"),
    assign=assign,
)
