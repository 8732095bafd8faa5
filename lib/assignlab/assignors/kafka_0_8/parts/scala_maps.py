"""The order in which Scala 2.11's maps walk their keys.

Kafka 0.8 passes a consumer's topics through several of them, and the last one decides between
partitions of equal hash code. Sources: ``scala.collection.immutable.HashMap``,
``scala.collection.mutable.HashMap`` and ``HashTable`` of scala-library 2.11.5.
"""

import numpy as np

from assignlab.compiled import inner, leaf, njit

MASK = (1 << 32) - 1
INSERTION_ORDERED = 4
TRIE_BITS = 5
INITIAL_SIZE = 16
ROTATION = 4  # bits of the initial size; a growing table keeps it


@njit
def immutable_order(hashes):
    """Positions of n distinct keys, by hash code in order of insertion, as a ``Map`` walks them.

    Up to four keys keep their order; more go into a trie, five bits of the mixed hash code a level,
    where keys of equal hash code keep the order of insertion.
    """
    n = hashes.size
    if n <= INSERTION_ORDERED:
        return np.arange(n)
    path = np.zeros(n, dtype=np.int64)
    for i in range(n):
        mixed = mix(np.int64(hashes[i]))
        for level in range(7):
            path[i] = path[i] << TRIE_BITS | mixed >> (TRIE_BITS * level) & 31
    return np.argsort(path, kind="mergesort")


@leaf
def mix(h):
    """``immutable.HashMap.improve``, on the low 32 bits."""
    h = h & MASK
    h = h + (~(h << 9) & MASK) & MASK
    h ^= h >> 14
    h = h + (h << 4) & MASK
    return h ^ h >> 10


@njit
def mutable_order(hashes):
    """Positions of n distinct keys, by hash code in order of insertion, as a ``mutable.HashMap``
    walks them: from the last slot down, the newest key of a slot first; a resize turns slots round.
    """
    n = hashes.size
    next_key = np.full(n, -1, dtype=np.int64)
    table = np.full(INITIAL_SIZE, -1, dtype=np.int64)
    for i in range(n):
        put(table, next_key, hashes, i)
        if i + 1 > table.size * 3 // 4:
            table = resize(table, next_key, hashes)
    order = np.empty(n, dtype=np.int64)
    k = 0
    for slot in range(table.size - 1, -1, -1):
        i = table[slot]
        while i != -1:
            order[k] = i
            k += 1
            i = next_key[i]
    return order


@leaf
def put(table, next_key, hashes, i):
    """Put key ``i`` in front of its slot."""
    slot = index(np.int64(hashes[i]), table.size)
    next_key[i] = table[slot]
    table[slot] = i


@inner
def resize(table, next_key, hashes):
    """Twice the slots, filled from the last old slot down."""
    doubled = np.full(2 * table.size, -1, dtype=np.int64)
    for slot in range(table.size - 1, -1, -1):
        i = table[slot]
        while i != -1:
            following = next_key[i]
            put(doubled, next_key, hashes, i)
            i = following
    return doubled


@leaf
def index(h, size):
    """``HashTable.index``: the top bits of the hash code, bytes swapped and rotated."""
    bits = 0
    while 1 << bits < size:
        bits += 1
    swapped = byte_swap(h)
    improved = (swapped >> ROTATION | swapped << (32 - ROTATION)) & MASK
    return improved >> (32 - bits)


@leaf
def byte_swap(h):
    """``scala.util.hashing.byteswap32``, on the low 32 bits."""
    h = low_product(h & MASK)
    h = (h & 0xFF) << 24 | (h & 0xFF00) << 8 | h >> 8 & 0xFF00 | h >> 24
    return low_product(h)


@leaf
def low_product(h):
    """The low 32 bits of ``h * 0x9e3775cd``, in halves that fit an int64."""
    return ((h >> 16) * 0x9E3775CD << 16) + (h & 0xFFFF) * 0x9E3775CD & MASK
