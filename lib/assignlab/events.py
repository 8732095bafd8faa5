"""What happens to a group: pure functions Group -> Group, and the history of a scenario.

An event changes members or topics and leaves claims aside: a replay puts in what each member holds
by then. Topics keep their indices, so partition codes keep their meaning: a new topic is appended,
a deleted one stays in the list without partitions. Members keep their order; newcomers come last.
Whatever an event does not touch is shared with the group before.

Triggers as in Kafka's consumer: membership, a member's subscription, and the topics and partition
counts that the leader's metadata show. Members that subscribe by a pattern take up a new topic and
drop a deleted one with the same rebalance.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from assignlab.group import NO_METADATA, Claims, Group, Members, Topics
from assignlab.jvm import Names
from assignlab.scenarios import (
    Scenario,
    draw,
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
"""JOIN_MANY and LEAVE_MANY concern one member in so many, rounded up; so does PARTITIONS_ADDED."""


# ---- members -----------------------------------------------------------------------------------


def join(
    group: Group,
    ids: Sequence[str],
    topics: Sequence[np.ndarray],
    instances: Sequence[str | None] | None = None,
    racks: Sequence[str | None] | None = None,
) -> Group:
    """New members with the topic indices that they subscribe to."""
    members = group.members
    rows = _Rows(members)
    joining = np.array([rows.of(indices) for indices in topics], dtype=np.int64)
    subscription = np.concatenate((members.subscription, joining))
    return _with_members(
        group,
        Members(
            members.names.append(ids),
            subscription,
            *rows.arrays(),
            _appended(members.instances, len(members), instances, len(ids)),
            _appended(members.racks, len(members), racks, len(ids)),
            members.streams and members.streams + (None,) * len(ids),
        ),
    )


def leave(group: Group, indices: Iterable[int]) -> Group:
    """These members leave, or are expelled because they crashed."""
    gone = set(indices)
    if len(gone) >= len(group.members):
        raise ValueError("the last member cannot leave: nobody would be there to assign to")
    return _take(group, [m for m in range(len(group.members)) if m not in gone])


def restart(group: Group, member: int, id: str) -> Group:
    """A member is replaced by one with a new id, the same subscription, instance and rack.

    A static member keeps its place in the coordinator's order, any other one joins at the end.
    """
    members = group.members
    order = list(range(len(members)))
    if members.instances is None or members.instances[member] is None:
        order.append(order.pop(member))
    names = [id if m == member else members.names[m] for m in order]
    return _with_members(group, replace(_take(group, order).members, names=Names(names)))


def subscribe(group: Group, member: int, topics: np.ndarray) -> Group:
    """A member changes its subscription to these topic indices, in this order."""
    rows = _Rows(group.members)
    subscription = group.members.subscription.copy()
    subscription[member] = rows.of(topics)
    return _with_members(group, _resubscribed(group.members, subscription, rows))


# ---- topics ------------------------------------------------------------------------------------


def create_topic(
    group: Group,
    name: str,
    partitions: int,
    subscribers: Iterable[int],
    id: str | None = None,
    racks: tuple[tuple[str | None, ...], ...] | None = None,
) -> Group:
    """A new topic, taken up by the members whose pattern it matches."""
    topics = group.topics
    index = len(topics)
    grown = Topics(
        topics.names.append([name]),
        np.append(topics.partitions, partitions),
        None if topics.racks is None else topics.racks + (racks,),
        None if topics.ids is None else topics.ids + (id,),
        None if topics.queues is None else topics.queues + (None,),
    )
    return _resubscribe(
        group.with_topics(grown), subscribers, lambda subscribed: np.append(subscribed, index)
    )


def delete_topic(group: Group, topic: int) -> Group:
    """A topic goes; the members that subscribed to it drop it from their subscriptions."""
    partitions = group.topics.partitions.copy()
    partitions[topic] = NO_METADATA
    without = group.with_topics(replace(group.topics, partitions=partitions))
    return _resubscribe(
        without, range(len(group.members)), lambda subscribed: subscribed[subscribed != topic]
    )


def recreate_topic(
    group: Group,
    topic: int,
    partitions: int,
    id: str | None = None,
    racks: tuple[tuple[str | None, ...], ...] | None = None,
) -> Group:
    """A topic was deleted and created again, between two rebalances, under the same name."""
    return _resized(group, {topic: partitions}, {topic: id}, {topic: racks})


def add_partitions(
    group: Group,
    partitions: dict[int, int],
    racks: dict[int, tuple[tuple[str | None, ...], ...] | None] | None = None,
) -> Group:
    """Topics grow: new partition count by topic index."""
    for topic, count in partitions.items():
        if count < group.topics.partitions[topic]:
            raise ValueError(f"topic {group.topics.names[topic]} cannot shrink to {count}")
    return _resized(group, partitions, {}, racks or {})


def _resized(group: Group, partitions: dict, ids: dict, racks: dict) -> Group:
    topics = group.topics
    counts = topics.partitions.copy()
    for topic, count in partitions.items():
        counts[topic] = count
    return group.with_topics(
        replace(
            topics,
            partitions=counts,
            ids=_replaced(topics.ids, ids),
            racks=_replaced(topics.racks, racks),
        )
    )


def _replaced(column: tuple | None, values: dict) -> tuple | None:
    if column is None or not values:
        return column
    return tuple(values.get(i, value) for i, value in enumerate(column))


# ---- how members share subscriptions -----------------------------------------------------------


class _Rows:
    """The distinct subscriptions of a group, to which others can be added."""

    def __init__(self, members: Members):
        bounds = members.offsets.tolist()
        self.rows = [members.topics[a:b] for a, b in zip(bounds, bounds[1:])]  # noqa: B905
        self.same = (members.offsets, members.topics)

    def of(self, topics: np.ndarray) -> int:
        """The row of this list of topics; added if there is none."""
        for i, row in enumerate(self.rows):
            if row.size == topics.size and (row == topics).all():
                return i
        self.rows.append(np.asarray(topics, dtype=np.int64))
        self.same = None
        return len(self.rows) - 1

    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """(offsets, topics) of ``Members``."""
        if self.same is not None:
            return self.same
        offsets = np.zeros(len(self.rows) + 1, dtype=np.int64)
        np.cumsum([row.size for row in self.rows], out=offsets[1:])
        return offsets, np.concatenate(self.rows)


def _resubscribe(group: Group, subscribers: Iterable[int], change) -> Group:
    """Change the topics of some members; equal subscriptions are changed once."""
    rows = _Rows(group.members)
    subscription = group.members.subscription.copy()
    changed: dict[int, int] = {}
    for m in subscribers:
        row = int(subscription[m])
        if row not in changed:
            changed[row] = rows.of(change(rows.rows[row]))
        subscription[m] = changed[row]
    return _with_members(group, _resubscribed(group.members, subscription, rows))


def _resubscribed(members: Members, subscription: np.ndarray, rows: _Rows) -> Members:
    return _compact(replace(members, subscription=subscription), rows)


def _compact(members: Members, rows: _Rows) -> Members:
    """Drop subscriptions that nobody has any more."""
    used = np.zeros(len(rows.rows), dtype=np.bool_)
    used[members.subscription] = True
    if not used.all():
        place = np.cumsum(used) - 1
        rows.rows = [row for row, kept in zip(rows.rows, used.tolist(), strict=True) if kept]
        rows.same = None
        members = replace(members, subscription=place[members.subscription])
    offsets, topics = rows.arrays()
    return replace(members, offsets=offsets, topics=topics)


def _take(group: Group, order: list[int]) -> Group:
    members = group.members

    def taken(column):
        return None if column is None else tuple([column[m] for m in order])

    kept = Members(
        members.names.take(order),
        members.subscription[order],
        members.offsets,
        members.topics,
        taken(members.instances),
        taken(members.racks),
        taken(members.streams),
    )
    if members.offsets.size > 2:
        kept = _compact(kept, _Rows(members))
    return _with_members(group, kept)


def _with_members(group: Group, members: Members) -> Group:
    return Group(group.topics, members, _no_claims(len(members)), group.options)


_no_claims = lru_cache(maxsize=64)(Claims.none)


def _appended(column: tuple | None, old: int, values: Sequence | None, new: int) -> tuple | None:
    if column is None and values is None:
        return None
    return (column or (None,) * old) + (tuple(values) if values is not None else (None,) * new)


# ---- histories ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False, slots=True)
class Moment:
    """A group right after an event, before the assignor runs.

    ``origin``: int64[members], which member of the moment before each one was (by member id, or by
    instance id), -1 for a newcomer; None if all are the same, in the same order.
    ``resubscribed``: whether a member's subscription lost a topic, so that clients give up
    partitions before they rejoin. ``returning``: members that were expelled and come back with
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
    """A history from groups that you made yourself: pairs of event and the group after it."""
    history: list[Moment] = []
    before = None
    for event, group in groups:
        history.append(Moment(event, group, origins(before, group), _lost_topics(before, group)))
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
            known.get(name, m) if m < 0 else m for name, m in zip(instances, origin, strict=True)
        ]
    return np.array(origin, dtype=np.int64)


def _lost_topics(before: Group | None, group: Group) -> bool:
    """Whether subscriptions changed at all: members that only came or went share their arrays."""
    return before is not None and before.members.topics is not group.members.topics


def history(scenario: Scenario) -> list[Moment]:
    """The moments of a scenario, one or more per event.

    FULL: nobody holds anything; the first event, or a restart of the whole group. STABLE: nothing
    changes. JOIN_ONE, JOIN_MANY: one member in ten, rounded up, joins. LEAVE_ONE, LEAVE_MANY: those
    with the highest indices leave. CRASH: a member is expelled; RETURN: all that crashed come back
    under their ids and claim what they held, unless they are back. RESTART: a member comes back
    with a new id at once, in one rebalance; ROLLING_RESTART: every member leaves and joins with a
    new id, one after the other, two rebalances each; static members come back in time and cause
    none (Kafka's coordinator since 2.3, under whatever strategy), one rebalance afterwards shows
    what it would change. SUBSCRIBE, UNSUBSCRIBE: a member
    takes up or drops a topic. TOPIC_CREATED: with as many partitions as the average topic, taken up
    by the last bucket (everybody, if HOMOGENEOUS; every other member, if RANDOM). TOPIC_DELETED.
    TOPIC_RECREATED: with half the partitions, rounded up. PARTITIONS_ADDED: one topic in ten,
    rounded up, at regular intervals, gains one. Which member or topic is concerned is drawn from
    the seed where nothing else is said.
    """
    teller = _Teller(scenario)
    for event in scenario.events:
        teller.tell(event)
    return teller.moments


class _Teller:
    """Tells a scenario's history, event by event."""

    def __init__(self, scenario: Scenario):
        self.scenario = scenario
        self.group = group_of(scenario)
        self.joined = scenario.members
        self.numbers = list(range(scenario.members))  # of the group's members: how many came before
        self.crashed: list[tuple[int, str, int, int]] = []
        self.moments: list[Moment] = []
        self.event = "FULL"

    def tell(self, event: str) -> None:
        self.event = event
        getattr(self, "_" + event.lower())()

    def _then(self, group: Group, **facts) -> None:
        before = self.group if self.moments else None
        self.group = group
        self.moments.append(
            Moment(
                self.event,
                group,
                facts.pop("origin") if "origin" in facts else origins(before, group),
                **facts,
            )
        )

    def _drawn(self, what: str, among: int) -> int:
        return draw(self.scenario, f"{what}/{len(self.moments)}") % among

    def _full(self):
        self._then(self.group, origin=np.full(len(self.group.members), -1, dtype=np.int64))

    def _stable(self):
        self._then(self.group)

    def _join_one(self):
        self._join(1)

    def _join_many(self):
        self._join(-(-len(self.group.members) // MANY))

    def _join(self, count: int):
        numbers = list(range(self.joined, self.joined + count))
        self.joined += count
        topics = [topics_of_bucket(self.scenario, number) for number in numbers]
        if self.scenario.subscription == "HOMOGENEOUS":
            everything = np.arange(len(self.group.topics))
            topics = [everything] * count
        self._enter(numbers, topics)

    def _enter(self, numbers: list[int], topics: list[np.ndarray], ids=None, **facts):
        """Members join, with what is left of these topics."""
        scenario = self.scenario
        there = self.group.topics.partitions != NO_METADATA
        self.numbers = self.numbers + numbers
        self._then(
            join(
                self.group,
                ids or [member_id(scenario, number) for number in numbers],
                [indices[there[indices]] for indices in topics],
                [instance_id(number) for number in numbers] if scenario.static else None,
                [rack(scenario, number) for number in numbers] if scenario.racks else None,
            ),
            **facts,
        )

    def _leave_one(self):
        self._leave([len(self.group.members) - 1])

    def _leave_many(self):
        count = len(self.group.members)
        self._leave(list(range(count - -(-count // MANY), count)))

    def _leave(self, indices: list[int]):
        group = leave(self.group, indices)
        self.numbers = [n for m, n in enumerate(self.numbers) if m not in set(indices)]
        self._then(group)

    def _crash(self):
        member = self._drawn("crash", len(self.group.members))
        self.crashed.append(
            (
                self.numbers[member],
                self.group.members.names[member],
                len(self.moments) - 1,
                member,
            )
        )
        self._leave([member])

    def _return(self):
        crashed, self.crashed = self.crashed, []
        there = len(self.group.members)
        numbers = [number for number, _, _, _ in crashed]
        self._enter(
            numbers,
            [self.moments[then].group.members.topics_of(m) for _, _, then, m in crashed],
            [name for _, name, _, _ in crashed],
            returning=tuple(
                (there + i, then, member) for i, (_, _, then, member) in enumerate(crashed)
            ),
        )

    def _restart(self):
        self._restart_member(self._drawn("restart", len(self.group.members)))

    def _restart_member(self, member: int):
        static = self.group.members.instances is not None
        group = restart(self.group, member, member_id(self.scenario, self.joined))
        self.joined += 1
        if not static:
            self.numbers.append(self.numbers.pop(member))
        self._then(group, rebalance=not static)

    def _rolling_restart(self):
        if self.group.members.instances is not None:
            for member in range(len(self.group.members)):
                self._restart_member(member)
            self._stable()
            return
        for _ in range(len(self.group.members)):
            number = self.numbers[0]
            topics = self.group.members.topics_of(0)
            self._leave([0])
            self._enter([number], [topics], [member_id(self.scenario, self.joined)])
            self.joined += 1

    def _subscribe(self):
        member = self._drawn("member", len(self.group.members))
        mine = self.group.members.topics_of(member)
        others = self.group.topics.partitions != NO_METADATA
        others[mine] = False
        others = np.flatnonzero(others)
        if others.size:
            mine = np.append(mine, others[self._drawn("topic", others.size)])
        self._then(subscribe(self.group, member, mine))

    def _unsubscribe(self):
        member = self._drawn("member", len(self.group.members))
        mine = self.group.members.topics_of(member)
        if mine.size:
            mine = np.delete(mine, self._drawn("topic", mine.size))
        self._then(subscribe(self.group, member, mine), resubscribed=True)

    def _topic_created(self):
        scenario = self.scenario
        index = len(self.group.topics)
        partitions = max(1, scenario.partitions // scenario.topics)
        members = range(len(self.group.members))
        if scenario.subscription == "RANDOM":
            members = members[::2]
        elif scenario.subscription != "HOMOGENEOUS":
            last = scenario.buckets - 1
            members = [m for m in members if self.numbers[m] % scenario.buckets == last]
        self._then(
            create_topic(
                self.group,
                topic_name(scenario, index),
                partitions,
                members,
                topic_id(scenario, index),
                self._racks(partitions),
            )
        )

    def _topic_deleted(self):
        self._then(delete_topic(self.group, self._some_topic()), resubscribed=True)

    def _topic_recreated(self):
        topic = self._some_topic()
        partitions = -(-int(self.group.topics.partitions[topic]) // 2)
        id = topic_id(self.scenario, topic, len(self.moments))
        self._then(recreate_topic(self.group, topic, partitions, id, self._racks(partitions)))

    def _some_topic(self) -> int:
        there = np.flatnonzero(self.group.topics.partitions > 0)
        if not there.size:
            raise ValueError(f"{self.event}: no topic is left")
        return int(there[self._drawn("topic", there.size)])

    def _partitions_added(self):
        there = np.flatnonzero(self.group.topics.partitions > 0).tolist()
        count = -(-len(there) // MANY)
        grown = {
            t: int(self.group.topics.partitions[t]) + 1
            for t in (there[i * len(there) // count] for i in range(count))
        }
        racks = {t: self._racks(partitions) for t, partitions in grown.items()}
        self._then(add_partitions(self.group, grown, racks))

    def _racks(self, partitions: int):
        return replica_racks(partitions, self.scenario.racks) if self.scenario.racks else None
