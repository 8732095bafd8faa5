"""librdkafka's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`, or under KIP-848 of
:mod:`~assignlab.timeline.protocols.kip848_client`. Here stand the steps that differ, in the order of that
life, after librdkafka 2.15.1 (``rdkafka_cgrp.c``, ``rdkafka_metadata.c``).
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.poll_loop import NEVER
from assignlab.timeline.protocols import classic_client, kip848_client
from assignlab.timeline.protocols.classic_client import (
    JOINED,
    JOINING,
    NO_GENERATION,
    SYNCING,
    UNJOINED,
)
from assignlab.timeline.protocols.classic_coordinator import GroupMember
from assignlab.timeline.protocols.errors import FENCED_INSTANCE_ID, NOT_COORDINATOR
from assignlab.timeline.protocols.kip848_client import RECONCILING, STALE
from assignlab.timeline.scenario import SECOND

CHANGED = "metadata for subscribed topics has changed"
APART_MS = 10
"""Answers to members that looked at their topics at the same time came so far apart."""
LOOKS_MS = SECOND // 2
"""From one look of its main thread to the next, where nothing wakes it."""


class Timed(Consumer):
    """Its timers and polls, and what it reads first, under either protocol. It commits what its application
    has been given, done with or not, unless a rebalance is under way (rd_kafka_cgrp_offset_commit_tmr_cb).
    """

    commits_by_timer = reads_new_last = True

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.settings.max_records = 1  # a poll hands out one
        self.loop.next_commit = NEVER

    def freeze(self, for_ms: int) -> None:
        super().freeze(for_ms)
        self.loop.next_commit = max(self.loop.next_commit, self.frozen_until)


class Client(Timed, classic_client.OtherClient):
    """A consumer of librdkafka.

    ``named``: the topics that its application asks for; ``known``: those that are there, and their
    partitions, which are what it subscribes to; ``joined_with``: those of its last join; ``cached``:
    topics that it has asked for; ``next_topics``: what it subscribes to when its join is over.
    ``assigned``: whether its listener has to hear of the next join; ``losing``: whether it is to hear
    that topics are gone; ``heard``: when the coordinator gave it an assignment; ``asked_at``: when it
    last sent a JoinGroup.
    """

    notices_long_freeze = asks_for_missing = commits_again = checks_commits = False
    metadata_by_timer = takes_short = True

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.joins_for_same_topics = not self.cooperative
        # Its main thread looks twice a second whether one is due: max.poll.interval.ms wakes it.
        self.beats_every_ms = -(-self.config.heartbeat_interval_ms // LOOKS_MS) * LOOKS_MS
        self.last_beat = self.clock.now - self.beats_every_ms
        self.named: tuple[int, ...] = ()
        self.known: dict[int, int] = {}
        self.joined_with: dict[int, int] = {}
        self.cached: set[int] = set()
        self.next_topics: tuple[int, ...] | None = None
        self.overdue = self.assigned = self.losing = False
        self.heard = self.asked_at = self.clock.now

    # ---- metadata ------------------------------------------------------------------------------

    def _ask_for_topics(self) -> None:
        """It asks for the leaders of the partitions then, and the answer does not concern the group."""

    def _refresh_metadata(self) -> None:
        """Members that were made together look together; whose answer is first is drawn."""
        later = self.world.drawn_ms(APART_MS)
        self.when_metadata_is_here(self.clock.after, later, self.in_time, self._look_at_metadata)

    def _fetch_metadata(self, age: int = 0) -> None:
        super()._fetch_metadata(age)
        self.known = {t: int(self.metadata[t]) for t in self.subscription if self.metadata[t]}
        self.named, self.subscription = self.subscription, tuple(self.known)
        self.cached.update(self.known)

    def _check_subscription(self) -> None:
        """Whoever sees that topics of its own came, went or grew joins again, leader or not, at the end
        of a join that is under way. A cooperative member that reads a topic which is gone, or not its
        own any more, loses that, and joins again for it only if it leads
        (rd_kafka_cgrp_metadata_update_check)."""
        if self.known == self.joined_with or self.phase in (JOINING, SYNCING):
            return
        gone = self._unread()
        if self.phase == UNJOINED:
            self.request_rejoin("")
        elif not (self.cooperative and gone.size):
            self.request_rejoin(CHANGED)
        elif not self.joining:
            self.joined_with, self.losing = self.known, True
            self.at_poll(self._lose_topics, gone)

    def _lose_topics(self, gone: np.ndarray) -> None:
        self.losing = False
        if self.joining:
            return
        if self.config.commit == "auto":
            self.commit(lambda error: None)
        self.tell("lost", gone, "topics not available")
        self.give_up(gone, "lost: topics not available")
        if self.claim is not None:
            self.claim = self.claim.without(self.world.cluster.codes(gone))
        if self.leads:
            self.request_rejoin(CHANGED)

    def subscribe(self, topics) -> None:
        """In a rebalance the new topics wait until it is over (rkcg_next_subscription)."""
        self.instead_of_poll(self._subscribe_to, tuple(topics))

    def _subscribe_to(self, topics: tuple[str, ...]) -> None:
        if self.joining:
            self.next_topics = topics
            return
        self.next_topics = None
        self.member = replace(self.member, topics=topics, pattern=None)
        named = self.world.subscription_of(self.member, self.world.cluster.partitions)
        if not self.cooperative or self.unsubscribed:
            self._subscribed()
        elif self.cached.issuperset(named):
            self._fetch_metadata()
            if self.known != self.joined_with:
                self.request_rejoin(CHANGED)
        else:  # it asks first, and what it has is no topic of its own in the answer
            self.after_round_trip(self._look_at_metadata)

    # ---- joining -------------------------------------------------------------------------------

    def request_rejoin(self, reason: str) -> None:
        """Who has no topics that are there does not begin to join (rd_kafka_cgrp_join)."""
        if self.known or self.phase != UNJOINED:
            super().request_rejoin(reason)

    def _go_on_joining(self, call: Callable, *args) -> None:
        """Its main thread joins; the application is waited for where its listener is to hear of it, an
        eager one also without partitions, and where it was late for its poll."""
        gives_up = self.held if self.generation == NO_GENERATION else self._unread()
        hears = gives_up.size if self.cooperative else self.assigned
        if hears or self.overdue:
            self.at_poll(call, *args)
        else:
            self.advance()
            call(*args)

    def take(self, partitions: np.ndarray) -> None:
        self.assigned = True
        super().take(partitions)

    def _join_prepare(self) -> None:
        """What is given up is committed, not what a cooperative member keeps."""
        if self.joining and self.cooperative:
            self._committed_before_join(None)
        elif self.joining:
            self._commit_before_join()

    def _revoke_before_join(self, prepared: bool = False) -> None:
        """What is lost is committed in vain, before the join; for a static member that has no id any more
        it is the end (rd_kafka_assignment_serve_removals)."""
        self.assigned = False
        lost = self.generation == NO_GENERATION or self.member_id == ""
        if not lost or self.config.commit != "auto" or not self.own.position.any():
            super()._revoke_before_join(prepared)
            return
        go_on = super()._revoke_before_join

        def answered(error: str | None) -> None:
            if error == FENCED_INSTANCE_ID:
                self._die(error)
            else:
                go_on(prepared)

        self.commit_in_poll(answered)
        self._lose(self.loss)

    def _revoke(self, partitions: np.ndarray, then: Callable) -> None:
        """It commits what it gives up alone (rd_kafka_assignment_serve_removals)."""
        give_up = super()._revoke
        if self.cooperative and self.config.commit == "auto" and partitions.size:
            self.commit_in_poll(lambda error: give_up(partitions, then), partitions)
        else:
            give_up(partitions, then)

    def _send_join(self, asked: bool = False) -> None:
        """Ask for the topics that it names first, unless all are known. Without any that is there it
        sends nothing more, heartbeats neither, until it sees one (rd_kafka_cgrp_join)."""
        if not asked and self.member.pattern is None and len(self.known) < len(self.named):
            self.after_round_trip(self._ask_and_join)
            return
        self.joined_with = self.known
        if not self.known:
            self.advance()
            self.phase, self.joining = UNJOINED, False
            cancel(self._beat)
            self.set_verdict()
            return
        if self.overdue:  # who was late for its poll has sent heartbeats in vain until here
            self.overdue = False
            self.last_beat = (
                self.clock.now - (self.clock.now - self.last_beat) % self.beats_every_ms
            )
        self.asked_at = self.clock.now
        super()._send_join()

    def _find_and_rejoin(self, error: str) -> None:
        """It asks again before it knows the new coordinator or after that, as drawn: both were recorded."""
        if self.world.tossed():
            self.asked_at = self.clock.now
        super()._find_and_rejoin(error)

    def _rejoin_again(self) -> None:
        """A second after its last JoinGroup at the earliest, unless it leads, and two where that one
        failed (rkcg_join_intvl)."""
        synced = self.phase == SYNCING
        wait = 0 if synced and self.leads else SECOND if synced else 2 * SECOND
        cancel(self._beat)
        self.clock.at(self.asked_at + wait, self.in_time, super()._rejoin_again)

    def _ask_and_join(self) -> None:
        self._fetch_metadata()
        self._send_join(asked=True)

    def sends_user_data(self, members: list[GroupMember], protocol: str) -> bool:
        """What a cooperative-sticky member has told that it owns is sent back to it
        (rd_kafka_group_MemberState_consumer_write)."""
        return any(one.request.claim_for(protocol) is not None for one in members)

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It asks for the topics of the group every time, and for its assignment alone."""
        self.after_round_trip(self._fetch_and_assign, self.generation, members, skip_assignment)

    def _fetch_and_assign(self, generation: int, *of_group) -> None:
        if self.phase == SYNCING and self.generation == generation:
            self.metadata = self.world.cluster.partitions.copy()
            self._perform_assignment(*of_group)

    def _perform_assignment(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """Whose subscription is cut short gets nothing."""
        whole = [member for member in members if not member.request.cut_short]
        super()._perform_assignment(whole, skip_assignment)

    def _join_complete(self, *answer) -> None:
        super()._join_complete(*answer)
        if self.next_topics is not None and not self.joining:
            self._subscribe_to(self.next_topics)

    # ---- heartbeats ----------------------------------------------------------------------------

    def synced(self, *answer) -> None:
        super().synced(*answer)
        self.heard = self.clock.now
        self._start_heartbeats()

    def _start_heartbeats(self) -> None:
        """They rest from a JoinGroup to its assignment, and are due when they would have been (rd_interval),
        so members beat each for itself."""
        cancel(self._beat)
        if self.phase == JOINED:
            self._beat = self.clock.at(self.last_beat + self.beats_every_ms, self._heartbeat)

    def heartbeat_failed(self, error: str, generation: int) -> None:
        """While its application has an assignment or a loss to hear of, nothing follows from what the next
        heartbeat will say again (RD_KAFKA_CGRP_REBALANCING)."""
        waits = self.completing or self.losing
        if not waits or error in (NOT_COORDINATOR, FENCED_INSTANCE_ID):
            super().heartbeat_failed(error, generation)

    def _find_and_beat(self) -> None:
        """Its next heartbeat comes when it is due."""
        self.find_coordinator()

    # ---- leaving, failing ----------------------------------------------------------------------

    def _unsubscribe(self) -> None:
        self._commit_and(super()._unsubscribe)

    def _close(self) -> None:
        self._commit_and(self._leave)

    def _commit_and(self, then: Callable[[], None]) -> None:
        """What it holds is given up with a commit, in a rebalance, too."""
        if self.config.commit == "auto" and self.phase != UNJOINED:
            self.commit_in_poll(lambda error: then())
        else:
            then()

    def _leave_prepare(self, then) -> None:
        """A cooperative member that closes without partitions does not leave: it waits for no call that
        would go on to that (rd_kafka_cgrp_revoke_all_rejoin)."""
        if self.closing and self.cooperative and not self.held.size:
            self.stays = True
        if self.phase == UNJOINED:
            super()._leave_prepare(then)
        else:
            super()._revoke(self.held, then)

    def _send_leave(self) -> None:
        """A static member stays where it closes, not where it unsubscribes (rd_kafka_cgrp_leave_maybe)."""
        if self.member_id and not (self.stays and self.closing):
            self.clock.after(
                self.config.latency_ms, self.coordinator.leave_group, self, self.member_id
            )

    def poll_interval_exceeded(self) -> None:
        """It looks twice a second (rd_kafka_cgrp_max_poll_interval_check_tmr_cb)."""
        self.clock.after(self.world.drawn_ms(LOOKS_MS), self.in_time, self._exceeded)

    def _exceeded(self) -> None:
        if not self.is_poll_interval_over():
            return
        self.overdue = True
        if not (self.completing or self.losing):
            super().poll_interval_exceeded()
            return
        # It leaves, and its application hears what it was to hear; then it holds what it has,
        # without heartbeats, until its session is over (rd_kafka_cgrp_session_timeout_check).
        self.tell("poll interval exceeded", self.held)
        if self.instance is None:
            self._send_leave()
        self.advance()
        self.member_id = ""
        cancel(self._beat)
        ends = max(self.last_beat, self.heard) + self.config.session_timeout_ms
        self.clock.at(ends, self.in_time, self.at_poll, self._session_over)

    def _session_over(self) -> None:
        if self.overdue and not self.joining:
            self._reset_and_rejoin("session timed out")

    def _reset(self, reason: str) -> None:
        """Its listener is called for the rebalance that was there before."""
        self.loss = "revoked" if self.joining else "lost"
        super()._reset(reason)


class ServerClient(Timed, kip848_client.Client):
    """A consumer of librdkafka under KIP-848."""

    reads_new_first = loses_again = False
    looks_again_ms = 0

    def poll_waits(self) -> bool:
        """What its main thread has for the application comes before records."""
        return True

    def _next_look(self) -> int:
        """And wakes a poll at once."""
        return self.clock.now

    def _is_target(self, partitions: np.ndarray) -> bool:
        """That a pattern has no partitions at first is no news to it, and nothing that it acknowledges."""
        first = self.pattern is not None and self.target is None
        nothing = first and not partitions.size and not self.held.size
        return nothing or super()._is_target(partitions)

    def _subscribed(self, topics: tuple[str, ...]) -> None:
        """It says so at once, or with what it acknowledges (rd_kafka_cgrp_consumer_apply_next_subscribe)."""
        super()._subscribed(topics)
        if self.phase == kip848_client.JOINED:
            self._send_heartbeat()

    # ---- reconciliation ------------------------------------------------------------------------

    def _reconcile(self) -> None:
        if self.phase == RECONCILING:
            self._hold_auto_commit()
        super()._reconcile()

    def _goes_on(self, target: np.ndarray) -> bool:
        """Else its listener hears of it all the same, before it hears of anything else."""
        return self._reconciling is target and self.phase == RECONCILING

    def _commit_and_revoke(self, target: np.ndarray) -> None:
        """It commits what it gives up alone (rd_kafka_assignment_serve_removals)."""
        if not self._goes_on(target):
            return
        gone = self._revoked(target)
        go_on = self._revoke if gone.size else self._assign
        self.commit(lambda error: self.when_poll_looks(go_on, target), gone)
        self.stop_reading(gone, self.revoked_how())

    def _hear_the_rest(self) -> None:
        """Its listener hears first what it was about to hear (RD_KAFKA_CGRP_REBALANCING)."""
        target, self._reconciling = self._reconciling, None
        if target is not None:
            gone, new = self._revoked(target), target[~self.log.among(target, self.held)]
            if gone.size and self.config.commit == "auto":
                self.commit(lambda error: None, gone)
            self.let_go(gone, "late")
            if new.size:
                self.take(new)

    def _commit_the_last(self) -> None:
        """What is taken from it is committed, lost or not, and counts as long as it has not left."""
        self._hear_the_rest()
        if self.config.commit == "auto":
            self.commit(lambda error: None)

    # ---- leaving and failing -------------------------------------------------------------------

    def identity(self):
        """A commit says what its last heartbeat was told."""
        return self.member_id, self.generation

    def _become_stale(self) -> None:
        super()._become_stale()
        self._hold_auto_commit()

    def _leave_stale(self) -> None:
        """It sends no heartbeats any more, and leaves once its application has lost what it has
        (RD_KAFKA_CGRP_F_LEAVE_ON_UNASSIGN_DONE)."""
        self.tell("poll interval exceeded", self.held)
        self._become_stale()
        self.at_poll(self._lose_and_leave)

    def _lose_and_leave(self) -> None:
        if self.phase == STALE:  # not if it has unsubscribed since
            self._leave_late("max.poll.interval.ms exceeded")
            self.after_round_trip(self._join)

    def _leave_late(self, error: str) -> None:
        """Who was late for its poll has not left yet."""
        if self.phase == STALE:
            self._lose(error)
            self._send_leave()

    def _lose(self, error: str) -> None:
        self._commit_the_last()
        super()._lose(error)

    def _close(self) -> None:
        self._leave_late("closed")
        self._hear_the_rest()
        super()._close()

    def _unsubscribe(self) -> None:
        self._leave_late("unsubscribed")
        self._commit_the_last()
        super()._unsubscribe()
