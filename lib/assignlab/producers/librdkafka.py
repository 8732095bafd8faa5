"""librdkafka's ``partitioner`` setting: CRC-32, murmur2 or FNV-1a of the key, over all partitions.

The variants without ``random`` hash a null key as if it were empty. Of those with it, crc32's draws
for empty keys too, while murmur2's and fnv1a's draw for null keys only. FNV-1a is taken as a
signed number and made positive, as sarama does. Draws are librdkafka's own and not reproduced, nor
is that it draws once more where the first partition has no leader; with
``sticky.partitioning.linger.ms`` (10 ms unless set) it keeps a drawn partition for a while, which
is left out here.
"""

from functools import partial

import numpy as np

from assignlab.producers.drawn import hashed_or_drawn
from assignlab.producers.hashes import crc32, fnv1a
from assignlab.producers.kafka_hash import by_murmur2
from assignlab.producers.partitioner import Partitioner, Records, State, Topics


def consistent(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: CRC-32 as an unsigned number, modulo the partitions."""
    return crc32(records.keys).astype(np.int64) % of.partitions[records.topics]


def murmur2(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]."""
    return by_murmur2(records.keys, of.partitions[records.topics])


def fnv1a_only(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]: the absolute value of FNV-1a as a signed number, modulo the partitions."""
    signed = fnv1a(records.keys).view(np.int32).astype(np.int64)
    return abs(signed) % of.partitions[records.topics]


def _partitioner(setting: str, rule: str, run, keyed: str = "all") -> Partitioner:
    return Partitioner(
        name=f"librdkafka-{setting.replace('_', '-')}",
        client="librdkafka",
        first="2.16.0",
        source=f"rd_kafka_msg_partitioner_{setting} (confluent-kafka 2.16.1)",
        rule=rule,
        run=run,
        keyed=keyed,
        exact_draws=not setting.endswith("_random"),
    )


PARTITIONERS = (
    _partitioner("consistent", "CRC-32 of the key", consistent),
    _partitioner(
        "consistent_random", "CRC-32 of the key; drawn for null and empty keys",
        partial(hashed_or_drawn, consistent, empty_too=True), "non-empty",
    ),
    _partitioner("murmur2", "murmur2 of the key", murmur2),
    _partitioner(
        "murmur2_random", "murmur2 of the key; drawn for null keys",
        partial(hashed_or_drawn, murmur2),
    ),
    _partitioner("fnv1a", "absolute FNV-1a of the key", fnv1a_only),
    _partitioner(
        "fnv1a_random", "absolute FNV-1a of the key; drawn for null keys",
        partial(hashed_or_drawn, fnv1a_only),
    ),
)  # fmt: skip
