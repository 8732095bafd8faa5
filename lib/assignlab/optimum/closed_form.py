"""The optimum's two numbers where all members subscribe to the same topics."""

import numpy as np

from assignlab.compiled import inner, leaf, njit


@leaf
def least_squares(partitions: int, members: int) -> int:
    """The sum of squared sizes of an even assignment: P mod C members have one more than the rest.

    >>> least_squares(7, 3)
    17
    """
    each, more = divmod(partitions, members)
    return more * (each + 1) ** 2 + (members - more) * each**2


@njit
def fewest_moves(owned, partitions):
    """The fewest partitions that must change hands to become even, for equal subscriptions.

    ``owned``: int64[members], what each member still validly owns, each partition with one owner at
    the most; ``partitions``: of all subscribed topics. With q = P div C and r = P mod C a member
    can keep min(owned, q), and r members one more; the rest of what is owned has to move. Proven:
    an even assignment gives nobody more than that, and every such choice can be completed.
    """
    q = partitions // owned.size
    r = partitions % owned.size
    total = 0
    kept = 0
    above = 0
    for own in owned:
        total += own
        kept += min(own, q)
        above += own > q
    return total - kept - min(r, above)


@inner
def fewest_moves_within(owned, partitions, squares):
    """The fewest partitions that must change hands until the sum of squared sizes is ``squares`` or
    less, for equal subscriptions; ``squares`` is at least that of an even assignment.

    ``owned``, ``partitions``: as for :func:`fewest_moves`. More moves never make it less even, so
    the number is found by halving.
    """
    low, high = 0, fewest_moves(owned, partitions)
    if squares == least_squares(partitions, owned.size):
        return high  # nothing less will do
    while low < high:
        moves = (low + high) // 2
        if _squares_after(owned, partitions, moves) <= squares:
            high = moves
        else:
            low = moves + 1
    return low


@inner
def _squares_after(owned, partitions, moves):
    """The least sum of squares for so many moves, not more than an even assignment needs.

    The fullest give up ``moves``, down to one level; the emptiest take these and what nobody owns,
    up to another.
    """
    free = partitions - owned.sum()
    low, high = 0, owned.max()  # the least level above which there are no more than ``moves``
    while low < high:
        level = (low + high) // 2
        if np.maximum(owned - level, 0).sum() <= moves:
            high = level
        else:
            low = level + 1
    top = low
    low, high = 0, partitions  # the greatest level below which there is no more room than this
    while low < high:
        level = (low + high + 1) // 2
        if np.maximum(level - owned, 0).sum() <= moves + free:
            low = level
        else:
            high = level - 1
    squares = given = taken = 0
    for own in owned:
        squares += max(min(own, top), low) ** 2
        given += max(own - top, 0)
        taken += max(low - own, 0)
    # What is left takes one each from members at the upper level, and gives some at the lower one.
    return squares - (moves - given) * (2 * top - 1) + (moves + free - taken) * (2 * low + 1)
