"""One consumer process: its poll loop, the partitions it holds, its commits and its listener.

What is the same for every protocol. A protocol's client says when to join, what to give up, and
whether a commit counts (:meth:`Consumer.judge`).
"""

from collections.abc import Callable

import numpy as np

from assignlab.timeline.config import COMMITS
from assignlab.timeline.engine import poll_loop
from assignlab.timeline.engine.clock import cancel
from assignlab.timeline.engine.history import Ownership
from assignlab.timeline.engine.log import EMPTY, NO_OFFSET, Delivery
from assignlab.timeline.engine.poll_loop import (
    NEVER,
    NOT_OUT,
    WAITS,
    Loop,
    Mode,
    Owned,
    Phase,
    Settings,
    Stop,
    Verdict,
    words,
)
from assignlab.timeline.engine.world import World
from assignlab.timeline.scenario import Member


class Consumer:
    """A running consumer.

    ``held``: dense numbers of the partitions that are assigned, with the moment (``held_since``)
    and the generation of the assignment; ``own``: those of them that are consumed, the
    others wait for their committed offsets. ``valid``: False once the group went on without this
    consumer. ``coordinator_known``: the broker that it takes for the group's coordinator.
    """

    lacks: frozenset[str] = frozenset()
    """What a client does not have: actions, ``pattern``, and protocols of which it has no strategies."""
    unplayed: frozenset[str] = frozenset()
    """What it may have and is played of Java's: members with a ``pattern`` or an ``instance``, and
    strategies of a protocol."""
    keeps_asking = False
    """Whether it sees soon what becomes of any topic that it asks for."""
    commits_by_timer = False
    """Whether automatic commits are made by a timer, whatever the application does, and not by its polls."""
    reads_new_first = False
    """Whether it fetches from partitions that have a committed offset when it takes the first batch of
    the others: Java's asks whether such offsets are still in the log (KIP-320)."""
    reads_new_last = False
    """Whether it fetches from the others behind them: it has to ask where these begin."""
    _close: Callable[[], None]
    _unsubscribe: Callable[[], None]
    asks_again: tuple[str, ...] = ()
    """Answers of a broker without the group: the client looks for the right one and asks again."""

    def __init__(self, world: World, member: Member, number: int):
        self.world = world
        self.clock = world.clock
        self.config = config = world.config
        self.log = world.log
        self.member = member
        self.name = member.name
        self.instance = member.instance
        self.told_instance = member.instance  # by its heartbeats and commits
        self.stays = member.instance is not None  # in the group, when it is closed
        self.rebalance_timeout_ms = config.max_poll_interval_ms
        self.number = number
        self.made = self.clock.now if member.made_ms is None else member.made_ms
        self.generation = -1
        self.coordinator_known = world.coordinator
        self.alive = True
        self.closing = False
        self.valid = True
        self.frozen_until = 0
        self.loop = Loop(
            phase=Phase.HALTED, next=NEVER, flight_at=-1, fetched=NOT_OUT, called=self.clock.now,
            drawn=world.drawn_for(member.name),
        )  # fmt: skip
        auto = config.commit == "auto"
        self.mode = Mode(COMMITS.index(config.commit))
        self.settings = Settings(
            mode=self.mode,
            processing_us=round(member.processing_ms * 1000),
            max_records=config.max_poll_records,
            min_records=config.fetch_min_records,
            max_wait=config.fetch_max_wait_ms,
            commit_interval=config.auto_commit_interval_ms if auto else config.commit_interval_ms,
            latency=config.latency_ms,
            replication=config.replication_ms,
            max_poll_interval=config.max_poll_interval_ms,
            backoff=config.retry_backoff_ms,
            ahead=WAITS if self.poll_waits() else config.auto_commit_ahead_percent,
            timed=auto and self.commits_by_timer,
        )
        self._words = words(self.loop), words(self.settings)
        longest = config.max_poll_records * member.processing_ms * (1 if self.poll_waits() else 2)
        self._slow = longest > config.max_poll_interval_ms
        self.verdict = Verdict.ACCEPTED
        self._blocked = 0
        self._waiting: list[tuple[Callable, tuple]] = []
        self._called = 0
        self._waker = None
        self._poll_check = None
        self.held = self.held_since = self.held_generation = EMPTY
        self._read(np.empty((len(Owned._fields), 0), dtype=np.int64))
        self._refusals = 0
        self.deciding = False
        self._awaited: dict[int, int] = {}
        self._takes = 0

    def poll_waits(self) -> bool:
        """Whether a poll takes no records before the network thread has done what it asks for."""
        return True

    # ---- time ----------------------------------------------------------------------------------

    def advance(self) -> None:
        """Play the poll loop up to now."""
        loop, now = self.loop, self.clock.now
        due = min(loop.next, loop.next_commit) if self.settings.timed else loop.next
        if due > now and not 0 <= loop.flight_at <= now:
            return
        loop_words, setting_words = self._words
        while True:
            hold = self._blocked > 0 or bool(self._waiting)
            stop = poll_loop.advance(
                now, hold, int(self.verdict), loop_words, self._rows,
                self.log.rate, self.log.created, self.log.committed, setting_words,
            )  # fmt: skip
            if stop == Stop.COMMIT_ARRIVED:
                self._commit_arrived()
            elif stop == Stop.LONG_BATCH:
                self._check_poll_interval()
            else:
                break
        if loop.failed > self._refusals:
            why = self.why_refused() or "REBALANCE_IN_PROGRESS"
            self.tell("commit refused", self.own.partition, why)
            self._refusals = loop.failed

    def set_verdict(self) -> None:
        """What becomes of commits from now on; call :meth:`advance` before anything changes it."""
        if self.alive:
            self.verdict = self.judge()
            self._watch()

    def _watch(self) -> None:
        """See to it that the loop is played in time where something may have to be decided."""
        cancel(self._waker)
        if not (self._slow or self.verdict == Verdict.ASKED) or not self.alive:
            return
        at, flight = self.loop.next, self.loop.flight_at
        if self.loop.phase == Phase.POLL and (self._blocked or self._waiting):
            at = NEVER
        if flight >= 0:
            at = min(at, flight)
        elif self.settings.timed:
            at = min(at, self.loop.next_commit)
        if at < NEVER:
            self._waker = self.clock.at(at, self._wake)

    def _wake(self) -> None:
        if self.alive:
            self.advance()
            self._watch()

    def at_poll(self, call: Callable, *args) -> None:
        """A step of the protocol that waits for the application's poll."""
        self.in_poll(call, *args)

    def in_poll(self, call: Callable, *args) -> None:
        """Call when the application is in poll: now, or when the batch at hand is done with."""
        self.advance()  # from here on the loop stops at a poll
        self._wait(len(self._waiting), call, args)

    def instead_of_poll(self, call: Callable, *args) -> None:
        """What the application calls when it is through with its batch: whatever waits for its poll comes
        after that."""
        self.advance()
        self._called += 1
        self._wait(self._called - 1, call, args)

    def _wait(self, place: int, call: Callable, args: tuple) -> None:
        self._waiting.insert(place, (call, args))
        if len(self._waiting) == 1:
            self._try_poll()

    def waited_in_poll(self) -> int:
        """How long the poll at hand lasts already; those before it brought nothing."""
        timeout = self.config.poll_timeout_ms
        return (self.clock.now - self.loop.called) % timeout if timeout > 0 else 0

    def _try_poll(self) -> None:
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self.clock.at(self.frozen_until, self._try_poll)
            return
        self.advance()
        if self.loop.phase not in (Phase.POLL, Phase.HALTED):
            self.clock.at(self.loop.next, self._try_poll)
            return
        if self.poll_asks():
            self.loop.last_poll = self.clock.now
        self._block()
        calls, self._waiting, self._called = self._waiting, [], 0
        for call, args in calls:
            if self.alive:
                call(*args)
        self._unblock()

    def poll_asks(self) -> bool:
        """Whether the poll at hand asks the network thread for anything."""
        if self.poll_waits() or not self.loop.asked:
            return True
        own, log = self.own, self.log
        return not self.finds_records() or not poll_loop.is_answered(
            self.clock.now, self.loop, self.settings, own.partition, own.position, log.rate,
            log.created,
        )  # fmt: skip

    def finds_records(self) -> bool:
        """Whether the poll at hand returns at once."""
        own, log = self.own, self.log
        return poll_loop.returns_at_once(
            self.clock.now, self.loop, own.partition, own.position, own.fresh, log.rate, log.created
        )

    def _block(self) -> None:
        """The application does not come back from poll for the time being."""
        self._blocked += 1

    def _unblock(self) -> None:
        self.advance()
        self._blocked -= 1
        if self._blocked == 0 and self.alive:
            if self.loop.phase == Phase.POLL:
                self.loop.next = max(self.loop.next, self.clock.now)
            self.advance()
            self._watch()

    def commit_in_poll(
        self, done: Callable[[str | None], None], only: np.ndarray | None = None
    ) -> None:
        """Commit while the application is in poll; it stays there until ``done(error)`` is over."""

        def answered(error: str | None) -> None:
            done(error)
            self._unblock()

        self._block()
        self.commit(answered, only)

    def in_time(self, call: Callable, *args) -> None:
        """Call as soon as the process runs: now, unless it is frozen."""
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self.clock.at(self.frozen_until, self.in_time, call, *args)
        else:
            call(*args)

    def after_round_trip(self, call: Callable, *args) -> None:
        """Ask a broker and call with its answer."""
        self.clock.after(2 * self.config.latency_ms, self.in_time, call, *args)

    def when_metadata_is_here(self, call: Callable, *args) -> None:
        """Ask for the topics and call with the answer."""
        self.clock.at(self.answer_due(), self.in_time, call, *args)

    def answer_due(self) -> int:
        """When the answer to a question that is asked now is here: a broker answers in order, so it comes
        when the fetch is back that was out already, if any."""
        self.advance()
        loop, now = self.loop, self.clock.now
        return now if loop.fetched == NOT_OUT else max(loop.fetched_at, now)

    def close(self) -> None:
        """The application closes the consumer, from its poll."""
        self.instead_of_poll(self._close)

    def unsubscribe(self) -> None:
        """The application gives everything up and leaves, from its poll; nothing is committed for it."""
        self.instead_of_poll(self._unsubscribe)

    def metadata_is_stale(self) -> None:
        """The topics are not what they were."""

    def topic_is_gone(self) -> None:
        """A topic that it reads is not there any more."""
        self.metadata_is_stale()

    def find_coordinator(self, then: Callable[[], None] | None = None) -> None:
        """Ask any broker which one coordinates the group (FindCoordinator); ``then`` go on."""

        def found() -> None:
            self.advance()
            self.coordinator_known = self.world.coordinator
            self.set_verdict()
            if then is not None:
                then()

        self.after_round_trip(found)

    def stall(self, for_ms: int) -> None:
        """The record at hand takes ``for_ms`` longer."""
        self.advance()
        loop = self.loop
        self._deliver_so_far(for_ms)
        if loop.phase in (Phase.POLL, Phase.HALTED):
            # Nothing to process: the application is busy with something else between two polls.
            loop.last_poll = self.clock.now  # it polled all the time, though nothing came
            loop.phase, loop.batch_at, loop.batch_size = Phase.PROCESS, self.clock.now, 0
            self.own.batch[:] = self.own.position
            loop.next = self.clock.now
        elif loop.phase == Phase.PROCESS:
            loop.frozen = poll_loop.processed_count(self.clock.now, loop, self.settings)
            loop.batch_at += for_ms
        loop.next += for_ms
        self._check_poll_interval()
        self._watch()

    def _deliver_so_far(self, for_ms: int) -> None:
        """What comes after a pause of ``for_ms`` is a delivery of its own:
        others may have read it first."""
        done, before = self.processed(), Owned(*self._rows.copy())
        self.log.delivered(self._delivery(before, before.start, done))
        self.own.start[:], self.own.since[:] = done, self.clock.now + for_ms
        self.own.because[:] = self.log.reason("read on after a pause")

    def freeze(self, for_ms: int) -> None:
        """The whole process stands still for ``for_ms``; what waits in poll still does so then, and gets
        what its fetch has brought meanwhile."""
        begins, ends = max(self.frozen_until, self.clock.now), self.clock.now + for_ms
        if ends <= begins:
            return
        self.advance()
        if self.loop.phase == Phase.POLL:
            self._deliver_so_far(ends - begins)
            self.loop.next = max(self.loop.next, ends)
            self._watch()
        else:
            self.stall(ends - begins)
        self.frozen_until = ends

    def enforce_rebalance(self) -> None:
        """The application asks for a rebalance; clients that have none to offer warn."""
        self.tell("error", EMPTY, "enforceRebalance is not supported")

    def _check_poll_interval(self) -> None:
        cancel(self._poll_check)
        due = self.loop.last_poll + self.config.max_poll_interval_ms
        self._poll_check = self.clock.at(due, self._poll_interval_over)

    def _poll_interval_over(self) -> None:
        if not self.alive:
            return
        if self.clock.now < self.frozen_until:
            self._poll_check = self.clock.at(self.frozen_until, self._poll_interval_over)
            return
        if self.is_poll_interval_over():
            self.poll_interval_exceeded()

    def is_poll_interval_over(self) -> bool:
        """Whether the application has not been in poll for too long."""
        loop, latest = self.loop, self.clock.now - self.config.max_poll_interval_ms
        if loop.last_poll > latest:
            return False  # and polls that have not been played yet were later
        self.advance()
        return loop.phase != Phase.HALTED and loop.last_poll <= latest

    # ---- partitions ----------------------------------------------------------------------------

    def take(self, partitions: np.ndarray) -> None:
        """These partitions, if any, are assigned in addition; consumed once their offsets are known."""
        self.tell("assigned", partitions)
        if partitions.size == 0:
            return
        now = np.full(partitions.size, self.clock.now)
        self.held = np.concatenate((self.held, partitions))
        self.held_since = np.concatenate((self.held_since, now))
        self.held_generation = np.concatenate(
            (self.held_generation, np.full(partitions.size, self.generation))
        )
        self._takes += 1
        self._awaited |= dict.fromkeys(partitions.tolist(), self._takes)
        self.after_round_trip(self.offsets_are_here, partitions, self._takes)

    def offsets_are_here(self, partitions: np.ndarray, taken: int) -> None:
        """The committed offsets of what was taken are known."""
        new = self.log.committed[partitions] == NO_OFFSET
        if self.reads_new_first and new.any() and not new.all():
            self.in_poll(self._begin_anew, partitions[new], partitions[~new], taken)
            return
        if self.reads_new_last:
            partitions = np.concatenate((partitions[~new], partitions[new]))
        self.in_poll(self._begin, partitions, taken)

    def _begin_anew(self, new: np.ndarray, others: np.ndarray, taken: int) -> None:
        """What has no committed offset is fetched first, the others with the next fetch."""
        self._begin(new, taken)
        # Not while the application waits for its transaction.
        when = [self.in_poll] * (self.mode == Mode.TRANSACTION)
        begin = *when, self._begin, others, taken
        self.clock.after(0, self.in_time, self.when_metadata_is_here, *begin)

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
        new = np.zeros((len(Owned._fields), partitions.size), dtype=np.int64)
        row = Owned(*new)
        row.partition[:] = partitions
        row.position[:] = row.batch[:] = row.start[:] = starts
        row.because[:], row.since[:] = because, self.clock.now
        self._read(np.concatenate((self._rows, new), axis=1))
        self._go_on()

    def _read(self, rows: np.ndarray) -> None:
        """Consume these partitions from now on: :class:`Owned` as int64[fields, n]."""
        self._rows = rows
        self.own = Owned(*rows)

    def _go_on(self) -> None:
        """Run the loop where it stood still, or look again at what there is to fetch."""
        loop = self.loop
        if loop.phase == Phase.HALTED:
            loop.phase, loop.last_poll = Phase.POLL, self.clock.now
        if loop.phase == Phase.POLL:
            loop.next, loop.fetched = self.clock.now, NOT_OUT
        self.advance()
        self._watch()

    def stop_reading(self, partitions: np.ndarray, why: str) -> None:
        """Partitions are no longer consumed; what was processed is booked."""
        self.advance()
        self._send_flight_off()
        go = self.log.among(self.own.partition, partitions)
        if go.any():
            done = self.processed()
            if self.mode == Mode.TRANSACTION:
                self._abort()
            gone = Owned(*self._rows.compress(go, axis=1))
            self.log.delivered(self._delivery(gone, gone.start, done[go]), why)
            self._read(self._rows.compress(~go, axis=1))  # C order, as compiled code wants it
            self.loop.first = self.loop.turn = 0
        if self.own.partition.size == 0:
            self.loop.phase, self.loop.next = Phase.HALTED, NEVER

    def give_up(self, partitions: np.ndarray, why: str) -> None:
        """Partitions are no longer held, nor consumed."""
        self.stop_reading(partitions, why)
        go = self.log.among(self.held, partitions)
        if go.any():
            for p in self.held[go].tolist():
                self._awaited.pop(p, None)
            if self.valid:
                self._book_ownership(go)
            self.held, self.held_since = self.held[~go], self.held_since[~go]
            self.held_generation = self.held_generation[~go]

    def let_go(self, partitions: np.ndarray, told: str = "") -> None:
        """Partitions, if any, are given up in order, and the listener hears of it."""
        if partitions.size:
            self.tell("revoked", partitions, told)
            self.give_up(partitions, self.revoked_how())

    def _delivery(self, own: Owned, starts: np.ndarray, stops: np.ndarray) -> Delivery:
        """What was delivered of some partitions, up to now."""
        return Delivery(
            own.partition, starts, stops, own.because, self.number,
            np.minimum(own.since, self.clock.now), self.clock.now,
        )  # fmt: skip

    def processed(self) -> np.ndarray:
        """Up to which offset every partition's records count as delivered now."""
        if self.mode == Mode.TRANSACTION and self.loop.phase in (Phase.PROCESS, Phase.COMMIT_AFTER):
            return self.own.batch.copy()
        return self._processed(self.clock.now)

    def _processed(self, now: int) -> np.ndarray:
        loop, settings = self._words
        return poll_loop.processed(now, loop, self._rows, settings)

    def _abort(self) -> None:
        """The open transaction is not committed; its outputs were written all the same."""
        if self.mode == Mode.TRANSACTION and self.loop.phase == Phase.PROCESS:
            written = self._processed(self.clock.now)
            self.loop.aborted += int((written - self.own.batch).sum())

    def _book_ownership(self, which: np.ndarray) -> None:
        owned = Ownership(
            self.held[which], self.number, self.held_since[which], self.clock.now,
            self.held_generation[which],
        )  # fmt: skip
        self.world.history.owned.append(owned)

    def passed_by(self, why: str) -> None:
        """The group goes on without this consumer, which may not know yet."""
        if self.valid:
            self.log.ended[self.own.partition] = self.log.reason(f"passed by: {why}")
            if self.held.size:
                self._book_ownership(np.ones(self.held.size, dtype=np.bool_))
            self.valid = False

    def belongs_again(self) -> None:
        """The group counts on this consumer from now on."""
        if not self.valid:
            self.held_since = np.full(self.held.size, self.clock.now)
            self.valid = True

    def crash(self) -> None:
        """The process is gone."""
        self.tell("crashed", self.held)
        self.end("crash")

    def end(self, why: str) -> None:
        """The process is over: nothing of it is left but a commit that is under way."""
        if self.alive:
            self.give_up(self.held, why)
            self.alive = False
            self.valid = False

    # ---- commits -------------------------------------------------------------------------------

    def judge(self) -> int:
        """What becomes of a commit that arrives: a :class:`Verdict`.

        Whoever the group left behind may set offsets back where nobody refuses it.
        """
        harmless = self.valid or self.loop.phase == Phase.HALTED
        return Verdict.ACCEPTED if harmless and self.why_refused() is None else Verdict.ASKED

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

    def commit(self, done: Callable[[str | None], None], only: np.ndarray | None = None) -> None:
        """Commit what has been processed, all or ``only`` of some partitions; ``done(error)`` when the
        answer is there."""
        self.advance()
        self._send_flight_off()
        rows, offsets = self._rows.copy(), self.to_commit()
        if only is not None:
            chosen = self.log.among(self.own.partition, only)
            rows, offsets = rows.compress(chosen, axis=1), offsets[chosen]
        if offsets.size == 0:
            done(None)
            return
        latency = self.config.latency_ms
        # None of the loop's own until it is answered; the interval goes on.
        self.loop.next_commit = max(self.loop.next_commit, self.clock.now + 2 * latency)
        self.clock.after(
            latency, self._arrive, Owned(*rows), offsets, self.identity(), done, self.valid
        )

    def to_commit(self) -> np.ndarray:
        """Up to which offsets a commit goes that is made now, and not by a poll."""
        return self.processed()

    def _tick(self, every_ms: int) -> int:
        """When a timer is due next that runs since the consumer was made."""
        return self.clock.now + every_ms - (self.clock.now - self.made) % every_ms

    def _auto_commit_due(self) -> int:
        """When the next auto commit goes out."""
        every = self.config.auto_commit_interval_ms
        return self._tick(every) if self.commits_by_timer else self.clock.now + every

    def _hold_auto_commit(self) -> None:
        """No auto commit goes out while a rebalance is under way; its end begins the interval anew."""
        self.advance()
        if self.mode == Mode.AUTO:
            self.loop.next_commit = NEVER

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
        at = self.loop.flight_at
        if at >= 0:
            self.loop.flight_at = -1
            self.clock.at(
                at, self._arrive, Owned(*self._rows.copy()), self.own.flight.copy(), self.identity(), None,
                self.valid, self.mode == Mode.TRANSACTION,
            )  # fmt: skip

    def _commit_arrived(self) -> None:
        """A commit of the loop that has to be decided on."""
        loop = self.loop
        loop.flight_at = -1
        own = self.own
        error = self._decide(own.partition, own.flight, self.identity(), self.valid)
        if error in self.asks_again:
            again = self._look_again(error)
            if self.mode == Mode.AUTO:
                loop.next_commit = again  # it was not waited for
            else:
                loop.flight_at = again + self.config.latency_ms
                loop.next = loop.flight_at + self.config.latency_ms
            return
        if error is not None and self.mode in (Mode.BEFORE, Mode.TRANSACTION):
            if self.mode == Mode.TRANSACTION:
                loop.aborted += loop.batch_size
            own.position[:] = own.batch
            loop.fetched = NOT_OUT
            loop.phase = Phase.COMMIT_AFTER
            loop.next += self.config.retry_backoff_ms
        elif self.mode == Mode.TRANSACTION:
            own.batch[:] = own.position
        if error is None:
            return
        if self.mode == Mode.AFTER:
            self._block()  # commitSync ends with the error before the next poll
            self.clock.after(self.config.latency_ms, self.in_time, self._sync_commit_failed, error)
        else:
            self.clock.after(self.config.latency_ms, self.in_time, self.commit_failed, error)

    def _sync_commit_failed(self, error: str) -> None:
        self.commit_failed(error)
        self._unblock()

    def _arrive(self, own, offsets, sent, done, valid: bool, transaction: bool = False) -> None:
        """A commit of its own arrives at the coordinator.

        ``own``: what was consumed when it was sent; ``valid``: whether the group counted on this
        consumer then; ``transaction``: the deliveries of the batch become good with it.
        """
        error = self._decide(own.partition, offsets, sent, valid)
        if error in self.asks_again:
            if self.alive:
                self.clock.at(
                    self._look_again(error) + self.config.latency_ms, self._arrive, own, offsets, sent,
                    done, valid, transaction,
                )  # fmt: skip
            return
        if transaction:
            if error is None:
                self.log.delivered(self._delivery(own, own.batch, offsets), "transaction committed")
            else:
                self.loop.aborted += int((offsets - own.batch).sum())
        if done is not None:
            self.clock.after(self.config.latency_ms, self.in_time, done, error)
        elif error is not None:
            self.clock.after(self.config.latency_ms, self.in_time, self.commit_failed, error)

    def _look_again(self, error: str) -> int:
        """A commit has reached a broker without the group; when the client sends it again."""
        self.tell("commit sent again", self.own.partition, error)
        latency = self.config.latency_ms
        self.clock.after(latency, self.in_time, self.find_coordinator)
        return self.clock.now + 3 * latency + self.config.retry_backoff_ms

    def _decide(self, partitions: np.ndarray, offsets: np.ndarray, sent, valid: bool) -> str | None:
        error = self.why_refused(sent)
        if error in self.asks_again:
            return error
        if error is not None:
            self.tell("commit refused", partitions, error)
            self.loop.failed += 1
            self._refusals += 1
            return error
        self.loop.accepted_at = self.clock.now
        if not (valid and self.valid):
            # Somebody else may own these partitions, whose commits so far came before this one.
            self.deciding = True
            self.world.play_commits()
            self.deciding = False
        back = self.log.commit(partitions, offsets)
        if back.size:
            self.log.went_back(back, f"offset set back by {self.name}")
        self.tell("committed", partitions, "offsets went back" if back.size else "")
        return None

    # ---- telling -------------------------------------------------------------------------------

    def tell(self, kind: str, partitions: np.ndarray = EMPTY, detail: str = "") -> None:
        """Note something that happened here."""
        self.world.tell(kind, self.generation, detail, self.number, partitions)
