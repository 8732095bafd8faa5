"""``sticky``: Kafka's StickyAssignor (since 2.4)."""

from assignlab.assignment import Assignment
from assignlab.assignors.kafka import sticky_constrained as constrained
from assignlab.assignors.kafka import sticky_general as general
from assignlab.assignors.kafka.sticky_claims import (
    NO_PHANTOMS,
    UNKNOWN_PHANTOM,
    all_subscriptions_equal,
    phantoms_of,
    settle_claims,
    shape_of,
)
from assignlab.assignors.kafka.sticky_racks import rack_info
from assignlab.errors import OriginalError
from assignlab.group import Group
from assignlab.strategy import Strategy


def assign(group: Group) -> Assignment:
    return assign_sticky(group, False)


def assign_sticky(group: Group, cooperative: bool) -> Assignment:
    shape = group.prepared(shape_of)
    claims = group.claims
    read = (claims.offsets, claims.codes, claims.present, claims.generation, claims.sub_generation)
    phantoms = NO_PHANTOMS
    holder, rivals, owned, newest = settle_claims(shape, phantoms, *read, cooperative)
    if newest == UNKNOWN_PHANTOM:
        phantoms = phantoms_of(group, shape)
        holder, rivals, owned, newest = settle_claims(shape, phantoms, *read, cooperative)
    racks = group.prepared(rack_info)
    if group.prepared(all_subscriptions_equal):
        if len(group.members) == 0:
            raise OriginalError("ArithmeticException", "divides the partitions by no members")
        status, offsets, codes = constrained.build(
            shape, racks, phantoms, holder, rivals, owned, cooperative
        )
        if status != constrained.DONE:
            raise OriginalError("IllegalStateException", constrained.FAULTS[status])
        return Assignment(offsets, codes)
    potential = group.prepared(general.potential_of)
    status, offsets, codes, certain = general.build(
        shape, potential, racks, phantoms, holder, newest, *read, cooperative
    )
    if status == general.NULL_POINTER:
        raise OriginalError("NullPointerException", "...")
    if status == general.NO_ELEMENT:
        raise OriginalError("NoSuchElementException", "...")
    return Assignment(offsets, codes, notes={} if certain else {"hash_trees": True})


STRATEGY = Strategy(
    name="sticky",
    system="Kafka consumer",
    first="3.7.1",
    last="4.4.0",
    protocol="eager",
    sticky=True,
    source="org.apache.kafka.clients.consumer.StickyAssignor (kafka-clients 4.4.0)",
    assign=assign,
    generations=("generation", "sub_generation"),
)
