"""The classic protocol: JoinGroup, SyncGroup, Heartbeat; the leader among the members assigns.

:class:`Coordinator` is the broker's side (GroupMetadataManager and ClassicGroup of
kafka-group-coordinator 4.3.0), :class:`Client` the consumer's (AbstractCoordinator and
ConsumerCoordinator of kafka-clients 4.3.0). Steps have the originals' names.

A rebalance: somebody joins, leaves or is expelled, and the group is PreparingRebalance. Members
learn it from the answer to their next heartbeat, and join again from their next poll. When all are
there, or the rebalance timeout is over, the next generation begins (CompletingRebalance): the
leader gets everybody's subscriptions, assigns, and sends the assignment with its SyncGroup; the
answers to all SyncGroups carry it out (Stable).

Eager members give everything up before they join. Cooperative ones keep what they have, give up
the difference afterwards, and join again if there was one.
"""

from dataclasses import dataclass, field, replace

import numpy as np

from assignlab.assignment import topic_of
from assignlab.errors import OriginalError
from assignlab.jvm import Names, hash_map_order, table_size
from assignlab.timeline.consumer import EMPTY, Consumer
from assignlab.timeline.poll_loop import (
    ACCEPTED,
    ASKED,
    FAILS,
    HALTED,
    NEXT_COMMIT,
    PHASE,
    TRANSACTION,
)  # fmt: skip
from assignlab.timeline.requests import Claim, JoinRequest, assign

EMPTY_GROUP, PREPARING, COMPLETING, STABLE, DEAD = (
    "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead",
)  # fmt: skip

UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
NOT_COORDINATOR = "NOT_COORDINATOR"
INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"

NO_GENERATION = -1


@dataclass(eq=False)
class GroupMember:
    """What the coordinator knows of a member. ``assignment``: dense partition numbers."""

    id: str
    client: "Client"
    request: JoinRequest
    instance: str | None
    awaiting_join: bool = False
    awaiting_sync: bool = False
    assignment: np.ndarray = field(default_factory=lambda: EMPTY)
    claim: Claim | None = None
    deadline: int = 0


class Coordinator:
    """The group coordinator: a state machine that answers requests and has timers."""

    def __init__(self, world):
        self.world = world
        self.clock = world.clock
        self.config = world.config
        self.state = self.previous_state = EMPTY_GROUP
        self.generation = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, GroupMember] = {}
        self.pending: dict[str, Client] = {}
        self.pending_sync: dict[str, None] = {}  # in order
        self.static: dict[str, str] = {}
        self.new_member_added = False
        self.available = True
        self._table = 16
        self._join_timer = self._sync_timer = None
        self._persisted: tuple | None = None

    # ---- JoinGroup -----------------------------------------------------------------------------

    def join_group(self, client: "Client", request: JoinRequest) -> None:
        """A JoinGroup request arrives; the answer may wait for the others."""
        if not self.available:
            self.answer(client, client.joined, NOT_COORDINATOR)
        elif not self._supports(request):
            self.answer(client, client.joined, INCONSISTENT_GROUP_PROTOCOL)
        elif request.member_id == "":
            self._join_new_member(client, request)
        elif request.member_id in self.pending:
            self._add_member_then_rebalance(client, request, request.member_id)
        else:
            self._join_existing_member(client, request)

    def _supports(self, request: JoinRequest) -> bool:
        lists = {m.request.protocols for id, m in self.members.items() if id != request.member_id}
        return bool(set(request.protocols).intersection(*lists))

    def _join_new_member(self, client: "Client", request: JoinRequest) -> None:
        member_id = f"{client.instance or client.name}-{self.world.uuid()}"
        if client.instance is None:
            # The client has to come back with its id, so that it can be counted (KIP-394).
            self.pending[member_id] = client
            self.clock.after(self.config.session_timeout_ms, self._expire_pending, member_id)
            self.answer(client, client.joined, MEMBER_ID_REQUIRED, member_id)
        elif client.instance in self.static:
            self._update_static_member(client, request, self.static[client.instance], member_id)
        else:
            self._add_member_then_rebalance(client, request, member_id)

    def _add_member_then_rebalance(self, client, request: JoinRequest, member_id: str) -> None:
        member = GroupMember(member_id, client, request, client.instance, awaiting_join=True)
        if self.state == PREPARING and self.previous_state == EMPTY_GROUP:
            self.new_member_added = True
        self.leader = self.leader or member_id
        self.members[member_id] = member
        self._table = max(self._table, table_size(len(self.members), 16))
        self.pending.pop(member_id, None)
        if member.instance is not None:
            self.static[member.instance] = member_id
        self._session_lasts(member)
        self._rebalance_or_complete()

    def _update_static_member(self, client, request: JoinRequest, old_id: str, new_id: str) -> None:
        """A static member is back under a new member id and takes the place of the old one."""
        old = self.members.pop(old_id)
        if old.awaiting_join:
            self.answer(old.client, old.client.joined, FENCED_INSTANCE_ID)
        if old.awaiting_sync:
            self.answer(old.client, old.client.synced, FENCED_INSTANCE_ID)
        self._watch_commits_of(old.client)
        old.client.passed_by("replaced by its instance id")
        member = GroupMember(
            new_id, client, request, old.instance, awaiting_join=True, assignment=old.assignment,
            claim=old.claim,
        )  # fmt: skip
        self.members[new_id] = member
        self.static[old.instance] = new_id
        if self.leader == old_id:
            self.leader = new_id
        self._judge_commits_of(old.client)
        self._session_lasts(member)
        if self.state == STABLE:
            if self._select_protocol() == self.protocol:
                # Nothing changes for the others: it gets what it had (KIP-345).
                member.awaiting_join = False
                self._persist()
                others = self._walk() if self.leader == new_id else None
                self.answer(client, client.joined, None, new_id, self.generation, self.protocol,
                            others, others is not None)  # fmt: skip
            else:
                self._rebalance_or_complete()
        elif self.state == COMPLETING:
            self._prepare_rebalance()
        else:
            self._maybe_complete_join()

    def _join_existing_member(self, client, request: JoinRequest) -> None:
        error = self._validate(request.member_id, client.instance)
        if error:
            self.answer(client, client.joined, error)
            return
        member = self.members[request.member_id]
        same = member.request.matches(request)
        if self.state == PREPARING or (
            self.state == STABLE and (member.id == self.leader or not same)
        ) or (self.state == COMPLETING and not same):  # fmt: skip
            member.request = request
            member.awaiting_join = True
            self._rebalance_or_complete()
        else:
            # It has not got its answer, or asks for what it has: the generation stays.
            others = list(self.members.values()) if member.id == self.leader else None
            if self.state == STABLE:
                others = None
            self.answer(client, client.joined, None, member.id, self.generation, self.protocol,
                        others, False)  # fmt: skip

    def _rebalance_or_complete(self) -> None:
        if self.state in (STABLE, COMPLETING, EMPTY_GROUP):
            self._prepare_rebalance()
        else:
            self._maybe_complete_join()

    def _prepare_rebalance(self) -> None:
        if self.state == COMPLETING:
            for member in self.members.values():
                member.assignment = EMPTY
                if member.awaiting_sync:
                    member.awaiting_sync = False
                    self.answer(member.client, member.client.synced, REBALANCE_IN_PROGRESS)
        self.pending_sync.clear()
        self._cancel("_sync_timer")
        initial = self.state == EMPTY_GROUP
        self._transition(PREPARING)
        timeout = self.config.max_poll_interval_ms
        if initial:
            delay = self.config.group_initial_rebalance_delay_ms
            self._join_timer = self.clock.after(
                delay, self._complete_initial_rebalance, delay, max(timeout - delay, 0)
            )
        elif self._all_joined():
            self._complete_join()
        else:
            self._cancel("_join_timer")
            self._join_timer = self.clock.after(timeout, self._complete_join)

    def _complete_initial_rebalance(self, delay: int, remaining: int) -> None:
        """The first rebalance waits for more members as long as new ones come."""
        if self.new_member_added and remaining:
            self.new_member_added = False
            self._join_timer = self.clock.after(
                min(delay, remaining), self._complete_initial_rebalance,
                min(delay, remaining), max(remaining - delay, 0),
            )  # fmt: skip
        else:
            self._complete_join()

    def _maybe_complete_join(self) -> None:
        if self.state == PREPARING and self.previous_state != EMPTY_GROUP and self._all_joined():
            self._complete_join()

    def _all_joined(self) -> bool:
        return not self.pending and all(m.awaiting_join for m in self.members.values())

    def _complete_join(self) -> None:
        """The next generation begins with those who are there."""
        self._cancel("_join_timer")
        for member in [m for m in self.members.values() if not m.awaiting_join]:
            if member.instance is None:
                self._remove(member.id, "did not join in time")
        if self.members and not self._elect_joined_leader():
            # Nobody but static members, and none of them is there: wait on.
            self._join_timer = self.clock.after(
                self.config.max_poll_interval_ms, self._complete_join
            )
            return
        clients = [member.client for member in self.members.values()]
        for client in clients:
            self._watch_commits_of(client)
        self.generation += 1
        if not self.members:
            self.protocol = None
            self._persist()
            self._transition(EMPTY_GROUP)
            return
        self.protocol = self._select_protocol()
        self._transition(COMPLETING)
        in_order = self._walk()
        for member in in_order:
            if member.awaiting_join:
                member.awaiting_join = False
                others = in_order if member.id == self.leader else None
                self.answer(member.client, member.client.joined, None, member.id,
                            self.generation, self.protocol, others, False)  # fmt: skip
            else:
                # A static member that did not come: it stays, the generation goes on without it.
                member.client.passed_by("static, did not join in time")
            self._session_lasts(member)
            self.pending_sync[member.id] = None
        for client in clients:
            self._judge_commits_of(client)
        self.world.history.tell(
            self.clock.now, "generation", -1, self.generation, EMPTY,
            f"{self.protocol}, leader {self.members[self.leader].client.name}",
        )  # fmt: skip
        self._sync_timer = self.clock.after(
            self.config.max_poll_interval_ms, self._expire_pending_sync, self.generation
        )

    def _elect_joined_leader(self) -> bool:
        if self.members[self.leader].awaiting_join:
            return True
        for member in self._walk():
            if member.awaiting_join:
                self.leader = member.id
                return True
        return False

    def _select_protocol(self) -> str:
        """Of the protocols that all support, the one that most members want most."""
        members = list(self.members.values())
        common = set(members[0].request.protocols)
        for member in members[1:]:
            common &= set(member.request.protocols)
        votes: dict[str, int] = {}
        for member in members:
            wanted = next(name for name in member.request.protocols if name in common)
            votes[wanted] = votes.get(wanted, 0) + 1
        names = list(votes)
        # Ties go to the last in the order of the HashMap of votes, as Stream.max keeps the last.
        best = None
        for i in hash_map_order(Names(names).hashes).tolist():
            if best is None or votes[names[i]] >= votes[best]:
                best = names[i]
        return best

    def _walk(self) -> list[GroupMember]:
        """The members in the order of the coordinator's HashMap."""
        ids = list(self.members)
        order = hash_map_order(Names(ids).hashes, self._table)
        return [self.members[ids[i]] for i in order.tolist()]

    # ---- SyncGroup, Heartbeat, LeaveGroup, OffsetCommit ----------------------------------------

    def sync_group(self, client, member_id: str, generation: int, assignment) -> None:
        """A SyncGroup request arrives; the leader's carries everybody's partitions."""
        error = self._validate(member_id, client.instance) if self.available else NOT_COORDINATOR
        if error is None and generation != self.generation:
            error = ILLEGAL_GENERATION
        if error is None and self.state == PREPARING:
            error = REBALANCE_IN_PROGRESS
        if error:
            self.answer(client, client.synced, error)
            return
        member = self.members[member_id]
        if self.state == STABLE:
            self.pending_sync.pop(member_id, None)
            self._answer_sync(member)
            return
        member.awaiting_sync = True
        self.pending_sync.pop(member_id, None)
        if member_id != self.leader:
            return
        for other in self.members.values():
            other.assignment, other.claim = assignment.get(other.id, (EMPTY, None))
        self._transition(STABLE)
        self._persist()
        for other in list(self.members.values()):
            if other.awaiting_sync:
                self._answer_sync(other)
                self._session_lasts(other)

    def _persist(self) -> None:
        """Write the group to the offsets topic."""
        members = {id: replace(member) for id, member in self.members.items()}
        self._persisted = (self.generation, self.protocol, self.leader, members)

    def _answer_sync(self, member: GroupMember) -> None:
        member.awaiting_sync = False
        client = member.client
        self.answer(client, client.synced, None, member.assignment, member.claim)

    def _expire_pending_sync(self, generation: int) -> None:
        if (
            generation == self.generation
            and self.pending_sync
            and (self.state in (COMPLETING, STABLE))
        ):
            for member_id in list(self.pending_sync):
                if member_id in self.members:  # not one that a static member left behind
                    self._remove(member_id, "did not sync in time")
            self._prepare_rebalance()

    def heartbeat(self, client, member_id: str, generation: int) -> str | None:
        """A heartbeat arrives; the error of its answer."""
        if not self.available:
            return NOT_COORDINATOR
        error = self._validate(member_id, client.instance)
        if error:
            return error
        if generation != self.generation:
            return ILLEGAL_GENERATION
        self._session_lasts(self.members[member_id])
        return REBALANCE_IN_PROGRESS if self.state == PREPARING else None

    def leave_group(self, client, member_id: str) -> None:
        """A LeaveGroup request arrives."""
        if member_id in self.pending:
            del self.pending[member_id]
            self._maybe_complete_join()
        elif self.available and self._validate(member_id, client.instance) is None:
            self._remove(member_id, "left")
            self._removed()

    def validate_commit(self, client, member_id: str, generation: int) -> str | None:
        """Whether a commit would be accepted; else its error."""
        if not self.available:
            return NOT_COORDINATOR
        if not self.config.fencing:
            return None
        error = self._validate(member_id, client.instance)
        if error is None and generation != self.generation:
            error = ILLEGAL_GENERATION
        if error is None and self.state == COMPLETING and self.config.commit != "transaction":
            error = REBALANCE_IN_PROGRESS
        return error

    def _validate(self, member_id: str, instance: str | None) -> str | None:
        if instance is not None:
            if instance not in self.static:
                return UNKNOWN_MEMBER_ID
            if self.static[instance] != member_id:
                return FENCED_INSTANCE_ID
        return None if member_id in self.members else UNKNOWN_MEMBER_ID

    # ---- sessions ------------------------------------------------------------------------------

    def _session_lasts(self, member: GroupMember) -> None:
        """The session of a member begins anew."""
        known = member.deadline
        member.deadline = self.clock.now + self.config.session_timeout_ms
        if not known:
            self.clock.at(member.deadline, self._expire_heartbeat, member)

    def _expire_heartbeat(self, member: GroupMember) -> None:
        if self.members.get(member.id) is not member:
            return
        waits = member.awaiting_join or member.awaiting_sync
        if member.deadline > self.clock.now or not self.available or waits:
            if waits or not self.available:
                member.deadline = self.clock.now + self.config.session_timeout_ms
            self.clock.at(member.deadline, self._expire_heartbeat, member)
            return
        self._remove(member.id, "session expired")
        self._removed()

    def _expire_pending(self, member_id: str) -> None:
        if self.pending.pop(member_id, None) is not None:
            self._maybe_complete_join()

    def _remove(self, member_id: str, why: str) -> None:
        member = self.members[member_id]
        client = member.client
        self._watch_commits_of(client)
        if member.awaiting_join:
            self.answer(client, client.joined, UNKNOWN_MEMBER_ID)
        del self.members[member_id]
        self.pending_sync.pop(member_id, None)
        if member.instance is not None:
            self.static.pop(member.instance, None)
        if self.leader == member_id:
            walk = self._walk() if self.members else []
            self.leader = walk[0].id if walk else None
        client.passed_by(why)
        self._judge_commits_of(client)
        client.tell("removed", client.held, why)

    def _removed(self) -> None:
        if self.state in (STABLE, COMPLETING):
            self._rebalance_or_complete()
        elif self.state == PREPARING and self._all_joined():
            self._complete_join()

    # ---- the coordinator's own broker ----------------------------------------------------------

    def topics_changed(self) -> None:
        """Clients look at topics by themselves."""

    def move(self) -> None:
        """Another broker takes over: what was written to the offsets topic is all it knows."""
        for member in self.members.values():
            self._watch_commits_of(member.client)
        waiting = [member for member in self.members.values() if member.awaiting_join]
        syncing = [member for member in self.members.values() if member.awaiting_sync]
        self.available = False
        self.previous_state, self.state = self.state, DEAD
        for client in self.pending.values():
            self.answer(client, client.joined, NOT_COORDINATOR)
        self.pending.clear()
        for member in waiting:
            member.awaiting_join = False
            self.answer(member.client, member.client.joined, NOT_COORDINATOR)
        for member in syncing:
            member.awaiting_sync = False
            self.answer(member.client, member.client.synced, NOT_COORDINATOR)
        self._cancel("_join_timer")
        self._cancel("_sync_timer")
        for member in self.members.values():
            self._judge_commits_of(member.client)
        self.clock.after(self.config.coordinator_load_ms, self._loaded)

    def _loaded(self) -> None:
        before = list(self.members.values())
        for member in before:
            self._watch_commits_of(member.client)
        self.available = True
        if self._persisted is None:
            self.members, self.static, self.leader = {}, {}, None
            self._transition(EMPTY_GROUP)
        else:
            self.generation, self.protocol, self.leader, members = self._persisted
            self.members = {
                id: replace(member, awaiting_join=False, awaiting_sync=False, deadline=0)
                for id, member in members.items()
            }
            self.static = {m.instance: m.id for m in self.members.values() if m.instance}
            self._transition(STABLE)
        self.pending_sync.clear()
        for member in self.members.values():
            self._session_lasts(member)
            if member.client.generation == self.generation and member.client.alive:
                member.client.belongs_again()
        for member in (*before, *self.members.values()):
            self._judge_commits_of(member.client)

    # ---- steps ---------------------------------------------------------------------------------

    def answer(self, client, call, *values) -> None:
        """Send an answer to a client."""
        self.clock.after(self.config.latency_ms, client.in_time, call, *values)

    def _transition(self, state: str) -> None:
        clients = [member.client for member in self.members.values()]
        affects = COMPLETING in (state, self.state)
        if affects:
            for client in clients:
                self._watch_commits_of(client)
        self.previous_state, self.state = self.state, state
        if affects:
            for client in clients:
                self._judge_commits_of(client)
        self.world.history.tell(self.clock.now, "state", -1, self.generation, EMPTY, state)

    @staticmethod
    def _watch_commits_of(client) -> None:
        """What has arrived so far is judged by how things were so far."""
        if client.alive:
            client.advance()

    @staticmethod
    def _judge_commits_of(client) -> None:
        if client.alive:
            client.set_verdict()

    def _cancel(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)


UNJOINED, JOINING, SYNCING, JOINED = "unjoined", "joining", "syncing", "stable"


class Client(Consumer):
    """A consumer that speaks the classic protocol."""

    def __init__(self, world, member, number):
        super().__init__(world, member, number)
        self.instance = member.instance
        self.coordinator: Coordinator = world.coordinator
        self.member_id = ""
        self.group_metadata = "", NO_GENERATION
        self.phase = UNJOINED
        self.joining = False
        self.fatal = False
        self.subscription: tuple[int, ...] = ()
        self.joined_subscription: tuple[int, ...] | None = None
        self.snapshot: np.ndarray | None = None
        self.metadata = world.cluster.partitions.copy()
        self.claim: Claim | None = None
        self.lost_reason = ""
        self._beat = None
        self._sent_generation = NO_GENERATION
        self.strategies = world.strategies_of(member)
        self.cooperative = all(s.protocol == "cooperative" for s in self.strategies)

    # ---- start and metadata --------------------------------------------------------------------

    def start(self) -> None:
        """Find the coordinator and the topics, then join."""
        self.clock.after(2 * self.config.latency_ms, self.in_time, self._found_coordinator)

    def _found_coordinator(self) -> None:
        self._refresh_metadata()
        self.clock.after(self.config.metadata_max_age_ms, self._metadata_expired)
        self.request_rejoin("")

    def _metadata_expired(self) -> None:
        if self.alive:
            self.in_time(self._refresh_metadata)
            self.clock.after(self.config.metadata_max_age_ms, self._metadata_expired)

    def metadata_is_stale(self) -> None:
        """A topic that was missing is there now: clients that name it keep asking for it."""
        self.clock.after(self.config.retry_backoff_ms, self.in_time, self._refresh_metadata)

    def _refresh_metadata(self) -> None:
        """The topics as the cluster has them now; may call for a rebalance."""
        if not self.alive or self.fatal:
            return
        self.metadata = self.world.cluster.partitions.copy()
        self.subscription = self.world.subscription_of(self.member, self.metadata)
        self._check_subscription()

    def subscribe(self, topics) -> None:
        """The application subscribes to something else."""
        self.member = replace(self.member, topics=tuple(topics), pattern=None)
        self.at_poll(self._refresh_metadata)

    def _check_subscription(self) -> None:
        if self.joining or self.phase != JOINED:
            return
        if self.joined_subscription is not None and self.subscription != self.joined_subscription:
            self.request_rejoin("subscription has changed")
        elif self.snapshot is not None and not self._snapshot_matches():
            self.request_rejoin("cached metadata has changed")

    def _snapshot_matches(self) -> bool:
        topics, counts = self.snapshot
        return np.array_equal(self.metadata[topics], counts)

    # ---- joining -------------------------------------------------------------------------------

    def request_rejoin(self, reason: str) -> None:
        """Join from the next poll on."""
        if self.joining or self.fatal or not self.alive:
            return
        self.joining = True
        if reason:
            self.tell("rejoin", detail=reason)
        self.at_poll(self._join_prepare)

    def _join_prepare(self) -> None:
        """Commit, tell the listener, give up what has to be given up; then join."""
        if self.member.pattern is not None:
            self.metadata = self.world.cluster.partitions.copy()
            self.subscription = self.world.subscription_of(self.member, self.metadata)
        if self.config.commit == "auto" and self.phase == JOINED and self.own.size:
            self.commit_in_poll(self._committed_before_join)
        else:
            self._committed_before_join(None)

    def _committed_before_join(self, error: str | None) -> None:
        if error is not None:
            self._reset_on(error)
        self._revoke_before_join()

    def _revoke_before_join(self) -> None:
        if self.generation == NO_GENERATION or self.member_id == "":
            if self.held.size:
                self.tell("lost", self.held, self.lost_reason)
                self.give_up(None, f"lost: {self.lost_reason}" if self.lost_reason else "lost")
            self.claim_nothing()
            self._send_join()
            return
        if self.cooperative:
            topics = topic_of(self.world.cluster.codes(self.held))
            kept = np.isin(topics, np.array(self.subscription, dtype=np.int64))
            going = self.held[~kept]
        else:
            going = self.held
        self._revoke(going, self._send_join)

    def claim_nothing(self) -> None:
        """Cooperative members claim what they hold, eager ones what they last were given."""
        if self.cooperative:
            self.claim = None

    def _revoke(self, partitions: np.ndarray, then) -> None:
        """onPartitionsRevoked, with the listener's commit, then let the partitions go."""
        if partitions.size == 0:
            then()
            return

        def finish(error: str | None) -> None:
            self.tell("revoked", partitions, error or "")
            self.give_up(partitions, self.revoked_how(error))
            if self.claim is not None and self.cooperative:
                self.claim = self.claim.without(self.world.cluster.codes(partitions))
            then()

        if self.config.commit_on_revoke:
            self.commit_in_poll(finish)
        else:
            finish(None)

    def _send_join(self) -> None:
        if not self.alive or self.fatal:
            return
        self.advance()
        self.phase = JOINING
        self.set_verdict()
        self._sent_generation = self.generation
        self.joined_subscription = self.subscription
        request = JoinRequest(
            self.member_id, tuple(s.name for s in self.strategies), self.subscription,
            self.claim,
        )  # fmt: skip
        self.clock.after(self.config.latency_ms, self.coordinator.join_group, self, request)

    def joined(
        self, error, member_id="", generation=NO_GENERATION, protocol=None, members=None,
        skip_assignment=False,
    ) -> None:  # fmt: skip
        """The answer to JoinGroup."""
        if not self.alive or self.phase != JOINING:
            return
        if error == MEMBER_ID_REQUIRED:
            self.member_id = member_id
            self._send_join()
        elif error == NOT_COORDINATOR:
            self.clock.after(self.config.retry_backoff_ms, self.in_time, self._rejoin_again)
        elif error in (FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL):
            self._die(error)
        elif error is not None:
            self._error(error)
            if self.generation == self._sent_generation:
                self._reset(error)
            self._rejoin_again()
        elif self.generation != self._sent_generation:
            self._rejoin_again()  # a heartbeat failed meanwhile (UnjoinedGroupException)
        else:
            self.advance()
            self.generation, self.member_id, self.protocol = generation, member_id, protocol
            self.phase = SYNCING
            self.set_verdict()
            self._start_heartbeats()
            self.poll_interval_begins()
            self.snapshot = None
            if members is None:
                self._send_sync({})
            else:
                self._lead(members, skip_assignment)

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """Assign for everybody, with the topics as this client knows them, and watch those."""
        topics = sorted({t for m in members for t in m.request.subscription})
        if (self.metadata[topics] == 0).any():
            self.metadata = self.world.cluster.partitions.copy()
        self.snapshot = (np.array(topics, dtype=np.int64), self.metadata[topics])
        if skip_assignment:
            # A static leader that is back in time: everybody keeps what was assigned.
            self._send_sync({})
            return
        strategy = self.world.strategy(self.protocol)
        try:
            assignment = assign(self.world, strategy, members, self.metadata, self.generation)
        except OriginalError as error:
            self.tell("error", detail=str(error))
            self._die(error.original)
            return
        self.clock.after(self.config.assignment_ms, self.in_time, self._send_sync, assignment)

    def _send_sync(self, assignment) -> None:
        if not self.alive or self.phase != SYNCING:
            return
        self.clock.after(
            self.config.latency_ms, self.coordinator.sync_group, self, self.member_id,
            self.generation, assignment,
        )  # fmt: skip

    def synced(self, error, partitions=EMPTY, claim=None) -> None:
        """The answer to SyncGroup."""
        if not self.alive or self.phase != SYNCING:
            return
        if error in (FENCED_INSTANCE_ID,):
            self._die(error)
        elif error == NOT_COORDINATOR:
            self._error(error)
            self.clock.after(self.config.retry_backoff_ms, self.in_time, self._rejoin_again)
        elif error is not None:
            if error != REBALANCE_IN_PROGRESS:
                self._error(error)
                self._reset(error)
            self._rejoin_again()
        else:
            self.advance()
            self.phase = JOINED
            self.belongs_again()
            self.set_verdict()
            self.at_poll(self._join_complete, self.generation, partitions, claim)

    def _rejoin_again(self) -> None:
        """Once more, from the same poll."""
        if self.alive and not self.fatal:
            if self.phase != UNJOINED:
                self.advance()
                self.phase = UNJOINED if self.generation == NO_GENERATION else JOINED
                self.set_verdict()
            self.joining = True
            self.at_poll(self._revoke_before_join)

    def _join_complete(self, generation: int, partitions: np.ndarray, claim: Claim | None) -> None:
        """The assignment is here: give up the difference, take what is new."""
        if self.generation != generation or self.phase != JOINED:
            self._reset("generation changed")
            self.joining = False
            self.request_rejoin("")
            return
        self.joining = False
        if self.mode == TRANSACTION:
            self.advance()
            self.group_metadata = self.member_id, generation
            self.set_verdict()
        if self.config.commit == "auto":
            self.state[NEXT_COMMIT] = self.clock.now + self.config.auto_commit_interval_ms
        if not self._subscribes_to(partitions):
            self.request_rejoin("received assignment does not match the current subscription")
            return
        self.claim = claim
        revoked = self.held[~self.log.among(self.held, partitions)]
        added = partitions[~self.log.among(partitions, self.held)]
        if revoked.size:
            self._revoke(revoked, lambda: self._take_and_rejoin(added))
        else:
            self._take_added(added)
            self._check_subscription()

    def _subscribes_to(self, partitions: np.ndarray) -> bool:
        topics = topic_of(self.world.cluster.codes(partitions))
        return set(topics.tolist()) <= set(self.subscription)

    def _take_and_rejoin(self, added: np.ndarray) -> None:
        self._take_added(added)
        self.request_rejoin("gave partitions up")

    def _take_added(self, added: np.ndarray) -> None:
        if added.size:
            self.take(added)
        else:
            self.tell("assigned", EMPTY)

    # ---- heartbeats ----------------------------------------------------------------------------

    def _start_heartbeats(self) -> None:
        """Heartbeats count from the answer to JoinGroup, so members of one rebalance beat as one."""
        self._stop_heartbeats()
        self._beat = self.clock.after(
            self.config.heartbeat_interval_ms + self.config.latency_ms, self._heartbeat
        )

    def _stop_heartbeats(self) -> None:
        if self._beat is not None:
            self._beat.cancel()
            self._beat = None

    def _heartbeat(self) -> None:
        """A heartbeat arrives at the coordinator; the next one follows."""
        self._beat = None
        if not self.alive or self.phase in (UNJOINED, JOINING):
            return
        if self.clock.now - self.config.latency_ms < self.frozen_until:
            self._beat = self.clock.at(self.frozen_until + self.config.latency_ms, self._heartbeat)
            return
        error = self.coordinator.heartbeat(self, self.member_id, self.generation)
        if error is not None:
            self.coordinator.answer(self, self._heartbeat_failed, error, self.generation)
        self._beat = self.clock.after(
            self.config.heartbeat_interval_ms + self.world.heartbeat_delay(), self._heartbeat
        )

    def _heartbeat_failed(self, error: str, generation: int) -> None:
        if not self.alive or generation != self.generation:
            return
        if error == REBALANCE_IN_PROGRESS:
            if self.phase == JOINED:
                self.request_rejoin("group is rebalancing")
        elif error == FENCED_INSTANCE_ID:
            self._error(error)
            self._reset(error)
            self._die(error)
        elif error != NOT_COORDINATOR:
            self._error(error)
            self._reset_and_rejoin(error)

    # ---- leaving, losing, failing --------------------------------------------------------------

    def poll_interval_exceeded(self) -> None:
        """The heartbeat thread leaves the group; the application notices at its next poll."""
        if self.phase in (UNJOINED, JOINING):
            return  # there is no heartbeat thread that would notice
        self.tell("poll interval exceeded", self.held)
        if self.instance is None:
            self.clock.after(
                self.config.latency_ms, self.coordinator.leave_group, self, self.member_id
            )
        self._reset_and_rejoin("max.poll.interval.ms exceeded")

    def close(self) -> None:
        """The application closes the consumer, from its poll."""
        self.at_poll(self._close)

    def _close(self) -> None:
        if self.config.commit == "auto" and self.phase == JOINED and self.own.size:
            self.commit_in_poll(lambda error: self._leave())
        else:
            self._leave()

    def _leave(self) -> None:
        def go() -> None:
            if self.instance is None and self.phase != UNJOINED and self.member_id:
                self.clock.after(
                    self.config.latency_ms, self.coordinator.leave_group, self, self.member_id
                )
            self.tell("closed")
            self._stop_heartbeats()
            self.end("closed")

        self._stop_heartbeats()
        if self.held.size and self.phase == JOINED:
            self._revoke(self.held, go)
        else:
            go()

    def crash(self) -> None:
        """The process is gone."""
        self._stop_heartbeats()
        self.tell("crashed", self.held)
        self.end("crash")

    def _reset_and_rejoin(self, reason: str) -> None:
        before = self.phase
        self._reset(reason)
        if before == JOINING:
            self.phase = JOINING  # the answer to JoinGroup will find another generation
            self.set_verdict()
        elif before == SYNCING:
            self._rejoin_again()  # the answer to SyncGroup would find another generation
        elif not self.joining:
            self.request_rejoin(reason)

    def _reset(self, reason: str) -> None:
        """The generation is gone; all errors but ILLEGAL_GENERATION cost the member id too."""
        self.advance()
        self.generation = NO_GENERATION
        if reason != ILLEGAL_GENERATION:
            self.member_id = ""
        self.lost_reason = reason
        self.phase = UNJOINED
        self._stop_heartbeats()
        self.set_verdict()

    def _reset_on(self, error: str) -> None:
        """How the client takes an error that answers a commit."""
        if error in (UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION) and self.phase == JOINED:
            self._error(error)
            self._reset(error)
        elif error == FENCED_INSTANCE_ID:
            self._error(error)
            self._die(error)

    def commit_failed(self, error: str) -> None:
        """The answer to a commit is an error; of transactions only the producer hears."""
        if self.mode == TRANSACTION:
            return
        self._reset_on(error)
        if error == REBALANCE_IN_PROGRESS or self.phase == UNJOINED:
            self.request_rejoin(error)

    def _die(self, error: str) -> None:
        """A fatal error: the application gets an exception and gives up."""
        self.fatal = True
        self.tell("fatal", self.held, error)
        self._stop_heartbeats()
        self.end(f"fatal: {error}")

    def _error(self, error: str) -> None:
        self.tell("error", EMPTY, error)

    # ---- commits -------------------------------------------------------------------------------

    def identity(self):
        if self.mode == TRANSACTION:
            # The producer sends the offsets, with what the consumer's last join gave it: no check
            # on this side, and a rebalance that is being prepared does not matter (groupMetadata()).
            return *self.group_metadata, JOINED
        return self.member_id, self.generation, self.phase

    def why_refused(self, sent=None) -> str | None:
        """Both sides' checks: the client's own first, then the coordinator's."""
        member_id, generation, phase = sent or self.identity()
        if self.config.fencing:
            if phase in (JOINING, SYNCING):
                return REBALANCE_IN_PROGRESS
            if phase == UNJOINED:
                return "CommitFailedException"
        return self.coordinator.validate_commit(self, member_id, generation)

    def judge(self) -> int:
        error = self.why_refused()
        if error is None:
            # Without fencing a consumer that the group left behind may set offsets back.
            return ACCEPTED if self.valid or self.state[PHASE] == HALTED else ASKED
        return FAILS if error in (REBALANCE_IN_PROGRESS, NOT_COORDINATOR) else ASKED
