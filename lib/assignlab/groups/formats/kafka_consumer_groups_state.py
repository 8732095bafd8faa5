"""``kafka-consumer-groups --describe --state``: one line a group.

    GROUP    COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE   #MEMBERS
    billing  127.0.0.1:9092  (1)       range                Stable  3

``--verbose`` adds GROUP-EPOCH and TARGET-ASSIGNMENT-EPOCH (4.x), numbers only under KIP-848. Up to
2.1 there is no GROUP; the strategy of a group without members is blank, and a dash in later
releases. Columns cannot be trusted: a coordinator with a long name pushes the rest to the right.
"""

import re
from collections.abc import Iterator

from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.lines import own_lines
from assignlab.groups.rows import GroupRow, Row
from assignlab.groups.table import Column
from assignlab.groups.text import Text

COLUMNS = (
    Column("GROUP", optional=True),
    Column("COORDINATOR (ID)"),
    Column("ASSIGNMENT-STRATEGY"),
    Column("STATE"),
    Column("GROUP-EPOCH", optional=True),
    Column("TARGET-ASSIGNMENT-EPOCH", optional=True),
    Column("#MEMBERS"),
)
ROW = re.compile(
    r"(?:(?P<group>\S.*?) )?(?P<coordinator>\S+:\d+ \(-?\d+\)) (?:(?P<assignor>\S+) )?"
    r"(?P<state>[A-Z][A-Za-z]+) (?:(?P<epoch>-|\d+) (?:-|\d+) )?(?P<members>\d{1,9})"
)


def read(text: Text) -> Iterator[Row]:
    """One row for every line below the head."""
    text.skip_line()
    expected = "a group, its coordinator like host:9092  (1), strategy, state and #MEMBERS"
    for row in own_lines(
        text, lambda line: ROW.fullmatch(" ".join(line.split())), lambda: text.unexpected(expected)
    ):
        yield GroupRow(
            row["group"] or text.group,
            state=row["state"],
            assignor=None if row["assignor"] == table.ABSENT else row["assignor"],
            protocol="consumer" if (row["epoch"] or "-") != "-" else None,
            members=int(row["members"]),
        )


FORMAT = LineFormat("kafka-consumer-groups --describe --state", table.head(COLUMNS), read,
                    source="ConsumerGroupCommand of Kafka 2.0 to 4.3")  # fmt: skip
