"""``aiokafka-range``: aiokafka's RangePartitionAssignor.

The rule is Java's (see ``range``) without racks and static members: topic by topic one contiguous
range per subscriber, by member id, the first subscribers with one partition more.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics. A member that names a topic twice counts twice and keeps
the second of its ranges.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

Members read their topics by name.
"""

from assignlab.assignors.parts.code_points import crowds_by_id, topics_by_name
from assignlab.assignors.parts.ranges import assign_last_ranges, cut_topics
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(cut_topics, walk=topics_by_name, crowds=crowds_by_id, into=assign_last_ranges)

STRATEGY = Strategy(
    name="aiokafka-range",
    system="aiokafka",
    client_id="aiokafka-",
    protocol="eager",
    source="aiokafka.coordinator.assignors.range.RangePartitionAssignor",
    first="0.11.0",
    original="aiokafka:0.14.0",
    look=("black", "s", "dashed"),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
