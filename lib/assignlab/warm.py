"""Compiles everything once, so that no run waits for it: ``assignlab warm``.

Numba compiles a function when it is first called and keeps the machine code on disk. Playing a few
small histories through every strategy calls all of them.
"""

import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from multiprocessing import get_context

from assignlab import assignors
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


@cache
def load(strategy: str) -> None:
    """Have everything that the strategy needs in this process, compiled or from the cache."""
    for scenario in SCENARIOS:
        for _ in records(scenario, [strategy]):
            pass


def main() -> None:
    """Load every strategy, with a line for each on stderr, on all cores."""
    began = time.monotonic()
    names = assignors.names()
    # The first alone: what all of them share is compiled once then.
    first, *others = names
    tell(f"{len(names)} strategies on {cores()} cores; what is compiled already takes no time")
    done = 0
    with ProcessPoolExecutor(cores(), mp_context=get_context("spawn")) as pool:
        for turn in ([first], others):
            for answer in as_completed([pool.submit(timed, name) for name in turn]):
                done += 1
                name, seconds = answer.result()
                tell(f"{done}/{len(names)} {name} {seconds:.1f} s")
    tell(f"done in {time.monotonic() - began:.1f} s")


def timed(name: str) -> tuple[str, float]:
    """Load a strategy in this process: (its name, seconds)."""
    began = time.monotonic()
    load(name)
    return name, time.monotonic() - began


def tell(text: str) -> None:
    print(f"warm: {text}", file=sys.stderr, flush=True)
