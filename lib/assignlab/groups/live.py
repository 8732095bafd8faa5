"""Groups read from their cluster, by read-only calls of an admin client.

The calls are those of ``kafka-consumer-groups --describe``: ListGroups, DescribeGroups and
ConsumerGroupDescribe, OffsetFetch, ListOffsets; and DescribeTopicPartitions for counts, ids and
racks. Beside what that command prints, the answers have what members of a classic group subscribe
to and their racks, as each wrote it into its JoinGroup request, and the racks of replicas.

The client is confluent-kafka (extra ``live``), imported when a cluster is asked.
"""

import struct
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from assignlab.errors import AssignlabError, UnknownName
from assignlab.groups import command_config
from assignlab.groups.formats.admin_client import group_rows
from assignlab.groups.rows import MemberRow, OffsetRow, OwnerRow, Row, TopicRow
from assignlab.groups.text import printable

ASKED_WITHIN_S = 20
"""Every call ends by itself after so long."""
ENDED = ("DEAD", "UNKNOWN")
DENIED = "AUTHORIZATION_FAILED"
PACKAGES = "'confluent-kafka>=2.10,<3' 'javaproperties>=0.8,<1'"

Place = tuple[str | None, str, int]
"""Group, topic, partition."""


class Live:
    """A cluster as a source of :func:`assignlab.groups.read`.

    ``bootstrap``: brokers, as ``host:port,host:port``. ``command_config``: a file of properties, as
    Kafka's own tools take it. ``groups``: names; none for all groups of the cluster.
    """

    def __init__(
        self,
        bootstrap: str,
        command_config: str | Path | None = None,
        groups: str | Sequence[str] = (),
    ):
        self.bootstrap = bootstrap
        self.command_config = command_config
        self.groups = [groups] if isinstance(groups, str) else list(dict.fromkeys(groups))

    def rows(self) -> Iterator[Row]:
        """What the cluster says of its groups; AssignlabError where it does not answer."""
        admin, said = self._connect()
        with self._refusing(said, admin):
            names = self._names(admin)
            found = [row for name in names for row in self._described(admin, name, names)]
            found += list(_subscribed(admin, self.groups, found))
            committed = {place: at for name in names for place, at in _committed(admin, name)}
            yield from found
            yield from _topics(admin, found, committed)

    def _connect(self) -> tuple[Any, list[str]]:
        try:
            from confluent_kafka import KafkaException
            from confluent_kafka.admin import AdminClient

            given = (
                command_config.translated(Path(self.command_config)) if self.command_config else {}
            )
        except ImportError as missing:
            raise AssignlabError(
                f"asking a cluster needs {missing.name}, which is not installed: "
                f"{sys.executable} -m pip install {PACKAGES}"
            ) from None
        said: list[str] = []
        settings: dict[str, Any] = {"bootstrap.servers": self.bootstrap, "log_level": 0, **given}
        settings["error_cb"] = lambda error: said.append(error.str())
        try:
            return AdminClient(settings), said
        except KafkaException as refused:
            raise AssignlabError(_plain(self.command_config or self.bootstrap, refused)) from None

    @contextmanager
    def _refusing(self, said: list[str], admin: Any) -> Iterator[None]:
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            admin.poll(0)
            heard = dict.fromkeys(printable(text) for text in said)
            why = f" ({next(iter(heard))})" if heard else ""
            raise AssignlabError(_plain(self.bootstrap, error) + why) from None

    def _names(self, admin: Any) -> list[str]:
        """The groups to describe: consumers' alone, since Streams and share groups are refused."""
        from confluent_kafka import KafkaException

        listed = admin.list_consumer_groups(request_timeout=ASKED_WITHIN_S).result()
        kinds = {group.group_id: group.type.name for group in listed.valid}
        for name in self.groups:
            if name not in kinds and not listed.errors:
                raise UnknownName(
                    "group", name, sorted(kinds) or ["none: the cluster has no group"]
                )
        names = self.groups or [n for n, k in kinds.items() if k not in ("SHARE", "STREAMS")]
        if not names and listed.errors:
            raise KafkaException(listed.errors[0])
        return names

    def _described(self, admin: Any, name: str, names: list[str]) -> Iterator[Row]:
        calls = admin.describe_consumer_groups([name], request_timeout=ASKED_WITHIN_S)
        described = calls[name].result()
        if described.state.name not in ENDED:
            yield from group_rows(_as_json(described))
        elif self.groups:
            raise UnknownName("group", name, [n for n in names if n != name] or ["no other"])


def _as_json(group: Any) -> dict[str, Any]:
    """A description as the format ``AdminClient JSON`` has it, its names folded."""
    return {
        "groupid": group.group_id,
        "state": group.state.name,
        "type": group.type.name,
        "partitionassignor": group.partition_assignor,
        "members": [
            {
                "memberid": member.member_id,
                "clientid": member.client_id,
                "host": member.host,
                "groupinstanceid": member.group_instance_id,
                "assignment": _pairs(member.assignment),
                "targetassignment": _pairs(member.target_assignment),
            }
            for member in group.members
        ],
    }


def _pairs(assignment: Any) -> list[list] | None:
    return assignment and [[p.topic, p.partition] for p in assignment.topic_partitions]


def _committed(admin: Any, name: str) -> Iterator[tuple[Place, int]]:
    """How far the group has come, where it has committed anything."""
    from confluent_kafka import ConsumerGroupTopicPartitions

    asked = ConsumerGroupTopicPartitions(name)
    call = admin.list_consumer_group_offsets([asked], request_timeout=ASKED_WITHIN_S)
    for at in call[name].result().topic_partitions:
        if at.error is None and at.offset >= 0:
            yield (name, at.topic, at.partition), at.offset


def _subscribed(admin: Any, wanted: list[str], found: Iterable[Row]) -> Iterator[MemberRow]:
    """What members of classic groups subscribe to, and their racks, if the coordinator says it."""
    known = {(row.group, row.member) for row in found if isinstance(row, MemberRow)}
    asked: list[dict[str, str]] = [{"group": name} for name in wanted] or [{}]
    with warnings.catch_warnings():
        # Deprecated for calls that leave out the members' metadata, which is what is wanted here.
        warnings.simplefilter("ignore", DeprecationWarning)
        groups = [g for one in asked for g in admin.list_groups(timeout=ASKED_WITHIN_S, **one)]
    for group in groups:
        for member in group.members:
            told = subscription(member.metadata or b"")
            if told is not None and (group.id, member.id) in known:
                yield MemberRow(group.id, member.id, topics=told[0], rack=told[1] or None)


def subscription(data: bytes) -> tuple[tuple[str, ...], str | None] | None:
    """Topics and rack in a ``ConsumerProtocolSubscription`` of any version; None for anything else.

    >>> subscription(bytes.fromhex("0000 00000001 0001 74 ffffffff"))
    (('t',), None)
    >>> subscription(bytes.fromhex("0003 00000001 0001 74 ffffffff 00000000 00000007 0001 62"))
    (('t',), 'b')
    """
    at = 0

    def skip(length: int) -> bytes:
        nonlocal at
        if not 0 <= length <= len(data) - at:
            raise ValueError(length)
        at += length
        return data[at - length : at]

    def take(form: str) -> int:
        return struct.unpack(f">{form}", skip(struct.calcsize(form)))[0]

    def text() -> str | None:
        length = take("h")
        return None if length < 0 else skip(length).decode()

    try:
        version = take("h")
        topics = tuple(text() or "" for _ in range(take("i")))
        skip(max(take("i"), 0))  # the assignor's own
        for _ in range(take("i") if version >= 1 else 0):
            text()
            skip(4 * take("i"))
        if version >= 2:
            take("i")  # the generation
        return topics, text() if version >= 3 else None
    except ValueError:
        return None


def _topics(admin: Any, found: list[Row], committed: dict[Place, int]) -> Iterator[Row]:
    """The topics that the groups are about, and how far each group is behind the logs' ends."""
    from confluent_kafka import TopicCollection, TopicPartition
    from confluent_kafka.admin import OffsetSpec

    held = [(r.group, r.topic, r.partition) for r in found if isinstance(r, OwnerRow)]
    named = {topic for _, topic, _ in (*held, *committed)}
    named |= {t for row in found if isinstance(row, MemberRow) for t in row.topics or ()}
    if not named:
        return
    calls = admin.describe_topics(TopicCollection(sorted(named)), request_timeout=ASKED_WITHIN_S)
    topics = [topic for call in calls.values() if (topic := _unless_gone(call)) is not None]
    for topic in topics:
        racks = tuple(tuple(node.rack for node in p.replicas) for p in topic.partitions)
        known = racks if any(map(any, racks)) else None
        yield TopicRow(topic.name, len(topic.partitions), as_java(str(topic.topic_id)), racks=known)
    partitions = [TopicPartition(t.name, p.id) for t in topics for p in t.partitions]
    if not partitions:
        return
    asked = dict.fromkeys(partitions, OffsetSpec.latest())
    calls = admin.list_offsets(asked, request_timeout=ASKED_WITHIN_S)
    found_ends = {(at.topic, at.partition): _unless_gone(call) for at, call in calls.items()}
    for place in dict.fromkeys((*held, *committed)):
        last, at = found_ends.get(place[1:]), committed.get(place)
        end = last and last.offset
        behind = None if end is None or at is None else max(0, end - at)
        yield OffsetRow(*place, lag=behind, end=end)


def as_java(uuid: str) -> str:
    """An id of librdkafka's as Java writes it, whose base64 goes into addresses.

    >>> as_java("vO68JSG4QXuoqKTlUZ/FI+")
    'vO68JSG4QXuoqKTlUZ_FI-'
    """
    return uuid.translate(str.maketrans("+/", "-_"))


def _unless_gone(call: Any) -> Any:
    """The answer; None where the topic has been deleted since the group read it, or the partition has
    no leader whom one could ask for its end."""
    from confluent_kafka import KafkaError, KafkaException

    try:
        return call.result()
    except KafkaException as error:
        gone = KafkaError.UNKNOWN_TOPIC_OR_PART
        leaderless = KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION
        if error.args[0].code() not in (gone, *leaderless):
            raise
        return None


def _plain(where: Any, error: Any) -> str:
    """One line for an exception of the client."""
    cause = error.args[0]
    name = getattr(cause, "name", lambda: "")()
    text = printable(cause.str() if hasattr(cause, "str") else str(cause))
    remedy = "; it needs Describe on the cluster, the groups and their topics"
    remedy = remedy if DENIED in name else ""
    return f"{printable(str(where))}: {text}{remedy}"
