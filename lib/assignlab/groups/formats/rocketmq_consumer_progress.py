"""RocketMQ's ``mqadmin consumerProgress -g GROUP -s true``: who holds which queue, how far.

    #Topic  #Broker Name  #QID  #Broker Offset  #Consumer Offset  #Client IP  #Diff  #Inflight  #LastTime
    orders  broker-a      0     10              5                 127.0.0.1   5      0          2026-11-20 10:00:00

The client is the text before the @ of its id: clients of one host are one. Without ``-s true``
there is no #Client IP, in older releases no #Inflight. Topics are cut at 64 characters, brokers at
32. The group stands in the name of its retry topic, ``%RETRY%GROUP``.
"""

import re
from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.rows import GroupRow, OffsetRow, OwnerRow, Row
from assignlab.groups.table import NUMBER, WORD, Column
from assignlab.groups.text import Text, shown

TOPIC = re.compile(r"[%|a-zA-Z0-9_-]+")
COLUMNS = (
    Column("#Topic", TOPIC, "a topic's name"),
    Column("#Broker Name", WORD, "a broker's name"),
    Column("#QID", re.compile(r"\d{1,7}"), "a queue's number"),
    Column("#Broker Offset", NUMBER, "a number"),
    Column("#Consumer Offset", NUMBER, "a number"),
    Column("#Client IP", WORD, "an address or N/A", optional=True),
    Column("#Diff", NUMBER, "a number"),
    Column("#Inflight", NUMBER, "a number", optional=True),
    Column("#LastTime", expected="a time or N/A"),
)
RETRY = "%RETRY%"
WIDTH = 64
"""Of a topic no more is printed."""
NOBODY = ("N/A", "NA")


def read(text: Text) -> Iterator[Row]:
    """Every queue's owner, and how far the group is there; its retry topic names the group."""
    rows = list(table.rows(text, COLUMNS))
    retry = [row["#Topic"] for row in rows if row["#Topic"].startswith(RETRY)]
    whole = retry and len(retry[0]) < WIDTH
    group = retry[0].removeprefix(RETRY) if whole else text.group
    online = not rows or any(row.get("#Client IP", "") not in NOBODY for row in rows)
    yield GroupRow(group, protocol="rocketmq", state=None if online else "Empty")
    told = set()
    for row in rows:
        where = group, row["#Topic"], int(row["#QID"])
        broker, client = row["#Broker Name"], row.get("#Client IP")
        if (*where, broker) in told:
            raise text.error(
                f"queue {where[2]} of {shown(where[1])} on {shown(broker)} is there twice: topics are cut at"
                f" {WIDTH} characters, and two begin alike"
            )
        told.add((*where, broker))
        if client is not None:
            host = None if client in NOBODY else client
            yield OwnerRow(*where, host=host, broker=broker)
        yield OffsetRow(*where, table.number(row["#Diff"]), broker)


FORMAT = LineFormat("mqadmin consumerProgress", table.head(COLUMNS), read,
                    source="ConsumerProgressSubCommand of RocketMQ 5.3")  # fmt: skip
