"""One consumer process: its poll loop, the partitions it holds, its commits and its listener.

What is the same for every protocol. A protocol's client says when to join, what to give up, and
whether a commit counts (:meth:`Consumer.judge`).
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.config import COMMITS
from assignlab.timeline.engine import poll_loop
from assignlab.timeline.engine.log import EMPTY, Delivery
from assignlab.timeline.engine.poll_loop import (
    ABORTED,
    ACCEPTED,
    ASKED,
    BATCH_AT,
    COMMIT_AFTER,
    COMMIT_ARRIVED,
    FAILED,
    FETCHED_AT,
    FIRST,
    FLIGHT_AT,
    FROZEN,
    HALTED,
    LAST_POLL,
    LONG_BATCH,
    NEVER,
    NEXT,
    NEXT_COMMIT,
    PHASE,
    POLL,
    PROCESS,
    TRANSACTION,
    TURN,
    WAIT_UNTIL,
)  # fmt: skip
from assignlab.timeline.engine.world import World
from assignlab.timeline.scenario import Member


class Consumer:
    """A running consumer.

    ``held``: dense numbers of the partitions that are assigned, with the moment (``held_since``)
    and the generation of the assignment; ``own``: those of them that are consumed, the others wait
    for their committed offsets. ``starts``: where this consumer began; ``because``: why the
    delivery before it ended. ``valid``: False once the group went on without this consumer.
    """

    def __init__(self, world: World, member: Member, number: int):
        self.world = world
        self.clock = world.clock
        self.config = world.config
        self.log = world.log
        self.member = member
        self.name = member.name
        self.instance = member.instance
        self.number = number
        self.generation = -1
        self.alive = True
        self.valid = True
        self.frozen_until = 0
        self.state = np.zeros(poll_loop.STATE, dtype=np.int64)
        self.state[[PHASE, NEXT, FLIGHT_AT, WAIT_UNTIL]] = HALTED, NEVER, -1, -1
        config = world.config
        self.settings = np.array(
            [
                COMMITS.index(config.commit), round(member.processing_ms * 1000),
                config.max_poll_records, config.fetch_min_records, config.fetch_max_wait_ms,
                config.auto_commit_interval_ms if config.commit == "auto"
                else config.commit_interval_ms,
                config.latency_ms, config.replication_ms, config.max_poll_interval_ms,
                config.retry_backoff_ms,
            ],
            dtype=np.int64,
        )  # fmt: skip
        self.mode = int(self.settings[poll_loop.MODE])
        longest = config.max_poll_records * member.processing_ms
        self._slow = longest > config.max_poll_interval_ms
        self.verdict = ACCEPTED
        self._blocked = 0
        self._waiting: list[tuple[Callable, tuple]] = []
        self._waker = None
        self._poll_check = None
        self.held = self.held_since = self.held_generation = EMPTY
        self.own = self.position = self.batch = self.flight = self._fresh = EMPTY
        self.starts = self.because = self.since = EMPTY
        self._refusals = 0
        self.deciding = False
        self._awaited: dict[int, int] = {}
        self._takes = 0

    # ---- time ----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Play the poll loop up to now."""
        s, now = self.state, self.clock.now
        if s[NEXT] > now and not 0 <= s[FLIGHT_AT] <= now:
            return
        while True:
            why = poll_loop.advance(
                now, self._blocked > 0 or bool(self._waiting), s, self.own,
                self.position, self.batch, self.flight, self._fresh,
                self.log.rate, self.log.created, self.log.committed, self.verdict, self.settings,
            )  # fmt: skip
            if why == COMMIT_ARRIVED:
                self._commit_arrived()
            elif why == LONG_BATCH:
                self._check_poll_interval()
            else:
                break
        if s[FAILED] > self._refusals:
            self.tell("commit refused", self.own, self.why_refused() or "REBALANCE_IN_PROGRESS")
            self._refusals = int(s[FAILED])

    def set_verdict(self) -> None:
        """What becomes of commits from now on; call :meth:`advance` before anything changes it."""
        self.verdict = self.judge()
        self._watch()

    def _watch(self) -> None:
        """See to it that the loop is played in time where something may have to be decided."""
        if self._waker is not None:
            self._waker.cancel()
            self._waker = None
        if not (self._slow or self.verdict == ASKED) or not self.alive:
            return
        at, flight = int(self.state[NEXT]), int(self.state[FLIGHT_AT])
        if self.state[PHASE] == POLL and (self._blocked or self._waiting):
            at = NEVER
        if flight >= 0:
            at = min(at, flight)
        if at < NEVER:
            self._waker = self.clock.at(at, self._wake)

    def _wake(self) -> None:
        self._waker = None
        if self.alive:
            self.advance()
            self._watch()

    def at_poll(self, call: Callable, *args) -> None:
        """Call when the application is in poll: now, or when the batch at hand is done with."""
        self.advance()  # from here on the loop stops at a poll
        self._waiting.append((call, args))
        if len(self._waiting) == 1:
            self._try_poll()

    def _try_poll(self) -> None:
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self.clock.at(self.frozen_until, self._try_poll)
            return
        self.advance()
        if self.state[PHASE] not in (POLL, HALTED):
            self.clock.at(int(self.state[NEXT]), self._try_poll)
            return
        self.state[LAST_POLL] = self.clock.now
        self._block()
        calls, self._waiting = self._waiting, []
        for call, args in calls:
            call(*args)
        self._unblock()

    def _block(self) -> None:
        """The application does not come back from poll for the time being."""
        self._blocked += 1

    def _unblock(self) -> None:
        self._blocked -= 1
        if self._blocked == 0 and self.alive:
            if self.state[PHASE] == POLL:
                self.state[NEXT] = max(int(self.state[NEXT]), self.clock.now)
            self.advance()
            self._watch()

    def commit_in_poll(self, done: Callable[[str | None], None]) -> None:
        """Commit while the application is in poll; it stays there until ``done(error)`` is over."""

        def answered(error: str | None) -> None:
            done(error)
            self._unblock()

        self._block()
        self.commit(answered)

    def in_time(self, call: Callable, *args) -> None:
        """Call as soon as the process runs: now, unless it is frozen."""
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self.clock.at(self.frozen_until, self.in_time, call, *args)
        else:
            call(*args)

    def stall(self, for_ms: int) -> None:
        """The record at hand takes ``for_ms`` longer."""
        self.advance()
        s = self.state
        if s[NEXT] == NEVER:
            return  # the loop does not run
        if s[PHASE] == POLL:
            # Nothing to process: the application is busy with something else between two polls.
            s[PHASE], s[BATCH_AT], s[poll_loop.BATCH_SIZE] = PROCESS, self.clock.now, 0
            self.batch = self.position.copy()
            s[NEXT] = self.clock.now
        elif s[PHASE] == PROCESS:
            s[FROZEN] = poll_loop.processed_count(self.clock.now, s, self.settings)
            s[BATCH_AT] += for_ms
        s[NEXT] += for_ms
        self._check_poll_interval()
        self._watch()

    def freeze(self, for_ms: int) -> None:
        """The whole process stands still for ``for_ms``."""
        self.stall(for_ms)
        self.frozen_until = self.clock.now + for_ms

    def poll_interval_begins(self) -> None:
        """``max_poll_interval_ms`` are counted from now on."""
        self.state[LAST_POLL] = self.clock.now
        if self.state[PHASE] == PROCESS:
            self._check_poll_interval()

    def _check_poll_interval(self) -> None:
        if self._poll_check is not None:
            self._poll_check.cancel()
        due = int(self.state[LAST_POLL]) + self.config.max_poll_interval_ms
        self._poll_check = self.clock.at(due, self._poll_interval_over)

    def _poll_interval_over(self) -> None:
        self._poll_check = None
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self._poll_check = self.clock.at(self.frozen_until, self._poll_interval_over)
            return
        self.advance()
        if self.state[PHASE] != HALTED and (
            self.clock.now - self.state[LAST_POLL] >= self.config.max_poll_interval_ms
        ):
            self.poll_interval_exceeded()

    # ---- partitions ----------------------------------------------------------------------------

    def take(self, partitions: np.ndarray) -> None:
        """These partitions are assigned in addition; consumed once their offsets are known."""
        if partitions.size == 0:
            return
        now = np.full(partitions.size, self.clock.now)
        self.held = np.concatenate((self.held, partitions))
        self.held_since = np.concatenate((self.held_since, now))
        self.held_generation = np.concatenate(
            (self.held_generation, np.full(partitions.size, self.generation))
        )
        self.tell("assigned", partitions)
        self._takes += 1
        self._awaited |= dict.fromkeys(partitions.tolist(), self._takes)
        self.clock.after(2 * self.config.latency_ms, self.in_time, self.at_poll, self._begin,
                         partitions, self._takes)  # fmt: skip

    def _begin(self, partitions: np.ndarray, taken: int) -> None:
        """In poll, the committed offsets are here: start, with what is still held since then."""
        partitions = partitions[[self._awaited.get(p) == taken for p in partitions.tolist()]]
        for p in partitions.tolist():
            del self._awaited[p]
        if partitions.size == 0:
            return
        self.advance()
        self._send_flight_off()
        if self.config.auto_offset_reset == "latest":
            reset = self.log.ends(partitions, self.clock.now - self.config.replication_ms)
        else:
            reset = np.zeros(partitions.size, dtype=np.int64)
        starts, because = self.log.start_offsets(partitions, reset, self.clock.now)
        self.own = np.concatenate((self.own, partitions))
        self.position = np.concatenate((self.position, starts))
        self.batch = np.concatenate((self.batch, starts))
        self.flight = np.empty(self.own.size, dtype=np.int64)
        self._fresh = np.empty(self.own.size, dtype=np.int64)
        self.starts = np.concatenate((self.starts, starts))
        self.because = np.concatenate((self.because, because))
        self.since = np.concatenate((self.since, np.full(partitions.size, self.clock.now)))
        self._go_on()

    def _go_on(self) -> None:
        """Run the loop where it stood still, or look again at what there is to fetch."""
        s = self.state
        if s[PHASE] == HALTED:
            s[PHASE], s[LAST_POLL] = POLL, self.clock.now
        if s[PHASE] == POLL:
            s[NEXT], s[WAIT_UNTIL], s[FETCHED_AT] = self.clock.now, -1, 0
        self.advance()
        self._watch()

    def give_up(self, partitions: np.ndarray | None, why: str) -> None:
        """Partitions (None: all) are no longer consumed; what was processed is booked."""
        self.advance()
        self._send_flight_off()
        keep = np.zeros(self.own.size, dtype=np.bool_)
        if partitions is not None:
            keep = ~self.log.among(self.own, partitions)
        go = ~keep
        if go.any():
            done = self.processed()
            if self.mode == TRANSACTION:
                self._abort()
            delivery = Delivery(
                self.own[go],
                self.starts[go],
                done[go],
                self.because[go],
                self.number,
                self.since[go],
                self.clock.now,
            )
            self.log.delivered(delivery, why)
            self._keep(keep)
        held = np.zeros(self.held.size, dtype=np.bool_)
        if partitions is not None:
            held = ~self.log.among(self.held, partitions)
        if not held.all():
            for p in self.held[~held].tolist():
                self._awaited.pop(p, None)
            if self.valid:
                self._book_ownership(~held)
            self.held, self.held_since = self.held[held], self.held_since[held]
            self.held_generation = self.held_generation[held]
        if self.own.size == 0:
            self.state[[PHASE, NEXT, WAIT_UNTIL]] = HALTED, NEVER, -1

    def _keep(self, keep: np.ndarray) -> None:
        for name in ("own", "position", "batch", "flight", "_fresh", "starts", "because",
                     "since"):  # fmt: skip
            setattr(self, name, getattr(self, name)[keep])
        self.state[[FIRST, TURN]] = 0

    def processed(self) -> np.ndarray:
        """Up to which offset every partition's records count as delivered now."""
        if self.mode == TRANSACTION and self.state[PHASE] in (PROCESS, COMMIT_AFTER):
            return self.batch.copy()
        return poll_loop.processed(
            self.clock.now, self.state, self.position, self.batch, self.settings
        )

    def _abort(self) -> None:
        """The open transaction is not committed; its outputs were written all the same."""
        if self.mode == TRANSACTION and self.state[PHASE] == PROCESS:
            written = poll_loop.processed(
                self.clock.now, self.state, self.position, self.batch, self.settings
            )
            self.state[ABORTED] += int((written - self.batch).sum())

    def _book_ownership(self, which: np.ndarray) -> None:
        self.world.history.own(
            self.held[which], self.number, self.held_since[which], self.clock.now,
            self.held_generation[which],
        )  # fmt: skip

    def passed_by(self, why: str) -> None:
        """The group goes on without this consumer, which may not know yet."""
        if self.valid:
            self.log.ended[self.own] = self.log.reason(f"passed by: {why}")
            if self.held.size:
                self._book_ownership(np.ones(self.held.size, dtype=np.bool_))
            self.valid = False

    def belongs_again(self) -> None:
        """The group counts on this consumer from now on."""
        if not self.valid:
            self.held_since = np.full(self.held.size, self.clock.now)
            self.valid = True

    def end(self, why: str) -> None:
        """The process is over: nothing of it is left but a commit that is under way."""
        if self.alive:
            self.give_up(None, why)
            self.alive = False
            self.valid = False

    # ---- commits -------------------------------------------------------------------------------

    def judge(self) -> int:
        """What becomes of a commit that arrives: ``poll_loop.ACCEPTED``, ``FAILS``, ``ASKED``."""
        raise NotImplementedError

    def why_refused(self, sent=None) -> str | None:
        """The error that answers a commit which arrives now and was sent as ``sent``."""
        raise NotImplementedError

    def identity(self):
        """What a commit carries for the coordinator to check."""
        raise NotImplementedError

    def poll_interval_exceeded(self) -> None:
        """``max_poll_interval_ms`` have passed without a poll."""

    def commit_failed(self, error: str) -> None:
        """The answer to a commit is an error."""

    def commit(self, done: Callable[[str | None], None]) -> None:
        """Commit what has been processed; ``done(error)`` when the answer is there."""
        self.advance()
        self._send_flight_off()
        if self.own.size == 0:
            done(None)
            return
        if self.config.commit == "auto":
            self.state[NEXT_COMMIT] = self.clock.now + self.config.auto_commit_interval_ms
        latency = self.config.latency_ms
        self.clock.after(
            latency, self._arrive, self.own.copy(), self.processed(), self.identity(), done,
            self.valid,
        )  # fmt: skip

    def revoked_how(self, error: str | None = None) -> str:
        """How partitions are given up in order: why something is delivered again afterwards."""
        config = self.config
        if error:
            return f"revoked, commit refused: {error}"
        if config.commit_on_revoke or config.commit in ("auto", "before", "transaction"):
            return "revoked after a commit"
        if config.commit == "after" and config.commit_interval_ms == 0:
            return "revoked after a commit"
        return "revoked without a commit"

    def _send_flight_off(self) -> None:
        """A commit under way becomes a message of its own: the arrays it lies in change."""
        at = int(self.state[FLIGHT_AT])
        if at >= 0:
            self.state[FLIGHT_AT] = -1
            transaction = None
            if self.mode == TRANSACTION:
                transaction = self.batch.copy(), self.because, self.since
            self.clock.at(
                at, self._arrive, self.own.copy(), self.flight.copy(), self.identity(), None,
                self.valid, transaction,
            )  # fmt: skip

    def _commit_arrived(self) -> None:
        """A commit of the loop that has to be decided on."""
        s = self.state
        s[FLIGHT_AT] = -1
        error = self._decide(self.own, self.flight, self.identity(), self.valid)
        if error is not None and self.mode in (poll_loop.BEFORE, TRANSACTION):
            if self.mode == TRANSACTION:
                s[ABORTED] += s[poll_loop.BATCH_SIZE]
            self.position[:] = self.batch
            s[PHASE] = COMMIT_AFTER
            s[NEXT] += self.config.retry_backoff_ms
        elif self.mode == TRANSACTION:
            self.batch[:] = self.position
        if error is None:
            return
        if self.mode == poll_loop.AFTER:
            self._block()  # commitSync ends with the error before the next poll
            self.clock.after(self.config.latency_ms, self.in_time, self._sync_commit_failed, error)
        else:
            self.clock.after(self.config.latency_ms, self.in_time, self.commit_failed, error)

    def _sync_commit_failed(self, error: str) -> None:
        self.commit_failed(error)
        self._unblock()

    def _arrive(self, partitions, offsets, sent, done, valid: bool, transaction=None) -> None:
        """A commit of its own arrives at the coordinator.

        ``valid``: whether the group counted on this consumer when it sent the commit;
        ``transaction``: where its batch began, for deliveries that become good with it.
        """
        error = self._decide(partitions, offsets, sent, valid)
        if transaction is not None:
            starts, because, since = transaction
            if error is None:
                delivery = Delivery(
                    partitions, starts, offsets, because, self.number, since, self.clock.now
                )
                self.log.delivered(delivery, "transaction committed")
            else:
                self.state[ABORTED] += int((offsets - starts).sum())
        if done is not None:
            self.clock.after(self.config.latency_ms, self.in_time, done, error)
        elif error is not None:
            self.clock.after(self.config.latency_ms, self.in_time, self.commit_failed, error)

    def _decide(self, partitions: np.ndarray, offsets: np.ndarray, sent, valid: bool) -> str | None:
        error = self.why_refused(sent)
        if error is not None:
            self.tell("commit refused", partitions, error)
            return error
        if not (valid and self.valid):
            # Somebody else may own these partitions, whose commits so far came before this one.
            self.deciding = True
            self.world.advance_all()
            self.deciding = False
        back = self.log.commit(partitions, offsets)
        if back.size:
            self.log.went_back(back, f"offset set back by {self.name}")
        self.tell("committed", partitions, "offsets went back" if back.size else "")
        return None

    # ---- telling -------------------------------------------------------------------------------

    def tell(self, kind: str, partitions: np.ndarray = EMPTY, detail: str = "") -> None:
        """Note something that happened here."""
        self.world.history.tell(
            self.clock.now, kind, self.number, self.generation, partitions, detail
        )
