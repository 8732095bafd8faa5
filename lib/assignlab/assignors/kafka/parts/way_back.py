"""How a Kafka client sends an assignment back: its partitions grouped by topic, in hash order."""

import numpy as np

from assignlab.assignors.parts.slices import taken
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import walk_map


def regroup(group: Group, assignment: Assignment, newest_first: bool, times: int = 2) -> Assignment:
    """The lists after the leader's assignment has crossed the wire and come back as user data.

    Both times a list is grouped by topic in a HashMap, which a release fills by ``put`` or by
    ``computeIfAbsent`` (``newest_first``); partitions of one topic keep their order.
    """
    names = group.topics.names
    offsets, codes = assignment.offsets, assignment.codes
    return Assignment(
        offsets,
        group_data_by_topic(offsets, codes, names.hashes, names.rank, newest_first, False, times),
    )


@njit
def group_data_by_topic(offsets, codes, hashes, rank, newest_first, put_together, times):
    """Every list grouped by topic so many ``times``, topics in the order of a HashMap.

    ``hashes``, ``rank``: of the topics' names; ``put_together``: the partitions of a topic are put
    together first, topics in the order of their first. Then the last partition is a new key of the
    map only if its topic, which is the last one met, has no other.
    """
    grouped = codes
    at = np.zeros(hashes.size, dtype=np.int64)
    topics = np.empty(hashes.size, dtype=np.int64)
    for _ in range(times):
        codes, grouped = grouped, np.empty(codes.size, dtype=np.int64)
        for m in range(offsets.size - 1):
            met = 0
            called_again = False
            for k in range(offsets[m], offsets[m + 1]):
                t = topic_of(codes[k])
                called_again = at[t] > 0
                if not called_again:
                    topics[met] = t
                    met += 1
                at[t] += 1
            if put_together and met > 0:
                called_again = at[topics[met - 1]] > 1
            put = topics[:met]
            walk, _ = walk_map(taken(hashes, put), 16, taken(rank, put), newest_first, called_again)
            start = offsets[m]
            for t in taken(put, walk):
                start, at[t] = start + at[t], start
            for k in range(offsets[m], offsets[m + 1]):
                t = topic_of(codes[k])
                grouped[at[t]] = codes[k]
                at[t] += 1
            for t in put:
                at[t] = 0
    return grouped
