"""How a notebook leaves its results: whole files, the record last, the same everywhere."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import matplotlib
import matplotlib.pyplot
import pandas as pd
import pytest

from assignlab import sliders, study
from assignlab.local.project import FOLDER_VARIABLE, OUTPUTS_VARIABLE, RUN_ID_VARIABLE
from assignlab.pictures import bars, frames

matplotlib.use("agg")


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project folder, and no runner around."""
    monkeypatch.setenv(OUTPUTS_VARIABLE, str(tmp_path / "outputs"))
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.delenv(RUN_ID_VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def shown(monkeypatch):
    """What the notebook displays: (data by MIME type, metadata)."""
    found = []
    monkeypatch.setattr(
        "IPython.display.display", lambda data, raw, metadata: found.append((data, metadata))
    )
    return found


def figure():
    import matplotlib.pyplot as plt

    fig, ax = plt.subplots(figsize=(2, 1))
    ax.plot([1, 2])
    return fig


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_without_a_runner_the_results_go_to_the_projects_adhoc_folder(project, shown):
    made = study.begin("01_first", {"seed": 7, "members": [2, 4]})
    made.table("numbers", pd.DataFrame({"n": [1, 2]}), caption="Numbers")
    made.figure("curve", figure(), alt="A rising line")
    made.answer("It rises.")
    made.finish()
    folder = project / "outputs" / "adhoc" / "01_first"
    assert names(folder) == [
        "curve.png",
        "curve.small.png",
        "curve.svg",
        "numbers.csv",
        "numbers.parquet",
        "record.json",
    ]
    record = json.loads((folder / "record.json").read_text())
    assert record["answer"] == "It rises." and record["seed"] == 7 and record["run_id"] is None
    assert record["parameters"] == {"seed": 7, "members": [2, 4]}
    assert [result["name"] for result in record["results"]] == ["numbers", "curve"]
    # Provenance: versions, seed, duration.
    line = shown[-1][0]["text/plain"]
    assert line.startswith("assignlab ") and "pyspark 4.3" in line and "seed 7" in line


def test_the_runner_names_folder_and_run(project, monkeypatch, shown):
    monkeypatch.setenv(FOLDER_VARIABLE, str(project / "there"))
    monkeypatch.setenv(RUN_ID_VARIABLE, "abc")
    made = study.begin("01_first", {})
    made.answer("Yes.")
    made.finish()
    assert json.loads((project / "there" / "record.json").read_text())["run_id"] == "abc"


def test_the_parameters_are_found_among_the_variables_of_a_real_session(project):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("seed = 7\nmembers = [2, 4]\nlabel = 'a'", store_history=True)
    shell.run_cell("import math\ndef f():\n    pass", store_history=True)
    assert study.parameters_among(shell.user_ns) == {"seed": 7, "members": [2, 4], "label": "a"}


def test_values_are_checked_wherever_a_notebook_runs(project):
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_cell("consumers = [3]  # list of int 1..9: members", store_history=True)
    shell.run_cell("import math\nother = 1", store_history=True)
    assert study.begin("01_first", shell.user_ns).parameters == {"consumers": [3]}
    shell.run_cell("# Parameters\nconsumers = 4\nconsumer = 3\n", store_history=True)
    with pytest.raises(ValueError) as refused:
        study.begin("01_first", shell.user_ns)
    assert str(refused.value).splitlines() == [
        "consumers: 4 is not a list with at least one value; allowed: list of int 1..9",
        "unknown parameter 'consumer' (did you mean 'consumers'?); allowed: consumers",
    ]
    # The cell was mended and run again; Papermill's cell is not there in JupyterLab.
    shell.run_cell("consumers = [4]  # list of int 1..9: members", store_history=True)
    assert study.begin("01_first", shell.user_ns).parameters == {"consumers": [4]}


def test_beginning_again_takes_back_record_and_results_of_the_run_before(project, shown):
    made = study.begin("01_first", {})
    made.figure("curve", figure(), alt="A rising line")
    made.failures(pd.DataFrame({"error": ["TimeLimit"]}))
    made.answer("Yes.")
    made.finish()
    (made.folder / "mine.csv").touch()
    assert "failures.csv" in names(made.folder)
    again = study.begin("01_first", {})
    assert names(again.folder) == ["mine.csv"]
    for other in ("", "[]", '{"results": [1]}'):
        (made.folder / "record.json").write_text(other)
        assert names(study.begin("01_first", {}).folder) == ["mine.csv"]


@pytest.mark.parametrize("named", [OUTPUTS_VARIABLE, FOLDER_VARIABLE])
def test_a_folder_that_cannot_be_written_is_told_in_a_line(project, monkeypatch, named):
    (project / "file").touch()
    monkeypatch.setenv(named, str(project / "file"))
    with pytest.raises(OSError, match=f"^cannot write in .*file.* elsewhere with {named}$"):
        study.begin("01_first", {})


def test_no_answer_no_record(project, shown):
    made = study.begin("01_first", {})
    with pytest.raises(ValueError, match="gave no answer"):
        made.finish()
    assert names(made.folder) == []


def test_a_picture_carries_its_alt_text_and_no_date(project, shown):
    made = study.begin("01_first", {})
    made.figure("curve", figure(), alt="A rising line")
    data, details = shown[-1]
    assert details["image/png"] == {"alt": "A rising line"} and "image/png" in data
    first = (made.folder / "curve.svg").read_bytes()
    study.begin("01_first", {}).figure("curve", figure(), alt="A rising line")
    assert (made.folder / "curve.svg").read_bytes() == first
    with pytest.raises(ValueError, match="alt text"):
        made.figure("other", figure(), alt=" ")


def test_a_file_that_cannot_be_made_leaves_nothing(project, shown, monkeypatch):
    made = study.begin("01_first", {})

    def broken(_, path, **__):
        path.write_text("half of")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, "to_csv", broken)
    with pytest.raises(OSError, match="disk full"):
        made.table("numbers", pd.DataFrame({"n": [1]}), caption="Numbers")
    assert names(made.folder) == []


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (pd.DataFrame({"gap": [1, "none"]}), "column gap .*'none'"),
        (pd.DataFrame([[1, 2]], columns=["gap", "gap"]), "Duplicate column names found"),
        (pd.DataFrame({"gap": [2**70, 1]}), "too large"),
        (pd.DataFrame({"gap": ["\ud800"]}), "surrogates"),
    ],
)
def test_a_table_that_no_file_holds_is_refused_by_name_and_not_told(project, shown, frame, why):
    made = study.begin("01_first", {})
    with pytest.raises(ValueError, match=f"table 'gaps' cannot be kept: .*{why}") as refused:
        made.table("gaps", frame, caption="Gaps")
    assert "\n" not in str(refused.value)
    with pytest.raises(AttributeError):
        made.figure("curve", None, alt="None")
    made.table("gaps", pd.DataFrame({"gap": [1]}), caption="Gaps")
    made.figure("curve", figure(), alt="A rising line")
    made.answer("Yes.")
    made.finish()
    told = json.loads((made.folder / "record.json").read_text())["results"]
    assert all((made.folder / file).is_file() for result in told for file in result["files"])


def test_a_long_table_is_shown_in_part_and_kept_whole(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame({"n": range(100)}, index=pd.Index(range(100), name="row"))
    made.table("numbers", frame, caption="Numbers & <more>")
    page = shown[-1][0]["text/html"]
    assert page.count("<tr") == study.ROWS_SHOWN + 1
    assert "<caption>Numbers &amp; &lt;more&gt; (15 of 100 rows; all are in numbers.csv)" in page
    kept = pd.read_csv(made.folder / "numbers.csv")
    assert len(kept) == 100 and list(kept.columns) == ["row", "n"]


def test_a_table_shows_what_answers_in_words_and_keeps_the_rest(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame({"count_gap": [1, 2, 3], "idle": [0, 0, 4]})
    made.table("numbers", frame, caption="Numbers", show=frame[frame["idle"] > 0][["count_gap"]])
    page = shown[-1][0]["text/html"]
    assert "<th>gap</th>" in page and page.count("<td") == 1
    assert "(1 of 3 rows; all are in numbers.csv)" in page
    assert pd.read_csv(made.folder / "numbers.csv").equals(frame)


def test_a_table_that_is_arranged_otherwise_is_no_part(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame({"who": ["a", "a"], "at": ["x", "y"], "idle": [0, 4]})
    made.table("wide", frame, caption="Wide", show=frame.pivot(index="who", columns="at"))
    assert "<caption>Wide (from 2 rows, all in wide.csv)" in shown[-1][0]["text/html"]


def test_a_picture_of_several_axes_is_small_in_the_index_by_one_of_them(project, shown):
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 3, figsize=(12, 2))
    for ax in axes:
        ax.plot([1, 2])
    made = study.begin("01_first", {})
    made.figure("curves", fig, alt="Three lines")
    made.figure("curve", figure(), alt="A line")
    height, width = plt.imread(made.folder / "curves.small.png").shape[:2]
    assert 1.2 < width / height < 3  # of all three it would be 6
    assert width <= study.SMALL + 20


def test_the_answer_tells_what_to_do_and_which_picture_shows_it(project, shown):
    made = study.begin("01_first", {})
    made.figure("first", figure(), alt="A line")
    made.figure("second", figure(), alt="A line")
    with pytest.raises(ValueError, match="no figure 'third'"):
        made.answer("It rises.", picture="third")
    made.answer("It rises: always. And more.", do="Climb.", picture="second")
    made.finish()
    record = json.loads((made.folder / "record.json").read_text())
    told = {key: record[key] for key in ("answer", "do", "short", "picture")}
    assert list(told.values()) == ["It rises: always. And more.", "Climb.", "It rises", "second"]
    made = study.begin("01_first", {})
    made.figure("first", figure(), alt="A line")
    made.answer("It rises.", short="Up.")
    made.finish()
    record = json.loads((made.folder / "record.json").read_text())
    assert (record["picture"], record["short"], record["do"]) == ("first", "Up.", "")


def test_what_to_do_leads_to_another_notebook(project, shown):
    made = study.begin("01_first", {})
    made.answer("It rises.", do="If x < 1: [06 upgrade](06_upgrade.ipynb).")
    [(data, _)] = shown
    assert '<p>If x &lt; 1: <a href="06_upgrade.ipynb">06 upgrade</a>.</p>' in data["text/html"]
    assert data["text/plain"].endswith("If x < 1: 06 upgrade.")


def test_a_title_stands_above_its_picture_in_lines_that_a_phone_shows(project, shown):
    made, drawn = study.begin("01_first", {}), figure()
    made.figure("line", drawn, alt="A line", title="what is seen " * 9)
    lines = drawn.get_suptitle().splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= study.TITLE
    assert "what is seen" in (made.folder / "line.svg").read_text(encoding="utf-8")


def test_a_short_answer_keeps_its_result_wherever_it_is_too_long(project, shown):
    made = study.begin("01_first", {})
    made.answer("They do.", short=f"Restarts of two: 39 in step; 563 late, of {'many, ' * 50}")
    made.finish()
    short = json.loads((made.folder / "record.json").read_text())["short"]
    assert short.startswith("Restarts of two: 39 in step; 563 late, of many, many")
    assert short.endswith("many …") and len(short) <= study.SHORT


RESTARTS = [
    (m, d, s, m * d * (s == "range")) for m in (3, 8) for d in (0, 20) for s in ("range", "b")
]


def test_sliders_are_refused_where_rows_are_not_told_apart(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame(RESTARTS, columns=["members", "drift_ms", "strategy", "cost"])
    with pytest.raises(ValueError, match="members, strategy do not tell the rows apart"):
        made.explore("costs", frame, ["members"], "strategy", "cost", "Costs")
    with pytest.raises(ValueError, match="cost has values that no bar shows"):
        frame = frame.assign(cost=-1)
        made.explore("costs", frame, ["members", "drift_ms"], "strategy", "cost", "Costs")


def parts(svg: str) -> list[tuple[str, dict[str, str], str]]:
    """Tag, attributes and text of everything in a picture."""
    found = re.findall(r"<(svg|text|rect) ([^>]*?)/?>([^<]*)", svg)
    return [(tag, dict(re.findall(r'([\w-]+)="([^"]*)"', of)), text) for tag, of, text in found]


def in_browser(project: Path, page: str, value: int) -> str:
    """The document that Chromium makes of a page when all its sliders are moved to a value."""
    if not shutil.which("chromium"):
        pytest.skip("no Chromium")
    move = f"for (const i of document.querySelectorAll('input')) {{i.value = {value}; i.oninput()}}"
    file = project / "page.html"
    file.write_text(f"<meta charset=utf-8>{page}<script>{move}</script>")
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    flags += [
        "--disable-component-update",
        "--disable-sync",
        f"--user-data-dir={project / 'chromium'}",
    ]
    command = ["chromium", *flags, "--dump-dom", file.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=120).stdout


def test_sliders_choose_the_bars_in_a_browser(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame(RESTARTS, columns=["members", "drift_ms", "strategy", "cost"])
    made.explore("costs", frame, ["members", "drift_ms"], "strategy", "cost", "Costs </script>")
    assert names(made.folder) == ["costs.csv", "costs.parquet"]
    dom = in_browser(project, shown[-1][0]["text/html"], 1)
    drawn = re.search("<svg.*?</svg>", dom, re.DOTALL)[0]
    assert re.findall("<text[^>]*>([^<]*)", drawn) == ["range", "160", "b", "0"]
    assert re.findall("<output>([^<]*)", dom) == ["8", "20"]
    # What JupyterLab shows in its place is the same drawing.
    live = sliders.drawn(["range", "b"], {"range": 160, "b": 0}, 160)
    assert parts(live) == parts(drawn)


MOVES = [{"range": {"a": "t0p0 t0p1", "b": ""}}, {"range": {"a": "t0p0", "b": "t0p1"}}]


def test_a_slider_steps_through_pictures_in_a_browser(project, shown):
    made = study.begin("01_first", {})
    frame = pd.DataFrame({"told": ["b joins", "t0p1 goes to b </script>"]})
    with pytest.raises(ValueError, match="1 pictures for 2 steps"):
        made.steps("moves", frame, ["<svg></svg>"], "Moves")
    made.steps("moves", frame, frames.holdings(MOVES, [{}, {"b": "new & glad"}]), "Moves")
    assert names(made.folder) == ["moves.csv", "moves.parquet"]
    dom = in_browser(project, shown[-1][0]["text/html"], 1)
    drawn = re.search("<svg.*?</svg>", dom, re.DOTALL)[0]
    words = ["range", "a", "t0p0", "−t0p1", "b", "+t0p1", "new &amp; glad"]
    assert re.findall("<text[^>]*>([^<]*)", drawn) == words
    assert "t0p1 goes to b" in re.search("<p .*?</p>", dom)[0] and "2 of 2" in dom


def test_failed_simulations_are_kept_and_counted(project, shown):
    made = study.begin("01_first", {})
    made.failures(pd.DataFrame({"error": []}))
    assert names(made.folder) == []
    made.failures(pd.DataFrame({"scenario": [3], "error": ["IllegalStateException"]}))
    made.failures(pd.DataFrame({"scenario": [5, 6], "error": "TimeLimit", "event": [None, "JOIN"]}))
    made.answer("Three fail.", short="three " * 100)
    made.finish()
    record = json.loads((made.folder / "record.json").read_text())
    assert record["failures"] == 3 and len(record["short"]) <= 160
    kept = pd.read_parquet(made.folder / "failures.parquet")
    assert kept["scenario"].tolist() == [3, 5, 6] and kept["event"].tolist() == [None, None, "JOIN"]
    assert "IllegalStateException" in (made.folder / "failures.csv").read_text()


@pytest.mark.parametrize("name", ["", "Two Words", "../up", "a.b"])
def test_a_results_name_is_a_plain_word_used_once(project, shown, name):
    made = study.begin("01_first", {})
    with pytest.raises(ValueError, match="not a result's name"):
        made.table(name, pd.DataFrame({"n": [1]}), caption="Numbers")
    made.table("numbers", pd.DataFrame({"n": [1]}), caption="Numbers")
    with pytest.raises(ValueError, match="there is a table 'numbers' already"):
        made.figure("numbers", figure(), alt="A line")


def test_a_cell_that_is_run_again_replaces_what_it_made(project, shown, monkeypatch):
    made = study.begin("01_first", {})

    def asked(cell, number, rows=1):
        monkeypatch.setattr(study, "request", lambda: study.Request(f"m{number}", cell, True))
        made.table("numbers", pd.DataFrame({"n": range(rows)}), caption="Numbers")

    asked("c1", 1)
    asked("c1", 2, rows=3)
    assert len(pd.read_csv(made.folder / "numbers.csv")) == 3
    for cell, number in [("c1", 2), ("c2", 3), (None, 4)]:
        with pytest.raises(ValueError, match="there is a table 'numbers' already"):
            asked(cell, number)


def test_a_cell_that_is_run_again_fails_no_more_often(project, shown, monkeypatch):
    made = study.begin("01_first", {})
    for number, (cell, failed) in enumerate([("c1", 2), ("c2", 1), ("c1", 3)]):
        by = study.Request(f"m{number}", cell, True)
        monkeypatch.setattr(study, "request", lambda by=by: by)
        made.failures(pd.DataFrame({"scenario": range(failed)}))
    assert len(pd.read_csv(made.folder / "failures.csv")) == 4
    made.answer("Four fail.")
    made.finish()
    assert json.loads((made.folder / "record.json").read_text())["failures"] == 4
    for number, (cell, left) in enumerate([("c1", 1), ("c2", 0)], 5):
        by = study.Request(f"m{number}", cell, True)
        monkeypatch.setattr(study, "request", lambda by=by: by)
        made.failures(pd.DataFrame({"scenario": []}))
        assert (made.folder / "failures.csv").exists() == (left > 0)
    made.finish()
    record = json.loads((made.folder / "record.json").read_text())
    assert record["failures"] == 0 and record["results"] == []


def test_another_figure_may_stand_for_a_picture_in_the_index(project, shown):
    made, opened = study.begin("01_first", {}), matplotlib.pyplot.get_fignums()
    values = pd.Series({"range": 8.0, "sticky": 1.25, "roundrobin": float("nan")})
    made.figure("line", figure(), alt="A line", small=bars.card(values, "moved"))
    made.figure("same", figure(), alt="A line")
    line, same = (made.folder / f"{name}.small.png" for name in ("line", "same"))
    assert line.read_bytes() != same.read_bytes()
    assert matplotlib.pyplot.get_fignums() == opened


def test_a_card_of_nothing_has_its_title_alone():
    [ax] = bars.card(pd.Series({"range": float("nan")}), "moved").axes
    assert ax.get_title() == "moved" and not ax.patches and not ax.get_yticks().size


def test_bars_of_costs_show_what_there_is_rollouts_first():
    rows = pd.DataFrame(
        {
            "event": ["a crash", "a crash", "a rollout", "a rollout"],
            "strategy": ["range", "sticky"] * 2,
            "moved_low": [1, 2, 3, 4],
            "moved_high": [1, None, 5, 6],
        }
    )
    drawn, most = bars.costs(rows)
    assert list(most) == [("a rollout", "partitions moved"), ("a crash", "partitions moved")]
    assert most["a rollout", "partitions moved"].to_dict() == {"range": 5, "sticky": 6}
    assert most["a crash", "partitions moved"].to_dict() == {"range": 1}
    assert [ax.get_title() for ax in drawn.axes] == ["a rollout", "a crash"]
    assert not any(ax.texts for ax in drawn.axes)
    drawn, _ = bars.costs(rows.assign(moved_high=[None, None, 5, 6]))
    assert [[text.get_text() for text in ax.texts] for ax in drawn.axes] == [[], ["not measured"]]
    matplotlib.pyplot.close(drawn)
