"""Reading groups: every format's recordings, what is inferred, what is refused and in which words."""

import json
import time
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab import assignors, groups
from assignlab.advice.subject import NotAnswerable, subject
from assignlab.assignors.answer import solve
from assignlab.cli import main
from assignlab.errors import AssignlabError, GroupError, TextError
from assignlab.group.document import parse
from assignlab.groups import formats, inference
from assignlab.groups.show import as_text, summary
from assignlab.releases import CAME_WITH

ROOT = Path(__file__).parents[2]
YOUR_GROUP = ROOT / "docs" / "your-group.md"
DATA = ROOT / "tests" / "data" / "groups"
KAFKA = DATA / "kafka-4.3.0"
OLDER = DATA / "kafka-older"


def one(*sources, only=None):
    [group] = [g for g in groups.read(*sources) if only in (None, g.get("group"))]
    parse(group)
    return group


def kafka(*names):
    return [KAFKA / f"{name}.txt" for name in names]


def member(group, client):
    return next(m for m in group["members"] if m["client"] == client)


def said(group, about):
    return [sentence for sentence in group["inferred"] if sentence.startswith(f"{about}: ")]


# Kafka's tools


def test_describe_has_owners_and_lag():
    group = one(*kafka("classic-describe"))
    assert group["group"] == "billing-classic"
    assert member(group, "m2")["owned"] == [
        ["orders", 3], ["orders", 4], ["payments", 3], ["payments", 4]
    ]  # fmt: skip
    assert member(group, "m2")["host"] == "/127.0.0.1"
    assert [(t["name"], t["partitions"]) for t in group["topics"]] == [
        ("orders", 7),
        ("payments", 7),
    ]
    assert said(group, "weights") == ["weights: none; the text lacks lags of payments"]
    assert said(group, "members") != [] and said(group, "strategy") != []


def test_offsets_verbose_says_the_same_as_describe():
    assert groups.read(*kafka("consumer-offsets-verbose")) == groups.read(
        *kafka("consumer-describe")
    )


def test_members_and_state_together_have_a_strategy_that_gives_their_assignment():
    sources = kafka("all-groups-members-verbose", "all-groups-state")
    stable = [g for g in groups.read(*sources) if g["state"] == "Stable"]
    assert len(stable) == 6
    for group in stable:
        answer = solve(group)["assignment"]
        assert {m["id"]: sorted(m["owned"]) for m in group["members"]} == {
            name: sorted(partitions) for name, partitions in answer.items()
        }, group["group"]


def test_members_that_hold_nothing_are_seen_in_members_only():
    assert len(one(*kafka("idle-classic-describe"))["members"]) == 2
    assert member(one(*kafka("idle-classic-members-verbose")), "c3")["owned"] == []


def test_static_members_have_their_instance():
    group = one(*kafka("static-classic-members-verbose"))
    assert [m["instance"] for m in group["members"]] == ["s1", "s2"]


def test_kip_848_is_told_by_epochs_and_by_ids():
    group = one(*kafka("consumer-members-verbose", "consumer-state"))
    assert group["strategy"] == "server-uniform" and member(group, "n1")["generation"] == 4
    assert said(group, "protocol") == [] and said(group, "topic ids") != []
    assert said(one(*kafka("consumer-describe")), "protocol") != []


def test_under_kip_848_the_target_is_the_claim():
    [path] = kafka("rebalancing-consumer-members-verbose")
    text = path.read_text()
    assert said(one(text), "owned") == []
    text = "4               -   ".join(text.rsplit("3               orders:4,5,6", 1))
    text = "4               orders:0,1,2,3,4".join(text.rsplit("3               orders:0,1,2,3", 1))
    group = one(text)
    assert member(group, "b2")["owned"] == [] and len(member(group, "b1")["owned"]) == 5
    assert said(group, "owned") != []


def test_an_empty_group_has_no_members():
    err = KAFKA / "empty-members-verbose.err"
    group = one(*kafka("empty-describe", "empty-members-verbose"), err)
    assert group["state"] == "Empty" and group["members"] == []
    assert group["topics"][1] == {"name": "payments", "partitions": 4}


def test_a_member_that_joins_a_rebalancing_group_claims_nothing():
    err = KAFKA / "rebalancing-classic-members-verbose.err"
    group = one(*kafka("rebalancing-classic-members-verbose"), err)
    assert group["state"] == "Rebalancing"
    assert "owned" not in member(group, "a2") and "generation" not in member(group, "a2")
    assert len(member(group, "a1")["owned"]) == 7
    group = one(*kafka("rebalancing-classic-members-verbose", "rebalancing-classic-state"), err)
    assert group["state"] == "PreparingRebalance"


@pytest.mark.parametrize("warned_first", [True, False])
def test_owners_of_a_text_that_warns_of_a_rebalance_move_whatever_another_says(warned_first):
    warned = """Warning: Consumer group 'g' is rebalancing.

GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
g t 0 5 5 0 a-1 /10.0.0.1 a
"""
    later = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\ng b:1 (1) sticky Stable 1\n"
    group = one("\n".join([warned, later] if warned_first else [later, warned]))
    assert group["state"] == "Rebalancing"
    told = "state: Rebalancing and Stable are told, the first counts; the texts are of two moments"
    assert told in group["inferred"]


def test_unequal_sizes_rule_out_equal_subscriptions():
    group = one(*kafka("mixed-topics-members-verbose"))
    assert {m["client"]: m["topics"] for m in group["members"]} == {
        "x3": ["shipments"], "x1": ["orders"], "x2": ["orders", "payments"]
    }  # fmt: skip
    group = one(*kafka("classic-members-verbose", "classic-state"))
    assert all(m["topics"] == ["orders", "payments"] for m in group["members"])


FOLDED = """GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID
mail letters 0 5 9 4 a-1 /10.0.0.1 a
mail letters 1 5 7 2 b-1 /10.0.0.2 b
"""


def test_without_the_columns_on_the_right_there_are_lags_alone():
    cut = "\n".join(" ".join(line.split()[:6]) for line in FOLDED.splitlines())
    alone = one(cut)
    assert alone["members"] == [] and alone["topics"][0]["weights"] == [4, 2]
    shown = CliRunner().invoke(main, ["group", "show", "-"], input=cut).output
    assert "mail: the text names no members (add kafka-consumer-groups" in shown
    members = """GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT
mail a-1 /10.0.0.1 a 1 letters(0)
mail b-1 /10.0.0.2 b 1 letters(1)
"""
    assert one(cut, members)["members"] == one(FOLDED)["members"]


def test_up_to_0_10_the_owner_is_client_and_host_or_a_thread():
    group = one("""GROUP  TOPIC    PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG      OWNER
mail   letters  0          465             465             0        client-1_/10.0.0.1
mail   letters  1          unknown         465             unknown  mail_host-1513787888172-d3a91f05-0
Could not fetch offset from zookeeper for group mail partition [letters,2] due to missing offset data in zookeeper.
mail   letters  2          5               465             460      none
""")
    assert [(m["id"], m.get("client"), m.get("host"), m["owned"]) for m in group["members"]] == [
        ("client-1_/10.0.0.1", "client-1", "/10.0.0.1", [["letters", 0]]),
        ("mail_host-1513787888172-d3a91f05-0", None, None, [["letters", 1]]),
    ]
    assert group["topics"][0]["partitions"] == 3 and "weights" not in group["topics"][0]


def test_an_assignment_may_lack_the_space_behind_its_commas():
    group = one("""GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT
mail a-1 /10.0.0.1 a 3 letters(1,2),parcels(4)
""")
    assert group["members"][0]["owned"] == [["letters", 1], ["letters", 2], ["parcels", 4]]


RPK = """$ rpk group describe -r '*'
GROUP                  mail
COORDINATOR-NODE       0
COORDINATOR-PARTITION  __consumer_offsets/13
STATE                  Stable
BALANCER               cooperative-sticky
MEMBERS                3
TOTAL-LAG              7

TOPIC    PARTITION  CURRENT-OFFSET  LOG-START-OFFSET  LOG-END-OFFSET  LAG  MEMBER-ID  INSTANCE-ID  CLIENT-ID  HOST
letters  0          2               0                 9               7    a-1        a            kgo        10.0.0.1
letters  1          -               0                 0               -    b-1                     kgo        10.0.0.2

GROUP        old
COORDINATOR  1
STATE        Empty
BALANCER
MEMBERS      0
TOPIC    PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  MEMBER-ID  CLIENT-ID  HOST
letters  0          4               9               5
letters  1          -               8               8
"""


def test_redpandas_groups_have_summary_and_owners():
    mail, old = groups.read(RPK)
    assert (mail["strategy"], mail["state"]) == ("cooperative-sticky", "Stable")
    assert [(m["id"], m.get("instance"), m["owned"]) for m in mail["members"]] == [
        ("a-1", "a", [["letters", 0]]), ("b-1", None, [["letters", 1]]), ("~unknown-1", None, []),
    ]  # fmt: skip
    assert (old["group"], old["state"], old["members"]) == ("old", "Empty", [])
    assert old["topics"][0]["weights"] == [5, 8]
    assert mail["topics"][0]["weights"] == [7, 0], "nothing was produced yet"
    shown = CliRunner().invoke(main, ["group", "show", "-"], input=RPK).output
    assert "No load" not in shown


def test_offsets_that_redpandas_tool_could_not_ask_are_unknown():
    head, first, second = RPK.splitlines()[9:12]
    failed = second.replace("0               -    b-1", "-1              -1   b-1")
    text = [*RPK.splitlines()[:9], head + "      ERROR", first, failed + "  NOT_LEADER: try again"]
    group = one("\n".join(text) + "\n")
    assert said(group, "weights") == ["weights: none; the text lacks lags of letters"]
    assert "ends" not in group["topics"][0] and group["members"][1]["owned"] == [["letters", 1]]


def test_counts_alone_leave_the_owners_open():
    group = one(*kafka("classic-members"))
    assert [m["partitions"] for m in group["members"]] == [4, 6, 4]
    assert all("owned" not in m for m in group["members"]) and said(group, "owned") != []
    assert summary(group)["gap"] == 2
    group = one(*kafka("classic-members", "classic-describe"))
    assert len(member(group, "m1")["owned"]) == 6 and said(group, "owned") == []


KAFKA_GROUPS = """$ bin/kafka-groups.sh --bootstrap-server b:9092 --list
GROUP                TYPE                 PROTOCOL
billing-classic      Classic              consumer
files                Classic              connect
old-offsets          Classic
idle-consumer        Consumer             consumer
jobs                 Share                share
"""


def test_lists_add_the_protocol_to_groups_that_are_described():
    assert one(*kafka("idle-consumer-describe", "list-type", "list-state"))["state"] == "Stable"
    assert said(one(*kafka("idle-consumer-describe", "list-type")), "protocol") == []
    assert said(one(*kafka("idle-consumer-describe"), KAFKA_GROUPS), "protocol") == []
    assert said(one(*kafka("classic-describe"), KAFKA_GROUPS), "protocol") == []
    with pytest.raises(AssignlabError, match="no text describes a group"):
        groups.read(*kafka("list-type"))


@pytest.mark.parametrize("path", sorted(KAFKA.glob("*.txt")), ids=lambda path: path.stem)
def test_every_recording_is_read_or_refused_by_line(path):
    if path.stem in ("list", "missing-group"):
        with pytest.raises(TextError, match=r"txt:[12]:1: "):
            groups.read(path)
    elif path.stem.startswith("list") or path.stem in ("empty-members", "empty-members-verbose"):
        with pytest.raises(AssignlabError, match="no text describes a group|the text has no row"):
            groups.read(path)
    else:
        for group in groups.read(path):
            parse(group)


def older(*names):
    return [OLDER / name for name in names]


def test_the_first_releases_name_no_group():
    group = one(*older("1.0.2-describe.txt", "1.0.2-describe.err"))
    assert "group" not in group and said(group, "group") != []
    assert len(member(group, "m1")["owned"]) == 2 and member(group, "my client")["owned"] == []
    command = "$ kafka-consumer-groups.sh --bootstrap-server b:9092 --describe --group billing\n"
    assert one(command + older("1.0.2-describe.txt")[0].read_text())["group"] == "billing"
    group = one(*older("2.0.1-members-verbose.txt", "2.0.1-state.txt"))
    assert group["strategy"] == "range" and len(member(group, "m3")["owned"]) == 2


@pytest.mark.parametrize("release", ["2.8.2", "3.7.2", "3.9.1"])
def test_releases_before_4_say_the_same_in_other_columns(release):
    parts = ("all-describe.txt", "all-members.txt", "all-state.txt")
    sources = [OLDER / f"{release}-{part}" for part in parts]
    empty, billing, static = groups.read(*sources, OLDER / "3.9.1-topics.txt")
    assert empty["group"] == "batch empty" and empty["state"] == "Empty"
    assert [(m["client"], len(m["owned"])) for m in billing["members"]] == [
        ("m4", 2), ("m3", 2), ("m1", 2), ("my client", 0)
    ]  # fmt: skip
    assert [m.get("instance") for m in static["members"]] == [None, "s-2", "s-1"]
    assert said(static, "partitions") == [] and static["topics"][0]["id"]
    for group in (billing, static):
        answer = solve(group)["assignment"]
        assert all(sorted(m["owned"]) == sorted(answer[m["id"]]) for m in group["members"])


def test_members_of_3_9_lack_the_topics():
    for group in groups.read(*older("3.9.1-all-members.txt")):
        assert all("owned" not in m and m["topics"] == [] for m in group["members"])
        assert said(group, "owned") != [] and summary(group)["gap"] is not None


TOPICS = """\
Topic: orders	TopicId: 0hUBpTa7TmG1lNmmbvFZ6A	PartitionCount: 9	ReplicationFactor: 1	Configs: a=b
	Topic: orders	Partition: 0	Leader: 1	Replicas: 1	Isr: 1	Elr: N/A	LastKnownElr: N/A
Topic:payments	PartitionCount:8	ReplicationFactor:1	Configs:
	Topic: payments	Partition: 0	Leader: none	Replicas: 1	Isr: 1
"""


def test_topics_add_counts_and_ids():
    group = one(*kafka("classic-describe"), TOPICS)
    assert [(t["partitions"], t.get("id")) for t in group["topics"]] == [
        (9, "0hUBpTa7TmG1lNmmbvFZ6A"), (8, None)
    ]  # fmt: skip
    assert said(group, "partitions") == []
    spaces = TOPICS.replace("\t", "        ")
    assert one(*kafka("classic-describe"), spaces) == group


# Other tools: one group of three members, the third without a partition


AKHQ = {
    "id": "billing", "simpleConsumerGroup": False, "partitionAssignor": "range", "state": "STABLE",
    "coordinator": {"id": 1, "host": "b", "port": 9092}, "topics": ["t"], "activeTopics": ["t"],
    "members": [
        {"id": "m1-1", "clientId": "m1", "host": "/h1",
         "assignments": [{"topic": "t", "partition": 0}]},
        {"id": "m2-1", "clientId": "m2", "host": "/h2",
         "assignments": [{"topic": "t", "partition": 1}]},
        {"id": "m3-1", "clientId": "m3", "host": "/h3"},
    ],
    "offsets": [
        {"topic": "t", "partition": 0, "offset": 5, "firstOffset": 0, "lastOffset": 7, "offsetLag": 2},
        {"topic": "t", "partition": 1, "offset": 5, "firstOffset": 0, "lastOffset": 5, "offsetLag": 0},
    ],
}  # fmt: skip
KAFBAT = {
    "inherit": "details", "groupId": "billing", "members": 3, "topics": 1, "simple": False,
    "partitionAssignor": "range", "state": "STABLE", "consumerLag": 2,
    "coordinator": {"id": 1, "host": "b", "port": 9092},
    "partitions": [
        {"topic": "t", "partition": 0, "currentOffset": 5, "endOffset": 7, "consumerLag": 2,
         "consumerId": "m1-1", "host": "/h1"},
        {"topic": "t", "partition": 1, "currentOffset": 5, "endOffset": 5, "consumerLag": 0,
         "consumerId": "m2-1", "host": "/h2"},
    ],
}  # fmt: skip
JAVA = {
    "groupId": "billing", "isSimpleConsumerGroup": False, "partitionAssignor": "range",
    "type": "CLASSIC", "groupState": "STABLE",
    "members": [
        {"memberId": "m1-1", "groupInstanceId": None, "clientId": "m1", "host": "/h1",
         "assignment": {"topicPartitions": [{"topic": "t", "partition": 0}]}},
        {"memberId": "m2-1", "clientId": "m2", "host": "/h2",
         "assignment": {"topicPartitions": [{"topic": "t", "partition": 1}]}},
        {"memberId": "m3-1", "clientId": "m3", "host": "/h3", "assignment": {"topicPartitions": []}},
    ],
}  # fmt: skip
CONFLUENT = {
    "group_id": "billing", "partition_assignor": "range", "state": "ConsumerGroupState.STABLE",
    "members": [
        {"member_id": "m1-1", "client_id": "m1", "host": "/h1", "assignment": [["t", 0]]},
        {"member_id": "m2-1", "client_id": "m2", "host": "/h2", "assignment": [["t", 1]]},
        {"member_id": "m3-1", "client_id": "m3", "host": "/h3", "assignment": []},
    ],
}  # fmt: skip
LAG_EXPORTER = """\
# HELP kafka_consumergroup_group_lag Group offset lag of a partition
# TYPE kafka_consumergroup_group_lag gauge
kafka_consumergroup_group_lag{cluster_name="c",group="billing",topic="t",partition="0",\
member_host="/h1",consumer_id="m1-1",client_id="m1",} 2.0
kafka_consumergroup_group_lag{cluster_name="c",group="billing",topic="t",partition="1",\
member_host="/h2",consumer_id="m2-1",client_id="m2",} 0.0
kafka_consumergroup_group_lag{cluster_name="c",group="gone",topic="t",partition="1",\
member_host="unknown",consumer_id="unknown",client_id="unknown",} NaN
jvm_threads_current 12.0
"""
KMINION = """\
kminion_kafka_topic_info{cleanup_policy="delete",partition_count="2",replication_factor="1",topic_name="t"} 1
kminion_kafka_consumer_group_info{coordinator_id="0",group_id="billing",protocol="range",\
protocol_type="consumer",state="Stable"} 1
kminion_kafka_consumer_group_members{group_id="billing"} 3
kminion_kafka_consumer_group_empty_members{group_id="billing"} 1
kminion_kafka_consumer_group_topic_partition_lag{group_id="billing",partition_id="0",topic_name="t"} 2
kminion_kafka_consumer_group_topic_partition_lag{group_id="billing",partition_id="1",topic_name="t"} 0
"""
KAFKA_EXPORTER = """\
# HELP kafka_consumergroup_members Amount of members in a consumer group
kafka_consumergroup_members{consumergroup="billing"} 3
kafka_topic_partitions{topic="t"} 2
kafka_consumergroup_lag{consumergroup="billing",partition="0",topic="t"} 2
kafka_consumergroup_lag{consumergroup="billing",partition="1",topic="t"} -1
"""
BURROW = {
    "error": False, "message": "consumer status returned",
    "status": {
        "cluster": "c", "group": "billing", "status": "OK", "complete": 1, "partition_count": 2,
        "totallag": 2, "maxlag": None,
        "partitions": [
            {"topic": "t", "partition": 0, "owner": "/h1", "client_id": "m1", "status": "OK",
             "start": None, "end": None, "current_lag": 2, "complete": 1},
            {"topic": "t", "partition": 1, "owner": "/h2", "client_id": "m2", "status": "OK",
             "start": None, "end": None, "current_lag": 0, "complete": 1},
        ],
    },
    "request": {"url": "/v3/kafka/c/consumer/billing/lag", "host": "b"},
}  # fmt: skip
BURROW_TOPICS = {
    "error": False, "message": "consumer detail returned",
    "topics": {"t": [
        {"offsets": [None], "owner": "/h1", "client_id": "", "current-lag": 2},
        {"offsets": [None], "owner": "/h1", "client_id": "", "current-lag": 0},
    ]},
    "request": {"url": "/v3/kafka/c/consumer/billing", "host": "b"},
}  # fmt: skip


@pytest.mark.parametrize("value", [AKHQ, KAFBAT, JAVA, CONFLUENT], ids=lambda v: str(len(v)))
def test_json_of_tools_and_admin_clients(value):
    group = one(json.dumps(value))
    assert (group["group"], group["state"], group["strategy"]) == ("billing", "Stable", "range")
    assert [m["owned"] for m in group["members"]] == [[["t", 0]], [["t", 1]], []]
    assert group["members"][0]["id"] == "m1-1" and group["members"][0]["host"] == "/h1"
    assert group["topics"] == [
        {"name": "t", "partitions": 2}
        | ({"weights": [2, 0], "ends": [7, 5]} if value in (AKHQ, KAFBAT) else {})
    ]
    assert groups.read(json.dumps([value], indent=1)) == [group]


def test_of_an_array_it_is_told_which_entry_is_wrong():
    wrong = AKHQ | {"members": [{"id": 5}]}
    with pytest.raises(TextError, match=r"1:1: AKHQ, entry 2 of 3: id: expected a string, found"):
        groups.read(json.dumps([AKHQ, wrong, AKHQ], indent=1))
    with pytest.raises(TextError, match=r"found an object with 'what', entry 2 of 2$"):
        groups.read(json.dumps([AKHQ, {"what": 1}]))


def test_kafbat_merely_counts_members_that_hold_nothing():
    assert one(json.dumps(KAFBAT))["members"][2]["id"] == "~unknown-1"
    listed = {k: v for k, v in KAFBAT.items() if k != "partitions"}
    with pytest.raises(TextError, match="this is a list of groups"):
        groups.read(json.dumps(listed))


def test_kafka_python_has_real_subscriptions():
    sources = [DATA / f"kafka-python-3.0.12-{part}.json" for part in ("groups", "topics")]
    billing, static = groups.read(*sources)
    assert said(billing, "subscriptions") == [] and said(billing, "partitions") == []
    assert member(billing, "my client")["topics"] == ["orders.eu", "pay_ments-v2"]
    assert [m.get("instance") for m in static["members"]] == [None, "s-2", "s-1"]
    topics = {t["name"]: t for t in one(OLDER / "2.8.2-all-members.txt", sources[1],
                                        only="half-static")["topics"]}  # fmt: skip
    assert topics["wide"] == {"name": "wide", "partitions": 12, "id": "TQTYf56aSVq7Gcaoy_wMgw"}


def test_a_printed_description_of_confluent_kafka():
    found = {g["group"]: g for g in groups.read(DATA / "confluent-describe-2.16.1.txt")}
    assert found["billing-consumer"]["strategy"] == "server-uniform"
    assert found["static-classic"]["members"][0]["instance"] == "s1"
    assert found["billing-classic"]["members"][2]["owned"] is None, "it is counted and not listed"
    assert summary(found["billing-classic"])["gap"] is None
    with pytest.raises(TextError, match="expected a Python dict"):
        groups.read("{'group_id': __import__('os')}\n")


def test_kcat_may_have_been_asked_for_no_topic():
    text = """Metadata for  (from broker -1: 0.0.0.0:57242/bootstrap):
 1 brokers:
  broker 4 at localhost:57245
 1 topics:
  topic "" with 0 partitions: Broker: Invalid topic
"""
    assert one(text, FOLDED)["topics"] == one(FOLDED)["topics"]


def test_kcat_adds_partition_counts():
    members = OLDER / "2.8.2-all-members.txt"
    for name in ("kcat-1.7.1-L.txt", "kcat-1.7.1-L-J.json"):
        group = one(members, DATA / name, only="half-static")
        assert group["topics"] == [{"name": "wide", "partitions": 12}]
        assert said(group, "partitions") == []
    text = (DATA / "kcat-1.7.1-L.txt").read_text()
    assert one(members, text.replace("\n", "  \n"), only="half-static") == group
    with pytest.raises(TextError, match="expected 1 more topics .*cut off"):
        groups.read(members, text[: text.index('  topic "orders.eu"')])


def test_metrics_with_owners():
    billing, gone = groups.read(LAG_EXPORTER)
    assert [m["owned"] for m in billing["members"]] == [[["t", 0]], [["t", 1]]]
    assert billing["topics"] == [{"name": "t", "partitions": 2, "weights": [2, 0]}]
    assert gone["members"] == []
    with pytest.raises(TextError, match="expected one cluster; found 'c', 'd'"):
        groups.read(LAG_EXPORTER.replace('"c",group="gone"', '"d",group="gone"'))


def test_metrics_without_owners_still_count():
    group = one(KMINION)
    assert group["strategy"] == "range" and group["topics"][0]["weights"] == [2, 0]
    assert [m["id"] for m in group["members"]] == ["~unknown-1", "~unknown-2", "~unknown-3"]
    assert all("owned" not in m and m["topics"] == ["t"] for m in group["members"])
    assert "idle: 1" in as_text(summary(group))
    group = one(KAFKA_EXPORTER)
    assert len(group["members"]) == 3 and "weights" not in group["topics"][0]
    assert len(one(KMINION, json.dumps(AKHQ))["members"][0]["owned"]) == 1
    assert one("go_goroutines 8\nprocess_cpu_seconds_total 1.25e+01\n" + KMINION) == one(KMINION)
    assert len(groups.read(KMINION + DESCRIBE)) == 1 + len(groups.read(DESCRIBE))


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (KMINION.replace('partition_id="1"', 'partition_id="x"'), "6:1", "kminion: .*partition_id"),
        (KMINION.replace('partition_id="1",', ""), "6:1", "expected a label partition_id"),
        (KMINION.replace('topic_name="t"} 0', 'topic_name="t} 0'), "6:1", "name{labels} value"),
        ('up{job="a"} 1\n', "1:1", "expected metrics of .*kminion.*found none"),
    ],
)
def test_metrics_that_are_not_understood(text, where, what):
    with pytest.raises(TextError, match=what) as refusal:
        groups.read(text)
    assert str(refusal.value).startswith(f"<text>:{where}: ")


def test_burrow_has_hosts():
    group = one(json.dumps(BURROW))
    assert [m["id"] for m in group["members"]] == ["m1@/h1", "m2@/h2"]
    assert group["topics"][0]["weights"] == [2, 0] and "hosts" in said(group, "members")[0]
    [only] = one(json.dumps(BURROW_TOPICS))["members"]
    assert only["id"] == "/h1" and only["owned"] == [["t", 0], ["t", 1]]
    name = one(json.dumps(BURROW))["group"]
    counted = f"{{'group_id': '{name}', 'members': 1, 'partition_assignor': 'range', 'state': "
    counted += "<ConsumerGroupState.STABLE: 3>}"
    assert [m["id"] for m in one(counted, json.dumps(BURROW))["members"]] == ["m1@/h1", "m2@/h2"]
    counts = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS\nbilling m1-1 /h1 m1 1\nbilling m2-1 /h1 m2 1\n"
    group = one(counts, json.dumps(BURROW).replace("/h2", "/h1"))
    assert [m["owned"] for m in group["members"]] == [[["t", 0]], [["t", 1]]]
    bad = {**BURROW["status"], "partition_count": 8}
    with pytest.raises(TextError, match="expected 8 partitions, found 2: ask for .../lag"):
        groups.read(json.dumps({**BURROW, "status": bad}))
    with pytest.raises(TextError, match="the request failed: no such group"):
        groups.read(json.dumps({"error": True, "message": "no such group", "request": {}}))


def test_rocketmq_deals_queues_as_it_did():
    progress, connection = (
        DATA / f"rocketmq-5.3.3-{part}.txt" for part in ("progress", "connection")
    )
    group = one(progress, connection)
    assert group["group"] == "billing" and said(group, "subscriptions") == []
    assert group["topics"][1]["brokers"] == [["broker-a", 4]]
    answer = solve(group)["assignment"]
    for entry in group["members"]:
        held = {(topic, *queue.rsplit("-", 1)) for topic, queue in entry["owned"]}
        assert held == {(t, broker, str(queue)) for t, broker, queue in answer[entry["id"]]}
    assert [m["id"] for m in one(progress)["members"]] == ["10.0.0.7", "10.0.0.8", "10.0.0.9"]
    same_host = connection.read_text().replace("10.0.0.9@", "10.0.0.7@")
    assert "owned" not in one(progress, same_host)["members"][0]
    with pytest.raises(
        NotAnswerable, match="2 clients run on 10.0.0.7, and mqadmin .* names owners"
    ):
        subject(one(progress, same_host))
    indented = "\n".join("  " + line for line in connection.read_text().splitlines())
    assert one(progress, indented) == group
    broadcast = connection.read_text().replace("CLUSTERING", "BROADCASTING")
    with pytest.raises(TextError, match="a broadcasting group shares nothing"):
        groups.read(broadcast)


def test_what_mqadmin_cuts_off_is_not_taken_for_whole():
    progress = (DATA / "rocketmq-5.3.3-progress.txt").read_text()
    long, other = "a" * 64, "orders".ljust(64)
    [group] = groups.read(progress.replace(other, long))
    assert [topic["name"] for topic in group["topics"]][1] == long
    both = progress.replace(other, long).replace("pay-ments_v2".ljust(64), long)
    with pytest.raises(
        TextError, match="queue 0 of 'a+...' on 'broker-a' is there twice: topics are"
    ):
        groups.read(both)
    cut = progress.replace("%RETRY%billing".ljust(64), ("%RETRY%" + "g" * 60)[:64])
    [group] = groups.read(cut)
    assert "group" not in group
    called = "sh mqadmin consumerProgress -n h:1 -g " + "g" * 60 + " -s true\n"
    assert groups.read(called + cut)[0]["group"] == "g" * 60


def test_a_group_of_rocketmq_that_is_not_online_is_empty():
    progress = (DATA / "rocketmq-5.3.3-progress.txt").read_text()
    for number in "789":
        progress = progress.replace(f"10.0.0.{number}", "N/A     ")
    group = one(progress)
    assert group["state"] == "Empty" and group["members"] == []


# What people paste


DESCRIBE = (KAFKA / "classic-describe.txt").read_text()
STATE_OF = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\nbilling-classic h:1 (1) range {} 3\n"
DASHED = """
GROUP      TOPIC        PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID                   HOST        CLIENT-ID
my group   eu.orders_v2 0         1              3              2   my client-5f0f8b2c-0000-4000  /10.0.0.1   my client
my group   eu.orders_v2 1         1              3              2   -                             -           -
my group   -            -         -              -              -   idle one-5f0f8b2c-0000-4001   /10.0.0.2   idle one
"""


def test_names_with_spaces_dots_and_dashes_and_missing_values():
    group = one(DASHED)
    assert group["group"] == "my group" and group["topics"][0]["weights"] == [2, 2]
    assert [m["id"] for m in group["members"]] == [
        "my client-5f0f8b2c-0000-4000", "idle one-5f0f8b2c-0000-4001"
    ]  # fmt: skip
    assert member(group, "idle one")["owned"] == []
    assert summary(group)["topics"][0]["without_owner"] == 1


def barred(text, bar, rule):
    header, *rows = (line.split() for line in text.splitlines() if line.strip())
    lines = [f"{bar} " + f" {bar} ".join(cells) + f" {bar}" for cells in (header, *rows)]
    return "\n".join([lines[0], rule(len(header)), *lines[1:]])


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\n\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n".join("    " + line for line in text.splitlines()),
        lambda text: "\n".join(" ".join(line.split()) for line in text.splitlines()),
        lambda text: "```\n" + text + "\n```\n",
        lambda text: "$ kafka-consumer-groups.sh --bootstrap-server b:9092 \\\n    --describe\n" + text
        + "[root@host kafka]# ",
        lambda text: text.replace("payments        0", "payments        0", 1)
        + "\nWarning: Consumer group 'x' is rebalancing.\n".replace("'x'", "'billing-classic'"),
        lambda text: "[2026-11-20 10:00:00,123] WARN something (org.apache.kafka.X)\n" + text,
        lambda text: "10:11:12.345 [main] WARN org.apache.kafka.X - something\n" + text,
        lambda text: "[main] WARN org.apache.kafka.X - something\n" + text,
        lambda text: "log4j:ERROR Could not read configuration file from URL [file:/x].\n" + text,
        lambda text: "Java HotSpot(TM) 64-Bit Server VM warning: Sharing is off\n" + text,
        lambda text: (
            "DEPRECATED: A Log4j 1.x configuration file has been detected, which is no longer recommended.\n"
            "To use a Log4j 2.x configuration, please see https://logging.apache.org/x for details.\n"
            "You can also use the $KAFKA_HOME/config/tools-log4j2.yaml file as a starting point.\n" + text
        ),
        lambda text: "\n".join("> " + line for line in text.splitlines()),
        lambda text: "$ kafka-consumer-groups.sh --bootstrap-server b:9092 \n  --describe --all-groups\n" + text
        + "```\n\n#### members\n",
        lambda text: "{noformat}\n" + text + "{noformat}\n",
        lambda text: text.replace("GROUP", "\x1b[1;32mGROUP\x1b[0m").replace("orders", "\x1b[01;31m\x1b[Korders\x1b[m\x1b[K"),
        lambda text: barred(text, "|", lambda cells: "|---" * cells + "|"),
        lambda text: barred(text, "│", lambda cells: "├─" + "┼─" * (cells - 1) + "┤"),
        lambda text: "If you don't see a command prompt, try pressing enter.\n" + text
        + 'pod "kafka-consumer-groups" deleted\n',
        lambda text: "RocketMQLog:WARN No appenders could be found for logger (io.netty.X).\n" + text,
        lambda text: "  % Total    % Received % Xferd  Average Speed   Time    Time     Time  Current\n"
        "                                 Dload  Upload   Total   Spent    Left  Speed\n"
        "100  1857  100  1857    0     0   123k      0 --:--:-- --:--:-- --:--:--  123k\n" + text,
        lambda text: "Defaulted container \"kafka\" out of: kafka, init\n"
        "2026-11-20T10:00:00.123456Z main ERROR Reconfiguration failed\n" + text,
        lambda text: "➜  ~ kafka-consumer-groups --bootstrap-server b:9092 --describe --all-groups\n" + text
        + "➜  kafka git:(main) ✗ \n",
        lambda text: "\ufeff" + text + "\ufeff" + STATE_OF.format("Stable"),
    ],
    ids=["crlf", "blank lines", "mark", "indented", "folded", "fenced", "prompt", "stderr", "log", "logback", "slf4j", "log4j", "hotspot", "log4j 1", "quoted", "issue", "jira", "colours", "markdown", "box", "pod", "rocketmq", "curl", "kubectl", "oh my zsh", "marks"],
)  # fmt: skip
def test_a_paste_need_not_be_clean(change):
    group, clean = one(change(DESCRIBE)), one(DESCRIBE)
    group.pop("state", None)
    assert group["members"] == clean["members"] and group["topics"] == clean["topics"]


def folded(text):
    return "\n".join(" ".join(line.split()) for line in text.splitlines()) + "\n"


@pytest.mark.parametrize(
    "path",
    [p for p in sorted(OLDER.glob("*.txt")) if "describe" in p.name or "members" in p.name],
    ids=lambda path: path.stem,
)
def test_folded_spaces_leave_names_with_spaces_whole(path):
    assert groups.read(folded(path.read_text())) == groups.read(path)


WITH_SPACES = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
ROW_OF_FOLDED = "mail letters {0} 5 9 4 my app {0}-5f0f8b2c-0000-4000-8000-00000000000{0} /2001:db8:0:0:0:0:0:{0} {1}\n"


@pytest.mark.parametrize("client", ["my app {}", "worker"], ids=["dynamic", "static"])
def test_folded_spaces_do_not_make_one_member_of_several(client):
    rows = (ROW_OF_FOLDED.format(number, client.format(number)) for number in range(3))
    assert [(m["id"], m["client"], m["host"]) for m in one(WITH_SPACES + "".join(rows))["members"]] == [
        (f"my app {n}-5f0f8b2c-0000-4000-8000-00000000000{n}", client.format(n), f"/2001:db8:0:0:0:0:0:{n}")
        for n in range(3)
    ]  # fmt: skip


MEMBERS_FOLDED = "GROUP CONSUMER-ID GROUP-INSTANCE-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"


def test_a_blank_instance_and_a_group_with_a_space_are_told_apart_where_rows_are_folded():
    group = one(MEMBERS_FOLDED + "my mail a-1 /h a 1 letters(0)\nmy mail s-1 s /h b 1 letters(1)\n")
    assert group["group"] == "my mail"
    assert [(m["id"], m.get("instance"), m["client"]) for m in group["members"]] == [
        ("a-1", None, "a"), ("s-1", "s", "b")
    ]  # fmt: skip


def test_redpandas_rows_may_be_folded():
    first, second = groups.read(folded(RPK.replace("b-1", "kgo-1")))
    assert [(m["id"], m.get("instance"), m.get("client")) for m in first["members"][:2]] == [
        ("a-1", "a", "kgo"), ("kgo-1", None, "kgo")
    ]  # fmt: skip
    assert second["members"] == []


def test_stderr_may_stand_between_the_rows():
    lines = DESCRIBE.splitlines()
    lines.insert(4, "Consumer group 'batch-empty' has no active members.")
    first, second = groups.read("\n".join(lines))
    assert len(first["members"]) == 3 and second["state"] == "Empty"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_a_file_of_powershell_is_utf_16(tmp_path, encoding):
    path = tmp_path / "group.txt"
    path.write_text(DESCRIBE.lstrip(), encoding=encoding)
    assert groups.read(path) == groups.read(DESCRIBE)


def test_a_partition_with_two_owners_is_of_two_moments_unless_the_group_is_moving():
    later = DESCRIBE.replace(
        "orders          0          5               10              5               m1-cf047c56-7cc1-4526-9c03-5ec84a693a9d",
        "orders          0          5               10              5               m2-9ed0f983-a4bc-4a1b-8a71-59d8990a9e6f",
    )  # fmt: skip
    for texts in ((DESCRIBE, later), (DESCRIBE, later, STATE_OF.format("Stable"))):
        with pytest.raises(
            AssignlabError, match="orders-0 is held by m1-.* and by m2-.*two moments"
        ):
            groups.read(*texts)
    with pytest.raises(AssignlabError, match="the text is of two moments"):
        groups.read(DESCRIBE + later + STATE_OF.format("Stable"))
    more = DESCRIBE.replace("billing-classic", "billing-more   ")
    refused = []
    [alone] = groups.read(DESCRIBE + more, later, refused=refused)
    assert [error.group for error in refused] == ["billing-classic"]
    assert groups.read(DESCRIBE + more, later, only=["billing-more"]) == [alone]
    assert groups.read(DESCRIBE + more, later, only="billing-more") == [alone]
    group = one(DESCRIBE, later, STATE_OF.format("PreparingRebalance"))
    assert ["orders", 0] in member(group, "m1")["owned"]
    assert ["orders", 0] in member(group, "m2")["owned"]
    assert "orders-0 is claimed by" in said(group, "owned")[0]


# What is refused


AT_ITS_TARGET = (
    "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH"
    " TARGET-ASSIGNMENT\ng Ey9CsHGQTU+6WQn27XlsFw /h b 3 8 t:0,1;u:10 8"
)


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        (DESCRIBE[:-60], "16:77", "CONSUMER-ID"),
        ("\n".join(line[:105] for line in DESCRIBE.split("\n")), "3:1", "HOST and CLIENT-ID"),
        (DESCRIBE.replace(" 2          7", " x          7"), "5:33", "PARTITION"),
        (DESCRIBE.replace("orders          2", "or/ders         2"), "5:17", "TOPIC"),
        (DESCRIBE.replace("orders          2 ", "orders          99999999 "), "5:33", "partition"),
        (
            WITH_SPACES + "g t 0 5 9 4 my x9 10.0.0.1 my client\n",
            "2:13",
            "CONSUMER-ID with two spaces",
        ),
        (
            WITH_SPACES + "g t 0 5 9 4 my client-x9 /10.0.0.1\n",
            "2:16",
            "HOST, a host or a dash; found",
        ),
        (
            MEMBERS_FOLDED + "my mail x9 /h a 1 t(0)\n",
            "2:4",
            "CONSUMER-ID with two spaces behind it: 'mail'",
        ),
        (MEMBERS_FOLDED + "mail a-1 a /h a 2 t(5,99999999)\n", "2:23", "number, below 10,000,000"),
        (AT_ITS_TARGET + " t:0,1;u:1\n", "2:48", "with u:10, which is held at the target's epoch"),
        (AT_ITS_TARGET.replace(" 8 t", " 7 t") + " t:0,1;\n", "2:48", "like orders:0,1;payments:3"),
        (folded(AT_ITS_TARGET.replace("TARGET-ASSIGNMENT", "")), "2:1", "TARGET-ASSIGNMENT behind"),
        ("hello\n", "1:1", "kafka-consumer-groups --describe"),
        (DESCRIBE + "...\n", "17:1", "lines were left out"),
        ("<snip>\n" + DESCRIBE, "1:1", "lines were left out"),
        ("bash: kafka-topics.sh: command not found\n", "1:1", "the tool failed: bash"),
        ("Error: \n", "1:1", "the tool failed: Error:"),
        (
            "% ERROR: Failed to acquire metadata: Local: Broker transport failure\n",
            "1:1",
            "the tool",
        ),
        ("org.apache.kafka.common.errors.TimeoutException: Timed out\n", "1:1", "the tool failed"),
        (
            "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG\n  CONSUMER-ID HOST CLIENT-I\n",
            "2:1",
            "lines that are not folded",
        ),
        ('{"error": false, "message": "o\nk", "request": {}}', "1:31", "did the paste wrap"),
        ("GROUP  billing\nSTATE  Stable\nBALANCER  range\n", "5:1", "MEMBERS of 'billing'"),
        ("orders 5 10 11 1\n", "1:1", "kafka-consumer-groups --describe"),
        (
            'kafka_consumergroup_lag{consumergroup="g",partition="0",topic="t"} 1e20\n',
            "1:1",
            "1e+15 at most",
        ),
        ('{"members": [\n{"id": "a"', "2:11", "cut off"),
        ('{"what": 1}\n', "1:1", "group document"),
        ('{"members": [{"id": "a", "topics": 5}], "topics": []}', "1:1", "members[0].topics"),
        ("[" * 100_000, "1:1", "beyond reason"),
        ("Topic: orders\tPartitionCount: 3", "1:32", "ReplicationFactor"),
        ("GROUP MEMBER PROCESS CLIENT-ID ASSIGNMENTS\n", "1:1", "kafka-streams-groups"),
        ("GROUP TOPIC PARTITION OFFSET-LAG\n", "1:1", "kafka-streams-groups"),
        ("GROUP TOPIC PARTITION START-OFFSET\n", "1:1", "kafka-share-groups"),
    ],
)
def test_what_is_not_understood_is_refused_with_its_place(text, where, what):
    with pytest.raises(TextError) as refusal:
        groups.read(text + "\n")
    assert str(refusal.value).startswith(f"<text>:{where}: "), refusal.value
    assert what in str(refusal.value)


def test_an_assignment_that_is_cut_off_is_noticed():
    text = (KAFKA / "classic-members-verbose.txt").read_text()
    with pytest.raises(TextError, match="expected 6 partitions, found 5 .*cut off"):
        groups.read(text.replace("payments:0,1,2", "payments:0,1  "))
    with pytest.raises(TextError, match="CURRENT-ASSIGNMENT like"):
        groups.read(text.replace("payments:0,1,2", "payments      "))


def test_a_target_that_is_cut_off_is_noticed():
    whole = (KAFKA / "consumer-members-verbose.txt").read_text()
    cut = "\n".join(line[:165] for line in whole.splitlines())
    with pytest.raises(TextError, match="^<text>:3:145: .*with payments:6, .*cut off"):
        groups.read(cut + "\n")


@pytest.mark.parametrize("source", [None, {"members": []}, [1], b"GROUP"])
def test_what_is_no_source_is_refused(source):
    with pytest.raises(AssignlabError, match="source: expected a path, an open file, a text or"):
        groups.read(source)


def test_bytes_that_are_no_text_are_refused_with_their_place(tmp_path):
    path = tmp_path / "group.txt"
    path.write_bytes("GROUP\näb".encode() + b"\xff")
    with pytest.raises(TextError, match=":2:3: expected UTF-8, found the byte 0xff"):
        groups.read(path)
    path.write_bytes("\ufeffGROUP\nG".encode("utf-16-le") + b"R")
    with pytest.raises(TextError, match=":2:2: expected UTF-16, found the byte 0x52"):
        groups.read(path)


MIXED = [path.read_text() for path in sorted(DATA.rglob("*.txt")) if path.stat().st_size < 4000]
MIXED += [json.dumps(value) for value in (AKHQ, KAFBAT, JAVA, BURROW)] + [LAG_EXPORTER, KMINION]
PIECES = st.sampled_from(
    ["\n", " ", "-", "{", "]", '"', ",", "0", "9" * 12, "null", "\x1b[2J", "x"]
)


@pytest.mark.parametrize("path", sorted(DATA.rglob("*.txt")), ids=lambda path: path.stem)
def test_every_recording_is_shown_or_refused_in_a_line(path):
    try:
        found = groups.read(path)
    except AssignlabError as refusal:
        assert str(refusal).isprintable()
    else:
        assert all("members" in as_text(summary(group)) for group in found)


def test_a_lag_below_zero_or_told_twice_is_told_of():
    [header, *rows] = DESCRIBE.strip().splitlines()
    rows[0] = rows[0].replace("5               m1", "-5              m1")
    text = "\n".join([header, *(row for row in rows if "orders" in row)])
    group = one(text)
    assert group["topics"][0]["weights"] == [0, 5, 5, 5, 5, 5, 5]
    assert said(group, "weights") == ["weights: the lag, in records; 1 below 0, taken for 0"]
    earlier = text.replace("-5 ", "7  ")
    assert said(one(earlier, text), "weights") == [
        "weights: the lag, in records; 1 told twice, the first counts"
    ]


def test_other_json_is_named_by_its_fields():
    with pytest.raises(TextError, match="found an object with 'strategy, member'"):
        groups.read('{"strategy": "range", "member": []}')
    with pytest.raises(TextError, match="group document: topics: is missing"):
        groups.read('{"members": [{"id": "a", "topics": []}]}')


@pytest.mark.parametrize(("draws", "shown"), [(-5, "-5"), (1.5, "1.5"), ("2", "'2'")])
def test_numbers_of_a_document_are_whole_and_not_below_0(draws, shown):
    document = {"topics": [], "members": [{"id": "a"}], "draws": draws}
    wanted = f"draws: expected a whole number of 0 or more, got {shown}"
    with pytest.raises(TextError, match=wanted):
        groups.read(json.dumps(document))


def test_an_epoch_that_is_none_is_refused():
    described = {"groupid": "g", "members": [{"memberid": "m", "memberepoch": 2**31}]}
    with pytest.raises(TextError, match="memberepoch: expected an epoch, found '2147483648'"):
        groups.read(json.dumps(described))
    text = next(text for text in MIXED if "CURRENT-EPOCH" in text)
    head, row, *_ = text.strip("\n").splitlines()
    at = head.index("CURRENT-EPOCH")
    with pytest.raises(TextError, match="expected CURRENT-EPOCH, an epoch or a dash"):
        groups.read(f"{head}\n{row[:at]}999999999999    {row[at + 16 :]}\n")


@settings(max_examples=150, deadline=None)
@given(data=st.data(), text=st.sampled_from(MIXED))
def test_a_changed_text_is_read_or_refused(data, text):
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 12)))
        text = text[:start] + data.draw(PIECES) + text[end:]
    try:
        found = groups.read(text + "\n")
    except AssignlabError as refusal:
        assert str(refusal).isprintable()
    else:
        for group in found:
            parse(group)
            as_text(summary(group))


@pytest.mark.parametrize(
    "line",
    [
        "a" + " " * 50_000 + "b:1" + " " * 50_000,
        "sudo " + "a" * 100_000,
        "[root@" + "a:" * 50_000,
        "- " * 50_000,
    ],
)
def test_no_line_takes_long(line):
    start = time.monotonic()
    for head in ("GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\n", MEMBERS_FOLDED):
        with pytest.raises(TextError):
            groups.read(head + line + "\n")
    assert time.monotonic() - start < 5


def test_what_looks_like_an_aside_is_a_row_where_a_row_can_stand():
    text = DASHED.replace("my client ", "> kafka-topics --list ")
    assert "eu.orders_v2" in [t["name"] for t in one(text)["topics"]]
    assert len(one(text)["members"]) == 2


# Hostile names


HOSTILE = '\x1b]0;owned\x07\x1b[2J=HYPERLINK("http://x")<script>alert(1)</script>\x7f\u202e\u0085'


def test_hostile_names_do_no_harm_in_terminal_or_json():
    head = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
    text = f"{head}{HOSTILE} t 0 1 1 0 id{HOSTILE} /h {HOSTILE}\n"
    shown = as_text(summary(one(text)))
    assert all(c.isprintable() or c == "\n" for c in shown)
    for command in (["document"], ["show"], ["show", "--json"]):
        result = CliRunner().invoke(main, ["group", *command, "-"], input=text)
        assert result.exit_code == 0
        assert all(c.isprintable() or c == "\n" for c in result.output)
    with pytest.raises(TextError) as refusal:
        groups.read(f"{HOSTILE}\n")
    assert str(refusal.value).isprintable()


# The group document, and the commands


def test_a_group_document_is_read_as_it_is():
    document = {
        "topics": [{"name": "t", "partitions": 2}],
        "members": [{"id": "a", "topics": ["t"]}],
    }
    assert one(json.dumps(document)) == one(json.dumps(document, indent=2))
    several = json.dumps(document) + "\n" + json.dumps(document, indent=2)
    assert groups.read(several) == [{**document, "inferred": []}] * 2


def test_a_group_document_takes_nothing_from_other_texts():
    """The other group goes on; topics that are counted as in the document contradict nothing."""
    topics = "Topic: orders\tPartitionCount: {}\tReplicationFactor: 1\n".format
    told = one(*kafka("classic-describe"))
    alone = json.dumps(told)
    assert groups.read(alone, topics(7)) == [told]
    for beside, why in (
        (kafka("classic-describe")[0], "a group document tells of it and another text, too"),
        (topics(8), "orders has 7 partitions in the group document and 8 in another text"),
    ):
        with pytest.raises(GroupError, match=f"^billing-classic: {why}"):
            groups.read(alone, beside)
        refused = []
        other = json.dumps({**told, "group": "other", "topics": [{"name": "t", "partitions": 1}]})
        assert [g["group"] for g in groups.read(alone, beside, other, refused=refused)] == ["other"]
        assert [error.group for error in refused] == ["billing-classic"]


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("group", 5, "group: expected a string, got 5"),
        ("state", ["Stable"], "state: expected a string"),
        ("inferred", [None], "inferred: expected sentences"),
        ("members", [{"id": "a", "client": 1}], r"members\[0\].client: expected a string"),
        (
            "topics",
            [{"name": "t", "partitions": 1, "ends": True}],
            r"topics\[0\].ends: expected an",
        ),
    ],
)
def test_what_no_assignor_sees_of_a_document_is_checked_too(field, value, where):
    document = {
        "topics": [{"name": "t", "partitions": 1}],
        "members": [{"id": "a"}],
        "inferred": None,
    }
    assert groups.read(json.dumps(document)) == [{**document, "inferred": []}]
    with pytest.raises(TextError, match=where):
        groups.read(json.dumps({**document, field: value}))


def test_documents_come_one_a_line_and_can_be_read_again():
    path = str(KAFKA / "all-groups-describe.txt")
    result = CliRunner().invoke(main, ["group", "document", path])
    assert result.exit_code == 0 and len(result.output.splitlines()) == 7
    again = CliRunner().invoke(main, ["group", "document", "-"], input=result.output)
    assert again.output == result.output


def test_show_tells_sizes_gap_and_idle_members():
    path = str(KAFKA / "idle-classic-members-verbose.txt")
    result = CliRunner().invoke(main, ["group", "show", path])
    assert "the fullest member holds 1, the emptiest 0 (gap 1), 1 idle" in result.output
    assert result.output.index("inferred:") < result.output.index("fullest")
    [found] = json.loads(CliRunner().invoke(main, ["group", "show", "--json", path]).output)
    assert found["gap"] == 1 and found["idle"] == ["c3-76c42c8b-50eb-4ca8-8fb7-b39f2b33ed39"]
    assert found["topics"][0] == {
        "topic": "small", "partitions": 2, "subscribers": 3, "fullest": 1, "emptiest": 0, "gap": 1,
        "without_owner": 0, "weight": None,
    }  # fmt: skip


def test_counts_beyond_reason_are_refused_at_once():
    members = 'kafka_consumergroup_members{consumergroup="billing"} 1e12\n'
    with pytest.raises(AssignlabError, match="billing: 1000000000000 members are counted"):
        groups.read(members)
    topic = "Topic: orders PartitionCount: 999999999 ReplicationFactor: 1"
    [group] = groups.read(DESCRIBE, topic + " Configs:\n")
    assert group["topics"][0]["partitions"] == 999_999_999 and "ends" not in group["topics"][0]


def test_a_closed_standard_input_is_refused(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(AssignlabError, match="closed"):
        groups.read("-")


def test_exit_codes():
    runner = CliRunner()
    assert runner.invoke(main, ["group", "show", "-"], input="hello\n").exit_code == 1
    missing = runner.invoke(main, ["group", "show", "no-such-file"])
    assert missing.exit_code == 2 and "no-such-file: No such file" in missing.output


# The formats as data


def test_strategies_that_are_inferred_exist():
    assert {*CAME_WITH, inference.ROCKETMQ} <= set(assignors.names())


def test_the_documentation_names_every_format():
    text = YOUR_GROUP.read_text()
    for form in formats.all_formats():
        assert f"`{form.name.removesuffix(' (refused)')}`" in text, form.name


def test_texts_of_two_moments_are_told_and_an_empty_one_is_refused(tmp_path):
    rows = (
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
        "g     t     0         1              1              0   a-1         /h   a\n"
        "g     t     1         1              1              0   b-1         /h   b\n\n"
    )
    members = (
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
        "g     a-1         /h   a         1           t(0)\n"
        "g     b-1         /h   b         1           t(1)\n\n"
    )
    state = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\ng h:1 (1) range {}\n"
    [group] = groups.read(members, state.format("Stable 4"))  # --members lists every one
    assert [each["id"] for each in group["members"]] == ["a-1", "b-1"]
    assert "members: 4 are counted and 2 named: the texts are of two moments" in group["inferred"]
    for text, told in (
        ("Stable 1", "members: 1 are counted and 2 named: the texts are of two moments"),
        ("Empty 2", "state: Empty, and members are named: the texts are of two moments"),
    ):
        [group] = groups.read(rows, state.format(text))
        assert told in group["inferred"]
    [group] = groups.read(rows, state.format("Stable 2"))
    assert not any("two moments" in line for line in group["inferred"])
    another = state.format("Empty 0").replace("range", "sticky")
    [group] = groups.read(rows, state.format("Stable 2"), another)
    assert (group["state"], group["assignor"]) == ("Stable", "range")
    for told in ("state: Stable and Empty are told", "strategy: range and sticky are told"):
        assert any(line.startswith(told) for line in group["inferred"])
    topics = "Topic: t\tTopicId: AAAAAAAAAAAAAAAAAAAAAQ\tPartitionCount: 1\tReplicationFactor: 1\n"
    [group] = groups.read(rows, state.format("Stable 2"), topics)
    assert group["topics"][0]["partitions"] == 2
    told = "t has 1 by one text, in another its number 1 is held"
    assert any(told in line for line in group["inferred"])
    left = rows.replace(
        "1         1              1              0   b-1         /h   b",
        "1         1              -              -   -           -    -",
    )
    [group] = groups.read(
        left, topics
    )  # a smaller topic of that name, and what is left of the old one
    assert group["topics"][0]["partitions"] == 1
    empty = tmp_path / "nothing.txt"
    empty.write_text("\n")
    for blank in ("", " "):  # what a tool that failed leaves in a variable
        with pytest.raises(TextError, match="the text is empty: did the tool fail"):
            groups.read(blank)
    with pytest.raises(TextError, match=r"nothing\.txt.*the text is empty"):
        groups.read(empty)


def test_counts_of_partitions_that_differ_are_told():
    listed = json.dumps({"originating_broker": {}, "topics": [
        {"topic": "orders", "partitions": [{"partition": n} for n in range(12)]},
        {"topic": "payments", "partitions": [{"partition": n} for n in range(8)]},
    ]})  # fmt: skip
    told = "partitions: orders has 9 by one text, 12 by another: the texts are of two moments"
    group = one(*kafka("classic-describe"), TOPICS, listed)
    assert said(group, "partitions") == [told + ", or of two clusters"]
    assert group["topics"][0]["partitions"] == 9


def test_who_counts_other_members_is_of_another_moment_whatever_comes_first():
    five = KMINION.replace('"billing"} 3', '"billing"} 5')
    told = "members: 5 are counted and 3 named: the texts are of two moments"
    for listed in (AKHQ, JAVA, CONFLUENT):  # of these every one lists all members
        for texts in ((json.dumps(listed), five), (five, json.dumps(listed))):
            group = one(*texts)
            assert len(group["members"]) == 3 and told in group["inferred"]
    told = "members: 5 are counted and 3 counted by another: the texts are of two moments"
    assert told in one(KAFKA_EXPORTER, five)["inferred"]


def test_an_idle_member_reads_what_others_of_its_client_id_do():
    members = (
        "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
        "g     orders-1-x  /h   orders-1  3           o(0,1,2)\n"
        "g     orders-2-x  /h   orders-2  3           o(3,4,5)\n"
        "g     mail-1-x    /h   mail-1    1           m(0)\n"
        "g     mail-2-x    /h   mail-2    0           -\n"
        "g     other-x     /h   other     0           -\n\n"
    )
    state = "GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\ng h:1 (1) range Stable 5\n"
    [group] = groups.read(members, state)
    assert [member["topics"] for member in group["members"]] == [
        ["o"], ["o"], ["m"], ["m"], ["o", "m"],
    ]  # fmt: skip
    assert "what others of their client id hold" in said(group, "subscriptions")[0]


def test_who_has_yet_to_give_up_what_is_said_and_who_waits():
    members = (
        "GROUP CONSUMER-ID            HOST CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT"
        " TARGET-EPOCH TARGET-ASSIGNMENT\n"
        "g     Ey9CsHGQTU+6WQn27XlsFw /h   b1        3           7             t:0,1,2            8"
        "            t:0\n"
        "g     s37drZHjRyGGkCvulgXHCw /h   b2        0           8             -                  8"
        "            t:1,2\n"
    )
    group = one(members)
    told = "owned: Ey9CsHGQTU+6WQn27XlsFw has yet to give up t-1, t-2, for which s37drZHjRyGGkCvulgXHCw waits"
    assert told in group["inferred"]
    assert [member["owned"] for member in group["members"]] == [[["t", 0]], [["t", 1], ["t", 2]]]


def test_a_field_that_stands_twice_is_refused():
    with pytest.raises(TextError, match="1:1: the field 'members' stands twice"):
        groups.read('{"group": "g", "topics": [], "members": [], "members": []}')


def test_round_robin_of_kafka_go_deals_topics_by_themselves():
    """Its first member has one of every topic more; of Java's that would tell of subscriptions."""
    id, client = "1e2feb89-414c-443c-9027-c4d1c386bbc", "app@h (github.com/segmentio/kafka-go)"
    for name, topics in ((client, {"t", "u"}), ("app", {"t"})):
        text = (
            "\nGROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\n"
            f"g {name}-{id}0 /10.0.0.1 {name} 3 t(0,2), u(0)\n"
            f"g {name}-{id}1 /10.0.0.2 {name} 1 t(1)\n"
            "\nGROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\n"
            "g h:9092 (1) roundrobin Stable 2\n"
        )
        [group] = groups.read(text)
        assert {*group["members"][1]["topics"]} == topics
