"""``kafka-python-roundrobin``: kafka-python's RoundRobinPartitionAssignor.

The rule. All partitions by topic and number around one circle of members, static members first.

What it promises, in order
1. With equal subscriptions the sizes of the members that it sees differ by one at the most.
2. With different subscriptions nothing. Java passes over a member that does not subscribe to the
   topic; this release takes the wrong thing for the next member's id there and throws a KeyError.
It is not sticky. Where static and other members mix, some are lost (see
:mod:`assignlab.assignors.kafka_python.parts.circles`).

>>> from assignlab.group.plain import group
>>> from assignlab.assignors.answer import answer
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> answer({"strategy": "kafka-python-roundrobin", "topics": [{"name": "t", "partitions": 1}],
...         "members": [{"id": "C0", "topics": []}, {"id": "C1", "topics": ["t"]}]})
{'error': "KeyError: 'C0' does not subscribe to 't', and the next member is not found"}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka_python.parts.circles import circle_of_all
from assignlab.assignors.kafka_python.range import STRATEGY as RANGE
from assignlab.assignors.parts.partitions import subscribed
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, topic_of
from assignlab.group.model import Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Deal the sorted partitions around the circle, as long as nobody has to be passed over.

    Raises :class:`~assignlab.errors.OriginalError` where somebody has to.
    """
    circle = group.prepared(circle_of_all)
    codes = group.prepared(subscribed)
    owners = circle[np.arange(codes.size) % max(1, circle.size)]
    if group.members.offsets.size > 2:
        refuse_to_pass_over(group, owners, topic_of(codes))
    return Assignment(*by_member(owners, codes, len(group.members)))


def refuse_to_pass_over(group: Group, owners: np.ndarray, topics: np.ndarray) -> None:
    """Raises :class:`OriginalError` if an owner does not subscribe to the topic (both int64[n])."""
    may = group.prepared(subscriptions_by_topic)[group.members.subscription[owners], topics]
    missed = np.flatnonzero(~may)
    if missed.size:
        first = missed[0]
        member, topic = group.members.names[owners[first]], group.topics.names[topics[first]]
        reason = f"{member!r} does not subscribe to {topic!r}, and the next member is not found"
        raise OriginalError("KeyError", reason)


STRATEGY = replace(
    RANGE,
    name="kafka-python-roundrobin",
    source="kafka.coordinator.assignors.roundrobin.RoundRobinPartitionAssignor",
    look=("olive", "P", "dash dot dot"),
    promises=("floor_and_ceiling", "goes_round"),
    assign=assign,
)
