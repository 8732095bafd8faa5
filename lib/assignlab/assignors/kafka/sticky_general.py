"""The sticky assignment for different subscriptions: keep, assign what is left, then balance.

Members keep what they own and may still have. Every other partition, topics with the fewest
subscribers first, goes to its least loaded subscriber. Then partition after partition is looked at
again and moved where a subscriber has at least two fewer, until nothing moves.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder`` of kafka-clients 4.4.0; functions are
named after its methods. What was different in releases since 3.0 is in
:mod:`assignlab.assignors.kafka.sticky_releases`.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.movements import (
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.kafka.packed import pack, part
from assignlab.assignors.kafka.racks import NO_RACK, racks_mismatch, unpack_racks
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.kafka.sticky_claims import (
    NO_GENERATION,
    NOBODY,
    claimed_generations,
    number_of_phantom,
    numbers_of_claims,
    settle_claims,
    settle_claims_one_by_one,
    unpack_shape,
)
from assignlab.assignors.kafka.sticky_releases import BALANCE_OF_ONE, OWNERS_REMEMBERED
from assignlab.compiled import inner, njit
from assignlab.group import Group
from assignlab.jvm import signed, topic_partition_hashes

DONE = 0
BALANCED = -1
BETTER = -2
NULL_POINTER = 1
NO_ELEMENT = 2
PHANTOMS = 3

REVOKED, STRANGE, INITIALIZING = 0, 1, 2

OWNER, ENTRY = 0, 1
PARTITION, MEMBER = 0, 1
DEAD = -1
RANK_BITS = 31
NOT_SEATED = np.int64(2**62)


class Potential(NamedTuple):
    """Who may have what.

    ``topics``: int64[n], by (number of subscribers, name); the subscribers of topic t are
    ``members[starts[t]:starts[t + 1]]``, by member id; ``rank``: int64[members] position by member
    id; ``kind``: int64[members], the subscription; ``most``: int64[members], partitions that a
    member could have; ``hashes``: int64[topics], hash codes; ``may``: bool[subscriptions, topics].
    """

    topics: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    rank: np.ndarray
    kind: np.ndarray
    most: np.ndarray
    hashes: np.ndarray
    may: np.ndarray


def potential_of(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Who may have what, in the orders of the original: all of it packed, and ``may``."""
    members, topics = group.members, group.topics
    return pack_potential(
        group.prepared(orders.topics_by_name), *group.prepared(orders.subscribers_by_id),
        members.names.rank, members.subscription, members.offsets, members.topics,
        topics.partitions, topics.names.hashes,
    ), group.prepared(subscriptions_by_topic)  # fmt: skip


@njit
def pack_potential(
    by_name, starts, members, rank, subscription, offsets, subscribed, partitions, hashes
):
    """All of :class:`Potential` but ``may``, packed."""
    first = np.zeros(rank.size + 2, dtype=np.int64)
    for t in by_name:
        first[starts[t + 1] - starts[t] + 1] += 1
    for n in range(rank.size + 1):
        first[n + 1] += first[n]
    topics = np.empty(by_name.size, dtype=np.int64)
    for t in by_name:
        n = starts[t + 1] - starts[t]
        topics[first[n]] = t
        first[n] += 1
    most = np.zeros(rank.size, dtype=np.int64)
    of_kind = np.zeros(offsets.size - 1, dtype=np.int64)
    for s in range(of_kind.size):
        for k in range(offsets[s], offsets[s + 1]):
            of_kind[s] += max(partitions[subscribed[k]], 0)
    for m in range(rank.size):
        most[m] = of_kind[subscription[m]]
    return pack((topics, starts, members, rank, subscription, most, hashes.astype(np.int64)))


@inner
def unpack_potential(packed, may):
    """The :class:`Potential` in a packed one."""
    return Potential(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4), part(packed, 5), part(packed, 6), may,
    )  # fmt: skip


class Held(NamedTuple):
    """The members' lists while they change, as one log of appends.

    ``size``: int64[members]. ``where``: int64[partitions, 2], the ``OWNER`` of a partition and the
    ``ENTRY`` of the log where it stands. ``log``: int64[room, 2], ``PARTITION`` and ``MEMBER``, the
    latter ``DEAD`` where a partition was removed; ``used``: int64[1], the end of the log.
    ``copies``: int64[room], where a partition may be in several lists, or twice in one (see
    ``unassigned_partitions`` and ``settle_claims_one_by_one``): the entry before this one for the
    same partition, -1 for none; ``where`` has the last. Empty where nothing is held twice.
    """

    size: np.ndarray
    where: np.ndarray
    log: np.ndarray
    used: np.ndarray
    copies: np.ndarray


class Seats(NamedTuple):
    """The subscribers of one topic as a tournament tree: who has least, by (size, member id).

    ``tree``: int64[...], node i above 2i and 2i + 1, keys ``size << RANK_BITS | rank``, leaves from
    ``width[0]`` on; ``seat``: int64[members], -1 for those not seated; ``group``: int64[racks + 2],
    first seat of the members without rack and of each rack.
    """

    tree: np.ndarray
    seat: np.ndarray
    width: np.ndarray
    group: np.ndarray


@njit
def build(
    shape, potential, may, racks, phantoms,
    offsets, codes, present, generation, sub_generation, cooperative, release,
):  # fmt: skip
    """Settle the claims, keep, assign the rest, balance.

    ``shape``, ``potential``, ``racks``: packed; ``phantoms``: int64[n], ``codes`` claimed of
    partitions beyond the end of their topic; the claims as in ``assignlab.group.Claims``;
    ``release``: one of ``sticky_releases``.

    Returns (status, offsets, codes of the lists, whether all is certain: False where Java's walk
    through a crowded hash bin decided).
    """
    shape = unpack_shape(shape)
    potential = unpack_potential(potential, may)
    racks = unpack_racks(racks)
    facts = np.zeros(3, dtype=np.bool_)
    mine, newest = claimed_generations(cooperative, present, generation, sub_generation)
    if release >= OWNERS_REMEMBERED:
        holder, _, _, unknown = settle_claims(shape, phantoms, offsets, codes, mine, sub_generation)
        if unknown:
            return PHANTOMS, offsets, codes, True
        held = assign_owned_partitions(
            shape, potential, racks, phantoms, holder, offsets, codes, mine, sub_generation, facts
        )
    else:
        numbers, unknown = numbers_of_claims(shape, phantoms, codes)
        if unknown:
            return PHANTOMS, offsets, codes, True
        keeps, _ = settle_claims_one_by_one(
            shape.by_hash, numbers, shape.codes.size + phantoms.size, offsets,
            mine, newest, sub_generation, release,
        )  # fmt: skip
        held = assign_kept_claims(
            shape, potential, racks, phantoms.size, numbers, offsets, codes, keeps, facts
        )
    fresh = unassigned_partitions(shape, potential, phantoms, held)
    facts[INITIALIZING] = held.size.max() == 0
    maybe_assign(shape, potential, racks, held, fresh)
    previous = previous_owners(shape, offsets, codes, mine, newest)
    facts[STRANGE] = is_strange(shape, potential, held, previous)
    settled = not facts[STRANGE]
    for t in potential.topics:
        settled = settled and not can_move(shape, potential, held, t)
    status = DONE
    certain = True
    if not settled:
        status, held, certain = balance(
            shape, potential, racks, phantoms, held, fresh, previous, facts, release
        )
    if cooperative:
        withhold_transferring(shape, held, offsets, codes)
    list_offsets, lists = lists_of(shape, phantoms, held)
    return status, list_offsets, lists, certain


@inner
def balance(shape, potential, racks, phantoms, held, fresh, previous, facts, release):
    """Move partitions until nothing moves; take it all back if that did not help.

    First only what was just assigned is moved, unless something had to be revoked anyway.
    Returns (status, the lists, whether all is certain).
    """
    fixed = fixed_members(shape, potential, phantoms, held)
    before = held
    if not facts[INITIALIZING]:
        before = copy_of_lists(held)
    moves = no_movements(topic_partition_hashes(potential.hashes, shape.codes), held.size.size)
    performed = False
    status = DONE
    for everything in range(1 if facts[REVOKED] else 0, 2):
        only = fresh if everything == 0 else fresh[:0]
        status, performed = perform_reassignments(
            shape, potential, racks, held, moves, fixed, only, previous, facts[STRANGE], release
        )
        if status != DONE:
            break
    if performed and not facts[INITIALIZING]:
        if balance_score(held.size, fixed) >= balance_score(before.size, fixed):
            held = before
    return status, held, not moves.sets.tree[0]


# Keep


@inner
def assign_owned_partitions(
    shape, potential, racks, phantoms, holder, offsets, codes, mine, sub_generation, facts
):
    """The lists with what members keep. Notes in ``facts`` whether anything had to be revoked."""
    total = shape.codes.size
    count = revoke_unsubscribed(shape, potential, racks, phantoms, holder, facts)
    room = 2 * total + count + 64
    held = empty_lists(potential.kind.size, holder.size, room, phantoms.size > 0)
    base, partitions = shape.base, shape.partitions
    size, where, log = held.size, held.where, held.log
    end = 0
    for m in range(size.size if count > 0 else 0):
        for k in range(offsets[m], offsets[m + 1]):
            topic = codes[k] >> 32
            if base[topic] < 0:
                continue
            partition = codes[k] - (topic << 32)
            x = base[topic] + partition
            if partition >= partitions[topic]:
                x = number_of_phantom(codes[k], phantoms, total)
            if holder[x] != m:
                continue
            if where[x, OWNER] == m:
                if mine[m] <= max(sub_generation[m], NO_GENERATION):
                    continue
                log[where[x, ENTRY], MEMBER] = DEAD
                size[m] -= 1
            log[end, PARTITION] = x
            log[end, MEMBER] = m
            where[x, OWNER] = m
            where[x, ENTRY] = end
            size[m] += 1
            end += 1
    held.copies[:] = -1
    held.used[0] = end
    return held


@inner
def assign_kept_claims(shape, potential, racks, phantoms, numbers, offsets, codes, keeps, facts):
    """:func:`assign_owned_partitions` before 3.5.2: claim by claim, two may keep a partition.

    Its owner is the last member in hash order that keeps it, even if that one, no longer
    subscribed, loses it at once while another still holds it. ``phantoms``: how many there are;
    ``numbers``: int64[claims].
    """
    total = shape.codes.size + phantoms
    owner = np.full(total, NOBODY, dtype=np.int64)
    count = 0
    twice = False
    for m in shape.by_owned:
        for k in range(offsets[m], offsets[m + 1]):
            if keeps[k]:
                twice = twice or owner[numbers[k]] != NOBODY
                owner[numbers[k]] = m
                count += 1
    room = 2 * shape.codes.size + count + 64
    held = empty_lists(potential.kind.size, total, room, twice or phantoms > 0)
    where, log, copies = held.where, held.log, held.copies
    several = copies.size > 0
    end = 0
    for m in range(held.size.size):
        for k in range(offsets[m], offsets[m + 1]):
            if not keeps[k]:
                continue
            x = numbers[k]
            may = potential.may[potential.kind[m], codes[k] >> 32]
            if not may or (racks.in_use and racks_mismatch(racks, m, x)):
                facts[REVOKED] = True
                continue
            if several:
                copies[end] = where[x, ENTRY]
            log[end, PARTITION] = x
            log[end, MEMBER] = m
            where[x, OWNER] = owner[x]
            where[x, ENTRY] = end
            held.size[m] += 1
            end += 1
    held.used[0] = end
    return held


@inner
def revoke_unsubscribed(shape, potential, racks, phantoms, holder, facts):
    """Release what its holder no longer subscribes to, or has in another rack. Counts the rest."""
    may, kind = potential.may, potential.kind
    count = 0
    for t in shape.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            m = holder[x]
            if m >= 0:
                if may[kind[m], t] and not (racks.in_use and racks_mismatch(racks, m, x)):
                    count += 1
                else:
                    holder[x] = NOBODY
                    facts[REVOKED] = True
    for x in range(shape.codes.size, holder.size):
        m = holder[x]
        if m >= 0:
            topic = phantoms[x - shape.codes.size] >> 32
            if may[kind[m], topic] and not (racks.in_use and racks_mismatch(racks, m, x)):
                count += 1
            else:
                holder[x] = NOBODY
                facts[REVOKED] = True
    return count


@inner
def topic_of_number(shape, phantoms, x):
    total = shape.codes.size
    return (shape.codes[x] if x < total else phantoms[x - total]) >> 32


@inner
def unassigned_partitions(shape, potential, phantoms, held):
    """Which partitions are still to be assigned: bool[partitions].

    The original walks along all partitions and the kept ones in step. A kept phantom never turns
    up among all partitions, so behind its topic everything counts as unassigned, and what is kept
    there will be assigned a second time. The same goes for what stands behind a partition that is
    kept by two.
    """
    stuck = False
    last = np.zeros(shape.base.size, dtype=np.bool_)
    for i in range(phantoms.size):
        if held.where[shape.codes.size + i, OWNER] >= 0:
            last[phantoms[i] >> 32] = True
    fresh = np.empty(shape.codes.size, dtype=np.bool_)
    where, copies = held.where, held.copies
    several = copies.size > 0
    for t in potential.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            if stuck:
                where[x, OWNER] = NOBODY
            fresh[x] = where[x, OWNER] < 0
            if several and not fresh[x]:
                stuck = copies[where[x, ENTRY]] >= 0
        stuck = stuck or last[t]
    return fresh


# The lists


@inner
def empty_lists(members, numbers, room, several):
    """Nobody holds anything. ``several``: whether something may be held more than once."""
    return Held(
        np.zeros(members, dtype=np.int64),
        np.full((numbers, 2), NOBODY, dtype=np.int64),
        np.empty((room, 2), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.empty(room if several else 0, dtype=np.int64),
    )


@inner
def append(held, x, m):
    """Partition ``x`` goes to the end of the list of ``m``."""
    if held.used[0] == held.log.shape[0]:
        close_up(held)
    e = held.used[0]
    held.used[0] = e + 1
    held.log[e, PARTITION] = x
    held.log[e, MEMBER] = m
    if held.copies.size > 0:
        held.copies[e] = held.where[x, ENTRY]
    held.where[x, ENTRY] = e
    held.where[x, OWNER] = m
    held.size[m] += 1


@inner
def remove(held, x):
    """Take the first copy of ``x`` out of its owner's list, if there is one."""
    m = held.where[x, OWNER]
    if held.copies.size > 0:
        remove_copy(held, x, m)
    else:
        held.log[held.where[x, ENTRY], MEMBER] = DEAD
        held.size[m] -= 1


@inner
def remove_copy(held, x, m):
    """:func:`remove` where ``x`` may be held more than once, but not by ``m``."""
    first = later = after = -1
    e = held.where[x, ENTRY]
    while e >= 0:
        if held.log[e, MEMBER] == m:
            first = e
            later = after
        after = e
        e = held.copies[e]
    if first < 0:
        return
    if later < 0:
        held.where[x, ENTRY] = held.copies[first]
    else:
        held.copies[later] = held.copies[first]
    held.log[first, MEMBER] = DEAD
    held.size[m] -= 1


@inner
def holds(held, m, x):
    """Whether ``x`` is in the list of member ``m``."""
    if held.copies.size == 0:
        return held.where[x, OWNER] == m
    e = held.where[x, ENTRY]
    while e >= 0 and held.log[e, MEMBER] != m:
        e = held.copies[e]
    return e >= 0


@inner
def close_up(held):
    """Throw the dead entries out of the log."""
    several = held.copies.size > 0
    if several:
        held.where[:, ENTRY] = -1
    end = 0
    for e in range(held.used[0]):
        m = held.log[e, MEMBER]
        if m == DEAD:
            continue
        x = held.log[e, PARTITION]
        held.log[end, PARTITION] = x
        held.log[end, MEMBER] = m
        if several:
            held.copies[end] = held.where[x, ENTRY]
        held.where[x, ENTRY] = end
        end += 1
    held.used[0] = end


@inner
def lists_of(shape, phantoms, held):
    """The lists as (offsets int64[members + 1], codes int64[n])."""
    members = held.size.size
    offsets = np.zeros(members + 1, dtype=np.int64)
    end = held.used[0]
    for e in range(end):
        if held.log[e, MEMBER] != DEAD:
            offsets[held.log[e, MEMBER] + 1] += 1
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    lists = np.empty(offsets[members], dtype=np.int64)
    total = shape.codes.size
    for e in range(end):
        m = held.log[e, MEMBER]
        if m != DEAD:
            x = held.log[e, PARTITION]
            lists[fill[m]] = shape.codes[x] if x < total else phantoms[x - total]
            fill[m] += 1
    return offsets, lists


# The least loaded subscriber of a topic


@inner
def no_seats(members, racks):
    width = 1
    while width < members:
        width *= 2
    return Seats(
        np.empty(2 * width, dtype=np.int64),
        np.full(members, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(racks.members.size + 2, dtype=np.int64),
    )


@inner
def take_seats(potential, racks, held, fixed, topic, seats):
    """Seat the topic's subscribers, without rack first, then rack by rack. Returns the width.

    ``fixed``: bool[members], those not to be seated, or empty.
    """
    first, end = potential.starts[topic], potential.starts[topic + 1]
    seats.group[:] = 0
    for k in range(first, end):
        seats.group[rack_of(racks, potential.members[k]) + 1] += 1
    for g in range(seats.group.size - 1):
        seats.group[g + 1] += seats.group[g]
    width = 1
    while width < end - first:
        width *= 2
    seats.width[0] = width
    seats.tree[width : 2 * width] = NOT_SEATED
    for k in range(first, end):
        m = potential.members[k]
        g = rack_of(racks, m)
        seat = seats.group[g]
        seats.group[g] += 1
        seats.seat[m] = seat
        if fixed.size == 0 or not fixed[m]:
            seats.tree[width + seat] = held.size[m] << RANK_BITS | potential.rank[m]
    for g in range(seats.group.size - 1, 0, -1):
        seats.group[g] = seats.group[g - 1]
    seats.group[0] = 0
    for i in range(width - 1, 0, -1):
        seats.tree[i] = min(seats.tree[2 * i], seats.tree[2 * i + 1])
    return width


@inner
def rack_of(racks, m):
    """0 for a member without rack, else 1 + its rack."""
    return racks.of_member[m] + 1 if racks.in_use else 0


@inner
def leave_seats(potential, topic, seats):
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        seats.seat[potential.members[k]] = -1


@inner
def update_seat(potential, held, m, seats):
    """The size of member ``m`` has changed."""
    if seats.seat[m] < 0:
        return
    i = seats.width[0] + seats.seat[m]
    if seats.tree[i] != NOT_SEATED:
        update_tree(seats.tree, i, held.size[m] << RANK_BITS | potential.rank[m])


@inner
def update_tree(tree, i, key):
    tree[i] = key
    while i > 1:
        least = min(tree[i], tree[i ^ 1])
        i >>= 1
        if tree[i] == least:
            return
        tree[i] = least


@inner
def least_between(seats, first, end):
    """The least key on seats ``first`` to ``end`` (exclusive)."""
    least = NOT_SEATED
    low = first + seats.width[0]
    high = end + seats.width[0]
    while low < high:
        if low & 1:
            least = min(least, seats.tree[low])
            low += 1
        if high & 1:
            high -= 1
            least = min(least, seats.tree[high])
        low >>= 1
        high >>= 1
    return least


@inner
def least_in_racks(racks, seats, x):
    """The least key among members whose rack does not speak against partition ``x``."""
    least = least_between(seats, 0, seats.group[1])
    for k in range(racks.starts[x], racks.starts[x + 1]):
        g = racks.racks[k] + 1
        least = min(least, least_between(seats, seats.group[g], seats.group[g + 1]))
    return least


@inner
def member_of_key(shape, key):
    return shape.by_id[key & ((1 << RANK_BITS) - 1)]


# Assign


@inner
def maybe_assign(shape, potential, racks, held, fresh):
    """Give every unassigned partition to the least loaded subscriber of its topic.

    First only where racks match, then whatever is left.
    """
    size, where, log, copies = held.size, held.where, held.log, held.copies
    several = copies.size > 0
    seats = no_seats(size.size, racks)
    tree, seat, rank = seats.tree, seats.seat, potential.rank
    nobody_fixed = np.empty(0, dtype=np.bool_)
    end = held.used[0]
    for final in range(0 if racks.in_use else 1, 2):
        for t in potential.topics:
            width = 0
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if not fresh[x] or where[x, OWNER] >= 0:
                    continue
                if width == 0:
                    width = take_seats(potential, racks, held, nobody_fixed, t, seats)
                key = tree[1] if final == 1 else least_in_racks(racks, seats, x)
                if key == NOT_SEATED:
                    continue
                m = shape.by_id[key & ((1 << RANK_BITS) - 1)]
                log[end, PARTITION] = x
                log[end, MEMBER] = m
                if several:
                    copies[end] = where[x, ENTRY]
                where[x, OWNER] = m
                where[x, ENTRY] = end
                size[m] += 1
                end += 1
                update_tree(tree, width + seat[m], size[m] << RANK_BITS | rank[m])
            if width > 0:
                leave_seats(potential, t, seats)
    held.used[0] = end


# Balance


@inner
def previous_owners(shape, offsets, codes, mine, newest):
    """``prevAssignment``: who claims a partition in the newest of the older generations.

    Returns int32[partitions], -1 for nobody; empty if no claim is older than the newest.
    """
    older = False
    for m in shape.by_hash:
        if offsets[m] < offsets[m + 1]:
            older = older or mine[m] < newest
    if not older:
        return np.empty(0, dtype=np.int64)
    previous = np.full(shape.codes.size, NOBODY, dtype=np.int64)
    of_generation = np.empty(shape.codes.size, dtype=np.int64)
    for m in shape.by_hash:
        if mine[m] >= newest:
            continue
        for k in range(offsets[m], offsets[m + 1]):
            topic = codes[k] >> 32
            partition = codes[k] - (topic << 32)
            if shape.base[topic] < 0 or partition >= shape.partitions[topic]:
                continue
            x = shape.base[topic] + partition
            if previous[x] == NOBODY or mine[m] > of_generation[x]:
                previous[x] = m
                of_generation[x] = mine[m]
    return previous


@inner
def copy_of_lists(held):
    """The lists as they are, to go back to."""
    used = held.used[0]
    return Held(
        held.size.copy(), held.where.copy(), held.log[:used].copy(), held.used.copy(),
        held.copies.copy(),
    )  # fmt: skip


@inner
def fixed_members(shape, potential, phantoms, held):
    """Members that cannot take part: they hold all they could, and nobody else could have it."""
    fixed = np.zeros(held.size.size, dtype=np.bool_)
    any_full = False
    for m in range(fixed.size):
        fixed[m] = held.size[m] >= potential.most[m]
        any_full = any_full or fixed[m]
    if any_full:
        for e in range(held.used[0]):
            m = held.log[e, MEMBER]
            if m != DEAD and fixed[m]:
                t = topic_of_number(shape, phantoms, held.log[e, PARTITION])
                if potential.starts[t + 1] - potential.starts[t] >= 2:
                    fixed[m] = False
    return fixed


@inner
def is_strange(shape, potential, held, previous):
    """Whether the original's ``isBalanced`` has to be asked at every step.

    As a rule a group is balanced exactly when no partition has a subscriber with at least two
    fewer than its owner, so there is no need to ask. That fails where a partition may go back to
    a member that no longer subscribes to it, and where a partition is held twice.
    """
    if held.copies.size > 0:
        return True
    for x in range(previous.size):
        m = previous[x]
        if m != NOBODY and not potential.may[potential.kind[m], shape.codes[x] >> 32]:
            return True
    return False


@inner
def can_move(shape, potential, held, topic):
    """Whether some partition of the topic has a subscriber with at least two fewer."""
    size, where, members = held.size, held.where, potential.members
    least = NOT_SEATED
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        least = min(least, size[members[k]])
    for x in range(shape.base[topic], shape.base[topic] + shape.partitions[topic]):
        if size[where[x, OWNER]] > least + 1:
            return True
    return False


@inner
def balance_score(size, fixed):
    """The differences in size of all pairs of members that take part, summed in a Java int."""
    count = np.zeros(size.max() + 1, dtype=np.int64)
    for m in range(size.size):
        if not fixed[m]:
            count[size[m]] += 1
    score = 0
    members = 0
    partitions = 0
    for n in range(count.size):
        score += count[n] * (members * n - partitions)
        members += count[n]
        partitions += count[n] * n
    return signed(score)


@inner
def perform_reassignments(
    shape, potential, racks, held, moves, fixed, only, previous, strange, release
):
    """Look at partition after partition, again and again until nothing moves.

    ``only``: bool[partitions], the partitions to look at; empty for all.
    Returns (status, whether anything moved).
    """
    seats = no_seats(held.size.size, racks)
    size, where, tree = held.size, held.where, seats.tree
    plain = not strange and previous.size == 0
    witness = np.full(2, -1, dtype=np.int64)
    performed = False
    modified = True
    status = DONE
    while modified:
        modified = False
        for t in potential.topics:
            if potential.starts[t + 1] - potential.starts[t] < 2:
                continue
            if not strange and not can_move(shape, potential, held, t):
                continue
            take_seats(potential, racks, held, fixed, t, seats)
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if only.size > 0 and not only[x]:
                    continue
                if plain and size[where[x, OWNER]] <= (tree[1] >> RANK_BITS) + 1:
                    continue  # as better_member would say, but a call costs more than all else
                if strange:
                    status = ask_whether_balanced(shape, potential, held, fixed, witness, release)
                    if status != DONE:
                        break
                new, status = better_member(
                    shape, potential, racks, held, fixed, seats, previous, strange, t, x
                )
                if status != DONE:
                    break
                if new != NOBODY:
                    reassign_partition(potential, held, moves, seats, t, x, new)
                    modified = True
            leave_seats(potential, t, seats)
            if status != DONE:
                break
        performed = performed or modified
        if status != BALANCED and status != DONE:
            return status, performed
        status = DONE
    return status, performed


@inner
def better_member(shape, potential, racks, held, fixed, seats, previous, strange, topic, x):
    """Who should have partition ``x`` instead of its owner: (member or ``NOBODY``, status).

    Its previous owner comes first, then the least loaded subscriber.
    """
    size = held.size[held.where[x, OWNER]]
    if strange and fixed[held.where[x, OWNER]]:
        return NOBODY, NULL_POINTER
    if previous.size > 0 and previous[x] != NOBODY:
        if fixed[previous[x]]:
            return NOBODY, NULL_POINTER
        if size > held.size[previous[x]] + 1:
            return previous[x], DONE
    if strange:
        status = find_better(shape, potential, racks, held, fixed, topic, x)
        if status != BETTER:
            return NOBODY, status
    elif size <= (seats.tree[1] >> RANK_BITS) + 1:
        return NOBODY, DONE
    return member_of_key(shape, seats.tree[1]), DONE


@inner
def reassign_partition(potential, held, moves, seats, topic, x, new):
    """Move ``x``, or one of its topic that had come the other way, to ``new``."""
    actual = the_actual_partition_to_be_moved(moves, x, topic, held.where[x, OWNER], new)
    old = held.where[actual, OWNER]
    move_partition(moves, actual, topic, old, new)
    remove(held, actual)
    append(held, actual, new)
    update_seat(potential, held, new, seats)
    update_seat(potential, held, old, seats)


# Strange cases, step by step as in the original


@inner
def ask_whether_balanced(shape, potential, held, fixed, witness, release):
    """The original's ``isBalanced``: DONE if not, BALANCED, or NO_ELEMENT if nobody takes part.

    ``witness``: (member, partition) that showed imbalance last time; mostly it still does. A
    difference of one, which counts before 3.5.2, is no witness: it does not count while no members
    differ by more.
    """
    harmless = 1 if release >= BALANCE_OF_ONE else 0
    if witness[0] >= 0 and shows_imbalance(shape, potential, held, witness[0], witness[1], 1):
        return DONE
    fewest = NOT_SEATED
    most = -1
    for m in range(fixed.size):
        if not fixed[m]:
            fewest = min(fewest, held.size[m])
            most = max(most, held.size[m])
    if most < 0:
        return NO_ELEMENT
    if fewest >= most - 1:
        return BALANCED
    for t in potential.topics:
        largest = 0
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            largest = max(largest, held.size[last_holder(shape, held, x)])
        for k in range(potential.starts[t], potential.starts[t + 1]):
            m = potential.members[k]
            if fixed[m] or held.size[m] + harmless >= largest:
                continue
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if shows_imbalance(shape, potential, held, m, x, harmless):
                    witness[0] = m
                    witness[1] = x
                    return DONE
    return BALANCED


@inner
def shows_imbalance(shape, potential, held, m, x, harmless):
    """Whether ``x``, which member ``m`` may have, is held by one that has more.

    ``harmless``: how many more do not count.
    """
    if held.size[m] == potential.most[m] or holds(held, m, x):
        return False
    return held.size[m] + harmless < held.size[last_holder(shape, held, x)]


@inner
def last_holder(shape, held, x):
    """Of several holders, the one that comes last in hash order."""
    if held.copies.size == 0 or held.copies[held.where[x, ENTRY]] < 0:
        return held.log[held.where[x, ENTRY], MEMBER]
    for m in shape.by_owned[::-1]:
        if holds(held, m, x):
            return m
    return NOBODY


@inner
def find_better(shape, potential, racks, held, fixed, topic, x):
    """BETTER if a subscriber has at least two fewer than the owner of ``x``, else DONE.

    NULL_POINTER if the walk meets a member that does not take part first: members in the racks of
    ``x`` come first if its owner is in one of them.
    """
    owner = held.where[x, OWNER]
    if fixed[owner]:
        return NULL_POINTER
    first = 1
    if racks.in_use and racks.of_member[owner] != NO_RACK and not racks_mismatch(racks, owner, x):
        first = 0
    for everybody in range(first, 2):
        for m in shape.by_hash:
            if not potential.may[potential.kind[m], topic]:
                continue
            if everybody == 0 and (racks.of_member[m] == NO_RACK or racks_mismatch(racks, m, x)):
                continue
            if fixed[m]:
                return NULL_POINTER
            if held.size[owner] > held.size[m] + 1:
                return BETTER
    return DONE


# Cooperative


@inner
def withhold_transferring(shape, held, offsets, codes):
    """Take out what is added to one member and revoked from another: it must be given up first."""
    added = np.ones(shape.codes.size, dtype=np.bool_)
    revoked = np.zeros(shape.codes.size, dtype=np.bool_)
    for m in range(held.size.size):
        for k in range(offsets[m], offsets[m + 1]):
            topic = codes[k] >> 32
            partition = codes[k] - (topic << 32)
            if shape.base[topic] < 0 or partition >= shape.partitions[topic]:
                continue
            x = shape.base[topic] + partition
            if held.where[x, OWNER] == m:
                added[x] = False
            elif not holds(held, m, x):
                revoked[x] = True
    for e in range(held.used[0]):
        x = held.log[e, PARTITION]
        if (
            x < added.size
            and added[x]
            and revoked[x]
            and held.log[e, MEMBER] == held.where[x, OWNER]
        ):
            held.log[e, MEMBER] = DEAD


FAULTS = {
    NULL_POINTER: (
        "NullPointerException",
        "a partition is to go back to its previous owner, which takes no part in the balancing",
    ),
    NO_ELEMENT: ("NoSuchElementException", "no member takes part in the balancing"),
}
