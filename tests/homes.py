"""Groups as a strategy's own system has them: on named brokers, in machine rooms, with options."""

from dataclasses import replace

from assignlab import events
from assignlab.group import Group
from assignlab.strategy import Strategy

BROKERS = {"MetaQ": ("0", "1"), "RocketMQ": ("room0@broker-0", "room1@broker-1")}


def history_at_home(strategy: Strategy, history: list[events.Moment]) -> list[events.Moment]:
    """The same history among the brokers of the strategy's system."""
    brokers = BROKERS.get(strategy.system)
    if brokers is None:
        return history
    return [replace(moment, group=at_home(strategy, moment.group)) for moment in history]


def at_home(strategy: Strategy, group: Group) -> Group:
    """Half of every topic's partitions on either broker; RocketMQ: both rooms are configured."""
    brokers = BROKERS[strategy.system]
    queues = tuple(
        tuple((brokers[p % 2], p // 2) for p in range(max(0, count)))
        for count in group.topics.partitions.tolist()
    )
    group = group.with_topics(replace(group.topics, queues=queues))
    if strategy.system != "RocketMQ":
        return group
    rooms = tuple(f"room{m % 2}" for m in range(len(group.members)))
    return replace(
        group,
        members=replace(group.members, racks=rooms),
        options={"idcs": ["room0", "room1"], "config": lists_for_everybody(group)},
        _prepared={},
    )


def lists_for_everybody(group: Group) -> dict[str, list[list]]:
    """``config`` of ``rocketmq-config``: every queue listed once, by a subscriber of its topic."""
    members = group.members
    config: dict[str, list[list]] = {name: [] for name in members.names}
    for t, queues in enumerate(group.topics.queues):
        readers = [m for m in range(len(members)) if t in members.topics_of(m)]
        for i, (broker, queue) in enumerate(queues if readers else ()):
            reader = members.names[readers[i % len(readers)]]
            config[reader].append([group.topics.names[t], broker, queue])
    return config


def promises_completeness(strategy: Strategy, group: Group) -> bool:
    """RocketMQ deals to clients that do not subscribe, and nobody reads what they were dealt."""
    return strategy.system != "RocketMQ" or group.members.offsets.size == 2
