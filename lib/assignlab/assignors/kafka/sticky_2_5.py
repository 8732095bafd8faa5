"""``sticky@2.5``: Kafka's StickyAssignor with an algorithm of its own for equal subscriptions.

The rule. With equal subscriptions (KAFKA-9987) members of the newest generation keep what they
claim up to their quota, those that are short are filled up, and take from the others if nothing is
left (:mod:`assignlab.assignors.kafka.parts.constrained_2_5`). With different subscriptions it is
that of ``sticky@2.4``, and partitions are always considered by (number of subscribers, topic,
partition).

What it promises: balance and stickiness as in ``sticky``, as long as claims do not rival.

What it does not promise. With equal subscriptions two members may claim one partition in one
generation and both keep it. With different ones, claims are forgotten: whether subscriptions are
equal is found out by reading the members one by one, claims included, up to the first that differs;
and what has been read from the user data is not there any more when they are read again. So a
member loses what it had for coming early in a HashMap.

C joins A and B, which have four and three partitions. Both may keep three; C gets what A must give
up, and then the first partition of A, which comes first in the HashMap:

>>> from assignlab.group.document import lists
>>> from assignlab.group.plain import group
>>> owned = {"A": [("t", p) for p in range(4)], "B": [("t", p) for p in range(4, 7)]}
>>> g = group({"t": 7}, {"A": ["t"], "B": ["t"], "C": ["t"]}, owned=owned, generation=1)
>>> lists(g, assign(g))
{'A': [['t', 1], ['t', 2]], 'B': [['t', 4], ['t', 5], ['t', 6]], 'C': [['t', 3], ['t', 0]]}

Everybody has its share, but C subscribes to more, so A and B are read in vain and swap partitions:

>>> owned = {"A": [("t", 1)], "B": [("t", 0)], "C": [("u", 0)]}
>>> g = group({"t": 2, "u": 1}, {"A": ["t"], "B": ["t"], "C": ["t", "u"]}, owned, generation=1)
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1]], 'C': [['u', 0]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import sticky, sticky_2_3, sticky_2_4
from assignlab.assignors.kafka.parts import constrained_2_5 as constrained
from assignlab.assignors.kafka.parts.claims import (
    all_subscriptions_equal,
    members_alike,
    packed_shape,
)
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.rival_claims import DEFAULT_GENERATION
from assignlab.group.assignment import Assignment
from assignlab.group.model import ABSENT, Claims, Group


def assign(group: Group, cooperative: bool = False, release: int = 20501) -> Assignment:
    """Keep, fill and steal, or read the claims that are left, sort and balance.

    So do both sticky assignors from 2.5 to 2.8. ``cooperative``, ``release``: see
    :func:`assignlab.assignors.kafka.sticky.assign`.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    if len(group.members) == 0:
        return Assignment.from_lists([])
    if group.prepared(all_subscriptions_equal):
        known = (group.prepared(packed_shape),)
        _, offsets, codes = sticky.run(constrained, group, known, cooperative, release)
        return Assignment(offsets, codes)
    left = group.with_claims(claims_left_to_read(group, cooperative))
    return sticky_2_3.assign(left, by_lists=False, cooperative=cooperative, new_first=True)


def claims_left_to_read(group: Group, cooperative: bool) -> Claims:
    """The claims as they are read a second time: those before the first difference are spoilt.

    Eager, all of it was in the user data. Cooperative, only the generation was.
    """
    claims = group.claims
    read = np.zeros(len(group.members), dtype=np.bool_)
    read[group.prepared(orders.members_by_hash)[: group.prepared(members_alike)]] = True
    if cooperative:
        spoilt = read & (claims.generation != ABSENT)
        return replace(claims, generation=np.where(spoilt, DEFAULT_GENERATION, claims.generation))
    counts = np.diff(claims.offsets)
    left = np.repeat(~read, counts)
    offsets = np.concatenate(([0], np.cumsum(np.where(read, 0, counts))))
    present = claims.present & ~read
    return replace(claims, offsets=offsets, codes=claims.codes[left], present=present)


STRATEGY = replace(
    sticky_2_4.STRATEGY,
    name="sticky@2.5",
    first="2.5.1",
    last="2.8.0",
    original="kafka-clients:2.5.1",
    look=("slate", "D", "dotted"),
    promises=(
        "floor_and_ceiling",
        "no_better_move",
        "keeps_most",
        "keeps_before_it_receives",
        "older_claims_lose",
    ),
    assign=assign,
)
