"""States that our random histories never reach, found with another generator.

Each is asked of ours and of the original, where its tools are there; both must say the same.
"""

import pytest

from assignlab.proof import verify


@pytest.mark.parametrize(
    ("strategy", "error"),
    [
        ("roundrobin", "IllegalArgumentException"),
        ("roundrobin@2.0", "IllegalArgumentException"),
        ("server-range@3.8", "NoSuchElementException"),
        ("range", None),
        ("server-range", None),
    ],
)
def test_some_originals_throw_without_members(ask, strategy, error):
    reply = ask({"strategy": strategy, "members": [], "topics": [{"name": "t", "partitions": 1}]})
    if error is None:
        assert reply["assignment"] == {}
    else:
        assert reply["error"].startswith(error + ":")


ONE_ORDER = ["\uff21", "\U0001f600"]
"""By code points; in Java and JavaScript the second comes first."""


@pytest.mark.parametrize(
    ("strategy", "order"),
    [
        ("franz-go-range", ONE_ORDER),
        ("franz-go-roundrobin", ONE_ORDER),
        ("kafka-go-range", ONE_ORDER),
        ("kafka-go-roundrobin", ONE_ORDER),
        ("kafka-python-range", ONE_ORDER),
        ("kafka-python-roundrobin", ONE_ORDER),
        ("kafka-python-sticky", ONE_ORDER),
        ("librdkafka-roundrobin", ONE_ORDER),
        ("librdkafka-cooperative-sticky", ONE_ORDER),
        ("sarama-range", ONE_ORDER),
        ("sarama-roundrobin", ONE_ORDER),
        ("roundrobin", ONE_ORDER[::-1]),
    ],
)
def test_topics_beyond_the_basic_plane_sort_as_the_language_sorts(ask, strategy, order):
    reply = ask(
        {
            "strategy": strategy,
            "members": [{"id": "m", "topics": ONE_ORDER[::-1]}],
            "topics": [{"name": name, "partitions": 1} for name in ONE_ORDER[::-1]],
        }
    )
    assert [topic for topic, _ in reply["assignment"]["m"]] == order


@pytest.mark.parametrize("strategy", ["server-uniform", "server-range", "server-simple"])
def test_topics_that_are_missing_may_be_called_like_uuids(ask, strategy):
    """The two names decode to the same sixteen bytes, but a subscription knows names only."""
    missing = ["payments-orders-eu_00A", "payments-orders-eu_00B"]
    reply = ask(
        {
            "strategy": strategy,
            "members": [{"id": "m", "topics": [*missing, "t"]}],
            "topics": [{"name": "t", "partitions": 1}],
        }
    )
    assert reply["assignment"] == {"m": [["t", 0]]}


@pytest.mark.parametrize(
    ("racks", "expected"),
    [
        ({"a": "x", "b": ""}, {"a": [], "b": [["t", 0], ["t", 1]]}),
        ({"a": "x"}, {"a": [], "b": [["t", 1], ["t", 0]]}),
        ({"b": ""}, {"a": [], "b": [["t", 1], ["t", 0]]}),
    ],
)
@pytest.mark.parametrize("there", [[{"name": "u", "partitions": 0}], []])
def test_librdkafka_takes_an_empty_rack_for_one_that_holds_nothing(ask, racks, expected, there):
    """What does not lie in the rack is given up; who reads a topic without partitions counts, or
    one that does not exist."""
    members = [
        {"id": "a", "topics": ["u"]},
        {"id": "b", "topics": ["t"], "owned": [["t", 0], ["t", 1]]},
    ]
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                m | ({"rack": racks[m["id"]]} if m["id"] in racks else {}) for m in members
            ],
            "topics": [*there, {"name": "t", "partitions": 2, "racks": [["x"], ["y"]]}],
        }
    )
    assert reply["assignment"] == expected


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        ({"t": 3, "u": 1}, {"a": [["t", 2], ["t", 1]], "b": [["u", 0], ["t", 0]]}),
        ({"u": 1, "t": 3}, {"a": [["t", 2], ["t", 0]], "b": [["t", 1], ["u", 0]]}),
    ],
)
def test_librdkafka_hands_out_from_the_last_topic_back(ask, topics, expected):
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                {"id": "a", "topics": ["t", "u"], "owned": [["t", 2]]},
                {"id": "b", "topics": ["t", "u"]},
            ],
            "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
        }
    )
    assert reply["assignment"] == expected


def test_a_topic_called_proto_is_lost_on_its_way_to_kafkajs(ask):
    reply = ask(
        {
            "strategy": "kafkajs-roundrobin",
            "members": [{"id": "a", "topics": ["__proto__", "t"]}],
            "topics": [{"name": "__proto__", "partitions": 2}, {"name": "t", "partitions": 1}],
        }
    )
    assert reply["assignment"] == {"a": [["t", 0]]}


@pytest.mark.parametrize(
    ("generations", "owner"),
    [
        ({"a": 2**31 - 1, "b": None}, "b"),
        ({"a": 1, "b": 1 - 2**31, "c": None}, "c"),
        ({"a": None, "b": 1 - 2**31, "c": 1}, "c"),
    ],
)
def test_librdkafka_subtracts_generations_as_ints(ask, generations, owner):
    """The greatest generation is older than none at all, which is -1."""
    claims = {m: {"sub_generation": g} if g else {} for m, g in generations.items()}
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                {"id": m, "topics": ["t"], "owned": [["t", 1]]} | claim
                for m, claim in claims.items()
            ],
            "topics": [{"name": "t", "partitions": len(claims)}],
        }
    )
    assert ["t", 1] in reply["assignment"][owner]


def test_librdkafka_takes_members_of_one_instance_for_one(ask):
    both = [["t", 0], ["t", 1]]
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                {"id": "a", "topics": ["t"], "instance": "1"},
                {"id": "b", "topics": ["t"], "instance": "1", "owned": both},
            ],
            "topics": [{"name": "t", "partitions": 2}],
        }
    )
    assert reply["assignment"] == {"a": [], "b": both}


def test_librdkafkas_leader_ends_when_a_borrowed_record_is_gone(ask):
    """Later moves of a pair are found under the record of its first one, which is freed."""
    owned = [["t", 6], ["t", 9], ["t", 12], ["u", 1], ["u", 3], ["u", 6], ["u", 13]]
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                {"id": "A", "topics": ["s", "u"]},
                {"id": "B", "topics": ["t", "s", "u"], "owned": owned},
                {"id": "C", "topics": ["t", "u"]},
                {"id": "D", "topics": ["t"]},
            ],
            "topics": [
                {"name": name, "partitions": count}
                for name, count in (("t", 13), ("s", 28), ("u", 14))
            ],
        }
    )
    assert reply["error"].startswith("SIGSEGV")


def test_librdkafkas_leader_aborts_where_the_last_move_of_a_pair_was_of_another_owner(ask):
    """The check of the owner comes before the freed name, as long as the topic has other moves."""
    racks = ["r1", "r2", "r1", "r1", "r0", "r0", "r0", "r1", "r2", "r0", "r1", "r2"]
    reply = ask(
        {
            "strategy": "librdkafka-cooperative-sticky",
            "members": [
                {"id": "A", "topics": ["K", "N"]},
                {"id": "B", "topics": ["C", "J"]},
                {"id": "E", "topics": ["C", "K", "N"], "rack": "r0"},
                {"id": "D", "topics": ["C", "K", "N"], "rack": "r0"},
                {"id": "F", "topics": ["K"], "rack": "r0"},
            ],
            "topics": [
                {"name": "K", "partitions": 6},
                {"name": "N", "partitions": 4},
                {"name": "C", "partitions": 12, "racks": [[rack] for rack in racks]},
                {"name": "J", "partitions": 4},
            ],
        }
    )
    assert reply["error"].startswith("SIGABRT")


@pytest.mark.parametrize("strategy", ["metaq-default", "metaq-consistent-hash"])
def test_metaq_counts_a_broker_that_is_listed_twice_once(ask, strategy):
    reply = ask(
        {
            "strategy": strategy,
            "members": [{"id": "A", "topics": ["t"]}, {"id": "B", "topics": ["t"]}],
            "topics": [{"name": "t", "brokers": [["0", 2], ["1", 1], ["0", 3]]}],
        }
    )
    assert sorted(pair for pairs in reply["assignment"].values() for pair in pairs) == [
        ["t", name] for name in ("0-0", "0-1", "0-2", "1-0")
    ]


def test_kafka_python_has_a_second_answer_that_one_hash_seed_in_twelve_gives(ask, request):
    """The first sixteen seeds agree; ours says that the answer is not the only one."""
    owned = [["J", 0], ["J", 1]]
    document = {
        "strategy": "kafka-python-cooperative-sticky",
        "members": [
            {"id": "A", "topics": ["B", "H", "J"], "owned": owned},
            {"id": "C", "topics": ["B", "H", "J"]},
            {"id": "D", "topics": ["B", "H", "J"], "owned": [["B", 0], *owned],
             "sub_generation": 19},
        ],
        "topics": [{"name": name, "partitions": count} for name, count in zip("BHJ", (1, 2, 2))],
    }  # fmt: skip
    if request.node.callspec.params["ask"] == "ours":
        assert ask(document)["nondeterministic"]
    else:
        assert verify.settled(ask, document) is not None
        assert verify.settled(ask, document, verify.ASKED_IN_DOUBT) is None


@pytest.mark.parametrize("strategy", ["server-uniform@3.9", "server-uniform@3.7"])
def test_a_set_that_is_emptied_and_filled_again_keeps_its_slots(ask, strategy):
    """Nine topic ids with one hash code double a table of 16 slots; when the set is filled again,
    they double that one. So _ is the first partition to move, which was behind the others before.
    """
    ids = {
        "_": "aQcSvK3tbSdpBxK8re1tJA", "s": "mgqq-zZDlEeaCqr7NkOURg", "A": "YJwn6or39PlgnCfqivf0-A",
        "B": "25fjSfEVSE3bl-NJ8RVITA", "C": "-YwA88Q_jiv5jADzxD-OKg", "D": "JEamDvpzhawkRqYO-nOFrQ",
        "E": "bd-94RG5PA1t373hEbk8DA", "F": "T8HQFSh_WCRPwdAVKH9YJQ", "G": "yQ3S3jdWY27JDdLeN1Zjbw",
        "H": "ogHg-24kFYGiAeD7biQVgA",
    }  # fmt: skip
    reply = ask(
        {
            "strategy": strategy,
            "members": [
                {
                    "id": "m1",
                    "topics": ["A", "B", "C", "D", "_", "s"],
                    "owned": [["_", 0], ["s", 0]],
                },
                {"id": "m2", "topics": ["E", "F", "G", "H", "_", "s"]},
            ],
            "topics": [{"name": name, "partitions": 1, "id": id} for name, id in ids.items()],
        }
    )
    assert ["_", 0] in reply["assignment"]["m2"]
