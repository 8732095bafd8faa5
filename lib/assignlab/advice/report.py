"""What a question is answered with, and how it is told: as text, as JSON, as one page."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assignlab.advice.subject import Range, three_digits
from assignlab.groups.show import aligned
from assignlab.groups.text import printable

TEMPLATES = Path(__file__).parent / "templates"


class Table(NamedTuple):
    """A table: ``key`` in JSON, ``title`` above it, a cell is text, a number, a Range or None."""

    key: str
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple]
    note: str = ""


class Lines(NamedTuple):
    """Lines of configuration to paste."""

    title: str
    lines: tuple[str, ...]


class Report(NamedTuple):
    """An answer. ``inferred``: what was not in the texts; ``said``: sentences above the tables;
    ``lines``: what to set, behind the ``first`` of them, or all; ``trades``: what else could be set;
    ``unknown``: what the answer does not know."""

    title: str
    inferred: Sequence[str]
    said: Sequence[str]
    tables: Sequence[Table] = ()
    lines: Sequence[Lines] = ()
    unknown: Sequence[str] = ()
    trades: Sequence[Lines] = ()
    first: int | None = None

    @property
    def above(self) -> Sequence[str]:
        """The sentences above the lines to set."""
        return self.said[: self.first]

    @property
    def below(self) -> Sequence[str]:
        """The sentences below them."""
        return self.said[len(self.above) :]


def as_text(report: Report) -> str:
    """For terminals: nothing in it that a terminal would act upon."""
    blocks = [[report.title, *(f"  inferred: {sentence}" for sentence in report.inferred)]]
    return in_blocks(blocks + body(report))


def in_blocks(blocks: Sequence[Sequence[str]]) -> str:
    """Blocks of lines for terminals, a blank line between them."""
    return "\n\n".join("\n".join(map(printable, block)) for block in blocks if block)


def body(report: Report) -> list[list[str]]:
    """The blocks below the title, each a list of lines."""
    blocks = [list(report.above), *map(_pasted, report.lines), list(report.below)]
    for table in report.tables:
        lines = aligned(table.columns, table.rows, shown) if table.rows else ["(none)"]
        blocks.append([*filter(None, [table.title, table.note]), *lines])
    blocks += map(_pasted, report.trades)
    if report.unknown:
        blocks.append(["Not known:", *(f"- {sentence}" for sentence in report.unknown)])
    return blocks


def _pasted(config: Lines) -> list[str]:
    return [f"# {config.title}", *config.lines]


def shown(cell: Any) -> str:
    """A cell as text.

    >>> shown(None), shown(True), shown(0.25), shown(Range(1, 2, 3)), shown(Range(2, 2, 2))
    ('-', 'yes', '0.25', '1 to 3', '2')
    """
    if cell is None:
        return "-"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return printable(three_digits(cell) if isinstance(cell, float) else str(cell))


def as_data(report: Report) -> dict[str, Any]:
    """For programs: plain JSON; tables as lists of objects, a Range as low, median and high."""
    further = {
        "notes": {table.key: table.note for table in report.tables if table.note},
        "set": [config._asdict() for config in report.lines],
        "trades": [config._asdict() for config in report.trades],
        "unknown": list(report.unknown),
    }
    return {
        "title": report.title,
        "inferred": list(report.inferred),
        "said": list(report.said),
        **{table.key: [_row(table, row) for row in table.rows] for table in report.tables},
        **{name: value for name, value in further.items() if value},
    }


def _row(table: Table, row: tuple) -> dict[str, Any]:
    return {
        name.replace(" ", "_"): cell._asdict() if isinstance(cell, Range) else cell
        for name, cell in zip(table.columns, row, strict=True)
    }


def as_json(value: Any) -> str:
    """JSON in ASCII without control characters, whatever names the texts have."""
    return json.dumps(value).replace("\x7f", "\\u007f")


def as_page(reports: list[Report]) -> str:
    """One HTML page that needs nothing else; everything from the texts is escaped."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    environment.filters["shown"] = shown
    environment.filters["printable"] = printable
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    title = reports[0].title if len(reports) == 1 else f"{len(reports)} groups"
    return environment.get_template("page.html.j2").render(
        title=printable(title), style=style, reports=reports
    )
