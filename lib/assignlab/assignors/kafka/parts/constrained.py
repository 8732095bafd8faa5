"""The sticky assignment for equal subscriptions: a quota for everybody, kept before dealt.

With P partitions and C members everybody gets P // C or one more, and exactly P % C members get one
more. Members keep what they own up to that quota; what is left is dealt one by one. The result has
the fewest moves that this balance allows (unless racks interfere).

Source: ``AbstractStickyAssignor.ConstrainedAssignmentBuilder`` of kafka-clients 4.4.0, and what was
different in releases since 3.0 (see :mod:`assignlab.assignors.kafka.parts.releases`).
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.claims import (
    DISPUTED,
    NOBODY,
    PHANTOMS,
    Claimed,
    claimed_generations,
    numbers_of_claims,
    settle_claims,
    settle_claims_one_by_one,
    unpack_shape,
)
from assignlab.assignors.kafka.parts.releases import CONSTRAINED_CORRECTED
from assignlab.assignors.parts.racks import (
    next_rack_consumer,
    racks_mismatch,
    sorted_by_rack_consumers,
    unpack_racks,
)
from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import number_of, topic_of

DONE = 0
NO_UNFILLED = 1
NOT_ENOUGH = 2
BELOW_MIN = 3

UNDER_MIN = 1
EXACTLY_MIN = 2
FILLED = 3

GONE = -1


class Deal(NamedTuple):
    """Who has what while partitions are dealt.

    ``codes``: int64[partitions]; ``holder``: as ``settle_claims``, ``drop_rivals`` and keeping left
    it; ``size``: int64[members], partitions counted against the quota; ``rows``:
    int64[members * width], the lists; ``length``: int64[members], their lengths, without what must
    first be revoked elsewhere (``cooperative``); ``release``: whose rules count. ``min_quota``,
    ``max_quota``; ``expected``: how many members shall have more than ``min_quota``, ``over``
    int64[1]: how many do. The unfilled members: ``under[:ends[0]]`` below ``min_quota``,
    ``exactly[ends[1]:ends[2]]`` waiting for one more.
    """

    codes: np.ndarray
    holder: np.ndarray
    size: np.ndarray
    rows: np.ndarray
    length: np.ndarray
    cooperative: bool
    release: int
    min_quota: int
    max_quota: int
    expected: int
    over: np.ndarray
    under: np.ndarray
    exactly: np.ndarray
    ends: np.ndarray


@njit
def build(shape, racks, phantoms, claims, cooperative, release):
    """Settle the claims, keep, then deal. Returns (status, offsets, codes of the members' lists).

    ``shape``, ``racks``: packed; ``phantoms``: int64[n], codes of claimed partitions beyond the end
    of their topic; ``claims``: :class:`~assignlab.assignors.kafka.parts.claims.Claimed`;
    ``release``: one of :mod:`assignlab.assignors.kafka.parts.releases`.
    """
    shape = unpack_shape(shape)
    racks = unpack_racks(racks)
    claims = Claimed(*claims)
    total = shape.codes.size
    members = shape.by_id.size
    min_quota = total // members
    expected = total % members
    max_quota = min_quota + (1 if expected > 0 else 0)
    # Claims beyond the end, racks and earlier releases can give a member one more than that.
    exact = phantoms.size == 0 and not racks.in_use and release >= CONSTRAINED_CORRECTED
    rows = np.empty(members * (max_quota if exact else max_quota + 1), dtype=np.int64)
    mine, newest = claimed_generations(cooperative, claims)

    if release >= CONSTRAINED_CORRECTED:
        settled = settle_claims(shape, phantoms, claims, mine)
        if settled.unknown:
            return PHANTOMS, claims.offsets, claims.codes
        holder, owned = settled.holder, settled.owned
        drop_rivals(holder, settled.rivals, owned)
        release_mismatched(holder, owned, racks)
        kept, state, over = assign_owned_partitions(
            shape.by_owned, owned, min_quota, max_quota, expected
        )
        length = np.zeros(members, dtype=np.int64)
        if claims.codes.size > 0:
            keep_lists(shape, phantoms, holder, kept, rows, length)
        doubled = total
    else:
        numbers, unknown = numbers_of_claims(shape, phantoms, claims.codes)
        if unknown:
            return PHANTOMS, claims.offsets, claims.codes
        keeps, rivals = settle_claims_one_by_one(
            shape.by_hash, numbers, total + phantoms.size, claims, mine, newest, release
        )
        owned = count_claims(numbers, racks, claims.offsets, keeps, rivals)
        kept, state, over = assign_owned_partitions(
            shape.by_owned, owned, min_quota, max_quota, expected
        )
        length, holder, doubled = keep_first_claims(numbers, claims, keeps, rivals, kept, rows)
    last = last_in_step(shape, phantoms, holder, doubled)

    in_hand = length.copy() if release < CONSTRAINED_CORRECTED else length
    deal = Deal(
        shape.codes, holder, kept, rows, length,
        cooperative and release >= CONSTRAINED_CORRECTED, release,
        min_quota, max_quota, expected, np.full(1, over, dtype=np.int64),
        np.empty(members, dtype=np.int64), np.empty(2 * members, dtype=np.int64),
        np.zeros(3, dtype=np.int64),
    )  # fmt: skip
    list_unfilled(shape.by_id, state, deal)
    left = np.empty(0, dtype=np.int64)
    if racks.in_use:
        left = sorted_by_rack_consumers(racks, unassigned_partitions(holder, total, last))
        left = assign_rack_aware_round_robin(racks, left, deal)
    status = assign_round_robin(racks.in_use, left, last, deal)
    if status == DONE:
        status = verify_unfilled_members(deal)
    if cooperative and release < CONSTRAINED_CORRECTED:
        withhold_rivals(shape, rivals, in_hand, rows, length)
    offsets, lists = lists_of_rows(rows, length)
    return status, offsets, lists


@leaf
def drop_rivals(holder, rivals, owned):
    """Who claims a partition that two others claim in one generation does not keep it either.

    Afterwards it is ``DISPUTED``, and waits for the next round whoever gets it.
    """
    for x in range(rivals.size):
        if rivals[x]:
            if holder[x] >= 0:
                owned[holder[x]] -= 1
            holder[x] = DISPUTED


@leaf
def release_mismatched(holder, owned, racks):
    """Partitions without a replica in their owner's rack are not kept."""
    if not racks.in_use:
        return
    for x in range(holder.size):
        m = holder[x]
        if m >= 0 and racks_mismatch(racks, m, x):
            owned[m] -= 1
            holder[x] = -2 - m


@inner
def assign_owned_partitions(by_owned, owned, min_quota, max_quota, expected):
    """How many partitions each member keeps, and who waits for more.

    Members come in hash order: while fewer than ``expected`` members have one more than
    ``min_quota``, the next who owns enough keeps the larger quota.
    Returns (kept int64[members], state int64[members], members with more than ``min_quota``).
    """
    kept = np.empty(owned.size, dtype=np.int64)
    state = np.empty(owned.size, dtype=np.int64)
    over = 0
    for m in by_owned:
        if owned[m] < min_quota:
            kept[m] = owned[m]
            state[m] = UNDER_MIN
        elif owned[m] >= max_quota and over < expected:
            over += 1
            kept[m] = max_quota
            state[m] = FILLED
        else:
            kept[m] = min_quota
            state[m] = EXACTLY_MIN
    if over == expected:
        for m in range(owned.size):
            if state[m] == EXACTLY_MIN:
                state[m] = FILLED
    return kept, state, over


@inner
def keep_lists(shape, phantoms, holder, kept, rows, length):
    """Write what members keep, by (partition, topic name), and take the rest from them.

    Afterwards ``holder`` is a member only where a partition is kept, and ``length`` how many are.
    """
    begin = np.arange(kept.size) * (rows.size // kept.size)
    at = begin.copy()
    end = begin + kept
    codes = shape.codes
    for x in shape.by_partition:
        m = holder[x]
        if m < 0:
            continue
        if at[m] < end[m]:
            rows[at[m]] = codes[x] if x < codes.size else phantoms[x - codes.size]
            at[m] += 1
        else:
            holder[x] = -2 - m
    for m in range(length.size):
        length[m] = at[m] - begin[m]


@inner
def count_claims(numbers, racks, offsets, keeps, rivals):
    """Before 3.7.1: drop rival claims and those of other racks, count the others by member.

    That a partition is given up because of its rack is forgotten at once: nobody will wait for it.
    """
    owned = np.zeros(offsets.size - 1, dtype=np.int64)
    for m in range(owned.size):
        for k in range(offsets[m], offsets[m + 1]):
            if keeps[k]:
                x = numbers[k]
                keeps[k] = not (rivals[x] or (racks.in_use and racks_mismatch(racks, m, x)))
                owned[m] += keeps[k]
    return owned


@inner
def keep_first_claims(numbers, claims, keeps, rivals, kept, rows):
    """Before 3.7.1: write what members keep, which is what they claim first, in that order.

    What they lose is added to ``rivals``: whoever gets it must wait, even if it is the same member.
    Returns (their lengths, the holders, the first number that two members keep).
    """
    offsets, claimed = claims.offsets, claims.codes
    width = rows.size // kept.size
    length = np.zeros(kept.size, dtype=np.int64)
    holder = np.full(rivals.size, NOBODY, dtype=np.int32)
    doubled = rivals.size
    for m in range(kept.size):
        for k in range(offsets[m], offsets[m + 1]):
            if not keeps[k]:
                continue
            x = numbers[k]
            if length[m] == kept[m]:
                rivals[x] = True
                continue
            rows[m * width + length[m]] = claimed[k]
            length[m] += 1
            if holder[x] != NOBODY:
                doubled = min(doubled, x)
            holder[x] = m
    return length, holder, doubled


@leaf
def last_in_step(shape, phantoms, holder, doubled):
    """The last partition that counts as assigned because somebody keeps it.

    The original walks along all partitions and the kept ones in step. A kept phantom never turns
    up among all partitions, so behind its topic everything counts as unassigned; and so does
    everything behind a partition that is kept by two (``doubled``: the first such number).
    """
    last = doubled
    for i in range(phantoms.size):
        if holder[shape.codes.size + i] >= 0:
            topic = topic_of(phantoms[i])
            last = min(last, shape.base[topic] + shape.partitions[topic] - 1)
    return last


@inner
def unassigned_partitions(holder, total, last):
    """The partitions that nobody keeps, by (topic name, partition): int64[n]."""
    unassigned = np.empty(total, dtype=np.int64)
    n = 0
    for x in range(total):
        if holder[x] < 0 or x > last:
            unassigned[n] = x
            n += 1
    return unassigned[:n]


@leaf
def list_unfilled(by_id, state, deal):
    """Both lists of unfilled members, by member id."""
    under, exactly = deal.under, deal.exactly
    below = 0
    waiting = 0
    for m in by_id:
        if state[m] == UNDER_MIN:
            under[below] = m
            below += 1
        elif state[m] == EXACTLY_MIN:
            exactly[waiting] = m
            waiting += 1
    deal.ends[0] = below
    deal.ends[2] = waiting


@leaf
def await_one_more(m, deal):
    """A consumer that holds as much as the smaller quota waits for one partition more."""
    deal.exactly[deal.ends[2]] = m
    deal.ends[2] += 1


@leaf
def assign_new_partition(x, m, deal):
    """Give partition ``x`` to member ``m``; cooperatively not before its owner has given it up."""
    deal.size[m] += 1
    was = deal.holder[x]
    transferring = was < NOBODY and was != -2 - m
    if not (deal.cooperative and transferring):
        width = deal.rows.size // deal.size.size
        deal.rows[m * width + deal.length[m]] = deal.codes[x]
        deal.length[m] += 1


@leaf
def withhold_rivals(shape, rivals, in_hand, rows, length):
    """Before 3.7.1: of what was dealt after the first ``in_hand`` cards, take out ``rivals`` again.

    Where a member keeps such a partition already (see ``doubled``), it is that copy which goes.
    """
    width = rows.size // length.size
    for m in range(length.size):
        for dealt in range(in_hand[m], length[m]):
            code = rows[m * width + dealt]
            if rivals[number_of(code, shape.base)]:
                at = m * width
                while rows[at] != code:
                    at += 1
                rows[at] = GONE
        left = m * width
        for i in range(m * width, m * width + length[m]):
            if rows[i] != GONE:
                rows[left] = rows[i]
                left += 1
        length[m] = left - m * width


@inner
def assign_rack_aware_round_robin(racks, unassigned, deal):
    """Deal what can stay in a rack, first to members below ``min_quota``. Returns what is left."""
    turn = 0
    left = 0
    for x in unassigned:
        i = next_rack_consumer(racks, x, deal.under[: deal.ends[0]], turn)
        if i >= 0:
            m = deal.under[i]
            turn = fill_under(i, deal)
        else:
            i = next_rack_consumer(racks, x, deal.exactly[deal.ends[1] : deal.ends[2]], 0)
            if i < 0:
                unassigned[left] = x
                left += 1
                continue
            m = deal.exactly[deal.ends[1] + i]
            fill_exactly(i, deal)
        assign_new_partition(x, m, deal)
    return unassigned[:left]


@leaf
def fill_under(i, deal):
    """The i-th member below ``min_quota`` gets one. Returns whose turn is next."""
    m = deal.under[i]
    if deal.size[m] + 1 >= deal.min_quota:
        remove_at(deal.under, i, deal.ends[0])
        deal.ends[0] -= 1
        wanted = deal.over[0] < deal.expected or deal.release < CONSTRAINED_CORRECTED
        if deal.size[m] + 1 < deal.max_quota and wanted:
            await_one_more(m, deal)
    else:
        i += 1
    return 0 if deal.ends[0] == 0 else i % deal.ends[0]


@leaf
def fill_exactly(i, deal):
    """The i-th member at ``min_quota`` gets one more."""
    at = deal.ends[1] + i
    if deal.size[deal.exactly[at]] + 1 == deal.max_quota:
        remove_at(deal.exactly, at, deal.ends[2])
        deal.ends[2] -= 1
        if deal.release >= CONSTRAINED_CORRECTED:
            deal.over[0] += 1
            if deal.over[0] == deal.expected:
                deal.ends[1] = deal.ends[2]


@leaf
def remove_at(members, i, end):
    """Remove the i-th of the members before ``end``; those behind it move up."""
    for k in range(i, end - 1):
        members[k] = members[k + 1]


@leaf
def assign_round_robin(listed, left, last, deal):
    """Deal round after round to the members below ``min_quota``, then one each to the others.

    What is dealt: ``left`` if it is ``listed``, otherwise all that ``unassigned_partitions`` would
    list, without the list (a million of them take longer to write down than to deal).
    """
    turn = 0
    stay = 0
    for i in range(left.size if listed else deal.codes.size):
        x = left[i] if listed else i
        if not listed and deal.holder[x] >= 0 and x <= last:
            continue
        if turn == deal.ends[0]:
            deal.ends[0] = stay
            turn = 0
            stay = 0
        if turn < deal.ends[0]:
            m = deal.under[turn]
            turn += 1
        elif deal.ends[1] < deal.ends[2]:
            m = deal.exactly[deal.ends[1]]
            deal.ends[1] += 1
        else:
            return NO_UNFILLED
        assign_new_partition(x, m, deal)
        if deal.size[m] == deal.min_quota:
            await_one_more(m, deal)
            continue
        if deal.size[m] == deal.max_quota:
            deal.over[0] += 1
        if deal.ends[0] > 0:
            deal.under[stay] = m
            stay += 1
    remove_gap(turn, stay, deal)
    return DONE


@leaf
def remove_gap(turn, stay, deal):
    """Close the gap that members leave who were filled in an unfinished round."""
    for k in range(turn, deal.ends[0]):
        deal.under[stay] = deal.under[k]
        stay += 1
    deal.ends[0] = stay


@inner
def verify_unfilled_members(deal):
    """The original's check of itself, which phantoms can make fail."""
    if deal.ends[0] == 0:
        return DONE
    if deal.over[0] != deal.expected:
        return NOT_ENOUGH
    for m in deal.under[: deal.ends[0]]:
        if deal.size[m] != deal.min_quota:
            return BELOW_MIN
    return DONE


@inner
def lists_of_rows(rows, length):
    """Close up the rows, in place: (offsets int64[members + 1], codes int64[n])."""
    members = length.size
    width = rows.size // members
    offsets = np.zeros(members + 1, dtype=np.int64)
    for m in range(members):
        offsets[m + 1] = offsets[m] + length[m]
        if offsets[m] < m * width:
            for k in range(length[m]):
                rows[offsets[m] + k] = rows[m * width + k]
    return offsets, rows[: offsets[members]]


FAULTS = {
    NO_UNFILLED: (
        "IllegalStateException",
        "no more unfilled consumers: claims beyond the end of a topic took places",
    ),
    NOT_ENOUGH: (
        "IllegalStateException",
        "fewer members than expected have more than the minimum, and nothing is left",
    ),
    BELOW_MIN: ("IllegalStateException", "a member is below the minimum, and nothing is left"),
}
