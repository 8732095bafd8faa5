"""What both balancers of kafka-go share: topic by topic, subscribers by member id."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.code_points import crowds_by_id, topic_ranks
from assignlab.assignors.parts.orders import as_often_as_named
from assignlab.assignors.parts.partitions import subscribed
from assignlab.group.assignment import Assignment, by_member, partition_of, topic_of
from assignlab.group.model import Group


class Partitions(NamedTuple):
    """Every subscribed partition, by topic name and number; all arrays int64[n].

    ``codes``; ``partition``: its number; ``count``: how many its topic has; ``first``, ``sharing``:
    its topic's subscribers are ``subscribers[first:first + sharing]``.
    """

    codes: np.ndarray
    partition: np.ndarray
    count: np.ndarray
    first: np.ndarray
    sharing: np.ndarray
    subscribers: np.ndarray


def partitions(group: Group) -> Partitions:
    """All partitions that somebody subscribes to."""
    codes = subscribed(group)
    topic = topic_of(codes)
    spans, subscribers = as_often_as_named(group, *group.prepared(crowds_by_id))
    begins, ends = spans[topic].T
    counts = group.topics.partitions[topic]
    return Partitions(codes, partition_of(codes), counts, begins, ends - begins, subscribers)


def hand_out(group: Group, known: Partitions, turn: np.ndarray) -> Assignment:
    """Partition k goes to the ``turn[k]``-th subscriber of its topic.

    A member that names the topic twice is two of these, and gets their parts one after the other.
    """
    owners, codes = known.subscribers[known.first + turn], known.codes
    if group.sent is not group.members:
        walk = np.lexsort((turn, group.prepared(topic_ranks)[topic_of(codes)]))
        owners, codes = owners[walk], codes[walk]
    return Assignment(*by_member(owners, codes, len(group.members)))
