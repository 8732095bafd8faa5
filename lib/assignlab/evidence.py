"""What draws can tell: shares with intervals over independent groups, and an order of names only
where the draws tell them apart."""

from collections.abc import Sequence
from math import ceil, floor, log10, sqrt

import numpy as np
import pandas as pd

Z = 1.96
"""Standard errors that a 95 % interval reaches to either side."""
ERRORS_APART = 3
"""Standard errors that two means are apart at least; three, for names are compared in pairs."""
LEAST_GROUPS = 5
"""Fewer groups with an event, or with something else, do not say how alike the events of one are."""
LEAST_DRAWS = 6
"""Fewer draws tell nothing apart."""


def wilson(times: float, of: float) -> tuple[float, float]:
    """The 95 % interval of the share ``times / of`` of independent observations, by Wilson (1927).

    >>> [round(end, 4) for end in wilson(0, 100)], [round(end, 4) for end in wilson(50, 100)]
    ([0.0, 0.037], [0.4038, 0.5962])
    """
    if of == 0:
        return 0.0, 1.0
    share = times / of
    middle = share + Z * Z / (2 * of)
    reach = Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    scale = 1 + Z * Z / of
    return max(0.0, (middle - reach) / scale), min(1.0, (middle + reach) / scale)


def over_groups(times: Sequence, of: Sequence) -> tuple[float, float, float]:
    """A share of events, all groups together, and its 95 % interval: (share, low, high).

    ``times``, ``of``: of each group. Only groups are independent, the events of one are not, so the
    interval is Wilson's with as many observations as would vary as much as the groups do. Where fewer
    than :data:`LEAST_GROUPS` groups differ from the others it is one a group. Groups that are drawn from
    one seed have members in common: they are added up and stand as one.

    >>> steps = [14] * 60  # alike within each group: as wide as 60 observations make it
    >>> [round(end, 3) for end in over_groups([14] * 30 + [0] * 30, steps)]
    [0.5, 0.376, 0.624]
    >>> [round(end, 3) for end in over_groups([0] * 60, steps)], round(wilson(0, 60)[1], 3)
    ([0.0, 0.0, 0.06], 0.06)
    """
    times, of = np.asarray(times, dtype=float), np.asarray(of, dtype=float)
    events = float(of.sum())
    if events == 0:
        return float("nan"), 0.0, 1.0
    share = float(times.sum()) / events
    error = _error(times - share * of) * of.size / events
    differ = min((times > 0).sum(), (times < of).sum())
    known = differ >= LEAST_GROUPS and error > 1e-9
    observations = min(share * (1 - share) / error**2, events) if known else of.size
    low, high = wilson(share * observations, float(observations))
    return share, min(low, share), max(high, share)


def tiers(values: pd.DataFrame) -> list[list[str]]:
    """The columns from the lowest mean upwards, in tiers: a name stands in the lowest from whose
    first it cannot be told apart.

    ``values``: a row for every draw, which all columns share. Two columns are told apart where the
    mean of their differences, draw by draw, is more than :data:`ERRORS_APART` standard errors from
    0, of at least :data:`LEAST_DRAWS` draws.

    >>> draws = pd.DataFrame({"a": [1, 2, 3, 4, 5, 6.0]})
    >>> draws["b"], draws["c"] = draws["a"] + [1, -1, 1, -1, 1, 0], draws["a"] + 1
    >>> tiers(draws), tiers(draws.head(5))
    ([['a', 'b'], ['c']], [['a', 'b', 'c']])
    """
    found: list[list[str]] = []
    for name in values.mean().sort_values(kind="stable").index:
        like = (tier for tier in found if not apart(values[name] - values[tier[0]]))
        if (tier := next(like, None)) is None:
            found.append([name])
        else:
            tier.append(name)
    return found


def apart(differences: pd.Series) -> bool:
    """Whether the mean of these differences, one a draw, is told apart from 0; see :func:`tiers`."""
    if len(differences) < LEAST_DRAWS:
        return False
    error = _error(differences.to_numpy(dtype=float))
    return bool(abs(differences.mean()) > max(ERRORS_APART * error, 1e-12))


def mean_of(draws: Sequence) -> str:
    """The mean of independent draws and how far its 95 % interval reaches, with the digits that it
    supports; of fewer than :data:`LEAST_DRAWS` draws the mean and their number.

    >>> mean_of([900, 1500, 700, 1300, 1100, 1000, 1200]), mean_of([5] * 6), mean_of([1100, 700])
    ('1,100 ± 200', '5', '900 of 2 draws')
    """
    values = np.asarray(draws, dtype=float)
    if len(values) < LEAST_DRAWS:
        return f"{values.mean():,.0f} of {len(values)} draw{'s' * (len(values) != 1)}"
    reach = Z * _error(values)
    if reach < 1e-9:
        return f"{values.mean():,.0f}"
    place = floor(log10(reach))
    reach, shown = ceil(reach / 10**place) * 10.0**place, max(-place, 0)
    return f"{round(values.mean(), -place):,.{shown}f} ± {reach:,.{shown}f}"


def _error(values: np.ndarray) -> float:
    """The standard error of the mean of independent values."""
    rest = values - values.mean()
    return sqrt(float((rest**2).sum()) / (max(len(values) - 1, 1) * len(values)))
