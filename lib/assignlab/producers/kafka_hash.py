"""A record's key decides: what all of Kafka's own partitioners that look at keys share."""

import numpy as np

from assignlab.compiled import inner
from assignlab.producers.hashes import Keys, murmur2

JAVA_EXPLICIT = ("IllegalArgumentException", "TimeoutException")
"""A record refuses a negative partition; for one that the topic lacks the producer waits for other
metadata until ``max.block.ms``. Seen with 2.1.1, 2.4.1, 3.3.2 and 4.4.0."""

OLDER_LACKING = "KafkaException"
"""From 0.10.1.0 to 2.1.0 the producer asks for metadata once, and throws this where the topic still
lacks the partition; without an answer within ``max.block.ms`` it is a TimeoutException, too."""


def to_positive(number):
    """``Utils.toPositive``: the sign bit is cut off, which is not the absolute value.

    >>> to_positive(-5)
    2147483643
    """
    return number & 0x7FFFFFFF


def by_murmur2(keys: Keys, partitions: np.ndarray) -> np.ndarray:
    """toPositive(murmur2(key)) % partitions, over all partitions, available or not: int64[n]."""
    return to_positive(murmur2(keys).astype(np.int64)) % partitions


@inner
def in_turn(value, count, starts, available, topic):
    """A number to one of the available partitions, or of all if none is available."""
    start, end = starts[topic], starts[topic + 1]
    number = value & 0x7FFFFFFF
    if end > start:
        return available[start + number % (end - start)]
    return number % count
