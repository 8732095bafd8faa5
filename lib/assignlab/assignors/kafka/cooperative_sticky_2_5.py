"""``cooperative-sticky@2.5``: Kafka's CooperativeStickyAssignor with the algorithm of 2.5.

The rule is that of ``sticky@2.5``, for claims that carry no generation: stale ones count like any
other. What another member must give up first is left out, as in ``cooperative-sticky``.

Both A and B keep what both claim:

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 1]]} for id in "AB"]})
>>> lists(g, assign(g))
{'A': [['t', 1], ['t', 0]], 'B': [['t', 1]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import cooperative_sticky_2_4, sticky_2_5
from assignlab.assignors.kafka.cooperative_sticky_2_4 import without_generations
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """As ``cooperative-sticky``, by the rules of 2.5.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    return sticky_2_5.assign(without_generations(group), cooperative=True)


STRATEGY = replace(
    cooperative_sticky_2_4.STRATEGY,
    name="cooperative-sticky@2.5",
    first="2.5.1",
    last="2.8.0",
    original="kafka-clients:2.5.1",
    look=("purple", "D", "dashed"),
    promises=sticky_2_5.STRATEGY.promises,
    assign=assign,
)
