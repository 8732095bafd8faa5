"""The pictures of the lab: functions of a frame and an axes, which return the axes.

A strategy looks the same in every chart with a legend: its look is one of its facts. Lines with
labels at their ends (`maps.labelled`) may take colours in turn. No chart relies on colour alone.
"""

import textwrap
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator

from assignlab import assignors
from assignlab.errors import UnknownName
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group

PALETTE = {
    "blue": "#0072b2", "orange": "#d55e00", "green": "#007a5e", "purple": "#aa3377",
    "black": "#222222", "olive": "#8a6d00", "slate": "#5566aa", "brown": "#994433",
}  # fmt: skip
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<", ">", "h", "p", "d")
LINES = {
    "solid": ((None, None), "full"),
    "dashed": ((4, 1.5), "left"),
    "dotted": ((1, 1), "none"),
    "dashdot": ((3, 1, 1, 1), "top"),
    "long dashes": ((6, 2), "right"),
    "dash dot dot": ((5, 1, 1, 1, 1, 1), "bottom"),
}
"""Line style -> its dashes, and the part of a marker that is filled where no line is drawn."""

COLORS = tuple(PALETTE.values())
"""Distinct on white (contrast 3:1 and more), and distinct without colour by marker and dashes."""

PARTS = {
    "stayed": ("#e3e3e3", ""),
    "forced": ("#8c8c8c", ""),
    "needed": ("#0072b2", "//"),
    "by_choice": ("#5566aa", "\\\\"),
    "avoidable": ("#d55e00", "xx"),
    "revoked_kept": ("#aa3377", ".."),
}
"""The parts of a stacked bar of moves: fill and hatch."""

WIDEST = 10.0
"""Inches: the width of a page. A wider figure is shrunk there, and its letters with it."""

ON_A_PHONE = 4.9
"""Inches: what a phone shows of so wide a picture before it is moved sideways."""

MOST_TOLD = 24
"""Partitions and members whose names stand beside a picture of who owns what; of more, every second or
less, and their cells have no edges. Nor have they signs, of twice as many partitions."""

DARKEST = 0.62
"""Grey of the largest number of :func:`tiles`; black text stays readable on it."""


def theme() -> None:
    """The look of every notebook; a picture is shown where ``study.figure`` says so, not where drawn."""
    plt.ioff()
    sns.set_theme(style="whitegrid", context="notebook", font_scale=0.9)
    plt.rcParams.update({"figure.dpi": 100, "savefig.dpi": 150, "svg.fonttype": "none"})
    plt.rcParams.update({"svg.hashsalt": "assignlab", "legend.frameon": False})
    # Letters have one size; what stands in cells and at the ends of lines is "x-small".
    titles = ("figure.titlesize", "axes.titlesize", "axes.labelsize", "legend.fontsize")
    plt.rcParams.update(dict.fromkeys((*titles, "xtick.labelsize", "ytick.labelsize"), "small"))


def look(strategy: str) -> dict:
    """How a strategy's line is drawn: keywords of matplotlib, the fill of a marker among them.

    A name that is no strategy of the collection gets a look of its own.

    >>> look("sticky@2.0")
    {'color': '#5566aa', 'marker': 'o', 'dashes': (1, 1), 'fillstyle': 'none'}
    >>> look("mine") == look("mine") != look("yours"), by_system(["range", "mine"])["your own"]
    (True, ['mine'])
    """
    try:
        color, marker, line = assignors.get(strategy).look
    except UnknownName:
        # One of the user's own: by its name, so that it looks the same in every chart.
        drawn = zlib.crc32(strategy.encode())
        color = list(PALETTE)[drawn % len(PALETTE)]
        marker = MARKERS[drawn // 8 % len(MARKERS)]
        line = list(LINES)[drawn // 128 % len(LINES)]
    dashes, fill = LINES[line]
    return {"color": PALETTE[color], "marker": marker, "dashes": dashes, "fillstyle": fill}


def look_in_turn(place: int) -> dict:
    """The same of the line at this place among lines that stand for no strategies."""
    dashes, _ = list(LINES.values())[place % len(LINES)]
    color, marker = COLORS[place % len(COLORS)], MARKERS[place % len(MARKERS)]
    return {"color": color, "marker": marker, "dashes": dashes, "fillstyle": "full"}


def lines(frame: pd.DataFrame, x: str, y: str, kind: str, ax: Axes) -> Axes:
    """One line per value of the column ``kind``, which is no strategy, in the frame's order."""
    for place, (name, rows) in enumerate(frame.groupby(kind, sort=False)):
        every = max(len(rows) // 8, 1)
        ax.plot(rows[x], rows[y], label=name, markevery=every, markersize=5, **look_in_turn(place))
    return ax


def plain_ticks(axis: Axis, whole: bool = False) -> None:
    """Ticks at multiples of 1, 2 or 5, and at ``whole`` numbers only, for what is counted."""
    axis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=whole))


def log_ticks(axis: Axis, at: Sequence[int] = (1,)) -> None:
    """Ticks of a logarithmic axis ``at`` so many times the powers of ten, in plain numbers."""
    axis.set_major_locator(LogLocator(subs=at))
    axis.set_major_formatter("{x:,g}")


def small_multiples(
    rows: Sequence,
    columns: Sequence,
    height: float = 2.6,
    width: float = 3.4,
    share_y: bool = True,
    share_x: bool = True,
) -> tuple[Figure, np.ndarray]:
    """A figure with one axes per pair of row and column: (figure, axes[rows, columns]).

    All share x unless ``share_x`` is False; those of a row share y, unless ``share_y`` is. No
    figure is wider than `WIDEST`.
    """
    size = min(width * len(columns) + 1.2, WIDEST), height * len(rows) + 0.6
    figure, axes = plt.subplots(
        len(rows), len(columns), figsize=size, sharex=share_x, sharey="row" if share_y else False,
        squeeze=False, layout="constrained",
    )  # fmt: skip
    for ax in axes.flat:
        plain_ticks(ax.xaxis)
        plain_ticks(ax.yaxis)
    return figure, axes


def wrapped(
    panels: Sequence, columns: int, height: float = 2.6, width: float = 3.4
) -> tuple[Figure, np.ndarray]:
    """A figure with one axes per panel, in rows of at most ``columns``: (figure, axes[rows, columns]).

    All share x, those of a row share y. :func:`titled` takes the axes away that are left over.

    >>> wrapped(["a", "b", "c", "d", "e"], columns=3)[1].shape
    (2, 3)
    """
    across = min(len(panels), columns)
    return small_multiples(range(-(-len(panels) // across)), range(across), height, width)


def by_system(names: Iterable[str]) -> dict[str, list[str]]:
    """Strategies by panel, so that many stay readable: one panel for each system, in its order.

    Where a system has releases that assign differently, the earlier ones have a panel of their own.

    >>> by_system(["range", "metaq-default", "range@2.0", "sticky"])
    {'Kafka consumer': ['range', 'sticky'], 'Kafka consumer, earlier': ['range@2.0'], \
'MetaQ': ['metaq-default']}
    """
    systems: dict[str, list[str]] = {}
    for name in names:
        try:
            system = assignors.get(name).system
        except UnknownName:
            system = "your own"
        systems.setdefault(system, []).append(name)
    return {
        title: kept
        for system, found in systems.items()
        for title, earlier in ((system, False), (f"{system}, earlier", True))
        if (kept := [name for name in found if ("@" in name) == earlier])
    }


def panel_rows(
    panels: Mapping[str, Sequence[str]], columns: Sequence, width: float = 4.2
) -> tuple[Figure, np.ndarray]:
    """A figure with a row of axes for each panel, as high as its strategies need.

    Returns (figure, axes[panels, columns]); all share x, those of a row share y.
    """
    heights = [len(names) + 1.2 for names in panels.values()]
    size = min(width * len(columns) + 2.4, WIDEST), 0.23 * sum(heights) + 1.2
    return plt.subplots(
        len(panels), len(columns), figsize=size, height_ratios=heights, sharex="col", sharey="row",
        squeeze=False, layout="constrained",
    )  # fmt: skip


def legend_below(figure: Figure, axes: Iterable[Axes], columns: int = 4) -> None:
    """One legend for all axes, below the figure, each label once, in as many of the columns as a phone
    shows; it begins at the left, as the phone does.

    Of a figure it takes a third at most: one with more labels becomes higher.
    """
    entries: dict[str, object] = {}
    for ax in axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
        if ax.get_legend() is not None:
            ax.get_legend().remove()
    if not entries:
        return
    for ncols in range(columns, 0, -1):
        legend = figure.legend(
            list(entries.values()), list(entries), loc="outside lower left", ncols=ncols
        )
        box = legend.get_window_extent()
        if ncols == 1 or box.width < min(0.97 * figure.bbox.width, ON_A_PHONE * figure.dpi):
            break
        legend.remove()
    height = figure.get_figheight()
    figure.set_figheight(max(height, 2 / 3 * height + box.height / figure.dpi))


def tell_gaps(frame: pd.DataFrame, ax: Axes) -> Axes:
    """The gap that each bar's strategy leaves, where it is above 1, beside the bar.

    ``frame``: one row per bar of :func:`stacked`, with ``count_gap`` in partitions.
    """
    for place, gap in enumerate(frame["count_gap"]):
        if gap > 1:
            text = f"gap {gap:.3g}"
            where = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points"}
            ax.annotate(text, (1, place), (4, 0), va="center", fontsize="x-small", **where)
    return ax


def stacked(frame: pd.DataFrame, parts: Sequence[str], ax: Axes) -> Axes:
    """Stacked horizontal bars: one bar per strategy, one piece per column in ``parts``."""
    places = np.arange(len(frame))
    left = np.zeros(len(frame))
    for part in parts:
        fill, hatch = PARTS[part]
        width = frame[part].to_numpy(dtype=float)
        ax.barh(
            places, width, left=left, color=fill, hatch=hatch, edgecolor="white",
            label=part.replace("_", " "), height=0.7,
        )  # fmt: skip
        left += width
    ax.set_yticks(places, frame["strategy"])
    plain_ticks(ax.xaxis, whole=True)
    ax.set_ylim(len(frame) - 0.5, -0.5)  # the first on top, also where axes share y
    ax.grid(axis="y", visible=False)
    return ax


def ownership(
    group: Group,
    after: Assignment,
    ax: Axes,
    before: Assignment | None = None,
    colors: Mapping[str, str] | None = None,
) -> Axes:
    """Who owns what: members as rows, partitions as columns, a filled cell for each ownership.

    With ``before`` (an assignment over the same members) each cell also tells kept (plain), gained
    (hatched, "+") and lost (outlined, "-"), without the signs where cells are too small. A partition
    without owner is marked in grey.
    ``colors``: of every member, those of :func:`member_colors` unless given.
    """
    topics = np.argsort(group.topics.names.rank, kind="stable")
    columns = [(int(t), p) for t in topics for p in range(max(int(group.topics.partitions[t]), 0))]
    column = {pair: i for i, pair in enumerate(columns)}
    now, then = _cells(after, column), _cells(before, column) if before is not None else None
    colors = colors or member_colors([group.members.names])
    palette = [colors[name] for name in group.members.names]
    few = len(group.members) <= MOST_TOLD
    signs = few and len(columns) <= 2 * MOST_TOLD
    lw = 1 if few and len(columns) <= MOST_TOLD else 0
    for m, c in sorted(now):
        gained = then is not None and (m, c) not in then
        ax.add_patch(plt.Rectangle((c, m), 1, 1, facecolor=palette[m], edgecolor="white",
                                   hatch="//" if gained else "", lw=lw))  # fmt: skip
        if gained and signs:
            ax.text(
                c + 0.5, m + 0.5, "+", ha="center", va="center", fontweight="bold", color="white",
                bbox={"facecolor": palette[m], "edgecolor": "none", "pad": 1},
            )  # fmt: skip
    for m, c in sorted((then or set()) - now):
        ax.add_patch(
            plt.Rectangle((c, m), 1, 1, facecolor="none", edgecolor=palette[m], ls=":", lw=1.5)
        )
        if signs:
            ax.text(c + 0.5, m + 0.5, "−", ha="center", va="center", color=palette[m])
    for c in sorted(set(range(len(columns))) - {c for _, c in now}):
        ax.axvspan(c, c + 1, color="#dddddd", zorder=0)
    sizes = np.diff(after.offsets)
    ax.set_xlim(0, max(len(columns), 1))
    ax.set_ylim(len(group.members), 0)
    told = [f"{group.topics.names[t]}p{p}" for t, p in columns]
    step = -(-len(told) // MOST_TOLD) or 1
    upright = len(told) > 8 or max(map(len, told), default=0) > 6
    ax.set_xticks(np.arange(len(told))[::step] + 0.5, told[::step], rotation=90 if upright else 0)
    lanes = [f"{name} ({sizes[m]})" for m, name in enumerate(group.members.names)]
    step = -(-len(lanes) // MOST_TOLD) or 1
    ax.set_yticks(np.arange(len(lanes))[::step] + 0.5, lanes[::step])
    ax.set_xlabel("partition")
    ax.set_ylabel("member (partitions)")
    ax.grid(visible=False)
    return ax


def member_colors(groups: Iterable[Iterable[str]]) -> dict[str, str]:
    """A colour for every member of groups that are shown together, by the members' names.

    A member keeps its colour where others come or go; who comes gets the first that is free.

    >>> colors = member_colors([["a", "b", "c"], ["a", "c"], ["a", "c", "d"]])
    >>> [COLORS.index(color) for color in colors.values()]
    [0, 1, 2, 1]
    """
    colors: dict[str, str] = {}
    for names in groups:
        names = list(names)
        taken = {colors[name] for name in names if name in colors}
        free = [color for color in COLORS if color not in taken] or COLORS
        new = [name for name in names if name not in colors]
        colors |= {name: free[place % len(free)] for place, name in enumerate(new)}
    return colors


def _cells(assignment: Assignment, column: dict[tuple[int, int], int]) -> set[tuple[int, int]]:
    """(member, column) of every ownership that the picture has a column for."""
    pairs = zip(
        assignment.owners.tolist(),
        topic_of(assignment.codes).tolist(),
        partition_of(assignment.codes).tolist(),
        strict=True,
    )
    return {(m, column[t, p]) for m, t, p in pairs if (t, p) in column}


def reference(x, y, ax: Axes, label: str) -> Axes:
    """A law or a bound beside the curves: thin, black, dotted, behind them; a dash where it has one
    point alone."""
    alone = "_" if len(x) == 1 else ""
    ax.plot(
        x, y, color="black", linestyle=":", linewidth=1.6, zorder=1, label=label,
        marker=alone, markersize=18,
    )  # fmt: skip
    return ax


def counted(axes: np.ndarray, x: str, y: str) -> None:
    """Axis titles for small multiples over a count; it starts at 0, and so does ``y`` at least."""
    for ax in axes.flat:
        ax.set_xlim(left=0)
    for ax in axes[-1]:
        ax.set_xlabel(x)
    for ax in axes[:, 0]:
        ax.set_ylabel(y)


def titled(axes: np.ndarray, x: str) -> None:
    """The title ``x`` under the lowest axes of each column; axes without content are taken away."""
    for ax in axes.flat:
        if not ax.has_data():
            ax.remove()
    for column in axes.T:
        drawn = [ax for ax in column if ax.has_data()]
        if drawn:
            drawn[-1].set_xlabel(x)
            drawn[-1].tick_params(labelbottom=True)


def matrix(
    frame: pd.DataFrame, rows: str, columns: str, values: str, order: Sequence[str], ax: Axes
) -> Axes:
    """A number for every pair of ``rows`` and ``columns``, written into its cell and shaded.

    ``order``: the names on both axes; a pair without a number stays empty. Where there are numbers
    below 0 they are blue and those above red.
    """
    cells = frame.pivot(index=rows, columns=columns, values=values).reindex(
        index=order, columns=order
    )
    sns.heatmap(
        cells.astype(float), annot=True, fmt=".0f", linewidths=0.5, ax=ax, cbar=False,
        annot_kws={"fontsize": "x-small"},
        **({"cmap": "RdBu_r", "center": 0} if (cells < 0).any(axis=None) else {"cmap": "Blues"}),
    )  # fmt: skip
    # Names stand above, where reading begins: the rows may be many.
    ax.tick_params(axis="x", labelrotation=90, labeltop=True, labelbottom=False)
    ax.xaxis.set_label_position("top")
    ax.xaxis.labelpad = 8  # or it touches the longest name
    ax.tick_params(axis="y", labelrotation=0)
    return ax


def tiles(
    shade: pd.DataFrame, ax: Axes, text: pd.DataFrame | None = None, order: Callable = np.sqrt
) -> Axes:
    """Draw ``shade`` (numbers of 0 and more) as tiles, one row and column as in the frame.

    ``text``: what stands in the tiles, of the same shape; the numbers themselves unless given, none
    for 0. ``order`` bends the scale: with the square root, small numbers are told from none.

    >>> ax = tiles(pd.DataFrame({"match": [4, 0], "misprint": [1, 2]}), plt.figure().subplots())
    >>> len(ax.patches), [text.get_text() for text in ax.texts]
    (4, ['4', '1', '2'])
    """
    values = order(shade.to_numpy(dtype=float))
    top = values.max(initial=0.0) or 1.0
    words = shade if text is None else text
    for (row, column), value in np.ndenumerate(values):
        grey = str(round(1 - (1 - DARKEST) * value / top, 3))
        ax.add_patch(
            plt.Rectangle((column, row), 1, 1, facecolor=grey, edgecolor="#888888", lw=0.8)
        )
        if cell := words.iat[row, column]:
            ax.text(column + 0.5, row + 0.5, cell, ha="center", va="center", fontsize="x-small")
    rows, columns = values.shape
    ax.set_xlim(0, columns)
    ax.set_ylim(rows, 0)
    ax.set_xticks(np.arange(columns) + 0.5, list(shade.columns))
    ax.set_yticks(np.arange(rows) + 0.5, list(shade.index))
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return ax


def grouped(
    frame: pd.DataFrame,
    x: str,
    y: str,
    ax: Axes,
    bars: bool = False,
    joined: bool = False,
    published: str = "",
    bound: str = "",
) -> Axes:
    """Points side by side: one group per value of ``x``, in it the mean of every strategy, both in
    the frame's order.

    ``bars``: with bars that hold nine tenths of the rows; ``joined``: with lines between groups;
    ``published``: a column whose values are dashes at the points of their strategy; ``bound``: a
    column whose mean is a dotted line behind them, on grey that holds nine tenths of the rows.
    """
    groups, names = (list(dict.fromkeys(frame[column])) for column in (x, "strategy"))
    means, low, high = _spread(frame, x, y, groups, names)
    places = np.arange(len(groups))
    for number, name in enumerate(names):
        style, shift = look(name), 0.6 * ((number + 0.5) / len(names) - 0.5)
        ax.plot(
            places + shift, means[name], linestyle="-" if joined else "none", label=name, lw=1,
            color=style["color"], marker=style["marker"], fillstyle=style["fillstyle"], markersize=7,
        )  # fmt: skip
        if bars:
            ax.vlines(places + shift, low[name], high[name], color=style["color"], lw=1)
        if published and frame.loc[frame["strategy"] == name, published].notna().any():
            said = frame[frame["strategy"] == name].groupby(x)[published].first().loc[groups]
            ax.plot(places + shift, said, "k_", markersize=16, label="published")
    if bound:
        mean, under, over = _spread(frame, x, bound, groups, names)
        left = places[:, None] + 0.6 * (np.arange(len(names)) / len(names) - 0.5)
        right = left + 0.6 / len(names)
        ax.hlines(mean, left, right, "black", ":", label="bound", lw=1.6, zorder=1)
        for ends in zip(*map(np.ravel, (left, right, under, over)), strict=True):
            ax.fill_between(ends[:2], *ends[2:], color="#d5d5d5", lw=0, zorder=0.9)
    told = [str(group).replace("_", " ") for group in groups]
    ax.set_xticks(places, [textwrap.fill(text, 11, break_long_words=False) for text in told])
    ax.set_ylabel(y)
    if ax.get_yscale() == "linear":  # it may share another's scale
        ax.set_ylim(bottom=0)
    return ax


def _spread(
    frame: pd.DataFrame, x: str, y: str, groups: Sequence, names: Sequence[str]
) -> list[pd.DataFrame]:
    """Mean, 5 % and 95 % of ``y``, a row for each of the groups and a column for each strategy."""
    rows = frame.groupby([x, "strategy"])[y]
    parts = rows.mean(), rows.quantile(0.05), rows.quantile(0.95)
    return [part.unstack().loc[groups, names] for part in parts]


def spans(
    frame: pd.DataFrame, x: str, low: str, high: str, right: str, ax: Axes, least: float
) -> Axes:
    """A range for every row, from ``low`` to ``high`` at ``x``, a dot in its middle; on the dotted line
    ``x`` is what the range is about. Where the column ``right`` is False, a cross stands at the nearer end.
    Both axes are logarithmic above ``least``."""
    most = 1.5 * frame[[x, high]].to_numpy().max(initial=least)
    reference([0, most], [0, most], ax, "as measured")
    middle = (frame[low] + frame[high]) / 2
    ax.vlines(frame[x], frame[low], frame[high], color=COLORS[0], lw=0.6, alpha=0.25)
    off = ~frame[right].astype(bool)
    end = frame[x].clip(frame[low], frame[high])
    ax.plot(
        frame[x][~off], middle[~off], ".", color=COLORS[0], markersize=3, alpha=0.6, label="right"
    )
    ax.plot(
        frame[x][off], end[off], "x", color=COLORS[1], markersize=5, label="not right: nearer end"
    )
    for set_scale, set_limits in ((ax.set_xscale, ax.set_xlim), (ax.set_yscale, ax.set_ylim)):
        set_scale("symlog", linthresh=least)
        set_limits(-least / 5, most)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter("{x:,g}")
    return ax


def log_above_one(ax: Axes, values: pd.Series, label: str = "") -> Axes:
    """A y axis from 0 to beyond ``values``, linear up to 1 so that nought can be seen, then
    logarithmic, as its title says; no title without ``label``. Where all are above 10 it begins
    below the least."""
    if values.min() > 10:
        scale = "log scale"
        ax.set_yscale("log")
        ax.set_ylim(values.min() / 2, 2 * values.max())
        log_ticks(ax.yaxis, at=(1, 2, 5))
        ax.minorticks_off()
    else:
        scale = "log scale above 1"
        ax.set_yscale("symlog", linthresh=1)
        # Up to 1 alone the scale would have a tick at its lower end.
        ax.set_ylim(-0.15, max(2 * values.max() + 1, 1.1))
    ax.yaxis.set_major_formatter("{x:,g}")
    ax.set_ylabel(f"{label}\n{scale}" if label else "")
    return ax


def in_words(frame: pd.DataFrame, line: str, x: str, y: str) -> str:
    """The means that a chart shows, for its alternative text: ``y`` at every ``x``, line by line.

    >>> frame = pd.DataFrame({"who": ["a", "a", "b"], "n": [1, 2, 1], "s": [0.5, 2000.0, 3.0]})
    >>> in_words(frame, "who", "n", "s")
    'a: 0.5 at 1, 2,000 at 2; b: 3 at 1'
    """
    means = frame.groupby([line, x], sort=False)[y].mean()
    said: dict[str, list[str]] = {}
    for (name, at), value in means.items():
        said.setdefault(name, []).append(f"{value:{',.0f' if abs(value) >= 10 else '.2g'}} at {at}")
    return "; ".join(f"{name}: {', '.join(points)}" for name, points in said.items())
