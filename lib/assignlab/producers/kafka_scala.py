"""Kafka 0.8's Scala producer: hashCode of the key; without one, one partition until a refresh.

Both families say "absolute value" in the same comment: up to 0.8.1.1 the sign bit is cut off, from
0.8.2 on it is the absolute value, so keys with a negative hash code land elsewhere. Keys are
strings here; a byte array's hashCode is the identity of the object, which no key decides.

Without a key a random available partition of the topic is kept until metadata are refreshed
(``topic.metadata.refresh.interval.ms``, ten minutes) or a send fails; :func:`refreshed` is that.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.producers.draws import random_int, scrambled
from assignlab.producers.hashes import java_strings
from assignlab.producers.kafka_hash import to_positive
from assignlab.producers.partitioner import NONE, Partitioner, Records, State, Topics


def absolute(number):
    """0.8.2's ``Utils.abs``: the absolute value, and 0 for the smallest number."""
    return abs(number) % (1 << 31)


def _run(
    positive: Callable, true_absolute: bool, records: Records, of: Topics, state: State
) -> np.ndarray:
    hashes = java_strings(records.keys).astype(np.int64)
    chosen = positive(hashes) % of.partitions[records.topics]
    failed = _keep(
        chosen, records.keys.null, records.topics, *in_order(of), state.turn, state.random,
        true_absolute,
    )  # fmt: skip
    if failed >= 0:
        raise OriginalError(
            "LeaderNotAvailableException", f"record {failed}: its topic has no leader at all"
        )
    return chosen


@njit
def _keep(chosen, null, topics, partitions, available, starts, kept, random, true_absolute):
    """Fills in the records without a key; the first that finds no leader, or -1."""
    for i in range(chosen.size):
        if not null[i]:
            continue
        topic = topics[i]
        if kept[topic] == NONE:
            start, count = starts[topic], starts[topic + 1] - starts[topic]
            if count == 0:
                return i
            number = random_int(random)
            number = abs(number) % (1 << 31) if true_absolute else number & 0x7FFFFFFF
            kept[topic] = available[start + number % count]
        chosen[i] = kept[topic]
    return -1


def in_order(of: Topics) -> Topics:
    """The topics with their available partitions by number, as this producer sorts them."""
    topic = np.repeat(np.arange(of.partitions.size), np.diff(of.starts))
    return of._replace(available=of.available[np.lexsort((of.available, topic))])


def refreshed(state: State) -> State:
    """The state after a refresh of metadata or a failed send: no partition is kept."""
    after = state.copy()
    after.turn[:] = NONE
    return after


SOURCE = "kafka.producer.DefaultPartitioner and kafka.producer.async.DefaultEventHandler"

NEWEST = Partitioner(
    name="scala-default",
    client="Kafka 0.8 Scala producer",
    first="0.8.2.0",
    last="0.8.2.2",
    source=f"{SOURCE} (kafka_2.11 0.8.2.2)",
    rule="absolute hashCode of the key; without one, a random partition until the next refresh",
    run=partial(_run, absolute, True),
    seeded=scrambled,
)
PARTITIONERS = (
    NEWEST,
    replace(
        NEWEST,
        name="scala-default@0.8.1",
        first="0.8.0",
        last="0.8.1.1",
        source=f"{SOURCE} (kafka_2.10 0.8.1.1)",
        rule="hashCode of the key without its sign bit; without one, as scala-default",
        run=partial(_run, to_positive, False),
    ),
)
