"""``assignlab group what-if``: what would happen, event by event and strategy by strategy.

Balance and moves are replayed from what the members hold now, by the exact strategies; time without
an owner is the timeline's, under the group's own settings. A strategy other than the group's own is
switched to first; what that moves is its row "switch". The own strategy has a rebalance first, if that
ends; what that moves is the row "a rebalance", and no part of the other rows.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from assignlab import assignors
from assignlab.advice import clients, pauses, scaling
from assignlab.advice.happening import MIGRATIONS, NAMES
from assignlab.advice.play import Event, numbers, steps, stops, together
from assignlab.advice.report import Report, Table
from assignlab.advice.subject import (
    Range,
    Subject,
    answered_by,
    drawn,
    is_server,
    new_id,
    refuse_shares,
    subject,
    three_digits,
)
from assignlab.assignors.strategy import ONE_PROTOCOL, Strategy
from assignlab.errors import AssignlabError, UnknownName, refuse_unknown
from assignlab.groups.show import title
from assignlab.groups.text import printable
from assignlab.replay import events
from assignlab.replay.upgrade import assigned
from assignlab.timeline import Config
from assignlab.words import counted, listed

Make = Callable[[Subject, Strategy, random.Random], list[Event]]
NOT_PLAYED = "not played"
"""How notes begin of what no strategy was asked."""
OFFLINE = "all members stop first: group.consumer.migration.policy does not allow it online"
USER_DATA = "all members stop first: librdkafka's leader sends user data with what it assigns"
"""The notes of a change of protocols for which nobody may be left."""
BOUNCES = {"two bounces": 2, "KIP-848": 1}
"""How often every member restarts in a rolling change."""
BOTH = "{} refuses a list of eager and cooperative strategies"
TELL_AFTER = 10
"""Seconds, after which it is told how far the strategies are."""
MEASURES = ("fullest", "emptiest", "idle", "moved", "avoidable", "rounds")
COLUMNS = ("row", "event", "strategy", *MEASURES, "unowned partition-seconds", "note")


class Row(NamedTuple):
    """What an event does under a strategy, in the order of COLUMNS; numbers are None where it has no
    answer, and the note says why."""

    row: str
    event: str
    strategy: str
    fullest: Range | None = None
    emptiest: Range | None = None
    idle: Range | None = None
    moved: Range | None = None
    avoidable: Range | None = None
    rounds: Range | None = None
    unowned: Range | None = None
    note: str | None = None


def _less(subject: Subject, strategy: Strategy, draw: random.Random) -> list[Event]:
    if subject.members < 2:
        raise AssignlabError(f"{NOT_PLAYED}: the only member, nobody would be left")
    return [("less", events.leave(subject.group, [draw.randrange(subject.members)]))]


def _topic(subject: Subject, strategy: Strategy, draw: random.Random) -> list[Event]:
    _, count = _largest(subject)
    name = pauses.new_topic(subject)
    grown = events.create_topic(subject.group, name, count, range(subject.members))
    return [("topic", grown)]


def _partitions(subject: Subject, strategy: Strategy, draw: random.Random) -> list[Event]:
    name, count = _largest(subject)
    largest = subject.group.topics.names.index[name]
    return [("partitions", events.add_partitions(subject.group, {largest: 2 * count}))]


def _largest(subject: Subject) -> tuple[str, int]:
    """The topic with the most partitions of those that somebody reads, and how many they are."""
    if not subject.topics:
        raise AssignlabError("nobody reads a topic that has partitions")
    return max(subject.topics.items(), key=lambda topic: topic[1])


EVENTS: dict[str, Make] = {
    "a rebalance": lambda subject, strategy, draw: [("a rebalance", subject.group)],
    "switch": lambda subject, strategy, draw: [],
    "a member more": lambda subject, strategy, draw: [
        ("more", scaling.joined(subject, subject.group, strategy, draw))
    ],
    "a member less": _less,
    "a crash": _less,
    "a rollout": scaling.restarted,
    "a rollout with surge": partial(scaling.restarted, surge=True),
    "a topic more": _topic,
    "twice the partitions": _partitions,
}
"""The groups after what may happen."""


def report(
    document: dict[str, Any],
    chosen: Sequence[str],
    happening: Sequence[str],
    release: str,
    config: Config,
) -> Report:
    """The table of events and strategies; ``chosen`` and ``happening``: only these, if any.

    The first of ``chosen`` is the group's own where its text names none.
    """
    if chosen and document.get("strategy") is None:
        document = answered_by(document, chosen[0])
    asked = subject(clients.as_run(document, release))
    named = [clients.run_as(name, clients.client_of(asked), release) for name in chosen]
    rows = table(asked, [strategy.name for strategy in named], happening, release, config)
    large = pauses.is_large(asked)
    histories = len(pauses.starts(config, few=large))
    few = f" ({len(pauses.starts(config, few=True))} for rolling changes)"
    few *= pauses.MOST_RESTARTS < asked.members <= scaling.MOST_ROLLED_OUT and not large
    note = (
        "moved: partitions taken from their owners; avoidable: more than an answer as even needs; 'a to b':"
        f" the least and the most over {counted(scaling.draws_for(asked, 2), 'draw')} of ids"
        f" ({_rolling_draws(asked, rows)} for rollouts), of unowned over"
        f" {histories} histories{few}"
    )
    sized = {"a topic more": "as large as {}, {}", "twice the partitions": "of {}, {} now"}
    if asked.topics:
        name, count = _largest(asked)
        name = printable(name)
        for event in [event for event in sized if event in {row.event for row in rows}]:
            note += f"; {event}: {sized[event].format(name, counted(count, 'partition'))}"
    found = Table("what_if", "What if", COLUMNS, rows, note)
    said = [*clients.taken_for(asked, *named), *in_words(rows)]
    own = asked.chosen()
    if foreign := dict.fromkeys(s.name for s in named if s.membership != own.membership):
        said.insert(
            0,
            f"No client has both {own.name} and {listed(foreign)}: what is told of the latter is of a"
            " group of that system's clients, and no change that this one can make.",
        )
    if missing := [event for event in happening if event not in {row.event for row in rows}]:
        said.append(f"This group, in Kafka {release}, has none of: {', '.join(missing)}.")
    return Report(title(document), asked.document.get("inferred", []), said, [found])


def _rolling_draws(asked: Subject, rows: Sequence[Row]) -> Range:
    """How often ids are drawn for the rows of rollouts, and of rolling changes where they are played."""
    rebalances = [2 * scaling.rolled_out(asked) + 1]
    for row in rows:
        if row.event in MIGRATIONS and row.moved and row.note not in (OFFLINE, USER_DATA):
            rebalances.append(2 * BOUNCES[row.event] * asked.members)
    return Range.of(scaling.draws_for(asked, count) for count in rebalances)


def in_words(rows: Sequence[Row]) -> list[str]:
    """A sentence for each event after which strategies move more or less: who moves fewest at most, and
    what the first strategy moves.

    >>> rows = [Row("", "a crash", n, moved=Range(2, 2, most)) for n, most in (("x", 6), ("y", 2))]
    >>> in_words([*rows, Row("", "a crash", "z", note="fails")])
    ['A crash: at most 2 moves under y; 2 to 6 under x.']
    """
    said = []
    for event in EVENTS:
        moved = {row.strategy: row.moved for row in rows if row.event == event and row.moved}
        fewest = min((of.high for of in moved.values()), default=0)
        best = [name for name, of in moved.items() if of.high == fewest]
        if len(best) < len(moved):
            own = rows[0].strategy
            beside = f"; {moved[own]} under {own}" if own in moved and own not in best else ""
            told = f"at most {counted(three_digits(fewest), 'move')}" if fewest else "no move"
            said.append(f"{event[0].upper()}{event[1:]}: {told} under {listed(best, 3)}{beside}.")
    return said


def table(
    asked: Subject, names: Sequence[str], happening: Sequence[str], release: str, config: Config
) -> list[Row]:
    """A row for each event and strategy, then the rolling changes. ``names``: of strategies as the
    group runs them (:func:`~assignlab.advice.clients.run_as`); all that it could change to, if none."""
    refuse_unknown("event", happening, NAMES)
    wanted = happening or NAMES
    rows: list[Row] = []
    names = names or clients.strategies_for(asked, release)
    began = time.monotonic()
    for number, name in enumerate(names):
        if (gone := time.monotonic() - began) > TELL_AFTER:
            told = f"{asked.name}: {number} of {len(names)} strategies played after {gone:.0f} s"
            print(printable(told), file=sys.stderr, flush=True)
        strategy = refuse_shares(assignors.get(name))
        costs = pauses.usual_events(asked, strategy, config, wanted)
        costs |= pauses.rollouts(asked, strategy, config, wanted)
        for word, make in EVENTS.items():
            if word not in wanted:
                continue
            if word == ("a rebalance" if scaling.switched(asked, strategy) else "switch"):
                continue  # a switch is a rebalance
            cost = costs.get(word)
            measured: dict[str, Range] = {}
            try:
                measured = _measured(asked, strategy, word, make)
                note = _note(asked, strategy, word, cost, config)
            except AssignlabError as error:
                note, cost = str(error), None
            rows.append(Row("", word, name, **measured, unowned=cost, note=note))
    return numbered([*rows, *_migrations(asked, wanted, config, release)])


def _note(
    asked: Subject, strategy: Strategy, word: str, unowned: Range | None, config: Config
) -> str | None:
    """What there is to know of an event beside its numbers."""
    if word.startswith("a rollout"):
        if asked.static:
            return f"{back_in_time(config)}: no rebalance"
        if scaling.rolled_out(asked) < asked.members:
            few = f"; unowned: from {pauses.restarts(asked.members)}" * (unowned is not None)
            return f"counted up from {scaling.rolled_out(asked)} members that are drawn{few}"
        if pauses.MOST_RESTARTS < asked.members:
            return f"unowned: counted up from {pauses.restarts(asked.members)} members"
    if word in ("a member less", "a crash") and unowned is not None:
        missed = " more" if word == "a crash" or asked.some_static else ""
        alone = "" if asked.equal else f"; what nobody else reads: for a minute{missed}"
        return f"unowned: of the emptiest member to that of the fullest{alone}"
    if word == "switch":
        return f"all members {'stop first' if stops(asked, strategy) else 'at once'}"
    if word == "twice the partitions" and strategy.protocol in ("eager", "cooperative"):
        return "new ones wait for the members' metadata.max.age.ms"
    return None


def numbered(rows: Sequence[Row]) -> list[Row]:
    """The rows as reports cite them: W1, W2 and so on."""
    return [row._replace(row=f"W{number}") for number, row in enumerate(rows, 1)]


def _measured(asked: Subject, strategy: Strategy, word: str, make: Make) -> dict[str, Range]:
    restarts = scaling.rolled_out(asked) if "rollout" in word else 0
    rebalances = max(1, 2 * restarts)
    alone = word == "a rebalance" or scaling.switched(asked, strategy)
    overdue = [] if alone else scaling.settling(asked, strategy)

    def once(draw: random.Random) -> dict[str, float]:
        begun = scaling.stopped(asked, strategy, draw)
        happened = make(begun, strategy, draw)
        first = scaling.switched(begun, strategy) or overdue
        played = steps(begun, [*first, *happened], strategy)[1:]
        if word == "switch":
            return _measures(numbers(played[0]))
        if not happened:  # nothing reaches the assignor
            return _at_rest(numbers(played[-1]) if played else begun.evenness)
        found = together(played[len(first) :])
        if 0 < restarts < asked.members:
            for name in ("moved", "avoidable", "rounds"):
                found[name] = round(found[name] * asked.members / restarts)
        return _measures(found)

    draws = scaling.draws_for(asked, rebalances + 1)
    same_ids = word in ("a rebalance", "switch", "a topic more", "twice the partitions")
    return drawn(1 if same_ids and not stops(asked, strategy) else draws, once)


def _measures(found: Mapping[str, float]) -> dict[str, float]:
    return {name: found[name] for name in MEASURES}


def _at_rest(sizes: Mapping[str, float]) -> dict[str, float]:
    """The measures where everybody keeps what it has."""
    return _measures({**sizes, "moved": 0, "avoidable": 0, "rounds": 0})


def _migrations(
    asked: Subject, wanted: Sequence[str], config: Config, release: str
) -> Iterator[Row]:
    """Rows for the rolling changes of protocol: two bounces to cooperative-sticky, KIP-848."""
    own = asked.chosen()
    for word in (word for word in MIGRATIONS if own.of_clients and word in wanted):
        try:
            new = clients.run_as(MIGRATIONS[word], clients.client_of(asked), release)
        except UnknownName:
            continue
        if new.base != own.base and not clients.lacks(asked, new):
            yield _migration(asked, own, new, word, config)


def _migration(asked: Subject, own: Strategy, new: Strategy, word: str, config: Config) -> Row:
    row = partial(Row, "", word, f"{own.name} to {new.name}")
    refusing = next((one for one in clients.clients_in(asked) if one in ONE_PROTOCOL), "")
    if refusing and {own.protocol, new.protocol} == {"eager", "cooperative"}:
        return row(note=f"{NOT_PLAYED}: {BOTH.format(refusing)}")
    if asked.members == 1:
        return row(note=f"{NOT_PLAYED}: the only member")
    if asked.members > scaling.MOST_ROLLED_OUT:
        return row(note=f"{NOT_PLAYED}: more than {scaling.MOST_ROLLED_OUT} members")
    bounces = BOUNCES[word]

    def once(draw: random.Random) -> dict[str, float]:
        happened, plan, silent = bounced(asked, own, new, bounces, draw)
        if not happened:
            return _at_rest(asked.evenness)
        return _measures(together(steps(asked, happened, plan, silent)[1:]))

    try:
        if bounces == 1 and (why := offline(asked, config)):
            cells = _measured(asked, new, "switch", EVENTS["switch"])
            return row(**cells, note=why)
        count = scaling.draws_for(asked, 2 * bounces * asked.members)
        cells = drawn(count, once)
    except AssignlabError as error:
        return row(note=str(error))
    lists = [[new.name, own.name], [new.name]][-bounces:]
    note = f"{counted(bounces, 'restart')} of every member"
    if asked.static:
        happens = "no rebalance" if bounces == 1 else "one rebalance, when the last one knows both"
        note += f"; {back_in_time(config)}: {happens}"
    cost = pauses.migration(asked, own, lists, config)
    return row(**cells, unowned=cost, note=note)


def offline(asked: Subject, config: Config) -> str:
    """Why no classic member may come over to the coordinator's protocol while others run, if so. User
    data in an assignment would be lost (``ConsumerGroup.fromClassicGroup``)."""
    if config.group_consumer_migration_policy not in ("bidirectional", "upgrade"):
        return OFFLINE
    of_librdkafka = clients.client_of(asked) == clients.LIBRDKAFKA
    return USER_DATA if of_librdkafka and asked.chosen().protocol == "cooperative" else ""


def back_in_time(config: Config) -> str:
    """What static members are that restart, if the session is long enough for it."""
    away = pauses.DOWN_MS + pauses.START_MS
    longest = away + max(config.heartbeat_interval_ms, config.group_consumer_heartbeat_interval_ms)
    least = min(config.session_timeout_ms, config.group_consumer_session_timeout_ms)
    if longest <= least:
        return "static members back in time"
    return f"static members, if back within a session, which is too short for {away // 1000} s"


def bounced(
    asked: Subject, own: Strategy, new: Strategy, bounces: int, draw: random.Random
) -> tuple[list[Event], list[Strategy], list[Sequence[int]]]:
    """The rebalances while every member restarts so often, who assigns at each, and which members
    give up everything before it.

    :func:`assignlab.replay.upgrade.assigned` says who does. A static member comes back in time: no
    rebalance, unless it is the last that did not know the new strategy; across protocols it is replaced.
    """
    group = asked.group
    happened: list[Event] = []
    plan: list[Strategy] = []
    silent: list[Sequence[int]] = []
    restarts = dict.fromkeys(group.members.names, 0)

    def rebalance(word: str) -> None:
        there = [restarts[name] for name in group.members.names]
        chosen, quiet = assigned(there, own, new, bounces)
        happened.append((word, group))
        plan.append(chosen)
        silent.append(quiet)

    for bounce in range(bounces):
        for name in group.members.names:
            before, member = group, group.members.names.index[name]
            static = scaling.is_static(before, member)
            if static:
                group = events.restart(before, member, new_id(asked, draw, is_server(new), name))
            else:
                group = events.leave(before, [member])
                rebalance("leave")
                group = scaling.returned(
                    asked, before, member, group, new if is_server(new) else own, draw
                )
            restarts[group.members.names.names[member if static else -1]] = bounce + 1
            all_know = bounce == 0 and all(restarts.get(there) for there in group.members.names)
            if not static or all_know and not is_server(new):
                rebalance("switch" if static else "join")
    return happened, plan, silent
