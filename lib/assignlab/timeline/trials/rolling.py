"""Rolling restarts as trials of a sweep: every member goes and is back, one after the other.

Ten histories of each of two strategies::

    trials = rolling.grid(["sticky", "cooperative-sticky"], seeds=range(10))
    table = timeline.sweep(trials, rolling.play)
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

import pandas as pd

from assignlab import assignors
from assignlab.evidence import apart
from assignlab.timeline.config import Config
from assignlab.timeline.measure import (
    deliveries_frame,
    lost_records,
    samples_frame,
    totals,
    unowned_ms,
)
from assignlab.timeline.scenario import Member, Scenario, Topic, restart
from assignlab.timeline.simulation import run
from assignlab.timeline.trials.axes import every

LEAD_MS = 30_000
"""What a group has to settle before the first restart, and after the last one."""

SPREAD_MS = 5_000
"""How much later than planned a process starts or restarts, at most."""

BEAT_MS = Config().heartbeat_interval_ms
"""Over so long the moment is drawn at which a restart begins: heartbeats in step have one phase, and
restarts so many intervals apart would all meet the same one."""


@dataclass(frozen=True)
class Trial:
    """One rolling restart: who assigns, how large the group is, how fast it goes.

    ``rate``: records a second and partition; ``every_ms``: from one restart to the next, give or take
    :data:`BEAT_MS`; ``down_ms``: how long a member is away; ``static``: whether members have instance ids;
    ``drift_ms``: by how much heartbeats fall out of step, see ``Config.heartbeat_drift_ms``; the
    seed decides on ids and on when exactly processes stop and start.
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

    Static members are for those strategies whose clients have them: not over ZooKeeper.

    >>> found = grid(["range", "scala-range"], members=[3, 5], static=[False, True])
    >>> [(t.strategy, t.members, t.static) for t in found if t.members == 3]
    [('range', 3, False), ('range', 3, True), ('scala-range', 3, False)]
    """
    return [
        trial
        for trial in every(Trial, {"strategy": strategies, "seed": seeds, **axes}, {})
        if not trial.static or assignors.get(trial.strategy).membership == "coordinator"
    ]


def scenario(trial: Trial) -> Scenario:
    """The scenario of a trial."""
    names = [f"consumer-{number:03}" for number in range(trial.members)]
    draw = random.Random(trial.seed)
    moments = [LEAD_MS + i * trial.every_ms + draw.randrange(BEAT_MS) for i in range(trial.members)]
    return Scenario(
        topics=[Topic("t", trial.partitions, rate=trial.rate)],
        members=[
            Member(name, instance=name if trial.static else None, processing_ms=trial.processing_ms)
            for name in names
        ],
        actions=[restart(at, name, trial.down_ms) for at, name in zip(moments, names, strict=True)],
        # Until the last one is back, however long it was away, and the group has settled.
        duration_ms=2 * LEAD_MS
        + (trial.members - 1) * trial.every_ms
        + BEAT_MS
        + max(trial.every_ms, trial.down_ms + SPREAD_MS),
    )


def config(trial: Trial) -> Config:
    """The settings of a trial."""
    return Config(
        commit=trial.commit, auto_offset_reset="earliest", start_spread_ms=SPREAD_MS,
        heartbeat_drift_ms=trial.drift_ms,
    )  # fmt: skip


def play(trial: Trial) -> dict:
    """The record of a trial: the totals of its history, but what follows without its first
    :data:`LEAD_MS`, for what the start of the group costs is not the restarts'.

    ``unowned_s``: partition-seconds without an owner, ``unowned_s_per_restart``; ``rounds``;
    ``repeated``, ``lost``: records; ``lag_most``: records, at the samples.
    """
    history = run(scenario(trial), config(trial), trial.strategy, trial.seed)
    unowned_s = unowned_ms(history, LEAD_MS, history.scenario.duration_ms) / 1000
    read, lost, samples = deliveries_frame(history), lost_records(history), samples_frame(history)
    begun = [event.kind for event in history.events if event.time_ms >= LEAD_MS]
    return totals(history) | {
        "unowned_s": unowned_s,
        "unowned_s_per_restart": unowned_s / trial.members,
        "rounds": begun.count("generation"),
        "repeated": int(read["again"][read["from_ms"] >= LEAD_MS].sum()),
        "lost": int(lost["records"][lost["time_ms"] >= LEAD_MS].sum()),
        "lag_most": int(samples["lag"][samples["time_ms"] >= LEAD_MS].max()),
    }


def means(strategies: Sequence[str], seeds: Sequence[int], value: str, **trial) -> pd.Series:
    """The mean of a number of :func:`play` over the seeds, by strategy, to a tenth; here
    and without Spark."""
    trials = grid(strategies, seeds, **{name: [of_all] for name, of_all in trial.items()})
    rows = [{"strategy": each.strategy, value: play(each)[value]} for each in trials]
    return pd.DataFrame(rows).groupby("strategy")[value].mean().round(1)


def crossings(draws: pd.DataFrame, x: str, y: str) -> pd.DataFrame:
    """Where the order of two strategies turns, between neighbours on ``x`` at which the draws tell
    the two apart (:func:`assignlab.evidence.apart`).

    ``draws``: columns ``strategy``, ``seed``, ``x`` and ``y``. Columns: ``cheaper``, ``dearer`` (which
    is which at ``above``), ``below`` and ``above``: the last ``x`` with the other order, and the first
    with this one.

    >>> costs = {("a", 0): 1, ("a", 9): 5, ("b", 0): 2, ("b", 9): 2}
    >>> rows = [(name, seed, ms, s) for (name, ms), s in costs.items() for seed in range(6)]
    >>> crossings(pd.DataFrame(rows, columns=["strategy", "seed", "ms", "s"]), "ms", "s").values.tolist()
    [['b', 'a', 0, 9]]
    """
    wide = draws.pivot(index=[x, "seed"], columns="strategy", values=y)[
        list(dict.fromkeys(draws["strategy"]))
    ]
    rows = []
    for one, other in combinations(wide, 2):
        differences = (wide[one] - wide[other]).groupby(level=x)
        ahead = differences.mean()[differences.agg(apart)]
        for below, above in pairwise(ahead.index):
            if ahead[below] * ahead[above] < 0:
                cheaper, dearer = (one, other) if ahead[above] < 0 else (other, one)
                rows.append((cheaper, dearer, below, above))
    return pd.DataFrame(rows, columns=["cheaper", "dearer", "below", "above"])
