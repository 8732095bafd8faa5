"""Fields of foreign JSON: what they are to be, or :class:`~assignlab.groups.text.Misfit`."""

from typing import Any

from assignlab.group.document import MAX_NUMBER, MAX_PARTITIONS
from assignlab.groups.text import PARTITION, Misfit, shown


def text(entry: dict[str, Any], *names: str) -> str | None:
    """The first of these fields that says something; the empty string says nothing."""
    return next((_is(entry[n], str, n, "a string") for n in names if entry.get(n)), None)


def name(entry: dict[str, Any], *names: str) -> str:
    """The same, where it must be there."""
    found = text(entry, *names)
    if found is None:
        raise Misfit(f"expected {' or '.join(names)}")
    return found


def number(entry: dict[str, Any], field: str) -> int | None:
    """A field that is a whole number, or None; raises :class:`Misfit` for anything else."""
    value = entry.get(field)
    if isinstance(value, bool):
        raise Misfit(f"{field}: expected a number, found {value}")
    return None if value is None else _is(value, int, field, "a whole number")


def epoch(entry: dict[str, Any], field: str) -> int | None:
    """A field that is a member's epoch, or None; raises :class:`Misfit` for anything else."""
    value = number(entry, field)
    if value is not None and abs(value) > MAX_NUMBER:
        raise Misfit(f"{field}: expected an epoch, found {shown(repr(value))}")
    return value


def partition(entry: dict[str, Any], field: str) -> int:
    """A field that is the number of a partition; raises :class:`Misfit` for anything else."""
    value = number(entry, field)
    if value is None or not 0 <= value < MAX_PARTITIONS:
        raise Misfit(f"{field}: expected {PARTITION}; found {shown(repr(value))}")
    return value


def entries(entry: dict[str, Any], field: str) -> list[dict[str, Any]]:
    """An array of objects; none where the field is missing or null."""
    value = _is(entry.get(field) or [], list, field, "an array of objects")
    return [_is(item, dict, field, "an array of objects") for item in value]


def _is(value: Any, kind: type, field: str, expected: str) -> Any:
    if not isinstance(value, kind):
        raise Misfit(f"{field}: expected {expected}, found {shown(repr(value))}")
    return value
