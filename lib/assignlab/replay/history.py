"""The events of a scenario, and its history: the group after each of them, ready to be replayed.

Which member or topic an event concerns is drawn from the seed where nothing else is said.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from assignlab.errors import DocumentError
from assignlab.group.model import NO_METADATA, Group, a_group
from assignlab.replay import events
from assignlab.replay.scenarios import (
    EVENTS,
    NARROW,
    Scenario,
    draw,
    event,
    group_of,
    instance_id,
    member_id,
    rack,
    replica_racks,
    topic_id,
    topic_name,
    topics_of_bucket,
)

MANY = 10
"""JOIN_MANY and LEAVE_MANY concern one member in so many, PARTITIONS_ADDED one topic in so many."""


# ---- histories ---------------------------------------------------------------------------------


@dataclass(eq=False, slots=True)
class Moment:
    """A group right after an event, before the assignor runs.

    ``origin``: int64[members], which member of the moment before each one was (by member id, or by
    instance id), -1 for a newcomer; None if all are the same, in the same order.
    ``resubscribed``: whether a member's subscription may have lost a topic, so that clients give up
    its partitions before they rejoin. ``returning``: members that were expelled and come back with
    what they held: (member, moment, member then). ``rebalance``: False where the coordinator hands
    out the old assignment without asking the assignor (a static member came back in time).
    """

    event: str
    group: Group
    origin: np.ndarray | None
    resubscribed: bool = False
    returning: tuple[tuple[int, int, int], ...] = ()
    rebalance: bool = True


def moments(groups: Iterable[tuple[str, Group]]) -> list[Moment]:
    """A history from groups that you made yourself: pairs of event and the group after it.

    Raises :class:`~assignlab.errors.DocumentError` where a group numbers topics otherwise than the one
    before: those that it had come first, in the same order; a topic that is gone stays without
    partitions (``None`` in :func:`assignlab.group.plain.group`), as
    :func:`assignlab.replay.events.delete_topic` leaves it.
    """
    history: list[Moment] = []
    before = None
    for word, group in groups:
        a_group(group)
        if before is not None and before.topics.names is not group.topics.names:
            known, names = list(before.topics.names), list(group.topics.names)
            if names[: len(known)] != known:
                raise DocumentError(
                    "topics", f"expected those before {word!r} first, {known}, got {names}"
                )
        # Groups whose subscriptions did not change mostly share their arrays.
        may_lose_topics = before is not None and before.members.topics is not group.members.topics
        history.append(Moment(word, group, origins(before, group), may_lose_topics))
        before = group
    return history


def origins(before: Group | None, group: Group) -> np.ndarray | None:
    """Which member of ``before`` each member is, by id or by instance id; see :class:`Moment`."""
    names = group.members.names
    if before is None:
        return np.full(len(names), -1, dtype=np.int64)
    if before.members.names is names:
        return None
    index = before.members.names.index
    origin = [index.get(name, -1) for name in names]
    instances = group.members.instances
    if instances is not None and before.members.instances is not None:
        known = {name: m for m, name in enumerate(before.members.instances) if name is not None}
        origin = [
            known.get(name, m) if m < 0 and name is not None else m
            for name, m in zip(instances, origin, strict=True)
        ]
    return np.array(origin, dtype=np.int64)


def history(scenario: Scenario) -> list[Moment]:
    """The moments of a scenario, one or more per event."""
    so_far = History(scenario)
    for word in scenario.events:
        so_far.event = word
        EVENTS[word](so_far)
    return so_far.moments


class Crashed(NamedTuple):
    """A member that was expelled: ``number``: how many members came before it; ``moment``,
    ``place``: when it was last heard of, and which member of the group it was then."""

    number: int
    id: str
    moment: int
    place: int


class History:
    """A history as far as it is told: its moments, and what the events to come have to know.

    ``group``: as it is now; ``numbers``: for each of its members, how many members came before it;
    ``joined``: how many ever did; ``crashed``: members that have not come back; ``event``: the one
    that happens now.
    """

    def __init__(self, scenario: Scenario):
        self.scenario = scenario
        self.group = group_of(scenario)
        self.joined = scenario.members
        self.numbers = list(range(scenario.members))
        self.crashed: list[Crashed] = []
        self.moments: list[Moment] = []
        self.event = "FULL"

    def add(self, group: Group, origin: np.ndarray | None = None, **facts) -> None:
        """The next moment: the group after the event; ``origin``, where it is known, and ``facts``:
        fields of :class:`Moment`."""
        if origin is None or not self.moments:
            origin = origins(self.group if self.moments else None, group)
        self.group = group
        self.moments.append(Moment(self.event, group, origin, **facts))

    def drawn(self, what: str, among: int) -> int:
        """A number below ``among``, drawn from the seed for this moment."""
        return draw(self.scenario, f"{what}/{len(self.moments)}") % among

    def drawn_member(self, what: str = "member") -> int:
        """The index of a member; ``what`` tells draws of one event apart."""
        return self.drawn(what, len(self.group.members))

    def drawn_topic(self) -> int:
        """The index of a topic that has partitions; raises ``ValueError`` if none is left."""
        there = np.flatnonzero(self.group.topics.partitions > 0)
        if not there.size:
            raise ValueError(f"{self.event}: no topic is left")
        return int(there[self.drawn("topic", there.size)])

    def takes_up_new_topics(self, number: int) -> bool:
        """Whether a member of this number does: all if HOMOGENEOUS, else the last bucket's."""
        kind, buckets = self.scenario.subscription, self.scenario.buckets
        if kind in ("RANDOM", *NARROW):
            return False
        return kind == "HOMOGENEOUS" or number % buckets == buckets - 1

    def topics_on_return(self, crashed: Crashed) -> np.ndarray:
        """What a member subscribes to that comes back: what it did, and new topics if it takes them."""
        then = self.moments[crashed.moment].group
        topics = then.members.topics_of(crashed.place)
        if not self.takes_up_new_topics(crashed.number):
            return topics
        return np.append(topics, np.arange(len(then.topics), len(self.group.topics)))

    def tenth_of_members(self) -> int:
        """A tenth of the members, rounded up."""
        return -(-len(self.group.members) // MANY)

    def join(self, count: int) -> None:
        """Members join that were never there."""
        numbers = list(range(self.joined, self.joined + count))
        self.joined += count
        topics = [topics_of_bucket(self.scenario, number) for number in numbers]
        if self.scenario.subscription == "HOMOGENEOUS":
            topics = [np.arange(len(self.group.topics))] * count
        self.enter(numbers, topics)

    def enter(self, numbers: list[int], topics: list[np.ndarray], ids=None, **facts) -> None:
        """Members of these numbers enter the group, with what is left of these topics."""
        scenario = self.scenario
        there = self.group.topics.partitions != NO_METADATA
        origin = np.arange(len(self.numbers) + len(numbers))
        origin[len(self.numbers) :] = -1
        self.numbers = self.numbers + numbers
        self.add(
            events.join(
                self.group,
                ids or [member_id(scenario, number) for number in numbers],
                [indices[there[indices]] for indices in topics],
                [instance_id(number) for number in numbers] if scenario.static else None,
                [rack(scenario, number) for number in numbers] if scenario.racks else None,
            ),
            origin,
            **facts,
        )

    def leave(self, indices: Iterable[int]) -> None:
        """Add the group without the members of these indices."""
        gone = set(indices)
        group = events.leave(self.group, gone)
        kept = [m for m in range(len(self.numbers)) if m not in gone]
        self.numbers = [self.numbers[m] for m in kept]
        self.add(group, origin=np.array(kept))

    def restart(self, member: int) -> None:
        """A member comes back with a new id; a static one comes back in time."""
        static = self.group.members.instances is not None
        group = events.restart(self.group, member, member_id(self.scenario, self.joined))
        self.joined += 1
        if not static:
            self.numbers.append(self.numbers.pop(member))
        self.add(group, rebalance=not static)

    def racks_of(self, partitions: int):
        """The racks of a topic's replicas, None where the scenario has no racks."""
        return replica_racks(partitions, self.scenario.racks) if self.scenario.racks else None


# ---- events ------------------------------------------------------------------------------------


@event("FULL")
def full(so_far: History):
    """Nobody holds anything: the first event, or a restart of the whole group."""
    so_far.add(so_far.group, origin=np.full(len(so_far.group.members), -1, dtype=np.int64))


@event("STABLE")
def stable(so_far: History):
    """A rebalance though nothing changed."""
    so_far.add(so_far.group)


@event("JOIN_ONE")
def join_one(so_far: History):
    """A member joins."""
    so_far.join(1)


@event("JOIN_MANY")
def join_many(so_far: History):
    """One member in ten, rounded up, joins."""
    so_far.join(so_far.tenth_of_members())


@event("LEAVE_ONE")
def leave_one(so_far: History):
    """The last member leaves."""
    so_far.leave([len(so_far.group.members) - 1])


@event("LEAVE_MANY")
def leave_many(so_far: History):
    """One member in ten, rounded up, leaves: the last ones."""
    count = len(so_far.group.members)
    so_far.leave(range(count - so_far.tenth_of_members(), count))


@event("CRASH")
def crash(so_far: History):
    """A member is expelled."""
    member = so_far.drawn_member("crash")
    id = so_far.group.members.names[member]
    so_far.crashed.append(Crashed(so_far.numbers[member], id, len(so_far.moments) - 1, member))
    so_far.leave([member])


@event("RETURN")
def return_(so_far: History):
    """All that crashed and are not back yet come back under their ids and claim what they held. A
    coordinator that assigns forgets members that it expels: to it they come with nothing.

    Topics that appeared meanwhile they take up as if they had been there, if others of their kind did.
    """
    crashed, so_far.crashed = so_far.crashed, []
    first = len(so_far.group.members)
    so_far.enter(
        [member.number for member in crashed],
        [so_far.topics_on_return(member) for member in crashed],
        [member.id for member in crashed],
        returning=tuple(
            (first + i, member.moment, member.place) for i, member in enumerate(crashed)
        ),
    )


@event("RESTART")
def restart(so_far: History):
    """A member comes back with a new id at once, in one rebalance; a static one causes none."""
    so_far.restart(so_far.drawn_member("restart"))


@event("ROLLING_RESTART")
def rolling_restart(so_far: History):
    """Every member leaves and joins with a new id, one after the other, two rebalances each.

    Static members come back in time and cause none (Kafka's coordinator since 2.3, under whatever
    strategy); one rebalance afterwards shows what it would change.
    """
    members = len(so_far.group.members)
    if so_far.group.members.instances is not None:
        for member in range(members):
            so_far.restart(member)
        so_far.add(so_far.group)
        return
    for _ in range(members):
        number = so_far.numbers[0]
        topics = so_far.group.members.topics_of(0)
        so_far.leave([0])
        so_far.enter([number], [topics], [member_id(so_far.scenario, so_far.joined)])
        so_far.joined += 1


@event("SUBSCRIBE")
def subscribe(so_far: History):
    """A member takes up one more topic."""
    member = so_far.drawn_member()
    subscribed = so_far.group.members.topics_of(member)
    others = so_far.group.topics.partitions != NO_METADATA
    others[subscribed] = False
    others = np.flatnonzero(others)
    if others.size:
        subscribed = np.append(subscribed, others[so_far.drawn("topic", others.size)])
    so_far.add(events.subscribe(so_far.group, member, subscribed))


@event("UNSUBSCRIBE")
def unsubscribe(so_far: History):
    """A member drops a topic."""
    member = so_far.drawn_member()
    subscribed = so_far.group.members.topics_of(member)
    if subscribed.size:
        subscribed = np.delete(subscribed, so_far.drawn("topic", subscribed.size))
    so_far.add(events.subscribe(so_far.group, member, subscribed), resubscribed=True)


@event("TOPIC_CREATED")
def topic_created(so_far: History):
    """A topic with as many partitions as the average one appears.

    The last bucket takes it up; everybody, if HOMOGENEOUS; every other member, if RANDOM or
    NARROW_1 to NARROW_9.
    """
    scenario = so_far.scenario
    index = len(so_far.group.topics)
    partitions = max(1, scenario.partitions // scenario.topics)
    members = [m for m, number in enumerate(so_far.numbers) if so_far.takes_up_new_topics(number)]
    if scenario.subscription in ("RANDOM", *NARROW):
        members = list(range(0, len(so_far.numbers), 2))
    name, id = topic_name(scenario, index), topic_id(scenario, index)
    racks = so_far.racks_of(partitions)
    so_far.add(events.create_topic(so_far.group, name, partitions, members, id, racks))


@event("TOPIC_DELETED")
def topic_deleted(so_far: History):
    """A topic is deleted; its subscribers drop it."""
    so_far.add(events.delete_topic(so_far.group, so_far.drawn_topic()), resubscribed=True)


@event("TOPIC_RECREATED")
def topic_recreated(so_far: History):
    """A topic is deleted and created again with half the partitions, rounded up."""
    topic = so_far.drawn_topic()
    partitions = -(-int(so_far.group.topics.partitions[topic]) // 2)
    id = topic_id(so_far.scenario, topic, len(so_far.moments))
    racks = so_far.racks_of(partitions)
    so_far.add(events.recreate_topic(so_far.group, topic, partitions, id, racks))


@event("PARTITIONS_ADDED")
def partitions_added(so_far: History):
    """One topic in ten, rounded up, at regular intervals, gains a partition."""
    there = np.flatnonzero(so_far.group.topics.partitions > 0).tolist()
    count = -(-len(there) // MANY)
    chosen = [there[i * len(there) // count] for i in range(count)]
    grown = {t: int(so_far.group.topics.partitions[t]) + 1 for t in chosen}
    racks = {t: so_far.racks_of(partitions) for t, partitions in grown.items()}
    so_far.add(events.add_partitions(so_far.group, grown, racks))
