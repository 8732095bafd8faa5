"""``sarama-roundrobin``: sarama's round robin strategy.

The rule. Write every partition as ``topic-number`` and sort these *strings*; deal them around the
circle of member ids, passing over members that do not subscribe to the topic. So partition 10 comes
before partition 2, and topics whose names begin alike may interleave.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing: members passed over are not made up for.
It is not sticky. Without members, or without any topic that exists, it returns an error.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t": 12}, {"M0": ["t"], "M1": ["t"]})
>>> lists(g, assign(g))["M0"]
[['t', 0], ['t', 10], ['t', 2], ['t', 4], ['t', 6], ['t', 8]]
>>> lists(g, assign(g))["M1"]
[['t', 1], ['t', 11], ['t', 3], ['t', 5], ['t', 7], ['t', 9]]

A plan is a Go map: topics have no order in it, and stand here by name. The partitions of a topic
stand in the order of the deal.
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.parts import partitions
from assignlab.assignors.parts.code_points import members_by_id, topic_ranks
from assignlab.assignors.parts.dealing import deal_in_order
from assignlab.assignors.sarama.range import STRATEGY as RANGE
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, partition_of, topic_of
from assignlab.group.model import NO_METADATA, Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Deal the partitions in the order of their names as strings.

    Raises :class:`~assignlab.errors.OriginalError` without members, or without any topic that exists.
    """
    members = group.members
    subscribed = group.prepared(subscriptions_by_topic)
    known = subscribed.any(axis=0) & (group.topics.partitions != NO_METADATA)
    if len(members) == 0 or not known.any():
        raise OriginalError("errorString", "members and topics are not provided")
    codes = group.prepared(partitions_as_strings)
    owners = deal_in_order(codes, group.prepared(members_by_id), members.subscription, subscribed)
    by_topic = np.argsort(group.prepared(topic_ranks)[topic_of(codes)], kind="stable")
    return Assignment(*by_member(owners[by_topic], codes[by_topic], len(members)))


def partitions_as_strings(group: Group) -> np.ndarray:
    """The codes of all subscribed partitions, sorted by ``comparedValue``: int64[n]."""
    codes = partitions.subscribed(group)
    names = group.topics.names
    numbered = zip(topic_of(codes).tolist(), partition_of(codes).tolist(), strict=True)
    strings = [f"{names[t]}-{p}" for t, p in numbered]
    return codes[sorted(range(codes.size), key=strings.__getitem__)]


STRATEGY = replace(
    RANGE,
    name="sarama-roundrobin",
    source="github.com/IBM/sarama.NewBalanceStrategyRoundRobin",
    look=("olive", ">", "dash dot dot"),
    promises=("floor_and_ceiling",),
    assign=assign,
)
