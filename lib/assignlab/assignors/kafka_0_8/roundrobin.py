"""``scala-roundrobin``: the round robin assignor of Kafka 0.8's Scala consumer.

The rule. Lay out all partitions of all subscribed topics in the order of the hash code of the
string ``[topic,partition]`` (Java's ``hashCode``, as a signed number), and all consumer threads in
the order of their names. Deal the partitions one by one around the circle of threads. Every
consumer does this for itself and keeps what its own threads get.

What it promises, in order
1. It only runs where all consumers subscribe to the same topics with, each for itself, the same
   number of streams for all of them; otherwise it throws IllegalArgumentException.
2. Threads then differ by one partition at the most (consumers do not: more threads, more
   partitions).
It is not sticky. The hash code is there to scatter the partitions of a topic but does not: those of
single-digit partitions ascend by 31, so a topic stays one block, or a few, by number of digits.

>>> from assignlab.assignors.answer import answer
>>> def deal(topics, members):
...     return answer({"strategy": "scala-roundrobin",
...         "topics": [{"name": name, "partitions": n} for name, n in topics.items()],
...         "members": [{"id": m, "topics": list(topics), "streams": s} for m, s in members.items()]})
>>> for member, partitions in deal({"topic0": 3, "topic1": 3}, {"C0": 2, "C1": 2})["assignment"].items():
...     print(member, *partitions)
C0 ['topic0', 0, 'C0-0'] ['topic0', 1, 'C0-1'] ['topic1', 1, 'C0-0'] ['topic1', 2, 'C0-1']
C1 ['topic0', 2, 'C1-0'] ['topic1', 0, 'C1-1']
>>> from assignlab.jvm.names import string_hash
>>> order = "0 1 2 3 4 5 6 7 8 9 10 11".split()
>>> [" ".join(sorted(order, key=lambda p: string_hash(f"[{topic},{p}]"))) for topic in ("t0", "orders")]
['10 11 0 1 2 3 4 5 6 7 8 9', '0 1 2 3 4 5 6 7 8 9 10 11']

Where two partitions have one hash code, their order is that of a Scala hash map, which depends on
the order in which the consumer itself registered its topics. Consumers may then disagree: a
partition has two owners and another none. The result says ``hash_ties``; it shows what each
consumer would claim.

>>> answer({"strategy": "scala-roundrobin",
...         "topics": [{"name": "Aa", "partitions": 1}, {"name": "BB", "partitions": 1}],
...         "members": [{"id": "C1", "topics": ["Aa", "BB"]}, {"id": "C2", "topics": ["BB", "Aa"]}]})
{'assignment': {'C1': [['BB', 0, 'C1-0']], 'C2': [['BB', 0, 'C2-0']]}, 'hash_ties': True}
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_0_8.parts import scala_maps, threads
from assignlab.assignors.kafka_0_8.range import STRATEGY as RANGE
from assignlab.assignors.parts.orders import topics_by_name
from assignlab.assignors.parts.partitions import of_topics
from assignlab.compiled import leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member, partition_of, topic_of
from assignlab.group.model import Group
from assignlab.jvm.names import signed, string_hashes

ZERO, BRACKET = ord("0"), ord("]")


def assign(group: Group) -> Assignment:
    """Deal the partitions, by hash code, around the circle of threads.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``hash_ties`` where consumers may see different orders.
    """
    circle = group.prepared(circle_of_threads)
    layout = group.prepared(laid_out)
    view = layout.view[group.members.subscription]
    lists = deal(layout.codes, layout.places, view, *circle, len(group.members))
    return Assignment(*lists, {"hash_ties": True} if layout.ties else {})


def circle_of_threads(group: Group) -> threads.Threads:
    """The threads of the circle; raises :class:`~assignlab.errors.OriginalError` unless the
    conditions of round robin are met."""
    members = group.members
    asked = group.prepared(threads.streams)
    starts = asked.starts.tolist()
    kinds = dict.fromkeys(asked.kind.tolist())
    counts = [asked.counts[starts[k] : starts[k + 1]] for k in kinds]
    if len(members) and not any(own.size for own in counts):
        raise OriginalError("NullPointerException", "no member subscribes to anything")
    wanted = np.unique(members.topics).size
    for own in counts:
        if own.size > 0 and (own.size < wanted or np.ptp(own) > 0):
            raise OriginalError(
                "IllegalArgumentException",
                "round robin is allowed only if all consumers subscribe to the same topics "
                "and each has the same number of streams for all of them",
            )
    return group.prepared(threads.by_name)


class Layout(NamedTuple):
    """All partitions in the order of results, and where each stands in the deal.

    ``codes``: int64[n] by topic name and partition. ``places``: int64[views, n]; several views only
    where hash codes tie, then ``view`` int64[subscriptions] says which subscription sees which.
    """

    codes: np.ndarray
    places: np.ndarray
    view: np.ndarray
    ties: bool


def laid_out(group: Group) -> Layout:
    """Sort the partitions by hash code, as each consumer does."""
    codes, hashes = hashed_partitions(group)
    order = np.argsort(hashes, kind="stable")
    ties = bool((np.diff(hashes[order]) == 0).any())
    subscriptions = group.members.offsets.size - 1
    if ties:  # ``partitionsForTopic`` is the last map, after those of threads and of replicas
        ranks = [ranks_in_third_map(group, registered(group, s)) for s in range(subscriptions)]
        orders = [
            np.lexsort((partition_of(codes), rank[topic_of(codes)], hashes)) for rank in ranks
        ]
        view = np.arange(subscriptions)
    else:
        orders = [order]
        view = np.zeros(subscriptions, dtype=np.int64)
    places = np.empty((len(orders), order.size), dtype=np.int64)
    for row, walk in zip(places, orders, strict=True):
        row[walk] = np.arange(order.size)
    return Layout(codes, places, view, ties)


def hashed_partitions(group: Group) -> tuple[np.ndarray, np.ndarray]:
    """(codes int64[n] of all partitions by topic name and number, their hash codes int32[n])."""
    topics = group.prepared(topics_by_name)
    prefixes = string_hashes([f"[{group.topics.names[t]}," for t in topics.tolist()])
    counts = group.topics.partitions[topics]
    return of_topics(group, topics), partition_hashes(prefixes.astype(np.int64), counts)


@njit
def partition_hashes(prefixes, counts):
    """Hash codes of ``[topic,partition]``, topic after topic: int32[sum(counts)].

    ``prefixes``: hash codes of ``[topic,``; ``counts``: partitions of each topic.
    """
    hashes = np.empty(counts.sum(), dtype=np.int32)
    k = 0
    for i in range(counts.size):
        for partition in range(counts[i]):
            hashes[k] = signed(31 * append_number(prefixes[i], partition) + BRACKET)
            k += 1
    return hashes


@leaf
def append_number(h, number):
    """The hash code of a string with a number's digits appended."""
    divisor = 1
    while number // divisor >= 10:
        divisor *= 10
    while divisor > 0:
        h = signed(31 * h + ZERO + number // divisor % 10)
        divisor //= 10
    return h


def registered(group: Group, subscription: int) -> np.ndarray:
    """The topics of a consumer in the order of the Map that its registration is parsed into."""
    members = group.members
    topics = members.topics[members.offsets[subscription] : members.offsets[subscription + 1]]
    return topics[scala_maps.immutable_order(group.topics.names.hashes[topics])]


def ranks_in_third_map(group: Group, walk: np.ndarray) -> np.ndarray:
    """Rank of every topic, int64[topics], once those of the walk have gone through three HashMaps,
    each filled in the order of the last."""
    for _ in range(3):
        walk = walk[scala_maps.mutable_order(group.topics.names.hashes[walk])]
    ranks = np.full(len(group.topics), -1, dtype=np.int64)
    ranks[walk] = np.arange(walk.size)
    return ranks


@njit
def deal(codes, places, view, member, number, members):
    """Give each partition to the thread of its place; every member keeps what it sees as its own.

    ``codes``: int64[n]; ``places``: int64[views, n]; ``view``: int64[members]; ``member``,
    ``number``: the circle. Returns (offsets, codes, threads) of the members' lists.
    """
    views, partitions = places.shape
    owners = np.empty(places.size, dtype=np.int64)
    given = np.empty(places.size, dtype=np.int64)
    threads = np.empty(places.size, dtype=np.int32)
    n = 0
    for i in range(partitions):
        for v in range(views):
            thread = places[v, i] % member.size
            if view[member[thread]] == v:
                owners[n], given[n], threads[n] = member[thread], codes[i], number[thread]
                n += 1
    offsets, lists = by_member(owners[:n], given[:n], members)
    return offsets, lists, by_member(owners[:n], threads[:n], members)[1].astype(np.int32)


STRATEGY = replace(
    RANGE,
    name="scala-roundrobin",
    last="0.8.2.2",
    source="kafka.consumer.RoundRobinAssignor",
    look=("brown", "h", "solid"),
    promises=("even_threads",),
    exceptions={
        "complete": "where hash codes tie, every consumer sees its own order, and some partition none takes",
        "large_groups": "every consumer of the original parses all registrations",
    },
    assign=assign,
)
