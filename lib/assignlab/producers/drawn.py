"""A key's hash where there is one, a uniform draw where there is none: what most clients do."""

from functools import partial

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import next_positive, random_below, scrambled
from assignlab.producers.partitioner import Partitioner, Records, Run, State, Topics


def hashed_or_drawn(
    hashed: Run, records: Records, of: Topics, state: State, empty_too: bool = False
) -> np.ndarray:
    """What ``hashed`` gives a record with a key, and a uniform draw over all partitions without one;
    ``empty_too``: a key of no bytes is none."""
    chosen = hashed(records, of, state)
    draws = np.diff(records.keys.offsets) == 0 if empty_too else records.keys.null
    _draw(chosen, draws, records.topics, of.partitions, state.random)
    return chosen


@njit
def _draw(chosen, draws, topics, partitions, random):
    for i in range(chosen.size):
        if draws[i]:
            chosen[i] = next_positive(random) % partitions[topics[i]]


def at_random(records: Records, of: Topics, state: State) -> np.ndarray:
    """``Random.nextInt(partitions)`` for every record: int64[n]."""
    return drawn_below(records.topics, of.partitions, state.random)


@njit
def drawn_below(topics, partitions, random):
    """For every record a partition of its topic, evenly drawn: int64[n]. Changes ``random``."""
    chosen = np.empty(topics.size, np.int64)
    for i in range(topics.size):
        chosen[i] = random_below(random, partitions[topics[i]])
    return chosen


uniform = partial(
    Partitioner, rule="a draw for every record", run=at_random, seeded=scrambled, keyed="none"
)
"""A partitioner that draws for every record as Java's ``Random`` does; the rest of its facts are given."""
