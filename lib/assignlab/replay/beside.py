"""A strategy's answer beside the optimum: what ``assignlab optimum`` does with every line."""

from dataclasses import asdict
from typing import Any

from assignlab import assignors
from assignlab.errors import AssignlabError, OriginalError
from assignlab.group.document import lists, parse
from assignlab.group.model import Group
from assignlab.optimum import front, optimum, regret
from assignlab.replay.rebalance import settled


def solve(document: Any, strategy: str | None = None) -> dict[str, Any]:
    """One group document in, its optimum out: assignment, sum of squares, moves and front.

    With the name of a ``strategy`` also what it gives (a cooperative one once its rounds are over),
    in numbers, and the regrets (:class:`assignlab.optimum.Regret`); or why there are none. Raises
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
        return asdict(regret(group, settled(group, assignors.get(strategy))))
    except OriginalError as error:
        return {"error": str(error)}
    except AssignlabError as error:
        return {"error": f"{type(error).__name__}: {error}"}
