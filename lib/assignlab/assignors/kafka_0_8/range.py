"""``scala-range``: the range assignor of Kafka 0.8's Scala consumer.

The rule. For each topic by itself: lay out its partitions in numeric order and the consumer threads
that read it in the order of their names; cut the partitions into as many contiguous ranges as there
are threads; where that does not divide evenly, the first threads get one partition more.
No leader does this: every consumer reads the group from ZooKeeper, computes the whole and keeps its
own part. So a thread without a partition is idle, and everybody who reads the same gets the same.
The rule is one in all releases, until 1.1.1 was the last to hold this consumer.

What it promises, in order
1. Every topic is spread within one partition over its threads.
2. Topics with the same threads and the same number of partitions are cut alike.
It does not promise balance over topics: the threads that sort first get the extra partition of
every topic, and names sort as strings (``c-10`` before ``c-2``).

Two consumers with two streams each and five partitions, then three consumers with one:

>>> from assignlab.assignors.answer import answer
>>> answer({"strategy": "scala-range", "topics": [{"name": "p", "partitions": 5}], "members": [
...     {"id": "C1", "topics": ["p"], "streams": 2}, {"id": "C2", "topics": ["p"], "streams": 2}]})
{'assignment': {'C1': [['p', 0, 'C1-0'], ['p', 1, 'C1-0'], ['p', 2, 'C1-1']], \
'C2': [['p', 3, 'C2-0'], ['p', 4, 'C2-1']]}}
>>> from assignlab.group.plain import group
>>> g = group({"t": 10}, {"a": ["t"], "b": ["t"], "c": ["t"]})
>>> [assign(g).of(m).tolist() for m in range(3)]
[[0, 1, 2, 3], [4, 5, 6], [7, 8, 9]]
"""

import numpy as np

from assignlab.assignors.kafka_0_8.parts import threads
from assignlab.assignors.parts.orders import topics_by_name
from assignlab.assignors.parts.ranges import range_of, shares_of
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per thread.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws.
    """
    reading = *group.prepared(threads.by_topic), *group.prepared(threads.by_name)
    topics, partitions = group.prepared(topics_by_name), group.topics.partitions
    return Assignment(*assign_ranges(topics, partitions, *reading, len(group.members)))


@njit
def assign_ranges(topics, partitions, kind, starts, reading, member, number, members):
    """Range after range, topics by name: every member's list is sorted by topic and partition.

    As :func:`~assignlab.assignors.parts.ranges.lists_of_ranges`, but every partition is told its
    thread, too.
    ``topics``: int64[n] topic indices; ``partitions``: int64[topics]; ``kind``, ``starts``,
    ``reading``: see :class:`~assignlab.assignors.kafka_0_8.parts.threads.Readers`, places in
    ``member`` and ``number``. Returns (offsets, codes, threads).
    """
    offsets = np.zeros(members + 1, dtype=np.int64)
    for t in topics:
        begin = starts[kind[t]]
        consumers = starts[kind[t] + 1] - begin
        shares = shares_of(partitions[t], max(consumers, 1))
        for i in range(min(consumers, partitions[t])):
            _, n_parts = range_of(i, shares)
            offsets[member[reading[begin + i]] + 1] += n_parts
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    threads = np.empty(offsets[members], dtype=np.int32)
    for t in topics:
        begin = starts[kind[t]]
        consumers = starts[kind[t] + 1] - begin
        shares = shares_of(partitions[t], max(consumers, 1))
        for i in range(min(consumers, partitions[t])):
            thread = reading[begin + i]
            m = member[thread]
            start_part, n_parts = range_of(i, shares)
            for k in range(n_parts):
                codes[fill[m] + k] = code(t, start_part + k)
                threads[fill[m] + k] = number[thread]
            fill[m] += n_parts
    return offsets, codes, threads


STRATEGY = Strategy(
    name="scala-range",
    system="Kafka Scala consumer",
    membership="ZooKeeper",
    first="0.8.2.0",
    last="1.1.1",
    protocol="eager",
    source="kafka.consumer.RangeAssignor",
    original="kafka_2.11:0.8.2.2",
    look=("blue", "o", "solid"),
    member_fields=("streams",),
    promises=("thread_blocks",),
    exceptions={"large_groups": "every consumer of the original parses all registrations"},
    assign=assign,
)
