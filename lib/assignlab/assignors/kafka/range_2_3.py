"""``range@2.3``: Kafka's RangeAssignor when its HashMap of topics is filled by ``computeIfAbsent``.

Every member gets the same partitions as under ``range@2.0``. Only the order of topics inside its
list is another one where two topics share a slot of the HashMap: ``put`` appends to a slot,
``computeIfAbsent`` puts a new key in front.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"Aa": 1, "BB": 1}, {"C0": ["Aa", "BB"]})
>>> lists(g, assign(g))
{'C0': [['BB', 0], ['Aa', 0]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import range as newest
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.ranges import cut_topics
from assignlab.assignors.strategy import by_rules

assign = by_rules(cut_topics, walk=orders.subscribed_newest_first, crowds=orders.crowds_by_id)

STRATEGY = replace(
    newest.STRATEGY,
    name="range@2.3",
    first="2.1.1",
    last="2.3.1",
    original="kafka-clients:2.3.1",
    look=("black", "s", "dashdot"),
    member_fields=(),
    assign=assign,
)
