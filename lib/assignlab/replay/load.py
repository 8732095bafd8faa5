"""Groups whose partitions weigh differently, once and over time,
measured by load and by what moved.

A :class:`Trial` is one group with weights of some shape: what does a strategy make of it? A
:class:`Drift` is a group whose weights change step by step and that rebalances at each: what does
it cost to stay balanced? The second is the experiment of D. Landau, X. Andrade, J. G. Barbosa,
Kafka consumer group autoscaler (arXiv 2402.06085), with its R-score.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assignlab import assignors
from assignlab.group import group as plain_group
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group, numbers_of, weights_of
from assignlab.optimum import loads, measures
from assignlab.replay.rebalance import claiming, settled

CAPACITY = 100.0
"""What a consumer takes, in the unit of the drifting weights; Landau's ALGO_CAPACITY."""
HOT_SHARE = 0.5
"""How much of all load the hot topic has."""
STOPPED_LAG = 100.0
"""Lag of a partition whose consumer stood still, where the others' is 1."""
PUBLISHED = {
    (strategy, delta): score
    for strategy, scores in {
        "modified-worst-fit": (9.195, 11.786, 12.827, 13.834, 14.995),
        "modified-best-fit": (16.037, 18.880, 19.883, 20.611, 21.478),
    }.items()
    for delta, score in zip((5, 10, 15, 20, 25), scores, strict=True)
}
"""Mean R-scores by strategy and delta, of the authors' table of 501 steps that begin anywhere
(landaudiogo/thesis_data, uniform_start.csv)."""
PUBLISHED_PARTITIONS = 200
"""Not told there; it follows from the load in it, about 100 consumers' worth,
half of one a partition."""

FROM_SOURCE = {
    "lag-based": "grantneale/kafka-lag-based-assignor",
    "weighted-sticky": "guyozeri/kafka-weighted-assignor; in clients from 3.5 on nothing moves by weight",
}
"""Strategies that read weights and that somebody wrote for the Java client: where the source is."""


@dataclass(frozen=True)
class Trial:
    """One group of ``members`` that all read ``topics`` of ``partitions`` each.

    ``shape``: of the weights, a name of :data:`SHAPES`. ``skew``: Zipf's exponent.
    """

    shape: str
    strategy: str
    seed: int = 0
    members: int = 6
    topics: int = 4
    partitions: int = 12
    skew: float = 1.0


@dataclass(frozen=True)
class Drift:
    """One topic of ``partitions`` whose weights drift, in ``steps`` rebalances.

    The weights begin anywhere between 0 and the capacity and change at each step by up to ``delta``
    per cent of it, up or down, within these limits. ``members``: of the group, 0 for one per
    partition, from which a packing strategy takes as many as it needs.
    """

    strategy: str
    delta: int = 5
    seed: int = 0
    members: int = 0
    partitions: int = PUBLISHED_PARTITIONS
    steps: int = 500


# ---- one group ---------------------------------------------------------------------------------


def play(trial: Trial) -> dict[str, float]:
    """The measures of a strategy's answer, by name of :func:`assignlab.optimum.measures`.

    Of each measure its value and, as ``..._bound``, its bound; ``load_percent``: how far the
    largest load is above its bound; ``moved``: partitions that changed their owner.
    """
    strategy = assignors.get(trial.strategy)
    random = np.random.default_rng([trial.seed, trial.members, trial.topics, trial.partitions])
    counted = strategy.equipped(group_of(trial, random))
    before = settled(counted, strategy)
    group = with_weights(counted, SHAPES[trial.shape](trial, owners(counted, before), random))
    if trial.shape == "lag after a stop":
        group = claiming(group, counted, strategy, before)
        after = settled(group, strategy)
        moved = int(np.count_nonzero(owners(group, after) != owners(group, before)))
    else:
        after, moved = settled(group, strategy), 0
    found = measures(group, after)
    record: dict[str, float] = {}
    for name, measure in found.items():
        record |= {name: float(measure.value), f"{name}_bound": float(measure.bound)}
    return record | {
        "load_percent": float(found["load_max_over_mean"].percent or 0),
        "moved": moved,
    }


def group_of(trial: Trial, random: np.random.Generator) -> Group:
    """The group before its weights are known, member ids drawn."""
    topics = {f"t{t}": trial.partitions for t in range(trial.topics)}
    ids = random.permutation(max(10_000, trial.members))[: trial.members]
    return plain_group(topics, {f"consumer-{i:04}": list(topics) for i in ids.tolist()})


def with_weights(group: Group, weights: np.ndarray) -> Group:
    """The group with these weights of all partitions, topic by topic: float64[n]."""
    ends = np.cumsum(np.maximum(group.topics.partitions, 0))
    return group.with_topics(replace(group.topics, weights=tuple(np.split(weights, ends[:-1]))))


def owners(group: Group, assignment: Assignment) -> np.ndarray:
    """The owner of each partition, topic by topic, -1 for none: int64[n]."""
    found = np.full(int(np.maximum(group.topics.partitions, 0).sum()), -1, dtype=np.int64)
    found[numbers_of(group, assignment.codes)] = assignment.owners
    return found


def zipf(trial: Trial, had: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """The partition of rank r over all topics weighs 1 / r ** skew; ranks are drawn."""
    return (1 + random.permutation(had.size)) ** -trial.skew


def hot_topic(trial: Trial, had: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One topic has half of all load, its partitions and all others are alike among themselves."""
    rest = max(1, trial.topics - 1)
    weights = np.full((trial.topics, trial.partitions), (1 - HOT_SHARE) / rest)
    weights[random.integers(trial.topics)] = HOT_SHARE
    return weights.ravel()


def lag_after_a_stop(trial: Trial, had: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """One member stood still: lag piled up in the partitions that the strategy had given it."""
    return np.where(had == random.integers(trial.members), STOPPED_LAG, 1.0)


SHAPES: dict[str, Callable[[Trial, np.ndarray, np.random.Generator], np.ndarray]] = {
    "equal": lambda trial, had, random: np.ones(had.size),
    "zipf": zipf,
    "hot topic": hot_topic,
    "lag after a stop": lag_after_a_stop,
}
"""Shapes of weights: of a trial, and of who ``had`` each partition, float64[partitions]."""


def to_install(names: Sequence[str]) -> str:
    """What one has to do to use strategies that no client comes with.

    >>> to_install(["weighted-sticky", "heaviest-first", "modified-best-fit"])
    'weighted-sticky is built from source (guyozeri/kafka-weighted-assignor; in clients from 3.5 on \
nothing moves by weight), heaviest-first and modified-best-fit would have to be written as an assignor'
    """
    told = [
        f"{name} is built from source ({FROM_SOURCE[name]})"
        for name in names
        if name in FROM_SOURCE
    ]
    if rules := " and ".join(name for name in names if name not in FROM_SOURCE):
        told.append(f"{rules} would have to be written as an assignor")
    return ", ".join(told)


# ---- weights that drift ------------------------------------------------------------------------


def play_drift(drift: Drift) -> dict[str, float]:
    """Means over the steps, all but the first assignment.

    ``r_score``: weight of the partitions that changed their owner, in capacities of a consumer
    (Landau); ``moved``: how many these are; ``used``: members that have any; ``busiest``: the
    largest load, in capacities; ``over_mean``: the same over the mean load of those in use;
    ``overloaded``: the share of steps in which somebody has more than a capacity.
    """
    strategy = assignors.get(drift.strategy)
    random = np.random.default_rng([drift.seed, drift.partitions])
    members = {f"m{i:05}": ["t"] for i in range(drift.members or drift.partitions)}
    group = replace(plain_group({"t": drift.partitions}, members), options={"capacity": CAPACITY})
    group = strategy.equipped(group)
    speeds = random.uniform(0, CAPACITY, drift.partitions)
    group = with_weights(group, speeds)
    assignment = settled(group, strategy)
    rows = []
    for generation in range(1, drift.steps + 1):
        change = random.uniform(-drift.delta, drift.delta, drift.partitions) * CAPACITY / 100
        speeds = np.clip(speeds + change, 0, CAPACITY)
        group = claiming(with_weights(group, speeds), group, strategy, assignment, generation)
        before, assignment = assignment, settled(group, strategy)
        rows.append(drifted(group, before, assignment))
    means = np.mean([list(row.values()) for row in rows], axis=0)
    return dict(zip(rows[0], means.tolist(), strict=True))


def drifted(group: Group, before: Assignment, after: Assignment) -> dict[str, float]:
    """What a step made of the group's loads, see :func:`play_drift`."""
    moved = owners(group, before) != owners(group, after)
    load, used = loads(group, after), int(np.count_nonzero(after.sizes))
    busiest = float(load.max() / CAPACITY)
    mean = float(load.sum()) / max(1, used)
    return dict(
        r_score=float(group.prepared(weights_of)[moved].sum() / CAPACITY),
        moved=int(np.count_nonzero(moved)),
        used=used,
        busiest=busiest,
        over_mean=float(load.max() / mean) if mean else 1.0,
        overloaded=busiest > 1 + 1e-9,
    )
