"""What a package's modules carry, found and not listed: adding one touches its own file only.

Works from a zip too, as on a Spark executor.
"""

import pkgutil
from collections.abc import Iterable
from importlib import import_module
from types import ModuleType
from typing import Any


def carried(package: ModuleType, attribute: str) -> list[Any]:
    """The attribute of every module below a package that has it, by the modules' names."""
    below = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    modules = (import_module(name) for name in sorted(module.name for module in below))
    return [getattr(module, attribute) for module in modules if hasattr(module, attribute)]


def by_name(things: Iterable[Any], kind: str) -> dict[str, Any]:
    """Things by their ``name``, in their order. Raises ValueError where two carry one name.

    >>> from collections import namedtuple
    >>> Thing = namedtuple("Thing", "name")
    >>> by_name([Thing("b"), Thing("a"), Thing("b")], "things")
    Traceback (most recent call last):
    ...
    ValueError: two things carry one name
    """
    things = list(things)
    named = {thing.name: thing for thing in things}
    if len(named) != len(things):
        raise ValueError(f"two {kind} carry one name")
    return named
