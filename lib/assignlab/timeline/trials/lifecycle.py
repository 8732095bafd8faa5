"""Stories of one group and how to read them: stale commits, states, errors, the offsets of a log.

The scenarios are plain data, to be run with :func:`assignlab.timeline.run`; the readings turn a
history into small tables, in seconds.
"""

import math
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from assignlab import assignors, evidence
from assignlab.timeline.config import Config
from assignlab.timeline.engine.history import History
from assignlab.timeline.measure import (
    deliveries_frame,
    first_watched,
    repeats,
    set_back,
    totals,
)
from assignlab.timeline.protocols.errors import NOT_COORDINATOR
from assignlab.timeline.scenario import (
    SECOND,
    Action,
    Member,
    Scenario,
    Topic,
    coordinator_moves,
    crash,
    freeze,
    join,
    leave,
    stall,
)
from assignlab.timeline.simulation import run
from assignlab.timeline.trials.delivery import range_of
from assignlab.words import listed

# ---- the stale commit --------------------------------------------------------------------------


def stale_commit(
    frozen_ms: int, crash_after_ms: int, rate: float = 50.0, session_ms: int = 10 * SECOND
) -> Scenario:
    """Two members; ``a`` freezes at 20 s, ``b`` gets its partition, ``a`` comes back and commits.

    ``crash_after_ms``: so long after ``a`` is back ``b`` crashes, and whoever takes over starts
    where the last commit says. ``rate``: records a second and partition. ``session_ms``: for which
    ``a`` is waited for, and then ``b``; the story ends 30 s later. The partition of ``a`` is ``t``'s
    0, and is watched.
    """
    back = 20 * SECOND + frozen_ms
    return Scenario(
        topics=[Topic("t", 2, rate=rate)],
        members=[Member(name, processing_ms=5.0) for name in "ab"],
        actions=[freeze(20 * SECOND, "a", frozen_ms), crash(back + crash_after_ms, "b")],
        duration_ms=back + crash_after_ms + session_ms + 30 * SECOND,
        watch=[("t", 0)],
        sample_ms=100,
    )


def stale_commits(
    cases: Iterable[tuple[float, float]], config: Config, rate: float = 50.0, seed: int = 0
) -> pd.DataFrame:
    """The story under range, for sessions and times away in seconds: one row for each pair.

    Columns: ``session_s``, ``away_s``; ``given_up``: whether the group went on without ``a``;
    ``answer`` to its commit, "accepted" where nothing is wrong with it; ``again``: records read
    again; ``back_unchecked`` and ``again_unchecked``: by how many records the committed offset goes
    back where nobody checks generations, at the samples, and what is read again then.
    """
    rows = []
    for session_s, away_s in cases:
        session_ms, away_ms = round(session_s * SECOND), round(away_s * SECOND)
        story = stale_commit(away_ms, 200, rate, session_ms)
        checked = replace(config, session_timeout_ms=session_ms)
        with_check, without = (
            run(story, settings, "range", seed)
            for settings in (checked, replace(checked, fencing=False))
        )
        log = with_check.events_frame()
        log = log[(log["member"] == "a") & (log["time_ms"] <= 20 * SECOND + away_ms + SECOND)]
        refused = log.loc[log["kind"] == "commit refused", "detail"]
        rows.append(
            (
                session_s, away_s, bool((log["kind"] == "removed").any()),
                refused.iloc[0] if len(refused) else "accepted",
                int(repeats(with_check)["records"].sum()), set_back(without),
                int(repeats(without)["records"].sum()),
            )
        )  # fmt: skip
    columns = ["session_s", "away_s", "given_up", "answer", "again"]
    return pd.DataFrame(rows, columns=[*columns, "back_unchecked", "again_unchecked"])


def held_on_s(history: History, member: str) -> float:
    """For how many seconds a member took partitions for its own that the group had given to another:
    from the first assignment after it was given up to the moment in which it learned of that."""
    log = history.events_frame()
    mine = log["member"] == member
    removed = log.loc[mine & (log["kind"] == "removed"), "time_ms"].iloc[0]
    later = log[log["time_ms"] >= removed]
    given = later.loc[~mine & (later["kind"] == "assigned"), "time_ms"].iloc[0]
    learned = later.loc[mine & (later["kind"] == "lost"), "time_ms"].iloc[0]
    return max(learned - given, 0) / SECOND


SAID = {
    "action: freeze": "{member} stands still, heartbeats and all",
    "action: crash": "{member} crashes",
    "removed": "the coordinator removes {member}: {detail}",
    "generation": "generation {generation} begins: {detail}",
    "assigned": "{member} gets {partitions}",
    "lost": "{member} learns that it lost {partitions}",
    "commit refused": "{member} commits; the answer: {detail}",
    "committed": "{member} commits; accepted, the offset goes back",
    "committed late": "{member} commits; accepted, no offset goes back",
}
"""How :func:`steps` puts the kinds of events."""
OVER_ZOOKEEPER = SAID | {
    "removed": "ZooKeeper drops {member}: {detail}",
    "generation": "{member} rebalances by {detail}",
}
"""The same where consumers agree through ZooKeeper: nobody coordinates or counts generations."""


def steps(history: History, start_ms: int = 0) -> pd.DataFrame:
    """A story step by step, for the first watched partition.

    Columns: ``time_s``, ``what``, ``generation`` (of whom it happens to, null without a
    coordinator), ``committed_before`` and ``committed_after``: the committed offset at the samples
    around, between which others commit, too. Of accepted commits those are told by which an offset
    goes back, and those of a member that has been given up.
    """
    watched = first_watched(history)
    times, committed = watched["time_ms"].to_numpy(), watched["committed"].to_numpy()
    events = history.events_frame()
    # Over ZooKeeper every consumer begins a generation of its own.
    alone = (events.loc[events["kind"] == "generation", "member"] != "").any()
    said = OVER_ZOOKEEPER if alone else SAID
    rows = []
    out: set[str] = set()
    for event in events.itertuples():
        kind = event.kind
        if kind == "removed":
            out.add(event.member)
        elif kind == "assigned":
            out.discard(event.member)
        elif kind == "committed" and not event.detail:
            kind = "committed late" if event.member in out else "as ever"  # not told
        if event.time_ms < start_ms or kind not in said:
            continue
        if kind == "assigned" and not event.partitions:
            continue
        before = max(np.searchsorted(times, event.time_ms, side="left") - 1, 0)
        after = min(np.searchsorted(times, event.time_ms, side="right"), times.size - 1)
        what = said[kind].format(**event._asdict())
        if kind == "committed" and committed[after] >= committed[before]:
            what += ", between two samples"
        rows.append(
            (
                event.time_ms / SECOND, what,
                None if alone else max(event.generation, 0) or None,
                committed[before], committed[after],
            )
        )  # fmt: skip
    columns = ["time_s", "what", "generation", "committed_before", "committed_after"]
    return pd.DataFrame(rows, columns=columns).astype({"generation": "Int64"})


def late_commit(history: History, member: str) -> str:
    """What becomes of the offset by the accepted commit of a member that was given up, in words.

    Between two samples the owner may commit, too: just before, what the offset goes back from, or just
    after, so that it goes forward again.
    """
    told, back = steps(history), set_back(history)
    [late, *_] = told.loc[told["what"].str.startswith(f"{member} commits; accepted"), "what"]
    if "the offset goes back" not in late:
        return "sets nothing back, for nothing beyond it was committed yet"
    if not back:
        return "sets the offset back so little, or so shortly, that no sample shows it"
    return f"sets the offset back by {back:,} records"


def beside(histories: Mapping[str, History], start_ms: int = 0) -> tuple[pd.DataFrame, list[dict]]:
    """Stories beside each other: what happens in each tenth of a second in which something does,
    once where it is the same in several.

    Where offsets were committed since the moment before, a moment in between tells that. Returns a
    frame (``time_s``, ``told``) and a state for every row: title -> member -> what it owns, and
    ``committed``, the offset of the first watched partition.
    """
    told: dict[int, dict[str, list[str]]] = {}
    for title, history in histories.items():
        rows = steps(history, start_ms)
        for tenth, happened in rows.groupby((rows["time_s"] * 10 + 1e-6).astype(int))["what"]:
            told.setdefault(tenth, {}).setdefault("; ".join(happened), []).append(title)
    moments: list[tuple[float, str]] = []
    states: list[dict[str, dict[str, str]]] = []
    for tenth in sorted(told):
        just_before = _owned_and_committed(histories, tenth * SECOND // 10 - 1)
        if states and any(
            just_before[title]["committed"] != states[-1][title]["committed"] for title in histories
        ):
            moments.append((tenth / 10, f"Until {tenth / 10:g} s owners read on and commit"))
            states.append(just_before)
        said = [
            f"{'In all' if len(titles) == len(histories) else ' and '.join(titles)}: {what}"
            for what, titles in told[tenth].items()
        ]
        moments.append((tenth / 10, f"{tenth / 10:g} s. {'. '.join(said)}"))
        states.append(_owned_and_committed(histories, (tenth + 1) * SECOND // 10))
    return pd.DataFrame(moments, columns=["time_s", "told"]), states


def _owned_and_committed(
    histories: Mapping[str, History], end_ms: int
) -> dict[str, dict[str, str]]:
    """Title -> member -> what it owns at ``end_ms``; and ``committed``."""
    state = {}
    for title, history in histories.items():
        owned = history.ownership().sort_values(["topic", "partition"])
        held = dict.fromkeys(sorted(owned["member"].unique()), "")
        for row in owned[(owned["from_ms"] < end_ms) & (owned["to_ms"] >= end_ms)].itertuples():
            held[row.member] = f"{held[row.member]} {row.topic}-{row.partition}".strip()
        watched = first_watched(history)
        known = watched[watched["time_ms"] <= end_ms]
        held["committed"] = f"{known['committed'].iloc[-1]:,}"
        state[title] = held
    return state


# ---- states ------------------------------------------------------------------------------------


def life(delay_ms: int, session_ms: int = 10 * SECOND) -> Scenario:
    """A group's whole life: it begins, grows, loses members, moves to another broker, is left.

    ``session_ms``: after which the crashed member is given up, before the group moves.
    """
    given_up = 45 * SECOND + session_ms
    return Scenario(
        topics=[Topic("t", 4, rate=20.0)],
        members=[Member("a", start_ms=5 * SECOND), Member("b", start_ms=7 * SECOND)],
        actions=[
            join(25 * SECOND, Member("c")),
            crash(45 * SECOND, "b"),
            coordinator_moves(given_up + 20 * SECOND),
            leave(given_up + 35 * SECOND, "a"),
            leave(given_up + 50 * SECOND, "c"),
        ],
        duration_ms=given_up + 60 * SECOND + delay_ms,
    )


def owned_twice(history: History) -> int:
    """How often a partition got an owner before its last one, as the group sees it, was gone."""
    owned = history.ownership().sort_values(["topic", "partition", "from_ms"])
    last = owned.groupby(["topic", "partition"])["to_ms"].transform(
        lambda ends: ends.cummax().shift(fill_value=0)
    )
    return int((owned["from_ms"] < last).sum())


# ---- who decides -------------------------------------------------------------------------------


def decisions(history: History) -> pd.DataFrame:
    """Who assigned in each generation: ``time_s``, ``generation``, ``strategy``, ``by``."""
    rows = []
    for event in history.events:
        if event.kind == "generation":
            strategy, _, who = event.detail.partition(", ")
            by = who.removeprefix("leader ") if who.startswith("leader ") else "the coordinator"
            rows.append((event.time_ms / SECOND, event.generation, strategy, by))
    return pd.DataFrame(rows, columns=["time_s", "generation", "strategy", "by"])


def voting(lists: Sequence[Sequence[str]]) -> Scenario:
    """Members with these lists of strategies start one after the other; then the leader leaves."""
    members = [
        Member(f"c{i}", strategies=tuple(names), start_ms=100 * i) for i, names in enumerate(lists)
    ]
    return Scenario(
        topics=[Topic("t", 2 * len(lists), rate=10.0)],
        members=members,
        actions=[leave(20 * SECOND, members[0].name)],
        duration_ms=40 * SECOND,
    )


# ---- errors and how clients take them ----------------------------------------------------------


class Mishap(NamedTuple):
    """A situation that ends in an error: what happens, in which scenario, with which settings."""

    what: str
    protocol: str
    strategy: str
    scenario: Scenario
    config: Config


MISHAPS_SESSION_MS = 10 * SECOND
"""The session in them: shorter than what members are away there."""


def mishaps() -> list[Mishap]:
    """One scenario per error that a coordinator answers, or that a client raises by itself."""
    topics = [Topic("t", 2, rate=50.0)]
    pair = [Member("a", processing_ms=5.0), Member("b", processing_ms=5.0)]
    static = [Member("a", instance="A", processing_ms=5.0), pair[1]]
    newcomer = join(22 * SECOND, Member("c"))
    twin = join(22 * SECOND, Member("a2", instance="A"))
    other = join(22 * SECOND, Member("c", strategies=("roundrobin",)))
    freezes = freeze(20 * SECOND, "a", 20 * SECOND)
    stalls = stall(20 * SECOND, "a", 20 * SECOND)
    keeps_waiting = stall(22 * SECOND, "b", 6 * SECOND)

    def scene(members, *actions: Action) -> Scenario:
        return Scenario(topics, members, actions, duration_ms=70 * SECOND)

    settings = Config(
        commit="after", auto_offset_reset="earliest", session_timeout_ms=MISHAPS_SESSION_MS,
        group_consumer_session_timeout_ms=MISHAPS_SESSION_MS,
    )  # fmt: skip
    hurried = replace(settings, max_poll_interval_ms=15 * SECOND)
    slow_to_assign = replace(settings, assignment_ms=3 * SECOND)
    classic, new = "classic", "KIP-848"
    return [
        Mishap("frozen longer than its session, then commits", classic, "range",
               scene(pair, freezes), settings),
        Mishap("processes one batch longer than max.poll.interval.ms, then commits", classic,
               "range", scene(pair, stalls), hurried),
        Mishap("commits while the group rebalances", classic, "cooperative-sticky",
               scene(pair, keeps_waiting, newcomer), settings),
        Mishap("its transaction is open while a new generation begins", "classic, transaction",
               "cooperative-sticky", scene(pair, keeps_waiting, newcomer),
               replace(settings, commit="transaction", fetch_min_records=40)),
        Mishap("the coordinator moves before the new generation is written", classic, "range",
               scene(pair, newcomer, coordinator_moves(26 * SECOND)), slow_to_assign),
        Mishap("a second process with the same group.instance.id", classic, "range",
               scene(static, twin), settings),
        Mishap("proposes no strategy that the others have", classic, "range",
               scene(pair, other), settings),
        Mishap("commits while the coordinator moves", classic, "range",
               scene(pair, coordinator_moves(22 * SECOND)), settings),
        Mishap("frozen longer than its session, then commits", new, "server-uniform",
               scene(pair, freezes), settings),
        Mishap("a static member processes longer than max.poll.interval.ms, then commits", new,
               "server-uniform", scene(static, stalls), hurried),
        Mishap("a second process with the same group.instance.id", new, "server-uniform",
               scene(static, twin), settings),
        Mishap("commits while the coordinator moves", new, "server-uniform",
               scene(pair, coordinator_moves(22 * SECOND)), settings),
    ]  # fmt: skip


OF_COMMITS = ("commit refused", "commit sent again")
TELLING = (*OF_COMMITS, "error", "fatal", "rejoin")
ERRORS = (
    "UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS", "FENCED_INSTANCE_ID",
    "STALE_MEMBER_EPOCH", "UNRELEASED_INSTANCE_ID", "NOT_COORDINATOR", "CommitFailedException",
    "INCONSISTENT_GROUP_PROTOCOL",
)  # fmt: skip


def reactions(cases: Iterable[Mishap]) -> pd.DataFrame:
    """Which error each situation ends in, and what the client does then, read off its history.

    Columns: ``error``, ``protocol``, ``situation``, ``member``, ``at_s`` (the first time),
    ``answers`` (commit, or join or sync), ``generation`` (kept, reset, or over; "reset before" where
    the client had found out by itself), ``reaction``, ``lost`` (partitions that went without
    onPartitionsRevoked for this error), ``lost_otherwise`` (for another reason, which ``reaction``
    names), ``back_s`` (until the next assignment, null if there is none).
    """
    rows = []
    for case in cases:
        history = run(case.scenario, case.config, case.strategy)
        log = history.events_frame()
        told = log[log["kind"].isin(TELLING) & log["detail"].isin(ERRORS)]
        for (error, member), mine in told.groupby(["detail", "member"], sort=False):
            rows.append(_reaction(case, error, member, mine, log))
    return pd.DataFrame(rows)


def _reaction(case: Mishap, error: str, member: str, mine, log) -> dict:
    at_ms = mine["time_ms"].iloc[0]
    after = log[(log["member"] == member) & (log["time_ms"] >= at_ms)]
    kinds = set(after["kind"])
    gone = after[after["kind"] == "lost"]
    lost = int(gone.loc[gone["detail"] == error, "count"].sum())
    otherwise = gone[gone["detail"] != error]
    again = after[(after["kind"] == "assigned") & (after["time_ms"] > at_ms)]
    reset = lost or ((mine["kind"] == "error") & (error != NOT_COORDINATOR)).any()
    if "fatal" in kinds:
        generation, reaction = "over", "fatal: the application gets an exception and is out"
    elif lost:
        generation, reaction = "reset", "loses its partitions (onPartitionsLost), joins again"
    elif len(otherwise):
        reason = otherwise["detail"].iloc[0]
        generation = "reset before"
        reaction = f"the commit fails, no more; {reason}, and for that its partitions are lost"
    elif reset:
        generation, reaction = "reset", "joins again; it had given everything up before"
    elif case.config.commit == "transaction":
        generation, reaction = "kept", "gives the transaction up and reads its batch again"
    elif len(again):
        generation, reaction = "kept", "goes on and joins again"
    else:
        generation, reaction = "kept", "finds the coordinator and sends it again"
    return {
        "error": error,
        "protocol": case.protocol,
        "situation": case.what,
        "member": member,
        "at_s": at_ms / SECOND,
        "answers": "commit" if mine["kind"].isin(OF_COMMITS).any() else "join or sync",
        "generation": generation,
        "reaction": reaction,
        "lost": lost,
        "lost_otherwise": int(otherwise["count"].sum()),
        "back_s": (again["time_ms"].iloc[0] - at_ms) / SECOND if len(again) else None,
    }


# ---- offsets -----------------------------------------------------------------------------------


def quiet(rate: float, seconds: int) -> Scenario:
    """One member reads one partition and nothing happens; its offsets are watched closely."""
    return Scenario(
        topics=[Topic("t", 1, rate=rate)],
        members=[Member("a", processing_ms=1.0)],
        duration_ms=seconds * SECOND,
        watch=[("t", 0)],
        sample_ms=20,
    )


POLLED_S = 60


def polled(rate: float, fewest: int, seconds: int = POLLED_S) -> History:
    """:func:`quiet`, whose broker holds a fetch until ``fewest`` records are there."""
    config = Config(auto_offset_reset="earliest", fetch_min_records=fewest)
    return run(quiet(rate, seconds), config, "range")


def polling(rates: Sequence[float], least: Sequence[int]) -> pd.DataFrame:
    """How often poll returns, and with how much: one row per rate and ``fetch_min_records``.

    Told from the second half of :data:`POLLED_S`: what lay there when the member came is read by then.

    Columns: ``rate`` (records a second), ``fetch_min_records``, ``polls_per_s``,
    ``records_per_poll``.
    """
    rows = []
    for rate in rates:
        for fewest in least:
            half, all_of_it = (polled(rate, fewest, s) for s in (POLLED_S // 2, POLLED_S))
            polls = all_of_it.polls - half.polls
            read = totals(all_of_it)["delivered"] - totals(half)["delivered"]
            rows.append((rate, fewest, polls / (POLLED_S - POLLED_S // 2), read / max(polls, 1)))
    return pd.DataFrame(
        rows, columns=["rate", "fetch_min_records", "polls_per_s", "records_per_poll"]
    )


# ---- commits before a rebalance ----------------------------------------------------------------

WAYS = {
    "auto commit": {"commit": "auto"},
    "own commits, listener commits": {"commit": "after", "commit_on_revoke": True},
    "own commits, no listener": {"commit": "after"},
}
"""How what is processed is committed before a rebalance: title -> settings."""


SLOW_MS = 20 * SECOND
"""When a newcomer's group is at work, and the first of its members gets a slow batch."""
DRAWN_MS = 60 * SECOND
"""The longest time over which a newcomer's moment is drawn."""


def newcomer(rate: float, members: int, partitions: int, seed: int, interval_ms: int) -> Scenario:
    """A member joins a group that is at work and commits every ``interval_ms``; all moments are drawn.

    Commits and heartbeats that begin with the same assignment keep their distance for good, and where
    one interval is a multiple of the other a rebalance finds every commit equally old. So each member
    has one slow batch, an interval long, that begins within an interval of :data:`SLOW_MS`: it commits
    when that is over, and from then on. The newcomer comes an interval after the last of them at the
    earliest, within the common span of commits and heartbeats, or :data:`DRAWN_MS`.
    """
    draw = random.Random(seed)
    starts = [draw.randrange(5 * SECOND) for _ in range(members)]
    slow = [SLOW_MS + draw.randrange(interval_ms) for _ in range(members)]
    usual = Config()
    heartbeats = usual.heartbeat_interval_ms, usual.group_consumer_heartbeat_interval_ms
    span = min(math.lcm(interval_ms, *heartbeats), max(DRAWN_MS, interval_ms))
    comes = SLOW_MS + 3 * interval_ms + draw.randrange(span)
    return Scenario(
        topics=[Topic("t", partitions, rate=rate)],
        members=[
            Member(f"c{i}", processing_ms=1.0, start_ms=start) for i, start in enumerate(starts)
        ],
        actions=[
            *(stall(at, f"c{i}", interval_ms) for i, at in enumerate(slow)),
            join(comes, Member("newcomer", processing_ms=1.0)),
        ],
        duration_ms=comes + 30 * SECOND,
    )


def commits_before_rebalance(
    strategies: Sequence[str], interval_ms: int, seeds: Iterable[int], rate: float = 50.0
) -> pd.DataFrame:
    """Records read again after a member joined three others, on twelve partitions.

    ``interval_ms`` between commits; ``rate``: records a second and partition; each seed draws its own
    :func:`newcomer`, the same for every strategy and way. Columns: ``strategy``, ``way`` (see
    :data:`WAYS`; consumers over ZooKeeper know no listener that could commit), ``seed``,
    ``repeated``.
    """
    stories = {seed: newcomer(rate, 3, 12, seed, interval_ms) for seed in seeds}
    rows = []
    for strategy in strategies:
        listens = assignors.get(strategy).membership == "coordinator"
        for way, settings in WAYS.items():
            if settings.get("commit_on_revoke") and not listens:
                continue
            config = Config(
                auto_offset_reset="earliest", auto_commit_interval_ms=interval_ms,
                commit_interval_ms=interval_ms, **settings,
            )  # fmt: skip
            for seed, story in stories.items():
                read = deliveries_frame(run(story, config, strategy, seed))
                since = read["from_ms"] >= story.actions[-1].at_ms  # not those of the start
                rows.append((strategy, way, seed, int(read["again"][since].sum())))
    return pd.DataFrame(rows, columns=["strategy", "way", "seed", "repeated"])


def repeated_in_words(saved: pd.DataFrame, way: str) -> str:
    """How many records are read again on average with one way of committing, strategies apart only
    where the draws tell them apart.

    >>> rows = [(name, "none", s, 9 * s * k) for name, k in (("x", 1), ("y", 4)) for s in range(9)]
    >>> saved = pd.DataFrame(rows, columns=["strategy", "way", "seed", "repeated"])
    >>> repeated_in_words(saved, "none")
    '36 under x, 140 under y'
    >>> repeated_in_words(saved[saved["seed"] > 6], "none")
    '68 to 270 under x and y (2 draws do not tell them apart)'
    """
    draws = saved[saved["way"] == way].pivot(index="seed", columns="strategy", values="repeated")
    draws = draws[list(dict.fromkeys(saved["strategy"]))]
    told, tiers = [], evidence.tiers(draws)
    for tier in tiers:
        names = sorted(tier, key=list(draws).index)
        told.append(f"{range_of(draws[names].mean())} under {listed(names)}")
    few = len(draws) < evidence.LEAST_DRAWS and draws.shape[1] > 1
    do_not = f"{len(draws)} draw{' does' if len(draws) == 1 else 's do'} not"
    alike = f" ({do_not} tell them apart)" if few else ""
    return ", ".join(told) + alike
