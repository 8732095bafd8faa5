"""``sticky@3.5.0``: Kafka's StickyAssignor with racks, and still with the faults of 3.4.1.

The rule is that of ``sticky@3.5`` with the two faults of ``sticky@3.4``, which 3.5.2 corrects: of
three claimants two may keep a partition, and a difference of one partition counts as imbalance.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "generation": n, "sub_generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1], ['t', 2]], 'C': [['t', 0]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, release=30500)

STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@3.5.0",
    first="3.5.0",
    last="3.5.1",
    original="kafka-clients:3.5.1",
    look=("slate", "*", "dotted"),
    promises=sticky.PROMISES,
    assign=assign,
)
