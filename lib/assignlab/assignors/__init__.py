"""The strategies, discovered: one module each, in the folder of the system it comes from.

A module is a strategy if it has an attribute ``STRATEGY``. Nothing lists them by hand, so adding
one touches its own file only. Discovery works from a zip, as on a Spark executor.
"""

import json
import pkgutil
from functools import cache
from importlib import import_module

from assignlab.assignors.strategy import Strategy
from assignlab.errors import UnknownName


@cache
def strategies() -> dict[str, Strategy]:
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


def get(name: str) -> Strategy:
    """The strategy of that name; :class:`~assignlab.errors.UnknownName` says the nearest one."""
    try:
        return strategies()[name]
    except KeyError:
        raise UnknownName("strategy", name, names()) from None


def table(form: str = "text") -> str:
    """The strategies and their facts as ``text``, ``markdown`` or ``json``."""
    head = ("name", "system", "versions", "protocol", "sticky", "source")
    rows = [
        (
            s.name,
            s.system,
            f"{s.first} to {s.last}",
            s.protocol,
            "yes" if s.sticky else "no",
            f"{s.source} ({s.original.replace(':', ' ')})" if s.original else s.source,
        )
        for s in strategies().values()
    ]
    if form == "json":
        return json.dumps([dict(zip(head, row, strict=True)) for row in rows], indent=2)
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = [
        [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        for row in (head, *rows)
    ]
    if form == "text":
        return "\n".join("  ".join(line).rstrip() for line in lines)
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
