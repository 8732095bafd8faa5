"""Which releases of Kafka, clients and coordinators, assign alike: compared with one another.

    assignlab proof versions [--histories 150] [--seed 1] [range server-uniform ...]

Histories are played once, half of them through the oldest release that has the strategy and half
through the newest, so that claims of both are met. Then every release is asked the same documents,
and each is compared with the release before: how many answers differ as ordered lists, and how many
as sets (one of two exceptions, or exceptions of different classes, differ both ways). States in
which a HashMap of partitions may order equal hash codes by identity are left out.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from assignlab import assignors
from assignlab.group.document import Document
from assignlab.proof.histories import answered_history
from assignlab.proof.originals import SYSTEMS, Original, System, has_original, original_of
from assignlab.proof.verify import Answer, colliding_partitions, error_class
from assignlab.releases import version


class Step(NamedTuple):
    """One release against the one before, over the states of common histories."""

    strategy: str
    release: str
    before: str
    states: int
    lists: int
    sets: int


def releases(base: str) -> list[tuple[System, str]]:
    """The releases that have a strategy (named without a release), oldest first: (system, release).

    Raises OriginalsUnavailable where no original is known.
    """
    artifact = original_of(base)[0].artifact
    everybody = assignors.strategies().values()
    run = {original_of(s.name) for s in everybody if s.original.startswith(f"{artifact}:")}
    run |= {(s, release) for s in SYSTEMS if s.artifact == artifact for release in s.between}
    first = min(version(strategy.first) for strategy in everybody if strategy.base == base)
    axis = sorted(run, key=lambda one: version(one[1]))
    return [one for one in axis if version(one[1]) >= first]


def compared() -> list[str]:
    """The strategies, by their names without a release, that several releases have."""
    bases = {s.base: None for s in assignors.strategies().values() if has_original(s.name)}
    return [base for base in bases if len(releases(base)) > 1]


def common_documents(strategy: str, histories: int, seed: int) -> list[Document]:
    """The states of common histories: group documents without the name of a version."""
    documents = []
    axis = releases(strategy)
    for half, (system, release) in enumerate((axis[0], axis[-1])):
        with Original(system, release) as original:
            for number in range(half, histories, 2):
                for _, document, _ in answered_history(strategy, seed, number, original.ask):
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


def compare(strategy: str, histories: int, seed: int) -> Iterator[Step]:
    """Every release of the axis against the one before."""
    documents = common_documents(strategy, histories, seed)
    axis = releases(strategy)
    before = answers(*axis[0], documents)
    for (_, older), (system, newer) in pairwise(axis):
        now = answers(system, newer, documents)
        pairs = list(zip(before, now, strict=True))
        lists, sets = (
            sum(alike(one) != alike(other) for one, other in pairs) for alike in (as_lists, as_sets)
        )
        yield Step(strategy, newer, older, len(documents), lists, sets)
        before = now


def main(strategies: Iterable[str], histories: int, seed: int) -> None:
    """Print the table as Markdown; of a name with a release all releases are compared."""
    strategies = dict.fromkeys(assignors.get(name).base for name in strategies)
    for strategy in strategies:
        releases(strategy)  # one without an original is told before anything is played
    print("| strategy | release | against | states | other lists | other sets |")
    print("| --- | --- | --- | --- | --- | --- |")
    for strategy in strategies:
        for step in compare(strategy, histories, seed):
            print(f"| {' | '.join(map(str, step))} |", flush=True)
