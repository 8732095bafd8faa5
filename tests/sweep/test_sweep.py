"""Sweeps: refused before Spark starts, the same table however it is cut, nothing lost silently."""

import dataclasses
import errno
import hashlib
import inspect
import io
import math
import os
import pickle
import re
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from assignlab import assignors, study, sweep
from assignlab.errors import UnknownName
from assignlab.local.project import project
from assignlab.replay.records import records, scenario_values
from assignlab.replay.scenarios import Scenario
from assignlab.sweep import driver, progress, question, slices, store
from assignlab.sweep.slices import REBALANCES, SCHEMA

STRATEGIES = ["range@2.0", "roundrobin"]
EVENTS = ("FULL", "JOIN_ONE", "CRASH", "RETURN", "PARTITIONS_ADDED")


def scenarios():
    """A small grid that meets equal and different subscriptions, and one history that fails."""
    some = sweep.grid(
        members=[2, 5],
        topics=[1, 6],
        partitions=[12],
        seed=range(3),
        events=EVENTS,
        subscription=["HOMOGENEOUS", "RANDOM"],
    )
    return [*some, Scenario(members=1, events=("FULL", "LEAVE_ONE"))]


def plain(asked, strategies=STRATEGIES) -> pa.Table:
    """The table that a sweep should give, made without Spark and without child processes."""
    rows = [
        (number, *record)
        for number, scenario in enumerate(asked)
        for record in records(scenario, strategies)
    ]
    return ordered(pa.Table.from_batches([slices.record_batch(rows)]))


def ordered(table: pa.Table) -> pa.Table:
    return table.sort_by([(name, "ascending") for name in REBALANCES.key]).combine_chunks()


def read(table: sweep.Table) -> pa.Table:
    return ordered(table.records().toArrow().cast(SCHEMA))


def digest(table: pa.Table) -> str:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return hashlib.sha256(sink.getvalue()).hexdigest()


# ---- refused -----------------------------------------------------------------------------------


@pytest.fixture
def no_spark(monkeypatch):
    def started():
        raise AssertionError("Spark was started")

    monkeypatch.setattr(driver, "session", started)


@pytest.mark.parametrize(
    ("ask", "error", "says"),
    [
        (lambda: sweep.run([Scenario()], ["rangee"]), UnknownName, "did you mean 'range"),
        (lambda: sweep.grid(member=3), UnknownName, "did you mean 'members'"),
        (lambda: sweep.grid(members=["3"]), sweep.SweepError, "members: expected a whole number"),
        (lambda: sweep.grid(members=[True]), sweep.SweepError, "got True"),
        (lambda: sweep.grid(members={2, "3"}), sweep.SweepError, "members: expected"),
        (lambda: sweep.grid(members=[4, 0]), sweep.SweepError, "members: 0 is less than 1"),
        (lambda: sweep.grid(topics=9, partitions=8), sweep.SweepError, "partitions: 8 is less"),
        (lambda: sweep.grid(subscription="NESTED"), UnknownName, "'HETEROGENEOUS_NESTED'"),
        (lambda: sweep.grid(events=["FULL", "JOIN"]), UnknownName, "did you mean 'JOIN_ONE'"),
        (lambda: sweep.grid(members=4.5), sweep.SweepError, "a whole number, got 4.5"),
        (lambda: sweep.grid(members={2: 3}), sweep.SweepError, "a whole number, got {2: 3}"),
        (lambda: sweep.grid(seed=count()), sweep.SweepError, "more than 10,000,000 values"),
        (
            lambda: sweep.grid(members=range(9, 9999), topics=range(1, 5), seed=range(9999)),
            sweep.SweepError,
            "a grid of 399,560,040 scenarios: ask for at most 100,000,000",
        ),
        (lambda: sweep.grid(seed=range(10**30)), sweep.SweepError, "has more than 100,000,000 v"),
        (lambda: sweep.grid(events=["full"]), UnknownName, "did you mean 'FULL'"),
        (lambda: sweep.grid(events=7), sweep.SweepError, "a list of words"),
        (lambda: sweep.grid(events=[["FULL", ["LEAVE_ONE"]]]), sweep.SweepError, "a list of words"),
        (lambda: sweep.run([], STRATEGIES), sweep.SweepError, "at least one scenario"),
        (lambda: sweep.run([Scenario()], []), sweep.SweepError, "at least one strategy"),
        (lambda: sweep.run([Scenario()], "rangee"), UnknownName, "did you mean 'range"),
        (lambda: sweep.run([Scenario()], ["grade"]), UnknownName, "more, see 'assignlab strateg"),
        (lambda: sweep.run([Scenario()] * 2, STRATEGIES), sweep.SweepError, "given twice"),
        (lambda: sweep.run([Scenario()], ["range@2.0"] * 2), sweep.SweepError, "given twice"),
        (lambda: sweep.run([{"members": 3}], STRATEGIES), sweep.SweepError, "not a Scenario"),
        (lambda: sweep.run([Scenario(seed=[1])], STRATEGIES), ValueError, "seed: expected"),
        (lambda: sweep.run(None, STRATEGIES), sweep.SweepError, "scenarios: expected sweep.grid"),
        (lambda: sweep.run([Scenario()], None), sweep.SweepError, "strategies: expected a word"),
        (lambda: sweep.run([Scenario()], [["range"]]), sweep.SweepError, "strategies: expected"),
        (lambda: sweep.run([Scenario()], "range", limit="5"), sweep.SweepError, "limit"),
        (lambda: sweep.run([Scenario()], "range", slices=2.5), sweep.SweepError, "slices"),
        (lambda: sweep.run([Scenario()], "range", slices=0), sweep.SweepError, "slices"),
        (lambda: sweep.run([Scenario()], STRATEGIES, name="a/b"), sweep.SweepError, "a/b"),
        (lambda: sweep.run([Scenario()], "range", name="a" * 201), sweep.SweepError, "at most 200"),
        (lambda: sweep.run([Scenario()], STRATEGIES, limit=0), sweep.SweepError, "limit"),
        (lambda: sweep.run([Scenario()], STRATEGIES, limit=1e-9), sweep.SweepError, "limit"),
        (lambda: sweep.run([Scenario()], STRATEGIES, to=5), sweep.SweepError, "to: expected"),
        (
            lambda: sweep.run([Scenario()], [replace(assignors.get("range"), name="mine")]),
            sweep.SweepError,
            "'mine' is a strategy of your own",
        ),
        (lambda: sweep.run([Scenario()], STRATEGIES, to=" "), sweep.SweepError, "names no folder"),
        (lambda: sweep.run([Scenario()], STRATEGIES, to=""), sweep.SweepError, "to: expected"),
        (
            lambda: sweep.run([Scenario()], STRATEGIES, to="hdfs//h/x"),
            sweep.SweepError,
            "no URI such as",
        ),
        (
            lambda: sweep.run([Scenario()], STRATEGIES, to="s3a:bucket"),
            sweep.SweepError,
            "neither a folder nor a URI, which begins with s3a:/",
        ),
        (
            lambda: sweep.run([Scenario()], STRATEGIES, to=__file__),
            sweep.SweepError,
            f"cannot write in {__file__} (Not a directory)",
        ),
        (lambda: sweep.run([Scenario()], STRATEGIES, limit=math.inf), sweep.SweepError, "1e+06 s"),
        (lambda: sweep.run([Scenario()], STRATEGIES, limit=math.nan), sweep.SweepError, "limit"),
    ],
)
def test_refused_before_spark_starts(no_spark, ask, error, says):
    with pytest.raises(error, match=re.escape(says)):
        ask()


@pytest.mark.parametrize(
    "values",
    [
        (2, 4), range(2, 5, 2), {4, 2}, (n for n in (2, 4)), np.array([2, 4]), np.linspace(2, 4, 2),
        pd.Series([2.0, 4.0]), pd.Index([2, 4]), [np.int64(2), 4.0],
    ],
    ids=lambda values: type(values).__name__,
)  # fmt: skip
def test_an_axis_is_anything_that_holds_whole_numbers(values):
    grid = sweep.grid(members=values, events="FULL JOIN_ONE", seed=np.array(7))
    assert grid == sweep.grid(members=[2, 4], events=["FULL", "JOIN_ONE"], seed=7)
    axes = {"members": [2, 4], "seed": [0, 1]}
    assert sweep.grid(**axes) != sweep.grid(**dict(reversed(axes.items())))
    assert all(type(scenario.members) is int for scenario in grid)
    assert repr(grid).startswith("Grid(members=") and repr(grid).endswith("): 2 scenarios")
    assert len(repr(sweep.grid(seed=range(1000)))) < 80


def test_scenarios_may_have_numbers_of_numpy():
    numbers = np.arange(2, 4)
    listed = question.listed(Scenario(members=members) for members in numbers)
    assert question.digest(listed, ["range"]) == question.digest(
        sweep.grid(members=numbers), ["range"]
    )


def test_a_grid_is_described_and_reads_like_the_list_of_its_scenarios():
    grid = sweep.grid(members=[2, 3, 4], seed=range(5), events=[["FULL"], ["FULL", "CRASH"]])
    listed = list(grid)
    assert len(grid) == len(listed) == 30 and grid == listed and grid != listed[:-1]
    assert grid != list(range(30))
    assert (
        [grid[i] for i in range(30)] == listed
        and grid[-1] == listed[-1]
        and grid[3:9] == listed[3:9]
    )
    assert grid + grid[:1] == listed + listed[:1]
    with pytest.raises(IndexError):
        grid[30]
    # As sweeps were called when grids were lists: those that did not end are found again.
    assert question.digest(grid, ["range"]) == question.digest(listed, ["range"])
    asked = [[dataclasses.astuple(scenario) for scenario in listed], ["range"]]
    assert question.digest(grid, ["range"]) == question.digest_of(asked)
    many = sweep.grid(members=[2, 3], static=[False, True], seed=range(20_000_000))
    assert many[-1] == Scenario(members=3, static=True, seed=19_999_999)


def test_a_task_has_no_more_of_a_grid_than_it_plays():
    seeds = np.random.default_rng(7).permutation(100_000).tolist()
    many = sweep.grid(members=range(2, 7), seed=seeds)
    numbers = range(3, len(many), 5_000)
    jobs = driver.Work(many, ["range"], [1.0] * len(many), 1.0, REBALANCES, None)
    sent = driver.pickled(jobs, numbers)
    fields = pickle.loads(sent)[2]
    asked = question.scenarios_at(fields, zip(*fields.values(), strict=True))
    assert list(asked) == [many[i] for i in numbers]
    assert len(sent) < 40 * len(numbers)


def test_grid_takes_what_notebooks_have():
    assert sweep.grid(members=np.array([2, 3])) == [Scenario(members=2), Scenario(members=3)]
    histories = [["FULL", "JOIN_ONE"], ("FULL",)]
    assert [s.events for s in sweep.grid(events=histories)] == [("FULL", "JOIN_ONE"), ("FULL",)]
    assert len({*sweep.grid(members=range(1, 4), seed=range(5), static=[False, True])}) == 30


def test_slices_cost_about_the_same():
    costs = np.random.default_rng(7).exponential(size=500).tolist()
    dealt = driver.equal_slices(costs, 8)
    loads = np.bincount(dealt, weights=costs)
    assert len(loads) == 8 and loads.max() / loads.min() < 1.01


# ---- one table ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def asked():
    return scenarios()


@pytest.fixture(scope="module")
def expected(asked):
    return plain(asked)


@pytest.mark.parametrize("slices", [1, 7])
def test_same_table_however_it_is_cut(spark, tables, asked, expected, slices):
    table = sweep.run(asked, STRATEGIES, name="cut", slices=slices)
    assert table.path == tables / "cut.parquet"
    assert digest(read(table)) == digest(expected)
    assert expected.num_rows > 200


def test_order_of_the_question_changes_nothing_but_the_numbers(spark, tables, asked, expected):
    table = read(sweep.run(asked[::-1], STRATEGIES[::-1]))
    number = table.column("scenario").to_numpy()
    renumbered = table.set_column(0, SCHEMA.field(0), pa.array(len(asked) - 1 - number))
    assert digest(ordered(renumbered)) == digest(expected)


PLAY = """
from test_sweep import *
jobs = list(enumerate(scenarios()))
batches = [batch for _, batch in slices.simulate(jobs, STRATEGIES, limit=60.0)]
print(digest(ordered(pa.Table.from_batches(batches))))
"""


def test_a_table_whose_place_another_sweep_took_is_not_read_for_it(spark, tables):
    first = sweep.run(sweep.grid(members=2), ["range"], name="one")
    second = sweep.run(sweep.grid(members=3), ["range"], name="one")
    with pytest.raises(sweep.SweepError, match="one.parquet is another sweep's table by now: ask"):
        first.frame()
    assert second.frame()["members"].unique().tolist() == [3]
    assert len(sweep.Table(first.path)) == len(second)


def test_tables_of_a_notebook_lie_beside_its_results(tables, monkeypatch, tmp_path):
    monkeypatch.delenv("ASSIGNLAB_RUN_FOLDER", raising=False)
    monkeypatch.setenv("ASSIGNLAB_OUTPUTS", str(tmp_path))
    assert driver.folder_to_write(None) == tmp_path / "sweeps"
    begun = study.begin("02_mine", {})
    assert driver.folder_to_write(None) == begun.folder == tmp_path / "adhoc" / "02_mine"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert driver.folder_to_write("~/tables") == tmp_path / "tables"
    assert sweep.Table("~/tables/mine.parquet").path == tmp_path / "tables" / "mine.parquet"


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["1", "2"])
def test_hash_seed_changes_nothing(expected, seed):
    answer = subprocess.run(
        [sys.executable, "-c", PLAY],
        env={**os.environ, "PYTHONHASHSEED": seed},
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.strip() == digest(expected)


def test_the_optimum_stands_beside_every_answer_that_is_there(spark, tables, asked, expected):
    table = sweep.run(asked, STRATEGIES, optimum=True)
    rows = table.records().toArrow()
    told = {"fewest", "needed", "avoidable"}  # for equal subscriptions without being asked
    same = [name for name in SCHEMA.names if name not in told]
    assert ordered(rows.select(same).cast(expected.select(same).schema)) == expected.select(same)
    frame = table.frame()
    done = frame[frame["error"].isna()]
    assert (done["gap_regret"] >= 0).all() and (done["moves_regret"] == done["avoidable"]).all()
    assert table.failures["scenario"].tolist() == [len(asked) - 1] * 2
    for path in (table.path, f"file:{table.path}"):  # as the files say themselves
        assert sweep.Table(path).frame().equals(frame)
    assert "gap_regret" not in sweep.Table(sweep.run(asked, STRATEGIES).path).frame()


# ---- nothing lost silently ---------------------------------------------------------------------


def test_a_failing_simulation_becomes_an_error_record(spark, tables, asked, capsys):
    table = sweep.run(asked, STRATEGIES)
    failures = table.failures
    assert failures["scenario"].tolist() == [len(asked) - 1] * 2
    assert failures["strategy"].tolist() == STRATEGIES
    assert failures["error"].str.startswith("ValueError: the last member cannot leave").all()
    assert failures[["members", "event"]].values.tolist() == [[1, "FULL"]] * 2
    said = capsys.readouterr().err
    assert "sweep: 2 simulations failed" in said and "the last member cannot leave" in said
    assert f"sweep: {len(asked)}/{len(asked)} scenarios, 100%" in said


def test_an_original_that_throws_is_an_answer_and_no_failure(spark, tables, capsys):
    group = Scenario(members=4, topics=4, partitions=12, subscription="HETEROGENEOUS_NESTED")
    table = sweep.run([group], ["scala-roundrobin", "roundrobin"])
    assert table.failures.empty
    told = "IllegalArgumentException: round robin is allowed only if all consumers"
    unanswered = table.unanswered
    assert set(unanswered["strategy"]) == {"scala-roundrobin"}
    assert unanswered["error"].str.startswith(told).all()
    said = capsys.readouterr().err
    assert "rebalances have no answer: the original throws or never ends; the first:" in said
    assert told in said and "simulations failed" not in said


def test_a_simulation_that_runs_out_of_time_becomes_an_error_record(spark, tables):
    large = Scenario(members=1000, topics=1000, partitions=1_000_000)
    table = sweep.run([Scenario(), large], STRATEGIES, limit=0.02)
    assert table.failures[["scenario", "strategy", "step"]].values.tolist() == [
        [1, strategy, 0] for strategy in STRATEGIES
    ]
    told = "TimeLimit: no answer in 0.02 s of processor time; limit= allows more"
    assert set(table.failures["error"]) == {told}
    rest = read(table).filter(pa.compute.field("scenario") == 0)
    assert digest(rest.combine_chunks()) == digest(plain([Scenario()]))


def test_numbers_and_memory_beyond_reach_become_error_records(monkeypatch):
    monkeypatch.setattr(slices, "memory_of_one", lambda: 2**28)
    asked = [
        Scenario(partitions=2**63),
        Scenario(members=2**40),
        Scenario(seed=2**64),
        Scenario(partitions=200_000_000, events=("FULL",)),
        Scenario(),
    ]
    assert [driver.cost(scenario) > 0 for scenario in asked]
    batches = [b for _, b in slices.simulate([*enumerate(asked)], ["range@2.0"], limit=60.0)]
    rows = pa.Table.from_batches(batches).to_pandas().set_index("scenario")
    errors = rows["error"].dropna().tolist()
    assert (
        errors[0] == f"OverflowError: partitions: {2**63} is more than {2**31 - 1}: ask for fewer"
    )
    assert errors[1].startswith("OverflowError: members") and "seed" in errors[2]
    if sys.platform == "linux":
        assert errors[3].startswith("MemoryError: ") and "use a machine with more" in errors[3]
    assert len(rows.loc[4]) == 3 and rows.loc[4, "error"].isna().all()


def test_only_the_strategy_that_takes_its_process_down_is_lost():
    def records(scenario, strategies):
        for name in strategies:
            if (scenario.seed, name) == (3, "b"):
                os.kill(os.getpid(), 9)
            if (scenario.seed, name) == (5, "a"):
                while True:
                    pass
            start = scenario_values(scenario)
            yield (*start, name, 0, "FULL", None, *[None] * len(SCHEMA.names[15:]))

    subject = REBALANCES._replace(records=records)
    jobs = [(seed, Scenario(seed=seed)) for seed in range(8)]
    batches = [batch for _, batch in slices.simulate(jobs, ["a", "b"], 0.05, subject)]
    frame = pa.Table.from_batches(batches).to_pandas().set_index(["scenario", "strategy"])
    assert sorted(frame.index) == [(seed, name) for seed in range(8) for name in "ab"]
    errors = frame["error"].dropna().to_dict()
    assert errors.keys() == {(3, "b"), (5, "a")}
    assert errors[3, "b"].startswith(
        "ProcessDied: its process ended with signal SIGKILL; most likely"
    )
    assert errors[5, "a"].startswith(
        "TimeLimit: no answer in 0.05 s of processor time; limit= allows"
    )


def test_a_table_appears_whole_or_not_at_all(spark, tables, monkeypatch):
    first = sweep.run([Scenario()], STRATEGIES, name="kept")
    before = digest(read(first))

    def fails(*arguments):
        sweep_write(*arguments)
        raise OSError("disk full")

    sweep_write = driver.write
    monkeypatch.setattr(driver, "write", fails)
    with pytest.raises(OSError, match="disk full"):
        sweep.run([Scenario(seed=1)], STRATEGIES, name="kept")
    assert sorted(path.name for path in tables.iterdir()) == [".unfinished", "kept.parquet"]
    assert digest(read(first)) == before
    monkeypatch.undo()
    monkeypatch.setenv("ASSIGNLAB_RUN_FOLDER", str(tables))
    sweep.run([Scenario(seed=1)], STRATEGIES, name="kept")
    assert [path.name for path in tables.iterdir()] == ["kept.parquet"]


def test_a_full_disk_and_a_folder_that_is_removed_are_one_line(spark, tables, monkeypatch):
    for error, why in (
        (OSError(errno.ENOSPC, "No space left"), "No space left"),
        (OSError(errno.EROFS, "Read-only"), "Read-only"),
        (OSError("20000 requested and 2016 written"), "a file was cut off, the disk may be full"),
    ):
        with (
            pytest.raises(sweep.SweepError, match=f"^{tables}: {why}$"),
            driver.room_on_disk(tables),
        ):
            raise error
    said = "[TASK_WRITE_FAILED] ...\nCaused by: java.io.IOException: No space left on device"
    assert "no space is left there" in str(store.problem(said))
    to_play = driver.slices_to_play

    def removed(*arguments):
        shutil.rmtree(tables / ".unfinished")
        return to_play(*arguments)

    monkeypatch.setattr(driver, "slices_to_play", removed)
    with pytest.raises(sweep.SweepError, match="is gone: it was removed while the sweep worked"):
        sweep.run([Scenario()], STRATEGIES)


# ---- what comes back ---------------------------------------------------------------------------


def test_summary_is_what_pandas_says(spark, tables, asked, expected):
    table = sweep.run(asked, STRATEGIES)
    question = dict(by=["strategy", "topics"], measures=["gini", "count_gap"], where="step > 0")
    summary = table.summary(**question, band=np.array([0.05, 0.95]))
    frame = expected.to_pandas()
    good = frame[(frame["step"] > 0) & frame["error"].isna()]
    groups = good.groupby(["strategy", "topics"])
    assert summary["runs"].tolist() == groups.size().tolist()
    for measure in ("gini", "count_gap"):
        for column, values in [
            (measure, groups[measure].mean()),
            (f"{measure}_low", groups[measure].quantile(0.05)),
            (f"{measure}_median", groups[measure].median()),
            (f"{measure}_high", groups[measure].quantile(0.95)),
        ]:
            np.testing.assert_allclose(summary[column], values, rtol=1e-12)
    means = table.summary(**question)
    columns = ["strategy", "topics", "gini", "count_gap", "runs", "failed"]
    pd.testing.assert_frame_equal(means, summary[columns])
    assert max(map(len, str(means).splitlines())) <= 80
    assert f"of {len(table)} rows" in table._repr_html_() and "count_gap" in table._repr_html_()


def test_summary_counts_failures_and_adds_histories_up(spark, tables, asked, expected):
    table = sweep.run(asked, STRATEGIES)
    summary = table.summary(["strategy"], ["received"], whole_histories=True)
    assert summary["failed"].tolist() == [1, 1]
    frame = expected.to_pandas()
    history = frame.groupby(["strategy", "scenario"])
    totals = history["received"].sum()[history["error"].count() == 0]
    assert summary["runs"].tolist() == totals.groupby("strategy").size().tolist()
    np.testing.assert_allclose(summary["received"], totals.groupby("strategy").mean())
    with pytest.raises(UnknownName, match="did you mean 'count_gap'"):
        table.summary(["strategy"], ["countgap"])


def test_frame_gives_the_rows_asked_for(spark, tables, asked, expected):
    table = sweep.run(asked, STRATEGIES)
    frame = table.frame(["seed", "largest"], where="strategy = 'roundrobin' and step = 0")
    rows = expected.to_pandas()
    rows = rows[(rows["strategy"] == "roundrobin") & (rows["step"] == 0)]
    pd.testing.assert_frame_equal(
        frame, rows[["seed", "largest"]].reset_index(drop=True), check_dtype=False
    )


def test_a_wrong_condition_is_one_line_and_a_table_shows_itself(
    spark, tables, asked, capfd, recwarn
):
    table = sweep.run(asked, STRATEGIES)
    for condition in ("stepp > 0", "step >", "strategy > 3"):
        with pytest.raises(sweep.SweepError, match="where: ") as refused:
            table.frame(where=condition)
        assert len(str(refused.value).splitlines()) == 1 and "count_gap" in str(refused.value)
    with pytest.raises(sweep.SweepError, match="where: .*cannot be cast"):
        table.summary("strategy", "gini", where="members = 'four'")
    with pytest.raises(sweep.SweepError, match="where: .* no regular expression: Unclosed"):
        table.summary("strategy", "gini", where="strategy rlike '('")
    with pytest.raises(sweep.SweepError, match="where: .*out of bounds"):
        table.frame(where="split(strategy, '@')[5] = 'x'")
    assert "UNRESOLVED_COLUMN" not in capfd.readouterr().err
    assert not recwarn.list
    refused = [
        (lambda: table.frame(where=5), "where: expected a condition such as"),
        (lambda: table.summary("strategy", "gini", band=(5, 95)), "band: expected two shares"),
        (lambda: table.summary("strategy", "gini", band=(0.95, 0.05)), "band: expected two shares"),
        (lambda: table.summary("strategy", "gini", band=0.9), "band: expected two shares"),
        (lambda: table.summary("strategy", "event"), "measures: event holds words"),
        (lambda: table.summary("step", "step"), "measures: step is in by, too"),
        (lambda: table.summary(None, "gini"), "by: expected a word or a list"),
        (lambda: table.summary([["step"]], "gini"), "by: expected a word or a list"),
        (lambda: sweep.Table("no-such-table.parquet").frame(), "no table at no-such-table"),
        (lambda: len(sweep.Table("no-such-table.parquet")), "no table at no-such-table"),
    ]
    for ask, says in refused:
        with pytest.raises(sweep.SweepError, match=says):
            ask()
    asked_twice = table.summary(["strategy", "strategy"], (m for m in ["gini", "gini"]))
    pd.testing.assert_frame_equal(asked_twice, table.summary("strategy", "gini"))
    [whole] = table.summary([], "gini").to_dict("records")
    assert whole["runs"] == asked_twice["runs"].sum()
    page = table._repr_html_()
    assert page.count("<tr") == 11 and "<th>strategy</th>" in page


def test_a_table_that_lacks_a_file_or_has_a_damaged_one_is_not_read(spark, tables, asked):
    table = sweep.run(asked, STRATEGIES, slices=2)
    first, second = sorted(table.path.glob("*.parquet"))
    whole = first.read_bytes()
    reads = [len, repr, sweep.Table.frame, lambda t: t.failures, lambda t: t.summary([], "gini")]

    def told() -> set[str]:
        found = set()
        for read in reads:
            try:
                found.add(read(sweep.Table(table.path)))
            except sweep.SweepError as error:
                found.add(f"{sweep.Table(table.path)!r}".partition(": ")[0] + f": {error}")
        return found

    for left in (b"", whole[:-50]):  # Spark passes over an empty file
        first.write_bytes(left)
        assert len(told()) == 1 and f"{first} cannot be read, or is damaged" in told().pop()
    first.write_bytes(whole[:40] + b"\xff" * 2000 + whole[2040:])
    with pytest.raises(sweep.SweepError, match=f"{first} is damaged: run its sweep again"):
        table.frame()
    first.unlink()
    assert len(told()) == 1 and "1 of its 2 files are there; copy them all" in told().pop()
    second.unlink()
    (table.path / "_description.json").write_text("{")
    assert len(told()) == 1 and f"no table of a sweep at {table.path}" in told().pop()


def test_grid_tells_its_fields_and_their_defaults():
    told = inspect.getdoc(sweep.grid)
    for name, parameter in inspect.signature(sweep.grid).parameters.items():
        assert f"{name}: " in told
        assert parameter.default == getattr(Scenario(), name)


def test_nothing_is_left_in_the_working_directory(spark, tables, monkeypatch):
    here = set(os.listdir())
    sweep.run([Scenario()], STRATEGIES)
    assert set(os.listdir()) == here
    assert str(project() / "outputs") in spark.conf.get("spark.sql.warehouse.dir")


# In one process, since it has one Spark: tables in these folders, each beside one that the folder's
# name, read as a pattern, would match too.
STRANGE = """
import os, sys
from pathlib import Path
from assignlab import sweep
from assignlab.sweep import spark

spark.CLASSES = Path("kept 分区.jsa").absolute()  # cut off, as by a full disk: Java passes it over
spark.CLASSES.write_text("JVM")
for place, rows in [("q1", 2), ("x", 2), ("a", 2), *[(strange, 1) for strange in sys.argv[1:]]]:
    os.environ["ASSIGNLAB_RUN_FOLDER"] = place
    os.makedirs(place)
    grid = sweep.grid(seed=range(rows), events=("FULL",))
    assert len(sweep.run(grid, ["range@2.0"], name="t").frame()) == rows, place
del os.environ["ASSIGNLAB_RUN_FOLDER"]
assert sweep.run(grid, ["range@2.0"]).path.is_relative_to(Path(os.environ["ASSIGNLAB_OUTPUTS"]))
assert len(sweep.Table(next(Path("q?").glob("t.parquet"))).summary(["seed"], ["gini"])) == 1
"""


def test_no_path_is_too_strange_and_no_default_file_system(spark, tmp_path):
    """Spark reads paths as patterns and URIs, and asks its default file system for those without one;
    Java takes the letters of file names from the locale."""
    here = tmp_path / "a b,分区 [x]{y,z} #%20:1?*"
    (here / "conf").mkdir(parents=True)
    defaults = "spark.hadoop.fs.defaultFS hdfs://nowhere:1\n"
    (here / "conf" / "spark-defaults.conf").write_text(defaults)
    folders = ["q?", "[x]", "{a,b}", "* 分区 #%20,:"]
    answer = subprocess.run(
        [sys.executable, "-c", STRANGE, *folders],
        cwd=here,
        env={
            **os.environ,
            "LC_ALL": "C",
            "SPARK_MASTER": "local[1]",
            "SPARK_CONF_DIR": str(here / "conf"),
            "ASSIGNLAB_OUTPUTS": str(here / "outputs"),
        },
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert [path.name for path in tmp_path.iterdir()] == [here.name]
    assert (here / "outputs" / "spark" / "driver.log").exists()


def test_a_sweep_that_stands_still_is_not_said_to_end_at_once(monkeypatch, capsys):
    """So it is until Spark notices that an executor is gone."""
    monkeypatch.setattr(progress, "PROGRESS_EVERY", 0.02)
    with progress.told_progress(lambda: (3, 3.0), [1.0] * 4):
        time.sleep(0.3)
    told = capsys.readouterr().err.splitlines()
    assert len(told) > 2 and all("3/4 scenarios, 75%, 0 s so far" in line for line in told[1:-1])
