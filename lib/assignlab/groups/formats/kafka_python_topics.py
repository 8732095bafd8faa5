"""``python -m kafka.admin --format json topics describe``: topics, of kafka-python 3.

[{"name": "orders", "topic_id": "4d04d87f-9e9a-495a-bb19-c6a8cbfc0c83",
  "partitions": [{"partition_index": 0, "leader_id": 1, "replica_nodes": [1], ...}], ...}]
"""

import base64
import uuid
from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import Row, TopicRow
from assignlab.groups.text import Misfit


def fits(value: Any) -> bool:
    """Whether this is one topic's description."""
    return isinstance(value, dict) and {"name", "partitions", "is_internal"} <= value.keys()


def read(value: dict[str, Any]) -> Iterator[Row]:
    """The topic, its id as Kafka's own tools print it."""
    id_text = fields.text(value, "topic_id")
    try:
        topic_id = uuid.UUID(id_text or str(uuid.UUID(int=0)))
    except ValueError:
        raise Misfit(f"topic_id: expected a UUID, found {id_text!r}") from None
    kafkas = base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip("=")
    count = len(fields.entries(value, "partitions"))
    yield TopicRow(fields.name(value, "name"), count, kafkas if topic_id.int else None)


FORMAT = JsonFormat("kafka-python topics describe", fits, read, source="kafka-python 3.0.12")
