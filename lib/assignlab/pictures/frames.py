"""Pictures to step through: who holds what, state by state, and the hash ring, as small plain SVG.

A page shows them one at a time (`assignlab.study.Study.steps`). Text has the page's own colour, so
that it is readable in the dark, and nothing is told by colour alone.
"""

import html
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import pandas as pd

from assignlab.pictures.charts import COLORS

WIDTH, LINE, LABEL = 480, 28, 104
"""Of a picture, of a row and of its label; a phone shows the whole width."""
LETTER = 7.6
"""Width of a letter at most."""

State = Mapping[str, Mapping[str, str]]
"""Title -> member -> what it holds, such as ``t0p0 t1p1``; a title may be empty."""


class Row(NamedTuple):
    """``boxes``: (text, mark) each, the mark ``+``, ``−`` or nothing; without boxes a heading."""

    label: str
    boxes: Sequence[tuple[str, str]] | None
    note: str = ""


def holdings(states: Iterable[State], notes: Sequence[Mapping[str, str]] = ()) -> list[str]:
    """A picture of every state: a row per member, a box for each thing that it holds.

    Against the state before, a box with ``+`` was gained and a dashed one with ``−`` was lost.
    ``notes``: for every state, by member, what stands behind its boxes.

    >>> first, second = holdings([{"": {"a": "t0p0 t0p1"}}, {"": {"a": "t0p1 t0p2"}}])
    >>> [[name in picture for name in (">t0p0<", ">−t0p0<", ">+t0p2<")] for picture in (first, second)]
    [[True, False, False], [False, True, True]]
    >>> second.partition('aria-label="')[2].partition('"')[0]
    'a: t0p1 +t0p2 −t0p0'
    """
    drawn: list[tuple[int, list[str], str]] = []
    before: State | None = None
    for number, state in enumerate(states):
        drawn.append(_drawn(_rows(state, before, notes[number] if notes else {})))
        before = state
    tallest = max(height for height, *_ in drawn)
    return [_svg(tallest, parts, told) for _, parts, told in drawn]


def of_walk(walk: Callable[..., pd.DataFrame], **sizes: int) -> tuple[pd.DataFrame, list[str]]:
    """The rows of ``walk(**sizes)``, whose ``lists`` say who holds what, and a picture of each."""
    rows = walk(**sizes)
    return rows, holdings([{"": lists} for lists in rows["lists"]])


def _rows(state: State, before: State | None, notes: Mapping[str, str]) -> Iterator[Row]:
    for title, members in state.items():
        if title:
            yield Row(title, None)
        for member, text in members.items():
            now = text.split()
            then = now if before is None else before.get(title, {}).get(member, "").split()
            held = [(name, "" if name in then else "+") for name in now]
            lost = [(name, "−") for name in then if name not in now]
            yield Row(member, held + lost, notes.get(member, ""))


def _drawn(rows: Iterable[Row]) -> tuple[int, list[str], str]:
    """(height, parts, what it shows in words) of a picture."""
    parts: list[str] = []
    told: list[str] = []
    y = 0
    for label, boxes, note in rows:
        told.append(
            " ".join([f"{label}:", *(mark + text for text, mark in boxes or ()), note]).strip()
        )
        parts.append(_text(0, y, label, "" if boxes is not None else 'font-weight="bold"'))
        x: float = LABEL
        for text, mark in boxes or ():
            width = LETTER * len(mark + text) + 12
            if x + width > WIDTH:
                x, y = LABEL, y + LINE
            look = {"+": f'fill="{COLORS[0]}"', "−": 'stroke-dasharray="3 3" opacity="0.7"'}
            parts.append(
                f'<rect x="{x:.0f}" y="{y + 2}" width="{width:.0f}" height="{LINE - 6}" rx="3" '
                f'stroke="currentColor" {look.get(mark, "")}/>'
            )
            white = ' fill="white"' if mark == "+" else ""
            parts.append(_text(x + width / 2, y, mark + text, f'text-anchor="middle"{white}'))
            x += width + 4
        parts.append(_text(x + 4, y, note))
        y += LINE
    return y, parts, "; ".join(told)


def ring(points: pd.DataFrame, partitions: pd.DataFrame, consumers: Sequence[str]) -> str:
    """The ring of consistent hashing: a circle of points per consumer, and every partition's owner.

    Who is gone leaves its circle empty. A partition belongs to the consumer of the next point
    clockwise; a line goes from its place to the owner's circle.
    """
    parts = []
    inner = {name: 84 + 20 * i for i, name in enumerate(consumers)}
    colors = {name: COLORS[i % len(COLORS)] for i, name in enumerate(consumers)}
    for i, (name, radius) in enumerate(inner.items()):
        marks = " ".join(
            f"M{_at(radius, point)}L{_at(radius + 14, point)}"
            for point in points.loc[points["consumer"] == name, "point"]
        )
        parts.append(f'<path d="{marks}" stroke="{colors[name]}" stroke-width="1.5"/>')
        y = WIDTH / 2 + LINE * (i - len(consumers) / 2)
        where = f'text-anchor="middle" fill="{colors[name]}"'
        parts.append(_text(WIDTH / 2, y, f"circle {i + 1}: {name}", where))
    outer = 98 + 20 * len(consumers)
    rows = list(partitions.sort_values("point").itertuples(index=False))
    for i, (point, partition, owner) in enumerate(rows):
        place = outer + 10 + 18 * (i % 3)  # neighbours do not lie on each other
        line = f"M{_at(inner[owner], point)}L{_at(place - 8, point)}"
        parts.append(f'<path d="{line}" stroke="{colors[owner]}"/>')
        x, y = map(float, _at(place + 2, point).split())
        right = x >= WIDTH / 2  # beside the end of the line, not on it
        anchor = "start" if right else "end"
        parts.append(_text(x + (3 if right else -3), y - 14, partition, f'text-anchor="{anchor}"'))
    told = [f"{name} at {point:,} belongs to {owner}" for point, name, owner in rows]
    return _svg(WIDTH, parts, "; ".join(told))


def _at(radius: float, point: int) -> str:
    """Where a point of the ring (0 to 2**32 - 1) lies: clockwise from the top."""
    angle = 2 * math.pi * point / 2**32
    x, y = math.sin(angle), -math.cos(angle)
    return f"{WIDTH / 2 + radius * x:.1f} {WIDTH / 2 + radius * y:.1f}"


def _text(x: float, y: float, text: str, look: str = "") -> str:
    """A text in the row that begins at ``y``."""
    if not text:
        return ""
    color = "" if "fill" in look else ' fill="currentColor"'
    return f'<text x="{x:.0f}" y="{y + 18:.0f}"{color} {look}>{html.escape(text)}</text>'


def _svg(height: float, parts: Iterable[str], told: str) -> str:
    return (
        f'<svg viewBox="-2 0 {WIDTH + 4} {height:.0f}" role="img" aria-label="{html.escape(told)}" '
        f'fill="none" font-size="13" '
        f'style="width:100%;max-width:40rem">{"".join(parts)}</svg>'
    )
