"""``cooperative-sticky@3.5.0``: Kafka's CooperativeStickyAssignor with racks and faults of 3.4.1.

The rule is that of ``sticky@3.5.0``, in rounds as in ``cooperative-sticky``.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "sub_generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1], ['t', 2]], 'C': [['t', 0]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, cooperative=True, release=30500)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@3.5.0",
    first="3.5.0",
    last="3.5.1",
    original="kafka-clients:3.5.1",
    look=("purple", "*", "dashed"),
    promises=(*sticky.PROMISES, "eager_less_held_back"),
    assign=assign,
)
