"""What is delivered twice, and what never: groups whose members crash, under every guarantee.

A :class:`Trial` is one history to come, as plain values; :func:`scenario` and :func:`config` make of
it what :func:`assignlab.timeline.run` takes, and :func:`record` the flat record of a sweep.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product

import pandas as pd

from assignlab.timeline.config import Config
from assignlab.timeline.history import History
from assignlab.timeline.measure import losses, repeats, totals
from assignlab.timeline.scenario import Member, Scenario, Topic, add_partitions, back, crash

SECOND = 1000

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
    poll waits for, up to 500 ms. ``session_s``: session timeout, classic and KIP-848.
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
    session_s: float = 10.0
    minutes: float = 5.0


def grid(
    strategies: Sequence[str],
    ways: Sequence[str],
    intervals_s: Sequence[float],
    crashes: Sequence[float],
    seeds: Sequence[int],
    **size,
) -> list[Trial]:
    """Every combination; ``size``: the other fields of :class:`Trial`."""
    return [Trial(*point, **size) for point in product(strategies, ways, intervals_s, crashes, seeds)]


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


def record(trial: Trial, history: History) -> dict:
    """A trial and what became of it: the fields, the totals, the reasons as JSON."""
    return {
        **asdict(trial),
        "promise": WAYS[trial.way][1],
        **totals(history),
        "why_repeated": _reasons(repeats(history)),
        "why_lost": _reasons(losses(history)),
    }


def _reasons(table: pd.DataFrame) -> str:
    return json.dumps(dict(zip(table["reason"], table["records"].tolist(), strict=True)))


def reasons(records: pd.DataFrame) -> pd.DataFrame:
    """Why records were delivered again or never, added up over histories.

    ``records``: rows of :func:`record`. Columns: ``promise``, ``way``, ``what`` (``repeated`` or
    ``lost``), ``reason``, ``records``, ``histories`` (in how many it came up); most first.
    """
    rows = []
    for row in records.itertuples():
        for what, text in (("repeated", row.why_repeated), ("lost", row.why_lost)):
            for reason, count in json.loads(text).items():
                rows.append((row.promise, row.way, what, plain(reason), count, 1))
    columns = ["promise", "way", "what", "reason", "records", "histories"]
    frame = pd.DataFrame(rows, columns=columns)
    summed = frame.groupby(columns[:4], sort=False).sum().reset_index()
    return summed.sort_values(["promise", "way", "records"], ascending=[True, True, False])


def plain(reason: str) -> str:
    """A reason without the names of members, so that histories can be added up."""
    return "offset set back by a former owner" if reason.startswith("offset set back") else reason


def grown_topic(latest_s: float) -> Scenario:
    """A topic grows while its readers know nothing of it, for up to ``latest_s`` seconds."""
    return Scenario(
        topics=[Topic("t", 4, rate=40.0)],
        members=[Member("a"), Member("b")],
        actions=[add_partitions(30 * SECOND, "t", 6)],
        duration_ms=round((45 + latest_s) * SECOND),
    )
