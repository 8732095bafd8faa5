"""What the scripts are asked for: argparse tells in one line what is wrong with an argument."""

import math
from argparse import ArgumentTypeError
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from assignlab import assignors
from assignlab.errors import AssignlabError, refuse_unknown


def checked(check: Callable[[str], object], text: str) -> str:
    """A text that ``check`` does not refuse by an error of the lab's."""
    try:
        check(text)
    except AssignlabError as refused:
        raise ArgumentTypeError(str(refused)) from None
    return text


strategy_name = partial(checked, assignors.get)


def one_of(kind: str, allowed: Collection[str]) -> Callable[[str], str]:
    """One of the names of this kind that are allowed."""
    return partial(checked, lambda text: refuse_unknown(kind, [text], allowed))


def each(convert: Callable[[str], Any]) -> Callable[[str], list]:
    """Several, with commas between."""
    return lambda text: [convert(one) for one in text.split(",")]


def whole(least: int = 1) -> Callable[[str], int]:
    """A whole number from ``least`` on, also as 1e6."""
    return lambda text: int(_number(text, least, whole=True))


def amount(least: float) -> Callable[[str], float]:
    """A number from ``least`` on."""
    return lambda text: _number(text, least)


def _number(text: str, least: float, whole: bool = False) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value < math.inf or whole and value % 1:
        raise ArgumentTypeError(
            f"expected a{' whole' * whole} number from {least} on, got {text!r}"
        )
    return value
