"""``modified-best-fit``: Landau's packing that keeps partitions where they are, by best fit.

The rule. A member has a capacity (the document's field ``capacity``; without one, an even share of
all weights). Walk the members that had partitions, by their load of now, the heaviest first. Each
gives its partitions away, the lightest first, to the fullest of the members that are open by then
and have room, until one does not fit; the rest, the heaviest first, stays with it as long as it
fits. What is left over, the heaviest first, goes to the fullest open member with room, else to a
member that is not open yet: the one that had it, or the first by member id. A member that has
nothing takes any weight. Where no member has room and all are open, the emptiest takes it beyond
its capacity; in the original, which has as many members as it likes, that does not happen.

What it promises, in order
1. As few members in use as its greedy packing finds: others stay idle, to be taken away.
2. Within that, partitions stay with their member.
It does not promise balance.

Three members of capacity 100 have 60, 30 and 50; the one with 30 is not needed:

>>> from assignlab.group.document import lists, parse
>>> g = parse({"capacity": 100, "topics": [{"name": "t", "partitions": 3, "weights": [60, 30, 50]}],
...     "members": [{"id": f"C{i}", "topics": ["t"], "owned": [["t", i]]} for i in range(3)]})
>>> lists(g, assign(g))
{'C0': [['t', 0], ['t', 1]], 'C1': [], 'C2': [['t', 2]]}
"""

from assignlab.assignors.load_aware.parts import weighed
from assignlab.assignors.load_aware.parts.packing import pack
from assignlab.assignors.strategy import Strategy, by_rules

assign = by_rules(pack, best=True)

STRATEGY = Strategy(
    name="modified-best-fit",
    system="load-aware",
    first="2022",
    last="2022",
    protocol="eager",
    sticky=True,
    source="landaudiogo/kafka-consumer-group-autoscaler, ModifiedBestFit",
    look=("olive", "d", "long dashes"),
    member_fields=("owned",),
    exceptions={"vectors": weighed.NO_ORIGINAL, "promises": weighed.WEIGHTS_DECIDE},
    reads_weights=True,
    assign=assign,
)
