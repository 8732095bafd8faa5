"""The uniform assignor where members name different topics: balance first, then few moves.

Members are numbered in the order of the HashMap of members, and ties go to the lower number. Topics
are taken by partitions per subscriber (most first), then by subscribers (fewest first), then by id.
First every member keeps what it holds of subscribed topics. Then, topic by topic, the partitions
that nobody holds go to the least loaded subscribers. Then, again topic by topic, partitions move
from the most to the least loaded subscribers until these differ by one at the most; that is
repeated until a whole turn moves nothing, or 16 times. So a group with overlapping subscriptions
may end slightly unbalanced, by design.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets, targets
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.packed import packed, part
from assignlab.assignors.parts.trees import (
    NOT_SEATED,
    NUMBER_BITS,
    NUMBERS,
    leaves,
    play,
    play_all,
    replay,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, code, number_of, topic_of
from assignlab.group.model import NO_METADATA, Group, first_numbers
from assignlab.jvm.hash_map import table_size_for

MAX_ITERATION_COUNT = 16

MOVE = record("code", "loser", "taker")
"""Who loses a partition, -1 for nobody, and who takes it; members by number."""
DOUBLE = record("place", "member")
"""A member that holds the partition at a place of which another counts as the owner; -1 once it has
lost it."""


class Shape(NamedTuple):
    """``subscribed``: bool[subscriptions, topics], only topics that exist; ``known``: the
    :class:`Known`, packed."""

    subscribed: np.ndarray
    known: np.ndarray


class Known(NamedTuple):
    """What the steps look at. Members are numbered in hash order, partitions topic by topic.

    ``order``: members in hash order; ``topics``: subscribed ones that exist, sorted; ``first``:
    int64[topics + 1], where a topic's partitions begin. Topics with the same subscribers are of one
    ``kind``, int64[topics]; kind k has the subscribers ``members[starts[k]:starts[k + 1]]``,
    ascending, and the subscriptions ``readers[ends[k]:ends[k + 1]]``. Member i has the subscription
    ``of[i]``, and those who have it are the leaves of a tree, which begins at ``trees[of[i]]``,
    int64[subscriptions + 1]; i is its ``leaf[i]``.
    """

    order: np.ndarray
    topics: np.ndarray
    first: np.ndarray
    kind: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    ends: np.ndarray
    readers: np.ndarray
    of: np.ndarray
    leaf: np.ndarray
    trees: np.ndarray


ORDER, TOPICS, KIND, STARTS = map(Known._fields.index, ("order", "topics", "kind", "starts"))
"""Places of what Python reads from a packed one."""


def shape(group: Group) -> Shape:
    """What is the same whatever the members hold."""
    members, partitions = group.members, group.topics.partitions
    return Shape(*known_of(
        group.prepared(orders.members_by_hash), members.subscription, members.offsets,
        members.topics, partitions, group.topics.prepared(sets.topic_ids).rank,
    ))  # fmt: skip


@njit
def known_of(order, subscription, offsets, topics, partitions, rank):
    """The :class:`Shape`; ``rank``: of the topics' ids.

    ``subscription``, ``offsets``, ``topics``: see :class:`~assignlab.group.model.Members`.
    """
    subscriptions = offsets.size - 1
    of = subscription[order]
    kind, example = kinds_of_topics(offsets, topics, partitions.size)
    subscribed = np.zeros((subscriptions, partitions.size), dtype=np.bool_)
    own = np.empty(topics.size, dtype=np.int64)  # the kinds that a subscription names
    bounds = np.zeros(subscriptions + 1, dtype=np.int64)
    n = 0
    for s in range(subscriptions):
        for t in topics[offsets[s] : offsets[s + 1]]:
            subscribed[s, t] = partitions[t] != NO_METADATA
            if example[kind[t]] == t:
                own[n] = kind[t]
                n += 1
        bounds[s + 1] = n
    starts, members = by_kind(of, bounds, own, example.size)
    ends, readers = by_kind(np.arange(subscriptions), bounds, own, example.size)
    trees, leaf = leaves(of, subscriptions)
    there = np.empty(partitions.size, dtype=np.int64)
    subscribers = np.empty(partitions.size, dtype=np.int64)
    n = 0
    for t in range(partitions.size):
        count = starts[kind[t] + 1] - starts[kind[t]]
        if count > 0 and partitions[t] != NO_METADATA:
            there[n], subscribers[n] = t, count
            n += 1
    first = first_numbers(partitions)
    there = there[:n]
    there = there[fullest_first(partitions[there], subscribers[:n], rank[there])]
    known = order, there, first, kind, starts, members, ends, readers, of, leaf, trees
    return subscribed, packed(known)


@inner
def fullest_first(partitions, subscribers, rank):
    """The order of topics: those with most partitions for each subscriber, then those with fewest
    subscribers, then by rank. int64[n]; a merge sort."""
    load = -partitions / subscribers
    n = load.size
    order, merged = np.arange(n), np.empty(n, dtype=np.int64)
    width = 1
    while width < n:
        for start in range(0, n, 2 * width):
            i, middle, end = start, min(start + width, n), min(start + 2 * width, n)
            j = middle
            for k in range(start, end):
                left = j == end
                if i < middle and j < end:
                    a, b = order[i], order[j]
                    left = (load[a], subscribers[a], rank[a]) <= (load[b], subscribers[b], rank[b])
                if left:
                    merged[k] = order[i]
                    i += 1
                else:
                    merged[k] = order[j]
                    j += 1
        order, merged = merged, order
        width *= 2
    return order


@inner
def kinds_of_topics(offsets, topics, known):
    """(kind of each topic, int64[known]; one topic of each kind).

    Subscription by subscription the kinds are split into the topics that it names and the others.
    """
    kind = np.zeros(known, dtype=np.int64)
    size = np.zeros(2 * known + 1, dtype=np.int64)
    size[0] = known
    part = np.empty(2 * known + 1, dtype=np.int64)  # the new kind that a kind is split into
    split = np.full(2 * known + 1, -1, dtype=np.int64)
    free = np.arange(2 * known, -1, -1)  # numbers of new kinds, the next one last
    n = 2 * known
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            t = topics[k]
            old = kind[t]
            if split[old] != s:
                if size[old] == 1:
                    continue
                n -= 1
                split[old], part[old] = s, free[n]
            kind[t] = part[old]
            size[kind[t]] += 1
            size[old] -= 1
            if size[old] == 0:
                free[n] = old
                n += 1
    example = np.empty(known, dtype=np.int64)
    number = np.full(2 * known + 1, -1, dtype=np.int64)
    n = 0
    for t in range(known):
        k = kind[t]
        if number[k] < 0:
            number[k] = n
            example[n] = t
            n += 1
        kind[t] = number[k]
    return kind, example[:n]


@inner
def by_kind(of, bounds, own, kinds):
    """(starts, numbers): kind k is named by ``numbers[starts[k]:starts[k + 1]]``.

    Number i names the kinds ``own[bounds[s]:bounds[s + 1]]`` with ``s = of[i]``.
    """
    starts = np.zeros(kinds + 1, dtype=np.int64)
    for s in of:
        for k in own[bounds[s] : bounds[s + 1]]:
            starts[k + 1] += 1
    for k in range(kinds):
        starts[k + 1] += starts[k]
    fill = starts[:-1].copy()
    numbers = np.empty(starts[kinds], dtype=np.int64)
    for i in range(of.size):
        for k in own[bounds[of[i]] : bounds[of[i] + 1]]:
            numbers[fill[k]] = i
            fill[k] += 1
    return starts, numbers


def assign(group: Group) -> Assignment:
    """Keep, give out, balance."""
    offsets, codes, _ = group.of_claims(moved)
    return Assignment(offsets.copy(), codes.copy())


def changes(group: Group) -> targets.Changes:
    """What the assignor does to every member's map, in its order."""
    subscribed, known = group.prepared(shape)
    held, (_, _, log) = group.of_claims(sets.held), group.of_claims(moved)
    steps = steps_of(
        part(known, ORDER), group.members.subscription, subscribed, held.offsets, held.codes, log
    )
    return targets.Changes(*steps, group.prepared(slots_of_new_sets))


def slots_of_new_sets(group: Group) -> np.ndarray:
    """Slots of ``new HashSet<>((int) (ceil(partitions / subscribers) / 0.75f + 1))`` of every topic
    that is subscribed and exists, of a plain set for the others: int64[topics]."""
    known = group.prepared(shape).known
    topics, kind, starts = part(known, TOPICS), part(known, KIND), part(known, STARTS)
    subscribers = np.diff(starts)[kind[topics]]
    each = (-(-group.topics.partitions[topics] // subscribers)).astype(np.float32)
    capacities, which = np.unique(
        (each / np.float32(0.75) + np.float32(1)).astype(np.int64), return_inverse=True
    )
    slots = targets.plain_slots(len(group.topics))
    slots[topics] = np.array([table_size_for(n) for n in capacities.tolist()])[which]
    return slots


@njit
def steps_of(order, subscription, subscribed, offsets, codes, log):
    """(offsets, steps) of :class:`targets.Changes`: other topics go first, then the log's moves."""
    sizes = np.zeros(offsets.size, dtype=np.int64)
    for turn in range(2):
        if turn == 1:
            for m in range(order.size):
                sizes[m + 1] += sizes[m]
            fill = sizes.copy()
            steps = np.empty(sizes[-1], dtype=np.int64)
        for m in range(order.size):
            for c in codes[offsets[m] : offsets[m + 1]]:
                if not subscribed[subscription[m], topic_of(c)]:
                    if turn == 0:
                        sizes[m + 1] += 1
                    else:
                        steps[fill[m]] = ~c
                        fill[m] += 1
        for move in log:
            for i, step in ((move.loser, ~move.code), (move.taker, move.code)):
                if i >= 0:
                    m = order[i]
                    if turn == 0:
                        sizes[m + 1] += 1
                    else:
                        steps[fill[m]] = step
                        fill[m] += 1
    return sizes, steps


def moved(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(offsets, codes) of the result, and all moves in turn, MOVE[n]."""
    held = group.of_claims(sets.held)
    offsets, codes, log, failed = build(*group.prepared(shape), held.offsets, held.codes)
    if failed:
        raise OriginalError(
            "ArrayIndexOutOfBoundsException", "a member holds a partition that does not exist"
        )
    return offsets, codes, log


@njit
def build(subscribed, the_known, offsets, codes):
    """:func:`moved`, and whether the original throws."""
    known = unpacked(the_known)
    # Every turn moves a partition once at the most.
    log = np.empty((1 + MAX_ITERATION_COUNT) * known.first[-1], MOVE)
    owner, sizes, doubles, beyond = keep(known, subscribed, offsets, codes)
    if beyond:
        return offsets, codes, log[:0], True
    nodes, readers = known.trees[-1], known.trees.size
    state = State(
        owner, sizes, doubles, log, np.zeros(1, dtype=np.int64), np.full(nodes, NOT_SEATED),
        np.full(nodes, NOT_SEATED), np.empty(2 * readers, dtype=np.int64),
        np.empty(readers, dtype=np.int64),
    )  # fmt: skip
    give_out(known, state)
    balance(known, state)
    owners, given = owned(known, state)
    for k in range(owners.size):
        owners[k] = known.order[owners[k]]
    new_offsets, lists = by_member(owners, given, known.order.size)
    return new_offsets, lists, log[: state.moves[0]].copy(), False


class State(NamedTuple):
    """The assignment while it is made, in numbers of members.

    ``owner``: int64 per partition, -1 for nobody; ``sizes``: int64[members]; ``doubles``:
    DOUBLE[n]; ``log``: MOVE[n], every move in turn; ``moves``: int64[1]. ``least``, ``most``: the
    trees of the subscriptions, whose members have the :func:`key` by size and number, in ``most``
    the complement of it. ``top``: a tree whose leaves are the roots in ``least`` of one topic's
    subscriptions; ``seat``: int64[subscriptions], the leaf of each.
    """

    owner: np.ndarray
    sizes: np.ndarray
    doubles: np.ndarray
    log: np.ndarray
    moves: np.ndarray
    least: np.ndarray
    most: np.ndarray
    top: np.ndarray
    seat: np.ndarray


@inner
def unpacked(known):
    """The :class:`Known` in a packed one."""
    return Known(
        part(known, 0), part(known, 1), part(known, 2), part(known, 3), part(known, 4),
        part(known, 5), part(known, 6), part(known, 7), part(known, 8), part(known, 9),
        part(known, 10),
    )  # fmt: skip


@inner
def keep(known, subscribed, offsets, codes):
    """(owner, sizes, doubles, whether some partition does not exist) after revocation."""
    first = known.first
    owner = np.full(first[-1], -1, dtype=np.int64)
    sizes = np.zeros(known.order.size, dtype=np.int64)
    doubles = np.empty(codes.size, DOUBLE)
    n = 0
    for i in range(known.order.size):
        m = known.order[i]
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            if subscribed[known.of[i], t]:
                at = number_of(codes[k], first)
                if at >= first[t + 1]:
                    return owner, sizes, doubles[:0], True
                if owner[at] >= 0:
                    doubles[n].place, doubles[n].member = at, owner[at]
                    n += 1
                owner[at] = i
                sizes[i] += 1
    return owner, sizes, doubles[:n].copy(), False


@inner
def give_out(known, state):
    """Partitions that nobody holds go to the least loaded subscribers of their topic.

    These are named in turn, by size and number, as long as they have ``count``; then all who were
    named are named again, and behind them who has one more.
    """
    for i in range(state.sizes.size):
        state.least[known.trees[known.of[i]] + known.leaf[i]] = key(i, state.sizes)
    play_all(state.least, known.trees)
    named = np.empty(state.sizes.size, dtype=np.int64)
    for t in known.topics:
        n = following = count = 0
        for p in range(known.first[t], known.first[t + 1]):
            if state.owner[p] >= 0:
                continue
            if n == 0:
                line_up(t, known, state)
                count = state.top[1] >> NUMBER_BITS
            if following == n:
                if state.top[1] >> NUMBER_BITS == count:
                    named[n] = next_in_line(known, state)
                    n += 1
                else:
                    count += 1
                    following = 0
            move(known, state, t, p, named[following])
            following += 1
        for i in named[:n]:
            x = known.leaf[i]
            replay(state.least, known.trees[known.of[i]], x, key(i, state.sizes))


@leaf
def key(i, sizes):
    """The key of member i in a tree: its size, and its number where sizes are equal."""
    return sizes[i] << NUMBER_BITS | i


@leaf
def line_up(t, known, state):
    """The topic's tree of all its subscriptions' trees."""
    begin, end = known.ends[known.kind[t]], known.ends[known.kind[t] + 1]
    for x in range(begin, end):
        s = known.readers[x]
        state.seat[s] = end - begin + x - begin
        state.top[state.seat[s]] = state.least[known.trees[s] + 1]
    play(state.top, 0, end - begin)


@leaf
def next_in_line(known, state):
    """The least loaded subscriber of the topic, which leaves the trees."""
    i = state.top[1] & NUMBERS
    s = known.of[i]
    replay(state.least, known.trees[s], known.leaf[i], NOT_SEATED)
    replay(state.top, 0, state.seat[s], state.least[known.trees[s] + 1])
    return i


@inner
def balance(known, state):
    """Turn after turn over the topics that have several subscribers."""
    for i in range(state.sizes.size):
        state.most[known.trees[known.of[i]] + known.leaf[i]] = ~key(i, state.sizes)
    play_all(state.most, known.trees)
    shared = np.empty(known.topics.size, dtype=np.int64)
    n = 0
    for t in known.topics:
        if known.starts[known.kind[t] + 1] - known.starts[known.kind[t]] >= 2:
            shared[n] = t
            n += 1
    first = np.zeros(state.sizes.size, dtype=np.int64)
    end = np.zeros(state.sizes.size, dtype=np.int64)
    last = -1  # the last topic in which something moved
    for _ in range(MAX_ITERATION_COUNT):
        for i in range(n):
            if i == last:
                return
            if balance_topic(shared[i], known, state, first, end) > 0 or last == -1:
                last = i


@inner
def balance_topic(t, known, state, first, end):
    """Move partitions of one topic from its most to its least loaded subscribers: how many.

    ``first``, ``end``: scratch, int64[members].
    """
    sizes = state.sizes
    least, most = bounds(t, known, state)
    if most - least <= 1:
        return 0
    k = known.kind[t]
    subscribers = known.members[known.starts[k] : known.starts[k + 1]]
    owner = state.owner[known.first[t] : known.first[t + 1]]
    by_owner = group_by_owner(owner, subscribers, first, end)
    balancer = new_balancer(subscribers, sizes, least, most)
    moved = 0
    while not is_balanced(balancer):
        giver = next_most_loaded(balancer, sizes)
        while giver != -1 and end[giver] <= first[giver]:
            exclude_most_loaded(balancer)
            giver = next_most_loaded(balancer, sizes)
        if giver == -1:
            break
        end[giver] -= 1
        partition = known.first[t] + by_owner[end[giver]]
        taker = next_least_loaded(balancer, sizes)
        if is_balanced(balancer):
            break
        move(known, state, t, partition, taker)
        resized(giver, known, state)
        resized(taker, known, state)
        moved += 1
    return moved


@leaf
def bounds(t, known, state):
    """(smallest, largest) size of a topic's subscribers."""
    least = most = NOT_SEATED
    for x in range(known.ends[known.kind[t]], known.ends[known.kind[t] + 1]):
        root = known.trees[known.readers[x]] + 1
        least = min(least, state.least[root])
        most = min(most, state.most[root])
    return least >> NUMBER_BITS, ~most >> NUMBER_BITS


@leaf
def resized(i, known, state):
    """A member has another size: its matches are played again."""
    base, x = known.trees[known.of[i]], known.leaf[i]
    replay(state.least, base, x, key(i, state.sizes))
    replay(state.most, base, x, ~key(i, state.sizes))


@inner
def group_by_owner(owner, subscribers, first, end):
    """A topic's partitions by owner and number; member i owns those from first[i] to end[i]."""
    for i in subscribers:
        end[i] = 0
    for i in owner:
        end[i] += 1
    at = 0
    for i in subscribers:
        first[i] = at
        at += end[i]
        end[i] = first[i]
    by_owner = np.empty(owner.size, dtype=np.int64)
    for p in range(owner.size):
        by_owner[end[owner[p]]] = p
        end[owner[p]] += 1
    return by_owner


@leaf
def move(known, state, t, partition, member):
    """Give a partition of topic t to a member; whoever owned it loses it."""
    before = state.owner[partition]
    entry = state.log[state.moves[0]]
    entry.code, entry.loser, entry.taker = code(t, partition - known.first[t]), before, member
    state.moves[0] += 1
    if before >= 0:
        state.sizes[before] -= 1
        for double in state.doubles:
            if double.place == partition and double.member == before:
                double.member = -1
    state.owner[partition] = member
    state.sizes[member] += 1


@inner
def owned(known, state):
    """(owners, codes) of the result: who owns each partition, and who else still holds it."""
    total = state.doubles.size
    for t in known.topics:
        total += known.first[t + 1] - known.first[t]
    owners = np.empty(total, dtype=np.int64)
    codes = np.empty(total, dtype=np.int64)
    n = 0
    for t in known.topics:
        for p in range(known.first[t + 1] - known.first[t]):
            at = known.first[t] + p
            owners[n] = state.owner[at]
            codes[n] = code(t, p)
            n += 1
            for k in range(state.doubles.size):
                if state.doubles[k].place == at:
                    m = state.doubles[k].member
                    if m >= 0 and m != state.owner[at] and not twice(state.doubles, k):
                        owners[n] = m
                        codes[n] = code(t, p)
                        n += 1
    return owners[:n], codes[:n]


@leaf
def twice(doubles, k):
    """Whether an earlier row says the same."""
    for i in range(k):
        if doubles[i].place == doubles[k].place and doubles[i].member == doubles[k].member:
            return True
    return False


# The balancer: subscribers of one topic, sorted by load, with a range of the least loaded that
# grows to the right and a range of the most loaded that grows to the left.


class Balancer(NamedTuple):
    """``sorted``: the members by (size, number); ``at`` RANGES[1]."""

    sorted: np.ndarray
    at: np.ndarray


RANGES = record(
    "least_end", "least_count", "least_next", "most_start", "most_end", "most_count", "most_next"
)
"""The least loaded are ``sorted[:least_end]``, the most loaded ``sorted[most_start:most_end]``;
``count``: how many partitions these have; ``next``: who is named next."""


@inner
def new_balancer(members, sizes, least, most):
    """The balancer of some members, whose sizes are from ``least`` to ``most``."""
    ranges = np.zeros(1, RANGES)
    at = ranges[0]
    at.least_count, at.most_count = least - 1, most + 1
    at.most_start = at.most_end = members.size
    at.most_next = members.size - 1
    return Balancer(by_size(members, sizes, least, most), ranges)


@inner
def by_size(members, sizes, least, most):
    """The members sorted by size, equal ones in their order."""
    if most - least > 4 * members.size + 64:
        return members[np.argsort(sizes[members], kind="mergesort")]
    fill = np.zeros(most - least + 2, dtype=np.int64)
    for i in members:
        fill[sizes[i] - least + 1] += 1
    for size in range(most - least):
        fill[size + 1] += fill[size]
    ordered = np.empty_like(members)
    for i in members:
        ordered[fill[sizes[i] - least]] = i
        fill[sizes[i] - least] += 1
    return ordered


@leaf
def next_least_loaded(balancer, sizes):
    """The member that gets the next partition."""
    members, at = balancer.sorted, balancer.at[0]
    if at.least_next >= at.least_end:
        at.least_count += 1
        while at.least_end < members.size and sizes[members[at.least_end]] == at.least_count:
            at.least_end += 1
        at.least_next = 0
    at.least_next += 1
    return members[at.least_next - 1]


@leaf
def next_most_loaded(balancer, sizes):
    """The member that may give up the next partition; -1 if nobody can."""
    members, at = balancer.sorted, balancer.at[0]
    if at.most_next < at.most_start:
        if at.most_end <= at.most_start and at.most_start > 0:
            at.most_count = sizes[members[at.most_start - 1]]
        else:
            at.most_count -= 1
        while at.most_start > 0 and sizes[members[at.most_start - 1]] == at.most_count:
            at.most_start -= 1
        at.most_next = at.most_end - 1
    if at.most_next < 0:
        return -1
    at.most_next -= 1
    return members[at.most_next + 1]


@leaf
def exclude_most_loaded(balancer):
    """The member just named has nothing to give up and leaves the range."""
    members, at = balancer.sorted, balancer.at[0]
    i, last = at.most_next + 1, at.most_end - 1
    members[i], members[last] = members[last], members[i]
    at.most_end = last


@leaf
def is_balanced(balancer):
    """Whether the ranges differ by one at the most."""
    return balancer.at[0].most_count - balancer.at[0].least_count <= 1
