"""One run of a scenario: the protocol that its strategies speak, and what is done to the group."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.timeline.config import Config, TimelineError
from assignlab.timeline.engine.consumer import Consumer
from assignlab.timeline.engine.history import History
from assignlab.timeline.engine.log import EMPTY
from assignlab.timeline.engine.world import World
from assignlab.timeline.protocols import (
    classic_client,
    classic_coordinator,
    kip848_client,
    kip848_coordinator,
    metaq,
    zookeeper,
)
from assignlab.timeline.scenario import Action, Member, Scenario


class Protocol(NamedTuple):
    """The two sides of a protocol: made of a world; of a world, its coordinator and a member."""

    coordinator: type
    client: type


CLASSIC = Protocol(classic_coordinator.Coordinator, classic_client.Client)
KIP_848 = Protocol(kip848_coordinator.Coordinator, kip848_client.Client)
KAFKA_0_8 = Protocol(zookeeper.Registry, zookeeper.Client)
METAQ = Protocol(zookeeper.Registry, metaq.Client)

ALONE = {
    ("Kafka coordinator", "server"): KIP_848,
    ("Kafka 0.8 consumer", "eager"): KAFKA_0_8,
    ("MetaQ", "independent"): METAQ,
}
"""Protocols of groups in which all members have one strategy: (its system, its protocol) -> ours."""


def run(
    scenario: Scenario,
    config: Config | None = None,
    strategy: str | Sequence[str] = "range",
    seed: int = 0,
) -> History:
    """Simulate a scenario; returns its history.

    ``strategy``: the name of a strategy, which decides on the protocol, too; several, most wanted
    first, are what every member proposes. ``seed``: of member ids, topic ids and start moments.
    Raises :class:`TimelineError` or :class:`~assignlab.errors.UnknownName` for what is wrong.
    """
    return Simulation(scenario, config or Config(), strategies_named(strategy), seed).run()


def strategies_named(strategy: str | Sequence[str]) -> tuple[Strategy, ...]:
    """The strategies of one name or several."""
    names = (strategy,) if isinstance(strategy, str) else tuple(strategy)
    if not names:
        raise TimelineError("strategy: expected at least one name")
    return tuple(assignors.get(name) for name in names)


def protocol_of(chosen: set[Strategy]) -> Protocol:
    """The protocol of a group whose members have these strategies among them.

    Assignors of other clients than Java's run in a client that otherwise behaves as Java's.
    """
    kinds = {(strategy.system, strategy.protocol) for strategy in chosen}
    if len(chosen) == 1 and not any(strategy.shares for strategy in chosen) and kinds <= set(ALONE):
        return ALONE[kinds.pop()]
    if all(
        system != "Kafka 0.8 consumer" and protocol in ("eager", "cooperative")
        for system, protocol in kinds
    ):
        return CLASSIC
    names = ", ".join(sorted(strategy.name for strategy in chosen))
    raise TimelineError(f"strategies: no group can run {names}")


class Simulation:
    """One run: its world, the coordinator of the group, and the scenario that happens to them."""

    def __init__(
        self, scenario: Scenario, config: Config, strategies: tuple[Strategy, ...], seed: int
    ):
        self.scenario = scenario
        self.world = World(scenario, config, strategies, seed)
        self.clock = self.world.clock
        self.history = self.world.history
        self.members = scenario.processes
        self._numbers = {name: number for number, name in enumerate(self.members)}
        self._rates = {topic.name: topic.rate for topic in scenario.topics}
        chosen = {s for m in self.members.values() for s in self.world.strategies_of(m)}
        coordinator, self._client = protocol_of(chosen)
        self.coordinator: Any = coordinator(self.world)

    def run(self) -> History:
        """Let the scenario happen."""
        for member in self.scenario.members:
            self.clock.at(member.start_ms + self.world.start_delay(), self.start, member)
        for action in sorted(self.scenario.actions, key=lambda action: action.at_ms):
            self.clock.at(action.at_ms, self._act, action)
        self.clock.at(0, self.world.sample)
        self.clock.run(self.scenario.duration_ms)
        return self.world.finish()

    def start(self, member: Member) -> None:
        """A process of a member starts."""
        client = self._client(self.world, self.coordinator, member, self._numbers[member.name])
        self.world.running[member.name] = client
        self.world.processes.append(client)
        client.tell("started")
        client.start()

    def _act(self, action: Action) -> None:
        number = self._numbers.get(action.member, -1)
        kind = f"action: {action.kind}"
        self.history.tell(self.clock.now, kind, number, -1, EMPTY, str(action.member or ""))
        getattr(self, "_" + action.kind)(action)

    def _running(self, action: Action) -> Consumer | None:
        client = self.world.running.get(action.member)
        return client if client is not None and client.alive else None

    def _join(self, action: Action) -> None:
        self.start(action["member"])

    def _leave(self, action: Action) -> None:
        if client := self._running(action):
            client.close()

    def _crash(self, action: Action) -> None:
        if client := self._running(action):
            client.crash()

    def _return(self, action: Action) -> None:
        self._start_anew(action)

    def _restart(self, action: Action) -> None:
        if client := self._running(action):
            client.close()
        self.clock.after(action["down_ms"], self._return_when_closed, action)

    def _return_when_closed(self, action: Action) -> None:
        if self._running(action) is not None:
            self.clock.after(100, self._return_when_closed, action)
        else:
            self.clock.after(self.world.start_delay(), self._start_anew, action)

    def _start_anew(self, action: Action) -> None:
        if self._running(action) is None:
            self.start(self.members[action.member])

    def _stall(self, action: Action) -> None:
        if client := self._running(action):
            client.stall(action["for_ms"])

    def _freeze(self, action: Action) -> None:
        if client := self._running(action):
            client.freeze(action["for_ms"])

    def _subscribe(self, action: Action) -> None:
        if client := self._running(action):
            client.subscribe(action["topics"])

    def _create_topic(self, action: Action) -> None:
        spec = action["topic"]
        self._rates[spec.name] = spec.rate
        self._grow(spec.name, spec.partitions)
        for client in self.world.running.values():
            if client.alive and client.member.topics and spec.name in client.member.topics:
                client.metadata_is_stale()

    def _add_partitions(self, action: Action) -> None:
        self._grow(action["topic"], action["partitions"])

    def _grow(self, name: str, partitions: int) -> None:
        self.world.grow(self.world.cluster.index[name], partitions, self._rates[name])
        self.coordinator.topics_changed()

    def _coordinator_moves(self, action: Action) -> None:
        self.coordinator.move()
