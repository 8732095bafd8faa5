"""The order in which Java walks a HashMap or HashSet, from the hash codes of its keys.

Sources: ``java.util.HashMap`` and ``HashSet`` as JDK 17 runs them (newer ones make the tables of
copied maps smaller). Maps with crowded slots are in :mod:`assignlab.jvm.tree_bins`.
"""

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.jvm import tree_bins
from assignlab.jvm.names import MASK, signed
from assignlab.jvm.tree_bins import ALL

NOTHING = np.empty(0, dtype=np.int64)


@leaf
def spread(h):
    """``HashMap.hash``: folds the high half of a hash code into the low half (Java's int)."""
    h = np.int64(h)
    return signed(h ^ ((h & MASK) >> 16))


@leaf
def table_size(count, capacity):
    """Slots of a HashMap, built with ``capacity`` slots, after ``count`` puts (load factor 3/4)."""
    size = capacity
    while count > size * 3 // 4:
        size *= 2
    return size


@leaf
def table_size_for(n):
    """Initial slots of ``new HashMap(n)`` and ``new HashSet(n)``: the next power of two.

    >>> [table_size_for(n) for n in (0, 1, 3, 16, 17)]
    [1, 1, 4, 16, 32]
    """
    slots = 1
    while slots < n:
        slots *= 2
    return slots


@leaf
def collection_capacity(n):
    """Initial slots of ``new HashSet(collection)`` with n elements (JDK 17).

    ``new HashSet()`` and ``addAll`` instead start with 16 and grow as they are filled.

    >>> [collection_capacity(n) for n in (0, 11, 12)]
    [16, 16, 32]
    """
    slots = 16
    while slots < int(np.float32(n) / np.float32(0.75)) + 1:
        slots *= 2
    return slots


def hash_map_order(
    hashes: np.ndarray,
    capacity: int = 16,
    rank: np.ndarray | None = None,
    newest_first: bool = False,
    called_again: bool = False,
) -> np.ndarray:
    """The order in which a ``HashMap`` or ``HashSet`` walks its keys: int64[n], positions in ``hashes``.

    ``hashes``: int32[n], hash codes of n distinct keys in order of insertion; ``capacity``: slots
    of the table when it was made (:func:`table_size_for`, :func:`collection_capacity`); ``rank``:
    int64[n] position of every key in ``compareTo`` order, None for keys that are not Comparable.

    The keys came by ``put``, ``putIfAbsent``, ``add``, ``Collectors.toSet`` or ``toMap`` of two
    functions, which append to a slot; or, ``newest_first``, by ``computeIfAbsent``, ``compute``,
    ``merge``, ``Collectors.groupingBy`` or ``toMap`` with a merge function, which put a new key
    in front. These also grow the table only at their next call: ``called_again`` tells whether
    they were called once more, for a known key, after the last new one.
    """
    ranks = NOTHING if rank is None else rank
    return walk_map(hashes, capacity, ranks, newest_first, called_again)[0]


@njit
def walk_map(hashes, capacity, rank, newest_first, called_again):
    """:func:`hash_map_order` inside of compiled steps, and whether Java fixes that order.

    ``rank``: empty if keys are not Comparable. Returns (order int64[n]: slot by slot; bool: False
    if a crowded slot was ordered by identity hash codes, so that Java itself may walk otherwise).
    """
    spreads = spread_all(hashes)
    n = spreads.size
    if was_crowded(spreads, capacity, 7 if newest_first else 8):
        put, removed = 0 if newest_first else n, np.empty(0, dtype=np.int64)
        return tree_bins.walk(spreads, rank, capacity, put, called_again, removed, ALL)[:2]
    late = 1 if newest_first and not called_again and n > 0 else 0
    return walk_lists(spreads, table_size(n - late, capacity), newest_first), True


@njit
def walk_first(hashes, wanted, rank):
    """At least the ``wanted`` first keys of :func:`walk_map` of a ``HashSet``, and whether Java fixes
    their order.

    Slots that come later are left out where that saves work: where a slot was crowded.
    """
    put, slots = hashes.size, table_size(hashes.size, 16)
    if slots <= tree_bins.MIN_TREEIFY_CAPACITY:  # or more, where slots are crowded
        return walk_map(hashes, 16, rank, False, False)
    spreads = spread_all(hashes)
    if not was_crowded(spreads, 16, 8):
        return walk_lists(spreads, slots, False), True
    held = np.zeros(slots, dtype=np.int64)
    for h in spreads:
        held[h & (slots - 1)] += 1
    bins = 0
    while bins < slots and (bins < tree_bins.MIN_TREEIFY_CAPACITY or wanted > 0):
        wanted -= held[bins]
        bins += 1
    removed = np.empty(0, dtype=np.int64)
    return tree_bins.walk(spreads, rank, 16, put, False, removed, bins)[:2]


@inner
def has_room(hashes, slots, limit):
    """Whether keys, in whatever order they come into a table of so many slots, neither make it grow nor
    crowd a slot, which may hold ``limit`` before the next one comes."""
    if table_size(hashes.size, slots) > slots:
        return False
    held = np.zeros(slots, dtype=np.uint8)
    for h in hashes:
        slot = spread(h) & (slots - 1)
        if held[slot] == limit:
            return False
        held[slot] += np.uint8(1)
    return True


@njit
def walk_map_without(hashes, removed, capacity, rank):
    """:func:`walk_map` of a map whose keys were put and then in part removed.

    ``removed``: int64[n], positions in ``hashes`` in the order in which they were removed; in a
    tree a removal turns the order of those that stay. The order has only the positions of these.
    """
    spreads = spread_all(hashes)
    if was_crowded(spreads, capacity, 8):
        return tree_bins.walk(spreads, rank, capacity, spreads.size, False, removed, ALL)[:2]
    order = walk_lists(spreads, table_size(spreads.size, capacity), False)
    stays = np.ones(order.size, dtype=np.bool_)
    stays[removed] = False
    return order[stays[order]], True


def hash_map_slots(hashes: np.ndarray, capacity: int = 16) -> int:
    """Slots of a ``HashMap`` or ``HashSet`` into which these keys were put; it keeps them when the
    keys are removed. A slot that gets crowded doubles a small table before it is full.

    >>> [hash_map_slots(hashes) for hashes in (np.arange(10), np.arange(10) % 2, np.ones(10))]
    [16, 16, 64]
    """
    spreads = spread_all(hashes)
    if was_crowded(spreads, capacity, 8):
        walked = tree_bins.walk(spreads, NOTHING, capacity, spreads.size, False, NOTHING, ALL)
        return int(walked[2])
    return int(table_size(spreads.size, capacity))


@njit
def spread_all(hashes):
    """:func:`spread` of every hash code: int64[n]."""
    out = np.empty(hashes.size, dtype=np.int64)
    for i in range(hashes.size):
        out[i] = spread(hashes[i])
    return out


@njit
def was_crowded(spreads, capacity, limit):
    """Whether a slot held more than ``limit`` keys at any time while the table grew."""
    n = spreads.size
    if n <= limit:
        return False
    size = capacity
    while True:
        held = np.zeros(size, dtype=np.uint8)
        present = min(n, size * 3 // 4 + 1)
        for i in range(present):
            slot = spreads[i] & (size - 1)
            if held[slot] == limit:
                return True
            held[slot] += np.uint8(1)
        if present == n:
            return False
        size *= 2


@inner
def walk_lists(spreads, size, newest_first):
    """Walk a table of ``size`` slots in which no slot was ever crowded: int64[n].

    Slot by slot, inside a slot by insertion: a resize splits slots and keeps their order.
    """
    n = spreads.size
    start = np.zeros(size + 1, dtype=np.int64)
    for i in range(n):
        start[(spreads[i] & (size - 1)) + 1] += 1
    for slot in range(size):
        start[slot + 1] += start[slot]
    order = np.empty(n, dtype=np.int64)
    for k in range(n):
        i = n - 1 - k if newest_first else k
        slot = spreads[i] & (size - 1)
        order[start[slot]] = i
        start[slot] += 1
    return order
