"""aiokafka's client, where it does otherwise than Java's.

A member's life is that of :mod:`~assignlab.timeline.protocols.classic_client`. Here stand the steps that
differ, after aiokafka 0.14.0 (``consumer/group_coordinator.py``): tasks of its event loop join, send
heartbeats and call the listener, and wait for no poll.
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.engine.poll_loop import NEVER, Mode, Phase
from assignlab.timeline.engine.requests import Claim
from assignlab.timeline.protocols import classic_client
from assignlab.timeline.protocols.classic_client import JOINED, JOINING, NO_GENERATION, SYNCING
from assignlab.timeline.protocols.errors import MEMBER_ID_REQUIRED


class Client(classic_client.TaskClient):
    """A consumer of aiokafka. ``proposed``: its strategies, of which its JoinGroup lists ``strategies``. A
    timer commits what has been handed out, unless a join is under way."""

    lacks = frozenset({"cooperative", "server"})
    joins_for_same_topics = commits_by_timer = takes_short = True
    leads_when_back = asks_for_missing = tells_owned = False

    def __init__(self, *of_member):
        super().__init__(*of_member)
        self.rebalance_timeout_ms = self.config.session_timeout_ms
        self.told_instance = None
        self.proposed = self.strategies
        if self.mode == Mode.AUTO:
            self.loop.next_commit = self._auto_commit_due()

    def _join_prepare(self) -> None:
        """It asks for a pattern's topics every time. Its application goes on with what it was given."""
        self._take_batch_for_done()
        if self.member.pattern is None:
            self._commit_before_join()
        else:
            self.when_metadata_is_here(self._with_metadata)

    def _retry_commit(self) -> None:
        """It commits until it is no member any more, and gets nothing meanwhile."""
        self._block()
        self._retries = self.clock.at(NEVER, self._stop_retries)

    def _revoke_before_join(self, prepared: bool = False) -> None:
        """Its listener hears that everything is revoked, though it be lost."""
        self.strategies = self.proposed[:1]
        if not prepared and self.generation != NO_GENERATION and self.held.size:
            self._revoke(self.held, self._send_join)
            return
        if not prepared:
            self.tell("revoked", self.held, self.lost_reason)
            self.give_up(self.held, f"lost: {self.lost_reason}")
        self._send_join()

    def revoked_how(self, error: str | None = None) -> str:
        at_work = self.loop.phase == Phase.PROCESS and self.mode in (Mode.AFTER, Mode.TRANSACTION)
        return "revoked without a commit" if at_work else super().revoked_how(error)

    def _send_join(self) -> None:
        """Whoever is late for a poll waits for it."""
        if self.closes:
            self._commit_and_leave()
        elif self.is_poll_interval_over():
            self.in_poll(self._send_join)
        else:
            super()._send_join()

    def _claim_for(self, strategy) -> Claim | None:
        """Without a generation, whoever leads."""
        claim = super()._claim_for(strategy)
        return claim and Claim(claim.codes, NO_GENERATION)

    def _read_join(self, error, *answer) -> None:
        """Strategies of a list are added one JoinGroup at a time, whatever the answer to the one before.
        An answer to what it does not subscribe to any more does not count."""
        listed, is_last = len(self.strategies), error != MEMBER_ID_REQUIRED
        if self.phase == JOINING and is_last and listed < len(self.proposed):
            self.strategies = self.proposed[: listed + 1]
            self._send_join()
        elif self.phase == JOINING and is_last and self.subscription != self.joined_subscription:
            super()._rejoin_again()
        else:
            super()._read_join(error, *answer)

    def synced(self, *answer) -> None:
        if self.phase == SYNCING and self.subscription != self.joined_subscription:
            super()._rejoin_again()
        else:
            super().synced(*answer)

    def _rejoin_again(self) -> None:
        self.clock.after(self.config.retry_backoff_ms, self.in_time, super()._rejoin_again)

    def _join_complete(self, generation: int, partitions: np.ndarray, *claim) -> None:
        """A topic that it does not read ends it."""
        if not self.world.cluster.of_topics(partitions, self.subscription).all():
            self._die("AssertionError")
            return
        super()._join_complete(generation, partitions, *claim)

    def _heartbeat(self) -> None:
        super()._heartbeat()
        if self.is_poll_interval_over():
            self.poll_interval_exceeded()

    def poll_interval_exceeded(self) -> None:
        """Who looks is the task that sends heartbeats; a rebalance has none."""
        if self.phase == JOINED and not self.joining:
            super().poll_interval_exceeded()

    def _leave_prepare(self, then: Callable) -> None:
        """Its listener hears nothing."""
        self.give_up(self.held, self.revoked_how())
        then()

    def _reset(self, reason: str) -> None:
        """Whatever the error, it has no id any more."""
        super()._reset(reason)
        self.member_id = ""
