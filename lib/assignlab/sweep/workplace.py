"""The folder that a sweep works in until its table is whole, and what becomes of it afterwards.

It is ``.unfinished/<question>`` beside the tables: ``slices`` has the finished slices, ``parts``
those that tasks are writing, ``progress`` how far they are, ``dealt.npy`` which scenario is in
which slice. So a slice is there whole or not at all, and nothing but whole slices comes into a
table.

The driver holds a lock on its folder until it ends, however it ends. A folder without an owner is
what an interrupted sweep left: the same sweep, asked again, keeps its slices and plays the others.
The next sweep of any kind removes what nobody can go on from: folders without finished slices,
those of another version of the library, those older than a week.
"""

import errno
import os
import shutil
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from glob import glob
from pathlib import Path
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assignlab.local.files import whole
from assignlab.local.library import library
from assignlab.local.locks import fcntl
from assignlab.sweep.question import SweepError, digest_of

UNFINISHED = ".unfinished"
DESCRIPTION = "_description.json"
"""What a table says of itself, in its folder."""
KEPT_AGE = 7 * 86400.0
PUT_BACK, REPLACED = "earlier", "replaced"
"""Where the table is whose place is taken: the first is put back if its driver is killed just then."""
NO_TABLE = "{} is there and no table of a sweep: move it away, or name the sweep otherwise"
TRIES = 5
PAUSE = 0.1


class Workplace:
    """The folder of one sweep, locked while it is entered.

    ``tables``: the folder that has ``.unfinished``. ``question``: a name of all that the table
    depends on, so that the same question finds the slices that are done; None keeps nothing.
    """

    def __init__(self, tables: Path, question: str | None):
        self._tables = tables
        self._question = question

    def __enter__(self):
        clear_leftovers(self._tables)
        self.path, self._lock = self._own_folder()
        self.slices, self.parts, self.progress = folders_in(self.path)
        for scratch in (self.parts, self.progress):
            # A task of the killed driver may be writing still: it finds its folder gone.
            shutil.rmtree(scratch, ignore_errors=True)
            scratch.mkdir()
        self.slices.mkdir(exist_ok=True)
        for part in self.slices.glob(".*"):
            part.unlink()
        return self

    def __exit__(self, *failure):
        try:
            done = len(self.done()) if failure[0] and self._question else 0
            if done:
                tell(
                    f"{done} finished slices are kept: the same sweep, asked again, goes on from them"
                )
            else:
                shutil.rmtree(self.path, ignore_errors=True)
                with suppress(OSError):  # another sweep works there
                    self.path.parent.rmdir()
        finally:
            os.close(self._lock)

    def dealt(self, deal: Callable[[], Sequence[int]]) -> list[int]:
        """The slice of every scenario: what the interrupted sweep dealt, else ``deal()``."""
        file = self.path / "dealt.npy"
        # ValueError, EOFError: cut off where the machine lost its power
        with suppress(FileNotFoundError, ValueError, EOFError):
            return np.load(file).tolist()
        shutil.rmtree(self.slices)
        self.slices.mkdir()
        with whole(file) as part, part.open("wb") as out:
            np.save(out, np.array(deal(), dtype=np.int32))
        return np.load(file).tolist()

    def done(self) -> dict[int, int]:
        """The finished slices: number -> how many error records it has."""
        found = {}
        for file in self.slices.glob("slice-*.parquet"):
            try:
                found[int(file.stem.removeprefix("slice-"))] = errors_in(file)
            except (OSError, pa.ArrowException):
                file.unlink()  # cut off where the machine lost its power
        return found

    def take_place(self, path: Path) -> None:
        """Let the finished slices take the place of ``path``; of one name the last sweep wins."""
        path.parent.mkdir(parents=True, exist_ok=True)
        new, earlier = self.slices, self.path / REPLACED
        if path.parent == self._tables:
            earlier = self.path / PUT_BACK
        if new.stat().st_dev != path.parent.stat().st_dev:
            beside = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
            new = Path(shutil.copytree(new, beside / "new"))
            earlier = beside / REPLACED
        earlier.mkdir(exist_ok=True)
        while not renamed(new, path):
            with suppress(FileNotFoundError):  # another sweep of this name does the same just now
                path.rename(earlier / f"{uuid4().hex[:8]}.{path.name}")
        # of a table that was here before, written as a store's
        shutil.rmtree(path.with_name(f"{path.name}.state"), ignore_errors=True)
        if earlier.parent != self.path:
            shutil.rmtree(earlier.parent, ignore_errors=True)

    def _own_folder(self) -> tuple[Path, int]:
        """The folder of the question, or a fresh one where another sweep has it; and its lock."""
        asked = [f"{self._question}-{code()}"] * TRIES if self._question else []
        fresh = [f"{uuid4().hex[:12]}-{code()}" for _ in range(TRIES)]
        for name in asked + fresh:
            path = self._tables / UNFINISHED / name
            make(path)
            if (lock := locked(path)) is not None:
                return path, lock
            time.sleep(PAUSE)  # a sweep that starts looks at all folders for a moment
        # A file system without locks: a fresh folder is this sweep's own all the same.
        return path, os.open(path / ".lock", os.O_RDWR | os.O_CREAT, 0o600)


def folders_in(place: Path) -> tuple[Path, Path, Path]:
    """Where a workplace has finished slices, those that are being written, and how far they are."""
    return place / "slices", place / "parts", place / "progress"


def refuse_other(path: Path) -> None:
    """Raise :class:`SweepError` where something lies at the place of a table that is none."""
    ours = (path / DESCRIPTION).exists() or path.with_name(f"{path.name}.state").exists()
    with suppress(FileNotFoundError):  # another sweep takes it away just now
        if path.exists() and not ours and (path.is_file() or any(path.iterdir())):
            raise SweepError(NO_TABLE.format(path))


def code() -> str:
    """A short name for this version of the library."""
    return digest_of(library())[:8]


def errors_in(file: Path) -> int:
    """How many error records a slice has, from the end of its file; raises if that is missing.

    All its records, where another wrote the file and does not say how many.
    """
    found = pq.read_metadata(file)
    error = found.schema.names.index("error")
    groups = [found.row_group(i) for i in range(found.num_row_groups)]
    known = [(g.num_rows, g.column(error).statistics) for g in groups]
    return sum(rows - (ends.null_count or 0 if ends else 0) for rows, ends in known)


def make(folder: Path) -> None:
    """Make a folder in one that another sweep, ending just now, may take for empty and remove."""
    for _ in range(TRIES - 1):
        with suppress(FileNotFoundError):
            return folder.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)  # or the error: this file system makes no folders


def locked(folder: Path) -> int | None:
    """A descriptor that holds the folder's lock, or None: another has it or is removing the folder,
    it is another user's, or its file system has no locks."""
    lock = None
    with suppress(OSError):
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), os.stat(folder / ".lock")):
            return lock
    if lock is not None:
        os.close(lock)
    return None


def renamed(new: Path, path: Path) -> bool:
    """Rename a folder; whether no other folder was there."""
    try:
        new.rename(path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
            raise
        return False
    return True


def clear_leftovers(tables: Path) -> None:
    """Remove what killed sweeps left, with a line for each on stderr."""
    for part in (*found(tables, ".*.parquet.*.part"), *found(tables, "*.parquet/.*.part")):
        remove(part)
    for folder in found(tables, f"{UNFINISHED}/*"):
        lock = locked(folder)
        if lock is None:
            continue
        for earlier in folder.glob(f"{PUT_BACK}/*"):
            renamed(earlier, tables / earlier.name.partition(".")[2])
        if not (folder / "slices").is_dir():  # another sweep makes or removes it just now
            shutil.rmtree(folder, ignore_errors=True)
        elif is_of_no_use(folder):
            remove(folder)
        os.close(lock)


def found(folder: Path, pattern: str) -> list[Path]:
    """What fits a pattern in a folder where other sweeps add and remove just now."""
    return [folder / name for name in glob(pattern, root_dir=folder)]


def is_of_no_use(folder: Path) -> bool:
    """Whether nobody can go on from what is there."""
    old = time.time() - folder.stat().st_mtime > KEPT_AGE
    return old or not folder.name.endswith(code()) or not any(folder.glob("slices/*.parquet"))


def remove(left: Path) -> None:
    """Remove a file or folder that nobody owns, and say so."""
    with suppress(OSError):
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    tell(f"{'cannot remove' if left.exists() else 'removed'} what a killed sweep left: {left}")


def tell(text: str) -> None:
    """Say a line on stderr."""
    print(f"sweep: {text}", file=sys.stderr, flush=True)
