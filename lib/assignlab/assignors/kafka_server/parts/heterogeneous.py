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
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, code, number_of, topic_of
from assignlab.group.model import NO_METADATA, Group, subscriptions_by_topic
from assignlab.jvm.hash_map import table_size_for

MAX_ITERATION_COUNT = 16


class Shape(NamedTuple):
    """``order``: members in hash order, by which they are numbered; ``topics``: subscribed ones
    that exist, sorted; topic t is subscribed by the numbers ``members[starts[t]:starts[t + 1]]``,
    ascending; ``subscribed``: bool[subscriptions, topics], only topics that exist."""

    order: np.ndarray
    topics: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    subscribed: np.ndarray


def shape(group: Group) -> Shape:
    """What is the same whatever the members hold."""
    order, partitions = group.prepared(orders.members_by_hash), group.topics.partitions
    starts, members = orders.subscribers(group, order)
    numbers, topics, subscribers = numbered(order, starts, members, partitions)
    by_id = group.prepared(sets.topic_ids).rank[topics]
    topics = topics[np.lexsort((by_id, subscribers, -(partitions[topics] / subscribers)))]
    subscribed = group.prepared(subscriptions_by_topic) & (partitions != NO_METADATA)
    return Shape(order, topics, starts, numbers, subscribed)


@njit
def numbered(order, starts, members, partitions):
    """(subscribers by number, subscribed topics that exist, how many subscribers each of these has).

    ``starts``, ``members``: subscribers of each topic by member index.
    """
    number = np.empty_like(order)
    for i in range(order.size):
        number[order[i]] = i
    numbers = np.empty_like(members)
    for k in range(members.size):
        numbers[k] = number[members[k]]
    topics = np.empty(partitions.size, dtype=np.int64)
    subscribers = np.empty(partitions.size, dtype=np.int64)
    n = 0
    for t in range(partitions.size):
        if starts[t + 1] > starts[t] and partitions[t] != NO_METADATA:
            topics[n], subscribers[n] = t, starts[t + 1] - starts[t]
            n += 1
    return numbers, topics[:n], subscribers[:n]


def assign(group: Group) -> Assignment:
    """Keep, give out, balance."""
    if group.prepared(shape).topics.size == 0:
        return sets.nothing(group)
    offsets, codes, _ = _assigned(group, sets.held(group), NO_LOG)
    return Assignment(offsets, codes)


def changes(group: Group) -> targets.Changes:
    """What the assignor does to every member's map, in its order."""
    order, topics, starts, _, subscribed = group.prepared(shape)
    held = sets.held(group)
    slots = targets.plain_slots(len(group.topics))
    if topics.size == 0:
        return targets.Changes(held.offsets, ~held.codes, slots)
    counts = group.topics.partitions[topics]
    subscribers = np.diff(starts)[topics]
    slots[topics] = [
        table_size_for(int(np.float32(-(-p // s)) / np.float32(0.75) + np.float32(1)))
        for p, s in zip(counts.tolist(), subscribers.tolist(), strict=True)
    ]
    # Every turn moves a partition once at the most.
    log = np.empty(((1 + MAX_ITERATION_COUNT) * int(counts.sum()), 3), dtype=np.int64)
    _, _, moves = _assigned(group, held, log)
    return targets.Changes(
        *steps_of(
            order, group.members.subscription, subscribed, held.offsets, held.codes, log[:moves]
        ),
        slots,
    )


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
        for k in range(log.shape[0]):
            c, before, taker = log[k]
            for i, step in ((before, ~c), (taker, c)):
                if i >= 0:
                    m = order[i]
                    if turn == 0:
                        sizes[m + 1] += 1
                    else:
                        steps[fill[m]] = step
                        fill[m] += 1
    return sizes, steps


NO_LOG = np.empty((0, 3), dtype=np.int64)


def _assigned(group: Group, held: sets.Held, log: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    """(offsets, codes) of the result, and how many moves there were.

    ``log``: int64[n, 3], filled with every move if there is room.
    """
    offsets, codes, moves = build(
        tuple(group.prepared(shape)), group.members.subscription, group.topics.partitions,
        group.prepared(sets.dense_starts), held.offsets, held.codes, log,
    )  # fmt: skip
    if moves == BEYOND:
        raise OriginalError(
            "ArrayIndexOutOfBoundsException", "a member holds a partition that does not exist"
        )
    return offsets, codes, moves


BEYOND = -1


@njit
def build(the_shape, subscription, partitions, first, offsets, codes, log):
    """:func:`_assigned`; instead of the moves ``BEYOND`` where the original throws."""
    order, topics, starts, members, subscribed = the_shape
    owner, sizes, doubles, beyond = keep(order, subscription, subscribed, first, offsets, codes)
    if beyond:
        return offsets, codes, BEYOND
    moves = np.zeros(1, dtype=np.int64)
    state = State(partitions, first, starts, members, owner, sizes, doubles, log, moves)
    give_out(topics, state)
    balance(topics, state)
    owners, given = owned(topics, state)
    for k in range(owners.size):
        owners[k] = order[owners[k]]
    new_offsets, lists = by_member(owners, given, order.size)
    return new_offsets, lists, moves[0]


class State(NamedTuple):
    """The assignment while it is made, in numbers of members.

    ``partitions``: int64[topics]; ``first``: where a topic's partitions begin when all are numbered
    through; ``starts``, ``members``: subscribers of every topic; ``owner``: int64 per partition, -1
    for nobody; ``sizes``: int64[members]; ``doubles``: int64[n, 2], (partition, member) where a
    member holds a partition of which another counts as the owner; member -1 once it has lost it.
    ``log``: int64[n, 3], (code, loser or -1, taker) of every move in turn; ``moves``: int64[1].
    """

    partitions: np.ndarray
    first: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    owner: np.ndarray
    sizes: np.ndarray
    doubles: np.ndarray
    log: np.ndarray
    moves: np.ndarray


@inner
def keep(order, subscription, subscribed, first, offsets, codes):
    """(owner, sizes, doubles, whether some partition does not exist) after revocation."""
    owner = np.full(first[-1], -1, dtype=np.int64)
    sizes = np.zeros(order.size, dtype=np.int64)
    doubles = np.empty((codes.size, 2), dtype=np.int64)
    n = 0
    for i in range(order.size):
        m = order[i]
        for k in range(offsets[m], offsets[m + 1]):
            t = topic_of(codes[k])
            if subscribed[subscription[m], t]:
                at = number_of(codes[k], first)
                if at >= first[t + 1]:
                    return owner, sizes, doubles[:0], True
                if owner[at] >= 0:
                    doubles[n, 0], doubles[n, 1] = at, owner[at]
                    n += 1
                owner[at] = i
                sizes[i] += 1
    return owner, sizes, doubles[:n].copy(), False


@inner
def give_out(topics, state):
    """Partitions that nobody holds go to the least loaded subscribers of their topic."""
    for t in topics:
        ready = False
        for p in range(state.first[t], state.first[t + 1]):
            if state.owner[p] < 0:
                if not ready:
                    balancer = new_balancer(t, state)
                    ready = True
                move(state, t, p, next_least_loaded(balancer, state.sizes))


@inner
def balance(topics, state):
    """Turn after turn over the topics that have several subscribers."""
    shared = np.empty(topics.size, dtype=np.int64)
    n = 0
    for t in topics:
        if state.starts[t + 1] - state.starts[t] >= 2:
            shared[n] = t
            n += 1
    first = np.zeros(state.sizes.size, dtype=np.int64)
    end = np.zeros(state.sizes.size, dtype=np.int64)
    last = -1  # the last topic in which something moved
    for _ in range(MAX_ITERATION_COUNT):
        for i in range(n):
            if i == last:
                return
            if balance_topic(shared[i], state, first, end) > 0 or last == -1:
                last = i


@inner
def balance_topic(t, state, first, end):
    """Move partitions of one topic from its most to its least loaded subscribers: how many.

    ``first``, ``end``: scratch, int64[members].
    """
    sizes = state.sizes
    subscribers = state.members[state.starts[t] : state.starts[t + 1]]
    least, most = bounds(subscribers, sizes)
    if most - least <= 1:
        return 0
    by_owner = group_by_owner(t, state, subscribers, first, end)
    balancer = new_balancer(t, state)
    moved = 0
    while not is_balanced(balancer):
        giver = next_most_loaded(balancer, sizes)
        while giver != -1 and end[giver] <= first[giver]:
            exclude_most_loaded(balancer)
            giver = next_most_loaded(balancer, sizes)
        if giver == -1:
            break
        end[giver] -= 1
        partition = by_owner[end[giver]]
        taker = next_least_loaded(balancer, sizes)
        if is_balanced(balancer):
            break
        move(state, t, partition, taker)
        moved += 1
    return moved


@inner
def group_by_owner(t, state, subscribers, first, end):
    """A topic's partitions by owner and number; member i owns those from first[i] to end[i]."""
    start = state.first[t]
    owner = state.owner[start : state.first[t + 1]]
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
        by_owner[end[owner[p]]] = start + p
        end[owner[p]] += 1
    return by_owner


@leaf
def move(state, t, partition, member):
    """Give a partition of topic t to a member; whoever owned it loses it."""
    before = state.owner[partition]
    if state.log.shape[0] > 0:
        entry = state.log[state.moves[0]]
        entry[0], entry[1], entry[2] = code(t, partition - state.first[t]), before, member
        state.moves[0] += 1
    if before >= 0:
        state.sizes[before] -= 1
        for k in range(state.doubles.shape[0]):
            if state.doubles[k, 0] == partition and state.doubles[k, 1] == before:
                state.doubles[k, 1] = -1
    state.owner[partition] = member
    state.sizes[member] += 1


@inner
def owned(topics, state):
    """(owners, codes) of the result: who owns each partition, and who else still holds it."""
    total = state.doubles.shape[0]
    for t in topics:
        total += state.first[t + 1] - state.first[t]
    owners = np.empty(total, dtype=np.int64)
    codes = np.empty(total, dtype=np.int64)
    n = 0
    for t in topics:
        for p in range(state.first[t + 1] - state.first[t]):
            at = state.first[t] + p
            owners[n] = state.owner[at]
            codes[n] = code(t, p)
            n += 1
            for k in range(state.doubles.shape[0]):
                if state.doubles[k, 0] == at:
                    m = state.doubles[k, 1]
                    if m >= 0 and m != state.owner[at] and not twice(state.doubles, k):
                        owners[n] = m
                        codes[n] = code(t, p)
                        n += 1
    return owners[:n], codes[:n]


@leaf
def twice(doubles, k):
    """Whether an earlier row says the same."""
    for i in range(k):
        if doubles[i, 0] == doubles[k, 0] and doubles[i, 1] == doubles[k, 1]:
            return True
    return False


# The balancer: subscribers of one topic, sorted by load, with a range of the least loaded that
# grows to the right and a range of the most loaded that grows to the left.


class Balancer(NamedTuple):
    """``sorted``: the members by (size, number); ``at``: one :data:`RANGES`."""

    sorted: np.ndarray
    at: np.ndarray


FIELDS = "least_end least_count least_next most_start most_end most_count most_next"
RANGES = np.dtype([(name, np.int64) for name in FIELDS.split()])
"""The least loaded are ``sorted[:least_end]``, the most loaded ``sorted[most_start:most_end]``;
``count``: how many partitions these have; ``next``: who is named next."""


@leaf
def bounds(members, sizes):
    """(smallest, largest) size of some members."""
    least = most = sizes[members[0]]
    for i in members:
        least = min(least, sizes[i])
        most = max(most, sizes[i])
    return least, most


@inner
def new_balancer(t, state):
    """The balancer of a topic's subscribers."""
    members = state.members[state.starts[t] : state.starts[t + 1]]
    least, most = bounds(members, state.sizes)
    ranges = np.zeros(1, dtype=RANGES)
    at = ranges[0]
    at["least_count"], at["most_count"] = least - 1, most + 1
    at["most_start"] = at["most_end"] = members.size
    at["most_next"] = members.size - 1
    return Balancer(by_size(members, state.sizes, least, most), ranges)


@inner
def by_size(members, sizes, least, most):
    """The members sorted by size, equal ones in their order."""
    if most == least:
        return members.copy()
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
    if at["least_next"] >= at["least_end"]:
        at["least_count"] += 1
        while (
            at["least_end"] < members.size and sizes[members[at["least_end"]]] == at["least_count"]
        ):
            at["least_end"] += 1
        at["least_next"] = 0
    at["least_next"] += 1
    return members[at["least_next"] - 1]


@leaf
def next_most_loaded(balancer, sizes):
    """The member that may give up the next partition; -1 if nobody can."""
    members, at = balancer.sorted, balancer.at[0]
    if at["most_next"] < at["most_start"]:
        if at["most_end"] <= at["most_start"] and at["most_start"] > 0:
            at["most_count"] = sizes[members[at["most_start"] - 1]]
        else:
            at["most_count"] -= 1
        while at["most_start"] > 0 and sizes[members[at["most_start"] - 1]] == at["most_count"]:
            at["most_start"] -= 1
        at["most_next"] = at["most_end"] - 1
    if at["most_next"] < 0:
        return -1
    at["most_next"] -= 1
    return members[at["most_next"] + 1]


@leaf
def exclude_most_loaded(balancer):
    """The member just named has nothing to give up and leaves the range."""
    members, at = balancer.sorted, balancer.at[0]
    i, last = at["most_next"] + 1, at["most_end"] - 1
    members[i], members[last] = members[last], members[i]
    at["most_end"] = last


@leaf
def is_balanced(balancer):
    """Whether the ranges differ by one at the most."""
    return balancer.at[0]["most_count"] - balancer.at[0]["least_count"] <= 1
