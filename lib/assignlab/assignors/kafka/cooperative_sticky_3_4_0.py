"""``cooperative-sticky@3.4.0``: Kafka's CooperativeStickyAssignor, first with KIP-792.

The rule is that of ``cooperative-sticky@3.0``: only claims of the newest generation count. But the
generation of a claim is that of the subscription, and that of the user data only where an older
client sends no other. It stood for one release; 3.4.1 lets older generations claim as well.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": "A", "topics": ["t"], "owned": [], "sub_generation": 2},
...     {"id": "B", "topics": ["t"], "owned": [["t", 0]], "sub_generation": 1}]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1]]}
>>> lists(g, cooperative_sticky.assign(g))
{'A': [['t', 1]], 'B': [['t', 0]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, cooperative=True, release=30400)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@3.4.0",
    first="3.4.0",
    last="3.4.0",
    original="kafka-clients:3.4.0",
    look=("purple", "<", "dashed"),
    promises=sticky.PROMISES,
    assign=assign,
)
