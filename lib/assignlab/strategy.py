"""What the lab knows of a strategy beside its rule: facts as data."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from assignlab.assignment import Assignment
from assignlab.group import Group


def _lists(group: Group, assignment: Assignment) -> dict[str, list[list]]:
    from assignlab.document import lists

    return lists(group, assignment)


@dataclass(frozen=True, kw_only=True)
class Strategy:
    """A partition-assignment strategy.

    ``assign``: the pure function Group -> Assignment. ``name``: stable, used in params, tables,
    charts and on the command line. ``first`` and ``last``: the versions of ``system`` that behave
    so. ``protocol``: ``eager`` (everything is revoked before a rebalance), ``cooperative`` (only
    the difference, in follow-up rounds), ``server`` (the coordinator assigns) or ``independent``
    (every consumer computes for itself). ``sticky``: whether claims matter. ``source``: the class
    that is reproduced. ``reclaim``: how a client of that version sends an assignment back at the
    next rebalance: the same partitions, in the order in which the assignor reads them.
    ``generations``: which fields of a claim carry the generation ("" for none; see
    ``assignlab.group.Claims``). ``render``: the assignment as the group document prints it.
    ``leaves_out``: which partitions of a subscribed topic may be left without an owner by design;
    "" where every one gets one. ``shares``: whether a partition may have several owners at once.
    ``at_home``: the same group with what the strategy cannot do without and a scenario does not
    have (machine rooms, written lists); None where it needs nothing more.
    """

    name: str
    system: str
    first: str
    last: str
    protocol: str
    sticky: bool
    source: str
    assign: Callable[[Group], Assignment]
    reclaim: Callable[[Group, Assignment], Assignment] | None = None
    generations: tuple[str, ...] = ()
    leaves_out: str = ""
    shares: bool = False
    render: Callable[[Group, Assignment], Any] = _lists
    at_home: Callable[[Group], Group] | None = None
