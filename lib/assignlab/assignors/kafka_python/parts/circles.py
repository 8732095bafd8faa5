"""Which members kafka-python's range and round robin see, and in what order.

Static members are to come first, by (group.instance.id, member id), then the others by member id.
The original groups them with ``itertools.groupby`` into a dict, without sorting first: every run of
static members replaces the run before it, and so with the others. Members whose kind appears again
later in the list, with the other kind between, are lost; they get nothing.
"""

import itertools

import numpy as np

from assignlab.assignors.parts.code_points import crowds_by_id, members_by_id
from assignlab.assignors.parts.orders import chained, kinds_of_topics
from assignlab.group.model import Group


def circle(group: Group, members: np.ndarray) -> np.ndarray:
    """Of some members (int64[n], in the group's order), some of them static, those that count,
    sorted."""
    names, instances = group.members.names.names, group.members.instances
    runs = itertools.groupby(members.tolist(), key=lambda m: instances[m] is not None)
    last = {static: list(run) for static, run in runs}
    static = sorted(last.get(True, []), key=lambda m: (instances[m], names[m]))
    dynamic = sorted(last.get(False, []), key=names.__getitem__)
    return np.array(static + dynamic, dtype=np.int64)


def circle_of_all(group: Group) -> np.ndarray:
    """All members that count, sorted: int64[n]."""
    if group.members.instances is None:
        return members_by_id(group)
    return circle(group, np.arange(len(group.members)))


def circles_of_topics(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """Per topic the :func:`circle` of its subscribers; topics of the same subscriptions share it.

    Returns (spans int64[topics, 2], members int64[n]): those of topic t are
    ``members[spans[t, 0]:spans[t, 1]]``.
    """
    if group.members.instances is None:
        return group.prepared(crowds_by_id)
    kinds, subscribed = group.prepared(kinds_of_topics)
    made = [circle(group, np.flatnonzero(row[group.members.subscription])) for row in subscribed]
    spans, found = chained(made)
    return spans[kinds], found
