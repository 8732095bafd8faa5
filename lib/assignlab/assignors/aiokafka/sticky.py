"""``aiokafka-sticky``: aiokafka's StickyPartitionAssignor.

The rule. Every member sends the partitions that it had. What is still valid stays where it is; each
partition without an owner goes to the subscribed member with the fewest; then partitions are moved,
new ones first, from members with two or more too many, until no move helps. It is kafka-python's (see
``kafka-python-sticky``) but for one step, in which kafka-python also undoes a move
(:mod:`assignlab.assignors.parts.python_sticky`).

What it promises, in order
1. No member could give a partition to a subscribed member that has at least two fewer; should the
   moves not improve the balance score, they are taken back.
2. Among these it keeps many partitions with the member that had them.
It does not promise that the newest claim counts. aiokafka's client never tells its assignor the
generation, so that all members send -1 and of several claimants the first one counts, whoever came
back with what it had long ago. Nor that claims are a member's own: the assignor keeps them in its
class, so that the consumers of one process all send what the last of them was given.

Two members of ten partitions are joined by a third: three of them move, as few as possible.

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> members = {"C0": ["t"], "C1": ["t"]}
>>> before = lists(g := group({"t": 10}, members), assign(g))
>>> g = group({"t": 10}, members | {"C2": ["t"]}, owned=before)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, *(partition for _, partition in partitions))
C0 0 2 4 6
C1 1 3 5
C2 7 8 9
"""

from dataclasses import replace

from assignlab.assignors.aiokafka.range import STRATEGY as RANGE
from assignlab.assignors.parts.python_sticky import final_assignment
from assignlab.assignors.strategy import by_rules

assign = by_rules(final_assignment, empty="ValueError")

STRATEGY = replace(
    RANGE,
    name="aiokafka-sticky",
    sticky=True,
    source="aiokafka.coordinator.assignors.sticky.sticky_assignor.StickyPartitionAssignor",
    look=("slate", ">", "dotted"),
    member_fields=("owned", "generation"),
    generations=(),  # claims come with -1
    promises=("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange"),
    exceptions={
        "one_answer": "it walks sets in the order of a hash seed that a process draws",
        "large_groups": "the original sorts all members at every step",
    },
    assign=assign,
)
