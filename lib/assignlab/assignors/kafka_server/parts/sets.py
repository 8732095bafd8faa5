"""What the coordinator's assignors see: topics by Uuid, claims as sets, members in hash order.

The coordinator keeps every member's target as a ``Map<Uuid, Set<Integer>>`` that it read from a
record: a ``HashMap`` of default size over topic ids, filled in the order of the claim, and for each
topic a ``HashSet`` made of the claim's list. Results are sets too; they are printed by topic name
and partition.

A topic whose document has no ``id`` gets the first half of SHA-256 of its name in UTF-16
(big-endian), so that one name always is one id. A claim may name a topic that is gone by its id.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import DocumentError
from assignlab.group.assignment import Assignment, code, number_of, partition_of, topic_of
from assignlab.group.document import lists
from assignlab.group.model import NO_METADATA, Group
from assignlab.jvm.hash_map import (
    collection_capacity,
    hash_map_order,
    spread,
    spread_all,
    table_size,
    walk_lists,
    was_crowded,
)
from assignlab.jvm.names import Uuid, utf16, uuid_halves, uuid_hashes


class TopicIds(NamedTuple):
    """``hashes``: int32[topics], ``Uuid.hashCode``; ``rank``: int64[topics], place by compareTo."""

    hashes: np.ndarray
    rank: np.ndarray


def topic_ids(group: Group) -> TopicIds:
    """The ids of all topics that the group speaks of.

    DocumentError where one is malformed or two topics of the cluster share one.
    """
    topics, exists = group.topics, group.topics.partitions != NO_METADATA
    ids = uuid_halves(topics.ids) if topics.ids and None not in topics.ids else None
    if ids is None:
        ids = _ids_of(topics.names.names, tuple(exists.tolist())).copy()
        for t, text in enumerate(topics.ids or ()):
            if text is not None:
                ids[t] = _parsed(text)
    order = np.lexsort((ids[:, 1], ids[:, 0]))
    known = ids[order[exists[order]]]
    if (known[1:] == known[:-1]).all(axis=1).any():
        raise DocumentError("topics", "two topics have one id")
    rank = np.empty(len(ids), dtype=np.int64)
    rank[order] = np.arange(len(ids))
    return TopicIds(uuid_hashes(ids), rank)


def _parsed(text: str) -> Uuid:
    try:
        return Uuid.parse(text)
    except ValueError as malformed:
        raise DocumentError("topics.id", str(malformed)) from None


@lru_cache(maxsize=64)
def _ids_of(names: tuple[str, ...], exists: tuple[bool, ...]) -> np.ndarray:
    """The halves of all topics' ids as their names make them: int64[topics, 2]."""
    ids = [_id_of(n) if known else _gone(n) for n, known in zip(names, exists, strict=True)]
    return np.array(ids, dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=1 << 16)
def _id_of(name: str) -> Uuid:
    half = hashlib.sha256(utf16(name)).digest()[:16]
    return Uuid(int.from_bytes(half[:8], signed=True), int.from_bytes(half[8:], signed=True))


def _gone(name: str) -> Uuid:
    return Uuid.parse(name) if re.fullmatch(r"[A-Za-z0-9_-]{22}", name) else _id_of(name)


def homogeneous(group: Group) -> bool:
    """``ConsumerGroup.subscriptionType``: whether every topic is named as often as there are members.

    So it is if all members name the same topics, existing or not; but one that names a topic twice
    can make up for one that does not name it.
    """
    if group.sent is group.members and group.sent.offsets.size == 2:  # one subscription
        return True
    times = group.prepared(orders.times_named)
    return bool(((times == 0) | (times == len(group.members))).all())


def as_told(group: Group, order: Callable[[Group], np.ndarray]) -> Group:
    """The group as an assignor sees it that asks one member for the subscription of all.

    It does where it is told that all are equal (:func:`homogeneous`). Only a topic named twice can
    make that wrong. ``order``: of the members; it asks the first.
    """
    if group.sent is group.members or not group.prepared(homogeneous):
        return group
    members = group.members
    asked = members.subscription[group.prepared(order)[0]]
    equal = replace(members, subscription=np.full(len(members), asked))
    return replace(group, sent=equal, _prepared={})


def topics_named(group: Group) -> np.ndarray:
    """The topics that exist among those that the first member names, as its set is walked."""
    return walked_topics(group, group.prepared(orders.members_by_hash)[0])


def walked_topics(group: Group, member: int) -> np.ndarray:
    """The topics that exist among those that a member names, as its set of names is walked.

    The set is as large as for different names, even if the member names one twice.
    """
    names, named = group.topics.names, group.members.topics_of(member)
    capacity = collection_capacity(group.sent.topics_of(member).size)
    known = named[hash_map_order(names.hashes[named], capacity, names.rank[named])]
    return known[group.topics.partitions[known] != NO_METADATA]


def topics_subscribed(group: Group) -> np.ndarray:
    """Topics that exist and that somebody names, in the order of the set of their ids."""
    ids, by_hash = group.prepared(topic_ids), group.prepared(orders.members_by_hash)
    _, first = np.unique(group.sent.subscription[by_hash], return_index=True)
    met: dict[int, None] = {}
    for m in by_hash[np.sort(first)].tolist():
        met.update(dict.fromkeys(walked_topics(group, m).tolist()))
    known = np.array(list(met), dtype=np.int64)
    return known[hash_map_order(ids.hashes[known], rank=ids.rank[known])]


def dense_starts(group: Group) -> np.ndarray:
    """Where each topic's partitions begin if all are numbered through: int64[topics + 1]."""
    return np.concatenate(([0], np.cumsum(np.maximum(group.topics.partitions, 0))))


class Held(NamedTuple):
    """The members' current targets as sets.

    Member m holds ``codes[offsets[m]:offsets[m + 1]]``, each code once, topic by topic. ``owner``:
    per partition (numbered through) the last holder in the order of the members, -1 for nobody.
    ``rivals``: somebody else holds one of them too. ``beyond``: some partitions do not exist.
    """

    offsets: np.ndarray
    codes: np.ndarray
    owner: np.ndarray
    rivals: bool
    beyond: bool


def held(group: Group) -> Held:
    """The claims, regrouped by topic and without repetitions where need be."""
    claims = group.claims
    starts = group.prepared(dense_starts)
    order = group.prepared(orders.members_by_hash)
    owner, sets, rivals, beyond = _survey(order, claims.offsets, claims.codes, starts)
    if sets and not beyond:
        return Held(claims.offsets, claims.codes, owner, rivals, beyond)
    offsets, codes = _regrouped(claims.offsets, claims.codes)
    owner, _, rivals, beyond = _survey(order, offsets, codes, starts)
    return Held(offsets, codes, owner, rivals, beyond)


@njit
def _survey(order, offsets, codes, starts):
    """(owner, whether claims are sets topic by topic, rivals, beyond) of :class:`Held`."""
    owner = np.full(starts[-1], -1, dtype=np.int64)
    seen = np.full(starts.size - 1, -1, dtype=np.int64)
    sets, rivals, beyond = True, False, False
    for m in order:
        topic = -1
        for k in range(offsets[m], offsets[m + 1]):
            if topic_of(codes[k]) != topic:
                topic = topic_of(codes[k])
                sets &= seen[topic] != m
                seen[topic] = m
            at = number_of(codes[k], starts)
            if at >= starts[topic + 1]:
                beyond = True
            else:
                sets &= owner[at] != m
                rivals |= owner[at] >= 0 and owner[at] != m
                owner[at] = m
    return owner, sets, rivals, beyond


def _regrouped(offsets: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    ends, listed, flat = offsets.tolist(), codes.tolist(), []
    sizes = [0]
    for start, end in pairwise(ends):
        of_topic: dict[int, dict[int, None]] = {}
        for c in listed[start:end]:
            of_topic.setdefault(topic_of(c), {})[c] = None
        flat += [c for claim in of_topic.values() for c in claim]
        sizes.append(len(flat))
    return np.array(sizes, dtype=np.int64), np.array(flat, dtype=np.int64)


@inner
def _read(codes, hashes):
    """One member's codes in the order in which its map is walked; False if a slot was crowded."""
    firsts = np.empty(codes.size + 1, dtype=np.int64)
    topics = 0
    for k in range(codes.size):
        if k == 0 or topic_of(codes[k]) != topic_of(codes[k - 1]):
            firsts[topics] = k
            topics += 1
    firsts[topics] = codes.size
    spreads = np.empty(topics, dtype=np.int64)
    for i in range(topics):
        spreads[i] = spread(hashes[topic_of(codes[firsts[i]])])
    if was_crowded(spreads, 16, 8):
        return codes, False
    walked = np.empty(codes.size, dtype=np.int64)
    n = 0
    for i in walk_lists(spreads, table_size(topics, 16), False):
        claim = codes[firsts[i] : firsts[i + 1]]
        slots = set_slots(claim.size)
        if in_slots(claim, slots):
            copy_into(walked, n, claim)
            n += claim.size
            continue
        partitions = spread_all(partition_of(claim).astype(np.int32))
        if was_crowded(partitions, slots, 8):
            return codes, False
        for k in walk_lists(partitions, slots, False):
            walked[n] = claim[k]
            n += 1
    return walked, True


@leaf
def in_slots(codes, slots):
    """Whether each partition of a claim has a slot behind that of the one before: then their set is
    walked as they stand."""
    before = -1
    for c in codes:
        slot = spread(partition_of(c)) & (slots - 1)
        if slot <= before:
            return False
        before = slot
    return True


@njit
def set_slots(count):
    """Slots of a ``HashSet`` made of a collection of ``count`` elements."""
    slots = 16
    while slots < count * 4 // 3 + 1:
        slots *= 2
    return slots


def _read_crowded(group: Group, codes: np.ndarray) -> np.ndarray:
    """:func:`_read` where slots are crowded: topics and partitions may stand in trees."""
    ids = group.prepared(topic_ids)
    topic = topic_of(codes)
    firsts = np.flatnonzero(np.diff(topic, prepend=-1))
    claims = np.split(codes, firsts[1:])
    topics = topic[firsts]
    walked = []
    for i in hash_map_order(ids.hashes[topics], rank=ids.rank[topics]).tolist():
        partitions = partition_of(claims[i])
        walk = hash_map_order(
            partitions.astype(np.int32), int(set_slots(partitions.size)), rank=partitions
        )
        walked.append(claims[i][walk])
    return np.concatenate(walked)


def read(group: Group, offsets: np.ndarray, codes: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The codes with those of the members ``which`` in the order in which Java walks their maps."""
    codes = codes.copy()
    for m in _read_all(offsets, codes, which, group.prepared(topic_ids).hashes).tolist():
        claim = slice(offsets[m], offsets[m + 1])
        codes[claim] = _read_crowded(group, codes[claim])
    return codes


@njit
def _read_all(offsets, codes, which, hashes):
    """Reads the claims of ``which`` in place; returns the members with crowded slots."""
    crowded = np.empty(which.size, dtype=np.int64)
    n = 0
    for m in which:
        walked, fine = _read(codes[offsets[m] : offsets[m + 1]].copy(), hashes)
        if fine:
            codes[offsets[m] : offsets[m + 1]] = walked
        else:
            crowded[n] = m
            n += 1
    return crowded[:n]


def nothing(group: Group) -> Assignment:
    """Nobody has anything."""
    return Assignment(np.zeros(len(group.members) + 1, dtype=np.int64), np.empty(0, dtype=np.int64))


def as_sets(group: Group, assignment: Assignment) -> dict[str, list[list]]:
    """An assignment for people: a set has no order, so by topic name and partition."""
    return lists(group, in_order(group, assignment))


def in_order(group: Group, assignment: Assignment) -> Assignment:
    """The same sets, each by topic name and partition."""
    codes = assignment.codes
    by_name = code(group.topics.names.rank[topic_of(codes)], partition_of(codes))
    order = np.lexsort((by_name, assignment.owners))
    return Assignment(assignment.offsets, codes[order], notes=assignment.notes)
