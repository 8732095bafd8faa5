"""Printed tables: a header of known words, and rows below it.

Columns stand where the header has them, since the tools pad to the widest value. Where a row does
not keep to that (a pasted text whose spaces were folded, an id wider than an old tool's column), it
is split at spaces, as long as that leaves no doubt.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assignlab.errors import TextError
from assignlab.group.document import MAX_PARTITIONS
from assignlab.groups.lines import own_lines
from assignlab.groups.text import PARTITION, Text, shown

ABSENT = "-"
NUMBER = re.compile(r"-|-?\d{1,18}")
TOPIC = re.compile(r"-|[a-zA-Z0-9._-]{1,249}")
WORD = re.compile(r"\S+")
ANY = re.compile(r"\S+( \S+)*")
"""Words with single spaces between them, such as client ids may have."""

OF_HEADERS = {"CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS", "ASSIGNMENT", "LAG"}
"""Words that only headers have: a line with one of them below a header is the rest of it."""

_GLUED = re.compile(r"(-[0-9a-f]{12})(?=/)")
"""A member id wider than its column touches the host that follows (Kafka up to 1.0)."""


class Column(NamedTuple):
    """``name`` as the header has it. ``optional``: whether headers without it exist; ``blank``:
    whether a row may leave it empty."""

    name: str
    value: re.Pattern = ANY
    expected: str = "a value"
    optional: bool = False
    blank: bool = False


class Cells(dict):
    """One row: value by column, None for a dash, nothing for a column that the header lacks.

    ``at``: where each value begins in the line.
    """

    at: dict[str, int]


def head(columns: Sequence[Column]) -> re.Pattern:
    """The header line of these columns."""
    words = (f"({re.escape(c.name)}(?:\\s+|$))" + "?" * c.optional for c in columns)
    return re.compile(r"\s*" + "".join(words) + r"\s*$")


def rows(text: Text, columns: Sequence[Column]) -> Iterator[Cells]:
    """The rows below the header at which ``text`` stands."""
    match = head(columns).match(text.line())
    starts = [match.start(i) for i in range(1, len(columns) + 1)] if match else []
    present = [(column, at) for column, at in zip(columns, starts, strict=True) if at >= 0]
    text.skip_line()
    return own_lines(
        text,
        lambda line: _aligned(line, present) or _split(line, present),
        lambda: _refusal(text, present),
    )


def _aligned(line: str, present: list[tuple[Column, int]]) -> Cells | None:
    """The values under the words of the header; None where the row does not keep to them."""
    found, bounds = [], [start for _, start in present[1:]] + [len(line)]
    for (column, start), end in zip(present, bounds, strict=True):
        value = line[start:end].strip()
        if line[max(0, start - 1) : start].strip() or not _fits(column, value):
            return None
        found.append((column, value, start))
    return _cells(found)


def _split(line: str, present: list[tuple[Column, int]]) -> Cells | None:
    """The values between spaces; None where one does not fit its column."""
    found = _words(line, present)
    rest = [column for column, _ in present[len(found) :]]
    if all(_fits(column, value) for column, value, _ in found) and all(c.blank for c in rest):
        return _cells(found)
    return None


def _words(line: str, present: list[tuple[Column, int]]) -> list[tuple[Column, str, int]]:
    """The columns that are reached by splitting at spaces: values, and where they begin."""
    spread = _GLUED.sub(r"\1 ", line)
    found, at = [], 0
    for (column, _), value in zip(present, spread.split(None, len(present) - 1), strict=False):
        at = spread.index(value, at)
        found.append((column, value.rstrip(), at))
        at += len(value)
    return found


def _fits(column: Column, value: str) -> bool:
    return bool(column.value.fullmatch(value)) or (column.blank and not value)


def _refusal(text: Text, present: list[tuple[Column, int]]) -> TextError:
    """The first column that does not fit, and what was expected there."""
    line = text.line()
    found = _words(line, present)
    if set(line.split()) & OF_HEADERS:
        return text.error("the header goes on here: expected lines that are not folded")
    for column, value, at in found:
        if not _fits(column, value):
            return text.error(
                f"expected {column.name}, {column.expected}; found {shown(value)}", at
            )
    column = present[len(found)][0]
    return text.error(
        f"expected {column.name}, {column.expected}; the line ends here (is the paste cut off, or is"
        " this no row?)",
        len(line.rstrip()),
    )


def _cells(found: list[tuple[Column, str, int]]) -> Cells:
    cells = Cells((c.name, None if value in (ABSENT, "") else value) for c, value, _ in found)
    cells.at = {column.name: at for column, _, at in found}
    return cells


def number(value: str | None) -> int | None:
    """The number in a cell, if it has one."""
    return None if value in (None, "unknown") else int(value)


def partition(text: Text, cells: Cells) -> int:
    """The partition in PARTITION; an error where no topic can have so many."""
    value = int(cells["PARTITION"])
    if not 0 <= value < MAX_PARTITIONS:
        raise text.error(f"expected {PARTITION}; found {value}", cells.at["PARTITION"])
    return value
