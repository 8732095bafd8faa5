"""Groups with weights: what moves is weighed by hand, and Landau's published R-scores are met."""

import pytest

from assignlab import assignors
from assignlab.group import group
from assignlab.optimum import loads
from assignlab.replay.load import (
    CAPACITY,
    PUBLISHED,
    SHAPES,
    Drift,
    Trial,
    drifted,
    play,
    play_drift,
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky", "heaviest-first"])
def test_no_answer_is_below_its_bound_and_one_seed_gives_one_record(shape, name):
    trial = Trial(shape, name, seed=3, members=4, topics=3, partitions=5)
    record = play(trial)
    assert record == play(trial)
    assert record["load_percent"] >= 0
    assert record["load_max_over_mean"] >= record["load_max_over_mean_bound"] >= 1


def test_equal_weights_and_partitions_that_divide_make_every_measure_even():
    record = play(Trial("equal", "range", members=3, topics=2, partitions=6))
    assert record["load_max_over_mean"] == 1
    assert record["load_gap"] == record["count_gap"] == 0


def test_after_a_stop_counting_keeps_the_lag_where_it_is():
    """Four members of three partitions each; those of one have a lag of 100, the others of 1."""
    size = dict(members=4, topics=1, partitions=12)
    kept = play(Trial("lag after a stop", "sticky", **size))
    assert kept["moved"] == 0 and kept["load_max_over_mean"] == pytest.approx(300 / (309 / 4))
    spread = play(Trial("lag after a stop", "weighted-sticky", **size))
    assert spread["moved"] > 0 and spread["load_gap"] < kept["load_gap"]


def test_the_r_score_is_the_weight_of_what_moved_in_capacities():
    weights = {"t": [30, 20, 60, 10]}
    g = group({"t": 4}, {"a": ["t"], "b": ["t"]}, weights=weights)
    before = assignors.get("range").assign(g)  # a: 0, 1; b: 2, 3
    after = assignors.get("roundrobin").assign(g)  # a: 0, 2; b: 1, 3
    assert loads(g, after).tolist() == [90, 30]
    r_score, moved, used, busiest, over_mean, overloaded = drifted(g, before, after).values()
    assert r_score == pytest.approx((20 + 60) / CAPACITY)
    assert (moved, used, busiest, over_mean, overloaded) == (2, 2, 0.9, 1.5, 0)


@pytest.mark.parametrize(("name", "delta"), [k for k in PUBLISHED if k[1] in (15, 25)])
def test_published_r_scores_are_met_within_an_eighth(name, delta):
    found = play_drift(Drift(name, delta, steps=120))
    assert found["r_score"] == pytest.approx(PUBLISHED[name, delta], rel=1 / 8)
    assert found["overloaded"] == 0


def test_strategies_that_count_move_nothing_when_weights_drift():
    found = play_drift(Drift("range", 25, members=20, partitions=40, steps=20))
    assert found["r_score"] == found["moved"] == 0 and found["busiest"] > 1


def test_without_drift_what_is_packed_stays():
    for name in ("modified-worst-fit", "modified-best-fit"):
        assert play_drift(Drift(name, 0, partitions=60, steps=10))["r_score"] < 0.5
