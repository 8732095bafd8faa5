"""Other clients beside Java's: who runs a member; real groups of each."""

import pytest

from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality import beside, scripts
from assignlab.reality.hosts import JAVA, PINNED, Client
from assignlab.reality.record import record
from assignlab.timeline import scenario as happens
from assignlab.timeline.scenario import Member


@pytest.mark.parametrize(
    ("name", "clients"),
    [
        ("join-leave.range", [Client(JAVA, "4.4.0")]),
        ("join-leave.sticky-2.8.2", [Client(JAVA, "2.8.2")]),
        ("upgrade.sticky-2.8.2", [Client(JAVA, "2.8.2"), Client(JAVA, "4.4.0")]),
        (
            "mixed.librdkafka-range",
            [Client(JAVA, "4.4.0"), Client("librdkafka", PINNED["librdkafka"])],
        ),
        ("join-leave.kafka-python-sticky", [Client("kafka-python", PINNED["kafka-python"])]),
        ("join-leave.aiokafka-sticky", [Client("aiokafka", PINNED["aiokafka"])]),
        ("mixed.sarama-range", [Client(JAVA, "4.4.0"), Client("sarama", PINNED["sarama"])]),
        ("join-leave.sticky.sarama", [Client("sarama", PINNED["sarama"])]),
        ("join-leave.franz-go-range", [Client("franz-go", PINNED["franz-go"])]),
        (
            "mixed.cooperative-sticky.franz-go",
            [Client(JAVA, "4.4.0"), Client("franz-go", PINNED["franz-go"])],
        ),
        ("join-leave.kafkajs-roundrobin", [Client("kafkajs", PINNED["kafkajs"])]),
        (
            "range-leads.kafka-go-range",
            [Client(JAVA, "4.4.0"), Client("kafka-go", PINNED["kafka-go"])],
        ),
        ("crash.server-uniform", [Client(JAVA, "4.4.0")]),
        ("crash.server-uniform.librdkafka", [Client("librdkafka", PINNED["librdkafka"])]),
    ],
)
def test_a_strategys_name_says_whose_client_runs_the_member(name, clients):
    assert scripts.SCRIPTS[name].clients("4.4.0") == set(clients)


@pytest.mark.slow
def test_real_groups_of_other_clients_have_the_owners_that_the_timeline_says():
    live = [
        scripts.script(
            f"live.{strategy}",
            strategy,
            [*scripts.members("ab"), Member("c", start_ms=1_200, strategies=third)],
            [happens.leave(10_000, "a")],
            lasts_ms=14_000,
        )
        for strategy, third in (
            ("kafka-python-sticky", None),
            ("aiokafka-sticky", None),
            ("librdkafka-cooperative-sticky", None),
            ("sarama-range", None),
            ("franz-go-range", None),
            ("range", ["librdkafka-range"]),
        )
    ]
    live.append(scripts.SCRIPTS["join-leave.kafka-go-range"])
    takes_over = [happens.join(10_000, Member("x", instance="instance-b"))]
    static = scripts.members("ab", static=True)
    live.append(scripts.script("live.fenced", "librdkafka-range", static, takes_over))
    leaves, how = [happens.leave(10_000, "a")], {"fetch_max_wait_ms": 500}
    members = scripts.members("abc")
    live.append(scripts.script("live.kafkajs", "kafkajs-roundrobin", members, leaves, **how))
    try:
        recordings = list(record("4.4.0", live))
    except OriginalsUnavailable as missing:
        pytest.skip(str(missing))
    assert len(recordings) == len(live)
    compared = beside.compare(recordings)
    owners = compared[compared["check"] == "owners"]
    assert owners["equal"].all(), owners[["scenario", "real", "predicted"]].to_string()
    assert (owners["real"].str.len() > 0).all()
