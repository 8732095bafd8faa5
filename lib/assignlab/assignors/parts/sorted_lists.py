"""Lists as some clients send them back: sorted by topic and partition."""

import numpy as np

from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, partition_of, topic_of


def by_topic_and_partition(
    assignment: Assignment,
    by_id: np.ndarray,
    first: np.ndarray,
    count: np.ndarray,
    codes: np.ndarray,
    rank: np.ndarray,
) -> Assignment:
    """The same lists, each sorted.

    ``by_id``: int64[members]; neighbours in this order were dealt neighbouring partitions, so it is
    the fastest to read them in. ``codes``: int64[n] of all partitions, sorted so; those of topic t
    begin at ``first[t]``, below 0 for a topic that has none there, and are ``count[t]``; ``rank``:
    int64[topics], of their names.
    """
    lists = lists_by_number(assignment.offsets, assignment.codes, by_id, first, count, codes)
    if lists.size < assignment.codes.size:
        topics = rank[topic_of(assignment.codes)]
        lists = assignment.codes[np.lexsort((assignment.codes, topics, assignment.owners))]
    return Assignment(assignment.offsets, lists)


@njit
def lists_by_number(offsets, given, by_id, first, count, codes):
    """The sorted lists; empty if they hold a partition twice or one that is not among ``codes``."""
    owners = np.full(codes.size, -1, dtype=np.int32)
    lists = np.empty(given.size, dtype=np.int64)
    for m in by_id:
        for k in range(offsets[m], offsets[m + 1]):
            topic = topic_of(given[k])
            partition = partition_of(given[k])
            if first[topic] < 0 or partition >= count[topic]:
                return lists[:0]
            x = first[topic] + partition
            if owners[x] >= 0:
                return lists[:0]
            owners[x] = m
    fill = offsets[:-1].copy()
    for x in range(owners.size):
        m = owners[x]
        if m >= 0:
            lists[fill[m]] = codes[x]
            fill[m] += 1
    return lists
