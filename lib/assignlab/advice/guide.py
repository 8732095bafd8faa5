"""What the first pages show: a sample group, tables as frames, the defaults of every release."""

from pathlib import Path

import pandas as pd

from assignlab import assignors as strategies
from assignlab.advice.report import Table, shown
from assignlab.advice.subject import CLASSIC, KIP_848_SINCE, SERVER, Range
from assignlab.releases import CAME_WITH, version
from assignlab.timeline.config import CHANGES

SAMPLE = Path(__file__).parent / "data" / "sample-group.txt"
"""What ``kafka-consumer-groups --describe`` and ``--state`` printed of a group of three members."""

PROTOCOLS = {"Kafka Scala consumer": "Scala, 0.8", CLASSIC: "classic", SERVER: "KIP-848"}
LISTS = (
    ("Scala, 0.8", "0.8.2", ("scala-range",)),
    ("classic", "0.9", ("range",)),
    ("classic", "3.0", ("range", "cooperative-sticky")),
    ("KIP-848", KIP_848_SINCE, ("server-uniform", "server-range")),
)
"""Protocol, first release and the list of assignors where nothing is configured, most wanted first
(KIP-726 for 3.0). Under KIP-848 the list is the brokers'."""

CAME = {
    "session_timeout_ms": "0.9",
    "max_poll_interval_ms": "0.10.1",
    "group_initial_rebalance_delay_ms": "0.11",
    "group_consumer_assignment_interval_ms": "4.3",
}
"""The settings that are shown, and the release that brought each (KIP-62, KIP-134, KIP-1263); the
timeline has values for releases before it, too."""


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


def assignors() -> pd.DataFrame:
    """Which strategies come with which releases of Kafka, and which of them rule by default: by
    Kafka's names, and last by those of this lab."""
    rows = []
    for system, protocol in PROTOCOLS.items():
        lists = {since: names for of, since, names in LISTS if of == protocol}
        came = {
            strategy.name: CAME_WITH.get(strategy.name, strategy.first).removesuffix(".0")
            for strategy in strategies.strategies().values()
            if strategy.system == system and strategy.name == strategy.base and not strategy.shares
        }
        by_release = sorted(came, key=lambda name: version(came[name]))
        began = min(map(version, lists))
        changes = {since for since in came.values() if version(since) > began}
        for since in sorted({*lists, *changes}, key=version):
            then = [names for first, names in lists.items() if version(first) <= version(since)]
            there = [name for name in by_release if version(came[name]) <= version(since)]
            told = [", ".join(map(_kafkas, names)) for names in (then[-1], there)]
            rows.append((protocol, since, *told, ", ".join(there)))
    last = ["default, most wanted first", "built in", "built in, named here"]
    return pd.DataFrame(rows, columns=["protocol", "since", *last])


def _kafkas(name: str) -> str:
    """What Kafka calls a strategy of its own.

    >>> _kafkas("server-uniform"), _kafkas("scala-range"), _kafkas("cooperative-sticky")
    ('uniform', 'range', 'cooperative-sticky')
    """
    return name.removeprefix("server-").removeprefix("scala-")


def defaults() -> pd.DataFrame:
    """What releases of Kafka set by default, where it concerns rebalances; one row per change."""
    rows = [("group.protocol", CAME_WITH["server-uniform"].removesuffix(".0"), "classic")]
    for protocol, since, names in LISTS:
        if protocol == "classic":
            classes = [strategies.get(name).source.rpartition(".")[2] for name in names]
            rows.append(("partition.assignment.strategy", since, ", ".join(classes)))
        elif protocol == "KIP-848":
            told = ", ".join(strategies.get(name).remote for name in names)
            rows.append(("group.consumer.assignors", since, told))
    rows += [
        (name.replace("_", "."), since, str(value))
        for since, changed in CHANGES["kafka"].items()
        for name, value in changed.items()
        if name in CAME and version(since) >= version(CAME[name])
    ]
    rows.sort(key=lambda row: (row[0], version(row[1])))
    return pd.DataFrame(rows, columns=["setting", "since", "default"])
