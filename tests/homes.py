"""Groups as a strategy's own system has them: on two named brokers, in two machine rooms."""

from dataclasses import replace

from assignlab import events
from assignlab.assignors.rocketmq import rooms
from assignlab.group import Group
from assignlab.strategy import Strategy


def history_at_home(strategy: Strategy, history: list[events.Moment]) -> list[events.Moment]:
    """The same history among the brokers of the strategy's system."""
    settle = HOMES.get(strategy.system)
    if settle is None:
        return history
    return [replace(moment, group=settle(moment.group)) for moment in history]


def on_two_brokers(group: Group) -> Group:
    """Half of every topic's partitions on either broker."""
    queues = tuple(
        tuple((str(p % 2), p // 2) for p in range(max(0, count)))
        for count in group.topics.partitions.tolist()
    )
    return group.with_topics(replace(group.topics, queues=queues))


HOMES = {
    "MetaQ": on_two_brokers,
    "RocketMQ": lambda group: rooms.with_lists(rooms.in_two_rooms(group)),
}


def promises_completeness(strategy: Strategy, group: Group) -> bool:
    """RocketMQ and kafkajs deal to members that do not subscribe, and nobody reads that then."""
    return strategy.system not in ("RocketMQ", "kafkajs") or group.members.offsets.size == 2
