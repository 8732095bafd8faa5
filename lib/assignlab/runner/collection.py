"""The notebooks and parameter files that come with assignlab, copied for use and change."""

import shutil
from importlib import metadata
from pathlib import Path, PurePosixPath

from assignlab.errors import AssignlabError
from assignlab.local.project import checkout

SHARED = PurePosixPath("share/assignlab")


class NotCopied(AssignlabError):
    """The notebooks were not copied; the message says why."""


def shipped() -> dict[PurePosixPath, Path]:
    """Path below a project's folder -> file: of the project's folder, or else of the wheel."""
    root = checkout()
    if root is None:
        return _of_the_wheel()
    patterns = ("notebooks/*.ipynb", "params/*/*.yaml", "constraints.txt")
    return {
        PurePosixPath(path.relative_to(root).as_posix()): path
        for pattern in patterns
        for path in root.glob(pattern)
    }


def _of_the_wheel() -> dict[PurePosixPath, Path]:
    try:
        files = metadata.files("assignlab") or []
    except metadata.PackageNotFoundError:
        files = []
    return {
        PurePosixPath(file.as_posix().partition(f"{SHARED}/")[2]): Path(file.locate()).resolve()
        for file in files
        if f"{SHARED}/" in file.as_posix()
    }


def copy_to(folder: Path) -> int:
    """Copy all to a folder, which is made if needed, and return how many files there are.

    Raises `NotCopied` where a file is there already: it may have been changed.
    """
    files = shipped()
    if not files:
        raise NotCopied(
            "this installation has no notebooks: install the wheel, or clone the project"
        )
    there = [str(path) for path in files if (folder / path).exists()]
    if there:
        raise NotCopied(f"{folder} has {there[0]} already: name another folder")
    for path, source in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / path)
    return len(files)
