"""The sticky assignment for different subscriptions: keep, assign what is left, then balance.

Members keep what they own and may still have. Every other partition, topics with the fewest
subscribers first, goes to its least loaded subscriber. Then partition after partition is looked at
again and moved where a subscriber has at least two fewer, until nothing moves.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder`` of kafka-clients 4.4.0; functions are
named after its methods. What was different in releases since 3.0 is in
:mod:`assignlab.assignors.kafka.parts.releases`.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.balanced import (
    BALANCED,
    BETTER,
    DONE,
    NO_ELEMENT,
    NULL_POINTER,
    WITNESS,
    can_any_move,
    can_move,
    find_better,
    is_balanced,
    is_strange,
)
from assignlab.assignors.kafka.parts.claims import (
    NOBODY,
    PHANTOMS,
    Claimed,
    Shape,
    claimed_generations,
    number_of_claim,
    unpack_shape,
)
from assignlab.assignors.kafka.parts.eligible import Eligible, unpack_potential
from assignlab.assignors.kafka.parts.held import (
    DEAD,
    Held,
    append,
    holds,
    lists_of,
    remove,
    remove_all,
    topic_of_number,
)
from assignlab.assignors.kafka.parts.kept import (
    assign_kept_claims,
    assign_owned_partitions,
    previous_owners,
    unassigned_partitions,
)
from assignlab.assignors.kafka.parts.releases import OWNERS_REMEMBERED
from assignlab.assignors.kafka.parts.seats import (
    Seats,
    fewest,
    least_in_racks,
    least_loaded,
    leave_seats,
    member_of_key,
    no_seats,
    set_aside,
    take_seats,
    update_seat,
)
from assignlab.assignors.parts import holdings
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hash
from assignlab.assignors.parts.movements import (
    Movements,
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.parts.never_ends import (
    Memory,
    begin_to_walk,
    has_to_tell,
    nothing_remembered,
    period,
    tell,
    tell_movements,
)
from assignlab.assignors.parts.racks import Racks, unpack_racks
from assignlab.assignors.parts.trees import NOT_SEATED
from assignlab.compiled import inner, leaf, njit


class State(NamedTuple):
    """What is looked at while partitions move.

    ``fixed``: bool[members], who cannot take part (``fixedAssignments``); ``movements``: what has
    moved; ``seats``: the subscribers of the topic that is looked at, as
    ``sortedCurrentSubscriptions`` has them; ``previous``: see :func:`previous_owners`; ``strange``:
    whether ``isBalanced`` has to be asked, and ``witness`` WITNESS[1], what it said last (see
    :mod:`assignlab.assignors.kafka.parts.balanced`); ``memory``: of states, see
    :mod:`assignlab.assignors.parts.never_ends`.
    """

    shape: Shape
    potential: Eligible
    racks: Racks
    held: Held
    fixed: np.ndarray
    movements: Movements
    seats: Seats
    previous: np.ndarray
    strange: bool
    witness: np.ndarray
    memory: Memory
    release: int


@inner
def balance(
    shape, potential, racks, phantoms, held, previous, revocation_required, release, in_vain
):
    """Assign what is left, then move partitions until nothing moves, unless that was ``in_vain``.

    First only what was just assigned is moved, unless something had to be revoked anyway. Returns
    (status, as from :func:`perform_reassignments`; whether it was in vain; whether all is certain).
    """
    unassigned = unassigned_partitions(shape, potential, phantoms, held)
    initializing = held.size.max() == 0
    seats = no_seats(potential, racks, held)
    maybe_assign(shape, potential, racks, held, seats, unassigned)
    strange = is_strange(shape, potential, held, previous)
    if in_vain or not (strange or can_any_move(shape, potential, held, seats)):
        return DONE, False, True
    fixed = fixed_members(shape, potential, phantoms, held)
    set_aside(potential, held, fixed, seats)
    score = balance_score(held.size, fixed)
    movements = no_movements(np.empty(shape.codes.size, dtype=np.int64), held.size.size)
    witness = np.empty(1, WITNESS)
    witness[0].member = NOBODY
    memory = nothing_remembered(held.log.size, held.partitions.size)
    state = State(
        shape, potential, racks, held, fixed, movements, seats, previous, strange, witness, memory,
        release,
    )  # fmt: skip
    status = DONE
    reassignment_performed = False
    if not revocation_required:
        status, _ = perform_reassignments(state, unassigned)
    if status == DONE:
        status, reassignment_performed = perform_reassignments(state, unassigned[:0])
    if status == DONE and reassignment_performed and not initializing:
        in_vain = balance_score(held.size, fixed) >= score
    return status, in_vain, not movements.sets.tree[0]


@leaf
def maybe_assign(shape, potential, racks, held, seats, unassigned):
    """Give every unassigned partition to the least loaded subscriber of its topic.

    First only where racks match, then whatever is left.
    """
    for anywhere in range(0 if racks.in_use else 1, 2):
        for t in potential.topics:
            seated = False
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if not unassigned[x] or held.partitions[x].owner >= 0:
                    continue
                if not seated:
                    take_seats(potential, t, seats)
                    seated = True
                key = least_loaded(seats) if anywhere else least_in_racks(racks, seats, x)
                if key != NOT_SEATED:
                    m = member_of_key(shape, key)
                    append(held, x, m)
                    update_seat(potential, held, m, seats)
            if seated:
                leave_seats(potential, t, seats)


@inner
def fixed_members(shape, potential, phantoms, held):
    """Members that cannot take part: they hold all they could, and nobody else could have it."""
    fixed = np.zeros(held.size.size, dtype=np.bool_)
    any_full = False
    for m in range(fixed.size):
        fixed[m] = held.size[m] >= potential.most[m]
        any_full = any_full or fixed[m]
    if any_full:
        for e in range(held.used[0]):
            m = held.log[e].member
            if m != DEAD and fixed[m]:
                t = topic_of_number(shape, phantoms, held.log[e].partition)
                fixed[m] = potential.named[t] < 2
    return fixed


@leaf
def perform_reassignments(state, reassignable):
    """Look at partition after partition, again and again until nothing moves.

    ``reassignable``: bool[partitions], those to look at; empty for all.
    Returns (status, whether anything moved). A status below 0 says that it never ends, and how many
    moves it is, times -1, that come round.
    """
    shape, potential, held = state.shape, state.potential, state.held
    reassignment_performed = False
    modified = True
    begin_to_walk(state.memory)
    while modified:
        modified = False
        moves = moves_that_come_round(state)
        if moves > 0:
            return -moves, reassignment_performed
        for t in potential.topics:
            if potential.named[t] < 2:
                continue
            if not (state.strange or can_move(shape, potential, held, state.seats, t)):
                continue
            take_seats(potential, t, state.seats)
            status = DONE
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if reassignable.size > 0 and not reassignable[x]:
                    continue
                if state.strange:
                    status = is_balanced(state)
                    if status != DONE:
                        break
                new, status = better_member(state, t, x)
                if status != DONE:
                    break
                if new != NOBODY:
                    reassign_partition(state, t, x, new)
                    modified = True
            leave_seats(potential, t, state.seats)
            if status == BALANCED:
                break
            if status != DONE:
                return status, reassignment_performed or modified
        reassignment_performed = reassignment_performed or modified
    return DONE, reassignment_performed


@leaf
def better_member(state, topic, x):
    """Who should have partition ``x`` instead of its owner: (member or ``NOBODY``, status).

    Its previous owner comes first, then the least loaded subscriber.
    """
    held, fixed = state.held, state.fixed
    owner = held.partitions[x].owner
    if state.strange and fixed[owner]:
        return NOBODY, NULL_POINTER
    if state.previous.size > 0 and state.previous[x] != NOBODY:
        if fixed[state.previous[x]]:
            return NOBODY, NULL_POINTER
        if held.size[owner] > held.size[state.previous[x]] + 1:
            return state.previous[x], DONE
    if state.strange:
        status = find_better(state, topic, x)
        if status != BETTER:
            return NOBODY, status
    elif held.size[owner] <= fewest(state.seats) + 1:
        return NOBODY, DONE
    return member_of_key(state.shape, least_loaded(state.seats)), DONE


@leaf
def reassign_partition(state, topic, x, new):
    """Move ``x``, or one of its topic that had come the other way, to ``new``."""
    held, movements = state.held, state.movements
    state.memory.walk[0].moves += 1
    owner = held.partitions[x].owner
    actual = the_actual_partition_to_be_moved(movements, x, topic, owner, new)
    old = held.partitions[actual].owner
    moved = partition_hash(state.potential.hashes, state.shape.codes[actual], TOPIC_PARTITION)
    movements.sets.hash[actual] = moved
    move_partition(movements, actual, topic, old, new)
    remove(held, actual)
    append(held, actual, new)
    update_seat(state.potential, held, new, state.seats)
    update_seat(state.potential, held, old, state.seats)


@leaf
def moves_that_come_round(state):
    """How many moves lie between this state and the same one before; 0 if there was none."""
    memory, held = state.memory, state.held
    if not has_to_tell(memory):
        return 0
    for x in range(held.partitions.size):
        tell(memory, held.partitions[x].owner)
    for e in range(held.used[0]):
        if held.log[e].member != DEAD:
            tell(memory, held.log[e].partition)
            tell(memory, held.log[e].member)
    tell_movements(memory, state.movements)
    return period(memory)


@inner
def balance_score(size, fixed):
    """The differences in size of all pairs of members that take part, summed in a Java int."""
    count = np.zeros(size.max() + 1, dtype=np.int64)
    for m in range(size.size):
        if not fixed[m]:
            count[size[m]] += 1
    return holdings.balance_score(count)


# From claims to lists


@njit
def build(shape, potential, may, racks, phantoms, claims, cooperative, release):
    """Settle the claims, keep, assign the rest, balance; if moves were in vain, again without any.

    ``shape``, ``potential``, ``racks``: packed; ``phantoms``: int64[n], codes of claimed partitions
    beyond the end of their topic; ``claims``:
    :class:`~assignlab.assignors.kafka.parts.claims.Claimed`; ``release``: one of
    :mod:`assignlab.assignors.kafka.parts.releases`.

    Returns (status, offsets, codes of the lists, whether all is certain: False where Java's walk
    through a crowded hash bin decided).
    """
    shape = unpack_shape(shape)
    potential = unpack_potential(potential, may)
    racks = unpack_racks(racks)
    claims = Claimed(*claims)
    mine, newest = claimed_generations(cooperative, claims)
    previous = previous_owners(shape, phantoms, claims, mine, newest)
    in_vain = False
    certain = True
    while True:
        if release >= OWNERS_REMEMBERED:
            held, revocation_required, unknown = assign_owned_partitions(
                shape, potential, racks, phantoms, claims, mine
            )
        else:
            held, revocation_required, unknown = assign_kept_claims(
                shape, potential, racks, phantoms, claims, mine, newest, release
            )
        if unknown:
            return PHANTOMS, claims.offsets, claims.codes, True
        status, in_vain, sure = balance(
            shape, potential, racks, phantoms, held, previous, revocation_required, release, in_vain
        )
        certain = certain and sure
        if not in_vain:
            break
    if cooperative:
        withhold_transferring(shape, phantoms, held, claims)
    offsets, codes = lists_of(shape, phantoms, held)
    return status, offsets, codes, certain


@inner
def withhold_transferring(shape, phantoms, held, claims):
    """Take out what is added to one member and revoked from another: it must be given up first."""
    total = shape.codes.size
    added = np.ones(total, dtype=np.bool_)
    revoked = np.zeros(total, dtype=np.bool_)
    for m in shape.by_id:
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            x = number_of_claim(shape, phantoms, claims.codes[k])
            if x < 0 or x >= total:
                continue
            if held.partitions[x].owner == m:
                added[x] = False
            elif not holds(held, m, x):
                revoked[x] = True
    for x in range(total):
        if added[x] and revoked[x]:
            remove_all(held, x)


FAULTS = {
    NULL_POINTER: (
        "NullPointerException",
        "a partition is to go back to its previous owner, which takes no part in the balancing",
    ),
    NO_ELEMENT: ("NoSuchElementException", "no member takes part in the balancing"),
}
