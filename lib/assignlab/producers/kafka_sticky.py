"""Java producer 2.4 to 3.9: records without a key stick to a partition until a batch is full.

``default@2.4`` (KIP-480) still hashes keys; ``uniform-sticky`` does not look at them. When the
buffer has no batch with room at the partition chosen, the producer tells the partitioner and asks a
second time. The partitioner then draws another available partition, but only if the full batch was
the sticky partition's: a record with a key, or with an explicit partition, that needs a new batch
elsewhere changes nothing.
"""

from dataclasses import replace

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.producers.draws import next_positive
from assignlab.producers.kafka_hash import JAVA_EXPLICIT, by_murmur2
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run_default(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: of the key where there is one, the sticky one otherwise."""
    named = records.explicit != NONE
    hashed = by_murmur2(records.keys, of.partitions[records.topics])
    chosen = np.where(named, records.explicit, hashed)
    sticks = records.keys.null & ~named
    _stick(chosen, sticks, records.new_batch, records.topics, *of, state.turn, state.random)
    return chosen


def run_uniform(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: the sticky one for every record."""
    chosen = records.explicit.copy()
    _stick(chosen, chosen == NONE, records.new_batch, records.topics, *of, state.turn, state.random)
    return chosen


@njit
def _stick(chosen, sticks, new_batch, topics, partitions, available, starts, sticky, random):
    for i in range(chosen.size):
        topic = topics[i]
        if sticks[i]:
            chosen[i] = partition(topic, partitions, available, starts, sticky, random)
        if new_batch[i]:
            next_partition(topic, chosen[i], partitions, available, starts, sticky, random)
            if sticks[i]:
                chosen[i] = partition(topic, partitions, available, starts, sticky, random)


@inner
def partition(topic, partitions, available, starts, sticky, random):
    """``StickyPartitionCache.partition``: the sticky partition; draws the first one."""
    if sticky[topic] == NONE:
        next_partition(topic, -1, partitions, available, starts, sticky, random)
    return sticky[topic]


@inner
def next_partition(topic, previous, partitions, available, starts, sticky, random):
    """``StickyPartitionCache.nextPartition``: another one, if ``previous`` is still the sticky one.

    With one partition available that one is taken; with none, any, and it may be the old one.
    """
    old = sticky[topic]
    if old != NONE and old != previous:
        return
    start, count = starts[topic], starts[topic + 1] - starts[topic]
    if count < 1:
        sticky[topic] = next_positive(random) % partitions[topic]
    elif count == 1:
        sticky[topic] = available[start]
    else:
        drawn = old
        while drawn == old:
            drawn = available[start + next_positive(random) % count]
        sticky[topic] = drawn


DEFAULT = Partitioner(
    name="default@2.4",
    client="Kafka Java producer",
    first="2.4.0",
    last="3.9.2",
    source="org.apache.kafka.clients.producer.internals.DefaultPartitioner (kafka-clients 2.4.1)",
    rule="murmur2 of the key; without one, a sticky partition, redrawn at every new batch",
    run=run_default,
    explicit_errors=JAVA_EXPLICIT,
    sees_explicit=True,
)
PARTITIONERS = (
    DEFAULT,
    replace(
        DEFAULT,
        name="uniform-sticky",
        source="org.apache.kafka.clients.producer.UniformStickyPartitioner (kafka-clients 2.4.1)",
        rule="a sticky partition for all records, redrawn at every new batch",
        run=run_uniform,
        keyed="none",
    ),
)
