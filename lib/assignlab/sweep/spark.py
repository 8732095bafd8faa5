"""The Spark session that sweeps run on: this machine's cores,
or a cluster that the environment names.

Nothing set: Spark runs inside this process's own JVM on all cores (``local[k,4]``: a task that dies
is tried again), listens on the loopback address only and keeps its files under ``outputs/spark``;
what the JVM prints goes to ``outputs/spark/driver.log`` and not between the results.
``SPARK_MASTER`` (``spark://host:7077``, ``local[2]``, ...) names another master, ``SPARK_REMOTE``
(``sc://host:15002``) a Spark Connect server. To both the package is shipped as a zip; Python of the
same minor version with numba, numpy and pyarrow is expected there (``PYSPARK_PYTHON`` says which,
and :mod:`assignlab.sweep.probe` asks), and a folder that the driver and the executors share or a
store (:mod:`assignlab.sweep.store`).

What the user says to Spark itself wins over what stands here: ``spark-defaults.conf`` (in
``SPARK_CONF_DIR``, or ``conf`` of ``SPARK_HOME``), ``SPARK_DRIVER_MEMORY``, ``SPARK_LOCAL_DIRS``,
``PYSPARK_SUBMIT_ARGS`` and the options of ``spark-submit``. A server that does not answer is an
error with its address within half a minute: :class:`SparkDidNotStart` before a sweep,
:class:`SparkEnded` in the midst of one.
"""

import hashlib
import io
import locale
import os
import re
import shlex
import shutil
import socket
import sys
import tempfile
import threading
import time
import warnings
import zipfile
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager, suppress
from itertools import pairwise
from pathlib import Path
from weakref import WeakKeyDictionary

import assignlab
from assignlab.errors import AssignlabError
from assignlab.local.files import whole
from assignlab.local.java import BRIEF, ensure_java_env
from assignlab.local.project import cores, outputs
from assignlab.sweep.lending import entered, lent
from assignlab.sweep.workplace import locked, tell

LOOPBACK = "127.0.0.1"
DRIVER_MEMORY = "2g"
CLASSES = Path(sys.prefix) / "spark-classes.jsa"
"""Spark's classes as Java reads them fastest, kept by `keep_classes`;
Java itself sees whether they fit."""
ATTEMPTS = 4
"""How often a task is tried on this machine, as many times as on a cluster."""
RETRIES, LONGEST_PAUSE = 5, 3000
"""Of a call to a Spark Connect server: about 8 s, the pauses in milliseconds."""
PATIENCE, WAIT_TOLD = 20.0, 30.0
SHIPPED = "assignlab-shipped-"
NO_MASTER = re.compile(r"Could not parse Master URL|Master must [^\n]*|Invalid master URL[^\n]*")
"""What Spark says of a master that can be none."""
IMAGE = "spark.kubernetes.container.image"
FAILING = re.compile(r"Max number of executor failures \(\d+\) reached")
"""What Spark says on Kubernetes before it ends because its executors do."""
FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")
"""A line of a trace of Java that tells where in its code."""
LOG_SHOWN = 15
LOG_BYTES = 2**22

_shipped: WeakKeyDictionary = WeakKeyDictionary()
_log_before = 0
"""How much of Spark's log is older than the session."""


class SparkDidNotStart(AssignlabError):
    """Spark did not start; the message ends with the last lines of its log, or has its address."""


class SparkEnded(AssignlabError):
    """Spark ended in mid work, or its server no longer answers: its address, or its log's end."""


def session():
    """The Spark session: the one that runs already, or a new one as the environment says.

    Raises :class:`assignlab.local.java.NoJava` where a JVM is needed and there is none, and
    :class:`SparkDidNotStart`.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if remote := os.environ.get("SPARK_REMOTE"):
        spark = connect(remote)
    else:
        context = SparkContext._active_spark_context
        if context is not None and not is_running(context):
            forget(context)
        if SparkContext._active_spark_context is not None:
            spark = SparkSession.builder.getOrCreate()
            if is_local(spark):  # one that the user started: Spark takes python3 of the PATH
                spark.sparkContext.pythonExec = sys.executable
        else:
            spark = start(os.environ.get("SPARK_MASTER"))
    if spark not in _shipped and not is_local(spark):
        ship(spark)
    return spark


def connect(remote: str):
    """The session on a Spark Connect server; raises :class:`SparkDidNotStart` if none answers."""
    import pyspark
    from pyspark.errors import PySparkImportError, PySparkValueError
    from pyspark.sql import SparkSession

    try:
        from pyspark.sql.connect.client.retries import DefaultPolicy

        spark = SparkSession.builder.remote(remote).getOrCreate()
    except PySparkImportError as error:
        raise SparkDidNotStart(
            f"{remote} (SPARK_REMOTE) needs packages that are not installed: {sys.executable} -m "
            f"pip install 'pyspark[connect]=={pyspark.__version__}' ({first_line(error)})"
        ) from error
    except PySparkValueError as error:
        raise SparkDidNotStart(
            f"{remote!r} (SPARK_REMOTE) is no address of a Spark Connect server: sc://HOST:PORT "
            f"({first_line(error)})"
        ) from error
    # Spark's own would go on asking for ten minutes, without a word.
    spark.client.set_retry_policies([DefaultPolicy(max_retries=RETRIES, max_backoff=LONGEST_PAUSE)])
    answer: Future = Future()

    def ask():
        try:
            answer.set_result(spark.version)
        except Exception as error:
            answer.set_exception(error)

    # A thread, since a connection that nobody refuses is waited for without a limit.
    threading.Thread(target=ask, daemon=True).start()
    try:
        answer.result(timeout=PATIENCE)
    except Exception as error:
        spark.client.close()
        raise SparkDidNotStart(
            f"no Spark Connect server answers at {remote} (SPARK_REMOTE): start it, name another, or "
            f"leave SPARK_REMOTE out to run on this machine ({first_line(error)})"
        ) from error
    return spark


@contextmanager
def answering(spark):
    """What a Spark raises that is gone becomes :class:`SparkEnded`; the next session is new. An
    interrupt ends the session's jobs: a notebook's kernel lives on, and they would."""
    try:
        yield
    except KeyboardInterrupt:
        # PySpark's own handler cannot: it comes in the midst of a call, and calls the same way.
        with suppress(Exception):
            spark.interruptAll()
        raise
    except Exception as error:
        if is_connect(spark):
            if not is_unanswered(error):
                raise
            spark.client.close()
            raise SparkEnded(
                f"the Spark Connect server at {os.environ.get('SPARK_REMOTE')} no longer answers:"
                f" start it and ask again ({first_line(error)})"
            ) from error
        if is_running(spark.sparkContext):
            raise
        forget(spark.sparkContext)
        log = outputs() / "spark" / "driver.log"
        if is_kubernetes(spark.sparkContext.master) and (why := executors_fail(log)):
            raise SparkEnded(f"Spark has ended: {why}") from error
        raise SparkEnded(
            "Spark's Java machine has ended. If its log says OutOfMemoryError, give it more: "
            f"SPARK_DRIVER_MEMORY=8g. The end of {log}:\n{last_lines(log)}"
        ) from error


def is_unanswered(error: Exception) -> bool:
    """Whether a call to a Spark Connect server was not answered."""
    # INVALID_HANDLE: another server answers, which does not know the session.
    return any(word in str(error) for word in ("UNAVAILABLE", "INVALID_HANDLE"))


def is_running(context) -> bool:
    """Whether the context's Java machine is there and has not stopped it."""
    try:
        return not context._jsc.sc().isStopped()
    except Exception:
        return False


def forget(context) -> None:
    """Have the next session be one with a Java machine of its own."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        context.stop()
    SparkContext._active_spark_context = SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def first_line(error: BaseException) -> str:
    """The kind of an error and the line of it that says most."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = next((line for line in lines if line.startswith("details")), lines[0] if lines else "")
    return f"{type(error).__name__} {said}".strip()


def is_connect(spark) -> bool:
    """Whether this is a Spark Connect session, which has no context of its own."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


def is_local(spark) -> bool:
    """Whether the tasks run on this machine with this Python, where there is nothing to ship."""
    return not is_connect(spark) and spark.sparkContext.master.split("[")[0] == "local"


def cores_of(spark) -> int:
    """How many tasks run at the same time: on this machine, or on the executors that have joined.

    There it is the number of parts into which Spark cuts a range that says none. A user who sets
    ``spark.default.parallelism`` is told that number instead.
    """
    if is_local(spark):
        return cores()
    parts = spark.range(2**20).selectExpr("spark_partition_id() as part")
    return parts.selectExpr("max(part) + 1").first()[0]


def start(master: str | None):
    """A session on ``master``, or where the user's Spark says (:func:`session`): on this machine in
    the JVM that a batch lends, else in a new one."""
    from pyspark import SparkConf, SparkContext
    from pyspark.java_gateway import launch_gateway
    from pyspark.sql import SparkSession

    ensure_java_env()
    own = own_settings() | submitted()
    master = master or own.get("spark.master") or f"local[{cores()},{ATTEMPTS}]"
    reach(master)
    ensure_image(master, own)
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    if master.startswith("local"):
        os.environ["PYSPARK_PYTHON"] = sys.executable
    else:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if master.startswith("local") and not is_submitted():
        with told_waiting("for the Java machine that the batch lends"):
            door = lent()
        try:
            if door:
                return entered(**door)
        except Exception:  # it has ended just now: this process has one of its own
            forget(SparkContext._active_spark_context)
    place = outputs() / "spark"
    place.mkdir(parents=True, exist_ok=True)
    chosen = settings(master, place)
    if on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
    conf = SparkConf().setAll([(key, chosen[key]) for key in chosen if key not in own])
    conf.setMaster(master)
    global _log_before
    with open_log(place / "driver.log") as log:
        _log_before = log.tell()
        told = f"Spark on {master}; its log is {log.name}"
        if not master.startswith("local"):
            tell(f"starts {told}")
        try:
            with told_waiting(f"for {told}"):
                with in_utf8():
                    gateway = SparkContext._gateway or launch_gateway(
                        conf, {"stdout": log, "stderr": log}
                    )
                return SparkSession(SparkContext(conf=conf, gateway=gateway))
        except Exception as error:
            # What the user sets next, such as PYSPARK_SUBMIT_ARGS, counts for a new Java machine only.
            forget(SparkContext._active_spark_context)
            ended = last_lines(Path(log.name))
            if found := NO_MASTER.search(f"{error}\n{ended}"):
                raise SparkDidNotStart(no_master(master, found[0])) from error
            if is_kubernetes(master) and (
                why := executors_fail(Path(log.name)) or kubernetes_problem(str(error))
            ):
                raise SparkDidNotStart(f"Spark did not start on {master}: {why}") from error
            said = "\n".join(without_frames(str(error).splitlines()))
            raise SparkDidNotStart(
                f"Spark did not start on {master}: {said}; the end of {log.name}:\n{ended}"
            ) from error


@contextmanager
def every(seconds: float, look: Callable[[], None]) -> Iterator[None]:
    """Have a thread call ``look`` every so many seconds while the block runs."""
    over = threading.Event()

    def watch():
        while not over.wait(seconds):
            look()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def told_waiting(what: str) -> AbstractContextManager:
    """Say on stderr every half minute, while the block runs, that it waits for something."""
    began = time.monotonic()
    return every(WAIT_TOLD, lambda: tell(f"waits since {time.monotonic() - began:.0f} s {what}"))


@contextmanager
def in_utf8():
    """While the block runs, programs that it starts have a locale whose file names are UTF-8, as
    Python's are: Java takes them from the locale, and reads none of other letters in ``C``."""
    given = os.environ.get("LC_ALL")
    if sys.platform != "linux" or locale.getencoding().lower().replace("-", "") == "utf8":
        yield
        return
    os.environ["LC_ALL"] = "C.UTF-8"
    try:
        yield
    finally:
        os.environ.pop("LC_ALL")
        if given is not None:
            os.environ["LC_ALL"] = given


def no_master(master: str, why: str) -> str:
    """What a user is told who named a master that can be none."""
    return (
        f"{master!r} (SPARK_MASTER) is no Spark master: spark://HOST:PORT, yarn, "
        f"k8s://https://HOST:PORT or local[CORES] ({why})"
    )


def reach(master: str) -> None:
    """Raise :class:`SparkDidNotStart` where a standalone master does not listen."""
    if not master.startswith("spark://"):
        return
    reasons = []
    for address in master.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal():
            raise SparkDidNotStart(no_master(master, f"{address!r} has no port"))
        try:
            return socket.create_connection((host.strip("[]"), int(port)), timeout=PATIENCE).close()
        except OSError as error:
            reasons.append(str(error))
    raise SparkDidNotStart(
        f"no Spark master answers at {master} (SPARK_MASTER): start it, name another, or leave "
        f"SPARK_MASTER out to run on this machine ({'; '.join(reasons)})"
    )


def is_kubernetes(master: str) -> bool:
    """Whether executors are pods."""
    return master.startswith("k8s://")


def ensure_image(master: str, own: dict[str, str]) -> None:
    """Raise :class:`SparkDidNotStart` where Kubernetes is named and no image: Spark would wait for
    executors that it cannot ask for."""
    executors = IMAGE.replace("container", "executor.container")
    if is_kubernetes(master) and not (own.get(IMAGE) or own.get(executors)):
        raise SparkDidNotStart(
            f"{master} (SPARK_MASTER) needs an image for Spark's executors: PYSPARK_SUBMIT_ARGS="
            f'"--conf {IMAGE}=IMAGE pyspark-shell" (docs/clusters.md)'
        )


def executors_fail(log: Path) -> str | None:
    """In a line that Spark ended since its executors do; None if its log does not say so."""
    if not (found := FAILING.search(written(log))):
        return None
    return (
        f"{found[0]}. 'kubectl logs' of their pods tells why, which are kept with "
        "spark.kubernetes.executor.deleteOnTermination=false; each has to reach this driver "
        "(docs/clusters.md)"
    )


def kubernetes_problem(said: str) -> str | None:
    """In a line why Kubernetes' API server could not be asked; None if the error is about another.

    >>> kubernetes_problem("KubernetesClientException: .. Message: Unauthorized. Received status: ..")
    'Unauthorized (kubectl would ask as the same user)'
    """
    if "KubernetesClientException" not in said:
        return None
    if found := re.search(r"Message: (.+?)\.? Received status", said):
        return f"{found[1]} (kubectl would ask as the same user)"
    causes = re.findall(r"^Caused by: (.+)", said, re.MULTILINE)
    return f"its API server cannot be asked ({causes[-1]})" if causes else None


SUBMITTED = {
    "--master": "spark.master",
    "--name": "spark.app.name",
    "--driver-memory": "spark.driver.memory",
}
"""Options of ``spark-submit`` that are settings which we would choose."""


def own_settings() -> dict[str, str]:
    """What the user has set for Spark itself, outside this program."""
    from pyspark.find_spark_home import _find_spark_home

    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    try:
        given = shlex.split(arguments)
    except ValueError as error:
        raise SparkDidNotStart(f"PYSPARK_SUBMIT_ARGS: {error} in {arguments!r}") from None
    # --name=value is --name value; -c key=value is not.
    options = list(pairwise(part for word in given for part in word.split("=", word[:2] == "--")))
    folder = os.environ.get("SPARK_CONF_DIR") or os.path.join(_find_spark_home(), "conf")
    file = Path(dict(options).get("--properties-file") or Path(folder) / "spark-defaults.conf")
    # Java replaces what is no UTF-8, too.
    lines = file.read_text("utf-8", errors="replace").splitlines() if file.is_file() else []
    pairs = [re.split(r"[\s=:]+", line.strip(), maxsplit=1) for line in lines]
    found = {pair[0]: pair[1] for pair in pairs if len(pair) == 2 and re.match("[^#!]", pair[0])}
    if memory := os.environ.get("SPARK_DRIVER_MEMORY"):
        found.setdefault("spark.driver.memory", memory)
    for option, value in options:
        if option in SUBMITTED:
            found[SUBMITTED[option]] = value
        elif option in ("--conf", "-c"):
            key, _, found[key] = value.partition("=")
    return found


def is_submitted() -> bool:
    """Whether ``spark-submit`` runs this program, in whose Java machine Spark then is."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def submitted() -> dict[str, str]:
    """The settings of ``spark-submit``, where it runs this program: its Java machine has them."""
    from pyspark import SparkConf, SparkContext

    if not is_submitted():
        return {}
    SparkContext._ensure_initialized()
    found = dict(SparkConf().getAll())
    if found.get("spark.master") == "local[*]":  # what it says where it was told nothing
        del found["spark.master"]
    return found


def on_this_machine(master: str) -> bool:
    """Whether nothing of Spark needs to be reached from another machine."""
    return re.match(r"local|spark://(127\.|localhost)", master) is not None


def settings(master: str, place: Path) -> dict[str, str]:
    """Ours for ``master``, where the user has no own; ``place`` takes Spark's files."""
    chosen = {
        "spark.app.name": "assignlab",
        "spark.driver.memory": DRIVER_MEMORY,
        # A list of folders for Spark: one whose path has a comma would be two.
        "spark.local.dir": tempfile.gettempdir() if "," in str(place) else str(place / "local"),
        "spark.sql.warehouse.dir": (place / "warehouse").as_uri(),
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        # Python tasks start 2.6 times faster over a Unix socket than over TCP. It lies in Java's
        # folder for temporary files: in a container of YARN that has more letters than a socket's
        # path may.
        "spark.python.unix.domain.socket.enabled": str(
            os.name == "posix" and not master.startswith("yarn")
        ).lower(),
        # Frames after an aggregation are small.
        "spark.sql.shuffle.partitions": "4",
    }
    if CLASSES.exists():
        chosen["spark.driver.extraJavaOptions"] = f'"-XX:SharedArchiveFile={CLASSES}"'
    if re.fullmatch(r"local(\[[\d*, ]+\])?", master):
        # The JVM's ports are open to other users of the machine; Spark makes a secret of its own.
        chosen["spark.authenticate"] = "true"
    if on_this_machine(master):
        chosen |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    return chosen


def keep_classes(use: Callable[[], None]) -> bool:
    """Have Java keep the classes that ``use`` loads in an archive, from which later sessions start sooner.

    ``use``: some work on a session of this machine; afterwards the process has none, and starts none.
    Returns whether the archive was written: not where there is one already, where Python's environment
    is not one's own to write into, or where its path has a character that Java's options read otherwise.
    """
    own = sys.prefix != sys.base_prefix and os.access(sys.prefix, os.W_OK)
    if CLASSES.exists() or not own or re.search(r"""[:"'\\]""", str(CLASSES)):
        return False
    with whole(CLASSES) as part:
        os.environ.pop("SPARK_REMOTE", None)
        os.environ["SPARK_MASTER"] = "local[1]"
        os.environ["SPARK_SUBMIT_OPTS"] = f'{" ".join(BRIEF)} "-XX:ArchiveClassesAtExit={part}"'
        use()
        context = session().sparkContext
        java = context._gateway.proc
        context.stop()
        java.stdin.close()
        java.wait()
        return part.exists()


def open_log(path: Path):
    """The JVM's log, opened to append: several notebooks may write to it."""
    with suppress(FileNotFoundError):  # not there, or another notebook removes it just now
        if path.stat().st_size > LOG_BYTES:
            path.unlink()
    return path.open("a", encoding="utf-8")


def last_lines(path: Path) -> str:
    """What Spark's log ends with, of what it has of this session."""
    return "\n".join(without_frames(written(path).splitlines())[-LOG_SHOWN:])


def written(path: Path) -> str:
    """What Spark's log has of this session."""
    return path.read_bytes()[_log_before:].decode("utf-8", errors="replace")


def without_frames(lines: list[str]) -> list[str]:
    """What Java says, without the lines that tell where in its code."""
    return [line for line in lines if not FRAME.match(line)]


def ship(spark) -> None:
    """Send the package to the executors, as a zip with the package folder at its root."""
    package = zipped()
    for left in Path(tempfile.gettempdir()).glob(f"{SHIPPED}*"):
        if (lock := locked(left)) is not None:  # its driver was killed
            shutil.rmtree(left, ignore_errors=True)
            os.close(lock)
    # Kept as long as the session: executors fetch it when they start.
    folder = _shipped[spark] = tempfile.TemporaryDirectory(prefix=SHIPPED)
    locked(Path(folder.name))
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
