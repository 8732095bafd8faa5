"""``sticky@2.0``: Kafka's first StickyAssignor, with one algorithm for all groups (KIP-54).

The rule. Every member sends the partitions that it had. What is still valid stays where it is; each
partition without an owner goes to the subscribed member that has the fewest; then partitions are
moved, one by one, from members that have two or more too many to the subscribed member that has the
fewest, until no move helps.

What it promises, in order
1. The assignment is as balanced as possible: no member could give a partition to a subscribed
   member that has at least two fewer. Should the moves not improve the balance score (the sum of
   the differences of all pairs of members), they are taken back.
2. Among these it keeps as many partitions as possible with the member that had them. When a move
   would undo an earlier one of the same topic in the other direction, the earlier one is undone.

What it does not promise. Two members that claim one partition both keep it: claims carry no
generation yet (KAFKA-7026). Balance is looked for one move at a time, so it need not be the best.
A subscribed topic without partitions makes it throw (KAFKA-7962), and so do claims while nobody
subscribes to anything, and some double claims.

The original itself is not certain where nine or more partitions share a slot of a HashMap and two
of them have equal hash codes ("t10" partition 1, "t20" partition 0): the slot becomes a tree that
is ordered by identity. If partitions without an owner are handed out in such an order, the answer
carries the note ``nondeterministic``.

Three members, four topics of two partitions; then C1 leaves, and only its partitions move:

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> topics = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
>>> before = lists(g := group(topics, {c: list(topics) for c in ("C0", "C1", "C2")}), assign(g))
>>> before
{'C0': [['t0', 0], ['t1', 1], ['t3', 0]], 'C1': [['t0', 1], ['t2', 0], ['t3', 1]], \
'C2': [['t1', 0], ['t2', 1]]}
>>> lists(g := group(topics, {c: list(topics) for c in ("C0", "C2")}, owned=before | {"C1": []}),
...       assign(g))
{'C0': [['t0', 0], ['t1', 1], ['t3', 0], ['t2', 0]], \
'C2': [['t1', 0], ['t2', 1], ['t0', 1], ['t3', 1]]}

Different subscriptions; then consumer3 joins with t0 alone. t0p0 is first in the order and its
owner has four partitions, so it moves; then t0p1, whose owner still has two more than consumer3:

>>> topics = {"t0": 4, "t1": 3, "t2": 2}
>>> members = {"consumer0": ["t0", "t1", "t2"], "consumer1": ["t0", "t1"], "consumer2": ["t2"]}
>>> before = lists(g := group(topics, members), assign(g))
>>> for member, partitions in before.items():
...     print(member, *("p".join(map(str, partition)) for partition in partitions))
consumer0 t0p0 t0p2 t1p0 t1p2
consumer1 t0p1 t0p3 t1p1
consumer2 t2p0 t2p1
>>> g = group(topics, members | {"consumer3": ["t0"]}, owned=before)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *("p".join(map(str, partition)) for partition in partitions))
consumer0 t0p2 t1p0 t1p2
consumer1 t0p3 t1p1
consumer2 t2p0 t2p1
consumer3 t0p0 t0p1
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import sticky
from assignlab.assignors.kafka.parts.way_back import regroup
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.holdings import Current
from assignlab.assignors.parts.potential import NONE, potential, unpack_potential
from assignlab.assignors.parts.reassignment import (
    NO_MEMBERS,
    are_subscriptions_identical,
    balance,
    followed_by,
    from_most_loaded,
    refuse,
)
from assignlab.assignors.parts.rival_claims import last_claimants, partition_number
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.jvm.hash_map import hash_map_order

TWICE = 2
"""Instead of an answer: a partition is claimed twice, so that the order of a second HashMap is
asked for."""


def assign(group: Group) -> Assignment:
    """Keep what is claimed, sort the partitions, balance.

    Raises :class:`OriginalError` where the original throws. Notes ``nondeterministic`` where it
    orders partitions by identity hash codes, so that two runs of it may differ.
    """
    if len(group.members) == 0:
        raise OriginalError("NoSuchElementException", "the group has no members")
    known, claims = group.prepared(orders.walks), group.claims
    if known.topics_by_hash.size < known.subscribed_by_hash.size:
        missing = np.setdiff1d(known.subscribed_by_hash, known.topics_by_hash)
        name = group.topics.names[missing[0]]
        reason = f"topic {name!r} is subscribed, but has no metadata or no partitions"
        raise OriginalError("NullPointerException", reason)
    if known.topics_by_hash.size == 0 and claims.present.any():
        reason = "a member sends a claim, even an empty one, and nobody subscribes to anything"
        raise OriginalError("NoSuchElementException", reason)
    packed, may, keys_certain = group.prepared(potential)
    read = claims.offsets, claims.codes, claims.present
    order = NO_MEMBERS
    answer = build(packed, may, *read, order)
    if answer[0] == TWICE:
        order = current_assignment_order(group)
        answer = build(packed, may, *read, order)
    status, offsets, codes, by_keys = answer
    refuse(status)
    certain = keys_certain or not by_keys
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


def current_assignment_order(group: Group) -> np.ndarray:
    """Consumers as the HashMap of current assignments has them: those that claim are put first."""
    members, names = group.prepared(orders.members_by_hash), group.members.names
    claim = group.claims.present[members]
    put = np.concatenate((members[claim], members[~claim]))
    return names.rank[put[hash_map_order(names.hashes[put], rank=names.rank[put])]]


@njit
def build(packed, may, claimed_offsets, claimed, present, order):
    """Returns (status, offsets and codes of the lists, whether two partitions or more were handed
    out in the order of the key set).

    ``order``: :func:`current_assignment_order`, or empty.
    """
    known = unpack_potential(packed, may)
    current, twice = prepopulate_current_assignments(known, claimed_offsets, claimed, order)
    if twice and order.size == 0:
        return TWICE, claimed_offsets, claimed, False
    is_fresh_assignment = not present.any()
    sorted_partitions, by_keys = sort_partitions(known, current, is_fresh_assignment)
    offsets, codes, status = balance(known, current, sorted_partitions, False)
    return status, offsets, codes, by_keys


@inner
def prepopulate_current_assignments(known, offsets, codes, order):
    """Let members keep what they claim, if it exists and they still subscribe to it.

    ``order``: of the consumers, by which the last claimant of a partition is its owner if it is
    claimed twice. Returns (the current assignment, whether one is claimed twice).
    """
    starts, listed, owner, twice = keep_claims(known, offsets, codes)
    doubled = order if twice else order[:0]
    last_claimants(known, owner, doubled, offsets, codes)
    return Current(starts, listed, owner, doubled, order[:0]), twice


@inner
def keep_claims(known, offsets, codes):
    """Fill the lists from the claims. The owner of a partition is its last claimant.

    Returns (offsets, listed, owner) of the current assignment, and whether one was claimed twice.
    """
    by_id, kind, topic, may = known.by_id, known.kind, known.topic, known.may
    first, count = known.first, known.count
    starts = np.zeros(by_id.size + 1, dtype=np.int64)
    listed = np.empty(codes.size, dtype=np.int64)
    owner = np.full(topic.size, NONE)
    kept = 0
    twice = False
    for m in range(by_id.size):
        for k in range(offsets[by_id[m]], offsets[by_id[m] + 1]):
            i = partition_number(first, count, codes[k])
            if i == NONE:
                continue
            twice |= owner[i] != NONE
            owner[i] = m
            if may[kind[m], topic[i]]:
                listed[kept] = i
                kept += 1
        starts[m + 1] = kept
    return starts, listed[:kept], owner, twice


@inner
def sort_partitions(known, current, is_fresh_assignment):
    """The order in which partitions are handed out and later considered for a move.

    A reassignment with identical subscriptions goes through the members' lists, then through the
    rest as the key set of a HashMap has it; anything else goes by ``PartitionComparator``. Returns
    (partition numbers int64[...], whether the key set decides). A partition that is kept twice
    appears twice.
    """
    if is_fresh_assignment or not are_subscriptions_identical(known):
        return known.in_order, False
    listed = from_most_loaded(current.offsets, current.listed)
    sorted_partitions = followed_by(listed, known.keys, current.owner)
    return sorted_partitions, sorted_partitions.size > listed.size + 1


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims."""
    return regroup(group, assignment, newest_first=False)


STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@2.0",
    first="0.11.0",
    last="2.2.2",
    original="kafka-clients:2.0.1",
    look=("slate", "o", "dotted"),
    member_fields=("owned",),
    generations=(),
    promises=("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange"),
    reclaim=reclaim,
    exceptions={
        "missing_topics": "it throws a NullPointerException for every topic without metadata"
    },
    assign=assign,
)
