"""Kafbat UI: ``GET /api/clusters/{cluster}/consumer-groups/{id}``.

    {"groupId": "billing", "members": 4, "partitionAssignor": "range", "state": "STABLE",
     "partitions": [{"topic": "orders", "partition": 0, "currentOffset": 5, "endOffset": 10,
                     "consumerLag": 5, "consumerId": "m1-cf04...", "host": "/127.0.0.1"}]}

A member without a partition is merely counted.
"""

from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import GroupRow, MemberRow, OffsetRow, OwnerRow, Row
from assignlab.groups.states import state_named
from assignlab.groups.text import Misfit


def fits(value: Any) -> bool:
    """Whether a group has a number of members, not a list of them."""
    return isinstance(value, dict) and "groupId" in value and isinstance(value.get("members"), int)


def read(value: dict[str, Any]) -> Iterator[Row]:
    """The group, and for every partition its owner and its offset."""
    group = fields.name(value, "groupId")
    if "partitions" not in value:
        raise Misfit("expected partitions: this is a list of groups, not the details of one")
    yield GroupRow(
        group,
        state=state_named(fields.text(value, "state")),
        assignor=fields.text(value, "partitionAssignor"),
        members=fields.number(value, "members"),
    )
    for entry in fields.entries(value, "partitions"):
        where = fields.name(entry, "topic"), fields.partition(entry, "partition")
        member = fields.text(entry, "consumerId")
        if member is not None:
            yield MemberRow(group, member, host=fields.text(entry, "host"))
        yield OwnerRow(group, *where, member)
        committed = fields.number(entry, "currentOffset") is not None
        lag = fields.number(entry, "consumerLag") if committed else None
        yield OffsetRow(group, *where, lag, end=fields.number(entry, "endOffset"))


FORMAT = JsonFormat(
    "Kafbat UI", fits, read,
    source="Kafbat UI of July 2026, consumer-groups.tsp and ConsumerGroupMapper.java",
)  # fmt: skip
