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

import numpy as np

from assignlab.assignors.parts.orders import members_by_id, topics_by_name
from assignlab.assignors.rocketmq import avg, avg_by_circle, consistent_hash, machine_room
from assignlab.assignors.rocketmq.parts import queues, rooms
from assignlab.assignors.strategy import Strategy
from assignlab.errors import OriginalError, UnknownName
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.jvm.names import utf16

INNER = {
    module.STRATEGY.name: module.allocate
    for module in (avg, avg_by_circle, consistent_hash, machine_room)
}


def assign(group: Group) -> Assignment:
    """Share out each room by itself."""
    name = queues.option(group, "inner", str, avg.STRATEGY.name)
    if name not in INNER:
        raise UnknownName("inner strategy", name, INNER)
    if name == consistent_hash.STRATEGY.name:
        group.prepared(consistent_hash.client_points)
    if name == machine_room.STRATEGY.name and "idcs" not in group.options:
        group.prepared(refuse_rooms)
    calls = group.prepared(calls_by_room)
    return queues.hand_out(group, calls, INNER[name](group, calls))


def calls_by_room(group: Group) -> queues.Calls:
    """One call for each topic and room: rooms with clients first, then the orphaned by name."""
    for member in queues.distinct_callers(group):
        for topic in queues.existing_topics(group, member).tolist():
            check_call(group, member, topic)
    by_id = group.prepared(members_by_id)
    clients = clients_by_room(group)
    crowd_of = {room: k for k, room in enumerate(clients, start=1)}
    topics, parts, crowds = [], [], []
    for topic in group.prepared(topics_by_name).tolist():
        rooms = group.prepared(queues_by_room)[queues.queues_of(group, topic)]
        for room in sorted(rooms, key=lambda room: (room not in crowd_of, utf16(room))):
            topics.append(topic)
            parts.append(rooms[room])
            crowds.append(crowd_of.get(room, 0))
    crowd_lists = [np.array(members, dtype=np.int64) for members in clients.values()]
    return queues.calls(group, topics, parts, crowds, [by_id, *crowd_lists])


def clients_by_room(group: Group) -> dict[str, list[int]]:
    """Members of each room, by id."""
    racks = group.members.racks or (None,) * len(group.members)
    rooms: dict[str, list[int]] = {}
    for member in group.prepared(members_by_id).tolist():
        if racks[member]:
            rooms.setdefault(racks[member], []).append(member)
    return rooms


def queues_by_room(group: Group) -> dict[tuple[queues.Queue, ...], dict[str, np.ndarray]]:
    """For every list of queues that a topic has: the partition indices of each room, sorted."""
    found = {}
    for listed, order in group.prepared(queues.queue_orders).items():
        rooms: dict[str, list[int]] = {}
        for i in order.tolist():
            rooms.setdefault(room_of(listed[i][0]), []).append(i)
        found[listed] = {room: np.array(part, dtype=np.int64) for room, part in rooms.items()}
    return found


def room_of(broker: str) -> str:
    """What stands before the first ``@``, else the whole name.

    >>> room_of("r@b"), room_of("b"), room_of("@b")
    ('r', 'b', '')
    """
    return broker.partition("@")[0]


def check_call(group: Group, member: int, topic: int) -> None:
    """What one call refuses: a queue or a client without a room."""
    queues.check_call(group, member, topic)
    if "" in group.prepared(queues_by_room)[queues.queues_of(group, topic)]:
        raise OriginalError("IllegalArgumentException", "a queue's broker has no machine room")
    if group.members.racks is None or not all(group.members.racks):
        raise OriginalError("IllegalArgumentException", "a client has no machine room")


def refuse_rooms(group: Group) -> None:
    """The inner strategy without its rooms: the first call that fails decides the error."""
    for member in queues.distinct_callers(group):
        for topic in queues.existing_topics(group, member).tolist():
            check_call(group, member, topic)
            occupied = set(group.members.racks) - {group.members.racks[member]}
            listed = queues.queues_of(group, topic)
            machine_room.refuse_rooms(
                tuple(queue for queue in listed if room_of(queue[0]) not in occupied)
            )


STRATEGY = Strategy(
    name="rocketmq-machine-room-nearby",
    system="RocketMQ",
    protocol="independent",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMachineRoomNearby",
    original="rocketmq-client:5.3.3",
    look=("purple", "P", "long dashes"),
    broker=queues.BROKER,
    promises=("complete_if_equal",),
    exceptions={"complete": "queues of clients that do not subscribe to the topic"},
    assign=assign,
    render=queues.lists,
    equip=rooms.in_two_rooms,
)
