"""Fresh histories against the originals; skipped where Java, Maven or the jars are missing."""

import random
import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from assignlab import assignors
from assignlab.proof import verify
from assignlab.proof.histories import answered_history
from assignlab.proof.originals import (
    SYSTEMS,
    Original,
    Originals,
    OriginalsUnavailable,
    has_original,
    original_of,
)

BENCH = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[2] / "bench" / "versus_java.py"), run_name="bench")
)
HISTORIES = 6
OF_SLOW = {"kafka-python-sticky": 2, "kafka-python-cooperative-sticky": 2}
"""Histories of strategies whose originals take seconds for one."""


@pytest.fixture(scope="module")
def originals():
    try:
        with Originals() as running:
            running.ask({"strategy": "range"})
            yield running
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")


@pytest.mark.parametrize("name", [name for name in assignors.names() if has_original(name)])
def test_fresh_histories_agree(originals, name):
    seed = random.SystemRandom().randrange(10**6)
    try:
        (report,) = verify.compare([name], OF_SLOW.get(name, HISTORIES), seed, originals=originals)
    except OriginalsUnavailable as missing:  # another client's toolchain
        pytest.skip(str(missing))
    assert report.states > 0
    assert not report.differences, report.line() + "\n" + verify.show(report.differences[0])


def test_one_seed_gives_one_history(originals):
    one, again = (list(answered_history("sticky", 5, 1, originals.ask)) for _ in range(2))
    assert one == again
    assert one != list(answered_history("sticky", 6, 1, originals.ask))


def test_claims_are_read_in_the_order_of_the_document(originals):
    # 2.0.1 keeps a claim as it reads it, even one that returns to a topic.
    claim = [["b", 1], ["a", 0], ["b", 0], ["a", 1]]
    group = {
        "strategy": "sticky@2.0",
        "members": [{"id": "m", "topics": ["a", "b"], "owned": claim}],
        "topics": [{"name": "a", "partitions": 2}, {"name": "b", "partitions": 2}],
    }
    assert originals.ask(group)["assignment"] == {"m": claim}


def test_an_empty_claim_is_not_the_same_as_none(originals):
    # Nobody subscribes to t, but 2.0.1 only stumbles over that where somebody sent a claim.
    group = {
        "strategy": "sticky@2.0",
        "members": [{"id": "m", "topics": []}],
        "topics": [{"name": "t", "partitions": 1}],
    }
    assert originals.ask(group) == {"assignment": {"m": []}}
    group["members"][0]["owned"] = []
    assert verify.error_class(originals.ask(group)) == "NoSuchElementException"


def test_a_bad_line_does_not_end_the_conversation(originals):
    assert verify.error_class(originals.ask({"strategy": "range", "members": 3})) == "BadDocument"
    assert verify.error_class(originals.ask({"strategy": "range", "spec": {}})) == "BadDocument"
    assert "assignment" in originals.ask({"strategy": "range"})


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.main.rpartition(".")[2])
def test_a_strategy_that_is_not_known_is_no_fault_of_the_original(originals, system):
    known = system.strategies[0]
    _, release = original_of(known)
    group = {"topics": [{"name": "t", "partitions": 1}], "members": [{"id": "a", "topics": ["t"]}]}
    try:
        originals.ask({"strategy": known, **group})  # its process runs, if it did not before
    except OriginalsUnavailable as missing:  # another client's toolchain
        pytest.skip(str(missing))
    original = originals.running[system.module, release]
    answer = original.ask({"strategy": f"{known.partition('@')[0]}-x", **group})
    assert verify.error_class(answer) == "BadDocument"


def test_what_the_jvm_logs_is_no_answer(originals, monkeypatch):
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xlog:safepoint*=debug,gc*=debug")
    with Original(*original_of("range")) as original:
        assert original.ask({"strategy": "range"}) == {"assignment": {}}


@pytest.mark.parametrize("shape", ["EQUAL", "HET1", "NEST5"])
@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky", "sticky@2.0"])
def test_a_bench_spec_is_the_same_group_on_both_sides(originals, name, shape):
    spec = {"topics": 10, "partitions": 7, "members": 12, "shape": shape, "event": "FULL"}
    measured = originals.ask({"strategy": name, "spec": spec, "warmup": 1, "repeat": 2})
    assert len(measured["nanos"]) == 2
    document = BENCH.spec_document(name, spec)
    lists = list(originals.ask(document)["assignment"].values())
    assert measured["sizes"] == [len(entries) for entries in lists]
    index = {topic["name"]: i for i, topic in enumerate(document["topics"])}
    assert measured["digest"] == BENCH.digest(
        np.cumsum([0] + measured["sizes"]),
        np.array([index[topic] for entries in lists for topic, _ in entries]),
        np.array([partition for entries in lists for _, partition in entries]),
    )


def test_a_joining_bench_spec_carries_the_previous_assignment(originals):
    spec = {"topics": 4, "partitions": 7, "members": 5, "shape": "EQUAL", "event": "JOIN"}
    for name in ("sticky", "cooperative-sticky", "sticky@2.0"):
        before = BENCH.spec_document(name, spec)
        joiner = before["members"].pop()
        before["next_generation"] = 1
        previous = originals.ask(before)
        for member in before["members"]:
            member["owned"] = previous["next_owned"][member["id"]]
            member["generation"] = member["sub_generation"] = 1
        after = {**before, "members": [*before["members"], joiner]}
        sizes = [len(entries) for entries in originals.ask(after)["assignment"].values()]
        assert originals.ask({"strategy": name, "spec": spec})["sizes"] == sizes


def test_several_strategies_at_a_time_give_the_same_reports(originals):
    names = ["range", "roundrobin@2.0"]
    reports = verify.compare(names, 3, seed=5, originals=originals)
    one_by_one = [report.line() for report in reports]
    assert (
        sorted(report.line() for report in verify.compare_many(names, 3, 5, jobs=2)) == one_by_one
    )
