"""The scorecard: every published output is there, judged by what the originals answered."""

import dataclasses

import pytest

from assignlab import assignors
from assignlab.proof.originals import Originals, OriginalsUnavailable
from assignlab.published import kafka_tests, measures, notation, scorecard

FIXTURES = [f"F-{n:02}" for n in range(1, 25)] + ["000", "001", "002", "003", "004"]
NEWEST = ("range", "roundrobin", "sticky", "cooperative-sticky")


@pytest.fixture(scope="module")
def table():
    return scorecard.table()


def test_every_fixture_and_article_has_its_rows(table):
    assert set(FIXTURES) <= set(table["fixture"])
    assert len(table) >= 570
    assert table["case"].is_unique


def test_ours_is_what_the_original_answered(table):
    both = table[(table["ours"] != "") & (table["the jar's"] != "")]
    assert len(both) >= 550
    assert both["ours"].tolist() == both["the jar's"].tolist()


def test_every_strategy_of_the_collection_that_is_asked_answers(table):
    without = table[(table["ours"] == "") & (table["verdict"] != scorecard.BEYOND)]
    assert not set(without["strategy"]) & set(assignors.names())


def test_a_claim_that_does_not_hold_says_why(table):
    off = table[table["verdict"] != scorecard.MATCH]
    assert set(off["verdict"]) == set(scorecard.VERDICTS) - {scorecard.MATCH}
    assert (off["why"] != "").all()
    assert (table[table["verdict"] == scorecard.MATCH]["why"] == "").all()
    assert set(table["kind"]) <= set(scorecard.KINDS)


@pytest.mark.parametrize(
    ("case", "verdict"),
    [("F-05/2.1", scorecard.MATCH), ("F-02/1", "misprint"), ("F-12/1", "doubtful")],
)
def test_a_wrong_verdict_is_refused(case, verdict, monkeypatch):
    changed = tuple(
        dataclasses.replace(example, verdict=verdict) if example.case == case else example
        for example in scorecard.examples()
    )
    assert changed != scorecard.examples()
    monkeypatch.setattr(scorecard, "examples", lambda: changed)
    with pytest.raises(scorecard.WrongVerdict, match=case):
        scorecard.table()


def test_the_record_asks_what_the_file_says():
    """A changed example has to be recorded anew: assignlab proof scorecard --record."""
    wanted = [e for e in scorecard.examples() if e.case in scorecard.recorded()]
    assert len(wanted) == len(scorecard.recorded())
    for example in wanted:
        document = scorecard.asked(scorecard.recorded()[example.case])
        if example.measure == "partitions":
            assert document == example.group
            continue
        assert document["strategy"] == example.strategy
        assert document["topics"] == example.group["topics"]
        for member, described in zip(document["members"], example.group["members"], strict=True):
            assert member.items() >= described.items()


def test_every_line_of_kafkas_tests_is_transcribed_or_left_out_for_a_reason(table):
    lines = kafka_tests.lines()
    assert lines.loc["transcribed", "AbstractStickyAssignorTest"] == 100
    assert lines["all"].sum() == 393  # assertions in the bytecode of the five test classes
    rows = table[table["fixture"] == kafka_tests.FIXTURE]
    assert set(rows["verdict"]) == {scorecard.MATCH}
    sources = {source.partition(", ")[2].partition(".")[0] for source in rows["source"]}
    assert sources == set(lines.columns) - {"all"}


def test_a_group_of_kafkas_tests_is_asked_in_its_forms():
    """As RangeAssignorTest builds them: three replicas on three racks, and a switch for racks."""
    name = "RangeAssignorTest.testTwoConsumersOneTopicTwoPartitions"
    forms = [e.group for e in scorecard.examples() if e.source.endswith(name)]
    racks = [[member.get("rack") for member in group["members"]] for group in forms]
    assert racks == [[None, None], ["a", "b"], ["a", "b"]]
    topics = [group["topics"] for group in forms]
    assert topics[0] == topics[1] == [{"name": "topic1", "partitions": 2}]
    assert topics[2][0]["racks"] == [["a", "b", "c", "z"], ["b", "c", "a"]]


def test_only_moved_partitions_are_transfers():
    group = notation.described(
        {"topics": {"t": 3}, "members": {"a": {"topics": ["t"], "owned": "tp0 tp1"}, "b": ["t"]}}
    )
    answer = {"assignment": {"a": [["t", 0]], "b": [["t", 1], ["t", 2]]}}
    assert measures.transfers(group, answer) == "tp1: b"
    assert scorecard.printed("transfers", group, {"tp1": "b"}) == "tp1: b"


def test_what_is_asked_stands_beside_what_is_claimed(table):
    """One text, strategy and measure claim several things only of a group that lives on."""
    rows = table[~table["case"].str.contains(".", regex=False) & (table["fixture"] != "F-18")]
    asked = rows.groupby(["source", "about", "strategy", "measure"])["claimed"].nunique()
    assert asked[asked > 1].empty
    assert 'murmur2 of "foobar"' in set(table["about"])


def test_a_claim_about_some_members_leaves_the_others_aside():
    example = next(e for e in scorecard.examples() if e.of)
    assert example.of == ("consumer1",)
    answer = {"assignment": {m["id"]: [] for m in example.group["members"]}}
    assert scorecard.read_off(example, example.group, answer, None) == "consumer1: -"


def test_a_claim_that_names_a_stranger_is_refused():
    group = {"topics": [], "members": [{"id": "a", "topics": []}]}
    with pytest.raises(ValueError, match="'b'"):
        scorecard.printed("lists", group, {"b": "tp0"})


@pytest.mark.slow
def test_the_newest_release_still_answers_as_recorded():
    """The others are asked again by ``assignlab proof scorecard``: a JVM for each release."""
    cases = [c for c, record in scorecard.recorded().items() if record.get("strategy") in NEWEST]
    assert len(cases) > 400
    try:
        with Originals() as originals:
            assert scorecard.recheck(originals, cases) == []
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")
