"""The sticky assignment for different subscriptions: keep, assign what is left, then balance.

Members keep what they own and may still have. Every other partition, topics with the fewest
subscribers first, goes to its least loaded subscriber. Then partition after partition is looked at
again and moved where a subscriber has at least two fewer, until nothing moves.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder`` of kafka-clients 4.4.0; functions are
named after its methods. What was different in releases since 3.0 is in
:mod:`assignlab.assignors.kafka.parts.releases`.
"""

import numpy as np

from assignlab.assignors.kafka.parts.claims import (
    NO_GENERATION,
    NOBODY,
    claimed_generations,
    number_of_phantom,
    numbers_of_claims,
    settle_claims,
    settle_claims_one_by_one,
    unpack_shape,
)
from assignlab.assignors.kafka.parts.eligible import unpack_potential
from assignlab.assignors.kafka.parts.held import (
    DEAD,
    ENTRY,
    MEMBER,
    OWNER,
    PARTITION,
    append,
    copy_of_lists,
    empty_lists,
    holds,
    lists_of,
    remove,
    topic_of_number,
)
from assignlab.assignors.kafka.parts.releases import BALANCE_OF_ONE, OWNERS_REMEMBERED
from assignlab.assignors.kafka.parts.seats import (
    NOT_SEATED,
    RANK_BITS,
    least_in_racks,
    leave_seats,
    member_of_key,
    no_seats,
    take_seats,
    update_seat,
    update_tree,
)
from assignlab.assignors.parts.hash_codes import TOPIC_PARTITION, partition_hashes
from assignlab.assignors.parts.movements import (
    move_partition,
    no_movements,
    the_actual_partition_to_be_moved,
)
from assignlab.assignors.parts.racks import NO_RACK, racks_mismatch, unpack_racks
from assignlab.compiled import inner, njit
from assignlab.group.assignment import partition_of, topic_of
from assignlab.jvm.names import signed

DONE = 0
BALANCED = -1
BETTER = -2
NULL_POINTER = 1
NO_ELEMENT = 2
PHANTOMS = 3

REVOKED, STRANGE, INITIALIZING = 0, 1, 2


@njit
def build(
    shape, potential, may, racks, phantoms,
    offsets, codes, present, generation, sub_generation, cooperative, release,
):  # fmt: skip
    """Settle the claims, keep, assign the rest, balance.

    ``shape``, ``potential``, ``racks``: packed; ``phantoms``: int64[n], ``codes`` claimed of
    partitions beyond the end of their topic; the claims as in ``assignlab.group.model.Claims``;
    ``release``: one of ``sticky_releases``.

    Returns (status, offsets, codes of the lists, whether all is certain: False where Java's walk
    through a crowded hash bin decided).
    """
    shape = unpack_shape(shape)
    potential = unpack_potential(potential, may)
    racks = unpack_racks(racks)
    facts = np.zeros(3, dtype=np.bool_)
    mine, newest = claimed_generations(cooperative, present, generation, sub_generation)
    if release >= OWNERS_REMEMBERED:
        holder, _, _, unknown = settle_claims(shape, phantoms, offsets, codes, mine, sub_generation)
        if unknown:
            return PHANTOMS, offsets, codes, True
        held = assign_owned_partitions(
            shape, potential, racks, phantoms, holder, offsets, codes, mine, sub_generation, facts
        )
    else:
        numbers, unknown = numbers_of_claims(shape, phantoms, codes)
        if unknown:
            return PHANTOMS, offsets, codes, True
        keeps, _ = settle_claims_one_by_one(
            shape.by_hash, numbers, shape.codes.size + phantoms.size, offsets,
            mine, newest, sub_generation, release,
        )  # fmt: skip
        held = assign_kept_claims(
            shape, potential, racks, phantoms.size, numbers, offsets, codes, keeps, facts
        )
    fresh = unassigned_partitions(shape, potential, phantoms, held)
    facts[INITIALIZING] = held.size.max() == 0
    maybe_assign(shape, potential, racks, held, fresh)
    previous = previous_owners(shape, offsets, codes, mine, newest)
    facts[STRANGE] = is_strange(shape, potential, held, previous)
    settled = not facts[STRANGE]
    for t in potential.topics:
        settled = settled and not can_move(shape, potential, held, t)
    status = DONE
    certain = True
    if not settled:
        status, held, certain = balance(
            shape, potential, racks, phantoms, held, fresh, previous, facts, release
        )
    if cooperative:
        withhold_transferring(shape, held, offsets, codes)
    list_offsets, lists = lists_of(shape, phantoms, held)
    return status, list_offsets, lists, certain


@inner
def balance(shape, potential, racks, phantoms, held, fresh, previous, facts, release):
    """Move partitions until nothing moves; take it all back if that did not help.

    First only what was just assigned is moved, unless something had to be revoked anyway.
    Returns (status, the lists, whether all is certain).
    """
    fixed = fixed_members(shape, potential, phantoms, held)
    before = held
    if not facts[INITIALIZING]:
        before = copy_of_lists(held)
    hashes = partition_hashes(potential.hashes, shape.codes, TOPIC_PARTITION)
    moves = no_movements(hashes, held.size.size)
    performed = False
    status = DONE
    for everything in range(1 if facts[REVOKED] else 0, 2):
        only = fresh if everything == 0 else fresh[:0]
        status, performed = perform_reassignments(
            shape, potential, racks, held, moves, fixed, only, previous, facts[STRANGE], release
        )
        if status != DONE:
            break
    may_undo = performed and not facts[INITIALIZING]
    if may_undo and balance_score(held.size, fixed) >= balance_score(before.size, fixed):
        held = before
    return status, held, not moves.sets.tree[0]


# Keep


@inner
def assign_owned_partitions(
    shape, potential, racks, phantoms, holder, offsets, codes, mine, sub_generation, facts
):
    """The lists with what members keep. Notes in ``facts`` whether anything had to be revoked."""
    total = shape.codes.size
    count = revoke_unsubscribed(shape, potential, racks, phantoms, holder, facts)
    room = 2 * total + count + 64
    held = empty_lists(potential.kind.size, holder.size, room, phantoms.size > 0)
    base, partitions = shape.base, shape.partitions
    size, where, log = held.size, held.where, held.log
    end = 0
    for m in range(size.size if count > 0 else 0):
        for k in range(offsets[m], offsets[m + 1]):
            topic = topic_of(codes[k])
            if base[topic] < 0:
                continue
            partition = partition_of(codes[k])
            x = base[topic] + partition
            if partition >= partitions[topic]:
                x = number_of_phantom(codes[k], phantoms, total)
            if holder[x] != m:
                continue
            if where[x, OWNER] == m:
                if mine[m] <= max(sub_generation[m], NO_GENERATION):
                    continue
                log[where[x, ENTRY], MEMBER] = DEAD
                size[m] -= 1
            log[end, PARTITION] = x
            log[end, MEMBER] = m
            where[x, OWNER] = m
            where[x, ENTRY] = end
            size[m] += 1
            end += 1
    held.copies[:] = -1
    held.used[0] = end
    return held


@inner
def assign_kept_claims(shape, potential, racks, phantoms, numbers, offsets, codes, keeps, facts):
    """:func:`assign_owned_partitions` before 3.5.2: claim by claim, two may keep a partition.

    Its owner is the last member in hash order that keeps it, even if that one, no longer
    subscribed, loses it at once while another still holds it. ``phantoms``: how many there are;
    ``numbers``: int64[claims].
    """
    total = shape.codes.size + phantoms
    owner = np.full(total, NOBODY, dtype=np.int64)
    count = 0
    twice = False
    for m in shape.by_owned:
        for k in range(offsets[m], offsets[m + 1]):
            if keeps[k]:
                twice = twice or owner[numbers[k]] != NOBODY
                owner[numbers[k]] = m
                count += 1
    room = 2 * shape.codes.size + count + 64
    held = empty_lists(potential.kind.size, total, room, twice or phantoms > 0)
    where, log, copies = held.where, held.log, held.copies
    several = copies.size > 0
    end = 0
    for m in range(held.size.size):
        for k in range(offsets[m], offsets[m + 1]):
            if not keeps[k]:
                continue
            x = numbers[k]
            may = potential.may[potential.kind[m], topic_of(codes[k])]
            if not may or (racks.in_use and racks_mismatch(racks, m, x)):
                facts[REVOKED] = True
                continue
            if several:
                copies[end] = where[x, ENTRY]
            log[end, PARTITION] = x
            log[end, MEMBER] = m
            where[x, OWNER] = owner[x]
            where[x, ENTRY] = end
            held.size[m] += 1
            end += 1
    held.used[0] = end
    return held


@inner
def revoke_unsubscribed(shape, potential, racks, phantoms, holder, facts):
    """Release what its holder no longer subscribes to, or has in another rack. Counts the rest."""
    may, kind = potential.may, potential.kind
    count = 0
    for t in shape.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            m = holder[x]
            if m >= 0:
                if may[kind[m], t] and not (racks.in_use and racks_mismatch(racks, m, x)):
                    count += 1
                else:
                    holder[x] = NOBODY
                    facts[REVOKED] = True
    for x in range(shape.codes.size, holder.size):
        m = holder[x]
        if m >= 0:
            topic = topic_of(phantoms[x - shape.codes.size])
            if may[kind[m], topic] and not (racks.in_use and racks_mismatch(racks, m, x)):
                count += 1
            else:
                holder[x] = NOBODY
                facts[REVOKED] = True
    return count


@inner
def unassigned_partitions(shape, potential, phantoms, held):
    """Which partitions are still to be assigned: bool[partitions].

    The original walks along all partitions and the kept ones in step. A kept phantom never turns
    up among all partitions, so behind its topic everything counts as unassigned, and what is kept
    there will be assigned a second time. The same goes for what stands behind a partition that is
    kept by two.
    """
    stuck = False
    last = np.zeros(shape.base.size, dtype=np.bool_)
    for i in range(phantoms.size):
        if held.where[shape.codes.size + i, OWNER] >= 0:
            last[topic_of(phantoms[i])] = True
    fresh = np.empty(shape.codes.size, dtype=np.bool_)
    where, copies = held.where, held.copies
    several = copies.size > 0
    for t in potential.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            if stuck:
                where[x, OWNER] = NOBODY
            fresh[x] = where[x, OWNER] < 0
            if several and not fresh[x]:
                stuck = copies[where[x, ENTRY]] >= 0
        stuck = stuck or last[t]
    return fresh


# Assign


@inner
def maybe_assign(shape, potential, racks, held, fresh):
    """Give every unassigned partition to the least loaded subscriber of its topic.

    First only where racks match, then whatever is left.
    """
    size, where, log, copies = held.size, held.where, held.log, held.copies
    several = copies.size > 0
    seats = no_seats(size.size, racks)
    tree, seat, rank = seats.tree, seats.seat, potential.rank
    nobody_fixed = np.empty(0, dtype=np.bool_)
    end = held.used[0]
    for final in range(0 if racks.in_use else 1, 2):
        for t in potential.topics:
            width = 0
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if not fresh[x] or where[x, OWNER] >= 0:
                    continue
                if width == 0:
                    width = take_seats(potential, racks, held, nobody_fixed, t, seats)
                key = tree[1] if final == 1 else least_in_racks(racks, seats, x)
                if key == NOT_SEATED:
                    continue
                m = shape.by_id[key & ((1 << RANK_BITS) - 1)]
                log[end, PARTITION] = x
                log[end, MEMBER] = m
                if several:
                    copies[end] = where[x, ENTRY]
                where[x, OWNER] = m
                where[x, ENTRY] = end
                size[m] += 1
                end += 1
                update_tree(tree, width + seat[m], size[m] << RANK_BITS | rank[m])
            if width > 0:
                leave_seats(potential, t, seats)
    held.used[0] = end


# Balance


@inner
def previous_owners(shape, offsets, codes, mine, newest):
    """``prevAssignment``: who claims a partition in the newest of the older generations.

    Returns int32[partitions], -1 for nobody; empty if no claim is older than the newest.
    """
    older = False
    for m in shape.by_hash:
        if offsets[m] < offsets[m + 1]:
            older = older or mine[m] < newest
    if not older:
        return np.empty(0, dtype=np.int64)
    previous = np.full(shape.codes.size, NOBODY, dtype=np.int64)
    of_generation = np.empty(shape.codes.size, dtype=np.int64)
    for m in shape.by_hash:
        if mine[m] >= newest:
            continue
        for k in range(offsets[m], offsets[m + 1]):
            topic = topic_of(codes[k])
            partition = partition_of(codes[k])
            if shape.base[topic] < 0 or partition >= shape.partitions[topic]:
                continue
            x = shape.base[topic] + partition
            if previous[x] == NOBODY or mine[m] > of_generation[x]:
                previous[x] = m
                of_generation[x] = mine[m]
    return previous


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
            m = held.log[e, MEMBER]
            if m != DEAD and fixed[m]:
                t = topic_of_number(shape, phantoms, held.log[e, PARTITION])
                if potential.named[t] >= 2:
                    fixed[m] = False
    return fixed


@inner
def is_strange(shape, potential, held, previous):
    """Whether the original's ``isBalanced`` has to be asked at every step.

    As a rule a group is balanced exactly when no partition has a subscriber with at least two
    fewer than its owner, so there is no need to ask. That fails where a partition may go back to
    a member that no longer subscribes to it, and where a partition is held twice.
    """
    if held.copies.size > 0:
        return True
    for x in range(previous.size):
        m = previous[x]
        if m != NOBODY and not potential.may[potential.kind[m], topic_of(shape.codes[x])]:
            return True
    return False


@inner
def can_move(shape, potential, held, topic):
    """Whether some partition of the topic has a subscriber with at least two fewer."""
    size, where, members = held.size, held.where, potential.members
    least = NOT_SEATED
    for k in range(potential.starts[topic], potential.starts[topic + 1]):
        least = min(least, size[members[k]])
    for x in range(shape.base[topic], shape.base[topic] + shape.partitions[topic]):
        if size[where[x, OWNER]] > least + 1:
            return True
    return False


@inner
def balance_score(size, fixed):
    """The differences in size of all pairs of members that take part, summed in a Java int."""
    count = np.zeros(size.max() + 1, dtype=np.int64)
    for m in range(size.size):
        if not fixed[m]:
            count[size[m]] += 1
    score = 0
    members = 0
    partitions = 0
    for n in range(count.size):
        score += count[n] * (members * n - partitions)
        members += count[n]
        partitions += count[n] * n
    return signed(score)


@inner
def perform_reassignments(
    shape, potential, racks, held, moves, fixed, only, previous, strange, release
):
    """Look at partition after partition, again and again until nothing moves.

    ``only``: bool[partitions], the partitions to look at; empty for all.
    Returns (status, whether anything moved).
    """
    seats = no_seats(held.size.size, racks)
    size, where, tree = held.size, held.where, seats.tree
    plain = not strange and previous.size == 0
    witness = np.full(2, -1, dtype=np.int64)
    performed = False
    modified = True
    status = DONE
    while modified:
        modified = False
        for t in potential.topics:
            if potential.named[t] < 2:
                continue
            if not strange and not can_move(shape, potential, held, t):
                continue
            take_seats(potential, racks, held, fixed, t, seats)
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if only.size > 0 and not only[x]:
                    continue
                if plain and size[where[x, OWNER]] <= (tree[1] >> RANK_BITS) + 1:
                    continue  # as better_member would say, but a call costs more than all else
                if strange:
                    status = ask_whether_balanced(shape, potential, held, fixed, witness, release)
                    if status != DONE:
                        break
                new, status = better_member(
                    shape, potential, racks, held, fixed, seats, previous, strange, t, x
                )
                if status != DONE:
                    break
                if new != NOBODY:
                    reassign_partition(potential, held, moves, seats, t, x, new)
                    modified = True
            leave_seats(potential, t, seats)
            if status != DONE:
                break
        performed = performed or modified
        if status != BALANCED and status != DONE:
            return status, performed
        status = DONE
    return status, performed


@inner
def better_member(shape, potential, racks, held, fixed, seats, previous, strange, topic, x):
    """Who should have partition ``x`` instead of its owner: (member or ``NOBODY``, status).

    Its previous owner comes first, then the least loaded subscriber.
    """
    size = held.size[held.where[x, OWNER]]
    if strange and fixed[held.where[x, OWNER]]:
        return NOBODY, NULL_POINTER
    if previous.size > 0 and previous[x] != NOBODY:
        if fixed[previous[x]]:
            return NOBODY, NULL_POINTER
        if size > held.size[previous[x]] + 1:
            return previous[x], DONE
    if strange:
        status = find_better(shape, potential, racks, held, fixed, topic, x)
        if status != BETTER:
            return NOBODY, status
    elif size <= (seats.tree[1] >> RANK_BITS) + 1:
        return NOBODY, DONE
    return member_of_key(shape, seats.tree[1]), DONE


@inner
def reassign_partition(potential, held, moves, seats, topic, x, new):
    """Move ``x``, or one of its topic that had come the other way, to ``new``."""
    actual = the_actual_partition_to_be_moved(moves, x, topic, held.where[x, OWNER], new)
    old = held.where[actual, OWNER]
    move_partition(moves, actual, topic, old, new)
    remove(held, actual)
    append(held, actual, new)
    update_seat(potential, held, new, seats)
    update_seat(potential, held, old, seats)


# Strange cases, step by step as in the original


@inner
def ask_whether_balanced(shape, potential, held, fixed, witness, release):
    """The original's ``isBalanced``: DONE if not, BALANCED, or NO_ELEMENT if nobody takes part.

    ``witness``: (member, partition) that showed imbalance last time; mostly it still does. A
    difference of one, which counts before 3.5.2, is no witness: it does not count while no members
    differ by more.
    """
    harmless = 1 if release >= BALANCE_OF_ONE else 0
    if witness[0] >= 0 and shows_imbalance(shape, potential, held, witness[0], witness[1], 1):
        return DONE
    fewest = NOT_SEATED
    most = -1
    for m in range(fixed.size):
        if not fixed[m]:
            fewest = min(fewest, held.size[m])
            most = max(most, held.size[m])
    if most < 0:
        return NO_ELEMENT
    if fewest >= most - 1:
        return BALANCED
    for t in potential.topics:
        largest = 0
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            largest = max(largest, held.size[last_holder(shape, held, x)])
        for k in range(potential.starts[t], potential.starts[t + 1]):
            m = potential.members[k]
            if fixed[m] or held.size[m] + harmless >= largest:
                continue
            for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
                if shows_imbalance(shape, potential, held, m, x, harmless):
                    witness[0] = m
                    witness[1] = x
                    return DONE
    return BALANCED


@inner
def shows_imbalance(shape, potential, held, m, x, harmless):
    """Whether ``x``, which member ``m`` may have, is held by one that has more.

    ``harmless``: how many more do not count.
    """
    if held.size[m] == potential.most[m] or holds(held, m, x):
        return False
    return held.size[m] + harmless < held.size[last_holder(shape, held, x)]


@inner
def last_holder(shape, held, x):
    """Of several holders, the one that comes last in hash order."""
    if held.copies.size == 0 or held.copies[held.where[x, ENTRY]] < 0:
        return held.log[held.where[x, ENTRY], MEMBER]
    for m in shape.by_owned[::-1]:
        if holds(held, m, x):
            return m
    return NOBODY


@inner
def find_better(shape, potential, racks, held, fixed, topic, x):
    """BETTER if a subscriber has at least two fewer than the owner of ``x``, else DONE.

    NULL_POINTER if the walk meets a member that does not take part first: members in the racks of
    ``x`` come first if its owner is in one of them.
    """
    owner = held.where[x, OWNER]
    if fixed[owner]:
        return NULL_POINTER
    first = 1
    if racks.in_use and racks.of_member[owner] != NO_RACK and not racks_mismatch(racks, owner, x):
        first = 0
    for everybody in range(first, 2):
        for m in shape.by_hash:
            if not potential.may[potential.kind[m], topic]:
                continue
            if everybody == 0 and (racks.of_member[m] == NO_RACK or racks_mismatch(racks, m, x)):
                continue
            if fixed[m]:
                return NULL_POINTER
            if held.size[owner] > held.size[m] + 1:
                return BETTER
    return DONE


# Cooperative


@inner
def withhold_transferring(shape, held, offsets, codes):
    """Take out what is added to one member and revoked from another: it must be given up first."""
    added = np.ones(shape.codes.size, dtype=np.bool_)
    revoked = np.zeros(shape.codes.size, dtype=np.bool_)
    for m in range(held.size.size):
        for k in range(offsets[m], offsets[m + 1]):
            topic = topic_of(codes[k])
            partition = partition_of(codes[k])
            if shape.base[topic] < 0 or partition >= shape.partitions[topic]:
                continue
            x = shape.base[topic] + partition
            if held.where[x, OWNER] == m:
                added[x] = False
            elif not holds(held, m, x):
                revoked[x] = True
    for e in range(held.used[0]):
        x = held.log[e, PARTITION]
        if (
            x < added.size
            and added[x]
            and revoked[x]
            and held.log[e, MEMBER] == held.where[x, OWNER]
        ):
            held.log[e, MEMBER] = DEAD


FAULTS = {
    NULL_POINTER: (
        "NullPointerException",
        "a partition is to go back to its previous owner, which takes no part in the balancing",
    ),
    NO_ELEMENT: ("NoSuchElementException", "no member takes part in the balancing"),
}
