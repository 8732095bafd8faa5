"""A strategy's answer beside the optimum, for ``assignlab optimum`` and for sweeps."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from operator import itemgetter
from typing import Any

import numpy as np

from assignlab import assignors
from assignlab.errors import AssignlabError, OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.document import lists, parse
from assignlab.group.model import Group
from assignlab.jvm.names import Names
from assignlab.optimum import Least, Optimum, Regret, front, measures, optimum, regret
from assignlab.optimum.answers import Beside, compared, gap, holding
from assignlab.optimum.certificate import NotComplete
from assignlab.optimum.closed_form import least_squares
from assignlab.replay import metrics
from assignlab.replay.columns import BESIDE_OPTIMUM
from assignlab.replay.history import history
from assignlab.replay.rebalance import Step, replay, settled
from assignlab.replay.scenarios import scenario_of

_read = itemgetter(*map(metrics.FIELDS.index, ("fewest", "avoidable", "by_choice", "floor")))
_PROVEN = metrics.FIELDS.index("fewest")
"""Where :data:`assignlab.replay.columns.FEWEST` begin among the metrics."""


def solve(document: Any, strategy: str | None = None) -> dict[str, Any]:
    """One group document in, its optimum out: assignment, sum of squares, moves and front.

    With the name of a ``strategy`` also what it gives (a cooperative one once its rounds are over),
    in numbers, and the regrets (:class:`assignlab.optimum.Regret`); or why there are none. Where
    topics have weights, also its :func:`assignlab.optimum.measures`, each with its bound. Raises
    what is wrong with the document or the name. ``front_whole`` is there, and false, where the
    search for points of the front was given up.

    >>> solve({"topics": [{"name": "t", "partitions": 2}], "members": [
    ...     {"id": "a", "topics": ["t"], "owned": [["t", 0], ["t", 1]]},
    ...     {"id": "b", "topics": ["t"]}]})  # doctest: +NORMALIZE_WHITESPACE
    {'assignment': {'a': [['t', 0]], 'b': [['t', 1]]}, 'sum_of_squares': 2, 'moves': 1,
     'front': [[2, 1], [4, 0]]}
    """
    group = parse(document)
    best, there_is = optimum(group), front(group)
    reply = {
        "assignment": lists(group, best.assignment),
        "sum_of_squares": best.sum_of_squares,
        "moves": best.moves,
        "front": there_is.points.tolist(),
    }
    if not there_is.whole:
        reply["front_whole"] = False
    if strategy is not None:
        reply["strategy"] = {"name": strategy} | _regrets(group, strategy)
    return reply


def _regrets(group: Group, strategy: str) -> dict[str, Any]:
    try:
        answer = settled(group, assignors.get(strategy))
        found = asdict(regret(group, answer))
        if group.topics.weights is not None:
            found["measures"] = {
                name: {**measure._asdict(), "percent": measure.percent}
                for name, measure in measures(group, answer).items()
            }
        return found
    except OriginalError as error:
        return {"error": str(error)}
    except AssignlabError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def regret_of(step: Step) -> tuple[Optimum, Regret | None]:
    """(the optimum, the regret of the answer) of a rebalance;
    None for an answer that is not complete."""
    group = holding(step.group, step.before)
    best = optimum(group)
    try:
        return best, regret(group, step.after, best)
    except NotComplete:
        return best, None


def measure(step: Step, measured: tuple) -> tuple:
    """The metrics of a rebalance, ``measured`` by :mod:`assignlab.replay.metrics`, and behind them
    :data:`assignlab.replay.columns.BESIDE_OPTIMUM`.

    Equal subscriptions have a closed form, which the metrics know. Elsewhere the optimum is solved
    and proven, and tells the metrics' fewest, needed and avoidable moves too, if each partition had
    one owner before.
    """
    fewest, avoidable, by_choice, floor = _read(measured)
    if fewest is not None:
        sizes = step.after.sizes
        partitions = int(sizes.sum())
        return measured + _columns(
            sum_of_squares=_squares(sizes),
            least_squares=least_squares(partitions, sizes.size),
            least_max_over_mean=floor,
            least_idle=max(sizes.size - partitions, 0),
            least_moves=fewest,
            gap_regret=gap(sizes) - (partitions % sizes.size > 0),
            moves_regret=avoidable,
        )
    found = compared(step.group, step.before, step.after) or _in_steps(step)
    best, assigned, largest, idle, own = found
    ratio = largest / (assigned / len(step.group.members)) if assigned else None
    if own is not None and by_choice == own.moves:
        proven = (best.moves, by_choice - own.moves_regret, own.moves_regret)
        measured = measured[:_PROVEN] + proven + measured[_PROVEN + len(proven) :]
    return measured + _columns(
        sum_of_squares=_squares(step.after.sizes) if own is None else own.sum_of_squares,
        least_squares=best.sum_of_squares,
        least_max_over_mean=ratio,
        least_idle=idle,
        least_moves=best.moves,
        gap_regret=None if own is None else own.gap_regret,
        moves_regret=None if own is None else own.moves_regret,
    )


def _columns(**values: float | None) -> tuple:
    """The values of all columns of :data:`assignlab.replay.columns.BESIDE_OPTIMUM`, in order."""
    return tuple([values[column.name] for column in BESIDE_OPTIMUM])


def _squares(sizes: np.ndarray) -> int:
    return int(sizes @ sizes)


def _in_steps(step: Step) -> Beside:
    """What :func:`compared` says, of any answer to any group."""
    solved, regrets = regret_of(step)
    sizes, best = solved.assignment.sizes, Least(solved.sum_of_squares, solved.moves)
    largest, idle = int(sizes.max(initial=0)), int((sizes == 0).sum())
    return best, int(sizes.sum()), largest, idle, regrets


def panels(row: Mapping[str, Any]) -> dict[str, tuple[Group, Assignment, Assignment]]:
    """A row of a sweep's table played again: title -> (group, after, before) of its answer and of
    the optimum, for :func:`assignlab.pictures.panels.picture`. Members and topics are called C0,
    t0, ..."""
    moments = history(scenario_of(row))[: int(row["step"]) + 1]
    *_, step = replay(moments, assignors.get(row["strategy"]))
    best, found = regret_of(step)
    where = f"after {step.event}, {row['subscription'].removeprefix('HETEROGENEOUS_').lower()}"
    moved = "not complete" if found is None else f"{found.moves} moved"
    group, before = _numbered(step.group), step.before
    return {
        f"{step.strategy.name} {where}: {moved}": (group, step.after, before),
        f"optimum for {step.strategy.name}: {best.moves} moved": (group, best.assignment, before),
    }


def _numbered(group: Group) -> Group:
    """The group with short names."""
    topics, members = len(group.topics), len(group.sent)
    return Group(
        replace(group.topics, names=Names([f"t{t}" for t in range(topics)])),
        replace(group.sent, names=Names([f"C{m}" for m in range(members)])),
        group.claims,
    )
