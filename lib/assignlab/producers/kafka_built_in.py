"""Java producer from 3.3 on without a ``partitioner.class`` (KIP-794).

A key by its murmur2. Records without one stick to a partition until at least ``batch.size`` bytes
went there; while its last batch is not full the switch waits, at most until twice as many bytes.
The next partition is drawn: uniformly over the available ones, or, where queues differ, with
weights that follow from the batches that wait at each partition.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.errors import shown
from assignlab.producers.draws import next_positive
from assignlab.producers.hashes import no_keys
from assignlab.producers.kafka_hash import JAVA_EXPLICIT, by_murmur2, in_turn
from assignlab.producers.partitioner import (
    NONE,
    Partitioner,
    Records,
    State,
    Topics,
    column,
    topics,
    whole,
)

BATCH_SIZE = 16384
"""``batch.size`` of the producer, in bytes, as it is unless set."""


def _chosen(
    batch_size: int, ignore_keys: bool, records: Records, of: Topics, state: State
) -> np.ndarray:
    keys = no_keys(records.topics.size) if ignore_keys else records.keys
    chosen = by_murmur2(keys, of.partitions[records.topics])
    _stick(chosen, keys.null, records, batch_size, of, state)
    return chosen


@njit
def _stick(chosen, sticks, records, batch_size, of, state):
    topics, sizes = records.topics, records.sizes
    full_before, full_after = records.full_before, records.full_after
    sticky, noted = state.turn, state.noted
    for i in range(chosen.size):
        if not sticks[i]:
            continue
        topic = topics[i]
        if sticky[topic] == NONE:
            sticky[topic] = next_partition(topic, of, state)
        if full_before[i] and switch_due(noted[topic], batch_size, True):
            switch(topic, of, state)
        chosen[i] = sticky[topic]
        noted[topic] += sizes[i]
        if switch_due(noted[topic], batch_size, full_after[i]):
            switch(topic, of, state)


@leaf
def switch_due(produced, batch_size, enabled):
    """``updatePartitionInfo``: enough bytes and allowed to, or twice enough."""
    return (produced >= batch_size and enabled) or produced >= 2 * batch_size


@inner
def switch(topic, of, state):
    """The topic's next partition is drawn, and no bytes have gone there yet."""
    state.turn[topic] = next_partition(topic, of, state)
    state.noted[topic] = 0


@inner
def next_partition(topic, of, state):
    """One draw: by the load table where there is one, else uniform; it may be the same again."""
    number = next_positive(state.random)
    length = state.load_lengths[topic]
    if length == 0:
        return in_turn(number, of.partitions[topic], of.starts, of.available, topic)
    table = state.loads[topic, :length]
    return state.load_ids[topic, np.searchsorted(table, number % table[-1], side="right")]


@inner
def weigh(queues, length):
    """``updatePartitionLoadStats``: queues into running sums of weights, in place; 0: uniform."""
    if length < 1 or queues.size < 2:
        return 0
    longest, equal = queues[0], True
    for i in range(1, length):
        equal = equal and queues[i] == queues[0]
        longest = max(longest, queues[i])
    if equal and length == queues.size:
        return 0
    total = 0
    for i in range(length):
        total += longest + 1 - queues[i]
        queues[i] = total
    return length


def load_table(queues: np.ndarray, length: int) -> np.ndarray:
    """Running sums of the weights (longest queue + 1 - queue), or none where draws are uniform.

    ``queues``: waiting batches of each partition; of these the first ``length`` are not excluded
    by ``partitioner.availability.timeout.ms``. Uniform are one partition, no partition left, and
    equal queues of which none is excluded.

    >>> load_table(np.array([0, 3, 1]), 3).tolist()
    [4, 5, 8]
    """
    sums = np.array(queues, dtype=np.int64)
    return sums[: weigh(sums, length)]


def with_loads(
    state: State, topic: int, queues, ids, length: int | None = None, in_rack=None
) -> State:
    """The state after ``updatePartitionLoadStats``; ``queues`` None: no load statistics.

    ``queues``, ``ids``: int64[k], waiting batches and partitions. ``in_rack`` bool[k]: whose leader
    is in the producer's rack (``partitioner.rack.aware``, 4.4); where some are, and not all queues
    are equal, draws are by load among them alone. Raises ValueError where they do not fit.
    """
    after = state.copy()
    if topic not in range(after.load_lengths.size):
        raise ValueError(f"topic {shown(topic)}, there are {after.load_lengths.size}")
    after.load_lengths[topic] = 0
    if queues is None:
        return after
    queues, ids = column("queues", queues), column("ids", ids)
    in_rack = np.zeros(ids.size, bool) if in_rack is None else column("in_rack", in_rack, bool)
    length = queues.size if length is None else length
    if not queues.size == ids.size == in_rack.size or not 0 <= length <= queues.size:
        raise ValueError("queue sizes, partition ids and racks have to be of one length")
    if (queues < 0).any() or (ids < 0).any():
        raise ValueError("queue sizes and partition ids have to be 0 or more")
    table = load_table(queues, length)
    if table.size and np.any(in_rack[:length]):
        inside = np.flatnonzero(in_rack[:length])
        table = np.cumsum(queues[inside].max() + 1 - queues[inside])
        ids = ids[inside]
    if table.size > after.loads.shape[1]:  # the topic has more partitions than at the start
        room = ((0, 0), (0, table.size - after.loads.shape[1]))
        after = after._replace(
            loads=np.pad(after.loads, room), load_ids=np.pad(after.load_ids, room)
        )
    after.loads[topic, : table.size] = table
    after.load_ids[topic, : table.size] = ids[: table.size]
    after.load_lengths[topic] = table.size
    return after


def near(of: Topics, in_rack: Sequence[np.ndarray]) -> Topics:
    """The topics as a rack-aware producer draws from them without load statistics (4.4).

    ``in_rack``: per topic bool[p], whether a partition's leader is in the producer's rack. Where
    some available partition is, only those are left; where none is, all are.
    """
    lists = []
    for topic, here in enumerate(in_rack):
        ids = of.available[of.starts[topic] : of.starts[topic + 1]]
        kept = ids[np.asarray(here, bool)[ids]]
        lists.append(kept if kept.size else ids)
    return topics(of.partitions, lists)


def partitioner(batch_size: int = BATCH_SIZE, ignore_keys: bool = False) -> Partitioner:
    """The built-in partitioner with these values of ``batch.size`` and ``partitioner.ignore.keys``.

    Raises ValueError for a batch size below 1, as the partitioner does since 3.3.2; its producer
    takes ``batch.size`` 0 for 1, while 3.3.0 and 3.3.1 never come back from send (KAFKA-14303). And
    for what is no whole number, or no flag.
    """
    batch_size = whole("batch_size", batch_size, 1)
    if ignore_keys not in (True, False):
        raise ValueError(f"ignore_keys: expected True or False, got {shown(ignore_keys)}")
    return Partitioner(
        name="built-in",
        client="Kafka Java producer",
        first="3.3.0",
        last="4.4.0",
        source="org.apache.kafka.clients.producer.internals.BuiltInPartitioner "
        "(kafka-clients 4.4.0)",
        rule="murmur2 of the key; without one, batch.size bytes to a partition drawn by load",
        run=partial(_chosen, batch_size, ignore_keys),
        keyed="none" if ignore_keys else "all",
        explicit_errors=JAVA_EXPLICIT,
    )


PARTITIONERS = (partitioner(),)
