"""The axes of a grid of trials: every combination of what is given, or one line on what is wrong."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import fields
from itertools import product
from types import MappingProxyType
from typing import Any

from assignlab import assignors
from assignlab.errors import refuse_unknown, shown
from assignlab.timeline.config import TimelineError, plain
from assignlab.timeline.simulation import protocol_of

KINDS: Mapping[type, tuple[str, tuple[type, ...]]] = MappingProxyType(
    {
        str: ("name", (str,)),
        bool: ("True or False", (bool,)),
        int: ("whole number", (int,)),
        float: ("number", (int, float)),
    }
)
"""What a field of each type takes, as a message says it, and the types of its values."""


def every(trial: type, axes: Mapping[str, Any], known: Mapping[str, Collection[str]]) -> list[Any]:
    """Trials of every combination of the axes' values, the last axis changing fastest.

    ``trial``: a dataclass; ``axes``: by its fields, lists of values; ``known``: by field, the names
    that there are. Raises :class:`~assignlab.errors.UnknownName` for a field, a strategy or another
    name that there is none of, and :class:`TimelineError` for what is no list or of another type, and
    for a strategy that no group here can run.
    """
    types = {field.name: field.type for field in fields(trial)}
    refuse_unknown("field of a trial", axes, types)
    values = {name: _values(name, types[name], given) for name, given in axes.items()}
    for name, names in known.items():
        refuse_unknown(name, values.get(name, ()), names)
    for strategy in values.get("strategy", ()):
        protocol_of({assignors.get(strategy)})
    return [trial(**dict(zip(values, point, strict=True))) for point in product(*values.values())]


def _values(name: str, kind: Any, given: Any) -> list[Any]:
    """The values of an axis, each of the kind of its field."""
    called, types = KINDS[kind]
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TimelineError(f"{name}: expected a list, got {shown(given)}")
    values = [plain(value) for value in given]
    for value in values:
        if not isinstance(value, types) or isinstance(value, bool) != (kind is bool):
            raise TimelineError(f"{name}: expected a {called}, got {shown(value)}")
    return [kind(value) for value in values]
