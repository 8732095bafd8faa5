"""The formats, discovered: one module each, named after the tool that prints it.

A module is a format if it has an attribute ``FORMAT``.
"""

import re
import sys
from functools import cache
from typing import TypeVar

from assignlab import discovery
from assignlab.groups.format import Format, LineFormat

T = TypeVar("T", bound=Format)


@cache
def all_formats() -> tuple[Format, ...]:
    """All formats, by the names of their modules."""
    return tuple(discovery.carried(sys.modules[__name__], "FORMAT"))


def of(kind: type[T]) -> tuple[T, ...]:
    """All formats of a kind, in the same order."""
    return tuple(form for form in all_formats() if isinstance(form, kind))


@cache
def heads() -> re.Pattern:
    """A line that begins one of the formats of lines."""
    return re.compile("|".join(f"(?:{form.head.pattern})" for form in of(LineFormat)))
