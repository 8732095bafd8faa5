"""Golden vectors: what the originals answered, kept so that it can be checked without Java.

``tests/golden/<strategy>.jsonl.xz`` holds group documents, one a line, with the extra fields

- ``case``, ``event``: seed, history and step; what happened to the group before it,
- ``release``: the release of the original that answered,
- ``expected``: ``{"assignment": ...}`` or ``{"error": <class of the exception>}``; and
  ``next_owned``, the members' next claims, where they are not the assignment list by list, and
  ``hash_ties``, where consumers may see different orders,
- ``undetermined``: true, instead of ``expected``, where the original did not give one answer.

The sticky strategies of Kafka's consumer have beside their histories the group on which none of
them returns, with small changes: some of these end, some do not.

``assignlab proof golden`` records them anew from the live originals.
"""

import copy
import json
import lzma
import random
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, count
from pathlib import Path

from assignlab import assignors
from assignlab.group.document import Document
from assignlab.local.files import read_lines, write_lines
from assignlab.proof.histories import Answer, answered_history
from assignlab.proof.originals import PROJECT, Originals, original_of
from assignlab.proof.verify import as_recorded, askable, settled

FOLDER = PROJECT.parent / "tests" / "golden"
SUFFIX = ".jsonl.xz"
NEVER_ENDS = FOLDER.parent / "data" / "groups" / "never-ends.json"
CHANGED = 20
"""How many groups are made of the one that never ends."""

State = tuple[str, str, Document]
"""Its number, what happened before it, the group."""


def recorded(folder: Path = FOLDER) -> list[str]:
    """Names of the strategies that have vectors."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def read(strategy: str, folder: Path = FOLDER) -> Iterator[Document]:
    """The vectors of a strategy, in the order of their recording."""
    return read_lines(folder / f"{strategy}{SUFFIX}", lzma.open)


def write(strategy: str, vectors: Iterable[Document], folder: Path = FOLDER) -> Path:
    """Writes all vectors of a strategy; the file appears whole or not at all."""
    path = folder / f"{strategy}{SUFFIX}"
    write_lines(path, vectors, partial(lzma.open, preset=9 | lzma.PRESET_EXTREME))
    return path


def record(strategy: str, originals: Originals, states: int, seed: int) -> Iterator[Document]:
    """Vectors of whole histories, until there are ``states``, and of groups that may not end."""
    release = original_of(strategy)[1]
    histories = of_histories(strategy, originals, states, seed)
    beside = endless(strategy, seed, CHANGED) if may_not_end(strategy) else ()
    for case, event, document in chain(histories, beside):
        yield {
            **document,
            "case": f"{seed}/{case}",
            "event": event,
            "release": release,
            **expectation(settled(originals.ask, document)),
        }


def of_histories(strategy: str, originals: Originals, states: int, seed: int) -> Iterator[State]:
    """The states of whole histories, until there are ``states`` of them."""
    made = 0
    for number in count():
        for step, (event, document, _) in enumerate(
            answered_history(strategy, seed, number, originals.ask)
        ):
            made += 1
            yield f"{number}/{step}", event, document
        if made >= states:
            return


def may_not_end(strategy: str) -> bool:
    """Whether its vectors hold groups of :func:`endless`."""
    facts = assignors.strategies()[strategy]
    return facts.sticky and facts.system == "Kafka consumer"


def endless(strategy: str, seed: int, groups: int) -> Iterator[State]:
    """The group that never ends and its neighbours: other ids, a partition or a claim more or less."""
    known = json.loads(NEVER_ENDS.read_text("utf-8"))
    group = {**known, "strategy": strategy, "next_generation": 8}
    yield "never-ends/0", "a newcomer without end", group
    for number in range(1, groups):
        rng = random.Random(f"{seed}/{number}")
        changed = copy.deepcopy(group)
        rng.choice(changed["topics"])["partitions"] += rng.choice((-1, 0, 0, 1))
        claims = rng.choice(changed["members"]).get("owned")
        if claims and rng.random() < 0.3:
            claims.pop(rng.randrange(len(claims)))
        if rng.random() < 0.5:
            for member in changed["members"]:
                member["id"] = f"consumer-{rng.randrange(10**6)}"
        rng.shuffle(changed["members"])
        yield f"never-ends/{number}", "beside one without end", changed


def expectation(answer: Answer | None) -> Document:
    """The fields of a vector that say what was answered."""
    if answer is None:
        return {"undetermined": True}
    expected = as_recorded(answer, ("assignment", "next_owned", "hash_ties"))
    if "next_owned" in expected and expected["next_owned"] == expected["assignment"]:
        del expected["next_owned"]
    return {"expected": expected}


def main(strategies: Iterable[str], states: int, seed: int, folder: Path) -> None:
    """Record the vectors of strategies, with a line for each on stderr; refuses as :func:`askable`."""
    strategies = askable(strategies)
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
