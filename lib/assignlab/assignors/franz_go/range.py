"""``franz-go-range``: franz-go's RangeBalancer.

The rule is Java's (see ``range``): topic by topic one contiguous range per subscriber, static
members first, the first subscribers with one partition more. Racks count only for a client that
asks for it (``BalanceRacks``), which this is not.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
It does not promise balance over topics.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}

Members read their topics by name.
"""

from assignlab.assignors.parts.code_points import crowds_static_first, topics_by_name
from assignlab.assignors.parts.ranges import cut_topics
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(cut_topics, walk=topics_by_name, crowds=crowds_static_first)

STRATEGY = Strategy(
    name="franz-go-range",
    system="franz-go",
    client_id="kgo-",
    protocol="eager",
    source="github.com/twmb/franz-go/pkg/kgo.RangeBalancer",
    first="1.7.0",
    last="1.22.3",
    original="franz-go:1.22.2",
    look=("black", "o", "dash dot dot"),
    member_fields=("instance",),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
