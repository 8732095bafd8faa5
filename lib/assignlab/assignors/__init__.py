"""The strategies, discovered: one module each, in the folder of the system it comes from.

A module is a strategy if it has an attribute ``STRATEGY``.
"""

import json
import sys
from dataclasses import replace
from functools import cache

from assignlab import discovery
from assignlab.assignors.strategy import Strategy
from assignlab.errors import UnknownName, refuse_unknown
from assignlab.group.assignment import Showing
from assignlab.releases import Facts, resolve, span


@cache
def strategies() -> dict[str, Strategy]:
    """All strategies by name, sorted by system and name."""
    carried = discovery.carried(sys.modules[__name__], "STRATEGY")
    found = [replace(strategy, assign=Showing(strategy.assign)) for strategy in carried]
    found.sort(key=lambda strategy: (strategy.system, strategy.name))
    return discovery.by_name(found, "strategy files")


def names() -> list[str]:
    """The names of all strategies."""
    return list(strategies())


def get(name: str) -> Strategy:
    """The strategy of that name, or of that name and release, which keeps the name it is asked by.

    :class:`~assignlab.errors.UnknownName` says the nearest one, or what is wrong with the release.

    >>> get("sticky@3.6.1"), get("sticky@3.6.1").source == get("sticky@3.5").source
    (Strategy(sticky@3.6.1: Kafka consumer, 3.6.1, eager), True)
    """
    known = strategies()
    if isinstance(name, str) and name in known:
        return known[name]
    of_class = [s for s in known.values() if f".{s.source}".endswith(f".{name}")]
    if of_class or not isinstance(name, str):
        of_class.sort(key=lambda s: (s.source != name, s.system != "Kafka consumer"))
        raise UnknownName("strategy", name, names(), *[s.name for s in of_class[:1]])
    return _of_release(name)


@cache
def _of_release(name: str) -> Strategy:
    same, release = resolve(name, [Facts(s.name, s.first, s.last) for s in strategies().values()])
    return replace(strategies()[same], name=name, first=release, last=release)


def table(form: str = "text") -> str:
    """The strategies and their facts as ``text``, ``markdown`` or ``json``.

    Raises :class:`~assignlab.errors.UnknownName` for another form.
    """
    refuse_unknown("form", [form], ("text", "markdown", "json"))
    head = ("name", "system", "versions", "protocol", "sticky", "source")
    rows = [
        (
            s.name,
            s.system,
            span(s.first, s.last),
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
