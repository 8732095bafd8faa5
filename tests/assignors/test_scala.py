"""Kafka 0.8's Scala consumer: published examples, threads by name, and what the original refuses."""

import pytest

from assignlab.assignors.answer import answer


def assign(strategy, topics, members):
    """``topics``: count by name; ``members``: (topics, streams) by id."""
    return answer({
        "strategy": strategy,
        "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
        "members": [
            {"id": member, "topics": list(names), "streams": streams}
            for member, (names, streams) in members.items()
        ],
    })  # fmt: skip


def owners(given):
    """thread by (topic, partition)."""
    return {
        (topic, partition): thread
        for entries in given["assignment"].values()
        for topic, partition, thread in entries
    }


def order_of_deal(topics):
    """The order in which round robin deals: one thread for each partition tells it."""
    total = sum(topics.values())
    given = assign("scala-roundrobin", topics, {"c": (topics, total)})
    dealt = {thread: f"{t}p{p}" for (t, p), thread in owners(given).items()}
    return [dealt[thread] for thread in sorted(f"c-{i}" for i in range(total))]


def test_range_as_its_source_comment_says():
    given = assign("scala-range", {"p": 5}, {"C1": (["p"], 2), "C2": (["p"], 2)})
    assert [owners(given)["p", i] for i in range(5)] == ["C1-0", "C1-0", "C1-1", "C2-0", "C2-1"]


def test_range_of_ten_partitions_over_three_consumers():
    given = assign("scala-range", {"t": 10}, {c: (["t"], 1) for c in "abc"})["assignment"]
    assert {c: [p for _, p, _ in entries] for c, entries in given.items()} == {
        "a": [0, 1, 2, 3], "b": [4, 5, 6], "c": [7, 8, 9]
    }  # fmt: skip


def test_roundrobin_of_two_topics_over_two_consumers():
    topics = {"topic0": 3, "topic1": 3}
    given = assign("scala-roundrobin", topics, {c: (topics, 1) for c in ("C0", "C1")})
    assert given["assignment"] == {
        "C0": [["topic0", 0, "C0-0"], ["topic0", 2, "C0-0"], ["topic1", 1, "C0-0"]],
        "C1": [["topic0", 1, "C1-0"], ["topic1", 0, "C1-0"], ["topic1", 2, "C1-0"]],
    }


def test_threads_sort_by_name_as_strings():
    given = assign("scala-range", {"t": 14}, {"c": (["t"], 11), "c-1": (["t"], 3)})
    by_partition = [owners(given)["t", i] for i in range(14)]
    assert by_partition == sorted(by_partition)
    assert by_partition[:6] == ["c-0", "c-1", "c-1-0", "c-1-1", "c-1-2", "c-10"]


def test_a_consumer_without_streams_of_a_topic_has_one():
    topics = [{"name": "t", "partitions": 3}]
    members = [{"id": "a", "topics": ["t"]}]
    given = answer({"strategy": "scala-range", "topics": topics, "members": members})
    assert {thread for _, _, thread in given["assignment"]["a"]} == {"a-0"}


def test_streams_may_differ_by_topic_in_range():
    given = assign("scala-range", {"t": 4, "u": 4}, {"a": (["u", "t"], [1, 3]), "b": (["t"], [1])})
    assert owners(given) == {
        ("t", 0): "a-0", ("t", 1): "a-1", ("t", 2): "a-2", ("t", 3): "b-0",
        ("u", 0): "a-0", ("u", 1): "a-0", ("u", 2): "a-0", ("u", 3): "a-0",
    }  # fmt: skip


@pytest.mark.parametrize("topic, digits", [("t0", 2), ("topic", 2), ("orders", 1)])
def test_hash_codes_keep_partitions_of_equal_length_together(topic, digits):
    numbers = [*range(10), 10, 11] if digits == 1 else [10, 11, *range(10)]
    assert order_of_deal({topic: 12}) == [f"{topic}p{p}" for p in numbers]


def test_hash_codes_hardly_shuffle_topics():
    topics = {f"t{i}": 12 for i in range(4)}
    long = [f"{t}p{p}" for t in topics for p in (10, 11)]
    short = [f"{t}p{p}" for t in topics for p in range(10)]
    assert order_of_deal(topics) == long + short


def test_consumers_that_see_ties_differently_claim_one_partition_twice():
    topics = {"Aa": 1, "BB": 1}
    given = assign("scala-roundrobin", topics, {"C1": (["Aa", "BB"], 1), "C2": (["BB", "Aa"], 1)})
    assert given == {
        "assignment": {"C1": [["BB", 0, "C1-0"]], "C2": [["BB", 0, "C2-0"]]},
        "hash_ties": True,
    }
    agreed = assign("scala-roundrobin", topics, {c: (["Aa", "BB"], 1) for c in ("C1", "C2")})
    assert agreed["hash_ties"] and set(owners(agreed)) == {("Aa", 0), ("BB", 0)}


def test_ties_of_topics_nobody_reads_are_none():
    given = assign("scala-roundrobin", {"Aa": 1, "BB": 1, "t": 2}, {"C1": (["t"], 1)})
    assert "hash_ties" not in given


@pytest.mark.parametrize("members", [
    {"a": (["t", "u"], 1), "b": (["t"], 1)},
    {"a": (["t", "u"], [1, 2])},
    {"a": (["t"], 1), "b": (["gone"], 1)},
])  # fmt: skip
def test_roundrobin_refuses_groups_that_are_not_alike(members):
    given = assign("scala-roundrobin", {"t": 2, "u": 2}, members)
    assert given["error"].startswith("IllegalArgumentException: ")


def test_roundrobin_of_consumers_with_different_numbers_of_streams():
    given = assign("scala-roundrobin", {"t": 3}, {"a": (["t"], 1), "b": (["t"], 2)})
    assert sorted(owners(given).values()) == ["a-0", "b-0", "b-1"]


def test_roundrobin_fails_where_nobody_subscribes():
    assert assign("scala-roundrobin", {"t": 3}, {"a": ([], 1)})["error"].startswith(
        "NullPointerException: "
    )
    assert assign("scala-range", {"t": 3}, {"a": ([], 1)}) == {"assignment": {"a": []}}
    assert assign("scala-roundrobin", {"t": 3}, {}) == {"assignment": {}}


def test_roundrobin_of_0_10_2_has_no_conditions():
    newer = "scala-roundrobin@0.10.2"
    given = assign(
        newer, {"t": 4, "u": 2}, {"a": (["t"], 1), "b": (["u"], 2), "c": (["t", "u"], 1)}
    )
    assert {t: {thread for (topic, _), thread in owners(given).items() if topic == t} for t in "tu"} == {
        "t": {"a-0", "c-0"}, "u": {"b-0", "b-1"},
    }  # fmt: skip
    assert assign(newer, {"t": 3}, {"a": ([], 1)}) == {"assignment": {"a": []}}
    ties = assign(newer, {"Aa": 1, "BB": 1}, {"C1": (["Aa", "BB"], 1), "C2": (["BB", "Aa"], 1)})
    assert ties["hash_ties"] and set(owners(ties)) == {("Aa", 0), ("BB", 0)}


@pytest.mark.parametrize("strategy", ["scala-range", "scala-roundrobin", "scala-roundrobin@0.10.2"])
def test_no_stream_at_all_is_an_assertion_that_fails(strategy):
    given = assign(strategy, {"t": 3}, {"a": (["t"], 1), "b": (["t"], 0)})
    assert given["error"].startswith("AssertionError: ")
