"""group show: the law behind the gap, who would have given this, load and rates."""

import json

import pytest
from click.testing import CliRunner

from assignlab import assignors, groups
from assignlab.advice import pauses, recommend, show
from assignlab.advice.alike import alike, candidates
from assignlab.advice.law import PER_TOPIC, law
from assignlab.advice.load import load, with_rates
from assignlab.advice.subject import NotAnswerable, subject
from assignlab.cli import main
from assignlab.errors import AssignlabError, OriginalError
from assignlab.group.assignment import partition_names
from assignlab.groups import inference
from assignlab.groups.show import sentence, summary
from assignlab.releases import CAME_WITH, NEWEST
from conftest import RECORDED, document


def names(found):
    return {row[0] for row in found[1].rows}


def test_range_of_3_and_5_partitions_has_its_law_and_is_recognised(range_3_5):
    asked = subject(range_3_5)
    said = law(asked)
    assert "2 of 2 topics do not divide" in said and "at most 2: here it is 2" in said
    assert "least possible is 0" in said
    found = names(alike(asked))
    assert "range" in found and "roundrobin" not in found
    [row] = [row for row in alike(asked)[1].rows if row[0] == "range"]
    assert row[2:] == (f"0.9.0 to {NEWEST}", True, None)


def test_what_no_strategy_gives_is_told(range_3_5):
    first, last = range_3_5["members"][0], range_3_5["members"][3]
    last["owned"] += first["owned"][:2]
    first["owned"] = first["owned"][2:]
    said, table = alike(subject(range_3_5))
    assert said.startswith("None of ") and table.rows == []


def test_a_sticky_group_is_found_by_keeping_what_it_holds():
    held = [["t-1", "t-2"], ["t-0", "t-3"]]
    asked = subject(document({"t": 4}, held, "sticky"))
    rows = {row[0]: row for row in alike(asked)[1].rows}
    assert rows["sticky"][3:] == (False, True) and "range" not in rows
    assert "2 each, the least gap is 0, and so it is here" in law(asked)


def test_every_kafka_client_is_played_where_the_text_or_a_member_id_names_it():
    group = document({"t": 2}, [["t-0"], ["t-1"]], None)
    clients = {s.name: s for s in assignors.strategies().values() if s.of_clients}
    unnamed = {s.name for s in candidates(subject(group))}
    assert unnamed == {name for name, s in clients.items() if s.system == "Kafka consumer"}
    for name, strategy in clients.items():
        named = candidates(subject(group | {"assignor": strategy.kind}))
        assert name in {s.name for s in named}
        group["members"][0]["id"] = f"{strategy.client_id or 'x-'}1"
        found = {s.name for s in candidates(subject(group))}
        assert (name in found) == (name in unnamed or strategy.client_id != "")


def test_laws_of_small_and_of_mixed_groups(range_3_5):
    late = document({"t": 5}, [["t-0", "t-1"], ["t-2", "t-3", "t-4"]], "kafka-go-range")
    assert "gives the last member, but never the first, one more" in law(subject(late))
    few = document({"t": 1}, [["t-0"], []], "roundrobin")
    assert "1 partition for 2 members: any strategy leaves at least 1 without; now it is 1" in law(
        subject(few)
    )
    range_3_5["members"][0]["topics"] = ["a"]
    range_3_5["members"][0]["owned"] = [["a", 0]]
    assert "2 of 8 partitions have no owner" in law(subject(range_3_5))
    for claims in ([["a", 0], ["a", 0]], [["a", 0], ["a", 99]]):  # neither gives an owner more
        range_3_5["members"][0]["owned"] = claims
        assert "2 of 8 partitions have no owner" in law(subject(range_3_5))
    strays = document({"t": 2, "u": 1}, [["t-0", "t-1"], ["u-0"]], "range")
    strays["members"][0]["topics"] = ["u"]
    strays["members"][1]["topics"] = ["t", "u"]
    assert law(subject(strays)).startswith("2 partitions held that are not there, held by another")
    gone = document(
        {"t": 2}, [["t-0", "t-2"], ["t-1", "t-2"]], "range"
    )  # one, which two members claim
    assert law(subject(gone)).startswith("1 partition held that is not there, held by another")
    mixed = document({"a": 4, "b": 1}, [["a-0", "a-1", "a-2", "a-3"], ["b-0"]], "sticky")
    mixed["members"][0]["topics"], mixed["members"][1]["topics"] = ["a"], ["b"]
    assert "smaller gap than 3, this one has 3" in law(subject(mixed))


@pytest.mark.parametrize("strategy", ["range", "sticky"])
def test_no_law_promises_a_gap_that_is_not_there(strategy):
    """Members that read other topics than others, and a group that its strategy never made."""
    whole = [f"a-{p}" for p in range(10)]
    unequal = document({"a": 10, "b": 3}, [whole, ["b-0", "b-2"], ["b-1"]], strategy)
    for member, topics in zip(unequal["members"], (["a"], ["b"], ["b"]), strict=True):
        member["topics"] = topics
    said = law(subject(unequal))
    assert "different topics" in said and "this one has 9" in said and "at most" not in said
    assert ("deals every topic by itself" in said) == (strategy == "range")
    foreign = document({"a": 7}, [whole[:3], whole[3:6], whole[6:7]], strategy)
    assert "the gap of 2" in law(subject(foreign)) and "elsewhere" in law(subject(foreign))


def test_sets_of_members_are_one_where_a_member_reads_of_both():
    group = document({"a": 2, "b": 2}, [["a-0", "b-0"], ["a-1"], ["b-1"]], "sticky")
    _, first, second = group["members"]
    first["topics"], second["topics"] = ["a"], ["b"]
    assert "in common" not in law(subject(group))


def test_a_group_of_the_consumer_protocol_is_asked_of_the_coordinators_strategies():
    text = (RECORDED / "consumer-members-verbose.txt").read_text()
    group = groups.read(text)[0]
    assert "strategy" not in group
    assert {s.system for s in candidates(subject(group))} == {"Kafka coordinator"}


def test_an_empty_group_is_known_to_hold_nothing():
    empty = document({"t": 2}, [], group="empty", state="Empty")
    assert sentence(summary(empty)) == "0 members, 2 partitions of 1 topic; nobody holds anything."


def test_a_topic_without_weights_weighs_1_for_each_beside_one_that_has_some(range_3_5):
    first, second = range_3_5["topics"]
    [said], [table] = load(range_3_5 | {"topics": [first | {"weights": [10.0] * 3}, second]})
    assert "most loaded member has 12" in said and len(table.rows) == 4


def test_rocketmq_is_told_its_own_tool():
    text = RECORDED.parent / "rocketmq-5.3.3-connection.txt"
    with pytest.raises(NotAnswerable, match="mqadmin consumerProgress"):
        subject(groups.read(text)[0])


def test_of_members_that_are_only_counted_nothing_is_concluded():
    [group] = groups.read(
        RECORDED.parent / "confluent-describe-2.16.1.txt", only=["billing-classic"]
    )
    assert [member["partitions"] for member in summary(group)["members"]] == [4, 6, None]
    with pytest.raises(NotAnswerable, match="does not say what ~unknown-1 holds"):
        subject(group)
    told = show.answer(group)
    assert len(told.said) == 1 and not told.tables
    newcomer = document({"t": 2}, [["t-0", "t-1"], []], "sticky")
    del newcomer["members"][1]["owned"]
    assert summary(newcomer)["gap"] == 2, "who claims nothing in a document holds nothing"


@pytest.mark.parametrize(
    "name", [name for name in assignors.names() if not assignors.get(name).shares]
)
def test_what_a_strategy_gives_has_no_gap_from_elsewhere(name):
    """Two topics of four partitions over three members, from nothing."""
    group = document({"a": 4, "b": 4}, [[], [], []], name)
    try:
        given = assignors.get(name).assign(subject(group).group)
    except OriginalError:
        pytest.skip("asks for machine rooms")
    for number, member in enumerate(group["members"]):
        member["owned"] = partition_names(subject(group).group, given.of(number))
    asked = subject(group)
    if asked.held.sizes.sum() < 8:
        return  # RocketMQ's give nothing without settings
    said, gap = law(asked), asked.held.sizes.max() - asked.held.sizes.min()
    assert "elsewhere" not in said and f"{gap}" in said
    assert gap == 1 or "deals every topic by itself" in said or "does not promise" in said


def test_load_per_member_and_its_bound(range_3_5):
    topics = [{**t, "weights": [10.0] * t["partitions"]} for t in range_3_5["topics"]]
    topics[0]["weights"][0] = 100.0
    [said], [table] = load(range_3_5 | {"topics": topics})
    assert "most loaded member has 120" in said and "below 100" in said
    assert table.rows[0][2:] == (3, "a-0: 100")
    assert load(range_3_5) == ([], [])


HEAD = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"


def test_two_snapshots_tell_rates():
    def snapshot(end):
        return HEAD + f"g t 0 5 {end} 5 m1 /h m1\ng t 1 5 100 0 m2 /h m2\n"

    [before], [after] = groups.read(snapshot(100)), groups.read(snapshot(700))
    rated = with_rates(before, after, 60)
    assert rated["topics"][0]["weights"] == [10.0, 0.0]
    assert any("600 records in 60 s" in sentence for sentence in rated["inferred"])
    assert "most loaded member has 10," in load(rated)[0][0]
    queues = {"topics": [{"name": "q", "brokers": [["b", 2]], "ends": [1, 2]}]}
    assert with_rates(queues, queues, 1)["topics"][0]["weights"] == [0.0, 0.0]
    with pytest.raises(AssignlabError, match="a log of t ends earlier in the later snapshot"):
        with_rates(after, before, 60)
    [cut] = groups.read(snapshot(700).replace("g t 1 5 100 0 m2 /h m2\n", ""))
    with pytest.raises(AssignlabError, match="log end of every partition of t"):
        with_rates(before, cut, 60)
    del after["topics"][0]["ends"]
    with pytest.raises(AssignlabError, match="log end of every partition of t"):
        with_rates(before, after, 60)


def test_no_assignment_is_below_the_bound_that_the_optimum_has():
    group = document({"t": 3}, [["t-0", "t-1"], ["t-2"]])
    group["topics"][0]["weights"] = [10.0, 10.0, 10.0]
    [said], _ = load(group)
    assert "the most loaded member has 20, the mean is 15; no assignment can be below 20." in said


def test_what_members_hold_of_topics_that_nobody_reads_is_no_owner_of_what_they_read():
    group = document({"t": 3, "u": 1}, [["t-0", "u-0"], ["t-1"]])
    for member in group["members"]:
        member["topics"] = ["t"]
    for topic in group["topics"]:
        topic["weights"] = [10.0] * topic["partitions"]
    [said], _ = load(group)
    told = "has 20, partitions without an owner 10; no assignment of all can be below 20."
    assert told in said


COUNTED = """
GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS
g b:9092 (1) {} Stable {}
"""


def test_members_that_are_only_counted_are_the_last_of_those_that_range_deals_to():
    [group] = groups.read(HEAD + "g t 0 5 9 4 web-1 /h web\n" + COUNTED.format("range", 3))
    found = names(alike(subject(group)))
    assert {"range", "roundrobin"} <= found, found
    assert [m["id"] for m in group["members"]] == ["web-1", "~unknown-1", "~unknown-2"]


def test_between_two_cooperative_rebalances_numbers_tell_nothing_of_subscriptions():
    rows = "g t 0 5 9 4 a /h a\ng t 1 5 9 4 a /h a\ng t 2 5 9 4 - - -\ng u 0 5 9 4 b /h b\n"
    [group] = groups.read(HEAD + rows + COUNTED.format("cooperative-sticky", 2))
    assert [m["topics"] for m in group["members"]] == [["t", "u"]] * 2
    assert law(subject(group)).startswith("1 of 4 partitions has no owner")
    settled = rows.replace("g t 2 5 9 4 - - -", "g t 2 5 9 4 a /h a")
    [group] = groups.read(HEAD + settled + COUNTED.format("cooperative-sticky", 2))
    assert [m["topics"] for m in group["members"]] == [["t"], ["u"]]


def test_kafkajs_is_known_by_the_name_of_its_assigner():
    rows = "g t 0 5 9 4 a-1 /h a\ng t 1 5 9 4 a-2 /h a\n"
    [group] = groups.read(HEAD + rows + COUNTED.format("RoundRobinAssigner", 2))
    assert group["strategy"] == "kafkajs-roundrobin"
    assert "kafkajs-roundrobin" in names(alike(subject(group)))


@pytest.mark.slow
def test_idle_members_are_counted_by_what_they_may_read():
    group = document({"a": 1, "b": 6}, [["a-0"], [], [], [f"b-{n}" for n in range(6)]])
    for member, topic in zip(group["members"], "aaab", strict=True):
        member["topics"] = [topic]
    assert "leaves at least 2 without; now it is 2." in law(subject(group))
    report = recommend.report(group, "4.4", pauses.settings())
    assert any("anything for 2 members: run so many fewer" in said for said in report.said)


def test_topics_that_nobody_reads_are_not_counted_in_the_first_sentence():
    rows = "g t 0 5 9 4 a /h a\ng gone 0 5 9 4 - - -\n"
    [group] = groups.read(HEAD + rows + COUNTED.format("range", 1))
    assert sentence(summary(group)).startswith("1 member, 1 partition of 1 topic:")


def test_the_command_takes_a_later_snapshot(tmp_path):
    for name, end in (("now", 100), ("later", 400)):
        (tmp_path / name).write_text(HEAD + f"g t 0 5 {end} 5 m1 /h m1\n")
    now, later = str(tmp_path / "now"), str(tmp_path / "later")
    runner = CliRunner()
    said = runner.invoke(main, ["group", "show", now, "--then", later, "--apart", "30", "--json"])
    [found] = json.loads(said.output)
    assert found["load"][0]["records_a_second"] == 10 and found["gap"] == 0
    both = tmp_path / "both.jsonl"
    both.write_text("\n".join(json.dumps(groups.read(text)[0]) for text in (later, now)))
    said = runner.invoke(main, ["group", "show", now, "--then", str(both), "--apart", "30"])
    assert (
        said.exit_code == 1 and "g: the later snapshot has the group more than once" in said.output
    )
    assert runner.invoke(main, ["group", "show", now, "--then", later]).exit_code == 2


def test_groups_that_cannot_be_asked_say_why():
    [group] = groups.read(RECORDED / "classic-members.txt")
    assert "add kafka-consumer-groups --describe" in show.text(group)
    with pytest.raises(NotAnswerable, match="names no members"):
        subject(document({"t": 1}, []))


HOSTILE = "<script>alert(1)</script>\x1b[2J"


def test_hostile_names_do_no_harm_in_a_page_and_in_a_terminal(tmp_path, range_3_5):
    range_3_5["group"] = range_3_5["members"][0]["client"] = HOSTILE
    range_3_5["inferred"] = [HOSTILE]
    source, page = tmp_path / "group.json", tmp_path / "page.html"
    source.write_text(json.dumps(range_3_5))
    runner = CliRunner()
    assert runner.invoke(main, ["group", "show", str(source), "--html", str(page)]).exit_code == 0
    text = page.read_text()
    assert "<script" not in text and "\x1b" not in text and "&lt;script&gt;" in text
    assert "http" not in text.replace("http-equiv", "")
    for option in ([], ["--json"]):
        assert "\x1b" not in runner.invoke(main, ["group", "show", str(source), *option]).output


def test_of_a_group_on_the_move_that_comes_first(range_3_5):
    assert "PreparingRebalance" not in show.data(range_3_5)["said"][0]
    told = show.data(range_3_5 | {"state": "PreparingRebalance"})["said"]
    assert (
        told[0].startswith("The group is in PreparingRebalance") and "when it is Stable" in told[0]
    )


def test_racks_count_where_members_and_replicas_have_them(range_3_5):
    zones = json.loads((RECORDED.parent / "made" / "zones.json").read_text())
    told = show.data(zones)
    assert any(
        said.startswith("4 of 6 partitions have a replica in the rack") for said in told["said"]
    )
    rows = {(row["strategy"], row["releases"]): row["in_own_rack"] for row in told["racks"]}
    after = rows["server-uniform", f"3.8.0 to {NEWEST}"]
    assert rows["server-uniform", "3.7.0 to 3.7.2"] == 6 > after
    assert rows["range", f"3.5.0 to {NEWEST}"] > rows["range", "0.9.0 to 3.4.1"] == 4
    for row in told["racks"]:
        assert row["fullest"] == row["emptiest"] == 2
    assert "racks" not in show.data(range_3_5)
    for one in range_3_5["topics"]:
        one["racks"] = [["z"]] * one["partitions"]
    for member in range_3_5["members"]:
        member["rack"] = "z"
    [row] = [row for row in show.data(range_3_5)["racks"] if row["strategy"] == "range"]
    zones["members"][0]["owned"].append([zones["topics"][0]["name"], 99])
    assert any("not there" in said for said in show.data(zones)["said"])
    assert (row["in_own_rack"], row["fullest"], row["emptiest"]) == (8, 3, 1)


def test_racks_are_those_under_strategies_that_the_members_client_has():
    text = (RECORDED.parent / "made" / "zones.json").read_text()
    near = {}
    for client, ids in (("librdkafka", "rdkafka-"), ("aiokafka", "aiokafka-0.14.0-")):
        told = show.data(json.loads(text.replace("billing-", ids)))["racks"]
        assert all(row["strategy"].startswith((client, "server-")) for row in told)
        near |= {row["strategy"]: row["in_own_rack"] for row in told}
    assert near["librdkafka-range"] == 5 and near["librdkafka-cooperative-sticky"] == 6
    assert near["aiokafka-range"] == near["aiokafka-sticky"] == 4
    assert not any(row["strategy"].startswith("server-") for row in told)  # it has no KIP-848


def test_texts_that_name_no_subscriptions_are_read_by_what_strategies_promise():
    told = (*CAME_WITH, inference.ROCKETMQ)
    promising = {name for name in told if PER_TOPIC & {*assignors.get(name).promises}}
    assert promising == {*inference.BY_TOPIC}


def test_fields_of_a_topic_that_are_null_are_as_if_left_out(range_3_5):
    plain = show.text(range_3_5)
    for topic in range_3_5["topics"]:
        topic |= {"brokers": None, "weights": None, "racks": None, "id": None}
    assert show.text(range_3_5) == plain
    range_3_5["topics"][0]["weights"] = [1, 2, 3]
    assert load(range_3_5)[0]


def test_weights_of_topics_that_nobody_subscribes_to_are_no_load(range_3_5):
    for topic in range_3_5["topics"]:
        topic["weights"] = [1] * topic["partitions"]
    for member in range_3_5["members"]:
        member["topics"] = []
    assert load(range_3_5) == ([], [])
    assert "held that are not there" in show.text(range_3_5)


def test_claims_by_a_topics_id_are_those_of_the_topic(range_3_5):
    range_3_5["topics"][0]["weights"] = [1, 2, 3]
    by_name, loads = summary(range_3_5), load(range_3_5)
    ids = {}
    for number, topic in enumerate(range_3_5["topics"]):
        topic["id"] = ids[topic["name"]] = "AAAAAAAAAAAAAAAAAAAAA" + "AQ"[number]
    for member in range_3_5["members"]:
        member["owned"] = [[ids[name], partition] for name, partition in member["owned"]]
    assert summary(range_3_5) == by_name and load(range_3_5) == loads != ([], [])
    assert [topic["without_owner"] for topic in by_name["topics"]] == [0, 0]
