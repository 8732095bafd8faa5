"""What texts say of groups, row by row, whatever tool printed them.

Every format is read into these; ``None`` stands for what the text does not say.
"""

from typing import Any, NamedTuple


class GroupRow(NamedTuple):
    """A group as a whole. ``group``: None where the text does not name it.

    ``state``: as Kafka prints it; ``Rebalancing`` where only that is known. ``assignor``: the
    strategy's name as the text has it. ``protocol``: ``classic``, ``consumer`` (KIP-848) or
    ``rocketmq``. ``members`` and ``idle``: how many there are, where the text counts them.
    ``topics``: what every member subscribes to. ``listed``: whether the text only lists groups;
    ``partial``: whether it leaves out members that it counts; ``whole``: whether it lists every one.
    """

    group: str | None
    state: str | None = None
    assignor: str | None = None
    protocol: str | None = None
    members: int | None = None
    idle: int | None = None
    topics: tuple[str, ...] | None = None
    listed: bool = False
    partial: bool = False
    whole: bool = False


class MemberRow(NamedTuple):
    """A member. ``partitions``: how many it holds; ``topics``: what it subscribes to.

    Under KIP-848 ``epoch`` is its member epoch, ``target`` what the coordinator wants it to hold.
    """

    group: str | None
    member: str
    client: str | None = None
    host: str | None = None
    instance: str | None = None
    rack: str | None = None
    partitions: int | None = None
    epoch: int | None = None
    topics: tuple[str, ...] | None = None
    target: tuple[tuple[str, int], ...] | None = None


class OwnerRow(NamedTuple):
    """Who holds a partition: a ``member``, somebody on a ``host``, or nobody (both None).

    ``broker``: where partitions are numbered per broker.
    """

    group: str | None
    topic: str
    partition: int
    member: str | None = None
    host: str | None = None
    broker: str | None = None


class OffsetRow(NamedTuple):
    """How far the group is in a partition: records behind the end of its log (``lag``), and that
    end (``end``)."""

    group: str | None
    topic: str
    partition: int
    lag: int | None = None
    broker: str | None = None
    end: int | None = None


class TopicRow(NamedTuple):
    """A topic of the cluster. ``highest``: a partition number seen, where no count is; ``racks``:
    per partition those of its replicas; ``other``: a count that a later text has instead."""

    topic: str
    partitions: int | None = None
    id: str | None = None
    highest: int | None = None
    racks: tuple[tuple[str | None, ...], ...] | None = None
    other: int | None = None


class DocumentRow(NamedTuple):
    """A group document, as it was read."""

    document: dict[str, Any]


OfGroup = GroupRow | MemberRow | OwnerRow | OffsetRow
Row = OfGroup | TopicRow | DocumentRow
