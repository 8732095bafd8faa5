"""Group documents from lines: one a line, several on one line, or pretty-printed over many.

A line that is JSON by itself is read at once, so that another program can hold a conversation.
Where a line leaves a bracket open, the next ones are read until it is closed; a line that is a
whole group document by itself ends what was left open before it.
"""

import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from typing import Any

from assignlab.errors import DocumentError, shown

TOKENS = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\]]')
"""Strings, which end with their line if they are not closed, and brackets."""

Read = tuple[int, Any]
"""The line on which a document begins, or is wrong, and the document, or a DocumentError."""


def documents(lines: Iterable[bytes]) -> Iterator[Read]:
    """Every document of the lines with its line, counted from 1; what is none as DocumentError.

    >>> list(documents([b'{"a": 1} {"b": 2}', b"", b"{", b'"c": 3', b"}"]))
    [(1, {'a': 1}), (1, {'b': 2}), (3, {'c': 3})]
    """
    open_lines: list[str] = []
    first = depth = 0
    for number, line in enumerate(lines, 1):
        if not line.strip():
            open_lines += [""] if open_lines else []
            continue
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            yield from _given_up(open_lines, first)
            open_lines = []
            other = " (UTF-16, it seems)" if line.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else ""
            reason = f"not UTF-8 at byte {error.start}{other}"
            yield number, DocumentError("document", reason)
            continue
        if open_lines and _is_whole_group(text):
            yield from _given_up(open_lines, first)
            open_lines = []
        if open_lines:
            open_lines.append(text)
            depth += _depth(text)
            if depth <= 0:
                yield from _values("\n".join(open_lines), first)
                open_lines = []
            continue
        left = yield from _values(text, number, may_go_on=True)
        if left is not None:
            open_lines, first, depth = [left], number, _depth(left)
    yield from _given_up(open_lines, first)


def _values(text: str, first: int, may_go_on: bool = False) -> Generator[Read, None, str | None]:
    """The documents of a text, up to the first error; returns what goes on in the next line."""
    decoder = json.JSONDecoder(object_pairs_hook=each_once)
    at = _behind_blanks(text, 0)
    while at < len(text):
        try:
            value, end = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            is_cut = error.pos >= len(text.rstrip())  # nothing is wrong but that the text ends
            if may_go_on and _depth(text[at:]) > 0 and is_cut:
                return " " * at + text[at:]
            reason = f"not JSON: {error.msg} at column {error.colno}"
            yield first + error.lineno - 1, DocumentError("document", reason)
            return None
        except DocumentError as error:
            if may_go_on and _depth(text[at:]) > 0:
                return " " * at + text[at:]
            yield first, error
            return None
        except ValueError:  # Python reads no number of more than some thousand digits
            yield first, DocumentError("document", "holds a number of too many digits")
            return None
        except RecursionError:
            yield first, DocumentError("document", "nested too deeply")
            return None
        yield first + text.count("\n", 0, at), value
        at = _behind_blanks(text, end)
    return None


def each_once(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object from its fields; DocumentError where one stands twice, of which Python keeps the
    last."""
    found = dict(fields)
    if len(found) < len(fields):
        [(twice, _)] = Counter(name for name, _ in fields).most_common(1)
        raise DocumentError("document", f"the field {shown(twice)} stands twice in one object")
    return found


def _behind_blanks(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at


def _depth(text: str) -> int:
    """Brackets that a text opens, less those that it closes."""
    tokens = TOKENS.findall(text)
    return sum(token in "{[" for token in tokens) - sum(token in "}]" for token in tokens)


def _is_whole_group(text: str) -> bool:
    if not text.startswith("{"):
        return False
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return "members" in value


def _given_up(open_lines: list[str], first: int) -> Iterator[Read]:
    """The error of a document that was left open."""
    if open_lines:
        yield from _values("\n".join(open_lines).rstrip(), first)
