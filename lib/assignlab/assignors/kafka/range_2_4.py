"""``range@2.4``: Kafka's RangeAssignor with static members, before racks.

The rule is that of ``range@2.0``, with static members first, by group.instance.id, then the others
by member id. The order of topics inside a list is that of ``range@2.3``. Racks do not count yet,
and topics are cut one by one.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3}, {"C2": ["t0"], "C1": ["t0"]}, instances={"C2": "I0", "C1": "I1"})
>>> lists(g, assign(g))
{'C2': [['t0', 0], ['t0', 1]], 'C1': [['t0', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import range as newest
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.ranges import cut_topics
from assignlab.assignors.strategy import by_rules

assign = by_rules(cut_topics, walk=orders.subscribed_newest_first, crowds=orders.crowds_by_info)

STRATEGY = replace(
    newest.STRATEGY,
    name="range@2.4",
    first="2.4.0",
    last="3.4.1",
    original="kafka-clients:2.4.1",
    look=("black", "^", "dashdot"),
    member_fields=("instance",),
    assign=assign,
)
