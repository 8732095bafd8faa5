"""``cooperative-sticky@3.5``: Kafka's CooperativeStickyAssignor when racks were new (KIP-881).

The rule is that of ``sticky@3.5``, in rounds as in ``cooperative-sticky``. With equal subscriptions
a partition waits for the next round even if the member that gave it up gets it back, and does not
wait where it is given up because of its rack: two members may consume it for a while (KAFKA-15170).

A must give up t-2, which has no replica in its rack, and B is given it in the same round:

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3, "racks": [["r0"], ["r0"], ["r2"]]}],
...     "members": [{"id": "A", "topics": ["t"], "rack": "r0", "owned": [["t", 2]],
...                  "sub_generation": 1},
...                 {"id": "B", "topics": ["t"]}]})
>>> lists(g, assign(g))
{'A': [['t', 0], ['t', 1]], 'B': [['t', 2]]}
>>> lists(g, cooperative_sticky.assign(g))
{'A': [['t', 0], ['t', 1]], 'B': []}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, cooperative=True, release=30502)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@3.5",
    first="3.5.2",
    last="3.7.0",
    original="kafka-clients:3.5.2",
    look=("purple", "h", "dashed"),
    promises=(*sticky.PROMISES, "eager_less_held_back"),
    assign=assign,
)
