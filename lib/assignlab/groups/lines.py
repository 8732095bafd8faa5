"""The lines of one format, out of a text that has more."""

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from assignlab.errors import TextError
from assignlab.groups import formats, metrics
from assignlab.groups.asides import pass_over
from assignlab.groups.text import Text

JSON_HEAD = re.compile(r"\s*[\[{]\s*($|[\[{}\]\"\d-])")
Read = TypeVar("Read")


def own_lines(
    text: Text, read: Callable[[str], Read | None], refusal: Callable[[], TextError]
) -> Iterator[Read]:
    """What ``read`` makes of the lines, up to where another format begins.

    Asides between the lines are passed over. A line that is none of these is refused. While a line
    is looked at, ``text`` stands at its beginning.
    """
    while text.more():
        line = text.line()
        found = read(line)
        if found is not None:
            yield found
            text.skip_line()
        elif pass_over(text):
            continue
        elif any(head.match(line) for head in (formats.heads(), metrics.HEAD, JSON_HEAD)):
            return
        else:
            raise refusal()
