"""``java.util.HashSet`` of small numbers, many at once, in compiled code."""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf
from assignlab.jvm import tree_bins
from assignlab.jvm.hash_map import spread


class HashSets(NamedTuple):
    """Many ``HashSet``s over numbered elements, each element in one set at the most.

    Made for the sticky assignors' records of moved partitions, where only the first element of the
    walk matters. Inside a slot that is the oldest element, so a set is a chain in order of
    insertion plus the size of its table, which never shrinks. Plain arrays, for compiled code: of
    millions of sets and elements that there may be, only those that are used are ever written.

    ``hash``: int[elements], hash codes; ``next``, ``prev``: int32[elements], -1 at the ends;
    ``first``, ``last``, ``size``, ``capacity``: int32[sets], as :func:`set_new` begins them;
    ``tree``: bool[1], set once a slot of a set became a tree, after which the walk is no longer
    certain.
    """

    hash: np.ndarray
    next: np.ndarray
    prev: np.ndarray
    first: np.ndarray
    last: np.ndarray
    size: np.ndarray
    capacity: np.ndarray
    tree: np.ndarray


@inner
def hash_sets(hashes, sets):
    """Room for so many ``sets`` over elements with these hash codes, int[elements]."""
    return HashSets(
        hashes,
        np.empty(hashes.size, dtype=np.int32),
        np.empty(hashes.size, dtype=np.int32),
        np.empty(sets, dtype=np.int32),
        np.empty(sets, dtype=np.int32),
        np.empty(sets, dtype=np.int32),
        np.empty(sets, dtype=np.int32),
        np.zeros(1, dtype=np.bool_),
    )


@leaf
def set_new(sets, s):
    """Set ``s`` is a new, empty one, with 16 slots."""
    sets.first[s] = sets.last[s] = -1
    sets.size[s] = 0
    sets.capacity[s] = 16


@leaf
def set_add(sets, s, element):
    """``add``: put an element, which is in no set, into set ``s``."""
    if sets.size[s] >= tree_bins.TREEIFY_THRESHOLD:
        _make_room(sets, s, spread(sets.hash[element]))
    last = sets.last[s]
    if last == -1:
        sets.first[s] = element
    else:
        sets.next[last] = element
    sets.prev[element] = last
    sets.next[element] = -1
    sets.last[s] = element
    sets.size[s] += 1
    if sets.size[s] > sets.capacity[s] * 3 // 4:
        sets.capacity[s] *= 2


@leaf
def _make_room(sets, s, h):
    """A ninth element in a slot doubles a small table and makes a tree in a larger one."""
    mask = sets.capacity[s] - 1
    held = 0
    e = sets.first[s]
    while e != -1:
        if (spread(sets.hash[e]) ^ h) & mask == 0:
            held += 1
        e = sets.next[e]
    if held >= tree_bins.TREEIFY_THRESHOLD:
        if sets.capacity[s] < tree_bins.MIN_TREEIFY_CAPACITY:
            sets.capacity[s] *= 2
        else:
            sets.tree[0] = True


@leaf
def set_remove(sets, s, element):
    """``remove``: take an element out of set ``s``; the table keeps its size."""
    before, after = sets.prev[element], sets.next[element]
    if before == -1:
        sets.first[s] = after
    else:
        sets.next[before] = after
    if after == -1:
        sets.last[s] = before
    else:
        sets.prev[after] = before
    sets.size[s] -= 1


@leaf
def set_first(sets, s):
    """``iterator().next()``: the oldest element of the lowest occupied slot; -1 if empty."""
    mask = sets.capacity[s] - 1
    found = -1
    lowest = sets.capacity[s]
    e = sets.first[s]
    while e != -1:
        slot = spread(sets.hash[e]) & mask
        if slot < lowest:
            lowest = slot
            found = e
        e = sets.next[e]
    return found
