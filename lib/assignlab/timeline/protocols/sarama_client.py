"""Sarama's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after Sarama 1.61.1 (``consumer_group.go``, ``consumer_group_session.go``): every generation is a
session of its own, which ends when its claims have stopped, and joins with the next call of ``Consume``.
The application makes that call at once, also after an error.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINING, SYNCING
from assignlab.timeline.protocols.classic_coordinator import GroupMember
from assignlab.timeline.protocols.errors import REBALANCE_IN_PROGRESS

ASKS_AGAIN_MS = 250
"""``Metadata.Retry.Backoff``."""
JOINS_AGAIN_MS = 2_000
"""``Consumer.Group.Rebalance.Retry.Backoff``."""
STARTS_MS = 100
"""Until a claim's first fetch goes out (``partitionConsumersBatchTimeout``)."""


class Client(classic_client.OtherClient):
    """A consumer group of Sarama's, which is one member. Its topics are asked for when they are due
    (backgroundMetadataUpdater), before a join, and by a leader that assigns. Its heartbeats take the
    connection of its fetches, as with one broker."""

    lacks = frozenset({"unsubscribe", "enforce_rebalance"})
    unplayed = frozenset({"pattern", "cooperative", "server"})
    notices_long_freeze = leads_when_back = asks_for_missing = commits_again = False
    polls_in_time = False
    joins_for_same_topics = metadata_by_timer = takes_short = True

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.settings.max_records = 1  # a claim hands out one record after the other
        self.last_beat = self.clock.now
        self.looks_for_coordinator_ms = JOINS_AGAIN_MS

    # ---- metadata ------------------------------------------------------------------------------

    def _ask_for_topics(self) -> None:
        """A fetch that fails calls for nothing."""

    def _check_subscription(self) -> None:
        """Nothing follows from metadata but what a leader sees."""

    def _watch_partitions(self, generation: int) -> None:
        """A leader compares what it assigned with its metadata by another timer
        (loopCheckPartitionNumbers)."""
        if self.generation != generation or self.joining:
            return
        if self.assignment_snapshot != self.metadata_snapshot:
            self.request_rejoin("partition count changed")
        else:
            every = self.config.metadata_max_age_ms
            self.clock.after(every, self.in_time, self._watch_partitions, generation)

    # ---- the end of a session ------------------------------------------------------------------

    def _stop_claims(self, then: Callable, *args) -> None:
        """No record is handed out any more; a claim is over when the fetch is back that was out."""

        def stopped() -> None:
            then(*args)
            self._unblock()

        self._block()
        self.when_metadata_is_here(stopped)

    def _join_prepare(self) -> None:
        if self.joining:
            self._stop_claims(super()._join_prepare)

    def _lose(self, told: str) -> None:
        """Cleanup says nothing of why."""
        super()._lose("revoked")

    def _fenced(self, error: str) -> None:
        """Its session ends; every Consume is refused after that."""
        self.at_poll(self._stop_claims, self._die, error)

    def _die(self, error: str) -> None:
        if self.held.size:
            self._lose("revoked")
        super()._die(error)

    def _close(self) -> None:
        """A join that is under way comes to its end before."""
        if self.phase in (JOINING, SYNCING):
            self.closes = True
        else:
            self.joining = False
            self._stop_claims(self._commit_and_leave)

    # ---- joining -------------------------------------------------------------------------------

    def _send_join(self) -> None:
        """Consume asks for its topics first, and fails as long as one is missing."""
        cancel(self._beat)
        self._fetch_metadata()
        if self.metadata[list(self.subscription)].all():
            super()._send_join()
        else:
            self.clock.after(ASKS_AGAIN_MS, self.in_time, self._send_join)

    def _go_on_joining(self, call: Callable, *args) -> None:
        """A session has to end first; nothing else waits for the application."""
        if call == self._join_prepare:
            super()._go_on_joining(call, *args)
        else:
            call(*args)

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It asks for the topics of all members every time, and fails if one is missing."""
        self.group_subscription = {t for m in members for t in m.request.subscription}
        self._fetch_metadata()
        if self.metadata[list(self.group_subscription)].all():
            self._perform_assignment(members, skip_assignment)
        else:
            self.clock.after(ASKS_AGAIN_MS, self.in_time, self._rejoin_again)

    def _start_heartbeats(self) -> None:
        """The first one goes out with the session."""

    def _heartbeat(self) -> None:
        """A broker answers in order: it comes to this one when the fetch is back that was out; after a
        freeze that is back."""
        now, thawed = self.clock.now, self.frozen_until + self.config.latency_ms
        self._beat = self.clock.at(now if now <= thawed else self.answer_due(), self._beats, now)

    def _beats(self, ticked: int) -> None:
        super()._heartbeat()
        if self.alive and self.last_beat == self.clock.now:
            cancel(self._beat)
            due = ticked + self.beats_every_ms + self.world.heartbeat_delay()
            self._beat = self.clock.at(due, self._heartbeat)

    def synced(self, error, *answer) -> None:
        if error == REBALANCE_IN_PROGRESS and self.phase == SYNCING:
            self.clock.after(JOINS_AGAIN_MS, self.in_time, self._rejoin_again)
        else:
            super().synced(error, *answer)

    def _join_complete(self, generation: int, partitions: np.ndarray, *claim) -> None:
        super()._join_complete(generation, partitions, *claim)
        self._beat = self.clock.after(self.config.latency_ms, self._heartbeat)
        if self.leads:
            self._watch_partitions(generation)
        if self.closes:  # its claims' offsets are fetched before
            self.after_round_trip(self._commit_and_leave)

    def offsets_are_here(self, partitions: np.ndarray, taken: int) -> None:
        self.clock.after(STARTS_MS, self.in_time, super().offsets_are_here, partitions, taken)
