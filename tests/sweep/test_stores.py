"""Tables in a store: written by executors that see none of the driver's folders, whole or not at all."""

import json
import os
import shlex
import shutil
import signal
import site
import socket
import subprocess
import sys
import tarfile
import time
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import psutil
import pyspark
import pytest
from test_cluster import TESTS, connect_server, free_port, standalone
from test_sweep import STRATEGIES, digest, plain, read

from assignlab import sweep
from assignlab.local.java import BRIEF, java_home
from assignlab.runner.plan import Place
from assignlab.sweep import driver, probe, store
from assignlab.sweep.spark import session, settings
from assignlab.sweep.store import Store
from conftest import java_missing

pytestmark = pytest.mark.skipif(java_missing(), reason="needs Java 17 or later")

GRID = dict(members=range(2, 7), topics=range(1, 5), partitions=[40], seed=range(2))
LARGE = dict(members=[20, 40], topics=[10], partitions=[400], seed=range(400))
SWEEP = """
import json, sys
from assignlab import sweep
from assignlab.sweep import driver, progress
from assignlab.sweep.spark import session
from test_sweep import STRATEGIES, digest, read

driver.SHORTEST_ROUND, driver.WAVES, progress.PROGRESS_EVERY = 1, 1, 0.05
for grid, to, slices in json.loads(sys.argv[1]):
    print("sends to", to, file=sys.stderr, flush=True)
    try:
        table = sweep.run(sweep.grid(**grid), STRATEGIES, name="table", slices=slices, to=to)
        table.summary(by=["strategy"], measures=["count_gap"], band=(0.05, 0.95))
        print(digest(read(table)))
    except sweep.SweepError as error:
        print(error)
session().stop()
"""


def test_a_notebooks_tables_have_one_place_in_a_store_whatever_run_writes_them(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("ASSIGNLAB_TABLES", "hdfs://namenode:8020/tables/")
    monkeypatch.setenv("ASSIGNLAB_OUTPUTS", str(tmp_path))
    for run_id in "0f2c", "77aa":
        place = Place(tmp_path, tmp_path, "study").running / run_id / "points" / "p1" / "02_x"
        monkeypatch.setenv("ASSIGNLAB_RUN_FOLDER", str(place))
        assert driver.tables_named() == "hdfs://namenode:8020/tables/study/points/p1/02_x"


# ---- one machine: the steps of a store -----------------------------------------------------------


@pytest.mark.slow
def test_a_table_goes_where_it_is_sent_and_an_interrupted_sweep_goes_on(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(driver, "SHORTEST_ROUND", 1e-4)
    monkeypatch.setattr(driver, "WAVES", 1)
    store, grid = f"file:{tmp_path}/store", sweep.grid(**GRID)
    write = Store.write_round

    def interrupted(self, number, *more):
        if number == 2:
            raise KeyboardInterrupt
        write(self, number, *more)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "write_round", interrupted)
        patch.setattr(driver, "cores_of", lambda spark: 1)
        sweep.run(grid, STRATEGIES, name="table", slices=4, to=store)
    assert not (tmp_path / "store" / "table.parquet").exists()
    written = []

    def counted(self, number, *more):
        written.append(number)
        write(self, number, *more)

    monkeypatch.setattr(Store, "write_round", counted)
    monkeypatch.setattr(driver, "cores_of", lambda spark: 2)
    assert driver.cut_of(session(), 1, len(grid), 4).rounds == 2, "another cut than before"
    table = sweep.run(grid, STRATEGIES, name="table", slices=4, to=store)
    assert written == [2, 3], "rounds that were done were played again"
    assert "scenarios are there, from a sweep that did not end" in capsys.readouterr().err
    assert digest(read(table)) == digest(plain(grid)) and len(table) == table.records().count()
    usual = sweep.run(grid, STRATEGIES, name="usual", slices=4)
    assert len(sweep.Table(f"file:{usual.path}")) == len(usual)
    by = dict(by=["strategy", "members"], measures=["count_gap", "gini"], band=(0.05, 0.95))
    assert table.summary(**by).equals(usual.summary(**by))
    assert not list((tmp_path / "store" / ".rounds").iterdir())


@pytest.mark.parametrize(
    ("cores", "cost", "cut"),
    [(16, 36_000, (3600, 20)), (256, 36_000, (3840, 3)), (4096, 36_000, (4096, 1)),
     (256, 100, (100, 1)), (2, 100, (16, 1)), (2, 1000, (100, 12))],
)  # fmt: skip
def test_rounds_have_work_for_all_cores_of_a_cluster(cores, cost, cut, monkeypatch):
    monkeypatch.setattr(driver, "cores_of", lambda spark: cores)
    monkeypatch.setattr(driver, "is_local", lambda spark: False)
    assert driver.cut_of(None, cost, 10**6, None) == cut


@pytest.mark.slow
def test_a_table_whose_sweep_was_killed_is_not_read_and_told_of(tmp_path, monkeypatch, capsys):
    store, grid = f"file:{tmp_path}/store", sweep.grid(members=[2, 3])
    sweep.run(grid, STRATEGIES, name="table", to=store)
    states = Store._set_state

    def killed(self, what):
        if what["whole"]:
            raise KeyboardInterrupt
        states(self, what)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Store, "_set_state", killed)
        sweep.run(sweep.grid(members=[2, 4]), STRATEGIES, name="table", to=store)
    for named in (f"{store}/table.parquet", tmp_path / "store" / "table.parquet"):
        with pytest.raises(sweep.SweepError, match="is no whole table"):
            sweep.Table(named).records()
    capsys.readouterr()
    table = sweep.run(grid, STRATEGIES, name="table", to=store)
    assert "table.parquet is not whole" in capsys.readouterr().err
    assert digest(read(table)) == digest(plain(grid))
    state = tmp_path / "store" / "table.parquet.state"
    for to in (store, tmp_path / "store"):
        shutil.rmtree(state)  # killed while it writes the state
        (state / "_temporary" / "0").mkdir(parents=True)
        with pytest.raises(sweep.SweepError, match="is no whole table"):
            sweep.Table(f"{store}/table.parquet").records()
        assert digest(read(sweep.run(grid, STRATEGIES, name="table", to=to))) == digest(plain(grid))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("members", "name"),
    [([2, 4], "table"), ([2, 3], "table"), ([2, 3], "another")],
    ids=["another question", "the same one", "the same one for another table"],
)
def test_two_sweeps_at_the_same_time_leave_whole_tables(
    members, name, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(driver, "PAUSES", (0.01,))
    store, grid = f"file:{tmp_path}/store", sweep.grid(members=[2, 3])
    other, counted, written = sweep.grid(members=members), Store._counted, []

    def while_another_writes(self, place, *more):
        if place == self.path and not written:
            written.append(place)
            sweep.run(other, STRATEGIES, name=name, to=store)
        return counted(self, place, *more)

    monkeypatch.setattr(Store, "_counted", while_another_writes)
    left = tmp_path / "store" / ".rounds" / "of-another-version" / "notes"
    left.mkdir(parents=True)
    (left / "1.txt").write_text('{"time": 1e12, "rounds": [[1, 2, 3]]}')
    table = sweep.run(grid, STRATEGIES, name="table", to=store)
    assert "this one tries again" in capsys.readouterr().err and written
    assert digest(read(table)) == digest(plain(grid))
    assert list((tmp_path / "store" / ".rounds").iterdir()) == [left.parent]


@pytest.mark.slow
def test_a_state_that_another_sweep_takes_away_is_written_again(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(driver, "PAUSES", (0.01,))
    put, vanished = Store._put, []

    def vanishing(self, place, what):
        if place.endswith(".state") and not vanished:
            vanished.append(place)
            raise RuntimeError(
                "java.io.FileNotFoundException: File .../_temporary/0 does not exist"
            )
        put(self, place, what)

    monkeypatch.setattr(Store, "_put", vanishing)
    grid = sweep.grid(members=[2, 3])
    table = sweep.run(grid, STRATEGIES, name="table", to=f"file:{tmp_path}/store")
    assert "this one tries again" in capsys.readouterr().err
    assert vanished and digest(read(table)) == digest(plain(grid))


@pytest.mark.slow
def test_a_note_that_cannot_be_written_is_not_another_sweeps_work(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(driver, "PAUSES", (0.01,))
    note, grid, store = Store._note, sweep.grid(members=[2, 3]), f"file:{tmp_path}/store"

    def full(self, done=None):
        if done:
            raise OSError("disk full")
        note(self)

    with monkeypatch.context() as patch, pytest.raises(OSError, match="disk full"):
        patch.setattr(Store, "_note", full)
        sweep.run(grid, STRATEGIES, name="table", to=store)
    assert "another sweep writes" not in capsys.readouterr().err
    for to in (None, store):  # notes and names take no numbers of NumPy
        numbers = {"limit": np.float32(60), "slices": np.int64(2)}
        table = sweep.run(grid, STRATEGIES, name="table", to=to or tmp_path, **numbers)
        assert digest(read(table)) == digest(plain(grid))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["", "file:"])
def test_what_is_no_table_is_not_replaced(kind, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "TRIES", 1)
    mine = tmp_path / "table.parquet" / "mine.txt"
    mine.parent.mkdir()
    mine.write_text("precious")
    with pytest.raises(sweep.SweepError, match="table.parquet is there and no table of a sweep"):
        sweep.run(sweep.grid(members=2), STRATEGIES, name="table", to=f"{kind}{tmp_path}")
    assert mine.read_text() == "precious"
    mine.unlink()
    for to in ("", "file:", "", "file:"):  # each takes the place of the other
        assert len(sweep.run(sweep.grid(members=2), ["range"], name="table", to=f"{to}{tmp_path}"))


@pytest.mark.slow
def test_what_other_sweeps_left_is_told_and_removed_after_a_week(tmp_path, capsys):
    place = tmp_path / "store [1] {a}"
    store, left = f"file:{place}", place / ".rounds"
    for name, days in ("old", 8), ("young", 6):
        (left / name / "notes").mkdir(parents=True)
        note = {"time": time.time() - days * 86400, "rounds": []}
        (left / name / "notes" / "1.txt").write_text(json.dumps(note))
    sweep.run(sweep.grid(members=[2, 3]), STRATEGIES, name="table", to=store)
    said = capsys.readouterr().err
    assert f"removed what a killed sweep left: {store}/.rounds/old" in said
    assert f"another sweep works in {store}/.rounds/young, or was killed there after" in said
    assert [folder.name for folder in left.iterdir()] == ["young"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("store", "told"),
    [
        ("hdfs://no-such-host.invalid/t", "no host is called no-such-host.invalid"),
        ("hdfs://127.0.0.1:1/t", "nothing answers there"),
        ("s3a://bucket/t", "its connector (org.apache.hadoop.fs.s3a.S3AFileSystem) is not among"),
        ("nosuch://bucket/t", "Spark knows no file system called nosuch"),
        ("hdfs:/t", "it names no host: hdfs:"),
        (f"file:{__file__}", "Parent path is not a directory"),
        ("http://127.0.0.1:1/t", "Spark cannot use it (UnsupportedOperationException)"),
    ],
)
def test_a_store_that_cannot_be_used_is_told_in_a_line_before_the_sweep(store, told, monkeypatch):
    monkeypatch.setattr(driver, "jobs", None)
    with pytest.raises(sweep.SweepError) as error:
        sweep.run(sweep.grid(members=2), STRATEGIES, name="table", to=store)
    assert str(error.value).startswith(f"{store}: ") and told in str(error.value)
    assert "\n" not in str(error.value) and "--tables" in str(error.value)
    with pytest.raises(sweep.SweepError, match=r"^[^\n]*$"):
        sweep.Table(f"{store}/table.parquet").records()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12 than",
            "have Python 3.12",
        ),
        ("ModuleNotFoundError: No module named 'pyarrow'", "has no pyarrow"),
        ('java.io.IOException: Cannot run program "/no/python": error=2', "Python '/no/python'"),
    ],
)
def test_what_is_wrong_with_python_there_is_one_line(said, told):
    line = probe.python_problem(f"Job aborted\n at org.apache\n{said}\n at scala")
    assert told in line and "\n" not in line


@pytest.mark.slow
def test_a_package_that_executors_lack_is_told_before_the_sweep(monkeypatch):
    monkeypatch.setattr(probe, "NEEDED", ("numpy", "no_such_package"))
    with pytest.raises(sweep.SweepError, match="has no no_such_package: .*spark.archives"):
        probe.ask_executors(session(), None)


# ---- a cluster that shares nothing ---------------------------------------------------------------

MOUNTS = ["unshare", "-rm", "sh", "-c"]


def private_mounts() -> bool:
    """Whether processes can be given folders of their own here."""
    test = [*MOUNTS, "mount -t tmpfs none /mnt"]
    return (
        bool(shutil.which("unshare")) and not subprocess.run(test, capture_output=True).returncode
    )


@contextmanager
def private(folder: Path):
    """A program that runs its arguments where ``folder`` is another, empty one."""
    script = folder.with_name("private.sh")
    script.write_text(
        f'#!/bin/sh\nexec unshare -rm sh -c \'mount -t tmpfs none "$0"; exec "$@"\' '
        f'"{folder}" "$@"\n'
    )
    script.chmod(0o755)
    yield script


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory):
    """The URI of a folder in HDFS: a name node and a data node from Hadoop's published jars."""
    place, port = tmp_path_factory.mktemp("hdfs"), free_port()
    own = {
        "dfs.permissions.enabled": "false",
        "dfs.namenode.http-address": "127.0.0.1:0",
        "hadoop.tmp.dir": place / "tmp",
    }
    manager = ["org.apache.hadoop.mapreduce.MiniHadoopClusterManager", "-nomr", "-format"]
    manager += ["-nnport", str(port), *(f"-D{name}={own[name]}" for name in own)]
    with hadoop(place, port, manager):
        yield f"hdfs://127.0.0.1:{port}/tables"


@pytest.fixture
def yarn(hdfs, tmp_path):
    """(a folder for HADOOP_CONF_DIR, a node manager): YARN from Hadoop's published jars."""
    place, ports = tmp_path / "yarn", [free_port() for _ in range(3)]
    place.mkdir()
    manager, node = "yarn.resourcemanager", "yarn.nodemanager"
    fifo = "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
    write_settings(place / "core-site.xml", {"fs.defaultFS": hdfs})
    write_settings(
        place / "yarn-site.xml",
        {
            f"{manager}.address": f"127.0.0.1:{ports[0]}",
            f"{manager}.resource-tracker.address": f"127.0.0.1:{ports[1]}",
            f"{manager}.scheduler.address": f"127.0.0.1:{ports[2]}",
            f"{manager}.admin.address": "127.0.0.1:0",
            f"{manager}.webapp.address": "127.0.0.1:0",
            f"{manager}.scheduler.class": fifo,  # needs no file of queues
            f"{manager}.nodemanagers.heartbeat-interval-ms": 100,
            f"{node}.hostname": "127.0.0.1",
            f"{node}.address": "127.0.0.1:0",
            f"{node}.localizer.address": "127.0.0.1:0",
            f"{node}.webapp.address": "127.0.0.1:0",
            f"{node}.local-dirs": place / "local",
            f"{node}.log-dirs": place / "logs",
            # Java asks for more memory than it uses; this machine's disk may be full.
            f"{node}.vmem-check-enabled": "false",
            f"{node}.disk-health-checker.enable": "false",
        },
    )
    package = "org.apache.hadoop.yarn.server"
    programs = (
        [f"{package}.resourcemanager.ResourceManager"],
        [f"{package}.nodemanager.NodeManager"],
    )
    with hadoop(place, ports[0], *programs) as (_, node_manager):
        yield place, node_manager


def write_settings(file: Path, values: dict) -> None:
    rows = [f"<name>{name}</name><value>{values[name]}</value>" for name in values]
    properties = "".join(f"<property>{row}</property>" for row in rows)
    file.write_text(f"<configuration>{properties}</configuration>")


@contextmanager
def hadoop(place: Path, port: int, *programs: list[str]):
    """Programs of Hadoop's jars, from when ``port`` answers; ``place`` has settings, takes files."""
    command = [
        f"{java_home()}/bin/java", *BRIEF, "-Xmx400m", f"-Dtest.build.data={place}",
        "-cp", f"{place}:{hadoop_jars()}/*",
    ]  # fmt: skip
    environment = os.environ | {"JAVA_HOME": java_home()}
    with (place / "log").open("w") as log:
        output = dict(stdout=log, stderr=log, env=environment, cwd=place)
        processes = [subprocess.Popen([*command, *program], **output) for program in programs]
    try:
        deadline = time.monotonic() + 120
        while True:
            running = all(process.poll() is None for process in processes)
            assert running and time.monotonic() < deadline, (place / "log").read_text()
            with socket.socket() as probe_socket:
                if probe_socket.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.3)
        yield processes
    finally:
        for process in processes:
            if process.poll() is None:
                kill_all(process)
            process.wait()


def kill_all(process: subprocess.Popen) -> None:
    """Kill a program and those that it has started."""
    victim = psutil.Process(process.pid)
    for one in [*victim.children(recursive=True), victim]:
        with suppress(psutil.NoSuchProcess):
            one.kill()


def hadoop_jars() -> Path:
    """Hadoop's mini cluster, of the version that Spark has, from Maven's repository."""
    [client] = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    version = client.stem.rpartition("-")[2]
    target = Path(__file__).parents[2] / "oracle" / "hadoop" / "target" / version
    if not any(target.glob("bcpkix-*.jar")):  # the last of those that are asked for
        if not shutil.which("mvn"):
            pytest.skip("needs Maven for Hadoop's jars")
        pom = Path(__file__).parents[2] / "oracle" / "hadoop" / "pom.xml"
        command = ["mvn", "-q", "-B", "-f", str(pom), f"-Dhadoop.version={version}",
                   "dependency:copy-dependencies", f"-DoutputDirectory={target}"]  # fmt: skip
        answer = subprocess.run(command, capture_output=True, text=True)
        if answer.returncode:
            pytest.skip("Maven cannot fetch Hadoop's jars")
    return target


@pytest.fixture(scope="module")
def apart(tmp_path_factory):
    """(URL of a master, folder that its workers do not see, their processes)."""
    if not private_mounts():
        pytest.skip("this machine gives no private mounts")
    place = tmp_path_factory.mktemp("apart")
    hidden = place / "driver"
    hidden.mkdir()
    with private(hidden) as script, standalone(place, [script]) as (url, workers):
        yield url, hidden, workers


def start(hidden: Path, grids: dict[str, dict], **environment: str) -> subprocess.Popen:
    """A driver that plays a grid for each place, and prints the digest of its table or the error."""
    environment = os.environ | {"PYTHONPATH": TESTS, "ASSIGNLAB_OUTPUTS": str(hidden)} | environment
    environment.pop("ASSIGNLAB_RUN_FOLDER", None)
    # Tasks enough that a large sweep is seen before its last one, however fast the machine is.
    asked = [
        ({name: list(values) for name, values in grid.items()}, to, 4 if grid is GRID else 16)
        for to, grid in grids.items()
    ]
    return subprocess.Popen(
        [sys.executable, "-c", SWEEP, json.dumps(asked)],
        env=environment,
        cwd=Path(__file__).parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def answers(process: subprocess.Popen) -> tuple[list[str], str]:
    """What a driver prints, a line for each place, and what it says on stderr."""
    out, said = process.communicate(timeout=600)
    assert process.returncode == 0, said
    return out.splitlines(), said


def wait_for_progress(process: subprocess.Popen, to: str) -> None:
    """Until a sweep that sends to ``to`` has done something, and not all."""
    line = ""
    while f"sends to {to}" not in line:
        line = process.stderr.readline()
        assert line, "the driver ended before"
    while "scenarios, " not in line:
        line = process.stderr.readline()
        assert line and "100%" not in line, "the sweep ended before it was disturbed"


@pytest.mark.slow
def test_executors_that_share_nothing_give_the_same_table_whatever_is_killed(apart, hdfs):
    """The second driver plays four sweeps: what it refuses does not disturb what it does next."""
    url, hidden, workers = apart
    killed, folder = f"{hdfs}/killed", hidden / "tables"
    first = start(hidden, {killed: LARGE}, SPARK_MASTER=url)
    wait_for_progress(first, killed)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    with pytest.raises(sweep.SweepError, match="no table of a sweep at"):
        sweep.Table(f"{killed}/table.parquet").records()
    grids = {str(folder): GRID, f"file:{folder}": GRID, hdfs: GRID, killed: LARGE}
    second = start(hidden, grids, SPARK_MASTER=url)
    wait_for_progress(second, killed)
    kill_all(workers[0])
    (unseen, nowhere, small, large), _ = answers(second)
    assert "--tables" in unseen and "0 of 40 scenarios arrived" in nowhere
    assert small == digest(plain(sweep.grid(**GRID)))
    assert large == digest(plain(sweep.grid(**LARGE)))


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("grpc_status"), reason="needs the extra 'connect'")
def test_a_connect_server_on_the_other_side_gives_the_same_table(apart, hdfs, tmp_path):
    _, hidden, _ = apart
    with private(hidden) as script, connect_server(tmp_path, [script]) as (_, address):
        found, said = answers(start(hidden, {f"{hdfs}/connect[1]": GRID}, SPARK_REMOTE=address))
    assert found == [digest(plain(sweep.grid(**GRID)))]
    assert "100%" in said


# ---- YARN ----------------------------------------------------------------------------------------


def test_sockets_are_not_unix_ones_where_their_path_would_be_too_long(tmp_path):
    name = "spark.python.unix.domain.socket.enabled"
    assert settings("yarn", tmp_path)[name] == "false"
    assert settings("local[2]", tmp_path)[name] == str(os.name == "posix").lower()


@pytest.mark.slow
@pytest.mark.skipif("ASSIGNLAB_YARN" not in os.environ, reason="a minute: ASSIGNLAB_YARN=1 runs it")
def test_yarn_gives_the_same_table_with_a_shipped_python_and_a_killed_container(
    yarn, hdfs, tmp_path
):
    folder, node_manager = yarn
    grid = LARGE | {"seed": range(1600)}
    options = ["--archives", f"{packed_python(tmp_path)}#environment"]
    options += ["--conf", f"spark.yarn.jars=local:{Path(pyspark.__file__).parent}/jars/*"]
    process = start(
        tmp_path,
        {"hdfs:///yarn": grid},
        SPARK_MASTER="yarn",
        SPARK_LOCAL_IP="127.0.0.1",
        HADOOP_CONF_DIR=str(folder),
        PYSPARK_SUBMIT_ARGS=shlex.join([*options, "pyspark-shell"]),
        PYSPARK_PYTHON="./environment/bin/python",
    )
    wait_for_progress(process, "hdfs:///yarn")
    started = psutil.Process(node_manager.pid).children(recursive=True)
    executor = "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend"
    executors = [one for one in started if executor in one.cmdline()]
    assert len(executors) == 2
    executors[0].kill()
    assert answers(process)[0] == [digest(plain(sweep.grid(**grid)))]


def packed_python(folder: Path) -> Path:
    """An archive whose ``bin/python`` is this Python, with its packages but without the library."""
    python = folder / "python"
    paths = os.pathsep.join(["$PYTHONPATH", *site.getsitepackages()])
    # Without "site" no .pth file is read, which an editable installation is.
    python.write_text(f'#!/bin/sh\nPYTHONPATH="{paths}" exec "{sys.executable}" -S "$@"\n')
    python.chmod(0o755)
    with tarfile.open(folder / "environment.tar.gz", "w:gz") as archive:
        archive.add(python, "bin/python")
    return folder / "environment.tar.gz"
