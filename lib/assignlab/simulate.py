"""One slice of a sweep, played inside a Spark task: scenarios in, batches of records out.

The simulations run in a forked child, because compiled code cannot be interrupted: one that uses up
its time, or takes its process down, costs the child, becomes an error record, and another child
goes on behind it. Where the system cannot fork, they run in the task, without a limit of time.
"""

import mmap
import os
import pickle
import signal
import struct
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import accumulate
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from assignlab import rebalance, warm
from assignlab.metrics import Column
from assignlab.scenarios import Scenario

COLUMNS = (
    Column("scenario", "int64", "", "number of the scenario in the sweep, from 0"),
    *rebalance.COLUMNS,
)
"""The columns of a sweep's table; ``scenario``, ``strategy`` and ``step`` are its key."""

TYPES = {"string": pa.string(), "int64": pa.int64(), "float64": pa.float64(), "bool": pa.bool_()}
SCHEMA = pa.schema([(column.name, TYPES[column.type]) for column in COLUMNS])
WRITTEN = pa.schema([("slice", pa.int32()), ("failed", pa.int64())])
ROWS_PER_BATCH = 4096
SECONDS_PER_BATCH = 0.5
MARK = struct.Struct("q")
SCENARIO_NAMES = [column.name for column in rebalance.SCENARIO_COLUMNS]


class Subject(NamedTuple):
    """What a sweep plays, and which table it makes of it; functions of modules, so that it travels.

    ``columns``: of a record, ``scenario`` first, with the ``key`` and ``error`` among them;
    ``records(scenario, strategies)``: records without their first column; ``lost(scenario,
    strategy, why)``: the error record likewise; ``load(strategy)``: have the code that a strategy
    needs in this process.
    """

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    records: Callable[[Any, Sequence[str]], Iterable[tuple]]
    lost: Callable[[Any, str, str], tuple]
    load: Callable[[str], None]

    @property
    def schema(self) -> pa.Schema:
        """The columns for Arrow."""
        return pa.schema([(column.name, TYPES[column.type]) for column in self.columns])


def records(scenario: Scenario, strategies: Sequence[str]) -> Iterable[tuple]:
    """One record per rebalance of a scenario and strategy."""
    return rebalance.records(scenario, strategies)


def lost(scenario: Scenario, strategy: str, why: str) -> tuple:
    """The error record of a simulation that left no records: step 0, no numbers."""
    values = dict.fromkeys(SCHEMA.names[1:])
    values |= dict(zip(SCENARIO_NAMES, rebalance.scenario_values(scenario), strict=True))
    values |= {"strategy": strategy, "step": 0, "event": scenario.events[0], "error": why}
    return tuple(values.values())


REBALANCES = Subject(COLUMNS, ("scenario", "strategy", "step"), records, lost, warm.load)
"""Rebalances, one after the other: what :func:`assignlab.sweep.run` plays."""


def write_slice(
    batches: Iterable[pa.RecordBatch],
    strategies: Sequence[str],
    limit: float,
    progress: str,
    table: str,
    subject: Subject = REBALANCES,
) -> Iterator[pa.RecordBatch]:
    """Play one slice and leave its records as one Parquet file: what a sweep hands to ``mapInArrow``.

    ``batches``: one row, columns ``slice`` and ``jobs``: pickled (number, cost, scenario), the
    costly ones first; ``limit``: see :func:`simulate`; ``progress``: the folder to :func:`report`
    to; ``table``: the folder of the table, which driver and executors share. Only the number of
    error records goes back through Spark: writing here spares the records the way through the JVM,
    row by row. A task that is run twice writes the same file again, whole.
    """
    rows = [row for batch in batches for row in batch.to_pylist()]
    if not rows:
        return
    [row] = rows
    number, jobs = row["slice"], pickle.loads(row["jobs"])
    for strategy in strategies:
        # Before the children are forked, so that none of them has to.
        subject.load(strategy)
    costs = list(accumulate(cost for _, cost, _ in jobs))
    failed = 0
    part = Path(table) / f".{number}.{uuid4().hex}.part"
    with pq.ParquetWriter(part, subject.schema) as file:
        played = [(scenario, what) for scenario, _, what in jobs]
        for done, batch in simulate(played, strategies, limit, subject):
            report(Path(progress), number, done, costs[done - 1] if done else 0.0)
            file.write_batch(batch)
            failed += batch.num_rows - batch.column("error").null_count
    part.replace(part.with_name(f"slice-{number:05}.parquet"))
    yield pa.RecordBatch.from_pydict({"slice": [number], "failed": [failed]}, schema=WRITTEN)


def report(folder: Path, slice: int, done: int, cost: float) -> None:
    """Leave word of how many scenarios of a slice are done, and what they were to cost."""
    # Nothing depends on it: a folder that the executor cannot write only costs the progress.
    with suppress(OSError):
        part = folder / f".{slice}.{os.getpid()}"
        part.write_text(f"{done} {cost}")
        part.replace(folder / str(slice))


def reported(folder: Path) -> tuple[int, float]:
    """How many scenarios are done in all slices, and what they were to cost."""
    reports = [path.read_text().split() for path in folder.glob("[0-9]*")]
    return sum(int(done) for done, _ in reports), sum(float(cost) for _, cost in reports)


class Turn(NamedTuple):
    """A scenario to play with these strategies; or, with ``lost``, why the one of them cannot."""

    number: int
    scenario: Any
    strategies: tuple[str, ...]
    lost: str | None = None


def simulate(
    jobs: Sequence[tuple[int, Any]],
    strategies: Sequence[str],
    limit: float,
    subject: Subject = REBALANCES,
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Play every scenario with every strategy: (scenarios done, records since the last batch).

    ``jobs``: scenarios with their numbers in the sweep. ``limit``: seconds of processor time for
    one strategy on one scenario; they do not pass while other processes compute.
    """
    turns = [Turn(number, scenario, tuple(strategies)) for number, scenario in jobs]
    if not hasattr(os, "fork"):
        yield from play(turns, limit, subject, lambda turn: None, lambda seconds: None)
        return
    while turns:
        played = 0
        with Child(
            lambda mark, timer, turns=turns: play(turns, limit, subject, mark, timer)
        ) as child:
            for played, batch in child.messages():
                yield len(jobs) - len({turn.number for turn in turns[played:]}), batch
        left = turns[played:]
        if left:
            guilty = child.mark - played
            if guilty < 0:
                raise RuntimeError(f"the process of a slice ended with code {child.code}")
            left[guilty : guilty + 1] = again(left[guilty], child.code, limit)
        turns = left


def play(
    turns: Sequence[Turn],
    limit: float,
    subject: Subject,
    mark: Callable[[int], None],
    timer: Callable[[float], None],
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Play turns one after the other: (turns done, records since the last batch)."""
    rows: list[tuple] = []
    sent = time.monotonic()
    for place, turn in enumerate(turns):
        start = (turn.number,)
        if turn.lost is None:
            mark(place)
            timer(limit)
            rows += [start + row for row in subject.records(turn.scenario, turn.strategies)]
            timer(0)
        else:
            rows.append(start + subject.lost(turn.scenario, turn.strategies[0], turn.lost))
        now = time.monotonic()
        if len(rows) >= ROWS_PER_BATCH or now - sent >= SECONDS_PER_BATCH:
            yield place + 1, record_batch(rows, subject.schema)
            rows, sent = [], now
    if rows:
        yield len(turns), record_batch(rows, subject.schema)


def again(turn: Turn, code: int, limit: float) -> list[Turn]:
    """What to do after the process of a turn ended with ``code``.

    A turn of several strategies is played again, one strategy at a time, to find the guilty one.
    """
    if len(turn.strategies) > 1:
        return [turn._replace(strategies=(strategy,)) for strategy in turn.strategies]
    if code == -signal.SIGPROF:
        return [turn._replace(lost=f"TimeLimit: no answer in {limit:g} s of processor time")]
    how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
    return [turn._replace(lost=f"ProcessDied: its process ended with {how}")]


def record_batch(rows: Sequence[tuple], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Records as columns."""
    columns = zip(zip(*rows, strict=True), schema, strict=True)
    return pa.RecordBatch.from_arrays(
        [pa.array(column, field.type) for column, field in columns], schema=schema
    )


class Child:
    """A forked process that sends what ``produce(mark, timer)`` yields.

    ``mark(n)`` leaves a number that this process can read when the child is gone; ``timer(seconds)``
    has the system end the child after so much processor time, 0 stops the clock. As a context it
    ends the child when it is left.
    """

    def __init__(self, produce: Callable[[Callable, Callable], Iterable]):
        self._shared = mmap.mmap(-1, MARK.size)
        self._set_mark(-1)
        self._reader, writer = Pipe(duplex=False)
        self._pid = os.fork()
        if self._pid == 0:
            self._reader.close()
            self._run(produce, writer)
        writer.close()
        self.code: int | None = None

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        """``code``: the child's exit code, negative for the signal that ended it."""
        self._reader.close()
        os.kill(self._pid, signal.SIGKILL)
        self.code = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])

    @property
    def mark(self) -> int:
        """The last mark of the child, -1 if it left none."""
        return MARK.unpack_from(self._shared)[0]

    def messages(self) -> Iterator:
        """What the child sends, until it ends; what it raises is raised here."""
        while True:
            try:
                message = self._reader.recv()
            except (EOFError, ConnectionResetError):
                return
            if isinstance(message, str):
                raise RuntimeError(f"a slice failed:\n{message}")
            yield message

    def _run(self, produce, writer: Connection) -> None:
        code = 1
        try:
            signal.signal(signal.SIGPROF, signal.SIG_DFL)
            for message in produce(self._set_mark, self._set_timer):
                writer.send(message)
            code = 0
        except BrokenPipeError:
            pass  # nobody listens any more: the task was stopped
        except BaseException:
            with suppress(OSError):
                writer.send(traceback.format_exc())
        finally:
            os._exit(code)

    def _set_mark(self, number: int) -> None:
        MARK.pack_into(self._shared, 0, number)

    def _set_timer(self, seconds: float) -> None:
        signal.setitimer(signal.ITIMER_PROF, seconds)
