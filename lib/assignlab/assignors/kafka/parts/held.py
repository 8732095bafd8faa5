"""What every member holds while the general sticky algorithm moves partitions."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.claims import (
    NOBODY,
)
from assignlab.compiled import inner
from assignlab.group.assignment import topic_of

OWNER, ENTRY = 0, 1
PARTITION, MEMBER = 0, 1
DEAD = -1


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


@inner
def topic_of_number(shape, phantoms, x):
    total = shape.codes.size
    return topic_of(shape.codes[x] if x < total else phantoms[x - total])


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


@inner
def copy_of_lists(held):
    """The lists as they are, to go back to."""
    used = held.used[0]
    return Held(
        held.size.copy(), held.where.copy(), held.log[:used].copy(), held.used.copy(),
        held.copies.copy(),
    )  # fmt: skip
