"""The client of the classic protocol, eager and cooperative.

After AbstractCoordinator and ConsumerCoordinator of kafka-clients 4.3.0; steps have their names.
The broker's side is :mod:`~assignlab.timeline.protocols.classic_coordinator`; what other clients do
otherwise is in the modules of their names.

Eager members give everything up before they join. Cooperative ones keep what they have, give up
the difference afterwards, and join again if there was one.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from assignlab.errors import OriginalError
from assignlab.releases import version
from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.log import EMPTY, FOR_EVER
from assignlab.timeline.engine.poll_loop import Mode, Phase, Verdict
from assignlab.timeline.engine.requests import Claim, JoinRequest
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols.classic_coordinator import (
    CLOSE_TIMEOUT_MS,
    Coordinator,
    GroupMember,
)
from assignlab.timeline.protocols.errors import (
    FENCED_INSTANCE_ID,
    ILLEGAL_GENERATION,
    INCONSISTENT_GROUP_PROTOCOL,
    MEMBER_ID_REQUIRED,
    NOT_COORDINATOR,
    REBALANCE_IN_PROGRESS,
    UNKNOWN_MEMBER_ID,
    UNREACHED,
)
from assignlab.timeline.scenario import Member

NO_GENERATION = -1
UNJOINED, JOINING, SYNCING, JOINED = "unjoined", "joining", "syncing", "stable"


class Client(Consumer):
    """A consumer that speaks the classic protocol."""

    asks_again = UNREACHED
    reads_new_first = True
    sends_generation = True
    """Whether it says which generation it was in last when it joins: Java's since 3.4 (KIP-792)."""
    notices_long_freeze = True
    """Whether it sends no heartbeat after a freeze that was longer than its session."""
    polls_in_time = True
    """Whether its application has to poll within ``max.poll.interval.ms``, or may be at work for ever."""
    joins_for_same_topics = False
    """Whether it joins again where its application subscribes to what it reads already."""
    asks_for_missing = True
    """Whether it asks again and again for topics that it names and that are not there."""
    metadata_by_timer = False
    """Whether it looks at its topics every so often, whenever it did so last."""
    asks_in_poll = True
    """Whether each poll that waits for a join asks for the topics of a pattern."""
    commits_again = True
    """Whether it tries a commit again and again that names a topic which is gone."""
    checks_commits = True
    """Whether it refuses a commit itself while it joins, or is out of the group."""
    leads_when_back = True
    """Whether a static member that led, and is back in time, is told that it leads (KIP-814)."""
    tells_owned = True
    """Whether its subscription has a place for owned partitions: those of version 1 and later."""
    cuts_short = False
    """Whether it leaves that out though it says version 1."""
    takes_short = False
    """Whether it can lead somebody who does, or dies of that (ConsumerProtocol.deserializeSubscription)."""

    def __init__(self, world: World, coordinator: Coordinator, member: Member, number: int):
        super().__init__(world, member, number)
        self.coordinator = coordinator
        self.member_id = ""
        self.group_metadata = "", NO_GENERATION
        self.phase = UNJOINED
        self.joining = False
        self.completing = False
        self.leads = False
        self.rejoin_due = ""
        self.unsubscribed = False
        self.subscription: tuple[int, ...] = ()
        self.joined_subscription: tuple[int, ...] = ()
        self.group_subscription: set[int] = set()
        self.metadata = world.cluster.partitions.copy()
        self.metadata_snapshot: dict[int, int] = {}
        self.assignment_snapshot: dict[int, int] | None = None
        self.claim: Claim | None = None
        self.remembered: dict[str, Claim | None] = {}
        self.lost_reason, self.loss = "", "lost"
        self._beat = None
        self.beats_every_ms = self.config.heartbeat_interval_ms
        self.commits_in_vain_ms = self.config.max_poll_interval_ms
        self.looks_for_coordinator_ms = self.config.retry_backoff_ms
        self._fetched = 0
        self._next_look = self._looks = 0
        self._asked_for: set[int] = set()
        self._answer_due = 0
        self._metadata_age = None
        self._sent_generation = NO_GENERATION
        self.strategies = world.strategies_of(member)
        if not self.config.group_static_leader_leads or self._is_before("3.2"):
            self.leads_when_back = False
        if self._is_before("3.4"):
            self.sends_generation = False
        self._asks_before_join = False
        self._asked = self._in_vain = False
        self._retries = None
        self._deserted = False
        self.cooperative = all(s.protocol == "cooperative" for s in self.strategies)

    def _is_before(self, release: str) -> bool:
        """Whether this is Java's client of an earlier release, as its strategy's name says."""
        first = self.strategies[0]
        return first.system == "Kafka consumer" and version(first.last) < version(release)

    # ---- start and metadata --------------------------------------------------------------------

    def start(self) -> None:
        """Find the coordinator and the topics, then join."""
        self.after_round_trip(self._found_coordinator)

    def _found_coordinator(self) -> None:
        self._look_at_metadata()
        if self.instance is not None:
            self._ask_while_joining()
        self.request_rejoin("")

    def _ask_while_joining(self) -> None:
        """A static member may lead a rebalance that waited for it before it hears of its own topics: in 7
        of 24 recordings, and one time of four here."""
        if self.world.tossed() and self.world.tossed():
            self._note_question()
            self._answer_due = self.clock.now + 2 * self.config.latency_ms + 1

    def metadata_is_stale(self) -> None:
        """A topic that was missing is there now: clients that name it keep asking for it."""
        if self.asks_for_missing:
            self.clock.after(
                self._next_look_ms(), self.in_time,
                self.when_metadata_is_here, self._look_at_metadata,
            )  # fmt: skip

    def topic_is_gone(self) -> None:
        """Its fetch says so, to the next poll: a join comes before (FetchCollector.collectFetch)."""
        failed = self.clock.after, 0, self.in_time, self._fetch_failed
        self.after_round_trip(self.at_poll, *failed)

    def _fetch_failed(self) -> None:
        """What it has given up meanwhile does not matter; else the next fetch goes out."""
        if self._reads_gone_topic():
            self._go_on()
            self._ask_for_topics()

    def _ask_for_topics(self) -> None:
        """The look at the topics comes before the next fetch or after it, as drawn: both were recorded. A
        join that comes with it does not wait for that (recorded, too)."""
        behind = (self.when_metadata_is_here,) if self.world.tossed() else ()
        self.after_round_trip(*behind, self._look_at_metadata)

    def _next_look_ms(self) -> int:
        """Until when a client waits that keeps asking for topics which are not there: twice as long each time
        that nothing has changed, give or take a fifth (Metadata.timeToAllowUpdate)."""
        step, most = self.config.retry_backoff_ms, self.config.retry_backoff_max_ms
        if self._is_before("3.7"):
            most = step
        if not self.keeps_asking:
            return step
        while self._next_look <= self.clock.now:
            wait = min(step << max(self._looks - 1, 0), most)
            drawn = self.world.drawn_ms(2 * wait // 5) if most > step else wait // 5
            self._next_look += max(min(wait - wait // 5 + drawn, most), 1)
            self._looks = min(self._looks + 1, 32)
        return self._next_look - self.clock.now

    def _refresh_metadata(self) -> None:
        """Ask for the topics and look at them."""
        self._note_question()
        self.when_metadata_is_here(self._look_at_metadata)

    def _note_question(self) -> None:
        """A client asks for the topics that it knows to be read, one question at a time."""
        self._asked_for = self.group_subscription.union(self.subscription)
        self._answer_due = self.answer_due()

    def _refresh_old_metadata(self) -> None:
        """They are due; who was frozen then asks before its next fetch goes out."""
        if self._metadata_due() < self.clock.now:
            self.after_round_trip(self._look_at_metadata)
        else:
            self._refresh_metadata()

    def _look_at_metadata(self) -> None:
        """The topics as the cluster has them now; may call for a rebalance."""
        before = self.subscription
        self._fetch_metadata()
        added = not set(self.subscription).issubset(before)
        self._asks_before_join = self.member.pattern is not None and added
        self._check_subscription()

    def _fetch_metadata(self, age: int = 0) -> None:
        """The topics as they are now, or ``age`` ms ago; looked at again when they are due."""
        self.metadata = self.world.cluster.partitions.copy()
        self.subscription = self.world.subscription_of(self.member, self.metadata)
        before = self.metadata_snapshot
        self._take_snapshot()
        self._fetched = self.clock.now - age
        self._note_missing(self.metadata_snapshot != before)
        cancel(self._metadata_age)
        self._metadata_age = self.clock.at(
            self._metadata_due(), self.in_time, self._refresh_old_metadata
        )

    def _metadata_due(self) -> int:
        """When the topics are looked at though nothing calls for it (metadata.max.age.ms)."""
        age = self.config.metadata_max_age_ms
        return self._tick(age) if self.metadata_by_timer else self._fetched + age

    def _note_missing(self, changed: bool = False) -> None:
        """Who names a topic that is not there, or leads somebody who does, asks again and again; with a
        pattern a client asks for all that there are."""
        named = () if self.member.pattern else self.group_subscription.union(self.subscription)
        if self.metadata[list(named)].all() or not self.asks_for_missing:
            self.keeps_asking = False
        elif not self.keeps_asking or changed:
            self.keeps_asking, self._next_look, self._looks = True, self.clock.now, 0

    def _take_snapshot(self) -> None:
        """The partitions of what this client reads and, while it leads, of what its group does."""
        watched = self.group_subscription.union(self.subscription)
        self.metadata_snapshot = {topic: int(self.metadata[topic]) for topic in watched}

    def subscribe(self, topics) -> None:
        """The application subscribes to something else."""
        self.member = replace(self.member, topics=tuple(topics), pattern=None)
        self.instead_of_poll(self._subscribed)

    def _subscribed(self) -> None:
        same = self.subscription == self.world.subscription_of(self.member, self.metadata)
        joins_anyway = self.unsubscribed or self.joins_for_same_topics
        if same and not joins_anyway:
            return  # nothing to ask for
        group = self.group_subscription
        self._look_at_metadata()
        if joins_anyway:
            self.unsubscribed = False
            self.request_rejoin("")
        if self.joining:  # what the group read is forgotten before the metadata is looked at
            self.group_subscription = set()
            self._take_snapshot()
        self._note_question()
        # The heartbeat thread may have asked before it knew of that (both were recorded).
        if not group <= self._asked_for and self.world.tossed():
            self._asked_for |= group

    def _unsubscribe(self) -> None:
        def go() -> None:
            self._send_leave()
            self.unsubscribed, self.joining = True, False
            self.group_subscription = set()
            self._reset("unsubscribed")
            self.tell("unsubscribed")

        cancel(self._metadata_age)
        self._leave_prepare(go)

    def enforce_rebalance(self) -> None:
        """The application asks for a rebalance; it begins with its next poll."""
        self.request_rejoin("rebalance enforced by user")

    def _check_subscription(self) -> None:
        if self.joining or self.phase != JOINED:
            return
        if self.subscription != self.joined_subscription:
            self.request_rejoin("subscription has changed")
        elif self.assignment_snapshot not in (None, self.metadata_snapshot):
            self.request_rejoin("cached metadata has changed")

    # ---- joining -------------------------------------------------------------------------------

    def request_rejoin(self, reason: str) -> None:
        """Join from the next poll on; after the join that this poll is to complete, if any."""
        if self.completing and self.alive:
            self.rejoin_due = reason
        if self.joining or self.unsubscribed or not self.alive:
            return
        self.joining = True
        self._hold_auto_commit()
        if reason:
            self.tell("rejoin", detail=reason)
        self._go_on_joining(self._join_prepare)

    def _go_on_joining(self, call: Callable, *args) -> None:
        """Only the application's poll takes a step of a join."""
        self.at_poll(call, *args)

    def _join_prepare(self) -> None:
        """Ask for the topics of a pattern again, unless it just has, and even then where new ones have
        come; commit, tell the listener, give up what has to be given up; then join."""
        if not self.joining:
            return  # the application has called something else before it polled
        is_old = self.clock.now - self._fetched >= self.config.retry_backoff_ms
        if self.member.pattern is None or not (is_old or self._asks_before_join):
            self._commit_before_join()
        else:
            self.when_metadata_is_here(self.at_poll, self._with_metadata)

    def _with_metadata(self) -> None:
        self._fetch_metadata()
        self._asks_before_join = False
        if self.joining:
            self._commit_before_join()

    def _commit_before_join(self) -> None:
        if self.config.commit != "auto" or self.phase != JOINED or not self.own.partition.size:
            self._committed_before_join(None)
        elif self._commits_in_vain():
            self._retry_commit()
        else:
            self.commit_in_poll(self._committed_before_join)

    def _commits_in_vain(self) -> bool:
        """Whether the coordinator does not know a topic any more that this member reads: it commits
        again and again then (KAFKA-20959)."""
        return self.commits_again and self._reads_gone_topic()

    def _reads_gone_topic(self) -> bool:
        gone = self.world.cluster.partitions[self.world.cluster.topic[self.own.partition]] == 0
        return bool(gone.any())

    def _retry_commit(self) -> None:
        """Commit until the time for it is over (here the rebalance timeout), or the client is no member any
        more; what it reads of other topics is kept the first time. Its application polls on, and an eager
        one gets nothing."""
        self.commit(lambda error: None)
        lasts_ms = self.commits_in_vain_ms
        if not self.cooperative:
            self._block()
            self.loop.last_poll = self.clock.now + lasts_ms
        self._retries = self.clock.after(lasts_ms, self.in_time, self._stop_retries)

    def _stop_retries(self) -> None:
        self._retries = None
        self.at_poll(self._committed_before_join, None)
        if not self.cooperative:
            self._unblock()

    def _committed_before_join(self, error: str | None) -> None:
        if not self.joining:
            return
        if error is not None:
            self._reset_on(error)
        self._hold_auto_commit()
        self._revoke_before_join()

    def _revoke_before_join(self, prepared: bool = False) -> None:
        """``prepared``: a join that is asked for again; its listener has heard of it (needsJoinPrepare)."""
        if self.generation == NO_GENERATION or self.member_id == "":
            if self.held.size:
                self._lose(self.loss)
            self.claim = None
            prepared = True
        if prepared:
            self._send_join()
            return
        if not self.cooperative and not self.held.size:
            self.tell("revoked")  # its listener is called all the same
        self._revoke(self._unread() if self.cooperative else self.held, self._send_join)

    def _unread(self) -> np.ndarray:
        """What it holds of topics that it does not read any more."""
        return self.held[~self.world.cluster.of_topics(self.held, self.subscription)]

    def _lose(self, told: str) -> None:
        """Everything is somebody else's; ``told``: what the listener hears."""
        self.tell(told, self.held, self.lost_reason)
        self.give_up(self.held, f"lost: {self.lost_reason}" if self.lost_reason else "lost")

    def _revoke(self, partitions: np.ndarray, then: Callable) -> None:
        """onPartitionsRevoked, with the listener's commit, then let the partitions go."""
        if partitions.size == 0:
            then()
            return

        def finish(error: str | None) -> None:
            self.tell("revoked", partitions, error or "")
            self.give_up(partitions, self.revoked_how(error))
            if self.claim is not None:
                self.claim = self.claim.without(self.world.cluster.codes(partitions))
            then()

        if self.config.commit_on_revoke:
            self.commit_in_poll(finish)
        else:
            finish(None)

    def _send_join(self) -> None:
        if not self.alive or self.unsubscribed:
            return
        self.advance()
        self.phase = JOINING
        self.set_verdict()
        if self._asked:  # initiateJoinGroup: the one that waits has to be answered first
            self._in_vain = True
            return
        self._asked = True
        self._sent_generation = self.generation
        self.joined_subscription = self.subscription
        self.leads, self.group_subscription = False, set()
        self._note_missing()
        request = JoinRequest(
            self.member_id, tuple(s.kind for s in self.strategies), self.subscription,
            tuple(self._claim_for(strategy) for strategy in self.strategies),
            self.generation if self.sends_generation else NO_GENERATION, self.held, self.tells_owned,
            self.cuts_short,
        )  # fmt: skip
        self.clock.after(self.config.latency_ms, self.coordinator.join_group, self, request)

    def _claim_for(self, strategy) -> Claim | None:
        """What a strategy is told that this member owns.

        Cooperative strategies read what is still assigned, and an eager member has given everything
        up, also if it lists a cooperative one; sticky remembers what it last assigned here.
        """
        if strategy.protocol != "cooperative":
            return self.remembered.get(strategy.kind)
        if self.cooperative or self.generation == NO_GENERATION:
            return self.claim
        return Claim(EMPTY, self.generation)

    def sends_user_data(self, members, protocol: str) -> bool:
        """Whether the leader's assignment has user data."""
        return False

    def joined(self, error, *answer) -> None:
        """The answer to JoinGroup, which waits for the application: the heartbeat thread rests. commitSync
        reads it, a producer's transaction and an application that waits to try again do not."""
        self.advance()
        self._asked = False
        if self._in_vain:  # it has left since, and comes anew
            self._in_vain = False
            self._unjoined()
            return
        if (self.mode, self.loop.phase) in (
            (Mode.AFTER, Phase.COMMIT_AFTER),
            (Mode.BEFORE, Phase.COMMIT_BEFORE),
        ):
            self._read_join(error, *answer)
        else:
            self._go_on_joining(self._read_join, error, *answer)

    def _read_join(
        self, error, member_id="", generation=NO_GENERATION, protocol=None, members=None,
        skip_assignment=False,
    ) -> None:  # fmt: skip
        if self.phase != JOINING:
            return
        if error == MEMBER_ID_REQUIRED:
            self.member_id = member_id
            self._send_join()
        elif error in UNREACHED:
            self._find_and_rejoin(error)
        elif error in (FENCED_INSTANCE_ID, INCONSISTENT_GROUP_PROTOCOL):
            self._die(error)
        elif error == REBALANCE_IN_PROGRESS:
            self._rejoin_again()
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
            self._polled_while_joining()
            if members is None:
                self._send_sync({})
            else:
                self._lead(members, skip_assignment)

    def _polled_while_joining(self) -> None:
        """The polls that waited for this join count as polls, and each asked for the topics of a pattern."""
        self.loop.last_poll = self.clock.now
        polled = self.clock.now - self.waited_in_poll()
        due = polled - self._fetched >= self.config.retry_backoff_ms
        if self.member.pattern is not None and due and not self._waits_for_topics():
            self._fetch_metadata(self.clock.now - polled)

    def _waits_for_topics(self) -> bool:
        """Whether the poll at hand waits for the topics of a pattern, behind the fetch that is out: one
        that has them from just before does not ask."""
        config, waits = self.config, self.answer_due() > self.clock.now
        sent = self.loop.fetched_at - config.fetch_max_wait_ms - 2 * config.latency_ms
        asks = max(sent, self._fetched) + config.retry_backoff_ms
        has_pattern = self.member.pattern is not None
        return self.asks_in_poll and has_pattern and waits and asks <= self.clock.now

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """Watch the topics of the whole group, and ask for them first if some are not its own, or are
        not there: for those a client asks all the time."""
        self.group_subscription = {t for m in members for t in m.request.subscription}
        known = self.member.pattern is not None or self.group_subscription <= self._asked_for
        of_group = self.generation, members, skip_assignment
        if self.clock.now < self._answer_due and not known and not skip_assignment:
            self.clock.at(self._answer_due, self.in_time, self._assign_what_it_asked_for, *of_group)
        elif (
            self.clock.now < self._answer_due
            or self.clock.now - self._fetched >= self.config.metadata_max_age_ms
            or self._waits_for_topics()
        ):  # It has asked for the topics anew, and waits for the answer (ensureFreshMetadata).
            self.when_metadata_is_here(self._fetch_and_assign, *of_group)
        elif not self.keeps_asking and self.group_subscription.issubset(self.subscription):
            self._perform_assignment(members, skip_assignment)
        else:
            wait = self._next_look_ms() if self.keeps_asking else 2 * self.config.latency_ms
            self.clock.after(
                wait, self.in_time, self.when_metadata_is_here, self._fetch_and_assign, *of_group
            )

    def _assign_what_it_asked_for(self, generation: int, *of_group) -> None:
        """The answer to what it asked before it led the group does for the assignment: the others' topics are
        not there for it until it has asked for them, too (ensureFreshMetadata)."""
        if self.phase == SYNCING and self.generation == generation:
            self._fetch_metadata()
            others = self.group_subscription.difference(self._asked_for)
            self.metadata[list(others)] = 0
            self._take_snapshot()
            self._perform_assignment(*of_group)
            self.clock.after(self.config.retry_backoff_ms, self.in_time, self._refresh_metadata)

    def _fetch_and_assign(self, generation: int, *of_group) -> None:
        if self.phase == SYNCING and self.generation == generation:
            self._fetch_metadata()
            self._perform_assignment(*of_group)

    def _perform_assignment(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """Assign for everybody, with the topics as this client knows them.

        What it knows may still name a topic that only another member read that has left: then the
        next metadata is other than this, and the group rebalances though nothing happened.
        """
        self.leads, self.assignment_snapshot = True, self.metadata_snapshot
        if not self.takes_short and any(m.request.cut_short for m in members):
            self._die_in_poll("SchemaException")
            return
        if skip_assignment:
            # A static leader that is back in time: everybody keeps what was assigned.
            self._send_sync({})
            return
        strategy = next(s for s in self.strategies if s.kind == self.protocol)
        try:
            assignment = self.world.groups.assign(strategy, members, self.metadata, self.generation)
        except OriginalError as error:
            self.tell("error", detail=str(error))
            if error.original == "NeverEnds":
                # In poll, under the lock that the heartbeat thread waits for.
                self.freeze(FOR_EVER)
            else:
                self._die_in_poll(error.original)
            return
        self.clock.after(self.config.assignment_ms, self.in_time, self._send_sync, assignment)

    def _send_sync(self, assignment) -> None:
        if self.phase != SYNCING:
            return
        self.clock.after(
            self.config.latency_ms, self.coordinator.sync_group, self, self.member_id,
            self.generation, assignment,
        )  # fmt: skip

    def synced(self, error, partitions=EMPTY, claim=None) -> None:
        """The answer to SyncGroup."""
        if self.phase != SYNCING:
            return
        if error == FENCED_INSTANCE_ID:
            self._die(error)
        elif error in UNREACHED:
            self._find_and_rejoin(error)
        elif error is not None:
            if error != REBALANCE_IN_PROGRESS:
                self._error(error)
                self._reset(error)
            self._rejoin_again()
        else:
            self.advance()
            self.phase = JOINED
            if self.coordinator.counts_on(self):  # not if it was expelled while the answer waited
                self.belongs_again()
            self.set_verdict()
            self.completing, self.rejoin_due = True, ""
            answer = self.generation, partitions, claim
            if self._waits_for_topics():
                self.when_metadata_is_here(self._fetch_metadata)
                self.when_metadata_is_here(self.at_poll, self._join_complete, *answer)
            else:
                self.at_poll(self._join_complete, *answer)

    def _find_and_rejoin(self, error: str) -> None:
        """Another broker coordinates the group, or is about to."""
        self._error(error)
        wait = self.looks_for_coordinator_ms
        self.clock.after(wait, self.in_time, self.find_coordinator, self._rejoin_again)

    def _unjoined(self) -> None:
        """The poll at hand does not join again (UnjoinedGroupException), the next one does; a dynamic
        member's is over when the answer to its LeaveGroup comes, behind this one."""
        rest = self.config.poll_timeout_ms - self.waited_in_poll() if self.instance else 0
        self.clock.after(rest, self.in_time, self._rejoin_again)

    def _rejoin_again(self) -> None:
        """Once more, from the same poll."""
        if not self.unsubscribed:
            if self.phase != UNJOINED:
                self.advance()
                self.phase = UNJOINED if self.generation == NO_GENERATION else JOINED
                self.set_verdict()
            self.joining = True
            self._go_on_joining(self._revoke_before_join, True)

    def _join_complete(self, generation: int, partitions: np.ndarray, claim: Claim | None) -> None:
        """The assignment is here: give up the difference, take what is new; a partition that is listed
        twice is one."""
        partitions = np.array([*dict.fromkeys(partitions.tolist())], dtype=np.int64)
        self.completing = False
        if not self.leads:
            self._follow()
        if self.generation != generation or self.phase != JOINED:
            self._reset("generation changed")
            self.joining = False
            self.request_rejoin("")
            return
        self.joining = False
        if self.mode == Mode.TRANSACTION:
            self.advance()
            self.group_metadata = self.member_id, generation
            self.set_verdict()
        if self.config.commit == "auto":
            self.loop.next_commit = self._auto_commit_due()
        if not self.world.cluster.of_topics(partitions, self._accepted()).all():
            self.request_rejoin("received assignment does not match the current subscription")
            return
        given = set(self.world.cluster.topic[partitions].tolist())
        if unasked := given.difference(self.joined_subscription):
            self._read_unasked(tuple(sorted(unasked)))
        self.remembered[self.protocol] = claim
        if self.cooperative:
            self.claim = claim
        revoked = self.held[~self.log.among(self.held, partitions)]
        added = partitions[~self.log.among(partitions, self.held)]
        if revoked.size:
            self._revoke(revoked, lambda: self._take_and_rejoin(added))
        else:
            self.take(added)
            self._check_subscription()
            if self.rejoin_due:  # the same poll goes on to the next join (joinGroupIfNeeded)
                self.request_rejoin(self.rejoin_due)

    def _read_unasked(self, topics: tuple[int, ...]) -> None:
        """Of a pattern, other members knew more: the next metadata tell whether these topics are there
        (maybeUpdateJoinedSubscription)."""
        self.joined_subscription += topics
        self._refresh_metadata()

    def _accepted(self) -> tuple[int, ...]:
        """The topics that an assignment may have: of a pattern all that it fits, whether they are there
        or not (checkAssignmentMatchedSubscription)."""
        if self.member.pattern is None:
            return self.subscription
        return self.world.topics_matching(self.member.pattern, np.ones_like(self.metadata))

    def _follow(self) -> None:
        """Another member leads now. Who led before compares its last assignment with its metadata until
        here; if they differ (it no longer watches what only others read), it joins once more."""
        if self.assignment_snapshot not in (None, self.metadata_snapshot):
            self.rejoin_due = "cached metadata has changed"
        self.assignment_snapshot = None

    def _take_and_rejoin(self, added: np.ndarray) -> None:
        self.take(added)
        self.request_rejoin("gave partitions up")

    def offsets_are_here(self, partitions: np.ndarray, taken: int) -> None:
        """Whether what is committed is still there, or where a log begins or ends, says the broker that is
        read from (OffsetsForLeaderEpoch, ListOffsets): when the fetch is back that was out already. Of a
        topic that is gone it says so, and this client looks at its topics."""
        gone = self.world.cluster.partitions[self.world.cluster.topic[partitions]] == 0
        if gone.any():
            self._ask_for_topics()
        self.when_metadata_is_here(super().offsets_are_here, partitions[~gone], taken)

    # ---- heartbeats ----------------------------------------------------------------------------

    def _start_heartbeats(self) -> None:
        """Heartbeats count from the answer to JoinGroup, so a rebalance's members beat as one."""
        cancel(self._beat)
        self._beat = self.clock.after(self.beats_every_ms + self.config.latency_ms, self._heartbeat)

    def _heartbeat(self) -> None:
        """A heartbeat arrives at the coordinator; the next one follows."""
        if not (self.alive or self._deserted) or self.phase in (UNJOINED, JOINING):
            return
        if self.clock.now - self.config.latency_ms < self.frozen_until:
            unheard = self.frozen_until - self.clock.now + self.config.heartbeat_interval_ms
            if unheard < self.config.session_timeout_ms or not self.notices_long_freeze:
                ends = self.frozen_until + self.config.latency_ms
                self._beat = self.clock.at(ends, self._heartbeat)
            else:
                self._beat = self.clock.at(self.frozen_until, self._session_expired)
            return
        self.last_beat = self.clock.now
        error = self.coordinator.heartbeat(self, self.member_id, self.generation)
        if error is not None:
            self.coordinator.answer(self, self.heartbeat_failed, error, self.generation)
        self._beat = self.clock.after(self._next_beat_ms(), self._heartbeat)

    def _next_beat_ms(self) -> int:
        """From a heartbeat to the next one."""
        return self.beats_every_ms + self.world.heartbeat_delay()

    def _session_expired(self) -> None:
        """Frozen for longer than its session, it looks for the coordinator before it sends one.
        The next fetch goes out before that or after it, as drawn: both were recorded."""
        if self.alive and self.world.tossed():
            self.when_metadata_is_here(self._find_and_beat)
        elif self.alive:
            self._find_and_beat()

    def heartbeat_failed(self, error: str, generation: int) -> None:
        if error == NOT_COORDINATOR:
            self._find_and_beat()
            return
        if generation != self.generation:
            return
        if error == REBALANCE_IN_PROGRESS:
            if self.phase == JOINED:
                self.request_rejoin("group is rebalancing")
        elif error == FENCED_INSTANCE_ID:
            cancel(self._beat)
            self._fenced(error)
        else:
            self._error(error)
            self._reset_and_rejoin(error)

    def _fenced(self, error: str) -> None:
        """Another process has its instance id: heartbeats end with it, and the next poll throws it."""
        self._error(error)
        self.at_poll(self._die, error)

    def _find_and_beat(self) -> None:
        """Another broker coordinates the group;
        the next heartbeat is due after a backoff (failHeartbeat)."""
        self.find_coordinator()
        cancel(self._beat)
        delay = self.config.retry_backoff_ms + self.world.heartbeat_delay()
        self._beat = self.clock.after(delay + self.config.latency_ms, self._heartbeat)

    # ---- leaving, losing, failing --------------------------------------------------------------

    def poll_interval_exceeded(self) -> None:
        """The heartbeat thread leaves the group; the application notices at its next poll."""
        if not self.polls_in_time or self.phase in (UNJOINED, JOINING):
            return  # nobody looks, or there is no heartbeat thread that would notice
        self.tell("poll interval exceeded", self.held)
        if self.instance is None:
            self._send_leave()
        self._reset_and_rejoin("max.poll.interval.ms exceeded")

    def _close(self) -> None:
        self._commit_and_leave()

    def _commit_and_leave(self) -> None:
        if self.config.commit != "auto" or self.phase != JOINED or not self.own.partition.size:
            self._leave()
        elif self._commits_in_vain():
            self.commit(lambda error: None)
            self._block()
            self.clock.after(CLOSE_TIMEOUT_MS, self.in_time, self._leave)
        else:
            self.commit_in_poll(lambda error: self._leave())

    def _leave(self) -> None:
        def go() -> None:
            self._send_leave()
            self.tell("closed")
            self.end("closed")

        cancel(self._beat)
        self._leave_prepare(go)

    def _leave_prepare(self, then) -> None:
        """Who leaves in a rebalance, or is out already, has lost what it holds."""
        if self.held.size and self.phase != JOINED:
            self._lose("lost")
        self._revoke(self.held, then)

    def _send_leave(self) -> None:
        if not self.stays and self.phase != UNJOINED and self.member_id:
            self.clock.after(
                self.config.latency_ms, self.coordinator.leave_group, self, self.member_id
            )

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
        if self._retries is not None:
            cancel(self._retries)
            self._retries = self.clock.after(0, self.in_time, self._stop_retries)
        self.phase = UNJOINED
        cancel(self._beat)
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
        if self.mode == Mode.TRANSACTION:
            return
        self._reset_on(error)
        if error == REBALANCE_IN_PROGRESS or self.phase == UNJOINED:
            self.request_rejoin(error)

    def _die(self, error: str) -> None:
        """A fatal error: the application gets an exception and gives up."""
        self.tell("fatal", self.held, error)
        self.end(f"fatal: {error}")

    def _die_in_poll(self, error: str) -> None:
        """Nobody closes the consumer, and its heartbeat thread goes on until nobody has polled for too long
        (HeartbeatThread)."""
        until = self.loop.last_poll + self.config.max_poll_interval_ms
        self._die(error)
        self._deserted = True
        self.clock.at(until, self._end_heartbeats)

    def _end_heartbeats(self) -> None:
        self._deserted = False
        self._send_leave()

    def _error(self, error: str) -> None:
        self.tell("error", EMPTY, error)

    # ---- commits -------------------------------------------------------------------------------

    def identity(self):
        """What a commit says of its sender: member id, generation, how far it has joined."""
        if self.mode == Mode.TRANSACTION:
            # The producer sends the offsets, with what the consumer's last join gave it: no check
            # on this side, and a rebalance that is being prepared does not matter
            # (groupMetadata()).
            return *self.group_metadata, JOINED
        return self.member_id, self.generation, self.phase

    def why_refused(self, sent=None) -> str | None:
        """Both sides' checks: the client's own first, then the coordinator's."""
        member_id, generation, phase = sent or self.identity()
        if self.config.fencing and self.checks_commits:
            if phase in (JOINING, SYNCING):
                return REBALANCE_IN_PROGRESS
            if phase == UNJOINED:
                return "CommitFailedException"
        return self.coordinator.validate_commit(self, member_id, generation)

    def judge(self) -> int:
        """While the group rebalances, a commit fails whatever it holds."""
        rebalances = self.why_refused() == REBALANCE_IN_PROGRESS
        return Verdict.FAILS if rebalances else super().judge()


class OtherClient(Client):
    """A consumer of another client than Java's: what it does not do, whichever it is.

    (librdkafka's members tell the generation as part of what they own.) ``closes``: whether it closes when
    its join is over.
    """

    reads_new_first = asks_in_poll = sends_generation = closes = False

    def _polled_while_joining(self) -> None:
        """It does not join by polls."""

    def _read_unasked(self, topics: tuple[int, ...]) -> None:
        """It does not look at once whether these topics are there."""

    def _ask_while_joining(self) -> None:
        """It knows its topics before it joins."""

    def _die_in_poll(self, error: str) -> None:
        """Its heartbeats end with it (kafka-python's, recorded)."""
        self._die(error)

    def _unjoined(self) -> None:
        """It joins again at once."""
        self._rejoin_again()

    def _follow(self) -> None:
        """What it knew as a leader does not matter any more."""
        self.assignment_snapshot = None


class TaskClient(OtherClient):
    """A client whose own tasks join, send heartbeats and call the listener, and wait for no poll."""

    notices_long_freeze = checks_commits = False

    def at_poll(self, call: Callable, *args) -> None:
        """No step waits for the application."""
        self.in_time(call, *args)

    def _note_question(self) -> None:
        """It asks for its own topics and, from when it led first, for those that the group had then."""

    def _join_complete(self, *answer) -> None:
        """Heartbeats begin when its listener has heard."""
        super()._join_complete(*answer)
        if self.closes:
            self._commit_and_leave()
        self._start_heartbeats()

    def _close(self) -> None:
        """A join that is under way comes to its end before."""
        self.closes = self.joining
        if not self.joining:
            self._commit_and_leave()

    def _take_batch_for_done(self) -> None:
        """The application goes on with what it was given, whoever has it then."""
        self.advance()
        if self.loop.phase == Phase.PROCESS:
            self.loop.frozen = self.loop.batch_size
        elif self.loop.phase == Phase.COMMIT_BEFORE:
            self.own.batch[:] = self.own.position

    def give_up(self, partitions: np.ndarray, why: str) -> None:
        """The application stays at work."""
        self.advance()
        at_work, until = self.loop.phase == Phase.PROCESS, self.loop.next
        super().give_up(partitions, why)
        if at_work and self.loop.phase == Phase.HALTED:
            self.loop.phase, self.loop.next, self.loop.batch_size = Phase.PROCESS, until, 0

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It asks for the topics of others first, once."""
        self.group_subscription = {t for m in members for t in m.request.subscription}
        others = self.group_subscription.difference(self.subscription, self._asked_for)
        if self.member.pattern is None and others:
            self._asked_for = self.group_subscription
            of_group = self.generation, members, skip_assignment
            self.after_round_trip(self.when_metadata_is_here, self._fetch_and_assign, *of_group)
        else:
            self._take_snapshot()
            self._perform_assignment(members, skip_assignment)


class GoClient(TaskClient):
    """A client whose fetches have connections of their own, and whose heartbeats alone tell it errors."""

    commits_again = polls_in_time = False
    takes_short = True

    def answer_due(self) -> int:
        """No question waits behind a fetch."""
        return self.clock.now

    def commit_failed(self, error: str) -> None:
        """Heartbeats tell."""

    def _reset_on(self, error: str) -> None:
        """Likewise."""
