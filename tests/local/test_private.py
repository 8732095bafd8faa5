"""What is executed when it is read again lies where only this user writes."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from assignlab.local.java import wrapped
from assignlab.local.private import cache_folder, is_private


@pytest.fixture
def shared(tmp_path, monkeypatch):
    """The folder that all users of the machine share, and a home that cannot be written."""
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    folder = tmp_path / "shared"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def planted(folder: Path, mode: int) -> Path:
    """What somebody else may have made by the name that everybody can guess."""
    guessed = folder / f"assignlab-{os.getuid()}"
    guessed.mkdir()
    guessed.chmod(mode)
    return guessed


def test_the_users_own_cache_comes_first(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert cache_folder() == str(tmp_path / "cache" / "assignlab")
    assert is_private(cache_folder())
    # A relative path in this variable counts as none.
    monkeypatch.setenv("XDG_CACHE_HOME", "cache")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == str(tmp_path / ".cache" / "assignlab")


def test_without_a_home_a_private_folder_is_made_once(shared):
    assert cache_folder() == cache_folder() == str(shared / f"assignlab-{os.getuid()}")
    assert is_private(cache_folder())


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702, 0o755])
def test_a_folder_that_is_open_to_others_is_refused(shared, mode):
    guessed = planted(shared, mode)
    found = cache_folder()
    assert found != str(guessed) and Path(found).parent == shared and is_private(found)


def test_a_link_and_a_folder_of_somebody_else_are_refused(shared, tmp_path):
    (tmp_path / "theirs").mkdir(mode=0o700)
    guessed = shared / f"assignlab-{os.getuid()}"
    guessed.symlink_to(tmp_path / "theirs")
    assert cache_folder() != str(guessed)
    guessed.unlink()
    guessed.mkdir(mode=0o700)
    if os.getuid() == 0:
        os.chown(guessed, 65534, 65534)
        assert cache_folder() != str(guessed)


def test_machine_code_is_kept_in_it_where_the_library_cannot_be_written(tmp_path):
    """Numba unpickles what it finds in its cache."""
    code = (
        "import os\nreal = os.access\n"
        "os.access = lambda path, mode: not str(path).endswith('assignlab') or '/c/' in str(path)\n"
        "import assignlab.compiled, numba\nprint(numba.config.CACHE_DIR)"
    )
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "c")}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, "-c", code]
    said = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert said.stdout.strip() == str(tmp_path / "c" / "assignlab" / "numba")


def test_processes_that_begin_at_once_share_a_folder(monkeypatch, tmp_path):
    make = os.makedirs

    def make_second(folder, *arguments, **options):
        make(folder, 0o700, exist_ok=True)  # by the other process
        make(folder, *arguments, **options)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(os, "makedirs", make_second)
    assert cache_folder() == str(tmp_path / "assignlab")
    assert wrapped("/java") == str(tmp_path / "assignlab" / "java")
