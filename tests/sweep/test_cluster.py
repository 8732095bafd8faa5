"""The same sweep on a real cluster: a master and two workers, the package shipped as a zip."""

import json
import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pyspark
import pytest
from test_sweep import digest, plain

from assignlab import sweep
from assignlab.local.java import java_home
from conftest import java_missing

pytestmark = pytest.mark.skipif(java_missing(), reason="needs Java 17 or later")

TESTS = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
# Long enough to be killed in its midst.
LARGE = """
from assignlab import sweep
sweep.run(sweep.grid(members=50, partitions=5000, seed=range(6_000)), ["range@2.0"])
"""
STRATEGIES = ["range@2.0", "roundrobin@2.0"]
GRID = dict(members=[2, 5], topics=[1, 4], partitions=[12], seed=range(4))

# Runs in a process of its own, because a process has one Spark only.
SWEEP = """
import json, sys
import pyarrow as pa
from assignlab import sweep
from assignlab.sweep.spark import session
from test_cluster import GRID, STRATEGIES
from test_sweep import digest, read

def where(batches):
    import os, assignlab
    for batch in batches:
        yield pa.RecordBatch.from_pydict({"file": [assignlab.__file__], "home": [os.getcwd()]})

table = sweep.run(sweep.grid(**GRID), STRATEGIES, name="cluster", slices=4)
rows = session().range(4, numPartitions=4).mapInArrow(where, "file string, home string").collect()
print(json.dumps({"digest": digest(read(table)), "places": [[row.file, row.home] for row in rows]}))
session().stop()
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def running(log: Path, ready: str, *arguments: str, prefix=(), cwd: Path | None = None):
    """A Spark daemon, from the moment that its log says ``ready`` until the block is left.

    ``prefix``: the program that starts it.
    """
    spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
    environment = os.environ | {
        "JAVA_HOME": java_home(),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_MEMORY": "600m",  # also that of a Connect server, which wants 450
    }
    # Workers know the package from the zip, or not at all.
    environment.pop("PYTHONPATH", None)
    with log.open("w") as output:
        process = subprocess.Popen(
            [*map(str, prefix), str(spark_class), *arguments],
            stdout=output,
            stderr=output,
            env=environment,
            cwd=cwd,
        )
    try:
        deadline = time.monotonic() + 120
        while not re.search(ready, log.read_text()):
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.2)
        yield process
    finally:
        process.terminate()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def play(folder: Path, **environment: str) -> dict:
    """Run the sweep in a process that finds its Spark in the environment."""
    answer = subprocess.run(
        [sys.executable, "-c", SWEEP],
        env=os.environ | {"ASSIGNLAB_RUN_FOLDER": str(folder), "PYTHONPATH": TESTS} | environment,
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout.splitlines()[-1])


@contextmanager
def standalone(place: Path, prefix=()):
    """(the URL of a master, its two workers of one core each, which ``prefix`` starts)."""
    url = f"spark://127.0.0.1:{free_port()}"
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port"]
    master += [url.rpartition(":")[2], "--webui-port", "0"]
    worker = ["org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0"]
    worker += ["--cores", "1", "--memory", "1g", "--work-dir"]
    joined = "Successfully registered with master"
    with (
        running(place / "master.log", "New state: ALIVE", *master),
        running(place / "1.log", joined, *worker, str(place / "1"), url, prefix=prefix) as one,
        running(place / "2.log", joined, *worker, str(place / "2"), url, prefix=prefix) as two,
    ):
        yield url, [one, two]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The URL of a master with two workers of one core each."""
    with standalone(tmp_path_factory.mktemp("cluster")) as (url, _):
        yield url


def test_a_standalone_cluster_gives_the_same_table(cluster, tmp_path):
    # First here, which compiles: the executors are sent the compiled code too.
    expected = digest(plain(sweep.grid(**GRID), STRATEGIES))
    answer = play(tmp_path, SPARK_MASTER=cluster)
    assert answer["digest"] == expected
    files, homes = zip(*answer["places"], strict=True)
    assert all(re.search(r"/assignlab-\w+\.zip(\.unpacked)?/assignlab/", file) for file in files)
    assert len({Path(home).parts[-3] for home in homes}) == 2, "one of the workers had no task"


@contextmanager
def connect_server(folder: Path, prefix=()):
    """(a Spark Connect server on this machine that works in ``folder``, its address)."""
    settings = {
        "spark.connect.grpc.binding.port": (port := free_port()),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.local.dir": folder / "local",
    }
    command = ["org.apache.spark.deploy.SparkSubmit", "--master", "local[2]", "--class"]
    command += ["org.apache.spark.sql.connect.service.SparkConnectServer"]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    command += ["spark-internal"]
    log, ready = folder / "connect.log", "Spark Connect server started"
    with running(log, ready, *command, prefix=prefix, cwd=folder) as server:
        yield server, f"sc://127.0.0.1:{port}"


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("grpc_status"), reason="needs the extra 'connect'")
def test_spark_connect_gives_the_same_table_until_its_server_is_killed(tmp_path):
    expected = digest(plain(sweep.grid(**GRID), STRATEGIES))
    with connect_server(tmp_path) as (server, address):
        answer = play(tmp_path / "small", SPARK_REMOTE=address)
        large = subprocess.Popen(
            [sys.executable, "-c", LARGE],
            env=os.environ | {"ASSIGNLAB_RUN_FOLDER": str(tmp_path), "SPARK_REMOTE": address},
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in large.stderr:
            if "s left" in line:
                server.kill()
                break
        said = large.communicate(timeout=120)[1]
    assert answer["digest"] == expected
    assert all(".zip" in file for file, _ in answer["places"])
    assert large.returncode == 1
    assert f"server at {address} no longer answers" in said
    assert not list(tmp_path.glob("*.parquet"))
