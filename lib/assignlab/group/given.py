"""An assignment that knows the group it was given to, and shows itself by names."""

import html
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps

from assignlab.group.assignment import Assignment
from assignlab.group.document import partition_names
from assignlab.group.model import Group

MEMBERS_SHOWN, LINE = 20, 80


@dataclass(frozen=True, eq=False, slots=True)
class Given(Assignment):
    """What a strategy gave ``group``: an assignment that a shell and a notebook show by names.

    >>> from assignlab import assignors
    >>> from assignlab.group import group
    >>> assignors.get("range").assign(group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]}))
    3 partitions of 2 members
    C0  2  t0-0 t0-1
    C1  1  t0-2
    """

    group: Group = field(kw_only=True)

    def __repr__(self):
        shown = self._shown()
        wide, many = (max((len(str(row[i])) for row in shown), default=0) for i in (1, 2))
        begins = [f"{name:{wide}}  {size:{many}}  " for _, name, size in shown]
        lines = [
            begin + self._names(member, LINE - len(begin))
            for begin, (member, *_) in zip(begins, shown, strict=True)
        ]
        return "\n".join([self._head(), *(line.rstrip() for line in lines)])

    def _repr_html_(self):
        left = ' style="text-align:left"'
        rows = "".join(
            f"<tr><th{left}>{html.escape(name)}</th><td>{size}</td>"
            f"<td{left}>{html.escape(self._names(member, 8 * LINE))}</td></tr>"
            for member, name, size in self._shown()
        )
        head = f"<tr><th>member</th><th>partitions</th><th{left}>which</th></tr>"
        return f"<table><caption>{self._head()}</caption>{head}{rows}</table>"

    def _head(self) -> str:
        members = len(self.group.members)
        told = f"{self.codes.size:,} partitions of {members:,} members"
        return told + (f", the first {MEMBERS_SHOWN}:" if members > MEMBERS_SHOWN else "")

    def _shown(self) -> list[tuple[int, str, int]]:
        """(index, name, size) of the members that are shown."""
        first = range(min(len(self.group.members), MEMBERS_SHOWN))
        return [(m, self.group.members.names[m], self.of(m).size) for m in first]

    def _names(self, member: int, room: int) -> str:
        """A member's partitions as Kafka writes them, ``topic-number``, as many as there is room for."""
        some = self.of(member)
        text = " ".join(f"{t}-{p}" for t, p in partition_names(self.group, some[:room]))
        if len(text) <= room:
            return text
        return text[: room - 3].rpartition(" ")[0] + " ..."


def showing(assign: Callable[[Group], Assignment]) -> Callable[[Group], Given]:
    """The same strategy, whose assignments show themselves."""

    @wraps(assign)
    def give(group: Group) -> Given:
        found = assign(group)
        return Given(found.offsets, found.codes, found.threads, found.notes, group=group)

    return give
