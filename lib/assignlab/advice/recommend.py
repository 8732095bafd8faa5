"""``assignlab group recommend``: what to set, why, what it costs, what is not known.

A change is recommended if it is worse in none of three measures, and clearly better in one: the
fullest member, the partitions that a member more and a rollout move, and the time without an owner
of a rollout; nobody is sent back to an eager strategy for that time alone. Ranges that overlap are no
difference, nor are moves that only a more even group needs. Where the group's own strategy fails,
whatever has an answer is better.
Of several the one that is better in most measures and moves least is set, unless another's worst
rollout leaves half as much without an owner. Every reason names the row it came from.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from assignlab import assignors
from assignlab.advice import clients, pauses, what_if
from assignlab.advice.law import PER_TOPIC, law, least_idle
from assignlab.advice.play import steps
from assignlab.advice.report import Lines, Report, Table
from assignlab.advice.subject import CLASSIC, Range, Subject, answered_by, is_server, subject
from assignlab.advice.what_if import Row
from assignlab.assignors.strategy import ONE_PROTOCOL, Strategy
from assignlab.errors import AssignlabError
from assignlab.groups.show import title
from assignlab.groups.states import MOVING
from assignlab.releases import version
from assignlab.timeline import Config
from assignlab.words import counted, listed

WATCHED = ("a rebalance", "switch", "a member more", "a crash", "a rollout")
STATIC = " + group.instance.id"
STATIC_SINCE = (2, 3)
"""The release that brought it (KIP-345)."""
NO_STATIC = ("kafkajs", "kafka-go")
"""Clients of Kafka's strategies that do not have it (KafkaJS's issue #884; kafka-go's ``ConsumerGroup``)."""
INSTANCE_ID = {
    "aiokafka": 'group_instance_id="NAME-ORDINAL"',
    "franz-go": 'kgo.InstanceID("NAME-ORDINAL")',
    "kafka-python": 'group_instance_id="NAME-ORDINAL"',
    "sarama": 'config.Consumer.Group.InstanceId = "NAME-ORDINAL"',
}
"""What stands for ``group.instance.id`` in clients whose settings have other names than Java's."""
OF_FRANZ_GO = {"server-uniform": "kgo.StickyBalancer()", "server-range": "kgo.RangeBalancer()"}
"""The balancers behind which franz-go 1.22.2 asks the coordinator for its own."""
TRADE = "A trade, not recommended: "


class Option(NamedTuple):
    """Something that could be set: its rows by event, and its three measures (None: not known)."""

    label: str
    strategy: Strategy
    rows: dict[str, Row]
    fullest: Range | None
    moved: Range
    avoidable: Range
    unowned: Range | None

    def cite(self, *events: str) -> str:
        """The rows of the report that tell of these events: ``row 3 and row 5``."""
        return "row " + " and ".join(self.rows[event].row for event in events)


def report(
    document: dict[str, Any], release: str, config: Config, strategy: str | None = None
) -> Report:
    """What to set for the group of a document; ``strategy``: instead of its own."""
    if strategy is not None:
        document = answered_by(document, strategy)
    document = clients.as_run(document, release)
    asked = subject(document)
    own = asked.chosen()
    client = clients.client_of(asked)
    names = clients.strategies_for(asked, release)
    rows = what_if.table(asked, names, (*WATCHED, *what_if.MIGRATIONS), release, config)
    knows_static = (own.of_clients or is_server(own)) and version(release) >= STATIC_SINCE
    lacking = {*NO_STATIC} & {*clients.clients_in(asked)} or clients.too_old(
        asked, "group.instance.id"
    )
    if knows_static and not lacking and not asked.static:
        more = what_if.table(
            _static(document), [own.name], ("a crash", "a rollout"), release, config
        )
        static = [row._replace(strategy=own.name + STATIC) for row in more]
        rows = what_if.numbered([*rows, *static])
    failed = _failed(rows)
    options = _options(asked, rows)
    now = next((option for option in options if option.label == own.name), None)
    others = [o for o in options if o is not now and o.strategy.base not in failed]
    if now is None:
        why = re.sub(r" \(row W[^)]*\)", "", failed[own.base])
        can = f" (it does not fail under {listed(o.label for o in others)})" if others else ""
        raise AssignlabError(f"{asked.name}: {own.name} {why}{can}")
    if asked.members == 1:
        others = []
    better = [option for option in others if _verdict(option, now)[0]]
    better.sort(key=lambda o: (-len(_verdict(o, now)[1]), o.moved.median, o.moved.high))
    for first in better[:1]:
        better.sort(key=lambda option: not _waits_far_less(option, first))
    trades = [o for o in others if o not in better and _verdict(o, now)[1]]
    if own.base in failed:  # whatever has an answer is better
        better, trades = sorted(others, key=lambda o: (o.fullest or o.moved, o.moved)), []
    unowned = _without_owner(asked, now, client)
    before = [*clients.taken_for(asked), *unowned]
    said, above = _said(asked, now, better, trades, rows, failed, len(names) > 1, client)
    offline = bool(what_if.offline(asked, config))
    lines = _lines(better[0], now, offline, client) if better else []
    found = Table("what_if", "What the reasons come from", what_if.COLUMNS, rows)
    unknown = ["what a record costs to process, and what a pause costs the application"]
    again = now.rows.get("a rebalance")
    settled = document.get("state") not in MOVING and not unowned
    if settled and again is not None and again.moved is not None and again.moved.low > 0:
        unknown.insert(
            0,
            f"why members hold what they hold: {now.label} would move {counted(again.moved, 'partition')}"
            f" (row {again.row}) with nothing changed"
            + "; something that was inferred above may be wrong"
            * bool(document.get("inferred")),
        )
    if asked.group.members.racks is not None and asked.group.topics.racks is not None:
        unknown.append("what reading from another rack costs: group show has it by strategy")
    if not asked.equal and any(
        s.startswith("subscriptions:") for s in document.get("inferred", [])
    ):
        unknown.append("what the members subscribe to: taken as said above, since no text has it")
    if own.membership == "coordinator":
        given = "given, else " * (config != pauses.settings(release))
        unknown += [
            (
                f"the release of clients and brokers: taken as {release}, settings as {given}its defaults;"
                " assignlab group recommend takes others (--release, --set)"
            ),
            (
                f"how late heartbeats come: played up to {max(pauses.DRIFTS_MS)} ms each; beyond it"
                " rollouts cost more, most so under eager strategies (notebook 11)"
            ),
        ]
        if not client:
            elsewhere = _missing_in_librdkafka([*better[:1], *trades], now)
            unknown.append("which clients the members run" + elsewhere)
    return Report(
        title(document),
        document.get("inferred", []),
        before + said,
        [found],
        lines,
        unknown,
        trades=[
            pasted._replace(title=f"for {what} {option.label}: {pasted.title}")
            for what, some in (("the other that is better,", better[1:]), ("the trade", trades))
            for option in some
            for pasted in _lines(option, now, offline, client)
        ],
        first=len(before) + above,
    )


def in_brief(found: Report) -> list[str]:
    """The advice and its reasons without the rows that they name, then what it calls trades.

    >>> said = ["Set sticky.", "It costs 9 moves (row W9).", f"{TRADE}range. Why."]
    >>> in_brief(Report("", [], said, first=2))
    ['Set sticky.', 'It costs 9 moves.', 'Better in some things and worse in others: range.']
    """
    trades = [
        said.removeprefix(TRADE).partition(". ")[0] for said in found.said if said.startswith(TRADE)
    ]
    told = [f"Better in some things and worse in others: {', '.join(trades)}."] if trades else []
    return [re.sub(r" \(row W[^)]*\)", "", said) for said in found.above] + told


def in_short(said: Sequence[str]) -> tuple[str, list[str]]:
    """Of what a report says: at what the group's strategy fails, if it does; and what to do first,
    what to set and the first sentence why.

    >>> in_short(["First: look.", "Beware: it fails.", "Set range.", "It is even.", "It costs a lot."])
    ('Beware: it fails.', ['First: look.', 'Set range.', 'It is even.'])
    """
    beware = next((one for one in said if one.startswith("Beware: ")), "")
    of_clients = clients.TAKEN_FOR.partition("{}")[0]
    rest = [one for one in said if one != beware and not one.startswith(of_clients)]
    verdict = int(rest[0].startswith("First: "))
    return beware, rest[: verdict + 1 + rest[verdict].startswith("Set ")]


def _static(document: dict[str, Any]) -> Subject:
    """The group with names that sort as its members' ids do, so that no order changes."""
    members = document["members"]
    rank = {id: n for n, id in enumerate(sorted(member["id"] for member in members))}
    named = [member | {"instance": f"i{rank[member['id']]:06}"} for member in members]
    return subject(document | {"members": named})


def _failed(rows: Sequence[Row]) -> dict[str, str]:
    """At what a strategy, or the rolling change to it, fails and how; by the strategy's base."""
    failed: dict[str, str] = {}
    for row in rows:
        if row.fullest is None and not (row.note or "").startswith(what_if.NOT_PLAYED):
            name = row.strategy.rpartition(" to ")[2].removesuffix(STATIC)
            why = (row.note or "").removeprefix(f"{name}: ")
            told = f"fails at {row.event}: {why} (row {row.row})"
            failed.setdefault(assignors.get(name).base, told)
    return failed


def _options(asked: Subject, rows: Sequence[Row]) -> list[Option]:
    """The group as it is, and what could be set."""
    by_label: dict[str, dict[str, Row]] = {}
    roads: dict[str, Row] = {}
    for row in rows:
        if row.fullest is not None and row.event in what_if.MIGRATIONS:
            roads[row.strategy.rpartition(" to ")[2]] = row
        elif row.fullest is not None:
            by_label.setdefault(row.strategy, {})[row.event] = row
    own = asked.chosen()
    today = by_label.get(own.name, {})
    options: list[Option] = []
    for label, events in by_label.items():
        if "a rollout" not in events:
            continue
        strategy = assignors.get(label.removesuffix(STATIC))
        if strategy.base in roads and strategy.protocol != own.protocol:
            events["change"] = roads[strategy.base]
        elif settled := events.get("switch", today.get("a rebalance")):
            events["change"] = settled
        if more := events.get("a member more", today.get("a member more")):
            events["a member more"] = more
        both = [row for row in (events["a rollout"], more) if row]
        moved, avoidable = (
            Range(*map(sum, zip(*(getattr(row, name) for row in both), strict=True)))
            for name in ("moved", "avoidable")
        )
        fullest = events["change"].fullest if "change" in events else None
        unowned = events["a rollout"].unowned
        options.append(Option(label, strategy, events, fullest, moved, avoidable, unowned))
    return options


def _waits_far_less(option: Option, than: Option) -> bool:
    """Whether its worst rollout leaves at most half as much without an owner."""
    mine, theirs = option.unowned, than.unowned
    return mine is not None and theirs is not None and 2 * mine.high <= theirs.high


def _moves_at_need(option: Option, now: Option) -> bool:
    """Whether a group that is more even moves no more of what could be avoided than today's."""
    mine, today = option.fullest, now.fullest
    if mine is None or today is None or mine.high >= today.low:
        return False
    return option.avoidable.low <= now.avoidable.high


def _verdict(option: Option, now: Option) -> tuple[bool, list[str]]:
    """(whether it is better, the measures in which it clearly is). Moves that a more even group needs
    make nothing worse. Shorter rollouts alone are no reason to go back to an eager strategy, under
    which all members stop at every rebalance: what that costs an application is not played."""
    better, worse = [], []
    for name in ("fullest", "moved", "unowned"):
        mine, today = getattr(option, name), getattr(now, name)
        if mine is None or today is None:
            continue
        if mine.high < today.low:
            better.append(name)
        elif mine.low > today.high and (name != "moved" or not _moves_at_need(option, now)):
            worse.append(name)
    protocols = now.strategy.protocol, option.strategy.protocol
    stops_all = protocols == ("cooperative", "eager") and better == ["unowned"]
    return bool(better) and not worse and not stops_all, better


def _said(
    asked: Subject,
    now: Option,
    better: list[Option],
    trades: list[Option],
    rows: Sequence[Row],
    failed: dict[str, str],
    known: bool,
    client: str,
) -> tuple[list[str], int]:
    """The sentences, and how many of them stand above the lines to set."""
    said = []
    own = now.strategy.base
    if own in failed:
        said.append(f"Beware: {now.label} {failed[own]}.")
    if asked.members == 1:
        said.append("The only member has everything, whatever the strategy: set nothing new.")
    elif better:
        best = better[0]
        said.append(f"Set {best.strategy.kind}{STATIC if best.label.endswith(STATIC) else ''}.")
        said += _reasons(best, now)
        said += _costs(best, now, rows, client)
        if others_too := [option.label for option in better[1:]]:
            than = "It does not fail here, nor do these" if own in failed else ""
            than = than or "Also better than today, in fewer ways or less"
            said.append(f"{than}: {', '.join(others_too)}.")
    elif own in failed:
        said.append("Nothing that was tried has an answer to everything that was asked.")
    elif known:
        said.append("Nothing that was tried is better than today: set nothing new.")
    else:
        said.append(
            f"Nothing else was tried: the lab knows no change for a group of {client or now.strategy.system}."
        )
    said += _idle(asked, (better[0] if better else now).strategy)
    first = len(said)
    for option in trades:
        reasons = " ".join(_reasons(option, now))
        eager = now.strategy.protocol == "cooperative" and option.strategy.protocol == "eager"
        stop = (
            " All members would stop at every rebalance; what that costs the application is not played."
        ) * eager
        said.append(f"{TRADE}{option.label}. {reasons}{stop}")
    said += [f"Not {base}: it {told}." for base, told in failed.items() if base != own]
    said.append(f"Why the group is as it is: {law(asked)}")
    crash = now.rows.get("a crash")
    if crash and crash.unowned is not None:
        unowned = counted(crash.unowned, "partition-second")
        session = "group.consumer." * is_server(now.strategy) + "session.timeout.ms"
        if now.strategy.membership == "ZooKeeper":
            session = "the client's session in ZooKeeper"
        said.append(
            f"A crash leaves {unowned} without an owner (row {crash.row}), by how much the"
            f" member held; {session} decides for how long."
        )
    return said, first


DRIFT = f"where heartbeats drift no more than {max(pauses.DRIFTS_MS)} ms a beat"
TOLD = {
    "fullest": ("The fullest member holds {mine} instead of {today}", "partition", ("change",)),
    "moved": (
        "A member more and a rollout together move {mine} instead of {today}",
        "partition",
        ("a member more", "a rollout"),
    ),
    "unowned": (
        f"A rollout leaves {{mine}} instead of {{today}} without an owner, {DRIFT}",
        "partition-second",
        ("a rollout",),
    ),
}


def _reasons(option: Option, now: Option) -> list[str]:
    """One sentence for each measure that differs, with the rows it came from."""
    said = []
    for name, (words, thing, events) in TOLD.items():
        mine, today = getattr(option, name), getattr(now, name)
        if mine is None or today is None or not (mine.high < today.low or mine.low > today.high):
            continue
        own, against = (o.cite(*(e for e in events if e in o.rows)) for o in (option, now))
        told = words.format(mine=mine, today=counted(today, thing))
        if name == "moved" and mine.low > today.high and _moves_at_need(option, now):
            told += ", as much as a group that is more even needs"
        said.append(f"{told} ({own} against {against}).")
    return said


def _costs(best: Option, now: Option, rows: Sequence[Row], client: str) -> list[str]:
    if best.label.endswith(STATIC):
        crash = best.rows.get("a crash")
        told = f", as one that crashes (row {crash.row})" if crash else ""
        return [
            (
                "It costs one restart of every member; a member that leaves for good is missed only"
                f" after its session{told}."
            )
        ]
    switch = best.rows.get("switch")
    protocols = now.strategy.protocol, best.strategy.protocol
    if client in ONE_PROTOCOL and {*protocols} == {"eager", "cooperative"} and switch is not None:
        moves = counted(switch.moved, "move")
        return [f"It costs a stop of all members, and {moves} when they start (row {switch.row})."]
    wanted = {"cooperative": "two bounces", "server": "KIP-848"}.get(best.strategy.protocol)
    found = [row for row in rows if row.event == wanted]
    if found and protocols[0] != protocols[1]:
        row = found[0]
        if row.moved is None:
            return [f"What the change costs is {row.note} (row {row.row})."]
        if row.note in (what_if.OFFLINE, what_if.USER_DATA):
            return [
                f"It costs a pause, since {row.note}: {counted(row.moved, 'move')} (row {row.row})."
            ]
        owners = row.unowned and counted(row.unowned, "partition-second")
        pause = f", {owners} without an owner" if owners else ""
        return [f"It costs {row.note}: {counted(row.moved, 'move')}{pause} (row {row.row})."]
    if switch is None:
        return []
    when = "most of them name" if is_server(best.strategy) else "the last one knows"
    rollout = now.rows["a rollout"]
    as_now = f", {counted(rollout.moved, 'move')} as in a rollout today" if rollout.moved else ""
    said = (
        f"It costs one restart of every member{as_now} (row {rollout.row}), and"
        f" {counted(switch.moved, 'move')} when {when} the new strategy (row {switch.row})."
    )
    if is_server(best.strategy):
        return [said]
    later = best.rows["a rollout"].row
    return [
        said,
        f"A second one (row {later}) takes the old strategy off the lists; it may wait for the next rollout.",
    ]


def _lines(best: Option, now: Option, offline: bool, client: str) -> list[Lines]:
    """What to set. ``offline``: members do not come from one protocol to the other while others run;
    ``client``: of the members, Java's or not known if empty."""
    if best.label.endswith(STATIC):
        return [
            Lines(
                "every member without one; a name of its own that stays over restarts, such as the"
                " pod's ordinal",
                (INSTANCE_ID.get(client, "group.instance.id=NAME-ORDINAL"),),
            )
        ]
    new, old = best.strategy, now.strategy
    java = [] if client and not is_server(new) else _java(new, old, offline, client)
    other = _librdkafka(new, old) if client in ("", clients.LIBRDKAFKA) else []
    return [*_brokers(new, old), *java, *other]


def _brokers(new: Strategy, old: Strategy) -> list[Lines]:
    """What lets members of the coordinator's protocol in (seen with a broker of 4.0.2 whose data
    was formatted for 3.9: without it the group does not come to be)."""
    if not is_server(new) or is_server(old):
        return []
    return [
        Lines(
            "once, before any member, where the cluster was upgraded from 3.x and kafka-features.sh"
            " describe has group.version at level 0",
            ("kafka-features.sh --bootstrap-server HOST:PORT upgrade --feature group.version=1",),
        )
    ]


def _java(new: Strategy, old: Strategy, offline: bool, client: str) -> list[Lines]:
    """What members of Java's client set from the old strategy to the new one, restart by restart; those of
    another ``client`` set the same where the coordinator assigns, but for franz-go's."""
    if is_server(new):
        remote = (f"group.remote.assignor={new.remote}",)
        each = "every member, one restart each"
        if offline and not is_server(old):
            each = "all members stop, then start with this"
        if client == "franz-go":
            balancer = f"kgo.Balancers({OF_FRANZ_GO[new.base]})"
            told = f"{each}; franz-go itself advises it from Kafka 4.3 on"
            return [Lines(told, ("kgo.ServerSideBalancer()", balancer))]
        if is_server(old):
            return [Lines(each, remote)]
        found = [
            Lines(
                f"{each}; take partition.assignment.strategy,"
                " session.timeout.ms and heartbeat.interval.ms out: they are refused or ignored"
                " under this protocol",
                ("group.protocol=consumer", *remote),
            )
        ]
        if not client:
            commits = (
                "where the client commits by itself: since 4.2 that may be the batch at hand, which a crash"
                " then loses; call commitSync after the work instead"
            )
            found.append(Lines(commits, ("enable.auto.commit=false",)))
        return found
    if {new.system, old.system} != {CLASSIC}:
        return []
    both = f"partition.assignment.strategy={new.source},{old.source}"
    alone = f"partition.assignment.strategy={new.source}"
    waits = "; the next rollout will do" * (new.protocol == "eager")
    default = (old.base, new.base) == ("range", "cooperative-sticky")  # KIP-726
    skipped = "; since 3.0 not needed where members set no strategy: they have both" * default
    return [
        Lines(f"Java: first restart of every member: both, the new one first{skipped}", (both,)),
        Lines(
            f"Java: second restart, when the first is through{waits}: the new one alone", (alone,)
        ),
    ]


def _librdkafka(new: Strategy, old: Strategy) -> list[Lines]:
    """The same for librdkafka, where it has both: it refuses lists of eager and cooperative ones
    (``rd_kafka_assignor_rebalance_protocol_check``; librdkafka #3589)."""
    if not {new.kind, old.kind} <= clients.OF_LIBRDKAFKA:
        return []
    alone = f"partition.assignment.strategy={new.kind}"
    if new.protocol != old.protocol:
        return [
            Lines(
                "librdkafka: stop all members, then start them again; no list may have an eager and"
                " a cooperative strategy",
                (alone,),
            )
        ]
    return [
        Lines("librdkafka: first restart of every member", (f"{alone},{old.kind}",)),
        Lines(
            "librdkafka: second restart, when the first is through; the next rollout will do",
            (alone,),
        ),
    ]


def _missing_in_librdkafka(options: list[Option], now: Option) -> str:
    """Which of the options librdkafka lacks; nothing to say where the group's own strategy is none
    that its members could have, so that none of them is here."""
    known = {option.strategy.kind: option.strategy for option in options}
    missing = [
        k for k, s in known.items() if s.system == CLASSIC and k not in clients.OF_LIBRDKAFKA
    ]
    if not missing or now.strategy.kind not in clients.OF_LIBRDKAFKA:
        return ""
    only = ", ".join(sorted(clients.OF_LIBRDKAFKA))
    return f"; librdkafka has no {' and no '.join(missing)}, only {only}"


def _without_owner(asked: Subject, now: Option, client: str) -> list[str]:
    free = asked.unowned
    row = now.rows.get("a rebalance")
    if not free or row is None or asked.document.get("state") in MOVING:
        return []
    have = "has" if free == 1 else "have"
    own = now.strategy
    after = steps(asked, [("a rebalance", asked.group)], own)[-1].after
    left = replace(asked, held=after).unowned
    comes = "; it comes by itself when"
    if is_server(own):
        comes += " a member sends a heartbeat, once the coordinator knows partitions that are new"
    elif own.membership == "coordinator":
        comes += " the members' metadata has partitions that are new"
        comes += " (metadata.max.age.ms)" * (not client)
    else:
        comes = ""
    return [
        (
            f"First: {free} of {counted(asked.partitions, 'partition')} {have} no owner. The next"
            f" rebalance gives out all{f' but {left}' if left else ''}, at most {row.fullest} a member"
            f" (row {row.row}){comes}."
        )
    ]


def _idle(asked: Subject, strategy: Strategy) -> list[str]:
    """``strategy``: the one that is set, or today's."""
    idle = least_idle(asked)
    if not idle or not asked.partitions:
        return []
    said = f"No strategy has anything for {counted(idle, 'member')}: run"
    if not asked.equal:
        return [
            f"{said} so many fewer of those that read the same, or give their topics more partitions."
        ]
    most, which, together = asked.partitions, "the topics", " together"
    if len(asked.topics) > 1 and PER_TOPIC & {*strategy.promises}:
        most, which, together = max(asked.topics.values()), "one topic", ""
    how = " (kafka-topics --alter --partitions; keys then go to other partitions)"
    said += f" {most} at most, or give {which} {counted(asked.members, 'partition')}{together}"
    return [f"{said}{how * (not strategy.broker)}."]
