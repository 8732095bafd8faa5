"""``kafka-python-range``: kafka-python's RangePartitionAssignor.

The rule is Java's (see ``range``) without racks: topic by topic one contiguous range per
subscriber, static members first, the first subscribers with one partition more.

What it promises, in order
1. Every topic is spread within one partition over the subscribers that it sees.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics. Nor that every member gets something: where static and
other members mix, some are lost (see :mod:`assignlab.assignors.kafka_python.parts.circles`), as
``a`` here. A member that names a topic twice counts twice and keeps the second of its ranges.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}
>>> g = group({"t": 5}, {"a": ["t"], "b": ["t"], "c": ["t"]}, instances={"a": "1", "c": "2"})
>>> lists(g, assign(g))
{'a': [], 'b': [['t', 3], ['t', 4]], 'c': [['t', 0], ['t', 1], ['t', 2]]}

Members read their topics by name.
"""

from assignlab.assignors.kafka_python.parts.circles import circles_of_topics
from assignlab.assignors.parts.code_points import topics_by_name
from assignlab.assignors.parts.ranges import assign_last_ranges, cut_topics
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(
    cut_topics, walk=topics_by_name, crowds=circles_of_topics, into=assign_last_ranges
)

STRATEGY = Strategy(
    name="kafka-python-range",
    system="kafka-python",
    client_id="kafka-python-",
    protocol="eager",
    source="kafka.coordinator.assignors.range.RangePartitionAssignor",
    first="3.0.0",
    original="kafka-python:3.0.12",
    look=("black", "v", "dash dot dot"),
    member_fields=("instance",),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
