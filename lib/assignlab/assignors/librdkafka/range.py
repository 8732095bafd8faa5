"""``librdkafka-range``: librdkafka's range assignor.

The rule is Java's since 3.5 (see ``range``), with racks: topic by topic the same quotas, filled
along racks first and in contiguous ranges then. What differs:

- Members stand in the order of :mod:`assignlab.assignors.librdkafka.parts.orders`.
- Topics with the same subscribers and the same number of partitions go together even where racks
  count for none of them, and then a member without a rack suits none of their partitions until the
  others have had their turn; in Java it suits all.
- A member's list is in the order of the work: topics by their subscribers, then by their number of
  partitions, then as the cluster lists them.

What it promises, in order
1. Every topic is spread within one partition over its subscribers.
2. Topics with the same subscribers and the same number of partitions are cut alike.
3. As many partitions as possible, one subscriber after the other, stay in their owner's rack.
It does not promise balance over topics.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> g = group({"t0": 3, "t1": 3}, {"C0": ["t0", "t1"], "C1": ["t0", "t1"]})
>>> lists(g, assign(g))
{'C0': [['t0', 0], ['t0', 1], ['t1', 0], ['t1', 1]], 'C1': [['t0', 2], ['t1', 2]]}
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.librdkafka.parts.orders import crowds
from assignlab.assignors.librdkafka.parts.racks import racks_of_leader
from assignlab.assignors.parts.partitions import of_topics
from assignlab.assignors.parts.rack_ranges import assign_with_rack_matching
from assignlab.assignors.parts.racks import NO_RACK
from assignlab.assignors.parts.ranges import assign_ranges
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Along racks where there are any, then one range per subscriber."""
    known = group.prepared(states)
    if known.of_member.size == 0 or known.topics.size == 0:
        return assign_ranges(group, known.topics, known.begins, known.members)
    owners, along_racks = assign_with_rack_matching(
        known.begins, known.ends, known.members, known.first, known.bucket, known.needed,
        known.of_member, known.in_buckets, known.kind, known.rack_starts, known.racks,
    )  # fmt: skip
    order = order_of_work(known, along_racks)
    codes = of_topics(group, known.topics)
    return Assignment(*by_member(owners[order], codes[order], len(group.members)))


class States(NamedTuple):
    """The topics in the order of the work, and racks as numbers.

    ``topics``: int64[n]; the i-th has the subscribers ``members[begins[i]:ends[i]]``, sorted (where
    nobody has a rack, these are topic i's, and ``begins`` also tells where the last ends), and the
    partitions ``first[i]`` to ``first[i + 1]``, numbered over all of them; ``bucket``: the number of its co-partitioned set;
    ``needed``: bool[n], whether racks count for it alone. ``of_member``: int64[members], empty where
    nobody has a rack; ``in_buckets``: the same for co-partitioned topics, with a rack of nowhere
    instead of none; ``kind``, ``rack_starts``, ``racks``: the racks of every partition
    (``NumberedRacks.kind``, ``by_kind``).
    """

    topics: np.ndarray
    begins: np.ndarray
    ends: np.ndarray
    members: np.ndarray
    first: np.ndarray
    bucket: np.ndarray
    needed: np.ndarray
    of_member: np.ndarray
    in_buckets: np.ndarray
    kind: np.ndarray
    rack_starts: np.ndarray
    racks: np.ndarray


def states(group: Group) -> States:
    """Sort the topics and find out where racks count."""
    crowd_of, members_of = crowds(group)
    places = crowds_by_id(group, members_of)
    kinds = {
        topic: (places[crowd], partitions)
        for topic, (crowd, partitions) in enumerate(
            zip(crowd_of, group.topics.partitions.tolist(), strict=True)
        )
        if members_of[crowd] and partitions > 0
    }
    topics = sorted(kinds, key=kinds.__getitem__)
    known = racks_of_leader(group, np.array(topics, dtype=np.int64))
    of_member = known.of_member
    first = np.cumsum([0] + [kinds[t][1] for t in topics], dtype=np.int64)
    buckets: dict[tuple, int] = {}
    bucket = [buckets.setdefault(kinds[t], len(buckets)) for t in topics]
    racks = [{of_member[m] for m in crowd} - {NO_RACK} for crowd in members_of if of_member]
    needed = [
        known.count(racks[crowd_of[t]], known.kind[first[i] : first[i + 1]])
        for i, t in enumerate(topics)
        if of_member
    ]
    crowd = np.array(crowd_of, dtype=np.int64)
    if of_member:
        starts, members = chained(members_of)
        begins, ends = starts[crowd[topics]], starts[crowd[topics] + 1]
    else:
        begins, members = chained([members_of[each] for each in crowd_of])
        ends = begins[1:]
    starts_of_kind, racks_of_kind = known.by_kind
    nowhere = max([*of_member, *racks_of_kind.tolist()], default=0) + 1
    return States(
        np.array(topics, dtype=np.int64),
        begins,
        ends,
        members,
        first,
        np.array(bucket, dtype=np.int64),
        np.array(needed, dtype=np.bool_),
        np.array(of_member, dtype=np.int64),
        np.array([nowhere if rack == NO_RACK else rack for rack in of_member], dtype=np.int64),
        known.kind,
        starts_of_kind,
        racks_of_kind,
    )


def chained(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """(starts, numbers): list i is ``numbers[starts[i]:starts[i + 1]]``; int64."""
    starts = np.cumsum([0] + [len(numbers) for numbers in lists], dtype=np.int64)
    return starts, np.array([n for numbers in lists for n in numbers], dtype=np.int64)


def crowds_by_id(group: Group, crowds: list[list[int]]) -> list[int]:
    """The place of every crowd of subscribers among all, compared member by member by id."""
    names = group.members.names.names
    ordered = sorted(range(len(crowds)), key=lambda crowd: [names[m] for m in crowds[crowd]])
    return np.argsort(ordered).tolist()


def order_of_work(known: States, along_racks: np.ndarray) -> np.ndarray:
    """The partitions in the order in which they are assigned to their owners: int64[n].

    Along racks co-partitioned topics advance together, partition by partition.
    """
    counts = np.diff(known.first)
    topic = np.repeat(np.arange(counts.size), counts)
    partition = np.arange(topic.size) - known.first[topic]
    bucket = np.where(along_racks, known.bucket[topic], 0)
    together = np.where(along_racks, partition, 0)
    return np.lexsort((partition, topic, together, bucket, ~along_racks))


STRATEGY = Strategy(
    name="librdkafka-range",
    system="librdkafka",
    protocol="eager",
    source="rd_kafka_range_assignor_assign_cb",
    original="librdkafka:2.15.1",
    look=("black", "X", "long dashes"),
    member_fields=("instance", "rack"),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
