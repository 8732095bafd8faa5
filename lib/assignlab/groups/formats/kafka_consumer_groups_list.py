"""``kafka-consumer-groups --list --type`` and ``--state``, ``kafka-groups --list``: what groups there are.

GROUP    TYPE      STATE
billing  Consumer  Stable
"""

import re
from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.rows import GroupRow, Row
from assignlab.groups.table import Column
from assignlab.groups.text import Text

NAME = re.compile(r"[A-Z][A-Za-z]+")
COLUMNS = (
    Column("GROUP", single=True),
    Column("TYPE", NAME, "a type such as Classic", optional=True),
    Column("STATE", NAME, "a state such as Stable", optional=True),
    Column("PROTOCOL", optional=True, blank=True),
)
PROTOCOLS = {"Classic": "classic", "Consumer": "consumer"}


def read(text: Text) -> Iterator[Row]:
    """One row for every listed group of consumers; others, such as Connect's, only kafka-groups lists."""
    for cells in table.rows(text, COLUMNS):
        if cells.get("PROTOCOL") not in (None, "consumer"):
            continue
        protocol = PROTOCOLS.get(cells.get("TYPE") or "")
        yield GroupRow(cells["GROUP"], cells.get("STATE"), protocol=protocol, listed=True)


HEAD = re.compile(r"\s*GROUP\s+(TYPE|STATE|TYPE\s+STATE|TYPE\s+PROTOCOL)\s*$")
FORMAT = LineFormat(
    "kafka-consumer-groups --list --type --state", HEAD, read,
    source="ConsumerGroupCommand of Kafka 2.8 to 4.3, GroupsCommand of 4.0 to 4.3",
)  # fmt: skip
