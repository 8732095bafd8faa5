"""Orders of clients that do not compare strings as Java does.

Go and C compare UTF-8 byte by byte, Python code point by code point, which is the same; Java (and
JavaScript) compare UTF-16 units, which differs where characters beyond U+FFFF meet those from
U+E000 on. Kafka's topic names are ASCII; a document may name others, and the assignors sort them.
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.group.model import Group
from assignlab.jvm.names import Names


def sorts_as_java(names: Names) -> bool:
    """Whether both orders of these names are one."""
    return "".join(names.names).isascii()


def ranks(names: Names) -> np.ndarray:
    """The place of every name among all: int64[n].

    >>> ranks(Names(["\\uff21", "\\U0001f600", "a"])).tolist()
    [1, 2, 0]
    """
    return names.rank if sorts_as_java(names) else np.argsort(order(names))


def order(names: Names) -> np.ndarray:
    """Which name comes first, which second: int64[n] indices."""
    if sorts_as_java(names):
        return names.order
    return np.array(sorted(range(len(names)), key=names.names.__getitem__), dtype=np.int64)


def topic_ranks(group: Group) -> np.ndarray:
    """:func:`ranks` of the topics."""
    return ranks(group.topics.names)


def topics_by_name(group: Group) -> np.ndarray:
    """Subscribed topics that have partitions, by name: int64[n] indices."""
    if sorts_as_java(group.topics.names):
        return orders.topics_by_name(group)
    there = group.prepared(orders.topics_by_hash)
    return there[np.argsort(group.prepared(topic_ranks)[there])]


def as_java_sorts(group: Group) -> Group:
    """The same group under names that Java sorts as these clients sort its own."""
    members, topics = group.sent, group.topics
    return replace(
        group,
        sent=replace(members, names=_numbered(members.names)),
        topics=replace(topics, names=_numbered(topics.names)),
        _prepared={},
    )


def _numbered(names: Names) -> Names:
    return _numbers(len(names)).take(ranks(names))


@lru_cache(maxsize=16)
def _numbers(count: int) -> Names:
    """So many names that stand in order, with what Java makes of them."""
    width = len(str(count))
    names = Names([f"{place:0{width}}" for place in range(count)])
    _ = names.order  # prepared here, so that it is for all that is taken of them
    return names


def members_by_id(group: Group) -> np.ndarray:
    """Member indices by member id: int64[members]."""
    return order(group.members.names)


def static_members_first(group: Group) -> np.ndarray:
    """Member indices: static members by instance id, then the others by member id: int64[members].

    Instance ids are unique in a group.
    """
    instances, names = group.members.instances, group.members.names.names
    if instances is None:
        return members_by_id(group)
    key = [(i is None, i if i is not None else n) for i, n in zip(instances, names, strict=True)]
    return np.array(sorted(range(len(key)), key=key.__getitem__), dtype=np.int64)


def crowds_by_id(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`assignlab.assignors.parts.orders.crowds` in the order of member ids."""
    if sorts_as_java(group.members.names):
        return group.prepared(orders.crowds_by_id)
    return orders.crowds(group, members_by_id(group))


def crowds_static_first(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """The same in the order of :func:`static_members_first`."""
    if group.members.instances is None:
        return group.prepared(crowds_by_id)
    return orders.crowds(group, static_members_first(group))
