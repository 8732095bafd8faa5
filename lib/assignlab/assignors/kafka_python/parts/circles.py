"""Which members kafka-python's range and round robin see, and in what order.

Static members are to come first, by (group.instance.id, member id), then the others by member id.
The original groups them with ``itertools.groupby`` into a dict, without sorting first: every run of
static members replaces the run before it, and so with the others. Members whose kind appears again
later in the list, with the other kind between, are lost; they get nothing.
"""

import itertools

import numpy as np

from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.group.model import Group


def circle(group: Group, members: np.ndarray) -> np.ndarray:
    """Of some members (int64[n], in the group's order) those that count, sorted."""
    names, instances = group.members.names.names, group.members.instances
    if instances is None:
        return np.array(sorted(members.tolist(), key=names.__getitem__), dtype=np.int64)
    runs = itertools.groupby(members.tolist(), key=lambda m: instances[m] is not None)
    last = {static: list(run) for static, run in runs}
    static = sorted(last.get(True, []), key=lambda m: (instances[m], names[m]))
    dynamic = sorted(last.get(False, []), key=names.__getitem__)
    return np.array(static + dynamic, dtype=np.int64)


def circle_of_all(group: Group) -> np.ndarray:
    """:func:`circle` of the whole group."""
    return circle(group, np.arange(len(group.members)))


def circles_of_topics(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Per topic the :func:`circle` of its subscribers.

    Returns (starts int64[topics + 1], members int64[n]): those of topic t are
    ``members[starts[t]:starts[t + 1]]``. Topics of the same subscriptions share the work.
    """
    kinds, subscribed = group.prepared(kinds_of_topics)
    made = [circle(group, np.flatnonzero(row[group.members.subscription])) for row in subscribed]
    found = [made[kind] for kind in kinds.tolist()]
    starts = np.cumsum([0] + [members.size for members in found], dtype=np.int64)
    return starts, np.concatenate(found) if found else np.empty(0, dtype=np.int64)
