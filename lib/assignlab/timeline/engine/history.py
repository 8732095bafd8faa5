"""What a run leaves: a log of events, who owned what when, who delivered what, samples.

Everything is plain data: names once, partitions as dense numbers, times in milliseconds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assignlab.timeline.config import Config
from assignlab.timeline.engine.log import Cluster, Log, joined
from assignlab.timeline.scenario import Scenario


class Event(NamedTuple):
    """One line of the log. ``member``: index in ``History.members``, -1 for the group."""

    time_ms: int
    kind: str
    member: int
    generation: int
    partitions: np.ndarray
    detail: str


class Ownership(NamedTuple):
    """A member owned ``partitions`` until ``until`` ms, each ``since`` its own moment and with the
    ``generation`` in which it was assigned: int64[n] each, in the order of the partitions."""

    partitions: np.ndarray
    member: int
    since: np.ndarray
    until: int
    generation: np.ndarray


class Sample(NamedTuple):
    """One sample over all partitions; ``lag`` in records behind the high watermark."""

    time_ms: int
    lag: int
    unowned: int
    committed_lag: int
    end_offset: int


class Watched(NamedTuple):
    """The four offsets of a watched partition (a dense number); ``owner``: -1 for none."""

    time_ms: int
    partition: int
    committed: int
    position: int
    high_watermark: int
    log_end_offset: int
    owner: int


@dataclass(eq=False, repr=False)
class History:
    """One simulated history.

    ``events``: in order. ``owned``: one row per member and moment at which it lost partitions.
    ``samples``: one row per sample; ``watched``: per sample and watched partition. ``calls``,
    ``polls``, ``commits`` and ``refused`` ones: how many there were; ``aborted``: records of
    transactions that were given up. ``produced`` int64: log end
    offsets at the end; ``frontier`` int64: how far the group is through with each partition for
    good.
    """

    scenario: Scenario
    config: Config
    strategy: tuple[str, ...]
    seed: int
    members: list[str]
    cluster: Cluster
    log: Log
    events: list[Event] = field(default_factory=list)
    owned: list[Ownership] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    watched: list[Watched] = field(default_factory=list)
    calls: int = 0
    polls: int = 0
    commits: int = 0
    refused: int = 0
    aborted: int = 0
    produced: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    frontier: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    _known: dict = field(default_factory=dict)

    def __repr__(self):
        members, seconds = len(self.members), self.scenario.duration_ms / 1000
        told = (
            f"{members} member{'s' * (members != 1)} in {seconds:g} s, {len(self.events):,} events"
        )
        return f"History({', '.join(self.strategy)}, seed {self.seed}): {told}"

    def once(self, measure: Callable[["History"], Any]) -> Any:
        """``measure(self)``, computed once; for histories that are over."""
        if measure not in self._known:
            self._known[measure] = measure(self)
        return self._known[measure]

    def events_frame(self) -> pd.DataFrame:
        """The log as a table: time_ms, kind, member, generation, partitions, count, detail.

        ``partitions``: each as ``topic-partition``, separated by blanks.
        """
        rows = [
            (
                e.time_ms, e.kind, self.members[e.member] if e.member >= 0 else "", e.generation,
                " ".join(self.cluster.labels(e.partitions)), e.partitions.size, e.detail,
            )
            for e in self.events
        ]  # fmt: skip
        return pd.DataFrame(
            rows,
            columns=["time_ms", "kind", "member", "generation", "partitions", "count", "detail"],
        )

    def ownership(self) -> pd.DataFrame:
        """Who owned what: member, topic, partition, from_ms, to_ms, generation; one row each.

        A member owns a partition from the assignment until it gives it up, or until the group goes
        on without that member, whichever is first.
        """
        dense, member, since, until, generation = self.owned_arrays()
        return pd.DataFrame(
            {
                "member": np.array(self.members, dtype=object)[member],
                **self.cluster.named(dense),
                "from_ms": since,
                "to_ms": until,
                "generation": generation,
            }
        )

    def owned_arrays(self) -> Ownership:
        """All of ``owned`` in one, fields int64[n]: who owned a partition, since and until when."""
        return joined(self.owned, Ownership)
