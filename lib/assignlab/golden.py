"""Golden vectors: what the originals answered, kept so that it can be checked without Java.

``tests/golden/<strategy>.jsonl.xz`` holds group documents, one a line, with the extra fields

- ``case``, ``event``: seed, history and step; what happened to the group before it,
- ``release``: the release of the original that answered,
- ``expected``: ``{"assignment": ...}`` or ``{"error": <class of the exception>}``; and
  ``next_owned``, the members' next claims, where they are not the assignment list by list, and
  ``hash_ties``, where consumers may see different orders,
- ``undetermined``: true, instead of ``expected``, where the original did not give one answer.

``python -m assignlab.golden`` records them anew from the live originals.
"""

import argparse
import json
import lzma
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from assignlab.histories import Document, play
from assignlab.oracle import PROJECT, Originals, original_of
from assignlab.verify import error_class, settled

FOLDER = PROJECT.parent / "tests" / "golden"
STRATEGIES = (
    "range",
    "roundrobin",
    "sticky",
    "cooperative-sticky",
    "range@2.0",
    "range@2.3",
    "range@2.4",
    "roundrobin@2.0",
    "sticky@2.0",
    "sticky@2.3",
    "sticky@2.4",
    "sticky@2.5",
    "sticky@2.8",
    "sticky@3.0",
    "sticky@3.4",
    "sticky@3.5.0",
    "sticky@3.5",
    "cooperative-sticky@2.4",
    "cooperative-sticky@2.5",
    "cooperative-sticky@2.8",
    "cooperative-sticky@3.0",
    "cooperative-sticky@3.4",
    "cooperative-sticky@3.4.0",
    "cooperative-sticky@3.5.0",
    "cooperative-sticky@3.5",
    "scala-range",
    "scala-roundrobin",
    "metaq-default",
    "metaq-consistent-hash",
    "rocketmq-avg",
    "rocketmq-avg-by-circle",
    "rocketmq-config",
    "rocketmq-consistent-hash",
    "rocketmq-machine-room",
    "rocketmq-machine-room-nearby",
    "server-range",
    "server-range@3.8",
    "server-simple",
    "server-simple@4.0",
    "server-simple@4.1",
    "server-uniform",
    "server-uniform@3.7",
    "server-uniform@3.9",
    "server-uniform@4.0.0",
    "franz-go-range",
    "franz-go-roundrobin",
    "kafka-go-range",
    "kafka-go-roundrobin",
    "kafka-python-cooperative-sticky",
    "kafka-python-range",
    "kafka-python-roundrobin",
    "kafka-python-sticky",
    "kafkajs-roundrobin",
    "librdkafka-cooperative-sticky",
    "librdkafka-range",
    "librdkafka-roundrobin",
    "sarama-range",
    "sarama-roundrobin",
)
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
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{strategy}{SUFFIX}"
    unfinished = path.with_suffix(".unfinished")
    with lzma.open(unfinished, "wt", encoding="utf-8", preset=9 | lzma.PRESET_EXTREME) as lines:
        for vector in vectors:
            lines.write(json.dumps(vector, ensure_ascii=False, separators=(",", ":")) + "\n")
    os.replace(unfinished, path)
    return path


def record(strategy: str, originals: Originals, states: int, seed: int) -> Iterator[Document]:
    """Vectors of whole histories, until there are ``states`` of them."""
    release = original_of(strategy)[1]
    number = made = 0
    while made < states:
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
            made += 1
            yield vector
        number += 1


def main(arguments: list[str] | None = None) -> None:
    """Records the vectors of some or all strategies."""
    parser = argparse.ArgumentParser(prog="python -m assignlab.golden", description=main.__doc__)
    parser.add_argument("strategies", nargs="*", default=STRATEGIES, metavar="STRATEGY")
    parser.add_argument("--states", type=int, default=STATES)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    with Originals() as originals:
        for strategy in options.strategies:
            vectors = list(record(strategy, originals, options.states, options.seed))
            path = write(strategy, vectors, options.folder)
            undetermined = sum("undetermined" in vector for vector in vectors)
            errors = sum("error" in vector.get("expected", {}) for vector in vectors)
            ties = sum("hash_ties" in vector.get("expected", {}) for vector in vectors)
            print(
                f"{path.name}: {len(vectors)} states, {errors} exceptions, {ties} hash ties, "
                f"{undetermined} without one answer, {path.stat().st_size / 1000:.0f} kB",
                file=sys.stderr,
            )


if __name__ == "__main__":
    main()
