"""A Spark that does not answer is an error with its address, soon; the user's own settings win."""

import os
import socket
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pyspark
import pytest
from test_cluster import LARGE, free_port, running

from assignlab.local.java import java_home
from assignlab.local.project import LENDER_VARIABLE, OUTPUTS_VARIABLE, RUN_ID_VARIABLE
from assignlab.runner.papermill import Processes
from assignlab.sweep import spark as sparks
from assignlab.sweep.spark import SparkDidNotStart, own_settings, reach, settings
from conftest import java_missing

needs_java = pytest.mark.skipif(java_missing(), reason="needs Java 17 or later")
needs_connect = pytest.mark.skipif(not find_spec("grpc_status"), reason="needs the extra 'connect'")


def asked(folder, **environment) -> subprocess.Popen:
    """A sweep in a process of its own, with a log of Spark that nobody else writes to."""
    own = {"ASSIGNLAB_RUN_FOLDER": str(folder), OUTPUTS_VARIABLE: str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", LARGE],
        env=os.environ | own | environment,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_standalone_master_that_does_not_listen(monkeypatch, tmp_path):
    port = free_port()
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(SparkDidNotStart, match=f"spark://127.0.0.1:{port} .*refused"):
        sparks.start(f"spark://127.0.0.1:{port}")


@pytest.mark.parametrize("url", ["spark://127.0.0.1", "spark://127.0.0.1:22x", "spark://:7077"])
def test_a_standalone_master_without_a_port(monkeypatch, tmp_path, url):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(SparkDidNotStart, match=f"^'{url}' [^\n]*spark://HOST:PORT, yarn[^\n]*$"):
        sparks.start(url)


def test_kubernetes_without_an_image_is_refused_before_spark_waits_for_it(monkeypatch, tmp_path):
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    with pytest.raises(SparkDidNotStart, match=f"^[^\n]*--conf {sparks.IMAGE}=IMAGE[^\n]*$"):
        sparks.start("k8s://https://127.0.0.1:1")
    sparks.ensure_image("k8s://https://x:1", {"spark.kubernetes.executor.container.image": "spark"})


def test_what_kubernetes_says_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setattr(sparks, "_log_before", 0)
    refused = "KubernetesClientException: An error has occurred.\n\tat io.fabric8\n"
    refused += (
        "Caused by: java.io.IOException: /10.0.0.1\nCaused by: Connection refused\n\tat java\n"
    )
    forbidden = "KubernetesClientException: POST at: https://x. Message: pods is forbidden. Received status: S"
    assert "asked (Connection refused)" in sparks.kubernetes_problem(refused)
    assert sparks.kubernetes_problem(forbidden).startswith("pods is forbidden (")
    assert sparks.kubernetes_problem("java.lang.OutOfMemoryError") is None
    log = tmp_path / "driver.log"
    log.write_text("ERROR: Max number of executor failures (4) reached\n\tat org.apache\n")
    assert sparks.executors_fail(log).startswith("Max number of executor failures (4) reached. ")
    assert sparks.last_lines(log).endswith("reached")


def test_of_a_log_that_spark_ended_with_nothing_is_told_that_is_older_than_the_session(
    monkeypatch, tmp_path
):
    monkeypatch.setenv(OUTPUTS_VARIABLE, str(tmp_path))
    log = tmp_path / "spark" / "driver.log"
    log.parent.mkdir()
    log.write_text("of another session\n")
    monkeypatch.setattr(sparks, "_log_before", log.stat().st_size)
    with log.open("a") as more:
        more.write("OutOfMemoryError\n")
    gone = SimpleNamespace(sparkContext=SimpleNamespace(master="local[1]"))
    monkeypatch.setattr(sparks, "forget", lambda context: None)
    with (
        pytest.raises(sparks.SparkEnded, match="OutOfMemoryError$") as ended,
        sparks.answering(gone),
    ):
        raise RuntimeError
    assert "of another session" not in str(ended.value)


@pytest.mark.slow
@needs_java
def test_what_is_no_master_is_told_in_a_line_and_what_is_set_then_counts(tmp_path):
    wrong = ["127.0.0.1:7077", "sparkk://x:1"]
    script = f"""
import os
from assignlab import sweep
from assignlab.sweep.spark import SparkDidNotStart, session
for url in {wrong}:
    os.environ["SPARK_MASTER"] = url
    try:
        sweep.run(sweep.grid(), ["range@2.0"])
    except SparkDidNotStart as error:
        print(error)
os.environ["SPARK_MASTER"] = "local[1]"
os.environ["PYSPARK_SUBMIT_ARGS"] = "--conf spark.mine=yes pyspark-shell"
print(session().sparkContext.getConf().get("spark.mine"))
"""
    own = {OUTPUTS_VARIABLE: str(tmp_path), "ASSIGNLAB_RUN_FOLDER": str(tmp_path)}
    command = [sys.executable, "-c", script]
    answer = subprocess.run(command, env=os.environ | own, capture_output=True, text=True)
    *told, last = answer.stdout.splitlines()
    assert last == "yes", answer.stderr
    for line, url in zip(told, wrong, strict=True):
        assert line.startswith(f"'{url}' (SPARK_MASTER) is no ")


@pytest.mark.slow
@needs_connect
def test_what_is_no_address_of_a_connect_server_is_told_in_a_line(tmp_path):
    said = asked(tmp_path, SPARK_REMOTE="x:1").communicate(timeout=120)[1].splitlines()[-1]
    assert "SparkDidNotStart: 'x:1' (SPARK_REMOTE) is no " in said


@pytest.mark.slow
@needs_java
def test_a_cluster_without_free_cores_is_told_while_a_sweep_waits(tmp_path):
    """A master without workers takes everybody and gives nothing."""
    port = free_port()
    url = f"spark://127.0.0.1:{port}"
    master = ["org.apache.spark.deploy.master.Master", "--host", "127.0.0.1"]
    master += ["--port", str(port), "--webui-port", "0"]
    with running(tmp_path / "master.log", "New state: ALIVE", *master):
        quick = "from assignlab.sweep import spark; spark.WAIT_TOLD = 0.5\n"
        process = subprocess.Popen(
            [sys.executable, "-c", quick + LARGE],
            env=os.environ | {"ASSIGNLAB_RUN_FOLDER": str(tmp_path), "SPARK_MASTER": url},
            stderr=subprocess.PIPE,
            text=True,
        )
        said = next((line for line in process.stderr if "no free cores" in line), "")
        process.kill()
        process.communicate()
    assert "waits since" in said and "s for Spark's executors" in said


def test_one_of_several_masters_that_listens_suffices():
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach(f"spark://127.0.0.1:{free_port()},127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.slow
def test_what_a_connect_client_lacks_is_named_with_what_installs_it(tmp_path):
    script = tmp_path / "sweep.py"  # a file: PySpark takes what "-c" runs for tests of its own
    script.write_text(
        "import sys; sys.modules['grpc'] = None\n"
        "from assignlab.sweep.spark import session; session()"
    )
    own = {"SPARK_REMOTE": "sc://127.0.0.1:1"}
    command = [sys.executable, str(script)]
    said = subprocess.run(command, env=os.environ | own, capture_output=True, text=True).stderr
    assert f"-m pip install 'pyspark[connect]=={pyspark.__version__}' (" in said.splitlines()[-1]


@pytest.mark.slow
@needs_connect
def test_a_connect_server_that_does_not_listen(tmp_path):
    address = f"sc://127.0.0.1:{free_port()}"
    process = asked(tmp_path, SPARK_REMOTE=address)
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 1
    assert f"no Spark Connect server answers at {address}" in said.splitlines()[-1]


@pytest.mark.slow
@needs_connect
def test_a_connect_server_that_accepts_and_says_nothing():
    """In a process of its own: one that has a Spark already takes no second one."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"sc://127.0.0.1:{server.getsockname()[1]}"
        asking = (
            f"from assignlab.sweep import spark; spark.PATIENCE = 0.5; spark.connect({address!r})"
        )
        answer = subprocess.run(
            [sys.executable, "-c", asking], capture_output=True, text=True, timeout=120
        )
    assert answer.returncode == 1
    assert f"SparkDidNotStart: no Spark Connect server answers at {address}" in answer.stderr


@needs_java
@pytest.mark.slow
@pytest.mark.parametrize("whose", ["its own", "lent"])
def test_a_java_machine_that_is_killed_in_mid_sweep(tmp_path, whose):
    """The next sweep of the process has a new one; one that is lent serves two processes before."""
    script = f"""
import os, signal, sys, threading
from assignlab import sweep
from assignlab.sweep.driver import told_progress
from assignlab.sweep.spark import SparkEnded, session

def machine():
    return session()._jvm.java.lang.ProcessHandle.current().pid()

print(machine())
if len(sweep.run(sweep.grid(seed=range(3)), ["range@2.0"])) == 9:
    print("whole")
if sys.argv[1:] == ["no more"]:
    sys.exit()

def kill():
    os.kill(machine(), signal.SIGKILL)

def killing(*asked):
    threading.Timer(0.3, kill).start()
    return told_progress(*asked)

sweep.driver.told_progress = killing
try:
    exec({LARGE!r})
except SparkEnded as error:
    print(str(error).splitlines()[0])
sweep.driver.told_progress = told_progress
table = sweep.run(sweep.grid(seed=range(3)), ["range@2.0"])
print(len(table.frame()))
"""
    own = {"ASSIGNLAB_RUN_FOLDER": str(tmp_path), "SPARK_MASTER": "local[1]"}
    nobody = {LENDER_VARIABLE: str(tmp_path / "nobody listens here")}

    def said(run_id, *words):
        answer = subprocess.run(
            [sys.executable, "-c", script, *words],
            env=os.environ | own | nobody | processes.lending | {RUN_ID_VARIABLE: run_id},
            capture_output=True,
            text=True,
            timeout=300,
        )
        processes.end(run_id, well=True)
        return answer.stdout.splitlines()

    with (tmp_path / "lock").open("w") as lock:
        processes = Processes(lock.fileno(), tmp_path, lend=whose == "lent")
        try:
            first, whole = said("first", "no more") if whose == "lent" else ("", "whole")
            machine, *lines = said("second")
        finally:
            processes.stop()
    assert lines[0] == whole == "whole"
    assert (machine == first) == (whose == "lent")
    assert lines[1].startswith("Spark's Java machine has ended") and lines[2:] == ["9"]


def test_what_the_user_says_to_spark_wins(monkeypatch, tmp_path):
    lines = ["# ours", "spark.driver.memory  5g", "spark.local.dir=/fast, disk", "spark.x:y", ""]
    (tmp_path / "spark-defaults.conf").write_text("\n".join(["# café", *lines]), "latin-1")
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("SPARK_DRIVER_MEMORY", "7g")
    asked = {"spark.driver.memory": "5g", "spark.local.dir": "/fast, disk", "spark.x": "y"}
    assert own_settings() == asked
    (tmp_path / "spark-defaults.conf").unlink()
    assert own_settings() == {"spark.driver.memory": "7g"}
    monkeypatch.setenv(
        "PYSPARK_SUBMIT_ARGS", "--master yarn --name mine --conf spark.x='a =b' pyspark-shell"
    )
    assert own_settings() == {
        "spark.driver.memory": "7g", "spark.master": "yarn", "spark.app.name": "mine",
        "spark.x": "a =b",
    }  # fmt: skip
    (tmp_path / "mine.conf").write_text("spark.y 2\nspark.z 3")
    options = f"--properties-file={tmp_path}/mine.conf -c spark.z=4 pyspark-shell"
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", options)
    assert own_settings() == {"spark.driver.memory": "7g", "spark.y": "2", "spark.z": "4"}
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf 'spark.x=1 pyspark-shell")
    with pytest.raises(SparkDidNotStart, match="^PYSPARK_SUBMIT_ARGS: No closing quotation in "):
        own_settings()


@needs_java
@pytest.mark.slow
def test_what_spark_submit_is_told_counts_and_spark_master_before_it(tmp_path):
    script = tmp_path / "asks.py"
    script.write_text(
        "import os\n"
        "from assignlab.sweep.spark import session\n"
        "def ask():\n"
        "    found = session().sparkContext\n"
        "    print(found.master, found.getConf().get('spark.executor.memory'))\n"
        "    found.stop()\n"
        "ask()\n"
        "os.environ['SPARK_MASTER'] = 'local[2]'\n"
        "ask()\n"
    )
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-submit"), "--master", "local[1]"]
    own = {"PYSPARK_PYTHON": sys.executable, "JAVA_HOME": java_home()}
    answer = subprocess.run(
        [*command, "--conf", "spark.executor.memory=777m", str(script)],
        env=os.environ | own, capture_output=True, text=True,
    )  # fmt: skip
    said = answer.stdout.splitlines()[-2:]
    assert said == ["local[1] 777m", "local[2] 777m"], answer.stderr


@needs_java
@pytest.mark.slow
def test_in_a_session_of_the_users_own_tasks_have_this_python(tmp_path):
    """As in JupyterLab, whose PATH names another."""
    script = (
        "from pyspark.sql import SparkSession\n"
        "SparkSession.builder.master('local[1]').getOrCreate()\n"
        "from assignlab import sweep\n"
        "scenarios = sweep.grid(members=[2], topics=[1], partitions=[2])\n"
        "print(len(sweep.run(scenarios, ['roundrobin'])))\n"
    )
    (tmp_path / "python3").write_text("#!/bin/sh\nexit 1\n")
    (tmp_path / "python3").chmod(0o755)
    own = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "JAVA_HOME": java_home()}
    given = {name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"}
    answer = subprocess.run(
        [sys.executable, "-c", script], env={**given, OUTPUTS_VARIABLE: str(tmp_path), **own},
        capture_output=True, text=True,
    )  # fmt: skip
    assert answer.stdout == "3\n", answer.stderr


@pytest.mark.parametrize("name", ["a:b", 'a"b', "a'b"])
def test_classes_are_kept_where_their_path_means_nothing_else_to_java(monkeypatch, tmp_path, name):
    monkeypatch.setattr(sparks, "CLASSES", tmp_path / name)
    assert not sparks.keep_classes(lambda: pytest.fail("asked for nothing"))
    assert "spark.driver.extraJavaOptions" not in settings("local[2]", tmp_path)
