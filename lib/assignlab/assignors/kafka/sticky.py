"""``sticky``: Kafka's StickyAssignor (since 3.7.1).

The rule. Everybody keeps what it claims, as far as it still subscribes to it and balance allows;
what is left goes to those who have least. With equal subscriptions each member has a quota, P // C
partitions or one more: members keep up to their quota (see
:mod:`assignlab.assignors.kafka.parts.constrained`). With different subscriptions, partitions are
assigned one by one and then moved until no subscriber of a partition has at least two fewer than
its owner (:mod:`assignlab.assignors.kafka.parts.general`).

What it promises, in order
1. Balance: with equal subscriptions the sizes differ by one at the most; otherwise no single move
   would bring two members closer together.
2. Stickiness: partitions stay where they are as far as balance allows. With equal subscriptions and
   without racks no assignment so balanced moves fewer.
Racks come between the two: a partition without a replica in its owner's rack is given up.

Claims of several members for one partition: the newest generation wins, within one generation
nobody (:mod:`assignlab.assignors.kafka.parts.claims`).

What it does not promise: anything to a group in which a topic was created again with fewer
partitions. Claims beyond its end may be kept, take the place of real partitions, or make the
original throw; and a member without topics may get partitions if the hash order puts it first.

Equal subscriptions; then C1 leaves:

>>> from assignlab.group.plain import group
>>> from assignlab.group.document import lists
>>> topics = {"t0": 2, "t1": 2, "t2": 2, "t3": 2}
>>> g = group(topics, {c: list(topics) for c in ("C0", "C1", "C2")})
>>> first = lists(g, assign(g))
>>> for member, partitions in first.items():
...     print(member, partitions)
C0 [['t0', 0], ['t1', 1], ['t3', 0]]
C1 [['t0', 1], ['t2', 0], ['t3', 1]]
C2 [['t1', 0], ['t2', 1]]
>>> g = group(topics, {c: list(topics) for c in ("C0", "C2")}, owned=first, generation=1)
>>> for member, partitions in lists(g, assign(g)).items():
...     print(member, partitions)
C0 [['t0', 0], ['t3', 0], ['t1', 1], ['t0', 1]]
C2 [['t1', 0], ['t2', 1], ['t2', 0], ['t3', 1]]

(The documentation of the class still prints the lists of its first version.)
Different subscriptions; then C0 leaves:

>>> topics = {"t0": 1, "t1": 2, "t2": 3}
>>> g = group(topics, {"C0": ["t0"], "C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]})
>>> first = lists(g, assign(g))
>>> first
{'C0': [['t0', 0]], 'C1': [['t1', 0], ['t1', 1]], 'C2': [['t2', 0], ['t2', 1], ['t2', 2]]}
>>> g = group(topics, {"C1": ["t0", "t1"], "C2": ["t0", "t1", "t2"]}, owned=first, generation=1)
>>> lists(g, assign(g))
{'C1': [['t1', 0], ['t1', 1], ['t0', 0]], 'C2': [['t2', 0], ['t2', 1], ['t2', 2]]}
"""

from types import ModuleType

import numpy as np

from assignlab.assignors.kafka.parts import constrained, eligible, general
from assignlab.assignors.kafka.parts.claims import (
    NO_PHANTOMS,
    PHANTOMS,
    all_subscriptions_equal,
    packed_shape,
    phantoms_of,
    shape_of,
    with_phantoms,
)
from assignlab.assignors.kafka.parts.releases import GENERATION_SUBSCRIBED, LATEST, RACKS
from assignlab.assignors.kafka.parts.way_back import regroup
from assignlab.assignors.parts.never_ends import never_ends
from assignlab.assignors.parts.racks import NO_RACKS, rack_info
from assignlab.assignors.strategy import Strategy
from assignlab.errors import OriginalError
from assignlab.group.assignment import Assignment
from assignlab.group.model import ABSENT, Group


def assign(group: Group, cooperative: bool = False, release: int = LATEST) -> Assignment:
    """Settle the claims, then keep and deal, or keep, assign and balance.

    So do both sticky assignors since 3.0. ``cooperative``: without the partitions that another
    member must first give up; ``release``: whose rules, see
    :mod:`assignlab.assignors.kafka.parts.releases`.

    Raises :class:`~assignlab.errors.OriginalError` where the original throws or never ends. Notes
    ``nondeterministic`` where a crowded hash bin, which Java may walk otherwise, decided.
    """
    if len(group.members) == 0:
        raise OriginalError("ArithmeticException", "partitions are divided by no members")
    shape = group.prepared(packed_shape)
    racks = group.prepared(rack_info) if release >= RACKS else NO_RACKS
    if group.prepared(all_subscriptions_equal):
        _, offsets, codes = run(constrained, group, (shape, racks), cooperative, release)
        return Assignment(offsets, codes)
    known = shape, *group.prepared(eligible.potential_of), racks
    status, offsets, codes, certain = run(general, group, known, cooperative, release)
    if status < 0:
        raise never_ends(-status, certain)
    return Assignment(offsets, codes, notes={} if certain else {"nondeterministic": True})


def run(
    algorithm: ModuleType, group: Group, known: tuple, cooperative: bool, release: int
) -> tuple:
    """One of the algorithms, told of claims beyond the end of a topic if there are any.

    ``algorithm``: with its compiled function ``build``, and ``FAULTS``, what the original throws, by
    the status that ``build`` returns first; ``known``: what ``build`` takes of names and
    subscriptions.
    """
    claims = group.claims
    sub_generation = claims.sub_generation
    if release < GENERATION_SUBSCRIBED:
        sub_generation = np.full(sub_generation.size, ABSENT)
    read = claims.offsets, claims.codes, claims.present, claims.generation, sub_generation
    answer = algorithm.build(*known, NO_PHANTOMS, read, cooperative, release)
    if answer[0] == PHANTOMS:
        phantoms = phantoms_of(group, group.prepared(shape_of))
        shape = with_phantoms(known[0], phantoms)
        answer = algorithm.build(shape, *known[1:], phantoms, read, cooperative, release)
    if answer[0] in algorithm.FAULTS:
        raise OriginalError(*algorithm.FAULTS[answer[0]])
    return answer


def reclaim(group: Group, assignment: Assignment) -> Assignment:
    """The lists as they come back with the next claims.

    On the way to the member the partitions of a topic are put together, topics in the order in
    which they first appear; on the way back topics pass through a HashMap (``computeIfAbsent``).
    """
    return regroup(group, assignment, newest_first=True, times=1, put_together=True)


PROMISES = (
    "fixed_point",
    "floor_and_ceiling",
    "no_better_move",
    "keeps_most",
    "keeps_before_it_receives",
    "no_exchange",
    "older_claims_lose",
)
"""What both sticky assignors promise since 3.0."""

STRATEGY = Strategy(
    name="sticky",
    system="Kafka consumer",
    first="3.7.1",
    last="4.4.0",
    protocol="eager",
    sticky=True,
    source="org.apache.kafka.clients.consumer.StickyAssignor",
    original="kafka-clients:4.4.0",
    look=("slate", "v", "solid"),
    member_fields=("owned", "generation", "sub_generation", "instance", "rack"),
    generations=("generation", "sub_generation"),
    promises=(*PROMISES, "kept_first"),
    assign=assign,
    reclaim=reclaim,
)
