"""``franz-go-roundrobin``: franz-go's RoundRobinBalancer.

The rule is Java's (see ``roundrobin``): all partitions by topic and number around one circle of
members, static members first, passing over those that do not subscribe to the topic. Only names
with characters beyond U+FFFF sort otherwise than in Java.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 1, "t1": 2, "t2": 3},
...           {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0]], 'C1': [['t1', 0]], 'C2': [['t1', 1], ['t2', 0], ['t2', 1], ['t2', 2]]}
"""

from assignlab.assignment import Assignment
from assignlab.assignors.code_points import static_members_first, topics_by_name
from assignlab.assignors.kafka.roundrobin import deal
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle of members."""
    return deal(group, group.prepared(topics_by_name), group.prepared(static_members_first))


STRATEGY = Strategy(
    name="franz-go-roundrobin",
    system="franz-go",
    first="1.22.2",
    last="1.22.2",
    protocol="eager",
    sticky=False,
    source="kgo.RoundRobinBalancer (github.com/twmb/franz-go v1.22.2)",
    assign=assign,
)
