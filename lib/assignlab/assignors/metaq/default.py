"""``metaq-default``: MetaQ's DefaultLoadBalanceStrategy.

The rule. For each topic by itself: sort its partitions and its consumers as strings; cut the
partitions into as many contiguous ranges as there are consumers; where that does not divide evenly,
the first consumers get one partition more.

What it promises, in order
1. Every partition hangs on one consumer of the group.
2. Of n partitions and m consumers, n mod m consumers carry one more than the others; with fewer
   partitions than consumers, the last consumers stay idle.
It does not promise balance over topics: the extra partitions of all topics go to the consumers that
sort first. Partitions sort as ``broker-partition``, so ``0-10`` comes before ``0-2``.

Five partitions on two brokers and three consumers, then one partition more than ten and two:

>>> from assignlab.document import answer
>>> def balance(brokers, *consumers):
...     return answer({"strategy": "metaq-default", "topics": [{"name": "t", "brokers": brokers}],
...                    "members": [{"id": c, "topics": ["t"]} for c in consumers]})["assignment"]
>>> for consumer, partitions in balance([["0", 2], ["1", 3]], "a", "b", "c").items():
...     print(consumer, *[name for topic, name in partitions])
a 0-0 0-1
b 1-0 1-1
c 1-2
>>> for consumer, partitions in balance([["0", 11]], "a", "b").items():
...     print(consumer, *[name for topic, name in partitions])
a 0-0 0-1 0-10 0-2 0-3 0-4
b 0-5 0-6 0-7 0-8 0-9
>>> [len(partitions) for partitions in balance([["0", 2]], "a", "b", "c").values()]
[1, 1, 0]
"""

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka.orders import subscribers_by_id, topics_by_name
from assignlab.assignors.metaq.partitions import lines, lists
from assignlab.compiled import njit
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per consumer."""
    sorted_partitions = group.prepared(lines)
    return Assignment(
        *assign_ranges(
            group.prepared(topics_by_name),
            sorted_partitions.of_topic,
            sorted_partitions.starts,
            sorted_partitions.order,
            *group.prepared(subscribers_by_id),
            len(group.members),
        )
    )


@njit
def assign_ranges(topics, line, begins, partitions, starts, consumers, members):
    """Range after range, topic after topic.

    ``topics``: int64[n] topic indices in the order of the walk; ``line``, ``begins``,
    ``partitions``: see :class:`~assignlab.assignors.metaq.partitions.Lines`; ``starts``,
    ``consumers``: per topic its consumers, sorted. Returns (offsets, codes).
    """
    offsets = np.zeros(members + 1, dtype=np.int64)
    for t in topics:
        count = begins[line[t] + 1] - begins[line[t]]
        sharing = starts[t + 1] - starts[t]
        for i in range(min(sharing, count)):
            offsets[consumers[starts[t] + i] + 1] += parts_of(i, count, sharing)
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    for t in topics:
        start_part = begins[line[t]]
        count = begins[line[t] + 1] - start_part
        sharing = starts[t + 1] - starts[t]
        for i in range(min(sharing, count)):
            m = consumers[starts[t] + i]
            parts = parts_of(i, count, sharing)
            for k in range(parts):
                codes[fill[m] + k] = (t << 32) + partitions[start_part + k]
            fill[m] += parts
            start_part += parts
    return offsets, codes


@njit
def parts_of(position, partitions, consumers):
    """nParts: how many partitions the consumer at this position gets."""
    return partitions // consumers + (1 if position < partitions % consumers else 0)


STRATEGY = Strategy(
    name="metaq-default",
    system="MetaQ",
    first="1.4.6.2",
    last="1.4.6.2",
    protocol="independent",
    sticky=False,
    source=(
        "com.taobao.metamorphosis.client.consumer.DefaultLoadBalanceStrategy "
        "(metamorphosis-client 1.4.6.2)"
    ),
    assign=assign,
    render=lists,
)
