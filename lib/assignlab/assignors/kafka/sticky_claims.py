"""Claims as the sticky assignors since 2.4 read them: who keeps what, and who lost it to whom.

Both algorithms, for equal and for different subscriptions, start from here. Partitions of
subscribed topics get dense numbers: ``base[topic] + partition`` with topics in the order of their
names. A claim beyond a topic's last partition (the topic was recreated smaller) counts like any
other in the originals; such *phantoms* get the numbers behind all real ones.

Source: ``AbstractStickyAssignor.allSubscriptionsEqual`` and ``memberData`` of kafka-clients 4.4.0.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignment import partition_of, topic_of
from assignlab.assignors.kafka import orders
from assignlab.assignors.kafka.packed import pack, part
from assignlab.assignors.kafka.sticky_releases import (
    GENERATIONS_APART,
    OWNERS_REMEMBERED,
    RIVALS_NOTICED,
)
from assignlab.compiled import inner, njit
from assignlab.group import ABSENT, Group
from assignlab.jvm import hash_map_order

NOBODY = -1
FEW_FOR_A_TREE = 8
NO_GENERATION = -1
UNKNOWN_PHANTOM = -(2**40)
NO_PHANTOMS = np.empty(0, dtype=np.int64)


class Shape(NamedTuple):
    """What topics and members fix, whatever is claimed.

    ``by_hash``, ``by_owned``, ``by_id``: int64[members], the order of the map of subscriptions, of
    the map of owned partitions, which is filled in that order, and of the ids; ``topics``:
    int64[n] by name, those with partitions that somebody subscribes to; ``base``:
    int64[all topics], first number of each, -1 for other topics; ``partitions``:
    int64[all topics]; ``codes``: int64[total], partition code of every number;
    ``rank``: int64[all topics], position in ``topics``.
    """

    by_hash: np.ndarray
    by_owned: np.ndarray
    by_id: np.ndarray
    topics: np.ndarray
    base: np.ndarray
    partitions: np.ndarray
    codes: np.ndarray
    rank: np.ndarray


def shape_of(group: Group) -> Shape:
    """Number the partitions of the subscribed topics."""
    return unpack_shape(group.prepared(packed_shape))


def packed_shape(group: Group) -> np.ndarray:
    """:func:`shape_of` in one array."""
    names = group.members.names
    by_hash = by_owned = group.prepared(orders.members_by_hash)
    if len(names) > FEW_FOR_A_TREE:
        by_owned = by_hash[hash_map_order(names.hashes[by_hash], rank=names.rank[by_hash])]
    return number_partitions(
        by_hash, by_owned, names.order, group.prepared(orders.topics_by_name),
        group.topics.partitions,
    )  # fmt: skip


@njit
def number_partitions(by_hash, by_owned, by_id, topics, partitions):
    """The packed shape from the orders of members and topics."""
    base = np.full(partitions.size, -1, dtype=np.int64)
    rank = np.full(partitions.size, -1, dtype=np.int64)
    total = 0
    for i in range(topics.size):
        base[topics[i]] = total
        rank[topics[i]] = i
        total += partitions[topics[i]]
    codes = np.empty(total, dtype=np.int64)
    for t in topics:
        for p in range(partitions[t]):
            codes[base[t] + p] = (t << 32) + p
    return pack((by_hash, by_owned, by_id, topics, base, partitions, codes, rank))


@inner
def unpack_shape(packed):
    """The :class:`Shape` in a packed one."""
    return Shape(
        part(packed, 0), part(packed, 1), part(packed, 2), part(packed, 3),
        part(packed, 4), part(packed, 5), part(packed, 6), part(packed, 7),
    )  # fmt: skip


def all_subscriptions_equal(group: Group) -> bool:
    """Whether the group takes the road for equal subscriptions."""
    return group.prepared(members_alike) == len(group.members)


def members_alike(group: Group) -> int:
    """How many members, in hash order, come before the first whose subscription differs."""
    members = group.members
    if members.offsets.size == 2:
        return len(members)
    return first_difference(
        group.prepared(orders.members_by_hash), members.subscription, members.offsets,
        members.topics, len(group.topics),
    )  # fmt: skip


@njit
def first_difference(by_hash, subscription, offsets, topics, known):
    """The place of the first subscription that is not the same set as the first that is not empty.

    Empty ones before that one (in hash order) count as equal, empty ones behind it do not.
    """
    same = np.zeros(offsets.size - 1, dtype=np.bool_)
    wanted = np.zeros(known, dtype=np.bool_)
    count = 0
    for i in range(by_hash.size):
        s = subscription[by_hash[i]]
        if same[s]:
            continue
        if count == 0:
            count = offsets[s + 1] - offsets[s]
            for k in range(offsets[s], offsets[s + 1]):
                wanted[topics[k]] = True
        elif offsets[s + 1] - offsets[s] != count:
            return i
        for k in range(offsets[s], offsets[s + 1]):
            if not wanted[topics[k]]:
                return i
        same[s] = count > 0
    return by_hash.size


def phantoms_of(group: Group, shape: Shape) -> np.ndarray:
    """The codes of the phantoms that somebody claims, sorted: int64[phantoms]."""
    claimed = group.claims.codes
    topic = topic_of(claimed)
    beyond = (shape.base[topic] >= 0) & (partition_of(claimed) >= shape.partitions[topic])
    return np.unique(claimed[beyond])


@inner
def number_of_phantom(claimed, shape, phantoms):
    """The number of a claim beyond the end of its topic; -1 if it is not among the phantoms."""
    k = np.searchsorted(phantoms, claimed)
    if k == phantoms.size or phantoms[k] != claimed:
        return -1
    return shape.codes.size + k


@inner
def number_in(topic, partition, shape, phantoms):
    """The number of a claimed partition of a subscribed topic; -1 for an unknown phantom."""
    if partition < shape.partitions[topic]:
        return shape.base[topic] + partition
    return number_of_phantom((topic << 32) + partition, shape, phantoms)


@inner
def numbers_of_claims(shape, phantoms, codes):
    """The number of every claimed partition, -1 where its topic is not to be assigned.

    Returns (int64[claims], whether a claim is beyond the end and not among ``phantoms``).
    """
    base, partitions = shape.base, shape.partitions
    numbers = np.empty(codes.size, dtype=np.int64)
    unknown = False
    for k in range(codes.size):
        topic = codes[k] >> 32
        partition = codes[k] - (topic << 32)
        if base[topic] < 0:
            numbers[k] = -1
        elif partition < partitions[topic]:
            numbers[k] = base[topic] + partition
        else:
            numbers[k] = number_of_phantom(codes[k], shape, phantoms)
            unknown = unknown or numbers[k] < 0
    return numbers, unknown


@inner
def claimed_generation(m, cooperative, present, generation, sub_generation):
    """The generation that goes with a member's claims (``memberData``).

    Eager: from its user data. Cooperative: the subscription's, else from its user data.
    """
    if cooperative and sub_generation[m] >= 0:
        return sub_generation[m]
    if (cooperative or present[m]) and generation[m] != ABSENT:
        return generation[m]
    return NO_GENERATION


@inner
def settle_claims(
    shape, phantoms, offsets, codes, present, generation, sub_generation, cooperative
):
    """Read all claims, member by member in hash order, and settle rival ones.

    The newer generation keeps a partition. In the same generation both lose it. The claimant met
    earlier is judged by ``sub_generation``, the later one by the generation of its claims.

    Returns (holder int32[partitions + phantoms]: the member that keeps a partition, -1 for nobody,
    -2 - m where it was taken from m; rivals bool[same]: two claims of one generation met here;
    owned int64[members]: how many each keeps; the newest generation, ``UNKNOWN_PHANTOM`` when a
    claim is beyond the end and not among ``phantoms``).
    """
    base, partitions = shape.base, shape.partitions
    holder = np.full(shape.codes.size + phantoms.size, NOBODY, dtype=np.int32)
    rivals = np.zeros(holder.size, dtype=np.bool_)
    owned = np.zeros(shape.by_hash.size, dtype=np.int64)
    newest = NO_GENERATION
    for m in shape.by_hash:
        mine = claimed_generation(m, cooperative, present, generation, sub_generation)
        newest = max(newest, mine)
        for k in range(offsets[m], offsets[m + 1]):
            topic = codes[k] >> 32
            if base[topic] < 0:
                continue
            partition = codes[k] - (topic << 32)
            x = base[topic] + partition
            if partition >= partitions[topic]:
                x = number_of_phantom(codes[k], shape, phantoms)
                if x < 0:
                    return holder, rivals, owned, UNKNOWN_PHANTOM
            if holder[x] == NOBODY:
                holder[x] = m
                owned[m] += 1
            else:
                settle_rival(x, m, mine, sub_generation, holder, rivals, owned)
    return holder, rivals, owned, newest


@inner
def settle_rival(x, m, mine, sub_generation, holder, rivals, owned):
    """Member ``m`` claims partition ``x``, which an earlier claim names too."""
    other = holder[x] if holder[x] >= 0 else -2 - holder[x]
    others = max(sub_generation[other], NO_GENERATION)
    if mine < others or (mine > others and other == m):
        return
    if holder[x] >= 0:
        owned[other] -= 1
    if mine == others:
        rivals[x] = True
        holder[x] = -2 - m
    else:
        holder[x] = m
        owned[m] += 1


@inner
def settle_claims_one_by_one(
    by_hash, numbers, total, offsets, present, generation, sub_generation, cooperative, release
):
    """:func:`settle_claims` for releases in which a partition may be left with several members.

    Every claim is compared with the last one before it, in 3.4 even if that one had lost already.
    So A of generation 2 may keep a partition, B of generation 1 claim it in vain, and C of
    generation 2 win against B: then both A and C keep it. Before 3.4 only claims of the newest
    generation count: of several for one partition none, before 2.8 all.

    ``by_hash``: int64[members]; ``numbers``: int64[claims], which partition each is about, -1 for
    none that counts; ``total``: how many numbers there are.

    Returns (keeps bool[claims]; rivals bool[total]: two claims of one generation met here; the
    newest generation).
    """
    keeps = np.zeros(numbers.size, dtype=np.bool_)
    rivals = np.zeros(total, dtype=np.bool_)
    last = np.full(total, NOBODY, dtype=np.int32)
    newest = NO_GENERATION
    for m in by_hash:
        mine = claimed_generation(m, cooperative, present, generation, sub_generation)
        newest = max(newest, mine)
    for m in by_hash:
        mine = claimed_generation(m, cooperative, present, generation, sub_generation)
        if release < GENERATIONS_APART and mine < newest:
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
            others = mine
            if release >= GENERATIONS_APART:
                others = max(sub_generation[other], NO_GENERATION)
            if mine >= others or release < OWNERS_REMEMBERED:
                last[x] = m
            keeps[k] = mine > others
            if mine >= others:
                drop_first_claim(keeps, numbers, offsets[other], offsets[other + 1], x)
                rivals[x] = rivals[x] or mine == others
    return keeps, rivals, newest


@inner
def drop_first_claim(keeps, numbers, start, end, x):
    """Of the claims from ``start`` to ``end`` the first kept one of partition ``x`` is dropped."""
    for k in range(start, end):
        if keeps[k] and numbers[k] == x:
            keeps[k] = False
            return
