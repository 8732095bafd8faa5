"""How long partitions have no owner, from the group in simulated time under its own settings.

A group begins with what its members hold now, or would under another strategy once they had changed
to it; where that is not all there is, with what the strategy deals to members that hold nothing.
Phases of heartbeats decide much of it, so every figure is a range: over start moments, and with
heartbeats in step and drifting by up to 100 and 500 ms a beat.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, partial
from itertools import chain, count, product
from typing import Any, NamedTuple

import numpy as np

from assignlab import timeline
from assignlab.advice.clients import FRANZ_GO, LIBRDKAFKA, client_of
from assignlab.advice.play import steps
from assignlab.advice.scaling import highest_first, switched
from assignlab.advice.subject import Range, Subject, usual_topics
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError, refuse_unknown
from assignlab.group.assignment import partition_of, topic_of
from assignlab.group.model import Group
from assignlab.groups.states import MOVING
from assignlab.releases import NEWEST_LINE
from assignlab.timeline import Action, Config, History, Member, Scenario, Topic
from assignlab.timeline.config import TimelineError, defaults
from assignlab.timeline.measure import unowned_ms

USUAL = {"a member more", "a member less", "a crash", "a topic more", "twice the partitions"}
ROLLOUTS = {"a rollout", "a rollout with surge"}
SEEDS = (1, 2)
DRIFTS_MS = (0, 100, 500)
LEAD_MS = 60_000
"""What a group has to settle."""
MOST_RESTARTS, LEAST_RESTARTS = 20, 5
"""Rollouts restart so many members of the group, the fewer the larger it is, and are counted up from
there."""
MANY, MUCH = 100, 200_000
"""Of more members, or where members times partitions are more, histories take seconds, and figures range
over few start moments."""
EVERY_MS = 20_000
DOWN_MS, START_MS = 5_000, 5_000
"""How long a restart takes at least, and how much longer it may: a process takes so long to start."""


def settings(release: str = NEWEST_LINE, given: Mapping[str, str] | None = None) -> Config:
    """Settings of a release, and the group's own by Kafka's names: ``session.timeout.ms``.

    >>> settings("4.4", {"session.timeout.ms": "10000"}).session_timeout_ms
    10000
    """
    known = {field.name.replace("_", "."): field.name for field in fields(Config)}
    refuse_unknown("setting", given or (), sorted(known))
    values = {known[name]: _value(text) for name, text in (given or {}).items()}
    try:
        return defaults(release, **values)
    except AssignlabError as refused:
        ours = {name: dotted for dotted, name in known.items()}
        told = re.sub(r"\w+", lambda word: ours.get(word[0], word[0]), str(refused))
        raise TimelineError(told) from None


def _value(text: str) -> Any:
    """What a setting that is given as text stands for: a truth value, a whole number or a text."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if re.fullmatch(r"-?\d{1,18}", text, re.ASCII) else text


def members_of(subject: Subject) -> list[Member]:
    """The group's members, called m0, m1 and so on."""
    group, client = subject.group, played_client(subject)
    return [
        Member(
            f"m{m}",
            topics=names_of(group, group.members.topics_of(m)),
            instance=None if group.members.instances is None else group.members.instances[m],
            client=client,
        )
        for m in range(subject.members)
    ]


def played_client(subject: Subject) -> str:
    """The members' client, where the timeline plays it with strategies of Java's, too."""
    client = client_of(subject)
    return client if client in (LIBRDKAFKA, FRANZ_GO) else ""


def names_of(group: Group, topics: Iterable[int]) -> list[str]:
    """The names of those of the topics that have partitions."""
    return [group.topics.names[t] for t in topics if group.topics.partitions[t] > 0]


def topics_of(subject: Subject) -> list[Topic]:
    """The topics that somebody reads, without records: only owners matter here."""
    return [Topic(name, count) for name, count in subject.topics.items()]


def held_under(subject: Subject, strategy: Strategy) -> dict[str, list[tuple[str, int]]]:
    """By member the (topic, partition) that it holds, or would after a change to the strategy.

    Empty where that is not known: a partition has no owner, or the strategy has no answer.
    """
    held = subject.held
    change = switched(subject, strategy)
    if subject.document.get("state") in MOVING:  # what members hold is on its way
        change = [("settles", subject.group)]
    try:
        held = steps(subject, change, strategy)[-1].after if change else held
    except AssignlabError:
        return {}
    names, topics = subject.group.topics.names, subject.topics
    found = {
        f"m{m}": [
            (names[t], p)
            for t, p in zip(topic_of(codes).tolist(), partition_of(codes).tolist(), strict=True)
            if p < topics.get(names[t], 0)
        ]
        for m, codes in enumerate(map(held.of, range(subject.members)))
    }
    every = [partition for own in found.values() for partition in own]
    return found if len(every) == len(set(every)) == subject.partitions else {}


def newcomer(subject: Subject, name: str) -> Member:
    """A member that subscribes as most do."""
    group = subject.group
    return Member(
        name,
        topics=names_of(group, usual_topics(group)),
        instance=f"static-{name}" if subject.static else None,
        client=played_client(subject),
    )


class Start(NamedTuple):
    """One way in which a group may happen to start."""

    config: Config
    seed: int


def starts(config: Config, few: bool = False) -> list[Start]:
    """The start moments over which a figure ranges; a few of them for what takes long to play."""
    return [
        Start(replace(config, start_spread_ms=START_MS, heartbeat_drift_ms=drift), seed)
        for seed, drift in product(SEEDS[: 1 if few else None], DRIFTS_MS[:: 2 if few else 1])
    ]


def is_large(subject: Subject) -> bool:
    """Whether figures of the group range over few start moments."""
    return subject.members > MANY or subject.members * subject.partitions > MUCH


def restarts(members: int) -> int:
    """How many members of a group a rollout restarts.

    >>> [restarts(members) for members in (8, 100, 200, 500, 10_000)]
    [8, 20, 10, 5, 5]
    """
    most = min(MOST_RESTARTS, MANY * MOST_RESTARTS // members)
    return min(members, max(LEAST_RESTARTS, most))


@dataclass
class Life:
    """Actions one after the other, and when each begins and ends; ``strategy``: the group's."""

    members: list[Member]
    topics: list[Topic]
    held: Mapping[str, Sequence[tuple[str, int]]]
    strategy: str
    actions: list[Action] = field(default_factory=list)
    now: int = LEAD_MS
    spans: dict[str, tuple[int, int]] = field(default_factory=dict)

    def add(self, name: str, actions: Sequence[Action], lasts_ms: int) -> None:
        """Let ``actions`` happen now; what comes next comes ``lasts_ms`` later."""
        self.actions += actions
        self.spans[name] = (self.now, self.now + lasts_ms)
        self.now += lasts_ms

    def without_owner(self, moments: list[Start]) -> dict[str, Range]:
        """See :func:`without_owner`."""
        return without_owner(moments, lambda start: [self])

    def played(self, start: Start) -> History:
        """The group in simulated time; raises AssignlabError where it does not play it."""
        scenario = Scenario(
            self.topics, self.members, self.actions, duration_ms=self.now, sample_ms=self.now,
            held=self.held,
        )  # fmt: skip
        return timeline.run(scenario, start.config, self.strategy, start.seed)


def without_owner(
    moments: list[Start], lives_at: Callable[[Start], Iterable[Life]]
) -> dict[str, Range]:
    """Partition-seconds without an owner in what lives from each moment, by the name of what happened;
    empty where the timeline does not play the strategy."""
    found: dict[str, list[float]] = defaultdict(list)
    try:
        for start in moments:
            for life in lives_at(start):
                history = life.played(start)
                for name, span in life.spans.items():
                    found[name].append(unowned_ms(history, *span) / 1000)
    except AssignlabError:
        return {}
    return {name: Range.of(values) for name, values in found.items()}


def lives(subject: Subject, strategy: Strategy) -> Callable[[], Life]:
    """What makes lives of the group under a strategy, nothing of which has happened yet."""
    held = held_under(subject, strategy)
    return partial(Life, members_of(subject), topics_of(subject), held, strategy.name)


def usual_events(
    subject: Subject, strategy: Strategy, config: Config, wanted: Collection[str]
) -> dict[str, Range]:
    """What each of :data:`USUAL` that is wanted costs; each happens to the group of today."""
    if not subject.partitions or USUAL.isdisjoint(wanted):
        return {}
    new_life, moments = lives(subject, strategy), starts(config, is_large(subject))
    largest = max(topics_of(subject), key=lambda topic: topic.partitions)
    name = new_topic(subject)
    more: list[Action] = [timeline.create_topic(LEAD_MS, Topic(name, largest.partitions))]
    for member in members_of(subject):
        more.append(timeline.subscribe(LEAD_MS, member.name, [*(member.topics or ()), name]))
    doubled = timeline.add_partitions(LEAD_MS, largest.name, 2 * largest.partitions)
    usual = {
        "a member more": ([timeline.join(LEAD_MS, newcomer(subject, "new"))], 60_000),
        "a topic more": (more, 60_000),
        "twice the partitions": ([doubled], config.metadata_max_age_ms + 60_000),
    }
    found: dict[str, Range] = {}
    for name in sorted(usual.keys() & wanted):
        life = new_life()
        life.add(name, *usual[name])
        found |= life.without_owner(moments)
    goes = {
        "a member less": (timeline.leave, _leaving_ms(subject, config)),
        "a crash": (timeline.crash, _missed_ms(config)),
    }
    outermost = cache(partial(_outermost, new_life))

    def of_one_member(name: str, start: Start) -> Iterator[Life]:
        """Lives in which the fullest member goes, and the emptiest."""
        go, lasts_ms = goes[name]
        for member in outermost(start):
            life = new_life()
            life.add(name, [go(life.now, member)], lasts_ms)
            yield life

    for name in sorted(goes.keys() & wanted):
        found |= without_owner(moments, partial(of_one_member, name))
    return found


def _missed_ms(config: Config) -> int:
    """After so long a crashed member's partitions are read again, whatever the protocol."""
    return 60_000 + max(config.session_timeout_ms, config.group_consumer_session_timeout_ms)


def _leaving_ms(subject: Subject, config: Config) -> int:
    """The same of a member that leaves; a static one is missed after its session alone."""
    return _missed_ms(config) if subject.some_static else 60_000


def _outermost(new_life: Callable[[], Life], start: Start) -> set[str]:
    """The fullest and the emptiest member when something is to happen."""
    life = new_life()
    history = life.played(start)
    owned, names = history.owned_arrays(), list(history.members)
    now = (owned.since < life.now) & (owned.until >= life.now)
    sizes = np.bincount(np.asarray(owned.member)[now], minlength=len(names))
    return {names[sizes.argmax()], names[sizes.argmin()]}


def rollouts(
    subject: Subject, strategy: Strategy, config: Config, wanted: Collection[str]
) -> dict[str, Range]:
    """What each of :data:`ROLLOUTS` that is wanted costs; one member every 20 s, each away for 5 to 10 s,
    or replaced before it goes."""
    if not subject.partitions or ROLLOUTS.isdisjoint(wanted):
        return {}
    new_life = lives(subject, strategy)
    order = fullest_first(new_life(), subject)
    # All, or some that stand evenly among them.
    places = np.linspace(0, order.size - 1, restarts(order.size)).round().astype(int)
    restarted = sorted(order[places].tolist())
    found: dict[str, Range] = {}
    for name in sorted(ROLLOUTS & set(wanted)):
        life = new_life()
        actions: list[Action] = []
        for i, m in enumerate(restarted):
            at = life.now + i * EVERY_MS
            if name == "a rollout":
                actions.append(timeline.restart(at, f"m{m}", DOWN_MS))
            else:
                new = replace(life.members[m], name=f"m{m}-new")
                actions += [timeline.join(at, new), timeline.leave(at + EVERY_MS // 2, f"m{m}")]
        life.add(name, actions, len(restarted) * EVERY_MS + 60_000)
        found |= life.without_owner(starts(config, is_large(subject)))
    return {name: cost.times(subject.members / len(restarted)) for name, cost in found.items()}


def fullest_first(life: Life, subject: Subject) -> np.ndarray:
    """The members from the fullest to the emptiest, by what they hold in a life, or now where that does
    not say."""
    sizes = subject.held.sizes
    if life.held:
        sizes = np.array([len(life.held[member.name]) for member in life.members])
    return np.argsort(-sizes, kind="stable")


def staircase(subject: Subject, strategy: Strategy, up_to: int, config: Config) -> dict[int, Range]:
    """What each step costs from the members of today up to ``up_to``, and down to 1, by the number
    of members that it leads to. The fullest or the emptiest leave first; static ones as a stateful set
    takes them away."""
    if not subject.partitions:
        return {}
    new_life = lives(subject, strategy)
    up = new_life()
    for n in range(subject.members + 1, up_to + 1):
        up.add(str(n), [timeline.join(up.now, newcomer(subject, f"new{n}"))], 60_000)
    by_size = fullest_first(new_life(), subject).tolist()
    static = highest_first(subject.group.members.instances)
    ways = [up]
    for order in [static] if static else [by_size, by_size[::-1]]:
        down = new_life()
        for m in order[:-1]:
            left = [timeline.leave(down.now, f"m{m}")]
            down.add(str(subject.members - len(down.spans) - 1), left, _leaving_ms(subject, config))
        ways.append(down)
    moments = starts(config, is_large(subject))
    found: dict[int, Range] = {}
    for life in ways:
        costs = life.without_owner(moments) if life.actions else {}
        for leads_to, cost in costs.items():
            found[int(leads_to)] = Range.of([*found.get(int(leads_to), ()), *cost])
    return found


def migration(
    subject: Subject, old: Strategy, lists: Sequence[Sequence[str]], config: Config
) -> Range | None:
    """A rolling change of strategies: every member restarts with each of these lists, one after the other.

    To a cooperative strategy there are two (KIP-429): both, then the new one alone; to one of the
    coordinator's (KIP-848), which is another protocol, one.
    """
    life = lives(subject, old)()
    names = [member.name for member in life.members]
    actions: list[Action] = []
    at = life.now
    for strategies in lists:
        actions += timeline.rolling_restart(at, names, EVERY_MS, DOWN_MS, strategies=strategies)
        at += len(names) * EVERY_MS
    life.add("migration", actions, at - life.now + 60_000)
    moments = starts(config, is_large(subject) or subject.members > MOST_RESTARTS)
    found = life.without_owner(moments)
    return found["migration"] if found else None


def new_topic(subject: Subject) -> str:
    """The name of a topic to come, with a number where there is such a topic already."""
    names = chain(["new-topic"], (f"new-topic-{number}" for number in count(2)))
    return next(name for name in names if name not in subject.group.topics.names.index)
