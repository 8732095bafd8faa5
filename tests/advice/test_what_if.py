"""group replicas and what-if: against hand-made groups, the closed form and the laws."""

import json
import random
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from assignlab import assignors
from assignlab.advice import pauses, play, replicas, scaling, what_if
from assignlab.advice.report import as_data, as_json, as_text
from assignlab.advice.subject import NotAnswerable, Range, subject
from assignlab.assignors.answer import solve
from assignlab.cli import main
from assignlab.errors import AssignlabError, UnknownName, UnknownRelease
from assignlab.jvm.names import random_uuid
from assignlab.optimum.closed_form import fewest_moves
from conftest import document

CONFIG = pauses.settings()


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(scaling, "WORK", 1)


def by_members(report):
    return {row[0]: dict(zip(replicas.COLUMNS, row, strict=True)) for row in report.tables[0].rows}


def test_kedas_divisors_are_wrong_for_topics_of_3_and_5_partitions(range_3_5):
    report = replicas.report(range_3_5, 5, None, "4.4", CONFIG)
    rows = by_members(report)
    assert rows[4]["divides the sum"] and not rows[3]["divides the sum"]
    assert (rows[4]["fullest"].high, rows[4]["emptiest"].low) == (3, 1)
    assert rows[4]["step from"] is None and rows[5]["step from"] == 4 and rows[3]["step from"] == 4
    assert (rows[5]["fullest"].high, rows[5]["idle"].high) == (2, 0)
    told = " ".join(report.said)
    assert "(3 + 5 = 8); it is wrong here. Under range it is uneven with 2 and 4" in told
    assert rows[5]["unowned partition-seconds"].high > 0


def test_a_strategy_of_another_system_is_said_to_be_no_change_that_the_group_can_make(range_3_5):
    told = "No client has both rocketmq-avg and sticky: "
    group = range_3_5 | {"strategy": "rocketmq-avg"}
    for chosen, foreign in (["sticky"], True), (["rocketmq-avg-by-circle"], False), ([], False):
        report = what_if.report(group, chosen, ["a rebalance"], "4.4", CONFIG)
        assert any(said.startswith(told) for said in report.said) == foreign


def test_what_plain_python_counts_are_numbers_for_programs_and_people(range_3_5, monkeypatch):
    """A command that does not wait for compiled functions runs them as they are written."""
    measured = play.measures

    def numpys(step):
        return {
            name: np.int64(n) if isinstance(n, int) else n for name, n in measured(step).items()
        }

    found = what_if.report(range_3_5, ["range"], ["a rebalance"], "4.4", CONFIG)
    monkeypatch.setattr(play, "measures", numpys)
    plain = what_if.report(range_3_5, ["range"], ["a rebalance"], "4.4", CONFIG)
    assert as_json(as_data(plain)) == as_json(as_data(found))
    assert as_text(plain) == as_text(found)


def test_steps_that_are_not_played_in_time_are_not_said_to_be(range_3_5, monkeypatch):
    def report():
        return replicas.report(range_3_5, 5, None, "4.4", CONFIG)

    assert "timeline" in report().tables[0].note and not report().unknown
    monkeypatch.setattr(replicas, "MOST_PAUSES", 4)
    assert "timeline" not in report().tables[0].note
    assert report().unknown == ["pauses: not played in simulated time with more than 4 members"]


def test_keda_is_told_of_for_kafkas_groups_alone():
    for strategy, told in ("rocketmq-avg", False), ("roundrobin", True):
        group = document({"a": 3, "b": 5}, [["a-0", "b-0"], ["a-1", "b-1"]], strategy)
        said = " ".join(replicas.report(group, 4, None, "4.4", CONFIG).said)
        assert ("KEDA" in said) == told


def test_where_the_strategy_fails_now_that_is_said_and_nothing_is_shown():
    never_ends = Path(__file__).parents[1] / "data" / "groups" / "never-ends.json"
    group = json.loads(never_ends.read_text()) | {"draws": 2}
    report = replicas.report(group, 8, None, "4.4", CONFIG)
    [said] = report.said
    assert said.startswith("Beware: sticky fails at a rebalance: NeverEnds: the same 2 moves come")
    assert said.endswith("No number of members is shown.")
    assert not report.tables[0].rows and not report.unknown
    fine = replicas.report(group, 6, "server-uniform", "4.4", CONFIG)
    assert len(fine.tables[0].rows) == 6 and not fine.said[0].startswith("Beware")


def test_where_the_strategy_fails_with_more_members_the_numbers_before_are_shown(
    monkeypatch, range_3_5
):
    def fails(asked, ahead, strategy):
        played = play.begun(asked, ahead, strategy)
        for n, step in enumerate(played):
            if len(step.group.members) == 6:
                step.error = "NeverEnds: round and round"
                return played[: n + 1]
        return played

    monkeypatch.setattr(replicas, "begun", fails)
    report = replicas.report(range_3_5, 8, None, "4.4", CONFIG)
    assert [row[0] for row in report.tables[0].rows] == [1, 2, 3, 4, 5]
    assert report.said[0] == (
        "Beware: range can fail with 6 members: NeverEnds: round and round. Nothing is shown beyond."
    )


def test_topics_that_nobody_reads_are_named_and_not_counted(range_3_5):
    range_3_5["topics"] += [{"name": "left", "partitions": 7}, {"name": "gone", "partitions": 0}]
    told = " ".join(replicas.report(range_3_5, 5, None, "4.4", CONFIG).said)
    assert "(3 + 5 = 8)" in told
    assert "Nobody subscribes to left: 7 partitions that no number here counts." in told
    range_3_5["topics"].pop(-2)
    assert "Nobody" not in " ".join(replicas.report(range_3_5, 5, None, "4.4", CONFIG).said)


def test_what_nobody_reads_is_named_in_a_few_words(range_3_5):
    range_3_5["topics"] += [{"name": f"left-{n}", "partitions": 2} for n in range(100)]
    told = " ".join(replicas.report(range_3_5, 5, None, "4.4", CONFIG).said)
    assert "Nobody subscribes to left-0, left-1, left-2 and 97 more: 200 partitions" in told


def test_the_draws_that_are_told_are_those_that_are_drawn(range_3_5, monkeypatch):
    counts = []

    def drawn(count, play):
        counts.append(count)
        return scaled(count, play)

    scaled = what_if.drawn
    monkeypatch.setattr(what_if, "drawn", drawn)
    monkeypatch.setattr(scaling, "WORK", 500_000)
    for event, told in ("a rollout", "(27"), ("two bounces", "(15 to 27"):
        counts.clear()
        note = what_if.report(range_3_5, ["range"], [event], "4.4", CONFIG).tables[0].note
        assert f"{told} for rollouts)" in note and f"({counts[-1]}" in told


def test_an_id_that_is_drawn_is_nobodys_even_if_the_document_was_drawn_from_the_same_seed():
    ids = [random_uuid(random.Random(seed)) for seed in range(3)]
    group = document({"a": 6}, [["a-0", "a-1"], ["a-2", "a-3"], ["a-4", "a-5"]], "server-uniform")
    for member, id in zip(group["members"], ids, strict=True):
        member["id"] = id
    rows = what_if.table(subject(group), ["server-uniform"], ["a member more"], "4.4", CONFIG)
    assert rows[0].note is None and rows[0].fullest == (2, 2, 2) and rows[0].emptiest == (1, 1, 1)


def test_a_large_rollout_says_from_how_many_its_time_without_an_owner_is(range_3_5, monkeypatch):
    monkeypatch.setattr(scaling, "MOST_ROLLED_OUT", 2)
    monkeypatch.setattr(scaling, "ROLLED_OUT", 2)
    rows = what_if.table(subject(range_3_5), ["range"], ["a rollout"], "4.4", CONFIG)
    assert rows[0].note == "counted up from 2 members that are drawn; unowned: from 4"
    monkeypatch.setattr(pauses, "rollouts", lambda *_: {})
    rows = what_if.table(subject(range_3_5), ["range"], ["a rollout"], "4.4", CONFIG)
    assert rows[0].note == "counted up from 2 members that are drawn"


def test_a_rolling_change_is_to_the_releases_strategy_and_offline_it_is_a_switch(range_3_5):
    asked = subject(range_3_5)
    rows = what_if.table(asked, ["range"], ["two bounces"], "2.4", CONFIG)
    assert [row.strategy for row in rows] == ["range to cooperative-sticky@2.4"]
    offline = pauses.settings("3.9")
    switch, gone_over = what_if.table(
        asked, ["server-uniform"], ["switch", "KIP-848"], "3.9", offline
    )
    assert gone_over.note == what_if.OFFLINE and gone_over.moved == switch.moved


def test_librdkafkas_cooperative_sticky_goes_over_to_the_coordinator_offline(range_3_5):
    """docs/clients.md: its assignments carry user data, so the coordinator refuses to turn it."""
    for client, note in (("rdkafka-", what_if.USER_DATA), ("c", "1 restart of every member")):
        group = range_3_5 | {"strategy": "cooperative-sticky"}
        group["members"] = [m | {"id": f"{client}{m['id']}"} for m in group["members"]]
        [row] = what_if.table(subject(group), ["server-uniform"], ["KIP-848"], "4.4", CONFIG)
        assert row.note == note


def test_a_topic_that_nobody_reads_changes_no_row(range_3_5):
    events = ["a member more", "a crash", "a rollout", "a topic more", "twice the partitions"]
    rows = what_if.table(subject(range_3_5), ["range"], events, "4.4", CONFIG)
    range_3_5["topics"].append({"name": "left", "partitions": 7})
    assert what_if.table(subject(range_3_5), ["range"], events, "4.4", CONFIG) == rows


def test_replicas_of_members_that_read_different_topics_say_what_is_taken(unequal):
    assert "Members subscribe differently" in " ".join(
        replicas.report(unequal, 3, None, "4.4", CONFIG).said
    )


def test_strategies_that_even_out_agree_with_the_divisors(range_3_5):
    report = replicas.report(range_3_5, 8, "sticky", "4.4", CONFIG)
    rows = by_members(report)
    assert "is right here" in " ".join(report.said)
    assert all(
        (row["fullest"].high == row["emptiest"].low) == (8 % n == 0) for n, row in rows.items()
    )
    assert all(row["avoidable"] is None or row["avoidable"].high == 0 for row in rows.values())
    assert rows[8]["fullest"] == Range(1, 1, 1)


def test_a_single_member_is_no_proof_of_the_divisors(range_3_5):
    range_3_5["members"] = range_3_5["members"][:3]
    for strategy in ("range", "sticky"):
        said = " ".join(replicas.report(range_3_5, 1, strategy, "4.4", CONFIG).said)
        assert "KEDA" not in said


def test_replicas_play_the_strategy_as_the_release_has_it(range_3_5):
    own = replicas.report(range_3_5, 4, None, "2.3", CONFIG)
    assert own.tables[0].title == "Members under range@2.3"
    other = replicas.report(range_3_5, 4, "sticky", "2.3", CONFIG)
    assert other.tables[0].title == "Members under sticky@2.3" and "sticky" in other.title
    with pytest.raises(UnknownRelease, match="came with Kafka 2.4.0"):
        replicas.report(range_3_5, 4, "cooperative-sticky", "2.3", CONFIG)


def test_steps_of_a_balanced_sticky_group_move_the_fewest_there_are():
    words = [f"t-{p}" for p in range(12)]
    held = [words[0:4], words[4:8], words[8:12]]
    rows = by_members(replicas.report(document({"t": 12}, held, "sticky"), 4, None, "4.4", CONFIG))
    assert rows[4]["moved"].high == fewest_moves(np.array([4, 4, 4, 0]), 12) == 3
    assert rows[2]["moved"] == Range(4, 4, 4)


def cells(document, event, strategy, **options):
    found = what_if.table(
        subject(document), [strategy], [event], "4.4", options.get("config", CONFIG)
    )
    [row] = [row for row in found if row[1] == event]
    return dict(zip(what_if.COLUMNS, row, strict=True))


def test_what_an_event_costs_does_not_depend_on_what_else_is_asked(range_3_5):
    asked, release = subject(range_3_5), "4.4"
    alone = {
        word: what_if.table(asked, ["range"], [word], release, CONFIG)[0][2:]
        for word in ("a member more", "a member less", "a topic more")
    }
    together = what_if.table(asked, ["range"], list(alone), release, CONFIG)
    assert {row[1]: row[2:] for row in together} == alone


def test_a_strategy_is_played_as_the_release_has_it(range_3_5):
    said = what_if.report(range_3_5, ["range", "sticky"], ["switch"], "2.3", CONFIG)
    assert [row[2] for row in said.tables[0].rows] == ["sticky@2.3"]
    with pytest.raises(UnknownRelease):
        what_if.report(range_3_5, ["cooperative-sticky"], ["switch"], "2.3", CONFIG)


def test_a_member_more_moves_what_it_must(range_3_5):
    row = cells(range_3_5, "a member more", "cooperative-sticky")
    assert (row["fullest"].high, row["emptiest"].low, row["moved"].high) == (2, 1, 1)
    assert row["rounds"].high == 2 and row["avoidable"].high == 0
    switch = cells(range_3_5, "switch", "sticky")
    assert switch["fullest"].high == 2 and switch["moved"].low >= 1


def test_a_switch_to_the_coordinator_begins_with_nothing_since_all_members_stopped():
    """As the timeline has it: the classic group is empty before the first member of the other
    protocol joins, and the coordinator knows nobody."""
    held = [["t-0", "t-1"], ["t-3", "t-2"]]
    row = cells(document({"t": 4}, held, "sticky"), "switch", "server-uniform")
    fresh = assignors.get("server-uniform").assign(
        subject(document({"t": 4}, [[], []], "server-uniform")).group
    )
    now = subject(document({"t": 4}, held)).held
    either = {
        sum(np.setdiff1d(now.of(m), fresh.of(n)).size for m, n in enumerate(p))
        for p in [(0, 1), (1, 0)]
    }
    assert {row["moved"].low, row["moved"].high} == either and max(either) > 0, "by the new ids"
    assert row["note"] == "all members stop first"
    back = cells(document({"t": 4}, held, "server-uniform"), "switch", "server-range")
    assert back["note"] == "all members at once", "the coordinator still knows them"


def test_a_rebalance_as_things_stand_is_that_of_the_groups_own_strategy(range_3_5):
    found = what_if.table(subject(range_3_5), [], ["a rebalance", "switch"], "4.4", CONFIG)
    assert [row[1] for row in found].count("a rebalance") == 1 and found[0][1] == "a rebalance"
    own = cells(range_3_5, "a rebalance", "range")
    assert own["moved"].high == 0 and own["fullest"].high == 3


def test_a_crash_lasts_the_session_and_the_settings_are_the_groups_own(range_3_5):
    short = pauses.settings("4.4", {"session.timeout.ms": "10000"})
    slow = cells(range_3_5, "a crash", "range")["unowned partition-seconds"]
    quick = cells(range_3_5, "a crash", "range", config=short)["unowned partition-seconds"]
    # the emptiest member holds 1 partition, the fullest 3
    assert 42 < slow.low < 50 and 3 * 42 < slow.high < 3 * 50
    assert 7 < quick.low < 16 and 3 * 7 < quick.high < 3 * 16
    with pytest.raises(UnknownName, match=r"did you mean 'session.timeout.ms'"):
        pauses.settings("4.4", {"session.timeout": "1"})
    with pytest.raises(AssignlabError, match=r"heartbeat.interval.ms: .* session.timeout.ms"):
        pauses.settings("4.4", {"session.timeout.ms": "1"})


def test_a_crash_happens_to_the_group_as_it_is_whatever_else_is_asked():
    asked = subject(document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]], "range"))
    for wanted in (
        {"a crash"},
        {"a member more", "a crash"},
        {"a member more", "a member less", "a crash"},
    ):
        crashed = pauses.usual_events(asked, assignors.get("range"), CONFIG, wanted)["a crash"]
        assert 2 * 42 <= crashed.low <= crashed.high <= 2 * 48  # 2 partitions, sessions of 45 s


def test_a_crash_is_one_of_what_the_members_hold_not_of_what_would_be_dealt_anew():
    words = [f"t-{p}" for p in range(8)]
    uneven = document({"t": 8}, [words[:6], words[6:]], "sticky")
    crashed = cells(uneven, "a crash", "sticky")["unowned partition-seconds"]
    assert 2 * 42 < crashed.low < 2 * 48 and 6 * 42 < crashed.high < 6 * 48
    changed = cells(uneven, "a crash", "roundrobin")["unowned partition-seconds"]
    assert 4 * 42 < changed.low <= changed.high < 4 * 48, "after the change to it"


def test_a_group_with_a_partition_that_nobody_holds_is_dealt_anew():
    free = document({"t": 4}, [["t-0"], ["t-1", "t-2"]], "sticky")
    assert pauses.held_under(subject(free), assignors.get("sticky")) == {}
    crashed = cells(free, "a crash", "sticky")["unowned partition-seconds"]
    assert 2 * 42 < crashed.low <= crashed.high < 2 * 48


def test_a_crash_is_that_of_the_emptiest_to_that_of_the_fullest_member_wherever_they_stand():
    held = [["t-0", "u-0"], ["t-1"], ["u-1", "u-2", "u-3"]]
    group = document({"t": 2, "u": 4}, held)
    for member, topics in zip(group["members"], (["t", "u"], ["t"], ["u"]), strict=True):
        member["topics"] = topics
    for turned in range(3):  # whoever is listed last
        group["members"] = group["members"][1:] + group["members"][:1]
        row = cells(group, "a crash", "range")
        crashed = row["unowned partition-seconds"]
        assert 42 < crashed.low < 50 and 3 * 42 < crashed.high < 3 * 50, turned
        assert "emptiest" in row["note"] and "fullest" in row["note"]


def test_a_static_member_that_leaves_is_missed_after_the_session_of_its_protocol():
    group = document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]], "server-uniform")
    for number, member in enumerate(group["members"]):
        member["instance"] = f"i{number}"
    dynamic = {"id": "c9-00000000-0000-4000-8000-000000000009", "topics": ["t"], "owned": []}
    asked, own = subject(group), assignors.get("server-uniform")
    some = subject(group | {"members": [*group["members"], dynamic]})
    long = {"session.timeout.ms": "6000", "group.consumer.session.timeout.ms": "120000"}
    config = pauses.settings("4.4", long)
    [away] = pauses.staircase(asked, own, 2, config).values()
    assert 2 * 110 < away.low <= away.high < 2 * 130
    left = pauses.usual_events(asked, own, config, ["a member less"])["a member less"]
    assert 2 * 110 < left.low <= left.high < 2 * 130
    left = pauses.usual_events(some, own, config, ["a member less"])["a member less"]
    assert left.low < 1 and 2 * 110 < left.high < 2 * 130


def test_static_members_are_back_in_time_only_if_the_session_is_long_enough():
    short = pauses.settings("4.4", {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1500"})
    assert what_if.back_in_time(CONFIG) == "static members back in time"
    for config in (short, pauses.settings("2.8")):  # whose session is 10 s
        assert "too short for 10 s" in what_if.back_in_time(config)


def test_restarts_take_as_long_as_is_said():
    """Static members of four partitions that are back within 45 s: 5 to 10 s for each."""
    group = document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]])
    for number, member in enumerate(group["members"]):
        member["instance"] = f"i{number}"
    asked, own = subject(group), assignors.get("range")
    cost = pauses.rollouts(asked, own, CONFIG, {"a rollout"})["a rollout"]
    assert 4 * 5 < cost.low < cost.high < 4 * 10.2


def test_what_is_not_played_says_so(monkeypatch, range_3_5):
    monkeypatch.setattr(scaling, "MOST_ROLLED_OUT", 3)
    both = ["two bounces", "KIP-848"]
    found = what_if.table(subject(range_3_5), ["range"], both, "4.4", CONFIG)
    assert [row.note for row in found] == ["not played: more than 3 members"] * 2


def test_replicas_of_today_are_what_the_strategy_deals_to_so_many():
    held = [["t-0", "t-1"], ["t-2", "t-3"], ["t-4", "t-5"]]
    report = replicas.report(document({"t": 8}, held, "sticky"), 4, None, "4.4", CONFIG)
    row = by_members(report)[3]
    assert (row["fullest"], row["emptiest"]) == (Range(3, 3, 3), Range(2, 2, 2))
    assert "with 1, 2 and 4 members" in report.said[0]


def test_rollouts_of_static_members_move_nothing(range_3_5):
    for number, member in enumerate(range_3_5["members"]):
        member["instance"] = f"billing-{number}"
    row = cells(range_3_5, "a rollout", "range")
    assert (row["moved"].high, row["rounds"].high, row["fullest"].high) == (0, 0, 3)
    assert "no rebalance" in row["note"]
    more = by_members(replicas.report(range_3_5, 5, None, "4.4", CONFIG))
    assert more[5]["fullest"].high == 2


def each(group):
    """What a member has beside its id, of every member, in no order."""
    sent = group.sent
    columns = [
        column or [None] * len(sent) for column in (sent.instances, sent.racks, sent.streams)
    ]
    return Counter(
        (
            name.partition("-")[0],
            tuple(sent.topics_of(m).tolist()),
            *(column[m] for column in columns),
        )
        for m, name in enumerate(sent.names)
    )


@pytest.fixture
def unequal():
    """A group whose members read different topics, in different racks, one of them static."""
    held = [["shipments-0", "shipments-1"], ["orders-0"], ["orders-1", "payments-0"]]
    found = document({"shipments": 2, "orders": 2, "payments": 1}, held)
    topics = (["shipments"], ["orders"], ["orders", "payments"])
    for member, names, rack in zip(found["members"], topics, "abb", strict=True):
        member |= {"topics": names, "rack": rack}
    found["members"][1]["instance"] = "static-1"
    return found


def test_who_leaves_is_anybody_however_the_text_lists_them(range_3_5):
    turned = range_3_5 | {"members": range_3_5["members"][::-1]}
    one, other = (
        by_members(replicas.report(group | {"draws": 40}, 4, None, "4.4", CONFIG))
        for group in (range_3_5, turned)
    )
    for n in (1, 2, 3):
        measured = ("fullest", "emptiest", "idle", "moved")
        for name in measured:
            assert (one[n][name].low, one[n][name].high) == (
                other[n][name].low,
                other[n][name].high,
            )
    assert one[3]["moved"].low < one[3]["moved"].high


def test_a_stateful_set_takes_away_its_highest_number(range_3_5):
    for member, number in zip(range_3_5["members"], (10, 9, 1, 2), strict=True):
        member["instance"] = f"pod-{number}"
    group = subject(range_3_5).group
    assert scaling.leaver(group, random.Random(0)) == 0
    assert scaling.highest_first(group.members.instances) == [0, 1, 3, 2]


@pytest.mark.parametrize("static", [1, 4])
def test_under_kip_848_a_static_member_cannot_be_replaced_while_it_is_there(range_3_5, static):
    for number, member in enumerate(range_3_5["members"][:static]):
        member["instance"] = f"pod-{number}"
    refused, played = (
        cells(range_3_5, "a rollout with surge", name) for name in ("server-uniform", "range")
    )
    assert "UNRELEASED_INSTANCE_ID" in refused["note"]
    assert refused["moved"] is None and refused["unowned partition-seconds"] is None
    assert (played["moved"] == Range(0, 0, 0)) == (static == 4)


@pytest.mark.parametrize("surge", [False, True])
def test_a_rollout_brings_every_member_back_with_all_it_had_but_the_id(unequal, surge):
    asked = subject(unequal)
    happened = scaling.restarted(asked, asked.strategy, random.Random(0), surge)
    assert len(happened) == 4  # two rebalances of each that is not static
    last = happened[-1][1]
    assert each(last) == each(asked.group)
    assert len({*last.members.names} & {*asked.group.members.names}) == 1
    sizes = [len(group.members) for _, group in happened]
    assert sizes == ([4, 3, 4, 3] if surge else [2, 3, 2, 3])


@pytest.mark.parametrize("strategy", ["cooperative-sticky", "server-uniform"])
@pytest.mark.parametrize("static", [(), (1,), (0, 1, 2)])
def test_changes_of_protocol_bring_every_member_back(unequal, strategy, static):
    for m, member in enumerate(unequal["members"]):
        member |= {"instance": f"static-{m}" if m in static else None}
    asked, new = subject(unequal), assignors.get(strategy)
    bounces = 2 if strategy == "cooperative-sticky" else 1
    happened, plan, silent = what_if.bounced(asked, asked.strategy, new, bounces, random.Random(0))
    if happened and bounces == 2:
        assert each(happened[-1][1]) == each(asked.group)
        assert plan[-1] is new and silent[-1] == ([0, 1, 2] if len(static) == 3 else [])
    of_dynamic = 2 * bounces * (3 - len(static))
    assert len(happened) == of_dynamic + (bounces == 2 and 2 in static)
    row = cells(unequal, "two bounces" if bounces == 2 else "KIP-848", "range")
    assert row["idle"].high == 0


def test_with_surge_a_topic_that_one_member_reads_is_hardly_ever_without_owner():
    apart = document({"t": 1, "u": 1}, [["t-0"], ["u-0"]])
    for member, topic in zip(apart["members"], "tu", strict=True):
        member["topics"] = [topic]
    cost = cells(apart, "a rollout with surge", "range")["unowned partition-seconds"]
    assert cost.high < 7  # leaders ask for topics that they do not read, behind their fetch


@pytest.mark.slow
def test_of_many_members_no_topic_is_without_its_reader():
    apart = document({f"t{m}": 1 for m in range(20)}, [[f"t{m}-0"] for m in range(20)])
    for m, member in enumerate(apart["members"]):
        member |= {"id": f"{m}", "topics": [f"t{m}"]}
    rows = what_if.table(subject(apart), ["range"], ["two bounces", "KIP-848"], "4.4", CONFIG)
    # half of the topics without a reader, for 20 s a member, would be 4,000 partition-seconds a bounce
    assert all(row[-2].high < 2_000 for row in rows)


def test_what_a_change_costs_does_not_depend_on_how_many_restarts_are_played(monkeypatch):
    """Members that hold nothing, and members that hold all, are restarted in their proportion."""
    held = [[f"t-{p}"] if p < 6 else [] for p in range(12)]
    asked = subject(document({"t": 6}, held, "range"))
    strategy, words = asked.chosen(), ["a rollout"]
    whole = pauses.rollouts(asked, strategy, CONFIG, words)["a rollout"]
    monkeypatch.setattr(pauses, "MOST_RESTARTS", 4)
    part = pauses.rollouts(asked, strategy, CONFIG, words)["a rollout"]
    assert whole.median / 2 < part.median < 2 * whole.median
    one = subject(document({"t": 1}, [*[[]] * 7, ["t-0"]], "range"))
    assert pauses.rollouts(one, one.chosen(), CONFIG, words)["a rollout"].low > 0


def test_two_bounces_turn_with_the_last_member_that_does_not_know_the_new_strategy(range_3_5):
    asked, new = subject(range_3_5), assignors.get("cooperative-sticky")
    _, plan, silent = what_if.bounced(asked, asked.strategy, new, 2, random.Random(0))
    assert plan == [asked.strategy] * 6 + [new] * 10
    assert [len(members) for members in silent] == [0] * 6 + [3, 4, 3, 3, 2, 2, 1, 1, 0, 0]


def test_rolling_changes_of_protocol(range_3_5):
    both = ["two bounces", "KIP-848"]
    found = what_if.table(subject(range_3_5), ["range"], both, "4.4", CONFIG)
    bounces, kip_848 = (dict(zip(what_if.COLUMNS, row, strict=True)) for row in found)
    assert bounces["strategy"] == "range to cooperative-sticky"
    assert bounces["fullest"].high == 2 and bounces["moved"].low > kip_848["moved"].high
    assert bounces["unowned partition-seconds"].low > 0
    assert kip_848["unowned partition-seconds"].low > 0
    before = what_if.table(subject(range_3_5), ["range@3.6.1"], ["KIP-848"], "3.6", CONFIG)
    assert before == []
    both = ["KIP-848", "a crash"]
    said = what_if.report(range_3_5, ["range@3.6.1"], both, "3.6", CONFIG).said
    assert said == ["This group, in Kafka 3.6, has none of: KIP-848."]


def test_kip_848_for_static_members_and_where_the_policy_is_against_it(range_3_5):
    dynamic = cells(range_3_5, "KIP-848", "range")
    refused = pauses.settings("4.4", {"group.consumer.migration.policy": "downgrade"})
    row = what_if.table(subject(range_3_5), ["range"], ["KIP-848"], "4.4", refused)[0]
    assert row[-2] is None and "group.consumer.migration.policy" in row[-1]
    for number, member in enumerate(range_3_5["members"]):
        member["instance"] = f"billing-{number}"
    static = cells(range_3_5, "KIP-848", "range")
    assert static["moved"].high == 0 < dynamic["moved"].low
    assert "no rebalance" in static["note"]
    unowned = "unowned partition-seconds"
    assert 0 < static[unowned].low


def test_the_answer_is_the_same_every_time(range_3_5):
    assert cells(range_3_5, "a rollout", "range") == cells(range_3_5, "a rollout", "range")


def test_what_members_that_read_different_topics_hold_is_what_the_coordinator_keeps():
    found = document({"t": 6, "u": 3}, [[], [], []], "server-uniform")
    found["members"][2]["topics"] = ["t"]
    first, second, third = solve(found)["assignment"].values()
    for member, owned in zip(found["members"], (second, first, third), strict=True):
        member["owned"] = owned
    assert cells(found, "a rebalance", "server-uniform")["moved"].high == 0
    one_more = cells(found, "a member more", "server-uniform")
    assert one_more["moved"].high == 2 and one_more["avoidable"].high == 0
    # nor does anything else wait in simulated time
    assert one_more["unowned partition-seconds"].high < 7.5


def test_a_group_of_one_partition_is_told_of_without_up_to(tmp_path):
    source = tmp_path / "one.json"
    source.write_text(json.dumps(document({"t": 1}, [["t-0"]], "range")))
    asked = CliRunner().invoke(main, ["group", "replicas", str(source)])
    assert asked.exit_code == 0 and "From 2 members on somebody has nothing" in asked.stdout


def test_what_cannot_be_answered_says_why(range_3_5):
    with pytest.raises(UnknownName, match="did you mean 'a crash'"):
        what_if.table(subject(range_3_5), [], ["crash"], "4.4", CONFIG)
    with pytest.raises(AssignlabError, match="up to 0 members: expected 1"):
        replicas.report(range_3_5, 0, None, "4.4", CONFIG)
    with pytest.raises(AssignlabError, match="up to 81 members: expected 80 at most"):
        replicas.report(range_3_5, 81, None, "4.4", CONFIG)
    with pytest.raises(AssignlabError, match=r"session.timeout.ms: expected 0 to 86400000, got 9"):
        pauses.settings("4.4", {"session.timeout.ms": "99999999999"})
    with pytest.raises(AssignlabError, match=r"session.timeout.ms: expected 0 to 86400000, got -1"):
        pauses.settings("4.4", {"session.timeout.ms": "-1"})
    nameless = range_3_5 | {"strategy": None}
    with pytest.raises(NotAnswerable, match="--strategy NAME"):
        replicas.report(nameless, 3, None, "4.4", CONFIG)
    alone = document({"t": 2}, [["t-0", "t-1"]], "sticky")
    assert "nobody would be left" in cells(alone, "a member less", "sticky")["note"]


def test_the_commands_speak_json(tmp_path, range_3_5):
    source = tmp_path / "group.json"
    source.write_text(json.dumps(range_3_5))
    runner = CliRunner()
    command = ["group", "replicas", str(source), "--up-to", "2", "--json", "--set", "a.b=1"]
    assert runner.invoke(main, command).exit_code == 2
    said = runner.invoke(main, command[:-2])
    [found] = json.loads(said.output)
    assert found["replicas"][0]["fullest"] == {"low": 8, "median": 8, "high": 8}
    asked = ["group", "what-if", str(source), "--strategy", "range", "--event", "a topic more"]
    [found] = json.loads(runner.invoke(main, [*asked, "--json"]).output)
    assert [row["event"] for row in found["what_if"]] == ["a topic more"]


@pytest.mark.parametrize("bound", ["MANY", "MUCH"])
def test_how_far_it_is_is_told_and_a_large_group_takes_fewer_histories(
    monkeypatch, capsys, range_3_5, bound
):
    asked = range_3_5, ["range", "sticky"], ["a crash"], "4.4", CONFIG
    assert "over 6 histories" in what_if.report(*asked).tables[0].note
    assert not capsys.readouterr().err
    monkeypatch.setattr(what_if, "TELL_AFTER", -1)
    monkeypatch.setattr(pauses, bound, 3)
    assert "over 2 histories" in what_if.report(*asked).tables[0].note
    assert "billing: 1 of 2 strategies played after 0 s" in capsys.readouterr().err


def test_a_topic_without_partitions_is_not_called_unread():
    group = document({"t": 0}, [[], []], "range")
    [row] = what_if.report(group, ["range"], ["a topic more"], "4.4", CONFIG).tables[0].rows
    assert row.note == "nobody reads a topic that has partitions"
    counts = replicas.report(group, 3, None, "4.4", CONFIG)
    assert counts.said == [
        "The topics that members read have no partitions: nobody has anything to read."
    ]
    assert [row[-1] for row in counts.tables[0].rows] == [None] * 3
