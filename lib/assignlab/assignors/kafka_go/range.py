"""``kafka-go-range``: segmentio/kafka-go's RangeGroupBalancer.

The rule. For each topic by itself, with P partitions and n subscribers by member id: subscriber i
gets the partitions from ``i * P // n`` up to ``(i + 1) * P // n``. Where that does not divide
evenly, the extra partitions are spread over the subscribers and never go to the first: Java gives
them to the first ones.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics: the same subscribers get the extra partition of each.

The comment above the original says C0: [0, 1, 2] and C1: [3, 4] for this group:

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 5}, {"C0": ["t"], "C1": ["t"]})
>>> lists(g, assign(g))
{'C0': [['t', 0], ['t', 1]], 'C1': [['t', 2], ['t', 3], ['t', 4]]}

An assignment is a Go map: topics have no order in it, and stand here by name.
"""

from dataclasses import replace

from assignlab.assignors.kafka_go.parts.by_topic import hand_out, partitions
from assignlab.assignors.kafka_go.roundrobin import STRATEGY as ROUNDROBIN
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """The i-th subscriber whose cut ``(i + 1) * P // n`` lies behind the partition gets it."""
    known = group.prepared(partitions)
    turn = ((known.partition + 1) * known.sharing - 1) // known.count
    return hand_out(group, known, turn)


STRATEGY = replace(
    ROUNDROBIN,
    name="kafka-go-range",
    source="github.com/segmentio/kafka-go.RangeGroupBalancer",
    look=("black", "^", "dash dot dot"),
    promises=("contiguous", "even_topics", "cut_alike"),
    favours="the last member, but never the first,",
    assign=assign,
)
