"""``range`` beyond the golden vectors: static members, racks, co-partitioning.

Expected lists are answers of kafka-clients 4.4.0.
"""

import random

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.kafka import range as strategy
from assignlab.group.assignment import partition_of, topic_of
from assignlab.group.document import lists, parse
from assignlab.replay import events

ALONG = ["x", "y", "x", "y"]


def grouped(topics: dict, *members: tuple):
    """``topics``: a count, or per partition a string of one-letter racks."""
    return parse(
        {
            "topics": [
                {"name": name, "partitions": given}
                if isinstance(given, int)
                else {"name": name, "partitions": len(given), "racks": [list(r) for r in given]}
                for name, given in topics.items()
            ],
            "members": [
                {"id": name, "topics": wanted.split(), "rack": rack}
                for name, wanted, rack in members
            ],
        }
    )


def assigned(topics: dict, *members: tuple) -> dict:
    g = grouped(topics, *members)
    return {
        name: " ".join(f"{topic}-{p}" for topic, p in held)
        for name, held in lists(g, strategy.assign(g)).items()
    }


def test_partitions_go_to_members_in_their_rack():
    assert assigned({"t": ALONG}, ("A", "t", "x"), ("B", "t", "y")) == {
        "A": "t-0 t-2",
        "B": "t-1 t-3",
    }


def test_a_member_without_rack_takes_what_comes():
    given = assigned({"t": ALONG}, ("A", "t", "x"), ("B", "t", "y"), ("C", "t", None))
    assert given == {"A": "t-0 t-2", "B": "t-1", "C": "t-3"}


def test_racks_do_not_count_where_all_have_everything_or_nobody_matches():
    ranges = {"A": "t-0 t-1", "B": "t-2 t-3"}
    assert assigned({"t": ["xy"] * 4}, ("A", "t", "x"), ("B", "t", "y")) == ranges
    assert assigned({"t": ALONG}, ("A", "t", "z"), ("B", "t", "w")) == ranges


def test_co_partitioning_comes_before_racks():
    """t and u are laid out against each other in two partitions; together they stay in step."""
    topics = {"t": ALONG, "u": ["y", "x", "x", "y"], "v": ["y", "x", "xy"]}
    assert assigned(topics, ("A", "t u v", "x"), ("B", "t u v", "y")) == {
        "A": "t-0 t-2 u-0 u-2 v-1 v-2",
        "B": "t-1 t-3 u-1 u-3 v-0",
    }


def test_with_racks_in_use_lists_are_sorted_else_in_hash_order():
    members = ("A", "t s q", "x"), ("B", "t q", "y")
    assert assigned({"t": ALONG, "s": 3, "q": 2}, *members) == {
        "A": "q-0 s-0 s-1 s-2 t-0 t-2",
        "B": "q-1 t-1 t-3",
    }
    without = assigned({"AaBB": 1, "orders": 1, "z": 1}, ("A", "orders AaBB z", None))
    assert without == {"A": "orders-0 z-0 AaBB-0"}


def test_every_topic_is_spread_within_one_and_alike_topics_alike():
    rng = random.Random(1)
    for _ in range(150):
        racks = "wxyz"[: rng.randint(1, 4)]
        topics = {
            f"t{i}": ["".join(rng.sample(racks, rng.randint(0, len(racks)))) for _ in range(n)]
            for i, n in enumerate(rng.choices((1, 4, 6, 9), k=rng.randint(1, 5)))
        }
        members = [
            (f"m{i}", " ".join(topics), rng.choice([*racks, None]))
            for i in range(rng.randint(1, 6))
        ]
        g = grouped(topics, *members)
        assignment = strategy.assign(g)
        owner = dict(zip(assignment.codes.tolist(), assignment.owners.tolist(), strict=True))
        assert len(owner) == sum(len(placed) for placed in topics.values())
        for t, placed in enumerate(topics.values()):
            here = topic_of(assignment.codes) == t
            assert np.ptp(np.bincount(assignment.owners[here], minlength=len(members))) <= 1
            assert set(partition_of(assignment.codes[here]).tolist()) == set(range(len(placed)))
            for u, others in enumerate(topics.values()):
                if len(others) == len(placed):
                    for p in range(len(placed)):
                        assert owner[(t << 32) + p] == owner[(u << 32) + p]


@pytest.mark.parametrize(
    "name", [n for n in assignors.names() if "rack" in assignors.get(n).member_fields]
)
def test_new_partitions_whose_racks_nobody_told_have_replicas_in_none(name):
    def document(*racks):
        topics = {"a": list(racks), "b": [["r0"], ["r1"], ["r2"]]}
        return {
            "topics": [
                {"name": topic, "partitions": len(racks), "racks": racks}
                for topic, racks in topics.items()
            ],
            "members": [{"id": f"c{i}", "topics": ["a", "b"], "rack": f"r{i}"} for i in range(3)],
        }

    known = ["r0"], ["r1"]
    grown = events.add_partitions(parse(document(*known)), {0: 5})
    told = parse(document(*known, [], [], []))
    assign = assignors.get(name).assign
    assert lists(grown, assign(grown)) == lists(told, assign(told))


@pytest.mark.parametrize("strategy", ["range@2.3", "range@2.4", "lag-based"])
def test_to_name_a_topic_twice_is_a_call_after_which_the_map_grows(strategy):
    """The map of consumers per topic is full with 97 topics and doubles when it is asked once more:
    t90 comes before t89 in 128 slots, behind it in 256."""
    topics = [f"t{i}" for i in range(97)]

    def list_of(named):
        g = grouped({"t89": 1, "t90": 1}, ("m", " ".join(named), None))
        return [topic for topic, _ in lists(g, assignors.get(strategy).assign(g))["m"]]

    assert list_of(topics) == ["t90", "t89"]
    assert list_of([*topics, "t36"]) == ["t89", "t90"]
