"""``cooperative-sticky``: Kafka's CooperativeStickyAssignor (since 3.7.1).

The rule is that of ``sticky``, in rounds. Members keep consuming during a rebalance, so a partition
that goes from one to another must first be given up: it is left out of this assignment, its old
owner gives it up and asks for another rebalance, and in that one it is free to be assigned.

What it promises beside balance and stickiness: nobody stops consuming what it keeps. Usually two
rounds are enough.

Claims are the partitions that members own (``Subscription.ownedPartitions``) with the
subscription's generation, or one from the user data of older clients.

A third member joins: in the first round C1 gives up one partition, which nobody has until C2 gets
it in the second.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 4}, {"C0": ["t0"], "C1": ["t0"], "C2": ["t0"]}, generation=1,
...           owned={"C0": [("t0", 0), ("t0", 2)], "C1": [("t0", 1), ("t0", 3)]})
>>> first = lists(g, assign(g))
>>> first
{'C0': [['t0', 0], ['t0', 2]], 'C1': [['t0', 1]], 'C2': []}
>>> g = group({"t0": 4}, {"C0": ["t0"], "C1": ["t0"], "C2": ["t0"]}, generation=2, owned=first)
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2]], 'C1': [['t0', 1]], 'C2': [['t0', 3]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky
from assignlab.assignors.kafka.parts.claims import shape_of
from assignlab.assignors.parts.sorted_lists import by_topic_and_partition
from assignlab.assignors.strategy import by_rules
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group

assign = by_rules(sticky.assign, cooperative=True)


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: by topic name and partition."""
    shape, rank = group.prepared(shape_of), group.topics.names.rank
    return by_topic_and_partition(
        assignment, shape.by_id, shape.base, shape.partitions, shape.codes, rank
    )


STRATEGY = replace(
    sticky.STRATEGY,
    name="cooperative-sticky",
    protocol="cooperative",
    source="org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
    look=("purple", "s", "solid"),
    generations=("sub_generation",),
    promises=(*sticky.STRATEGY.promises, "eager_less_held_back"),
    assign=assign,
    reclaim=reclaim,
)
