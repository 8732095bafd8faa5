"""How assignlab compiles: one decorator, one cache.

A strategy is sequential code over integer arrays. ``njit`` compiles it on first use and keeps the
machine code on disk; with ``NUMBA_DISABLE_JIT=1`` the same source runs as plain Python.
The cache lies beside the source. Where that folder cannot be written (a read-only installation, a
zip on a Spark executor) it lies in a folder of the user's temporary directory instead.
"""

import os
import tempfile
from pathlib import Path


def _writable(folder: Path) -> bool:
    return folder.is_dir() and os.access(folder, os.W_OK)


if "NUMBA_CACHE_DIR" not in os.environ and not _writable(Path(__file__).parent):
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    os.environ["NUMBA_CACHE_DIR"] = str(Path(tempfile.gettempdir()) / f"assignlab-numba-{user}")

import numba  # noqa: E402  (reads NUMBA_CACHE_DIR when it is imported)


def njit(function):
    """Compile ``function`` with numba, cached on disk, without the interpreter lock."""
    return numba.njit(cache=True, nogil=True)(function)
