"""Orders of clients that do not compare strings as Java does.

Go and C compare UTF-8 byte by byte, Python code point by code point, which is the same; Java (and
JavaScript) compare UTF-16 units, which differs where characters beyond U+FFFF meet those from
U+E000 on. Topic names are ASCII, so this is about member and instance ids only.
"""

import numpy as np

from assignlab.assignors.kafka import orders
from assignlab.group import Group


def members_by_id(group: Group) -> np.ndarray:
    """Member indices by member id: int64[members]."""
    names = group.members.names.names
    return np.array(sorted(range(len(names)), key=names.__getitem__), dtype=np.int64)


def static_members_first(group: Group) -> np.ndarray:
    """Member indices: static members by instance id, then the others by member id: int64[members].

    Instance ids are unique in a group.
    """
    instances, names = group.members.instances, group.members.names.names
    if instances is None:
        return members_by_id(group)
    key = [(i is None, i if i is not None else n) for i, n in zip(instances, names, strict=True)]
    return np.array(sorted(range(len(key)), key=key.__getitem__), dtype=np.int64)


def subscribers_by_id(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """:func:`assignlab.assignors.kafka.orders.subscribers` in the order of member ids."""
    return orders.subscribers(group, members_by_id(group))


def subscribers_static_first(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """The same in the order of :func:`static_members_first`."""
    return orders.subscribers(group, static_members_first(group))
