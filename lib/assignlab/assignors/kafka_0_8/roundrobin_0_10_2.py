"""``scala-roundrobin@0.10.2``: the Scala consumer's round robin without its conditions.

The rule is that of ``scala-roundrobin``, for any group: consumers may subscribe to different
topics, with any numbers of streams. Who does not read a topic with a thread is passed over, and the
circle goes on behind the thread that took the partition (KAFKA-2434).

What it promises, in order
1. Every partition of a topic that somebody reads has one owner.
2. Threads differ by one partition at the most where all read the same with all their threads; else
   they may differ by more.

>>> from assignlab.assignors.answer import answer
>>> answer({"strategy": "scala-roundrobin@0.10.2",
...         "topics": [{"name": "t", "partitions": 3}, {"name": "u", "partitions": 2}],
...         "members": [{"id": "a", "topics": ["t"]},
...                     {"id": "b", "topics": ["u", "t"], "streams": [2, 1]}]})
{'assignment': {'a': [['t', 0, 'a-0'], ['t', 2, 'a-0']], \
'b': [['t', 1, 'b-0'], ['u', 0, 'b-0'], ['u', 1, 'b-1']]}}

Since 1.0 the hash code is that of ``topic-partition``, which is another order.

Where hash codes tie, all consumers that read the group's registrations in one order see the
partitions in one order too, so that nothing is owned twice; the result still says ``hash_ties``.
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka_0_8 import roundrobin
from assignlab.assignors.kafka_0_8.parts import scala_maps, threads
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment, by_member, partition_of, topic_of
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Deal the partitions, by hash code, around the circle, passing over who does not read them.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``hash_ties`` where hash codes tie.
    """
    circle = group.prepared(threads.by_name)
    codes, walk, kinds, ties = group.prepared(laid_out)
    readers = group.prepared(threads.by_topic)
    places = deal(kinds, readers.starts, readers.threads, circle.member.size)
    place = np.empty_like(places)
    place[walk] = places
    owners, members = circle.member[place], len(group.members)
    offsets, lists = by_member(owners, codes, members)
    numbers = by_member(owners, circle.number[place], members)[1].astype(np.int32)
    return Assignment(offsets, lists, numbers, {"hash_ties": True} if ties else {})


def laid_out(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """All partitions by topic name and number, and the walk by hash code, the same for everybody.

    Returns (codes int64[n], walk int64[n], kinds int64[n]: of the topics that the walk meets, by
    readers; whether hash codes tie).
    """
    codes, hashes = roundrobin.hashed_partitions(group)
    topics = topic_of(codes)
    walk = np.argsort(hashes, kind="stable")
    ties = bool((np.diff(hashes[walk]) == 0).any())
    if ties:
        walk = np.lexsort((partition_of(codes), ranks_in_map(group)[topics], hashes))
    kinds = group.prepared(threads.by_topic).kind[topics]
    return codes, walk, kinds[walk], ties


def ranks_in_map(group: Group) -> np.ndarray:
    """Rank of every topic in ``partitionsForTopic``, which is that of the group: int64[topics].

    The topics of one registration after the other go to three maps: ``consumersForTopic``, their
    replicas and their partitions.
    """
    hashes = group.topics.names.hashes
    read: dict[int, None] = {}
    for subscription in dict.fromkeys(group.members.subscription.tolist()):
        walk = roundrobin.registered(group, subscription)
        read |= dict.fromkeys(walk[scala_maps.mutable_order(hashes[walk])].tolist())
    return roundrobin.ranks_in_third_map(group, np.array(list(read), dtype=np.int64))


@njit
def deal(kinds, starts, places, threads):
    """Who takes each partition of the walk: int64[n] places on a circle of ``threads``.

    ``kinds``: of the walk's partitions; ``places[starts[k]:starts[k + 1]]``: of the threads that
    read topics of kind k, ascending.
    """
    dealt = np.empty(kinds.size, dtype=np.int64)
    assignor = 0
    for i in range(kinds.size):
        reading = places[starts[kinds[i]] : starts[kinds[i] + 1]]
        k = np.searchsorted(reading, assignor)
        dealt[i] = reading[k if k < reading.size else 0]
        assignor = (dealt[i] + 1) % threads
    return dealt


STRATEGY = replace(
    roundrobin.STRATEGY,
    name="scala-roundrobin@0.10.2",
    first="0.10.2.0",
    last="0.11.0.3",
    original="kafka_2.11:0.11.0.3",
    look=("brown", "h", "dash dot dot"),
    promises=("even_threads_if_alike",),
    exceptions={"large_groups": "every consumer of the original parses all registrations"},
    assign=assign,
)
