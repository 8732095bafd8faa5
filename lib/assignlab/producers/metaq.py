"""MetaQ's selectors: one counter for all topics, or a draw for every message. Neither has keys.

The counter is counted up before use, so the first message of a producer goes to the second
partition. ``OrderedMessagePartitionSelector`` leaves the choice to the application.
"""

import numpy as np

from assignlab.producers.drawn import uniform
from assignlab.producers.kafka_hash import to_positive
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def in_turn(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]; the counter of the producer is the one of topic 0."""
    counted = 0 if state.turn[0] == NONE else int(state.turn[0])
    values = counted + 1 + np.arange(records.topics.size)
    state.turn[0] = counted + records.topics.size
    return to_positive(values) % of.partitions[records.topics]


PACKAGE = "com.taobao.metamorphosis.client.producer"

PARTITIONERS = (
    Partitioner(
        name="metaq-round-robin",
        client="MetaQ",
        first="1.4.6.2",
        source=f"{PACKAGE}.RoundRobinPartitionSelector (metamorphosis-client 1.4.6.2)",
        rule="a counter of the producer from 1",
        run=in_turn,
        keyed="none",
    ),
    uniform(
        name="metaq-random",
        client="MetaQ",
        first="1.4.6.2",
        source=f"{PACKAGE}.RandomPartitionSelector (metamorphosis-client 1.4.6.2)",
    ),
)
