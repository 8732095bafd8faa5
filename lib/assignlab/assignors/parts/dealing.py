"""Dealing partitions one by one around the circle of members."""

from collections.abc import Callable

import numpy as np

from assignlab.assignors.parts.partitions import codes_of
from assignlab.compiled import leaf, njit
from assignlab.group.assignment import Assignment, by_member, code, topic_of
from assignlab.group.model import Group, subscriptions_by_topic


def deal(
    group: Group, walk: Callable[[Group], np.ndarray], circle: Callable[[Group], np.ndarray]
) -> Assignment:
    """Deal the sorted partitions around the circle of members; ``walk``: the topics in order."""
    topics, members = group.prepared(walk), group.prepared(circle)
    partitions = group.topics.partitions
    if group.members.offsets.size == 2:
        return Assignment(*deal_to_all(topics, partitions, members))
    subscribed = group.prepared(subscriptions_by_topic)
    owners, codes = deal_to_subscribers(
        topics, partitions, members, group.members.subscription, subscribed
    )
    return Assignment(*by_member(owners, codes, members.size))


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
        first = code(t, 0)
        for p in range(partitions[t]):
            codes[offsets[circle[turn]] + lap] = first + p
            turn += 1
            if turn == n:
                turn = 0
                lap += 1
    return offsets, codes


@leaf
def next_subscriber(circle, assigner, subscription, subscribed, topic):
    """The place on the circle, from ``assigner`` on, of the next member that has the topic."""
    while not subscribed[subscription[circle[assigner]], topic]:
        assigner = assigner + 1 if assigner + 1 < circle.size else 0
    return assigner


@njit
def deal_to_subscribers(topics, partitions, circle, subscription, subscribed):
    """Deal, passing over members that do not subscribe to the topic. Returns (owners, codes)."""
    codes = codes_of(topics, partitions)
    return deal_in_order(codes, circle, subscription, subscribed), codes


@njit
def deal_in_order(codes, circle, subscription, subscribed):
    """The owner of every partition, dealt in this order around the circle: int64[n]."""
    owners = np.empty(codes.size, dtype=np.int64)
    assigner = 0  # the place of the CircularIterator
    for k in range(codes.size):
        assigner = next_subscriber(circle, assigner, subscription, subscribed, topic_of(codes[k]))
        owners[k] = circle[assigner]
        assigner = assigner + 1 if assigner + 1 < circle.size else 0
    return owners
