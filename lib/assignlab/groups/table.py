"""Printed tables: a header of known words, and rows below it.

Columns stand where the header has them, since the tools pad to the widest value. Where a row does
not keep to that (a pasted text whose spaces were folded, an id wider than an old tool's column), it
is split at spaces, as long as that leaves no doubt: names may have spaces, too.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from assignlab.errors import TextError
from assignlab.group.document import MAX_PARTITIONS
from assignlab.groups.inference import KAFKA_UUID
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
_SLASH = re.compile(r"(?:^|\s)/")
"""A word that begins as the hosts that Java prints."""

_WORDS = re.compile(r"(?:\S+\), )*\S+")
"""A word, or an assignment such as ``orders(0,1), payments(3)``."""
MOST_WORDS = 12
"""More than columns, in a row that is split."""


class Column(NamedTuple):
    """``name`` as the header has it. ``optional``: whether headers without it exist; ``blank``:
    whether a row may leave it empty; ``single``: whether it is one word where a row is split,
    since too little stands beside it to tell a row by."""

    name: str
    value: re.Pattern = ANY
    expected: str = "a value"
    optional: bool = False
    blank: bool = False
    single: bool = False


Found = list[tuple[Column, str, int]]
"""The cells of a row: column, value, and where it begins."""


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
        lambda line: _aligned(line, present) or _split(text, present),
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


def _split(text: Text, present: list[tuple[Column, int]]) -> Cells | None:
    """The values between spaces; None where they do not fit, an error where they do in several ways."""
    line = _GLUED.sub(r"\1 ", text.line())
    words = list(_WORDS.finditer(line))
    if len(words) > len(present) + MOST_WORDS:
        return None
    ways = _splits(line, words, [column for column, _ in present])
    splits = [cells for cells in map(_cells, ways) if _is_whole(cells)]
    found = (
        [cells for cells in splits if _has_own_id(cells) and _has_host(cells)]
        or [cells for cells in splits if _has_own_id(cells) or _has_host(cells)]
        or ([] if _SLASH.search(line) else splits)
    )
    if not found:
        return None
    one = found[0]
    for other in found[1:]:
        for name in (name for name in one if one[name] != other[name]):
            raise text.error(
                f"expected {name} with two spaces behind it: {shown(one[name] or ABSENT)} may go on, as names"
                " may have spaces (did the paste fold them?)",
                one.at[name],
            )
    return one


def _splits(line: str, words: list[re.Match], columns: list[Column]) -> Iterator[Found]:
    """Every way to share the words of a line among the columns."""
    if not columns:
        yield from [] if words else [[]]
        return
    column, *rest = columns
    most = min(len(words), 1) if column.single else len(words)
    for count in range(most + 1):
        start = words[0].start() if count else len(line)
        value = line[start : words[count - 1].end()] if count else ""
        if _fits(column, value):
            for more in _splits(line, words[count:], rest):
                yield [(column, value, start), *more]


def _member(cells: Cells) -> tuple[str | None, str | None]:
    """The id and the static id of the row's member."""
    return (
        cells.get("CONSUMER-ID") or cells.get("MEMBER-ID"),
        cells.get("GROUP-INSTANCE-ID") or cells.get("INSTANCE-ID"),
    )


def _is_whole(cells: Cells) -> bool:
    """Whether a member is there with client and host, or nobody."""
    member, instance = _member(cells)
    beside = [cells[name] for name in ("HOST", "CLIENT-ID") if name in cells]
    return all(beside) if member else not any([instance, *beside])


def _has_own_id(cells: Cells) -> bool:
    """Whether the member's id is as brokers make it of its instance's or client's, or a Uuid of KIP-848."""
    member, instance = _member(cells)
    own = re.escape(instance or cells.get("CLIENT-ID") or "")
    return bool(re.fullmatch(rf"{own}-\S+|{KAFKA_UUID.pattern}", member or ""))


def _has_host(cells: Cells) -> bool:
    """Whether the host, if there is one, is as Java prints it."""
    return (cells.get("HOST") or "/").startswith("/")


def _words(line: str, present: list[tuple[Column, int]]) -> Found:
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
        moved = column.name == "HOST" and _SLASH.search(line) and not value.startswith("/")
        if moved or not _fits(column, value):
            return text.error(
                f"expected {column.name}, {column.expected}; found {shown(value)}", at
            )
    if len(found) == len(present):
        return text.unexpected(f"{len(present)} values, with names that can be told apart")
    column = present[len(found)][0]
    return text.error(
        f"expected {column.name}, {column.expected}; the line ends here (is the paste cut off, or is"
        " this no row?)",
        len(line.rstrip()),
    )


def _cells(found: Found) -> Cells:
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
