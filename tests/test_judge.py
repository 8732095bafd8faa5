"""Kafka's own tests judge our assignments; skipped where Java, Maven or the jars are missing."""

import pytest

from assignlab import judge
from assignlab.oracle import OriginalsUnavailable


def run(*arguments, **options):
    try:
        return judge.run(*arguments, **options)
    except OriginalsUnavailable as missing:
        pytest.skip(f"Kafka's tests cannot be run: {missing}")


def test_kafkas_tests_accept_our_assignments():
    cases = run(judge.answering(), without=judge.ASSERT_NOTHING)
    assert [case for case in cases if case.failed] == []
    assert len(cases) == 334 - 12
    assert sum(case.calls > 0 for case in cases) == 309 - 12
    # what is left makes no assignment: the objects' own serialization, sorting, configuration
    inside = judge.without_assignment(cases)
    assert set(inside) == set(judge.CLASSES) - {"RangeAssignorTest", "RoundRobinAssignorTest"}


def test_kafkas_tests_can_fail():
    cases = run(judge.answering("arrival-order"), ["RangeAssignorTest", "RoundRobinAssignorTest"])
    assert len(judge.red(cases)) > 10
