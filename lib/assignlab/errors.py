"""The errors that users meet, by name."""

import difflib
from collections.abc import Collection, Iterable

INTERRUPTED = 130
"""The exit code of a command that was interrupted, as shells have it."""


def shown(value: object) -> str:
    """A value as a message shows it: at most 60 characters."""
    try:
        text = repr(value)
    except ValueError:  # Python writes no number of more than some thousand digits
        return "a number of too many digits"
    return text if len(text) <= 60 else text[:57] + "..."


class AssignlabError(Exception):
    """Any error that assignlab raises on purpose."""


class DocumentError(AssignlabError):
    """A group document is not understood: names the field and the reason."""

    def __init__(self, field: str, reason: str):
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class TextError(AssignlabError):
    """A pasted text is not understood: where, and what was expected there.

    ``line`` and ``column`` count from 1, characters and not bytes.
    """

    def __init__(self, source: str, line: int, column: int, reason: str):
        super().__init__(f"{source}:{line}:{column}: {reason}")
        self.source = source
        self.line = line
        self.column = column
        self.reason = reason


class GroupError(AssignlabError):
    """What texts tell of one group does not go together; ``group``: its name."""

    def __init__(self, group: str, reason: str):
        super().__init__(f"{group or 'the group'}: {reason}")
        self.group = group
        self.reason = reason


class OriginalError(AssignlabError):
    """The original throws (or never ends) on this group; ``original`` is its exception's class."""

    def __init__(self, original: str, explanation: str):
        super().__init__(f"{original}: {explanation}")
        self.original = original
        self.explanation = explanation

    def __reduce__(self):
        return OriginalError, (self.original, self.explanation)


LISTED, NEAREST = 12, 5
"""How many names a message lists; of more it says the nearest."""
LISTS = {"strategy": "assignlab strategies", "notebook": "assignlab run --list"}
"""The command that lists all names of a kind."""


class UnknownName(AssignlabError):
    """A name is not among those allowed; the message says the nearest one, or the one ``meant``."""

    def __init__(self, kind: str, name: str, allowed, meant: str | None = None):
        allowed = list(allowed)
        near = [one for one in allowed if one == meant or str(one).lower() == str(name).lower()]
        near = near or difflib.get_close_matches(str(name), allowed, n=1, cutoff=0.4)
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        names = _some(kind, str(name), allowed)
        super().__init__(f"unknown {kind} {shown(name)}{hint}; allowed: {names}")
        self.name = name
        self.nearest = near[0] if near else None


def refuse_unknown(kind: str, names: Iterable[str], allowed: Collection[str]) -> None:
    """Raises :class:`UnknownName` for the first of the names that is not among those allowed."""
    for name in names:
        if name not in allowed:
            raise UnknownName(kind, name, allowed)


def _some(kind: str, name: str, allowed: list) -> str:
    """The names allowed, or the five nearest and how many there are beside them.

    Where none is near, the first five.

    >>> _some("event", "c", ["a", "b"]), _some("event", "n7", [f"n{i}" for i in range(20)])[:10]
    ('a, b', 'n7, n17, n')
    >>> _some("notebook", "99", [f"{i:02}_name" for i in range(20)])
    "00_name, 01_name, 02_name, 03_name, 04_name and 15 more, see 'assignlab run --list'"
    """
    if len(allowed) <= LISTED:
        return ", ".join(allowed)
    near = difflib.get_close_matches(name, allowed, n=NEAREST, cutoff=0)
    if not difflib.get_close_matches(name, allowed, n=1, cutoff=0.3):
        near = allowed[:NEAREST]
    where = f", see {LISTS[kind]!r}" if kind in LISTS else ""
    return f"{', '.join(near)} and {len(allowed) - len(near)} more{where}"


class UnknownRelease(UnknownName):
    """A release is not known, or a name of that ``kind`` is and the release in it is not; the message
    says why."""

    def __init__(self, name: str, reason: str, kind: str = "strategy"):
        place = f"release in {kind}" if "@" in name else "release"
        AssignlabError.__init__(self, f"unknown {place} {shown(name)}: {reason}")
        self.name = name
        self.nearest = None
