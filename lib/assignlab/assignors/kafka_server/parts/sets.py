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
from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.slices import (
    copy_into,
    equal,
    first_alike,
    first_from,
    first_slot,
    taken,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import DocumentError
from assignlab.group import model
from assignlab.group.assignment import Assignment, code, number_of, partition_of, topic_of
from assignlab.group.document import lists
from assignlab.group.model import NO_METADATA, Group, subscriptions_by_topic
from assignlab.jvm.hash_map import (
    NOTHING,
    collection_capacity,
    spread,
    table_size_for,
    walk_map,
)
from assignlab.jvm.names import Uuid, utf16, uuid_halves, uuid_hashes


class TopicIds(NamedTuple):
    """``hashes``: int32[topics], ``Uuid.hashCode``; ``rank``: int64[topics], place by compareTo;
    ``halves``: int64[topics, 2], the ids."""

    hashes: np.ndarray
    rank: np.ndarray
    halves: np.ndarray


def topic_ids(topics: model.Topics) -> TopicIds:
    """The ids of all topics that a group speaks of (for ``topics.prepared``).

    As the document has them, or as their names make them. DocumentError where one is malformed or
    two topics of the cluster share one.
    """
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
    can make up for one that does not name it. Where not all subscribe in the same way, by names or by
    one regular expression, subscriptions count as different (:data:`assignlab.group.model.MIXED`).
    """
    if model.MIXED.keys() <= group.options.keys():
        return False
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


def existing(group: Group) -> np.ndarray:
    """Which topics of the cluster every subscription names: bool[subscriptions, topics]."""
    return group.prepared(subscriptions_by_topic) & (group.topics.partitions != NO_METADATA)


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
    return walk_topics(group, asked, alike, False)


def walk_topics(group: Group, asked: np.ndarray, alike: bool, by_ids: bool) -> Topics:
    """``asked``: the members that are; ``alike``: they are one; ``by_ids``: each one's topics come in
    the order of a set of their ids."""
    sent, members, topics = group.sent, group.members, group.topics
    names, ids = topics.names, group.topics.prepared(topic_ids)
    return Topics(*_walk_topics(
        asked, (sent.subscription, sent.offsets),
        (members.subscription, members.offsets, members.topics),
        (names.hashes, names.rank), topics.partitions, (ids.hashes, ids.rank), alike, by_ids,
    ))  # fmt: skip


@njit
def _walk_topics(asked, sent, members, of_name, partitions, of_id, alike, by_ids):
    """:func:`walk_topics`; ``sent``: (subscription, offsets) as they were sent; ``members``:
    (subscription, offsets, topics) with every topic once; ``of_name``, ``of_id``: (hash codes,
    rank) of the topics' names and ids."""
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
        walked = orders.put_into_map(named, *of_name, collection_capacity(ends[s + 1] - ends[s]))
        if by_ids:
            known = walked[partitions[walked] != NO_METADATA]
            walked = orders.put_into_map(known, *of_id, 16)
        for t in walked:
            if not seen[t]:
                seen[t] = True
                met[n] = t
                n += 1
        if alike:
            capacity = collection_capacity(named.size)
    return met[:n], orders.put_into_map(met[:n], *of_id, capacity)


def dense_starts(topics: model.Topics) -> np.ndarray:
    """Where each topic's partitions begin if all are numbered through: int64[topics + 1].

    For ``topics.prepared``.
    """
    return model.first_numbers(topics.partitions)


def numbers(
    group: Group, held: "Held", steps: np.ndarray = NOTHING
) -> tuple[np.ndarray, np.ndarray]:
    """What :func:`number_in` needs to number the partitions that exist, that are held and that are
    added in ``steps``, where others are ``~code``: (:func:`dense_starts`; codes of those that do not
    exist, ascending)."""
    others = held.codes if held.beyond else NOTHING
    if others.size + steps.size > 0:
        others = nonexistent(others, steps, group.topics.partitions)
    return group.topics.prepared(dense_starts), np.unique(others) if others.size > 0 else others


@njit
def nonexistent(held, steps, partitions):
    """The codes that are held or added and do not exist, as they stand."""
    found = np.empty(held.size + steps.size, dtype=np.int64)
    n = 0
    for codes in (held, steps):
        for c in codes:
            if c >= 0 and partition_of(c) >= partitions[topic_of(c)]:
                found[n] = c
                n += 1
    return found[:n]


@leaf
def number_in(code, numbers):
    """The number of a partition: those that exist come first, topic by topic."""
    starts, others = numbers
    number = number_of(code, starts)
    if number < starts[topic_of(code) + 1]:
        return number
    return starts[-1] + first_from(others, code)


SHARING = 4
"""From so many holders of a partition on it pays to look for members that hold the same."""


FEW = 16
"""Up to so many partitions of a topic are compared with each other."""


class Held(NamedTuple):
    """The members' current targets as sets.

    Member m holds ``codes[offsets[m]:offsets[m + 1]]``, each code once, topic by topic.
    ``rivals``: somebody else holds one of them too. ``beyond``: some do not exist.
    """

    offsets: np.ndarray
    codes: np.ndarray
    rivals: bool
    beyond: bool


def held(group: Group) -> Held:
    """The claims, regrouped by topic and without repetitions where need be."""
    claims, starts = group.claims, group.topics.prepared(dense_starts)
    order, offsets, codes = group.prepared(orders.members_by_hash), claims.offsets, claims.codes
    if held_once(offsets, codes, starts):
        return Held(offsets, codes, rivals=False, beyond=False)
    _, are_sets, rivals, beyond = survey(order, offsets, codes, starts)
    if not are_sets:
        offsets, codes = _regrouped(offsets, codes, starts.size - 1)
        _, _, rivals, beyond = survey(order, offsets, codes, starts)
    return Held(offsets, codes, rivals, beyond)


def walked(group: Group) -> Held:
    """The claims, each member's in the order in which its map is walked."""
    claims = group.of_claims(held)
    ids, partitions = group.topics.prepared(topic_ids), group.topics.prepared(dense_starts)[-1]
    codes = _walked(claims.offsets, claims.codes, ids.hashes, ids.rank, partitions)
    return claims._replace(codes=codes)


@njit
def held_once(offsets, codes, starts):
    """Whether the claims stand topic by topic and nobody's partition, all of which exist, is claimed
    again: what :func:`survey` finds most of the time, asked of one bit per partition."""
    held = np.zeros(starts[-1] // 8 + 1, dtype=np.uint8)
    seen = np.full(starts.size - 1, -1, dtype=np.int64)
    for m in range(offsets.size - 1):
        topic = -1
        for c in codes[offsets[m] : offsets[m + 1]]:
            if topic_of(c) != topic:
                topic = topic_of(c)
                if seen[topic] == m:
                    return False
                seen[topic] = m
            at = number_of(c, starts)
            bit = 1 << (at & 7)
            if at >= starts[topic + 1] or held[at >> 3] & bit:
                return False
            held[at >> 3] |= bit
    return True


@njit
def survey(order, offsets, codes, starts):
    """(owner, whether the claims are sets, topic by topic, rivals, beyond); the last two as in
    :class:`Held`. Partitions that do not exist are taken for a set only where they ascend or are ``FEW``.

    ``owner``: per partition, numbered through, the last holder in the order of the members, -1 for
    nobody.
    """
    owner = np.full(starts[-1], -1, dtype=np.int64)
    seen = np.full(starts.size - 1, -1, dtype=np.int64)
    are_sets, rivals, beyond = True, False, False
    alike = _alike(offsets, codes, starts[-1])
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
                topic, first, latest = topic_of(codes[k]), k, -1
                are_sets &= seen[topic] != m
                seen[topic] = m
            at = number_of(codes[k], starts)
            if at >= starts[topic + 1]:
                beyond = True
                few = k - first < FEW and not among(codes[k], codes[first:k])
                are_sets &= few or codes[k] > latest
                latest = max(latest, codes[k])
            else:
                are_sets &= owner[at] != m
                rivals |= several or (owner[at] >= 0 and owner[at] != m)
                owner[at] = m
    return owner, are_sets, rivals, beyond


@leaf
def among(code, codes):
    """Whether the code is one of those."""
    for other in codes:
        if other == code:
            return True
    return False


@inner
def _alike(offsets, codes, partitions):
    """For every member the first that holds the same, if many can: else itself."""
    alike = np.arange(offsets.size - 1)
    if codes.size > SHARING * partitions:
        alike = first_alike(np.zeros_like(alike), offsets, codes)
    return alike


@njit
def _regrouped(offsets, codes, topics):
    """(offsets, codes) of the claims with each code once, topic by topic."""
    most = 0
    for m in range(offsets.size - 1):
        most = max(most, offsets[m + 1] - offsets[m])
    slots = table_size_for(2 * most)
    table = np.full(slots, -1, dtype=np.int64)  # of the codes of one member
    slot_of = np.empty(most, dtype=np.int64)
    after = np.empty(most, dtype=np.int64)  # the next one of the same topic
    first = np.full(topics, -1, dtype=np.int64)
    last = np.empty(topics, dtype=np.int64)
    met = np.empty(min(most, topics), dtype=np.int64)
    new_offsets = np.zeros_like(offsets)
    grouped = np.empty_like(codes)
    n = 0
    for m in range(offsets.size - 1):
        claim = codes[offsets[m] : offsets[m + 1]]
        named = 0
        for k in range(claim.size):
            t = topic_of(claim[k])
            slot = first_slot(claim[k], slots)
            while table[slot] != -1 and claim[table[slot]] != claim[k]:
                slot = (slot + 1) & (slots - 1)
            slot_of[k] = slot
            if table[slot] != -1:
                continue
            table[slot] = k
            after[k] = -1
            if first[t] == -1:
                first[t] = k
                met[named] = t
                named += 1
            else:
                after[last[t]] = k
            last[t] = k
        for t in met[:named]:
            k = first[t]
            while k != -1:
                grouped[n] = claim[k]
                n += 1
                k = after[k]
            first[t] = -1
        for slot in slot_of[: claim.size]:
            table[slot] = -1
        new_offsets[m + 1] = n
    return new_offsets, grouped[:n]


@njit
def _walked(offsets, codes, hashes, rank, partitions):
    """The codes of all members as their maps are walked."""
    alike = _alike(offsets, codes, partitions)
    in_turn = np.empty_like(codes)
    for m in range(alike.size):
        start, size = offsets[alike[m]], offsets[m + 1] - offsets[m]
        if alike[m] < m:
            copy_into(in_turn, offsets[m], in_turn[start : start + size])
        elif size > 0:
            copy_into(in_turn, start, read(codes[start : start + size], (hashes, rank)))
    return in_turn


@inner
def read(codes, ids):
    """One member's codes in the order in which its map is walked; ``ids``: (hash codes, rank) of all
    topics' ids."""
    firsts = np.empty(codes.size + 1, dtype=np.int64)
    met = 0
    for k in range(codes.size):
        if k == 0 or topic_of(codes[k]) != topic_of(codes[k - 1]):
            firsts[met] = k
            met += 1
    firsts[met] = codes.size
    topics, (hashes, rank) = topic_of(taken(codes, firsts[:met])), ids
    walked = np.empty(codes.size, dtype=np.int64)
    before = order = walked[:0]  # the partitions of a topic, often the same as of the one before
    n = 0
    for i in walk_map(taken(hashes, topics), 16, taken(rank, topics), False, False)[0]:
        start, end = firsts[i], firsts[i + 1]
        slots = collection_capacity(end - start)
        if in_slots(codes, start, end, slots):
            for k in range(start, end):  # slices take longer than so few codes
                walked[n] = codes[k]
                n += 1
            continue
        numbers = partition_of(codes[start:end])
        if not equal(numbers, before):
            before = numbers
            order, _ = walk_map(numbers.astype(np.int32), slots, numbers, False, False)
        for k in order:
            walked[n] = codes[start + k]
            n += 1
    return walked


@leaf
def in_slots(codes, start, end, slots):
    """Whether no partition of a claim, ``codes[start:end]``, has a slot before that of the one before it,
    and no slot is crowded: then their set is walked as they stand."""
    before = together = 0
    for k in range(start, end):
        slot = spread(partition_of(codes[k])) & (slots - 1)
        together = together + 1 if slot == before else 1
        if slot < before or together > 8:
            return False
        before = slot
    return True


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
