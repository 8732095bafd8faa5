"""The museum: every exhibit shows its fault, in its smallest group, and ours has it too."""

import itertools
import re
from dataclasses import replace
from typing import ClassVar

import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.errors import UnknownName
from assignlab.local.files import read_lines
from assignlab.proof import faults, smaller
from assignlab.proof.histories import History
from assignlab.proof.originals import Originals, OriginalsUnavailable
from assignlab.proof.promises import broken as broken_promises
from assignlab.proof.state import State
from assignlab.proof.verify import as_recorded
from assignlab.proof.versions import releases
from assignlab.published import diagnosis, museum

HISTORICAL = (
    "KAFKA-7026", "KAFKA-7962", "KAFKA-12984", "KAFKA-15170", "KAFKA-15106", "KAFKA-16277",
    "KAFKA-14639", "KAFKA-8767", "KAFKA-18688", "KAFKA-16930", "KAFKA-1648", "KAFKA-9965",
    "KAFKA-14303", "librdkafka 4783", "librdkafka 3159", "franz-go 4deed686", "aiokafka 1175",
)  # fmt: skip
TICKET = re.compile(r"[A-Z]+-\d+")
EXHIBITS = list(museum.exhibits())


def ask(exhibit, name):
    return lambda document: as_recorded(answer(document, name))


def newest_of_ours(exhibit):
    """Our strategy of the newest release that has the fault and is one of ours."""
    for release, given in reversed(museum.recorded()[exhibit.name].items()):
        ours = museum.strategy_of(exhibit.strategy, release)
        if ours and exhibit.fault in diagnosis.faults(exhibit.document, given):
            return ours
    raise AssertionError(f"{exhibit.name} is in no release of ours")


def test_every_historical_fault_is_on_show_or_says_why_not():
    told = [exhibit.number for exhibit in museum.exhibits().values()]
    told += list(museum.not_on_show()["number"])
    ours = {number for fault in faults.FAULTS for number in TICKET.findall(fault.number)}
    missing = [
        number for number in {*HISTORICAL, *ours} if not any(number in text for text in told)
    ]
    assert missing == [], "an exhibit, or the reason for none in published/data/not_on_show.yaml"


def test_every_release_was_asked_every_exhibit():
    """A new release on the axis has to be asked: assignlab proof museum --record."""
    assert list(museum.recorded()) == EXHIBITS, "assignlab proof museum --record"
    for name, exhibit in museum.exhibits().items():
        axis = [release for _, release in releases(exhibit.strategy)]
        assert [r for r in museum.recorded()[name] if r in axis] == axis


@pytest.mark.parametrize("name", EXHIBITS)
def test_ours_answers_as_the_original_did(name):
    exhibit = museum.exhibits()[name]
    compared = 0
    for release, original in museum.recorded()[name].items():
        mine = museum.ours(exhibit, release)
        if mine is not None:
            assert mine == original, release
            compared += 1
    assert compared


@pytest.mark.slow
@pytest.mark.parametrize("name", EXHIBITS)
def test_no_smaller_group_shows_the_fault(name):
    exhibit = museum.exhibits()[name]
    strategy = newest_of_ours(exhibit)
    assert strategy is not None
    assert exhibit.shows(exhibit.document, ask(exhibit, strategy))
    shows = lambda document: exhibit.shows(document, ask(exhibit, strategy))
    assert smaller.first_cut(exhibit.document, shows) is None


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_correct_answer_has_none_of_the_faults(name):
    exhibit = museum.exhibits()[name]
    assert diagnosis.faults(exhibit.document, diagnosis.correct(exhibit.document)) == []


@pytest.mark.parametrize("name", EXHIBITS)
def test_the_fuzz_knows_the_fault_by_the_same_name(name):
    """What an exhibit breaks in any release is known; what is not known breaks no promise."""
    exhibit = museum.exhibits()[name]
    newest = newest_of_ours(exhibit)
    if exhibit.known:
        fault = faults.of_name(exhibit.known)
        assert fault.strategies(assignors.get(newest))
        assert fault.holds(State({**exhibit.document, "strategy": newest}, {}))
    for release, original in museum.recorded()[name].items():
        strategy = museum.strategy_of(exhibit.strategy, release)
        if strategy is None:
            continue
        state = State({**exhibit.document, "strategy": strategy}, original.get("assignment", {}))
        if "error" in original:
            assert faults.known(state, throws=original["error"]) is not None, strategy
            continue
        for one in broken_promises(state):
            assert exhibit.known or strategy != newest, one
            assert faults.known(state, one.promise) is not None, (strategy, one)


def test_smallest_finds_the_exhibit_in_a_larger_group():
    exhibit = museum.exhibits()["two claims"]
    topics = [{"name": "t", "partitions": 3}, {"name": "u", "partitions": 2}]
    members = [
        {"id": id, "topics": ["t", "u"], "owned": [["t", 0]], "generation": g, "sub_generation": g}
        for id, g in (("A", 1), ("B", 2), ("C", 3))
    ]
    large = {"strategy": "sticky", "topics": topics, "members": members}
    small = smaller.smallest(large, lambda d: exhibit.shows(d, ask(exhibit, "sticky@2.0")))
    assert [topic["partitions"] for topic in small["topics"]] == [1]
    assert len(small["members"]) == 2


PLANTED = {
    "NullPointerException": {"error": "NullPointerException: x"},
    "no such partition": {"assignment": {"A": [["t", 0], ["t", 2]], "B": [["t", 1]]}},
    "not subscribed": {"assignment": {"A": [["t", 0], ["u", 0]], "B": [["t", 1]]}},
    "owned twice": {"assignment": {"A": [["t", 0], ["t", 1]], "B": [["t", 1]]}},
    "no owner": {"assignment": {"A": [["t", 0]], "B": []}},
    "older claim wins": {"assignment": {"A": [["t", 1]], "B": [["t", 0]]}},
    "uneven": {"assignment": {"A": [["t", 0], ["t", 1]], "B": []}},
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_seen(fault):
    group = {
        "strategy": "sticky",
        "topics": [{"name": "t", "partitions": 2}, {"name": "u", "partitions": 1}],
        "members": [
            {"id": "A", "topics": ["t"], "owned": [["t", 0]], "generation": 2},
            {"id": "B", "topics": ["t"], "owned": [["t", 0]], "generation": 1},
        ],
    }
    sound = {"assignment": {"A": [["t", 0]], "B": [["t", 1]]}}
    assert diagnosis.faults(group, sound) == []
    assert fault in diagnosis.faults(group, PLANTED[fault])


def test_a_claim_of_null_is_none():
    group = {
        "strategy": "sticky",
        "topics": [{"name": "t", "partitions": 2}],
        "members": [
            {"id": "A", "topics": ["t"], "owned": [["t", 0]]},
            {"id": "B", "topics": ["t"], "owned": None},
        ],
    }
    assert diagnosis.KEEPS["existing"](group)
    exchanged = {"assignment": {"A": [["t", 1]], "B": [["t", 0]]}}
    assert diagnosis.faults(group, exchanged) == ["moves too many"]


def test_a_claim_by_topic_id_is_one_by_name():
    topic = {"name": "t", "id": "AAAAAAAAAAAAAAAAAAAAAQ", "partitions": 2}
    members = [
        {"id": "A", "topics": ["t"], "owned": [[topic["id"], 0]]},
        {"id": "B", "topics": ["t"]},
    ]
    group = {"strategy": "server-uniform", "topics": [topic], "members": members}
    given = {"assignment": {"A": [["t", 1]], "B": [["t", 0]]}}
    assert diagnosis.KEEPS["existing"](group) and diagnosis.faults(group, given) == []


def test_a_cooperative_assignor_may_not_give_what_is_still_held():
    group = {
        "strategy": "cooperative-sticky",
        "topics": [{"name": "t", "partitions": 2}],
        "members": [
            {"id": "A", "topics": ["t"], "owned": [["t", 0], ["t", 1]], "sub_generation": 1},
            {"id": "B", "topics": ["t"]},
        ],
    }
    first_round = {"assignment": {"A": [["t", 0]], "B": []}}
    assert diagnosis.faults(group, first_round) == []
    assert diagnosis.correct(group) == first_round
    early = {"assignment": {"A": [["t", 0]], "B": [["t", 1]]}}
    assert diagnosis.faults(group, early) == ["given too early"]
    held_back = {"assignment": {"A": [], "B": []}}
    assert "withheld" in diagnosis.faults(group, held_back)


def test_the_newest_range_and_round_robin_have_none_of_the_grave_faults():
    """Random histories with rival claims and odd topics; these strategies do not read claims."""
    grave = {"no such partition", "not subscribed", "owned twice", "no owner"}
    for strategy, number in itertools.product(("range", "roundrobin"), range(10)):
        history = History(strategy, f"museum {number}")
        for _ in range(5):
            _, document = history.step()
            given = answer(document)
            assert not grave & diagnosis.broken(State(document, given["assignment"]))
            history.learn(given)


def test_risks_say_since_when_and_in_which_groups():
    risks = museum.risks().set_index("exhibit")
    assert set(risks.index) == set(museum.exhibits()) and (risks["happens to"].str.len() > 20).all()
    still = risks["still"]
    assert still.any() and still.sort_values(ascending=False, kind="stable").equals(still)
    assert "two members" in risks.loc["two claims", "seen by"]
    assert set(museum.SEEN_ELSEWHERE) <= set(risks.index)
    for exhibit, spans in risks["releases"].items():  # not since the first until the last
        asked = list(museum.recorded()[exhibit])
        told = [span.split(" to ") for span in spans.split(", ")]
        within = {
            r for span in told for r in asked[asked.index(span[0]) : asked.index(span[-1]) + 1]
        }
        assert within == set(museum.showing(museum.exhibits()[exhibit])), exhibit


def test_every_exhibit_can_be_drawn():
    for name in EXHIBITS:
        (group, given, _), (_, correct, _) = museum.panels([name]).values()
        assert len(given.offsets) == len(correct.offsets) == len(group.members) + 1
    with pytest.raises(UnknownName, match="third claimant"):
        museum.panels(["thirdclaimant"])


class OriginalIsOurs:
    """Stands in for a release of Kafka's consumer; ``asked`` are the groups that it was asked."""

    asked: ClassVar[list] = []

    def __init__(self, system, release):
        self.release = release

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def ask(self, document):
        self.asked.append((self.release, document))
        return answer(document, museum.strategy_of(document["strategy"], self.release))


@pytest.fixture
def asked(monkeypatch):
    """What the originals are asked: (release, group document)."""
    monkeypatch.setattr(OriginalIsOurs, "asked", [])
    monkeypatch.setattr(museum, "Original", OriginalIsOurs)
    return OriginalIsOurs.asked


def test_one_exhibit_is_recorded_and_the_others_stay(asked):
    name, said = "two claims", []
    assert list(museum.record([name], said.append)) == list(read_lines(museum.ANSWERS))
    document = museum.exhibits()[name].document
    whole = [release for release, group in asked if group == document]
    assert whole == list(reversed(museum.recorded()[name])), "every release, the newest first"
    assert {group["strategy"] for _, group in asked} == {"sticky"}
    assert all(any(release in line for line in said) for release in whole)


def test_an_exhibit_that_is_not_smallest_is_refused_before_older_releases_are_asked(
    asked, monkeypatch
):
    exhibit = museum.exhibits()["three generations"]
    larger = [*exhibit.document["members"], {"id": "D", "topics": ["t"]}]
    document = {**exhibit.document, "members": larger}
    kept = museum.exhibits() | {exhibit.name: replace(exhibit, document=document)}
    monkeypatch.setattr(museum, "exhibits", lambda: kept)
    with pytest.raises(museum.NotMinimal, match=r"three generations: \{.* shows 'owned twice' too"):
        list(museum.record([exhibit.name], lambda line: None))
    last, _ = asked[-1]
    newer = {release for release, _ in asked} - {last}
    assert not newer & set(museum.showing(exhibit))
    assert last == museum.showing(exhibit)[-1]


def test_a_fault_that_no_release_shows_is_refused(asked, monkeypatch):
    exhibit = replace(museum.exhibits()["two claims"], fault="no such partition")
    monkeypatch.setattr(museum, "exhibits", lambda: {exhibit.name: exhibit})
    with pytest.raises(museum.NotShown, match="no release of sticky shows 'no such partition'"):
        list(museum.record([exhibit.name], lambda line: None))


def test_every_client_that_has_the_assignor_was_asked():
    of_exhibits = {
        (name, client, strategy)
        for name, exhibit in museum.exhibits().items()
        for client, strategy in museum.client_strategies(exhibit).items()
    }
    rows = museum.recorded_clients()
    asked = {(row["exhibit"], row["client"], row["strategy"]) for row in rows}
    assert asked == of_exhibits, "assignlab proof museum --record"
    assert len(rows) == len(of_exhibits)
    ranges = museum.client_strategies(replace(museum.exhibits()["two claims"], strategy="range"))
    assert "kafka-go-range" in ranges.values()


def test_ours_answer_as_other_clients_do():
    for entry in museum.recorded_clients():
        if entry["strategy"] in assignors.names() and len(entry["answers"]) == 1:
            document = museum.exhibits()[entry["exhibit"]].document
            given = as_recorded(answer(document, entry["strategy"]))
            assert [given] == entry["answers"], entry


def test_the_newest_releases_still_answer_as_recorded():
    """All releases are asked again by ``assignlab proof museum``: a JVM for each."""
    try:
        assert museum.recheck({"sticky", "cooperative-sticky"}, newest_only=True) == []
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")


def test_every_fault_has_a_word_that_the_pictures_explain():
    marks = {museum.mark(exhibit.fault) for exhibit in museum.exhibits().values()}
    assert "" not in marks
    for _, words in (
        museum.matrix(["sticky", "cooperative-sticky", "server-uniform"]),
        museum.client_matrix(),
    ):
        drawn = {word.strip("()") for word in words.to_numpy().ravel()} - {"", "-"}
        assert drawn <= set(museum.MEANT)


def test_whoever_uses_cooperative_sticky_learns_which_faults_of_sticky_are_its_own():
    risks = museum.risks().set_index("exhibit", drop=False)
    too = museum.with_cooperative(risks).set_index("exhibit")["cooperative-sticky"]
    newest = museum.cooperative_releases()[-1]
    sticky = risks[(risks["strategy"] == "sticky") & risks["still"]].index
    assert all(too[name].endswith(newest) for name in sticky)
    own = risks[risks["strategy"] == "cooperative-sticky"]
    assert (too[own.index] == own["releases"]).all()
    # KAFKA-16277 was reported of the cooperative assignor; only the second round shows it.
    assert too["a topic to one member"] == "2.4.1 to 3.6.2"


def test_cooperative_sticky_of_the_newest_release_shows_the_faults_of_sticky():
    try:
        with Originals() as originals:
            for exhibit in museum.exhibits().values():
                if exhibit.strategy == "sticky" and exhibit.fault != "NeverEnds":
                    document = {**exhibit.document, "strategy": "cooperative-sticky"}
                    given = as_recorded(originals.ask(document))
                    assert given == as_recorded(answer(document)), exhibit.name
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")
