"""Several integer arrays in one.

Handing an array to a compiled function costs as much as assigning ten partitions, and a strategy
wants a dozen that only depend on names and subscriptions. So these travel in one array, made once
for each set of names, and are views of it inside.
"""

from collections.abc import Sequence

import numpy as np

from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner


def pack(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """One int64 array: where each of the ``arrays`` begins, where the last ends, and all of them.

    ``arrays``: one-dimensional ones of integers.
    """
    places = [len(arrays) + 1]
    for array in arrays:
        places.append(places[-1] + array.size)
    return np.concatenate((places, *arrays))


@inner
def room_for(sizes):
    """Packed arrays of these ``sizes``, a tuple, that compiled code fills :func:`part` by part."""
    begin = len(sizes) + 1
    size = begin
    for each in sizes:
        size += each
    packed = np.empty(size, dtype=np.int64)
    for i in range(len(sizes)):
        packed[i] = begin
        begin += sizes[i]
    packed[len(sizes)] = begin
    return packed


@inner
def packed(arrays):
    """:func:`pack` for a tuple of int64 arrays, in compiled code."""
    size = len(arrays) + 1
    for array in arrays:
        size += array.size
    one = np.empty(size, dtype=np.int64)
    begin, i = len(arrays) + 1, 0
    for array in arrays:
        one[i] = begin
        copy_into(one, begin, array)
        begin += array.size
        i += 1
    one[i] = begin
    return one


@inner
def part(packed, i):
    """The i-th of the packed arrays, a view."""
    return packed[packed[i] : packed[i + 1]]
