"""``sticky@2.8``: Kafka's StickyAssignor that notices rival claims.

The rule is that of ``sticky@2.5`` but for one thing: with equal subscriptions, a partition that
several members of the newest generation claim is taken from all of them and given out anew.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 1]], "generation": 1} for id in "AB"]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1]]}
>>> lists(g, sticky_2_5.assign(g))
{'A': [['t', 1], ['t', 0]], 'B': [['t', 1]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky_2_5
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group

RELEASE = 20801


def assign(group: Group) -> Assignment:
    """As ``sticky@2.5``, by the rules of 2.8.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    return sticky_2_5.assign_sticky(group, cooperative=False, release=RELEASE)


STRATEGY = replace(
    sticky_2_5.STRATEGY,
    name="sticky@2.8",
    first="2.8.1",
    last="2.8.2",
    original="kafka-clients:2.8.2",
    look=("slate", "v", "dotted"),
    assign=assign,
)
