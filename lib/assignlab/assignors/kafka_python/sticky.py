"""``kafka-python-sticky``: kafka-python's StickyPartitionAssignor.

The rule. Every member sends the partitions that it had, and in which generation. What is still
valid stays where it is; each partition without an owner goes to the subscribed member with the
fewest; then partitions are moved, new ones first, from members with two or more too many, until no
move helps. See :mod:`assignlab.assignors.parts.python_sticky` for what differs from Java's
first sticky assignors; Java's present one (``sticky``) is another algorithm where subscriptions are
equal.

What it promises, in order
1. No member could give a partition to a subscribed member that has at least two fewer; should the
   moves not improve the balance score, they are taken back.
2. Among these it keeps many partitions with the member that had them.
It does not promise that owners subscribe: a stale claimant that no longer subscribes to a topic may
get a partition of it, and if it takes no part in the balancing at all, the original throws a
KeyError.

Two members of ten partitions are joined by a third: three of them move, as few as possible.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> members = {"C0": ["t"], "C1": ["t"]}
>>> before = lists(g := group({"t": 10}, members), assign(g))
>>> g = group({"t": 10}, members | {"C2": ["t"]}, owned=before, generation=1)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *(partition for _, partition in partitions))
C0 0 2 4 6
C1 1 3 5
C2 7 8 9
"""

from assignlab.assignors.parts.python_sticky import final_assignment
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(final_assignment, undoes=True)

STRATEGY = Strategy(
    name="kafka-python-sticky",
    system="kafka-python",
    client_id="kafka-python-",
    protocol="eager",
    sticky=True,
    source="kafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor",
    original="kafka-python:3.0.12",
    look=("slate", "X", "dash dot dot"),
    member_fields=("owned", "generation", "instance"),
    generations=("generation",),
    promises=("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange"),
    exceptions={
        "one_answer": "it walks sets in the order of a hash seed that a process draws",
        "large_groups": "the original sorts all members at every step",
    },
    assign=assign,
)
