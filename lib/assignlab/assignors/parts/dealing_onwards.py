"""Dealing topic by topic, each topic going on where the one before it ended."""

import numpy as np

from assignlab.assignors.parts.dealing import next_subscriber
from assignlab.compiled import njit
from assignlab.group.assignment import topic_of


@njit
def deal(codes, circle, subscription, subscribed):
    """The owner of every partition, dealt in this order around the circle: int64[n]."""
    owners = np.empty(codes.size, dtype=np.int64)
    assigner = 0
    for k in range(codes.size):
        topic = topic_of(codes[k])
        assigner = next_subscriber(circle, assigner, subscription, subscribed, topic)
        owners[k] = circle[assigner]
        assigner = (assigner + 1) % circle.size
    return owners
