"""``server-simple@4.1``: share groups of 4.1, where hash codes of member ids spread the members.

The rule. Every member gets one partition by its hash code: the one at place abs(hashCode mod P) of
the P partitions that it subscribes to. A partition that nobody got so stays with those that hold
it. What still has no owner is dealt in turn.

With equal subscriptions a member keeps what it holds only up to ceil(P / C) partitions, C members
being there, and the dealing passes over members that have more than that. With different ones there
is no such bound: every topic is dealt to its subscribers, from the first one on.

>>> from assignlab.group.plain import group
>>> g = group({"t": 4}, dict.fromkeys(["C1", "C5"], ["t"]))
>>> sets.as_sets(g, assign(g))
{'C1': [['t', 1], ['t', 2]], 'C5': [['t', 0], ['t', 2], ['t', 3]]}

So members share a partition although there are enough for one each, and who joins takes a partition
away from all that hold it.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server import simple
from assignlab.assignors.kafka_server.parts import sets, targets
from assignlab.assignors.parts import hash_codes, orders
from assignlab.assignors.parts.slices import copy_into, taken
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, code, number_of, topic_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import collection_capacity, walk_map


def assign(group: Group) -> Assignment:
    """One by hash code, then what is held, then the rest; lists in the order of their sets.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    if len(group.members) == 0 or not group.prepared(simple.anything_named):
        return sets.nothing(group)
    held = group.of_claims(sets.walked)
    ids = group.topics.prepared(sets.topic_ids)
    known = (
        group.prepared(orders.members_by_hash), group.members.names.hashes, ids.hashes, ids.rank,
        sets.numbers(group, held),
    )  # fmt: skip
    if group.prepared(sets.homogeneous):
        pool = group.prepared(simple.common_pool)
        answer = share_common(known, held[:2], pool.codes, pool.mine)
    else:
        subscription = group.sent.subscription, group.members.subscription
        the_shape = group.prepared(shape)
        answer = share_topics(
            known, held[:2], tuple(the_shape), subscription, group.topics.partitions
        )
    offsets, codes, failed, certain = answer
    if failed:
        raise OriginalError("PartitionAssignorException", "no member has room for a partition")
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


class Known(NamedTuple):
    """``order``: members in hash order; ``hashes``: their hash codes; ``ids``, ``rank``: hash codes
    and rank of topic ids; ``numbers``: see :func:`sets.number_in`."""

    order: np.ndarray
    hashes: np.ndarray
    ids: np.ndarray
    rank: np.ndarray
    numbers: tuple[np.ndarray, np.ndarray]


class Claims(NamedTuple):
    """Who holds what, partition by partition, in the order of the map of them.

    ``codes``: int64[n]; partition k is held by ``holders[offsets[k]:offsets[k + 1]]``, in hash
    order.
    """

    codes: np.ndarray
    offsets: np.ndarray
    holders: np.ndarray


@inner
def claims_of(known, held):
    """(the :class:`Claims`, whether Java fixes their order)."""
    keys, first, following, claimants, again = by_partition(
        known.order, held[0], held[1], known.numbers
    )
    walk, certain = walk_partitions(known, keys, again)
    codes, first = taken(keys, walk), taken(first, walk)
    offsets = np.zeros(keys.size + 1, dtype=np.int64)
    holders = np.empty_like(claimants)
    n = 0
    for k in range(first.size):
        claim = first[k]
        while claim != -1:
            holders[n] = claimants[claim]
            n += 1
            claim = following[claim]
        offsets[k + 1] = n
    return Claims(codes, offsets, holders), certain


@inner
def walk_partitions(known, keys, called_again):
    """(the walk of a map of partitions, filled by ``computeIfAbsent``; whether Java fixes it)."""
    hashes = hash_codes.partition_hashes(known.ids, keys, hash_codes.TOPIC_ID_PARTITION)
    return walk_map(hashes, 16, keys[:0], True, called_again)


@inner
def as_walked(known, owners, codes):
    """(offsets, codes, whether Java fixes their order): every member's set as it is walked."""
    offsets, lists = by_member(owners, codes, known.order.size)
    certain = True
    for m in known.order:
        own = lists[offsets[m] : offsets[m + 1]]
        hashes = hash_codes.partition_hashes(known.ids, own, hash_codes.TOPIC_ID_PARTITION)
        walk, fixed = walk_map(hashes, 16, own[:0], False, False)
        copy_into(lists, offsets[m], taken(own, walk))
        certain = certain and fixed
    return offsets, lists, certain


@inner
def by_partition(order, offsets, codes, numbers):
    """(keys, first, following, holders, called_again): partitions as they are met first and the first
    claim of each; of every claim the next one of its partition, or -1, and whose it is; whether claims
    of known partitions follow the last new one."""
    starts, others = numbers
    latest = np.full(starts[-1] + others.size, -1, dtype=np.int64)  # claim of a partition
    keys = np.empty(codes.size, dtype=np.int64)
    first = np.empty(codes.size, dtype=np.int64)
    following = np.full(codes.size, -1, dtype=np.int64)
    holders = np.empty(codes.size, dtype=np.int64)
    n = k = last = 0
    for m in order:
        for c in codes[offsets[m] : offsets[m + 1]]:
            at = sets.number_in(c, numbers)
            if latest[at] == -1:
                keys[n], first[n] = c, k
                n += 1
                last = k
            else:
                following[latest[at]] = k
            latest[at] = k
            holders[k] = m
            k += 1
    return keys[:n], first[:n], following, holders, last + 1 < k


# All members name the same topics


@njit
def share_common(known, held, pool, mine):
    """(offsets, codes, whether nobody had room, whether Java fixes the order) of the result.

    ``known``: a plain :class:`Known`; ``held``: (offsets, codes)."""
    known = Known(*known)
    claims, certain = claims_of(known, held)
    owners, codes, failed = spread_common(known, pool, mine, claims)
    offsets, codes, fixed = as_walked(known, owners, codes)
    return offsets, codes, failed, certain and fixed


@inner
def spread_common(known, pool, mine, claims):
    """(owners, codes, failed); ``pool``: all partitions; ``mine``: bool[topics], those in it."""
    order, hashes = known.order, known.hashes
    starts, others = known.numbers
    hashed = np.zeros(starts[-1] + others.size, dtype=np.bool_)
    has_owner = np.zeros_like(hashed)
    sizes = np.zeros(order.size, dtype=np.int64)
    owners = np.empty(order.size + claims.holders.size + pool.size, dtype=np.int64)
    codes = np.empty(owners.size, dtype=np.int64)
    n = 0
    if pool.size == 0:
        return owners[:n], codes[:n], False
    for m in order:
        c = pool[abs(np.int64(hashes[m])) % pool.size]
        at = number_of(c, starts)
        hashed[at] = has_owner[at] = True
        owners[n], codes[n] = m, c
        n += 1
        sizes[m] += 1
    desired = (pool.size + order.size - 1) // order.size
    for k in range(claims.codes.size):
        c = claims.codes[k]
        if not mine[topic_of(c)]:
            continue
        at = sets.number_in(c, known.numbers)
        for m in claims.holders[claims.offsets[k] : claims.offsets[k + 1]]:
            if sizes[m] < desired and not hashed[at]:
                has_owner[at] = True
                owners[n], codes[n] = m, c
                n += 1
                sizes[m] += 1
    ring = order.copy()  # those in turn, the first ``waiting`` of them
    waiting = ring.size
    turn = stay = 0  # who is next; how many before it stay for the next round
    for c in pool:
        if has_owner[number_of(c, starts)]:
            continue
        assigned = False
        while not assigned:
            if turn == waiting:
                waiting = stay
                turn = stay = 0
                if waiting == 0:
                    return owners[:n], codes[:n], True
            m = ring[turn]
            turn += 1
            if sizes[m] <= desired:
                ring[stay] = m
                stay += 1
                owners[n], codes[n] = m, c
                n += 1
                sizes[m] += 1
                assigned = True
    return owners[:n], codes[:n], False


# They name different ones


class Shape(NamedTuple):
    """``order``: members that name a topic, in the order of a map of them; ``subscribed``:
    bool[subscriptions, topics], topics with partitions; subscription s has
    ``topics[offsets[s]:offsets[s + 1]]`` in its order; ``met``: topics in the order in which the
    members' lists have them; topic t is read by ``members[starts[t]:starts[t + 1]]``."""

    order: np.ndarray
    subscribed: np.ndarray
    offsets: np.ndarray
    topics: np.ndarray
    met: np.ndarray
    starts: np.ndarray
    members: np.ndarray


def shape(group: Group) -> Shape:
    """What is the same whatever the members hold."""
    members, names, topics = group.members, group.members.names, group.topics
    by_hash = group.prepared(orders.members_by_hash)
    walked = _walk_names(
        by_hash, (names.hashes, names.rank), (topics.names.hashes, topics.names.rank),
        topics.partitions,
        (group.sent.subscription, group.sent.offsets),
        (members.subscription, members.offsets, members.topics),
    )  # fmt: skip
    return Shape(*walked, *orders.subscribers(group, walked[0]))


@njit
def _walk_names(by_hash, of_member, of_topic, partitions, sent, members):
    """The topics of each list of names, in the order of its set: all of :class:`Shape` but who reads
    a topic.

    ``of_member``, ``of_topic``: (hash codes, rank) of the names; ``sent``: (subscription, offsets)
    as they were sent; ``members``: (subscription, offsets, topics) with every topic once.
    """
    of_sent, ends = sent
    subscription, begins, topics = members
    subscribed = np.zeros((begins.size - 1, partitions.size), dtype=np.bool_)
    for s in range(begins.size - 1):
        for t in topics[begins[s] : begins[s + 1]]:
            subscribed[s, t] = partitions[t] > 0
    naming = np.empty(by_hash.size, dtype=np.int64)
    n = 0
    for m in by_hash:
        if begins[subscription[m] + 1] > begins[subscription[m]]:
            naming[n] = m
            n += 1
    order = orders.put_into_map(naming[:n], *of_member, 16)
    some = np.full(ends.size - 1, -1, dtype=np.int64)  # a member that sent it
    for m in by_hash:
        some[of_sent[m]] = m
    offsets = np.zeros(ends.size, dtype=np.int64)
    lists = np.empty(ends[-1], dtype=np.int64)
    n = 0
    for s in range(some.size):
        if some[s] != -1:
            own = subscription[some[s]]
            capacity = collection_capacity(ends[s + 1] - ends[s])
            named = topics[begins[own] : begins[own + 1]]
            for t in orders.put_into_map(named, *of_topic, capacity):
                if partitions[t] > 0:
                    lists[n] = t
                    n += 1
        offsets[s + 1] = n
    met = orders.first_seen(order, of_sent, offsets, lists, partitions.size)
    return order, subscribed, offsets, lists[:n], met


@njit
def share_topics(known, held, the_shape, subscription, partitions):
    """:func:`share_common` of different subscriptions.

    ``the_shape``: a plain :class:`Shape`; ``subscription``: of every member, as sent and with every
    topic once.
    """
    known, the_shape = Known(*known), Shape(*the_shape)
    starts = known.numbers[0]
    claims, certain = claims_of(known, held)
    keys, of, owners, again = by_hash_code(
        the_shape, subscription[0], known.hashes, partitions, starts
    )
    known_ones = present(keys, claims.codes, known.numbers)
    lacking, met_again = topics_lacking(the_shape.met, partitions, starts, known_ones)
    if lacking.size > 0:
        hashes, rank = taken(known.ids, lacking), taken(known.rank, lacking)
        walk, _ = walk_map(hashes, 16, rank, True, met_again)
        keys, of, owners = deal(
            the_shape, lacking[walk], partitions, starts, known_ones, keys, of, owners
        )
        again = False
    walk, fixed = walk_partitions(known, keys, again)
    certain = certain and fixed
    owners, codes = combined(
        the_shape.subscribed, subscription[1], keys, of, owners, walk, claims, known.numbers
    )
    offsets, codes, fixed = as_walked(known, owners, codes)
    return offsets, codes, False, certain and fixed


@inner
def by_hash_code(the_shape, subscription, hashes, partitions, starts):
    """(keys, of, owners, called_again): the partitions that hash codes choose, as they are met
    first; of every choice which of them it is, and whose; whether choices of known ones follow the
    last new one."""
    order, offsets = the_shape.order, the_shape.offsets
    place = np.full(starts[-1], -1, dtype=np.int64)
    keys = np.empty(order.size, dtype=np.int64)
    of = np.empty(order.size, dtype=np.int64)
    owners = np.empty(order.size, dtype=np.int64)
    n = k = last = 0
    for m in order:
        s = subscription[m]
        topics = the_shape.topics[offsets[s] : offsets[s + 1]]
        size = 0
        for t in topics:
            size += partitions[t]
        if size == 0:
            continue
        at = abs(np.int64(hashes[m])) % size
        i = 0
        while at >= partitions[topics[i]]:
            at -= partitions[topics[i]]
            i += 1
        chosen = code(topics[i], at)
        at += starts[topics[i]]
        if place[at] == -1:
            place[at] = n
            keys[n] = chosen
            n += 1
            last = k
        of[k], owners[k] = place[at], m
        k += 1
    return keys[:n], of[:k], owners[:k], last + 1 < k


@inner
def present(keys, held, numbers):
    """bool[partitions]: those among the keys, or held."""
    starts, others = numbers
    known = np.zeros(starts[-1] + others.size, dtype=np.bool_)
    for c in keys:
        known[number_of(c, starts)] = True
    for c in held:
        known[sets.number_in(c, numbers)] = True
    return known


@inner
def topics_lacking(met, partitions, starts, known):
    """The topics with partitions that are neither among the keys nor held; and whether the last of
    them has several of these."""
    lacking = np.empty(met.size, dtype=np.int64)
    n = 0
    several = False
    for t in met:
        start = starts[t]
        missing = partitions[t] - known[start : start + partitions[t]].sum()
        if missing > 0:
            lacking[n] = t
            n += 1
            several = missing > 1
    return lacking[:n], several


@inner
def deal(the_shape, topics, partitions, starts, known, keys, of, owners):
    """(keys, of, owners) with what nobody has, dealt in turn to the subscribers of each topic."""
    first, members = the_shape.starts, the_shape.members
    most = 0
    for t in topics:
        most += partitions[t]
    new_keys = np.empty(most, dtype=np.int64)
    new_owners = np.empty(most, dtype=np.int64)
    n = 0
    for t in topics:
        readers = members[first[t] : first[t + 1]]
        turn = 0
        for p in range(partitions[t]):
            if not known[starts[t] + p]:
                new_keys[n], new_owners[n] = code(t, p), readers[turn % readers.size]
                n += 1
                turn += 1
    return (
        np.concatenate((keys, new_keys[:n])),
        np.concatenate((of, keys.size + np.arange(n))),
        np.concatenate((owners, new_owners[:n])),
    )


@inner
def combined(subscribed, subscription, keys, of, owners, walk, claims, numbers):
    """(owners, codes): the new ones as their map is walked, then those that are held."""
    starts, others = numbers
    size = owners.size + claims.holders.size
    all_owners = np.empty(size, dtype=np.int64)
    codes = np.empty(size, dtype=np.int64)
    n = 0
    offsets, entries = simple.grouped(of, keys.size)
    new = np.zeros(starts[-1] + others.size, dtype=np.bool_)
    for k in walk:
        new[number_of(keys[k], starts)] = True
        for e in entries[offsets[k] : offsets[k + 1]]:
            all_owners[n], codes[n] = owners[e], keys[k]
            n += 1
    for k in range(claims.codes.size):
        c = claims.codes[k]
        if not new[sets.number_in(c, numbers)]:
            for m in claims.holders[claims.offsets[k] : claims.offsets[k + 1]]:
                if subscribed[subscription[m], topic_of(c)]:
                    all_owners[n], codes[n] = m, c
                    n += 1
    return all_owners[:n], codes[:n]


def reclaim(group: Group, after: Assignment) -> Assignment:
    """What the members hold at the next rebalance, as the assignor will walk it."""
    return targets.reclaimed_anew(group, after.offsets, after.codes)


STRATEGY = replace(
    simple.STRATEGY,
    name="server-simple@4.1",
    first="4.1.0",
    last="4.1.2",
    original="kafka-group-coordinator:4.1.2",
    look=("green", "v", "dashdot"),
    assign=assign,
    reclaim=reclaim,
)
