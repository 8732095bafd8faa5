"""A HashMap key by key, with its tree bins: exact where bins get crowded.

A bin that takes a ninth key (an eighth by ``computeIfAbsent``) doubles the table while that has
fewer than 64 slots; in larger tables the bin becomes a red-black tree. A tree is still walked along
its ``next`` links, but these no longer follow insertion: a new key stands behind its parent, and
the root stands in front. So the walk depends on the shape of the tree, and the shape on hashes and,
where these are equal, on ``compareTo``. Keys that are not Comparable are compared by
``System.identityHashCode``: then Java itself has no fixed order.

Source: ``java.util.HashMap`` of JDK 17; steps are named as there. Nodes are numbered in order of
insertion; ``NIL`` stands for null. Not compiled: crowded bins are rare, compiling costs seconds.
"""

import numpy as np

NIL = -1
TREEIFY_THRESHOLD = 8
UNTREEIFY_THRESHOLD = 6
MIN_TREEIFY_CAPACITY = 64


class Nodes:
    """The keys of one map, as lists with one entry a key.

    ``hash``: spread hashes, signed as Java's int; ``rank``: positions in ``compareTo`` order, None
    if keys are not Comparable; ``next`` to ``right``: links; ``tree``: whether the key is in a tree
    bin; ``tied``: whether identity hash codes had to decide.
    """

    def __init__(self, spreads: np.ndarray, rank: np.ndarray | None):
        self.hash = spreads.tolist()
        self.rank = None if rank is None else rank.tolist()
        self.next, self.prev, self.parent, self.left, self.right = (
            [NIL] * len(self.hash) for _ in range(5)
        )
        self.red = [False] * len(self.hash)
        self.tree = [False] * len(self.hash)
        self.tied = False


def walk(
    spreads: np.ndarray,
    rank: np.ndarray | None,
    capacity: int,
    newest_first: bool,
    called_again: bool,
    removed: tuple[int, ...] = (),
) -> tuple[np.ndarray, bool]:
    """Put keys one by one and walk the map: (order int64[n], whether Java fixes that order).

    Arguments as in :func:`assignlab.jvm.hash_map.hash_map_walk`, ``spreads`` already spread.
    """
    nodes = Nodes(spreads, rank)
    table = filled(nodes, capacity, newest_first)
    if called_again:
        table = grown(nodes, table, spreads.size)
    for x in removed:
        remove(nodes, table, x)
    return walked(nodes, table), not nodes.tied


def slots(spreads: np.ndarray, capacity: int) -> int:
    """Slots of the table after all keys were put, see
    :func:`assignlab.jvm.hash_map.hash_map_slots`."""
    return len(filled(Nodes(spreads, None), capacity, False))


def filled(nodes, capacity, newest_first):
    """The table with all keys, by order of their numbers."""
    table = [NIL] * capacity
    for x in range(len(nodes.hash)):
        if newest_first:
            table = grown(nodes, table, x)
            table = compute_if_absent(nodes, table, x)
        else:
            table = put(nodes, table, x)
            table = grown(nodes, table, x + 1)
    return table


def walked(nodes, table):
    """The keys slot by slot: int64[n]."""
    order = []
    for x in table:
        while x != NIL:
            order.append(x)
            x = nodes.next[x]
    return np.array(order, dtype=np.int64)


def grown(nodes, table, size):
    """The table, doubled if ``size`` keys are more than three quarters of it."""
    return resize(nodes, table) if size > len(table) * 3 // 4 else table


def put(nodes, table, x):
    """Append to the bin (``putVal``). Returns the table, doubled if the bin was crowded."""
    slot = nodes.hash[x] & (len(table) - 1)
    first = table[slot]
    if first == NIL:
        table[slot] = x
        return table
    if nodes.tree[first]:
        put_tree_val(nodes, table, x)
        return table
    last = first
    count = 1
    while nodes.next[last] != NIL:
        last = nodes.next[last]
        count += 1
    nodes.next[last] = x
    return treeify_bin(nodes, table, slot) if count >= TREEIFY_THRESHOLD else table


def compute_if_absent(nodes, table, x):
    """Put in front of the bin; it counts as crowded one key earlier than by ``put``."""
    slot = nodes.hash[x] & (len(table) - 1)
    first = table[slot]
    if first != NIL and nodes.tree[first]:
        put_tree_val(nodes, table, x)
        return table
    count = 0
    e = first
    while e != NIL:
        e = nodes.next[e]
        count += 1
    nodes.next[x] = first
    table[slot] = x
    return treeify_bin(nodes, table, slot) if count >= TREEIFY_THRESHOLD - 1 else table


def treeify_bin(nodes, table, slot):
    """Double a small table; in a larger one make the bin a tree."""
    if len(table) < MIN_TREEIFY_CAPACITY:
        return resize(nodes, table)
    last = NIL
    e = table[slot]
    while e != NIL:
        nodes.prev[e] = last
        nodes.tree[e] = True
        last = e
        e = nodes.next[e]
    treeify(nodes, table, table[slot])
    return table


def resize(nodes, table):
    """Double the table; each bin is split in two that keep its order."""
    bit = len(table)
    doubled = [NIL] * (2 * bit)
    for slot in range(bit):
        if table[slot] != NIL:
            split(nodes, doubled, table[slot], slot, bit)
    return doubled


def split(nodes, table, head, slot, bit):
    """Deal a bin into the slots ``slot`` and ``slot + bit``."""
    in_tree = nodes.tree[head]
    low_tail = high_tail = NIL
    low = high = 0
    e = head
    while e != NIL:
        following = nodes.next[e]
        nodes.next[e] = NIL
        if nodes.hash[e] & bit == 0:
            link_last(nodes, table, slot, low_tail, e)
            low_tail = e
            low += 1
        else:
            link_last(nodes, table, slot + bit, high_tail, e)
            high_tail = e
            high += 1
        e = following
    if in_tree:
        settle(nodes, table, slot, low, high > 0)
        settle(nodes, table, slot + bit, high, low > 0)


def link_last(nodes, table, slot, tail, e):
    """Append ``e`` to the chain in ``slot`` that ends with ``tail``."""
    nodes.prev[e] = tail
    if tail == NIL:
        table[slot] = e
    else:
        nodes.next[tail] = e


def settle(nodes, table, slot, count, parted):
    """After a split: make a small tree a list again, build a parted one anew."""
    if count == 0:
        return
    if count <= UNTREEIFY_THRESHOLD:
        e = table[slot]
        while e != NIL:
            nodes.tree[e] = False
            e = nodes.next[e]
    elif parted:
        treeify(nodes, table, table[slot])


def treeify(nodes, table, head):
    """Build the tree from the chain that starts at ``head``."""
    root = head
    nodes.parent[root] = nodes.left[root] = nodes.right[root] = NIL
    nodes.red[root] = False
    x = nodes.next[head]
    while x != NIL:
        nodes.left[x] = nodes.right[x] = NIL
        insert_below(nodes, root, x)
        root = balance_insertion(nodes, root, x)
        x = nodes.next[x]
    move_root_to_front(nodes, table, root)


def put_tree_val(nodes, table, x):
    """Insert into a tree bin: right behind the parent in the chain."""
    root = table[nodes.hash[x] & (len(table) - 1)]
    parent = insert_below(nodes, root, x)
    following = nodes.next[parent]
    nodes.tree[x] = True
    nodes.next[parent] = x
    nodes.prev[x] = parent
    nodes.next[x] = following
    if following != NIL:
        nodes.prev[following] = x
    move_root_to_front(nodes, table, balance_insertion(nodes, root, x))


def insert_below(nodes, root, x):
    """Hang ``x`` into the tree as a leaf. Returns its parent."""
    p = root
    while True:
        goes_left = before(nodes, x, p)
        child = nodes.left[p] if goes_left else nodes.right[p]
        if child == NIL:
            break
        p = child
    nodes.parent[x] = p
    if goes_left:
        nodes.left[p] = x
    else:
        nodes.right[p] = x
    return p


def before(nodes, x, p):
    """Whether key ``x`` sorts before ``p``: by hash, then ``compareTo``, else it is a tie.

    Java breaks a tie by identity hash code; here the newer key goes behind and the tie is noted.
    """
    if nodes.hash[x] != nodes.hash[p]:
        return nodes.hash[x] < nodes.hash[p]
    if nodes.rank is not None:
        return nodes.rank[x] < nodes.rank[p]
    nodes.tied = True
    return False


def move_root_to_front(nodes, table, root):
    """Let the chain start with the root."""
    slot = nodes.hash[root] & (len(table) - 1)
    first = table[slot]
    if root == first:
        return
    table[slot] = root
    previous, following = nodes.prev[root], nodes.next[root]
    if following != NIL:
        nodes.prev[following] = previous
    if previous != NIL:
        nodes.next[previous] = following
    nodes.prev[first] = root
    nodes.next[root] = first
    nodes.prev[root] = NIL


def rotate(nodes, root, p, down, up):
    """Rotate ``p`` down: ``up`` are the links to the child that rises, ``down`` the other ones."""
    r = up[p]
    moved = down[r]
    up[p] = moved
    if moved != NIL:
        nodes.parent[moved] = p
    root = replace(nodes, root, p, r)
    if root == r:
        nodes.red[r] = False
    down[r] = p
    nodes.parent[p] = r
    return root


def sides(nodes, above, x):
    """The links of the side on which ``x`` hangs below ``above``, and those of the other side."""
    if nodes.left[above] == x:
        return nodes.left, nodes.right
    return nodes.right, nodes.left


def balance_insertion(nodes, root, x):
    """Restore the red-black rules after inserting ``x``. Returns the root."""
    nodes.red[x] = True
    while True:
        parent = nodes.parent[x]
        if parent == NIL:
            nodes.red[x] = False
            return x
        above = nodes.parent[parent]
        if not nodes.red[parent] or above == NIL:
            return root
        near, far = sides(nodes, above, parent)
        uncle = far[above]
        if uncle != NIL and nodes.red[uncle]:
            nodes.red[uncle] = False
            nodes.red[parent] = False
            nodes.red[above] = True
            x = above
            continue
        if x == far[parent]:
            x = parent
            root = rotate(nodes, root, x, near, far)
            parent = nodes.parent[x]
            above = nodes.parent[parent]
        nodes.red[parent] = False
        nodes.red[above] = True
        root = rotate(nodes, root, above, far, near)


def remove(nodes, table, x):
    """Take a key out of its bin (``removeNode``)."""
    slot = nodes.hash[x] & (len(table) - 1)
    if nodes.tree[x]:
        remove_tree_node(nodes, table, slot, x)
    elif table[slot] == x:
        table[slot] = nodes.next[x]
    else:
        e = table[slot]
        while nodes.next[e] != x:
            e = nodes.next[e]
        nodes.next[e] = nodes.next[x]


def remove_tree_node(nodes, table, slot, x):
    """Take a key out of a tree bin, from its chain and from the tree.

    A tree that was small before is a list from then on; of others the root comes to the front.
    """
    root = table[slot]
    previous, following = nodes.prev[x], nodes.next[x]
    if previous == NIL:
        table[slot] = following
    else:
        nodes.next[previous] = following
    if following != NIL:
        nodes.prev[following] = previous
    if table[slot] == NIL:
        return
    while nodes.parent[root] != NIL:
        root = nodes.parent[root]
    left = nodes.left[root]
    if nodes.right[root] == NIL or left == NIL or nodes.left[left] == NIL:
        e = table[slot]
        while e != NIL:
            nodes.tree[e] = False
            e = nodes.next[e]
        return
    if nodes.left[x] != NIL and nodes.right[x] != NIL:
        root = swap_with_successor(nodes, root, x)
    replacement = nodes.left[x] if nodes.left[x] != NIL else nodes.right[x]
    if replacement != NIL:
        root = replace(nodes, root, x, replacement)
        nodes.parent[x] = NIL
        nodes.red[replacement] = nodes.red[replacement] and nodes.parent[replacement] != NIL
        if not nodes.red[x]:
            root = balance_deletion(nodes, root, replacement)
    else:
        if not nodes.red[x]:
            root = balance_deletion(nodes, root, x)
        root = replace(nodes, root, x, NIL)
        nodes.parent[x] = NIL
    move_root_to_front(nodes, table, root)


def replace(nodes, root, x, y):
    """Hang ``y``, or nothing, below the parent of ``x`` in its place. Returns the root."""
    above = nodes.parent[x]
    if y != NIL:
        nodes.parent[y] = above
    if above == NIL:
        return y
    if nodes.left[above] == x:
        nodes.left[above] = y
    else:
        nodes.right[above] = y
    return root


def swap_with_successor(nodes, root, x):
    """Let ``x``, which has two children, change places and colours with the next key."""
    s = nodes.right[x]
    while nodes.left[s] != NIL:
        s = nodes.left[s]
    nodes.red[s], nodes.red[x] = nodes.red[x], nodes.red[s]
    above, right, below = nodes.parent[s], nodes.right[x], nodes.right[s]
    root = replace(nodes, root, x, s)
    if above == x:
        nodes.parent[x] = s
        nodes.right[s] = x
    else:
        nodes.parent[x] = above
        nodes.left[above] = x
        nodes.right[s] = right
        nodes.parent[right] = s
    nodes.left[s] = nodes.left[x]
    nodes.parent[nodes.left[s]] = s
    nodes.left[x] = NIL
    nodes.right[x] = below
    if below != NIL:
        nodes.parent[below] = x
    return root


def balance_deletion(nodes, root, x):
    """Restore the red-black rules above ``x``, one black too few. Returns the root."""
    while x != root:
        parent = nodes.parent[x]
        if nodes.red[x]:
            nodes.red[x] = False
            return root
        near, far = sides(nodes, parent, x)
        sibling = far[parent]
        if sibling != NIL and nodes.red[sibling]:
            nodes.red[sibling] = False
            nodes.red[parent] = True
            root = rotate(nodes, root, parent, near, far)
            sibling = far[parent]
        if sibling == NIL:
            x = parent
            continue
        inside, outside = near[sibling], far[sibling]
        inside_red = inside != NIL and nodes.red[inside]
        outside_red = outside != NIL and nodes.red[outside]
        if not inside_red and not outside_red:
            nodes.red[sibling] = True
            x = parent
            continue
        if not outside_red:
            nodes.red[inside] = False
            nodes.red[sibling] = True
            root = rotate(nodes, root, sibling, far, near)
            sibling = far[parent]
        nodes.red[sibling] = nodes.red[parent]
        nodes.red[far[sibling]] = False
        nodes.red[parent] = False
        return rotate(nodes, root, parent, near, far)
    return root
