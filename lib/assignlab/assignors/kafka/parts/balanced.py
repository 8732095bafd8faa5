"""Whether the group is balanced, and what the original's way of asking does in strange cases.

The original asks ``isBalanced`` before it looks at a partition. As a rule a group is balanced
exactly when no partition has a subscriber with at least two fewer than its owner, so
:func:`can_move`, topic by topic, is all that has to be asked. That fails where a partition may go
back to a member that no longer subscribes to it, and where a partition is held twice: there the
original's steps are taken one by one, and they may meet a member that takes no part in the
balancing.
"""

from assignlab.assignors.kafka.parts.claims import NOBODY
from assignlab.assignors.kafka.parts.held import holds
from assignlab.assignors.kafka.parts.releases import BALANCE_OF_ONE
from assignlab.assignors.parts.holdings import record
from assignlab.assignors.parts.racks import NO_RACK, racks_mismatch
from assignlab.assignors.parts.trees import NOT_SEATED, NUMBER_BITS
from assignlab.compiled import leaf
from assignlab.group.assignment import topic_of

DONE, NULL_POINTER, NO_ELEMENT = 0, 1, 2
BALANCED, BETTER = 4, 5

WITNESS = record("member", "partition")
"""Who showed imbalance last time, and by which partition; mostly they still do."""


@leaf
def is_strange(shape, potential, held, previous):
    """Whether the original's ``isBalanced`` has to be asked at every step."""
    if held.copies.size > 0:
        return True
    for x in range(previous.size):
        m = previous[x]
        if m != NOBODY and not potential.may[potential.kind[m], topic_of(shape.codes[x])]:
            return True
    return False


@leaf
def can_any_move(shape, potential, held, seats):
    """Whether a move would help anywhere."""
    for t in potential.topics:
        if can_move(shape, potential, held, seats, t):
            return True
    return False


@leaf
def can_move(shape, potential, held, seats, topic):
    """Whether some partition of the topic has a subscriber with at least two fewer, be it one that
    is set aside."""
    least = NOT_SEATED
    for k in range(potential.root_starts[topic], potential.root_starts[topic + 1]):
        root = potential.roots[k]
        least = min(least, seats.kinds[root] >> NUMBER_BITS, seats.roots[root].aside)
    for x in range(shape.base[topic], shape.base[topic] + shape.partitions[topic]):
        if held.size[held.partitions[x].owner] > least + 1:
            return True
    return False


@leaf
def is_balanced(state):
    """The original's ``isBalanced``: DONE if not, BALANCED, or NO_ELEMENT if nobody takes part.

    A difference of one, which counts before 3.5.2, is no witness: it does not count while no
    members differ by more.
    """
    shape, potential, held, fixed = state.shape, state.potential, state.held, state.fixed
    harmless = 1 if state.release >= BALANCE_OF_ONE else 0
    witness = state.witness[0]
    if witness.member >= 0 and shows_imbalance(state, witness.member, witness.partition, 1):
        return DONE
    fewest = NOT_SEATED
    most = -1
    for m in range(fixed.size):
        if not fixed[m]:
            fewest = min(fewest, held.size[m])
            most = max(most, held.size[m])
    if most < 0:
        return NO_ELEMENT
    if fewest >= most - 1:
        return BALANCED
    for t in potential.topics:
        first, end = shape.base[t], shape.base[t] + shape.partitions[t]
        largest = 0
        for x in range(first, end):
            largest = max(largest, held.size[last_holder(shape, held, x)])
        for m in shape.by_id:
            if not potential.may[potential.kind[m], t]:
                continue
            if fixed[m] or held.size[m] + harmless >= largest:
                continue
            for x in range(first, end):
                if shows_imbalance(state, m, x, harmless):
                    witness.member = m
                    witness.partition = x
                    return DONE
    return BALANCED


@leaf
def shows_imbalance(state, m, x, harmless):
    """Whether ``x``, which member ``m`` may have, is held by one that has more.

    ``harmless``: how many more do not count.
    """
    held = state.held
    if held.size[m] == state.potential.most[m] or holds(held, m, x):
        return False
    return held.size[m] + harmless < held.size[last_holder(state.shape, held, x)]


@leaf
def last_holder(shape, held, x):
    """Of several holders, the one that comes last in hash order."""
    entry = held.partitions[x].entry
    if held.copies.size == 0 or held.copies[entry] < 0:
        return held.log[entry].member
    for i in range(shape.by_owned.size - 1, -1, -1):
        if holds(held, shape.by_owned[i], x):
            return shape.by_owned[i]
    return NOBODY


@leaf
def find_better(state, topic, x):
    """BETTER if a subscriber has at least two fewer than the owner of ``x``, else DONE.

    NULL_POINTER if the walk meets a member that does not take part first: members in the racks of
    ``x`` come first if its owner is in one of them.
    """
    held, racks, fixed, potential = state.held, state.racks, state.fixed, state.potential
    owner = held.partitions[x].owner
    if fixed[owner]:
        return NULL_POINTER
    first = 1
    if racks.in_use and racks.of_member[owner] != NO_RACK and not racks_mismatch(racks, owner, x):
        first = 0
    for everybody in range(first, 2):
        for m in state.shape.by_hash:
            if not potential.may[potential.kind[m], topic]:
                continue
            if everybody == 0 and (racks.of_member[m] == NO_RACK or racks_mismatch(racks, m, x)):
                continue
            if fixed[m]:
                return NULL_POINTER
            if held.size[owner] > held.size[m] + 1:
                return BETTER
    return DONE
