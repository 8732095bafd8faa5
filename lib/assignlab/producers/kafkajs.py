"""KafkaJS: murmur2 of the key in two versions; without one, a counter of each topic.

``kafkajs-legacy`` multiplies in floating point, which loses bits that the Java producer keeps, and
reads a last incomplete block as a whole one before it reads its bytes: its partitions are its own.
``kafkajs`` (the default since 2.0) is as the Java producer. A topic's counter starts at a random
number when it gets its first record, with a key or without, and is counted up before use.
"""

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.jvm.names import signed
from assignlab.producers.draws import thread_local_int
from assignlab.producers.hashes import MASK, MURMUR2_SEED, M, murmur2
from assignlab.producers.kafka_hash import in_turn, to_positive
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def run(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]."""
    return _run(murmur2(records.keys), records, of, state)


def run_legacy(records: Records, of: Topics, state: State) -> np.ndarray:
    """Partitions int64[n]."""
    hashes = legacy_murmur2(records.keys.data, records.keys.offsets)
    return _run(hashes, records, of, state)


def _run(hashes, records, of, state) -> np.ndarray:
    chosen = to_positive(hashes.astype(np.int64)) % of.partitions[records.topics]
    _count(chosen, records.keys.null, records.topics, *of, state.turn, state.random)
    return chosen


@njit
def _count(chosen, null, topics, partitions, available, starts, turn, random):
    for i in range(chosen.size):
        topic = topics[i]
        if turn[topic] == NONE:
            turn[topic] = thread_local_int(random)
        if null[i]:
            turn[topic] += 1
            chosen[i] = in_turn(turn[topic], partitions[topic], starts, available, topic)


@inner
def times(number):
    """JavaScript's ``number * M`` for the next bit operation: rounded, then 32 bits of it."""
    return np.int64(np.float64(number) * np.float64(M)) & MASK


@njit
def legacy_murmur2(data, offsets):
    """The legacy partitioner's hash of every key: int32[n]."""
    out = np.empty(offsets.size - 1, dtype=np.int32)
    for i in range(out.size):
        at, end = offsets[i], offsets[i + 1]
        h = (MURMUR2_SEED ^ (end - at)) & MASK
        while at < end:
            k = np.int64(0)
            for j in range(min(4, end - at)):
                k |= np.int64(data[at + j]) << (8 * j)
            k = times(signed(k))
            k = times(signed(k ^ (k >> 24)))
            h = times(signed(h)) ^ k
            at += 4
        tail = (end - offsets[i]) % 4
        if tail > 0:
            for j in range(tail):
                h ^= np.int64(data[end - tail + j]) << (8 * j)
            h = times(signed(h))
        h = times(signed(h ^ (h >> 13)))
        out[i] = signed(h ^ (h >> 15))
    return out


def _partitioner(name: str, function: str, rule: str, run) -> Partitioner:
    return Partitioner(
        name=name,
        client="KafkaJS",
        first="2.2.4",
        source=f"Partitioners.{function} (kafkajs 2.2.4)",
        rule=f"{rule}; without one, a counter of the topic over available partitions",
        run=run,
    )


PARTITIONERS = (
    _partitioner("kafkajs", "DefaultPartitioner", "murmur2 of the key", run),
    _partitioner(
        "kafkajs-legacy", "LegacyPartitioner", "murmur2 in floating point of the key", run_legacy
    ),
)
