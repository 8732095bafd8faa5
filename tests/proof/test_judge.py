"""Kafka's own tests judge our assignments; skipped where Java, Maven or the jars are missing."""

import json
import shlex

import pytest

from assignlab.proof import judge
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.published import kafka_tests, scorecard


def run(*arguments, **options):
    try:
        return judge.run_tests(*arguments, **options)
    except OriginalsUnavailable as missing:
        pytest.skip(f"Kafka's tests cannot be run: {missing}")


@pytest.fixture(scope="module")
def judged(tmp_path_factory):
    """(cases, the group documents that were asked)."""
    asked = tmp_path_factory.mktemp("judge") / "asked.jsonl"
    command = f"tee {shlex.quote(str(asked))} | {shlex.join(judge.answering())}"
    cases = run(["sh", "-c", command], without=judge.ASSERT_NOTHING)
    return cases, [json.loads(line) for line in asked.read_text().splitlines()]


def test_kafkas_tests_accept_our_assignments(judged):
    cases, _ = judged
    assert [case for case in cases if case.failed] == []
    assert len(cases) == 334 - 12
    assert sum(case.calls > 0 for case in cases) == 309 - 12
    # what is left makes no assignment: the objects' own serialization, sorting, configuration
    inside = judge.without_assignment(cases)
    assert set(inside) == set(judge.CLASSES) - {"RangeAssignorTest", "RoundRobinAssignorTest"}


def described(document):
    """What a group document says, whatever the order of members, topics and replicas.

    The replica that stands for a switch in Kafka's object is not asked about.
    """
    told = ("id", "topics", "instance", "rack", "generation", "sub_generation")
    members = [[m.get(name) for name in told] + [m.get("owned", [])] for m in document["members"]]
    topics = [
        (t["name"], t["partitions"], [racks_of(replicas) for replicas in t.get("racks", [])])
        for t in document["topics"]
    ]
    return json.dumps([document["strategy"], sorted(members), sorted(topics)])


def racks_of(replicas):
    return sorted(rack for rack in replicas if rack != kafka_tests.ELSEWHERE)


def test_the_groups_of_the_scorecard_are_those_that_kafkas_tests_ask_about(judged):
    _, documents = judged
    asked = set(map(described, documents))
    claims = [e for e in scorecard.examples() if e.fixture == kafka_tests.FIXTURE]
    assert len(claims) == 384
    for example in claims:
        assert described({"strategy": example.strategy, **example.group}) in asked, example.case


@pytest.mark.slow
def test_kafkas_tests_can_fail():
    cases = run(judge.answering("arrival-order"), ["RangeAssignorTest", "RoundRobinAssignorTest"])
    assert len(judge.red(cases)) > 10
