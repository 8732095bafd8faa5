"""Two machine rooms, and a list for every client: what some strategies cannot do without.

Scenarios know topics, partitions and members. A strategy that shares out by machine room, or by a
list that somebody wrote, is given a group equipped with them (``Strategy.equip``): every topic's
queues half in either room, the clients in turns, and all queues on one list or another.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.rocketmq.parts import queues
from assignlab.group.model import Group, subscriptions_by_topic

ROOMS = ("room0", "room1")


def in_two_rooms(group: Group) -> Group:
    """The group with brokers and clients in two rooms; one that names its brokers stays as it is.

    >>> from assignlab.group.plain import group
    >>> equipped = in_two_rooms(group({"t": 3}, {"c0": ["t"], "c1": ["t"]}))
    >>> equipped.topics.queues, equipped.members.racks
    (((('room0@broker-0', 0), ('room1@broker-1', 0), ('room0@broker-0', 1)),), ('room0', 'room1'))
    """
    topics = group.topics
    if topics.queues is not None:
        return group
    return replace(
        group,
        topics=replace(topics, queues=tuple(map(half_in_either, topics.partitions.tolist()))),
        sent=replace(group.sent, racks=tuple(ROOMS[m % 2] for m in range(len(group.members)))),
        options={**group.options, "idcs": list(ROOMS)},
        _prepared={},
    )


@lru_cache(maxsize=256)
def half_in_either(count: int) -> tuple[queues.Queue, ...]:
    """The queues of a topic, half of them in either room."""
    return tuple((f"{ROOMS[p % 2]}@broker-{p % 2}", p // 2) for p in range(count))


def with_lists(group: Group) -> Group:
    """The group with every queue on the list of one subscriber of its topic, in turns.

    A group that has lists stays as it is.

    >>> from assignlab.group.plain import group
    >>> with_lists(group({"t": 3}, {"c0": ["t"], "c1": ["t"]})).options["config"]["c0"]
    [['t', 'broker-a', 0], ['t', 'broker-a', 2]]
    """
    if "config" in group.options:
        return group
    members = group.members
    config: dict[str, list[list]] = {name: [] for name in members.names}
    of_readers: dict[bytes, list[list[list]]] = {}  # by subscriptions: the lists of who has those
    subscribed = np.ascontiguousarray(group.prepared(subscriptions_by_topic).T)
    for t, of_topic in enumerate(group.prepared(queues.queues_by_topic)):
        name = group.topics.names[t]
        key = subscribed[t].tobytes()
        if key not in of_readers:
            readers = np.flatnonzero(subscribed[t][members.subscription]).tolist()
            of_readers[key] = [config[members.names[m]] for m in readers]
        lists = of_readers[key]
        entries = [[name, *queue] for queue in of_topic]
        for turn, own in enumerate(lists[: len(entries)]):
            own += entries[turn :: len(lists)]
    return replace(group, options={**group.options, "config": config}, _prepared={})
