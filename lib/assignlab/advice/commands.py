"""What ``assignlab group`` does with its sources."""

import gc
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

from assignlab.advice import load, report, show
from assignlab.advice.clients import as_run
from assignlab.advice.subject import NotAnswerable
from assignlab.assignors.answer import are_small
from assignlab.compiled import as_python
from assignlab.errors import AssignlabError, GroupError, UnknownName, UnknownRelease
from assignlab.group.document import Document, parse
from assignlab.groups import read
from assignlab.groups.show import name_of
from assignlab.groups.text import printable
from assignlab.local.files import whole
from assignlab.releases import NEWEST_LINE

Say = Callable[[str], None]
PATIENCE_S = 1.0
"""Seconds of plain Python before anything is compiled: about what it takes to compile a function."""


class Told(NamedTuple):
    """How an answer is to be told: as text, as JSON, as a page in the file ``html``."""

    say: Say
    complain: Say
    as_json: bool = False
    html: Path | None = None


class Voice(NamedTuple):
    """Three ways to tell of a group document, or of a report."""

    text: Callable[[Any], str]
    data: Callable[[Any], Any]
    page: Callable[[Any], report.Report]


OF_GROUPS = Voice(show.text, show.data, show.page)
OF_REPORTS = Voice(report.as_text, report.as_data, lambda answer: answer)


class Sources(NamedTuple):
    """What groups are read from, and which of them are meant; all where none is named."""

    texts: Sequence[Any]
    groups: Sequence[str] = ()


def documents(sources: Sources, told: Told) -> int:
    """Says one group document per line; returns the exit code."""

    def tell(groups: list[Document], refused: list[GroupError]) -> None:
        _complain(told, refused)
        for group in groups:
            told.say(report.as_json(as_run(group, NEWEST_LINE)))

    return _of_groups(sources, told, tell)


class Later(NamedTuple):
    """A second snapshot, so many seconds after the first."""

    sources: Sequence[str]
    seconds: float


def show_groups(sources: Sources, told: Told, later: Later | None = None) -> int:
    """Says the sizes of every group, and what explains them; returns the exit code."""

    def tell(groups: list[Document], refused: list[GroupError]) -> None:
        _complain(told, refused)
        if later is not None:
            groups = _rated(groups, later)
        with as_python(are_small(map(parse, groups))):
            _tell(groups, OF_GROUPS, told)

    return _of_groups(sources, told, tell)


def _rated(groups: list[Document], later: Later) -> list[Document]:
    refused: list[GroupError] = []
    snapshot = read(*later.sources, refused=refused)
    times = Counter(name_of(group) for group in snapshot)
    after = {name_of(group): group for group in snapshot}
    rated = []
    for group in groups:
        for error in refused:
            if error.group == group.get("group"):
                raise error
        name = name_of(group)
        if times[name] != 1:
            how = "has the group more than once" if name in times else "does not have the group"
            raise AssignlabError(f"{name}: the later snapshot {how}")
        rated.append(load.with_rates(group, after[name], later.seconds))
    return rated


def ask(sources: Sources, told: Told, question: Callable[..., report.Report], *given: Any) -> int:
    """Says a question's report on every group, with what else it is given; returns the exit code.

    Of several groups those that cannot be asked are told in a line each, and the others go on.
    """

    def tell(groups: list[Document], refused: list[GroupError]) -> None:
        _complain(told, refused)
        answers = []
        for group in groups:
            try:
                with soon([group]):
                    answers.append(question(group, *given))
            except AssignlabError as error:
                if len(groups) == 1:
                    raise
                name, why = f"{name_of(group)}: ", str(error)
                named = isinstance(error, NotAnswerable) or why.startswith(name)
                told.complain(printable(why if named else name + why))
        if not answers:
            raise AssignlabError(f"none of {len(groups)} groups can be asked")
        _tell(answers, OF_REPORTS, told)

    return _of_groups(sources, told, tell)


def ask_all(
    sources: Sources, told: Told, question: Callable[..., report.Report], *given: Any
) -> int:
    """Says one report on all groups together; returns the exit code."""

    def tell(groups: list[Document], refused: list[GroupError]) -> None:
        with soon(groups):
            answer = question(groups, *given, refused=refused)
        _tell([answer], OF_REPORTS, told)

    return _of_groups(sources, told, tell)


def soon(groups: Sequence[Document]) -> AbstractContextManager:
    """Small groups are played as plain Python at first, so that the first answer does not wait for all
    that could be compiled."""
    return as_python(are_small(map(parse, groups)), until_s=PATIENCE_S)


def _tell(things: Sequence[Any], voice: Voice, told: Told) -> None:
    if told.html is not None:
        with whole(told.html) as part:
            part.write_text(report.as_page([voice.page(thing) for thing in things]), "utf-8")
        told.say(printable(f"written: {told.html}"))
    elif told.as_json:
        told.say(report.as_json([voice.data(thing) for thing in things]))
    else:
        told.say("\n\n\n".join(voice.text(thing) for thing in things))


def _complain(told: Told, refused: Sequence[GroupError]) -> None:
    for error in refused:
        told.complain(printable(str(error)))


def _of_groups(sources: Sources, told: Told, tell: Callable) -> int:
    """0, or 1 for what is not understood or cannot be answered, 2 for what cannot be opened, for a
    group that is not there and for a release without its strategy."""
    gc.set_threshold(200_000, 20, 20)  # many objects here, and next to no circles of them
    groups = None
    refused: list[GroupError] = []
    try:
        groups = read(*sources.texts, only=sources.groups, refused=refused)
        if not groups:
            raise refused[0]
        tell(groups, refused)
    except BrokenPipeError:
        raise  # a reader that has enough, such as head
    except OSError as error:
        where = "" if error.filename is None else f"{error.filename}: "
        told.complain(printable(f"{where}{error.strerror or error}"))
        return 2
    except AssignlabError as error:
        told.complain(printable(str(error)))
        unknown = UnknownName if groups is None else UnknownRelease
        return 2 if isinstance(error, unknown) else 1
    return 0
