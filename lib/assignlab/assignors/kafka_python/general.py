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

from assignlab.assignment import topic_of
from assignlab.assignors.code_points import as_java_sorts
from assignlab.assignors.kafka.holdings import (
    COUNTS,
    FEWEST,
    GREATEST,
    append,
    least_loaded,
    levels_of,
)
from assignlab.assignors.kafka.movements import find_pair, move_partition, no_movements, pair_key
from assignlab.assignors.kafka.potential import (
    ENTRY,
    KIND,
    NONE,
    OWNER,
    SIZE,
    SUBSCRIBERS,
    TOPIC,
    Potential,
    potential,
)
from assignlab.assignors.kafka.sticky_2_0 import (
    assign_unassigned,
    by_potential_consumers,
    from_most_loaded,
    has_two_fewer,
    is_balanced,
    kept_partitions,
    partition_number,
    process_partition_movement,
    set_fixed_consumers_aside,
)
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group import ABSENT, Group
from assignlab.jvm import set_first

DEFAULT_GENERATION = -1
NOBODY = np.empty(0, dtype=np.int64)


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
        renamed.prepared(by_potential_consumers),
        are_subscriptions_identical(group),
        renamed.members.names.rank,
        renamed.topics.names.rank,
    )


def are_subscriptions_identical(group: Group) -> bool:
    """Whether all members name the same topics that have partitions, in the same order."""
    members, partitions = group.members, group.topics.partitions
    lists = [
        members.topics[start:end]
        for start, end in zip(members.offsets[:-1], members.offsets[1:], strict=True)
    ]
    return len({topics[partitions[topics] > 0].tobytes() for topics in lists}) < 2


def final_assignment(group: Group, generation: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict]:
    """Who gets what: (owner int64[n] as a member index, code int64[n], notes), sorted by code.

    ``generation``: int64[members], that of every member's claims, ``ABSENT`` for none. Sorted is by
    topic name and partition. Raises :class:`OriginalError` where the original throws.
    """
    if len(group.members) == 0:
        raise OriginalError("TypeError", "the group has no members")
    prepared = group.prepared(known)
    may_have = prepared.may_have
    claims = group.claims
    consumers, partitions = may_have.consumers.copy(), may_have.partitions.copy()
    entries = np.empty((len(partitions), 3), dtype=np.int64)
    previous = np.full(len(partitions), NONE)
    kept, revoked, strange = 0, False, False
    if claims.codes.size:
        generation = np.where(generation == ABSENT, DEFAULT_GENERATION, generation)
        first, current, previous = settle_claims(
            len(partitions), may_have.topics, prepared.number, claims.offsets, claims.codes,
            generation,
        )  # fmt: skip
        kept, revoked, strange = keep_newest(
            consumers, partitions, entries, may_have.may, first, current, previous
        )
    fresh = claims.codes.size == 0
    walk, ordered = sorted_partitions(
        prepared, consumers, partitions, entries, kept, previous, fresh
    )
    owners, status, certain = balance(
        consumers, partitions, entries, may_have.winners.copy(), may_have.topics, may_have.roots,
        may_have.may, walk, previous, kept == 0, revoked, strange,
    )  # fmt: skip
    if status == MISSING:
        raise OriginalError(
            "KeyError", "a partition is to go back to a consumer that has left the balancing"
        )
    topics = prepared.topic_rank[topic_of(may_have.codes)]
    order = np.lexsort((may_have.codes, topics))
    notes = {} if ordered and certain else {"nondeterministic": True}
    return may_have.by_id[owners[order]], may_have.codes[order], notes


@njit
def settle_claims(total, topics, number, offsets, codes, generation):
    """Who claims every partition in the newest generation, and who in the one before.

    Returns (partitions in the order of their first claim; current and previous consumer
    int64[total], ``NONE`` where there is none). Claims on what does not exist are passed over.
    """
    current = np.full(total, NONE)
    previous = np.full(total, NONE)
    newest = np.empty(total, dtype=np.int64)
    older = np.empty(total, dtype=np.int64)
    first = np.empty(total, dtype=np.int64)
    met = 0
    for member in range(number.size):
        m, mine = number[member], generation[member]
        for k in range(offsets[member], offsets[member + 1]):
            x = partition_number(topics, codes[k])
            if x == NONE:
                continue
            if current[x] == NONE:
                first[met] = x
                met += 1
                current[x] = m
                newest[x] = mine
            elif mine == newest[x]:
                current[x] = m if mine == 0 else current[x]
            elif mine > newest[x]:
                previous[x] = current[x]
                older[x] = newest[x]
                current[x] = m
                newest[x] = mine
            elif previous[x] == NONE or mine > older[x]:
                previous[x] = m
                older[x] = mine
            elif mine == older[x] and mine == 0:
                previous[x] = m
    return first[:met], current, previous


@njit
def keep_newest(consumers, partitions, entries, may, first, current, previous):
    """Fill the lists.

    Returns (how many partitions are kept, whether one was claimed by a consumer that does not
    subscribe to it any more, whether a previous consumer does not).
    """
    kept = 0
    revoked = False
    strange = False
    for x in first:
        m, t = current[x], partitions[x, TOPIC]
        if may[consumers[m, KIND], t]:
            partitions[x, OWNER] = m
            append(consumers, partitions, entries, m, x, x)
            kept += 1
        else:
            revoked = True
        if previous[x] != NONE and not may[consumers[previous[x], KIND], t]:
            strange = True
    return kept, revoked, strange


def sorted_partitions(prepared, consumers, partitions, entries, kept, previous, fresh):
    """The order in which partitions are handed out and considered for a move.

    Returns (int64[partitions], whether it does not depend on the order of a set).
    """
    if fresh or not prepared.identical:
        return prepared.in_order, True
    listed = kept_partitions(consumers, entries, kept)
    certain = candidates_first(consumers, listed, previous)
    listed = from_most_loaded(consumers, listed)
    rest = prepared.in_order[partitions[prepared.in_order, ENTRY] == NONE]
    return np.concatenate((listed, rest)), certain


@njit
def candidates_first(consumers, listed, previous):
    """Turn every list round, partitions with a previous consumer first; in place.

    Returns whether no list has several of these.
    """
    certain = True
    start = 0
    for m in range(len(consumers)):
        end = start + consumers[m, SIZE]
        mine = listed[start:end].copy()[::-1]
        at = start
        for x in mine:
            if previous[x] != NONE:
                listed[at] = x
                at += 1
        certain = certain and at - start < 2
        for x in mine:
            if previous[x] == NONE:
                listed[at] = x
                at += 1
        start = end
    return certain


DONE, MISSING = 0, 1


@njit
def balance(
    consumers, partitions, entries, winners, topics, roots, may, walk, previous, initializing,
    revoked, strange,
):  # fmt: skip
    """Hand out what has no owner, move it where that helps, then move anything, unless in vain.

    ``revoked``: something was taken from its claimant; then new partitions are not tried first.
    ``strange``: a previous consumer does not subscribe to its partition.

    Returns (owner of every partition, status, whether no choice was left to the order of a set).
    """
    unassigned = walk[partitions[walk, ENTRY] == NONE]
    assign_unassigned(consumers, partitions, entries, winners, topics, roots, walk, 0)
    fixed = set_fixed_consumers_aside(consumers, partitions, entries, winners, topics)
    # One more than the greatest: a consumer may get a partition just before it gives one away.
    levels = np.append(levels_of(consumers, fixed), 0)
    before = balance_score(levels, 0)
    pre_balance = partitions[:, OWNER].copy()
    doubled = np.arange(len(consumers) if strange else 0)
    movements = no_movements(np.arange(len(partitions)).astype(np.int32), len(consumers))
    touched = np.zeros(len(consumers), dtype=np.bool_)
    certain = np.ones(1, dtype=np.bool_)
    witness = np.full(2, NONE)
    performed = False
    for everything in range(1 if revoked else 0, 2):
        performed, status = perform_reassignments(
            consumers, partitions, entries, winners, topics, roots, may, levels, fixed, previous,
            doubled, movements, touched, certain, witness, walk if everything else unassigned,
        )  # fmt: skip
        if status != DONE:
            return pre_balance, status, certain[0]
    in_vain = performed and not initializing
    if in_vain and balance_score(levels, touched.sum()) >= before:
        return pre_balance, DONE, certain[0]
    return partitions[:, OWNER].copy(), DONE, certain[0]


@inner
def balance_score(levels, idle):
    """The sum of the differences in size of all pairs of consumers.

    ``idle``: consumers set aside that were asked for the size of their list; the original makes
    them an empty one by asking.
    """
    score = 0
    members = idle
    partitions = 0
    for size in range(levels[FEWEST], levels[GREATEST] + 1):
        count = levels[COUNTS + size]
        score += count * (members * size - partitions)
        members += count
        partitions += count * size
    return score


@inner
def perform_reassignments(
    consumers, partitions, entries, winners, topics, roots, may, levels, fixed, previous, doubled,
    movements, touched, certain, witness, walk,
):  # fmt: skip
    """Walk the partitions and move what helps, until balanced or until a walk changes nothing.

    Returns (whether anything moved, status).
    """
    performed = False
    modified = True
    while modified:
        modified = False
        looked = False
        for i in walk:
            t = partitions[i, TOPIC]
            if topics[t, SUBSCRIBERS] < 2:
                continue
            if not looked and is_balanced(
                consumers, partitions, entries, winners, topics, roots, levels, witness, fixed, may,
                doubled,
            ):  # fmt: skip
                break
            looked = True
            new_consumer = previous[i]
            if new_consumer != NONE and fixed[new_consumer]:
                touched[new_consumer] = True
                if consumers[partitions[i, OWNER], SIZE] > 1:
                    return performed, MISSING
                new_consumer = NONE
            if new_consumer == NONE or not has_two_fewer(consumers, partitions, new_consumer, i):
                new_consumer = least_loaded(consumers, winners, topics, roots, t)
                if not has_two_fewer(consumers, partitions, new_consumer, i):
                    continue
            reassign(
                consumers, partitions, entries, winners, levels, movements, certain, t, i,
                new_consumer,
            )  # fmt: skip
            performed = True
            modified = True
            looked = False
    return performed, DONE


@inner
def reassign(
    consumers, partitions, entries, winners, levels, movements, certain, t, i, new_consumer
):
    """Move partition i to the new consumer, or one of its topic that had come the other way."""
    owner = partitions[i, OWNER]
    source = owner if movements.source[i] == NONE else movements.source[i]
    back = find_pair(movements, pair_key(movements, t, new_consumer, source))
    actual = i
    if back != NONE:
        actual = set_first(movements.sets, back)
        if movements.sets.size[back] > 1:
            certain[0] = False
    substitute_owner = partitions[actual, OWNER]
    if substitute_owner != owner:
        move(consumers, partitions, entries, winners, levels, movements, t, i, substitute_owner)
    move(consumers, partitions, entries, winners, levels, movements, t, actual, new_consumer)


@inner
def move(consumers, partitions, entries, winners, levels, movements, t, i, new_consumer):
    """Take partition i out of its owner's list and append it to the new consumer's."""
    old_consumer = partitions[i, OWNER]
    move_partition(movements, i, t, old_consumer, new_consumer)
    process_partition_movement(
        consumers, partitions, entries, winners, levels, i, old_consumer, new_consumer
    )
