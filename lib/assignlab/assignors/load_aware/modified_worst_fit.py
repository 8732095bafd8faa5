"""``modified-worst-fit``: Landau's packing that keeps partitions where they are, by worst fit.

The rule is that of ``modified-best-fit``, and so is what it promises; but a partition that looks
for a member goes to the emptiest of those that are open and have room, not to the fullest.

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

from dataclasses import replace

from assignlab.assignors.load_aware import modified_best_fit
from assignlab.assignors.load_aware.parts.packing import pack
from assignlab.assignors.strategy import by_rules

assign = by_rules(pack, best=False)

STRATEGY = replace(
    modified_best_fit.STRATEGY,
    name="modified-worst-fit",
    source="landaudiogo/kafka-consumer-group-autoscaler, ModifiedWorstFit",
    look=("brown", "d", "dashdot"),
    assign=assign,
)
