"""What members tell the one who assigns, and the assignment by the exact strategy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from assignlab.assignors.strategy import Strategy
from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import (
    ABSENT,
    MIXED,
    NO_METADATA,
    Claims,
    Group,
    Members,
    Topics,
    subscriptions,
)
from assignlab.jvm.hash_map import hash_map_order
from assignlab.jvm.names import Names, Uuid, uuid_hashes
from assignlab.timeline.engine.log import EMPTY, Cluster


@dataclass(frozen=True, eq=False)
class Claim:
    """What a member says it owns: codes as the assignor will read them, and the generation."""

    codes: np.ndarray
    generation: int

    def without(self, codes: np.ndarray) -> "Claim":
        """The claim after these partitions were given up."""
        return Claim(self.codes[~np.isin(self.codes, codes)], self.generation)

    def matches(self, other: "Claim | None") -> bool:
        """Whether the member's metadata would be the same bytes."""
        return (
            other is not None
            and self.generation == other.generation
            and np.array_equal(self.codes, other.codes)
        )


@dataclass(frozen=True, eq=False)
class JoinRequest:
    """A member's subscription: topic indices in the order in which it sends them.

    ``protocols``: its strategies by the names that clients of every kind and release offer, most
    wanted first; ``claims``: what it tells each of them; ``generation``: the last that it was in,
    which is a part of what it sends; ``owned``: what it holds, as dense partition numbers.
    ``tells_owned``: whether the message has a place for that, and ``cut_short``: whether it ends before.
    """

    member_id: str
    protocols: tuple[str, ...]
    subscription: tuple[int, ...]
    claims: tuple[Claim | None, ...] = ()
    generation: int = -1
    owned: np.ndarray = field(default_factory=lambda: EMPTY)
    tells_owned: bool = True
    cut_short: bool = False

    def claim_for(self, strategy: str) -> Claim | None:
        """What the member tells a strategy that it owns."""
        return dict(zip(self.protocols, self.claims, strict=False)).get(strategy)

    def only(self, strategy: str) -> "JoinRequest":
        """What is kept of it where one strategy is known alone."""
        return replace(self, protocols=(strategy,), claims=(self.claim_for(strategy),))

    def matches(self, other: "JoinRequest") -> bool:
        """Whether the coordinator sees no change."""
        return (
            self.protocols == other.protocols
            and self.generation == other.generation
            and self.subscription == other.subscription
            and all(
                one is other if one is None else one.matches(other)
                for one, other in zip(self.claims, other.claims, strict=True)
            )
        )


class Registered(Protocol):
    """A member as the one who assigns sees it."""

    id: str
    instance: str | None
    client: Any

    @property
    def request(self) -> JoinRequest:
        """What it asked for when it joined last."""


class Groups:
    """Makes the groups that assignors see; topics and members are shared as long as they stay.

    ``held``: by member, what the scenario says that it holds, as dense partition numbers; empty
    from the first action on.
    """

    def __init__(self, cluster: Cluster, topic_ids: Sequence[str], held: Mapping[str, np.ndarray]):
        self.held = held
        self._cluster = cluster
        self._topic_ids = tuple(topic_ids)
        self._id_hashes = uuid_hashes([Uuid.parse(text) for text in topic_ids])
        self._topics: dict[bytes, Topics] = {}
        self._last: tuple | None = None

    def assign(
        self,
        strategy: Strategy,
        members: Sequence[Registered],
        counts: np.ndarray,
        generation: int,
        mixed: bool = False,
    ) -> dict[str, tuple[np.ndarray, Claim | None]]:
        """Member id -> (dense partitions in order, what the member will claim from then on).

        ``counts`` int64[topics]: partitions as the one who assigns knows them. ``mixed``: see
        :data:`assignlab.group.model.MIXED`.
        """
        claims: list[Claim | None] = []
        if strategy.sticky:
            claims = [member.request.claim_for(strategy.kind) for member in members]
        claimed = [claim.codes for claim in claims if claim is not None]
        group = self._group(members, counts, claimed, mixed)
        if strategy.sticky:
            group = group.with_claims(_claims(claims, strategy.generations))
        found = self._as_found(strategy, members)
        # In the order in which members will send it back.
        if found is None:
            after = strategy.assign(group)
            claimed = strategy.sent_back(group, after)
        else:
            after, claimed = found, strategy.taken_over(group, found)
        dense = self._cluster.dense(after.codes)
        bounds = after.offsets.tolist()
        return {
            member.id: (
                dense[bounds[m] : bounds[m + 1]],
                Claim(claimed.of(m), generation) if strategy.sticky else None,
            )
            for m, member in enumerate(members)
        }

    def _as_found(self, strategy: Strategy, members: Sequence[Registered]) -> Assignment | None:
        """What the scenario says that these members hold, if it is about just them."""
        if not self.held or {member.client.name for member in members} != self.held.keys():
            return None
        owner = np.full(self._cluster.topic.size, -1)
        if strategy.protocol == "cooperative":  # nobody gets what another has not given up
            for m, member in enumerate(members):
                owner[member.request.owned] = m
        given = [self.held[member.client.name] for member in members]
        given = [own[(owner[own] == -1) | (owner[own] == m)] for m, own in enumerate(given)]
        offsets = np.cumsum([0, *(own.size for own in given)])
        return Assignment(offsets, self._cluster.codes(np.concatenate(given)))

    def received(
        self, strategy: Strategy, member: Registered, partitions: np.ndarray, generation: int
    ) -> Claim | None:
        """What a classic member claims that got these partitions, in order, from a coordinator."""
        if not strategy.sticky:
            return None
        codes = self._cluster.codes(partitions)
        group = self._group([member], self._cluster.partitions, [codes])
        after = Assignment(np.array([0, partitions.size]), codes)
        claimed = strategy.sent_back(group, after)
        return Claim(claimed.codes, generation)

    def in_map_order(self, partitions: np.ndarray) -> np.ndarray:
        """Dense partitions as the coordinator's maps of topic ids and of partitions have them in
        order."""
        ordered = np.sort(partitions)
        topics, begins = np.unique(self._cluster.topic[ordered], return_index=True)
        found = [EMPTY]
        owns = np.split(ordered, begins[1:])
        for i in hash_map_order(self._id_hashes[topics]).tolist():
            numbers = owns[i] - self._cluster.first[topics[i]]
            found.append(owns[i][hash_map_order(numbers.astype(np.int32))])
        return np.concatenate(found)

    def _group(
        self,
        members: Sequence[Registered],
        counts: np.ndarray,
        claimed: Sequence[np.ndarray],
        mixed: bool = False,
    ) -> Group:
        """The group with the members in this order, none of whom claims anything yet.

        ``claimed``: codes; who assigns may not know their topics, since its metadata is older.
        """
        ids = [member.id for member in members]
        subscribed = [member.request.subscription for member in members]
        instances = [member.instance for member in members]
        last = [int(np.flatnonzero(counts).max(initial=-1))]
        last += [max(topics, default=-1) for topics in subscribed]
        last += [int(topic_of(codes).max(initial=-1)) for codes in claimed]
        most = 1 + max(last)
        counts = np.concatenate((counts, np.zeros(max(most - counts.size, 0), np.int64)))[:most]
        key = (tuple(ids), tuple(subscribed), tuple(instances), counts.tobytes(), mixed)
        if self._last is None or self._last[0] != key:
            named = Members(
                Names(ids),
                *subscriptions(subscribed),
                tuple(instances) if any(instances) else None,
            )
            topics = self._topics_of(counts)
            group = Group(topics, named, Claims.none(len(ids)), MIXED if mixed else {})
            self._last = (key, group)
        return self._last[1]

    def _topics_of(self, counts: np.ndarray) -> Topics:
        key = counts.tobytes()
        if key not in self._topics:
            names = Names(self._cluster.names[: counts.size])
            ids = self._topic_ids[: counts.size]
            self._topics[key] = Topics(names, np.where(counts == 0, NO_METADATA, counts), ids=ids)
        return self._topics[key]


def _claims(claims: list[Claim | None], fields: tuple[str, ...]) -> Claims:
    sizes = [0 if claim is None else claim.codes.size for claim in claims]
    offsets = np.cumsum([0, *sizes], dtype=np.int64)
    codes = [claim.codes for claim in claims if claim is not None]
    present = np.array([claim is not None for claim in claims], dtype=np.bool_)
    generation = np.array(
        [ABSENT if claim is None else claim.generation for claim in claims], dtype=np.int64
    )
    absent = np.full(len(claims), ABSENT, dtype=np.int64)
    return Claims(
        offsets,
        np.concatenate(codes) if codes else np.empty(0, dtype=np.int64),
        present,
        generation if "generation" in fields else absent,
        generation if "sub_generation" in fields else absent,
    )
