"""YAML as it is written: a key given twice is refused, and so is what YAML 1.1 reads otherwise.

Papermill reads parameter files by YAML 1.1, in which ``no`` is False, ``017`` is 15 and ``1:30`` is
90. Another reading here would give one file two meanings.
"""

import re
import reprlib

import yaml

DIGITS = 300
"""Digits that a number may have: more have no floating-point number near them."""

AS_WRITTEN = {
    "int": rf"[-+]?(0|[1-9]\d{{0,{DIGITS - 1}}})",
    "float": rf"[-+]?\d{{0,{DIGITS}}}\.\d*(e[-+]\d{{1,3}})?|[-+]?\.inf|\.nan",
    "bool": "true|false",
    "null": "null|~|",
    "str": "(?s:.*)",
}
"""Last part of the tag that YAML 1.1 finds for a bare word -> the words that mean what they say."""

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 60


class Misread(yaml.YAMLError):
    """The text is YAML, but does not mean what it says; the message tells line and remedy."""


class StrictLoader(yaml.SafeLoader):
    """Raises `Misread` for a key given twice and for a bare word that means something else."""

    def compose_scalar_node(self, anchor):
        """A scalar, if it is quoted or means what it says."""
        bare = self.peek_event().implicit[0]
        node = super().compose_scalar_node(anchor)
        kind = node.tag.rpartition(":")[2]
        if bare and not re.fullmatch(AS_WRITTEN.get(kind, "(?!)"), node.value, re.IGNORECASE):
            raise _misread(node, f"{self._meaning(kind, node)}; put it in quotes to have a text")
        return node

    def _meaning(self, kind: str, node) -> str:
        if len(node.value) > DIGITS:
            return f"{shown(node.value)} has more than {DIGITS} characters"
        if kind in ("int", "float", "bool"):
            value = self.construct_object(node)
            return f"{node.value} means {value!r} in YAML: write {str(value).lower()}"
        return f"{node.value} is a {kind} in YAML"

    def construct_object(self, node, deep=False):
        """What a node holds, if its tag allows that: ``!!int x`` is nothing."""
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, ValueError):
            kind = node.tag.rpartition(":")[2]
            raise _misread(node, f"{shown(node.value)} is no {kind}") from None

    def construct_mapping(self, node, deep=False):
        """A mapping, if no key is there twice."""
        mapping = super().construct_mapping(node, deep)
        if len(mapping) < len(node.value):
            keys = [key for key, _ in node.value]
            names = [key.value for key in keys]
            again = [key for i, key in enumerate(keys) if key.value in names[:i]] or keys
            raise _misread(again[0], f"{shown(again[0].value)} is given twice")
        return mapping


def _misread(node, text: str) -> Misread:
    return Misread(f"line {node.start_mark.line + 1}: {text}")


def shown(value) -> str:
    """A value for a message, however long or deep it is.

    >>> shown("a" * 1000), shown([[[[[[[1]]]]]]])
    ("'aaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaa'", '[[[[[[[...]]]]]]]')
    """
    return _short.repr(value)
