"""``sticky@2.8``: Kafka's StickyAssignor that notices rival claims.

The rule is that of ``sticky@2.5`` but for one thing: with equal subscriptions, a partition that
several members of the newest generation claim is taken from all of them and given out anew.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 1]], "generation": 1} for id in "AB"]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1]]}
>>> lists(g, sticky_2_5.assign(g))
{'A': [['t', 1], ['t', 0]], 'B': [['t', 1]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky_2_5
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky_2_5.assign, release=20801)

STRATEGY = replace(
    sticky_2_5.STRATEGY,
    name="sticky@2.8",
    first="2.8.1",
    last="2.8.2",
    original="kafka-clients:2.8.2",
    look=("slate", "v", "dotted"),
    assign=assign,
)
