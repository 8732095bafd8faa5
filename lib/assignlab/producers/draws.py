"""The random numbers of Java, from a seed: what the originals draw is an input here.

``random`` is uint64[1], the generator's state, changed by every draw. Two generators:
``ThreadLocalRandom`` (a SplitMix whose state is its thread's seed) and ``java.util.Random`` (a
48-bit linear congruential generator). Sources: both classes as JDK 17 has them.
"""

import numpy as np

from assignlab.compiled import inner, njit
from assignlab.errors import shown
from assignlab.jvm.names import signed

STEP = np.uint64(0x9E3779B97F4A7C15 + 2)
"""The golden gamma and, since JDK 17, twice the number of the thread: of the first one here."""

MIX = (np.uint64(0xFF51AFD7ED558CCD), np.uint64(0xC4CEB9FE1A85EC53))
THIRTY_TWO, THIRTY_THREE = np.uint64(32), np.uint64(33)
FACTOR, ADDED = np.uint64(0x5DEECE66D), np.uint64(0xB)
BITS_48 = np.uint64((1 << 48) - 1)
SIXTEEN, SEVENTEEN = np.uint64(16), np.uint64(17)


def seed_of(given: int) -> int:
    """A seed as Python's own number. Raises TypeError for what is no whole number."""
    if not isinstance(given, int | np.integer) or isinstance(given, bool):
        raise TypeError(f"seed: expected a whole number, got {shown(given)}")
    return int(given)


def generator(seed: int) -> np.ndarray:
    """The state of a ``ThreadLocalRandom`` whose thread has this seed: uint64[1].

    >>> random = generator(1)
    >>> [thread_local_int(random) for _ in range(2)]
    [1608314699, 642366842]
    """
    return np.array([seed & ((1 << 64) - 1)], dtype=np.uint64)


def scrambled(seed: int) -> np.ndarray:
    """The state of ``new java.util.Random(seed)``: uint64[1]."""
    return np.array([(seed ^ int(FACTOR)) & int(BITS_48)], dtype=np.uint64)


@njit
def thread_local_int(random):
    """``ThreadLocalRandom.nextInt()``: a signed number of 32 bits."""
    random[0] += STEP
    z = random[0]
    z = (z ^ (z >> THIRTY_THREE)) * MIX[0]
    z = (z ^ (z >> THIRTY_THREE)) * MIX[1]
    return signed(np.int64(z >> THIRTY_TWO))


@inner
def next_positive(random):
    """``Utils.toPositive(ThreadLocalRandom.current().nextInt())``: 0 to 2^31 - 1."""
    return thread_local_int(random) & 0x7FFFFFFF


@inner
def random_31(random):
    """``Random.next(31)``."""
    random[0] = (random[0] * FACTOR + ADDED) & BITS_48
    return np.int64(random[0] >> SEVENTEEN)


@njit
def random_int(random):
    """``Random.nextInt()``: a signed number of 32 bits."""
    random[0] = (random[0] * FACTOR + ADDED) & BITS_48
    return signed(np.int64(random[0] >> SIXTEEN))


@inner
def random_below(random, bound):
    """``Random.nextInt(bound)``: 0 to bound - 1; draws again where the last round is not whole."""
    bits = random_31(random)
    if bound & (bound - 1) == 0:
        return (bound * bits) >> 31
    value = bits % bound
    while bits - value + bound - 1 > 0x7FFFFFFF:
        bits = random_31(random)
        value = bits % bound
    return value
