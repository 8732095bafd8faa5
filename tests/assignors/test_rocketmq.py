"""RocketMQ: who counts, rooms, virtual nodes, configured queues, and what the original refuses."""

import random

import pytest

from assignlab.assignors.answer import answer

ALL_BUT_CONFIG = [
    "rocketmq-avg",
    "rocketmq-avg-by-circle",
    "rocketmq-consistent-hash",
    "rocketmq-machine-room",
    "rocketmq-machine-room-nearby",
]


def allocate(strategy, topics, members, **options):
    """``topics``: [broker, count] pairs by name; ``members``: topics, or (topics, room), by id."""
    return answer({
        "strategy": f"rocketmq-{strategy}",
        **options,
        "topics": [{"name": name, "brokers": brokers} for name, brokers in topics.items()],
        "members": [
            {"id": member, "topics": list(what[0]), "rack": what[1]}
            if isinstance(what, tuple)
            else {"id": member, "topics": list(what)}
            for member, what in members.items()
        ],
    })  # fmt: skip


def given(*arguments, **options):
    return allocate(*arguments, **options)["assignment"]


def sizes(lists):
    return [len(queues) for queues in lists.values()]


def owners(lists):
    return {tuple(queue): member for member, queues in lists.items() for queue in queues}


@pytest.mark.parametrize("strategy", ["avg", "avg-by-circle"])
def test_averages_grow_apart_with_the_number_of_topics(strategy):
    topics = {f"t{i}": [["b", 5]] for i in range(7)}
    assert sizes(given(strategy, topics, {"c1": topics, "c2": topics})) == [21, 14]


def test_blocks_and_circles():
    topics = {"t": [["b", 3], ["B", 4]]}
    members = {c: ["t"] for c in ("c2", "c10", "c1")}
    in_order = [["t", "B", i] for i in range(4)] + [["t", "b", i] for i in range(3)]
    assert given("avg", topics, members) == {
        "c1": in_order[:3], "c10": in_order[3:5], "c2": in_order[5:]
    }  # fmt: skip
    assert given("avg-by-circle", topics, members) == {
        "c1": in_order[0::3], "c10": in_order[1::3], "c2": in_order[2::3]
    }  # fmt: skip


def test_queue_ids_sort_as_numbers():
    queues = given("avg", {"t": [["b", 12]]}, {"c": ["t"]})["c"]
    assert [number for _, _, number in queues] == list(range(12))


@pytest.mark.parametrize("strategy", ["avg", "avg-by-circle", "consistent-hash", "machine-room"])
def test_a_member_that_does_not_subscribe_counts_all_the_same(strategy):
    topics = {"t": [["r@b", 40]]}
    alone = owners(given(strategy, topics, {"a": ["t"], "b": ["t"]}, idcs=["r"]))
    half = owners(given(strategy, topics, {"a": ["t"], "b": []}, idcs=["r"]))
    assert set(alone.values()) == {"a", "b"}
    assert half == {queue: member for queue, member in alone.items() if member == "a"}


@pytest.mark.parametrize("seed", range(20))
def test_on_the_ring_a_newcomer_only_takes(seed):
    r = random.Random(seed)
    topics = {"t": [["b0", r.randint(1, 30)], ["b1", r.randint(0, 9)]], "u": [["b7", 5]]}
    members = {f"10.0.0.1@{r.random()}": ["t", "u"] for _ in range(r.randint(1, 8))}
    vnodes = r.choice((1, 10, 40))
    before = owners(given("consistent-hash", topics, members, vnodes=vnodes))
    joined = members | {"new": ["t", "u"]}
    after = owners(given("consistent-hash", topics, joined, vnodes=vnodes))
    assert len(before) == len(after)
    assert {q for q in before if after[q] != before[q]} == {q for q in after if after[q] == "new"}


def test_ten_virtual_nodes_are_the_default_and_none_assign_nothing():
    topics, members = {"t": [["b", 30]]}, {"a": ["t"], "b": ["t"]}
    assert given("consistent-hash", topics, members) == given(
        "consistent-hash", topics, members, vnodes=10
    )
    assert given("consistent-hash", topics, members, vnodes=0) == {"a": [], "b": []}
    assert given("consistent-hash", topics, {}, vnodes=10**30) == {}
    refused = allocate("consistent-hash", topics, members, vnodes=-1)
    assert refused["error"].startswith("IllegalArgumentException: ")


def test_only_named_rooms_are_shared_out_block_by_block():
    topics = {"t": [["r1@b", 5], ["r2@b", 4], ["b", 3], ["r1@b@c", 2], ["r9@b", 1]]}
    lists = given("machine-room", topics, {"a": ["t"], "b": ["t"]}, idcs=["r1", "r2"])
    assert [number for _, _, number in lists["a"]] == [0, 1, 2, 3, 3]
    assert lists["a"][-1] == ["t", "r2@b", 3]
    assert {broker for broker, _ in {queue[1:] for queue in owners(lists)}} == {"r1@b", "r2@b"}
    assert given("machine-room", topics, {"a": ["t"]}, idcs=[]) == {"a": []}


def test_rooms_that_are_not_configured_fail_at_the_first_broker_with_a_room():
    assert allocate("machine-room", {"t": [["r@b", 1]]}, {"a": ["t"]})["error"].startswith(
        "NullPointerException: "
    )
    assert given("machine-room", {"t": [["b", 1]]}, {"a": ["t"]}) == {"a": []}
    assert given("machine-room", {"t": [["r@b", 1]]}, {"a": []}) == {"a": []}


def test_the_room_of_a_client_comes_first_and_orphaned_rooms_are_shared():
    topics = {"t": [["r3@b", 2], ["r2@b", 3], ["r1@b", 1]]}
    members = {"a": (["t"], "r2"), "b": (["t"], "r2")}
    assert given("machine-room-nearby", topics, members) == {
        "a": [["t", "r2@b", 0], ["t", "r2@b", 1], ["t", "r1@b", 0], ["t", "r3@b", 0]],
        "b": [["t", "r2@b", 2], ["t", "r3@b", 1]],
    }


def test_of_two_rooms_with_three_queues_the_last_of_four_clients_elsewhere_gets_none():
    topics = {"t": [["r1@b", 3], ["r2@b", 3]]}
    members = {f"c{i}": (["t"], "away") for i in range(4)}
    assert sizes(given("machine-room-nearby", topics, members)) == [2, 2, 2, 0]


@pytest.mark.parametrize(
    "inner", ["rocketmq-avg", "rocketmq-avg-by-circle", "rocketmq-consistent-hash"]
)
def test_nearby_asks_the_inner_strategy_room_by_room(inner):
    rooms = {"r1": ("a", "b"), "r2": ("c", "d", "e")}
    topics = {"t": [[f"{room}@b", 9] for room in rooms]}
    members = {c: (["t"], room) for room, clients in rooms.items() for c in clients}
    lists = given("machine-room-nearby", topics, members, inner=inner)
    for room, clients in rooms.items():
        alone = given(inner.removeprefix("rocketmq-"), {"t": [[f"{room}@b", 9]]},
                      {c: ["t"] for c in clients})  # fmt: skip
        assert {c: lists[c] for c in clients} == alone


def test_a_client_without_a_room_is_refused():
    members = {"a": (["t"], "r"), "b": ["t"]}
    refused = allocate("machine-room-nearby", {"t": [["r@b", 1]]}, members)
    assert refused["error"].startswith("IllegalArgumentException: ")


def test_configured_queues_are_given_whatever_others_have():
    config = {
        "a": [["t", "b", 2], ["u", "b", 0], ["t", "b", 0], ["t", "b", 2]],
        "b": [["t", "b", 2], ["t", "b", 9], ["gone", "b", 0]],
    }
    topics = {"t": [["b", 3]], "u": [["b", 1]]}
    lists = given("config", topics, {"a": ["t"], "b": ["u", "t"], "c": ["t"]}, config=config)
    assert lists == {"a": [["t", "b", 2], ["t", "b", 0]], "b": [["t", "b", 2]], "c": []}


@pytest.mark.parametrize("strategy", ALL_BUT_CONFIG)
def test_a_topic_without_queues_is_refused_once_somebody_asks(strategy):
    name = strategy.removeprefix("rocketmq-")
    topics, members = {"t": [["r@b", 0]]}, {"a": (["t"], "r")}
    assert allocate(name, topics, members)["error"].startswith("IllegalArgumentException: ")
    assert given(name, topics, {"a": ([], "r")}) == {"a": []}
    assert given(name, {}, {"a": (["t"], "r")}) == {"a": []}


@pytest.mark.parametrize("strategy", ALL_BUT_CONFIG)
def test_a_client_without_a_name_is_refused(strategy):
    refused = allocate(strategy.removeprefix("rocketmq-"), {"t": [["r@b", 1]]}, {"": (["t"], "r")})
    assert refused["error"].startswith("IllegalArgumentException: ")


@pytest.mark.parametrize("strategy, options, field", [
    ("consistent-hash", {"vnodes": "ten"}, "vnodes"),
    ("machine-room", {"idcs": "r1"}, "idcs"),
    ("machine-room", {"idcs": [1]}, "idcs"),
    ("config", {"config": []}, "config"),
    ("config", {"config": {"a": [["t", 0]]}}, "config"),
    ("config", {"config": {"a": 0}}, "config"),
    ("config", {"config": {"a": [["t", "r@b", "x" * 1000]]}}, "config"),
])  # fmt: skip
def test_options_of_another_kind_are_refused_by_name(strategy, options, field):
    refused = allocate(strategy, {"t": [["r@b", 1]]}, {"a": ["t"]}, **options)
    assert refused["error"].startswith(f"DocumentError: {field}: ") and len(refused["error"]) < 200


def test_an_unknown_inner_strategy_is_refused_with_the_nearest_name():
    refused = allocate(
        "machine-room-nearby", {"t": [["r@b", 1]]}, {"a": (["t"], "r")}, inner="rocketmq-average"
    )
    assert "rocketmq-avg" in refused["error"]


def test_plain_partitions_lie_on_one_broker():
    counted = answer({
        "strategy": "rocketmq-avg",
        "topics": [{"name": "t", "partitions": 2}],
        "members": [{"id": "a", "topics": ["t"]}],
    })  # fmt: skip
    assert counted["assignment"] == {"a": [["t", "broker-a", 0], ["t", "broker-a", 1]]}
