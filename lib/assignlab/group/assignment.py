"""What an assignor gives: every member's partitions, in order, as compact arrays."""

import html
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import update_wrapper
from numbers import Integral
from typing import Any

import numpy as np

from assignlab.compiled import inner, leaf, njit
from assignlab.compiled.memory import LARGE, keep_freed
from assignlab.errors import AssignlabError, DocumentError, shown

PARTITION_BITS = 32
MEMBERS_SHOWN, LINE = 20, 80
"""An assignment shows the partitions of so many members, each in a line of so many characters."""


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


def partition_names(group: Any, codes: np.ndarray) -> list[list]:
    """``[topic, partition]`` of every code; ``[topic, "broker-partition"]`` on named brokers."""
    names, queues = group.topics.names, group.topics.queues
    pairs = zip(topic_of(codes).tolist(), partition_of(codes).tolist(), strict=True)
    if queues is None:
        return [[names[t], p] for t, p in pairs]
    return [
        [names[t], p if queues[t] is None or p >= len(queues[t]) else "{}-{}".format(*queues[t][p])]
        for t, p in pairs
    ]


@dataclass(eq=False, slots=True, repr=False)
class Assignment:
    """Member i (in the group's order) has ``codes[offsets[i]:offsets[i + 1]]``, in that order.

    ``offsets``: int64[members + 1]; ``codes``: int64[n], see :func:`code`.
    ``threads``: int32[n] consumer threads where the system has them, else None.
    ``notes``: facts about the result that are not partitions, such as ``{"hash_ties": True}``.
    ``group``: the group that it was given to, by whose names it shows itself; None where a
    strategy's own steps made it.

    >>> from assignlab import assignors
    >>> from assignlab.group import group
    >>> assignors.get("range").assign(group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]}))
    3 partitions of 2 members
    C0  2  t0-0 t0-1
    C1  1  t0-2
    """

    offsets: np.ndarray
    codes: np.ndarray
    threads: np.ndarray | None = None
    notes: dict = field(default_factory=dict)
    group: Any = None

    @classmethod
    def from_lists(cls, lists: Iterable) -> "Assignment":
        """The assignment of every member's codes (see :func:`code`), in their order. Raises
        :class:`~assignlab.errors.AssignlabError` for what are none, such as pairs."""
        lists = [list(codes) for codes in lists]
        offsets = np.cumsum([0] + [len(codes) for codes in lists], dtype=np.int64)
        flat = [c for codes in lists for c in codes]
        if not all(isinstance(c, Integral) for c in flat):
            raise AssignlabError(
                f"codes: expected whole numbers, as code() gives, got {shown(flat)}"
            )
        return cls(offsets, np.array(flat, dtype=np.int64))

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

    def __repr__(self):
        shown = list(self._shown())
        wide, many = (max((len(str(row[i])) for row in shown), default=0) for i in (0, 1))
        lines = [self._head()]
        for name, size, codes in shown:
            begin = f"{name:{wide}}  {size:{many}}  "
            lines.append((begin + self._names(codes, LINE - len(begin))).rstrip())
        return "\n".join(lines)

    def _repr_html_(self):
        left = ' style="text-align:left"'
        rows = "".join(
            f"<tr><th{left}>{html.escape(name)}</th><td>{size}</td>"
            f"<td{left}>{html.escape(self._names(codes, 8 * LINE))}</td></tr>"
            for name, size, codes in self._shown()
        )
        head = f"<tr><th>member</th><th>partitions</th><th{left}>which</th></tr>"
        return f"<table><caption>{self._head()}</caption>{head}{rows}</table>"

    def _head(self) -> str:
        members = self.offsets.size - 1
        told = f"{self.codes.size:,} partitions of {members:,} members"
        return told + (f", the first {MEMBERS_SHOWN}:" if members > MEMBERS_SHOWN else "")

    def _shown(self) -> Iterator[tuple[str, int, np.ndarray]]:
        """(name, size, codes) of the members that are shown."""
        for m in range(min(self.offsets.size - 1, MEMBERS_SHOWN)):
            codes = self.of(m)
            yield self.group.members.names[m] if self.group else f"member {m}", codes.size, codes

    def _names(self, codes: np.ndarray, room: int) -> str:
        """Partitions as Kafka writes them, ``topic-number``, as many as there is room for."""
        room = max(room, 0)  # a member's name may take all of it
        some = codes[:room]
        named = (
            partition_names(self.group, some)
            if self.group
            else zip(topic_of(some), partition_of(some), strict=True)
        )
        text = " ".join(f"{topic}-{partition}" for topic, partition in named)
        if len(text) <= room and codes.size <= room:
            return text
        return text[: max(room - 3, 0)].rpartition(" ")[0] + " ..."


def no_group(given: Any) -> DocumentError:
    """The error of what is given where a group is meant, such as its document."""
    return DocumentError(
        "group",
        "expected a Group, of assignlab.group.group or assignlab.group.document.parse, got "
        + shown(given),
    )


class Showing:
    """The same strategy, whose assignments know the group that they were given to. Raises
    :class:`~assignlab.errors.DocumentError` for what is no group."""

    def __init__(self, assign: Callable[[Any], Assignment]):
        self._assign = assign
        update_wrapper(self, assign)

    def __call__(self, group: Any) -> Assignment:
        try:
            found = self._assign(group)
        except AttributeError:
            if hasattr(group, "topics"):
                raise
            raise no_group(group) from None
        if found.codes.size >= LARGE:
            keep_freed()
        found.group = group
        return found

    def __eq__(self, other):
        return isinstance(other, Showing) and self._assign == other._assign

    def __hash__(self):
        return hash(self._assign)


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


@leaf
def same_list(offsets, values, i, j):
    """Whether two lists, ``values[offsets[i]:offsets[i + 1]]`` and that of j, are equal."""
    size = offsets[i + 1] - offsets[i]
    if offsets[j + 1] - offsets[j] != size:
        return False
    for k in range(size):
        if values[offsets[i] + k] != values[offsets[j] + k]:
            return False
    return True
