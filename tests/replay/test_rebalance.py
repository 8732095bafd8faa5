"""Replays: claims and generations as clients send them, rounds, errors, and published figures."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.kafka import range_2_0, roundrobin, roundrobin_2_0
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, code
from assignlab.group.document import lists
from assignlab.group.model import ABSENT
from assignlab.group.plain import group
from assignlab.replay import metrics
from assignlab.replay.history import history, moments
from assignlab.replay.rebalance import replay
from assignlab.replay.records import COLUMNS, SCENARIO_COLUMNS, cost, record, records
from assignlab.replay.scenarios import Scenario

NAMES = [column.name for column in COLUMNS]
STEP_AND_METRICS = NAMES[len(SCENARIO_COLUMNS) :]


def numbers(steps):
    return [dict(zip(STEP_AND_METRICS, record(step), strict=True)) for step in steps]


def a_strategy(assign, **facts):
    """A strategy made for a test: range with another rule."""
    return replace(range_2_0.STRATEGY, name="made-for-a-test", assign=assign, **facts)


def topics_of(counts):
    return {f"t{i}": count for i, count in enumerate(counts)}


def by_name(step, assignment=None):
    return {
        member: {(t, p) for t, p in pairs}
        for member, pairs in lists(step.group, assignment or step.after).items()
    }


# ---- published figures -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("strategy", "before", "after"),
    [
        (range_2_0.STRATEGY, (36, 18), (38, 18)),
        (roundrobin.STRATEGY, (26, 26), (28, 27)),
        (roundrobin_2_0.STRATEGY, (26, 26), (28, 27)),
    ],
)
def test_astraea_431(strategy, before, after):
    """20 topics, 650 partitions, 25 consumers, one is killed: the published max and min.

    The counts per topic are a reconstruction: 16 topics with 26 to 47 partitions, 2 with 25, 2 with
    fewer than 24.
    """
    counts = topics_of([35] * 14 + [36, 37] + [25] * 2 + [20, 17])
    assert len(counts) == 20 and sum(counts.values()) == 650
    members = {f"consumer-{i}": list(counts) for i in range(25)}
    left = {name: topics for name, topics in members.items() if name != "consumer-7"}
    history = moments([("start", group(counts, members)), ("kill", group(counts, left))])
    start, kill = numbers(replay(history, strategy))
    assert (start["largest"], start["smallest"]) == before
    assert (kill["largest"], kill["smallest"]) == after
    assert kill["owner_left"] > 0 and kill["interrupted"] == 650


def test_a_leaves_and_comes_back_with_a_stale_claim():
    """KIP-341's story: without generations both owners keep a partition, else the newer one."""
    topics = {"t": 6}
    start = group(topics, {name: ["t"] for name in "ABC"})
    without = group(topics, {"B": ["t"], "C": ["t"]})
    history = moments([("start", start), ("A is expelled", without), ("A returns", start)])
    history[-1] = replace(history[-1], returning=((0, 0, 0),))
    old = list(replay(history, assignors.get("sticky@2.0")))[-1]
    new = list(replay(history, assignors.get("sticky")))[-1]
    assert numbers([old])[0]["doubled"] == 2
    assert numbers([new])[0]["doubled"] == 0
    assert [len(pairs) for pairs in by_name(new).values()] == [2, 2, 2]
    claims = new.group.claims
    assert claims.generation.tolist() == [1, 2, 2]
    assert (claims.codes[: claims.offsets[1]]).size == 2


# ---- claims ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["sticky@2.0", "sticky", "cooperative-sticky"])
def test_members_claim_what_they_were_given(name):
    scenario = Scenario(
        members=4,
        topics=3,
        partitions=14,
        seed=1,
        events=("FULL", "JOIN_ONE", "STABLE", "LEAVE_ONE", "PARTITIONS_ADDED"),
    )
    strategy = assignors.get(name)
    steps = list(replay(history(scenario), strategy))
    for before, step in itertools.pairwise(steps):
        claims = step.group.claims
        claimed = Assignment(claims.offsets, claims.codes)
        newcomers = step.origin < 0
        assert by_name(step, claimed) == by_name(step, step.before)
        assert (claims.present == ~newcomers).all()
        for field in ("generation", "sub_generation"):
            carried = before.generation if field in strategy.generations else ABSENT
            expected = np.where(newcomers, ABSENT, carried)
            assert getattr(claims, field).tolist() == expected.tolist()


def test_clients_send_claims_in_the_order_of_their_version():
    """``reclaim`` decides the order in which the next rebalance reads what was given."""

    def backwards(the_group, assignment):
        codes = [assignment.of(m)[::-1] for m in range(len(the_group.members))]
        return Assignment(assignment.offsets, np.concatenate(codes))

    strategy = a_strategy(range_2_0.assign, sticky=True, reclaim=backwards)
    scenario = Scenario(members=2, topics=1, partitions=4, events=("FULL", "STABLE"))
    first, second = replay(history(scenario), strategy)
    assert second.group.claims.codes[:2].tolist() == first.after.of(0)[::-1].tolist()
    assert second.before.codes.tolist() == first.after.codes.tolist()


def test_cooperative_members_give_up_unsubscribed_topics_before_they_join():
    scenario = Scenario(members=3, topics=3, partitions=9, seed=4, events=("FULL", "UNSUBSCRIBE"))
    moments = history(scenario)
    claimed = {}
    for protocol in ("eager", "cooperative"):
        strategy = a_strategy(range_2_0.assign, protocol=protocol, sticky=True)
        claimed[protocol] = list(replay(moments, strategy))[-1].group.claims.codes.size
    assert claimed == {"eager": 9, "cooperative": 8}


# ---- rounds ------------------------------------------------------------------------------------


def cooperative_range(the_group):
    """Range, with the partitions left out that another member still claims."""
    wanted = range_2_0.assign(the_group)
    claims = the_group.claims
    owners = Assignment(claims.offsets, claims.codes).owners
    owner = dict(zip(claims.codes.tolist(), owners.tolist(), strict=True))
    return Assignment.from_lists(
        [c for c in wanted.of(m).tolist() if owner.get(c, m) == m]
        for m in range(len(the_group.members))
    )


def test_cooperative_rounds_until_nobody_gives_anything_up():
    strategy = a_strategy(cooperative_range, sticky=True, protocol="cooperative")
    scenario = Scenario(
        members=3,
        topics=4,
        partitions=28,
        seed=3,
        events=("FULL", "STABLE", "JOIN_ONE", "PARTITIONS_ADDED"),
    )
    moments = history(scenario)
    cooperative = list(replay(moments, strategy))
    eager = list(replay(moments, range_2_0.STRATEGY))
    assert [step.rounds for step in cooperative] == [1, 1, 2, 1]
    assert [step.generation for step in cooperative] == [1, 2, 4, 5]
    for one, other in zip(numbers(cooperative), numbers(eager), strict=True):
        assert (one["stayed"], one["by_choice"]) == (other["stayed"], other["by_choice"])
        assert one["unassigned"] == one["revoked_kept"] == 0
        assert one["interrupted"] == one["by_choice"]
        assert other["interrupted"] == other["held"]
    assert numbers(cooperative)[2]["by_choice"] > 0


def test_partitions_given_up_and_given_back_are_counted():
    """A cooperative rule that takes everything away in its first round of a rebalance."""
    held_everything = []

    def assign(the_group):
        if the_group.claims.codes.size:
            held_everything.append(True)
            return Assignment(np.zeros(3, dtype=np.int64), np.empty(0, dtype=np.int64))
        return range_2_0.assign(the_group)

    strategy = a_strategy(assign, sticky=True, protocol="cooperative")
    scenario = Scenario(members=2, topics=1, partitions=4, events=("FULL", "STABLE"))
    full, stable = numbers(replay(history(scenario), strategy))
    assert (full["rounds"], full["revoked_kept"]) == (1, 0)
    assert (stable["rounds"], stable["stayed"]) == (2, 4)
    assert (stable["revoked_kept"], stable["interrupted"]) == (4, 4)
    assert len(held_everything) == 1


def test_a_rebalance_that_never_settles_ends_with_an_error_record(monkeypatch):
    def swap(the_group):
        first = the_group.claims.codes[:1].tolist() == [code(0, 0)]
        return Assignment(np.array([0, 1, 2]), np.array([first, not first], dtype=np.int64))

    strategy = a_strategy(swap, sticky=True, protocol="cooperative")
    monkeypatch.setattr(assignors, "get", lambda name: strategy)
    scenario = Scenario(members=2, topics=1, partitions=2, events=("FULL", "STABLE", "STABLE"))
    rows = [dict(zip(NAMES, row, strict=True)) for row in records(scenario, [strategy.name])]
    assert [row["step"] for row in rows] == [0, 1]
    assert rows[1]["error"].startswith("NeverStable: made-for-a-test")


# ---- what goes wrong ---------------------------------------------------------------------------


def fails_at(size, error):
    def assign(the_group):
        if len(the_group.members) == size:
            raise error
        return range_2_0.assign(the_group)

    return a_strategy(assign, sticky=True, generations=("generation",))


def test_after_an_originals_exception_the_history_goes_on():
    strategy = fails_at(5, OriginalError("NullPointerException", "made for a test"))
    scenario = Scenario(
        members=4,
        topics=2,
        partitions=8,
        seed=2,
        events=("FULL", "JOIN_ONE", "LEAVE_ONE", "STABLE"),
    )
    steps = list(replay(history(scenario), strategy))
    first, failed, after, _ = steps
    assert failed.error == "NullPointerException: made for a test"
    assert by_name(failed) == by_name(first) | {failed.group.members.names[4]: set()}
    assert after.group.claims.generation.tolist() == [1] * 4
    assert [step.generation for step in steps] == [1, 2, 3, 4]
    rows = numbers(steps)
    assert rows[1]["stayed"] is None and rows[1]["rounds"] == 1
    assert rows[2]["stayed"] == 8


def test_any_other_exception_ends_it_and_the_next_strategy_goes_on(monkeypatch):
    broken = fails_at(5, ZeroDivisionError("made for a test"))
    strategies = {"broken": broken, "range@2.0": range_2_0.STRATEGY}
    monkeypatch.setattr(assignors, "get", strategies.__getitem__)
    scenario = Scenario(members=4, topics=2, partitions=8, events=("FULL", "JOIN_ONE", "STABLE"))
    rows = [dict(zip(NAMES, row, strict=True)) for row in records(scenario, list(strategies))]
    assert [row["error"] for row in rows] == [
        None,
        "ZeroDivisionError: made for a test",
        None,
        None,
        None,
    ]
    assert rows[1]["strategy"] == "broken" and rows[1]["event"] == "JOIN_ONE"


def test_a_history_that_cannot_be_told_is_one_error_record_per_strategy():
    scenario = Scenario(members=1, events=("FULL", "LEAVE_ONE"))
    rows = [
        dict(zip(NAMES, row, strict=True)) for row in records(scenario, ["roundrobin", "range@2.0"])
    ]
    assert [row["strategy"] for row in rows] == ["roundrobin", "range@2.0"]
    assert all("the last member cannot leave" in row["error"] for row in rows)


# ---- restarts ----------------------------------------------------------------------------------


def test_static_members_restart_without_moving_anything():
    dynamic = Scenario(members=5, topics=4, partitions=22, events=("FULL", "ROLLING_RESTART"))
    static = replace(dynamic, static=True)
    for name in ("range", "roundrobin", "sticky", "cooperative-sticky"):
        if name not in assignors.strategies():
            continue
        restarts = numbers(replay(history(static), assignors.get(name)))[1:]
        assert [row["rounds"] for row in restarts] == [0, 0, 0, 0, 0, 1]
        assert all(row["stayed"] == 22 for row in restarts)
        assert all(row["interrupted"] == 0 for row in restarts[:-1])
        moved = numbers(replay(history(dynamic), assignors.get(name)))[1:]
        assert len(moved) == 10
        assert sum(row["owner_left"] for row in moved) >= 22


# ---- records -----------------------------------------------------------------------------------

TYPES = {"int64": int, "float64": float, "string": str, "bool": bool}


@pytest.mark.parametrize("subscription", ["HOMOGENEOUS", "HETEROGENEOUS_NESTED", "RANDOM"])
def test_records_have_the_documented_columns(subscription):
    scenario = Scenario(
        members=4,
        topics=3,
        partitions=10,
        subscription=subscription,
        seed=6,
        events=("FULL", "JOIN_MANY", "CRASH", "RETURN", "TOPIC_CREATED"),
    )
    rows = list(records(scenario, ["range@2.0", "roundrobin"]))
    assert len(rows) == 10 and len(set(NAMES)) == len(NAMES)
    for row in rows:
        assert len(row) == len(COLUMNS)
        for value, column in zip(row, COLUMNS, strict=True):
            assert value is None or type(value) is TYPES[column.type], column
        assert all(column.meaning for column in COLUMNS)


def test_pairs_before_and_after_add_up():
    scenario = Scenario(
        members=7,
        topics=5,
        partitions=40,
        subscription="RANDOM",
        seed=9,
        events=("FULL", "LEAVE_MANY", "UNSUBSCRIBE", "TOPIC_RECREATED", "JOIN_ONE"),
    )
    for name in ("range@2.0", "roundrobin@2.0"):
        rows = numbers(replay(history(scenario), assignors.get(name)))
        for before, row in itertools.pairwise(rows):
            assert row["held"] == before["stayed"] + before["received"]
            assert row["held"] == row["stayed"] + row["forced"] + row["by_choice"] + row["gone"]
            assert row["partitions_now"] == row["stayed"] + row["received"]


def test_records_do_not_depend_on_company_or_order():
    scenario = Scenario(seed=11, events=("FULL", "JOIN_ONE", "CRASH", "RETURN"))
    other = Scenario(seed=12)
    together = list(records(scenario, ["roundrobin", "range@2.0"]))
    list(records(other, ["range@2.0"]))
    alone = list(records(scenario, ["range@2.0"])) + list(records(scenario, ["roundrobin"]))
    assert sorted(together, key=repr) == sorted(alone, key=repr)


def test_cost_grows_with_the_work():
    small = Scenario()
    large = replace(small, partitions=10**6)
    assert cost(small) < cost(replace(small, partitions=1000)) < cost(large)
    assert cost(small) < cost(replace(small, events=("FULL", "ROLLING_RESTART")))
    assert cost(small) < cost(small, strategies=3)


def test_an_owner_that_does_not_read_a_topic_hides_nobody_who_has_nothing_of_it():
    asked = group({"t": 2, "u": 1}, {"a": ["t"], "b": ["t"], "x": ["u"]})
    after = Assignment.from_lists([[code(0, 0)], [], [code(0, 1), code(1, 0)]])
    before = Assignment.from_lists([[], [], []])
    found = metrics.measure(asked, after, before, np.full(3, -1), True)
    told = dict(zip(metrics.FIELDS, found, strict=True))
    assert (told["topic_gap"], told["topic_gap_mean"]) == (1, 0.5)


def test_what_a_member_was_given_twice_it_holds_once():
    events = ("FULL", "TOPIC_RECREATED", "TOPIC_RECREATED")
    asked = Scenario(
        members=4, topics=4, partitions=12, subscription="RANDOM", seed=876909, static=True, racks=2,
        events=events,
    )  # fmt: skip
    steps = [*replay(history(asked), assignors.get("sticky"))]
    assert any(len(set(codes := step.after.of(m).tolist())) < len(codes)
               for step in steps for m in range(4))  # fmt: skip
    assert all(step["received"] >= 0 for step in numbers(steps))
    assert numbers(steps)[-1]["received"] == 0


def test_what_a_member_that_comes_back_still_claims_was_not_given_up():
    asked = Scenario(
        members=3, topics=2, partitions=7, seed=599289, ids="numbered", racks=2,
        events=("FULL", "CRASH", "RETURN"),
    )  # fmt: skip
    last = numbers(replay(history(asked), assignors.get("cooperative-sticky@3.4")))[-1]
    assert (last["revoked_kept"], last["interrupted"]) == (0, last["forced"] + last["by_choice"])
