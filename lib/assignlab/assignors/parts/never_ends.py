"""Rebalances that never end: noticed because everything comes back.

The sticky assignors walk along the partitions again and again, until a walk moves nothing. Nothing
says that there is such a walk. Where a partition that is to go back the way that another of its
topic has come is replaced by that other one (:mod:`assignlab.assignors.parts.movements`), the
overloaded member may keep what it has, while two others exchange a partition for ever. What a walk
does follows from the state in which it begins: the lists of the members, the owners of the
partitions, and what is on record of moves. So, as soon as a walk begins in a state in which an
earlier one began, it is proven that the original never returns.

Which state to compare with is Brent's choice (R. P. Brent, An improved Monte Carlo factorization
algorithm, BIT 20, 1980): that of the latest walk whose number is a power of two. Nothing is
compared before the eighth walk; groups that end rarely get so far.
"""

from typing import NamedTuple

import numpy as np

from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.movements import NONE
from assignlab.compiled import inner, leaf
from assignlab.errors import OriginalError

FIRST_WALK = 8

WALK = record("number", "due", "moves", "moves_then", "at", "length", "same")
"""The walk's number and that of the walk to remember; moves so far, and until the remembered state;
where the next number of the state goes, how many the remembered one has,
whether all are the same."""


class Memory(NamedTuple):
    """``state`` int64[...]: the remembered state as a row of numbers; ``walk`` WALK[1]."""

    state: np.ndarray
    walk: np.ndarray


@inner
def nothing_remembered(entries, partitions):
    """Room for a state: ``entries`` in the lists, and what is on record of ``partitions``."""
    return Memory(np.empty(2 * entries + 8 * partitions + 1, dtype=np.int64), np.zeros(1, WALK))


@leaf
def begin_to_walk(memory):
    """Before the first walk."""
    walk = memory.walk[0]
    walk.number = 0
    walk.due = FIRST_WALK
    walk.length = -1


@leaf
def has_to_tell(memory):
    """A walk begins: whether its state has to be told, number by number (:func:`tell`)."""
    walk = memory.walk[0]
    walk.number += 1
    walk.at = 0
    walk.same = 1
    return walk.number >= FIRST_WALK


@leaf
def tell(memory, value):
    """The next number of the state."""
    walk = memory.walk[0]
    if memory.state[walk.at] != value:
        walk.same = 0
        if walk.number == walk.due:
            memory.state[walk.at] = value
    walk.at += 1


@leaf
def tell_movements(memory, moves):
    """What is on record of moves: where from, and the sets of partitions with their order."""
    for x in range(moves.pair.size):
        pair = moves.pair[x]
        if pair != NONE:
            tell(memory, x)
            tell(memory, moves.source[pair])
            tell(memory, moves.sets.next[x])
            tell(memory, moves.sets.capacity[pair])


@leaf
def period(memory):
    """All is told: after how many moves the remembered state has come back, 0 if it has not."""
    walk = memory.walk[0]
    if walk.same and walk.at == walk.length:
        return walk.moves - walk.moves_then
    if walk.number == walk.due:
        walk.due *= 2
        walk.length = walk.at
        walk.moves_then = walk.moves
    return 0


def never_ends(moves: int, certain: bool = True) -> OriginalError:
    """What is raised. ``certain``: whether no move was chosen by the order of a hash table."""
    unless = (
        "" if certain else ", unless the order of a hash table makes the original choose others"
    )
    return OriginalError("NeverEnds", f"the same {moves} moves come round for ever{unless}")
