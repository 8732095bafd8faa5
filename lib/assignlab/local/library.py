"""What the library is made of, as digests: the same results need the same library."""

import hashlib
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import assignlab


@cache
def library() -> dict[str, str]:
    """Room of this library -> digest of its files."""
    return rooms(Path(assignlab.__file__).parent)


def rooms(package: Path) -> dict[str, str]:
    """Room of a package -> digest of its files: sources, data and templates."""
    found: dict[str, list[Path]] = {}
    for path in package.rglob("*"):
        compiled = path.parent.name == "__pycache__" or path.suffix in (".nbi", ".nbc")
        if path.is_file() and not compiled:
            found.setdefault(path.relative_to(package).parts[0], []).append(path)
    return {room: digest(found[room]) for room in sorted(found)}


def digest(files: Iterable[Path]) -> str:
    """A digest of files, with their names."""
    found = hashlib.sha256()
    for path in sorted(files):
        content = path.read_bytes()
        found.update(f"{path.name}\0{len(content)}\0".encode() + content)
    return found.hexdigest()[:16]
