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
from assignlab.assignors.parts.orders import chained
from assignlab.assignors.parts.partitions import of_topics
from assignlab.assignors.parts.rack_ranges import RackMatching, assign_with_rack_matching
from assignlab.assignors.parts.racks import NO_RACK
from assignlab.assignors.parts.ranges import assign_ranges
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Along racks where there are any, then one range per subscriber."""
    known = group.prepared(topics_in_turn)
    if known.matching is None:
        return assign_ranges(group, known.topics, known.spans, known.members)
    owners, along_racks = assign_with_rack_matching(*known.matching)
    order = order_of_work(known.matching, along_racks)
    codes = of_topics(group, known.topics)
    return Assignment(*by_member(owners[order], codes[order], len(group.members)))


class Topics(NamedTuple):
    """The topics that are assigned, in the order of the work: ``topics``, int64[n].

    ``spans``, ``members``: topic t, of all, has the subscribers ``members[spans[t, 0]:spans[t, 1]]``,
    sorted. ``matching``: racks as numbers; of co-partitioned topics a member without any is in one
    of nowhere; None where nobody has a rack.
    """

    topics: np.ndarray
    spans: np.ndarray
    members: np.ndarray
    matching: RackMatching | None


def topics_in_turn(group: Group) -> Topics:
    """Sort the topics and find out where racks count."""
    crowd_of, members_of = crowds(group)
    of_crowd, members = chained(members_of)
    spans, partitions = of_crowd[crowd_of], group.topics.partitions
    (there,) = ((spans[:, 0] < spans[:, 1]) & (partitions > 0)).nonzero()
    bucket = ((crowd_of << 32) + partitions)[there]  # partitions are fewer than 2**32
    order = bucket.argsort(kind="stable")
    topics = there[order]
    known = racks_of_leader(group, topics)
    of_member = known.of_member
    if topics.size == 0 or not of_member:
        return Topics(topics, spans, members, None)
    first = np.cumsum(np.append(0, partitions[topics]))
    racks = [{of_member[m] for m in crowd.tolist()} - {NO_RACK} for crowd in members_of]
    by_kind = known.by_kind
    nowhere = max([*of_member, *by_kind[1].tolist()]) + 1
    matching = RackMatching(
        spans[topics], members, first, bucket[order],
        np.array(known.count_each(racks, crowd_of[topics], first), dtype=np.bool_),
        np.array(of_member, dtype=np.int64),
        np.array([nowhere if rack == NO_RACK else rack for rack in of_member], dtype=np.int64),
        known.kind, *by_kind,
    )  # fmt: skip
    return Topics(topics, spans, members, matching)


def order_of_work(matching: RackMatching, along_racks: np.ndarray) -> np.ndarray:
    """The partitions in the order in which they are assigned to their owners: int64[n].

    Along racks co-partitioned topics advance together, partition by partition.
    """
    counts = np.diff(matching.first)
    topic = np.repeat(np.arange(counts.size), counts)
    partition = np.arange(topic.size) - matching.first[topic]
    bucket = np.where(along_racks, matching.together[topic], 0)
    together = np.where(along_racks, partition, 0)
    return np.lexsort((partition, topic, together, bucket, ~along_racks))


STRATEGY = Strategy(
    name="librdkafka-range",
    system="librdkafka",
    client_id="rdkafka-",
    protocol="eager",
    source="rd_kafka_range_assignor_assign_cb",
    first="2.3.0",
    original="librdkafka:2.15.1",
    look=("black", "X", "long dashes"),
    member_fields=("instance", "rack"),
    promises=("contiguous", "even_topics", "cut_alike"),
    assign=assign,
)
