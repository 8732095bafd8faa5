"""KafkaJS's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after KafkaJS 2.2.4 (``src/consumer/runner.js``, ``consumerGroup.js``, ``fetcher.js``,
``offsetManager``): one task fetches, hands records out, commits and sends heartbeats, one after the other.
So a member hears of a rebalance only when a record is done or a fetch is back, and lets go of all then.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.poll_loop import NOT_OUT, Mode, Phase
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINED, UNJOINED
from assignlab.timeline.protocols.classic_coordinator import GroupMember
from assignlab.timeline.protocols.errors import (
    ILLEGAL_GENERATION,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNREACHED,
)

UNKNOWN_TOPIC = "UNKNOWN_TOPIC_OR_PARTITION"
RETRY_MS, MOST_MS, RETRIES = 300, 30_000, 5
"""``retry.initialRetryTime``, give or take a fifth, twice as long each time up to ``retry.maxRetryTime``;
``retry.retries``."""
BEGINS_MS = 10
"""Until the first fetch of a member that was assigned partitions, at most (as recorded): of those that were
together, one may leave before the heartbeats of others then, or after them."""
NEAR_MS = 10
"""So much earlier than it is due a heartbeat may be sent: records come to the millisecond here, and whether
one that comes just then brings it would be the same each time."""
GOES_ON = (REBALANCE_IN_PROGRESS, ILLEGAL_GENERATION, NOT_COORDINATOR)
"""Errors after which it commits, and joins again as who it was (``isRebalancing``)."""


class Client(classic_client.OtherClient):
    """A consumer of KafkaJS that runs ``eachMessage`` with the default ``autoCommit``, its partitions all on
    one broker. ``beaten``: when a heartbeat was answered last; ``joined_at``: when it was assigned what it
    has, or nothing; ``knows``: of how many partitions of a topic it has known since; ``failed``: how often
    in turn a step failed."""

    lacks = frozenset({"subscribe", "unsubscribe", "enforce_rebalance", "cooperative", "server"})
    unplayed = frozenset({"instance"})
    asks_again: tuple[str, ...] = ()
    notices_long_freeze = polls_in_time = asks_for_missing = False
    commits_again = checks_commits = False

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.beaten = self.joined_at = self.clock.now
        self.knows: dict[int, int] = {}
        self.failed = 0
        self.settings.by_partition = True
        if self.config.commit == "auto":  # when a batch is done, and it waits for the answer
            self.mode = Mode.AFTER
            self.settings.mode, self.settings.commit_interval = self.mode.value, 0

    # ---- the one task --------------------------------------------------------------------------

    def _comes_by(self) -> int:
        """When its task comes by next: a record is done, or a fetch is back; without partitions it sleeps
        as long as a fetch would wait."""
        self.advance()
        loop, now = self.loop, self.clock.now
        if loop.phase == Phase.HALTED:
            every = max(self.config.fetch_max_wait_ms, 1)
            slept = now - max(self.joined_at, self.beaten)
            at = now + (-slept % every if slept else every)
        elif loop.phase == Phase.POLL:
            at = now if loop.fetched == NOT_OUT else max(loop.fetched_at, now)
        elif loop.phase == Phase.PROCESS and self.settings.processing_us:
            each = self.settings.processing_us
            done = max((now - loop.batch_at) * 1000 // each, loop.frozen) + 1
            at = min(loop.batch_at - -done * each // 1000, loop.next)
        else:
            at = loop.next
        return max(at, now, self.frozen_until)

    def _go_on_joining(self, call: Callable, *args) -> None:
        """Where it joins it is at no record."""
        call(*args)

    def stall(self, for_ms: int) -> None:
        """Its application is called for records alone: the next one takes as long as is left then."""
        self.advance()
        if self.loop.phase in (Phase.POLL, Phase.HALTED) and self.clock.now >= self.frozen_until:
            self.clock.at(self._comes_by() + 1, self._stall_rest, self.clock.now + for_ms)
        else:
            super().stall(for_ms)
            self._plan_heartbeat()

    def _stall_rest(self, until: int) -> None:
        if self.alive and until > self.clock.now:
            self.stall(until - self.clock.now)

    def freeze(self, for_ms: int) -> None:
        super().freeze(for_ms)
        self._plan_heartbeat()

    # ---- metadata ------------------------------------------------------------------------------

    def _found_coordinator(self) -> None:
        """``subscribe`` asks for the topics, those of a pattern once, and throws if one is not there."""
        self._fetch_metadata(self.clock.now - self.made)
        if self._misses_topic():
            self._die(UNKNOWN_TOPIC)
        else:
            self.request_rejoin("")

    def _fetch_metadata(self, age: int = 0) -> None:
        """It names its topics in the order in which its application does."""
        before = self.subscription
        super()._fetch_metadata(age)
        if self.member.pattern is not None:
            self.subscription = before or self.subscription
        else:
            named = self.member.topics or [topic.name for topic in self.world.scenario.topics]
            index = self.world.cluster.index
            self.subscription = tuple(index[name] for name in dict.fromkeys(named))

    def _misses_topic(self) -> bool:
        return not self.world.cluster.partitions[list(self.subscription)].all()

    def _refresh_old_metadata(self) -> None:
        """They are asked for before a fetch, by every member (``checkForStaleAssignment``)."""
        if self.phase != JOINED or self.joining:
            return
        self.advance()
        loop = self.loop
        if loop.phase in (Phase.PROCESS, Phase.COMMIT_AFTER) or (
            loop.phase == Phase.POLL and loop.begun
        ):
            at = max(loop.next, self.clock.now + 1)
            self.clock.at(at, self.in_time, self._refresh_old_metadata)
        else:
            self.clock.at(
                self._comes_by(), self.in_time, self.after_round_trip, self._look_at_topics
            )

    def _look_at_topics(self) -> None:
        if self.phase != JOINED or self.joining:
            return  # a leader has asked for them since, others go on with what they have
        if self._misses_topic():
            self._fail()
            return
        self._fetch_metadata()
        if any(self.metadata[topic] > known for topic, known in self.knows.items()):
            self.request_rejoin("topic has been updated")

    def _fetch_failed(self) -> None:
        """A fetch says that a topic is gone, of what it has."""
        if self.phase == JOINED and not self.joining and self._reads_gone_topic():
            self._fail()

    # ---- joining -------------------------------------------------------------------------------

    def _join_prepare(self) -> None:
        """What is left of its batch is dropped, but for the first record of each partition that it has not
        begun: these are handed out before it hears the same again (``worker.js``)."""
        cancel(self._beat)
        self._block()
        first = self._drop_batch()
        self.own.position[:] += first
        wait = -(-int(first.sum()) * self.settings.processing_us // 1000)
        if wait:
            self.clock.after(wait, self.in_time, self._batch_dropped)
        else:
            self._batch_dropped()

    def _batch_dropped(self) -> None:
        self._commit_before_join()
        self._unblock()

    def _drop_batch(self) -> np.ndarray:
        """Of which partitions it has fetched records and not begun: bool[n]. One that it comes to while a
        heartbeat is on its way is among them."""
        self.advance()
        loop, own, done = self.loop, self.own, self.processed()
        left = (done < own.position) & (done == own.batch)
        if loop.begun and loop.phase != Phase.HALTED:
            left |= self.log.ends(own.partition, loop.fetched) > own.position
        if loop.phase == Phase.PROCESS or left.any():
            own.position[:] = done
            loop.phase, loop.next, loop.fetched = Phase.POLL, self.clock.now, NOT_OUT
        loop.begun = False
        return left

    def _send_join(self) -> None:
        """It asks for the coordinator every time; its commit went to the one that it knew."""
        self.find_coordinator(super()._send_join)

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It asks for its own topics every time, and deals no others."""
        self.after_round_trip(self._lead_on, self.generation, members)

    def _lead_on(self, generation: int, members: list[GroupMember]) -> None:
        if self.generation != generation or not self.alive:
            return
        if self._misses_topic():
            self._fail()
            return
        self._fetch_metadata()
        first = sorted(members, key=lambda member: member.id != self.member_id)
        self._perform_assignment(first, False)

    def _start_heartbeats(self) -> None:
        """They come with what its task does next."""

    def _rejoin_again(self) -> None:
        """It waits before it tries again."""
        self.failed += 1
        self.clock.after(self._retry_ms(), self.in_time, super()._rejoin_again)

    def _find_and_rejoin(self, error: str) -> None:
        self._error(error)
        self.find_coordinator()
        self._rejoin_again()

    def _retry_ms(self) -> int:
        wait = min(RETRY_MS << min(self.failed - 1, 7), MOST_MS)
        return wait - wait // 5 + self.world.drawn_ms(2 * wait // 5)

    def _join_complete(self, generation: int, partitions: np.ndarray, *claim) -> None:
        """It knows the partitions that it knew before, but where it is given others (``SYNC``)."""
        topic = self.world.cluster.topic[partitions]
        if (partitions - self.world.cluster.first[topic] >= self.metadata[topic]).any():
            self._fetch_metadata()
        self.knows = {topic: int(self.metadata[topic]) for topic in self.subscription}
        self.failed, self.joined_at = 0, self.clock.now
        super()._join_complete(generation, partitions, *claim)
        if self.closes:
            self._commit_and_leave()
        else:
            self._plan_heartbeat()
            if self._metadata_due() <= self.clock.now:  # before the first fetch
                self.after_round_trip(self._look_at_topics)

    def offsets_are_here(self, partitions: np.ndarray, taken: int) -> None:
        """It asks for them before its first fetch."""
        drawn = self.world.drawn_ms(BEGINS_MS)
        self.clock.after(drawn, self.in_time, self.in_poll, self._begin, partitions, taken)

    def _go_on(self) -> None:
        """From here on it is at its fetches."""
        super()._go_on()
        self._plan_heartbeat()

    # ---- heartbeats ----------------------------------------------------------------------------

    def _plan_heartbeat(self) -> None:
        """One is sent where the task comes by and the last is an interval ago."""
        cancel(self._beat)
        if self.alive and self.phase == JOINED and not self.joining:
            due = self.beaten + self.beats_every_ms + self.world.heartbeat_delay()
            due -= self.world.drawn_ms(NEAR_MS)
            self._beat = self.clock.at(max(due, self.clock.now), self._heartbeat_is_due)

    def _heartbeat_is_due(self) -> None:
        """Records that a fetch brings come first: the first of them is done before."""
        at = self._comes_by()
        if self.loop.phase == Phase.POLL and self._brings_records():
            at += -(-self.settings.processing_us // 1000)
        self._beat = self.clock.at(at + self.config.latency_ms, self._heartbeat)

    def _brings_records(self) -> bool:
        own = self.own
        return bool((self.log.ends(own.partition, self.loop.fetched) > own.position).any())

    def _heartbeat(self) -> None:
        if not self.alive or self.phase != JOINED or self.joining:
            return
        error = self.coordinator.heartbeat(self, self.member_id, self.generation)
        if error is None:  # the next is due at once after one that failed
            self.beaten = self.clock.now + self.config.latency_ms
            self._fetch_after_answer()
            self._plan_heartbeat()
        else:
            self.coordinator.answer(self, self.heartbeat_failed, error, self.generation)

    def _fetch_after_answer(self) -> None:
        """The next fetch waits for it: one that takes as long as heartbeats are apart brings one each."""
        self.advance()
        loop, late = self.loop, 2 * self.config.latency_ms + self.world.drawn_ms(2)
        if loop.phase == Phase.POLL and loop.fetched != NOT_OUT:
            loop.fetched, loop.fetched_at, loop.next = (
                at + late for at in (loop.fetched, loop.fetched_at, loop.next)
            )

    def heartbeat_failed(self, error: str, generation: int) -> None:
        if generation != self.generation or self.joining:
            return
        if error in GOES_ON:
            self.request_rejoin("group is rebalancing")
            return
        if error in UNREACHED:
            self._plan_heartbeat()
            return
        self._error(error)
        self._reset_and_rejoin(error)

    def commit_failed(self, error: str) -> None:
        self.heartbeat_failed(error, self.generation)

    # ---- failing and leaving -------------------------------------------------------------------

    def _fail(self) -> None:
        """A topic is gone: its task stops with an error, and begins again, with a fetch, until that has
        failed too often; then it leaves, and tries to start for ever."""
        cancel(self._beat)
        if self.closes:
            self._leave()
            return
        self.let_go(self.held)
        self.joining = True
        self.failed += 1
        if self.failed <= RETRIES:
            wait = self._retry_ms() + self.config.fetch_max_wait_ms
            self.clock.after(wait, self.in_time, self._fail)
            return
        self._send_leave()
        self._reset(UNKNOWN_TOPIC)
        self.clock.after(self._retry_ms(), self.in_time, self._start_anew)

    def _start_anew(self) -> None:
        self.failed = 0
        if self._misses_topic():
            self.clock.after(RETRY_MS, self.in_time, self._start_anew)
            return
        self.joining = False
        self._fetch_metadata()
        self.request_rejoin("")

    def close(self) -> None:
        """It waits for the record or the fetch that it is at, or for its join, and then leaves."""
        if self.phase == UNJOINED:
            self._leave()
        elif self.joining:
            self.closes = True
        else:
            cancel(self._beat)
            at = self._comes_by()
            self._block()
            self.clock.at(at, self.in_time, self._close)

    def _close(self) -> None:
        self._drop_batch()
        self._commit_and_leave()

    def _leave_prepare(self, then: Callable) -> None:
        """Nobody is told."""
        self.give_up(self.held, self.revoked_how())
        then()
