"""``lag-based``: LagBasedPartitionAssignor, as kafka-lag-based-assignor 2.0.0 has it.

The rule. For each topic by itself: walk its partitions by weight (there: the group's lag), the
heaviest first; give each to the subscriber that has the fewest partitions of this topic so far; of
these to the one with the least weight of this topic; of these to the first by member id.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Inside a topic the heaviest partitions go to different members.
It does not promise balance over topics: counters begin anew with each topic, so the same members
get the extra partition of every topic, as under range. Nor does it move less than it must: it knows
of no previous assignment.

The README's example, three partitions with a lag of 100,000, 60,000 and 50,000:

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 3}, {"C0": ["t"], "C1": ["t"]}, weights={"t": [100000, 60000, 50000]})
>>> lists(g, assign(g))
{'C0': [['t', 0]], 'C1': [['t', 1], ['t', 2]]}

One member has a lag of 100,000 and the other one of 110,000; range gives 160,000 and 50,000.

A member's list goes topic by topic, in the order of a ``HashMap``: its original, compiled from the
source of that release, gave the same lists (``tests/data/lag-based.jsonl.xz``).
"""

import numpy as np

from assignlab.assignors.load_aware.parts.weighed import NO_ORIGINAL, in_order, weighed
from assignlab.assignors.parts.orders import crowds_by_id, subscribed_newest_first
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Deal every topic by weight."""
    known = group.prepared(weighed)
    topics, partitions = group.prepared(subscribed_newest_first), group.topics.partitions
    topics = topics[partitions[topics] > 0]
    owners, order = assign_topics(
        topics, partitions, known.first, known.weights, *group.prepared(crowds_by_id)
    )
    return in_order(group, owners, order)


@njit
def assign_topics(topics, partitions, first, weights, spans, readers):
    """(owner of each partition, the partitions in the order of assignment), one topic after another.

    With a partition each, the subscribers of a topic are even again: whoever was served waits until
    all others are, so a round goes through them by weight and id; the first by id, for nobody has any.
    """
    owners = np.full(weights.size, -1, dtype=np.int64)
    order = np.empty(weights.size, dtype=np.int64)
    done = 0
    for t in topics:
        begin, end = first[t], first[t] + partitions[t]
        members = readers[spans[t, 0] : spans[t, 1]]
        load = np.zeros(members.size)
        by_weight = begin + np.argsort(-weights[begin:end], kind="mergesort")
        by_load = np.arange(members.size)
        for k in range(by_weight.size):
            if k > 0 and k % members.size == 0:
                by_load = np.argsort(load, kind="mergesort")
            p, place = by_weight[k], by_load[k % members.size]
            owners[p] = members[place]
            load[place] += weights[p]
            order[done] = p
            done += 1
    return owners, order


STRATEGY = Strategy(
    name="lag-based",
    system="load-aware",
    first="2.0.0",
    last="2.0.0",
    protocol="eager",
    source="com.github.grantneale.kafka.LagBasedPartitionAssignor",
    look=("orange", "d", "solid"),
    promises=("even_topics",),
    exceptions={"vectors": NO_ORIGINAL},
    reads_weights=True,
    assign=assign,
)
