"""``rocketmq-consistent-hash``: RocketMQ's AllocateMessageQueueConsistentHash.

The rule. Every client of the group marks ``vnodes`` points (10 unless the group says otherwise) on
a ring of 32-bit numbers: the first four bytes of the MD5 digests of ``client-0``, ``client-1``, ...
A queue goes to the client whose point is the first at or after the hash of the queue's text, which
holds topic, broker and number; around the end if need be.

What it promises, in order
1. Monotony: a client that joins only takes queues, one that leaves only gives away its own.
2. Balance by chance alone; more points make it better.
Nor are all queues consumed where a client does not subscribe to a topic. Without points (vnodes 0)
nobody gets anything.

>>> from assignlab.assignors.answer import answer
>>> def allocate(*clients, **options):
...     return answer({"strategy": "rocketmq-consistent-hash", **options,
...         "topics": [{"name": "t", "brokers": [["broker-a", 8]]}],
...         "members": [{"id": c, "topics": ["t"]} for c in clients]})["assignment"]
>>> {c: [number for _, _, number in queues_] for c, queues_ in allocate("c1", "c2").items()}
{'c1': [3, 5, 6], 'c2': [0, 1, 2, 4, 7]}
>>> {c: [number for _, _, number in queues_] for c, queues_ in allocate("c1", "c2", "c3").items()}
{'c1': [5, 6], 'c2': [0, 1, 2, 4, 7], 'c3': [3]}
>>> allocate("c1", "c2", vnodes=0)
{'c1': [], 'c2': []}
"""

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise

import numpy as np

from assignlab.assignors.rocketmq import avg
from assignlab.assignors.rocketmq.parts import queues
from assignlab.assignors.strategy import by_rules
from assignlab.errors import DocumentError, OriginalError
from assignlab.group.model import Group

VNODES = 10
MAX_POINTS = 10_000_000
"""On the ring of all clients: more would take minutes and gigabytes."""
POSITION_BITS = 31
"""On the ring a point, of 32 bits, stands before its place among all: one number to sort by."""


def allocate(group: Group, calls: queues.Calls) -> np.ndarray:
    """The owner of every queue of the calls, ``NOBODY`` without points: int64[n]."""
    points = group.prepared(client_points)
    hashes = group.prepared(queue_hashes)[calls.slots]
    owners = np.full(hashes.size, queues.NOBODY, dtype=np.int64)
    crowds, bounds = np.repeat(calls.crowd, np.diff(calls.starts)), calls.crowd_starts.tolist()
    for crowd, (first, last) in enumerate(pairwise(bounds) if points.size else ()):
        mine = slice(None) if len(bounds) == 2 else crowds == crowd
        owners[mine] = route(points, calls.clients[first:last], hashes[mine])
    return owners


def route(points: np.ndarray, clients: np.ndarray, hashes: np.ndarray) -> np.ndarray:
    """The client of the first point at or after each hash; of equal points the last client's."""
    of_clients = points[clients].ravel()
    last_first = np.arange(of_clients.size - 1, -1, -1)
    ring = np.sort(of_clients << POSITION_BITS | last_first)
    found = ring[np.searchsorted(ring, hashes << POSITION_BITS) % ring.size]
    place = of_clients.size - 1 - (found & ((1 << POSITION_BITS) - 1))
    return clients[place // points.shape[1]]


def client_points(group: Group) -> np.ndarray:
    """The points of every member: int64[members, vnodes], 0 to 2**32 - 1.

    Raises OriginalError for ``vnodes`` below 0, DocumentError for too many, or no whole number.
    """
    vnodes = queues.option(group, "vnodes", int, VNODES)
    names = group.members.names
    if len(names) == 0:
        return np.empty((0, 0), dtype=np.int64)
    if vnodes < 0:
        raise OriginalError("IllegalArgumentException", f"{vnodes} virtual nodes")
    if vnodes * len(names) > MAX_POINTS:
        raise DocumentError("vnodes", f"more than {MAX_POINTS} points on the ring")
    return np.concatenate([points_of(name, vnodes) for name in names]).reshape(len(names), vnodes)


@lru_cache(maxsize=1 << 14)
def points_of(client: str, vnodes: int) -> np.ndarray:
    """The points of a client, whatever its group: int64[vnodes]."""
    return md5(f"{client}-{i}" for i in range(vnodes))


def queue_hashes(group: Group) -> np.ndarray:
    """The hash of every queue of the cluster by its slot: int64[n]."""
    of_topics = map(hashes_of, group.topics.names, group.topics.prepared(queues.queues_by_topic))
    return np.concatenate([queues.NO_QUEUE, *of_topics])


@lru_cache(maxsize=1 << 14)
def hashes_of(topic: str, of_topic: tuple[queues.Queue, ...]) -> np.ndarray:
    """The hashes of a topic's queues, whatever its group: int64[queues]."""
    return md5(
        f"MessageQueue [topic={topic}, brokerName={broker}, queueId={number}]"
        for broker, number in of_topic
    )


def md5(names: Iterable[str]) -> np.ndarray:
    """The first four bytes of each name's MD5 digest (Java encodes half a pair as ``?``)."""
    digests = (hashlib.md5(name.encode("utf-8", "replace")).digest()[:4] for name in names)
    return np.frombuffer(b"".join(digests), dtype=">u4").astype(np.int64)


assign = by_rules(queues.share_out, allocate=allocate)

STRATEGY = replace(
    avg.STRATEGY,
    name="rocketmq-consistent-hash",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueConsistentHash",
    look=("brown", "D", "long dashes"),
    promises=("complete_if_equal", "monotone"),
    assign=assign,
)
