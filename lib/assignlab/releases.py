"""Any release of Kafka as part of a strategy's name: which strategy of the lab behaves as it did.

The strategies' own names say one release that has the behaviour (``sticky@3.5``); users know the one
that they run (``sticky@3.6.1``, ``cooperative-sticky@4.1``). A release without its last number
stands for the last one of its line.
"""

import re
from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from typing import NamedTuple

from assignlab.errors import UnknownName, UnknownRelease

LINES = {
    "0.8.0": 0, "0.8.1": 1, "0.8.2": 2,
    "0.9.0": 1, "0.10.0": 1, "0.10.1": 1, "0.10.2": 2, "0.11.0": 3, "1.0": 2, "1.1": 1,
    "2.0": 1, "2.1": 1, "2.2": 2, "2.3": 1, "2.4": 1, "2.5": 1, "2.6": 3, "2.7": 2, "2.8": 2,
    "3.0": 2, "3.1": 2, "3.2": 3, "3.3": 2, "3.4": 1, "3.5": 2, "3.6": 2, "3.7": 2, "3.8": 1,
    "3.9": 2, "4.0": 2, "4.1": 2, "4.2": 2, "4.3": 1, "4.4": 0,
}  # fmt: skip
"""Kafka's release lines, and the number of the last release of each."""
NEWEST_LINE = list(LINES)[-1]
NEWEST = f"{NEWEST_LINE}.{LINES[NEWEST_LINE]}"

CAME_WITH = {
    "range": "0.9.0", "roundrobin": "0.9.0", "sticky": "0.11.0", "cooperative-sticky": "2.4.0",
    "server-range": "3.7.0", "server-uniform": "3.7.0", "server-simple": "3.9.0",
}  # fmt: skip
"""The release that brought each of Kafka's assignors (KIP-54, KIP-429, KIP-848, KIP-932)."""

PARTITIONERS_CAME_WITH = {
    "scala-default": "0.8.0", "default": "0.8.2.0", "round-robin": "2.4.0",
    "uniform-sticky": "2.4.0", "built-in": "3.3.0",
}  # fmt: skip
"""The release that brought each of Kafka's partitioners (KIP-369, KIP-480, KIP-794)."""

SYSTEM_FIRST = re.compile(r"(?P<system>[^@\s]+)@(?P<release>\S+)\s+(?P<kind>\S+)")
RELEASE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){1,3}")


class Facts(NamedTuple):
    """A strategy of the lab: the releases ``first`` to ``last`` behave so."""

    name: str
    first: str
    last: str

    @property
    def base(self) -> str:
        """The name without its release."""
        return self.name.partition("@")[0]

    @property
    def span(self) -> str:
        """The releases that it describes: ``2.4.0 to 2.8.2``, or the only one."""
        return span(self.first, self.last)


class Release(NamedTuple):
    """``same``: the strategy that behaves as ``release`` of what was asked for."""

    same: str
    release: str


def span(first: str, last: str) -> str:
    """Releases in words: ``2.4.0 to 2.8.2``, or the only one."""
    return first if first == last else f"{first} to {last}"


def spans(
    having: Collection,
    axis: Iterable,
    ends: Callable[..., tuple[str, str]] = lambda release: (release, release),
) -> str:
    """Those of an axis as spans, one for those that follow each other.

    ``ends``: the first and the last release of each; of releases these themselves.

    >>> spans(["2", "3", "5"], ["1", "2", "3", "4", "5"])
    '2 to 3, 5'
    """
    runs = [list(run) for has, run in groupby(axis, lambda one: one in having) if has]
    return ", ".join(span(ends(run[0])[0], ends(run[-1])[1]) for run in runs)


def version(release: str) -> tuple[int, ...]:
    """A release number that sorts.

    >>> version("2.8.2") < version("2.10.0")
    True
    """
    return tuple(map(int, release.split(".")))


def release_behind(name: str) -> str:
    """A strategy's name with its release behind it, wherever it stands.

    >>> release_behind("kafka@3.6 sticky"), release_behind("librdkafka@2.15.1 range")
    ('sticky@3.6', 'librdkafka-range@2.15.1')
    """
    found = SYSTEM_FIRST.fullmatch(name)
    if found is None:
        return name
    kind = found["kind"] if found["system"] == "kafka" else f"{found['system']}-{found['kind']}"
    return f"{kind}@{found['release']}"


def resolve(name: str, known: Iterable[Facts], kind: str = "strategy") -> Release:
    """The strategy, or what else the ``kind`` is, that a name with a release stands for.

    ``librdkafka@2.3 range`` is the same as ``librdkafka-range@2.3``, ``kafka@3.6 range`` as
    ``range@3.6``. Raises :class:`~assignlab.errors.UnknownName`, and where the strategy is known
    and its release is not, :class:`~assignlab.errors.UnknownRelease` with the reason.

    >>> known = [Facts("sticky@3.5", "3.5.2", "3.7.0"), Facts("sticky", "3.7.1", "4.4.0")]
    >>> resolve("sticky@3.6.1", known).same, resolve("sticky@4.1", known)
    ('sticky@3.5', Release(same='sticky', release='4.1.2'))
    """
    known = list(known)
    base, at, release = release_behind(name).partition("@")
    same_base = sorted(
        (facts for facts in known if facts.base == base), key=lambda facts: version(facts.first)
    )
    if not at or not same_base:
        raise UnknownName(kind, name, [facts.name for facts in known])
    if not RELEASE.fullmatch(release):
        raise UnknownRelease(name, f"expected a release such as {base}@{same_base[-1].last}", kind)
    if came := (CAME_WITH | PARTITIONERS_CAME_WITH).get(base):
        release = of_kafka(release, name, kind)
        if version(release) < version(came):
            raise UnknownRelease(name, f"{base} came with Kafka {came}", kind)
    place = version(release)
    for facts in same_base:
        if version(facts.first) <= place <= version(facts.last) or facts.last == release:
            return Release(facts.name, release)
    has = ", ".join(f"{facts.name} is {facts.span}" for facts in same_base)
    raise UnknownRelease(name, f"none of the lab's is known to do what {release} does: {has}", kind)


def of_kafka(release: str, asked: str | None = None, kind: str = "strategy") -> str:
    """The release of Kafka that is meant, in full.

    Raises :class:`~assignlab.errors.UnknownRelease` where there is none; ``asked``: the name, of
    that ``kind``, that it stood in.

    >>> of_kafka("3.6"), of_kafka("0.8.2.1")
    ('3.6.2', '0.8.2.1')
    """
    name = asked or release
    if not RELEASE.fullmatch(release):
        raise UnknownRelease(name, "expected a release such as 3.6 or 3.6.1", kind)
    if lines := [line for line in LINES if f"{line}.".startswith(f"{release}.")]:
        release = f"{lines[-1]}.{LINES[lines[-1]]}"
    line, _, number = release.rpartition(".")
    if line not in LINES:
        first, *_, newest = LINES
        raise UnknownRelease(
            name, f"the lab knows no Kafka {release}; it knows {first} to {newest}", kind
        )
    if int(number) > LINES[line]:
        last = f"{line}.{LINES[line]}"
        raise UnknownRelease(name, f"there is no Kafka {release}; the last is {last}", kind)
    return release
