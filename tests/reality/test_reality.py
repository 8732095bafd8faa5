"""Recorded groups of real brokers, played again by the timeline: what agrees, and what is known not to."""

import json
import re

import pytest

from assignlab.reality import beside, known, recording, scripts

RECORDED = recording.all_of()


@pytest.fixture(scope="module")
def compared():
    return beside.compare(RECORDED)


def test_every_difference_is_known_and_every_known_one_is_there(compared):
    new, gone = known.news(compared)
    assert not new, "differ, and known.yaml does not say why"
    assert not gone, "known.yaml says that they differ, and they do not"


def test_most_of_what_happened_is_what_the_timeline_says(compared):
    equal = compared.groupby("check")["equal"].mean()
    assert equal["owners"] > 0.9
    assert equal.min() > 0.7


@pytest.mark.parametrize("release", recording.releases())
def test_every_script_that_a_broker_can_play_is_recorded(release):
    names = {one["name"] for one in RECORDED if one["broker"] == release}
    assert names == {script.name for script in scripts.for_release(release)}


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
