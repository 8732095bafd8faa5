"""Claims as the sticky assignors since 2.5 read them: who keeps what, and who lost it to whom.

Both algorithms, for equal and for different subscriptions, start from here. Partitions of
subscribed topics get dense numbers: ``base[topic] + partition`` with topics in the order of their
names. A claim beyond a topic's last partition (the topic was recreated smaller) counts like any
other in the originals; such *phantoms* get the numbers behind all real ones.

Source: ``AbstractStickyAssignor.allSubscriptionsEqual`` and ``memberData`` of kafka-clients 4.4.0.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.kafka.parts.releases import (
    GENERATIONS_APART,
    OWNERS_REMEMBERED,
    RIVALS_NOTICED,
)
from assignlab.assignors.parts import orders
from assignlab.assignors.parts.packed import pack, part, room_for
from assignlab.assignors.parts.slices import copy_into, first_from
from assignlab.compiled import inner, leaf, njit
from assignlab.group.assignment import code, partition_of, topic_of
from assignlab.group.model import ABSENT, Group

NOBODY = -1
DISPUTED = -(2**31)
NOT_ASSIGNED, UNKNOWN = -1, -2
"""Instead of the number of a claimed partition: its topic is not to be assigned, or it is a phantom
that is not among the known ones."""
NO_GENERATION = -1
NO_PHANTOMS = np.empty(0, dtype=np.int64)
PHANTOMS = 9
"""A status beside the numbers of an algorithm's ``FAULTS``: it asks to be told the phantoms, claimed
partitions that the cluster does not have, and to be called again."""


class Claimed(NamedTuple):
    """The claims, as in :class:`assignlab.group.model.Claims`, whose fields these are.

    From Python they come as a plain tuple: numba takes 1 us more to unpack a named one.
    """

    offsets: np.ndarray
    codes: np.ndarray
    present: np.ndarray
    generation: np.ndarray
    sub_generation: np.ndarray


class Shape(NamedTuple):
    """What topics and members fix, whatever is claimed.

    ``by_hash``, ``by_owned``, ``by_id``: int64[members], the order of the map of subscriptions, of
    the map of owned partitions, which is filled in that order, and of the ids; ``topics``:
    int64[n] by name, those with partitions that somebody subscribes to; ``base``:
    int64[all topics], first number of each, -1 for other topics; ``partitions``:
    int64[all topics]; ``codes``: int64[total], partition code of every number;
    ``rank``: int64[all topics], position in ``topics``; ``by_partition``: int64[total], the
    numbers by (partition, topic name), those of phantoms too where they are known.
    """

    by_hash: np.ndarray
    by_owned: np.ndarray
    by_id: np.ndarray
    topics: np.ndarray
    base: np.ndarray
    partitions: np.ndarray
    codes: np.ndarray
    rank: np.ndarray
    by_partition: np.ndarray


class Settled(NamedTuple):
    """What the claims come to.

    ``holder``: int32[partitions + phantoms], the member that keeps a partition, -1 for nobody,
    -2 - m where it was taken from m; ``owned``: int64[members], how many each keeps; ``rivals``:
    bool[partitions + phantoms], two claims of one generation met here, bool[0] if no partition is
    claimed twice; ``unknown``: whether a claim is ``UNKNOWN``, then nothing else is true.
    """

    holder: np.ndarray
    owned: np.ndarray
    rivals: np.ndarray
    unknown: bool


def shape_of(group: Group) -> Shape:
    """Number the partitions of the subscribed topics."""
    return unpack_shape(group.prepared(packed_shape))


def packed_shape(group: Group) -> np.ndarray:
    """:func:`shape_of` in one array."""
    known = group.prepared(orders.walks)
    return number_partitions(
        group.prepared(orders.members_by_hash), known.members_again, orders.members_by_id(group),
        known.topics_by_name, group.topics.partitions,
    )  # fmt: skip


@njit
def number_partitions(by_hash, by_owned, by_id, topics, partitions):
    """The packed shape from the orders of members and topics."""
    total = 0
    for t in topics:
        total += partitions[t]
    members, known = by_id.size, partitions.size
    packed = room_for((members, members, members, topics.size, known, known, total, known, total))
    shape = unpack_shape(packed)
    copy_into(shape.by_hash, 0, by_hash)
    copy_into(shape.by_owned, 0, by_owned)
    copy_into(shape.by_id, 0, by_id)
    copy_into(shape.topics, 0, topics)
    copy_into(shape.partitions, 0, partitions)
    base, codes, rank, by_partition = shape.base, shape.codes, shape.rank, shape.by_partition
    for t in range(known):
        base[t] = rank[t] = -1
    total = 0
    for i in range(topics.size):
        t = topics[i]
        base[t] = total
        rank[t] = i
        for p in range(partitions[t]):
            codes[total] = code(t, p)
            total += 1
    waiting = topics.copy()
    left = topics.size
    n = 0
    p = 0
    while left > 0:
        longer = 0
        for i in range(left):
            t = waiting[i]
            if p < partitions[t]:
                by_partition[n] = base[t] + p
                n += 1
                waiting[longer] = t
                longer += 1
        left = longer
        p += 1
    return packed


@inner
def unpack_shape(packed):
    """The :class:`Shape` in a packed one."""
    return Shape(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4), part(packed, 5), part(packed, 6), part(packed, 7), part(packed, 8),
    )  # fmt: skip


def all_subscriptions_equal(group: Group) -> bool:
    """Whether the group takes the road for equal subscriptions."""
    return group.prepared(members_alike) == len(group.members)


def members_alike(group: Group) -> int:
    """How many members, in hash order, come before the first whose subscription differs."""
    sent = group.sent
    if sent.offsets.size == 2 and sent is group.members:
        return len(sent)
    return first_difference(
        group.prepared(orders.members_by_hash), sent.subscription, sent.offsets, sent.topics,
        len(group.topics),
    )  # fmt: skip


@njit
def first_difference(by_hash, subscription, offsets, topics, known):
    """The place of the first subscription that is not the same set as the first that is not empty.

    Empty ones before that one (in hash order) count as equal, empty ones behind it do not. Sets
    are compared with lists, and by their lengths first: a list that names a topic twice differs
    from its own set, and may equal another.
    """
    same = np.zeros(offsets.size - 1, dtype=np.bool_)
    wanted = np.zeros(known, dtype=np.bool_)
    count = 0
    for i in range(by_hash.size):
        s = subscription[by_hash[i]]
        if same[s]:
            continue
        named = topics[offsets[s] : offsets[s + 1]]
        if count == 0:
            for t in named:
                count += not wanted[t]
                wanted[t] = True
            same[s] = 0 < count == named.size
            continue
        if named.size != count:
            return i
        for t in named:
            if not wanted[t]:
                return i
        same[s] = True
    return by_hash.size


def phantoms_of(group: Group, shape: Shape) -> np.ndarray:
    """The codes of the phantoms that somebody claims, sorted: int64[phantoms]."""
    claimed = group.claims.codes
    topic = topic_of(claimed)
    beyond = (shape.base[topic] >= 0) & (partition_of(claimed) >= shape.partitions[topic])
    return np.unique(claimed[beyond])


def with_phantoms(packed: np.ndarray, phantoms: np.ndarray) -> np.ndarray:
    """The packed shape that knows the place of the phantoms among the partitions."""
    shape = unpack_shape(packed)
    codes = np.concatenate((shape.codes, phantoms))
    by_partition = np.lexsort((shape.rank[topic_of(codes)], partition_of(codes)))
    return pack((*shape[:-1], by_partition))


@leaf
def number_of_claim(shape, phantoms, claimed):
    """The number of a claimed partition, else ``NOT_ASSIGNED`` or ``UNKNOWN``."""
    topic = topic_of(claimed)
    if shape.base[topic] < 0:
        return NOT_ASSIGNED
    partition = partition_of(claimed)
    if partition < shape.partitions[topic]:
        return shape.base[topic] + partition
    place = first_from(phantoms, claimed)
    known = place < phantoms.size and phantoms[place] == claimed
    return shape.codes.size + place if known else UNKNOWN


@inner
def numbers_of_claims(shape, phantoms, codes):
    """The number of every claimed partition.
    Returns (int64[claims], whether any is ``UNKNOWN``)."""
    numbers = np.empty(codes.size, dtype=np.int64)
    unknown = False
    for k in range(codes.size):
        numbers[k] = number_of_claim(shape, phantoms, codes[k])
        unknown = unknown or numbers[k] == UNKNOWN
    return numbers, unknown


@inner
def claimed_generations(cooperative, claims):
    """The generation that goes with each member's claims (``memberData``).

    Eager: from its user data. Cooperative: the subscription's, else from its user data.
    Returns (int64[members], the newest of them).
    """
    claimed = np.full(claims.present.size, NO_GENERATION)
    newest = NO_GENERATION
    for m in range(claimed.size):
        if cooperative and claims.sub_generation[m] >= 0:
            claimed[m] = claims.sub_generation[m]
        elif (cooperative or claims.present[m]) and claims.generation[m] != ABSENT:
            claimed[m] = claims.generation[m]
        newest = max(newest, claimed[m])
    return claimed, newest


@inner
def settle_claims(shape, phantoms, claims, mine):
    """Read all claims and settle those to one partition, member by member in hash order.

    The newer generation keeps a partition. In the same generation both lose it. The claimant met
    earlier is judged by ``sub_generation``, the later one by the generation of its claims, ``mine``
    (:func:`claimed_generations`). Returns :class:`Settled`.
    """
    settled = first_claims(shape, phantoms, claims)
    if settled.unknown or settled.rivals.size == 0:
        return settled
    holder, owned = settled.holder, settled.owned
    disputed = holder == DISPUTED
    holder[disputed] = NOBODY
    for m in shape.by_hash:
        for k in range(claims.offsets[m], claims.offsets[m + 1]):
            x = number_of_claim(shape, phantoms, claims.codes[k])
            if x < 0 or not disputed[x]:
                continue
            if holder[x] == NOBODY:
                holder[x] = m
                owned[m] += 1
            else:
                settle_rival(x, m, mine[m], claims.sub_generation, settled)
    return settled


@inner
def first_claims(shape, phantoms, claims):
    """The claims that nobody disputes, which are nearly all.

    Members are read by id: neighbours were dealt neighbouring partitions. Returns
    :class:`Settled`, with ``DISPUTED`` as the holder where several claim a partition.
    """
    offsets, codes = claims.offsets, claims.codes
    holder = np.full(shape.codes.size + phantoms.size, NOBODY, dtype=np.int32)
    owned = np.zeros(shape.by_id.size, dtype=np.int64)
    contested = unknown = False
    for m in shape.by_id:
        first = 0
        for k in range(offsets[m], offsets[m + 1]):
            x = number_of_claim(shape, phantoms, codes[k])
            if x < 0:
                unknown = unknown or x == UNKNOWN
                continue
            if holder[x] == NOBODY:
                holder[x] = m
                first += 1
                continue
            contested = True
            if holder[x] != DISPUTED:
                owned[holder[x]] -= 1
                holder[x] = DISPUTED
        owned[m] += first
    rivals = np.zeros(holder.size if contested else 0, dtype=np.bool_)
    return Settled(holder, owned, rivals, unknown)


@leaf
def settle_rival(x, m, mine, sub_generation, settled):
    """Member ``m`` claims partition ``x``, which an earlier claim names too."""
    holder, owned = settled.holder, settled.owned
    other = holder[x] if holder[x] >= 0 else -2 - holder[x]
    others = max(sub_generation[other], NO_GENERATION)
    if mine < others or (mine > others and other == m):
        return
    if holder[x] >= 0:
        owned[other] -= 1
    if mine == others:
        settled.rivals[x] = True
        holder[x] = -2 - m
    else:
        holder[x] = m
        owned[m] += 1


@inner
def settle_claims_one_by_one(by_hash, numbers, total, claims, mine, newest, release):
    """:func:`settle_claims` for releases in which a partition may be left with several members.

    Every claim is compared with the last one before it, in 3.4 even if that one had lost already.
    So A of generation 2 may keep a partition, B of generation 1 claim it in vain, and C of
    generation 2 win against B: then both A and C keep it. Before 3.4 only claims of the newest
    generation count: of several for one partition none, before 2.8 all.

    ``by_hash``: int64[members]; ``numbers``: int64[claims], which partition each is about, -1 for
    none that counts; ``total``: how many numbers there are; ``mine``, ``newest``: as from
    :func:`claimed_generations`.

    Returns (keeps bool[claims]; rivals bool[total]: two claims of one generation met here).
    """
    offsets, sub_generation = claims.offsets, claims.sub_generation
    keeps = np.zeros(numbers.size, dtype=np.bool_)
    rivals = np.zeros(total, dtype=np.bool_)
    last = np.full(total, NOBODY, dtype=np.int32)
    for m in by_hash:
        if release < GENERATIONS_APART and mine[m] < newest:
            continue
        for k in range(offsets[m], offsets[m + 1]):
            x = numbers[k]
            if x < 0:
                continue
            if release < RIVALS_NOTICED:
                keeps[k] = True
                continue
            other = last[x]
            if other == NOBODY:
                keeps[k] = True
                last[x] = m
                continue
            others = mine[m]
            if release >= GENERATIONS_APART:
                others = max(sub_generation[other], NO_GENERATION)
            if mine[m] >= others or release < OWNERS_REMEMBERED:
                last[x] = m
            keeps[k] = mine[m] > others
            if mine[m] >= others:
                drop_first_claim(keeps, numbers, offsets[other], offsets[other + 1], x)
                rivals[x] = rivals[x] or mine[m] == others
    return keeps, rivals


@leaf
def drop_first_claim(keeps, numbers, start, end, x):
    """Of the claims from ``start`` to ``end`` the first kept one of partition ``x`` is dropped."""
    for k in range(start, end):
        if keeps[k] and numbers[k] == x:
            keeps[k] = False
            return
