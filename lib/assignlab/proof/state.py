"""One answered group: what promises, faults and the fuzz look at."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assignlab import assignors
from assignlab.assignors.answer import solve as our_solve
from assignlab.assignors.strategy import Strategy
from assignlab.group.document import Document

Lists = dict[str, list[list]]
Partition = tuple[str, Any]
Solve = Callable[[Document], Lists]


def java_sticky(since: str = "0", until: str = "99") -> Callable[[Strategy], bool]:
    """Whether a strategy is one of the sticky ones of Kafka's consumer, of these releases.

    ``weighted-sticky`` begins as that of 3.4 does, with its faults.
    """
    return lambda s: (
        (s.system == "Kafka consumer" and s.sticky and s.between(since, until))
        or (s.name == "weighted-sticky" and assignors.get("sticky@3.4").between(since, until))
    )


newest_claims_only = java_sticky("2.5.1", "3.4.0")
"""Whether a claim of an older generation than another member's counts for nothing."""

MAX_ROUNDS = 4
"""Rounds after the first that Kafka's own tests allow a cooperative rebalance."""


def solve(document: Document) -> Lists:
    """The lists that the document's own strategy answers."""
    return our_solve(document)["assignment"]


@dataclass(eq=False)
class State:
    """One group document, the lists answered, and ``solve``, which would answer again.

    A partition is a pair of its topic and whatever names it there: a number, MetaQ's
    ``broker-number``, RocketMQ's ``(broker, number)``. ``aside``: partitions that are left out of
    account, whoever claims, wants or gets them.
    """

    document: Document
    lists: Lists
    solve: Solve = solve
    aside: frozenset[Partition] = frozenset()

    def __post_init__(self):
        self.strategy: Strategy = assignors.get(self.document["strategy"])
        self.rocketmq = self.strategy.system == "RocketMQ"

    @cached_property
    def members(self) -> dict[str, Document]:
        return {member["id"]: member for member in self.document["members"]}

    @cached_property
    def topics(self) -> dict[str, list]:
        """The names of every topic's partitions, in the order in which they are laid out."""
        return {topic["name"]: self._names(topic) for topic in self.document["topics"]}

    def _names(self, topic: Document) -> list:
        brokers = topic.get("brokers")
        if brokers is None:
            if not self.strategy.broker:
                return list(range(topic["partitions"]))
            brokers = [[self.strategy.broker, topic["partitions"]]]
        counts: dict[str, int] = defaultdict(int)
        for broker, count in brokers:
            counts[broker] = max(counts[broker], count)
        queues = [(b, n) for b in sorted(counts, key=utf16) for n in range(counts[b])]
        if self.rocketmq:
            return queues
        return sorted((f"{broker}-{number}" for broker, number in queues), key=utf16)

    @cached_property
    def subscribers(self) -> dict[str, list[str]]:
        """Per existing topic the ids of its subscribers, in the order of the document."""
        return {
            name: [m for m, member in self.members.items() if name in member["topics"]]
            for name in self.topics
        }

    @cached_property
    def given(self) -> dict[str, list[Partition]]:
        """Every member's list as partitions."""
        return {
            member: [p for p in map(self._partition, given) if p not in self.aside]
            for member, given in self.lists.items()
        }

    def _partition(self, pair: list) -> Partition:
        return (pair[0], (pair[1], pair[2]) if self.rocketmq else pair[1])

    @cached_property
    def owners(self) -> dict[Partition, list[str]]:
        """The members that were given each partition."""
        return _by_partition((m, p) for m, given in self.given.items() for p in given)

    @cached_property
    def wanted(self) -> list[Partition]:
        """The partitions of all topics that somebody subscribes to."""
        return [
            (topic, name)
            for topic, names in self.topics.items()
            if self.subscribers[topic]
            for name in names
            if (topic, name) not in self.aside
        ]

    @cached_property
    def equal(self) -> bool:
        """Whether all members name the same topics, at least one."""
        named = {frozenset(member["topics"]) for member in self.members.values()}
        return len(named) == 1 and named != {frozenset()}

    @cached_property
    def racks(self) -> bool:
        """Whether racks may play a part."""
        return any("racks" in topic for topic in self.document["topics"]) and any(
            member.get("rack") is not None for member in self.members.values()
        )

    @cached_property
    def claimed(self) -> list[tuple[str, Partition]]:
        """Every claim as it was sent, topics by their names: (member, partition)."""
        by_id = {t["id"]: t["name"] for t in self.document["topics"] if t.get("id") is not None}
        return [
            (id, (by_id.get(topic, topic), partition))
            for id, member in self.members.items()
            for topic, partition in member.get("owned") or []
        ]

    @cached_property
    def claimed_here(self) -> list[tuple[str, Partition]]:
        """Those of the claims whose partition the cluster has: (member, partition)."""
        return [
            (id, (topic, name))
            for id, (topic, name) in self.claimed
            if name in self.topics.get(topic, ()) and (topic, name) not in self.aside
        ]

    @cached_property
    def claims(self) -> dict[str, list[Partition]]:
        """What each member claims and could keep: subscribed, and in the cluster."""
        claims: dict[str, list[Partition]] = {id: [] for id in self.members}
        for id, pair in self.claimed_here:
            if pair[0] in self.members[id]["topics"]:
                claims[id].append(pair)
        return claims

    @cached_property
    def claimants(self) -> dict[Partition, list[str]]:
        """Who claims each partition and could keep it."""
        return _by_partition(
            (m, p) for m, claimed in self.claims.items() for p in dict.fromkeys(claimed)
        )

    @cached_property
    def had(self) -> dict[Partition, list[str]]:
        """Who claims each partition of the cluster, subscribed or not."""
        return _by_partition(dict.fromkeys(self.claimed_here))

    @cached_property
    def holders(self) -> dict[Partition, str]:
        """Who may keep each partition: its only claimant, or that of the highest generation.

        Before 3.4.1 only the claims of the newest generation of all count.
        """
        newest = max(map(self.generation, self.members), default=-1)
        holders = {}
        for partition, members in self.claimants.items():
            generations = sorted(((self.generation(m), m) for m in members), reverse=True)
            if generations[0][0] < newest and newest_claims_only(self.strategy):
                continue
            if len(generations) == 1 or generations[0][0] > generations[1][0]:
                holders[partition] = generations[0][1]
        return holders

    def generation(self, member: str) -> int:
        """The generation of a member's claim, -1 for none."""
        fields = self.members[member]
        return max(-1, fields.get("sub_generation", fields.get("generation", -1)))

    def after(self, lists: Lists) -> Document:
        """The same group when every member claims what it was given, nothing else changed."""
        members = []
        for member in self.document["members"]:
            claimed = {**member, "owned": [list(pair) for pair in lists.get(member["id"], [])]}
            for field in ("generation", "sub_generation"):
                claimed.pop(field, None)
                if field in self.strategy.generations:
                    claimed[field] = 1000
            members.append(claimed)
        return {**self.document, "members": members}

    @cached_property
    def settled(self) -> "State | None":
        """The state when nobody has to give anything up any more; None after too many rounds."""
        if self.strategy.protocol != "cooperative":
            return self
        state = self
        for _ in range(1 + MAX_ROUNDS):
            if all(state.owners.get(p) == members for p, members in state.had.items()):
                return state
            document = state.after(state.lists)
            state = State(document, self.solve(document), self.solve)
        return None

    @cached_property
    def in_order(self) -> list[str]:
        """Members in the order of Kafka's consumer: static ones by instance, then by id."""

        def key(id: str):
            instance = self.members[id].get("instance")
            return (0, utf16(instance), b"") if instance is not None else (1, b"", utf16(id))

        return sorted(self.members, key=key)

    def shares(self, topic: str) -> dict[str, list]:
        """Per subscriber of a topic, in order, the names of its partitions of that topic."""
        return {
            member: [name for t, name in self.given.get(member, ()) if t == topic]
            for member in self.in_order
            if member in self.subscribers[topic]
        }


def _by_partition(held: Iterable[tuple[str, Partition]]) -> dict[Partition, list[str]]:
    found: dict[Partition, list[str]] = defaultdict(list)
    for member, partition in held:
        found[partition].append(member)
    return dict(found)


def streams(member: Document) -> list[int]:
    """How many streams a consumer of Kafka 0.8 asks for, topic by topic of its subscription."""
    told = member.get("streams")
    return told if isinstance(told, list) else [1 if told is None else told] * len(member["topics"])


def utf16(text: str) -> bytes:
    """Java compares strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")
