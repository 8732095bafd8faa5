"""``roundrobin@0.9``: Kafka's first RoundRobinAssignor.

As ``roundrobin@2.0``, but a subscribed topic that the cluster does not have ends in an exception: the
number of its partitions is asked for, and there is none. The releases after 0.9 pass it over.

>>> from assignlab.group.plain import group
>>> assign(group({"t": 2}, {"a": ["t", "not there"]}))
Traceback (most recent call last):
assignlab.errors.OriginalError: NullPointerException: the cluster has no topic 'not there'
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import roundrobin_2_0
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Deal as the later releases do, unless a subscribed topic has no partitions.

    Raises :class:`~assignlab.errors.OriginalError` then, and without members.
    """
    subscribed = group.prepared(subscriptions_by_topic).any(axis=0)
    if (missing := np.flatnonzero(subscribed & (group.topics.partitions <= 0))).size:
        name = group.topics.names[missing[0]]
        raise OriginalError("NullPointerException", f"the cluster has no topic {name!r}")
    return roundrobin_2_0.assign(group)


STRATEGY = replace(
    roundrobin_2_0.STRATEGY,
    name="roundrobin@0.9",
    first="0.9.0",
    last="0.9.0.1",
    original="kafka-clients:0.9.0.1",
    look=("olive", "p", "dotted"),
    assign=assign,
)
