"""Numbers of a history: records delivered once, again, or never, and why; time without an owner.

Counts are exact: deliveries are intervals of offsets, laid over each other per partition in the
order in which they began. A record counts as lost if it was never delivered although its partition
has gone on beyond it, for good.
"""

from collections import Counter

import numpy as np
import pandas as pd

from assignlab.compiled import njit
from assignlab.timeline.engine.history import History, Sample, Watched
from assignlab.timeline.engine.log import Delivery, Skip, joined
from assignlab.timeline.scenario import SECOND


def totals(history: History) -> dict:
    """The numbers of a whole history, flat; times in ms, the others in records or as named.

    ``produced``; ``delivered`` (every delivery counts), ``distinct`` (records delivered at least
    once), ``once``, ``repeated`` (deliveries beyond the first), ``lost``, ``waiting`` (neither
    delivered nor lost); ``aborted``: deliveries by transactions that were given up, which only
    ``read_uncommitted`` readers see; ``rounds``: generations, or target assignments;
    ``unowned_ms``: time without an owner, added up over partitions, from their creation on;
    ``refused``: refused commits; ``lag_most``, ``lag_end``: records, at the samples.
    """
    deliveries, rows = deliveries_frame(history), history.once(_deliveries)
    lost = int(lost_records(history)["records"].sum())
    produced = int(history.produced.sum())
    delivered = int((deliveries["to_offset"] - deliveries["from_offset"]).sum())
    repeated = int(deliveries["again"].sum())
    distinct = delivered - repeated
    seen_aborted = history.aborted if history.config.isolation_level == "read_uncommitted" else 0
    lags = [sample.lag for sample in history.samples]
    kinds = Counter(event.kind for event in history.events)
    return {
        "produced": produced,
        "delivered": delivered + seen_aborted,
        "distinct": distinct,
        "once": int(exactly_once(rows.partitions, rows.starts, rows.stops)),
        "repeated": repeated + seen_aborted,
        "lost": lost,
        "waiting": produced - distinct - lost,
        "aborted": history.aborted,
        "rounds": kinds["generation"],
        "refused": history.refused,
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
    partition, and one more for every pause of the owner: what it reads on may have been read by
    another meanwhile."""
    rows = history.once(_deliveries)
    return pd.DataFrame(
        {
            "member": np.array(history.members, dtype=object)[rows.member],
            **history.cluster.named(rows.partitions),
            "from_offset": rows.starts,
            "to_offset": rows.stops,
            "from_ms": rows.since,
            "to_ms": rows.until,
            "again": history.once(_again),
            "because": np.array(history.log.reasons, dtype=object)[rows.because],
        }
    )


def lost_records(history: History) -> pd.DataFrame:
    """What was skipped for good: time_ms, topic, partition, records, reason."""
    read, rows = history.once(_deliveries), joined(history.log.skips, Skip)
    return pd.DataFrame(
        {
            "time_ms": rows.now,
            **history.cluster.named(rows.partitions),
            "records": missing(read, rows, history.frontier),
            "reason": np.array(history.log.reasons, dtype=object)[rows.reason],
        }
    )


def missing(read: Delivery, skips: Skip, frontier: np.ndarray) -> np.ndarray:
    """Of every skip, how many records below the frontier were never delivered: int64[n].

    What an earlier skip accounts for is not counted again: all are laid over each other, deliveries
    first.
    """
    tops = np.maximum(np.minimum(skips.high, frontier[skips.partitions]), skips.low)
    dense, starts, stops = (
        np.concatenate(both)
        for both in (
            (read.partitions, skips.partitions), (read.starts, skips.low), (read.stops, tops),
        )
    )  # fmt: skip
    order = np.argsort(dense, kind="stable")
    known = np.empty_like(dense)
    known[order] = lay(dense[order], starts[order], stops[order], frontier.size)
    return tops - skips.low - known[read.partitions.size :]


def owners(history: History) -> tuple[np.ndarray, np.ndarray]:
    """How many existing partitions have an owner, or several, as steps: (moments ms, count from then on)."""
    owned = history.once(History.owned_arrays)
    gone = history.log.until[owned.partitions]  # some are owned on, or anew, by who does not know
    since, until = np.minimum(owned.since, gone), np.minimum(owned.until, gone)
    since, until = merged(owned.partitions, since, until)
    moments, place = np.unique(np.concatenate((since, until, [0])), return_inverse=True)
    change = np.zeros(moments.size, dtype=np.int64)
    np.add.at(change, place[: since.size], 1)
    np.add.at(change, place[since.size : 2 * since.size], -1)
    return moments, np.cumsum(change)


def merged(keys: np.ndarray, since: np.ndarray, until: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(since, until) of the spans of each key, those that overlap or touch as one.

    >>> [ends.tolist() for ends in merged(*map(np.array, ([0, 1, 0, 0], [5, 0, 0, 9], [8, 3, 6, 9])))]
    [[0, 9, 0], [8, 9, 3]]
    """
    if not keys.size:
        return since, until
    order = np.lexsort((since, keys))
    apart = np.asarray(keys)[order].astype(np.int64) * (int(until.max()) + 1)
    since, until = since[order], np.maximum.accumulate(apart + until[order]) - apart
    first = np.ones(order.size, dtype=np.bool_)
    first[1:] = (np.diff(apart) > 0) | (since[1:] > until[:-1])
    return since[first], until[np.append(np.flatnonzero(first)[1:], order.size) - 1]


def unowned(history: History) -> pd.DataFrame:
    """How many existing partitions have no owner: time_ms, count; one row per change."""
    moments, owned = owners(history)
    created, gone = np.sort(history.log.since), np.sort(history.log.until)
    times = np.unique(np.concatenate((moments, created, gone)))
    times = times[times < history.scenario.duration_ms]  # at the end there is nobody any more
    there = np.searchsorted(created, times, "right") - np.searchsorted(gone, times, "right")
    taken = owned[np.searchsorted(moments, times, side="right") - 1]
    return pd.DataFrame({"time_ms": times, "count": there - taken})


def gaps(history: History) -> list[tuple[tuple[str, int], int, int]]:
    """When a partition had no owner: ((topic, partition), from_ms, to_ms), while it existed."""
    owned = history.once(History.owned_arrays)
    created = history.log.since.tolist()
    stops = np.minimum(history.log.until, history.scenario.duration_ms).tolist()
    found = []
    for dense, place in enumerate(partitions_of(history)):
        since, stop = created[dense], stops[dense]
        rows = (owned.partitions == dense) & (owned.since < stop)
        spans = zip(owned.since[rows].tolist(), owned.until[rows].tolist(), strict=True)
        for begun, ended in sorted(spans):
            if begun > since:
                found.append((place, since, begun))
            since = max(since, ended)
        if since < stop:
            found.append((place, since, stop))
    return found


def partitions_of(history: History) -> list[tuple[str, int]]:
    """(topic, partition) of every partition that there is by the end."""
    topics, numbers = history.cluster.named(np.arange(len(history.log.created))).values()
    return list(zip(topics, numbers.tolist(), strict=True))


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
    lasts = history.scenario.duration_ms
    stops = [start[0] for start in starts[1:]] + [lasts + 1]  # what comes at the very end counts
    kinds = np.array([e.kind for e in history.events], dtype=object)
    times = np.array([e.time_ms for e in history.events], dtype=np.int64)
    sizes = np.array([e.partitions.size for e in history.events], dtype=np.int64)
    moved = np.isin(kinds, ["assigned", "revoked", "lost", "generation"])
    log = history.log
    rows = []
    for (start, event, member), stop in zip(starts, stops, strict=True):
        here = (times >= start) & (times < stop)
        changes = times[here & moved]
        began = deliveries["from_ms"].between(start, stop, inclusive="left")
        gone = lost["time_ms"].between(start, stop, inclusive="left")
        usual = int(100 * log.rate[(log.since <= start) & (start < log.until)].sum())
        lag_built, catch_up = _catch_up(samples, start, stop, usual)
        rows.append(
            {
                "event": event,
                "member": member,
                "time_ms": start,
                "rounds": int((here & (kinds == "generation")).sum()),
                "settled_ms": int(changes[-1] - start) if changes.size else 0,
                "unowned_s": unowned_ms(history, start, min(stop, lasts)) / 1000,
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
    return pd.DataFrame(history.samples, columns=Sample._fields)


def watched_frame(history: History) -> pd.DataFrame:
    """The four offsets of the watched partitions at every sample, and who owns them."""
    frame = pd.DataFrame(history.watched, columns=Watched._fields)
    frame["owner"] = [history.members[n] if n >= 0 else "" for n in frame["owner"]]
    frame["partition"] = history.cluster.labels(frame["partition"].to_numpy(dtype=np.int64))
    return frame


def first_watched(history: History) -> pd.DataFrame:
    """The rows of :func:`watched_frame` about the first watched partition."""
    frame = watched_frame(history)
    return frame[frame["partition"] == frame["partition"].iloc[0]]


# ---- stories, in seconds -------------------------------------------------------------------------


def readings(history: History) -> pd.DataFrame:
    """Who read what of the first watched partition, and how much of it again.

    Columns: ``member``, ``from_s``, ``to_s``, ``from_offset``, ``to_offset``, ``again`` (records).
    """
    topic, partition = history.scenario.watch[0]
    rows = deliveries_frame(history)
    rows = rows[(rows["topic"] == topic) & (rows["partition"] == partition)]
    rows = rows.assign(from_s=rows["from_ms"] / SECOND, to_s=rows["to_ms"] / SECOND)
    return rows[["member", "from_s", "to_s", "from_offset", "to_offset", "again"]]


def skipped(history: History, topic: str, partition: int) -> pd.DataFrame:
    """What the owners of a partition passed over: ``time_ms``, ``from_offset``, ``to_offset``."""
    dense = int(history.cluster.first[history.cluster.index[topic]]) + partition
    rows = [
        (skip.now, int(skip.low[i]), int(skip.high[i]))
        for skip in history.log.skips
        for i in np.flatnonzero(skip.partitions == dense)
    ]
    return pd.DataFrame(rows, columns=["time_ms", "from_offset", "to_offset"])


def set_back(history: History) -> int:
    """By how much the commits of the first watched partition went back, most, in records."""
    committed = first_watched(history)["committed"].to_numpy()
    return int(max((np.maximum.accumulate(committed) - committed).max(), 0))


def states(history: History) -> pd.DataFrame:
    """The states of a classic group: ``state``, ``from_s``, ``to_s``, ``generation``.

    A group begins Empty. What the coordinator knew is Dead on a broker that is the coordinator no
    longer; the next one reads the group from the offsets topic.
    """
    rows = [("Empty", 0.0, 0)]
    for event in history.events:
        state = event.detail
        if event.kind == "action: coordinator_moves":
            state = "Dead"
        elif event.kind != "state":
            continue
        if state != rows[-1][0]:
            rows.append((state, event.time_ms / SECOND, max(event.generation, rows[-1][2])))
    frame = pd.DataFrame(rows, columns=["state", "from_s", "generation"])
    ends = [*frame["from_s"].iloc[1:], history.scenario.duration_ms / SECOND]
    frame.insert(2, "to_s", ends)
    return frame


def happened(history: History) -> pd.DataFrame:
    """What the scenario did to the group: ``time_s``, ``what``."""
    starts = [(m.start_ms / SECOND, f"{m.name} starts") for m in history.scenario.members]
    actions = sorted(history.scenario.actions, key=lambda action: action.at_ms)
    rows = [(a.at_ms / SECOND, f"{a.member or ''} {DONE[a.kind]}".strip()) for a in actions]
    return pd.DataFrame(starts + rows, columns=["time_s", "what"])


DONE = {
    "join": "joins", "leave": "leaves", "crash": "crashes", "return": "returns",
    "restart": "restarts", "stall": "stalls", "freeze": "freezes", "subscribe": "resubscribes",
    "unsubscribe": "unsubscribes", "enforce_rebalance": "enforces a rebalance",
    "create_topic": "topic created", "delete_topic": "topic deleted",
    "add_partitions": "partitions added",
    "coordinator_moves": "coordinator moves",
}  # fmt: skip


# ---- intervals ---------------------------------------------------------------------------------


def _deliveries(history: History) -> Delivery:
    """All deliveries in one: by partition, and then in the order in which they began."""
    rows = joined(history.log.deliveries, Delivery)
    order = np.lexsort((rows.since, rows.partitions))
    return Delivery(*(column[order] for column in rows))


def _again(history: History) -> np.ndarray:
    rows = history.once(_deliveries)
    return lay(rows.partitions, rows.starts, rows.stops, history.log.rate.size)


@njit
def lay(dense, starts, stops, partitions):
    """How many records of each interval, int64[n], were in those before it: intervals of partitions,
    sorted by these, are laid over each other in order."""
    n = dense.size
    again = np.zeros(n, dtype=np.int64)
    lows = np.empty(n, dtype=np.int64)  # of one partition: disjoint intervals, as far as laid
    highs = np.empty(n, dtype=np.int64)
    i = 0
    for p in range(partitions):
        used = 0
        while i < n and dense[i] == p:
            low, high = starts[i], stops[i]
            if high > low:
                kept = 0
                for j in range(used):
                    if highs[j] < low or lows[j] > high:
                        lows[kept], highs[kept] = lows[j], highs[j]
                        kept += 1
                    else:
                        again[i] += max(min(highs[j], stops[i]) - max(lows[j], starts[i]), 0)
                        low, high = min(low, lows[j]), max(high, highs[j])
                lows[kept], highs[kept] = low, high
                used = kept + 1
            i += 1
    return again


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
