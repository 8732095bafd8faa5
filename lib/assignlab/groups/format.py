"""What the lab knows of a format beside how to read it: facts as data."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from assignlab.groups.metrics import Sample
from assignlab.groups.rows import Row
from assignlab.groups.text import Text


@dataclass(frozen=True)
class Format:
    """A text that people can export: the command or the tool, and where the format was looked up.

    What each lacks stands in ``docs/your-group.md``.
    """

    name: str
    source: str = field(kw_only=True)


@dataclass(frozen=True)
class LineFormat(Format):
    """Lines that begin with one that ``head`` matches; ``read`` begins there.

    ``read`` leaves off at the first line that is not its own.
    """

    head: re.Pattern
    read: Callable[[Text], Iterable[Row]]


@dataclass(frozen=True)
class JsonFormat(Format):
    """A JSON value that ``fits``. Where a field does not, ``read`` raises
    :class:`~assignlab.groups.text.Misfit`."""

    fits: Callable[[Any], bool]
    read: Callable[[Any], Iterable[Row]]


@dataclass(frozen=True)
class MetricFormat(Format):
    """Samples of the metrics ``names`` in Prometheus' text; others are no business of it."""

    names: frozenset[str]
    read: Callable[[list[Sample]], Iterable[Row]]
