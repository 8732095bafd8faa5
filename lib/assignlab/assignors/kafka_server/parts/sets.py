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
from assignlab.assignors.parts.slices import copy_into, first_alike
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import DocumentError
from assignlab.group import model
from assignlab.group.assignment import Assignment, code, number_of, partition_of, topic_of
from assignlab.group.document import lists
from assignlab.group.model import NO_METADATA, Group
from assignlab.jvm import tree_bins
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
    """``hashes``: int32[topics], ``Uuid.hashCode``; ``rank``: int64[topics], place by compareTo;
    ``halves``: int64[topics, 2], the ids."""

    hashes: np.ndarray
    rank: np.ndarray
    halves: np.ndarray


def topic_ids(group: Group) -> TopicIds:
    """The ids of all topics that the group speaks of.

    DocumentError where one is malformed or two topics of the cluster share one.
    """
    return group.topics.prepared(_ids_of_topics)


def _ids_of_topics(topics: model.Topics) -> TopicIds:
    """:func:`topic_ids`: as the document has them, or as their names make them."""
    exists = topics.partitions != NO_METADATA
    ids = uuid_halves(topics.ids) if topics.ids and None not in topics.ids else None
    if ids is None:
        by_name = _ids_of(topics.names.names, exists.tobytes())
        if not topics.ids:
            return by_name
        ids = by_name.halves.copy()
        for t, text in enumerate(topics.ids):
            if text is not None:
                ids[t] = _parsed(text)
    known = ids[exists].tobytes()
    if len({known[i : i + 16] for i in range(0, len(known), 16)}) * 16 < len(known):
        raise DocumentError("topics", "two topics have one id")
    return _ranked(ids)


def _ranked(ids: np.ndarray) -> TopicIds:
    """The ids, int64[topics, 2], with their hash codes and places."""
    rank = np.empty(len(ids), dtype=np.int64)
    rank[np.lexsort((ids[:, 1], ids[:, 0]))] = np.arange(len(ids))
    return TopicIds(uuid_hashes(ids), rank, ids)


def _parsed(text: str) -> Uuid:
    """An id as a document has it; DocumentError where it is malformed."""
    try:
        return Uuid.parse(text)
    except ValueError as malformed:
        raise DocumentError("topics.id", str(malformed)) from None


@lru_cache(maxsize=64)
def _ids_of(names: tuple[str, ...], exists: bytes) -> TopicIds:
    """All topics' ids as their names make them."""
    ids = [_id_of(n) if known else _gone(n) for n, known in zip(names, exists, strict=True)]
    return _ranked(np.array(ids, dtype=np.int64).reshape(-1, 2))


@lru_cache(maxsize=1 << 16)
def _id_of(name: str) -> Uuid:
    """The id that a name makes."""
    half = hashlib.sha256(utf16(name)).digest()[:16]
    return Uuid(int.from_bytes(half[:8], signed=True), int.from_bytes(half[8:], signed=True))


def _gone(name: str) -> Uuid:
    """The id of a topic that is gone: a claim may name it by that."""
    return Uuid.parse(name) if re.fullmatch(r"[A-Za-z0-9_-]{22}", name) else _id_of(name)


def homogeneous(group: Group) -> bool:
    """``ConsumerGroup.subscriptionType``: whether topics are named as often as there are members.

    So it is if all members name the same topics, existing or not; but one that names a topic twice
    can make up for one that does not name it.
    """
    if group.sent is group.members and group.sent.offsets.size == 2:  # one subscription
        return True
    times = group.prepared(orders.times_named)
    return set(times.tolist()) <= {0, len(group.members)}


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


class Topics(NamedTuple):
    """Topics that exist and that somebody is asked for (everybody, or one where all name the same).

    ``met``: in the order in which the members' sets of names are walked; ``by_id``: in that of the
    set of their ids.
    """

    met: np.ndarray
    by_id: np.ndarray


def topics_walked(group: Group) -> Topics:
    """The topics of a group as the assignors walk them."""
    alike = group.prepared(homogeneous)
    asked = group.prepared(orders.members_by_hash)[: 1 if alike else None]
    met, by_id, crowded = walk_topics(group, asked, alike, False)
    return _crowded_topics(group, asked, topic_ids(group)) if crowded else Topics(met, by_id)


def walk_topics(group: Group, asked: np.ndarray, alike: bool, by_ids: bool):
    """(``met``, ``by_id``, whether a slot was crowded, so that they are no :class:`Topics`).

    ``asked``: the members that are; ``alike``: they are one; ``by_ids``: each one's topics come in
    the order of a set of their ids.
    """
    sent, members, topics = group.sent, group.members, group.topics
    return _walk_topics(
        asked, (sent.subscription, sent.offsets),
        (members.subscription, members.offsets, members.topics),
        topics.names.hashes, topics.partitions, topic_ids(group).hashes, alike, by_ids,
    )  # fmt: skip


@njit
def _walk_topics(asked, sent, members, of_name, partitions, of_id, alike, by_ids):
    """:func:`walk_topics`; ``sent``: (subscription, offsets) as they were sent; ``members``:
    (subscription, offsets, topics) with every topic once; ``of_name``, ``of_id``: hash codes."""
    of_sent, ends = sent
    subscription, offsets, topics = members
    seen = partitions == NO_METADATA
    met = np.empty(partitions.size, dtype=np.int64)
    done = np.zeros(ends.size, dtype=np.bool_)
    n = 0
    capacity = 16
    for m in asked:
        s = of_sent[m]
        if done[s]:
            continue
        done[s] = True
        named = topics[offsets[subscription[m]] : offsets[subscription[m] + 1]]
        walked, crowded = orders.put_into_map(
            named, of_name, collection_capacity(ends[s + 1] - ends[s])
        )
        if crowded:
            return met[:0], met[:0], True
        if by_ids:
            walked, crowded = orders.put_into_map(
                walked[partitions[walked] != NO_METADATA], of_id, 16
            )
            if crowded:
                return met[:0], met[:0], True
        for t in walked:
            if not seen[t]:
                seen[t] = True
                met[n] = t
                n += 1
        if alike:
            capacity = collection_capacity(named.size)
    by_id, crowded = orders.put_into_map(met[:n], of_id, capacity)
    return met[:n], by_id, crowded


def _crowded_topics(group: Group, asked: np.ndarray, ids: TopicIds) -> Topics:
    """The same where topics may stand in trees."""
    alike = group.prepared(homogeneous)
    _, first = np.unique(group.sent.subscription[asked], return_index=True)
    met: dict[int, None] = {}
    for m in asked[np.sort(first)].tolist():
        met.update(dict.fromkeys(walked_topics(group, m).tolist()))
    known = np.array(list(met), dtype=np.int64)
    capacity = collection_capacity(group.members.topics_of(asked[0]).size) if alike else 16
    return Topics(known, known[hash_map_order(ids.hashes[known], capacity, ids.rank[known])])


def walked_topics(group: Group, member: int) -> np.ndarray:
    """The topics that exist among those that a member names, as its set of names is walked.

    The set is as large as for different names, even if the member names one twice.
    """
    names, named = group.topics.names, group.members.topics_of(member)
    capacity = collection_capacity(group.sent.topics_of(member).size)
    known = named[hash_map_order(names.hashes[named], capacity, names.rank[named])]
    return known[group.topics.partitions[known] != NO_METADATA]


def dense_starts(group: Group) -> np.ndarray:
    """Where each topic's partitions begin if all are numbered through: int64[topics + 1]."""
    return group.topics.prepared(_dense_starts)


def _dense_starts(topics: model.Topics) -> np.ndarray:
    """:func:`dense_starts`."""
    return model.first_numbers(topics.partitions)


SHARING = 4
"""From so many holders of a partition on it pays to look for members that hold the same."""
NO_HASHES = np.empty(0, dtype=np.int32)


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


def held(group: Group, walked: bool = False) -> Held:
    """The claims, regrouped by topic and without repetitions where need be.

    ``walked``: every member's in the order in which its map is walked.
    """
    claims, starts = group.claims, group.prepared(dense_starts)
    order, offsets = group.prepared(orders.members_by_hash), claims.offsets
    hashes = group.prepared(topic_ids).hashes if walked else NO_HASHES
    found = survey(order, offsets, claims.codes, starts, hashes, walked)
    if found.beyond or not found.sets:
        offsets, codes = _regrouped(offsets, claims.codes)
        found = survey(order, offsets, codes, starts, hashes, walked)
    codes = read(group, offsets, found.codes, order) if found.crowded else found.codes
    return Held(offsets, codes, found.owner, found.rivals, found.beyond)


class Survey(NamedTuple):
    """Claims looked at: ``codes``, ``owner``, ``rivals`` and ``beyond`` as in :class:`Held`; ``sets``:
    whether they are sets, topic by topic; ``crowded``: a slot was, and ``codes`` are not as they are
    walked."""

    codes: np.ndarray
    owner: np.ndarray
    sets: bool
    rivals: bool
    beyond: bool
    crowded: bool


@njit
def survey(order, offsets, codes, starts, hashes, walked):
    """The :class:`Survey` of all claims; ``walked``: each member's in the order of its map."""
    owner = np.full(starts[-1], -1, dtype=np.int64)
    seen = np.full(starts.size - 1, -1, dtype=np.int64)
    sets, rivals, beyond = True, False, False
    alike = np.arange(order.size)
    if codes.size > SHARING * starts[-1]:
        alike = first_alike(np.zeros_like(alike), offsets, codes)
    last = np.empty_like(alike)
    times = np.zeros_like(alike)
    for m in order:
        last[alike[m]] = m
        times[alike[m]] += 1
    for m in order:
        if last[alike[m]] != m:
            continue
        several = times[alike[m]] > 1
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
                rivals |= several or (owner[at] >= 0 and owner[at] != m)
                owner[at] = m
    if not walked or not sets or codes.size == 0:
        return Survey(codes, owner, sets, rivals, beyond, False)
    in_turn = np.empty_like(codes)
    for m in range(order.size):
        if alike[m] < m:
            start = offsets[alike[m]]
            copy_into(in_turn, offsets[m], in_turn[start : start + offsets[m + 1] - offsets[m]])
            continue
        own, fine = _read(codes[offsets[m] : offsets[m + 1]], hashes)
        if not fine:
            return Survey(codes, owner, sets, rivals, beyond, True)
        copy_into(in_turn, offsets[m], own)
    return Survey(in_turn, owner, sets, rivals, beyond, False)


def _regrouped(offsets: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The claims, each code once, topic by topic."""
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
    topics = topic[firsts]
    return _sets_in_turn(codes, firsts, hash_map_order(ids.hashes[topics], rank=ids.rank[topics]))


@njit
def _sets_in_turn(codes, firsts, turns):
    """The claims that begin at ``firsts``, in these turns, each in the order of its set."""
    walked = np.empty_like(codes)
    n = 0
    for i in turns:
        claim = codes[firsts[i] : firsts[i + 1] if i + 1 < firsts.size else codes.size]
        numbers, slots = partition_of(claim), set_slots(claim.size)
        spreads = spread_all(numbers.astype(np.int32))
        if was_crowded(spreads, slots, 8):
            order = tree_bins.walk(spreads, numbers, slots, spreads.size, False, codes[:0])[0]
        else:
            order = walk_lists(spreads, slots, False)
        for k in order:
            walked[n] = claim[k]
            n += 1
    return walked


def read(group: Group, offsets: np.ndarray, codes: np.ndarray, which: np.ndarray) -> np.ndarray:
    """The codes with those of the members ``which`` in the order in which Java walks their maps."""
    codes = codes.copy()
    for m in read_in_place(offsets, codes, which, group.prepared(topic_ids).hashes).tolist():
        claim = slice(offsets[m], offsets[m + 1])
        codes[claim] = _read_crowded(group, codes[claim])
    return codes


@njit
def read_in_place(offsets, codes, which, hashes):
    """Reads the claims of ``which`` in place; returns the members with crowded slots."""
    crowded = np.empty(which.size, dtype=np.int64)
    n = 0
    for m in which:
        walked, fine = _read(codes[offsets[m] : offsets[m + 1]].copy(), hashes)
        if fine:
            copy_into(codes, offsets[m], walked)
        else:
            crowded[n] = m
            n += 1
    return crowded[:n]


@inner
def claims_by_topic(walk, order, offsets, codes, topics):
    """(offsets, claims): topic by topic who holds which partition, ``code(member number,
    partition)``, in the order of reading.

    ``walk``: the numbers of the members as they are read; ``order``: which member each is.
    """
    begins = np.zeros(topics + 1, dtype=np.int64)
    for c in codes:
        begins[topic_of(c) + 1] += 1
    for t in range(topics):
        begins[t + 1] += begins[t]
    fill = begins[:-1].copy()
    claims = np.empty(codes.size, dtype=np.int64)
    for i in walk:
        for k in range(offsets[order[i]], offsets[order[i] + 1]):
            t = topic_of(codes[k])
            claims[fill[t]] = code(i, partition_of(codes[k]))
            fill[t] += 1
    return begins, claims


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
