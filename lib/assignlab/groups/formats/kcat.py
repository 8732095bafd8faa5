"""``kcat -L`` (``kafkacat -L``): topics.

Metadata for all topics (from broker 1: 127.0.0.1:9092/1):
 1 brokers:
  broker 1 at 127.0.0.1:9092 (controller)
 1 topics:
  topic "orders" with 7 partitions:
    partition 0, leader 1, replicas: 1, isrs: 1
"""

import re
from collections.abc import Iterator

from assignlab.groups.format import LineFormat
from assignlab.groups.lines import own_lines
from assignlab.groups.rows import Row, TopicRow
from assignlab.groups.text import Text

LINE = re.compile(
    r"\s*((?P<count>\d+) (?P<of>brokers|topics):|broker -?\d+ at .*|partition \d+, leader .*"
    r'|topic "(?P<topic>[a-zA-Z0-9._-]{0,249})" with (?P<partitions>\d{1,9}) partitions:(?P<error>.*))\s*'
)


def read(text: Text) -> Iterator[Row]:
    """Every topic; raises where fewer follow than are announced."""
    text.skip_line()
    left = 0
    for line in own_lines(
        text, LINE.fullmatch, lambda: text.unexpected("a topic or its partition")
    ):
        if line["of"] == "topics":
            left = int(line["count"])
        elif line["topic"] is not None:
            left -= 1
            if not line["topic"]:
                continue  # kcat was asked for the topic ""
            unknown = line["partitions"] == "0" and line["error"].strip()
            yield TopicRow(line["topic"], None if unknown else int(line["partitions"]))
    if left > 0:
        raise text.error(f"expected {left} more topics (is the paste cut off?)")


FORMAT = LineFormat("kcat -L", re.compile(r"\s*Metadata for .* \(from broker "), read,
                    source="kcat 1.7.1")  # fmt: skip
