"""Slices in compiled code."""

import numpy as np

from assignlab.compiled import inner, leaf
from assignlab.group.assignment import same_list
from assignlab.jvm.hash_map import table_size_for

BITS, FACTOR = 2**47 - 1, 2**16 - 15
"""Of the hash codes of lists; their product is below 2**63."""


@leaf
def copy_into(target, at, source):
    """``target[at : at + source.size] = source``.

    Compiled, that statement brings in the text of its error, which takes three seconds to compile.
    """
    for k in range(source.size):
        target[at + k] = source[k]


@inner
def taken(values, at):
    """``values[at]``, which takes longer to compile and, of short arrays, to run."""
    out = np.empty(at.size, dtype=values.dtype)
    for k in range(at.size):
        out[k] = values[at[k]]
    return out


@leaf
def equal(values, others):
    """Whether both have the same values in the same order; ``np.array_equal`` compiles for longer."""
    if values.size != others.size:
        return False
    for k in range(values.size):
        if values[k] != others[k]:
            return False
    return True


@leaf
def first_slot(value, slots):
    """Where to look for a value first in a table of so many slots, a power of two."""
    hashed = (value & BITS) * FACTOR
    return (hashed ^ hashed >> 29) & (slots - 1)


@leaf
def first_from(ascending, least):
    """The place of the first value that is not below ``least``."""
    low, high = 0, ascending.size
    while low < high:
        middle = (low + high) // 2
        if ascending[middle] < least:
            low = middle + 1
        else:
            high = middle
    return low


@inner
def first_alike(kinds, offsets, values):
    """For every list the first of its kind with the same values: int64[lists].

    ``kinds``: int64[lists]; list i is ``values[offsets[i]:offsets[i + 1]]``, int64. A table of hash
    codes finds it, so that every value is read twice or three times.
    """
    slots = table_size_for(2 * kinds.size)
    table = np.full(slots, -1, dtype=np.int64)
    first = np.empty(kinds.size, dtype=np.int64)
    for i in range(kinds.size):
        hashed = kinds[i]
        for value in values[offsets[i] : offsets[i + 1]]:
            hashed = ((hashed ^ value) & BITS) * FACTOR
            hashed ^= hashed >> 29
        slot = hashed & (slots - 1)
        while table[slot] != -1 and not (
            kinds[table[slot]] == kinds[i] and same_list(offsets, values, table[slot], i)
        ):
            slot = (slot + 1) & (slots - 1)
        if table[slot] == -1:
            table[slot] = i
        first[i] = table[slot]
    return first
