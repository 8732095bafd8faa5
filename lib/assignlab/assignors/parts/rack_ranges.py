"""Range with racks: partitions go first to members in the rack of a replica."""

import numpy as np

from assignlab.assignors.parts.racks import NO_RACK
from assignlab.compiled import inner, leaf, njit

NOBODY = -1


@njit
def assign_with_rack_matching(
    starts, subscribers, first, together, needed, of_member, in_sets, kind, rack_starts, racks
):
    """Along racks as far as the quotas allow, then in ranges.

    The partitions of kind k have replicas in ``racks[rack_starts[k]:rack_starts[k + 1]]``.

    ``got`` counts what each subscriber has of each topic, ``extra`` the subscribers per topic that
    may still have one more than the others. Returns (owner of every partition, bool[partitions]:
    whether it was found along racks).
    """
    owners = np.full(first[-1], NOBODY, dtype=np.int64)
    got = np.zeros(subscribers.size, dtype=np.int64)
    extra = np.empty(together.size, dtype=np.int64)
    for i in range(extra.size):
        extra[i] = (first[i + 1] - first[i]) % (starts[i + 1] - starts[i])
    matches = np.empty((0, 0), dtype=np.bool_)
    for s in range(together.max() + 1):
        topics = np.flatnonzero(together == s)
        lead = topics[0]
        consumers = subscribers[starts[lead] : starts[lead + 1]]
        if topics.size > 1:
            matches = racks_match(topics, first, in_sets, kind, rack_starts, racks)
            assign_co_partitioned(
                topics, starts, first, consumers, in_sets, matches, owners, got, extra
            )
        elif needed[lead]:
            matches = racks_match(topics, first, of_member, kind, rack_starts, racks)
            assign_matching_ranges(
                lead, starts, first, consumers, of_member, matches, owners, got, extra
            )
    along_racks = owners != NOBODY
    nowhere = np.full(of_member.size, NO_RACK, dtype=np.int64)
    for i in range(together.size):
        consumers = subscribers[starts[i] : starts[i + 1]]
        assign_matching_ranges(i, starts, first, consumers, nowhere, matches, owners, got, extra)
    return owners, along_racks


@inner
def racks_match(topics, first, of_member, kind, rack_starts, racks):
    """Whether partition p of all these topics has a replica in rack r: bool[racks, partitions]."""
    lead = topics[0]
    partitions = first[lead + 1] - first[lead]
    count = of_member.max() + 1
    if racks.size > 0:
        count = max(count, racks.max() + 1)
    topics_in_rack = np.zeros((count, partitions), dtype=np.int64)
    for t in topics:
        for p in range(partitions):
            k = kind[first[t] + p]
            for i in range(rack_starts[k], rack_starts[k + 1]):
                topics_in_rack[racks[i], p] += 1
    return topics_in_rack == topics.size


@leaf
def max_assignable(i, c, starts, first, got, extra):
    """How many partitions of topic i its c-th subscriber may still get."""
    share = (first[i + 1] - first[i]) // (starts[i + 1] - starts[i])
    return max(0, share + (1 if extra[i] > 0 else 0) - got[starts[i] + c])


@leaf
def on_assigned(i, c, count, starts, first, got, extra):
    """The c-th subscriber of topic i got ``count`` more of it."""
    got[starts[i] + c] += count
    if got[starts[i] + c] > (first[i + 1] - first[i]) // (starts[i + 1] - starts[i]):
        extra[i] -= 1


@leaf
def assign_co_partitioned(topics, starts, first, consumers, of_member, matches, owners, got, extra):
    """Partition by partition of all topics at once, to the first subscriber that suits them all.

    The topics are alike and filled alike, so the first speaks for all.
    """
    lead = topics[0]
    remaining = np.arange(consumers.size)
    left = remaining.size
    for p in range(first[lead + 1] - first[lead]):
        at = 0
        while at < left:
            rack = of_member[consumers[remaining[at]]]
            if (rack == NO_RACK or matches[rack, p]) and max_assignable(
                lead, remaining[at], starts, first, got, extra
            ) > 0:
                break
            at += 1
        if at == left:
            continue
        c = remaining[at]
        for t in topics:
            owners[first[t] + p] = consumers[c]
            on_assigned(t, c, 1, starts, first, got, extra)
        if max_assignable(lead, c, starts, first, got, extra) == 0:
            left -= 1
            for k in range(at, left):
                remaining[k] = remaining[k + 1]


@leaf
def assign_matching_ranges(i, starts, first, consumers, of_member, matches, owners, got, extra):
    """Subscriber after subscriber takes the next partitions that suit its rack, up to its quota."""
    left = 0
    for x in range(first[i], first[i + 1]):
        left += owners[x] == NOBODY
    for c in range(consumers.size):
        if left == 0:
            break
        room = max_assignable(i, c, starts, first, got, extra)
        rack = of_member[consumers[c]]
        count = 0
        for p in range(first[i + 1] - first[i]):
            if count == room:
                break
            x = first[i] + p
            if owners[x] == NOBODY and (rack == NO_RACK or matches[rack, p]):
                owners[x] = consumers[c]
                count += 1
        if count > 0:
            left -= count
            on_assigned(i, c, count, starts, first, got, extra)
