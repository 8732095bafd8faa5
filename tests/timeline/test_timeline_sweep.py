"""Histories in simulated time on Spark: the same table as without, errors as rows."""

from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest

from assignlab import timeline
from assignlab.errors import AssignlabError
from assignlab.sweep import driver
from assignlab.sweep.question import SweepError
from assignlab.sweep.slices import REBALANCES
from assignlab.timeline import TimelineError
from assignlab.timeline.measure import totals, unowned
from assignlab.timeline.trials import delivery, rolling, sweep, triggers

STRATEGIES = ["sticky", "cooperative-sticky", "server-uniform"]


def trials():
    """Small rolling restarts, dynamic and static."""
    return rolling.grid(
        STRATEGIES, range(2), members=[3], partitions=[6], rate=[10.0], static=[False, True]
    )


def without_spark(asked):
    """The table that a sweep should give."""
    return pd.DataFrame(
        [{"scenario": number, "record": 0} | vars(trial) | rolling.play(trial)
         for number, trial in enumerate(asked)]
    )  # fmt: skip


@pytest.mark.parametrize("slices", [None, 3])
def test_the_table_of_a_sweep(spark, tables, slices):
    table = timeline.sweep(trials(), rolling.play, name="restarts", slices=slices)
    frame = table.frame()
    assert frame["error"].isna().all() and table.failures.empty
    pd.testing.assert_frame_equal(frame.drop(columns="error"), without_spark(trials()))
    summary = table.summary(["strategy", "static"], ["unowned_s"])
    assert summary["runs"].tolist() == [2] * 6
    means = without_spark(trials()).groupby(["strategy", "static"])["unowned_s"].mean()
    np.testing.assert_allclose(summary["unowned_s"], means)


@pytest.mark.parametrize("rate", [float("nan"), float("inf"), -1.0])
def test_a_size_that_is_none_costs_what_the_others_do(rate):
    usual = rolling.Trial("range", members=4, partitions=9)
    assert sweep.weight(replace(usual, rate=rate)) == sweep.weight(replace(usual, rate=0.0)) == 50


def test_a_trial_that_raises_or_takes_too_long_becomes_an_error_row(spark, tables):
    good = trials()[0]
    bad = replace(good, strategy="stiky")
    long = replace(good, seed=9, members=60, partitions=2000, rate=1000.0)
    table = timeline.sweep([good, bad, long], rolling.play, limit=0.3)
    assert table.failures["scenario"].tolist() == [1, 2]
    assert table.failures["strategy"][0] == "stiky"
    assert table.failures["error"][0].startswith("UnknownName: unknown strategy 'stiky'")
    assert table.failures["error"][1].startswith("TimeLimit")
    assert table.frame(where="scenario = 0")["repeated"].notna().all()


@pytest.mark.parametrize("play", [lambda trial: {}, "play", partial(print), None])
def test_what_no_other_process_can_import_is_refused(play):
    with pytest.raises(timeline.TimelineError, match="play: expected a function at the top"):
        timeline.sweep(trials()[:1], play)


def test_trials_that_differ_in_the_strategy_alone_are_played_in_one_slice():
    asked = trials()
    numbers = sweep.alike(asked)
    kinds = [(trial.seed, trial.static) for trial in asked]
    assert len(set(numbers)) == len(set(kinds)) == len(set(zip(numbers, kinds, strict=True))) == 4

    @dataclass(frozen=True)
    class Plain:
        seed: int

    assert sweep.alike([Plain(1), Plain(2)]) is None

    @dataclass(frozen=True)
    class Sharing(Plain):
        SHARING: ClassVar = ("skew",)
        skew: float

    assert sweep.alike([Sharing(1, 0.5), Sharing(2, 0.5), Sharing(1, 1.0)]) == [0, 1, 0]
    work = driver.Work(asked, (), [1.0] * len(asked), 1.0, REBALANCES, None, numbers)
    dealt = driver.dealt_together(work, 2)
    assert len(set(zip(numbers, dealt, strict=True))) == 4 and sorted(dealt) == [0] * 6 + [1] * 6
    assert set(driver.dealt_together(work, 6)) == set(
        range(6)
    )  # more tasks than kinds: all cores work


def test_records_that_do_not_fit_the_first_one_are_errors():
    trial = trials()[0]
    columns, seconds = sweep.learn([trial], lambda trial: {"a": 1, "b": 0.5})
    assert seconds > 0

    def rows(record):
        return list(sweep.records(lambda trial: record, columns, trial, ()))

    assert rows({"a": 2, "b": 1})[0][-2:] == (2, 1.0)
    assert rows([{"a": 2, "b": None}, {"a": 3}])[1][-2:] == (3, None)
    names = [column.name for column in columns[1:]]
    for record, says in (({"a": 0.5}, "a: 0.5"), ({"c": 1}, "has no c")):
        assert says in rows(record)[0][names.index("error")]


def test_a_column_holds_the_values_of_all_trials():
    kinds = [(10, 2.5), (np.int64(1), 3), (np.float64(0.5), 1), (None, 4), ("a", None)]
    columns_of = ["float64", "int64", "float64", "int64", "string"]
    for (one, other), kind in zip(kinds, columns_of, strict=True):
        asked = [sweep.plain_trial(Listed(value)) for value in (one, other)]
        columns, _ = sweep.learn(asked, lambda trial: {"a": 1})
        assert [c.type for c in columns if c.name == "values"] == [kind]
        for trial in asked:
            [row] = sweep.records(lambda trial: {"a": 1}, columns, trial, ())
            assert row[1] == trial.values and row[2] is None


def test_columns_are_learnt_from_the_first_record_that_has_numbers():
    asked = trials()[:3]

    def play(trial):
        assert trial != asked[1], "raises"
        error = "none" if trial == asked[0] else None
        return {"error": error, "moved": None if error else 7}

    columns, _ = sweep.learn(asked, play)
    assert [(c.name, c.type) for c in columns if c.name == "moved"] == [("moved", "int64")]


@dataclass(frozen=True)
class Listed:
    """A trial with a field that is no number and no word."""

    values: tuple = ()


@dataclass
class Open:
    """A trial that is not frozen."""

    seed: int = 0


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ([Open()], "expected frozen ones"),
        ([Listed(0), Listed([1])], "expected frozen ones of numbers and words"),
        ([], "at least one trial"),
        ([{"strategy": "range"}], "dataclasses of one kind"),
        ([Listed()], "values: expected a number or a word"),
        ([Listed(1), Listed("a")], "values: expected values of one kind, got 1 and 'a'"),
        ([Listed(1), Listed(True)], "given twice"),
        ([Listed(2), Listed(True)], "values: expected values of one kind, got 2 and True"),
        ([Listed(None)], "values: expected a number or a word, got None"),
        (Open(), "trials: expected several"),
        (trials()[:1] * 2, "given twice"),
    ],
)
def test_bad_sweeps_are_refused(asked, says):
    with pytest.raises(TimelineError, match=says):
        timeline.sweep(asked, rolling.play)


@pytest.mark.parametrize("made", [None, [1], ["a"]])
def test_what_is_no_record_is_refused(made):
    with pytest.raises(TimelineError, match="play: expected a dict of numbers and words"):
        sweep.learn(trials()[:1], lambda trial: made)


def test_trials_of_what_there_is_not_are_refused():
    with pytest.raises(TimelineError, match="trigger: 'jion' is not one of join, leave"):
        triggers.play(triggers.Trial("jion", "range"))
    with pytest.raises(TimelineError, match="way: 'auto' is not one of auto commit"):
        delivery.play(delivery.Trial("range", "auto", 5.0, 0.0, 0))


def test_a_bad_name_of_a_table_is_refused():
    with pytest.raises(SweepError, match="not a name"):
        timeline.sweep(trials(), rolling.play, name="a/b")


def test_a_restart_leaves_out_what_the_start_of_the_group_costs():
    trial = rolling.Trial("range", members=3, partitions=6, static=True)
    played = rolling.play(trial)
    whole = totals(timeline.run(rolling.scenario(trial), rolling.config(trial), "range", 0))
    assert whole["rounds"] == 1 and played["rounds"] == 0  # static members are back in time
    assert whole["lag_most"] > played["lag_most"]
    assert played["repeated"] == played["lost"] == 0


@pytest.mark.parametrize("down_ms", [1_000, 40_000, 120_000])
def test_a_restart_is_over_when_the_last_member_is_back_and_settled(down_ms):
    trial = rolling.Trial("range", members=3, partitions=6, down_ms=down_ms)
    history = timeline.run(rolling.scenario(trial), rolling.config(trial), "range", 0)
    starts = [event.time_ms for event in history.events if event.kind == "started"]
    assert len(starts) == 6 and history.scenario.duration_ms - starts[-1] >= rolling.LEAD_MS
    assert unowned(history)["count"].iloc[-1] == 0


def test_eager_restarts_cost_more_the_further_heartbeats_drift():
    costs = [
        rolling.play(rolling.Trial("range", members=3, partitions=6, drift_ms=drift))["unowned_s"]
        for drift in (0, 500, 3000)
    ]
    assert costs == sorted(set(costs))


@dataclass(frozen=True)
class Numbered:
    record: int


def test_names_of_the_tables_own_columns_are_refused():
    with pytest.raises(timeline.TimelineError, match="record: every table has a column of its own"):
        timeline.sweep([Numbered(1)], asdict)


@pytest.mark.parametrize(
    "grid, says",
    [
        (lambda: rolling.grid("sticky"), "strategy: expected a list, got 'sticky'"),
        (lambda: rolling.grid(["stick"]), "unknown strategy 'stick' .did you mean 'sticky'"),
        (lambda: rolling.grid(["sticky"], members=3), "members: expected a list, got 3"),
        (lambda: rolling.grid(["sticky"], members=[2.5]), "members: expected a whole number"),
        (lambda: rolling.grid(["sticky"], memers=[3]), "unknown field of a trial 'memers'"),
        (lambda: triggers.grid("join", ["sticky"], [0]), "trigger: expected a list"),
        (lambda: triggers.grid(["join"], ["server-simple"], [0]), "no group can run server-simple"),
        (lambda: triggers.grid(["joinn"], ["sticky"], [0]), "unknown trigger 'joinn'"),
        (lambda: delivery.grid(["sticky"], ["auto comit"], [5], [1], [0]), "unknown way"),
        (lambda: delivery.grid(["sticky"], ["auto commit"], 5, [1], [0]), "interval_s: expected a"),
    ],
)
def test_a_wrong_axis_of_a_grid_of_trials_is_refused_in_one_line(grid, says):
    with pytest.raises(AssignlabError, match=says) as refused:
        grid()
    assert "\n" not in str(refused.value)


def test_every_drift_of_the_triggers_has_groups_of_its_own():
    asked = triggers.grid(["join", "stall"], ["range", "sticky"], range(5, 9), [0, 100, 500])
    drawn = {(trial.drift_ms, trial.seed) for trial in asked}
    assert len(drawn) == len({seed for _, seed in drawn}) == 12
    assert len(asked) == 2 * 2 * 12  # the same for every trigger and strategy
    assert triggers.grid(["join"], ["range"], []) == []


def test_a_moved_coordinator_keeps_the_group_at_every_drift_that_the_notebook_allows():
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        for seed in range(3):
            cost = triggers.play(
                triggers.Trial("coordinator moves", strategy, seed, drift_ms=15_000)
            )
            assert cost["rounds"] == cost["unowned_s"] == 0


def throwing(trial):
    return {"error": "IllegalArgumentException: round", "moved": None}


def test_a_sweep_without_a_result_says_why_there_is_none():
    with pytest.raises(TimelineError, match="no trial has a result: IllegalArgumentException"):
        timeline.sweep([triggers.Trial("join", "range", 0)], throwing)
