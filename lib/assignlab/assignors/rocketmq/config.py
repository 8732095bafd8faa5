"""``rocketmq-config``: RocketMQ's AllocateMessageQueueByConfig.

The rule. Every client has a list of queues in its own configuration and is given that list,
whatever queues and clients there are. In the group document the lists stand in ``config``: by
member id, ``[topic, broker name, queue id]``; a member that is not named there has none.

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

from dataclasses import replace
from functools import lru_cache

import numpy as np

from assignlab.assignors.rocketmq import avg
from assignlab.assignors.rocketmq.parts import queues, rooms
from assignlab.errors import DocumentError, shown
from assignlab.group.assignment import Assignment, by_member, code, topic_of
from assignlab.group.model import Group, Topics, subscriptions_by_topic

Places = dict[queues.Queue, int]
NOWHERE: tuple[int, Places] = (0, {})


def assign(group: Group) -> Assignment:
    """Give every client its list.

    Raises :class:`~assignlab.errors.DocumentError` for a ``config`` that is not understood.
    """
    known = group.prepared(configured)
    return Assignment(known.offsets.copy(), known.codes.copy())


def configured(group: Group) -> Assignment:
    """The lists of ``config`` as far as topics and queues exist; it changes with the group only."""
    config = queues.option(group, "config", dict, {})
    places = group.topics.prepared(places_by_topic)
    codes: list[int] = []
    sizes = []
    for name in group.members.names:
        known: dict[int, None] = {}
        for topic, broker, number in checked(config.get(name)):
            first, place = places.get(topic, NOWHERE)
            partition = place.get((broker, number))
            if partition is not None:
                known[first + partition] = None
        codes.extend(known)
        sizes.append(len(known))
    return queues.once_per_mention(group, Assignment(*own_lists(group, codes, sizes)))


def places_by_topic(topics: Topics) -> dict[str, tuple[int, Places]]:
    """By topic name the code of its first partition, and the places of its queues."""
    by_topic = topics.prepared(queues.queues_by_topic)
    return {
        name: (code(t, 0), places_of(own))
        for t, (name, own) in enumerate(zip(topics.names, by_topic, strict=True))
    }


@lru_cache(maxsize=256)
def places_of(own: tuple[queues.Queue, ...]) -> Places:
    """The partition index of every queue, whatever its topic."""
    return {queue: p for p, queue in enumerate(own)}


def own_lists(group: Group, codes: list[int], sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(offsets, codes): of each member's list, by topic, what it subscribes to.

    ``codes``: all lists, one behind the other; ``sizes``: how long each member's is.
    """
    listed, owners = np.array(codes, dtype=np.int64), np.repeat(np.arange(len(sizes)), sizes)
    topics = topic_of(listed)
    order = np.lexsort((group.topics.names.rank[topics], owners))
    reads = group.prepared(subscriptions_by_topic)[group.members.subscription[owners], topics]
    order = order[reads[order]]
    return by_member(owners[order], listed[order], len(sizes))


def checked(entries: object) -> list:
    """A member's entry of ``config``, or nothing; raises :class:`DocumentError` if it is no list of
    queues."""
    if entries is None:
        return []
    if not isinstance(entries, list):
        raise DocumentError("config", "expected a list of queues for each member")
    for entry in entries:
        if not isinstance(entry, list | tuple) or [*map(type, entry)] != [str, str, int]:
            reason = f"expected [topic, broker name, queue id], got {shown(entry)}"
            raise DocumentError("config", reason)
    return entries


STRATEGY = replace(
    avg.STRATEGY,
    name="rocketmq-config",
    source="org.apache.rocketmq.client.consumer.rebalance.AllocateMessageQueueByConfig",
    look=("green", "^", "long dashes"),
    promises=(),
    exceptions={
        "complete": "queues that no client lists",
        "promises": "every client is given the list that somebody wrote for it, whatever it says",
    },
    assign=assign,
    equip=rooms.with_lists,
)
