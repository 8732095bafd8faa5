"""``cooperative-sticky@3.0``: Kafka's CooperativeStickyAssignor with generations in the user data.

The rule is that of ``sticky@3.0``, in rounds as in ``cooperative-sticky``. The generation of the
claims comes from the user data, which hold nothing else. A partition that two members claim
in the newest generation stays without an owner for one round.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [], 'B': [['t', 1]], 'C': [['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, cooperative=True, release=30000)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@3.0",
    first="3.0.0",
    last="3.3.2",
    original="kafka-clients:3.0.1",
    look=("purple", "P", "dashed"),
    member_fields=("owned", "generation", "instance"),
    generations=("generation",),
    promises=sticky.PROMISES,
    assign=assign,
)
