"""Which partitions of a group are alike, and the network in which an assignment is a flow.

Topics with the same readers share a *pool*. Partitions of one pool with the same valid claimants
are of one *kind*; any of them may stand for any other. A partition starts at its kind, where one of
its claimants keeps it, or else it moves to the pool, from which any reader takes it; partitions
that nobody claims start in the pool:

    kind -> claimant   free       kind -> pool   one move       pool -> reader   free

So the flow on the arcs from kinds to pools counts the moves, and the flow into a member is its
size. A million partitions of nested subscriptions come down to a few thousand arcs.
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import code, partition_of, topic_of
from assignlab.group.model import Group

NOBODY = -1
SEVERAL = -2


class Pools(NamedTuple):
    """Who may read what, whoever claims it.

    ``of_topic`` int64[topics]: the pool of each topic, -1 where it has no partition or no reader.
    ``starts`` int64[topics + 1]: how many assignable partitions come before each topic's. The
    readers of pool i are ``readers[offsets[i]:offsets[i + 1]]``.
    """

    of_topic: np.ndarray
    starts: np.ndarray
    offsets: np.ndarray
    readers: np.ndarray


class Kinds(NamedTuple):
    """The claimed partitions by kind.

    ``node`` int32[assignable partitions]: the network's node of each partition's kind, -1 where
    nobody has a valid claim. ``pool``, ``partitions`` int64[kinds]: of each kind, its pool and how
    many it has. The claimants of kind i are ``claimants[offsets[i]:offsets[i + 1]]``.
    """

    node: np.ndarray
    pool: np.ndarray
    partitions: np.ndarray
    offsets: np.ndarray
    claimants: np.ndarray


class Network(NamedTuple):
    """Nodes and arcs: ``members`` members, then ``pools`` pools, then the kinds.

    The arcs out of node ``members + i`` are ``first[i]`` to ``first[i + 1]``; those of a kind end
    with the one to its pool. ``tail``, ``head``, ``capacity``, ``moves`` (0 or 1) int64[arcs].
    ``at[starts[n]:starts[n + 1]]`` are all arcs into node n and out of it. ``supply``
    int64[pools + kinds]: the partitions that start there.
    """

    members: int
    pools: int
    supply: np.ndarray
    first: np.ndarray
    tail: np.ndarray
    head: np.ndarray
    capacity: np.ndarray
    moves: np.ndarray
    starts: np.ndarray
    at: np.ndarray


# ---- alike -------------------------------------------------------------------------------------


@njit
def alike(classes, offsets, sets):
    """Split classes until only elements that are in the same sets share one: int64[elements].

    Partition refinement, in time linear in all that it is given. ``classes`` int64[elements], from
    0, or -1 for elements to be left out; the elements of set i are ``sets[offsets[i]:offsets[i +
    1]]``. The answer is numbered by first appearance.
    """
    classes = classes.copy()
    count = classes.max() + 1 if classes.size > 0 else 0
    split_by = np.full(count + sets.size, -1, dtype=np.int64)
    split_to = np.empty(count + sets.size, dtype=np.int64)
    made_by = np.full(count + sets.size, -1, dtype=np.int64)
    for s in range(offsets.size - 1):
        for element in sets[offsets[s] : offsets[s + 1]]:
            old = classes[element]
            if old < 0 or made_by[old] == s:  # left out, or named twice
                continue
            if split_by[old] != s:
                split_by[old] = made_by[count] = s
                split_to[old] = count
                count += 1
            classes[element] = split_to[old]
    return _renumbered(classes, count)


@inner
def _renumbered(classes, count):
    number = np.full(count, -1, dtype=np.int64)
    seen = 0
    for i in range(classes.size):
        if classes[i] >= 0:
            if number[classes[i]] < 0:
                number[classes[i]] = seen
                seen += 1
            classes[i] = number[classes[i]]
    return classes


@inner
def _gathered(keys, count):
    """The places of each key, as (offsets int64[count + 1], places); keys below 0 are left out."""
    offsets = np.zeros(count + 1, dtype=np.int64)
    for key in keys:
        if key >= 0:
            offsets[key + 1] += 1
    offsets = np.cumsum(offsets)
    fill = offsets[:-1].copy()
    places = np.empty(offsets[count], dtype=np.int64)
    for i in range(keys.size):
        if keys[i] >= 0:
            places[fill[keys[i]]] = i
            fill[keys[i]] += 1
    return offsets, places


# ---- pools -------------------------------------------------------------------------------------


def pools(group: Group) -> Pools:
    """The :class:`Pools` of a group (for ``group.prepared``)."""
    members = group.members
    return _pools(group.topics.partitions, members.subscription, members.offsets, members.topics)


@njit
def _pools(partitions, subscription, offsets, topics):
    users, members = _gathered(subscription, offsets.size - 1)
    offsets, topics = _in_use(users, offsets, topics)
    read = np.full(partitions.size, -1, dtype=np.int64)
    for t in topics:
        read[t] = 0 if partitions[t] > 0 else -1
    starts = np.zeros(partitions.size + 1, dtype=np.int64)
    for t in range(partitions.size):
        starts[t + 1] = starts[t] + (partitions[t] if read[t] == 0 else 0)
    of_topic = alike(read, offsets, topics)
    return Pools(of_topic, starts, *_readers(of_topic, users, members, offsets, topics))


@inner
def _in_use(users, offsets, topics):
    """The topics of the subscriptions that somebody has; the others are empty."""
    kept = np.zeros(offsets.size, dtype=np.int64)
    lists = np.empty(topics.size, dtype=np.int64)
    n = 0
    for s in range(offsets.size - 1):
        if users[s] < users[s + 1]:
            for t in topics[offsets[s] : offsets[s + 1]]:
                lists[n] = t
                n += 1
        kept[s + 1] = n
    return kept, lists[:n]


@inner
def _readers(of_topic, users, members, offsets, topics):
    """(offsets, readers) of :class:`Pools`: who subscribes to a pool's first topic."""
    count = of_topic.max() + 1 if of_topic.size > 0 else 0
    first = np.full(count, -1, dtype=np.int64)
    for t in range(of_topic.size - 1, -1, -1):
        if of_topic[t] >= 0:
            first[of_topic[t]] = t
    pools = np.full(topics.size, -1, dtype=np.int64)
    subscriptions = np.empty(topics.size, dtype=np.int64)
    sizes = np.zeros(count + 1, dtype=np.int64)
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            pool = of_topic[topics[k]]
            if pool >= 0 and first[pool] == topics[k]:
                pools[k] = pool
                subscriptions[k] = s
                sizes[pool + 1] += users[s + 1] - users[s]
    starts = np.cumsum(sizes)
    readers = np.empty(starts[-1], dtype=np.int64)
    fill = starts[:-1].copy()
    for k in range(topics.size):
        if pools[k] >= 0:
            for m in members[users[subscriptions[k]] : users[subscriptions[k] + 1]]:
                readers[fill[pools[k]]] = m
                fill[pools[k]] += 1
    return starts, readers


# ---- kinds -------------------------------------------------------------------------------------


class Claimed(NamedTuple):
    """What members claim, and what they subscribe to: arrays of the group."""

    offsets: np.ndarray
    codes: np.ndarray
    subscription: np.ndarray
    topic_offsets: np.ndarray
    topics: np.ndarray


def kinds(group: Group, shared: Pools) -> Kinds:
    """The :class:`Kinds` of what the members of a group claim."""
    members = group.members
    claims = Claimed(
        group.claims.offsets, group.claims.codes, members.subscription, members.offsets,
        members.topics,
    )  # fmt: skip
    node, several = claimants(claims, shared)
    found = kinds_of_one(node, shared, len(members))
    if several:
        found = _with_kinds_of_several(found, claims, node, shared)
    return Kinds(node, *found)


@njit
def claimants(claims, shared):
    """The member that claims each partition, ``NOBODY`` or ``SEVERAL``, and how many have several.

    Valid are claims of partitions that the cluster has, by members that subscribe to their topics.
    """
    claimant = np.full(shared.starts[-1], NOBODY, dtype=np.int32)
    reader = np.full(shared.of_topic.size, -1, dtype=np.int64)
    several = 0
    codes, starts = claims.codes, shared.starts
    for m in range(claims.subscription.size):
        _mark_topics(claims, m, reader)
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            t = topic_of(codes[k])
            place = starts[t] + partition_of(codes[k])
            if reader[t] != m or place >= starts[t + 1]:
                continue
            if claimant[place] == NOBODY:
                claimant[place] = m
            elif claimant[place] != m:
                several += claimant[place] != SEVERAL
                claimant[place] = SEVERAL
    return claimant, several


@leaf
def _mark_topics(claims, member, reader):
    """Note of every topic that the member is the last one that was found to read it."""
    if claims.offsets[member] < claims.offsets[member + 1]:
        s = claims.subscription[member]
        for k in range(claims.topic_offsets[s], claims.topic_offsets[s + 1]):
            reader[claims.topics[k]] = member


@njit
def kinds_of_one(node, shared, members):
    """(pool, partitions, offsets, claimants) of the kinds that one member claims.

    ``node`` has the claimants; where there is one, the node of the kind takes its place.
    """
    pools = shared.offsets.size - 1
    most = min(node.size, members * pools)
    pool = np.empty(most, dtype=np.int64)
    claimants = np.empty(most, dtype=np.int64)
    partitions = np.zeros(most, dtype=np.int64)
    by_pool, topics = _gathered(shared.of_topic, pools)
    count = 0
    for this in range(pools):
        kind_of = np.full(members, -1, dtype=np.int64)
        for t in topics[by_pool[this] : by_pool[this + 1]]:
            for place in range(shared.starts[t], shared.starts[t + 1]):
                member = node[place]
                if member < 0:
                    continue
                if kind_of[member] < 0:
                    kind_of[member] = count
                    pool[count] = this
                    claimants[count] = member
                    count += 1
                partitions[kind_of[member]] += 1
                node[place] = members + pools + kind_of[member]
    return pool[:count], partitions[:count], np.arange(count + 1), claimants[:count]


def _with_kinds_of_several(found, claims: Claimed, node: np.ndarray, shared: Pools):
    """``found`` and the kinds that several members claim, which are entered into ``node``, too."""
    pool, partitions, offsets, claimants = found
    places = np.flatnonzero(node == SEVERAL)
    by_member, claimed = _claims_of_several(claims, node, shared)
    claimed = np.searchsorted(places, claimed)
    pool_of = shared.of_topic[np.searchsorted(shared.starts, places, side="right") - 1]
    classes = alike(pool_of, by_member, claimed)
    node[places] = claims.subscription.size + shared.offsets.size - 1 + pool.size + classes
    first = np.unique(classes, return_index=True)[1]
    member = np.repeat(np.arange(by_member.size - 1), np.diff(by_member))
    of_first = first[classes[claimed]] == claimed
    pairs = np.unique(np.stack((classes[claimed[of_first]], member[of_first])), axis=1)
    return (
        np.concatenate((pool, pool_of[first])),
        np.concatenate((partitions, np.bincount(classes))),
        np.concatenate((offsets, offsets[-1] + np.cumsum(np.bincount(pairs[0])))),
        np.concatenate((claimants, pairs[1])),
    )


@njit
def _claims_of_several(claims, node, shared):
    """The valid claims of partitions that several members claim: (offsets by member, places)."""
    reader = np.full(shared.of_topic.size, -1, dtype=np.int64)
    offsets = np.zeros(claims.offsets.size, dtype=np.int64)
    places = np.empty(claims.codes.size, dtype=np.int64)
    codes, starts = claims.codes, shared.starts
    count = 0
    for m in range(claims.subscription.size):
        _mark_topics(claims, m, reader)
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            t = topic_of(codes[k])
            place = starts[t] + partition_of(codes[k])
            if reader[t] == m and place < starts[t + 1] and node[place] == SEVERAL:
                places[count] = place
                count += 1
        offsets[m + 1] = count
    return offsets, places[:count]


# ---- the network -------------------------------------------------------------------------------


@njit
def network(members, shared, claimed):
    """The :class:`Network` of pools and kinds."""
    pools = shared.offsets.size - 1
    kinds = claimed.pool.size
    first = np.zeros(pools + kinds + 1, dtype=np.int64)
    for pool in range(pools):
        first[pool + 1] = shared.offsets[pool + 1]
    for kind in range(kinds):
        takers = claimed.offsets[kind + 1] - claimed.offsets[kind]
        first[pools + kind + 1] = first[pools + kind] + takers + 1
    arcs = first[-1]
    tail = np.empty(arcs, dtype=np.int64)
    head = np.empty(arcs, dtype=np.int64)
    capacity = np.full(arcs, shared.starts[-1], dtype=np.int64)
    moves = np.zeros(arcs, dtype=np.int64)
    for pool in range(pools):
        for arc in range(first[pool], first[pool + 1]):
            tail[arc], head[arc] = members + pool, shared.readers[arc]
    for kind in range(kinds):
        start = first[pools + kind]
        last = first[pools + kind + 1] - 1
        for arc in range(start, last + 1):
            tail[arc], capacity[arc] = members + pools + kind, claimed.partitions[kind]
        for arc in range(start, last):
            head[arc] = claimed.claimants[claimed.offsets[kind] + arc - start]
        head[last] = members + claimed.pool[kind]
        moves[last] = 1
    starts, at = _gathered(np.concatenate((tail, head)), members + pools + kinds)
    supply = _supply(shared, claimed)
    at %= arcs
    return Network(members, pools, supply, first, tail, head, capacity, moves, starts, at)


@inner
def _supply(shared, claimed):
    """Of every pool the partitions that nobody claims, then of every kind its partitions."""
    pools = shared.offsets.size - 1
    supply = np.zeros(pools + claimed.pool.size, dtype=np.int64)
    for t in range(shared.of_topic.size):
        if shared.of_topic[t] >= 0:
            supply[shared.of_topic[t]] += shared.starts[t + 1] - shared.starts[t]
    for kind in range(claimed.pool.size):
        supply[claimed.pool[kind]] -= claimed.partitions[kind]
        supply[pools + kind] = claimed.partitions[kind]
    return supply


# ---- back to partitions ------------------------------------------------------------------------


@njit
def dealt(network, shared, nodes, flow):
    """(offsets, codes) of the assignment of a flow int64[arcs]: every list by topic and partition.

    ``nodes``: of :class:`Kinds`. Of each kind the claimants keep the first partitions; what moves
    goes in order, too.
    """
    left = flow.copy()  # what every arc has still to carry
    offsets = np.zeros(network.members + 1, dtype=np.int64)
    for arc in range(left.size):
        if network.head[arc] < network.members:
            offsets[network.head[arc] + 1] += left[arc]
    offsets = np.cumsum(offsets)
    fill = offsets[:-1].copy()
    codes = np.empty(offsets[-1], dtype=np.int64)
    arc = network.first[:-1].copy()  # the next arc of every pool and kind
    for t in range(shared.of_topic.size):
        for place in range(shared.starts[t], shared.starts[t + 1]):
            owner = network.members
            if nodes[place] >= 0:
                owner = _next(network, left, arc, nodes[place] - network.members)
            if owner >= network.members:
                owner = _next(network, left, arc, shared.of_topic[t])
            codes[fill[owner]] = code(t, place - shared.starts[t])
            fill[owner] += 1
    return offsets, codes


@leaf
def _next(network, left, arc, node):
    """Where the next partition of a pool or kind goes."""
    while left[arc[node]] == 0:
        arc[node] += 1
    left[arc[node]] -= 1
    return network.head[arc[node]]
