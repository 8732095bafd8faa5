"""Sticky's steps: assign what is unassigned, then move partitions until no move helps.

KIP-54's general algorithm, as ``StickyAssignor`` ran it up to 2.5 for all groups; the functions
have the names of its steps. Clients that copied it (kafka-python, librdkafka) choose and move in
their own way: they hand :func:`perform_reassignments` those steps.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.holdings import (
    SEVERAL,
    Holdings,
    Levels,
    append,
    balance_score,
    count_down,
    count_up,
    first_entry,
    holdings,
    least_loaded,
    levels_of,
    lists,
    record,
    replay,
    seat_everybody,
    spare_entry,
    unlink,
)
from assignlab.assignors.parts.movements import (
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.parts.never_ends import (
    Memory,
    begin_to_walk,
    has_to_tell,
    never_ends,
    nothing_remembered,
    period,
    tell,
    tell_movements,
)
from assignlab.assignors.parts.potential import NONE
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner, leaf
from assignlab.errors import OriginalError

NO_MEMBERS = np.empty(0, dtype=np.int64)
DONE, MISSING = 0, 1
"""Steps end well, or meet a consumer that was set aside. Below 0: they never end."""


# balance


@inner
def balance(known, current, sorted_partitions, new_first):
    """Hand out what has no owner, set aside what cannot change, then move, unless in vain.

    ``new_first``: since 2.4, whether moving what was just handed out is tried before moving
    anything else. Returns the lists as (offsets, codes) once nothing can be improved, and a status.
    """
    initializing = current.listed.size == 0
    held = holdings(known, current)
    unassigned = unassigned_partitions(held, sorted_partitions)
    assign_unassigned(held, unassigned)
    state = state_of(held, current, known.as_read)
    score = balance_score(state.levels.counts)
    pre_balance_assignment = lists(held, known.codes, known.by_id)
    offsets, codes = pre_balance_assignment
    if is_balanced(state):
        return offsets, codes, DONE
    movements = no_movements(known.hashes, state.fixed.size)
    steps = better_consumer, reassign_partition, tell_movements
    tried_first = unassigned[: unassigned.size if new_first else 0]
    reassignment_performed, status = move_new_first(
        state, movements, tried_first, sorted_partitions, steps
    )
    in_vain = not initializing and balance_score(state.levels.counts) >= score
    if not (reassignment_performed and in_vain):
        offsets, codes = lists(held, known.codes, known.by_id)
    return offsets, codes, status


def refuse(status: int, certain: bool = True) -> None:
    """Raises :class:`OriginalError` for a status at which the original throws or never ends."""
    if status < 0:
        raise never_ends(-status, certain)
    if status == MISSING:
        raise OriginalError(
            "NullPointerException", "rival claims name a consumer that has left the balancing"
        )


@inner
def unassigned_partitions(held, sorted_partitions):
    """Those in nobody's list, in that order: int64[n]."""
    unassigned = np.empty(sorted_partitions.size, dtype=np.int64)
    n = 0
    for i in sorted_partitions:
        if held.partitions[i].entry == NONE:
            unassigned[n] = i
            n += 1
    return unassigned[:n]


@leaf
def assign_unassigned(held, unassigned):
    """Assign every one of these partitions to the first of the sorted set that may have it."""
    seat_everybody(held)
    for i in unassigned:
        assign_partition(held, least_loaded(held, held.partitions[i].topic), i)


@leaf
def assign_partition(held, m, i):
    """Give partition i to consumer m, the subscribed one with the fewest (then the smallest id)."""
    append(held, m, i, spare_entry(held, i))
    held.partitions[i].owner = m
    replay(held, m)


@inner
def set_fixed_consumers_aside(held):
    """``fixedAssignments``: take out who cannot take part in a reassignment. bool[members]."""
    fixed = np.zeros(len(held.consumers), dtype=np.bool_)
    for m in range(fixed.size):
        if not can_participate_in_reassignment(held, m):
            fixed[m] = True
            set_aside(held, m)
    return fixed


@leaf
def set_aside(held, m):
    """Take consumer m out of the sorted set."""
    held.winners[held.consumers[m].leaf] = NONE
    replay(held, m)


@leaf
def can_participate_in_reassignment(held, m):
    """Whether consumer m could get more, or has a partition that somebody else could have."""
    if held.consumers[m].count < held.consumers[m].most:
        return True
    e = held.consumers[m].head
    while e != NONE:
        if held.topics[held.partitions[held.entries[e].partition].topic].subscribers >= 2:
            return True
        e = held.entries[e].after
    return False


# performReassignments


WITNESS = record("found", "partition", "consumer")


class State(NamedTuple):
    """What is looked at while partitions move.

    ``levels``: sizes of the consumers that take part; ``fixed``: bool[members], those set aside;
    ``witness`` WITNESS[1]: see :func:`is_balanced`; ``doubled``, ``previous``: see
    :class:`~assignlab.assignors.parts.holdings.Current`; ``by_hash``: int64[members], consumers in
    the order of the HashMap of subscriptions; ``memory``: of states, see
    :mod:`assignlab.assignors.parts.never_ends`.
    """

    held: Holdings
    levels: Levels
    fixed: np.ndarray
    witness: np.ndarray
    doubled: np.ndarray
    previous: np.ndarray
    by_hash: np.ndarray
    memory: Memory


@inner
def state_of(held, current, by_hash):
    """The :class:`State` before anything moves, once who cannot take part is set aside."""
    fixed = set_fixed_consumers_aside(held)
    levels = levels_of(held, fixed)
    witness = np.zeros(1, WITNESS)
    memory = nothing_remembered(held.entries.size, held.partitions.size)
    return State(held, levels, fixed, witness, current.doubled, current.previous, by_hash, memory)


@leaf
def move_new_first(state, movements, unassigned, partitions, steps):
    """Since 2.4 what was just handed out is moved alone, before anything is.

    See :func:`perform_reassignments`, which is done with both; its answer for the second counts.
    """
    if unassigned.size > 0:
        _, status = perform_reassignments(state, movements, unassigned, steps)
        if status != DONE:
            return False, status
    return perform_reassignments(state, movements, partitions, steps)


@leaf
def perform_reassignments(state, movements, reassignable_partitions, steps):
    """Walk the partitions and move what helps, until balanced or until a walk changes nothing.

    Partitions with one potential consumer (``fixedPartitions``) are passed over.
    ``movements``: what the client notes of moves; ``steps``: three of its own.
    ``better_consumer(state, movements, i)`` tells who should have partition i, or ``NONE``, and a
    status; ``reassign_partition(state, movements, i, consumer)`` moves it and tells a status;
    ``tell_movements(memory, movements)`` tells what the client noted.

    Returns (whether anything moved, status). A status below 0 says that it never ends, and how many
    moves it is, times -1, that come round.
    """
    better_consumer, reassign_partition, tell_movements = steps
    held = state.held
    reassignment_performed = False
    modified = True
    begin_to_walk(state.memory)
    while modified:
        modified = False
        if has_to_tell(state.memory):
            tell_lists(state.memory, held)
            tell_movements(state.memory, movements)
            moves = period(state.memory)
            if moves > 0:
                return reassignment_performed, -moves
        looked = False
        for i in reassignable_partitions:
            if held.topics[held.partitions[i].topic].subscribers < 2:
                continue
            if not looked and is_balanced(state):
                break
            looked = True
            new_consumer, status = better_consumer(state, movements, i)
            if status == DONE and new_consumer != NONE:
                status = reassign_partition(state, movements, i, new_consumer)
                state.memory.walk[0].moves += 1
                reassignment_performed = True
                modified = True
                looked = False
            if status != DONE:
                return reassignment_performed, status
    return reassignment_performed, DONE


@leaf
def tell_lists(memory, held):
    """Tell who owns what and what the lists are."""
    for i in range(held.partitions.size):
        tell(memory, held.partitions[i].owner)
    for m in range(held.consumers.size):
        tell(memory, held.consumers[m].count)
        e = held.consumers[m].head
        while e != NONE:
            tell(memory, held.entries[e].partition)
            e = held.entries[e].after


@leaf
def better_consumer(state, _, i):
    """Since 2.3 the previous consumer of partition i, then the first of the sorted set."""
    new_consumer = state.previous[i] if state.previous.size else NONE
    if new_consumer != NONE and state.fixed[new_consumer]:
        return NONE, MISSING
    if new_consumer != NONE and has_two_fewer(state.held, new_consumer, i):
        return new_consumer, DONE
    if state.doubled.size and is_consumer_missing(state, i):
        return NONE, MISSING
    return least_loaded_with_two_fewer(state.held, i), DONE


@leaf
def least_loaded_with_two_fewer(held, i):
    """The first of the sorted set that may have partition i, if that helps, else ``NONE``."""
    m = least_loaded(held, held.partitions[i].topic)
    return m if has_two_fewer(held, m, i) else NONE


@leaf
def has_two_fewer(held, m, i):
    """Whether consumer m would still have less than the owner of partition i has now."""
    return held.consumers[m].count + 1 < held.consumers[held.partitions[i].owner].count


@leaf
def is_consumer_missing(state, i):
    """Whether the search for a better consumer of partition i meets one that was set aside.

    That takes a double claim: a consumer is set aside if it has as many partitions as it could get,
    and one that has a partition twice may lack another.
    """
    held, fixed = state.held, state.fixed
    if fixed[held.partitions[i].owner]:
        return True
    for other in state.by_hash:
        if held.may[held.consumers[other].kind, held.partitions[i].topic]:
            if fixed[other]:
                return True
            if has_two_fewer(held, other, i):
                return False
    return False


@leaf
def is_balanced(state):
    """Whether nobody has more than a consumer that could have one of its partitions.

    The original is content with a difference of one over all consumers, but otherwise counts a
    difference of one as imbalance (corrected by KAFKA-15106). ``witness``: a partition and a
    consumer with fewer partitions than its owner, kept from call to call: while it holds, nothing
    is searched.
    """
    held = state.held
    consumers, partitions, topics = held.consumers, held.partitions, held.topics
    if state.levels.fewest[0] >= state.levels.greatest[0] - 1:
        return True
    if state.doubled.size:
        return is_balanced_by_lists(state)
    witness = state.witness[0]
    start = 0
    if witness.found:
        partition = partitions[witness.partition]
        if consumers[witness.consumer].count < consumers[partition.owner].count:
            return False
        start = partition.topic
    known = topics.size - 1
    for turn in range(start, start + known):
        t = turn if turn < known else turn - known
        topic = topics[t]
        if topic.subscribers < 2 or topic.count == 0:
            continue
        m = least_loaded(held, t)
        for i in range(topic.first, topic.first + topic.count):
            if consumers[m].count < consumers[partitions[i].owner].count:
                witness.found = 1
                witness.partition = i
                witness.consumer = m
                return False
    return True


@inner
def is_balanced_by_lists(state):
    """:func:`is_balanced` where partitions are claimed twice: list by list, as in the original.

    There the owner of a partition is the last consumer whose list has it; and a consumer with as
    many partitions as it could get is passed over, even if it has one of them twice.
    """
    held, fixed = state.held, state.fixed
    consumers, partitions = held.consumers, held.partitions
    owner = np.full(len(partitions), NONE)
    for m in state.doubled:
        if not fixed[m]:
            mark_list(held, m, owner)
    has = np.full(len(partitions), NONE)
    for m in state.doubled:
        if fixed[m] or consumers[m].count == consumers[m].most:
            continue
        mark_list(held, m, has)
        for i in range(len(partitions)):
            if (
                held.may[consumers[m].kind, partitions[i].topic]
                and has[i] != m
                and consumers[m].count < consumers[owner[i]].count
            ):
                return False
    return True


@leaf
def mark_list(held, m, owner):
    """Let ``owner``, int64[partitions], be m wherever m's list has the partition."""
    e = held.consumers[m].head
    while e != NONE:
        owner[held.entries[e].partition] = m
        e = held.entries[e].after


@leaf
def reassign_partition(state, movements, i, new_consumer):
    """Move partition i, or the one whose earlier move this would undo, to the new consumer."""
    partitions = state.held.partitions
    t, owner = partitions[i].topic, partitions[i].owner
    actual = the_actual_partition_to_be_moved(movements, i, t, owner, new_consumer)
    move_partition(movements, actual, t, partitions[actual].owner, new_consumer)
    process_partition_movement(state, actual, new_consumer)
    return DONE


@leaf
def process_partition_movement(state, i, new_consumer):
    """Take partition i out of its owner's list and append it to the new consumer's.

    With a double claim the owner may not have it, or somebody else's list may have it too.
    """
    held, levels = state.held, state.levels
    old_consumer = held.partitions[i].owner
    e = held.partitions[i].entry
    several = e == SEVERAL
    if several:
        e = first_entry(held, old_consumer, i)
    if e == NONE:
        e = spare_entry(held, i)
    else:
        unlink(held, old_consumer, e)
        count_down(levels, held.consumers[old_consumer].count)
    append(held, new_consumer, i, e)
    if several:
        held.partitions[i].entry = SEVERAL
    count_up(levels, held.consumers[new_consumer].count)
    held.partitions[i].owner = new_consumer
    replay(held, new_consumer)
    replay(held, old_consumer)


# sortPartitions


@leaf
def are_subscriptions_identical(known):
    """Whether all members may have the same partitions."""
    return len(known.may) == 1


@inner
def from_most_loaded(offsets, listed):
    """The kept partitions: again and again the first one left to the consumer that has the most.

    Consumer m has ``listed[offsets[m]:offsets[m + 1]]``. Among consumers with equally many it is
    the turn of the greatest id. So all that have ``left`` partitions or more give one, in
    descending order, and go on with one less.
    """
    members = offsets.size - 1
    left = 0
    for m in range(members):
        left = max(left, offsets[m + 1] - offsets[m])
    with_count = np.zeros(left + 1, dtype=np.int64)
    for m in range(members):
        with_count[offsets[m + 1] - offsets[m]] += 1
    turn = offsets[:-1].copy()
    giving = np.empty(members, dtype=np.int64)
    givers = 0
    order = np.empty(listed.size, dtype=np.int64)
    at = 0
    while left > 0:
        if with_count[left] > 0:
            givers = 0
            for m in range(members - 1, -1, -1):
                if offsets[m + 1] - offsets[m] >= left:
                    giving[givers] = m
                    givers += 1
        for k in range(givers):
            order[at] = listed[turn[giving[k]]]
            turn[giving[k]] += 1
            at += 1
        left -= 1
    return order


@inner
def followed_by(listed, walk, owner):
    """The kept partitions, then those of a walk that have no owner: int64[...]."""
    order = np.empty(listed.size + walk.size, dtype=np.int64)
    copy_into(order, 0, listed)
    at = listed.size
    for i in walk:
        if owner[i] == NONE:
            order[at] = i
            at += 1
    return order[:at]
