"""Racks as Kafka's assignors see them (since 3.5).

Racks count only where members and partitions share some rack and not every partition has replicas
in all of them.

Source: ``AbstractStickyAssignor.RackInfo`` and ``AbstractPartitionAssignor.useRackAwareAssignment``
of kafka-clients 4.4.0.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.packed import pack, part
from assignlab.compiled import inner, leaf
from assignlab.group.model import Group

NO_RACK = -1


class Racks(NamedTuple):
    """Racks as numbers, partitions as dense numbers (``sticky_claims.Shape``).

    ``in_use``: whether racks count; if not, the arrays are empty. ``of_member``: int64[members];
    partition x has replicas in ``racks[starts[x]:starts[x + 1]]``, each rack once;
    ``members``: int64[racks], how many members are in each.
    """

    in_use: bool
    of_member: np.ndarray
    starts: np.ndarray
    racks: np.ndarray
    members: np.ndarray


NO_RACKS = pack((np.empty(0, dtype=np.int64),) * 4)


def rack_info(group: Group) -> np.ndarray:
    """The :class:`Racks` of a group, packed; without any member if they do not count."""
    if group.members.racks is None or group.topics.racks is None:
        return NO_RACKS
    of_member, of_partition = numbered_racks(group)
    numbers = [rack for racks in of_partition for rack in racks]
    if not use_rack_aware_assignment(set(of_member), of_partition):
        return NO_RACKS
    return pack(
        (
            np.array(of_member),
            np.cumsum([0] + [len(racks) for racks in of_partition]),
            np.array(numbers),
            np.bincount(
                [rack for rack in of_member if rack != NO_RACK], minlength=max(numbers) + 1
            ),
        )
    )


@inner
def unpack_racks(packed):
    """The :class:`Racks` in a packed one."""
    of_member = part(packed, 0)
    return Racks(of_member.size > 0, of_member, part(packed, 1), part(packed, 2), part(packed, 3))


def numbered_racks(group: Group) -> tuple[list[int], list[tuple[int, ...]]]:
    """Racks as numbers: of every member, and of every partition by (topic name, partition).

    An empty rack name is no rack; several replicas in one rack count once.
    """
    index: dict[str, int] = {}
    of_member = [
        index.setdefault(rack, len(index)) if rack else NO_RACK for rack in group.members.racks
    ]
    of_partition = [
        tuple({index.setdefault(rack, len(index)): None for rack in replicas if rack is not None})
        for topic in group.prepared(orders.topics_by_name).tolist()
        for replicas in group.topics.racks[topic] or ((),) * int(group.topics.partitions[topic])
    ]
    return of_member, of_partition


def use_rack_aware_assignment(consumer_racks: set[int], of_partition: list[tuple]) -> bool:
    """Whether members and partitions share a rack, and some partition is not in all racks."""
    everywhere = {rack for racks in of_partition for rack in racks}
    return not everywhere.isdisjoint(consumer_racks) and any(
        len(racks) != len(everywhere) for racks in of_partition
    )


@leaf
def has_replica_in(racks, x, rack):
    """Whether partition ``x`` has a replica in the rack (a phantom has none anywhere)."""
    if x + 1 < racks.starts.size:
        for k in range(racks.starts[x], racks.starts[x + 1]):
            if racks.racks[k] == rack:
                return True
    return False


@leaf
def racks_mismatch(racks, m, x):
    """Whether member ``m`` is in a rack, and partition ``x`` has no replica there."""
    rack = racks.of_member[m]
    return rack != NO_RACK and not has_replica_in(racks, x, rack)


@leaf
def next_rack_consumer(racks, x, members, first):
    """The position of the next member, from ``first`` round the circle, in a rack of ``x``; -1."""
    n = members.size
    for i in range(n):
        at = (first + i) % n
        rack = racks.of_member[members[at]]
        if rack != NO_RACK and has_replica_in(racks, x, rack):
            return at
    return -1


@inner
def sorted_by_rack_consumers(racks, partitions):
    """The partitions by number of members in their racks, fewest first, otherwise as they stand."""
    consumers = np.zeros(partitions.size, dtype=np.int64)
    most = 0
    for i in range(partitions.size):
        x = partitions[i]
        for k in range(racks.starts[x], racks.starts[x + 1]):
            consumers[i] += racks.members[racks.racks[k]]
        most = max(most, consumers[i])
    start = np.zeros(most + 2, dtype=np.int64)
    for c in consumers:
        start[c + 1] += 1
    for c in range(most + 1):
        start[c + 1] += start[c]
    ordered = np.empty(partitions.size, dtype=np.int64)
    for i in range(partitions.size):
        ordered[start[consumers[i]]] = partitions[i]
        start[consumers[i]] += 1
    return ordered
