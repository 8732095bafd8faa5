"""What an upgrade moves: one group, one history, and a strategy that changes on the way.

- :func:`switches`: every pair of strategies, and the moment from which the new one assigns: the leader
  has the new release, or the last member knows the new strategy. Nothing else happens at that moment,
  so that whatever moves, moves because of the switch.
- :func:`migrations`: the whole upgrade, member by member. Every restarted member comes back under a new
  id, and the group assigns by what its members have in common.

Source of the two bounces: KIP-429. In the first, every member gets ``cooperative-sticky`` beside its
old strategy; only when the last one has it can the group choose it, and all of them are still eager,
because a client is as eager as the most eager strategy in its list. In the second the old strategy
is taken off the list; members that have restarted keep what they own, the others still give up
everything before they join. The coordinator's strategies need one bounce (KIP-848): the first member
that speaks the new protocol turns the group over, and the coordinator knows what the others have.
"""

from collections.abc import Iterable, Iterator, Sequence

import pandas as pd

from assignlab import assignors
from assignlab.events import Moment, history
from assignlab.metrics import COLUMNS
from assignlab.rebalance import NeverStable, Step, measure, replay
from assignlab.scenarios import Scenario
from assignlab.strategy import Strategy

SWITCH = "STABLE"
"""Nothing happens to the group at the switch but the switch."""

_PLACE = {column.name: i for i, column in enumerate(COLUMNS)}


def switches(
    strategies: Sequence[str],
    seeds: Iterable[int],
    before: Sequence[str] = ("JOIN_ONE", "LEAVE_ONE"),
    after: Sequence[str] = ("JOIN_ONE", "LEAVE_ONE"),
    **scenario,
) -> pd.DataFrame:
    """One row for each old strategy, new strategy and seed; partitions are counts.

    ``scenario``: fields of :class:`~assignlab.scenarios.Scenario`. Columns: old, new, seed, error
    (why there is no result, else None), moved (partitions that change owner at the switch),
    interrupted (given up then, also if kept), rounds, gap_before, gap_after (fullest - emptiest
    member), later (partitions that change owner in the rebalances ``after``).

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
        for old in strategies:
            for new in strategies:
                chosen = [assignors.get(old)] * place
                chosen += [assignors.get(new)] * (len(moments) - place)
                steps = list(_played(moments, chosen))
                rows.append((old, new, seed, *_switch(steps, place)))
    return pd.DataFrame(
        rows,
        columns=[
            "old", "new", "seed", "error", "moved", "interrupted", "rounds", "gap_before",
            "gap_after", "later",
        ],
    )  # fmt: skip


def _played(moments: Sequence[Moment], chosen: Sequence[Strategy]) -> Iterator[Step | str]:
    """The steps, up to the first that fails; that one as the reason."""
    steps = replay(moments, chosen)
    while True:
        try:
            step = next(steps)
        except StopIteration:
            return
        except NeverStable as raised:
            yield str(raised)
            return
        if step.error is not None:
            yield step.error
            return
        yield step


def _switch(steps: list[Step | str], place: int) -> tuple:
    """The numbers of :func:`switches`; None for all of them where a step failed."""
    if isinstance(steps[-1], str):
        return steps[-1], *(None,) * 6
    numbers = [measure(step) for step in steps[place - 1 :]]
    return (
        None,
        _of(numbers[1], "by_choice"),
        _of(numbers[1], "interrupted"),
        steps[place].rounds,
        _of(numbers[0], "count_gap"),
        _of(numbers[1], "count_gap"),
        sum(_of(later, "by_choice") + _of(later, "forced") for later in numbers[2:]),
    )


def _of(numbers: tuple, column: str):
    return numbers[_PLACE[column]]


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
        f"{old} → cooperative-sticky": _two_bounces(old, members),
        f"{old} → server-uniform": [assignors.get(old)]
        + [assignors.get("server-uniform")] * (4 * members - 1),
    }
    rows = []
    for seed in seeds:
        events = ("FULL", "ROLLING_RESTART", "ROLLING_RESTART")
        moments = history(Scenario(events=events, seed=seed, **scenario))
        for road, plan in plans.items():
            chosen = [assignors.get(old), *plan]
            steps = replay(moments, chosen, _still_eager(chosen, moments, members))
            for number, step in enumerate(steps):
                if number == 0:
                    continue
                numbers = measure(step)
                rows.append(
                    (
                        road, seed, 1 + (number - 1) // (2 * members), number, step.strategy.name,
                        _of(numbers, "by_choice") + _of(numbers, "forced"),
                        _of(numbers, "interrupted"), _of(numbers, "count_gap"),
                    )
                )  # fmt: skip
    return pd.DataFrame(
        rows,
        columns=["road", "seed", "bounce", "step", "strategy", "moved", "interrupted", "gap"],
    )


def _two_bounces(old: str, members: int) -> list[Strategy]:
    """Who assigns at each rebalance: the old one until the last member has both in its list.

    The last restart of the first bounce takes two rebalances. When the last member that does not
    know cooperative-sticky has left, all others do.
    """
    first = [assignors.get(old)] * (2 * members - 2)
    return first + [assignors.get("cooperative-sticky")] * (2 * members + 2)


def _still_eager(
    chosen: Sequence[Strategy], moments: Sequence[Moment], members: int
) -> list[Sequence[int]]:
    """Members that give up everything though the strategy is cooperative, at each moment.

    A member that has not been restarted in the second bounce has the old strategy in its list. The
    restarted ones join at the end of the group's order.
    """
    silent: list[Sequence[int]] = []
    for number, (strategy, moment) in enumerate(zip(chosen, moments, strict=True)):
        restarted = max(0, number - 2 * members) // 2
        eager = range(len(moment.group.members) - restarted)
        silent.append(eager if strategy.protocol == "cooperative" else ())
    return silent
