"""The formats, discovered: one module each, named after the tool that prints it.

A module is a format if it has an attribute ``FORMAT``. Nothing lists them by hand, so adding one
touches its own file only.
"""

import pkgutil
import re
from functools import cache
from importlib import import_module

from assignlab.groups.format import Format, JsonFormat, LineFormat, MetricFormat


@cache
def all_formats() -> tuple[Format, ...]:
    """All formats, by the names of their modules."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__, __name__ + "."))
    found = (getattr(import_module(name), "FORMAT", None) for name in modules)
    return tuple(form for form in found if form is not None)


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
