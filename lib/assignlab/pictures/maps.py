"""Maps of a number over two axes, and lines that carry their own labels.

What agrees everywhere is drawn once, under all its names.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from assignlab.pictures import charts

HARMLESS = "#007a5e"
"""The frame of cells where a law says that nothing happens; on dark ones it is white."""
CLOSEST = 0.075
"""How near labels at the end of lines may stand, as a share of the axes' height."""


def alike(
    frame: pd.DataFrame, points: Sequence[str], values: Sequence[str]
) -> dict[str, list[str]]:
    """Strategies whose values agree at every point: names joined -> names.

    ``frame``: columns ``strategy``, ``points`` and ``values``, one row per strategy and point.

    >>> frame = pd.DataFrame({"strategy": ["a", "b", "c"], "n": [1, 1, 1], "gap": [2.0, 2.0, 0.0]})
    >>> alike(frame, ["n"], ["gap"])
    {'a, b': ['a', 'b'], 'c': ['c']}
    """
    groups: dict[tuple, list[str]] = {}
    for name, rows in frame.groupby("strategy", sort=False):
        rows = rows.sort_values(list(points))[[*points, *values]].round(6)
        rows = rows.astype(object).where(rows.notna(), None)  # nothing is like nothing
        groups.setdefault(tuple(rows.itertuples(index=False, name=None)), []).append(str(name))
    return {", ".join(names): names for names in groups.values()}


def courses(frame: pd.DataFrame, x: str, y: str) -> dict[str, tuple[pd.Series, pd.Series]]:
    """Lines for :func:`labelled`, one for the strategies that are :func:`alike`: label -> (x, y).

    >>> frame = pd.DataFrame({"strategy": ["a", "b", "a", "b"], "n": [2, 2, 1, 1], "gap": [3, 3, 0, 0]})
    >>> {label: (x.tolist(), y.tolist()) for label, (x, y) in courses(frame, "n", "gap").items()}
    {'a, b': ([1, 2], [0, 3])}
    """
    frame = frame.sort_values(x, kind="stable")
    lines = {
        label: frame[frame["strategy"] == names[0]]
        for label, names in alike(frame, [x], [y]).items()
    }
    return {label: (rows[x], rows[y]) for label, rows in lines.items()}


def heat(
    cells: pd.DataFrame,
    ax: Axes,
    least: float,
    most: float,
    law: pd.DataFrame | None = None,
    log: bool = False,
    words: pd.DataFrame | None = None,
) -> Axes:
    """A number for every cell of a frame, written and shaded, the first row at the bottom.

    ``least``, ``most``: the ends of the shading, which is logarithmic from 1 on with ``log``.
    ``law``: bool, of the same shape; cells where it holds are framed. ``words``: of the same shape;
    what is written in place of the number, "" for the number.
    """
    norm: Normalize = Normalize(least, max(most, least + 1))
    if log:
        norm = LogNorm(max(least, 1), max(most, 2), clip=True)
    ax.imshow(cells, origin="lower", aspect="auto", cmap="Blues", norm=norm, interpolation="none")
    for (row, column), value in np.ndenumerate(cells.to_numpy(dtype=float)):
        dark = norm(value) > 0.6
        word = "" if words is None else words.iat[row, column]
        ax.text(column, row, word or _short(value), ha="center", va="center", fontsize="x-small",
                color="white" if dark else "black")  # fmt: skip
        if law is not None and law.iat[row, column]:
            # Inside the cell, and above the axes' own frame: else neighbours and edges hide a side.
            ax.add_patch(
                Rectangle((column - 0.46, row - 0.42), 0.92, 0.84, fill=False, lw=1.5, zorder=3,
                          ec="white" if dark else HARMLESS)
            )  # fmt: skip
    ax.set_xticks(range(len(cells.columns)), list(cells.columns))
    ax.set_yticks(range(len(cells.index)), list(cells.index))
    ax.grid(visible=False)
    return ax


def by_topics(cells: pd.DataFrame, together: Mapping[str, Sequence[str]], measure: str) -> Figure:
    """One map for each course and number of topics: members to the right, partitions of a topic
    upwards, framed where every topic is divided.

    ``cells``: columns ``strategy``, ``topics``, ``members``, ``each`` (partitions of a topic),
    ``uneven_topics`` and ``measure``; ``together``: label -> strategies of one course (`alike`).
    """
    counts = sorted(set(cells["topics"]))
    figure, axes = charts.small_multiples(together, counts, 3.0, 3.9, share_y=False)
    ends = cells[measure].min(), cells[measure].max()
    for row, (label, names) in zip(axes, together.items(), strict=True):
        for ax, count in zip(row, counts, strict=True):
            part = cells[(cells["strategy"] == names[0]) & (cells["topics"] == count)]
            table, uneven = (
                part.pivot(index="each", columns="members", values=column)
                for column in (measure, "uneven_topics")
            )
            # Of a ratio two decimals: 1.04 is not 1.
            words = table.map(lambda n: f"{n:.2f}" if n < 10 and round(n, 2) % 1 else "")
            heat(table, ax, *ends, uneven == 0, log=True, words=words)
            ax.set_title(f"{label}\n{count} topic{'s' * (count > 1)}")
        row[0].set_ylabel("partitions a topic")
    for ax in axes[-1]:
        ax.set_xlabel("members")
    return figure


def _short(value: float) -> str:
    """A number in at most four characters.

    >>> [_short(v) for v in (0.0, 1.5, 12.34, 64.0, float("nan"))]
    ['0', '1.5', '12', '64', '']
    """
    if np.isnan(value):
        return ""
    return f"{value:.0f}" if value >= 10 or round(value, 1) == round(value) else f"{value:.1f}"


def labelled(
    lines: Mapping[str, tuple[Sequence, Sequence]], ax: Axes, strategies: bool = False
) -> Axes:
    """Lines, label -> (x, y), each with its label behind its end; labels make room for each other.

    A line ends with its last value; one without any has no label. ``strategies``: labels are names of
    :func:`courses`, and a line looks as the first of them does in other charts.
    """
    ends, across = [], np.concatenate([np.asarray(x, dtype=float) for x, _ in lines.values()])
    charts.plain_ticks(ax.xaxis, whole=bool((across == across.round()).all()))
    if len(set(across)) == 1:
        ax.set_xticks(across[:1])
    for place, (label, (x, y)) in enumerate(lines.items()):
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        size, look = 4, charts.look_in_turn(place)
        if strategies:
            size, look = 6, charts.look(label.split(", ")[0])
        ax.plot(x, y, clip_on=False, markersize=size, markevery=max(len(x) // 12, 1), **look)
        if (there := np.flatnonzero(~np.isnan(y))).size:
            ends.append((float(y[there[-1]]), float(x[there[-1]]), label, look["color"]))
    ends.sort(key=lambda end: end[0])
    heights = apart([_share(ax, y) for y, *_ in ends], CLOSEST)
    for (y, x, label, color), height in zip(ends, heights, strict=True):
        ax.annotate(
            label, (x, y), (1.03, height), textcoords="axes fraction", color=color, va="center",
            fontsize="x-small",
            arrowprops={"arrowstyle": "-", "color": color, "lw": 0.5, "relpos": (0, 0.5)},
        )  # fmt: skip
    return ax


def _share(ax: Axes, y: float) -> float:
    """How high a value stands in the axes, from 0 to 1."""
    point = ax.transData.transform((ax.get_xlim()[0], y))
    return float(ax.transAxes.inverted().transform(point)[1])


def apart(heights: Sequence[float], least: float) -> list[float]:
    """Ascending heights so far apart at least, in the axes, and else as near as can be to where they were;
    of more than there is room for, all at one distance.

    The closest in least squares: the max-min formula of isotonic regression.

    >>> apart([0.0, 0.0, 0.5], 0.1), apart([0.9, 1.0, 1.0], 0.1), apart([0.4, 0.4], 0.1)
    ([0.0, 0.1, 0.5], [0.8, 0.9, 1.0], [0.35, 0.45])
    >>> apart([0.0, 0.0, 1.0], 0.6)
    [0.0, 0.5, 1.0]
    """
    many = len(heights)
    if many == 0:
        return []
    below = min(least, 1 / max(many - 1, 1)) * np.arange(many)
    asked = np.asarray(heights) - below
    placed = [
        max(min(asked[i : k + 1].mean() for k in range(at, many)) for i in range(at + 1))
        for at in range(many)
    ]
    return (np.clip(placed, 0, 1 - below[-1]) + below).round(6).tolist()
