"""What an upgrade moves: one group, one history, and a strategy that changes on the way.

Both are played group by group, a :class:`Trial` each (:func:`assignlab.timeline.sweep`):

- :func:`play_switches`: from one moment on another strategy assigns: the leader has the new
  release, or the last member knows the new strategy. Nothing else happens at that moment, so that
  whatever moves, moves because of the switch.
- :func:`play_migrations`: the whole upgrade, member by member. Every restarted member comes back
  under a new id, and the group assigns by what its members have in common.

Source of the two bounces: KIP-429. In the first, every member gets ``cooperative-sticky`` beside
its old strategy; only when the last one has it can the group choose it, and all of them are still
eager, because a client is as eager as the most eager strategy in its list. In the second the old
strategy is taken off the list; members that have restarted keep what they own, the others still
give up everything before they join. Between the clients and the coordinator it takes one bounce
(KIP-848): the first member that speaks the new protocol turns the group over, and the coordinator
knows what the others have; on the way back the last one that spoke it does. Between two assignors of
the coordinator most members decide (``group.remote.assignor``). Classic members still take part in
every rebalance with their own protocol: eager ones give up everything and get most of it back, as
recordings of real groups show (``migrate-up.range`` of :mod:`assignlab.reality`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.replay.history import Moment, history
from assignlab.replay.rebalance import NeverStable, Step, held_again, replay
from assignlab.replay.records import measures
from assignlab.replay.scenarios import Scenario

SWITCH = "STABLE"
"""Nothing happens to the group at the switch but the switch."""


@dataclass(frozen=True)
class Trial:
    """One group and one old strategy. ``new``, ``before``, ``after``: names with commas between."""

    seed: int
    old: str
    new: str = ""
    before: str = ""
    after: str = ""
    members: int = 12
    topics: int = 10
    partitions: int = 100
    subscription: str = "HOMOGENEOUS"

    def moments(self, *events: str) -> list[Moment]:
        """What happens to the group."""
        size = (self.members, self.topics, self.partitions)
        return history(
            Scenario(*size, subscription=self.subscription, seed=self.seed, events=events)
        )


def play_switches(trial: Trial) -> list[dict]:
    """What the switch does: one record for each new strategy; partitions are counts.

    old, new, seed, partitions (at first), in_group (partitions at the switch), thrown (what an
    original throws before, at or after the switch, and the rest is NaN; else ""), moved (partitions
    that change owner at the switch), interrupted (given up then, also if kept: everything where the
    old strategy is eager, since its clients still join the first rebalance of a new one), rounds,
    gap_before, gap_after (fullest - emptiest member), later (partitions that change owner in the
    rebalances ``after``).

    >>> [record["moved"] for record in play_switches(Trial(0, "range", "range,sticky", members=3))]
    [0.0, 66.0]
    """
    before, after = ([*filter(None, words.split(","))] for words in (trial.before, trial.after))
    moments = trial.moments("FULL", *before, SWITCH, *after)
    place = 1 + len(before)
    old = [assignors.get(trial.old)] * place
    in_group = int(moments[place].group.topics.partitions.clip(0).sum())
    found = []
    for new in trial.new.split(","):
        chosen = [*old, *[assignors.get(new)] * (len(moments) - place)]
        steps, error = _played(moments, chosen)
        measured = Switch(error) if error is not None else _measured_switch(steps, place)
        found.append({
            "old": trial.old, "new": new, "seed": trial.seed, "partitions": trial.partitions,
            "in_group": in_group, **measured._asdict(),
        })  # fmt: skip
    return found


class Switch(NamedTuple):
    """What is measured of a switch."""

    thrown: str
    moved: float = math.nan
    interrupted: float = math.nan
    rounds: float = math.nan
    gap_before: float = math.nan
    gap_after: float = math.nan
    later: float = math.nan


def _played(
    moments: Sequence[Moment],
    chosen: Sequence[Strategy],
    silent: Sequence[Sequence[int]] | None = None,
) -> tuple[list[Step], str | None]:
    """The steps up to the first that fails, and why that one failed."""
    steps: list[Step] = []
    try:
        for step in replay(moments, chosen, silent):
            if step.error is not None:
                return steps, step.error
            steps.append(step)
    except NeverStable as raised:
        return steps, str(raised)
    return steps, None


def _measured_switch(steps: list[Step], place: int) -> Switch:
    before, switch, *later = map(measures, steps[place - 1 :])
    eager = steps[place - 1].strategy.protocol == "eager"
    return Switch(
        thrown="",
        moved=float(switch["by_choice"]),
        interrupted=float(switch["held"] if eager else switch["interrupted"]),
        rounds=float(steps[place].rounds),
        gap_before=float(before["count_gap"]),
        gap_after=float(switch["count_gap"]),
        later=float(sum(step["by_choice"] + step["forced"] for step in later)),
    )


# ---- member by member --------------------------------------------------------------------------


def play_migrations(trial: Trial) -> list[dict]:
    """Upgrades carried out member by member, one record for each rebalance; partitions are counts.

    Three roads from the old strategy: two restarts of everybody without an upgrade; to
    cooperative-sticky; to the coordinator's uniform. None to the strategy that is the old one
    already, nor out of a group that no coordinator of Kafka's keeps. None member by member from
    KafkaJS to cooperative-sticky, since no other client offers a strategy of KafkaJS's name, nor from
    librdkafka's cooperative-sticky to the coordinator, which refuses to turn a group whose
    assignments carry user data. A road of one bounce is followed
    by one more restart of everybody. road, seed, bounce (1, 2), upgrade (whether the bounce is part
    of the upgrade), step (from 1; two rebalances for each restart), strategy (which assigned), moved
    (partitions that change owner), interrupted (given up, also if kept), gap (fullest - emptiest
    member). Raises :class:`~assignlab.errors.AssignlabError` where an original does not answer on a
    road: what its members would do then is not an upgrade.

    >>> records = play_migrations(Trial(0, "range", members=3, topics=2, partitions=8))
    >>> [record["step"] for record in records] == [*range(1, 13)] * 3
    True
    """
    old, members = assignors.get(trial.old), trial.members
    cooperative, uniform = assignors.get("cooperative-sticky"), assignors.get("server-uniform")
    roads = {f"{trial.old}, no upgrade": old}
    of_kafka = old.membership == "coordinator" and not old.shares
    if of_kafka and old.kind != cooperative.kind and not old.offered:
        roads[f"{trial.old} → cooperative-sticky"] = cooperative
    sends_data = old.system == "librdkafka" and old.kind == cooperative.kind
    if of_kafka and old.kind != uniform.kind and not sends_data:
        roads[f"{trial.old} → server-uniform"] = uniform
    moments = trial.moments("FULL", "ROLLING_RESTART", "ROLLING_RESTART")
    restarts = []
    for number, moment in enumerate(moments):
        bounce, more = divmod(number // 2, members)  # the restarted ones come last
        there = len(moment.group.members)
        restarts.append([bounce] * (there - more) + [bounce + 1] * more)
    found = []
    for road, new in roads.items():
        bounces = 0 if new is old else 2 if old.protocol == "eager" and new is cooperative else 1
        chosen, silent = zip(*(assigned(done, old, new, bounces) for done in restarts), strict=True)
        steps, error = _played(moments, chosen, silent)
        if error is not None:
            raise AssignlabError(f"{road}: {error}")
        for number, step in enumerate(steps[1:], 1):
            measured, bounce = measures(step), 1 + (number - 1) // (2 * members)
            if step.strategy.protocol == "server" and old.protocol == "eager":
                classic = [m for m, done in enumerate(restarts[number]) if not done]
                measured["interrupted"] += held_again(step, classic)
            found.append({
                "road": road,
                "seed": trial.seed,
                "bounce": bounce,
                "upgrade": bounce <= bounces,
                "step": number,
                "strategy": step.strategy.name,
                "moved": measured["by_choice"] + measured["forced"],
                "interrupted": measured["interrupted"],
                "gap": measured["count_gap"],
            })  # fmt: skip
    return found


def costs(records: pd.DataFrame) -> pd.DataFrame:
    """What upgrades cost by themselves, of the records of :func:`play_migrations`.

    One row for each road and seed: bounces, moved and interrupted in them, and plain_moved and
    plain_interrupted in as many restarts of everybody without an upgrade.

    >>> costs(pd.DataFrame(play_migrations(Trial(0, "range", members=3))))["bounces"].tolist()
    [2, 1]
    """
    keys = ["road", "bounce", "seed"]
    sums = records.groupby([*keys, "upgrade"], sort=False)[["moved", "interrupted"]].sum()
    sums = sums.reset_index()
    plain = sums[~sums.groupby("road")["upgrade"].transform("any")].set_index(keys[1:])
    plain = plain[["moved", "interrupted"]].add_prefix("plain_")
    own = sums[sums["upgrade"]].join(plain, on=keys[1:]).rename(columns={"bounce": "bounces"})
    rest = dict.fromkeys(["moved", "interrupted", *plain], "sum")
    return own.groupby(["road", "seed"], sort=False).agg({"bounces": "max", **rest})


def gentlest(costs: pd.DataFrame) -> str:
    """The road of several that interrupts least in every group; "" where none does.

    >>> gentlest(costs(pd.DataFrame(play_migrations(Trial(0, "range", members=3)))))
    'range → server-uniform'
    """
    of_each = costs["interrupted"].unstack("road")
    least = of_each.eq(of_each.min(axis=1), axis=0)
    alone = least.all() & (least.sum(axis=1) == 1).all()
    return next(iter(alone.index[alone]), "") if len(alone) > 1 else ""


def assigned(
    restarts: Sequence[int], old: Strategy, new: Strategy, bounces: int
) -> tuple[Strategy, list[int]]:
    """Who assigns once the members have been restarted so often each, and which of them, as indices,
    give up everything before they join.

    A strategy of clients as soon as the last member knows it; the coordinator as soon as the first one
    speaks its protocol; between two assignors of the coordinator what most members ask for. Of as many
    it takes uniform: it walks a map that has uniform before range. A member that has not been through
    the last of the ``bounces`` has the old, eager strategy in its list.

    >>> old, new = (assignors.get(f"server-{name}") for name in ("range", "uniform"))
    >>> [assigned(done, old, new, 1)[0].remote for done in ([0, 0, 1], [0, 1], [0, 1, 1])]
    ['range', 'uniform', 'uniform']
    >>> [assigned(done, assignors.get("range"), assignors.get("cooperative-sticky"), 2)[1]
    ...  for done in ([0, 1, 1], [1, 1], [1, 1, 2])]
    [[], [0, 1], [0, 1]]
    """
    if old.protocol == new.protocol == "server":
        turned = 2 * sum(map(bool, restarts)) >= len(restarts)
    else:
        turned = (max if new.protocol == "server" else min)(restarts) > 0
    chosen = new if turned else old
    eager = old.protocol == "eager" and chosen.protocol == "cooperative"
    return chosen, [m for m, done in enumerate(restarts) if eager and done < bounces]
