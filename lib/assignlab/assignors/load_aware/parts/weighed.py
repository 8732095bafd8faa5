"""What a load-aware strategy sees of a group: weighed partitions, and who claims them."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.orders import topics_by_name
from assignlab.group.assignment import (
    Assignment,
    by_member,
    code,
    number_of,
    partition_of,
    topic_of,
)
from assignlab.group.model import Group, numbers_of, subscriptions_by_topic, weights_of

NO_ORIGINAL = "no package index has an artifact of it that could be asked"
WEIGHTS_DECIDE = "what it does follows from weights, which random histories do not have"


class Weighed(NamedTuple):
    """The assignable partitions, by topic name and number.

    ``codes``, ``topic`` (an index) int64[n]; ``weights`` float64[n]; the first partition of topic t
    stands at ``first[t]``.
    """

    codes: np.ndarray
    topic: np.ndarray
    weights: np.ndarray
    first: np.ndarray


def weighed(group: Group) -> Weighed:
    """The :class:`Weighed` of a group (for ``group.prepared``)."""
    topics = group.prepared(topics_by_name)
    counts = group.topics.partitions[topics]
    first = np.zeros(len(group.topics), dtype=np.int64)
    first[topics] = np.cumsum(counts) - counts
    topic = np.repeat(topics, counts)
    codes = code(topic, np.arange(topic.size) - first[topic])
    weights = group.prepared(weights_of)[numbers_of(group, codes)]
    return Weighed(codes, topic, weights, first)


def heaviest_first(weights: np.ndarray) -> np.ndarray:
    """Indices by weight, the heaviest first; equal weights keep their order: int64[n]."""
    return np.argsort(-weights, kind="stable")


def in_order(group: Group, owners: np.ndarray, order: np.ndarray) -> Assignment:
    """Partitions in the lists of their owners (member indices), in the order of assignment."""
    codes = group.prepared(weighed).codes[order]
    return Assignment(*by_member(owners[order], codes, len(group.members)))


def claimed(group: Group) -> np.ndarray:
    """The member that validly claims each partition, or -1: int64[n].

    Valid is what exists and what its member subscribes to, whatever the generation. Where several
    claim a partition, it is the first of them in the group's order.
    """
    known, claims = group.prepared(weighed), group.claims
    codes, members = claims.codes, claims.claimants
    topics = topic_of(codes)
    reads = group.prepared(subscriptions_by_topic)[group.members.subscription[members], topics]
    valid = np.flatnonzero(reads & (partition_of(codes) < group.topics.partitions[topics]))[::-1]
    owners = np.full(known.codes.size, -1, dtype=np.int64)
    owners[number_of(codes[valid], known.first)] = members[valid]
    return owners
