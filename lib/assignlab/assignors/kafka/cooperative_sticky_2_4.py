"""``cooperative-sticky@2.4``: Kafka's first CooperativeStickyAssignor (KIP-429).

The rule is that of ``sticky@2.4``, for claims that carry no generation: of two members that claim
one partition, the one that is read last keeps it. Then every partition that would go to one member
while another still claims it is taken out: its old owner gives it up first, and the next rebalance
hands it out.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 4}, {"A": ["t"], "B": ["t"]}, owned={"A": [("t", p) for p in range(4)]})
>>> lists(g, assign(g))
{'A': [['t', 1], ['t', 0]], 'B': []}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import cooperative_sticky, sticky_2_3, sticky_2_4
from assignlab.assignors.kafka.parts.way_back import regroup
from assignlab.group.assignment import Assignment
from assignlab.group.model import ABSENT, Group


def assign(group: Group) -> Assignment:
    """As ``sticky@2.4``, without the partitions that must first be revoked.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws or never ends. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    return sticky_2_3.assign(without_generations(group), cooperative=True, new_first=True)


def without_generations(group: Group) -> Group:
    """The same group, whose claims are of no generation."""
    absent = np.full(len(group.members), ABSENT)
    return group.with_claims(replace(group.claims, generation=absent))


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back: sorted, then grouped by topic on the wire.

    That the partitions of a topic are sorted is the oracle's doing (``oracle/README.md``): consumers
    of 2.4 and 2.5 sent them in the order of their hash table.
    """
    by_partition = cooperative_sticky.reclaim(group, assignment)
    return regroup(group, by_partition, newest_first=True, times=1)


STRATEGY = replace(
    sticky_2_4.STRATEGY,
    name="cooperative-sticky@2.4",
    first="2.4.0",
    last="2.5.0",
    original="kafka-clients:2.4.1",
    look=("purple", "^", "dashed"),
    protocol="cooperative",
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    generations=(),
    reclaim=reclaim,
    assign=assign,
)
