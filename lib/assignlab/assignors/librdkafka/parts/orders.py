"""The order in which librdkafka sorts members.

Two static members compare by group.instance.id, any other two by member id. Where static and other
members mix, that is no order at all (a before b before c before a is possible), and what ``qsort``
makes of it depends on the C library. This is glibc's, a merge sort.

Members that subscribe to nothing are not there: the leader cannot read their metadata and leaves
them out.

Source: ``rd_kafka_group_member_cmp`` of librdkafka 2.15.1, ``msort_with_tmp`` of glibc 2.36.
"""

from operator import itemgetter

import numpy as np

from assignlab.assignors.parts.code_points import members_by_id, ranks
from assignlab.assignors.parts.orders import kinds_of_topics
from assignlab.group.model import Group


def members_that_subscribe(group: Group) -> np.ndarray:
    """The members that the leader can read, in the group's order: int64[n]."""
    members = group.members
    return np.flatnonzero(np.diff(members.offsets)[members.subscription] > 0)


def sorted_members(group: Group, members: np.ndarray) -> np.ndarray:
    """Members (int64[n], in the order in which they stand) as librdkafka sorts them."""
    names, instances = group.members.names.names, group.members.instances

    def not_after(one: int, other: int) -> bool:
        if instances[one] is not None and instances[other] is not None:
            return instances[one] <= instances[other]
        return names[one] <= names[other]

    numbers = members.tolist()
    static = 0 if instances is None else sum(instances[m] is not None for m in numbers)
    if static == 0:
        numbers.sort(key=names.__getitem__)
    elif static == len(numbers):
        numbers.sort(key=instances.__getitem__)
    else:
        numbers = merge_sorted(numbers, not_after)
    return np.array(numbers, dtype=np.int64)


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
    return sorted_members(group, members_that_subscribe(group))


def crowds(group: Group) -> tuple[np.ndarray, list[np.ndarray]]:
    """The number of every topic's crowd, int64[topics], and the members of every crowd, sorted.

    Topics that the same members subscribe to have one; crowds are numbered as they compare member
    by member by id.
    """
    kinds, subscribed = group.prepared(kinds_of_topics)
    members = group.members
    by_id = np.arange(len(members)) if members.instances else members_by_id(group)
    subscription = members.subscription[by_id]
    made = [by_id[row[subscription]] for row in subscribed]
    if members.instances:
        made = [sorted_members(group, crowd) for crowd in made]
    rank = ranks(members.names).astype(">i8")  # bytes of these compare as they do
    listed = [rank[crowd].tobytes() for crowd in made]
    found = dict(sorted(zip(listed, made, strict=True), key=itemgetter(0)))
    numbers = {crowd: number for number, crowd in enumerate(found)}
    return np.array([numbers[each] for each in listed], dtype=np.int64)[kinds], list(found.values())
