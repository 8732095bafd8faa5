"""Every golden vector of every strategy: the same lists, or the same class of error."""

import json
import lzma
from collections import Counter, deque
from itertools import islice

import pytest

from assignlab import assignors
from assignlab.errors import OriginalError
from assignlab.group import document
from assignlab.proof import golden
from assignlab.proof.verify import same

STATES_AT_LEAST = 2000
FIRST = 100
"""How many vectors of each strategy the tests of every save look at."""
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


@pytest.fixture(scope="module", params=golden.recorded())
def name(request):
    """A strategy that has vectors."""
    return request.param


@pytest.fixture(scope="module")
def vectors(request, name):
    """All of its vectors; for the tests of every save the first of them."""
    quick = request.config.option.markexpr == "not slow"
    return list(islice(golden.read(name), FIRST if quick else None))


@pytest.fixture(scope="module")
def answers(name, vectors):
    """Ours, in their order: what is assigned, and what the members claim next."""
    return [answer(assignors.get(name), vector) for vector in vectors]


def answer(strategy, vector):
    """(the answer to the document, the next claims or None where there are none)."""
    group = document.parse(vector)
    try:
        after = strategy.assign(group)
    except OriginalError as error:
        return {"error": str(error)}, None
    claims = strategy.reclaim and document.lists(group, strategy.reclaim(group, after))
    return {"assignment": strategy.render(group, after), **after.notes}, claims


@pytest.mark.slow
def test_vectors_are_many_and_of_all_kinds(vectors):
    events = Counter(vector["event"] for vector in vectors)
    assert events.total() >= STATES_AT_LEAST
    assert events.keys() >= MEANT_TO_MEET
    members = [member for vector in vectors for member in vector["members"]]
    assert any(len(set(m["topics"])) < len(m["topics"]) for m in members), "none named twice"


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in golden.recorded() if golden.may_not_end(name)])
def test_rebalances_that_never_end_are_among_the_vectors(name):
    """They are the last of a file; only these are parsed."""
    with lzma.open(golden.FOLDER / f"{name}{golden.SUFFIX}") as lines:
        last = [json.loads(line).get("expected") for line in deque(lines, golden.CHANGED)]
    never = sum(expected == {"error": "NeverEnds"} for expected in last)
    assert 0 < never < golden.CHANGED, "groups beside the one that never ends do end"


def test_ours_gives_what_the_original_gave(vectors, answers):
    differing = []
    for vector, (ours, _) in zip(vectors, answers, strict=True):
        if "undetermined" in vector:
            assert ours.keys() > {"assignment"}, f"{vector['case']}: ours does not say so"
        elif not same(vector["expected"], ours):
            differing.append((len(str(vector)), vector, ours))
    assert not differing, (
        f"{len(differing)} vectors differ, the smallest and ours: "
        f"{min(differing, key=lambda one: one[0])[1:]}"
    )


def test_a_strategy_says_that_it_throws_and_that_its_answer_may_be_another(name, vectors):
    told = assignors.get(name).assign.__doc__
    thrown = any("error" in vector.get("expected", {}) for vector in vectors)
    assert not thrown or "Raises " in told
    assert not any("undetermined" in vector for vector in vectors) or "Notes" in told


def test_members_claim_next_what_their_clients_would_send(name, vectors, answers):
    if assignors.get(name).reclaim is None:
        pytest.skip(f"{name} sends no claims")
    regrouped = 0
    for vector, (_, ours) in zip(vectors, answers, strict=True):
        assignment = vector.get("expected", {}).get("assignment")
        if assignment is None:
            continue
        claims = vector["expected"].get("next_owned", assignment)
        regrouped += claims != assignment
        assert ours == claims, vector
    assert regrouped > 0
