"""``heaviest-first``: each partition to the least loaded member, the heaviest first (LPT).

The rule. Walk all partitions by weight, the heaviest first (equal ones by topic name and number);
give each to the subscriber of its topic that has the least load so far, of these to the one with
the fewest partitions, of these to the first by member id.

Known as longest processing time first, LPT (R. L. Graham, Bounds on multiprocessing timing
anomalies, SIAM Journal on Applied Mathematics 17, 1969); LinkedIn's Brooklin assigns so by
throughput (LoadBasedPartitionAssigner).

What it promises, in order
1. With equal subscriptions no member has more than 4/3 - 1/(3 n) of the least possible largest
   load, n members (Graham 1969).
2. With equal weights and subscriptions the sizes differ by one at the most.
With different subscriptions the bound does not hold. It is not sticky: a weight that changes the
order reshuffles what comes after it.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 3, "u": 2}, {"C0": ["t", "u"], "C1": ["t", "u"]},
...           weights={"t": [3, 3, 2], "u": [2, 2]})
>>> lists(g, assign(g))
{'C0': [['t', 0], ['t', 2], ['u', 1]], 'C1': [['t', 1], ['u', 0]]}

That is 7 and 5; the optimum is 6 and 6: Graham's bound for two members, 7/6, is reached.
"""

import numpy as np

from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.load_aware.parts.readers import (
    Readers,
    all_play,
    nobody_plays,
    plays,
    readers,
    winner,
)
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Give the sorted partitions to the least loaded."""
    known = group.prepared(weighed.weighed)
    order = weighed.heaviest_first(known.weights)
    owners = to_least_loaded(order, known.weights, known.topic, tuple(group.prepared(readers)))
    return weighed.in_order(group, owners, order)


@njit
def to_least_loaded(order, weights, topic, readers_of_topics):
    """The owner of each partition: int64[n]."""
    owners = np.empty(weights.size, dtype=np.int64)
    who = Readers(*readers_of_topics)
    load = np.zeros(who.leaf.size)
    size = np.zeros(who.leaf.size, dtype=np.int64)
    least_loaded = nobody_plays(who.leaf, who.place, load, size)
    all_play(least_loaded)
    for p in order:
        m = winner(least_loaded, who, topic[p])
        owners[p] = m
        load[m] += weights[p]
        size[m] += 1
        plays(least_loaded, m)
    return owners


STRATEGY = Strategy(
    name="heaviest-first",
    system="load-aware",
    first="1969",
    last="1969",
    protocol="eager",
    source="Graham 1969, longest processing time first",
    look=("green", "d", "dashed"),
    exceptions={"vectors": weighed.NO_ORIGINAL, "promises": weighed.WEIGHTS_DECIDE},
    reads_weights=True,
    assign=assign,
)
