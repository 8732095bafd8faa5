"""Java producer 0.10.2 to 2.3: a key by its murmur2; without one, a counter of each topic.

A counter starts at a random number when its topic gets its first record without a key, and walks
over the partitions that are available at the time. An empty key is a key.
"""

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import thread_local_int
from assignlab.producers.kafka_hash import JAVA_EXPLICIT, OLDER_LACKING, by_murmur2, in_turn
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]."""
    chosen = by_murmur2(records.keys, of.partitions[records.topics])
    _without_key(chosen, records.keys.null, records.topics, *of, state.turn, state.random)
    return chosen


@njit
def _without_key(chosen, null, topics, partitions, available, starts, turn, random):
    for i in range(chosen.size):
        if null[i]:
            topic = topics[i]
            if turn[topic] == NONE:
                turn[topic] = thread_local_int(random)
            chosen[i] = in_turn(turn[topic], partitions[topic], starts, available, topic)
            turn[topic] += 1


PARTITIONERS = (
    Partitioner(
        name="default@2.0",
        client="Kafka Java producer",
        first="0.10.2.0",
        last="2.3.1",
        source="org.apache.kafka.clients.producer.internals.DefaultPartitioner "
        "(kafka-clients 2.0.1)",
        rule="murmur2 of the key; without one, a counter of the topic over available partitions",
        run=run,
        explicit_errors=(JAVA_EXPLICIT[0], OLDER_LACKING),
        lacking_since=("2.1.1", JAVA_EXPLICIT[1]),
    ),
)
