"""Rebalances of a group as it is: what its members hold now is the claim at the first one."""

from collections.abc import Sequence
from dataclasses import replace

from assignlab.advice.subject import Subject, is_server
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Claims, Group
from assignlab.replay.beside import regret_of
from assignlab.replay.history import moments
from assignlab.replay.rebalance import Step, replay
from assignlab.replay.records import measures
from assignlab.words import counted

Event = tuple[str, Group]
"""A word, and the group after it."""


def frozen(subject: Subject) -> Strategy:
    """A strategy that answers with what the members hold now; its kind is the group's own."""
    held = Assignment(subject.held.offsets, subject.held.codes)

    def assign(group: Group) -> Assignment:
        return held

    own = subject.strategy or Strategy(
        name="unknown", system="", protocol="eager", source="", look=("", "", ""), assign=assign,
        first="0",
    )  # fmt: skip
    protocol = "server" if is_server(own) else "eager"
    return replace(own, protocol=protocol, assign=assign, reclaim=None, equip=None, sticky=False)


def stops(subject: Subject, strategy: Strategy) -> bool:
    """Whether all members stop before a switch to the strategy: its protocol is another."""
    return is_server(strategy) != is_server(subject.strategy)


def steps(
    subject: Subject,
    events: Sequence[Event],
    strategy: Strategy | Sequence[Strategy],
    silent: Sequence[Sequence[int]] | None = None,
) -> list[Step]:
    """The rebalances of these events, from what is held now; the first step is what is held.

    ``strategy``: of all events, or one for each; ``silent``: see
    :func:`assignlab.replay.rebalance.replay`, without the first step; left out, it is everybody at a
    "switch" before which all members stop. Raises
    :class:`~assignlab.errors.AssignlabError` where a strategy fails.
    """
    played = begun(subject, events, strategy, silent)
    if (error := played[-1].error) is not None:
        raise AssignlabError(f"{played[-1].strategy.name}: {error}")
    return played


def begun(
    subject: Subject,
    events: Sequence[Event],
    strategy: Strategy | Sequence[Strategy],
    silent: Sequence[Sequence[int]] | None = None,
) -> list[Step]:
    """The same up to the first rebalance at which a strategy fails, which is then the last one and
    has the error."""
    now = subject.group.with_claims(Claims.none(subject.members))
    history = moments([("now", now), *events])
    following = [strategy] * (len(history) - 1) if isinstance(strategy, Strategy) else strategy
    if silent is None:
        silent = [
            range(subject.members) if word == "switch" and stops(subject, new) else ()
            for (word, _), new in zip(events, following, strict=True)
        ]
    quiet = [(), *silent]
    played: list[Step] = []
    for step in replay(history, [frozen(subject), *following], quiet):
        played.append(step)
        if step.error is not None:
            break
    return played


def numbers(step: Step) -> dict[str, int]:
    """The numbers of a rebalance: how even it leaves the group, what it moves.

    ``moved``: partitions taken from a member, by choice or because it left; ``avoidable``: of those
    that were taken by choice, more than any assignment needs that is at least as even. Raises
    :class:`~assignlab.errors.AssignlabError` where a member gets what it does not subscribe to.
    """
    found = measures(step)
    if found["invalid"]:
        wrong = counted(found["invalid"], "partition")
        raise AssignlabError(
            f"{step.strategy.name}: gives {wrong} to members that do not read them"
        )
    avoidable = found["avoidable"]
    if avoidable is None:
        regret = regret_of(step)[1] if found["by_choice"] else None
        avoidable = regret.moves_regret if regret else 0
    told = {
        "fullest": found["largest"],
        "emptiest": found["smallest"],
        "gap": found["count_gap"],
        "idle": found["idle"],
        "moved": found["by_choice"] + found["forced"],
        "by_choice": found["by_choice"],
        "avoidable": avoidable,
        "interrupted": found["interrupted"],
        "rounds": step.rounds,
    }
    return {name: int(number) for name, number in told.items()}  # NumPy's, of plain Python


def together(played: Sequence[Step]) -> dict[str, int]:
    """Several rebalances as one: sizes at the end, the sum of the moves."""
    every = [numbers(step) for step in played]
    added = ("moved", "by_choice", "avoidable", "interrupted", "rounds")
    return every[-1] | {name: sum(row[name] for row in every) for name in added}
