"""Worked examples: what a text prints for a group, beside what the strategies give.

Partitions are written as the texts write them: ``t0p1`` is partition 1 of topic t0.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from assignlab import assignors
from assignlab.group.assignment import Assignment, code
from assignlab.group.document import partition_names
from assignlab.group.model import Group
from assignlab.replay import rebalance


def give(strategy: str, group: Group) -> Assignment:
    """What the strategy of that name gives the group."""
    return assignors.get(strategy).assign(group)


def short(group: Group, assignment: Assignment) -> dict[str, str]:
    """An assignment in the short form of the texts: member -> ``"t0p0 t1p1"``.

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> short(g, give("roundrobin", g))
    {'C0': 't0p0 t0p2', 'C1': 't0p1'}
    """
    return {
        member: " ".join(f"{t}p{p}" for t, p in partition_names(group, assignment.of(m)))
        for m, member in enumerate(group.members.names)
    }


def assignment(group: Group, owned: Mapping[str, str]) -> Assignment:
    """The assignment that a text prints, from its short form; absent members own nothing.

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> short(g, assignment(g, {"C1": "t0p2 t0p0"}))
    {'C0': '', 'C1': 't0p2 t0p0'}
    """
    lists = []
    for member in group.members.names:
        pairs = [partition.rpartition("p") for partition in owned.get(member, "").split()]
        lists.append([code(group.topics.names.index[t], int(p)) for t, _, p in pairs])
    offsets = np.cumsum([0] + [len(codes) for codes in lists], dtype=np.int64)
    return Assignment(offsets, np.array([c for codes in lists for c in codes], dtype=np.int64))


def compare(group: Group, printed: Mapping[str, Mapping[str, str]], source: str) -> pd.DataFrame:
    """Strategy by strategy and member by member: printed, given, and whether they agree.

    ``printed``: strategy -> member -> short form, as the text ``source`` has it. Columns: source,
    strategy, member, printed, given, agrees (``yes``; ``other order``; ``no``).
    """
    rows = []
    for strategy, lists in printed.items():
        given = short(group, give(strategy, group))
        for member, partitions in lists.items():
            rows.append(
                (source, strategy, member, partitions, given[member],
                 _agrees(partitions, given[member]))
            )  # fmt: skip
    return pd.DataFrame(
        rows, columns=["source", "strategy", "member", "printed", "given", "agrees"]
    )


def _agrees(printed: str, given: str) -> str:
    if printed == given:
        return "yes"
    return "other order" if sorted(printed.split()) == sorted(given.split()) else "no"


def claiming(group: Group, strategy: str, before: Group, assignment: Assignment) -> Group:
    """``group`` with what its members claim from ``assignment``, which ``before`` was given.

    They send back what they got, in the order and with the generation (1) that clients of this
    strategy's version send. Members that were not in ``before`` claim nothing.
    """
    return rebalance.claiming(group, before, assignors.get(strategy), assignment)


def one_by_one(
    group: Group, before: Assignment, after: Assignment, walked: np.ndarray
) -> pd.DataFrame:
    """The moves from ``before`` to ``after`` in the order in which partitions are walked.

    ``walked``: int64 codes of the partitions in that order. Columns: step, partition, from, to, and
    the sizes of all members after the step. Exact where every partition moves once at the most.
    """
    members = group.members.names
    was, now = (
        dict(zip(a.codes.tolist(), a.owners.tolist(), strict=True)) for a in (before, after)
    )
    sizes = before.sizes.copy()
    rows = []
    for moved in walked.tolist():
        if moved not in was or was[moved] == now[moved]:
            continue
        sizes[was[moved]] -= 1
        sizes[now[moved]] += 1
        [[topic, partition]] = partition_names(group, np.array([moved]))
        held = ", ".join(f"{name} {size}" for name, size in zip(members, sizes, strict=True))
        rows.append(
            (len(rows) + 1, f"{topic}p{partition}", members[was[moved]], members[now[moved]], held)
        )
    return pd.DataFrame(rows, columns=["step", "partition", "from", "to", "partitions after"])
