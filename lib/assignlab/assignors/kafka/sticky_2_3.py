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

>>> from assignlab.document import lists, parse
>>> g = parse({"topics": [{"name": "t", "partitions": 3}], "members": [
...     {"id": "A", "topics": ["t"], "owned": [["t", 0], ["t", 1]], "generation": 1},
...     {"id": "B", "topics": ["t"], "owned": [["t", 0], ["t", 2]], "generation": 2}]})
>>> lists(g, assign(g))
{'A': [['t', 1]], 'B': [['t', 2], ['t', 0]]}
"""

import numpy as np

from assignlab.assignment import Assignment
from assignlab.assignors.kafka.holdings import append
from assignlab.assignors.kafka.potential import KIND, NONE, OWNER, SIZE, TOPIC, Potential, potential
from assignlab.assignors.kafka.sticky_2_0 import (
    NOBODY,
    Current,
    are_subscriptions_identical,
    balance,
    by_potential_consumers,
    from_most_loaded,
    kept_partitions,
    key_set,
    partition_number,
    regroup,
)
from assignlab.compiled import njit
from assignlab.group import ABSENT, Group
from assignlab.jvm import hash_map_walk, topic_partition_hashes
from assignlab.strategy import Strategy

DEFAULT_GENERATION = -1


def assign(group: Group) -> Assignment:
    """Settle rival claims, sort the partitions, balance.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws. Notes
    ``nondeterministic`` where it orders partitions by identity hash codes.
    """
    known = group.prepared(potential)
    current, previous, in_key_order, _, read = prepopulate_current_assignments(group, known)
    sorted_partitions, ordered = sort_partitions(group, known, current, previous, in_key_order)
    offsets, codes = balance(group, known, current, sorted_partitions, previous)
    return Assignment(offsets, codes, notes={} if read and ordered else {"nondeterministic": True})


def prepopulate_current_assignments(
    group: Group, known: Potential
) -> tuple[Current, np.ndarray, np.ndarray, bool, bool]:
    """Give every claimed partition to its newest claimant, if that still subscribes to it.

    Returns the lists, the previous consumer of every partition (int64[partitions], or empty if none
    has one), the partitions that have one in the order of their HashMap, whether one was taken from
    a claimant that no longer subscribes to it, and whether Java fixes these orders.
    """
    claims = group.claims
    consumers, partitions = known.consumers.copy(), known.partitions.copy()
    entries = np.empty((len(partitions), 3), dtype=np.int64)
    previous = in_key_order = doubled = NOBODY
    kept, revoked, certain = 0, False, True
    if claims.codes.size:
        numbers, total = claimed_numbers(group, known)
        first, current, before = settle_claims(
            numbers, total, known.by_hash, known.by_id, claims.offsets, claims.generation
        )
        hashes = topic_partition_hashes(group.topics.names.hashes, claims.codes[first])
        walk, certain = hash_map_walk(hashes)
        walked = numbers[first[walk]]
        kept = keep_newest(consumers, partitions, entries, known.may, walked, current)
        revoked = kept < np.count_nonzero(walked < len(partitions))
        moved = before[walked] != NONE
        if moved.any():
            keys, also = hash_map_walk(hashes[walk[moved]])
            in_key_order, certain = walked[moved][keys], certain and also
            in_key_order = in_key_order[in_key_order < len(partitions)]
            previous = before[: len(partitions)]
            back = in_key_order[:, None]
            kind = consumers[previous[back], KIND]
            if not known.may[kind, partitions[back, TOPIC]].all():
                doubled = known.by_hash
    winners = known.winners.copy()
    current = Current(consumers, partitions, entries, winners, kept, 0, doubled)
    return current, previous, in_key_order, revoked, certain


def claimed_numbers(group: Group, known: Potential) -> tuple[np.ndarray, int]:
    """The number of every claimed partition; those that do not exist are numbered behind the rest.

    They count, because they take room in the HashMap. Returns also how many numbers there are.
    """
    codes, total = group.claims.codes, len(known.partitions)
    numbers = partition_numbers(known.topics, codes)
    gone = numbers == NONE
    if gone.any():
        which, numbers[gone] = np.unique(codes[gone], return_inverse=True)
        numbers[gone] += total
        total += which.size
    return numbers, total


@njit
def partition_numbers(topics, codes):
    """:func:`partition_number` of every code."""
    numbers = np.empty(codes.size, dtype=np.int64)
    for k in range(codes.size):
        numbers[k] = partition_number(topics, codes[k])
    return numbers


@njit
def settle_claims(numbers, total, by_hash, by_id, offsets, generation):
    """Who claims every partition in the newest generation, and who in the one before.

    Members are read in the order of their HashMap. In one generation the first claimant counts; of
    claims without generation, which stand for -1, the last.

    Returns (first int64[...]: where each claimed partition is claimed first, in that order; current
    and previous consumer int64[total], ``NONE`` where there is none).
    """
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    newest = np.empty(total, dtype=np.int64)
    older = np.empty(total, dtype=np.int64)
    first = np.empty(numbers.size, dtype=np.int64)
    met = 0
    for m in by_hash:
        given = generation[by_id[m]] != ABSENT
        claimed_in = generation[by_id[m]] if given else DEFAULT_GENERATION
        for k in range(offsets[by_id[m]], offsets[by_id[m] + 1]):
            x = numbers[k]
            if current[x] == NONE:
                first[met] = k
                met += 1
                current[x] = m
                newest[x] = claimed_in
            elif claimed_in == newest[x]:
                current[x] = current[x] if given else m
            elif claimed_in > newest[x]:
                previous[x] = current[x]
                older[x] = newest[x]
                current[x] = m
                newest[x] = claimed_in
            elif previous[x] == NONE or claimed_in > older[x]:
                previous[x] = m
                older[x] = claimed_in
            elif claimed_in == older[x] and not given:
                previous[x] = m
    return first[:met], current, previous


@njit
def keep_newest(consumers, partitions, entries, may, walked, current):
    """Fill the lists in the order of the walk; returns how many partitions are kept."""
    kept = 0
    for x in walked:
        if x < len(partitions):
            m = current[x]
            partitions[x, OWNER] = m
            if may[consumers[m, KIND], partitions[x, TOPIC]]:
                append(consumers, partitions, entries, m, x, x)
                kept += 1
    return kept


def sort_partitions(
    group: Group, known: Potential, current: Current, previous: np.ndarray, in_key_order: np.ndarray
) -> tuple[np.ndarray, bool]:
    """As in ``sticky@2.0``, but partitions with a previous consumer come first in each list."""
    fresh = group.claims.codes.size == 0
    if fresh or not are_subscriptions_identical(known):
        return group.prepared(by_potential_consumers), True
    kept = kept_partitions(current.consumers, current.entries, current.kept)
    if in_key_order.size:
        put_forward(current.consumers, current.partitions, kept, previous, in_key_order)
    listed = from_most_loaded(current.consumers, kept)
    if current.kept == len(known.codes):
        return listed, True
    keys, certain = group.prepared(key_set)
    rest = keys[current.partitions[keys, OWNER] == NONE]
    return np.concatenate((listed, rest)), certain or rest.size < 2


@njit
def put_forward(consumers, partitions, listed, previous, in_key_order):
    """In every list, put the partitions with a previous consumer in front, in the order of keys."""
    front = np.empty(len(consumers), dtype=np.int64)
    start = 0
    others = np.empty(listed.size, dtype=np.int64)
    for m in range(len(consumers)):
        front[m] = start
        at = start + consumers[m, SIZE]
        left = 0
        for k in range(start, at):
            if previous[listed[k]] == NONE:
                others[left] = listed[k]
                left += 1
        start = at
        for k in range(left):
            listed[at - left + k] = others[k]
    for x in in_key_order:
        m = partitions[x, OWNER]
        listed[front[m]] = x
        front[m] += 1


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims: grouped by ``computeIfAbsent``."""
    return regroup(group, assignment, newest_first=True)


STRATEGY = Strategy(
    name="sticky@2.3",
    system="Kafka consumer",
    first="2.3.0",
    last="2.3.1",
    protocol="eager",
    sticky=True,
    source="org.apache.kafka.clients.consumer.StickyAssignor (kafka-clients 2.3.1)",
    assign=assign,
    reclaim=reclaim,
    generations=("generation",),
)
