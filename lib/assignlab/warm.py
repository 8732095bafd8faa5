"""Compiles everything once, so that no run waits for it: ``assignlab warm``.

Numba compiles a function when it is first called and keeps the machine code on disk. Playing a few
small histories through every strategy calls all of them.
"""

import sys
import time
from functools import cache

from assignlab import assignors
from assignlab.rebalance import records
from assignlab.scenarios import Scenario

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
    """Load every strategy, with a line for each on stderr."""
    began = time.monotonic()
    names = assignors.names()
    for number, name in enumerate(names, start=1):
        started = time.monotonic()
        print(f"warm: {number}/{len(names)} {name} ", end="", file=sys.stderr, flush=True)
        load(name)
        print(f"{time.monotonic() - started:.1f} s", file=sys.stderr, flush=True)
    print(f"warm: done in {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
