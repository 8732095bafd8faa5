"""Consumer threads of Kafka 0.8: what that consumer deals partitions to.

A consumer asks for a number of streams per topic (``num.streams``) and reads each with one thread,
called ``consumer-threadId``. Threads are compared by these names as strings: ``c-10`` stands before
``c-2``, and the threads of ``c-1`` between those of ``c``.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group.model import Group
from assignlab.jvm.names import Names


class Threads(NamedTuple):
    """Threads in the order of their names: ``member`` int64[n], ``number`` int64[n]."""

    member: np.ndarray
    number: np.ndarray


class Streams(NamedTuple):
    """Member i asks for ``counts[starts[i]:starts[i + 1]]`` streams, in the order of its topics."""

    starts: np.ndarray
    counts: np.ndarray


def streams(group: Group) -> Streams:
    """Streams per member and subscribed topic, 1 where none are given.

    Raises :class:`OriginalError` where a topic is read with no stream at all: registering such a
    consumer already fails, and so does everybody who reads the registration.
    """
    members = group.members
    topics = np.diff(members.offsets)[members.subscription]
    starts = np.concatenate(([0], np.cumsum(topics)))
    if members.streams is None:
        return Streams(starts, np.ones(starts[-1], dtype=np.int64))
    counts = np.fromiter(
        (
            count
            for asked, n in zip(members.streams, topics.tolist(), strict=True)
            for count in (asked if isinstance(asked, tuple) else (asked_or_one(asked),) * n)
        ),
        dtype=np.int64,
        count=int(starts[-1]),
    )
    if (counts < 1).any():
        raise OriginalError("AssertionError", "a consumer asks for no stream of a topic")
    return Streams(starts, counts)


def asked_or_one(asked: int | None) -> int:
    """A member's number of streams; 1 is the default."""
    return 1 if asked is None else asked


def by_name(group: Group) -> Threads:
    """Every thread that reads at least one topic."""
    starts, counts = group.prepared(streams)
    most = [int(counts[a:b].max()) if b > a else 0 for a, b in pairwise(starts)]
    threads = [(m, i) for m, count in enumerate(most) for i in range(count)]
    names = group.members.names
    order = Names([f"{names[m]}-{i}" for m, i in threads]).order
    pairs = np.array(threads, dtype=np.int64).reshape(-1, 2)[order]
    return Threads(pairs[:, 0].copy(), pairs[:, 1].copy())


def by_topic(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Per topic the threads that read it, as places among those of :func:`by_name`, ascending: topic t
    has ``threads[starts[t]:starts[t + 1]]``.

    Returns (starts int64[topics + 1], threads int64[n]).
    """
    members = group.members
    return line_up(
        *group.prepared(by_name),
        members.subscription,
        members.offsets,
        members.topics,
        *group.prepared(streams),
        len(group.topics),
    )


@njit
def line_up(member, number, subscription, offsets, topics, first, counts, known):
    """Deal the sorted threads into the lists of the topics that they read."""
    starts = np.zeros(known + 1, dtype=np.int64)
    for i in range(member.size):
        m = member[i]
        begin = offsets[subscription[m]]
        for k in range(first[m + 1] - first[m]):
            if number[i] < counts[first[m] + k]:
                starts[topics[begin + k] + 1] += 1
    for t in range(known):
        starts[t + 1] += starts[t]
    fill = starts[:-1].copy()
    threads = np.empty(starts[known], dtype=np.int64)
    for i in range(member.size):
        m = member[i]
        begin = offsets[subscription[m]]
        for k in range(first[m + 1] - first[m]):
            if number[i] < counts[first[m] + k]:
                t = topics[begin + k]
                threads[fill[t]] = i
                fill[t] += 1
    return starts, threads
