"""``cooperative-sticky@2.8``: Kafka's CooperativeStickyAssignor that notices rival claims.

The rule is that of ``sticky@2.8``, in rounds as in ``cooperative-sticky``: what another member must
give up first is left out. Claims carry the generation of the user data, which is sent for it; with
different subscriptions it is read twice, and where the first reading has used it up it counts as
older than all others.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 1]], "generation": 1} for id in "AB"]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': []}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky, sticky_2_5
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky_2_5.assign, cooperative=True, release=20801)

STRATEGY = replace(
    cooperative_sticky.STRATEGY,
    name="cooperative-sticky@2.8",
    first="2.8.1",
    last="2.8.2",
    original="kafka-clients:2.8.2",
    look=("purple", "v", "dashed"),
    member_fields=("owned", "generation", "instance"),
    generations=("generation",),
    promises=sticky_2_5.STRATEGY.promises,
    assign=assign,
)
