"""Scenarios and events: the shapes of Kafka's benchmark, seeds, and what stays what it was."""

import os
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assignlab.errors import UnknownName
from assignlab.group.document import dump, parse
from assignlab.group.model import NO_METADATA
from assignlab.group.plain import group
from assignlab.replay import events, records, scenarios
from assignlab.replay.history import history, moments
from assignlab.replay.scenarios import Scenario, group_of, partition_counts
from assignlab.words import WHEN

KAFKAS_ID = re.compile(
    r"consumer-lab-\d+-[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
)

OF_SEVERAL_MOMENTS = {"ROLLING_RESTART"}


def told(*words, **fields):
    return history(Scenario(events=("FULL", *words), **fields))


def subscriptions_of(the_group):
    return [the_group.members.topics_of(m).tolist() for m in range(len(the_group.members))]


# ---- scenarios ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_same_on_every_machine_and_run():
    program = (
        "import json; from assignlab.replay import scenarios; from assignlab.replay.history import history;"
        "from assignlab.group.document import dump;"
        "s = scenarios.Scenario(subscription='RANDOM', racks=3, static=True, seed=5,"
        " events=('FULL', 'CRASH', 'JOIN_MANY', 'TOPIC_CREATED', 'RESTART'));"
        "print(json.dumps([dump(m.group) for m in history(s)]))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "2")
    }
    assert len(outputs) == 1
    assert KAFKAS_ID.search(outputs.pop())


def test_member_ids_are_kafkas_and_differ_by_seed():
    ids = [scenarios.member_id(Scenario(seed=s), m) for s in range(20) for m in range(20)]
    assert len(set(ids)) == 400
    assert all(KAFKAS_ID.fullmatch(id) for id in ids)
    orders = {tuple(group_of(Scenario(seed=s)).members.names.order.tolist()) for s in range(10)}
    assert len(orders) == 10


def test_topic_names_and_ids_are_distinct():
    scenario = Scenario(topics=3000, partitions=3000, seed=8)
    topics = group_of(scenario).topics
    assert len(set(topics.names)) == len(set(topics.ids)) == 3000
    assert all(re.fullmatch(r"[a-z]+\.[a-z]+(\.v\d)?", name) for name in topics.names)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{22}", id) for id in topics.ids)


@given(st.integers(1, 300), st.integers(0, 5000), st.sampled_from(scenarios.DISTRIBUTIONS))
def test_partitions_are_all_given_largest_topics_first(topics, more, distribution):
    scenario = Scenario(topics=topics, partitions=topics + more, distribution=distribution)
    counts = partition_counts(scenario)
    assert len(counts) == topics and min(counts) >= 1
    assert sum(counts) == topics + more
    if distribution == "EQUAL":
        assert counts == sorted(counts, reverse=True) and max(counts) - min(counts) <= 1


def test_skewed_tiers():
    # 54 + 18 + 6 + 2 + 1 topics: the first tier single, then twice the partitions per tier
    counts = partition_counts(
        Scenario(topics=81, partitions=54 + 18 * 10 + 6 * 20 + 2 * 40 + 80, distribution="SKEWED")
    )
    assert counts == [80] + [40] * 2 + [20] * 6 + [10] * 18 + [1] * 54


def test_subscription_shapes():
    def of(subscription, **fields):
        scenario = Scenario(members=20, topics=10, subscription=subscription, **fields)
        return subscriptions_of(group_of(scenario))

    assert of("HOMOGENEOUS") == [list(range(10))] * 20
    disjoint = of("HETEROGENEOUS_DISJOINT")
    assert all(disjoint[m] == [2 * (m % 5), 2 * (m % 5) + 1] for m in range(20))
    nested = of("HETEROGENEOUS_NESTED")
    assert all(nested[m] == list(range(2 * (m % 5) + 2)) for m in range(20))
    drawn = of("RANDOM") + of("RANDOM", seed=1)
    assert all(drawn) and 160 < sum(map(len, drawn)) < 240
    assert len(set(map(tuple, drawn))) > 30


def test_racks():
    the_group = group_of(Scenario(members=4, topics=1, partitions=4, racks=3))
    assert the_group.members.racks == ("rack0", "rack1", "rack2", "rack0")
    assert the_group.topics.racks[0][2:] == (("rack2", "rack0"), ("rack0", "rack1"))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"members": 0}, "members: 0 is less than 1"),
        ({"members": 2.5}, "members: expected a whole number, got 2.5"),
        ({"members": "5"}, "members: expected a whole number, got '5'"),
        ({"static": "no"}, "static: expected True or False, got 'no'"),
        ({"events": 3}, "events: expected a list of words, got 3"),
        ({"topics": 5, "partitions": 4}, "partitions: 4 is less than 5"),
        ({"racks": -1}, "racks"),
        ({"subscription": "NESTED"}, "did you mean 'HETEROGENEOUS_NESTED'"),
        ({"events": ("FULL", "JOIN")}, "did you mean 'JOIN_ONE'"),
        ({"events": ("JOIN_ONE",)}, "starts with FULL"),
        ({"events": ()}, "starts with FULL"),
    ],
)
def test_what_is_refused(fields, message):
    with pytest.raises((ValueError, UnknownName), match=re.escape(message)):
        Scenario(**fields)


# ---- events ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "members"),
    [("JOIN_ONE", 26), ("JOIN_MANY", 28), ("LEAVE_ONE", 24), ("LEAVE_MANY", 22), ("STABLE", 25)],
)
def test_how_many(event, members):
    before, after = told(event, members=25)
    assert len(after.group.members) == members
    stay = min(members, 25)
    assert after.group.members.names[:stay] == before.group.members.names[:stay]
    if event != "STABLE":
        assert after.origin.tolist() == list(range(stay)) + [-1] * (members - stay)


def test_partitions_added_at_regular_intervals():
    before, after = told("PARTITIONS_ADDED", topics=25, partitions=100)
    grown = after.group.topics.partitions - before.group.topics.partitions
    assert np.flatnonzero(grown).tolist() == [0, 8, 16] and grown.max() == 1


def test_newcomers_take_the_bucket_of_their_number():
    after = told("JOIN_MANY", members=12, subscription="HETEROGENEOUS_DISJOINT")[-1].group
    assert subscriptions_of(after)[12:] == [[4, 5], [6, 7]]


def test_a_crashed_member_returns_with_its_old_place():
    full, crash, _join, back = told("CRASH", "JOIN_ONE", "RETURN")
    ((member, then, was),) = back.returning
    names = back.group.members.names
    assert names[member] == full.group.members.names[was] and then == 0
    assert names[member] not in crash.group.members.names.names
    assert back.origin[member] == -1
    assert len(names) == 11


@pytest.mark.parametrize(
    ("kind", "new"),
    [("HOMOGENEOUS", {6}), ("HETEROGENEOUS_NESTED", set()), ("RANDOM", set())],
)
def test_who_returns_takes_up_topics_that_everybody_has_taken_up(kind, new):
    full, *_, back = told("CRASH", "TOPIC_CREATED", "RETURN", subscription=kind, topics=6)
    ((member, _then, was),) = back.returning
    subscribed = set(subscriptions_of(back.group)[member])
    assert subscribed == set(subscriptions_of(full.group)[was]) | new


def test_events_keep_subscriptions_as_they_were_sent():
    members = {"a": ["t", "u", "t"], "b": ["u", "u"], "c": ["t"]}
    before = group({"t": 2, "u": 1}, members)
    after = events.join(events.leave(before, [2]), ["d"], [np.array([1])])
    after = events.restart(events.create_topic(after, "v", 1, [1]), 0, "e")
    assert {m["id"]: m["topics"] for m in dump(after)["members"]} == {
        "b": ["u", "u", "v"], "d": ["u"], "e": ["t", "u", "t"],
    }  # fmt: skip
    left = events.delete_topic(after, 0)
    assert left.members is not left.sent and left.members.topics_of(2).tolist() == [1]


def test_rolling_restart_replaces_every_member():
    history = told("ROLLING_RESTART", members=4, subscription="RANDOM")
    first, last = history[0].group, history[-1].group
    assert [len(m.group.members) for m in history[1:]] == [3, 4] * 4
    assert not set(first.members.names) & set(last.members.names)
    assert subscriptions_of(first) == subscriptions_of(last)


def test_static_members_come_back_in_time():
    history = told("ROLLING_RESTART", members=3, static=True)
    first, last = history[0].group, history[-1].group
    assert [m.rebalance for m in history] == [True, False, False, False, True]
    assert all(m.origin is None or m.origin.tolist() == [0, 1, 2] for m in history[1:])
    assert first.members.instances == last.members.instances
    assert not set(first.members.names) & set(last.members.names)


def test_a_topic_comes_and_goes():
    history = told("TOPIC_CREATED", "TOPIC_DELETED", "TOPIC_RECREATED", seed=3)
    _, created, deleted, recreated = (m.group for m in history)
    assert subscriptions_of(created) == [list(range(11))] * 10
    gone = int(np.flatnonzero(deleted.topics.partitions == NO_METADATA)[0])
    assert subscriptions_of(deleted) == [[t for t in range(11) if t != gone]] * 10
    assert history[2].resubscribed
    smaller = np.flatnonzero(recreated.topics.partitions != deleted.topics.partitions).tolist()
    assert recreated.topics.partitions[smaller].tolist() == [5]
    assert recreated.topics.ids[smaller[0]] != deleted.topics.ids[smaller[0]]
    assert recreated.topics.names.names == created.topics.names.names


def test_subscribe_and_unsubscribe_concern_one_member():
    before, less, more = told("UNSUBSCRIBE", "SUBSCRIBE", members=6, seed=2)
    assert sorted(map(len, subscriptions_of(less.group))) == [9, 10, 10, 10, 10, 10]
    assert less.resubscribed and not more.resubscribed
    assert subscriptions_of(before.group) == [list(range(10))] * 6


def test_the_last_member_stays():
    with pytest.raises(ValueError, match="last member"):
        told("LEAVE_ONE", members=1)


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.sampled_from(list(scenarios.EVENTS)), max_size=8),
    st.sampled_from(scenarios.SUBSCRIPTIONS),
    st.integers(0, 50),
    st.booleans(),
    st.sampled_from([0, 2]),
)
def test_any_history_is_a_row_of_sound_groups(words, subscription, seed, static, racks):
    scenario = Scenario(
        members=6,
        topics=4,
        partitions=12,
        subscription=subscription,
        seed=seed,
        static=static,
        racks=racks,
        events=("FULL", *words),
    )
    try:
        played = history(scenario)
    except ValueError as error:
        assert "no topic is left" in str(error) or "last member" in str(error)
        return
    single = [word for word in scenario.events if word not in OF_SEVERAL_MOMENTS]
    assert [m.event for m in played if m.event not in OF_SEVERAL_MOMENTS] == single, (
        "an event of several moments: OF_SEVERAL_MOMENTS, and cost() of replay/records.py"
    )
    for before, after in zip([None, *played], played, strict=False):
        the_group = after.group
        members = the_group.members
        document = dump(the_group)
        # the document refuses double ids, double topics, bad counts
        assert dump(parse(document)) == document
        assert sorted(set(members.subscription.tolist())) == list(range(members.offsets.size - 1))
        assert all(
            (the_group.topics.partitions[topics] != NO_METADATA).all()
            for topics in map(members.topics_of, range(len(members)))
        )
        if before is not None and after.event != "FULL":
            old = before.group
            names = old.topics.names.names
            assert the_group.topics.names.names[: len(names)] == names
            for m, was in enumerate(
                range(len(members)) if after.origin is None else after.origin.tolist()
            ):
                if was >= 0 and not static:
                    assert members.names[m] == old.members.names[was]
                if was >= 0 and static:
                    assert members.instances[m] == old.members.instances[was]


def test_every_event_has_words_of_its_own_on_the_pages():
    assert set(WHEN) == set(scenarios.EVENTS) and len(set(WHEN.values())) == len(WHEN)


def test_events_leave_the_group_before_as_it_was():
    """Each moment is what it is at the end of a history after which nothing happens."""
    words = ("FULL", *(e for e in scenarios.EVENTS if e != "FULL"))
    played = history(Scenario(members=5, events=words))
    for count in range(1, len(words)):
        ended = history(Scenario(members=5, events=words[:count]))
        assert dump(played[len(ended) - 1].group) == dump(ended[-1].group), words[count]


def test_a_history_of_your_own():
    before = group({"t": 4}, {"a": ["t"], "b": ["t"]})
    after = group({"t": 4}, {"b": ["t"], "c": ["t"]})
    first, second = moments([("start", before), ("a leaves, c joins", after)])
    assert first.origin.tolist() == [-1, -1]
    assert second.origin.tolist() == [1, -1]


def test_one_column_of_names_that_do_not_exist_is_refused():
    with pytest.raises(UnknownName, match="'stikcy'.*'sticky'"):
        records.played(["range", "stikcy"], "count_gap")
    with pytest.raises(UnknownName, match="'count-gap'.*'count_gap'"):
        records.played(["range"], "count-gap")
