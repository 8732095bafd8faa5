"""Kafka's grid: its groups are the benchmark's, its measures those of sweeps, its exponents right."""

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.parts import orders
from assignlab.replay import events, kafkas_grid
from assignlab.replay.history import moments
from assignlab.replay.kafkas_grid import EVENTS, Trial, before_and_after, play, point_of, trials
from assignlab.replay.rebalance import replay


def groups(event, **fields):
    return before_and_after(point_of(Trial("range", **{"partitions": 100} | fields)), event)


@pytest.mark.parametrize(
    ("event", "before"),
    [
        ("STABLE", 25), ("JOIN_ONE", 24), ("JOIN_MANY", 22), ("LEAVE_ONE", 26), ("LEAVE_MANY", 28),
        ("PARTITIONS_ADDED", 25),
    ],
)  # fmt: skip
def test_a_group_has_its_members_after_the_event_and_the_last_ones_come_and_go(event, before):
    first, then = groups(event, members=25, topics=12)
    assert list(first.members.names) == [f"member{m}" for m in range(before)]
    assert list(then.members.names) == [f"member{m}" for m in range(25)]
    assert list(then.topics.names) == [f"topic-{t}" for t in range(12)]


def test_what_is_loaded_before_the_clock_runs_has_the_code_of_large_groups_among_it():
    assert kafkas_grid.LARGE**2 >= orders.MANY


def test_a_tenth_of_the_topics_gains_a_partition_at_regular_intervals():
    first, then = groups("PARTITIONS_ADDED", members=5, topics=25)
    assert np.flatnonzero(then.topics.partitions - first.topics.partitions).tolist() == [0, 8, 16]
    assert [len(racks) for racks in then.topics.racks] == then.topics.partitions.tolist()


def test_buckets_are_those_of_five_members_also_where_one_has_not_joined_yet():
    first, then = groups("JOIN_ONE", members=5, topics=10, subscription="HETEROGENEOUS_DISJOINT")
    for group in (first, then):
        read = [group.members.topics_of(m).tolist() for m in range(len(group.members))]
        assert read == [[2 * m, 2 * m + 1] for m in range(len(read))]


@pytest.mark.parametrize("subscription", kafkas_grid.GRID["subscription"])
@pytest.mark.parametrize("event", ["LEAVE_ONE", "LEAVE_MANY"])
def test_who_stays_is_the_group_that_others_join(event, subscription):
    first, then = groups(event, members=12, topics=11, subscription=subscription, racks=True)
    left = events.leave(first, range(12, len(first.members)))
    assert then.members.racks == left.members.racks
    for m in range(12):
        assert then.members.topics_of(m).tolist() == left.members.topics_of(m).tolist()


def test_members_are_in_one_of_three_racks_or_in_none_while_partitions_always_are():
    for racks, of_members in ((True, ("rack0", "rack1", "rack2", "rack0", "rack1")), (False, None)):
        _, group = groups("STABLE", members=5, topics=1, racks=racks)
        assert group.members.racks == of_members
        assert group.topics.racks[0][2] == ("rack2", "rack0")


@pytest.mark.parametrize("name", [n for n in assignors.names() if not kafkas_grid.reads_racks(n)])
def test_racks_change_nothing_for_those_who_are_asked_once(name):
    strategy = assignors.get(name)
    answers = []
    for racks in (False, True):
        before, after = groups("JOIN_MANY", members=12, topics=7, partitions=50, racks=racks)
        history = moments([("FULL", before), ("JOIN_MANY", after)])
        answers.append([(s.after.offsets, s.after.codes) for s in replay(history, strategy)])
    without, given = answers
    np.testing.assert_equal(without, given)


def test_a_trial_gives_a_record_for_each_event_beside_the_optimum():
    records = play(Trial("server-uniform", members=12, topics=7, partitions=50))
    assert [record["event"] for record in records] == list(EVENTS)
    assert all(record["again_ms"] > 0 for record in records)
    assert [record["event"] for record in records if record["new_ms"] > 0] == ["FULL"]
    assert {record["gap_regret"] for record in records} == {0.0}
    moved = {record["event"]: record["by_choice"] for record in records}
    assert moved["STABLE"] == moved["LEAVE_ONE"] == 0 < moved["JOIN_ONE"] < moved["JOIN_MANY"]
    uneven = play(Trial("range", members=12, topics=7, partitions=50))
    assert {record["gap_regret"] for record in uneven} == {
        6.0
    }  # 7 topics, less the 1 that 50 partitions need


def test_who_is_slow_is_not_asked_on():
    [record] = play(Trial("range", members=5, topics=5, partitions=10, patience=0.0))
    assert record["event"] == "FULL"


def test_growth_finds_the_exponents_of_a_power_law_and_its_intervals_hold_them():
    import pandas as pd

    random = np.random.default_rng(5)
    rows = [
        {
            **{name: getattr(trial, name) for name in ("strategy", "members", "topics")},
            **{name: getattr(trial, name) for name in ("partitions", "distribution", "racks")},
            "subscription": trial.subscription,
            "event": event,
            "again_ms": trial.members**1.5 * trial.topics**0.5 * 2.0 ** (event == "FULL") * noise,
        }
        for trial in trials(["range"], subscription=["HOMOGENEOUS"], partitions=[5_000])
        for noise in [float(random.lognormal(0, 0.2))]
        for event in EVENTS
    ]
    found = kafkas_grid.growth(pd.DataFrame(rows)).set_index("axis")
    assert list(found.index) == ["members", "topics"]
    for axis, exponent in (("members", 1.5), ("topics", 0.5)):
        row = found.loc[axis]
        assert row["low"] < exponent < row["high"] < row["low"] + 0.1
        assert row["exponent"] == pytest.approx(exponent, abs=0.05)
