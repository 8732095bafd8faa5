"""Bars: what happens to a group under each strategy, and a page's small picture for the index."""

import textwrap

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from assignlab.pictures.charts import COLORS, legend_below, plain_ticks, small_multiples

MOST, LEAST = "#c3ccd4", "#5b6b7a"
"""The light and the dark part of a bar that stands for a range."""
ON_A_CARD = 6
"""Bars that can be read on a card of the index."""
EVENTS_SHOWN = 3
COSTS = {
    "moved": "partitions moved",
    "unowned_partition_seconds": "partition-seconds without an owner",
}
"""Columns of a table of events, and what they are."""


def costs(rows: pd.DataFrame) -> tuple[Figure, dict[tuple[str, str], pd.Series]]:
    """What events cost under each strategy, from least to most: a panel for each event and cost.

    rows: columns ``event``, ``strategy`` and, of :data:`COSTS` what there is, ``<cost>_low`` and
    ``<cost>_high``. Rollouts come first; three events are shown. The most of every panel comes back
    beside the figure, by event and title, a number by strategy.
    """
    titles = {cost: title for cost, title in COSTS.items() if f"{cost}_high" in rows}
    events = sorted(rows["event"].unique(), key=lambda event: event != "a rollout")[:EVENTS_SHOWN]
    names = list(dict.fromkeys(rows["strategy"]))
    height = max(2.3, 0.9 + 0.2 * len(names))  # a line for every name
    figure, axes = small_multiples(list(titles), events, height, 3.0, share_x=False)
    most = {}
    for panels, (cost, title) in zip(axes, titles.items(), strict=True):
        for ax, event in zip(panels, events, strict=True):
            part = rows[rows["event"] == event].dropna(subset=f"{cost}_high")
            for end, color, label, above in (
                ("low", LEAST, "at least", 2),
                ("high", MOST, "at most", 1),
            ):
                values = part[f"{cost}_{end}"].astype(float)
                at = part["strategy"].map(names.index)
                ax.barh(at, values, color=color, label=label, zorder=above)
            ax.set_yticks(range(len(names)), names)
            ax.set_ylim(len(names) - 0.5, -0.5)
            if part.empty:
                at = {"transform": ax.transAxes, "ha": "center", "va": "center"}
                ax.text(0.5, 0.5, "not measured", backgroundcolor="white", **at)
            ax.set_xlabel(textwrap.fill(title, 20))  # panels stand close together
            ax.set_xlim(0, None if part[f"{cost}_high"].gt(0).any() else 1)
            plain_ticks(ax.xaxis, whole=cost == "moved")
            most[event, title] = part.set_index("strategy")[f"{cost}_high"]
    for ax, event in zip(axes[0], events, strict=True):
        ax.set_title(event)
    legend_below(figure, axes.flat)
    return figure, most


def card(values: pd.Series, title: str) -> Figure:
    """A picture for the index: the first few numbers of a series as bars, with name and number."""
    shown = values.dropna().astype(float).head(ON_A_CARD)[::-1]
    figure, ax = plt.subplots(figsize=(4.2, 0.3 * len(shown) + 0.5), layout="constrained")
    drawn = ax.barh(range(len(shown)), shown, tick_label=shown.index.map(str), color=COLORS[0])
    ax.bar_label(drawn, [f"{value:,.3g}" if value < 100 else f"{value:,.0f}" for value in shown],
                 padding=3)  # fmt: skip
    ax.set_xlim(0, 1.2 * max(shown.max(), 1e-9) if len(shown) else 1)
    ax.set_title(title, fontsize="medium")
    ax.set_xticks([])
    ax.grid(visible=False)
    ax.spines[:].set_visible(False)
    return figure
