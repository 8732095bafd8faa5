"""The optimum's two numbers where all members subscribe to the same topics."""

from assignlab.compiled import njit


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
