"""The coordinator of the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

After GroupMetadataManager and ClassicGroup of kafka-group-coordinator 4.3.0; steps have their
names. The consumer's side is :mod:`~assignlab.timeline.protocols.classic_client`.

A rebalance: somebody joins, leaves or is expelled, and the group is PreparingRebalance. Members
learn it from the answer to their next heartbeat, and join again from their next poll. When all are
there, or the rebalance timeout is over, the next generation begins (CompletingRebalance): the
leader gets everybody's subscriptions, assigns, and sends the assignment with its SyncGroup; the
answers to all SyncGroups carry it out (Stable).
"""

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from assignlab.jvm.hash_map import hash_map_order, table_size
from assignlab.jvm.names import Names
from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.requests import Claim, JoinRequest
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols.errors import (
    COORDINATOR_LOAD_IN_PROGRESS,
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
)
from assignlab.timeline.protocols.hosted import Hosted

EMPTY_GROUP, PREPARING, COMPLETING = "Empty", "PreparingRebalance", "CompletingRebalance"
STABLE, DEAD = "Stable", "Dead"

CLOSE_TIMEOUT_MS = 30_000
"""``KafkaConsumer.DEFAULT_CLOSE_TIMEOUT_MS``: so long close tries to commit, and waits for the answer to its
LeaveGroup."""


@dataclass(eq=False)
class GroupMember:
    """What the coordinator knows of a member. ``assignment``: dense partition numbers."""

    id: str
    client: Consumer
    request: JoinRequest
    instance: str | None
    awaiting_join: bool = False
    awaiting_sync: bool = False
    assignment: np.ndarray = field(default_factory=lambda: EMPTY)
    claim: Claim | None = None
    deadline: int = 0


def scala_hash_map_order(hashes: list[int]) -> list[int]:
    """The order in which Scala 2.13's immutable ``HashMap`` walks keys with these hash codes.

    A trie with five bits of the improved hash a level;
    a node's own entries come before its children's.

    >>> scala_hash_map_order([3, 1, 2, 1 << 20])
    [1, 2, 0, 3]
    """
    improved = [_improve(h) for h in hashes]

    def walk(inside: list[int], shift: int) -> list[int]:
        slots: dict[int, list[int]] = {}
        for i in inside:
            slots.setdefault(improved[i] >> shift & 31, []).append(i)
        if shift > 30:
            return inside  # equal hashes
        alone = [found[0] for _, found in sorted(slots.items()) if len(found) == 1]
        crowded = [walk(found, shift + 5) for _, found in sorted(slots.items()) if len(found) > 1]
        return alone + [i for found in crowded for i in found]

    return walk(list(range(len(hashes))), 0)


def _improve(h: int) -> int:
    """``scala.collection.Hashing.improve``, in 32 bits."""
    h = (h + ~(h << 9)) & 0xFFFFFFFF
    h ^= h >> 14
    h = (h + (h << 4)) & 0xFFFFFFFF
    return h ^ h >> 10


class Coordinator(Hosted):
    """The group coordinator: a state machine that answers requests and has timers."""

    def __init__(self, world: World):
        super().__init__(world)
        self.state = self.previous_state = EMPTY_GROUP
        self.generation = 0
        self.protocol: str | None = None
        self.leader: str | None = None
        self.members: dict[str, GroupMember] = {}
        self.supported: Counter[str] = Counter()  # strategy -> how many members list it
        self.pending: dict[str, Consumer] = {}
        self.pending_sync: dict[str, None] = {}  # in order
        self.new_member_added = False
        self.has_user_data = False  # what the leader assigned last
        self.behind: dict[Consumer, list[tuple]] = {}  # requests that are not read yet
        self._table = 16
        self._join_timer = self._sync_timer = None
        self._persisted: tuple | None = None

    # ---- JoinGroup -----------------------------------------------------------------------------

    def join_group(self, client, request: JoinRequest) -> None:
        """A JoinGroup request arrives; the answer may wait for the others."""
        if client in self.behind:
            self._put_behind(client, client.coordinator.join_group, client, request)
        elif error := self.unreached(client):
            self.answer(client, client.joined, error)
        elif not self._supports(request):
            self.answer(client, client.joined, INCONSISTENT_GROUP_PROTOCOL)
        elif request.member_id == "":
            self._join_new_member(client, request)
        elif request.member_id in self.pending:
            self._add_member_then_rebalance(client, request, request.member_id)
        else:
            self._join_existing_member(client, request)

    def _supports(self, request: JoinRequest) -> bool:
        everybody = len(self.members)
        return not everybody or any(self.supported[name] == everybody for name in request.protocols)

    def _join_new_member(self, client: Consumer, request: JoinRequest) -> None:
        drawn = f"{client.instance or client.name}-{self.world.uuid()}"
        member_id = self.world.known_id(client.name) or drawn
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
            # Scala's, before 4.0, is prolonged for a group's very first generation alone.
            new = self.config.group_coordinator_new_enable or self.generation == 0
            self.new_member_added = self.new_member_added or new
        self.pending.pop(member_id, None)
        self._add(member)
        self._session_lasts(member)
        self._rebalance_or_complete()

    def _add(self, member: GroupMember) -> None:
        """One more in the group; the first one leads it."""
        self.leader = self.leader or member.id
        self.members[member.id] = member
        self.supported.update(member.request.protocols)
        self._table = max(self._table, table_size(len(self.members), 16))
        if member.instance is not None:
            self.static[member.instance] = member.id

    def _update_static_member(self, client, request: JoinRequest, old_id: str, new_id: str) -> None:
        """A static member is back under a new member id and takes the place of the old one."""
        old = self.members.pop(old_id)
        self.answer_join(old, FENCED_INSTANCE_ID)
        self.answer_sync(old, FENCED_INSTANCE_ID)
        old.client.advance()
        old.client.passed_by("replaced by its instance id")
        member = GroupMember(
            new_id, client, request, old.instance, awaiting_join=True, assignment=old.assignment,
            claim=old.claim,
        )  # fmt: skip
        self.members[new_id] = member
        self.supported.subtract(old.request.protocols)
        self.supported.update(request.protocols)
        self.static[old.instance] = new_id
        if self.leader == old_id:
            self.leader = new_id
        old.client.set_verdict()
        self._session_lasts(member)
        if self.state == STABLE:
            if self._select_protocol() == self.protocol:
                # Nothing changes for the others: it gets what it had (KIP-345).
                member.awaiting_join = False
                self._persist()
                leads = self.leader == new_id and client.leads_when_back
                others = self.walk() if leads else None
                self.answer(client, client.joined, None, new_id, self.generation, self.protocol,
                            others, others is not None)  # fmt: skip
            else:
                self._rebalance_or_complete()
        elif self.state == COMPLETING:
            self.prepare_rebalance()
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
            self.answer(client, client.joined, None, member.id, self.generation, self.protocol,
                        others)  # fmt: skip

    def _rebalance_or_complete(self) -> None:
        if self.state in (STABLE, COMPLETING, EMPTY_GROUP):
            self.prepare_rebalance()
        else:
            self._maybe_complete_join()

    def prepare_rebalance(self) -> None:
        """All members have to join (again)."""
        if self.state == COMPLETING:
            for member in self.members.values():
                member.assignment = EMPTY
                if self.answer_sync(member, REBALANCE_IN_PROGRESS):
                    self._session_lasts(member)
        self.pending_sync.clear()
        cancel(self._sync_timer)
        initial = self.state == EMPTY_GROUP
        self._transition(PREPARING)
        timeout = self._rebalance_timeout()
        if initial:
            delay = self.config.group_initial_rebalance_delay_ms
            self._join_timer = self.clock.after(
                delay, self._complete_initial_rebalance, delay, max(timeout - delay, 0)
            )
        elif self._all_joined():
            self._complete_join()
        else:
            cancel(self._join_timer)
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
        cancel(self._join_timer)
        for member in [m for m in self.members.values() if not m.awaiting_join]:
            if member.instance is None:
                self._remove(member.id, "did not join in time")
        if self.members and not self._elect_joined_leader():
            # Nobody but static members, and none of them is there: wait on.
            self._join_timer = self.clock.after(self._rebalance_timeout(), self._complete_join)
            return
        clients = [member.client for member in self.members.values()]
        for client in clients:
            client.advance()
        self.generation += 1
        if not self.members:
            self.protocol = None
            self._persist()
            self._transition(EMPTY_GROUP)
            return
        self.protocol = self._select_protocol()
        self._transition(COMPLETING)
        in_order = self.walk()
        for member in in_order:
            others = in_order if member.id == self.leader else None
            if not self.answer_join(
                member, None, member.id, self.generation, self.protocol, others
            ):
                # A static member that did not come: it stays, the generation goes on without it.
                member.client.passed_by("static, did not join in time")
            self._session_lasts(member)
            self.pending_sync[member.id] = None
        for client in clients:
            client.set_verdict()
        led = f"{self.protocol}, leader {self.members[self.leader].client.name}"
        self.world.tell("generation", self.generation, led)
        self._sync_timer = self.clock.after(self._rebalance_timeout(), self._expire_pending_sync)

    def _rebalance_timeout(self) -> int:
        """That of the member with the longest one."""
        return max(
            (member.client.rebalance_timeout_ms for member in self.members.values()),
            default=self.config.max_poll_interval_ms,
        )

    def answer_join(self, member: GroupMember, *values) -> bool:
        """Answer a member's JoinGroup, if it waits; then its broker reads what the client sent since."""
        waited, member.awaiting_join = member.awaiting_join, False
        if waited:
            self.answer(member.client, member.client.joined, *values)
            self._read_on(member.client)
        return waited

    def answer_sync(self, member: GroupMember, *values) -> bool:
        """Answer a member's SyncGroup likewise, if it waits."""
        waited, member.awaiting_sync = member.awaiting_sync, False
        if waited:
            self.answer(member.client, member.client.synced, *values)
            self._read_on(member.client)
        return waited

    def _read_on(self, client) -> None:
        for request in self.behind.pop(client, ()):
            self.clock.after(0, *request)

    def _elect_joined_leader(self) -> bool:
        if self.members[self.leader].awaiting_join:
            return True
        for member in self.walk():
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
        hashes = Names(list(votes)).hashes
        if self.config.group_coordinator_new_enable:
            order = hash_map_order(hashes).tolist()
        else:
            order = scala_hash_map_order(hashes.tolist())
        names = [list(votes)[i] for i in order]
        return max(names, key=votes.__getitem__)  # the first of those with most votes, as there

    def walk(self) -> list[GroupMember]:
        """The members in the order of the coordinator's HashMap."""
        ids = list(self.members)
        order = hash_map_order(Names(ids).hashes, self._table)
        return [self.members[ids[i]] for i in order.tolist()]

    # ---- SyncGroup, Heartbeat, LeaveGroup, OffsetCommit ----------------------------------------

    def sync_group(self, client, member_id: str, generation: int, assignment) -> None:
        """A SyncGroup request arrives; the leader's carries everybody's partitions."""
        error = self.unreached(client) or self._validate(member_id, client.instance)
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
            self.answer(client, client.synced, None, member.assignment, member.claim)
            if not self.config.group_coordinator_new_enable:  # a sign of life in Scala's
                self._session_lasts(member)
            return
        member.awaiting_sync = True
        self.pending_sync.pop(member_id, None)
        if member_id != self.leader:
            return
        for other in self.members.values():
            other.assignment, other.claim = assignment.get(other.id, (EMPTY, None))
        self.has_user_data = client.sends_user_data(self.members.values(), str(self.protocol))
        self._transition(STABLE)
        self._persist()
        for other in list(self.members.values()):
            if self.answer_sync(other, None, other.assignment, other.claim):
                self._session_lasts(other)

    def _persist(self) -> None:
        """Write the group to the offsets topic."""
        members = {id: replace(member) for id, member in self.members.items()}
        self._persisted = (self.generation, self.protocol, self.leader, members)

    def counts_on(self, client) -> bool:
        """Whether a client is a member, in the generation that it knows."""
        member = self.members.get(client.member_id)
        return member is not None and client.generation == self.generation

    def _expire_pending_sync(self) -> None:
        if self.pending_sync:
            for member_id in list(self.pending_sync):
                if member_id in self.members:  # not one that a static member left behind
                    self._remove(member_id, "did not sync in time")
            self.prepare_rebalance()

    def heartbeat(self, client, member_id: str, generation: int) -> str | None:
        """A heartbeat arrives; the error of its answer."""
        error = self.unreached(client)
        if error == COORDINATOR_LOAD_IN_PROGRESS:
            return None  # as there: the member is to wait
        error = error or self._validate(member_id, client.told_instance)
        if error:
            return error
        if generation != self.generation:
            return ILLEGAL_GENERATION
        if self.members[member_id].awaiting_sync:
            self._put_behind(client, self._heartbeat_late, client, member_id, generation)
            return None
        self._session_lasts(self.members[member_id])
        return REBALANCE_IN_PROGRESS if self.state == PREPARING else None

    def _put_behind(self, client, *request) -> None:
        """A broker reads a connection's next request when it has answered the one before."""
        self.behind.setdefault(client, []).append(request)

    def _heartbeat_late(self, client, member_id: str, generation: int) -> None:
        """A heartbeat is read that came while SyncGroup waited for the leader."""
        error = client.coordinator.heartbeat(client, member_id, generation)
        if error is not None:
            client.coordinator.answer(client, client.heartbeat_failed, error, generation)

    def leave_group(self, client, member_id: str) -> None:
        """A LeaveGroup request arrives; nobody repeats one that another broker should have got."""
        if self.unreached(client):
            return
        member = self.members.get(member_id)
        if member is not None and (member.awaiting_join or member.awaiting_sync):
            late = self._leave_late, client, member_id, self.clock.now
            if member.awaiting_join and self.world.tossed():
                # Read after the leader's SyncGroup or before it, as drawn: both were recorded.
                late = self.clock.after, 2 * self.config.latency_ms + 1, *late
            self._put_behind(client, *late)
        elif member_id in self.pending:
            del self.pending[member_id]
            self._maybe_complete_join()
        elif self._validate(member_id, client.instance) is None:
            self._expel(member_id, "left")

    def _leave_late(self, client, member_id: str, since: int) -> None:
        """A LeaveGroup is read that arrived at ``since``; a consumer that closes does not wait for
        longer, and its connection ends with what was not read."""
        if client.alive or self.clock.now - since <= CLOSE_TIMEOUT_MS:
            client.coordinator.leave_group(client, member_id)

    def validate_commit(self, client, member_id: str, generation: int) -> str | None:
        """Whether a commit would be accepted; else its error."""
        if error := self.unreached(client):
            return error
        if not self.config.fencing:
            return None
        error = self._validate(member_id, client.told_instance)
        if error is None and generation != self.generation:
            error = ILLEGAL_GENERATION
        if error is None and self.state == COMPLETING and self.config.commit != "transaction":
            error = REBALANCE_IN_PROGRESS
        return error

    def _validate(self, member_id: str, instance: str | None) -> str | None:
        known = None if member_id in self.members else UNKNOWN_MEMBER_ID
        return self._validate_instance(member_id, instance) or known

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
        if self.config.commit != "transaction":
            # A commit is a sign of life too (OffsetMetadataManager.commitOffset).
            member.client.advance()
            alive_at = member.client.loop.accepted_at
            member.deadline = max(member.deadline, alive_at + self.config.session_timeout_ms)
        if waits or not self.available:
            member.deadline = self.clock.now + self.config.session_timeout_ms
        if member.deadline > self.clock.now:
            self.clock.at(member.deadline, self._expire_heartbeat, member)
        else:
            self._expel(member.id, "session expired")

    def _expire_pending(self, member_id: str) -> None:
        if self.pending.pop(member_id, None) is not None:
            self._maybe_complete_join()

    def _remove(self, member_id: str, why: str) -> None:
        member = self.members[member_id]
        client = member.client
        client.advance()
        self.answer_join(member, UNKNOWN_MEMBER_ID)
        del self.members[member_id]
        self.supported.subtract(member.request.protocols)
        self.pending_sync.pop(member_id, None)
        if member.instance is not None:
            self.static.pop(member.instance, None)
        if self.leader == member_id:
            walk = self.walk() if self.members else []
            self.leader = walk[0].id if walk else None
        client.passed_by(why)
        client.set_verdict()
        client.tell("removed", client.held, why)

    def _expel(self, member_id: str, why: str) -> None:
        """Remove a member; the others rebalance without it."""
        self._remove(member_id, why)
        if self.state in (STABLE, COMPLETING):
            self.prepare_rebalance()
        elif self.state == PREPARING and self._all_joined():
            self._complete_join()

    # ---- the coordinator's own broker ----------------------------------------------------------

    def topics_changed(self) -> None:
        """Clients look at topics by themselves."""

    def unload(self) -> None:
        """Whoever waits for an answer has to ask the other broker."""
        self.previous_state, self.state = self.state, DEAD
        self.pending.clear()
        for member in self.members.values():
            self.answer_join(member, NOT_COORDINATOR)
            self.answer_sync(member, NOT_COORDINATOR)
        cancel(self._join_timer)
        cancel(self._sync_timer)

    def load(self) -> None:
        """The group as of its last record: a rebalance that was under way is forgotten, and of what members
        propose all but the group's protocol, until they join again."""
        self.new_member_added = False
        if self._persisted is None:
            self.members, self.leader, self.protocol, self.generation = {}, None, None, 0
        else:
            self.generation, self.protocol, self.leader, members = self._persisted
            self.members = {
                id: replace(
                    member, request=member.request.only(self.protocol), awaiting_join=False,
                    awaiting_sync=False, deadline=0,
                )
                for id, member in members.items()
            }  # fmt: skip
        self.static = {m.instance: m.id for m in self.members.values() if m.instance}
        self._table = table_size(len(self.members), 16)
        self._transition(STABLE if self.members else EMPTY_GROUP)
        self.pending_sync.clear()
        lists = [member.request.protocols for member in self.members.values()]
        self.supported = Counter(name for names in lists for name in names)
        for member in self.members.values():
            self._session_lasts(member)
            if member.client.generation == self.generation and member.client.alive:
                member.client.belongs_again()

    # ---- from a consumer group and to one ------------------------------------------------------

    def adopt(self, known, request: JoinRequest) -> None:
        """A member of a consumer group that becomes this one;
        its target is what it was assigned last."""
        self._add(
            GroupMember(known.id, known.client, request, known.instance, assignment=known.target)
        )

    def begin(self, generation: int) -> None:
        """All members are adopted: the group's generation (ClassicGroup.fromConsumerGroup)."""
        groups = self.world.groups
        self.generation, self.protocol = generation, self._select_protocol()
        for member in self.members.values():
            strategy = next(s for s in member.client.strategies if s.kind == self.protocol)
            member.assignment = groups.in_map_order(member.assignment)
            member.claim = groups.received(strategy, member, member.assignment, generation)
            self._session_lasts(member)
        self._transition(STABLE)
        self._persist()

    def end(self) -> None:
        """The group is of another type from now on."""
        cancel(self._join_timer)
        cancel(self._sync_timer)
        self.members.clear()
        self.pending.clear()

    # ---- steps ---------------------------------------------------------------------------------

    def _transition(self, state: str) -> None:
        clients = [member.client for member in self.members.values()]
        affects = COMPLETING in (state, self.state)
        if affects:
            for client in clients:
                client.advance()
        self.previous_state, self.state = self.state, state
        if affects:
            for client in clients:
                client.set_verdict()
        self.world.tell("state", self.generation, state)
