"""The hashes of keys against published vectors, other implementations, and Java's own draws."""

import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab.producers import draws, hashes
from assignlab.producers.drawn import drawn_below

UTILS_TEST = {  # Kafka's UtilsTest
    "21": -973932308,
    "foobar": -790332482,
    "a-little-bit-long-string": -985981536,
    "a-little-bit-longer-string": -1486304829,
    "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    "abc": 479470107,
}
some_keys = st.lists(st.none() | st.binary(max_size=40), max_size=20)


def by_the_book(key: bytes) -> int:
    """FNV-1a as its authors describe it."""
    value = 0x811C9DC5
    for byte in key:
        value = ((value ^ byte) * 0x01000193) % 2**32
    return value


def test_murmur2_gives_kafkas_own_test_vectors():
    assert hashes.murmur2(hashes.keys(UTILS_TEST)).tolist() == list(UTILS_TEST.values())


@settings(deadline=None)
@given(some_keys)
def test_crc32_and_fnv1a_are_the_standard_ones(values):
    of = hashes.keys(values)
    assert hashes.crc32(of).tolist() == [zlib.crc32(key or b"") for key in values]
    assert hashes.fnv1a(of).tolist() == [by_the_book(key or b"") for key in values]


@settings(deadline=None)
@given(some_keys, st.randoms(use_true_random=False))
def test_a_key_is_hashed_by_its_bytes_alone(values, random):
    rows = [random.randrange(len(values)) for _ in range(15)] if values else []
    taken = hashes.keys(values).take(np.array(rows, dtype=np.int64))
    again = hashes.keys([values[row] for row in rows])
    for one, other in zip(taken, again, strict=True):
        assert one.tolist() == other.tolist()
    for function in (hashes.murmur2, hashes.crc32, hashes.fnv1a):
        alone = [int(function(hashes.keys([values[row]]))[0]) for row in rows]
        assert function(taken).tolist() == alone


def test_texts_hash_as_java_strings():
    assert hashes.java_strings(hashes.keys(["Aa", "BB", "订单", ""])).tolist() == [
        2112, 2112, 1129459, 0,
    ]  # fmt: skip
    with pytest.raises(ValueError, match="UTF-8"):
        hashes.java_strings(hashes.keys([b"\xff"]))


def test_numbers_are_keys_of_their_digits():
    assert hashes.texts(hashes.numbered(np.array([0, 12, 345]))) == ["0", "12", "345"]


def test_a_key_of_another_type_is_refused():
    with pytest.raises(TypeError, match="int"):
        hashes.keys([7])
    for one in ("TT0124", b"TT0124"):  # not six keys of a letter each
        with pytest.raises(TypeError, match="expected several"):
            hashes.keys(one)


def test_a_key_without_utf_8_is_refused_with_what_is_wrong():
    with pytest.raises(ValueError, match=r"^a key with a lone surrogate has no UTF-8: 'a\\ud800'$"):
        hashes.keys(["a", "a\ud800"])


def test_the_draws_are_those_that_java_made_from_these_seeds():
    thread = draws.generator(1)
    assert [draws.thread_local_int(thread) for _ in range(2)] == [1608314699, 642366842]
    random = draws.scrambled(7)
    assert draws.random_int(random) == -1156638823
    assert drawn_below(np.zeros(1, np.int64), np.array([10]), random).tolist() == [4]
    assert drawn_below(np.zeros(1, np.int64), np.array([8]), random).tolist() == [5]
    assert drawn_below(np.zeros(1, np.int64), np.array([2**30 | 1]), random).tolist() == [20678044]
