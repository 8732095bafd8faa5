"""What members keep of their claims when the general sticky algorithm begins.

Source: ``AbstractStickyAssignor.GeneralAssignmentBuilder`` of kafka-clients 4.4.0, its constructor,
``assignOwnedPartitions`` and ``getUnassignedPartitions``; and what was different before 3.5.2.
"""

import numpy as np

from assignlab.assignors.kafka.parts.claims import (
    NO_GENERATION,
    NOBODY,
    number_of_claim,
    numbers_of_claims,
    settle_claims,
    settle_claims_one_by_one,
)
from assignlab.assignors.kafka.parts.held import DEAD, append, empty_lists, topic_of_number
from assignlab.assignors.parts.racks import racks_mismatch
from assignlab.compiled import inner, leaf


@inner
def assign_owned_partitions(shape, potential, racks, phantoms, claims, mine):
    """Everybody keeps what it owns, subscribes to, and has in its rack.

    ``mine``: int64[members], the generations of the claims. Returns (the lists, whether anything
    had to be revoked, whether a claim is beyond the end of a topic and not among ``phantoms``).
    """
    settled = settle_claims(shape, phantoms, claims, mine)
    holder, unknown = settled.holder, settled.unknown
    count, revoked = revoke_unsubscribed(shape, potential, racks, phantoms, holder)
    room = 2 * shape.codes.size + count + 64
    held = empty_lists(mine.size, holder.size, room, phantoms.size > 0)
    if count > 0 and not unknown:
        keep_claims(shape, phantoms, claims, mine, holder, held)
    for e in range(held.copies.size):
        held.copies[e] = -1
    return held, revoked, unknown


@leaf
def revoke_unsubscribed(shape, potential, racks, phantoms, holder):
    """Nobody holds what its holder may not keep.
    Returns (how many are kept, whether any was not)."""
    count = 0
    revoked = False
    for x in range(holder.size):
        m = holder[x]
        if m >= 0:
            if may_keep(potential, racks, topic_of_number(shape, phantoms, x), m, x):
                count += 1
            else:
                holder[x] = NOBODY
                revoked = True
    return count, revoked


@leaf
def may_keep(potential, racks, topic, m, x):
    """Whether member ``m`` subscribes to the topic of ``x``,
    and its rack does not speak against it."""
    return potential.may[potential.kind[m], topic] and not (
        racks.in_use and racks_mismatch(racks, m, x)
    )


@leaf
def keep_claims(shape, phantoms, claims, mine, holder, held):
    """Write what members hold into their lists, in the order of their claims.

    Who claims one partition twice has it where it claims it last if its claims are newer than its
    subscription, and else first. Members are read by id:
    neighbours were dealt neighbouring partitions.
    """
    for m in shape.by_id:
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            x = number_of_claim(shape, phantoms, claims.codes[k])
            if x < 0 or holder[x] != m:
                continue
            if held.partitions[x].owner == m:
                if mine[m] <= max(claims.sub_generation[m], NO_GENERATION):
                    continue
                held.log[held.partitions[x].entry].member = DEAD
                held.size[m] -= 1
            append(held, x, m)


@inner
def assign_kept_claims(shape, potential, racks, phantoms, claims, mine, newest, release):
    """:func:`assign_owned_partitions` before 3.5.2: claim by claim, two may keep a partition.

    Its owner is the last member in hash order that keeps it, even if that one, no longer
    subscribed, loses it at once while another still holds it.
    """
    total = shape.codes.size + phantoms.size
    numbers, unknown = numbers_of_claims(shape, phantoms, claims.codes)
    keeps, _ = settle_claims_one_by_one(
        shape.by_hash, numbers, total, claims, mine, newest, release
    )
    owner = np.full(total, NOBODY, dtype=np.int64)
    count, twice = last_owners(shape.by_owned, claims.offsets, numbers, keeps, owner)
    room = 2 * shape.codes.size + count + 64
    held = empty_lists(mine.size, total, room, twice or phantoms.size > 0)
    revoked = False
    for m in range(mine.size):
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            if not keeps[k]:
                continue
            x = numbers[k]
            if not may_keep(potential, racks, topic_of_number(shape, phantoms, x), m, x):
                revoked = True
                continue
            append(held, x, m)
            held.partitions[x].owner = owner[x]
    return held, revoked, unknown


@leaf
def last_owners(members, offsets, numbers, keeps, owner):
    """The last of the ``members`` that keeps a partition owns it: written to ``owner``.

    Returns (how many claims are kept, whether a partition is kept twice).
    """
    count = 0
    twice = False
    for m in members:
        for k in range(offsets[m], offsets[m + 1]):
            if keeps[k]:
                twice = twice or owner[numbers[k]] != NOBODY
                owner[numbers[k]] = m
                count += 1
    return count, twice


@inner
def unassigned_partitions(shape, potential, phantoms, held):
    """Which partitions are still to be assigned: bool[partitions].

    The original walks along all partitions and the kept ones in step. A kept phantom never turns
    up among all partitions, so behind its topic everything counts as unassigned, and what is kept
    there will be assigned a second time. The same goes for what stands behind a partition that is
    kept by two.
    """
    last = np.zeros(shape.base.size, dtype=np.bool_)
    for x in range(shape.codes.size, held.partitions.size):
        if held.partitions[x].owner >= 0:
            last[topic_of_number(shape, phantoms, x)] = True
    unassigned = np.empty(shape.codes.size, dtype=np.bool_)
    walk_in_step(shape, potential, held, last, unassigned)
    return unassigned


@leaf
def walk_in_step(shape, potential, held, last, unassigned):
    """Note what is ``unassigned``; ``last``: bool[topics], behind which the walk is out of step."""
    out_of_step = False
    for t in potential.topics:
        for x in range(shape.base[t], shape.base[t] + shape.partitions[t]):
            partition = held.partitions[x]
            if out_of_step:
                partition.owner = NOBODY
            unassigned[x] = partition.owner < 0
            if held.copies.size > 0 and not unassigned[x]:
                out_of_step = held.copies[partition.entry] >= 0
        out_of_step = out_of_step or last[t]


@inner
def previous_owners(shape, phantoms, claims, mine, newest):
    """``prevAssignment``: who claims a partition in the newest of the older generations.

    Returns int64[partitions], -1 for nobody; empty if no claim is older than the newest.
    """
    older = False
    for m in shape.by_hash:
        if claims.offsets[m] < claims.offsets[m + 1]:
            older = older or mine[m] < newest
    total = shape.codes.size if older else 0
    previous = np.full(total, NOBODY, dtype=np.int64)
    generation = np.empty(total, dtype=np.int64)
    for m in shape.by_hash:
        if not older or mine[m] >= newest:
            continue
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            x = number_of_claim(shape, phantoms, claims.codes[k])
            if 0 <= x < total and (previous[x] == NOBODY or mine[m] > generation[x]):
                previous[x] = m
                generation[x] = mine[m]
    return previous
