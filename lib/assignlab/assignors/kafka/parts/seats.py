"""The members in order of load: tournaments whose winner takes the next partition.

The members of a kind, who subscribe to the same topics and are in the same rack, have a tree of
their own. The winners of the kinds that subscribe to a topic take their seats in one more.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.trees import NOT_SEATED, NUMBER_BITS, NUMBERS, play, replay, width_of
from assignlab.compiled import inner, leaf

KIND = record("rack", "seat", "aside")
"""The rack of a kind (:func:`rack_of`), the seat of its winner, -1 where it has none, and the fewest
partitions of a member that is set aside."""


class Seats(NamedTuple):
    """The subscribers of one topic as ``sortedCurrentSubscriptions`` has them, by (size, member id).

    Keys (:mod:`~assignlab.assignors.parts.trees`) end with a member's place by id. ``kinds``:
    int64[nodes], the trees of all kinds, whose places
    :class:`~assignlab.assignors.kafka.parts.eligible.Eligible` tells; ``roots``
    KIND[nodes], what belongs to a root. ``tree``: int64[...], the tree over the seats: node i above
    2i and 2i + 1, leaves from ``tree[0]`` on; ``group``: int64[racks + 2], first seat of the kinds
    without rack and of each rack.
    """

    kinds: np.ndarray
    roots: np.ndarray
    tree: np.ndarray
    group: np.ndarray


@inner
def no_seats(potential, racks, held):
    """The trees of all kinds; no topic is seated."""
    nodes, width = potential.nodes[0], width_of(potential.may.shape[0])
    seats = Seats(
        np.full(nodes, NOT_SEATED, dtype=np.int64),
        np.empty(nodes, KIND),
        np.empty(2 * width, dtype=np.int64),
        np.empty(racks.members.size + 2, dtype=np.int64),
    )
    for node in range(nodes):
        kind = seats.roots[node]
        kind.rack, kind.seat, kind.aside = 0, -1, NOT_SEATED
    for m in range(potential.kind.size):
        seats.roots[potential.tree[m] + 1].rack = rack_of(racks, m)
        change_key(potential, m, seats, key_of(potential, held, m))
    return seats


@leaf
def rack_of(racks, m):
    """0 for a member without rack, else 1 + its rack."""
    return racks.of_member[m] + 1 if racks.in_use else 0


@leaf
def key_of(potential, held, m):
    """The key of member ``m``: of two, the smaller has less, or equally much and the smaller id."""
    return held.size[m] << NUMBER_BITS | potential.rank[m]


@leaf
def member_of_key(shape, key):
    """The member whose place by id the key ends with."""
    return shape.by_id[key & NUMBERS]


@leaf
def change_key(potential, m, seats, key):
    """Member ``m`` has another key in the tree of its kind."""
    base = potential.tree[m]
    replay(seats.kinds, base, potential.leaf[m] - base, key)


@leaf
def set_aside(potential, held, fixed, seats):
    """Members that are ``fixed`` (bool[members]) leave their trees; no topic is seated."""
    for m in range(fixed.size):
        if fixed[m]:
            kind = seats.roots[potential.tree[m] + 1]
            kind.aside = min(kind.aside, held.size[m])
            change_key(potential, m, seats, NOT_SEATED)


@leaf
def take_seats(potential, topic, seats):
    """Seat the winners of the kinds that subscribe to the topic, without rack first, then rack by
    rack."""
    first, end = potential.root_starts[topic], potential.root_starts[topic + 1]
    width = seats.tree[0] = width_of(end - first)
    for i in range(width, 2 * width):
        seats.tree[i] = NOT_SEATED
    begin_groups(potential, first, end, seats)
    for k in range(first, end):
        root = potential.roots[k]
        kind = seats.roots[root]
        kind.seat = seats.group[kind.rack]
        seats.group[kind.rack] += 1
        seats.tree[width + kind.seat] = seats.kinds[root]
    for g in range(seats.group.size - 1, 0, -1):
        seats.group[g] = seats.group[g - 1]
    seats.group[0] = 0
    play(seats.tree, 0, width)


@leaf
def begin_groups(potential, first, end, seats):
    """Where the kinds without rack begin, and those of each rack."""
    for g in range(seats.group.size):
        seats.group[g] = 0
    for k in range(first, end):
        seats.group[seats.roots[potential.roots[k]].rack + 1] += 1
    for g in range(seats.group.size - 1):
        seats.group[g + 1] += seats.group[g]


@leaf
def leave_seats(potential, topic, seats):
    """No kind that may have the topic has a seat any more."""
    for k in range(potential.root_starts[topic], potential.root_starts[topic + 1]):
        seats.roots[potential.roots[k]].seat = -1


@leaf
def update_seat(potential, held, m, seats):
    """The size of member ``m`` has changed, and with it the winner of its kind; not so if it is set
    aside."""
    root, key = potential.tree[m] + 1, seats.kinds[potential.leaf[m]]
    if key == NOT_SEATED:
        return
    change_key(potential, m, seats, held.size[m] << NUMBER_BITS | key & NUMBERS)
    seat = seats.roots[root].seat
    if seat >= 0:
        replay(seats.tree, 0, seats.tree[0] + seat, seats.kinds[root])


@leaf
def least_loaded(seats):
    """The least key; ``NOT_SEATED`` if nobody is."""
    return seats.tree[1]


@leaf
def fewest(seats):
    """How many partitions the least loaded has."""
    return seats.tree[1] >> NUMBER_BITS


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
    low = first + seats.tree[0]
    high = end + seats.tree[0]
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
