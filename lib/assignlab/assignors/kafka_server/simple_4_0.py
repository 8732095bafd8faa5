"""``server-simple@4.0``: share groups as they began (3.9 and 4.0): everybody gets everything.

The rule. Every member gets all partitions of all topics that it subscribes to. Who holds what does
not count.

>>> from assignlab.assignors.kafka_server.parts import sets
>>> from assignlab.group.plain import group
>>> g = group({"t0": 2, "t1": 1}, {"C0": ["t0"], "C1": ["t0", "t1"]})
>>> sets.as_sets(g, assign(g))
{'C0': [['t0', 0], ['t0', 1]], 'C1': [['t0', 0], ['t0', 1], ['t1', 0]]}

The original hands one set of all partitions to every member of a group that subscribes alike; here
every member has a list of its own, made once per set of topics and members.
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka_server import simple
from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Group, subscriptions_by_topic
from assignlab.jvm.hash_map import NOTHING

MANY = 2**19
"""From so many codes on (4 MB) numpy makes room for them: unlike compiled code it asks Linux for
huge pages, which are filled faster."""


def assign(group: Group) -> Assignment:
    """Everything that it subscribes to, for everybody."""
    offsets, codes = group.prepared(everything)
    return Assignment(offsets.copy(), codes.copy())


def everything(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, codes) of the assignment, which depend on topics and subscriptions only."""
    group = sets.as_told(group, orders.members_by_hash)
    known = (
        group.members.subscription, group.prepared(subscriptions_by_topic), group.topics.partitions
    )  # fmt: skip
    offsets, codes = all_of_each(*known, NOTHING)
    if codes.size < offsets[-1]:
        offsets, codes = all_of_each(*known, np.empty(offsets[-1], dtype=np.int64))
    return offsets, codes


@njit
def all_of_each(subscription, subscribed, partitions, room):
    """(offsets, codes) of all members; ``subscribed``: bool[subscriptions, topics]; ``room``: for
    the codes, which are left out if there are ``MANY`` and no room for them."""
    sizes = np.zeros(subscribed.shape[0], dtype=np.int64)
    made = np.full(subscribed.shape[0], -1, dtype=np.int64)  # where such a list stands already
    for s in range(sizes.size):
        for t in range(partitions.size):
            if subscribed[s, t]:
                sizes[s] += max(partitions[t], 0)
    offsets = np.zeros(subscription.size + 1, dtype=np.int64)
    for m in range(subscription.size):
        offsets[m + 1] = offsets[m] + sizes[subscription[m]]
    codes = room
    if room.size < offsets[-1]:
        if offsets[-1] >= MANY:
            return offsets, codes
        codes = np.empty(offsets[-1], dtype=np.int64)
    for m in range(subscription.size):
        s, n = subscription[m], offsets[m]
        if made[s] != -1:
            copy_into(codes, n, codes[made[s] : made[s] + sizes[s]])
            continue
        made[s] = n
        for t in range(partitions.size):
            if subscribed[s, t]:
                for p in range(partitions[t]):
                    codes[n] = code(t, p)
                    n += 1
    return offsets, codes


STRATEGY = replace(
    simple.STRATEGY,
    name="server-simple@4.0",
    first="3.9.0",
    last="4.0.2",
    sticky=False,
    original="kafka-group-coordinator:4.0.2",
    look=("green", "X", "dashdot"),
    promises=("everything",),
    assign=assign,
    reclaim=None,
)
