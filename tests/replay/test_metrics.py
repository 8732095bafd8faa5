"""Metrics against definitions written out the slow way."""

from itertools import combinations, product
from math import ceil, isnan, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab.assignors.kafka import range_2_0
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Claims, Group, Members, Topics, subscriptions
from assignlab.group.plain import group
from assignlab.jvm.names import Names, signed
from assignlab.optimum import closed_form, front
from assignlab.replay import metrics
from assignlab.replay.columns import METRICS
from assignlab.replay.records import COLUMNS, records
from assignlab.replay.scenarios import Scenario

SIZES = st.lists(st.integers(0, 40), min_size=1, max_size=12).map(np.array)


def assignment(lists):
    """An Assignment from one list of (topic, partition) per member."""
    return Assignment.from_lists([code(t, p) for t, p in pairs] for pairs in lists)


def a_group(partitions, topics_of_members):
    members = len(topics_of_members)
    return Group(
        Topics(Names([f"t{i}" for i in range(len(partitions))]), np.array(partitions)),
        Members(Names([f"C{i}" for i in range(members)]), *subscriptions(topics_of_members)),
        Claims.none(members),
    )


def measured(the_group, after, before, origin, eager=False, revoked_kept=0):
    row = metrics.measure(
        the_group, after, before, np.array(origin, dtype=np.int64), eager, revoked_kept
    )
    return dict(zip((column.name for column in METRICS), row, strict=True))


@settings(deadline=None)
@given(SIZES)
def test_imbalance_of_sizes(sizes):
    n = sizes.tolist()
    total, mean = sum(n), sum(n) / len(n)
    pairs = sum(abs(a - b) for a, b in combinations(n, 2))
    assert metrics.count_gap(sizes) == max(n) - min(n)
    assert metrics.balance_score(sizes) == pairs
    assert metrics.idle(sizes) == n.count(0)
    if total == 0:
        for ratio in (metrics.max_over_mean, metrics.variation, metrics.jain):
            assert isnan(ratio(sizes))
        assert isnan(metrics.gini(sizes, pairs))
        return
    deviation = sqrt(sum((x - mean) ** 2 for x in n) / len(n))
    double_sum = sum(abs(a - b) for a, b in product(n, n))
    assert metrics.max_over_mean(sizes) == pytest.approx(max(n) / mean)
    assert metrics.variation(sizes) == pytest.approx(deviation / mean)
    assert metrics.gini(sizes, pairs) == pytest.approx(double_sum / (2 * len(n) ** 2 * mean))
    assert metrics.jain(sizes) == pytest.approx(total**2 / (len(n) * sum(x * x for x in n)))
    assert metrics.jain(sizes) == pytest.approx(1 / (1 + metrics.variation(sizes) ** 2))


def test_balance_score_wraps_in_a_java_int():
    sizes = np.zeros(2000, dtype=np.int64)
    sizes[0] = 1_074_280
    assert metrics.balance_score(sizes) == 1_074_280 * 1999
    assert signed(metrics.balance_score(sizes)) == -2147481576
    assert signed(2**31 - 1) == 2**31 - 1


@settings(deadline=None)
@given(st.integers(1, 60), st.integers(1, 12))
def test_floor_is_reached_by_an_even_split(partitions, members):
    sizes = np.array([partitions // members + (m < partitions % members) for m in range(members)])
    floor = metrics.max_over_mean_floor(partitions, members)
    assert floor == pytest.approx(ceil(partitions / members) / (partitions / members))
    assert metrics.max_over_mean(sizes) == pytest.approx(floor)


@settings(deadline=None)
@given(st.data())
def test_fewest_moves_by_trying_every_even_assignment(data):
    members = data.draw(st.integers(1, 4))
    partitions = data.draw(st.integers(0, 7))
    owner = data.draw(
        st.lists(st.integers(-1, members - 1), min_size=partitions, max_size=partitions)
    )
    owned = np.array([owner.count(m) for m in range(members)])
    fewest = min(
        sum(old not in (-1, new) for old, new in zip(owner, chosen, strict=True))
        for chosen in product(range(members), repeat=partitions)
        if max(map(chosen.count, range(members))) - min(map(chosen.count, range(members))) <= 1
    )
    assert metrics.fewest_moves(owned, partitions) == fewest


@settings(deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.integers(0, 9), st.integers(0, 200))
def test_fewest_moves_to_be_as_even_are_those_of_the_front(owned, free, more):
    given_ = {f"m{m}": [(f"t{m}", p) for p in range(own)] for m, own in enumerate(owned)}
    topics = {f"t{m}": own for m, own in enumerate(owned)} | {"free": free}
    squares, moves = front(group(topics, {m: [*topics] for m in given_}, given_)).points.T
    within = squares[0] + more
    expected = moves[np.searchsorted(squares, within, side="right") - 1]
    got = closed_form.fewest_moves_within(np.array(owned), sum(owned) + free, within)
    assert got == expected


PARTITIONS = st.lists(st.integers(-1, 4), min_size=1, max_size=4)


@st.composite
def rebalances(draw):
    """Any two assignments, with double owners, repeats, partitions and subscriptions that fail."""
    partitions = draw(PARTITIONS)
    topics = range(len(partitions))
    pairs = st.tuples(st.sampled_from(topics), st.integers(0, 5))
    before = draw(st.lists(st.lists(pairs, max_size=6), min_size=0, max_size=4))
    wanted = st.tuples(st.lists(pairs, max_size=6), st.lists(st.sampled_from(topics), unique=True))
    members = draw(st.lists(wanted, min_size=1, max_size=5))
    in_a_row = draw(st.integers(1, 3))  # so many members have, had and want the same
    before = [pairs for pairs in before for _ in range(in_a_row)]
    members = [member for member in members for _ in range(in_a_row)]
    after, topics_of = map(list, zip(*members, strict=True))
    places = [*range(len(before)), *[-1] * len(members)]
    if draw(st.booleans()):
        places = draw(st.permutations(places))
    return partitions, topics_of, before, after, places[: len(members)]


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(rebalances(), st.booleans())
def test_moves_and_faults(case, eager):
    partitions, topics_of, before, after, origin = case
    exists = {(t, p) for t, count in enumerate(partitions) for p in range(count)}
    held = {(m, pair) for m, pairs in enumerate(before) for pair in pairs}
    now = {old: m for m, old in enumerate(origin) if old >= 0}
    kinds = {"stayed": 0, "owner_left": 0, "unsubscribed": 0, "gone": 0, "by_choice": 0}
    for old, pair in held:
        if pair not in exists:
            kinds["gone"] += 1
        elif old not in now:
            kinds["owner_left"] += 1
        elif pair in after[now[old]]:
            kinds["stayed"] += 1
        elif pair[0] in topics_of[now[old]]:
            kinds["by_choice"] += 1
        else:
            kinds["unsubscribed"] += 1
    given_now = {(m, pair) for m, pairs in enumerate(after) for pair in pairs if pair in exists}
    owners = {pair: sum(pair in pairs for pairs in after) for pair in exists}
    wanted = {pair for pair in exists if any(pair[0] in topics for topics in topics_of)}
    repeats = sum(len(pairs) - len(set(pairs)) for pairs in after)
    missing = len({(m, p) for m, pairs in enumerate(after) for p in pairs} - given_now)
    not_subscribed = sum(pair[0] not in topics_of[m] for m, pair in given_now)
    all_held = [pair for _, pair in held]
    sizes = [len(pairs) for pairs in after]
    got = measured(
        a_group(partitions, topics_of), assignment(after), assignment(before), origin, eager, 0
    )
    assert {name: got[name] for name in kinds} == kinds
    assert got["held"] == len(held)
    assert got["forced"] == kinds["owner_left"] + kinds["unsubscribed"]
    assert got["received"] == len(given_now) - kinds["stayed"]
    assert got["assigned"] == sum(pair not in all_held for _, pair in given_now)
    assert got["unassigned"] == sum(owners[pair] == 0 for pair in wanted)
    assert got["doubled"] == sum(count > 1 for count in owners.values())
    assert got["invalid"] == repeats + missing + not_subscribed
    assert got["revoked_kept"] == (kinds["stayed"] if eager else 0)
    assert got["interrupted"] == got["forced"] + kinds["by_choice"] + got["revoked_kept"]
    assert (got["members_now"], got["partitions_now"]) == (len(after), len(wanted))
    assert (got["largest"], got["smallest"], got["count_gap"]) == (
        max(sizes),
        min(sizes),
        max(sizes) - min(sizes),
    )
    assert got["idle"] == sizes.count(0)
    read = {frozenset(pair for pair in exists if pair[0] in topics) for topics in topics_of}
    complete = got["unassigned"] + got["doubled"] + got["invalid"] == 0
    held_once = all(all_held.count(pair) <= 1 for pair in exists)
    proven = len(read) == 1 and any(read) and complete and held_once
    assert (got["fewest"] is not None) == proven


@pytest.mark.slow
@settings(deadline=None, max_examples=300)
@given(rebalances())
def test_spread_inside_topics(case):
    partitions, topics_of, _, after, _ = case
    subscribers = [sum(t in topics for topics in topics_of) for t in range(len(partitions))]
    # owners that subscribe, as valid assignments have them
    after = [[pair for pair in pairs if pair[0] in topics_of[m]] for m, pairs in enumerate(after)]
    gaps = {}
    uneven = 0
    for t, count in enumerate(partitions):
        if count > 0 and subscribers[t] > 0:
            loads = [
                sum(pair[0] == t for pair in after[m])
                for m, topics in enumerate(topics_of)
                if t in topics
            ]
            gaps[t] = max(loads) - min(loads)
            uneven += count % subscribers[t] != 0
    got = measured(
        a_group(partitions, topics_of), assignment(after), assignment([]), [-1] * len(after)
    )
    assert got["topic_gap"] == max(gaps.values(), default=0)
    assert got["uneven_topics"] == uneven
    assert got["topics_now"] == len(gaps)
    if gaps:
        assert got["topic_gap_mean"] == pytest.approx(sum(gaps.values()) / len(gaps))
    else:
        assert got["topic_gap_mean"] is None


@settings(deadline=None)
@given(rebalances())
def test_still_held_is_the_intersection_in_the_order_held(case):
    _, _, before, after, _ = case
    after = (after + [[]] * len(before))[: len(before)]
    held, given_ = assignment(before), assignment(after)
    offsets, codes, every = metrics.still_held(
        held.offsets, held.codes, given_.offsets, given_.codes
    )
    both = [[p for p in dict.fromkeys(pairs) if p in after[m]] for m, pairs in enumerate(before)]
    expected = assignment(both)
    assert offsets.tolist() == expected.offsets.tolist()
    assert codes.tolist() == expected.codes.tolist()
    assert every == all(set(pairs) <= set(after[m]) for m, pairs in enumerate(before))


def test_what_a_list_repeats_is_held_once():
    twice, gone = (0, 0), (0, 5)
    before = assignment([[twice, twice, gone, gone], [(0, 1)]])
    the_group, after = a_group([2], [[0]]), assignment([[(0, 0), (0, 1)]])
    stays = measured(the_group, after, before, [0])
    assert (stays["held"], stays["stayed"], stays["gone"], stays["owner_left"]) == (3, 1, 1, 1)
    leaves = measured(the_group, after, before, [1])
    assert (leaves["held"], leaves["stayed"], leaves["gone"], leaves["owner_left"]) == (3, 1, 1, 1)
    assert (leaves["forced"], leaves["interrupted"], leaves["fewest"]) == (1, 1, 0)


def test_what_comes_back_is_held_in_the_end_however_often_lists_repeat_it():
    scenario = Scenario(
        members=3, topics=5, partitions=20, subscription="NARROW_1", seed=8,
        events=("FULL", "TOPIC_RECREATED", "LEAVE_ONE"),
    )  # fmt: skip
    *_, last = records(scenario, ["cooperative-sticky"])
    found = dict(zip([column.name for column in COLUMNS], last, strict=True))
    assert 0 < found["revoked_kept"] <= found["stayed"]


def test_fewest_is_null_where_it_is_not_proven():
    before = assignment([[(0, 0), (0, 1)], []])
    after = assignment([[(0, 0)], [(0, 1)]])
    equal = measured(a_group([2, 1], [[0], [0]]), after, before, [0, 1])
    assert (equal["fewest"], equal["needed"], equal["avoidable"]) == (1, 1, 0)
    uneven = measured(a_group([2, 1], [[0], [0, 1]]), after, before, [0, 1])
    assert (uneven["fewest"], uneven["needed"], uneven["avoidable"]) == (None, None, None)
    twice = measured(a_group([2, 1], [[0], [0]]), after, assignment([[(0, 0)], [(0, 0)]]), [0, 1])
    assert twice["fewest"] is None
    left_out = measured(a_group([2], [[0], [0]]), assignment([[(0, 0)], []]), before, [0, 1])
    assert left_out["needed"] is None


def test_moves_that_even_nothing_are_avoidable():
    before = assignment([[(0, 0), (0, 1), (0, 2), (0, 3)], []])
    after = assignment([[(0, 0)], [(0, 1), (0, 2), (0, 3)]])
    got = measured(a_group([4], [[0], [0]]), after, before, [0, 1])
    # One move is enough to be as even as three and one.
    assert (got["by_choice"], got["fewest"], got["needed"], got["avoidable"]) == (3, 2, 1, 2)


def test_a_rotation_is_avoidable():
    before = assignment([[(0, 0), (0, 1)], [(0, 2), (0, 3)]])
    after = assignment([[(0, 2), (0, 3)], [(0, 0), (0, 1)]])
    got = measured(a_group([4], [[0], [0]]), after, before, [0, 1])
    assert (got["by_choice"], got["fewest"], got["avoidable"], got["stayed"]) == (4, 0, 4, 0)


@pytest.mark.parametrize("members", [3, 7, 10])
def test_law_of_range(members):
    topics = {f"t{i}": 4 + i for i in range(12)}
    the_group = group(topics, {f"C{i}": list(topics) for i in range(members)})
    after = range_2_0.assign(the_group)
    got = measured(the_group, after, assignment([]), [-1] * members)
    law = sum(count % members != 0 for count in topics.values())
    assert got["count_gap"] == law == got["uneven_topics"]


def test_a_million_partitions():
    members, topics, each = 2000, 500, 2000
    codes = (np.repeat(np.arange(topics), each) << 32) + np.tile(np.arange(each), topics)
    offsets = np.arange(members + 1) * (topics * each // members)
    the_group = a_group([each] * topics, [list(range(topics))] * members)
    before = Assignment(offsets, codes)
    after = Assignment(offsets, np.roll(codes, 250))
    got = measured(the_group, after, before, range(members), eager=True)
    assert (got["by_choice"], got["stayed"]) == (500_000, 500_000)
    assert (got["fewest"], got["avoidable"], got["balance_score"]) == (0, 500_000, 0)
