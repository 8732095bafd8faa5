"""Groups without a coordinator: every consumer for itself, over ZooKeeper (Kafka 0.8, MetaQ).

:class:`Registry` is what ZooKeeper holds: who is in the group and who owns which partition, as
ephemeral nodes that go with their session, and watches on both. :class:`Client` is Kafka 0.8's
consumer (ZookeeperConsumerConnector of kafka 0.8.2.2); :mod:`~assignlab.timeline.protocols.metaq`
has MetaQ's.

When a watch fires, each consumer by itself stops fetching, commits, gives up **all** it owns, reads
who is there, computes the whole assignment and claims its part. A partition that its former owner
has not released yet cannot be claimed: then everything just claimed is given back, and after
``rebalance_backoff_ms`` comes the next try, ``rebalance_max_retries`` in all. Whoever fails at its
start throws; later on it is left with nothing until the next watch fires.

There are no generations: a commit is written whoever sends it.
"""

from dataclasses import replace

import numpy as np

from assignlab.errors import OriginalError
from assignlab.timeline.config import TimelineError
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.poll_loop import NEVER, Mode, Phase, processed_count
from assignlab.timeline.engine.requests import JoinRequest
from assignlab.timeline.engine.world import World
from assignlab.timeline.scenario import Member

FREE = -1
RECONNECTS_WITHIN_MS = 1_000
"""ZooKeeper's client sleeps as long at most, drawn, before it connects again (ClientCnxn)."""


class Registered:
    """A consumer's node in the registry, as the assignor sees it."""

    def __init__(self, client: "Client", subscription: tuple[int, ...]):
        self.client = client
        self.id = client.consumer_id
        self.instance = None
        self.request = JoinRequest(self.id, (), subscription)


class Registry:
    """ZooKeeper's view of the group; stands where other protocols have a coordinator."""

    def __init__(self, world: World):
        self.world = world
        self.clock = world.clock
        self.config = world.config
        if self.config.commit == "transaction":
            raise TimelineError("commit: there are no transactions over ZooKeeper")
        self.consumers: dict[str, Registered] = {}
        self.owner = np.full(world.log.rate.size, FREE)
        self._topics_seen = world.cluster.partitions.copy()

    def members(self) -> list[Registered]:
        """Who is in the group, with what it reads: of a pattern everybody sees the pattern, and resolves
        it."""
        return [
            Registered(one.client, one.client.subscription()) if one.client.member.pattern else one
            for one in self.consumers.values()
        ]

    def register(self, client: "Client", subscription: tuple[int, ...]) -> None:
        """A consumer's ephemeral node is there, or has other topics; all others see it."""
        self.consumers[client.consumer_id] = Registered(client, subscription)
        self._changed(client)

    def session_over(self, client: "Client", why: str) -> None:
        """The session of a consumer ends, and its ephemeral nodes with it."""
        if client.consumer_id not in self.consumers:
            return
        del self.consumers[client.consumer_id]
        self.owner[self.owner == client.place] = FREE
        client.advance()
        client.passed_by(why)
        client.set_verdict()
        client.tell("removed", client.held, why)
        self._changed()

    def claim(self, client: "Client", partitions: np.ndarray) -> bool:
        """Claim partitions; all or nothing."""
        if (self.owner[partitions] != FREE).any():
            return False
        self.owner[partitions] = client.place
        return True

    def release(self, client: "Client", partitions: np.ndarray) -> None:
        """The owner nodes of these partitions are deleted."""
        mine = partitions[self.owner[partitions] == client.place]
        self.owner[mine] = FREE

    def topics_changed(self) -> None:
        """Partitions were added, a topic created or deleted: who watches it is told."""
        now = self.world.cluster.partitions
        changed = set(np.flatnonzero(now != self._topics_seen).tolist())
        self._topics_seen = now.copy()
        for name, registered in self.consumers.items():
            client, known = registered.client, registered.request.subscription
            if client.is_told(changed, known):
                self.consumers[name] = Registered(client, client.subscription())
                self._tell(client)

    def _changed(self, by: "Client | None" = None) -> None:
        for registered in self.consumers.values():
            if registered.client is not by:
                self._tell(registered.client)

    def _tell(self, client: "Client") -> None:
        self.clock.after(self.config.latency_ms, client.in_time, client.watch_fires)

    def move(self) -> None:
        """There is no coordinator that could move."""


class Client(Consumer):
    """Kafka 0.8's high-level consumer. ``generation`` counts its own rebalances."""

    lacks = frozenset({"unsubscribe"})

    def __init__(self, world: World, registry: Registry, member: Member, number: int):
        super().__init__(world, member, number)
        self.registry = registry
        self.strategy = world.strategies[0]
        self.place = len(world.processes)
        self.consumer_id = world.consumer_id(member.name)
        self.generation = 0
        self._triggered = False
        self._busy = False
        self._first = True
        self._works_until = self._started = self.clock.now

    def start(self) -> None:
        """Register, then rebalance at once."""
        self.clock.after(self.config.latency_ms, self.in_time, self._register)

    @property
    def in_group(self) -> bool:
        """Whether the process runs, and its node is there."""
        return self.alive and self.consumer_id in self.registry.consumers

    def subscription(self) -> tuple[int, ...]:
        """The topics that it reads, as they are now."""
        return self.world.subscription_of(self.member, self.world.cluster.partitions)

    def is_told(self, changed: set[int], known: tuple[int, ...]) -> bool:
        """Whether its watches fire when these topics changed: of its own those that are not gone, of a
        pattern if it fits others than were ``known``."""
        if self.member.pattern is not None and self.subscription() != known:
            return True
        partitions = self.world.cluster.partitions
        return any(partitions[topic] for topic in changed.intersection(known))

    def _register(self) -> None:
        self.registry.register(self, self.subscription())
        self.belongs_again()
        self.set_verdict()
        self._synced_rebalance()

    def subscribe(self, topics) -> None:
        """The application subscribes to something else: its node changes."""
        self.member = replace(self.member, topics=tuple(topics), pattern=None)
        if self.in_group:
            self.registry.register(self, self.subscription())
            self.watch_fires()

    # ---- rebalancing ---------------------------------------------------------------------------

    def watch_fires(self) -> None:
        """Something changed; rebalance, or once more when the rebalance at hand is over."""
        if not self.in_group:
            return
        self._triggered = True
        if not self._busy:
            self._synced_rebalance()

    def _synced_rebalance(self) -> None:
        self._busy = True
        self._triggered = False
        self._try(0)

    def _try(self, number: int) -> None:
        """One try: stop, commit, release."""
        self.tell("rejoin", detail=f"try {number + 1}")
        self._cut_off()
        if self.config.commit == "auto" and self.own.partition.size:
            self.commit(lambda error: self._released(number))
        else:
            self._released(number)

    def _cut_off(self) -> None:
        """Stop at the record at hand; what else was fetched is dropped. A batch that the application has
        taken to itself, as one that commits first does, stays its own.

        The application's thread is not stopped: it reads on when it is through with its work.
        """
        self.advance()
        loop, settings = self.loop, self.settings
        if loop.phase == Phase.COMMIT_BEFORE:
            self._works_until = loop.next + loop.batch_size * settings.processing_us // 1000
        elif loop.phase == Phase.PROCESS:
            self._works_until = loop.next
            done = processed_count(self.clock.now, loop, settings)
            if self.mode != Mode.BEFORE and done < loop.batch_size:
                self._works_until = loop.batch_at - (-(done + 1) * settings.processing_us // 1000)
                self.own.position[:] = self._processed(self._works_until)
        loop.phase = Phase.POLL if self.own.partition.size else Phase.HALTED
        loop.next = NEVER

    def _go_on(self) -> None:
        if self.clock.now < self._works_until:
            self.clock.at(self._works_until, self.in_time, self._go_on)
        elif not self._busy and self.own.partition.size:
            super()._go_on()

    def _released(self, number: int) -> None:
        """Everything is given up, one node after the other."""
        going = self.held
        self.let_go(going)
        self.clock.after(
            self._operations(going.size), self.in_time, self._read_and_claim, number, going
        )

    def _operations(self, count: int) -> int:
        """How long so many operations take, one round trip each."""
        return 2 * self.config.latency_ms * count

    def _read_and_claim(self, number: int, released: np.ndarray) -> None:
        if not self.in_group:
            return
        self.registry.release(self, released)
        try:
            mine = self._mine()
        except OriginalError as error:
            self.tell("error", detail=str(error))
            self._failed(number)
            return
        if self.registry.claim(self, mine):
            self.clock.after(self._operations(1 + mine.size), self.in_time, self._own, mine)
        else:
            self.tell("error", mine, "partitions are still owned by others")
            self._failed(number)

    def _mine(self) -> np.ndarray:
        """This consumer's part of the assignment that it computes for everybody."""
        members = self.registry.members()
        counts = self.world.cluster.partitions
        assignment = self.world.groups.assign(self.strategy, members, counts, self.generation)
        return assignment[self.consumer_id][0]

    def _failed(self, number: int) -> None:
        if number + 1 < self.config.rebalance_max_retries:
            self.clock.after(self.config.rebalance_backoff_ms, self.in_time, self._try, number + 1)
            return
        self.clock.after(self.config.rebalance_backoff_ms, self.in_time, self._out_of_tries)

    def _out_of_tries(self) -> None:
        self.tell("error", EMPTY, "ConsumerRebalanceFailedException")
        if self._first:
            self.tell("fatal", EMPTY, "ConsumerRebalanceFailedException")
            self.registry.session_over(self, "failed at its start")
            self.end("fatal: ConsumerRebalanceFailedException")
            return
        self._done()

    def _own(self, partitions: np.ndarray) -> None:
        """All claims hold: fetch the offsets and go on."""
        if not self.in_group:
            return
        self.generation += 1
        self._first = False
        self.tell("generation", detail=self.strategy.name)
        if self.config.commit == "auto":  # a schedule of its own, from the start on
            interval = self.config.auto_commit_interval_ms
            past = (self.clock.now - self._started) % interval
            self.loop.next_commit = self.clock.now - past + interval
        self.take(partitions[~self.log.among(partitions, self.held)])
        self._busy = False
        self._go_on()
        self._done()

    def _done(self) -> None:
        self._busy = False
        if self._triggered:
            self._synced_rebalance()

    # ---- ends ----------------------------------------------------------------------------------

    def freeze(self, for_ms: int) -> None:
        """Frozen for longer than the session, its nodes are gone when it wakes up."""
        super().freeze(for_ms)
        timeout = self.config.zookeeper_session_timeout_ms
        if for_ms > timeout:
            self.clock.after(timeout, self.registry.session_over, self, "session expired")
            wait = self.world.drawn_ms(RECONNECTS_WITHIN_MS) + self.config.latency_ms
            self.clock.at(self.frozen_until + wait, self._new_session)

    def _new_session(self) -> None:
        if self.alive:
            self.tell("lost", self.held, "session expired")
            self._cut_off()
            self.give_up(self.held, "lost: session expired")
            self._busy = False
            self._register()

    def close(self) -> None:
        """Commit, then go; the session ends with it."""
        self._cut_off()
        if self.config.commit == "auto" and self.own.partition.size:
            self.commit(self._closed)
        else:
            self._closed(None)

    def _closed(self, error: str | None) -> None:
        self.tell("closed", self.held)
        self.clock.after(self.config.latency_ms, self.registry.session_over, self, "closed")
        self.end("closed")

    def crash(self) -> None:
        """The process is gone; ZooKeeper notices when the session is over."""
        super().crash()
        self.clock.after(
            self.config.zookeeper_session_timeout_ms, self.registry.session_over, self,
            "session expired",
        )  # fmt: skip

    # ---- commits -------------------------------------------------------------------------------

    def identity(self) -> None:
        """Nothing: a commit to ZooKeeper does not say who sends it."""

    def why_refused(self, sent=None) -> str | None:
        """Nobody checks who commits."""
        return None
