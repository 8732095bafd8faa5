"""Range's arithmetic: consecutive partitions of a topic, one longer for the first members."""

from collections.abc import Callable

import numpy as np

from assignlab.assignors.parts.orders import as_often_as_named, place_of_same_member
from assignlab.compiled import leaf, njit
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Group


def assign_ranges(
    group: Group, topics: np.ndarray, spans: np.ndarray, subscribers: np.ndarray
) -> Assignment:
    """Range after range, topic after topic.

    ``topics``: int64[n] topic indices in the order of the walk; ``spans``, ``subscribers``: per
    topic its members, sorted (:func:`~assignlab.assignors.parts.orders.crowds`).
    """
    partitions, members = group.topics.partitions, len(group.members)
    return Assignment(*lists_of_ranges(topics, partitions, spans, subscribers, members))


def assign_named_ranges(
    group: Group, topics: np.ndarray, spans: np.ndarray, subscribers: np.ndarray
) -> Assignment:
    """:func:`assign_ranges` where a member that names a topic twice is two of its subscribers."""
    return assign_ranges(group, topics, *as_often_as_named(group, spans, subscribers))


def assign_last_ranges(
    group: Group, topics: np.ndarray, spans: np.ndarray, subscribers: np.ndarray
) -> Assignment:
    """:func:`assign_ranges` of clients in Python, which count a member as often as it names the topic;
    of its ranges the last replaces those before, now nobody's."""
    nobody = len(group.members)
    often, members = as_often_as_named(group, spans, subscribers)
    if members is not subscribers:
        members[:-1][place_of_same_member(often, members)] = nobody
    partitions = group.topics.partitions
    offsets, codes = lists_of_ranges(topics, partitions, often, members, nobody + 1)
    return Assignment(offsets[:-1], codes[: offsets[-2]])


def cut_topics(
    group: Group,
    walk: Callable[[Group], np.ndarray],
    crowds: Callable[[Group], tuple[np.ndarray, np.ndarray]],
    into: Callable[..., Assignment] = assign_named_ranges,
) -> Assignment:
    """Cut every topic into one range per subscriber.

    ``walk``: the topics in order; ``crowds``: their subscribers in order; ``into``: one of the above.
    """
    return into(group, group.prepared(walk), *group.prepared(crowds))


@njit
def lists_of_ranges(topics, partitions, spans, subscribers, members):
    """(offsets int64[members + 1], codes int64[n]) of :func:`assign_ranges`."""
    offsets = np.zeros(members + 1, dtype=np.int64)
    for t in topics:
        consumers = spans[t, 1] - spans[t, 0]
        if partitions[t] > 0 and consumers > 0:
            shares = shares_of(partitions[t], consumers)
            for i in range(min(consumers, partitions[t])):
                _, length = range_of(i, shares)
                offsets[subscribers[spans[t, 0] + i] + 1] += length
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    for t in topics:
        consumers = spans[t, 1] - spans[t, 0]
        if partitions[t] > 0 and consumers > 0:
            shares = shares_of(partitions[t], consumers)
            for i in range(min(consumers, partitions[t])):
                m = subscribers[spans[t, 0] + i]
                start, length = range_of(i, shares)
                first = code(t, start)
                for k in range(length):
                    codes[fill[m] + k] = first + k
                fill[m] += length
    return offsets, codes


@leaf
def shares_of(num_partitions_for_topic, consumers):
    """numPartitionsPerConsumer and consumersWithExtraPartition.

    Kafka 0.8 and MetaQ say nPartsPerConsumer and nConsumersWithExtraPart.
    """
    num_partitions_per_consumer = num_partitions_for_topic // consumers
    consumers_with_extra_partition = num_partitions_for_topic % consumers
    return num_partitions_per_consumer, consumers_with_extra_partition


@leaf
def range_of(i, shares):
    """Where the i-th of the sorted consumers begins, and how many partitions it gets.

    Kafka 0.8 and MetaQ say startPart and nParts.

    >>> [range_of(i, shares_of(10, 3)) for i in range(3)]
    [(0, 4), (4, 3), (7, 3)]
    """
    num_partitions_per_consumer, consumers_with_extra_partition = shares
    start = num_partitions_per_consumer * i + min(i, consumers_with_extra_partition)
    length = num_partitions_per_consumer + (0 if i + 1 > consumers_with_extra_partition else 1)
    return start, length
