"""What a sweep may be asked: grids of scenarios; everything else is refused before Spark starts."""

import dataclasses
import hashlib
import inspect
import json
import re
from collections import Counter
from collections.abc import Sequence
from itertools import product

import numpy as np

from assignlab import assignors
from assignlab.errors import AssignlabError, UnknownName
from assignlab.replay.scenarios import Scenario

# A timer rounds less to no limit, and takes no more.
SHORTEST_LIMIT, LONGEST_LIMIT = 1e-3, 1e6
FIELDS = {field.name: field.default for field in dataclasses.fields(Scenario)}


class SweepError(AssignlabError):
    """A sweep is refused: no scenario, no strategy, one of them given twice."""


def grid(**fields) -> list[Scenario]:
    """Every combination of the fields' values, the last field changing fastest.

    A field has one value or, for an axis, a list, range or array of them. One history of ``events``
    is a list or tuple of words, several are a list of those.

    members: consumers in the group. topics: topics that it reads. partitions: over all topics, at
    least one a topic. distribution: how they are split over the topics (EQUAL, SKEWED).
    subscription: who reads what (HOMOGENEOUS, HETEROGENEOUS_DISJOINT, HETEROGENEOUS_NESTED, RANDOM).
    seed: of all that is drawn. ids: the members' names (uuid, numbered, plain). static: members have
    a ``group.instance.id``. racks: 0, or how many racks members and replicas are spread over.
    events: what happens, one after the other, FULL first; ``docs/sweeps.md`` has them all.
    `assignlab.replay.scenarios.Scenario` says each more exactly.

    A wrong field raises :class:`~assignlab.errors.UnknownName`, which says the nearest right one,
    and a wrong value :class:`SweepError`.

    >>> [(s.members, s.seed) for s in grid(members=[2, 3], topics=4, seed=range(2))]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    for name in fields:
        if name not in FIELDS:
            raise UnknownName("scenario field", name, FIELDS)
    axes = [[checked(name, one) for one in axis(name, value)] for name, value in fields.items()]
    try:
        return [Scenario(**dict(zip(fields, point, strict=True))) for point in product(*axes)]
    except ValueError as error:
        raise SweepError(str(error)) from None


# help(grid) shows the fields and their defaults.
grid.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in FIELDS.items()
    ],
    return_annotation=list[Scenario],
)


def axis(name: str, value) -> list:
    """The values of one field of a grid."""
    if name == "events" and isinstance(value, list | tuple):
        return [value] if all(isinstance(word, str) for word in value) else list(value)
    return list(value) if isinstance(value, list | range | np.ndarray) else [value]


def checked(name: str, value):
    """One value of a field, refused if it is not of the field's kind."""
    kind = type(FIELDS[name])
    if kind is tuple and isinstance(value, list | tuple):
        return tuple(value)
    if isinstance(value, np.generic):
        value = value.item()
    if type(value) is not kind:
        words = {int: "a whole number", str: "a word", bool: "True or False"}
        raise SweepError(f"{name}: expected {words.get(kind, 'a list of words')}, got {value!r}")
    return value


def check(scenarios: Sequence[Scenario], strategies: Sequence[str], name, limit: float) -> None:
    """Refuse what cannot be played, before a JVM starts."""
    for kind, given in (("scenario", scenarios), ("strategy", strategies)):
        if not given:
            raise SweepError(f"a sweep needs at least one {kind}")
    for scenario in scenarios:
        if not isinstance(scenario, Scenario):
            raise SweepError(f"not a Scenario: {scenario!r}")
    for strategy in strategies:
        assignors.get(strategy)
    for kind, given in (("scenario", scenarios), ("strategy", strategies)):
        if len(set(given)) < len(given):
            twice = Counter(given).most_common(1)[0][0]
            raise SweepError(f"{kind} {twice!r} is given twice")
    check_table(name, limit)


def check_table(name: str | None, limit: float) -> None:
    """Refuse a name that no table can have, and a limit of time that is none."""
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", name):
        raise SweepError(f"not a name for a table (letters, digits, . _ -): {name!r}")
    if not SHORTEST_LIMIT <= limit <= LONGEST_LIMIT:
        raise SweepError(
            f"limit: expected {SHORTEST_LIMIT:g} to {LONGEST_LIMIT:g} seconds, got {limit!r}"
        )


def digest(scenarios: Sequence[Scenario], strategies: Sequence[str]) -> str:
    """A short name for what was asked: the same question, the same name."""
    return digest_of([[dataclasses.astuple(scenario) for scenario in scenarios], strategies])


def digest_of(asked) -> str:
    """A short name for anything that JSON can hold."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]
