"""The sticky assignment for different subscriptions: keep, assign what is left, then balance.

Members keep what they own and may still have. Every other partition, topics with the fewest
subscribers first, goes to its least loaded subscriber. Then partition after partition is looked at
again and moved where a subscriber has at least two fewer, until nothing moves.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder`` of kafka-clients 4.4.0; functions are
named after its methods.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.movements import (
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.kafka.sticky_claims import (
    NOBODY,
    claimed_generation,
    phantom_number,
    shape_of,
)
from assignlab.assignors.kafka.racks import NO_RACK, racks_mismatch
from assignlab.compiled import njit
from assignlab.group import Group
from assignlab.jvm import signed, topic_partition_hashes

DONE = 0
BALANCED = -1
NULL_POINTER = 1
NO_ELEMENT = 2

DEAD = -1
RANK_BITS = 31
NOT_SEATED = np.int64(2**62)


class Potential(NamedTuple):
    """Who may have what.

    ``topics``: int64[n], by (number of subscribers, name); the subscribers of topic t are
    ``members[starts[t]:starts[t + 1]]``, by member id; ``rank``: int64[members] position by member
    id; ``kind``: int64[members], the subscription; ``may``: bool[subscriptions, topics];
    ``most``: int64[members], partitions that a member could have; ``hashes``: int32[topics].
    """

    topics: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    rank: np.ndarray
    kind: np.ndarray
    may: np.ndarray
    most: np.ndarray
    hashes: np.ndarray


def potential_of(group: Group) -> Potential:
    """Who may have what, in the orders of the original."""
    shape = group.prepared(shape_of)
    starts, members = group.prepared(orders.subscribers_by_id)
    topics = shape.topics
    may = group.prepared(subscriptions_by_topic)
    there = np.maximum(shape.partitions, 0)
    kind = group.members.subscription
    return Potential(
        topics[np.argsort(np.diff(starts)[topics], kind="stable")],
        starts,
        members,
        group.members.names.rank,
        kind,
        may,
        (may @ there)[kind],
        group.topics.names.hashes,
    )


class Held(NamedTuple):
    """The members' lists while they change, as one log of appends.

    ``size``: int64[members]; ``owner``: int32[partitions]; partition x stands at ``entry[x]`` of
    the log: ``log_partition``, ``log_member`` int64[...], member ``DEAD`` where it was removed;
    ``used``: int64[1], the end of the log. ``ghost``: int32[partitions] or empty, who holds an
    earlier copy of a partition that was assigned twice (see ``unassigned_partitions``), and
    ``ghost_entry`` where that copy stands.
    """

    size: np.ndarray
    owner: np.ndarray
    entry: np.ndarray
    log_partition: np.ndarray
    log_member: np.ndarray
    used: np.ndarray
    ghost: np.ndarray
    ghost_entry: np.ndarray


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
    shape, potential, racks, phantoms, holder, newest,
    offsets, codes, present, generation, sub_generation, cooperative,
):  # fmt: skip
    """Keep, assign, balance. Returns (status, offsets, codes of the lists, whether all certain).

    Certain is False where Java's order of a crowded hash bin decided.
    """
    held, revoked = assign_owned_partitions(
        shape, potential, racks, phantoms, holder, offsets, codes,
        present, generation, sub_generation, cooperative,
    )  # fmt: skip
    fresh = unassigned_partitions(shape, potential, phantoms, held)
    initializing = held.size.max() == 0
    seats = no_seats(held.size.size, racks)
    assign_unassigned(shape, potential, racks, held, fresh, seats)
    previous = previous_owners(
        shape, newest, offsets, codes, present, generation, sub_generation, cooperative
    )
    status, held, certain = balance(
        shape, potential, racks, phantoms, held, fresh, seats, previous, revoked, initializing
    )
    if cooperative:
        withhold_transferring(shape, held, offsets, codes)
    lists_offsets, lists = lists_of(shape, phantoms, held)
    return status, lists_offsets, lists, certain


# Keep


@njit
def assign_owned_partitions(
    shape, potential, racks, phantoms, holder, offsets, codes,
    present, generation, sub_generation, cooperative,
):  # fmt: skip
    """The lists with what members keep; whether something of existing topics had to be revoked."""
    members = potential.kind.size
    total = shape.codes.size
    kept = np.zeros(members, dtype=np.int64)
    revoked = False
    count = 0
    for x in range(holder.size):
        m = holder[x]
        if m < 0:
            continue
        topic = topic_of_number(shape, phantoms, x)
        if not potential.may[potential.kind[m], topic] or (
            racks.in_use and racks_mismatch(racks, m, x)
        ):
            holder[x] = NOBODY
            revoked = True
        else:
            count += 1
    held = empty_lists(members, holder.size, total, 2 * total + count + 64)
    if count == 0:
        return held, revoked
    for m in range(members):
        mine = claimed_generation(m, cooperative, present, generation, sub_generation)
        for k in range(offsets[m], offsets[m + 1]):
            x = number_of(codes[k], shape, phantoms)
            if x < 0 or holder[x] != m:
                continue
            if held.owner[x] == m:
                if mine <= max(sub_generation[m], -1):
                    continue
                remove(held, x)
            append(held, x, m)
    return held, revoked


@njit
def topic_of_number(shape, phantoms, x):
    total = shape.codes.size
    return (shape.codes[x] if x < total else phantoms.codes[x - total]) >> 32


@njit
def number_of(claimed, shape, phantoms):
    """The number of a claimed partition; -1 where its topic is not subscribed or has none."""
    topic = claimed >> 32
    if shape.base[topic] < 0:
        return -1
    partition = claimed - (topic << 32)
    if partition < shape.partitions[topic]:
        return shape.base[topic] + partition
    return phantom_number(claimed, shape, phantoms)


@njit
def unassigned_partitions(shape, potential, phantoms, held):
    """Which partitions are still to be assigned: bool[partitions].

    The original walks along all partitions and the kept ones in step. A kept phantom never turns
    up among all partitions, so behind its topic everything counts as unassigned, and what is kept
    there will be assigned a second time: the first copy becomes a ghost.
    """
    stuck = False
    last = np.zeros(shape.base.size, dtype=np.bool_)
    for i in range(phantoms.codes.size):
        if held.owner[shape.codes.size + i] >= 0:
            last[phantoms.codes[i] >> 32] = True
    fresh = np.zeros(shape.codes.size, dtype=np.bool_)
    for t in potential.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            fresh[x] = stuck or held.owner[x] < 0
            if stuck and held.owner[x] >= 0:
                held.ghost[x] = held.owner[x]
                held.ghost_entry[x] = held.entry[x]
                held.owner[x] = NOBODY
        stuck = stuck or last[t]
    return fresh


# The lists


@njit
def empty_lists(members, numbers, partitions, room):
    """Nobody holds anything. Room for ghosts only where there are phantoms."""
    ghosts = numbers if numbers > partitions else 0
    return Held(
        np.zeros(members, dtype=np.int64),
        np.full(numbers, NOBODY, dtype=np.int32),
        np.empty(numbers, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.empty(room, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.full(ghosts, NOBODY, dtype=np.int32),
        np.empty(ghosts, dtype=np.int64),
    )


@njit
def append(held, x, m):
    """Partition ``x`` goes to the end of the list of ``m``."""
    if held.used[0] == held.log_partition.size:
        close_up(held)
    e = held.used[0]
    held.used[0] = e + 1
    held.log_partition[e] = x
    held.log_member[e] = m
    held.entry[x] = e
    held.owner[x] = m
    held.size[m] += 1


@njit
def remove(held, x):
    """Take the first copy of ``x`` out of its owner's list."""
    m = held.owner[x]
    if held.ghost.size > 0 and held.ghost[x] == m:
        held.log_member[held.ghost_entry[x]] = DEAD
        held.ghost_entry[x] = held.entry[x]
    else:
        held.log_member[held.entry[x]] = DEAD
    held.size[m] -= 1


@njit
def close_up(held):
    """Throw the dead entries out of the log."""
    end = 0
    for e in range(held.used[0]):
        m = held.log_member[e]
        if m == DEAD:
            continue
        x = held.log_partition[e]
        held.log_partition[end] = x
        held.log_member[end] = m
        if held.entry[x] == e:
            held.entry[x] = end
        else:
            held.ghost_entry[x] = end
        end += 1
    held.used[0] = end


@njit
def lists_of(shape, phantoms, held):
    """The lists as (offsets int64[members + 1], codes int64[n])."""
    members = held.size.size
    offsets = np.zeros(members + 1, dtype=np.int64)
    for e in range(held.used[0]):
        if held.log_member[e] != DEAD:
            offsets[held.log_member[e] + 1] += 1
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    lists = np.empty(offsets[members], dtype=np.int64)
    total = shape.codes.size
    for e in range(held.used[0]):
        m = held.log_member[e]
        if m != DEAD:
            x = held.log_partition[e]
            lists[fill[m]] = shape.codes[x] if x < total else phantoms.codes[x - total]
            fill[m] += 1
    return offsets, lists


# The least loaded subscriber of a topic


@njit
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


@njit
def take_seats(potential, racks, held, fixed, topic, seats):
    """Seat the topic's subscribers, without rack first, then rack by rack.

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
            seats.tree[width + seat] = load_key(potential, held, m)
    for g in range(seats.group.size - 1, 0, -1):
        seats.group[g] = seats.group[g - 1]
    seats.group[0] = 0
    for i in range(width - 1, 0, -1):
        seats.tree[i] = min(seats.tree[2 * i], seats.tree[2 * i + 1])


@njit
def rack_of(racks, m):
    """0 for a member without rack, else 1 + its rack."""
    return racks.of_member[m] + 1 if racks.in_use else 0


@njit
def leave_seats(potential, topic, seats):
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        seats.seat[potential.members[k]] = -1


@njit
def load_key(potential, held, m):
    return held.size[m] << RANK_BITS | potential.rank[m]


@njit
def update_seat(potential, held, m, seats):
    """The size of member ``m`` has changed."""
    if seats.seat[m] < 0:
        return
    i = seats.width[0] + seats.seat[m]
    if seats.tree[i] == NOT_SEATED:
        return
    seats.tree[i] = load_key(potential, held, m)
    i >>= 1
    while i > 0:
        seats.tree[i] = min(seats.tree[2 * i], seats.tree[2 * i + 1])
        i >>= 1


@njit
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


@njit
def least_in_racks(racks, seats, x):
    """The least key among members whose rack does not speak against partition ``x``."""
    least = least_between(seats, 0, seats.group[1])
    for k in range(racks.starts[x], racks.starts[x + 1]):
        g = racks.racks[k] + 1
        least = min(least, least_between(seats, seats.group[g], seats.group[g + 1]))
    return least


@njit
def member_of_key(shape, key):
    return shape.by_id[key & ((1 << RANK_BITS) - 1)]


# Assign


@njit
def assign_unassigned(shape, potential, racks, held, fresh, seats):
    """First where racks match, then whatever is left."""
    if racks.in_use:
        maybe_assign(shape, potential, racks, held, fresh, seats, True)
    maybe_assign(shape, potential, racks, held, fresh, seats, False)


@njit
def maybe_assign(shape, potential, racks, held, fresh, seats, match_racks):
    """Give every unassigned partition to the least loaded subscriber of its topic."""
    nobody_fixed = np.empty(0, dtype=np.bool_)
    for t in potential.topics:
        seated = False
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            if not fresh[x] or held.owner[x] >= 0:
                continue
            if not seated:
                take_seats(potential, racks, held, nobody_fixed, t, seats)
                seated = True
            key = least_in_racks(racks, seats, x) if match_racks else seats.tree[1]
            if key != NOT_SEATED:
                m = member_of_key(shape, key)
                append(held, x, m)
                update_seat(potential, held, m, seats)
        if seated:
            leave_seats(potential, t, seats)


# Balance


@njit
def previous_owners(
    shape, newest, offsets, codes, present, generation, sub_generation, cooperative
):
    """``prevAssignment``: who claims a partition in the newest of the older generations.

    Returns int32[partitions], -1 for nobody; empty if no claim is older than the newest.
    """
    older = False
    for m in shape.by_hash:
        if offsets[m] < offsets[m + 1]:
            mine = claimed_generation(m, cooperative, present, generation, sub_generation)
            older = older or mine < newest
    if not older:
        return np.empty(0, dtype=np.int32)
    previous = np.full(shape.codes.size, NOBODY, dtype=np.int32)
    of_generation = np.empty(shape.codes.size, dtype=np.int64)
    for m in shape.by_hash:
        mine = claimed_generation(m, cooperative, present, generation, sub_generation)
        if mine >= newest:
            continue
        for k in range(offsets[m], offsets[m + 1]):
            topic = codes[k] >> 32
            partition = codes[k] - (topic << 32)
            if shape.base[topic] < 0 or partition >= shape.partitions[topic]:
                continue
            x = shape.base[topic] + partition
            if previous[x] == NOBODY or mine > of_generation[x]:
                previous[x] = m
                of_generation[x] = mine
    return previous


@njit
def balance(
    shape, potential, racks, phantoms, held, fresh, seats, previous, revoked, initializing
):
    """Move partitions until nothing moves; take it all back if that did not help.

    Returns (status, the lists, whether all certain).
    """
    fixed = fixed_members(shape, potential, phantoms, held)
    strange = is_strange(shape, potential, held, previous)
    if not strange and not anything_to_move(shape, potential, held):
        return DONE, held, True
    before = held if initializing else copy_of_lists(held)
    moves = no_movements(
        topic_partition_hashes(potential.hashes, shape.codes), held.size.size
    )
    status = DONE
    if not revoked:
        status, _ = perform_reassignments(
            shape, potential, racks, held, moves, fixed, fresh, seats, previous, strange
        )
    performed = False
    if status == DONE:
        status, performed = perform_reassignments(
            shape, potential, racks, held, moves, fixed, np.empty(0, dtype=np.bool_), seats,
            previous, strange,
        )  # fmt: skip
    certain = not moves.sets.tree[0]
    if performed and not initializing:
        if balance_score(held, fixed) >= balance_score(before, fixed):
            return status, before, certain
    return status, held, certain


@njit
def copy_of_lists(held):
    """The lists as they are, to go back to."""
    used = held.used[0]
    return Held(
        held.size.copy(),
        held.owner.copy(),
        held.entry,
        held.log_partition[:used].copy(),
        held.log_member[:used].copy(),
        held.used.copy(),
        held.ghost,
        held.ghost_entry,
    )


@njit
def fixed_members(shape, potential, phantoms, held):
    """Members that cannot take part: they hold all they could, and nobody else could have it."""
    fixed = np.zeros(held.size.size, dtype=np.bool_)
    any_full = False
    for m in range(fixed.size):
        fixed[m] = held.size[m] >= potential.most[m]
        any_full = any_full or fixed[m]
    if any_full:
        for e in range(held.used[0]):
            m = held.log_member[e]
            if m != DEAD and fixed[m]:
                t = topic_of_number(shape, phantoms, held.log_partition[e])
                if potential.starts[t + 1] - potential.starts[t] >= 2:
                    fixed[m] = False
    return fixed


@njit
def is_strange(shape, potential, held, previous):
    """Whether the original's ``isBalanced`` has to be asked at every step.

    As a rule a group is balanced exactly when no partition has a subscriber with at least two
    fewer than its owner, so there is no need to ask. That fails where a partition may go back to
    a member that no longer subscribes to it, and where a partition is held twice.
    """
    if held.ghost.size > 0:
        return True
    for x in range(previous.size):
        m = previous[x]
        if m != NOBODY and not potential.may[potential.kind[m], shape.codes[x] >> 32]:
            return True
    return False


@njit
def anything_to_move(shape, potential, held):
    """Whether some partition has a subscriber with at least two fewer than its owner."""
    for t in potential.topics:
        if can_move(shape, potential, held, t):
            return True
    return False


@njit
def can_move(shape, potential, held, topic):
    """Whether some partition of the topic has a subscriber with at least two fewer."""
    least = NOT_SEATED
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        least = min(least, held.size[potential.members[k]])
    for x in range(shape.base[topic], shape.base[topic] + shape.partitions[topic]):
        if held.size[held.owner[x]] > least + 1:
            return True
    return False


@njit
def balance_score(held, fixed):
    """The differences in size of all pairs of members that take part, summed in a Java int."""
    sizes = np.sort(held.size[~fixed])
    score = 0
    for i in range(sizes.size):
        score += (2 * i + 1 - sizes.size) * sizes[i]
    return signed(score)


@njit
def perform_reassignments(
    shape, potential, racks, held, moves, fixed, only, seats, previous, strange
):
    """Look at partition after partition, again and again until nothing moves.

    ``only``: bool[partitions], the partitions to look at; empty for all.
    Returns (status, whether anything moved).
    """
    witness = np.full(2, -1, dtype=np.int64)
    performed = False
    modified = True
    while modified:
        modified = False
        for t in potential.topics:
            if potential.starts[t + 1] - potential.starts[t] < 2:
                continue
            if not strange and not can_move(shape, potential, held, t):
                continue
            take_seats(potential, racks, held, fixed, t, seats)
            status, moved = reassign_topic(
                shape, potential, racks, held, moves, fixed, only, seats, previous, strange,
                witness, t,
            )  # fmt: skip
            leave_seats(potential, t, seats)
            modified = modified or moved
            performed = performed or moved
            if status == BALANCED:
                break
            if status != DONE:
                return status, performed
    return DONE, performed


@njit
def reassign_topic(
    shape, potential, racks, held, moves, fixed, only, seats, previous, strange, witness, topic
):
    """Look at the partitions of one topic. Returns (status, whether anything moved)."""
    moved = False
    for x in range(shape.base[topic], shape.base[topic] + shape.partitions[topic]):
        if only.size > 0 and not only[x]:
            continue
        if strange:
            status = ask_whether_balanced(shape, potential, held, fixed, witness)
            if status != DONE:
                return status, moved
        owner = held.owner[x]
        if previous.size > 0 and previous[x] != NOBODY:
            if fixed[previous[x]]:
                return NULL_POINTER, moved
            if held.size[owner] > held.size[previous[x]] + 1:
                reassign_partition(potential, held, moves, seats, topic, x, previous[x])
                moved = True
                continue
        if strange:
            status = find_better(shape, potential, racks, held, fixed, topic, x)
            if status == NULL_POINTER:
                return status, moved
            if status == DONE:
                continue
        elif held.size[owner] <= (seats.tree[1] >> RANK_BITS) + 1:
            continue
        least = member_of_key(shape, seats.tree[1])
        reassign_partition(potential, held, moves, seats, topic, x, least)
        moved = True
    return DONE, moved


@njit
def reassign_partition(potential, held, moves, seats, topic, x, new):
    """Move ``x``, or one of its topic that had come the other way, to ``new``."""
    actual = the_actual_partition_to_be_moved(moves, x, topic, held.owner[x], new)
    old = held.owner[actual]
    move_partition(moves, actual, topic, old, new)
    remove(held, actual)
    append(held, actual, new)
    update_seat(potential, held, new, seats)
    update_seat(potential, held, old, seats)


# Strange cases, step by step as in the original


@njit
def ask_whether_balanced(shape, potential, held, fixed, witness):
    """The original's ``isBalanced``: DONE if not, BALANCED, or NO_ELEMENT if nobody takes part.

    ``witness``: (member, partition) that showed imbalance last time; mostly it still does.
    """
    if witness[0] >= 0 and shows_imbalance(shape, potential, held, witness[0], witness[1]):
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
            if fixed[m] or held.size[m] + 1 >= largest:
                continue
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if shows_imbalance(shape, potential, held, m, x):
                    witness[0] = m
                    witness[1] = x
                    return DONE
    return BALANCED


@njit
def shows_imbalance(shape, potential, held, m, x):
    """Whether ``x``, which member ``m`` may have, is held by one with at least two more."""
    if held.size[m] == potential.most[m] or held.owner[x] == m:
        return False
    if held.ghost.size > 0 and held.ghost[x] == m:
        return False
    return held.size[m] + 1 < held.size[last_holder(shape, held, x)]


@njit
def last_holder(shape, held, x):
    """Of two holders, the one that comes later in hash order."""
    owner = held.owner[x]
    if held.ghost.size == 0 or held.ghost[x] == NOBODY:
        return owner
    for m in shape.by_hash[::-1]:
        if m == owner or m == held.ghost[x]:
            return m
    return owner


@njit
def find_better(shape, potential, racks, held, fixed, topic, x):
    """BALANCED if a subscriber has at least two fewer than the owner of ``x``, else DONE.

    NULL_POINTER if the walk meets a member that does not take part first: members in the racks of
    ``x`` come first if its owner is in one of them.
    """
    owner = held.owner[x]
    if fixed[owner]:
        return NULL_POINTER
    in_rack = (
        racks.in_use
        and racks.of_member[owner] != NO_RACK
        and not racks_mismatch(racks, owner, x)
    )
    for only_in_racks in (True, False):
        if only_in_racks and not in_rack:
            continue
        for m in shape.by_hash:
            if not potential.may[potential.kind[m], topic]:
                continue
            if only_in_racks and (
                racks.of_member[m] == NO_RACK or racks_mismatch(racks, m, x)
            ):
                continue
            if fixed[m]:
                return NULL_POINTER
            if held.size[owner] > held.size[m] + 1:
                return BALANCED
    return DONE


# Cooperative


@njit
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
            if held.owner[x] == m:
                added[x] = False
            elif held.ghost.size == 0 or held.ghost[x] != m:
                revoked[x] = True
    for e in range(held.used[0]):
        x = held.log_partition[e]
        if (
            x < added.size
            and added[x]
            and revoked[x]
            and held.log_member[e] == held.owner[x]
        ):
            held.log_member[e] = DEAD


FAULTS = {
    NULL_POINTER: (
        "NullPointerException",
        "a partition is to go back to its previous owner, which takes no part in the balancing",
    ),
    NO_ELEMENT: ("NoSuchElementException", "no member takes part in the balancing"),
}
