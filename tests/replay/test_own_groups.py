"""Groups of one's own: what is refused, and what comes back to whom."""

from dataclasses import replace

import numpy as np
import pytest

from assignlab import assignors
from assignlab.errors import AssignlabError, DocumentError
from assignlab.group.assignment import Assignment
from assignlab.group.document import lists
from assignlab.group.plain import group
from assignlab.optimum import front, least, optimum
from assignlab.replay.events import delete_topic
from assignlab.replay.history import history, moments
from assignlab.replay.metrics import FIELDS
from assignlab.replay.rebalance import replay
from assignlab.replay.records import measure
from assignlab.replay.scenarios import Scenario


@pytest.mark.parametrize(
    ("topics", "members", "others", "told"),
    [
        ({"t": 3}, {"a": "t"}, {}, "topics of 'a': expected a list, got 't'"),
        (["t"], {"a": ["t"]}, {}, "topics: expected a mapping by name"),
        ({"t": 3}, ["a"], {}, "members: expected a mapping by name"),
        ({"t": 3}, {"a": ["t"]}, {"racks": {"b": "r"}}, "racks: there is no member 'b'"),
        ({"t": 3}, {"a": ["t"]}, {"instances": {"b": "i"}}, "instances: there is no member 'b'"),
        ({"t": 3}, {"a": ["t"]}, {"weights": {"u": [1]}}, "weights: there is no topic 'u'"),
        ({"t": 3}, {"a": ["t"]}, {"weights": [1]}, "weights: expected a mapping by name"),
    ],
)
def test_what_names_nobody_is_refused(topics, members, others, told):
    with pytest.raises(DocumentError, match=told):
        group(topics, members, **others)


def test_an_earlier_answer_may_name_members_that_left():
    claims = {"a": [("t", 0)], "left": [("t", 1)]}
    assert group({"t": 3}, {"a": ["t"]}, claims).claims.codes.size == 1


def test_numpys_numbers_are_numbers():
    counted = group(
        {"t": np.int64(3)}, {"a": ["t"]}, {"a": [("t", np.int64(1))]}, weights={"t": np.ones(3)}
    )
    assert counted.topics.partitions.tolist() == [3]
    assert counted.claims.codes.size == 1


def test_groups_that_number_topics_otherwise_are_refused():
    first = group({"orders": 6, "pay": 4}, {"x": ["pay"]})
    turned = group({"pay": 4, "orders": 6}, {"x": ["pay"]})
    shorter = group({"pay": 4}, {"x": ["pay"]})
    longer = group({"orders": 6, "pay": 4, "more": 1}, {"x": ["pay", "more"]})
    for other in (turned, shorter):
        with pytest.raises(DocumentError, match="topics: expected those before 'later' first"):
            moments([("FULL", first), ("later", other)])
    assert len(moments([("FULL", first), ("later", longer)])) == 2


@pytest.mark.parametrize("still", [["u"], ["t", "u"]])
def test_a_topic_that_is_gone_stays_without_partitions(still):
    """Whether its readers still name it or not, all goes as after the event TOPIC_DELETED."""
    before = group({"t": 4, "u": 4}, {name: ["t", "u"] for name in "ab"})
    after = group({"t": None, "u": 4}, {name: still for name in "ab"})
    sticky = assignors.get("sticky")
    [_, step] = replay(moments([("FULL", before), ("deleted", after)]), sticky)
    [_, as_event] = replay(moments([("FULL", before), ("e", delete_topic(before, 0))]), sticky)
    assert lists(after, step.after) == lists(after, as_event.after)
    assert sorted(p for own in lists(after, step.after).values() for p in own) == [
        ["u", partition] for partition in range(4)
    ]


@pytest.mark.parametrize("no_group", [{"topics": [], "members": []}, "orders", None])
def test_a_document_is_no_group(no_group):
    asked = [
        assignors.get("range").assign,
        assignors.get("sticky@2.0").assign,
        optimum,
        least,
        front,
    ]
    for ask in (*asked, lambda given: moments([("FULL", given)])):
        with pytest.raises(DocumentError, match="group: expected a Group, of assignlab.group"):
            ask(no_group)


@pytest.mark.parametrize("no_moments", [Scenario(), [Scenario()], None, "FULL"])
def test_a_scenario_is_no_history(no_moments):
    with pytest.raises(AssignlabError, match="moments: expected those of history"):
        list(replay(no_moments, assignors.get("range")))


def test_a_strategy_is_no_name():
    history = moments([("FULL", group({"t": 2}, {"a": ["t"]}))])
    for name in ("sticky", ["sticky"], None):
        with pytest.raises(AssignlabError, match="expected one, such as assignors.get"):
            list(replay(history, name))
    with pytest.raises(AssignlabError, match="2 for 1 moments"):
        list(replay(history, [assignors.get("sticky")] * 2))


@pytest.mark.parametrize("protocol", ["eager", "cooperative"])
@pytest.mark.parametrize(
    ("answer", "told"),
    [
        ([[0, 1]], "1 lists for 2 members"),
        ([[0], [1], []], "3 lists for 2 members"),
        (None, "got None"),
        ([[("t", 0)], []], "codes: expected whole numbers"),
        ([[0.5], []], "codes: expected whole numbers"),
        ([[1 << 32], []], "partitions of the group's 1 topics"),
        ([[-1], []], "partitions of the group's 1 topics"),
    ],
)
def test_an_answer_of_ones_own_has_a_list_for_each_member(answer, told, protocol):
    def assign(group):
        return answer and Assignment.from_lists(answer)

    mine = replace(
        assignors.get("range"), name="mine", original="", first="2026", last="",
        protocol=protocol, assign=assign,
    )  # fmt: skip
    start = moments([("FULL", group({"t": 2}, {"a": ["t"], "b": ["t"]}))])
    with pytest.raises(AssignlabError, match=told):
        list(replay(start, mine))


@pytest.mark.parametrize("subscription", ["HOMOGENEOUS", "RANDOM"])
@pytest.mark.parametrize(
    "name", [s.name for s in assignors.strategies().values() if s.protocol == "server"]
)
def test_a_coordinator_has_forgotten_whom_it_expelled(name, subscription):
    strategy = assignors.get(name)
    for seed in range(5):
        scenario = Scenario(
            members=6, topics=3, partitions=30, seed=seed, subscription=subscription,
            events=("FULL", "CRASH", "RETURN"),
        )  # fmt: skip
        *_, back = replay(history(scenario), strategy)
        assert back.error is None
        offsets = back.group.claims.offsets
        assert offsets[-1] == offsets[-2]  # who comes back joins last
        if not strategy.shares:
            measured = dict(zip(FIELDS, measure(back), strict=True))
            assert measured["doubled"] == 0


def test_a_client_that_comes_back_claims_what_it_held():
    scenario = Scenario(members=6, topics=3, partitions=30, events=("FULL", "CRASH", "RETURN"))
    full, _, back = replay(history(scenario), assignors.get("sticky"))
    names = back.group.members.names
    crashed = len(names) - 1  # who comes back joins last
    claims = back.group.claims
    held = claims.codes[claims.offsets[crashed] : claims.offsets[crashed + 1]]
    before = full.group.members.names.index[names[crashed]]
    assert sorted(held.tolist()) == sorted(full.after.of(before).tolist())
