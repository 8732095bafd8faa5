"""What several tests ask for: one Spark session, a folder for tables, ours beside an original."""

import pytest

from assignlab.assignors.answer import answer
from assignlab.local.java import NoJava, java_home
from assignlab.proof.originals import Originals, OriginalsUnavailable


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


@pytest.fixture(scope="module", params=["ours", "the original"])
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
