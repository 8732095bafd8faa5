"""What kafka-python's sticky assignors share: KIP-54's general algorithm, also for equal
subscriptions.

It is Java's algorithm of 2.4 (see ``sticky@2.4`` and ``sticky@2.0``) with these differences.

- Claims are read in the order of the members. Of claims in one generation the first counts, except
  in generation 0, where the last does: the original asks ``if generation and ...``.
- Subscriptions are identical only if all members name the topics in the same order.
- With identical subscriptions the lists are walked from their ends, partitions that had another
  consumer before first of all.
- When a move is replaced by the return of a partition of the same topic, and that one's owner is
  not the overloaded consumer but the one from which the partition had come, both moves are undone.
- Members are given their partitions sorted.

Two choices are made by taking *some* element of a Python set of named tuples with a string, whose
order follows the interpreter's hash seed: which of several partitions with a previous consumer
comes first, and which of several partitions returns. The answer then carries the note
``nondeterministic``: another process of kafka-python may answer otherwise.

Source: ``StickyAssignmentExecutor`` and ``PartitionMovements`` of kafka-python 3.0.12.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.code_points import as_java_sorts
from assignlab.assignors.parts.holdings import (
    Current,
    holdings,
    levels_of,
    sum_of_differences,
)
from assignlab.assignors.parts.movements import (
    Movements,
    find_pair,
    move_partition,
    no_movements,
    pair_key,
)
from assignlab.assignors.parts.never_ends import never_ends, tell_movements
from assignlab.assignors.parts.orders import times_named
from assignlab.assignors.parts.potential import NONE, Potential, potential
from assignlab.assignors.parts.reassignment import (
    DONE,
    MISSING,
    NOBODY,
    assign_unassigned,
    by_partition_comparator,
    from_most_loaded,
    has_two_fewer,
    is_balanced,
    least_loaded_with_two_fewer,
    move_new_first,
    process_partition_movement,
    set_fixed_consumers_aside,
    state_of,
    unassigned_partitions,
)
from assignlab.assignors.parts.rival_claims import keep_claimed, partition_numbers, settle_claims
from assignlab.compiled import leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import topic_of
from assignlab.group.model import ABSENT, Group
from assignlab.jvm.hash_set import set_first

DEFAULT_GENERATION = -1


class Known(NamedTuple):
    """What does not depend on claims.

    ``may_have``: who may have what, consumers numbered by member id as Python compares strings;
    ``in_order``: int64[partitions], by (potential consumers, topic, partition); ``identical``:
    whether all subscriptions are; ``number``: int64[members], the number of every member;
    ``topic_rank``: int64[topics], by name.
    """

    may_have: Potential
    in_order: np.ndarray
    identical: bool
    number: np.ndarray
    topic_rank: np.ndarray


def known(group: Group) -> Known:
    """Prepare a group. Names are replaced by some that Java sorts as Python sorts them."""
    renamed = as_java_sorts(group)
    return Known(
        renamed.prepared(potential),
        renamed.prepared(by_partition_comparator),
        are_subscriptions_identical(group),
        renamed.members.names.rank,
        renamed.topics.names.rank,
    )


def are_subscriptions_identical(group: Group) -> bool:
    """Whether all members name the same topics that have partitions, in the same order.

    And each topic as often as any other.
    """
    sent, partitions = group.sent, group.topics.partitions
    lists = [
        sent.topics[start:end]
        for start, end in zip(sent.offsets[:-1], sent.offsets[1:], strict=True)
    ]
    times = group.prepared(times_named)[partitions > 0]
    return len({topics[partitions[topics] > 0].tobytes() for topics in lists}) < 2 and (
        np.unique(times[times > 0]).size < 2
    )


def final_assignment(group: Group, generation: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict]:
    """Who gets what: (owner int64[n] as a member index, code int64[n], notes), sorted by code.

    ``generation``: int64[members], that of every member's claims, ``ABSENT`` for none. Sorted is by
    topic name and partition. Raises :class:`OriginalError` where the original throws.
    """
    if len(group.members) == 0:
        raise OriginalError("TypeError", "the group has no members")
    prepared = group.prepared(known)
    may_have, claims = prepared.may_have, group.claims
    first = claimant = NOBODY
    previous = np.full(len(may_have.codes), NONE)
    fresh = claims.codes.size == 0
    if not fresh:
        generation = np.where(generation == ABSENT, DEFAULT_GENERATION, generation)
        numbers = partition_numbers(may_have.first, may_have.count, claims.codes)
        claimed, claimant, previous = settle_claims(
            np.arange(len(group.members)),
            prepared.number,
            claims.offsets,
            numbers,
            len(may_have.codes),
            generation,
            generation == 0,
        )
        first = numbers[claimed]
    offsets, listed, owner, revoked, strange = keep_claimed(
        may_have.kind, may_have.topic, may_have.may, first, claimant, previous
    )
    doubled = np.arange(len(group.members) if strange else 0)
    current = Current(offsets, listed, owner, doubled, previous)
    walk, ordered = sorted_partitions(prepared, current, fresh)
    owners, status, certain = balance(may_have, current, walk, revoked > 0)
    if status < 0:
        raise never_ends(-status, ordered and certain)
    if status == MISSING:
        raise OriginalError(
            "KeyError", "a partition is to go back to a consumer that has left the balancing"
        )
    topics = prepared.topic_rank[topic_of(may_have.codes)]
    order = np.lexsort((may_have.codes, topics))
    notes = {} if ordered and certain else {"nondeterministic": True}
    return may_have.by_id[owners[order]], may_have.codes[order], notes


def sorted_partitions(prepared: Known, current: Current, fresh: bool) -> tuple[np.ndarray, bool]:
    """The order in which partitions are handed out and considered for a move.

    Returns (int64[partitions], whether it does not depend on the order of a set).
    """
    if fresh or not prepared.identical:
        return prepared.in_order, True
    listed, certain = candidates_first(current.offsets, current.listed, current.previous)
    listed = from_most_loaded(current.offsets, listed)
    rest = prepared.in_order[current.owner[prepared.in_order] == NONE]
    return np.concatenate((listed, rest)), certain


@njit
def candidates_first(offsets, listed, previous):
    """Every list turned round, partitions with a previous consumer first.

    Returns (int64[...], whether no list has several of these).
    """
    turned = np.empty_like(listed)
    certain = True
    for m in range(offsets.size - 1):
        mine = listed[offsets[m] : offsets[m + 1]][::-1]
        at = offsets[m]
        for x in mine:
            if previous[x] != NONE:
                turned[at] = x
                at += 1
        certain = certain and at - offsets[m] < 2
        for x in mine:
            if previous[x] == NONE:
                turned[at] = x
                at += 1
    return turned, certain


class PartitionMovements(NamedTuple):
    """``moves``: of numbered partitions; ``touched``: bool[members], consumers set aside that were
    asked for the size of their list; ``certain``: bool[1], whether no choice was left to the order
    of a set."""

    moves: Movements
    touched: np.ndarray
    certain: np.ndarray


@njit
def balance(may_have, current, walk, revoked):
    """Hand out what has no owner, move it where that helps, then move anything, unless in vain.

    ``revoked``: something was taken from its claimant; then new partitions are not tried first.

    Returns (owner of every partition, status, whether no choice was left to the order of a set).
    """
    initializing = current.listed.size == 0
    held = holdings(may_have, current)
    unassigned = unassigned_partitions(held, walk)
    assign_unassigned(held, unassigned)
    fixed = set_fixed_consumers_aside(held)
    levels = levels_of(held, fixed)
    before = sum_of_differences(levels.counts, 0)
    pre_balance_assignment = held.partitions["owner"].copy()
    state = state_of(held, levels, fixed, current, may_have.by_hash)
    if is_balanced(state):
        return pre_balance_assignment, DONE, True
    movements = PartitionMovements(
        no_movements(np.arange(may_have.topic.size).astype(np.int32), fixed.size),
        np.zeros(fixed.size, dtype=np.bool_),
        np.ones(1, dtype=np.bool_),
    )
    performed, status = move_new_first(
        state,
        movements,
        unassigned[: 0 if revoked else unassigned.size],
        walk,
        better_consumer,
        reassign_partition,
        tell_moves,
    )
    # By asking for the size of a list that was set aside the original makes an empty one.
    score = sum_of_differences(levels.counts, movements.touched.sum())
    if performed and not initializing and score >= before:
        return pre_balance_assignment, status, movements.certain[0]
    return held.partitions["owner"].copy(), status, movements.certain[0]


@leaf
def better_consumer(state, movements, i):
    """The previous consumer of partition i, then the first of the sorted set."""
    held, new_consumer = state.held, state.previous[i]
    if new_consumer != NONE and state.fixed[new_consumer]:
        movements.touched[new_consumer] = True
        if held.consumers[held.partitions[i].owner].count > 1:
            return NONE, MISSING
    elif new_consumer != NONE and has_two_fewer(held, new_consumer, i):
        return new_consumer, DONE
    return least_loaded_with_two_fewer(held, i), DONE


@leaf
def tell_moves(memory, movements):
    tell_movements(memory, movements.moves)


@leaf
def reassign_partition(state, movements, i, new_consumer):
    """Move partition i to the new consumer, or one of its topic that had come the other way."""
    partitions, moves = state.held.partitions, movements.moves
    t, owner = partitions[i].topic, partitions[i].owner
    source = owner if moves.source[i] == NONE else moves.source[i]
    back = find_pair(moves, pair_key(moves, t, new_consumer, source))
    actual = i
    if back != NONE:
        actual = set_first(moves.sets, back)
        if moves.sets.size[back] > 1:
            movements.certain[0] = False
    substitute_owner = partitions[actual].owner
    if substitute_owner != owner:
        move(state, moves, i, substitute_owner)
    move(state, moves, actual, new_consumer)
    return DONE


@leaf
def move(state, moves, i, new_consumer):
    """Take partition i out of its owner's list and append it to the new consumer's."""
    partition = state.held.partitions[i]
    move_partition(moves, i, partition.topic, partition.owner, new_consumer)
    process_partition_movement(state, i, new_consumer)
