"""The coordinator of the consumer protocol (KIP-848): it assigns, heartbeats carry everything.

After GroupMetadataManager, CurrentAssignmentBuilder and ConsumerGroup of kafka-group-coordinator
4.3.0. The consumer's side is :mod:`~assignlab.timeline.protocols.kip848_client`.

Every change bumps the group epoch. The next heartbeat of anybody, but not sooner than
``group_consumer_assignment_interval_ms`` after the last time, lets the assignor compute the target
assignment of that epoch. Each member then moves there by itself, with its own heartbeats: first it
gives up what is not in its target (state UNREVOKED_PARTITIONS, until its heartbeat shows that it
did), then it has the target's epoch and gets what nobody holds any more (UNRELEASED_PARTITIONS as
long as something is missing). Nobody waits for anybody but for the partitions it is to get.
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.requests import Claim, JoinRequest
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols.errors import (
    FENCED_INSTANCE_ID,
    FENCED_MEMBER_EPOCH,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNRELEASED_INSTANCE_ID,
)
from assignlab.timeline.protocols.hosted import Hosted
from assignlab.timeline.protocols.timeline_map import TimelineMap

STABLE, UNREVOKED, UNRELEASED = "STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS"

JOINING_EPOCH, LEAVING_EPOCH, STATIC_LEAVING_EPOCH = 0, -1, -2
REGEX_REFRESH_AT_LEAST_MS = 10_000
DEFAULT_ASSIGNOR = "uniform"
"""The first of ``group.consumer.assignors``."""


@dataclass(eq=False)
class GroupMember:
    """What the coordinator knows of a member. Partitions are dense numbers."""

    id: str
    client: Consumer
    instance: str | None
    strategy: str
    asked: str | None = None
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
        return JoinRequest(self.id, (self.strategy,), self.subscription, (self.claim,))


class Coordinator(Hosted):
    """The group coordinator of a consumer group."""

    def __init__(self, world: World):
        super().__init__(world)
        self.strategy = world.server_strategy
        self.members: dict[str, GroupMember] = {}
        self.walk = TimelineMap()
        self.group_epoch = self.assignment_epoch = world.config.group_consumer_new_epoch
        self.assigned_at: int | None = None
        self._written_at = 0
        self.resolved: dict[str, tuple[int, ...]] = {}
        self._patterns = any(m.pattern is not None for m in world.scenario.versions)
        self._resolved_at = -REGEX_REFRESH_AT_LEAST_MS - 1
        self._resolved_created = -1
        self._topics_seen = world.cluster.partitions.copy()
        self._topics_changed = False
        self._holder = np.full(world.log.rate.size, -1)
        self._numbers: dict[str, int] = {}
        self._votes: Counter[str | None] = Counter()

    # ---- heartbeats ----------------------------------------------------------------------------

    def consumer_group_heartbeat(self, client, member_id, epoch, subscription, owned) -> None:
        """A heartbeat arrives. ``subscription`` and ``owned``: None where nothing changed."""
        error = self.unreached(client) or self._validate(client, member_id, epoch, owned)
        if error is not None:
            self.answer(client, client.answered, error, 0, None)
            return
        preferred = self._preferred()
        if epoch == JOINING_EPOCH:
            member = self._subscribe(client, member_id)
        else:
            member = self.members[member_id]
        before = member.assigned
        changed = self._update_subscription(member, client.pattern, subscription)
        changed = changed or self.group_epoch == 0
        other = self.config.group_consumer_assignor_watched and (
            self._preferred(member) != preferred
        )
        if changed or other or self._topics_changed:
            self._refresh_metadata(changed or other)
        self._update_target_assignment(member)
        self.walk.add(member_id)
        self._reconcile(member, owned, changed)
        self._session_lasts(member)
        full = epoch == JOINING_EPOCH or (subscription is not None and owned is not None)
        moved = full or not np.array_equal(before, member.assigned)
        answer = None, member.epoch, member.assigned if moved else None
        if moved or epoch != member.epoch:
            self._write()
        if self._written_at > self.clock.now:
            self.clock.at(self._written_at, self.answer, client, client.answered, *answer)
        else:
            self.answer(client, client.answered, *answer)

    def _write(self) -> None:
        """What a heartbeat changes counts from now on; it is answered when that is written, with what else
        is to be written by then (CoordinatorRuntime). Where nobody commits, nobody sees the difference."""
        if self._written_at <= self.clock.now and self.config.commit != "none":
            self._written_at = self.clock.now + self.config.group_coordinator_append_linger_ms

    def _validate(self, client, member_id: str, epoch: int, owned) -> str | None:
        if client.instance is not None and client.instance in self.static:
            holder = self.members[self.static[client.instance]]
            if epoch == JOINING_EPOCH:
                return None if self._released(holder) else UNRELEASED_INSTANCE_ID
            if holder.id != member_id:
                return FENCED_INSTANCE_ID
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

    def _released(self, holder: GroupMember) -> bool:
        """Whether another member may take over the instance id of this one."""
        return holder.epoch == STATIC_LEAVING_EPOCH

    def _subscribe(self, client, member_id: str) -> GroupMember:
        """A member joins, or a static one comes back under a new id."""
        old_id = self.static.get(client.instance) if client.instance else None
        if old_id is not None and old_id != member_id:
            old, asked = self.members[old_id], self._asked(client)
            self._votes[old.asked] -= 1
            self._votes[asked] += 1
            members = [
                (member_id, replace(old, id=member_id, client=client, asked=asked, epoch=0,
                                    previous_epoch=0, deadline=0))
                if id == old_id else (id, member)
                for id, member in self.members.items()
            ]  # fmt: skip
            self.members = dict(members)
            self.walk.remove(old_id)
            self._numbers[member_id] = self._numbers.pop(old_id)
            self.static[client.instance] = member_id
            return self.members[member_id]
        if member_id not in self.members:
            self._numbers[member_id] = max(self._numbers.values(), default=-1) + 1
            asked = self._asked(client)
            self._votes[asked] += 1
            self.members[member_id] = GroupMember(
                member_id, client, client.instance, self.strategy.kind, asked
            )
            if client.instance is not None:
                self.static[client.instance] = member_id
        return self.members[member_id]

    def _update_subscription(self, member: GroupMember, pattern: str | None, subscription) -> bool:
        """Take over a changed subscription; True if the group epoch has to be bumped."""
        changed = False
        if subscription is not None and pattern is None:
            changed = member.pattern is not None or member.subscription != subscription
            member.pattern, member.subscription = None, subscription
        elif subscription is not None and member.pattern != pattern:
            member.pattern = pattern
            member.subscription = self.resolved.get(pattern, ())
            changed = pattern in self.resolved
        if self._patterns:  # else every heartbeat would look at all members for nothing
            self._forget_patterns()
            self._refresh_patterns()
        return changed

    def _forget_patterns(self) -> None:
        """What a pattern matches is known as long as a member has it."""
        patterns = {member.pattern for member in self.members.values()}
        self.resolved = {p: topics for p, topics in self.resolved.items() if p in patterns}

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
            or self._resolved_created < self.world.cluster.created
            or now > self._resolved_at + self.config.group_consumer_regex_refresh_interval_ms
        ):
            self._resolved_at = now
            self._resolved_created = self.world.cluster.created
            self.clock.after(0, self._patterns_resolved, sorted(patterns))

    def _patterns_resolved(self, patterns: list[str]) -> None:
        changed = False
        for pattern in patterns:
            topics = self.world.topics_matching(pattern, self.world.cluster.partitions)
            changed = changed or self.resolved.get(pattern, ()) != topics
            self.resolved[pattern] = topics
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
        self.world.tell("group epoch", self.group_epoch, why)

    def _update_target_assignment(self, heard: GroupMember) -> None:
        if self.assignment_epoch >= self.group_epoch:
            return
        interval = self.config.group_consumer_assignment_interval_ms
        if self.assigned_at is not None and self.clock.now < self.assigned_at + interval:
            return
        self._ask_the_preferred(heard)
        walked = dict.fromkeys(self.walk)
        new = [id for id in self.members if id not in walked]  # joins with this heartbeat
        members = [self.members[id] for id in (*walked, *new)]
        mixed = len({member.pattern for member in members}) > 1
        targets = self.world.groups.assign(
            self.strategy, members, self.world.cluster.partitions, self.group_epoch, mixed
        )
        for member in members:
            member.target, member.claim = targets[member.id]
        self.assignment_epoch = self.group_epoch
        self.assigned_at = self.clock.now
        told = f"{self.strategy.name}, target assignment"
        self.world.tell("generation", self.assignment_epoch, told)

    def _asked(self, client) -> str | None:
        """The assignor that a member asks for (``group.remote.assignor``)."""
        strategy = self.world.strategies_of(client.member)[0]
        return strategy.remote if strategy.protocol == "server" else None

    def _preferred(self, heard: GroupMember | None = None) -> str:
        """The assignor that most members ask for, else the first that there is. Of two with as many votes
        the first of a map: as the group keeps it; while a member is ``heard``, a HashMap where both share a
        bucket, into which what it alone asks for was put last, and so in front (``HashMap.compute``)."""
        asked = sorted(name for name, votes in self._votes.items() if votes and name)
        if len(asked) < 2:
            return asked[0] if asked else DEFAULT_ASSIGNOR
        walk = TimelineMap()
        for name in asked:
            walk.add(name)
        names = list(walk)
        if heard is not None and heard.asked is not None and self._votes[heard.asked] == 1:
            names = [heard.asked, *(name for name in names if name != heard.asked)]
        return max(names, key=self._votes.__getitem__)

    def _ask_the_preferred(self, heard: GroupMember) -> None:
        """The preferred assignor is this group's."""
        name = self._preferred(heard)
        asked = [self.world.strategies_of(m.client.member)[0] for m in self.members.values()]
        preferred = next((one for one in asked if one.remote == name), self.strategy)
        if preferred is not self.strategy:
            self.strategy = preferred
            for member in self.members.values():
                codes = self.world.cluster.codes(member.target)
                member.strategy, member.claim = preferred.kind, Claim(codes, self.assignment_epoch)

    # ---- reconciliation ------------------------------------------------------------------------

    def _reconcile(self, member: GroupMember, owned, subscription_changed: bool) -> None:
        """Bring a member nearer to its target."""
        there = member.state == STABLE and member.epoch == self.assignment_epoch
        if there and not subscription_changed:
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
        free = self._holder[missing] == -1
        if self.config.group_consumer_gives_back:  # what it has just given up is its own
            free |= self._holder[missing] == self._numbers[member.id]
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
        cancel(member.revocation_timer)

    def _subscribed(self, member: GroupMember) -> np.ndarray:
        """The member's target, without topics that it has meanwhile given up."""
        return member.target[self.world.cluster.of_topics(member.target, member.subscription)]

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
        client.set_verdict()

    def _revocation_times_out(self, member: GroupMember) -> None:
        cancel(member.revocation_timer)
        member.revocation_timer = self.clock.after(
            self.config.max_poll_interval_ms, self._revocation_too_late, member, member.epoch
        )

    def _revocation_too_late(self, member: GroupMember, epoch: int) -> None:
        if self.members.get(member.id) is member and member.epoch == epoch:
            self._fence(member, "did not revoke in time")

    # ---- sessions, leaving, fencing ------------------------------------------------------------

    def _session_lasts(self, member: GroupMember, for_ms: int | None = None) -> None:
        known = member.deadline
        member.deadline = self.clock.now + (for_ms or self._session_ms(member))
        if not known:
            self.clock.at(member.deadline, self._expire_session, member)

    def _session_ms(self, member: GroupMember) -> int:
        return self.config.group_consumer_session_timeout_ms

    def _expire_session(self, member: GroupMember) -> None:
        if self.members.get(member.id) is not member:
            return
        if not self.available:
            member.deadline = self.clock.now + self._session_ms(member)
        if member.deadline > self.clock.now:
            self.clock.at(member.deadline, self._expire_session, member)
        else:
            self._fence(member, "session expired")

    def leave(self, client, member_id: str, epoch: int) -> None:
        """A heartbeat with epoch -1 (leave) or -2 (a static member will be back) arrives."""
        member = self.members.get(member_id)
        if member is None or self.unreached(client):
            return  # nobody sends it again
        if epoch == STATIC_LEAVING_EPOCH:
            client.advance()
            self._set(member, STABLE, STATIC_LEAVING_EPOCH, member.assigned,
                      np.zeros_like(member.assigned_epochs), EMPTY)  # fmt: skip
            client.passed_by("static, left for a while")
            client.set_verdict()
        else:
            self._fence(member, "left")

    def _fence(self, member: GroupMember, why: str) -> None:
        """Remove a member, which calls for another target assignment."""
        self._remove(member, why)
        self._bump(f"{member.client.name} {why}")
        if not self.members and self.config.group_consumer_empty_is_assigned:
            self.assignment_epoch, self.assigned_at = self.group_epoch, None

    def _remove(self, member: GroupMember, why: str) -> None:
        """Remove a member; its partitions are free at once."""
        client = member.client
        client.advance()
        self._holder[member.assigned] = self._holder[member.revoking] = -1
        self._votes[member.asked] -= 1
        del self.members[member.id]
        self.walk.remove(member.id)
        del self._numbers[member.id]
        if member.instance is not None:
            self.static.pop(member.instance, None)
        cancel(member.revocation_timer)
        self._forget_patterns()
        client.passed_by(why)
        client.set_verdict()
        client.tell("removed", client.held, why)

    def validate_commit(self, client, member_id: str, epoch: int) -> str | None:
        """Whether a commit of what the client consumes would be accepted; else its error."""
        if error := self.unreached(client):
            return error
        if not self.config.fencing:
            return None
        if epoch < 0 and not self.members:
            return None  # as of a consumer without a group
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
        if all(since.get(p, epoch + 1) <= epoch for p in client.own.partition.tolist()):
            return None
        return STALE_MEMBER_EPOCH

    def load(self) -> None:
        """Everything is there, and all times begin anew, for members of either protocol those of this one. To
        a broker that takes over all topics are new, and patterns are resolved once more."""
        self._resolved_created = -1
        for member in self.members.values():
            self._session_lasts(member, self.config.group_consumer_session_timeout_ms)
            if member.state == UNREVOKED:
                Coordinator._revocation_times_out(self, member)
