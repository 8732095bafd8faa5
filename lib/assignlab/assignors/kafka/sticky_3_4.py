"""``sticky@3.4``: Kafka's StickyAssignor that lets older generations claim (KAFKA-14639).

The rule is that of ``sticky@3.5`` without racks, and with two faults that were corrected there. A
claim is compared with the one before it, even if that one has lost already; so with three claimants
two may keep a partition. What stands behind such a partition, in the order in which partitions are
assigned, is then given out a second time: the original ends in an exception or with a partition in
two lists. And a difference of one partition counts as imbalance (KAFKA-15106), which costs walks
over all partitions; a move still takes a difference of two.

Both A and C claim t-0 in generation 2, which neither should keep. B comes between them, of
generation 1: it loses against A, and C wins against it.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "generation": n, "sub_generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1], ['t', 2]], 'C': [['t', 0]]}
>>> lists(g, sticky.assign(g))
{'A': [['t', 0]], 'B': [['t', 1]], 'C': [['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, release=30401)

STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@3.4",
    first="3.4.1",
    last="3.4.1",
    original="kafka-clients:3.4.1",
    look=("slate", "X", "dotted"),
    promises=sticky.PROMISES,
    assign=assign,
)
