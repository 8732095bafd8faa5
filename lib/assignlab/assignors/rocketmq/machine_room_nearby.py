"""``rocketmq-machine-room-nearby``: RocketMQ's AllocateMachineRoomNearby.

The rule. For each topic by itself: the queues of a machine room are shared out among the clients in
that room, by another strategy (``inner``, ``rocketmq-avg`` unless the group says otherwise). The
queues of a room without clients are shared out among all clients, room after room. The original
asks a resolver of the user's for rooms; here a broker's room is what stands before the ``@`` of its
name (without one, the broker is a room of its own), and a client's room is its rack.

What it promises, in order
1. Where a room has a client, nobody outside reads its queues.
2. Inside a room, and in a room without clients, what the inner strategy promises.
It does not promise balance over rooms, and of two orphaned rooms the first clients get the extra
queue twice.

>>> from assignlab.assignors.answer import answer
>>> for client, queues_ in answer({"strategy": "rocketmq-machine-room-nearby",
...         "topics": [{"name": "t", "brokers": [["r1@a", 3], ["r2@b", 3], ["r3@c", 2]]}],
...         "members": [{"id": "c1", "topics": ["t"], "rack": "r1"},
...                     {"id": "c2", "topics": ["t"], "rack": "r1"},
...                     {"id": "c3", "topics": ["t"], "rack": "r3"}]})["assignment"].items():
...     print(client, *queues_)
c1 ['t', 'r1@a', 0] ['t', 'r1@a', 1] ['t', 'r2@b', 0]
c2 ['t', 'r1@a', 2] ['t', 'r2@b', 1]
c3 ['t', 'r3@c', 0] ['t', 'r3@c', 1] ['t', 'r2@b', 2]
"""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.parts.orders import members_by_id
from assignlab.assignors.rocketmq import avg, avg_by_circle, consistent_hash, machine_room
from assignlab.assignors.rocketmq.parts import queues, rooms
from assignlab.compiled import njit
from assignlab.errors import OriginalError, UnknownName
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.jvm.names import utf16

INNER = {
    module.STRATEGY.name: module.allocate
    for module in (avg, avg_by_circle, consistent_hash, machine_room)
}


def assign(group: Group) -> Assignment:
    """Share out each room by itself.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws, DocumentError for an
    option of the wrong kind, UnknownName for an inner strategy that is none.
    """
    name = queues.option(group, "inner", str, avg.STRATEGY.name)
    if name not in INNER:
        raise UnknownName("inner strategy", name, INNER)
    if name == machine_room.STRATEGY.name and "idcs" not in group.options:
        group.prepared(refuse_rooms)
    calls = group.prepared(calls_by_room)
    return queues.hand_out(group, calls, INNER[name](group, calls))


def calls_by_room(group: Group) -> queues.Calls:
    """One call for each topic and room: rooms with clients first, then the orphaned by name."""
    check(group)
    calls = group.prepared(queues.calls_by_topic)
    clients = clients_by_room(group)
    of_topics = [rooms_of(one) for one in group.topics.prepared(queues.queues_by_topic)]
    in_turn = sorted(set().union(*of_topics), key=lambda room: (room not in clients, utf16(room)))
    turn_of = {room: turn for turn, room in enumerate(in_turn)}
    crowd_of = {room: crowd for crowd, room in enumerate(clients, start=1)}
    turns = [turn_of[room] for of_topic in of_topics for room in of_topic]
    sizes = [0, len(group.members), *map(len, clients.values())]
    return queues.Calls(
        *room_by_room(
            *calls[:3], np.array(turns, dtype=np.int64),
            np.array([crowd_of.get(room, 0) for room in in_turn], dtype=np.int64),
        ),
        np.cumsum(sizes),
        np.concatenate((calls.clients, *clients.values())),
    )  # fmt: skip


@njit
def room_by_room(starts, codes, slots, turns, crowd_of):
    """(starts, codes, slots, crowd) of
    :class:`~assignlab.assignors.rocketmq.parts.queues.Calls` from calls of whole topics.

    ``turns``: int64 per slot, the turn of its room; ``crowd_of``: int64[turns], who shares it.
    """
    most = codes.size
    new_starts = np.zeros(most + 1, dtype=np.int64)
    new_codes = np.empty(most, dtype=np.int64)
    new_slots = np.empty(most, dtype=np.int64)
    crowd = np.empty(most, dtype=np.int64)
    calls = 0
    for call in range(starts.size - 1):
        fill = np.zeros(crowd_of.size + 1, dtype=np.int64)
        for i in range(starts[call], starts[call + 1]):
            fill[turns[slots[i]] + 1] += 1
        n = starts[call]
        for turn in range(crowd_of.size):
            size, fill[turn] = fill[turn + 1], n
            if size > 0:
                n += size
                crowd[calls], new_starts[calls + 1] = crowd_of[turn], n
                calls += 1
        for i in range(starts[call], starts[call + 1]):
            at = fill[turns[slots[i]]]
            fill[turns[slots[i]]] += 1
            new_codes[at], new_slots[at] = codes[i], slots[i]
    return new_starts[: calls + 1], new_codes, new_slots, crowd[:calls]


def clients_by_room(group: Group) -> dict[str, list[int]]:
    """Members of each room, by id."""
    racks = group.members.racks or (None,) * len(group.members)
    clients: dict[str, list[int]] = {}
    for member in members_by_id(group).tolist():
        if racks[member]:
            clients.setdefault(racks[member], []).append(member)
    return clients


@lru_cache(maxsize=1024)
def rooms_of(of_topic: tuple[queues.Queue, ...]) -> tuple[str, ...]:
    """The room of each queue of a topic, whatever its group."""
    return tuple(room_of(broker) for broker, _ in of_topic)


def room_of(broker: str) -> str:
    """What stands before the first ``@``, else the whole name.

    >>> room_of("r@b"), room_of("b"), room_of("@b")
    ('r', 'b', '')
    """
    return broker.partition("@")[0]


def check(group: Group) -> None:
    """What every call refuses; raises :class:`OriginalError`."""
    members = group.members
    housed = all(members.racks or (None,)) and not any(
        "" in rooms_of(of_topic) for of_topic in group.topics.prepared(queues.queues_by_topic)
    )
    if housed and "" not in members.names.names and 0 not in group.topics.partitions.tolist():
        return
    for member, topic in queues.calls_in_turn(group):
        check_call(group, member, topic)


def check_call(group: Group, member: int, topic: int) -> None:
    """What one call refuses: a queue or a client without a room."""
    queues.check_call(group, member, topic)
    if "" in rooms_of(queues.queues_of(group, topic)):
        raise OriginalError("IllegalArgumentException", "a queue's broker has no machine room")
    if group.members.racks is None or not all(group.members.racks):
        raise OriginalError("IllegalArgumentException", "a client has no machine room")


def refuse_rooms(group: Group) -> None:
    """The inner strategy without its rooms: the first call that fails decides the error."""
    for member, topic in queues.calls_in_turn(group):
        check_call(group, member, topic)
        occupied = set(group.members.racks) - {group.members.racks[member]}
        listed = queues.queues_of(group, topic)
        machine_room.refuse_rooms(
            tuple(queue for queue in listed if room_of(queue[0]) not in occupied)
        )


STRATEGY = replace(
    avg.STRATEGY,
    name="rocketmq-machine-room-nearby",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby",
    first="4.3.0",
    look=("purple", "P", "long dashes"),
    promises=("complete_if_equal",),
    assign=assign,
    equip=rooms.in_two_rooms,
)
