"""What every member holds while the general sticky algorithm moves partitions."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.claims import NOBODY
from assignlab.assignors.parts.holdings import record
from assignlab.compiled import inner, leaf
from assignlab.group.assignment import topic_of

DEAD = -1

PARTITION = record("owner", "entry", of=np.int32)
"""Who has a partition, ``NOBODY`` if nobody has, and the entry of the log where it stands."""

ENTRY = record("partition", "member", of=np.int32)
"""One append: which partition went to the end of whose list; ``DEAD`` once it was removed."""


class Held(NamedTuple):
    """The members' lists while they change, as one log of appends.

    ``size``: int64[members], how long the lists are. ``partitions``: PARTITION[partitions +
    phantoms]. ``log``: ENTRY[room]; ``used``: int64[1], its end. ``copies``: int64[room], where a
    partition may be in several lists, or twice in one (see ``unassigned_partitions`` and
    ``settle_claims_one_by_one``): the entry before this one for the same partition, -1 for none;
    ``partitions`` has the last. Empty where nothing is held twice.
    """

    size: np.ndarray
    partitions: np.ndarray
    log: np.ndarray
    used: np.ndarray
    copies: np.ndarray


@inner
def empty_lists(members, numbers, room, several):
    """Nobody holds anything. ``several``: whether something may be held more than once."""
    held = Held(
        np.zeros(members, dtype=np.int64),
        np.empty(numbers, PARTITION),
        np.empty(room, ENTRY),
        np.zeros(1, dtype=np.int64),
        np.empty(room if several else 0, dtype=np.int64),
    )
    hold_nothing(held.partitions)
    return held


@leaf
def hold_nothing(partitions):
    """Nobody owns any partition, none stands in a list."""
    for x in range(partitions.size):
        partitions[x].owner = NOBODY
        partitions[x].entry = -1


@leaf
def append(held, x, m):
    """Partition ``x`` goes to the end of the list of ``m``, who owns it from then on."""
    if held.used[0] == held.log.size:
        close_up(held)
    enter(held, x, m, held.used[0])
    held.used[0] += 1
    held.partitions[x].owner = m
    held.size[m] += 1


@leaf
def enter(held, x, m, e):
    """Write an append into entry ``e`` of the log."""
    held.log[e].partition = x
    held.log[e].member = m
    if held.copies.size > 0:
        held.copies[e] = held.partitions[x].entry
    held.partitions[x].entry = e


@leaf
def remove(held, x):
    """Take the first copy of ``x`` out of its owner's list, if there is one."""
    m = held.partitions[x].owner
    if held.copies.size > 0:
        remove_copy(held, x, m)
    else:
        held.log[held.partitions[x].entry].member = DEAD
        held.size[m] -= 1


@leaf
def remove_copy(held, x, m):
    """:func:`remove` where ``x`` may be held more than once, but not by ``m``."""
    first = later = after = -1
    e = held.partitions[x].entry
    while e >= 0:
        if held.log[e].member == m:
            first = e
            later = after
        after = e
        e = held.copies[e]
    if first < 0:
        return
    if later < 0:
        held.partitions[x].entry = held.copies[first]
    else:
        held.copies[later] = held.copies[first]
    held.log[first].member = DEAD
    held.size[m] -= 1


@leaf
def remove_all(held, x):
    """Take every copy of ``x`` out of its owner's list."""
    m = held.partitions[x].owner
    e = held.partitions[x].entry
    while e >= 0:
        if held.log[e].member == m:
            held.log[e].member = DEAD
            held.size[m] -= 1
        e = held.copies[e] if held.copies.size > 0 else -1


@leaf
def holds(held, m, x):
    """Whether ``x`` is in the list of member ``m``."""
    if held.copies.size == 0:
        return held.partitions[x].owner == m
    e = held.partitions[x].entry
    while e >= 0 and held.log[e].member != m:
        e = held.copies[e]
    return e >= 0


@leaf
def close_up(held):
    """Throw the dead entries out of the log."""
    if held.copies.size > 0:
        for x in range(held.partitions.size):
            held.partitions[x].entry = -1
    end = 0
    for e in range(held.used[0]):
        if held.log[e].member != DEAD:
            enter(held, held.log[e].partition, held.log[e].member, end)
            end += 1
    held.used[0] = end


@inner
def lists_of(shape, phantoms, held):
    """The lists as (offsets int64[members + 1], codes int64[n])."""
    members = held.size.size
    offsets = np.zeros(members + 1, dtype=np.int64)
    for m in range(members):
        offsets[m + 1] = offsets[m] + held.size[m]
    lists = np.empty(offsets[members], dtype=np.int64)
    fill_lists(shape, phantoms, held, offsets[:-1].copy(), lists)
    return offsets, lists


@leaf
def fill_lists(shape, phantoms, held, fill, lists):
    """Write every member's partitions one after the other, from ``fill`` on, int64[members]."""
    total = shape.codes.size
    for e in range(held.used[0]):
        m = held.log[e].member
        if m != DEAD:
            x = held.log[e].partition
            lists[fill[m]] = shape.codes[x] if x < total else phantoms[x - total]
            fill[m] += 1


@leaf
def topic_of_number(shape, phantoms, x):
    """The topic of a partition's number; those behind the last are the phantoms."""
    total = shape.codes.size
    return topic_of(shape.codes[x] if x < total else phantoms[x - total])
