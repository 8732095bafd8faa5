"""``sticky@2.0`` beyond the golden vectors: the edges that users of the article look for.

Expected lists and exceptions are answers of kafka-clients 2.0.1.
"""

import random

import numpy as np
import pytest

from assignlab.assignors.kafka import sticky_2_0
from assignlab.assignors.parts import holdings, reassignment
from assignlab.assignors.parts.potential import potential, unpack_potential
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.document import dump, lists
from assignlab.group.plain import group


def assigned(topics, members, owned=None):
    g = group(topics, members, owned=owned)
    return lists(g, sticky_2_0.assign(g))


SAME = {"a": ["t0", "t1"], "b": ["t0", "t1"]}
TWO_TOPICS = {"t0": 2, "t1": 2}


def test_an_empty_claim_is_still_a_reassignment():
    """Nobody owns anything either way, but the partitions go in the order of a HashMap."""
    assert assigned(TWO_TOPICS, SAME) == {
        "a": [["t0", 0], ["t1", 0]],
        "b": [["t0", 1], ["t1", 1]],
    }
    assert assigned(TWO_TOPICS, SAME, owned={"a": []}) == {
        "a": [["t0", 1], ["t1", 1]],
        "b": [["t0", 0], ["t1", 0]],
    }


def test_both_claimants_of_a_partition_keep_it():
    owned = {"a": [("t", 0)], "b": [("t", 0)]}
    assert assigned({"t": 2}, {"a": ["t"], "b": ["t"]}, owned) == {
        "a": [["t", 0], ["t", 1]],
        "b": [["t", 0]],
    }


def test_moves_that_do_not_improve_the_balance_score_are_taken_back():
    """Stale claims make the original move partitions, but no difference becomes smaller."""
    topics = {"t0": 1, "t1": 3, "t2": 1}
    members = {"c0": ["t1", "t0"], "c1": ["t1"], "c2": ["t0", "t2"]}
    owned = {
        "c0": [("t0", 0)],
        "c1": [("t1", 1), ("t0", 0), ("t1", 0), ("t2", 0), ("t1", 2)],
        "c2": [],
    }
    assert assigned(topics, members, owned) == {
        "c0": [["t0", 0]],
        "c1": [["t1", 1], ["t1", 0], ["t1", 2]],
        "c2": [["t2", 0]],
    }


@pytest.mark.parametrize(
    ("topics", "members", "owned", "exception"),
    [
        ({}, {"a": ["t"]}, None, "NullPointerException"),
        ({"t": 0}, {"a": ["t"]}, None, "NullPointerException"),
        ({"t": 1}, {"a": []}, {"a": []}, "NoSuchElementException"),
        ({"t": 1}, {}, None, "NoSuchElementException"),
        (
            {"t0": 3},
            {"c0": ["t0"], "c1": ["t0"], "c2": []},
            {"c1": [("t0", 1), ("t0", 2), ("t0", 2)], "c2": [("t0", 1), ("t0", 0), ("t0", 2)]},
            "NullPointerException",
        ),
    ],
)
def test_throws_where_the_original_throws(topics, members, owned, exception):
    with pytest.raises(OriginalError) as thrown:
        sticky_2_0.assign(group(topics, members, owned=owned))
    assert thrown.value.original == exception


def test_nobody_subscribes_and_nobody_claims():
    assert assigned({"t": 1}, {"a": []}) == {"a": []}


def test_says_where_java_itself_is_not_certain():
    """t10-1 and t20-0 have equal hash codes; with a hundred topics such slots become trees."""
    topics = {f"t{i}": 30 for i in range(100)}
    members = {"a": list(topics), "b": list(topics)}
    g = group(topics, members, owned={"a": []})
    assert sticky_2_0.assign(g).notes == {"nondeterministic": True}
    fresh = group(topics, members)
    before = sticky_2_0.assign(fresh)
    assert before.notes == {}
    again = group(topics, members, owned=lists(fresh, before))
    assert sticky_2_0.assign(again).notes == {}, "nothing is handed out in that order"


def random_group(r):
    topics = {f"t{i}": r.randint(1, 6) for i in range(r.randint(1, 5))}
    members = {
        f"c{i}": r.sample(list(topics), r.randint(1, len(topics))) for i in range(r.randint(2, 9))
    }
    owned = {member: [] for member in members}
    for topic, count in topics.items():
        may = [member for member in members if topic in members[member]]
        for partition in range(count):
            if may and r.random() < 0.9:
                owned[r.choice(may)].append((topic, partition))
    return group(topics, members, owned=owned)


def test_the_quick_test_for_balance_agrees_with_the_long_one():
    """While no partition is claimed twice, both readings of isBalanced say the same."""
    r = random.Random(20)
    answers = set()
    for _ in range(400):
        g = random_group(r)
        known = unpack_potential(*potential(g)[:2])
        order = sticky_2_0.current_assignment_order(g)
        current, _ = sticky_2_0.prepopulate_current_assignments(
            known, g.claims.offsets, g.claims.codes, order
        )
        held = holdings.holdings(known, current)
        partitions, _ = sticky_2_0.sort_partitions(known, current, False)
        unassigned = reassignment.unassigned_partitions(held, partitions)
        reassignment.assign_unassigned(held, unassigned)
        state = reassignment.state_of(held, current, known.as_read)
        quick, long = (
            reassignment.is_balanced(state._replace(doubled=doubled))
            for doubled in (reassignment.NO_MEMBERS, np.arange(len(g.members)))
        )
        assert quick == long, dump(g)
        answers.add(quick)
    assert answers == {True, False}


def test_the_balance_score_wraps_like_a_java_int():
    """1,999 members without and one with 1,074,280 partitions: the sum passes 2^31."""
    counts = np.zeros(1_074_281, dtype=np.int64)
    counts[[0, 1_074_280]] = 1999, 1
    assert holdings.balance_score(counts) == -2147481576


FEW_CAME_BACK = [[topic, p] for topic in ("mail", "clicks", "orders", "audit-log") for p in (1, 0)]
MANY_CAME_BACK = [
    "AaAaBBBB",
    "AaAaAaAa",
    "AaAaAaBB",
    "AaAaBBAa",
    "AaBBAaAa",
    "AaBBAaBB",
    "AaBBBBAa",
    "AaBBBBBB",
    "BBAaAaAa",
    "BBAaAaBB",
    "BBAaBBAa",
    "BBAaBBBB",
    "BBBBAaAa",
    "BBBBAaBB",
    "BBBBBBAa",
    "BBBBBBBB",
]


def test_claims_come_back_in_the_order_of_two_hash_maps():
    """Sixteen topics in one slot make it a tree, so that the second HashMap orders them anew."""
    few = ["orders", "audit-log", "clicks", "mail"]
    g = group({name: 2 for name in few}, {"a": few})
    held = Assignment(np.array([0, 8]), np.array([t << 32 | p for p in (1, 0) for t in range(4)]))
    came_back = lists(g, sticky_2_0.reclaim(g, held))["a"]
    assert came_back == FEW_CAME_BACK

    blocks = ("Aa", "BB")
    many = [a + b + c + d for a in blocks for b in blocks for c in blocks for d in blocks]
    g = group({name: 1 for name in many}, {"a": many})
    held = Assignment(np.array([0, 16]), np.arange(16) << 32)
    came_back = lists(g, sticky_2_0.reclaim(g, held))["a"]
    assert [topic for topic, _ in came_back] == MANY_CAME_BACK
