"""sarama (Go): FNV-1a of the key, with two ideas of a positive number, and three later variants.

``sarama-hash`` takes the remainder of the signed hash and drops its sign, which gives what
librdkafka's remainder of the absolute value gives; ``sarama-reference-hash`` cuts off the sign bit
first, as Java does, so keys with a negative hash differ. Records without a key get a draw of Go's
generator, seeded with the time, which is not reproduced.
"""

from functools import partial

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.drawn import hashed_or_drawn
from assignlab.producers.hashes import fnv1a
from assignlab.producers.kafka_hash import to_positive
from assignlab.producers.librdkafka import consistent, fnv1a_only, murmur2
from assignlab.producers.partitioner import Partitioner, Records, State, Topics


def reference_hash(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: FNV-1a without its sign bit, modulo the partitions."""
    return to_positive(fnv1a(records.keys).astype(np.int64)) % of.partitions[records.topics]


def round_robin(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: from 0 on, and back to 0 after the last, each topic for itself."""
    return _round(records.topics, of.partitions, state.turn)


@njit
def _round(topics, partitions, turn):
    chosen = np.empty(topics.size, np.int64)
    for i in range(topics.size):
        topic = topics[i]
        if turn[topic] >= partitions[topic]:  # NONE is larger than any
            turn[topic] = 0
        chosen[i] = turn[topic]
        turn[topic] += 1
    return chosen


def _partitioner(name: str, function: str, rule: str, run, keyed: str = "all") -> Partitioner:
    return Partitioner(
        name=f"sarama-{name}",
        client="sarama",
        first="1.61.1",
        source=f"{function} (github.com/IBM/sarama 1.61.1)",
        rule=rule,
        run=run,
        keyed=keyed,
        exact_draws=keyed == "none",
    )


PARTITIONERS = (
    _partitioner(
        "hash", "NewHashPartitioner", "absolute FNV-1a of the key; drawn for null keys",
        partial(hashed_or_drawn, fnv1a_only),
    ),
    _partitioner(
        "reference-hash", "NewReferenceHashPartitioner",
        "FNV-1a of the key without its sign bit; drawn for null keys",
        partial(hashed_or_drawn, reference_hash),
    ),
    _partitioner(
        "crc", "NewConsistentCRCHashPartitioner", "CRC-32 of the key; drawn for null keys",
        partial(hashed_or_drawn, consistent),  # unlike librdkafka's, an empty key is hashed
    ),
    _partitioner(
        "murmur2", "NewMurmur2Partitioner", "murmur2 of the key; drawn for null keys",
        partial(hashed_or_drawn, murmur2),
    ),
    _partitioner(
        "round-robin", "NewRoundRobinPartitioner", "a counter of the topic from 0", round_robin,
        "none",
    ),
)  # fmt: skip
