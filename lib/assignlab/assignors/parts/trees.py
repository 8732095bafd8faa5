"""Members of one kind in a tree, so that nobody searches for the one that comes first.

All trees lie in one array. The tree of a kind begins at its base; node x has the children 2x and
2x + 1, of which it holds the lesser, so that the least of all is in node 1. A leaf holds the key of
a member: its size in the high bits, its number (or place) in the low ones.
"""

import numpy as np

from assignlab.compiled import inner, leaf

NUMBER_BITS = 31
NUMBERS = (1 << NUMBER_BITS) - 1
NOT_SEATED = 2**62
"""The key of a leaf that nobody has: greater than all others, also than complements of keys."""


@leaf
def width_of(members):
    """How many leaves the tree of so many members has; it is the number of the first one."""
    width = 1
    while width < members:
        width *= 2
    return width


@inner
def leaves(of, kinds):
    """(trees, leaf): where the tree of each kind begins and the last one ends, int64[kinds + 1], and
    which node of its tree each member is, int64[members].

    ``of``: the kind of each member; those of one kind are the leaves of its tree, in their order. A
    kind without members has a leaf that nobody has.
    """
    count = np.zeros(kinds, dtype=np.int64)
    for k in of:
        count[k] += 1
    trees = np.zeros(kinds + 1, dtype=np.int64)
    free = np.empty(kinds, dtype=np.int64)
    for k in range(kinds):
        free[k] = width_of(count[k])
        trees[k + 1] = trees[k] + 2 * free[k]
    node = np.empty(of.size, dtype=np.int64)
    for i in range(of.size):
        node[i] = free[of[i]]
        free[of[i]] += 1
    return trees, node


@leaf
def play_all(tree, trees):
    """Every node of every tree, once the leaves are there."""
    for k in range(trees.size - 1):
        play(tree, trees[k], (trees[k + 1] - trees[k]) // 2)


@leaf
def play(tree, base, leaves):
    """Every node of a tree of so many leaves."""
    for x in range(leaves - 1, 0, -1):
        tree[base + x] = min(tree[base + 2 * x], tree[base + 2 * x + 1])


@leaf
def replay(tree, base, x, key):
    """Leaf x has another key: what it was compared with is compared again."""
    tree[base + x] = key
    while x > 1:
        key = min(key, tree[base + (x ^ 1)])
        x >>= 1
        if tree[base + x] == key:
            return
        tree[base + x] = key
