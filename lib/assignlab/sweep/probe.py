"""What executors have, asked before a sweep: Python, packages, a folder shared with the driver."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from assignlab.sweep.question import SweepError
from assignlab.sweep.spark import is_connect, is_kubernetes, told_waiting

TASKS = 16
PAUSE = 0.1
"""Seconds that each task waits, so that all executors get some."""
NEEDED = ("numba", "numpy", "pyarrow")
REMEDY = "PYSPARK_PYTHON names a Python there, spark.archives ships one (docs/clusters.md)"
REMEDY_OF_SERVER = (
    "PYSPARK_PYTHON of the server names one there, addArtifacts ships one (docs/clusters.md)"
)


def ask_executors(spark, folder: Path | None) -> bool:
    """Whether all executors that answer see ``folder`` and can write there.

    Raises :class:`SweepError` where their Python is of another minor version or lacks a package.
    """
    remedy = REMEDY_OF_SERVER if is_connect(spark) else REMEDY
    token = folder / f".probe-{uuid4().hex}" if folder else None
    if token:
        token.touch()
    try:
        rows = spark.range(TASKS, numPartitions=TASKS)
        with told_waiting(waited_for(spark)):
            found = rows.mapInArrow(
                asked(str(token) if token else None), "lacks string, sees boolean"
            ).collect()
    except Exception as error:
        if why := python_problem(str(error)):
            raise SweepError(f"{why}: {remedy}") from None
        raise
    finally:
        if token:
            token.unlink(missing_ok=True)
    for lacks in sorted({row.lacks for row in found if row.lacks}):
        raise SweepError(f"Python on Spark's executors has no {lacks}: {remedy}")
    return all(row.sees for row in found)


def waited_for(spark) -> str:
    """What executors may wait for, as the user is told while none answers."""
    why = (
        "for Spark's executors: the cluster may have no free cores or memory, or unpacks an archive"
    )
    if is_connect(spark) or not is_kubernetes(spark.sparkContext.master):
        return why
    namespace = spark.sparkContext.getConf().get("spark.kubernetes.namespace", "default")
    pods = f"'kubectl -n {namespace} get pods -l spark-role=executor'"
    return f"{why}; {pods} shows whether the image is found, 'logs' whether pods reach this driver"


def asked(token: str | None) -> Callable:
    """What a task answers. It travels by value: the executors may lack the package's needs."""
    needed, pause = NEEDED, PAUSE

    def answer(batches):
        import os
        import time
        from importlib.util import find_spec

        import pyarrow

        for _ in batches:
            pass
        time.sleep(pause)
        lacks = ", ".join(name for name in needed if find_spec(name) is None)
        sees = bool(token) and os.path.exists(token) and os.access(os.path.dirname(token), os.W_OK)
        yield pyarrow.RecordBatch.from_pydict({"lacks": [lacks], "sees": [sees]})

    return answer


def python_problem(said: str) -> str | None:
    """In a line what is wrong with Python on the executors; None if the error is not about it."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if "PYTHON_VERSION_MISMATCH" in said:
        found = re.search(r"\d\.\d+", said.partition("PYTHON_VERSION_MISMATCH")[2])
        other = found[0] if found else "of another minor version"
        return f"Spark's executors have Python {other}, this is {here}"
    if found := re.search(r"No module named '([\w.]+)'|PACKAGE_NOT_INSTALLED\]?\s*(\w+)", said):
        needed = f"{', '.join(NEEDED[:-1])} and {NEEDED[-1]} are needed"
        return f"Python on Spark's executors has no {found[1] or found[2]} ({needed})"
    if found := re.search(r'Cannot run program "([^"]+)"', said):
        why = "not there, or a link to one that their user may not run"
        return f"Spark's executors cannot start Python {found[1]!r}, which is {why}"
    return None
