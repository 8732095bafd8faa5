"""Pictures of offsets, states and repeated records: a history or frame and an axes to the axes."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from assignlab.pictures.charts import COLORS, MARKERS, look, look_in_turn
from assignlab.pictures.lanes import shared_labels
from assignlab.timeline.engine.history import History
from assignlab.timeline.measure import first_watched, readings, skipped, watched_frame
from assignlab.timeline.scenario import SECOND

OFFSETS = {
    "log_end_offset": ("log end offset", "#222222", (0, (7, 1.5, 1, 1.5)), 1.2),
    "high_watermark": ("high watermark", "#8a6d00", (0, (1, 1)), 1.8),
    "position": ("current position", "#0072b2", "-", 1.8),
    "committed": ("last committed", "#d55e00", (0, (4, 1.5)), 2.2),
}
"""The four offsets of a log: label, colour, dashes, width."""

HATCHES = ("", "//", "..", "xx", "--", "oo")
STATES = ("Dead", "Empty", "PreparingRebalance", "CompletingRebalance", "Stable")


def offsets(
    history: History, ax: Axes, start_s: float, stop_s: float, high_watermark: bool = True
) -> Axes:
    """The offsets of the first watched partition over time; above them, who owns it.

    ``high_watermark``: whether to draw it, too, where it can be told from the log's end.
    """
    rows = first_watched(history)
    rows = rows[rows["time_ms"].between(start_s * SECOND, stop_s * SECOND)]
    for column, (label, color, dashes, width) in OFFSETS.items():
        if column != "high_watermark" or high_watermark:
            values = rows[column].where(rows[column] >= 0)
            ax.plot(
                rows["time_ms"] / SECOND, values, color=color, ls=dashes, lw=width, label=label,
                drawstyle="steps-post",
            )  # fmt: skip
    ax.set_xlim(start_s, stop_s)
    low, high = ax.get_ylim()
    ax.set_ylim(low, high + 0.12 * (high - low))
    owner_strip(history, ax)
    ax.set_xlabel("simulated time (s)")
    ax.set_ylabel("offset (records)")
    return ax


def thread(history: History, ax: Axes, start_s: float, stop_s: float) -> int:
    """What the thread of the only member does: it works on what poll returned, else it waits in poll.

    A mark stands where poll returns and the thread may do something else; how many are drawn comes
    back. Told from the position at the samples, so it is right to ``Scenario.sample_ms``.
    """
    rows = watched_frame(history)
    rows = rows.assign(records=rows["position"].clip(lower=0).diff())
    rows = rows[rows["time_ms"].between(start_s * SECOND, stop_s * SECOND) & (rows["records"] > 0)]
    [member] = history.scenario.members
    at, work = rows["time_ms"] / SECOND, rows["records"] * member.processing_ms / SECOND
    ax.barh(0, stop_s - start_s, left=start_s, height=0.6, color="#e4e8ec", label="in poll")
    ax.barh([0] * len(at), work, left=at, height=0.6, color=COLORS[0], label="works on records")
    ax.plot(at, [0.42] * len(at), ls="none", marker=7, color=COLORS[1], label="poll has returned")
    ax.set(xlim=(start_s, stop_s), ylim=(-0.4, 0.6), yticks=[])
    ax.grid(visible=False)
    return len(at)


def owner_strip(history: History, ax: Axes) -> Axes:
    """Along the upper edge: who owns the first watched partition, and when nobody does."""
    topic, partition = history.scenario.watch[0]
    owned = history.ownership()
    owned = owned[(owned["topic"] == topic) & (owned["partition"] == partition)]
    left, right = ax.get_xlim()
    place = ax.get_xaxis_transform()
    for row in owned.itertuples():
        start, stop = max(row.from_ms / SECOND, left), min(row.to_ms / SECOND, right)
        if stop <= start:
            continue
        number = history.members.index(row.member)
        color = COLORS[number % len(COLORS)]
        ax.broken_barh(
            [(start, stop - start)], (0.93, 0.07), transform=place, facecolor=color,
            edgecolor="white", hatch=HATCHES[number % len(HATCHES)], alpha=0.75,
        )  # fmt: skip
        if stop - start > 0.04 * (right - left):
            ax.text(
                (start + stop) / 2, 0.965, f"owner {row.member}", transform=place, ha="center",
                va="center", fontsize="x-small", color="white", fontweight="bold",
                bbox={"facecolor": color, "edgecolor": "none", "pad": 1},
            )  # fmt: skip
    return ax


def read_twice(history: History, ax: Axes) -> Axes:
    """Hatch what was delivered again, from the moment on at which the second delivery began."""
    left, right = ax.get_xlim()
    for row in readings(history).itertuples():
        if row.again > 0 and row.from_s <= right:
            start = min(row.from_s, right - (right - left) * 0.1)
            offsets = row.from_offset, row.from_offset + row.again
            _hatch(ax, start, offsets, f"{row.member} reads {row.again:,} again", "#aa3377", "xx")
    return ax


def never_read(history: History, ax: Axes) -> Axes:
    """Mark what of the first watched partition was never delivered, where it was passed over."""
    topic, partition = history.scenario.watch[0]
    for row in skipped(history, topic, partition).itertuples():
        text = f"{row.to_offset - row.from_offset:,} never processed"
        offsets = row.from_offset, row.to_offset
        _hatch(ax, row.time_ms / SECOND, offsets, text, "#222222", "....")
    return ax


def given_up(history: History, ax: Axes) -> Axes:
    """Mark what a member that crashed had written in its open transaction; it has the first watched
    partition, and no other transaction was given up."""
    read = readings(history)
    crashes = (
        [event for event in history.events if event.kind == "crashed"] if history.aborted else []
    )
    for event in crashes[:1]:
        of = read[read["member"] == history.members[event.member]]
        begun = int(of["to_offset"].max())
        text = f"{history.aborted:,} given up with the transaction"
        offsets = begun, begun + history.aborted
        _hatch(ax, event.time_ms / SECOND, offsets, text, "#8a6d00", "////")
    return ax


def _hatch(ax: Axes, start: float, offsets: tuple, text: str, color: str, hatch: str) -> None:
    """Hatch offsets for a tenth of the picture's width, and write a text into them."""
    left, right = ax.get_xlim()
    ax.fill_between(
        [start, start + 0.1 * (right - left)], *offsets, facecolor="none", edgecolor=color,
        hatch=hatch, lw=1.2,
    )  # fmt: skip
    ax.annotate(
        text, (start + 0.02 * (right - left), offsets[0]), xytext=(0, -4),
        textcoords="offset points", va="top", fontsize="small", color=color,
        bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
    )  # fmt: skip


def numbered(times_s: Sequence[float], ax: Axes) -> Axes:
    """A numbered line for every step; numbers of steps close together share a place."""
    left, right = ax.get_xlim()
    place = ax.get_xaxis_transform()
    shown = [(at, step) for step, at in enumerate(times_s, start=1) if left <= at <= right]
    for at, _ in shown:
        ax.axvline(at, color="grey", lw=0.8, zorder=0)
    for at, text in shared_labels(shown, 0.035 * (right - left)):
        ax.text(
            at, 0.02, text, transform=place, ha="center", fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "grey", "pad": 1.5},
        )  # fmt: skip
    return ax


def life_line(states: pd.DataFrame, happened: pd.DataFrame, ax: Axes) -> Axes:
    """A group's states over time, with generations below and what happened above.

    ``states``: as :func:`~assignlab.timeline.measure.states` gives them; ``happened``: columns
    ``time_s``, ``what``.
    """
    level = [STATES.index(state) for state in states["state"]]
    times = [*states["from_s"], states["to_s"].iloc[-1]]
    whole = times[-1] - times[0]
    ax.step(times, [*level, level[-1]], where="post", color=COLORS[0], lw=2)
    for row, height in zip(states.itertuples(), level, strict=True):
        middle = (row.from_s + row.to_s) / 2
        if row.generation and row.to_s - row.from_s > 0.08 * whole:
            ax.text(middle, height + 0.12, f"generation {row.generation}", ha="center",
                    fontsize="x-small")  # fmt: skip
        elif row.to_s - row.from_s < 0.03 * whole:
            ax.plot(middle, height, MARKERS[0], color=COLORS[0], ms=4)
    said = -whole
    for row in happened.itertuples():
        ax.axvline(row.time_s, color="grey", lw=0.8, ls=":")
        said = max(row.time_s, said + 0.05 * whole)  # labels keep their distance
        ax.text(said, len(STATES) - 0.35, row.what, rotation=30, fontsize="small")
    ax.set_yticks(range(len(STATES)), STATES)
    ax.set_ylim(-0.4, len(STATES) - 0.4)
    ax.set_xlim(0, times[-1])
    ax.set_xlabel("simulated time (s)")
    ax.set_ylabel("state of the group")
    return ax


def repeated_bars(frame: pd.DataFrame, group: str, kind: str, ax: Axes) -> Axes:
    """Mean of ``repeated`` per ``group`` and ``kind``, with least and most over the seeds."""
    groups, kinds = list(dict.fromkeys(frame[group])), list(dict.fromkeys(frame[kind]))
    width, many = 0.8 / len(kinds), len(groups) > 6
    for k, name in enumerate(kinds):
        part = frame[frame[kind] == name].groupby(group, sort=False)["repeated"]
        mean, least, most = part.agg(["mean", "min", "max"]).reindex(groups).to_numpy(float).T
        places = np.arange(len(groups)) + (k - (len(kinds) - 1) / 2) * width
        ax.bar(
            places, mean, width * 0.92, yerr=[mean - least, most - mean], label=name,
            color=COLORS[k], hatch=HATCHES[k], edgecolor="white", error_kw={"lw": 1, "capsize": 3},
        )  # fmt: skip
        for x, value in zip(places, mean, strict=True):
            digits = ",.2g" if value < 10 else ",.0f"
            ax.annotate(
                f"{value:{digits}}" if value else "0", (x, value), xytext=(0, 3),
                textcoords="offset points", ha="center", fontsize="x-small",
                rotation=90 if many else 0, bbox={"fc": "white", "ec": "none", "pad": 0.5},
            )  # fmt: skip
    ax.set_xticks(range(len(groups)), groups, rotation=90 if many else 0)
    ax.grid(axis="x", visible=False)
    ax.set_ylabel("records read again\n(mean; line: least to most)")
    return ax


def ranged(frame: pd.DataFrame, x: str, y: str, kind: str, ax: Axes, apart: float = 0.0) -> Axes:
    """One line per value of ``kind`` with a bar from ``y``_low to ``y``_high at every point.

    Strategies (``kind`` is ``strategy``) look as in other charts. ``apart``: by how much of x the
    lines are set beside each other, so that the bars can be told. Of a single x the axis has that tick.
    """
    names = list(dict.fromkeys(frame[kind]))
    for place, name in enumerate(names):
        rows = frame[frame[kind] == name].sort_values(x)
        shift = (place - (len(names) - 1) / 2) * apart
        drawn = look(name) if kind == "strategy" else look_in_turn(place)
        at, mean, low, high = rows[[x, y, f"{y}_low", f"{y}_high"]].to_numpy(float).T
        # A mean may lie outside of the quantiles.
        error = np.clip([mean - low, high - mean], 0, None)
        ax.errorbar(at + shift, mean, error, label=name, ms=5, capsize=2, elinewidth=0.8, **drawn)
    if frame[x].nunique() == 1:  # or the axis names places beside it, where nothing was played
        ax.set_xticks(frame[x].unique())
    return ax
