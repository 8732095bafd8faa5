"""What each strategy promises, over random histories: invariants instead of expected lists."""

from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from assignlab import assignors
from assignlab.group.assignment import partition_of, topic_of
from assignlab.proof.promises import CHECKS, promises
from assignlab.replay.columns import METRICS
from assignlab.replay.history import history
from assignlab.replay.rebalance import replay
from assignlab.replay.records import measure
from assignlab.replay.scenarios import DISTRIBUTIONS, SUBSCRIPTIONS, Scenario
from equipped import equipped, promises_completeness

# RETURN brings stale claims, UNSUBSCRIBE may leave a member without topics, TOPIC_RECREATED leaves
# claims of partitions that are gone: with these some originals are known to fail
QUIET = ("STABLE", "JOIN_ONE", "JOIN_MANY", "LEAVE_ONE", "LEAVE_MANY", "CRASH", "RESTART",
         "TOPIC_CREATED", "PARTITIONS_ADDED")  # fmt: skip

many = settings(
    deadline=None, max_examples=min(60, settings.default.max_examples), derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)  # fmt: skip


def promising(*wanted):
    """Parametrize over the strategies that give one of these promises."""
    assert {*wanted} <= {*CHECKS}
    given = {s.name for s in assignors.strategies().values() if {*wanted} & {*promises(s)}}
    return pytest.mark.parametrize("name", sorted(given))


@st.composite
def histories(draw, subscriptions=SUBSCRIPTIONS, words=QUIET):
    topics = draw(st.integers(1, 6))
    scenario = Scenario(
        members=draw(st.integers(2, 9)),
        topics=topics,
        partitions=topics + draw(st.integers(0, 40)),
        distribution=draw(st.sampled_from(DISTRIBUTIONS)),
        subscription=draw(st.sampled_from(subscriptions)),
        static=draw(st.booleans()),
        seed=draw(st.integers(0, 1000)),
        events=("FULL", *draw(st.lists(st.sampled_from(words), max_size=5))),
    )
    try:
        return history(scenario)
    except ValueError:  # the last member cannot leave
        assume(False)


def played(name, history):
    strategy = assignors.get(name)
    steps = list(replay(equipped(strategy, history), strategy))
    return [step for step in steps if step.rounds and step.error is None]


def numbers(step):
    return dict(zip((column.name for column in METRICS), measure(step), strict=True))


def per_topic(step):
    """Per topic, per owner: its partition numbers in the order given."""
    given_ = defaultdict(lambda: defaultdict(list))
    for m, c in zip(step.after.owners.tolist(), step.after.codes.tolist(), strict=True):
        given_[topic_of(c)][m].append(partition_of(c))
    return given_


def subscribers(step):
    members = step.group.members
    of_topic = defaultdict(list)
    for m in range(len(members)):
        for t in members.topics_of(m).tolist():
            of_topic[t].append(m)
    return of_topic


@pytest.mark.parametrize("name", assignors.names())
@settings(many, max_examples=25)
@given(histories())
def test_every_partition_has_one_owner_that_subscribes(name, history):
    for step in played(name, history):
        row = numbers(step)
        complete = promises_completeness(step.strategy, step.group)
        assert row["invalid"] == 0
        assert row["doubled"] == 0 or step.strategy.shares
        assert row["unassigned"] == 0 or not complete
        if complete and not step.strategy.shares:
            assert row["max_over_mean"] is None or row["max_over_mean"] >= row["floor"] - 1e-12
        assert row["held"] == row["stayed"] + row["forced"] + row["by_choice"] + row["gone"]
        pairs = row["stayed"] + row["received"] + row["unassigned"]
        assert row["partitions_now"] == pairs or step.strategy.shares


@promising("blocks", "client_blocks")
@many
@given(histories())
def test_range_cuts_every_topic_into_blocks_of_floor_and_ceil(name, history):
    for step in played(name, history):
        given_ = per_topic(step)
        if not promises_completeness(step.strategy, step.group):
            continue
        for t, members in subscribers(step).items():
            count = int(step.group.topics.partitions[t])
            floor, more = divmod(count, len(members))
            blocks = [given_[t][m] for m in members]
            assert sorted(map(len, blocks)) == [floor] * (len(members) - more) + [floor + 1] * more
            if not step.strategy.broker:  # those with brokers sort by them first
                assert all(b == list(range(b[0], b[0] + len(b))) for b in blocks if b)


@promising("cut_alike")
@many
@given(histories())
def test_range_cuts_topics_alike(name, history):
    for step in played(name, history):
        given_ = per_topic(step)
        alike = defaultdict(list)
        for t, members in subscribers(step).items():
            alike[tuple(members), int(step.group.topics.partitions[t])].append(dict(given_[t]))
        assert all(cut == cuts[0] for cuts in alike.values() for cut in cuts)


@promising("cut_alike")
@many
@given(histories(subscriptions=["HOMOGENEOUS"]))
def test_law_of_range(name, history):
    for step in played(name, history):
        row = numbers(step)
        assert row["count_gap"] == row["uneven_topics"]


@promising("floor_and_ceiling")
@many
@given(histories(subscriptions=["HOMOGENEOUS"]))
def test_equal_subscriptions_are_spread_within_one(name, history):
    for step in played(name, history):
        row = numbers(step)
        assert row["count_gap"] <= 1
        sizes = step.after.sizes.tolist()
        floor, more = divmod(row["partitions_now"], len(sizes))
        assert sorted(sizes) == [floor] * (len(sizes) - more) + [floor + 1] * more


@promising("keeps_most")
@many
@given(histories(subscriptions=["HOMOGENEOUS"]))
def test_equal_subscriptions_move_the_proven_minimum(name, history):
    for step in played(name, history):
        row = numbers(step)
        assert row["by_choice"] == row["fewest"] and row["avoidable"] == 0


@promising("fixed_point")
@many
@given(histories())
def test_nothing_moves_while_nothing_happens(name, history):
    again = replace(history[-1], event="STABLE", origin=None, rebalance=True)
    for step in played(name, [*history, again])[-1:]:
        row = numbers(step)
        assert row["stayed"] == row["held"]


@promising("no_better_move")
@many
@given(histories(words=["STABLE"]))
def test_a_fresh_sticky_assignment_has_no_move_left_that_helps(name, history):
    """No single partition can go from its owner to a subscriber with at least two fewer."""
    step = played(name, history)[0]
    sizes = step.after.sizes.tolist()
    of_topic = subscribers(step)
    for m, c in zip(step.after.owners.tolist(), step.after.codes.tolist(), strict=True):
        least = min(sizes[other] for other in of_topic[topic_of(c)])
        assert sizes[m] - least < 2


@promising("gives_up_first")
@many
@given(histories())
def test_cooperative_rounds(name, history):
    """At most two rounds, and nothing is given to a member before its owner gave it up."""
    strategy = assignors.get(name)
    for step in played(name, history):
        assert step.rounds <= 2
        claims = step.group.claims
        claimed = {
            c: m
            for m in range(len(step.group.members))
            for c in claims.codes[claims.offsets[m] : claims.offsets[m + 1]].tolist()
        }
        first = strategy.assign(step.group)
        for m, c in zip(first.owners.tolist(), first.codes.tolist(), strict=True):
            assert claimed.get(c, m) == m


@promising("eager_less_held_back")
@many
@given(histories(subscriptions=["HOMOGENEOUS"]))
def test_cooperative_ends_where_eager_ends(name, history):
    """With equal subscriptions the last round gives the sizes and moves of the eager strategy."""
    eager = name.removeprefix("cooperative-")
    for one, other in zip(played(name, history), played(eager, history), strict=True):
        one, other = numbers(one), numbers(other)
        for column in ("stayed", "by_choice", "count_gap", "balance_score"):
            assert one[column] == other[column]


@promising("monotone")
@many
@given(histories(subscriptions=["HOMOGENEOUS"], words=["JOIN_ONE"]))
def test_a_join_moves_only_to_the_joiner(name, history):
    for step in played(name, history)[1:]:
        newcomers = (step.origin < 0).nonzero()[0].tolist()
        assert numbers(step)["received"] == sum(step.after.sizes[m] for m in newcomers)
