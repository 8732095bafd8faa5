"""Hash codes of partitions as keys of Java's maps: 32 bits of a sum over topic and number.

Sources: ``TopicPartition`` and ``TopicIdPartition`` of kafka-clients, ``TopicIdPartition`` of
kafka-group-coordinator before 4.1.
"""

import numpy as np

from assignlab.compiled import leaf, njit
from assignlab.group.assignment import partition_of, topic_of
from assignlab.jvm.names import signed

TOPIC_PARTITION = (1, 31, 31 * 31)
"""``31 * (31 + partition) + topic.hashCode()``."""
TOPIC_ID_PARTITION = (31, 1, 0)
"""``31 * topicId.hashCode() + partition``, the coordinator's since 4.1."""
TOPIC_ID_PARTITION_BEFORE_4_1 = (31, 1, 31 * 31)


@njit
def partition_hashes(topic_hashes, codes, formula):
    """``hashCode`` of every partition: int32[n].

    ``topic_hashes``: int[topics], of names or ids; ``codes``: int64[n]; ``formula``: the factors of
    topic and partition, and what is added.
    """
    hashes = np.empty(codes.size, dtype=np.int32)
    for k in range(codes.size):
        hashes[k] = partition_hash(topic_hashes, codes[k], formula)
    return hashes


@leaf
def partition_hash(topic_hashes, code, formula):
    """The ``hashCode`` of one partition."""
    times_topic, times_partition, plus = formula
    topic = times_topic * np.int64(topic_hashes[topic_of(code)])
    return signed(topic + times_partition * partition_of(code) + plus)
