"""``rocketmq-machine-room``: RocketMQ's AllocateMessageQueueByMachineRoom.

The rule. A broker's name is ``room@broker``. Only the queues of the rooms named in the group's
``idcs`` are shared out. For each topic by itself: sort these queues and all clients; every client
gets one contiguous block of the same length;
what is left over goes one by one to the first clients.

What it promises, in order
1. Queues of rooms that are not named, and of brokers without a room, are read by nobody.
2. The others are spread within one queue over the clients of the group.
It does not keep clients to their own room: that is ``rocketmq-machine-room-nearby``.

>>> from assignlab.assignors.answer import answer
>>> def allocate(**options):
...     return answer({"strategy": "rocketmq-machine-room", **options,
...         "topics": [{"name": "t", "brokers": [["r1@a", 3], ["r2@b", 2], ["c", 2]]}],
...         "members": [{"id": "c1", "topics": ["t"]}, {"id": "c2", "topics": ["t"]}]})
>>> for client, queues_ in allocate(idcs=["r1", "r2"])["assignment"].items():
...     print(client, *queues_)
c1 ['t', 'r1@a', 0] ['t', 'r1@a', 1] ['t', 'r2@b', 1]
c2 ['t', 'r1@a', 2] ['t', 'r2@b', 0]

Without ``idcs`` the original fails as soon as it meets a broker with a room:

>>> allocate()
{'error': 'NullPointerException: no machine rooms are given (idcs)'}
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.rocketmq import avg
from assignlab.assignors.rocketmq.parts import queues, rooms
from assignlab.compiled import njit
from assignlab.errors import DocumentError, OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group

NO_ROOM = None


def assign(group: Group) -> Assignment:
    """Share out the queues of the named rooms.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws, DocumentError for an
    option of the wrong kind.
    """
    group.prepared(check)
    return queues.share_out(group, allocate)


def check(group: Group) -> None:
    """Without ``idcs`` the first call that fails decides the error."""
    if "idcs" in group.options:
        return
    for member, topic in queues.calls_in_turn(group):
        queues.check_call(group, member, topic)
        refuse_rooms(queues.queues_of(group, topic))


def refuse_rooms(shared: tuple[queues.Queue, ...]) -> None:
    """What happens without ``idcs`` where a broker has a room; raises :class:`OriginalError`."""
    if any(room_of(broker) is not NO_ROOM for broker, _ in shared):
        raise OriginalError("NullPointerException", "no machine rooms are given (idcs)")


def allocate(group: Group, calls: queues.Calls) -> np.ndarray:
    """The owner of every queue of the calls, ``NOBODY`` outside the rooms: int64[n]."""
    named = group.prepared(in_named_room)[calls.slots]
    return by_machine_room(named, calls.starts, calls.crowd, calls.crowd_starts, calls.clients)


def in_named_room(group: Group) -> np.ndarray:
    """Whether a queue's room is among ``idcs``, by slot: bool[n]."""
    idcs = queues.option(group, "idcs", list, [])
    if not all(isinstance(room, str) for room in idcs):
        raise DocumentError("idcs", "expected names of machine rooms")
    named = frozenset(idcs)
    of_topics = [in_rooms(one, named) for one in group.topics.prepared(queues.queues_by_topic)]
    return np.concatenate([np.empty(0, dtype=np.bool_), *of_topics])


@lru_cache(maxsize=1024)
def in_rooms(of_topic: tuple[queues.Queue, ...], named: frozenset[str]) -> np.ndarray:
    """Whether a topic's queues are in rooms of these names, whatever its group: bool[queues]."""
    return np.array([room_of(broker) in named for broker, _ in of_topic], dtype=np.bool_)


def room_of(broker: str) -> str | None:
    """The room in a broker's name, as ``name.split("@")`` finds it: two parts, empty ends dropped.

    >>> [room_of(name) for name in ("r@b", "b", "r@b@c", "@b", "r@", "r@b@")]
    ['r', None, None, '', None, 'r']
    """
    parts = broker.split("@")
    while parts and parts[-1] == "":
        parts.pop()
    return parts[0] if len(parts) == 2 else NO_ROOM


@njit
def by_machine_room(named, starts, crowd, crowd_starts, clients):
    """Blocks of ``mod`` queues, then one of the rest for each of the first clients."""
    owners = np.full(named.size, -1, dtype=np.int64)
    for call in range(crowd.size):
        first = crowd_starts[crowd[call]]
        consumers = crowd_starts[crowd[call] + 1] - first
        count = 0
        for i in range(starts[call], starts[call + 1]):
            count += named[i]
        mod = count // consumers
        k = 0
        for i in range(starts[call], starts[call + 1]):
            if named[i]:
                in_block = k < mod * consumers
                owners[i] = clients[first + (k // mod if in_block else k - mod * consumers)]
                k += 1
    return owners


STRATEGY = replace(
    avg.STRATEGY,
    name="rocketmq-machine-room",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByMachineRoom",
    first="4.9.3",
    look=("black", "v", "long dashes"),
    promises=("queues_of_rooms",),
    exceptions={
        "complete": "queues outside the rooms in idcs, or of clients that do not subscribe"
    },
    assign=assign,
    equip=rooms.in_two_rooms,
)
