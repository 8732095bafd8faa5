"""One run: the clock, the brokers, the processes, and what is done to them."""

import random
import re
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Sequence

import numpy as np

from assignlab import assignors
from assignlab.jvm import Names, collection_capacity, hash_map_order
from assignlab.strategy import Strategy
from assignlab.timeline import classic, consumer_group, metaq, zookeeper
from assignlab.timeline.clock import Clock
from assignlab.timeline.config import Config, TimelineError
from assignlab.timeline.consumer import Consumer
from assignlab.timeline.history import History
from assignlab.timeline.log import Cluster, Log
from assignlab.timeline.poll_loop import ABORTED, COMMITS, POLLS
from assignlab.timeline.requests import Groups
from assignlab.timeline.scenario import Action, Member, Scenario

CLASSIC = ("eager", "cooperative")


class World:
    """Everything that exists in one run."""

    def __init__(
        self, scenario: Scenario, config: Config, strategies: tuple[Strategy, ...], seed: int
    ):
        self.scenario = scenario
        self.config = config
        self.strategies = strategies
        self.clock = Clock()
        self._random = random.Random(seed)
        self.cluster = Cluster.of(scenario)
        self.topic_ids = [self._topic_id() for _ in self.cluster.names]
        self.log = Log(self._partitions())
        for topic, spec in enumerate(scenario.topics):
            self.log.create(self._range(topic, 0, spec.partitions), spec.rate, 0)
        self.rates = {topic.name: topic.rate for topic in scenario.topics}
        self.members = scenario.processes
        self.numbers = {name: number for number, name in enumerate(self.members)}
        self.history = History(
            scenario, config, tuple(s.name for s in strategies), seed, list(self.members),
            self.cluster, self.log,
        )  # fmt: skip
        self.groups = Groups(self)
        self.running: dict[str, Consumer] = {}
        self.processes: list[Consumer] = []
        self.coordinator, self._client = protocol_of(self)
        self._watched = np.array(
            [self.cluster.first[self.cluster.index[t]] + p for t, p in scenario.watch],
            dtype=np.int64,
        )

    def _partitions(self) -> int:
        counts = dict(zip(self.cluster.names, self.cluster.partitions.tolist(), strict=True))
        for action in sorted(self.scenario.actions, key=lambda action: action.at_ms):
            if action.kind == "create_topic":
                counts[action["topic"].name] = action["topic"].partitions
            elif action.kind == "add_partitions":
                counts[action["topic"]] = action["partitions"]
        return sum(counts.values())

    def _range(self, topic: int, start: int, stop: int) -> np.ndarray:
        first = int(self.cluster.first[topic])
        return np.arange(first + start, first + stop)

    # ---- what is drawn -------------------------------------------------------------------------

    def uuid(self) -> str:
        """A random UUID, as member ids end with."""
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def _topic_id(self) -> str:
        """A random Kafka Uuid in base64, as topics have one."""
        while True:
            drawn = uuid.UUID(int=self._random.getrandbits(128), version=4)
            text = urlsafe_b64encode(drawn.bytes).decode().rstrip("=")
            if not text.startswith("-"):  # Kafka draws again, too
                return text

    member_uuid = _topic_id

    def consumer_id(self, name: str) -> str:
        """A consumer id as Kafka 0.8 and MetaQ form it: group, host, and something random."""
        return f"lab_{name}-{self._random.getrandbits(40)}-{self.uuid()[:8]}"

    def _start_delay(self) -> int:
        """How much later than planned a process starts."""
        return self._random.randint(0, self.config.start_spread_ms)

    def heartbeat_delay(self) -> int:
        """How much later than due a heartbeat is sent."""
        most = self.config.heartbeat_drift_ms
        return self._random.randint(0, most) if most else 0

    # ---- what members know ---------------------------------------------------------------------

    def subscription_of(self, member: Member, metadata: np.ndarray) -> tuple[int, ...]:
        """The topic indices that a member subscribes to, in the order in which it sends them."""
        if member.pattern is not None:
            return self.topics_matching(member.pattern, metadata)
        if member.topics is None:
            wanted = list(range(len(self.scenario.topics)))
        else:
            wanted = [self.cluster.index[name] for name in member.topics]
        return self._in_hash_order(wanted)

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

    def strategy(self, name: str) -> Strategy:
        """The strategy of that name."""
        return assignors.get(name)

    # ---- the run -------------------------------------------------------------------------------

    def run(self) -> History:
        """Let the scenario happen."""
        for member in self.scenario.members:
            self.clock.at(member.start_ms + self._start_delay(), self._start, member)
        for action in sorted(self.scenario.actions, key=lambda action: action.at_ms):
            self.clock.at(action.at_ms, self._act, action)
        self.clock.at(0, self._sample)
        self.clock.run(self.scenario.duration_ms)
        self._finish()
        return self.history

    def _start(self, member: Member) -> None:
        client = self._client(self, member, self.numbers[member.name])
        self.running[member.name] = client
        self.processes.append(client)
        client.tell("started")
        client.start()

    def _act(self, action: Action) -> None:
        self.history.tell(
            self.clock.now, f"action: {action.kind}", self.numbers.get(action.member, -1), -1,
            np.empty(0, dtype=np.int64), str(action.member or ""),
        )  # fmt: skip
        getattr(self, "_" + action.kind)(action)

    def _running(self, action: Action) -> Consumer | None:
        client = self.running.get(action.member)
        return client if client is not None and client.alive else None

    def _join(self, action: Action) -> None:
        self._start(action["member"])

    def _leave(self, action: Action) -> None:
        if client := self._running(action):
            client.close()

    def _crash(self, action: Action) -> None:
        if client := self._running(action):
            client.crash()

    def _return(self, action: Action) -> None:
        self._start_anew(action)

    def _restart(self, action: Action) -> None:
        if client := self._running(action):
            client.close()
        self.clock.after(action["down_ms"], self._return_when_closed, action)

    def _return_when_closed(self, action: Action) -> None:
        if self._running(action) is not None:
            self.clock.after(100, self._return_when_closed, action)
        else:
            self.clock.after(self._start_delay(), self._start_anew, action)

    def _start_anew(self, action: Action) -> None:
        if self._running(action) is None:
            self._start(self.members[action.member])

    def _stall(self, action: Action) -> None:
        if client := self._running(action):
            client.stall(action["for_ms"])

    def _freeze(self, action: Action) -> None:
        if client := self._running(action):
            client.freeze(action["for_ms"])

    def _subscribe(self, action: Action) -> None:
        if client := self._running(action):
            client.subscribe(action["topics"])

    def _create_topic(self, action: Action) -> None:
        spec = action["topic"]
        self.rates[spec.name] = spec.rate
        self._grow(spec.name, spec.partitions)
        for client in self.running.values():
            if client.alive and client.member.topics and spec.name in client.member.topics:
                client.metadata_is_stale()

    def _add_partitions(self, action: Action) -> None:
        self._grow(action["topic"], action["partitions"])

    def _grow(self, name: str, partitions: int) -> None:
        topic = self.cluster.index[name]
        before = int(self.cluster.partitions[topic])
        self.log.create(self._range(topic, before, partitions), self.rates[name], self.clock.now)
        self.cluster.partitions[topic] = partitions
        self.cluster.version += 1
        self.coordinator.topics_changed()

    def _coordinator_moves(self, action: Action) -> None:
        self.coordinator.move()

    def advance_all(self) -> None:
        """Play the poll loops of all consumers up to now, but of those that are being asked."""
        for client in self.running.values():
            if client.alive and not client._deciding:
                client.advance()

    # ---- samples -------------------------------------------------------------------------------

    def existing(self) -> np.ndarray:
        """The dense numbers of all partitions that exist now."""
        return np.flatnonzero(self.log.created <= self.clock.now)

    def _sample(self) -> None:
        now = self.clock.now
        reached, owner = self.reached()
        partitions = self.existing()
        ends = self.log.ends(partitions, now)
        high = self.log.ends(partitions, now - self.config.replication_ms)
        committed = np.maximum(self.log.committed[partitions], 0)
        self.history.samples.append(
            (
                now, int(np.maximum(high - reached[partitions], 0).sum()),
                int((owner[partitions] < 0).sum()), int(np.maximum(high - committed, 0).sum()),
                int(ends.sum()),
            )
        )  # fmt: skip
        if self._watched.size:
            high = self.log.ends(self._watched, now - self.config.replication_ms)
            ends = self.log.ends(self._watched, now)
            for k, p in enumerate(self._watched.tolist()):
                self.history.watched.append(
                    (now, p, int(self.log.committed[p]), int(reached[p]), int(high[k]),
                     int(ends[k]), int(owner[p]))
                )  # fmt: skip
        if now + self.scenario.sample_ms <= self.scenario.duration_ms:
            self.clock.after(self.scenario.sample_ms, self._sample)

    def reached(self) -> tuple[np.ndarray, np.ndarray]:
        """(position of the owner, else what is committed; the owner's number, else -1)."""
        reached = np.maximum(self.log.committed, 0)
        owner = np.full(reached.size, -1)
        for client in self.running.values():
            if client.alive and client.valid:
                client.advance()
                reached[client.own] = client.position
                owner[client.held] = client.number
        return reached, owner

    def _finish(self) -> None:
        everything = np.arange(self.log.rate.size)
        history = self.history
        history.produced = self.log.ends(everything, self.clock.now)
        history.frontier = np.maximum(self.log.committed, 0)
        for client in self.processes:
            if client.alive:
                client.advance()
                if client.valid:
                    history.frontier[client.own] = client.processed()
                client.passed_by("end of the run")
                client.give_up(None, "end of the run")
            history.polls += int(client.state[POLLS])
            history.commits += int(client.state[COMMITS])
            history.aborted += int(client.state[ABORTED])
        history.calls = self.clock.events


def protocol_of(world: World):
    """(coordinator, class of the clients) for the strategies of a run.

    Assignors of other clients than Java's run in a client that otherwise behaves as Java's.
    """
    chosen = {s for member in world.members.values() for s in world.strategies_of(member)}
    kinds = {(strategy.system, strategy.protocol) for strategy in chosen}
    alone = len(chosen) == 1 and not any(strategy.shares for strategy in chosen)
    if alone and kinds == {("Kafka coordinator", "server")}:
        return consumer_group.Coordinator(world), consumer_group.Client
    if alone and kinds == {("Kafka 0.8 consumer", "eager")}:
        return zookeeper.Registry(world), zookeeper.Client
    if alone and kinds == {("MetaQ", "independent")}:
        return zookeeper.Registry(world), metaq.Client
    if all(system != "Kafka 0.8 consumer" and kind in CLASSIC for system, kind in kinds):
        return classic.Coordinator(world), classic.Client
    names = ", ".join(sorted(strategy.name for strategy in chosen))
    raise TimelineError(f"strategies: no group can run {names}")


def run(
    scenario: Scenario,
    config: Config | None = None,
    strategy: str | Sequence[str] = "range",
    seed: int = 0,
) -> History:
    """Simulate a scenario; returns its history.

    ``strategy``: the name of a strategy, which decides on the protocol, too; several, most wanted
    first, are what every member proposes. ``seed``: of member ids, topic ids and start moments.
    Raises :class:`TimelineError` or :class:`~assignlab.errors.UnknownName` for what is wrong.
    """
    return World(scenario, config or Config(), strategies_named(strategy), seed).run()


def strategies_named(strategy: str | Sequence[str]) -> tuple[Strategy, ...]:
    """The strategies of one name or several."""
    names = (strategy,) if isinstance(strategy, str) else tuple(strategy)
    if not names:
        raise TimelineError("strategy: expected at least one name")
    return tuple(assignors.get(name) for name in names)
