"""What machine code was made of: the source of a module and of all that it imports."""

import hashlib
import re
from functools import cache
from importlib.util import find_spec

IMPORT = re.compile(
    r"^ *from (assignlab[\w.]*) import (\([^)]*\)|[^\n]*)|^ *import (assignlab[\w.]*)", re.MULTILINE
)


@cache
def digest(module: str) -> str:
    """SHA-256 over the source of a module and of all modules of the library below it."""
    found = below(module)
    text = "\0".join(f"{name}\0{found[name]}" for name in sorted(found))
    return hashlib.sha256(text.encode()).hexdigest()


def below(module: str) -> dict[str, str]:
    """Name -> source of a module and of all modules of the library that it imports."""
    found: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found and (source := _source(name)) is not None:
            found[name] = source
            waiting += _imported(source)
    return found


@cache
def _source(module: str) -> str | None:
    """The source of a module; None for what is no module of the library (or is being run)."""
    try:
        spec = find_spec(module)
        return spec.loader.get_source(module) if spec else None
    except (ImportError, ValueError, AttributeError):
        return None


@cache
def _imported(source: str) -> list[str]:
    """The modules that a source names in its imports, and what may be modules among the names."""
    modules = []
    for package, names, plain in IMPORT.findall(source):
        modules.append(package or plain)
        modules += [f"{package}.{name}" for name in re.findall(r"\w+", names)]
    return modules
