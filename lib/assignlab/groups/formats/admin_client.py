"""What admin clients return when they describe groups, as JSON.

kafka-python (``python -m kafka.admin --format json groups describe -g billing``) prints an object
per group id, and as the only one what members subscribe to, and their racks:

    {"billing": {"group_id": "billing", "group_state": "Stable", "protocol_data": "range",
      "members": [{"member_id": "m1-cf04...", "client_id": "m1", "client_host": "/127.0.0.1",
        "member_metadata": {"topics": ["orders"], "rack_id": "", ...},
        "member_assignment": {"assigned_partitions": [{"topic": "orders", "partitions": [0]}]}}]}}

The Java client and confluent-kafka return objects (ConsumerGroupDescription) that users turn into
JSON themselves: the same names in other spellings (``groupId``, ``group_id``), the partitions of an
assignment as ``topic_partitions``, as ``[topic, number]`` pairs or as above.
"""

from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import GroupRow, MemberRow, OwnerRow, Row
from assignlab.groups.states import state_named
from assignlab.groups.text import Misfit


def fits(value: Any) -> bool:
    """Whether one of the described groups looks like one."""
    return isinstance(value, dict) and any(_is_group(folded) for folded in _groups(value))


def read(value: dict[str, Any]) -> Iterator[Row]:
    """The rows of every described group, one after the other."""
    for group in _groups(value):
        if not _is_group(group):
            raise Misfit("expected a group with its members")
        yield from group_rows(group)


def folded(value: Any) -> Any:
    """The value with its names in one spelling: ``groupId`` and ``group_id`` are ``groupid``."""
    if isinstance(value, dict):
        return {str(k).replace("_", "").lower(): folded(v) for k, v in value.items()}
    return [folded(item) for item in value] if isinstance(value, list | tuple) else value


def _groups(value: dict[str, Any]) -> list[Any]:
    """The group itself, the groups of a list, or those of an object of groups by id."""
    if _is_group(folded(value)):
        return [folded(value)]
    listed = value.get("groups")
    return [folded(group) for group in (listed if isinstance(listed, list) else value.values())]


def _is_group(group: Any) -> bool:
    return isinstance(group, dict) and "groupid" in group and isinstance(group.get("members"), list)


def group_rows(group: dict[str, Any]) -> Iterator[Row]:
    """The rows of a group whose names are folded."""
    name = fields.name(group, "groupid")
    members = fields.entries(group, "members")
    kind = (fields.text(group, "type", "grouptype") or "").rpartition(".")[2].lower()
    yield GroupRow(
        name,
        state=state_named(fields.text(group, "state", "groupstate")),
        assignor=fields.text(group, "partitionassignor", "protocoldata", "protocol"),
        protocol=kind if kind in ("classic", "consumer") else None,
        members=None if group["members"] is None else len(members),
        whole=group["members"] is not None,
    )
    for member in members:
        yield from member_rows(name, member)


def member_rows(group: str, member: dict[str, Any]) -> Iterator[Row]:
    """The rows of a member whose names are folded."""
    name = fields.name(member, "memberid", "consumerid")
    held = _partitions(member.get("assignment", member.get("memberassignment")))
    metadata = member.get("membermetadata")
    said = metadata if isinstance(metadata, dict) else {}
    topics, target = said.get("topics"), member.get("targetassignment")
    listed = isinstance(topics, list) and all(isinstance(topic, str) for topic in topics)
    if topics is not None and not listed:
        raise Misfit("member_metadata.topics: expected names")
    yield MemberRow(
        group,
        name,
        client=fields.text(member, "clientid"),
        host=fields.text(member, "host", "clienthost"),
        instance=fields.text(member, "groupinstanceid"),
        rack=fields.text(said, "rackid"),
        partitions=len(held),
        epoch=fields.epoch(member, "memberepoch"),
        topics=None if topics is None else tuple(topics),
        target=None if target is None else tuple(_partitions(target)),
    )
    yield from (OwnerRow(group, *partition, name) for partition in held)


def _partitions(assignment: Any) -> list[tuple[str, int]]:
    if isinstance(assignment, dict):
        names = ("topicpartitions", "assignedpartitions", "partitions")
        assignment = next((assignment[name] for name in names if name in assignment), assignment)
    if not isinstance(assignment or [], list):
        raise Misfit("assignment: expected an array of topics and partitions")
    return [partition for entry in assignment or [] for partition in _of_topic(entry)]


def _of_topic(entry: Any) -> list[tuple[str, int]]:
    if isinstance(entry, list) and len(entry) == 2:
        entry = {"topic": entry[0], "partition": entry[1]}
    if not isinstance(entry, dict):
        raise Misfit("assignment: expected topics with partitions")
    topic, numbers = fields.name(entry, "topic", "name"), entry.get("partitions")
    if numbers is None:
        return [(topic, fields.partition(entry, "partition"))]
    if not isinstance(numbers, list):
        raise Misfit("assignment: expected an array of partitions")
    return [(topic, fields.partition({"partition": number}, "partition")) for number in numbers]


FORMAT = JsonFormat(
    "AdminClient JSON", fits, read,
    source="kafka-python 3.0.12, confluent-kafka 2.16.1, ConsumerGroupDescription of Kafka 4.3",
)  # fmt: skip
