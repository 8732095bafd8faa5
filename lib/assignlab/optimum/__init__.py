"""The best assignment there is, proven: the same definition for every strategy.

**The optimum.** Every assignable partition is assigned, which is one whose topic a member
subscribes to, each to one member that does. Of all ways to do so those with the least sum of
squares of sizes (partitions per member) are the most even: the largest size is as small as it can
be, the smallest as large, and so on, whatever norm one takes (Harvey, Ladner, Lovasz, Tamir 2006).
Of these, those with the fewest moves are optimal.

**A move** is a partition that somebody validly claims and that goes to a member that does not claim
it. A claim is valid if the member subscribes to the topic and the partition exists; generations do
not matter. A partition that several members claim is kept by whichever of them gets it; one that
nobody claims (new, or its owner left) does not move. Where every partition has one claimant this is
the metrics' ``by_choice``: taken from a member that could have kept it.

:func:`optimum` gives one such assignment with its certificate, by which code that shares nothing
with the solver proves that there is no better one, and :func:`least` just its numbers.
:func:`front` gives every pair of a sum of squares and moves that no assignment beats in both, from
the optimum to no moves at all, and :func:`regret` how far an answer is from these. Moves of answers
that are not equally even are never subtracted from each other.

:func:`measures` counts the balance of an answer by partitions, inside each topic and by load, each
beside a bound below which nothing is (:mod:`assignlab.optimum.load`).
"""

from assignlab.optimum.answers import Front, Least, Optimum, Regret, front, least, optimum, regret
from assignlab.optimum.load import Measure, loads, measures

__all__ = [
    "Front",
    "Least",
    "Measure",
    "Optimum",
    "Regret",
    "front",
    "least",
    "loads",
    "measures",
    "optimum",
    "regret",
]
