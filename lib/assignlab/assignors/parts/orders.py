"""The orders in which Kafka's Java consumer walks members and topics.

They decide ties and list orders, and depend only on names and subscriptions, so they are prepared
once per set of topics and members (``group.prepared(members_by_hash)``).
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.group.model import Group, subscriptions_by_topic
from assignlab.jvm.hash_map import hash_map_order, walk_uncrowded
from assignlab.jvm.names import Names

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
    known = (
        group.prepared(members_by_hash), members.subscription, members.offsets, members.topics,
        topics.partitions,
    )  # fmt: skip
    orders, crowded = _walks(members.names.hashes, topics.names.hashes, topics.names.rank, *known)
    if crowded:
        orders = _crowded_walks(members.names, topics.names, *known)
    return Walks(*orders)


@njit
def _walks(of_member, of_topic, rank, members, subscription, offsets, topics, partitions):
    """(the :class:`Walks`, whether a slot was ever crowded, which makes them worthless).

    ``of_member``, ``of_topic``: hash codes; ``rank``: of the topics by name; ``members``: by hash.
    """
    again, crowded_members = put_into_map(members, of_member, 16)
    met = _first_seen(members, subscription, offsets, topics, partitions.size)
    subscribed, crowded_topics = put_into_map(met, of_topic, 16)
    there, crowded_there = put_into_map(_with_partitions(subscribed, partitions), of_topic, 16)
    crowded = crowded_members or crowded_topics or crowded_there
    return (again, subscribed, there, _sorted(there, rank)), crowded


def _crowded_walks(member_names, topic_names, members, subscription, offsets, topics, partitions):
    """The :class:`Walks` with whatever trees the maps may have."""

    def put(keys, names):
        return keys[hash_map_order(names.hashes[keys], rank=names.rank[keys])]

    met = _first_seen(members, subscription, offsets, topics, partitions.size)
    subscribed = put(met, topic_names)
    there = put(_with_partitions(subscribed, partitions), topic_names)
    return put(members, member_names), subscribed, there, _sorted(there, topic_names.rank)


@inner
def put_into_map(keys, hashes, capacity):
    """(the keys in the order of a map into which they were put, whether a slot was ever crowded).

    ``capacity``: slots of the map when it was made.
    """
    own = np.empty(keys.size, dtype=hashes.dtype)
    for k in range(keys.size):
        own[k] = hashes[keys[k]]
    walk, crowded = walk_uncrowded(own, capacity, False, False)
    walked = keys.copy()
    if not crowded:
        for k in range(keys.size):
            walked[k] = keys[walk[k]]
    return walked, crowded


@inner
def _first_seen(by_hash, subscription, offsets, topics, known):
    """Subscribed topics in the order in which a walk over the members meets them first."""
    seen = np.zeros(known, dtype=np.bool_)
    done = np.zeros(offsets.size - 1, dtype=np.bool_)
    met = np.empty(known, dtype=np.int64)
    count = 0
    for m in by_hash:
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
    by_hash = group.prepared(members_by_hash)
    names = sorted({name for name in instances if name is not None})
    rank = Names(names).rank if names else np.empty(0, dtype=np.int64)
    position = dict(zip(names, rank.tolist(), strict=True))
    ids = group.members.names.rank
    dynamic = len(names)
    key = [
        (position[instances[m]], 0) if instances[m] is not None else (dynamic, int(ids[m]))
        for m in by_hash.tolist()
    ]
    return by_hash[np.array(sorted(range(len(key)), key=key.__getitem__), dtype=np.int64)]


def subscribed_by_hash(group: Group) -> np.ndarray:
    """Subscribed topic indices in the order of a ``HashSet`` filled member by member."""
    return group.prepared(walks).subscribed_by_hash


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
    numbers: dict[bytes, int] = {}
    kinds, example = [], []
    for t, subscriptions in enumerate(named):
        kinds.append(numbers.setdefault(subscriptions.tobytes(), len(numbers)))
        if kinds[-1] == len(example):
            example.append(t)
    return np.array(kinds, dtype=np.int64), named[example]


@njit
def _name_by_name(order, subscription, offsets, topics, known):
    """:func:`subscribers`; every name that a member subscribes to is looked at."""
    starts = np.zeros(known + 1, dtype=np.int64)
    for m in order:
        s = subscription[m]
        for k in range(offsets[s], offsets[s + 1]):
            starts[topics[k] + 1] += 1
    for t in range(known):
        starts[t + 1] += starts[t]
    fill = starts[:-1].copy()
    members = np.empty(starts[known], dtype=np.int64)
    for m in order:
        s = subscription[m]
        for k in range(offsets[s], offsets[s + 1]):
            members[fill[topics[k]]] = m
            fill[topics[k]] += 1
    return starts, members


@njit
def _kind_by_kind(order, subscription, kinds, subscribed):
    """:func:`subscribers`; those of a kind of topics are looked up once, and copied."""
    first = np.full(subscribed.shape[0], -1, dtype=np.int64)
    count = np.zeros(subscribed.shape[0], dtype=np.int64)
    for k in range(count.size):
        for m in order:
            count[k] += subscribed[k, subscription[m]]
    starts = np.zeros(kinds.size + 1, dtype=np.int64)
    for t in range(kinds.size):
        starts[t + 1] = starts[t] + count[kinds[t]]
    members = np.empty(starts[-1], dtype=np.int64)
    for t in range(kinds.size):
        n, k = starts[t], kinds[t]
        if first[k] < 0:
            first[k] = n
            for m in order:
                if subscribed[k, subscription[m]]:
                    members[n] = m
                    n += 1
        else:
            for i in range(count[k]):
                members[n + i] = members[first[k] + i]
    return starts, members


def subscribers(group: Group, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per topic its subscribers, in the given order of members.

    Returns (starts int64[topics + 1], members int64[n]): topic t is subscribed by
    ``members[starts[t]:starts[t + 1]]``.
    """
    members = group.members
    if len(members) * len(group.topics) < MANY:  # kinds cost more than they spare
        return _name_by_name(
            order, members.subscription, members.offsets, members.topics, len(group.topics)
        )
    return _kind_by_kind(order, members.subscription, *group.prepared(kinds_of_topics))


def subscribers_by_id(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`subscribers` in the order of member ids."""
    return subscribers(group, members_by_id(group))


def subscribers_by_info(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`subscribers` in the order of ``MemberInfo``."""
    if group.members.instances is None:
        return group.prepared(subscribers_by_id)
    return subscribers(group, group.prepared(members_by_info))


def as_often_as_named(
    group: Group, starts: np.ndarray, members: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """:func:`subscribers`, however ordered, with every member as often as it names the topic."""
    if group.sent is group.members:
        return starts, members
    topics = np.repeat(np.arange(len(group.topics)), np.diff(starts))
    times = group.prepared(mentions)[group.sent.subscription[members], topics]
    return np.append(0, np.cumsum(times))[starts], np.repeat(members, times)


def place_of_same_member(starts: np.ndarray, members: np.ndarray) -> np.ndarray:
    """Of :func:`as_often_as_named`, whether the next place is the same member's: bool[n - 1]."""
    same = members[1:] == members[:-1]
    ends = starts[(starts > 0) & (starts < members.size)]
    same[ends - 1] = False
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
    """How many members subscribe to each topic: int64[topics]."""
    members = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in subscription:
        members[s] += 1
    times = np.zeros(known, dtype=np.int64)
    for s in range(members.size):
        for k in range(offsets[s], offsets[s + 1]):
            times[topics[k]] += members[s]
    return times
