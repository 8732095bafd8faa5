"""Numbers of a history: records delivered once, again, or never, and why; time without an owner.

Counts are exact: deliveries are intervals of offsets, laid over each other per partition in the
order in which they began. A record counts as lost if it was never delivered although its partition
has gone on beyond it, for good.
"""

from collections import Counter

import numpy as np
import pandas as pd

from assignlab.compiled import njit
from assignlab.timeline.history import SAMPLE, WATCHED, History


def totals(history: History) -> dict:
    """The numbers of a whole history, flat; times in ms, the others in records or as named.

    ``produced``; ``delivered`` (every delivery counts), ``distinct`` (records delivered at least
    once), ``once``, ``repeated`` (deliveries beyond the first), ``lost``, ``waiting`` (neither
    delivered nor lost); ``aborted``: deliveries by transactions that were given up, which only
    ``read_uncommitted`` readers see; ``rounds``: generations, or target assignments;
    ``unowned_ms``: time without an owner, added up over partitions, from their creation on;
    ``refused``: refused commits; ``lag_most``, ``lag_end``: records, at the samples.
    """
    deliveries = deliveries_frame(history)
    lost = int(lost_records(history)["records"].sum())
    produced = int(history.produced.sum())
    delivered = int((deliveries["to_offset"] - deliveries["from_offset"]).sum())
    repeated = int(deliveries["again"].sum())
    distinct = delivered - repeated
    seen_aborted = history.aborted if history.config.isolation_level == "read_uncommitted" else 0
    lags = [row[SAMPLE.index("lag")] for row in history.samples]
    kinds = Counter(event.kind for event in history.events)
    return {
        "produced": produced,
        "delivered": delivered + seen_aborted,
        "distinct": distinct,
        "once": _once(history),
        "repeated": repeated + seen_aborted,
        "lost": lost,
        "waiting": produced - distinct - lost,
        "aborted": history.aborted,
        "rounds": kinds["generation"],
        "refused": kinds["commit refused"],
        "unowned_ms": int(unowned_ms(history, 0, history.scenario.duration_ms)),
        "lag_most": max(lags),
        "lag_end": lags[-1],
    }


def repeats(history: History) -> pd.DataFrame:
    """Why records were delivered again: reason, records; most first.

    The reason is how the delivery before ended, where the owner that delivered again started.
    """
    deliveries = deliveries_frame(history)
    again = deliveries[deliveries["again"] > 0]
    table = again.groupby("because")["again"].sum().sort_values(ascending=False, kind="stable")
    return table.rename_axis("reason").rename("records").reset_index()


def losses(history: History) -> pd.DataFrame:
    """Why records were never delivered: reason, records; most first."""
    table = lost_records(history).groupby("reason")["records"].sum()
    table = table[table > 0].sort_values(ascending=False, kind="stable")
    return table.rename_axis("reason").reset_index()


def deliveries_frame(history: History) -> pd.DataFrame:
    """Every delivery: member, topic, partition, from_offset, to_offset, from_ms, to_ms, again,
    because. ``again``: how many of its records had been delivered before; one row per owner and
    partition."""
    dense, starts, stops, because, member, since, until = _arrays(history)
    again, _, _, _ = _laid(history)
    codes = history.cluster.codes(dense)
    return pd.DataFrame(
        {
            "member": np.array(history.members, dtype=object)[member],
            "topic": np.array(history.cluster.names, dtype=object)[codes >> 32],
            "partition": codes & 0xFFFFFFFF,
            "from_offset": starts,
            "to_offset": stops,
            "from_ms": since,
            "to_ms": until,
            "again": again,
            "because": np.array(history.log.reasons, dtype=object)[because],
        }
    )


def lost_records(history: History) -> pd.DataFrame:
    """What was skipped for good: time_ms, topic, partition, records, reason."""
    _, offsets, lows, highs = _laid(history)
    columns = list(zip(*history.log.skips, strict=True)) or [()] * 5
    empty = np.empty(0, dtype=np.int64)
    dense, low, high, why = (np.concatenate(column) if column else empty for column in columns[:4])
    skips = history.log.skips
    at = np.repeat([row[4] for row in skips], [row[0].size for row in skips])
    missing = _missing(dense, low, high, history.frontier, offsets, lows, highs)
    codes = history.cluster.codes(dense)
    return pd.DataFrame(
        {
            "time_ms": at.astype(np.int64),
            "topic": np.array(history.cluster.names, dtype=object)[codes >> 32],
            "partition": codes & 0xFFFFFFFF,
            "records": missing,
            "reason": np.array(history.log.reasons, dtype=object)[why],
        }
    )


def owners(history: History) -> tuple[np.ndarray, np.ndarray]:
    """How many partitions have an owner, as steps: (moments ms, count from then on)."""
    _, _, since, until, _ = history.owned_arrays()
    moments, place = np.unique(np.concatenate((since, until, [0])), return_inverse=True)
    change = np.zeros(moments.size, dtype=np.int64)
    np.add.at(change, place[: since.size], 1)
    np.add.at(change, place[since.size : 2 * since.size], -1)
    return moments, np.cumsum(change)


def unowned(history: History) -> pd.DataFrame:
    """How many existing partitions have no owner: time_ms, count; one row per change."""
    moments, owned = owners(history)
    created = np.sort(history.log.created)
    times = np.unique(np.concatenate((moments, created[created <= history.scenario.duration_ms])))
    there = np.searchsorted(created, times, side="right")
    taken = owned[np.searchsorted(moments, times, side="right") - 1]
    return pd.DataFrame({"time_ms": times, "count": there - taken})


def gaps(history: History) -> list[tuple[tuple[str, int], int, int]]:
    """When a partition had no owner: ((topic, partition), from_ms, to_ms), since its creation."""
    owned = history.ownership()
    stop = history.scenario.duration_ms
    found = []
    created = history.log.created
    for dense, (topic, partition) in enumerate(partitions_of(history)):
        rows = owned[(owned["topic"] == topic) & (owned["partition"] == partition)]
        since = int(created[dense])
        for row in rows.sort_values("from_ms").itertuples():
            if row.from_ms > since:
                found.append(((topic, partition), since, row.from_ms))
            since = max(since, row.to_ms)
        if since < stop:
            found.append(((topic, partition), since, stop))
    return found


def partitions_of(history: History) -> list[tuple[str, int]]:
    """(topic, partition) of every partition that there is by the end."""
    codes = history.cluster.codes(np.arange(len(history.log.created)))
    return [(history.cluster.names[c >> 32], int(c & 0xFFFFFFFF)) for c in codes.tolist()]


def unowned_ms(history: History, start: int, stop: int) -> int:
    """Time without an owner from ``start`` to ``stop``, added up over partitions, in ms."""
    steps = history.once(unowned)
    times, counts = steps["time_ms"].to_numpy(), steps["count"].to_numpy()
    ends = np.append(times[1:], max(stop, times[-1]))
    spans = np.clip(np.minimum(ends, stop) - np.maximum(times, start), 0, None)
    return int((spans * counts).sum())


def per_event(history: History) -> pd.DataFrame:
    """What each action cost, from it to the next one; the first row is the start of the group.

    Columns: ``event``, ``member``, ``time_ms``; ``rounds``; ``settled_ms``: until the last change
    of an assignment; ``unowned_s``: partition-seconds without an owner; ``revoked``: partitions
    given up, ``lost_partitions``: taken away; ``repeated``: records whose second delivery began
    here; ``lost``: records; ``lag_built``: most lag beyond that at the beginning; ``catch_up_ms``:
    from the action until the lag was back to what is produced in 100 ms at most, or to what it was
    before, at the samples' resolution; null if it never was.
    """
    deliveries = history.once(deliveries_frame)
    lost = history.once(lost_records)
    samples = samples_frame(history)
    starts = [(0, "start", "")] + [
        (e.time_ms, e.kind.removeprefix("action: "), e.detail)
        for e in history.events
        if e.kind.startswith("action: ")
    ]
    stops = [start[0] for start in starts[1:]] + [history.scenario.duration_ms]
    kinds = np.array([e.kind for e in history.events], dtype=object)
    times = np.array([e.time_ms for e in history.events], dtype=np.int64)
    sizes = np.array([e.partitions.size for e in history.events], dtype=np.int64)
    moved = np.isin(kinds, ["assigned", "revoked", "lost", "generation"])
    usual = int(100 * history.log.rate.sum())
    rows = []
    for (start, event, member), stop in zip(starts, stops, strict=True):
        here = (times >= start) & (times < stop)
        changes = times[here & moved]
        began = deliveries["from_ms"].between(start, stop, inclusive="left")
        gone = lost["time_ms"].between(start, stop, inclusive="left")
        lag_built, catch_up = _catch_up(samples, start, stop, usual)
        rows.append(
            {
                "event": event,
                "member": member,
                "time_ms": start,
                "rounds": int((here & (kinds == "generation")).sum()),
                "settled_ms": int(changes[-1] - start) if changes.size else 0,
                "unowned_s": unowned_ms(history, start, stop) / 1000,
                "revoked": int(sizes[here & (kinds == "revoked")].sum()),
                "lost_partitions": int(sizes[here & (kinds == "lost")].sum()),
                "repeated": int(deliveries["again"][began].sum()),
                "lost": int(lost["records"][gone].sum()),
                "lag_built": lag_built,
                "catch_up_ms": catch_up,
            }
        )
    return pd.DataFrame(rows)


def _catch_up(samples: pd.DataFrame, start: int, stop: int, usual: int) -> tuple[int, float | None]:
    """(most lag built up, when it was back); ``usual``: lag that a steady group has, too."""
    here = samples[samples["time_ms"].between(start, stop)]
    before = samples[samples["time_ms"] <= start]["lag"]
    if here.empty or before.empty:
        return 0, None
    level = int(before.iloc[-1])
    built = here["lag"].to_numpy() - level
    if built.max() <= 0:
        return 0, 0.0
    peak = int(built.argmax())
    back = np.flatnonzero(here["lag"].to_numpy()[peak:] <= max(level, usual))
    caught = float(here["time_ms"].to_numpy()[peak + back[0]] - start) if back.size else None
    return int(built.max()), caught


def samples_frame(history: History) -> pd.DataFrame:
    """The samples: time_ms, lag, unowned, committed_lag, end_offset."""
    return pd.DataFrame(history.samples, columns=list(SAMPLE))


def watched_frame(history: History) -> pd.DataFrame:
    """The four offsets of the watched partitions at every sample, and who owns them."""
    frame = pd.DataFrame(history.watched, columns=list(WATCHED))
    frame["owner"] = [history.members[n] if n >= 0 else "" for n in frame["owner"]]
    frame["partition"] = history.cluster.labels(frame["partition"].to_numpy())
    return frame


# ---- intervals ---------------------------------------------------------------------------------


def _arrays(history: History) -> tuple[np.ndarray, ...]:
    """(partition, from, to, because, member, since, until) of all deliveries, in order."""
    rows = history.log.deliveries
    if not rows:
        return (np.empty(0, dtype=np.int64),) * 7
    sizes = [row[0].size for row in rows]
    columns = [np.concatenate([row[i] for row in rows]) for i in (0, 1, 2, 3, 5)]
    member = np.repeat([row[4] for row in rows], sizes)
    until = np.repeat([row[6] for row in rows], sizes)
    dense, starts, stops, because, since = columns
    order = np.lexsort((since, dense))
    return tuple(a[order] for a in (dense, starts, stops, because, member, since, until))


def _laid(history: History):
    return history.once(_lay_out)


def _lay_out(history: History):
    dense, starts, stops, *_ = _arrays(history)
    return lay(dense, starts, stops, history.log.rate.size)


def _once(history: History) -> int:
    dense, starts, stops, *_ = _arrays(history)
    return int(exactly_once(dense, starts, stops))


@njit
def lay(dense, starts, stops, partitions):
    """Lay deliveries over each other, partition by partition, in order.

    Returns (again int64[n]: records of each that were delivered before; offsets, lows, highs: the
    disjoint intervals that were delivered, partition p's in ``lows[offsets[p]:offsets[p + 1]]``).
    """
    n = dense.size
    again = np.zeros(n, dtype=np.int64)
    offsets = np.zeros(partitions + 1, dtype=np.int64)
    lows = np.empty(n, dtype=np.int64)
    highs = np.empty(n, dtype=np.int64)
    used = 0
    i = 0
    for p in range(partitions):
        first = used
        while i < n and dense[i] == p:
            low, high = starts[i], stops[i]
            if high > low:
                kept = first
                for j in range(first, used):
                    if highs[j] < low or lows[j] > high:
                        lows[kept], highs[kept] = lows[j], highs[j]
                        kept += 1
                    else:
                        again[i] += max(min(highs[j], stops[i]) - max(lows[j], starts[i]), 0)
                        low, high = min(low, lows[j]), max(high, highs[j])
                lows[kept], highs[kept] = low, high
                used = kept + 1
            i += 1
        offsets[p + 1] = used
    return again, offsets, lows[:used], highs[:used]


@njit
def _missing(dense, low, high, frontier, offsets, lows, highs):
    """Of every skipped interval, how many records below the frontier were never delivered."""
    missing = np.zeros(dense.size, dtype=np.int64)
    for i in range(dense.size):
        p = dense[i]
        bottom, top = low[i], min(high[i], frontier[p])
        if top <= bottom:
            continue
        missing[i] = top - bottom
        for j in range(offsets[p], offsets[p + 1]):
            missing[i] -= max(min(highs[j], top) - max(lows[j], bottom), 0)
        for other in range(i):
            # What an earlier skip accounts for is not counted again.
            if dense[other] == p and missing[other] > 0:
                missing[i] -= max(min(high[other], top) - max(low[other], bottom), 0)
        missing[i] = max(missing[i], 0)
    return missing


@njit
def exactly_once(dense, starts, stops):
    """How many records were delivered exactly once; deliveries sorted by partition."""
    total = 0
    n = dense.size
    i = 0
    while i < n:
        j = i
        while j < n and dense[j] == dense[i]:
            j += 1
        edges = np.concatenate((starts[i:j], stops[i:j]))
        change = np.concatenate((np.ones(j - i, dtype=np.int64), np.full(j - i, -1)))
        order = np.argsort(edges)
        depth = 0
        for k in range(order.size - 1):
            depth += change[order[k]]
            if depth == 1:
                total += edges[order[k + 1]] - edges[order[k]]
        i = j
    return total
