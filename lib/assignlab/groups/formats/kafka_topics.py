"""``kafka-topics --describe``: how many partitions topics have, and their ids.

    Topic: orders  TopicId: 0hUBpTa7TmG1lNmmbvFZ6A  PartitionCount: 7  ReplicationFactor: 1  Configs:
            Topic: orders  Partition: 0  Leader: 1  Replicas: 1  Isr: 1  Elr: N/A  LastKnownElr: N/A

Tabs stand between the fields, spaces in most pastes. Up to 2.2 there is no space behind the colon
of the first line; the TopicId came with 2.8. Where the first line is missing
(``--under-replicated-partitions``, a paste that begins too late) the highest partition stands for
the count.
"""

import re
from collections.abc import Iterator

from assignlab.groups.format import LineFormat
from assignlab.groups.rows import Row, TopicRow
from assignlab.groups.text import Text

_NAME = r"\s*Topic:\s*(?P<topic>[a-zA-Z0-9._-]{1,249})\s+"
TOPIC = re.compile(
    _NAME + r"(?:TopicId:\s*(?P<id>\S+)\s+)?PartitionCount:\s*(?P<partitions>\d{1,9})\s"
    r"\s*ReplicationFactor:.*"
)
PARTITION = re.compile(
    _NAME + r"Partition:\s*(?P<partition>\d{1,9})\s+Leader:\s*(?:-?\d+|none)\s+Replicas:.*"
)


def read(text: Text) -> Iterator[Row]:
    """A topic's own line, or those of its partitions if these are all there is."""
    while line := text.line():
        if match := TOPIC.fullmatch(line):
            yield TopicRow(match["topic"], int(match["partitions"]), match["id"])
        elif match := PARTITION.fullmatch(line):
            yield TopicRow(match["topic"], highest=int(match["partition"]))
        elif line.lstrip().startswith("Topic:"):
            raise text.error(
                "expected PartitionCount: and ReplicationFactor:, or Partition:, Leader: and"
                " Replicas: (is the paste cut off?)",
                len(line.rstrip()),
            )
        else:
            return
        text.skip_line()


FORMAT = LineFormat("kafka-topics --describe", re.compile(r"\s*Topic:"), read,
                    source="TopicCommand of Kafka 1.0 to 4.3")  # fmt: skip
