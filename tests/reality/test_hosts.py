"""What recording does where processes end when nobody expects it; no broker takes part."""

import time
from types import SimpleNamespace

import pytest

from assignlab.proof import bridges
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality.hosts import IN_GO, JAVA, KAFKAJS, PINNED, Client, Host, Inbox
from assignlab.reality.record import ACTIONS, Place, Run
from assignlab.reality.scripts import USUAL, Script
from assignlab.timeline import Member, Scenario, Topic, coordinator_moves, join
from assignlab.timeline.scenario import GROUP_KINDS, MEMBER_KINDS

RELEASE = "4.4.0"
ANSWERS = {
    "create": "created", "move": "moved", "prepare": "ready", "start": "started",
    "leader": "leader",
}  # fmt: skip


class Ended(Client):
    """A client whose process ends at once."""

    def command(self):
        return ["true"]


class Obedient:
    """Stands for a process with consumers: it says that it did what it is told."""

    def __init__(self, inbox):
        self.inbox = inbox

    def tell(self, do, key="", topic="", **values):
        if do in ANSWERS:
            now = time.time_ns() // 1_000_000
            told = {"kind": ANSWERS[do], "at": now, "made": now - 5, "id": "i", "node": 1}
            self.inbox.put(told | {"key": key or topic})


def recorded(restart):
    """A recording of two members whose coordinator restarts, and how it does that."""
    actions = [join(50, Member("b")), coordinator_moves(100)]
    scenario = Scenario([Topic("t", 1)], [Member("a")], actions, 200)
    script = Script("moves", ("range",), scenario, dict(USUAL), restarts=True)
    broker = SimpleNamespace(release=RELEASE, settings={}, bootstrap="", restart=restart)
    inbox = Inbox()
    return Run(Place(broker, inbox, {Client(JAVA, RELEASE): Obedient(inbox)}), script).record()


def test_a_process_that_is_gone_is_named_and_can_be_closed():
    with Host(Ended("librdkafka", "2.11.1"), "127.0.0.1:9092", Inbox()) as host:
        host._process.wait()
        with pytest.raises(OriginalsUnavailable, match=r"librdkafka 2\.11\.1: its process is gone"):
            host.tell("start", key="a")


@pytest.mark.parametrize("client", IN_GO)
def test_without_go_there_are_no_members_of_clients_in_go(client, monkeypatch):
    monkeypatch.setattr(bridges, "_newer", lambda *_: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OriginalsUnavailable, match=f"{client}: go is not on the PATH"):
        Client(client, PINNED[client]).command()


def test_without_npm_there_are_no_members_of_kafkajs(monkeypatch):
    monkeypatch.setattr(bridges, "_done", lambda *_: False)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(OriginalsUnavailable, match=f"{KAFKAJS}: npm is not on the PATH"):
        Client(KAFKAJS, PINNED[KAFKAJS]).command()


def test_whatever_the_timeline_plays_is_recorded_too():
    """A restart is a leave and a return."""
    assert {*MEMBER_KINDS, *GROUP_KINDS} - {*ACTIONS} == {"restart"}


def test_moments_of_a_recording_count_from_its_beginning():
    recording = recorded(lambda node: None)
    [a] = recording["members"]
    joins, moves = recording["actions"]
    moments = [a["start_ms"], joins["at"], moves["at"], recording["duration_ms"]]
    assert moments == sorted(moments) and 0 <= moments[0] and moments[-1] < 5_000
    assert a["made_ms"] < 0 < joins["joins"].pop("made_ms") < joins["at"]
    assert joins["joins"] == {"name": "b", "start_ms": joins["at"]}
    assert [event["kind"] for event in recording["events"]] == ["started", "started"]


def test_a_group_whose_broker_does_not_restart_is_not_recorded():
    def fails(node):
        raise OriginalsUnavailable("the broker does not start")

    with pytest.raises(OriginalsUnavailable, match="does not start"):
        recorded(fails)
