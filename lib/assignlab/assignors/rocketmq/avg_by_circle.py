"""``rocketmq-avg-by-circle``: RocketMQ's AllocateMessageQueueAveragelyByCircle.

The rule. For each topic by itself: sort its queues and all clients of the group, and deal the
queues one by one around the circle of clients, beginning with the first.

What it promises, in order
1. Every topic is spread within one queue over the clients of the group.
2. The queues of one broker go to different clients.
It does not promise balance over topics, nor that all queues are consumed: clients that do not
subscribe to a topic count all the same.

>>> from assignlab.assignors.answer import answer
>>> for client, queues_ in answer({"strategy": "rocketmq-avg-by-circle",
...         "topics": [{"name": "t", "brokers": [["a", 2], ["b", 3]]}],
...         "members": [{"id": "c1", "topics": ["t"]}, {"id": "c2", "topics": ["t"]}]}
...         )["assignment"].items():
...     print(client, *queues_)
c1 ['t', 'a', 0] ['t', 'b', 0] ['t', 'b', 2]
c2 ['t', 'a', 1] ['t', 'b', 1]
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.rocketmq import avg
from assignlab.assignors.rocketmq.parts import queues
from assignlab.assignors.strategy import by_rules
from assignlab.compiled import njit
from assignlab.group.model import Group


def allocate(group: Group, calls: queues.Calls) -> np.ndarray:
    """The owner of every queue of the calls: int64[n]."""
    return by_circle(calls.starts, calls.crowd, calls.crowd_starts, calls.clients)


@njit
def by_circle(starts, crowd, crowd_starts, clients):
    """Queue i of a call goes to client i modulo their number."""
    owners = np.empty(starts[-1], dtype=np.int64)
    for call in range(crowd.size):
        first, last = crowd_starts[crowd[call]], crowd_starts[crowd[call] + 1]
        turn = first
        for i in range(starts[call], starts[call + 1]):
            owners[i] = clients[turn]
            turn = turn + 1 if turn + 1 < last else first
    return owners


assign = by_rules(queues.share_out, allocate=allocate)

STRATEGY = replace(
    avg.STRATEGY,
    name="rocketmq-avg-by-circle",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueAveragelyByCircle",
    look=("orange", "s", "long dashes"),
    promises=("complete_if_equal", "round_the_clients"),
    assign=assign,
)
