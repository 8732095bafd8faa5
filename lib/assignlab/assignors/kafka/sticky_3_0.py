"""``sticky@3.0``: Kafka's StickyAssignor after both algorithms were rewritten.

The rule is that of ``sticky@3.4``, with the algorithms that later releases only correct
(KAFKA-12464, KAFKA-12675), but only claims of the newest generation count: what a member that
missed a rebalance says is ignored, even if nobody else claims it. Of several claims of that
generation for one partition none counts (KAFKA-12984).

With different subscriptions older claims still serve as a hint: the member of the newest of them
may get its partition back when the group is balanced.

The newest generation is that of all calls to one object, up to 3.4.0: where a coordinator has lost the
group and its generations begin anew, a leader that lives on takes no claims until they have passed
the old ones. Here every call is the first.

A has been in generation 2 and got nothing there, B was last in generation 1:

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 2}], "members": [
...     {"id": "A", "topics": ["t"], "owned": [], "generation": 2},
...     {"id": "B", "topics": ["t"], "owned": [["t", 0]], "generation": 1}]})
>>> lists(g, assign(g))
{'A': [['t', 0]], 'B': [['t', 1]]}
>>> lists(g, sticky.assign(g))
{'A': [['t', 1]], 'B': [['t', 0]]}
"""

from dataclasses import replace

from assignlab.assignors.kafka import sticky
from assignlab.assignors.strategy import by_rules

assign = by_rules(sticky.assign, release=30000)

STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@3.0",
    first="3.0.0",
    last="3.4.0",
    original="kafka-clients:3.0.1",
    look=("slate", "P", "dotted"),
    member_fields=("owned", "generation", "instance"),
    generations=("generation",),
    promises=sticky.PROMISES,
    assign=assign,
)
