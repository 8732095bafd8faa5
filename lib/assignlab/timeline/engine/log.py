"""The partitions' logs and the offsets topic, as arrays; deliveries as intervals of offsets.

Partitions have dense numbers: topic by topic in the order of creation, with room for those that
are added later. Four offsets a partition: last committed <= position of its owner <= high
watermark <= log end offset.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

import numpy as np

from assignlab.group.assignment import code, partition_of, topic_of
from assignlab.timeline.engine import poll_loop
from assignlab.timeline.scenario import Scenario

EMPTY = np.empty(0, dtype=np.int64)

FOR_EVER = 2**60
"""Milliseconds, so many that no run adds a part of them that counts."""

NO_OFFSET = -1
"""Stands for "nothing committed" among committed offsets."""

Rows = TypeVar("Rows", bound=tuple)


class Delivery(NamedTuple):
    """What one owner delivered: offsets ``starts`` to ``stops`` of ``partitions``, int64[n] each.

    ``because``: why the delivery before it ended, an index of ``Log.reasons``; ``since``: from when
    on it was the owner, both int64[n]; ``member``: who it was; ``until``: ms.
    """

    partitions: np.ndarray
    starts: np.ndarray
    stops: np.ndarray
    because: np.ndarray
    member: int
    since: np.ndarray
    until: int


class Skip(NamedTuple):
    """Offsets ``low`` to ``high`` that a new owner passed over: int64[n] each, as ``reason``, an
    index of ``Log.reasons``; ``now``: when, in ms."""

    partitions: np.ndarray
    low: np.ndarray
    high: np.ndarray
    reason: np.ndarray
    now: int


def joined(rows: list[Rows], kind: type[Rows]) -> Rows:
    """Rows of arrays and numbers as one of int64[n]: a number counts for all of its row."""
    if not rows:
        return kind(*[EMPTY] * len(kind._fields))
    sizes = [row[0].size for row in rows]
    return kind(
        *(
            np.concatenate(column)
            if isinstance(column[0], np.ndarray)
            else np.repeat(column, sizes)
            for column in zip(*rows, strict=True)
        )
    )


@dataclass(eq=False)
class Cluster:
    """Topics as the brokers know them now. ``partitions`` int64[topics], 0 before creation.

    ``names``: topics that exist at the start, then the others by creation; ``first`` int64[topics]:
    dense number of partition 0; ``topic``: that of every dense number there will ever be;
    ``created``: how many were created since the start.
    """

    names: list[str]
    first: np.ndarray
    partitions: np.ndarray
    topic: np.ndarray
    created: int = 0
    index: dict[str, int] = field(default_factory=dict)

    @staticmethod
    def of(scenario: Scenario) -> "Cluster":
        """The cluster at the start of a scenario."""
        most = {topic.name: topic.partitions for topic in scenario.topics}
        for action in sorted(scenario.actions, key=lambda action: action.at_ms):
            if action.kind == "create_topic":
                most[action["topic"].name] = action["topic"].partitions
            elif action.kind == "add_partitions":
                most[action["topic"]] = action["partitions"]
        names = list(most)
        counts = np.zeros(len(names), dtype=np.int64)
        counts[: len(scenario.topics)] = [topic.partitions for topic in scenario.topics]
        sizes = np.array(list(most.values()), dtype=np.int64)
        first = np.cumsum(sizes) - sizes
        index = {name: t for t, name in enumerate(names)}
        return Cluster(names, first, counts, np.repeat(np.arange(len(names)), sizes), index=index)

    def dense_range(self, topic: int, start: int, stop: int) -> np.ndarray:
        """The dense numbers of a topic's partitions from ``start`` to ``stop``."""
        return np.arange(start, stop) + self.first[topic]

    def dense(self, codes: np.ndarray) -> np.ndarray:
        """The dense numbers of partition codes."""
        return self.first[topic_of(codes)] + partition_of(codes)

    def codes(self, partitions: np.ndarray) -> np.ndarray:
        """The codes of dense partition numbers."""
        topic = self.topic[partitions]
        return code(topic, partitions - self.first[topic])

    def of_topics(self, partitions: np.ndarray, topics: Sequence[int]) -> np.ndarray:
        """Which of the partitions belong to one of the topics: bool[n]."""
        wanted = np.zeros(len(self.names), dtype=np.bool_)
        wanted[list(topics)] = True
        return wanted[self.topic[partitions]]

    def labels(self, partitions: np.ndarray) -> list[str]:
        """``topic-partition`` of dense numbers."""
        return [
            f"{topic}-{number}"
            for topic, number in zip(*self.named(partitions).values(), strict=True)
        ]

    def named(self, partitions: np.ndarray) -> dict[str, np.ndarray]:
        """The columns ``topic`` and ``partition`` of dense numbers: names and numbers."""
        topic = self.topic[partitions]
        names = np.array(self.names, dtype=object)[topic]
        return {"topic": names, "partition": partitions - self.first[topic]}


class Log:
    """The logs of all partitions, what is committed of them, and who delivered what.

    ``since`` and ``until`` int64 ms: when a partition was created and deleted (far in the future until
    then). ``rate`` float64 records per ms from ``created`` int64 ms on: the line that the poll loops
    read, which lies flat once the partition is deleted. ``committed`` int64. ``reach`` int64: how far a
    partition was ever delivered; ``ended`` int64: why its last delivery ended, an index of ``reasons``;
    ``back_to``, ``back_by`` int64: where a commit set the offset back, and why.
    """

    def __init__(self, partitions: int):
        self.rate = np.zeros(partitions)
        self.created = np.full(partitions, poll_loop.NEVER)
        self.since = np.full(partitions, poll_loop.NEVER)
        self.until = np.full(partitions, poll_loop.NEVER)
        self.committed = np.full(partitions, NO_OFFSET)
        self.reach = np.zeros(partitions, dtype=np.int64)
        self.ended = np.zeros(partitions, dtype=np.int64)
        self.back_to = np.full(partitions, NO_OFFSET - 1)
        self.back_by = np.zeros(partitions, dtype=np.int64)
        self.reasons: list[str] = ["first delivery"]
        self._marks = np.zeros(partitions, dtype=np.bool_)
        self.deliveries: list[Delivery] = []
        self.skips: list[Skip] = []

    def create(self, partitions: np.ndarray, rate: float, now: int) -> None:
        """These partitions exist from now on and take ``rate`` records a second.

        A hair more, in fact, so that rounding takes no whole record away.
        """
        self.rate[partitions] = rate / 1000 * (1 + 2**-51)
        self.created[partitions] = self.since[partitions] = now

    def delete(self, partitions: np.ndarray, read: np.ndarray, now: int) -> None:
        """These partitions are gone, and with them what was not ``read`` yet: their logs end there.

        The poll loops know rates alone, so what is left, and half a record, is spread so thin that
        no record is added.
        """
        self.until[partitions] = now
        self.created[partitions] = -FOR_EVER
        self.rate[partitions] = (read + 0.5) / FOR_EVER

    def ends(self, partitions: np.ndarray, now: int) -> np.ndarray:
        """Log end offsets at ``now``."""
        return poll_loop.end_offsets(now, partitions, self.rate, self.created)

    def among(self, partitions: np.ndarray, others: np.ndarray) -> np.ndarray:
        """Which of the partitions are among the others: bool[n]; ``numpy.isin`` for few of many."""
        self._marks[others] = True
        found = self._marks[partitions]
        self._marks[others] = False
        return found

    def reason(self, text: str) -> int:
        """The number of a reason."""
        if text not in self.reasons:
            self.reasons.append(text)
        return self.reasons.index(text)

    def start_offsets(
        self, partitions: np.ndarray, reset: np.ndarray, now: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Where a new owner starts, and why the delivery before it ended there.

        That is what is committed, else ``reset``. What is skipped in doing so is noted.
        """
        committed = self.committed[partitions]
        starts = np.where(committed == NO_OFFSET, reset, committed)
        because = np.where(
            committed == self.back_to[partitions], self.back_by[partitions], self.ended[partitions]
        )
        ahead = starts > self.reach[partitions]
        if ahead.any():
            why = np.where(committed == NO_OFFSET, self.reason("auto.offset.reset=latest"), because)
            low = self.reach[partitions][ahead]
            self.skips.append(Skip(partitions[ahead], low, starts[ahead], why[ahead], now))
        return starts, because

    def commit(self, partitions: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Keep the latest commit; returns the partitions whose offset went back."""
        back = partitions[offsets < self.committed[partitions]]
        self.committed[partitions] = offsets
        return back

    def went_back(self, partitions: np.ndarray, why: str) -> None:
        """What is committed now is older than what was committed before."""
        self.back_to[partitions] = self.committed[partitions]
        self.back_by[partitions] = self.reason(why)

    def delivered(self, delivery: Delivery, why: str | None = None) -> None:
        """One owner's deliveries end, for the reason ``why``; None: it pauses and will go on."""
        self.deliveries.append(delivery)
        np.maximum.at(self.reach, delivery.partitions, delivery.stops)
        if why is not None:
            self.ended[delivery.partitions] = self.reason(why)
