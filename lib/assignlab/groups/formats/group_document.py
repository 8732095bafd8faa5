"""The group document itself, on one line or pretty-printed, one or several after each other."""

from collections.abc import Iterator, Mapping
from typing import Any

from assignlab.errors import DocumentError
from assignlab.group.document import expect, parse
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import DocumentRow, Row
from assignlab.groups.text import Misfit

Kinds = Mapping[str, tuple[type, str]]
"""By field the type of its value, and what it is called."""
TEXT, NUMBER, LIST = (str, "a string"), (int, "a whole number of 0 or more"), (list, "an array")
OF_GROUP: Kinds = {
    "group": TEXT, "state": TEXT, "assignor": TEXT, "strategy": TEXT, "idle": NUMBER, "draws": NUMBER,
    "inferred": LIST,
}  # fmt: skip
OF_MEMBER: Kinds = {"client": TEXT, "host": TEXT, "partitions": NUMBER}
OF_TOPIC: Kinds = {"ends": LIST}
"""Fields beside those that an assignor sees."""


def fits(value: Any) -> bool:
    """Whether there are members with ids."""
    if not isinstance(value, dict) or not isinstance(value.get("members"), list):
        return False
    return all(isinstance(member, dict) and "id" in member for member in value["members"])


def read(value: Any) -> Iterator[Row]:
    """The document as it is; raises :class:`Misfit` where it is none."""
    try:
        parse(value)
        _expect_kinds(value, OF_GROUP)
        for place, member in enumerate(value["members"]):
            _expect_kinds(member, OF_MEMBER, f"members[{place}].")
        for place, topic in enumerate(value["topics"]):
            _expect_kinds(topic, OF_TOPIC, f"topics[{place}].")
            for end in topic.get("ends") or ():
                expect(end, (int, type(None)), f"topics[{place}].ends", "whole numbers or null")
        for sentence in value.get("inferred") or ():
            expect(sentence, str, "inferred", "sentences")
    except DocumentError as error:
        raise Misfit(str(error)) from None
    yield DocumentRow(value)


def _expect_kinds(entry: dict[str, Any], known: Kinds, where: str = "") -> None:
    for field, (kind, wanted) in known.items():
        if entry.get(field) is not None:
            expect(entry[field], kind, where + field, wanted)
            if kind is int and entry[field] < 0:
                raise DocumentError(where + field, f"expected {wanted}, got {entry[field]}")


FORMAT = JsonFormat("group document", fits, read, source="docs/group-document.md")
