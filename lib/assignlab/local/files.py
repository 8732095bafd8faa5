"""Files that appear whole or not at all."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4


@contextmanager
def whole(path: Path):
    """A temporary path beside `path` that takes its place at the end: whole or not at all.

    Raises IsADirectoryError where a folder is there, FileExistsError for a pipe or a device, which a
    file would replace.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():
        raise FileExistsError(errno.EEXIST, "is there and is no file", str(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    try:
        yield part
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)


def write_lines(path: Path, documents: Iterable, open: Callable = open) -> int:
    """Write JSON documents, one a line, whole or not at all; returns how many.

    ``open``: opens the file, as ``lzma.open`` would.
    """
    number = 0
    with whole(path) as part, open(part, "wt", encoding="utf-8") as file:
        for number, document in enumerate(documents, 1):
            file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
    return number


def read_lines(path: Path, open: Callable = open) -> Iterator:
    """The JSON documents of such a file, in order; ``open`` as above."""
    with open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write_json(path: Path, document) -> None:
    """Write a JSON document, whole or not at all. Raises ValueError on NaN and infinities."""
    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    with whole(path) as part:
        part.write_text(text + "\n", encoding="utf-8")
