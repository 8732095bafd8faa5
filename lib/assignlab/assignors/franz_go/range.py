"""``franz-go-range``: franz-go's RangeBalancer.

The rule is Java's (see ``range``): topic by topic one contiguous range per subscriber, static
members first, the first subscribers with one partition more. Racks count only for a client that
asks for it (``BalanceRacks``), which this is not.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

Members read their topics by name.
"""

from assignlab.assignment import Assignment
from assignlab.assignors.code_points import subscribers_static_first, topics_by_name
from assignlab.assignors.kafka.range_2_0 import assign_ranges
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber."""
    topics = group.prepared(topics_by_name)
    return assign_ranges(group, topics, *group.prepared(subscribers_static_first))


STRATEGY = Strategy(
    name="franz-go-range",
    system="franz-go",
    first="1.22.2",
    last="1.22.2",
    protocol="eager",
    sticky=False,
    source="kgo.RangeBalancer (github.com/twmb/franz-go v1.22.2)",
    assign=assign,
)
