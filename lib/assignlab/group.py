"""What an assignor sees of a group: topics, members, claims.

Names appear once, in :class:`~assignlab.jvm.Names`; everything else is arrays of indices. A group
is never changed: events make new groups that share what stayed the same.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from assignlab.assignment import code
from assignlab.jvm import Names

ABSENT = -(2**31)
"""Stands for "no generation" in arrays of generations (real ones start at -1)."""

NO_METADATA = -1
"""The partition count of a topic that members name but the cluster does not have."""


@dataclass(frozen=True, eq=False)
class Topics:
    """All topics that the group speaks of: the cluster's and those that members merely name.

    ``partitions``: int64[topics], count per topic, ``NO_METADATA`` where the cluster has none.
    ``racks``: per topic, per partition the racks of its replicas (None = broker without rack);
    None where the cluster's racks are not known. ``ids``: topic Uuids in Kafka's base64 form.
    ``queues``: per topic the (broker, number) that each partition index stands for, in order of
    creation, for systems whose partitions live on named brokers.
    """

    names: Names
    partitions: np.ndarray
    racks: tuple[tuple[tuple[str | None, ...], ...] | None, ...] | None = None
    ids: tuple[str | None, ...] | None = None
    queues: tuple[tuple[tuple[str, int], ...] | None, ...] | None = None

    def __len__(self):
        return len(self.names)


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


@dataclass(frozen=True, eq=False, slots=True)
class Claims:
    """What the members say they own, in the order in which the assignor reads it.

    Member i claims ``codes[offsets[i]:offsets[i + 1]]`` (see :func:`assignlab.assignment.code`);
    ``present`` bool[members] tells "claims nothing" from "sends no claim". ``generation`` and
    ``sub_generation`` int64[members], ``ABSENT`` where there is none.
    """

    offsets: np.ndarray
    codes: np.ndarray
    present: np.ndarray
    generation: np.ndarray
    sub_generation: np.ndarray

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


@dataclass(frozen=True, eq=False)
class Group:
    """One group at one rebalance. ``options`` are a strategy's own fields of the document."""

    topics: Topics
    members: Members
    claims: Claims
    options: Mapping[str, Any] = field(default_factory=dict)
    _prepared: dict = field(default_factory=dict, repr=False)

    def prepared(self, prepare: Callable[["Group"], Any]) -> Any:
        """``prepare(self)``, computed once per set of topics and members (and options).

        ``prepare`` is a module-level function that does not look at claims; groups made by
        :meth:`with_claims` share its answer.
        """
        try:
            return self._prepared[prepare]
        except KeyError:
            value = self._prepared[prepare] = prepare(self)
            return value

    def with_claims(self, claims: Claims) -> "Group":
        """The same topics and members with other claims."""
        return Group(self.topics, self.members, claims, self.options, self._prepared)

    def with_topics(self, topics: Topics) -> "Group":
        """The same members and claims over other topics (indices must keep their meaning)."""
        return replace(self, topics=topics, _prepared={})

    def __getstate__(self):
        return self.topics, self.members, self.claims, dict(self.options)

    def __setstate__(self, state):
        topics, members, claims, options = state
        for name, value in zip(
            ("topics", "members", "claims", "options", "_prepared"),
            (topics, members, claims, options, {}),
            strict=True,
        ):
            object.__setattr__(self, name, value)


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


def group(
    topics: Mapping[str, int],
    members: Mapping[str, Sequence[str]],
    owned: Mapping[str, Sequence[tuple[str, int]]] | None = None,
    generation: int | None = None,
    instances: Mapping[str, str] | None = None,
    racks: Mapping[str, str] | None = None,
    streams: int | None = None,
) -> Group:
    """A group from plain names: the short way for examples and notebooks.

    ``topics``: partition count by topic; ``members``: subscribed topics by member, in the
    coordinator's order; ``owned``: claims by member; ``generation`` of all claims; ``streams``:
    threads of every consumer (Kafka 0.8).

    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> len(g.members), len(g.topics)
    (2, 1)
    """
    from assignlab.document import parse

    return parse(
        {
            "topics": [{"name": name, "partitions": count} for name, count in topics.items()],
            "members": [
                {
                    "id": member,
                    "topics": list(names),
                    **({"owned": owned[member]} if owned and member in owned else {}),
                    **(
                        {"generation": generation, "sub_generation": generation}
                        if generation is not None
                        else {}
                    ),
                    **(
                        {"instance": instances[member]} if instances and member in instances else {}
                    ),
                    **({"rack": racks[member]} if racks and member in racks else {}),
                    **({"streams": streams} if streams is not None else {}),
                }
                for member, names in members.items()
            ],
        }
    )


def all_codes(topics: Topics) -> np.ndarray:
    """The codes of every partition that the cluster has, by topic index and partition: int64[n]."""
    counts = np.maximum(topics.partitions, 0)
    starts = np.cumsum(counts) - counts
    topic = np.repeat(np.arange(len(topics)), counts)
    return code(topic, np.arange(counts.sum()) - starts[topic])
