"""What can go wrong with a rebalance, hunted: how often, and in how small a group.

A rebalance **never ends** where the original walks in a circle, **throws**, takes **many rounds**
(a cooperative one that has moved partitions more than five times, or does not settle at all), or
**starves** a member: somebody has nothing, though a complete assignment with the least sum of
squares leaves fewer members without partitions.

The hunt plays seeded scenarios (:mod:`assignlab.replay.scenarios`), by hand with :func:`hunt` or on
Spark: :data:`MISHAPS` has the same conditions in SQL, for the table of a sweep with the optimum.
What it finds is cut down like a failure of the fuzz.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import count
from typing import NamedTuple

import numpy as np

from assignlab import assignors
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.document import Document, dump, parse
from assignlab.group.model import Group
from assignlab.optimum import optimum
from assignlab.proof import smaller
from assignlab.proof.fuzz import CUT_SECONDS
from assignlab.proof.golden import endless
from assignlab.proof.originals import Original, OriginalTimedOut, has_original, original_of
from assignlab.replay.history import history
from assignlab.replay.rebalance import NeverStable, replay, settling
from assignlab.replay.records import COLUMNS_BESIDE_OPTIMUM, records
from assignlab.replay.scenarios import Scenario

NEVER_ENDS = "never ends"
THROWS = "throws"
MANY_ROUNDS = "many rounds"
STARVES = "starves"
MOST_ROUNDS = 5
ASKED_SECONDS = 2
"""For an original, about a group on which ours says that it never ends;
others take milliseconds."""
NEIGHBOURS = 40
"""How many groups close to one that never ends are asked about, beside those of the scenarios."""
MISHAPS = {
    NEVER_ENDS: "error like 'NeverEnds:%'",
    THROWS: "error not like 'NeverEnds:%' and rounds is not null",
    MANY_ROUNDS: f"(rounds > {MOST_ROUNDS} or error like 'NeverStable:%')",
    STARVES: "idle > least_idle",
}
"""Mishap -> which rows of a sweep's table have it, as an SQL condition."""

EVENTS = (
    "FULL", "JOIN_ONE", "TOPIC_CREATED", "JOIN_MANY", "CRASH", "PARTITIONS_ADDED", "JOIN_ONE",
    "RETURN", "SUBSCRIBE", "JOIN_ONE", "UNSUBSCRIBE", "JOIN_MANY", "LEAVE_ONE", "TOPIC_DELETED",
)  # fmt: skip
"""A life: members, topics and partitions come and go."""
SHAPES = tuple(
    (members, topics, partitions, subscription)
    for members, topics, partitions in ((5, 5, 21), (13, 13, 86), (24, 16, 140))
    for subscription in ("NARROW_2", "NARROW_3", "NARROW_5", "RANDOM", "HETEROGENEOUS_NESTED",
                         "HETEROGENEOUS_DISJOINT", "HOMOGENEOUS")
)  # fmt: skip
"""Members, topics, partitions and subscription of the groups that are tried in turn."""


class Found(NamedTuple):
    """A mishap: ``scenario``, ``strategy``, ``step`` play it again; ``event``: what led to it."""

    mishap: str
    scenario: Scenario
    strategy: str
    step: int
    event: str


class Hunt(NamedTuple):
    """What :func:`hunt` saw of one strategy: rebalances, how often each mishap,
    and its first group."""

    strategy: str
    rebalances: int
    times: Counter
    first: dict[str, Found]


def hunt(strategy: str, rebalances: int, seed: int) -> Hunt:
    """Play scenarios of all shapes until there were so many rebalances.

    A strategy that throws goes on with what its members had (:mod:`assignlab.replay.rebalance`).
    """
    times: Counter = Counter()
    first: dict[str, Found] = {}
    done = 0
    for scenario in scenarios(seed):
        for row in records(scenario, [strategy], optimum=True):
            fields = dict(zip(NAMES, row, strict=True))
            done += 1
            if (mishap := mishap_of(fields)) is not None:
                times[mishap] += 1
                place = fields["step"], fields["event"]
                first.setdefault(mishap, Found(mishap, scenario, strategy, *place))
        if done >= rebalances:
            return Hunt(strategy, done, times, first)
    raise AssertionError("scenarios do not come to an end")


NAMES = [column.name for column in COLUMNS_BESIDE_OPTIMUM]


def scenarios(seed: int) -> Iterator[Scenario]:
    """One scenario after the other, of every shape in turn, with even and with skewed topics."""
    for number in count(seed):
        skew = ("EQUAL", "SKEWED")[number % 2]
        for members, topics, partitions, subscription in SHAPES:
            yield Scenario(members, topics, partitions, skew, subscription, number, events=EVENTS)


def mishap_of(fields: dict) -> str | None:
    """What went wrong in a record, by :data:`MISHAPS`; None if nothing did."""
    error = fields["error"]
    if error is not None:
        ended = {"NeverEnds": NEVER_ENDS, "NeverStable": MANY_ROUNDS}
        mishap = ended.get(error.partition(":")[0], THROWS)
        if mishap == THROWS and fields["rounds"] is None:
            raise RuntimeError(f"a simulation failed: {error}")
        return mishap
    if fields["rounds"] > MOST_ROUNDS:
        return MANY_ROUNDS
    return STARVES if fields["idle"] > fields["least_idle"] else None


def can_never_end(name: str) -> bool:
    """Whether a rebalance never ends under a strategy in the museum's group or in one beside it; of
    other groups a False says nothing.

    >>> can_never_end("sticky"), can_never_end("server-uniform")
    (True, False)
    """
    return assignors.get(name).may_loop and any(
        has(NEVER_ENDS, document) for _, _, document in endless(name, 0, NEIGHBOURS)
    )


# ---- asking the originals ----------------------------------------------------------------------


class Asked(NamedTuple):
    """What :func:`ask_of_endless` saw of one strategy: how many ``groups`` it was given, of how
    many members name different topics (``uneven``), on how many it ``raised`` that the original
    never ends, and those that the original ``answered`` all the same."""

    strategy: str
    groups: int
    uneven: int
    raised: int
    answered: list[Document]


def looping() -> list[str]:
    """The strategies that have an original with a loop that may not end."""
    return [
        name
        for name, strategy in assignors.strategies().items()
        if strategy.may_loop and has_original(name)
    ]


def ask_of_endless(name: str, groups: int, seed: int) -> Asked:
    """Give a strategy so many groups, and ask its original about each that is said never to end.

    They are the neighbours of one that never ends, of which half do not either, and those of
    scenarios of all shapes, round by round. The original has :data:`ASKED_SECONDS` for a question,
    once it has answered an easy one. Raises OriginalsUnavailable.
    """
    seen: Counter = Counter()
    said: list[Document] = []
    strategy = assignors.get(name)

    def watched(group: Group) -> Assignment:
        seen["groups"] += 1
        seen["uneven"] += int(group.members.subscription.max(initial=0) > 0)
        try:
            return strategy.assign(group)
        except OriginalError as error:
            if error.original == "NeverEnds":
                said.append({"strategy": name, **dump(group)})
            raise

    for _, _, document in endless(name, seed, NEIGHBOURS):
        with suppress(OriginalError):
            watched(parse(document))
    observed = replace(strategy, assign=watched)
    for scenario in scenarios(seed):
        with suppress(NeverStable):  # the rest of that life is not played, as in a sweep
            for _ in replay(history(scenario), observed):
                pass
        if seen["groups"] >= groups:
            break
    answered = [document for document in said if returns(document)]
    return Asked(name, seen["groups"], seen["uneven"], len(said), answered)


def returns(document: Document) -> bool:
    """Whether the original, warm from an easy question, answers about a group in time."""
    easy = {**document, "members": document["members"][:1]}
    with Original(*original_of(document["strategy"])) as original:
        original.ask(easy)
        try:
            original.ask(document, ASKED_SECONDS)
        except OriginalTimedOut:
            return False
    return True


def show_asked(names: Sequence[str], groups: int, seed: int, say: Callable[[str], None]) -> int:
    """Tell of each strategy what :func:`ask_of_endless` saw, at least so many groups together;
    returns how many groups the originals answered that are said never to end."""
    say("| strategy | groups | of different topics | never ends | the original answers |")
    say("| --- | ---: | ---: | ---: | ---: |")
    total = np.zeros(4, dtype=int)
    for name in names:
        asked = ask_of_endless(name, -(-groups // len(names)), seed)
        numbers = asked.groups, asked.uneven, asked.raised, len(asked.answered)
        total += numbers
        say(f"| {name} | {' | '.join(f'{n:,}' for n in numbers)} |")
        for document in asked.answered:
            say(json.dumps(document))
    say(f"| all | {' | '.join(f'{n:,}' for n in total)} |")
    return int(total[-1])


# ---- the smallest group ------------------------------------------------------------------------


def document_of(scenario: Scenario, strategy: str, step: int) -> Document:
    """The group document with which the assignor was asked at a step of a scenario."""
    chosen = assignors.get(strategy)
    moments = history(scenario)[: step + 1]
    *_, last = replay(moments, chosen)
    return {"strategy": strategy, **dump(last.group)}


def has(mishap: str, document: Document) -> bool:
    """Whether a group document has it: the group asked once, a cooperative one until it settles."""
    group, strategy = parse(document), assignors.get(document["strategy"])
    try:
        end, rounds = settling(group, strategy)
    except NeverStable:
        return mishap == MANY_ROUNDS
    except OriginalError as error:
        return mishap == (NEVER_ENDS if error.original == "NeverEnds" else THROWS)
    if mishap == MANY_ROUNDS:
        return rounds > MOST_ROUNDS
    idle = (end.sizes == 0).sum()
    return mishap == STARVES and bool(idle and idle > (optimum(group).assignment.sizes == 0).sum())


def smallest(found: Found) -> Document | None:
    """The smallest group within the one found that goes wrong alike;
    None where it does not by itself.

    A rebalance that takes many rounds in a history may need what came before it.
    """
    document = document_of(found.scenario, found.strategy, found.step)
    goes_wrong = partial(has, found.mishap)
    return smaller.smallest(document, goes_wrong, CUT_SECONDS) if goes_wrong(document) else None


# ---- in numbers --------------------------------------------------------------------------------


def table(hunts: Iterable[Hunt]) -> str:
    """One row per strategy, as Markdown: how often each mishap in how many rebalances."""
    lines = [
        f"| strategy | rebalances | {' | '.join(MISHAPS)} |",
        f"| --- | ---: |{' ---: |' * len(MISHAPS)}",
    ]
    for seen in hunts:
        times = " | ".join(str(seen.times[mishap]) for mishap in MISHAPS)
        lines.append(f"| {seen.strategy} | {seen.rebalances} | {times} |")
    return "\n".join(lines)


def show(names: Sequence[str], rebalances: int, seed: int, say: Callable[[str], None]) -> None:
    """Hunt through these strategies, at least so many rebalances together; tell the table, and of
    each mishap the smallest group."""
    hunts = [hunt(name, -(-rebalances // len(names)), seed) for name in names]
    say(table(hunts))
    for seen in hunts:
        for mishap, found in seen.first.items():
            document = smallest(found)
            if document is not None:
                say(f"\n{seen.strategy} {mishap}, first after {found.event}, here cut down:")
                say(json.dumps(document))
