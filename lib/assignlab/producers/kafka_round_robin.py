"""Java producer's RoundRobinPartitioner: a counter of each topic from 0, whatever the key.

Since 2.4 the producer asks the partitioner twice where the buffer has no batch with room, and the
partition of the first answer gets nothing (KAFKA-9965): with a new batch for every record only
every other partition of an even number is used. Release 3.9.2 repeats the first answer; what it
repeats is the partition that needed the batch, also where a record named that partition itself, so
that the topic's next record follows there. From 4.0 on the producer asks once.
"""

from dataclasses import replace

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.kafka_hash import JAVA_EXPLICIT, in_turn
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n], one question per record."""
    return _count(np.zeros_like(records.new_batch), records.topics, *of, state.turn)


def run_twice(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]; a new batch costs a turn."""
    return _count(records.new_batch, records.topics, *of, state.turn)


def run_repeating(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]; explicit partitions are among the records."""
    chosen = records.explicit.copy()
    _repeat(chosen, records.new_batch, records.topics, *of, state.turn, state.noted)
    return chosen


@njit
def _count(again, topics, partitions, available, starts, turn):
    chosen = np.empty(topics.size, np.int64)
    for i in range(topics.size):
        topic = topics[i]
        if turn[topic] == NONE:
            turn[topic] = 0
        if again[i]:
            turn[topic] += 1
        chosen[i] = in_turn(turn[topic], partitions[topic], starts, available, topic)
        turn[topic] += 1
    return chosen


@njit
def _repeat(chosen, new_batch, topics, partitions, available, starts, turn, noted):
    """``noted[topic]``: 1 + the partition to repeat, 0 for none; one topic has one at a time."""
    for i in range(chosen.size):
        topic = topics[i]
        if chosen[i] == NONE:
            repeated = noted[topic] - 1
            noted[:] = 0
            if repeated >= 0:
                chosen[i] = repeated
            else:
                if turn[topic] == NONE:
                    turn[topic] = 0
                chosen[i] = in_turn(turn[topic], partitions[topic], starts, available, topic)
                turn[topic] += 1
            continue  # a new batch notes the answer, and the second question takes it back
        if new_batch[i]:
            noted[:] = 0
            noted[topic] = 1 + chosen[i]


SOURCE = "org.apache.kafka.clients.producer.RoundRobinPartitioner"

NEWEST = Partitioner(
    name="round-robin",
    client="Kafka Java producer",
    first="4.0.0",
    last="4.4.0",
    source=f"{SOURCE} (kafka-clients 4.4.0)",
    rule="a counter of the topic from 0 over available partitions",
    run=run,
    keyed="none",
    explicit_errors=JAVA_EXPLICIT,
)
PARTITIONERS = (
    NEWEST,
    replace(
        NEWEST,
        name="round-robin@3.9",
        first="3.9.2",
        last="3.9.2",
        source=f"{SOURCE} (kafka-clients 3.9.2)",
        rule="a counter of the topic from 0 over available partitions, repeated at a new batch",
        run=run_repeating,
        sees_explicit=True,
    ),
    replace(
        NEWEST,
        name="round-robin@2.4",
        first="2.4.0",
        last="3.9.1",
        source=f"{SOURCE} (kafka-clients 2.4.1)",
        rule="a counter of the topic from 0 over available partitions, two steps at a new batch",
        run=run_twice,
    ),
)
