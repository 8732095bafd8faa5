"""``sarama-range``: sarama's range strategy.

The rule. For each topic by itself: its partitions in order, its subscribers by member id; as many
contiguous ranges as there are subscribers; where that does not divide evenly, the first subscribers
get one partition more. That is Java's rule without static members and racks; instance ids play no
part, so a restart may move every range.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> topics = {"T1": 6, "T2": 5}
>>> g = group(topics, {"M1": list(topics), "M2": list(topics)})
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *("p".join(map(str, partition)) for partition in partitions))
M1 T1p0 T1p1 T1p2 T2p0 T2p1 T2p2
M2 T1p3 T1p4 T1p5 T2p3 T2p4

A plan is a Go map: topics have no order in it, and stand here by name.
"""

from assignlab.assignors.parts.code_points import crowds_by_id, topics_by_name
from assignlab.assignors.parts.ranges import assign_ranges, cut_topics
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(cut_topics, walk=topics_by_name, crowds=crowds_by_id, into=assign_ranges)

STRATEGY = Strategy(
    name="sarama-range",
    system="sarama",
    client_id="sarama-",
    protocol="eager",
    source="github.com/IBM/sarama.NewBalanceStrategyRange",
    first="1.40.1",
    original="sarama:1.61.1",
    look=("black", "<", "dash dot dot"),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
