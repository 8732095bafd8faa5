"""Seeded groups: how large, how skewed, who subscribes to what, and what happens to them.

A :class:`Scenario` is plain data; the same scenario gives the same group on every machine. Shapes
and words are those of Kafka's ``ConsumerAssignorBenchmark`` (apache/kafka 32524aba, 2026): EQUAL
and SKEWED partition counts; HOMOGENEOUS, HETEROGENEOUS_DISJOINT, HETEROGENEOUS_NESTED
subscriptions. RANDOM and NARROW subscriptions are our addition.
"""

from binascii import b2a_base64
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any

import numpy as np

from assignlab.errors import refuse_unknown, shown
from assignlab.group.model import Claims, Group, Members, Topics
from assignlab.jvm.names import Names

DISTRIBUTIONS = ("EQUAL", "SKEWED")
SUBSCRIPTIONS = ("HOMOGENEOUS", "HETEROGENEOUS_DISJOINT", "HETEROGENEOUS_NESTED", "RANDOM")
NARROW = tuple([f"NARROW_{topics}" for topics in range(1, 10)])
"""Few topics each: groups in which some originals never end, throw or never settle."""
IDS = ("uuid", "numbered", "plain")
EVENTS: dict[str, Callable] = {}
"""What can happen to a group, by name; :mod:`assignlab.replay.history` has the functions."""

BUCKETS = 5


def event(name: str) -> Callable:
    """A decorator: the function is what the event of this name does to a history."""

    def register(function: Callable) -> Callable:
        EVENTS[name] = function
        return function

    return register


@dataclass(frozen=True, slots=True)
class Scenario:
    """One group and its history.

    ``members``, ``topics``: counts, at least 1. ``partitions``: partitions over all topics, at
    least one per topic (``topics * partitions per topic`` for equal topics). ``distribution``: how
    they are split over the topics, largest topics first. EQUAL: alike up to the remainder. SKEWED:
    two thirds of the topics have one partition; each further tier has a third of the topics of the
    one before and, from the third tier on, twice its partitions per topic.

    ``subscription``: HOMOGENEOUS: everybody subscribes to every topic. The HETEROGENEOUS ones put
    member i in bucket i mod B and cut the topics into B consecutive ranges, B = min(5, members,
    topics); bucket b subscribes to range b (DISJOINT) or ranges 0 to b (NESTED). RANDOM: each
    member subscribes to each topic with probability 1/2, and to one at least. NARROW_1 to NARROW_9:
    each member subscribes to so many topics, drawn, or to all if there are fewer.

    ``seed``: of all that is drawn: member ids, topic names and Uuids, random subscriptions, the
    member or topic that an event concerns. ``ids``: ``uuid``: ``consumer-lab-1-<uuid>``, every
    member a process of its own, so that the order of ids is random; ``numbered``:
    ``consumer-lab-<n>-<uuid>``, consumers of one process; ``plain``: ``C0``, ``C1``, ... with
    topics ``t0``, ``t1``, ..., for examples. ``static``: members have a ``group.instance.id``.
    ``racks``: 0, or the number of racks: member i is in rack i mod racks, the two replicas of
    partition p in racks p and p + 1 mod racks.

    ``events``: what happens, one after the other, from ``EVENTS``, also as one text; the first is
    FULL, the first assignment of a new group.
    """

    members: int = 10
    topics: int = 10
    partitions: int = 100
    distribution: str = "EQUAL"
    subscription: str = "HOMOGENEOUS"
    seed: int = 0
    ids: str = "uuid"
    static: bool = False
    racks: int = 0
    events: tuple[str, ...] = ("FULL", "JOIN_ONE", "LEAVE_ONE")

    def __post_init__(self):
        if isinstance(self.events, str):
            object.__setattr__(self, "events", tuple(self.events.split()))
        values = VALUES(self)
        if tuple(map(type, values)) != KINDS:
            for name, value in zip(DEFAULTS, values, strict=True):
                object.__setattr__(self, name, fitting(name, value))
        for name, least in (("members", 1), ("topics", 1), ("partitions", self.topics)):
            if getattr(self, name) < least:
                of = " (a partition for each topic)" if name == "partitions" and least > 1 else ""
                raise ValueError(f"{name}: {getattr(self, name)} is less than {least}{of}")
        if self.racks < 0:
            raise ValueError(f"racks: {self.racks} is less than 0")
        refuse_unknown("distribution", [self.distribution], DISTRIBUTIONS)
        refuse_unknown("subscription", [self.subscription], SUBSCRIPTIONS + NARROW)
        refuse_unknown("ids", [self.ids], IDS)
        refuse_unknown("event", self.events, EVENTS)
        if not self.events or self.events[0] != "FULL":
            raise ValueError("events: a history starts with FULL")

    @property
    def buckets(self) -> int:
        """How many buckets of members the heterogeneous subscriptions have."""
        return min(BUCKETS, self.members, self.topics)


DEFAULTS: dict[str, Any] = {field.name: field.default for field in fields(Scenario)}
"""The fields of a scenario and their defaults, whose kinds are the fields'."""
KINDS = tuple(map(type, DEFAULTS.values()))
VALUES = attrgetter(*DEFAULTS)


def fitting(name: str, value: Any) -> Any:
    """A value of the kind of a scenario's field; raises ValueError for one that is of another.

    >>> fitting("members", np.float64(3)), fitting("events", ["FULL"])
    (3, ('FULL',))
    """
    kind = type(DEFAULTS[name])
    if kind is tuple and isinstance(value, list | tuple) and all_words(value):
        return tuple(value)
    if isinstance(value, np.generic):
        value = value.item()
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)  # a column of pandas with gaps has floats, and so has linspace
    if kind is tuple or type(value) is not kind:
        kinds = {int: "a whole number", str: "a word", bool: "True or False"}
        raise ValueError(
            f"{name}: expected {kinds.get(kind, 'a list of words')}, got {shown(value)}"
        )
    return value


def all_words(values: Iterable) -> bool:
    """Whether all values are texts."""
    return all(isinstance(value, str) for value in values)


def scenario_of(row: Mapping[str, Any]) -> Scenario:
    """The scenario of a record, or of a row of a frame: its fields stand in columns of their names.

    >>> from dataclasses import asdict
    >>> scenario_of({**asdict(Scenario(seed=7)), "events": "FULL JOIN_ONE", "idle": 0}).events
    ('FULL', 'JOIN_ONE')
    """
    return Scenario(**{name: row[name] for name in DEFAULTS})


def group_of(scenario: Scenario) -> Group:
    """The group of a scenario before anything happened: nobody claims anything.

    >>> g = group_of(Scenario(members=2, topics=2, partitions=3, ids="plain"))
    >>> g.members.names, g.topics.names, g.topics.partitions
    (Names(['C0', 'C1']), Names(['t0', 't1']), array([2, 1]))
    """
    topics = topics_of(scenario)
    indices = range(scenario.members)
    members = Members(
        Names([member_id(scenario, i) for i in indices]),
        *_subscriptions(scenario),
        tuple([instance_id(i) for i in indices]) if scenario.static else None,
        tuple([rack(scenario, i) for i in indices]) if scenario.racks else None,
    )
    return Group(topics, members, Claims.none(scenario.members))


def topics_of(scenario: Scenario) -> Topics:
    """The cluster's topics."""
    counts = np.array(partition_counts(scenario), dtype=np.int64)
    names = [topic_name(scenario, t) for t in range(scenario.topics)]
    racks = None
    if scenario.racks:
        racks = tuple([replica_racks(count, scenario.racks) for count in counts.tolist()])
    ids = tuple([topic_id(scenario, t) for t in range(scenario.topics)])
    return Topics(Names(names), counts, racks, ids)


def partition_counts(scenario: Scenario) -> list[int]:
    """Partitions per topic, largest first.

    >>> partition_counts(Scenario(topics=9, partitions=20, distribution="SKEWED"))
    [7, 4, 3, 1, 1, 1, 1, 1, 1]
    """
    topics, partitions = scenario.topics, scenario.partitions
    if scenario.distribution == "EQUAL" or topics == 1:
        return _split(partitions, topics)
    tiers = _tiers(topics)
    rest = partitions - tiers[0]
    weights = [size << tier for tier, size in enumerate(tiers[1:])]
    singles = [1] * tiers[0]
    if sum(weights) > rest:  # too few partitions to double from tier to tier
        return _split(rest, topics - tiers[0]) + singles
    counts: list[int] = []
    given_weight = 0
    for size, weight in zip(reversed(tiers[1:]), reversed(weights), strict=True):
        given_weight += weight
        share = rest * given_weight // sum(weights) - sum(counts)
        counts += _split(share, size)
    return counts + singles


def _tiers(topics: int) -> list[int]:
    """Sizes of the tiers: two thirds of the topics, then a third of that, and so on."""
    tiers: list[int] = []
    fraction = 2 / 3
    while sum(tiers) < topics:
        # rounds halves up, as Java's Math.round does
        tiers.append(min(topics - sum(tiers), max(1, int(topics * fraction + 0.5))))
        fraction /= 3
    return tiers


def _split(partitions: int, topics: int) -> list[int]:
    each, more = divmod(partitions, topics)
    return [each + 1] * more + [each] * (topics - more)


def topics_of_bucket(scenario: Scenario, member: int) -> np.ndarray:
    """The topic indices that the member of that number subscribes to at first: int64[n]."""
    bucket, buckets = member % scenario.buckets, scenario.buckets
    end = scenario.topics * (bucket + 1) // buckets
    if scenario.subscription == "HETEROGENEOUS_DISJOINT":
        return np.arange(scenario.topics * bucket // buckets, end)
    if scenario.subscription == "HETEROGENEOUS_NESTED":
        return np.arange(end)
    if scenario.subscription == "RANDOM":
        needed = -(-scenario.topics // 8)
        bits = np.frombuffer(_stream(scenario, f"subscription/{member}", needed), dtype=np.uint8)
        chosen = np.flatnonzero(np.unpackbits(bits)[: scenario.topics])
        one = draw(scenario, f"topic/{member}") % scenario.topics
        return chosen if chosen.size else np.array([one])
    if scenario.subscription in NARROW:
        read = NARROW.index(scenario.subscription) + 1
        drawn = [draw(scenario, f"narrow/{member}/{topic}") for topic in range(scenario.topics)]
        return np.sort(np.argsort(drawn, kind="stable")[:read])
    return np.arange(scenario.topics)


def _subscriptions(scenario: Scenario) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(subscription, offsets, topics) of ``Members``."""
    members = scenario.members
    if scenario.subscription == "HOMOGENEOUS":
        rows = 1
        subscription = np.zeros(members, dtype=np.int64)
    elif scenario.subscription in ("RANDOM", *NARROW):
        rows = members
        subscription = np.arange(members)
    else:
        rows = scenario.buckets
        subscription = np.arange(members) % rows
    lists = [topics_of_bucket(scenario, row) for row in range(rows)]
    offsets = np.cumsum([0] + [topics.size for topics in lists], dtype=np.int64)
    return subscription, offsets, np.concatenate(lists)


# ---- names and draws ---------------------------------------------------------------------------


def member_id(scenario: Scenario, member: int) -> str:
    """The id of the ``member``-th member that ever joined, as Kafka's coordinator forms it.

    >>> member_id(Scenario(ids="numbered"), 2)
    'consumer-lab-3-c0ea0098-87d3-4fc8-a862-cd9673fd997a'
    """
    if scenario.ids == "plain":
        return f"C{member}"
    number = member + 1 if scenario.ids == "numbered" else 1
    return f"consumer-lab-{number}-{_uuid(scenario.seed, member)}"


def instance_id(member: int) -> str:
    """``group.instance.id`` of a static member: it survives restarts."""
    return f"instance-{member}"


def rack(scenario: Scenario, member: int) -> str:
    """The rack of a member."""
    return f"rack{member % scenario.racks}"


@lru_cache(maxsize=4096)
def replica_racks(partitions: int, racks: int) -> tuple[tuple[str, ...], ...]:
    """Per partition the racks of its two replicas, on neighbouring brokers."""
    return tuple((f"rack{p % racks}", f"rack{(p + 1) % racks}") for p in range(partitions))


AREAS_AND_FACTS = (
    """account audit basket billing catalog checkout claims courier credit customer delivery fleet
    fraud inventory invoice ledger loyalty metering offers orders payment pricing product refund
    returns search session shipment stock supplier tax warehouse""",
    """accepted adjusted approved archived booked cancelled changed clicked closed confirmed counted
    created declined delayed deleted enriched expired failed imported matched merged moved opened
    picked raised received released scored sent settled updated viewed""",
)
AREAS, FACTS = map(str.split, AREAS_AND_FACTS)


def topic_name(scenario: Scenario, topic: int) -> str:
    """The name of the topic of that number: ``<area>.<fact>``, different for every seed."""
    if scenario.ids == "plain":
        return f"t{topic}"
    drawn = draw(scenario, "topics")
    total = len(AREAS) * len(FACTS)
    # an odd step walks through all combinations before it repeats one
    place = ((drawn >> 16) + topic * (2 * (drawn & 0xFFFF) + 1)) % total
    name = f"{AREAS[place // len(FACTS)]}.{FACTS[place % len(FACTS)]}"
    return name if topic < total else f"{name}.v{topic // total + 1}"


URL_SAFE = bytes.maketrans(b"+/", b"__")


def topic_id(scenario: Scenario, topic: int, creation: int = 0) -> str:
    """The Uuid of a topic, in Kafka's base64 form (without ``-``); it differs by ``creation``."""
    text = b2a_base64(_sixteen(scenario.seed, f"topic/{creation}", topic), newline=False)
    return text[:22].translate(URL_SAFE).decode()


def draw(scenario: Scenario, what: str) -> int:
    """A number in 0 .. 2**32 - 1, drawn from the seed for one purpose."""
    return int.from_bytes(_stream(scenario, what, 4), "big")


def _uuid(seed: int, member: int) -> str:
    """A random (version 4) UUID drawn from the seed."""
    text = _sixteen(seed, "member", member).hex()
    variant = "89ab"[int(text[16], 16) & 3]
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-{variant}{text[17:20]}-{text[20:]}"


def _sixteen(seed: int, what: str, number: int) -> bytes:
    """16 random bytes for one of many; four neighbours share one hash."""
    first = 16 * (number & 3)
    return _sixty_four(seed, what, number >> 2)[first : first + 16]


@lru_cache(maxsize=16)
def _sixty_four(seed: int, what: str, block: int) -> bytes:
    return blake2b(f"{seed}/{what}/{block}".encode()).digest()


def _stream(scenario: Scenario, what: str, size: int) -> bytes:
    """``size`` random bytes drawn from the seed for one purpose."""
    seeded = f"{scenario.seed}/{what}"
    if size <= 64:
        return blake2b(seeded.encode(), digest_size=size).digest()
    return b"".join(
        _stream(scenario, f"{what}/{block}", min(64, size - 64 * block))
        for block in range(-(-size // 64))
    )
