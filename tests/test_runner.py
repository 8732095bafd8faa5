"""The batch runner: bad input is refused at once, done means done, and what a run leaves behind."""

import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import psutil
import pytest
from assignlab import assignors
from assignlab.cli import main
from assignlab.runner import Place, batch, plan
from assignlab.runner.parameters import (
    Mistake,
    check,
    declared,
    from_text,
    read_kind,
    strategy_names,
)
from assignlab.runner.plan import read_notebook
from assignlab.runner.progress import Progress
from assignlab.runner.records import run_record
from assignlab.runner.verdict import reason_of_failure
from assignlab.study import FOLDER_VARIABLE, RUN_ID_VARIABLE, project
from click.testing import CliRunner

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
FINISH = "study.answer('The seed is %d.' % seed)\nstudy.finish()"


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


def invoke(root: Path, *words: str):
    """The command in this process, at scale smoke."""
    return CliRunner().invoke(main, ["run", "--project", str(root), "--scale", "smoke", *words])


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
    ("verbose", "maybe", "'maybe' is neither true nor false; allowed: bool"),
    ("strategies", "[rage@2.0]", "unknown strategy 'rage@2.0' (did you mean 'range@2.0'?); allow"),
]


@pytest.mark.parametrize(("name", "text", "told"), REFUSED, ids=[" ".join(r[:2]) for r in REFUSED])
def test_a_wrong_value_is_refused_with_what_is_allowed(
    collection, nothing_starts, name, text, told
):
    result = invoke(collection, "-p", name, text)
    assert result.exit_code == 2
    assert told in result.stderr
    assert not (collection / "outputs").exists()


WRONG_FILES = [
    ("memebrs: [2]", "memebrs: unknown parameter 'memebrs' (did you mean 'members'?)"),
    ("members: 2", "members: 2 is not a list with at least one value; allowed: list of int 1..100"),
    ("members: ['2']", "members: '2' is not a whole number"),
    ("seed: true", "seed: True is not a whole number"),
    ("rate: 1e3", "rate: '1e3' is not a number for YAML (write 1000.0)"),
    ("label: 7", "label: 7 is not a text (quote it in YAML)"),
    ("seed: [", "params/smoke/01_first.yaml is not YAML: "),
    ("- 1", "params/smoke/01_first.yaml must hold 'name: value' lines"),
]


@pytest.mark.parametrize(("text", "told"), WRONG_FILES, ids=[text for text, _ in WRONG_FILES])
def test_a_wrong_parameter_file_is_refused(collection, nothing_starts, text, told):
    (collection / "params" / "smoke" / "01_first.yaml").write_text(text)
    result = invoke(collection)
    assert result.exit_code == 2
    assert told in result.stderr


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
    ({"parameters": "seed = 2 * 3  # int 0..: seed"}, "'name = literal' lines only"),
    ({"parameters": "import os"}, "'name = literal' lines only, not 'import os'"),
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
    ("list of int or None", "null", None),
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
    source = 'shade = "#ff0000"  # str: red\nsizes = [\n    1,  # one\n    2,\n]  # list of int: n'
    found = {name: parameter.meaning for name, parameter in declared(source).items()}
    assert found == {"shade": "red", "sizes": "n"}


def test_strategy_names_are_those_of_the_registry():
    assert strategy_names() == sorted(assignors.names())
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


def test_notebooks_are_chosen_by_name_number_or_file(collection):
    place = Place(collection, collection / "outputs", "smoke")
    for word in ("02", "02_second", "02_second.ipynb", "notebooks/02_second.ipynb"):
        assert [chosen.name for chosen in plan(place, [word])] == ["02_second"]


def test_list_shows_values_and_what_is_allowed(collection, nothing_starts):
    result = invoke(collection, "--list", "-p", "members", "[3]")
    assert result.exit_code == 0
    assert "01_first  (not run at scale smoke)" in result.output
    assert "members = [3]\n      list of int 1..100: consumers in the group" in result.output


# --- Real runs -------------------------------------------------------------------------------

GOOD = [
    BEGIN,
    "print('sweep: 1/2 scenarios, 50 %, 1 s left', flush=True)\n"
    "import pandas as pd\nimport matplotlib.pyplot as plt\n"
    "frame = pd.DataFrame({'n': [1, 2], 'text': ['<a>', 'b']})\n"
    "study.table('numbers', frame, caption='Numbers & letters')",
    "fig, ax = plt.subplots()\nax.plot(frame.n)\n"
    "study.figure('curve', fig, alt='A line that \"rises\"')",
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
    notebook(root, "02_raises", BEGIN, "raise KeyError('topic <t>')", FINISH)
    notebook(root, "03_exits", BEGIN, RESULT, FINISH + "\nimport sys\nsys.exit(0)")
    notebook(root, "04_dies", BEGIN, RESULT, FINISH, "import os\nos._exit(0)")
    notebook(root, "05_leaves_less", BEGIN, RESULT, FINISH, results=["numbers", "curve"])
    notebook(root, "06_unfinished", BEGIN, RESULT)
    notebook(root, "07_failures", BEGIN, RESULT + "\nstudy._failures = 3", FINISH)
    # A record of an earlier run must not vouch for a later one.
    for name in ("02_raises", "06_unfinished"):
        old = root / "outputs" / "smoke" / name
        old.mkdir(parents=True)
        (old / "record.json").write_text('{"run_id": "old", "results": [], "failures": 0}')
        (old / "numbers.csv").write_text("old")
    said = invoke(root, "--jobs", "2", "-p", "seed", "9")
    output, _ = hanging.communicate(timeout=60)
    assert hanging.returncode == 1
    return root, said, hung, output


FAILURES = {
    "02_raises": "KeyError: 'topic <t>'",
    "03_exits": "SystemExit: 0",
    "04_dies": "the kernel died",
    "05_leaves_less": "did not leave the results it declares: curve",
    "06_unfinished": "left no completion record",
    "07_failures": "3 simulations failed",
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_run_that_did_not_complete_is_told(ran, name):
    root, said, *_ = ran
    record = run_record(Place(root, root / "outputs", "smoke"), name)
    assert record["status"] == "failed"
    assert record["reason"].startswith(FAILURES[name])
    assert f"{name}  FAILED: {FAILURES[name]}" in said.stdout
    assert FAILURES[name].replace("<t>", "&lt;t&gt;").replace("'", "&#39;") in index_of(root)


def index_of(root: Path) -> str:
    return (root / "outputs" / "index.html").read_text()


def test_failed_runs_leave_nothing_of_earlier_ones(ran):
    root, *_ = ran
    assert not (root / "outputs" / "smoke" / "02_raises" / "numbers.csv").exists()
    assert (root / "outputs" / "smoke" / "06_unfinished" / "numbers.csv").read_text() != "old"
    assert not list((root / "outputs" / "smoke").glob(".running/*"))


def test_exit_code_and_last_words_tell_of_failures(ran):
    root, said, *_ = ran
    assert said.exit_code == 1
    assert f"did not complete: {', '.join(FAILURES)}" in said.stderr
    assert said.stdout.splitlines()[-2:] == [
        "1 of 7 notebooks complete at scale smoke",
        str(root / "outputs" / "index.html"),
    ]


def test_progress_names_notebook_cell_and_sweep(ran):
    _, said, *_ = ran
    assert "[1/7] 01_good  cell 3 of 7" in said.stdout
    assert "sweep: 1/2 scenarios, 50 %, 1 s left" in said.stdout
    assert "[1/7] 01_good  complete. The seed is 9." in said.stdout


def test_no_warning_is_left_in_the_log(ran):
    root, *_ = ran
    log = (root / "outputs" / "smoke" / "01_good" / "run.log").read_text()
    assert "TCP without encryption" not in log and "unknown parameter" not in log.lower()
    assert "Unable to parse" not in log


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
        "curve.svg",
        "record.json",
        "run.json",
        "run.log",
    }
    assert pd.read_csv(folder / "numbers.csv").equals(pd.read_parquet(folder / "numbers.parquet"))
    assert (folder / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (folder / "curve.svg").read_text()


def test_the_page_needs_nothing_else_and_folds_its_inputs(ran):
    root, *_ = ran
    page = (root / "outputs" / "smoke" / "01_good" / "01_good.html").read_text()
    assert '<html lang="en">' in page and "<title>What does 01_good show?</title>" in page
    assert sum(details["class"] == "input" for details in Tags(page).all("details")) == 6
    assert [image["alt"] for image in Tags(page).all("img")] == ['A line that "rises"']
    assert "<caption>Numbers &amp; letters</caption>" in page and "&lt;a&gt;" in page
    assert "<strong>The seed is 9.</strong>" in page
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
    """No script, and nothing that a browser would load from elsewhere."""
    tags = Tags(page)
    sources = [attributes["src"] for _, attributes in tags.found if "src" in attributes]
    return (
        not tags.all("script")
        and not tags.all("link")
        and all(source.startswith("data:") for source in sources)
        and not re.search(r"@import|url\(", page)
    )


def test_the_index_shows_answer_picture_state_and_links_that_lead_somewhere(ran):
    root, *_ = ran
    for index in (root / "outputs" / "index.html", root / "outputs" / "smoke" / "index.html"):
        page = index.read_text()
        assert self_contained(page) and page.count("<article>") == 7
        assert '<p class="answer">The seed is 9.</p>' in page
        assert page.count('<img src="data:image/png;base64,') == 1
        assert page.count('class="status failed"') == 6
        links = [link["href"] for link in Tags(page).all("a")]
        assert len(links) > 20
        assert [link for link in links if not (index.parent / link).is_file()] == []


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


def test_a_complete_run_is_skipped_until_something_changes(ran, nothing_starts):
    root, *_ = ran
    place = Place(root, root / "outputs", "smoke")
    result = invoke(root, "01_good", "-p", "seed", "9")
    assert result.exit_code == 0
    assert "01_good  complete and unchanged, skipped" in result.output
    assert "1 of 1 notebooks complete" in result.output
    assert not batch.is_complete(place, plan(place, ["01"], [("seed", "10")])[0])
    same = plan(place, ["01"], [("seed", "9")])[0]
    assert batch.is_complete(place, same)
    assert not batch.is_complete(place, plan(place, ["02"], [("seed", "9")])[0])
    kept = root / "outputs" / "smoke" / "01_good" / "numbers.csv"
    content = kept.read_bytes()
    kept.unlink()
    assert not batch.is_complete(place, same)
    kept.write_bytes(content)


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


def test_a_notebook_over_the_time_limit_is_ended_with_all_it_started(ran):
    _, _, root, output = ran
    assert "01_hangs  FAILED: took longer than 25 s" in output
    assert gone(child_of(root / "outputs" / "smoke" / "01_hangs" / "run.log"))


def test_an_interrupt_ends_everything_and_keeps_what_is_done(tmp_path):
    notebook(tmp_path, "01_quick", BEGIN, RESULT, FINISH)
    notebook(tmp_path, "02_hangs", HANG)
    kept = tmp_path / "outputs" / "smoke" / "02_hangs" / "of-an-earlier-run"
    kept.mkdir(parents=True)
    process = subprocess.Popen(
        [*COMMAND, "run", "--project", str(tmp_path), "--scale", "smoke"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where the tests run in the background of a shell, interrupts are ignored from birth.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    log = tmp_path / "outputs" / "smoke" / ".running" / "02_hangs" / "run.log"
    until = time.monotonic() + 60
    while not (log.exists() and "CHILD" in log.read_text()):
        assert time.monotonic() < until and process.poll() is None
        time.sleep(0.1)
    child = child_of(log)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in errors and "Traceback" not in errors
    assert gone(child)
    manifest = json.loads((tmp_path / "outputs" / "smoke" / "manifest.json").read_text())
    assert [run["status"] for run in manifest["notebooks"]] == ["completed", "not run"]
    assert kept.exists() and not log.parents[1].exists()


def test_a_termination_signal_interrupts_too():
    with pytest.raises(KeyboardInterrupt), batch._interruptible():
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)


def test_two_runs_do_not_write_to_one_folder(collection, nothing_starts):
    place = Place(collection, collection / "outputs", "smoke")
    place.folder.mkdir(parents=True)
    with batch._alone(place) as alone:
        assert alone
        result = invoke(collection)
    assert result.exit_code == 1
    assert "another run writes to" in result.stderr


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
