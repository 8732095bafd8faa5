"""What triggers a rebalance, one trigger at a time: trials whose costs compare.

A group of members over two topics settles; at :func:`at_ms` one thing happens; the run goes on
until the slowest of Kafka's defaults has seen it. Members of the trial about a pattern subscribe by
it, all others by name; those about static members have instance ids.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan

import pandas as pd

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.timeline.config import Config, TimelineError, defaults
from assignlab.timeline.engine.history import History
from assignlab.timeline.measure import gaps, per_event
from assignlab.timeline.scenario import (
    KAFKA_GO,
    KAFKAJS,
    Action,
    Member,
    Scenario,
    Topic,
    add_partitions,
    coordinator_moves,
    crash,
    create_topic,
    join,
    leave,
    restart,
    stall,
    subscribe,
)
from assignlab.timeline.simulation import run
from assignlab.timeline.trials.axes import every

AT_MS = 60_000
"""What a group has to settle, once all its members have started."""

METADATA_MS = Config().metadata_max_age_ms
"""Members of trials that wait for metadata start so long apart, at most: clients look at theirs in
turns of this length, each from its own start on."""

SEEN_MS = 120_000
STALLED_MS = 400_000
REFRESHED_MS = 660_000
"""How long after :data:`AT_MS` a run ends: most triggers; those that wait for max.poll.interval.ms;
those that wait for metadata.max.age.ms or group.consumer.regex.refresh.interval."""

LAST = "consumer-1"
"""The member to whom it happens."""

STALL_MS = 350_000
AWAY_MS = 10_000
TOO_LATE_MS = 60_000
START_MS = 5_000
"""How long a stalled member does not poll; a static member is away, in time and too late; and how
much longer a start takes, at most."""

ROUNDS_MS = 5_000
"""What a leave's own rounds take at the most; what begins later is another rebalance."""

HAPPENS = {
    "join": "one more member starts",
    "leave": "a member closes and stays away",
    "crash": "the process of a member is gone",
    "stall": f"a member does not poll for {STALL_MS / 1000:g} s, then goes on",
    "static back in time": f"a static member closes and starts again {AWAY_MS / 1000:g} s later, "
    f"which takes up to {START_MS / 1000:g} s more",
    "static too late": f"the same, {TOO_LATE_MS / 1000:g} s later: after its session",
    "topic matches the pattern": "a topic is created that the pattern of all members matches",
    "partitions added": "one of the two topics gains two partitions",
    "subscription changed": "a member gives up one of the two topics",
    "coordinator moves": "another broker becomes the group's coordinator",
}
"""Every trigger, and what happens then."""

TRIGGERS = tuple(HAPPENS)


@dataclass(frozen=True)
class Trial:
    """One trigger, one strategy; ``partitions`` of each of the two topics, ``rate`` records a
    second and partition; ``drift_ms``: by how much heartbeats fall out of step, see
    ``Config.heartbeat_drift_ms``; the seed decides on ids and on the phases of heartbeats and of
    metadata. ``client_pattern``: under KIP-848 a pattern is the client's, see ``Member``."""

    trigger: str
    strategy: str
    seed: int = 0
    members: int = 3
    partitions: int = 6
    rate: float = 10.0
    drift_ms: int = 0
    client_pattern: bool = False


def grid(
    triggers: Sequence[str],
    strategies: Sequence[str],
    seeds: Sequence[int],
    drifts_ms: Sequence[int] = (0,),
    **fields,
) -> list[Trial]:
    """Every combination there is; ``fields``: of :class:`Trial`, the same for all.

    Every drift has groups of its own: the first one those of ``seeds``, each further one as many
    that follow. Static members, and another subscription while it runs, exist where Kafka's
    coordinator knows the group's members, but not in kafka-go and KafkaJS; patterns everywhere but in MetaQ.

    >>> found = grid(["join", "static too late"], ["range", "scala-range"], [0])
    >>> [(trial.trigger, trial.strategy) for trial in found]
    [('join', 'range'), ('join', 'scala-range'), ('static too late', 'range')]
    >>> [(trial.drift_ms, trial.seed) for trial in grid(["join"], ["range"], [7, 8], [0, 100])]
    [(0, 7), (0, 8), (100, 9), (100, 10)]
    """
    axes = {
        "trigger": triggers,
        "strategy": strategies,
        "drift_ms": drifts_ms,
        "seed": seeds,
        **{name: [value] for name, value in fields.items()},
    }
    trials = every(Trial, axes, {"trigger": TRIGGERS})
    own = {drift: number for number, drift in enumerate(dict.fromkeys(t.drift_ms for t in trials))}
    drawn = [trial.seed for trial in trials]
    further = max(drawn, default=0) - min(drawn, default=0) + 1
    return [
        replace(trial, seed=trial.seed + own[trial.drift_ms] * further)
        for trial in trials
        if exists(trial.trigger, assignors.get(trial.strategy))
    ]


def exists(trigger: str, strategy: Strategy) -> bool:
    """Whether consumers of a strategy's system have what a trigger takes."""
    if trigger.startswith("static") or trigger == "subscription changed":
        return strategy.membership == "coordinator" and strategy.system not in (KAFKA_GO, KAFKAJS)
    return trigger != "topic matches the pattern" or strategy.system != "MetaQ"


def action(trial: Trial) -> Action:
    """What is done to the group."""
    at = at_ms(trial.trigger)
    match trial.trigger:
        case "join":
            return join(at, Member("newcomer", topics=("orders", "payments")))
        case "leave":
            return leave(at, LAST)
        case "crash":
            return crash(at, LAST)
        case "stall":
            return stall(at, LAST, for_ms=STALL_MS)
        case "static back in time":
            return restart(at, LAST, down_ms=AWAY_MS)
        case "static too late":
            return restart(at, LAST, down_ms=TOO_LATE_MS)
        case "topic matches the pattern":
            return create_topic(at, Topic("payments-eu", trial.partitions, trial.rate))
        case "partitions added":
            return add_partitions(at, "payments", trial.partitions + 2)
        case "subscription changed":
            return subscribe(at, LAST, ("orders",))
        case "coordinator moves":
            return coordinator_moves(at)
    raise TimelineError(f"trigger: {trial.trigger!r} is not one of {', '.join(TRIGGERS)}")


def join_measured(strategy: str, seed: int, spread_ms: int, drift_ms: int = 0) -> dict:
    """A join as it was measured on a real broker: three members, three topics of 7, one more joins.

    ``spread_ms``: members start within so long of each other; ``drift_ms``: by how much heartbeats
    fall out of step, see ``Config.heartbeat_drift_ms``. Returns ``interrupted``: partitions that
    had no owner for a while, and ``shortest_s``, ``longest_s``: for how long, in seconds.
    """
    topics = tuple(f"t{number}" for number in range(3))
    group = Scenario(
        topics=[Topic(name, 7, 10.0) for name in topics],
        members=[Member(f"consumer-{number}", topics=topics) for number in range(3)],
        actions=[join(AT_MS, Member("newcomer", topics=topics))],
        duration_ms=AT_MS + SEEN_MS,
    )
    config = Config(start_spread_ms=spread_ms, heartbeat_drift_ms=drift_ms)
    played = run(group, config, strategy, seed)
    found = [(until - since) / 1000 for _, since, until in gaps(played) if since >= AT_MS]
    return {"interrupted": len(found), "shortest_s": min(found), "longest_s": max(found)}


def only_reader_leaves(strategy: str, seed: int, members: int, partitions: int) -> dict:
    """One of the members alone reads a third topic, and closes; what follows until every client has
    looked at its metadata again.

    ``partitions``: of each topic. Returns ``again_s``: after how many seconds the group rebalanced
    again, nan if it did not, and ``revoked``: how many partitions members gave up then. The rounds of
    the first rebalance are over within :data:`ROUNDS_MS`.
    """
    draw, at = random.Random(seed), AT_MS + METADATA_MS
    both = ("orders", "payments")
    group = Scenario(
        topics=[Topic(name, partitions) for name in (*both, "refunds")],
        members=[
            Member(
                f"consumer-{number}",
                topics=both if number != 1 else (*both, "refunds"),
                start_ms=draw.randint(0, METADATA_MS),
            )
            for number in range(members)
        ],
        actions=[leave(at, LAST)],
        duration_ms=at + METADATA_MS + SEEN_MS,
    )
    played = run(group, settings(Trial("leave", strategy)), strategy, seed)
    began = [e.time_ms for e in played.events if e.kind == "generation" and e.time_ms >= at]
    if not began:  # the original throws
        return {"again_s": nan, "revoked": 0}
    over = began[0] + ROUNDS_MS
    revoked = [e.partitions.size for e in played.events if e.kind == "revoked" and e.time_ms > over]
    again_s = (began[-1] - at) / 1000 if began[-1] > over else nan
    return {"again_s": again_s, "revoked": sum(revoked)}


def scenario(trial: Trial) -> Scenario:
    """The group and what happens to it."""
    static = trial.trigger.startswith("static")
    pattern = "orders|payments.*" if trial.trigger == "topic matches the pattern" else None
    draw = random.Random(trial.seed)
    latest = METADATA_MS if waits_for_metadata(trial.trigger) else 0
    return Scenario(
        topics=[Topic(name, trial.partitions, trial.rate) for name in ("orders", "payments")],
        members=[
            Member(
                f"consumer-{number}",
                topics=None if pattern else ("orders", "payments"),
                pattern=pattern,
                client_pattern=trial.client_pattern,
                instance=f"consumer-{number}" if static else None,
                start_ms=draw.randint(0, latest),
            )
            for number in range(trial.members)
        ],
        actions=[action(trial)],
        duration_ms=at_ms(trial.trigger) + after_ms(trial.trigger),
    )


def waits_for_metadata(trigger: str) -> bool:
    """Whether clients see it only with their next look at the metadata."""
    return trigger in ("topic matches the pattern", "partitions added")


def at_ms(trigger: str) -> int:
    """When it happens; by then every protocol has settled."""
    return AT_MS + (METADATA_MS if waits_for_metadata(trigger) else 0)


def after_ms(trigger: str) -> int:
    """How long the run goes on after the trigger."""
    if trigger == "stall":
        return STALLED_MS
    return REFRESHED_MS if waits_for_metadata(trigger) else SEEN_MS


def settings(trial: Trial) -> Config:
    """Kafka's defaults, but that members read from the start, or those of 0.8 and MetaQ;
    members start apart."""
    strategy = assignors.get(trial.strategy)
    if strategy.membership == "ZooKeeper":
        release, system = ("1.4", "metaq") if strategy.system == "MetaQ" else ("0.8", "kafka")
        return defaults(release, system, start_spread_ms=START_MS)
    return Config(
        auto_offset_reset="earliest", start_spread_ms=START_MS, heartbeat_drift_ms=trial.drift_ms
    )


def session_s(strategy: str) -> float:
    """After how long without a sign of life a member is given up, in seconds."""
    facts, chosen = assignors.get(strategy), settings(Trial("crash", strategy))
    if facts.membership == "ZooKeeper":
        return chosen.zookeeper_session_timeout_ms / 1000
    if facts.protocol == "server":
        return chosen.group_consumer_session_timeout_ms / 1000
    return chosen.session_timeout_ms / 1000


def session_setting(strategy: str) -> str:
    """The setting of :func:`session_s`, and whose it is.

    >>> session_setting("range"), session_setting("server-uniform")
    ('session.timeout.ms of the client', 'group.consumer.session.timeout.ms of the broker')
    """
    facts = assignors.get(strategy)
    if facts.membership == "ZooKeeper":
        return "the client's session in ZooKeeper"
    if facts.protocol == "server":
        return "group.consumer.session.timeout.ms of the broker"
    return "session.timeout.ms of the client"


def history(trial: Trial) -> History:
    """The history of a trial."""
    return run(scenario(trial), settings(trial), trial.strategy, trial.seed)


def play(trial: Trial) -> dict:
    """What the trigger of a trial cost, see :func:`cost`."""
    return cost(history(trial))


def cost(played: History) -> dict:
    """What the trigger cost: the row of :func:`~assignlab.timeline.measure.per_event`.

    ``rounds``; ``settled_s``: until the last change of an assignment; ``unowned_s``:
    partition-seconds without an owner; ``revoked``; ``lost_partitions``; ``repeated``, ``lost``,
    ``lag_built``: records; ``caught_up_s``: until the lag was back, -1 if it never was.
    """
    row = per_event(played).iloc[-1]
    caught_up = row["catch_up_ms"]
    return {
        "rounds": int(row["rounds"]),
        "settled_s": float(row["settled_ms"]) / 1000,
        "unowned_s": float(row["unowned_s"]),
        "revoked": int(row["revoked"]),
        "lost_partitions": int(row["lost_partitions"]),
        "repeated": int(row["repeated"]),
        "lost": int(row["lost"]),
        "lag_built": int(row["lag_built"]),
        "caught_up_s": -1.0 if pd.isna(caught_up) else float(caught_up) / 1000,
    }
