"""Runs a sweep: cuts the work into slices, has Spark play them, and puts the table in its place."""

import heapq
import math
import pickle
import shutil
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa

from assignlab.local.files import write_json
from assignlab.local.project import cores, outputs, run_folder, versions
from assignlab.replay.records import cost
from assignlab.replay.scenarios import Scenario
from assignlab.sweep.progress import Progress
from assignlab.sweep.question import SweepError, check, digest
from assignlab.sweep.slices import REBALANCES
from assignlab.sweep.spark import is_local, session, unpack_shipped
from assignlab.sweep.subject import Subject
from assignlab.sweep.table import Table

SLICES_PER_CORE = 3
SHORTEST_SLICE = 0.25
CLUSTER_SLICE = 10.0
CLUSTER_SLICES = 16
KEY = REBALANCES.key
TIME_LIMIT = 300.0
DESCRIPTION = "_description.json"


def run(
    scenarios: Iterable[Scenario],
    strategies: Sequence[str] | str,
    name: str | None = None,
    limit: float = TIME_LIMIT,
    slices: int | None = None,
) -> "Table":
    """Play every scenario with every strategy on Spark; returns the table of records.

    ``name``: the table is ``<name>.parquet`` in the folder of the run or in ``outputs/sweeps``, in
    place of an earlier one; without a name it is called after what was asked. ``limit``: seconds of
    processor time for one strategy on one scenario; more makes an error row (the one thing in the
    table that depends on the machine). ``slices``: how many tasks the work is cut into.

    A simulation that raises becomes an error row too: :attr:`Table.failures` has them, and a line
    on stderr says how many. Progress goes to stderr, a line every few seconds.
    """
    scenarios = list(scenarios)
    strategies = [strategies] if isinstance(strategies, str) else list(strategies)
    check(scenarios, strategies, name, limit)
    costs = [cost(scenario, len(strategies)) for scenario in scenarios]
    name = name or "sweep-" + digest(scenarios, strategies)
    return play_on_spark(Work(scenarios, strategies, costs, limit, REBALANCES), name, slices)


class Work(NamedTuple):
    """What Spark is to play, whatever its subject.

    ``scenarios``: what ``subject`` plays, of a class that the executors can import; ``costs``:
    about how many seconds each takes; ``limit``: see :func:`run`.
    """

    scenarios: Sequence
    strategies: Sequence[str]
    costs: Sequence[float]
    limit: float
    subject: Subject


def play_on_spark(work: Work, name: str, slices: int | None = None) -> "Table":
    """Have Spark play the work into the table of this name; see :func:`run`."""
    spark = session()
    began = time.monotonic()
    costs = work.costs
    dealt = deal(costs, slices or slice_count(spark, sum(costs), len(costs)))
    path = folder() / f"{name}.parquet"
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    (part / "progress").mkdir(parents=True)
    try:
        with Progress(part / "progress", costs):
            failed = write(spark, work, dealt, part)
        seconds = round(time.monotonic() - began, 3)
        write_json(part / "table" / DESCRIPTION, describe(work, seconds))
        take_place(part / "table", path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    table = Table(path, work.subject)
    if failed:
        table.tell_failures()
    return table


def folder() -> Path:
    """Where tables go: the folder of the notebook's run, or ``outputs/sweeps`` of the project."""
    return run_folder() or outputs() / "sweeps"


def slice_count(spark, cost: float, scenarios: int) -> int:
    """How many tasks to cut a sweep into that should take ``cost`` seconds on one core."""
    if is_local(spark):
        wanted = SLICES_PER_CORE * cores()
    else:
        # A cluster does not say how large it is: tasks long enough to be worth their start.
        wanted = max(CLUSTER_SLICES, math.ceil(cost / CLUSTER_SLICE))
    return min(scenarios, wanted, math.ceil(cost / SHORTEST_SLICE))


def deal(costs: Sequence[float], slices: int) -> list[int]:
    """The slice of every scenario, so that all slices cost about the same: longest first, each to
    the slice that has least.

    >>> deal([1.0, 5.0, 2.0, 2.0], 2)
    [1, 0, 1, 1]
    """
    loads = [(0.0, number) for number in range(slices)]
    dealt = [0] * len(costs)
    for i in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        load, number = heapq.heappop(loads)
        dealt[i] = number
        heapq.heappush(loads, (load + costs[i], number))
    return dealt


def write(spark, work: Work, dealt: Sequence[int], part: Path) -> int:
    """Let Spark play the scenarios; every task writes its slice of the table to ``part/table``.

    Returns how many simulations failed.
    """
    slices: list[list[tuple]] = [[] for _ in range(max(dealt) + 1)]
    for i in sorted(range(len(dealt)), key=lambda i: (-work.costs[i], i)):
        slices[dealt[i]].append((i, work.costs[i], work.scenarios[i]))
    jobs = pa.table(
        {
            "slice": pa.array(range(len(slices)), pa.int32()),
            "jobs": pa.array([pickle.dumps(slice) for slice in slices], pa.binary()),
        }
    )
    progress, table = str(part / "progress"), part / "table"
    table.mkdir()
    place = str(table)
    unpack = unpack_shipped()
    strategies, limit, subject = work.strategies, work.limit, pickle.dumps(work.subject)

    def play(batches):
        unpack()
        # Imported where it runs: an executor may know the package from the zip only.
        from assignlab.sweep.slices import write_slice

        yield from write_slice(batches, strategies, limit, progress, place, pickle.loads(subject))

    done = (
        spark.createDataFrame(jobs)
        .repartitionById(len(slices), "slice")
        .mapInArrow(play, "slice int, failed long")
        .collect()
    )
    files = {file.name for file in table.glob("slice-*.parquet")}
    if len(done) != len(slices) or len(files) != len(done):
        raise SweepError(f"{len(slices)} slices were dealt, {len(files)} files are in {table}")
    return sum(row["failed"] for row in done)


def take_place(new: Path, path: Path) -> None:
    """Let the folder ``new`` take the place of ``path``."""
    old = new.with_name("old")
    if path.exists():
        path.rename(old)
    new.rename(path)


def describe(work: Work, seconds: float) -> dict:
    """What lies beside a table: how it was made, and its columns."""
    return {
        "scenarios": len(work.scenarios),
        "strategies": work.strategies,
        "seconds": seconds,
        "versions": versions(),
        "columns": [column._asdict() for column in work.subject.columns],
    }
