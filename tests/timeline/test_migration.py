"""Groups that go from the classic protocol to the consumer protocol while they run, and back."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab import timeline
from assignlab.timeline import Config, Member, Scenario, TimelineError, Topic
from assignlab.timeline.protocols import kip848_client
from assignlab.timeline.simulation import Simulation, strategies_named

CLASSIC = ("range", "sticky", "cooperative-sticky")
SERVER = "server-uniform"
TOPICS = [Topic("t", 7, rate=10), Topic("u", 4)]
ALL = {("t", p) for p in range(7)} | {("u", p) for p in range(4)}


def play(actions, strategy, static=False, release="4.4", until=150_000, members="abc", **fields):
    """Members of one letter each, and what happens to them."""
    members = [Member(name, instance=f"i-{name}" if static else None) for name in members]
    config = timeline.defaults(release, auto_offset_reset="earliest", **fields)
    return timeline.run(Scenario(TOPICS, members, actions, duration_ms=until), config, strategy, 1)


def upgrade(to=SERVER, **values):
    return timeline.rolling_restart(30_000, "abc", 20_000, 5_000, strategies=[to], **values)


def types(history):
    """The types that the group had, one after the other; it begins as a classic one without members."""
    return [event.detail for event in history.events if event.kind == "group type"]


def told(history, kind):
    return [event.detail for event in history.events if event.kind == kind]


def held_twice(history):
    """Partitions that a process still held when another one got them."""
    holders, twice = {}, []
    for event in history.events:
        partitions = event.partitions.tolist()
        if event.kind == "assigned" and event.detail != "too late":
            twice += [(event.time_ms, p) for p in partitions if p in holders]
            holders |= dict.fromkeys(partitions, event.member)
        elif event.kind in ("closed", "crashed", "fatal"):
            holders = {p: member for p, member in holders.items() if member != event.member}
        elif event.kind in ("revoked", "lost"):
            for p in partitions:
                holders.pop(p, None)
    return twice


def upgraded_from(history):
    """The state of the classic group whenever one became a consumer group."""
    states, found = "Stable", []
    for event in history.events:
        if event.kind == "state" and event.member < 0:
            states = event.detail
        elif event.kind == "group type" and event.detail == "consumer":
            found.append(states)
    return found


def owned_at_end(history):
    """(topic, partition) of all that somebody owns at the end, as often as it is owned."""
    rows = history.ownership()
    rows = rows[rows["to_ms"] == history.scenario.duration_ms]
    return sorted(zip(rows["topic"], rows["partition"], strict=True))


def test_the_static_member_that_turns_a_group_into_a_classic_one_does_not_lead_it():
    """ClassicGroup.fromConsumerGroup adds it behind the others, and the first one that is added leads."""
    members = [Member(name, instance=f"i-{name}") for name in "abc"]
    scenario = Scenario(TOPICS, members, upgrade(to="range"), duration_ms=90_000)
    leaders = set()
    for seed in range(8):
        run = Simulation(scenario, Config(), strategies_named(SERVER), seed)
        assert types(run.run()) == ["consumer", "classic"]
        group = run.coordinator.group
        leaders.add(group.members[group.leader].client.name)
    assert leaders == {"a", "b"}


@pytest.mark.parametrize(("release", "owned"), [("4.0.1", 11), ("4.4", 13)])
@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_topics_change_before_a_static_member_turns_a_group_into_a_classic_one(
    strategy, release, owned
):
    """As recorded: the epoch of what it finds new is written, and never counts; since 4.3 all join again."""
    grows = [timeline.add_partitions(72_500, "t", 9)]
    down = timeline.rolling_restart(30_000, "abc", 20_000, 5_000, strategies=[strategy])
    history = play([*down, *grows], SERVER, static=True, release=release, metadata_max_age_ms=2_000)
    assert types(history) == ["consumer", "classic"]
    assert not told(history, "lost")
    assert len(owned_at_end(history)) == owned


@pytest.mark.parametrize("release", ["4.1", "4.4"])
@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("strategy", CLASSIC)
def test_members_restart_one_by_one_with_the_other_protocol(strategy, static, release):
    up = play(upgrade(), strategy, static, release)
    down = play(upgrade(to=strategy), SERVER, static, release)
    assert types(up) == ["consumer"]
    assert types(down) == ["consumer", "classic"]
    for history in (up, down):
        assert owned_at_end(history) == sorted(ALL)
        assert held_twice(history) == []
        assert told(history, "fatal") == []
        totals = timeline.totals(history)
        assert totals["repeated"] == totals["lost"] == 0
    after = [event for event in up.events if event.time_ms > 30_000]
    if static:  # nobody but the member that restarts has anything to do
        assert not [event for event in after if event.kind in ("group epoch", "rejoin")]


@pytest.mark.parametrize(("release", "bumps"), [("4.0.0", 1), ("4.0.1", 0)])
def test_a_group_that_turns_in_4_0_0_takes_its_topics_for_new(release, bumps):
    history = play(upgrade(), "range", static=True, release=release)
    assert len(told(history, "group epoch")) == bumps
    assert owned_at_end(history) == sorted(ALL)


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_half_way_and_back(strategy):
    back = [
        timeline.restart(90_000, "a", strategies=[strategy]),
        timeline.restart(110_000, "b", strategies=[strategy]),
    ]
    history = play([*upgrade()[:2], *back], strategy, until=170_000)
    assert types(history) == ["consumer", "classic"]
    assert owned_at_end(history) == sorted(ALL)
    assert held_twice(history) == []
    # The classic group goes on counting where the consumer group was.
    generations = [e.generation for e in history.events if e.kind == "generation"]
    assert generations == sorted(set(generations))


def test_eager_members_of_a_consumer_group_give_everything_up_and_cooperative_ones_the_difference():
    revoked = {}
    for strategy in ("range", "cooperative-sticky"):
        history = play([timeline.join(30_000, Member("d", strategies=[SERVER]))], strategy)
        assert types(history) == ["consumer"]
        assert owned_at_end(history) == sorted(ALL)
        revoked[strategy] = sum(e.partitions.size for e in history.events if e.kind == "revoked")
    assert revoked == {"range": 11, "cooperative-sticky": 2}


@pytest.mark.parametrize(
    ("policy", "strategy", "reached"),
    [
        ("downgrade", "range", ["consumer"]),
        ("disabled", "range", ["consumer"]),
        ("upgrade", "range", ["consumer"]),
        ("upgrade", SERVER, ["consumer"]),
        ("disabled", SERVER, ["consumer", "classic"]),  # the third one finds it empty
        ("downgrade", SERVER, ["consumer", "classic"]),
    ],
)
def test_what_the_policy_does_not_allow(policy, strategy, reached):
    other = "range" if strategy == SERVER else SERVER
    history = play(upgrade(to=other), strategy, group_consumer_migration_policy=policy)
    assert types(history) == reached
    refused = policy != "upgrade" if strategy == "range" else policy == "disabled"
    error = "GROUP_ID_NOT_FOUND" if strategy == "range" else "INCONSISTENT_GROUP_PROTOCOL"
    # Nobody of the consumer protocol gets into a classic group, but the third one finds it empty.
    assert told(history, "fatal") == [error] * 2 * refused
    assert owned_at_end(history) == sorted(ALL)


@pytest.mark.parametrize(
    ("release", "refuses"),
    [
        ("4.1", False),
        ("4.2.1", False),
        ("4.2.2", True),
        ("4.3.0", False),
        ("4.3.1", True),
        ("4.4", True),
    ],
)
def test_where_migrations_are_disabled_no_classic_member_joins_a_consumer_group(release, refuses):
    """throwIfClassicMemberCannotJoinConsumerGroup; before, the group became a mixed one, for good."""
    joins = [timeline.join(60_000, Member("d", strategies=["range"]))]
    history = play(joins, SERVER, release=release, group_consumer_migration_policy="disabled")
    assert told(history, "fatal") == ["INCONSISTENT_GROUP_PROTOCOL"] * refuses
    assert types(history) == ["consumer"] and owned_at_end(history) == sorted(ALL)


@pytest.mark.parametrize(
    ("strategy", "again", "turned"),
    [
        ("librdkafka-cooperative-sticky", [], True),  # nobody has told yet what it owns
        ("librdkafka-cooperative-sticky", ["c"], False),
        ("librdkafka-range", ["c"], True),
        ("cooperative-sticky", ["c"], True),
    ],
)
def test_a_group_whose_assignment_has_user_data_is_not_turned(strategy, again, turned):
    restarts = [timeline.restart(20_000, name, 5_000) for name in again]
    history = play([*restarts, timeline.join(50_000, Member("d", strategies=[SERVER]))], strategy)
    assert types(history) == ["consumer"] * turned
    assert told(history, "fatal") == ["GROUP_ID_NOT_FOUND"] * (not turned)
    assert owned_at_end(history) == sorted(ALL)


def test_who_wakes_up_in_a_group_that_is_classic_again_loses_everything_first():
    joins = timeline.join(30_000, Member("d", strategies=[SERVER]))
    history = play([joins, timeline.freeze(60_000, "d", 60_000)], "sticky")
    assert types(history) == ["consumer", "classic"]
    assert told(history, "fatal") == told(history, "lost") == ["GROUP_ID_NOT_FOUND"]


def test_an_empty_group_is_of_any_type_and_begins_anew():
    gone = [timeline.leave(30_000, name) for name in "abc"]
    history = play([*gone, timeline.back(40_000, "a", strategies=[SERVER])], "range")
    assert types(history) == ["consumer"]
    assert [e.generation for e in history.events if e.kind == "group epoch"] == [2]
    history = play([*gone, timeline.back(40_000, "a", strategies=["range"])], SERVER)
    assert types(history) == ["consumer", "classic"]
    assert [e.generation for e in history.events if e.kind == "generation"][-1] == 1


def test_a_member_with_other_strategies_does_not_get_into_a_mixed_group():
    joins = [timeline.restart(30_000, "a", strategies=[SERVER])]
    joins.append(timeline.join(60_000, Member("d", strategies=["sticky"])))
    history = play(joins, "range")
    assert told(history, "fatal") == ["INCONSISTENT_GROUP_PROTOCOL"]


def test_a_classic_member_that_hangs_is_expelled_from_a_mixed_group_and_comes_back():
    stalls = [
        timeline.restart(30_000, "a", strategies=[SERVER]),
        timeline.stall(34_000, "b", 60_000),
    ]
    history = play(stalls, "range", max_poll_interval_ms=20_000)
    assert "did not join in time" in told(history, "removed") or "left" in told(history, "removed")
    assert owned_at_end(history) == sorted(ALL)
    frozen = [*stalls[:1], timeline.freeze(60_000, "b", 60_000)]
    history = play(frozen, "range", session_timeout_ms=10_000)
    expired = [
        e.time_ms for e in history.events if e.detail == "session expired" and e.kind == "removed"
    ]
    assert len(expired) == 1 and 60_000 + 7_000 <= expired[0] <= 60_000 + 10_005  # its own timeout
    assert owned_at_end(history) == sorted(ALL)


def test_a_group_that_turns_while_a_leaving_member_waits_for_a_join_hears_of_it():
    actions = [
        timeline.stall(59_000, "b", for_ms=40_000),
        timeline.join(60_000, Member("d")),
        timeline.leave(70_000, "a"),
        timeline.join(80_000, Member("e", strategies=[SERVER])),
    ]
    history = play(actions, "range")
    gone = [(e.time_ms, e.detail) for e in history.events if e.kind == "removed"]
    assert [why for _, why in gone] == ["left"] and 80_000 <= gone[0][0] < 81_000
    assert owned_at_end(history) == sorted(ALL)


def test_a_list_of_two_protocols_is_refused():
    for other in ("range", "server-range"):
        scenario = Scenario(TOPICS, [Member("a", strategies=[other, SERVER])])
        with pytest.raises(TimelineError, match="in one member's list"):
            timeline.run(scenario, Config(), "range")
    two = Scenario(TOPICS, [Member("a", strategies=["scala-range"]), Member("b")])
    with pytest.raises(TimelineError, match="no group can run"):
        timeline.run(two, Config(), SERVER)


def turned_back_unheard(history, beats_ms):
    """Whether the group became a consumer group and a classic one again before all members heard of it:
    who came reads what the coordinator meant for it, while the others have what they had."""
    turns = [(e.time_ms, e.detail) for e in history.events if e.kind == "group type"]
    return any(
        (first, second) == ("consumer", "classic") and then - at < beats_ms
        for (at, first), (then, second) in pairwise(turns)
    )


def test_a_group_that_turns_back_before_its_members_heard_reads_twice_until_they_do():
    """A static member that was expelled comes back with KIP-848, and half a second later without it."""
    actions = [
        timeline.crash(20_000, "b"),
        timeline.back(91_000, "b", strategies=[SERVER]),
        timeline.restart(91_500, "b", down_ms=500, strategies=["range"]),
    ]
    history = play(actions, "range", static=True, members="abcd")
    assert owned_at_end(history) == sorted(ALL)
    assert turned_back_unheard(history, 3_000)
    twice = held_twice(history)
    assert twice and all(92_000 < at < 92_000 + 3_000 for at, _ in twice)
    lost = [e.time_ms for e in history.events if e.kind == "lost"]
    assert len(lost) == 3 and max(lost) < 92_000 + 3_000


steps = st.lists(
    st.tuples(
        st.sampled_from("abcd"), st.sampled_from(["range", "cooperative-sticky", SERVER]),
        st.integers(1, 25_000), st.booleans(),
    ),
    min_size=1, max_size=7,
)  # fmt: skip


@settings(max_examples=25, deadline=None)
@given(steps, st.sampled_from(["4.1", "4.4"]), st.booleans())
def test_whatever_restarts_in_between_every_partition_is_owned_once_at_the_end(
    steps, release, static
):
    at, actions = 20_000, []
    classic = next((s for _, s, _, _ in steps if s != SERVER), "range")  # one classic list for all
    for member, strategy, apart, crashes in steps:
        at += apart
        chosen = SERVER if strategy == SERVER else classic
        if crashes:
            actions += [
                timeline.crash(at, member),
                timeline.back(at + 500, member, strategies=[chosen]),
            ]
        else:
            actions.append(timeline.restart(at, member, strategies=[chosen]))
    members = [Member(name, instance=f"i-{name}" if static else None) for name in "abcd"]
    config = timeline.defaults(release, auto_offset_reset="earliest")
    scenario = Scenario(TOPICS, members, actions, duration_ms=at + 150_000)
    simulation = Simulation(scenario, config, timeline.strategies_named(classic), 3)
    history = simulation.run()
    assert owned_at_end(history) == sorted(ALL)
    unheard = turned_back_unheard(history, config.heartbeat_interval_ms)
    interrupted = any(state != "Stable" for state in upgraded_from(history))
    assert held_twice(history) == [] or interrupted or unheard
    there = {type(client) for client in simulation.clients() if client.alive}
    wanted = "consumer" if kip848_client.Client in there else "classic"
    assert (types(history) or ["classic"])[-1] == wanted


def test_a_group_that_turns_while_it_rebalances_may_give_away_what_a_member_still_holds():
    """The coordinator knows what was assigned last, and here its members have not heard of that."""
    turns = [
        timeline.restart(29_011, "a", strategies=[SERVER]),
        timeline.restart(30_014, "a", strategies=["range"]),
        timeline.restart(30_015, "c", strategies=[SERVER]),
    ]
    history = play(turns, "range", release="4.1", members="abcd", until=100_000)
    assert upgraded_from(history)[-1] == "PreparingRebalance"
    assert held_twice(history)
    assert "ILLEGAL_GENERATION" in told(history, "lost")
    assert owned_at_end(history) == sorted(ALL)


@pytest.mark.parametrize(("release", "whole"), [("4.2", True), ("4.3", False)])
def test_a_consumer_group_of_classic_members_alone_may_leave_partitions_behind(release, whole):
    gone = [*upgrade(to="range"), timeline.leave(100_000, "a")]
    history = play(gone, SERVER, release=release, group_consumer_migration_policy="upgrade")
    assert types(history) == ["consumer"]
    assert (owned_at_end(history) == sorted(ALL)) is whole
