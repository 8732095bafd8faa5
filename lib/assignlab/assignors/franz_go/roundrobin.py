"""``franz-go-roundrobin``: franz-go's RoundRobinBalancer.

The rule is Java's (see ``roundrobin``): all partitions by topic and number around one circle of
members, static members first, passing over those that do not subscribe to the topic. Only names
with characters beyond U+FFFF sort otherwise than in Java.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 1, "t1": 2, "t2": 3},
...           {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0]], 'C1': [['t1', 0]], 'C2': [['t1', 1], ['t2', 0], ['t2', 1], ['t2', 2]]}
"""

from dataclasses import replace

from assignlab.assignors.franz_go.range import STRATEGY as RANGE
from assignlab.assignors.parts.code_points import static_members_first, topics_by_name
from assignlab.assignors.parts.dealing import deal
from assignlab.assignors.strategy import by_rules

assign = by_rules(deal, walk=topics_by_name, circle=static_members_first)

STRATEGY = replace(
    RANGE,
    name="franz-go-roundrobin",
    source="github.com/twmb/franz-go/pkg/kgo.RoundRobinBalancer",
    look=("olive", "s", "dash dot dot"),
    promises=("floor_and_ceiling", "goes_round"),
    assign=assign,
)
