"""Every golden vector of every strategy: the same lists, or the same class of error."""

from collections import Counter

import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.group import document
from assignlab.proof import golden
from assignlab.proof.verify import same

STRATEGIES = golden.recorded()
"""Those that have vectors, ours or not yet."""
STATES_AT_LEAST = 2000
MEANT_TO_MEET = {
    "nothing",
    "join",
    "join many",
    "leave",
    "leave many",
    "crash",
    "return with stale claims",
    "rolling restart",
    "resubscription",
    "topic created",
    "topic deleted",
    "topic recreated smaller",
    "partitions added",
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_vectors_are_many_and_of_all_kinds(name):
    events = Counter(vector["event"] for vector in golden.read(name))
    assert events.total() >= STATES_AT_LEAST
    assert events.keys() >= MEANT_TO_MEET


@pytest.mark.parametrize("name", STRATEGIES)
def test_ours_gives_what_the_original_gave(name):
    if name not in assignors.names():
        pytest.skip(f"no strategy {name}")
    differing = []
    for vector in golden.read(name):
        ours = answer(vector)
        if "undetermined" in vector:
            assert ours.keys() > {"assignment"}, f"{vector['case']}: ours does not say so"
        elif not same(vector["expected"], ours):
            differing.append(vector)
    smallest = min(differing, key=lambda vector: len(str(vector)), default=None)
    assert not differing, (
        f"{len(differing)} vectors differ, the smallest is {smallest}; ours: {answer(smallest)}"
    )


@pytest.mark.parametrize("name", STRATEGIES)
def test_members_claim_next_what_their_clients_would_send(name):
    if name not in assignors.names() or assignors.get(name).reclaim is None:
        pytest.skip(f"{name} sends no claims")
    strategy = assignors.get(name)
    regrouped = 0
    for vector in golden.read(name):
        assignment = vector.get("expected", {}).get("assignment")
        if assignment is None:
            continue
        claims = vector["expected"].get("next_owned", assignment)
        regrouped += claims != assignment
        group = document.parse(vector)
        again = strategy.reclaim(group, strategy.assign(group))
        assert document.lists(group, again) == claims, vector
    assert regrouped > 0
