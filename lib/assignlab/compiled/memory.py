"""The memory that compiled steps take."""

import ctypes
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h
MOST_KEPT = 2**31 - 1  # bytes, as many as mallopt can be told

LARGE = 1_000_000
"""Arrays of so many partitions count as large."""


@cache
def keep_freed() -> None:
    """From now on this process keeps the memory of large arrays when they are freed.

    glibc gives it back to the system at once, and what is allocated next is new to the process, 4 kB by
    4 kB: a third to a half of the time of a rebalance of ten million partitions. What is free at the
    end of the heap is kept up to 2 GB, what is free between others wholly. Nothing changes where the
    C library is another one.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, MOST_KEPT)
