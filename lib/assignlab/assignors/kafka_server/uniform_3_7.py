"""``server-uniform@3.7``: the uniform assignor of the first release that had the new protocol.

The rule. Members that name the same topics (of those that exist) keep what the quota allows and
take turns for the rest (:mod:`~assignlab.assignors.kafka_server.parts.homogeneous_3_7`). With
different subscriptions partitions are dealt with one by one, as in ``server-uniform@3.9``; but a
member that subscribes to nothing that exists ends in an exception (KAFKA-16930).

>>> from assignlab.group.plain import group
>>> g = group({"t": 5}, dict.fromkeys(["C0", "C1"], ["t"]))
>>> sets.as_sets(g, assign(g))
{'C0': [['t', 0], ['t', 2], ['t', 4]], 'C1': [['t', 1], ['t', 3]]}

Only this release looks at racks, of members and of replicas; balance comes first, then racks, then
stickiness. A partition stays with a member in another rack only if nobody in its own has room.

>>> from assignlab.group.document import parse
>>> document = {
...     "topics": [{"name": "t", "partitions": 4, "racks": [["b"], ["b"], ["a"], ["a"]]}],
...     "members": [{"id": "C0", "rack": "a", "topics": ["t"]},
...                 {"id": "C1", "rack": "b", "topics": ["t"]}],
... }
>>> g = parse(document)
>>> sets.as_sets(g, assign(g))
{'C0': [['t', 2], ['t', 3]], 'C1': [['t', 0], ['t', 1]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka_server import uniform
from assignlab.assignors.kafka_server.parts import (
    heterogeneous_3_9,
    homogeneous_3_7,
    racks_3_7,
    sets,
    targets,
)
from assignlab.assignors.parts import orders
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def homogeneous(group: Group) -> bool:
    """Whether all members name the same topics of those that exist."""
    if group.members.offsets.size == 2:  # one subscription
        return True
    named = group.prepared(sets.existing)[np.unique(group.members.subscription)]
    return bool((named == named[0]).all())


def shape(group: Group) -> heterogeneous_3_9.Shape:
    """Partitions are copied into a set of another size; members without topics have no entry."""
    order = group.prepared(orders.members_by_hash)
    topics = sets.walk_topics(group, order, False, True).by_id
    racks = group.prepared(racks_3_7.rack_info)
    if racks.in_use:
        number = np.empty_like(order)
        number[order] = np.arange(order.size)
        racks = racks._replace(of_member=racks.of_member[order], members=number[racks.members])
    the_shape = heterogeneous_3_9.shape_of(group, topics, True, racks)
    idle = ~group.prepared(sets.existing).any(axis=1)[group.members.subscription[order]]
    return the_shape._replace(known=the_shape.known._replace(no_entry=idle))


def assign(group: Group) -> Assignment:
    """By the builder that the subscriptions call for.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    if len(group.members) == 0:
        return sets.nothing(group)
    if group.prepared(homogeneous):
        return homogeneous_3_7.assign(group)
    return heterogeneous_3_9.as_lists(group, group.prepared(shape), *group.of_claims(moved))


def moved(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """What happens where subscriptions differ: :func:`heterogeneous_3_9.moves`."""
    return heterogeneous_3_9.moves(group, group.prepared(shape))


def reclaim(group: Group, after: Assignment) -> Assignment:
    """What the members hold at the next rebalance, as the assignor will walk it."""
    if len(group.members) == 0:
        return after
    if group.prepared(homogeneous):
        return targets.reclaimed_anew(group, after.offsets, after.codes)
    log, _ = group.of_claims(moved)
    return heterogeneous_3_9.reclaimed(group, group.prepared(shape), log)


STRATEGY = replace(
    uniform.STRATEGY,
    name="server-uniform@3.7",
    first="3.7.0",
    last="3.7.2",
    original="kafka-group-coordinator:3.7.2",
    look=("orange", "p", "dashdot"),
    member_fields=("owned", "instance", "rack"),
    promises=("floor_and_ceiling",),
    assign=assign,
    reclaim=reclaim,
)
