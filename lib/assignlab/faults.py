"""Faults of the originals: in which groups they are known to break what they promise.

Our strategies give what the originals give, faults included. A fault is a predicate on the group
alone, never on the answer, together with the promises that do not hold there and the exceptions
that the original throws there. Whatever else is broken, or broken elsewhere, is an error of ours.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assignlab import document as documents
from assignlab.assignors.kafka.orders import members_by_hash
from assignlab.promises import NEWEST_ONLY, State, promises

@dataclass(frozen=True)
class Fault:
    """``holds``: whether a group is one of those; ``excuses``: promises; ``throws``: exceptions."""

    name: str
    meaning: str
    strategies: Callable[[str], bool]
    holds: Callable[[State], bool]
    excuses: tuple[str, ...] = ()
    throws: tuple[str, ...] = ()


# ---- predicates --------------------------------------------------------------------------------


def claims_beyond_the_end(state: State) -> bool:
    """A member claims a partition that its topic does not have (any more)."""
    return any(t in state.topics and p not in state.topics[t] for _, (t, p) in _named(state))


def rival_claims(state: State) -> bool:
    """Two members claim one partition."""
    return any(count > 1 for count in Counter(pair for _, pair in set(_named(state))).values())


def claimed_twice(state: State) -> bool:
    """A member claims a partition twice."""
    return any(count > 1 for count in Counter(_named(state)).values())


def stale_unsubscribed_claim(state: State) -> bool:
    """An older generation's member claims a partition of a topic that it no longer names."""
    newest = max((_generation(m) for m in state.members.values()), default=-1)
    return any(
        topic in state.topics
        and topic not in state.members[member]["topics"]
        and _generation(state.members[member]) < newest
        for member, (topic, _) in _named(state)
    )


def empty_subscriptions_first(state: State) -> bool:
    """Members without a topic come first in the HashMap, all others name the same topics."""
    order = members_by_hash(documents.parse(state.document)).tolist()
    named = [frozenset(state.document["members"][m]["topics"]) for m in order]
    first = next((i for i, topics in enumerate(named) if topics), 0)
    return first > 0 and set(named[first:]) == {named[first]}


def claims_of_topics_nobody_reads(state: State) -> bool:
    """A member holds a partition of a topic that is gone, or that no member subscribes to."""
    return any(not state.subscribers.get(topic) for _, (topic, _) in _named(state))


def claims_not_to_keep(state: State) -> bool:
    """A member claims what it does not subscribe to, or what the cluster does not have."""
    return any(
        topic not in state.members[member]["topics"] or p not in state.topics.get(topic, ())
        for member, (topic, p) in _named(state)
    )


def claims_and_subscriptions_differ(state: State) -> bool:
    """Members claim partitions and do not all name the same topics."""
    return not state.equal and any(member.get("owned") for member in state.members.values())


def missing_topic(state: State) -> bool:
    """A member names a topic that does not exist or has no partitions."""
    return any(not state.topics.get(t) for m in state.members.values() for t in m["topics"])


def claim_and_unread_topic(state: State) -> bool:
    """A member sends a claim, even an empty one, and nobody reads some topic."""
    return any("owned" in m for m in state.members.values()) and unread_topic(state)


def topics_or_streams_differ(state: State) -> bool:
    """Consumers differ in topics, streams differ, or nobody subscribes to anything."""
    topics = {frozenset(member["topics"]) for member in state.members.values()}
    streams = {count for member in state.members.values() for count in _streams(member)}
    return len(topics) > 1 or len(streams) > 1 or topics == {frozenset()}


def member_without_topics(state: State) -> bool:
    """A member subscribes to nothing that exists."""
    return any(state.topics.keys().isdisjoint(m["topics"]) for m in state.members.values())


def topic_not_for_everybody(state: State) -> bool:
    """Some topic is read by some members, but not by all."""
    return any(0 < len(m) < len(state.members) for m in state.subscribers.values())


def nothing_to_read(state: State) -> bool:
    """Nobody subscribes to a topic that exists."""
    return not any(state.subscribers.values())


def unread_topic(state: State) -> bool:
    """Nobody reads some topic."""
    return not all(state.subscribers.values())


def no_streams(state: State) -> bool:
    """A consumer asks for no stream."""
    return any(0 in _streams(member) for member in state.members.values())


def equal_hash_codes(state: State) -> bool:
    """Two partitions have equal hash codes: every consumer sees them in an order of its own."""
    return "hash_ties" in documents.answer(state.document)


def no_points(state: State) -> bool:
    """The ring has no points: vnodes is 0."""
    return state.document.get("vnodes") == 0


def listed_twice(state: State) -> bool:
    """A queue stands in the lists of two clients."""
    lists = state.document.get("config", {}).values()
    listed = [queue for queues in lists for queue in set(map(tuple, queues))]
    return len(listed) != len(set(listed))


def inner_leaves_out(state: State) -> bool:
    """The inner strategy deals only what lies in the configured rooms."""
    return state.document.get("inner") == "rocketmq-machine-room"


def no_rooms(state: State) -> bool:
    """No machine rooms are given."""
    return state.document.get("idcs") is None


def no_queue_or_room(state: State) -> bool:
    """A topic has no queue, or a broker or a client has no machine room."""
    brokers = [b for t in state.document["topics"] for b, _ in t.get("brokers") or [["", 1]]]
    rooms = [broker.split("@") for broker in brokers]
    return (
        any(not state.topics[t] for t, readers in state.subscribers.items() if readers)
        or any(len(room) != 2 or not all(room) for room in rooms)
        or any(not member.get("rack") for member in state.members.values())
    )


def racks_in_play(state: State) -> bool:
    """Both members and partitions have racks."""
    return state.racks


def racks_and_subscriptions_differ(state: State) -> bool:
    """Both members and partitions have racks, and members do not all name the same topics."""
    return state.racks and not state.equal


def older_generations(state: State) -> bool:
    """Members claim in different generations, or some in none."""
    return len({_generation(member) for member in state.members.values()}) > 1


def _named(state: State) -> Iterable[tuple[str, tuple]]:
    by_id = {t["id"]: t["name"] for t in state.document["topics"] if t.get("id") is not None}
    for id, member in state.members.items():
        for topic, partition in member.get("owned") or []:
            yield id, (by_id.get(topic, topic), partition)


def _generation(member: dict) -> int:
    return max(-1, member.get("sub_generation", member.get("generation", -1)))


def _streams(member: dict) -> list[int]:
    streams = member.get("streams", 1)
    return streams if isinstance(streams, list) else [streams] * len(member["topics"])


# ---- the table ---------------------------------------------------------------------------------


def _sticky(*versions: str) -> Callable[[str], bool]:
    """The Java sticky strategies of these versions, all of them if none is given."""
    names = [base + v for base in ("sticky", "cooperative-sticky") for v in versions]

    def among(strategy: str) -> bool:
        if versions:
            return strategy in names
        return strategy.partition("@")[0] in ("sticky", "cooperative-sticky")

    return among


def _these(*names: str) -> Callable[[str], bool]:
    return lambda strategy: strategy in names


SINCE_3_4 = ("@3.4.0", "@3.4", "@3.5.0", "@3.5", "")
SINCE_2_5 = ("@2.5", "@2.8", "@3.0", *SINCE_3_4)
STICKINESS = ("kept_first", "keeps_most", "keeps_before_it_receives", "no_exchange", "older_claims_lose",
              "fixed_point", "no_better_move", "floor_and_ceiling")  # fmt: skip

FAULTS = (
    Fault("partition beyond the end", claims_beyond_the_end.__doc__, _sticky(*SINCE_2_5),
          claims_beyond_the_end,
          ("existing", "once_each", "one_owner", "complete", "settles", "gives_up_first",
           "eager_less_held_back", *STICKINESS),
          ("IllegalStateException", "NullPointerException")),
    Fault("claimed twice", claimed_twice.__doc__, _sticky("@2.0", *SINCE_2_5), claimed_twice,
          ("once_each", "one_owner", *STICKINESS)),
    Fault("rival claims", rival_claims.__doc__,
          lambda strategy: _sticky()(strategy) or strategy.startswith("kafka-python-"), rival_claims,
          ("subscribed", "one_owner", "once_each", "settles", "gives_up_first",
           "eager_less_held_back", *STICKINESS),
          ("NullPointerException", "IllegalStateException", "KeyError")),
    Fault("stale claim of a topic given up", stale_unsubscribed_claim.__doc__, _sticky(*SINCE_3_4),
          stale_unsubscribed_claim, ("subscribed", "fixed_point", "settles"),
          ("NullPointerException",)),
    Fault("empty subscription first", empty_subscriptions_first.__doc__, _sticky(*SINCE_2_5),
          empty_subscriptions_first,
          ("subscribed", "fixed_point", "no_better_move", "no_exchange", "settles")),
    Fault("older claims count for nothing (KAFKA-14639)", older_generations.__doc__,
          _sticky(*NEWEST_ONLY), older_generations,
          ("gives_up_first", "settles", "keeps_most", "keeps_before_it_receives")),
    Fault("racks and equal subscriptions (KAFKA-15170)", racks_in_play.__doc__,
          _sticky("@3.5.0", "@3.5"), racks_in_play, ("gives_up_first", "settles"),
          ("IllegalStateException",)),
    Fault("racks: more rounds than Kafka's tests allow", racks_in_play.__doc__,
          _these("cooperative-sticky"), racks_in_play, ("settles",)),
    Fault("racks in librdkafka", racks_in_play.__doc__,
          lambda strategy: strategy.startswith("librdkafka-"), racks_in_play,
          ("settles", "gives_up_first")),
    Fault("moves among different subscriptions", claims_and_subscriptions_differ.__doc__,
          _these("librdkafka-cooperative-sticky"), claims_and_subscriptions_differ,
          throws=("SIGSEGV",)),
    Fault("claims taken over unseen", claims_not_to_keep.__doc__,
          lambda strategy: strategy.startswith("librdkafka-"), claims_not_to_keep,
          ("existing", "subscribed", "one_owner", "settles", "gives_up_first", "complete")),
    Fault("missing topic (KAFKA-7962)", missing_topic.__doc__, _these("sticky@2.0"),
          missing_topic, throws=("NullPointerException",)),
    Fault("claim and a topic nobody reads", claim_and_unread_topic.__doc__, _these("sticky@2.0"),
          claim_and_unread_topic, throws=("NoSuchElementException",)),
    Fault("claim and a topic nobody reads", unread_topic.__doc__, _these("sticky@2.0"),
          unread_topic, ("fixed_point",)),
    Fault("claims the coordinator never holds", rival_claims.__doc__,
          lambda strategy: strategy.startswith("server-"), rival_claims, ("one_owner", "complete", "even_topics", "fixed_point"),
          ("PartitionAssignorException", "ArrayIndexOutOfBoundsException",
           "NoSuchElementException")),
    Fault("member without topics (KAFKA-16930)", member_without_topics.__doc__,
          _these("server-uniform@3.7"), member_without_topics, throws=("NullPointerException",)),
    Fault("racks and different subscriptions", racks_and_subscriptions_differ.__doc__,
          _these("server-uniform@3.7"), racks_and_subscriptions_differ, ("subscribed",),
          ("PartitionAssignorException",)),
    Fault("topic recreated smaller, on the coordinator", claims_beyond_the_end.__doc__,
          lambda strategy: strategy.startswith("server-"), claims_beyond_the_end,
          ("existing", "complete", "fixed_point", "keeps_most", "floor_and_ceiling", "even_topics",
           "keeps_before_it_receives"),
          ("PartitionAssignorException", "ArrayIndexOutOfBoundsException",
           "NoSuchElementException")),
    Fault("topic that nobody reads", claims_of_topics_nobody_reads.__doc__,
          _these("server-simple"), claims_of_topics_nobody_reads, ("existing", "subscribed")),
    Fault("streams differ", topics_or_streams_differ.__doc__, _these("scala-roundrobin"),
          topics_or_streams_differ, throws=("IllegalArgumentException", "NullPointerException")),
    Fault("passing over a member", topic_not_for_everybody.__doc__,
          _these("kafka-python-roundrobin"), topic_not_for_everybody, throws=("KeyError",)),
    Fault("nothing to read", nothing_to_read.__doc__, _these("sarama-roundrobin"),
          nothing_to_read, throws=("errorString",)),
    Fault("no stream", no_streams.__doc__, _these("scala-range", "scala-roundrobin"), no_streams,
          throws=("AssertionError",)),
    Fault("equal hash codes", equal_hash_codes.__doc__, _these("scala-roundrobin"),
          equal_hash_codes, ("one_owner", "even_threads")),
    Fault("vnodes 0", no_points.__doc__,
          _these("rocketmq-consistent-hash", "rocketmq-machine-room-nearby"), no_points,
          ("complete_if_equal",)),
    Fault("inner machine room", inner_leaves_out.__doc__, _these("rocketmq-machine-room-nearby"),
          inner_leaves_out, ("complete_if_equal",)),
    Fault("listed twice", listed_twice.__doc__, _these("rocketmq-config"), listed_twice,
          ("one_owner",)),
    Fault("no machine rooms", no_rooms.__doc__,
          _these("rocketmq-machine-room", "rocketmq-machine-room-nearby"), no_rooms,
          throws=("NullPointerException",)),
    Fault("no queue or no room", no_queue_or_room.__doc__,
          lambda strategy: strategy.startswith("rocketmq-"), no_queue_or_room,
          throws=("IllegalArgumentException",)),
)  # fmt: skip
"""The faults known by name; the order decides which one of several a breach is counted under."""


def known(state: State, promise: str = "", throws: str = "") -> Fault | None:
    """The fault under which a broken promise or an exception is known, or None: then it is ours."""
    for fault in FAULTS:
        concerned = promise in fault.excuses or throws in fault.throws
        if concerned and fault.strategies(state.strategy.name) and fault.holds(state):
            return fault
    return None


def unused(strategies: Iterable) -> list[str]:
    """Faults that excuse promises which none of these strategies gives: entries to take out."""
    return [
        fault.name
        for fault in FAULTS
        if fault.excuses
        and not any(
            fault.strategies(s.name) and set(fault.excuses) & set(promises(s)) for s in strategies
        )
    ]
