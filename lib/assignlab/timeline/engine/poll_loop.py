"""A consumer's poll loop, batch by batch, compiled: what it fetches, processes and commits.

Records are offsets, never objects: a batch is one interval per partition. Nothing but the loop
itself happens between two events of the group, so it is played lazily, whenever somebody looks,
up to that moment; the result is that of an event for every poll.

The loop, as the application writes it: poll; process the records one after the other, partition by
partition; commit, by the setting ``commit``; poll again. A poll returns what the last fetch has
brought, at most ``max_poll_records``; partitions take turns as their fetched data runs out. With
the last of it goes the next fetch out, which is answered when ``fetch_min_records`` are there, or
with what there is when ``fetch_max_wait_ms`` have passed.

What the loop remembers has one place in memory and two readers: compiled code sees the fields of a
record, Python those of a :class:`Loop`.
"""

import ctypes
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from assignlab.compiled import inner, leaf, njit

NEVER = 2**62
"""A moment that does not come, in ms."""
NOT_OUT = -NEVER
"""Instead of a moment: no fetch is out."""
WAITS = -1
"""Instead of a share: a poll takes no records before the network thread has done what it asks for."""


class Phase(IntEnum):
    """Where the loop is: in poll; processing; waiting for a commit after, or before, processing;
    not running."""

    POLL = 0
    PROCESS = 1
    COMMIT_AFTER = 2
    COMMIT_BEFORE = 3
    HALTED = 4


class Mode(IntEnum):
    """When the application commits, in the order of ``config.COMMITS``."""

    AUTO = 0
    AFTER = 1
    BEFORE = 2
    TRANSACTION = 3
    NONE = 4


class Verdict(IntEnum):
    """What becomes of a commit that arrives: it counts; the client is told an error, without
    further effect; somebody has to decide."""

    ACCEPTED = 0
    FAILS = 1
    ASKED = 2


class Stop(IntEnum):
    """Why the loop stopped: all is played; it is held before a poll; a commit has to be decided on;
    a batch takes longer than ``max_poll_interval_ms``."""

    REACHED = 0
    HELD = 1
    COMMIT_ARRIVED = 2
    LONG_BATCH = 3


# Plain attributes, as an enum's members are from Python 3.12 on: these are read at every poll.
for enum in (Phase, Mode, Verdict, Stop):
    for name, member in enum.__members__.items():
        type.__setattr__(enum, name, member)


class Loop(ctypes.Structure):
    """What the loop remembers; moments in ms, the others as named.

    ``phase``; ``next``: when it goes on; ``flight_at``: when the commit under way arrives, -1 for
    none; ``next_commit``: when auto commit is due; ``last_poll``, ``last_commit``; ``called``: when
    the application called poll after its last batch. Of the batch at hand: ``batch_at``, when its
    processing began, ``batch_size`` in records, ``frozen``: how many of them were processed before
    a stall. ``first``, ``turn``: the partition that the batch, and the next one, begins with.
    ``fetched``: the last fetch brings the records up to that moment, :data:`NOT_OUT` for none;
    ``fetched_at``: when it is back; ``accepted_at``: when a commit last counted. ``begun``: whether
    some of these records have been taken; ``asked``: whether the last poll had something asked of the
    network thread; ``drawn``: the last number drawn at random.
    Counts: ``polls``, ``commits``, ``failed`` (commits without effect), ``aborted`` (records).
    """

    phase: int
    next: int
    flight_at: int
    next_commit: int
    last_poll: int
    last_commit: int
    called: int
    batch_at: int
    batch_size: int
    frozen: int
    first: int
    turn: int
    fetched: int
    fetched_at: int
    accepted_at: int
    begun: int
    asked: int
    drawn: int
    polls: int
    commits: int
    failed: int
    aborted: int


class Settings(ctypes.Structure):
    """What does not change during a run; times in ms, of one record in microseconds.

    ``ahead``: where poll does not wait for the network thread, how many of a hundred auto commits
    cover the records that their poll returns; :data:`WAITS` where it does. ``timed``: whether auto
    commits are a timer's, which takes what has been handed out for processed, and no poll's.
    ``by_partition``: whether a batch is all that a fetch brought of one partition, and the next fetch
    goes out when the last of them is processed.
    """

    mode: int
    processing_us: int
    max_records: int
    min_records: int
    max_wait: int
    commit_interval: int
    latency: int
    replication: int
    max_poll_interval: int
    backoff: int
    ahead: int
    timed: int
    by_partition: int


for kind in (Loop, Settings):
    kind._fields_ = [(name, ctypes.c_int64) for name in kind.__annotations__]


LOOP, SETTINGS = (np.dtype((np.record, np.dtype(kind))) for kind in (Loop, Settings))


def words(fields: ctypes.Structure) -> np.ndarray:
    """The memory of a structure as int64: compiled code is called faster with that, and sees the
    fields again as ``words.view(LOOP)[0]``."""
    return np.frombuffer(fields, dtype=np.int64)


class Owned(NamedTuple):
    """The partitions that a consumer reads, int64[n] each.

    ``partition``: dense number; ``position``: next offset to fetch; ``batch``: where the batch at
    hand begins; ``flight``: what the commit under way says; ``fresh``: room to count what can be
    fetched. ``start``: where this consumer began, ``since`` when, and ``because``: why the delivery
    before it ended, an index of ``Log.reasons``.
    """

    partition: np.ndarray
    position: np.ndarray
    batch: np.ndarray
    flight: np.ndarray
    fresh: np.ndarray
    start: np.ndarray
    because: np.ndarray
    since: np.ndarray


@inner
def owned(rows):
    """The fields of int64[fields, n], one a row."""
    return Owned(rows[0], rows[1], rows[2], rows[3], rows[4], rows[5], rows[6], rows[7])


@leaf
def end_offset(rate, created, t):
    """The log end offset at ``t``: records that were produced since the partition was created."""
    return np.int64(rate * (t - created)) if t > created else np.int64(0)


@njit
def end_offsets(t, partitions, rate, created):
    """The log end offsets of some partitions at ``t``: int64[n]."""
    ends = np.empty(partitions.size, dtype=np.int64)
    for k in range(partitions.size):
        ends[k] = end_offset(rate[partitions[k]], created[partitions[k]], t)
    return ends


@leaf
def available(t, partition, position, rate, created):
    """How many records below the high watermark have not been fetched."""
    total = 0
    for k in range(partition.size):
        p = partition[k]
        total += max(end_offset(rate[p], created[p], t) - position[k], 0)
    return total


@njit
def when_available(t, until, wanted, partition, position, rate, created):
    """The first moment from ``t`` to ``until`` with ``wanted`` records, else ``until``."""
    low, high = t, until
    while low < high:
        middle = (low + high) // 2
        if available(middle, partition, position, rate, created) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


@leaf
def look(t, partition, position, fresh, rate, created):
    """How many records each partition has below the high watermark, unfetched; returns the sum."""
    total = 0
    for k in range(partition.size):
        p = partition[k]
        fresh[k] = max(end_offset(rate[p], created[p], t) - position[k], 0)
        total += fresh[k]
    return total


@leaf
def fetch(back, loop, settings, partition, position, rate, created):
    """A fetch goes out, which can be back at ``back``.

    It is answered when ``fetch_min_records`` are there, at the latest after ``fetch_max_wait_ms``;
    what comes then, comes with the next one, however late the application polls.
    """
    behind = settings.replication + settings.latency
    first = back - behind
    loop.fetched = when_available(
        first, first + settings.max_wait, settings.min_records, partition, position, rate, created
    )
    loop.fetched_at = loop.fetched + behind


@leaf
def take_batch(loop, position, batch, fresh, most):
    """Move the position over at most ``most`` fresh records, partitions in turn."""
    n = position.size
    loop.first = first = loop.turn % n
    left = most
    for k in range(n):
        batch[k] = position[k]
    for j in range(n):
        k = first + j
        if k >= n:
            k -= n
        taken = min(fresh[k], left)
        position[k] += taken
        left -= taken
        if left == 0:
            loop.turn = k  # the next batch begins with what is left here
            break
    loop.batch_size = most - left


@leaf
def of_next(loop, fresh):
    """How many fresh records the next partition in turn has of those that have any."""
    for j in range(fresh.size):
        there = fresh[(loop.turn + j) % fresh.size]
        if there > 0:
            return there
    return np.int64(0)


@leaf
def processed_count(t, loop, settings):
    """How many records of the current batch have been processed at ``t``."""
    if settings.processing_us == 0:
        done = loop.batch_size
    else:
        done = (t - loop.batch_at) * 1000 // settings.processing_us
    return min(max(done, loop.frozen), loop.batch_size)


@njit
def processed(t, loop_words, rows, setting_words):
    """Up to which offset each partition's records have been processed at ``t``: int64[n]."""
    loop, settings, own = loop_words.view(LOOP)[0], setting_words.view(SETTINGS)[0], owned(rows)
    if loop.phase == Phase.COMMIT_BEFORE:
        return own.batch.copy()
    if loop.phase != Phase.PROCESS:
        return own.position.copy()
    left = processed_count(t, loop, settings)
    n = own.position.size
    done = own.batch.copy()
    for j in range(n):
        k = (loop.first + j) % n
        taken = min(own.position[k] - own.batch[k], left)
        done[k] += taken
        left -= taken
    return done


@leaf
def send_commit(t, loop, position, flight, latency):
    """A commit of the position goes out."""
    for k in range(position.size):
        flight[k] = position[k]
    loop.flight_at = t + latency


@leaf
def is_uncommitted(partition, position, committed):
    """Whether some position is not what the group has committed."""
    for k in range(partition.size):
        if committed[partition[k]] != position[k]:
            return True
    return False


@leaf
def returns_at_once(t, loop, partition, position, fresh, rate, created):
    """Whether a poll that is called at ``t`` finds records at hand."""
    if t != loop.called or loop.fetched == NOT_OUT or t < loop.fetched_at:
        return False
    return look(loop.fetched, partition, position, fresh, rate, created) > 0


@leaf
def is_answered(t, loop, settings, partition, position, rate, created):
    """Whether the answer to the last poll's question does for one that finds records at hand.

    It does while records wait besides those of the partition whose turn it is (FetchBuffer.isEmpty).
    """
    if not loop.asked or not loop.begun:
        return loop.asked != 0
    behind = settings.replication + settings.latency
    for k in range(partition.size):
        p = partition[k]
        if k != loop.turn and end_offset(rate[p], created[p], t - behind) > position[k]:
            return True
    return False


@leaf
def is_ahead(loop, settings):
    """Whether a commit that the network thread makes while poll takes records comes after that."""
    loop.drawn = (loop.drawn * 1_103_515_245 + 12_345) & 0x7FFFFFFF
    return (loop.drawn >> 16) % 100 < settings.ahead


@leaf
def process(t, loop, settings):
    """The batch is processed from ``t`` on; returns whether two polls are too far apart then."""
    loop.phase = Phase.PROCESS
    loop.batch_at = t
    loop.next = t + max(1, -(-loop.batch_size * settings.processing_us // 1000))
    return loop.next - loop.last_poll > settings.max_poll_interval


@njit
def advance(until, hold, verdict, loop_words, rows, rate, created, committed, setting_words):
    """Play the loop up to ``until``; returns why it stopped, a :class:`Stop`.

    ``hold``: stop before the next poll instead of making it. ``verdict``: what becomes of commits
    that arrive, a :class:`Verdict` as a number. ``rows``: what is read, :class:`Owned` as
    int64[fields, n]. ``rate``, ``created``, ``committed``: of all partitions, see
    :class:`~assignlab.timeline.engine.log.Log`. The others are the :func:`words` of a
    :class:`Loop` and of :class:`Settings`.
    """
    loop, settings = loop_words.view(LOOP)[0], setting_words.view(SETTINGS)[0]
    partition, position, batch, flight, fresh = owned(rows)[:5]
    n = partition.size
    mode, latency = settings.mode, settings.latency
    polls_commit = mode == Mode.AUTO and not settings.timed
    while True:
        t = loop.next
        flight_at = loop.flight_at
        if 0 <= flight_at <= until and flight_at <= t:
            if verdict == Verdict.ASKED:
                return Stop.COMMIT_ARRIVED.value
            loop.flight_at = -1
            if verdict == Verdict.FAILS:
                loop.failed += 1
                if mode == Mode.BEFORE or mode == Mode.TRANSACTION:
                    # The application gives the batch up, waits a bit, and reads it again.
                    if mode == Mode.TRANSACTION:
                        loop.aborted += loop.batch_size
                    for k in range(n):
                        position[k] = batch[k]
                    loop.fetched = NOT_OUT
                    loop.phase = Phase.COMMIT_AFTER
                    loop.next += settings.backoff
                continue
            loop.commits += 1
            loop.accepted_at = flight_at
            for k in range(n):
                committed[partition[k]] = flight[k]
            if mode == Mode.TRANSACTION:
                for k in range(n):
                    batch[k] = position[k]
            continue
        due = loop.next_commit
        held = hold and loop.phase == Phase.POLL
        if settings.timed and due <= until and (due <= t or held) and flight_at < 0:
            loop.next_commit += settings.commit_interval
            # A poll is held for a rebalance, in which the timer does nothing.
            if not held and is_uncommitted(partition, position, committed):
                send_commit(due, loop, position, flight, latency)
            continue
        if t > until:
            return Stop.REACHED.value
        phase = loop.phase
        if phase == Phase.POLL:
            if hold:
                return Stop.HELD.value
            # AsyncKafkaConsumer.checkInflightPoll: the answer to the last poll's question does for this
            # one, which asks for no commit and begins no poll interval.
            at_once = settings.ahead != WAITS and returns_at_once(
                t, loop, partition, position, fresh, rate, created
            )
            asks = not (
                at_once and is_answered(t, loop, settings, partition, position, rate, created)
            )
            if asks:
                loop.last_poll = t
            if n == 0:
                loop.phase, loop.next = Phase.HALTED, NEVER
                return Stop.REACHED.value
            ahead = False
            if polls_commit and asks and t >= loop.next_commit and flight_at < 0:
                loop.next_commit = t + settings.commit_interval
                ahead = at_once and is_ahead(loop, settings)
                if not ahead:
                    send_commit(t, loop, position, flight, latency)
            if loop.fetched == NOT_OUT:
                fetch(t, loop, settings, partition, position, rate, created)
            if t < loop.fetched_at:
                loop.next = loop.fetched_at
                if polls_commit and t < loop.next_commit:
                    loop.next = min(loop.next, loop.next_commit)
                continue
            there = look(loop.fetched, partition, position, fresh, rate, created)
            if there == 0:
                fetch(t + max(2 * latency, 1), loop, settings, partition, position, rate, created)
                continue
            loop.polls += 1
            most = of_next(loop, fresh) if settings.by_partition else settings.max_records
            if there <= most:
                for k in range(n):
                    batch[k] = position[k]
                    position[k] += fresh[k]
                loop.first = loop.turn = 0
                loop.batch_size = there
            else:
                take_batch(loop, position, batch, fresh, most)
            if loop.batch_size == there:  # nothing is left: the next fetch goes out now
                work = there * settings.processing_us // 1000
                sent = t + work if settings.by_partition else t
                fetch(sent + 2 * latency, loop, settings, partition, position, rate, created)
            if ahead:
                send_commit(t, loop, position, flight, latency)
            loop.begun = loop.batch_size < there
            loop.asked = asks
            loop.frozen = 0
            if mode == Mode.BEFORE:
                send_commit(t, loop, position, flight, latency)
                loop.phase = Phase.COMMIT_BEFORE
                loop.next = t + 2 * latency
            elif process(t, loop, settings):
                return Stop.LONG_BATCH.value
        elif phase == Phase.PROCESS:
            loop.phase, loop.called = Phase.POLL, t
            if n > 0 and (
                mode == Mode.TRANSACTION
                or (mode == Mode.AFTER and t - loop.last_commit >= settings.commit_interval)
            ):
                send_commit(t, loop, position, flight, latency)
                loop.last_commit = t
                loop.phase = Phase.COMMIT_AFTER
                loop.next = t + 2 * latency
        elif phase == Phase.COMMIT_AFTER:
            loop.phase, loop.called = Phase.POLL, t
        elif phase == Phase.COMMIT_BEFORE:
            if process(t, loop, settings):
                return Stop.LONG_BATCH.value
        else:
            return Stop.REACHED.value
