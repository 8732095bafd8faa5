"""kafka-python's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after kafka-python 3.0.12 (``coordinator/base.py``, ``coordinator/consumer.py``): a poll begins a
join, a thread of its own carries it on from poll to poll, and a poll has to be there when it is over.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.poll_loop import Phase
from assignlab.timeline.engine.requests import Claim
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINED, NO_GENERATION, SYNCING
from assignlab.timeline.protocols.classic_coordinator import GroupMember
from assignlab.timeline.protocols.errors import MEMBER_ID_REQUIRED

UNTOLD = ("subscription has changed", "cached metadata has changed")
"""Why it joins although nobody told it to (``rejoin_needed`` stays False)."""


class Client(classic_client.OtherClient):
    """A consumer of kafka-python. ``told``: whether it is to join, until it has (``rejoin_needed``);
    ``polled``: when a poll began, which others follow while it joins; ``awaited``: until when a poll goes
    on to await a join that is needed no more; ``alone``: whether no poll took the assignment; ``rests``:
    whether nothing is read; ``takes``: whether a poll takes an assignment now; ``kept``: what an eager
    member had when it began to join."""

    lacks = frozenset({"server"})
    reads_new_last = True
    leads_when_back = tells_owned = False

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.told, self.alone, self.rests, self.takes, self.kept = True, False, False, False, EMPTY
        self.polled = self.awaited = self.clock.now
        self.poll_ms = self.commits_in_vain_ms = max(self.config.poll_timeout_ms, 1)

    # ---- joining -------------------------------------------------------------------------------

    def find_coordinator(self, then: Callable[[], None] | None = None) -> None:
        """Its poll interval begins anew with that (Heartbeat.reset_timeouts), though its application is at
        work."""

        def found() -> None:
            self.loop.last_poll = self.clock.now
            self._check_poll_interval()
            if then is not None:
                then()

        super().find_coordinator(found)

    def needs_join(self) -> bool:
        """Whether a poll that begins now looks after a join (``need_rejoin``)."""
        changed = self.assignment_snapshot not in (None, self.metadata_snapshot)
        return self.told or changed or self.joined_subscription != self.subscription

    def request_rejoin(self, reason: str) -> None:
        self.told |= reason not in UNTOLD
        super().request_rejoin(reason)

    def _check_subscription(self) -> None:
        """Nothing else brings back who is alone."""
        if self.alone and self.needs_join():
            self._join_anew()
        super()._check_subscription()

    def _go_on_joining(self, call: Callable, *args) -> None:
        """An answer to JoinGroup waits for no poll; a poll that took an assignment begins no other join."""
        if call == self._read_join:
            self.advance()
            call(*args)
        elif self.takes:
            wait = min(self.poll_ms, self.config.retry_backoff_ms)
            self.clock.after(wait, self.in_time, super()._go_on_joining, call, *args)
        else:
            super()._go_on_joining(call, *args)

    def _join_prepare(self) -> None:
        if self.joining:
            self._begin_polls(self._commit_before_join, self._with_metadata)

    def _join_anew(self) -> None:
        """The next poll sends another JoinGroup; its listener has heard."""
        self.alone = False
        self.at_poll(self._begin_polls, self._send_join, self._send_join)

    def _begin_polls(self, then: Callable, with_topics: Callable) -> None:
        """Polls bring nothing from here until one has the assignment, and each asks for the topics of a
        pattern first: its next fetch is out before that or not, as drawn (both were recorded)."""
        self.polled = self.clock.now
        if not self.rests:
            self.rests = True
            self._block()
        if self.member.pattern is None:
            then()
            return
        here = self.answer_due() if self.world.tossed() else self.clock.now
        due = max(here, self._fetched + self.config.retry_backoff_ms) + 2 * self.config.latency_ms
        self.clock.at(due, self.in_time, self.at_poll, with_topics)

    def _go_on_reading(self) -> None:
        if self.rests:
            self.rests = False
            self._unblock()

    def _revoke_before_join(self, prepared: bool = False) -> None:
        """Where the group has refused it since, its listener hears nothing."""
        if prepared:
            self._send_join()
            return
        if self.held.size:
            self.kept = self.held
        elif self.kept.size:  # the assignment had what it does not read
            self.tell("revoked", self.kept)
        super()._revoke_before_join()

    def _send_join(self) -> None:
        cancel(self._beat)
        super()._send_join()
        self._await_to_its_end(self.clock.now if self.member.pattern else self.polled)

    def _await_to_its_end(self, polled: int) -> None:
        """The poll at hand awaits the join, though it be needed no more; polls begin as one ``polled``."""
        self.awaited = self.clock.now + self.poll_ms - (self.clock.now - polled) % self.poll_ms

    def _claim_for(self, strategy) -> Claim | None:
        """A cooperative one claims what it was last assigned, without a generation."""
        claim = self.remembered.get(strategy.kind)
        eager = strategy.protocol != "cooperative" or claim is None
        return claim if eager else Claim(claim.codes, NO_GENERATION)

    def _read_join(self, error, *answer, **named) -> None:
        self.told |= error == MEMBER_ID_REQUIRED
        super()._read_join(error, *answer, **named)

    def _polled_while_joining(self) -> None:
        """Its polls ask for the topics of a pattern, each member's at moments of its own."""
        if self.member.pattern is not None and self.needs_join():
            self._fetch_metadata(self.world.drawn_ms(self.config.retry_backoff_ms))

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It assigns at once, without topics of others that it has not asked for, and asks for all."""
        self.group_subscription = {t for m in members for t in m.request.subscription}
        others = self.group_subscription.difference(self.subscription, self._asked_for)
        if self.member.pattern is None and others:
            self._asked_for = self.group_subscription
            self.metadata[list(others)] = 0
        needed = self.needs_join()
        self._perform_assignment(members, skip_assignment)
        if needed and not self.needs_join():
            self._await_to_its_end(self.polled)
        due = max(self.answer_due(), self._fetched + self.config.retry_backoff_ms)
        self.clock.at(due + 2 * self.config.latency_ms, self.in_time, self._look_at_metadata)

    def _note_question(self) -> None:
        """It asks for its own topics and for those of the group that it has led."""

    def _next_look_ms(self) -> int:
        return self.config.retry_backoff_ms

    def synced(self, error, *answer) -> None:
        """The poll that awaits it takes an assignment, or none does."""
        self.told |= error is not None
        if self.phase != SYNCING or error is not None or self._is_awaited():
            super().synced(error, *answer)
        elif self.needs_join():
            self._join_anew()
        else:
            self.alone = True
            self._go_on_reading()

    def _is_awaited(self) -> bool:
        self.advance()
        if self.loop.phase not in (Phase.POLL, Phase.HALTED):
            return False
        return self.clock.now < self.awaited or (self.needs_join() and self._has_topics())

    def _has_topics(self) -> bool:
        """Whether a poll has the topics of a pattern at some moment, for which it asks first: looks are
        ``retry_backoff_ms`` apart, so one that is no longer spends half of its time on it, or all."""
        between = self.config.retry_backoff_ms
        asks = self.member.pattern is not None and self.poll_ms <= between
        return not asks or self.world.drawn_ms(2 * between) < self.poll_ms

    def _join_complete(self, *answer) -> None:
        """Heartbeats begin with it."""
        self.told, self.takes = False, True
        self._go_on_reading()
        super()._join_complete(*answer)
        self.takes = False
        self._start_heartbeats()

    def take(self, partitions: np.ndarray) -> None:
        """A cooperative listener hears of new partitions alone."""
        self.kept = EMPTY
        if partitions.size or not self.cooperative:
            super().take(partitions)

    def _accepted(self) -> tuple[int, ...]:
        return self.subscription

    # ---- heartbeats and leaving ----------------------------------------------------------------

    def _start_heartbeats(self) -> None:
        if self.phase == JOINED:
            super()._start_heartbeats()

    def _heartbeat(self) -> None:
        """The task that sends them looks whether a poll is late."""
        runs = self.phase == JOINED and self.clock.now >= self.frozen_until
        if runs and self.is_poll_interval_over():
            super().poll_interval_exceeded()
        else:
            super()._heartbeat()

    def poll_interval_exceeded(self) -> None:
        """Nothing follows before the next heartbeat."""

    def _session_expired(self) -> None:
        self._find_and_beat()

    def _find_and_beat(self) -> None:
        """The next heartbeat is due an interval after it has found the coordinator."""
        super()._find_and_beat()
        cancel(self._beat)
        due = self.beats_every_ms + self.world.heartbeat_delay() + 3 * self.config.latency_ms
        self._beat = self.clock.after(due, self._heartbeat)

    def _fenced(self, error: str) -> None:
        """Its application is told nothing."""
        self._error(error)

    def _reset(self, reason: str) -> None:
        self.told = True
        super()._reset(reason)

    def _unsubscribe(self) -> None:
        """It commits, and its listener hears nothing."""
        if self.config.commit == "auto" and self.phase == JOINED:
            self.commit(lambda error: None)
        self.give_up(self.held, self.revoked_how())
        self.kept = EMPTY
        super()._unsubscribe()

    def _leave_prepare(self, then: Callable) -> None:
        """In a rebalance, too, its listener hears that what it had is revoked."""
        if self.held.size and self.generation == NO_GENERATION:
            self._lose("lost")
        elif not self.held.size and self.kept.size:
            self.tell("revoked", self.kept)
        self._revoke(self.held, then)
