"""group recommend and survey: what is set follows from the rows it cites."""

import json
import random
import re
from itertools import permutations
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from click.testing import CliRunner

from assignlab import assignors, timeline
from assignlab.advice import clients, pauses, recommend, replicas, scaling, show, survey, what_if
from assignlab.advice.play import numbers, steps
from assignlab.advice.report import as_data, as_text
from assignlab.advice.subject import new_id, subject
from assignlab.cli import main
from assignlab.errors import AssignlabError, UnknownRelease
from assignlab.groups.inference import KAFKA_GO
from assignlab.timeline import scenario
from conftest import document

CONFIG = pauses.settings()


@pytest.fixture(autouse=True)
def few_draws(monkeypatch):
    monkeypatch.setattr(scaling, "WORK", 1)
    monkeypatch.setattr(pauses, "SEEDS", pauses.SEEDS[:1])


@pytest.fixture(scope="module", autouse=True)
def played_once():
    """Many tests ask about the same groups: each of their histories is played once for all."""
    play, known = timeline.run, {}

    def run(*asked):
        key = repr(asked)
        if key not in known:
            known[key] = play(*asked)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(timeline, "run", run)
        yield


def cited(report):
    return set(re.findall(r"\bW\d+\b", " ".join(report.said)))


def test_a_range_group_gets_lines_to_paste_and_reasons_with_rows(range_3_5):
    report = recommend.report(range_3_5, "4.4", CONFIG)
    rows = {row[0]: row for row in report.tables[0].rows}
    assert report.said[0] == "Set sticky."
    assert cited(report) and cited(report) <= set(rows)
    first, second = (config.lines[0] for config in report.lines)
    place = "partition.assignment.strategy=org.apache.kafka.clients.consumer."
    assert first.startswith(place + "StickyAssignor,") and first.endswith("RangeAssignor")
    assert second == place + "StickyAssignor"
    reason = next(s for s in report.said if s.startswith("The fullest member holds 2"))
    row = rows[re.search(r"row (W\d+)", reason)[1]]
    assert row[1:4] == ("switch", "sticky", row[3]) and row[3].high == 2
    assert any("cooperative-sticky" in said and "Also better" in said for said in report.said)


def test_what_to_set_stands_below_its_reasons_and_trades_at_the_end(range_3_5):
    told = as_text(recommend.report(range_3_5, "4.4", CONFIG))
    places = [told.index(word) for word in (
        "Set sticky.", "It costs ", "# Java: ", "A trade, ", "Why the group", "\nrow ", "# for the trade ",
    )]  # fmt: skip
    assert places == sorted(places)


def test_every_line_is_one_that_its_client_takes():
    classic = [
        assignors.get(name) for name in ("range", "roundrobin", "sticky", "cooperative-sticky")
    ]
    for old, new in permutations(classic, 2):
        java, others = recommend._java(new, old, False, ""), recommend._librdkafka(new, old)
        first, second = (config.lines[0].partition("=")[2].split(",") for config in java)
        assert first == [new.source, old.source] and second == [new.source]
        lists = [config.lines[0].partition("=")[2].split(",") for config in others]
        assert bool(lists) == ("sticky" not in (new.name, old.name))
        for kinds in lists:  # librdkafka refuses other names, and lists of two protocols
            found = [assignors.get(f"librdkafka-{kind}") for kind in kinds]
            assert len({strategy.protocol for strategy in found}) == 1
        assert not lists or lists[-1] == [new.kind]
        assert ("stop all" in " ".join(c.title for c in others)) == (len(lists) == 1)


def test_a_trade_has_its_lines_apart_from_what_is_set(range_3_5):
    report = recommend.report(range_3_5, "4.4", CONFIG)
    traded = {said.split(": ")[1].partition(". ")[0] for said in report.said if "A trade" in said}
    assert "roundrobin" in traded
    for label in traded:
        assert any(config.title.startswith(f"for the trade {label}: ") for config in report.trades)
    [also] = [said for said in report.said if said.startswith("Also better")]
    for label in ("cooperative-sticky", "server-uniform"):
        title = f"for the other that is better, {label}: "
        assert label in also and any(c.title.startswith(title) for c in report.trades)
    assert not any(config.title.startswith("for ") for config in report.lines)
    found = as_data(report)
    assert len(found["set"]) == 2 and len(found["trades"]) == len(report.trades)
    assert "CooperativeStickyAssignor," in as_text(report)
    assert "librdkafka has no sticky" in " ".join(report.unknown)


def test_the_restarts_of_the_cost_are_those_of_the_recipe(range_3_5):
    report = recommend.report(range_3_5, "4.4", CONFIG)
    rows = {row.row: row for row in report.tables[0].rows}
    at = next(n for n, said in enumerate(report.said) if said.startswith("It costs"))
    cost, later = report.said[at : at + 2]
    assert len(report.lines) == 2 and "the next rollout will do" in report.lines[1].title
    first, switch = (rows[name] for name in re.findall(r"row (W\d+)", cost))
    assert cost.startswith("It costs one restart of every member")
    assert (first.event, first.strategy) == ("a rollout", "range"), "voted for until the last knows"
    assert (switch.event, switch.strategy) == ("switch", "sticky")
    second = rows[re.search(r"A second one \(row (W\d+)\)", later)[1]]
    assert (second.event, second.strategy) == ("a rollout", "sticky"), "every list begins with it"


@pytest.mark.slow
def test_what_is_short_begins_with_the_alarm_and_ends_with_a_reason(range_3_5):
    for client, group in ("", range_3_5), ("rdkafka", of_client(librdkafkas(), "rdkafka")):
        said = recommend.report(group, "4.4", CONFIG).said
        beware, told = recommend.in_short(said)
        assert not beware and told[0].startswith("Set ") and len(told) == 2, client
        assert told[1].startswith("The fullest member holds ")
    failing = recommend.report(json.loads(NEVER_ENDS.read_text()), "4.4", CONFIG)
    beware, told = recommend.in_short(failing.said)
    assert beware == failing.said[0] and told[0] == "Set server-uniform."
    assert recommend.in_short(["First: look.", "Nothing.", "Why"]) == (
        "",
        ["First: look.", "Nothing."],
    )


def test_a_time_without_an_owner_is_told_with_the_drift_it_holds_for(range_3_5):
    said = " ".join(recommend.report(range_3_5, "4.4", CONFIG).said)
    told = re.findall(r"A rollout leaves [^(]*", said)
    bound = f", where heartbeats drift no more than {max(pauses.DRIFTS_MS)} ms a beat "
    assert told and all(reason.endswith(bound) for reason in told)


def test_of_those_that_are_better_alike_the_one_that_moves_less_is_set():
    held = [[f"{topic}-{i}" for topic in "ab"] for i in range(4)]
    group = document({"a": 4, "b": 4}, held, "roundrobin")
    for member, first in zip(group["members"], "7f39", strict=True):
        member["id"] = f"c-{first}0000000-0000-4000-8000-000000000000"
    report = recommend.report(group, "4.4", CONFIG)
    assert report.said[0] == "Set sticky."
    [also] = [said for said in report.said if said.startswith("Also better than today")]
    assert "range" in also
    moved = {(row[1], row[2]): row[6] for row in report.tables[0].rows}
    for event in ("a member more", "a rollout"):
        assert moved[event, "sticky"].median <= moved[event, "range"].median


def test_shorter_rollouts_alone_are_no_reason_to_go_back_to_an_eager_strategy():
    held = [[f"t-{4 * m + i}" for i in range(4)] for m in range(3)]
    report = recommend.report(document({"t": 12}, held, "cooperative-sticky"), "4.4", CONFIG)
    assert report.said[0] == "Nothing that was tried is better than today: set nothing new."
    [trade] = [said for said in report.said if said.startswith("A trade, not recommended: sticky.")]
    assert "A rollout leaves" in trade and "All members would stop at every rebalance" in trade
    rows = {(row[1], row[2]): row for row in report.tables[0].rows}
    eager, today = (rows["a rollout", name][9] for name in ("sticky", "cooperative-sticky"))
    assert eager.high < today.low


def test_moves_that_are_overdue_do_not_speak_for_another_strategy():
    """Each row of the own strategy would have them, of another one its switch alone."""
    for held in ([12, 0, 0], [4, 4, 4]):
        whose = [m for m, count in enumerate(held) for _ in range(count)]
        lists = [[f"t-{p}" for p in range(12) if whose[p] == m] for m in range(3)]
        group = document({"t": 12}, lists, "cooperative-sticky")
        report = recommend.report(group, "4.4", CONFIG)
        moved = {(row.strategy, row.event): row.moved for row in report.tables[0].rows}
        for event in "a member more", "a rollout":
            assert moved["cooperative-sticky", event] == moved["sticky", event]
        assert moved["cooperative-sticky", "a rebalance"].high == max(held) - 4
        assert report.said[0] != "Set sticky."


def test_moves_that_a_more_even_group_needs_do_not_speak_against_it():
    held = [["a-0", "b-0", "c-0"], ["a-1", "b-1", "c-1"], [], []]
    group = document({"a": 2, "b": 2, "c": 2}, held, "range")
    for number, member in enumerate(group["members"]):
        member["instance"] = f"app-{number}"
    report = recommend.report(group, "4.4", CONFIG)
    assert report.said[0] == "Set sticky."
    assert report.said[1].startswith("The fullest member holds 2 instead of 3 partitions")
    assert "1 instead of 0 partitions, as much as a group that is more even needs" in report.said[2]
    assert any(s.startswith("A trade, not recommended: roundrobin") for s in report.said)


@pytest.mark.slow
def test_a_worst_rollout_that_is_twice_as_long_gives_way(monkeypatch):
    """The more members, the longer all wait for the last heartbeat: page 11."""
    monkeypatch.setattr(scaling, "MOST_ROLLED_OUT", 5)
    monkeypatch.setattr(scaling, "ROLLED_OUT", 2)
    monkeypatch.setattr(recommend, "STATIC_SINCE", (99,))  # they would move less still
    held = [[f"{t}-{p}" for t in "ab" for p in range(m, 20, 16)] for m in range(16)]
    report = recommend.report(document({"a": 20, "b": 20}, held, "range"), "4.4", CONFIG)
    rolled = {
        row.strategy: row.unowned for row in report.tables[0].rows if row.event == "a rollout"
    }
    assert 2 * rolled["cooperative-sticky"].high <= rolled["sticky"].high
    assert report.said[0] == "Set cooperative-sticky."
    assert any(f"up to {max(pauses.DRIFTS_MS)} ms" in unknown for unknown in report.unknown)


def test_nothing_is_better_than_a_group_that_is_even_and_sticky():
    held = [["t-0", "t-1"], ["t-2", "t-3"]]
    report = recommend.report(document({"t": 4}, held, "sticky"), "4.4", CONFIG)
    assert report.said[0] == "Nothing that was tried is better than today: set nothing new."
    assert report.lines == []


NEVER_ENDS = Path(__file__).parents[1] / "data" / "groups" / "never-ends.json"


@pytest.mark.slow
def test_what_never_ends_is_told_first_and_never_advised():
    report = recommend.report(json.loads(NEVER_ENDS.read_text()), "4.4", CONFIG)
    assert report.said[0].startswith("Beware: sticky fails at a rebalance: NeverEnds: ")
    assert report.said[1] == "Set server-uniform.", "which ends, and is as even as can be"
    assert "It does not fail here, nor do these: range, roundrobin." in report.said
    assert any(s.startswith("Not cooperative-sticky: it fails at two b") for s in report.said)
    told = [config.title + " ".join(config.lines) for config in (*report.lines, *report.trades)]
    assert told and not any("ooperative" in text or "instance" in text for text in told)


def test_what_a_group_has_today_is_what_its_strategy_makes_of_it():
    """Two of eight partitions have no owner: that the fullest holds 2 is no merit of the strategy."""
    held = [["t-0", "t-1"], ["t-2", "t-3"], ["t-4", "t-5"]]
    group = document({"t": 8}, held, "cooperative-sticky")
    report = recommend.report(group, "4.4", CONFIG)
    assert not any(said.startswith("Set ") or "fullest" in said for said in report.said)
    row = survey.report([group], "4.4").tables[0].rows[0]
    found = dict(zip(survey.COLUMNS, row, strict=True))
    assert (found["fullest"], found["fullest then"], found["gain"]) == (2, 3, 0)


def test_what_goes_to_members_that_do_not_read_it_is_a_failure():
    """Equal subscriptions, and a member that names no topic: the core since 2.5.1 deals to it too."""
    group = document({"a": 6}, [["a-0", "a-1", "a-2"], ["a-3", "a-4", "a-5"], []], "range")
    group["members"][0]["id"], group["members"][1]["id"] = "B", "C"
    group["members"][2] |= {"topics": [], "id": "A"}
    told = " ".join(recommend.report(group, "4.4", CONFIG).said)
    for strategy in ("sticky", "cooperative-sticky"):
        assert f"Not {strategy}: it fails at switch: gives" in told
    row = survey.report([group], "4.4").tables[0].rows[0]
    found = dict(zip(survey.COLUMNS, row, strict=True))
    assert (found["why not"], found["better"]) == (None, "server-uniform")
    with pytest.raises(AssignlabError, match="do not read"):
        asked = what_if.subject(group)
        numbers(steps(asked, [("switch", asked.group)], assignors.get("sticky"))[-1])


def test_no_static_members_before_the_release_that_brought_them(range_3_5):
    for release, there in (("2.2", False), ("2.3", True), ("0.10", False)):
        rows = recommend.report(range_3_5, release, CONFIG).tables[0].rows
        assert any("group.instance.id" in row.strategy for row in rows) == there


def test_no_static_members_of_a_client_that_has_none():
    group = of_client(document({"t": 5}, [["t-0", "t-1"], ["t-2", "t-3"], ["t-4"]]), "kafkajs")
    report = recommend.report(group, "4.4", CONFIG, "roundrobin")
    assert "instance" not in as_text(report)
    told = "Nothing else was tried: the lab knows no change for a group of kafkajs."
    assert told in report.said


def test_a_static_member_that_leaves_is_missed_as_one_that_crashes():
    group = document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]], "server-uniform")
    report = recommend.report(group, "4.4", CONFIG)
    cost = next(said for said in report.said if said.startswith("It costs"))
    named = re.search(r"after its session, as one that crashes \(row (W\d+)\)", cost)[1]
    rows = {row.row: row for row in report.tables[0].rows}
    assert rows[named][1:3] == ("a crash", "server-uniform + group.instance.id")


@pytest.mark.slow
def test_settings_that_are_given_are_not_said_to_be_defaults(range_3_5):
    given = pauses.settings("4.4", {"session.timeout.ms": "10000"})
    for config, told in ((CONFIG, "as its defaults;"), (given, "as given, else its defaults;")):
        unknown = recommend.report(range_3_5, "4.4", config).unknown
        assert any(f"taken as 4.4, settings {told}" in one for one in unknown)


@pytest.mark.slow
def test_static_names_keep_the_order_of_the_members():
    """Twelve members: i10 would sort before i2."""
    held = [[f"t-{p}"] for p in range(12)]
    rows = recommend.report(document({"t": 12}, held, "range"), "4.4", CONFIG).tables[0].rows
    crash = {row.strategy: row.moved for row in rows if row.event == "a crash"}
    assert crash["range + group.instance.id"] == crash["range"]


def test_the_only_member_gains_nothing():
    report = recommend.report(
        document({"t": 4}, [["t-0", "t-1", "t-2", "t-3"]], "range"), "4.4", CONFIG
    )
    assert report.said[0].startswith("The only member has everything") and not report.lines
    notes = {
        row.event: row.note for row in report.tables[0].rows if row.strategy.startswith("range")
    }
    assert notes["KIP-848"] == "not played: the only member"


def test_a_survey_prefers_what_moves_less_of_two_as_even():
    group = document({"t": 3}, [["t-0"], ["t-1"], ["t-2"], []], "range", group="idle")
    row = survey.report([group], "4.4").tables[0].rows[0]
    found = dict(zip(survey.COLUMNS, row, strict=True))
    assert found["better"] != "roundrobin" and found["gain"] <= 3


def test_a_group_whose_every_event_fails_says_so(monkeypatch):
    def fails(asked, happened, strategy, silent=None):
        raise AssignlabError("range: NeverEnds")

    monkeypatch.setattr(what_if, "steps", fails)
    with pytest.raises(AssignlabError, match="range fails at a rebalance: NeverEnds"):
        recommend.report(document({"t": 2}, [["t-0"], ["t-1"]], "range"), "4.4", CONFIG)


def test_of_a_group_that_fails_at_all_events_it_says_what_does_not(monkeypatch):
    played = what_if.steps

    def fails(asked, happened, strategy, silent=None):
        if strategy is assignors.get("range"):
            raise AssignlabError("range: NeverEnds")
        return played(asked, happened, strategy, silent)

    monkeypatch.setattr(what_if, "steps", fails)
    told = r"NeverEnds \(it does not fail under roundrobin, sticky, cooperative-sticky and server-u"
    with pytest.raises(AssignlabError, match=told):
        recommend.report(document({"t": 2}, [["t-0"], ["t-1"]], "range"), "4.4", CONFIG)


UNEVEN = [[f"a-{p}", f"b-{p}", f"c-{p}"] for p in range(3)] + [[]]


@pytest.mark.slow
def test_where_members_do_not_come_over_one_by_one_the_lines_say_so():
    refused = pauses.settings("4.4", {"group.consumer.migration.policy": "disabled"})
    group = document({"a": 3, "b": 3, "c": 3}, UNEVEN, "range")
    for config, word in (refused, "all members stop"), (CONFIG, "every member, one restart each"):
        report = recommend.report(group, "4.4", config)
        titles = [lines.title for lines in [*report.lines, *report.trades]]
        [title] = [title for title in titles if "heartbeat.interval.ms out" in title]
        assert word in title
    told = recommend._costs(
        *(option(name) for name in ("server-uniform", "range")),
        what_if.table(subject(group), ["range"], ["KIP-848"], "4.4", refused),
        client="",
    )
    assert "does not allow it online" in told[0] and "moves (row W1)" in told[0]


def test_what_a_change_costs_that_is_not_played_is_said_so(monkeypatch):
    monkeypatch.setattr(scaling, "MOST_ROLLED_OUT", 3)
    rows = what_if.table(
        subject(document({"a": 4}, [["a-0"]] * 4, "range")),
        ["range"],
        ["two bounces"],
        "4.4",
        CONFIG,
    )
    told = recommend._costs(option("cooperative-sticky"), option("range"), rows, client="")
    assert told == ["What the change costs is not played: more than 3 members (row W1)."]


def option(name: str) -> recommend.Option:
    fields = dict.fromkeys(recommend.Option._fields)
    return recommend.Option(**fields | {"label": name, "strategy": assignors.get(name), "rows": {}})


def test_of_a_large_group_a_rollout_is_counted_up_from_some_members(monkeypatch):
    monkeypatch.setattr(scaling, "MOST_ROLLED_OUT", 5)
    monkeypatch.setattr(scaling, "ROLLED_OUT", 2)
    held = [[f"t-{p}"] for p in range(6)]
    report = recommend.report(document({"t": 6}, held, "sticky"), "4.4", CONFIG)
    row = next(row for row in report.tables[0].rows if row[1:3] == ("a rollout", "sticky"))
    cells = dict(zip(what_if.COLUMNS, row, strict=True))
    assert cells["rounds"].high == cells["moved"].high == 2 * 6 and cells["avoidable"].high == 0
    assert "2 members that are drawn" in cells["note"]


def test_where_no_change_is_known_none_is_said_to_have_been_tried():
    held = [["t-0", "t-1"], ["t-2"]]
    report = recommend.report(document({"t": 3}, held, "rocketmq-avg"), "4.4", CONFIG)
    assert report.said[0].startswith("Nothing else was tried: ")
    assert not any("4.4" in sentence for sentence in report.unknown)


def test_old_releases_are_not_sent_to_what_they_do_not_have(range_3_5):
    report = recommend.report(range_3_5, "2.3", CONFIG)
    tried = {row[2].partition("@")[0] for row in report.tables[0].rows}
    assert not {"cooperative-sticky", "server-uniform"} & tried and "sticky" in tried
    assert {row[2] for row in report.tables[0].rows} >= {"range@2.3", "sticky@2.3"}
    with pytest.raises(UnknownRelease, match="knows no Kafka 5.0"):
        recommend.report(range_3_5, "5.0", CONFIG)


def test_a_group_whose_topics_are_gone_is_no_error(range_3_5):
    for member in range_3_5["members"]:
        member["owned"] = []
    report = recommend.report(range_3_5 | {"topics": []}, "4.4", CONFIG)
    assert report.said[0].startswith("Nothing that was tried")


@pytest.mark.parametrize(
    ("strategy", "setting"),
    [("range", " session.timeout.ms"), ("server-range", " group.consumer.session.timeout.ms")],
)
def test_the_session_that_a_crash_lasts_is_that_of_the_protocol(strategy, setting):
    group = document({"t": 2}, [["t-0"], ["t-1"]], strategy)
    [crash] = [s for s in recommend.report(group, "4.4", CONFIG).said if s.startswith("A crash")]
    assert setting + " decides" in crash


@pytest.mark.slow
def test_the_coordinators_protocol_is_advised_from_4_0_on_with_what_lets_members_in(range_3_5):
    for release, advised in ("3.9", False), ("4.0", True):
        report = recommend.report(range_3_5, release, CONFIG)
        lines = [line for config in [*report.lines, *report.trades] for line in config.lines]
        assert ("group.protocol=consumer" in lines) == advised
        features = [line for line in lines if line.endswith("--feature group.version=1")]
        assert len(features) == advised
        if advised:
            assert lines.index(features[0]) < lines.index("group.protocol=consumer")
    server = document({"t": 2}, [["t-0"], ["t-1"]], "server-range")
    assert "group.version" not in as_text(recommend.report(server, "4.4", CONFIG))


def test_groups_of_the_new_protocol_stay_there():
    names = clients.strategies_for(
        what_if.subject(document({"t": 2}, [["t-0"], ["t-1"]], "server-range")), "4.4"
    )
    assert names == ["server-range", "server-uniform"]


def test_idle_members_are_counted():
    report = recommend.report(document({"t": 1}, [["t-0"], []], "sticky"), "4.4", CONFIG)
    assert any(
        said.startswith("No strategy has anything for 1 member: run 1 ") for said in report.said
    )


@pytest.mark.parametrize(
    ("topics", "held"),
    [
        ({"t": 1}, [["t-0"]]),
        ({"t": 1}, [["t-0"], []]),
        ({"t": 1}, [[]]),
        ({"t": 2, "u": 1}, [["t-0", "u-0"], ["t-1"]]),
    ],
)
def test_one_thing_is_named_in_the_singular(topics, held):
    asked = document(topics, held, "range")
    reports = [
        show.answer(asked),
        recommend.report(asked, "4.4", CONFIG),
        survey.report([asked], "4.4"),
    ]
    told = [text for found in reports for text in (found.title, *found.said)]
    assert [text for text in told if re.search(r"(?<![\d.])1 [a-z-]+s\b", text)] == []


def test_a_survey_ranks_by_gain_and_says_why_not(range_3_5):
    even = document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]], "sticky", group="even")
    empty = document({"t": 1}, [], group="empty")
    report = survey.report([even, empty, range_3_5], "4.4")
    rows = [dict(zip(survey.COLUMNS, row, strict=True)) for row in report.tables[0].rows]
    assert [row["group"] for row in rows] == ["billing", "even", "empty"]
    assert rows[0]["gain"] > 0 and rows[0]["better"] and rows[0]["fullest then"] == 2
    assert rows[1]["gain"] == 0 and rows[1]["better"] is None
    assert "no members" in rows[2]["why not"]
    assert [name for name, cell in rows[2].items() if cell is not None] == [
        "group", "strategy", "members", "why not"
    ]  # fmt: skip
    assert "2 of 3 groups could be asked; 1 would gain" in report.said[0]


@pytest.mark.slow
def test_a_survey_begins_with_groups_whose_own_strategy_fails(range_3_5):
    asked = [range_3_5, json.loads(NEVER_ENDS.read_text()) | {"group": "stuck"}]
    report = survey.report(asked, "4.4")
    rows = [dict(zip(survey.COLUMNS, row, strict=True)) for row in report.tables[0].rows]
    assert [row["group"] for row in rows] == ["stuck", "billing"]
    assert rows[0]["gain"] is None and "NeverEnds" in rows[0]["why not"]
    assert "1 of 2 groups could be asked; 1 would gain" in report.said[0]
    assert report.said[1].startswith("First: 1 group whose own strategy fails, ")


def test_a_group_that_spark_loses_keeps_its_name_and_the_others_their_order(range_3_5, monkeypatch):
    even = document({"t": 4}, [["t-0", "t-1"], ["t-2", "t-3"]], "sticky", group="even")

    def losing(trials, play):
        rows = [{"scenario": n, "error": None} | play(trial) for n, trial in enumerate(trials)]
        lost = {"scenario": len(trials) - 1, "error": "TimeLimit: more than 60 s"}
        return SimpleNamespace(frame=lambda: pd.DataFrame([lost, *rows[:-1]]))

    monkeypatch.setattr(timeline, "sweep", losing)
    lost = document({"t": 2}, [["t-0"], ["t-1"]], "sticky", group="lost")
    [table] = survey.report([even, range_3_5, lost], "4.4", spark=True).tables
    rows = [dict(zip(survey.COLUMNS, row, strict=True)) for row in table.rows]
    assert [row["group"] for row in rows] == ["billing", "even", "lost"]
    assert rows[2]["why not"] == "TimeLimit: more than 60 s" and rows[2]["members"] == 2
    assert [type(row["fullest"]) for row in rows[:2]] == [int, int]


def test_the_commands_write_pages_and_json(tmp_path, range_3_5):
    range_3_5["group"] = "<img src=x onerror=alert(1)>"
    source, page = tmp_path / "group.json", tmp_path / "page.html"
    source.write_text(json.dumps(range_3_5))
    runner = CliRunner()
    for command in (["recommend"], ["survey"]):
        said = runner.invoke(main, ["group", *command, str(source), "--html", str(page)])
        assert said.exit_code == 0, said.output
        assert "<img" not in page.read_text() and "&lt;img" in page.read_text()
    [found] = json.loads(runner.invoke(main, ["group", "survey", str(source), "--json"]).output)
    assert found["survey"][0]["group"] == range_3_5["group"]


def librdkafkas():
    """Members under range, one of which has nothing."""
    held = [["a-0", "b-0", "b-3"], ["a-1", "b-1", "b-4"], ["a-2", "b-2"], []]
    return document({"a": 3, "b": 5}, held, "range")


def of_client(group, client):
    """The same group, its members named as a client names those without an id."""
    for member in group["members"]:
        member["id"] = member["id"].replace("c", f"{client}-", 1)
    return group


@pytest.mark.parametrize(
    ("client", "name", "headline"),
    [
        ("rdkafka", "librdkafka", "Set cooperative-sticky."),
        ("sarama", "sarama", "Set sticky."),
        ("kafkajs", "kafkajs", "Nothing that was tried is better than today: set nothing new."),
    ],
)
def test_where_ids_name_the_client_only_what_it_has_is_set(range_3_5, client, name, headline):
    group = of_client(librdkafkas(), client)
    report = recommend.report(group, "4.4", CONFIG)
    assert report.said[0].startswith(f"The members are taken for clients of {name},")
    assert report.said[1] == headline
    told = as_text(report)
    assert "org.apache.kafka" not in told and "which clients the members run" not in told
    played = {row[2] for row in report.tables[0].rows}
    assert ("server-uniform" in played) == (client == "rdkafka")
    assert f"{name}-range" in played or name == "kafkajs", (
        "what its members run is the client's own"
    )
    if client == "rdkafka":
        assert "It costs a stop of all members" in told and "StickyAssignor" not in told
        assert "partition.assignment.strategy=cooperative-sticky" in told
        assert not {"sticky", "range"} & played
        assert "since 4.2" not in told, "of Java's client"


@pytest.mark.parametrize("ids", ["billing-{}-0f", "H3E94Ae0S5mcpP8MnvMrN{}"])
def test_static_members_and_those_of_kip_848_are_known_by_their_client_id(ids):
    group = librdkafkas()
    for n, member in enumerate(group["members"]):
        member |= {"id": ids.format(n), "client": "rdkafka"}
    group["members"][3] = {"id": "~unknown-1", "topics": ["a", "b"], "owned": []}  # merely counted
    assert clients.client_of(subject(group)) == "librdkafka"
    told = as_text(recommend.report(group, "4.4", CONFIG))
    assert "Set cooperative-sticky." in told and "StickyAssignor" not in told
    group["members"][0]["client"] = "billing"
    assert clients.client_of(subject(group)) == ""


def test_advice_says_of_clients_what_the_timeline_plays():
    assert {*clients.NAMED} == {*scenario.OTHERS}
    assert KAFKA_GO in clients.NAMED["kafka-go"].client_id


def test_clients_of_kafka_go_are_known_by_what_stands_in_the_midst_of_their_ids():
    """Its default client id is ``program@host (github.com/segmentio/kafka-go)``."""
    group = of_client(librdkafkas(), "billing@pod-7 (github.com/segmentio/kafka-go)")
    report = recommend.report(group, "4.4", CONFIG)
    assert {row.strategy for row in report.tables[0].rows} == {
        "kafka-go-range",
        "kafka-go-roundrobin",
    }
    told = as_text(report)
    assert "clients of kafka-go" in told and "group.instance.id" not in told


def test_kafka_python_refuses_a_list_of_eager_and_cooperative_strategies_too():
    group = of_client(librdkafkas(), "kafka-python")
    [row] = what_if.report(group, [], ["two bounces"], "4.4", CONFIG).tables[0].rows
    assert row.moved is None
    assert row.note == (
        "not played: kafka-python refuses a list of eager and cooperative strategies"
    )
    cooperative = group | {"strategy": "kafka-python-cooperative-sticky"}
    now, best = (
        recommend.Option("", assignors.get(f"kafka-python-{kind}"), {}, None, None, None, None)
        for kind in ("range", "cooperative-sticky")
    )
    switch = what_if.report(cooperative, ["range"], ["switch"], "4.4", CONFIG).tables[0].rows[0]
    for old, new in ((now, best), (best, now)):
        option = new._replace(rows={"switch": switch})
        [told] = recommend._costs(option, old, [], "kafka-python")
        assert told.startswith("It costs a stop of all members")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("client", "static"),
    [
        ("kgo", 'kgo.InstanceID("NAME-ORDINAL")'),
        ("kafka-python", 'group_instance_id="NAME-ORDINAL"'),
        ("sarama", 'config.Consumer.Group.InstanceId = "NAME-ORDINAL"'),
        ("rdkafka", "group.instance.id=NAME-ORDINAL"),
    ],
)
def test_lines_are_in_the_words_of_the_client(client, static):
    """As the sources of these clients have them."""
    report = recommend.report(of_client(librdkafkas(), client), "4.4", CONFIG)
    lines = [line for pasted in (*report.lines, *report.trades) for line in pasted.lines]
    assert static in lines
    assert ("kgo.ServerSideBalancer()" in lines) == (client == "kgo")
    assert ("kgo.Balancers(kgo.StickyBalancer())" in lines) == (client == "kgo")
    assert ("group.protocol=consumer" in lines) == (client == "rdkafka")


def test_ids_of_kafka_python_tell_what_its_release_lacks():
    """2.0.2 has no cooperative-sticky, no group.instance.id and a session of 10 s unless it is set."""
    old = of_client(librdkafkas(), "kafka-python-2.0.2")
    told = as_text(recommend.report(old, "4.4", CONFIG))
    assert "Set sticky." in told and "session.timeout.ms=10000" in told
    assert "cooperative" not in told and "group.instance.id" not in told
    [row] = what_if.report(old, ["cooperative-sticky"], ["switch"], "4.4", CONFIG).tables[0].rows
    assert row.strategy == "kafka-python-cooperative-sticky"
    new = as_text(recommend.report(of_client(librdkafkas(), "kafka-python-3.0.12"), "4.4", CONFIG))
    assert "cooperative-sticky" in new and "group_instance_id" in new and "10000" not in new


def test_of_clients_of_several_kinds_what_one_lacks_is_not_tried():
    mixed = librdkafkas()
    mixed["members"][0]["client"] = "rdkafka"
    report = recommend.report(mixed, "4.4", CONFIG)
    assert "sticky" not in {row.strategy for row in report.tables[0].rows}
    assert "clients of several kinds, some of librdkafka (" in report.said[0]
    [bounces] = [row for row in report.tables[0].rows if row.event == "two bounces"]
    assert bounces.note == (
        "not played: librdkafka refuses a list of eager and cooperative strategies"
    )
    mixed["members"][1]["client"] = "sarama"
    asked = subject(mixed)
    assert clients.strategies_for(asked, "4.4") == ["range", "roundrobin", "cooperative-sticky"]
    assert "some of librdkafka and sarama (" in clients.taken_for(asked)[0]


@pytest.mark.slow
def test_what_if_and_survey_try_what_the_client_has():
    group = of_client(librdkafkas(), "rdkafka")
    rows = (
        what_if.report(group, [], ["switch", "two bounces", "KIP-848"], "4.4", CONFIG)
        .tables[0]
        .rows
    )
    tried = {row.strategy.rpartition(" to ")[2] for row in rows}
    assert tried == {
        "librdkafka-roundrobin",
        "librdkafka-cooperative-sticky",
        "server-uniform",
    }
    [bounces] = [row for row in rows if row.event == "two bounces"]
    assert bounces.moved is None and bounces.note.startswith(
        "not played: librdkafka refuses a list"
    )
    named = what_if.report(group, ["sticky"], ["switch"], "4.4", CONFIG).tables[0].rows
    assert [row.strategy for row in named] == ["sticky"], "who names one is answered"
    for found in (
        what_if.report(group, ["sticky", "range"], ["switch"], "4.4", CONFIG),
        recommend.report(group, "4.4", CONFIG, "sticky"),
        replicas.report(group, 4, "sticky", "4.4", CONFIG),
    ):
        assert any(said.endswith(" It does not have sticky.") for said in found.said)
    found = survey.report([group], "4.4").tables[0].rows[0]
    row = dict(zip(survey.COLUMNS, found, strict=True))
    assert row["strategy"] == "librdkafka-range" and row["better"] != "sticky"
    kafkajs = of_client(librdkafkas(), "kafkajs")
    rows = what_if.report(kafkajs, [], [], "4.4", CONFIG).tables[0].rows
    assert {row.strategy for row in rows} == {"range", "kafkajs-roundrobin"}, "it has no range"


def test_of_every_client_it_is_told_what_it_has():
    """Where nothing is told, a group is advised to take KIP-848 and every strategy of Java's."""
    systems = {s.system for s in assignors.strategies().values() if s.of_clients}
    has_all = {clients.CLASSIC, "franz-go"}
    assert systems - has_all == set(clients.HAS), "HAS of advice/clients.py"
    assert set(clients.OWN_DEFAULTS) <= systems


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["range", "roundrobin"])
@pytest.mark.parametrize("client", ["librdkafka", "sarama", "franz-go", "kafka-python", "kafka-go"])
def test_what_moves_is_what_the_clients_own_strategy_moves(client, kind):
    """By ids, by its name in the document, or named on the command line."""
    own = f"{client}-{kind}"
    begin = assignors.get(own).client_id.replace("*", "billing@pod-7 ")
    told = of_client(librdkafkas(), begin.removesuffix("-")) | {"strategy": kind}
    named = librdkafkas() | {"strategy": own}
    moves = {}
    for group in (told, named):
        rows = what_if.report(group, [], ["a member more"], "4.4", CONFIG).tables[0].rows
        assert rows[0].strategy == own
        by_kind = what_if.report(group, [kind], ["a member more"], "4.4", CONFIG).tables[0].rows
        assert by_kind[0].strategy == own
        moves[group is told] = [row.strategy for row in rows]
        assert "roundrobin" not in moves[group is told], "another client's"
        headline = recommend.report(group, "4.4", CONFIG).said[1]
        assert "the lab knows no change" not in headline
    assert moves[True] == moves[False]


def test_a_strategy_of_the_client_that_fails_on_the_group_is_told_with_those_that_do_not():
    """kafka-python's round robin throws where members subscribe differently; Java's does not."""
    java = document({"t": 2, "u": 2}, [["t-0", "u-0", "u-1"], ["t-1"]], "roundrobin")
    java["members"][1]["topics"] = ["t"]
    assert recommend.report(java, "4.4", CONFIG).tables
    told = "kafka-python-roundrobin fails at a rebalance: KeyError.* under kafka-python-range"
    with pytest.raises(AssignlabError, match=told):
        recommend.report(of_client(java, "kafka-python"), "4.4", CONFIG)


def test_what_was_inferred_of_javas_strategy_is_not_said_of_another_clients():
    java = "strategy: range of the newest Java client; the text has neither client nor release"
    twice = "strategy: range and sticky are told, the first counts; the texts are of two moments"
    group = of_client(librdkafkas(), "sarama") | {"inferred": [twice, java]}
    own = "strategy: sarama-range, as the members are named; the text has no release"
    assert show.data(group)["strategy"] == "sarama-range"
    assert "Java" not in show.text(group) and "sarama-range deals every topic" in show.text(group)
    for found in (
        what_if.report(group, [], ["a member more"], "4.4", CONFIG),
        recommend.report(group, "4.4", CONFIG),
        replicas.report(group, 5, None, "4.4", CONFIG),
        show.page(group),
    ):
        assert found.inferred == [twice, own]
    group = librdkafkas() | {"inferred": [java]}
    assert what_if.report(group, [], ["a member more"], "4.4", CONFIG).inferred == [java]
    group = librdkafkas() | {"strategy": "sticky", "inferred": [java.replace("range", "sticky")]}
    old = "strategy: sticky@2.4, as the release is 2.4; the text has neither it nor client"
    assert what_if.report(group, [], ["a member more"], "2.4", CONFIG).inferred == [old]


def test_where_another_clients_strategy_or_ids_are_told_it_is_said_for_whose_members_are_taken():
    told = "The members are taken for clients of kafkajs, by their strategy or their ids."
    by_strategy = librdkafkas() | {"strategy": "kafkajs-roundrobin"}
    for group in (by_strategy, of_client(librdkafkas(), "kafkajs")):
        for report in (
            what_if.report(group, [], ["a member more"], "4.4", CONFIG),
            replicas.report(group, 5, None, "4.4", CONFIG),
        ):
            assert any(said.startswith(told) for said in report.said)
    assert not clients.taken_for(subject(librdkafkas()))


def test_times_without_an_owner_are_those_of_librdkafka_where_ids_name_it():
    def crash(group, *names):
        rows = what_if.report(group, names, ["a crash", "a rollout"], "4.4", CONFIG).tables[0].rows
        return {(row.strategy, row.event): (row.moved, row.unowned) for row in rows}

    java, c = librdkafkas(), of_client(librdkafkas(), "rdkafka")
    names = ("range", "server-uniform")
    [by_java, by_c] = [crash(group, *names) for group in (java, c)]
    by_name = crash(c | {"strategy": "librdkafka-range"})
    for event in ("a crash", "a rollout"):
        assert by_c["librdkafka-range", event] == by_name["librdkafka-range", event]
    assert by_c["librdkafka-range", "a rollout"][1] != by_java["range", "a rollout"][1]
    told = "begin with librdkafka are its own (of 2.15.1), and so are times without an owner; others are Kafka's."
    [said] = [s for s in recommend.report(c, "4.4", CONFIG).said if told in s]
    assert said.startswith("The members are taken for clients of librdkafka")


def test_a_client_whose_session_is_another_one_unless_set_is_told_with_it():
    for client, session_ms in (("kafkajs", 30_000), ("sarama", 10_000)):
        [told] = clients.taken_for(subject(of_client(librdkafkas(), client)))
        assert f"session.timeout.ms={session_ms}" in told and "--set" in told
    for client, own in (
        ("aiokafka", "session.timeout.ms=10000"),
        ("sarama", "session.timeout.ms=10000"),
        ("kafkajs", "fetch.max.wait.ms=5000"),
    ):
        [told] = clients.taken_for(subject(of_client(librdkafkas(), client)))
        assert "so are times without an owner" in told and own in told
    kafka_go = of_client(librdkafkas(), "billing@pod-7 (github.com/segmentio/kafka-go)")
    [told] = clients.taken_for(subject(kafka_go))
    assert "so are times without an owner" in told and "fetch.max.wait.ms=10000" in told
    for client in ("kafka-python", "kgo"):
        [told] = clients.taken_for(subject(of_client(librdkafkas(), client)))
        assert "so are times without an owner" in told and "--set" not in told


def test_sticky_of_franz_go_is_not_tried_since_it_forgets():
    """As recorded: a member more moved 7 of 11 partitions where 2 suffice."""
    group = of_client(librdkafkas(), "kgo")
    asked = subject(group | {"strategy": "range"})
    names = clients.strategies_for(asked, "4.4")
    assert "cooperative-sticky" in names and "sticky" not in names
    for strategy, told in (("range", False), ("sticky", True), ("cooperative-sticky", False)):
        said = clients.taken_for(subject(group | {"strategy": strategy}))
        assert (clients.FORGETS in said[0]) == told
    assert clients.FORGETS in clients.taken_for(asked, assignors.get("sticky"))[0]


@pytest.mark.slow
def test_partitions_without_an_owner_come_first(range_3_5):
    range_3_5["members"][0]["owned"] = []
    report = recommend.report(range_3_5, "4.4", CONFIG)
    assert report.said[0].startswith("First: 3 of 8 partitions have no owner.")
    row = next(r for r in report.tables[0].rows if r[1] == "a rebalance" and r[2] == "range")
    assert f"at most {row[3]} a member (row {row[0]})" in report.said[0]
    moving = recommend.report(range_3_5 | {"state": "PreparingRebalance"}, "4.4", CONFIG)
    assert not moving.said[0].startswith("First")


@pytest.mark.parametrize(
    ("strategy", "comes"),
    [
        ("range", "metadata has partitions that are new (metadata.max.age.ms)."),
        ("sarama-range", "metadata has partitions that are new."),
        ("server-range", "sends a heartbeat, once the coordinator knows partitions that are new."),
        ("rocketmq-avg", "at most 2 a member (row W1)."),
    ],
)
def test_what_makes_partitions_without_an_owner_have_one_is_that_of_the_protocol(strategy, comes):
    group = document({"t": 2, "u": 1}, [["t-0"], [], [], [], []], strategy)
    if strategy.startswith("rocketmq"):
        group = queues(group)
    report = recommend.report(group, "4.4", CONFIG)
    assert report.said[report.said[0].startswith("The members are")].endswith(comes)


def queues(group):
    """The same of RocketMQ's queues."""
    topics = [{"name": t["name"], "brokers": [["b", t["partitions"]]]} for t in group["topics"]]
    members = [
        {"id": m["id"], "topics": m["topics"], "owned": [[t, f"b-{n}"] for t, n in m["owned"]]}
        for m in group["members"]
    ]
    return group | {"topics": topics, "members": members}


def test_a_rebalance_that_leaves_partitions_out_is_not_said_to_give_out_all():
    group = queues(document({"t": 4}, [["t-0"], ["t-1"]], "rocketmq-machine-room"))
    group["topics"][0]["brokers"] = [["a@b", 2], ["c@b", 2]]
    for number, member in enumerate(group["members"]):
        member["owned"] = [["t", f"a@b-{number}"]]
    said = recommend.report(group | {"idcs": ["a"]}, "4.4", CONFIG).said
    assert said[0] == (
        "First: 2 of 4 partitions have no owner. The next rebalance gives out all but 2, at most 1 a"
        " member (row W1)."
    )


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        ("sticky", "run 3 at most, or give the topics 5 partitions together (kafka-topics"),
        ("kafka-go-range", "run 2 at most, or give one topic 5 partitions (kafka-topics"),
        ("rocketmq-avg", "run 2 at most, or give one topic 5 partitions."),
    ],
)
def test_what_gives_idle_members_something_does_so_under_their_strategy(strategy, told):
    """Two topics, of which the first members have all under strategies that deal each by itself."""
    group = document({"t": 2, "u": 1}, [["t-0"], ["t-1"], ["u-0"], [], []], strategy)
    group = queues(group) if strategy.startswith("rocketmq") else group
    said = recommend.report(group, "4.4", CONFIG).said
    assert [told in one for one in said if one.startswith("No strategy has")] == [True]


@pytest.mark.slow
def test_members_that_share_no_topic_are_applications_under_one_name(range_3_5):
    for member, topic in zip(range_3_5["members"], "aabb", strict=True):
        member["topics"] = [topic]
        member["owned"] = []
    range_3_5["members"][0]["owned"] = [["a", 0], ["a", 1]]
    range_3_5["members"][1]["owned"] = [["a", 2]]
    range_3_5["members"][2]["owned"] = [["b", 0], ["b", 1], ["b", 2]]
    range_3_5["members"][3]["owned"] = [["b", 3], ["b", 4]]
    said = " ".join(recommend.report(range_3_5, "4.4", CONFIG).said)
    assert "2 sets of members have no topic in common" in said
    range_3_5["members"][1]["topics"] = ["a", "b"]
    assert "in common" not in " ".join(recommend.report(range_3_5, "4.4", CONFIG).said)


@pytest.mark.parametrize("named", ["state", "threads"])
def test_groups_of_kafka_streams_are_refused_whatever_strategy_is_named(range_3_5, named):
    if named == "state":
        range_3_5 |= {"assignor": "stream", "strategy": None}
    for number, member in enumerate(range_3_5["members"] if named == "threads" else ()):
        member["id"] = f"app-7f-StreamThread-{number}-consumer-{number}"
    questions = [
        lambda: recommend.report(range_3_5, "4.4", CONFIG, "range"),
        lambda: what_if.report(range_3_5 | {"strategy": None}, ["range"], [], "4.4", CONFIG),
        lambda: subject(range_3_5),
    ]
    for ask in questions:
        with pytest.raises(AssignlabError, match="is one of Kafka Streams"):
            ask()
    assert "Kafka Streams" in show.answer(range_3_5).said[-1]


@pytest.mark.parametrize("command", ["show", "survey", "recommend", "replicas", "what-if"])
def test_share_groups_have_no_answer_whatever_is_asked(tmp_path, range_3_5, command):
    source, told = tmp_path / "group.json", "server-simple is of share groups"
    source.write_text(json.dumps(range_3_5))
    if command not in ("show", "survey"):
        named = ["group", command, str(source), "--strategy", "server-simple"]
        refused = CliRunner().invoke(main, named)
        assert refused.exit_code == 1 and told in refused.stderr
    source.write_text(json.dumps(range_3_5 | {"strategy": "server-simple"}))
    assert f"billing: {told}" in CliRunner().invoke(main, ["group", command, str(source)]).output


@pytest.mark.slow
def test_what_the_groups_strategy_does_not_explain_is_not_known(range_3_5):
    def unknown(group):
        return recommend.report(group, "4.4", CONFIG).unknown[0]

    assert not unknown(range_3_5).startswith("why members hold")
    first, last = range_3_5["members"][0], range_3_5["members"][3]
    first["owned"], last["owned"] = last["owned"], first["owned"]
    told = unknown(range_3_5)
    assert re.match(r"why members hold what they hold: range would move \d partitions", told)
    assert not unknown(range_3_5 | {"state": "PreparingRebalance"}).startswith("why members hold")


@pytest.mark.parametrize(("begin", "drawn"), [("rdkafka-", "rdkafka-"), ("c", "consumer-1-")])
def test_members_to_come_are_named_as_those_that_are_there_without_uuids_too(begin, drawn):
    group = librdkafkas()
    for number, member in enumerate(group["members"]):
        member["id"] = f"{begin}{number}"
    new = new_id(subject(group), random.Random(0), server=False)
    assert new.startswith(drawn)
