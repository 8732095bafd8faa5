"""Sweeps: a grid of scenarios, every strategy on each, one flat record per simulated rebalance.

    from assignlab import sweep

    scenarios = sweep.grid(members=[5, 10, 20], topics=range(1, 41), seed=range(20))
    table = sweep.run(scenarios, strategies=["range", "sticky"])
    frame = table.summary(by=["strategy", "members", "topics"], measures=["gap"])

`run` refuses what it does not know before a JVM starts, deals the scenarios into slices of about
equal cost, lets Spark play them (:mod:`assignlab.simulate`) and leaves one Parquet table, whole or
not at all. The table does not depend on the number of cores or slices, nor on the order of tasks.
Frames that come back to pandas are aggregated by Spark first, so they stay small.
"""

import dataclasses
import hashlib
import heapq
import json
import math
import os
import pickle
import re
import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import numpy as np
import pyarrow as pa

from assignlab import assignors
from assignlab.errors import AssignlabError, UnknownName
from assignlab.metrics import Column
from assignlab.rebalance import cost
from assignlab.scenarios import Scenario
from assignlab.simulate import REBALANCES, SCENARIO_NAMES, Subject, reported
from assignlab.spark import cores, is_local, session, unpack_shipped
from assignlab.study import FOLDER_VARIABLE, project, versions, write_json

if TYPE_CHECKING:
    import pandas as pd

SLICES_PER_CORE = 3
SHORTEST_SLICE = 0.25
CLUSTER_SLICE = 10.0
CLUSTER_SLICES = 16
PROGRESS_EVERY = 2.0
FAILURES_SHOWN = 3
FAILURES_KEPT = 1000
FRAME_ROWS = 1_000_000
KEY = REBALANCES.key
FIELDS = {field.name: field.default for field in dataclasses.fields(Scenario)}
TIME_LIMIT = 300.0
DESCRIPTION = "_description.json"
SPARK_TYPES = {"string": "string", "int64": "bigint", "float64": "double", "bool": "boolean"}


class SweepError(AssignlabError):
    """A sweep is refused: no scenario, no strategy, one of them given twice."""


def grid(**fields) -> list[Scenario]:
    """Every combination of the fields' values, the last field changing fastest.

    A field is one of :class:`~assignlab.scenarios.Scenario`; its value is one value or, for an
    axis, a list, range or array of them. One history of ``events`` is a list or tuple of words,
    several are a list of those. A wrong field raises :class:`~assignlab.errors.UnknownName`, which
    says the nearest right one, and a wrong value :class:`SweepError`.

    >>> [(s.members, s.seed) for s in grid(members=[2, 3], topics=4, seed=range(2))]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    for name in fields:
        if name not in FIELDS:
            raise UnknownName("scenario field", name, FIELDS)
    axes = [[checked(name, one) for one in axis(name, value)] for name, value in fields.items()]
    try:
        return [Scenario(**dict(zip(fields, point, strict=True))) for point in product(*axes)]
    except ValueError as error:
        raise SweepError(str(error)) from None


def axis(name: str, value) -> list:
    """The values of one field of a grid."""
    if name == "events" and isinstance(value, list | tuple):
        return [value] if all(isinstance(word, str) for word in value) else list(value)
    return list(value) if isinstance(value, list | range | np.ndarray) else [value]


def checked(name: str, value):
    """One value of a field, refused if it is not of the field's kind."""
    kind = type(FIELDS[name])
    if kind is tuple and isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is not kind:
        words = {int: "a whole number", str: "a word", bool: "True or False"}
        raise SweepError(f"{name}: expected {words.get(kind, 'a list of words')}, got {value!r}")
    return value


def run(
    scenarios: Iterable[Scenario],
    strategies: Sequence[str],
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
    scenarios, strategies = list(scenarios), list(strategies)
    check(scenarios, strategies, name, limit)
    costs = [cost(scenario, len(strategies)) for scenario in scenarios]
    name = name or "sweep-" + digest(scenarios, strategies)
    return spread(scenarios, strategies, costs, name, limit, slices, REBALANCES)


def spread(
    scenarios: Sequence, strategies: Sequence[str], costs: Sequence[float], name: str, limit: float,
    slices: int | None, subject: Subject,
) -> "Table":  # fmt: skip
    """Have Spark play what was asked, whatever its subject; see :func:`run`.

    ``scenarios``: what ``subject`` plays, of a class that the executors can import; ``costs``:
    about how many seconds each takes.
    """
    spark = session()
    began = time.monotonic()
    dealt = deal(costs, slices or slice_count(spark, sum(costs), len(costs)))
    path = folder() / f"{name}.parquet"
    part = path.with_name(f".{path.name}.{uuid4().hex[:8]}.part")
    (part / "progress").mkdir(parents=True)
    try:
        with Progress(part / "progress", costs):
            failed = write(spark, scenarios, strategies, limit, dealt, costs, part, subject)
        seconds = round(time.monotonic() - began, 3)
        description = describe(scenarios, strategies, seconds, subject.columns)
        write_json(part / "table" / DESCRIPTION, description)
        take_place(part / "table", path)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    table = Table(path, subject)
    if failed:
        table.tell_failures()
    return table


def check(scenarios: Sequence[Scenario], strategies: Sequence[str], name, limit: float) -> None:
    """Refuse what cannot be played, before a JVM starts."""
    for kind, given in (("scenario", scenarios), ("strategy", strategies)):
        if not given:
            raise SweepError(f"a sweep needs at least one {kind}")
    for scenario in scenarios:
        if not isinstance(scenario, Scenario):
            raise SweepError(f"not a Scenario: {scenario!r}")
    for strategy in strategies:
        assignors.get(strategy)
    for kind, given in (("scenario", scenarios), ("strategy", strategies)):
        if len(set(given)) < len(given):
            twice = Counter(given).most_common(1)[0][0]
            raise SweepError(f"{kind} {twice!r} is given twice")
    check_table(name, limit)


def check_table(name: str | None, limit: float) -> None:
    """Refuse a name that no table can have, and a limit of time that is none."""
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise SweepError(f"not a name for a table (letters, digits, . _ -): {name!r}")
    if not limit > 0:
        raise SweepError(f"limit: expected a number of seconds above 0, got {limit!r}")


def folder() -> Path:
    """Where tables go: the folder of the notebook's run, or ``outputs/sweeps`` of the project."""
    run_folder = os.environ.get(FOLDER_VARIABLE)
    return Path(run_folder).resolve() if run_folder else project() / "outputs" / "sweeps"


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


def write(spark, scenarios, strategies, limit, dealt, costs, part: Path, subject: Subject) -> int:
    """Let Spark play the scenarios; every task writes its slice of the table to ``part/table``.

    Returns how many simulations failed.
    """
    slices: list[list[tuple]] = [[] for _ in range(max(dealt) + 1)]
    for i in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        slices[dealt[i]].append((i, costs[i], scenarios[i]))
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
    pickled = pickle.dumps(subject)

    def play(batches):
        unpack()
        # Imported where it runs: an executor may know the package from the zip only.
        from assignlab.simulate import write_slice

        yield from write_slice(batches, strategies, limit, progress, place, pickle.loads(pickled))

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


def digest(scenarios: Sequence[Scenario], strategies: Sequence[str]) -> str:
    """A short name for what was asked: the same question, the same name."""
    return digest_of([[dataclasses.astuple(scenario) for scenario in scenarios], strategies])


def digest_of(asked) -> str:
    """A short name for anything that JSON can hold."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]


def describe(
    scenarios: Sequence, strategies: Sequence[str], seconds: float, columns: Sequence[Column]
) -> dict:
    """What lies beside a table: how it was made, and its columns."""
    return {
        "scenarios": len(scenarios),
        "strategies": strategies,
        "seconds": seconds,
        "versions": versions(),
        "columns": [column._asdict() for column in columns],
    }


class Progress:
    """Tells on stderr how far a sweep is, every few seconds, while it is entered.

    ``place``: the folder where the tasks leave their counts (see :func:`assignlab.simulate.report`);
    ``costs``: predicted, per scenario. Time left is judged by cost and not by number.
    """

    def __init__(self, place: Path, costs: Sequence[float]):
        self._place = place
        self._scenarios = len(costs)
        self._cost = sum(costs)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._over.set()
        self._thread.join()
        if failure[0] is None:
            self._say(f"{time.monotonic() - self._began:.1f} s", self._scenarios, 1.0)

    def _watch(self):
        while not self._over.wait(PROGRESS_EVERY):
            done, cost = reported(self._place)
            share = min(cost / self._cost, 1.0)
            if done:
                left = (time.monotonic() - self._began) * (1 - share) / share
                self._say(f"{left:.0f} s left", done, share)

    def _say(self, text: str, done: int, share: float):
        line = f"sweep: {done}/{self._scenarios} scenarios, {share:.0%}, {text}"
        print(line, file=sys.stderr, flush=True)


class Table:
    """The records of a sweep: a Parquet folder, one row per simulated rebalance and strategy.

    :data:`assignlab.simulate.COLUMNS` says what the columns mean; ``scenario``, ``strategy`` and
    ``step`` are the key. Sweeps of another ``subject`` have its columns and its key.
    """

    def __init__(self, path: Path, subject: Subject = REBALANCES):
        self.path = Path(path)
        self.subject = subject

    def __repr__(self):
        return f"Table({str(self.path)!r})"

    def records(self):
        """All rows, as a Spark DataFrame."""
        schema = ", ".join(f"{name} {SPARK_TYPES[kind]}" for name, kind, *_ in self.subject.columns)
        rows = session().read.schema(schema).parquet(str(self.path))
        return rows.select(*[column.name for column in self.subject.columns])

    def summary(
        self,
        by: Sequence[str],
        measures: Sequence[str],
        where: str | None = None,
        whole_histories: bool = False,
        band: tuple[float, float] = (0.05, 0.95),
    ) -> "pd.DataFrame":
        """Aggregate in Spark; returns one row per combination of the columns ``by``, sorted.

        Columns: ``by``; for each measure ``m``: ``m`` (the mean), ``m_low``, ``m_median`` and
        ``m_high`` (quantiles, ``band`` says which are low and high), nulls left out; ``runs`` (how
        many rows went in) and ``failed`` (how many simulations gave none). ``where``: which rows,
        as an SQL condition, such as ``"step > 0"``. ``whole_histories``: first add each measure up
        over the steps of every history.
        """
        from pyspark.sql import functions as F

        self._check(*by, *measures)
        rows = self.records()
        if where:
            rows = rows.where(where)
        if whole_histories:
            key = dict.fromkeys([*by, "scenario", "strategy"])
            sums = [F.sum(measure).alias(measure) for measure in measures]
            rows = rows.groupBy(*key).agg(*sums, F.first("error", ignorenulls=True).alias("error"))
        columns = []
        for measure in measures:
            quantiles = F.percentile(measure, [band[0], 0.5, band[1]])
            columns.append(exact_mean(measure).alias(measure))
            for i, suffix in enumerate(("low", "median", "high")):
                columns.append(quantiles[i].alias(f"{measure}_{suffix}"))
        columns.append(F.count_if(F.isnull("error")).alias("runs"))
        columns.append(F.count("error").alias("failed"))
        return rows.groupBy(*by).agg(*columns).orderBy(*by).toPandas()

    def frame(self, columns: Sequence[str] | None = None, where: str | None = None):
        """Rows as a pandas frame, sorted by the key; for tables that are small or made so.

        ``columns``: which, all where None; ``where``: which rows, as an SQL condition. Raises
        :class:`SweepError` above a million rows: aggregate those with :meth:`summary`.
        """
        self._check(*(columns or ()))
        rows = self.records()
        if where:
            rows = rows.where(where)
        rows = (
            rows.orderBy(*self.subject.key)
            .limit(FRAME_ROWS + 1)
            .select(*(columns or "*"))
            .toPandas()
        )
        if len(rows) > FRAME_ROWS:
            raise SweepError(f"more than {FRAME_ROWS} rows: aggregate them with summary()")
        return rows

    @cached_property
    def failures(self) -> "pd.DataFrame":
        """The simulations that gave no records, the first thousand: scenario, strategy, reason."""
        key = self.subject.key
        rows = self.records().where("error is not null").orderBy(*key).limit(FAILURES_KEPT)
        facts = [name for name in ("event", "error", *SCENARIO_NAMES) if self._known(name)]
        facts = [name for name in facts if name not in key]
        return rows.select(*key, *facts).toPandas()

    def tell_failures(self):
        """Say on stderr how many simulations failed, and how the first did."""
        many = "at least " if len(self.failures) == FAILURES_KEPT else ""
        print(f"sweep: {many}{len(self.failures)} simulations failed; the first:", file=sys.stderr)
        for row in self.failures.head(FAILURES_SHOWN).to_dict("records"):
            print(f"  {row.get('strategy', row['scenario'])}: {row['error']}", file=sys.stderr)

    def _known(self, name: str) -> bool:
        return any(column.name == name for column in self.subject.columns)

    def _check(self, *columns: str):
        known = [column.name for column in self.subject.columns]
        for column in columns:
            if not self._known(column):
                raise UnknownName("column", column, known)


def exact_mean(column: str):
    """The mean, summed in order of size: the same to the last bit whatever Spark's order is."""
    from pyspark.sql import functions as F

    ordered = F.array_sort(F.collect_list(F.col(column).cast("double")))
    total = F.aggregate(ordered, F.lit(0.0), lambda sum, value: sum + value)
    return F.when(F.size(ordered) > 0, total / F.size(ordered))
