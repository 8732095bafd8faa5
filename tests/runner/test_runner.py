"""The batch runner: bad input is refused at once, done means done, and what a run leaves behind."""

import dataclasses
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from html.parser import HTMLParser
from importlib import metadata
from pathlib import Path, PurePosixPath
from types import SimpleNamespace

import psutil
import pytest
from click.testing import CliRunner

from assignlab import assignors
from assignlab.cli import main
from assignlab.local.library import rooms
from assignlab.local.project import (
    FOLDER_VARIABLE,
    OUTPUTS_VARIABLE,
    RUN_ID_VARIABLE,
    TABLES_VARIABLE,
    project,
)
from assignlab.parameters import declared as parameters
from assignlab.parameters.declared import (
    Mistake,
    check,
    declared,
    from_text,
    read_kind,
    strategy_facts,
    strategy_names,
)
from assignlab.releases import Facts
from assignlab.runner import Place, batch, collecting, papermill, plan, read_axes, records
from assignlab.runner import collection as copies
from assignlab.runner.plan import point_name, read_notebook
from assignlab.runner.progress import Progress
from assignlab.runner.records import reason_to_run, run_record
from assignlab.runner.report import _picture, grids_of
from assignlab.runner.verdict import reason_of_failure

# The package has a function of this name.
planning = sys.modules["assignlab.runner.plan"]

COMMAND = [sys.executable, "-c", "from assignlab.cli import main; main()"]

PARAMETERS = """\
seed = 7                  # int 0..: random seed
members = [2, 4]          # list of int 1..100: consumers in the group
share = 0.5               # float 0..1: share of the largest topic
rate = 1.0                # float > 0: events per hour
shape = "equal"           # one of equal, nested, random: who subscribes to what
events = ["join"]         # some of join, leave, crash: what happens
label = "a"               # str: shown in the title
racks = None              # int 1..9 or None: racks
texts = None              # list of source or None: what tools printed
verbose = False           # bool: say more
strategies = ["range@2.0", "roundrobin"]  # list of strategy names: who assigns
"""

BEGIN = "import assignlab.study\nstudy = assignlab.study.begin({name!r}, globals())"
# A result without pandas: these runs are about the runner.
RESULT = (
    "import types, pathlib\n"
    "frame = types.SimpleNamespace()\n"
    "path = study._claim('numbers', 'table', ['csv'], 'Numbers')[0]\n"
    "path.write_text('n\\n1\\n')"
)
ANSWER = "'The seed is %d.' % seed, do='Go on: [02 next](02_raises.ipynb).'"
FINISH = f"study.answer({ANSWER})\nstudy.finish()"


def notebook(
    root: Path,
    name: str,
    *cells: str,
    parameters="seed = 7  # int 0..: seed",
    results=("numbers",),
    tag="parameters",
    scales=("smoke",),
) -> Path:
    """Write a notebook with a parameters cell and these code cells, and its parameter files."""

    def cell(kind, source, tags=()):
        code = {"execution_count": None, "outputs": []} if kind == "code" else {}
        return {"cell_type": kind, "id": os.urandom(4).hex(), "source": source,
                "metadata": {"tags": list(tags)}, **code}  # fmt: skip

    document = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {
            # A name that is registered nowhere: the runner uses the environment's own kernel.
            "kernelspec": {"name": "somebody-s-env", "display_name": "x", "language": "python"},
            "assignlab": {"results": list(results)},
        },
        "cells": [
            cell("markdown", f"# What does {name} show?\n\nProse."),
            cell("code", parameters, [tag]),
            *(cell("code", source.replace("{name!r}", repr(name))) for source in cells),
        ],
    }
    path = root / "notebooks" / f"{name}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document))
    for scale in scales:
        values = root / "params" / scale / f"{name}.yaml"
        values.parent.mkdir(parents=True, exist_ok=True)
        values.write_text("")
    return path


def set_seed(root: Path, seed: int):
    """Have the scale's files give every notebook this seed."""
    for path in (root / "params" / "smoke").glob("*.yaml"):
        path.write_text(f"seed: {seed}\n")


def invoke(root: Path, *words: str):
    """The command in this process, at scale smoke."""
    return CliRunner().invoke(main, ["run", "--project", str(root), "--scale", "smoke", *words])


def all_told(result) -> bool:
    """Whether stderr has one line for each mistake, and nothing else."""
    return all(line.startswith("assignlab: ") for line in result.stderr.splitlines())


# --- Bad input, one by one -------------------------------------------------------------------


@pytest.fixture
def nothing_starts(monkeypatch):
    def start(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr("assignlab.runner.papermill.Processes.start", start)


@pytest.fixture
def collection(tmp_path):
    notebook(tmp_path, "01_first", BEGIN, RESULT, FINISH, parameters=PARAMETERS)
    notebook(tmp_path, "02_second", BEGIN, RESULT, FINISH)
    return tmp_path


REFUSED = [
    ("memebrs", "[2]", "unknown parameter 'memebrs' (did you mean 'members'?); allowed: events"),
    ("members", "two", "'two' is not a YAML list such as [2, 4]; allowed: list of int 1..100"),
    ("members", "[2, x]", "'x' is not a whole number; allowed: list of int 1..100"),
    ("members", "[2, 101]", "101 is out of range; allowed: list of int 1..100"),
    ("members", "[]", "[] is not a list with at least one value; allowed: list of int 1..100"),
    ("members", "[2, 4, 2]", "2 is there more than once; allowed: list of int 1..100"),
    ("members", "[2, [3]]", "['3'] is not a whole number; allowed: list of int 1..100"),
    ("seed", "-1", "-1 is out of range; allowed: int 0.."),
    ("seed", "1.5", "'1.5' is not a whole number; allowed: int 0.."),
    ("seed", "True", "'True' is not a whole number; allowed: int 0.."),
    ("share", "1.01", "1.01 is out of range; allowed: float 0..1"),
    ("share", "nan", "nan is not a number; allowed: float 0..1"),
    ("share", "much", "'much' is not a number; allowed: float 0..1"),
    ("rate", "0", "0.0 is out of range; allowed: float > 0"),
    ("shape", "neste", "unknown value 'neste' (did you mean 'nested'?); allowed: equal, nested"),
    ("events", "[join, join]", "'join' is there more than once; allowed: some of join, leave"),
    ("events", "[jion]", "unknown value 'jion' (did you mean 'join'?); allowed: join, leave"),
    ("racks", "0", "0 is out of range; allowed: int 1..9 or None"),
    ("texts", "[gone.txt]", "no such file: 'gone.txt'"),
    ("verbose", "maybe", "'maybe' is neither true nor false; allowed: bool"),
    (
        "members",
        "[" * 3000,
        "...[[[[[[[[[[[[[[[[[[[[[[[[[[[[' is not a YAML list such as [2, 4]; allowed",
    ),
    (
        "members",
        "[2, " + "9" * 5000 + "]",
        "...9999999999999999999999999999' has more than 300 digits",
    ),
    ("seed", "9" * 5000, "...9999999999999999999999999999' has more than 300 digits; allowed: int"),
    ("share", "9" * 5000, "inf is not a number; allowed: float 0..1"),
    ("share", "9" * 300, "is out of range; allowed: float 0..1"),
    ("label", "\udcff", r"'\udcff' has bytes that are not UTF-8; allowed: str"),
    ("members", "&a [*a, *a]", "is not a YAML list"),
    ("strategies", "[sticky@3.6.9]", "there is no Kafka 3.6.9; the last is 3.6.2"),
    ("strategies", "[rage@2.0]", "unknown strategy 'rage@2.0' (did you mean 'range@2.0'?); allow"),
]


@pytest.mark.parametrize(
    ("name", "text", "told"), REFUSED, ids=[" ".join(r[:2])[:40] for r in REFUSED]
)
def test_a_wrong_value_is_refused_with_what_is_allowed(
    collection, nothing_starts, name, text, told
):
    result = invoke(collection, "-p", name, text)
    assert result.exit_code == 2
    assert told in result.stderr and all_told(result)
    assert not (collection / "outputs").exists()


WRONG_FILES = [
    ("memebrs: [2]", "memebrs: unknown parameter 'memebrs' (did you mean 'members'?)"),
    ("members: 2", "members: 2 is not a list with at least one value; allowed: list of int 1..100"),
    ("members: ['2']", "members: '2' is not a whole number"),
    ("seed: true", "seed: True is not a whole number"),
    ("rate: 1e3", "rate: '1e3' is not a number for YAML (write 1000.0)"),
    ("label: 7", "label: 7 is not a text (put it in quotes; papermill: -r, not -p)"),
    ("seed: [", "params/smoke/01_first.yaml is not YAML: "),
    ("[]", "params/smoke/01_first.yaml must hold 'name: value' lines"),
    ("seed: 1\nshare: 1\nseed: 2", "01_first.yaml line 3: 'seed' is given twice"),
    ("seed: 017", "line 1: 017 means 15 in YAML: write 15; put it in quotes to have a text"),
    ("seed: 1:30", "line 1: 1:30 means 90 in YAML: write 90"),
    ("seed: 1_000", "line 1: 1_000 means 1000 in YAML: write 1000"),
    ("\nverbose: no", "line 2: no means False in YAML: write false"),
    ("label: on", "line 1: on means True in YAML: write true; put it in quotes to have a text"),
    ("label: 2026-11-22", "line 1: 2026-11-22 is a timestamp in YAML; put it in quotes"),
    ("seed: 2026-13-45", "line 1: 2026-13-45 is a timestamp in YAML"),
    ("seed: !!int x", "01_first.yaml line 1: 'x' is no int"),
    ("verbose: !!bool x", "01_first.yaml line 1: 'x' is no bool"),
    ("label: !!timestamp x", "01_first.yaml line 1: 'x' is no timestamp"),
    ("seed: !!int ''", "01_first.yaml line 1: '' is no int"),
    ("seed: " + "9" * 5000, "' has more than 300 characters"),
    ("members: " + "[" * 5000, "01_first.yaml is nested too deep"),
    ("members: [&a [2, 2], *a, [[[[[[[[[[2]]]]]]]]]]]", "[2, 2] is not a whole number"),
    ("rate: 1.5e3", "rate: '1.5e3' is not a number for YAML (write 1500.0)"),
    ("- 1", "params/smoke/01_first.yaml must hold 'name: value' lines"),
]


@pytest.mark.parametrize(("text", "told"), WRONG_FILES, ids=[text[:40] for text, _ in WRONG_FILES])
def test_a_wrong_parameter_file_is_refused(collection, nothing_starts, text, told):
    (collection / "params" / "smoke" / "01_first.yaml").write_text(text)
    result = invoke(collection)
    assert result.exit_code == 2
    assert told in result.stderr and all_told(result)


def test_values_that_mean_what_they_say_are_read(collection):
    text = "seed: +10\nshare: .5\nrate: 1.5e+3\nverbose: True\nracks: ~\nlabel: 'no'\n"
    (collection / "params" / "smoke" / "01_first.yaml").write_text(text)
    values = plan(Place(collection, collection / "outputs", "smoke"), ["01"])[0].values
    read = {name: values[name] for name in ("seed", "share", "rate", "verbose", "racks", "label")}
    assert list(read.values()) == [10, 0.5, 1500.0, True, None, "no"]


def test_a_parameter_file_that_is_no_text_is_refused(collection, nothing_starts):
    path = collection / "params" / "smoke" / "01_first.yaml"
    path.write_bytes(b"seed: 1 # \xff")
    assert "01_first.yaml is not UTF-8: byte 11" in invoke(collection).stderr
    path.unlink()
    path.mkdir()
    result = invoke(collection)
    assert result.exit_code == 2 and "01_first.yaml cannot be read: Is a dir" in result.stderr
    (collection / "notebooks" / "03_folder.ipynb").mkdir()
    assert "03_folder: this file is not a notebook" in invoke(collection, "03").stderr


def test_a_parameter_is_passed_once(collection, nothing_starts):
    result = invoke(collection, "-p", "seed", "1", "-p", "seed", "2")
    assert result.exit_code == 2 and ": seed is given twice" in result.stderr


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e30"])
def test_a_time_limit_is_a_number_of_seconds(collection, nothing_starts, seconds):
    result = invoke(collection, "--timeout", seconds)
    assert result.exit_code == 2 and "--timeout: expected at most 1e9 sec" in result.stderr


@pytest.mark.parametrize("uri", ["hdfs://nn:8020/out", "s3a://bucket/tables", "file:///tmp/x"])
def test_a_uri_is_no_folder_for_results(collection, nothing_starts, monkeypatch, uri):
    monkeypatch.chdir(collection)
    told = (
        f"assignlab: '{uri}' is a URI: name a folder of this machine; --tables sends tables there\n"
    )
    result = invoke(collection, "--outputs", uri)
    assert (result.exit_code, result.stderr) == (2, told)
    monkeypatch.setenv(OUTPUTS_VARIABLE, uri)
    assert invoke(collection).stderr == told
    assert {path.name for path in collection.iterdir()} == {"notebooks", "params"}


@pytest.mark.parametrize(
    ("tables", "told"),
    [
        (__file__, f"cannot write in {__file__} (Not a directory)"),
        ("s3a:bucket", "'s3a:bucket' is neither a folder nor a URI, which begins with s3a:/"),
        (" ", "' ' names no folder"),
    ],
)
def test_a_place_that_cannot_take_tables_is_told_before_anything_runs(
    collection, nothing_starts, monkeypatch, tables, told
):
    monkeypatch.setenv(TABLES_VARIABLE, "")
    result = invoke(collection, "--tables", tables)
    assert result.exit_code == 2 and told in result.stderr


STRANGE = "a b 分区 [x] {seed} q? * # %20, é: "


@pytest.mark.slow
def test_any_path_will_do(tmp_path):
    root, outputs = tmp_path / f"{STRANGE} in", tmp_path / f"{STRANGE} out"
    notebook(root, "01_good", BEGIN, RESULT, FINISH)
    result = invoke(root, "--outputs", str(outputs))
    assert result.exit_code == 0, result.output
    assert (outputs / "smoke" / "01_good" / "numbers.csv").read_text() == "n\n1\n"
    assert set(tmp_path.iterdir()) == {root, outputs}
    assert not (root / "outputs").exists()


SWEEP = (
    "from assignlab import sweep\n"
    "table = sweep.run(sweep.grid(members=[2, 3]), ['range@2.0'], name='t')\n"
    "study.table('numbers', table.summary(['members'], ['gini']), 'Numbers')"
)


@pytest.mark.slow
def test_the_whole_project_may_lie_at_any_path(tmp_path):
    """Library, notebooks and outputs; only a ':' cannot be, which the doctor tells before set-up."""
    root = tmp_path / STRANGE.replace(":", "")
    library = Path(parameters.__file__).parents[2]
    shutil.copytree(library, root / "lib")
    shutil.copy(library.parent / "pyproject.toml", root)
    notebook(root, "01_good", BEGIN, SWEEP, FINISH)
    here = {"PYTHONPATH": str(root / "lib")}
    done = subprocess.run(
        [sys.executable, "-m", "assignlab", "run", "--scale", "smoke"],
        cwd=root, env={**os.environ, **here}, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    numbers = (root / "outputs" / "smoke" / "01_good" / "numbers.csv").read_text()
    assert [line.split(",")[0] for line in numbers.splitlines()] == ["members", "2", "3"]


def test_all_mistakes_are_told_at_once(collection, nothing_starts):
    result = invoke(collection, "-p", "seed", "x", "-p", "share", "2")
    lines = result.stderr.splitlines()
    assert [line.split(": ")[1] for line in lines] == ["01_first", "01_first", "02_second"]


def test_a_missing_parameter_file_is_refused(collection, nothing_starts):
    (collection / "params" / "smoke" / "02_second.yaml").unlink()
    assert "params/smoke/02_second.yaml is missing" in invoke(collection).stderr
    # Only the notebooks of this run count.
    assert plan(Place(collection, collection / "outputs", "smoke"), ["01"])


def test_an_unknown_notebook_is_refused_with_the_nearest(collection, nothing_starts):
    result = invoke(collection, "01_frist")
    assert result.exit_code == 2
    told = "unknown notebook '01_frist' (did you mean '01_first'?); allowed: 01_first, 02_second"
    assert told in result.stderr
    notebook(collection, "00_start", BEGIN)
    assert "unknown notebook '.'" in invoke(collection, ".").stderr


def test_outputs_that_cannot_be_written_are_told(collection, nothing_starts):
    (collection / "file").write_text("in the way")
    result = invoke(collection, "--outputs", str(collection / "file" / "outputs"))
    assert result.exit_code == 2
    assert "cannot write in" in result.stderr and "change its owner or mode" in result.stderr


def test_a_folder_without_notebooks_is_refused(tmp_path, nothing_starts):
    assert "no notebooks in" in invoke(tmp_path).stderr


WRONG_NOTEBOOKS = [
    ({"tag": "other"}, "one cell must have the tag 'parameters', 0 have it"),
    ({"results": []}, "must declare its results"),
    ({"parameters": "seed = 7"}, "seed needs a comment such as"),
    ({"parameters": "seed = 7  # a number: seed"}, "'a number' is not a declaration"),
    ({"parameters": "seed = -1  # int 0..: seed"}, "seed, as declared in the notebook: -1 is out"),
    ({"parameters": f"x = 1{'0' * 400}  # float: x"}, "is not a number; allowed: float"),
    ({"parameters": "seed = 2 * 3  # int 0..: seed"}, "'name = literal' lines only"),
    ({"parameters": "import os"}, "'name = literal' lines only, not 'import os'"),
    ({"parameters": "s = {[1]: 2}  # str: s"}, "'name = literal' lines only, not 's = {[1]"),
    ({"parameters": "%matplotlib inline"}, "the parameters cell is not Python"),
    ({"parameters": "s = 'a'  # str 1..2: s"}, "combines what does not go together"),
]


@pytest.mark.parametrize(("change", "told"), WRONG_NOTEBOOKS, ids=[t for _, t in WRONG_NOTEBOOKS])
def test_a_notebook_that_breaks_the_conventions_is_refused(tmp_path, nothing_starts, change, told):
    notebook(tmp_path, "01_first", BEGIN, **change)
    result = invoke(tmp_path)
    assert result.exit_code == 2
    assert told in result.stderr


def test_a_file_that_is_no_notebook_is_refused(collection, nothing_starts):
    (collection / "notebooks" / "01_first.ipynb").write_text("{}")
    assert "01_first: this file is not a notebook" in invoke(collection).stderr


def test_refusing_is_quick_and_loads_nothing_heavy(collection):
    code = (
        "import sys\nfrom assignlab.cli import main\n"
        "try:\n    main(sys.argv[1:])\nexcept SystemExit as end:\n    print(end.code)\n"
        "print([m for m in ('numba', 'pandas', 'pyspark', 'papermill') if m in sys.modules])"
    )
    words = ["run", "--project", str(collection), "--scale", "smoke", "-p", "strategies", "[rang]"]
    said = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True)
    assert said.stdout.splitlines() == ["2", "[]"]


# --- What a declaration means ----------------------------------------------------------------

TEXTS = [
    ("int", "007", 7), ("float", "1e3", 1000.0), ("str", "007", "007"), ("str", "true", "true"),
    ("bool", "True", True), ("bool", "false", False), ("int 1.. or None", "None", None),
    ("list of str", "[1, on]", ["1", "on"]), ("list of float ..2", "[1, 2]", [1.0, 2.0]),
    ("some of a, b", "[b, a]", ["b", "a"]), ("one of a, b or None", "b", "b"),
    ("list of int or None", "null", None), ("list of source", "['{\"a\": 1}']", ['{"a": 1}']),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "value"), TEXTS)
def test_the_declared_type_decides_what_a_text_means(kind, text, value):
    read = from_text(read_kind(kind), text)
    assert read == value and type(read) is type(value)


@pytest.mark.parametrize("text", ["", "number", "int >= 1", "one of", "list of some of a", "int 1"])
def test_other_words_are_no_declaration(text):
    with pytest.raises(Mistake):
        read_kind(text)


def test_comments_are_read_as_python_reads_them():
    source = (
        'shade = "#ff0000"  # str: red\nsizes = [\n    1,  # one\n    2,\n]  # list of int: n\n'
        "long = (\n    1  # int: a long text\n)\n"
    )
    found = {name: parameter.meaning for name, parameter in declared(source).items()}
    assert found == {"shade": "red", "sizes": "n", "long": "a long text"}


def test_a_long_comment_stands_above_its_parameter():
    source = (
        "rate = 1.0  # float: at the end\n\n# of no parameter\n\n"
        "# some of a,\n# b: above,\n# and long\nwords = [\n    'a',\n]\n"
        "# list of int: unread\nsizes = [1]  # int 0..: wins\n"
    )
    with pytest.raises(Mistake, match="sizes"):
        declared(source)
    found = declared(source.replace("[1]", "1"))
    assert {name: parameter.meaning for name, parameter in found.items()} == {
        "rate": "at the end",
        "words": "above, and long",
        "sizes": "wins",
    }
    assert found["words"].kind.choices == ("a", "b")
    with pytest.raises(Mistake, match="second needs a comment"):
        declared("first = 1  # int: not of the second\nsecond = 2\n")


def test_strategy_names_are_those_of_the_registry():
    assert strategy_names() == sorted(assignors.names())
    known = assignors.strategies().values()
    assert strategy_facts() == sorted(Facts(s.name, s.first, s.last) for s in known)
    kind = read_kind("strategy name")
    assert check(kind, assignors.names()[0]) == assignors.names()[0]


def test_papermill_reads_such_a_parameters_cell_without_complaint(tmp_path, capfd):
    from papermill.inspection import _infer_parameters
    from papermill.iorw import load_notebook_node

    path = notebook(tmp_path, "01_first", parameters=PARAMETERS)
    inferred = _infer_parameters(load_notebook_node(str(path)))
    assert [parameter.name for parameter in inferred] == list(declared(PARAMETERS))


# --- Which values reach the notebook ---------------------------------------------------------


def test_the_file_overrides_the_notebook_and_the_command_line_the_file(collection):
    (collection / "params" / "smoke" / "01_first.yaml").write_text("seed: 8\nshare: 1\n")
    place = Place(collection, collection / "outputs", "smoke")
    first, second = plan(place, passed=[("seed", "9"), ("label", "007")])
    assert (first.values["seed"], first.values["share"], first.values["label"]) == (9, 1.0, "007")
    assert first.values["members"] == [2, 4]
    assert second.values == {"seed": 9}


def test_papermill_reads_the_values_that_were_checked(collection, tmp_path):
    from papermill.iorw import read_yaml_file

    texts = [
        "no",
        "1e3",
        "2026-11-22",
        "é 分区 😀",
        "a\\n",
        "a\nb",
        "\r\n",
        "\x85",
        "\u2028",
        "\ufeff",
        "\0",
    ]
    for text in texts:
        [asked] = plan(Place(collection, tmp_path, "smoke"), ["01"], [("label", text)])
        words = papermill.command(asked, tmp_path, tmp_path)
        assert read_yaml_file(words[words.index("--parameters_file") + 1]) == asked.values


def test_notebooks_are_chosen_by_name_number_or_file(collection):
    place = Place(collection, collection / "outputs", "smoke")
    for word in ("02", "02_second", "02_second.ipynb", "notebooks/02_second.ipynb"):
        assert [chosen.name for chosen in plan(place, [word])] == ["02_second"]


def test_a_file_that_is_no_notebook_of_the_collection_is_refused(collection, nothing_starts):
    known = collection / "notebooks" / "02_second.ipynb"
    copy, mine = collection / "02_second.ipynb", collection / "mine.ipynb"
    shutil.copy(known, copy)
    assert invoke(collection, "--list", str(copy)).exit_code == 0
    for path in (copy, mine):
        path.write_text(known.read_text().replace("Prose.", "Other prose."))
        result = invoke(collection, "--list", str(path))
        told = f"assignlab: {path} is not one of the notebooks in {known.parent}: put it there, or"
        assert result.exit_code == 2 and result.stderr.startswith(told)


def test_list_shows_values_and_what_is_allowed(collection, nothing_starts):
    result = invoke(collection, "--list", "-p", "members", "[3]")
    assert result.exit_code == 0
    assert "01_first members=3  (scale smoke; would run: not run yet)" in result.output
    assert "members = [3]\n      list of int 1..100: consumers in the group" in result.output


# --- Real runs -------------------------------------------------------------------------------

GOOD = [
    BEGIN,
    (
        "print('sweep: 1/2 scenarios, 50 %, 1 s left', flush=True)\n"
        "import time\ntime.sleep(3)  # the runner looks every second\n"
        "import pandas as pd\nimport matplotlib.pyplot as plt\n"
        "frame = pd.DataFrame({'n': [1, 2], 'text': ['<a>', 'b']})\n"
        "study.table('numbers', frame, caption='Numbers & letters')"
    ),
    (
        "fig, ax = plt.subplots()\nax.plot(frame.n)\n"
        "study.figure('curve', fig, alt='A line that \"rises\"')"
    ),
    "study.failures(frame[frame.n > 2])\n" + FINISH,
]
HANG = (
    "import subprocess, time\n"
    "child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
    "print('CHILD', child.pid, flush=True)\n"
    "time.sleep(600)"
)


def child_of(log: Path) -> int:
    return int(re.search(r"CHILD (\d+)", log.read_text())[1])


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """One batch of a good notebook and of every way to fail, and what the runner said.

    Beside it one notebook that hangs: most of its time is waiting.
    """
    hung = tmp_path_factory.mktemp("hung")
    notebook(hung, "01_hangs", HANG)
    # Long enough for a kernel to start on a busy machine.
    hanging = subprocess.Popen(
        [*COMMAND, "run", "--project", str(hung), "--scale", "smoke", "--timeout", "25"],
        stdout=subprocess.PIPE,
        text=True,
    )
    root = tmp_path_factory.mktemp("batch")
    notebook(root, "01_good", *GOOD, results=["numbers", "curve"])
    notebook(root, "02_raises", BEGIN, TOLD, "raise KeyError('topic <t>')", FINISH)
    notebook(root, "03_exits", BEGIN, RESULT, FINISH + "\nimport sys\nsys.exit(0)")
    notebook(root, "04_dies", BEGIN, RESULT, FINISH, "import os\nos._exit(0)")
    notebook(root, "05_leaves_less", BEGIN, RESULT, FINISH, results=["numbers", "curve"])
    notebook(root, "06_unfinished", BEGIN, RESULT)
    notebook(root, "07_failures", BEGIN, RESULT + "\nstudy._failed = [(None, range(3))]", FINISH)
    # A record of an earlier run must not vouch for a later one.
    for name in ("02_raises", "06_unfinished"):
        old = root / "outputs" / "smoke" / name
        old.mkdir(parents=True)
        (old / "record.json").write_text('{"run_id": "old", "results": [], "failures": 0}')
        (old / "numbers.csv").write_text("old")
    set_seed(root, 9)
    said = invoke(root, "--jobs", "2")
    output, _ = hanging.communicate(timeout=60)
    assert hanging.returncode == 1
    return root, said, hung, output


TOLD = "import pandas as pd\nstudy.failures(pd.DataFrame({'error': ['no members']}))"
FAILURES = {
    "02_raises": "KeyError: 'topic <t>'; before that simulations failed, see failures.csv",
    "03_exits": "SystemExit: 0",
    "04_dies": "the kernel died",
    "05_leaves_less": "did not leave the results it declares: curve",
    "06_unfinished": "left no completion record",
    "07_failures": "3 simulations failed",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAILURES)
def test_a_run_that_did_not_complete_is_told(ran, name):
    root, said, *_ = ran
    record = run_record(Place(root, root / "outputs", "smoke"), name)
    assert record["status"] == "failed"
    assert record["reason"].startswith(FAILURES[name])
    assert ("simulations failed" in record["reason"]) == ("simulations failed" in FAILURES[name])
    assert f"{name}  FAILED: {FAILURES[name]}" in said.stdout
    assert FAILURES[name].replace("<t>", "&lt;t&gt;").replace("'", "&#39;") in index_of(root)


def index_of(root: Path) -> str:
    return (root / "outputs" / "index.html").read_text()


@pytest.mark.slow
def test_failed_runs_leave_nothing_of_earlier_ones(ran):
    root, *_ = ran
    assert not (root / "outputs" / "smoke" / "02_raises" / "numbers.csv").exists()
    assert (root / "outputs" / "smoke" / "06_unfinished" / "numbers.csv").read_text() != "old"
    assert not list((root / "outputs" / "smoke").glob(".running/*"))


@pytest.mark.slow
def test_exit_code_and_last_words_tell_of_failures(ran):
    root, said, *_ = ran
    assert said.exit_code == 1
    assert f"did not complete: {', '.join(FAILURES)}" in said.stderr
    assert said.stdout.splitlines()[-2:] == [
        "1 of 7 notebooks complete at scale smoke",
        str(root / "outputs" / "index.html"),
    ]


@pytest.mark.slow
def test_progress_names_notebook_cell_and_sweep(ran):
    _, said, *_ = ran
    assert "[1/7] 01_good  cell 3 of 7" in said.stdout
    assert "sweep: 1/2 scenarios, 50 %, 1 s left" in said.stdout
    assert "[1/7] 01_good  complete. The seed is 9." in said.stdout


@pytest.mark.slow
def test_no_warning_is_left_in_the_log(ran):
    root, *_ = ran
    log = (root / "outputs" / "smoke" / "01_good" / "run.log").read_text()
    assert "TCP without encryption" not in log and "unknown parameter" not in log.lower()
    assert "Unable to parse" not in log


@pytest.mark.slow
def test_a_complete_run_leaves_tables_pictures_notebook_and_page(ran):
    import pandas as pd

    root, *_ = ran
    folder = root / "outputs" / "smoke" / "01_good"
    assert {path.name for path in folder.iterdir()} == {
        "01_good.ipynb",
        "01_good.html",
        "numbers.csv",
        "numbers.parquet",
        "curve.png",
        "curve.small.png",
        "curve.svg",
        "record.json",
        "run.json",
        "run.log",
    }
    assert pd.read_csv(folder / "numbers.csv").equals(pd.read_parquet(folder / "numbers.parquet"))
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "curve.svg").read_text()


@pytest.mark.slow
def test_the_page_needs_nothing_else_and_begins_with_the_answer(ran):
    root, *_ = ran
    page = (root / "outputs" / "smoke" / "01_good" / "01_good.html").read_text()
    assert '<html lang="en">' in page and "<title>01 What does 01_good show?</title>" in page
    begins = page.partition('id="code"')[0]
    assert '<p class="answer"><strong>The seed is 9.</strong></p>' in begins
    assert page.count("The seed is 9.") == 1
    assert 'Go on: <a href="../02_raises/02_raises.html">02 next</a>.' in begins
    assert 'src="data:image/svg+xml' in begins and page.count("<img") == 1
    assert [image["alt"] for image in Tags(page).all("img")] == ['A line that "rises"']
    assert re.search(r"With</strong>\s+seed <b>9</b>", begins)
    assert sum(tag["class"] == "source" for tag in Tags(page).all("div") if "class" in tag) == 6
    assert "<caption>Numbers &amp; letters</caption>" in page and "&lt;a&gt;" in page
    assert '<a href="numbers.csv">CSV</a>, <a href="numbers.parquet">Parquet</a>' in page
    links = [link["href"] for link in Tags(page).all("a") if not link["href"].startswith("#")]
    folder = root / "outputs" / "smoke" / "01_good"
    assert "../02_raises/02_raises.html" in links and "../index.html" in links
    assert [link for link in links if not (folder / link).is_file()] == []
    assert self_contained(page)


class Tags(HTMLParser):
    """The tags of a page, as (tag, attributes)."""

    def __init__(self, page: str):
        super().__init__()
        self.found = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def all(self, name: str) -> list[dict]:
        return [attributes for tag, attributes in self.found if tag == name]


def self_contained(page: str) -> bool:
    """Nothing that a browser would load from elsewhere."""
    tags = Tags(page)
    sources = [attributes["src"] for _, attributes in tags.found if "src" in attributes]
    return (
        not tags.all("link")
        and all(source.startswith("data:") for source in sources)
        and not re.search(r"@import|url\(", page)
    )


@pytest.mark.slow
def test_the_index_shows_answer_picture_state_and_links_that_lead_somewhere(ran):
    root, *_ = ran
    for index in (root / "outputs" / "index.html", root / "outputs" / "smoke" / "index.html"):
        page = index.read_text()
        assert self_contained(page) and page.count("<article>") == 7
        assert "<p>The seed is 9.</p>" in page and '<span class="number">01</span>' in page
        assert page.count('<img src="data:image/png;base64,') == 1
        assert page.count('class="status failed"') == 6
        links = [link["href"] for link in Tags(page).all("a") if "://" not in link["href"]]
        assert len(links) > 20
        assert [link for link in links if not (index.parent / link).is_file()] == []


@pytest.mark.slow
def test_the_manifest_names_parameters_versions_and_results_by_content(ran):
    import hashlib

    root, *_ = ran
    manifest = json.loads((root / "outputs" / "smoke" / "manifest.json").read_text())
    runs = {run["notebook"]: run for run in manifest["notebooks"]}
    assert [run["status"] for run in runs.values()] == ["completed"] + ["failed"] * 6
    good = runs["01_good"]
    assert good["parameters"] == {"seed": 9} and good["seed"] == 9
    assert {"assignlab", "python", "pyspark", "pandas"} <= good["versions"].keys()
    assert 0 < good["seconds"] < 120
    files = [file for result in good["results"] for file in result["files"]]
    assert len(files) == 4
    for file in files:
        content = (root / "outputs" / "smoke" / "01_good" / file["file"]).read_bytes()
        assert len(content) == file["bytes"]
        assert hashlib.sha256(content).hexdigest() == file["sha256"]


@pytest.mark.slow
def test_a_complete_run_is_skipped_until_something_changes(ran, nothing_starts):
    root, *_ = ran
    place = Place(root, root / "outputs", "smoke")
    result = invoke(root, "01_good")
    assert result.exit_code == 0
    assert "01_good  complete and unchanged, skipped" in result.output
    assert "1 of 1 notebooks complete" in result.output
    failed = plan(place, ["02"])[0]
    assert reason_to_run(place, failed) == f"failed: {FAILURES['02_raises']}"
    same = plan(place, ["01"])[0]
    other = dataclasses.replace(same, values={"seed": 10})
    assert reason_to_run(place, other) == "seed was 9, is 10"
    assert reason_to_run(place, same) is None
    kept = root / "outputs" / "smoke" / "01_good" / "numbers.csv"
    content = kept.read_bytes()
    kept.write_bytes(content[::-1])
    told = "numbers.csv or numbers.parquet is not as the run left it"
    assert reason_to_run(place, same) == told
    kept.unlink()
    assert reason_to_run(place, same) == told
    kept.write_bytes(content)


def test_everything_that_results_depend_on_counts_as_a_change(collection, monkeypatch, tmp_path):
    place = Place(collection, collection / "outputs", "smoke")
    monkeypatch.setattr(
        batch, "execute", lambda plan, folder, run_id, *_: leave(plan, folder, run_id)
    )
    assert invoke(collection, "02").exit_code == 0
    assert reason_to_run(place, plan(place, ["02"])[0]) is None
    # A library beside this one, in which data, a template and a source change.
    library = tmp_path / "library"
    shutil.copytree(Path(parameters.__file__).parents[1], library,
                    ignore=shutil.ignore_patterns("__pycache__", "assignors"))  # fmt: skip
    for name in ("published/data/examples.yaml", "runner/templates/style.css", "study.py"):
        with (library / name).open("a") as file:
            file.write("\n")
    changed = planning.library() | rooms(library)
    monkeypatch.setattr(planning, "library", lambda: changed)
    reason = reason_to_run(place, plan(place, ["02"])[0])
    assert reason == "the library changed: published, runner, study.py"
    monkeypatch.undo()
    (collection / "constraints.txt").write_text("numpy==1.26\n")
    monkeypatch.setattr(planning, "_packages", lambda: {"numpy": "0.1"})
    (collection / "notebooks" / "02_second.ipynb").open("a").write(" ")
    (collection / "params" / "smoke" / "02_second.yaml").write_text("seed: 8")
    told = invoke(collection, "--list", "02").output
    assert "02_second  (scale smoke; would run: seed was 7, is 8; " in told
    assert "the notebook changed; constraints.txt changed; " in told
    assert "numpy was 2" in told and ", is 0.1" in told
    monkeypatch.setenv(TABLES_VARIABLE, "s3a://bucket/tables")
    told = invoke(collection, "--list", "02").output
    assert "its tables are in outputs, asked for in s3a://bucket/tables" in told


def test_a_file_that_a_notebook_reads_is_named_from_here_and_looked_at(
    collection, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        batch, "execute", lambda plan, folder, run_id, *_: leave(plan, folder, run_id)
    )
    notebook(collection, "03_reads", parameters="texts = None  # list of source or None: groups")
    monkeypatch.chdir(tmp_path)
    group, passed = tmp_path / "my group.txt", [("texts", '[my group.txt, "GROUP TOPIC\\n"]')]
    group.write_text("GROUP")
    place = Place(collection, collection / "outputs", "smoke")
    [asked] = plan(place, ["03"], passed)
    assert asked.values["texts"] == [str(group), "GROUP TOPIC\n"]
    assert invoke(collection, "03", "-p", "texts", passed[0][1]).exit_code == 0
    assert reason_to_run(place, asked) is None
    group.write_text("GROUP TOPIC\n")
    assert reason_to_run(place, plan(place, ["03"], passed)[0]) == f"{group} changed"


@pytest.mark.slow
def test_papermills_own_time_limit_and_a_missing_kernel_are_no_success(tmp_path):
    """Both leave metadata that says "completed"."""
    situations = {
        "01_slow": (["--kernel", "python3", "--execution-timeout", "1"], "KeyboardInterrupt"),
        "02_kernel": (["--kernel", "no-such-kernel"], "papermill ended with exit code 1: "),
    }
    running = {}
    for name, (options, _) in situations.items():
        path = notebook(tmp_path, name, BEGIN, "import time\ntime.sleep(60)", FINISH)
        folder = tmp_path / name
        folder.mkdir()
        with (folder / "run.log").open("w") as log:
            running[name] = subprocess.Popen(
                [sys.executable, "-m", "papermill", path, folder / f"{name}.ipynb", *options],
                stdout=log,
                stderr=log,
                env={**os.environ, FOLDER_VARIABLE: str(folder), RUN_ID_VARIABLE: "this"},
            )
    for name, process in running.items():
        code = process.wait(timeout=60)
        statuses = {
            cell["metadata"]["papermill"]["status"]
            for cell in json.loads((tmp_path / name / f"{name}.ipynb").read_text())["cells"]
        }
        assert statuses == {"completed"}
        read = read_notebook(tmp_path / "notebooks" / f"{name}.ipynb")
        reason = reason_of_failure(read, tmp_path / name, "this", code)
        assert reason.startswith(situations[name][1])


@pytest.mark.slow
def test_a_notebook_over_the_time_limit_is_ended_with_all_it_started(ran):
    _, _, root, output = ran
    assert "01_hangs  FAILED: took longer than 25 s" in output
    assert gone(child_of(root / "outputs" / "smoke" / "01_hangs" / "run.log"))


STUBBORN = """\
import subprocess, sys, time
code = "import signal, time; signal.signal(15, signal.SIG_IGN); print('READY', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
print("CHILD", child.pid, flush=True)
time.sleep(600)
"""


def not_ignored() -> None:
    """Where the tests run in the background of a shell, interrupts are ignored from birth."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def start_run(root: Path, *words: str) -> subprocess.Popen:
    """The command as a process of its own."""
    return subprocess.Popen(
        [*COMMAND, "run", "--project", str(root), "--scale", "smoke", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=not_ignored,  # noqa: PLW1509
    )


def child_started(root: Path, notebook: str, runner: subprocess.Popen) -> int:
    """Wait for a running notebook to start its child."""
    until = time.monotonic() + 60
    while True:
        for log in root.glob(f"outputs/smoke/.running/*/{notebook}/run.log"):
            if "CHILD" in log.read_text():
                return child_of(log)
        assert time.monotonic() < until and runner.poll() is None
        time.sleep(0.1)


@pytest.mark.slow
def test_interrupts_end_everything_and_keep_what_is_done(tmp_path):
    notebook(tmp_path, "01_quick", BEGIN, RESULT, FINISH)
    notebook(tmp_path, "02_hangs", STUBBORN)
    kept = tmp_path / "outputs" / "smoke" / "02_hangs" / "of-an-earlier-run"
    kept.mkdir(parents=True)
    process = start_run(tmp_path)
    child = child_started(tmp_path, "02_hangs", process)
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGINT):
        process.send_signal(number)
        time.sleep(0.5)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors and "Traceback" not in errors
    assert gone(child)
    manifest = json.loads((tmp_path / "outputs" / "smoke" / "manifest.json").read_text())
    assert [run["status"] for run in manifest["notebooks"]] == ["completed", "not run"]
    assert kept.exists() and not (tmp_path / "outputs" / "smoke" / ".running").exists()


INTERRUPTED = """
import os, signal, sys, time
from assignlab.runner import batch
try:
    with batch._interruptible():
        os.kill(os.getpid(), int(sys.argv[1]))
        time.sleep(5)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_termination_signal_interrupts_too(number):
    """In a process of its own: a signal that is not caught would take the tests along."""
    process = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, str(int(number))],
        capture_output=True, text=True, preexec_fn=not_ignored,
    )  # fmt: skip
    assert (process.returncode, process.stdout) == (0, "interrupted\n"), process.stderr


# The run with seed 1 writes its number again and again, for as long as it is left alive.
WRITES = """\
import os, pathlib, subprocess, time
path = pathlib.Path(os.environ["ASSIGNLAB_RUN_FOLDER"]) / "numbers.csv"
if seed == 1:
    child = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print("CHILD", child.pid, flush=True)
    while True:
        path.write_text("of seed 1")
        time.sleep(0.05)
"""


@pytest.mark.slow
@pytest.mark.parametrize("guard_too", [False, True])
def test_a_killed_runner_takes_its_run_along_and_the_next_is_not_disturbed(tmp_path, guard_too):
    late = RESULT.replace("n\\n1\\n", "of seed 2") + "\nimport time\ntime.sleep(1)"
    notebook(tmp_path, "01_writes", WRITES, BEGIN, late, FINISH)
    set_seed(tmp_path, 1)
    killed = start_run(tmp_path)
    child = child_started(tmp_path, "01_writes", killed)
    for process in psutil.Process(killed.pid).children() if guard_too else ():
        process.kill()
    killed.kill()
    killed.wait()
    set_seed(tmp_path, 2)
    result = invoke(tmp_path)
    assert result.exit_code == 0
    assert gone(child)
    assert (tmp_path / "outputs" / "smoke" / "01_writes" / "numbers.csv").read_text() == "of seed 2"
    assert "removed what a killed run left" in result.stderr
    assert not (tmp_path / "outputs" / "smoke" / ".running").exists()


def test_two_points_never_share_a_folder():
    points = [
        {"texts": ["a", "b"]}, {"texts": ["a+b"]}, {"texts": "a", "skew": 1}, {"texts": "a,skew=1"},
    ]  # fmt: skip
    assert len({point_name(passed) for passed in points}) == len(points)


def test_a_point_of_long_texts_has_a_name_that_a_folder_may_have(tmp_path):
    names = {point_name({"label": letter * 200 + end}) for letter in "a分😀" for end in "xy"}
    assert len(names) == 6
    for name in names:
        (tmp_path / name).mkdir()


@pytest.mark.parametrize("path", ["01_first", "points/seed=3/01_first"])
def test_results_that_a_killed_run_was_about_to_replace_are_put_back(collection, path):
    place = Place(collection, collection / "outputs", "smoke")
    earlier = place.running / "0123" / f"{path}.earlier"
    earlier.mkdir(parents=True)
    (earlier / "numbers.csv").write_text("kept")
    batch.clear_leftovers(place)
    assert (place.folder / path / "numbers.csv").read_text() == "kept"
    assert not list(place.running.iterdir())


def test_an_index_that_a_run_at_another_scale_finishes_just_now_is_no_leftover(
    collection, monkeypatch
):
    place = Place(collection, collection / "outputs", "smoke")
    place.outputs.mkdir()
    part = place.outputs / ".index.html.0.part"
    part.touch()

    def now():
        part.unlink()
        return 0.0

    monkeypatch.setattr(batch.time, "time", now)
    batch.clear_leftovers(place)


def test_parts_of_files_that_a_killed_run_was_writing_are_removed_when_they_are_old(collection):
    place = Place(collection, collection / "outputs", "smoke")
    place.folder.mkdir(parents=True)
    old, young = place.folder / ".manifest.json.0.part", place.outputs / ".index.html.0.part"
    old.touch()
    young.touch()
    os.utime(old, (0, 0))
    batch.clear_leftovers(place)
    assert young.exists() and not old.exists()


def test_two_runs_do_not_write_to_one_folder(collection, nothing_starts, monkeypatch):
    place = Place(collection, collection / "outputs", "smoke")
    place.folder.mkdir(parents=True)
    monkeypatch.setattr(batch, "WAIT", 0.5)
    with batch._alone(place) as lock:
        assert lock is not None
        result = invoke(collection)
    assert result.exit_code == 1
    assert "another run writes to" in result.stderr


def test_an_interrupt_while_a_run_waits_for_another_is_told_as_one(
    collection, nothing_starts, monkeypatch
):
    place = Place(collection, collection / "outputs", "smoke")
    place.folder.mkdir(parents=True)
    # Not the module's own sleep: other threads of this process call that, too.
    ending = SimpleNamespace(
        **vars(time) | {"sleep": lambda _: os.kill(os.getpid(), signal.SIGTERM)}
    )
    with batch._alone(place):
        monkeypatch.setattr(batch, "time", ending)
        result = invoke(collection)
    assert (result.exit_code, result.stderr) == (130, "assignlab: interrupted\n")


# --- Values of one's own, and grids ----------------------------------------------------------


def test_a_grid_gives_every_combination_a_folder_of_its_own(collection):
    place = Place(collection, collection / "outputs", "smoke")
    axes = read_axes(["members=[2],[2, 4]", "seed=1,2"], None)
    plans = plan(place, ["01"], [("rate", "2.5")], axes)
    assert [str(each.path) for each in plans] == [
        "points/rate=2.5,members=2,seed=1/01_first",
        "points/rate=2.5,members=2,seed=2/01_first",
        "points/rate=2.5,members=2+4,seed=1/01_first",
        "points/rate=2.5,members=2+4,seed=2/01_first",
    ]
    assert plans[3].values["members"] == [2, 4] and plans[3].values["seed"] == 2
    assert str(plan(place, ["01"])[0].path) == "01_first"


def test_a_matrix_is_a_grid_from_a_file(collection, tmp_path):
    (tmp_path / "matrix.yaml").write_text("members: [[2], [4]]\nlabel: ['a b', c]\n")
    axes = read_axes(["seed=1"], tmp_path / "matrix.yaml")
    plans = plan(Place(collection, collection / "outputs", "smoke"), ["01"], (), axes)
    assert [(each.values["members"], each.values["label"]) for each in plans] == [
        ([2], "a b"), ([2], "c"), ([4], "a b"), ([4], "c"),
    ]  # fmt: skip
    assert len({each.path for each in plans}) == 4


WRONG_GRIDS = [
    (["--grid", "members=[2],[0]"], "01_first: axis members: 0 is out of range"),
    (["--grid", "members=2"], "axis members: '2' is not a YAML list such as [2, 4]"),
    (["--grid", "memebrs=[2]"], "unknown parameter 'memebrs' (did you mean 'members'?)"),
    (["--grid", "seed"], "--grid 'seed': write NAME=VALUE,VALUE"),
    (["--grid", "seed=1", "--grid", "seed=2"], "--grid seed is given twice"),
    (["--grid", "seed=1", "-p", "seed", "2"], ": seed is given twice"),
    (["-p", "share", "0.5", "02"], "02_second has no parameter 'share': run it by itself"),
]


@pytest.mark.parametrize(("words", "told"), WRONG_GRIDS, ids=[told for _, told in WRONG_GRIDS])
def test_a_wrong_grid_is_refused(collection, nothing_starts, words, told):
    result = invoke(collection, "01", *words)
    assert result.exit_code == 2 and told in result.stderr


@pytest.mark.slow
def test_points_replace_neither_the_study_nor_each_other_and_are_collected(tmp_path, monkeypatch):
    import pandas as pd

    notebook(tmp_path, "01_first", BEGIN, parameters=PARAMETERS)
    notebook(tmp_path, "02_second", BEGIN)

    def execute(plan, folder, run_id, *_):
        pd.DataFrame({"n": [plan.values["seed"]]}).to_parquet(folder / "numbers.parquet")
        return leave(plan, folder, run_id, f"Seed {plan.values['seed']}.")

    monkeypatch.setattr(batch, "execute", execute)
    assert invoke(tmp_path).exit_code == 0
    grid = ["01", "--grid", "seed=1,2", "--grid", "members=[2],[4]", "--jobs", "2"]
    result = invoke(tmp_path, *grid)
    assert result.exit_code == 0 and "4 of 4 runs complete" in result.stdout
    assert invoke(tmp_path, "-p", "share", "0.25").stdout.count("complete. Seed 7.") == 1
    again = invoke(tmp_path, *grid)
    assert again.stdout.count("complete and unchanged, skipped") == 4
    smoke = tmp_path / "outputs" / "smoke"
    answers = {
        str(path.parent.relative_to(smoke)): json.loads(path.read_text())["answer"]
        for path in smoke.rglob("run.json")
    }
    assert answers["01_first"] == answers["points/share=0.25/01_first"] == "Seed 7."
    assert answers["points/seed=2,members=4/01_first"] == "Seed 2." and len(answers) == 7
    page = (tmp_path / "outputs" / "index.html").read_text()
    link = "smoke/points/seed=2,members=4/01_first/01_first.html"
    assert f'<a href="{link}">Seed 2.</a>' in page
    assert '<a href="../../../index.html">' in (tmp_path / "outputs" / link).read_text()
    table = tmp_path / "all.csv"
    # What a run that goes on has so far is not collected.
    shutil.copytree(smoke / "01_first", smoke / ".running" / "0123" / "01_first")
    words = ["collect", "1", "numbers", str(tmp_path / "outputs"), "--to", str(table)]
    assert CliRunner().invoke(main, words).exit_code == 0
    frame = pd.read_csv(table)
    assert len(frame) == 6 and (frame["param_seed"] == frame["n"]).all()
    assert set(frame["param_members"]) >= {"[2]", "[4]"}
    refused = CliRunner().invoke(main, ["collect", "01", "other", str(tmp_path / "outputs")])
    assert refused.exit_code == 2 and "its tables: numbers" in refused.stderr
    lost = smoke / "points" / "share=0.25" / "01_first" / "numbers.parquet"
    lost.unlink()
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, refused.stderr) == (
        2, f"assignlab: {lost} is gone: 'assignlab run' makes it again\n",
    )  # fmt: skip


def test_a_collected_table_appears_whole_or_not_at_all(tmp_path):
    def to_csv(path, index):
        Path(path).write_text("n\n")
        raise OSError(28, "No space left on device")

    table = tmp_path / "all.csv"
    table.write_text("earlier")
    with pytest.raises(OSError, match="No space left"):
        collecting.write(SimpleNamespace(to_csv=to_csv), table)
    assert table.read_text() == "earlier" and list(tmp_path.iterdir()) == [table]


def test_every_index_leads_to_the_other_scales(tmp_path, monkeypatch):
    notebook(tmp_path, "01_first", BEGIN, scales=("smoke", "study"))
    monkeypatch.setattr(
        batch, "execute", lambda plan, folder, run_id, *_: leave(plan, folder, run_id)
    )
    for scale in ("smoke", "study"):
        assert invoke(tmp_path, "--scale", scale).exit_code == 0
    for index, link in (("index.html", "smoke/"), ("study/index.html", "../smoke/")):
        page = (tmp_path / "outputs" / index).read_text()
        others = re.findall(r'<a href="([^"]*)">scale (\w+)</a>', page)
        assert others == [(f"{link}index.html", "smoke")]


def test_the_index_shows_the_picture_that_the_answer_names(tmp_path):
    figures = [{"name": name, "kind": "figure", "text": f"Alt of {name}"} for name in "ab"]
    for name in "ab":
        (tmp_path / f"{name}.small.png").write_bytes(b"")
    shown = [_picture(tmp_path, {"results": figures, "picture": name})["alt"] for name in "ab"]
    assert shown == [f"Small picture of {name}, described on the page" for name in "ab"]


def test_runs_whose_values_look_alike_stand_beside_each_other_in_the_index():
    record = {"short": "Yes.", "status": "completed"}
    records = {
        Path(f"points/share={share}/01_first"): record | {"passed": {"share": share}}
        for share in (0.25001, 0.25002)
    }
    [table] = grids_of("01_first", "First", records, "")
    assert [row[0] for row in table["body"]] == ["0.25", "0.25002"]


# --- One bad notebook ------------------------------------------------------------------------


def leave(plan, folder: Path, run_id: str, answer: str = "Yes."):
    """What a notebook leaves that ran to its end."""
    document = json.loads(plan.notebook.path.read_text())
    for cell in document["cells"]:
        cell["metadata"]["papermill"] = {"status": "completed"}
        if cell["cell_type"] == "code":
            cell["execution_count"] = 1
    (folder / f"{plan.name}.ipynb").write_text(json.dumps(document))
    result = {"name": "numbers", "kind": "table", "files": ["numbers.csv"], "text": "Numbers"}
    (folder / "numbers.csv").write_text("n\n1\n")
    record = {"run_id": run_id, "answer": answer, "do": "", "short": answer, "picture": "",
              "failures": 0, "versions": {"assignlab": "0"}, "git": None, "seed": 7, "seconds": 1.0,
              "results": [result]}  # fmt: skip
    (folder / "record.json").write_text(json.dumps(record))
    return 0, None


def truncate(plan, folder, run_id):
    leave(plan, folder, run_id)
    path = folder / f"{plan.name}.ipynb"
    path.write_text(path.read_text()[:200])
    return 0, None


def leave_a_list(plan, folder, run_id):
    leave(plan, folder, run_id)
    (folder / "record.json").write_text("[1]")
    return 0, None


def leave_results_without_files(plan, folder, run_id):
    leave(plan, folder, run_id)
    record = json.loads((folder / "record.json").read_text())
    (folder / "record.json").write_text(json.dumps({**record, "results": [{"name": "numbers"}]}))
    return 0, None


def fill_the_disk(plan, folder, run_id):
    raise OSError(28, "No space left on device")


def have_no_page(plan, folder, run_id):
    leave(plan, folder, run_id)
    (folder / f"{plan.name}.html").mkdir()
    return 0, None


BAD = {
    truncate: "01_bad.ipynb, the executed notebook, cannot be read",
    leave_a_list: "record.json is not one that study.finish() wrote",
    leave_results_without_files: "record.json is not one that study.finish() wrote",
    fill_the_disk: "OSError: [Errno 28] No space left on device",
    have_no_page: "its page could not be made: IsADirectoryError",
}


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_one_bad_notebook_is_told_and_the_others_go_on(tmp_path, monkeypatch, bad):
    notebook(tmp_path, "01_bad", BEGIN)
    notebook(tmp_path, "02_good", BEGIN)

    def execute(plan, folder, run_id, *_):
        return (bad if plan.name == "01_bad" else leave)(plan, folder, run_id)

    monkeypatch.setattr(batch, "execute", execute)
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert f"01_bad  FAILED: {BAD[bad]}" in result.stdout
    assert "02_good  complete. Yes." in result.stdout
    assert "1 of 2 notebooks complete" in result.stdout
    assert not list((tmp_path / "outputs" / "smoke").glob(".running"))


def test_an_index_that_cannot_be_written_is_told_at_the_end(tmp_path, monkeypatch):
    notebook(tmp_path, "01_good", BEGIN)
    monkeypatch.setattr(
        batch, "execute", lambda plan, folder, run_id, *_: leave(plan, folder, run_id)
    )
    (tmp_path / "outputs" / "index.html").mkdir(parents=True)
    result = invoke(tmp_path)
    assert result.exit_code == 1 and "1 of 1 notebooks complete" in result.stdout
    assert "the index could not be written: [Errno 21] Is a directory" in result.stderr


@pytest.mark.parametrize("name", ["smoke", "smoke/.lock"])
def test_what_stands_in_the_way_of_a_run_is_told_in_one_line(collection, nothing_starts, name):
    path = collection / "outputs" / name
    path.mkdir(parents=True)
    if name == "smoke":
        path.rmdir()
        path.write_text("in the way")
    result = invoke(collection)
    assert result.exit_code in (1, 2) and name in result.stderr
    assert all_told(result) and result.stderr.count("\n") == 1


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_log_that_cannot_be_written_ends_this_notebook_alone(tmp_path, monkeypatch):
    notebook(tmp_path, "01_bad", BEGIN)

    def command(plan, folder, scratch):
        (folder / "run.log").symlink_to("/dev/full")
        return [sys.executable, "-c", "import time; print('full'); time.sleep(600)"]

    monkeypatch.setattr("assignlab.runner.papermill.command", command)
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert "FAILED: run.log could not be written: No space left on device" in result.stdout


def test_an_answer_that_the_terminal_cannot_print_fails_nothing(tmp_path, monkeypatch):
    notebook(tmp_path, "01_good", BEGIN)
    monkeypatch.setattr(
        batch, "execute", lambda plan, folder, run_id, *_: leave(plan, folder, run_id, "分区 3.")
    )
    words = ["run", "--project", str(tmp_path), "--scale", "smoke"]
    result = CliRunner(charset="ascii").invoke(main, words)
    assert result.exit_code == 0
    assert r"01_good  complete. \u5206\u533a 3." in result.stdout


@pytest.mark.parametrize("text", ["[]", "{}", '{"status": "completed"}', "[" * 100_000, "\xff"])
def test_a_damaged_record_of_an_earlier_run_counts_as_none(collection, nothing_starts, text):
    path = collection / "outputs" / "smoke" / "01_first" / "run.json"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="latin-1")
    result = invoke(collection, "--list")
    assert result.exit_code == 0
    assert "01_first  (scale smoke; would run: not run yet)" in result.output


def test_points_of_a_notebook_whose_name_looks_like_a_pattern_are_found(tmp_path, monkeypatch):
    place = Place(tmp_path, tmp_path / "outputs", "smoke")
    (place.folder / "points" / "seed=2" / "01_[what]").mkdir(parents=True)
    monkeypatch.setattr(records, "run_record", lambda _, path: {"folder": str(path)})
    found = list(records.point_records(place, "01_[what]"))
    assert found == [Path("points/seed=2/01_[what]")]


def test_only_completed_runs_tell_how_long_one_takes(capsys):
    progress = Progress({"a": 3, "b": 3}, {}, jobs=1)
    progress.start("a")
    progress.end("a", "FAILED: out of memory", completed=False)
    progress.start("b")
    assert capsys.readouterr().out.splitlines()[-1] == "[2/2] b  starts  0:00 so far"


def test_time_left_is_told_from_earlier_runs(capsys):
    progress = Progress({"a": 3, "b": 3}, {"a": 100.0, "b": 30.0}, jobs=1)
    progress.start("a")
    progress.said("a", "Executing Cell 2-------")
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("[1/2] a  cell 2 of 3  0:00 so far, about 2:")
    )


def test_a_sweeps_first_word_comes_at_once_whatever_runs_beside_it(capsys):
    progress = Progress({"a": 3, "b": 3}, {}, jobs=2)
    for name in ("a", "b"):
        progress.start(name)
        progress.said(name, "Executing Cell 2-------")
    for scenarios in (1, 2):
        for name in ("a", "b"):
            progress.said(name, f"INFO sweep: {scenarios}/4 scenarios")
    told = capsys.readouterr().out.splitlines()
    assert [line[6:7] for line in told if "sweep" in line] == ["a", "b"]
    assert not [line for line in told if "2/4" in line]


def test_progress_needs_no_standard_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    progress = Progress({"a": 3}, {}, jobs=1)
    progress.start("a")
    progress.end("a", "complete. Yes.", completed=True)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_one_line_is_rewritten_and_the_outcome_stays():
    out = Terminal()
    progress = Progress({"a": 3}, {}, jobs=1, out=out)
    progress.start("a")
    progress.said("a", "Executing Cell 2-------")
    progress.said("a", "INFO sweep: 1/4 scenarios, 25 %, 3 s left")
    progress.end("a", "complete. Yes.", completed=True)
    lines = out.getvalue().split("\n")
    assert len(lines) == 2 and lines[1] == ""
    rewritten = lines[0].split("\r")
    assert rewritten[3].startswith("[1/1] a  cell 2 of 3  0:00 so far  sweep: 1/4 scenarios")
    assert rewritten[-2].strip() == "" and rewritten[-1] == "[1/1] a  complete. Yes.  (0:00)"


# --- The collection --------------------------------------------------------------------------


@pytest.mark.parametrize("scale", ["smoke", "study", "full"])
def test_the_notebooks_of_the_project_can_be_planned(scale, tmp_path):
    place = Place(project(), tmp_path, scale)
    plans = plan(place)
    assert [chosen.name for chosen in plans] == list(place.notebooks())
    # A file that belongs to no notebook would set nothing.
    files = {path.stem for path in (project() / "params" / scale).glob("*")}
    assert files == set(place.notebooks())


COLLECTION = sorted((project() / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", COLLECTION, ids=lambda path: path.stem)
def test_papermill_sees_every_parameter_of_a_notebook(path):
    from papermill.inspection import _infer_parameters
    from papermill.iorw import load_notebook_node

    seen = [parameter.name for parameter in _infer_parameters(load_notebook_node(str(path)))]
    assert seen == list(read_notebook(path).parameters)


# --- A copy of the collection ----------------------------------------------------------------


def test_notebooks_are_copied_once_and_can_be_planned_there(tmp_path):
    lab = tmp_path / "my lab"
    result = CliRunner().invoke(main, ["notebooks", str(lab)])
    assert result.exit_code == 0 and f"cd '{lab}' && assignlab run --project ." in result.output
    assert [path.name for path in sorted(lab.glob("notebooks/*"))] == [p.name for p in COLLECTION]
    assert len(plan(Place(lab, tmp_path / "outputs", "study"))) == len(COLLECTION)
    again = CliRunner().invoke(main, ["notebooks", str(lab)])
    assert again.exit_code == 2 and "name another folder" in again.stderr and all_told(again)


def test_a_wheel_has_the_collection_and_is_asked_for_it(tmp_path, monkeypatch):
    declared = tomllib.loads((project() / "pyproject.toml").read_text())["tool"]["setuptools"]
    files = {
        f"{folder}/{path.name}": path
        for folder, patterns in declared["data-files"].items()
        for pattern in patterns
        for path in project().glob(pattern)
    }
    assert {PurePosixPath(name) for name in files} == {
        copies.SHARED / path for path in copies.shipped()
    }


def test_an_installed_wheel_copies_what_pip_put_beside_it(tmp_path, monkeypatch):
    site = tmp_path / "lib" / "site-packages"
    site.mkdir(parents=True)
    installed = metadata.PackagePath("../../share/assignlab/notebooks/01_first.ipynb")
    installed.dist = SimpleNamespace(locate_file=lambda path: site / path)
    notebook(tmp_path / "share" / "assignlab", "01_first")
    monkeypatch.setattr(copies, "checkout", lambda: None)
    monkeypatch.setattr(metadata, "files", lambda name: [installed])
    (tmp_path / "lab").mkdir()
    monkeypatch.chdir(tmp_path / "lab")
    result = CliRunner().invoke(main, ["run", "--project", "."])
    assert result.exit_code == 2 and "'assignlab notebooks COPY_TO' copies those" in result.stderr
    assert CliRunner().invoke(main, ["notebooks", "."]).exit_code == 0
    assert (tmp_path / "lab" / "notebooks" / "01_first.ipynb").is_file()
    # Notebooks of a project in which it is called are not those of the wheel.
    notebook(tmp_path / "lab", "02_mine")
    (tmp_path / "lab" / "pyproject.toml").touch()
    assert CliRunner().invoke(main, ["notebooks", "other"]).exit_code == 0
    assert not (tmp_path / "lab" / "other" / "notebooks" / "02_mine.ipynb").exists()
    monkeypatch.setattr(metadata, "files", lambda name: [])
    none = CliRunner().invoke(main, ["notebooks", "other"])
    assert none.exit_code == 2 and "this installation has no notebooks" in none.stderr
