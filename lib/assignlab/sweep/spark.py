"""The Spark session that sweeps run on: this machine's cores, or a cluster that the environment names.

Nothing set: Spark runs inside this process's own JVM on all cores (``local[k,4]``: a task that dies
is tried again), listens on the loopback address only and keeps its files under ``outputs/spark``; what the JVM prints goes to
``outputs/spark/driver.log`` and not between the results.
``SPARK_MASTER`` (``spark://host:7077``, ``local[2]``, ...) names another master, ``SPARK_REMOTE``
(``sc://host:15002``) a Spark Connect server. To both the package is shipped as a zip; Python of the
same minor version with numba, numpy and pyarrow is expected there (``PYSPARK_PYTHON`` says which),
and a folder for results that the driver and the executors share.
"""

import hashlib
import io
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

import assignlab
from assignlab.errors import AssignlabError
from assignlab.local.java import ensure_java_env
from assignlab.local.project import cores, outputs

LOOPBACK = "127.0.0.1"
DRIVER_MEMORY = "2g"
ATTEMPTS = 4
"""How often a task is tried on this machine, as many times as on a cluster."""
LOG_SHOWN = 15
LOG_BYTES = 2**22

_shipped: WeakKeyDictionary = WeakKeyDictionary()


class SparkDidNotStart(AssignlabError):
    """Spark did not start; the message ends with the last lines of its log."""


def session():
    """The Spark session: the one that runs already, or a new one as the environment says.

    Raises :class:`assignlab.local.java.NoJava` where a JVM is needed and there is none, and
    :class:`SparkDidNotStart`.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if remote := os.environ.get("SPARK_REMOTE"):
        spark = SparkSession.builder.remote(remote).getOrCreate()
    elif SparkContext._active_spark_context is not None:
        spark = SparkSession.builder.getOrCreate()
    else:
        spark = start(os.environ.get("SPARK_MASTER") or f"local[{cores()},{ATTEMPTS}]")
    if spark not in _shipped and not is_local(spark):
        ship(spark)
    return spark


def is_connect(spark) -> bool:
    """Whether this is a Spark Connect session, which has no context of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark) -> bool:
    """Whether the tasks run on this machine with this Python, where there is nothing to ship."""
    return not is_connect(spark) and spark.sparkContext.master.split("[")[0] == "local"


def start(master: str):
    """Start a JVM and a session on ``master``; see :func:`session`."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    ensure_java_env()
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    place = outputs() / "spark"
    place.mkdir(parents=True, exist_ok=True)
    conf = SparkConf().setAll(list(settings(master, place).items()))
    with open_log(place / "driver.log") as log:
        try:
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:
            raise SparkDidNotStart(
                f"Spark did not start on {master}: {error}; the end of {log.name}:\n"
                + last_lines(Path(log.name))
            ) from error


def settings(master: str, place: Path) -> dict[str, str]:
    """Spark's settings for ``master``; ``place`` takes its files."""
    chosen = {
        "spark.app.name": "assignlab",
        "spark.master": master,
        "spark.driver.memory": DRIVER_MEMORY,
        # A list of folders for Spark: one whose path has a comma would be two.
        "spark.local.dir": tempfile.gettempdir() if "," in str(place) else str(place / "local"),
        "spark.sql.warehouse.dir": (place / "warehouse").as_uri(),
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Python tasks start 2.6 times faster over a Unix socket than over TCP.
        "spark.python.unix.domain.socket.enabled": str(os.name == "posix").lower(),
        # Frames after an aggregation are small.
        "spark.sql.shuffle.partitions": "4",
    }
    if re.match(r"local(\[|$)", master):
        # The JVM's ports are open to other users of the machine; Spark makes a secret of its own.
        chosen["spark.authenticate"] = "true"
    if master.startswith("local") or re.match(r"spark://(127\.|localhost)", master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return chosen


def open_log(path: Path):
    """The JVM's log, opened to append: several notebooks may write to it."""
    if path.exists() and path.stat().st_size > LOG_BYTES:
        path.unlink()
    return path.open("a", encoding="utf-8")


def last_lines(path: Path) -> str:
    """What a log ends with."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-LOG_SHOWN:])


def ship(spark) -> None:
    """Send the package to the executors, as a zip with the package folder at its root."""
    package = zipped()
    # Kept as long as the session: executors fetch it when they start.
    folder = _shipped[spark] = tempfile.TemporaryDirectory(prefix="assignlab-")
    path = Path(folder.name) / f"assignlab-{hashlib.sha256(package).hexdigest()[:12]}.zip"
    path.write_bytes(package)
    spark.addArtifacts(str(path), pyfile=True)


def zipped() -> bytes:
    """A zip of the package's sources, and of what numba has compiled from them so far.

    Executors with the same processor and numba load the compiled code, others compile anew.
    """
    root = Path(assignlab.__file__).parent
    files = [path for kind in ("*.py", "*.nbi", "*.nbc") for path in root.rglob(kind)]
    package = io.BytesIO()
    with zipfile.ZipFile(package, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(files):
            entry = zipfile.ZipInfo(path.relative_to(root.parent).as_posix())
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return package.getvalue()


def unpack_shipped() -> Callable[[], None]:
    """What a task calls before it imports the package: has an executor unpack the zip, once.

    Compiled code is loaded from files only. The function travels by value, since it is needed
    before the package is there; where nothing was shipped it does nothing.
    """

    def unpack():
        import os
        import re
        import shutil
        import stat
        import sys
        import tempfile
        import zipfile

        def is_own(folder):
            # What somebody else wrote would be executed here.
            if not os.path.lexists(folder):
                return False
            found = os.lstat(folder)
            mine = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
            return mine and found.st_mode & 0o022 == 0

        for place, entry in enumerate(sys.path):
            if re.fullmatch(r"assignlab-[0-9a-f]{12}\.zip", os.path.basename(entry)):
                folder = f"{entry}.unpacked"
                if not is_own(folder):
                    part = tempfile.mkdtemp(prefix="assignlab-", dir=os.path.dirname(entry))
                    with zipfile.ZipFile(entry) as archive:
                        archive.extractall(part)
                    try:
                        os.rename(part, folder)
                    except OSError:  # another worker was faster, or somebody else was here
                        if is_own(folder):
                            shutil.rmtree(part, ignore_errors=True)
                        else:
                            folder = part
                sys.path[place] = folder

    return unpack
