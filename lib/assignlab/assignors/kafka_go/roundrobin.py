"""``kafka-go-roundrobin``: segmentio/kafka-go's RoundRobinGroupBalancer.

The rule. For each topic by itself: partition p goes to subscriber ``p % n`` by member id. Every
topic begins anew at the first subscriber, where Java goes on around one circle.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Partition p of topics with the same subscribers has the same owner, however many partitions the
   topics have.
It does not promise balance over topics: with one-partition topics the first subscriber gets them
all.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> topics = {"t0": 1, "t1": 1, "t2": 1, "t3": 3}
>>> g = group(topics, {"C0": list(topics), "C1": list(topics)})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t1', 0], ['t2', 0], ['t3', 0], ['t3', 2]], 'C1': [['t3', 1]]}

An assignment is a Go map: topics have no order in it, and stand here by name.
"""

from assignlab.assignors.kafka_go.parts.by_topic import hand_out, partitions
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Deal every topic from its first subscriber on."""
    known = group.prepared(partitions)
    return hand_out(group, known, known.partition % known.sharing)


STRATEGY = Strategy(
    name="kafka-go-roundrobin",
    system="kafka-go",
    protocol="eager",
    source="github.com/segmentio/kafka-go.RoundRobinGroupBalancer",
    first="0.2.0",
    original="kafka-go:0.4.51",
    client_id="*(github.com/segmentio/kafka-go)-",
    look=("olive", "D", "dash dot dot"),
    promises=("even_topics", "goes_round", "one_place_for_all_topics"),
    assign=assign,
)
