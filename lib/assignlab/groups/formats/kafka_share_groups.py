"""``kafka-share-groups``: known by its columns, and refused.

    GROUP  TOPIC  PARTITION  START-OFFSET
    GROUP  CONSUMER-ID  HOST  CLIENT-ID  ASSIGNMENT
    GROUP  COORDINATOR (ID)  STATE  #MEMBERS

Some releases head its members like those of a consumer group; the assignment then tells them apart.
The state of a Streams group looks the same.
"""

import re
from typing import NoReturn

from assignlab.groups.format import LineFormat
from assignlab.groups.text import Text

REASON = (
    "this is kafka-share-groups (or the state of kafka-streams-groups): the members of a share"
    " group may all read one partition, so that there is no owner to assign"
)


def read(text: Text) -> NoReturn:
    """Refuse it, and say why."""
    raise text.error(REASON)


FORMAT = LineFormat(
    "kafka-share-groups (refused)", source="ShareGroupCommand of Kafka 4.0 to 4.3", read=read,
    head=re.compile(
        r"\s*(GROUP\s+TOPIC\s+PARTITION\s.*START-OFFSET"
        r"|GROUP\s+TOPIC\s+PARTITION\s+OFFSET\s*$"
        r"|GROUP\s+CONSUMER-ID\s+HOST\s+CLIENT-ID\s+((#PARTITIONS\s+)?MEMBER-EPOCH\s+)?ASSIGNMENT\s*$"
        r"|GROUP\s+COORDINATOR \(ID\)\s+STATE\s"
        r"|Share group '.*' has no active members)"
    ),
)  # fmt: skip
