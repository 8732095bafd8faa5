"""``range@2.3``: Kafka's RangeAssignor when its HashMap of topics is filled by ``computeIfAbsent``.

Every member gets the same partitions as under ``range@2.0``. Only the order of topics inside its
list is another one where two topics share a slot of the HashMap: ``put`` appends to a slot,
``computeIfAbsent`` puts a new key in front.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"Aa": 1, "BB": 1}, {"C0": ["Aa", "BB"]})
>>> lists(g, assign(g))
{'C0': [['BB', 0], ['Aa', 0]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import range as newest
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.ranges import assign_ranges
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.jvm.hash_map import hash_map_order


def assign(group: Group) -> Assignment:
    """Cut every topic into one range per subscriber, subscribers by member id."""
    return assign_in_newest_first_order(group, *group.prepared(orders.crowds_by_id))


def assign_in_newest_first_order(
    group: Group, spans: np.ndarray, subscribers: np.ndarray
) -> Assignment:
    """Topic t goes to ``subscribers[spans[t, 0]:spans[t, 1]]``, in that order."""
    topics = group.prepared(topics_newest_first)
    return assign_ranges(group, topics, *orders.as_often_as_named(group, spans, subscribers))


def topics_newest_first(group: Group) -> np.ndarray:
    """Subscribed topics in the order of ``consumersPerTopic``: int64[...].

    The map is asked once for every member and topic; it grows only when asked once more after it
    became too full.
    """
    members, names = group.members, group.topics.names
    subscription = members.subscription[group.prepared(orders.members_by_hash)]
    sizes = np.diff(members.offsets)[subscription]
    asks = np.sort(np.unique(subscription, return_index=True)[1])  # the others ask nothing new
    lists = np.split(members.topics, members.offsets[1:-1])
    calls = np.concatenate([members.topics[:0], *(lists[s] for s in subscription[asks].tolist())])
    topics, first = np.unique(calls, return_index=True)
    met = topics[np.argsort(first)]
    called_again = False
    if met.size:
        ends = np.cumsum(sizes[asks])
        who = np.searchsorted(ends, first.max(), side="right")
        call = np.cumsum(sizes)[asks[who]] - (ends[who] - first.max())
        called_again = bool(call < sizes.sum() - 1)
    return met[hash_map_order(names.hashes[met], 16, names.rank[met], True, called_again)]


STRATEGY = replace(
    newest.STRATEGY,
    name="range@2.3",
    first="2.1.1",
    last="2.3.1",
    original="kafka-clients:2.3.1",
    look=("black", "s", "dashdot"),
    member_fields=(),
    assign=assign,
)
