"""What several texts say of one group, put together."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from assignlab.groups.rows import (
    DocumentRow,
    GroupRow,
    MemberRow,
    OffsetRow,
    OfGroup,
    OwnerRow,
    Row,
    TopicRow,
)

Partition = tuple[str, str | None, int]
"""Topic, broker (None where partitions are numbered per topic), number."""

NO_GROUP = ""
"""Stands for the group of a text that does not name it."""


@dataclass
class Seen:
    """One group: what was said first counts.

    ``owners``: per partition the members that texts name, each with the number of the first text
    that does; none where a text says that nobody holds it. ``hosts``: per partition the host of the
    owner, where no member is named. ``whole``: whether a text lists every member. ``two_lags``: how
    many lags differ from what was said before of the same partition.
    """

    name: str
    states: list[str] = field(default_factory=list)
    assignors: list[str] = field(default_factory=list)
    protocol: str | None = None
    counts: list[int] = field(default_factory=list)
    idle: int | None = None
    topics: tuple[str, ...] | None = None
    partial: bool = False
    whole: bool = False
    members: dict[str, MemberRow] = field(default_factory=dict)
    owners: dict[Partition, dict[str, int]] = field(default_factory=dict)
    hosts: dict[Partition, str] = field(default_factory=dict)
    lags: dict[Partition, int | None] = field(default_factory=dict)
    ends: dict[Partition, int] = field(default_factory=dict)
    two_lags: int = 0

    @property
    def assignor(self) -> str | None:
        """The strategy as the first text names it."""
        return self.assignors[0] if self.assignors else None

    @property
    def count(self) -> int | None:
        """How many members the first text counts that does."""
        return self.counts[0] if self.counts else None


@dataclass
class Cluster:
    """All groups and topics that the texts speak of."""

    groups: dict[str, Seen] = field(default_factory=dict)
    topics: dict[str, TopicRow] = field(default_factory=dict)


def gather(texts: Iterable[Iterable[Row]]) -> Cluster:
    """The rows of all texts, by group and topic; group documents are left out.

    A group without a name is the one group that has one, where there is just one. A group that is
    merely listed is left out.
    """
    cluster = Cluster()
    of_groups: list[tuple[int, OfGroup]] = []
    for number, rows in enumerate(texts):
        for row in rows:
            if isinstance(row, TopicRow):
                _add_topic(cluster, row)
            elif not isinstance(row, DocumentRow):
                of_groups.append((number, row))
    described = {r.group for _, r in of_groups if not (isinstance(r, GroupRow) and r.listed)}
    named = [name for name in described if name is not None]
    default = named[0] if len(named) == 1 else NO_GROUP
    for number, row in of_groups:
        if row.group in described:
            name = default if row.group is None else row.group
            _add(cluster.groups.setdefault(name, Seen(name)), row, number)
    return cluster


def _add(seen: Seen, row: OfGroup, text: int) -> None:
    if isinstance(row, GroupRow):
        _add_group(seen, row)
    elif isinstance(row, MemberRow):
        seen.members[row.member] = _first(seen.members.get(row.member, row), row)
    elif isinstance(row, OwnerRow):
        _add_owner(seen, row, text)
    else:
        _add_offset(seen, row)


def _add_topic(cluster: Cluster, row: TopicRow) -> None:
    known = cluster.topics.get(row.topic, row)
    if None not in (known.partitions, row.partitions) and known.partitions != row.partitions:
        known = known._replace(other=row.partitions)
    highest = max((r.highest for r in (known, row) if r.highest is not None), default=None)
    cluster.topics[row.topic] = _first(known, row)._replace(highest=highest)


def _first(known, row):
    """Both rows as one; what the first leaves open, the second fills."""
    return type(row)(*(b if a is None else a for a, b in zip(known, row, strict=True)))


def _add_group(seen: Seen, row: GroupRow) -> None:
    if row.state is not None:
        seen.states.append(row.state)
    if row.assignor:
        seen.assignors.append(row.assignor)
    seen.protocol = seen.protocol or row.protocol
    if row.members is not None:
        seen.counts.append(row.members)
    seen.idle = row.idle if seen.idle is None else seen.idle
    seen.topics = seen.topics or row.topics
    seen.partial = seen.partial or row.partial
    seen.whole = seen.whole or row.whole


def _add_owner(seen: Seen, row: OwnerRow, text: int) -> None:
    partition = row.topic, row.broker, row.partition
    owners = seen.owners.setdefault(partition, {})
    if row.member is None and row.host is not None:
        seen.hosts.setdefault(partition, row.host)
    elif row.member is not None and row.member not in owners:
        owners[row.member] = text
        seen.members.setdefault(row.member, MemberRow(row.group, row.member))


def _add_offset(seen: Seen, row: OffsetRow) -> None:
    partition = row.topic, row.broker, row.partition
    known = seen.lags.get(partition)
    if known is None:
        seen.lags[partition] = row.lag
    elif row.lag not in (None, known):
        seen.two_lags += 1
    if row.end is not None:
        seen.ends.setdefault(partition, row.end)
