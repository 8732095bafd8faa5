"""kafka-go's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after kafka-go 0.4.51 (``consumergroup.go``, ``reader.go``): a ``Reader`` in a group is one member,
every generation is a life of its own, which any error ends, and the next one begins when the fetches are
back that were out: each partition has its own.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.poll_loop import Mode, Phase
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINED, JOINING, SYNCING
from assignlab.timeline.protocols.classic_coordinator import GroupMember
from assignlab.timeline.protocols.errors import MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS

JOINS_AGAIN_MS = 5_000
"""``JoinGroupBackoff``."""
TIMEOUT_MS = 5_000
"""``Timeout``: so much longer than a session it waits for the answer to SyncGroup."""
EARLIER_MS = 1_000
"""So much earlier than ``MaxWait`` is over a fetch is to be back (``adjustDeadlineForRTT``); a quarter of it,
where it is shorter than that."""
COMMIT_TRIES_MS = 500
"""From the first to the last of three tries of a commit (``commitOffsetsWithRetry``), all of them at the
broker with which the generation began."""
LATE_MS = 4
"""So much later, to thrice that, a fetch that finds no records is back, as measured; so those of a group's
members, which begin together, drift apart."""

TICKS_MS = 4
"""So much later than due a heartbeat is sent, at most."""


class Client(classic_client.GoClient):
    """A reader of kafka-go's. ``reads_since``: when it began to fetch in this generation; ``fetch_ms``: how
    long each of its fetches lasts then. Its ``PartitionWatchInterval`` is ``metadata_max_age_ms``."""

    lacks = frozenset({"subscribe", "unsubscribe", "enforce_rebalance", "cooperative", "server"})
    unplayed = frozenset({"pattern", "instance"})
    tells_owned = False
    commits_by_timer = cuts_short = True
    asks_again: tuple[str, ...] = ()

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.settings.max_records = 1  # it hands out one record after the other
        wait = self.config.fetch_max_wait_ms
        self.settings.max_wait = wait - (EARLIER_MS if wait >= EARLIER_MS else wait // 4)
        self.reads_since = self.ticks_from = self.clock.now
        self.fetch_ms = 1

    # ---- metadata ------------------------------------------------------------------------------

    def _check_subscription(self) -> None:
        """Nothing follows from metadata but what a leader sees, and who watches."""

    def _watch_partitions(self, generation: int, before: list[int]) -> None:
        """Every member compares its topics with those that its generation began with (partitionWatcher)."""
        if self.generation != generation or self.phase != JOINED or self.joining:
            return
        if before != self._counts():
            self.request_rejoin("partition changes found")
        else:
            every = self.config.metadata_max_age_ms
            self.clock.after(every, self.in_time, self._watch_partitions, generation, before)

    def _counts(self) -> list[int]:
        return self.world.cluster.partitions[list(self.subscription)].tolist()

    # ---- heartbeats ----------------------------------------------------------------------------

    def _start_heartbeats(self) -> None:
        super()._start_heartbeats()
        self.ticks_from = self.clock.now + self.config.latency_ms

    def _next_beat_ms(self) -> int:
        """A ticker's (heartbeatLoop): one that is late makes no other late. Those of a group's members tick
        together, so that it is chance who beats before another one's session is over and who after it."""
        since = self.clock.now - self.ticks_from
        due = self.beats_every_ms - (since % self.beats_every_ms)
        return due + self.world.drawn_ms(TICKS_MS) + self.world.heartbeat_delay()

    # ---- the end of a generation ---------------------------------------------------------------

    def _fetches_back(self) -> int:
        """When the last of its fetches is back, one of each partition: with the next record, or when it has
        waited long enough since the last."""
        now, own = self.clock.now, self.own.partition
        if own.size == 0:
            return now
        rates, first = self.log.rate[own], self.log.created[own] + self._behind
        there = np.floor((now - first) * rates)
        last = first + np.divide(there, rates, out=np.zeros(own.size), where=rates > 0)
        comes = first + np.divide(there + 1, rates, out=np.full(own.size, np.inf), where=rates > 0)
        begun = np.maximum(last, self.reads_since)
        waited = now + self.fetch_ms - (now - begun) % self.fetch_ms
        return int(np.ceil(np.minimum(waited, comes).max()))

    @property
    def _behind(self) -> int:
        """So much later than it is written a record is here."""
        return self.config.replication_ms + self.config.latency_ms

    def _join_prepare(self) -> None:
        """Heartbeats end with a generation, until the next one."""
        cancel(self._beat)
        if self.joining:
            self._commit_before_join()

    def _sync_commit_failed(self, error: str) -> None:
        """CommitMessages returns with the last try."""
        self.clock.after(COMMIT_TRIES_MS, self.in_time, super()._sync_commit_failed, error)

    def to_commit(self) -> np.ndarray:
        """What was handed out (ReadMessage)."""
        return self.own.position.copy()

    def _auto_commit_due(self) -> int:
        """Its ticker begins with the generation (commitLoopInterval)."""
        return self.clock.now + self.config.auto_commit_interval_ms

    def _revoke(self, partitions: np.ndarray, then: Callable) -> None:
        """Its application hears nothing and reads on until the fetches are back; a record whose commit has to
        wait for the next generation stops it (CommitMessages)."""
        if partitions.size == 0:
            then()
            return
        self.tell("revoked", partitions)
        stops = self.closing or self.mode in (Mode.AFTER, Mode.BEFORE)
        if stops:
            self._block()
        self.clock.at(
            self._fetches_back(), self.in_time, self._end_reading, partitions, stops, then
        )

    def _end_reading(self, partitions: np.ndarray, stopped: bool, then: Callable) -> None:
        self._take_batch_for_done()
        if stopped and not self.closing and self.loop.phase == Phase.POLL:
            self._hand_out_one_more()
        self.give_up(partitions, self.revoked_how())
        if stopped:
            self._unblock()
        then()

    def _hand_out_one_more(self) -> None:
        """What a fetch brings then is handed out or dropped, as Go's select draws (sendMessage)."""
        ends = self.log.ends(self.own.partition, self.clock.now - self._behind)
        for chosen in np.flatnonzero(ends > self.own.position).tolist():
            if self.world.tossed():
                self.own.position[chosen] += 1
                return

    def heartbeat_failed(self, error: str, generation: int) -> None:
        """Whatever it is."""
        if generation == self.generation and self.phase == JOINED:
            self.request_rejoin(error)

    # ---- joining -------------------------------------------------------------------------------

    def _send_join(self) -> None:
        """It asks for the coordinator every time."""
        self.find_coordinator(super()._send_join)

    def _read_join(self, error, *answer) -> None:
        """An error costs its id, and it does not say that it leaves."""
        if error in (None, MEMBER_ID_REQUIRED):
            super()._read_join(error, *answer)
        elif self.phase == JOINING:
            self._fail(error)

    def _send_sync(self, assignment) -> None:
        super()._send_sync(assignment)
        waits = self.config.session_timeout_ms + TIMEOUT_MS
        self.clock.after(waits, self.in_time, self._sync_takes_too_long, self.generation)

    def _sync_takes_too_long(self, generation: int) -> None:
        if self.phase == SYNCING and self.generation == generation:
            self._fail_and_leave("i/o timeout")

    def synced(self, error, *answer) -> None:
        if error is None:
            super().synced(error, *answer)
        elif error == REBALANCE_IN_PROGRESS and self.phase == SYNCING:
            self._error(error)
            self._rejoin_again()
        elif self.phase == SYNCING:
            self._fail_and_leave(error)

    def _fail_and_leave(self, error: str) -> None:
        self._send_leave()
        self._fail(error)

    def _fail(self, error: str) -> None:
        """It comes back as a new member after a while, unless it closes meanwhile."""
        self._error(error)
        self._reset(error)
        self.member_id, self.joining = "", False
        if self.closes:
            self._leave()
            return
        self.clock.after(JOINS_AGAIN_MS, self.in_time, self.request_rejoin, "")

    def _lead(self, members: list[GroupMember], skip_assignment: bool) -> None:
        """It asks for the topics of all members every time. Where one of them is not there it knows of none,
        and nobody gets anything (readTopicMetadatav6). It leaves where it cannot read a subscription, since
        that goes on behind the user data (makeMemberProtocolMetadata)."""
        if any(member.request.tells_owned for member in members):
            self._fail_and_leave("unable to read metadata for member")
            return
        self.group_subscription = {t for m in members for t in m.request.subscription}
        self._fetch_metadata()
        if not self.metadata[list(self.group_subscription)].all():
            self.metadata = np.zeros_like(self.metadata)
        self._perform_assignment(members, skip_assignment)

    def _join_complete(self, generation: int, *answer) -> None:
        """Who closes meanwhile begins no generation."""
        if self.closes:
            self.joining = False
            self._leave()
            return
        self.reads_since = self.clock.now + 2 * self.config.latency_ms
        self.fetch_ms = self.settings.max_wait + LATE_MS + self.world.drawn_ms(2 * LATE_MS)
        super()._join_complete(generation, *answer)
        every = self.config.metadata_max_age_ms
        self.clock.after(every, self.in_time, self._watch_partitions, generation, self._counts())
