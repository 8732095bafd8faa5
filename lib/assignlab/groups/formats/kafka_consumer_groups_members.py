"""``kafka-consumer-groups --describe --members``, with ``--verbose`` or without.

    GROUP    CONSUMER-ID  HOST        CLIENT-ID  #PARTITIONS  ASSIGNMENT
    billing  m1-cf04...   /127.0.0.1  m1         3            orders(0,1), payments(3)

The assignment of ``--verbose`` was printed in three ways: ``orders(0,1), payments(3)`` up to 3.7;
``(0,1), (3)``, without the topics, in 3.8 and 3.9; and since 4.0 ``orders:0,1;payments:3`` in
CURRENT-ASSIGNMENT, beside the epochs and the TARGET-ASSIGNMENT of KIP-848. GROUP-INSTANCE-ID is
there if any member is static, and blank for the others.
"""

import re
from collections.abc import Iterator

from assignlab.group.document import MAX_PARTITIONS
from assignlab.groups import table
from assignlab.groups.format import LineFormat
from assignlab.groups.formats import kafka_share_groups
from assignlab.groups.rows import GroupRow, MemberRow, OwnerRow, Row
from assignlab.groups.table import NUMBER, WORD, Cells, Column
from assignlab.groups.text import PARTITION, Text, shown
from assignlab.words import counted

EPOCH = (re.compile(r"-|-?\d{1,9}"), "an epoch or a dash")
COLUMNS = (
    Column("GROUP", optional=True),
    Column("CONSUMER-ID", expected="a member's id"),
    Column("GROUP-INSTANCE-ID", optional=True, blank=True),
    Column("HOST", WORD, "a host"),
    Column("CLIENT-ID", expected="a client id"),
    Column("#PARTITIONS", NUMBER, "a number"),
    Column("ASSIGNMENT", expected="orders(0,1)", optional=True),
    Column("CURRENT-EPOCH", *EPOCH, optional=True),
    Column("CURRENT-ASSIGNMENT", WORD, "orders:0,1;payments:3", optional=True),
    Column("TARGET-EPOCH", *EPOCH, optional=True),
    Column("TARGET-ASSIGNMENT", WORD, "orders:0,1;payments:3", optional=True),
    Column("UPGRADED", WORD, optional=True, blank=True),
)

_TOPIC = r"(?P<topic>[a-zA-Z0-9._-]+)"
_NUMBERS = r"(?P<numbers>\d{1,10}(?:,\d{1,10})*)"
_BRACKETS = re.compile(rf"{_TOPIC}\({_NUMBERS}\)(?:, ?|$)")
_COLONS = re.compile(rf"{_TOPIC}:{_NUMBERS}(?:;(?!$)|$)")
_NO_TOPICS = re.compile(rf"\({_NUMBERS}\)(, \(\d[\d,]*\))*")

Partitions = list[tuple[str, int]]


def read(text: Text) -> Iterator[Row]:
    """Every member, what it owns, and what the coordinator wants it to own."""
    for cells in table.rows(text, COLUMNS):
        group, member = cells.get("GROUP", text.group), cells["CONSUMER-ID"]
        count = table.number(cells["#PARTITIONS"])
        epoch = table.number(cells.get("CURRENT-EPOCH"))
        target = _partitions(text, cells, "TARGET-ASSIGNMENT", _COLONS)
        yield MemberRow(
            group,
            member,
            cells["CLIENT-ID"],
            cells["HOST"],
            cells.get("GROUP-INSTANCE-ID"),
            partitions=count,
            epoch=epoch,
            target=None if epoch is None else tuple(target),
        )
        held = _partitions(text, cells, "ASSIGNMENT", _BRACKETS)
        held += _partitions(text, cells, "CURRENT-ASSIGNMENT", _COLONS)
        if held and len(held) != count:
            column = cells.at.get("ASSIGNMENT") or cells.at["CURRENT-ASSIGNMENT"]
            raise text.error(
                f"expected {counted(count, 'partition')}, found {len(held)} (is the paste cut off?)",
                column,
            )
        if epoch is not None:
            _check_target(text, cells, held, target)
        yield from (OwnerRow(group, *partition, member) for partition in held)
        yield GroupRow(group, protocol=None if epoch is None else "consumer", whole=True)


def _check_target(text: Text, cells: Cells, held: Partitions, target: Partitions) -> None:
    """An error where the target is cut off.

    A member is at the target's epoch once it has given up all that is not in the target (KIP-848).
    """
    if "TARGET-ASSIGNMENT" not in cells:
        raise text.error("expected TARGET-ASSIGNMENT behind CURRENT-EPOCH: the lines are cut off")
    if cells["CURRENT-EPOCH"] == cells["TARGET-EPOCH"] and (lacks := {*held}.difference(target)):
        topic, number = next(partition for partition in held if partition in lacks)
        raise text.error(
            f"expected TARGET-ASSIGNMENT with {topic}:{number}, which is held at the target's epoch (is the"
            " paste cut off?)",
            cells.at["TARGET-ASSIGNMENT"],
        )


def _partitions(text: Text, cells: Cells, column: str, part: re.Pattern) -> Partitions:
    value = cells.get(column)
    if value is None or (column == "ASSIGNMENT" and _NO_TOPICS.fullmatch(value)):
        return []
    partitions, at = [], 0
    while at < len(value):
        match = part.match(value, at)
        if match is None and column == "ASSIGNMENT" and _COLONS.match(value):
            raise text.error(kafka_share_groups.REASON, cells.at[column])
        if match is None:
            example = next(c.expected for c in COLUMNS if c.name == column)
            raise text.error(
                f"expected {column} like {example}; found {shown(value[at:])}",
                cells.at[column] + at,
            )
        for number in re.finditer(r"\d+", match["numbers"]):
            if int(number[0]) >= MAX_PARTITIONS:
                where = cells.at[column] + match.start("numbers") + number.start()
                raise text.error(f"expected {PARTITION}; found {number[0]}", where)
            partitions.append((match["topic"], int(number[0])))
        at = match.end()
    return partitions


FORMAT = LineFormat("kafka-consumer-groups --describe --members", table.head(COLUMNS), read,
                    source="ConsumerGroupCommand of Kafka 2.0 to 4.3")  # fmt: skip
