"""AKHQ: ``GET /api/{cluster}/group/{name}``.

    {"id": "billing", "partitionAssignor": "range", "state": "STABLE",
     "members": [{"id": "m1-cf04...", "clientId": "m1", "host": "/127.0.0.1",
                  "assignments": [{"topic": "orders", "partition": 0}]}],
     "offsets": [{"topic": "orders", "partition": 0, "offset": 5, "lastOffset": 10, "offsetLag": 5}]}

Fields that are empty are left out.
"""

from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import GroupRow, MemberRow, OffsetRow, OwnerRow, Row
from assignlab.groups.states import state_named


def fits(value: Any) -> bool:
    """Whether a group has a field that only AKHQ calls so."""
    own = ("simpleConsumerGroup", "partitionAssignor", "activeTopics")
    return isinstance(value, dict) and "id" in value and any(name in value for name in own)


def read(value: dict[str, Any]) -> Iterator[Row]:
    """The group, its members with what they own, and its offsets."""
    group, members = fields.name(value, "id"), fields.entries(value, "members")
    yield GroupRow(
        group,
        state=state_named(fields.text(value, "state")),
        assignor=fields.text(value, "partitionAssignor"),
        members=len(members),
        whole=True,
    )
    for member in members:
        name, held = fields.name(member, "id"), fields.entries(member, "assignments")
        client, host = fields.text(member, "clientId"), fields.text(member, "host")
        yield MemberRow(group, name, client, host, partitions=len(held))
        for entry in held:
            where = fields.name(entry, "topic"), fields.partition(entry, "partition")
            yield OwnerRow(group, *where, name)
    for entry in fields.entries(value, "offsets"):
        where = fields.name(entry, "topic"), fields.partition(entry, "partition")
        lag, end = fields.number(entry, "offsetLag"), fields.number(entry, "lastOffset")
        yield OffsetRow(group, *where, lag, end=end)


FORMAT = JsonFormat("AKHQ", fits, read, source="AKHQ of February 2025, models/ConsumerGroup.java")
