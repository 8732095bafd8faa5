"""Any release of Kafka is part of a name: what it resolves to, what is refused and why."""

import itertools
from pathlib import Path

import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer, are_small, solve
from assignlab.errors import UnknownName, UnknownRelease, shown
from assignlab.group.document import parse
from assignlab.releases import CAME_WITH, LINES, NEWEST, NEWEST_LINE, Facts, resolve, version

FACTS = [Facts(s.name, s.first, s.last) for s in assignors.strategies().values()]


@pytest.mark.parametrize(
    ("name", "same", "release"),
    [
        ("sticky@3.6.1", "sticky@3.5", "3.6.1"),
        ("sticky@3.6", "sticky@3.5", "3.6.2"),
        ("range@3.6.1", "range", "3.6.1"),
        ("range@3.4.1", "range@2.4", "3.4.1"),
        ("range@0.10.2.2", "range@2.0", "0.10.2.2"),
        ("range@0.9", "range@2.0", "0.9.0.1"),
        ("sticky@0.11", "sticky@2.0", "0.11.0.3"),
        ("sticky@1.0.2", "sticky@2.0", "1.0.2"),
        ("cooperative-sticky@4.1", "cooperative-sticky", "4.1.2"),
        ("cooperative-sticky@4.3", "cooperative-sticky", "4.3.1"),
        ("cooperative-sticky@3.7.0", "cooperative-sticky@3.5", "3.7.0"),
        ("cooperative-sticky@3.7", "cooperative-sticky", "3.7.2"),
        ("server-uniform@3.8.1", "server-uniform@3.9", "3.8.1"),
        ("kafka@3.6.1 sticky", "sticky@3.5", "3.6.1"),
        ("scala-range@0.11.0.3", "scala-range", "0.11.0.3"),
        ("scala-roundrobin@0.11.0.1", "scala-roundrobin@0.10.2", "0.11.0.1"),
        ("librdkafka@2.15.1 range", "librdkafka-range", "2.15.1"),
        ("rocketmq-avg@4.9.8", "rocketmq-avg", "4.9.8"),
    ],
)
def test_a_release_stands_for_the_behaviour_that_it_has(name, same, release):
    assert resolve(name, FACTS) == (same, release)
    strategy = assignors.get(name)
    assert strategy.name == name and strategy.first == strategy.last == release
    assert strategy.base == assignors.get(same).base and strategy.kind == assignors.get(same).kind
    assert strategy.assign is assignors.get(same).assign
    assert strategy is assignors.get(name)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("cooperative-sticky@2.3.1", "cooperative-sticky came with Kafka 2.4.0"),
        ("server-uniform@3.6.1", "server-uniform came with Kafka 3.7.0"),
        ("sticky@3.6.3", "there is no Kafka 3.6.3; the last is 3.6.2"),
        ("sticky@5.0.0", f"the lab knows no Kafka 5.0.0; it knows 0.8.0 to {NEWEST_LINE}"),
        ("sticky@latest", f"expected a release such as sticky@{NEWEST}"),
        ("sticky@3.6." + "9" * 5000, f"expected a release such as sticky@{NEWEST}"),
        ("sticky@" + "9." * 5000 + "1", f"expected a release such as sticky@{NEWEST}"),
        (
            "librdkafka@2.2 range",
            "none of the lab's is known to do what 2.2 does: librdkafka-range is 2.3.0 to 2.15.1",
        ),
        ("scala-roundrobin@1.0.2", "none of the lab's is known to do what 1.0.2 does: "),
        ("sticky@0.10.2.2", "sticky came with Kafka 0.11.0"),
    ],
)
def test_other_releases_are_refused_with_the_reason(name, reason):
    with pytest.raises(UnknownRelease) as refused:
        assignors.get(name)
    assert str(refused.value).startswith(f"unknown release in strategy {shown(name)}: {reason}")


def test_an_unknown_strategy_is_no_unknown_release():
    with pytest.raises(UnknownName, match="did you mean 'sticky") as refused:
        assignors.get("stiky@3.6.1")
    assert not isinstance(refused.value, UnknownRelease)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("org.apache.kafka.clients.consumer.RangeAssignor", "range"),
        ("StickyAssignor", "sticky"),
        ("org.apache.kafka.coordinator.group.assignor.RangeAssignor", "server-range"),
        ("AllocateMessageQueueAveragely", "rocketmq-avg"),
    ],
)
def test_a_class_of_the_original_is_told_the_name_here(name, meant):
    with pytest.raises(UnknownName, match=f"did you mean '{meant}'"):
        assignors.get(name)


def test_the_table_of_releases_has_all_of_kafkas_own():
    own = {"Kafka consumer", "Kafka coordinator"}
    found = {s.base for s in assignors.strategies().values() if s.system in own}
    assert found == set(CAME_WITH)


@pytest.mark.parametrize("name", [None, 3, ["range"], {"range": 1}])
def test_a_name_that_is_none_is_refused(name):
    with pytest.raises(UnknownName, match="unknown strategy "):
        assignors.get(name)
    document = {"topics": [], "members": []}
    if name is not None:
        assert answer(document, name)["error"].startswith("UnknownName: unknown strategy ")


def test_a_form_of_the_table_that_is_none_is_refused():
    with pytest.raises(UnknownName, match="unknown form 'csv'; allowed: text, markdown, json"):
        assignors.table("csv")


def test_every_release_of_kafka_with_an_assignor_resolves_or_says_why():
    for base, came in CAME_WITH.items():
        for line, last in LINES.items():
            for number in range(last + 1):
                name = f"{base}@{line}.{number}"
                try:
                    found = assignors.get(name)
                except UnknownRelease as refused:
                    old = version(f"{line}.{number}") < version(came)
                    assert ("came with" in str(refused)) == old
                else:
                    assert found.base == base and found.first == f"{line}.{number}"


def by_age(base):
    """The strategies of one name, oldest release first."""
    return sorted((f for f in FACTS if f.base == base), key=lambda facts: version(facts.first))


@pytest.mark.parametrize("base", sorted({facts.base for facts in FACTS}))
def test_no_release_has_two_strategies_of_one_name(base):
    """A new file for a release leaves its neighbours the releases before and after it."""
    for before, after in itertools.pairwise(by_age(base)):
        assert version(before.last) < version(after.first), (
            f"{before.name} is {before.span}, {after.name} is {after.span}: first= and last="
        )


@pytest.mark.parametrize("base", CAME_WITH)
def test_the_newest_release_of_kafka_has_the_plain_name(base):
    newest = by_age(base)[-1]
    assert (newest.name, newest.last) == (base, NEWEST)


def test_the_originals_are_built_in_the_newest_release():
    for module in ("kafka-clients", "kafka-server", "producers", "reality"):
        pom = (Path(__file__).parents[2] / "oracle" / module / "pom.xml").read_text()
        assert f">{NEWEST}</" in pom, module
    asked = {
        s.original.partition(":")[2] for s in assignors.strategies().values() if s.last == NEWEST
    }
    assert NEWEST in asked


@pytest.mark.parametrize(
    ("partitions", "topics", "claims", "small"),
    [(900, 1, 900, True), (1100, 1, 0, False), (1, 1, 1100, False), (0, 1100, 0, False)],
)
def test_a_small_group_has_little_of_everything(partitions, topics, claims, small):
    """What plain Python would walk for a second or more waits for the compiler."""
    names = [f"t{i}" for i in range(topics)]
    member = {"id": "a", "topics": names, "owned": [["t0", p] for p in range(claims)]}
    document = {"topics": [{"name": "t0", "partitions": partitions}], "members": [member]}
    assert are_small([parse(document)]) == small


def test_documents_name_releases():
    document = {
        "strategy": "sticky@3.6.1",
        "topics": [{"name": "t", "partitions": 3}],
        "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}],
    }
    assert solve(document) == solve(document, "sticky@3.5")


def test_the_lab_knows_every_release_that_its_strategies_of_kafka_name():
    for facts in FACTS:
        if facts.base in CAME_WITH:
            for release in (facts.first, facts.last):
                line, _, last = release.rpartition(".")
                known = release in LINES or int(last) <= LINES.get(line, -1)
                assert known, f"{facts.name}: LINES of releases.py has no Kafka {release}"
