"""``kafka-python-sticky``: kafka-python's StickyPartitionAssignor.

The rule. Every member sends the partitions that it had, and in which generation. What is still
valid stays where it is; each partition without an owner goes to the subscribed member with the
fewest; then partitions are moved, new ones first, from members with two or more too many, until no
move helps. See :mod:`assignlab.assignors.kafka_python.general` for what differs from Java's first
sticky assignors; Java's present one (``sticky``) is another algorithm where subscriptions are
equal.

What it promises, in order
1. No member could give a partition to a subscribed member that has at least two fewer; should the
   moves not improve the balance score, they are taken back.
2. Among these it keeps many partitions with the member that had them. What it does not promise: a
stale claimant that no longer subscribes to a topic may get a partition of it, and if it takes no
part in the balancing at all, the original throws a KeyError.

Two members of ten partitions are joined by a third: three of them move, as few as possible.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> members = {"C0": ["t"], "C1": ["t"]}
>>> before = lists(g := group({"t": 10}, members), assign(g))
>>> g = group({"t": 10}, members | {"C2": ["t"]}, owned=before, generation=1)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *(partition for _, partition in partitions))
C0 0 2 4 6
C1 1 3 5
C2 7 8 9
"""

from assignlab.assignment import Assignment, by_member
from assignlab.assignors.kafka_python.general import final_assignment
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    """Keep what is claimed, hand out the rest, balance.

    Notes ``nondeterministic`` where the original may answer otherwise in another process.
    """
    owners, codes, notes = final_assignment(group, group.claims.generation)
    return Assignment(*by_member(owners, codes, len(group.members)), notes=notes)


STRATEGY = Strategy(
    name="kafka-python-sticky",
    system="kafka-python",
    first="3.0.12",
    last="3.0.12",
    protocol="eager",
    sticky=True,
    source=(
        "kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor "
        "(kafka-python 3.0.12)"
    ),
    assign=assign,
    generations=("generation",),
)
