"""The collection itself, run small: it completes, and its headline numbers are right."""

import ast
import dis
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType, SimpleNamespace

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest

from assignlab import evidence, runner
from assignlab.errors import AssignlabError
from assignlab.local.project import FOLDER_VARIABLE, project
from assignlab.study import RECORD, SHORT
from assignlab.words import NOTEBOOK, first_sentence
from conftest import java_missing

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
needs_java = pytest.mark.skipif(java_missing(), reason="no Java of 17 or later")


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Every notebook at scale smoke, run by the runner from a folder that is not the project."""
    outputs = tmp_path_factory.mktemp("outputs")
    command = [sys.executable, "-m", "assignlab", "run", "--scale", "smoke", "--outputs", outputs]
    run = subprocess.run(command, cwd=outputs, capture_output=True, text=True, timeout=3000)
    assert run.returncode == 0, run.stdout + run.stderr
    return outputs / "smoke"


@needs_java
def test_every_notebook_completes_with_an_answer(results):
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    runs = {entry["notebook"]: entry for entry in manifest["notebooks"]}
    assert sorted(runs) == NOTEBOOKS
    for name, run in runs.items():
        assert run["status"] == "completed"
        assert 0 < len(first_sentence(run["answer"])[0]) <= 300, name
        assert len(NOTEBOOK.sub(r"\1", run["do"])) <= 560, f"{name}: more than five lines of advice"
        assert (results / name / f"{name}.html").stat().st_size > 10_000
    log = (results.parent / "spark" / "driver.log").read_text(encoding="utf-8")
    assert log.count("Setting Spark log level") == 1, "more than one Java machine"


def whole_result(short: str) -> bool:
    """Whether a card of the index holds a whole sentence that has a number in it."""
    return (
        len(short) <= SHORT
        and short.endswith(".")
        and "…" not in short
        and bool(re.search(r"\d", short))
    )


@needs_java
def test_every_card_of_the_index_holds_a_whole_sentence_with_a_result(results):
    manifest = json.loads((results / "manifest.json").read_text(encoding="utf-8"))
    cards = {run["notebook"]: run["short"] for run in manifest["notebooks"]}
    assert [name for name, short in cards.items() if not whole_result(short)] == []


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_card_of_the_gallery_holds_a_whole_sentence_with_a_result(name):
    captions = json.loads((ROOT / "docs/gallery/captions.json").read_text(encoding="utf-8"))
    assert name not in captions or whole_result(captions[name]["short"])


@needs_java
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_picture_on_a_page_stands_there_once(results, name):
    executed = nbformat.read(results / name / f"{name}.ipynb", as_version=4)
    outputs = [output for cell in executed.cells for output in cell.get("outputs", [])]
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    named = [output.metadata.get("assignlab", {}).get("name") for output in pictures]
    assert None not in named, "matplotlib showed a figure that the study did not"
    assert len(named) == len(set(named))


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_long_code_that_draws_is_folded_in_jupyterlab(name):
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if "study.figure(" in cell.source and len(cell.source.splitlines()) > 12:
            assert cell.metadata.get("jupyter", {}).get("source_hidden"), cell.source[:200]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_cell_does_one_thing_in_25_lines(name):
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" not in cell.metadata.get("tags", ()):
            assert len(cell.source.splitlines()) <= 25, cell.source[:200]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_no_cell_changes_a_parameter(name):
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    names: dict[bool, set[str]] = {True: set(), False: set()}
    for cell in cells:
        if cell.cell_type == "code":
            here = ast.walk(ast.parse(cell.source))
            bound = {
                node.id
                for node in here
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            }
            names["parameters" in cell.metadata.get("tags", [])] |= bound
    assert not names[True] & names[False]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_cell_that_is_run_again_reads_what_it_read_before(name):
    """As in JupyterLab: neither it nor a later one gives another meaning to a name that it reads."""
    cells = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4).cells
    codes = [compile(c.source, "cell", "exec") for c in cells if c.cell_type == "code"]
    reads, sets = zip(*map(read_and_set, codes), strict=True)
    for at in range(len(codes)):
        anew = set().union(*sets[:at]) & set().union(*sets[at:])
        assert not reads[at] & anew, f"code cell {at + 1}"


def read_and_set(code) -> tuple[set[str], set[str]]:
    """The names that a cell reads before it sets them, and those that it sets."""
    reads, sets = set(), set()
    for step in dis.get_instructions(code):
        if isinstance(step.argval, CodeType):
            reads |= read_and_set(step.argval)[0] - sets
        elif step.opname == "STORE_NAME":
            sets.add(step.argval)
        elif step.opname in ("LOAD_NAME", "LOAD_GLOBAL") and step.argval not in sets:
            reads.add(step.argval)
    return reads, sets


@needs_java
def test_every_printed_list_holds_or_its_slip_is_named(results):
    table = pd.read_csv(results / "01_strategies_by_example" / "examples.csv", dtype=str)
    assert set(table["printed by"]) == {"001", "002", "003"}  # 000 and 004 print none
    assert not table.duplicated(["printed by", "example", "strategy", "member"]).any()
    slips = table[table["verdict"] != "holds"]
    assert slips["example"].tolist() == [
        "round robin", "consumer3", "consumer3, move 2", "§7.2, num.streams = 2",
        "§7.2, num.streams = 2",
    ]  # fmt: skip
    assert len(table) - len(slips) >= 40


@needs_java
def test_the_gap_of_range_follows_the_law_and_the_others_stay_within_one(results):
    table = pd.read_csv(results / "02_imbalance_and_topic_count" / "imbalance.csv")
    equal = table[table["subscription"] == "HOMOGENEOUS"]
    by_range = equal[equal["strategy"] == "range"]
    law = by_range["topics"] * (by_range["partitions_per_topic"] % by_range["members"] > 0)
    assert by_range["count_gap"].tolist() == law.tolist()
    assert equal[equal["strategy"] != "range"]["count_gap"].max() <= 1
    assert (equal["max_over_mean"] >= equal["floor"] - 1e-3).all()


@needs_java
def test_sticky_strategies_move_no_more_than_the_minimum(results):
    table = pd.read_csv(results / "03_moves_across_rebalances" / "partitions_by_event.csv")
    sticky = table[table["strategy"].str.contains("sticky")]
    assert len(sticky)
    assert sticky["avoidable"].max() == 0
    joined = table[table["event"] == "JOIN_ONE"].set_index("strategy")
    # 4 members share 20 partitions; the fifth must get 4 of them
    assert joined.loc["sticky", "by_choice"] == 4
    assert joined.loc["cooperative-sticky", "interrupted"] == 4
    assert joined.loc["sticky", "interrupted"] == 20
    assert joined.loc["roundrobin", "by_choice"] > 4
    parts = table[["stayed", "forced", "needed", "avoidable"]].sum(axis=1)
    assert (abs(parts - table["held"]) < 0.02).all()


@needs_java
def test_load_stays_above_its_bound_and_strategies_that_count_move_nothing(results):
    table = pd.read_csv(results / "13_load" / "measures.csv")
    assert (table["load_max_over_mean"] >= table["load_max_over_mean_bound"] - 1e-3).all()
    stop = table[table["shape"] == "lag after a stop"].set_index("strategy")
    assert stop.loc["sticky", "moved"] == 0
    assert stop.loc["sticky", "load_percent"] > stop.loc["weighted-sticky", "load_percent"]
    drift = pd.read_csv(results / "13_load" / "r_scores.csv").set_index("strategy")
    assert (drift.loc[["range", "sticky"], "r_score"] == 0).all()
    assert (drift.loc[["modified-worst-fit", "modified-best-fit"], "overloaded_most"] == 0).all()
    assert (drift["r_score_least"] <= drift["r_score"]).all()
    assert drift.loc["modified-worst-fit", "used_least"].max() > 0


@needs_java
def test_sticky_is_optimal_for_equal_subscriptions_and_range_is_not(results):
    table = pd.read_csv(results / "12_regret" / "regrets.csv")
    shares = table.set_index(["strategy", "subscription"])["optimal_percent"]
    assert shares["sticky", "HOMOGENEOUS"] == 100 > shares["range", "HOMOGENEOUS"]
    assert (table["gap_regret"] >= 0).all() and (table["moves_regret"] >= 0).all()
    rows = pd.read_csv(results / "12_regret" / "alike.csv")["strategies"]
    named = [name for row in rows for name in row.split(", ")]
    assert sorted(named) == sorted(set(table["strategy"])), "every strategy stands in one row"
    uneven = pd.read_csv(results / "03_moves_across_rebalances" / "partitions_uneven.csv")
    assert (abs(uneven["needed"] + uneven["avoidable"] - uneven["by_choice"]) < 0.02).all()


@needs_java
def test_on_kafkas_grid_answers_are_valid_and_range_alone_is_uneven(results):
    table = pd.read_csv(results / "16_kafkas_grid" / "validity.csv").set_index("strategy")
    assert (table[["throws", "wrong"]] == 0).all(axis=None)
    assert (table["answers"] == 7 * 16).all()  # events of 2 x 2 x 2 x 2 groups
    regrets = table["largest_regret"]
    assert regrets["sticky"] == regrets["server-uniform"] == 0 < regrets["range"]
    growth = pd.read_csv(results / "16_kafkas_grid" / "exponents.csv")
    assert (growth["low"] <= growth["exponent"]).all() and (
        growth["exponent"] <= growth["high"]
    ).all()


@needs_java
def test_the_published_measurement_is_met(results):
    table = pd.read_csv(results / "03_moves_across_rebalances" / "astraea_431.csv")
    assert table["published before"].tolist() == table["ours"].tolist()
    assert table["published after"].tolist() == table["ours after"].tolist()


@needs_java
def test_the_scorecard_finds_ours_and_the_originals_at_one(results):
    table = pd.read_csv(results / "04_conformance_scorecard" / "scorecard.csv")
    both = table.dropna(subset=["ours", "the original's"])
    assert len(both) >= 60
    assert both["ours"].tolist() == both["the original's"].tolist()
    off = pd.read_csv(results / "04_conformance_scorecard" / "mismatches.csv")
    assert {"stale text", "misprint", "doubtful", "other version"} == set(off["verdict"])


@needs_java
def test_the_museum_shows_every_fault_and_ours_has_them_too(results):
    catalogue = pd.read_csv(results / "05_museum_of_faults" / "catalogue.csv")
    assert len(catalogue) >= 30
    assert (catalogue["original"] != catalogue["correct"]).all()
    answers = pd.read_csv(results / "05_museum_of_faults" / "answers.csv")
    both = answers.dropna(subset=["ours"])
    assert len(both) >= 350
    assert both["ours"].tolist() == both["original"].tolist()


@needs_java
def test_keys_move_by_the_law_and_a_slow_broker_draws_the_old_partitioner(results):
    folder = results / "08_producers_and_partition_load"
    moved = pd.read_csv(folder / "added_partitions_numbers.csv")
    assert (abs(moved["moved_keys"] - moved["law"]) < 0.05).all()
    slow = pd.read_csv(folder / "kip_794.csv").set_index("configuration")["slow_share"]
    assert slow["DefaultPartitioner of 2.4"] > 0.8
    assert slow["built-in"] < 0.5
    turns = pd.read_csv(folder / "turns_numbers.csv").set_index("partitioner")
    assert turns.loc["round-robin@2.4"].nunique() == 4  # asked twice for every record, KAFKA-9965
    assert turns.loc["round-robin"].nunique() == 8
    members = pd.read_csv(folder / "consumer_load_numbers.csv")
    assert (members["low"] <= members["high"]).all()
    assert (members["fullest_together"] >= 1).all()


@needs_java
def test_a_stale_commit_is_refused_and_changes_nothing(results):
    folder = results / "09_lifecycle_and_generations"
    checked = pd.read_csv(folder / "steps.csv")
    refused = checked[checked["what"] == "a commits; the answer: UNKNOWN_MEMBER_ID"]
    assert len(refused) == 1
    assert (checked["committed_after"] >= checked["committed_before"]).all()
    # Under Kafka 0.8 the owner's own commit comes before the next sample with these parameters.
    for name, unseen in (("steps_unchecked", ""), ("steps_0_8", ", between two samples")):
        steps = pd.read_csv(folder / f"{name}.csv")
        said = f"a commits; accepted, the offset goes back{unseen}"
        taken = steps[steps["what"] == said].iloc[0]
        assert (taken["committed_after"] >= taken["committed_before"]) == bool(unseen)


@needs_java
def test_clients_take_every_error_as_the_original_does(results):
    table = pd.read_csv(results / "09_lifecycle_and_generations" / "reactions.csv")
    told = table[table["protocol"] != "classic, transaction"]  # a producer hears of that one
    by_error = told.groupby("error")["generation"].agg(set)
    assert by_error["REBALANCE_IN_PROGRESS"] == {"kept"}
    assert by_error["UNKNOWN_MEMBER_ID"] == by_error["ILLEGAL_GENERATION"] == {"reset"}
    assert by_error["FENCED_INSTANCE_ID"] == {"over"}
    assert table[table["error"] == "STALE_MEMBER_EPOCH"]["answers"].tolist() == ["commit"]


@needs_java
def test_delivery_promises_are_kept_and_crashes_show_what_they_do_not_promise(results):
    table = pd.read_csv(results / "10_delivery_semantics" / "promises.csv")
    ahead = (table["way"] == "auto commit") & (table["strategy"] == "server-uniform")
    assert table[~ahead]["kept"].all()
    of = table[~ahead].groupby("promise")[["repeated", "lost", "aborted"]].sum()
    assert of.loc["at least once", "repeated"] > 0 == of.loc["at least once", "lost"]
    assert of.loc["at most once", "lost"] > 0 == of.loc["at most once", "repeated"]
    exactly = of.loc["exactly once"]
    assert exactly["aborted"] > 0 == exactly["repeated"] == exactly["lost"]
    notebook = (ROOT / "notebooks" / "10_delivery_semantics.ipynb").read_text()
    reasons = pd.read_csv(results / "10_delivery_semantics" / "reasons.csv")["reason"]
    assert all(f"*{reason}*: " in notebook for reason in reasons)


@needs_java
def test_an_upgrade_moves_what_the_new_strategy_cannot_know(results):
    table = pd.read_csv(results / "06_upgrade" / "switches.csv").set_index(["old", "new"])
    assert table.loc[("sticky@2.0", "sticky"), "moved"] == 0
    assert table.loc[("sticky", "server-uniform"), "moved"] == 0
    assert table.loc[("range", "sticky"), "moved"] > table.loc[("range", "server-uniform"), "moved"]
    totals = pd.read_csv(results / "06_upgrade" / "migration_totals.csv")
    interrupted = totals.groupby("road")["interrupted"].sum()
    assert interrupted.idxmin() == "range → server-uniform"
    assert interrupted.idxmax() == "range, no upgrade"


@needs_java
def test_a_crash_costs_its_session_and_a_moved_coordinator_nothing(results):
    table = pd.read_csv(results / "07_rebalance_triggers" / "costs.csv")
    costs = table.set_index(["trigger", "strategy"])
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        assert (
            costs.loc[("crash", strategy), "settled_s"] > 39
        )  # a session of 45 s, half a beat old
        assert costs.loc[("coordinator moves", strategy), "unowned_s"] == 0
    assert costs.loc[("join", "cooperative-sticky"), "rounds"] == 2
    # server-side, a new topic is seen at once; clients wait for their metadata
    waits = costs.loc["topic matches the pattern", "unowned_s"]
    assert waits["server-uniform"] < waits["range"] / 10
    # but not of a pattern that the client still resolves
    patterns = pd.read_csv(results / "07_rebalance_triggers" / "patterns.csv")
    by_coordinator, by_client = patterns["unowned_s"]
    assert by_coordinator == waits["server-uniform"] < by_client / 10


@needs_java
def test_a_join_interrupts_as_many_partitions_as_on_a_real_broker(results):
    folder = results / "11_eager_cooperative_kip848"
    table = pd.read_csv(folder / "real_broker.csv")
    assert (
        table["interrupted, measured"].tolist()
        == table["interrupted, model"].tolist()
        == [21, 5, 5]
    )
    restarts = pd.read_csv(folder / "rolling_restarts.csv")
    assert (restarts[restarts["static"]]["repeated"] == 0).all()


@pytest.mark.slow
def test_plain_papermill_runs_a_notebook_from_any_folder(tmp_path):
    name = "01_strategies_by_example"
    command = [
        sys.executable, "-m", "papermill", ROOT / "notebooks" / f"{name}.ipynb", "out.ipynb",
        "-f", ROOT / "params" / "smoke" / f"{name}.yaml", "--no-progress-bar",
    ]  # fmt: skip
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ASSIGNLAB_RUN")}
    run = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
    )
    assert run.returncode == 0, run.stderr[-3000:]
    assert "unknown parameter" not in run.stderr.lower()
    record = json.loads((project() / "outputs" / "adhoc" / name / "record.json").read_text("utf-8"))
    assert "lists and orders that the articles print" in record["answer"]


OF_OTHERS = ["static back in time", "topic matches the pattern"]
"""Triggers that MetaQ does not have, and the first of them not Kafka 0.8 either."""


@pytest.fixture
def page(spark, tmp_path, monkeypatch):
    """Plays the cells of a page at scale smoke with other parameters: its answer, record and folder.

    In this process, so that seventeen pages need neither kernels nor a Java machine of their own.
    """
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(tmp_path)

    def play(short: str, **given) -> SimpleNamespace:
        axes = {name: [value] for name, value in given.items()}
        [plan] = runner.plan(runner.Place(ROOT, tmp_path, "smoke"), [short], (), axes)
        variables = {"__name__": "__main__"}
        for cell in nbformat.read(plan.notebook.path, as_version=4).cells:
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{plan.name}: a cell", "exec"), variables)  # noqa: S102
                if "parameters" in cell.metadata.get("tags", ()):
                    variables |= plan.values
        text = (tmp_path / RECORD).read_text(encoding="utf-8")
        return SimpleNamespace(answer=json.loads(text)["answer"], text=text, folder=tmp_path)

    yield play
    plt.close("all")


@needs_java
@pytest.mark.parametrize(
    ("short", "given", "told"),
    [
        ("08", {"strategies": ["server-simple"]}, "server-simple: share groups have no place here"),
        ("10", {"strategies": ["range", "rocketmq-avg"]}, "no group can run rocketmq-avg"),
        ("13", {"drifting": ["server-simple"]}, "server-simple: share groups have no place here"),
        ("07", {"strategies": ["range", "server-simple"]}, "no group can run server-simple"),
        ("09", {"strategies": ["range", "server-simple"]}, "no group can run server-simple"),
        (
            "07",
            {"strategies": ["metaq-default"], "triggers": OF_OTHERS},
            "triggers: no static back in time or topic",
        ),
    ],
)
def test_a_page_refuses_at_once_what_it_has_no_place_for(page, short, given, told):
    with pytest.raises(AssignlabError, match=told):
        page(short, **given)
    assert not list(Path.cwd().rglob("*.parquet")), "a sweep ran, or a table was made, first"


@needs_java
def test_an_original_that_throws_at_a_switch_is_no_failed_simulation(page):
    strategies = ["range", "sticky", "kafka-python-roundrobin"]
    run = page("06", strategies=strategies, subscription="HETEROGENEOUS_NESTED")
    assert "Without groups in which an original throws: " in run.answer
    switches = pd.read_csv(run.folder / "switches.csv")
    of_python = switches[switches["new"] == "kafka-python-roundrobin"]
    assert (of_python["thrown"] > 0).all() and switches["thrown"].min() == 0


@needs_java
def test_your_own_group_has_machine_rooms_and_a_config_where_rocketmq_needs_them(page):
    rooms = ["rocketmq-config", "rocketmq-machine-room", "rocketmq-machine-room-nearby"]
    run = page("01", strategies=rooms, partitions=5, topics=1, consumers=2)
    assert "0 partitions apart" not in run.answer, "5 partitions of two members"


@needs_java
def test_a_load_a_little_above_its_bound_is_not_the_best_there_is(page):
    size = {"partitions": 1000, "members": 6, "topics": 4}
    run = page("13", strategies=["range", "sticky"], shapes=["hot topic"], **size)
    assert pd.read_csv(run.folder / "measures.csv")["load_percent"].between(0.01, 0.5).all()
    assert "No assignment does better" not in run.text


@needs_java
def test_a_session_begins_before_its_member_is_away(page):
    run = page("11", down_ms=38_000, every_ms=60_000)
    assert "Static members cost" in run.answer
    assert "but here they may be away for longer" in run.text


@needs_java
def test_partitioners_may_agree_on_every_key(page):
    alike = ["default@2.0", "kafka-python", "librdkafka-murmur2", "built-in", "kafkajs"]
    assert page("08", partitioners=alike).answer


@needs_java
def test_a_consumer_may_hear_of_its_session_before_its_late_commit(page):
    run = page("09", seed=47, seeds=1, strategies=["range"])
    old = pd.read_csv(run.folder / "steps_0_8.csv")
    assert "a learns that it lost t-0" in list(old["what"])
    assert not old["what"].str.startswith("a commits").any()


@needs_java
def test_the_answer_on_crashes_is_of_those_that_were_asked(page):
    run = page("10", strategies=["range"], crashes=[2.0], minutes=4.0)
    assert "At 2 crashes drawn a minute" in run.answer


@needs_java
def test_who_throws_every_time_starved_nobody_and_old_releases_are_not_todays(page):
    run = page("12", strategies=["sticky@2.4"], hunted=["kafka-python-roundrobin"])
    assert "no strategy of a client or coordinator of today was asked" in run.text
    assert pd.read_csv(run.folder / "mishaps.csv")["starve per 1,000"].isna().all()


@needs_java
def test_groups_of_one_seed_are_one_observation_of_what_starves(page):
    hunt = {"hunt_members": [5, 13], "hunt_reads": [2, 3], "hunt_seeds": 30}
    run = page("12", strategies=["sticky"], hunted=["range"], **hunt)
    hunted = pd.read_parquet(run.folder / "hunt_records.parquet")
    hunted["starved"] = hunted["idle"] > hunted["least_idle"]
    of_seed = hunted.groupby("seed")["starved"].agg(["sum", "size"])
    told = "{:.0f} ({:.0f} to {:.0f})".format(
        *(1000 * end for end in evidence.over_groups(of_seed["sum"], of_seed["size"]))
    )
    assert told in run.text


@needs_java
def test_a_trigger_that_no_strategy_has_is_not_told_to_be_followed_by_a_rebalance(page):
    run = page("07", strategies=["metaq-default", "scala-range"], triggers=OF_OTHERS)
    assert "A rebalance follows 'topic matches the pattern'. " in run.answer


@needs_java
def test_a_strategy_without_an_answer_is_told_so_on_the_page_of_moves(page):
    strategies = ["kafka-python-roundrobin", "server-simple@4.0"]
    run = page("03", strategies=strategies, events=["UNSUBSCRIBE"], everywhere=["range"])
    assert "no answer under kafka-python-roundrobin, 0 (avoidably: not known" in run.answer


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebooks_are_kept_without_outputs_and_with_a_question(name):
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    first = notebook.cells[0].source.splitlines()[0]
    assert first.startswith("# ")
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None
            defined = re.findall(r"^\s*(?:class|def) \w+", cell.source, re.MULTILINE)
            assert not defined, (
                f"{defined}: the library has classes and functions, a cell calls them"
            )
