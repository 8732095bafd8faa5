"""``kafka-python-cooperative-sticky``: kafka-python's CooperativeStickyAssignor.

The rule. The assignment of ``kafka-python-sticky``, less every partition that somebody else claims:
it is assigned in the next rebalance, when its owner has given it up.

What it promises, in order
1. No member is given a partition that another one says it owns.
2. After the second rebalance what ``kafka-python-sticky`` promises.
It does not promise that stale claims do no harm. Members of kafka-python send their claims without
a generation, so a member that comes back with stale ones counts as much as the present owner:
whoever stands first keeps the partition in the balancing, and who stands last is taken for its
owner. Where these two differ, nobody gets it in this round.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> owned = {"C0": [("t", 0), ("t", 1), ("t", 2), ("t", 3)]}
>>> members = {"C0": ["t"], "C1": ["t"]}
>>> first = lists(g := group({"t": 4}, members, owned=owned), assign(g))
>>> first
{'C0': [['t', 0], ['t', 1]], 'C1': []}
>>> lists(g := group({"t": 4}, members, owned=first), assign(g))
{'C0': [['t', 0], ['t', 1]], 'C1': [['t', 2], ['t', 3]]}
>>> g = group({"t": 1}, members, owned={"C0": [("t", 0)], "C1": [("t", 0)]})
>>> lists(g, assign(g))
{'C0': [], 'C1': []}
"""

from dataclasses import replace

from assignlab.assignors.kafka_python import sticky
from assignlab.assignors.parts.python_sticky import final_assignment
from assignlab.assignors.strategy import by_rules

assign = by_rules(final_assignment, cooperative=True, undoes=True)

STRATEGY = replace(
    sticky.STRATEGY,
    name="kafka-python-cooperative-sticky",
    protocol="cooperative",
    source="kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor",
    look=("purple", "*", "dash dot dot"),
    member_fields=("owned", "sub_generation", "instance"),
    generations=(),  # claims come without one
    assign=assign,
)
