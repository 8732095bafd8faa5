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
from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka import sticky
from assignlab.assignors.kafka.parts.way_back import regroup
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.assignors.parts.holdings import Current
from assignlab.assignors.parts.potential import NONE, Potential, potential
from assignlab.assignors.parts.reassignment import (
    NOBODY,
    are_subscriptions_identical,
    balance,
    by_partition_comparator,
    from_most_loaded,
    key_set,
)
from assignlab.assignors.parts.rival_claims import keep_claimed, partition_numbers, settle_claims
from assignlab.compiled import njit
from assignlab.group.assignment import Assignment
from assignlab.group.model import ABSENT, Group
from assignlab.jvm.hash_map import hash_map_walk

DEFAULT_GENERATION = -1


def assign(group: Group) -> Assignment:
    """Settle rival claims, sort the partitions, balance.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    return assign_sticky(group)


def assign_sticky(group: Group, new_first: bool = False) -> Assignment:
    """``new_first``: since 2.4, new partitions are tried first where nothing had to be revoked."""
    known = group.prepared(potential)
    read = prepopulate_current_assignments(group, known)
    sorted_partitions, certain = sort_partitions(group, known, read)
    new_first = new_first and not read.revoked
    offsets, codes = balance(group, known, read.current, sorted_partitions, new_first)
    certain = certain and read.certain
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


class Read(NamedTuple):
    """What the claims say.

    ``in_key_order``: the partitions with a previous consumer in the order of their HashMap;
    ``revoked``: whether one was taken from a claimant that no longer subscribes to it; ``certain``:
    whether Java fixes the order of the lists.
    """

    current: Current
    in_key_order: np.ndarray
    revoked: bool
    certain: bool


def prepopulate_current_assignments(group: Group, known: Potential) -> Read:
    """Give every claimed partition to its newest claimant, if that still subscribes to it."""
    claims, total = group.claims, len(known.codes)
    walked = claimant = before = previous = in_key_order = NOBODY
    certain = True
    if claims.codes.size:
        numbers, all_numbers = claimed_numbers(group, known)
        absent = claims.generation == ABSENT
        first, claimant, before = settle_claims(
            group.prepared(orders.members_by_hash),
            group.members.names.rank,
            claims.offsets,
            numbers,
            all_numbers,
            np.where(absent, DEFAULT_GENERATION, claims.generation),
            absent,
        )
        hashes = partition_hashes(group.topics.names.hashes, claims.codes[first], TOPIC_PARTITION)
        walk, certain = hash_map_walk(hashes)
        walked = numbers[first[walk]]
        moved = before[walked] != NONE
        if moved.any():
            keys, also = hash_map_walk(hashes[walk[moved]])
            in_key_order, certain = walked[moved][keys], certain and also
            in_key_order = in_key_order[in_key_order < total]
            previous = before[:total]
    offsets, listed, owner, revoked, strange = keep_claimed(
        known.kind, known.topic, known.may, walked, claimant, before
    )
    doubled = known.by_hash if strange else NOBODY
    current = Current(offsets, listed, owner, doubled, previous)
    return Read(current, in_key_order, revoked > 0, certain)


def claimed_numbers(group: Group, known: Potential) -> tuple[np.ndarray, int]:
    """The number of every claimed partition; those that do not exist are numbered behind the rest.

    They count, because they take room in the HashMap. Returns also how many numbers there are.
    """
    codes, total = group.claims.codes, len(known.codes)
    numbers = partition_numbers(known.first, known.count, codes)
    gone = numbers == NONE
    if gone.any():
        which, numbers[gone] = np.unique(codes[gone], return_inverse=True)
        numbers[gone] += total
        total += which.size
    return numbers, total


def sort_partitions(group: Group, known: Potential, read: Read) -> tuple[np.ndarray, bool]:
    """As in ``sticky@2.0``, but partitions with a previous consumer come first in each list."""
    is_fresh_assignment = group.claims.codes.size == 0
    if is_fresh_assignment or not are_subscriptions_identical(known):
        return group.prepared(by_partition_comparator), True
    offsets, listed, owner, _, previous = read.current
    if read.in_key_order.size:
        listed = put_forward(offsets, listed, owner, previous, read.in_key_order)
    listed = from_most_loaded(offsets, listed)
    if listed.size == len(known.codes):
        return listed, True
    keys, certain = group.prepared(key_set)
    rest = keys[owner[keys] == NONE]
    return np.concatenate((listed, rest)), certain or rest.size < 2


@njit
def put_forward(offsets, listed, owner, previous, in_key_order):
    """In every list, put the partitions with a previous consumer in front, in the order of keys."""
    front = offsets[:-1].copy()
    for x in in_key_order:
        front[owner[x]] += 1
    forward = np.empty_like(listed)
    for m in range(front.size):
        for x in listed[offsets[m] : offsets[m + 1]]:
            if previous[x] == NONE:
                forward[front[m]] = x
                front[m] += 1
    front = offsets[:-1].copy()
    for x in in_key_order:
        forward[front[owner[x]]] = x
        front[owner[x]] += 1
    return forward


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
