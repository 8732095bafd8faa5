"""``kafka-consumer-groups --describe`` (or ``--offsets``): who holds which partition, how far.

    GROUP    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  CONSUMER-ID  HOST        CLIENT-ID
    billing  orders  0          5               10              5    m1-cf04...   /127.0.0.1  m1

``--verbose`` adds LEADER-EPOCH (4.x). A table per group; a dash stands for what is not there: nobody
holds the partition, nothing was committed, or a member holds nothing (TOPIC and PARTITION then).
Up to 2.1 there is no GROUP; consumers on ZooKeeper have no HOST and no CLIENT-ID.
"""

from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.rows import MemberRow, OffsetRow, OwnerRow, Row
from assignlab.groups.table import NUMBER, TOPIC, WORD, Column
from assignlab.groups.text import Text

OFFSET = "a number or a dash"
COLUMNS = (
    Column("GROUP", optional=True),
    Column("TOPIC", TOPIC, "a topic's name or a dash"),
    Column("PARTITION", NUMBER, "a partition's number or a dash"),
    Column("LEADER-EPOCH", NUMBER, OFFSET, optional=True),
    Column("CURRENT-OFFSET", NUMBER, OFFSET),
    Column("LOG-END-OFFSET", NUMBER, OFFSET),
    Column("LAG", NUMBER, OFFSET),
    Column("CONSUMER-ID", expected="a member's id or a dash"),
    Column("HOST", WORD, "a host or a dash", optional=True),
    Column("CLIENT-ID", expected="a client id or a dash", optional=True),
)


def read(text: Text) -> Iterator[Row]:
    for cells in table.rows(text, COLUMNS):
        group, member = cells.get("GROUP", text.group), cells["CONSUMER-ID"]
        if member is not None:
            yield MemberRow(group, member, cells.get("CLIENT-ID"), cells.get("HOST"))
        if cells["TOPIC"] is not None and cells["PARTITION"] is not None:
            where = group, cells["TOPIC"], table.partition(text, cells)
            yield OwnerRow(*where, member)
            lag, end = table.number(cells["LAG"]), table.number(cells["LOG-END-OFFSET"])
            yield OffsetRow(*where, lag, end=end)


FORMAT = LineFormat(
    name="kafka-consumer-groups --describe",
    lacks="the strategy; members that hold nothing where the group is classic; static ids",
    source="ConsumerGroupCommand of Kafka 1.0 to 4.3",
    head=table.head(COLUMNS),
    read=read,
)
