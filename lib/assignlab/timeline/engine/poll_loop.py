"""A consumer's poll loop, batch by batch, compiled: what it fetches, processes and commits.

Records are offsets, never objects: a batch is one interval per partition. Nothing but the loop
itself happens between two events of the group, so it is played lazily, whenever somebody looks,
up to that moment; the result is that of an event for every poll.

The loop, as the application writes it: poll; process the records one after the other, partition by
partition; commit, by the setting ``commit``; poll again. A poll returns when ``fetch_min_records``
are there, or with what there is when ``fetch_max_wait_ms`` have passed, at most
``max_poll_records``; partitions take turns as their fetched data runs out.
"""

import numpy as np

from assignlab.compiled import inner, njit

# The loop's own state, int64[STATE].
PHASE, NEXT, FLIGHT_AT, NEXT_COMMIT, LAST_POLL, LAST_COMMIT = 0, 1, 2, 3, 4, 5
BATCH_AT, BATCH_SIZE, FROZEN, FIRST, WAIT_UNTIL = 6, 7, 8, 9, 10
POLLS, COMMITS, FAILED, FETCHED_AT, TURN, ABORTED = 11, 12, 13, 14, 15, 16
STATE = 17

# Phases: in poll; processing; waiting for a commit after, or before, processing; not running.
POLL, PROCESS, COMMIT_AFTER, COMMIT_BEFORE, HALTED = 0, 1, 2, 3, 4

# What does not change during a run, int64[SETTINGS].
MODE, PROCESSING_US, MAX_RECORDS, MIN_RECORDS, MAX_WAIT = 0, 1, 2, 3, 4
COMMIT_INTERVAL, LATENCY, REPLICATION, MAX_POLL_INTERVAL, BACKOFF = 5, 6, 7, 8, 9
SETTINGS = 10

# Modes, in the order of ``config.COMMITS``.
AUTO, AFTER, BEFORE, TRANSACTION, NONE = 0, 1, 2, 3, 4

# What becomes of a commit that arrives.
ACCEPTED, FAILS, ASKED = 0, 1, 2

# Why the loop stopped.
REACHED, HELD, COMMIT_ARRIVED, LONG_BATCH = 0, 1, 2, 3

NEVER = np.int64(2**62)


@inner
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


@inner
def available(t, own, position, rate, created):
    """How many records below the high watermark have not been fetched."""
    total = 0
    for k in range(own.size):
        total += max(end_offset(rate[own[k]], created[own[k]], t) - position[k], 0)
    return total


@inner
def when_available(t, until, wanted, own, position, rate, created):
    """The first moment from ``t`` to ``until`` with ``wanted`` records, else ``until``."""
    low, high = t, until
    while low < high:
        middle = (low + high) // 2
        if available(middle, own, position, rate, created) >= wanted:
            high = middle
        else:
            low = middle + 1
    return low


@inner
def look(t, own, position, fresh, rate, created):
    """How many records each partition has below the high watermark, unfetched; returns the sum."""
    total = 0
    for k in range(own.size):
        fresh[k] = max(end_offset(rate[own[k]], created[own[k]], t) - position[k], 0)
        total += fresh[k]
    return total


@inner
def take_batch(s, position, batch, fresh, most):
    """Move the position over at most ``most`` fresh records, partitions in turn."""
    n = position.size
    s[FIRST] = first = s[TURN] % n
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
            s[TURN] = k  # the next batch begins with what is left here
            break
    s[BATCH_SIZE] = most - left


@inner
def processed_count(t, s, settings):
    """How many records of the current batch have been processed at ``t``."""
    if settings[PROCESSING_US] == 0:
        done = s[BATCH_SIZE]
    else:
        done = (t - s[BATCH_AT]) * 1000 // settings[PROCESSING_US]
    return min(max(done, s[FROZEN]), s[BATCH_SIZE])


@njit
def processed(t, s, position, batch, settings):
    """Up to which offset each partition's records have been processed at ``t``: int64[n]."""
    if s[PHASE] == COMMIT_BEFORE:
        return batch.copy()
    if s[PHASE] != PROCESS:
        return position.copy()
    left = processed_count(t, s, settings)
    n = position.size
    done = batch.copy()
    for j in range(n):
        k = (s[FIRST] + j) % n
        taken = min(position[k] - batch[k], left)
        done[k] += taken
        left -= taken
    return done


@inner
def send_commit(t, s, position, flight, latency):
    for k in range(position.size):
        flight[k] = position[k]
    s[FLIGHT_AT] = t + latency


@inner
def seek_back(position, batch):
    for k in range(position.size):
        position[k] = batch[k]


@njit
def advance(
    until, hold, s, own, position, batch, flight, fresh, rate, created, committed, verdict, settings
):
    """Play the loop up to ``until``; returns why it stopped.

    ``hold``: stop before the next poll instead of making it. ``own`` int64[n]: partitions;
    ``position``, ``batch``, ``flight`` int64[n]: next offset to fetch, where the current batch
    begins, what the commit under way says; ``fresh`` int64[n]: room to work. ``committed`` int64:
    of all partitions. ``verdict``: what becomes of commits that arrive: ``FAILS`` tells the client
    without further effect, ``ASKED`` stops here, for somebody to decide.
    """
    mode, latency = settings[MODE], settings[LATENCY]
    behind = settings[REPLICATION] + latency
    while True:
        t = s[NEXT]
        flight_at = s[FLIGHT_AT]
        if 0 <= flight_at <= until and flight_at <= t:
            if verdict == ASKED:
                return COMMIT_ARRIVED
            s[FLIGHT_AT] = -1
            if verdict == FAILS:
                s[FAILED] += 1
                if mode == BEFORE or mode == TRANSACTION:
                    # The application gives the batch up, waits a bit, and reads it again.
                    if mode == TRANSACTION:
                        s[ABORTED] += s[BATCH_SIZE]
                    seek_back(position, batch)
                    s[PHASE] = COMMIT_AFTER
                    s[NEXT] = flight_at + latency + settings[BACKOFF]
                continue
            s[COMMITS] += 1
            for k in range(own.size):
                committed[own[k]] = flight[k]
            if mode == TRANSACTION:
                for k in range(own.size):
                    batch[k] = position[k]
            continue
        if t > until:
            return REACHED
        phase = s[PHASE]
        if phase == POLL:
            if hold:
                return HELD
            s[LAST_POLL] = t
            if mode == AUTO and t >= s[NEXT_COMMIT] and s[FLIGHT_AT] < 0:
                send_commit(t, s, position, flight, latency)
                s[NEXT_COMMIT] = t + settings[COMMIT_INTERVAL]
            if t < s[FETCHED_AT]:
                s[NEXT] = s[FETCHED_AT]
                continue
            seen = t - behind
            there = look(seen, own, position, fresh, rate, created)
            if s[WAIT_UNTIL] < 0:
                s[WAIT_UNTIL] = t + settings[MAX_WAIT]
            if there < settings[MIN_RECORDS] and t < s[WAIT_UNTIL]:
                stop = s[WAIT_UNTIL]
                if mode == AUTO and t < s[NEXT_COMMIT]:
                    stop = min(stop, s[NEXT_COMMIT])
                s[NEXT] = behind + when_available(
                    seen + 1, stop - behind, settings[MIN_RECORDS],
                    own, position, rate, created,
                )  # fmt: skip
                continue
            s[WAIT_UNTIL] = -1
            if there == 0:
                s[NEXT] = t + 1
                continue
            s[POLLS] += 1
            if there <= settings[MAX_RECORDS]:
                for k in range(own.size):
                    batch[k] = position[k]
                    position[k] += fresh[k]
                s[FIRST] = s[TURN] = 0
                s[BATCH_SIZE] = there
            else:
                take_batch(s, position, batch, fresh, settings[MAX_RECORDS])
            size = s[BATCH_SIZE]
            if size == there:
                s[FETCHED_AT] = t + 2 * latency  # nothing is left here: the next fetch goes out now
            s[FROZEN] = 0
            if mode == BEFORE:
                send_commit(t, s, position, flight, latency)
                s[PHASE] = COMMIT_BEFORE
                s[NEXT] = t + 2 * latency
            else:
                s[PHASE] = PROCESS
                s[BATCH_AT] = t
                s[NEXT] = t + max(1, -(-size * settings[PROCESSING_US] // 1000))
                if s[NEXT] - t > settings[MAX_POLL_INTERVAL]:
                    return LONG_BATCH
        elif phase == PROCESS:
            s[PHASE] = POLL
            if mode == TRANSACTION or (
                mode == AFTER and t - s[LAST_COMMIT] >= settings[COMMIT_INTERVAL]
            ):
                send_commit(t, s, position, flight, latency)
                s[LAST_COMMIT] = t
                s[PHASE] = COMMIT_AFTER
                s[NEXT] = t + 2 * latency
        elif phase == COMMIT_AFTER:
            s[PHASE] = POLL
        elif phase == COMMIT_BEFORE:
            s[PHASE] = PROCESS
            s[BATCH_AT] = t
            s[NEXT] = t + max(1, -(-s[BATCH_SIZE] * settings[PROCESSING_US] // 1000))
            if s[NEXT] - t > settings[MAX_POLL_INTERVAL]:
                return LONG_BATCH
        else:
            return REACHED
