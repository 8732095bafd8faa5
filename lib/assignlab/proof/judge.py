"""Kafka's own tests judge us: their assertions, our assignments.

    assignlab proof judge             # 334 cases, a few minutes
    assignlab proof judge --quick     # without those that assert nothing
    assignlab proof judge --defects   # and with planted defects: how many cases turn red?

kafka-clients 4.3.1 is the newest release whose tests are published. The module
``oracle/kafka-tests`` runs them in a JVM in which every assignment that an assignor would make is
answered by one ``assignlab assign`` process instead, a group document a line. Where a JDK, Maven
or the jars are missing, :class:`~assignlab.proof.originals.OriginalsUnavailable` says so.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assignlab.errors import refuse_unknown
from assignlab.proof import originals
from assignlab.proof.defects import DEFECTS

TESTS = originals.System("kafka-tests", "assignlab.oracle.kafkatests.Judge", release="4.3.1")
PACKAGE = "org.apache.kafka.clients.consumer."
CLASSES = (
    "RangeAssignorTest",
    "RoundRobinAssignorTest",
    "StickyAssignorTest",
    "CooperativeStickyAssignorTest",
    "internals.AbstractPartitionAssignorTest",
    "ConsumerPartitionAssignorTest",
)
ASSERT_NOTHING = (
    "testLargeAssignmentAndGroupWithUniformSubscription",
    "testLargeAssignmentAndGroupWithNonEqualSubscription",
    "testAssignmentAndGroupWithNonEqualSubscriptionNotTimeout",
)
"""Methods that assign up to a million partitions against the clock and look at no result."""

SECONDS = 900


@dataclass(frozen=True)
class Case:
    """One case of a test class; ``calls``: assignments that were answered by us."""

    test_class: str
    method: str
    name: str
    calls: int
    failed: bool
    message: str | None


def answering(defect: str | None = None) -> list[str]:
    """The command of the process that answers: ``assignlab assign``, or one with a defect."""
    if defect is None:
        return [sys.executable, "-m", "assignlab", "assign"]
    return [sys.executable, "-m", "assignlab", "proof", "defects", defect]


def run_tests(
    command: Sequence[str], classes: Iterable[str] = CLASSES, without: Iterable[str] = ()
) -> list[Case]:
    """Run test classes while ``command`` answers; ``without``: test methods to leave out.

    Raises OriginalTimedOut or OriginalDied where they do not come to their end.
    """
    java = originals.java()
    jars = originals.classpath(TESTS, "")
    agent = jars.split(os.pathsep)[0]
    arguments = [PACKAGE + name for name in classes]
    for method in without:
        arguments += ["--without", method]
    try:
        done = subprocess.run(
            [java, *originals.LOG_APART, "-ea", "-Xmx3g", f"-javaagent:{agent}", "-cp", jars,
             TESTS.main, *arguments, "--", *command],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise originals.OriginalTimedOut(f"Kafka's tests took more than {SECONDS} s") from None
    if done.returncode != 0:
        raise originals.OriginalDied(f"Kafka's tests ended with code {done.returncode}")
    return [
        Case(row["class"].removeprefix(PACKAGE), row["method"], row["name"], row["calls"],
             row["failed"], row.get("message"))
        for row in map(json.loads, done.stdout.splitlines())
    ]  # fmt: skip


def red(cases: Iterable[Case]) -> list[Case]:
    """The cases that failed."""
    return [case for case in cases if case.failed]


def table(cases: Sequence[Case]) -> str:
    """Cases, cases that make an assignment, assignments answered by us, failures, as Markdown."""
    lines = ["| test class | cases | make an assignment | assignments | failures |",
             "| --- | ---: | ---: | ---: | ---: |"]  # fmt: skip
    names = list(dict.fromkeys(case.test_class for case in cases))
    for name in [*names, "all"]:
        mine = [case for case in cases if name in (case.test_class, "all")]
        counts = (len(mine), sum(case.calls > 0 for case in mine),
                  sum(case.calls for case in mine), len(red(mine)))  # fmt: skip
        lines.append(f"| {name} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(lines)


def without_assignment(cases: Iterable[Case]) -> dict[str, list[str]]:
    """By test class, the methods whose cases never make an assignment: not ours to pass or fail."""
    methods: dict[str, list[str]] = {}
    for case in cases:
        if case.calls == 0 and case.method not in methods.setdefault(case.test_class, []):
            methods[case.test_class].append(case.method)
    return {name: found for name, found in methods.items() if found}


def main(quick: bool, planted: Sequence[str]) -> int:
    """Print the tables, with a run for each planted defect; 1 if a case without one fails, else 0."""
    refuse_unknown("defect", planted, DEFECTS)
    cases = run_tests(answering(), without=ASSERT_NOTHING if quick else ())
    print(table(cases), flush=True)
    for case in red(cases):
        print(f"\n{case.test_class}.{case.method} {case.name}\n  {case.message}")
    print("\nNo assignment is made, so nothing is asked of us, in:")
    for name, methods in without_assignment(cases).items():
        print(f"- {name}: {', '.join(methods)}")
    if planted:
        print("\n| planted defect | what it does | red cases | of |\n| --- | --- | ---: | ---: |")
        for name in planted:
            others = run_tests(answering(name), without=ASSERT_NOTHING)
            made = sum(case.calls > 0 for case in others)
            meaning = DEFECTS[name].meaning
            print(f"| {name} | {meaning} | {len(red(others))} | {made} |", flush=True)
    return 1 if red(cases) else 0
