"""What a sweep may be asked: grids of scenarios; everything else is refused before Spark starts."""

import hashlib
import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from math import prod
from numbers import Integral, Real
from operator import eq
from reprlib import repr as brief
from typing import Any, overload

import numpy as np

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError, refuse_unknown
from assignlab.replay.scenarios import DEFAULTS, VALUES, Scenario, all_words, fitting

# A timer rounds less to no limit, and takes no more.
SHORTEST_LIMIT, LONGEST_LIMIT = 1e-3, 1e6

LONGEST_NAME = 200
"""Of a table: names of files have 255 letters, and files beside it are called after it."""
MOST_SCENARIOS, MOST_VALUES = 100_000_000, 10_000_000
"""Of a grid, and on one of its axes that is not a range: the driver keeps such an axis as a list, and
estimates what every scenario costs."""


class SweepError(AssignlabError):
    """A sweep is refused before it starts: nothing to play, or one thing named twice; or it cannot be
    finished, and the message says why."""


class Grid(Sequence[Scenario]):
    """The scenarios of a grid, described and not listed: its axes, and a scenario when it is asked for.

    Equals the list of its scenarios, and another grid of the same axes. ``grid + more`` is a list.
    """

    def __init__(self, axes: Mapping[str, Sequence]):
        self.axes = {
            name: values if isinstance(values, range) else tuple(values)
            for name, values in axes.items()
        }
        self._count = prod(map(len, self.axes.values()))

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> Scenario: ...
    @overload
    def __getitem__(self, place: slice) -> list[Scenario]: ...
    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        left = range(len(self))[place]
        point = {}
        for name, values in reversed(self.axes.items()):
            left, at = divmod(left, len(values))
            point[name] = values[at]
        return Scenario(**point)

    def __iter__(self) -> Iterator[Scenario]:
        return scenarios_at(self.axes, product(*self.axes.values()))

    def __eq__(self, other):
        if isinstance(other, Grid) and list(self.axes.items()) == list(other.axes.items()):
            return True
        same = isinstance(other, Grid | list) and len(self) == len(other)
        return same and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, more: Sequence[Scenario]) -> list[Scenario]:
        return [*self, *more]

    def __radd__(self, before: Sequence[Scenario]) -> list[Scenario]:
        return [*before, *self]

    def __repr__(self):
        axes = ", ".join(f"{name}={brief(values)}" for name, values in self.axes.items())
        return f"Grid({axes}): {len(self):,} scenario{'s' * (len(self) != 1)}"

    def picked(self, numbers: np.ndarray) -> dict[str, list]:
        """Some of its scenarios as they take the least room: by field, the value of each."""
        fields = {}
        for name, values in reversed(self.axes.items()):
            numbers, places = np.divmod(numbers, len(values))
            fields[name] = [values[at] for at in places.tolist()]
        return fields

    def twice(self) -> Any:
        """A value that stands twice on its axis; None where no scenario is there twice."""
        listed = (values for values in self.axes.values() if not isinstance(values, range))
        counts = (Counter(values).most_common(1) for values in listed)
        return next((f[0][0] for f in counts if f and f[0][1] > 1), None)


def scenarios_at(fields: Iterable[str], points: Iterable[Sequence]) -> Iterator[Scenario]:
    """The scenarios that have these values, a point each, of the fields."""
    return (Scenario(**dict(zip(fields, point, strict=True))) for point in points)


def grid(**fields) -> Grid:
    """Every combination of the fields' values, the last field changing fastest.

    What comes back is read like a list, and takes the room of its axes only.

    A field has one value or, for an axis, several: a list, tuple, range, array, pandas column or
    anything else that can be iterated over. One history of ``events`` is a list or tuple of words,
    several are a list of those.

    members: consumers in the group. topics: topics that it reads. partitions: over all topics, at
    least one a topic. distribution: how they are split over the topics (EQUAL, SKEWED).
    subscription: who reads what (HOMOGENEOUS, HETEROGENEOUS_DISJOINT, HETEROGENEOUS_NESTED,
    RANDOM, or NARROW_1 to NARROW_9: so many topics each). seed: of all that is drawn.
    ids: the members' names (uuid, numbered, plain). static: members have a ``group.instance.id``.
    racks: 0, or how many racks members and replicas are spread over. events: what happens, one after
    the other, FULL first; ``docs/sweeps.md`` has them all.
    `assignlab.replay.scenarios.Scenario` says each more exactly.

    A wrong field or word raises :class:`~assignlab.errors.UnknownName`, which says the nearest right
    one, and any other wrong value :class:`SweepError`.

    >>> [(s.members, s.seed) for s in grid(members=[2, 3], topics=4, seed=range(2))]
    [(2, 0), (2, 1), (3, 0), (3, 1)]
    """
    refuse_unknown("scenario field", fields, DEFAULTS)
    axes = {name: axis(name, value) for name, value in fields.items()}
    for name, values in axes.items():
        if isinstance(values, range) and values[sys.maxsize :]:  # len() knows no greater number
            raise SweepError(f"{name}: {values} has more than {MOST_SCENARIOS:,} values")
    if (count := prod(map(len, axes.values()))) > MOST_SCENARIOS:
        raise SweepError(
            f"a grid of {count:,} scenarios: ask for at most {MOST_SCENARIOS:,} at once"
            f" ({', '.join(f'{name}: {len(values):,}' for name, values in axes.items())})"
        )
    found = Grid({name: all_checked(name, values) for name, values in axes.items()})
    try:
        # What cannot be played is told here. A seed never decides that, so one of them will do.
        for _ in Grid(found.axes | {"seed": found.axes.get("seed", [0])[:1]}):
            pass
    except ValueError as error:
        raise SweepError(str(error)) from None
    return found


# help(grid) shows the fields and their defaults.
grid.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
        for name, default in DEFAULTS.items()
    ],
    return_annotation=Grid,
)


def axis(name: str, value) -> Sequence:
    """The values of one field of a grid; a range stays one, which takes no room."""
    if isinstance(value, range):
        return value
    if name == "events" and isinstance(value, str):
        return [value.split()]
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return [value]
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return [value[()]]
    if isinstance(value, AbstractSet):
        value = sorted(value if name == "events" else all_checked(name, list(value)))
    values = list(islice(value, MOST_VALUES + 1))
    if len(values) > MOST_VALUES:
        raise SweepError(f"{name}: more than {MOST_VALUES:,} values")
    if name == "events" and all_words(values):
        return [values]
    return values


def all_checked(name: str, values: Sequence) -> Sequence:
    """The values of a field, each refused if it is not of the field's kind."""
    if isinstance(values, range):
        for value in values[:1]:
            checked(name, value)
        return values
    return [checked(name, value) for value in values]


def checked(name: str, value):
    """One value of a field, refused if it is not of the field's kind."""
    try:
        return fitting(name, value)
    except ValueError as error:
        raise SweepError(str(error)) from None


def words(about: str, given) -> list:
    """Several words as a list, or one alone; a strategy stands for its name."""
    alone = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
    each = [given] if alone else list(given)
    for one in each:
        if isinstance(one, Strategy) and assignors.strategies().get(one.name) is not one:
            raise SweepError(
                f"{about}: {one.name!r} is a strategy of your own, which a sweep does not know: "
                "assignlab.replay.rebalance.replay plays it (docs/sweeps.md)"
            )
    names = [str(one) if isinstance(one, str) else getattr(one, "name", None) for one in each]
    if not all_words(names):
        raise SweepError(f"{about}: expected a word or a list of them, got {brief(given)}")
    return names


def listed(scenarios) -> Sequence[Scenario]:
    """The scenarios of a sweep as a grid or a list; one alone will do."""
    if isinstance(scenarios, Grid):
        return scenarios
    if isinstance(scenarios, Scenario):
        scenarios = [scenarios]
    if isinstance(scenarios, str | Mapping) or not isinstance(scenarios, Iterable):
        raise SweepError(
            f"scenarios: expected sweep.grid(...) or Scenarios, got {brief(scenarios)}"
        )
    found = list(scenarios)
    for scenario in found:
        if not isinstance(scenario, Scenario):
            raise SweepError(f"not a Scenario: {brief(scenario)}")
    return found


def check(
    scenarios: Sequence[Scenario], strategies: Sequence[str], name, limit: float, slices=None
) -> None:
    """Refuse what cannot be played, before a JVM starts."""
    for kind, given in (("scenario", scenarios), ("strategy", strategies)):
        if not given:
            raise SweepError(f"a sweep needs at least one {kind}")
    for strategy in strategies:
        assignors.get(strategy)
    if isinstance(scenarios, Grid) and (value := scenarios.twice()) is not None:
        raise SweepError(f"scenario: {value!r} stands twice on one axis of the grid")
    known = [] if isinstance(scenarios, Grid) else scenarios
    for kind, given in (("scenario", known), ("strategy", strategies)):
        if len(set(given)) < len(given):
            twice = Counter(given).most_common(1)[0][0]
            raise SweepError(f"{kind} {twice!r} is given twice")
    check_table(name, limit, slices)


def check_table(name: str | None, limit: float, slices=None) -> None:
    """Refuse a name that no table can have, a limit of time that is none, and no number of tasks."""
    if slices is not None and not (isinstance(slices, Integral) and int(slices) > 0):
        raise SweepError(f"slices: expected a number of tasks, 1 or more, got {slices!r}")
    if name is not None and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", str(name)):
        raise SweepError(f"not a name for a table (letters, digits, . _ -): {name!r}")
    if name is not None and len(str(name)) > LONGEST_NAME:
        raise SweepError(f"a name for a table has at most {LONGEST_NAME} characters: {name!r}")
    if not (isinstance(limit, Real) and SHORTEST_LIMIT <= limit <= LONGEST_LIMIT):
        raise SweepError(
            f"limit: expected {SHORTEST_LIMIT:g} to {LONGEST_LIMIT:g} seconds, got {limit!r}"
        )


def digest(scenarios: Sequence[Scenario], strategies: Sequence[str]) -> str:
    """A short name for what was asked: the same question, the same name."""
    # As digest_of([[values of every scenario], strategies]) has it, one scenario at a time.
    found = hashlib.sha256(b"[[")
    for number, scenario in enumerate(scenarios):
        found.update((", " * bool(number) + json.dumps(VALUES(scenario))).encode())
    found.update(f"], {json.dumps(strategies)}]".encode())
    return found.hexdigest()[:12]


def digest_of(asked) -> str:
    """A short name for anything that JSON can hold."""
    return hashlib.sha256(json.dumps(asked).encode()).hexdigest()[:12]
