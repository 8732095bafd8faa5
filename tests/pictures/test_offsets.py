"""Offsets over time, with who owns the partition."""

import itertools

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from assignlab import timeline
from assignlab.pictures import charts, offsets


def test_the_owner_may_be_one_of_more_members_than_there_are_colours():
    story = timeline.Scenario(
        [timeline.Topic("t", 9, rate=10)],
        [timeline.Member(f"m{number}") for number in range(9)],
        duration_ms=20_000,
        watch=[("t", 8)],
    )
    ax = offsets.offsets(timeline.run(story), plt.figure().subplots(), 0, 20)
    assert "owner m8" in [text.get_text() for text in ax.texts]


def test_a_strategy_has_its_own_look_among_lines_with_ranges():
    rows = pd.DataFrame({"x": [1, 2] * 2, "strategy": ["range"] * 2 + ["cooperative-sticky"] * 2})
    ax = plt.figure().subplots()
    offsets.ranged(rows.assign(n=2, n_low=1, n_high=3), "x", "n", "strategy", ax)
    drawn = {bars.get_label(): bars.lines[0] for bars in ax.containers}
    for name, line in drawn.items():
        look = charts.look(name)
        assert (line.get_color(), line.get_marker()) == (look["color"], look["marker"])
    assert len(drawn) == 2


def test_lines_of_one_value_beside_each_other_are_told_to_have_that_value():
    rows = pd.DataFrame({"x": 20.0, "way": ["a", "b", "c"], "n": 2, "n_low": 1, "n_high": 3})
    ax = offsets.ranged(rows, "x", "n", "way", plt.figure().subplots(), apart=0.25)
    assert list(ax.get_xticks()) == [20.0]


@pytest.mark.parametrize("many", [5, 12])
def test_means_over_bars_do_not_cover_each_other(many):
    ways = ("auto commit", "own commits, listener commits", "own commits, no listener")
    rows = [(f"strategy-{s}", way, 7_000) for s in range(many) for way in ways]
    frame = pd.DataFrame(rows, columns=["strategy", "way", "repeated"])
    with plt.rc_context():
        charts.theme()
        figure, ax = plt.subplots(figsize=(9, 4), layout="constrained")
        offsets.repeated_bars(frame, "strategy", "way", ax)
        figure.draw_without_rendering()
        for texts in (ax.texts, ax.get_xticklabels()):
            boxes = [text.get_window_extent() for text in texts]
            assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
    plt.close(figure)
