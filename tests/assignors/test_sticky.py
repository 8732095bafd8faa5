"""``sticky``, ``cooperative-sticky`` beyond the golden vectors: edges, promises, records of moves.

Expected lists and exceptions are answers of kafka-clients 4.4.0.
"""

import os
import random
import subprocess
import sys

import numpy as np
import pytest

from assignlab.assignors.kafka import cooperative_sticky, sticky
from assignlab.assignors.kafka.parts import claims, constrained, constrained_2_5, general
from assignlab.assignors.parts import movements
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.document import lists, parse
from assignlab.group.model import Claims, Group
from assignlab.group.plain import group
from assignlab.jvm.hash_map import hash_map_order
from assignlab.jvm.names import string_hashes

BOTH = pytest.mark.parametrize("strategy", [sticky, cooperative_sticky])


def pairs(text: str) -> list[list]:
    """``"t-0 u-1"`` as ``[["t", 0], ["u", 1]]``."""
    return [[name, int(p)] for name, _, p in (word.rpartition("-") for word in text.split())]


def member(name, topics, owned=None, generation=None, sub_generation=None, rack=None):
    entry = {"id": name, "topics": topics.split()}
    if owned is not None:
        entry["owned"] = pairs(owned)
    if generation is not None:
        entry["generation"] = generation
        entry["sub_generation"] = generation if sub_generation is None else sub_generation
    if rack is not None:
        entry["rack"] = rack
    return entry


def assigned(strategy, topics, *members):
    counts = [{"name": name, "partitions": int(n)} for name, n in pairs(topics)]
    g = parse({"topics": counts, "members": list(members)})
    return {name: joined(held) for name, held in lists(g, strategy.assign(g)).items()}


def joined(held) -> str:
    return " ".join(f"{topic}-{p}" for topic, p in held)


# Rival claims


def test_within_one_generation_nobody_keeps_what_two_claim():
    rivals = member("A", "t", "t-0 t-1", 3), member("B", "t", "t-1 t-2", 3)
    assert assigned(sticky, "t-4", *rivals) == {"A": "t-0 t-1", "B": "t-2 t-3"}
    assert assigned(cooperative_sticky, "t-4", *rivals) == {"A": "t-0", "B": "t-2 t-3"}


@BOTH
def test_the_newer_generation_keeps_what_two_claim(strategy):
    rivals = member("A", "t", "t-0 t-1", 2), member("B", "t", "t-1 t-2", 3)
    assert assigned(strategy, "t-4", *rivals) == {"A": "t-0 t-3", "B": "t-1 t-2"}


def test_claims_of_clients_without_sub_generation_lose_to_whoever_is_read_later():
    """The earlier claimant is judged by its subscription, where old clients name no generation."""
    older = member("A", "t", "t-0 t-1", 3), member("B", "t", "t-1 t-2", 2)
    for entry in older:
        del entry["sub_generation"]
    assert assigned(sticky, "t-4", *older) == {"A": "t-0 t-3", "B": "t-1 t-2"}


# Faults of the original


@BOTH
def test_a_member_without_topics_is_served_if_hash_order_puts_it_first(strategy):
    assert assigned(strategy, "t-4", member("A", ""), member("B", "t")) == {
        "A": "t-0 t-2",
        "B": "t-1 t-3",
    }
    assert assigned(strategy, "t-4", member("C", ""), member("B", "t")) == {
        "C": "",
        "B": "t-0 t-1 t-2 t-3",
    }


@BOTH
@pytest.mark.parametrize(
    "topics, members, thrown",
    [
        (
            "t-3 u-1",
            (member("A", "t", "t-0 t-1 t-2", 2), member("B", "t"), member("X", "u", "t-0", 1)),
            "NullPointerException",
        ),
        ("a-1 b-1", (member("A", "a b", "a-1 b-0"),), "IllegalStateException"),
        (
            "a-1 b-2",
            (member("A", "a b", "a-1 b-0"), member("B", "a b", "b-1")),
            "IllegalStateException",
        ),
        ("t-1", (), "ArithmeticException"),
    ],
)
def test_it_throws_as_the_original_does(strategy, topics, members, thrown):
    with pytest.raises(OriginalError) as raised:
        assigned(strategy, topics, *members)
    assert raised.value.original == thrown


def test_a_partition_goes_home_to_a_member_that_no_longer_subscribes():
    """W once owned t-0; nobody asks whether it still wants the topic."""
    assert assigned(
        sticky, "t-3 u-1",
        member("A", "t", "t-0 t-1 t-2", 2), member("B", "t"),
        member("W", "u", "t-0", 1), member("Y", "u"),
    ) == {"A": "t-2", "B": "t-1", "W": "t-0", "Y": "u-0"}  # fmt: skip


@BOTH
def test_claims_without_metadata_are_ignored(strategy):
    claims = member("A", "t gone", "gone-0 t-1 gone-7", 4)
    assert assigned(strategy, "t-2", claims) == {"A": "t-1 t-0"}


# Promises


def random_group(rng: random.Random, equal: bool) -> Group:
    topics = {f"t{i}": rng.randint(1, 9) for i in range(rng.randint(1, 6))}
    members = {}
    for i in range(rng.randint(1, 8)):
        wanted = [t for t in topics if equal or rng.random() < 0.6]
        members[f"m{i}-{rng.getrandbits(32):08x}"] = wanted or [rng.choice(list(topics))]
    return group(topics, members)


def claiming(g: Group, rng: random.Random, share: float) -> Group:
    """Every partition is claimed with probability ``share`` by one of its subscribers."""
    codes: list[list[int]] = [[] for _ in range(len(g.members))]
    for t, count in enumerate(g.topics.partitions.tolist()):
        subscribers = [m for m in range(len(codes)) if t in g.members.topics_of(m)]
        for p in range(count):
            if subscribers and rng.random() < share:
                codes[rng.choice(subscribers)].append((t << 32) + p)
    offsets = np.cumsum([0] + [len(c) for c in codes], dtype=np.int64)
    ones = np.ones(len(codes), dtype=np.int64)
    flat = np.array([c for claim in codes for c in claim], dtype=np.int64)
    return g.with_claims(Claims(offsets, flat, ones.astype(bool), ones, ones))


def kept(g: Group, assignment: Assignment) -> int:
    claims = g.claims
    return sum(
        np.isin(claims.codes[claims.offsets[m] : claims.offsets[m + 1]], assignment.of(m)).sum()
        for m in range(len(g.members))
    )


def test_equal_subscriptions_are_balanced_and_move_no_more_than_they_must():
    rng = random.Random(1)
    for _ in range(200):
        g = claiming(random_group(rng, equal=True), rng, rng.random())
        assignment = sticky.assign(g)
        assert np.ptp(assignment.sizes) <= 1
        owned = np.diff(g.claims.offsets)
        low, extra = divmod(int(assignment.sizes.sum()), len(g.members))
        could_keep = np.minimum(owned, low).sum() + min(extra, (owned > low).sum())
        assert kept(g, assignment) == could_keep


def test_different_subscriptions_leave_no_move_that_would_help():
    rng = random.Random(2)
    for _ in range(200):
        g = claiming(random_group(rng, equal=False), rng, rng.random())
        assignment = sticky.assign(g)
        sizes = assignment.sizes
        subscribed = {t for m in range(len(g.members)) for t in g.members.topics_of(m).tolist()}
        assert assignment.codes.size == sum(g.topics.partitions[t] for t in subscribed)
        assert np.unique(assignment.codes).size == assignment.codes.size
        for m in range(len(g.members)):
            for t in set((assignment.of(m) >> 32).tolist()):
                assert t in g.members.topics_of(m)
                for other in range(len(g.members)):
                    if t in g.members.topics_of(other):
                        assert sizes[m] <= sizes[other] + 1


def test_a_stable_group_moves_nothing():
    rng = random.Random(3)
    for equal in (True, False):
        for strategy in (sticky, cooperative_sticky):
            g = random_group(rng, equal)
            first = strategy.assign(g)
            claimed = strategy.reclaim(g, first)
            ones = np.ones(len(g.members), dtype=np.int64)
            again = g.with_claims(
                Claims(claimed.offsets, claimed.codes, ones.astype(bool), ones, ones)
            )
            assert kept(again, strategy.assign(again)) == first.codes.size


def test_cooperatively_nobody_gets_what_another_still_owns():
    rng = random.Random(4)
    for turn in range(200):
        g = claiming(random_group(rng, equal=turn % 2 == 0), rng, 0.9)
        owner = np.repeat(np.arange(len(g.members)), np.diff(g.claims.offsets))
        owners = dict(zip(g.claims.codes.tolist(), owner.tolist(), strict=True))
        assignment = cooperative_sticky.assign(g)
        for code, m in zip(assignment.codes.tolist(), assignment.owners.tolist(), strict=True):
            assert owners.get(code, m) == m


@BOTH
def test_racks_come_before_stickiness(strategy):
    racks = [["x"], ["y"], ["x"], ["y"]]
    g = parse(
        {
            "topics": [{"name": "t", "partitions": 4, "racks": racks}],
            "members": [member("A", "t", "t-0 t-1", rack="x"), member("B", "t", rack="y")],
        }
    )
    given = {name: joined(held) for name, held in lists(g, strategy.assign(g)).items()}
    if strategy is sticky:
        assert given == {"A": "t-0 t-2", "B": "t-1 t-3"}
    else:
        assert given == {"A": "t-0 t-2", "B": "t-3"}


def test_the_input_stays_as_it_is():
    rng = random.Random(5)
    for equal in (True, False):
        g = claiming(random_group(rng, equal), rng, 0.7)
        before = [np.copy(getattr(g.claims, name)) for name in Claims.__slots__]
        sticky.assign(g)
        cooperative_sticky.assign(g)
        for name, array in zip(Claims.__slots__, before, strict=True):
            assert np.array_equal(getattr(g.claims, name), array)


# The way back of claims

THIRTEEN = "Aa BB t1 t2 t10 t20 x y z AaAa BBBB AaBB orders"


def reclaimed(strategy, held: str) -> str:
    topics = THIRTEEN.split() + ["late"]
    g = group({t: 2 for t in topics}, {"one": topics})
    codes = np.array([(topics.index(t) << 32) + p for t, p in pairs(held)])
    claimed = strategy.reclaim(g, Assignment(np.array([0, codes.size]), codes))
    return joined(lists(g, claimed)["one"])


def test_eager_claims_come_back_in_the_order_of_a_hash_map():
    """Topics that share a slot (Aa and BB, AaAa and BBBB and AaBB) stand newest first."""
    held = "AaAa-0 AaAa-1 AaBB-0 AaBB-1 BB-0 BB-1 BBBB-0 BBBB-1 t1-0 t1-1 t10-0 t10-1 t2-0"
    held += " t2-1 t20-0 t20-1 x-0 x-1 y-0 y-1 z-0 z-1"
    back = "BB-0 BB-1 t10-0 t10-1 t20-0 t20-1 x-0 x-1 y-0 y-1 z-0 z-1 t1-0 t1-1 t2-0 t2-1"
    back += " BBBB-0 BBBB-1 AaBB-0 AaBB-1 AaAa-0 AaAa-1"
    assert reclaimed(sticky, held) == back
    assert reclaimed(sticky, "late-0 Aa-0 Aa-1 orders-0 orders-1") == (
        "Aa-0 Aa-1 late-0 orders-0 orders-1"
    )


def test_cooperative_claims_come_back_sorted():
    assert reclaimed(cooperative_sticky, "t2-1 x-0 t10-0 t2-0") == "t10-0 t2-0 t2-1 x-0"
    twice = "t2-1 x-0 t2-1"
    assert reclaimed(cooperative_sticky, twice) == "t2-1 t2-1 x-0"


# Records of moves


class PlainMovements:
    """The original's maps of maps, with the slots of a HashSet walked one by one."""

    def __init__(self, hashes):
        self.hashes = hashes
        self.pair_of = {}
        self.sets = {}

    def move(self, x, topic, old, new):
        source = old
        if x in self.pair_of:
            pair = self.pair_of.pop(x)
            held, _ = self.sets[pair]
            held.remove(x)
            if not held:
                del self.sets[pair]
            source = pair[1]
            if source == new:
                return
        pair = topic, source, new
        held, size = self.sets.setdefault(pair, ([], 16))
        held.append(x)
        while len(held) > size * 3 // 4:
            size *= 2
        self.sets[pair] = held, size
        self.pair_of[x] = pair

    def actual(self, x, topic, old, new):
        if x in self.pair_of:
            old = self.pair_of[x][1]
        if (topic, new, old) not in self.sets:
            return x
        held, size = self.sets[topic, new, old]
        return held[hash_map_order(self.hashes[held], size)[0]]


def test_moves_are_remembered_as_in_maps_of_maps():
    rng = random.Random(6)
    topics, partitions, members = 3, 40, 4
    codes = np.array([(t << 32) + p for t in range(topics) for p in range(partitions)])
    hashes = partition_hashes(string_hashes(["t0", "t1", "t2"]), codes, TOPIC_PARTITION)
    moves = movements.no_movements(hashes, members)
    plain = PlainMovements(hashes)
    owner = [rng.randrange(members) for _ in codes]
    returns = 0
    for _ in range(4000):
        x = rng.randrange(codes.size)
        topic = x // partitions
        new = rng.choice([m for m in range(members) if m != owner[x]])
        actual = plain.actual(x, topic, owner[x], new)
        assert movements.the_actual_partition_to_be_moved(moves, x, topic, owner[x], new) == actual
        returns += actual != x
        if owner[actual] == new:
            continue
        plain.move(actual, topic, owner[actual], new)
        movements.move_partition(moves, actual, topic, owner[actual], new)
        owner[actual] = new
    assert returns > 500


def test_the_balance_score_wraps_like_a_java_int():
    sizes = np.zeros(2_000, dtype=np.int64)
    sizes[7] = 1_074_280
    nobody = np.zeros(sizes.size, dtype=np.bool_)
    assert general.balance_score(sizes, nobody) == -2147481576
    assert general.balance_score(np.array([3, 1, 2]), nobody[:3]) == 4
    assert general.balance_score(np.array([3, 1, 2]), np.array([True, False, False])) == 1


# One source, compiled or not

COMPARE = """
import random, sys
sys.path.insert(0, sys.argv[1])
from test_sticky import claiming, random_group
from assignlab.assignors.kafka import cooperative_sticky, sticky
rng = random.Random(7)
for turn in range(40):
    g = claiming(random_group(rng, turn % 2 == 0), rng, 0.8)
    for strategy in (sticky, cooperative_sticky):
        given = strategy.assign(g)
        back = strategy.reclaim(g, given)
        print(given.offsets.tolist(), given.codes.tolist(), back.codes.tolist())
"""


@pytest.mark.slow
def test_plain_python_gives_what_the_compiled_code_gives():
    answers = [
        subprocess.run(
            [sys.executable, "-c", COMPARE, os.path.dirname(__file__)],
            env=os.environ | {"NUMBA_DISABLE_JIT": disabled},
            capture_output=True, text=True, check=True,
        ).stdout
        for disabled in ("0", "1")
    ]  # fmt: skip
    assert answers[0] == answers[1] != ""


@pytest.mark.parametrize("algorithm", [general, constrained, constrained_2_5])
def test_the_call_for_phantoms_is_no_fault_of_an_algorithm(algorithm):
    assert claims.PHANTOMS not in algorithm.FAULTS
