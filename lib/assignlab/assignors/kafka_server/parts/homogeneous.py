"""The uniform assignor where all members name the same topics: balance first, then few moves.

Members stand in the order of the HashMap of members. With P partitions and C members everybody may
keep P div C of what it holds, and P mod C members one more. Going through the members, one that is
offered the extra partition and cannot fill it leaves it to a later one as long as enough are left.
What exceeds the quota is revoked: the end of the walk over the member's map of sets. Then the
partitions that nobody held, topic by topic in the order of a HashSet of Uuids, and behind them the
revoked ones fill the members that have room, one member after the other.

Claims that the coordinator would never hold are kept as the original keeps them: partitions that do
not exist or that others hold too count and may stay; where partitions remain that nobody has room
for, it throws.
"""

from itertools import pairwise

import numpy as np

from assignlab.assignors.kafka_server.parts import sets
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.slices import copy_into
from assignlab.compiled import inner, njit
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment, code, topic_of
from assignlab.group.model import Group, first_numbers

FINE, DOUBLES, NO_SETS = range(3)


def assign(group: Group, extras_in_turn: bool = False) -> Assignment:
    """Revoke what exceeds the quotas, then fill the members that have room.

    ``extras_in_turn``: before 4.0.1 the first members got the extra partitions, whatever they held.
    """
    topics = group.prepared(sets.topics_walked).by_id
    if topics.size == 0:
        return sets.nothing(group)
    order, ids = group.prepared(orders.members_by_hash), group.topics.prepared(sets.topic_ids)
    known, claims = (order, topics, group.topics.partitions, ids.hashes, ids.rank), group.claims
    offsets, codes, left, state = build(known, claims.offsets, claims.codes, False, extras_in_turn)
    if state == NO_SETS:
        held = group.of_claims(sets.held)
        offsets, codes, left, state = build(known, held.offsets, held.codes, True, extras_in_turn)
    if left > 0:
        raise OriginalError(
            "PartitionAssignorException",
            f"{left} partitions are left and nobody has room: some member holds partitions that do "
            "not exist or that others hold too",
        )
    if state == DOUBLES:
        offsets, codes = without_doubles(offsets, codes)
    return Assignment(offsets, codes)


@njit
def build(known, offsets, codes, are_sets, extras_in_turn):
    """(offsets, codes, how many partitions nobody has room for, state) of the result.

    ``known``: members in hash order; topics that exist, in the order of the set of their ids;
    partitions of every topic, hash code and rank of its id. The state is ``DOUBLES`` where a member
    may have a partition twice; ``NO_SETS`` where the claims are none, and then nothing else is true.
    """
    order, topics, partitions, hashes, rank = known
    ids = hashes, rank
    starts = first_numbers(partitions)
    owner, found_sets, rivals, beyond = sets.survey(order, offsets, codes, starts)
    if not (are_sets or found_sets):
        return offsets, codes, 0, NO_SETS
    subscribed = np.zeros(partitions.size, dtype=np.bool_)
    total = 0
    for t in topics:
        subscribed[t] = True
        total += partitions[t]
    keep, room, exceeding = quotas(order, offsets, codes, subscribed, total, extras_in_turn)
    if exceeding.size > 0:
        codes = codes.copy()
        for m in exceeding:
            copy_into(codes, offsets[m], sets.read(codes[offsets[m] : offsets[m + 1]], ids))
    new_offsets, new_codes, left = fill(
        order, topics, partitions, starts, owner, subscribed, offsets, codes, keep, room
    )
    if beyond:  # of a topic that is gone nobody gets anything
        held = sets.nonexistent(codes, codes[:0], partitions)
        beyond = subscribed[topic_of(held)].any()
    return new_offsets, new_codes, left, DOUBLES if rivals or beyond else FINE


@inner
def quotas(order, offsets, codes, subscribed, total, extras_in_turn):
    """(keep, room, exceeding): how many partitions of subscribed topics every member keeps of what
    it holds, for how many more it has room, and the members that hold more than they keep."""
    members = order.size
    extras = total % members  # members still to get one more
    keep = np.empty(members, dtype=np.int64)
    room = np.empty(members, dtype=np.int64)
    exceeding = np.empty(members, dtype=np.int64)
    n = 0
    for i in range(members):
        m = order[i]
        size = 0
        for k in range(offsets[m], offsets[m + 1]):
            size += subscribed[topic_of(codes[k])]
        extra = extras > 0
        quota = total // members + (1 if extra else 0)
        keep[m] = min(size, quota)
        room[m] = quota - keep[m]
        if size > quota:
            exceeding[n] = m
            n += 1
        if not extras_in_turn and room[m] > 0 and extra and members - i > extras:
            room[m] -= 1  # a later member may fill it
            extra = False
        if extra:
            extras -= 1
    return keep, room, exceeding[:n]


@inner
def fill(order, topics, partitions, starts, owner, subscribed, offsets, codes, keep, room):
    """(offsets, codes) of the result, and how many partitions nobody has room for.

    Every member keeps the first ``keep`` of its subscribed ``codes``; the rest is revoked.
    """
    unassigned = np.empty(starts[-1] + codes.size, dtype=np.int64)
    n = 0
    for t in topics:
        for p in range(partitions[t]):
            if owner[starts[t] + p] < 0:
                unassigned[n] = code(t, p)
                n += 1
    kept = keep.copy()
    for m in order:
        for k in range(offsets[m], offsets[m + 1]):
            if subscribed[topic_of(codes[k])]:
                if kept[m] > 0:
                    kept[m] -= 1
                else:
                    unassigned[n] = codes[k]
                    n += 1
    members = order.size
    first = np.zeros(members, dtype=np.int64)  # in unassigned
    given = np.zeros(members, dtype=np.int64)
    taken = 0
    for m in order:
        first[m] = taken
        given[m] = min(room[m], n - taken)
        taken += given[m]
    results = np.zeros(members + 1, dtype=np.int64)
    for m in range(members):
        results[m + 1] = results[m] + keep[m] + given[m]
    lists = np.empty(results[members], dtype=np.int64)
    for m in range(members):
        at = results[m]
        k = offsets[m]
        while at < results[m] + keep[m]:
            if subscribed[topic_of(codes[k])]:
                lists[at] = codes[k]
                at += 1
            k += 1
        copy_into(lists, at, unassigned[first[m] : first[m] + given[m]])
    return results, lists, n - taken


def without_doubles(offsets: np.ndarray, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A set takes a partition once: who is given one that it has already, has it once."""
    bounds = offsets.tolist()
    found = Assignment.from_lists(dict.fromkeys(codes[a:b].tolist()) for a, b in pairwise(bounds))
    return found.offsets, found.codes
