"""Strings as Java sees them: UTF-16 order, ``String.hashCode``, names with both prepared; and
Kafka's ``Uuid``.

Names become small integer arrays here, once per set of names; strategies see only the arrays.
Sources: ``java.lang.String`` as JDK 17 has it, ``Uuid`` of kafka-clients 4.4.0.
"""

import base64
import binascii
import random
import re
import uuid
from bisect import bisect
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.once import once

MASK = (1 << 32) - 1
UNIT, LENGTH = np.dtype(np.uint16), np.dtype(np.int64)


# Strings


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
    return int(string_hashes([name])[0])


def string_hashes(names: Sequence[str]) -> np.ndarray:
    """``String.hashCode`` of every name: int32[n]."""
    return _hash_units(*_units(names))


def _units(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All UTF-16 units one behind the other, uint16[...], and how many each name has, int64[n]."""
    text = "".join(names)
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), UNIT)
    lengths = np.fromiter(map(len, names), LENGTH, len(names))
    if units.size > len(text):  # some characters are two units
        points = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
        pairs = np.concatenate(([0], np.cumsum(points > 0xFFFF)))
        ends = lengths.cumsum()
        lengths += pairs[ends] - pairs[ends - lengths]
    return units, lengths


@njit
def _hash_units(units, lengths):
    out = np.empty(lengths.size, dtype=np.int32)
    k = 0
    for i in range(lengths.size):
        end = k + lengths[i]
        h = 0
        while k + 4 <= end:  # four units at once: the factors are powers of 31
            h = (
                923521 * h
                + 29791 * np.int64(units[k])
                + 961 * np.int64(units[k + 1])
                + 31 * np.int64(units[k + 2])
                + np.int64(units[k + 3])
            ) & MASK
            k += 4
        while k < end:
            h = (31 * h + np.int64(units[k])) & MASK
            k += 1
        out[i] = signed(h)
    return out


@inner
def _sort_units(units, lengths):
    """The names in ``String.compareTo`` order: int64[n] indices.

    Counting sort by three units at a time; only names that are equal so far go on to the next
    three, and few names are sorted by insertion.
    """
    n = lengths.size
    order = np.empty(n, dtype=np.int64)
    ends = np.empty(n, dtype=np.int64)
    end = 0
    for i in range(n):
        order[i] = i
        end += lengths[i]
        ends[i] = end
    if n < 2:
        return order
    keys = np.empty(n, dtype=np.int64)
    ranges = np.empty((n, 3), dtype=np.int64)  # low, high, depth: still to be sorted
    depth = _shared_beginning(units, ends)
    for i in range(n):
        keys[i] = _three_units(units, ends, i, depth)
    ranges[0, 0], ranges[0, 1], ranges[0, 2] = 0, n, depth
    left = 1
    while left > 0:
        left -= 1
        low, high, depth = ranges[left, 0], ranges[left, 1], ranges[left, 2]
        if high - low <= 12:
            _insertion_sort(units, ends, keys, order, low, high, depth)
            continue
        for shift in (0, UNIT_BITS, 2 * UNIT_BITS):
            _counting_sort(keys[low:high], order[low:high], shift)
        while low < high:
            after = low + 1
            while after < high and keys[after] == keys[low]:
                after += 1
            if after - low > 1 and keys[low] & UNIT_MASK != 0:  # they go on
                for k in range(low, after):
                    keys[k] = _three_units(units, ends, order[k], depth + 3)
                ranges[left, 0], ranges[left, 1], ranges[left, 2] = low, after, depth + 3
                left += 1
            low = after
    return order


UNIT_BITS = 17
UNIT_MASK = (1 << UNIT_BITS) - 1
"""The last of the three units in a key; a unit counts from 1, 0 says that the name has ended."""


@inner
def _counting_sort(keys, order, shift):
    """Sort both, in place and stable, by one unit of the keys."""
    lowest, highest = UNIT_MASK, 0
    for key in keys:
        unit = (key >> shift) & UNIT_MASK
        lowest = min(lowest, unit)
        highest = max(highest, unit)
    if lowest == highest:
        return
    fill = np.zeros(highest - lowest + 2, dtype=np.int64)
    for key in keys:
        fill[((key >> shift) & UNIT_MASK) - lowest + 1] += 1
    for unit in range(highest - lowest):
        fill[unit + 1] += fill[unit]
    old_keys, old_order = keys.copy(), order.copy()
    for k in range(keys.size):
        unit = ((old_keys[k] >> shift) & UNIT_MASK) - lowest
        keys[fill[unit]] = old_keys[k]
        order[fill[unit]] = old_order[k]
        fill[unit] += 1


@leaf
def _shared_beginning(units, ends):
    """How many units all names begin with."""
    shared = ends[0]
    for i in range(1, ends.size):
        start = ends[i - 1]
        shared = min(shared, ends[i] - start)
        k = 0
        while k < shared and units[k] == units[start + k]:
            k += 1
        shared = k
    return shared


@leaf
def _three_units(units, ends, i, depth):
    """Units ``depth`` to ``depth + 2`` of name i as one number that compares alike."""
    at = depth + (ends[i - 1] if i > 0 else 0)
    key = 0
    for k in range(at, at + 3):
        key = key << UNIT_BITS | (np.int64(units[k]) + 1 if k < ends[i] else 0)
    return key


@leaf
def _insertion_sort(units, ends, keys, order, low, high, depth):
    for k in range(low + 1, high):
        key, name = keys[k], order[k]
        j = k
        while j > low and (
            key < keys[j - 1]
            or (key == keys[j - 1] and _less(units, ends, name, order[j - 1], depth + 3))
        ):
            keys[j], order[j] = keys[j - 1], order[j - 1]
            j -= 1
        keys[j], order[j] = key, name


@leaf
def _less(units, ends, i, j, depth):
    """Whether name i comes before name j, when they are equal up to ``depth``."""
    p = depth + (ends[i - 1] if i > 0 else 0)
    q = depth + (ends[j - 1] if j > 0 else 0)
    while p < ends[i] and q < ends[j] and units[p] == units[q]:
        p += 1
        q += 1
    return q < ends[j] and (p >= ends[i] or units[p] < units[q])


@inner
def _inverse(order):
    rank = np.empty(order.size, dtype=np.int64)
    for k in range(order.size):
        rank[order[k]] = k
    return rank


@njit
def _prepare(units, lengths):
    """(hashes, order, rank) of :class:`Names`."""
    order = _sort_units(units, lengths)
    return _hash_units(units, lengths), order, _inverse(order)


@njit
def _prepare_some(hashes, rank, indices):
    """(hashes, order, rank) of some of the names, from those of all."""
    place = np.full(hashes.size, -1, dtype=np.int64)
    some = np.empty(indices.size, dtype=np.int32)
    for k in range(indices.size):
        place[rank[indices[k]]] = k
        some[k] = hashes[indices[k]]
    order = np.empty(indices.size, dtype=np.int64)
    n = 0
    for k in place:
        if k != -1:
            order[n] = k
            n += 1
    return some, order, _inverse(order)


@leaf
def signed(value):
    """The low 32 bits of an int64, read as Java's ``int``."""
    return ((value + (1 << 31)) & MASK) - (1 << 31)


@njit
def _prepare_more(hashes, order, new_hashes, new_order, places):
    """(hashes, order, rank) with newcomers: ``places[k]`` old names precede ``new_order[k]``."""
    n = hashes.size
    merged = np.empty(n + new_order.size, dtype=np.int64)
    k = 0
    for place in range(n + 1):
        while k < places.size and places[k] == place:
            merged[place + k] = n + new_order[k]
            k += 1
        if place < n:
            merged[place + k] = order[place]
    return np.concatenate((hashes, new_hashes)), merged, _inverse(merged)


# Kafka's Uuid


class Uuid(NamedTuple):
    """``org.apache.kafka.common.Uuid``: two signed 64-bit halves; compares as ``compareTo``.

    >>> u = Uuid.parse("AAAAAAAAAAEAAAAAAAAAAg")
    >>> u, str(u)
    (Uuid(most=1, least=2), 'AAAAAAAAAAEAAAAAAAAAAg')
    """

    most: int
    least: int

    @classmethod
    def parse(cls, text: str) -> "Uuid":
        """``Uuid.fromString``: 22 characters of base64url, padding allowed; else ValueError."""
        if not re.fullmatch(r"[A-Za-z0-9_-]{22}(==)?", text):
            raise ValueError(f"{text[:40]!r} is not a Kafka Uuid: 22 characters of base64url")
        data = base64.urlsafe_b64decode(text[:22] + "==")
        return cls(int.from_bytes(data[:8], signed=True), int.from_bytes(data[8:], signed=True))

    def __str__(self) -> str:
        data = self.most.to_bytes(8, signed=True) + self.least.to_bytes(8, signed=True)
        return base64.urlsafe_b64encode(data).decode()[:22]


def random_uuid(draw: random.Random) -> str:
    """What ``Uuid.randomUuid`` gives, in base64: one that begins with ``-`` is drawn again.

    >>> random_uuid(random.Random(0))
    '4-cGgsIJTKyin2--2CwHzQ'
    """
    while True:
        drawn = uuid.UUID(int=draw.getrandbits(128), version=4)
        text = base64.urlsafe_b64encode(drawn.bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text


def uuid_hashes(uuids: Sequence[Uuid] | np.ndarray) -> np.ndarray:
    """``Uuid.hashCode`` of each, the four 32-bit quarters xored: int32[n].

    ``uuids``: or their halves, int64[n, 2].

    >>> uuid_hashes([Uuid(1, 2), Uuid(-1, 2)]).tolist()
    [3, 2]
    """
    most, least = np.asarray(uuids, dtype=np.int64).reshape(-1, 2).T
    both = most ^ least
    return ((both >> 32) ^ both).astype(np.int32)


def uuid_halves(texts: Sequence[str]) -> np.ndarray | None:
    """:meth:`Uuid.parse` of many at once: their halves, int64[n, 2].

    None if one has not just the 22 characters.

    >>> uuid_halves(["AAAAAAAAAAEAAAAAAAAAAg"]).tolist(), uuid_halves(["AAAAAAAAAAEAAAAAAAAAAg=="])
    ([[1, 2]], None)
    """
    # Whole bytes: 18 of each, the last two of them none of its own.
    joined = "AA".join((*texts, ""))
    if {*map(len, texts)} - {22} or "+" in joined or "/" in joined:
        return None
    try:
        data = binascii.a2b_base64(joined.replace("-", "+").replace("_", "/"), strict_mode=True)
    except ValueError:
        return None
    return np.ndarray((len(texts), 2), ">i8", data, strides=(18, 8)).astype(np.int64)


# Names


NEWCOMER_COST = 64
"""Finding the place of one newcomer costs about as much as preparing so many names anew."""
FEW = 1000
"""What is made of so many names is kept for the next group that has the same."""


class Names:
    """Distinct names in a fixed order, with what Java makes of them, prepared once."""

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
        """The names of these indices, in that order; what is prepared is not prepared again."""
        indices = np.asarray(indices, dtype=np.int64)
        names = self.names
        taken = Names([names[i] for i in indices.tolist()])
        if "_prepared" in self.__dict__:
            taken._prepared = _prepare_some(self.hashes, self.rank, indices)
        return taken

    def append(self, names: Sequence[str]) -> "Names":
        """These names and then ``names``, which must be new.

        Few newcomers to a large prepared set are put into its order one by one.
        """
        both = Names(self.names + tuple(names))
        if "_prepared" in self.__dict__ and 0 < len(names) * NEWCOMER_COST <= len(self):
            both._prepared = self._with_newcomers(Names(names))
        return both

    def _with_newcomers(self, new: "Names") -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        places = [
            bisect(self.order, utf16(new[i]), key=lambda k: utf16(self.names[k])) for i in new.order
        ]
        return _prepare_more(self.hashes, self.order, new.hashes, new.order, np.array(places))

    @once
    def _prepared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return (_known if len(self.names) <= FEW else _made)(self.names)

    @property
    def hashes(self) -> np.ndarray:
        """``String.hashCode`` of every name: int32[n]."""
        return self._prepared[0]

    @property
    def order(self) -> np.ndarray:
        """The indices of the names, as ``String.compareTo`` sorts them: int64[n]."""
        return self._prepared[1]

    @property
    def rank(self) -> np.ndarray:
        """The place of every name in :attr:`order`: int64[n]."""
        return self._prepared[2]

    @once
    def index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}


def _made(names: tuple[str, ...]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(hashes, order, rank) of :class:`Names`."""
    return _prepare(*_units(names))


_known = lru_cache(maxsize=64)(_made)
"""The same: a string of Java's keeps its hash code, too."""
