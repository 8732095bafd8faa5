"""A group document as the questions need it, and the ids of members to come."""

import random
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError, UnknownName
from assignlab.group.assignment import Assignment, partition_of, topic_of
from assignlab.group.document import parse
from assignlab.group.model import Group, subscriptions_by_topic
from assignlab.groups.inference import UUID
from assignlab.groups.show import name_of
from assignlab.groups.states import MOVING
from assignlab.jvm.names import random_uuid
from assignlab.replay.metrics import subscribers

DRAWS = 200
"""So often are the ids of members to come drawn."""
ADDRESS = re.compile(r"(\D*(?:\d+\.){3})(\d+)(.*)", re.DOTALL)
"""An id that begins with an address, as RocketMQ's do: its network, its host, the rest."""
STREAM_THREAD = re.compile(r"-StreamThread-\d+-consumer-")
SERVER = "Kafka coordinator"
CLASSIC = "Kafka consumer"
KIP_848_SINCE = "4.0"
"""Where the coordinator's protocol counts. From 3.7 to 3.9 it is a preview that brokers have switched
off and call unfit for production."""
READ_AGAIN = "read it again when it is Stable"


class NotAnswerable(AssignlabError):
    """The texts do not have what the question needs; the message says which text does."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A group as it is: ``group`` with claims as read, ``held``: who has what, ``strategy`` or None."""

    document: dict[str, Any]
    group: Group
    held: Assignment
    strategy: Strategy | None

    @property
    def name(self) -> str:
        """The group's name, as a report says it."""
        return name_of(self.document)

    @cached_property
    def topics(self) -> dict[str, int]:
        """The partitions of every topic that somebody subscribes to."""
        return self._counted(read=True)

    @cached_property
    def unread(self) -> dict[str, int]:
        """The partitions of every topic that nobody subscribes to."""
        return self._counted(read=False)

    def _counted(self, read: bool) -> dict[str, int]:
        known = self.group.prepared(subscribers)
        counts = zip(self.group.topics.names, known.partitions.tolist(), strict=True)
        wanted = ((known.subscribers > 0) == read).tolist()
        return {name: n for (name, n), so in zip(counts, wanted, strict=True) if so and n > 0}

    @property
    def partitions(self) -> int:
        """Partitions of all topics that somebody subscribes to."""
        return sum(self.topics.values())

    @cached_property
    def unowned(self) -> int:
        """How many of :attr:`partitions` nobody holds."""
        codes = self.held.codes
        read = self.group.prepared(subscribers).subscribers[topic_of(codes)] > 0
        return self.partitions - np.unique(codes[self._exist(codes) & read]).size

    @cached_property
    def astray(self) -> int:
        """How many partitions are held as they should not be: that are not there, to which a holder
        does not subscribe, or that are held twice."""
        codes, members = self.held.codes, self.group.members
        subscription = members.subscription[self.held.owners]
        own = self.group.prepared(subscriptions_by_topic)[subscription, topic_of(codes)]
        sound = self._exist(codes) & own
        _, first, times = np.unique(codes, return_index=True, return_counts=True)
        return int((~sound[first] | (times > 1)).sum())

    def _exist(self, codes: np.ndarray) -> np.ndarray:
        return partition_of(codes) < self.group.topics.partitions[topic_of(codes)]

    @property
    def members(self) -> int:
        """How many members the group has."""
        return len(self.group.members)

    @property
    def equal(self) -> bool:
        """Whether all members subscribe to the same topics."""
        return self.group.prepared(subscribers).equal

    @property
    def static(self) -> bool:
        """Whether every member has a group.instance.id."""
        instances = self.group.members.instances
        return instances is not None and None not in instances

    @property
    def some_static(self) -> bool:
        """Whether any member has a group.instance.id."""
        return any(name is not None for name in self.group.members.instances or ())

    @property
    def evenness(self) -> dict[str, int]:
        """How many partitions the fullest and the emptiest member hold, and how many hold none."""
        sizes = self.held.sizes.tolist()
        return {"fullest": max(sizes), "emptiest": min(sizes), "idle": sizes.count(0)}

    @cached_property
    def clients(self) -> list[str]:
        """What stands before the UUIDs of members' ids, each once, in order."""
        names = self.group.members.names
        return sorted({UUID.sub("", name) for name in names if UUID.search(name)})

    @cached_property
    def hosts(self) -> list[str]:
        """The ids of members that begin with an address."""
        return [name for name in self.group.members.names if ADDRESS.match(name)]

    def chosen(self) -> Strategy:
        """The group's own strategy; NotAnswerable if none is known."""
        if self.strategy is None:
            raise NotAnswerable(self.no_strategy("--strategy NAME"))
        return self.strategy

    def no_strategy(self, *remedies: str) -> str:
        """Why no strategy is known, and what helps: the text that has it, or else ``remedies``."""
        state, named = self.document.get("state"), self.document.get("assignor")
        if named:
            why = f"the lab does not have {named}, which the text names"
        elif state in MOVING:
            why = f"no text tells the strategy of a group in {state}"
            remedies = (READ_AGAIN, *remedies)
        elif state is not None:
            why = "no strategy is known, and the text of its state names none"
        else:
            why = "no strategy is known"
            remedies = ("add kafka-consumer-groups --describe --state", *remedies)
        return f"{self.name}: {why}" + (f" ({', or '.join(remedies)})" if remedies else "")


def refuse_streams(document: dict[str, Any]) -> None:
    """NotAnswerable where the members are threads of Kafka Streams."""
    ids = [member["id"] for member in document.get("members", ())]
    if document.get("assignor") == "stream" or (ids and all(map(STREAM_THREAD.search, ids))):
        raise NotAnswerable(
            f"{document.get('group') or 'the group'} is one of Kafka Streams, which hands out tasks by an"
            " assignor of its own (stream), whatever partition.assignment.strategy says"
        )


def refuse_shares(strategy: Strategy) -> Strategy:
    """The strategy; NotAnswerable where it is one of share groups."""
    if strategy.shares:
        raise NotAnswerable(
            f"{strategy.name} is of share groups, whose members may all read one partition: no owner, no move"
        )
    return strategy


def answered_by(document: dict[str, Any], strategy: str) -> dict[str, Any]:
    """The document of the group, were this its strategy; what was inferred of its own is left out."""
    refuse_streams(document)
    said = document.get("inferred", [])
    return document | {
        "strategy": strategy,
        "assignor": refuse_shares(assignors.get(strategy)).kind,
        "inferred": [sentence for sentence in said if not sentence.startswith("strategy:")],
    }


def subject(document: dict[str, Any]) -> Subject:
    """The subject of a document.

    Raises NotAnswerable where the document has no members, does not say what each holds, names a strategy
    that the lab does not have, or is one of Kafka Streams or of a share group.
    """
    refuse_streams(document)
    name, state = document.get("group") or "the group", document.get("state")
    of_owners = "kafka-consumer-groups --describe"
    of_members = f"{of_owners} --members --verbose"
    rocketmq = str(document.get("strategy")).startswith("rocketmq")
    if rocketmq:
        of_members = of_owners = "mqadmin consumerProgress -g GROUP -s true"
    if not document.get("members") and state in (None, "Stable"):
        raise NotAnswerable(f"{name}: the text names no members (add {of_members})")
    if not document.get("members"):
        raise NotAnswerable(f"{name} has no members: there is nothing to assign")
    if all(member.get("owned") is None for member in document["members"]):
        hosts = Counter(member.get("host") for member in document["members"])
        host, several = hosts.most_common(1)[0]
        if rocketmq and host and several > 1:
            raise NotAnswerable(
                f"{name}: {several} clients run on {host}, and mqadmin consumerProgress names owners by"
                " their host: it does not say which of them holds what"
            )
        again = f", and {READ_AGAIN}" if state in MOVING else ""
        raise NotAnswerable(
            f"{name}: the text does not say who holds what (add {of_owners}{again})"
        )
    if unknown := untold(document):
        hold = "holds" if len(unknown) == 1 else "hold"
        raise NotAnswerable(
            f"{name}: the text does not say what {' and '.join(unknown)} {hold} (add {of_members})"
        )
    group = parse(document)
    named = document.get("strategy")
    held = Assignment(group.claims.offsets, group.claims.codes)
    try:
        strategy = refuse_shares(assignors.get(named)) if named else None
        return Subject(document, group, held, strategy)
    except (UnknownName, NotAnswerable) as error:
        raise NotAnswerable(f"{name}: {error}") from None


def untold(document: dict[str, Any]) -> list[str]:
    """The ids of members of which the texts say that they exist, and not what they hold."""
    return [member["id"] for member in document["members"] if member.get("owned", []) is None]


def is_server(strategy: Strategy | None) -> bool:
    """Whether the coordinator assigns (KIP-848)."""
    return strategy is not None and strategy.protocol == "server"


def new_id(subject: Subject, draw: random.Random, server: bool, former: str | None = None) -> str:
    """The id of a member that joins: what the clients or the coordinator would draw.

    Classic: the client id of a member that is there (``former``: of this one, which comes back), and
    a random UUID. KIP-848: a Uuid of Kafka. RocketMQ, or where ids are hosts: see
    :func:`on_another_host`.
    """
    if server:
        while (new := random_uuid(draw)) in subject.group.members.names.index:
            pass  # a document may have been made from the same seed
        return new
    known = [UUID.sub("", former)] if former and UUID.search(former) else subject.clients
    if not known and (hosts := subject.hosts):
        like = former if former and former in hosts else draw.choice(hosts)
        new = on_another_host(like, draw, same_host=like == former)
        if new not in subject.group.members.names.index:
            return new
        known = [f"{new}-"]
    if not known:  # written by hand, maybe as a client begins them
        names = subject.group.members.names
        every = assignors.strategies().values()
        known = [s.client_id for s in every if all(map(s.names, names)) and "*" not in s.client_id]
    drawn = draw.choice(known or ["consumer-1-"])
    return drawn + str(uuid.UUID(int=draw.getrandbits(128), version=4))


def on_another_host(id: str, draw: random.Random, same_host: bool = False) -> str:
    """An id that begins with an address, of another host of its network (or of the ``same_host``, and
    of another process), every number of the rest drawn anew.

    >>> draw = random.Random(0)
    >>> on_another_host("10.0.0.7@4711#99", draw), on_another_host("10.0.0.7@4711#99", draw, True)
    ('10.0.0.217@7311#63', '10.0.0.7@1663#43')
    """
    network, host, rest = ADDRESS.match(id).groups()  # type: ignore[union-attr]
    if not same_host:
        host = str(draw.randint(1, 254))

    def other(number: re.Match) -> str:
        most = 10 ** len(number[0])
        return str(draw.randrange(most // 10 if most > 10 else 0, most))

    return network + host + re.sub(r"\d+", other, rest)


def usual_topics(group: Group) -> np.ndarray:
    """What most members subscribe to, as a member to come will: topic indices."""
    row = np.bincount(group.sent.subscription).argmax()
    return group.sent.topics[group.sent.offsets[row] : group.sent.offsets[row + 1]]


class Range(NamedTuple):
    """A number that depends on what is drawn: its least, median and greatest value."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Iterable[float]) -> "Range":
        """The Range of some numbers."""
        ordered = sorted(values)
        return cls(ordered[0], ordered[len(ordered) // 2], ordered[-1])

    def times(self, scale: float) -> "Range":
        """The Range of so many times the number."""
        return Range(*(value * scale for value in self))

    def __str__(self):
        low, high = three_digits(self.low), three_digits(self.high)
        return low if low == high else f"{low} to {high}"


def three_digits(value: float) -> str:
    """A number for people: whole ones as they are, others with three digits that count.

    >>> [three_digits(value) for value in (1234567, 0.0123456, 61.04, 1483.7, 2e6)]
    ['1234567', '0.0123', '61', '1480', '2000000']
    """
    if isinstance(value, int):
        return str(value)
    return f"{value:.3g}" if abs(value) < 1000 else f"{float(f'{value:.3g}'):.0f}"


def drawn(count: int, play: Callable[[random.Random], dict[str, float]]) -> dict[str, Range]:
    """``play`` so often, each time with other draws; the Range of every number it always gives."""
    rows = [play(random.Random(number)) for number in range(count)]
    given = [name for name in rows[0] if all(name in row for row in rows)]
    return {name: Range.of(row[name] for row in rows) for name in given}
