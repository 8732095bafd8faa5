"""The producer's buffer from 3.3 on: batches per partition, and what it tells the partitioner.

``RecordAccumulator`` keeps a queue of batches for every partition. It decides when the built-in
partitioner may switch, and from its queues come the load tables. One topic, no compression, records
without headers and with one timestamp, so that sizes are exact. Source: ``RecordAccumulator``,
``MemoryRecordsBuilder`` and ``DefaultRecord`` of kafka-clients 4.4.0.
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.producers.kafka_built_in import switch, switch_due, weigh
from assignlab.producers.partitioner import NONE, State, topics

BATCH_HEADER = 61
RECORD_OVERHEAD = 21
NO_KEY = -1


class Buffer(NamedTuple):
    """The queues of one topic's partitions, all [p].

    ``waiting`` int64: batches. Of the last one: ``bytes``, ``limit``, ``records`` int64, and
    ``closed`` bool: it takes no more. ``known`` bool: the partition has been chosen once.
    ``ready_ms``, ``drain_ms`` int64: when its leader last had something to send, and when it could;
    NONE before.
    """

    waiting: np.ndarray
    bytes: np.ndarray
    limit: np.ndarray
    records: np.ndarray
    closed: np.ndarray
    known: np.ndarray
    ready_ms: np.ndarray
    drain_ms: np.ndarray


def empty(partitions: int) -> Buffer:
    """A buffer to which nothing has been appended."""
    numbers = [np.zeros(partitions, np.int64) for _ in range(4)]
    flags = [np.zeros(partitions, bool) for _ in range(2)]
    times = [np.full(partitions, NONE, np.int64) for _ in range(2)]
    return Buffer(*numbers, *flags, *times)


@leaf
def varint(number):
    """Bytes of a length or an offset as a variable-length number."""
    size, number = 1, (number << 1) ^ (number >> 63)
    while number > 0x7F:
        number >>= 7
        size += 1
    return size


@leaf
def record_size(offset, key, value):
    """``DefaultRecord.sizeInBytes``: key and value are lengths, NO_KEY for a null key."""
    body = 1 + 1 + varint(offset) + varint(key) + max(key, 0) + varint(value) + value + 1
    return varint(body) + body


@leaf
def full(buffer, partition):
    """``allBatchesFull``: whether the last batch takes no more, or there is none."""
    return (
        buffer.waiting[partition] == 0
        or buffer.closed[partition]
        or buffer.limit[partition] <= buffer.bytes[partition]
    )


@leaf
def try_append(buffer, partition, key, value):
    """Bytes appended to the last batch; -1, and the batch is closed, where it has no room."""
    if buffer.waiting[partition] == 0:
        return -1
    size = record_size(buffer.records[partition], key, value)
    if buffer.closed[partition] or buffer.limit[partition] < buffer.bytes[partition] + size:
        buffer.closed[partition] = True
        return -1
    buffer.bytes[partition] += size
    buffer.records[partition] += 1
    return size


@leaf
def new_batch(buffer, partition, key, value, batch_size):
    """Bytes of a new batch with one record; a record that is too large gets a batch of its size."""
    bound = BATCH_HEADER + RECORD_OVERHEAD + varint(key) + max(key, 0) + varint(value) + value + 1
    buffer.waiting[partition] += 1
    buffer.bytes[partition] = BATCH_HEADER + record_size(0, key, value)
    buffer.limit[partition] = max(batch_size, bound)
    buffer.records[partition] = 1
    buffer.closed[partition] = False
    return buffer.bytes[partition]


@inner
def append(buffer, key, value, batch_size, waits, of, state):
    """``RecordAccumulator.append`` of a record that any partition may get: the partition.

    ``waits``: whether a switch waits for a full batch, as in all releases (KAFKA-14156).
    """
    while True:
        if state.turn[0] == NONE:
            switch(0, of, state)
        partition = state.turn[0]
        buffer.known[partition] = True
        if full(buffer, partition) and switch_due(state.noted[0], batch_size, True):
            switch(0, of, state)
            continue
        added = try_append(buffer, partition, key, value)
        if added < 0:
            # What had no room has closed the batch, so a switch that waited for it is due now.
            if switch_due(state.noted[0], batch_size, True):
                switch(0, of, state)
                continue
            added = new_batch(buffer, partition, key, value, batch_size)
        state.noted[0] += added
        if switch_due(state.noted[0], batch_size, not waits or full(buffer, partition)):
            switch(0, of, state)
        return partition


@leaf
def drain(buffer, partition):
    """Takes the first batch of a partition away, if there is one."""
    if buffer.waiting[partition] > 0:
        buffer.waiting[partition] -= 1


@leaf
def seen_node(buffer, partition, now, can_drain):
    """``updateNodeLatencyStats`` of the partition's leader, here a node of its own."""
    if buffer.ready_ms[partition] == NONE or can_drain:
        buffer.drain_ms[partition] = now
    buffer.ready_ms[partition] = now


@inner
def ready(buffer, availability_timeout, state):
    """``partitionReady``: the load table of topic 0 from the queues, once every partition is known.

    A partition whose leader could not be sent to for longer than the timeout (0: never) is left
    out. Its place goes to the next partition, which keeps its queue length if it has no queue of
    its own: so does the original.
    """
    state.load_lengths[0] = 0
    partitions = buffer.known.size
    if not buffer.known.all():
        return
    queues, ids = state.loads[0], state.load_ids[0]
    queues[:] = 0
    length = 0
    for partition in range(partitions):
        ids[length] = partition
        if buffer.waiting[partition] > 0:
            queues[length] = buffer.waiting[partition]
            late = buffer.ready_ms[partition] - buffer.drain_ms[partition]
            if availability_timeout > 0 and late > availability_timeout:
                continue
        length += 1
    state.load_lengths[0] = weigh(queues, length)


APPEND, READY, DRAIN, LATENCY = range(4)


@njit
def take_steps(steps, batch_size, availability_timeout, buffer, of, state):
    """Partitions int64[appends] for steps int64[n, 4].

    Rows are (APPEND, bytes of the value), (READY,), (DRAIN, partition), (LATENCY, partition, now,
    1 where it can drain). Changes ``buffer`` and ``state``.
    """
    chosen = np.empty((steps[:, 0] == APPEND).sum(), np.int64)
    appended = 0
    for i in range(steps.shape[0]):
        kind, number = steps[i, 0], steps[i, 1]
        if kind == APPEND:
            chosen[appended] = append(buffer, NO_KEY, number, batch_size, True, of, state)
            appended += 1
        elif kind == READY:
            ready(buffer, availability_timeout, state)
        elif kind == DRAIN:
            drain(buffer, number)
        elif availability_timeout > 0:
            seen_node(buffer, number, steps[i, 2], steps[i, 3] != 0)
    return chosen


def partitions_of(steps, partitions: int, batch_size: int, availability_timeout: int, state: State):
    """:func:`take_steps` on a fresh buffer: partitions int64[appends] and the state afterwards."""
    of, after = topics([partitions]), state.copy()
    rows = np.asarray(steps, dtype=np.int64).reshape(-1, 4)
    return take_steps(rows, batch_size, availability_timeout, empty(partitions), of, after), after
