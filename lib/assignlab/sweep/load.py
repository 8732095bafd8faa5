"""Has all that a strategy needs compiled or read from the cache, by playing small histories."""

from functools import cache

from assignlab.replay.records import COLUMNS, records
from assignlab.replay.scenarios import Scenario

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
        events=("FULL", "LEAVE_ONE", "JOIN_ONE", "TOPIC_DELETED"),
    ),
)  # fmt: skip
"""Small histories that lead through every compiled function: equal and different subscriptions,
claims old and new, static members, racks."""


ERROR, ROUNDS = ([column.name for column in COLUMNS].index(name) for name in ("error", "rounds"))


@cache
def load(strategy: str) -> str | None:
    """Have everything that the strategy needs in this process, compiled or from the cache.

    Returns why it failed, None if it did not; an original's own exception is an answer.
    """
    rows = [row for scenario in SCENARIOS for row in records(scenario, [strategy])]
    return next((row[ERROR] for row in rows if row[ROUNDS] is None), None)


@cache
def load_with_optimum(strategy: str) -> None:
    """Have the optimum's code in this process, too."""
    load(strategy)
    for _ in records(SCENARIOS[1], [strategy], optimum=True):
        pass
