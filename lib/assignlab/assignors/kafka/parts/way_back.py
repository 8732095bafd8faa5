"""How a Kafka client sends an assignment back: its partitions grouped by topic, in hash order."""

import numpy as np

from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import hash_map_order, spread_all, table_size, walk_lists, was_crowded
from assignlab.jvm.names import Names


def regroup(group: Group, assignment: Assignment, newest_first: bool, times: int = 2) -> Assignment:
    """The lists after the leader's assignment has crossed the wire and come back as user data.

    Both times a list is grouped by topic in a HashMap, which a release fills by ``put`` or by
    ``computeIfAbsent`` (``newest_first``); partitions of one topic keep their order.
    """
    names = group.topics.names
    offsets, codes = assignment.offsets, assignment.codes
    regrouped, crowded = group_data_by_topic(
        offsets, codes, names.hashes, newest_first, False, times
    )
    if crowded:
        regrouped = codes.copy()
        for m in range(offsets.size - 1):
            part = regrouped[offsets[m] : offsets[m + 1]]
            for _ in range(times):
                part[:] = regroup_crowded(names, part, newest_first)
    return Assignment(offsets, regrouped)


def regroup_crowded(names: Names, codes: np.ndarray, newest_first: bool) -> np.ndarray:
    """One list grouped by topic, for any number of topics in one slot of the HashMap."""
    topics, first, topic = np.unique(topic_of(codes), return_index=True, return_inverse=True)
    met = np.argsort(first)
    called_again = met.size > 0 and first[met[-1]] < codes.size - 1
    hashes, rank = names.hashes[topics[met]], names.rank[topics[met]]
    walk = met[hash_map_order(hashes, 16, rank, newest_first, called_again)]
    place = np.empty(topics.size, dtype=np.int64)
    place[walk] = np.arange(topics.size)
    return codes[np.argsort(place[topic], kind="stable")]


def together(codes: np.ndarray) -> np.ndarray:
    """One list with the partitions of a topic put together, topics in the order of their first."""
    _, first, topic = np.unique(topic_of(codes), return_index=True, return_inverse=True)
    return codes[np.argsort(first[topic], kind="stable")]


@njit
def group_data_by_topic(offsets, codes, hashes, newest_first, put_together, times):
    """(every list grouped by topic so many ``times``, topics in the order of a HashMap; whether a
    slot of such a map was so crowded that the order may be another one).

    ``put_together``: the lists are first put :func:`together`. Then the last partition is a new key
    of the map only if its topic, which is the last one met, has no other.
    """
    spreads = spread_all(hashes)
    grouped = codes
    at = np.zeros(hashes.size, dtype=np.int64)
    topics = np.empty(hashes.size, dtype=np.int64)
    put = np.empty(hashes.size, dtype=np.int64)
    crowded = False
    for _ in range(times):
        codes, grouped = grouped, np.empty(codes.size, dtype=np.int64)
        for m in range(offsets.size - 1):
            met = 0
            late = 0
            for k in range(offsets[m], offsets[m + 1]):
                t = topic_of(codes[k])
                late = 0
                if at[t] == 0:
                    topics[met] = t
                    put[met] = spreads[t]
                    met += 1
                    late = 1 if newest_first else 0
                at[t] += 1
            if put_together and newest_first and met > 0:
                late = 1 if at[topics[met - 1]] == 1 else 0
            crowded |= was_crowded(put[:met], 16, 7 if newest_first else 8)
            walk = walk_lists(put[:met], table_size(met - late, 16), newest_first)
            start = offsets[m]
            for k in walk:
                start, at[topics[k]] = start + at[topics[k]], start
            for k in range(offsets[m], offsets[m + 1]):
                t = topic_of(codes[k])
                grouped[at[t]] = codes[k]
                at[t] += 1
            for k in range(met):
                at[topics[k]] = 0
    return grouped, crowded
