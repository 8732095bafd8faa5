"""DefaultPartitioner of kafka-python and of aiokafka: murmur2 as Java's producer; without a key any
available partition.

Draws are Python's ``random.choice``, kafka-python's over a set, and are not reproduced.
"""

from dataclasses import replace

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import next_positive
from assignlab.producers.kafka_hash import by_murmur2, in_turn
from assignlab.producers.partitioner import Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]."""
    chosen = by_murmur2(records.keys, of.partitions[records.topics])
    _draw(chosen, records.keys.null, records.topics, *of, state.random)
    return chosen


@njit
def _draw(chosen, null, topics, partitions, available, starts, random):
    for i in range(chosen.size):
        if null[i]:
            topic = topics[i]
            number = next_positive(random)
            chosen[i] = in_turn(number, partitions[topic], starts, available, topic)


KAFKA_PYTHON = Partitioner(
    name="kafka-python",
    client="kafka-python",
    first="3.0.12",
    source="kafka.partitioner.DefaultPartitioner (kafka-python 3.0.12)",
    rule="murmur2 of the key; without one, a draw over available partitions",
    run=run,
    exact_draws=False,
)
AIOKAFKA = replace(
    KAFKA_PYTHON,
    name="aiokafka",
    client="aiokafka",
    first="0.14.0",
    last="",
    source="aiokafka.partitioner.DefaultPartitioner (aiokafka 0.14.0)",
)
PARTITIONERS = (KAFKA_PYTHON, AIOKAFKA)
