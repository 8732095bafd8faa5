"""The consumer protocol (KIP-848): the coordinator assigns, heartbeats carry everything.

:class:`Coordinator` is the broker's side (GroupMetadataManager, CurrentAssignmentBuilder and
ConsumerGroup of kafka-group-coordinator 4.3.0), :class:`Client` the consumer's
(AbstractMembershipManager, AbstractHeartbeatRequestManager and CommitRequestManager of
kafka-clients 4.3.0).

Every change bumps the group epoch. The next heartbeat of anybody, but not sooner than
``group_consumer_assignment_interval_ms`` after the last time, lets the assignor compute the target
assignment of that epoch. Each member then moves there by itself, with its own heartbeats: first it
gives up what is not in its target (state UNREVOKED_PARTITIONS, until its heartbeat shows that it
did), then it has the target's epoch and gets what nobody holds any more (UNRELEASED_PARTITIONS as
long as something is missing). Nobody waits for anybody but for the partitions it is to get.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from assignlab.assignment import topic_of
from assignlab.timeline.consumer import EMPTY, Consumer
from assignlab.timeline.poll_loop import ACCEPTED, ASKED, FAILS, HALTED, NEXT_COMMIT, PHASE
from assignlab.timeline.requests import Claim, JoinRequest, assign

STABLE, UNREVOKED, UNRELEASED = "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"

UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
FENCED_MEMBER_EPOCH = "FENCED_MEMBER_EPOCH"
STALE_MEMBER_EPOCH = "STALE_MEMBER_EPOCH"
UNRELEASED_INSTANCE_ID = "UNRELEASED_INSTANCE_ID"
FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
NOT_COORDINATOR = "NOT_COORDINATOR"

JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH = 0, -1, -2
REGEX_REFRESH_AT_LEAST_MS = 10_000


@dataclass(eq=False)
class GroupMember:
    """What the coordinator knows of a member. Partitions are dense numbers."""

    id: str
    client: "Client"
    instance: str | None
    epoch: int = 0
    previous_epoch: int = 0
    state: str = STABLE
    assigned: np.ndarray = field(default_factory=lambda: EMPTY)
    assigned_epochs: np.ndarray = field(default_factory=lambda: EMPTY)
    revoking: np.ndarray = field(default_factory=lambda: EMPTY)
    subscription: tuple[int, ...] = ()
    pattern: str | None = None
    target: np.ndarray = field(default_factory=lambda: EMPTY)
    claim: Claim | None = None
    deadline: int = 0
    revocation_timer: object = None

    @property
    def request(self) -> JoinRequest:
        """The member as the assignor sees it: its current target is what it claims."""
        return JoinRequest(self.id, (), self.subscription, self.claim)


class Coordinator:
    """The group coordinator of a consumer group."""

    def __init__(self, world):
        self.world = world
        self.clock = world.clock
        self.config = world.config
        self.strategy = world.strategies[0]
        self.members: dict[str, GroupMember] = {}
        self.static: dict[str, str] = {}
        self.group_epoch = self.assignment_epoch = 0
        self.assigned_at: int | None = None
        self.available = True
        self.resolved: dict[str, tuple[int, ...]] = {}
        self._resolved_at = -REGEX_REFRESH_AT_LEAST_MS - 1
        self._resolved_version = -1
        self._topics_seen = world.cluster.partitions.copy()
        self._topics_changed = False
        self._holder = np.full(world.log.rate.size, -1)
        self._numbers: dict[str, int] = {}

    # ---- heartbeats ----------------------------------------------------------------------------

    def heartbeat(self, client, member_id, epoch, subscription, owned) -> None:
        """A heartbeat arrives. ``subscription`` and ``owned``: None where nothing changed."""
        if not self.available:
            self._answer(client, NOT_COORDINATOR)
            return
        error = self._validate(client, member_id, epoch, owned)
        if error is not None:
            self._answer(client, error)
            return
        if epoch == JOINING_EPOCH:
            member = self._subscribe(client, member_id)
        else:
            member = self.members[member_id]
        before = member.assigned
        changed = self._update_subscription(member, client, subscription)
        if changed or self._topics_changed:
            self._refresh_metadata(changed)
        self._update_target_assignment()
        self._reconcile(member, owned, changed)
        self._session_lasts(member)
        full = epoch == JOINING_EPOCH
        moved = full or not np.array_equal(before, member.assigned)
        self.clock.after(
            self.config.latency_ms, client.in_time, client.answered, None, member.epoch,
            member.assigned if moved else None,
        )  # fmt: skip

    def _validate(self, client, member_id: str, epoch: int, owned) -> str | None:
        if client.instance is not None and client.instance in self.static:
            holder = self.members[self.static[client.instance]]
            if holder.id != member_id:
                if epoch != JOINING_EPOCH:
                    return FENCED_INSTANCE_ID
                return None if holder.epoch == STATIC_LEAVING_EPOCH else UNRELEASED_INSTANCE_ID
        if epoch == JOINING_EPOCH:
            return None
        if member_id not in self.members:
            return UNKNOWN_MEMBER_ID
        member = self.members[member_id]
        if epoch > member.epoch:
            return FENCED_MEMBER_EPOCH
        if epoch < member.epoch and (
            epoch != member.previous_epoch
            or owned is None
            or not self.world.log.among(owned, member.assigned).all()
        ):
            return FENCED_MEMBER_EPOCH
        return None

    def _subscribe(self, client, member_id: str) -> GroupMember:
        """A member joins, or a static one comes back under a new id."""
        old_id = self.static.get(client.instance) if client.instance else None
        if old_id is not None and old_id != member_id:
            old = self.members[old_id]
            members = [
                (member_id, replace(old, id=member_id, client=client, epoch=0, previous_epoch=0,
                                    deadline=0))
                if id == old_id else (id, member)
                for id, member in self.members.items()
            ]  # fmt: skip
            self.members = dict(members)
            self._numbers[member_id] = self._numbers.pop(old_id)
            self.static[client.instance] = member_id
            return self.members[member_id]
        if member_id not in self.members:
            self._numbers[member_id] = max(self._numbers.values(), default=-1) + 1
            self.members[member_id] = GroupMember(member_id, client, client.instance)
            if client.instance is not None:
                self.static[client.instance] = member_id
        return self.members[member_id]

    def _update_subscription(self, member: GroupMember, client, subscription) -> bool:
        """Take over a changed subscription; True if the group epoch has to be bumped."""
        changed = False
        pattern = client.member.pattern
        if subscription is not None and pattern is None:
            changed = member.pattern is not None or member.subscription != subscription
            member.pattern, member.subscription = None, subscription
        elif subscription is not None and member.pattern != pattern:
            member.pattern = pattern
            member.subscription = self.resolved.get(pattern, ())
            changed = pattern in self.resolved
        self._refresh_patterns()
        return changed

    def _refresh_patterns(self) -> None:
        """Resolve the patterns when it is time; the result is there a moment later."""
        patterns = {m.pattern for m in self.members.values() if m.pattern is not None}
        now = self.clock.now
        new = patterns - set(self.resolved)
        brand_new = bool(new) and not self.resolved
        if not patterns or (now <= self._resolved_at + REGEX_REFRESH_AT_LEAST_MS and not brand_new):
            return
        if (
            new
            or self._resolved_version < self.world.cluster.version
            or now > self._resolved_at + self.config.group_consumer_regex_refresh_interval_ms
        ):
            self._resolved_at = now
            self._resolved_version = self.world.cluster.version
            self.clock.after(0, self._patterns_resolved, sorted(patterns))

    def _patterns_resolved(self, patterns: list[str]) -> None:
        changed = False
        for pattern in patterns:
            topics = self.world.topics_matching(pattern, self.world.cluster.partitions)
            if self.resolved.get(pattern) != topics:
                self.resolved[pattern] = topics
                changed = True
        for member in self.members.values():
            if member.pattern is not None:
                member.subscription = self.resolved.get(member.pattern, ())
        if changed:
            self._bump("subscribed topics changed")

    def topics_changed(self) -> None:
        """The cluster's topics are not what they were; the next heartbeat takes it up."""
        self._topics_changed = True

    def _refresh_metadata(self, bump: bool) -> None:
        if self._topics_changed:
            self._topics_changed = False
            now = self.world.cluster.partitions
            named = sorted({t for m in self.members.values() for t in m.subscription})
            bump = bump or not np.array_equal(now[named], self._topics_seen[named])
            self._topics_seen = now.copy()
        if bump:
            self._bump("metadata changed")

    def _bump(self, why: str) -> None:
        self.group_epoch += 1
        self.world.history.tell(self.clock.now, "group epoch", -1, self.group_epoch, EMPTY, why)

    def _update_target_assignment(self) -> None:
        if self.assignment_epoch >= self.group_epoch:
            return
        interval = self.config.group_consumer_assignment_interval_ms
        if self.assigned_at is not None and self.clock.now < self.assigned_at + interval:
            return
        members = list(self.members.values())
        targets = assign(
            self.world, self.strategy, members, self.world.cluster.partitions, self.group_epoch
        )
        for member in members:
            member.target, member.claim = targets[member.id]
        self.assignment_epoch = self.group_epoch
        self.assigned_at = self.clock.now
        self.world.history.tell(
            self.clock.now, "generation", -1, self.assignment_epoch, EMPTY,
            f"{self.strategy.name}, target assignment",
        )  # fmt: skip

    # ---- reconciliation ------------------------------------------------------------------------

    def _reconcile(self, member: GroupMember, owned, subscription_changed: bool) -> None:
        """Bring a member nearer to its target."""
        if member.state == STABLE and member.epoch == self.assignment_epoch:
            if not subscription_changed:
                return
        if member.state == UNREVOKED and self._still_held(member.revoking, owned):
            return
        self._compute_next_assignment(member, owned)

    def _compute_next_assignment(self, member: GroupMember, owned) -> None:
        target = self._subscribed(member)
        stays = self.world.log.among(member.assigned, target)
        kept, kept_epochs = member.assigned[stays], member.assigned_epochs[stays]
        revoking = member.assigned[~stays]
        missing = target[~self.world.log.among(target, kept)]
        mine = self._numbers[member.id]
        free = (self._holder[missing] == -1) | (self._holder[missing] == mine)
        wait = not free.all()
        if revoking.size and self._still_held(revoking, owned):
            self._set(member, UNREVOKED, member.epoch, kept, kept_epochs, revoking)
            self._revocation_times_out(member)
            return
        new = missing[free]
        self._set(
            member, UNRELEASED if wait else STABLE, self.assignment_epoch,
            np.concatenate((kept, new)),
            np.concatenate((kept_epochs, np.full(new.size, self.assignment_epoch))), EMPTY,
        )  # fmt: skip
        if member.revocation_timer is not None:
            member.revocation_timer.cancel()
            member.revocation_timer = None

    def _subscribed(self, member: GroupMember) -> np.ndarray:
        """The member's target, without topics that it has meanwhile given up."""
        topics = topic_of(self.world.cluster.codes(member.target))
        return member.target[np.isin(topics, np.array(member.subscription, dtype=np.int64))]

    def _still_held(self, revoking: np.ndarray, owned: np.ndarray | None) -> bool:
        """Whether a member has not shown yet that it gave these partitions up."""
        return owned is None or bool(self.world.log.among(revoking, owned).any())

    def _set(self, member: GroupMember, state, epoch, assigned, epochs, revoking) -> None:
        client = member.client
        client.advance()
        self._holder[member.assigned] = -1
        self._holder[member.revoking] = -1
        member.assigned, member.assigned_epochs, member.revoking = assigned, epochs, revoking
        self._holder[assigned] = self._holder[revoking] = self._numbers[member.id]
        if epoch != member.epoch:
            member.previous_epoch, member.epoch = member.epoch, epoch
        if state != member.state:
            client.tell("state", EMPTY, state)
        member.state = state
        if client.alive:
            client.set_verdict()

    def _revocation_times_out(self, member: GroupMember) -> None:
        if member.revocation_timer is not None:
            member.revocation_timer.cancel()
        member.revocation_timer = self.clock.after(
            self.config.max_poll_interval_ms, self._revocation_too_late, member, member.epoch
        )

    def _revocation_too_late(self, member: GroupMember, epoch: int) -> None:
        if self.members.get(member.id) is member and member.epoch == epoch:
            self._fence(member, "did not revoke in time")

    # ---- sessions, leaving, fencing ------------------------------------------------------------

    def _session_lasts(self, member: GroupMember) -> None:
        known = member.deadline
        member.deadline = self.clock.now + self.config.group_consumer_session_timeout_ms
        if not known:
            self.clock.at(member.deadline, self._expire_session, member)

    def _expire_session(self, member: GroupMember) -> None:
        if self.members.get(member.id) is not member:
            return
        if not self.available:
            member.deadline = self.clock.now + self.config.group_consumer_session_timeout_ms
        if member.deadline > self.clock.now:
            self.clock.at(member.deadline, self._expire_session, member)
        else:
            self._fence(member, "session expired")

    def leave(self, client, member_id: str, epoch: int) -> None:
        """A heartbeat with epoch -1 (leave) or -2 (a static member will be back) arrives."""
        member = self.members.get(member_id)
        if member is None or not self.available:
            return
        if epoch == STATIC_LEAVING_EPOCH:
            client.advance()
            self._set(member, STABLE, STATIC_LEAVING_EPOCH, member.assigned,
                      np.zeros_like(member.assigned_epochs), EMPTY)  # fmt: skip
            if client.alive:
                client.passed_by("static, left for a while")
                client.set_verdict()
        else:
            self._fence(member, "left")

    def _fence(self, member: GroupMember, why: str) -> None:
        """Remove a member; its partitions are free at once."""
        client = member.client
        client.advance()
        self._holder[member.assigned] = self._holder[member.revoking] = -1
        del self.members[member.id]
        del self._numbers[member.id]
        if member.instance is not None:
            self.static.pop(member.instance, None)
        if member.revocation_timer is not None:
            member.revocation_timer.cancel()
        client.passed_by(why)
        if client.alive:
            client.set_verdict()
        client.tell("removed", client.held, why)
        self._bump(f"{client.name} {why}")

    def validate_commit(self, member_id: str, epoch: int, partitions: np.ndarray) -> str | None:
        """Whether a commit would be accepted; else its error."""
        if not self.available:
            return NOT_COORDINATOR
        if not self.config.fencing:
            return None
        member = self.members.get(member_id)
        if member is None:
            return UNKNOWN_MEMBER_ID
        if epoch == member.epoch:
            return None
        if epoch > member.epoch or not self.config.group_consumer_older_epochs:
            return STALE_MEMBER_EPOCH
        # An older epoch counts for partitions that the member has had since then.
        since = dict(zip(member.assigned.tolist(), member.assigned_epochs.tolist(), strict=True))
        since |= dict.fromkeys(member.revoking.tolist(), 0)
        if all(since.get(p, epoch + 1) <= epoch for p in partitions.tolist()):
            return None
        return STALE_MEMBER_EPOCH

    def move(self) -> None:
        """Another broker takes over and reads the group from the offsets topic: all is there."""
        clients = [member.client for member in self.members.values() if member.client.alive]
        for client in clients:
            client.advance()
        self.available = False
        for client in clients:
            client.set_verdict()
        self.clock.after(self.config.coordinator_load_ms, self._loaded)

    def _loaded(self) -> None:
        for member in self.members.values():
            member.client.advance()
        self.available = True
        for member in self.members.values():
            self._session_lasts(member)
            if member.client.alive:
                member.client.set_verdict()

    def _answer(self, client, error: str) -> None:
        self.clock.after(self.config.latency_ms, client.in_time, client.answered, error, 0, None)


UNSUBSCRIBED, JOINING, RECONCILING, ACKNOWLEDGING, JOINED, STALE = (
    "UNSUBSCRIBED", "JOINING", "RECONCILING", "ACKNOWLEDGING", "STABLE", "STALE",
)  # fmt: skip


class Client(Consumer):
    """A consumer that speaks the consumer protocol. ``generation`` is its member epoch."""

    def __init__(self, world, member, number):
        super().__init__(world, member, number)
        self.instance = member.instance
        self.coordinator: Coordinator = world.coordinator
        self.member_id = world.member_uuid()
        self.phase = UNSUBSCRIBED
        self.target: np.ndarray | None = None
        self._beat = None
        self._in_flight = False
        self._told_subscription = None
        self._reconciling = False

    def start(self) -> None:
        """Find the coordinator, then join with the first heartbeat."""
        self.clock.after(2 * self.config.latency_ms, self.in_time, self._join)

    def _join(self) -> None:
        if not self.alive:
            return
        self.advance()
        self.phase = JOINING
        self.generation = JOINING_EPOCH
        self.target = None
        self._told_subscription = None
        self.set_verdict()
        self._send_heartbeat()

    def subscribe(self, topics) -> None:
        """The application subscribes to something else."""
        self.member = replace(self.member, topics=tuple(topics), pattern=None)
        self.at_poll(self._send_heartbeat)

    def metadata_is_stale(self) -> None:
        """The coordinator sees to topics."""

    # ---- heartbeats ----------------------------------------------------------------------------

    def _send_heartbeat(self) -> None:
        """Send what has changed since the last heartbeat, one request at a time."""
        if self._beat is not None:
            self._beat.cancel()
            self._beat = None
        if not self.alive or self.phase in (UNSUBSCRIBED, STALE):
            return
        if self.clock.now < self.frozen_until:
            self._beat = self.clock.at(self.frozen_until, self._send_heartbeat)
            return
        if self._in_flight:
            return
        topics = self.world.subscription_of(self.member, self.world.cluster.partitions)
        asked = (self.member.pattern, topics)
        subscription = topics if asked != self._told_subscription else None
        self._told_subscription = asked
        owned = None
        if self.phase in (JOINING, ACKNOWLEDGING):
            owned = self.held.copy()
        if self.phase == ACKNOWLEDGING:
            reconciled = self.target is None or (
                self.target.size == self.held.size and self.log.among(self.target, self.held).all()
            )
            self.phase = JOINED if reconciled else RECONCILING
            if not reconciled:  # another target came meanwhile
                self.clock.after(0, self.in_time, self._reconcile)
        self._in_flight = True
        self.clock.after(
            self.config.latency_ms, self.coordinator.heartbeat, self, self.member_id,
            self.generation, subscription, owned,
        )  # fmt: skip
        interval = self.config.group_consumer_heartbeat_interval_ms
        self._beat = self.clock.after(interval + self.world.heartbeat_delay(), self._send_heartbeat)

    def answered(self, error: str | None, epoch: int, assignment: np.ndarray | None) -> None:
        """The answer to a heartbeat."""
        self._in_flight = False
        if not self.alive or self.phase in (UNSUBSCRIBED, STALE):
            return
        if error == NOT_COORDINATOR:
            self._beat.cancel()
            self._beat = self.clock.after(self.config.retry_backoff_ms, self._send_heartbeat)
            if self.phase == JOINING:
                self._told_subscription = None
        elif error in (UNRELEASED_INSTANCE_ID, FENCED_INSTANCE_ID):
            self.tell("fatal", self.held, error)
            self._stop_heartbeats()
            self.end(f"fatal: {error}")
        elif error is not None:
            self._fenced(error)
        else:
            self.advance()
            if self.phase == JOINING:
                self.belongs_again()
                self.phase = JOINED
            self.generation = epoch
            self.set_verdict()
            if assignment is not None:
                self.target = assignment
                self.phase = RECONCILING
                self._reconcile()
            elif self.phase == ACKNOWLEDGING:
                self._send_heartbeat()

    def _fenced(self, error: str) -> None:
        """The coordinator does not know this member (any more): give everything up, join anew."""
        self.tell("error", EMPTY, error)
        self._stop_heartbeats()
        self.advance()
        self.phase = STALE
        self.set_verdict()
        self.at_poll(self._lose_and_join, error)

    def _lose_and_join(self, error: str) -> None:
        if self.held.size:
            self.tell("lost", self.held, error)
            self.give_up(None, f"lost: {error}")
        self._reconciling = False
        self._join()

    def _stop_heartbeats(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
            self._beat = None

    # ---- reconciliation ------------------------------------------------------------------------

    def _reconcile(self) -> None:
        """Commit, give up what is not in the target, take what is new, acknowledge."""
        if self._reconciling or self.target is None or self.phase != RECONCILING:
            return
        revoked = self.held[~self.log.among(self.held, self.target)]
        self._reconciling = True
        if revoked.size or (self.config.commit == "auto" and self.own.size):
            self.at_poll(self._reconcile_in_poll, self.target)
        else:
            self._revoke_and_assign(self.target)

    def _reconcile_in_poll(self, target: np.ndarray) -> None:
        if self.phase != RECONCILING:
            self._reconciling = False
            return
        if self.config.commit == "auto" and self.own.size:
            self.state[NEXT_COMMIT] = self.clock.now + self.config.auto_commit_interval_ms
            self.commit_in_poll(lambda error: self._revoke_and_assign(target))
        else:
            self._revoke_and_assign(target)

    def _revoke_and_assign(self, target: np.ndarray) -> None:
        if self.phase != RECONCILING:
            self._reconciling = False
            return
        revoked = self.held[~self.log.among(self.held, target)]

        def finish(error: str | None = None) -> None:
            if revoked.size:
                self.tell("revoked", revoked, error or "")
                self.give_up(revoked, self.revoked_how(error))
            self._assign(target)

        if revoked.size and self.config.commit_on_revoke:
            self.commit_in_poll(finish)
        else:
            finish()

    def _assign(self, target: np.ndarray) -> None:
        added = target[~self.log.among(target, self.held)]
        if added.size:
            self.take(added)
        self._reconciling = False
        self.phase = ACKNOWLEDGING
        self._send_heartbeat()

    # ---- leaving and failing -------------------------------------------------------------------

    def poll_interval_exceeded(self) -> None:
        """Leave; the application notices at its next poll, loses everything and joins again."""
        if self.phase in (UNSUBSCRIBED, STALE):
            return
        self.tell("poll interval exceeded", self.held)
        self._send_leave()
        self._stop_heartbeats()
        self.advance()
        self.phase = STALE
        self.set_verdict()
        self.at_poll(self._lose_and_join, "max.poll.interval.ms exceeded")

    def _send_leave(self) -> None:
        epoch = LEAVING_EPOCH if self.instance is None else STATIC_LEAVING_EPOCH
        self.clock.after(
            self.config.latency_ms, self.coordinator.leave, self, self.member_id, epoch
        )

    def close(self) -> None:
        """The application closes the consumer, from its poll."""
        self.at_poll(self._close)

    def _close(self) -> None:
        self._stop_heartbeats()
        if self.config.commit == "auto" and self.own.size and self.phase != STALE:
            self.commit_in_poll(lambda error: self._revoke_all())
        else:
            self._revoke_all()

    def _revoke_all(self) -> None:
        def go(error: str | None = None) -> None:
            if self.held.size:
                self.tell("revoked", self.held, error or "")
            if self.phase not in (UNSUBSCRIBED, STALE):
                self._send_leave()
            self.tell("closed")
            self.end("closed")

        if self.config.commit_on_revoke and self.own.size:
            self.commit_in_poll(go)
        else:
            go()

    def crash(self) -> None:
        """The process is gone."""
        self._stop_heartbeats()
        self.tell("crashed", self.held)
        self.end("crash")

    # ---- commits -------------------------------------------------------------------------------

    def identity(self):
        return self.member_id, self.generation

    def why_refused(self, sent=None) -> str | None:
        member_id, epoch = sent or self.identity()
        return self.coordinator.validate_commit(member_id, epoch, self.own)

    def judge(self) -> int:
        error = self.why_refused()
        if error is None:
            return ACCEPTED if self.valid or self.state[PHASE] == HALTED else ASKED
        return FAILS if error == NOT_COORDINATOR else ASKED
