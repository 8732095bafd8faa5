"""What the first pages show: a sample group, tables as frames, the defaults of every release."""

from pathlib import Path

import pandas as pd

from assignlab.advice.report import Table, shown
from assignlab.advice.subject import Range
from assignlab.timeline.config import CHANGES

SAMPLE = Path(__file__).parent / "data" / "sample-group.txt"
"""What ``kafka-consumer-groups --describe`` and ``--state`` printed of a group of three members."""

LISTS = {
    "0.9": ("RangeAssignor", "classic"),
    "3.0": ("RangeAssignor, CooperativeStickyAssignor", "classic"),
}
"""First release -> partition.assignment.strategy and group.protocol of Kafka's Java consumer, by
default: KIP-429's list since 3.0 (KIP-726); KIP-848 is offered by default since brokers of 4.0, and
clients have to ask for it."""

NAMES = {
    "session_timeout_ms": "session.timeout.ms",
    "max_poll_interval_ms": "max.poll.interval.ms",
    "group_initial_rebalance_delay_ms": "group.initial.rebalance.delay.ms",
    "group_consumer_assignment_interval_ms": "group.consumer.assignment.interval.ms",
}


def frame(table: Table) -> pd.DataFrame:
    """A table as a pandas frame: a range becomes its ends, ``moved_low`` and ``moved_high``."""
    columns: dict[str, list] = {}
    for place, name in enumerate(table.columns):
        cells, word = [row[place] for row in table.rows], name.replace(" ", "_").replace("-", "_")
        if any(isinstance(cell, Range) for cell in cells):
            columns[f"{word}_low"] = [None if cell is None else cell.low for cell in cells]
            columns[f"{word}_high"] = [None if cell is None else cell.high for cell in cells]
        else:
            columns[word] = cells
    return pd.DataFrame(columns)


def as_shown(table: Table) -> pd.DataFrame:
    """A table as a frame of texts, a range as ``3 to 5``."""
    cells = [["" if cell is None else shown(cell) for cell in row] for row in table.rows]
    return pd.DataFrame(cells, columns=list(table.columns))


def defaults() -> pd.DataFrame:
    """What releases of Kafka set by default, where it concerns rebalances; one row per change."""
    rows = [
        {"since": since, "setting": "partition.assignment.strategy", "default": names}
        for since, (names, _) in LISTS.items()
    ]
    rows += [
        {"since": since, "setting": NAMES[name], "default": str(value)}
        for since, changed in CHANGES["kafka"].items()
        for name, value in changed.items()
        if name in NAMES
    ]
    rows.append({"since": "4.0", "setting": "group.protocol", "default": LISTS["3.0"][1]})
    rows.sort(key=lambda row: [int(part) for part in row["since"].split(".")])
    return pd.DataFrame(rows)
