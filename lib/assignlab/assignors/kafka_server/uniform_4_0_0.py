"""``server-uniform@4.0.0``: the first release in which KIP-848 is ready for use.

The rule. As ``server-uniform``. But with equal subscriptions the partitions that do not divide
evenly are promised to the first members in the order of the HashMap, whatever they hold. So a
balanced group may move partitions for nothing (KAFKA-18688, mended in 4.0.1).

>>> from assignlab.assignors.kafka_server.parts import sets
>>> from assignlab.group.plain import group
>>> everybody = dict.fromkeys(["C0", "C1"], ["t"])
>>> g = group({"t": 3}, everybody, {"C0": [("t", 0)], "C1": [("t", 1), ("t", 2)]})
>>> sets.as_sets(g, assign(g))
{'C0': [['t', 0], ['t', 2]], 'C1': [['t', 1]]}
>>> sets.as_sets(g, uniform.assign(g))
{'C0': [['t', 0]], 'C1': [['t', 1], ['t', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka_server import uniform
from assignlab.assignors.strategy import by_rules

assign = by_rules(uniform.assign, extras_in_turn=True)

STRATEGY = replace(
    uniform.STRATEGY,
    name="server-uniform@4.0.0",
    first="4.0.0",
    last="4.0.0",
    original="kafka-group-coordinator:4.0.0",
    look=("orange", "<", "dashdot"),
    promises=("fixed_point", "floor_and_ceiling"),
    assign=assign,
)
