"""The Java behaviours that decide ties: hash codes, UTF-16 order, the walk of a HashMap.

Names become small integer arrays here, once per set of names; strategies see only the arrays.
Sources: ``java.lang.String``, ``java.util.HashMap`` of JDK 8 to 21.
"""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from assignlab.compiled import njit


def utf16(name: str) -> bytes:
    """The UTF-16 code units of ``name``, big-endian: comparing them is ``String.compareTo``.

    >>> sorted(["\\uff21", "\\U0001f600"], key=utf16) == ["\\U0001f600", "\\uff21"]
    True
    """
    return name.encode("utf-16-be", "surrogatepass")


def string_hash(name: str) -> int:
    """``String.hashCode``: a signed 32-bit integer.

    >>> string_hash("Aa") == string_hash("BB") == 2112
    True
    """
    units = np.frombuffer(utf16(name), dtype=">u2")
    value = 0
    for unit in units.tolist():
        value = (31 * value + unit) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


@njit
def _hash_units(units, ends, out):
    start = 0
    for i in range(ends.size):
        h = np.uint32(0)
        for k in range(start, ends[i]):
            h = np.uint32(np.uint32(31) * h + np.uint32(units[k]))
        out[i] = np.int32(h)
        start = ends[i]


def string_hashes(names: Sequence[str]) -> np.ndarray:
    """``String.hashCode`` of every name: int32[n]."""
    encoded = [utf16(name) for name in names]
    ends = np.cumsum(np.array([len(e) // 2 for e in encoded], dtype=np.int64), dtype=np.int64)
    units = np.frombuffer(b"".join(encoded), dtype=">u2").astype(np.uint16)
    out = np.empty(len(encoded), dtype=np.int32)
    _hash_units(units, ends, out)
    return out


@njit
def spread(h):
    """``HashMap.hash``: folds the high half of a hash code into the low half (as unsigned)."""
    u = np.uint32(h)
    return np.uint32(u ^ (u >> np.uint32(16)))


@njit
def table_size(count, capacity):
    """Slots of a HashMap, built with ``capacity`` slots, after ``count`` puts (load factor 3/4)."""
    size = capacity
    while count > size * 3 // 4:
        size *= 2
    return size


@njit
def hash_map_order(hashes, capacity=16):
    """The order in which a ``HashMap`` walks keys that were put in the order given.

    ``hashes``: int32[n], hash codes of n distinct keys in order of insertion.
    Returns int64[n]: positions in ``hashes``, in the order of the walk: slot by slot, inside a slot
    by insertion (a resize splits a slot and keeps the order of both halves).
    """
    n = hashes.size
    size = table_size(n, capacity)
    mask = np.uint32(size - 1)
    start = np.zeros(size + 1, dtype=np.int64)
    for i in range(n):
        start[(spread(hashes[i]) & mask) + 1] += 1
    for slot in range(size):
        start[slot + 1] += start[slot]
    order = np.empty(n, dtype=np.int64)
    for i in range(n):
        slot = spread(hashes[i]) & mask
        order[start[slot]] = i
        start[slot] += 1
    return order


class Names:
    """Distinct names in a fixed order, with what Java makes of them, prepared once.

    ``names[i]`` is the name of index i; ``index`` maps back; ``hashes`` int32[n] are the
    ``String.hashCode``s; ``order`` int64[n] lists the indices in ``String.compareTo`` order and
    ``rank`` int64[n] is its inverse.
    """

    def __init__(self, names: Sequence[str]):
        self.names = tuple(names)

    def __len__(self):
        return len(self.names)

    def __iter__(self):
        return iter(self.names)

    def __getitem__(self, i):
        return self.names[i]

    def __repr__(self):
        return f"Names({list(self.names)!r})"

    def take(self, indices: np.ndarray) -> "Names":
        """The names of these indices, in that order (members that stay, a new order)."""
        return Names([self.names[i] for i in np.asarray(indices).tolist()])

    def append(self, names: Sequence[str]) -> "Names":
        """These names and then ``names``, which must be new."""
        return Names(self.names + tuple(names))

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def hashes(self) -> np.ndarray:
        return string_hashes(self.names)

    @cached_property
    def order(self) -> np.ndarray:
        ascii_only = all(map(str.isascii, self.names))
        key = self.names.__getitem__ if ascii_only else lambda i: utf16(self.names[i])
        return np.array(sorted(range(len(self.names)), key=key), dtype=np.int64)

    @cached_property
    def rank(self) -> np.ndarray:
        rank = np.empty(len(self.names), dtype=np.int64)
        rank[self.order] = np.arange(len(self.names))
        return rank
