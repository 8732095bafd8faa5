"""``sticky@2.4``: Kafka's StickyAssignor that tries to move new partitions first (KAFKA-8767).

The rule is that of ``sticky@2.3`` but for one step. Partitions that nobody had have just been
handed out; if these alone can be moved to balance the group, what members keep stays where it is.
So they are walked first, again and again until nothing moves, and only then all partitions. Where a
member lost a partition that it no longer subscribes to, something is revoked anyway, and that walk
is left out.

It seldom makes a difference, as new partitions go to the members that have least in the first
place. Here C keeps "a", because "b", which is new, can go from A to B; ``sticky@2.3`` moves "a":

>>> from assignlab.document import lists, parse
>>> g = parse({
...     "topics": [{"name": "a", "partitions": 1}, {"name": "b", "partitions": 1},
...                {"name": "c", "partitions": 2}],
...     "members": [{"id": "A", "topics": ["b", "c"]}, {"id": "B", "topics": ["a", "b"]},
...                 {"id": "C", "topics": ["a", "c"], "owned": [["a", 0]], "generation": 1}]})
>>> lists(g, assign(g))
{'A': [['c', 0]], 'B': [['b', 0]], 'C': [['a', 0], ['c', 1]]}
>>> lists(g, sticky_2_3.assign(g))
{'A': [['b', 0], ['c', 0]], 'B': [['a', 0]], 'C': [['c', 1]]}

What it does not promise: moves of the first walk count for nothing when the original asks whether
moving was in vain.
"""

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import sticky_2_3
from assignlab.assignors.kafka.potential import potential
from assignlab.assignors.kafka.sticky_2_0 import balance
from assignlab.assignors.kafka.sticky_2_3 import prepopulate_current_assignments, sort_partitions
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Settle rival claims, sort the partitions, balance, new partitions first.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    known = group.prepared(potential)
    current, previous, in_key_order, revoked, read = prepopulate_current_assignments(group, known)
    sorted_partitions, ordered = sort_partitions(group, known, current, previous, in_key_order)
    offsets, codes = balance(
        group, known, current, sorted_partitions, previous, new_first=not revoked
    )
    return Assignment(offsets, codes, notes={} if read and ordered else {"nondeterministic": True})


STRATEGY = Strategy(
    name="sticky@2.4",
    system="Kafka consumer",
    first="2.4.0",
    last="2.5.0",
    protocol="eager",
    sticky=True,
    source="org.apache.kafka.clients.consumer.StickyAssignor (kafka-clients 2.4.1)",
    assign=assign,
    reclaim=sticky_2_3.reclaim,
    generations=("generation",),
)
