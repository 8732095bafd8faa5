"""``server-uniform@3.9``: the uniform assignor of 3.8 and 3.9, when KIP-848 was a preview.

The rule. With equal subscriptions as ``server-uniform@4.0.0``. With different ones partitions are
dealt with one by one (:mod:`~assignlab.assignors.kafka_server.parts.heterogeneous_3_9`); rewritten
in 4.0 (KAFKA-17710). Some groups end in an exception, so that the coordinator has no new
assignment.

>>> from assignlab.group.plain import group
>>> g = group({"t": 2, "u": 2}, {"C0": ["t", "u"], "C1": ["t"]}, {"C0": [("t", 0), ("t", 1)]})
>>> sets.as_sets(g, assign(g))
{'C0': [['u', 0], ['u', 1]], 'C1': [['t', 0], ['t', 1]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka_server import uniform
from assignlab.assignors.kafka_server.parts import heterogeneous_3_9, sets
from assignlab.assignors.strategy import by_rules
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group

assign = by_rules(uniform.assign, extras_in_turn=True, different=heterogeneous_3_9.assign)


def reclaim(group: Group, after: Assignment) -> Assignment:
    """What the members hold at the next rebalance, as the assignor will walk it."""
    if group.prepared(sets.homogeneous):
        return uniform.reclaim(group, after)
    log, _ = group.of_claims(heterogeneous_3_9.moved)
    return heterogeneous_3_9.reclaimed(group, group.prepared(heterogeneous_3_9.shape), log)


STRATEGY = replace(
    uniform.STRATEGY,
    name="server-uniform@3.9",
    first="3.8.0",
    last="3.9.2",
    original="kafka-group-coordinator:3.9.2",
    look=("orange", "h", "dashdot"),
    promises=("floor_and_ceiling",),
    assign=assign,
    reclaim=reclaim,
)
