"""The order in which librdkafka sorts members.

Two static members compare by group.instance.id, any other two by member id. Where static and other
members mix, that is no order at all (a before b before c before a is possible), and what ``qsort``
makes of it depends on the C library. This is glibc's, a merge sort.

Members that subscribe to nothing are not there: the leader cannot read their metadata and leaves
them out.

Source: ``rd_kafka_group_member_cmp`` of librdkafka 2.15.1, ``msort_with_tmp`` of glibc 2.36.
"""

from collections.abc import Sequence

import numpy as np

from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.group.model import Group


def members_that_subscribe(group: Group) -> np.ndarray:
    """The members that the leader can read, in the group's order: int64[n]."""
    members = group.members
    return np.flatnonzero(np.diff(members.offsets)[members.subscription] > 0)


def sorted_members(group: Group, members: Sequence[int]) -> list[int]:
    """Members (indices, in the order in which they stand) as librdkafka sorts them."""
    names, instances = group.members.names.names, group.members.instances
    members = list(members)
    static = 0 if instances is None else sum(instances[m] is not None for m in members)
    if static == 0:
        return sorted(members, key=names.__getitem__)
    if static == len(members):
        return sorted(members, key=instances.__getitem__)

    def not_after(one: int, other: int) -> bool:
        if instances[one] is not None and instances[other] is not None:
            return instances[one] <= instances[other]
        return names[one] <= names[other]

    return merge_sorted(members, not_after)


def merge_sorted(entries: list, not_after) -> list:
    """Merge sort as glibc does it: halves, the first the smaller one.

    >>> merge_sorted([3, 1, 2], int.__le__)
    [1, 2, 3]
    """
    if len(entries) < 2:
        return entries
    half = len(entries) // 2
    left, right = merge_sorted(entries[:half], not_after), merge_sorted(entries[half:], not_after)
    merged, l, r = [], 0, 0
    while l < len(left) and r < len(right):
        if not_after(left[l], right[r]):
            merged.append(left[l])
            l += 1
        else:
            merged.append(right[r])
            r += 1
    return merged + left[l:] + right[r:]


def circle_of_all(group: Group) -> np.ndarray:
    """All members that subscribe to something, sorted: int64[n]."""
    return np.array(sorted_members(group, members_that_subscribe(group).tolist()), dtype=np.int64)


def crowds(group: Group) -> tuple[list[int], list[list[int]]]:
    """The number of every topic's crowd, and the members of every crowd, sorted: topics that the same
    members subscribe to have one."""
    kinds, subscribed = group.prepared(kinds_of_topics)
    numbers: dict[tuple[int, ...], int] = {}
    of_kind = []
    for row in subscribed:
        standing = np.flatnonzero(row[group.members.subscription]).tolist()
        crowd = tuple(sorted_members(group, standing))
        of_kind.append(numbers.setdefault(crowd, len(numbers)))
    return [of_kind[kind] for kind in kinds.tolist()], list(map(list, numbers))
