"""One group document in, its answer out: what ``assignlab assign`` does with every line."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from assignlab import assignors
from assignlab.compiled import as_python
from assignlab.errors import AssignlabError, DocumentError, OriginalError
from assignlab.group.document import expect, parse, required
from assignlab.group.model import Group
from assignlab.group.reading import documents

SMALL = 1000
"""Groups of so many members and partitions are answered sooner by plain Python than by code that has
to be compiled, or only to be loaded. Topics without partitions, and claims, can be more than these."""


def are_small(groups: Iterable[Group]) -> bool:
    """Whether all groups together are small; one with options of its strategy counts as large, for
    what these ask for, such as the points of a ring, is not known here."""
    extent = 0
    for group in groups:
        streams = sum(int(np.sum(each)) for each in group.sent.streams or () if each is not None)
        extent += len(group.sent) + streams * len(group.topics)
        partitions = int(np.maximum(group.topics.partitions, 0).sum())
        extent += max(partitions, len(group.topics), group.claims.codes.size)
        if group.options or extent > SMALL:
            return False
    return True


def solve(document: Any, strategy: str | None = None, at_once: bool = False) -> dict[str, Any]:
    """One document in, its assignment out; raises what is wrong with either.

    ``strategy`` overrides the document's own. ``at_once``: a small group does not wait for the
    compiler. The answer has ``assignment`` and the notes of the result, such as ``hash_ties``.
    """
    expect(document, dict, "document", "a JSON object")
    name = strategy or required(document, "strategy", str, "the name of a strategy")
    chosen = assignors.get(name)
    group = parse(document)
    with as_python(at_once and are_small([group])):
        assignment = chosen.assign(group)
        return {"assignment": chosen.render(group, assignment), **assignment.notes}


def answer(document: Any, strategy: str | None = None) -> dict[str, Any]:
    """:func:`solve`, with whatever is wrong as ``{"error": "<class>: <explanation>"}``.

    >>> answer({"strategy": "roundrobin", "topics": [{"name": "t", "partitions": 3}],
    ...         "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]})
    {'assignment': {'a': [['t', 0], ['t', 2]], 'b': [['t', 1]]}}
    >>> answer({"strategy": "roundrobbin", "topics": [], "members": []})["error"]
    ... # doctest: +ELLIPSIS
    "UnknownName: unknown strategy 'roundrobbin' (did you mean 'roundrobin'?); allowed: ..."
    """
    try:
        return solve(document, strategy)
    except OriginalError as error:
        return {"error": str(error)}
    except AssignlabError as error:
        return {"error": f"{type(error).__name__}: {error}"}


def converse(
    lines: Iterable[bytes],
    say: Callable[[str], None],
    complain: Callable[[str], None],
    reply_to: Callable[[Any], dict[str, Any]] = solve,
) -> int:
    """Answer JSON lines, one by one; returns how many documents were not understood.

    ``reply_to`` makes the answer to one document, :func:`solve` or the like. Every answer is said
    before the next line is read. A document that is not understood is complained about with its
    line, field and reason, and answered with ``{"error": ...}``; an exception of the original is an
    answer like any other. Several documents may stand on one line, and one on several
    (:func:`assignlab.group.reading.documents`).
    """
    failures = 0
    for number, document in documents(lines):
        try:
            if isinstance(document, DocumentError):
                raise document
            reply = reply_to(document)
        except OriginalError as error:
            reply = {"error": str(error)}
        except Exception as error:  # one bad line must not end the conversation
            failures += 1
            reply = {"error": f"{type(error).__name__}: {error}"}
            complain(f"line {number}: {reply['error']}")
        say(json.dumps(reply))
    return failures
