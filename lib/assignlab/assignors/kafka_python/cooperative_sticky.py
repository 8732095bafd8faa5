"""``kafka-python-cooperative-sticky``: kafka-python's CooperativeStickyAssignor.

The rule. The assignment of ``kafka-python-sticky``, less every partition that somebody else claims:
it is assigned in the next rebalance, when its owner has given it up.

What it promises, in order
1. No member is given a partition that another one says it owns.
2. After the second rebalance what ``kafka-python-sticky`` promises. What it does not promise.
Members of kafka-python send their claims without a generation, so a member that comes back with
stale claims counts as much as the present owner: whoever stands first keeps the partition in the
balancing, and who stands last is taken for its owner. Where these two differ, nobody gets it in
this round.

>>> from assignlab.group import group
>>> from assignlab.document import lists
>>> owned = {"C0": [("t", 0), ("t", 1), ("t", 2), ("t", 3)]}
>>> members = {"C0": ["t"], "C1": ["t"]}
>>> first = lists(g := group({"t": 4}, members, owned=owned), assign(g))
>>> first
{'C0': [['t', 0], ['t', 1]], 'C1': []}
>>> lists(g := group({"t": 4}, members, owned=first), assign(g))
{'C0': [['t', 0], ['t', 1]], 'C1': [['t', 2], ['t', 3]]}
>>> g = group({"t": 1}, members, owned={"C0": [("t", 0)], "C1": [("t", 0)]})
>>> lists(g, assign(g))
{'C0': [], 'C1': []}
"""

import numpy as np

from assignlab.assignment import Assignment, by_member
from assignlab.assignors.kafka_python.general import final_assignment
from assignlab.group import Group
from assignlab.strategy import Strategy

UNCLAIMED = -1


def assign(group: Group) -> Assignment:
    """The sticky assignment without what has to be given up first."""
    owners, codes, notes = final_assignment(group, group.claims.sub_generation)
    holder = currently_owned(group, codes)
    kept = (holder == UNCLAIMED) | (holder == owners)
    return Assignment(*by_member(owners[kept], codes[kept], len(group.members)), notes=notes)


def currently_owned(group: Group, codes: np.ndarray) -> np.ndarray:
    """The last member that claims each of these partitions: int64[n], ``UNCLAIMED`` for none."""
    claims = group.claims
    holder = np.full(codes.size, UNCLAIMED)
    by_code = np.argsort(codes)
    claimants = np.repeat(np.arange(len(group.members)), np.diff(claims.offsets))
    place = np.searchsorted(codes, claims.codes, sorter=by_code)
    there = place < codes.size
    there[there] = codes[by_code[place[there]]] == claims.codes[there]
    np.maximum.at(holder, by_code[place[there]], claimants[there])
    return holder


STRATEGY = Strategy(
    name="kafka-python-cooperative-sticky",
    system="kafka-python",
    first="3.0.12",
    last="3.0.12",
    protocol="cooperative",
    sticky=True,
    source=(
        "kafka.coordinator.assignors.cooperative_sticky.CooperativeStickyAssignor "
        "(kafka-python 3.0.12)"
    ),
    assign=assign,
)
