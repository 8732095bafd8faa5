"""A pasted text: where reading stands in it, and the error that says so."""

import json
import os
import re
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path
from typing import Any

from assignlab.errors import AssignlabError, DocumentError, TextError
from assignlab.group.document import MAX_PARTITIONS
from assignlab.group.reading import each_once
from assignlab.groups.rows import GroupRow


def printable(text: str) -> str:
    r"""The text with all that a terminal could act upon written out.

    >>> printable("orders\x1b[2J \u202etxt")
    'orders\\x1b[2J \\u202etxt'
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def shown(text: str) -> str:
    """A found text as errors quote it: printable, in quotes, at most 60 characters."""
    return repr(text if len(text) <= 60 else text[:57] + "...")


_UNQUOTED = re.compile(r"(?m)^(?!>)\s*\S")
"""A line that is not quoted as mails and issues quote, with ``>`` before it."""

_COLOURS = re.compile(r"\x1b\[[\d;]*[mK]")
"""How terminals colour, and how grep marks what it found."""

_BARRED = re.compile(r"(?m)^[ \t]*(?:[|│].*[|│]|[+┌├└╭╰][-+─┬┼┴═]*[+┐┤┘╮╯])[ \t]*$")
"""A row of a table with bars between its cells, or a rule between rows."""


def _unbarred(row: re.Match) -> str:
    """The row with spaces for its bars; nothing of a rule."""
    return re.sub("[|│]", " ", row[0]) if re.search(r"\w", row[0]) else ""


PARTITION = f"a partition's number, below {MAX_PARTITIONS:,}"
"""What is expected where a partition stands."""


class Misfit(Exception):
    """A field of a JSON value or of a sample is not what its format has there.

    ``at``: where in the text; None for where the value begins.
    """

    def __init__(self, reason: str, at: int | None = None):
        super().__init__(reason)
        self.at = at


class Text:
    """A text, and the place up to which it is read (``at``, a character offset)."""

    def __init__(self, name: str, content: str):
        self.name = name
        self.content = re.sub(r"\r\n?", "\n", content)
        self.content = re.sub("(?m)^\ufeff", "", self.content)  # of several files, one in each
        self.content = _BARRED.sub(_unbarred, _COLOURS.sub("", self.content))
        if not _UNQUOTED.search(self.content):
            self.content = re.sub("(?m)^>", " ", self.content)
        self.at = 0
        self.group: str | None = None
        """What the last command line in the text asked for, for formats that do not name it."""
        self.asides: list[GroupRow] = []
        """What stood between the lines of the formats, such as "has no active members"."""

    def more(self) -> bool:
        """Whether anything is left to read."""
        return self.at < len(self.content)

    def line(self) -> str:
        """The rest of the current line."""
        end = self.content.find("\n", self.at)
        return self.content[self.at :] if end < 0 else self.content[self.at : end]

    def skip_line(self) -> None:
        self.at += len(self.line()) + 1

    def error(self, reason: str, column: int = 0) -> TextError:
        """What is wrong, so many characters behind the current place."""
        at = self.at + column
        before = self.content[:at]
        line_start = before.rfind("\n") + 1
        return TextError(self.name, before.count("\n") + 1, at - line_start + 1, reason)

    def unexpected(self, expected: str) -> TextError:
        """What the current line should have been, and what it is."""
        return self.error(f"expected {expected}; found {shown(self.line().strip())}")

    def json(self) -> tuple[Any, int]:
        """The JSON value that begins here and its length; an error where it is not whole."""
        try:
            value, end = json.JSONDecoder(object_pairs_hook=each_once).raw_decode(
                self.content, self.at
            )
        except json.JSONDecodeError as error:
            end = len(self.content.rstrip())
            cut = " (is the paste cut off?)" if error.pos >= end else ""
            why = (
                "expected the end of a string on its line (did the paste wrap?)"
                if error.msg.startswith("Invalid control character")
                else f"not JSON: {error.msg}{cut}"
            )
            raise self.error(why, min(error.pos, end) - self.at) from None
        except DocumentError as error:
            raise self.error(error.reason) from None
        except (ValueError, RecursionError) as error:
            raise self.error(f"JSON beyond reason: {error}") from None
        return value, end - self.at


def open_text(source: Any) -> Text:
    """The text of a source: a path, ``-`` for standard input, an open file, or a text itself.

    A string is a text if it has a line break, begins like JSON or is blank, else a path. Raises OSError
    where a file cannot be read, TextError where it is not Unicode, and AssignlabError for anything
    else or a closed standard input.
    """
    if isinstance(source, str) and ("\n" in source or source.lstrip()[:1] in ("", "{", "[")):
        return Text("<text>", source)
    if hasattr(source, "read"):
        return _decoded(getattr(source, "name", "<text>"), source.read())
    if source == "-":
        if sys.stdin is None:
            raise AssignlabError("<stdin>: closed, so that there is no text")
        return _decoded("<stdin>", sys.stdin.buffer.read())
    if not isinstance(source, (str, os.PathLike)):
        raise AssignlabError(
            f"source: expected a path, an open file, a text or Live, got {type(source).__name__}"
        )
    return _decoded(str(source), Path(source).read_bytes())


def _decoded(source: Any, content: str | bytes) -> Text:
    name = printable(str(source))
    if isinstance(content, str):
        return Text(name, content)
    # Windows PowerShell writes what is redirected into a file in UTF-16, others so without its mark.
    wide = content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) or content[1:2] == b"\0"
    encoding = "UTF-16" if wide else "UTF-8"
    try:
        return Text(name, content.decode(encoding))
    except UnicodeDecodeError as error:
        before = Text(name, content[: error.start].decode(encoding))
        reason = f"expected {encoding}, found the byte {content[error.start]:#04x}"
        raise before.error(reason, len(before.content)) from None
