"""Ours against the live originals, on fresh random histories.

:func:`compare` plays histories through an original, asks ours the same documents, and reports every
difference, cut down to a small group, the smallest first. Where the original does not give one
answer to one question, the state is counted apart: there is nothing to be equal to.
"""

import base64
import json
import struct
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from itertools import count
from multiprocessing import get_context

from assignlab import assignors
from assignlab.assignors.answer import answer as our_answer
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.document import Document
from assignlab.proof.histories import Answer, answered_history
from assignlab.proof.originals import OriginalDied, Originals, OriginalTimedOut, original_of
from assignlab.proof.smaller import smallest, without

ASKED = 2
ASKED_OF_TREES = 40
ASKED_OF_EVERY_PROCESS = 16
"""The bridges of Python clients have so many processes, each with another hash seed."""
ASKED_IN_DOUBT = 1000
REPETITION_SECONDS = 20
SHRINK_SECONDS = 30
GIVES_UP = OriginalTimedOut, OriginalDied
"""What an original may raise while a difference is looked into: it is then told as it was found."""
MASK = 0xFFFFFFFF


@dataclass
class Difference:
    """One state where ours differs; ``document`` is the smallest that was found to do so."""

    case: str
    event: str
    document: Document
    original: Answer
    ours: Answer


@dataclass
class Report:
    """What was compared for one strategy."""

    strategy: str
    states: int = 0
    errors: int = 0
    undetermined: int = 0
    hash_ties: int = 0
    timed_out: int = 0
    events: Counter = field(default_factory=Counter)
    differences: list[Difference] = field(default_factory=list)

    def line(self) -> str:
        """One line of counts."""
        return (
            f"{self.strategy}: {self.states} states compared, {len(self.differences)} differences; "
            f"the original threw in {self.errors}, was not deterministic in {self.undetermined}, "
            f"reported hash ties in {self.hash_ties}, "
            f"gave no answer in time in {self.timed_out}"
        )


def same(original: Answer, ours: Answer) -> bool:
    """Equal lists for equal members, ties told alike; errors are equal if their classes are."""
    if "error" in original or "error" in ours:
        return error_class(original) == error_class(ours)
    return all(original.get(field) == ours.get(field) for field in ("assignment", "hash_ties"))


def answer(document: Document) -> Answer:
    """Ours; what breaks inside it is a difference to report, not the end of the comparison."""
    try:
        return our_answer(document)
    except Exception as broken:
        return {"error": f"{type(broken).__name__}: {broken}"}


def error_class(answer: Answer) -> str | None:
    """The simple class name in front of the colon, or None where there is no error.

    >>> error_class({"error": "NullPointerException: no metadata"}), error_class({"assignment": {}})
    ('NullPointerException', None)
    """
    return answer["error"].partition(":")[0] if "error" in answer else None


class NotUnderstood(AssignlabError):
    """A program of ``oracle/`` does not know what it is asked: the original gave no answer."""


def understood(answer: Answer) -> Answer:
    """An original's answer; raises :class:`NotUnderstood` where it is ``BadDocument``."""
    if error_class(answer) == "BadDocument":
        raise NotUnderstood(f"the original was not asked (oracle/README.md): {answer['error']}")
    return answer


def as_recorded(answer: Answer, fields: Iterable[str] = ("assignment", "hash_ties")) -> Answer:
    """An answer as it is recorded: those of the fields that it has, or the exception's class.

    Raises :class:`NotUnderstood` where there is nothing to record.
    """
    if "error" in understood(answer):
        return {"error": error_class(answer)}
    return {name: answer[name] for name in fields if name in answer}


def settled(
    ask: Callable[[Document], Answer], document: Document, times: int | None = None
) -> Answer | None:
    """The original's answer, or None if it does not always give the same one.

    A hash table that holds nine or more colliding partitions orders equal hash codes by the
    identity of the objects, which is new in every call; one answer may well come more often than
    the others. Such states are asked many times, others twice; so are the originals that walk
    tables without an order. ``times`` asks so often instead. Of an error the class counts: a JVM
    leaves out the message of one that it has thrown often.
    """
    first = ask(document)
    if error_class(first) == "NeverEnds":
        return first
    deadline = time.monotonic() + REPETITION_SECONDS
    for _ in range((times or times_to_ask(document)) - 1):
        again = ask(document)
        alike = "error" in first and error_class(again) == error_class(first)
        if again != first and not alike:
            return None
        if time.monotonic() > deadline:
            break
    return first


def times_to_ask(document: Document) -> int:
    """How often the same question is asked before the answer counts as settled."""
    strategy = facts(document)
    if strategy and "one_answer" in strategy.exceptions:
        return ASKED_OF_EVERY_PROCESS
    return ASKED_OF_TREES if colliding_partitions(document) else ASKED


def colliding_partitions(document: Document) -> bool:
    """Whether a HashMap of all partitions could hold a tree with equal hash codes in it.

    A bin becomes a tree from nine keys on in a table of 64 or more slots; a tree orders keys of
    equal hash code by identity, and what it makes of the order stays when the table grows. Claimed
    partitions are keys as well, whether they exist or not.
    """
    strategy = facts(document)
    topics = {topic["name"]: topic for topic in document["topics"]}
    partitions = {
        (name, partition)
        for name, topic in topics.items()
        for partition in range(topic.get("partitions", 0))
    } | {
        (name, partition)
        for member in document.get("members", ())
        for name, partition in member.get("owned") or ()
    }
    hashes = [
        (31 * (31 + partition) + key_hash(topics.get(name, {"name": name}), strategy)) & MASK
        for name, partition in partitions
    ]
    if len(hashes) == len(set(hashes)):
        return False
    slots = 64
    while slots <= 2 * len(hashes):
        bins = Counter((h ^ (h >> 16)) & (slots - 1) for h in hashes)
        if max(bins.values()) >= 9:
            return True
        slots *= 2
    return False


def facts(document: Document) -> Strategy | None:
    """The strategy that a document names, if it is one of ours."""
    return assignors.strategies().get(document.get("strategy", ""))


def key_hash(topic: Document, strategy: Strategy | None) -> int:
    """What a topic adds to a partition's hash code; coordinators before 4.1 know topics by Uuid."""
    if strategy is None or strategy.protocol != "server" or "id" not in topic:
        return java_hash(topic["name"])
    data = base64.urlsafe_b64decode(topic["id"] + "==")
    first, second, third, fourth = struct.unpack(">4I", data)
    return 31 * (first ^ second ^ third ^ fourth)


def java_hash(text: str) -> int:
    """``String.hashCode`` as an unsigned number; kept apart from the library that is tested.

    >>> java_hash("Aa") == java_hash("BB") == 2112
    True
    """
    value = 0
    units = text.encode("utf-16-be", "surrogatepass")
    for high, low in zip(units[::2], units[1::2], strict=True):
        value = (31 * value + 256 * high + low) & MASK
    return value


def compare(
    strategies: Iterable[str],
    histories: int,
    seed: int,
    progress: Callable[[str, int], None] = lambda strategy, done: None,
    ours: Callable[[Document], Answer] = answer,
    max_differences: int = 10,
    originals: Originals | None = None,
) -> Iterator[Report]:
    """One report per strategy, differences smallest first.

    ``originals``: those to ask, where some run already. Only the first ``max_differences`` are cut
    down; later ones are counted and kept as they are.
    Raises :class:`~assignlab.proof.originals.OriginalsUnavailable` where the originals cannot be
    run or one is not known, :class:`~assignlab.errors.UnknownName` for an unknown strategy.
    """
    strategies = askable(strategies)
    with Originals() if originals is None else nullcontext(originals) as asked:
        for strategy in strategies:
            report = Report(strategy)
            for number in range(histories):
                _compare_history(report, asked, seed, number, ours, max_differences)
                progress(strategy, number + 1)
            report.differences.sort(key=lambda difference: len(json.dumps(difference.document)))
            yield report


def askable(strategies: Iterable[str]) -> list[str]:
    """The names, refused as by :func:`compare` where one is no strategy or has no original."""
    strategies = list(strategies)
    for strategy in strategies:
        assignors.get(strategy)
        original_of(strategy)
    return strategies


def compare_many(
    strategies: Iterable[str], histories: int, seed: int, jobs: int
) -> Iterator[Report]:
    """The same in ``jobs`` processes, one strategy each; reports come as they are done."""
    strategies = askable(strategies)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(_report_of, name, histories, seed) for name in strategies]
        for done in as_completed(waiting):
            yield done.result()


def _report_of(strategy: str, histories: int, seed: int) -> Report:
    [report] = compare([strategy], histories, seed)
    return report


def _compare_history(report, originals, seed, number, ours, max_differences) -> None:
    steps = answered_history(report.strategy, seed, number, originals.ask)
    for step in count():
        try:
            event, document, _ = next(steps)
            original = settled(originals.ask, document)
        except StopIteration:
            return
        except OriginalTimedOut:
            report.timed_out += 1
            return
        report.events[event] += 1
        mine = ours(document)
        if original is not None and not same(original, mine):
            # Before it counts: an original that is not determined may have a rare second answer.
            with suppress(*GIVES_UP):
                original = settled(originals.ask, document, ASKED_IN_DOUBT)
        if original is None:
            report.undetermined += 1
            continue
        report.states += 1
        report.errors += "error" in original
        report.hash_ties += "hash_ties" in original
        if same(original, mine):
            continue
        if len(report.differences) < max_differences:
            with suppress(*GIVES_UP):
                document, original, mine = shrink(document, originals.ask, ours)
        case = f"seed {seed}, history {number}, step {step}"
        report.differences.append(Difference(case, event, document, original, mine))


def shrink(
    document: Document, ask: Callable[[Document], Answer], ours: Callable[[Document], Answer]
) -> tuple[Document, Answer, Answer]:
    """A smaller document on which both still differ, with both answers.

    Greedy: members, topics, claims, partitions and optional fields are left out one by one as long
    as the difference stays and the original stays determined, or until the time is up.
    """

    def differs(candidate: Document) -> bool:
        unlike = not same(ask(candidate), ours(candidate))
        return unlike and settled(ask, candidate, ASKED_OF_TREES) is not None

    small = smallest(document, differs, SHRINK_SECONDS)
    return small, ask(small), ours(small)


def show(difference: Difference) -> str:
    """One difference as lines to read and to paste."""
    return "\n".join((
        f"{difference.case} ({difference.event})",
        f"  document {json.dumps(difference.document)}",
        f"  original {json.dumps(without(difference.original, 'next_owned'))}",
        f"  ours     {json.dumps(without(difference.ours, 'next_owned'))}",
    ))  # fmt: skip
