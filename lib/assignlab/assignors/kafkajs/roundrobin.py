"""``kafkajs-roundrobin``: kafkajs's RoundRobinAssigner, its only one.

The rule. Take the topics to which the *leader* subscribes, in the order of its subscription, and
all their partitions; partition k goes to member ``k % n`` by member id, whatever that member
subscribes to. A member drops what it did not subscribe to, and nobody reads that then. The leader
is taken to be the first member of the group. A topic that it names twice is dealt twice.

What it promises, in order
1. With equal subscriptions the sizes differ by one at the most.
2. With different subscriptions nothing, not even that every partition has an owner: topics to which
   the leader does not subscribe are not assigned, and members are dealt partitions they drop.
It is not sticky.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t1", "t0"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 2], ['t1', 1]], 'C1': [['t0', 1], ['t1', 0], ['t1', 2]]}
>>> g = group({"t": 4, "u": 4}, {"C0": ["t"], "C1": ["u"]})
>>> lists(g, assign(g))
{'C0': [['t', 0], ['t', 2]], 'C1': []}

A list of topics in JavaScript is an object: names that look like array indices come first, in
numeric order, then the others in the order of the deal. Partitions of a topic ``__proto__``, a
legal name, reach no member: setting that key of an object makes no property.

>>> g = group({"__proto__": 1, "t": 1}, {"C0": ["__proto__", "t"]})
>>> lists(g, assign(g))
{'C0': [['t', 0]]}
"""

import re

import numpy as np

from assignlab.assignors.parts import orders
from assignlab.assignors.parts.partitions import of_topics
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, by_member, topic_of
from assignlab.group.model import Group, subscriptions_by_topic

MAX_ARRAY_INDEX = 2**32 - 2
ARRAY_INDEX = re.compile("0|[1-9][0-9]{0,9}")
NO_PROPERTY = "__proto__"


def assign(group: Group) -> Assignment:
    """Deal the leader's topics to everybody, then let everybody drop what it does not want."""
    members = group.members
    if len(members) == 0:
        return Assignment(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64))
    codes = of_topics(group, group.sent.topics_of(0))
    circle = orders.members_by_id(group)
    owners = circle[np.arange(codes.size) % len(members)]
    wanted = group.prepared(subscriptions_by_topic)[members.subscription[owners], topic_of(codes)]
    wanted &= topic_of(codes) != group.topics.names.index.get(NO_PROPERTY, -1)
    listed = np.argsort(object_keys(group, owners, codes), kind="stable")
    listed = listed[wanted[listed]]
    return Assignment(*by_member(owners[listed], codes[listed], len(members)))


def object_keys(group: Group, owners: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """By what the partitions dealt to a member sort as its object keeps them: int64[n].

    Array indices are below 0; of another topic it is the place of its first partition in the deal
    that the member gets.
    """
    first = np.arange(codes.size)
    topics = topic_of(codes)
    if group.sent is not group.members:
        pairs = owners * len(group.topics) + topics
        _, met, pair = np.unique(pairs, return_index=True, return_inverse=True)
        first = met[pair]
    names = group.topics.names
    index = np.zeros(len(names), dtype=np.int64)
    for t in group.members.topics_of(0).tolist():
        if is_array_index(names[t]):
            index[t] = int(names[t]) - MAX_ARRAY_INDEX - 1
    return np.where(index[topics] < 0, index[topics], first)


def is_array_index(name: str) -> bool:
    """Whether JavaScript takes a property name for an array index.

    >>> [is_array_index(name) for name in ("0", "10", "01", "t1", "4294967295", "1" * 5000)]
    [True, True, False, False, False, False]
    """
    return bool(ARRAY_INDEX.fullmatch(name)) and int(name) <= MAX_ARRAY_INDEX


STRATEGY = Strategy(
    name="kafkajs-roundrobin",
    system="kafkajs",
    client_id="kafkajs-",
    offered="RoundRobinAssigner",
    protocol="eager",
    source="PartitionAssigners.roundRobin",
    first="1.14.0",
    original="kafkajs:2.2.4",
    look=("olive", "p", "solid"),
    promises=("complete_if_equal", "floor_and_ceiling", "goes_round"),
    exceptions={
        "complete": "members are dealt what they do not subscribe to; topics are the leader's alone"
    },
    assign=assign,
)
