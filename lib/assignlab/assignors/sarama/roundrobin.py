"""``sarama-roundrobin``: sarama's round robin strategy.

The rule. Write every partition as ``topic-number`` and sort these *strings*; deal them around the
circle of member ids, passing over members that do not subscribe to the topic. So partition 10 comes
before partition 2, and topics whose names begin alike may interleave.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky. Without members, or without any topic that exists, it returns an error.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t": 12}, {"M0": ["t"], "M1": ["t"]})
>>> lists(g, assign(g))["M0"]
[['t', 0], ['t', 10], ['t', 2], ['t', 4], ['t', 6], ['t', 8]]
>>> lists(g, assign(g))["M1"]
[['t', 1], ['t', 11], ['t', 3], ['t', 5], ['t', 7], ['t', 9]]

A plan is a Go map: topics have no order in it, and stand here by name. The partitions of a topic
stand in the order of the deal.
"""

import numpy as np

from assignlab.assignment import Assignment, by_member, partition_of, topic_of
from assignlab.assignors import partitions
from assignlab.assignors.code_points import members_by_id, topic_ranks
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group import NO_METADATA, Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Deal the partitions in the order of their names as strings."""
    members = group.members
    subscribed = group.prepared(subscriptions_by_topic)
    known = subscribed.any(axis=0) & (group.topics.partitions != NO_METADATA)
    if len(members) == 0 or not known.any():
        raise OriginalError("errorString", "members and topics are not provided")
    codes = group.prepared(partitions_as_strings)
    owners = deal(codes, group.prepared(members_by_id), members.subscription, subscribed)
    by_topic = np.argsort(group.prepared(topic_ranks)[topic_of(codes)], kind="stable")
    return Assignment(*by_member(owners[by_topic], codes[by_topic], len(members)))


def partitions_as_strings(group: Group) -> np.ndarray:
    """The codes of all subscribed partitions, sorted by ``comparedValue``: int64[n]."""
    codes = partitions.subscribed(group)
    names = group.topics.names
    numbered = zip(topic_of(codes).tolist(), partition_of(codes).tolist(), strict=True)
    strings = [f"{names[t]}-{p}" for t, p in numbered]
    return codes[sorted(range(codes.size), key=strings.__getitem__)]


@njit
def deal(codes, circle, subscription, subscribed):
    """The owner of every partition, dealt in this order around the circle: int64[n]."""
    owners = np.empty(codes.size, dtype=np.int64)
    turn = 0
    for k in range(codes.size):
        t = codes[k] >> 32
        while not subscribed[subscription[circle[turn]], t]:
            turn = (turn + 1) % circle.size
        owners[k] = circle[turn]
        turn = (turn + 1) % circle.size
    return owners


STRATEGY = Strategy(
    name="sarama-roundrobin",
    system="sarama",
    first="1.61.1",
    last="1.61.1",
    protocol="eager",
    sticky=False,
    source="sarama.NewBalanceStrategyRoundRobin (github.com/IBM/sarama v1.61.1)",
    assign=assign,
)
