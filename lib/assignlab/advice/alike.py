"""Which strategies and releases would have given exactly this assignment: by playing them."""

import numpy as np

from assignlab import assignors
from assignlab.advice.report import Table
from assignlab.advice.subject import CLASSIC, SERVER, Subject, is_server
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Claims, Group
from assignlab.replay.rebalance import settled

KAFKA_CLIENTS = (
    CLASSIC, "librdkafka", "kafka-python", "sarama", "kafkajs", "franz-go", "kafka-go",
)  # fmt: skip


def candidates(subject: Subject) -> list[Strategy]:
    """What may have assigned this group: its system's strategies.

    Of a classic Kafka group the Java client's of every release, and other clients' of the name that
    the text has.
    """
    kind = subject.document.get("assignor") or (subject.strategy and subject.strategy.kind)
    systems = KAFKA_CLIENTS
    if is_server(subject.strategy):
        systems = (SERVER,)
    elif subject.strategy is not None and subject.strategy.system not in KAFKA_CLIENTS:
        systems = (subject.strategy.system,)
    return [
        strategy
        for strategy in assignors.strategies().values()
        if strategy.system in systems
        and not strategy.shares
        and (strategy.system not in KAFKA_CLIENTS[1:] or strategy.kind == kind)
    ]


def alike(subject: Subject) -> tuple[str, Table]:
    """(a sentence, the strategies that give exactly these owners)."""
    asked = candidates(subject)
    fresh = subject.group.with_claims(Claims.none(subject.members))
    rows = []
    for strategy in asked:
        from_nothing = _gives(strategy, fresh, subject.held)
        keeping = _gives(strategy, subject.group, subject.held) if strategy.sticky else None
        if from_nothing or keeping:
            span = strategy.first
            if strategy.last != strategy.first:
                span += f" to {strategy.last}"
            rows.append((strategy.name, strategy.system, span, bool(from_nothing), keeping))
    names = ", ".join(row[0] for row in rows[:4]) + (f" and {len(rows) - 4} more" * (len(rows) > 4))
    said = (
        f"Of {len(asked)} strategies and releases played, {names} would have given exactly this."
        if rows
        else f"None of {len(asked)} strategies and releases played gives exactly this assignment: "
        "members came and went since, or subscriptions are not as inferred."
    )
    return said, Table(
        "alike",
        "Who would have given exactly this",
        ("strategy", "system", "releases", "from nothing", "keeping what is held"),
        rows,
    )


def _gives(strategy: Strategy, group: Group, held: Assignment) -> bool:
    try:
        if strategy.equip is not None:
            group = group.prepared(strategy.equip)
        given = settled(group, strategy)
    except AssignlabError:
        return False
    return np.array_equal(given.offsets, held.offsets) and all(
        np.array_equal(np.sort(given.of(m)), np.sort(held.of(m))) for m in range(given.sizes.size)
    )
