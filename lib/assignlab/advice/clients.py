"""Which client the members of a group run, where strategy or ids say it, which strategies it has, and
what the lab calls them: what is named ``range`` differs from client to client."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assignlab import assignors
from assignlab.advice.subject import CLASSIC, KIP_848_SINCE, SERVER, Subject, is_server
from assignlab.assignors.strategy import Strategy
from assignlab.errors import UnknownName
from assignlab.groups.inference import UNKNOWN
from assignlab.releases import CAME_WITH, version
from assignlab.words import listed

LIBRDKAFKA, FRANZ_GO = "librdkafka", "franz-go"
OF_LIBRDKAFKA = {s.kind for s in assignors.strategies().values() if s.system == LIBRDKAFKA}
"""The strategies that librdkafka has, by the names that it takes."""
OF_JAVA = {s.kind for s in assignors.strategies().values() if s.system == CLASSIC}
HAS = {
    "aiokafka": {"range", "roundrobin", "sticky"},
    LIBRDKAFKA: OF_LIBRDKAFKA | {"server-uniform", "server-range"},
    "kafka-go": {"range", "roundrobin"},
    "kafkajs": {"roundrobin"},
    "kafka-python": OF_JAVA,
    "sarama": OF_JAVA,
}
"""What clients have that lack a strategy of Java's, or KIP-848 (of its requests Sarama 1.61.1 and
kafka-python 3.0.12 have no more than the numbers, aiokafka 0.14.0 nothing)."""
NAMED = {s.system: s for s in assignors.strategies().values() if s.client_id}
"""A strategy of each system whose clients are known by their ids."""
TAKEN_FOR = "The members are taken for clients of {}, by their strategy or their ids."
SEVERAL = (
    "several kinds, some of {} (what one of them lacks is not tried; played is Kafka's Java client)"
)
OWN = (
    " Strategies whose names begin with {} are its own (of {}), and so are times without an owner; others"
    " are Kafka's."
)
FORGETS = (
    " Its sticky forgets what members had, so more partitions move than with Kafka's, which is played"
    " (cooperative-sticky does not)."
)

KAFKA_PYTHON = re.compile(r"kafka-python-(\d+)\.(\d+)")
KAFKA_PYTHON_SINCE = {
    "sticky": (2, 0),
    "group.instance.id": (2, 3),
    "cooperative-sticky": (3, 0),
    "session.timeout.ms=45000": (3, 0),
}
"""The release that brought each (by the published ones from 1.4.7 to 3.0.12)."""
OWN_DEFAULTS = {
    "aiokafka": "session.timeout.ms=10000",
    "kafka-go": "session.timeout.ms=30000, max.poll.interval.ms=30000 and fetch.max.wait.ms=10000",
    "kafkajs": "session.timeout.ms=30000, max.poll.interval.ms=60000 and fetch.max.wait.ms=5000",
    "sarama": "session.timeout.ms=10000 and metadata.max.age.ms=600000",
}
"""What clients have unless it is set, in the words of Java's, where it is not what Java's newest has:
aiokafka 0.14.0, kafka-go 0.4.51, KafkaJS 2.2.4 and sarama 1.61.1. franz-go, librdkafka and kafka-python
(3.0 on) have the same."""


def ids_of(members: Iterable[Mapping[str, Any]]) -> list[str]:
    """By what the clients of members of a document are known; those that were merely counted left out.

    The client id counts where a text has it: ids of static members, and of KIP-848's, begin otherwise.
    """
    named = [member for member in members if not member["id"].startswith(UNKNOWN)]
    return [f"{member['client']}-" if member.get("client") else member["id"] for member in named]


def client_by_ids(members: Iterable[Mapping[str, Any]]) -> str:
    """The system whose clients are named as all of these members of a document are; empty for Java's.

    >>> told = (["rdkafka-1", "rdkafka-2"], ["rdkafka-1", "sarama-2"], ["c-1"], ["kgo-1", "~unknown-1"])
    >>> [client_by_ids({"id": id} for id in ids) for ids in told]
    ['librdkafka', '', '', 'franz-go']
    """
    ids = ids_of(members)
    found = (system for system, own in NAMED.items() if ids and all(map(own.names, ids)))
    return next(found, "")


def client_of(asked: Subject) -> str:
    """The system whose own strategy the group has, or whose client ids all members have where they were
    given none; empty for Java's."""
    own = asked.strategy
    if own is not None and own.of_clients and own.system != CLASSIC:
        return own.system
    return client_by_ids(asked.document["members"])


def clients_in(asked: Subject) -> list[str]:
    """The clients of a group, as far as they are known: of all members, or of some of them."""
    if client := client_of(asked):
        return [client]
    ids = ids_of(asked.document["members"])
    return [system for system, own in NAMED.items() if any(map(own.names, ids))]


def taken_for(asked: Subject, *others: Strategy) -> list[str]:
    """What there is to know where the members are not taken for Java's clients: what is played of theirs,
    and what of the ``others`` or of the group's own strategy their client does not have."""
    client = client_of(asked)
    if not client:
        some = clients_in(asked)
        return [TAKEN_FOR.format(SEVERAL.format(listed(some)))] if some else []
    release = next(s.last for s in assignors.strategies().values() if s.system == client)
    own = OWN.format(client, release)
    played = dict.fromkeys(s.name for s in (asked.strategy, *others) if s and lacks(asked, s))
    if played:
        own += f" It does not have {listed(played)}."
    if any(s and forgets(client, s) for s in (asked.strategy, *others)):
        own += FORGETS
    default = OWN_DEFAULTS.get(client, "")
    if too_old(asked, "session.timeout.ms=45000"):
        default = "session.timeout.ms=10000"
    settings = (
        f" Unless set, {client} has what is {default} there: --set plays it." if default else ""
    )
    return [TAKEN_FOR.format(client) + own + settings]


def _newest(system: str) -> tuple[str, ...]:
    """The strategies that a consumer group can have of a system of Kafka's, the oldest first."""
    own = [assignors.get(name) for name in CAME_WITH]
    return tuple(s.name for s in own if s.system == system and not s.shares)


FROM_SERVER = _newest(SERVER)
FROM_CLASSIC = (*_newest(CLASSIC), "server-uniform")
"""What groups of each protocol may change to: KIP-848's default too, but nobody goes back from
there for a strategy."""
IN_TEXTS = (*FROM_CLASSIC, *FROM_SERVER)
"""The names that tell no more of a strategy than texts do: neither its client nor its release."""


def strategies_for(asked: Subject, release: str) -> list[str]:
    """The group's own strategy, and those it could change to: what its release of Kafka has, and its
    clients where the ids of its members tell which they are."""
    own, client = asked.chosen(), client_of(asked)
    if not own.of_clients and not is_server(own):
        return [own.name]
    found = [own.name]
    preview = not is_server(own) and version(release) < version(KIP_848_SINCE)
    for name in FROM_SERVER if is_server(own) else FROM_CLASSIC:
        try:
            strategy = run_as(name, client, release)
        except UnknownName:
            continue
        if preview and is_server(strategy) or lacks(asked, strategy) or forgets(client, strategy):
            continue
        if strategy.base != own.base:
            found.append(strategy.name)
    return found


def run_as(name: str, client: str, release: str) -> Strategy:
    """What a group runs whose members name this strategy: their client's own, as far as the lab has it,
    or else that of Java's client or the coordinator of that release. Where a strategy has another name
    than theirs, or a release in it, it is that one.

    Raises :class:`~assignlab.errors.UnknownRelease` where Kafka has no such release, or not the strategy.

    >>> [run_as(name, client, "2.4").name for name, client in (("sticky", ""), ("range", "sarama"))]
    ['sticky@2.4', 'sarama-range']
    """
    if name not in IN_TEXTS:
        return assignors.get(name)
    if (own := f"{client}-{name}") in assignors.strategies():
        return assignors.get(own)
    strategy, newest = assignors.get(f"{name}@{release}"), assignors.get(name)
    return newest if strategy.assign is newest.assign else strategy


def as_run(document: dict[str, Any], release: str) -> dict[str, Any]:
    """The document with its strategy as the members run it (:func:`run_as`), since texts tell no more of
    it than its name; what was inferred is told of that instead. Raises as that does."""
    if document.get("strategy") not in IN_TEXTS:
        return document
    client = client_by_ids(document.get("members", ()))
    strategy = run_as(document["strategy"], client, release)
    if strategy.name == document["strategy"]:
        return document
    own = f"strategy: {strategy.name}, as the members are named; the text has no release"
    if strategy.system != client:
        own = f"strategy: {strategy.name}, as the release is {release}; the text has neither it nor client"
    newest = f"strategy: {document['strategy']} of the newest "
    said = [own if s.startswith(newest) else s for s in document.get("inferred", [])]
    return document | {"strategy": strategy.name, "inferred": said}


def forgets(client: str, strategy: Strategy) -> bool:
    """Whether a client's sticky strategy is told of no partitions: franz-go 1.22.2 and 1.22.3 forget
    what an eager member had when it gives it up (``lastAssigned``)."""
    return client == FRANZ_GO and strategy.base == "sticky"


def lacks(asked: Subject, strategy: Strategy) -> bool:
    """Whether it is known that a member's client, or its release, does not have a strategy."""
    for client in clients_in(asked):
        kind = strategy.base.removeprefix(f"{client}-")
        if client in HAS and (kind not in HAS[client] or too_old(asked, kind)):
            return True
    return False


def too_old(asked: Subject, what: str) -> bool:
    """Whether a member runs kafka-python, whose ids name the release, before it had this."""
    since = KAFKA_PYTHON_SINCE.get(what, ())
    told = [KAFKA_PYTHON.match(m.get("client") or m["id"]) for m in asked.document["members"]]
    return any(tuple(map(int, found.groups())) < since for found in told if found)
