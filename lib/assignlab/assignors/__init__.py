"""The strategies, discovered: one module each, in the house of the system it comes from.

A module is a strategy if it has an attribute ``STRATEGY``. Nothing lists them by hand, so adding
one touches its own file only. Discovery works from a zip, as on a Spark executor.
"""

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from assignlab.errors import UnknownName

if TYPE_CHECKING:
    from assignlab.strategy import Strategy


@cache
def strategies() -> dict[str, "Strategy"]:
    """All strategies by name, sorted by system and name."""
    found = []
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        strategy = getattr(import_module(module.name), "STRATEGY", None)
        if strategy is not None:
            found.append(strategy)
    found.sort(key=lambda strategy: (strategy.system, strategy.name))
    by_name = {strategy.name: strategy for strategy in found}
    if len(by_name) != len(found):
        raise ValueError("two strategy files carry one name")
    return by_name


def names() -> list[str]:
    """The names of all strategies."""
    return list(strategies())


def get(name: str) -> "Strategy":
    """The strategy of that name; :class:`~assignlab.errors.UnknownName` says the nearest one."""
    try:
        return strategies()[name]
    except KeyError:
        raise UnknownName("strategy", name, names()) from None
