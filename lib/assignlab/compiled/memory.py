"""The memory that compiled steps take."""

import ctypes
import sys
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h
MADV_HUGEPAGE, HUGE_PAGE = 14, 2**21  # of mman.h; bytes

IN_HUGE_PAGES = 2**32
"""So many bytes are asked for in huge pages: more than a rebalance of ten million partitions takes."""

LARGE = 1_000_000
"""Arrays of so many partitions count as large."""


@cache
def keep_freed() -> None:
    """From now on this process keeps the memory of large arrays when they are freed.

    glibc gives it back to the system at once, and what is allocated next is new to the process, 4 kB by
    4 kB: a third to a half of the time of a rebalance of ten million partitions. Nothing changes where
    the C library is another one.
    """
    library = ctypes.CDLL(None) if sys.platform == "linux" else None
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, -1)
        _ask_for_huge_pages(library)


def _ask_for_huge_pages(library: ctypes.CDLL) -> None:
    """Let Linux fill the memory that will be kept 2 MB at a time, where it does so on request: steps
    that jump about in large arrays take less time."""
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.free.argtypes = [ctypes.c_void_p]
    library.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    start = library.malloc(IN_HUGE_PAGES)  # only addresses: nothing is touched
    if start is not None:
        first = -(-start // HUGE_PAGE) * HUGE_PAGE
        library.madvise(first, start + IN_HUGE_PAGES - first, MADV_HUGEPAGE)
        library.free(start)
