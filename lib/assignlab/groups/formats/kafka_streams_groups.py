"""``kafka-streams-groups``: known by its columns, and refused.

GROUP  MEMBER  PROCESS  CLIENT-ID  ASSIGNMENTS
GROUP  TOPIC   PARTITION  OFFSET-LAG
"""

import re
from typing import NoReturn

from assignlab.groups.format import LineFormat
from assignlab.groups.text import Text


def read(text: Text) -> NoReturn:
    """Refuse it, and say why."""
    raise text.error(
        "this is kafka-streams-groups: Kafka Streams hands out tasks, each a sub-topology and a"
        " partition, by assignors of its own; no strategy for the partitions of topics is theirs"
    )


FORMAT = LineFormat(
    "kafka-streams-groups (refused)",
    re.compile(
        r"\s*(GROUP\s+(MEMBER|TARGET-ASSIGNMENT-EPOCH)\s"
        r"|GROUP\s+TOPIC\s+PARTITION\s.*OFFSET-LAG"
        r"|(TARGET-)?(ACTIVE|STANDBY|WARMUP)-TASKS:"
        r"|Streams group '.*' has no active members)"
    ),
    read,
    source="StreamsGroupCommand of Kafka 4.1 to 4.3",
)
