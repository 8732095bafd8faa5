"""Random groups for a real broker: every seed is a script, and what differs is told."""

import json

import pytest

from assignlab import timeline
from assignlab.errors import UnknownName
from assignlab.jvm.names import Names
from assignlab.reality import drawn, recording
from assignlab.reality.broker import REPLICATED

KINDS_OF_ACTIONS = {
    "join", "leave", "crash", "return", "stall", "freeze", "subscribe", "create_topic",
    "delete_topic", "add_partitions", "coordinator_moves",
}  # fmt: skip


@pytest.mark.parametrize("release", recording.releases())
def test_every_seed_is_a_script_and_everything_happens_to_some(release):
    scripts = [drawn.drawn(release, seed) for seed in range(200)]
    assert scripts == [drawn.drawn(release, seed) for seed in range(200)]
    kinds = {action.kind for one in scripts for action in one.scenario.actions}
    assert kinds == KINDS_OF_ACTIONS
    old = release.startswith("3.")
    assert any(one.server for one in scripts) != old
    assert {one.nodes for one in scripts} == {1, 3}
    assert any(member.pattern for one in scripts for member in one.scenario.members)


def test_groups_of_librdkafka_are_of_every_kind():
    lives = [drawn.Life("4.1.2", seed) for seed in range(400)]
    scripts = [life.script() for life in lives if life.theme == "librdkafka"]
    everybody = [member for one in scripts for member in one.scenario.members]
    assert any(one.rates for one in scripts) and {one.nodes for one in scripts} == {1, 3}
    assert {bool(member.pattern) for member in everybody} == {True, False}
    assert {bool(member.strategies) for member in everybody} == {True, False}


def test_the_coordinator_of_each_group_moves_alone():
    partitions = REPLICATED["offsets.topic.num.partitions"]
    names = Names([drawn.name_of(seed) for seed in range(40, 40 + partitions)])
    assert len({h % partitions for h in (names.hashes & 0x7FFFFFFF).tolist()}) == partitions


def test_a_seed_is_another_group_on_another_broker():
    assert drawn.drawn("4.1.2", 5).scenario != drawn.drawn("4.4.0", 5).scenario


def test_the_timeline_plays_them():
    for seed in range(20):
        script = drawn.drawn("4.1.2", seed)
        config = timeline.Config(**script.settings)
        history = timeline.run(script.scenario, config, script.strategies, seed)
        assert any(event.kind == "assigned" for event in history.events)


@pytest.fixture()
def played(monkeypatch):
    """What a broker would have recorded, whatever is asked of it."""
    found = [one for one in recording.read("4.1.2") if one["name"].startswith("join-leave.")][:2]
    found = json.loads(json.dumps(found))
    monkeypatch.setattr(drawn, "record", lambda release, scripts: found[: len(scripts)])
    return found


def test_groups_that_agree_are_told_and_kept(played, tmp_path):
    said = []
    kept = tmp_path / "kept.jsonl"
    assert drawn.main("4.1.2", 7, 2, kept, said.append) == 0
    assert said[0] == "broker 4.1.2: 2 groups in real time, seeds 7 to 8"
    assert [json.loads(line) for line in kept.read_text().splitlines()] == played
    assert said[1] == "  join-leave.cooperative-sticky, cooperative-sticky: 15 checks"
    assert all(" as the timeline says" in line for line in said[3:])


def test_what_differs_is_told_with_both_sides(played):
    last = [event for event in played[0]["events"] if event["kind"] == "assigned"][-1]
    last["partitions"] = last["partitions"][:-1]
    said = []
    assert drawn.main("4.1.2", 7, 1, None, said.append) == 1
    assert any(line.endswith(" differ") for line in said)
    assert any(", owners:" in line for line in said)
    assert any("real" in line and "\n      timeline" in line for line in said)


def test_a_release_that_nobody_recorded_is_refused():
    with pytest.raises(UnknownName, match="unknown release '2.8'"):
        drawn.main("2.8", 1, 1, None, print)
