"""``roundrobin@2.0``: Kafka's RoundRobinAssignor before static members.

The rule is that of ``roundrobin``, with the circle of members simply in the order of their ids:
a group.instance.id is not known yet, so after a restart with new ids the circle is another one.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t": 4}, {"b": ["t"], "a": ["t"]}, instances={"b": "1"})
>>> lists(g, assign(g))
{'b': [['t', 1], ['t', 3]], 'a': [['t', 0], ['t', 2]]}
"""

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.roundrobin import deal, refuse_empty_circle
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle of member ids."""
    refuse_empty_circle(group)
    return deal(group, group.prepared(orders.topics_by_name), orders.members_by_id(group))


STRATEGY = Strategy(
    name="roundrobin@2.0",
    system="Kafka consumer",
    first="0.9.0",
    last="2.3.1",
    protocol="eager",
    sticky=False,
    source="org.apache.kafka.clients.consumer.RoundRobinAssignor (kafka-clients 2.0.1)",
    assign=assign,
)
