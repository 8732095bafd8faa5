"""What an upgrade moves, against what the protocols say."""

import math
from bisect import bisect_right
from dataclasses import replace

import pandas as pd
import pytest

from assignlab import assignors
from assignlab.errors import AssignlabError
from assignlab.reality import recording
from assignlab.replay import upgrade
from assignlab.replay.history import history
from assignlab.replay.rebalance import replay
from assignlab.replay.scenarios import Scenario

SIZE = dict(members=5, topics=4, partitions=32)
NAMES = ["range", "roundrobin", "sticky@2.0", "sticky", "cooperative-sticky", "server-uniform"]
EVENTS = "JOIN_ONE,LEAVE_ONE"
PAIRS = pd.DataFrame(
    record
    for seed in range(4)
    for old in NAMES
    for record in upgrade.play_switches(
        upgrade.Trial(seed, old, ",".join(NAMES), EVENTS, EVENTS, **SIZE)
    )
)
MOVED = PAIRS.groupby(["old", "new"])["moved"].agg(["min", "max"])


def test_no_pair_fails_and_staying_moves_nothing():
    assert (PAIRS["thrown"] == "").all()
    same = PAIRS[PAIRS["old"] == PAIRS["new"]]
    assert (same["moved"] == 0).all()
    assert (same["gap_before"] == same["gap_after"]).all()


def test_a_switch_to_an_original_that_throws_is_no_failure_and_has_no_numbers():
    trial = upgrade.Trial(0, "range", "kafka-python-roundrobin", **SIZE)
    nested = replace(trial, subscription="HETEROGENEOUS_NESTED")
    (answers,), (throws,) = upgrade.play_switches(trial), upgrade.play_switches(nested)
    assert answers["thrown"] == "" and answers["moved"] > 0
    assert throws["thrown"].startswith("KeyError: ") and math.isnan(throws["moved"])
    assert {name: type(value) for name, value in throws.items()} == {
        name: type(value) for name, value in answers.items()
    }


def test_no_road_is_told_of_an_original_that_throws():
    trial = upgrade.Trial(0, "kafka-python-roundrobin", subscription="HETEROGENEOUS_NESTED", **SIZE)
    with pytest.raises(AssignlabError, match="roundrobin, no upgrade: KeyError: .* not found"):
        upgrade.play_migrations(trial)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sticky@2.0", "sticky"),
        ("sticky", "sticky@2.0"),
        ("sticky", "server-uniform"),
        ("server-uniform", "sticky"),
        ("server-uniform", "cooperative-sticky"),
    ],
)
def test_who_can_read_the_old_assignment_moves_nothing(old, new):
    assert MOVED.loc[(old, new), "max"] == 0


def test_a_strategy_of_another_name_reads_nothing():
    """It gives what it would give a group that was never assigned."""
    events_ = ("FULL", "JOIN_ONE", "LEAVE_ONE", "STABLE")
    moments = history(Scenario(events=events_, **SIZE))
    chosen = [assignors.get("sticky")] * 3 + [assignors.get("cooperative-sticky")]
    switched = list(replay(moments, chosen))[-1]
    fresh = assignors.get("cooperative-sticky").assign(moments[-1].group)
    assert not switched.group.claims.present.any()
    assert switched.after.codes.tolist() == fresh.codes.tolist()


def test_the_coordinator_evens_out_what_range_left_and_no_more():
    moments = history(Scenario(events=("FULL", "STABLE"), members=3, topics=4, partitions=16))
    chosen = [assignors.get("range"), assignors.get("server-uniform")]
    before, after = replay(moments, chosen)
    surplus = sorted(before.after.sizes.tolist())
    assert surplus == [4, 4, 8]
    assert sorted(after.after.sizes.tolist()) == [5, 5, 6]
    kept = sum(
        len(set(before.after.of(m).tolist()) & set(after.after.of(m).tolist())) for m in range(3)
    )
    assert kept == 16 - 2


def test_interrupted_is_everything_under_an_eager_strategy():
    eager = PAIRS[PAIRS["new"].isin(["range", "roundrobin", "sticky", "sticky@2.0"])]
    assert (eager["interrupted"] == SIZE["partitions"]).all()
    from_eager = PAIRS[~PAIRS["old"].isin(["cooperative-sticky", "server-uniform"])]
    assert (from_eager["interrupted"] == SIZE["partitions"]).all()
    neither = PAIRS[
        PAIRS["old"].isin(["cooperative-sticky", "server-uniform"])
        & (PAIRS["new"] == "cooperative-sticky")
    ]
    assert (neither["interrupted"] == 0).all()


ROADS = pd.DataFrame(
    record
    for seed in range(3)
    for record in upgrade.play_migrations(upgrade.Trial(seed, "range", **SIZE))
)


def road(name: str) -> pd.DataFrame:
    part = ROADS[ROADS["road"] == name]
    return part.pivot(index="step", columns="seed", values=["moved", "interrupted"])


def test_the_first_bounce_is_a_plain_restart_until_the_last_member():
    two_bounces, none = road("range → cooperative-sticky"), road("range, no upgrade")
    last = 2 * SIZE["members"] - 2
    assert two_bounces.loc[:last].equals(none.loc[:last])
    assigned = (
        ROADS[ROADS["road"] == "range → cooperative-sticky"].groupby("step")["strategy"].first()
    )
    assert set(assigned.loc[:last]) == {"range"}
    assert set(assigned.loc[last + 1 :]) == {"cooperative-sticky"}


def test_members_with_the_old_strategy_in_their_list_give_up_everything():
    """All of them until the second bounce, fewer with every restart, and in the end none."""
    interrupted = road("range → cooperative-sticky")["interrupted"]
    restarts = 2 * SIZE["members"]
    assert (interrupted.loc[2:restarts] == SIZE["partitions"]).all(axis=None)
    last_leaves, last_joins = interrupted.loc[2 * restarts - 1], interrupted.loc[2 * restarts]
    assert (last_leaves <= 2 * -(-SIZE["partitions"] // SIZE["members"])).all()
    assert (last_joins <= -(-SIZE["partitions"] // SIZE["members"])).all()


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("migrate-up.range", "range", "server-uniform"),
        ("migrate-up.cooperative-sticky", "cooperative-sticky", "server-uniform"),
        ("migrate-down.cooperative-sticky", "server-uniform", "cooperative-sticky"),
    ],
)
def test_members_that_wait_for_their_restart_give_up_what_recorded_groups_do(name, old, new):
    """Eager ones everything, others what they lose. Who leaves first may hold one less than there."""
    recorded = {
        broker: [one for one in recording.read(broker) if one["name"] == name]
        for broker in recording.releases()
    }
    trial = upgrade.Trial(0, old, members=3, topics=2, partitions=11)
    played = [
        record["interrupted"]
        for record in upgrade.play_migrations(trial)
        if record["road"] == f"{old} → {new}" and record["upgrade"]
    ]
    compared = 0
    for group in (one for some in recorded.values() for one in some):
        moments = [action["at"] for action in group["actions"]]
        assert len(moments) == len(played)
        revoked = [0] * len(moments)
        for told in group["events"]:
            if told["kind"] == "revoked" and told["at"] >= moments[0]:
                revoked[bisect_right(moments, told["at"]) - 1] += len(told["partitions"])
        assert revoked[1:] == played[1:] and 0 <= revoked[0] - played[0] <= 1
        compared += 1
    assert compared == 2


@pytest.mark.parametrize(
    ("old", "bounces"),
    [("range", [2, 1]), ("cooperative-sticky@2.4", [1]), ("server-uniform", [1])],
)
def test_roads_and_their_bounces(old, bounces):
    """There is none to what the group has; only an eager one needs two; members that are not eager
    give up as much as in plain restarts."""
    records = upgrade.play_migrations(upgrade.Trial(0, old, members=2, topics=1, partitions=4))
    costs = upgrade.costs(pd.DataFrame(records))
    assert costs["bounces"].tolist() == bounces
    if len(bounces) == 1:
        assert costs["interrupted"].tolist() == costs["plain_interrupted"].tolist()
        assert upgrade.gentlest(costs) == ""


@pytest.mark.parametrize(
    ("old", "roads"),
    [
        ("librdkafka-cooperative-sticky", []),
        ("librdkafka-range", ["cooperative-sticky", "server-uniform"]),
        ("kafkajs-roundrobin", ["server-uniform"]),
    ],
)
def test_no_road_that_the_coordinator_refuses(old, roads):
    """librdkafka's cooperative-sticky sends user data, KafkaJS's name is in no other client's list."""
    records = upgrade.play_migrations(upgrade.Trial(0, old, members=2, topics=1, partitions=4))
    found = {record["road"] for record in records}
    assert found == {f"{old}, no upgrade", *(f"{old} → {new}" for new in roads)}


def test_the_first_member_with_the_new_protocol_turns_the_group_over():
    uniform = ROADS[ROADS["road"] == "range → server-uniform"]
    assert (uniform.groupby("step")["strategy"].first().loc[2:] == "server-uniform").all()
    assert (uniform[uniform["step"] >= 2]["gap"] <= 1).all()


def test_between_two_assignors_of_the_coordinator_most_members_decide():
    records = upgrade.play_migrations(upgrade.Trial(0, "server-range", members=5))
    assigned = [r["strategy"] for r in records if r["road"] == "server-range → server-uniform"]
    assert assigned == ["server-range"] * 4 + ["server-uniform"] * 16
