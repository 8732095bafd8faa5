"""The group document itself, on one line or pretty-printed, one or several after each other."""

from collections.abc import Iterator
from typing import Any

from assignlab.errors import DocumentError
from assignlab.group.document import parse
from assignlab.groups.format import JsonFormat
from assignlab.groups.rows import DocumentRow, Row
from assignlab.groups.text import Misfit


def fits(value: Any) -> bool:
    """Whether there are members with ids."""
    if not isinstance(value, dict) or not isinstance(value.get("members"), list):
        return False
    return all(isinstance(member, dict) and "id" in member for member in value["members"])


def read(value: Any) -> Iterator[Row]:
    """The document as it is; raises :class:`Misfit` where it is none."""
    try:
        parse(value)
    except DocumentError as error:
        raise Misfit(str(error)) from None
    yield DocumentRow(value)


FORMAT = JsonFormat(
    name="group document",
    lacks="nothing that an assignor sees",
    source="docs/group-document.md",
    fits=fits,
    read=read,
)
