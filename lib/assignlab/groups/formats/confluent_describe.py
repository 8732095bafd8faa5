"""confluent-kafka's ``describe_consumer_groups``, as ``print(vars(...))`` shows it.

    {'group_id': 'billing', 'members': 1, 'partition_assignor': 'range',
     'state': <ConsumerGroupState.STABLE: 3>, 'type': <ConsumerGroupType.CLASSIC: 2>, ...}
        {'member_id': 'm1-cf04...', 'client_id': 'm1', 'assignment': [('orders', 0)], ...}

One line for the group, one for each member below it; ``members`` may be merely their number.
"""

import ast
import re
from collections.abc import Iterator
from typing import Any

from assignlab.groups import fields
from assignlab.groups.format import LineFormat
from assignlab.groups.formats.admin_client import folded, group_rows, member_rows
from assignlab.groups.rows import GroupRow, Row
from assignlab.groups.text import Misfit, Text, shown

LINE = re.compile(r"\s*(\{'(?:group_id|member_id)': .*\})(?: ConsumerGroupState\.\w+)?\s*")
BESIDE = re.compile(r"confluent_kafka [\d.]+|list: \[\(|took [\d.]+$")
"""What the script that recorded the sample printed around it."""

_ENUM = re.compile(r"<(\w+\.\w+): \d+>")
_OBJECT = re.compile(r"<[\w.]+ object at 0x[0-9a-f]+>")


def read(text: Text) -> Iterator[Row]:
    """The rows of every printed entry, which belongs to the group that was named last."""
    group = ""
    while text.more():
        line = text.line()
        if match := LINE.fullmatch(line):
            entry = _entry(text, match[1])
            group = entry.get("groupid", group)
            try:
                yield from _rows(group, entry)
            except Misfit as misfit:
                raise text.error(f"confluent-kafka: {misfit}") from None
        elif not BESIDE.match(line):
            return
        text.skip_line()


def _entry(text: Text, line: str) -> dict[str, Any]:
    try:
        return folded(ast.literal_eval(_OBJECT.sub("None", _ENUM.sub(r"'\1'", line))))
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise text.error(f"expected a Python dict on one line; found {shown(line)}") from None


def _rows(group: str, entry: dict[str, Any]) -> Iterator[Row]:
    if "memberid" in entry:
        yield from member_rows(group, entry)
    elif isinstance(entry.get("members"), int):
        yield GroupRow(fields.name(entry, "groupid"), members=entry["members"], partial=True)
        yield from group_rows({**entry, "members": None})
    else:
        yield from group_rows(entry)


FORMAT = LineFormat(
    "confluent-kafka describe_consumer_groups", re.compile(r"\s*\{'group_id': |confluent_kafka [\d.]+ "), read,
    source="confluent-kafka 2.16.1",
)  # fmt: skip
