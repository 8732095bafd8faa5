"""Rebalances that never end: noticed where the originals do not return, and nowhere else."""

import json
import random
from pathlib import Path

import pytest

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.assignors.parts import never_ends
from assignlab.errors import OriginalError
from assignlab.group.document import parse
from assignlab.proof import originals
from assignlab.proof.golden import may_not_end
from assignlab.proof.originals import Original, OriginalsUnavailable, original_of
from assignlab.proof.verify import same

HANG = json.loads((Path(__file__).parents[1] / "data" / "groups" / "never-ends.json").read_text())
"""Five members: no release of kafka-clients returns from it."""
KAFKA = [name for name in assignors.names() if may_not_end(name)]


@pytest.mark.parametrize("name", KAFKA)
def test_a_group_on_which_no_release_returns(name):
    """Asked of every one of these releases, with a limit of 20 s each."""
    with pytest.raises(OriginalError, match="^NeverEnds: the same 2 moves come round for ever"):
        assignors.get(name).assign(parse(HANG))


def test_without_the_newcomer_the_group_is_answered():
    known = {**HANG, "members": HANG["members"][:-1]}
    assert answer(known, "sticky").keys() == {"assignment"}


def told(states):
    """After how many walks that begin in these states one is said to have come back, and its period.

    A state is a list of numbers; every walk moves once.
    """
    memory = never_ends.nothing_remembered(4, 4)
    never_ends.begin_to_walk(memory)
    for walks, state in enumerate(states, 1):
        if never_ends.has_to_tell(memory):
            for value in state:
                never_ends.tell(memory, value)
            if moves := never_ends.period(memory):
                return walks, moves
        memory.walk[0].moves += 1
    return None


@pytest.mark.parametrize("lead", [0, 5, 40])
@pytest.mark.parametrize("period", [1, 2, 7, 30])
def test_the_period_is_the_least_one_whatever_comes_before(lead, period):
    states = [[-n, 3] for n in range(1, lead + 1)] + [[n % period] * 3 for n in range(1000)]
    walks, moves = told(states)
    assert moves == period
    # Brent: the state remembered first within the circle lies at most as far again as it and the
    # lead are long.
    assert walks <= 2 * max(lead, period, never_ends.FIRST_WALK) + period


def test_states_that_only_resemble_one_another_do_not_count():
    rng = random.Random(3)
    assert told([[n, *range(rng.randrange(6))] for n in range(500)]) is None
    growing = ([0] * length for length in range(1, 9))
    assert told(growing) is None


def test_what_a_benchmark_asks_for_may_take_as_long_as_it_allows():
    assert originals.may_never_end({**HANG, "strategy": "sticky"})
    spec = {"topics": 50, "partitions": 100, "members": 500, "shape": "HET1", "event": "JOIN"}
    assert not originals.may_never_end({"strategy": "sticky", "spec": spec, "repeat": 101})


@pytest.mark.slow
def test_a_jar_does_not_return_and_its_successor_answers(monkeypatch):
    """The newest release; then another question, to the process that is started in its place."""
    try:
        with Original(*original_of("sticky")) as original:
            monkeypatch.setattr(originals, "NEVER_SECONDS", 3)
            never = original.ask({**HANG, "strategy": "sticky"})
            monkeypatch.undo()
            assert never == {"error": "NeverEnds: no answer within 3 s"}
            ends = {**HANG, "strategy": "sticky", "members": HANG["members"][:-1]}
            assert same(original.ask(ends), answer(ends))
    except OriginalsUnavailable as missing:
        pytest.skip(f"the originals cannot be run: {missing}")
