"""The members in order of load: a tournament whose winner takes the next partition."""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf

RANK_BITS = 31
NOT_SEATED = np.int64(2**62)


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


@inner
def no_seats(members, racks):
    """Room for all members; nobody is seated."""
    width = 1
    while width < members:
        width *= 2
    return Seats(
        np.empty(2 * width, dtype=np.int64),
        np.full(members, -1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        np.zeros(racks.members.size + 2, dtype=np.int64),
    )


@leaf
def take_seats(potential, racks, held, fixed, topic, seats):
    """Seat the topic's subscribers, without rack first, then rack by rack.

    ``fixed``: bool[members], those not to be seated, or empty.
    """
    first, end = potential.starts[topic], potential.starts[topic + 1]
    width = 1
    while width < end - first:
        width *= 2
    seats.width[0] = width
    for i in range(width, 2 * width):
        seats.tree[i] = NOT_SEATED
    begin_groups(potential, racks, first, end, seats)
    for k in range(first, end):
        m = potential.members[k]
        g = rack_of(racks, m)
        seats.seat[m] = seats.group[g]
        seats.group[g] += 1
        if fixed.size == 0 or not fixed[m]:
            seats.tree[width + seats.seat[m]] = key_of(potential, held, m)
    for g in range(seats.group.size - 1, 0, -1):
        seats.group[g] = seats.group[g - 1]
    seats.group[0] = 0
    for i in range(width - 1, 0, -1):
        seats.tree[i] = min(seats.tree[2 * i], seats.tree[2 * i + 1])


@leaf
def begin_groups(potential, racks, first, end, seats):
    """Where the members without rack begin, and those of each rack."""
    for g in range(seats.group.size):
        seats.group[g] = 0
    for k in range(first, end):
        seats.group[rack_of(racks, potential.members[k]) + 1] += 1
    for g in range(seats.group.size - 1):
        seats.group[g + 1] += seats.group[g]


@leaf
def rack_of(racks, m):
    """0 for a member without rack, else 1 + its rack."""
    return racks.of_member[m] + 1 if racks.in_use else 0


@leaf
def key_of(potential, held, m):
    """The key of member ``m``: of two, the smaller has less, or equally much and the smaller id."""
    return held.size[m] << RANK_BITS | potential.rank[m]


@leaf
def member_of_key(shape, key):
    """The member whose place by id the key ends with."""
    return shape.by_id[key & ((1 << RANK_BITS) - 1)]


@leaf
def leave_seats(potential, topic, seats):
    """Nobody who may have the topic has a seat any more."""
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        seats.seat[potential.members[k]] = -1


@leaf
def update_seat(potential, held, m, seats):
    """The size of member ``m`` has changed."""
    i = seats.width[0] + seats.seat[m]
    if seats.seat[m] < 0 or seats.tree[i] == NOT_SEATED:
        return
    seats.tree[i] = key_of(potential, held, m)
    while i > 1:
        least = min(seats.tree[i], seats.tree[i ^ 1])
        i >>= 1
        if seats.tree[i] == least:
            return
        seats.tree[i] = least


@leaf
def least_loaded(seats):
    """The least key; ``NOT_SEATED`` if nobody is."""
    return seats.tree[1]


@leaf
def fewest(seats):
    """How many partitions the least loaded has."""
    return seats.tree[1] >> RANK_BITS


@leaf
def least_in_racks(racks, seats, x):
    """The least key among members whose rack does not speak against partition ``x``."""
    least = least_between(seats, 0, seats.group[1])
    kind = racks.kind[x]
    for k in range(racks.starts[kind], racks.starts[kind + 1]):
        g = racks.racks[k] + 1
        least = min(least, least_between(seats, seats.group[g], seats.group[g + 1]))
    return least


@leaf
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
