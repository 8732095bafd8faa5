"""``cooperative-sticky@3.4``: Kafka's CooperativeStickyAssignor with KIP-792.

The rule is that of ``sticky@3.4``, in rounds as in ``cooperative-sticky``. Since this release the
generation of a claim is that of the subscription, and that of the user data only where an older
client sends no other. Of three claimants two may keep a partition, as in ``sticky@3.4``.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "sub_generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1], ['t', 2]], 'C': [['t', 0]]}
>>> lists(g, cooperative_sticky.assign(g))
{'A': [], 'B': [['t', 1]], 'C': [['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, cooperative=True, release=30401)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@3.4",
    first="3.4.1",
    last="3.4.1",
    original="kafka-clients:3.4.1",
    look=("purple", "X", "dashed"),
    promises=(*sticky.PROMISES, "eager_less_held_back"),
    assign=assign,
)
