"""Tables in a store that executors write and the driver need not see: any URI of Spark's Hadoop
file systems (``hdfs://``, ``s3a://``, ``abfss://``, ``gs://``, ``dbfs:/``).

Records travel through Spark, whose writer commits them. A sweep works in rounds below
``<store>/.rounds/<question>-<sweep>``: each is a Spark job of its own, and is taken for done
only when a note says so, which is one file and appears whole. At the end one more job writes all
rounds into ``<store>/<name>.parquet``, between two states of ``<name>.parquet.state``: a table
whose state is not "whole" is not read. The same question, asked again, takes over the rounds that
were done.

A store has no locks. Two sweeps that write one table at the same time see it by what they find
there: the state names the sweep that wrote it last, and the other one tries again.

Everything goes through Spark's own readers and writers, which Spark Connect has too; what it does
not have is a way to remove folders: there they are emptied.
"""

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

from assignlab.local.project import TABLES_VARIABLE
from assignlab.sweep.question import SweepError
from assignlab.sweep.spark import answering, is_connect, is_unanswered
from assignlab.sweep.workplace import DESCRIPTION, KEPT_AGE, NO_TABLE, TRIES, tell

TEXT = "value string"
FILES = "path string, modificationTime timestamp, length long, content binary"
VANISHED = "FileNotFoundException"
"""What Spark says where another sweep removed what this one was writing."""
ROUNDS = ".rounds"
PROBLEMS = (
    (r'No FileSystem for scheme "([^"]+)"', "Spark knows no file system called {0}"),
    (
        r"Class (\S+) not found",
        "its connector ({0}) is not among Spark's jars: docs/clusters.md names the package",
    ),
    (r"Incomplete HDFS URI, no host", "it names no host: hdfs://HOST:PORT/FOLDER"),
    (r"UnknownHostException: (?:Invalid host name: )?([\w.-]+)", "no host is called {0}"),
    (r"Call From .* failed on|ConnectTimeoutException|NoRouteToHost", "nothing answers there"),
    (
        r"AccessControlException|AccessDenied|Permission denied|Mkdirs failed",
        "Spark may not read or write there",
    ),
    (
        r"No space left on device|Disk quota exceeded",
        "no space is left there, or where Spark keeps its own files (spark.local.dir)",
    ),
    (r"FAILED_READ_FILE.FILE_NOT_EXIST", "its files were replaced while they were read: ask again"),
    (
        r"FAILED_READ_FILE\.\w+\] Encountered error while reading file (.+?)\.  SQLSTATE",
        "{0} is damaged: run its sweep again",
    ),
    (
        r"FAILED_READ_FILE\.\w+\] Encountered error while reading file .+?\. (.+?)\. SQLSTATE",
        "it is no table of such a sweep: {0}",
    ),
)
"""What Spark says of a store that cannot be used, and what that means."""


class Cut(NamedTuple):
    """How a sweep is cut: into slices, a task each, and these into rounds.

    Slice ``s`` is of round ``s % rounds``.
    """

    slices: int
    rounds: int


class Round(NamedTuple):
    """A finished round: where its records are, and what they are.

    ``scenarios``, ``records``, ``errors``: how many; ``cost``: about how many seconds they took.
    """

    cut: Cut
    number: int
    folder: str
    scenarios: int
    records: int
    errors: int
    cost: float


class Notes(NamedTuple):
    """What a sweep noted in its folder: when for the last time, and the rounds that it finished."""

    last: float
    rounds: list[Round]


class Store:
    """A table in a store, and the folder beside it that its sweep works in.

    ``tables``: the URI; ``name``: of the table; ``question``: of the sweep, as of
    :class:`assignlab.sweep.workplace.Workplace`.
    """

    def __init__(self, spark, tables: str, name: str, question: str):
        self._spark = spark
        self._tables = tables.rstrip("/")
        self._unfinished = f"{self._tables}/{ROUNDS}"
        self._question, self._sweep = question, uuid4().hex[:12]
        self._work = f"{self._unfinished}/{question}-{self._sweep}"
        self._known: tuple[str | None, ...] = ()
        self._folders: set[str] = set()
        self._told: set[str] = set()
        self.done: dict[int, Round] = {}
        self.path = f"{self._tables}/{name}.parquet"

    def enter(self, cut: Cut) -> None:
        """Leave word of this sweep, and look at what others left: ``done`` has the rounds of the
        same question, by their numbers; the rest is told.

        The sweep is cut as ``self.cut`` says: like those rounds, or else as ``cut``.

        Raises :class:`SweepError` where the store cannot be reached or written.
        """
        with reaching(self._tables, every=True):
            self._note()
            before = state(self._spark, self.path)
            if not before:
                self._refuse_other()
            self._known = before.get("sweep"), self._sweep
            if before.get("whole") is False:
                tell(f"{self.path} is not whole, its sweep was killed or goes on: it is replaced")
            notes = self._notes()
            self._folders = {folder for folder in notes if self._is_of_question(folder)}
            done: dict[Cut, dict[int, Round]] = {cut: {}}
            for one in (one for folder in sorted(self._folders) for one in notes[folder].rounds):
                done.setdefault(one.cut, {})[one.number] = one
            # The cluster may have had another size.
            self.cut = max(done, key=lambda cut: sum(one.scenarios for one in done[cut].values()))
            self.done = done[self.cut]
            for folder in sorted(notes.keys() - self._folders - self._told):
                self._told.add(folder)
                last = notes[folder].last
                if time.time() - last > KEPT_AGE:
                    remove(self._spark, folder)
                    tell(f"removed what a killed sweep left: {folder}")
                else:
                    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(last))
                    tell(f"another sweep works in {folder}, or was killed there after {when}")

    def _refuse_other(self) -> None:
        """Raise :class:`SweepError` where files lie at the table's place that are none of a sweep's."""
        for _ in range(TRIES):
            files = at(
                self._spark, self.path, FILES, lambda rows: rows.select("length").head(1), "binaryFile"
            )  # fmt: skip
            if not files or in_folder(self.path) or state(self._spark, self.path):
                return
            time.sleep(1)  # another sweep may write its state just now
        raise SweepError(NO_TABLE.format(self.path))

    def write_round(self, number: int, rows, scenarios: int, cost: float, always: bool) -> None:
        """Have Spark write one round, and then the note that it is done.

        ``always``: whether every scenario leaves a record.
        """
        folder = f"{self._work}/round-{number:05}"
        with reaching(self._tables):
            rows.write.mode("overwrite").parquet(folder)
            counts = ("count(distinct scenario)", "count(*)", "count(error)")
            found, records, errors = self._counted(folder, rows.schema, *counts)
            if found < (scenarios if always else 1):
                # An executor that does not see the folder writes into one of its own, and Spark
                # says nothing.
                raise SweepError(
                    f"{found} of {scenarios} scenarios arrived at {folder}: some executor does not "
                    "see that place, or sees another one there; name a store that the driver and "
                    "all executors share"
                )
            done = Round(self.cut, number, folder, scenarios, records, errors, cost)
            self._note(done)  # first: a round without its note would look like another sweep's work
            self.done[number] = done

    def take_place(self, schema: str, described: dict) -> bool:
        """Write the rounds that are done into the table, in place of an earlier one.

        False where another sweep wrote the same table in the same moment.
        """
        mine = {"sweep": self._sweep, "question": self._question}
        folders = [literal(self._spark, one.folder) for one in self.done.values()]
        rows = reader(self._spark, schema).parquet(*folders)
        with reaching(self._tables):
            try:
                self._set_state({"whole": False} | mine)
                self._known = (self._sweep,)
                rows.write.mode("overwrite").parquet(self.path)
            except Exception as error:
                if VANISHED in str(error):
                    return False
                raise
            [records] = self._counted(self.path, schema, "count(*)")
            whole = records == sum(one.records for one in self.done.values())
            if not whole or self.is_disturbed():
                return False
            self._set_state({"whole": True} | mine | described)
        return True

    def is_disturbed(self) -> bool:
        """Whether the table is another sweep's now, or one has removed rounds of this question."""
        last, notes = state(self._spark, self.path).get("sweep"), self._notes()
        there = {one.folder for left in notes.values() for one in left.rounds}
        removed = any(one.folder not in there for one in self.done.values())
        return last not in self._known or removed or not self._folders <= notes.keys()

    def is_answered(self) -> bool:
        """Whether the table is whole, and that of the same question."""
        found = state(self._spark, self.path)
        return bool(found.get("whole")) and found.get("question") == self._question

    def leave(self) -> None:
        """Remove the folders that the rounds were in."""
        for folder in self._folders:
            remove(self._spark, folder)

    def _is_of_question(self, folder: str) -> bool:
        return folder.rpartition("/")[2].startswith(f"{self._question}-")

    def _note(self, done: Round | None = None) -> None:
        """Leave word of this sweep, with the time: no store tells reliably how old a folder is."""
        place = f"{self._work}/notes/{uuid4().hex}"
        self._put(place, {"time": time.time(), "rounds": [done] if done else []})

    def _notes(self) -> dict[str, Notes]:
        """The folders of all sweeps that work here or were killed here, and what they noted."""
        # Notes are the only texts there; Spark Connect finds them too.
        options = {"recursiveFileLookup": "true", "pathGlobFilter": "*.txt"}
        lines = at(
            self._spark, self._unfinished, TEXT,
            lambda rows: rows.select("_metadata.file_path", "value").collect(), "text", options,
        )  # fmt: skip
        found: dict[str, Notes] = {}
        for path, line in lines or []:
            folder = f"{self._unfinished}/{path.split(f'/{ROUNDS}/')[1].split('/')[0]}"
            note, before = loaded(line), found.get(folder, Notes(0.0, []))
            last = note.get("time", time.time())
            # Rounds of other questions may be those of another version of the library.
            rounds = note["rounds"] if note and self._is_of_question(folder) else []
            rounds = before.rounds + [Round(Cut(*cut), *rest) for cut, *rest in rounds]
            found[folder] = Notes(max(before.last, last), rounds)
        return found

    def _counted(self, place: str, schema, *counts: str) -> tuple[int, ...]:
        """The counts (in SQL) of the records at ``place``, 0 where nothing lies there."""
        found = at(self._spark, place, schema, lambda rows: rows.selectExpr(*counts).first())
        return tuple(found or [0] * len(counts))

    def _set_state(self, what: dict) -> None:
        self._put(f"{self.path}.state", what)

    def _put(self, place: str, what: dict) -> None:
        rows = self._spark.createDataFrame([(json.dumps(what),)], TEXT)
        rows.coalesce(1).write.mode("overwrite").text(place)


def state(spark, path: str) -> dict:
    """What a table in a store says of itself: empty where there is none, and that it is not whole
    where its sweep was killed while it wrote the state."""
    found = at(spark, f"{path}.state", TEXT, lambda rows: rows.collect(), "text")
    if found is None:
        return {}
    return (loaded(found[0][0]) if found else {}) or {"whole": False}


def loaded(line: str | bytes) -> dict:
    """What a state, a note or a description says; empty where it is cut off, or none of ours."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def ensure_whole(spark, path: str) -> None:
    """Raise :class:`SweepError` where a table in a store is not there, or not whole."""
    with answering(spark), reaching(path, every=True):
        found = state(spark, path)
    if not found and in_folder(path):
        return
    if not found:
        raise SweepError(f"no table of a sweep at {path}")
    if not found.get("whole"):
        raise SweepError(
            f"{path} is no whole table: the sweep that writes it has not ended; run it again"
        )


def in_folder(path: str) -> bool:
    """Whether a sweep into a folder has put a table there, as a whole."""
    folder = re.sub("^file:/*", "/", path)
    return folder != path and Path(folder, DESCRIPTION).exists()


def reader(spark, schema=None):
    """Spark's reader of Parquet at places that are :func:`literal`; it looks for a schema in the
    files where none is given."""
    found = spark.read.option("__globPaths__", "false")
    return found if schema is None else found.schema(schema)


def literal(spark, path: str) -> str:
    """A path that is not read as a pattern: Spark Connect does not heed the reader's option."""
    return re.sub(r"([][{}?*])", r"\\\1", path) if is_connect(spark) else path


def at(spark, path: str, schema, ask: Callable, kind="parquet", options: dict | None = None):
    """What ``ask`` finds in the rows at ``path``, None where nothing lies there."""
    from pyspark.errors import AnalysisException

    # Another sweep may replace the files at this moment.
    source = reader(spark, schema).option("ignoreMissingFiles", "true").options(**options or {})
    try:  # Spark Connect looks for the path when asked
        return ask(source.format(kind).load(literal(spark, path)))
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return None
        raise


@contextmanager
def reaching(place: str, every: bool = False) -> Iterator[None]:
    """What Spark says of a store that it cannot use becomes :class:`SweepError`, one line.

    ``every``: so does all else that it says; for the first look at a store, before a sweep.
    """
    from py4j.protocol import Py4JError, Py4JNetworkError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JNetworkError:
        raise
    except (Py4JError, PySparkException) as error:
        if is_unanswered(error):
            raise
        if (why := problem(str(error), every)) is not None:
            told = f" (named by --tables, sweep.run(to=...) or {TABLES_VARIABLE})" if every else ""
            why = why or f"Spark cannot use it ({type(error).__name__})"
            raise SweepError(f"{place}: {why}{told}") from None
        raise


def problem(said: str, every: bool = False) -> str | None:
    """In a line why a store cannot be used; None if the error is about something else.

    >>> problem("java.io.IOException: java.net.UnknownHostException: namenode")
    'no host is called namenode'
    """
    for pattern, why in PROBLEMS if "Traceback (most recent call last)" not in said else ():
        if found := re.search(pattern, said):
            return why.format(*found.groups())
    lines = [line.strip() for line in said.splitlines() if not line.lstrip().startswith("at ")]
    causes = [line for line in lines if re.match(r"(Caused by)?: ", line)]
    return (causes or lines or [said])[-1].removeprefix("Caused by").strip(": ") if every else None


def remove(spark, uri: str) -> None:
    """Remove a folder of the store; under Spark Connect, empty it."""
    if is_connect(spark):
        spark.createDataFrame([], TEXT).write.mode("overwrite").parquet(uri)
        return
    path = spark._jvm.org.apache.hadoop.fs.Path(uri)
    path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)
