"""Burrow: ``GET /v3/kafka/{cluster}/consumer/{group}/lag``, or without ``/lag``.

    {"error": false, "message": "...", "status": {"cluster": "c", "group": "billing",
      "partition_count": 1, "partitions": [{"topic": "orders", "partition": 0,
        "owner": "/127.0.0.1", "client_id": "m1", "current_lag": 5, ...}], ...}, "request": {...}}

    {"error": false, "message": "...", "topics": {"orders": [{"owner": "/127.0.0.1",
      "client_id": "m1", "current-lag": 5, "offsets": [...]}]},
     "request": {"url": "/v3/kafka/c/consumer/billing", "host": "..."}}

An owner is a host; ``client_id`` came with later releases. ``/status`` leaves out what is well.
"""

from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import OffsetRow, OwnerRow, Row
from assignlab.groups.text import Misfit
from assignlab.words import counted


def fits(value: Any) -> bool:
    """Whether this is an answer of Burrow, also that of a request that failed."""
    return isinstance(value, dict) and {"error", "message", "request"} <= value.keys()


def read(value: dict[str, Any]) -> Iterator[Row]:
    """The rows of a group's status, or of its topics."""
    if value["error"]:
        raise Misfit(f"the request failed: {fields.text(value, 'message')}")
    if isinstance(value.get("status"), dict):
        yield from _of_status(value["status"])
    elif isinstance(value.get("topics"), dict):
        yield from _of_topics(value)
    else:
        raise Misfit("expected status or topics of a group (/v3/kafka/CLUSTER/consumer/GROUP/lag)")


def _of_status(status: dict[str, Any]) -> Iterator[Row]:
    group, partitions = fields.name(status, "group"), fields.entries(status, "partitions")
    count = fields.number(status, "partition_count")
    if count is not None and count > len(partitions):
        raise Misfit(
            f"expected {counted(count, 'partition')}, found {len(partitions)}: ask for .../lag"
        )
    for entry in partitions:
        where = group, fields.name(entry, "topic"), fields.partition(entry, "partition")
        yield from _owner(where, entry)
        yield OffsetRow(*where, fields.number(entry, "current_lag"))


def _of_topics(value: dict[str, Any]) -> Iterator[Row]:
    url = fields.name({} if not isinstance(value["request"], dict) else value["request"], "url")
    group = url.partition("/consumer/")[2].split("/")[0].split("?")[0]
    for topic in value["topics"]:
        for number, entry in enumerate(value["topics"][topic] or ()):
            if isinstance(entry, dict):
                yield from _owner((group, topic, number), entry)
                yield OffsetRow(group, topic, number, fields.number(entry, "current-lag"))


def _owner(where: tuple[str, str, int], entry: dict[str, Any]) -> Iterator[Row]:
    host, client = fields.text(entry, "owner"), fields.text(entry, "client_id")
    if host is not None:
        yield OwnerRow(*where, host=f"{client}@{host}" if client else host)


FORMAT = JsonFormat("Burrow", fits, read,
                    source="Burrow of October 2025, core/protocol and httpserver/structs.go")  # fmt: skip
