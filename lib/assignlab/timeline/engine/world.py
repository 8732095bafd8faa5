"""What the processes and brokers of one run share: time, topics, logs, and what is drawn."""

import random
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.jvm.hash_map import collection_capacity, hash_map_order
from assignlab.jvm.names import Names, random_uuid
from assignlab.timeline.config import Config
from assignlab.timeline.engine.clock import Clock
from assignlab.timeline.engine.history import Event, History, Sample, Watched
from assignlab.timeline.engine.log import EMPTY, Cluster, Log
from assignlab.timeline.engine.requests import Groups
from assignlab.timeline.scenario import Member, Scenario


class World:
    """Everything that exists in one run, but the coordinator of the group.

    ``running``: the last process of every member, by name; ``processes``: all there ever were, each a
    :class:`~assignlab.timeline.engine.consumer.Consumer`.
    ``coordinator``: the broker that coordinates the group.
    """

    def __init__(
        self, scenario: Scenario, config: Config, strategies: tuple[Strategy, ...], seed: int,
        ids: Mapping[str, Sequence[str]],
    ):  # fmt: skip
        self.scenario = scenario
        self.config = config
        self.strategies = strategies
        self.clock = Clock()
        self.coordinator = 0
        self._random = random.Random(seed)
        self._ids = {name: iter(known) for name, known in ids.items()}
        self.cluster = Cluster.of(scenario)
        topic_ids = [self.known_id(name) or self.topic_id() for name in self.cluster.names]
        held = {name: self._dense(scenario.held[name]) for name in scenario.held}
        self.groups = Groups(self.cluster, topic_ids, held)
        self.log = Log(self.cluster.topic.size)
        for topic, spec in enumerate(scenario.topics):
            self.log.create(self.cluster.dense_range(topic, 0, spec.partitions), spec.rate, 0)
        self.history = History(
            scenario=scenario,
            config=config,
            strategy=tuple(strategy.name for strategy in strategies),
            seed=seed,
            members=list(scenario.processes),
            cluster=self.cluster,
            log=self.log,
        )
        self.running: dict[str, Any] = {}
        self.processes: list[Any] = []
        self._watched = self._dense(scenario.watch)
        self._ordered: dict[tuple[str, ...], tuple[int, ...]] = {}

    def _dense(self, named: Sequence[tuple[str, int]]) -> np.ndarray:
        """The dense numbers of (topic, partition)."""
        first, index = self.cluster.first, self.cluster.index
        return np.array([first[index[topic]] + p for topic, p in named], dtype=np.int64)

    # ---- what is drawn -------------------------------------------------------------------------

    def known_id(self, name: str) -> str | None:
        """The id that a topic, or a member that joins, is known to get; None where it is drawn."""
        return next(self._ids.get(name, iter(())), None)

    def uuid(self) -> str:
        """A random UUID, as member ids end with."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def topic_id(self) -> str:
        """A random Kafka Uuid in base64, as topics and the consumer protocol's members have one."""
        return random_uuid(self._random)

    def consumer_id(self, name: str) -> str:
        """A consumer id as Kafka 0.8 and MetaQ form it: group, host, and something random."""
        return f"lab_{name}-{self._random.getrandbits(40)}-{self.uuid()[:8]}"

    def start_delay(self) -> int:
        """How much later than planned a process starts at the beginning, or restarts."""
        return self.drawn_ms(self.config.start_spread_ms)

    def drawn_ms(self, most: int) -> int:
        """So many milliseconds at most."""
        return self._random.randint(0, most)

    def tossed(self) -> bool:
        """One of two ways, each as often."""
        return self._random.random() < 0.5

    def drawn_for(self, name: str) -> int:
        """What a process that starts now draws from, by itself: 31 bits."""
        return random.Random(f"{self.history.seed} {name} {self.clock.now}").getrandbits(31)

    def heartbeat_delay(self) -> int:
        """How much later than due a heartbeat is sent."""
        most = self.config.heartbeat_drift_ms
        return self.drawn_ms(most) if most else 0

    # ---- what members know ---------------------------------------------------------------------

    def subscription_of(self, member: Member, metadata: np.ndarray) -> tuple[int, ...]:
        """The topic indices that a member subscribes to, in the order in which it sends them."""
        if member.pattern is not None:
            return self.topics_matching(member.pattern, metadata)
        named = member.topics
        if named is None:
            named = [topic.name for topic in self.scenario.topics]
        named = tuple(named)
        if named not in self._ordered:
            wanted = [self.cluster.index[name] for name in dict.fromkeys(named)]
            self._ordered[named] = self._in_hash_order(wanted)
        return self._ordered[named]

    def topics_matching(self, pattern: str, metadata: np.ndarray) -> tuple[int, ...]:
        """The existing topics that a pattern matches as a whole."""
        matches = re.compile(pattern).fullmatch
        names = self.cluster.names
        return self._in_hash_order([t for t, n in enumerate(names) if metadata[t] and matches(n)])

    def _in_hash_order(self, wanted: list[int]) -> tuple[int, ...]:
        if len(wanted) < 2:
            return tuple(wanted)
        hashes = Names([self.cluster.names[t] for t in wanted]).hashes
        order = hash_map_order(hashes, collection_capacity(len(wanted)))
        return tuple(wanted[i] for i in order.tolist())

    def strategies_of(self, member: Member) -> tuple[Strategy, ...]:
        """A member's partition.assignment.strategy."""
        if member.strategies is None:
            return self.strategies
        return tuple(assignors.get(name) for name in member.strategies)

    @property
    def server_strategy(self) -> Strategy:
        """The coordinator's strategy that a member asks for first (``group.remote.assignor``)."""
        asked = (s for m in self.scenario.versions for s in self.strategies_of(m))
        return next(s for s in asked if s.protocol == "server")

    # ---- what processes and brokers do together ------------------------------------------------

    def grow(self, topic: int, partitions: int, rate: float) -> None:
        """A topic has so many partitions from now on; new ones take ``rate`` records a second."""
        new = self.cluster.dense_range(topic, int(self.cluster.partitions[topic]), partitions)
        self.log.create(new, rate, self.clock.now)
        self.cluster.created += int(self.cluster.partitions[topic] == 0)
        self.cluster.partitions[topic] = partitions

    def delete(self, topic: int) -> None:
        """A topic is gone, with all records that nobody has read."""
        partitions = self.cluster.dense_range(topic, 0, int(self.cluster.partitions[topic]))
        for process in self.processes:
            if process.alive:
                process.advance()
        reached = np.maximum(self._reached()[0], self.log.reach)
        for process in self.processes:
            if process.alive:
                held = self.log.among(process.own.partition, partitions)
                place = process.own.partition[held]
                reached[place] = np.maximum(reached[place], process.own.position[held])
        self.log.delete(partitions, reached[partitions], self.clock.now)
        self.cluster.partitions[topic] = 0

    def play_commits(self) -> None:
        """What has arrived so far is judged by how things were so far.

        A process with a commit that is being decided on waits for the others.
        """
        for process in self.running.values():
            if not process.deciding:
                process.advance()

    def judge_commits(self) -> None:
        """Things are not what they were; call :meth:`play_commits` before."""
        for process in self.running.values():
            process.set_verdict()

    # ---- what is noted -------------------------------------------------------------------------

    def tell(
        self, kind: str, generation: int, detail: str, member: int = -1,
        partitions: np.ndarray = EMPTY,
    ) -> None:  # fmt: skip
        """Note an event, of the group where no member is named."""
        now = self.clock.now
        self.history.events.append(Event(now, kind, member, generation, partitions, detail))

    def sample(self) -> None:
        """Note lag and offsets, now and every ``sample_ms``."""
        now = self.clock.now
        reached, owner = self._reached()
        partitions = np.flatnonzero((self.log.since <= now) & (now < self.log.until))
        ends = self.log.ends(partitions, now)
        high = self.log.ends(partitions, now - self.config.replication_ms)
        committed = np.maximum(self.log.committed[partitions], 0)
        self.history.samples.append(
            Sample(
                time_ms=now,
                lag=int(np.maximum(high - reached[partitions], 0).sum()),
                unowned=int((owner[partitions] < 0).sum()),
                committed_lag=int(np.maximum(high - committed, 0).sum()),
                end_offset=int(ends.sum()),
            )
        )
        if self._watched.size:
            high = self.log.ends(self._watched, now - self.config.replication_ms)
            ends = self.log.ends(self._watched, now)
            for k, p in enumerate(self._watched.tolist()):
                self.history.watched.append(
                    Watched(
                        time_ms=now,
                        partition=p,
                        committed=int(self.log.committed[p]),
                        position=int(reached[p]),
                        high_watermark=int(high[k]),
                        log_end_offset=int(ends[k]),
                        owner=int(owner[p]),
                    )
                )
        if now + self.scenario.sample_ms <= self.scenario.duration_ms:
            self.clock.look(self.scenario.sample_ms, self.sample)

    def _reached(self) -> tuple[np.ndarray, np.ndarray]:
        """(position of the owner, else what is committed; the owner's number, else -1)."""
        reached = np.maximum(self.log.committed, 0)
        owner = np.full(reached.size, -1)
        for process in self.running.values():
            if process.alive and process.valid:
                process.advance()
                reached[process.own.partition] = process.own.position
                owner[process.held] = process.number
        return reached, owner

    def finish(self) -> History:
        """The run is over: book what processes still hold, and add up what they did."""
        history = self.history
        history.produced = self.log.ends(np.arange(self.log.rate.size), self.clock.now)
        history.frontier = np.maximum(self.log.committed, 0)
        for process in self.processes:
            process.advance()
            history.aborted += process.loop.aborted  # not what is still open
            if process.alive:
                if process.valid:
                    history.frontier[process.own.partition] = process.processed()
                process.passed_by("end of the run")
                process.give_up(process.held, "end of the run")
            history.polls += process.loop.polls
            history.commits += process.loop.commits
            history.refused += process.loop.failed
        history.calls = self.clock.events
        return history
