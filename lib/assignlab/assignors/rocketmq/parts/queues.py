"""Message queues of RocketMQ, and how its clients come to call an allocation strategy.

Every client does this for itself: for each topic that it subscribes to and that exists, it sorts
the topic's queues (by broker name, then number) and *all* clients of the group, also those that do
not subscribe to the topic, and asks the strategy for its own part. So queues can fall to a client
that never asks for them.

A topic that is given by a plain number of partitions lies on one broker, ``broker-a``. A client
that names a topic twice has its queues twice in its list.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from assignlab.assignors.parts.orders import members_by_id, mentions
from assignlab.compiled import njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, code, partition_of, topic_of
from assignlab.group.document import expect, named_lists
from assignlab.group.model import Group, Topics, first_numbers, subscriptions_by_topic
from assignlab.jvm.names import utf16

BROKER = "broker-a"
NOBODY = -1
NO_QUEUE = np.empty(0, dtype=np.int64)

Queue = tuple[str, int]


class Calls(NamedTuple):
    """Queues to be shared out and the clients to share them, one call of a strategy after another.

    Call c shares ``codes[starts[c]:starts[c + 1]]`` (int64; partition codes, all of one topic)
    among the crowd ``k = crowd[c]``: ``clients[crowd_starts[k]:crowd_starts[k + 1]]`` (int64;
    member indices, by id). ``slots`` int64, as ``codes``: the place of a queue among all queues of
    :func:`queues_by_topic`.
    """

    starts: np.ndarray
    codes: np.ndarray
    slots: np.ndarray
    crowd: np.ndarray
    crowd_starts: np.ndarray
    clients: np.ndarray


def calls_by_topic(group: Group) -> Calls:
    """One call for each topic, all clients of the group together."""
    check(group)
    members, partitions = group.members, group.topics.partitions
    starts, codes, slots = by_topic(
        group.topics.names.order, partitions, members.subscription,
        group.prepared(subscriptions_by_topic), *sorted_queues(group),
    )  # fmt: skip
    everybody = members_by_id(group)
    crowd = np.zeros(starts.size - 1, dtype=np.int64)
    return Calls(starts, codes, slots, crowd, np.array((0, everybody.size)), everybody)


@njit
def by_topic(by_name, partitions, subscription, subscribed, counts, in_order):
    """(starts, codes, slots) of :class:`Calls`, subscribed topics by name.

    ``counts``, ``in_order``: see :func:`sorted_queues`.
    """
    wanted = np.zeros(partitions.size, dtype=np.bool_)
    asking = np.zeros(subscribed.shape[0], dtype=np.bool_)
    for s in subscription:
        if not asking[s]:
            asking[s] = True
            wanted |= subscribed[s]
    first = first_numbers(counts)
    starts = np.zeros(partitions.size + 1, dtype=np.int64)
    codes = np.empty(first[-1], dtype=np.int64)
    slots = np.empty(first[-1], dtype=np.int64)
    calls = n = 0
    for t in by_name:
        if not wanted[t] or partitions[t] <= 0:
            continue
        for slot in range(first[t], first[t + 1]):
            p = in_order[slot] if in_order.size > 0 else slot - first[t]
            codes[n], slots[n] = code(t, p), first[t] + p
            n += 1
        calls += 1
        starts[calls] = n
    return starts[: calls + 1], codes[:n], slots[:n]


def queues_of(group: Group, topic: int) -> tuple[Queue, ...]:
    """(broker name, number) of every partition index of a topic."""
    return group.topics.prepared(queues_by_topic)[topic]


def queues_by_topic(topics: Topics) -> list[tuple[Queue, ...]]:
    """:func:`queues_of` every topic (for ``topics.prepared``)."""
    counts = topics.partitions.tolist()
    named = topics.queues or (None,) * len(counts)
    return [on_one_broker(n) if own is None else own for own, n in zip(named, counts, strict=True)]


@lru_cache(maxsize=256)
def on_one_broker(count: int) -> tuple[Queue, ...]:
    """The queues of a topic that no broker is named for."""
    return tuple((BROKER, number) for number in range(count))


def sorted_queues(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(counts, in_order): how many queues every topic has, int64[topics], and their partition
    indices in the order of ``MessageQueue``, topic by topic, int64[n].

    The latter is empty if every topic lies on one broker: there they are in order.
    """
    if group.topics.queues is None:
        return group.topics.partitions, NO_QUEUE
    orders = [order_of(queues) for queues in group.topics.prepared(queues_by_topic)]
    return np.array([order.size for order in orders]), np.concatenate([NO_QUEUE, *orders])


@lru_cache(maxsize=1024)
def order_of(queues: tuple[Queue, ...]) -> np.ndarray:
    """The order of a list of queues, whatever its topic: int64[n]."""
    keys = [(utf16(broker), number) for broker, number in queues]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__), dtype=np.int64)


def check(group: Group) -> None:
    """What every strategy but the configured one refuses; raises :class:`OriginalError`."""
    if "" not in group.members.names.names and 0 not in group.topics.partitions.tolist():
        return
    for member, topic in calls_in_turn(group):
        check_call(group, member, topic)


def calls_in_turn(group: Group) -> Iterator[tuple[int, int]]:
    """(member, topic) of every call that may be the first to fail: of each kind of members the first
    calls for each topic that it subscribes to and the cluster has, by name.

    Members are of one kind if subscription, rack and having a name are the same.
    """
    members = group.members
    racks = members.racks or (None,) * len(members)
    kinds: dict[tuple, int] = {}
    for m, (s, rack, name) in enumerate(
        zip(members.subscription.tolist(), racks, members.names, strict=True)
    ):
        kinds.setdefault((s, rack, name == ""), m)
    for member in kinds.values():
        topics = members.topics_of(member)
        topics = topics[group.topics.partitions[topics] >= 0]
        for topic in topics[np.argsort(group.topics.names.rank[topics])].tolist():
            yield member, topic


def check_call(group: Group, member: int, topic: int) -> None:
    """``AbstractAllocateMessageQueueStrategy.check`` of one call."""
    if group.members.names[member] == "":
        raise OriginalError("IllegalArgumentException", "a client has an empty id")
    if group.topics.partitions[topic] == 0:
        name = group.topics.names[topic]
        raise OriginalError("IllegalArgumentException", f"topic {name!r} has no queue")


CALLED = {dict: "an object", list: "an array", str: "a string", int: "a whole number"}
"""What JSON has, in words."""


def option(group: Group, name: str, kind: type, default: Any) -> Any:
    """A strategy's own field of the document; raises :class:`~assignlab.errors.DocumentError`
    if it is of another kind."""
    value = group.options.get(name, default)
    expect(value, kind, name, CALLED[kind])
    return value


def share_out(group: Group, allocate: Callable[[Group, Calls], np.ndarray]) -> Assignment:
    """Topic after topic; ``allocate``: the strategy's own rule, the owner of every queue of the calls.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws,
    :class:`~assignlab.errors.DocumentError` for an option of the wrong kind.
    """
    calls = group.prepared(calls_by_topic)
    return hand_out(group, calls, allocate(group, calls))


def hand_out(group: Group, shared: Calls, owners: np.ndarray) -> Assignment:
    """The members' lists, once the strategy has said who owns each queue of the calls."""
    subscribed = group.prepared(subscriptions_by_topic)
    own = keep_own(shared.codes, owners, subscribed, group.members.subscription)
    return once_per_mention(group, Assignment(*own))


def once_per_mention(group: Group, once: Assignment) -> Assignment:
    """A client that names a topic twice calls the strategy twice, and is given the same again."""
    if group.sent is group.members or once.codes.size == 0:
        return once
    topics, owners = topic_of(once.codes), once.owners
    starts = np.flatnonzero((np.diff(topics, prepend=-1) != 0) | (np.diff(owners, prepend=-1) != 0))
    owners, topics = owners[starts], topics[starts]
    times = group.prepared(mentions)[group.sent.subscription[owners], topics]
    calls = [
        np.tile(part, n)
        for part, n in zip(np.split(once.codes, starts[1:]), times.tolist(), strict=True)
    ]
    sizes = np.zeros(len(group.members) + 1, dtype=np.int64)
    np.add.at(sizes, owners + 1, [call.size for call in calls])
    return Assignment(np.cumsum(sizes), np.concatenate(calls))


@njit
def keep_own(codes, owners, subscribed, subscription):
    """Every client keeps its own queues of the topics that it asked for. Returns (offsets, codes).

    ``owners``: int64[n], member of each code or NOBODY; ``subscribed``:
    bool[subscriptions, topics].
    """
    keepers = np.empty_like(owners)
    kept = np.empty_like(codes)
    n = 0
    for i in range(codes.size):
        m = owners[i]
        if m != NOBODY and subscribed[subscription[m], topic_of(codes[i])]:
            keepers[n], kept[n] = m, codes[i]
            n += 1
    return by_member(keepers[:n], kept[:n], subscription.size)


def lists(group: Group, assignment: Assignment) -> dict[str, list[list[Any]]]:
    """``[topic, broker name, queue id]`` by member, in order."""
    names, queues = group.topics.names, group.topics.prepared(queues_by_topic)
    topics, partitions = topic_of(assignment.codes), partition_of(assignment.codes)
    places = zip(topics.tolist(), partitions.tolist(), strict=True)
    return named_lists(group, assignment, [[names[t], *queues[t][p]] for t, p in places])
