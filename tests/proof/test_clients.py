"""Published examples of clients that are not Java, against ours and against the clients themselves."""

import os
import subprocess
import sys

import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.proof import clients
from assignlab.proof.originals import PROJECT, SYSTEMS


def group(strategy, topics, members, **fields):
    """A document; ``fields``: per member further fields."""
    return {
        "strategy": strategy,
        "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
        "members": [
            {"id": name, "topics": list(wanted)} | fields.get(name, {})
            for name, wanted in members.items()
        ],
    }


def numbers(reply):
    """Partition numbers by member, of groups with one topic."""
    return {m: [partition for _, partition in given] for m, given in reply["assignment"].items()}


def words(reply):
    """``topic:partition`` by member, sorted."""
    return {m: sorted(f"{t}:{p}" for t, p in given) for m, given in reply["assignment"].items()}


LETTERS = dict.fromkeys("abcdefghijkl", 1)
LIBRDKAFKA_TABLE = {
    "symmetrical subscription": (
        {"a": 3, "b": 4, "c": 2, "d": 1},
        {"consumer1": "dbac", "consumer2": "abcd"},
        {"range": ("a:0 a:1 b:0 b:1 c:0 d:0", "a:2 b:2 b:3 c:1"),
         "roundrobin": ("a:0 a:2 b:1 b:3 c:1", "a:1 b:0 b:2 c:0 d:0")},
    ),
    "three partitions, asymmetrical": (
        {"a": 3},
        {"consumer1": "abc", "consumer2": "a"},
        {"range": ("a:0 a:1", "a:2"), "roundrobin": ("a:0 a:2", "a:1")},
    ),
    "librdkafka 2121": (
        LETTERS,
        {"consumer1": LETTERS, "consumer2": "bdfhl"},
        {"range": (" ".join(f"{t}:0" for t in LETTERS), ""),
         "roundrobin": ("a:0 c:0 e:0 g:0 i:0 j:0 k:0", "b:0 d:0 f:0 h:0 l:0")},
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["range", "roundrobin"])
@pytest.mark.parametrize("case", LIBRDKAFKA_TABLE)
def test_librdkafkas_own_table(ask, case, kind):
    topics, members, expected = LIBRDKAFKA_TABLE[case]
    given = words(ask(group(f"librdkafka-{kind}", topics, members)))
    assert tuple(" ".join(given[member]) for member in members) == expected[kind]


def test_the_growing_group_of_confluent_kafka_go_622_is_round_robin(ask):
    # Members 1, 2 and 3 of the report; its lists say that the id of 2 sorts first.
    one, two, three = "member-b", "member-a", "member-c"
    steps = []
    for members in ((one,), (one, two), (one, two, three)):
        document = group("librdkafka-roundrobin", {"t": 10}, dict.fromkeys(members, "t"))
        steps.append(numbers(ask(document)))
    assert steps == [
        {one: [*range(10)]},
        {one: [1, 3, 5, 7, 9], two: [0, 2, 4, 6, 8]},
        {one: [1, 4, 7], two: [0, 3, 6, 9], three: [2, 5, 8]},
    ]
    assert sum(len(set(steps[1][m]) - set(steps[2][m])) for m in (one, two)) == 6


def test_45_partitions_are_not_all_on_one_of_5_instances(ask):
    # librdkafka 3159: the modulo in round robin has been corrected.
    members = {f"instance-{i}": "AB" for i in range(5)}
    given = words(ask(group("librdkafka-roundrobin", {"A": 45, "B": 45}, members)))
    assert [sum(word[0] == "A" for word in mine) for mine in given.values()] == [9] * 5


def test_kafka_go_spreads_the_extra_partition_unlike_its_comment(ask):
    document = group("kafka-go-range", {"t": 5}, {"C0": "t", "C1": "t"})
    assert numbers(ask(document)) == {"C0": [0, 1], "C1": [2, 3, 4]}


def test_kafka_go_deals_every_topic_from_the_first_member_on(ask):
    # ruby-kafka 647 reports the same of its round robin: 4, 1 and 1.
    topics = {"t0": 4, "t1": 1, "t2": 1}
    given = words(ask(group("kafka-go-roundrobin", topics, dict.fromkeys("abc", topics))))
    assert [len(mine) for mine in given.values()] == [4, 1, 1]


def test_kafkajs_deals_single_partition_topics_round(ask):
    # kafkajs PR 635: they all used to go to one consumer.
    given = words(ask(group("kafkajs-roundrobin", LETTERS, dict.fromkeys("xyz", LETTERS))))
    assert [len(mine) for mine in given.values()] == [4, 4, 4]


def test_kafkajs_ignores_what_the_others_subscribe_to(ask):
    given = words(ask(group("kafkajs-roundrobin", {"t": 4, "u": 4}, {"leader": "t", "m": "u"})))
    assert given == {"leader": ["t:0", "t:2"], "m": []}


def test_kafkajs_lists_topics_that_look_like_numbers_first(ask):
    topics = ["b", "10", "a", "9", "01"]
    given = ask(group("kafkajs-roundrobin", dict.fromkeys(topics, 1), {"m": topics}))
    assert [topic for topic, _ in given["assignment"]["m"]] == ["9", "10", "b", "a", "01"]


def test_sarama_sorts_partitions_as_strings(ask):
    given = numbers(ask(group("sarama-roundrobin", {"t": 12}, {"a": "t", "b": "t"})))
    assert given == {"a": [0, 10, 2, 4, 6, 8], "b": [1, 11, 3, 5, 7, 9]}


def test_kafka_python_loses_a_member_between_static_and_other_ones(ask):
    static = {"a": {"instance": "1"}, "c": {"instance": "2"}}
    for kind in ("range", "roundrobin"):
        members = dict.fromkeys("abc", "t")
        given = numbers(ask(group(f"kafka-python-{kind}", {"t": 5}, members, **static)))
        assert [len(mine) for mine in given.values()] == [0, 2, 3]


def test_kafka_pythons_round_robin_passes_nobody_over(ask):
    reply = ask(group("kafka-python-roundrobin", {"t": 1}, {"a": "", "b": "t"}))
    assert reply["error"].startswith("KeyError")


def test_kafka_pythons_stale_claimant_keeps_the_owner_waiting(ask):
    both = {"a": {"owned": [["t", 0]]}, "b": {"owned": [["t", 0]]}}
    document = group("kafka-python-cooperative-sticky", {"t": 1}, {"a": "t", "b": "t"}, **both)
    assert numbers(ask(document)) == {"a": [], "b": []}


@pytest.mark.parametrize("name", ["franz-go-sticky", "kafka-python-sticky"])
def test_a_newcomer_takes_half_of_all_from_the_largest_topic_only(ask, name):
    # franz-go 795: 72 partitions of T3 against 24 of each topic. Sticky counts, it does not mix.
    topics = {"T1": 24, "T2": 24, "T3": 96}
    owned = [[topic, partition] for topic in topics for partition in range(topics[topic])]
    claims = {"a": {"owned": owned, "generation": 1}}
    document = group(name, topics, dict.fromkeys("ab", topics), **claims)
    if ask is answer and name not in assignors.names():
        pytest.skip("not ported")
    given = ask(document)["assignment"]
    assert [sum(topic == t for topic, _ in given["b"]) for t in topics] == [0, 0, 72]


def test_librdkafkas_leader_ends_when_a_partition_goes_back_the_way_it_came(ask):
    claims = {"C": {"owned": [["t", 1], ["t", 2], ["t", 3], ["u", 1]]}}
    members = {"A": "t", "B": "tu", "C": "stu"}
    topics = {"t": 4, "s": 2, "u": 5}
    reply = ask(group("librdkafka-cooperative-sticky", topics, members, **claims))
    assert reply["error"].startswith("SIGSEGV")


def test_librdkafkas_leader_gives_back_what_does_not_exist(ask):
    claims = {"a": {"owned": [["t", 0], ["t", 7]]}}
    given = numbers(ask(group("librdkafka-cooperative-sticky", {"t": 1}, {"a": "t"}, **claims)))
    assert given == {"a": [0, 7]}


def test_kafka_pythons_ring_ends_with_a_process_that_cannot_answer(tmp_path):
    (tmp_path / "kafka.py").touch()  # a library that does not work
    ended = subprocess.run(
        [sys.executable, PROJECT / "clients" / "kafka-python" / "bridge.py"],
        input=b'{"strategy": "kafka-python-range"}\n',
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        capture_output=True,
    )
    assert (ended.returncode, ended.stdout) == (1, b"") and b"ModuleNotFoundError" in ended.stderr


def test_every_assignor_of_another_client_is_compared_with_javas():
    compared = {name for kind in clients.KINDS for name in clients.others(kind)}
    assert compared == {name for system in SYSTEMS if system.bridged for name in system.strategies}
    ported = {n for n, s in assignors.strategies().items() if s.system in
              {system.module for system in SYSTEMS if system.bridged}}  # fmt: skip
    assert ported <= compared


def test_sets_lists_and_healthy_moves_are_counted_apart():
    document = group("sticky", {"t": 3}, {"a": "t", "b": "t"}, a={"owned": [["t", 0], ["t", 1]]})
    java = {"assignment": {"a": [["t", 0], ["t", 1]], "b": [["t", 2]]}}
    turned = {"assignment": {"a": [["t", 1], ["t", 0]], "b": [["t", 2]]}}
    moved = {"assignment": {"a": [["t", 1]], "b": [["t", 2], ["t", 0]]}}
    thrown = {"error": "KeyError: 1"}
    asked = [(document, java, [said] * 2) for said in (java, turned, moved, thrown)]
    asked.append((document, java, [java, moved]))
    own = [(document, said) for said in (java, moved, thrown)]
    found = clients.row("sarama-sticky", True, asked, own)
    assert (found.states, found.lists, found.sets, found.threw, found.several) == (5, 2, 3, 1, 1)
    assert (found.steps, found.moves, found.gap, found.unread, found.astray) == (2, 1, 2, 0, 0)
