"""How the comparison with the originals works, shown without Java."""

import os
from collections import Counter
from dataclasses import replace
from itertools import count, pairwise

import pytest
from click.testing import CliRunner

from assignlab import assignors, errors
from assignlab.cli import main
from assignlab.group import document as documents
from assignlab.proof import histories, originals, verify


def owners_of(document):
    """A stand-in for an original: the first subscriber owns a topic, and claims it next."""
    lists = {member["id"]: [] for member in document["members"]}
    for topic in document["topics"]:
        subscribers = [m["id"] for m in document["members"] if topic["name"] in m["topics"]]
        for partition in range(topic["partitions"] if subscribers else 0):
            lists[subscribers[0]].append([topic["name"], partition])
    return {"assignment": lists, "next_owned": lists}


def wrong_where_x_is_claimed(document):
    claims = [pair for member in document["members"] for pair in member.get("owned", [])]
    if any(topic == "x" for topic, _ in claims):
        return {"error": "IndexError: x"}
    return owners_of(document)


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky", "range", "sticky@2.0"])
def test_histories_are_valid_documents_of_every_kind(strategy):
    events = Counter()
    for number in range(60):
        for event, document, _ in histories.answered_history(strategy, 1, number, owners_of):
            documents.parse(document)
            events[event] += 1
    # Without racks or claims some kinds of event turn into "nothing".
    always = set(histories.EVENTS) - {"racks changed", "arbitrary claims"}
    assert events.keys() >= always


def test_answers_become_claims_of_those_who_received_them():
    claims = 0
    for number in range(20):
        steps = list(histories.answered_history("sticky", 2, number, owners_of))
        for (_, before, answer), (event, after, _) in pairwise(steps):
            if event != "nothing" or before["next_generation"] + 1 != after["next_generation"]:
                continue
            for member in after["members"]:
                if member.get("generation") == before["next_generation"]:
                    assert member["owned"] == answer["next_owned"][member["id"]]
                    claims += 1
    assert claims > 0


def test_a_difference_is_cut_down_to_what_it_needs():
    document = {
        "strategy": "sticky",
        "members": [
            {"id": "a", "topics": ["t", "x"], "owned": [["t", 0], ["t", 1]], "generation": 3},
            {"id": "b", "topics": ["t", "x"], "owned": [["t", 2], ["x", 0]], "rack": "r0"},
            {"id": "c", "topics": ["t"]},
        ],
        "topics": [{"name": "t", "partitions": 9}, {"name": "x", "partitions": 2}],
    }
    smallest, original, ours = verify.shrink(document, owners_of, wrong_where_x_is_claimed)
    assert smallest == {
        "strategy": "sticky",
        "members": [{"id": "b", "topics": [], "owned": [["x", 0]]}],
        "topics": [],
    }
    assert original["assignment"] == {"b": []}
    assert verify.error_class(ours) == "IndexError"


def test_an_original_that_changes_its_mind_is_not_compared():
    asked = count()
    assert verify.settled(lambda document: {"assignment": next(asked)}, {"topics": []}) is None
    threw = iter([{"error": "NullPointerException: of what"}, {"error": "NullPointerException"}])
    assert verify.settled(lambda document: next(threw), {"topics": []}) is not None
    assert verify.settled(owners_of, {"members": [], "topics": []}) is not None


class StandIn(originals.Closing):
    """In the place of the originals; nothing has to be closed."""

    def close(self):
        pass


def test_a_rare_second_answer_is_found_before_a_difference_counts(monkeypatch):
    class Fickle(StandIn):
        def __init__(self, period):
            self.asked = count()
            self.period = period

        def ask(self, document):
            owner = "b" if next(self.asked) % self.period == self.period - 1 else "a"
            return {"assignment": {owner: [["t", 0]]}}

    monkeypatch.setattr(
        verify, "answered_history", lambda *_: iter([("nothing", {"topics": []}, {})])
    )
    for period, counted in ((50, (0, 1, 0)), (10**6, (1, 0, 1))):
        monkeypatch.setattr(verify, "Originals", lambda period=period: Fickle(period))
        monkeypatch.setattr(verify, "shrink", lambda document, ask, ours: (document, {}, {}))
        wrong = lambda document: {"assignment": {}}
        [report] = verify.compare(["sticky"], 1, 0, ours=wrong)
        assert (report.states, report.undetermined, len(report.differences)) == counted


class Tired(StandIn):
    """It gives up once."""

    def __init__(self, at, ending=originals.OriginalTimedOut):
        self.asked = count()
        self.at = at
        self.ending = ending

    def ask(self, document):
        if next(self.asked) == self.at:
            raise self.ending("no answer in time")
        return owners_of(document)


def test_an_original_that_is_too_slow_when_asked_again_is_counted():
    [report] = verify.compare(["range"], 1, 0, ours=owners_of, originals=Tired(1))
    assert (report.states, report.timed_out, report.differences) == (0, 1, [])


@pytest.mark.parametrize("ending", [originals.OriginalTimedOut, originals.OriginalDied])
@pytest.mark.parametrize("at", [1 + verify.ASKED, 1 + verify.ASKED + verify.ASKED_IN_DOUBT])
def test_a_difference_is_told_uncut_where_the_original_then_gives_up(at, ending):
    """Asked a thousand times more, or about smaller groups."""
    wrong = lambda document: {"assignment": {}}
    tired = Tired(at, ending)
    [report] = verify.compare(["range"], 1, 0, ours=wrong, max_differences=1, originals=tired)
    assert report.states == len(report.differences) == 8
    assert report.differences[0].original != {"assignment": {}}


def test_a_comparison_without_answers_is_no_success(monkeypatch):
    monkeypatch.setattr(verify, "Originals", lambda: Tired(0))
    result = CliRunner().invoke(main, ["verify", "--strategy", "range", "--histories", "1"])
    assert "0 states compared, 0 differences" in result.output and result.exit_code == 1


def test_crowded_hash_tables_are_told_from_their_names():
    def topics(names, partitions):
        return {"topics": [{"name": name, "partitions": partitions} for name in names]}

    numbered = [f"t{i}" for i in range(100)]
    assert verify.colliding_partitions(topics(numbered, 12))
    assert not verify.colliding_partitions(topics(numbered, 1))
    assert not verify.colliding_partitions(topics([f"t{i}-of-many" for i in range(100)], 12))
    claimed = {"owned": [[name, 2_000_000 + p] for name in numbered for p in range(12)]}
    assert verify.colliding_partitions({"topics": [], "members": [claimed]})


def test_errors_are_equal_by_class_and_never_equal_an_assignment():
    thrown = {"error": "NullPointerException: one text"}
    assert verify.same(thrown, {"error": "NullPointerException: another"})
    assert not verify.same(thrown, {"error": "IllegalStateException: one text"})
    assert not verify.same(thrown, {"assignment": {}})
    assert not verify.same({"assignment": {"a": [["t", 0], ["t", 1]]}},
                           {"assignment": {"a": [["t", 1], ["t", 0]]}})  # fmt: skip


def test_an_unknown_strategy_is_refused_before_a_jvm_starts():
    with pytest.raises(errors.UnknownName):
        next(verify.compare(["stiky"], 1, 1))
    with pytest.raises(originals.OriginalsUnavailable, match="sticky@1.7"):
        originals.original_of("sticky@1.7")


def test_an_original_that_nothing_runs_is_told_with_the_list_that_lacks_it(monkeypatch):
    newcomer = replace(assignors.get("range"), name="new", original="new-client:1.0")
    monkeypatch.setitem(assignors.strategies(), "new", newcomer)
    for words in (["verify", "--strategy", "new"], ["proof", "golden", "new"]):
        told = CliRunner().invoke(main, words).output
        assert "nothing in SYSTEMS of assignlab.proof.originals runs new-client:1.0" in told
    monkeypatch.setattr(originals, "SYSTEMS", (originals.client("new-client", "1.0"),))
    told = CliRunner().invoke(main, ["verify", "--strategy", "new"]).output
    assert told == (
        "assignlab: nothing in BUILDERS of assignlab.proof.bridges builds the bridge of new-client\n"
    )


def test_a_machine_without_maven_is_told_so(monkeypatch, tmp_path):
    project = tmp_path / "oracle"
    (project / "kafka-clients").mkdir(parents=True)
    for file in ("pom.xml", "common/pom.xml", "kafka-clients/pom.xml"):
        (project / file).parent.mkdir(exist_ok=True)
        (project / file).touch()
    monkeypatch.setattr(originals, "PROJECT", project)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(originals.OriginalsUnavailable, match="Maven"):
        originals.classpath(*originals.original_of("range"))
    monkeypatch.setattr(originals, "PROJECT", tmp_path / "nowhere")
    with pytest.raises(originals.OriginalsUnavailable, match="checkout"):
        originals.classpath(*originals.original_of("range"))


def test_an_original_that_does_not_compile_is_no_reason_to_skip_a_test(monkeypatch, tmp_path):
    line = "[ERROR] /oracle/Bridge.java:[118,24] illegal start of expression"
    maven = tmp_path / "mvn"
    maven.write_text(f"#!/bin/sh\necho '[ERROR] COMPILATION ERROR :'\necho '{line}'\nexit 1\n")
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(errors.AssignlabError, match=r"Bridge\.java:\[118,24\]") as broken:
        originals.maven("package")
    assert not isinstance(broken.value, originals.OriginalsUnavailable)
