"""Load-aware strategies on published examples, on groups with weights and on groups without."""

import json
import lzma
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.assignors.load_aware.heaviest_first import STRATEGY as LPT
from assignlab.errors import DocumentError
from assignlab.group import group
from assignlab.group.assignment import topic_of
from assignlab.group.document import lists, parse
from assignlab.group.model import weights_of
from assignlab.proof.originals import has_original

LOAD_AWARE = [name for name, strategy in assignors.strategies().items() if strategy.reads_weights]


def loads(g, name):
    """Load by member, in the group's order."""
    given = assignors.get(name).assign(g)
    counts = np.maximum(g.topics.partitions, 0)
    numbers = (np.cumsum(counts) - counts)[topic_of(given.codes)] + (given.codes & (2**32 - 1))
    weights = g.prepared(weights_of)[numbers]
    return np.bincount(given.owners, weights, len(g.members)).tolist()


def test_load_aware_strategies_stand_apart_from_those_held_against_an_original():
    assert len(LOAD_AWARE) == 5
    for name, strategy in assignors.strategies().items():
        assert has_original(name) != strategy.reads_weights
        assert (strategy.system == "load-aware") == strategy.reads_weights


@pytest.mark.parametrize(
    ("name", "expected"),
    [("lag-based", [100_000, 110_000]), ("range", [160_000, 50_000])],
)
def test_readme_of_the_lag_based_assignor(name, expected):
    g = group({"t": 3}, {"C0": ["t"], "C1": ["t"]}, weights={"t": [100_000, 60_000, 50_000]})
    assert loads(g, name) == expected


def test_cases_of_the_lag_based_assignor():
    """testAssign, testAssignWithZeroLags and testAssignWithHeavilySkewedLags of its source."""
    members = {"consumer-1": ["topic1", "topic2"], "consumer-2": ["topic1"]}
    lags = {"topic1": [100_000, 100_000, 500, 1], "topic2": [900_000, 100_000]}
    g = group({"topic1": 4, "topic2": 2}, members, weights=lags)
    assert lists(g, assignors.get("lag-based").assign(g)) == {
        "consumer-1": [["topic1", 0], ["topic1", 2], ["topic2", 0], ["topic2", 1]],
        "consumer-2": [["topic1", 1], ["topic1", 3]],
    }
    three = {f"consumer-{i}": ["t"] for i in (1, 2, 3)}
    lags = [360, 359, 230, 118, 444, 122, 65, 111, 455_000, 424_000]
    skewed = assignors.get("lag-based").assign(group({"t": 10}, three, weights={"t": lags}))
    assert sorted(skewed.sizes.tolist()) == [3, 3, 4]
    zero = group({"t": 7}, {"a": ["t"], "b": ["t"]}, weights={"t": [0] * 7})
    assert assignors.get("lag-based").assign(zero).sizes.tolist() == [4, 3]


def test_lag_based_gives_the_lists_that_its_original_gave():
    """400 groups put to the source of tag 2.0.0 (oracle/lag-based); lists in their order."""
    with lzma.open(Path(__file__).parents[1] / "data" / "lag-based.jsonl.xz", "rt") as lines:
        vectors = [json.loads(line) for line in lines]
    assert len(vectors) == 400
    assert any(len(set(m["topics"])) < len(m["topics"]) for v in vectors for m in v["members"])
    for vector in vectors:
        assert answer(vector)["assignment"] == vector["expected"]


@pytest.mark.parametrize("seed", range(20))
def test_lag_based_takes_the_minimum_of_count_lag_and_id_partition_by_partition(seed):
    r = np.random.default_rng(seed)
    names = [f"m{i}" for i in r.permutation(9)[: r.integers(1, 6)]]
    lags = {f"t{t}": r.integers(0, 6, r.integers(1, 9)).tolist() for t in range(3)}
    members = {m: [t for t in lags if r.random() < 0.7] for m in names}
    expected = {m: set() for m in names}
    for topic, lag in lags.items():
        held = {m: (0, 0) for m in names if topic in members[m]}
        for p in sorted(range(len(lag)), key=lambda p: (-lag[p], p)) if held else ():
            least = min(held, key=lambda m: (*held[m], m))
            expected[least].add((topic, p))
            held[least] = (held[least][0] + 1, held[least][1] + lag[p])
    g = group({t: len(lag) for t, lag in lags.items()}, members, weights=lags)
    given = lists(g, assignors.get("lag-based").assign(g))
    assert {m: {tuple(pair) for pair in pairs} for m, pairs in given.items()} == expected


def test_readme_of_the_weighted_assignor():
    members = {c: ["t"] for c in ("C0", "C1", "C2", "C3")}
    g = group({"t": 10}, members, weights={"t": [100, 100, *[1] * 8]})
    assert assignors.get("weighted-sticky").assign(g).sizes.tolist() == [1, 1, 4, 4]
    assert loads(g, "sticky") == [102, 102, 2, 2]
    assert loads(g, "weighted-sticky") == [100, 100, 4, 4]


def test_astraea_1475_nine_partitions_each_and_five_times_the_load():
    topics = ("A", "B", "C")
    rates = {topic: [50, 50, 50, 30, 30, 30, 10, 10, 10] for topic in topics}
    g = group(dict.fromkeys(topics, 9), {c: topics for c in "xyz"}, weights=rates)
    assert loads(g, "range") == [450, 270, 90]
    assert assignors.get("range").assign(g).sizes.tolist() == [9, 9, 9]
    assert loads(g, "lag-based") == loads(g, "heaviest-first") == [270, 270, 270]
    assert max(loads(g, "weighted-sticky")) - min(loads(g, "weighted-sticky")) <= 0.05 * 270


def test_weighted_sticky_keeps_claims_and_moves_the_partition_nearest_to_half_the_difference():
    owned = {"a": [("t", 0), ("t", 1), ("t", 2)], "b": [("t", 3), ("t", 4)]}
    g = group(
        {"t": 5}, {"a": ["t"], "b": ["t"]}, owned, generation=1, weights={"t": [9, 4, 1, 1, 1]}
    )
    given = lists(g, assignors.get("weighted-sticky").assign(g))
    assert given == {"a": [["t", 0]], "b": [["t", 3], ["t", 4], ["t", 1], ["t", 2]]}


def test_weighted_sticky_gives_only_what_the_lightest_member_reads():
    """The lightest reads nothing that the heaviest has: nobody looks at the second lightest."""
    members = {"a": ["t"], "b": ["t"], "c": ["u"]}
    owned = {"a": [("t", 0), ("t", 1)], "b": [("t", 2), ("t", 3)], "c": [("u", 0)]}
    weights = {"t": [10, 10, 1, 1], "u": [0]}
    g = group({"t": 4, "u": 1}, members, owned, generation=1, weights=weights)
    assert loads(g, "weighted-sticky") == [20, 2, 0]


@pytest.mark.parametrize("seed", range(40))
def test_heaviest_first_keeps_grahams_bound(seed):
    r = np.random.default_rng(seed)
    members, weights = int(r.integers(2, 4)), r.integers(0, 20, 7)
    g = group({"t": 7}, {f"m{i}": ["t"] for i in range(members)}, weights={"t": weights.tolist()})
    best = min(
        max(np.bincount(owners, weights, members)) for owners in product(range(members), repeat=7)
    )
    assert max(loads(g, LPT.name)) <= best * (4 / 3 - 1 / (3 * members)) + 1e-9


@pytest.mark.parametrize("name", LOAD_AWARE)
def test_without_weights_every_partition_weighs_one(name):
    g = group({"t": 7, "u": 3}, {"a": ["t", "u"], "b": ["u", "t"], "c": ["t", "u"]})
    ones = group(
        {"t": 7, "u": 3}, {"a": ["t", "u"], "b": ["u", "t"], "c": ["t", "u"]},
        weights={"t": [1] * 7, "u": [1] * 3},
    )  # fmt: skip
    assign = assignors.get(name).assign
    assert assign(g).codes.tolist() == assign(ones).codes.tolist()
    assert sorted(assign(g).sizes.tolist()) == [3, 3, 4]


@pytest.mark.parametrize("name", [name for name in LOAD_AWARE if name != "weighted-sticky"])
def test_nobody_there(name):
    nobody = {"topics": [{"name": "t", "partitions": 2}], "members": []}
    assert answer(nobody, name) == {"assignment": {}}
    idle = {"topics": [{"name": "t", "partitions": 0}], "members": [{"id": "a", "topics": ["t"]}]}
    assert answer(idle, name) == {"assignment": {"a": []}}


def packed(weights, owned, capacity, name="modified-worst-fit", members=6):
    """Members in use and their partitions, after weights have changed to these."""
    ids = [f"m{i}" for i in range(members)]
    document = {
        "capacity": capacity,
        "topics": [{"name": "t", "partitions": len(weights), "weights": weights}],
        "members": [
            {"id": m, "topics": ["t"], "owned": [["t", p] for p in owned.get(m, ())]} for m in ids
        ],
    }
    given = answer(document, name)["assignment"]
    return {member: [p for _, p in parts] for member, parts in given.items() if parts}


@pytest.mark.parametrize("name", ["modified-worst-fit", "modified-best-fit"])
def test_packing_keeps_what_fits_and_opens_a_member_for_what_does_not(name):
    assert packed([60, 30, 50, 20], {"m0": [0, 1], "m1": [2, 3]}, 100, name) == {
        "m0": [0, 1], "m1": [2, 3],
    }  # fmt: skip
    grown = packed([60, 30, 90, 20], {"m0": [0, 1], "m1": [2, 3]}, 100, name)
    assert grown["m1"] == [2] and grown["m0"][0] == 0 and sum(map(len, grown.values())) == 4


def test_worst_fit_spreads_and_best_fit_fills():
    new = [50, 40, 30]
    owned = {"m0": [0], "m1": [1]}
    assert packed([50, 70, 30], {"m0": [0], "m1": [1]}, 100) == {"m0": [0, 2], "m1": [1]}
    assert packed([50, 70, 30], owned, 100, "modified-best-fit") == {"m0": [0], "m1": [1, 2]}
    assert packed(new, {}, 120, "modified-best-fit") == {"m0": [0, 1, 2]}


def test_packing_beyond_all_capacity_goes_to_the_emptiest():
    assert packed([9, 9, 9, 9, 1], {}, 10, members=2) == {"m0": [0, 2, 4], "m1": [1, 3]}


def test_a_capacity_beyond_all_floats_holds_everything():
    assert packed([60, 30], {"m0": [0], "m1": [1]}, 10**400) == {"m0": [0, 1]}


@pytest.mark.parametrize("capacity", [0, -1, "7", True, float("nan"), float("inf")])
def test_a_wrong_capacity_is_refused_by_name(capacity):
    document = {"capacity": capacity, "topics": [], "members": [{"id": "a"}]}
    with pytest.raises(DocumentError, match="capacity: expected a number above 0"):
        assignors.get("modified-best-fit").assign(parse(document))
