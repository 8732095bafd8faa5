"""One run of a scenario: the protocol that its strategies speak, and what is done to the group."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

from assignlab import assignors
from assignlab.assignors.strategy import ONE_PROTOCOL, Strategy
from assignlab.timeline.config import Config, TimelineError, plain
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.history import History
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols import (
    aiokafka_client,
    classic_client,
    classic_coordinator,
    franz_go_client,
    kafka_go_client,
    kafka_python_client,
    kafkajs_client,
    kip848_client,
    kip848_coordinator,
    librdkafka_client,
    metaq,
    migration,
    sarama_client,
    zookeeper,
)
from assignlab.timeline.scenario import (
    AIOKAFKA,
    FRANZ_GO,
    KAFKA_GO,
    KAFKA_PYTHON,
    KAFKAJS,
    LIBRDKAFKA,
    SARAMA,
    Action,
    Member,
    Scenario,
    known_ids,
    one_of,
)


class Protocol(NamedTuple):
    """The two sides of a protocol: its coordinator, made of a world, and which client a member with these
    strategies has."""

    coordinator: Callable
    client_of: Callable[[Member, Sequence[Strategy]], type[Consumer]]


KINDS: dict[str, type[Consumer]] = {
    AIOKAFKA: aiokafka_client.Client,
    FRANZ_GO: franz_go_client.Client,
    KAFKA_GO: kafka_go_client.Client,
    KAFKA_PYTHON: kafka_python_client.Client,
    KAFKAJS: kafkajs_client.Client,
    LIBRDKAFKA: librdkafka_client.Client,
    SARAMA: sarama_client.Client,
}
"""Other clients than Java's under the classic protocol."""


def client_named(member: Member, strategies: Sequence[Strategy]) -> str:
    """The client that a member runs, as it says itself or its strategies do; empty for Java's."""
    return member.client or next((s.system for s in strategies if s.client_id), "")


def unplayed(kind: type[Consumer], member: Member, strategies: Sequence[Strategy]) -> set[str]:
    """What a member has that is not played of its client, but of Java's."""
    has = {name for name in ("pattern", "instance") if getattr(member, name) is not None}
    return has.union(strategy.protocol for strategy in strategies) & kind.unplayed


def client_of(member: Member, strategies: Sequence[Strategy]) -> type[Consumer]:
    """A member's client as it is played, of the protocol of its strategies (``group.protocol``)."""
    client = client_named(member, strategies)
    if strategies[0].protocol == "server":
        return librdkafka_client.ServerClient if client == LIBRDKAFKA else kip848_client.Client
    kind = KINDS.get(client, classic_client.Client)
    return classic_client.Client if unplayed(kind, member, strategies) else kind


CLASSIC = Protocol(classic_coordinator.Coordinator, client_of)
KIP_848 = Protocol(kip848_coordinator.Coordinator, client_of)
MIGRATION = Protocol(migration.Coordinator, client_of)
KAFKA_0_8 = Protocol(zookeeper.Registry, lambda *member: zookeeper.Client)
METAQ = Protocol(zookeeper.Registry, lambda *member: metaq.Client)

ALONE = {("ZooKeeper", "eager"): KAFKA_0_8, ("ZooKeeper", "independent"): METAQ}
"""Protocols of groups whose members all have one strategy: (its membership, its protocol) -> ours."""


def run(
    scenario: Scenario,
    config: Config | None = None,
    strategy: str | Sequence[str] = "range",
    seed: int = 0,
    ids: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> History:
    """Simulate a scenario; returns its history.

    ``strategy``: the name of a strategy, which decides on the protocol, too; several, most wanted
    first, are what every member proposes. ``seed``: of member ids, topic ids and start moments.
    ``ids``: those that are known instead, by name, none for two; a member gets the next one whenever
    it is new.
    Raises :class:`TimelineError` or :class:`~assignlab.errors.UnknownName` for what is wrong.
    """
    one_of("scenario", scenario, Scenario)
    config = one_of("config", Config() if config is None else config, Config)
    seed = one_of("seed", plain(seed), int)
    ids = known_ids(ids, scenario)
    return Simulation(scenario, config, strategies_named(strategy), seed, ids).run()


def strategies_named(strategy: str | Sequence[str]) -> tuple[Strategy, ...]:
    """The strategies of one name or several."""
    alone = isinstance(strategy, str) or not isinstance(strategy, Sequence)
    names = (strategy,) if alone else tuple(strategy)
    if not names:
        raise TimelineError("strategy: expected at least one name")
    return tuple(assignors.get(name) for name in names)


def protocol_of(chosen: set[Strategy]) -> Protocol:
    """The protocol of a group whose members have these strategies among them.

    Members of the consumer protocol may ask for different assignors of the coordinator, of one release.
    With members of the classic and others of the consumer protocol it is a group on its way from
    one to the other.
    """
    kinds = {(strategy.membership, strategy.protocol) for strategy in chosen}
    if len(chosen) == 1 and kinds <= set(ALONE):
        return ALONE[kinds.pop()]
    if kinds <= {("coordinator", "eager"), ("coordinator", "cooperative")}:
        return CLASSIC
    different = len({strategy.remote for strategy in chosen}) == len(chosen)
    if kinds == {("coordinator", "server")} and different and not any(s.shares for s in chosen):
        return KIP_848
    servers = {strategy for strategy in chosen if strategy.protocol == "server"}
    others = chosen - servers
    if others and servers and protocol_of(servers) is KIP_848 and protocol_of(others) is CLASSIC:
        return MIGRATION
    names = ", ".join(sorted(strategy.name for strategy in chosen))
    raise TimelineError(f"strategies: no group can run {names}")


def check_list(member: Member, proposed: Sequence[Strategy]) -> None:
    """Refuse a list of strategies that the member's client does not take."""
    names = ", ".join(strategy.name for strategy in proposed)
    one_only = protocol_of(set(proposed)) in (MIGRATION, KIP_848)
    if one_only and len(proposed) > 1:
        raise TimelineError(f"strategies: no group can run {names} in one member's list")
    if len({strategy.kind for strategy in proposed}) < len(proposed):
        # As ConsumerPartitionAssignor.getAssignorInstances does.
        raise TimelineError(f"strategies: {names}: clients refuse a name that comes twice")
    clients = {strategy.system for strategy in proposed if strategy.client_id}
    foreign = any(s.membership != "coordinator" for s in proposed)
    if member.client and (foreign or clients - {member.client}):
        raise TimelineError(f"client of {member.name!r}: {member.client} cannot run {names}")
    if len(clients) > 1:
        raise TimelineError(f"strategies: {names}: no client has them all")
    client, protocols = client_named(member, proposed), {s.protocol for s in proposed}
    kind = KINDS.get(client, classic_client.Client)
    if protocols & kind.lacks:
        raise TimelineError(f"strategies: {client}'s members do not run {names}")
    if member.client and (has := unplayed(kind, member, proposed)):
        told = f"{client}'s members are not played with {', '.join(sorted(has))}"
        raise TimelineError(f"client of {member.name!r}: {told}")
    if client in ONE_PROTOCOL and len(protocols) > 1:
        raise TimelineError(
            f"strategies: {names}: {client} refuses eager and cooperative ones in one list"
        )


class Simulation:
    """One run: its world, the coordinator of the group, and the scenario that happens to them."""

    def __init__(
        self, scenario: Scenario, config: Config, strategies: tuple[Strategy, ...], seed: int,
        ids: Mapping[str, Sequence[str]] = MappingProxyType({}),
    ):  # fmt: skip
        self.scenario = scenario
        self.world = World(scenario, config, strategies, seed, ids)
        self.clock = self.world.clock
        self.history = self.world.history
        self.members = scenario.processes
        self._numbers = {name: number for number, name in enumerate(self.members)}
        self.rates = {topic.name: topic.rate for topic in scenario.topics}
        lists = [self.world.strategies_of(member) for member in scenario.versions]
        for member, proposed in zip(scenario.versions, lists, strict=True):
            check_list(member, proposed)
        chosen = {strategy for proposed in lists for strategy in proposed}
        coordinator, self._client_of = protocol_of(chosen)
        self._check_clients()
        self.coordinator: Any = coordinator(self.world)

    def _check_clients(self) -> None:
        """Refuse what is asked of a member and its client does not have."""
        members = dict(self.members)
        asked = [(one, "pattern") for one in self.scenario.versions if one.pattern is not None]
        for action in sorted(self.scenario.actions, key=lambda action: action.at_ms):
            if action.member is not None:
                member = replace(members[action.member], **action.changed)
                members[action.member] = member
                to_none = action.kind == "subscribe" and not action["topics"]
                asked.append((member, "unsubscribe" if to_none else action.kind))
        for member, what in asked:
            strategies = self.world.strategies_of(member)
            if what in self._client_of(member, strategies).lacks:
                whose = client_named(member, strategies) or strategies[0].system
                raise TimelineError(f"{what} of {member.name!r}: {whose}'s members do not have it")

    def run(self) -> History:
        """Let the scenario happen."""
        for member in self.scenario.members:
            self.clock.at(member.start_ms + self.world.start_delay(), self.start_first, member)
        for action in sorted(self.scenario.actions, key=lambda action: action.at_ms):
            self.clock.at(action.at_ms, self._act, action)
        self.clock.look(0, self.world.sample)
        self.clock.run(self.scenario.duration_ms)
        return self.world.finish()

    def start_first(self, member: Member) -> None:
        """The start that the scenario plans, if no action has started the member before."""
        if member.name not in self.world.running:
            self.start(member)

    def start(self, member: Member) -> None:
        """A process of a member starts."""
        kind: Any = self._client_of(member, self.world.strategies_of(member))
        client = kind(self.world, self.coordinator, member, self._numbers[member.name])
        self.world.running[member.name] = client
        self.world.processes.append(client)
        client.tell("started")
        client.start()

    def _act(self, action: Action) -> None:
        self.world.groups.held = {}
        number = self._numbers.get(action.member, -1)
        self.world.tell(f"action: {action.kind}", -1, str(action.member or ""), number)
        if action.kind in ACTIONS:
            ACTIONS[action.kind](self, action)
        elif client := self.running(action):
            TO_CLIENTS[action.kind](client, action)

    def clients(self) -> list[Any]:
        """The clients of all processes that run."""
        return [client for client in self.world.running.values() if client.alive]

    def running(self, action: Action) -> Any:
        """The client of the member whom an action concerns, if its process runs."""
        client = self.world.running.get(str(action.member))
        return client if client is not None and client.alive else None

    def start_anew(self, action: Action) -> None:
        """The member's process starts again, if it does not run; as soon as it is closed, if it is through
        with a batch first."""
        client = self.running(action)
        if client is not None and client.closing:
            self.return_when_closed(action, client)
        elif client is None:
            name = str(action.member)
            again = {"made_ms": None} | action.changed
            self.members[name] = replace(self.members[name], **again)
            self.start(self.members[name])

    def return_when_closed(self, action: Action, before: Any) -> None:
        """The member's process starts again as soon as the one before, if any, is gone."""
        if before is not None and before.alive:
            self.clock.after(100, self.return_when_closed, action, before)
        else:
            self.clock.after(self.world.start_delay(), self.start_anew, action)

    def grow(self, name: str, partitions: int) -> None:
        """A topic has so many partitions from now on."""
        self.world.grow(self.world.cluster.index[name], partitions, self.rates[name])
        self.coordinator.topics_changed()


# ---- actions -----------------------------------------------------------------------------------


def leave(client: Any, leaves: Action) -> None:
    """A member closes."""
    client.stays = client.stays and not leaves.get("for_good", False)
    client.closing = True
    client.close()


def subscribe(client: Any, subscribes: Action) -> None:
    """A member subscribes to other topics; to none is to unsubscribe."""
    topics = subscribes["topics"]
    client.subscribe(topics) if topics else client.unsubscribe()


def restart(run: Simulation, restarts: Action) -> None:
    """A member closes and is back after a while."""
    if client := run.running(restarts):
        leave(client, restarts)
    run.clock.after(restarts["down_ms"], run.return_when_closed, restarts, client)


def create_topic(run: Simulation, creates: Action) -> None:
    """A topic is created; clients that name it keep asking for it and find it soon."""
    topic = creates["topic"]
    run.rates[topic.name] = topic.rate
    run.grow(topic.name, topic.partitions)
    for client in run.clients():
        named = client.member.topics and topic.name in client.member.topics
        if named or client.keeps_asking:
            client.metadata_is_stale()


def delete_topic(run: Simulation, deletes: Action) -> None:
    """A topic is gone; who fetches from it is told so at once, and looks for its topics."""
    topic = run.world.cluster.index[deletes["topic"]]
    run.world.delete(topic)
    run.coordinator.topics_changed()
    for client in run.clients():
        if (run.world.cluster.topic[client.held] == topic).any():
            client.topic_is_gone()
        elif client.keeps_asking:
            client.metadata_is_stale()


def add_partitions(run: Simulation, adds: Action) -> None:
    """A topic grows."""
    run.grow(adds["topic"], adds["partitions"])
    for client in run.clients():
        if client.keeps_asking:  # for a topic that is not there: it is told of all the others, too
            client.metadata_is_stale()


TO_CLIENTS: dict[str, Callable[[Any, Action], None]] = {
    "leave": leave,
    "crash": lambda client, action: client.crash(),
    "stall": lambda client, action: client.stall(action["for_ms"]),
    "freeze": lambda client, action: client.freeze(action["for_ms"]),
    "subscribe": subscribe,
    "unsubscribe": lambda client, action: client.unsubscribe(),
    "enforce_rebalance": lambda client, action: client.enforce_rebalance(),
}
"""What can be done to a process that runs, by the kind of action."""
ACTIONS: dict[str, Callable[[Simulation, Action], None]] = {
    "join": lambda run, action: run.start(action["member"]),
    "return": Simulation.start_anew,
    "restart": restart,
    "create_topic": create_topic,
    "delete_topic": delete_topic,
    "add_partitions": add_partitions,
    "coordinator_moves": lambda run, action: run.coordinator.move(),
}
"""What else can be done to a group; :mod:`~assignlab.timeline.scenario` makes all of them."""
