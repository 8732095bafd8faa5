"""Redpanda's ``rpk group describe``: a summary and a table per group.

    GROUP        billing
    COORDINATOR  1
    STATE        Stable
    BALANCER     range
    MEMBERS      2
    TOTAL-LAG    5

    TOPIC   PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG  MEMBER-ID  CLIENT-ID  HOST
    orders  0          5               10              5    m1-cf04..  m1         127.0.0.1

Where nobody holds a partition, the columns of the member are blank. LOG-START-OFFSET, and the line
between the two parts, came with later releases; INSTANCE-ID is there if any member is static, ERROR
if offsets of any partition could not be asked, whose lag is then -1. A log that ends at 0 has no lag.
"""

import re
from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.formats import kafka_consumer_groups_offsets as offsets
from assignlab.groups.rows import GroupRow, MemberRow, OffsetRow, OwnerRow, Row
from assignlab.groups.states import state_named
from assignlab.groups.table import NUMBER, TOPIC, WORD, Column
from assignlab.groups.text import Text, shown

FIELD = re.compile(r"\s*(?P<name>[A-Z]+(?:-[A-Z]+)*)(?:\s+(?P<value>\S.*?))?\s*")
FIELDS = {
    "GROUP", "COORDINATOR", "COORDINATOR-NODE", "COORDINATOR-PARTITION", "STATE", "BALANCER", "MEMBERS",
    "TOTAL-LAG",
}  # fmt: skip
COLUMNS = (
    Column("TOPIC", TOPIC, "a topic's name"),
    Column("PARTITION", NUMBER, "a partition's number"),
    Column("CURRENT-OFFSET", NUMBER, offsets.OFFSET),
    Column("LOG-START-OFFSET", NUMBER, offsets.OFFSET, optional=True),
    Column("LOG-END-OFFSET", NUMBER, offsets.OFFSET),
    Column("LAG", NUMBER, offsets.OFFSET),
    Column("MEMBER-ID", expected="a member's id", blank=True),
    Column("INSTANCE-ID", optional=True, blank=True),
    Column("CLIENT-ID", blank=True),
    Column("HOST", WORD, "a host", blank=True),
    Column("ERROR", optional=True, blank=True),
)


def read(text: Text) -> Iterator[Row]:
    """The group, and for every partition its owner and its offset."""
    found = _summary(text)
    group, members = found["GROUP"], found.get("MEMBERS")
    if found.get("STATE") is None or members is None or not members.isdecimal():
        raise text.error(
            f"expected STATE and MEMBERS of {shown(str(group))}, as rpk group describe prints"
        )
    yield GroupRow(group, state_named(found["STATE"]), found.get("BALANCER"), members=int(members))
    if not table.head(COLUMNS).match(text.line()):
        return
    for cells in table.rows(text, COLUMNS):
        where = group, cells["TOPIC"], table.partition(text, cells)
        member = cells.get("MEMBER-ID")
        if member is not None:
            client, host = cells.get("CLIENT-ID"), cells.get("HOST")
            yield MemberRow(group, member, client, host, cells.get("INSTANCE-ID"))
        yield OwnerRow(*where, member)
        lag, end = table.number(cells["LAG"]), table.number(cells["LOG-END-OFFSET"])
        if cells.get("ERROR") is not None:
            lag = end = None
        yield OffsetRow(*where, 0 if end == 0 else lag, end=end)


def _summary(text: Text) -> dict[str, str | None]:
    """The fields above the table, and what follows is the table, if there is one."""
    found: dict[str, str | None] = {}
    while text.more():
        line = text.line()
        field = FIELD.fullmatch(line)
        if field is not None and field["name"] in FIELDS and field["name"] not in found:
            found[field["name"]] = field["value"]
        elif line.strip():
            break
        text.skip_line()
    return found


FORMAT = LineFormat(
    "rpk group describe", re.compile(r"\s*GROUP\s+(?!TOPIC\b|CONSUMER-ID\b|COORDINATOR\b)\S+\s*$"), read,
    source="redpanda, src/go/rpk/pkg/cli/group/describe.go",
)  # fmt: skip
