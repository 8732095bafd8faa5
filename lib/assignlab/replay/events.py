"""What happens to a group: pure functions Group -> Group.

An event changes members or topics and leaves claims aside: a replay puts in what each member holds
by then. Topics keep their indices, so partition codes keep their meaning: a new topic is appended,
a deleted one stays in the list without partitions. Members keep their order; newcomers come last.
Whatever an event does not touch is shared with the group before.

Triggers as in Kafka's consumer: membership, a member's subscription, and the topics and partition
counts that the leader's metadata show. Members that subscribe by a pattern take up a new topic and
drop a deleted one with the same rebalance.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import cycle, islice, pairwise

import numpy as np

from assignlab.group.model import NO_METADATA, Claims, Group, Members, Topics
from assignlab.jvm.names import Names

# ---- members -----------------------------------------------------------------------------------


def join(
    group: Group,
    ids: Sequence[str],
    topics: Sequence[np.ndarray],
    instances: Sequence[str | None] | None = None,
    racks: Sequence[str | None] | None = None,
    streams: Sequence[int | tuple[int, ...] | None] | None = None,
) -> Group:
    """New members with the topic indices that they subscribe to."""
    members = group.sent
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
            _appended(members.streams, len(members), streams, len(ids)),
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
    members = group.sent
    order = list(range(len(members)))
    if members.instances is None or members.instances[member] is None:
        order.append(order.pop(member))
    names = [id if m == member else members.names[m] for m in order]
    return _with_members(group, replace(_take(group, order).sent, names=Names(names)))


def subscribe(group: Group, member: int, topics: np.ndarray) -> Group:
    """A member changes its subscription to these topic indices, in this order."""
    rows = _Rows(group.sent)
    subscription = group.sent.subscription.copy()
    subscription[member] = rows.of(topics)
    return _with_members(group, _subscribing(group.sent, subscription, rows))


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
        None if topics.weights is None else topics.weights + (None,),
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
            queues=_each(topics.queues, partitions, _queues),
            weights=_each(topics.weights, partitions, _weights),
        )
    )


def _each(column: tuple | None, partitions: dict, resized: Callable) -> tuple | None:
    """A column in which what topics of new counts had is ``resized``."""
    if column is None:
        return None
    old = {topic: column[topic] for topic in partitions if column[topic] is not None}
    return _replaced(column, {topic: resized(old[topic], partitions[topic]) for topic in old})


def _queues(own: tuple, count: int) -> tuple:
    """New queues go to the topic's brokers in turn, each as often as it has queues.

    >>> _queues((("a", 0), ("a", 1), ("b", 0)), 6)
    (('a', 0), ('a', 1), ('b', 0), ('a', 2), ('a', 3), ('b', 1))
    """
    found = list(own[: max(count, 0)])
    grown = Counter(broker for broker, _ in found)
    for broker, _ in islice(cycle(own), max(count - len(own), 0)):
        found.append((broker, grown[broker]))
        grown[broker] += 1
    return tuple(found)


def _weights(own: np.ndarray, count: int) -> np.ndarray:
    """New partitions weigh as much as the topic's partitions do on average."""
    new = np.full(max(count - own.size, 0), own.mean() if own.size else 1.0)
    return np.concatenate((own[: max(count, 0)], new))


def _replaced(column: tuple | None, values: dict) -> tuple | None:
    if column is None or not values:
        return column
    return tuple(values.get(i, value) for i, value in enumerate(column))


# ---- how members share subscriptions -----------------------------------------------------------


class _Rows:
    """The distinct subscriptions of a group, to which others can be added."""

    def __init__(self, members: Members):
        bounds = members.offsets.tolist()
        self.rows = [members.topics[a:b] for a, b in pairwise(bounds)]
        self.same: tuple[np.ndarray, np.ndarray] | None = (members.offsets, members.topics)

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
        offsets = np.cumsum([0] + [row.size for row in self.rows], dtype=np.int64)
        return offsets, np.concatenate(self.rows)


def _resubscribe(group: Group, subscribers: Iterable[int], change) -> Group:
    """Change the topics of some members; equal subscriptions are changed once."""
    rows = _Rows(group.sent)
    subscription = group.sent.subscription.copy()
    changed: dict[int, int] = {}
    for m in subscribers:
        row = int(subscription[m])
        if row not in changed:
            changed[row] = rows.of(change(rows.rows[row]))
        subscription[m] = changed[row]
    return _with_members(group, _subscribing(group.sent, subscription, rows))


def _subscribing(members: Members, subscription: np.ndarray, rows: _Rows) -> Members:
    """The members with these subscriptions; rows that nobody has any more are dropped."""
    used = np.zeros(len(rows.rows), dtype=np.bool_)
    used[subscription] = True
    if not used.all():
        place = np.cumsum(used) - 1
        rows.rows = [row for row, kept in zip(rows.rows, used.tolist(), strict=True) if kept]
        rows.same = None
        subscription = place[subscription]
    offsets, topics = rows.arrays()
    return replace(members, subscription=subscription, offsets=offsets, topics=topics)


def _take(group: Group, order: list[int]) -> Group:
    members = group.sent
    places = np.array(order, dtype=np.int64)

    def taken(column):
        return None if column is None else tuple([column[m] for m in order])

    kept = Members(
        members.names.take(places),
        members.subscription[places],
        members.offsets,
        members.topics,
        taken(members.instances),
        taken(members.racks),
        taken(members.streams),
    )
    if members.offsets.size > 2:
        kept = _subscribing(kept, kept.subscription, _Rows(members))
    return _with_members(group, kept)


def _with_members(group: Group, members: Members) -> Group:
    return Group(group.topics, members, _no_claims(len(members)), group.options)


_no_claims = lru_cache(maxsize=64)(Claims.none)


def _appended(column: tuple | None, old: int, values: Sequence | None, new: int) -> tuple | None:
    if column is None and values is None:
        return None
    return (column or (None,) * old) + (tuple(values) if values is not None else (None,) * new)
