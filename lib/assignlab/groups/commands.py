"""What ``assignlab group`` does with its sources."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from assignlab.errors import AssignlabError
from assignlab.groups import read
from assignlab.groups.show import as_text, summary
from assignlab.groups.text import printable

Say = Callable[[str], None]


def documents(sources: Sequence[str], say: Say, complain: Say) -> int:
    """Says one group document per line; returns the exit code."""

    def tell(groups: list[dict[str, Any]]) -> None:
        for group in groups:
            say(_json(group))

    return _of_groups(sources, complain, tell)


def show(sources: Sequence[str], as_json: bool, say: Say, complain: Say) -> int:
    """Says the sizes of every group; returns the exit code."""

    def tell(groups: list[dict[str, Any]]) -> None:
        found = [summary(group) for group in groups]
        if as_json:
            say(_json(found))
        else:
            say("\n\n".join(map(as_text, found)))

    return _of_groups(sources, complain, tell)


def _of_groups(sources: Sequence[str], complain: Say, tell: Callable) -> int:
    """0, or 1 for a text that is not understood, 2 for one that cannot be opened."""
    try:
        groups = read(*sources)
    except OSError as error:
        complain(printable(f"{error.filename}: {error.strerror}"))
        return 2
    except AssignlabError as error:
        complain(str(error))
        return 1
    tell(groups)
    return 0


def _json(value: Any) -> str:
    """JSON in ASCII without control characters, whatever names the texts have."""
    return json.dumps(value).replace("\x7f", "\\u007f")
