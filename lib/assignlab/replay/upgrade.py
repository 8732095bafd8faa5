"""What an upgrade moves: one group, one history, and a strategy that changes on the way.

- :func:`switches`: every pair of strategies, and the moment from which the new one assigns: the
  leader has the new release, or the last member knows the new strategy. Nothing else happens at
  that moment, so that whatever moves, moves because of the switch.
- :func:`migrations`: the whole upgrade, member by member. Every restarted member comes back under a
  new id, and the group assigns by what its members have in common.
- :class:`Trial`: either of them as a trial of a sweep (:func:`assignlab.timeline.sweep`),
  group by group.

Source of the two bounces: KIP-429. In the first, every member gets ``cooperative-sticky`` beside
its old strategy; only when the last one has it can the group choose it, and all of them are still
eager, because a client is as eager as the most eager strategy in its list. In the second the old
strategy is taken off the list; members that have restarted keep what they own, the others still
give up everything before they join. The coordinator's strategies need one bounce (KIP-848): the
first member that speaks the new protocol turns the group over, and the coordinator knows what the
others have.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import pandas as pd

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.replay.history import Moment, history
from assignlab.replay.metrics import FIELDS
from assignlab.replay.rebalance import NeverStable, Step, replay
from assignlab.replay.records import measure
from assignlab.replay.scenarios import Scenario

SWITCH = "STABLE"
"""Nothing happens to the group at the switch but the switch."""


def switches(
    strategies: Sequence[str],
    seeds: Iterable[int],
    before: Sequence[str] = ("JOIN_ONE", "LEAVE_ONE"),
    after: Sequence[str] = ("JOIN_ONE", "LEAVE_ONE"),
    old: Sequence[str] | None = None,
    **scenario,
) -> pd.DataFrame:
    """One row for each old strategy, new strategy and seed; partitions are counts.

    ``old``: the old ones, all ``strategies`` unless given. ``scenario``: fields of
    :class:`~assignlab.replay.scenarios.Scenario`. Columns: old, new, seed, error (why there is no
    result, else None), moved (partitions that change owner at the switch), interrupted (given up
    then, also if kept), rounds, gap_before, gap_after (fullest - emptiest member), later
    (partitions that change owner in the rebalances ``after``).

    >>> frame = switches(["range", "sticky"], [0], members=3, topics=2, partitions=8)
    >>> frame[["old", "new", "moved", "gap_before", "gap_after"]].values.tolist()
    [['range', 'range', 0, 2, 2], ['range', 'sticky', 7, 2, 1], ['sticky', 'range', 7, 1, 2], \
['sticky', 'sticky', 0, 1, 1]]
    """
    events = ("FULL", *before, SWITCH, *after)
    place = 1 + len(before)
    rows = []
    for seed in seeds:
        moments = history(Scenario(events=events, seed=seed, **scenario))
        for one in old or strategies:
            for new in strategies:
                chosen = [assignors.get(one)] * place
                chosen += [assignors.get(new)] * (len(moments) - place)
                steps, error = _played(moments, chosen)
                measured = Switch(error) if error else _measured_switch(steps, place)
                rows.append((one, new, seed, *measured))
    frame = pd.DataFrame(rows, columns=["old", "new", "seed", *Switch._fields])
    return frame.astype(dict.fromkeys(Switch._fields[1:], "Int64"))


class Switch(NamedTuple):
    """The columns of :func:`switches` that are measured."""

    error: str | None
    moved: int | None = None
    interrupted: int | None = None
    rounds: int | None = None
    gap_before: int | None = None
    gap_after: int | None = None
    later: int | None = None


def _played(moments: Sequence[Moment], chosen: Sequence[Strategy]) -> tuple[list[Step], str | None]:
    """The steps up to the first that fails, and why that one failed."""
    steps: list[Step] = []
    try:
        for step in replay(moments, chosen):
            if step.error is not None:
                return steps, step.error
            steps.append(step)
    except NeverStable as raised:
        return steps, str(raised)
    return steps, None


def _measured_switch(steps: list[Step], place: int) -> Switch:
    before, switch, *later = [_measured(step) for step in steps[place - 1 :]]
    return Switch(
        error=None,
        moved=switch["by_choice"],
        interrupted=switch["interrupted"],
        rounds=steps[place].rounds,
        gap_before=before["count_gap"],
        gap_after=switch["count_gap"],
        later=sum(step["by_choice"] + step["forced"] for step in later),
    )


def _measured(step: Step) -> dict:
    """The metrics of a step by name."""
    return dict(zip(FIELDS, measure(step), strict=True))


# ---- member by member --------------------------------------------------------------------------


def migrations(seeds: Iterable[int], old: str = "range", **scenario) -> pd.DataFrame:
    """Upgrades carried out member by member, rebalance by rebalance; partitions are counts.

    Three roads from ``old``: two restarts of everybody without an upgrade; two bounces to
    cooperative-sticky; one bounce to the coordinator's uniform, and one more restart under it.
    Columns: road, seed, bounce (1, 2), step (from 1; two rebalances for each restart), strategy
    (which assigned), moved (partitions that change owner), interrupted (given up, also if kept),
    gap (fullest - emptiest member).

    >>> frame = migrations([0], members=3, topics=2, partitions=8)
    >>> frame.groupby("road")["step"].max().tolist()
    [12, 12, 12]
    """
    members = scenario.get("members", Scenario().members)
    plans = {
        f"{old}, no upgrade": [assignors.get(old)] * (4 * members),
        f"{old} → cooperative-sticky": two_bounces(
            assignors.get(old), assignors.get("cooperative-sticky"), members
        ),
        f"{old} → server-uniform": [assignors.get(old)]
        + [assignors.get("server-uniform")] * (4 * members - 1),
    }
    rows = []
    for seed in seeds:
        events = ("FULL", "ROLLING_RESTART", "ROLLING_RESTART")
        moments = history(Scenario(events=events, seed=seed, **scenario))
        for road, plan in plans.items():
            chosen = [assignors.get(old), *plan]
            sizes = [len(moment.group.members) for moment in moments]
            steps = replay(moments, chosen, still_eager(chosen, sizes, members))
            for number, step in enumerate(steps):
                if number == 0:
                    continue
                measured = _measured(step)
                rows.append(
                    {
                        "road": road,
                        "seed": seed,
                        "bounce": 1 + (number - 1) // (2 * members),
                        "step": number,
                        "strategy": step.strategy.name,
                        "moved": measured["by_choice"] + measured["forced"],
                        "interrupted": measured["interrupted"],
                        "gap": measured["count_gap"],
                    }
                )
    return pd.DataFrame(rows)


def two_bounces(old: Strategy, new: Strategy, members: int) -> list[Strategy]:
    """Who assigns at each rebalance: the old one until the last member has both in its list.

    The last restart of the first bounce takes two rebalances. When the last member that does not
    know the new, cooperative one has left, all others do.
    """
    return [old] * (2 * members - 2) + [new] * (2 * members + 2)


def still_eager(
    chosen: Sequence[Strategy], sizes: Sequence[int], members: int
) -> list[Sequence[int]]:
    """Members that give up everything though the strategy is cooperative, at each moment.

    ``sizes``: members of the group at each moment. A member that has not been restarted in the
    second bounce has the old strategy in its list. The restarted ones join at the end of the
    group's order.
    """
    silent: list[Sequence[int]] = []
    for number, (strategy, size) in enumerate(zip(chosen, sizes, strict=True)):
        restarted = max(0, number - 2 * members) // 2
        silent.append(range(size - restarted) if strategy.protocol == "cooperative" else ())
    return silent


# ---- as trials of a sweep ----------------------------------------------------------------------


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

    @property
    def scenario(self) -> dict:
        """The fields that :class:`~assignlab.replay.scenarios.Scenario` has too."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name in ("members", "topics", "partitions", "subscription")
        }


def play_switches(trial: Trial) -> list[dict]:
    """The records of :func:`switches`: one for each new strategy.

    >>> [record["moved"] for record in play_switches(Trial(0, "range", "range,sticky", members=3))]
    [0, 66]
    """
    frame = switches(
        trial.new.split(","),
        [trial.seed],
        [*filter(None, trial.before.split(","))],
        [*filter(None, trial.after.split(","))],
        old=[trial.old],
        **trial.scenario,
    )
    return frame.astype(object).where(frame.notna(), None).to_dict("records")


def play_migrations(trial: Trial) -> list[dict]:
    """The records of :func:`migrations`."""
    return migrations([trial.seed], trial.old, **trial.scenario).to_dict("records")
