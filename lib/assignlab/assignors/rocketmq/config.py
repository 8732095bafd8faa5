"""``rocketmq-config``: RocketMQ's AllocateMessageQueueByConfig.

The rule. Every client has a list of queues in its own configuration and is given that list, whatever
queues and clients there are. In the group document the lists stand in ``config``: by member id,
``[topic, broker name, queue id]``; a member that is not named there has none.

What it promises: nothing. Two clients may own one queue, and a queue that nobody lists is read by
nobody. The strategy gives the whole list for every topic; a client keeps, once, the queues of the
topics that it subscribes to, as far as they exist.

>>> from assignlab.assignors.answer import answer
>>> for client, queues_ in answer({"strategy": "rocketmq-config",
...         "topics": [{"name": "t", "brokers": [["broker-a", 3]]}],
...         "config": {"c1": [["t", "broker-a", 2], ["t", "broker-a", 0]],
...                    "c2": [["t", "broker-a", 2], ["t", "broker-a", 7]]},
...         "members": [{"id": c, "topics": ["t"]} for c in ("c1", "c2", "c3")]}
...         )["assignment"].items():
...     print(client, *queues_)
c1 ['t', 'broker-a', 2] ['t', 'broker-a', 0]
c2 ['t', 'broker-a', 2]
c3
"""

import numpy as np

from assignlab.assignors.rocketmq.parts import queues, rooms
from assignlab.assignors.strategy import Strategy
from assignlab.errors import DocumentError
from assignlab.group.assignment import Assignment, code
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Give every client its list."""
    return group.prepared(configured)


def configured(group: Group) -> Assignment:
    """The lists of ``config`` as far as topics and queues exist; it changes with the group only."""
    config = queues.option(group, "config", dict, {})
    lists = []
    for member, name in enumerate(group.members.names):
        listed: dict[str, dict[queues.Queue, None]] = {}
        for topic, *queue in map(entry_of, entries_of(config.get(name) or [])):
            listed.setdefault(topic, {})[tuple(queue)] = None
        kept = []
        for topic in queues.existing_topics(group, member).tolist():
            index = group.prepared(queue_index)[topic]
            own = listed.get(group.topics.names[topic], ())
            kept += [code(topic, index[queue]) for queue in own if queue in index]
        lists.append(kept)
    offsets = np.cumsum([0] + [len(kept) for kept in lists], dtype=np.int64)
    codes = np.array([c for kept in lists for c in kept], dtype=np.int64)
    return queues.once_per_mention(group, Assignment(offsets, codes))


def queue_index(group: Group) -> list[dict[queues.Queue, int]]:
    """Per topic the partition index of each queue."""
    return [
        {queue: i for i, queue in enumerate(queues.queues_of(group, topic))}
        for topic in range(len(group.topics))
    ]


def entries_of(entries: object) -> list:
    """One member's entry of ``config``: a list."""
    if not isinstance(entries, list):
        raise DocumentError("config", "expected a list of queues for each member")
    return entries


def entry_of(entry: object) -> tuple[str, str, int]:
    """One queue of ``config``: topic, broker name, queue id."""
    match entry:
        case [str(topic), str(broker), int(number)] if not isinstance(number, bool):
            return topic, broker, number
    raise DocumentError("config", f"expected [topic, broker name, queue id], got {entry!r}")


STRATEGY = Strategy(
    name="rocketmq-config",
    system="RocketMQ",
    protocol="independent",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig",
    original="rocketmq-client:5.3.3",
    look=("green", "^", "long dashes"),
    broker=queues.BROKER,
    exceptions={
        "complete": "queues that no client lists",
        "promises": "every client is given the list that somebody wrote for it, whatever it says",
    },
    assign=assign,
    render=queues.lists,
    equip=rooms.with_lists,
)
