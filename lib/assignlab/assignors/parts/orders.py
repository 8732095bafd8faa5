"""The orders in which Kafka's Java consumer walks members and topics.

They decide ties and list orders, and depend only on names and subscriptions, so they are prepared
once per set of topics and members (``group.prepared(members_by_hash)``).
"""

from itertools import accumulate, pairwise
from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.slices import copy_into, taken
from assignlab.compiled import inner, njit
from assignlab.group.model import Group, subscriptions_by_topic
from assignlab.jvm.hash_map import hash_map_order, walk_map
from assignlab.jvm.names import utf16

EMPTY = np.empty(0, dtype=np.int64)
MANY = 2**14
"""Members times topics from which on it pays to look for topics with the same subscribers."""


def members_by_hash(group: Group) -> np.ndarray:
    """Member indices in the order of the ``HashMap`` of subscriptions: int64[members]."""
    names = group.members.names
    return hash_map_order(names.hashes, rank=names.rank)


class Walks(NamedTuple):
    """What further hash maps make of members and topics.

    ``members_again``: :func:`members_by_hash` after they were put into a second map in that order;
    the others: see the functions of these names.
    """

    members_again: np.ndarray
    subscribed_by_hash: np.ndarray
    topics_by_hash: np.ndarray
    topics_by_name: np.ndarray


def walks(group: Group) -> Walks:
    """All :class:`Walks` of a group."""
    members, topics = group.members, group.topics
    names = members.names, topics.names
    return Walks(*_walks(
        group.prepared(members_by_hash), *((of.hashes, of.rank) for of in names),
        (members.subscription, members.offsets, members.topics), topics.partitions,
    ))  # fmt: skip


@njit
def _walks(members, of_member, of_topic, subscriptions, partitions):
    """The :class:`Walks`; ``members``: by hash; ``of_member``, ``of_topic``: (hash codes, rank) of
    the names; ``subscriptions``: of :class:`~assignlab.group.model.Members`."""
    again = put_into_map(members, *of_member, 16)
    met = first_seen(members, *subscriptions, partitions.size)
    subscribed = put_into_map(met, *of_topic, 16)
    there = put_into_map(_with_partitions(subscribed, partitions), *of_topic, 16)
    return again, subscribed, there, _sorted(there, of_topic[1])


@inner
def put_into_map(keys, hashes, rank, capacity):
    """The keys in the order of a map into which they were put.

    ``hashes``, ``rank``: of every key there is; ``capacity``: slots of the map when it was made.
    """
    walk, _ = walk_map(taken(hashes, keys), capacity, taken(rank, keys), False, False)
    return taken(keys, walk)


@inner
def first_seen(order, subscription, offsets, topics, known):
    """Topics in the order in which a walk over the members' lists meets them first.

    ``order``: the members as they are walked; member m has ``topics[offsets[s]:offsets[s + 1]]``
    with ``s = subscription[m]``; ``known``: how many topics there are.
    """
    seen = np.zeros(known, dtype=np.bool_)
    done = np.zeros(offsets.size - 1, dtype=np.bool_)
    met = np.empty(known, dtype=np.int64)
    count = 0
    for m in order:
        s = subscription[m]
        if done[s]:
            continue
        done[s] = True
        for k in range(offsets[s], offsets[s + 1]):
            if not seen[topics[k]]:
                seen[topics[k]] = True
                met[count] = topics[k]
                count += 1
    return met[:count]


@inner
def _with_partitions(topics, partitions):
    """Those of the topics that have partitions."""
    there = np.empty(topics.size, dtype=np.int64)
    count = 0
    for t in topics:
        if partitions[t] > 0:
            there[count] = t
            count += 1
    return there[:count]


@inner
def _sorted(topics, rank):
    """The topics by their rank among all."""
    at = np.full(rank.size, -1, dtype=np.int64)
    for t in topics:
        at[rank[t]] = t
    ordered = np.empty(topics.size, dtype=np.int64)
    count = 0
    for t in at:
        if t >= 0:
            ordered[count] = t
            count += 1
    return ordered


def members_by_id(group: Group) -> np.ndarray:
    """Member indices by member id (``String.compareTo``): int64[members]."""
    return group.members.names.order


def members_by_info(group: Group) -> np.ndarray:
    """Member indices in the order of ``MemberInfo`` (since 2.4): int64[members].

    Static members first, by group.instance.id, then the others by member id. Equal instance ids
    keep the order of the HashMap, because Java's sort is stable.
    """
    instances = group.members.instances
    if instances is None:
        return members_by_id(group)
    by_hash = group.prepared(members_by_hash).tolist()
    units = {m: utf16(name) for m in by_hash if (name := instances[m]) is not None}
    static = sorted(units, key=units.__getitem__)
    dynamic = [m for m in members_by_id(group).tolist() if m not in units]
    return np.array(static + dynamic, dtype=np.int64)


def subscribed_by_hash(group: Group) -> np.ndarray:
    """Subscribed topic indices in the order of a ``HashSet`` filled member by member."""
    return group.prepared(walks).subscribed_by_hash


def subscribed_newest_first(group: Group) -> np.ndarray:
    """Subscribed topic indices in the order of a ``HashMap`` that ``computeIfAbsent`` fills, member
    by member: a new key goes to the front of its slot, and the table grows with the next call.

    Who subscribes like somebody before names nothing new; but whether a call came after the last
    new key, the last member tells, and who names a topic twice calls twice.
    """
    sent = group.sent
    in_turn = group.prepared(members_by_hash)
    in_turn = in_turn[np.diff(sent.offsets)[sent.subscription[in_turn]] > 0]
    asked = np.zeros(in_turn.size, dtype=np.bool_)
    asked[np.unique(sent.subscription[in_turn], return_index=True)[1]] = asked[-1:] = True
    calls = np.concatenate([EMPTY, *map(sent.topics_of, in_turn[asked].tolist())])
    new = np.sort(np.unique(calls, return_index=True)[1])
    again = new.size > 0 and new[-1] < calls.size - 1
    met, names = calls[new], group.topics.names
    return met[hash_map_order(names.hashes[met], 16, names.rank[met], True, again)]


def topics_by_hash(group: Group) -> np.ndarray:
    """Topic indices in the order of ``partitionsPerTopic``: subscribed, with partitions."""
    return group.prepared(walks).topics_by_hash


def topics_by_name(group: Group) -> np.ndarray:
    """The topics of :func:`topics_by_hash`, by name."""
    return group.prepared(walks).topics_by_name


def kinds_of_topics(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Topics that the same subscriptions name are of one kind: (kind of each, int64[topics]; whether
    a subscription names the topics of a kind, bool[kinds, subscriptions])."""
    named = np.ascontiguousarray(group.prepared(subscriptions_by_topic).T)
    topics, width = named.shape
    flat = named.tobytes()
    met: dict[bytes, int] = {}
    first = [met.setdefault(flat[t * width : t * width + width], t) for t in range(topics)]
    example = np.array(list(met.values()), dtype=np.int64)
    return example.searchsorted(first), named[example]


def crowds(group: Group, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Who subscribes to each topic, in the given order of members.

    Returns (spans int64[topics, 2], members int64[n]): topic t is subscribed by
    ``members[spans[t, 0]:spans[t, 1]]``. Topics with the same subscribers may share them.
    """
    members = group.members
    if len(members) * len(group.topics) < MANY:  # kinds cost more than they spare
        return _name_by_name(
            order, members.subscription, members.offsets, members.topics, len(group.topics)
        )
    kinds, subscribed = group.prepared(kinds_of_topics)
    spans, found = _kind_by_kind(order, members.subscription, subscribed)
    return spans[kinds], found


@njit
def _name_by_name(order, subscription, offsets, topics, known):
    """:func:`crowds`; every name that a member subscribes to is looked at."""
    spans = np.zeros((known, 2), dtype=np.int64)
    for m in order:
        s = subscription[m]
        for k in range(offsets[s], offsets[s + 1]):
            spans[topics[k], 1] += 1
    n = 0
    for t in range(known):
        count = spans[t, 1]
        spans[t, 0] = spans[t, 1] = n
        n += count
    members = np.empty(n, dtype=np.int64)
    for m in order:
        s = subscription[m]
        for k in range(offsets[s], offsets[s + 1]):
            members[spans[topics[k], 1]] = m
            spans[topics[k], 1] += 1
    return spans, members


@njit
def _kind_by_kind(order, subscription, subscribed):
    """:func:`crowds`, but a row for each kind of topics: int64[kinds, 2]."""
    spans = np.zeros((subscribed.shape[0], 2), dtype=np.int64)
    n = 0
    for k in range(subscribed.shape[0]):
        spans[k, 0] = n
        for m in order:
            n += subscribed[k, subscription[m]]
        spans[k, 1] = n
    members = np.empty(n, dtype=np.int64)
    n = 0
    for k in range(subscribed.shape[0]):
        for m in order:
            if subscribed[k, subscription[m]]:
                members[n] = m
                n += 1
    return spans, members


def crowds_by_id(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`crowds` in the order of member ids."""
    return crowds(group, members_by_id(group))


def crowds_by_info(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`crowds` in the order of ``MemberInfo``."""
    return crowds(group, group.prepared(members_by_info))


def subscribers(group: Group, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """:func:`crowds` that no topics share.

    Returns (starts int64[topics + 1], members int64[n]): topic t is subscribed by
    ``members[starts[t]:starts[t + 1]]``.
    """
    return _one_by_one(*crowds(group, order))


@njit
def _one_by_one(spans, members):
    """:func:`subscribers` of these :func:`crowds`."""
    starts = np.zeros(len(spans) + 1, dtype=np.int64)
    for t in range(len(spans)):
        starts[t + 1] = starts[t] + spans[t, 1] - spans[t, 0]
    copied = np.empty(starts[-1], dtype=np.int64)
    for t in range(len(spans)):
        copy_into(copied, starts[t], members[spans[t, 0] : spans[t, 1]])
    return starts, copied


def subscribers_by_kind(
    group: Group, order: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """:func:`subscribers` once for all topics that the same members name.

    Returns (kinds int64[topics], starts int64[kinds + 1], members int64[n]): topic t is subscribed
    by ``members[starts[kinds[t]]:starts[kinds[t] + 1]]``.
    """
    members = group.members
    if len(members) * len(group.topics) < MANY:
        return np.arange(len(group.topics)), *subscribers(group, order)
    kinds, subscribed = group.prepared(kinds_of_topics)
    spans, found = _kind_by_kind(order, members.subscription, subscribed)
    return kinds, np.append(spans[:, 0], found.size), found


def chained(lists: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(spans int64[lists, 2], numbers): list i is ``numbers[spans[i, 0]:spans[i, 1]]``; int64."""
    spans = list(pairwise(accumulate(map(len, lists), initial=0)))
    return np.array(spans, dtype=np.int64).reshape(-1, 2), np.concatenate([EMPTY, *lists])


def as_often_as_named(
    group: Group, spans: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`crowds`, however ordered, with every member as often as it names the topic.

    No topics share them then, and they stand one behind the other.
    """
    if group.sent is group.members:
        return spans, members
    starts, members = _one_by_one(spans, members)
    topics = np.repeat(np.arange(len(group.topics)), np.diff(starts))
    times = group.prepared(mentions)[group.sent.subscription[members], topics]
    starts = np.append(0, np.cumsum(times))[starts]
    return np.column_stack((starts[:-1], starts[1:])), np.repeat(members, times)


def place_of_same_member(spans: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Of :func:`as_often_as_named`, whether the next place is the same member's: bool[n - 1]."""
    begins = spans[:, 0]
    same = members[1:] == members[:-1]
    same[begins[(begins > 0) & (begins < members.size)] - 1] = False
    return same


def mentions(group: Group) -> np.ndarray:
    """How often a subscription, as it was sent, names a topic: int64[subscriptions, topics]."""
    sent = group.sent
    times = np.zeros((sent.offsets.size - 1, len(group.topics)), dtype=np.int64)
    np.add.at(times, (np.repeat(np.arange(len(times)), np.diff(sent.offsets)), sent.topics), 1)
    return times


def times_named(group: Group) -> np.ndarray:
    """How often all members together name a topic: int64[topics]."""
    sent = group.sent
    return count_named(sent.subscription, sent.offsets, sent.topics, len(group.topics))


@njit
def count_named(subscription, offsets, topics, known):
    """How often members name each topic, one that names it twice twice: int64[known].

    ``subscription``: int64[members], which list each has; ``offsets``, ``topics``: the lists.
    """
    members = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in subscription:
        members[s] += 1
    times = np.zeros(known, dtype=np.int64)
    for s in range(members.size):
        for k in range(offsets[s], offsets[s + 1]):
            times[topics[k]] += members[s]
    return times
