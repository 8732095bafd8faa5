"""The client of the consumer protocol (KIP-848).

After AbstractMembershipManager, AbstractHeartbeatRequestManager and CommitRequestManager of
kafka-clients 4.3.0. The broker's side is
:mod:`~assignlab.timeline.protocols.kip848_coordinator`.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from assignlab.timeline.engine import poll_loop
from assignlab.timeline.engine.clock import Timer, cancel
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.poll_loop import NEVER, Mode, Phase
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols.errors import (
    FENCED_INSTANCE_ID,
    GROUP_ID_NOT_FOUND,
    NOT_COORDINATOR,
    UNKNOWN_SERVER_ERROR,
    UNREACHED,
    UNRELEASED_INSTANCE_ID,
)
from assignlab.timeline.protocols.kip848_coordinator import (
    JOINING_EPOCH,
    LEAVING_EPOCH,
    STATIC_LEAVING_EPOCH,
    Coordinator,
)
from assignlab.timeline.scenario import Member

UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, JOINED, STALE = (
    "UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE", "STALE",
)  # fmt: skip
FATAL = (UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID, GROUP_ID_NOT_FOUND, UNKNOWN_SERVER_ERROR)
"""Answers to a heartbeat after which the application gets an exception."""


class Client(Consumer):
    """A consumer that speaks the consumer protocol. ``generation`` is its member epoch."""

    asks_again = UNREACHED
    reads_new_first = True
    looks_again_ms = 100
    """So long an application that unsubscribes may wait before it sees what the network thread has for it."""
    loses_again = True
    """Whether who unsubscribes and then closes is told once more that what it had is lost."""

    def __init__(self, world: World, coordinator: Coordinator, member: Member, number: int):
        super().__init__(world, member, number)
        self.coordinator = coordinator
        self.member_id = world.known_id(member.name) or world.topic_id()
        self.phase = UNSUBSCRIBED
        self.target: np.ndarray | None = None
        self._beat: Timer | None = None
        self._in_flight = False
        self._told_subscription = None
        self._reconciling: np.ndarray | None = None
        self._matched: tuple[int, ...] = ()
        self._metadata_age = None
        self._named: set[int] = set()
        self._asking = False
        self._unsubscribed_at = 0
        self._left_with = EMPTY
        if self.config.commit == "auto":  # AutoCommitState
            interval = self.config.auto_commit_interval_ms
            first = self.made + interval  # or the first poll, which commits nothing
            self.loop.next_commit = first if first > self.clock.now else self.clock.now + interval

    def poll_waits(self) -> bool:
        """Since 4.2 it does not (AsyncPollEvent)."""
        return self.config.poll_wakes == "timeout"

    @property
    def pattern(self) -> str | None:
        """The pattern that the coordinator is to resolve."""
        return None if self.member.client_pattern else self.member.pattern

    def start(self) -> None:
        """Find the coordinator, then join with the first heartbeat."""
        self.after_round_trip(self._join)
        if self._matches():
            self.clock.after(4 * self.config.latency_ms, self.in_time, self._look_at_topics)

    def _matches(self) -> bool:
        """Whether this client looks for topics itself (``subscribe(Pattern)``)."""
        return self.member.pattern is not None and self.member.client_pattern

    def _look_at_topics(self) -> None:
        """The topics as they are now, and again when this is ``metadata_max_age_ms`` old."""
        if not self._matches():
            return
        found = self.world.topics_matching(self.member.pattern, self.world.cluster.partitions)
        self._ask_when_old(self._look_at_topics)
        self.at_poll(self._match, found)

    def _ask_when_old(self, look: Callable[[], None]) -> None:
        """Ask for the topics again when what is known of them is too old."""
        cancel(self._metadata_age)
        self._metadata_age = self.clock.after(
            self.config.metadata_max_age_ms, self.in_time, self.when_metadata_is_here, look
        )

    def _match(self, found: tuple[int, ...]) -> None:
        """The poll takes it over, the next heartbeat says so (updatePatternSubscription)."""
        self._matched = found

    def _join(self) -> None:
        self.advance()
        self.phase = JOINING
        self.generation = JOINING_EPOCH
        self.target = None
        self._left_with = EMPTY
        self._told_subscription = None
        self.set_verdict()
        self._send_heartbeat()

    def subscribe(self, topics) -> None:
        """The application subscribes to something else."""
        self.instead_of_poll(self._subscribed, tuple(topics))

    def _subscribed(self, topics: tuple[str, ...]) -> None:
        """The next heartbeat carries it; none is sent for it (onSubscriptionUpdated)."""
        self.member = replace(self.member, topics=topics, pattern=None)
        if self.phase == UNSUBSCRIBED:
            self.clock.at(self._unsubscribed_at, self.in_time, self._join)

    def _unsubscribe(self) -> None:
        """It finds at once what the network thread has for its listener, or when it looks again, as drawn:
        both were recorded (processBackgroundEvents). Who is out already has lost what it held."""
        leaves = self.phase not in (UNSUBSCRIBED, STALE)
        if self.phase == STALE:
            self._lose("unsubscribed")
        self._left_with = EMPTY
        self._stop_heartbeats()
        self.advance()
        self.phase, self.target, self._reconciling = UNSUBSCRIBED, None, None
        self.stop_reading(self.held, self.revoked_how())
        looks_again = self.held.size > 0 and self.world.tossed()
        self._unsubscribed_at = self.clock.now + (self.looks_again_ms if looks_again else 0)
        self.clock.at(self._unsubscribed_at, self.in_time, self._give_up_and_leave, leaves)

    def _give_up_and_leave(self, leaves: bool) -> None:
        if self.held.size:
            self.tell("revoked", self.held)
            if self.loses_again:  # what close looks at is not emptied (groupAssignmentSnapshot)
                self._left_with = self.held
            self.give_up(self.held, self.revoked_how())
        if leaves:
            self._send_leave()
        self.tell("unsubscribed")

    def metadata_is_stale(self) -> None:
        """The coordinator sees to topics, but for those that a pattern matches here."""
        self.clock.after(self.config.retry_backoff_ms, self.in_time, self._look_at_topics)

    def topic_is_gone(self) -> None:
        """Its fetch says so, and it looks at its topics. Who asks for ids fails at the answer, which has no
        name for this one (MetadataSnapshot), and waits for it ever after: it learns of no other topic."""
        if self.pattern is None:
            self.metadata_is_stale()
            return
        self._asking = True
        cancel(self._metadata_age)

    # ---- heartbeats ----------------------------------------------------------------------------

    def _send_heartbeat(self) -> None:
        """Send what has changed since the last heartbeat, one request at a time."""
        self._stop_heartbeats()
        if not self.alive or self.phase in (UNSUBSCRIBED, STALE):
            return
        if self.clock.now < self.frozen_until:
            self._beat = self.clock.at(self.frozen_until, self._send_heartbeat)
            return
        if self._in_flight:
            return
        if self.is_poll_interval_over():
            self._leave_stale()
            return
        topics = (
            self._matched
            if self._matches()
            else self.world.subscription_of(self.member, self.world.cluster.partitions)
        )
        asked = (self.pattern, topics)
        everything = self._told_subscription is None
        subscription = topics if asked != self._told_subscription else None
        self._told_subscription = asked
        owned = None
        if everything or self.phase == ACKNOWLEDGING:
            owned = self.held.copy()
        if self.phase == ACKNOWLEDGING:
            reconciled = self.target is None or self._is_target(self.held)
            self.phase = JOINED if reconciled else RECONCILING
            if not reconciled:  # another target came meanwhile
                self.clock.after(0, self.in_time, self._reconcile)
        self._in_flight = True
        self.clock.after(
            self.config.latency_ms, self.coordinator.consumer_group_heartbeat, self, self.member_id,
            self.generation, subscription, owned,
        )  # fmt: skip
        interval = self.config.group_consumer_heartbeat_interval_ms
        self._beat = self.clock.after(interval + self.world.heartbeat_delay(), self._send_heartbeat)

    def answered(self, error: str | None, epoch: int, assignment: np.ndarray | None) -> None:
        """The answer to a heartbeat."""
        self._in_flight = False
        if self.phase in (UNSUBSCRIBED, STALE):
            return
        if error in UNREACHED:
            # The next one says everything again (resetHeartbeatState).
            self._told_subscription = None
            self._stop_heartbeats()
            if error == NOT_COORDINATOR:
                self.find_coordinator(self._send_heartbeat)
            else:
                self._beat = self.clock.after(self.config.retry_backoff_ms, self._send_heartbeat)
        elif error in FATAL:
            self._out(error, self._die)
        elif error is not None:  # it is not known (any more): give everything up, join anew
            self.tell("error", EMPTY, error)
            self._out(error, self._lose_and_join)
        else:
            if epoch != self.generation:
                self.advance()
                if self.phase == JOINING:
                    self.belongs_again()
                    self.phase = JOINED
                self.generation = epoch
                self.set_verdict()
            if assignment is not None and not self._is_target(assignment):
                self.target = assignment
                self.phase = RECONCILING
                self._reconcile()
            elif self.phase == ACKNOWLEDGING:
                self._send_heartbeat()
            if self._beat is None:  # one was due while this one was under way
                self._send_heartbeat()

    def _is_target(self, partitions: np.ndarray) -> bool:
        """Whether these are the partitions that were assigned last."""
        target = self.target
        return (
            target is not None
            and target.size == partitions.size
            and bool(self.log.among(target, partitions).all())
        )

    def _out(self, error: str, then: Callable[[str], None]) -> None:
        """It is no member any more; the application hears of it when its poll next looks."""
        self._become_stale()
        self.when_poll_looks(then, error)

    def _become_stale(self) -> None:
        self._stop_heartbeats()
        self.advance()
        self.phase = STALE
        self.set_verdict()

    def _die(self, error: str) -> None:
        """A fatal error: the application gets an exception and gives up."""
        if self.held.size:
            self.tell("lost", self.held, error)
        self.tell("fatal", self.held, error)
        self.end(f"fatal: {error}")

    def _lose_and_join(self, error: str) -> None:
        if self.phase == STALE:  # not if it has unsubscribed since
            self._lose(error)
            self._join()

    def _lose(self, error: str) -> None:
        if self.held.size:
            self.tell("lost", self.held, error)
            self.give_up(self.held, f"lost: {error}")
        self._reconciling = None

    def _stop_heartbeats(self) -> None:
        cancel(self._beat)
        self._beat = None

    # ---- reconciliation ------------------------------------------------------------------------

    # The network thread leads, the application's thread commits and runs the listener, each when
    # its poll looks next: onPartitionsRevoked in one look, onPartitionsAssigned in the next.

    def when_poll_looks(self, call: Callable, *args) -> None:
        """Call when the application's thread next looks at what the network thread has left for it.

        That is at its next poll, or while it waits in one, as
        :attr:`~assignlab.timeline.config.Config.poll_wakes` says. A poll that has records returns them.
        """
        self.advance()
        if self.loop.phase not in (Phase.POLL, Phase.HALTED):
            self.at_poll(call, *args)
        else:
            self.clock.at(self._next_look(), self.in_time, self.at_poll, call, *args)

    def _next_look(self) -> int:
        """When an application that waits in poll for records stops to do so for a moment. A long poll does
        so for every heartbeat, and sees the answer then or with the next one, as drawn: both were
        recorded."""
        now, loop, timeout = self.clock.now, self.loop, self.config.poll_timeout_ms
        if self.config.poll_wakes == "at once" or timeout == 0:
            return now
        is_long = self.config.poll_wakes == "timeout" and timeout > self.config.retry_backoff_ms
        if is_long and self.world.tossed():
            return now
        waited = self.waited_in_poll()
        ends = now - waited + timeout
        if self.config.poll_wakes == "backoff":
            backoff = self.config.retry_backoff_ms
            ends = min(ends, now - waited % backoff + backoff)
        beats = NEVER if self._beat is None else self._beat.moment
        ends = min([ends, *(at for at in (loop.next_commit, beats) if at > now)])
        own, behind = self.own, self.config.replication_ms + self.config.latency_ms
        return behind + poll_loop.when_available(
            now - behind, ends - behind, 1, own.partition, own.position, self.log.rate,
            self.log.created,
        )  # fmt: skip

    def _reconcile(self) -> None:
        """Commit, give up what is not in the target, take what is new, acknowledge."""
        if self._reconciling is not None or self.target is None or self.phase != RECONCILING:
            return
        target = self._resolved(self.target)
        as_many = target is not self.target and target.size == self.held.size
        if as_many and self.log.among(target, self.held).all():
            return  # it has these, and waits for the names of the others
        self._reconciling = target
        revokes = self._revoked(target).size > 0
        if self.config.commit == "auto" or (revokes and not self.poll_waits()):
            # A poll has to say that positions are safe; since 4.2.1 also where nothing is committed.
            self.when_poll_looks(self._commit_and_revoke, target)
        elif revokes:
            self.when_poll_looks(self._revoke, target)
        else:
            self.when_poll_looks(self._assign, target)

    def _resolved(self, target: np.ndarray) -> np.ndarray:
        """What it can take of this: it is given ids of topics, and where the coordinator resolves a pattern,
        it asks for names that it does not know (findResolvableAssignmentAndTriggerMetadataUpdate)."""
        if self.pattern is None or self._topics_of(target) <= self._named:
            return target
        if not self._asking:
            self._asking = True
            self.after_round_trip(self.when_metadata_is_here, self._names_are_here)
        return target[self.world.cluster.of_topics(target, tuple(self._named))]

    def _topics_of(self, partitions: np.ndarray) -> set[int]:
        return set(self.world.cluster.topic[partitions].tolist())

    def _names_are_here(self) -> None:
        """It knows the topics that it is given, and no others any more; asked again when this is
        ``metadata_max_age_ms`` old."""
        self._asking = False
        self._named = set() if self.target is None else self._topics_of(self.target)
        self._ask_when_old(self._names_are_here)
        self._reconcile()

    def _revoked(self, target: np.ndarray) -> np.ndarray:
        return self.held[~self.log.among(self.held, target)]

    def _goes_on(self, target: np.ndarray) -> bool:
        """Whether the reconciliation still matters (maybeAbortReconciliation)."""
        if self._reconciling is target and self.phase != RECONCILING:
            self._reconciling = None
        return self._reconciling is target

    def _commit_and_revoke(self, target: np.ndarray) -> None:
        def committed(error: str | None) -> None:
            revoke = self._revoke if self._revoked(target).size else self._assign
            self.when_poll_looks(revoke, target)

        if not self._goes_on(target):
            return
        if not self.poll_asks():  # the next one will, unless it is closing
            if not self.closing:
                self.clock.after(
                    0, self.in_time, self.when_poll_looks, self._commit_and_revoke, target
                )
        elif self.config.commit != "auto":
            if not self.finds_records():  # it looks again in this poll
                self._revoke(target)
                return
            if not self.config.commit_on_revoke:  # the listener commits what it has read of them
                self.stop_reading(self._revoked(target), self.revoked_how())
            committed(None)
        elif self.own.partition.size:
            self.commit(committed)  # the poll goes on without its answer
            self.stop_reading(self._revoked(target), self.revoked_how())  # markPendingRevocation
        elif self.poll_waits() and not self.held.size:
            # This poll waits for the network thread, which has nothing to commit.
            self._assign(target)
        else:
            committed(None)

    def _revoke(self, target: np.ndarray) -> None:
        def revoked(error: str | None = None) -> None:
            if not self._goes_on(target):
                return
            gone = self._revoked(target)
            self.tell("revoked", gone, error or "")
            self.give_up(gone, self.revoked_how(error))
            self.when_poll_looks(self._assign, target)

        if not self._goes_on(target):
            return
        if self.config.commit_on_revoke:
            self.commit_in_poll(revoked)
        else:
            revoked()

    def _assign(self, target: np.ndarray) -> None:
        if not self._goes_on(target):
            return
        self.take(target[~self.log.among(target, self.held)])
        if self.mode == Mode.AUTO:  # signalReconciliationCompleting
            self.loop.next_commit = self._auto_commit_due()
        self._reconciling = None
        self.phase = ACKNOWLEDGING
        self._send_heartbeat()

    # ---- leaving and failing -------------------------------------------------------------------

    def _leave_stale(self) -> None:
        """Leave; the application notices at its next poll, loses everything and joins again.

        The network thread sees that the poll interval is over when it next wakes up, and while the
        application does nothing, heartbeats are what it wakes up for.
        """
        self.tell("poll interval exceeded", self.held)
        self._send_leave()
        self._become_stale()
        self.at_poll(self._lose_at_poll, *self._awaiting_callback())

    def _awaiting_callback(self) -> tuple[np.ndarray, np.ndarray]:
        """What onPartitionsAssigned, or onPartitionsRevoked, will tell once the application polls: up to
        4.2.0 a revocation began without its poll (maybeReconcile)."""
        target = self._reconciling
        if target is None or self.config.commit == "auto":
            return EMPTY, EMPTY
        revoked = self._revoked(target)
        if revoked.size:
            return EMPTY, revoked if self.poll_waits() else EMPTY
        return target[~self.log.among(target, self.held)], EMPTY

    def _lose_at_poll(self, awaiting: np.ndarray, revoked: np.ndarray) -> None:
        """What happens is told in its order: the listener hears first of partitions that it was about
        to get, which onPartitionsLost does not name, or to give up, which it names, too. Up to 4.1 an
        auto commit that is due goes out before, and counts where the group is empty."""
        if self.phase != STALE:
            return
        due = self.config.commit == "auto" and self.loop.next_commit <= self.clock.now
        if due and self.poll_waits():
            self.commit(lambda error: None)
        if revoked.size:
            self.tell("revoked", revoked, "too late")
        if awaiting.size:
            self.tell("assigned", awaiting, "too late")
        self._lose_and_join("max.poll.interval.ms exceeded")

    def _send_leave(self) -> None:
        epoch = STATIC_LEAVING_EPOCH if self.stays else LEAVING_EPOCH
        self.clock.after(
            self.config.latency_ms, self.coordinator.leave, self, self.member_id, epoch
        )

    def _close(self) -> None:
        if self.clock.now < self._unsubscribed_at:
            self.clock.at(self._unsubscribed_at, self.in_time, self._close)
            return
        self._stop_heartbeats()
        if self.config.commit == "auto" and self.own.partition.size and self.phase != STALE:
            self.commit_in_poll(lambda error: self._revoke_all())
        else:
            self._revoke_all()

    def _revoke_all(self) -> None:
        def go(error: str | None = None) -> None:
            if self.held.size:
                self.tell("revoked", self.held, error or "")
            if self.phase not in (UNSUBSCRIBED, STALE):
                self._send_leave()
            elif self._left_with.size:
                self.tell("lost", self._left_with)
            self.tell("closed")
            self.end("closed")

        if self.config.commit_on_revoke and self.own.partition.size:
            self.commit_in_poll(go)
        else:
            go()

    # ---- commits -------------------------------------------------------------------------------

    def _go_on(self) -> None:
        """Polls have begun the interval of auto commits anew all the time, with nothing to commit."""
        late = self.clock.now - self.loop.next_commit
        if self.mode == Mode.AUTO and self.loop.phase == Phase.HALTED and late >= 0:
            interval = self.config.auto_commit_interval_ms
            self.loop.next_commit += (late // interval + 1) * interval
        super()._go_on()

    def identity(self):
        """What a commit says of its sender: member id and epoch, none once it has left; a producer
        goes on to send what the consumer was told last."""
        left = self.phase in (UNSUBSCRIBED, STALE) and self.mode != Mode.TRANSACTION
        return self.member_id, LEAVING_EPOCH if left else self.generation

    def why_refused(self, sent=None) -> str | None:
        """The error that a commit is answered with, or None; ``sent``: an earlier identity."""
        member_id, epoch = sent or self.identity()
        return self.coordinator.validate_commit(self, member_id, epoch)
