"""The hunt for rebalances that go wrong: what it counts, and the groups that it finds."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab import assignors
from assignlab.cli import main
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.published import mishaps
from assignlab.replay.history import history
from assignlab.replay.scenarios import Scenario, group_of, scenario_of

ENDLESS = Scenario(13, 13, 86, "SKEWED", "NARROW_3", 354, events=mishaps.EVENTS)
"""Whose seventh rebalance never ends under Kafka's sticky assignors."""
STARVING = {
    "topics": [{"name": name, "partitions": 1} for name in "tuv"],
    "members": [
        {"id": id, "topics": list(topics)} for id, topics in (("A", "tv"), ("B", "uv"), ("C", "u"))
    ],
}


@pytest.mark.parametrize("strategy", ["sticky", "sticky@3.5"])
def test_a_life_without_stale_claims_leads_to_a_rebalance_that_never_ends(strategy):
    document = mishaps.document_of(ENDLESS, strategy, 6)
    assert mishaps.has(mishaps.NEVER_ENDS, document)
    assert not mishaps.has(mishaps.THROWS, document)
    assert not mishaps.has(mishaps.NEVER_ENDS, {**document, "strategy": "server-uniform"})


@pytest.mark.parametrize("strategy", ["sticky@2.0", "cooperative-sticky", "weighted-sticky"])
def test_walks_of_the_sticky_assignors_can_never_end(strategy):
    assert mishaps.can_never_end(strategy)


@pytest.mark.parametrize("strategy", ["kafka-python-sticky", "modified-best-fit", "range"])
def test_walks_that_end_and_strategies_without_one_are_told_apart(strategy):
    assert not mishaps.can_never_end(strategy)


def test_a_member_starves_only_where_the_optimum_feeds_it():
    assert mishaps.has(mishaps.STARVES, {"strategy": "sticky", **STARVING})
    crowded = {**STARVING, "topics": STARVING["topics"][:2]}
    assert not mishaps.has(mishaps.STARVES, {"strategy": "sticky", **crowded})


def test_records_are_told_apart_as_in_the_table_of_a_sweep():
    fine = {"error": None, "rounds": 2, "idle": 1, "least_idle": 1}
    assert mishaps.mishap_of(fine) is None
    assert mishaps.mishap_of(fine | {"idle": 2}) == mishaps.STARVES
    assert mishaps.mishap_of(fine | {"rounds": 6}) == mishaps.MANY_ROUNDS
    assert mishaps.mishap_of(fine | {"error": "NeverEnds: the same 2 moves"}) == mishaps.NEVER_ENDS
    assert mishaps.mishap_of(fine | {"error": "IllegalStateException: no"}) == mishaps.THROWS
    unstable = fine | {"error": "NeverStable: 20 rounds", "rounds": None}
    assert mishaps.mishap_of(unstable) == mishaps.MANY_ROUNDS
    with pytest.raises(RuntimeError, match="ValueError"):
        mishaps.mishap_of(fine | {"error": "ValueError: no topic is left", "rounds": None})


def test_the_command_counts_and_shows_a_group(monkeypatch):
    # Not cut down: that takes half a minute.
    monkeypatch.setattr(
        mishaps,
        "smallest",
        lambda found: mishaps.document_of(found.scenario, found.strategy, found.step),
    )
    asked = ["fuzz", "--hunt", "--strategy", "range", "--assignments", "20", "--seed", "3"]
    result = CliRunner().invoke(main, asked)
    assert result.exit_code == 0, result.output
    head, _, row, *groups = result.stdout.splitlines()
    assert head == "| strategy | rebalances | never ends | throws | many rounds | starves |"
    assert row.startswith("| range | ") and int(row.split("|")[2]) >= 20
    shown = [json.loads(line) for line in groups if line.startswith("{")]
    times = [int(cell) for cell in row.split("|")[3:-1]]
    assert len(shown) == sum(number > 0 for number in times) > 0


@pytest.mark.parametrize(("answers", "exit_code"), [(False, 0), (True, 1)])
def test_originals_are_asked_about_what_is_said_never_to_end(monkeypatch, answers, exit_code):
    asked = []
    monkeypatch.setattr(mishaps, "scenarios", lambda seed: iter([ENDLESS]))
    monkeypatch.setattr(mishaps, "returns", lambda document: asked.append(document) or answers)
    command = ["fuzz", "--hunt", "--ask", "--strategy", "sticky", "--assignments", "1"]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == exit_code, result.output
    assert mishaps.document_of(ENDLESS, "sticky", 6) in asked
    assert all(mishaps.has(mishaps.NEVER_ENDS, document) for document in asked)
    groups = mishaps.NEIGHBOURS + len(mishaps.EVENTS)
    told = result.output.splitlines()
    numbers = f"| {len(asked)} | {len(asked) * answers} |"
    assert any(line.startswith(f"| sticky | {groups} | ") and numbers in line for line in told)
    assert (json.dumps(asked[0]) in told) == answers


@pytest.mark.slow
def test_the_original_of_the_newest_release_does_not_return():
    never = Path(__file__).parents[1] / "data" / "groups" / "never-ends.json"
    document = {**json.loads(never.read_text()), "strategy": "sticky"}
    try:
        assert not mishaps.returns(document)
        assert mishaps.returns({**document, "members": document["members"][:-1]})
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")


@pytest.mark.parametrize("reads", [1, 3, 9])
def test_narrow_members_read_so_many_topics(reads):
    group = group_of(Scenario(6, 5, 10, subscription=f"NARROW_{reads}", seed=4))
    lists = [group.members.topics_of(m).tolist() for m in range(6)]
    assert all(len(set(topics)) == min(reads, 5) for topics in lists)
    assert reads == 9 or len(set(map(tuple, lists))) > 1
    moments = history(Scenario(6, 5, 10, subscription=f"NARROW_{reads}", events=mishaps.EVENTS))
    assert len(moments) == len(mishaps.EVENTS)
    assert all(assignors.get("range").assign(moment.group).codes.size for moment in moments)


def test_a_row_of_a_table_tells_its_scenario():
    row = {name: getattr(ENDLESS, name) for name in ENDLESS.__slots__}
    assert scenario_of(row | {"events": " ".join(ENDLESS.events)}) == ENDLESS
