"""The project's folder, its commit, the versions and the cores that a run has."""

import os
import platform
import re
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path

import assignlab


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def memory() -> int:
    """The bytes of memory that this machine has, or its container's limit where that is less."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    for limit in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no container, or no limit
            found.append(int(Path("/sys/fs/cgroup", limit).read_text()))
    return min(found)


FOLDER_VARIABLE = "ASSIGNLAB_RUN_FOLDER"
RUN_ID_VARIABLE = "ASSIGNLAB_RUN_ID"
OUTPUTS_VARIABLE = "ASSIGNLAB_OUTPUTS"
TABLES_VARIABLE = "ASSIGNLAB_TABLES"
LENDER_VARIABLE = "ASSIGNLAB_LENDER"

RUNNING = ".running"
"""The folder of a scale in which a run works, in one called by its id, until it is complete."""

PACKAGES = ("pyspark", "numba", "numpy", "pandas", "pyarrow", "seaborn", "matplotlib", "papermill")


def checkout() -> Path | None:
    """The folder of the editable installation; None where the library was installed as a wheel."""
    root = Path(assignlab.__file__).resolve().parents[2]
    return root if (root / "pyproject.toml").is_file() else None


def project() -> Path:
    """The project's folder: that of the editable installation, or else the working directory."""
    return checkout() or Path.cwd()


def outputs() -> Path:
    """Where results and Spark's files go: ``ASSIGNLAB_OUTPUTS``, or ``outputs`` of the project."""
    named = os.environ.get(OUTPUTS_VARIABLE)
    return folder_named(named) if named else project() / "outputs"


def run_folder() -> Path | None:
    """The folder of the notebook's run, where the runner named one."""
    named = os.environ.get(FOLDER_VARIABLE)
    return folder_named(named) if named else None


BEGUN: list[Path] = []
"""The folder of the notebook that this process has begun last, where the runner named none."""


def is_uri(text: str) -> bool:
    """Whether a text names a store and not a folder of this machine.

    >>> [is_uri(text) for text in ("s3a://bucket/tables", "dbfs:/tables", "outputs", "C:/tables")]
    [True, True, False, False]
    """
    return bool(re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", text))


def folder_named(text: str) -> Path:
    """The folder that a text names, ``~`` for the user's. Raises ValueError for a URI, which no local
    path can reach, and for what would be one.

    >>> folder_named("s3a://bucket/tables")
    Traceback (most recent call last):
    ValueError: 's3a://bucket/tables' is a URI: name a folder of this machine; --tables sends tables there
    """
    if not text.strip():
        raise ValueError(f"{text!r} names no folder")
    if found := re.match(r"(abfss?|dbfs|file|gs|hdfs|s3[an]?|viewfs|wasbs?):(?!/)", text):
        raise ValueError(f"{text!r} is neither a folder nor a URI, which begins with {found[0]}/")
    if re.match(r"\w+//", text):
        raise ValueError(f"{text!r} is no folder, and no URI such as hdfs://HOST:PORT/FOLDER")
    if is_uri(text):
        raise ValueError(
            f"{text!r} is a URI: name a folder of this machine; --tables sends tables there"
        )
    return Path(os.path.expanduser(text)).resolve()


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Name -> version of what the numbers depend on: assignlab, Python and the packages used.

    A package that is not installed is left out.
    """
    found = {"assignlab": assignlab.__version__, "python": platform.python_version()}
    for package in packages:
        try:
            found[package] = _version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


# Read once: every sweep asks, and reading a package's metadata takes some milliseconds.
_version = cache(metadata.version)


def git_state() -> str | None:
    """The project's commit, with ``-dirty`` where files differ from it; None without git."""
    command = ["git", "-C", str(project()), "describe", "--always", "--dirty", "--exclude=*"]
    try:
        answer = subprocess.run(command, check=False, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return answer.stdout.strip() or None
