"""Racks as the coordinator's uniform assignor of 3.7 saw them; 3.8 no longer looks at them.

Racks count only where members and partitions of subscribed topics share some rack and not every
partition has replicas in all of them, as for the clients. But a member without a rack, or a
partition without one, matches nobody; and a partition's candidates, the members in its racks, come
rack by rack in the order of a ``HashSet``, whether they subscribe to the topic or not.

Source: ``AbstractUniformAssignmentBuilder.RackInfo`` of kafka-group-coordinator 3.7.2.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.partitions import of_topics
from assignlab.assignors.parts.racks import NO_RACK, placements, use_rack_aware_assignment
from assignlab.compiled import inner, leaf
from assignlab.group.assignment import number_of
from assignlab.group.model import Group
from assignlab.jvm.hash_map import NOTHING, hash_map_order
from assignlab.jvm.names import Names


class Racks(NamedTuple):
    """Partitions are numbered through (:func:`sets.dense_starts`); those that have replicas in the
    same racks are of one kind.

    ``in_use``: whether racks count; if not, the arrays are empty. ``of_member``: int64[members],
    NO_RACK for none; ``kind``: int64[partitions]; ``place``: int64[kinds, racks + 1], of a rack
    among those in which a kind has replicas, from 1, 0 for others and NO_RACK; kind k has the candidates
    ``members[starts[k]:starts[k + 1]]``; ``sorted``: codes of the partitions that have candidates,
    fewest first, then by topic id and number.
    """

    in_use: bool
    of_member: np.ndarray
    kind: np.ndarray
    place: np.ndarray
    starts: np.ndarray
    members: np.ndarray
    sorted: np.ndarray


NO_RACKS = Racks(False, NOTHING, NOTHING, NOTHING.reshape(0, 1), NOTHING, NOTHING, NOTHING)


def rack_info(group: Group) -> Racks:
    """The :class:`Racks` of a group, members by index."""
    if group.members.racks is None or group.topics.racks is None:
        return NO_RACKS
    named = group.members.racks
    index = {rack: n for n, rack in enumerate(dict.fromkeys(filter(None, named)))}
    there = len(index)
    of_member = np.array([index[rack] if rack else NO_RACK for rack in named])
    of_all, kinds = group.topics.prepared(placements)
    first = group.topics.prepared(sets.dense_starts)
    topics = subscribed_topics(group)
    codes = of_topics(group, topics[np.argsort(group.topics.prepared(sets.topic_ids).rank[topics])])
    kind = of_all[number_of(codes, first)]
    of_kind = [
        tuple([index.setdefault(rack, len(index)) for rack in walked(racks)]) for racks in kinds
    ]
    in_use = use_rack_aware_assignment(
        set(range(there)), [of_kind[k] for k in np.unique(kind).tolist()]
    )
    if not in_use:
        return NO_RACKS
    order = group.prepared(orders.members_by_hash)
    by_rack = order[np.argsort(of_member[order], kind="stable")]
    ends = np.searchsorted(of_member[by_rack], np.arange(len(index)), side="right").tolist()
    begins = [len(named) - np.count_nonzero(of_member != NO_RACK), *ends[:-1]]
    place = np.zeros((len(kinds), len(index) + 1), dtype=np.int64)
    candidates = [by_rack[:0]]
    for k, racks in enumerate(of_kind):
        place[k, racks] = np.arange(1, len(racks) + 1)
        candidates += [by_rack[begins[rack] : ends[rack]] for rack in racks]
    sizes = np.array([sum([ends[r] - begins[r] for r in racks]) for racks in of_kind])
    counts = sizes[kind]
    in_turn = codes[np.argsort(counts, kind="stable")]
    return Racks(
        True, of_member, of_all, place, np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate(candidates), in_turn[np.count_nonzero(counts == 0) :],
    )  # fmt: skip


def subscribed_topics(group: Group) -> np.ndarray:
    """The topics of the cluster that some member names: int64[n]."""
    named = group.prepared(sets.existing)[np.unique(group.members.subscription)]
    return np.flatnonzero(named.any(axis=0))


def walked(racks: tuple[str, ...]) -> list[str]:
    """Racks as a ``HashSet`` of them is walked.

    >>> walked(("r0", "r2", "BB", "r2", "Aa"))
    ['r2', 'BB', 'Aa', 'r0']
    """
    names = Names(tuple(dict.fromkeys(racks)))
    return [names[i] for i in hash_map_order(names.hashes, rank=names.rank).tolist()]


@leaf
def racks_mismatch(racks, m, at, exists):
    """Whether a member is in none of the racks of a partition (one beyond the end has none)."""
    return not (exists and racks.place[racks.kind[at], racks.of_member[m]] > 0)


@inner
def candidates(racks, at):
    """The members in the racks of a partition."""
    k = racks.kind[at]
    return racks.members[racks.starts[k] : racks.starts[k + 1]]
