"""Which releases of Kafka, clients and coordinators, assign alike: compared with one another.

    python -m assignlab.versions [--histories 150] [--seed 1] [range server-uniform ...]

Histories are played once, half of them through the oldest release that has the strategy and half
through the newest, so that claims of both are met. Then every release is asked the same documents,
and each is compared with the release before: how many answers differ as ordered lists, and how many
as sets (one of two exceptions, or exceptions of different classes, differ both ways). States in
which a HashMap of partitions may order equal hash codes by identity are left out.
"""

import argparse
from dataclasses import dataclass
from itertools import pairwise

from assignlab.histories import play
from assignlab.oracle import SYSTEMS, Original, System
from assignlab.verify import Answer, Document, colliding_partitions, error_class

STRATEGIES = (
    "range", "roundrobin", "sticky", "cooperative-sticky", "server-range", "server-uniform",
    "server-simple",
)  # fmt: skip
OLDEST = {"cooperative-sticky": "2.4", "server-simple": "3.9"}


@dataclass(frozen=True)
class Step:
    """One release against the one before, over the states of common histories."""

    strategy: str
    before: str
    release: str
    states: int
    lists: int
    sets: int


def releases(strategy: str) -> list[tuple[System, str]]:
    """The releases of the axis that have the strategy, oldest first, with their systems."""
    systems = [system for system in SYSTEMS if strategy in system.strategies]
    named = {
        version: (system, release)
        for system in systems
        for version, release in system.releases.items()
    }
    newest = named.pop("")
    axis = [named[version] for version in named]
    if newest not in axis:
        axis.append(newest)
    oldest = named.get(OLDEST.get(strategy, ""), axis[0])
    return axis[axis.index(oldest) :]


def common_documents(strategy: str, histories: int, seed: int) -> list[Document]:
    """The states of common histories: group documents without the name of a version."""
    documents = []
    axis = releases(strategy)
    for half, (system, release) in enumerate((axis[0], axis[-1])):
        with Original(system, release) as original:
            for number in range(half, histories, 2):
                for _, document, _ in play(strategy, seed, number, original.ask):
                    if not colliding_partitions(document):
                        documents.append(document)
    return documents


def answers(system: System, release: str, documents: list[Document]) -> list[Answer]:
    """What a release answers."""
    with Original(system, release) as original:
        return [original.ask(document) for document in documents]


def as_sets(answer: Answer) -> Answer | None:
    """The answer without the order inside the members' lists."""
    if "error" in answer:
        return {"error": error_class(answer)}
    return {member: sorted(owned) for member, owned in answer["assignment"].items()}


def as_lists(answer: Answer) -> Answer:
    """The answer, of exceptions only the class."""
    return {"error": error_class(answer)} if "error" in answer else answer["assignment"]


def compare(strategy: str, histories: int, seed: int):
    """Every release of the axis against the one before: yields :class:`Step`."""
    documents = common_documents(strategy, histories, seed)
    axis = releases(strategy)
    before = answers(*axis[0], documents)
    for (_, older), (system, newer) in pairwise(axis):
        now = answers(system, newer, documents)
        pairs = list(zip(before, now, strict=True))
        yield Step(
            strategy,
            older,
            newer,
            len(documents),
            sum(as_lists(one) != as_lists(other) for one, other in pairs),
            sum(as_sets(one) != as_sets(other) for one, other in pairs),
        )
        before = now


def main() -> None:
    """Print the table as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--histories", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print("| strategy | release | against | states | other lists | other sets |")
    print("| --- | --- | --- | --- | --- | --- |")
    for strategy in given.strategies:
        for step in compare(strategy, given.histories, given.seed):
            print(
                f"| {strategy} | {step.release} | {step.before} | {step.states} "
                f"| {step.lists} | {step.sets} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
