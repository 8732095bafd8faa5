"""The first sticky assignment for equal subscriptions (KAFKA-9987): keep, fill, steal.

With P partitions and C members nobody shall have fewer than P // C or, if that leaves a rest, more
than one more. Everybody keeps what it claims up to the larger quota, however many members do.
Members below the smaller one are filled up, and when nothing is left to fill them with, they take
the first partition of one member at the larger quota after the other.
:mod:`assignlab.assignors.kafka.parts.constrained` counts beforehand who may keep how much.

Source: ``AbstractStickyAssignor.constrainedAssign`` of kafka-clients 2.5.1 and 2.8.2.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.claims import (
    NOBODY,
    PHANTOMS,
    Claimed,
    claimed_generations,
    number_of_claim,
    numbers_of_claims,
    settle_claims_one_by_one,
    unpack_shape,
)
from assignlab.assignors.kafka.parts.constrained import lists_of_rows
from assignlab.compiled import inner, leaf, njit

DONE = 0
UNDER_CAPACITY = 1
ALL_AT_CAPACITY = 2


class Hands(NamedTuple):
    """What everybody holds.

    ``rows``: int64[members * width], the lists; ``length``: int64[members]. ``revoked``:
    bool[partitions + phantoms], what its owner does not keep; ``heir``: int64[same], who gets what
    another must give up first, -1 for nobody. ``min_capacity``, ``max_capacity``: int64[...], the
    queues of members that hold as many as the quotas say; ``ends`` int64[2], how long these are.
    """

    rows: np.ndarray
    length: np.ndarray
    revoked: np.ndarray
    heir: np.ndarray
    min_capacity: np.ndarray
    max_capacity: np.ndarray
    ends: np.ndarray


@njit
def build(shape, phantoms, claims, cooperative, release):
    """Keep, fill, steal, then hand out the rest. Returns (status, offsets, codes of the lists).

    ``shape``: packed; ``phantoms``: int64[n], codes of claimed partitions beyond the end of their
    topic; ``claims``: :class:`~assignlab.assignors.kafka.parts.claims.Claimed`; ``release``: one of
    :mod:`assignlab.assignors.kafka.parts.releases`.
    """
    shape = unpack_shape(shape)
    claims = Claimed(*claims)
    numbers, unknown = numbers_of_claims(shape, phantoms, claims.codes)
    if unknown:
        return PHANTOMS, claims.offsets, claims.codes
    mine, newest = claimed_generations(cooperative, claims)
    keeps, rivals = settle_claims_one_by_one(
        shape.by_hash, numbers, shape.codes.size + phantoms.size, claims, mine, newest, release
    )
    members = shape.by_id.size
    min_quota = shape.codes.size // members
    max_quota = (shape.codes.size + members - 1) // members
    hands = Hands(
        np.empty(members * (max_quota + 1), dtype=np.int64),
        np.zeros(members, dtype=np.int64),
        rivals,
        np.full(rivals.size, NOBODY, dtype=np.int64),
        np.empty(2 * members, dtype=np.int64),
        np.empty(members, dtype=np.int64),
        np.zeros(2, dtype=np.int64),
    )
    unassigned = np.ones(rivals.size, dtype=np.bool_)
    unfilled = assign_owned_partitions(
        shape, numbers, claims, keeps, min_quota, max_quota, unassigned, hands
    )
    unassigned = np.flatnonzero(unassigned[: shape.codes.size])
    unfilled, at = fill_up(shape.codes, unassigned, unfilled, min_quota, hands)
    status = steal(shape, phantoms, unfilled, min_quota, hands)
    if status == DONE:
        status = hand_out_rest(shape.codes, unassigned[at:], hands)
    if cooperative:
        withhold_transferring(shape, phantoms, hands)
    offsets, lists = lists_of_rows(hands.rows, hands.length)
    return status, offsets, lists


@inner
def assign_owned_partitions(shape, numbers, claims, keeps, min_quota, max_quota, unassigned, hands):
    """Keep the first claims up to the larger quota; returns the members below the smaller, by id.

    On return ``unassigned``, bool[partitions + phantoms], is False for what is kept, and
    ``hands.revoked`` True for what is not.
    """
    offsets, claimed = claims.offsets, claims.codes
    below = np.zeros(hands.length.size, dtype=np.bool_)
    rivals = hands.revoked.copy()
    for m in shape.by_owned:
        owned = 0
        for k in range(offsets[m], offsets[m + 1]):
            if not keeps[k]:
                continue
            x = numbers[k]
            if rivals[x]:
                continue
            owned += 1
            if owned <= max_quota:
                give(hands, m, claimed[k])
                unassigned[x] = False
            else:
                hands.revoked[x] = True
        below[m] = owned < min_quota
        if not below[m] and hands.length[m] == min_quota:
            wait_at_min(hands, m)
        if not below[m] and hands.length[m] == max_quota:
            hands.max_capacity[hands.ends[1]] = m
            hands.ends[1] += 1
    return shape.by_id[below[shape.by_id]]


@leaf
def give(hands, m, code):
    """Append a partition to the list of ``m``."""
    hands.rows[m * (hands.rows.size // hands.length.size) + hands.length[m]] = code
    hands.length[m] += 1


@leaf
def wait_at_min(hands, m):
    """A consumer that holds the smaller quota waits for one partition more."""
    hands.min_capacity[hands.ends[0]] = m
    hands.ends[0] += 1


@inner
def fill_up(codes, unassigned, unfilled, min_quota, hands):
    """Deal round after round to members below the smaller quota; what was revoked gets an heir.

    ``codes``: int64[partitions]; ``unassigned``, ``unfilled``: int64[...]. Returns (those that are
    still below, how many partitions were dealt).
    """
    rows, length, revoked, heir = hands.rows, hands.length, hands.revoked, hands.heir
    width = rows.size // length.size
    at = 0
    while unfilled.size > 0 and at < unassigned.size:
        stay = 0
        for i in range(unfilled.size):
            m = unfilled[i]
            if at < unassigned.size:
                x = unassigned[at]
                at += 1
                rows[m * width + length[m]] = codes[x]
                length[m] += 1
                if revoked[x]:
                    heir[x] = m
            if length[m] == min_quota:
                wait_at_min(hands, m)
            else:
                unfilled[stay] = m
                stay += 1
        unfilled = unfilled[:stay]
    return unfilled, at


@leaf
def steal(shape, phantoms, unfilled, min_quota, hands):
    """Nothing is left: members at the larger quota lose their first partition, each only one."""
    width = hands.rows.size // hands.length.size
    poll = 0
    for m in unfilled:
        while hands.length[m] < min_quota:
            if poll == hands.ends[1]:
                return UNDER_CAPACITY
            overloaded = hands.max_capacity[poll]
            poll += 1
            start = overloaded * width
            swapped = hands.rows[start]
            hands.length[overloaded] -= 1
            for i in range(start, start + hands.length[overloaded]):
                hands.rows[i] = hands.rows[i + 1]
            give(hands, m, swapped)
            hands.heir[number_of_claim(shape, phantoms, swapped)] = m
        wait_at_min(hands, m)
    return DONE


@leaf
def hand_out_rest(codes, unassigned, hands):
    """One more for each member at the smaller quota, as long as there are any."""
    for poll, x in enumerate(unassigned):
        if poll == hands.ends[0]:
            return ALL_AT_CAPACITY
        m = hands.min_capacity[poll]
        give(hands, m, codes[x])
        if hands.revoked[x]:
            hands.heir[x] = m
    return DONE


@inner
def withhold_transferring(shape, phantoms, hands):
    """Take from the heirs what must be given up first: the first copy, where there are two."""
    width = hands.rows.size // hands.length.size
    for m in range(hands.length.size):
        start = m * width
        left = 0
        for i in range(start, start + hands.length[m]):
            code = hands.rows[i]
            x = number_of_claim(shape, phantoms, code)
            if hands.heir[x] == m:
                hands.heir[x] = NOBODY
            else:
                hands.rows[start + left] = hands.rows[i]
                left += 1
        hands.length[m] = left


FAULTS = {
    UNDER_CAPACITY: (
        "IllegalStateException",
        "a member is under capacity, and no other has more than it needs",
    ),
    ALL_AT_CAPACITY: (
        "IllegalStateException",
        "partitions are left, and all members are at maximum capacity",
    ),
}
