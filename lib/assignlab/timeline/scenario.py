"""What happens to a group in time, as plain data: topics, members, and timed actions.

Two minutes in which one member crashes and another one joins::

    Scenario(
        topics=[Topic("orders", 6, rate=100)],
        members=[Member("a"), Member("b")],
        actions=[crash(20_000, "a"), join(60_000, Member("c"))],
        duration_ms=120_000,
    )
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assignlab.errors import UnknownName, refuse_unknown, shown
from assignlab.timeline.config import MOST, Given, TimelineError, plain

SECOND = 1000
"""In milliseconds."""
LIBRDKAFKA, AIOKAFKA, KAFKA_PYTHON = "librdkafka", "aiokafka", "kafka-python"
SARAMA, FRANZ_GO, KAFKA_GO, KAFKAJS = "sarama", "franz-go", "kafka-go", "kafkajs"
OTHERS = (AIOKAFKA, FRANZ_GO, KAFKA_GO, KAFKA_PYTHON, KAFKAJS, LIBRDKAFKA, SARAMA)
"""Other clients than Java's that are played."""


@dataclass(frozen=True)
class Topic(Given):
    """A topic: ``partitions``, each of which gets ``rate`` records a second, evenly."""

    name: str
    partitions: int
    rate: float = 0.0


@dataclass(frozen=True)
class Member(Given):
    """One consumer process.

    ``name``: its client id, by which actions and results call it. ``topics``: names, at least one, or None
    for all topics that exist at the start. ``pattern``: a regular expression instead, which the whole
    name of a topic has to match: in the client under the classic protocol, in the coordinator under
    KIP-848 (``SubscriptionPattern``) unless ``client_pattern`` (``subscribe(Pattern)``).
    ``instance``: group.instance.id of a static member. ``processing_ms``: per record. ``start_ms``:
    when it starts; ``made_ms``: when its consumer was made, if earlier than that: from then on count
    automatic commits of the consumer protocol until it is given something, and librdkafka's timers.
    ``strategies``: its partition.assignment.strategy list, most wanted first; None
    for the run's own. One of the coordinator's (``server-uniform``) is ``group.protocol=consumer``
    and its ``group.remote.assignor``. ``client``: ``librdkafka``, ``kafka-python``, ``aiokafka``,
    ``sarama``, ``franz-go``, ``kafka-go`` or ``kafkajs``, else Java's, or the one whose strategies these are.
    """

    name: str
    topics: Sequence[str] | None = None
    pattern: str | None = None
    client_pattern: bool = False
    instance: str | None = None
    processing_ms: float = 0.1
    start_ms: int = 0
    made_ms: int | None = None
    strategies: Sequence[str] | None = None
    client: str = ""


@dataclass(frozen=True)
class Action(Given):
    """Something that is done at ``at_ms``; made by the functions of this module."""

    at_ms: int
    kind: str
    member: str | None = None
    values: tuple[tuple[str, Any], ...] = ()

    def __post_init__(self):
        super().__post_init__()
        values = tuple((name, plain(value)) for name, value in self.values)
        object.__setattr__(self, "values", values)

    def __getitem__(self, name: str) -> Any:
        values = dict(self.values)
        if name not in values:
            raise TimelineError(f"action {self.kind}: it has no {name}")
        return values[name]

    def get(self, name: str, default: Any) -> Any:
        """A value that need not be given."""
        return dict(self.values).get(name, default)

    @property
    def changed(self) -> dict[str, Any]:
        """The fields of :class:`Member` that are others when the process comes back."""
        return dict(self.get("changed", ()))


def join(at_ms: int, member: Member) -> Action:
    """A new member starts."""
    one_of("member of join", member, Member)
    return Action(at_ms, "join", member.name, (("member", replace(member, start_ms=at_ms)),))


def leave(at_ms: int, member: str, for_good: bool = False) -> Action:
    """A member closes: dynamic ones leave the group, static ones just go.

    ``for_good``: static ones leave, too (``CloseOptions`` of 4.1, or an administrator who removes
    it).
    """
    return Action(at_ms, "leave", member, (("for_good", for_good),))


def crash(at_ms: int, member: str) -> Action:
    """A member's process is gone at once."""
    return Action(at_ms, "crash", member)


def back(at_ms: int, member: str, **changed) -> Action:
    """A member that left or crashed starts again, with the same settings but those that are
    ``changed``: fields of :class:`Member`, as an upgrade changes ``strategies``, and with them the
    group's protocol."""
    return Action(at_ms, "return", member, (_changes(changed),))


def restart(at_ms: int, member: str, down_ms: int = 1_000, **changed) -> Action:
    """A member closes and is back after ``down_ms``, as :func:`back` says."""
    return Action(at_ms, "restart", member, (("down_ms", down_ms), _changes(changed)))


def _changes(changed: dict[str, Any]) -> tuple[str, tuple]:
    return "changed", tuple((name, plain(value)) for name, value in changed.items())


def stall(at_ms: int, member: str, for_ms: int) -> Action:
    """Processing stands still; the heartbeat thread goes on."""
    return Action(at_ms, "stall", member, (("for_ms", for_ms),))


def freeze(at_ms: int, member: str, for_ms: int) -> Action:
    """The whole process stands still, heartbeats too (a long garbage collection)."""
    return Action(at_ms, "freeze", member, (("for_ms", for_ms),))


def subscribe(at_ms: int, member: str, topics: Sequence[str]) -> Action:
    """A member subscribes to these topics from now on."""
    return Action(
        at_ms, "subscribe", member, (("topics", _each("topics of subscribe", topics, str)),)
    )


def unsubscribe(at_ms: int, member: str) -> Action:
    """A member gives everything up and leaves the group;
    its process runs on and may ``subscribe`` again.

    Nothing is committed for it. A classic static member does not say so: its session has to end.
    """
    return Action(at_ms, "unsubscribe", member)


def enforce_rebalance(at_ms: int, member: str) -> Action:
    """The application asks for a rebalance, which KIP-848's client refuses with a warning."""
    return Action(at_ms, "enforce_rebalance", member)


def create_topic(at_ms: int, topic: Topic) -> Action:
    """A topic is created."""
    one_of("topic of create_topic", topic, Topic)
    return Action(at_ms, "create_topic", None, (("topic", topic),))


def delete_topic(at_ms: int, topic: str) -> Action:
    """A topic is deleted, with all records that nobody has read."""
    return Action(at_ms, "delete_topic", None, (("topic", topic),))


def add_partitions(at_ms: int, topic: str, partitions: int) -> Action:
    """A topic grows to ``partitions``."""
    return Action(at_ms, "add_partitions", None, (("topic", topic), ("partitions", partitions)))


def coordinator_moves(at_ms: int) -> Action:
    """Another broker becomes the group's coordinator."""
    return Action(at_ms, "coordinator_moves")


def rolling_restart(
    at_ms: int, members: Sequence[str], every_ms: int, down_ms: int = 1_000, **changed
) -> list[Action]:
    """The members restart one by one, ``every_ms`` apart, and come back as :func:`back` says."""
    at_ms, every_ms = plain(at_ms), plain(every_ms)
    _whole("at_ms of rolling_restart", at_ms)
    _whole("every_ms of rolling_restart", every_ms)
    return [
        restart(at_ms + i * every_ms, name, down_ms, **changed) for i, name in enumerate(members)
    ]


@dataclass(frozen=True)
class Scenario(Given):
    """One history to come. ``actions`` in any order; ``duration_ms``: how long to simulate.

    ``watch``: (topic, partition) whose four offsets are kept at every sample; ``sample_ms``: how
    far samples of lag and offsets are apart. ``held``: by member the (topic, partition) that it
    holds, of a group that is taken up as it was found: whenever just these members are there, until
    the first action, they are given this instead of the strategy's answer.
    """

    topics: Sequence[Topic]
    members: Sequence[Member]
    actions: Sequence[Action] = ()
    duration_ms: int = 60_000
    watch: Sequence[tuple[str, int]] = ()
    sample_ms: int = 1_000
    held: Mapping[str, Sequence[tuple[str, int]]] = field(default_factory=dict, hash=False)

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.held, Mapping):
            raise TimelineError(f"held: expected the partitions of every member, got {self.held!r}")
        held = {name: _each("held", self.held[name], tuple) for name in self.held}
        object.__setattr__(self, "held", held)
        kinds = {"topics": Topic, "members": Member, "actions": Action, "watch": tuple}
        for name, kind in kinds.items():
            object.__setattr__(self, name, _each(name, getattr(self, name), kind))
        check(self)

    @property
    def processes(self) -> dict[str, Member]:
        """All members that start at some time, by name."""
        joining = [action["member"] for action in self.actions if action.kind == "join"]
        return {member.name: member for member in (*self.members, *joining)}

    @property
    def versions(self) -> list[Member]:
        """All members as they are at some time: as they start, and as they come back."""
        processes = self.processes
        changed = [
            replace(processes[str(a.member)], **a.changed) for a in self.actions if a.changed
        ]
        return [*processes.values(), *changed]


MEMBER_KINDS = (
    "join", "leave", "crash", "return", "restart", "stall", "freeze", "subscribe", "unsubscribe",
    "enforce_rebalance",
)  # fmt: skip
CHANGEABLE = ("topics", "pattern", "client_pattern", "instance", "processing_ms", "strategies")
"""What may be another in a process that comes back."""
GROUP_KINDS = ("create_topic", "delete_topic", "add_partitions", "coordinator_moves")
MOST_PARTITIONS = 1_000_000
DELETED = 0
"""Partitions of a topic that is no more."""


def check(scenario: Scenario) -> None:
    """Refuse what cannot be simulated, with the field, the value and what is allowed."""
    if not scenario.topics:
        raise TimelineError("topics: a scenario needs at least one topic")
    if not scenario.members and not any(action.kind == "join" for action in scenario.actions):
        raise TimelineError("members: a scenario needs at least one member")
    for name in ("duration_ms", "sample_ms"):
        _whole(name, getattr(scenario, name), least=1)
    topics: dict[str, int] = {}
    for topic in scenario.topics:
        _check_topic(topic, topics)
    members: dict[str, Member] = {}
    for member in scenario.members:
        _check_member(member, members)
    for action in scenario.actions:
        _whole(f"at_ms of {action.kind}", action.at_ms)
        if action.at_ms > scenario.duration_ms:
            raise TimelineError(
                f"at_ms of {action.kind}: {action.at_ms} is after the end, "
                f"duration_ms={scenario.duration_ms}"
            )
    first = dict(topics)
    ever = dict(topics)
    for action in sorted(scenario.actions, key=lambda action: action.at_ms):
        _check_action(action, topics, members)
        ever |= {name: max(count, ever.get(name, 0)) for name, count in topics.items()}
    for what, named in _named(scenario):
        refuse_unknown(f"topic of {what}", named, topics)
    refuse_unknown("member of held", scenario.held, [member.name for member in scenario.members])
    held = [one for name in scenario.held for one in scenario.held[name]]
    for what, several, there in (("watch", scenario.watch, ever), ("held", held, first)):
        for named in several:
            topic, partition = named if len(named) == 2 else (named, None)
            if not isinstance(topic, str) or partition not in range(there.get(topic, 0)):
                raise TimelineError(f"{what}: there is no partition {partition} of {topic!r}")
    if len(set(held)) < len(held):
        raise TimelineError("held: a partition is given twice")


def _named(scenario: Scenario) -> list[tuple[str, Sequence[str]]]:
    """Who names topics, and which."""
    named = [(f"member {m.name!r}", m.topics or ()) for m in scenario.versions]
    return named + [
        ("action subscribe", action["topics"])
        for action in scenario.actions
        if action.kind == "subscribe"
    ]


def known_ids(ids: Mapping[str, Iterable[str]], scenario: Scenario) -> dict[str, tuple[str, ...]]:
    """The ids of topics and members by name, if each is that of one."""
    created = [action["topic"] for action in scenario.actions if action.kind == "create_topic"]
    named = [topic.name for topic in (*scenario.topics, *created)]
    refuse_unknown(
        "topic or member of ids", one_of("ids", ids, Mapping), [*named, *scenario.processes]
    )
    known = {name: _each(f"ids of {name!r}", ids[name], str) for name in ids}
    owner: dict[str, str] = {}
    for name, own in known.items():
        for one in own:
            if owner.setdefault(one, name) != name:
                raise TimelineError(f"ids of {name!r}: {shown(one)} is one of {owner[one]!r}, too")
    return known


def _check_topic(topic: Topic, topics: dict[str, int]) -> None:
    one_of("topic of create_topic", topic, Topic)
    if one_of("name of a topic", topic.name, str) in topics:
        deleted = topics[topic.name] == DELETED
        why = "was deleted: give the new one another name" if deleted else "is given twice"
        raise TimelineError(f"topic {topic.name!r} {why}")
    _whole(f"partitions of {topic.name!r}", topic.partitions, least=1, most=MOST_PARTITIONS)
    _number(f"rate of {topic.name!r}", topic.rate, below=1e9)
    topics[topic.name] = topic.partitions


def _check_member(member: Member, members: dict[str, Member]) -> None:
    one_of("member of join", member, Member)
    if one_of("name of a member", member.name, str) in members:
        raise TimelineError(f"member {member.name!r} is given twice")
    members[member.name] = member
    _whole(f"start_ms of {member.name!r}", member.start_ms)
    if member.made_ms is not None:
        _whole(f"made_ms of {member.name!r}", member.made_ms, -MOST, member.start_ms)
    _number(f"processing_ms of {member.name!r}", member.processing_ms, below=1e7)
    for name in ("topics", "strategies"):
        given, what = getattr(member, name), f"{name} of {member.name!r}"
        if given is not None and not _each(what, given, str):
            raise TimelineError(f"{what}: expected at least one")
    one_of(f"instance of {member.name!r}", member.instance or "", str)
    if one_of(f"client of {member.name!r}", member.client, str):
        refuse_unknown("client", [member.client], OTHERS)
    one_of(f"client_pattern of {member.name!r}", member.client_pattern, bool)
    if member.topics is not None and member.pattern is not None:
        raise TimelineError(f"member {member.name!r} has both topics and a pattern")
    if member.pattern is not None:
        try:
            re.compile(member.pattern).fullmatch("")  # a pattern of bytes matches no name
        except (re.error, TypeError) as error:
            raise TimelineError(f"pattern of {member.name!r}: {error}") from None


def _check_action(action: Action, topics: dict[str, int], members: dict[str, Member]) -> None:
    refuse_unknown("action", [action.kind], MEMBER_KINDS + GROUP_KINDS)
    if action.kind == "join":
        _check_member(action["member"], members)
    elif action.kind in MEMBER_KINDS and action.member not in list(members):
        raise UnknownName("member", action.member, sorted(members))
    elif action.kind == "create_topic":
        _check_topic(action["topic"], topics)
    elif action.kind == "delete_topic":
        _check_exists(action["topic"], topics)
        topics[action["topic"]] = DELETED
    elif action.kind == "add_partitions":
        name, count = action["topic"], action["partitions"]
        _check_exists(name, topics)
        _whole(f"partitions of {name!r}", count, least=topics[name], most=MOST_PARTITIONS)
        topics[name] = count
    elif action.kind == "leave":
        one_of("for_good of leave", action.get("for_good", False), bool)
    elif action.kind == "subscribe":
        _each("topics of subscribe", action["topics"], str)
    elif action.kind in ("stall", "freeze"):
        _whole(f"for_ms of {action.kind}", action["for_ms"])
    elif action.kind == "restart":
        _whole("down_ms of restart", action["down_ms"])
    if action.kind in ("return", "restart"):
        refuse_unknown(f"setting of {action.kind}", action.changed, CHANGEABLE)
        _check_member(replace(members.pop(str(action.member)), **action.changed), members)


def _check_exists(name: str, topics: dict[str, int]) -> None:
    refuse_unknown("topic", [name], [t for t, count in topics.items() if count != DELETED])


def _each(name: str, given: Any, kind: type) -> tuple:
    """All that is given as a tuple, if each is of the kind: a generator is read once only."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise TimelineError(f"{name}: expected a list of {_called(kind)}s, got {shown(given)}")
    return tuple(one_of(f"one of {name}", one, kind) for one in given)


def one_of(name: str, given: Any, kind: type) -> Any:
    """What is given, if it is of the kind."""
    if not isinstance(given, kind):
        raise TimelineError(f"{name}: expected a {_called(kind)}, got {shown(given)}")
    return given


def _called(kind: type) -> str:
    return {str: "name", int: "whole number"}.get(kind, kind.__name__)


def _number(name: str, value: Any, below: float) -> None:
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not number or not 0 <= value < below:
        raise TimelineError(f"{name}: expected a number from 0 to {below:g}, got {shown(value)}")


def _whole(name: str, value, least: int = 0, most: int = MOST) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise TimelineError(
            f"{name}: expected an integer from {least} to {most}, got {shown(value)}"
        )
