"""What several tests ask for: a Spark session, a folder for tables, ours beside an original, a group."""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings
from xdist.scheduler import LoadFileScheduling

from assignlab.assignors.answer import answer
from assignlab.local.java import BRIEF, NoJava, java_home
from assignlab.local.project import BEGUN, memory
from assignlab.proof.originals import Originals, OriginalsUnavailable
from assignlab.sweep.spark import CLASSES

# Thousands of documents are held at a time: looking through them for circles took most of the time.
gc.set_threshold(100_000, 50, 100)

# Set before Spark, or a program that starts it, is asked for.
BRIEF_JAVA = " ".join(BRIEF)
if CLASSES.exists() and " " not in str(CLASSES):
    BRIEF_JAVA += f" -XX:SharedArchiveFile={CLASSES}"
os.environ.setdefault("SPARK_LAUNCHER_OPTS", " ".join(BRIEF))
for variable in ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS"):
    os.environ.setdefault(variable, BRIEF_JAVA)
os.environ["SPARK_SUBMIT_OPTS"] += f' -Dspark.executor.extraJavaOptions="{BRIEF_JAVA}"'

SLOW = {"spark", "cluster", "originals", "java", "judged", "results", "ran", "copy", "zipped"} | {
    "compared", "fresh"
}  # fmt: skip
"""Fixtures that start a JVM, a kernel, an original or a copy of the project, or play for seconds."""


settings.register_profile("quick", max_examples=20)
"""For the tests of every save; the others draw as many examples as they say."""


OF_ONE_SPARK = ("test_aggregate", "test_interrupted", "test_sweep", "test_timeline_sweep")
"""The files whose tests ask for Spark are tested by one process: another would start a Spark for each."""


LONG = (
    "test_stores", "test_notebooks", *OF_ONE_SPARK, "test_no_answer",
    "test_judge", "test_cluster", "test_compiled",
    "test_recommend", "test_runner", "test_golden", "test_live_originals",
    "test_reality", "test_other_clients", "test_timeline", "test_jvm", "test_contract",
)  # fmt: skip
"""The files that take longest begin first, or one core waits at the end: of those at a time each
takes one of the first row and then one of the second, and who has ended takes the next."""


AT_ONCE, EACH = 4, 2 * 2**30
"""How many files are tested at a time on two cores, since many wait for processes that they start or
kill; and the memory that one takes, with its Spark."""


def pytest_xdist_auto_num_workers() -> int:
    """What ``-n auto`` means here: fewer where the memory is short."""
    return max(1, min(AT_ONCE, memory() // EACH))


class Files(LoadFileScheduling):
    """Deals whole files to the processes, those of `OF_ONE_SPARK` as if they were one."""

    def _split_scope(self, nodeid):
        file = super()._split_scope(nodeid)
        return "of one Spark" if Path(file).stem in OF_ONE_SPARK else file


def pytest_xdist_make_scheduler(config, log):
    """Who tests which file."""
    return Files(config, log) if config.option.dist == "loadfile" else None


def pytest_collection_modifyitems(items):
    """A test that asks for one of those is none for every save."""
    items.sort(key=lambda item: LONG.index(item.path.stem) if item.path.stem in LONG else len(LONG))
    for item in items:
        if SLOW & set(item.fixturenames):
            item.add_marker(pytest.mark.slow)


def java_missing() -> bool:
    """Whether this machine has no Java that Spark runs on."""
    try:
        java_home()
    except NoJava:
        return True
    return False


@pytest.fixture(scope="session")
def spark():
    """The session that sweeps use too, on two cores."""
    if java_missing():
        pytest.skip("needs Java 17 or later")
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("SPARK_REMOTE", raising=False)
        environment.setenv("SPARK_MASTER", "local[2]")
        from assignlab.sweep.spark import session

        running = session()
    yield running
    running.stop()


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The folder where the sweeps of one test leave their tables."""
    monkeypatch.setenv("ASSIGNLAB_RUN_FOLDER", str(tmp_path))
    return tmp_path


@pytest.fixture(
    scope="module", params=["ours", pytest.param("the original", marks=pytest.mark.slow)]
)
def ask(request):
    """Answers a group document: our port, or the original, where its tools are there."""
    if request.param == "ours":
        yield answer
        return
    with Originals() as originals:

        def asked(document):
            try:
                return originals.ask(document)
            except OriginalsUnavailable as missing:
                pytest.skip(str(missing))

        yield asked


@pytest.fixture(autouse=True)
def no_notebook_has_begun():
    """Each test begins outside of any notebook."""
    BEGUN.clear()


def document(counts, sizes, strategy="range", **fields):
    """A settled classic group: topics with these counts, every member to all of them.

    ``sizes``: what the members hold, a list of ``topic-partition`` words each.
    """
    topics = [{"name": name, "partitions": count} for name, count in counts.items()]
    members = [
        {
            "id": f"c{number}-00000000-0000-4000-8000-00000000000{number}",
            "topics": list(counts),
            "owned": [[word.rpartition("-")[0], int(word.rpartition("-")[2])] for word in words],
            "generation": 1,
            "sub_generation": 1,
        }
        for number, words in enumerate(sizes)
    ]
    found = {"strategy": strategy, "topics": topics, "members": members, "inferred": []}
    return {"group": "billing", "state": "Stable"} | found | fields


EVEN = document({"t": 2}, [["t-0"], ["t-1"]], "sticky", group="even")
ALONE = document({"t": 1}, [["t-0"]], "range", group="alone")
EMPTY = document({"t": 2}, [], group="empty", state="Empty")
RECORDED = Path(__file__).parent / "data" / "groups" / "kafka-4.3.0"
"""Groups that are small, and the folder of recorded ones."""


@pytest.fixture
def range_3_5():
    """Topics of 3 and 5 partitions on 4 members under range: 3/2/2/1."""
    held = [["a-0", "b-0", "b-1"], ["a-1", "b-2"], ["a-2", "b-3"], ["b-4"]]
    return document({"a": 3, "b": 5}, held)
