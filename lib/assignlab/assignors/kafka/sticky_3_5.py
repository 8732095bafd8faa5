"""``sticky@3.5``: Kafka's StickyAssignor when racks were new (KIP-881).

The rule is that of ``sticky``. With equal subscriptions it differs in three ways, corrected in
3.7.1. A member that has more than its quota keeps what stands first in its claims, in whatever
order its client sent them (KAFKA-16277); with racks, members at the smaller quota are served first
come, first served, without counting how many may have one more, so that the original may end in an
exception (KAFKA-15170).

A has five partitions of six and must give up two: the last two that it claims.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 6}], "members": [
...     {"id": "A", "topics": ["t"], "owned": [["t", p] for p in (4, 2, 3, 0, 1)], "generation": 1},
...     {"id": "B", "topics": ["t"]}]})
>>> lists(g, assign(g))
{'A': [['t', 4], ['t', 2], ['t', 3]], 'B': [['t', 0], ['t', 1], ['t', 5]]}
>>> lists(g, sticky.assign(g))
{'A': [['t', 0], ['t', 1], ['t', 2]], 'B': [['t', 3], ['t', 4], ['t', 5]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, release=30502)

STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@3.5",
    first="3.5.2",
    last="3.7.0",
    original="kafka-clients:3.5.2",
    look=("slate", "h", "dotted"),
    promises=sticky.PROMISES,
    assign=assign,
)
