"""What the sticky assignors of kafka-python and aiokafka share: KIP-54's general algorithm, also for
equal subscriptions.

It is Java's algorithm of 2.4 (see ``sticky@2.4`` and ``sticky@2.0``) with these differences.

- Claims are read in the order of the members. Of claims in one generation the first counts, except
  in generation 0, where the last does: the original asks ``if generation and ...``.
- Subscriptions are identical only if all members name the topics in the same order.
- With identical subscriptions the lists are walked from their ends, partitions that had another
  consumer before first of all.
- In kafka-python, when a move is replaced by the return of a partition of the same topic, and that
  one's owner is not the overloaded consumer but the one from which the partition had come, both
  moves are undone (``undoes``).
- Members are given their partitions sorted.

Two choices are made by taking *some* element of a Python set of named tuples with a string, whose
order follows the interpreter's hash seed: which of several partitions with a previous consumer
comes first, and which of several partitions returns. The answer then carries the note
``nondeterministic``: another process may answer otherwise.

Source: ``StickyAssignmentExecutor`` and ``PartitionMovements`` of kafka-python 3.0.12, and of aiokafka
0.14.0, which has it from an earlier kafka-python.
"""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.code_points import as_java_sorts, topics_by_name
from assignlab.assignors.parts.holdings import Current, holdings, sum_of_differences
from assignlab.assignors.parts.movements import (
    Movements,
    find_pair,
    move_partition,
    no_movements,
    pair_key,
    source_of,
)
from assignlab.assignors.parts.never_ends import tell_movements
from assignlab.assignors.parts.orders import times_named, topics_by_hash
from assignlab.assignors.parts.potential import NONE, potential_in, unpack_potential
from assignlab.assignors.parts.reassignment import (
    DONE,
    MISSING,
    assign_unassigned,
    followed_by,
    from_most_loaded,
    has_two_fewer,
    is_balanced,
    least_loaded_with_two_fewer,
    move_new_first,
    process_partition_movement,
    refuse,
    state_of,
    unassigned_partitions,
)
from assignlab.assignors.parts.rival_claims import (
    keep_claimed,
    last_claimants,
    partition_numbers,
    settle_claims,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, by_member
from assignlab.group.model import Group
from assignlab.jvm.hash_set import set_first

LAST_COUNTS_IN = 0
"""The generation in which the last claimant of a partition counts, not the first."""


def shape(group: Group) -> tuple[np.ndarray, np.ndarray, np.ndarray, bool]:
    """What is the same whatever the members hold: the packed potential consumers and partitions,
    ``may``, the topics by name, and whether all subscriptions are identical.

    Names are replaced by some that Java sorts as Python sorts them.
    """
    renamed = as_java_sorts(group)
    packed, may, _ = potential_in(
        group, group.sent, renamed.members.names.order, np.arange(len(group.members)),
        topics_by_hash(renamed), renamed.topics.names.rank,
    )  # fmt: skip
    return packed, may, group.prepared(topics_by_name), are_subscriptions_identical(group)


def are_subscriptions_identical(group: Group) -> bool:
    """Whether all members name the same topics that have partitions, in the same order.

    And each topic as often as any other.
    """
    sent, partitions = group.sent, group.topics.partitions
    if sent.offsets.size == 2 and sent is group.members:
        return True
    lists = [sent.topics[start:end] for start, end in pairwise(sent.offsets.tolist())]
    times = group.prepared(times_named)[partitions > 0]
    return len({topics[partitions[topics] > 0].tobytes() for topics in lists}) < 2 and (
        np.unique(times[times > 0]).size < 2
    )


def final_assignment(
    group: Group, cooperative: bool = False, undoes: bool = False, empty: str = "TypeError"
) -> Assignment:
    """Keep what is claimed, hand out the rest, balance: lists by topic name and partition.

    ``cooperative``: without what has to be given up first, by claims with the subscription's
    generation; ``undoes``: see above; ``empty``: what a group without members raises.

    Raises :class:`OriginalError` where the original throws or never ends. Notes
    ``nondeterministic`` where it may answer otherwise in another process.
    """
    if len(group.members) == 0:
        raise OriginalError(empty, "the group has no members")
    claims = group.claims
    generation = claims.sub_generation if cooperative else claims.generation
    status, certain, offsets, codes = build(
        *group.prepared(shape), claims.offsets, claims.codes, generation, cooperative, undoes
    )
    if status == MISSING:
        raise OriginalError(
            "KeyError", "a partition is to go back to a consumer that has left the balancing"
        )
    refuse(status, certain)
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


@njit
def build(
    packed, may, by_name, identical, claimed_offsets, claimed, generation, cooperative, undoes
):
    """Returns (status, whether no choice was left to the order of a set, offsets and codes)."""
    known = unpack_potential(packed, may)
    numbers, _ = partition_numbers(known, claimed)
    first, claimant, previous = settle_claims(
        known, claimed_offsets, generation, numbers, known.codes.size, LAST_COUNTS_IN
    )
    offsets, listed, owner, revoked, strange = keep_claimed(known, first, claimant, previous)
    doubled = np.arange(known.kind.size if strange else 0)
    current = Current(offsets, listed, owner, doubled, previous)
    walk = known.in_order
    ordered = True
    if identical and claimed.size > 0:
        walk, ordered = sorted_partitions(known, current)
    owners, status, certain = balance(known, current, walk, revoked > 0, undoes)
    holder = np.full(owners.size, NONE)
    if cooperative:
        last_claimants(known, holder, known.as_read, claimed_offsets, claimed)
    offsets, codes = lists_by_name(known, by_name, owners, holder)
    return status, ordered and certain, offsets, codes


@inner
def sorted_partitions(known, current):
    """The order in which partitions are handed out and considered for a move.

    Returns (int64[partitions], whether it does not depend on the order of a set).
    """
    listed, certain = candidates_first(current.offsets, current.listed, current.previous)
    listed = from_most_loaded(current.offsets, listed)
    return followed_by(listed, known.in_order, current.owner), certain


@inner
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
    of a set; ``undoes``: bool[1]."""

    moves: Movements
    touched: np.ndarray
    certain: np.ndarray
    undoes: np.ndarray


@inner
def balance(may_have, current, walk, revoked, undoes):
    """Hand out what has no owner, move it where that helps, then move anything, unless in vain.

    The steps are Java's and stand in :mod:`assignlab.assignors.parts.reassignment`; not one with its
    ``balance``, since owners are told, and another score says that all was in vain.
    ``revoked``: something was taken from its claimant; then new partitions are not tried first.

    Returns (owner of every partition, status, whether no choice was left to the order of a set).
    """
    initializing = current.listed.size == 0
    held = holdings(may_have, current)
    unassigned = unassigned_partitions(held, walk)
    assign_unassigned(held, unassigned)
    state = state_of(held, current, may_have.as_read)
    before = sum_of_differences(state.levels.counts, 0)
    pre_balance_assignment = held.partitions["owner"].copy()
    if is_balanced(state):
        return pre_balance_assignment, DONE, True
    movements = PartitionMovements(
        no_movements(np.arange(may_have.topic.size), state.fixed.size),
        np.zeros(state.fixed.size, dtype=np.bool_),
        np.ones(1, dtype=np.bool_),
        np.full(1, undoes),
    )
    steps = better_consumer, reassign_partition, tell_moves
    tried_first = unassigned[: 0 if revoked else unassigned.size]
    performed, status = move_new_first(state, movements, tried_first, walk, steps)
    # By asking for the size of a list that was set aside the original makes an empty one.
    score = sum_of_differences(state.levels.counts, movements.touched.sum())
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
    """Tell the guard of endless loops what has been moved so far."""
    tell_movements(memory, movements.moves)


@leaf
def reassign_partition(state, movements, i, new_consumer):
    """Move partition i to the new consumer, or one of its topic that had come the other way."""
    partitions, moves = state.held.partitions, movements.moves
    t, owner = partitions[i].topic, partitions[i].owner
    back = find_pair(moves, pair_key(moves, t, new_consumer, source_of(moves, i, owner)))
    actual = i
    if back != NONE:
        actual = set_first(moves.sets, back)
        if moves.sets.size[back] > 1:
            movements.certain[0] = False
    substitute_owner = partitions[actual].owner
    if substitute_owner != owner and movements.undoes[0]:
        move(state, moves, i, substitute_owner)
    move(state, moves, actual, new_consumer)
    return DONE


@leaf
def move(state, moves, i, new_consumer):
    """Take partition i out of its owner's list and append it to the new consumer's."""
    partition = state.held.partitions[i]
    move_partition(moves, i, partition.topic, partition.owner, new_consumer)
    process_partition_movement(state, i, new_consumer)


@inner
def lists_by_name(known, by_name, owners, holder):
    """The lists, sorted by topic name and partition, without what another consumer holds."""
    members = np.empty(owners.size, dtype=np.int64)
    codes = np.empty(owners.size, dtype=np.int64)
    n = 0
    for t in by_name:
        for i in range(known.first[t], known.first[t] + known.count[t]):
            if holder[i] == NONE or holder[i] == owners[i]:
                members[n] = known.by_id[owners[i]]
                codes[n] = known.codes[i]
                n += 1
    return by_member(members[:n], codes[:n], known.by_id.size)
