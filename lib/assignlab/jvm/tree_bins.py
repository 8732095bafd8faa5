"""A HashMap key by key, with its tree bins: exact where bins get crowded.

A bin that takes a ninth key (an eighth by ``computeIfAbsent``) doubles the table while that has
fewer than 64 slots; in larger tables the bin becomes a red-black tree. A tree is still walked along
its ``next`` links, but these no longer follow insertion: a new key stands behind its parent, and
the root stands in front. So the walk depends on the shape of the tree, and the shape on hashes and,
where these are equal, on ``compareTo``. Keys that are not Comparable are compared by
``System.identityHashCode``: then Java itself has no fixed order.

Source: ``java.util.HashMap`` of JDK 17; steps are named as there. Keys are numbered in order of
insertion; ``NIL`` stands for null.
"""

from typing import NamedTuple

import numpy as np

from assignlab.compiled import leaf, njit

NIL = -1
LEFT, RIGHT = 0, 1
TREEIFY_THRESHOLD = 8
UNTREEIFY_THRESHOLD = 6
MIN_TREEIFY_CAPACITY = 64
ALL = np.iinfo(np.int64).max


class HashMap(NamedTuple):
    """A map, its keys as numbers.

    Of every key: ``hash``: int64[n], spread; ``rank``: int64[n], position in ``compareTo`` order,
    empty if keys are not Comparable; ``next``, ``prev``, ``parent``: int64[n], and ``child``:
    int64[n, 2], links; ``red``: bool[n]. Of every slot: ``table``: int64[slots], its first key;
    ``tree``: bool[slots], whether it is a tree bin. ``slots``: int64[1], how many of these there are
    by now; ``tied``: bool[1], whether identity hash codes had to decide. ``bins``: only so many of
    the slots are kept, from the first one on.
    """

    hash: np.ndarray
    rank: np.ndarray
    next: np.ndarray
    prev: np.ndarray
    parent: np.ndarray
    child: np.ndarray
    red: np.ndarray
    table: np.ndarray
    tree: np.ndarray
    slots: np.ndarray
    tied: np.ndarray
    bins: int


@njit
def walk(spreads, rank, capacity, put, called_again, removed, bins):
    """Put keys one by one and walk the map: (order int64[n], whether Java fixes that order, slots).

    ``spreads``: int64[n], spread hashes of the keys; ``put``: how many of them, the first ones,
    come by ``put``, the others by ``computeIfAbsent``; ``removed``: int64[], keys that are removed
    then. The others as of :func:`assignlab.jvm.hash_map.hash_map_order`. ``bins``: only so many slots
    are walked, at least ``MIN_TREEIFY_CAPACITY``; what never stands in one of them is left out.
    """
    n = spreads.size
    most = max(capacity, MIN_TREEIFY_CAPACITY)
    while n > most * 3 // 4:
        most *= 2
    map_ = HashMap(
        spreads, rank, np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64),
        np.empty((n, 2), np.int64), np.empty(n, np.bool_), np.full(most, NIL),
        np.zeros(most, np.bool_), np.full(1, capacity), np.zeros(1, np.bool_), bins,
    )  # fmt: skip
    late = 1 if put < n and not called_again else 0
    for x in range(n + 1 - late):
        if x > map_.slots[0] * 3 // 4:
            resize(map_)
        if x < n and map_.hash[x] & (map_.slots[0] - 1) < bins:
            put_val(map_, x, x >= put)
    for x in removed:
        remove_node(map_, x)
    order = np.empty(n - removed.size, np.int64)
    k = 0
    for x in map_.table[:bins]:
        while x != NIL:
            order[k] = x
            x = map_.next[x]
            k += 1
    return order[:k], not map_.tied[0], map_.slots[0]


@leaf
def put_val(map_, x, in_front):
    """Append to the bin, or put in front of it (``computeIfAbsent``): then it counts as crowded one
    key earlier."""
    slot = map_.hash[x] & (map_.slots[0] - 1)
    if map_.tree[slot]:
        put_tree_val(map_, slot, x)
        return
    last = NIL
    e = map_.table[slot]
    count = 1 if in_front else 0
    while e != NIL:
        last = e
        e = map_.next[e]
        count += 1
    link(map_, slot, NIL if in_front else last, x)
    if count >= TREEIFY_THRESHOLD:
        treeify_bin(map_, slot)


@leaf
def treeify_bin(map_, slot):
    """Double a small table; in a larger one make the bin a tree."""
    if map_.slots[0] < MIN_TREEIFY_CAPACITY:
        resize(map_)
    else:
        treeify(map_, slot)


@leaf
def resize(map_):
    """Double the table; each bin is split in two that keep its order.

    Of a tree bin, a small part becomes a list again; a larger one is built anew, unless it is all.
    """
    bit = map_.slots[0]
    map_.slots[0] = 2 * bit
    for slot in range(min(bit, map_.bins)):
        kept = slot + bit < map_.bins
        e = map_.table[slot]
        map_.table[slot] = NIL
        low_tail = high_tail = NIL
        low = high = 0
        while e != NIL:
            following = map_.next[e]
            if map_.hash[e] & bit == 0:
                link(map_, slot, low_tail, e)
                low_tail = e
                low += 1
            else:
                if kept:
                    link(map_, slot + bit, high_tail, e)
                    high_tail = e
                high += 1
            e = following
        if map_.tree[slot]:
            map_.tree[slot] = low > UNTREEIFY_THRESHOLD
            map_.tree[slot + bit] = kept and high > UNTREEIFY_THRESHOLD
            if map_.tree[slot] and high > 0:
                treeify(map_, slot)
            if map_.tree[slot + bit] and low > 0:
                treeify(map_, slot + bit)


@leaf
def link(map_, slot, previous, x):
    """Put ``x`` into the chain in ``slot``, behind ``previous`` or in front."""
    if previous == NIL:
        following = map_.table[slot]
        map_.table[slot] = x
    else:
        following = map_.next[previous]
        map_.next[previous] = x
    map_.prev[x] = previous
    map_.next[x] = following
    if following != NIL:
        map_.prev[following] = x


@leaf
def unlink(map_, slot, x):
    """Take ``x`` out of the chain in ``slot``."""
    previous, following = map_.prev[x], map_.next[x]
    if previous == NIL:
        map_.table[slot] = following
    else:
        map_.next[previous] = following
    if following != NIL:
        map_.prev[following] = previous


@leaf
def treeify(map_, slot):
    """Build the tree from the chain in ``slot``."""
    map_.tree[slot] = True
    root = map_.table[slot]
    map_.parent[root] = map_.child[root, LEFT] = map_.child[root, RIGHT] = NIL
    map_.red[root] = False
    x = map_.next[root]
    while x != NIL:
        insert_below(map_, root, x)
        root = balance_insertion(map_, root, x)
        x = map_.next[x]
    move_root_to_front(map_, slot, root)


@leaf
def put_tree_val(map_, slot, x):
    """Insert into a tree bin: right behind the parent in the chain."""
    root = map_.table[slot]
    link(map_, slot, insert_below(map_, root, x), x)
    move_root_to_front(map_, slot, balance_insertion(map_, root, x))


@leaf
def insert_below(map_, root, x):
    """Hang ``x`` into the tree as a leaf. Returns its parent."""
    child = root
    while child != NIL:
        p = child
        side = LEFT if before(map_, x, p) else RIGHT
        child = map_.child[p, side]
    map_.parent[x] = p
    map_.child[p, side] = x
    map_.child[x, LEFT] = map_.child[x, RIGHT] = NIL
    return p


@leaf
def before(map_, x, p):
    """Whether key ``x`` sorts before ``p``: by hash, then ``compareTo``, else it is a tie.

    Java breaks a tie by identity hash code; here the newer key goes behind and the tie is noted.
    """
    if map_.hash[x] != map_.hash[p]:
        return map_.hash[x] < map_.hash[p]
    if map_.rank.size > 0:
        return map_.rank[x] < map_.rank[p]
    map_.tied[0] = True
    return False


@leaf
def move_root_to_front(map_, slot, root):
    """Let the chain start with the root."""
    if root != map_.table[slot]:
        unlink(map_, slot, root)
        link(map_, slot, NIL, root)


@leaf
def rotate(map_, root, p, side):
    """Let ``p`` sink to this side, and its child on the other one rise (``rotateLeft``,
    ``rotateRight``)."""
    r = map_.child[p, 1 - side]
    moved = map_.child[r, side]
    map_.child[p, 1 - side] = moved
    if moved != NIL:
        map_.parent[moved] = p
    root = replace(map_, root, p, r)
    if root == r:
        map_.red[r] = False
    map_.child[r, side] = p
    map_.parent[p] = r
    return root


@leaf
def balance_insertion(map_, root, x):
    """Restore the red-black rules after inserting ``x``. Returns the root."""
    map_.red[x] = True
    while True:
        parent = map_.parent[x]
        if parent == NIL:
            map_.red[x] = False
            return x
        above = map_.parent[parent]
        if not map_.red[parent] or above == NIL:
            return root
        side = RIGHT if map_.child[above, RIGHT] == parent else LEFT
        uncle = map_.child[above, 1 - side]
        if uncle != NIL and map_.red[uncle]:
            map_.red[uncle] = False
            map_.red[parent] = False
            map_.red[above] = True
            x = above
            continue
        if x == map_.child[parent, 1 - side]:
            x = parent
            root = rotate(map_, root, x, side)
            parent = map_.parent[x]
            above = map_.parent[parent]
        map_.red[parent] = False
        map_.red[above] = True
        root = rotate(map_, root, above, 1 - side)


@leaf
def remove_node(map_, x):
    """Take a key out of its bin."""
    slot = map_.hash[x] & (map_.slots[0] - 1)
    unlink(map_, slot, x)
    if map_.tree[slot]:
        remove_tree_node(map_, slot, x)


@leaf
def remove_tree_node(map_, slot, x):
    """Take a key out of a tree, as it was taken out of the chain.

    A tree that was small before is a list from then on; of others the root comes to the front.
    """
    root = x
    while map_.parent[root] != NIL:
        root = map_.parent[root]
    left = map_.child[root, LEFT]
    if map_.child[root, RIGHT] == NIL or left == NIL or map_.child[left, LEFT] == NIL:
        map_.tree[slot] = False
        return
    if map_.child[x, LEFT] != NIL and map_.child[x, RIGHT] != NIL:
        root = swap_with_successor(map_, root, x)
    replacement = map_.child[x, LEFT]
    if replacement == NIL:
        replacement = map_.child[x, RIGHT]
    if replacement != NIL:
        map_.red[replacement] = False  # it was red, and the key is black
    elif not map_.red[x]:
        root = balance_deletion(map_, root, x)
    root = replace(map_, root, x, replacement)
    move_root_to_front(map_, slot, root)


@leaf
def replace(map_, root, x, y):
    """Hang ``y``, or nothing, below the parent of ``x`` in its place. Returns the root."""
    above = map_.parent[x]
    if y != NIL:
        map_.parent[y] = above
    if above == NIL:
        return y
    map_.child[above, RIGHT if map_.child[above, RIGHT] == x else LEFT] = y
    return root


@leaf
def swap_with_successor(map_, root, x):
    """Let ``x``, which has two children, change places and colours with the next key."""
    s = map_.child[x, RIGHT]
    while map_.child[s, LEFT] != NIL:
        s = map_.child[s, LEFT]
    map_.red[s], map_.red[x] = map_.red[x], map_.red[s]
    above, right, below = map_.parent[s], map_.child[x, RIGHT], map_.child[s, RIGHT]
    root = replace(map_, root, x, s)
    if above == x:
        map_.parent[x] = s
        map_.child[s, RIGHT] = x
    else:
        map_.parent[x] = above
        map_.child[above, LEFT] = x
        map_.child[s, RIGHT] = right
        map_.parent[right] = s
    map_.child[s, LEFT] = map_.child[x, LEFT]
    map_.parent[map_.child[s, LEFT]] = s
    map_.child[x, LEFT] = NIL
    map_.child[x, RIGHT] = below
    if below != NIL:
        map_.parent[below] = x
    return root


@leaf
def balance_deletion(map_, root, x):
    """Restore the red-black rules above ``x``, one black too few. Returns the root."""
    while x != root:
        parent = map_.parent[x]
        if map_.red[x]:
            map_.red[x] = False
            return root
        side = RIGHT if map_.child[parent, RIGHT] == x else LEFT
        sibling = map_.child[parent, 1 - side]
        if sibling != NIL and map_.red[sibling]:
            map_.red[sibling] = False
            map_.red[parent] = True
            root = rotate(map_, root, parent, side)
            sibling = map_.child[parent, 1 - side]
        if sibling == NIL:
            x = parent
            continue
        inside, outside = map_.child[sibling, side], map_.child[sibling, 1 - side]
        inside_red = inside != NIL and map_.red[inside]
        outside_red = outside != NIL and map_.red[outside]
        if not inside_red and not outside_red:
            map_.red[sibling] = True
            x = parent
            continue
        if not outside_red:
            map_.red[inside] = False
            map_.red[sibling] = True
            root = rotate(map_, root, sibling, 1 - side)
            sibling = map_.child[parent, 1 - side]
        map_.red[sibling] = map_.red[parent]
        map_.red[map_.child[sibling, 1 - side]] = False
        map_.red[parent] = False
        return rotate(map_, root, parent, side)
    return root
