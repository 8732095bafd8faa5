"""``cooperative-sticky@3.5.0``: Kafka's CooperativeStickyAssignor with racks and faults of 3.4.1.

The rule is that of ``sticky@3.5.0``, in rounds as in ``cooperative-sticky``.

>>> from assignlab.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": id, "topics": ["t"], "owned": [["t", 0]], "sub_generation": n}
...     for id, n in (("A", 2), ("B", 1), ("C", 2))]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1], ['t', 2]], 'C': [['t', 0]]}
"""

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import cooperative_sticky
from assignlab.assignors.kafka.sticky import assign_sticky
from assignlab.assignors.kafka.sticky_3_5_0 import RELEASE
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """As ``cooperative-sticky``, by the rules of 3.5.0.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where a crowded hash bin, which Java may walk otherwise, decided.
    """
    return assign_sticky(group, cooperative=True, release=RELEASE)


STRATEGY = Strategy(
    name="cooperative-sticky@3.5.0",
    system="Kafka consumer",
    first="3.5.0",
    last="3.5.1",
    protocol="cooperative",
    sticky=True,
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor (kafka-clients 3.5.1)",
    assign=assign,
    reclaim=cooperative_sticky.reclaim,
    generations=("sub_generation",),
)
