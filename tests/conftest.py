"""One Spark session for all tests that need one; tables go to a folder of the test."""

import pytest
from assignlab.java import NoJava, java_home


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
        from assignlab.spark import session

        running = session()
    yield running
    running.stop()


@pytest.fixture
def tables(tmp_path, monkeypatch):
    """The folder where the sweeps of one test leave their tables."""
    monkeypatch.setenv("ASSIGNLAB_RUN_FOLDER", str(tmp_path))
    return tmp_path
