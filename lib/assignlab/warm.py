"""Compiles everything once, so that no run waits for it: ``assignlab warm``.

Numba compiles a function when it is first called and keeps the machine code on disk. Playing a few
small histories through every strategy calls all of them.
"""

import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from multiprocessing import get_context

from assignlab import assignors
from assignlab.compiled import below
from assignlab.events import history
from assignlab.rebalance import records
from assignlab.scenarios import Scenario
from assignlab.spark import cores

SCENARIOS = (
    Scenario(
        members=3, topics=3, partitions=7, ids="plain",
        events=("FULL", "JOIN_ONE", "CRASH", "RETURN", "TOPIC_CREATED", "PARTITIONS_ADDED"),
    ),
    Scenario(
        members=6, topics=6, partitions=12, subscription="HETEROGENEOUS_NESTED",
        events=("FULL", "JOIN_ONE", "UNSUBSCRIBE", "LEAVE_ONE"),
    ),
    Scenario(
        members=3, topics=2, partitions=8, static=True, racks=2,
        events=("FULL", "LEAVE_ONE", "JOIN_ONE"),
    ),
)  # fmt: skip
"""Small histories that lead through every compiled function: equal and different subscriptions,
claims old and new, static members, racks."""


LARGEST = "cooperative-sticky"
"""Takes longest to compile, and shares little with those of other houses."""


@cache
def load(strategy: str) -> None:
    """Have everything that the strategy needs in this process, compiled or from the cache."""
    for scenario in SCENARIOS:
        for _ in records(scenario, [strategy]):
            pass


def main() -> None:
    """Load every strategy, with a line for each on stderr, on all cores.

    Strategies of one house share compiled functions, so one process takes them one after the
    other; two at once would compile the same functions twice.
    """
    began = time.monotonic()
    names = assignors.names()
    first, *others = names
    tell(f"{len(names)} strategies on {cores()} cores; what is compiled already takes no time")
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        # The house of the largest begins with what needs nothing of the others. Meanwhile the first
        # goes before the rest: what all share, measures above all, is compiled once then.
        *rest, large = sorted(houses(others), key=lambda house: LARGEST in house)
        jobs = [pool.submit(load_house, large, LARGEST)]
        pool.submit(timed, [first]).result()
        jobs += [pool.submit(load_timeline), *(pool.submit(timed, house) for house in rest)]
        for job in jobs:
            job.result()
    tell(f"done in {time.monotonic() - began:.1f} s")


def load_house(names: Iterable[str], largest: str) -> None:
    """Load strategies, the assignments of one of them first, which nobody measures yet."""
    began = time.monotonic()
    for scenario in SCENARIOS:
        for moment in history(scenario):
            assignors.get(largest).assign(moment.group)
    tell(f"{largest}, its assignments {time.monotonic() - began:.1f} s")
    timed(names)


def load_timeline() -> None:
    """Have the code of groups in simulated time compiled, with a line for it."""
    from assignlab import timeline

    began = time.monotonic()
    scenario = timeline.Scenario(
        [timeline.Topic("t", 4, rate=10)],
        [timeline.Member("a"), timeline.Member("b")],
        [timeline.crash(5_000, "b")],
        duration_ms=20_000,
    )
    timeline.totals(timeline.run(scenario, strategy="range"))
    tell(f"timeline {time.monotonic() - began:.1f} s")


def houses(names: Iterable[str]) -> list[list[str]]:
    """The names by the package that their strategies are in, largest package first.

    A house that builds on another one comes after those that do not: what it shares is compiled by
    then.
    """
    found: dict[str, list[str]] = {}
    shared: dict[str, set[str]] = {}
    for name in names:
        module = assignors.get(name).assign.__module__
        package = module.rpartition(".")[0]
        found.setdefault(package, []).append(name)
        shared.setdefault(package, set()).update(
            other for other in below(module)
            if other.startswith("assignlab.assignors.") and not other.startswith(package + ".")
        )  # fmt: skip
    order = sorted(found, key=lambda package: (len(shared[package]), -len(found[package])))
    return [found[package] for package in order]


def timed(names: Iterable[str]) -> None:
    """Load strategies in this process, with a line for each."""
    for name in names:
        began = time.monotonic()
        load(name)
        tell(f"{name} {time.monotonic() - began:.1f} s")


def tell(text: str) -> None:
    print(f"warm: {text}", file=sys.stderr, flush=True)
