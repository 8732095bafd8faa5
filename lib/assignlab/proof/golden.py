"""Golden vectors: what the originals answered, kept so that it can be checked without Java.

``tests/golden/<strategy>.jsonl.xz`` holds group documents, one a line, with the extra fields

- ``case``, ``event``: seed, history and step; what happened to the group before it,
- ``release``: the release of the original that answered,
- ``expected``: ``{"assignment": ...}`` or ``{"error": <class of the exception>}``; and
  ``next_owned``, the members' next claims, where they are not the assignment list by list, and
  ``hash_ties``, where consumers may see different orders,
- ``undetermined``: true, instead of ``expected``, where the original did not give one answer.

``assignlab proof golden`` records them anew from the live originals.
"""

import json
import lzma
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import count
from pathlib import Path

from assignlab.local.files import write_lines
from assignlab.proof.histories import Document, play
from assignlab.proof.originals import PROJECT, Originals, original_of
from assignlab.proof.verify import error_class, settled

FOLDER = PROJECT.parent / "tests" / "golden"
SEED = 20261120
STATES = 2400
SUFFIX = ".jsonl.xz"


def recorded(folder: Path = FOLDER) -> list[str]:
    """Names of the strategies that have vectors."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def read(strategy: str, folder: Path = FOLDER) -> Iterator[Document]:
    """The vectors of a strategy, in the order of their recording."""
    with lzma.open(folder / f"{strategy}{SUFFIX}", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def write(strategy: str, vectors: Iterable[Document], folder: Path = FOLDER) -> Path:
    """Writes all vectors of a strategy; the file appears whole or not at all."""
    path = folder / f"{strategy}{SUFFIX}"
    write_lines(path, vectors, partial(lzma.open, preset=9 | lzma.PRESET_EXTREME))
    return path


def record(strategy: str, originals: Originals, states: int, seed: int) -> Iterator[Document]:
    """Vectors of whole histories, until there are ``states`` of them."""
    made = 0
    for number in count():
        if made >= states:
            return
        for vector in vectors_of(strategy, originals, seed, number):
            made += 1
            yield vector


def vectors_of(strategy: str, originals: Originals, seed: int, number: int) -> Iterator[Document]:
    """The vectors of one history."""
    release = original_of(strategy)[1]
    for step, (event, document, _) in enumerate(play(strategy, seed, number, originals.ask)):
        vector = dict(document)
        vector |= {"case": f"{seed}/{number}/{step}", "event": event, "release": release}
        answer = settled(originals.ask, document)
        if answer is None:
            vector["undetermined"] = True
        elif "error" in answer:
            vector["expected"] = {"error": error_class(answer)}
        else:
            vector["expected"] = {"assignment": answer["assignment"]}
            if answer.get("next_owned", answer["assignment"]) != answer["assignment"]:
                vector["expected"]["next_owned"] = answer["next_owned"]
            if "hash_ties" in answer:
                vector["expected"]["hash_ties"] = answer["hash_ties"]
        yield vector


def main(strategies: Iterable[str], states: int, seed: int, folder: Path) -> None:
    """Record the vectors of strategies, with a line for each on stderr."""
    with Originals() as originals:
        for strategy in strategies:
            vectors = list(record(strategy, originals, states, seed))
            path = write(strategy, vectors, folder)
            undetermined = sum("undetermined" in vector for vector in vectors)
            errors = sum("error" in vector.get("expected", {}) for vector in vectors)
            ties = sum("hash_ties" in vector.get("expected", {}) for vector in vectors)
            print(
                f"{path.name}: {len(vectors)} states, {errors} exceptions, {ties} hash ties, "
                f"{undetermined} without one answer, {path.stat().st_size / 1000:.0f} kB",
                file=sys.stderr,
            )
