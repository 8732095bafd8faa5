"""The table of a sweep, aggregated by Spark before it becomes a pandas frame."""

import html
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow import ArrowException
from pyarrow.parquet import read_metadata

from assignlab.errors import refuse_unknown
from assignlab.local.project import is_uri
from assignlab.sweep.aggregate import extent, extent_of, summarise, sums_over
from assignlab.sweep.question import SweepError, words
from assignlab.sweep.slices import REBALANCES, SCENARIO_NAMES, WITH_OPTIMUM
from assignlab.sweep.spark import answering, session
from assignlab.sweep.store import ensure_whole, literal, loaded, reaching, reader
from assignlab.sweep.subject import Subject
from assignlab.sweep.workplace import DESCRIPTION, errors_in

if TYPE_CHECKING:
    import pandas as pd

ERRORS_SHOWN = 3
ROWS_SHOWN = 10
ERRORS_KEPT = 1000
FRAME_ROWS = 1_000_000


@contextmanager
def refusing(condition: str | None, subject: Subject) -> Iterator[None]:
    """What Spark says of a condition on rows that is none becomes one line."""
    from pyspark import errors
    from pyspark.logger import PySparkLogger

    # Spark logs the whole of Java's stack, too; the one line below says it all.
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger") if condition else ():
        PySparkLogger.getLogger(name).setLevel("CRITICAL")
    try:
        with warnings.catch_warnings():
            # and pandas' bridge warns of it in ten lines
            warnings.filterwarnings("ignore", message="toPandas attempted Arrow")
            yield
    except (
        errors.AnalysisException, errors.ArithmeticException, errors.DateTimeException,
        errors.ArrayIndexOutOfBoundsException, errors.IllegalArgumentException,
    ) as error:  # fmt: skip
        if not condition:
            raise
        why = next(filter(None, str(error).strip().splitlines()), "").split(" SQLSTATE")[0]
        known = ", ".join(subject.schema.names)
        raise SweepError(f"where: {condition!r}: {why} Columns: {known}") from None
    except Exception as error:
        if found := re.search(r"PatternSyntaxException: ([^\n]+)", str(error)):
            raise SweepError(f"where: {condition!r}: no regular expression: {found[1]}") from None
        raise


def check_band(band: Sequence[float] | None) -> tuple[float, float] | None:
    """The two shares between 0 and 1, refused if they are none."""
    if band is None:
        return None
    try:
        low, high = map(float, band)
    except (TypeError, ValueError):
        low, high = 1, 0
    if not 0 <= low <= high <= 1:
        raise SweepError(f"band: expected two shares like (0.05, 0.95), got {band!r}")
    return low, high


def _made(path: Path | str) -> tuple[int, ...]:
    """Tells a local table from one that takes its place; empty where there is none, or a store."""
    if isinstance(path, str) or not path.is_dir():
        return ()
    found = path.stat()
    return found.st_dev, found.st_ino, found.st_mtime_ns


def _stored(path: str, schema: str | None = None):
    """All rows of a table in a store, which has to be whole."""
    spark = session()
    ensure_whole(spark, path)
    return reader(spark, schema).parquet(literal(spark, path))


class Table:
    """The records of a sweep: a Parquet folder, one row per simulated rebalance and strategy.

    :data:`assignlab.sweep.slices.COLUMNS` says what the columns mean; ``scenario``, ``strategy``
    and ``step`` are the key. Sweeps of another ``subject`` have its columns and its key.
    """

    def __init__(self, path: Path | str, subject: Subject | None = None):
        if isinstance(path, str) and is_uri(path):
            self.path: Path | str = path.rstrip("/")
        else:
            self.path = Path(os.path.expanduser(path))
        if subject is not None:
            self.subject = subject
        self._made = _made(self.path)

    @cached_property
    def subject(self) -> Subject:
        """What the sweep was about, where nobody said: rebalances, and the files tell whether they
        stand beside the optimum."""
        if isinstance(self.path, str):
            with answering(session()), reaching(self.path):
                known = _stored(self.path).columns
        else:
            known = self._ensure_there(self.path)[0].schema.names
        return WITH_OPTIMUM if set(WITH_OPTIMUM.schema.names) <= set(known) else REBALANCES

    def __len__(self):
        if isinstance(self.path, str):
            rows = self.records()
            with answering(rows.sparkSession), reaching(self.path):
                return rows.count()
        return sum(found.num_rows for found in self._ensure_there(self.path))

    def __repr__(self):
        try:
            rows = f"{len(self):,} rows, {len(self.subject.columns)} columns"
        except SweepError as error:
            rows = str(error)
        return f"Table({str(self.path)!r}): {rows}"

    def _repr_html_(self):
        """Its first rows, for notebooks."""
        rows = self.records().orderBy(*self.subject.key).limit(ROWS_SHOWN)
        with answering(rows.sparkSession), reaching(str(self.path)):
            rows = rows.toPandas()
        count = len(self)
        told = f"the first {ROWS_SHOWN} of {count:,} rows" if count > ROWS_SHOWN else "all"
        page = rows.dropna(axis="columns", how="all").to_html(index=False)
        return f"<p>{html.escape(str(self.path))}, {told}:</p>{page}"

    def records(self):
        """All rows, as a Spark DataFrame."""
        return self._rows(())

    def _rows(self, columns: Iterable[str]):
        """All rows of a table that has to have these columns."""
        if isinstance(self.path, str):
            return _stored(self.path, self.subject.spark_schema)
        spark = session()
        source = reader(spark, self.subject.spark_schema)
        self._ensure_there(self.path, columns)
        # Spark takes a path without a scheme to its default file system.
        rows = source.parquet(literal(spark, f"file:{self.path.absolute()}"))
        return rows.select(*self.subject.schema.names)

    def _ensure_there(self, folder: Path, columns: Iterable[str] = ()) -> list:
        """What the files of a local table say of themselves; raises where it is not there, not whole, or
        lacks one of the columns."""
        if not folder.is_dir():
            raise SweepError(f"no table at {folder}")
        self._made = self._made or _made(folder)
        if self._made != _made(folder):
            raise SweepError(
                f"{folder} is another sweep's table by now: ask this one again, or under another name"
            )
        if folder.with_name(f"{folder.name}.state").is_dir():  # written as a store
            ensure_whole(session(), f"file:{folder.absolute()}")
        files, described = list(folder.glob("*.parquet")), folder / DESCRIPTION
        if not files:
            raise SweepError(f"no table of a sweep at {folder}")
        expected = loaded(described.read_bytes()).get("slices", 0) if described.exists() else 0
        if len(files) < expected:
            raise SweepError(
                f"no whole table at {folder}: {len(files)} of its {expected} files are there; copy "
                "them all, or run its sweep again"
            )
        told = []
        for file in files:
            try:
                told.append(read_metadata(file))
            except (OSError, ArrowException):
                raise SweepError(
                    f"{file} cannot be read, or is damaged: run its sweep again"
                ) from None
            known = told[-1].schema.names
            if missing := [column for column in columns if column not in known]:
                raise SweepError(f"{file} has no column {missing[0]!r}: it is of another sweep")
        return told

    def summary(
        self,
        by: Sequence[str] | str,
        measures: Sequence[str] | str,
        where: str | None = None,
        whole_histories: bool = False,
        band: tuple[float, float] | None = None,
    ) -> "pd.DataFrame":
        """Aggregate in Spark; returns one row per combination of the columns ``by``, sorted; one of
        all rows where ``by`` is empty.

        Columns: ``by``; for each measure ``m`` its mean, nulls left out; ``runs`` (how many rows
        went in) and ``failed`` (how many more ended in an error). ``where``: which rows, as an SQL
        condition, such as ``"step > 0"``. ``whole_histories``: first add each measure up over the
        steps of every history; one that broke off has no sums and counts as failed. ``band``: also
        the quantiles ``m_low``, ``m_median`` and ``m_high`` behind each mean; ``(0.05, 0.95)`` asks
        for the values that 5 % and 95 % stay below.

        Means and quantiles are exact, at any size: :mod:`assignlab.sweep.aggregate` says how.
        """
        by, measures = self._columns("by", by), self._columns("measures", measures)
        for name in measures:
            if name in by:
                raise SweepError(f"measures: {name} is in by, too: its mean is itself")
            if next(c.type for c in self.subject.columns if c.name == name) == "string":
                raise SweepError(f"measures: {name} holds words, which have no mean")
        band = check_band(band)
        everything = self._rows([*by, *measures])
        with (
            answering(everything.sparkSession),
            reaching(str(self.path)),
            refusing(where, self.subject),
        ):
            if isinstance(self.path, str):
                size = extent_of(everything, measures)
            else:
                size = extent(self.path.glob("*.parquet"), everything, measures)
            rows = self._where(everything, where)
            if whole_histories:
                key = dict.fromkeys([*by, "scenario", "strategy"])
                rows, size = sums_over(rows, [*key], measures, size), size.summed()
            return summarise(rows, by, measures, band, size)

    def frame(self, columns: Sequence[str] | str | None = None, where: str | None = None):
        """Rows as a pandas frame, sorted by the key; for tables that are small or made so.

        ``columns``: which, all where None; ``where``: which rows, as an SQL condition. Raises
        :class:`SweepError` above a million rows: aggregate those with :meth:`summary`.
        """
        columns = self._columns("columns", () if columns is None else columns)
        rows = self._where(self._rows([*self.subject.key, *columns]), where)
        rows = rows.orderBy(*self.subject.key).limit(FRAME_ROWS + 1).select(*(columns or "*"))
        with answering(rows.sparkSession), reaching(str(self.path)), refusing(where, self.subject):
            rows = rows.toPandas()
        if len(rows) > FRAME_ROWS:
            raise SweepError(f"more than {FRAME_ROWS} rows: aggregate them with summary()")
        return rows

    @cached_property
    def failures(self) -> "pd.DataFrame":
        """The simulations that failed, the first thousand: scenario, strategy, reason."""
        return self._errors(self.subject.failed)

    @cached_property
    def unanswered(self) -> "pd.DataFrame":
        """The rebalances that the original does not answer, because it throws or never ends, the
        first thousand."""
        return self._errors(f"not ({self.subject.failed})")

    def _errors(self, where: str) -> "pd.DataFrame":
        key = self.subject.key
        known = self.subject.schema.names
        facts = [name for name in ("strategy", "event", "error", *SCENARIO_NAMES) if name in known]
        facts = [*key, *(name for name in facts if name not in key)]
        if isinstance(self.path, Path):
            self._ensure_there(self.path)
            if not any(map(errors_in, self.path.glob("*.parquet"))):  # nothing to ask Spark for
                return self.subject.schema.empty_table().select(facts).to_pandas()
        rows = self.records().where(f"error is not null and {where}")
        rows = rows.orderBy(*key).limit(ERRORS_KEPT)
        with answering(rows.sparkSession), reaching(str(self.path)):
            return rows.select(*facts).toPandas()

    def tell_errors(self):
        """Say on stderr how many records have no numbers and why, and show the first."""
        for found, what in (
            (self.failures, "simulations failed"),
            (self.unanswered, "rebalances have no answer: the original throws or never ends"),
        ):
            if len(found):
                many = "at least " if len(found) == ERRORS_KEPT else ""
                print(f"sweep: {many}{len(found)} {what}; the first:", file=sys.stderr)
            for row in found.head(ERRORS_SHOWN).to_dict("records"):
                print(f"  {row.get('strategy', row['scenario'])}: {row['error']}", file=sys.stderr)

    def _where(self, rows, condition: str | None):
        """The rows that an SQL condition chooses, refused in one line where it is none."""
        if condition is None or condition == "":
            return rows
        if not isinstance(condition, str):
            raise SweepError(f"where: expected a condition such as 'step > 0', got {condition!r}")
        with refusing(condition, self.subject):
            return rows.where(condition)

    def _columns(self, about: str, given: Sequence[str] | str) -> list[str]:
        """The names of columns, each once; refused where the table has no such column."""
        known = self.subject.schema.names
        columns = list(dict.fromkeys(words(about, given)))
        refuse_unknown("column", columns, known)
        return columns
