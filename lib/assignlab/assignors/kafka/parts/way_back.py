"""How a Kafka client sends an assignment back: its partitions grouped by topic, in hash order."""

import numpy as np

from assignlab.assignors.parts.slices import taken
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import walk_map


def regroup(
    group: Group,
    assignment: Assignment,
    newest_first: bool,
    times: int = 2,
    put_together: bool = False,
) -> Assignment:
    """The lists after the leader's assignment has crossed the wire and come back as user data.

    So many ``times``, once each way if nothing is told, a list is grouped by topic in a HashMap,
    which a release fills by ``put`` or by ``computeIfAbsent`` (``newest_first``); partitions of one
    topic keep their order. ``put_together``: see :func:`group_data_by_topic`.
    """
    names, offsets, codes = group.topics.names, assignment.offsets, assignment.codes
    way = newest_first, put_together, times
    return Assignment(offsets, group_data_by_topic(offsets, codes, names.hashes, names.rank, *way))


@njit
def group_data_by_topic(offsets, codes, hashes, rank, newest_first, put_together, times):
    """Every list grouped by topic so many ``times``, topics in the order of a HashMap.

    ``hashes``, ``rank``: of the topics' names; ``put_together``: the partitions of a topic are put
    together first, topics in the order of their first. Where they are together, as they are from the
    second time on, the last partition is a new key of the map only if its topic has no other.
    """
    grouped = np.empty(codes.size, dtype=np.int64)
    at = np.zeros(hashes.size, dtype=np.int64)
    met = np.empty(hashes.size, dtype=np.int64)
    for m in range(offsets.size - 1):
        n = 0
        called_again = False
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            called_again = at[t] > 0
            if not called_again:
                met[n] = t
                n += 1
            at[t] += 1
        topics = met[:n].copy()
        for crossing in range(times):
            if n > 0 and (put_together or crossing > 0):
                called_again = at[topics[n - 1]] > 1
            put = taken(hashes, topics), 16, taken(rank, topics)
            walk, _ = walk_map(*put, newest_first, called_again)
            topics = taken(topics, walk)
        start = offsets[m]
        for t in topics:
            start, at[t] = start + at[t], start
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            grouped[at[t]] = codes[k]
            at[t] += 1
        for t in topics:
            at[t] = 0
    return grouped
