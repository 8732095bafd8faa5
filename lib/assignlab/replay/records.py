"""Flat records: one row of numbers and words per simulated rebalance; and what simulating costs."""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

from assignlab import assignors
from assignlab.errors import refuse_unknown
from assignlab.replay import beside, metrics
from assignlab.replay.columns import BESIDE_OPTIMUM, METRICS, Column
from assignlab.replay.history import Moment, history
from assignlab.replay.rebalance import Step, replay
from assignlab.replay.scenarios import DEFAULTS, VALUES, Scenario

SCENARIO_COLUMNS = (
    Column("members", "int64", "members", "members at the start"),
    Column("topics", "int64", "topics", "topics at the start"),
    Column("partitions", "int64", "partitions", "partitions over all topics at the start"),
    Column("distribution", "string", "", "how partitions are split over topics"),
    Column("subscription", "string", "", "how members subscribe"),
    Column("seed", "int64", "", "seed of all that is drawn"),
    Column("ids", "string", "", "style of member ids and topic names"),
    Column("static", "bool", "", "whether members have a group.instance.id"),
    Column("racks", "int64", "racks", "number of racks, 0 for none"),
    Column("events", "string", "", "the whole history, words separated by blanks"),
)
STEP_COLUMNS = (
    Column("strategy", "string", "", "name of the strategy"),
    Column("step", "int64", "", "place in the history, from 0"),
    Column("event", "string", "", "what happened before this rebalance"),
    Column("error", "string", "", "why there is no assignment, else null"),
    Column("rounds", "int64", "rounds", "how often the assignor ran until stable"),
    Column("generation", "int64", "", "generation of the group at the end"),
)
COLUMNS = SCENARIO_COLUMNS + STEP_COLUMNS + METRICS
"""The columns of a record, in order; those of the metrics are null in an error record."""
COLUMNS_BESIDE_OPTIMUM = COLUMNS + BESIDE_OPTIMUM
"""The columns of a record that is asked for with the optimum."""

MOST, LARGEST = 2**31 - 1, 2**63 - 1
"""What clients count members, topics and partitions in, and what a column holds."""
LIMITS = {"members": MOST, "topics": MOST, "partitions": MOST, "seed": LARGEST}
assert tuple(DEFAULTS) == tuple(column.name for column in SCENARIO_COLUMNS)


def measure(step: Step) -> tuple:
    """The columns of the metrics of a step."""
    return metrics.measure(
        step.group,
        step.after,
        step.previous,
        step.origin,
        step.strategy.protocol == "eager" and step.rounds > 0,
        step.revoked_kept,
    )


def measures(step: Step) -> dict[str, Any]:
    """The metrics of a step by name."""
    return dict(zip(metrics.FIELDS, measure(step), strict=True))


def record(step: Step, optimum: bool = False) -> tuple:
    """The step's own columns and its metrics."""
    facts = (step.strategy.name, step.index, step.event, step.error, step.rounds, step.generation)
    if step.error is not None:
        return facts + _no_metrics(optimum)
    return facts + (beside.measure(step, measure(step)) if optimum else measure(step))


def records(
    scenario: Scenario, strategies: Sequence[str], optimum: bool = False
) -> Iterator[tuple]:
    """One record per rebalance and strategy, in the order of ``COLUMNS``; with the ``optimum`` in
    that of ``COLUMNS_BESIDE_OPTIMUM``.

    The history is built once and replayed through every strategy. Whatever raises becomes an error
    record and ends that strategy's history; an original's own exception does not end it.
    """
    start = scenario_values(scenario)
    try:
        refuse_beyond_reach(scenario)
        moments = _history(scenario)
    except Exception as raised:
        for name in strategies:
            yield start + _failed(name, 0, scenario.events[0], raised, optimum)
        return
    for name in strategies:
        done = 0
        try:
            for step in replay(moments, assignors.get(name)):
                row = start + record(step, optimum)
                done += 1
                yield row
        except Exception as raised:
            yield start + _failed(name, done, moments[done].event, raised, optimum)


def played(strategies: Sequence[str], column: str, **scenario) -> dict[str, Any]:
    """One column of the first rebalance of a :class:`Scenario` by strategy, here and without Spark.

    None where a strategy has no answer. Raises :class:`~assignlab.errors.UnknownName`.

    >>> played(["range", "roundrobin"], "count_gap", members=2, topics=3, partitions=9)
    {'range': 3, 'roundrobin': 1}
    """
    names = [known.name for known in COLUMNS]
    refuse_unknown("column", [column], names)
    for name in strategies:
        assignors.get(name)
    strategy, step, asked = names.index("strategy"), names.index("step"), names.index(column)
    rows = records(Scenario(**scenario), strategies)
    return {row[strategy]: row[asked] for row in rows if row[step] == 0}


@lru_cache(maxsize=1)
def _history(scenario: Scenario) -> list[Moment]:
    """The history that calls for one scenario after the other share, with all it has prepared."""
    return history(scenario)


def refuse_beyond_reach(scenario: Scenario) -> None:
    """Raise OverflowError for numbers that no group can have: clients count in 32 bits."""
    for name, most in LIMITS.items():
        if abs(value := getattr(scenario, name)) > most:
            raise OverflowError(f"{name}: {value} is more than {most}: ask for fewer")


def scenario_values(scenario: Scenario) -> tuple:
    """The ``SCENARIO_COLUMNS`` of a scenario; null where a number is larger than its column."""
    values = list(VALUES(scenario))
    values[-1] = " ".join(scenario.events)
    return tuple([None if type(v) is int and abs(v) > LARGEST else v for v in values])


def _failed(name: str, step: int, event: str, raised: Exception, optimum: bool) -> tuple:
    return name, step, event, reason(raised), None, None, *_no_metrics(optimum)


def _no_metrics(optimum: bool) -> tuple:
    return (None,) * (len(METRICS) + optimum * len(BESIDE_OPTIMUM))


def reason(raised: Exception) -> str:
    """An error as the column ``error`` has it, with what helps where memory was too small."""
    remedy = "; ask for fewer members, topics or partitions, or use a machine with more memory"
    return f"{type(raised).__name__}: {raised}" + remedy * isinstance(raised, MemoryError)


def cost(scenario: Scenario, strategies: int = 1, optimum: bool = False) -> float:
    """About how many seconds ``records`` takes: to cut a sweep into slices of equal cost.

    Measured from 2 members and 10 partitions to 500 and 50,000; half or twice it by the strategy.
    """
    steps = len(scenario.events)
    if "ROLLING_RESTART" in scenario.events:
        steps += scenario.events.count("ROLLING_RESTART") * 2 * scenario.members
    size = scenario.partitions + 10 * scenario.members + scenario.topics
    build = 35 + 0.02 * size
    solved = optimum and scenario.subscription != "HOMOGENEOUS"
    each = 25 + (0.08 + 0.3 * solved) * size
    return 1e-6 * (build + steps * (build + strategies * each))
