"""A consumer group in simulated time: triggers, coordinator, generations, offsets, delivery.

>>> from assignlab import timeline
>>> scenario = timeline.Scenario(
...     topics=[timeline.Topic("t", 4, rate=10)],
...     members=[timeline.Member("a"), timeline.Member("b")],
...     actions=[timeline.crash(20_000, "b")],
...     duration_ms=90_000,
... )
>>> history = timeline.run(scenario, strategy="range", seed=1)
>>> [event.time_ms for event in history.events if event.kind == "generation"]
[6005, 63011]
"""

from collections.abc import Sequence

from assignlab import assignors
from assignlab.timeline.config import Config, TimelineError, defaults
from assignlab.timeline.history import History
from assignlab.timeline.measure import (
    deliveries_frame,
    losses,
    per_event,
    repeats,
    samples_frame,
    totals,
    unowned,
    watched_frame,
)
from assignlab.timeline.scenario import (
    Action,
    Member,
    Scenario,
    Topic,
    add_partitions,
    back,
    coordinator_moves,
    crash,
    create_topic,
    freeze,
    join,
    leave,
    restart,
    rolling_restart,
    stall,
    subscribe,
)
from assignlab.timeline.world import World

__all__ = [
    "Action", "Config", "History", "Member", "Scenario", "TimelineError", "Topic",
    "add_partitions", "back", "coordinator_moves", "crash", "create_topic", "defaults",
    "deliveries_frame", "freeze", "join", "leave", "losses", "per_event", "repeats", "restart",
    "rolling_restart", "run", "samples_frame", "stall", "subscribe", "totals", "unowned",
    "watched_frame",
]  # fmt: skip


def run(
    scenario: Scenario,
    config: Config | None = None,
    strategy: str | Sequence[str] = "range",
    seed: int = 0,
) -> History:
    """Simulate a scenario; returns its history.

    ``strategy``: the name of a strategy, which decides on the protocol, too; several, most wanted
    first, are what every member proposes. ``seed``: of member ids, topic ids and start moments.
    Raises :class:`TimelineError` or :class:`~assignlab.errors.UnknownName` for what is wrong.
    """
    names = (strategy,) if isinstance(strategy, str) else tuple(strategy)
    if not names:
        raise TimelineError("strategy: expected at least one name")
    strategies = tuple(assignors.get(name) for name in names)
    return World(scenario, config or Config(), strategies, seed).run()
