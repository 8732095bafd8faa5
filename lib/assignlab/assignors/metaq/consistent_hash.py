"""``metaq-consistent-hash``: MetaQ's ConsisHashStrategy.

The rule. Every consumer of a topic marks 160 points on a ring of 32-bit numbers: four from each MD5
digest of ``consumer-0`` to ``consumer-39`` (ketama). A partition goes to the consumer whose point
is the first at or after the hash of ``broker-partition``, around the end if need be.

What it promises, in order
1. Monotony: a consumer that joins only takes partitions, one that leaves only gives away its own.
2. Balance by chance alone, for many partitions.
The topic is not hashed: partition ``0-1`` of every topic lands on the same consumer. With n topics
alike the imbalance is n times that of one, and a consumer without a partition of one topic gets
none of any.

>>> from assignlab.assignors.answer import answer
>>> def sizes(topics, *consumers):
...     names = [f"t{i}" for i in range(topics)]
...     given = answer({"strategy": "metaq-consistent-hash",
...         "topics": [{"name": name, "brokers": [["0", 12]]} for name in names],
...         "members": [{"id": c, "topics": names} for c in consumers]})["assignment"]
...     return [len(partitions) for partitions in given.values()]
>>> sizes(1, "c1", "c3", "c9", "c10"), sizes(8, "c1", "c3", "c9", "c10")
([4, 4, 0, 4], [32, 32, 0, 32])

Inside a topic the partitions of a consumer stand in the order of a Java HashSet of their names.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assignlab.assignors.metaq.default import STRATEGY as DEFAULT
from assignlab.assignors.metaq.parts.partitions import lines
from assignlab.assignors.parts.orders import kinds_of_topics, members_by_id, topics_by_name
from assignlab.assignors.parts.slices import copy_into, taken
from assignlab.compiled import leaf, njit
from assignlab.group.assignment import Assignment, by_member, code
from assignlab.group.model import Group
from assignlab.jvm.hash_map import walk_map
from assignlab.jvm.names import string_hashes

DIGESTS = 40
POINTS = 4 * DIGESTS
HASH_SET_SIZE = 16
PLACE_BITS = 31
"""On the ring a point, of 32 bits, stands before its consumer's place by id: one number to sort by."""
PLACE = (1 << PLACE_BITS) - 1


def assign(group: Group) -> Assignment:
    """Deal each kind of topic once, and hand every topic of that kind out alike."""
    kinds = group.prepared(kinds_with_lines)
    partitions = group.prepared(hashed_partitions)
    sorted_partitions = group.prepared(lines)
    bounds, chosen = deal(
        kinds.line, kinds.subscribed, group.members.subscription, *group.prepared(consumer_ring),
        partitions.place, sorted_partitions.starts, len(group.members),
    )  # fmt: skip
    walk_hash_sets(bounds, partitions.hashes, chosen)
    topics, in_turn = group.prepared(topics_by_name), sorted_partitions.order[chosen]
    return Assignment(*hand_out(topics, kinds.of_topic, bounds, in_turn))


class Kinds(NamedTuple):
    """Topics that are dealt alike: same partitions, same consumers.

    ``of_topic``: int64[topics]; ``line``: int64[kinds], see
    :class:`~assignlab.assignors.metaq.parts.partitions.Lines`; ``subscribed``:
    bool[kinds, subscriptions].
    """

    of_topic: np.ndarray
    line: np.ndarray
    subscribed: np.ndarray


def kinds_with_lines(group: Group) -> Kinds:
    """Tell the topics apart by their partitions and consumers."""
    by_consumers, subscribed = group.prepared(kinds_of_topics)
    pairs = list(zip(group.prepared(lines).of_topic.tolist(), by_consumers.tolist(), strict=True))
    of_topic = np.full(len(group.topics), -1, dtype=np.int64)
    kinds: dict[tuple[int, int], int] = {}
    for t in group.prepared(topics_by_name).tolist():
        of_topic[t] = kinds.setdefault(pairs[t], len(kinds))
    line, consumers = np.array(list(kinds), dtype=np.int64).reshape(-1, 2).T
    return Kinds(of_topic, np.ascontiguousarray(line), subscribed[consumers])


class Ring(NamedTuple):
    """The points of all members, sorted; of equal points the consumer that sorts last wins.

    ``marks``: int64[n], ``point << PLACE_BITS | place``, the consumer is ``by_id[place]`` (int64,
    member indices).
    """

    marks: np.ndarray
    by_id: np.ndarray

    @property
    def points(self) -> np.ndarray:
        """The points, 0 to 2**32 - 1: int64[n]."""
        return self.marks >> PLACE_BITS

    @property
    def consumers(self) -> np.ndarray:
        """The member of each point: int64[n]."""
        return self.by_id[self.marks & PLACE]


def consumer_ring(group: Group) -> Ring:
    """Mark the 160 points of every member."""
    order = group.prepared(members_by_id)
    names = group.members.names.names
    digests = b"".join([digests_of(names[m]) for m in order.tolist()])
    marks = np.frombuffer(digests, dtype="<u4").astype(np.int64).reshape(-1, POINTS)
    marks <<= PLACE_BITS
    marks |= np.arange(order.size)[:, None]
    marks = marks.ravel()
    marks.sort()
    return Ring(marks, order)


@lru_cache(maxsize=1 << 14)
def digests_of(consumer: str) -> bytes:
    """The digests whose numbers are the points of a consumer, wherever it is a member."""
    return md5(f"{consumer}-{i}" for i in range(DIGESTS))


def md5(names: Iterable[str]) -> bytes:
    """The MD5 digests of names in UTF-8, one by one (Java encodes half a pair as ``?``)."""
    return b"".join(hashlib.md5(name.encode("utf-8", "replace")).digest() for name in names)


class HashedPartitions(NamedTuple):
    """For each name in :class:`~assignlab.assignors.metaq.parts.partitions.Lines`: ``place``
    int64[n], where its search on the ring begins, and ``hashes`` int32[n], its ``String.hashCode``.
    """

    place: np.ndarray
    hashes: np.ndarray


def hashed_partitions(group: Group) -> HashedPartitions:
    """Hash the partitions onto the ring."""
    names = group.prepared(lines).names
    ring = group.prepared(consumer_ring)
    place = np.searchsorted(ring.marks, first_numbers(names) << PLACE_BITS)
    return HashedPartitions(place % max(ring.marks.size, 1), string_hashes(names))


@lru_cache(maxsize=64)
def first_numbers(names: tuple[str, ...]) -> np.ndarray:
    """The first number of each name's digest, whatever its group: int64[n]."""
    return np.frombuffer(md5(names), dtype="<u4")[::4].astype(np.int64)


@njit
def deal(kind_line, subscribed, subscription, marks, by_id, place, starts, members):
    """Deal each kind of topic: (bounds, chosen).

    ``bounds``: int64[kinds, members + 1]; in kind k, member m gets the partitions at the positions
    ``chosen[bounds[k, m]:bounds[k, m + 1]]`` of the lines, in their order there.
    """
    kinds = kind_line.size
    total = 0
    for k in range(kinds):
        total += starts[kind_line[k] + 1] - starts[kind_line[k]]
    bounds = np.empty((kinds, members + 1), dtype=np.int64)
    chosen = np.empty(total, dtype=np.int64)
    owners = np.empty(place.size, dtype=np.int64)
    begin = 0
    for k in range(kinds):
        first, last = starts[kind_line[k]], starts[kind_line[k] + 1]
        for i in range(first, last):
            owners[i] = find_consumer(marks, by_id, subscribed[k], subscription, place[i])
        offsets, places = by_member(owners[first:last], np.arange(first, last), members)
        copy_into(bounds[k], 0, begin + offsets)
        copy_into(chosen, begin, places)
        begin += last - first
    return bounds, chosen


@leaf
def find_consumer(marks, by_id, subscribed, subscription, place):
    """The member with the first point from ``place`` on, among those that subscribe."""
    consumer = by_id[marks[place] & PLACE]
    while not subscribed[subscription[consumer]]:
        place = place + 1 if place + 1 < marks.size else 0
        consumer = by_id[marks[place] & PLACE]
    rival = place + 1
    while rival < marks.size and marks[rival] >> PLACE_BITS == marks[place] >> PLACE_BITS:
        if subscribed[subscription[by_id[marks[rival] & PLACE]]]:
            consumer = by_id[marks[rival] & PLACE]
        rival += 1
    return consumer


@njit
def walk_hash_sets(bounds, hashes, chosen):
    """Bring every member's partitions of a kind, which stand in their order, into that of a HashSet,
    in place."""
    kinds, members = bounds.shape[0], bounds.shape[1] - 1
    for k in range(kinds):
        for m in range(members):
            first, last = bounds[k, m], bounds[k, m + 1]
            if last - first < 2:
                continue
            own = chosen[first:last].copy()
            in_order = np.arange(own.size)
            walk, _ = walk_map(taken(hashes, own), HASH_SET_SIZE, in_order, False, False)
            copy_into(chosen, first, taken(own, walk))


@njit
def hand_out(topics, kind, bounds, partitions):
    """Every member's share of every topic, topics by name. Returns (offsets, codes)."""
    kinds, members = bounds.shape[0], bounds.shape[1] - 1
    times = np.zeros(kinds, dtype=np.int64)
    for t in topics:
        times[kind[t]] += 1
    offsets = np.zeros(members + 1, dtype=np.int64)
    for k in range(kinds):
        for m in range(members):
            offsets[m + 1] += times[k] * (bounds[k, m + 1] - bounds[k, m])
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[members], dtype=np.int64)
    owners = np.empty(partitions.size, dtype=np.int64)
    for k in range(kinds):
        for m in range(members):
            for i in range(bounds[k, m], bounds[k, m + 1]):
                owners[i] = m
    for t in topics:
        for i in range(bounds[kind[t], 0], bounds[kind[t], members]):
            codes[fill[owners[i]]] = code(t, partitions[i])
            fill[owners[i]] += 1
    return offsets, codes


STRATEGY = replace(
    DEFAULT,
    name="metaq-consistent-hash",
    source="com.taobao.metamorphosis.client.consumer.ConsisHashStrategy",
    look=("brown", ">", "solid"),
    promises=("monotone", "one_place_for_all_topics"),
    exceptions={"large_groups": "the original builds a ring for every topic and consumer"},
    assign=assign,
)
