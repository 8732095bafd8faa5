"""All partitions of some topics, one behind the other."""

import numpy as np

from assignlab.assignors.parts.code_points import topics_by_name
from assignlab.compiled import inner
from assignlab.group.assignment import code
from assignlab.group.model import Group


def of_topics(group: Group, topics: np.ndarray) -> np.ndarray:
    """The codes of every partition of these topics (int64[n]), topic after topic, by number.

    Topics without metadata have none.
    """
    counts = np.maximum(group.topics.partitions[topics], 0)
    return code(np.repeat(topics, counts), ramps(counts))


@inner
def codes_of(topics, partitions):
    """:func:`of_topics` in compiled code; ``partitions``: of all topics."""
    total = 0
    for t in topics:
        total += partitions[t]
    codes = np.empty(total, dtype=np.int64)
    n = 0
    for t in topics:
        for p in range(partitions[t]):
            codes[n] = code(t, p)
            n += 1
    return codes


def subscribed(group: Group) -> np.ndarray:
    """The codes of every partition that somebody subscribes to, by topic (code points), number."""
    return of_topics(group, group.prepared(topics_by_name))


def ramps(counts: np.ndarray) -> np.ndarray:
    """0 to count - 1 for every count, one behind the other.

    >>> ramps(np.array([2, 0, 3])).tolist()
    [0, 1, 0, 1, 2]
    """
    return np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
