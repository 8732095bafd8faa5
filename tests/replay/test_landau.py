"""Landau's twelve packings: their published R-scores, and the two that are strategies here."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from assignlab import assignors
from assignlab.group.document import parse
from assignlab.replay.load import owners

BENCH = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[2] / "bench" / "landau.py"), run_name="bench")
)
SPEEDS = BENCH.stream(15, seed=1, steps=60)


@pytest.mark.parametrize("name", BENCH.PUBLISHED)
def test_published_r_scores_and_consumers_are_met(name):
    """Over 60 of 501 steps: the first moves nothing, and is one of them."""
    scores, consumers = BENCH.PUBLISHED[name]
    score, used = BENCH.means(name, SPEEDS)
    at = BENCH.DELTAS.index(15)
    assert score * 60 / 59 == pytest.approx(scores[at], rel=0.12)
    assert used == pytest.approx(consumers[at], rel=0.1)


@pytest.mark.parametrize(
    ("name", "strategy"), [("mwf", "modified-worst-fit"), ("mbf", "modified-best-fit")]
)
def test_the_strategies_pack_as_the_table_does(name, strategy):
    random, partitions = np.random.default_rng(4), 30
    had = np.full(partitions, -1)
    for weights in SPEEDS[:20, :partitions]:
        document = {
            "capacity": BENCH.CAPACITY,
            "topics": [{"name": "t", "partitions": partitions, "weights": weights.tolist()}],
            "members": [
                {"id": f"m{c:02}", "topics": ["t"], "owned": [["t", int(p)] for p in np.flatnonzero(had == c)]}
                for c in range(partitions)
            ],
        }  # fmt: skip
        group = parse(document)
        given = owners(group, assignors.get(strategy).assign(group))
        had = BENCH.packed(name, weights, had, random)
        assert given.tolist() == had.tolist()
