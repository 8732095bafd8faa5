"""Intervals over groups, and which names draws tell apart."""

import numpy as np
import pandas as pd
import pytest

from assignlab import evidence


def test_events_of_one_group_that_go_together_are_one_observation():
    alike = evidence.over_groups([14] * 30 + [0] * 30, [14] * 60)
    of_groups = evidence.wilson(30, 60)
    assert alike[0] == 0.5
    assert alike[1:] == pytest.approx(of_groups, abs=0.01)
    naive = evidence.wilson(30 * 14, 60 * 14)
    assert alike[2] - alike[1] > 3 * (naive[1] - naive[0])


def test_independent_events_are_observations_of_their_own():
    times = np.random.default_rng(1).binomial(14, 0.3, 2000)
    share, low, high = evidence.over_groups(times, [14] * 2000)
    naive = evidence.wilson(times.sum(), 14 * 2000)
    assert low < share < high
    assert high - low == pytest.approx(naive[1] - naive[0], rel=0.1)


@pytest.mark.parametrize(
    "times", [[0] * 60, [14] * 60, [0] * 59 + [1], [7] * 60, [14] * 58 + [13, 0]]
)
def test_where_few_groups_differ_a_group_is_one_observation(times):
    share, low, high = evidence.over_groups(times, [14] * 60)
    assert low <= share <= high
    assert high - low >= 0.05


def test_no_events_are_no_share():
    assert evidence.over_groups([0], [0])[1:] == (0.0, 1.0)


def test_names_are_told_apart_by_differences_and_not_by_their_own_spread():
    wide = np.random.default_rng(2).normal(0, 10, 40)
    draws = pd.DataFrame(
        {"a": wide, "b": wide + 0.1, "c": np.random.default_rng(3).normal(0, 10, 40)}
    )
    tiers = evidence.tiers(draws[["a", "b"]])
    assert tiers == [["a"], ["b"]]
    assert len(evidence.tiers(draws[["a", "c"]])) == 1
    assert evidence.tiers(draws[["a", "b"]].head(evidence.LEAST_DRAWS - 1)) == [["a", "b"]]


def test_the_same_numbers_are_one_tier():
    draws = pd.DataFrame({"a": range(20), "b": range(20)})
    assert evidence.tiers(draws) == [["a", "b"]]
