"""franz-go's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after franz-go 1.22.2 (``kgo/consumer_group.go``, ``kgo/metadata.go``): goroutines of its own join,
send heartbeats and commit, and whatever ends a session but a rebalance costs all that the member has; then
it joins again.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.poll_loop import Phase
from assignlab.timeline.engine.requests import Claim
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINED, JOINING
from assignlab.timeline.protocols.errors import (
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)

ASKS_AGAIN_MS = 5_000
"""``MetadataMinAge``: so far apart it asks for topics that are not there."""
QUICK_MS, QUICKLY = 250, 7
"""How often it asks for them again at first, and how far apart (``updateMetadataLoop``)."""
BACKOFF_MS, MOST_BACKOFF_MS = 250, 5_000
"""``RetryBackoffFn``: twice as long after each error, give or take a fifth."""
FAST_CHECK_MS = 500
"""A cooperative member's first heartbeat (``cooperativeFastCheck``)."""


class Client(classic_client.GoClient):
    """A consumer of franz-go. ``failed``: how many times in turn it could not join;
    ``asks_since``: since when it asks for topics that are not there."""

    lacks = frozenset({"unsubscribe"})
    unplayed = frozenset({"pattern"})
    sends_generation = metadata_by_timer = True

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.failed, self.asks_since = 0, self.clock.now
        self.beats_every_ms += 2 * self.config.latency_ms  # counted from the answer

    # ---- metadata ------------------------------------------------------------------------------

    def topic_is_gone(self) -> None:
        """It keeps what it knew of the topic, and its partitions."""

    def _fetch_metadata(self, age: int = 0) -> None:
        """It joins with the topics that are there, or were once. It knows those of others likewise."""
        before = self.metadata
        super()._fetch_metadata(age)
        known = list(self._asked_for.union(self.subscription))
        self.metadata[known] = np.maximum(self.metadata, before)[known]
        self.subscription = tuple(t for t in self.subscription if self.metadata[t])
        self._take_snapshot()

    def _note_missing(self, changed: bool = False) -> None:
        named = self.world.subscription_of(self.member, self.metadata)
        before, missing = self.keeps_asking, self.world.cluster.partitions[list(named)] == 0
        self.keeps_asking = bool(missing.any())
        if self.keeps_asking and not before:
            self.asks_since = self.clock.now

    def _next_look_ms(self) -> int:
        asked, quickly = self.clock.now - self.asks_since, QUICK_MS * QUICKLY
        if asked < quickly:
            return QUICK_MS - asked % QUICK_MS
        every = min(ASKS_AGAIN_MS, self.config.metadata_max_age_ms)
        return every - (asked - quickly) % every

    def _metadata_due(self) -> int:
        """A timer asks for them, not too soon after a look, nor between two looks for what is missing."""
        if self.keeps_asking:
            return self.clock.now + self._next_look_ms()
        soonest = self._fetched + min(ASKS_AGAIN_MS, self.config.metadata_max_age_ms)
        return max(super()._metadata_due(), soonest)

    def request_rejoin(self, reason: str) -> None:
        """Who has no topic that is there does not begin to join."""
        if self.subscription:
            super().request_rejoin(reason)

    # ---- joining -------------------------------------------------------------------------------

    def _join_prepare(self) -> None:
        if self.joining:
            self._commit_before_join()

    def to_commit(self) -> np.ndarray:
        """What polls before the last one gave is taken for done (``undirtyUncommitted``)."""
        at_work = self.loop.phase == Phase.PROCESS
        return (self.own.batch if at_work else self.own.position).copy()

    def _revoke(self, partitions: np.ndarray, then: Callable) -> None:
        """Its application goes on with what it was given. What a cooperative member gives up is committed
        once more."""
        self._take_batch_for_done()
        give_up = super()._revoke
        if self.cooperative and self.config.commit == "auto" and partitions.size:
            self.commit_in_poll(lambda error: give_up(partitions, then))
        else:
            give_up(partitions, then)

    def _claim_for(self, strategy) -> Claim | None:
        """An eager one forgets what it gives up (``lastAssigned``)."""
        return self.claim if self.cooperative else None

    def _start_heartbeats(self) -> None:
        """They begin with the session, that of a cooperative member soon."""
        cancel(self._beat)
        if self.phase == JOINED:
            first = self.config.heartbeat_interval_ms
            due = min(first, FAST_CHECK_MS) if self.cooperative else first
            self._beat = self.clock.after(due + self.config.latency_ms, self._heartbeat)

    def _follow(self) -> None:
        """It asks for the topics of others anew when it leads again."""
        super()._follow()
        self._asked_for = set()

    def _join_complete(self, *answer) -> None:
        """The protocol that was chosen says whether it is cooperative. One that was and is no more gives up
        what it had."""
        strategy = next(s for s in self.strategies if s.kind == self.protocol)
        before, self.cooperative = self.cooperative, strategy.protocol == "cooperative"
        if before and not self.cooperative:
            self.let_go(self.held)
        self.failed = 0
        super()._join_complete(*answer)

    def _accepted(self) -> tuple[int, ...]:
        """It takes what it is given."""
        return tuple(range(self.metadata.size))

    def offsets_are_here(self, partitions: np.ndarray, taken: int) -> None:
        """What a cooperative member is given is fetched when the fetch is back that was out; an eager one
        has called that off."""
        due = classic_client.Client.answer_due(self) if self.cooperative else self.clock.now
        self.clock.at(due, self.in_time, super().offsets_are_here, partitions, taken)

    # ---- failing and leaving -------------------------------------------------------------------

    def heartbeat_failed(self, error: str, generation: int) -> None:
        if error in (REBALANCE_IN_PROGRESS, NOT_COORDINATOR):
            super().heartbeat_failed(error, generation)
        elif generation == self.generation:
            self._die(error)

    def _die(self, error: str) -> None:
        """Its listener hears that all is lost, its application gets the error, and it tries again."""
        self._error(error)
        self._reset(error)
        self._take_batch_for_done()
        self._lose("lost")
        self.joining, self.claim = False, None
        self.failed += 1
        wait = min(BACKOFF_MS << min(self.failed - 1, 5), MOST_BACKOFF_MS)
        drawn = wait - wait // 5 + self.world.drawn_ms(2 * wait // 5)
        self.clock.after(min(drawn, MOST_BACKOFF_MS), self.in_time, self.request_rejoin, "")

    def _reset(self, reason: str) -> None:
        """Its id is refused by the answer to a join alone."""
        refused = reason == UNKNOWN_MEMBER_ID and self.phase == JOINING
        known = "" if refused else self.member_id
        super()._reset(reason)
        self.member_id = known
