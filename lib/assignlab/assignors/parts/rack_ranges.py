"""Range with racks: partitions go first to members in the rack of a replica."""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.racks import NO_RACK
from assignlab.compiled import inner, leaf, njit

NOBODY = -1


class RackMatching(NamedTuple):
    """Topics and racks as :func:`assign_with_rack_matching` takes them.

    ``spans``, ``subscribers``: topic i has ``subscribers[spans[i, 0]:spans[i, 1]]``, in order, and
    the partitions ``first[i]`` to ``first[i + 1]``, numbered over all topics; ``together``: per topic
    the number of its co-partitioned set; ``needed``: bool per topic, whether racks count for it
    alone. ``of_member``, ``in_sets``: int64[members], the rack of every member for topics alone and
    for co-partitioned sets; ``kind``, ``rack_starts``, ``racks``: partitions of kind k have replicas
    in ``racks[rack_starts[k]:rack_starts[k + 1]]`` (``NumberedRacks.kind``, ``by_kind``).
    """

    spans: np.ndarray
    subscribers: np.ndarray
    first: np.ndarray
    together: np.ndarray
    needed: np.ndarray
    of_member: np.ndarray
    in_sets: np.ndarray
    kind: np.ndarray
    rack_starts: np.ndarray
    racks: np.ndarray


class Quotas(NamedTuple):
    """Of one topic, or of one of several that are alike and filled alike: ``share`` int64[1], what
    each subscriber gets at least; ``extra`` int64[1], how many may still have one more; ``got``
    int64[...], what each has; ``looked_at`` int64[racks + 1], the first partition that may still
    suit a member in a rack, or without any, which is the last."""

    share: np.ndarray
    extra: np.ndarray
    got: np.ndarray
    looked_at: np.ndarray


@njit
def assign_with_rack_matching(
    spans, subscribers, first, together, needed, of_member, in_sets, kind, rack_starts, racks
):
    """Along racks as far as the quotas allow, then in ranges: see :class:`RackMatching`.

    Returns (owner of every partition, bool[partitions]: whether it was found along racks).
    """
    owners = np.full(first[-1], NOBODY, dtype=np.int64)
    along_racks = np.zeros(owners.size, dtype=np.bool_)
    nowhere = np.full(of_member.size, NO_RACK, dtype=np.int64)
    size = max(of_member.max(), in_sets.max()) + 2
    most = 0
    for i in range(len(spans)):
        most = max(most, spans[i, 1] - spans[i, 0])
    quotas = Quotas(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64),
                    np.zeros(most, dtype=np.int64), np.zeros(size, dtype=np.int64))  # fmt: skip
    got = quotas.got.copy()  # what was found along racks; of most topics nothing is
    matches = np.empty((0, 0), dtype=np.bool_)
    by_set = np.argsort(together, kind="mergesort")
    end = 0
    while end < by_set.size:
        lead, begin = by_set[end], end
        while end < by_set.size and together[by_set[end]] == together[lead]:
            end += 1
        topics = by_set[begin:end]
        consumers = subscribers[spans[lead, 0] : spans[lead, 1]]
        partitions = first[lead + 1] - first[lead]
        quotas.share[0] = partitions // consumers.size
        quotas.extra[0] = partitions % consumers.size
        along = topics.size > 1 or needed[lead]
        if along:
            matches = racks_match(topics, first, size, kind, rack_starts, racks)
            if topics.size > 1:
                assign_co_partitioned(topics, first, consumers, in_sets, matches, owners, quotas)
            else:
                assign_matching_ranges(lead, first, consumers, of_member, matches, owners, quotas)
        extra = quotas.extra[0]
        for c in range(consumers.size if along else 0):
            got[c] = quotas.got[c]
        for t in topics:
            for x in range(first[t], first[t + 1]):
                along_racks[x] = owners[x] != NOBODY
            quotas.extra[0] = extra
            seen = assign_matching_ranges(t, first, consumers, nowhere, matches, owners, quotas)
            for c in range(seen):
                quotas.got[c] = got[c]
        for c in range(consumers.size if along else 0):
            quotas.got[c] = got[c] = 0
    return owners, along_racks


@inner
def racks_match(topics, first, size, kind, rack_starts, racks):
    """Whether partition p of all these topics has a replica in rack r: bool[racks, partitions].

    ``size``: racks of members, and two.
    """
    lead = topics[0]
    partitions = first[lead + 1] - first[lead]
    count = max(size, racks.max() + 1 if racks.size > 0 else 0)
    topics_in_rack = np.zeros((count, partitions), dtype=np.int64)
    for t in topics:
        for p in range(partitions):
            k = kind[first[t] + p]
            for i in range(rack_starts[k], rack_starts[k + 1]):
                topics_in_rack[racks[i], p] += 1
    return topics_in_rack == topics.size


@leaf
def max_assignable(c, quotas):
    """How many partitions of the topic its c-th subscriber may still get."""
    return max(0, quotas.share[0] + (1 if quotas.extra[0] > 0 else 0) - quotas.got[c])


@leaf
def on_assigned(c, count, quotas):
    """The c-th subscriber got ``count`` more of the topic."""
    quotas.got[c] += count
    if quotas.got[c] > quotas.share[0]:
        quotas.extra[0] -= 1


@leaf
def assign_co_partitioned(topics, first, consumers, of_member, matches, owners, quotas):
    """Partition by partition of all topics at once, to the first subscriber that suits them all."""
    lead = topics[0]
    remaining = np.arange(consumers.size)
    left = remaining.size
    for p in range(first[lead + 1] - first[lead]):
        at = 0
        while at < left:
            rack = of_member[consumers[remaining[at]]]
            if (rack == NO_RACK or matches[rack, p]) and max_assignable(remaining[at], quotas) > 0:
                break
            at += 1
        if at == left:
            continue
        c = remaining[at]
        for t in topics:
            owners[first[t] + p] = consumers[c]
        on_assigned(c, 1, quotas)
        if max_assignable(c, quotas) == 0:
            left -= 1
            for k in range(at, left):
                remaining[k] = remaining[k + 1]


@leaf
def assign_matching_ranges(t, first, consumers, of_member, matches, owners, quotas):
    """Subscriber after subscriber takes the next partitions that suit its rack, up to its quota.

    Returns how many subscribers were looked at before nothing was left.
    """
    left = 0
    for x in range(first[t], first[t + 1]):
        left += owners[x] == NOBODY
    for rack in range(quotas.looked_at.size):
        quotas.looked_at[rack] = first[t]
    for c in range(consumers.size):
        if left == 0:
            return c
        room = max_assignable(c, quotas)
        rack = of_member[consumers[c]]
        count, x = 0, quotas.looked_at[rack]
        while x < first[t + 1] and count < room:
            if owners[x] == NOBODY and (rack == NO_RACK or matches[rack, x - first[t]]):
                owners[x] = consumers[c]
                count += 1
            x += 1
        quotas.looked_at[rack] = x
        if count > 0:
            left -= count
            on_assigned(c, count, quotas)
    return consumers.size
