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
from assignlab.group.assignment import Assignment, code, topic_of
from assignlab.group.model import Group, subscriptions_by_topic


def assign(group: Group) -> Assignment:
    """Give every client its list."""
    return group.prepared(configured)


def configured(group: Group) -> Assignment:
    """The lists of ``config`` as far as topics and queues exist; it changes with the group only."""
    config = queues.option(group, "config", dict, {})
    code_of = {
        (name, *queue): code(topic, i)
        for topic, name in enumerate(group.topics.names)
        for i, queue in enumerate(queues.queues_of(group, topic))
    }
    subscribed = group.prepared(subscriptions_by_topic)[group.members.subscription]
    lists = [np.empty(0, dtype=np.int64)]
    for member, name in enumerate(group.members.names):
        listed = dict.fromkeys(map(entry_of, entries_of(config.get(name) or [])))
        codes = np.array([code_of[queue] for queue in listed if queue in code_of], dtype=np.int64)
        codes = codes[subscribed[member, topic_of(codes)]]
        by_name = np.argsort(group.topics.names.rank[topic_of(codes)], kind="stable")
        lists.append(codes[by_name])
    offsets = np.cumsum([codes.size for codes in lists], dtype=np.int64)
    return queues.once_per_mention(group, Assignment(offsets, np.concatenate(lists)))


def entries_of(entries: object) -> list:
    """One member's entry of ``config``: a list."""
    if not isinstance(entries, list):
        raise DocumentError("config", "expected a list of queues for each member")
    return entries


def entry_of(entry: object) -> tuple[str, str, int]:
    """One queue of ``config``: topic, broker name, queue id."""
    if isinstance(entry, list | tuple) and [type(field) for field in entry] == [str, str, int]:
        return tuple(entry)
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
