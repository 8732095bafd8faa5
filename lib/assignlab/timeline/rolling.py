"""Rolling restarts as trials of a sweep: every member goes and is back, one after the other.

    trials = rolling.grid(["sticky", "cooperative-sticky"], seeds=range(10))
    table = timeline.sweep(trials, rolling.play)
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from assignlab.timeline.config import Config
from assignlab.timeline.measure import repeats, totals, unowned_ms
from assignlab.timeline.scenario import Member, Scenario, Topic, rolling_restart
from assignlab.timeline.world import run

LEAD_MS = 30_000
"""What a group has to settle before the first restart, and after the last one."""


@dataclass(frozen=True)
class Trial:
    """One rolling restart: who assigns, how large the group is, how fast it goes.

    ``rate``: records a second and partition; ``every_ms``: from one restart to the next;
    ``down_ms``: how long a member is away; ``static``: whether members have instance ids; ``drift_ms``:
    by how much heartbeats fall out of step, see ``Config.heartbeat_drift_ms``; the seed decides on
    ids and on when exactly processes start.
    """

    strategy: str
    seed: int = 0
    members: int = 10
    partitions: int = 100
    rate: float = 100.0
    processing_ms: float = 0.02
    every_ms: int = 10_000
    down_ms: int = 1_000
    static: bool = False
    commit: str = "auto"
    drift_ms: int = 0


def grid(strategies: Sequence[str], seeds: Sequence[int] = (0,), **axes) -> list[Trial]:
    """Every combination; an axis is a field of :class:`Trial` with a list of values.

    >>> [(t.strategy, t.members) for t in grid(["range"], members=[3, 5])]
    [('range', 3), ('range', 5)]
    """
    names = ["strategy", "seed", *axes]
    points = product(strategies, seeds, *axes.values())
    return [Trial(**dict(zip(names, point, strict=True))) for point in points]


def scenario(trial: Trial) -> Scenario:
    """The scenario of a trial."""
    names = [f"consumer-{number:03}" for number in range(trial.members)]
    return Scenario(
        topics=[Topic("t", trial.partitions, rate=trial.rate)],
        members=[
            Member(name, instance=name if trial.static else None, processing_ms=trial.processing_ms)
            for name in names
        ],
        actions=rolling_restart(LEAD_MS, names, trial.every_ms, trial.down_ms),
        duration_ms=2 * LEAD_MS + trial.members * trial.every_ms,
    )


def config(trial: Trial) -> Config:
    """The settings of a trial."""
    return Config(
        commit=trial.commit, auto_offset_reset="earliest", start_spread_ms=5_000,
        heartbeat_drift_ms=trial.drift_ms,
    )  # fmt: skip


def play(trial: Trial) -> dict:
    """The record of a trial: its totals, and per restart the time without an owner, in seconds."""
    history = run(scenario(trial), config(trial), trial.strategy, trial.seed)
    numbers = totals(history)
    # From when the group has settled on: what the start costs is not the restart's.
    restarting = unowned_ms(history, LEAD_MS, history.scenario.duration_ms)
    reasons = dict(repeats(history).values.tolist())
    return numbers | {
        "unowned_s": restarting / 1000,
        "unowned_s_per_restart": restarting / 1000 / trial.members,
        "why_repeated": json.dumps(reasons),
    }
