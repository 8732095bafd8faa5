"""The orders in which Kafka's Java consumer walks members and topics.

They decide ties and list orders, and depend only on names and subscriptions, so they are prepared
once per set of topics and members (``group.prepared(members_by_hash)``).
"""

import numpy as np

from assignlab.compiled import njit
from assignlab.group.model import Group
from assignlab.jvm.hash_map import hash_map_order
from assignlab.jvm.names import Names


def members_by_hash(group: Group) -> np.ndarray:
    """Member indices in the order of the ``HashMap`` of subscriptions: int64[members]."""
    names = group.members.names
    return hash_map_order(names.hashes, rank=names.rank)


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


@njit
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


def subscribed_by_hash(group: Group) -> np.ndarray:
    """Subscribed topic indices in the order of a ``HashSet`` filled member by member."""
    members = group.members
    met = _first_seen(
        group.prepared(members_by_hash),
        members.subscription,
        members.offsets,
        members.topics,
        len(group.topics),
    )
    names = group.topics.names
    return met[hash_map_order(names.hashes[met], rank=names.rank[met])]


def topics_by_hash(group: Group) -> np.ndarray:
    """Topic indices in the order of ``partitionsPerTopic``: subscribed, with partitions."""
    subscribed = group.prepared(subscribed_by_hash)
    there = subscribed[group.topics.partitions[subscribed] > 0]
    names = group.topics.names
    return there[hash_map_order(names.hashes[there], rank=names.rank[there])]


def topics_by_name(group: Group) -> np.ndarray:
    """The topics of :func:`topics_by_hash`, by name."""
    there = group.prepared(topics_by_hash)
    return there[np.argsort(group.topics.names.rank[there])]


@njit
def _subscribers(order, subscription, offsets, topics, known):
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


def subscribers(group: Group, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Per topic its subscribers, in the given order of members.

    Returns (starts int64[topics + 1], members int64[n]): topic t is subscribed by
    ``members[starts[t]:starts[t + 1]]``.
    """
    members = group.members
    return _subscribers(
        order, members.subscription, members.offsets, members.topics, len(group.topics)
    )


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
    return _times_named(sent.subscription, sent.offsets, sent.topics, len(group.topics))


@njit
def _times_named(subscription, offsets, topics, known):
    members = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in subscription:
        members[s] += 1
    times = np.zeros(known, dtype=np.int64)
    for s in range(members.size):
        for k in range(offsets[s], offsets[s + 1]):
            times[topics[k]] += members[s]
    return times
