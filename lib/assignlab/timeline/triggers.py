"""What triggers a rebalance, one trigger at a time: trials whose costs compare.

A group of members over two topics settles; at :data:`AT_MS` one thing happens; the run goes on until
the slowest of Kafka's defaults has seen it. Members of the trial about a pattern subscribe by it, all
others by name; those about static members have instance ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from assignlab import assignors
from assignlab.timeline.config import Config, defaults
from assignlab.timeline.history import History
from assignlab.timeline.measure import gaps, per_event
from assignlab.timeline.scenario import (
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
from assignlab.timeline.world import run

AT_MS = 60_000
"""When it happens; by then every protocol has settled."""

SEEN_MS = 120_000
STALLED_MS = 400_000
REFRESHED_MS = 660_000
"""How long after :data:`AT_MS` a run ends: most triggers; those that wait for max.poll.interval.ms;
those that wait for metadata.max.age.ms or group.consumer.regex.refresh.interval."""

LAST = "consumer-1"
"""The member to whom it happens."""

TRIGGERS = (
    "join", "leave", "crash", "stall", "static back in time", "static too late",
    "topic matches the pattern", "partitions added", "subscription changed", "coordinator moves",
)  # fmt: skip


@dataclass(frozen=True)
class Trial:
    """One trigger, one strategy; ``partitions`` of each of the two topics, ``rate`` records a
    second and partition; the seed decides on ids and on the phase of heartbeats."""

    trigger: str
    strategy: str
    seed: int = 0
    members: int = 3
    partitions: int = 6
    rate: float = 10.0


def grid(
    triggers: Sequence[str], strategies: Sequence[str], seeds: Sequence[int], **fields
) -> list[Trial]:
    """Every combination; ``fields``: of :class:`Trial`, the same for all.

    >>> [trial.trigger for trial in grid(["join", "leave"], ["range"], [0])]
    ['join', 'leave']
    """
    points = product(triggers, strategies, seeds)
    return [Trial(*point, **fields) for point in points]


def action(trial: Trial) -> Action:
    """What is done to the group."""
    match trial.trigger:
        case "join":
            return join(AT_MS, Member("newcomer", topics=("orders", "payments")))
        case "leave":
            return leave(AT_MS, LAST)
        case "crash":
            return crash(AT_MS, LAST)
        case "stall":
            return stall(AT_MS, LAST, for_ms=STALLED_MS - 50_000)
        case "static back in time":
            return restart(AT_MS, LAST, down_ms=10_000)
        case "static too late":
            return restart(AT_MS, LAST, down_ms=60_000)
        case "topic matches the pattern":
            return create_topic(AT_MS, Topic("payments-eu", trial.partitions, trial.rate))
        case "partitions added":
            return add_partitions(AT_MS, "payments", trial.partitions + 2)
        case "subscription changed":
            return subscribe(AT_MS, LAST, ("orders",))
        case "coordinator moves":
            return coordinator_moves(AT_MS)
    raise ValueError(f"trigger: {trial.trigger!r} is not one of {', '.join(TRIGGERS)}")


def join_measured(strategy: str, seed: int, spread_ms: int) -> dict:
    """A join as it was measured on a real broker: three members, three topics of 7, one more joins.

    ``spread_ms``: members start within so long of each other, and so do their heartbeats ever after.
    Returns ``interrupted``: partitions that had no owner for a while, and ``shortest_s``,
    ``longest_s``: for how long, in seconds.
    """
    topics = tuple(f"t{number}" for number in range(3))
    group = Scenario(
        topics=[Topic(name, 7, 10.0) for name in topics],
        members=[Member(f"consumer-{number}", topics=topics) for number in range(3)],
        actions=[join(AT_MS, Member("newcomer", topics=topics))],
        duration_ms=AT_MS + SEEN_MS,
    )
    played = run(group, Config(start_spread_ms=spread_ms), strategy, seed)
    found = [(until - since) / 1000 for _, since, until in gaps(played) if since >= AT_MS]
    return {"interrupted": len(found), "shortest_s": min(found), "longest_s": max(found)}


def scenario(trial: Trial) -> Scenario:
    """The group and what happens to it."""
    static = trial.trigger.startswith("static")
    pattern = "orders|payments.*" if trial.trigger == "topic matches the pattern" else None
    names = [f"consumer-{number}" for number in range(trial.members)]
    return Scenario(
        topics=[Topic(name, trial.partitions, trial.rate) for name in ("orders", "payments")],
        members=[
            Member(
                name,
                topics=None if pattern else ("orders", "payments"),
                pattern=pattern,
                instance=name if static else None,
            )
            for name in names
        ],
        actions=[action(trial)],
        duration_ms=AT_MS + after_ms(trial.trigger),
    )


def after_ms(trigger: str) -> int:
    """How long the run goes on after the trigger."""
    if trigger == "stall":
        return STALLED_MS
    waits = trigger in ("topic matches the pattern", "partitions added")
    return REFRESHED_MS if waits else SEEN_MS


def settings(trial: Trial) -> Config:
    """Kafka's defaults, or those of 0.8 and MetaQ; members start apart and read from the start."""
    system = assignors.get(trial.strategy).system
    if system == "Kafka 0.8 consumer":
        return defaults("0.8", start_spread_ms=5_000)
    if system == "MetaQ":
        return defaults("1.4", system="metaq", start_spread_ms=5_000)
    return Config(auto_offset_reset="earliest", start_spread_ms=5_000)


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
        "caught_up_s": -1.0 if caught_up != caught_up else float(caught_up) / 1000,
    }
