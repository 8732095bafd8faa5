"""Pictures of algorithms at work: the circle of round robin, sticky's flow chart, the hash ring."""

from collections.abc import Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import Group
from assignlab.pictures.charts import COLORS, MARKERS


def told(
    panels: Mapping[str, tuple[Group, Assignment] | tuple[Group, Assignment, Assignment]],
) -> str:
    """What :func:`assignlab.pictures.panels.picture` shows, in words, for its alternative text.

    >>> from assignlab import assignors
    >>> from assignlab.group.plain import group
    >>> g = group({"t": 3}, {"a": ["t"], "b": ["t"]})
    >>> told({"three": (g, assignors.get("range").assign(g))})
    'three: a 2, b 1.'
    """
    return " ".join(f"{title}: {_told(*shown)}." for title, shown in panels.items())


def _told(group: Group, after: Assignment, before: Assignment | None = None) -> str:
    names = group.members.names
    sizes = ", ".join(f"{name} {size}" for name, size in zip(names, after.sizes, strict=True))
    if before is None:
        return sizes
    was = dict(zip(before.codes.tolist(), before.owners.tolist(), strict=True))
    given = [
        f"{group.topics.names[int(topic_of(c))]}p{partition_of(c)} to {names[owner]}"
        for c, owner in zip(after.codes.tolist(), after.owners.tolist(), strict=True)
        if was.get(c) != owner
    ]
    return f"{sizes}; {', '.join(given) or 'nothing'} newly given"


def circle(rounds: pd.DataFrame, consumers: Sequence[str], ax: Axes) -> Axes:
    """Round robin's circle: the turn in which a consumer gets a partition, a dash where it is passed.

    ``rounds``: as :func:`assignlab.published.walks.circle` has them.
    """
    for column, row in enumerate(rounds.itertuples(index=False)):
        turn, _, passed, dealt = row
        place = consumers.index(dealt)
        ax.add_patch(FancyBboxPatch((column + 0.1, place + 0.14), 0.8, 0.72, lw=0, mutation_scale=0.1,
                                    boxstyle="round,pad=0", color=COLORS[place % len(COLORS)]))  # fmt: skip
        ax.text(column + 0.5, place + 0.5, str(turn), color="white", ha="center", va="center")
        for name in passed.split():
            ax.text(column + 0.5, consumers.index(name) + 0.5, "–", ha="center", va="center")
    ax.set_xlim(0, len(rounds))
    ax.set_ylim(len(consumers), 0)
    ax.set_xticks(np.arange(len(rounds)) + 0.5, rounds["partition"], fontsize="small")
    ax.set_yticks(np.arange(len(consumers)) + 0.5, consumers, fontsize="small")
    ax.set_xlabel("partition, in the order of dealing")
    ax.grid(visible=False)
    return ax


FLOW = {
    "claims": (0, 0, "step", "What do the members\nclaim? Keep what exists\nand is still subscribed"),
    "sort": (0, 1, "step", "Fewest readers first; alike\nreaders with claims:\nthe fullest member's first"),
    "free": (0, 2, "step", "Give each partition\nwithout an owner to\nthe reader that has least"),
    "aside": (0, 3, "step", "Set aside what has\none reader, note\nthe balance score"),
    "balanced": (0, 4, "choice", "Balanced? (fewest ≥\nmost − 1, or no reader\nhas less than an owner)"),
    "next": (0, 5, "step", "Next partition in the order"),
    "better": (0, 6, "choice", "Has a reader at least\ntwo fewer than its owner?"),
    "reverse": (1, 6, "choice", "Did one of this topic come\nthe other way before?"),
    "this": (1, 5, "step", "Move it to the reader\nthat has least"),
    "that": (2, 6, "step", "Take that one\ninstead"),
    "score": (1, 4, "choice", "Had anybody partitions,\ndid any move, and did the\nscore not get less?"),
    "back": (2, 4, "step", "Take all moves back"),
    "done": (1, 3, "step", "The assignment"),
}  # fmt: skip
"""Sticky's steps: name -> column, row, kind, text."""
ARROWS = (
    ("claims", "sort", ""), ("sort", "free", ""), ("free", "aside", ""), ("aside", "balanced", ""),
    ("balanced", "next", "no"), ("next", "better", ""), ("better", "reverse", "yes"),
    ("reverse", "this", "no"), ("reverse", "that", "yes"), ("this", "balanced", ""),
    ("that", "this", ""), ("balanced", "score", "yes"), ("score", "done", "no"),
    ("score", "back", "yes"), ("back", "done", ""),
)  # fmt: skip
WIDTH, HEIGHT = 0.82, 0.66
"""Of a box, where boxes stand 1 apart."""
LEADING = 0.16
"""From line to line in a box."""


def sticky_flow(ax: Axes) -> str:
    """The flow chart of the sticky assignor up to 2.5; returns it in words."""
    for column, row, kind, text in FLOW.values():
        corner = (column - WIDTH / 2, row - HEIGHT / 2)
        inside, edge = ("#eef3fa", COLORS[0]) if kind == "step" else ("#fdf1e3", COLORS[1])
        ax.add_patch(FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0", lw=1.2,
                                    facecolor=inside, edgecolor=edge, mutation_scale=0.08))  # fmt: skip
        _centred(ax, column, row, text)
    for start, end, label in ARROWS:
        _arrow(ax, FLOW[start][:2], FLOW[end][:2], label)
    bent = {"arrowstyle": "->", "color": "#444444", "connectionstyle": "arc3,rad=-0.6"}
    ax.annotate("", (-WIDTH / 2, 5), (-WIDTH / 2, 6), arrowprops=bent)
    again = "no: the next;\nafter a walk\nwithout a move:\n“Had anybody\npartitions …?”"
    _centred(ax, -0.82, 5.5, again)
    ax.set_xlim(-1.05, 2.5)
    ax.set_ylim(6.5, -0.5)
    ax.set_axis_off()
    steps = [" ".join(text.split()) for _, _, _, text in FLOW.values()]
    return "; ".join(steps) + "."


def _centred(ax: Axes, x: float, y: float, text: str) -> None:
    """Line by line: a browser with other letters than matplotlib's centres single lines only."""
    lines = text.split("\n")
    for place, line in enumerate(lines):
        ax.text(x, y + LEADING * (place - (len(lines) - 1) / 2), line, ha="center", va="center",
                fontsize="small")  # fmt: skip


def _arrow(ax: Axes, start: tuple[int, int], end: tuple[int, int], label: str) -> None:
    """From the side of a box that faces the other box; one across and down has the rest of the side."""
    across, down = np.sign(end[0] - start[0]), np.sign(end[1] - start[1])
    reach = np.array([across * WIDTH / 2, down * HEIGHT / (3 if across else 2)])
    first, last = np.array(start) + reach, np.array(end) - reach
    ax.annotate("", last, first, arrowprops={"arrowstyle": "->", "color": "#444444"})
    if label:
        x, y = (first + last) / 2 + (np.array([0, -0.13]) if across else np.array([0.09, 0]))
        ax.text(x, y, label, fontsize="small", ha="center", va="center")


def ring(
    points: pd.DataFrame, partitions: pd.DataFrame, consumers: Sequence[str], ax: Axes
) -> Axes:
    """The ring of consistent hashing on polar axes: the consumers' points, and each partition; from
    the top, clockwise.

    ``points``: columns ``point`` (0 to 2**32 - 1) and ``consumer``; ``partitions``: ``point``,
    ``partition`` and ``owner``, in whose colour the partition stands. ``consumers``: all that are
    told of beside each other, so that each keeps its colour where another is gone.
    """
    ax.set_theta_zero_location("N")
    ax.set_theta_direction("clockwise")
    turn = 2 * np.pi / 2**32
    look = dict(zip(consumers, zip(cycle(COLORS), cycle(MARKERS)), strict=False))
    for name, rows in points.groupby("consumer"):
        color, marker = look[name]
        ax.plot(rows["point"] * turn, np.ones(len(rows)), linestyle="none", color=color,
                marker=marker, markersize=3, label=name)  # fmt: skip
    for point, partition, owner in partitions.itertuples(index=False):
        color, marker = look[owner]
        ax.plot([point * turn] * 2, [0.78, 0.97], color=color, lw=1)
        ax.plot(point * turn, 0.78, marker=marker, color=color, markersize=7)
        ax.text(point * turn, 0.56, partition, color=color, fontsize="small",
                ha="center", va="center")  # fmt: skip
    ax.set_ylim(0, 1.05)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.grid(visible=False)
    ax.legend(loc="center", fontsize="x-small")
    return ax
