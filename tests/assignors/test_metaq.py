"""MetaQ: sorting by strings, the rules for idle and overloaded consumers, the ring."""

import random

import pytest

from assignlab.assignors.answer import answer
from assignlab.proof.histories import COLLIDING

STRATEGIES = ["metaq-default", "metaq-consistent-hash"]


def balance(strategy, topics, members):
    """``topics``: [broker, count] pairs by name; ``members``: topics by id."""
    return answer({
        "strategy": strategy,
        "topics": [{"name": name, "brokers": brokers} for name, brokers in topics.items()],
        "members": [{"id": member, "topics": list(names)} for member, names in members.items()],
    })["assignment"]  # fmt: skip


def sizes(given):
    return [len(partitions) for partitions in given.values()]


def owners(given):
    return {tuple(partition): member for member, own in given.items() for partition in own}


@pytest.mark.parametrize("partitions, consumers, wanted", [
    (3, 5, [1, 1, 1, 0, 0]),
    (7, 3, [3, 2, 2]),
    (8, 3, [3, 3, 2]),
    (6, 3, [2, 2, 2]),
])  # fmt: skip
def test_n_mod_m_consumers_have_one_more_and_the_last_are_idle(partitions, consumers, wanted):
    members = {f"c{i}": ["t"] for i in range(consumers)}
    assert sizes(balance("metaq-default", {"t": [["0", partitions]]}, members)) == wanted


def test_partitions_sort_as_strings():
    given = balance("metaq-default", {"t": [["2", 11], ["10", 2]]}, {"a": ["t"], "b": ["t"]})
    assert [name for _, name in given["a"] + given["b"]] == sorted(
        [f"2-{i}" for i in range(11)] + ["10-0", "10-1"]
    )
    assert [name for _, name in given["a"]][:4] == ["10-0", "10-1", "2-0", "2-1"]
    assert "2-10" in [name for _, name in given["a"]]


def test_topics_stand_in_string_order():
    topics = {name: [["0", 1]] for name in ("t10", "t2", "b", "B")}
    for strategy in STRATEGIES:
        assert [t for t, _ in balance(strategy, topics, {"a": topics})["a"]] == sorted(topics)


def test_the_imbalance_of_default_grows_with_every_topic():
    topics = {f"t{i}": [["0", 3]] for i in range(6)}
    assert sizes(balance("metaq-default", topics, {"a": topics, "b": topics})) == [12, 6]


def test_the_ring_knows_no_topics_so_a_consumer_stays_idle_for_ever():
    for count in (1, 8):
        topics = {f"t{i}": [["0", 12]] for i in range(count)}
        members = {c: topics for c in ("c1", "c3", "c9", "c10")}
        given = balance("metaq-consistent-hash", topics, members)
        assert sizes(given) == [4 * count, 4 * count, 0, 4 * count]
        of_topics = [{p: m for (t, p), m in owners(given).items() if t == name} for name in topics]
        assert all(dealt == of_topics[0] for dealt in of_topics)


@pytest.mark.parametrize("seed", range(20))
def test_on_the_ring_a_newcomer_only_takes(seed):
    r = random.Random(seed)
    topics = {"t": [["0", r.randint(1, 60)], ["1", r.randint(0, 9)]], "u": [["7", 5]]}
    members = {f"host-{r.random()}": ["t", "u"] for _ in range(r.randint(1, 8))}
    before = owners(balance("metaq-consistent-hash", topics, members))
    after = owners(balance("metaq-consistent-hash", topics, members | {"new": ["t", "u"]}))
    assert {p for p in before if after[p] != before[p]} == {p for p in after if after[p] == "new"}


def test_only_subscribers_are_on_the_ring_of_a_topic():
    topics = {"t": [["0", 40]], "u": [["0", 40]]}
    given = balance("metaq-consistent-hash", topics, {"a": ["t", "u"], "b": ["u"]})
    alone = balance("metaq-consistent-hash", {"t": [["0", 40]]}, {"a": ["t"]})
    assert [p for p in given["a"] if p[0] == "t"] == alone["a"]
    assert any(t == "u" for t, _ in given["b"])


def test_a_crowded_hash_set_is_walked_as_a_tree():
    # As the original gave it; the root of each tree comes first.
    blocks = [
        "AaAaBBBB",
        "AaAaAaAa",
        "AaAaAaBB",
        "AaAaBBAa",
        "AaBBAaAa",
        "AaBBAaBB",
        "AaBBBBAa",
        "AaBBBBBB",
    ]
    rest = [
        "BBAaAaAa",
        "BBAaAaBB",
        "BBAaBBAa",
        "BBAaBBBB",
        "BBBBAaAa",
        "BBBBAaBB",
        "BBBBBBAa",
        "BBBBBBBB",
    ]
    given = balance("metaq-consistent-hash", {"t": [[b, 2] for b in COLLIDING]}, {"m": ["t"]})
    assert given["m"] == [["t", f"{b}-{n}"] for n in (1, 0) for b in blocks + rest]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_topics_without_partitions_or_without_brokers(strategy):
    given = balance(strategy, {"t": [["0", 0]], "u": []}, {"a": ["t", "u", "gone"]})
    assert given == {"a": []}
    counted = answer({
        "strategy": strategy,
        "topics": [{"name": "t", "partitions": 12}],
        "members": [{"id": "a", "topics": ["t"]}],
    })  # fmt: skip
    assert counted["assignment"] == balance(strategy, {"t": [["0", 12]]}, {"a": ["t"]})
