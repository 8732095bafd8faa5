"""``rocketmq-avg``: RocketMQ's AllocateMessageQueueAveragely, its default.

The rule. For each topic by itself: sort its queues and all clients of the group; cut the queues
into as many contiguous blocks as there are clients; where that does not divide evenly, the first
clients get one queue more; with fewer queues than clients the first clients get one each.

What it promises, in order
1. Every topic is spread within one queue over the clients of the group.
It does not promise balance over topics: the first clients get the extra queue of every topic. Nor
that all queues are consumed: clients that do not subscribe to a topic count all the same, and their
queues are read by nobody.

>>> from assignlab.assignors.answer import answer
>>> def allocate(topics, **clients):
...     return answer({"strategy": "rocketmq-avg",
...         "topics": [{"name": t, "brokers": [["broker-a", 5]]} for t in topics],
...         "members": [{"id": c, "topics": list(t)} for c, t in clients.items()]})["assignment"]
>>> for client, queues in allocate("t", c1="t", c2="t").items():
...     print(client, *queues)
c1 ['t', 'broker-a', 0] ['t', 'broker-a', 1] ['t', 'broker-a', 2]
c2 ['t', 'broker-a', 3] ['t', 'broker-a', 4]
>>> [len(queues) for queues in allocate("tuvw", c1="tuvw", c2="tuvw").values()]
[12, 8]
>>> [len(queues) for queues in allocate("t", c1="t", c2="").values()]
[3, 0]
"""

import numpy as np

from assignlab.assignors.rocketmq.parts import queues
from assignlab.assignors.strategy import Strategy, by_rules
from assignlab.compiled import njit
from assignlab.group.model import Group


def allocate(group: Group, calls: queues.Calls) -> np.ndarray:
    """The owner of every queue of the calls: int64[n]."""
    return averagely(calls.starts, calls.crowd, calls.crowd_starts, calls.clients)


@njit
def averagely(starts, crowd, crowd_starts, clients):
    """Block after block; see :class:`~assignlab.assignors.rocketmq.parts.queues.Calls`."""
    owners = np.empty(starts[-1], dtype=np.int64)
    for call in range(crowd.size):
        first = crowd_starts[crowd[call]]
        consumers = crowd_starts[crowd[call] + 1] - first
        count = starts[call + 1] - starts[call]
        mod = count % consumers
        start_index = starts[call]
        for index in range(min(consumers, count)):
            average_size = count // consumers + (1 if index < mod else 0)
            for _ in range(average_size):
                owners[start_index] = clients[first + index]
                start_index += 1
    return owners


assign = by_rules(queues.share_out, allocate=allocate)

STRATEGY = Strategy(
    name="rocketmq-avg",
    system="RocketMQ",
    membership="broker",
    protocol="independent",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragely",
    first="4.2.0",
    last="5.5.0",
    original="rocketmq-client:5.3.3",
    look=("blue", "o", "long dashes"),
    broker=queues.BROKER,
    promises=("complete_if_equal", "client_blocks"),
    exceptions={"complete": "queues of clients that do not subscribe to the topic"},
    assign=assign,
    render=queues.lists,
)
