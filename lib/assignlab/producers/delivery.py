"""Records without keys on their way: a producer's buffer, its sender, and brokers as queues.

What a partitioner chooses depends on which batches are full or sent, so on how fast brokers answer.
This model has the buffer and the partitioners exactly (see :mod:`~assignlab.producers.accumulator`
and the partitioners' files) and everything behind them as plain queues:

- Records arrive at equal distances. One topic; every partition is led by a broker of its own.
- The sender looks whenever a record arrives, a response comes, or a batch has lingered enough. To
  each broker with fewer than ``in_flight`` requests under way it sends the first ready batch.
- A broker answers the requests of the connection one after the other, each after its
  ``response_ms``, whatever the batch's size. The network and the producer's own work take no time.

Nothing fails, memory is not limited, and other producers do not exist.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.errors import shown
from assignlab.producers import accumulator
from assignlab.producers.accumulator import NO_KEY, drain, empty, full, new_batch, try_append
from assignlab.producers.draws import generator, seed_of, thread_local_int
from assignlab.producers.kafka_hash import in_turn
from assignlab.producers.kafka_sticky import next_partition
from assignlab.producers.kafka_sticky import partition as sticky_partition
from assignlab.producers.partitioner import NONE, fresh, plain, topics, whole

COUNTER, COUNTER_TWICE, STICKY, BUILT_IN = range(4)
KINDS = {
    "default@2.0": COUNTER,
    "round-robin": COUNTER,
    "round-robin@2.4": COUNTER_TWICE,
    "default@2.4": STICKY,
    "built-in": BUILT_IN,
}
"""The partitioners that the model knows."""

LEAST = {
    "records": 1, "value_bytes": 0, "batch_size": 1, "in_flight": 1, "availability_timeout_ms": 0,
}  # fmt: skip
"""The whole numbers of a setting, and how small they may be."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One producer and its brokers.

    ``partitioner``: one of `KINDS`. ``records``, ``rate`` (records per second), ``value_bytes`` of
    each. ``response_ms``: per partition, how long its broker takes for a request. ``batch_size``,
    ``linger_ms``, ``in_flight``, ``adaptive``, ``availability_timeout_ms``: the producer's settings
    ``batch.size``, ``linger.ms``, ``max.in.flight.requests.per.connection``,
    ``partitioner.adaptive.partitioning.enable`` and ``partitioner.availability.timeout.ms``, by
    default as 3.3 has them (since 4.0 ``linger.ms`` is 5).
    ``waits``: whether the built-in partitioner waits for a full batch before it switches, as in all
    releases (KAFKA-14156). Raises ValueError, which names the field, for what cannot be played.
    """

    partitioner: str
    records: int
    rate: float
    value_bytes: int
    response_ms: tuple[float, ...]
    batch_size: int = 16384
    linger_ms: float = 0.0
    in_flight: int = 5
    adaptive: bool = True
    availability_timeout_ms: int = 0
    waits: bool = True

    def __post_init__(self):
        if self.partitioner not in list(KINDS):
            raise ValueError(f"{self.partitioner!r} is not one of {', '.join(KINDS)}")
        for name, least in LEAST.items():
            object.__setattr__(self, name, whole(name, getattr(self, name), least))
        for name in ("adaptive", "waits"):
            value = plain(getattr(self, name))
            if type(value) is not bool:
                raise ValueError(f"{name}: expected True or False, got {shown(value)}")
            object.__setattr__(self, name, value)
        if not is_number(self.rate) or self.rate <= 0:
            raise ValueError(f"rate: expected a number above 0, got {shown(self.rate)}")
        if not is_number(self.linger_ms) or self.linger_ms < 0:
            raise ValueError(f"linger_ms: expected a number from 0 on, got {shown(self.linger_ms)}")
        given = self.response_ms
        times = tuple(given) if isinstance(given, Iterable) else ()
        if not times or not all(is_number(time) and time > 0 for time in times):
            raise ValueError(
                f"response_ms: expected a time above 0 for every broker, got {shown(given)}"
            )
        object.__setattr__(self, "response_ms", times)


def is_number(value: Any) -> bool:
    """Whether a value is a finite number, which a flag is not."""
    value = plain(value)
    return isinstance(value, int | float) and type(value) is not bool and math.isfinite(value)


class Played(NamedTuple):
    """A setting as compiled code reads it; ``random_start``: does the counter begin anywhere?"""

    kind: int
    random_start: bool
    value_bytes: int
    response_ms: np.ndarray
    batch_size: int
    linger_ms: float
    in_flight: int
    adaptive: bool
    availability_timeout_ms: int
    waits: bool


class Delivery(NamedTuple):
    """What became of n records: ``partitions`` int64[n], ``sent_ms`` and ``done_ms`` float64[n]
    (arrival in the buffer, response), ``requests`` int64[p]."""

    partitions: np.ndarray
    sent_ms: np.ndarray
    done_ms: np.ndarray
    requests: np.ndarray

    @property
    def latency_ms(self) -> np.ndarray:
        """From the buffer to the response: float64[n]."""
        return self.done_ms - self.sent_ms

    @property
    def records_per_second(self) -> float:
        """All records over the time until the last response."""
        return 1000 * self.done_ms.size / float(self.done_ms.max())

    @property
    def shares(self) -> np.ndarray:
        """Share of the records that each partition got: float64[p]."""
        counts = np.bincount(self.partitions, minlength=self.requests.size)
        return counts / self.partitions.size


def deliver(setting: Setting, seed: int = 0) -> Delivery:
    """Plays a setting to its end; the seed, a whole number, decides the partitioner's draws."""
    of = topics([len(setting.response_ms)])
    sent = np.arange(setting.records) * (1000.0 / setting.rate)
    played = Played(
        KINDS[setting.partitioner], setting.partitioner == "default@2.0", setting.value_bytes,
        np.array(setting.response_ms, float), setting.batch_size, float(setting.linger_ms),
        min(setting.in_flight, setting.records), setting.adaptive,
        setting.availability_timeout_ms, setting.waits,
    )  # fmt: skip
    state = fresh(of, generator(seed_of(seed)))
    chosen, done, requests = _deliver(played, sent, empty(of.partitions[0]), of, state)
    return Delivery(chosen, sent, done, requests)


@njit
def _deliver(played, sent, buffer, of, state):
    n, p = sent.size, played.response_ms.size
    kind, value, batch_size = played.kind, played.value_bytes, played.batch_size
    in_flight, linger = played.in_flight, played.linger_ms
    chosen = np.empty(n, np.int64)
    done = np.empty(n)
    batch_of = np.empty(n, np.int64)
    created, answered = np.empty(n), np.zeros(n)  # per batch; there are at most n
    following = np.full(n, -1)
    first, last = np.full(p, -1), np.full(p, -1)
    batches = 0
    # Requests under way at each broker: when they are answered, a ring of in_flight entries.
    due = np.full((p, in_flight), np.inf)
    oldest, under_way = np.zeros(p, np.int64), np.zeros(p, np.int64)
    requests = np.zeros(p, np.int64)
    free_at = np.zeros(p)
    if kind != BUILT_IN:
        state.turn[0] = NONE if kind == STICKY else 0
        if played.random_start:
            state.turn[0] = thread_local_int(state.random)
    record, now = 0, 0.0
    while record < n or (first >= 0).any():
        now = next_event(record, sent, first, created, linger, oldest, due, under_way, in_flight)
        for broker in range(p):
            while under_way[broker] > 0 and due[broker, oldest[broker]] <= now:
                due[broker, oldest[broker]] = np.inf
                oldest[broker] = (oldest[broker] + 1) % in_flight
                under_way[broker] -= 1
        while record < n and sent[record] <= now:
            part = put(kind, buffer, value, batch_size, played.waits, of, state)
            if buffer.records[part] == 1:  # the record opened a batch
                created[batches] = now
                if first[part] < 0:
                    first[part] = batches
                else:
                    following[last[part]] = batches
                last[part] = batches
                batches += 1
            chosen[record], batch_of[record] = part, last[part]
            record += 1
        if played.adaptive and kind == BUILT_IN:
            accumulator.ready(buffer, played.availability_timeout_ms, state)
        for broker in range(p):
            while is_ready(buffer, broker, first, created, linger, now):
                can_drain = under_way[broker] < in_flight
                if played.availability_timeout_ms > 0:
                    accumulator.seen_node(buffer, broker, np.int64(now), can_drain)
                if not can_drain:
                    break
                drain(buffer, broker)
                batch = first[broker]
                first[broker] = following[batch]
                free_at[broker] = max(free_at[broker], now) + played.response_ms[broker]
                answered[batch] = free_at[broker]
                slot = (oldest[broker] + under_way[broker]) % in_flight
                due[broker, slot] = free_at[broker]
                under_way[broker] += 1
                requests[broker] += 1
    for i in range(n):
        done[i] = answered[batch_of[i]]
    return chosen, done, requests


@inner
def next_event(record, sent, first, created, linger, oldest, due, under_way, in_flight):
    """The next arrival, response, or end of a linger, whichever comes first."""
    soonest = sent[record] if record < sent.size else np.inf
    for broker in range(first.size):
        if under_way[broker] > 0:
            soonest = min(soonest, due[broker, oldest[broker]])
        if first[broker] >= 0 and under_way[broker] < in_flight:
            soonest = min(soonest, created[first[broker]] + linger)
    return soonest


@inner
def is_ready(buffer, broker, first, created, linger, now):
    """``batchReady``: a full batch, one with others behind it, or one that has lingered enough."""
    waiting = buffer.waiting[broker]
    if waiting == 0:
        return False
    return waiting > 1 or full(buffer, broker) or now >= created[first[broker]] + linger


@inner
def put(kind, buffer, value, batch_size, waits, of, state):
    """Chooses a partition and appends a record, as the producer does: the partition."""
    if kind == BUILT_IN:
        return accumulator.append(buffer, NO_KEY, value, batch_size, waits, of, state)
    part = ask(kind, of, state)
    if try_append(buffer, part, NO_KEY, value) >= 0:
        return part
    if kind == STICKY:  # told of the new batch, and asked again
        next_partition(0, part, of.partitions, of.available, of.starts, state.turn, state.random)
    if kind in (STICKY, COUNTER_TWICE):
        part = ask(kind, of, state)
        if try_append(buffer, part, NO_KEY, value) >= 0:
            return part
    new_batch(buffer, part, NO_KEY, value, batch_size)
    return part


@inner
def ask(kind, of, state):
    """The partitioner's answer for a record of topic 0 without a key."""
    if kind == STICKY:
        return sticky_partition(0, of.partitions, of.available, of.starts, state.turn, state.random)
    state.turn[0] += 1
    return in_turn(state.turn[0] - 1, of.partitions[0], of.starts, of.available, 0)
