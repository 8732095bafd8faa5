"""Prometheus' text format: one sample a line."""

import re
from math import isfinite
from typing import NamedTuple

from assignlab.group.document import MAX_PARTITIONS, MAX_WEIGHT
from assignlab.groups.text import Misfit, shown

HEAD = re.compile(
    r"\s*(# (HELP|TYPE) [a-zA-Z_:]|[a-zA-Z_:][\w:]*\{\w+=\"|[a-z]\w*_\w+ [-+.\deE]+\s*$)"
)
_SAMPLE = re.compile(r"([a-zA-Z_:][\w:]*)(\{.*\})?\s+([^\s}]+)(\s+-?\d+)?\s*")
_LABEL = re.compile(r'([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"\s*(?:,\s*|(?=\}))')
_ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Sample(NamedTuple):
    """One value of a metric; ``at``: where in the text."""

    name: str
    labels: dict[str, str]
    value: float
    at: int = 0


def sample(line: str, at: int = 0) -> Sample | None:
    r"""The sample of a line; None where it is none.

    >>> sample('lag{group="a \\"b\\"",partition="0",} 1.4e+01')
    Sample(name='lag', labels={'group': 'a "b"', 'partition': '0'}, value=14.0, at=0)
    """
    match = _SAMPLE.fullmatch(line.strip())
    if match is None or (labels := _labels(match[2] or "{}")) is None:
        return None
    try:
        return Sample(match[1], labels, float(match[3]), at)
    except ValueError:
        return None


def _labels(text: str) -> dict[str, str] | None:
    labels, at = {}, 1
    while match := _LABEL.match(text, at):
        labels[match[1]] = re.sub(r"\\.", lambda e: _ESCAPED.get(e[0], e[0]), match[2])
        at = match.end()
    return labels if text[at:] == "}" else None


def label(sample: Sample, name: str) -> str:
    """The value of a sample's label; raises :class:`Misfit` where it has none of that name."""
    if name not in sample.labels:
        raise Misfit(f"{sample.name}: expected a label {name}", sample.at)
    return sample.labels[name]


def partition(sample: Sample, name: str) -> int:
    """The number in a label: a partition, or how many there are."""
    value = label(sample, name)
    if not re.fullmatch(r"\d{1,9}", value) or int(value) >= MAX_PARTITIONS:
        expected = f"a number below {MAX_PARTITIONS:,} in {name}"
        raise Misfit(f"{sample.name}: expected {expected}; found {shown(value)}", sample.at)
    return int(value)


def count(sample: Sample) -> int | None:
    """The value; None where there is none, which exporters write as -1 or NaN."""
    if not isfinite(sample.value) or sample.value < 0:
        return None
    if sample.value > MAX_WEIGHT:
        raise Misfit(f"{sample.name}: expected {MAX_WEIGHT:g} at most", sample.at)
    return int(sample.value)


def one_cluster(samples: list[Sample], *names: str) -> None:
    """Groups of two clusters may share a name, so that they must not come in one text."""
    for name in names:
        clusters = sorted({sample.labels.get(name, "") for sample in samples})
        if len(clusters) > 1:
            found = f"{shown(clusters[0])}, {shown(clusters[1])}"
            raise Misfit(f"expected one cluster; found {found}", samples[0].at)
