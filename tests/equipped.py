"""Groups as a strategy's own system has them: where partitions lie on brokers, on two of them."""

from dataclasses import replace

from assignlab.assignors.rocketmq.parts import rooms
from assignlab.assignors.strategy import Strategy
from assignlab.group.model import Group
from assignlab.replay.history import Moment


def equipped(strategy: Strategy, history: list[Moment]) -> list[Moment]:
    """The same history on brokers in two rooms, with lists of queues, if the system has brokers."""
    if not strategy.broker:
        return history
    return [
        replace(moment, group=rooms.with_lists(rooms.in_two_rooms(moment.group)))
        for moment in history
    ]


def promises_completeness(strategy: Strategy, group: Group) -> bool:
    """Whether every partition gets an owner; with equal subscriptions all strategies see to that."""
    equal = group.members.offsets.size == 2
    return equal or "complete" not in strategy.exceptions
