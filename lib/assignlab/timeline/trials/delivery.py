"""What is delivered twice, and what never: groups whose members crash, under every guarantee.

A :class:`Trial` is one history to come, as plain values; :func:`scenario` and :func:`config` make
of it what :func:`assignlab.timeline.run` takes.

    table = timeline.sweep(delivery.grid(["range"], ways, intervals, crashes, seeds), delivery.play)
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import pandas as pd

from assignlab import assignors
from assignlab.timeline.config import Config
from assignlab.timeline.measure import losses, lost_records, repeats, totals
from assignlab.timeline.scenario import (
    SECOND,
    Member,
    Scenario,
    Topic,
    add_partitions,
    back,
    crash,
)
from assignlab.timeline.simulation import run

WAYS = {
    "auto commit": ({"commit": "auto"}, "at least once"),
    "commit after each batch": ({"commit": "after"}, "at least once"),
    "commit after batches, at intervals": ({"commit": "after"}, "at least once"),
    "commit before processing": ({"commit": "before"}, "at most once"),
    "transaction": ({"commit": "transaction"}, "exactly once"),
}
"""When an application commits: title -> (settings, what it promises)."""


@dataclass(frozen=True)
class Trial:
    """One history: who assigns, when the application commits, how often members crash.

    ``way``: a key of :data:`WAYS`. ``interval_s``: between commits, where commits are not tied to
    batches. ``crashes``: members that crash per minute, on average, over the whole group.
    ``rate``: records a second and partition; ``processing_ms`` per record. ``batch``: records that
    poll waits for, up to 500 ms. ``session_s``: session timeout, classic and KIP-848 (whose brokers
    refuse one below 45 s where ``group.consumer.min.session.timeout.ms`` is not lower); that of
    ZooKeeper is left as it is.
    """

    strategy: str
    way: str
    interval_s: float
    crashes: float
    seed: int
    members: int = 4
    partitions: int = 8
    rate: float = 40.0
    processing_ms: float = 5.0
    batch: int = 40
    session_s: float = Config().session_timeout_ms / SECOND
    minutes: float = 5.0


def grid(
    strategies: Sequence[str],
    ways: Sequence[str],
    intervals_s: Sequence[float],
    crashes: Sequence[float],
    seeds: Sequence[int],
    **size,
) -> list[Trial]:
    """Every combination, but for transactions of clients over ZooKeeper, which have none.

    ``size``: the other fields of :class:`Trial`.

    >>> trials = grid(["range", "scala-range"], ["auto commit", "transaction"], [5.0], [1.0], [0])
    >>> [(trial.strategy, trial.way) for trial in trials]
    [('range', 'auto commit'), ('range', 'transaction'), ('scala-range', 'auto commit')]
    """
    return [
        Trial(strategy, way, float(interval), float(rate), seed, **size)
        for strategy, way, interval, rate, seed in product(
            strategies, ways, intervals_s, crashes, seeds
        )
        if way != "transaction" or assignors.get(strategy).membership == "coordinator"
    ]


def scenario(trial: Trial) -> Scenario:
    """Members that start within five seconds, crash at random moments, and are back after a while.

    The moments depend on the seed and on ``crashes`` alone, so that trials of one seed can be
    compared. Nobody crashes in the first half minute and in the last one.
    """
    draw = random.Random(trial.seed)
    members = [
        Member(f"c{i}", start_ms=draw.randrange(5 * SECOND), processing_ms=trial.processing_ms)
        for i in range(trial.members)
    ]
    end = round(trial.minutes * 60 * SECOND)
    free = dict.fromkeys((member.name for member in members), 30 * SECOND)
    actions, now = [], 30.0 * SECOND
    while trial.crashes:
        now += draw.expovariate(trial.crashes) * 60 * SECOND
        if now > end - 30 * SECOND:
            break
        running = [name for name, since in free.items() if since <= now]
        down = draw.uniform(2, 30) * SECOND
        if len(running) > 1:  # somebody has to go on
            name = draw.choice(running)
            actions += [crash(round(now), name), back(round(now + down), name)]
            free[name] = now + down + 5 * SECOND
    return Scenario(
        topics=[Topic("t", trial.partitions, rate=trial.rate)],
        members=members,
        actions=actions,
        duration_ms=end,
        sample_ms=10 * SECOND,  # nothing here looks at lag, and samples take time
    )


def config(trial: Trial) -> Config:
    """The settings of a trial."""
    settings, _ = WAYS[trial.way]
    interval = round(trial.interval_s * SECOND)
    session = round(trial.session_s * SECOND)
    return Config(
        auto_offset_reset="earliest", fetch_min_records=trial.batch, session_timeout_ms=session,
        group_consumer_session_timeout_ms=session, auto_commit_interval_ms=interval,
        commit_interval_ms=interval if trial.way.endswith("at intervals") else 0, **settings,
    )  # fmt: skip


def play(trial: Trial) -> dict:
    """What became of a trial: the totals of its history, ``unowned_percent`` of the time of all
    partitions, and the reasons as JSON."""
    history = run(scenario(trial), config(trial), trial.strategy, trial.seed)
    numbers = totals(history)
    whole_ms = trial.partitions * history.scenario.duration_ms
    return numbers | {
        "unowned_percent": 100 * numbers["unowned_ms"] / whole_ms,
        "why_repeated": _reasons(repeats(history)),
        "why_lost": _reasons(losses(history)),
    }


def _reasons(table: pd.DataFrame) -> str:
    return json.dumps(dict(zip(table["reason"], table["records"].tolist(), strict=True)))


def spread(
    frame: pd.DataFrame, by: Sequence[str], measures: Sequence[str], band: float = 0.9
) -> pd.DataFrame:
    """Means over the seeds and the middle ``band`` of them: columns ``by``, for each measure ``m``
    also ``m_low`` and ``m_high``; ``runs``."""
    grouped = frame.groupby(list(by), sort=False)
    table = grouped.size().rename("runs").to_frame()
    for measure in measures:
        table[measure] = grouped[measure].mean()
        table[f"{measure}_low"] = grouped[measure].quantile((1 - band) / 2)
        table[f"{measure}_high"] = grouped[measure].quantile((1 + band) / 2)
    return table.reset_index()


def reasons(records: pd.DataFrame) -> pd.DataFrame:
    """Why records were delivered again or never, added up over histories.

    ``records``: rows of a sweep's table. Columns: ``promise``, ``way``, ``what`` (``repeated`` or
    ``lost``), ``reason``, ``records``, ``histories`` (in how many it came up); most first.
    """
    rows = []
    for row in records.itertuples():
        for what, text in (("repeated", row.why_repeated), ("lost", row.why_lost)):
            for reason, count in json.loads(text).items():
                rows.append((WAYS[row.way][1], row.way, what, plain(reason), count, 1))
    columns = ["promise", "way", "what", "reason", "records", "histories"]
    frame = pd.DataFrame(rows, columns=columns)
    summed = frame.groupby(columns[:4], sort=False).sum().reset_index()
    return summed.sort_values(["promise", "way", "records"], ascending=[True, True, False])


def promises(frame: pd.DataFrame) -> pd.DataFrame:
    """What each way of committing promises and what became of it, over all histories of a sweep.

    Columns: ``promise``, ``way``, ``strategy``, ``histories``, ``repeated``, ``lost`` and
    ``aborted`` (records, added up), ``kept``: whether no history broke the promise.
    """
    table = frame.groupby(["way", "strategy"], sort=False)[["repeated", "lost", "aborted"]].sum()
    table["histories"] = frame.groupby(["way", "strategy"], sort=False).size()
    table = table.reset_index()
    table["promise"] = [WAYS[way][1] for way in table["way"]]
    table["kept"] = [
        (row.lost == 0 or row.promise == "at most once")
        and (row.repeated == 0 or row.promise == "at least once")
        for row in table.itertuples()
    ]
    order = ["promise", "way", "strategy", "histories", "repeated", "lost", "aborted", "kept"]
    return table[order].sort_values(order[:3]).reset_index(drop=True)


def plain(reason: str) -> str:
    """A reason without the names of members, so that histories can be added up."""
    return "offset set back by a former owner" if reason.startswith("offset set back") else reason


def one_crash() -> Scenario:
    """Member ``a`` has the only partition and crashes in mid-batch; ``b`` takes over."""
    return Scenario(
        topics=[Topic("t", 1, rate=50.0)],
        members=[Member("a", processing_ms=8.0), Member("b", processing_ms=1.0)],
        actions=[crash(25 * SECOND, "a")],
        duration_ms=45 * SECOND,
        watch=[("t", 0)],
        sample_ms=50,
    )


def grown_topic(seed: int) -> Scenario:
    """A topic grows while its readers know nothing of it: they look at their metadata in turns of
    ``metadata.max.age.ms``, each from its own start on, which is drawn from the seed."""
    draw = random.Random(seed)
    age_ms = Config().metadata_max_age_ms
    return Scenario(
        topics=[Topic("t", 4, rate=40.0)],
        members=[Member(name, start_ms=draw.randrange(age_ms)) for name in "ab"],
        actions=[add_partitions(age_ms + 30 * SECOND, "t", 6)],
        duration_ms=2 * age_ms + 45 * SECOND,
    )


def skipped_of_grown_topic(reset: str, seed: int) -> int:
    """How many records of new partitions are never read; ``reset``: ``auto.offset.reset``."""
    group = grown_topic(seed)
    settings = Config(commit="after", auto_offset_reset=reset)
    rows = lost_records(run(group, settings, "range", seed))
    return int(rows["records"][rows["time_ms"] >= group.actions[0].at_ms].sum())


def with_sessions(strategies: Sequence[str]) -> list[str]:
    """Those whose members have a session with a coordinator, which ``session_s`` sets.

    >>> with_sessions(["range", "scala-range"])
    ['range']
    """
    return [name for name in strategies if assignors.get(name).membership == "coordinator"]


def range_of(values: pd.Series) -> str:
    """Least and most, as words.

    >>> range_of(pd.Series([0.25, 3.0])), range_of(pd.Series([2.0, 2.0]))
    ('0.2 to 3.0', '2.0')
    """
    ends = [f"{values.min():.1f}", f"{values.max():.1f}"]
    return " to ".join(dict.fromkeys(ends))
