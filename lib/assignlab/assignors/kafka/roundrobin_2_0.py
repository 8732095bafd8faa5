"""``roundrobin@2.0``: Kafka's RoundRobinAssignor before static members.

The rule is that of ``roundrobin``, with the circle of members simply in the order of their ids:
a group.instance.id is not known yet, so after a restart with new ids the circle is another one.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 4}, {"b": ["t"], "a": ["t"]}, instances={"b": "1"})
>>> lists(g, assign(g))
{'b': [['t', 1], ['t', 3]], 'a': [['t', 0], ['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import roundrobin
from assignlab.assignors.parts.orders import members_by_id
from assignlab.assignors.strategy import by_rules

assign = by_rules(roundrobin.assign, circle=members_by_id)

STRATEGY = replace(
    roundrobin.STRATEGY,
    name="roundrobin@2.0",
    first="0.10.0",
    last="2.3.1",
    original="kafka-clients:2.0.1",
    look=("olive", "D", "dashdot"),
    member_fields=(),
    assign=assign,
)
