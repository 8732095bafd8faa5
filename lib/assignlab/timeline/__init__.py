"""A consumer group in simulated time: triggers, coordinator, generations, offsets, delivery.

A crash, seen 43 s later, when the session is over:

>>> from assignlab import timeline
>>> scenario = timeline.Scenario(
...     topics=[timeline.Topic("t", 4, rate=10)],
...     members=[timeline.Member("a"), timeline.Member("b")],
...     actions=[timeline.crash(20_000, "b")],
...     duration_ms=90_000,
... )
>>> history = timeline.run(scenario, strategy="range", seed=1)
>>> history
History(range, seed 1): 2 members in 90 s, 19 events
>>> [event.time_ms for event in history.events if event.kind == "generation"]
[6005, 63011]

The stale commit. ``slow`` stands still for a minute, its partition goes to ``quick``; then it wakes
up, reads on and commits what it had processed before. Generations keep that out
(UNKNOWN_MEMBER_ID); without the check the offset goes back, and when ``quick`` crashes soon after,
its successor reads again what was processed long ago:

>>> stale = timeline.Scenario(
...     topics=[timeline.Topic("t", 2, rate=10)],
...     members=[timeline.Member("slow"), timeline.Member("quick")],
...     actions=[timeline.freeze(20_000, "slow", for_ms=60_000), timeline.crash(81_000, "quick")],
...     duration_ms=180_000,
... )
>>> for fencing in (True, False):
...     config = timeline.Config(fencing=fencing, auto_offset_reset="earliest")
...     history = timeline.run(stale, config, "range", seed=1)
...     told = [e.detail for e in history.events if e.time_ms == 80_001]
...     print(*told, dict(timeline.repeats(history).values.tolist()))
UNKNOWN_MEMBER_ID {'read on after a pause': 501, 'crash': 58, 'passed by: session expired': 39}
offsets went back {'offset set back by slow': 610, 'read on after a pause': 602, \
'passed by: session expired': 39, 'crash': 29}
"""

from assignlab.timeline.config import Config, TimelineError, defaults
from assignlab.timeline.engine.history import History
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
    delete_topic,
    enforce_rebalance,
    freeze,
    join,
    leave,
    restart,
    rolling_restart,
    stall,
    subscribe,
    unsubscribe,
)
from assignlab.timeline.simulation import run, strategies_named
from assignlab.timeline.trials.sweep import sweep

__all__ = [
    "Action", "Config", "History", "Member", "Scenario", "TimelineError", "Topic",
    "add_partitions", "back", "coordinator_moves", "crash", "create_topic", "defaults", "delete_topic",
    "deliveries_frame", "enforce_rebalance", "freeze", "join", "leave", "losses", "per_event", "repeats",
    "restart", "rolling_restart", "run", "samples_frame", "stall", "strategies_named", "subscribe", "sweep",
    "totals", "unowned", "unsubscribe", "watched_frame",
]  # fmt: skip
