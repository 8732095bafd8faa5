"""A group in simulated time: triggers, errors, and what has to hold in every history."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from assignlab import assignors, timeline
from assignlab.errors import OriginalError, UnknownName, UnknownRelease
from assignlab.jvm.hash_map import hash_map_order
from assignlab.jvm.names import Names
from assignlab.timeline import Config, Member, Scenario, TimelineError, Topic, measure
from assignlab.timeline.engine.log import Delivery, Skip
from assignlab.timeline.engine.requests import Groups
from assignlab.timeline.protocols.classic_coordinator import scala_hash_map_order
from assignlab.timeline.protocols.timeline_map import TimelineMap
from assignlab.timeline.scenario import GROUP_KINDS, MEMBER_KINDS
from assignlab.timeline.simulation import ACTIONS as PLAYED
from assignlab.timeline.simulation import TO_CLIENTS, Simulation

EAGER, COOPERATIVE, SERVER = "sticky", "cooperative-sticky", "server-uniform"
PROTOCOLS = (EAGER, COOPERATIVE, SERVER)
INDEPENDENT = ("scala-range", "metaq-default")
SERVERS = ("server-uniform", "server-range")
IN_C = ("librdkafka-range", "librdkafka-cooperative-sticky")
KAFKA = ("range", "roundrobin", "sticky", "cooperative-sticky", *SERVERS)


def play(actions, strategy=EAGER, members="ab", topics=None, seed=1, until=150_000, **fields):
    """A small group of members called after letters, and what it went through."""
    if isinstance(members, str):
        members = [Member(name) for name in members]
    config = Config(auto_offset_reset="earliest", **fields)
    topics = topics or [Topic("t", 6, rate=10)]
    scenario = Scenario(topics, members, actions, duration_ms=until, watch=[("t", 0)])
    return timeline.run(scenario, config, strategy, seed)


def told(history, kind, after=0):
    """Details of the events of a kind."""
    return [e.detail for e in history.events if e.kind == kind and e.time_ms >= after]


def rounds(history, after=0):
    """When generations began."""
    return [e.time_ms for e in history.events if e.kind == "generation" and e.time_ms >= after]


def owners_at_end(history):
    """Partitions by member at the end of a history."""
    table = history.ownership()
    last = table[table["to_ms"] == history.scenario.duration_ms]
    return {
        member: sorted(zip(rows["topic"], rows["partition"], strict=True))
        for member, rows in last.groupby("member")
    }


# ---- triggers ----------------------------------------------------------------------------------


def test_a_new_group_waits_and_waits_again_while_members_come():
    alone = rounds(play([], members="a"))
    assert alone == [3005]
    assert rounds(play([], members="ab")) == [6005]
    config = {"group_initial_rebalance_delay_ms": 0}
    assert rounds(play([], members="a", **config)) == [5]


@pytest.mark.parametrize(("new", "waits_ms"), [(False, 3_000), (True, 6_000)])
def test_a_group_that_was_empty_waits_once_before_4_0(new, waits_ms):
    """As recorded; GroupCoordinator.addMemberAndRebalance asks for generation 0."""
    actions = [
        timeline.leave(30_000, "a"),
        timeline.leave(30_100, "b"),
        timeline.back(60_000, "a"),
        timeline.back(61_000, "b"),
    ]
    history = play(actions, "range", group_coordinator_new_enable=new)
    assert rounds(history, 50_000)[0] == pytest.approx(60_000 + waits_ms, abs=20)
    assert sorted(owners_at_end(history)) == ["a", "b"]


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_join(strategy):
    history = play([timeline.join(50_000, Member("c"))], strategy)
    assert len(owners_at_end(history)["c"]) == 2
    expected = {EAGER: 1, COOPERATIVE: 2, SERVER: 1}
    assert len(rounds(history, after=50_000)) == expected[strategy]


@pytest.mark.parametrize("strategy", [*PROTOCOLS, *INDEPENDENT, "range"])
@pytest.mark.parametrize("start_ms", [0, 20_000])
def test_a_group_is_taken_up_as_it_was_found_until_something_happens(strategy, start_ms):
    held = {"a": [("t", 2)], "b": [("t", 0), ("t", 1), ("t", 3)]}
    members, topics = [Member("a"), Member("b", start_ms=start_ms)], [Topic("t", 4)]
    found = Scenario(topics, members, duration_ms=90_000, held=held)
    assert owners_at_end(timeline.run(found, strategy=strategy)) == held
    scenario = replace(found, actions=[timeline.join(60_000, Member("c"))])
    owned = owners_at_end(timeline.run(scenario, strategy=strategy))
    assert sorted(map(len, owned.values())) == [1, 1, 2] and "c" in owned


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
def test_a_leader_whose_assignment_never_ends_is_expelled_and_the_next_one_leads(
    monkeypatch, strategy
):
    assign = Groups.assign

    def endless(self, chosen, members, counts, generation):
        if len(members) >= 3:
            raise OriginalError("NeverEnds", "the same 2 moves come round for ever")
        return assign(self, chosen, members, counts, generation)

    monkeypatch.setattr(Groups, "assign", endless)
    joins = [timeline.join(50_000, Member("c")), timeline.join(51_000, Member("d"))]
    history = play(joins, strategy, until=200_000)
    # Nobody gets an assignment while a leader computes. It sends no heartbeats meanwhile, so its
    # session ends, twice; the two that are left find an end.
    joined, second, third, *_ = rounds(history, after=50_000)
    for led, after in ((joined, second), (second, third)):
        assert 45_000 <= after - led < 46_000
        assert not [e for e in history.events if e.kind == "assigned" and led <= e.time_ms < after]
    assert told(history, "removed") == ["session expired"] * 2
    assert len(owners_at_end(history)) == 2
    unowned = measure.unowned_ms(history, 50_000, 200_000)
    assert (unowned > 6 * 90_000 - 1000) if strategy == EAGER else (unowned < 6 * 90_000)


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_leave_is_noticed_at_once_and_a_crash_when_the_session_is_over(strategy):
    left = play([timeline.leave(50_000, "b")], strategy)
    assert told(left, "removed") == ["left"]
    assert 50_000 < rounds(left, after=50_000)[0] < 56_000
    crashed = play([timeline.crash(50_000, "b")], strategy)
    assert told(crashed, "removed") == ["session expired"]
    [removed] = [e.time_ms for e in crashed.events if e.kind == "removed"]
    beat = 5_000 if strategy == SERVER else 3_000
    assert 95_000 - beat <= removed <= 95_000
    assert owners_at_end(left) == owners_at_end(crashed)
    assert measure.unowned_ms(crashed, 50_000, 150_000) > measure.unowned_ms(left, 50_000, 150_000)


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_slow_processing_leaves_the_group_and_comes_back(strategy):
    history = play([timeline.stall(50_000, "b", 30_000)], strategy, max_poll_interval_ms=10_000)
    [exceeded] = [e.time_ms for e in history.events if e.kind == "poll interval exceeded"]
    if strategy == SERVER:  # seen when the network thread next wakes up, for a heartbeat
        last = [e.time_ms for e in history.events if e.kind == "assigned" and e.time_ms < 50_000][
            -1
        ]
        assert 60_000 <= exceeded <= 65_000 and (exceeded - last) % 5_000 < 20
    else:
        assert 59_000 < exceeded <= 60_000
    assert told(history, "lost") == ["max.poll.interval.ms exceeded"]
    assert len(owners_at_end(history)["b"]) == 3


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_static_member_that_is_back_in_time_costs_no_rebalance(strategy):
    members = [Member(name, instance=name) for name in "ab"]
    back = play([timeline.restart(50_000, "b", down_ms=20_000)], strategy, members)
    assert rounds(back, after=50_000) == []
    late = play([timeline.restart(50_000, "b", down_ms=60_000)], strategy, members)
    assert len(rounds(late, after=50_000)) >= 2
    assert told(late, "removed") == ["session expired"]
    before = [e.partitions for e in back.events if e.kind == "assigned" and e.time_ms < 50_000]
    assert owners_at_end(back).keys() == {"a", "b"}
    assert sorted(np.concatenate(before).tolist()) == list(range(6)) or strategy == SERVER


@pytest.mark.parametrize("strategy", (EAGER, COOPERATIVE))
def test_a_topic_that_a_pattern_matches_is_found_with_the_metadata(strategy):
    members = [Member(name, pattern="t.*") for name in "ab"]
    history = play(
        [timeline.create_topic(50_000, Topic("t2", 4, rate=10)),
         timeline.create_topic(50_000, Topic("other", 4))],
        strategy, members, metadata_max_age_ms=20_000,
    )  # fmt: skip
    assert "subscription has changed" in told(history, "rejoin", after=50_000)
    assert rounds(history, after=50_000)[0] <= 75_000
    topics = {topic for owned in owners_at_end(history).values() for topic, _ in owned}
    assert topics == {"t", "t2"}


def test_the_coordinator_looks_at_patterns_at_most_every_ten_seconds():
    members = [Member(name, pattern="t.*") for name in "ab"]
    history = play([timeline.create_topic(50_000, Topic("t2", 4))], SERVER, members)
    assert told(history, "group epoch", after=50_000) == ["subscribed topics changed"]
    assert sum(map(len, owners_at_end(history).values())) == 10
    again = play(
        [timeline.create_topic(50_000, Topic("t2", 4)),
         timeline.create_topic(52_000, Topic("t3", 1))],
        SERVER, members,
    )  # fmt: skip
    first, second = [e.time_ms for e in again.events if e.kind == "group epoch"][-2:]
    assert second - first >= 10_000


@pytest.mark.parametrize("at", (12_000, 14_999, 18_000))
def test_a_target_that_changes_while_the_last_one_is_taken_up(at):
    """What came while a member was busy with the target before is taken up, too."""
    members = [Member("a"), Member("b"), Member("c", pattern="t.*")]
    actions = [
        timeline.leave(10_001, "b"),
        timeline.stall(10_001, "c", 9_998),
        timeline.create_topic(at, Topic("t2", 2)),
    ]
    history = play(actions, "server-range", members, latency_ms=0)
    assert sum(map(len, owners_at_end(history).values())) == 8


def test_every_action_is_played_checked_and_has_its_words():
    kinds = {*PLAYED, *TO_CLIENTS}
    assert kinds == set(MEMBER_KINDS + GROUP_KINDS), "MEMBER_KINDS, GROUP_KINDS of scenario.py"
    assert kinds == set(measure.DONE), "DONE of measure.py"
    made = {"back" if kind == "return" else kind for kind in kinds}
    assert made <= set(timeline.__all__), "the names of timeline/__init__.py"
    page = (Path(__file__).parents[2] / "docs" / "timeline.md").read_text(encoding="utf-8")
    [row] = re.findall(r"^\| actions \| `([a-z_ ]+)`", page, re.MULTILINE)
    assert made == set(row.split()), "the row *actions* of docs/timeline.md"


@pytest.mark.parametrize(
    ("topics", "members", "actions", "told"),
    [
        ([Topic("t", 4)], ["a", "b"],
         [timeline.crash("20000", "b"), timeline.crash(30000, "a")], "at_ms of crash"),
        ([Topic(["t"], 4)], ["a"], [], "name of a topic"),
        ([Topic("t", 4)], [["a"]], [], "name of a member"),
    ],
)  # fmt: skip
def test_what_is_no_time_and_no_name_is_refused(topics, members, actions, told):
    with pytest.raises(TimelineError, match=told):
        Scenario(topics, [Member(name) for name in members], actions)
    with pytest.raises(TimelineError, match="at_ms of rolling_restart"):
        timeline.rolling_restart("0", ["a"], 10)
    with pytest.raises(TimelineError, match="rate of 't': expected a number"):
        Scenario([Topic("t", 4, rate=True)], [Member("a")])
    names = ["a", "b"]
    assert timeline.rolling_restart(np.int64(5), names, np.int32(10)) == timeline.rolling_restart(
        5, names, 10
    )


@pytest.mark.parametrize("strategy", [*KAFKA, *INDEPENDENT])
def test_a_topic_that_is_deleted_has_no_owner_and_no_more_records(strategy):
    topics = [Topic("t", 3, rate=10), Topic("u", 2, rate=10)]
    history = play([timeline.delete_topic(60_000, "u")], strategy, topics=topics, commit="none")
    owned = [topic for owned in owners_at_end(history).values() for topic, _ in owned]
    # Kafka 0.8's consumers only log that a topic is gone.
    assert sorted(owned) == ["t"] * 3 + ["u"] * 2 * (strategy == "scala-range")
    totals = measure.totals(history)
    assert totals["produced"] == totals["distinct"] + totals["lost"] + totals["waiting"]
    assert 3 * 1_500 + 2 * 590 <= totals["produced"] <= 3 * 1_500 + 2 * 600
    steps = measure.unowned(history)
    assert steps["count"].min() == steps["count"].iloc[-1] == 0
    assert not any(stop > 60_000 for (topic, _), _, stop in measure.gaps(history) if topic == "u")


def test_a_deleted_topic_is_not_without_an_owner_though_it_is_owned_anew():
    actions = [timeline.crash(17_000, "a"), timeline.delete_topic(21_000, "u")]
    topics = [Topic("t", 3, rate=10), Topic("u", 2, rate=10)]
    history = play(
        actions, "range", "abc", topics, seed=2, session_timeout_ms=10_000, commit="none"
    )
    # c leads then, and had nothing of u, so that no fetch told it.
    assert told(history, "generation")[-1] == "range, leader c"
    owned = history.ownership()
    assert ((owned["topic"] == "u") & (owned["from_ms"] > 21_000)).any()
    ended = [until for (topic, _), _, until in measure.gaps(history) if topic == "u"]
    assert max(ended) == 21_000
    by_gaps = sum(until - since for _, since, until in measure.gaps(history))
    assert measure.totals(history)["unowned_ms"] == by_gaps


def test_a_deleted_topic_cannot_grow():
    gone = timeline.delete_topic(1_000, "t")
    with pytest.raises(UnknownName, match="topic 't'"):
        play([gone, timeline.add_partitions(2_000, "t", 9)], topics=[Topic("t", 3), Topic("u", 1)])


def test_a_pattern_of_the_client_is_matched_by_each_client_under_kip_848_too():
    created = [timeline.create_topic(61_000, Topic("t2", 2))]

    def found_after(client_pattern):
        members = [Member(n, pattern="t.*", client_pattern=client_pattern) for n in "ab"]
        history = play(created, SERVER, members, metadata_max_age_ms=30_000)
        return next(
            e.time_ms - 61_000
            for e in history.events
            if e.kind == "assigned" and any(p >= 6 for p in e.partitions)
        )

    # The client looks every 30 s and says so with its next heartbeat, the coordinator at any heartbeat.
    assert 25_000 < found_after(True) < 40_000
    assert found_after(False) < 12_000


def test_who_matches_no_topic_yet_joins_with_nothing():
    """As recorded, and listeners are called with nothing."""
    members = [Member("a"), Member("b", pattern="u.*", client_pattern=True)]
    created = [timeline.create_topic(50_000, Topic("u", 2))]
    history = play(created, SERVER, members, metadata_max_age_ms=20_000)
    first, last = [
        e for e in history.events if e.kind == "assigned" and history.members[e.member] == "b"
    ]
    assert first.time_ms < 1_000 and first.partitions.size == 0
    assert 60_000 <= last.time_ms < 71_000 and last.partitions.size == 2
    assert owners_at_end(history)["b"] == [("u", 0), ("u", 1)]


def test_the_coordinator_forgets_a_pattern_with_its_last_member():
    """Who comes back with it joins with nothing, until it is resolved anew and the assignor may run: before 4.4 it
    had just run for the first heartbeat."""
    restart = [timeline.restart(20_000, "a", down_ms=2_000)]
    for assigned, least, most in ((False, 26_500, 27_500), (True, 22_000, 22_500)):
        fields = {"group_consumer_empty_is_assigned": assigned}
        history = play(restart, SERVER, [Member("a", pattern="t")], **fields)
        found = [(e.time_ms, e.partitions.size) for e in history.events
                 if e.kind == "assigned" and e.time_ms > 20_000]  # fmt: skip
        (first, none), (then, all_six) = found
        assert first < 22_500 and (none, all_six) == (0, 6) and least < then < most


@pytest.mark.parametrize(("release", "epoch"), [("4.1", 2), ("4.4", 2)])
def test_a_group_that_begins_with_a_pattern(release, epoch):
    """As recorded on 4.1.2 and 4.4.0: the first epoch is that of nothing, the next of what it matches."""
    config = timeline.config.defaults(release)
    scenario = Scenario([Topic("t", 3)], [Member("a", pattern="t")], duration_ms=20_000)
    history = timeline.run(scenario, config, SERVER)
    given = [(e.generation, e.partitions.size) for e in history.events if e.kind == "assigned"]
    assert given[0][1] == 0 and given[-1] == (epoch, 3)


def test_patterns_are_resolved_for_created_topics_only():
    topics = [Topic("t", 3), Topic("other", 3)]
    changes = [
        timeline.add_partitions(31_000, "t", 4),
        timeline.create_topic(36_000, Topic("t2", 1)),
    ]
    history = play(changes, SERVER, [Member("a", pattern="t.*")], topics)
    found = [e.time_ms for e in history.events if e.detail == "subscribed topics changed"]
    assert len(found) == 2 and 36_000 < found[1] <= 41_100


def test_the_last_member_may_commit_though_it_has_left():
    """A consumer without a group may; where others are left it is unknown."""

    def refused(members):
        stall = [timeline.stall(60_000, "a", for_ms=30_000)]
        history = play(stall, SERVER, members, commit="after", max_poll_interval_ms=20_000)
        return told(history, "commit refused")

    assert refused("a") == [] and refused("ab") == ["UNKNOWN_MEMBER_ID"]


@pytest.mark.parametrize("strategy", INDEPENDENT)
def test_a_rebalance_over_zookeeper_does_not_end_a_stall(strategy):
    """The application's thread stays in its record, and its partitions are not read meanwhile."""
    topics, actions = [Topic("t", 6, rate=20)], [timeline.stall(30_000, "a", for_ms=60_000),
                                                 timeline.join(40_000, Member("c"))]  # fmt: skip
    history = play(actions, strategy, topics=topics)
    assert {m: len(own) for m, own in owners_at_end(history).items()} == dict.fromkeys("abc", 2)
    assert measure.per_event(history)["lag_built"].max() > 1_700


def test_who_reads_other_topics_is_left_alone_over_zookeeper():
    """Watches are on the topics that a consumer reads; a pattern's reader is told of what it fits."""
    topics = [Topic("t", 4), Topic("y", 4)]
    members = [Member("a", topics=("t",)), Member("z", topics=("y",)), Member("p", pattern="p.*")]
    for change, told_of_it in (
        (timeline.add_partitions(60_000, "y", 6), {"z"}),
        (timeline.delete_topic(60_000, "y"), set()),
        (timeline.create_topic(60_000, Topic("w", 1)), set()),
        (timeline.create_topic(60_000, Topic("p1", 1)), {"p"}),
    ):
        history = play([change], "scala-range", members, topics)
        tried = {history.members[e.member] for e in history.events
                 if e.kind == "rejoin" and e.time_ms >= 60_000}  # fmt: skip
        assert tried == told_of_it


def test_everybody_resolves_everybodys_pattern_over_zookeeper():
    """One that is frozen while a topic comes that it fits gets its part of it when it is back."""
    members = [Member(name, pattern="t.*") for name in "ab"]
    actions = [
        timeline.freeze(30_000, "a", for_ms=5_000),
        timeline.create_topic(32_000, Topic("t2", 4)),
    ]
    history = play(actions, "scala-range", members, [Topic("t", 4)])
    assert {m: len(own) for m, own in owners_at_end(history).items()} == {"a": 4, "b": 4}
    assert not told(history, "fatal")


def test_metaq_tries_on_at_its_start():
    """Seven times seven tries, where 0.8 gives up after four; then its part is its own."""
    actions = [timeline.crash(30_000, "b"), timeline.join(30_100, Member("c"))]
    histories = [
        play(actions, strategy, zookeeper_session_timeout_ms=40_000) for strategy in INDEPENDENT
    ]
    assert [told(history, "fatal") for history in histories] == [
        ["ConsumerRebalanceFailedException"], []
    ]  # fmt: skip
    assert len(owners_at_end(histories[1])["c"]) == 3
    assert timeline.config.defaults("1.4", system="metaq").auto_offset_reset == "earliest"


def test_most_members_decide_on_the_coordinators_assignor():
    """A rolling restart from one to the other: no restart of all, and what is kept is kept."""
    changes = timeline.rolling_restart(60_000, "abc", 20_000, strategies=["server-uniform"])
    history = play(changes, "server-range", "abc", until=200_000)
    chosen = [detail.partition(",")[0] for detail in told(history, "generation", after=60_000)]
    assert chosen[0] == "server-range" and chosen[-1] == "server-uniform"
    assert chosen.index("server-uniform") == chosen.count("server-range")  # it changes once
    assert {m: len(own) for m, own in owners_at_end(history).items()} == dict.fromkeys("abc", 2)
    with pytest.raises(TimelineError, match="no group can run"):
        play([], "server-uniform", [Member("a"), Member("b", strategies=("server-uniform@3.9",))])


def test_another_preferred_assignor_bumps_the_epoch():
    """Static members restart with another assignor: since 4.4 the second one of three calls for another target
    assignment (KAFKA-20434). And of two members that ask for one each every heartbeat may."""
    restarts = timeline.rolling_restart(60_000, "abc", 20_000, strategies=["server-uniform"])
    who = [Member(name, instance=name) for name in "abc"]
    tie = [Member("a"), Member("b", strategies=["server-uniform"])]
    chosen, epochs = [], []
    for watched in (False, True):
        watch = {"group_consumer_assignor_watched": watched}
        history = play(restarts, "server-range", who, until=150_000, **watch)
        told_of = told(history, "generation", after=60_000)
        chosen.append([detail.partition(",")[0] for detail in told_of])
        history = play([], "server-range", tie, until=120_000, **watch)
        epochs.append(len(told(history, "group epoch", after=60_000)))
    assert chosen == [[], ["server-uniform"]]
    assert epochs[0] == 0 and epochs[1] >= 12


def test_who_joins_an_empty_kip848_group_does_not_wait():
    """Its first heartbeat names no topics, its second does; since 4.4 the last one that left has left a target of
    the group's epoch (KAFKA-20442), so that the first computes none and the second need not wait."""
    first = []
    for assigned in (False, True):
        history = play(
            [timeline.leave(60_000, "a"), timeline.back(70_000, "a")],
            "server-uniform",
            [Member("a", pattern="t", client_pattern=True)],
            group_consumer_empty_is_assigned=assigned,
        )
        got = [e.time_ms for e in history.events if e.kind == "assigned" and len(e.partitions)]
        first.append(got[-1] - 70_000)
    assert first[0] > 1_000 > first[1]


def test_auto_commit_of_who_polls_too_late_and_was_alone():
    """Up to 4.1 its poll sends an auto commit that is due before the listener hears that all is lost."""
    again = []
    for release in ("4.1", "4.4"):
        fields = {"max_poll_interval_ms": 6_000, "auto_offset_reset": "earliest"}
        scenario = Scenario(
            [Topic("t", 6, rate=10)], [Member("a")], [timeline.stall(59_000, "a", 15_000)], 120_000
        )
        config = timeline.defaults(release, **fields)
        history = timeline.run(scenario, config, "server-uniform", 1)
        again.append(timeline.totals(history)["repeated"])
    assert again[0] == 0 < again[1]


@pytest.mark.parametrize(("release", "calls"), [("4.1", ["revoked", "lost"]), ("4.4", ["lost"])])
def test_who_stalls_too_long_with_a_revocation_before_it(release, calls):
    """As recorded on 4.1.2 and 4.4.0: up to 4.2 the listener hears of the revocation, too, and then that all is lost."""
    scenario = Scenario(
        [Topic("t", 6)],
        [Member("a"), Member("b")],
        [timeline.stall(60_000, "b", 20_000), timeline.join(60_500, Member("c"))],
        120_000,
    )
    config = timeline.defaults(release, max_poll_interval_ms=12_000, commit="none")
    history = timeline.run(scenario, config, SERVER, 1)
    heard = [e for e in history.events if e.member == 1 and e.time_ms > 60_000]
    found = [e.kind for e in heard if e.kind in ("revoked", "lost") and e.time_ms < 85_000]
    assert found[: len(calls)] == calls


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_to_subscribe_to_nothing_is_to_unsubscribe(strategy):
    nothing, unsubscribe = (
        play([action], strategy)
        for action in (timeline.subscribe(60_000, "b", []), timeline.unsubscribe(60_000, "b"))
    )
    happened = [
        [
            (e.time_ms, e.kind, e.member, e.detail)
            for e in history.events
            if not e.kind.startswith("action")
        ]
        for history in (nothing, unsubscribe)
    ]
    assert happened[0] == happened[1] and set(owners_at_end(nothing)) == {"a"}


@pytest.mark.parametrize("in_client", [True, False])
def test_members_that_do_not_subscribe_alike_are_taken_for_different(in_client):
    """Only the first resolves the pattern itself: what a broker of 4.4.0 gave the second then is of
    the larger topic, whatever the ids. Where both are alike, the order of a set decides."""
    members = [
        Member("a", pattern="t|u", client_pattern=in_client),
        Member("b", pattern="t|u", start_ms=10_000),
    ]
    topics = [Topic("t", 9), Topic("u", 6)]
    given = [
        owners_at_end(play([], SERVER, members, topics, seed, until=30_000))["b"]
        for seed in range(4)
    ]
    of_t = [("t", partition) for partition in range(2, 9)]
    assert of_t in given
    assert (given == [of_t] * 4) == in_client


def test_a_topic_that_is_named_before_it_exists():
    members = [Member("a", topics=["t", "late"])]
    actions = [timeline.create_topic(50_000, Topic("late", 2))]
    for strategy in PROTOCOLS:
        history = play(actions, strategy, members)
        assert len(owners_at_end(history)["a"]) == 8


@pytest.mark.parametrize("strategy", PROTOCOLS + INDEPENDENT)
def test_added_partitions(strategy):
    history = play([timeline.add_partitions(50_000, "t", 9)], strategy, metadata_max_age_ms=20_000)
    assert sum(map(len, owners_at_end(history).values())) == 9
    if strategy in (EAGER, COOPERATIVE):
        assert told(history, "rejoin", after=50_000)[0] == "cached metadata has changed"
        leader = told(history, "generation")[-1].split()[-1]
        [first] = [e for e in history.events if e.detail == "cached metadata has changed"]
        assert history.members[first.member] == leader


@pytest.mark.parametrize("strategy", ["sticky", "range"])
def test_the_last_topic_is_deleted_that_a_pattern_matched(strategy):
    """Sticky members still remember partitions of it."""
    topics = [Topic("t", 3, rate=10), Topic("u", 9, rate=10)]
    members = [Member(name, pattern="t|u") for name in "abc"]
    history = play([timeline.delete_topic(50_000, "u")], strategy, members, topics, commit="none")
    owned = owners_at_end(history)
    assert sorted(one for own in owned.values() for one in own) == [("t", p) for p in range(3)]


ONE, BOTH = ["t"], ["t", "u"]


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
@pytest.mark.parametrize(
    "topics_of, action, needless",
    [
        ((ONE, BOTH), timeline.leave(50_000, "b"), True),
        ((ONE, BOTH), timeline.subscribe(50_000, "b", ONE), True),
        # What the leader itself names no more it forgets before it looks at the metadata again.
        ((BOTH, ONE), timeline.subscribe(50_000, "a", ONE), False),
        ((BOTH, ONE), timeline.leave(50_000, "a"), False),
    ],
)
def test_a_leader_rebalances_once_more_without_the_only_reader_of_a_topic(
    strategy, topics_of, action, needless
):
    members = [Member("a", topics=topics_of[0]), Member("b", topics=topics_of[1], start_ms=600)]
    topics = [Topic("t", 4, rate=10), Topic("u", 4, rate=10)]
    history = play([action], strategy, members, topics, metadata_max_age_ms=20_000)
    assert told(history, "rejoin").count("cached metadata has changed") == needless


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
@pytest.mark.parametrize(
    "topics, more, needless",
    [(ONE, [], 1), (BOTH, [], 0), (BOTH, [timeline.add_partitions(55_000, "t", 5)], 1)],
)
def test_who_led_and_comes_back_joins_once_more_if_its_metadata_has_changed(
    strategy, topics, more, needless
):
    """What it assigned last as leader is compared until its join is complete: with topics of others
    that it no longer watches, and with partitions that the new leader has assigned already."""
    members = [Member("a", topics=topics), Member("b", topics=BOTH, start_ms=600)]
    history = play(
        [timeline.stall(50_000, "a", 9_000), *more], strategy, members,
        [Topic("t", 4, rate=10), Topic("u", 4, rate=10)],
        metadata_max_age_ms=1_000, max_poll_interval_ms=6_000,
    )  # fmt: skip
    again = [
        history.members[event.member]
        for event in history.events
        if event.detail == "cached metadata has changed" and event.time_ms > 59_000
    ]
    assert again == ["a"] * needless


def test_a_partition_with_two_owners_has_an_owner():
    """Sticky 2.0 gives one to two members, as a member that does not poll keeps what it had."""
    members = [
        Member("a"),
        Member("b", start_ms=3_000, processing_ms=400),
        Member("c", start_ms=9_000),
    ]
    double = 0
    for seed in range(20):
        history = play(
            [], "sticky@2.0", members, seed=seed, until=90_000, max_poll_interval_ms=5_000
        )
        count = measure.unowned(history)["count"]
        rows = history.ownership()
        double += (rows.groupby(["topic", "partition"])["from_ms"].diff() < 0).sum()
        assert count.min() >= 0
        gaps = sum(to_ms - from_ms for _, from_ms, to_ms in measure.gaps(history))
        assert measure.unowned_ms(history, 0, 90_000) == gaps


def test_a_partition_that_is_listed_twice_is_taken_once(monkeypatch):
    """Sticky 2.0 answers so where two members claim it."""
    assign = Groups.assign

    def listed_twice(self, *asked):
        answers = assign(self, *asked)
        return {
            name: (np.concatenate((given, given[:1])), *rest)
            for name, (given, *rest) in answers.items()
        }

    monkeypatch.setattr(Groups, "assign", listed_twice)
    history = play([timeline.crash(50_000, "b")], "sticky@2.0", "ab")
    assert [len(held) for held in owners_at_end(history).values()] == [6]
    taken = [event.partitions.tolist() for event in history.events if event.kind == "assigned"]
    assert taken and all(len(set(some)) == len(some) for some in taken)


@pytest.mark.parametrize("commit", ["none", "auto", "after"])
def test_a_deleted_topic_takes_what_nobody_had_read(commit):
    actions = [timeline.crash(20_000, "a"), timeline.delete_topic(30_000, "gone")]
    topics = [Topic("t", 1), Topic("gone", 1, rate=10)]
    counted = measure.totals(play(actions, members="a", topics=topics, commit=commit))
    assert counted["waiting"] == 0 < counted["distinct"] == counted["produced"]


def test_a_member_that_an_action_started_does_not_start_once_more():
    members = [Member("a", start_ms=8_000)]
    history = play([timeline.back(1_000, "a"), timeline.crash(40_000, "a")], members=members)
    assert told(history, "started", after=0) == [""] and not owners_at_end(history)


def test_what_happens_at_the_very_end_counts():
    history = play([], members="a", until=3_005)
    assert measure.totals(history)["rounds"] == measure.per_event(history)["rounds"].sum() == 1


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_changed_subscription(strategy):
    topics = [Topic("t", 4, rate=10), Topic("u", 4, rate=10)]
    history = play([timeline.subscribe(50_000, "b", ["u"])], strategy, topics=topics)
    owned = owners_at_end(history)
    assert {topic for topic, _ in owned["b"]} == {"u"}
    assert sum(map(len, owned.values())) == 8
    assert rounds(history, after=50_000)


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_coordinator_that_moves_costs_no_rebalance(strategy):
    history = play([timeline.coordinator_moves(50_000)], strategy, commit="after")
    assert rounds(history, after=50_000) == []
    assert timeline.totals(history)["repeated"] == 0


@pytest.mark.parametrize("strategy", (EAGER, COOPERATIVE))
def test_a_leader_that_gives_itself_a_topic_that_is_gone_finds_out_at_once(strategy):
    """Nothing of it was b's, so b has not looked since; the broker does not know its offsets (ListOffsets)."""
    members = [Member("b"), Member("a", start_ms=500)]
    topics = [Topic("t", 2, rate=10), Topic("u", 1, rate=10)]
    actions = [timeline.delete_topic(20_000, "u"), timeline.leave(60_000, "a")]
    history = play(actions, strategy, members, topics, commit="after")
    assert told(history, "rejoin", 60_000)[:2] == [
        "group is rebalancing", "cached metadata has changed",
    ]  # fmt: skip
    assert rounds(history, 60_000)[1] < 62_000
    assert owners_at_end(history) == {"b": [("t", 0), ("t", 1)]}


def test_an_application_at_work_hears_in_poll_that_a_topic_is_gone_behind_a_join():
    """The leader gave up what it had of it before it took what its fetch had brought (as recorded)."""
    topics = [Topic("t", 7), Topic("u", 4)]
    actions = [
        timeline.stall(60_000, "a", for_ms=6_000),
        timeline.join(60_300, Member("d")),
        timeline.delete_topic(64_000, "u"),
    ]
    history = play(actions, "range", "abc", topics, commit="none")
    first, *_ = (e for e in history.events if e.kind == "assigned" and e.time_ms > 66_000)
    assert first.partitions.size == 3 and len(rounds(history, 60_000)) == 2
    alone = play(actions[::2], "range", "abc", topics, commit="none")
    [looked] = [e for e in alone.events if e.detail == "cached metadata has changed"]
    assert looked.time_ms == pytest.approx(66_000, abs=600)


def test_a_leader_assigns_with_the_answer_to_what_it_asked_before_it_led():
    """It asked for what it subscribed to, behind its fetch; the others join before that is back (as recorded)."""
    members = [Member("a", topics=["t"]), Member("b", topics=["t", "u"])]
    topics = [Topic("t", 4), Topic("u", 4), Topic("v", 2)]
    subscribes = timeline.subscribe(60_000, "a", ["t", "v"])
    given = set()
    for seed in range(6):
        history = play(
            [subscribes], "range", members, topics, seed, 80_000, heartbeat_interval_ms=300,
            commit="none",
        )  # fmt: skip
        given.add(tuple(
            tuple(e.partitions.tolist()) for e in history.events
            if (e.kind, e.member) == ("assigned", 1) and e.time_ms > 60_000
        ))  # fmt: skip
    both = (2, 3, 4, 5, 6, 7)
    assert given == {(both,), ((2, 3), both)}  # at times its heartbeat thread has asked before


def test_a_leader_waits_for_the_answer_to_what_it_subscribed_to():
    """Where it reads all that its group does, too: the answer comes when its fetch is back."""
    topics = [Topic("t", 4), Topic("u", 4)]
    members = [Member("a", topics=["t"]), Member("b", topics=["t"])]
    waited = []
    for at in range(60_000, 60_500, 100):
        subscribes = timeline.subscribe(at, "a", ["t", "u"])
        history = play(
            [subscribes], "range", members, topics, until=80_000, heartbeat_interval_ms=100,
            commit="none",
        )  # fmt: skip
        [began] = rounds(history, 60_000)
        given = next(e for e in history.events if e.kind == "assigned" and e.time_ms > 60_000)
        waited.append(given.time_ms - began)
    assert max(waited) > 300


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
def test_topics_that_fell_due_in_a_freeze_are_asked_for_before_the_next_fetch(strategy):
    """The leader assigns with them, and nobody waits for its fetch (as recorded, 17 of 17 times)."""
    actions = [
        timeline.freeze(60_000, "a", for_ms=4_000),
        timeline.add_partitions(60_300, "t", 10),
        timeline.leave(61_000, "c"),
    ]
    history = play(
        actions, strategy, "abc", [Topic("t", 7)], until=75_000, metadata_max_age_ms=2_000,
        commit="none",
    )  # fmt: skip
    settled = next(e for e in history.events if e.kind == "assigned" and e.time_ms > 64_000)
    assert settled.time_ms < 64_100


def test_a_coordinator_that_moves_within_a_rebalance():
    for after in range(0, 9_000, 700):
        moves = timeline.coordinator_moves(50_000 + after)
        history = play([timeline.join(50_000, Member("c")), moves])
        assert {name: len(owned) for name, owned in owners_at_end(history).items()} == {
            "a": 2, "b": 2, "c": 2,
        }  # fmt: skip


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_who_leaves_just_after_the_coordinator_moved_is_not_heard_and_its_session_has_to_end(
    strategy,
):
    leaves = [timeline.coordinator_moves(50_000), timeline.leave(50_010, "b")]
    history = play(leaves, strategy, until=150_000, commit="none", session_timeout_ms=20_000,
                   group_consumer_session_timeout_ms=20_000)  # fmt: skip
    assert told(history, "removed") == ["session expired"]
    [at] = [e.time_ms for e in history.events if e.kind == "removed"]
    assert 70_000 <= at <= 70_100  # sessions begin anew when the group is loaded
    assert owners_at_end(history).keys() == {"a"}


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_members_find_the_new_coordinator_with_their_next_heartbeat(strategy):
    moves = [timeline.coordinator_moves(50_000), timeline.leave(56_000, "b")]
    history = play(moves, strategy, until=90_000, commit="none")
    assert told(history, "removed") == ["left"]
    assert {e.time_ms // 1_000 for e in history.events if e.kind == "removed"} == {56}


def test_an_empty_group_is_empty_at_the_new_coordinator_too():
    leaves = [timeline.leave(50_000, "a"), timeline.leave(50_500, "b")]
    moved = [*leaves, timeline.coordinator_moves(60_000), timeline.back(70_000, "a")]
    history = play(moved, until=90_000)
    assert told(history, "state")[-4:] == [
        "Empty",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]
    [back] = [e.time_ms for e in history.events if e.kind == "assigned" and e.time_ms > 70_000]
    assert back >= 73_000  # the initial delay


def test_a_coordinator_that_moves_before_the_first_assignment_knows_nothing_of_the_group():
    moves = timeline.coordinator_moves(3_500)
    history = play([moves], members="a", assignment_ms=1_000)
    assert [e.generation for e in history.events if e.kind == "generation"] == [1, 1]
    alone = [timeline.crash(1_500, "b"), timeline.coordinator_moves(2_000)]
    [first] = rounds(play(alone))
    assert 5_000 <= first <= 5_200  # nobody new has come since the new group began to wait


# ---- who decides -------------------------------------------------------------------------------


def test_the_protocol_that_most_members_want_among_those_that_all_support():
    def chosen(*lists):
        members = [Member(f"m{i}", strategies=names) for i, names in enumerate(lists)]
        return told(play([], members=members, until=20_000), "generation")[-1].split(",")[0]

    assert chosen(["range", "sticky"], ["sticky", "range"], ["sticky", "range"]) == "sticky"
    assert chosen(["range", "sticky"], ["sticky"]) == "sticky"
    assert chosen(["range", "roundrobin"], ["roundrobin", "sticky", "range"], ["range"]) == "range"


def test_a_member_without_a_common_protocol_is_refused():
    late = Member("b", start_ms=9_000, strategies=["sticky"])
    members = [Member("a", strategies=["range"]), late]
    history = play([], members=members, until=30_000)
    assert told(history, "fatal") == ["INCONSISTENT_GROUP_PROTOCOL"]
    assert owners_at_end(history).keys() == {"a"}
    both = ["librdkafka-range", "librdkafka-cooperative-sticky"]
    with pytest.raises(TimelineError, match="librdkafka refuses eager and cooperative ones"):
        play([], members=[Member("a", strategies=both)], until=30_000)
    kafkajs = Member("a", strategies=["kafkajs-roundrobin"])  # it offers RoundRobinAssigner
    history = play([], members=[kafkajs, replace(late, strategies=["roundrobin"])], until=30_000)
    assert told(history, "fatal") == ["INCONSISTENT_GROUP_PROTOCOL"]


def test_clients_and_releases_that_offer_the_same_name_are_one_group():
    others = [Member("b", strategies=["librdkafka-range"]), Member("c", strategies=["range@2.4"])]
    history = play([], "range", [Member("a"), *others], until=20_000)
    assert not told(history, "fatal")
    assert [len(owned) for owned in owners_at_end(history).values()] == [2, 2, 2]


def test_the_leader_is_the_first_and_then_another_member():
    history = play([timeline.leave(50_000, "a")], members="abc")
    leaders = [text.split()[-1] for text in told(history, "generation")]
    assert leaders[0] == "a"
    assert leaders[-1] in ("b", "c")


def test_cooperative_members_give_up_the_difference_and_eager_ones_everything():
    revoked = {}
    for strategy in PROTOCOLS:
        history = play([timeline.join(50_000, Member("c"))], strategy)
        revoked[strategy] = sum(
            e.partitions.size for e in history.events if e.kind == "revoked" and e.time_ms > 50_000
        )
    assert revoked == {EAGER: 6, COOPERATIVE: 2, SERVER: 2}


def test_states_of_the_group():
    states = told(play([timeline.leave(50_000, "a")], members="a"), "state")
    assert states == [
        "PreparingRebalance", "CompletingRebalance", "Stable", "PreparingRebalance", "Empty",
    ]  # fmt: skip


def test_every_consumer_for_itself_claims_again_until_the_others_let_go():
    history = play([timeline.join(50_000, Member("c"))], "scala-range")
    assert told(history, "error", after=50_000) == ["partitions are still owned by others"]
    tries = told(history, "rejoin", after=50_000)
    assert tries[0] == "try 1" and "try 2" in tries
    revoked = [e for e in history.events if e.kind == "revoked" and e.time_ms >= 50_000]
    assert sum(e.partitions.size for e in revoked) >= 6


def test_one_try_is_not_enough_where_others_have_not_let_go():
    history = play([timeline.join(50_000, Member("c"))], "scala-range", rebalance_max_retries=1)
    assert told(history, "fatal") == ["ConsumerRebalanceFailedException"]


def test_metaq_leaves_topics_alone_that_did_not_change():
    members = [Member("a", topics=["t", "u"]), Member("b", topics=["t"])]
    topics = [Topic("t", 4, rate=10), Topic("u", 4, rate=10)]
    history = play([timeline.leave(50_000, "b")], "metaq-default", members, topics)
    kept = history.ownership().query("member == 'a' and topic == 'u'")
    assert (kept["to_ms"] == 150_000).all() and (kept["from_ms"] < 50_000).all()
    zookeeper = play([timeline.leave(50_000, "b")], "scala-range", members, topics)
    again = zookeeper.ownership().query("member == 'a' and topic == 'u' and from_ms > 50_000")
    assert len(again) == 4


def test_ties_between_strategies_go_to_the_first_that_the_coordinator_walks():
    """Java walks its HashMap, Scala its trie: each has an order of its own."""

    def chosen(names, config):
        members = [Member(f"m{i}", strategies=names[i:] + names[:i]) for i in range(2)]
        scenario = Scenario([Topic("t", 2)], members, duration_ms=20_000)
        return told(timeline.run(scenario, config), "generation")[-1].split(",")[0]

    for names in (["range", "roundrobin"], ["range", "sticky"]):
        hashes = Names(names).hashes
        java = names[hash_map_order(hashes).tolist()[0]]
        scala = names[scala_hash_map_order(hashes.tolist())[0]]
        assert chosen(names, timeline.defaults("4.0")) == java
        assert chosen(names, timeline.defaults("3.9")) == scala


def test_an_eager_member_that_lists_a_cooperative_strategy_has_nothing_to_claim():
    """The documented upgrade: everything is given up, so nothing has to be withheld."""
    both = ["cooperative-sticky", "range"]
    members = [Member(name, strategies=both) for name in "ab"]
    history = play([timeline.join(50_000, Member("c", strategies=both))], members=members)
    assert told(history, "generation")[-1].startswith("cooperative-sticky")
    assert len(rounds(history, after=50_000)) == 1
    assert {len(owned) for owned in owners_at_end(history).values()} == {2}
    since = history.ownership().query("from_ms > 50_000")["from_ms"]
    assert since.max() - rounds(history, after=50_000)[0] < 10


def test_the_coordinator_walks_members_as_its_table_has_them():
    walk = TimelineMap()
    for name in "abcdefgh":
        walk.add(name)
    walk.add("a")
    assert sorted(walk) == list("abcdefgh") and list(walk) != list("abcdefgh")
    # Members whose ids share a slot: the newest is first.
    one, other = TimelineMap(), TimelineMap()
    one.add("Aa"), one.add("BB")  # one hash code
    other.add("BB"), other.add("Aa")
    assert list(one) == ["BB", "Aa"] and list(other) == ["Aa", "BB"]


def test_reconciliation_waits_for_the_polls_of_the_application():
    """A poll that waits for records looks at what is to be done when it ends, or at each backoff."""

    def settled(release, timeout, rate=0):
        config = timeline.defaults(release, poll_timeout_ms=timeout, commit="auto")
        members = [Member("a"), Member("b")]
        topics = [Topic("t", 4, rate=rate)]
        scenario = Scenario(topics, members, [timeline.join(30_000, Member("c"))], 60_000)
        history = timeline.run(scenario, config, SERVER, seed=1)
        assert sum(map(len, owners_at_end(history).values())) == 4
        revoked = next(e for e in history.events if e.kind == "revoked" and e.time_ms > 30_000)
        [told_to] = [
            e.time_ms for e in history.events
            if e.detail == "UNREVOKED_PARTITIONS" and e.member == revoked.member
        ]  # fmt: skip
        return revoked.time_ms - told_to

    assert settled("4.1", 2_000) > 1_000 > settled("4.1", 100) > 10
    assert 10 < settled("4.4", 2_000) <= 300
    assert settled("4.2", 2_000) < 10
    assert settled("4.1", 2_000, rate=1_000) < 100  # records end a poll, too


def test_the_first_epoch_of_a_group_by_release():
    def first(release):
        history = timeline.run(
            Scenario([Topic("t", 2)], [Member("a")], duration_ms=5_000),
            timeline.defaults(release),
            SERVER,
        )
        return next(e.generation for e in history.events if e.kind == "generation")

    assert [first(release) for release in ("4.0", "4.2", "4.3", "4.4")] == [1, 1, 2, 2]


def test_a_rolling_upgrade_brings_the_new_strategy_when_all_have_it():
    names = "abc"
    both = timeline.rolling_restart(
        20_000, names, 15_000, strategies=["cooperative-sticky", "range"]
    )
    history = play(both, "range", names, until=90_000)
    chosen = [detail.split(",")[0] for detail in told(history, "generation")]
    assert chosen[0] == "range" and chosen[-1] == "cooperative-sticky"
    first = next(e.time_ms for e in history.events if e.detail.startswith("cooperative-sticky,"))
    assert first > 50_000  # not before the last of them is back
    for wrong in ({"name": "b"}, {"strategy": "range"}):
        with pytest.raises(UnknownName, match="setting of restart"):
            play([timeline.restart(20_000, "a", **wrong)])
    with pytest.raises(TimelineError, match="both topics and a pattern"):
        play([timeline.back(20_000, "a", topics=["t"], pattern="t")])


def test_consumers_of_metaq_have_no_patterns():
    members = [Member("a", pattern="t.*")]
    with pytest.raises(TimelineError, match="pattern of 'a': MetaQ's members do not have it"):
        timeline.run(Scenario([Topic("t", 1)], members), strategy="metaq-default")
    history = timeline.run(Scenario([Topic("t", 1)], members), strategy="scala-range")
    assert history.ownership()["member"].tolist() == ["a"]


@pytest.mark.parametrize(("release", "watches"), [("3.1", False), ("3.2", True), ("4.4", True)])
def test_a_static_leader_that_is_back_watches_the_topics_since_3_2(release, watches):
    """GroupCoordinator.updateStaticMemberAndRebalance names the leader's old id before (KAFKA-13435)."""
    members = [Member(name, instance=name) for name in "ab"]
    actions = [timeline.restart(30_000, "a"), timeline.add_partitions(60_000, "t", 6)]
    scenario = Scenario([Topic("t", 4)], members, actions, duration_ms=400_000)
    history = timeline.run(scenario, timeline.defaults(release), "range", seed=1)
    assert told(history, "generation")[0] == "range, leader a"
    assert bool(rounds(history, 30_000)) == watches
    assert sum(map(len, owners_at_end(history).values())) == (6 if watches else 4)


@pytest.mark.parametrize(
    ("strategy", "release", "rounds_follow"),
    [
        ("cooperative-sticky@3.3.2", "3.9", []),
        ("range@2.5.1", "3.9", []),
        ("range@3.4.0", "3.9", [63_009]),
        ("range@2.5.1", "4.0", [78_009]),  # Java's coordinator: its session ends
    ],
)
def test_a_static_member_that_reads_other_topics_now(strategy, release, rounds_follow):
    """Before 3.4 it says the same again and gets what it cannot read, over and over: a SyncGroup of a
    stable group was a sign of life before 4.0 (doSyncGroup)."""
    members = [Member(name, instance=name) for name in "abc"]
    actions = [timeline.restart(60_000, "b", 2_000, topics=["t"])]
    config = timeline.defaults(release, session_timeout_ms=15_000)
    scenario = Scenario([Topic("t", 4), Topic("u", 4)], members, actions, 90_000)
    history = timeline.run(scenario, config, strategy)
    assert rounds(history, 60_000) == rounds_follow


@pytest.mark.parametrize(("strategy", "watches"), [("range@3.1.2", False), ("range@3.2.0", True)])
def test_an_older_client_does_not_know_that_it_leads_again(strategy, watches):
    members = [Member(name, instance=name) for name in "ab"]
    actions = [timeline.restart(30_000, "a"), timeline.add_partitions(60_000, "t", 6)]
    scenario = Scenario([Topic("t", 4)], members, actions, duration_ms=400_000)
    assert bool(rounds(timeline.run(scenario, strategy=strategy, seed=1), 30_000)) == watches


def test_a_heartbeat_waits_behind_a_sync_group_that_waits_for_the_leader():
    """As recorded: who waited with the one that leaves hears of it at once, not a heartbeat later."""
    actions = [
        timeline.stall(50_000, "b", 4_000),
        timeline.join(50_500, Member("d")),
        timeline.stall(53_200, "a", 4_500),  # the leader, when it has joined
        timeline.leave(56_000, "c"),
    ]
    topics = [Topic("t", 7), Topic("u", 4)]
    history = play(actions, COOPERATIVE, "abc", topics, until=70_000, heartbeat_interval_ms=1_000)
    heard = [e.time_ms for e in history.events if (e.kind, e.member) == ("rejoin", 3)]
    assert heard == [57_702]
    assert rounds(history, 50_000) == [54_003, 57_705]


def test_a_poll_that_waits_for_a_join_waits_for_the_topics_of_a_pattern():
    """As recorded: behind the fetch that is out, the leader's at the JoinGroup's answer, b's at the
    SyncGroup's; without records a fetch is out all the time."""
    members = [Member(name, pattern="t.*") for name in "abc"]
    joins = timeline.join(50_500, Member("d", pattern="t.*"))
    actions = [timeline.stall(50_000, "b", 4_300), joins]
    topics = [Topic("t", 7)]
    history = play(actions, COOPERATIVE, members, topics, until=55_000, commit="none")
    events = [e for e in history.events if e.time_ms > 54_000]
    heard = {e.member: e.time_ms for e in events if e.kind == "assigned"}
    assert rounds(history, 54_000) == [54_301]
    assert heard == {0: 54_704, 2: 54_704, 3: 54_704, 1: 54_802}


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
def test_who_has_nothing_to_read_polls_until_it_stalls(strategy):
    late = [timeline.stall(50_250, "b", 30_000)]
    history = play(late, strategy, topics=[Topic("t", 6)], max_poll_interval_ms=10_000)
    at = [e.time_ms for e in history.events if e.kind == "poll interval exceeded"]
    assert at == [60_250]


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_static_member_that_leaves_for_good_is_gone_at_once(strategy):
    members = [Member(name, instance=name) for name in "ab"]
    history = play([timeline.leave(50_000, "b", for_good=True)], strategy, members, until=70_000)
    assert told(history, "removed") == ["left"]
    assert {name: len(owned) for name, owned in owners_at_end(history).items()} == {"a": 6}


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_unsubscribe_and_subscribe_again(strategy):
    actions = [timeline.unsubscribe(50_000, "b"), timeline.subscribe(70_000, "b", ["t"])]
    history = play(actions, strategy, until=90_000)
    assert told(history, "removed") == ["left"]
    assert "committed" not in [
        e.kind for e in history.events if e.time_ms == 50_000 and e.member == 1
    ]
    table = history.ownership()
    between = table[(table["from_ms"] < 65_000) & (table["to_ms"] > 65_000)]
    assert set(between["member"]) == {"a"} and len(between) == 6
    assert {name: len(owned) for name, owned in owners_at_end(history).items()} == {"a": 3, "b": 3}


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_unsubscribe_and_subscribe_again_before_the_next_poll(strategy):
    actions = [
        timeline.stall(49_000, "b", 2_000),
        timeline.unsubscribe(50_000, "b"),
        timeline.subscribe(50_100, "b", ["t"]),
    ]
    history = play(actions, strategy)
    assert told(history, "unsubscribed") == [""]
    assert {member: len(has) for member, has in owners_at_end(history).items()} == {"a": 3, "b": 3}


@pytest.mark.parametrize("client", ["", "librdkafka"])
def test_who_is_out_already_and_unsubscribes_stays_out_and_has_lost_what_it_held(client):
    members = [Member(name, client=client) for name in "ab"]
    actions = [timeline.stall(50_000, "b", 9_000), timeline.unsubscribe(58_000, "b")]
    config = {"max_poll_interval_ms": 6_000, "group_consumer_heartbeat_interval_ms": 1_000}
    history = play(actions, SERVER, members, until=80_000, **config)
    after = [(e.kind, e.time_ms) for e in history.events if e.member == 1 and e.time_ms >= 58_500]
    assert [kind for kind, _ in after if kind in ("lost", "revoked", "assigned")] == ["lost"]
    assert {name: len(owned) for name, owned in owners_at_end(history).items()} == {"a": 6}


def test_who_unsubscribes_waits_for_the_network_thread_at_times():
    took = set()
    for seed in range(8):
        history = play([timeline.unsubscribe(50_000, "b")], SERVER, seed=seed, until=60_000)
        [revoked] = [e.time_ms for e in history.events if e.kind == "unsubscribed"]
        took.add(revoked - 50_000)
    assert took == {0, 100}


@pytest.mark.parametrize(
    ("client", "again"), [("", ["revoked", "lost"]), ("librdkafka", ["revoked"])]
)
def test_who_unsubscribes_and_closes_is_told_once_more_that_what_it_had_is_lost(client, again):
    """As recorded: what Java's close looks at is not emptied by unsubscribe (groupAssignmentSnapshot)."""
    members = [Member(name, client=client) for name in "ab"]
    actions = [timeline.unsubscribe(50_000, "b"), timeline.leave(55_000, "b")]
    history = play(actions, SERVER, members, until=60_000)
    told_of = [e for e in history.events if e.member == 1 and e.kind in ("revoked", "lost")]
    assert [e.kind for e in told_of] == again
    assert {len(e.partitions) for e in told_of} == {3}
    twice = [*actions[:1], timeline.unsubscribe(52_000, "b"), *actions[1:]]
    assert told(play(twice, SERVER, members, until=60_000), "lost") == []


@pytest.mark.parametrize(
    ("release", "after_ms"),
    [("4.0.1", 1_200), ("4.0.2", 200), ("4.1.1", 1_200), ("4.1.2", 200), ("4.4.0", 200)],
)
def test_what_a_member_gave_up_for_nobody_is_back_at_once_or_a_heartbeat_later(release, after_ms):
    """KAFKA-19449: its coordinator takes what a member is just through with revoking for another's."""
    members = [Member("a"), Member("b", start_ms=600)]
    actions = [
        timeline.stall(20_000, "a", 4_000),
        timeline.join(20_500, Member("c")),
        timeline.leave(22_500, "c"),
    ]
    config = timeline.defaults(
        release, group_consumer_heartbeat_interval_ms=1_000, commit="none", poll_wakes="timeout"
    )
    scenario = Scenario([Topic("t", 6)], members, actions, duration_ms=30_000)
    history = timeline.run(scenario, config, SERVER)
    gave, got = (
        [
            e.time_ms
            for e in history.events
            if (e.kind, e.member) == (kind, 0) and e.partitions.size
        ][-1]
        for kind in ("revoked", "assigned")
    )
    assert got - gave == after_ms


def test_heartbeats_go_on_where_an_answer_takes_longer_than_their_interval():
    history = play([], SERVER, latency_ms=3_000)
    assert told(history, "removed") == []
    assert {member: len(has) for member, has in owners_at_end(history).items()} == {"a": 3, "b": 3}


def test_a_frozen_process_reads_nothing_when_its_commit_is_refused():
    """The refusal is on its way while the process stands still, and is heard after that."""
    scenario = Scenario(
        [Topic("t", 4, rate=20)], [Member("a"), Member("b"), Member("c", start_ms=30_000)],
        [timeline.freeze(32_603, "a", 8_000)], duration_ms=45_000, watch=[("t", 0)],
    )  # fmt: skip
    config = Config(auto_offset_reset="earliest", commit="before", latency_ms=300)
    history = timeline.run(scenario, config, "cooperative-sticky", seed=0)
    refused = [e.time_ms for e in history.events if e.kind == "commit refused" and e.member == 0]
    frozen = timeline.watched_frame(history)["time_ms"].between(32_603, 40_603)
    assert 32_603 < refused[0] < 40_603 < refused[1]
    assert timeline.watched_frame(history)[frozen]["position"].nunique() == 1


def test_a_second_freeze_does_not_end_the_first():
    freezes = [timeline.freeze(50_000, "b", 15_000), timeline.freeze(51_000, "b", 1_000)]
    members = [Member("a"), Member("b", start_ms=2_000)]
    history = play(
        [*freezes, timeline.leave(55_000, "b")], EAGER, members, [Topic("t", 1, rate=10)]
    )
    assert [e.time_ms for e in history.events if e.kind == "closed"] == [65_000]


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_who_is_frozen_in_poll_gets_what_its_fetch_has_brought(strategy):
    """The fetch was answered as soon as there was a record, which another member has read meanwhile."""
    history = play(
        [timeline.freeze(50_060, "b", 12_000)], strategy,
        [Member(name, processing_ms=8) for name in "ab"], [Topic("t", 2, rate=8)],
        commit="after", session_timeout_ms=6_000, heartbeat_interval_ms=2_000,
        group_consumer_session_timeout_ms=6_000, group_consumer_heartbeat_interval_ms=2_000,
    )  # fmt: skip
    again = timeline.deliveries_frame(history)
    again = again[again["again"] > 0]
    assert again[["member", "again"]].to_numpy().tolist() == [["b", 1]]
    assert 62_060 <= again["to_ms"].item() < 62_160


def test_who_was_frozen_for_longer_than_its_session_looks_for_the_coordinator_first():
    """Before its next fetch, or behind it, which a broker answers after half a second where nothing comes."""

    def learned_ms(seed):
        history = play(
            [timeline.freeze(50_000, "b", 12_000)], topics=[Topic("t", 6)], seed=seed,
            commit="none", session_timeout_ms=6_000, heartbeat_interval_ms=2_000,
        )  # fmt: skip
        return next(e.time_ms for e in history.events if e.kind == "error") - 62_000

    assert {learned_ms(seed) // 100 for seed in range(8)} == {1, 6}


@pytest.mark.parametrize("in_client", [False, True])
def test_names_of_topics_that_a_pattern_gets_for_the_first_time_are_asked_for(in_client):
    """The listener of who stands still meanwhile hears of the topics that the client knew."""
    members = [Member(name, pattern="t|u", client_pattern=in_client) for name in "ab"]
    history = play(
        [timeline.stall(60_000, "a", 60_000), timeline.leave(62_000, "b")], "server-range",
        members, [Topic("t", 1), Topic("u", 2)], max_poll_interval_ms=30_000, commit="after",
    )  # fmt: skip
    given = [
        (e.detail, history.cluster.labels(e.partitions))
        for e in history.events if e.kind == "assigned" and e.time_ms > 60_000 and e.partitions.size
    ]  # fmt: skip
    first = ["u-0"] if not in_client else ["t-0", "u-0"]
    assert given == [("too late", first), ("", ["t-0", "u-0", "u-1"])]


def test_a_pattern_of_the_coordinator_learns_of_no_topic_after_one_that_it_had_is_deleted():
    """Asked for by its id it has no name, which Java's client does not expect; it knows what it knew."""

    def has(in_client, deleted):
        members = [Member(name, pattern="t|u", client_pattern=in_client) for name in "ab"]
        deletes = timeline.delete_topic(20_000, deleted)
        topics = [Topic("t", 1), Topic("u", 2)]
        history = play([deletes, timeline.leave(60_000, "b")], "server-range", members, topics)
        return owners_at_end(history).get("a", [])

    assert has(True, "t") == has(False, "t") == [("u", 0), ("u", 1)]
    assert has(True, "u") == [("t", 0)]
    assert has(False, "u") == []


def test_who_unsubscribes_without_leaving():
    """A classic static member says nothing, and nobody has its partitions until its session is over."""
    members = [Member(name, instance=name) for name in "ab"]
    history = play([timeline.unsubscribe(50_000, "b")], "range", members, session_timeout_ms=10_000)
    [removed] = [e.time_ms for e in history.events if e.kind == "removed"]
    assert 57_000 <= removed <= 60_000
    with pytest.raises(TimelineError, match="unsubscribe"):
        play([timeline.unsubscribe(50_000, "b")], "scala-range")


def test_an_enforced_rebalance():
    asked = [timeline.enforce_rebalance(50_000, "a")]
    assert len(rounds(play(asked, EAGER), after=50_000)) == 1
    assert len(rounds(play(asked, COOPERATIVE), after=50_000)) == 1
    server = play(asked, SERVER)
    assert rounds(server, after=50_000) == []
    assert told(server, "error") == ["enforceRebalance is not supported"]


# ---- generations: every error and what a client does -------------------------------------------


def stale_commit(fencing, strategy="range"):
    """Seed 001: kicked out, it commits late."""
    scenario = Scenario(
        [Topic("t", 2, rate=10)], [Member("slow"), Member("quick")],
        [timeline.freeze(20_000, "slow", 60_000), timeline.crash(81_000, "quick")],
        duration_ms=180_000, watch=[("t", 0), ("t", 1)],
    )  # fmt: skip
    config = Config(auto_offset_reset="earliest", fencing=fencing)
    return timeline.run(scenario, config, strategy, seed=1)


def test_where_nothing_is_watched_no_offsets_are_told():
    scenario = Scenario([Topic("t", 1)], [Member("a")], duration_ms=5_000)
    frame = timeline.watched_frame(timeline.run(scenario, Config(), "range"))
    assert len(frame) == 0 and {"partition", "owner", "committed"} <= set(frame)


def committed_only_grows(history):
    """What fencing protects: no owner's commit is undone."""
    frame = timeline.watched_frame(history)
    return all((np.diff(rows["committed"]) >= 0).all() for _, rows in frame.groupby("partition"))


@pytest.mark.parametrize("strategy", ("range", "cooperative-sticky", "server-uniform"))
def test_a_stale_commit_is_refused_and_changes_nothing(strategy):
    history = stale_commit(True, strategy)
    at = [e for e in history.events if e.kind == "commit refused"]
    assert [e.detail for e in at] == ["UNKNOWN_MEMBER_ID"]
    assert "lost" in [e.kind for e in history.events if e.time_ms >= at[0].time_ms]
    assert sum(map(len, owners_at_end(history).values())) == 2
    assert committed_only_grows(history)


def test_without_fencing_the_stale_commit_sets_the_offset_back():
    assert committed_only_grows(stale_commit(True))
    assert not committed_only_grows(stale_commit(False))
    fenced, open_ = timeline.repeats(stale_commit(True)), timeline.repeats(stale_commit(False))
    assert "offset set back by slow" not in set(fenced["reason"])
    assert open_.iloc[0].tolist()[0] == "offset set back by slow"
    assert open_["records"].sum() > fenced["records"].sum() + 500


@pytest.mark.parametrize("strategy", ("range", "cooperative-sticky", "server-uniform"))
def test_what_fencing_protects_breaks_without_it(strategy):
    """The planted fault: the promise of exactly once needs the group's check of its offsets."""

    def repeated(fencing):
        scenario = Scenario(
            [Topic("t", 2, rate=2)], [Member("slow", processing_ms=450), Member("quick")],
            [timeline.freeze(20_200, "slow", 60_000)], duration_ms=150_000,
        )  # fmt: skip
        config = Config(auto_offset_reset="earliest", fencing=fencing, commit="transaction")
        return timeline.totals(timeline.run(scenario, config, strategy, seed=1))["repeated"]

    assert repeated(True) == 0
    assert repeated(False) > 0


def test_a_second_process_fences_the_first_with_its_instance_id():
    members = [Member("a", instance="same"), Member("b")]
    twin = Member("twin", instance="same")
    history = play([timeline.join(50_000, twin)], "range", members)
    assert told(history, "fatal") == ["FENCED_INSTANCE_ID"]
    assert [history.members[e.member] for e in history.events if e.kind == "fatal"] == ["a"]
    server = play([timeline.join(50_000, twin)], SERVER, members)
    assert told(server, "fatal") == ["UNRELEASED_INSTANCE_ID"]
    assert [server.members[e.member] for e in server.events if e.kind == "fatal"] == ["twin"]


def test_a_listener_hears_of_what_a_stalled_member_was_about_to_get():
    actions = [timeline.stall(50_000, "b", 40_000), timeline.crash(52_000, "a")]
    short = {"max_poll_interval_ms": 30_000, "group_consumer_session_timeout_ms": 8_000}
    history = play(actions, SERVER, "abc", commit="after", **short)
    heard = [
        (event.kind, len(event.partitions))
        for event in history.events
        if history.members[event.member] == "b" and event.kind in ("assigned", "lost")
        if event.time_ms > 50_000
    ]
    assert heard[:2] == [("assigned", 1), ("lost", 2)]


def test_subscribing_to_the_same_topics_changes_nothing():
    grown = timeline.add_partitions(55_000, "t", 9)
    again = [timeline.subscribe(58_000, name, ["t"]) for name in "ab"]
    plain, same = (
        rounds(play([grown, *more], metadata_max_age_ms=20_000), after=50_000)
        for more in ([], again)
    )
    assert plain == same != []


def test_commits_of_a_cooperative_member_fail_while_the_group_waits():
    waits = [timeline.stall(50_000, "b", 40_000), timeline.join(50_000, Member("c"))]
    history = play(waits, COOPERATIVE, commit="after")
    assert "REBALANCE_IN_PROGRESS" in told(history, "commit refused")
    assert not told(history, "lost")
    # An auto commit is not even sent while a join is under way.
    assert not told(play(waits, COOPERATIVE), "commit refused")


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE])
def test_auto_commits_of_a_deleted_topic_hold_the_group_up(strategy):
    """Members commit again and again before they join: the leader until the poll interval is over, the
    others until they are expelled, as recorded with 12 s."""
    topics = [Topic("t", 6, rate=10), Topic("u", 3, rate=10)]
    gone, fields = [timeline.delete_topic(50_000, "u")], {"max_poll_interval_ms": 12_000}
    history = play(gone, strategy, "abc", topics, **fields)
    first, *_ = rounds(history, after=50_000)
    assert 62_000 + 12_000 < first < 62_000 + 12_000 + 4_500
    assert {m: len(own) for m, own in owners_at_end(history).items()} == dict.fromkeys("abc", 2)
    assert bool(told(history, "lost", after=50_000)) == (strategy == COOPERATIVE)
    prompt = play(gone, strategy, "abc", topics, **fields, commit="none")
    assert rounds(prompt, after=50_000)[0] < 54_000


def test_a_moved_coordinator_knows_the_groups_protocol_alone():
    """As recorded: of lists it has only what was chosen, so who offers another may not join."""
    both = [Member(name, strategies=("range", "roundrobin")) for name in "ab"]
    joins = timeline.join(60_000, Member("d", strategies=("roundrobin",)))
    plain, moved = (
        play([*moves, joins], EAGER, both) for moves in ([], [timeline.coordinator_moves(50_000)])
    )
    assert told(plain, "generation")[-1].startswith("roundrobin") and not told(plain, "fatal")
    assert told(moved, "fatal") == ["INCONSISTENT_GROUP_PROTOCOL"]
    assert not rounds(moved, after=50_000)


@pytest.mark.parametrize(
    "what", [timeline.leave, lambda at, name: timeline.subscribe(at, name, ["t"])]
)
def test_what_an_application_calls_comes_before_the_join_that_waits_for_its_poll(what):
    """As recorded: one generation, without who closes or with what is subscribed to now."""
    actions = [
        timeline.stall(59_000, "b", for_ms=6_000), timeline.join(60_000, Member("d")),
        what(62_000, "b"),
    ]  # fmt: skip
    topics = [Topic("t", 3), Topic("u", 3)]
    history = play(actions, "range", "ab", topics, commit="none")
    assert len(rounds(history, after=60_000)) == 1


@pytest.mark.parametrize("leaves", [timeline.leave, timeline.unsubscribe])
def test_who_leaves_in_a_rebalance_has_lost_its_partitions(leaves):
    actions = [
        timeline.stall(59_000, "b", for_ms=20_000), timeline.join(60_000, Member("d")),
        leaves(65_000, "a"),
    ]  # fmt: skip
    history = play(actions, COOPERATIVE)
    calls = [e.kind for e in history.events
             if e.time_ms >= 60_000 and history.members[e.member] == "a"
             and e.kind in ("lost", "revoked")]  # fmt: skip
    assert calls == ["lost"]


def test_who_is_fenced_works_on_until_its_next_poll():
    """The heartbeat thread hears of it, and the poll throws it."""
    members = [Member("a", instance="i", processing_ms=40.0), Member("b")]
    twin = [timeline.join(60_000, Member("twin", instance="i"))]
    history = play(twin, "range", members, [Topic("t", 6, rate=100)], commit="none")
    [heard] = [e.time_ms for e in history.events if e.detail == "FENCED_INSTANCE_ID"
               and e.kind == "error"]  # fmt: skip
    [dies] = [e.time_ms for e in history.events if e.kind == "fatal"]
    assert 63_500 > heard > 60_000 and dies - heard > 1_000


def test_an_eager_listener_is_called_with_nothing_too():
    history = play([timeline.join(60_000, Member("d"))], "range", "ab", [Topic("t", 1)])
    calls = [(history.members[e.member], e.partitions.size) for e in history.events
             if e.kind == "revoked" and e.time_ms >= 60_000]  # fmt: skip
    assert sorted(calls) == [("a", 1), ("b", 0)]


@pytest.mark.parametrize(
    "again", [timeline.join(55_000, Member("c")), timeline.coordinator_moves(55_000)]
)
def test_an_eager_listener_hears_once_of_a_join_that_is_asked_for_again(again):
    """AbstractCoordinator.joinGroupIfNeeded prepares a join once, unless the generation was reset."""
    history = play([timeline.enforce_rebalance(50_000, "a"), again], "range", assignment_ms=5_000)
    calls = [(history.members[e.member], e.partitions.size) for e in history.events
             if e.kind == "revoked" and e.time_ms >= 50_000]  # fmt: skip
    assert sorted(calls) == [("a", 3), ("b", 3)]


def test_who_stalls_before_its_join_is_answered_reads_the_answer_late():
    """No heartbeat thread runs yet, so its session ends just behind it. Seen on a broker of 4.4.0."""
    actions = [timeline.join(50_200, Member("c")), timeline.stall(50_300, "c", 6_000)]
    history = play(actions, "range", session_timeout_ms=6_000, heartbeat_interval_ms=1_000)
    assert told(history, "removed") == ["session expired"]
    [assigned, again] = [
        e.time_ms
        for e in history.events
        if e.kind == "assigned" and history.members[e.member] == "c"
    ]
    [lost] = [e.time_ms for e in history.events if e.kind == "lost"]
    assert 56_300 <= assigned < 56_400 < lost < 57_400 < again
    assert len(rounds(history, 50_000)) == 3


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_member_without_partitions_has_to_poll_too(strategy):
    history = play(
        [timeline.stall(50_000, "b", 30_000)],
        strategy,
        topics=[Topic("t", 1, rate=10)],
        max_poll_interval_ms=10_000,
    )
    assert {member for member, has in owners_at_end(history).items() if has} == {"a"}
    [over] = [e for e in history.events if e.kind == "poll interval exceeded"]
    assert (history.members[over.member], over.partitions.size) == ("b", 0)
    assert told(history, "removed") == ["left"]


@pytest.fixture
def group():
    """A classic group of two in its first generation, and its coordinator."""
    scenario = Scenario([Topic("t", 4, rate=10)], [Member("a"), Member("b", instance="b")])
    simulation = Simulation(scenario, Config(), timeline.strategies_named("range"), 0)
    for member in scenario.members:
        simulation.start(member)
    simulation.clock.run(10_000)
    return simulation


def test_what_the_coordinator_answers(group):
    coordinator = group.coordinator
    a, b = group.world.running["a"], group.world.running["b"]
    assert coordinator.heartbeat(a, a.member_id, a.generation) is None
    assert coordinator.heartbeat(a, "nobody", a.generation) == "UNKNOWN_MEMBER_ID"
    assert coordinator.heartbeat(a, a.member_id, a.generation - 1) == "ILLEGAL_GENERATION"
    assert coordinator.heartbeat(b, "another", b.generation) == "FENCED_INSTANCE_ID"
    assert coordinator.validate_commit(a, a.member_id, a.generation) is None
    assert coordinator.validate_commit(a, a.member_id, a.generation + 1) == "ILLEGAL_GENERATION"
    assert coordinator.validate_commit(b, "another", b.generation) == "FENCED_INSTANCE_ID"
    coordinator.state = "CompletingRebalance"
    assert coordinator.validate_commit(a, a.member_id, a.generation) == "REBALANCE_IN_PROGRESS"
    coordinator.state = "PreparingRebalance"
    assert coordinator.validate_commit(a, a.member_id, a.generation) is None
    assert coordinator.heartbeat(a, a.member_id, a.generation) == "REBALANCE_IN_PROGRESS"


@pytest.mark.parametrize("strategy", (EAGER, COOPERATIVE))
@pytest.mark.parametrize(("closes", "why"), [(70_000, "left"), (65_000, "session expired")])
def test_a_member_that_closes_while_it_waits_for_a_join_leaves_after_it(strategy, closes, why):
    """Its broker reads the LeaveGroup when the JoinGroup is answered, which is when the stall is over;
    a consumer that has closed its connection by then, after 30 s, is missed like one that crashed."""
    actions = [
        timeline.stall(59_000, "b", for_ms=40_000),
        timeline.join(60_000, Member("d")),
        timeline.leave(closes, "a"),
    ]
    history = play(actions, strategy, session_timeout_ms=10_000)
    (gone,) = [e for e in history.events if e.kind == "removed"]
    closed = next(e.time_ms for e in history.events if e.kind == "closed")
    first, second, *_ = rounds(history, 60_000)
    assert (gone.detail, closed, history.members[gone.member]) == (why, closes, "a")
    assert 99_000 <= first <= gone.time_ms <= second
    assert (second < first + 1_000) == (why == "left")
    assert set(owners_at_end(history)) == {"b", "d"}


@pytest.mark.parametrize("strategy", (EAGER, COOPERATIVE))
def test_a_member_that_leaves_while_it_waits_for_its_assignment_leaves_after_it(strategy):
    """Its broker reads the LeaveGroup when the SyncGroup is answered, which the leader's lets it."""
    for leaves in (timeline.leave(55_000, "b"), timeline.unsubscribe(55_000, "b")):
        actions = [timeline.enforce_rebalance(50_000, "a"), leaves]
        history = play(actions, strategy, assignment_ms=5_000, until=120_000)
        second, third, *_ = rounds(history, 50_000)
        [gone] = [e for e in history.events if e.kind == "removed"]
        assert second < 55_000 < second + 5_000 <= gone.time_ms <= third
        assert gone.detail == "left"
        assert owners_at_end(history).keys() == {"a"}


def test_a_member_that_unsubscribes_while_it_waits_for_a_join_comes_back_after_it():
    actions = [
        timeline.stall(59_000, "b", for_ms=40_000),
        timeline.join(60_000, Member("d")),
        timeline.unsubscribe(65_000, "a"),
        timeline.subscribe(66_000, "a", ["t"]),
    ]
    history = play(actions)
    assert told(history, "removed") == ["left"]
    assert all(at >= 99_000 for at in rounds(history, 60_000))
    assert set(owners_at_end(history)) == {"a", "b", "d"}


@pytest.mark.parametrize(("strategy", "generations"), [("range", 2), ("sticky", 6)])
def test_a_static_member_that_unsubscribes_while_it_waits_for_a_join_joins_with_its_next_poll(
    strategy, generations
):
    """As recorded: the generation that it waited for is assigned by then and has it as it was. sticky goes on
    to give it what it does not read any more, generation by generation."""
    members = [Member(name, instance=name) for name in "abc"]
    actions = [
        timeline.stall(50_000, "c", for_ms=6_000),
        timeline.enforce_rebalance(50_300, "b"),
        timeline.unsubscribe(52_500, "b"),
        timeline.subscribe(54_000, "b", ["u"]),
    ]
    topics, often = [Topic("t", 5), Topic("u", 4)], {"heartbeat_interval_ms": 1_000}
    history = play(actions, strategy, members, topics, until=61_500, **often)
    first, *_ = after = rounds(history, 50_000)
    assert len(after) == generations
    given = [e for e in history.events if e.kind == "assigned" and 0 < e.time_ms - first < 500]
    assert {e.member for e in given} == {0, 2}


def test_a_static_leader_that_a_rebalance_waited_for_knows_the_others_topics_or_assigns_without_them():
    """Both were recorded: its own join and its first look at the topics are answered at the same time."""
    members = [*(Member(name, instance=name) for name in "ab"), Member("c")]
    actions = [
        timeline.leave(60_000, "a"),
        timeline.leave(61_000, "c"),
        timeline.back(70_000, "a", topics=["u"]),
    ]
    given = set()
    for seed in range(8):
        topics = [Topic("t", 5), Topic("u", 4)]
        history = play(actions, "range", members, topics, seed, until=100_000)
        last = [e for e in history.events if e.kind == "assigned" and e.time_ms > 70_000]
        given.add(tuple(len(e.partitions) for e in last if e.member == 1))
    assert given == {(7,), (2, 7)}


def test_who_leaves_in_a_join_is_heard_before_the_leader_has_assigned_or_after_that():
    """Both were recorded: its broker reads on when the join is answered, as the leader's does."""
    actions = [
        timeline.stall(59_000, "b", for_ms=20_000),
        timeline.join(60_000, Member("d")),
        timeline.leave(65_000, "d"),
    ]
    took = set()
    for seed in range(8):
        history = play(actions, EAGER, seed=seed, until=100_000)
        first, then = rounds(history, 60_000)[:2]
        given = [e for e in history.events if e.kind == "assigned" and first < e.time_ms < then]
        took.add(len(given))
    assert took == {0, 2}


@pytest.mark.parametrize("error", ("ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"))
def test_what_a_client_does_with_a_lost_generation(group, error):
    a = group.world.running["a"]
    member_id = a.member_id
    a.heartbeat_failed(error, a.generation)
    kept = a.member_id == member_id
    assert kept == (error == "ILLEGAL_GENERATION")
    assert a.held.size == 0 and a.generation == -1
    assert told(group.history, "lost") == [error]


def test_a_heartbeat_may_fail_while_the_client_asks_to_join(group):
    """The join is under way when the heartbeat's answer takes the member id away: ask again."""
    a = group.world.running["a"]
    a.request_rejoin("to see what comes of it")
    group.clock.run(10_100)
    assert a.phase == "joining"
    group.coordinator.leave_group(a, a.member_id)
    a.heartbeat_failed("UNKNOWN_MEMBER_ID", a.generation)
    group.clock.run(30_000)
    assert told(group.history, "error")[0] == "UNKNOWN_MEMBER_ID"
    assert a.held.size == group.world.running["b"].held.size == 2 and a.phase == "stable"


def test_epochs_of_the_consumer_protocol():
    scenario = Scenario([Topic("t", 4, rate=10)], [Member("a"), Member("b", start_ms=7_000)])
    simulation = Simulation(scenario, Config(), timeline.strategies_named(SERVER), 0)
    for member in scenario.members:
        simulation.clock.at(member.start_ms, simulation.start, member)
    simulation.clock.run(30_000)
    coordinator, a = simulation.coordinator, simulation.world.running["a"]
    held = a.held
    more = SimpleNamespace(own=SimpleNamespace(partition=np.arange(4)), coordinator_known=0)
    assert a.generation == 3 and coordinator.group_epoch == 3
    assert coordinator._validate(a, a.member_id, 4, held) == "FENCED_MEMBER_EPOCH"
    assert coordinator._validate(a, a.member_id, 2, np.arange(4)) == "FENCED_MEMBER_EPOCH"
    assert coordinator._validate(a, a.member_id, 2, held) is None
    assert coordinator._validate(a, "nobody", 3, held) == "UNKNOWN_MEMBER_ID"
    assert coordinator.validate_commit(a, a.member_id, 4) == "STALE_MEMBER_EPOCH"
    assert coordinator.validate_commit(a, a.member_id, 2) is None
    assert coordinator.validate_commit(more, a.member_id, 2) == "STALE_MEMBER_EPOCH"
    coordinator.config = timeline.defaults("4.2")
    assert coordinator.validate_commit(a, a.member_id, 2) == "STALE_MEMBER_EPOCH"
    a.answered("FENCED_MEMBER_EPOCH", 0, None)
    simulation.clock.run(30_200)  # its poll looks up every 100 ms
    assert told(simulation.history, "lost") == ["FENCED_MEMBER_EPOCH"]


def test_a_member_waits_for_partitions_that_are_not_released():
    history = play([timeline.join(50_000, Member("c"))], SERVER)
    states = [(history.members[e.member], e.detail) for e in history.events
              if e.kind == "state" and e.time_ms >= 50_000]  # fmt: skip
    assert ("c", "UNRELEASED_PARTITIONS") in states and ("c", "STABLE") in states
    assert ("a", "UNREVOKED_PARTITIONS") in states


# ---- offsets and delivery ----------------------------------------------------------------------


def test_a_crash_repeats_loses_or_neither():
    def after_a_crash(**fields):
        # A stall builds up a batch of half a second, and the crash comes in its middle.
        actions = [
            timeline.stall(49_000, "a", 1_000),
            timeline.crash(50_300, "a"),
            timeline.back(52_000, "a"),
        ]
        member = Member("a", processing_ms=10)
        return timeline.totals(play(actions, "range", [member], [Topic("t", 1, rate=50)], **fields))

    for commit in ("auto", "after", "none"):
        totals = after_a_crash(commit=commit)
        assert totals["repeated"] > 0 and totals["lost"] == 0, commit
    totals = after_a_crash(commit="before")
    assert totals["repeated"] == 0 and totals["lost"] > 0
    totals = after_a_crash(commit="transaction")
    assert totals["repeated"] == 0 and totals["lost"] == 0 and totals["aborted"] > 0
    totals = after_a_crash(commit="transaction", isolation_level="read_uncommitted")
    assert totals["repeated"] == totals["aborted"] > 0


def test_after_a_stall_comes_first_what_was_fetched_before():
    def lost(crash_ms):
        actions = [timeline.stall(49_000, "a", 5_000), timeline.crash(crash_ms, "a")]
        member = Member("a", processing_ms=10)
        topics = [Topic("t", 1, rate=50)]
        history = play(
            [*actions, timeline.back(60_000, "a")], "range", [member], topics, commit="before"
        )
        return timeline.totals(history)["lost"]

    assert lost(54_005) <= 2
    assert lost(54_100) > 200


def test_a_commit_before_the_rebalance_spares_repetitions():
    actions = [timeline.join(50_000, Member("c"))]
    without = timeline.totals(play(actions, "range", commit="none"))
    listener = timeline.totals(play(actions, "range", commit="none", commit_on_revoke=True))
    auto = timeline.totals(play(actions, "range", auto_commit_interval_ms=1_000_000))
    assert without["repeated"] > 2_000
    assert listener["repeated"] == auto["repeated"] == 0


def test_added_partitions_are_skipped_up_to_their_discovery_with_latest():
    scenario = Scenario(
        [Topic("t", 1, rate=100)], [Member("a")], [timeline.add_partitions(50_000, "t", 2)], 150_000
    )
    config = Config(metadata_max_age_ms=30_000, auto_offset_reset="latest")
    history = timeline.run(scenario, config, "range")
    lost = timeline.losses(history)
    assert lost["reason"].tolist() == ["auto.offset.reset=latest"]
    found = rounds(history, after=50_000)[0]
    by_partition = measure.lost_records(history).groupby("partition")["records"].sum()
    assert by_partition[1] == pytest.approx((found - 50_000) / 10, abs=2)


def removed_at(strategy, **fields):
    history = play([timeline.crash(50_000, "b")], strategy, **fields)
    [at] = [e.time_ms for e in history.events if e.kind == "removed"]
    return at


BEHIND = [Member("a", processing_ms=1), Member("b", processing_ms=40, start_ms=1)]
"""b cannot keep up with 30 records a second: whenever it polls, some are at hand."""


def fall_behind(actions, strategy=SERVER, release="4.4", **fields):
    """b works off batches of 25 in a second each."""
    config = timeline.defaults(
        release,
        auto_offset_reset="earliest",
        max_poll_records=25,
        auto_commit_interval_ms=500,
        **fields,
    )
    scenario = Scenario([Topic("t", 6, rate=10)], BEHIND, actions, duration_ms=90_000)
    return timeline.run(scenario, config, strategy, 1)


@pytest.mark.parametrize(
    ("strategy", "release", "percent", "loses"),
    [
        (SERVER, "4.4", 100, True),
        (SERVER, "4.4", 0, False),
        (SERVER, "4.1", 100, False),
        ("range", "4.4", 100, False),
    ],
)
def test_an_auto_commit_that_runs_ahead_of_the_work_loses_what_a_crash_leaves(
    strategy, release, percent, loses
):
    lost, repeated = set(), set()
    for at in range(40_000, 42_000, 250):  # two batches, one of which was asked for with a commit
        history = fall_behind(
            [timeline.crash(at, "b")], strategy, release, auto_commit_ahead_percent=percent
        )
        numbers = timeline.totals(history)
        lost.add(numbers["lost"])
        repeated.add(numbers["repeated"])
    assert min(lost) == 0 < max(repeated)
    assert 15 < max(lost) <= 25 if loses else max(lost) == 0


@pytest.mark.parametrize("release", ["4.1", "4.4"])
@pytest.mark.parametrize(("crash_ms", "is_committed"), [(4_500, False), (5_500, True)])
def test_the_interval_of_auto_commits_is_counted_from_the_start(release, crash_ms, is_committed):
    """What a crash before the first commit leaves unread is skipped: latest. Seen on 4.4.0's client."""
    actions = [timeline.crash(crash_ms, "a"), timeline.back(6_000, "a")]
    scenario = Scenario([Topic("t", 2, rate=50)], [Member("a")], actions, duration_ms=90_000)
    numbers = timeline.totals(timeline.run(scenario, timeline.defaults(release), SERVER, 1))
    assert (numbers["lost"] < 100) == (numbers["repeated"] > 0) == is_committed


def test_how_many_commits_run_ahead_is_drawn():
    crashes = [timeline.crash(at, "b") for at in range(10_000, 80_000, 7_000)]
    returns = [timeline.back(crash.at_ms + 500, "b") for crash in crashes]
    lost = [
        timeline.totals(
            fall_behind(
                [*crashes, *returns], auto_commit_ahead_percent=percent,
                group_consumer_session_timeout_ms=1_000, group_consumer_heartbeat_interval_ms=300,
            )
        )["lost"]
        for percent in (0, 50, 100)
    ]  # fmt: skip
    assert lost[0] == 0 < lost[1] < lost[2]


@pytest.mark.parametrize(("release", "leaves"), [("4.1", False), ("4.4", True)])
def test_where_records_are_at_hand_every_other_poll_counts(release, leaves):
    history = fall_behind([], release=release, max_poll_interval_ms=1_500)
    assert (len(told(history, "poll interval exceeded")) > 0) == leaves
    history = fall_behind([], release=release, max_poll_interval_ms=2_100)
    assert not told(history, "poll interval exceeded")


@pytest.mark.parametrize(("partitions", "leaves"), [(1, False), (2, True)])
def test_where_records_of_one_partition_are_at_hand_every_poll_counts(partitions, leaves):
    """As seen on 4.4.0's client, with batches of a second."""
    topic, member = Topic("t", partitions, rate=500), Member("a", processing_ms=20, start_ms=20_000)
    config = timeline.defaults(
        "4.4", auto_offset_reset="earliest", max_poll_records=50, max_poll_interval_ms=1_500
    )
    history = timeline.run(Scenario([topic], [member], duration_ms=60_000), config, SERVER, 1)
    assert (len(told(history, "poll interval exceeded")) > 0) == leaves


def test_a_busy_member_works_off_a_batch_between_the_steps_of_a_rebalance():
    history = fall_behind([timeline.join(40_000, Member("c"))])
    calls = [
        (event.kind, event.time_ms) for event in history.events
        if event.member == 1 and event.kind in ("revoked", "assigned") and event.time_ms > 40_000
    ]  # fmt: skip
    (_, gives_up), (_, takes) = calls
    assert [kind for kind, _ in calls] == ["revoked", "assigned"]
    assert takes - gives_up == 1_000
    assert timeline.totals(history)["repeated"] == 0  # what it is to give up it has not read on


@pytest.mark.parametrize("fields", [{}, {"commit_interval_ms": 1_500}, {"commit_on_revoke": True}])
def test_a_busy_member_gives_up_one_poll_later_since_a_poll_has_to_ask(fields):
    """As seen on real clients of 4.1.2 and 4.4.0, for commits after each batch."""

    def revoked(release):
        members = [Member("b", processing_ms=20, start_ms=20_000), Member("c", start_ms=31_000)]
        scenario = Scenario([Topic("t", 4, rate=500)], members, duration_ms=60_000)
        config = timeline.defaults(
            release, commit="after", auto_offset_reset="earliest", max_poll_records=50, **fields
        )
        history = timeline.run(scenario, config, SERVER, 1)
        assert timeline.totals(history)["repeated"] <= 50
        [at] = [event.time_ms for event in history.events if event.kind == "revoked"]
        return at

    assert 1 <= round((revoked("4.4") - revoked("4.1")) / 1_000) <= 2


def test_commits_keep_a_classic_session_alive():
    """auto.commit's last commit may come after the last heartbeat; KIP-848 counts heartbeats alone."""
    assert removed_at("range", commit="none") < removed_at("range", auto_commit_interval_ms=10)
    assert removed_at("range", auto_commit_interval_ms=10) > 50_000 + 45_000 - 600
    # Commits before a revocation decide when it is acknowledged, and heartbeats count from there.
    for fields in ({"commit": "none"}, {"auto_commit_interval_ms": 10}):
        assert 90_000 <= removed_at(SERVER, **fields) <= 95_000


@pytest.mark.parametrize("poll_ms, late", [(3_000, {0, 1_000}), (50, {0})])
def test_a_long_poll_sees_what_a_heartbeat_brings_at_once_or_with_the_next(poll_ms, late):
    """As recorded on 4.0.1 and 4.1.2, each every other time or so."""
    config = timeline.defaults(
        "4.1", poll_timeout_ms=poll_ms, group_consumer_heartbeat_interval_ms=1_000
    )
    scenario = Scenario([Topic("t", 4)], [Member("a")], [], 5_000)
    given = set()
    for seed in range(20):
        events = timeline.run(scenario, config, SERVER, seed).events
        [at] = [e.time_ms for e in events if e.kind == "assigned"]
        given.add(at // 100 * 100)
    assert given == late


def test_what_a_coordinator_gathers_refuses_what_is_committed_meanwhile():
    """As recorded on 4.1.2 with 60 ms, where nearly every new epoch costs a commit of 25 a second."""
    known = [timeline.defaults(r).group_coordinator_append_linger_ms for r in ("3.9", "4.1", "4.2")]
    assert known == [0, 5, 0]
    actions = [timeline.join(60_000 + 9_000 * i, Member(f"m{i}")) for i in range(5)]
    refused = []
    for linger_ms in (0, 60):
        config = timeline.defaults(
            "4.1", commit="after", group_coordinator_append_linger_ms=linger_ms
        )
        scenario = Scenario([Topic("t", 12, rate=25)], [Member("a")], actions, 120_000)
        refused.append(len(told(timeline.run(scenario, config, SERVER, 1), "commit refused")))
    assert refused[0] <= 3 and refused[1] >= 8


def test_a_changed_subscription_waits_for_the_next_heartbeat():
    topics = [Topic("t", 4, rate=10), Topic("u", 4, rate=10)]
    found = set()
    for at in (51_000, 53_000):
        history = play([timeline.subscribe(at, "b", ["u"])], SERVER, topics=topics)
        [epoch] = [e.time_ms for e in history.events
                   if e.kind == "group epoch" and e.time_ms >= 50_000]  # fmt: skip
        found.add(epoch)
    assert len(found) == 1 and 53_000 < found.pop() <= 51_000 + 5_020


def test_every_join_refreshes_metadata_and_their_age_counts_from_there():
    members = [Member(name, pattern="t.*", start_ms=start) for name, start in
               (("a", 0), ("b", 7_000), ("c", 13_000))]  # fmt: skip
    grown = [timeline.create_topic(50_000, Topic("t2", 4, rate=10))]
    history = play(grown, members=members, metadata_max_age_ms=30_000)
    last_join = [at for at in rounds(history) if at < 50_000][-1]
    found = [e.time_ms for e in history.events
             if e.detail == "subscription has changed" and e.time_ms >= 50_000]  # fmt: skip
    due = last_join + 30_000 * -(-(50_000 - last_join) // 30_000)
    assert due - 3_000 <= found[0] <= due + Config().fetch_max_wait_ms


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "librdkafka-cooperative-sticky"])
def test_metadata_comes_after_the_fetch_that_was_out(strategy):
    """Who fetches what never comes finds new topics with its fetch, and Java's joins one fetch later."""
    members = [Member(name, pattern="t.*") for name in "ab"]
    created = [timeline.create_topic(41_000, Topic("t2", 4, rate=10))]

    def found(**fields):
        history = play(created, strategy, members, **fields, metadata_max_age_ms=30_000)
        at = next(e.time_ms for e in history.events if e.detail.endswith("has changed"))
        return at, rounds(history, 41_000)[0] - at

    (idle, waits), (busy, soon) = (
        found(topics=[Topic("t", 6)]),
        found(topics=[Topic("t", 6, rate=1_000)]),
    )
    assert 0 < idle - busy <= 500 and soon <= 15
    assert waits == pytest.approx(500 if strategy == "cooperative-sticky" else soon, abs=15)


def test_a_position_is_known_after_the_fetch_that_was_out():
    """As recorded: who waits for records that do not come gets none of what it is given meanwhile, either."""
    fields = {"commit": "after", "fetch_min_records": 10**6, "fetch_max_wait_ms": 8_000}
    history = play([timeline.join(60_000, Member("c"))], "range", **fields)
    [begins] = rounds(history, 60_000)
    frame = measure.first_watched(history)
    frame = frame[frame["time_ms"] >= begins]
    read = frame[frame["position"] > frame["position"].iloc[0]]["time_ms"].iloc[0]
    assert 10_000 < read - begins < 16_000


@pytest.mark.parametrize("strategy, first", [(EAGER, 2), (SERVER, 2), ("librdkafka-range", 0)])
def test_what_was_never_committed_is_read_before_what_was(strategy, first):
    actions = [timeline.leave(20_000, "a"), timeline.add_partitions(22_000, "t", 3)]
    actions += [timeline.back(40_000, "a")]
    members = [Member("a", processing_ms=4)]
    fields = {"members": members, "topics": [Topic("t", 2, rate=10)], "commit": "after"}
    until = play(actions, strategy, **fields).ownership()["from_ms"].max() + 600
    read = timeline.deliveries_frame(play(actions, strategy, until=int(until), **fields))
    read = read[(read["from_ms"] > 40_000) & (read["to_offset"] > read["from_offset"])]
    assert set(read["partition"]) == {first}


@pytest.mark.parametrize("strategy", ["librdkafka-range", "kafka-python-range", SERVER])
def test_other_clients_read_last_what_was_never_committed(strategy):
    """As recorded: they read what they know where to read while they ask for the rest."""
    actions = [timeline.leave(20_000, "a"), timeline.add_partitions(22_000, "t", 3)]
    actions += [timeline.back(40_000, "a")]
    client = "librdkafka" if strategy == SERVER else ""
    fields = {"members": [Member("a", processing_ms=4, client=client)],
              "topics": [Topic("t", 2, rate=10), Topic("u", 1, rate=10)]}  # fmt: skip
    until = play(actions, strategy, **fields).ownership()["from_ms"].max() + 2_200
    read = timeline.deliveries_frame(play(actions, strategy, until=int(until), **fields))
    read = read[(read["from_ms"] > 40_000) & (read["to_offset"] > read["from_offset"])]
    assert read["topic"].to_list() == ["t", "t", "u"] and read["partition"].max() == 1


@pytest.mark.parametrize("strategy", [EAGER, SERVER])
def test_what_was_committed_is_fetched_when_a_first_batch_of_the_others_is_taken(strategy):
    actions = [timeline.leave(20_000, "a"), timeline.add_partitions(22_000, "t", 3)]
    scenario = Scenario(
        [Topic("t", 2, rate=10)], [Member("a", processing_ms=4)],
        [*actions, timeline.back(40_000, "a")], 47_000, watch=[("t", 0)], sample_ms=50,
    )  # fmt: skip
    config = Config(auto_offset_reset="earliest", commit="after")
    history = timeline.run(scenario, config, strategy)
    since = history.ownership()["from_ms"].max()
    committed = measure.first_watched(history).query("time_ms > 40_000")["committed"].unique()
    assert since / 100 - 1 <= committed[1] < since / 100 + 3


@pytest.mark.parametrize("named", ["ab", "b"])
def test_who_misses_a_topic_sees_soon_what_becomes_of_the_others(named):
    """As recorded: members, and the leader of one, ask for it all the time."""
    members = [Member(m, topics=["t", "late"] if m in named else ["t"]) for m in "ab"]
    changes = [
        timeline.add_partitions(60_000, "t", 9),
        timeline.create_topic(80_000, Topic("late", 2)),
    ]
    history = play(changes, "range", members)
    grown, created = rounds(history, 60_000)
    assert 60_000 < grown < 64_500 and 80_000 < created < 84_500
    assert sum(map(len, owners_at_end(history).values())) == 11


def test_who_misses_a_deleted_topic_sees_soon_what_becomes_of_the_others():
    topics = [Topic("t", 6), Topic("u", 2)]
    changes = [timeline.delete_topic(60_000, "u"), timeline.add_partitions(80_000, "t", 9)]
    history = play(changes, "range", topics=topics, commit="none")
    assert [at for at in rounds(history, 80_000) if at < 84_500]
    assert sum(map(len, owners_at_end(history).values())) == 9


def test_a_member_that_is_to_be_back_before_it_is_closed_comes_afterwards():
    actions = [
        timeline.stall(59_000, "b", 3_000),
        timeline.leave(60_000, "b"),
        timeline.back(60_050, "b"),
    ]
    history = play(actions, "range", until=90_000)
    closed, started = (
        [e.time_ms for e in history.events
         if e.kind == kind and history.members[e.member] == "b" and e.time_ms >= 60_000]
        for kind in ("closed", "started")
    )  # fmt: skip
    assert len(closed) == len(started) == 1 and started[0] >= closed[0] > 60_100
    assert sorted(owners_at_end(history)) == ["a", "b"]


def test_an_application_that_waits_to_try_again_reads_no_answer():
    """Its thread sleeps: the JoinGroup of a leader is answered, and the others wait for its assignment."""
    actions = [timeline.stall(30_000, "c", 6_000), timeline.join(30_500, Member("d"))]
    fields = {"commit": "before", "retry_backoff_ms": 2_000, "retry_backoff_max_ms": 2_000}
    waits = []
    for seed in range(6):
        history = play(actions, COOPERATIVE, "abc", seed=seed, until=60_000, **fields)
        begins = rounds(history, 30_000)[0]
        given = [e.time_ms for e in history.events if e.kind == "assigned" and e.time_ms >= begins]
        waits.append(given[0] - begins)
    assert max(waits) > 200


def test_who_misses_a_topic_asks_soon_again_when_something_has_changed():
    """As recorded: the leader waits for the answer, and its waits begin anew with every change."""
    topics = [Topic("t", 4, rate=50), Topic("u", 2, rate=50)]
    changes = [
        timeline.delete_topic(60_000, "u"),
        timeline.create_topic(140_000, Topic("late", 2)),
    ]
    found = set()
    for seed in range(5):
        members = [Member("a", topics=["t", "u", "late"])]
        history = play(changes, "range", members, topics, seed, until=141_000, commit="none")
        [begins] = [at for at in rounds(history, 60_000) if at < 70_000]
        [given] = [e.time_ms for e in history.events
                   if e.kind == "assigned" and 60_000 <= e.time_ms < 70_000]  # fmt: skip
        found.add(given - begins)
    assert max(found) <= 250 and len(found) > 1


def test_the_answer_about_a_missing_topic_comes_behind_the_fetch_that_is_out():
    """As recorded of clients of 2.8.2, which ask every 100 ms: up to half a second later where nothing comes."""
    found = []
    for at in range(30_000, 40_000, 500):
        actions = [timeline.create_topic(at, Topic("late", 2))]
        members, topics = [Member("a", topics=["t", "late"])], [Topic("t", 2)]
        fields = {"until": at + 20_000, "fetch_max_wait_ms": 4_000}
        found.append(rounds(play(actions, "range@2.8.2", members, topics, **fields), at)[0] - at)
    assert 2_000 < max(found) <= 4_200


@pytest.mark.parametrize("strategy, ever_later", [("range", True), ("range@3.3.2", False)])
def test_clients_ask_ever_later_for_a_missing_topic_since_3_7(strategy, ever_later):
    found = []
    for at in range(30_000, 40_000, 500):
        created = [timeline.create_topic(at, Topic("late", 2, rate=10))]
        history = play(created, strategy, [Member("a", topics=["late"])], until=at + 9_000)
        found.append(rounds(history, at)[0] - at)
    assert (max(found) > 200) == ever_later and max(found) <= 1_100


@pytest.mark.parametrize("strategy", ["range", COOPERATIVE])
def test_who_subscribes_again_while_its_join_waits_is_no_member_twice(strategy):
    """As recorded: the next JoinGroup goes out when the first is answered; nobody waits for a session."""
    actions = [
        timeline.stall(60_000, "c", 9_000),
        timeline.join(60_100, Member("d")),
        timeline.unsubscribe(65_000, "b"),
        timeline.subscribe(65_100, "b", ["t"]),
    ]
    history = play(actions, strategy, "abc")
    assert sorted(owners_at_end(history)) == list("abcd")
    assert all(at < 80_000 for at in rounds(history, 60_000))


def test_a_leader_waits_for_metadata_that_are_due():
    """As recorded: it asks for them when they are old, and assigns when the fetch is back that was out."""
    fields = {"fetch_min_records": 10**6, "fetch_max_wait_ms": 5_000, "metadata_max_age_ms": 9_000}
    history = play([timeline.join(9_500, Member("b"))], "range", "a", until=40_000,
                   heartbeat_interval_ms=1_000, **fields)  # fmt: skip
    [begins] = rounds(history, 9_500)
    given = [e.time_ms for e in history.events if e.kind == "assigned" and e.time_ms >= begins]
    assert 1_500 < given[0] - begins < 5_000


@pytest.mark.parametrize("other", ["librdkafka-range", "aiokafka-range"])
def test_who_subscribes_to_the_same_again_joins_in_other_clients(other):
    """As recorded: alone, as the coordinator sees no change, and not in Java's client at all."""
    again = [timeline.subscribe(60_000, "b", ["t"])]
    java, c = (play(again, strategy) for strategy in ("range", other))
    assert rounds(java, 60_000) == rounds(c, 60_000) == []
    calls = [
        [(java.members[e.member], e.kind) for e in history.events
         if e.kind in ("revoked", "assigned") and e.time_ms >= 60_000]
        for history in (java, c)
    ]  # fmt: skip
    assert calls == [[], [("b", "revoked"), ("b", "assigned")]]


def calls_after(history, at):
    """What listeners were told: (ms, member, kind, partitions)."""
    return [(e.time_ms, history.members[e.member], e.kind, history.cluster.labels(e.partitions))
            for e in history.events
            if e.kind in ("revoked", "assigned", "lost") and e.time_ms >= at]  # fmt: skip


def test_librdkafka_does_not_see_that_a_topic_is_gone_until_it_looks():
    """As recorded: an eager group begins anew then; a cooperative member loses it."""
    gone = [timeline.delete_topic(61_000, "t2")]
    heard = {}
    for kind in ("librdkafka-cooperative-sticky", "librdkafka-range"):
        topics = [Topic("t", 2), Topic("t2", 2)]
        history = play(gone, kind, topics=topics, metadata_max_age_ms=50_000, until=120_000)
        calls = calls_after(history, 61_000)
        assert 100_000 <= calls[0][0] <= 101_000
        heard[kind] = {kind for _, _, kind, labels in calls if labels}
    assert "lost" in heard["librdkafka-cooperative-sticky"]
    assert heard["librdkafka-range"] == {"revoked", "assigned"}


def test_librdkafka_gives_all_of_a_topic_that_grew_to_whoever_is_there_next():
    """Its leader asks for the topics of the group every time; Java's knows what it knew."""
    grown = [timeline.add_partitions(61_000, "t", 6), timeline.join(65_000, Member("d"))]
    for kind, known in (("range", 4), ("librdkafka-range", 6)):
        history = play(grown, kind, topics=[Topic("t", 4)], until=90_000)
        calls = calls_after(history, 65_000)
        assert (
            len({name for *_, kind, names in calls if kind == "assigned" for name in names})
            == known
        )


def test_librdkafka_does_not_join_for_topics_that_are_not_there():
    """It finds them when its metadata is due; who reads others, too, is a member meanwhile."""
    created = [timeline.create_topic(41_000, Topic("later", 2))]
    members = [Member("a", topics=["later"]), Member("b", topics=["t", "later"])]
    history = play(
        created, "librdkafka-range", members, [Topic("t", 2)], metadata_max_age_ms=50_000
    )
    first = {}
    for at, member, *_ in calls_after(history, 0):
        first.setdefault(member, at)
    assert first["b"] < 10_000 and 50_000 <= first["a"] <= 54_000


def test_librdkafkas_cooperative_member_joins_while_its_application_is_at_work():
    """As recorded: Java's joins in poll, and everybody waits for it."""
    happens = [timeline.stall(60_000, "b", 60_000), timeline.crash(61_000, "c")]
    for kind, least, most in (
        ("cooperative-sticky", 120_000, 125_000), ("librdkafka-cooperative-sticky", 71_000, 75_000),
    ):  # fmt: skip
        history = play(happens, kind, "abc", session_timeout_ms=10_000, until=140_000)
        assert least <= calls_after(history, 61_000)[0][0] <= most


@pytest.mark.parametrize(
    "strategy",
    ["range", "librdkafka-range", "librdkafka-cooperative-sticky", "aiokafka-range"],
)
def test_librdkafka_and_aiokafka_have_committed_the_record_at_hand(strategy):
    """As recorded: what a timer finds handed out counts as processed, and a crash loses it."""
    members = [Member(name, processing_ms=2_500) for name in "ab"]
    history = play([timeline.crash(61_000 + 1_300, "a")], strategy, members, [Topic("t", 1, rate=1)],
                   auto_commit_interval_ms=1_000, max_poll_records=1)  # fmt: skip
    assert measure.lost_records(history)["records"].sum() == (strategy != "range")
    assert not timeline.deliveries_frame(history)["again"].sum()


@pytest.mark.parametrize("goes", [timeline.leave, timeline.unsubscribe])
@pytest.mark.parametrize("strategy", IN_C)
def test_librdkafkas_timer_does_nothing_while_a_member_gives_up(strategy, goes):
    """rd_kafka_cgrp_offset_commit_tmr_cb: the run did not end where one was due that had to be judged."""
    happens = [timeline.coordinator_moves(49_960), goes(49_960, "b")]  # 40 ms before its commit
    history = play(happens, strategy, topics=[Topic("t", 6, rate=300)], until=52_000)
    again = [e.member for e in history.events if e.kind == "commit sent again"]
    assert again.count(1) == 1


def test_automatic_commits_of_librdkafka_may_come_faster_than_their_answers():
    moves = [timeline.coordinator_moves(20_000)]
    history = play(
        moves, "librdkafka-range", auto_commit_interval_ms=10, latency_ms=30, until=22_000
    )
    assert {e.member for e in history.events if e.kind == "commit sent again"} == {0, 1}


def test_heartbeats_of_librdkafka_go_on_through_rebalances():
    """As recorded. Java's begin anew with every generation, so members hear of the next one together."""
    joins = [timeline.join(70_000, Member("c")), timeline.join(76_000, Member("d"))]
    apart = {"range": 0, "librdkafka-range": 0}
    for kind, seed in product(apart, range(1, 6)):
        history = play(joins, kind, "ab", heartbeat_drift_ms=200, seed=seed)
        heard = [e.time_ms for e in history.events if e.time_ms > 76_000
                 and e.detail == "group is rebalancing" and history.members[e.member] in "ab"]  # fmt: skip
        apart[kind] += max(heard) - min(heard)
    assert apart["range"] < 5 * 3 * 200 and apart["librdkafka-range"] > 2 * apart["range"]


def heard_of(history, member, after):
    """What a member's listener was told, with partitions or without: (ms, kind, partitions)."""
    return [(at, kind, labels) for at, who, kind, labels in calls_after(history, after)
            if who == member]  # fmt: skip


@pytest.mark.parametrize("at", [61_000, 61_250, 61_500, 61_750])
def test_librdkafka_beats_every_half_second_if_it_is_to(at):
    """As measured: max.poll.interval.ms wakes its main thread twice a second."""
    joins = [timeline.join(at, Member("c"))]
    history = play(joins, "librdkafka-range", heartbeat_interval_ms=500)
    assert calls_after(history, at)[-1][0] - at < 600


def test_librdkafkas_eager_member_without_partitions_is_waited_for():
    """As recorded: its listener has an empty assignment to give up."""
    happens = [timeline.stall(60_000, "c", 20_000), timeline.join(61_000, Member("d"))]
    history = play(happens, "librdkafka-range", "abc", [Topic("t", 2)])
    assert 80_000 <= rounds(history, 61_000)[0] < 81_000


def test_librdkafka_that_was_late_joins_with_its_next_poll():
    """As recorded, also where its listener has nothing to hear (rd_kafka_max_poll_exceeded)."""
    late = [timeline.stall(60_000, "c", 90_000)]
    history = play(late, "librdkafka-cooperative-sticky", "abc", [Topic("t", 2)],
                   max_poll_interval_ms=60_000, until=170_000)  # fmt: skip
    first, second = rounds(history, 61_000)
    assert first < 125_000 and second >= 150_000


@pytest.mark.parametrize("kind", ["range", "cooperative-sticky"])
def test_librdkafka_whose_topics_are_gone_is_waited_for_until_its_session_is_over(kind):
    """As recorded: it neither joins nor sends heartbeats."""
    members = [Member("a"), Member("b", topics=["t2"])]
    gone = [timeline.delete_topic(61_000, "t2")]
    history = play(gone, f"librdkafka-{kind}", members, [Topic("t", 2), Topic("t2", 2)],
                   metadata_max_age_ms=10_000, session_timeout_ms=30_000)  # fmt: skip
    assert told(history, "removed", 61_000) == ["session expired"]
    assert 90_000 < rounds(history, 61_000)[0] < 110_000


def test_librdkafka_hears_of_a_rebalance_from_the_heartbeat_after_its_assignment():
    """As recorded: it joined while its application was at work, and others went on."""
    happens = [timeline.stall(60_000, "b", 31_000), timeline.join(61_000, Member("d")),
               timeline.join(70_000, Member("e"))]  # fmt: skip
    history = play(happens, "librdkafka-cooperative-sticky", "abc")
    served = [at for at, kind, _ in heard_of(history, "b", 61_000) if kind == "assigned"]
    assert 91_000 <= served[0] < 91_010 and 92_000 < served[1] < 94_010


def test_librdkafka_that_leaves_before_it_hears_of_its_assignment_keeps_it():
    """As recorded: until its session is over, while others have the same partitions, or a commit of its
    timer is refused."""
    happens = [timeline.stall(60_000, "b", 65_000), timeline.join(61_000, Member("d"))]
    history = play(happens, "librdkafka-cooperative-sticky", "abc", until=200_000,
                   max_poll_interval_ms=60_000, session_timeout_ms=45_000, commit="none")  # fmt: skip
    calls = heard_of(history, "b", 61_000)
    assert [kind for _, kind, _ in calls][:2] == ["assigned", "lost"]
    assert 125_000 <= calls[0][0] < 126_000 and 160_000 < calls[1][0] < 166_000


def test_librdkafka_with_a_pattern_joins_with_what_it_has_seen():
    """As recorded: a topic that came since its last look is not read before the next."""
    members = [Member(name, pattern="t.*") for name in "ab"]
    happens = [timeline.create_topic(61_000, Topic("t2", 2)), timeline.leave(65_000, "b")]
    history = play(happens, "librdkafka-range", members, metadata_max_age_ms=50_000)
    new = [at for at, *_, labels in calls_after(history, 61_000) if "t2-0" in labels]
    assert 100_000 <= new[0] < 105_000


def test_librdkafka_that_closes_in_a_rebalance_gives_up_what_it_has():
    """As recorded; Java's has lost it."""
    happens = [timeline.stall(60_000, "a", 30_000), timeline.join(61_000, Member("d")),
               timeline.leave(70_000, "b")]  # fmt: skip
    members = [Member("a", strategies=["cooperative-sticky"]), Member("b"), Member("c")]
    history = play(happens, "librdkafka-cooperative-sticky", members)
    assert [kind for _, kind, _ in heard_of(history, "b", 61_000)] == ["revoked"]
    assert not told(history, "commit refused")


def test_librdkafka_that_subscribes_in_a_rebalance_joins_first_and_then_again():
    """As recorded (rkcg_next_subscription)."""
    topics = [Topic("t", 3), Topic("t2", 3)]
    happens = [timeline.stall(60_000, "a", 30_000), timeline.join(61_000, Member("d")),
               timeline.subscribe(70_000, "b", ["t"])]  # fmt: skip
    history = play(happens, "librdkafka-range", "abc", topics)
    kinds = [kind for _, kind, _ in heard_of(history, "b", 70_000)]
    assert kinds == ["assigned", "revoked", "assigned"]


@pytest.mark.parametrize("topics", [["t", "new"], ["t"]])
def test_librdkafkas_cooperative_follower_loses_what_it_reads_no_more_if_it_has_to_ask(topics):
    """As recorded: it then has the new topic at the next rebalance, whoever begins that."""
    happens = [timeline.create_topic(50_000, Topic("new", 2)),
               timeline.subscribe(61_000, "b", topics)]  # fmt: skip
    history = play(happens, "librdkafka-cooperative-sticky", topics=[Topic("t", 2), Topic("t2", 2)])
    assert len(rounds(history, 61_000)) == (topics == ["t"]) * 2
    assert heard_of(history, "b", 61_000)[0][1] == ("revoked" if topics == ["t"] else "lost")


@pytest.mark.parametrize("instance", ["i", None])
def test_librdkafkas_static_member_that_was_late_is_fenced_by_its_own_commit(instance):
    """As recorded, with automatic commits: it commits what it lost without its id."""
    members = [Member("a"), Member("b", instance=instance)]
    history = play([timeline.stall(60_000, "b", 90_000)], "librdkafka-range", members,
                   max_poll_interval_ms=60_000, commit="auto", until=170_000)  # fmt: skip
    assert told(history, "fatal") == (["FENCED_INSTANCE_ID"] if instance else [])
    assert heard_of(history, "b", 61_000)[0][1] == "lost"


@pytest.mark.parametrize("instance", ["i", None])
def test_librdkafka_that_unsubscribes_commits_and_leaves(instance):
    """As seen on a real broker, of a static member, too."""
    members = [Member("a"), Member("b", instance=instance)]
    history = play([timeline.unsubscribe(61_500, "b")], "librdkafka-range", members,
                   auto_commit_interval_ms=60_000)  # fmt: skip
    assert told(history, "removed", 61_000) == ["left"]
    assert rounds(history, 61_000)[0] < 65_000
    assert not timeline.deliveries_frame(history)["again"].sum()


@pytest.mark.parametrize("instance", ["i", None])
@pytest.mark.parametrize("strategy", ["range", *IN_C])
def test_a_restart_is_to_leave_and_to_return(strategy, instance):
    """KIP-345, which librdkafka's members keep, too: static ones do not leave."""
    members = [Member("a"), Member("b", instance=instance)]
    again = timeline.restart(60_000, "b", 2_000)
    gone, back = timeline.leave(60_000, "b"), timeline.back(62_000, "b")
    one, two = (
        [e for e in play(happens, strategy, members=members).events if "action" not in e.kind]
        for happens in ([again], [gone, back])
    )
    assert str(one) == str(two)
    left = any(e.kind == "removed" for e in one)
    assert left == (instance is None)


@pytest.mark.parametrize("strategy", [EAGER, COOPERATIVE, SERVER, *IN_C])
def test_nothing_is_told_of_a_process_that_is_gone(strategy):
    """Whatever waited for the poll in which it closed: another close, an assignment."""
    busy = [timeline.stall(60_000, "b", 8_000), timeline.join(60_500, Member("c"))]
    happens = [*busy, *(timeline.leave(at, "b") for at in (62_000, 63_000))]
    history = play(happens, strategy, commit="after")
    after = [e.kind for e in history.events if e.member == 1 and e.time_ms > 63_000]
    assert after.count("closed") == 1 and "assigned" not in after
    assert set(after[after.index("closed") + 1 :]) <= {"removed"}


def test_librdkafka_that_closes_when_it_was_late_leaves():
    late = [timeline.stall(50_000, "b", 50_000), timeline.leave(60_000, "b")]
    members = [Member(name, client="librdkafka") for name in "ab"]
    history = play(late, SERVER, members=members, max_poll_interval_ms=45_000)
    assert told(history, "removed") == ["left"]
    assert [kind for _, kind, _ in heard_of(history, "b", 60_000)] == ["lost"]


def test_librdkafka_under_kip_848_hears_of_its_target_at_once():
    """As recorded: its main thread wakes a poll, whatever Java's client of the release does."""
    wakes = {}
    for client in ("", "librdkafka"):
        members = [Member(name, client=client) for name in "ab"]
        joins = [timeline.join(60_000, Member("c", client=client))]
        history = play(joins, SERVER, members, [Topic("t", 6)], commit="none",
                       poll_wakes="timeout", poll_timeout_ms=3_000)  # fmt: skip
        told_at = {e.time_ms for e in history.events if e.detail == "UNREVOKED_PARTITIONS"}
        given_up = [at for name in "ab" for at, kind, _ in heard_of(history, name, 60_000)
                    if kind == "revoked"]  # fmt: skip
        wakes[client] = max(min(at - t for t in told_at if t <= at) for at in given_up)
    assert wakes[""] > 100 and wakes["librdkafka"] <= 2


def test_librdkafka_under_kip_848_hands_out_one_record_and_commits_it():
    """As recorded: a timer takes what is at work for done, and a slow application holds nobody up."""
    members = [Member(name, processing_ms=2_500, client="librdkafka") for name in "ab"]
    history = play([timeline.crash(61_000 + 1_300, "a")], SERVER, members,
                   [Topic("t", 1, rate=1)], auto_commit_interval_ms=1_000)  # fmt: skip
    assert measure.lost_records(history)["records"].sum() == 1
    assert not timeline.deliveries_frame(history)["again"].sum()
    slow = [replace(member, processing_ms=30) for member in members]
    joins = [timeline.join(60_000, replace(slow[0], name="c"))]
    history = play(joins, SERVER, slow, [Topic("t", 6, rate=100)])
    assert len(owners_at_end(history)["c"]) == 2


@pytest.mark.parametrize("kind", ["assigned", "revoked"])
def test_librdkafka_that_was_late_hears_first_what_it_was_to_hear(kind):
    """As recorded: then that the rest is lost, which it has committed, since it has not left yet."""
    members = [Member(name, client="librdkafka") for name in "ab"]
    comes = {"assigned": timeline.leave(51_000, "a"),
             "revoked": timeline.join(51_000, Member("c", client="librdkafka"))}  # fmt: skip
    late = [timeline.stall(50_000, "b", 40_000), comes[kind]]
    history = play(late, SERVER, members, max_poll_interval_ms=30_000)
    (_, first, some), (_, then, rest) = [c for c in heard_of(history, "b", 51_000) if c[2]][:2]
    assert (first, then) == (kind, "lost")
    assert set(some) <= set(rest) if kind == "assigned" else not set(some) & set(rest)
    late = [timeline.stall(50_000, "b", 40_000)]
    history = play(
        late, SERVER, members, auto_commit_interval_ms=60_000, max_poll_interval_ms=30_000
    )
    assert not timeline.deliveries_frame(history)["again"].sum()


@pytest.mark.parametrize("strategy", ["range", "kafka-python-range"])
@pytest.mark.parametrize("moves", [[], [timeline.coordinator_moves(54_000)]])
def test_kafka_python_counts_its_poll_interval_anew_when_it_finds_the_coordinator(strategy, moves):
    """As recorded (Heartbeat.reset_timeouts), though its application does not poll."""
    stalls = timeline.stall(50_000, "b", 10_000)
    history = play([stalls, *moves], strategy, heartbeat_interval_ms=1_000,
                   max_poll_interval_ms=7_000)  # fmt: skip
    late = any(e.kind == "poll interval exceeded" for e in history.events)
    assert late == (strategy == "range" or not moves)


@pytest.mark.parametrize("moves", [[], [timeline.coordinator_moves(40_000)]])
def test_a_coordinator_that_takes_over_resolves_patterns_and_then_not_for_a_while(moves):
    """As recorded: lastMetadataImageWithNewTopics is the image that it begins with."""
    created = timeline.create_topic(45_500, Topic("t2", 4))
    history = play([*moves, created], SERVER, [Member(name, pattern="t.*") for name in "ab"],
                   group_consumer_heartbeat_interval_ms=1_000)  # fmt: skip
    [found] = [e.time_ms for e in history.events
               if e.kind == "group epoch" and e.time_ms > 30_000]  # fmt: skip
    assert (50_000 <= found < 52_500) if moves else (45_500 < found < 46_600)


@pytest.mark.parametrize("strategy", [SERVER, "librdkafka-cooperative-sticky"])
def test_librdkafka_commits_what_it_gives_up_alone(strategy):
    """As recorded under KIP-848: what it keeps is read again from its last commit, after a crash."""
    client = "librdkafka" if strategy == SERVER else ""
    happens = [timeline.join(40_000, Member("b", client=client)), timeline.crash(60_000, "a")]
    history = play(happens, strategy, [Member("a", client=client)],
                   auto_commit_interval_ms=1_000_000)  # fmt: skip
    again = timeline.deliveries_frame(history)["again"]
    assert again.max() > 500 and (again > 0).sum() == 3


def test_librdkafka_under_kip_848_says_at_once_what_it_subscribes_to():
    """As recorded; Java's says so with its next heartbeat."""
    bumped = {}
    for client in ("", "librdkafka"):
        members = [Member("a", client=client)]
        history = play([timeline.subscribe(60_000, "a", ["u"])], SERVER, members,
                       [Topic("t", 1), Topic("u", 1)])  # fmt: skip
        bumped[client] = next(e.time_ms for e in history.events
                              if e.kind == "group epoch" and e.time_ms > 60_000)  # fmt: skip
    assert bumped[""] > 60_100 and bumped["librdkafka"] <= 60_010


def kinds_of(history, member, after):
    """What a member's listener was told, where there were partitions."""
    return [kind for _, kind, labels in heard_of(history, member, after) if labels]


def test_a_rebalance_of_aiokafka_waits_for_no_application():
    """As recorded, and whoever is at work goes on with what it has: it is committed."""
    happens = [timeline.stall(60_000, "b", 40_000), timeline.join(61_000, Member("c"))]
    ended = {}
    for strategy in ("range", "aiokafka-range"):
        history = play(happens, strategy)
        ended[strategy] = calls_after(history, 61_000)[-1][0]
        assert not timeline.deliveries_frame(history)["again"].sum()
    assert ended["aiokafka-range"] < 65_000 and ended["range"] >= 100_000


def test_a_listener_of_aiokafka_hears_of_no_loss_and_of_no_close():
    """As recorded: what is lost is revoked, at once, and whoever closes is told nothing."""
    happens = [timeline.stall(60_000, "b", 60_000), timeline.leave(140_000, "b")]
    for strategy, heard in (
        ("range", ["lost", "assigned", "revoked"]),
        ("aiokafka-range", ["revoked", "assigned"]),
    ):
        history = play(happens, strategy, max_poll_interval_ms=30_000, until=160_000)
        assert kinds_of(history, "b", 60_000) == heard
        first = heard_of(history, "b", 60_000)[0][0]
        assert first >= 120_000 if strategy == "range" else 89_000 <= first < 91_000
        assert told(history, "removed", 60_000) == ["left", "left"]


def test_two_processes_of_aiokafka_take_an_instance_id_from_each_other():
    """As recorded: heartbeats do not tell the id, so nobody is fenced."""
    members = [Member("a", instance="i"), Member("b")]
    happens = [timeline.join(60_000, Member("x", instance="i"))]
    history = play(happens, "range", members)
    assert told(history, "fatal") == ["FENCED_INSTANCE_ID"]
    members = [replace(member, client="aiokafka") for member in members]
    happens = [timeline.join(60_000, Member("x", instance="i", client="aiokafka"))]
    history = play(happens, "range", members)
    assert not told(history, "fatal") and not rounds(history, 60_000)
    assert kinds_of(history, "a", 60_000).count("assigned") > 20


def test_nobody_hears_of_a_member_of_sarama_that_is_at_work_unless_the_group_rebalances():
    """As recorded: its rebalance timeout counts then, and Cleanup hears of the loss when it is through."""
    stalls = [timeline.stall(60_000, "b", 60_000)]
    how = {"max_poll_interval_ms": 20_000, "until": 160_000}
    assert rounds(play(stalls, "range", **how), 60_000)
    assert not rounds(play(stalls, "sarama-range", **how), 60_000)
    joins = timeline.join(61_000, Member("c"))
    history = play([*stalls, joins], "sarama-range", **how)
    first, again = sorted({at for at, *_ in calls_after(history, 61_000) if at > 80_000})[:2]
    assert 81_000 <= first <= 85_000 and 120_000 <= again < 122_000
    assert kinds_of(history, "b", 60_000) == ["revoked", "assigned"]


def test_claims_of_sarama_end_with_the_fetch_that_is_out():
    """As recorded; heartbeats wait behind it, too."""
    topics, leaves = [Topic("t", 6)], [timeline.leave(60_000, "b")]
    for strategy, least in (("range", 0), ("sarama-range", 1_000)):
        history = play(leaves, strategy, topics=topics, fetch_max_wait_ms=7_000)
        [(ends, _, _)] = heard_of(history, "b", 60_000)
        assert least <= ends - 60_000 <= least + 6_100
        given = [at for at, *_ in heard_of(history, "a", 60_000)]
        assert (given[0] > ends + 2_000) == (strategy == "sarama-range")


def test_a_member_of_sarama_joins_when_all_its_topics_are_there():
    """As recorded: with one of them deleted its group reads nothing any more."""
    topics = [Topic("t", 2), Topic("t2", 2)]
    gone = [timeline.delete_topic(60_000, "t2")]
    for strategy, partitions in (("range", 2), ("sarama-range", 0)):
        how = {"metadata_max_age_ms": 10_000, "until": 200_000, "commit": "none"}
        history = play(gone, strategy, topics=topics, **how)
        assert sum(map(len, owners_at_end(history).values())) == partitions
    created = [timeline.create_topic(60_000, Topic("t3", 2))]
    members = [Member("a", topics=["t", "t3"])]
    history = play(created, "sarama-range", members, topics)
    assert calls_after(history, 0)[0][0] > 60_000


def test_the_leader_of_a_group_of_sarama_looks_with_two_timers():
    """As recorded: it hears of new partitions after twice its interval at most."""
    grown = [timeline.add_partitions(60_000, "t", 8)]
    how = {"metadata_max_age_ms": 20_000, "until": 160_000}
    for strategy, least, most in (("range", 60_000, 83_000), ("sarama-range", 60_000, 103_000)):
        at, *_ = calls_after(play(grown, strategy, **how), 60_001)[0]
        assert least < at < most


@pytest.mark.parametrize("action", [timeline.unsubscribe, timeline.enforce_rebalance])
def test_what_sarama_does_not_have_is_refused(action):
    with pytest.raises(TimelineError, match="of 'a': sarama's members do not have it"):
        play([action(10_000, "a")], "sarama-range", until=20_000)
    told = "client of 'a': sarama's members are not played with "
    with pytest.raises(TimelineError, match=f"{told}pattern"):
        play([], "sarama-range", [Member("a", pattern="t.*", client="sarama")], until=20_000)
    with pytest.raises(TimelineError, match=f"{told}cooperative"):
        play([], "cooperative-sticky", [Member("a", client="sarama")], until=20_000)
    assert rounds(play([], "sarama-range", [Member("a", pattern="t.*")], until=20_000))


def test_what_a_client_does_not_have_is_refused_before_anything_happens():
    """Of a member that comes back as another client's, from then on."""
    topics, members = [Topic("t", 4)], [Member("a"), Member("b")]
    back = timeline.restart(20_000, "a", strategies=["sarama-range"])
    strategies = timeline.strategies_named("range")
    early, late = (
        Scenario(topics, members, [timeline.enforce_rebalance(at, "a"), back])
        for at in (10_000, 30_000)
    )
    Simulation(early, Config(), strategies, 0)
    with pytest.raises(TimelineError, match="enforce_rebalance of 'a': sarama's members"):
        Simulation(late, Config(), strategies, 0)


KAFKAJS = "kafkajs-roundrobin"
NO_RECORDS = [Topic("t", 6)]


def test_a_member_of_kafkajs_hears_of_a_rebalance_when_its_fetch_is_back():
    """As recorded: nothing comes before, however often heartbeats are due."""
    joins, how = [timeline.join(61_000, Member("d"))], {"fetch_max_wait_ms": 20_000}
    [java], [own] = (
        rounds(play(joins, strategy, "abc", NO_RECORDS, **how), 61_000)
        for strategy in ("roundrobin", KAFKAJS)
    )
    assert java < 64_100 < own < 81_100


def test_a_member_of_kafkajs_that_has_no_partitions_is_waited_for_as_long_as_a_fetch():
    """As recorded: its task sleeps for that time."""
    topics, how = [Topic("t", 1, rate=10)], {"fetch_max_wait_ms": 20_000, "until": 120_000}
    joins = [timeline.join(61_000, Member("d"))]
    heard = heard_of(play(joins, KAFKAJS, "abc", topics, **how), "b", 61_000)
    assert 64_200 < heard[0][0] < 81_100


def test_kafkajs_sends_heartbeats_between_records_alone():
    """As recorded: a record that takes longer than the session costs the partitions, and is read again; while it
    takes less long a rebalance waits for it, and comes as soon as it is done."""
    topics = [Topic("t", 4, rate=10)]
    for for_ms, leaves in ((60_000, True), (20_000, False)):
        stalls = [timeline.stall(60_000, "b", for_ms), timeline.join(61_000, Member("c"))]
        history = play(stalls, KAFKAJS, topics=topics, commit="auto")
        lost = kinds_of(history, "b", 60_000)
        assert ("lost" in lost) == leaves and bool(told(history, "removed", 60_000)) == leaves
        at = next(a for a, kind, _ in heard_of(history, "b", 60_000) if kind in ("revoked", "lost"))
        assert abs(at - 60_000 - for_ms) < 100
    assert not told(play(stalls[:1], KAFKAJS, topics=NO_RECORDS), "removed")


def test_kafkajs_lets_go_in_the_midst_of_a_batch():
    """As recorded: what is done of it is committed, and the rest of it goes to others, who read it once."""
    topics = [Topic("t", 2, rate=100)]
    members = [Member(name, processing_ms=8) for name in "ab"]
    happens = [
        timeline.stall(60_000, "b", 5_000),
        timeline.join(66_000, Member("c", processing_ms=8)),
    ]
    how = {"heartbeat_interval_ms": 1_000, "latency_ms": 50}
    history = play(happens, KAFKAJS, members, topics, **how)
    [again] = rounds(history, 66_000)
    assert again < 67_800, "not when the records are done that were at hand"
    assert timeline.deliveries_frame(history)["again"].sum() == 0


def test_kafkajs_hands_out_all_that_a_fetch_brings():
    """As recorded: a crash repeats it all, since it is committed when it is done."""
    topics = [Topic("t", 2, rate=300)]
    members = [Member(name, processing_ms=2) for name in "ab"]
    happens = [timeline.stall(60_000, "b", 5_000), timeline.crash(67_500, "b")]
    again = timeline.deliveries_frame(play(happens, KAFKAJS, members, topics))["again"].sum()
    assert 1_000 < again < 1_300


def test_a_frozen_member_of_kafkajs_sends_no_heartbeat():
    """As recorded: whoever stands still for longer than its session is out."""
    how = {"topics": NO_RECORDS, "fetch_max_wait_ms": 20_000}
    for for_ms, out in ((46_000, True), (20_000, False)):
        history = play([timeline.freeze(60_000, "b", for_ms)], KAFKAJS, **how)
        assert bool(told(history, "removed")) == out


def test_kafkajs_commits_after_every_batch():
    """As recorded: what is repeated after a crash is one batch, whatever auto commits of Java's would be."""
    crashes = [timeline.crash(60_000, "b")]
    again = {}
    for strategy in ("roundrobin", KAFKAJS):
        history = play(crashes, strategy, commit="auto", auto_commit_interval_ms=50_000)
        again[strategy] = timeline.deliveries_frame(history)["again"].sum()
    assert again[KAFKAJS] < 10 < again["roundrobin"]


def test_kafkajs_hands_out_a_record_of_each_partition_before_it_joins_again():
    """As recorded: of each that its fetch brought records of. What is not its own any more is read again."""
    topics, members = [Topic("t", 8, rate=0.1)], [Member(name, processing_ms=400) for name in "ab"]
    joins = [timeline.join(60_100, Member("c"))]  # each member is at the first of four records
    how = {"commit": "auto", "heartbeat_interval_ms": 100}
    history = play(joins, KAFKAJS, members, topics, **how)
    [ended] = rounds(history, 60_000)
    assert 61_600 < ended < 61_700 and not timeline.deliveries_frame(history)["again"].sum()
    stalls = [timeline.stall(60_100, "b", 50_000)]
    history = play(stalls, KAFKAJS, members, topics, **how)
    assert timeline.deliveries_frame(history)["again"].sum() == 4


def test_kafkajs_commits_what_a_fetch_brought_of_one_partition():
    """As recorded."""
    topics, members = [Topic("t", 4, rate=5)], [Member("a", processing_ms=10)]
    crashes = [timeline.stall(60_000, "a", 10_000), timeline.crash(71_200, "a")]
    joins = timeline.join(120_000, Member("b"))
    history = play([*crashes, joins], KAFKAJS, members, topics, commit="auto", until=160_000)
    assert 0 < timeline.deliveries_frame(history)["again"].sum() < 50  # of 200 that it has at hand


def test_a_fetch_of_kafkajs_that_is_as_long_as_heartbeats_are_apart_brings_one_each():
    """As measured: it goes out when the last one is answered."""
    how = {"fetch_max_wait_ms": 1_000, "heartbeat_interval_ms": 1_000, "until": 80_000}
    for at in range(60_000, 62_000, 250):
        joins = [timeline.join(at, Member("c"))]
        [ended] = rounds(play(joins, KAFKAJS, topics=NO_RECORDS, **how), at)
        assert ended - at < 1_100


def test_a_member_of_kafkajs_looks_at_its_topics_when_its_batch_is_done():
    """As its source says: before a fetch, and not between two records."""
    topics, members = [Topic("t", 2, rate=1)], [Member("a", processing_ms=100)]
    grows = [timeline.stall(60_000, "a", 20_000), timeline.add_partitions(65_000, "t", 3)]
    history = play(
        grows, KAFKAJS, members, topics, metadata_max_age_ms=10_000, session_timeout_ms=45_000
    )
    [ended] = rounds(history, 60_000)
    assert ended > 83_900  # it has twenty records of each partition at hand


def test_every_member_of_kafkajs_looks_at_its_topics():
    """As recorded: each at its own moment, and lets go where it did not know of a partition; before the leader
    has looked, too, it gets what it had."""
    grown = [timeline.add_partitions(61_000, "t", 9)]
    members = [
        Member("a"),
        *(Member(n, start_ms=s, made_ms=s) for n, s in (("b", 500), ("c", 1_000))),
    ]
    how = {"metadata_max_age_ms": 30_000, "until": 200_000}
    for strategy, kinds in (("roundrobin", []), (KAFKAJS, ["revoked", "assigned"])):
        history = play(grown, strategy, members, NO_RECORDS, **how)
        [began] = rounds(history, 61_000)
        alone = [one for one in heard_of(history, "c", 61_000) if one[0] < began - 4_000]
        assert [kind for _, kind, _ in alone] == kinds
        assert len({tuple(labels) for *_, labels in alone}) == bool(kinds)
        assert sum(map(len, owners_at_end(history).values())) == 9
        if kinds:
            assert not calls_after(history, began + 1_000), "who is given a new one knows of all"


def test_a_group_of_kafkajs_is_over_when_one_of_its_topics_is_gone():
    """As recorded: each leaves after six failures, and none comes back."""
    topics = [Topic("t", 2), Topic("t2", 2)]
    gone = [timeline.delete_topic(60_000, "t2")]
    for strategy, partitions in (("roundrobin", 2), (KAFKAJS, 0)):
        how = {"metadata_max_age_ms": 10_000, "until": 200_000, "commit": "none"}
        history = play(gone, strategy, topics=topics, **how)
        assert sum(map(len, owners_at_end(history).values())) == partitions
    [at, *_] = heard_of(play(gone, KAFKAJS, topics=topics), "a", 60_000)[0]
    assert at < 60_100, "its fetch says so"
    back = timeline.create_topic(50_000, Topic("t3", 1))
    missing = play([back], KAFKAJS, [Member("a", topics=["t", "t3"])], topics)
    assert told(missing, "fatal") == ["UNKNOWN_TOPIC_OR_PARTITION"]


def test_kafkajs_resolves_a_pattern_once():
    """As recorded: what is created later is not read, before the process starts again."""
    members = [Member(name, pattern="t.*") for name in "ab"]
    happens = [timeline.create_topic(60_000, Topic("t2", 2)), timeline.join(90_000, Member("c"))]
    how = {"topics": NO_RECORDS, "metadata_max_age_ms": 10_000}
    for strategy, partitions in (("roundrobin", 8), (KAFKAJS, 6)):
        history = play(happens, strategy, members, **how)
        assert sum(map(len, owners_at_end(history).values())) == partitions


def test_a_leader_of_kafkajs_deals_its_own_topics():
    """As recorded: to all, who drop what they do not read."""
    topics = [Topic("t", 4), Topic("t2", 4)]
    members = [Member("a", topics=["t"]), Member("b", topics=["t2"], start_ms=500)]
    assert owners_at_end(play([], KAFKAJS, members, topics, until=30_000)) == {
        "a": [("t", 0), ("t", 2)]
    }


def test_a_member_of_kafkajs_closes_when_its_fetch_is_back():
    """As recorded; in a rebalance, when that is over, which is another one."""
    leaves = [timeline.leave(61_000, "b")]
    history = play(leaves, KAFKAJS, topics=NO_RECORDS, fetch_max_wait_ms=20_000)
    [closed] = [e.time_ms for e in history.events if e.kind == "closed"]
    assert 62_000 < closed < 81_100 and not heard_of(history, "b", 61_000)
    topics = [Topic("t", 4, rate=10)]
    happens = [
        timeline.stall(60_000, "a", 10_000), timeline.join(61_000, Member("c")), timeline.leave(65_000, "b"),
    ]  # fmt: skip
    history = play(happens, KAFKAJS, topics=topics)
    assert len(rounds(history, 61_000)) == 2 and kinds_of(history, "b", 65_000) == ["assigned"]


def test_what_kafkajs_does_not_have_is_refused():
    for action in (
        timeline.unsubscribe(9_000, "a"), timeline.enforce_rebalance(9_000, "a"),
        timeline.subscribe(9_000, "a", ["t"]),
    ):  # fmt: skip
        with pytest.raises(
            TimelineError, match=f"{action.kind} of 'a': kafkajs's members do not have"
        ):
            play([action], KAFKAJS, until=20_000)
    with pytest.raises(TimelineError, match="kafkajs's members do not run cooperative-sticky"):
        play([], "cooperative-sticky", [Member("a", client="kafkajs")], until=20_000)


def test_a_heartbeat_of_kafkajs_that_failed_does_not_count():
    """As recorded: after a join the first one comes with the first fetch that is back."""
    first_join = timeline.join(61_000, Member("c"))
    for strategy, most in (("roundrobin", 3_200), (KAFKAJS, 700)):
        [first] = rounds(play([first_join], strategy, topics=NO_RECORDS), 61_000)
        again = timeline.join(first + 100, Member("d"))
        _, second = rounds(play([first_join, again], strategy, topics=NO_RECORDS), 61_000)
        assert most - 700 <= second - first <= most
    how = {"fetch_max_wait_ms": 20_000}  # where there are records fetches are back at once
    [first] = rounds(play([first_join], KAFKAJS, **how), 61_000)
    again = timeline.join(first + 5_000, Member("d"))
    _, second = rounds(play([first_join, again], KAFKAJS, **how), 61_000)
    assert second - first < 8_300


def test_a_group_of_kafkajs_joins_again_when_its_coordinator_moves():
    """As recorded: NOT_COORDINATOR is a rebalance to it. Who joins then tries again after 0.3 s, give or take a
    fifth, as its source says."""
    moves = timeline.coordinator_moves(60_010)
    for strategy, again in (("roundrobin", 0), (KAFKAJS, 1)):
        assert len(rounds(play([moves], strategy, topics=NO_RECORDS), 60_000)) == again
    history = play([moves], KAFKAJS, commit="auto")
    assert (
        told(history, "commit refused", 60_000)
        and timeline.deliveries_frame(history)["again"].sum()
    )
    history = play([timeline.join(60_000, Member("c")), moves], KAFKAJS, topics=NO_RECORDS)
    refused, tried = (e.time_ms for e in history.events if e.kind == "error")
    assert 240 <= tried - refused <= 370


@pytest.mark.parametrize("client", ["kafkajs", "kafka-go"])
def test_static_members_of_a_client_without_instance_ids_are_refused(client):
    static = Member("a", client=client, instance="i", strategies=["roundrobin"])
    with pytest.raises(TimelineError, match=f"{client}'s members are not played with instance"):
        play([], members=[static])


FRANZ_GO = [Member(name, client="franz-go") for name in "ab"]


def test_nobody_waits_for_a_member_of_franz_go_that_is_at_work():
    """As recorded: the group rebalances without it, and what it has at hand is read again by others."""
    topics = [Topic("t", 4, rate=50)]
    members = [Member(name, processing_ms=8) for name in "ab"]
    stalls = [timeline.stall(60_000, "b", 60_000)]
    how = {"max_poll_interval_ms": 20_000, "until": 160_000}
    assert not rounds(play(stalls, "franz-go-range", members, topics, **how), 60_000)
    joins = timeline.join(61_000, Member("c", processing_ms=8))
    history = play([*stalls, joins], "franz-go-range", members, topics, **how)
    [ended] = rounds(history, 61_000)
    assert ended < 65_000 and kinds_of(history, "b", 60_000) == ["revoked", "assigned"]
    read = timeline.deliveries_frame(history)
    assert read["again"].sum() > 0


def test_a_cooperative_member_of_franz_go_looks_soon_whether_the_others_join_again():
    """As recorded: the second rebalance comes half a second after the first, whatever heartbeats are."""
    how = {"heartbeat_interval_ms": 20_000, "until": 120_000}
    for client, least, most in (("franz-go", 500, 600), ("", 10_000, 20_100)):
        joins = [timeline.join(60_000, Member("c", client=client))]
        members = [Member(name, client=client) for name in "ab"]
        history = play(joins, "cooperative-sticky", members, [Topic("t", 6)], **how)
        first, second = rounds(history, 60_000)
        assert least <= second - first < most


def test_franz_go_keeps_the_partitions_of_a_topic_that_is_gone():
    """As recorded; its source says that they are assigned in later rebalances, too."""
    topics = [Topic("t", 2), Topic("t2", 2)]
    gone = [timeline.delete_topic(60_000, "t2"), timeline.join(120_000, Member("c"))]
    history = play(gone, "franz-go-range", topics=topics, metadata_max_age_ms=10_000)
    assert not [at for at in rounds(history, 60_000) if at < 120_000]
    assert sum(map(len, owners_at_end(history).values())) == 4


def test_franz_go_joins_with_the_topics_that_are_there_and_asks_for_the_others():
    """As recorded; unless set, every five seconds."""
    members = [Member("a", topics=["t", "t3"], client="franz-go")]
    created = [timeline.create_topic(60_000, Topic("t3", 2))]
    history = play(created, "range", members, [Topic("t", 2)])
    assert len(owners_at_end(history)["a"]) == 4
    [again] = rounds(history, 60_000)
    assert 60_000 < again < 65_100


def test_a_member_of_franz_go_whose_instance_id_is_taken_tries_for_ever():
    """As recorded: it loses what it has, and its application may go on."""
    members = [Member("a", instance="i"), Member("b")]
    taken = [timeline.join(60_000, Member("x", instance="i"))]
    history = play(taken, "franz-go-range", members, until=120_000)
    assert kinds_of(history, "a", 60_000) == ["lost"] and not told(history, "fatal")
    assert told(history, "error", 60_000).count("FENCED_INSTANCE_ID") > 10
    assert not rounds(history, 60_000) and len(owners_at_end(history)["x"]) == 3


def test_what_a_member_of_franz_go_takes_over_waits_for_the_fetch_that_is_out():
    """As recorded, where what it had has no records: a cooperative one waits, an eager one does not."""
    topics = [Topic("t", 1), Topic("t2", 1, rate=20)]
    members = [
        Member("a", client="franz-go"),
        Member("b", topics=["t2"], client="franz-go", start_ms=500),
    ]
    leaves = [timeline.leave(60_000, "b")]
    how = {"fetch_max_wait_ms": 20_000, "until": 120_000}
    waits = {}
    for strategy in ("cooperative-sticky", "range"):
        history = play(leaves, strategy, members, topics, **how)
        given = max(at for at, _, _ in heard_of(history, "a", 60_000))
        read = timeline.deliveries_frame(history)
        read = read[(read["member"] == "a") & (read["topic"] == "t2") & (read["to_ms"] > given)]
        waits[strategy] = read["from_ms"].max() - given
    assert waits["cooperative-sticky"] > 1_000 > waits["range"]


def test_an_eager_member_of_franz_go_forgets_what_it_had():
    """As recorded: its eager sticky strategy is told of no partitions."""
    scenario = Scenario([Topic("t", 6)], FRANZ_GO, duration_ms=20_000)
    for strategy, claimed in (("sticky", False), ("cooperative-sticky", True)):
        game = Simulation(scenario, Config(), (assignors.get(strategy),), 1)
        game.run()
        claim = game.world.running["a"]._claim_for(assignors.get(strategy))
        assert (claim is not None) == claimed


def test_the_protocol_that_is_chosen_says_whether_franz_go_is_cooperative():
    """As recorded: a group is when the last of its members lists the strategy; Java's one bounce later."""
    lists = ["cooperative-sticky", "range"]
    bounce = timeline.rolling_restart(60_000, "ab", 20_000, strategies=lists)
    joins = timeline.join(130_000, Member("c", strategies=lists, client="franz-go"))
    history = play([*bounce, joins], "range", FRANZ_GO, [Topic("t", 6)], until=160_000)
    assert len(rounds(history, 130_000)) == 2
    eager = timeline.join(150_000, Member("d", strategies=["range"], client="franz-go"))
    history = play([*bounce, joins, eager], "range", FRANZ_GO, [Topic("t", 6)], until=190_000)
    assert kinds_of(history, "a", 150_000) == ["revoked", "assigned"]


def test_what_franz_go_does_not_have_is_refused():
    for action in (timeline.unsubscribe(10_000, "a"), timeline.subscribe(10_000, "a", [])):
        with pytest.raises(
            TimelineError, match="unsubscribe of 'a': franz-go's members do not have"
        ):
            play([action], "franz-go-range", until=20_000)
    with pytest.raises(TimelineError, match="franz-go's members are not played with pattern"):
        play([], "range", [Member("a", pattern="t.*", client="franz-go")], until=20_000)
    assert rounds(play([], "franz-go-range", [Member("a", pattern="t.*")], until=20_000))


KAFKA_GO = "kafka-go-range"


def test_a_rebalance_of_kafka_go_waits_for_the_fetches_that_are_out():
    """As recorded: a second less than they may wait, or a quarter less where that is less than a second; with
    records in all partitions it waits for the next ones."""
    joins = [timeline.join(60_500, Member("c"))]
    for rate, wait, least, most in ((0, 10_000, 200, 9_100), (0, 400, 0, 400), (50, 10_000, 0, 60)):
        how = {"topics": [Topic("t", 6, rate=rate)], "fetch_max_wait_ms": wait, "until": 90_000}
        heard = heard_of(play(joins, KAFKA_GO, **how), "a", 60_500)
        (revoked, *_), (assigned, *_) = heard
        assert least <= assigned - revoked < most


def test_a_fetch_of_kafka_go_waits_anew_when_a_record_has_come():
    """As recorded."""
    joins = [timeline.join(60_500, Member("c"))]
    topics = [Topic("t", 2, rate=0.02)]  # each partition's first record comes at 50 s
    history = play(joins, KAFKA_GO, topics=topics, fetch_max_wait_ms=10_000, until=90_000)
    [assigned] = [at for at, kind, _ in heard_of(history, "a", 60_500) if kind == "assigned"]
    assert 68_000 < assigned < 68_050


def test_a_member_of_kafka_go_sends_no_heartbeats_while_it_waits_for_its_fetches():
    """As recorded: where they may wait for longer than a session the group expels it, and it is back 5 s after
    it has been told."""
    how = {"fetch_max_wait_ms": 10_000, "session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000}
    joins = [timeline.join(60_500, Member("c"))]
    topics = [Topic("t", 6)]
    history = play(joins, KAFKA_GO, topics=topics, until=100_000, **how)
    assert told(history, "error", 60_500).count("UNKNOWN_MEMBER_ID") == 2
    [(at, _, _)] = [call for call in heard_of(history, "a", 60_500) if call[1] == "assigned"][:1]
    [error, *_] = [e.time_ms for e in history.events if e.kind == "error" and e.time_ms > 60_500]
    assert at > error + 5_000
    history = play(
        joins, KAFKA_GO, topics=topics, until=100_000, **{**how, "session_timeout_ms": 30_000}
    )
    assert not told(history, "error", 60_500)


def test_heartbeats_of_kafka_go_tick():
    """As recorded: the end of a session that is some heartbeats long is heard of at once or a heartbeat later,
    by chance; and one that is late makes no other late, as its source says."""
    how = {"heartbeat_interval_ms": 1_000, "fetch_max_wait_ms": 500, "until": 80_000}
    apart = set()
    for seed in range(8):
        crashes = [timeline.crash(60_500, "c")]
        history = play(
            crashes, KAFKA_GO, "abc", [Topic("t", 6)], seed, session_timeout_ms=6_000, **how
        )
        first, last = sorted(heard_of(history, name, 60_500)[0][0] for name in "ab")
        apart.add(round((last - first) / 1_000))
    assert apart == {0, 1}
    joins = [timeline.join(60_500, Member("c"))]
    history = play(joins, KAFKA_GO, topics=[Topic("t", 6)], heartbeat_drift_ms=100, **how)
    first, last = sorted(heard_of(history, name, 60_500)[0][0] for name in "ab")
    assert last - first < 110


@pytest.mark.parametrize("commit", ["auto", "after"])
def test_a_member_of_kafka_go_that_was_expelled_is_back_after_five_seconds(commit):
    """As recorded: whatever its commits are answered with."""
    how = {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "until": 100_000}
    topics, freezes = [Topic("t", 6, rate=50)], [timeline.freeze(60_000, "b", 9_000)]
    history = play(freezes, KAFKA_GO, topics=topics, commit=commit, **how)
    (revoked, first, _), (assigned, then, _) = heard_of(history, "b", 60_000)
    assert (first, then) == ("revoked", "assigned") and 5_000 < assigned - revoked < 7_000


def test_close_of_kafka_go_waits_for_the_fetches_that_are_out():
    """As recorded."""
    how = {"fetch_max_wait_ms": 10_000, "topics": [Topic("t", 6)], "until": 80_000}
    history = play([timeline.leave(60_500, "a")], KAFKA_GO, **how)
    [closed] = [e.time_ms for e in history.events if e.kind == "closed"]
    assert 60_600 < closed < 69_600


def test_a_member_of_kafka_go_reads_at_once_what_it_is_given():
    """Every generation has connections of its own."""
    topics = [Topic("t", 1), Topic("t2", 1, rate=20)]
    members = [Member("a"), Member("b", topics=["t2"], start_ms=500)]
    leaves = [timeline.leave(60_000, "b")]
    history = play(leaves, KAFKA_GO, members, topics, fetch_max_wait_ms=20_000, until=120_000)
    given = max(at for at, _, _ in heard_of(history, "a", 60_000))
    read = timeline.deliveries_frame(history)
    read = read[(read["member"] == "a") & (read["topic"] == "t2") & (read["to_ms"] > given)]
    assert read["from_ms"].max() - given < 1_000


def test_nobody_waits_for_a_member_of_kafka_go_that_is_at_work():
    """As recorded: it keeps its partitions; a rebalance goes on without it, and a record that is at hand is
    read again."""
    topics = [Topic("t", 4, rate=50)]
    members = [Member(name, processing_ms=8) for name in "ab"]
    stalls = [timeline.stall(60_000, "b", 60_000)]
    how = {"max_poll_interval_ms": 20_000, "until": 160_000}
    assert not rounds(play(stalls, KAFKA_GO, members, topics, **how), 60_000)
    joins = timeline.join(61_000, Member("c", processing_ms=8))
    history = play([*stalls, joins], KAFKA_GO, members, topics, commit="after", **how)
    [ended] = rounds(history, 61_000)
    assert ended < 65_000 and kinds_of(history, "b", 60_000) == ["revoked", "assigned"]
    again = timeline.deliveries_frame(history)["again"].sum()
    assert 0 < again <= 3  # one a member, where Java's would be a whole batch


def test_a_member_of_kafka_go_may_hand_out_one_record_more_in_a_rebalance():
    """As recorded: its commit waits for the next generation, which reads it again."""
    joins, topics = [timeline.join(60_500, Member("c"))], [Topic("t", 6, rate=50)]
    again = set()
    for seed in range(6):
        history = play(joins, KAFKA_GO, topics=topics, commit="before", seed=seed, until=90_000)
        again.add(int(timeline.deliveries_frame(history)["again"].sum()))
    assert again <= {0, 1, 2} and len(again) > 1


@pytest.mark.parametrize("commit", ["auto", "before"])
def test_read_message_of_kafka_go_commits_before_a_record_is_processed(commit):
    """As recorded: who crashes at a record loses it, also where commits are made every so often."""
    members = [Member(name, processing_ms=2_500) for name in "ab"]
    topics, how = [Topic("t", 1, rate=1)], {"auto_commit_interval_ms": 1_000}
    crashes = [timeline.crash(62_900, name) for name in "ab"]
    joins = timeline.join(75_000, Member("c"))
    history = play([*crashes, joins], KAFKA_GO, members, topics, commit=commit, **how)
    assert measure.lost_records(history)["records"].sum() == 1
    history = play([*crashes, joins], KAFKA_GO, members, topics, commit="after", **how)
    assert not measure.lost_records(history)["records"].sum()
    rebalances = [timeline.join(62_900, Member("c", topics=["t2"]))]
    topics.append(Topic("t2", 1))
    history = play(rebalances, KAFKA_GO, members, topics, commit=commit, **how)
    assert len(rounds(history, 62_900)) == 1
    assert not timeline.deliveries_frame(history)["again"].sum()


def test_a_group_of_kafka_go_gets_nothing_where_a_topic_is_not_there():
    """As recorded: of no topic, from the next rebalance on until the one after it is there."""
    topics, members = [Topic("t", 4), Topic("t2", 2)], [Member("a"), Member("b", topics=["t"])]
    gone = [timeline.delete_topic(60_000, "t2"), timeline.join(90_000, Member("c", topics=["t"]))]
    history = play(gone[:1], KAFKA_GO, members, topics)
    assert not rounds(history, 60_000)
    history = play(gone, KAFKA_GO, members, topics)
    assert len(rounds(history, 60_000)) == 1 and not any(owners_at_end(history).values())


def test_all_members_of_kafka_go_watch_how_many_partitions_there_are():
    """As recorded: from the beginning of a generation on; without that growth is seen at the next rebalance."""
    grown = [timeline.add_partitions(60_000, "t", 8)]
    how = {"topics": [Topic("t", 4)], "until": 100_000}
    history = play(grown, KAFKA_GO, metadata_max_age_ms=20_000, **how)
    assert {call[1] for name in "ab" for call in heard_of(history, name, 60_000)[:1]} == {"revoked"}
    assert told(history, "rejoin", 60_000)[:2] == ["partition changes found"] * 2
    assert not rounds(play(grown, KAFKA_GO, metadata_max_age_ms=200_000, **how), 60_000)


def test_who_is_closed_while_it_joins_kafka_go_gets_nothing():
    """As recorded: its join comes to an end, and then it leaves."""
    actions = [
        timeline.stall(60_000, "a", 20_000), timeline.join(61_000, Member("c", strategies=[KAFKA_GO])),
        timeline.leave(70_000, "b"),
    ]  # fmt: skip
    members = [Member("a", strategies=["sarama-range"]), Member("b", start_ms=500)]
    history = play(actions, KAFKA_GO, members, [Topic("t", 6, rate=10)], until=120_000)
    [closed] = [e.time_ms for e in history.events if e.kind == "closed"]
    assert closed > 79_000 and "assigned" not in kinds_of(history, "b", 60_000)


def test_a_group_of_kafka_go_whose_coordinator_moves_rebalances():
    """As recorded: whoever is told so joins the new one; Java's goes on. Who joins meanwhile is back after 5 s."""
    moves = [timeline.coordinator_moves(60_000)]
    assert not rounds(play(moves, "range", until=90_000), 60_000)
    history = play(moves, KAFKA_GO, until=90_000)
    assert rounds(history, 60_000) and not told(history, "error", 60_000)
    late = [timeline.join(60_500, Member("c")), timeline.coordinator_moves(60_520)]
    history = play(late, KAFKA_GO, topics=[Topic("t", 6)], until=90_000)
    assert told(history, "error", 60_000)[:1] == ["NOT_COORDINATOR"]
    assert 65_500 < next(at for at, kind, _ in heard_of(history, "c", 60_000) if kind == "assigned")
    history = play(
        [*late, timeline.leave(60_510, "c")], KAFKA_GO, topics=[Topic("t", 6)], until=90_000
    )
    [closed] = [e.time_ms for e in history.events if e.kind == "closed"]
    assert closed < 61_000


def test_commits_of_kafka_go_fail_once_its_coordinator_has_moved():
    """As recorded: they go to the broker before, and what was processed is processed again; Java's do not fail."""
    moves = [timeline.coordinator_moves(60_500)]
    topics, how = [Topic("t", 6, rate=10)], {"auto_commit_interval_ms": 1_000, "until": 90_000}
    for strategy, commit, least, most in (
        (KAFKA_GO, "auto", 20, 200),
        (KAFKA_GO, "after", 1, 20),
        ("range", "auto", 0, 0),
        ("range", "after", 0, 0),
    ):
        history = play(moves, strategy, topics=topics, commit=commit, **how)
        assert least <= timeline.totals(history)["repeated"] <= most
        assert bool(told(history, "commit refused", 60_000)) == (strategy == KAFKA_GO)


def test_whose_sync_is_refused_joins_kafka_go_again_at_once():
    """As recorded: it joined before the leader, and got what it had."""
    moves = [timeline.coordinator_moves(60_000)]
    how = {"latency_ms": 100, "fetch_max_wait_ms": 400, "heartbeat_interval_ms": 1_000}
    errors = set()
    for seed in range(16):
        history = play(moves, KAFKA_GO, "abc", [Topic("t", 6)], seed, until=80_000, **how)
        errors.update(told(history, "error", 60_000))
        assert all(at < 65_000 for name in "abc" for at, _, _ in heard_of(history, name, 60_000))
    assert errors == {"REBALANCE_IN_PROGRESS"}


def test_kafka_go_shares_no_group_with_clients_of_other_subscriptions():
    """As recorded: Java's leader dies of it, librdkafka's gives it nothing, and it leaves where it leads."""
    for leads, ends, partitions in (
        ("range", ("fatal", "SchemaException"), 0),
        ("kafka-python-range", ("fatal", "SchemaException"), 0),
        ("librdkafka-range", None, 0),
        ("sarama-range", None, 3),
        ("franz-go-range", None, 3),
        ("aiokafka-range", None, 3),
    ):
        members = [Member("a", strategies=[leads]), Member("b", start_ms=500)]
        history = play([], KAFKA_GO, members, [Topic("t", 6)], until=10_500)
        assert {(e.kind, e.detail) for e in history.events if e.kind == "fatal"} == {ends} - {None}
        assert len(owners_at_end(history).get("b", ())) == partitions
        members = [Member("a"), Member("b", start_ms=500, strategies=[leads])]
        history = play([], KAFKA_GO, members, [Topic("t", 6)], until=10_500)
        reads = leads in ("kafka-python-range", "aiokafka-range")
        assert told(history, "error") == ([] if reads else ["unable to read metadata for member"])
        assert len(owners_at_end(history).get("b", ())) == (3 if reads else 6)


@pytest.mark.parametrize("joins_at", [None, 12_000])
def test_javas_leader_that_dies_in_poll_is_waited_for_until_its_poll_interval_is_over(joins_at):
    """As recorded: nobody has closed it, and its heartbeats go on; also where the group rebalances meanwhile."""
    members = [Member("a", strategies=["range"]), Member("b", start_ms=500)]
    joins = [timeline.join(joins_at, Member("c"))] if joins_at else []
    how = {"session_timeout_ms": 6_000, "max_poll_interval_ms": 20_000}
    history = play(joins, KAFKA_GO, members, [Topic("t", 6)], until=40_000, **how)
    [died] = [e.time_ms for e in history.events if e.kind == "fatal"]
    removed = [e for e in history.events if e.kind == "removed"]
    [gone] = [e.time_ms for e in removed if history.members[e.member] == "a"]
    assert 19_900 <= gone - died <= 20_100
    assert sum(map(len, owners_at_end(history).values())) == 6


def test_kafka_go_waits_for_sync_group_a_session_and_five_seconds():
    """As recorded: then it leaves, and is back 5 s later."""
    members = [Member("a", strategies=["range"]), Member("b", start_ms=500)]
    how = {"session_timeout_ms": 6_000, "max_poll_interval_ms": 12_000}
    history = play([], KAFKA_GO, members, [Topic("t", 6)], until=40_000, **how)
    [died] = [e.time_ms for e in history.events if e.kind == "fatal"]
    [at] = [e.time_ms for e in history.events if e.kind == "error" and e.detail == "i/o timeout"]
    assert 11_000 <= at - died <= 11_010
    [(assigned, _, labels)] = heard_of(history, "b", died)
    delay = history.config.group_initial_rebalance_delay_ms
    assert len(labels) == 6 and 0 <= assigned - at - 5_000 - delay <= 100


@pytest.mark.parametrize("action", ["subscribe", "unsubscribe", "enforce_rebalance"])
def test_what_kafka_go_does_not_have_is_refused(action):
    done = {
        "subscribe": timeline.subscribe(10_000, "a", ["t"]),
        "unsubscribe": timeline.unsubscribe(10_000, "a"),
        "enforce_rebalance": timeline.enforce_rebalance(10_000, "a"),
    }
    with pytest.raises(TimelineError, match=f"{action} of 'a': kafka-go's members do not have"):
        play([done[action]], KAFKA_GO, until=20_000)
    static = Member("a", instance="i", client="kafka-go")
    with pytest.raises(TimelineError, match="are not played with instance"):
        play([], "range", [static], until=20_000)
    with pytest.raises(TimelineError, match="kafka-go's members do not run"):
        play([], COOPERATIVE, [replace(static, instance=None)], until=20_000)
    assert rounds(play([], KAFKA_GO, [Member("a", instance="i")], until=20_000))


def test_a_list_of_aiokafka_is_sent_one_strategy_after_the_other():
    """As recorded: a group joins once for each."""
    history = play([], ["aiokafka-range", "aiokafka-sticky"], until=20_000)
    assert len(rounds(history)) == 2
    assert told(history, "generation")[0].startswith("range")


def test_a_leader_of_aiokafka_that_reads_a_deleted_topic_commits_for_ever():
    """As recorded: it joins no more, reads nothing, and its heartbeats keep it in the group."""
    topics = [Topic("t", 2, rate=10), Topic("t2", 2, rate=10)]
    gone = [timeline.delete_topic(60_000, "t2")]
    history = play(gone, "aiokafka-range", topics=topics, until=400_000)
    assert not rounds(history, 60_000) and not told(history, "removed")
    read = timeline.deliveries_frame(history)
    assert len(owners_at_end(history)["a"]) == 2 and read["from_ms"].max() < 61_000
    assert rounds(play(gone, "aiokafka-range", topics=topics, commit="after"), 60_000)


def test_a_static_leader_of_another_client_that_is_back_watches_no_topics():
    """As recorded: the coordinator does not tell its JoinGroup that it leads."""
    grown = [timeline.restart(50_000, "a", 2_000), timeline.add_partitions(61_000, "t", 8)]
    members = [Member(name, instance=name) for name in "ab"]
    others = [(f"{client}-range", 6) for client in ("aiokafka", "kafka-python", "sarama")]
    for strategy, partitions in (("range", 8), ("franz-go-range", 8), *others):
        history = play(grown, strategy, members, metadata_max_age_ms=5_000)
        assert sum(map(len, owners_at_end(history).values())) == partitions


def test_aiokafka_that_closes_or_subscribes_in_a_rebalance():
    """As recorded: the one waits for the end, the other joins anew and hears of the second join alone."""
    busy = [timeline.stall(60_000, "a", 30_000), timeline.join(61_000, Member("d"))]
    members = [Member("a", strategies=["range"]), Member("b"), Member("c")]
    topics = [Topic("t", 3), Topic("t2", 3)]
    for happens, generations in (
        (timeline.leave(70_000, "b"), 2),
        (timeline.subscribe(70_000, "b", ["t"]), 2),
    ):
        history = play([*busy, happens], "aiokafka-range", members, topics)
        assert kinds_of(history, "b", 61_000) == ["revoked", "assigned"]
        assert len(rounds(history, 61_000)) == generations
    assert told(history, "fatal") == []


def test_claims_of_aiokafka_have_no_generation_whoever_leads():
    """As recorded: for Java's leader two of them that claim the same are as old as each other."""
    members = [Member("a"), Member("b", client="aiokafka", start_ms=500)]
    scenario = Scenario([Topic("t", 6)], members, duration_ms=20_000)
    game = Simulation(scenario, Config(), (assignors.get("sticky"),), 1)
    game.run()
    claims = [game.world.running[n]._claim_for(assignors.get("sticky")) for n in "ab"]
    assert [(claim.generation, claim.codes.size) for claim in claims] == [(1, 3), (-1, 3)]


def test_the_only_reader_of_a_topic_that_leaves_aiokafka_is_one_rebalance():
    """As recorded: its leader compares with what its group reads now; Java's joins once more."""
    members = [Member("a", topics=["t"]), Member("b", topics=["t", "t2"], start_ms=1_000)]
    topics = [Topic("t", 4), Topic("t2", 2)]
    others = [(f"{client}-range", 1) for client in ("aiokafka", "sarama", "franz-go")]
    for strategy, generations in (("range", 2), *others):
        history = play([timeline.leave(60_000, "b")], strategy, members, topics, until=500_000)
        assert len(rounds(history, 60_000)) == generations


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "server-uniform"])
def test_aiokafka_runs_eager_strategies_alone(strategy):
    with pytest.raises(TimelineError, match="aiokafka"):
        play([], strategy, [Member("a", client="aiokafka")], until=1_000)


def test_a_join_of_kafka_python_that_only_a_subscription_called_for_is_forgotten():
    """As recorded: who subscribes joins, has nothing, and is expelled; not where a poll lasts as long as
    the rebalance, as measured."""
    less = [timeline.subscribe(61_000, "b", ["t"])]
    topics = [Topic("t", 4), Topic("t2", 4)]
    for poll_ms, removed in ((100, ["session expired"]), (5_000, [])):
        history = play(less, "kafka-python-range", topics=topics, poll_timeout_ms=poll_ms)
        assert told(history, "removed", 60_000) == removed
        assert kinds_of(history, "b", 60_000) == ["revoked", "assigned"][: 1 + (not removed)]
    again = timeline.subscribe(120_000, "b", ["t", "t2"])
    history = play([*less, again], "kafka-python-range", topics=topics)
    assert len(owners_at_end(history)["b"]) == 4
    assert kinds_of(history, "b", 60_000) == ["revoked", "assigned"]


def test_a_leader_of_kafka_python_assigns_while_its_application_is_at_work_and_joins_again_after_it():
    """As recorded: a join goes on without a poll, and what no poll has awaited is asked for anew."""
    busy = [
        timeline.stall(60_000, "b", 20_000), timeline.join(61_000, Member("d")),
        timeline.stall(70_000, "a", 30_000),
    ]  # fmt: skip
    for client, ended, generations in (("", 100_000, 1), ("kafka-python", 80_000, 2)):
        members = [Member("a", client=client), Member("b", start_ms=500)]
        history = play(busy, "range", members, until=120_000)
        assert ended <= heard_of(history, "d", 61_000)[0][0] < ended + 1_000
        assert len(rounds(history, 61_000)) == generations
        assert heard_of(history, "a", 70_000)[0][0] >= 100_000


def test_who_takes_an_instance_id_of_kafka_python_leaves_the_other_one_at_work():
    """As recorded: its heartbeats end with the answer, and nobody tells the application."""
    members = [Member("a", instance="i", client="kafka-python"), Member("b", client="kafka-python")]
    happens = [timeline.join(60_000, Member("x", instance="i", client="kafka-python"))]
    for commit, fatal in (("none", []), ("auto", ["FENCED_INSTANCE_ID"])):
        history = play(happens, "range", members, commit=commit)
        assert told(history, "fatal") == fatal
        read = timeline.deliveries_frame(history)
        assert (read[read["member"] == "a"]["to_ms"].max() > 149_000) is not bool(fatal)


def test_a_cooperative_member_of_kafka_python_reads_nothing_in_a_rebalance():
    """By its source: a poll waits for the join; and as recorded its listener hears of new partitions alone."""
    happens = [timeline.stall(60_000, "b", 30_000), timeline.join(61_000, Member("c"))]
    for strategy, reads in (
        ("cooperative-sticky", True),
        ("kafka-python-cooperative-sticky", False),
    ):
        history = play(happens, strategy)
        frame = timeline.watched_frame(history)
        waits = frame[frame["time_ms"].between(70_000, 89_000)]
        assert (waits["position"].nunique() > 1) is reads
        calls = heard_of(history, "a", 61_000)
        assert all(labels for _, _, labels in calls) is not reads


def test_a_leader_of_kafka_python_joins_once_more_as_soon_as_the_only_reader_of_a_topic_is_gone():
    """As recorded: it looks at its topics after every assignment."""
    members = [Member("a", topics=["t"]), Member("b", topics=["t", "t2"], start_ms=1_000)]
    topics = [Topic("t", 4), Topic("t2", 2)]
    history = play([timeline.leave(60_000, "b")], "kafka-python-range", members, topics)
    first, second = rounds(history, 60_000)
    assert second - first < 1_000


def test_a_member_of_kafka_python_that_is_late_for_its_poll_leaves_with_a_heartbeat():
    """As recorded: its task looks when it has one to send."""
    stalls = [timeline.stall(60_000, "b", 60_000)]
    left = {}
    for strategy in ("range", "kafka-python-range"):
        history = play(stalls, strategy, max_poll_interval_ms=30_000, heartbeat_interval_ms=8_000)
        [left[strategy]] = [e.time_ms for e in history.events if e.kind == "poll interval exceeded"]
    assert left["range"] < 90_200 and 90_200 < left["kafka-python-range"] < 98_500


def test_what_a_listener_of_kafka_python_hears_of_the_end():
    """As recorded: who closes in a rebalance hears a second time of what it had; by its source, nothing is
    heard by who unsubscribes, which commits."""
    busy = [timeline.stall(60_000, "a", 30_000), timeline.join(61_000, Member("d"))]
    members = [Member("a", strategies=["range"]), Member("b"), Member("c")]
    history = play([*busy, timeline.leave(70_000, "b")], "kafka-python-range", members)
    assert kinds_of(history, "b", 61_000) == ["revoked", "revoked"]
    history = play([timeline.unsubscribe(60_500, "b")], "kafka-python-range")
    assert kinds_of(history, "b", 60_000) == [] and told(history, "removed", 60_000) == ["left"]
    assert not timeline.deliveries_frame(history)["again"].sum()


def test_a_static_member_of_kafka_python_that_is_given_too_much_joins_with_every_poll():
    """As recorded: the coordinator sees no change; and time goes on, whatever the latency."""
    members = [Member(name, instance=name) for name in "ab"]
    happens = [timeline.unsubscribe(60_000, "b"), timeline.subscribe(62_000, "b", ["t"])]
    topics = [Topic("t", 3), Topic("t2", 3)]
    history = play(happens, "kafka-python-range", members, topics, until=72_000, latency_ms=0)
    assert 90 <= len(told(history, "rejoin", 62_000)) <= 110 and not rounds(history, 60_000)


def test_kafka_python_commits_in_vain_for_a_poll():
    """As recorded: where a topic is gone its commit before a join ends with its poll."""
    topics = [Topic("t", 2, rate=10), Topic("t2", 2, rate=10)]
    gone = [timeline.delete_topic(60_000, "t2")]
    for strategy, lasts_ms in (("range", 300_000), ("kafka-python-range", 100)):
        history = play(gone, strategy, topics=topics, until=400_000)
        assert lasts_ms <= calls_after(history, 60_000)[0][0] - 60_000 <= lasts_ms + 100


def test_members_of_kafka_python_with_a_pattern_rebalance_over_and_over_with_short_polls():
    """As measured: a poll asks for the topics before it looks after the join."""
    members = [Member(n, pattern="t.*", start_ms=700 * i) for i, n in enumerate("abc")]
    fields = {"until": 60_000, "heartbeat_interval_ms": 1_000}
    generations = {
        poll_ms: sum(
            len(
                rounds(
                    play(
                        [],
                        "kafka-python-range",
                        members,
                        seed=seed,
                        poll_timeout_ms=poll_ms,
                        **fields,
                    )
                )
            )
            for seed in range(5)
        )
        for poll_ms in (50, 300)
    }
    assert generations[50] > 10 and generations[300] == 5


@pytest.mark.parametrize("strategies", [["server-uniform"], ["cooperative-sticky", "range"]])
def test_what_kafka_python_does_not_run(strategies):
    with pytest.raises(TimelineError, match="kafka-python"):
        play([], "range", [Member("a", client="kafka-python", strategies=strategies)], until=1_000)


def test_who_restarts_twice_before_it_is_back_is_back_once():
    twice = [timeline.restart(at, "b", 5_000) for at in (60_000, 62_000)]
    history = play([*twice, timeline.crash(100_000, "b")])
    starts = [e.time_ms for e in history.events if e.kind == "started" and e.member == 1]
    assert starts == [0, 65_000]


@pytest.mark.parametrize(
    "kind, why", [("range", "left"), ("cooperative-sticky", "session expired")]
)
def test_librdkafkas_cooperative_member_without_partitions_does_not_leave(kind, why):
    """As recorded: its group is rid of it when its session is over."""
    history = play([timeline.leave(61_000, "c")], f"librdkafka-{kind}", "abc", [Topic("t", 2)])
    assert told(history, "closed") and told(history, "removed", 61_000) == [why]


def test_librdkafka_whose_join_failed_waits_two_seconds():
    """As recorded: one for the coordinator that moved, one for an id that the new one does not know."""
    moves = [timeline.join(61_100, Member("c")), timeline.coordinator_moves(61_500)]
    for seed in range(1, 6):
        history = play(moves, "librdkafka-range", heartbeat_interval_ms=1_000, seed=seed)
        assert 65_000 <= heard_of(history, "c", 61_000)[0][0] < 67_500


def test_intervals_of_a_consumer_count_from_when_it_was_made():
    """Looks of librdkafka's client at its topics, and automatic commits of the consumer protocol."""
    grown = [timeline.add_partitions(61_000, "t", 8)]
    looks = {}
    for made in (None, -20_000):
        members = [Member(name, made_ms=made) for name in "ab"]
        history = play(grown, "librdkafka-range", members, metadata_max_age_ms=50_000)
        looks[made] = calls_after(history, 61_000)[0][0]
    assert 100_000 <= looks[None] < 101_000 and 80_000 <= looks[-20_000] < 81_000
    crashes = [timeline.crash(62_000, "a")]
    again = []
    for made in (0, -2_000):
        members = [Member("a", made_ms=made, client="librdkafka"), Member("b", client="librdkafka")]
        history = play(crashes, "server-range", members, auto_commit_interval_ms=40_000)
        again.append(timeline.deliveries_frame(history)["again"].sum())
    assert again[0] != again[1]


@pytest.mark.parametrize("release", ["4.0", "4.4"])
def test_under_kip_848_what_a_member_is_given_begins_the_interval_of_its_auto_commits(release):
    """signalReconciliationCompleting, as recorded: a gives a partition up at 30 s."""
    config = timeline.defaults(
        release, auto_commit_interval_ms=20_000, auto_offset_reset="earliest"
    )
    actions = [timeline.join(30_000, Member("b")), timeline.crash(55_500, "a")]
    scenario = Scenario([Topic("t", 2, rate=10)], [Member("a")], actions, 130_000)
    history = timeline.run(scenario, config, SERVER, 1)
    acknowledged = max(at for at, kind, _ in heard_of(history, "a", 30_000) if kind == "assigned")
    again = timeline.deliveries_frame(history)["again"].sum()
    assert again == pytest.approx((55_500 - acknowledged - 20_000) / 100, abs=2)


@pytest.mark.parametrize("goes", [timeline.leave, timeline.restart])
@pytest.mark.parametrize("commit", ["auto", "after"])
def test_who_closes_after_a_batch_takes_no_part_in_a_rebalance_any_more(commit, goes):
    """The run did not end: a commit kept its last poll, which waited for the next one."""
    happens = [
        timeline.stall(50_000, "a", 10_000),
        timeline.join(52_000, Member("c")),
        goes(55_000, "a"),
    ]
    history = play(happens, SERVER, topics=[Topic("t", 6, rate=100)], commit=commit,
                   commit_on_revoke=True)  # fmt: skip
    (closed,) = [e.time_ms for e in history.events if e.kind == "closed"]
    assert 60_000 < closed < 60_100


def test_under_kip_848_librdkafka_leaves_a_poll_interval_at_its_next_poll():
    """As recorded; or the coordinator is rid of it when its session is over."""
    given = {}
    for client, stall_ms in (("", 50_000), ("librdkafka", 50_000), ("librdkafka", 200_000)):
        members = [Member("a", client=client), Member("b", client=client)]
        history = play([timeline.stall(60_000, "a", stall_ms)], "server-range", members,
                       max_poll_interval_ms=20_000, until=300_000)  # fmt: skip
        given[client, stall_ms] = calls_after(history, 61_000)[0][:3]
    [java, soon, late] = given.values()
    assert 80_000 <= java[0] < 90_000 and java[1:] == ("b", "assigned")
    assert 110_000 <= soon[0] < 111_000 and soon[1:] == ("a", "lost")
    session_over = 60_000 + 20_000 + Config().group_consumer_session_timeout_ms
    assert session_over - 5_000 <= late[0] <= session_over + 6_000 and late[1:] == ("b", "assigned")


def test_a_client_is_javas_or_librdkafkas():
    with pytest.raises(UnknownName, match="unknown client 'kafka-net'"):
        play([], members=[Member("a", client="kafka-net")])
    with pytest.raises(TimelineError, match="client of 'a'"):
        play([], members=[Member("a", client=1)])
    with pytest.raises(TimelineError, match="client of 'a': librdkafka cannot run scala-range"):
        play([], "scala-range", members=[Member("a", client="librdkafka")])


@pytest.mark.parametrize(
    ("client", "strategies", "told"),
    [
        ("librdkafka", ["kafka-python-range"], "client of 'a': librdkafka cannot run kafka-python-range"),
        ("sarama", ["range", "aiokafka-sticky"], "client of 'a': sarama cannot run range, aiokafka-sticky"),
        ("", ["librdkafka-range", "kafka-python-sticky"], "kafka-python-sticky: no client has them all"),
    ],
)  # fmt: skip
def test_a_member_runs_one_client(client, strategies, told):
    with pytest.raises(TimelineError, match=told):
        play([], members=[Member("a", client=client, strategies=strategies)], until=1_000)


@pytest.mark.parametrize("made", [1, 2.5, True, "0"])
def test_a_consumer_is_made_before_it_starts(made):
    with pytest.raises(TimelineError, match="made_ms of 'a': expected an integer from -"):
        play([], members=[Member("a", made_ms=made)])


@pytest.mark.parametrize("rate", [0.3, 1, 7, 9, 11, 1e5, 123.4])
def test_logs_have_what_their_rate_says(rate):
    for seconds in (3, 7, 10, 33):
        history = play([], topics=[Topic("t", 1, rate=rate)], until=seconds * 1_000)
        assert history.produced.tolist() == [int(Fraction(str(rate)) * seconds)]


def test_the_log_of_a_deleted_topic_stays_as_it_was_read():
    topics = [Topic("t", 1), Topic("big", 1, rate=1e8)]
    produced = [
        play([timeline.delete_topic(20_000, "big")], "range", "a", topics, until=until).produced[1]
        for until in (21_000, 500_000)
    ]
    assert produced[0] == produced[1] > 0


def test_poll_waits_for_enough_data_or_its_time():
    quick = play([], members="a", topics=[Topic("t", 1, rate=2)])
    patient = play([], members="a", topics=[Topic("t", 1, rate=2)], fetch_min_records=10,
                   fetch_max_wait_ms=10_000)  # fmt: skip
    hasty = play([], members="a", topics=[Topic("t", 1, rate=2)], fetch_min_records=10,
                 fetch_max_wait_ms=2_000)  # fmt: skip
    assert quick.polls > hasty.polls > patient.polls > 20
    assert quick.polls == pytest.approx(2 * 147, abs=3)
    assert patient.polls == pytest.approx(147 / 5, abs=2)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 30), st.integers(0, 12)), max_size=12))
@settings(max_examples=60, deadline=None)
def test_laying_deliveries_over_each_other_counts_every_record(deliveries):
    dense = np.array(sorted(p for p, _, _ in deliveries), dtype=np.int64)
    ordered = sorted(deliveries, key=lambda d: d[0])
    starts = np.array([low for _, low, _ in ordered], dtype=np.int64)
    stops = starts + np.array([size for _, _, size in ordered], dtype=np.int64)
    again = measure.lay(dense, starts, stops, 3)
    counts = np.zeros((3, 50), dtype=np.int64)
    for i, (p, low, size) in enumerate(ordered):
        assert again[i] == (counts[p, low : low + size] > 0).sum()
        counts[p, low : low + size] += 1
    assert measure.exactly_once(dense, starts, stops) == (counts == 1).sum()


INTERVALS = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 20), st.integers(0, 9)), max_size=6
)


@given(INTERVALS, INTERVALS, st.tuples(st.integers(0, 29), st.integers(0, 29)))
@example([(0, 14, 2)], [(0, 1, 7), (0, 0, 17), (0, 2, 10), (0, 0, 19)], (19, 0))
@settings(max_examples=60, deadline=None)
def test_what_is_passed_over_for_good_is_counted_once_at_the_first_who_did(read, skips, frontier):
    def columns(intervals):
        dense, low, size = np.array(sorted(intervals, key=lambda one: one[0]) or [(0, 0, 0)]).T
        return dense, low, low + size

    delivered, passed = columns(read), columns(skips)
    zeros = np.zeros_like(delivered[0])
    found = measure.missing(
        Delivery(*delivered, zeros, 0, zeros, 0), Skip(*passed, passed[0], 0), np.array(frontier)
    )
    known = {(p, at) for p, low, high in zip(*delivered, strict=True) for at in range(low, high)}
    for (p, low, high), records in zip(zip(*passed, strict=True), found, strict=True):
        new = {(p, at) for at in range(low, min(high, frontier[p]))} - known
        assert records == len(new)
        known |= new


# ---- whatever happens --------------------------------------------------------------------------

NAMES = ("m0", "m1", "m2")
MOMENTS = st.integers(8_000, 150_000)


def someone(make, *values):
    return st.builds(make, MOMENTS, st.sampled_from(NAMES), *values)


ACTIONS = st.lists(
    st.one_of(
        someone(timeline.crash),
        someone(timeline.leave),
        someone(timeline.back),
        someone(timeline.restart, st.integers(0, 60_000)),
        someone(timeline.stall, st.integers(0, 80_000)),
        someone(timeline.freeze, st.integers(0, 80_000)),
        st.builds(timeline.coordinator_moves, MOMENTS),
        st.builds(lambda at: timeline.add_partitions(at, "t1", 5), MOMENTS),
    ),
    max_size=6,
)
COMMITS = {"transaction": "exactly once", "before": "at most once"}


@st.composite
def histories(draw):
    """A scenario, a configuration and a strategy."""
    static = draw(st.booleans())
    members = [
        Member(
            name, instance=f"i-{name}" if static else None, start_ms=draw(st.integers(0, 5_000)),
            processing_ms=draw(st.sampled_from([0.0, 0.1, 1.0, 5.0])),
            pattern=draw(st.sampled_from([None, "t.*"])),
        )
        for name in NAMES
    ]  # fmt: skip
    actions = draw(ACTIONS)
    if draw(st.booleans()):
        actions = [*actions, timeline.create_topic(draw(MOMENTS), Topic("t9", 2, rate=5))]
    topics = [
        Topic("t0", draw(st.integers(1, 5)), rate=draw(st.sampled_from([1, 10, 100]))),
        Topic("t1", 3, rate=10),
    ]
    held: dict[str, list] = {}
    if draw(st.booleans()):
        held = {name: [] for name in NAMES}
        for topic in topics:
            for partition in range(topic.partitions):
                held[draw(st.sampled_from(NAMES))].append((topic.name, partition))
    strategy = draw(st.sampled_from(KAFKA + IN_C + INDEPENDENT))
    if strategy == "metaq-default":  # its consumers have none
        members = [replace(member, pattern=None) for member in members]
    scenario = Scenario(
        topics, members, actions, duration_ms=800_000, watch=[("t0", 0), ("t1", 2)],
        sample_ms=5_000, held=held,
    )  # fmt: skip
    commits = ["auto", "after", "none"]
    if strategy not in INDEPENDENT:
        commits += ["before", "transaction"]
    config = Config(
        commit=draw(st.sampled_from(commits)), commit_on_revoke=draw(st.booleans()),
        max_poll_interval_ms=draw(st.sampled_from([20_000, 300_000])),
        session_timeout_ms=draw(st.sampled_from([10_000, 45_000])),
        max_poll_records=draw(st.sampled_from([10, 500])),
        latency_ms=draw(st.sampled_from([0, 1, 20])), auto_offset_reset="earliest",
        metadata_max_age_ms=30_000, start_spread_ms=draw(st.sampled_from([0, 3_000])),
        auto_commit_ahead_percent=draw(st.sampled_from([0, 50])),
    )  # fmt: skip
    return scenario, config, strategy


def test_what_is_begun_late_does_not_make_a_transaction_come_twice():
    """Partitions without a committed offset are read first; the others are begun in a poll, not while the
    application waits for its transaction."""
    members = [Member("m0"), Member("m1"), Member("m2", processing_ms=0.1)]
    topics = [Topic("t0", 1), Topic("t1", 3, rate=10)]
    scenario = Scenario(
        topics, members, [timeline.add_partitions(8_000, "t1", 5)], duration_ms=60_000
    )
    how = dict(commit="transaction", auto_offset_reset="earliest", latency_ms=20, start_spread_ms=0)
    config = Config(metadata_max_age_ms=30_000, heartbeat_drift_ms=0, **how)
    totals = timeline.totals(timeline.run(scenario, config, "roundrobin", seed=5))
    assert totals["delivered"] > 2_000 and totals["repeated"] == totals["lost"] == 0


@pytest.mark.slow
@given(histories())
@settings(max_examples=150, deadline=None)
def test_what_holds_in_every_history(made):
    scenario, config, strategy = made
    history = timeline.run(scenario, config, strategy, seed=5)
    no_partition_has_two_owners(history)
    offsets_are_in_order(history)
    guarantees_hold(history)
    if strategy not in INDEPENDENT and not any(m.instance for m in scenario.members):
        the_group_has_settled(history)


def no_partition_has_two_owners(history):
    dense, _, since, until, _ = history.owned_arrays()
    order = np.lexsort((since, dense))
    dense, since, until = dense[order], since[order], until[order]
    overlap = (dense[1:] == dense[:-1]) & (since[1:] < until[:-1])
    assert not overlap.any()
    assert (since <= until).all()


def offsets_are_in_order(history):
    for _, _, committed, position, high_watermark, end, _ in history.watched:
        assert committed <= position <= high_watermark <= end


def guarantees_hold(history):
    totals = timeline.totals(history)
    assert min(totals.values()) >= 0
    guarantee = COMMITS.get(history.config.commit, "at least once")
    ahead = history.config.commit == "auto" and history.config.auto_commit_ahead_percent > 0
    if history.config.commit == "auto" and history.strategy[0] in IN_C:
        crashes = sum(event.kind == "crashed" for event in history.events)
        assert totals["lost"] <= crashes  # the record at hand
    elif guarantee != "at most once" and not (ahead and history.strategy[0] in SERVERS):
        assert totals["lost"] == 0
    if guarantee != "at least once":
        assert totals["repeated"] == 0
    assert totals["once"] + totals["repeated"] >= totals["distinct"]
    assert timeline.repeats(history)["records"].sum() == totals["repeated"]
    assert timeline.losses(history)["records"].sum() == totals["lost"]


def the_group_has_settled(history):
    """Long after the last action every partition has an owner, if anybody is left."""
    running = set()
    for event in history.events:
        name = history.members[event.member] if event.member >= 0 else ""
        if event.kind == "started":
            running.add(name)
        elif event.kind in ("closed", "crashed", "fatal"):
            running.discard(name)
    if running:
        created = {topic for topic, _ in history.scenario.watch} | {
            action["topic"].name for action in history.scenario.actions
            if action.kind == "create_topic" and any(
                m.pattern for m in history.scenario.members if m.name in running)
        }  # fmt: skip
        counts = dict(zip(history.cluster.names, history.cluster.partitions.tolist(), strict=True))
        owned = owners_at_end(history)
        assert sum(map(len, owned.values())) == sum(counts[topic] for topic in created)
        assert set(owned) <= running


TWO_COMMITS_AND_A_SAMPLE = (  # of m1 and m2, in the millisecond 11,000
    Scenario(
        [Topic("t0", 1, rate=1), Topic("t1", 3, rate=10)],
        [Member("m0"), Member("m1", start_ms=1), Member("m2", processing_ms=5.0)],
        [timeline.coordinator_moves(9_001)], 200_000,
    ),
    Config(
        session_timeout_ms=10_000, max_poll_records=10, latency_ms=0, replication_ms=1,
        coordinator_load_ms=50,
    ),
    "range",
)  # fmt: skip


@pytest.mark.slow
@given(histories(), st.sampled_from([700, 5_000, 90_000]))
@example(TWO_COMMITS_AND_A_SAMPLE, 700)
@settings(max_examples=40, deadline=None)
def test_looking_at_a_history_does_not_change_it(made, sample_ms):
    """The poll loop is played when somebody looks; how often must not matter."""
    scenario, config, strategy = made
    fields = {name: getattr(scenario, name) for name in scenario.__dataclass_fields__}
    seen = [
        timeline.run(Scenario(**fields | {"sample_ms": ms}), config, strategy, seed=2)
        for ms in (sample_ms, 11_000)
    ]
    logs = [
        [(e.time_ms, e.kind, e.member, e.generation, e.partitions.tolist(), e.detail)
         for e in history.events if e.kind != "commit refused"]
        for history in seen
    ]  # fmt: skip
    assert logs[0] == logs[1]
    lag = ("lag_most", "lag_end")
    one, other = ({k: v for k, v in timeline.totals(h).items() if k not in lag} for h in seen)
    assert one == other


STORY = """
from assignlab import timeline as t
names = ["a", "b", "c"]
s = t.Scenario([t.Topic("t", 9, rate=10), t.Topic("u", 4, rate=5)], [t.Member(n) for n in names],
               [t.crash(20_000, "b"), t.back(90_000, "b"), t.stall(100_000, "a", 30_000),
                *t.rolling_restart(150_000, names, 9_000)], 240_000)
for strategy in ("sticky", "cooperative-sticky", "server-uniform", "scala-roundrobin"):
    h = t.run(s, t.Config(max_poll_interval_ms=15_000), strategy, seed=3)
    print(h.events_frame().to_csv(), t.totals(h))
"""


@pytest.mark.slow
def test_one_seed_gives_one_log_whatever_pythons_own_hashes_are():
    logs = {
        subprocess.run(
            [sys.executable, "-c", STORY], env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(logs) == 1 and len(logs.pop()) > 10_000


def test_a_seed_decides_on_ids_and_moments():
    def starts(seed):
        history = play([timeline.restart(50_000, "b")], seed=seed, start_spread_ms=3_000)
        return [e.time_ms for e in history.events if e.kind == "started"]

    assert starts(1) == starts(1) != starts(2)


# ---- measures ----------------------------------------------------------------------------------


def test_the_cost_of_each_event():
    history = play([timeline.crash(30_000, "b"), timeline.back(100_000, "b")], "range")
    costs = timeline.per_event(history)
    assert costs["event"].tolist() == ["start", "crash", "return"]
    crash = costs.iloc[1]
    assert crash["unowned_s"] == pytest.approx(3 * 43, abs=10)
    assert crash["rounds"] == 1 and crash["revoked"] == 3
    assert crash["lag_built"] >= 3 * 10 * 40
    assert 40_000 < crash["catch_up_ms"] < 50_000
    assert costs["unowned_s"].sum() == pytest.approx(timeline.totals(history)["unowned_ms"] / 1000)
    assert costs["repeated"].sum() == timeline.totals(history)["repeated"]
    busy = timeline.create_topic(150_000, Topic("busy", 1, rate=1e5))
    later = timeline.per_event(
        play([timeline.crash(30_000, "b"), timeline.back(100_000, "b"), busy], "range")
    )
    assert later["catch_up_ms"][1] == crash["catch_up_ms"]
    # When it goes on it learns that its partitions were taken away, and joins again.
    frozen = timeline.per_event(play([timeline.freeze(30_000, "b", 60_000)], "range")).iloc[1]
    assert frozen["lost_partitions"] == 3 and 60_000 < frozen["settled_ms"] < 65_000


def test_four_offsets_on_one_log():
    frame = timeline.watched_frame(play([], members="a", replication_ms=200))
    late = frame[frame["time_ms"] > 20_000]
    assert (late["committed"] <= late["position"]).all()
    assert (late["log_end_offset"] - late["high_watermark"] == 2).all()
    assert set(late["owner"]) == {"a"} and set(late["partition"]) == {"t-0"}


# ---- what is refused ---------------------------------------------------------------------------

GOOD = {"topics": [Topic("t", 2)], "members": [Member("a")]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"topics": []}, "at least one topic"),
        ({"members": []}, "at least one member"),
        ({"topics": [Topic("t", 0)]}, "partitions of 't'"),
        ({"topics": [Topic("t", 1), Topic("t", 1)]}, "given twice"),
        ({"topics": [Topic("t", 1, rate=-1)]}, "rate of 't'"),
        ({"members": [Member("a"), Member("a")]}, "given twice"),
        ({"members": [Member("a", pattern="(")]}, "pattern of 'a'"),
        ({"members": [Member("a", topics=["t"], pattern="t")]}, "both topics and a pattern"),
        ({"actions": [timeline.crash(1, "b")]}, "unknown member 'b'"),
        ({"actions": [timeline.add_partitions(1, "u", 3)]}, "unknown topic 'u'"),
        ({"actions": [timeline.add_partitions(1, "t", 1)]}, "partitions of 't'"),
        ({"actions": [timeline.stall(1, "a", -5)]}, "for_ms"),
        ({"actions": [timeline.Action(1, "crush", "a")]}, "did you mean 'crash'"),
        ({"duration_ms": 0}, "duration_ms"),
        ({"watch": [("t", 2)]}, "watch"),
        ({"members": [Member("a", topics=["u"])]}, "unknown topic of member 'a' 'u'"),
        ({"actions": [timeline.subscribe(1, "a", ["u"])]}, "unknown topic of action subscribe"),
        ({"topics": Topic("t", 2)}, "topics: expected a list of Topics"),
        ({"topics": ["t"]}, "one of topics: expected a Topic, got 't'"),
        ({"topics": [Topic("t", 2, rate="9")]}, "rate of 't': expected a number"),
        ({"members": "a"}, "members: expected a list of Members"),
        ({"members": [Member("a", topics="t")]}, "topics of 'a': expected a list of names"),
        ({"members": [Member("a", strategies="range")]}, "strategies of 'a': expected a list"),
        ({"members": [Member("a", topics=[])]}, "topics of 'a': expected at least one"),
        ({"members": [Member("a", strategies=[])]}, "strategies of 'a': expected at least one"),
        ({"members": [Member("a", instance=1)]}, "instance of 'a': expected a name"),
        ({"members": [Member("a", pattern=1)]}, "pattern of 'a'"),
        ({"members": [Member("a", pattern=b"t")]}, "pattern of 'a': cannot use a bytes pattern"),
        ({"members": [Member("a", client_pattern="no")]}, "client_pattern of 'a': expected a bool"),
        ({"actions": [timeline.leave(1, "a", "no")]}, "for_good of leave: expected a bool"),
        (
            {"actions": [timeline.Action(1, "create_topic", None, (("topic", "t"),))]},
            "topic of create_topic: expected a Topic, got 't'",
        ),
        (
            {"actions": [timeline.Action(1, "join", "b", (("member", "b"),))]},
            "member of join: expected a Member, got 'b'",
        ),
        (
            {"actions": [timeline.Action(1, "subscribe", "a", (("topics", "t"),))]},
            "topics of subscribe: expected a list of names, got 't'",
        ),
        ({"actions": timeline.crash(1, "a")}, "actions: expected a list of Actions"),
        ({"actions": [timeline.crash(60_001, "a")]}, "at_ms of crash: 60001 is after the end"),
        ({"actions": [timeline.rolling_restart(1, ["a"], 9)]}, "one of actions: expected a"),
        ({"watch": ["t"]}, "one of watch: expected a tuple"),
        ({"watch": [("t",)]}, "watch: there is no partition"),
        ({"held": {"a": [("t", 2)]}}, "held: there is no partition 2 of 't'"),
        ({"held": {"a": [("t", 1), ("t", 1)]}}, "held: a partition is given twice"),
        (
            {"held": {"a": [("t", 2)]}, "actions": [timeline.add_partitions(1, "t", 3)]},
            "held: there is no partition 2 of 't'",
        ),
        ({"held": {"b": []}}, "unknown member of held 'b'"),
        ({"held": {"a": [{"t": 1}]}}, "one of held: expected a tuple"),
        ({"held": [("a", "t", 1)]}, "held: expected the partitions of every member"),
        ({"actions": [timeline.leave(1, ["a"])]}, "unknown member ..a"),
        (
            {
                "actions": [
                    timeline.delete_topic(1, "t"),
                    timeline.create_topic(2, Topic("t", 2)),
                ]
            },
            "topic 't' was deleted: give the new one another name",
        ),
        ({"actions": [timeline.delete_topic(1, ["t"])]}, "unknown topic ..t"),
        ({"actions": [timeline.Action(1, "stall", "a")]}, "action stall: it has no for_ms"),
        (
            {
                "members": [Member("a", pattern="t")],
                "actions": [timeline.back(1, "a", topics=["t"])],
            },
            "both topics and a pattern",
        ),
    ],
)
def test_bad_scenarios_are_refused(change, says):
    with pytest.raises((TimelineError, UnknownName), match=says):
        Scenario(**GOOD | change)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"commit": "aftr"}, "did you mean 'after'"),
        ({"session_timeout_ms": -1}, "expected 0 to 86400000, got -1"),
        ({"session_timeout_ms": 1.5}, "expected int"),
        ({"heartbeat_interval_ms": 45_000}, "not below session_timeout_ms"),
        ({"group_consumer_heartbeat_interval_ms": 45_000}, "not below group_consumer_session"),
        ({"max_poll_records": 0}, "max_poll_records"),
        ({"max_poll_interval_ms": 0}, "max_poll_interval_ms: expected 1 to .*, got 0"),
        ({"group_consumer_regex_refresh_interval_ms": 9_999}, "expected 10000 to .*, got 9999"),
        ({"max_poll_records": 2**64}, "max_poll_records: expected 1 to 9007199254740992, got"),
    ],
)
def test_bad_settings_are_refused(settings, says):
    with pytest.raises((TimelineError, UnknownName), match=says):
        Config(**settings)


def test_bad_runs_are_refused():
    scenario = Scenario(**GOOD)
    with pytest.raises(UnknownName, match="sticky"):
        timeline.run(scenario, strategy="stiky")
    for mixed in (("range", "server-uniform"), "server-simple", "rocketmq-avg",
                  ("scala-range", "scala-roundrobin"), ("range", "scala-range")):  # fmt: skip
        with pytest.raises(TimelineError, match="no group can run"):
            timeline.run(scenario, strategy=mixed)
    for twice in (("range", "range"), ("sticky", "sticky@2.8.2")):
        with pytest.raises(TimelineError, match="comes twice"):
            timeline.run(scenario, strategy=twice)
    with pytest.raises(TimelineError, match="transactions"):
        timeline.run(scenario, Config(commit="transaction"), "scala-range")
    with pytest.raises(UnknownName, match="session_timeout_ms"):
        timeline.defaults("3.0", session_timeout=1)
    with pytest.raises(TimelineError, match="release: expected numbers and dots as text"):
        timeline.defaults(3.0)
    for wrong, says in (({"config": "range"}, "config: expected a Config, got 'range'"),
                        ({"seed": "1"}, "seed: expected a whole number"),
                        ({"strategy": []}, "at least one name"),
                        ({"ids": [("a", "x")]}, "ids: expected a Mapping"),
                        ({"ids": {"b": ["x"]}}, "unknown topic or member of ids 'b'"),
                        ({"ids": {"a": "x"}}, "ids of 'a': expected a list of names, got 'x'"),
                        ({"ids": {"a": [1]}}, "one of ids of 'a': expected a name, got 1"),
                        ({"ids": {"t": ["x"], "a": ["x"]}}, "ids of 'a': 'x' is one of 't', too"),
                        ({"strategy": None}, "unknown strategy None")):  # fmt: skip
        with pytest.raises((TimelineError, UnknownName), match=says):
            timeline.run(scenario, **wrong)
    for make in (timeline.join, timeline.create_topic):
        with pytest.raises(TimelineError, match="expected a .*, got 'x'"):
            make(1, "x")


@pytest.mark.parametrize("strategy", PROTOCOLS)
def test_a_member_may_come_back_under_its_id(strategy):
    returns = [timeline.leave(20_000, "a"), timeline.back(30_000, "a")]
    joins = [timeline.create_topic(5_000, Topic("u", 1)), timeline.join(40_000, Member("c"))]
    scenario = Scenario([Topic("t", 6)], [Member("a"), Member("b")], returns + joins, 90_000)
    ids = {"a": ["x", "x"], "b": iter(["y"]), "c": ["z"], "u": ["AAAAAAAAAAAAAAAAAAAAAg"]}
    held = owners_at_end(timeline.run(scenario, strategy=strategy, ids=ids))
    assert sorted(p for own in held.values() for p in own if p[0] == "t") == [
        ("t", p) for p in range(6)
    ]
    assert {name: len(own) for name, own in held.items()} == dict.fromkeys("abc", 2)


def test_numpys_numbers_and_what_is_read_once_are_taken():
    plain = Scenario([Topic("t", 4, 10)], [Member("a"), Member("b")], [timeline.crash(9_000, "b")])
    numpys = Scenario(
        iter([Topic("t", np.int64(4), np.float32(10))]),
        (Member(name, start_ms=np.int64(0)) for name in "ab"),
        iter([timeline.crash(np.int64(9_000), "b")]),
        duration_ms=np.int64(60_000),
    )
    assert numpys == plain
    named = Scenario(plain.topics, [Member("a", topics=iter("t"))], [
        timeline.restart(9_000, "a", topics=iter("t"), strategies=iter(["sticky"])),
    ])  # fmt: skip
    assert owners_at_end(timeline.run(named)) == {"a": [("t", p) for p in range(4)]}
    config = Config(session_timeout_ms=np.int64(10_000))
    ours, theirs = (timeline.run(s, config, seed=np.int64(1)) for s in (plain, numpys))
    assert [e[:4] for e in ours.events] == [e[:4] for e in theirs.events]


def test_a_topic_that_is_named_twice_is_subscribed_to_once():
    once, twice = (
        Scenario([Topic("t", 4)], [Member("a", topics=topics), Member("b")])
        for topics in (["t"], ["t", "t"])
    )
    ours, theirs = (timeline.run(s, strategy="kafka-python-range") for s in (once, twice))
    assert owners_at_end(ours) == owners_at_end(theirs)


def test_defaults_of_releases():
    assert timeline.defaults("2.8").session_timeout_ms == 10_000
    assert timeline.defaults("3.0").session_timeout_ms == 45_000
    assert timeline.defaults("0.10.2").group_initial_rebalance_delay_ms == 0
    assert timeline.defaults("0.8").auto_commit_interval_ms == 60_000
    with pytest.raises(UnknownRelease, match="'0.7': the first one of metaq that is known is 1.4"):
        timeline.defaults("0.7", system="metaq")
    assert timeline.defaults("4.1").group_consumer_assignment_interval_ms == 0
    preview = {"group_coordinator_new_enable": False, "group_consumer_migration_policy": "disabled"}
    preview |= {"group_coordinator_append_linger_ms": 0}
    assert timeline.defaults("3.9") == replace(timeline.defaults("4.0.0"), **preview)
    assert timeline.defaults() == Config()
    for line, last in (("0.10", "0.10.2.2"), ("4.0", "4.0.2"), ("3.9", "3.9.2")):
        assert timeline.defaults(line) == timeline.defaults(last)


@pytest.mark.parametrize("strategy", ["range", SERVER])
def test_known_ids_are_taken_in_turn_and_others_drawn(strategy):
    scenario = timeline.Scenario(
        topics=[timeline.Topic("t", 4)],
        members=[timeline.Member("a"), timeline.Member("b")],
        actions=[timeline.leave(20_000, "a"), timeline.back(30_000, "a")],
    )
    strategies = timeline.strategies_named(strategy)
    simulation = Simulation(scenario, Config(), strategies, 0, {"a": ["first", "second"]})
    simulation.run()
    ids = set(simulation.coordinator.members)
    assert "second" in ids
    assert "first" not in ids
    assert len(ids) == 2
