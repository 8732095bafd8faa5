"""``modified-worst-fit``: Landau's packing that keeps partitions where they are, by worst fit.

The rule. A member has a capacity (the document's field ``capacity``; without one, an even share of all
weights). Walk the members that had partitions, by their load of now, the heaviest first. Each gives
its partitions away, the lightest first, to the emptiest of the members that are open by then and have
room, until one does not fit; the rest, the heaviest first, stays with it as long as it fits. What is
left over, the heaviest first, goes to the emptiest open member with room, else to a member that is not
open yet: the one that had it, or the first by member id. A member that has nothing takes any weight.
Where no member has room and all are open, the emptiest takes it beyond its capacity; in the original,
which has as many members as it likes, that does not happen.

What it promises, in order
1. As few members in use as its greedy packing finds: others stay idle, to be taken away.
2. Within that, partitions stay with their member.
It does not promise balance.

Two members have 60 + 30 and 50 + 20; the weight of the last one grows from 20 to 70:

>>> from assignlab.group.document import lists, parse
>>> def packed(last):
...     g = parse({"capacity": 100, "topics": [{"name": "t", "partitions": 4,
...         "weights": [60, 30, 50, last]}], "members": [
...         {"id": "C0", "topics": ["t"], "owned": [["t", 0], ["t", 1]]},
...         {"id": "C1", "topics": ["t"], "owned": [["t", 2], ["t", 3]]},
...         {"id": "C2", "topics": ["t"]}]})
...     return lists(g, assign(g))
>>> packed(20)
{'C0': [['t', 0], ['t', 1]], 'C1': [['t', 2], ['t', 3]], 'C2': []}
>>> packed(70)
{'C0': [['t', 0]], 'C1': [['t', 1], ['t', 3]], 'C2': [['t', 2]]}
"""

from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.load_aware.parts.packing import pack
from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group


def assign(group: Group) -> Assignment:
    """Keep what fits, pack the rest."""
    return pack(group, best=False)


STRATEGY = Strategy(
    name="modified-worst-fit",
    system="load-aware",
    first="2022",
    last="2022",
    protocol="eager",
    sticky=True,
    source="landaudiogo/kafka-consumer-group-autoscaler, ModifiedWorstFit",
    look=("brown", "d", "dashdot"),
    member_fields=("owned",),
    exceptions={"vectors": weighed.NO_ORIGINAL, "promises": weighed.WEIGHTS_DECIDE},
    reads_weights=True,
    assign=assign,
)
