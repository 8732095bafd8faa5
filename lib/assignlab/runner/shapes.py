"""JSON from files: read only where it has the shape that is expected of it."""

import json
from pathlib import Path


def shaped(value, shape) -> bool:
    """Whether a JSON value has a shape: a type, the shapes of some keys, or that of all items.

    >>> shaped({"n": [1, 2], "more": 0}, {"n": [int]}), shaped([1, "2"], [int]), shaped([], {})
    (True, False, False)
    """
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(
            key in value and shaped(value[key], inner) for key, inner in shape.items()
        )
    if isinstance(shape, list):
        return isinstance(value, list) and all(shaped(item, shape[0]) for item in value)
    return isinstance(value, shape)


def read_shaped(path: Path, shape):
    """The JSON document in a file, or None where there is none of this shape."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return document if shaped(document, shape) else None
