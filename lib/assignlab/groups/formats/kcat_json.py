"""``kcat -L -J``: topics, as JSON.

{"originating_broker": {"id": 1, "name": "127.0.0.1:9092/1"}, "query": {"topic": "*"},
 "topics": [{"topic": "orders", "partitions": [{"partition": 0, "leader": 1, ...}]}]}
"""

from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import Row, TopicRow


def fits(value: Any) -> bool:
    """Whether this is an answer of kcat: only that names the broker that it asked."""
    return isinstance(value, dict) and "originating_broker" in value


def read(value: dict[str, Any]) -> Iterator[Row]:
    """Every topic that the broker knows."""
    for topic in fields.entries(value, "topics"):
        if not topic.get("error"):
            yield TopicRow(fields.name(topic, "topic"), len(fields.entries(topic, "partitions")))


FORMAT = JsonFormat("kcat -L -J", fits, read, source="kcat 1.7.1")
