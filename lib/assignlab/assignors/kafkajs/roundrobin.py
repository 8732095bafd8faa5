"""``kafkajs-roundrobin``: kafkajs's RoundRobinAssigner, its only one.

The rule. Take the topics to which the *leader* subscribes, in the order of its subscription, and
all their partitions; partition k goes to member ``k % n`` by member id, whatever that member
subscribes to. A member drops what it did not subscribe to, and nobody reads that then. The leader
is taken to be the first member of the group.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing, not even that every partition has an owner: topics to which
   the leader does not subscribe are not assigned, and members are dealt partitions they drop.
It is not sticky.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t1", "t0"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> g = group({"t": 4, "u": 4}, {"C0": ["t"], "C1": ["u"]})
>>> lists(g, assign(g))
{'C0': [['t', 0], ['t', 2]], 'C1': []}

A list of topics in JavaScript is an object: names that look like array indices come first, in
numeric order, then the others in the order of the deal. Partitions of a topic ``__proto__``, a legal
name, reach no member: setting that key of an object makes no property.

>>> g = group({"__proto__": 1, "t": 1}, {"C0": ["__proto__", "t"]})
>>> lists(g, assign(g))
{'C0': [['t', 0]]}
"""

import numpy as np

from assignlab.assignment import Assignment, by_member, topic_of
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.roundrobin import subscriptions_by_topic
from assignlab.assignors.partitions import of_topics
from assignlab.group import Group
from assignlab.strategy import Strategy

MAX_ARRAY_INDEX = 2**32 - 2
NO_PROPERTY = "__proto__"


def assign(group: Group) -> Assignment:
    """Deal the leader's topics to everybody, then let everybody drop what it does not want."""
    members = group.members
    topics = members.topics_of(0) if len(members) else np.empty(0, dtype=np.int64)
    codes = of_topics(group, topics)
    circle = orders.members_by_id(group)
    owners = circle[np.arange(codes.size) % max(1, len(members))]
    wanted = group.prepared(subscriptions_by_topic)[members.subscription[owners], topic_of(codes)]
    wanted &= topic_of(codes) != group.topics.names.index.get(NO_PROPERTY, -1)
    listed = np.argsort(object_keys(group, topics)[topic_of(codes)], kind="stable")
    listed = listed[wanted[listed]]
    return Assignment(*by_member(owners[listed], codes[listed], len(members)))


def object_keys(group: Group, topics: np.ndarray) -> np.ndarray:
    """The place of these topics among the keys of an object into which they are put in this order.

    Returns int64[all topics]; it says nothing about others.
    """
    names = group.topics.names

    def key(place: int) -> tuple[int, int]:
        name = names[topics[place]]
        return (0, int(name)) if is_array_index(name) else (1, place)

    places = np.zeros(len(names), dtype=np.int64)
    places[topics[sorted(range(topics.size), key=key)]] = np.arange(topics.size)
    return places


def is_array_index(name: str) -> bool:
    """Whether JavaScript takes a property name for an array index.

    >>> is_array_index("0"), is_array_index("10"), is_array_index("01"), is_array_index("t1")
    (True, True, False, False)
    """
    is_number = name.isascii() and name.isdecimal() and str(int(name)) == name
    return is_number and int(name) <= MAX_ARRAY_INDEX


STRATEGY = Strategy(
    name="kafkajs-roundrobin",
    system="kafkajs",
    first="2.2.4",
    last="2.2.4",
    protocol="eager",
    sticky=False,
    source="PartitionAssigners.roundRobin (kafkajs 2.2.4)",
    assign=assign,
    leaves_out=(
        "partitions dealt to members that do not subscribe, topics the leader does not want, "
        "a topic __proto__"
    ),
)
