"""What an executor does with the package that was shipped to it."""

import os
import stat
import sys
import zipfile
from pathlib import Path

import pytest

from assignlab.sweep import spark
from assignlab.sweep.spark import settings, unpack_shipped
from assignlab.sweep.workplace import locked


@pytest.fixture
def shipped(tmp_path, monkeypatch):
    """The zip on an executor's path, and the folder that it is unpacked to."""
    path = tmp_path / "assignlab-0123456789ab.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("assignlab/__init__.py", "ours = True\n")
    monkeypatch.setattr(sys, "path", [str(path), *sys.path])
    return Path(f"{path}.unpacked")


def test_the_package_is_unpacked_once_for_this_user_alone(shipped):
    unpack_shipped()()
    assert sys.path[0] == str(shipped)
    assert (shipped / "assignlab" / "__init__.py").read_text() == "ours = True\n"
    assert stat.S_IMODE(shipped.stat().st_mode) == 0o700
    sys.path[0] = str(shipped).removesuffix(".unpacked")
    unpack_shipped()()
    assert sys.path[0] == str(shipped) and len(os.listdir(shipped.parent)) == 2


def test_a_folder_that_others_can_write_to_is_not_run(shipped):
    (shipped / "assignlab").mkdir(parents=True)
    (shipped / "assignlab" / "__init__.py").write_text("theirs = True\n")
    shipped.chmod(0o777)
    unpack_shipped()()
    assert sys.path[0] != str(shipped)
    assert (Path(sys.path[0]) / "assignlab" / "__init__.py").read_text() == "ours = True\n"


@pytest.mark.parametrize("master", ["local", "local[2]", "local[2, 4]", "local[*]"])
def test_the_ports_of_a_local_spark_ask_for_a_secret(master, tmp_path):
    assert settings(master, tmp_path)["spark.authenticate"] == "true"


def test_a_comma_in_the_path_makes_no_second_folder(tmp_path):
    assert "," not in settings("local[2]", tmp_path / "a,b")["spark.local.dir"]
    assert settings("local[2]", tmp_path / "a")["spark.local.dir"] == str(tmp_path / "a" / "local")


class Session:
    """What `ship` needs of a Spark session."""

    def addArtifacts(self, path, pyfile):
        assert zipfile.is_zipfile(path)


def test_what_a_killed_driver_shipped_is_removed_and_no_other(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(spark, "zipped", lambda: b"PK\x05\x06" + bytes(18))
    dead, alive = tmp_path / f"{spark.SHIPPED}dead", tmp_path / f"{spark.SHIPPED}alive"
    dead.mkdir()
    alive.mkdir()
    lock = locked(alive)
    one, other = Session(), Session()
    spark.ship(one)
    [mine] = set(tmp_path.iterdir()) - {dead, alive}
    assert not dead.exists() and alive.exists()
    spark.ship(other)
    assert mine.exists() and alive.exists()
    os.close(lock)
