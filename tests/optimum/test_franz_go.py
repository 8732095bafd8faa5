"""franz-go's groups: as its own test has them, and what it published about them is so."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

from assignlab.assignors.answer import answer
from assignlab.group.document import parse
from assignlab.optimum import optimum
from assignlab.proof.originals import Original, OriginalsUnavailable, client, original_of

BENCH = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[2] / "bench" / "franz_go.py"), run_name="bench")
)
PARTITIONS = (2400, 2400, 2400, 1440, 1440, 2400, 1600, 1600, 1600, 2900, 1800)
"""What sticky_oracle_test.go prints as ``parts``: topics that nobody reads are left out."""
NARROW = BENCH.SHAPES["subset/narrow+doubled"]


def test_the_groups_have_the_partitions_that_franz_go_prints():
    found = []
    for shape in BENCH.SHAPES.values():
        reads = BENCH.read_by(shape)[: shape.members * (1 + shape.double)]
        found.append(shape.partitions * len({name for names in reads for name in names}))
    assert tuple(found) == PARTITIONS


def test_the_optimum_keeps_as_many_as_the_flow_at_its_own_sizes():
    shape = BENCH.SHAPES["subset/doubled"]._replace(topics=20, partitions=7, members=9)
    document, _ = BENCH.rebalanced(shape, "sticky", BENCH.of_lab)
    best = optimum(parse(document))
    names = [member["id"] for member in document["members"]]
    sizes = dict(zip(names, best.assignment.sizes.tolist(), strict=True))
    assert BENCH.fewest_moves(document, sizes) == best.moves > 0


def test_kafkas_sticky_assignor_moves_too_many_in_the_narrow_group():
    partitions, _, own, moves_regret, gap_regret = BENCH.row(NARROW, "sticky", answer)
    assert partitions == 2900 and moves_regret >= own > 0.05 * partitions and gap_regret > 0


@pytest.mark.slow
@pytest.mark.parametrize("group", BENCH.SHAPES)
def test_franz_go_is_optimal_since_its_repair(group):
    """The release of the bridge; what it gives its members is proven to be the optimum."""
    try:
        with Original(*original_of("franz-go-sticky")) as original:
            found = BENCH.row(BENCH.SHAPES[group], "franz-go-sticky", original.ask)
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")
    assert found[2:] == (0, 0, 0)


@pytest.mark.slow
def test_before_its_repair_it_was_not_by_some_two_per_cent_of_the_narrow_group():
    release = BENCH.FRANZ_GO[0]
    try:
        with Original(client("franz-go", release), release) as original:
            own = [BENCH.row(NARROW, "franz-go-sticky", original.ask)[2] for _ in range(10)]
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")
    # It walks Go's maps, every time otherwise: from 26 to 89 of the 2,900 in 60 answers.
    assert 0.01 * 2900 < sum(own) / len(own) < 0.03 * 2900
