"""The group of several that a page is about, and what the page says of the others."""

from collections.abc import Sequence
from typing import Any

from assignlab.advice.subject import NotAnswerable, answered_by, subject
from assignlab.errors import AssignlabError, refuse_unknown
from assignlab.groups.seen import NO_GROUP
from assignlab.words import counted

NAMED = 12
"""So many of the others are named."""


def choose(
    documents: Sequence[dict[str, Any]], name: str | None = None, strategy: str | None = None
) -> tuple[dict[str, Any], list[str]]:
    """The group of this name, or the first that can be asked; and sentences about the others.

    ``strategy``: the group's own, whatever its text says. Raises
    :class:`~assignlab.errors.UnknownName` for a group that is not there,
    :class:`~assignlab.advice.subject.NotAnswerable` where none can be asked.
    """
    names = [document.get("group") or NO_GROUP for document in documents]
    refuse_unknown("group", [] if name is None else [name], sorted(names))
    refused: list[str] = []
    for document, own in zip(documents, names, strict=True):
        if name not in (None, own):
            continue
        try:
            found = _answerable(document, strategy)
        except AssignlabError as reason:
            refused.append(str(reason))
            continue
        return found, _others(names, own, name is None, refused)
    several = f"none of {len(refused)} groups can be asked; the first: " * (len(refused) > 1)
    raise NotAnswerable(several + refused[0])


def _answerable(document: dict[str, Any], strategy: str | None) -> dict[str, Any]:
    if strategy is not None:
        document = answered_by(document, strategy)
    asked = subject(document)
    if asked.strategy is None:
        raise NotAnswerable(asked.no_strategy("name it in the parameter strategy"))
    return document


def _others(names: Sequence[str], own: str, first: bool, refused: Sequence[str]) -> list[str]:
    others = [name for name in names if name != own]
    if not others:
        return []
    more = f" and {len(others) - NAMED} more" * (len(others) > NAMED)
    which = ", the first that can be asked" * first
    said = (
        f"The texts tell of {counted(len(names), 'group')}. This is {own}{which}; the parameter group"
        f" chooses another: {', '.join(others[:NAMED])}{more}."
    )
    many = f"{len(refused)} before it cannot be asked; the first: " * (len(refused) > 1)
    return [said, *(f"{many}{reason}." for reason in refused[:1])]
