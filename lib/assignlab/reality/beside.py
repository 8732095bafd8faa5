"""A recorded group beside the timeline's: the same scenario, settings, ids and moments, compared.

A recording is cut into steps: a step is what comes together (its members' starts, one action or
several) and the time until the next. Of each step are compared

- ``rounds``: generations that members got an assignment of;
- ``owners``: who has which partitions at its end;
- ``callbacks``: what each member's listener was told, in order: assigned, revoked, lost;
- ``settled``: ms until the last of these calls;
- ``gap``: ms for which a partition was without an owner, the longest one.

And of groups whose topics have records,

- ``repeated``: records that somebody had processed before: how many, as what begins in the step;
- ``lost``: records that nobody processed although the group is through with them,
  when it passed them;
- ``refused``: the exceptions of ``commitSync``, each member's.

Heartbeats of real members come a little late, and their phases drift; so the timeline plays a
recording several times, as exact as it can be and with drifting heartbeats; members take up to
:data:`CONNECT_MS` to start. What is counted has to
be as in one of its plays; a time, within :data:`SLACK_MS` of their range (:data:`START_MS` where
processes start). How many records are repeated or lost depends on moments, too: when the last
commit was, how far a batch was. They may be as many more or less as these partitions get in the
same slack, or where batches are committed, as a member processes; none is none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from assignlab.reality.hosts import JAVA
from assignlab.reality.recording import Got, Recording, scenario_of, strategies_of
from assignlab.reality.scripts import is_server
from assignlab.timeline import deliveries_frame, run
from assignlab.timeline.config import OF_CLIENTS, Config, defaults
from assignlab.timeline.engine.history import History
from assignlab.timeline.measure import lost_records

APART_MS = 2_500
"""Actions that are further apart begin a step of their own."""
SLACK_MS = 250
"""What a real machine takes beyond messages and processing: threads that wait for a core."""
START_MS = 500
"""The same in a step in which processes start:
what a client does before it joins for the first time."""
CONNECT_MS = 50
"""How much later than it starts a real member is ready to join, at most: half of the first assignments of
Java's classic groups came 12 to 52 ms later than to members that are ready at once."""
DRIFTS_MS = (0, 50, 100, 200, 400)
"""Of the plays of one recording, each with a seed of its own."""
PREPARED_MS, PHASES = 10_000, 5
"""Consumers were made so long before the first of them starts, at most; and at how many moments of it,
or of the interval that counts from there."""

CHECKS = ("rounds", "owners", "callbacks", "settled", "gap")
TIMES = ("settled", "gap")
AMOUNTS = ("repeated", "lost")
OF_RECORDS = (*AMOUNTS, "refused")
EXCEPTIONS = {
    "REBALANCE_IN_PROGRESS": "RebalanceInProgressException",
    "ILLEGAL_GENERATION": "CommitFailedException",
    "UNKNOWN_MEMBER_ID": "CommitFailedException",
    "STALE_MEMBER_EPOCH": "CommitFailedException",
    "FENCED_INSTANCE_ID": "FencedInstanceIdException",
}
"""What ``commitSync`` throws for an error of the coordinator, where it is not called as here."""
CALLS = ("assigned", "revoked", "lost")
GONE = ("crashed", "closed", "fatal")


class Told(NamedTuple):
    """What happened to a member: one of :data:`CALLS`, or it is one of :data:`GONE`."""

    at: int
    member: str
    kind: str
    partitions: frozenset[str]
    generation: int


class Amount(NamedTuple):
    """So many records of a partition, from a moment on."""

    at: int
    partition: str
    records: int


class Play(NamedTuple):
    """A group in time: what happened to members, records ``repeated`` and ``lost``, and which
    commits were ``refused``: (ms, member, exception)."""

    told: list[Told]
    repeated: list[Amount]
    lost: list[Amount]
    refused: list[tuple[int, str, str]]


def real(recording: Recording) -> Play:
    """A recorded group."""
    refused = [
        (event["at"], event["member"], event["error"])
        for event in recording["events"]
        if event["kind"] == "refused"
    ]
    got = [Got(*row) for row in recording.get("records", ())]
    return Play(_told(recording), *_amounts(got), refused)


def _told(recording: Recording) -> list[Told]:
    crashes = [
        {"at": action["at"], "kind": "crashed", "member": action["member"]}
        for action in recording["actions"]
        if action["kind"] == "crash"
    ]
    events = sorted([*recording["events"], *crashes], key=lambda event: event["at"])
    return [
        Told(
            event["at"], event["member"], event["kind"],
            frozenset(event.get("partitions", ())), event.get("generation", -1),
        )
        for event, was_last in zip(events, _of_last_processes(events), strict=True)
        if event["kind"] in CALLS or (event["kind"] in GONE and was_last)
    ]  # fmt: skip


def _of_last_processes(events: Iterable[dict[str, Any]]) -> Iterator[bool]:
    """Of each event, whether no process of its member runs on after it: who closes in a rebalance may be
    through with it when the member's next process has its partitions."""
    running: Counter[str] = Counter()
    for event in events:
        running[event["member"]] += (event["kind"] == "started") - (event["kind"] in GONE)
        yield running[event["member"]] <= 0


def _amounts(got: Iterable[Got]) -> tuple[list[Amount], list[Amount]]:
    """What is repeated and lost of processed records; lost ones once somebody was beyond them."""
    repeated, lost = [], []
    processed: dict[str, set[int]] = defaultdict(set)
    passed: dict[str, list[tuple[int, range]]] = defaultdict(list)
    for one in sorted(got, key=lambda one: one.since):
        known, here = processed[one.partition], range(one.start, one.stop)
        if again := len(known.intersection(here)):
            repeated.append(Amount(one.since, one.partition, again))
        beyond = max(known, default=-1) + 1
        if one.start > beyond:
            passed[one.partition].append((one.since, range(beyond, one.start)))
        known.update(here)
    for partition, holes in passed.items():
        for at, hole in holes:
            if missing := len(set(hole) - processed[partition]):
                lost.append(Amount(at, partition, missing))
    return repeated, lost


def played(recording: Recording, drifts_ms: Iterable[int] = DRIFTS_MS) -> list[Play]:
    """What the timeline says that happens, play by play; a play for each drift of heartbeats.

    When the consumers were made that are there at first, not every recording says; where it does not, it
    is another moment in every play. Whether an auto commit runs ahead of the work is a race: where it
    may, none does in one play, and all do in the next.
    """
    scenario, ids = scenario_of(recording), ids_of(recording)
    strategies = strategies_of(recording)
    server = any(is_server(member.strategies or strategies) for member in scenario.members)
    plays = []
    for seed, drift in enumerate(drifts_ms):
        config = config_of(recording, drift)
        if config.auto_commit_ahead_percent:
            config = replace(config, auto_commit_ahead_percent=100 * (seed % 2))
        every = config.auto_commit_interval_ms if server else config.metadata_max_age_ms
        made_ms = -(seed % PHASES) * min(every, PREPARED_MS) // PHASES
        members = [
            replace(member, made_ms=made_ms) if member.made_ms is None else member
            for member in scenario.members
        ]
        begun = replace(scenario, members=members)
        plays.append(predicted(run(begun, config, strategies, seed, ids)))
    return plays


def predicted(history: History) -> Play:
    """A history of the timeline."""
    if not history.log.rate.any():
        return Play(_predicted(history), [], [], [])
    again = deliveries_frame(history).rename(columns={"from_ms": "at", "again": "records"})
    lost = lost_records(history).rename(columns={"time_ms": "at"})
    refused = [
        (event.time_ms, history.members[event.member], EXCEPTIONS.get(event.detail, event.detail))
        for event in history.events
        if event.kind == "commit refused"
        and history.config.commit != "auto"
        and event.detail != "NOT_COORDINATOR"
    ]  # nobody is told of an auto commit; the other one is kafka-go's, whose members tell all errors alike
    return Play(_predicted(history), _rows(again), _rows(lost), refused)


def _rows(frame: pd.DataFrame) -> list[Amount]:
    return [
        Amount(row.at, f"{row.topic}-{row.partition}", row.records)
        for row in frame.itertuples()
        if row.records
    ]


def _predicted(history: History) -> list[Told]:
    return [
        Told(
            event.time_ms, history.members[event.member], event.kind,
            frozenset(history.cluster.labels(event.partitions)), event.generation,
        )
        for event in history.events
        if event.kind in CALLS + GONE
    ]  # fmt: skip


def config_of(recording: Recording, drift_ms: int = 0) -> Config:
    """The settings of a recorded group; of those that Java's client decides, as its release has them,
    where all are of one."""
    told = [client.split() for client in recording["client"].split(", ")]
    java = [release for name, release in told if name == JAVA]
    clients = defaults(java[0] if len(java) == 1 else recording["broker"])
    known = vars(Config())
    broker = {name.replace(".", "_"): value for name, value in recording["broker_settings"].items()}
    settings = {name: value for name, value in broker.items() if name in known}
    settings |= {name: getattr(clients, name) for name in OF_CLIENTS}
    settings |= {"commit": "none"} | recording["settings"] | {"heartbeat_drift_ms": drift_ms}
    settings["poll_timeout_ms"] = 50  # as the recorded members poll
    settings["start_spread_ms"] = CONNECT_MS
    return defaults(recording["broker"], **settings)


def ids_of(recording: Recording) -> dict[str, list[str]]:
    """The ids that topics and members got, by name."""
    ids = {topic["name"]: [topic["id"]] for topic in recording["topics"]}
    ids |= {made["creates"][0]: [made["id"]] for made in recording["actions"] if "id" in made}
    for event in recording["events"]:
        if "id" in event:
            ids.setdefault(event["member"], []).append(event["id"])
    return ids


# ---- steps and what is compared of them ----------------------------------------------------------


class Step(NamedTuple):
    """A part of a recording: from one thing that is done to the next; ``what``: in words."""

    number: int
    what: str
    start: int
    stop: int

    @property
    def starts(self) -> bool:
        """Whether processes start in it."""
        return any(done.split()[0] in ("start", "join", "return") for done in self.what.split(", "))


def steps(recording: Recording) -> list[Step]:
    done = [(member["start_ms"], "start") for member in recording["members"]]
    for action in recording["actions"]:
        done.append((action["at"], f"{action['kind']} {action.get('member', '')}".strip()))
    done.sort()
    groups: list[list[tuple[int, str]]] = []
    for at, what in done:
        if not groups or at - groups[-1][-1][0] > APART_MS:
            groups.append([])
        groups[-1].append((at, what))
    stops = [group[0][0] for group in groups[1:]] + [recording["duration_ms"]]
    return [
        Step(number, ", ".join(dict.fromkeys(what for _, what in group)), group[0][0], stop)
        for number, (group, stop) in enumerate(zip(groups, stops, strict=True))
    ]


def measured(play: Play, step: Step, server: bool) -> dict[str, Any]:
    """The measures of a step, by the names of :data:`CHECKS` and :data:`OF_RECORDS`."""
    told = play.told
    before = [one for one in told if one.at < step.start]
    here = [one for one in told if step.start <= one.at < step.stop]
    calls = [one for one in here if one.kind in CALLS and one.partitions]
    rounds = {
        one.generation for one in here if one.kind == "assigned" and (one.partitions or not server)
    }
    by_member = defaultdict(list)
    for one in calls:
        by_member[one.member].append((one.kind, tuple(sorted(one.partitions))))
    return {
        "rounds": len(rounds),
        "owners": _named(_owners([*before, *here])),
        "callbacks": tuple(sorted((member, tuple(found)) for member, found in by_member.items())),
        "settled": calls[-1].at - step.start if calls else 0,
        "gap": _longest_gap(before, here, step),
        "repeated": _by_partition(play.repeated, step),
        "lost": _by_partition(play.lost, step),
        "refused": _named(_exceptions(play, step)),
    }


def _by_partition(amounts: Iterable[Amount], step: Step) -> dict[str, int]:
    found: Counter[str] = Counter()
    for one in amounts:
        if step.start <= one.at < step.stop:
            found[one.partition] += one.records
    return dict(found)


def _exceptions(play: Play, step: Step) -> dict[str, set[str]]:
    found: dict[str, set[str]] = defaultdict(set)
    for at, member, exception in play.refused:
        if step.start <= at < step.stop:
            found[member].add(exception)
    return found


def _owners(told: Iterable[Told]) -> dict[str, set[str]]:
    """Member -> the partitions that it has after all this."""
    owned: dict[str, set[str]] = defaultdict(set)
    for one in told:
        if one.kind == "assigned":
            owned[one.member] |= one.partitions
        elif one.kind in GONE:
            owned[one.member].clear()
        else:
            owned[one.member] -= one.partitions
    return owned


def _named(owned: dict[str, set[str]]) -> tuple:
    return tuple((member, tuple(sorted(has))) for member, has in sorted(owned.items()) if has)


def _longest_gap(before: list[Told], here: list[Told], step: Step) -> int:
    """The longest time in a step for which a partition that had an owner, or gets one, has none."""
    owned = _owners(before)
    holders: dict[str, set[str]] = defaultdict(set)
    for member, has in owned.items():
        for partition in has:
            holders[partition].add(member)
    known = set(holders).union(*(one.partitions for one in here))
    since = {partition: step.start for partition in known if not holders[partition]}
    longest = 0
    for one in here:
        gone = one.kind in GONE
        for partition in [p for p in known if one.member in holders[p]] if gone else one.partitions:
            if one.kind == "assigned":
                longest = max(longest, one.at - since.pop(partition, one.at))
                holders[partition].add(one.member)
            else:
                holders[partition].discard(one.member)
                if not holders[partition]:
                    since[partition] = one.at
    return max([longest, *(step.stop - at for at in since.values())])


# ---- the comparison ------------------------------------------------------------------------------


def compare(
    recordings: Iterable[Recording],
    drifts_ms: Sequence[int] = DRIFTS_MS,
    slack_ms: int = SLACK_MS,
    start_ms: int = START_MS,
) -> pd.DataFrame:
    """Every check of every step: ``broker``, ``client``, ``scenario``, ``strategy`` (without its
    release), ``step``, ``what``, ``check``, ``real``, ``predicted`` (of times and amounts their
    range, else what a play has, one that is as ``real`` if there is one), ``equal``; but for times
    and amounts ``alike``, the share of the plays that are as ``real``; of times also ``real_ms``,
    ``least_ms``, ``most_ms``, ``off_ms``, by how much it is out of the range, and ``slack_ms``, by
    how much it may be.
    """
    rows = []
    for recording in recordings:
        known = scenario_of(recording).versions
        server = any(is_server(m.strategies or recording["strategies"]) for m in known)
        happened, plays = real(recording), played(recording, drifts_ms)
        paces = _paces(recording)
        checks = CHECKS + OF_RECORDS if "records" in recording else CHECKS
        about = {
            "broker": recording["broker"],
            "client": recording["client"],
            "scenario": recording["name"],
            "strategy": recording["strategies"][0].partition("@")[0],
        }
        for step in steps(recording):
            found = measured(happened, step, server)
            said = [measured(told, step, server) for told in plays]
            slack = start_ms if step.starts else slack_ms
            for check in checks:
                told = _beside(check, found[check], [play[check] for play in said], slack, paces)
                where = {"step": step.number, "what": step.what, "check": check}
                rows.append({**about, **where, **told})
    return pd.DataFrame(rows)


def totals(compared: pd.DataFrame) -> list[str]:
    """Of each check, how many are as the timeline says, for people."""
    return [
        f"{check}: {int(equal.sum())} of {len(equal)} as the timeline says"
        for check, equal in compared.groupby("check", sort=False)["equal"]
    ]


def best_window(real_ms: Sequence[float], width_ms: float, slack_ms: Sequence[float]) -> float:
    """The share of times that one window holds, give or take the slack of each, where it is placed
    best: what who knows no group can guess.

    >>> best_window([0, 90, 100, 300], 20, [0, 0, 0, 0]), best_window([0, 90, 100, 300], 20, [100] * 4)
    (0.5, 0.75)
    """
    times, slack = np.asarray(real_ms, dtype=float), np.asarray(slack_ms, dtype=float)
    first, last = np.sort(times - width_ms - slack), np.sort(times + slack)
    # A window that begins at one of these holds those whose first place is past and last is not.
    held = np.searchsorted(first, last, "right") - np.searchsorted(last, last, "left")
    return float(held.max() / times.size)


def ranges(times: pd.DataFrame) -> pd.DataFrame:
    """How good the predicted ranges of times are; a row for each check of :func:`compare`'s rows.

    ``width_ms`` is the median; ``inside`` and ``near`` are the shares of steps in their range, and
    off it by the slack at most; ``guess_inside`` and ``guess_near`` the same of :func:`best_window`
    of that width; ``off_*_ms`` by how much times are out of their range.

    >>> one = {"check": "gap", "least_ms": 0, "most_ms": 20, "slack_ms": 100}
    >>> rows = [one | {"real_ms": real, "off_ms": max(0, real - 20)} for real in (0, 90, 100, 300)]
    >>> ranges(pd.DataFrame(rows)).loc["gap", ["width_ms", "inside", "near", "guess_near"]].to_list()
    [20.0, 0.25, 0.75, 0.75]
    """
    rows = {}
    for check, part in times.groupby("check", sort=False):
        real_ms, slack, off = part["real_ms"], part["slack_ms"], part["off_ms"]
        width = (part["most_ms"] - part["least_ms"]).median()
        rows[check] = {
            "steps": len(part),
            "width_ms": width,
            "inside": off.eq(0).mean(),
            "near": off.le(slack).mean(),
            "guess_inside": best_window(real_ms, width, 0 * slack),
            "guess_near": best_window(real_ms, width, slack),
            "off_median_ms": off.median(),
            "off_worst_twentieth_ms": off.quantile(0.95),
            "off_most_ms": off.max(),
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("check")


def _paces(recording: Recording) -> tuple[float, float]:
    """Records a ms: a partition gets so many, and a member is through with so many of a batch that
    it commits itself."""
    scenario, by_batch = scenario_of(recording), config_of(recording).commit != "auto"
    processing_ms = min(member.processing_ms for member in scenario.members)
    return max(t.rate for t in scenario.topics) / 1000, by_batch / processing_ms


def _beside(
    check: str, found: Any, said: list[Any], slack: int, paces: tuple[float, float]
) -> dict[str, Any]:
    if check in AMOUNTS:
        gets, processes = paces
        given = slack * max(gets * max(map(len, [found, *said])), processes)
        found, said = sum(found.values()), [sum(one.values()) for one in said]
        least, most, off = _range(found, said)
        equal = off <= given and (found > 0) in {one > 0 for one in said}
        return {"real": str(found), "predicted": _span(least, most), "equal": equal}
    if check in TIMES:
        least, most, off = _range(found, said)
        values = {"real_ms": found, "least_ms": least, "most_ms": most, "off_ms": off}
        values["slack_ms"] = slack
        return {
            "real": str(found), "predicted": _span(least, most), "equal": off <= slack, **values
        }  # fmt: skip
    put = str if check == "rounds" else spelled
    told = {"real": put(found), "predicted": put(found if found in said else said[0])}
    return told | {"equal": found in said, "alike": said.count(found) / len(said)}


def _range(found: int, said: list[int]) -> tuple[int, int, int]:
    """(least, most, by how much what was found is out of this)."""
    least, most = min(said), max(said)
    return least, most, max(least - found, found - most, 0)


def _span(least: int, most: int) -> str:
    return f"{least} to {most}" if least < most else str(least)


def spelled(measure: tuple) -> str:
    """Owners, exceptions or callbacks in one line: ``a: t-0 t-1; b: assigned t-2, revoked t-2``."""
    return "; ".join(
        f"{member}: {', '.join(_call(one) if isinstance(one, tuple) else one for one in found)}"
        for member, found in measure
    )


def _call(call: tuple[str, tuple[str, ...]]) -> str:
    kind, partitions = call
    return f"{kind} {' '.join(partitions)}"
