"""Which client the members of a group run, where strategy or ids say it, and which strategies it has."""

from assignlab import assignors
from assignlab.advice.subject import CLASSIC, Subject
from assignlab.assignors.strategy import Strategy

LIBRDKAFKA = "librdkafka"
OF_LIBRDKAFKA = {s.kind for s in assignors.strategies().values() if s.system == LIBRDKAFKA}
"""The strategies that librdkafka has, by the names that it takes."""
OF_JAVA = {s.kind for s in assignors.strategies().values() if s.system == CLASSIC}
HAS = {
    LIBRDKAFKA: OF_LIBRDKAFKA | {"server-uniform", "server-range"},
    "kafkajs": {"roundrobin"},
    "kafka-python": OF_JAVA,
    "sarama": OF_JAVA,
}
"""What clients have that lack a strategy of Java's, or KIP-848 (of its requests Sarama 1.61.1 and
kafka-python 3.0.12 have no more than the numbers)."""
PLAYED_AS_JAVA = (
    "The members are taken for clients of {}, by their strategy or their ids. What is played here is Kafka's"
    " Java client{}; how far strategies of one name differ is in docs/clients.md."
)
BUT_PAUSES = ", but for times without an owner, which are its own client's"

OWN_DEFAULTS = {
    "kafka-go": "session.timeout.ms=30000",
    "kafkajs": "session.timeout.ms=30000",
    "sarama": "session.timeout.ms=10000 and metadata.max.age.ms=600000",
}
"""What clients have unless it is set, in the words of Java's, where it is not what Java's newest has:
kafka-go 0.4.51, KafkaJS 2.2.4 and sarama 1.61.1. franz-go, librdkafka and kafka-python have the same."""


def client_of(asked: Subject) -> str:
    """The system whose own strategy the group has, or whose client ids all members have where they were
    given none; empty for Java's."""
    own = asked.strategy
    if own is not None and own.of_clients and own.system != CLASSIC:
        return own.system
    names = asked.group.members.names
    return next(
        (
            s.system
            for s in assignors.strategies().values()
            if s.client_id and all(name.startswith(s.client_id) for name in names)
        ),
        "",
    )


def played_as_java(asked: Subject) -> list[str]:
    """What there is to know of pauses that are not those of the members' own client."""
    client = client_of(asked)
    own = asked.strategy is not None and asked.strategy.system == LIBRDKAFKA
    but = BUT_PAUSES * (client == LIBRDKAFKA)
    said = [PLAYED_AS_JAVA.format(client, but)] if client and not own else []
    if client in OWN_DEFAULTS:
        said[0] += (
            f" Unless set, {client} has what is {OWN_DEFAULTS[client]} there: --set plays it."
        )
    return said


def lacks(client: str, strategy: Strategy) -> bool:
    """Whether it is known that a client does not have a strategy.

    >>> [lacks(client, assignors.get("sticky")) for client in ("librdkafka", "sarama", "")]
    [True, False, False]
    """
    return client in HAS and strategy.kind not in HAS[client]
