"""Set-up files agree with each other, and the Makefile sets up once."""

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from assignlab.local import doctor

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
PINS = [
    Requirement(line)
    for line in (ROOT / "constraints.txt").read_text().splitlines()
    if line and not line.startswith("#")
]


def wanted() -> list[Requirement]:
    lines = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    return [Requirement(line) for line in lines]


def pin_of(name: str) -> Requirement:
    return next(pin for pin in PINS if pin.name.lower() == name.lower())


def test_constraints_pin_by_name_and_nothing_else():
    for pin in PINS:
        assert pin.url is None and not pin.extras
        assert [part.operator for part in pin.specifier] == ["=="]


@pytest.mark.parametrize("requirement", wanted(), ids=lambda requirement: requirement.name)
def test_every_dependency_is_pinned_within_its_range_and_installed_so(requirement):
    version = next(iter(pin_of(requirement.name).specifier)).version
    assert requirement.specifier.contains(version)
    assert metadata.version(requirement.name) == version


def test_what_the_dependencies_need_is_pinned_too():
    pinned = {pin.name.lower().replace("_", "-").replace(".", "-") for pin in PINS}
    for requirement in wanted():
        for line in metadata.requires(requirement.name) or []:
            needed = Requirement(line)
            if needed.marker is None or needed.marker.evaluate({"extra": ""}):
                assert needed.name.lower().replace("_", "-").replace(".", "-") in pinned


def test_conda_environment_installs_this_package_with_the_same_pins():
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    assert environment["channels"][0] == "conda-forge"
    *conda, pip = environment["dependencies"]
    named = dict(line.split(" ", 1) if " " in line else (line, "") for line in conda)
    assert named["python"].replace(" ", "") == PROJECT["requires-python"]
    assert named["openjdk"].startswith(">=17") and "pip" in named
    first, *packages, last = pip["pip"]
    assert (first, last) == ("-c constraints.txt", "-e .[test]")
    assert set(packages) == {"jupyterlab", "papermill", "pyspark", "pandas", "seaborn"}
    assert set(packages) <= {pin.name for pin in PINS}


def test_every_file_names_the_same_python_versions():
    (first, oldest), (second, newest) = doctor.OLDEST, doctor.NEWEST
    assert PROJECT["requires-python"] == f">={first}.{oldest},<{second}.{newest + 1}"
    text = (ROOT / "Makefile").read_text()
    assert f"not {doctor.OLDEST} <= sys.version_info[:2] <= {doctor.NEWEST}" in text


def test_ci_calls_the_test_command():
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


def make(folder: Path, *words: str) -> subprocess.CompletedProcess:
    return subprocess.run(["make", *words], cwd=folder, capture_output=True, text=True)


@pytest.fixture
def copy(tmp_path):
    """The project's set-up files beside an environment whose programs only note their calls."""
    if not shutil.which("make"):
        pytest.skip("no make here")
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "lib", tmp_path / "lib", ignore=shutil.ignore_patterns("__pycache__"))
    for program in ("python", "assignlab", "jupyter"):
        path = tmp_path / ".venv" / "bin" / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'#!/bin/sh\necho "{program} $*" >> "{tmp_path}/calls"\n')
        path.chmod(0o755)
    (tmp_path / ".venv" / "bin" / "activate").touch()
    return tmp_path


def calls(folder: Path) -> list[str]:
    """What was called since it was last asked, but for questions whether the environment works."""
    text = (folder / "calls").read_text()
    (folder / "calls").unlink()
    return [call for call in text.splitlines() if " -c import" not in call]


INSTALL = (
    "python -m pip install --disable-pip-version-check --no-compile -c constraints.txt -e .[test]"
)


def test_study_sets_up_and_compiles_beside_the_run_once(copy):
    # The stand-in for Java's wheel asks nothing of this machine.
    first = make(copy, "study")
    assert first.returncode == 0, first.stderr
    assert calls(copy) == [
        INSTALL,
        "python -m assignlab.local.java constraints.txt",
        "assignlab run --scale study --jobs 2 --compile-ahead",
    ]
    make(copy, "warm")
    assert "assignlab warm" not in calls(copy)
    make(copy, "study")
    again = [
        "python -m assignlab.local.java constraints.txt",
        "assignlab run --scale study --jobs 2",
    ]
    assert calls(copy) == again


def test_changed_pins_set_up_again_and_a_changed_library_compiles_again(copy):
    make(copy, "test")
    calls(copy)
    later = (copy / ".venv" / ".warm").stat().st_mtime + 10
    os.utime(copy / "lib" / "assignlab" / "local" / "java.py", (later, later))
    make(copy, "test")
    assert "assignlab warm" in (again := calls(copy)) and INSTALL not in again
    os.utime(copy / "constraints.txt", (later, later))
    make(copy, "test")
    assert INSTALL in calls(copy)


def test_an_environment_that_was_interrupted_is_made_anew(copy):
    anew = "python -m venv --clear .venv"
    python = f"PYTHON={copy / '.venv' / 'bin' / 'python'}"
    make(copy, python, "setup")
    assert anew not in calls(copy)
    (copy / ".venv" / ".ready").unlink()
    (copy / ".venv" / "bin" / "activate").unlink()
    make(copy, python, "setup")
    assert (told := calls(copy)).index(anew) < told.index(INSTALL)


def test_an_environment_whose_python_has_gone_is_made_anew(copy):
    make(copy, "setup")
    python = copy / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to("python-of-before-the-upgrade")
    result = make(copy, "-n", "setup")
    assert result.returncode == 0 and "-m venv --clear .venv" in result.stdout, result.stderr


def test_the_doctor_tells_of_the_environment_once_there_is_one(copy):
    told = make(copy, f"PYTHON={sys.executable}", "doctor").stdout
    assert f"doctor: Python {platform.python_version()} " in told
    make(copy, "setup")
    calls(copy)
    make(copy, "doctor")
    assert calls(copy) == ["python -m assignlab.local.doctor"]


def test_a_problem_stops_make_before_anything_is_installed(copy):
    (copy / "outputs").write_text("in the way")
    result = make(copy, "study")
    assert result.returncode != 0
    assert f"assignlab: cannot write in {copy / 'outputs'}" in result.stderr
    assert not (copy / "calls").exists()


def test_help_lists_the_targets(copy):
    listed = make(copy, "help").stdout
    for target in ("study", "test", "lab", "smoke", "setup", "doctor", "help"):
        assert f"make {target} " in listed
