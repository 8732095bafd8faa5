"""Racks as Kafka's assignors see them (since 3.5).

Racks count only where members and partitions share some rack and not every partition has replicas
in all of them.

Source: ``AbstractStickyAssignor.RackInfo`` and ``AbstractPartitionAssignor.useRackAwareAssignment``
of kafka-clients 4.4.0.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.packed import pack, part
from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import by_member
from assignlab.group.model import Group, Topics, first_numbers

NO_RACK = -1


class Placements(NamedTuple):
    """Where the partitions of all topics have their replicas: those with replicas in the same racks
    are of one kind.

    ``kind``: int64[partitions of all topics, topic by topic]; ``racks``: the racks of each kind in
    the order of its replicas, each once. A broker without rack is in none.
    """

    kind: np.ndarray
    racks: list[tuple[str, ...]]


def placements(topics: Topics) -> Placements:
    """The :class:`Placements` of a cluster whose racks are known; a partition of which no replica
    is known has them in no rack.

    >>> from assignlab.group.document import parse
    >>> racks = [["a", "b"], ["b", None], ["a", "b"]]
    >>> document = {"topics": [{"name": "t", "partitions": 3, "racks": racks}], "members": []}
    >>> kind, racks = placements(parse(document).topics)
    >>> kind.tolist(), racks
    ([0, 1, 0], [('a', 'b'), ('b',)])
    """
    numbers: dict[tuple[str | None, ...], int] = {}
    kind: list[int] = []
    of_topic: dict[tuple[int, int], list[int]] = {}  # topics may have one tuple of racks in common
    for count, replicas in zip(topics.partitions.tolist(), topics.racks, strict=True):
        alike = id(replicas), count
        if alike not in of_topic:
            known = (replicas or ())[: max(count, 0)]
            of_topic[alike] = [numbers.setdefault(racks, len(numbers)) for racks in known]
            if len(known) < count:
                of_topic[alike] += [numbers.setdefault((), len(numbers))] * (count - len(known))
        kind += of_topic[alike]
    return Placements(
        np.array(kind, dtype=np.int64),
        [tuple(dict.fromkeys(rack for rack in racks if rack is not None)) for racks in numbers],
    )


class NumberedRacks(NamedTuple):
    """Racks as numbers: ``of_member``, ``NO_RACK`` for none; ``kind``: int64[n], of every partition
    of some topics, topic by topic in their order; ``of_kind``: the racks of each kind."""

    of_member: list[int]
    kind: np.ndarray
    of_kind: list[tuple[int, ...]]

    def count(self, consumer_racks: set[int], partitions: np.ndarray) -> bool:
        """Whether racks count for partitions of these kinds and members in ``consumer_racks``."""
        there = [self.of_kind[kind] for kind in set(partitions.tolist())]
        return use_rack_aware_assignment(consumer_racks, there)

    def count_each(
        self, consumer_racks: list[set[int]], crowd: np.ndarray, first: np.ndarray
    ) -> list[bool]:
        """Per topic whether racks count for it alone.

        Topic i has the partitions ``first[i]`` to ``first[i + 1]``; its subscribers are in the racks
        ``consumer_racks[crowd[i]]``.
        """
        kinds, size = self.kind.tobytes(), self.kind.itemsize
        counted: dict[tuple[int, bytes], bool] = {}
        each = []
        for number, (begin, end) in zip(crowd.tolist(), pairwise(first.tolist()), strict=True):
            of_topic = number, kinds[size * begin : size * end]
            if of_topic not in counted:
                counted[of_topic] = self.count(consumer_racks[number], self.kind[begin:end])
            each.append(counted[of_topic])
        return each

    @property
    def by_kind(self) -> tuple[np.ndarray, np.ndarray]:
        """(starts, racks): kind k has replicas in ``racks[starts[k]:starts[k + 1]]``; int64."""
        starts = np.cumsum([0] + [len(racks) for racks in self.of_kind], dtype=np.int64)
        flat = [rack for racks in self.of_kind for rack in racks]
        return starts, np.array(flat, dtype=np.int64)


def numbered_racks(
    group: Group, topics: np.ndarray, no_rack: tuple[str | None, ...] = (None, "")
) -> NumberedRacks:
    """The racks of a group whose members and topics have some, with the partitions of these topics.

    ``no_rack``: which names of a member's rack stand for none.
    """
    names = [rack for rack in dict.fromkeys(group.members.racks) if rack not in no_rack]
    index: dict[str | None, int] = dict(zip(names, range(len(names)), strict=True))
    numbers = dict.fromkeys(no_rack, NO_RACK) | index
    of_member = list(map(numbers.__getitem__, group.members.racks))
    kind, named = group.topics.prepared(placements)
    of_kind = [tuple([index.setdefault(rack, len(index)) for rack in racks]) for racks in named]
    return NumberedRacks(of_member, of_topics(kind, group.topics.partitions, topics), of_kind)


@njit
def of_topics(kind, partitions, topics):
    """The kinds of the partitions of these topics, topic by topic: int64[n]."""
    first = first_numbers(partitions)
    size = 0
    for t in topics:
        size += max(partitions[t], 0)
    ordered = np.empty(size, dtype=np.int64)
    n = 0
    for t in topics:
        for at in range(first[t], first[t + 1]):
            ordered[n] = kind[at]
            n += 1
    return ordered


class Racks(NamedTuple):
    """Racks as numbers; partitions, too, topic by topic in an order that is given.

    ``in_use``: whether racks count; if not, the arrays are empty. ``of_member``: int64[members];
    ``kind``: int64[partitions], those with replicas in the same racks are of one; kind k has them
    in ``racks[starts[k]:starts[k + 1]]``, each rack once; ``members``: int64[racks], how many
    members are in each.
    """

    in_use: bool
    of_member: np.ndarray
    kind: np.ndarray
    starts: np.ndarray
    racks: np.ndarray
    members: np.ndarray


NO_RACKS = pack((np.empty(0, dtype=np.int64),) * 5)


def rack_info(group: Group) -> np.ndarray:
    """The :class:`Racks` of a group, packed; without any member if they do not count."""
    if group.members.racks is None or group.topics.racks is None:
        return NO_RACKS
    known = numbered_racks(group, group.prepared(orders.topics_by_name))
    if not known.count(set(known.of_member), known.kind):
        return NO_RACKS
    starts, racks = known.by_kind
    of_member = np.array(known.of_member)
    members = np.bincount(of_member[of_member != NO_RACK], minlength=racks.max() + 1)
    return pack((of_member, known.kind, starts, racks, members))


@inner
def unpack_racks(packed):
    """The :class:`Racks` in a packed one."""
    of_member = part(packed, 0)
    return Racks(
        of_member.size > 0, of_member, part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4),
    )  # fmt: skip


def use_rack_aware_assignment(consumer_racks: set[int], of_partitions: list[tuple]) -> bool:
    """Whether members and partitions share a rack, and some partition is not in all racks.

    ``of_partitions``: the racks of every one, or of every kind of them.
    """
    everywhere = {rack for racks in of_partitions for rack in racks}
    return not everywhere.isdisjoint(consumer_racks) and any(
        len(racks) != len(everywhere) for racks in of_partitions
    )


@leaf
def has_replica_in(racks, x, rack):
    """Whether partition ``x`` has a replica in the rack (a phantom has none anywhere)."""
    if x < racks.kind.size:
        k = racks.kind[x]
        for i in range(racks.starts[k], racks.starts[k + 1]):
            if racks.racks[i] == rack:
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
        k = racks.kind[partitions[i]]
        for j in range(racks.starts[k], racks.starts[k + 1]):
            consumers[i] += racks.members[racks.racks[j]]
        most = max(most, consumers[i])
    _, ordered = by_member(consumers, partitions, most + 1)
    return ordered
