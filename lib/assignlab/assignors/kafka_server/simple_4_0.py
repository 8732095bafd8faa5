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


def assign(group: Group) -> Assignment:
    """Everything that it subscribes to, for everybody."""
    offsets, codes = group.prepared(everything)
    return Assignment(offsets.copy(), codes.copy())


def everything(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, codes) of the assignment, which depend on topics and subscriptions only."""
    group = sets.as_told(group, orders.members_by_hash)
    subscription, partitions = group.members.subscription, group.topics.partitions
    subscribed = group.prepared(subscriptions_by_topic)
    offsets = begins(subscription, subscribed, partitions)
    # Of 4 MB and more numpy asks for huge pages, unlike compiled code: these are filled faster.
    codes = np.empty(offsets[-1], dtype=np.int64)
    fill(codes, offsets, subscription, subscribed, partitions)
    return offsets, codes


@njit
def begins(subscription, subscribed, partitions):
    """Where the members' lists begin; ``subscribed``: bool[subscriptions, topics]."""
    sizes = np.zeros(len(subscribed), dtype=np.int64)
    for s in range(sizes.size):
        for t in range(partitions.size):
            if subscribed[s, t]:
                sizes[s] += max(partitions[t], 0)
    offsets = np.zeros(subscription.size + 1, dtype=np.int64)
    for m in range(subscription.size):
        offsets[m + 1] = offsets[m] + sizes[subscription[m]]
    return offsets


@njit
def fill(codes, offsets, subscription, subscribed, partitions):
    """Write the lists, one that is there already copied."""
    first = np.full(subscribed.shape[0], -1, dtype=np.int64)  # that has such a list
    for m in range(subscription.size):
        s, n = subscription[m], offsets[m]
        if first[s] != -1:
            copy_into(codes, n, codes[offsets[first[s]] : offsets[first[s] + 1]])
            continue
        first[s] = m
        for t in range(partitions.size):
            if subscribed[s, t]:
                for p in range(partitions[t]):
                    codes[n] = code(t, p)
                    n += 1


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
