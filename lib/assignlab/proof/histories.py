"""Random histories of groups, made to meet a strategy's edges: what the originals are asked.

A history is a group that lives through events. Each step is a group document; the answer of the
original is fed back as the members' next claims, as its own clients would send them. The generator
knows documents and a strategy's facts, and shares no code with what it tests. One seed,
one history.

Kinds of subscription: equal, disjoint, nested, random, one odd member; any of them with members
that subscribe to nothing, to topics that do not exist, and to a topic twice. Names: plain,
numbered, realistic, with equal hash codes, and (members) with characters that UTF-16 sorts
differently from code points. For the systems that have them: consumer threads, brokers, machine
rooms, options.
"""

import base64
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from assignlab import assignors
from assignlab.group.document import Document

Answer = dict[str, Any]

SHAPES = ("equal", "equal", "equal", "disjoint", "nested", "random", "one odd")
MEMBER_FAMILIES = ("realistic", "plain", "numbered", "equal", "utf-16")
TOPIC_FAMILIES = ("words", "plain", "numbered", "equal")
RACKS = ("r0", "r1", "r2")
CROWDED_EVERY = 250
DOUBLED_EVERY = 8
COLLIDING = ["".join(blocks) for blocks in product(("Aa", "BB"), repeat=4)]
WORDS = ("orders", "payments.events", "clicks", "audit-log", "users", "stock_levels", "mail", "geo")
# UTF-16 sorts the surrogates of an emoji before U+FF21, code points after it.
UTF16 = ("\U0001f600", "\uff21", "\ufffd", "\U00010400", "z", "A", "\u00e9", "\ud7ff")
INSTANCES = ("zone", "Aa", "BB", *UTF16[:2])

BROKERS = (
    ("0", "1", "2", "10", "11"),
    ("broker-a", "broker-b", "broker-B", "Broker"),
    (*COLLIDING[:3], "C#"),
    (*UTF16[:2], "b"),
)
ROOMS = ("r0", "r1", "r2")
ODD_ROOMS = ("plain", "a@b@c", "@x", "x@", "r0@y@")


@dataclass
class Member:
    """A member between two rebalances: what it would send if it joined now."""

    id: str
    role: int
    topics: list[str] = field(default_factory=list)
    instance: str | None = None
    rack: str | None = None
    owned: list[list] | None = None
    generation: int | None = None
    sub_generation: int | None = None
    # Which generations its client sends: all, none, or (before 3.4) only that of the user data.
    client: str = "all"

    def document(self) -> Document:
        """Its entry in a group document: absent fields left out."""
        entry: Document = {"id": self.id, "topics": list(self.topics)}
        for name in ("instance", "rack", "owned", "generation", "sub_generation"):
            if getattr(self, name) is not None:
                entry[name] = getattr(self, name)
        return entry


class History:
    """One group through its events; ``step`` makes the next document, ``learn`` takes the answer.

    ``crowded``: a hundred numbered topics, so that many partitions have equal hash codes
    ("t10" partition p + 1, "t20" partition p) and hash tables grow trees. ``doubled``: some members
    or all name topics twice.
    """

    def __init__(self, strategy: str, seed: str, crowded: bool = False, doubled: bool = False):
        self.random = random.Random(f"{strategy}/{seed}")
        self.strategy, self.seed = strategy, seed
        facts = assignors.get(strategy)
        self.cooperative = facts.protocol == "cooperative"
        self.fields = facts.member_fields  # what members send
        r = self.random
        self.big = r.random() < (0 if "large_groups" in facts.exceptions else 0.03)
        self.shape = r.choice(SHAPES)
        self.buckets = r.randint(2, 4)
        self.sorted_topics = "instance" in self.fields and r.random() < 0.8
        self.misses_topics = r.random() < (0.03 if "missing_topics" in facts.exceptions else 0.25)
        self.has_idle_members = r.random() < 0.15
        self.has_static = "instance" in self.fields and r.random() < 0.3
        racks = 0.5 if facts.protocol == "server" else 0.3
        self.has_racks = "rack" in self.fields and r.random() < racks
        self.rack_gaps = r.random() < 0.5
        # Where its own members send no generation with their claims, those of other clients do.
        mixed = 0.7 if "sub_generation" in self.fields and not facts.generations else 0.15
        generations = {"generation", "sub_generation"}.intersection(self.fields)
        self.mixed_clients = bool(generations) and r.random() < mixed
        self.revokes_unsubscribed = r.random() < 0.8
        self.member_names = _names(r, r.choice(MEMBER_FAMILIES))
        self.topic_names = _names(r, r.choice(TOPIC_FAMILIES))
        self.most_partitions = r.choice((1, 2, 3, 4, 7, 12)) if not self.big else r.choice((5, 40))
        self.crowded = crowded
        if crowded:
            self.shape, self.most_partitions = "equal", 12
            self.topic_names = (f"t{i}" for i in range(200))
        # Its own, so that whoever names nothing twice draws what it always drew.
        self.twice = random.Random(f"{strategy}/{seed}/twice") if doubled else None
        if self.twice:
            self.name_once = self.twice.choice((0, 0, 0.5, 0.8))
            self.repeat_alike = self.twice.random() < 0.3

        self.generation = r.randint(1, 30)
        self.partitions: dict[str, int] = {}
        self.racks: dict[str, list[list]] = {}
        self.known: list[str] = []
        self.gone: list[str] = []
        self.members: list[Member] = []
        self.away: list[Member] = []
        self.missed: set[str] = set()
        self.instances = 0
        self.restarting: list[str] = []
        topics = r.randint(6, 30) if self.big else r.choice((1, 1, 2, 2, 3, 4, 5, 8))
        for _ in range(100 if crowded else topics):
            self._create_topic()
        if self.misses_topics:
            self.known.append(next(self.topic_names))
        for _ in range(r.randint(8, 50) if self.big else r.choice((1, 2, 2, 3, 3, 4, 5, 6, 9, 12))):
            self._join()

    def step(self) -> tuple[str, Document]:
        """The next event and the group document that the leader then sees."""
        r = self.random
        if self.restarting:
            event = self._restart_next()
        else:
            event = r.choices(list(EVENTS), [weight for weight, _ in EVENTS.values()])[0]
            event = EVENTS[event][1](self) or event
        if r.random() < 0.3:
            r.shuffle(self.members)
        topics = [
            {"name": name, "partitions": count}
            | ({"racks": self.racks[name]} if name in self.racks else {})
            for name, count in self.partitions.items()
        ]
        document = {
            "strategy": self.strategy,
            "members": [member.document() for member in self.members],
            "topics": topics,
        }
        if "owned" in self.fields:
            document["next_generation"] = self.generation + 1
        return event, document

    def learn(self, answer: Answer) -> None:
        """Members that received the answer claim it from now on; the others keep what they had."""
        self.generation += 1
        if "next_owned" in answer:
            for member in self.members:
                if member.id not in self.missed:
                    self._claim(member, answer["next_owned"][member.id])
        self.missed.clear()

    def _claim(self, member: Member, owned: list[list]) -> None:
        member.owned = [list(pair) for pair in owned]
        member.generation = member.sub_generation = None
        if "generation" in self.fields and member.client != "none":
            member.generation = self.generation
        if "sub_generation" in self.fields and member.client == "all":
            member.sub_generation = self.generation

    # Members

    def _join(self) -> None:
        r = self.random
        member = Member(id=self._new_id(), role=r.randint(0, 11))
        if self.has_static and r.random() < 0.6:
            self.instances += 1
            member.instance = f"{r.choice(INSTANCES)}-{self.instances}"
        if self.has_racks and not (self.rack_gaps and r.random() < 0.3):
            member.rack = r.choice((*RACKS, "r9")) if r.random() < 0.1 else r.choice(RACKS)
        if self.mixed_clients:
            member.client = r.choice(("all", "all", "before 3.4", "none"))
        self._subscribe(member)
        self.members.insert(r.randint(0, len(self.members)), member)

    def _new_id(self) -> str:
        used = {member.id for member in self.members + self.away}
        return next(name for name in self.member_names if name not in used)

    def _join_many(self) -> None:
        for _ in range(self.random.randint(2, max(2, len(self.members)))):
            self._join()

    def _leave(self) -> str | None:
        if len(self.members) < 2:
            self._join()
            return "join"
        self._take()
        return None

    def _leave_many(self) -> str | None:
        if len(self.members) < 3:
            return self._leave() or "leave"
        for _ in range(self.random.randint(2, len(self.members) - 1)):
            self._take()
        return None

    def _take(self) -> Member:
        return self.members.pop(self.random.randrange(len(self.members)))

    def _crash(self) -> str | None:
        if len(self.members) < 2:
            return "nothing"
        self.away.append(self._take())
        return None

    def _return(self) -> str | None:
        """A member comes back with the claims of a generation that the others have left behind."""
        if not self.away:
            return self._crash() or "crash"
        member = self.away.pop(self.random.randrange(len(self.away)))
        if self.random.random() < 0.5:
            member.id = self._new_id()
            member.sub_generation = None
        self.members.append(member)
        return None

    def _miss(self) -> None:
        """Some members will not receive this assignment and claim the one before once more."""
        r = self.random
        self.missed = {m.id for m in self.members if r.random() < 0.4}

    def _rolling_restart(self) -> str:
        self.restarting = [member.id for member in self.members]
        self.random.shuffle(self.restarting)
        del self.restarting[6:]
        return self._restart_next()

    def _restart_next(self) -> str:
        """One process starts anew: new member id, no claim; a static member keeps its instance."""
        name = self.restarting.pop()
        for member in self.members:
            if member.id == name:
                member.id = self._new_id()
                member.owned = member.generation = member.sub_generation = None
        return "rolling restart"

    # Subscriptions

    def _subscribe(self, member: Member) -> None:
        r = self.random
        member.topics = self._wanted(member.role)
        if self.has_idle_members and r.random() < 0.3:
            member.topics = []
        if self.sorted_topics:
            member.topics.sort()
        else:
            r.shuffle(member.topics)
        if self.twice and member.topics and self.twice.random() >= self.name_once:
            self._repeat(member.topics)
        if self.cooperative and self.revokes_unsubscribed and member.owned:
            member.owned = [pair for pair in member.owned if pair[0] in member.topics]

    def _repeat(self, topics: list[str]) -> None:
        """Name topics again, in place: the first by name right behind, or any anywhere."""
        r = self.twice
        if self.repeat_alike:
            topics.insert(topics.index(min(topics)), min(topics))
            return
        for _ in range(r.choice((1, 1, 1, 2, 3))):
            name = r.choice(topics)
            topics.insert(
                r.choice((topics.index(name), len(topics), r.randint(0, len(topics)))), name
            )

    def _wanted(self, role: int) -> list[str]:
        names = self.known
        if self.shape == "disjoint":
            return [n for i, n in enumerate(names) if i % self.buckets == role % self.buckets]
        if self.shape == "nested":
            return names[: -(-len(names) * (role % self.buckets + 1) // self.buckets)]
        if self.shape == "random":
            return [name for name in names if self.random.random() < 0.6]
        if self.shape == "one odd" and role == 0 and names:
            return [self.random.choice(names)]
        return list(names)

    def _subscribe_all(self) -> None:
        for member in self.members:
            if self.shape != "random" or self.random.random() < 0.3:
                self._subscribe(member)

    def _resubscribe(self) -> None:
        r = self.random
        if r.random() < 0.25:
            self.shape = r.choice(SHAPES)
            self._subscribe_all()
            return
        for member in r.sample(self.members, r.randint(1, min(3, len(self.members)))):
            member.role = r.randint(0, 11)
            self._subscribe(member)

    # Topics

    def _create_topic(self) -> None:
        missing = [name for name in self.known if name not in self.partitions]
        if missing and self.random.random() < 0.5:
            name = self.random.choice(missing)
        else:
            used = set(self.known) | set(self.partitions)
            name = next(name for name in self.topic_names if name not in used)
        self._set_partitions(name, self._count())

    def _count(self) -> int:
        if self.crowded:
            return self.most_partitions
        return 0 if self.random.random() < 0.02 else self.random.randint(1, self.most_partitions)

    def _set_partitions(self, name: str, count: int) -> None:
        r = self.random
        if name not in self.known and r.random() < 0.97:
            self.known.append(name)
        kept = self.racks.get(name, [])[:count]
        self.partitions[name] = count
        if self.has_racks and not (self.rack_gaps and r.random() < 0.2):
            some = len(RACKS) if r.random() < 0.1 else r.randint(1, 2)
            self.racks[name] = kept + [self._replicas(some) for _ in range(count - len(kept))]
        else:
            self.racks.pop(name, None)

    def _replicas(self, number: int) -> list[str | None]:
        r = self.random
        if self.rack_gaps and r.random() < 0.1:
            return [None] * r.randint(0, 2)
        replicas: list[str | None] = r.sample(RACKS, number)
        if self.rack_gaps and r.random() < 0.1:
            replicas.append(None)
        return replicas

    def _topic_created(self) -> None:
        self._create_topic()
        self._subscribe_all()

    def _topic_deleted(self) -> str | None:
        if len(self.partitions) < 2:
            self._topic_created()
            return "topic created"
        name = self.random.choice(list(self.partitions))
        del self.partitions[name]
        self.racks.pop(name, None)
        self.gone.append(name)
        if not self.misses_topics and name in self.known:
            self.known.remove(name)
            for member in self.members:
                member.topics = [topic for topic in member.topics if topic != name]
        return None

    def _topic_recreated_smaller(self) -> None:
        name = self.random.choice(list(self.partitions))
        self._set_partitions(name, self.random.randint(0, max(0, self.partitions[name] - 1)) or 1)

    def _partitions_added(self) -> None:
        r = self.random
        for name in r.sample(list(self.partitions), r.randint(1, min(3, len(self.partitions)))):
            self._set_partitions(name, self.partitions[name] + r.randint(1, 4))

    def _racks_changed(self) -> str | None:
        if not self.has_racks:
            return "nothing"
        for name, count in self.partitions.items():
            if self.random.random() < 0.5:
                self.racks.pop(name, None)
                self._set_partitions(name, count)
        for member in self.members:
            if self.random.random() < 0.3:
                member.rack = self.random.choice((*RACKS, None))
        return None

    # Claims

    def _arbitrary_claims(self) -> str | None:
        """Claims that no healthy group sends: doubled, beyond the end, of topics long gone."""
        if "owned" not in self.fields:
            return "nothing"
        r = self.random
        names = list(self.partitions) + self.gone[-2:] + ["nowhere"] * (r.random() < 0.1)
        pool = [
            [name, partition]
            for name in names
            for partition in range(self.partitions.get(name, 2) + (r.random() < 0.3))
        ]
        for member in self.members:
            if r.random() < 0.3:
                continue
            kind = r.random()
            if kind < 0.1:
                member.owned = None
            else:
                most = max(1, 2 * len(pool) // len(self.members))
                member.owned = r.sample(pool, min(len(pool), r.randint(0, most)))
                if self.cooperative and r.random() < 0.8:
                    member.owned.sort()
            old = self.generation - r.choice((0, 0, 0, 1, 2))
            member.generation = member.sub_generation = None
            if "generation" in self.fields and r.random() < 0.85:
                member.generation = r.choice((old, old, old, old, -1))
            if "sub_generation" in self.fields and r.random() < 0.8:
                same = member.generation is not None and member.generation >= 0 and r.random() < 0.8
                member.sub_generation = member.generation if same else old
        return None


EVENTS: dict[str, tuple[float, Callable[[History], str | None]]] = {
    "nothing": (1, lambda history: None),
    "join": (3, History._join),
    "join many": (1, History._join_many),
    "leave": (3, History._leave),
    "leave many": (1, History._leave_many),
    "crash": (1, History._crash),
    "return with stale claims": (2, History._return),
    "assignment missed": (1, History._miss),
    "rolling restart": (0.5, History._rolling_restart),
    "resubscription": (2, History._resubscribe),
    "topic created": (1.5, History._topic_created),
    "topic deleted": (1, History._topic_deleted),
    "topic recreated smaller": (1, History._topic_recreated_smaller),
    "partitions added": (1.5, History._partitions_added),
    "racks changed": (0.5, History._racks_changed),
    "arbitrary claims": (2, History._arbitrary_claims),
}


def _names(r: random.Random, family: str) -> Iterator[str]:
    """An endless stream of names without repetition."""
    if family == "realistic":
        while True:
            yield f"consumer-app-{r.randint(1, 12)}-{uuid.UUID(int=r.getrandbits(128), version=4)}"
    pool = {
        "plain": list("ABCDEFGHIJKLMNOP"),
        "numbered": [f"t{i}" for i in range(40)],
        "equal": list(COLLIDING),
        "words": list(WORDS),
        "utf-16": ["".join(pair) for pair in product(UTF16, repeat=2)],
    }[family]
    r.shuffle(pool)
    yield from pool
    number = 0
    while True:
        number += 1
        yield f"{r.choice(pool)}{number}"


class ThreadHistory(History):
    """A group of Kafka 0.8's consumers, which also have streams."""

    def __init__(self, strategy: str, seed: str, doubled: bool = False):
        super().__init__(strategy, seed, doubled=doubled)
        self.streams = self.random.choice(
            ("none given", "alike", "alike", "a number each", "a number each",
             "one per topic", "one per topic", "equal per topic", "none at all")
        )  # fmt: skip
        self.alike = self.random.choice((1, 2, 3, 12))

    def step(self) -> tuple[str, Document]:
        """As for any group; a consumer keeps its streams as long as it keeps its id."""
        event, document = super().step()
        for member in document["members"]:
            r = random.Random(f"{self.seed}/{member['id']}")
            if self.streams == "alike":
                member["streams"] = self.alike
            elif self.streams == "a number each":
                member["streams"] = r.choice((1, 1, 2, 3, 11))
            elif self.streams == "one per topic":
                member["streams"] = [r.choice((1, 1, 2)) for _ in member["topics"]]
            elif self.streams == "equal per topic":
                member["streams"] = [r.choice((1, 2, 3))] * len(member["topics"])
            elif self.streams == "none at all":
                member["streams"] = r.choice((0, 1, 1, 1, 1, 1))
        return event, document


class BrokerHistory(History):
    """A group of MetaQ or RocketMQ: partitions lie on brokers, and strategies have options."""

    def __init__(self, strategy: str, seed: str, doubled: bool = False):
        super().__init__(strategy, seed, doubled=doubled)
        r = self.random
        by_room = strategy.startswith("rocketmq-machine-room")
        self.on_brokers = r.random() < (0.95 if by_room else 0.75)
        self.brokers = list(r.choice(BROKERS))
        if by_room and r.random() < 0.9:
            self.brokers = [f"{r.choice((*ROOMS, 'r9'))}@{broker}" for broker in self.brokers]
        if by_room and r.random() < 0.15:
            self.brokers += r.sample(ODD_ROOMS, 2)
        self.homeless = 0.1 if r.random() < 0.1 else 0
        self.options: Document = {}
        if by_room and r.random() < 0.85:
            self.options["idcs"] = r.choice(([], ["r0"], ["r0", "r1"], [*ROOMS, "r9", ""]))
        if strategy.startswith("rocketmq") and r.random() < 0.6:
            # The original builds the ring anew for every member and topic.
            self.options["vnodes"] = r.choice((0, 1, 3) if self.big else (0, 1, 3, 10, 50))
        if strategy.endswith("nearby") and r.random() < 0.8:
            self.options["inner"] = r.choice(
                ("rocketmq-avg", "rocketmq-avg-by-circle", "rocketmq-consistent-hash",
                 "rocketmq-machine-room")
            )  # fmt: skip

    def step(self) -> tuple[str, Document]:
        """As for any group, its partitions laid on brokers."""
        event, document = super().step()
        if self.on_brokers:
            for topic in document["topics"]:
                topic["brokers"] = self._laid_out(topic["name"], topic.pop("partitions"))
        if self.strategy.endswith("nearby"):
            for member in document["members"]:
                r = random.Random(f"{self.seed}/{member['id']}")
                if r.random() >= self.homeless:
                    member["rack"] = r.choice(ROOMS)
        if self.strategy == "rocketmq-config":
            document["config"] = self._configured(document)
        return event, document | self.options

    def _laid_out(self, topic: str, partitions: int) -> list[list]:
        r = random.Random(f"{self.seed}/{topic}")
        brokers = r.sample(self.brokers, r.randint(1, len(self.brokers)))
        cuts = sorted(r.randint(0, partitions) for _ in brokers[1:])
        counts = [b - a for a, b in zip([0, *cuts], [*cuts, partitions], strict=True)]
        return [[broker, count] for broker, count in zip(brokers, counts, strict=True)]

    def _configured(self, document: Document) -> dict[str, list]:
        queues = [
            [topic["name"], broker, number]
            for topic in document["topics"]
            for broker, count in topic.get("brokers", [["broker-a", topic.get("partitions")]])
            for number in range(count + self.random.choice((0, 0, 0, 1)))
        ]
        config = {}
        for member in document["members"]:
            r = random.Random(f"{self.seed}/{member['id']}")
            if queues and r.random() < 0.8:
                config[member["id"]] = [r.choice(queues) for _ in range(r.randint(0, 6))]
        return config


class ServerHistory(History):
    """A group whose coordinator assigns: topics have ids, and claims may name topics by them."""

    def __init__(self, strategy: str, seed: str, crowded: bool = False, doubled: bool = False):
        super().__init__(strategy, seed, crowded, doubled)
        self.ids = self.random.choice(("none", "random", "random", "small", "equal hash codes"))
        self.claims_by_id = self.random.random() < 0.2
        # As sets, racks are walked by their hash codes: r0, r1, r2; or, where equal, as they came.
        if self.has_racks:
            names = self.random.choice((RACKS, ("Aa", "BB", "r2"), ("", "zone-c", "zone-a")))
            self.rack_names = dict(zip(RACKS, names, strict=True))

    def step(self) -> tuple[str, Document]:
        """As for any group; a topic keeps its id, and one that is gone is known by it alone."""
        event, document = super().step()
        if self.has_racks:
            self._rename_racks(document)
        if self.ids != "none":
            for topic in document["topics"]:
                topic["id"] = self._id(topic["name"])
            for member in document["members"]:
                member["owned"] = [
                    [self._id(name) if self.claims_by_id or name in self.gone else name, partition]
                    for name, partition in member.get("owned", [])
                ]
        return event, document

    def learn(self, answer: Answer) -> None:
        """As for any group; where the original threw, the next target is mostly made anew."""
        super().learn(answer)
        if "error" in answer and self.random.random() < 0.8:
            for member in self.members:
                member.owned = None

    def _rename_racks(self, document: Document) -> None:
        for member in document["members"]:
            if "rack" in member:
                member["rack"] = self.rack_names.get(member["rack"], member["rack"])
        for topic in document["topics"]:
            if "racks" in topic:
                topic["racks"] = [
                    [self.rack_names.get(rack, rack) for rack in replicas]
                    for replicas in topic["racks"]
                ]

    def _id(self, name: str) -> str:
        r = random.Random(f"{self.seed}/{name}")
        most, least = r.getrandbits(64), r.getrandbits(64)
        if self.ids == "small":
            most, least = 0, r.getrandbits(40)
        if self.ids == "equal hash codes":
            least = most ^ r.randint(1, 3)
        data = most.to_bytes(8) + least.to_bytes(8)
        return base64.urlsafe_b64encode(data).decode()[:22]


def new_history(strategy: str, seed: int, number: int) -> History:
    """A history of the kind of group that the strategy is made for."""
    facts = assignors.get(strategy)
    seed = f"{seed}/{number}"
    doubled, crowded = number % DOUBLED_EVERY == 3, number % CROWDED_EVERY == 7
    if "streams" in facts.member_fields:
        return ThreadHistory(strategy, seed, doubled)
    if facts.protocol == "server":
        return ServerHistory(strategy, seed, crowded, doubled)
    if facts.broker:
        return BrokerHistory(strategy, seed, doubled)
    # Hash tables of clients that are not Java are walked otherwise.
    return History(strategy, seed, crowded and facts.kind == facts.base, doubled)


def answered_history(
    strategy: str, seed: int, number: int, ask: Callable[[Document], Answer], steps: int = 8
) -> Iterator[tuple[str, Document, Answer]]:
    """One history of ``steps`` rebalances: (event, document, answer of ``ask``) of each.

    ``ask`` answers a document that has ``next_generation``; its ``next_owned`` become claims.
    """
    history = new_history(strategy, seed, number)
    for _ in range(steps):
        event, document = history.step()
        answer = ask(document)
        yield event, document, answer
        history.learn(answer)
