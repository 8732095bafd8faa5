"""A record's key decides: what all of Kafka's own partitioners that look at keys share.

And :func:`listed`: what "in turn" goes by where a record has no key.
"""

from collections.abc import Mapping

import numpy as np

from assignlab.compiled import inner
from assignlab.jvm.hash_map import hash_map_order, table_size_for
from assignlab.jvm.names import string_hash
from assignlab.producers.hashes import Keys, murmur2
from assignlab.producers.partitioner import topics

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


def listed(partitions: Mapping[str, int]) -> list[np.ndarray]:
    """How Java's producer since 2.2 lists the partitions of each topic: int64[p] for each, in its order.

    ``partitions``: the number of every topic that it knows. It walks a hash map of all of them, so
    their names decide; up to 2.1 partitions stand as the broker lists them. Of several in one slot
    the lower number is taken to come first, which the broker's answer decides. Those with a leader,
    in this order, are what ``available`` wants. Raises ValueError as
    :func:`~assignlab.producers.partitioner.topics`.

    >>> listed({"payments": 8})[0].tolist()
    [4, 3, 6, 5, 0, 2, 1, 7]
    """
    counts = topics(list(partitions.values())).partitions
    numbers = np.concatenate([np.arange(count) for count in counts])
    names = np.repeat([string_hash(name) for name in partitions], counts)
    hashes = (31 * (31 + numbers) + names).astype(np.int32)
    order = hash_map_order(hashes, table_size_for(numbers.size))
    topic = np.repeat(np.arange(counts.size), counts)[order]
    return [numbers[order[topic == each]] for each in range(counts.size)]
