"""Recorded groups of real brokers, played again by the timeline: what agrees, and what is known not to."""

import json
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from assignlab.errors import UnknownName
from assignlab.jvm.names import Names
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality import beside, known, record, recording, scripts
from assignlab.reality.hosts import IN_GO, JAVA, KAFKAJS, PACKAGES, Client
from assignlab.timeline import simulation
from assignlab.timeline.scenario import Member, leave

RECORDED = recording.all_of()
CLIENTS = (Path(__file__).parents[2] / "docs" / "clients.md").read_text(encoding="utf-8")
OTHERS = (*PACKAGES, *IN_GO, KAFKAJS)
MOVES = "coordinator_moves"


@pytest.fixture(scope="module")
def compared():
    return beside.compare(RECORDED)


def test_every_difference_is_known_and_every_known_one_is_there(compared):
    new, gone = known.news(compared)
    assert not new, "differ, and known.yaml does not say why"
    assert not gone, "known.yaml says that they differ, and they do not"


def test_topics_that_are_created_later_have_their_ids_too():
    """Assignors walk topics in the order of hash tables of ids."""
    one = next(one for one in RECORDED if one["name"] == "pattern.range")
    [made] = one["actions"]
    with_id = one | {"actions": [made | {"id": "AAAAAAAAAAAAAAAAAAAAAQ"}]}
    assert beside.ids_of(with_id)[made["creates"][0]] == ["AAAAAAAAAAAAAAAAAAAAAQ"]
    assert recording.scenario_of(with_id) == recording.scenario_of(one)


def test_most_of_what_happened_is_what_the_timeline_says(compared):
    equal = compared.groupby("check")["equal"].mean()
    assert equal["owners"] > 0.9
    assert equal.min() > 0.7


def test_what_one_of_the_plays_has_is_told_as_that_one_has_it(compared):
    counted = compared[compared["check"].isin(["rounds", "owners", "callbacks"])]
    assert (counted["equal"] == (counted["real"] == counted["predicted"])).all()
    assert (counted["equal"] == (counted["alike"] > 0)).all()
    assert counted["alike"].mean() < counted["equal"].mean(), "no play is right everywhere"


@pytest.fixture(scope="module")
def as_javas():
    """Groups of other clients, their members played as Java's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(simulation, "client_named", lambda *member: "")
        return beside.compare(one for one in RECORDED if any(c in one["client"] for c in OTHERS))


@pytest.mark.parametrize("client", OTHERS)
def test_the_page_on_clients_has_their_recorded_groups_as_they_are_played(
    client, compared, as_javas
):
    own, javas = (c[c["client"].str.contains(client)] for c in (compared, as_javas))
    groups = len(own.groupby(["broker", "scenario"]))
    section = CLIENTS.lower().partition(f"\n### {client}\n")[2].partition("\n##")[0]
    assert (
        f"of {groups} recorded groups on {' and '.join(sorted(own['broker'].unique())[::-1])}, "
        f"{own['equal'].sum():,} of {len(own):,} checks are as the timeline says, and "
        f"{javas['equal'].sum()} where these members are played as java's"
    ) in " ".join(section.split())


@pytest.mark.parametrize("release", recording.releases())
def test_every_script_that_a_broker_can_play_is_recorded(release):
    names = {one["name"] for one in RECORDED if one["broker"] == release}
    assert names == {script.name for script in scripts.for_release(release)}


@pytest.mark.parametrize("release", recording.releases())
def test_a_group_whose_coordinator_moves_has_a_partition_of_the_offsets_topic_for_itself(release):
    found = {}
    for one in RECORDED:
        moves = any(action["kind"] == MOVES for action in one["actions"])
        if one["broker"] == release and moves and not scripts.SCRIPTS[one["name"]].restarts:
            partitions = one["broker_settings"]["offsets.topic.num.partitions"]
            [hashed] = Names([one["name"]]).hashes.tolist()
            found.setdefault((hashed & 0x7FFFFFFF) % partitions, []).append(one["name"])
    assert found
    assert [names for names in found.values() if len(names) > 1] == []


def test_recordings_name_no_machine():
    text = json.dumps(RECORDED)
    assert not re.search(r"/tmp|/home|/root|127\.0\.0\.1|localhost|:\d{4,5}\b", text)


def test_a_comparison_sees_another_owner_another_call_and_another_time():
    (one,) = [r for r in RECORDED if r["name"] == "join-leave.range"][:1]
    other = json.loads(json.dumps(one))
    given = [event for event in other["events"] if event["kind"] == "assigned"]
    given[-1]["partitions"] = given[-1]["partitions"][1:]
    for event in given[-2:]:
        event["at"] += 3_000
    before, after = (
        beside.compare([r]).set_index(["step", "check"])["equal"] for r in (one, other)
    )
    changed = before & ~after
    last = max(step for step, _ in changed.index)
    assert changed[last, "owners"]
    assert changed[last, "callbacks"]
    assert changed[last, "settled"]
    assert changed[last, "gap"]


def test_a_process_that_closes_late_takes_nothing_from_the_next_one_of_its_member():
    """As a static member that closes while its JoinGroup waits."""
    (one,) = [r for r in RECORDED if (r["name"], r["broker"]) == ("static-restart.range", "4.4.0")]
    late = json.loads(json.dumps(one))
    [closed] = [event for event in late["events"] if event["kind"] == "closed"]
    given = next(e for e in late["events"] if e["kind"] == "assigned" and e["at"] > closed["at"])
    assert closed["member"] == given["member"] == "b"
    closed["at"] = given["at"] + 5
    last = max(step.number for step in beside.steps(late))
    found, other = (
        beside.measured(beside.real(r), beside.steps(r)[last], server=False)["owners"]
        for r in (one, late)
    )
    assert found == other and "b" in dict(other)


def of_records(found):
    compared = beside.compare([found]).set_index(["step", "check"])
    last = max(step for step, _ in compared.index)
    return {check: compared.loc[(last, check)] for check in beside.OF_RECORDS}


@pytest.mark.parametrize(
    ("name", "costs"),
    [
        ("crash-commit-auto.range", "repeated"),
        ("crash-commit-after.range", "repeated"),
        ("crash-commit-before.range", "lost"),
    ],
)
def test_a_crash_repeats_what_is_not_committed_or_loses_what_is_not_processed(name, costs):
    (one,) = [r for r in RECORDED if r["name"] == name]
    crash = next(action for action in one["actions"] if action["kind"] == "crash")
    found = real_amounts(one, crash["at"])
    assert found.pop(costs) > 50
    assert set(found.values()) == {0}


def real_amounts(one, since):
    play = beside.real(one)
    return {
        name: sum(amount.records for amount in getattr(play, name) if amount.at >= since)
        for name in beside.AMOUNTS
    }


def test_what_is_processed_twice_or_never_is_counted_and_a_difference_is_seen():
    got = [("a", 0, 9, "t-0", 0, 50), ("b", 10, 19, "t-0", 40, 60), ("a", 20, 29, "t-0", 70, 80)]
    play = beside.real({"records": got, "events": [], "actions": []})
    assert play.repeated == [(10, "t-0", 10)]
    assert play.lost == [(20, "t-0", 10)]
    (one,) = [r for r in RECORDED if r["name"] == "leave-commit-auto.range"]
    assert of_records(one)["repeated"].equal
    other = json.loads(json.dumps(one))
    member, _, until, partition, _, stop = other["records"][-1]
    other["records"].append([member, until, until, partition, stop - 1, stop])
    other["events"].append({"at": until, "kind": "refused", "member": member, "error": "Some"})
    found = of_records(other)
    assert not found["repeated"].equal
    assert not found["refused"].equal
    assert found["lost"].equal


def test_deliveries_of_a_member_are_one_row_until_somebody_else_reads_on():
    got = [
        recording.Got("a", 1, 1, "t-0", 0, 5),
        recording.Got("a", 2, 2, "t-0", 5, 7),
        recording.Got("b", 3, 3, "t-0", 6, 9),
        recording.Got("a", 4, 4, "t-0", 7, 8),
        recording.Got("a", 5, 5, "t-1", 0, 3),
    ]
    assert recording.merged(got) == [("a", 1, 2, "t-0", 0, 7), *got[2:]]


@pytest.mark.parametrize(
    ("names", "brokers", "told"),
    [
        (
            ["join-leave.rang"],
            [],
            "unknown scenario 'join-leave.rang' .did you mean 'join-leave.range",
        ),
        (["join-leave.server-range"], ["3.9.2"], "unknown scenario 'join-leave.server-range'"),
        ([], ["4.4"], "unknown release '4.4' .did you mean '4.4.0'"),
    ],
)
def test_a_scenario_or_release_that_is_not_there_is_refused(names, brokers, told):
    with pytest.raises(UnknownName, match=told):
        known.main(names, brokers, False, print)


def test_javas_members_run_what_their_release_has():
    names = ["sticky", "range@2.5.1", "librdkafka-range", "server-uniform"]
    played = ["sticky@2.8.2", "range@2.5.1", "librdkafka-range", "server-uniform@2.8.2"]
    assert recording.strategies_of({"broker": "2.8.2", "strategies": names}) == played


def test_what_clients_decide_follows_their_release_and_what_brokers_do_theirs():
    about = {"broker": "4.4.0", "broker_settings": {}, "settings": {}}
    config = beside.config_of(about | {"client": "kafka-clients 4.1.2, librdkafka 2.15.1"})
    assert config.poll_wakes == "timeout" and config.group_consumer_empty_is_assigned
    config = beside.config_of(about | {"client": "kafka-clients 4.1.2, kafka-clients 4.4.0"})
    assert config.poll_wakes == "backoff"
    config = beside.config_of(about | {"broker": "3.3.2", "client": "kafka-clients 4.4.0"})
    assert config.retry_backoff_max_ms == 1_000 and not config.group_coordinator_new_enable


def test_who_leaves_for_good_is_recorded_as_it_is():
    told = []
    run = SimpleNamespace(
        members={"a": Member("a", instance="i")},
        _client=lambda member: Client(JAVA, "4.4.0"),
        _do=lambda action, do, **values: told.append((do, values)),
    )
    record.ACTIONS["leave"](run, leave(1_000, "a", for_good=True))
    assert told == [("close", {"for_good": True})]
    run._client = lambda member: Client("librdkafka", "2.15.1")
    with pytest.raises(OriginalsUnavailable, match="librdkafka 2.15.1: its static members"):
        record.ACTIONS["leave"](run, leave(1_000, "a", for_good=True))
