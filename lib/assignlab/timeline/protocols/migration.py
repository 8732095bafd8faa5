"""A group on its way from the classic protocol to the consumer protocol (KIP-848), or back,
while it runs.

After GroupMetadataManager, ``ConsumerGroup.fromClassicGroup`` and
``ClassicGroup.fromConsumerGroup`` of kafka-group-coordinator 4.3.0; where 4.0 to 4.2 differ,
:class:`~assignlab.timeline.config.Config` says it.

The first heartbeat of a member of the consumer protocol turns a classic group into a consumer
group: its generation becomes the group epoch, what it assigned the target. Members that still speak
the classic protocol stay: the answer to a heartbeat tells them to join again when there is
something to give up or to get, JoinGroup says what they have and is answered at once, SyncGroup
fetches what the coordinator gives them; there is no leader. When the last member of the consumer
protocol is gone, the group is a classic one again, and its members rebalance.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from assignlab.timeline.engine.clock import Timer, cancel
from assignlab.timeline.engine.requests import Claim, JoinRequest
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols import classic_coordinator, kip848_coordinator
from assignlab.timeline.protocols.errors import (
    GROUP_ID_NOT_FOUND,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    REBALANCE_IN_PROGRESS,
    STALE_MEMBER_EPOCH,
    UNKNOWN_MEMBER_ID,
    UNKNOWN_SERVER_ERROR,
)
from assignlab.timeline.protocols.kip848_coordinator import JOINING_EPOCH, UNRELEASED, UNREVOKED
from assignlab.timeline.protocols.timeline_map import TimelineMap


def handed_on(request: str) -> Callable[..., Any]:
    """A request that is the group's at hand when it arrives."""
    return lambda self, *about: getattr(self.group, request)(*about)


class Coordinator:
    """The coordinator of a group of either type: it hands requests on, and turns the group."""

    def __init__(self, world: World):
        self.world = world
        self.group: classic_coordinator.Coordinator | ConsumerGroup = (
            classic_coordinator.Coordinator(world)
        )

    sync_group = handed_on("sync_group")
    heartbeat = handed_on("heartbeat")
    leave_group = handed_on("leave_group")
    validate_commit = handed_on("validate_commit")
    counts_on = handed_on("counts_on")
    answer = handed_on("answer")
    topics_changed = handed_on("topics_changed")
    move = handed_on("move")

    def join_group(self, client, request: JoinRequest) -> None:
        """A JoinGroup request arrives; a consumer group without members is none any more."""
        group = self.group
        if isinstance(group, ConsumerGroup) and not group.members and not group.unreached(client):
            self._turn_into(classic_coordinator.Coordinator(self.world))
        self.group.join_group(client, request)

    def consumer_group_heartbeat(self, client, member_id, epoch, subscription, owned) -> None:
        """A heartbeat of the consumer protocol arrives; the first one turns a classic group."""
        if isinstance(self.group, classic_coordinator.Coordinator):
            error = self.group.unreached(client) or self._validate_online_upgrade(self.group, epoch)
            if error is not None:
                self.group.answer(client, client.answered, error, 0, None)
                return
            self._upgrade(self.group)
            before = list(self.group.walk)
            self.group.consumer_group_heartbeat(client, member_id, epoch, subscription, owned)
            self.group.written(before)
        else:
            self.group.consumer_group_heartbeat(client, member_id, epoch, subscription, owned)

    def leave(self, client, member_id: str, epoch: int) -> None:
        """A heartbeat with epoch -1 or -2 arrives;
        a classic group answers it with an error that nobody reads."""
        if isinstance(self.group, ConsumerGroup):
            self.group.leave(client, member_id, epoch)

    # ---- from one type to the other ------------------------------------------------------------

    def _validate_online_upgrade(
        self, group: classic_coordinator.Coordinator, epoch: int
    ) -> str | None:
        """The error of a heartbeat to a classic group that stays one."""
        if epoch != JOINING_EPOCH:
            return GROUP_ID_NOT_FOUND
        if group.state == classic_coordinator.EMPTY_GROUP:
            return None
        if self.world.config.group_consumer_migration_policy not in ("bidirectional", "upgrade"):
            return GROUP_ID_NOT_FOUND
        if group.has_user_data:  # it would be lost (ConsumerGroup.fromClassicGroup)
            return GROUP_ID_NOT_FOUND
        # There is no first generation yet, and the original asks for its protocol all the same.
        return UNKNOWN_SERVER_ERROR if group.protocol is None else None

    def _upgrade(self, old: classic_coordinator.Coordinator) -> None:
        """convertToConsumerGroup; an empty group is none, and the consumer group begins anew."""
        group = ConsumerGroup(self.world, self._downgrade)
        if old.state != classic_coordinator.EMPTY_GROUP:
            for member in old.members.values():
                old.answer_join(member, REBALANCE_IN_PROGRESS)
                old.answer_sync(member, REBALANCE_IN_PROGRESS)
            group.continue_from(old.generation)
            for member in old.walk():
                group.adopt(member, old.generation)
        self._turn_into(group)

    def _downgrade(self, old: "ConsumerGroup", rebalance: bool, joins: str | None = None) -> None:
        """convertToClassicGroup: the target becomes what was assigned last; who ``joins`` comes last, and
        the first one leads."""
        group = classic_coordinator.Coordinator(self.world)
        for member_id in sorted(old.walk, key=lambda member_id: member_id == joins):
            group.adopt(old.members[member_id], old.classic[member_id])
        group.begin(old.group_epoch)
        self._turn_into(group)
        if rebalance:
            group.prepare_rebalance()

    def _turn_into(self, group: "classic_coordinator.Coordinator | ConsumerGroup") -> None:
        self.world.play_commits()
        self.group.end()
        self.group = group
        kind = "consumer" if isinstance(group, ConsumerGroup) else "classic"
        self.world.tell("group type", -1, kind)
        self.world.judge_commits()


class ConsumerGroup(kip848_coordinator.Coordinator):
    """A consumer group, some of whose members may speak the classic protocol.

    ``classic``: what those last joined with, by member id; ``downgrade``: turns the group into a
    classic one, and says whether its members are to rebalance.
    """

    def __init__(self, world: World, downgrade: Callable[..., None]):
        super().__init__(world)
        self.classic: dict[str, JoinRequest] = {}
        self._downgrade = downgrade
        self._timers: dict[tuple[str, str], Timer] = {}

    def continue_from(self, generation: int) -> None:
        """It goes on where a classic group was."""
        self.group_epoch = self.assignment_epoch = generation
        if not self.config.group_consumer_knows_topics:
            self._topics_seen[:] = 0
            self.topics_changed()

    def adopt(self, known: classic_coordinator.GroupMember, generation: int) -> None:
        """A member of a classic group that becomes this one: it has what it was assigned last."""
        member = self._subscribe(known.client, known.id)
        member.subscription = known.request.subscription
        member.epoch = member.previous_epoch = generation
        member.assigned = member.target = known.assignment
        member.assigned_epochs = np.full(known.assignment.size, generation)
        member.claim = Claim(self.world.cluster.codes(known.assignment), generation)
        self._holder[known.assignment] = self._numbers[known.id]
        self.walk.add(known.id)
        self.classic[known.id] = known.request
        self._session_lasts(member)

    def written(self, before: list[str]) -> None:
        """The group as its records make it: those of "before" in the order of their walk."""
        new = [id for id in self.walk if id not in before]
        self.walk = TimelineMap()
        for id in (*before, *new):
            self.walk.add(id)
        for id in before:
            if id not in self.members:
                self.walk.remove(id)

    # ---- JoinGroup, SyncGroup, Heartbeat, LeaveGroup of members of the classic protocol --------

    def join_group(self, client, request: JoinRequest) -> None:
        """classicGroupJoinToConsumerGroup: nobody waits for anybody."""
        error, member_id = self._validate_join(client, request)
        if error is not None:
            self.answer(client, client.joined, error, member_id)
            return
        last = self._is_last_of_consumer_protocol(self._holder_of(client.instance))
        member = self._subscribe(client, member_id)
        self.classic[member_id] = request
        changed = self._update_subscription(member, None, request.subscription)
        known = self.group_epoch
        if changed or self._topics_changed:
            self._refresh_metadata(changed)
        if last:
            rebalance = changed
            if self.config.group_consumer_rejoin_for_target:
                rebalance = self.assignment_epoch < self.group_epoch
            self.group_epoch = known  # what it writes of its own end is not replayed
            if not rebalance:
                self._reconcile(member, request.owned, changed)
            self.walk.add(member_id)
        else:
            self._update_target_assignment(member)
            self.walk.add(member_id)
            self._reconcile(member, request.owned, changed)
            self._session_lasts(member)
            self._times_out("sync", member, "did not sync in time")
        self.answer(client, client.joined, None, member_id, member.epoch, request.protocols[0])
        if last:
            self._downgrade(self, rebalance, member_id)

    def _validate_join(self, client, request: JoinRequest) -> tuple[str | None, str]:
        """(the error of the answer, if any; the member id)"""
        member_id, instance = request.member_id, client.instance
        lists = Counter(name for known in self.classic.values() for name in known.protocols)
        if error := self.unreached(client):
            return error, member_id
        refuses = self.config.group_consumer_refuses_classic
        if refuses and self.config.group_consumer_migration_policy == "disabled":
            return INCONSISTENT_GROUP_PROTOCOL, member_id
        if all(lists[name] < len(self.classic) for name in request.protocols):
            return INCONSISTENT_GROUP_PROTOCOL, member_id
        if member_id == "":
            drawn = self.world.known_id(client.name) or self.world.topic_id()
            return (MEMBER_ID_REQUIRED if instance is None else None), drawn
        return self._validate_instance(member_id, instance), member_id

    def _validate_classic(self, client, member_id: str, generation: int) -> str | None:
        error = self.unreached(client) or self._validate_instance(member_id, client.instance)
        if error is None and member_id not in self.classic:
            error = UNKNOWN_MEMBER_ID
        if error is None and self.members[member_id].epoch != generation:
            error = ILLEGAL_GENERATION
        return error

    def sync_group(self, client, member_id: str, generation: int, assignment) -> None:
        """classicGroupSyncToConsumerGroup: the answer has what this member is given now."""
        error = self._validate_classic(client, member_id, generation)
        if error is None:
            member = self.members[member_id]
            if self._newest_epoch() > member.epoch and member.state != UNREVOKED:
                error = REBALANCE_IN_PROGRESS
                self._times_out("join", member, "did not join in time")
        if error is not None:
            self.answer(client, client.synced, error)
            return
        self._cancel("sync", member_id)
        self._session_lasts(member)
        groups, partitions = self.world.groups, self.world.groups.in_map_order(member.assigned)
        claim = groups.received(client.strategies[0], member, partitions, generation)
        self.answer(client, client.synced, None, partitions, claim)

    def heartbeat(self, client, member_id: str, generation: int) -> str | None:
        """classicGroupHeartbeatToConsumerGroup: has the member to join again?"""
        error = self._validate_classic(client, member_id, generation)
        if error is not None:
            return error
        member = self.members[member_id]
        self._session_lasts(member)
        released = member.state == UNRELEASED and not self._waits_for_others(member)
        if member.epoch < self._newest_epoch() or member.state == UNREVOKED or released:
            self._times_out("join", member, "did not join in time")
            return REBALANCE_IN_PROGRESS
        return None

    def _newest_epoch(self) -> int:
        """The epoch that members of the classic protocol are to reach."""
        if self.config.group_consumer_rejoin_for_target:
            return self.assignment_epoch
        return self.group_epoch

    def _waits_for_others(self, member: kip848_coordinator.GroupMember) -> bool:
        """Whether some of its target is still somebody's (waitingOnUnreleasedPartition)."""
        missing = member.target[~self.world.log.among(member.target, member.assigned)]
        return bool((self._holder[missing] != -1).any())

    def leave_group(self, client, member_id: str) -> None:
        """classicGroupLeaveToConsumerGroup."""
        if (
            not self.unreached(client)
            and member_id in self.members
            and self._validate_instance(member_id, client.instance) is None
        ):
            self._fence(self.members[member_id], "left")

    def counts_on(self, client) -> bool:
        """Whether a client is a member, in the epoch that it knows."""
        member = self.members.get(client.member_id)
        return member is not None and client.generation == member.epoch

    # ---- what is not the same for members of the classic protocol ------------------------------

    def _released(self, holder: kip848_coordinator.GroupMember) -> bool:
        """Across protocols a static member is replaced even if it has not left."""
        return holder.id in self.classic or super()._released(holder)

    def _subscribe(self, client, member_id: str) -> kip848_coordinator.GroupMember:
        """A member joins; who had its instance id has to go, and speaks for it no longer."""
        holder = self._holder_of(client.instance)
        if holder is not None and holder.id != member_id:
            self._forget(holder.id)
            holder.client.advance()
            holder.client.passed_by("replaced by its instance id")
        elif member_id in self.classic:
            self._forget(member_id)
        return super()._subscribe(client, member_id)

    def _holder_of(self, instance: str | None) -> kip848_coordinator.GroupMember | None:
        return self.members[self.static[instance]] if instance in self.static else None

    def _forget(self, member_id: str) -> None:
        """It is no member of the classic protocol, or not yet."""
        self.classic.pop(member_id, None)
        for kind in ("join", "sync"):
            self._cancel(kind, member_id)

    def _session_ms(self, member: kip848_coordinator.GroupMember) -> int:
        """Members of the classic protocol have brought their own session timeout."""
        if member.id in self.classic:
            return self.config.session_timeout_ms
        return super()._session_ms(member)

    def _revocation_times_out(self, member: kip848_coordinator.GroupMember) -> None:
        """Members of the classic protocol have to join and to sync in time instead."""
        if member.id not in self.classic:
            super()._revocation_times_out(member)

    def _times_out(self, kind: str, member: kip848_coordinator.GroupMember, why: str) -> None:
        """It has the rebalance timeout to do this; a time that runs already goes on."""
        if (kind, member.id) not in self._timers:
            self._timers[kind, member.id] = self.clock.after(
                self.config.max_poll_interval_ms, self._too_late, kind, member, why
            )

    def _too_late(self, kind: str, member: kip848_coordinator.GroupMember, why: str) -> None:
        del self._timers[kind, member.id]
        if self.members.get(member.id) is member:
            self._fence(member, why)

    def _cancel(self, kind: str, member_id: str) -> None:
        cancel(self._timers.pop((kind, member_id), None))

    def validate_commit(self, client, member_id: str, epoch: int) -> str | None:
        """Members of the classic protocol know the same errors by another name."""
        error = super().validate_commit(client, member_id, epoch)
        return (
            ILLEGAL_GENERATION
            if error == STALE_MEMBER_EPOCH and member_id in self.classic
            else error
        )

    # ---- the end of the group ------------------------------------------------------------------

    def _fence(self, member: kip848_coordinator.GroupMember, why: str) -> None:
        """Remove a member; the last one of the consumer protocol takes the group's type along."""
        last = self._is_last_of_consumer_protocol(member) and len(self.members) > 1
        if last:
            self._remove(member, why)
            self._downgrade(self, True)
        else:
            super()._fence(member, why)

    def _remove(self, member: kip848_coordinator.GroupMember, why: str) -> None:
        super()._remove(member, why)
        self._forget(member.id)

    def _is_last_of_consumer_protocol(self, member: kip848_coordinator.GroupMember | None) -> bool:
        """Whether without it the group may be a classic one (validateOnlineDowngrade)."""
        return (
            member is not None
            and all(id == member.id or id in self.classic for id in self.members)
            and self.config.group_consumer_migration_policy in ("bidirectional", "downgrade")
        )

    def unload(self) -> None:
        """Timers are the old broker's; the new one counts sessions alone."""
        for timer in self._timers.values():
            cancel(timer)
        self._timers.clear()

    def end(self) -> None:
        """The group is of another type from now on."""
        self.unload()
        self.members.clear()
