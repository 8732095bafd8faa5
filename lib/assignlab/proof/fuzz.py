"""Fuzz: random histories through every strategy, every answer against the strategy's promises.

    assignlab fuzz --assignments 100000 --seed 1
    assignlab fuzz --strategy sticky --seed 1 --step 4711      # one state once more
    assignlab fuzz --defects                                   # planted defects: who notices?

Groups live through all kinds of events (:mod:`assignlab.proof.histories`): members come, go, crash
and return with stale claims, topics grow, vanish and are created anew, and some claims are such as
no healthy group sends. What an original is known to get wrong (:mod:`assignlab.proof.faults`) is
counted by name; anything else that breaks a promise, and whatever breaks inside a strategy, is a
failure, can be played again by seed and step, and is cut down to a small group document.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count, islice
from typing import Any

from assignlab import assignors
from assignlab.errors import OriginalError
from assignlab.group import document as documents
from assignlab.group.document import Document
from assignlab.proof import defects, faults
from assignlab.proof.histories import answered_history
from assignlab.proof.promises import CHECKS, Broken, broken, common_checker, promises
from assignlab.proof.smaller import smallest
from assignlab.proof.state import Lists, State, solve
from assignlab.proof.verify import answer as our_answer

STEPS = 8
MOST_ASKED = 10
CUT_SECONDS = 60


@dataclass
class Failure:
    """A promise broken where no fault of the original is known; ``document`` as found."""

    strategy: str
    seed: int
    step: int
    event: str
    broken: Broken
    document: Document

    def command(self) -> str:
        """Plays this state again."""
        return f"assignlab fuzz --strategy {self.strategy} --seed {self.seed} --step {self.step}"


@dataclass
class Report:
    """What was seen of one strategy."""

    strategy: str
    assignments: int = 0
    promises: int = 0
    thrown: int = 0
    events: Counter = field(default_factory=Counter)
    known: Counter = field(default_factory=Counter)
    failures: list[Failure] = field(default_factory=list)


def answer(document: Document) -> dict[str, Any]:
    """Our answer, with the members' next claims where the document asks for them."""
    group = documents.parse(document)
    strategy = assignors.get(document["strategy"])
    try:
        assignment = strategy.assign(group)
    except Exception as error:  # the original's or ours: who judges the state will tell
        return {"error": str(error)}
    reply = {"assignment": strategy.render(group, assignment)}
    if "next_generation" in document and strategy.sticky:
        reply["next_owned"] = documents.lists(group, strategy.sent_back(group, assignment))
    return reply


def states(strategy: str, seed: int) -> Iterator[tuple[int, str, Document]]:
    """(step, event, document) of history after history; steps count through all of them."""
    for number in count():
        history = answered_history(strategy, seed, number, answer, STEPS)
        for step, (event, document, _) in enumerate(history, number * STEPS):
            yield step, event, document


def state_at(strategy: str, seed: int, step: int) -> tuple[str, Document]:
    """(event, document) of one step."""
    history = list(answered_history(strategy, seed, step // STEPS, answer, step % STEPS + 1))
    event, document, _ = history[-1]
    return event, document


def answered(document: Document) -> tuple[State, str | None]:
    """(the group with our answer, the exception that it is instead)."""
    try:
        return State(document, solve(document)), None
    except OriginalError as error:
        return State(document, {}), error.original


def check_promises(
    strategies: Iterable[str], assignments: int, seed: int, progress=lambda report: None
):
    """Yields a :class:`Report` per strategy; together they make at least ``assignments``."""
    strategies = list(strategies)
    each = -(-assignments // len(strategies))
    for name in strategies:
        report = Report(name, promises=len(promises(assignors.get(name))))
        for step, event, document in states(name, seed):
            if report.assignments >= each or report.events.total() > MOST_ASKED * each:
                break
            _judge(report, seed, step, event, document)
            progress(report)
        yield report


def _judge(report: Report, seed: int, step: int, event: str, document: Document) -> None:
    report.events[event] += 1

    def fail(one: Broken) -> None:
        report.failures.append(Failure(report.strategy, seed, step, event, one, document))

    try:
        state, thrown = answered(document)
        found = broken(state) if thrown is None else [Broken(_throws(thrown), "it throws")]
    except Exception as error:  # ours, which no fault of an original excuses
        fail(Broken(_throws(type(error).__name__), str(error)))
        return
    report.assignments += thrown is None
    report.thrown += thrown is not None
    for one in found:
        fault = faults.known(state, one.promise, thrown or "")
        if fault is not None:
            report.known[fault.name] += 1
        else:
            fail(one)


def _throws(thrown: str) -> str:
    """In the place of a promise; no fault excuses it by this name."""
    return f"throws {thrown}"


# ---- a smaller group that fails alike ----------------------------------------------------------


def fails_alike(promise: str, document: Document) -> bool:
    """Whether a document breaks a promise, and no known fault explains it."""
    try:
        state, thrown = answered(document)
        if thrown is None:
            alike = promise in CHECKS and bool(broken(state, [promise]))
        else:
            alike = promise == _throws(thrown)
    except Exception as error:
        return promise == _throws(type(error).__name__)
    return alike and faults.known(state, promise, thrown or "") is None


# ---- planted defects ---------------------------------------------------------------------------

PLANTED_IN = ("range", "roundrobin", "sticky", "cooperative-sticky", "server-range",
              "server-uniform", "metaq-default", "rocketmq-consistent-hash")  # fmt: skip
"""Of each protocol, and few, since each is played for every defect: a test says that every defect can
be planted in an answer of one of them."""


@dataclass
class Noticed:
    """In how many answers a defect was planted, and how many of these each checker refused."""

    planted: int = 0
    ours: int = 0
    common: int = 0
    promises: Counter = field(default_factory=Counter)


def plant(
    strategies: Iterable[str] = PLANTED_IN, groups: int = 150, seed: int = 1
) -> dict[str, Noticed]:
    """By name of the defect, who noticed it. Only in answers that break nothing by themselves."""
    sound = [
        (document, lists)
        for strategy in strategies
        for document, lists in islice(_sound(strategy, seed), groups)
    ]
    table = {}
    for name in defects.DEFECTS:
        noticed = table[name] = Noticed()
        for document, lists in sound:
            flawed = _flawed(name, document, lists)
            if flawed is None:
                continue
            noticed.planted += 1
            state = State(document, flawed, lambda d, name=name: _answered(name, d))
            found = broken(state)
            noticed.ours += bool(found)
            noticed.promises.update(one.promise for one in found)
            noticed.common += common_checker(state) is not None
    return table


def _sound(strategy: str, seed: int) -> Iterator[tuple[Document, Lists]]:
    """Groups of the fuzz in which the strategy keeps its promises, and its lists."""
    for _, _, document in states(strategy, seed):
        state, thrown = answered(document)
        if thrown is None and not broken(state):
            yield document, state.lists


def _flawed(name: str, document: Document, lists: Lists) -> Lists | None:
    """The flawed lists; None where the defect has no place, or changes only the order of a set."""
    flawed = defects.flawed(name, document, lists)
    if flawed is not None and assignors.get(document["strategy"]).protocol == "server":
        ordered = {member: sorted(given) for member, given in flawed.items()}
        if ordered == {member: sorted(given) for member, given in lists.items()}:
            return None
    return flawed


def _answered(name: str, document: Document) -> Lists:
    lists = solve(document)
    return _flawed(name, document, lists) or lists


def defects_table(table: dict[str, Noticed]) -> str:
    """Defect, how often planted, how often refused by our promises and by the shared checker."""
    lines = ["| planted defect | what it does | planted | ours | shared checker | noticed by |",
             "| --- | --- | ---: | ---: | ---: | --- |"]  # fmt: skip
    for name, noticed in table.items():
        by = ", ".join(promise for promise, _ in noticed.promises.most_common(2))
        lines.append(
            f"| {name} | {defects.DEFECTS[name].meaning} | {noticed.planted} "
            f"| {_percent(noticed.ours, noticed.planted)} "
            f"| {_percent(noticed.common, noticed.planted)} | {by} |"
        )
    return "\n".join(lines)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def table(reports: Iterable[Report]) -> str:
    """One row per strategy, as Markdown."""
    lines = ["| strategy | assignments | promises | exceptions | known breaches | failures |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for r in reports:
        counts = (r.assignments, r.promises, r.thrown, sum(r.known.values()), len(r.failures))
        lines.append(f"| {r.strategy} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


# ---- the command -------------------------------------------------------------------------------

SHOWN = 5


def show(names: list[str], assignments: int, seed: int, say: Callable[[str], None]) -> int:
    """Run, tell the tables and the first failures, cut down; 1 if there were any, else 0."""

    def progress(report: Report) -> None:
        done = report.assignments + report.thrown
        if sys.stderr.isatty() and done % 100 == 0:
            print(f"\r{report.strategy}: {done}", end="\033[K", file=sys.stderr, flush=True)

    reports = list(check_promises(names, assignments, seed, progress))
    if sys.stderr.isatty():
        print("\r\033[K", end="", file=sys.stderr)
    say(table(reports))
    say(f"\nassignments: {sum(report.assignments for report in reports)}, "
        f"exceptions of the originals: {sum(report.thrown for report in reports)}")  # fmt: skip
    for title, counts in (
        ("event", sum((report.events for report in reports), Counter())),
        ("known fault of the originals", sum((report.known for report in reports), Counter())),
    ):
        if counts:
            say(f"\n| {title} | times |\n| --- | ---: |")
        for name, times in counts.most_common():
            say(f"| {name} | {times} |")
    failures = [failure for report in reports for failure in report.failures]
    seen = set()
    for failure in failures:
        key = failure.strategy, failure.broken.promise
        if key not in seen and len(seen) < SHOWN:
            seen.add(key)
            say(told(failure))
    return 1 if failures else 0


def show_step(strategy: str, seed: int, step: int, say: Callable[[str], None]) -> int:
    """Play one state again and tell all about it; 1 if it is a failure, else 0."""
    event, document = state_at(strategy, seed, step)
    report = Report(strategy)
    _judge(report, seed, step, event, document)
    say(f"{event}\n{json.dumps(document)}\n{json.dumps(our_answer(document))}")
    for name in report.known:
        say(f"known fault of the original: {name}")
    for failure in report.failures:
        say(told(failure))
    if not report.failures:
        say("no promise is broken that the original keeps")
    return 1 if report.failures else 0


def told(failure: Failure) -> str:
    """A failure as lines to read, to play again and to paste."""
    fails = partial(fails_alike, failure.broken.promise)
    document = smallest(failure.document, fails, CUT_SECONDS)
    return "\n".join((
        f"\n{failure.strategy} breaks {failure.broken.promise}: {failure.broken.reason}",
        f"  {failure.event}; again: {failure.command()}",
        f"  smallest: {json.dumps(document)}",
        f"  answer:   {json.dumps(our_answer(document))}",
    ))  # fmt: skip
