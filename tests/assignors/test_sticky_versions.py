"""The releases of sticky and cooperative-sticky told apart, beyond their golden vectors.

Expected lists and exceptions are answers of the releases themselves.
"""

import random

import numpy as np
import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.assignors.kafka import sticky_2_3
from assignlab.group.document import lists, parse
from assignlab.proof.originals import Originals, OriginalsUnavailable
from assignlab.proof.verify import same

VERSIONS = ("2.0", "2.3", "2.4", "2.5", "2.8", "3.0", "3.4", "3.5.0", "3.5", "")


def named(base, version):
    return f"{base}@{version}" if version else base


NAMES = [
    named(base, version)
    for base in ("sticky", "cooperative-sticky")
    for version in VERSIONS
    if base == "sticky" or version not in ("2.0", "2.3")
] + ["cooperative-sticky@3.4.0"]


def claims(topics, *members):
    """A document: ``topics`` counts by name; each member (id, topics, owned, generation)."""
    return {
        "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
        "members": [
            {"id": id, "topics": list(wanted)}
            | ({} if owned is None else {"owned": [[pair[0], int(pair[1:])] for pair in owned]})
            | ({} if n is None else {"generation": n, "sub_generation": n})
            for id, wanted, owned, n in members
        ],
    }


def told(document, name):
    """The lists as words: "A: t0 t1, B: t2"; or the class of the exception."""
    given = answer(document | {"strategy": name})
    if "error" in given:
        return given["error"].partition(":")[0]
    return ", ".join(
        " ".join([f"{member}:", *(f"{topic}{partition}" for topic, partition in owned)])
        for member, owned in given["assignment"].items()
    )


def test_every_version_is_there():
    bases = ("sticky", "cooperative-sticky")
    assert {name for name in assignors.names() if name.split("@")[0] in bases} == set(NAMES)


NEW_FIRST = claims(
    {"a": 1, "b": 1, "c": 2}, ("A", "bc", None, None), ("B", "ab", None, None),
    ("C", "ac", ["a0"], 1),
)  # fmt: skip
JOIN = claims(
    {"t": 7}, ("A", "t", ["t0", "t1", "t2", "t3"], 1), ("B", "t", ["t4", "t5", "t6"], 1),
    ("C", "t", None, None),
)  # fmt: skip
RIVALS = claims({"t": 2}, ("A", "t", ["t1"], 1), ("B", "t", ["t1"], 1))
ONE_ODD = claims(
    {"t": 2, "u": 1}, ("A", "t", ["t1"], 1), ("B", "t", ["t0"], 1), ("C", "tu", ["u0"], 1)
)
STALE = claims({"t": 2}, ("A", "t", [], 2), ("B", "t", ["t0"], 1))
THREE = claims({"t": 3}, ("A", "t", ["t0"], 2), ("B", "t", ["t0"], 1), ("C", "t", ["t0"], 2))
ORDER = claims({"t": 6}, ("A", "t", ["t4", "t2", "t3", "t0", "t1"], 1), ("B", "t", None, None))


@pytest.mark.parametrize(
    ("document", "base", "older", "newer", "before", "after"),
    [
        (NEW_FIRST, "sticky", "2.3", "2.4", "A: b0 c0, B: a0, C: c1", "A: c0, B: b0, C: a0 c1"),
        (ONE_ODD, "sticky", "2.4", "2.5", "A: t1, B: t0, C: u0", "A: t0, B: t1, C: u0"),
        (ONE_ODD, "sticky", "2.8", "3.0", "A: t0, B: t1, C: u0", "A: t1, B: t0, C: u0"),
        (JOIN, "sticky", "2.4", "2.5", "A: t2 t1 t0, B: t4 t6, C: t3 t5",
         "A: t1 t2, B: t4 t5 t6, C: t3 t0"),
        (JOIN, "sticky", "2.8", "3.0", "A: t1 t2, B: t4 t5 t6, C: t3 t0",
         "A: t0 t1 t2, B: t4 t5, C: t3 t6"),
        (JOIN, "cooperative-sticky", "2.8", "3.0", "A: t1 t2, B: t4 t5 t6, C:",
         "A: t0 t1 t2, B: t4 t5, C:"),
        (RIVALS, "sticky", "2.5", "2.8", "A: t1 t0, B: t1", "A: t0, B: t1"),
        (RIVALS, "cooperative-sticky", "2.5", "2.8", "A: t1 t0, B: t1", "A: t0, B:"),
        (STALE, "cooperative-sticky", "3.4.0", "3.4", "A: t0, B: t1", "A: t1, B: t0"),
        (THREE, "sticky", "3.5.0", "3.5", "A: t0, B: t1 t2, C: t0", "A: t0, B: t1, C: t2"),
        (STALE, "sticky", "3.0", "3.4", "A: t0, B: t1", "A: t1, B: t0"),
        (STALE, "cooperative-sticky", "3.0", "3.4", "A: t0, B: t1", "A: t1, B: t0"),
        (THREE, "sticky", "3.0", "3.4", "A: t0, B: t1, C: t2", "A: t0, B: t1 t2, C: t0"),
        (THREE, "sticky", "3.4", "3.5", "A: t0, B: t1 t2, C: t0", "A: t0, B: t1, C: t2"),
        (THREE, "cooperative-sticky", "3.4", "3.5", "A: t0, B: t1 t2, C: t0", "A:, B: t1, C: t2"),
        (ORDER, "sticky", "3.5", "", "A: t4 t2 t3, B: t0 t1 t5", "A: t0 t1 t2, B: t3 t4 t5"),
        ({"topics": [], "members": []}, "sticky", "2.8", "3.0", "", "ArithmeticException"),
    ],
)  # fmt: skip
def test_neighbours_differ(document, base, older, newer, before, after):
    assert told(document, named(base, older)) == before
    assert told(document, named(base, newer)) == after


def test_a_member_that_keeps_a_partition_and_is_dealt_it_again_loses_the_first_copy():
    """3.4: t0 is kept by B and D, so all others are dealt once more; D has given up t1, A keeps it.

    A's new t1 has to wait for D, but it is the old one that is taken out of A's list.
    """
    document = claims(
        {"t": 25}, ("A", "t", ["t1", "t9"], 2), ("B", "t", ["t0"], 2), ("C", "t", ["t0", "t1"], 1),
        ("D", "t", ["t0", "t2", "t3", "t4", "t1"], 2), *((id, "t", None, None) for id in "EFGH"),
    )  # fmt: skip
    assert told(document, "cooperative-sticky@3.4").startswith(
        "A: t9 t1 t19, B: t0 t2 t8 t20, C: t3 t9 t14 t21, D: t0 t2 t3 t4, E: t4 t10"
    )


def test_3_0_balances_no_longer_than_two_members_differ_by_two():
    """Then nobody asks for Aa-1, whose previous member C takes no part: no NullPointerException."""
    document = {
        "topics": [{"name": "Aa", "partitions": 2}],
        "members": [
            {"id": "C", "topics": [], "owned": [["Aa", 1]]},
            {"id": "BB", "topics": ["Aa"], "owned": [["Aa", 0], ["Aa", 1]], "generation": 3},
            {"id": "A", "topics": ["Aa"]},
            {"id": "Aa", "topics": ["Aa"], "owned": [["Aa", 0]]},
        ],
    }
    assert told(document, "sticky@3.0") == "C:, BB: Aa1, A:, Aa: Aa0"


def rival_group(r):
    """A small group full of rival, repeated and stale claims, also beyond the end of topics."""
    topics = [
        {"name": name, "partitions": r.randint(1, 5)}
        for name in r.sample(("a", "b", "c", "Aa", "BB"), r.randint(1, 3))
    ]
    names = [topic["name"] for topic in topics]
    equal, racks = r.random() < 0.5, r.random() < 0.15
    generations = r.choice(((1, 2), (1, 2, 3), (1, 2, None), (None,), (5,), (1, 2, 2, -1)))
    if racks:
        for topic in topics:
            topic["racks"] = [r.sample("xyz", r.randint(1, 2)) for _ in range(topic["partitions"])]
    members = []
    for id in r.sample(("A", "B", "C", "D", "E", "F", "Aa", "BB", "C#"), r.randint(2, 6)):
        wanted = names if equal and r.random() < 0.97 else r.sample(names, r.randint(0, len(names)))
        generation = r.choice(generations)
        sent = {
            "owned": [
                [topic["name"], r.randrange(topic["partitions"] + (r.random() < 0.1))]
                for topic in r.choices(topics, k=r.randint(0, 5))
            ]
            if r.random() < 0.85
            else None,
            "generation": generation,
            "sub_generation": generation if r.random() < 0.8 else r.choice(generations),
            "rack": r.choice("xyz") if racks else None,
        }
        members.append(
            {"id": id, "topics": r.sample(wanted, len(wanted))}
            | {field: value for field, value in sent.items() if value is not None}
        )
    return {"topics": topics, "members": members}


@pytest.fixture(scope="module")
def originals():
    try:
        with Originals() as running:
            running.ask({"strategy": "sticky"})
            yield running
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")


@pytest.mark.parametrize("name", [name for name in NAMES if name != "sticky@2.0"])
def test_rival_claims_are_settled_as_in_the_original(originals, name):
    seed = random.SystemRandom().randrange(10**6)
    r = random.Random(seed)
    for number in range(100):
        document = rival_group(r) | {"strategy": name}
        wanted, ours = originals.ask(document), answer(document)
        assert same(wanted, ours), f"seed {seed}, group {number}: {document} {wanted} {ours}"


@pytest.mark.parametrize("name", NAMES)
def test_sound_claims_are_balanced_and_then_kept(name):
    strategy, r = assignors.get(name), random.Random(name)
    for _ in range(60):
        topics = {f"t{i}": r.randint(1, 6) for i in range(r.randint(1, 4))}
        document = claims(topics, *((f"m{i}", topics, None, None) for i in range(r.randint(1, 7))))
        first = strategy.assign(g := parse(document))
        sizes = np.diff(first.offsets)
        assert sizes.max() - sizes.min() <= 1
        claimed = lists(g, strategy.reclaim(g, first))
        for member in document["members"]:
            member |= {"owned": claimed[member["id"]], "generation": 1, "sub_generation": 1}
        again = lists(g, strategy.assign(parse(document)))
        for member, owned in lists(g, first).items():
            assert sorted(owned) == sorted(again[member])


def test_new_partitions_are_walked_alone_before_all(monkeypatch):
    """What tells ``sticky@2.4`` from ``sticky@2.3`` is that walk and nothing else."""
    build = sticky_2_3.build
    monkeypatch.setattr(sticky_2_3, "build", lambda *known: build(*known[:-1], False))
    assert told(NEW_FIRST, "sticky@2.4") == told(NEW_FIRST, "sticky@2.3")
