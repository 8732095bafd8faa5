"""``roundrobin``: Kafka's RoundRobinAssignor (since 2.4, with static members).

The rule. Lay out all partitions of all subscribed topics by topic name and number, and all members
in a circle: static members first, by group.instance.id, then the others by member id. Deal the
partitions one by one; a member that does not subscribe to the topic is passed over, and the deal
goes on behind the member that was served.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky: one member more or less reshuffles nearly everything. Without members it throws.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> g = group({"t0": 1, "t1": 2, "t2": 3},
...           {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0]], 'C1': [['t1', 0]], 'C2': [['t1', 1], ['t2', 0], ['t2', 1], ['t2', 2]]}
"""

import numpy as np

from assignlab.assignment import Assignment, by_member
from assignlab.assignors.kafka import orders
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle of members."""
    refuse_empty_circle(group)
    topics = group.prepared(orders.topics_by_name)
    return deal(group, topics, group.prepared(orders.members_by_info))


def refuse_empty_circle(group: Group) -> None:
    """Without members the original has no circle to begin with: raises :class:`OriginalError`."""
    if len(group.members) == 0:
        raise OriginalError("IllegalArgumentException", "the circle of members is empty")


def deal(group: Group, topics: np.ndarray, circle: np.ndarray) -> Assignment:
    """Deal all partitions of these topics, by number, around a circle of member indices."""
    partitions = group.topics.partitions
    if group.members.offsets.size == 2:
        return Assignment(*deal_to_all(topics, partitions, circle))
    subscribed = group.prepared(subscriptions_by_topic)
    owners, codes = deal_to_subscribers(
        topics, partitions, circle, group.members.subscription, subscribed
    )
    return Assignment(*by_member(owners, codes, circle.size))


def subscriptions_by_topic(group: Group) -> np.ndarray:
    """Whether a subscription names a topic: bool[subscriptions, topics]."""
    members = group.members
    subscribed = np.zeros((members.offsets.size - 1, len(group.topics)), dtype=np.bool_)
    rows = np.repeat(np.arange(members.offsets.size - 1), np.diff(members.offsets))
    subscribed[rows, members.topics] = True
    return subscribed


@njit
def deal_to_all(topics, partitions, circle):
    """Everybody subscribes to everything: position k of the deal goes to ``circle[k % n]``."""
    n = circle.size
    total = 0
    for t in topics:
        total += partitions[t]
    offsets = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        offsets[circle[i] + 1] = total // n + (1 if i < total % n else 0)
    for m in range(n):
        offsets[m + 1] += offsets[m]
    codes = np.empty(total, dtype=np.int64)
    turn = 0
    lap = 0
    for t in topics:
        first = t << 32
        for p in range(partitions[t]):
            codes[offsets[circle[turn]] + lap] = first + p
            turn += 1
            if turn == n:
                turn = 0
                lap += 1
    return offsets, codes


@njit
def deal_to_subscribers(topics, partitions, circle, subscription, subscribed):
    """Deal, passing over members that do not subscribe to the topic. Returns (owners, codes)."""
    total = 0
    for t in topics:
        total += partitions[t]
    owners = np.empty(total, dtype=np.int64)
    codes = np.empty(total, dtype=np.int64)
    turn = 0
    k = 0
    for t in topics:
        first = t << 32
        for p in range(partitions[t]):
            while not subscribed[subscription[circle[turn]], t]:
                turn = (turn + 1) % circle.size
            owners[k] = circle[turn]
            codes[k] = first + p
            k += 1
            turn = (turn + 1) % circle.size
    return owners, codes


STRATEGY = Strategy(
    name="roundrobin",
    system="Kafka consumer",
    first="2.4.0",
    last="4.4.0",
    protocol="eager",
    sticky=False,
    source="org.apache.kafka.clients.consumer.RoundRobinAssignor (kafka-clients 4.4.0)",
    assign=assign,
)
