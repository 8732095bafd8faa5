"""What an assignor sees of a group: topics, members, claims.

Names appear once, in :class:`~assignlab.jvm.names.Names`; everything else is arrays of indices. A
group is never changed: events make new groups that share what stayed the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from assignlab.compiled import njit
from assignlab.group.assignment import no_group, number_of
from assignlab.jvm.names import Names
from assignlab.once import once

ABSENT = -(2**31)
"""Stands for "no generation" in arrays of generations (real ones start at -1)."""

NO_METADATA = -1
"""The partition count of a topic that members name but the cluster does not have."""

MIXED = MappingProxyType({"subscribed": "by names and by regular expressions"})
"""The options of a group of which some members name topics, and others have a regular expression, or
another one: KIP-848's coordinator takes what these match for different, though it is the same."""


@dataclass(frozen=True, eq=False)
class Topics:
    """All topics that the group speaks of: the cluster's and those that members merely name.

    ``partitions``: int64[topics], count per topic, ``NO_METADATA`` where the cluster has none.
    ``racks``: per topic, per partition the racks of its replicas (None = broker without rack);
    None where the cluster's racks are not known. ``ids``: topic Uuids in Kafka's base64 form.
    ``queues``: per topic the (broker, number) that each partition index stands for, in order of
    creation, for systems whose partitions live on named brokers. ``weights``: per topic one number
    for each partition (float64[partitions]: records a second, bytes or lag, as the caller counts),
    None where a topic has none; None where no topic has. :func:`weights_of` reads them.
    """

    names: Names
    partitions: np.ndarray
    racks: tuple[tuple[tuple[str | None, ...], ...] | None, ...] | None = None
    ids: tuple[str | None, ...] | None = None
    queues: tuple[tuple[tuple[str, int], ...] | None, ...] | None = None
    weights: tuple[np.ndarray | None, ...] | None = None
    _prepared: dict = field(default_factory=dict, init=False, repr=False)

    def __len__(self):
        return len(self.names)

    def prepared(self, prepare: Callable[["Topics"], Any]) -> Any:
        """``prepare(self)``, computed once: members may come and go, topics stay."""
        known = self._prepared
        if prepare not in known:
            known[prepare] = prepare(self)
        return known[prepare]

    def __getstate__(self):
        return self.__dict__ | {"_prepared": {}}


@dataclass(frozen=True, eq=False)
class Members:
    """The members, in the order in which the coordinator hands them over.

    Members with the same list of topics share a subscription: member i subscribes to
    ``topics[offsets[s]:offsets[s + 1]]`` with ``s = subscription[i]``, topic indices in the order
    in which the assignor iterates them. ``subscription`` int64[members], ``offsets``
    int64[subscriptions + 1], ``topics`` int64[...]. ``instances`` and ``racks``: one name or None
    per member, or None for "nobody has one". ``streams``: Kafka 0.8's threads, per member one
    number or one per subscribed topic.
    """

    names: Names
    subscription: np.ndarray
    offsets: np.ndarray
    topics: np.ndarray
    instances: tuple[str | None, ...] | None = None
    racks: tuple[str | None, ...] | None = None
    streams: tuple[int | tuple[int, ...] | None, ...] | None = None

    def __len__(self):
        return len(self.names)

    def topics_of(self, member: int) -> np.ndarray:
        """The subscribed topic indices of one member, in its own order (a view)."""
        s = self.subscription[member]
        return self.topics[self.offsets[s] : self.offsets[s + 1]]


@dataclass(eq=False, slots=True)
class Claims:
    """What the members say they own, in the order in which the assignor reads it.

    Member i claims ``codes[offsets[i]:offsets[i + 1]]`` (see
    :func:`assignlab.group.assignment.code`); ``present`` bool[members] tells "claims nothing" from
    "sends no claim". ``generation`` and ``sub_generation`` int64[members], ``ABSENT`` where there
    is none.
    """

    offsets: np.ndarray
    codes: np.ndarray
    present: np.ndarray
    generation: np.ndarray
    sub_generation: np.ndarray

    @property
    def claimants(self) -> np.ndarray:
        """The member of every entry of ``codes``: int64[n]."""
        return np.repeat(np.arange(self.offsets.size - 1), np.diff(self.offsets))

    @staticmethod
    def none(members: int) -> "Claims":
        """Nobody claims anything."""
        return Claims(
            np.zeros(members + 1, dtype=np.int64),
            np.empty(0, dtype=np.int64),
            np.zeros(members, dtype=np.bool_),
            np.full(members, ABSENT, dtype=np.int64),
            np.full(members, ABSENT, dtype=np.int64),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Group:
    """One group at one rebalance.

    ``sent``: the members with their subscriptions as they sent them, in which a topic may be named
    twice. Most originals do not mind, and most code here reads :attr:`members` instead; strategies
    whose original counts the member twice read ``sent``. ``options`` are a strategy's own fields of
    the document.
    """

    topics: Topics
    sent: Members
    claims: Claims
    options: Mapping[str, Any] = field(default_factory=dict)
    _prepared: dict = field(default_factory=dict)
    _read: dict = field(default_factory=dict, init=False)

    def __repr__(self):
        partitions = int(self.topics.partitions[self.topics.partitions != NO_METADATA].sum())
        told = f"members={len(self.sent)}, topics={len(self.topics)}, partitions={partitions}"
        return f"Group({told}, claimed={self.claims.codes.size})"

    @once
    def members(self) -> Members:
        """The members with every topic once in a subscription; ``sent`` itself if that is so."""
        return self.prepared(each_topic_once)

    def prepared(self, prepare: Callable[["Group"], Any]) -> Any:
        """``prepare(self)``, computed once per set of topics and members (and options).

        ``prepare`` is a module-level function that does not look at claims; groups made by
        :meth:`with_claims` share its answer.
        """
        known = self._prepared
        if prepare not in known:  # a KeyError takes longer than many an answer
            known[prepare] = prepare(self)
        return known[prepare]

    def of_claims(self, read: Callable[["Group"], Any]) -> Any:
        """``read(self)``, computed once: what an assignment and the next claims both need to know."""
        known = self._read
        if read not in known:
            known[read] = read(self)
        return known[read]

    @property
    def preparations(self) -> int:
        """How many answers :meth:`prepared` has by now."""
        return len(self._prepared)

    def with_claims(self, claims: Claims) -> "Group":
        """The same topics and members, and all that is known of them, with other claims."""
        made = object.__new__(Group)
        made.__dict__.update(self.__dict__, claims=claims, _read={})
        return made

    def with_topics(self, topics: Topics) -> "Group":
        """The same members and claims over other topics (indices must keep their meaning)."""
        return replace(self, topics=topics, _prepared={})

    def __getstate__(self):
        given = {"topics": self.topics, "sent": self.sent, "claims": self.claims}
        return given | {"options": dict(self.options), "_prepared": {}, "_read": {}}


def a_group(given: Any) -> Group:
    """What is given, if it is a group. Raises :class:`~assignlab.errors.DocumentError` for anything
    else, such as its document."""
    if not isinstance(given, Group):
        raise no_group(given)
    return given


def subscriptions_by_topic(group: Group) -> np.ndarray:
    """Whether a subscription names a topic: bool[subscriptions, topics]."""
    members = group.members
    return named(members.offsets, members.topics, group.topics.partitions.size)[0]


@njit
def first_numbers(partitions):
    """The number of each topic's first partition, all numbered topic by topic, and how many there
    are: int64[topics + 1]. A topic without metadata has none."""
    first = np.zeros(partitions.size + 1, dtype=np.int64)
    for t in range(partitions.size):
        first[t + 1] = first[t] + max(partitions[t], 0)
    return first


def numbers_of(group: Group, codes: np.ndarray) -> np.ndarray:
    """The place of each code among the partitions of all topics, topic by topic: int64[n]."""
    counts = np.maximum(group.topics.partitions, 0)
    return number_of(codes, np.cumsum(counts) - counts)


def weights_of(group: Group) -> np.ndarray:
    """The weight of every partition, topic by topic: float64[partitions of all topics].

    For ``group.prepared``. A partition of a topic without weights weighs 1, so that without any the
    load of a member is its number of partitions.

    >>> from assignlab.group import group
    >>> g = group({"t": 2, "u": 1}, {"a": ["t", "u"]}, weights={"t": [2.5, 0]})
    >>> g.prepared(weights_of).tolist()
    [2.5, 0.0, 1.0]
    """
    counts = np.maximum(group.topics.partitions, 0)
    weights = np.ones(int(counts.sum()))
    end = 0
    for count, own in zip(counts.tolist(), group.topics.weights or (), strict=False):
        end += count
        if own is not None:
            weights[end - count : end] = own[:count]  # a deleted topic's stay in the list
    return weights


def subscriptions(lists: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(subscription, offsets, topics) of :class:`Members` from one list of topic indices each.

    >>> [a.tolist() for a in subscriptions([[0, 1], [1], [0, 1]])]
    [[0, 1, 0], [0, 2, 3], [0, 1, 1]]
    """
    seen: dict[tuple[int, ...], int] = {}
    of_member = [seen.setdefault(tuple(topics), len(seen)) for topics in lists]
    offsets = np.cumsum([0] + [len(topics) for topics in seen], dtype=np.int64)
    flat = [topic for topics in seen for topic in topics]
    return np.array(of_member, dtype=np.int64), offsets, np.array(flat, dtype=np.int64)


def each_topic_once(group: Group) -> Members:
    """:attr:`Group.members`: a topic stands where it is named first.

    Of a consumer's streams (Kafka 0.8) the last mention of a topic counts, as in a map.
    """
    sent = group.sent
    if not named(sent.offsets, sent.topics, group.topics.partitions.size)[1]:
        return sent
    lists = [sent.topics_of(m).tolist() for m in range(len(sent))]
    streams = sent.streams and tuple(
        tuple(dict(zip(topics, each, strict=True)).values()) if isinstance(each, tuple) else each
        for topics, each in zip(lists, sent.streams, strict=True)
    )
    subscription, offsets, topics = subscriptions([list(dict.fromkeys(names)) for names in lists])
    return replace(sent, subscription=subscription, offsets=offsets, topics=topics, streams=streams)


@njit
def named(offsets, topics, known):
    """(bool[subscriptions, known], whether a subscription names a topic; whether one does so
    twice)."""
    subscribed = np.zeros((offsets.size - 1, known), dtype=np.bool_)
    twice = False
    for s in range(offsets.size - 1):
        for k in range(offsets[s], offsets[s + 1]):
            twice |= subscribed[s, topics[k]]
            subscribed[s, topics[k]] = True
    return subscribed, twice
