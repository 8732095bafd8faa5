"""Consumer threads of Kafka 0.8: what that consumer deals partitions to.

A consumer asks for a number of streams per topic (``num.streams``) and reads each with one thread,
called ``consumer-threadId``. Threads are compared by these names as strings: ``c-10`` stands before
``c-2``, and the threads of ``c-1`` between those of ``c``.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group.model import Group
from assignlab.jvm.names import Names


class Threads(NamedTuple):
    """Threads in the order of their names: ``member`` int64[n], ``number`` int64[n]."""

    member: np.ndarray
    number: np.ndarray


class Streams(NamedTuple):
    """How many streams of which topics the members ask for; those that ask for the same are of one
    kind.

    ``kind``: int64[members]; kind k asks for ``counts[starts[k]:starts[k + 1]]`` streams of the
    topics at the same places of ``topics`` (int64[n] each), in the order of its subscription.
    """

    kind: np.ndarray
    starts: np.ndarray
    topics: np.ndarray
    counts: np.ndarray


def streams(group: Group) -> Streams:
    """Streams per kind of member and subscribed topic, 1 where none are given.

    Raises :class:`OriginalError` where a topic is read with no stream at all: registering such a
    consumer already fails, and so does everybody who reads the registration.
    """
    members = group.members
    subscription, offsets, topics = members.subscription, members.offsets, members.topics
    if members.streams is None:
        return Streams(subscription, offsets, topics, np.ones_like(topics))
    kinds: dict[tuple, int] = {}
    kind = [
        kinds.setdefault(asked, len(kinds))
        for asked in zip(subscription.tolist(), members.streams, strict=True)
    ]
    named, counts = [topics[:0]], []
    for s, asked in kinds:
        named.append(topics[offsets[s] : offsets[s + 1]])
        for_all = [1 if asked is None else asked]
        counts += asked if isinstance(asked, tuple) else for_all * named[-1].size
    if counts and min(counts) < 1:
        raise OriginalError("AssertionError", "a consumer asks for no stream of a topic")
    starts = np.cumsum([own.size for own in named], dtype=np.int64)
    counts = np.array(counts, dtype=np.int64)
    return Streams(np.array(kind, dtype=np.int64), starts, np.concatenate(named), counts)


def by_name(group: Group) -> Threads:
    """Every thread that reads at least one topic."""
    asked = group.prepared(streams)
    member, number = all_threads(asked.kind, asked.starts, asked.counts)
    names = group.members.names.names
    pairs = zip(member.tolist(), number.tolist(), strict=True)
    order = Names([f"{names[m]}-{i}" for m, i in pairs]).order
    return Threads(member[order], number[order])


@njit
def all_threads(kind, starts, counts):
    """(member, number) of all threads, member by member: a member has as many as it asks for streams
    of one topic at the most."""
    most = np.zeros(starts.size, dtype=np.int64)
    for k in range(starts.size - 1):
        for i in range(starts[k], starts[k + 1]):
            most[k] = max(most[k], counts[i])
    total = 0
    for k in kind:
        total += most[k]
    member = np.empty(total, dtype=np.int64)
    number = np.empty(total, dtype=np.int64)
    n = 0
    for m in range(kind.size):
        for i in range(most[kind[m]]):
            member[n], number[n] = m, i
            n += 1
    return member, number


class Readers(NamedTuple):
    """The threads that read each topic; topics of one kind are read by the same.

    ``kind``: int64[topics]; ``threads[starts[k]:starts[k + 1]]`` (int64) read those of kind k:
    places among the threads of :func:`by_name`, ascending.
    """

    kind: np.ndarray
    starts: np.ndarray
    threads: np.ndarray


def by_topic(group: Group) -> Readers:
    """The readers of all topics."""
    kinds = group.prepared(kinds_of_readers)
    lists = line_up(*group.prepared(by_name), *group.prepared(streams), kinds)
    return Readers(kinds, *lists)


def kinds_of_readers(group: Group) -> np.ndarray:
    """The kind of each topic: int64[topics].

    Where nobody asks for different numbers of streams, the same subscribers are the same readers;
    else every topic is a kind.
    """
    if any(isinstance(asked, tuple) for asked in group.members.streams or ()):
        return np.arange(len(group.topics))
    return group.prepared(kinds_of_topics)[0]


@njit
def line_up(member, number, kind, starts, topics, counts, kinds):
    """Deal the sorted threads into the lists of the kinds of topics that they read.

    The first topic of a kind stands for all. Returns (starts, threads) of :class:`Readers`.
    """
    example = np.full(kinds.size, -1, dtype=np.int64)
    known = 0
    for t in range(kinds.size):
        if example[kinds[t]] < 0:
            example[kinds[t]] = t
            known += 1
    begins = np.empty(starts.size, dtype=np.int64)
    read = np.empty(topics.size, dtype=np.int64)
    asked = np.empty(topics.size, dtype=np.int64)
    n = 0
    for k in range(starts.size - 1):
        begins[k] = n
        for i in range(starts[k], starts[k + 1]):
            if example[kinds[topics[i]]] == topics[i]:
                read[n], asked[n] = kinds[topics[i]], counts[i]
                n += 1
    begins[-1] = n
    ends = np.zeros(known + 1, dtype=np.int64)
    for i in range(member.size):
        k = kind[member[i]]
        for j in range(begins[k], begins[k + 1]):
            if number[i] < asked[j]:
                ends[read[j] + 1] += 1
    for k in range(known):
        ends[k + 1] += ends[k]
    fill = ends[:-1].copy()
    threads = np.empty(ends[known], dtype=np.int64)
    for i in range(member.size):
        k = kind[member[i]]
        for j in range(begins[k], begins[k + 1]):
            if number[i] < asked[j]:
                threads[fill[read[j]]] = i
                fill[read[j]] += 1
    return ends, threads
