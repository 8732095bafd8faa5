"""What an assignor gives: every member's partitions, in order, as compact arrays."""

from dataclasses import dataclass, field

import numpy as np

from assignlab.compiled import inner, njit

PARTITION_BITS = 32


@inner
def code(topic, partition):
    """One integer for one partition; it does not change when topics grow or are added.

    ``topic``: index in ``group.topics``; ``partition``: 0 to 2**31 - 1. Scalars or int64 arrays.

    >>> code(2, 7), topic_of(code(2, 7)), partition_of(code(2, 7))
    (8589934599, 2, 7)
    """
    return (topic << PARTITION_BITS) + partition


@inner
def topic_of(codes):
    """The topic index of partition codes."""
    return codes >> PARTITION_BITS


@inner
def partition_of(codes):
    """The partition number of partition codes."""
    return codes & ((1 << PARTITION_BITS) - 1)


@inner
def number_of(codes, starts):
    """Which number partition codes have if topic t's partitions are numbered from ``starts[t]``."""
    return starts[topic_of(codes)] + partition_of(codes)


@dataclass(frozen=True, eq=False, slots=True)
class Assignment:
    """Member i (in the group's order) has ``codes[offsets[i]:offsets[i + 1]]``, in that order.

    ``offsets``: int64[members + 1]; ``codes``: int64[n], see :func:`code`.
    ``threads``: int32[n] consumer threads where the system has them, else None.
    ``notes``: facts about the result that are not partitions, such as ``{"hash_ties": True}``.
    """

    offsets: np.ndarray
    codes: np.ndarray
    threads: np.ndarray | None = None
    notes: dict = field(default_factory=dict)

    def of(self, member: int) -> np.ndarray:
        """The partition codes of one member, in order (a view)."""
        return self.codes[self.offsets[member] : self.offsets[member + 1]]

    @property
    def sizes(self) -> np.ndarray:
        """Partitions per member: int64[members]."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """The member of every entry of ``codes``: int64[n]."""
        return np.repeat(np.arange(self.offsets.size - 1), self.sizes)


@njit
def by_member(owners, codes, members):
    """Deal a sequence of (owner, partition) into the members' lists, keeping its order.

    ``owners``: int[n] member indices; ``codes``: int64[n]. Returns (offsets, codes) of the lists.
    """
    offsets = np.zeros(members + 1, dtype=np.int64)
    for i in range(owners.size):
        offsets[owners[i] + 1] += 1
    for m in range(members):
        offsets[m + 1] += offsets[m]
    fill = offsets[:-1].copy()
    lists = np.empty(codes.size, dtype=np.int64)
    for i in range(owners.size):
        lists[fill[owners[i]]] = codes[i]
        fill[owners[i]] += 1
    return offsets, lists
