"""From a text to rows: which format stands where in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from assignlab.groups import formats, metrics
from assignlab.groups.asides import pass_over
from assignlab.groups.format import JsonFormat, LineFormat, MetricFormat
from assignlab.groups.lines import JSON_HEAD
from assignlab.groups.rows import Row
from assignlab.groups.text import Misfit, Text, shown

EXPECTED = (
    "what kafka-consumer-groups --describe or another tool prints (docs/your-group.md lists them;"
    " delete lines that are no part of it)"
)


def rows_of(text: Text) -> Iterator[Row]:
    """All that a text says. TextError where it cannot be understood."""
    while text.more():
        form = _line_format(text)
        if form is not None:
            start = text.at
            yield from form.read(text)
            if text.at == start:
                raise text.unexpected(form.name)
        elif pass_over(text):
            continue
        elif metrics.HEAD.match(text.line()):
            yield from _metric_rows(text)
        elif JSON_HEAD.match(text.line()):
            yield from _json_rows(text)
        else:
            raise text.unexpected(EXPECTED)
    yield from text.asides


def _line_format(text: Text) -> LineFormat | None:
    return next((f for f in formats.of(LineFormat) if f.head.match(text.line())), None)


def _json_rows(text: Text) -> Iterator[Row]:
    text.at += len(text.line()) - len(text.line().lstrip())
    value, length = text.json()
    items = value if isinstance(value, list) else [value]
    for number, item in enumerate(items, 1):
        which = f", entry {number} of {len(items)}" if len(items) > 1 else ""
        form = next((f for f in formats.of(JsonFormat) if f.fits(item)), None)
        if form is None:
            names = ", ".join(f.name for f in formats.of(JsonFormat))
            raise text.error(f"expected the JSON of {names}; found {_kind(item)}{which}")
        with _refusing(text, f"{form.name}{which}"):
            yield from form.read(item)
    text.at += length


def _kind(value: Any) -> str:
    if isinstance(value, dict) and value:
        return f"an object with {shown(', '.join(value))}"
    return "other JSON"


@contextmanager
def _refusing(text: Text, name: str) -> Iterator[None]:
    """Turns what does not fit a format into an error with its place."""
    try:
        yield
    except Misfit as misfit:
        column = 0 if misfit.at is None else misfit.at - text.at
        raise text.error(f"{name}: {misfit}", column) from None
    except RecursionError:
        raise text.error(f"{name}: nested too deeply") from None


def _metric_rows(text: Text) -> Iterator[Row]:
    start, samples = text.at, list(_samples(text))
    known = [f for f in formats.of(MetricFormat) if any(s.name in f.names for s in samples)]
    if not known:
        names = ", ".join(form.name for form in formats.of(MetricFormat))
        raise text.error(f"expected metrics of {names}; found none of them", start - text.at)
    for form in known:
        own = [sample for sample in samples if sample.name in form.names]
        with _refusing(text, form.name):
            yield from form.read(own)


def _samples(text: Text) -> Iterator[metrics.Sample]:
    while text.more():
        line = text.line().strip()
        if line and not line.startswith("#"):
            sample = metrics.sample(line, text.at)
            if sample is None:
                if _line_format(text) or JSON_HEAD.match(text.line()):
                    return
                if not pass_over(text):
                    raise text.unexpected("name{labels} value")
                continue
            yield sample
        text.skip_line()
