"""What is delivered twice, and what never: groups whose members crash, under every guarantee.

A :class:`Trial` is one history to come, as plain values; :func:`scenario` and :func:`config` make
of it what :func:`assignlab.timeline.run` takes.

    table = timeline.sweep(delivery.grid(["range"], ways, intervals, crashes, seeds), delivery.play)
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pandas as pd

from assignlab import assignors
from assignlab.timeline.config import Config, TimelineError, beside_default, defaults
from assignlab.timeline.engine.history import History
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
from assignlab.timeline.trials.axes import every
from assignlab.words import counted, listed

WAYS = {
    "auto commit": ({"commit": "auto"}, "at least once"),
    "commit after each batch": ({"commit": "after"}, "at least once"),
    "commit after batches, at intervals": ({"commit": "after"}, "at least once"),
    "commit before processing": ({"commit": "before"}, "at most once"),
    "transaction": ({"commit": "transaction"}, "exactly once"),
}
"""When an application commits: title -> (settings, what it promises)."""

COORDINATOR, ZOOKEEPER = "a coordinator", "ZooKeeper"


@dataclass(frozen=True)
class Trial:
    """One history: who assigns, when the application commits, how often members crash.

    ``way``: a key of :data:`WAYS`. ``interval_s``: between commits, where commits are not tied to
    batches. ``crashes``: members that crash per minute, over the whole group, as :func:`scenario`
    draws them.
    ``rate``: records a second and partition; ``processing_ms`` per record. ``batch``: records that
    poll waits for, up to 500 ms. ``session_s``: session timeout of whoever keeps the sessions: the
    coordinator, classic and KIP-848 (whose brokers refuse one below 45 s where
    ``group.consumer.min.session.timeout.ms`` is not lower), or ZooKeeper. ``ahead_percent``: of a hundred
    automatic commits under KIP-848, how many run ahead of the work where they can
    (``auto_commit_ahead_percent``).
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
    ahead_percent: int = Config().auto_commit_ahead_percent


def grid(
    strategies: Sequence[str],
    ways: Sequence[str],
    intervals_s: Sequence[float],
    crashes: Sequence[float],
    seeds: Sequence[int],
    sessions: Mapping[str, float] = MappingProxyType({}),
    **size,
) -> list[Trial]:
    """Every combination, but for transactions of clients over ZooKeeper, which have none.

    ``sessions``: ``session_s`` of each strategy; those that are not named have that of ``size``, or
    the default.
    ``size``: the other fields of :class:`Trial`.

    >>> trials = grid(["range", "scala-range"], ["auto commit", "transaction"], [5.0], [1.0], [0])
    >>> [(trial.strategy, trial.way, trial.session_s) for trial in trials]
    [('range', 'auto commit', 45.0), ('range', 'transaction', 45.0), ('scala-range', 'auto commit', 6.0)]
    """
    axes = {
        "strategy": strategies,
        "way": ways,
        "interval_s": intervals_s,
        "crashes": crashes,
        "seed": seeds,
        **{name: [value] for name, value in size.items()},
    }
    return [
        replace(
            trial,
            session_s=float(
                sessions.get(trial.strategy, size.get("session_s", session_of(trial.strategy)))
            ),
        )
        for trial in every(Trial, axes, {"way": WAYS})
        if trial.way != "transaction" or keeper(trial.strategy) != ZOOKEEPER
    ]


def keeper(strategy: str) -> str:
    """Who keeps the sessions of a group's members, and the offsets that they commit.

    >>> keeper("range"), keeper("server-uniform"), keeper("scala-range")
    ('a coordinator', 'a coordinator', 'ZooKeeper')
    """
    return COORDINATOR if assignors.get(strategy).membership == "coordinator" else ZOOKEEPER


def system_defaults(strategy: str) -> Config:
    """The settings that a strategy's group has by default, where a :class:`Trial` does not say them."""
    return defaults("1.4", system="metaq") if _is_metaqs(strategy) else Config()


def _is_metaqs(strategy: str) -> bool:
    return assignors.get(strategy).system == "MetaQ"


def session_of(strategy: str, session_s: float = Config().session_timeout_ms / SECOND) -> float:
    """The session in s that members have: ``session_s`` with a coordinator, else the system's default.

    >>> session_of("range", 10.0), session_of("scala-range", 10.0), session_of("metaq-default")
    (10.0, 6.0, 30.0)
    """
    usual = system_defaults(strategy).zookeeper_session_timeout_ms / SECOND
    return session_s if keeper(strategy) == COORDINATOR else usual


def scenario(trial: Trial) -> Scenario:
    """Members that start within five seconds, crash at random moments, and are back after a while.

    The moments depend on neither strategy, way, interval nor session, so that trials of one seed can
    be compared; another number of members or minutes draws others. Nobody crashes in the first half
    minute and in the last one, within 5 s of its return, or while one member runs alone: so fewer
    crash than ``crashes`` a minute.
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
    if trial.way not in WAYS:
        raise TimelineError(f"way: {trial.way!r} is not one of {', '.join(WAYS)}")
    settings, _ = WAYS[trial.way]
    interval = round(trial.interval_s * SECOND)
    session = round(trial.session_s * SECOND)
    return replace(
        system_defaults(trial.strategy),
        auto_offset_reset="earliest", fetch_min_records=trial.batch, session_timeout_ms=session,
        group_consumer_session_timeout_ms=session, zookeeper_session_timeout_ms=session,
        auto_commit_interval_ms=interval, auto_commit_ahead_percent=trial.ahead_percent,
        commit_interval_ms=interval if trial.way.endswith("at intervals") else 0, **settings,
    )  # fmt: skip


def play(trial: Trial) -> dict:
    """What became of a trial: the totals of its history, ``crashed`` (how many did),
    ``unowned_percent`` of the time of all partitions, and the reasons as JSON."""
    history = run(scenario(trial), config(trial), trial.strategy, trial.seed)
    numbers = totals(history)
    whole_ms = trial.partitions * history.scenario.duration_ms
    return numbers | {
        "crashed": sum(action.kind == "crash" for action in history.scenario.actions),
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
    grouped = frame.groupby(["way", "strategy"], sort=False)
    table = grouped[["repeated", "lost", "aborted"]].sum()
    table = table.assign(histories=grouped.size()).reset_index()
    table["promise"] = [WAYS[way][1] for way in table["way"]]
    table["kept"] = [
        (row.lost == 0 or row.promise == "at most once")
        and (row.repeated == 0 or row.promise == "at least once")
        for row in table.itertuples()
    ]
    order = ["promise", "way", "strategy", "histories", "repeated", "lost", "aborted", "kept"]
    return table[order].sort_values(order[:3]).reset_index(drop=True)


def ran_ahead(frame: pd.DataFrame) -> tuple[str, str]:
    """Whose automatic commits lost records in a sweep, since they may cover what is not done yet, and
    how many of a thousand, both in words: ``("", "0")`` if nobody's did."""
    automatic = frame[frame["way"] == "auto commit"]
    losing = automatic.groupby("strategy")["lost_per_1000"].any()
    kinds = {
        "under KIP-848 since 4.2": lambda strategy: strategy.protocol == "server",
        "of librdkafka": lambda strategy: strategy.system == "librdkafka",
        "of aiokafka": lambda strategy: strategy.system == "aiokafka",
    }
    lost = [assignors.get(name) for name in losing[losing].index]
    whose = [words for words, is_of in kinds.items() if any(map(is_of, lost))]
    of = automatic[automatic["strategy"].isin([strategy.name for strategy in lost])]
    return listed(whose) if whose else "", range_of(of["lost_per_1000"]) if lost else "0"


def plain(reason: str) -> str:
    """A reason without the names of members, so that histories can be added up."""
    return "offset set back by a former owner" if reason.startswith("offset set back") else reason


def one_crash() -> Scenario:
    """Member ``a`` has the only partition and crashes in mid-batch; ``b`` takes over.

    For pictures, with a session that is no multiple of the heartbeat interval: members beat in step,
    and a session that ends with a heartbeat of ``b`` leaves it to chance whether ``b`` hears of it at
    once or one interval later.
    """
    return Scenario(
        topics=[Topic("t", 1, rate=50.0)],
        members=[Member("a", processing_ms=8.0), Member("b", processing_ms=1.0)],
        actions=[crash(24_500, "a")],
        duration_ms=45 * SECOND,
        watch=[("t", 0)],
        sample_ms=50,
    )


def takeover_s(history: History) -> float:
    """How long after the crash of :func:`one_crash` the partition has an owner again."""
    at = history.scenario.actions[0].at_ms
    since = history.ownership()["from_ms"]
    return (since[since > at].min() - at) / SECOND


def grown_topic(seed: int, rate: float = 40.0) -> Scenario:
    """A topic grows by two partitions while its clients know nothing of it: they look at their
    metadata in turns of ``metadata.max.age.ms``, each from its own start on, which is drawn from the
    seed. ``rate``: records a second and partition."""
    draw = random.Random(seed)
    age_ms = Config().metadata_max_age_ms
    return Scenario(
        topics=[Topic("t", 4, rate=rate)],
        members=[Member(name, start_ms=draw.randrange(age_ms)) for name in "ab"],
        actions=[add_partitions(age_ms + 30 * SECOND, "t", 6)],
        duration_ms=2 * age_ms + 45 * SECOND,
    )


def skipped_of_grown_topic(
    reset: str, seed: int, strategy: str = "range", rate: float = 40.0
) -> int:
    """How many records of new partitions are never read; ``reset``: ``auto.offset.reset``."""
    group = grown_topic(seed, rate)
    settings = Config(commit="after", auto_offset_reset=reset)
    rows = lost_records(run(group, settings, strategy, seed))
    return int(rows["records"][rows["time_ms"] >= group.actions[0].at_ms].sum())


# ---- words ---------------------------------------------------------------------------------------


def amount(value: float) -> str:
    """A number with the digits that few histories support: two, and one below 10.

    >>> [amount(value) for value in (0, 0.034, 3.9, 9.6, 13.2, 357, 23_972)]
    ['0', '0.03', '4', '10', '13', '360', '24,000']
    """
    rounded = float(f"{value:.{1 if value < 10 else 2}g}")
    return f"{rounded:,.0f}" if rounded >= 1 else f"{rounded:g}"


def range_of(values: pd.Series) -> str:
    """Least and most, as words; one number where they are alike.

    >>> range_of(pd.Series([0.25, 3.0, 31.4])), range_of(pd.Series([2.0, 2.0]))
    ('0.2 to 31', '2')
    """
    return " to ".join(dict.fromkeys([amount(values.min()), amount(values.max())]))


def sessions_in_words(sessions: Mapping[str, float]) -> str:
    """The sessions of strategies, beside what they are by default.

    >>> sessions_in_words({"range": 45.0, "sticky": 45.0, "scala-range": 6.0})
    "45 s, Kafka's default since 3.0, under a coordinator and 6 s, Kafka 0.8's default, under ZooKeeper"
    """
    told = []
    for name, session_s in sessions.items():
        said = f"{session_s:g} s, {'MetaQ' if _is_metaqs(name) else 'Kafka 0.8'}'s default"
        if keeper(name) == COORDINATOR:
            said = beside_default("session_timeout_ms", session_s * SECOND)
        told.append(f"{said}{',' * (not said.endswith(')'))} under {keeper(name)}")
    return " and ".join(dict.fromkeys(told))


def crashes_in_words(crashes: float) -> str:
    """How many members crash.

    >>> crashes_in_words(0.0), crashes_in_words(1.0), crashes_in_words(4.0)
    ('without crashes', 'at 1 crash drawn a minute', 'at 4 crashes drawn a minute')
    """
    drawn = f"at {crashes:g} {'crash' if crashes == 1 else 'crashes'} drawn a minute"
    return drawn if crashes else "without crashes"


def histories_in_words(number: int) -> str:
    """How many histories of each kind a range is over.

    >>> histories_in_words(1), histories_in_words(8)
    ('1 history of each kind', '8 histories of each kind')
    """
    return f"{number} {'history' if number == 1 else 'histories'} of each kind"


def more_in_pairs(records: pd.DataFrame, measure: str, one: float, other: float) -> str:
    """In how many pairs of histories a measure is larger with sessions of ``one`` s than of ``other``.

    A pair has one strategy and one seed, so the same crashes.

    >>> rows = {"strategy": "range", "seed": [0, 0, 1, 1], "session_s": [10.0, 45.0] * 2, "n": [3, 2, 1, 1]}
    >>> more_in_pairs(pd.DataFrame(rows), "n", 10.0, 45.0)
    '1 of 2 pairs'
    """
    table = records.pivot(index=["strategy", "seed"], columns="session_s", values=measure)
    pairs = table[[one, other]].dropna()
    more = (pairs[one] > pairs[other]).sum()
    return f"{more} of {counted(len(pairs), 'pair')}"


def worded(
    table: pd.DataFrame,
    measures: Mapping[str, str],
    rows: Sequence[str],
    across: str,
    called: str = "{}",
) -> pd.DataFrame:
    """Means with least and most in brackets, for reading; what never came up has no row.

    ``table``: as :func:`spread` makes it, with a band of 1. ``measures``: column -> what it is
    called, which is ``counted`` in the result. ``rows``: columns that tell the rows apart; one
    column for each value of ``across``, with a title as ``called`` says.

    >>> table = spread(pd.DataFrame({"at": [1, 1], "of": ["a", "a"], "n": [2, 31]}), ["at", "of"], ["n"], 1)
    >>> worded(table, {"n": "records"}, ["of", "counted"], "at", "{} s").to_dict("records")
    [{'of': 'a', 'counted': 'records', '1 s': '16 (2 to 31)'}]
    """
    parts = []
    for measure, name in measures.items():
        ends = zip(table[f"{measure}_low"], table[f"{measure}_high"], strict=True)
        spans = [range_of(pd.Series(pair)) for pair in ends]
        said = [
            f"{amount(mean)} ({span})" if " to " in span else span
            for mean, span in zip(table[measure], spans, strict=True)
        ]
        parts.append(table.assign(counted=name, said=said, most=table[f"{measure}_high"]))
    told = pd.concat(parts)
    told = told[told.groupby(list(rows))["most"].transform("max") > 0]
    order = told[list(rows)].drop_duplicates()
    values = table[across].drop_duplicates()
    values = values.sort_values() if pd.api.types.is_numeric_dtype(values) else values
    wide = told.pivot(index=list(rows), columns=across, values="said")
    wide = wide.reindex(columns=values).fillna("")
    wide.columns = [called.format(value) for value in wide.columns]
    return order.merge(wide.reset_index(), on=list(rows))
