"""A key's hash where there is one, a uniform draw where there is none: what most clients do."""

import numpy as np

from assignlab.compiled import njit
from assignlab.producers.draws import next_positive, random_below
from assignlab.producers.partitioner import Records, State, Topics


def hashed_or_drawn(
    hashed: np.ndarray, draws: np.ndarray, records: Records, of: Topics, random: np.ndarray
) -> np.ndarray:
    """``hashed`` int64[n], and a uniform draw over all partitions where ``draws`` bool[n]."""
    _draw(hashed, draws, records.topics, of.partitions, random)
    return hashed


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


def empty_keys(records: Records) -> np.ndarray:
    """Which records have a key of no bytes, or none: bool[n]."""
    return np.diff(records.keys.offsets) == 0
