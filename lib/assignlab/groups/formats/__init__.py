"""The formats, discovered: one module each, named after the tool that prints it.

A module is a format if it has an attribute ``FORMAT``.
"""

import re
import sys
from functools import cache

from assignlab import discovery
from assignlab.groups.format import Format, JsonFormat, LineFormat, MetricFormat


@cache
def all_formats() -> tuple[Format, ...]:
    """All formats, by the names of their modules."""
    return tuple(discovery.carried(sys.modules[__name__], "FORMAT"))


@cache
def of_lines() -> tuple[LineFormat, ...]:
    """Those that a line begins."""
    return tuple(form for form in all_formats() if isinstance(form, LineFormat))


@cache
def of_json() -> tuple[JsonFormat, ...]:
    """Those that are one JSON value."""
    return tuple(form for form in all_formats() if isinstance(form, JsonFormat))


@cache
def of_metrics() -> tuple[MetricFormat, ...]:
    """Those that are samples in Prometheus' text."""
    return tuple(form for form in all_formats() if isinstance(form, MetricFormat))


@cache
def heads() -> re.Pattern:
    """A line that begins one of those."""
    return re.compile("|".join(f"(?:{form.head.pattern})" for form in of_lines()))
