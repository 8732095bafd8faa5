"""Two machine rooms, and a list for every client: what some strategies cannot do without.

Scenarios know topics, partitions and members. A strategy that shares out by machine room, or by a
list that somebody wrote, is given a group equipped with them (``Strategy.equip``): every topic's
queues half in either room, the clients in turns, and all queues on one list or another.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.assignors.rocketmq.parts import queues
from assignlab.group.model import Group, Topics

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
    kinds, subscribed = group.prepared(kinds_of_topics)
    readers = [np.flatnonzero(row[members.subscription]).tolist() for row in subscribed]
    of_kind = [[config[members.names[m]] for m in some] for some in readers]
    for kind, entries in zip(kinds.tolist(), group.topics.prepared(entries_by_topic), strict=True):
        lists = of_kind[kind]
        for turn, own in enumerate(lists[: len(entries)]):
            own += entries[turn :: len(lists)]
    return replace(group, options={**group.options, "config": config}, _prepared={})


def entries_by_topic(topics: Topics) -> list[list[list]]:
    """Every topic's queues as they stand on a list: topic, broker name, queue id."""
    by_topic = topics.prepared(queues.queues_by_topic)
    return [
        [[name, broker, number] for broker, number in own]
        for name, own in zip(topics.names, by_topic, strict=True)
    ]
