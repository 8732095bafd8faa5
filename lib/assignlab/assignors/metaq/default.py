"""``metaq-default``: MetaQ's DefaultLoadBalanceStrategy.

The rule. For each topic by itself: sort its partitions and its consumers as strings; cut the
partitions into as many contiguous ranges as there are consumers; where that does not divide evenly,
the first consumers get one partition more.

What it promises, in order
1. Every partition hangs on one consumer of the group.
2. Of n partitions and m consumers, n mod m consumers carry one more than the others; with fewer
   partitions than consumers, the last consumers stay idle.
It does not promise balance over topics: the extra partitions of all topics go to the consumers that
sort first. Partitions sort as ``broker-partition``, so ``0-10`` comes before ``0-2``. A consumer
that names a topic twice counts twice, and what its second place gives hangs on nobody.

Five partitions on two brokers and three consumers, then one partition more than ten and two:

>>> from assignlab.assignors.answer import answer
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

from assignlab.assignors.metaq.parts.partitions import BROKER, lines, lists
from assignlab.assignors.parts.orders import (
    as_often_as_named,
    crowds_by_id,
    place_of_same_member,
    topics_by_name,
)
from assignlab.assignors.parts.ranges import range_of, shares_of
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per consumer."""
    sorted_partitions = group.prepared(lines)
    nobody = len(group.members)
    offsets, codes = assign_ranges(
        group.prepared(topics_by_name), *sorted_partitions[:3], *first_places(group, nobody),
        nobody + 1,
    )  # fmt: skip
    return Assignment(offsets[:-1], codes[: offsets[-2]])


def first_places(group: Group, nobody: int) -> tuple[np.ndarray, np.ndarray]:
    """Per topic its consumers by id; each looks for its first place, other places are nobody's."""
    once = group.prepared(crowds_by_id)
    spans, consumers = as_often_as_named(group, *once)
    if consumers is not once[1]:
        consumers[1:][place_of_same_member(spans, consumers)] = nobody
    return spans, consumers


@njit
def assign_ranges(topics, line, begins, partitions, spans, consumers, members):
    """Range after range, topic after topic.

    As :func:`~assignlab.assignors.parts.ranges.lists_of_ranges`, but partitions stand in a line that
    is sorted as text; looked up behind the shared function they cost a third more.
    ``topics``: int64[n] topic indices in the order of the walk; ``line``, ``begins``,
    ``partitions``: see :class:`~assignlab.assignors.metaq.parts.partitions.Lines`; ``spans``,
    ``consumers``: per topic its consumers, sorted. Returns (offsets, codes).
    """
    offsets = np.zeros(members + 1, dtype=np.int64)
    for t in topics:
        count = begins[line[t] + 1] - begins[line[t]]
        sharing = spans[t, 1] - spans[t, 0]
        shares = shares_of(count, max(sharing, 1))
        for i in range(min(sharing, count)):
            _, n_parts = range_of(i, shares)
            offsets[consumers[spans[t, 0] + i] + 1] += n_parts
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    for t in topics:
        begin = begins[line[t]]
        count = begins[line[t] + 1] - begin
        sharing = spans[t, 1] - spans[t, 0]
        shares = shares_of(count, max(sharing, 1))
        for i in range(min(sharing, count)):
            m = consumers[spans[t, 0] + i]
            start_part, n_parts = range_of(i, shares)
            for k in range(n_parts):
                codes[fill[m] + k] = code(t, partitions[begin + start_part + k])
            fill[m] += n_parts
    return offsets, codes


STRATEGY = Strategy(
    name="metaq-default",
    system="MetaQ",
    membership="ZooKeeper",
    protocol="independent",
    source="com.taobao.metamorphosis.client.consumer.DefaultLoadBalanceStrategy",
    original="metamorphosis-client:1.4.6.2",
    look=("green", "<", "solid"),
    broker=BROKER,
    promises=("blocks", "even_topics"),
    assign=assign,
    render=lists,
)
