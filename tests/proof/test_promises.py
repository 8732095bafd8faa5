"""The promises as an independent judge: of random histories, of planted defects, of known faults."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab import assignors
from assignlab.cli import main
from assignlab.errors import UnknownName
from assignlab.proof import faults, fuzz
from assignlab.proof.defects import DEFECTS
from assignlab.proof.originals import has_original
from assignlab.proof.promises import CHECKS, broken, common_checker, promises
from assignlab.proof.smaller import smallest
from assignlab.proof.state import State, solve


@pytest.mark.parametrize("name", assignors.names())
def test_promises_are_kept_or_the_fault_is_known(name):
    (report,) = fuzz.check_promises([name], 40, seed=20)
    assert report.assignments >= 40
    assert [(f.command(), f.broken) for f in report.failures] == []


@pytest.mark.parametrize(
    ("who", "said"),
    [
        (lambda: faults.named("sticki@2.0"), "unknown strategy 'sticki@2.0' (did you mean 'sticky@2.0'"),
        (lambda: faults.of("system", "kafka_go"), "unknown system 'kafka_go' (did you mean 'kafka-go'"),
    ],
)  # fmt: skip
def test_a_fault_of_nobody_is_refused(who, said):
    with pytest.raises(UnknownName, match=re.escape(said)):
        who()


def test_a_promise_that_nobody_checks_is_refused(monkeypatch):
    newcomer = replace(assignors.get("range"), promises=("contigous",))
    monkeypatch.setitem(assignors.strategies(), "range", newcomer)
    told = CliRunner().invoke(main, ["fuzz", "--strategy", "range", "--assignments", "9"])
    assert told.exit_code == 2 and "'contigous' (did you mean 'contiguous'?)" in told.output


def test_what_breaks_inside_a_strategy_is_a_failure_that_no_fault_excuses(monkeypatch):
    name = "kafka-python-roundrobin"  # whose original is known for the same exception
    strategy = assignors.get(name)

    def broken_down(group):
        if len(group.topics) > 1:
            raise KeyError(1)
        return strategy.assign(group)

    monkeypatch.setitem(assignors.strategies(), name, replace(strategy, assign=broken_down))
    said = []
    assert fuzz.show([name], 20, 1, said.append) == 1
    told = "\n".join(said)
    assert "breaks throws KeyError: 1" in told and f"fuzz --strategy {name} --seed 1" in told
    (smallest,) = re.findall("smallest: (.*)", told)
    assert len(json.loads(smallest)["topics"]) == 2


def test_a_state_can_be_played_again():
    for step, event, document in itertools.islice(fuzz.states("sticky", 4), 19):
        pass
    assert fuzz.state_at("sticky", 4, step) == (event, document)


def test_what_is_planted_and_what_was_asked_stand_in_the_page():
    page = (Path(__file__).parents[2] / "docs" / "proof.md").read_text(encoding="utf-8")
    histories, planted = (
        set(re.findall(r"^\| (\S+) \|", page.split(head)[1].split("\n## ")[0], re.MULTILINE))
        for head in ("## Fresh histories", "## Planted defects")
    )
    assert planted >= set(DEFECTS), "rows of *Planted defects* in docs/proof.md"
    assert f"\n{len(DEFECTS)} kinds of defect" in page
    unasked = {name for name in assignors.names() if has_original(name)} - histories
    assert not unasked, "rows of *Fresh histories* in docs/proof.md (assignlab verify)"


@pytest.mark.slow
def test_every_kind_of_defect_is_noticed_and_the_shared_checker_misses_most():
    table = fuzz.plant(groups=40)
    assert set(table) == set(DEFECTS) and len(DEFECTS) >= 20
    assert [name for name, noticed in table.items() if noticed.ours == 0] == []
    print(fuzz.defects_table(table))
    planted = sum(noticed.planted for noticed in table.values())
    assert sum(noticed.ours for noticed in table.values()) > 0.8 * planted
    assert sum(noticed.common for noticed in table.values()) < 0.5 * planted


@pytest.mark.parametrize("promise", CHECKS)
def test_every_promise_notices_some_defect_in_one_of_its_strategies(promise):
    """A check that no defect of assignlab.proof.defects breaks may check nothing."""
    givers = [s.name for s in assignors.strategies().values() if promise in promises(s)]
    tables = (fuzz.plant(strategies=[name], groups=8) for name in givers)
    assert any(noticed.promises[promise] for table in tables for noticed in table.values()), (
        f"{givers or 'no strategy'} gives it: a defect of proof/defects.py has to break it"
    )


def test_a_failure_is_cut_down_to_the_smallest_group():
    # Known of kafka-clients since 2.5: a first member without topics gets what it never asked for.
    document = {
        "strategy": "sticky",
        "members": [{"id": "A", "topics": []}]
        + [{"id": name, "topics": ["t", "u", "v"], "owned": []} for name in "BCDE"],
        "topics": [{"name": name, "partitions": 5} for name in "tuv"],
    }

    def fails(document):
        lists = document["members"] and solve(document)
        return bool(lists and broken(State(document, lists), ["subscribed"]))

    assert fails(document)
    small = smallest(document, fails)
    assert len(small["members"]) == 2 and len(small["topics"]) == 1
    assert small["topics"][0]["partitions"] == 1
    assert faults.known(State(small, solve(small)), "subscribed").name == "empty subscription first"


TWICE = {
    "range@2.0": ("blocks", "named twice, counted twice"),
    "metaq-default": ("complete", "named twice, counted twice"),
    "kafka-python-range": ("complete", "named twice, counted twice"),
    "rocketmq-avg": ("once_each", "named twice, dealt twice"),
    "kafkajs-roundrobin": ("once_each", "named twice, dealt twice"),
    "sticky": ("kept_first", "named twice, taken to differ"),
}


@pytest.mark.parametrize("strategy", TWICE)
def test_what_a_topic_named_twice_breaks_is_known_by_name(strategy):
    promise, fault = TWICE[strategy]
    members = [
        {"id": "a", "topics": ["t", "t"], "owned": [["t", 0]], "generation": 1},
        {"id": "b", "topics": ["t", "t"], "owned": [["t", 4], ["t", 2]], "generation": 1},
    ]
    document = {
        "strategy": strategy,
        "topics": [{"name": "t", "partitions": 6}],
        "members": members,
    }
    state = State(document, solve(document))
    assert broken(state, [promise]) and faults.known(state, promise).name == fault
    for member in members:
        member["topics"] = ["t"]
    state = State(document, solve(document))
    assert not broken(state) and faults.known(state, promise) is None


def test_no_fault_excuses_what_nobody_promises():
    assert faults.unused(assignors.strategies().values()) == []


def claiming(strategy, *owned):
    """Members a, b, ... with equal subscriptions to t with 4 partitions; all claim at once."""
    members = [
        {"id": id, "topics": ["t"], "owned": [["t", p] for p in claimed]}
        for id, claimed in zip("abcd", owned, strict=False)
    ]
    topics = [{"name": "t", "partitions": 4}]
    return {"strategy": strategy, "topics": topics, "members": members}


def test_a_fault_excuses_only_the_partitions_it_is_about():
    beyond = claiming("sticky", [0, 4], [1])
    kept = State(beyond, {"a": [["t", 0], ["t", 4]], "b": [["t", 1], ["t", 2]]})
    assert faults.known(kept, "existing").name == "partition beyond the end is kept"
    invented = State(beyond, {"a": [["t", 0], ["t", 7]], "b": [["t", 1], ["t", 2]]})
    assert not existing_kept(invented) and faults.known(invented, "existing") is None
    both = State(beyond, {"a": [["t", 4], ["t", 7]], "b": [["t", 1], ["t", 2]]})
    assert faults.known(both, "existing") is None

    rivals = claiming("sticky@2.0", [0, 1], [0, 2])
    shared = State(rivals, {"a": [["t", 0], ["t", 1]], "b": [["t", 0], ["t", 2], ["t", 3]]})
    assert faults.known(shared, "one_owner").name == "claims without generations"
    other = State(rivals, {"a": [["t", 0], ["t", 1]], "b": [["t", 2], ["t", 3], ["t", 1]]})
    assert faults.known(other, "one_owner") is None
    newest = State({**rivals, "strategy": "sticky"}, shared.lists)
    assert faults.known(newest, "one_owner") is None


def existing_kept(state):
    return not broken(state, ["existing"])


def test_what_is_dealt_once_more_lies_behind_the_end():
    topics = [{"name": name, "partitions": 2} for name in "tuv"]
    members = [{"id": id, "topics": ["t", "u", "v"]} for id in "ab"]
    members[0]["owned"] = [["u", 2]]
    state = State({"strategy": "sticky", "topics": topics, "members": members}, {})
    assert faults.dealt_once_more(state) == {("v", 0), ("v", 1)}
    twice = State(state.document, {"a": [["t", 0], ["t", 1]], "b": [["t", 0], ["u", 0]]})
    assert faults.known(twice, "one_owner") is None
    twice = State(state.document, {"a": [["v", 0], ["t", 1]], "b": [["v", 0], ["u", 0]]})
    assert faults.known(twice, "one_owner").name == "dealt once more"


def two(lists, partitions=10):
    topics = [{"name": "t", "partitions": partitions}, {"name": "u", "partitions": 6}]
    members = [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]
    document = {"strategy": "sticky", "topics": topics, "members": members}
    return State(document, lists)


@pytest.mark.parametrize(
    ("lists", "caught"),
    [
        ({"a": [["t", p] for p in range(10)], "b": []}, False),  # an idle subscriber
        ({"a": [], "b": []}, False),  # nothing assigned
        ({"a": [["t", 0], ["t", 1]], "b": [["t", 2], ["t", 3], ["t", 4]]}, False),  # half of it
        ({"a": [["t", 999]], "b": []}, False),  # invented
        ({"a": [["t", 0], ["t", 0]], "b": [["t", 1]]}, False),  # twice in one list
        ({"a": [["t", 0]], "b": [["t", 0]]}, True),  # shared
        ({"a": [["u", 0]], "b": [["t", 0]]}, True),  # not subscribed
    ],
)
def test_what_the_shared_checker_sees(lists, caught):
    assert (common_checker(two(lists)) is not None) is caught
    assert broken(two(lists))
