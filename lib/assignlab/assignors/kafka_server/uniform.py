"""``server-uniform``: the group coordinator's default assignor (KIP-848).

The rule. Everybody keeps what it holds as far as balance allows; partitions without an owner go to
the members that have least. If all members name the same topics, quotas are worked out first
(:mod:`~assignlab.assignors.kafka_server.parts.homogeneous`); otherwise partitions move topic by
topic from the most to the least loaded
(:mod:`~assignlab.assignors.kafka_server.parts.heterogeneous`).

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
   With different ones a topic's subscribers differ by one at the most if they all have the same
   subscription, otherwise almost.
2. Partitions stay with their owner. With equal subscriptions as many as balance allows; a group
   that is balanced does not move at all.

>>> from assignlab.group.plain import group
>>> topics = {"t0": 3, "t1": 3}
>>> g = group(topics, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> before = sets.as_sets(g, assign(g)); before
{'C0': [['t1', 0], ['t1', 1], ['t1', 2]], 'C1': [['t0', 0], ['t0', 1], ['t0', 2]]}
>>> g = group(topics, dict.fromkeys(["C0", "C1", "C2"], ["t0", "t1"]), before)
>>> sets.as_sets(g, assign(g))
{'C0': [['t1', 0], ['t1', 1]], 'C1': [['t0', 0], ['t0', 1]], 'C2': [['t0', 2], ['t1', 2]]}

The result is a set; it is given by topic name and partition.
"""

from collections.abc import Callable

import numpy as np

from assignlab.assignors.kafka_server.parts import heterogeneous, homogeneous, sets, targets
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(
    group: Group,
    extras_in_turn: bool = False,
    different: Callable[[Group], Assignment] = heterogeneous.assign,
) -> Assignment:
    """By the builder that the subscriptions call for.

    ``extras_in_turn``: see :func:`homogeneous.assign`; ``different``: the builder for different ones.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes (up to 3.9).
    """
    if len(group.members) == 0:
        return sets.nothing(group)
    if group.prepared(sets.homogeneous):
        return homogeneous.assign(group, extras_in_turn)
    return different(group)


def reclaim(group: Group, after: Assignment) -> Assignment:
    """What the members hold at the next rebalance, as the assignor will walk it."""
    stays = np.zeros(len(group.topics), dtype=np.bool_)
    if group.prepared(sets.homogeneous):
        return targets.reclaimed_after(group, after, stays, taken_again=False)
    return targets.reclaimed(group, heterogeneous.changes(group), stays)


STRATEGY = Strategy(
    name="server-uniform",
    system="Kafka coordinator",
    first="4.0.1",
    last="4.4.0",
    protocol="server",
    sticky=True,
    source="org.apache.kafka.coordinator.group.assignor.UniformAssignor",
    original="kafka-group-coordinator:4.4.0",
    look=("orange", "*", "solid"),
    member_fields=("owned", "instance"),
    promises=("fixed_point", "floor_and_ceiling", "keeps_most", "keeps_before_it_receives"),
    assign=assign,
    reclaim=reclaim,
    render=sets.as_sets,
)
