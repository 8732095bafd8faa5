"""Java producer 0.8.2 to 0.10.1: a key by its murmur2; without one, all topics share one counter.

The counter starts at a random number. Its values go to the topics in the order of sending, so a
topic may see only every other one and leave partitions out.
"""

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import random_int, scrambled
from assignlab.producers.kafka_hash import OLDER_LACKING, by_murmur2, in_turn
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]; the counter of the producer is the one of topic 0."""
    if state.turn[0] == NONE:  # the counter is made with the producer, not with the first record
        state.turn[0] = random_int(state.random)
    chosen = by_murmur2(records.keys, of.partitions[records.topics])
    _without_key(chosen, records.keys.null, records.topics, *of, state.turn)
    return chosen


@njit
def _without_key(chosen, null, topics, partitions, available, starts, turn):
    for i in range(chosen.size):
        if null[i]:
            topic = topics[i]
            chosen[i] = in_turn(turn[0], partitions[topic], starts, available, topic)
            turn[0] += 1


PARTITIONERS = (
    Partitioner(
        name="default@0.8.2",
        client="Kafka Java producer",
        first="0.8.2.1",
        last="0.10.1.1",
        source="org.apache.kafka.clients.producer.internals.Partitioner (kafka-clients 0.8.2.2)",
        rule="murmur2 of the key; without one, a counter of the producer over available partitions",
        run=run,
        seeded=scrambled,
        explicit_errors=("IllegalArgumentException", "IllegalArgumentException"),
        lacking_since=("0.10.1.0", OLDER_LACKING),
    ),
)
