"""The Java behaviours that decide ties: hash codes, UTF-16 order, the walk of a HashMap.

Names become small integer arrays here, once per set of names; strategies see only the arrays.
Sources: ``java.lang.String``, ``java.util.HashMap`` and ``HashSet`` as JDK 17 runs them (newer ones
make some copies' tables smaller, see :func:`copy_capacity`), ``TopicPartition`` and ``Uuid`` of
kafka-clients 4.4.0.
"""

import base64
import re
from bisect import bisect
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from assignlab import tree_bins
from assignlab.compiled import njit

MASK = (1 << 32) - 1


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
    units = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), dtype=np.uint16)
    lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
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


@njit
def _sort_units(units, lengths):
    """The names in ``String.compareTo`` order: int64[n] indices.

    Counting sort by three units at a time; only names that are equal so far go on to the next
    three, and few names are sorted by insertion.
    """
    n = lengths.size
    order = np.arange(n)
    if n < 2:
        return order
    ends = np.cumsum(lengths)
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


@njit
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


@njit
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


@njit
def _three_units(units, ends, i, depth):
    """Units ``depth`` to ``depth + 2`` of name i as one number that compares alike."""
    at = depth + (ends[i - 1] if i > 0 else 0)
    key = 0
    for k in range(at, at + 3):
        key = key << UNIT_BITS | (np.int64(units[k]) + 1 if k < ends[i] else 0)
    return key


@njit
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


@njit
def _less(units, ends, i, j, depth):
    """Whether name i comes before name j, when they are equal up to ``depth``."""
    p = depth + (ends[i - 1] if i > 0 else 0)
    q = depth + (ends[j - 1] if j > 0 else 0)
    while p < ends[i] and q < ends[j] and units[p] == units[q]:
        p += 1
        q += 1
    return q < ends[j] and (p >= ends[i] or units[p] < units[q])


@njit
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


@njit
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


# Topic partitions


@njit
def topic_partition_hash(topic_hash, partition):
    """``TopicPartition.hashCode``: ``31 * (31 + partition) + topic.hashCode()``, in 32 bits."""
    return signed(31 * (31 + np.int64(partition)) + np.int64(topic_hash))


@njit
def topic_partition_hashes(topic_hashes, codes):
    """``TopicPartition.hashCode`` of partition codes: int32[n].

    ``topic_hashes``: int32[topics]; ``codes``: int64[n], see :func:`assignlab.assignment.code`.
    """
    out = np.empty(codes.size, dtype=np.int32)
    for i in range(codes.size):
        out[i] = topic_partition_hash(topic_hashes[codes[i] >> 32], codes[i] & MASK)
    return out


# HashMap and HashSet


@njit
def spread(h):
    """``HashMap.hash``: folds the high half of a hash code into the low half (Java's int)."""
    h = np.int64(h)
    return signed(h ^ ((h & MASK) >> 16))


@njit
def table_size(count, capacity):
    """Slots of a HashMap, built with ``capacity`` slots, after ``count`` puts (load factor 3/4)."""
    size = capacity
    while count > size * 3 // 4:
        size *= 2
    return size


def table_size_for(n: int) -> int:
    """Initial slots of ``new HashMap(n)`` and ``new HashSet(n)``: the next power of two.

    >>> [table_size_for(n) for n in (0, 1, 3, 16, 17)]
    [1, 1, 4, 16, 32]
    """
    return 1 << max(n - 1, 0).bit_length()


def copy_capacity(n: int) -> int:
    """Initial slots of ``new HashMap(map)`` with n entries, and of ``putAll`` into a new map.

    JDK 17. In newer ones (seen in 25) it is the table for n / 0.75, which is half of this where n
    is exactly three quarters of a power of two: there the walk depends on the JDK.

    >>> [copy_capacity(n) for n in (0, 1, 6, 11, 12)]
    [16, 2, 16, 16, 32]
    """
    if n == 0:
        return 16
    return table_size_for(int(np.float32(n) / np.float32(0.75) + np.float32(1)))


def collection_capacity(n: int) -> int:
    """Initial slots of ``new HashSet(collection)`` with n elements (JDK 17, as above).

    ``new HashSet()`` and ``addAll`` instead start with 16 and grow as they are filled.

    >>> [collection_capacity(n) for n in (0, 11, 12)]
    [16, 16, 32]
    """
    return table_size_for(max(int(np.float32(n) / np.float32(0.75)) + 1, 16))


def hash_map_walk(
    hashes: np.ndarray,
    capacity: int = 16,
    rank: np.ndarray | None = None,
    newest_first: bool = False,
    called_again: bool = False,
) -> tuple[np.ndarray, bool]:
    """The order in which a ``HashMap`` or ``HashSet`` walks its keys, and whether that is certain.

    ``hashes``: int32[n], hash codes of n distinct keys in order of insertion; ``capacity``: slots
    of the table when it was made (:func:`table_size_for`, :func:`copy_capacity`,
    :func:`collection_capacity`); ``rank``: int64[n] position of every key in ``compareTo`` order,
    None for keys that are not Comparable.

    The keys came by ``put``, ``putIfAbsent``, ``add``, ``Collectors.toSet`` or ``toMap`` of two
    functions, which append to a slot; or, ``newest_first``, by ``computeIfAbsent``, ``compute``,
    ``merge``, ``Collectors.groupingBy`` or ``toMap`` with a merge function, which put a new key
    in front. These also grow the table only at their next call: ``called_again`` tells whether
    they were called once more, for a known key, after the last new one.

    Returns (order int64[n]: positions in ``hashes``, slot by slot; bool: False if a crowded slot
    was ordered by identity hash codes, so that Java itself may walk otherwise).
    """
    order, crowded = _walk_uncrowded(hashes, capacity, newest_first, called_again)
    if crowded:
        return tree_bins.walk(spread_all(hashes), rank, capacity, newest_first, called_again)
    return order, True


def hash_map_order(
    hashes: np.ndarray,
    capacity: int = 16,
    rank: np.ndarray | None = None,
    newest_first: bool = False,
    called_again: bool = False,
) -> np.ndarray:
    """The order of :func:`hash_map_walk` alone: int64[n]."""
    return hash_map_walk(hashes, capacity, rank, newest_first, called_again)[0]


def hash_map_walk_without(
    hashes: np.ndarray, removed: np.ndarray, capacity: int = 16, rank: np.ndarray | None = None
) -> tuple[np.ndarray, bool]:
    """:func:`hash_map_walk` of a map whose keys were put and then in part removed.

    ``removed``: int64[n], positions in ``hashes`` in the order in which they were removed; in a
    tree a removal turns the order of those that stay. The order has only the positions of these.
    """
    order, crowded = _walk_uncrowded(hashes, capacity, False, False)
    if crowded:
        gone = tuple(removed.tolist())
        return tree_bins.walk(spread_all(hashes), rank, capacity, False, False, gone)
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
        return tree_bins.slots(spreads, capacity)
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


@njit
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


@njit
def _walk_uncrowded(hashes, capacity, newest_first, called_again):
    """(order, False), or (nothing of use, True) if a slot was ever crowded."""
    spreads = spread_all(hashes)
    if was_crowded(spreads, capacity, 7 if newest_first else 8):
        return spreads, True
    late = 1 if newest_first and not called_again and spreads.size > 0 else 0
    return walk_lists(spreads, table_size(spreads.size - late, capacity), newest_first), False


# HashSets whose elements come and go


class HashSets(NamedTuple):
    """Many ``HashSet``s over numbered elements, each element in one set at the most.

    Made for the sticky assignors' records of moved partitions, where only the first element of the
    walk matters. Inside a slot that is the oldest element, so a set is a chain in order of
    insertion plus the size of its table, which never shrinks. Plain arrays, for compiled code.

    ``hash``: int64[elements] spread hashes; ``next``, ``prev``: int64[elements], -1 at the ends;
    ``first``, ``last``, ``size``, ``capacity``: int64[sets]; ``tree``: bool[1], set once a slot of
    a set became a tree, after which the walk is no longer certain.
    """

    hash: np.ndarray
    next: np.ndarray
    prev: np.ndarray
    first: np.ndarray
    last: np.ndarray
    size: np.ndarray
    capacity: np.ndarray
    tree: np.ndarray


@njit
def hash_sets(hashes, sets):
    """``sets`` new, empty sets (16 slots) over elements with these hash codes, int32[elements]."""
    return HashSets(
        spread_all(hashes),
        np.full(hashes.size, -1, dtype=np.int64),
        np.full(hashes.size, -1, dtype=np.int64),
        np.full(sets, -1, dtype=np.int64),
        np.full(sets, -1, dtype=np.int64),
        np.zeros(sets, dtype=np.int64),
        np.full(sets, 16, dtype=np.int64),
        np.zeros(1, dtype=np.bool_),
    )


@njit
def set_add(sets, s, element):
    """``add``: put an element, which is in no set, into set ``s``."""
    if sets.size[s] >= tree_bins.TREEIFY_THRESHOLD:
        _make_room(sets, s, sets.hash[element])
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


@njit
def _make_room(sets, s, h):
    """A ninth element in a slot doubles a small table and makes a tree in a larger one."""
    mask = sets.capacity[s] - 1
    held = 0
    e = sets.first[s]
    while e != -1:
        if (sets.hash[e] ^ h) & mask == 0:
            held += 1
        e = sets.next[e]
    if held >= tree_bins.TREEIFY_THRESHOLD:
        if sets.capacity[s] < tree_bins.MIN_TREEIFY_CAPACITY:
            sets.capacity[s] *= 2
        else:
            sets.tree[0] = True


@njit
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


@njit
def set_first(sets, s):
    """``iterator().next()``: the oldest element of the lowest occupied slot; -1 if empty."""
    mask = sets.capacity[s] - 1
    found = -1
    lowest = sets.capacity[s]
    e = sets.first[s]
    while e != -1:
        slot = sets.hash[e] & mask
        if slot < lowest:
            lowest = slot
            found = e
        e = sets.next[e]
    return found


@njit
def set_renew(sets, s):
    """Replace the empty set ``s`` by a new one: 16 slots again."""
    sets.capacity[s] = 16


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


def uuid_hashes(uuids: Sequence[Uuid]) -> np.ndarray:
    """``Uuid.hashCode`` of each, the four 32-bit quarters xored: int32[n].

    >>> uuid_hashes([Uuid(1, 2), Uuid(-1, 2)]).tolist()
    [3, 2]
    """
    most, least = np.array(uuids, dtype=np.int64).reshape(-1, 2).T
    both = most ^ least
    return ((both >> 32) ^ both).astype(np.int32)


# Names


NEWCOMER_COST = 64
"""Finding the place of one newcomer costs about as much as preparing so many names anew."""


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

    @cached_property
    def _prepared(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return _prepare(*_units(self.names))

    @property
    def hashes(self) -> np.ndarray:
        return self._prepared[0]

    @property
    def order(self) -> np.ndarray:
        return self._prepared[1]

    @property
    def rank(self) -> np.ndarray:
        return self._prepared[2]

    @cached_property
    def index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.names)}
