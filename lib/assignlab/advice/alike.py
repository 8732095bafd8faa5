"""Which strategies and releases would have given exactly this assignment: by playing them."""

from operator import attrgetter

import numpy as np

from assignlab import assignors
from assignlab.advice.report import Table
from assignlab.advice.subject import CLASSIC, SERVER, Subject
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Claims, Group
from assignlab.groups.inference import KAFKA_UUID
from assignlab.releases import spans, version
from assignlab.replay.rebalance import settled


def candidates(subject: Subject) -> list[Strategy]:
    """What may have assigned this group: its system's strategies.

    Of a classic Kafka group the Java client's of every release, and other clients' of the name that
    the text has, or of any name where a member's id looks like theirs and the text names none; the
    coordinator's, if all members have ids as it draws them.
    """
    every = [strategy for strategy in assignors.strategies().values() if not strategy.shares]
    own = subject.strategy
    if own is not None and not own.of_clients:
        return [strategy for strategy in every if strategy.system == own.system]
    kind = own.kind if own is not None else subject.document.get("assignor")
    ids = list(subject.group.members.names) if kind is None else []
    if ids and all(KAFKA_UUID.fullmatch(name) for name in ids):
        return [strategy for strategy in every if strategy.system == SERVER]
    seen = {strategy.system for strategy in every if any(map(strategy.names, ids))}
    return [
        strategy
        for strategy in every
        if strategy.of_clients
        and (strategy.system == CLASSIC or strategy.kind == kind or strategy.system in seen)
    ]


def alike(subject: Subject) -> tuple[str, Table]:
    """(a sentence, the strategies that give exactly these owners).

    Releases of one strategy that do so alike share a row.
    """
    asked = candidates(subject)
    fresh = subject.group.with_claims(Claims.none(subject.members))
    found: dict[tuple[str, str, bool, bool | None], list[Strategy]] = {}
    for strategy in asked:
        from_nothing = _gives(strategy, fresh, subject.held)
        keeping = _gives(strategy, subject.group, subject.held) if strategy.sticky else None
        if from_nothing or keeping:
            key = (strategy.base, strategy.system, from_nothing, keeping)
            found.setdefault(key, []).append(strategy)
    rows = [
        (base, system, releases(alike, asked), from_nothing, keeping)
        for (base, system, from_nothing, keeping), alike in found.items()
    ]
    names = [f"{row[0]} ({row[2]})" for row in rows]
    more = f" and {len(names) - 4} more" if len(names) > 4 else ""
    said = (
        f"Of {len(asked)} strategies and releases played, these would have given exactly this:"
        f" {', '.join(names[:4])}{more}."
        if rows
        else f"None of {len(asked)} strategies and releases played gives exactly this assignment:"
        " members came and went since, or subscriptions are not as inferred."
    )
    columns = ("strategy", "system", "releases", "from nothing", "keeping what is held")
    return said, Table("alike", "Who would have given exactly this", columns, rows)


def releases(some: list[Strategy], asked: list[Strategy]) -> str:
    """The releases of some of a strategy's behaviours, of those asked; what follow each other as one span."""
    axis = sorted((s for s in asked if s.base == some[0].base), key=lambda s: version(s.first))
    return spans(some, axis, attrgetter("first", "last"))


def _gives(strategy: Strategy, group: Group, held: Assignment) -> bool:
    try:
        given = settled(group, strategy)
    except AssignlabError:
        return False
    return np.array_equal(given.offsets, held.offsets) and all(
        np.array_equal(np.sort(given.of(m)), np.sort(held.of(m))) for m in range(given.sizes.size)
    )
