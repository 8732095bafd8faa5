"""One slice of a sweep, played inside a Spark task: scenarios in, batches of records out.

The simulations run in a forked child, because compiled code cannot be interrupted: one that uses up
its time, or takes its process down, costs the child, becomes an error record, and another child
goes on behind it. Where the system cannot fork, they run in the task, without a limit of time.
"""

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from assignlab.local.project import cores, memory
from assignlab.replay import records as rebalances
from assignlab.replay.columns import BESIDE_OPTIMUM, Column
from assignlab.replay.scenarios import Scenario
from assignlab.sweep import load
from assignlab.sweep.child import Child
from assignlab.sweep.question import scenarios_at
from assignlab.sweep.subject import Subject
from assignlab.sweep.workplace import folders_in

COLUMNS = (
    Column("scenario", "int64", "", "number of the scenario in the sweep, from 0"),
    *rebalances.COLUMNS,
)
"""The columns of a sweep's table; ``scenario``, ``strategy`` and ``step`` are its key."""
WRITTEN = pa.schema([("slice", pa.int32())])
NOT_SHARED = "an executor does not see the folder of the sweep"
MEMORY_SHARE = 0.8
ROWS_PER_BATCH = 4096
SECONDS_PER_BATCH = 0.5
SCENARIO_NAMES = [column.name for column in rebalances.SCENARIO_COLUMNS]


def lost(scenario: Scenario, strategy: str, why: str, optimum: bool = False) -> tuple:
    """The error record of a simulation that left no records: step 0, no numbers; with the columns of
    the ``optimum``, if that is asked."""
    values = dict.fromkeys(column.name for column in rebalances.COLUMNS)
    values |= dict(zip(SCENARIO_NAMES, rebalances.scenario_values(scenario), strict=True))
    values |= {"strategy": strategy, "step": 0, "event": scenario.events[0], "error": why}
    return tuple(values.values()) + (None,) * (optimum * len(BESIDE_OPTIMUM))


FAILED = "error is not null and rounds is null and error not like 'NeverStable:%'"
"""Which rows are no rebalance at all. An original that throws did run, and one whose rounds never end
is an answer, too."""
REBALANCES = Subject(
    COLUMNS, ("scenario", "strategy", "step"), rebalances.records, lost, load.load, FAILED
)
"""Rebalances, one after the other: what :func:`assignlab.sweep.driver.run` plays."""
SCHEMA = REBALANCES.schema
WITH_OPTIMUM = REBALANCES._replace(
    columns=COLUMNS + BESIDE_OPTIMUM,
    records=partial(rebalances.records, optimum=True),
    lost=partial(lost, optimum=True),
    load=load.load_with_optimum,
)
"""The same, each answer beside the proven optimum of its group."""


def write_slice(
    batches: Iterable[pa.RecordBatch],
    strategies: Sequence[str],
    limit: float,
    subject: Subject,
    place: str,
) -> Iterator[pa.RecordBatch]:
    """Play one slice and leave its records as one Parquet file: what a sweep hands to ``mapInArrow``.

    ``batches``: one row, columns ``slice`` and ``jobs``: pickled (numbers, costs,
    scenarios), the costly ones first; ``limit``: see :func:`simulate`; ``place``: the folder of the
    :class:`~assignlab.sweep.workplace.Workplace`, shared with the driver. Only the number of the slice
    goes back through Spark: writing here spares the records the way through the JVM, row by row. A
    task that is run twice writes the same file again, whole.
    """
    rows = [row for batch in batches for row in batch.to_pylist()]
    if not rows:
        return
    [row] = rows
    number = row["slice"]
    slices, parts, progress = folders_in(Path(place))
    if not parts.is_dir():
        raise FileNotFoundError(f"{NOT_SHARED}: {parts}")
    part = parts / f"{number}.{uuid4().hex}"
    with pq.ParquetWriter(part, subject.schema) as file:
        for done, cost, batch in play_slice(row["jobs"], strategies, limit, subject):
            report(progress, number, done, cost)
            file.write_batch(batch)
    part.replace(slices / f"slice-{number:05}.parquet")
    yield pa.RecordBatch.from_pydict({"slice": [number]}, schema=WRITTEN)


def send_slice(
    batches: Iterable[pa.RecordBatch], strategies: Sequence[str], limit: float, subject: Subject
) -> Iterator[pa.RecordBatch]:
    """Play slices and hand their records to Spark, where no folder is shared; see :func:`write_slice`."""
    for batch in batches:
        for row in batch.to_pylist():
            for _, _, records in play_slice(row["jobs"], strategies, limit, subject):
                yield records


def play_slice(
    jobs: bytes, strategies: Sequence[str], limit: float, subject: Subject
) -> Iterator[tuple[int, float, pa.RecordBatch]]:
    """Play a slice's jobs: (scenarios done, what they were to cost, records since the last)."""
    numbers, each, scenarios = pickle.loads(jobs)
    for strategy in strategies:
        # Before the children are forked, so that none of them has to.
        subject.load(strategy)
    costs = [0.0, *each.cumsum().tolist()]
    if isinstance(scenarios, dict):  # of a grid, see Grid.picked
        scenarios = list(scenarios_at(scenarios, zip(*scenarios.values(), strict=True)))
    played = list(zip(numbers.tolist(), scenarios, strict=True))
    for done, batch in simulate(played, strategies, limit, subject):
        yield done, costs[done], batch


def report(folder: Path, slice: int, done: int, cost: float) -> None:
    """Leave word of how many scenarios of a slice are done, and what they were to cost."""
    # Nothing depends on it: a folder that the executor cannot write only costs the progress.
    with suppress(OSError):
        part = folder / f".{slice}.{os.getpid()}"
        part.write_text(f"{done} {cost}", encoding="ascii")
        part.replace(folder / str(slice))


def reported(folder: Path) -> tuple[int, float]:
    """How many scenarios are done in all slices, and what they were to cost."""
    reports = [path.read_text(encoding="ascii").split() for path in folder.glob("[0-9]*")]
    return sum(int(done) for done, _ in reports), sum(float(cost) for _, cost in reports)


class Job(NamedTuple):
    """A scenario to play with these strategies; or, with ``lost``, why the one of them cannot.

    ``number``: of the scenario in the sweep.
    """

    number: int
    scenario: Any
    strategies: tuple[str, ...]
    lost: str | None = None


def simulate(
    scenarios: Sequence[tuple[int, Any]],
    strategies: Sequence[str],
    limit: float,
    subject: Subject = REBALANCES,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Play every scenario with every strategy: (scenarios done, records since the last batch).

    ``scenarios``: with their numbers in the sweep. ``limit``: seconds of processor time for
    one strategy on one scenario; they do not pass while other processes compute.
    """
    jobs = [Job(number, scenario, tuple(strategies)) for number, scenario in scenarios]
    if not hasattr(os, "fork"):
        yield from play_jobs(jobs, limit, subject, lambda job: None, lambda seconds: None)
        return
    while jobs:
        played = 0
        with Child(partial(play_jobs, jobs, limit, subject), memory_of_one()) as child:
            for played, batch in child.messages():
                yield len(scenarios) - len({job.number for job in jobs[played:]}), batch
        left = jobs[played:]
        if left:
            guilty = child.mark - played
            if guilty < 0:
                raise RuntimeError(f"the process of a slice ended with code {child.code}")
            left[guilty : guilty + 1] = after_death(left[guilty], child.code, limit)
        jobs = left


def memory_of_one() -> int:
    """The bytes that one simulation may take: of the machine's memory its core's share."""
    return int(MEMORY_SHARE * memory() / cores())


def play_jobs(
    jobs: Sequence[Job],
    limit: float,
    subject: Subject,
    mark: Callable[[int], None],
    timer: Callable[[float], None],
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Play jobs one after the other: (jobs done, records since the last batch)."""
    rows: list[tuple] = []
    sent = time.monotonic()
    for place, job in enumerate(jobs):
        start = (job.number,)
        if job.lost is None:
            mark(place)
            timer(limit)
            rows += [start + row for row in subject.records(job.scenario, job.strategies)]
            timer(0)
        else:
            rows.append(start + subject.lost(job.scenario, job.strategies[0], job.lost))
        now = time.monotonic()
        if len(rows) >= ROWS_PER_BATCH or now - sent >= SECONDS_PER_BATCH:
            yield place + 1, record_batch(rows, subject.schema)
            rows, sent = [], now
    if rows:
        yield len(jobs), record_batch(rows, subject.schema)


def after_death(job: Job, code: int, limit: float) -> list[Job]:
    """The jobs in place of the one whose process ended with ``code``.

    A job of several strategies is played again, one strategy at a time, to find the guilty one.
    """
    if len(job.strategies) > 1:
        return [job._replace(strategies=(strategy,)) for strategy in job.strategies]
    if code == -signal.SIGPROF:
        text = f"TimeLimit: no answer in {limit:g} s of processor time; limit= allows more"
        return [job._replace(lost=text)]
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    likely = "; most likely the machine's memory was full" if code == -signal.SIGKILL else ""
    return [job._replace(lost=f"ProcessDied: its process ended with {how}{likely}")]


def record_batch(rows: Sequence[tuple], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Records as columns."""
    columns = zip(zip(*rows, strict=True), schema, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in columns], schema=schema
    )
