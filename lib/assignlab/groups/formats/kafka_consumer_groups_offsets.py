"""``kafka-consumer-groups --describe`` (or ``--offsets``): who holds which partition, how far.

    GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
    billing  orders  0          5               10              5    m1-cf04...   /127.0.0.1  m1

``--verbose`` adds LEADER-EPOCH (4.x). A table per group; a dash stands for what is not there:
nobody holds the partition, nothing was committed, or a member holds nothing (TOPIC and PARTITION
then). Up to 2.1 there is no GROUP; consumers on ZooKeeper have no HOST and no CLIENT-ID. Up to
0.10.1 OWNER stands for the three: a client id and a host (``m1_/127.0.0.1``), or the id of a thread
that reads through ZooKeeper; ``none`` and ``unknown`` stand for a dash. A paste that lacks the
columns on the right has lags alone.
"""

import re
from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.rows import MemberRow, OffsetRow, OwnerRow, Row
from assignlab.groups.table import NUMBER, TOPIC, WORD, Cells, Column
from assignlab.groups.text import Text

OFFSET = "a number or a dash"
OFFSETS = re.compile(rf"{NUMBER.pattern}|unknown")
COLUMNS = (
    Column("GROUP", optional=True),
    Column("TOPIC", TOPIC, "a topic's name or a dash"),
    Column("PARTITION", NUMBER, "a partition's number or a dash"),
    Column("LEADER-EPOCH", NUMBER, OFFSET, optional=True),
    Column("CURRENT-OFFSET", OFFSETS, OFFSET),
    Column("LOG-END-OFFSET", OFFSETS, OFFSET),
    Column("LAG", OFFSETS, OFFSET),
    Column("CONSUMER-ID", expected="a member's id or a dash", optional=True),
    Column("HOST", WORD, "a host or a dash", optional=True),
    Column("CLIENT-ID", expected="a client id or a dash", optional=True),
    Column("OWNER", expected="an owner or none", optional=True),
)
_OWNER = re.compile(r"(?P<client>.*)_(?P<host>/\S+)")


def read(text: Text) -> Iterator[Row]:
    """For every line the partition's owner, and how far the group is there."""
    for cells in table.rows(text, COLUMNS):
        if "GROUP" in cells and "CONSUMER-ID" in cells and "HOST" not in cells:
            raise text.error(
                "expected HOST and CLIENT-ID behind CONSUMER-ID: the lines are cut off"
            )
        group, (member, client, host) = cells.get("GROUP", text.group), _member(cells)
        if member is not None:
            yield MemberRow(group, member, client, host)
        if cells["TOPIC"] is not None and cells["PARTITION"] is not None:
            where = group, cells["TOPIC"], table.partition(text, cells)
            if "CONSUMER-ID" in cells or "OWNER" in cells:
                yield OwnerRow(*where, member)
            lag, end = table.number(cells["LAG"]), table.number(cells["LOG-END-OFFSET"])
            yield OffsetRow(*where, lag, end=end)


def _member(cells: Cells) -> tuple[str | None, str | None, str | None]:
    """Id, client id and host of the owner; clients of one id on one host are one owner in old releases."""
    owner = cells.get("OWNER")
    if owner is None or owner == "none":
        return cells.get("CONSUMER-ID"), cells.get("CLIENT-ID"), cells.get("HOST")
    parts = _OWNER.fullmatch(owner)
    return (owner, parts["client"], parts["host"]) if parts else (owner, None, None)


FORMAT = LineFormat("kafka-consumer-groups --describe", table.head(COLUMNS), read,
                    source="ConsumerGroupCommand of Kafka 0.10 to 4.3")  # fmt: skip
