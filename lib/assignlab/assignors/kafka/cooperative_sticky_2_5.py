"""``cooperative-sticky@2.5``: Kafka's CooperativeStickyAssignor with the algorithm of 2.5.

The rule is that of ``sticky@2.5``, for claims that carry no generation: stale ones count like any
other. What another member must give up first is left out, as in ``cooperative-sticky``.

Both A and B keep what both claim:

>>> from assignlab.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 1]]} for id in "AB"]})
>>> lists(g, assign(g))
{'A': [['t', 1], ['t', 0]], 'B': [['t', 1]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import cooperative_sticky_2_4
from assignlab.assignors.kafka.sticky_2_5 import RELEASE, assign_sticky
from assignlab.group import ABSENT, Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """As ``cooperative-sticky``, by the rules of 2.5.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    claims = group.claims
    ungenerated = replace(claims, generation=np.full(claims.generation.size, ABSENT))
    return assign_sticky(group.with_claims(ungenerated), cooperative=True, release=RELEASE)


STRATEGY = Strategy(
    name="cooperative-sticky@2.5",
    system="Kafka consumer",
    first="2.5.1",
    last="2.8.0",
    protocol="cooperative",
    sticky=True,
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor (kafka-clients 2.5.1)",
    assign=assign,
    reclaim=cooperative_sticky_2_4.reclaim,
)
