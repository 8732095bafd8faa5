"""Java producer up to 2.3: a key by its murmur2; without one, a counter over available partitions.

``default@2.0`` (0.10.2 to 2.3) has a counter of each topic, which starts at a random number when its
topic gets its first record without a key. Of ``default@0.8.2`` (0.8.2 to 0.10.1) all topics share one,
which starts with the producer: its values go to the topics in the order of sending, so a topic may see
only every other one and leave partitions out. An empty key is a key.
"""

from dataclasses import replace

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import random_int, scrambled, thread_local_int
from assignlab.producers.kafka_hash import JAVA_EXPLICIT, OLDER_LACKING, by_murmur2, in_turn
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n], with a counter of each topic."""
    return _counted(records, records.topics, of, state)


def run_shared(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]; the counter of the producer is the one of topic 0."""
    if state.turn[0] == NONE:  # the counter is made with the producer, not with the first record
        state.turn[0] = random_int(state.random)
    return _counted(records, np.zeros_like(records.topics), of, state)


def _counted(records: Records, counters: np.ndarray, of: Topics, state: State) -> np.ndarray:
    """``counters`` int64[n]: whose counter each record goes by."""
    chosen = by_murmur2(records.keys, of.partitions[records.topics])
    _count(chosen, records.keys.null, records.topics, counters, *of, state.turn, state.random)
    return chosen


@njit
def _count(chosen, null, topics, counters, partitions, available, starts, turn, random):
    for i in range(chosen.size):
        if null[i]:
            topic, counter = topics[i], counters[i]
            if turn[counter] == NONE:
                turn[counter] = thread_local_int(random)
            chosen[i] = in_turn(turn[counter], partitions[topic], starts, available, topic)
            turn[counter] += 1


INTERNALS = "org.apache.kafka.clients.producer.internals"

NEWEST = Partitioner(
    name="default@2.0",
    client="Kafka Java producer",
    first="0.10.2.0",
    last="2.3.1",
    source=f"{INTERNALS}.DefaultPartitioner (kafka-clients 2.0.1)",
    rule="murmur2 of the key; without one, a counter of the topic over available partitions",
    run=run,
    explicit_errors=(JAVA_EXPLICIT[0], OLDER_LACKING),
    lacking_since=("2.1.1", JAVA_EXPLICIT[1]),
)
PARTITIONERS = (
    NEWEST,
    replace(
        NEWEST,
        name="default@0.8.2",
        first="0.8.2.1",
        last="0.10.1.1",
        source=f"{INTERNALS}.Partitioner (kafka-clients 0.8.2.2)",
        rule="murmur2 of the key; without one, a counter of the producer over available partitions",
        run=run_shared,
        seeded=scrambled,
        explicit_errors=("IllegalArgumentException", "IllegalArgumentException"),
        lacking_since=("0.10.1.0", OLDER_LACKING),
    ),
)
