"""Groups asked of their cluster: what was recorded of one, and Java's properties in librdkafka's words."""

import importlib.util
import json
import sys
import tomllib
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from assignlab import groups
from assignlab.advice.show import text
from assignlab.assignors.answer import solve
from assignlab.cli import main
from assignlab.errors import AssignlabError
from assignlab.groups.command_config import of_properties
from assignlab.groups.live import _topics, subscription

RECORDED = Path(__file__).parents[1] / "data" / "groups" / "kafka-4.4.0"
LIVE = [json.loads(line) for line in (RECORDED / "live.jsonl").read_text().splitlines()]
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required "
CLIENT = importlib.util.find_spec("confluent_kafka") is not None
needs_client = pytest.mark.skipif(not CLIENT, reason="needs the extra 'live'")


def holdings(documents):
    return {
        group["group"]: {m["id"]: sorted(m["owned"]) for m in group["members"]}
        for group in documents
    }


@pytest.mark.parametrize("text", ["describe", "offsets-verbose", "members-verbose"])
def test_a_cluster_says_what_kafkas_own_tool_prints(text):
    assert holdings(groups.read(RECORDED / f"{text}.txt")) == holdings(LIVE)


def test_a_cluster_says_all_that_the_texts_say_together():
    texts = [RECORDED / f"{n}.txt" for n in ("describe", "members-verbose", "state", "topics")]
    for live, read in zip(LIVE, groups.read(*texts), strict=True):
        for name in ("group", "state", "strategy"):
            assert live[name] == read[name]
        assert {m["id"]: m.get("instance") for m in live["members"]} == {
            m["id"]: m.get("instance") for m in read["members"]
        }
        told = {t["name"]: (t["partitions"], t["id"], t["weights"]) for t in live["topics"]}
        assert told == {t["name"]: (t["partitions"], t["id"], t["weights"]) for t in read["topics"]}


@pytest.fixture
def client(monkeypatch):
    """The names of confluent-kafka that the topics' calls use, without the package."""

    class KafkaException(Exception):
        pass

    codes = dict(UNKNOWN_TOPIC_OR_PART=3, LEADER_NOT_AVAILABLE=5, NOT_LEADER_FOR_PARTITION=6)
    package = SimpleNamespace(
        KafkaException=KafkaException,
        KafkaError=SimpleNamespace(**codes),
        TopicCollection=list,
        TopicPartition=namedtuple("TopicPartition", "topic partition"),
    )
    admin = SimpleNamespace(OffsetSpec=SimpleNamespace(latest=lambda: None))
    monkeypatch.setitem(sys.modules, "confluent_kafka", package)
    monkeypatch.setitem(sys.modules, "confluent_kafka.admin", admin)

    def answer(value=None, code=None):
        def result():
            if code is None:
                return value
            raise KafkaException(SimpleNamespace(code=lambda: code))

        return SimpleNamespace(result=result)

    return answer


def test_a_partition_without_a_leader_has_no_lag_and_the_others_have(client):
    topic = SimpleNamespace(
        name="t",
        topic_id="vO68JSG4QXuoqKTlUZ/FIA",
        partitions=[SimpleNamespace(id=p, replicas=[]) for p in range(2)],
    )
    ends = [client(SimpleNamespace(offset=9)), client(code=5)]
    admin = SimpleNamespace(
        describe_topics=lambda *_, **__: {"t": client(topic), "gone": client(code=3)},
        list_offsets=lambda asked, **_: dict(zip(asked, ends, strict=True)),
    )
    committed = {("g", "t", 0): 4, ("g", "t", 1): 4, ("g", "gone", 0): 4}
    [told, *offsets] = _topics(admin, [], committed)
    assert (told.partitions, told.id) == (2, "vO68JSG4QXuoqKTlUZ_FIA")
    assert [(row.topic, row.partition, row.lag, row.end) for row in offsets] == [
        ("t", 0, 5, 9), ("t", 1, None, None), ("gone", 0, None, None),
    ]  # fmt: skip
    ends[1] = client(code=29)  # not authorised
    with pytest.raises(Exception, match="namespace"):
        list(_topics(admin, [], committed))


def test_counts_and_states_are_read_as_well():
    counted = {
        group["group"]: sorted(m["partitions"] for m in group["members"])
        for group in groups.read(RECORDED / "members.txt")
    }
    assert counted == {
        name: sorted(map(len, members.values())) for name, members in holdings(LIVE).items()
    }
    states = groups.read(*(RECORDED / f"{name}.txt" for name in ("state-verbose", "list")))
    assert {g["group"]: g["state"] for g in states} == {g["group"]: g["state"] for g in LIVE}


def test_a_cluster_says_what_no_text_has():
    billing, mail, static = LIVE
    assert {m["client"]: m.get("rack") for m in billing["members"]} == {
        "m1": "east", "m2": "east", "m3": "west"
    }  # fmt: skip
    assert {m["client"]: m["topics"] for m in static["members"]} == {
        "s1": ["orders", "payments"], "s2": ["orders"]
    }  # fmt: skip
    for group in (billing, static):
        assert not any(said.startswith("subscriptions") for said in group["inferred"])
    assert not any(said.startswith("racks") for said in billing["inferred"])
    assert all(topic["racks"][0] == ["east"] for topic in billing["topics"])
    assert "racks: none of some members" in mail["inferred"]


def test_what_the_cluster_assigned_is_what_the_strategy_assigns():
    for group in LIVE:
        given = solve({**group, "members": [{**m, "owned": []} for m in group["members"]]})
        if group["strategy"] == "range":
            assert {m: sorted(held) for m, held in given["assignment"].items()} == holdings(
                [group]
            )[group["group"]]
        assert group["group"] in text(group)


def test_a_subscription_of_any_version_and_nothing_else():
    assert subscription(b"") is None
    assert subscription(b"\0\3\0\0\0\1\0\5ab") is None
    assert subscription(bytes.fromhex("0000 7fffffff 0001 74")) is None
    owned = "0001 00000001 0001 74 00000002 6162 00000001 0001 74 00000001 00000003"
    assert subscription(bytes.fromhex(owned)) == (("t",), None)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"sasl.mechanism": "SCRAM-SHA-256", "security.protocol": "SASL_SSL",
          "sasl.jaas.config": SCRAM + 'username="al ice" password="a\\"b;c";'},
         {"sasl.mechanism": "SCRAM-SHA-256", "security.protocol": "SASL_SSL",
          "sasl.username": "al ice", "sasl.password": 'a"b;c'}),
        ({"sasl.jaas.config": "x.OAuthBearerLoginModule required clientId='i' clientSecret='s'"
          " extension_logicalCluster='lkc';"},
         {"sasl.oauthbearer.client.id": "i", "sasl.oauthbearer.client.secret": "s",
          "sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.extensions": "logicalCluster=lkc"}),
        ({"sasl.jaas.config": "x.OAuthBearerLoginModule required clientId='old' scope='s';",
          "sasl.oauthbearer.client.credentials.client.id": "i",
          "sasl.oauthbearer.client.credentials.client.secret": "p"},
         {"sasl.oauthbearer.client.id": "i", "sasl.oauthbearer.client.secret": "p",
          "sasl.oauthbearer.scope": "s", "sasl.oauthbearer.method": "oidc"}),
        ({"sasl.jaas.config": "x.OAuthBearerLoginModule required;", "sasl.oauthbearer.scope": "s"},
         {"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.scope": "s"}),
        ({"sasl.jaas.config": 'x.Krb5LoginModule required keyTab="/k" serviceName="bus";'},
         {"sasl.kerberos.keytab": "/k", "sasl.kerberos.service.name": "bus"}),
        ({"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem",
          "ssl.keystore.type": "PKCS12", "ssl.keystore.location": "k.p12",
          "ssl.keystore.password": "p", "ssl.endpoint.identification.algorithm": ""},
         {"ssl.ca.location": "ca.pem", "ssl.keystore.location": "k.p12",
          "ssl.keystore.password": "p", "ssl.endpoint.identification.algorithm": "none"}),
        ({"ssl.keystore.type": "PEM", "ssl.keystore.location": "k.pem", "acks": "all"},
         {"ssl.key.location": "k.pem", "ssl.certificate.location": "k.pem"}),
    ],
)  # fmt: skip
def test_properties_of_java_in_librdkafkas_words(given, expected):
    assert of_properties(given) == expected


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"ssl.truststore.location": "t.jks"}, "truststore.type JKS: expected PEM.*keytool"),
        ({"ssl.keystore.location": "t.jks"}, "keystore.type JKS: expected PEM or PKCS12"),
        ({"sasl.jaas.config": SCRAM + "username=a;"}, "sasl.jaas.config: expected password"),
        ({"sasl.jaas.config": "software.amazon.msk.auth.iam.IAMLoginModule required;"},
         "IAMLoginModule is not one of"),
        ({"sasl.jaas.config": ""}, "no login module is not one of"),
        ({"ssl.provider": "x"}, "ssl.provider: librdkafka's client has no such setting"),
    ],
)  # fmt: skip
def test_what_cannot_be_translated_is_refused_by_name(given, why):
    with pytest.raises(AssignlabError, match=why):
        of_properties(given)


def refusal(*arguments):
    done = CliRunner().invoke(main, ["group", "show", *arguments])
    assert isinstance(done.exception, SystemExit)
    assert done.exit_code in (1, 2)
    return done.output.splitlines()[-1]


def test_a_source_or_a_cluster_is_needed():
    assert "SOURCE" in refusal()
    assert "goes with --bootstrap-server" in refusal("--command-config", "billing", "x.txt")


def test_without_the_client_the_remedy_is_said(monkeypatch):
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    packages = " ".join(f"'{package}'" for package in project["optional-dependencies"]["live"])
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    told = refusal("--bootstrap-server", "localhost:1")
    assert f"needs confluent_kafka, which is not installed: {sys.executable} -m pip install" in told
    assert told.endswith(packages)


@needs_client
def test_a_cluster_that_does_not_answer_or_a_file_that_is_not_there_is_one_line(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(groups.live, "ASKED_WITHIN_S", 2)
    assert "127.0.0.1:1: " in refusal("--bootstrap-server", "127.0.0.1:1")
    config = ("--bootstrap-server", "127.0.0.1:1", "--command-config")
    assert "No such file" in refusal(*config, "no.properties")
    wrong = tmp_path / "wrong.properties"
    wrong.write_text("security.protocol=SASL_MAYBE\n")
    assert "security.protocol" in refusal(*config, str(wrong))
