"""``server-simple``: the assignor of share groups (KIP-932), where a partition has several owners.

The rule. Members that name the same topics share all their partitions as one pool; otherwise every
topic is a pool of its own, shared by its subscribers. With P partitions and C members in a pool,
every partition is wanted by ceil(C / P) members, and these places are spread evenly over the
members. What a member holds beyond its part is revoked, then what a partition has too many owners
of, and then each partition looks for the owners that it lacks, going round the members that still
have room. If those that are left all have the partition already, it goes without.

What it promises, in order
1. Every partition of a subscribed topic is held by somebody as long as somebody has room for it.
2. The owners of a partition, and the partitions of a member, are nearly equal in number.
3. What fits stays where it is.

>>> from assignlab.group.plain import group
>>> g = group({"t0": 2}, dict.fromkeys(["C0", "C1", "C2"], ["t0"]))
>>> sets.as_sets(g, assign(g))
{'C0': [['t0', 0], ['t0', 1]], 'C1': [['t0', 1]], 'C2': [['t0', 0]]}

Different subscriptions: partitions of a topic that nobody names any more are not revoked; the
original returns them with the rest. The result is a set, given by topic name and partition.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets, targets
from assignlab.assignors.parts import hash_codes, orders
from assignlab.assignors.parts.partitions import codes_of
from assignlab.assignors.parts.slices import first_alike, taken
from assignlab.assignors.strategy import Strategy
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import (
    Assignment,
    by_member,
    code,
    number_of,
    partition_of,
    topic_of,
)
from assignlab.group.model import Group, Topics
from assignlab.jvm.hash_map import (
    NOTHING,
    has_room,
    spread_all,
    table_size_for,
    walk_first,
    walk_lists,
    walk_map,
)

NOBODY = -1


def assign(group: Group) -> Assignment:
    """Share the pools, one after the other.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    if len(group.members) == 0 or not group.prepared(anything_named):
        return sets.nothing(group)
    held = group.of_claims(sets.walked)
    order, walk = group.prepared(orders.members_by_hash), walk_of_numbers(len(group.members))
    beyond = sets.numbers(group, held)[1] if held.beyond else NOTHING
    if group.prepared(sets.homogeneous):
        pool = group.prepared(common_pool)
        beyond = beyond[pool.mine[topic_of(beyond)]]
        if beyond.size > 0:
            ids, codes = group.topics.prepared(sets.topic_ids), np.concatenate((pool.codes, beyond))
            hashes = hash_codes.partition_hashes(ids.hashes, codes, hash_codes.TOPIC_ID_PARTITION)
            pool = pool._replace(codes=codes, hashes=hashes)
        answer = share_common(tuple(pool), (order, walk), held.offsets, held.codes, beyond.size)
    else:
        topics = group.prepared(sets.topics_walked).by_id
        pools = (topics, group.topics.partitions, *group.prepared(numbered_subscribers))
        answer = share_topics(pools, (order, walk), held.offsets, held.codes, beyond)
    offsets, lists, empty, certain = answer
    if empty:
        raise OriginalError(
            "NoSuchElementException", "a partition lacks owners and no member has room any more"
        )
    return Assignment(offsets, lists, notes={} if certain else {"nondeterministic": True})


class CommonPool(NamedTuple):
    """The partitions of all topics, in the order in which they are laid out, and behind them those
    that are held and do not exist.

    ``codes``: int64[n]; ``hashes``: int32[n]; ``first``: int64[topics], where a topic begins;
    ``mine``: bool[topics], whether it is in the pool.
    """

    codes: np.ndarray
    hashes: np.ndarray
    first: np.ndarray
    mine: np.ndarray


def common_pool(group: Group) -> CommonPool:
    """The pool where all members name the same topics."""
    return group.topics.prepared(PoolOf(group.prepared(sets.topics_walked).met.tobytes()))


class PoolOf(NamedTuple):
    """Lays topics out in an ``order``, int64[topics] as bytes: members may come and go, the pool stays."""

    order: bytes

    def __call__(self, topics: Topics) -> CommonPool:
        order = np.frombuffer(self.order, np.int64).copy()  # compiled for arrays to write to
        hashes = topics.prepared(sets.topic_ids).hashes
        return CommonPool(*laid_out(order, topics.partitions, hashes))


@njit
def laid_out(topics, partitions, hashes):
    """The :class:`CommonPool` of topics; ``hashes``: of their ids."""
    codes = codes_of(topics, partitions)
    first = np.zeros(partitions.size, dtype=np.int64)
    mine = np.zeros(partitions.size, dtype=np.bool_)
    n = 0
    for t in topics:
        first[t], mine[t] = n, True
        n += partitions[t]
    of_partitions = hash_codes.partition_hashes(hashes, codes, hash_codes.TOPIC_ID_PARTITION)
    return codes, of_partitions, first, mine


@njit
def share_common(pool, walks, offsets, codes, beyond):
    """One pool for everybody: (offsets, codes, whether a partition met an empty set of members,
    whether Java fixes this result); ``beyond``: how many in the pool do not exist."""
    pool_codes, hashes, first, mine = pool
    partitions = hashes.size - beyond
    order, walk = walks
    keys, holders = np.empty(codes.size, dtype=np.int32), np.empty(codes.size, dtype=np.int32)
    n = 0
    for i in walk:
        for c in codes[offsets[order[i]] : offsets[order[i] + 1]]:
            if mine[topic_of(c)]:
                at = number_of(c, first)
                if beyond > 0 and (at >= partitions or pool_codes[at] != c):
                    at = partitions + np.searchsorted(pool_codes[partitions:], c)
                keys[n], holders[n] = at, i
                n += 1
    place = np.full(walk.size, NOBODY)
    removed, new_owners, new_keys, empty, certain = share(
        (hashes, pool_codes[:0], partitions), (keys[:n], holders[:n]),
        (np.arange(walk.size), walk), place,
    )  # fmt: skip
    new_offsets = np.zeros_like(offsets)
    for k in range(n):
        new_offsets[order[holders[k]] + 1] += not removed[k]
    for i in new_owners:
        new_offsets[order[i] + 1] += 1
    for m in range(order.size):
        new_offsets[m + 1] += new_offsets[m]
    fill = new_offsets[:-1].copy()
    lists = np.empty(new_offsets[-1], dtype=np.int64)
    k = 0
    for i in walk:
        m = order[i]
        for c in codes[offsets[m] : offsets[m + 1]]:
            if mine[topic_of(c)]:
                if not removed[k]:
                    lists[fill[m]] = c
                    fill[m] += 1
                k += 1
    for k in range(new_keys.size):
        m = order[new_owners[k]]
        lists[fill[m]] = pool_codes[new_keys[k]]
        fill[m] += 1
    return new_offsets, lists, empty, certain


@njit
def share_topics(pools, walks, offsets, codes, beyond):
    """:func:`share_common` with a pool for each topic. Claims of other topics stay.

    Topics with the same subscribers, partitions and claims are shared alike, and only once.
    ``beyond``: the codes that are held and do not exist, ascending.
    """
    topics, partitions, kinds, starts, subscribers, walked = pools
    order, walk = walks
    begins, claims = sets.claims_by_topic(walk, order, offsets, codes, partitions.size)
    first = kinds
    if starts.size <= kinds.size:  # not every topic is of a kind of its own
        first = first_alike(code(kinds, partitions), begins, claims)
    times = np.zeros(partitions.size, dtype=np.int64)
    size = 0
    for t in topics:
        if times[first[t]] == 0:
            readers = starts[kinds[t] + 1] - starts[kinds[t]]
            size += begins[t + 1] - begins[t] + partitions[t] + readers
        times[first[t]] += 1
    owners = np.empty(size, dtype=np.int64)
    given = np.empty(size, dtype=np.int64)
    place = np.full(order.size, NOBODY)
    shared = np.full((partitions.size, 2), NOBODY)  # from and to where the result stands
    certain = True
    n = 0
    for t in topics:
        if shared[first[t], 0] != NOBODY:
            continue
        claimed = claims[begins[t] : begins[t + 1]]
        a, b = starts[kinds[t]], starts[kinds[t] + 1]
        keys, numbers = partition_of(claimed), np.arange(partitions[t])
        if beyond.size > 0:
            keys, numbers = with_beyond(t, partitions[t], keys, beyond)
        removed, new_owners, new_keys, empty, fixed = share(
            (numbers.astype(np.int32), numbers, partitions[t]),
            (keys.astype(np.int32), topic_of(claimed).astype(np.int32)),
            (subscribers[a:b], walked[a:b]), place,
        )  # fmt: skip
        if empty:
            return offsets, codes, True, True
        certain = certain and fixed
        shared[first[t], 0] = n
        for k in range(claimed.size):
            if not removed[k]:
                owners[n], given[n] = order[topic_of(claimed[k])], partition_of(claimed[k])
                n += 1
        for k in range(new_keys.size):
            owners[n], given[n] = order[new_owners[k]], numbers[new_keys[k]]
            n += 1
        shared[first[t], 1] = n
    new_offsets, lists = dealt(topics, first, times, shared, owners, given, offsets, codes)
    return new_offsets, lists, False, certain


@inner
def with_beyond(t, partitions, claimed, beyond):
    """(keys, numbers): the partitions of topic t numbered, those that exist and then others that are
    held; the key of every one of the ``claimed``, and the partition of every key."""
    from_, to = np.searchsorted(beyond, code(t, 0)), np.searchsorted(beyond, code(t + 1, 0))
    others = partition_of(beyond[from_:to])
    keys = claimed.copy()
    for k in range(keys.size):
        if keys[k] >= partitions:
            keys[k] = partitions + np.searchsorted(others, claimed[k])
    return keys, np.concatenate((np.arange(partitions), others))


@inner
def dealt(topics, first, times, shared, owners, given, offsets, codes):
    """(offsets, codes) of the members' lists: claims of topics that nobody shares, then the shared
    ones; topic t has ``owners`` and ``given`` from ``shared[first[t], 0]`` to ``shared[first[t], 1]``,
    which as many topics have in common as ``times[first[t]]`` says."""
    pooled = np.zeros(first.size, dtype=np.bool_)
    new_offsets = np.zeros_like(offsets)
    for t in topics:
        pooled[t] = True
    for f in range(first.size):
        for k in range(shared[f, 0], shared[f, 1]):
            new_offsets[owners[k] + 1] += times[f]
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            new_offsets[m + 1] += not pooled[topic_of(codes[k])]
        new_offsets[m + 1] += new_offsets[m]
    fill = new_offsets[:-1].copy()
    lists = np.empty(new_offsets[-1], dtype=np.int64)
    for m in range(offsets.size - 1):
        for k in range(offsets[m], offsets[m + 1]):
            if not pooled[topic_of(codes[k])]:
                lists[fill[m]] = codes[k]
                fill[m] += 1
    for t in topics:
        for k in range(shared[first[t], 0], shared[first[t], 1]):
            lists[fill[owners[k]]] = code(t, given[k])
            fill[owners[k]] += 1
    return new_offsets, lists


@inner
def share(pool, claims, readers, place):
    """One pool: (which claims are removed; new owners and the keys they get; whether a partition met an
    empty set of members; whether Java fixes this result).

    ``pool``: (hash codes of its keys; their order, empty if they are not Comparable; how many there
    are that exist, which come first); ``claims``: (keys, holders), int32[n], holder
    by holder; ``readers``: subscribers, ascending and as they are gone through; ``place``: scratch,
    ``NOBODY`` for every member. Here the members are those of the pool, by their places: subscribers
    as they are gone through, then others that hold something.
    """
    hashes, ranks, partitions = pool
    keys, holders = claims
    subscribers, walked = readers
    sharing = (subscribers.size + partitions - 1) // partitions if partitions > 0 else 0
    members = walked.size
    for i in range(members):
        place[walked[i]] = i
    holding = np.empty(keys.size, dtype=np.int32)
    for k in range(keys.size):
        if place[holders[k]] == NOBODY:
            place[holders[k]] = members
            members += 1
        holding[k] = place[holders[k]]
    desired = parts(place[subscribers], sharing * partitions, members)
    place[subscribers] = NOBODY
    for m in holders:
        place[m] = NOBODY
    removed = np.zeros(keys.size, dtype=np.bool_)
    sizes = np.zeros(members, dtype=np.int64)
    for i in holding:
        sizes[i] += 1
    # Most members hold no more than their part, and most partitions have as many members as they
    # should: nothing is asked of them.
    certain = True
    a = 0
    while a < keys.size:
        i = holding[a]
        b = a + sizes[i]
        if sizes[i] > desired[i]:
            held = keys[a:b]
            rank = taken(ranks, held) if ranks.size > 0 else ranks
            certain &= revoke(np.arange(a, b), taken(hashes, held), rank, desired[i], removed)
        a = b
    shared = np.zeros(hashes.size, dtype=np.int32)
    for k in range(keys.size):
        shared[keys[k]] += not removed[k]
    uneven = np.flatnonzero(shared != sharing)
    number = numbered(uneven, hashes.size)
    offsets, entries, of = grouped_with(number, keys, uneven.size)
    for u in range(uneven.size):
        if shared[uneven[u]] > sharing:
            claimed = entries[offsets[u] : offsets[u + 1]]
            by = taken(holders, claimed)
            revoke(claimed, by, by.astype(np.int64), sharing, removed)
    for k in range(keys.size):
        if removed[k]:
            sizes[holding[k]] -= 1
    walk, fixed = walk_some(pool, keys, uneven, number, of)
    new_owners, new_keys, empty = find_owners(
        walk, offsets, entries, holding, removed, sharing, sizes, desired
    )
    new_owners, new_keys = taken(walked, new_owners), taken(uneven, new_keys)
    return removed, new_owners, new_keys, empty, certain and fixed


@inner
def numbered(those, count):
    """The place of every number below ``count`` among ``those``, or ``NOBODY``: int32[count]."""
    number = np.full(count, NOBODY, dtype=np.int32)
    for i in range(those.size):
        number[those[i]] = i
    return number


@inner
def grouped_with(number, of, count):
    """Those in ``of`` that have a number, by it: :func:`grouped`; and their numbers as they stand."""
    places = places_with(number, of)
    numbers = taken(number, taken(of, places))
    offsets, entries = grouped(numbers, count)
    return offsets, taken(places, entries), numbers


@inner
def places_with(number, of):
    """Where those in ``of`` stand that have a number."""
    places = np.empty(of.size, dtype=np.int64)
    n = 0
    for k in range(of.size):
        if number[of[k]] != NOBODY:
            places[n] = k
            n += 1
    return places[:n]


@inner
def walk_some(pool, keys, some, number, of):
    """(the numbers of ``some`` keys in the order of the map of all partitions, whether Java fixes it).

    The ``keys`` that are claimed come into the map first; ``of``: the numbers of those that have one.
    """
    hashes, ranks, partitions = pool
    slots = table_size_for((partitions + 1) * 4 // 3 + 1)  # AssignorHelpers.newHashMap
    if has_room(hashes, slots, 7):
        inserted, _ = insertions(of, some.size)
        spreads = spread_all(taken(hashes, taken(some, inserted)))
        return taken(inserted, walk_lists(spreads, slots, True)), True
    inserted, last = insertions(keys, hashes.size)
    in_map = taken(ranks, inserted) if ranks.size > 0 else ranks
    called_again = last + 1 < keys.size + partitions
    walk, certain = walk_map(taken(hashes, inserted), slots, in_map, True, called_again)
    walk = taken(inserted, walk)
    return taken(number, taken(walk, places_with(number, walk))).astype(np.int64), certain


@njit
def parts(subscribers, places, members):
    """How many places each member of a pool takes, spread evenly: int64[members]."""
    desired = np.zeros(members, dtype=np.int64)
    part = places / subscribers.size
    for i in range(subscribers.size):
        desired[subscribers[i]] = int(np.ceil(part * (i + 1))) - int(np.ceil(part * i))
    return desired


def anything_named(group: Group) -> bool:
    """Whether the builder that is chosen finds any topic.

    It asks the first member if it is told that all name the same.
    """
    if sets.homogeneous(group):
        return group.members.topics_of(group.prepared(orders.members_by_hash)[0]).size > 0
    return group.prepared(sets.topics_walked).by_id.size > 0


@lru_cache(maxsize=64)
def walk_of_numbers(members: int) -> np.ndarray:
    """Members are numbered in hash order; sets of numbers, large enough, are walked like this."""
    numbers = np.arange(members)
    return np.argsort(numbers ^ (numbers >> 16))


def numbered_subscribers(group: Group) -> tuple[np.ndarray, ...]:
    """Subscribers by number: (kinds, starts, members) of :func:`orders.subscribers_by_kind`, members
    ascending, and members as a set of numbers is walked."""
    order = group.prepared(orders.members_by_hash)
    number = np.empty_like(order)
    number[order] = np.arange(order.size)
    kinds, starts, members = orders.subscribers_by_kind(group, order)
    numbers = number[members]
    walk = walk_of_numbers(order.size)
    if (walk == np.arange(order.size)).all():
        return kinds, starts, numbers, numbers
    return kinds, starts, numbers, number[orders.subscribers_by_kind(group, order[walk])[2]]


@njit
def grouped(of, count):
    """(offsets, entries): the positions in ``of`` of every number below ``count``, ascending."""
    return by_member(of, np.arange(of.size), count)


@inner
def revoke(entries, hashes, ranks, most, removed):
    """Remove the first claims of a HashSet until ``most`` are left: whether Java fixes its order.

    ``entries``: the claims in it, in order of insertion; ``hashes``, ``ranks``: of each, the second
    empty if keys are not Comparable.
    """
    walk, certain = walk_first(hashes, entries.size - most, ranks)
    left = -most
    for k in entries:
        left += not removed[k]
    for i in walk:
        if left <= 0:
            break
        if not removed[entries[i]]:
            removed[entries[i]] = True
            left -= 1
    return certain


@inner
def insertions(keys, count):
    """The keys below ``count`` in order of insertion, the given ones first; which call had the last
    new one, if all are inserted after them."""
    seen = np.zeros(count, dtype=np.bool_)
    inserted = np.empty(count, dtype=np.int64)
    n = last = 0
    for k in range(keys.size):
        if not seen[keys[k]]:
            seen[keys[k]] = True
            inserted[n] = keys[k]
            n += 1
            last = k
    for key in range(count):
        if not seen[key]:
            inserted[n] = key
            n += 1
            last = keys.size + key
    return inserted, last


@njit
def find_owners(keys, offsets, entries, holders, removed, sharing, sizes, desired):
    """(owners, keys) that are added, and whether a partition met an empty set of members.

    Members with room are gone through in their order, again and again. ``sizes``: how many partitions
    each has, brought up to date.
    """
    members = none = desired.size
    after = np.full(members + 1, none, dtype=np.int64)  # a ring: entry ``none`` is its start
    before = np.full(members + 1, none, dtype=np.int64)
    for i in range(members):
        if sizes[i] < desired[i]:
            tail = before[none]
            after[tail], before[i] = i, tail
            after[i], before[none] = none, i
    has = np.full(members, -1, dtype=np.int64)
    given = np.full(members, -1, dtype=np.int64)
    new_owners = np.empty(sharing * keys.size, dtype=np.int32)
    new_keys = np.empty(sharing * keys.size, dtype=np.int32)
    n = 0
    following = after[none]
    assigned = False  # since the walk over the members began
    for key in keys:
        missing = sharing
        for k in range(offsets[key], offsets[key + 1]):
            if not removed[entries[k]]:
                has[holders[entries[k]]] = key
                missing -= 1
        while missing > 0:
            if following == none:
                if not assigned:
                    break
                following = after[none]
                assigned = False
                if following == none:
                    return new_owners[:n], new_keys[:n], True
            i = following
            following = after[i]
            if has[i] != key:
                if given[i] != key:
                    given[i] = key
                    new_owners[n], new_keys[n] = i, key
                    n += 1
                    sizes[i] += 1
                missing -= 1
                assigned = True
                if sizes[i] >= desired[i]:
                    after[before[i]], before[after[i]] = after[i], before[i]
        if after[none] == none:
            break
    return new_owners[:n], new_keys[:n], False


def reclaim(group: Group, after: Assignment) -> Assignment:
    """What the members hold at the next rebalance, as the assignor will walk it."""
    if group.prepared(sets.homogeneous):
        stays = group.prepared(common_pool).mine
    else:
        stays = np.ones(len(group.topics), dtype=np.bool_)
    return targets.reclaimed_after(group, after, stays, taken_again=True)


STRATEGY = Strategy(
    name="server-simple",
    system="Kafka coordinator",
    first="4.2.0",
    last="4.4.0",
    protocol="server",
    sticky=True,
    source="org.apache.kafka.coordinator.group.assignor.SimpleAssignor",
    original="kafka-group-coordinator:4.4.0",
    look=("green", "X", "solid"),
    member_fields=("owned",),
    promises=("nobody_idle",),
    exceptions={"one_owner": "the members of a share group read a partition together"},
    assign=assign,
    reclaim=reclaim,
    render=sets.as_sets,
)
