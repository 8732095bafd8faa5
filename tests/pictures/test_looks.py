"""Looks: distinct for every two strategies, with colour and without."""

import itertools

import matplotlib.pyplot as plt
import matplotlib.text
import pandas as pd
import pytest

from assignlab import assignors
from assignlab.group.plain import group
from assignlab.pictures import bars, charts, maps
from assignlab.pictures.panels import picture
from assignlab.published.examples import give

FRAME = pd.DataFrame(
    [
        {"strategy": name, "x": x, "y": 60 * x + number}
        for x in (1, 2)
        for number, name in enumerate(assignors.names())
    ]
)


def test_no_two_strategies_share_marker_and_line_style():
    taken = {}
    for name, strategy in assignors.strategies().items():
        color, marker, line = strategy.look
        known = color in charts.PALETTE and marker in charts.MARKERS and line in charts.LINES
        assert known, (
            f"{name}: {strategy.look} are no PALETTE, MARKERS, LINES of pictures/charts.py"
        )
        taken.setdefault((marker, line), []).append(name)
    free = set(itertools.product(charts.MARKERS, charts.LINES)) - set(taken)
    shared = {look: names for look, names in taken.items() if len(names) > 1}
    assert not shared, f"one look for several: {shared}; free are {sorted(free)}"


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_points_in_one_panel_differ_without_colour(ax):
    charts.grouped(FRAME, "x", "y", ax)
    drawn = [line for line in ax.lines if len(line.get_xdata())]
    looks = [(line.get_marker(), line.get_fillstyle()) for line in drawn]
    assert len(set(looks)) == len(looks) == len(assignors.names())


def test_points_are_means_side_by_side(ax):
    twice = pd.concat([FRAME, FRAME.assign(y=FRAME["y"] + 2)])
    charts.grouped(twice, "x", "y", ax)
    first, *_, last = ax.lines
    assert first.get_ydata().tolist() == [61, 121]
    outermost = 0.3 * (1 - 1 / len(assignors.names()))
    drawn = [first.get_xdata()[0], last.get_xdata()[1]]
    assert drawn == pytest.approx([-outermost, 1 + outermost])


def test_what_was_published_stands_at_the_points_of_its_strategy(ax):
    told = FRAME.assign(published=(FRAME["y"] + 1).where(FRAME["strategy"] == "sticky"))
    charts.grouped(told, "x", "y", ax, published="published")
    lines = {line.get_label(): line for line in ax.lines}
    dashes, points = lines["published"], lines["sticky"]
    assert dashes.get_xdata().tolist() == points.get_xdata().tolist()
    assert (dashes.get_ydata() - points.get_ydata()).tolist() == [1, 1]


def test_a_bound_is_dotted_at_its_mean_on_grey_that_holds_nine_tenths_of_it(ax):
    rows = pd.DataFrame({"x": "all", "y": 3.0, "strategy": ["range"] * 21 + ["sticky"] * 21})
    charts.grouped(rows.assign(least=[*range(21), *[2] * 21]), "x", "y", ax, bound="least")
    dotted, *grey = ax.collections
    assert dotted.get_label() == "bound"
    assert [segment[0][1] for segment in dotted.get_segments()] == [10, 2]
    spans = [part.get_paths()[0].get_extents() for part in grey]
    assert [(span.y0, span.y1) for span in spans] == [(1, 19), (2, 2)]


def test_a_line_looks_as_its_strategy_does_elsewhere(ax):
    maps.labelled({"sticky, roundrobin": ([1, 2], [1, 1])}, ax, strategies=True)
    look = charts.look("sticky")
    assert (ax.lines[0].get_color(), ax.lines[0].get_marker()) == (look["color"], look["marker"])


def test_the_frames_of_a_map_are_inside_their_cells_and_above_its_edge(ax):
    cells = pd.DataFrame([[1, 2], [3, 4]])
    maps.heat(cells, ax, 0, 4, cells > 0)
    assert len(ax.patches) == 4
    for patch in ax.patches:
        assert patch.get_zorder() > max(spine.get_zorder() for spine in ax.spines.values())
        assert patch.get_height() < 0.9


def test_a_word_stands_in_a_cell_in_place_of_its_number(ax):
    cells, words = pd.DataFrame([[0, 2]]), pd.DataFrame([["throws", ""]])
    maps.heat(cells, ax, 0, 4, words=words)
    assert [text.get_text() for text in ax.texts] == ["throws", "2"]


def luminance(color):
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("name", charts.PALETTE)
def test_colours_stand_out_on_white(name):
    """WCAG asks for a contrast of 3:1 in graphics."""
    assert 1.05 / (luminance(charts.PALETTE[name]) + 0.05) >= 3


def test_letters_have_one_size_and_no_figure_is_shrunk_by_the_page():
    with plt.rc_context():
        charts.theme()
        figure, axes = charts.small_multiples(range(2), range(4), width=5)
        for ax in axes.flat:
            charts.stacked(FRAME[:2].assign(stayed=[1.2, 0.3]), ["stayed"], ax)
            ax.set(title="title", xlabel="x", ylabel="y")
        figure.suptitle("all")
        charts.legend_below(figure, axes.flat)
        figure.draw_without_rendering()
        assert {text.get_fontsize() for text in figure.findobj(matplotlib.text.Text)
                if text.get_text()} == {axes[0, 0].title.get_fontsize()}  # fmt: skip
        assert figure.get_figwidth() == charts.WIDEST
    plt.close(figure)


def test_lines_without_values_have_no_label_and_others_end_with_their_last_value(ax):
    nan = float("nan")
    maps.labelled({"a": ([1, 2], [nan, nan]), "b": ([1, 2, 3], [0.0, 1.0, nan])}, ax)
    assert [(text.get_text(), text.xy) for text in ax.texts] == [("b", (2, 1))]
    ax.figure.draw_without_rendering()


def test_what_is_counted_has_ticks_at_whole_numbers(ax):
    maps.labelled({"a": ([1, 4], [0.5, 2]), "b": ([1, 2, 4], [1, 1, 1])}, ax)
    assert all(tick == round(tick) for tick in ax.get_xticks())
    maps.labelled({"a": ([0.1, 0.4], [0.5, 2])}, ax)
    assert not all(tick == round(tick) for tick in ax.get_xticks())
    maps.labelled({"a": ([0.4], [2]), "b": ([0.4], [1])}, ax)
    assert ax.get_xticks().tolist() == [0.4]


@pytest.mark.parametrize("many", [1, 2, 40])
def test_every_strategy_is_named_once_beside_its_bar(many):
    names = assignors.names()[:many]
    rows = [
        {"event": event, "strategy": name, "moved_low": n, "moved_high": n + 1}
        for event in ("a rollout", "leave")
        for n, name in enumerate(names)
    ]
    figure, _ = bars.costs(pd.DataFrame(rows))
    figure.draw_without_rendering()
    told = figure.axes[0].get_yticklabels()
    assert [label.get_text() for label in told] == names
    boxes = [label.get_window_extent() for label in told]
    assert not any(one.overlaps(other) for one, other in itertools.pairwise(boxes))
    plt.close(figure)


def test_a_picture_of_many_members_is_no_taller_than_one_that_names_each():
    many, few = (
        group({"t": 30}, {f"C{i}": ["t"] for i in range(members)})
        for members in (300, charts.MOST_TOLD)
    )
    tall, usual = (picture({"range": (of, give("range", of))}) for of in (many, few))
    assert tall.get_size_inches()[1] == usual.get_size_inches()[1]
    assert len(tall.axes[0].get_yticks()) <= charts.MOST_TOLD == len(usual.axes[0].get_yticks())


def test_titles_of_narrow_panels_stand_beside_each_other():
    alone = group({"t0": 1}, {"C0": ["t0"]})
    titles = (
        "server-uniform after UNSUBSCRIBE, random: 0 moved",
        "optimum for server-uniform: 0 moved",
    )
    figure = picture(dict.fromkeys(titles, (alone, give("range", alone))))
    figure.draw_without_rendering()
    one, other = (ax.title.get_window_extent() for ax in figure.axes)
    assert not one.overlaps(other)
    plt.close(figure)


def test_a_legend_has_as_many_columns_as_a_phone_shows():
    figure, axes = charts.small_multiples(range(1), range(2), width=5)
    for name in assignors.names()[:30]:
        axes[0, 0].plot([1], [1], label=name)
    charts.legend_below(figure, axes.flat, columns=6)
    figure.draw_without_rendering()
    [legend] = figure.legends
    box = legend.get_window_extent()
    assert len({text.get_window_extent().x0 for text in legend.get_texts()}) == 2
    assert 0 <= box.x0 and box.x1 < (charts.ON_A_PHONE + 0.2) * figure.dpi
    assert box.y1 < axes[0, 0].get_tightbbox().y0
    plt.close(figure)


def test_an_axis_of_nothing_but_noughts_has_no_tick_below_it(ax):
    charts.log_above_one(ax, pd.Series([0.0, 0.0]), "records")
    low, high = ax.get_ylim()
    assert low < 0 and all(0 <= tick <= high for tick in ax.get_yticks())


def test_labels_of_many_lines_stay_beside_their_axes(ax):
    maps.labelled({name: ([1, 2], [n, n]) for n, name in enumerate(assignors.names()[:40])}, ax)
    heights = [text.xyann[1] for text in ax.texts]
    assert heights == sorted(set(heights)) and 0 <= heights[0] and heights[-1] <= 1
