"""RocketMQ's selectors: by the hash code of an argument that the application gives, or at random.

The argument is a text here (its ``String.hashCode``); the remainder's sign is dropped.
``SelectMessageQueueByMachineRoom`` is in the jar too and selects nothing: it returns null.
"""

import numpy as np

from assignlab.errors import OriginalError
from assignlab.producers.drawn import uniform
from assignlab.producers.hashes import java_strings
from assignlab.producers.partitioner import Partitioner, Records, State, Topics


def by_hash(records: Records, of: Topics, state: State) -> np.ndarray:
    """Queues int64[n]; NullPointerException without an argument."""
    if records.keys.null.any():
        row = int(records.keys.null.argmax())
        raise OriginalError("NullPointerException", f"record {row} has no argument to select by")
    hashes = java_strings(records.keys).astype(np.int64)
    return abs(hashes) % of.partitions[records.topics]


PACKAGE = "org.apache.rocketmq.client.producer.selector"

PARTITIONERS = (
    Partitioner(
        name="rocketmq-hash",
        client="RocketMQ",
        first="5.3.3",
        source=f"{PACKAGE}.SelectMessageQueueByHash (rocketmq-client 5.3.3)",
        rule="absolute hashCode of the argument",
        run=by_hash,
    ),
    uniform(
        name="rocketmq-random",
        client="RocketMQ",
        first="5.3.3",
        source=f"{PACKAGE}.SelectMessageQueueByRandom (rocketmq-client 5.3.3)",
    ),
)
