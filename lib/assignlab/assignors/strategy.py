"""What the lab knows of a strategy beside its rule: facts as data."""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from inspect import signature
from types import FunctionType
from typing import Any

import numpy as np

from assignlab.errors import UnknownName
from assignlab.group.assignment import Assignment
from assignlab.group.document import lists
from assignlab.group.model import Group
from assignlab.releases import release_behind, span, version

COMMON_CHECKS = {
    "vectors": "tests/golden keeps at least 2,000 answers of its original",
    "promises": "it promises more than every strategy does",
    "complete": "every partition of a topic with a subscriber gets an owner",
    "one_owner": "a partition has one owner",
    "one_answer": "its original answers one question alike in every process",
    "large_groups": "its original answers groups of dozens of members in a moment",
    "missing_topics": "its original bears members that name topics without metadata",
}
"""What is expected of every strategy, unless its ``exceptions`` say why not."""

ONE_PROTOCOL = ("librdkafka", "kafka-python")
"""Systems whose clients refuse a list of eager and cooperative strategies (kafka-python 3.0.12 in
``ConsumerCoordinator._validate_rebalance_protocol``); Sarama and franz-go take one."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Strategy:
    """A partition-assignment strategy.

    ``assign``: the pure function Group -> Assignment. ``name``: stable, used in params, tables,
    charts and on the command line. ``first`` and ``last``: the versions of ``system`` that behave
    so, or the year of publication; the original's, unless told; one without an original has to tell
    ``first``. ``protocol``: ``eager`` (everything is revoked before a rebalance), ``cooperative``
    (only the difference, in follow-up rounds), ``server`` (the coordinator assigns) or
    ``independent`` (every consumer computes for itself). ``membership``: who knows the members: a
    ``coordinator`` of Kafka's, ``ZooKeeper`` or a ``broker``. ``client_id``: what member ids begin
    with where its client was given no id of its own; ``*`` stands for any text. ``offered``: the name
    under which clients offer it to a group, where that is not the end of its own. ``sticky``: whether
    claims matter. ``reads_weights``: whether the weights of partitions do. ``source``: the class that
    is reproduced. ``original``: ``artifact:release`` that answers in its place when both are compared;
    "" for none, which makes nothing of it proven.

    ``look``: colour, marker and line style in charts, by the names that
    :mod:`assignlab.pictures.charts` has for them; no two strategies share marker and line style.

    ``promises``: names of checks in :mod:`assignlab.proof.promises`, beyond what every strategy
    promises. ``exceptions``: by name of one of ``COMMON_CHECKS``, why that does not hold here.
    ``favours``: who gets one more of a topic that does not divide evenly, where ``promises`` let one
    take it for another.

    ``member_fields``: what members of its groups may have in a group document beside id and topics;
    in a group of mixed clients that is more than its own clients send. ``generations``: which
    fields its own clients put a claim's generation into (see
    :class:`assignlab.group.model.Claims`). ``broker``: where a topic's partitions lie that no
    broker is named for; "" in systems that number a topic's partitions.

    ``reclaim``: how a client of that version sends an assignment back at the next rebalance: the
    same partitions, in the order in which the assignor reads them. ``render``: the assignment as
    the group document prints it. ``equip``: the same group with what the strategy cannot do without
    and a scenario does not have (machine rooms, written lists).

    Raises :class:`~assignlab.errors.UnknownName` for an exception to no common check, ``ValueError``
    where neither ``first`` nor ``original`` is told.
    """

    name: str
    system: str
    protocol: str
    source: str
    look: tuple[str, str, str]
    assign: Callable[[Group], Assignment]
    membership: str = "coordinator"
    client_id: str = ""
    offered: str = ""
    original: str = ""
    first: str = ""
    last: str = ""
    sticky: bool = False
    reads_weights: bool = False
    promises: tuple[str, ...] = ()
    exceptions: Mapping[str, str] = field(default_factory=dict, hash=False)
    favours: str = ""
    member_fields: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    broker: str = ""
    reclaim: Callable[[Group, Assignment], Assignment] | None = None
    render: Callable[[Group, Assignment], Any] = lists
    equip: Callable[[Group], Group] | None = None

    def __post_init__(self):
        release = self.original.partition(":")[2]
        first = self.first or release
        if not first:
            raise ValueError(
                f"strategy {self.name}: first= is missing, the version or year since when"
            )
        object.__setattr__(self, "first", first)
        object.__setattr__(self, "last", self.last or release or first)
        for check in self.exceptions.keys() - COMMON_CHECKS:
            raise UnknownName("common check", check, COMMON_CHECKS)

    def __repr__(self):
        versions = span(self.first, self.last)
        return f"Strategy({self.name}: {self.system}, {versions}, {self.protocol})"

    @property
    def base(self) -> str:
        """The name without the release: ``sticky`` of ``sticky@2.0`` and of ``kafka@2.0 sticky``."""
        return release_behind(self.name).partition("@")[0]

    @property
    def kind(self) -> str:
        """The name that clients offer it under: ``sticky`` of ``sticky@2.0`` and of ``sarama-sticky``."""
        return self.offered or self.base.removeprefix(f"{self.system}-")

    @property
    def remote(self) -> str:
        """What ``group.remote.assignor`` calls one of the coordinator's: ``uniform``."""
        return self.base.removeprefix("server-")

    @property
    def shares(self) -> bool:
        """Whether a partition may have several owners at once."""
        return "one_owner" in self.exceptions

    @property
    def of_clients(self) -> bool:
        """Whether it comes with a client of Kafka's classic protocol; one that has no original is a
        published rule, which no client comes with."""
        classic = self.membership == "coordinator" and self.protocol in ("eager", "cooperative")
        return classic and self.original != ""

    @property
    def may_loop(self) -> bool:
        """Whether it is one of the clients' that start from what members claim: others have no loop
        that may not end."""
        return self.sticky and self.protocol in ("eager", "cooperative")

    def names(self, id: str) -> bool:
        """Whether a member id begins as those of its client do that was given none."""
        return self.client_id != "" and fnmatchcase(id, f"{self.client_id}*")

    def equipped(self, group: Group) -> Group:
        """The group with what the strategy cannot do without."""
        return group if self.equip is None else group.prepared(self.equip)

    def sent_back(self, group: Group, after: Assignment) -> Assignment:
        """What members claim after ``assign(group)``, in the order in which the assignor will read it."""
        return after if self.reclaim is None else self.reclaim(group, after)

    def taken_over(self, group: Group, after: Assignment) -> Assignment:
        """How members send back an assignment that something else than ``assign(group)`` made:
        ``reclaim`` may repeat what the original did instead of reading it off the assignment."""
        order = self.sent_back(group, after)
        return order if all(map(np.array_equal, _sorted(order), _sorted(after))) else after

    def between(self, since: str, until: str) -> bool:
        """Whether all releases that it describes lie between these two, ends included."""
        return version(since) <= version(self.first) and version(self.last) <= version(until)


def by_rules(steps: Callable[..., Assignment], **rules: Any) -> Callable[[Group], Assignment]:
    """The ``assign`` of the module that calls this: ``steps`` that others share, by rules of its own, such
    as a release's.

    A function like any other, whose defaults the rules are: called as fast as one that is written out,
    and pickled by its name.
    """
    given = signature(steps).bind(None, **rules)
    given.apply_defaults()
    function: Any = steps
    made = FunctionType(function.__code__, function.__globals__, "assign", given.args[1:])
    made.__doc__, made.__annotations__ = steps.__doc__, steps.__annotations__
    made.__module__, made.__qualname__ = sys._getframe(1).f_globals["__name__"], "assign"
    return made


def _sorted(assignment: Assignment) -> tuple[np.ndarray, np.ndarray]:
    """(owners, codes), in an order that does not depend on that of the members' lists."""
    owners, codes = assignment.owners, assignment.codes
    order = np.lexsort((codes, owners))
    return owners[order], codes[order]
