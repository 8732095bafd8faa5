"""The hash functions of keys that decide partitions, over many keys at once.

Keys are one flat array of bytes and their offsets (:class:`Keys`); a null key is not an empty one.
Sources: ``Utils.murmur2`` of kafka-clients 4.4.0, ``String.hashCode`` of the JDK, zlib's crc32 and
FNV-1a as librdkafka 2.16 and sarama 1.61 have them.
"""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.errors import shown
from assignlab.jvm.names import string_hashes

MASK = 0xFFFFFFFF
MURMUR2_SEED = 0x9747B28C
M = 0x5BD1E995
POLYNOMIAL = 0xEDB88320
FNV_BASIS = 0x811C9DC5
FNV_PRIME = 0x01000193


class Keys(NamedTuple):
    """n keys: ``data`` uint8[...], ``offsets`` int64[n + 1] into it, ``null`` bool[n].

    A null key has no bytes; an empty key has none either but is not null.
    """

    data: np.ndarray
    offsets: np.ndarray
    null: np.ndarray

    def take(self, rows: np.ndarray) -> "Keys":
        """The keys of those rows, int64[m], in that order and as often."""
        lengths = np.diff(self.offsets)[rows]
        offsets = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(offsets[-1]) + np.repeat(self.offsets[:-1][rows] - offsets[:-1], lengths)
        return Keys(self.data[places], offsets, self.null[rows])


def keys(values: Iterable[bytes | str | None]) -> Keys:
    """Keys from bytes, texts (their UTF-8) and None (null keys); TypeError for anything else, ValueError
    for a text that has no UTF-8.

    >>> keys([b"ab", None, ""]).offsets.tolist()
    [0, 2, 2, 2]
    """
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise TypeError(f"keys: expected several, got one as {type(values).__name__}")
    parts, null = [], []
    for value in values:
        if not (value is None or isinstance(value, bytes | str)):
            raise TypeError(f"a key is bytes, a text or None, not {type(value).__name__}")
        null.append(value is None)
        try:
            parts.append(value.encode() if isinstance(value, str) else value or b"")
        except UnicodeEncodeError:
            raise ValueError(f"a key with a lone surrogate has no UTF-8: {shown(value)}") from None
    lengths = np.fromiter(map(len, parts), dtype=np.int64, count=len(parts))
    data = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return Keys(data, np.concatenate(([0], np.cumsum(lengths))), np.array(null, dtype=bool))


def numbered(numbers: np.ndarray, digits: int = 0) -> Keys:
    """Keys that are the decimal digits of numbers, int64[n] from 0 on; ``digits`` pads with zeros.

    >>> bytes(numbered(np.array([7, 12]), digits=3).data)
    b'007012'
    """
    return keys(str(n).zfill(digits) for n in np.asarray(numbers, dtype=np.int64).tolist())


def no_keys(count: int) -> Keys:
    """``count`` null keys."""
    return Keys(np.empty(0, np.uint8), np.zeros(count + 1, np.int64), np.ones(count, bool))


def murmur2(of: Keys) -> np.ndarray:
    """Kafka's murmur2 of every key: int32[n]. A null key is hashed as an empty one.

    >>> murmur2(keys([b"21", b"foobar"])).tolist()
    [-973932308, -790332482]
    """
    return _murmur2(of.data, of.offsets)


def crc32(of: Keys) -> np.ndarray:
    """CRC-32 of every key, as zlib and librdkafka compute it: uint32[n].

    >>> hex(crc32(keys([b"123456789"]))[0])
    '0xcbf43926'
    """
    return _crc32(of.data, of.offsets, CRC_TABLE)


def fnv1a(of: Keys) -> np.ndarray:
    """FNV-1a, 32 bits, of every key: uint32[n].

    >>> hex(fnv1a(keys([b"a"]))[0])
    '0xe40c292c'
    """
    return _fnv1a(of.data, of.offsets)


def java_strings(of: Keys) -> np.ndarray:
    """``String.hashCode`` of keys that are UTF-8 texts: int32[n]; ValueError where one is not."""
    try:
        return string_hashes(texts(of))
    except UnicodeDecodeError as wrong:
        raise ValueError(f"a key is not a text in UTF-8: {wrong}") from None


def texts(of: Keys) -> list[str]:
    """The keys as texts; UnicodeDecodeError where one is not UTF-8."""
    data, offsets = of.data.tobytes(), of.offsets.tolist()
    return [data[a:b].decode() for a, b in pairwise(offsets)]


WORD, PLACE = np.uint32, np.uint64
"""Arithmetic of 32 bits, and unsigned places in the bytes: then four of them are read as one."""


@njit
def _murmur2(data, offsets):
    out = np.empty(offsets.size - 1, dtype=np.int32)
    for i in range(out.size):
        at, end = PLACE(offsets[i]), PLACE(offsets[i + 1])
        h = WORD(MURMUR2_SEED ^ (offsets[i + 1] - offsets[i]))
        while at + PLACE(4) <= end:
            k = times_m(four_bytes(data, at))
            h = WORD(times_m(h) ^ times_m(WORD(k ^ (k >> WORD(24)))))
            at += PLACE(4)
        if at < end:  # the last one to three bytes
            for j in range(np.int64(end - at)):
                h = WORD(h ^ (WORD(data[at + PLACE(j)]) << WORD(8 * j)))
            h = times_m(h)
        h = times_m(WORD(h ^ (h >> WORD(13))))
        out[i] = np.int64(h ^ (h >> WORD(15))) - ((np.int64(h) >> 31) << 32)
    return out


@inner
def four_bytes(data, at):
    """Four bytes as a little-endian number."""
    return WORD(
        WORD(data[at])
        | WORD(data[at + PLACE(1)]) << WORD(8)
        | WORD(data[at + PLACE(2)]) << WORD(16)
        | WORD(data[at + PLACE(3)]) << WORD(24)
    )


@inner
def times_m(number):
    """Multiplied, and the upper bits lost."""
    return WORD(np.int64(number) * M & MASK)


def _table() -> np.ndarray:
    table = np.arange(256, dtype=np.int64)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ POLYNOMIAL, table >> 1)
    return table


CRC_TABLE = _table()


@njit
def _crc32(data, offsets, table):
    out = np.empty(offsets.size - 1, dtype=np.uint32)
    for i in range(out.size):
        value = MASK
        for at in range(offsets[i], offsets[i + 1]):
            value = table[(value ^ np.int64(data[at])) & 0xFF] ^ (value >> 8)
        out[i] = value ^ MASK
    return out


@njit
def _fnv1a(data, offsets):
    out = np.empty(offsets.size - 1, dtype=np.uint32)
    for i in range(out.size):
        value = FNV_BASIS
        for at in range(offsets[i], offsets[i + 1]):
            value = ((value ^ np.int64(data[at])) * FNV_PRIME) & MASK
        out[i] = value
    return out
