"""A group with more or fewer members: events for replays, with ids of newcomers drawn."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from assignlab.advice.play import Event, steps, stops
from assignlab.advice.subject import DRAWS, Subject, is_server, new_id, usual_topics
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.group.model import Group
from assignlab.jvm.names import Names
from assignlab.replay import events

WORK = 1_500_000
"""So many members and partitions are dealt for one answer, at most, or there are fewer draws."""
REBALANCE = 2_000
"""What a rebalance costs by itself, in the same measure."""
LEAST_DRAWS = 10
MOST_ROLLED_OUT = 100
ROLLED_OUT = 10
"""Rollouts of groups that are larger than the one restart so many members, which are drawn."""


def draws_for(subject: Subject, rebalances: int, members: int = 0) -> int:
    """How often ids are drawn for an answer that takes so many rebalances.

    Never more often than the document's own field ``draws`` says, if it has one.
    """
    given = subject.document.get("draws")
    most = DRAWS if given is None else max(1, given)
    each = subject.partitions + max(members, subject.members) + REBALANCE
    return int(np.clip(WORK // (rebalances * each), min(LEAST_DRAWS, most), most))


def joined(subject: Subject, group: Group, strategy: Strategy, draw: random.Random) -> Group:
    """A member more, which subscribes as most do; static where all others are."""
    instances = [_instance(group)] if subject.static else None
    return events.join(
        group, [new_id(subject, draw, is_server(strategy))], [usual_topics(group)], instances
    )


def returned(
    subject: Subject,
    before: Group,
    member: int,
    group: Group,
    strategy: Strategy,
    draw: random.Random,
) -> Group:
    """``group`` and the new process of a member of ``before``, which has all of it but the id."""
    former = before.sent
    new = new_id(subject, draw, is_server(strategy), former.names.names[member])
    columns = former.instances, former.racks, former.streams
    own: list[Any] = [None if column is None else [column[member]] for column in columns]
    return events.join(group, [new], [former.topics_of(member)], *own)


def is_static(group: Group, member: int) -> bool:
    """Whether this member has a group.instance.id: back in time, it takes its place again."""
    instances = group.sent.instances
    return instances is not None and instances[member] is not None


def leaver(group: Group, draw: random.Random) -> int:
    """Who leaves where a member too many is taken away: the last of a stateful set, or anybody."""
    order = highest_first(group.sent.instances)
    return order[0] if order else draw.randrange(len(group.members))


def highest_first(instances: Sequence[str | None] | None) -> list[int]:
    """Static members as a stateful set takes them away, billing-10 before billing-9; nobody where not all
    are static."""
    names = [name for name in instances or () if name is not None]
    if len(names) < len(instances or ()):
        return []
    return sorted(range(len(names)), key=lambda m: (len(names[m]), names[m]))[::-1]


def _instance(group: Group) -> str:
    """The next name in the row of a stateful set, billing-3 after billing-2."""
    known = [name for name in group.sent.instances or () if name is not None]
    stem = re.sub(r"\d+$", "", known[0]) if known else "member-"
    ordinals = [int(n) for name in known if (n := name.removeprefix(stem)).isdecimal()]
    return f"{stem}{max(ordinals, default=len(known)) + 1}"


def switched(subject: Subject, strategy: Strategy) -> list[Event]:
    """The event by which the group comes to run this strategy: none if it does already."""
    own = subject.strategy
    return [] if own is not None and own.name == strategy.name else [("switch", subject.group)]


def settling(subject: Subject, strategy: Strategy) -> list[Event]:
    """A rebalance with nothing changed, which moves what is overdue; none where it fails."""
    again = [("a rebalance", subject.group)]
    try:
        steps(subject, again, strategy)
    except AssignlabError:
        return []
    return again


def stopped(subject: Subject, strategy: Strategy, draw: random.Random) -> Subject:
    """The group as a strategy of the other protocol finds it, whose switch stops all members: with the
    ids of new processes; else as it is."""
    if not stops(subject, strategy):
        return subject
    sent, server = subject.group.sent, is_server(strategy)
    names = Names([new_id(subject, draw, server, name) for name in sent.names])
    group = Group(
        subject.group.topics,
        replace(sent, names=names),
        subject.group.claims,
        subject.group.options,
    )
    return replace(subject, group=group)


def rolled_out(subject: Subject) -> int:
    """How many members a rollout restarts here: all, but of a large group some."""
    return subject.members if subject.members <= MOST_ROLLED_OUT else ROLLED_OUT


def restarted(
    subject: Subject, strategy: Strategy, draw: random.Random, surge: bool = False
) -> list[Event]:
    """A rollout, member by member; the new process of a member has a new id.

    With ``surge`` it joins before the old one leaves. Static members come back in time: no
    rebalance; in the classic protocol their newcomers would take over at once, so surge does not matter,
    under KIP-848 the coordinator refuses them: AssignlabError.
    """
    if surge and subject.some_static and is_server(strategy):
        raise AssignlabError(
            "newcomers are refused while the member of their instance id is there (UNRELEASED_INSTANCE_ID)"
        )
    happened: list[Event] = []
    group = subject.group
    names = list(group.members.names)
    if rolled_out(subject) < len(names):
        names = draw.sample(names, rolled_out(subject))
    for name in names:
        before, member = group, group.members.names.index[name]
        if is_static(group, member):
            continue
        if subject.members == 1 and not surge:
            new = new_id(subject, draw, is_server(strategy), name)
            return [("restart", events.restart(group, member, new))]
        for join in (surge, not surge):
            if join:
                group = returned(subject, before, member, group, strategy, draw)
            else:
                group = events.leave(group, [member])
            happened.append(("join" if join else "leave", group))
    return happened
