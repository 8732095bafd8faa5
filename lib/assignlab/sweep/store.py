"""Tables in a store that executors write and the driver need not see: any URI of Spark's Hadoop
file systems (``hdfs://``, ``s3a://``, ``abfss://``, ``gs://``, ``dbfs:/``).

Records travel through Spark, whose writer commits them. A sweep works in rounds below
``<store>/.unfinished/<question>``: each is a Spark job of its own, and is taken for done only when
a line in ``done`` says so, which is one file and appears whole. At the end one more job writes all
rounds into ``<store>/<name>.parquet``, between two states of ``<name>.parquet.state``: a table
whose state is not "whole" is not read. The same sweep, asked again, keeps the rounds that were
done.

Everything goes through Spark's own readers and writers, which Spark Connect has too; what it does
not have is a way to remove folders: there they are emptied.
"""

import json
import time
from collections.abc import Iterable, Iterator

from assignlab.sweep.question import SweepError
from assignlab.sweep.spark import is_connect
from assignlab.sweep.workplace import KEPT_AGE, UNFINISHED, tell

DONE = "round int, scenarios bigint, cost double, failed bigint"
STATE = "state string"


class Store:
    """A table in a store, and the folder beside it that its sweep works in.

    ``tables``: the URI; ``name``: of the table; ``question``: of the sweep, as of
    :class:`assignlab.sweep.workplace.Workplace`.
    """

    def __init__(self, spark, tables: str, name: str, question: str):
        self._spark = spark
        self._unfinished = f"{tables.rstrip('/')}/{UNFINISHED}"
        self._work = f"{self._unfinished}/{question}"
        self.path = f"{tables.rstrip('/')}/{name}.parquet"

    def clear_leftovers(self) -> None:
        """Say what a killed sweep left of this table; remove what nobody used for a week."""
        if state(self._spark, self.path).get("whole") is False:
            tell(f"removed what a killed sweep left: {self.path}")
            remove(self._spark, self.path)
            self._set_state({})
        for folder, age in listed(self._spark, self._unfinished):
            if age > KEPT_AGE:
                remove(self._spark, folder)
                tell(f"removed what a killed sweep left: {folder}")

    def done(self) -> list[tuple[int, int, float, int]]:
        """The finished rounds: (number, scenarios, what they were to cost, failed simulations)."""
        rows = read(self._spark, f"{self._work}/done", DONE)
        return sorted(tuple(row) for row in rows.collect()) if rows else []

    def write_round(self, number: int, rows, scenarios: int, cost: float) -> None:
        """Have Spark write one round, and then the line that it is done."""
        place = self._round(number)
        rows.write.mode("overwrite").parquet(place)
        failed = self._arrived(place, rows.schema, scenarios)
        line = self._spark.createDataFrame([(number, scenarios, cost, failed)], DONE)
        line.coalesce(1).write.mode("append").parquet(f"{self._work}/done")

    def take_place(
        self, rounds: Iterable[int], schema: str, scenarios: int, described: dict
    ) -> None:
        """Write all rounds into the table, in place of an earlier one, and remove them."""
        rows = self._spark.read.schema(schema).parquet(*map(self._round, rounds))
        self._set_state({"whole": False})
        rows.write.mode("overwrite").parquet(self.path)
        self._arrived(self.path, schema, scenarios)
        self._set_state({"whole": True} | described)
        remove(self._spark, self._work)

    def _arrived(self, place: str, schema, scenarios: int) -> int:
        """How many simulations of the records at ``place`` failed.

        :class:`SweepError` where not all scenarios are there: an executor that does not see the
        folder writes into one of its own, and Spark says nothing.
        """
        rows = read(self._spark, place, schema)
        found, failed = 0, 0
        if rows is not None:
            found, failed = rows.selectExpr("count(distinct scenario)", "count(error)").first()
        if found != scenarios:
            raise SweepError(
                f"{found} of {scenarios} scenarios arrived at {place}: some executor does not see "
                "that place, or sees another one there; name a store that the driver and all "
                "executors share"
            )
        return failed

    def _round(self, number: int) -> str:
        return f"{self._work}/round-{number:05}"

    def _set_state(self, what: dict) -> None:
        rows = self._spark.createDataFrame([(json.dumps(what),)], STATE)
        rows.coalesce(1).write.mode("overwrite").text(f"{self.path}.state")


def state(spark, path: str) -> dict:
    """What a table in a store says of itself; empty where there is none."""
    rows = read(spark, f"{path}.state", STATE, "text")
    found = rows.collect() if rows else []
    return json.loads(found[0][0]) if found else {}


def ensure_whole(spark, path: str) -> None:
    """Raise :class:`SweepError` where a table in a store is not there, or not whole."""
    if not state(spark, path).get("whole"):
        raise SweepError(
            f"{path} is no whole table: the sweep that writes it has not ended; run it again"
        )


def read(spark, path: str, schema, kind: str = "parquet"):
    """What lies at ``path``, None where nothing does."""
    from pyspark.errors import AnalysisException

    try:
        rows = spark.read.schema(schema).format(kind).load(path)
        rows.isEmpty()  # Spark Connect looks for the path only now
    except AnalysisException as error:
        if "PATH_NOT_FOUND" in str(error):
            return None
        raise
    return rows


def file_system(spark, uri: str):
    """(Hadoop's file system, path) of a URI in the driver's Java machine; None under Connect."""
    context = None if is_connect(spark) else spark._jsc
    if context is None:
        return None
    path = spark._jvm.org.apache.hadoop.fs.Path(uri)
    return path.getFileSystem(context.hadoopConfiguration()), path


def listed(spark, uri: str) -> Iterator[tuple[str, float]]:
    """(URI, seconds since it was changed) of what a folder of the store holds."""
    found = file_system(spark, uri)
    if found and found[0].exists(found[1]):
        for status in found[0].listStatus(found[1]):
            yield status.getPath().toString(), time.time() - status.getModificationTime() / 1000


def remove(spark, uri: str) -> None:
    """Remove a folder of the store; under Spark Connect, empty it."""
    if found := file_system(spark, uri):
        found[0].delete(found[1], True)
    else:
        spark.createDataFrame([], STATE).write.mode("overwrite").parquet(uri)
