"""Compiles everything once, so that no run waits for it: ``assignlab warm``.

Numba compiles a function when it is first called and keeps the machine code on disk. Playing a few
small histories through every strategy calls all of them.
"""

import gc
import io
import sys
import tempfile
import time
from collections.abc import Collection, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import redirect_stderr, suppress

from assignlab import assignors
from assignlab.compiled.sources import below
from assignlab.group import group
from assignlab.local.project import cores
from assignlab.optimum import front, least, measures, optimum, regret
from assignlab.replay.history import history
from assignlab.replay.kafkas_grid import LARGE
from assignlab.replay.records import records
from assignlab.replay.scenarios import Scenario
from assignlab.sweep.child import COLLECT_SELDOM
from assignlab.sweep.load import SCENARIOS, load

LONGEST = "cooperative-sticky"
"""The strategy that takes longest to compile."""


def main(names: Collection[str] = ()) -> list[str]:
    """Load strategies, with a line for each on stderr, on all cores; all, where none is named.

    Returns those that could not be played.

    Strategies of one system share compiled functions, so one process takes them one after the
    other; two at once would compile the same functions twice.
    """
    began = time.monotonic()
    everything = not names
    first, *others = names or assignors.names()
    tell(f"{len(others) + 1} strategies on {cores()} cores; what is compiled already takes no time")
    pool = ProcessPoolExecutor(cores(), initializer=gc.set_threshold, initargs=COLLECT_SELDOM)
    with pool:
        # Everything waits for the longest, so it starts at once, with its assignments alone. What
        # all strategies share, above all the measures, is compiled beside it by the first strategy;
        # the others come when that is done, and find it.
        systems = by_system(others)
        jobs = [pool.submit(load_longest_first, s) for s in systems if LONGEST in s]
        failed = pool.submit(timed, [first]).result()
        # What takes long begins early, or one core waits for it at the end.
        jobs += [pool.submit(load_optimum)] if everything else []
        jobs += [pool.submit(timed, system) for system in systems if LONGEST not in system]
        # Spark at last: its tasks would compile what is not there yet.
        last = (load_large, load_timeline, load_spark) if everything else ()
        jobs += [pool.submit(job) for job in last]
        for job in jobs:
            failed += job.result() or []
    tell(f"done in {time.monotonic() - began:.1f} s")
    return failed


def load_longest_first(names: Iterable[str]) -> list[str]:
    """:func:`timed`, and before it the assignments of the longest, without measuring them."""
    began = time.monotonic()
    for scenario in SCENARIOS:
        for moment in history(scenario):
            assignors.get(LONGEST).assign(moment.group)
    tell(f"{LONGEST}, its assignments {time.monotonic() - began:.1f} s")
    return timed(names)


def load_optimum() -> None:
    began = time.monotonic()
    claims = [("t", 0), ("t", 1), ("u", 0)]
    both = group({"t": 2, "u": 1}, {"a": ["t", "u"], "b": ["t"]}, {"a": claims, "b": claims[:1]})
    regret(both, optimum(both).assignment)
    front(both)
    least(both)
    measures(both, optimum(both).assignment)
    tell(f"optimum {time.monotonic() - began:.1f} s")


def load_large() -> None:
    """Have the code compiled that serves large groups alone, with a line for it."""
    began = time.monotonic()
    large = Scenario(members=LARGE, topics=LARGE, partitions=LARGE)
    for _ in records(large, ["range"]):
        pass
    tell(f"large groups {time.monotonic() - began:.1f} s")


def load_spark() -> None:
    """Have Java keep Spark's classes, with a line for it; nothing where no Java can."""
    from assignlab import sweep
    from assignlab.sweep.spark import SparkDidNotStart, keep_classes

    def small_sweep():
        with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
            grid = sweep.grid(members=[2], topics=[1], partitions=[2])
            sweep.run(grid, ["range"], name="warm", to=folder).summary(["strategy"], ["count_gap"])

    began = time.monotonic()
    with suppress(SparkDidNotStart, OSError):  # NoJava is one
        if keep_classes(small_sweep):
            tell(f"Spark's classes {time.monotonic() - began:.1f} s")


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
    for strategy in ("range", "server-range"):  # a client of each protocol
        timeline.totals(timeline.run(scenario, strategy=strategy))
    tell(f"timeline {time.monotonic() - began:.1f} s")


def by_system(names: Iterable[str]) -> list[list[str]]:
    """The names by their system, first that with most source below its strategies: it takes longest."""
    found: dict[str, list[str]] = {}
    sources: dict[str, dict[str, str]] = {}
    for name in names:
        strategy = assignors.get(name)
        found.setdefault(strategy.system, []).append(name)
        sources.setdefault(strategy.system, {}).update(below(strategy.assign.__module__))
    size = {system: sum(map(len, texts.values())) for system, texts in sources.items()}
    return [found[system] for system in sorted(found, key=lambda system: -size[system])]


def timed(names: Iterable[str]) -> list[str]:
    """Load strategies in this process, with a line for each; returns those that failed."""
    failed = []
    for name in names:
        began = time.monotonic()
        why = load(name)
        tell(f"{name} " + (f"failed: {why}" if why else f"{time.monotonic() - began:.1f} s"))
        failed += [name] if why else []
    return failed


def tell(text: str) -> None:
    """Say on stderr what is being compiled."""
    print(f"warm: {text}", file=sys.stderr, flush=True)
