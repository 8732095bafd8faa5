"""``sticky@2.4``: Kafka's StickyAssignor that tries to move new partitions first (KAFKA-8767).

The rule is that of ``sticky@2.3`` but for one step. Partitions that nobody had have just been
handed out; if these alone can be moved to balance the group, what members keep stays where it is.
So they are walked first, again and again until nothing moves, and only then all partitions. Where a
member lost a partition that it no longer subscribes to, something is revoked anyway, and that walk
is left out.

It seldom makes a difference, as new partitions go to the members that have least in the first
place. Here C keeps "a", because "b", which is new, can go from A to B; ``sticky@2.3`` moves "a":

>>> from assignlab.group.document import lists, parse
>>> g = parse({
...     "topics": [{"name": "a", "partitions": 1}, {"name": "b", "partitions": 1},
...                {"name": "c", "partitions": 2}],
...     "members": [{"id": "A", "topics": ["b", "c"]}, {"id": "B", "topics": ["a", "b"]},
...                 {"id": "C", "topics": ["a", "c"], "owned": [["a", 0]], "generation": 1}]})
>>> lists(g, assign(g))
{'A': [['c', 0]], 'B': [['b', 0]], 'C': [['a', 0], ['c', 1]]}
>>> lists(g, sticky_2_3.assign(g))
{'A': [['b', 0], ['c', 0]], 'B': [['a', 0]], 'C': [['c', 1]]}

What it does not promise: moves of the first walk count for nothing when the original asks whether
moving was in vain.
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky_2_3
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky_2_3.assign, new_first=True)

STRATEGY = replace(
    sticky_2_3.STRATEGY,
    name="sticky@2.4",
    first="2.4.0",
    last="2.5.0",
    original="kafka-clients:2.4.1",
    look=("slate", "^", "dotted"),
    member_fields=("owned", "generation", "instance"),
    assign=assign,
)
