"""``sticky@2.3``: Kafka's StickyAssignor with generations in the claims (KIP-341, KAFKA-7026).

The rule is that of ``sticky@2.0``, but a claim says from which generation it is. Of several members
that claim one partition the one with the newest generation keeps it; within one generation the
first that is read. The claimant of the generation before that is the partition's previous consumer:
when the partition is considered for a move and that consumer has at least two partitions fewer, it
gets it back, before the least loaded consumer is looked for.

Two more differences. A subscribed topic without partitions is simply passed over (KAFKA-7962). And
a claim is read partition by partition through a HashMap, so that the order in which a member sent
its partitions is lost: "the first partition of a list" now depends on hash codes, and with nine
partitions or more in one slot on the identity of objects (noted as ``nondeterministic``).

What it does not promise. The previous consumer need not subscribe to the topic any more: it then
gets a partition that it does not want. If it has nothing to take part with, the original throws.

>>> from assignlab.group.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": "A", "topics": ["t"], "owned": [["t", 0], ["t", 1]], "generation": 1},
...     {"id": "B", "topics": ["t"], "owned": [["t", 0], ["t", 2]], "generation": 2}]})
>>> lists(g, assign(g))
{'A': [['t', 1]], 'B': [['t', 2], ['t', 0]]}
"""

from dataclasses import replace

import numpy as np

from assignlab.assignors.kafka import sticky
from assignlab.assignors.kafka.parts.way_back import regroup
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.assignors.parts.holdings import Current
from assignlab.assignors.parts.potential import NONE, Potential, potential, unpack_potential
from assignlab.assignors.parts.reassignment import (
    NO_MEMBERS,
    are_subscriptions_identical,
    balance,
    followed_by,
    from_most_loaded,
    refuse,
)
from assignlab.assignors.parts.rival_claims import (
    keep_claimed,
    partition_number,
    partition_numbers,
    settle_claims,
)
from assignlab.assignors.parts.slices import copy_into, taken
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.model import ABSENT, Group
from assignlab.jvm.hash_map import walk_map

GONE = 2
"""Instead of an answer: what is asked for is how to number claimed partitions that do not exist."""
NOT_ASKED = NO_MEMBERS, NO_MEMBERS


def assign(
    group: Group, by_lists: bool = True, cooperative: bool = False, new_first: bool = False
) -> Assignment:
    """Settle rival claims, sort the partitions, balance: both sticky assignors from 2.3 to 2.8.

    ``by_lists``: until 2.4, equal subscriptions are sorted list by list; ``cooperative``: without
    the partitions that must first be revoked; ``new_first``: since 2.4, new partitions are tried
    first where nothing had to be revoked.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws or never ends. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    if len(group.members) == 0:
        raise OriginalError("NoSuchElementException", "the group has no members")
    packed, may, keys_certain = group.prepared(potential)
    claims = group.claims
    read = claims.offsets, claims.codes, claims.generation
    way = by_lists, cooperative, new_first
    answer = build(packed, may, read, NOT_ASKED, *way)
    if answer[0] == GONE:
        gone = claimed_numbers(group, unpack_potential(packed, may), claims.codes)
        answer = build(packed, may, read, gone, *way)
    status, offsets, codes, by_keys, certain = answer
    refuse(status)
    certain = certain and (keys_certain or not by_keys)
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


def claimed_numbers(
    group: Group, known: Potential, codes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The number of every claimed partition, and the hash codes of those that do not exist.

    These are numbered behind the rest. They count, because they take room in the HashMap.
    """
    topics, partitions = topic_of(codes), partition_of(codes)
    numbers = known.first[topics] + partitions
    gone = partitions >= known.count[topics]
    which, numbers[gone] = np.unique(codes[gone], return_inverse=True)
    numbers[gone] += len(known.codes)
    hashes = partition_hashes(group.topics.names.hashes, which, TOPIC_PARTITION)
    return numbers, hashes.astype(np.int64)


@njit
def build(packed, may, claims, gone, by_lists, cooperative, new_first):
    """Returns (status, offsets and codes of the lists, whether two partitions or more were handed
    out in the order of the key set, whether Java always walks the maps of claims so).

    ``claims``: offsets, codes and generations; ``gone``: :func:`claimed_numbers`, empty until they
    are asked for.
    """
    known = unpack_potential(packed, may)
    claimed_offsets, claimed, generation = claims
    numbers, hashes_of_gone = gone
    if numbers.size == 0:
        numbers, all_exist = partition_numbers(known, claimed)
        if not all_exist:
            return GONE, claimed_offsets, claimed, False, True
    hashes = known.hashes
    if hashes_of_gone.size > 0:
        hashes = np.empty(known.hashes.size + hashes_of_gone.size, dtype=np.int64)
        copy_into(hashes, 0, known.hashes)
        copy_into(hashes, known.hashes.size, hashes_of_gone)
    first, claimant, before = settle_claims(
        known, claimed_offsets, generation, numbers, hashes.size, ABSENT
    )
    no_rank = np.empty(0, dtype=np.int64)  # partitions are not Comparable
    walk, certain = walk_map(taken(hashes, first).astype(np.int32), 16, no_rank, False, False)
    walked = taken(first, walk)
    moved = walked[taken(before, walked) != NONE]
    keys, also_certain = walk_map(taken(hashes, moved).astype(np.int32), 16, no_rank, False, False)
    current, revoked = prepopulate_current_assignments(known, walked, claimant, before)
    sorted_partitions = known.in_order
    by_keys = False
    if by_lists and claimed.size > 0 and are_subscriptions_identical(known):
        sorted_partitions, by_keys = sort_partitions(known, current, taken(moved, keys))
    offsets, codes, status = balance(known, current, sorted_partitions, new_first and revoked == 0)
    if cooperative:
        offsets, codes = adjust_assignment(known, claimed_offsets, claimed, offsets, codes)
    return status, offsets, codes, by_keys, certain and also_certain


@inner
def prepopulate_current_assignments(known, walked, claimant, before):
    """Give every claimed partition to its newest claimant, if that still subscribes to it.

    Returns (the current assignment, how many were taken from a claimant that does not any more).
    """
    offsets, listed, owner, revoked, strange = keep_claimed(known, walked, claimant, before)
    doubled = known.as_read if strange else known.as_read[:0]
    return Current(offsets, listed, owner, doubled, before[: owner.size]), revoked


@inner
def sort_partitions(known, current, in_key_order):
    """As in ``sticky@2.0``, but partitions with a previous consumer come first in each list."""
    listed = current.listed
    if in_key_order.size > 0:
        listed = put_forward(current, in_key_order)
    listed = from_most_loaded(current.offsets, listed)
    sorted_partitions = followed_by(listed, known.keys, current.owner)
    return sorted_partitions, sorted_partitions.size > listed.size + 1


@inner
def put_forward(current, in_key_order):
    """In every list, put the partitions with a previous consumer in front, in the order of keys."""
    offsets, listed, owner, _, previous = current
    front = offsets[:-1].copy()
    for x in in_key_order:
        if x < owner.size:
            front[owner[x]] += 1
    forward = np.empty_like(listed)
    for m in range(front.size):
        for x in listed[offsets[m] : offsets[m + 1]]:
            if previous[x] == NONE:
                forward[front[m]] = x
                front[m] += 1
    front = offsets[:-1].copy()
    for x in in_key_order:
        if x < owner.size:
            forward[front[owner[x]]] = x
            front[owner[x]] += 1
    return forward


@inner
def adjust_assignment(known, claimed_offsets, claimed, offsets, codes):
    """Take out what a member would get while another, which will not keep it, still claims it."""
    claimants = np.zeros(known.codes.size, dtype=np.bool_)
    for k in range(claimed.size):
        x = partition_number(known.first, known.count, claimed[k])
        if x != NONE:
            claimants[x] = True
    own = np.full(known.codes.size, NONE)
    adjusted = np.zeros(offsets.size, dtype=np.int64)
    kept = np.empty(codes.size, dtype=np.int64)
    n = 0
    for m in range(offsets.size - 1):
        for k in range(claimed_offsets[m], claimed_offsets[m + 1]):
            x = partition_number(known.first, known.count, claimed[k])
            if x != NONE:
                own[x] = m
        for k in range(offsets[m], offsets[m + 1]):
            x = partition_number(known.first, known.count, codes[k])
            if own[x] == m or not claimants[x]:
                kept[n] = codes[k]
                n += 1
        adjusted[m + 1] = n
    return adjusted, kept[:n]


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: grouped by ``computeIfAbsent``."""
    return regroup(group, assignment, newest_first=True)


STRATEGY = replace(
    sticky.STRATEGY,
    name="sticky@2.3",
    first="2.3.0",
    last="2.3.1",
    original="kafka-clients:2.3.1",
    look=("slate", "s", "dotted"),
    member_fields=("owned", "generation"),
    generations=("generation",),
    promises=("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange"),
    reclaim=reclaim,
    assign=assign,
)
