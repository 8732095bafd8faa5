"""Kafka's own grid: the groups of its benchmark of assignors, every answer measured and timed.

``ConsumerAssignorBenchmark`` (apache/kafka 32524aba, 2026) forms 8,064 points of members, topics,
partitions, distribution, subscription, racks, event and two assignors, and measures the time of a
call. Here every strategy may take the place of the two, and its answer is measured, too.

A point's group has as many ``members`` after the event; before it, JOIN and LEAVE have fewer or
more, the last ones. Topics are called ``topic-0``, ``topic-1``, ..., members ``member0``,
``member1``, ... Partitions have two replicas in neighbouring ones of three racks; members are in
racks or not. Only the topics' Uuids are drawn otherwise than there.
"""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.group.model import Group
from assignlab.jvm.names import Names
from assignlab.optimum import optimum
from assignlab.optimum.answers import gap
from assignlab.replay import beside, events
from assignlab.replay.history import MANY, moments
from assignlab.replay.metrics import FIELDS
from assignlab.replay.rebalance import NeverStable, Step, replay
from assignlab.replay.records import measure
from assignlab.replay.scenarios import DISTRIBUTIONS, Scenario, group_of, replica_racks

MEMBERS = TOPICS = (5, 50, 500, 5_000)
PARTITIONS = (5_000, 10_000, 20_000)
EVENTS = (
    "FULL", "STABLE", "JOIN_ONE", "JOIN_MANY", "LEAVE_ONE", "LEAVE_MANY", "PARTITIONS_ADDED",
)  # fmt: skip
RACKS = 3
AGAIN, PATIENCE = 3, 0.003
"""A call is timed again so often at most, and not once these seconds have gone."""
MEASURES = (
    "unassigned", "doubled", "invalid", "largest", "smallest", "count_gap", "topic_gap", "idle",
    "held", "stayed", "by_choice", "forced", "interrupted",
)  # fmt: skip
OF_OPTIMUM = ("gap_regret", "moves_regret")
SOLVED = 50
"""Members of the largest groups of unequal subscriptions whose fewest moves are solved."""
GRID = {
    "members": MEMBERS, "topics": TOPICS, "partitions": PARTITIONS, "distribution": DISTRIBUTIONS,
    "subscription": ("HOMOGENEOUS", "HETEROGENEOUS_DISJOINT", "HETEROGENEOUS_NESTED"),
    "racks": (False, True),
}  # fmt: skip
LARGE = 128
"""Members and topics of a group that takes the ways of large ones."""
AXES = ("members", "topics", "partitions")
KINDS = ("event", "distribution", "racks")


@dataclass(frozen=True)
class Trial:
    """A group of the benchmark under one strategy; each of the ``EVENTS`` happens to a fresh one.

    ``members``: after the event, at least 5. ``racks``: whether members have one. ``optimum``:
    whether the fewest moves are proven where subscriptions are not equal, too, which takes longer
    than the strategies do. ``patience``: in seconds; once a call took longer, the events that are
    left are left out.
    """

    strategy: str
    members: int = 50
    topics: int = 50
    partitions: int = 5_000
    distribution: str = "EQUAL"
    subscription: str = "HOMOGENEOUS"
    racks: bool = False
    optimum: bool = True
    patience: float = 3600.0


def play(trial: Trial) -> list[dict]:
    """A record for each event: the answer's measures, and how long the strategy took for it.

    ``new_ms``: of FULL, the first call, for a group object whose names and subscriptions nobody has
    met; NaN for the other events, whose groups all strategies share. ``again_ms``: the fastest of
    the calls for which nothing had to be prepared any more; both in time of the processor, so that
    what else a machine does counts less. A cooperative strategy is timed in its first round, and
    measured after the last. What is the same question is asked once: of a strategy that does not
    read claims, whatever happened before; of 5 members, of whom one in ten is one, JOIN_MANY is
    JOIN_ONE. ``gap_regret``: the gap less that of the proven optimum; ``moves_regret``: moves
    beyond the fewest of any answer as even. NaN stands for what there is not: regrets of an answer
    that is not complete, or that are not proven; everything where the original throws, and
    ``thrown`` says what; so it does of a cooperative rebalance that never settles.
    """
    load(trial.strategy)
    return sorted(records_of(trial), key=lambda record: EVENTS.index(record["event"]))


def records_of(trial: Trial) -> list[dict]:
    """The records of :func:`play`; events that happen to one group follow each other."""
    strategy, calls = clocked(assignors.get(trial.strategy))
    records: list[dict] = []
    happened: dict[tuple[Group, Group], dict] = {}
    new: dict[Group, Group] = {}
    for event in ("STABLE", "PARTITIONS_ADDED", *EVENTS[2:-1]):
        before, after = before_and_after(point_of(trial), event)
        if (before, after) in happened:
            records.append(happened[before, after] | {"event": event})
            continue
        full = event == "STABLE"  # every event begins with FULL, whose record is kept once
        if full:
            new[before] = renewed(before)
        steps = replay(moments([("FULL", new.get(before, before)), (event, after)]), strategy)
        for shared, told in ((before, full), (after, True)):
            try:
                step = next(steps)
            except NeverStable as raised:
                records.append(no_record(event, str(raised)))
                break
            call = calls[step.group]
            if told:
                least = shared.prepared(least_gap)
                records.append(record(step, call, least, trial.optimum))
            if call.first > trial.patience:
                return records
        happened[before, after] = records[-1]
    return records


@cache
def load(strategy: str) -> None:
    """Have the strategy's code in this process, so that no timed call reads it from disk.

    A large group is among those played, for some code serves these alone (``orders.MANY``).
    """
    for subscription, racks in (("HOMOGENEOUS", False), ("HETEROGENEOUS_NESTED", True)):
        records_of(Trial(strategy, 6, 6, 24, subscription=subscription, racks=racks))
    records_of(Trial(strategy, LARGE, LARGE, LARGE))


def load_all(strategies: Sequence[str]) -> None:
    """:func:`load` for each of them: for the processes of a sweep."""
    for strategy in strategies:
        load(strategy)


def record(step: Step, call: "Call", least: int, fewest: bool) -> dict:
    """The record of a step; ``call``: of its first round; ``least``: gap of the optimum;
    ``fewest``: whether to prove the fewest moves."""
    none = no_record(step.event, step.error or "")
    if step.event == "FULL":
        none["new_ms"] = 1e3 * call.first
    if step.error is not None:
        return none
    measured = measure(step)
    known = dict(zip(FIELDS, measured, strict=True))
    if known["unassigned"] + known["doubled"] + known["invalid"] == 0:
        known |= {"gap_regret": known["count_gap"] - least, "moves_regret": known["avoidable"]}
        if fewest and known["avoidable"] is None:
            moves = known["by_choice"]  # nothing is less than none
            known["moves_regret"] = beside.measure(step, measured)[-1] if moves else 0
    values = {n: float(v) for n, v in known.items() if n in none and v is not None}
    strategy = assignors.get(step.strategy.name)
    return none | values | {"again_ms": 1e3 * again(strategy, step.group, call.known)}


def least_gap(group: Group) -> int:
    """The fullest member less the emptiest in the most even assignment, whatever anybody holds."""
    return gap(optimum(group).assignment.sizes)


def no_record(event: str, thrown: str) -> dict:
    """A record without measures."""
    unknown = dict.fromkeys(("new_ms", "again_ms", *MEASURES, *OF_OPTIMUM), math.nan)
    return {"event": event, "thrown": thrown} | unknown


class Call(NamedTuple):
    """The seconds of the ``first`` call for a group, and of those for which it was ``known``."""

    first: float
    known: list[float]


def clocked(strategy: Strategy) -> tuple[Strategy, dict[Group, Call]]:
    """The strategy, and what its calls took by group; the group that it was asked about just now,
    or the one before, is answered as it was."""
    calls: dict[Group, Call] = {}

    @lru_cache(maxsize=2)
    def assign(group: Group):
        ready = group.preparations
        began = time.thread_time()
        try:
            return strategy.assign(group)
        finally:
            seconds = time.thread_time() - began
            calls[group] = Call(seconds, [seconds] if group.preparations == ready else [])

    return replace(strategy, assign=assign), calls


def again(strategy: Strategy, group: Group, known: list[float]) -> float:
    """The fewest seconds of a few calls for a group that is known by now, but for its claims,
    after the ``known`` ones."""
    while not known or len(known) < AGAIN and sum(known) < PATIENCE:
        group = group.with_claims(group.claims)
        began = time.thread_time()
        strategy.assign(group)
        known.append(time.thread_time() - began)
    return min(known)


def trials(strategies: Sequence[str], solved: int = SOLVED, **axes: Sequence) -> list[Trial]:
    """Every group of the grid under every strategy, the strategies of a group together.

    ``solved``: members of the largest groups whose trials ask for the ``optimum``. ``axes``: fields
    of :class:`Trial` with the values to take in place of all those of the grid. A strategy that
    does not read racks is asked once, with the first of the ``racks``: all others are the same
    question.

    >>> len(trials(["range"])) * len(EVENTS), len(trials(["server-range"])) * len(EVENTS)
    (4032, 2016)
    """
    values = {**GRID, **axes}
    points = [dict(zip(values, point, strict=True)) for point in product(*values.values())]
    return [
        Trial(strategy, **point, optimum=point["members"] <= solved)
        for point in points
        for strategy in strategies
        if point["racks"] == values["racks"][0] or reads_racks(strategy)
    ]


def reads_racks(strategy: str) -> bool:
    """Whether the members' racks may matter; not where rooms are made up for all groups
    (``Strategy.equip``)."""
    return "rack" in assignors.get(strategy).member_fields


# ---- groups ------------------------------------------------------------------------------------


def point_of(trial: Trial) -> Trial:
    """The point of the grid, whoever assigns."""
    return replace(trial, strategy="", optimum=False, patience=0.0)


@lru_cache(maxsize=len(EVENTS))
def before_and_after(point: Trial, event: str) -> tuple[Group, Group]:
    """The group before an event and after it."""
    members, topics = point.members, point.topics
    group = group_with(point, members)
    count = -(-members // MANY) if event.endswith("MANY") else 1
    if event.startswith("LEAVE"):
        return group_with(point, members + count), group
    if event.startswith("JOIN"):
        return group_without(point, count), group
    if event == "PARTITIONS_ADDED":
        grown = -(-topics // MANY)
        chosen = [i * topics // grown for i in range(grown)]
        counts = {t: int(group.topics.partitions[t]) + 1 for t in chosen}
        racks: dict = {t: replica_racks(count, RACKS) for t, count in counts.items()}
        return group, events.add_partitions(group, counts, racks)
    return group, group


@lru_cache(maxsize=2)
def group_without(point: Trial, count: int) -> Group:
    """The group that so many of its members, the last ones, have not joined yet."""
    members = point.members
    return events.leave(group_with(point, members), range(members - count, members))


@lru_cache(maxsize=3)
def group_with(point: Trial, members: int) -> Group:
    """The group with so many members, nobody of whom claims anything."""
    scenario = Scenario(
        members, point.topics, point.partitions, point.distribution, point.subscription, racks=RACKS
    )
    group = group_of(scenario)
    topics = replace(group.topics, names=topic_names(point.topics))
    racks = group.sent.racks if point.racks else None
    names = Names([f"member{m}" for m in range(members)])
    return Group(topics, replace(group.sent, names=names, racks=racks), group.claims)


@lru_cache(maxsize=1)
def topic_names(topics: int) -> Names:
    """Names of so many topics."""
    return Names([f"topic-{t}" for t in range(topics)])


def renewed(group: Group) -> Group:
    """The same group as a new object that has prepared nothing yet."""
    topics, members, claims = group.topics, group.sent, group.claims
    return Group(
        replace(topics, names=Names(topics.names.names)),
        replace(members, names=Names(members.names.names)),
        replace(claims),
        group.options,
    )


# ---- growth ------------------------------------------------------------------------------------


def growth(records: pd.DataFrame) -> pd.DataFrame:
    """How ``again_ms`` grows with members, topics and partitions: exponents with 95 % intervals.

    Returns a row per strategy, subscription and axis: ``exponent``, ``low``, ``high``. Fitted is
    log again_ms = a + sum of exponent * log axis by least squares, with a constant of its own for
    each event, distribution and choice of racks; so an exponent is a mean over the grid, small
    groups among it, where a call costs the same whatever the size. The intervals are of 400 fits to
    groups drawn with replacement (all events of a group together). Axes of one value are left out.
    """
    keys = ["strategy", "subscription"]
    rows = []
    for place, part in records.dropna(subset=["again_ms"]).groupby(keys):
        axes = [axis for axis in AXES if part[axis].nunique() > 1]
        rows += [(*place, *row) for row in zip(axes, *fit(part, axes), strict=True)]
    return pd.DataFrame(rows, columns=[*keys, "axis", "exponent", "low", "high"])


def fit(part: pd.DataFrame, axes: Sequence[str]):
    """(exponents, low ends, high ends) of the axes: float64[axes] each; see :func:`growth`."""
    constants = pd.get_dummies(part[list(KINDS)].astype(str), dtype=float)
    of = np.column_stack([np.log(part[axes].to_numpy(dtype=float)), constants])
    groups = part.groupby([*AXES, "distribution", "racks"]).ngroup().to_numpy()
    # The sums of the normal equations, group by group: a drawn fit weighs them.
    count = groups.max() + 1
    squares = np.zeros((count, of.shape[1], of.shape[1]))
    products = np.zeros((count, of.shape[1]))
    np.add.at(squares, groups, of[:, :, None] * of[:, None, :])
    np.add.at(products, groups, of * np.log(part["again_ms"].to_numpy())[:, None])
    drawn = np.random.default_rng(0).multinomial(count, [1 / count] * count, 400)
    weights = np.vstack([np.ones(count), drawn])
    left, right = np.tensordot(weights, squares, 1), weights @ products
    found = (np.linalg.pinv(left, hermitian=True) @ right[:, :, None])[:, : len(axes), 0]
    low, high = np.quantile(found[1:], (0.025, 0.975), axis=0)
    return found[0], low, high
