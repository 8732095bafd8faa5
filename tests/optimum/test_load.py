"""Loads and their bounds: no bound is above the optimum that OR-Tools proves, and each has its proof."""

from random import Random

import numpy as np
import pytest
from ortools.sat.python import cp_model

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.group import group
from assignlab.group.document import parse
from assignlab.optimum import loads, measures, optimum
from assignlab.optimum.certificate import NotComplete
from assignlab.optimum.load import load_bounds
from assignlab.replay.beside import solve

GROUPS = 60


def random_group(seed):
    """At most 5 members and 10 partitions with whole weights, of skewed sizes."""
    random = Random(seed)
    topics = {f"t{t}": random.randint(1, 4) for t in range(random.randint(1, 3))}
    read = random.choice((0.4, 0.7, 1))
    members = {
        f"m{m}": [t for t in topics if random.random() < read] for m in range(random.randint(1, 5))
    }
    heavy = random.choice((1, 3, 30))
    weights = {
        t: [random.randint(0, 9) * random.choice((1, heavy)) for _ in range(n)]
        for t, n in topics.items()
    }
    return group(topics, members, weights=weights), topics, members, weights


def proven(topics, members, weights, worth):
    """The least of ``worth(model, loads)`` over all complete assignments, by OR-Tools."""
    model = cp_model.CpModel()
    load = dict.fromkeys(members, 0)
    for topic, count in topics.items():
        readers = [m for m, names in members.items() if topic in names]
        for p in range(count if readers else 0):
            chosen = {m: model.new_bool_var("") for m in readers}
            model.add_exactly_one(chosen.values())
            for m, one in chosen.items():
                load[m] += weights[topic][p] * one
    most = sum(map(sum, weights.values()))
    high, low = model.new_int_var(0, most, ""), model.new_int_var(0, most, "")
    for each in load.values():
        model.add(high >= each)
        model.add(low <= each)
    model.minimize(worth(high, low))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.solve(model) == cp_model.OPTIMAL
    return round(solver.objective_value)


def test_no_bound_is_above_the_optimum_and_most_are_it():
    reached = 0
    for seed in range(GROUPS):
        g, *parts = random_group(seed)
        bounds, best = load_bounds(g), optimum(g).assignment
        largest = proven(*parts, lambda high, low: high)
        smallest = -proven(*parts, lambda high, low: -low)
        gap = proven(*parts, lambda high, low: high - low)
        assert bounds.least_largest <= largest + 1e-9, seed
        assert bounds.largest_least >= smallest - 1e-9, seed
        assert measures(g, best)["load_gap"].bound <= gap + 1e-9, seed
        reached += np.ceil(bounds.least_largest - 1e-9) == largest
    assert reached >= 0.6 * GROUPS


def test_each_bound_rests_on_sums_over_its_members():
    for seed in range(GROUPS):
        g, topics, members, weights = random_group(seed)
        names = list(members)
        bounds = load_bounds(g)
        crowded = {names[m] for m in bounds.crowded.tolist()}
        readers = {t: {m for m in names if t in members[m]} for t in topics}
        alone = sum(sum(weights[t]) for t in topics if readers[t] and readers[t] <= crowded)
        assert bounds.least_largest >= alone / len(crowded) - 1e-9
        starved = {names[m] for m in bounds.starved.tolist()}
        readable = sum(sum(weights[t]) for t in topics if readers[t] & starved)
        assert bounds.largest_least <= readable / len(starved) + 1e-9


def test_dividing_weight_among_those_who_may_read_it():
    """b and c read nothing but t, of 24; without a they would have 12 each."""
    members = {"a": ["t", "u"], "b": ["t"], "c": ["t"], "d": ["u"], "e": ["v"]}
    weights = {"t": [2] * 12, "u": [1] * 6, "v": [1]}
    bounds = load_bounds(group({"t": 12, "u": 6, "v": 1}, members, weights=weights))
    assert (bounds.least_largest, bounds.largest_least) == (8, 1)
    assert bounds.crowded.tolist() == [0, 1, 2] and bounds.starved.tolist() == [4]


@pytest.mark.parametrize("name", ["range", "roundrobin", "sticky", "heaviest-first"])
def test_measures_of_astraea_1475(name):
    """Nine partitions for each of three; 450, 270, 90 under range, where 270 each is possible."""
    topics = {topic: 9 for topic in "ABC"}
    rates = {topic: [50, 50, 50, 30, 30, 30, 10, 10, 10] for topic in topics}
    g = group(topics, {c: list(topics) for c in "xyz"}, weights=rates)
    found = measures(g, assignors.get(name).assign(g))
    assert found["count_gap"] == (0, 0) and found["topic_gap"] == (0, 0)
    assert found["load_max_over_mean"].bound == 1 and found["load_gap"].bound == 0
    if name == "range":
        assert found["load_gap"].value == 360 and found["load_gap"].percent is None
        assert found["load_max_over_mean"].percent == pytest.approx(100 * (450 / 270 - 1))
    if name == "heaviest-first":
        assert found["load_max_over_mean"] == (1, 1)


def test_without_weights_load_is_the_number_of_partitions():
    g = group({"t": 7}, {"a": ["t"], "b": ["t"]})
    given = assignors.get("range").assign(g)
    assert loads(g, given).tolist() == given.sizes.tolist()
    assert measures(g, given)["load_gap"] == measures(g, given)["count_gap"] == (1, 1)


def test_what_is_not_complete_has_no_measures():
    g = group({"t": 2}, {"a": ["t"]})
    with pytest.raises(NotComplete):
        measures(g, assignors.get("range").assign(group({"t": 1}, {"a": ["t"]})))


def test_the_command_prints_value_bound_and_distance_where_there_are_weights():
    document = {
        "topics": [{"name": "t", "partitions": 3, "weights": [100_000, 60_000, 50_000]}],
        "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}],
    }
    told = solve(document, "range")["strategy"]["measures"]
    assert told["load_gap"] == {"value": 110_000, "bound": 10_000, "percent": pytest.approx(1000)}
    assert told["count_gap"] == {"value": 1, "bound": 1, "percent": 0}
    assert solve(document, "lag-based")["strategy"]["measures"]["load_gap"]["percent"] == 0
    del document["topics"][0]["weights"]
    assert "measures" not in solve(document, "range")["strategy"]
    assert answer(document, "range") and parse(document).topics.weights is None
