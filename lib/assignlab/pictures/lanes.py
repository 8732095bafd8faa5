"""Who owns what over time: a history and an axes to the axes."""

from collections.abc import Iterable

from matplotlib.axes import Axes

from assignlab.pictures.charts import COLORS
from assignlab.timeline.engine.history import History
from assignlab.timeline.measure import gaps, partitions_of
from assignlab.timeline.scenario import SECOND

GAP = 0.14
"""Of a lane's height, what separates it from the next."""

NEAR = 0.03
"""Of the picture's width, how near generations are to share a label."""

ABOVE_GRID = 0.7
"""Lines lie between the grid (0.5) and the bars (1)."""

SIGNS = {"crashed": "✕", "closed": "▽", "removed": "⊘", "fatal": "✕", "lost": "⊘"}
"""✕ a process is gone, ▽ it closed, ⊘ it is out of the group (it left or was expelled), or notices."""


def lanes(history: History, ax: Axes, start_s: float, stop_s: float) -> Axes:
    """Members as lanes, partitions as bars of one colour and one height in every lane.

    A partition is always at the same place inside a lane, so that position tells what colour tells.
    The lowest lane has the partitions that nobody owns. Dotted lines mark generations (or target
    assignments), the full one what was done to the group.
    """
    labels = partitions_of(history)
    names = list(history.members)
    height = (1 - GAP) / max(len(labels), 1)
    # In the order of partitions, for the legend has that of the bars.
    for row in history.ownership().sort_values(["topic", "partition"]).itertuples():
        since, until = max(row.from_ms / SECOND, start_s), min(row.to_ms / SECOND, stop_s)
        if until > since:
            place = labels.index((row.topic, row.partition))
            ax.barh(
                names.index(row.member) + (place + 0.5) * height, until - since, height * 0.9,
                left=since, color=COLORS[place % len(COLORS)], alpha=0.85, lw=0,
                hatch="" if place < len(COLORS) else "//", label=f"{row.topic}-{row.partition}",
            )  # fmt: skip
    for (topic, partition), since, until in gaps(history):
        since, until = max(since / SECOND, start_s), min(until / SECOND, stop_s)
        if until > since:
            place = labels.index((topic, partition))
            ax.barh(
                len(names) + (place + 0.5) * height, until - since, height * 0.9, left=since,
                color="white", edgecolor="#b00020", hatch="////", lw=0.6,
            )  # fmt: skip
    _marks(history, ax, start_s, stop_s)
    ax.set_xlim(start_s, stop_s)
    ax.set_ylim(len(names) + 1, 0)
    ax.set_yticks([n + (1 - GAP) / 2 for n in range(len(names) + 1)], [*names, "nobody"])
    ax.set_xlabel("simulated time (s)")
    ax.grid(axis="y", visible=False)
    return ax


def _marks(history: History, ax: Axes, start_s: float, stop_s: float) -> None:
    begun = []
    for event in history.events:
        at = event.time_ms / SECOND
        if not start_s <= at <= stop_s:
            continue
        if event.kind == "generation":
            ax.axvline(at, color="#444444", lw=0.9, ls=":", zorder=ABOVE_GRID)
            begun.append((at, event.generation))
        elif event.kind.startswith("action"):
            ax.axvline(at, color="black", lw=1.2, zorder=ABOVE_GRID)
        elif event.kind in SIGNS and event.member >= 0:
            ax.text(
                at, event.member + (1 - GAP) / 2, SIGNS[event.kind], ha="center", va="center",
                fontsize="medium", fontweight="bold",
            )  # fmt: skip
    for at, label in shared_labels(begun, NEAR * (stop_s - start_s)):
        ax.text(
            at, -0.06, label, ha="center", va="bottom", fontsize="x-small", color="#444444",
        )  # fmt: skip


def shared_labels(numbers: Iterable[tuple[float, int]], near: float) -> list[tuple[float, str]]:
    """Where a label stands, and what it says: numbers at places near each other share one.

    >>> shared_labels([(1.0, 2), (5.0, 3), (5.1, 4), (5.2, 5)], near=0.3)
    [(1.0, '2'), (5.1, '3–5')]
    """
    runs: list[list[tuple[float, int]]] = []
    for at, number in numbers:
        if runs and at - runs[-1][-1][0] < near:
            runs[-1].append((at, number))
        else:
            runs.append([(at, number)])
    ends = [(run[0], run[-1]) for run in runs]
    return [
        ((first + last) / 2, f"{low}" if low == high else f"{low}–{high}")
        for (first, low), (last, high) in ends
    ]
