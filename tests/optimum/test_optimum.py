"""The optimum against brute force and OR-Tools; its certificate against planted errors."""

import os
from dataclasses import replace
from itertools import product
from random import Random

import numpy as np
import pytest
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from assignlab import assignors
from assignlab.group import group
from assignlab.group.assignment import Assignment, by_member, topic_of
from assignlab.optimum import Regret, front, least, optimum, pareto, regret
from assignlab.optimum.certificate import (
    Certificate,
    NotComplete,
    WrongCertificate,
    check,
    measured,
)

GROUPS = int(os.environ.get("ASSIGNLAB_GROUPS", "400"))
"""How many random groups the comparisons with brute force take."""

STARVE = group(
    {"t0": 1, "t1": 1, "t2": 1, "t3": 1},
    {"A": ["t0", "t2"], "B": ["t0", "t3"], "C": ["t1", "t2"], "NEW": ["t1", "t3"]},
    {"A": [("t0", 0), ("t2", 0)], "B": [("t3", 0)], "C": [("t1", 0)]},
)
TWO_MOVES = group(
    {"t0": 1, "t1": 2, "t2": 2},
    {"A": ["t0", "t1"], "B": ["t0", "t2"], "NEW": ["t0", "t2"]},
    {"A": [("t0", 0), ("t1", 0), ("t1", 1)], "B": [("t2", 0), ("t2", 1)]},
)
"""Kafka's sticky assignor starves NEW in the first group and moves twice in the second."""


def random_parts(random: Random) -> tuple[dict, dict, dict]:
    """(topics, members, owned) of at most 4 topics, 8 partitions and 4 members."""
    topics, room = {}, 8
    for t in range(random.randint(0, 4)):
        topics[f"t{t}"] = random.randint(0, min(4, room))
        room -= topics[f"t{t}"]
    read = random.choice((0.3, 0.5, 0.8, 1))
    members = {
        f"m{m}": [name for name in (*topics, "gone") if random.random() < read]
        for m in range(random.randint(1, 4))
    }
    claim = random.choice((0, 0.2, 0.5))
    everything = [(name, p) for name, n in (*topics.items(), ("gone", 1)) for p in range(n + 1)]
    owned = {
        member: [pair for pair in everything for _ in range(2) if random.random() < claim]
        for member in members
    }
    if random.random() < 0.5:  # as it should be: one owner each
        given = {pair: random.choice(list(members)) for pair in everything}
        owned = {m: [pair for pair, owner in given.items() if owner == m] for m in members}
    return topics, members, owned


def everything_there_is(topics: dict, members: dict, owned: dict) -> set[tuple[int, int]]:
    """(sum of squares, moves) of every complete assignment, but the least moves for equal sizes."""
    ids = list(members)
    fewest = {(0,) * len(ids): 0}
    for topic, partitions in topics.items():
        readers = [m for m, name in enumerate(ids) if topic in members[name]]
        for p in range(partitions if readers else 0):
            claimants = [m for m in readers if (topic, p) in owned.get(ids[m], ())]
            further = {}
            for (sizes, moves), m in product(fewest.items(), readers):
                more = sizes[:m] + (sizes[m] + 1,) + sizes[m + 1 :]
                moves += bool(claimants) and m not in claimants
                further[more] = min(moves, further.get(more, moves))
            fewest = further
    return {(sum(n * n for n in sizes), moves) for sizes, moves in fewest.items()}


def unbeaten(pairs: set[tuple[int, int]]) -> list[tuple[int, int]]:
    """The pairs that no other one beats in both numbers, by the first."""
    best = sorted(pairs)
    return [pair for i, pair in enumerate(best) if all(pair[1] < other[1] for other in best[:i])]


def narrow_parts(random: Random) -> tuple[dict, dict, dict]:
    """(topics, members, owned) of 4 to 6 members in a chain, each reading its neighbours' topics.

    Partitions pass through many hands here, and the front has points that are best at no rate.
    """
    size = random.randint(4, 6)
    topics = {f"t{t}": random.randint(1, 3) for t in range(size)}
    members = {f"m{m}": [f"t{t}" for t in range(max(m - 1, 0), m + 1)] for m in range(size)}
    owned = {member: [] for member in members}
    for t, partitions in enumerate(topics.values()):
        first = random.randint(t, min(t + 1, size - 1))
        for p in range(partitions):
            owner = first if random.random() < 0.8 else random.randint(t, min(t + 1, size - 1))
            owned[f"m{owner}"].append((f"t{t}", p))
    return topics, members, owned


@pytest.mark.parametrize("block", range(4))
@pytest.mark.parametrize("parts_of", [random_parts, narrow_parts])
def test_no_assignment_of_a_small_group_is_better(parts_of, block):
    for number in range(block, GROUPS, 4):
        parts = parts_of(Random(number))
        small = group(*parts)
        best, all_of_it = optimum(small), front(small)
        expected = unbeaten(everything_there_is(*parts))
        assert (best.sum_of_squares, best.moves) == expected[0], (number, parts)
        assert [tuple(point) for point in all_of_it.points.tolist()] == expected, (number, parts)
        assert all_of_it.whole
        assert least(small) == expected[0]


@pytest.mark.parametrize(
    "hard, sizes, moves", [(STARVE, [1, 1, 1, 1], 2), (TWO_MOVES, [2, 2, 1], 1)]
)
def test_groups_in_which_kafkas_sticky_assignor_is_not_optimal(hard, sizes, moves):
    best = optimum(hard)
    assert (best.assignment.sizes.tolist(), best.moves) == (sizes, moves)


@pytest.mark.parametrize("members", [{}, {"a": []}, {"a": ["t", "nowhere"]}])
def test_where_there_is_nothing_to_choose(members):
    best = optimum(group({"t": 3, "none": 0}, members))
    assert best.assignment.sizes.tolist() == [3 * ("t" in topics) for topics in members.values()]
    assert best.moves == 0


def test_ten_million_partitions_do_not_overflow():
    claim = [("t", p) for p in range(9)]
    large = group({"t": 9, "u": 9_999_991}, {"a": ["t", "u"], "b": ["t"], "c": []}, {"b": claim})
    best = optimum(large)
    assert best.assignment.sizes.tolist() == [9_999_991, 9, 0]
    assert (best.sum_of_squares, best.moves) == (9_999_991**2 + 81, 0)


@pytest.mark.parametrize("number", range(40))
def test_the_closed_form_for_equal_subscriptions(number):
    random = Random(number)
    members = {f"m{m}": ["t", "u"] for m in range(random.randint(1, 30))}
    given = {(t, p): random.choice([*members, "left"]) for t in "tu" for p in range(40)}
    owned = {m: [pair for pair, owner in given.items() if owner == m] for m in members}
    equal = group({"t": 37, "u": 40}, members, owned)
    best = optimum(equal)
    assert least(equal) == (best.sum_of_squares, best.moves)


def by_ortools(topics: dict, members: dict, owned: dict) -> tuple[int, int]:
    """(sum of squares, moves) of the optimum, by min-cost flow over single partitions."""
    ids = list(members)
    partitions = [
        (topic, p, readers)
        for topic, n in topics.items()
        if (readers := [m for m, name in enumerate(ids) if topic in members[name]])
        for p in range(n)
    ]
    flow = SimpleMinCostFlow()
    square = len(partitions) + 1
    for place, (topic, p, readers) in enumerate(partitions, len(ids)):
        claimants = [m for m in readers if (topic, p) in owned.get(ids[m], ())]
        flow.set_node_supply(place, 1)
        for m in readers:
            moved = bool(claimants) and m not in claimants
            flow.add_arc_with_capacity_and_unit_cost(place, m, 1, int(moved))
    sink = len(ids) + len(partitions)
    flow.set_node_supply(sink, -len(partitions))
    for m in range(len(ids)):
        for k in range(len(partitions)):
            flow.add_arc_with_capacity_and_unit_cost(m, sink, 1, square * (2 * k + 1))
    assert flow.solve() == flow.OPTIMAL
    return divmod(flow.optimal_cost(), square)


@pytest.mark.parametrize("seed", range(12))
def test_ortools_finds_the_same_optimum(seed):
    random = Random(seed)
    topics = {f"t{t}": random.randint(0, 12) for t in range(random.randint(5, 15))}
    read = random.choice((2, 3, len(topics)))
    members = {
        f"m{m}": random.sample(sorted(topics), min(read, len(topics)))
        for m in range(random.randint(5, 20))
    }
    everything = [(name, p) for name, n in topics.items() for p in range(n)]
    owned = {
        member: [pair for pair in everything if pair[0] in read and random.random() < 0.2]
        for member, read in members.items()
    }
    best = optimum(group(topics, members, owned))
    assert (best.sum_of_squares, best.moves) == by_ortools(topics, members, owned)


# ---- the front and regrets ---------------------------------------------------------------------

CHAIN = group(
    {"t0": 3, "t1": 2, "t2": 1},
    {"a": ["t0"], "b": ["t0", "t1"], "c": ["t1", "t2"], "d": ["t2"]},
    {"a": [("t0", p) for p in range(3)], "b": [("t1", 0), ("t1", 1)], "c": [("t2", 0)]},
)
"""Three moves hand one partition down to d; two save half as much, the best at no rate."""


def test_a_point_that_is_best_at_no_rate():
    assert front(CHAIN).points.tolist() == [[10, 3], [12, 2], [14, 0]]


def test_a_search_that_is_given_up_says_so(monkeypatch):
    monkeypatch.setattr(pareto, "PATIENCE", 0)
    given_up = front(CHAIN)
    assert given_up.points.tolist() == [[10, 3], [14, 0]]
    assert not given_up.whole


def test_a_strategy_that_is_even_but_moves_too_much():
    claimed = TWO_MOVES.with_claims(replace(TWO_MOVES.claims, generation=np.full(3, 7)))
    answer = assignors.get("sticky").assign(claimed)
    assert regret(claimed, answer) == Regret(
        sum_of_squares=9, moves=2, gap_regret=0, moves_regret=1, price_of_balance=1
    )


def test_moves_are_not_compared_with_those_of_evener_answers():
    everything_kept = Assignment(np.array([0, 2, 3, 4, 4]), STARVE.claims.codes)
    assert regret(STARVE, everything_kept) == Regret(
        sum_of_squares=6, moves=0, gap_regret=2, moves_regret=0, price_of_balance=2
    )


@pytest.mark.parametrize("number", range(60))
def test_the_regret_of_any_answer(number):
    random = Random(number)
    topics, members, owned = random_parts(random)
    small = group(topics, members, owned)
    best = optimum(small)
    readers = [[m for m, names in enumerate(members.values()) if t in names] for t in topics]
    owners = [random.choice(readers[topic_of(code)]) for code in sorted(best.assignment.codes)]
    answer = Assignment(
        *by_member(np.array(owners, dtype=np.int64), np.sort(best.assignment.codes), len(members))
    )
    told = regret(small, answer)
    pairs = everything_there_is(topics, members, owned)
    assert told.moves_regret == told.moves - min(m for q, m in pairs if q <= told.sum_of_squares)
    assert told.gap_regret == np.ptp(answer.sizes) - np.ptp(best.assignment.sizes) >= 0
    assert told.price_of_balance == best.moves


# ---- certificates ------------------------------------------------------------------------------


def changed(assignment: Assignment, **owners: int) -> Assignment:
    """The assignment with the partitions at these places of ``codes`` (``at_2=0``) moved."""
    owner = assignment.owners
    for place, member in owners.items():
        owner[int(place.removeprefix("at_"))] = member
    return Assignment.from_lists(assignment.codes[owner == m] for m in range(assignment.sizes.size))


def test_a_certificate_proves_nothing_else():
    best = optimum(TWO_MOVES)
    assert check(TWO_MOVES, best.assignment, best.certificate).moves == 1
    with pytest.raises(WrongCertificate, match="is cheaper with another member"):
        check(TWO_MOVES, changed(best.assignment, at_4=1, at_3=2), best.certificate)
    with pytest.raises(WrongCertificate, match="does not fit its size"):
        check(TWO_MOVES, changed(best.assignment, at_4=1), best.certificate)


@pytest.mark.parametrize("number", range(40))
def test_a_certificate_with_one_error_never_proves_a_worse_assignment(number):
    random = Random(number)
    parts = random_parts(random)
    small = group(*parts)
    best = optimum(small)
    other = best.assignment
    if other.codes.size == 0:
        return
    worse = changed(
        other, **{f"at_{random.randrange(other.codes.size)}": random.randrange(len(small.members))}
    )
    prices = best.certificate.prices.copy()
    prices[random.randrange(prices.size)] += random.choice((-1, 1))
    for certificate in (best.certificate, best.certificate._replace(prices=prices)):
        try:
            found = check(small, worse, certificate)
        except (WrongCertificate, NotComplete):
            continue
        assert (found.sum_of_squares, found.moves) == (best.sum_of_squares, best.moves)


@pytest.mark.parametrize(
    "lists, price, reason",
    [
        ([[1], [0]], 4, "is cheaper with another member"),  # as even, but both have moved
        ([[0, 1], []], 4, "price 4 of 'a' does not fit its size 2"),
        ([[0, 1], []], 9, "price 9 of 'b' does not fit its size 0"),
    ],
)
def test_no_price_for_both_proves_a_needless_move_or_an_uneven_answer(lists, price, reason):
    both = group({"t": 2}, {"a": ["t"], "b": ["t"]}, {"a": [("t", 0)], "b": [("t", 1)]})
    certificate = Certificate(3, np.full(2, price))
    assert check(both, Assignment.from_lists([[0], [1]]), Certificate(3, np.full(2, 4))).moves == 0
    with pytest.raises(WrongCertificate, match=reason):
        check(both, Assignment.from_lists(lists), certificate)


@pytest.mark.parametrize(
    "certificate, reason",
    [
        (Certificate(4, np.zeros(4, dtype=np.int64)), "weight 4 is not above 4"),
        (Certificate(5, np.zeros(3, dtype=np.int64)), "prices are not int64"),
        (Certificate(5, np.zeros(4)), "prices are not int64"),
        (Certificate(5, np.full(4, 16)), "price 16 of 'A' does not fit its size 1"),
    ],
)
def test_a_certificate_that_is_none(certificate, reason):
    with pytest.raises(WrongCertificate, match=reason):
        check(STARVE, optimum(STARVE).assignment, certificate)


@pytest.mark.parametrize(
    "lists, reason",
    [
        ([[0], [1], []], "3 lists of partitions for 2 members"),
        ([[0], []], "1 of the partitions have no owner"),
        ([[0, 1], [1]], "partition 1 of topic 't' is assigned twice"),
        ([[0, 1, 2], []], "partition 2 of topic 't' is not there"),
        ([[0, 1, 1 << 32], []], "partition 0 of topic 'u' is not subscribed to by its owner"),
        ([[0, 1, 9 << 32], []], "topics that the group does not know"),
    ],
)
def test_only_complete_assignments_are_measured(lists, reason):
    small = group({"t": 2, "u": 1}, {"a": ["t"], "b": ["t"]})
    with pytest.raises(NotComplete, match=reason):
        measured(small, Assignment.from_lists(lists))
