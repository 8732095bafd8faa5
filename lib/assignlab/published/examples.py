"""Worked examples: what a text prints for a group, beside what the strategies give.

Partitions are written as the texts write them: ``t0p1`` is partition 1 of topic t0.
"""

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import pandas as pd

from assignlab import assignors
from assignlab.errors import AssignlabError
from assignlab.group.assignment import Assignment, code, partition_names
from assignlab.group.model import Group
from assignlab.published.notation import pair_of
from assignlab.replay import rebalance

COLUMNS = ["printed by", "example", "strategy", "member", "printed", "given", "verdict"]


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
    index = group.topics.names.index
    printed = [owned.get(member, "").split() for member in group.members.names]
    return Assignment.from_lists(
        [code(index[t], p) for t, p in map(pair_of, partitions)] for partitions in printed
    )


class Unexpected(AssignlabError):
    """A printed list holds although a slip is named, or does not although none is."""


def compare(
    group: Group,
    strategy: str,
    printed: Mapping[str, str],
    by: str,
    example: str,
    slips: Mapping[str, str] = MappingProxyType({}),
    given: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """What a text prints for every member, word for word, beside what the strategy gives.

    ``by``: the article that prints it; ``slips``: member -> why its list is not what is given;
    ``given``: member -> short form, where it is not the strategy's result but a step on the way.
    Columns: printed by, example, strategy, member, printed, given, verdict (``holds`` or the slip).
    Raises :class:`Unexpected` where a list does not hold and no slip is named,
    or holds despite one.

    >>> from assignlab.group.plain import group
    >>> g = group({"t0": 3}, {"C0": ["t0"], "C1": ["t0"]})
    >>> compare(g, "range", {"C0": "p0、p1", "C1": "t0_2"}, "000", "three")["verdict"].tolist()
    ['holds', 'holds']
    """
    given = short(group, give(strategy, group)) if given is None else given
    rows = []
    for member, text in printed.items():
        slip = slips.get(member, "")
        verdict = _verdict(f"{by}, {example}: {member}", read(text, group), given[member], slip)
        rows.append((by, example, strategy, member, text, given[member], verdict))
    return pd.DataFrame(rows, columns=COLUMNS)


def ordered(
    by: str, example: str, of: str, printed: str, given: str, slip: str = ""
) -> pd.DataFrame:
    """An order that a text prints, as a row of :func:`compare`; ``of``: what is in that order."""
    names = re.findall(r"[a-z]+[\w-]*", printed, re.ASCII)
    names = [re.sub(r"^(topic\d+)_", r"\1p", name) for name in names]
    verdict = _verdict(f"{by}, {example}: {of}", names, given, slip)
    row = (by, example, "", f"order of {of}", printed, given, verdict)
    return pd.DataFrame([row], columns=COLUMNS)


def _verdict(where: str, printed: list[str], given: str, slip: str) -> str:
    if (printed == given.split()) == bool(slip):
        raise Unexpected(f"{where} is printed {printed}, given {given!r}")
    return slip or "holds"


def read(text: str, group: Group) -> list[str]:
    """The partitions that a text names, in its own notation: ``t0p1``, ``topic0_1``,
    ``p1`` or ``1``.

    The last two are those of a group with one topic.

    >>> from assignlab.group.plain import group
    >>> g = group({"t": 3}, {"a": ["t"]})
    >>> read("0，1，2", g), read("topic0_1、topic1_0", g)
    (['tp0', 'tp1', 'tp2'], ['topic0p1', 'topic1p0'])
    """
    only = group.topics.names[0]
    found = re.findall(r"([a-z]+\d+)[p_](\d+)|p?(\d+)", text)
    return [f"{topic or only}p{number or single}" for topic, number, single in found]


def claiming(group: Group, strategy: str, before: Group, assignment: Assignment) -> Group:
    """``group`` with what its members claim from ``assignment``, which ``before`` was given.

    They send back what they got, in the order and with the generation (1) that clients of this
    strategy's version send. Members that were not in ``before`` claim nothing.
    """
    return rebalance.claiming(group, before, assignors.get(strategy), assignment)


def played(
    strategies: Sequence[str], before: Group, after: Group, happens: str
) -> tuple[list[str], list[dict[str, dict[str, str]]]]:
    """What happens to a group, under several strategies beside each other, in three states.

    ``before`` and ``after``: the group without claims, the same topics. Returns what is told of
    each state, and the states: strategy -> member -> short form.

    >>> from assignlab.group.plain import group
    >>> one, two = (group({"t": 2}, {c: ["t"] for c in names}) for names in ("a", "ab"))
    >>> told, states = played(["range"], one, two, "b joins")
    >>> told[-1], states[-1]
    ('after: partitions with another owner: 1 under range', {'range': {'a': 'tp0', 'b': 'tp1'}})
    """
    had = {name: give(name, before) for name in strategies}
    lists = {name: short(before, had[name]) for name in strategies}
    staying = {
        name: {m: of.get(m, "") if m in after.members.names.index else ""
               for m in dict.fromkeys([*before.members.names, *after.members.names])}
        for name, of in lists.items()
    }  # fmt: skip
    given = {
        name: short(after, give(name, claiming(after, name, before, had[name])))
        for name in strategies
    }
    moved = {
        name: sum(len(set(new[m].split()) - set(lists[name].get(m, "").split())) for m in new)
        for name, new in given.items()
    }
    moves = ", ".join(f"{count} under {name}" for name, count in moved.items())
    told = ["before", happens, f"after: partitions with another owner: {moves}"]
    return told, [lists, staying, given]
