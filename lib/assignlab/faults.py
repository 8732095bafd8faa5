"""Faults of the originals: in which groups they are known to break what they promise.

Our strategies give what the originals give, faults included. A fault is a predicate on the group
alone, never on the answer, together with the promises that do not hold there and the exceptions
that the original throws there. Where it is known which partitions go wrong, it excuses a breach
only if nothing is broken any more when these are left out of account. Whatever else is broken, or
broken elsewhere, is an error of ours.
"""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from assignlab import document as documents
from assignlab.assignors.kafka.orders import members_by_hash
from assignlab.errors import UnknownName
from assignlab.promises import NEWEST_ONLY, Partition, State, broken, promises, utf16

THIRD_CLAIMS = ("@3.4", "@3.5.0")
"""Versions of the sticky strategies in which a claim that loses still is the one to beat."""


@dataclass(frozen=True)
class Fault:
    """``holds``: whether a group is one of those, or the partitions that make it one. ``excuses``:
    promises that do not hold in it; ``there``: promises that hold but for these partitions;
    ``throws``: exceptions. ``number``: where it was reported."""

    name: str
    meaning: str
    strategies: Callable[[str], bool]
    holds: Callable[[State], bool | set[Partition]]
    excuses: tuple[str, ...] = ()
    throws: tuple[str, ...] = ()
    there: tuple[str, ...] = ()
    number: str = "none found"


# ---- predicates --------------------------------------------------------------------------------


def claims_beyond_the_end(state: State) -> set[Partition]:
    """A member claims a partition that its topic does not have (any more), and keeps it; it counts
    as one of its partitions."""
    return {(t, p) for _, (t, p) in _named(state) if t in state.topics and p not in state.topics[t]}


def quota_beyond_the_end(state: State) -> bool:
    """Equal subscriptions: what a member claims beyond the end of a topic takes places of its
    quota, and those who shall have the rest find no place, or too many."""
    return alike_as_read(state) and bool(claims_beyond_the_end(state))


def behind_a_stop(state: State) -> set[Partition]:
    """What is unassigned is found by walking along all partitions and those assigned, both by
    (subscribers of the topic, topic, partition). The walk stops at a partition that does not
    exist, or that two members keep, and all behind it is dealt once more."""
    stops = claims_beyond_the_end(state)
    if state.strategy.name.endswith(THIRD_CLAIMS):
        stops |= third_claims(state)

    def place(partition: Partition) -> tuple:
        topic, number = partition
        return len(state.subscribers[topic]), utf16(topic), number

    stops = {pair for pair in stops if state.subscribers.get(pair[0])}
    if not stops:
        return set()
    first = min(map(place, stops))
    return {pair for pair in state.wanted if place(pair) > first}


def rival_claims(state: State) -> set[Partition]:
    """Two members claim one partition."""
    return _claimed_by(state, 2)


def third_claims(state: State) -> set[Partition]:
    """Three members claim one partition: the third is compared with the second, even if that one
    lost against the first."""
    return _claimed_by(state, 3)


def note_stays(state: State) -> set[Partition]:
    """Two claims void each other, and the partition is noted as one of several owners. A third
    claim may win it, but the note stays: whoever gets the partition, it is held back."""
    return third_claims(state)


def newest_claims_of_two(state: State) -> set[Partition]:
    """Equal subscriptions: two members claim one partition in the newest generation; both keep
    it, and it counts twice. The cooperative assignor reads no generation: any two claims do."""
    if not alike_as_read(state):
        return set()
    if state.strategy.protocol == "cooperative":
        return rival_claims(state)
    newest = max(_generation_read(state, member) for member in state.members.values())
    return _claimed_by(state, 2, lambda member: _generation_read(state, member) == newest)


def claims_dated_apart(state: State) -> set[Partition]:
    """Of two who claim one partition, one tells its generation in its user data and in its
    subscription another one, or none: the rival's is looked for in the subscription only."""
    apart = {
        pair
        for member, pair in _named(state)
        if state.members[member].get("generation") != state.members[member].get("sub_generation")
    }
    return rival_claims(state) & apart


def claims_of_two_generations(state: State) -> set[Partition]:
    """Different subscriptions: a partition that is moved to even out goes back to the member with
    an older claim, if that one has less."""
    generations: dict[Partition, set[int]] = {}
    for member, pair in _named(state):
        generations.setdefault(pair, set()).add(_generation(state.members[member]))
    if alike_as_read(state):
        return set()
    return {pair for pair, found in generations.items() if len(found) > 1}


def _claimed_by(
    state: State, members: int, counts: Callable[[dict], bool] = lambda member: True
) -> set[Partition]:
    named = {(m, pair) for m, pair in _named(state) if counts(state.members[m])}
    claims = Counter(pair for _, pair in named)
    return {pair for pair, count in claims.items() if count >= members}


def alike_as_read(state: State) -> bool:
    """Whether sticky takes the subscriptions for equal: empty ones that come first in its map are
    passed over."""
    order = members_by_hash(documents.parse(state.document)).tolist()
    named = [frozenset(state.document["members"][m]["topics"]) for m in order]
    first = next((i for i, topics in enumerate(named) if topics), 0)
    return len(set(named[first:])) == 1


def claimed_twice(state: State) -> bool:
    """A member claims a partition twice."""
    return any(count > 1 for count in Counter(_named(state)).values())


def stale_unsubscribed_claim(state: State) -> set[Partition]:
    """An older generation's member claims a partition of a topic that it no longer names."""
    read = {id: _generation_read(state, member) for id, member in state.members.items()}
    newest = max(read.values(), default=-1)
    return {
        (topic, partition)
        for member, (topic, partition) in _named(state)
        if topic in state.topics
        and topic not in state.members[member]["topics"]
        and read[member] < newest
    }


def empty_subscriptions_first(state: State) -> bool:
    """Members without a topic come first in the HashMap, all others name the same topics."""
    return alike_as_read(state) and not all(m["topics"] for m in state.members.values())


def claims_of_topics_nobody_reads(state: State) -> bool:
    """A member holds a partition of a topic that is gone, or that no member subscribes to."""
    return any(not state.subscribers.get(topic) for _, (topic, _) in _named(state))


def claims_not_to_keep(state: State) -> set[Partition]:
    """A member claims what it does not subscribe to, or what the cluster does not have."""
    return {
        (topic, p)
        for member, (topic, p) in _named(state)
        if topic not in state.members[member]["topics"] or p not in state.topics.get(topic, ())
    }


def claims_and_subscriptions_differ(state: State) -> bool:
    """Members claim partitions and do not all name the same topics."""
    return not state.equal and any(member.get("owned") for member in state.members.values())


def missing_topic(state: State) -> bool:
    """A member names a topic that does not exist or has no partitions."""
    return any(not state.topics.get(t) for m in state.members.values() for t in m["topics"])


def claim_and_unread_topic(state: State) -> bool:
    """A member sends a claim, even an empty one, and nobody reads some topic, or there is none."""
    claims = any("owned" in member for member in state.members.values())
    return claims and (unread_topic(state) or not state.topics)


def nobody_subscribes(state: State) -> bool:
    """No consumer names a topic."""
    return not any(member["topics"] for member in state.members.values())


def topics_or_streams_differ(state: State) -> bool:
    """Consumers differ in topics, or streams differ."""
    topics = {frozenset(member["topics"]) for member in state.members.values()}
    streams = {count for member in state.members.values() for count in _streams(member)}
    return len(topics) > 1 or len(streams) > 1


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


def _generation_read(state: State, member: dict) -> int:
    """The generation of a claim as the assignor reads it: the eager ones from the user data, which
    a member without claims does not send."""
    if state.strategy.protocol == "cooperative":
        return _generation(member)
    return max(-1, member.get("generation", -1)) if member.get("owned") is not None else -1


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
SINCE_3_0 = ("@3.0", *SINCE_3_4)
SINCE_2_5 = ("@2.5", "@2.8", *SINCE_3_0)
SINCE_2_3 = ("@2.3", "@2.4", *SINCE_2_5)
STICKINESS = ("kept_first", "keeps_most", "keeps_before_it_receives", "no_exchange",
              "older_claims_lose", "fixed_point", "no_better_move",
              "floor_and_ceiling")  # fmt: skip

FAULTS = (
    Fault("partition beyond the end is kept", claims_beyond_the_end.__doc__, _sticky(*SINCE_2_5),
          claims_beyond_the_end, ("no_better_move",),
          there=("existing", "kept_first", "older_claims_lose")),
    Fault("quota beyond the end", quota_beyond_the_end.__doc__, _sticky(*SINCE_2_5),
          quota_beyond_the_end,
          ("floor_and_ceiling", "keeps_most", "keeps_before_it_receives", "older_claims_lose"),
          ("IllegalStateException",)),
    Fault("dealt once more", behind_a_stop.__doc__, _sticky(*SINCE_3_0), behind_a_stop,
          ("no_better_move",),
          there=("once_each", "one_owner", "gives_up_first", "no_exchange", "older_claims_lose",
                 "kept_first")),
    Fault("beyond the end, again and again", claims_beyond_the_end.__doc__, _sticky(*SINCE_2_5),
          claims_beyond_the_end, ("fixed_point", "settles")),
    Fault("claimed twice", claimed_twice.__doc__, _sticky("@2.0", *SINCE_2_5), claimed_twice,
          ("once_each", "one_owner", *STICKINESS)),
    Fault("claims without generations", rival_claims.__doc__, _these("sticky@2.0"),
          rival_claims, ("floor_and_ceiling", "no_better_move", "fixed_point"),
          ("NullPointerException",), there=("once_each", "one_owner"), number="KAFKA-7026"),
    Fault("rival claims moved about", rival_claims.__doc__, _sticky(*SINCE_2_3), rival_claims,
          there=("no_exchange",)),
    Fault("two claims of the newest generation", newest_claims_of_two.__doc__,
          _sticky("@2.5"), newest_claims_of_two,
          ("floor_and_ceiling", "keeps_most", "keeps_before_it_receives", "settles"),
          ("IllegalStateException",), there=("one_owner", "older_claims_lose"),
          number="KAFKA-12984"),
    Fault("beaten claim still counts", third_claims.__doc__, _sticky(*THIRD_CLAIMS), third_claims,
          ("floor_and_ceiling", "no_better_move", "fixed_point", "settles"),
          ("IllegalStateException",), there=("one_owner", "gives_up_first", "older_claims_lose")),
    Fault("note of a void claim", note_stays.__doc__,
          _these(*("cooperative-sticky" + v for v in SINCE_3_4 if v not in NEWEST_ONLY)),
          note_stays, ("keeps_most",)),
    Fault("generation in one place only", claims_dated_apart.__doc__, _sticky(*SINCE_3_4),
          claims_dated_apart, ("keeps_most", "keeps_before_it_receives"),
          there=("kept_first", "older_claims_lose")),
    Fault("back to an older claim", claims_of_two_generations.__doc__, _sticky(*SINCE_2_5),
          claims_of_two_generations, there=("older_claims_lose",)),
    Fault("rival claims in kafka-python", rival_claims.__doc__,
          lambda strategy: strategy.startswith("kafka-python-"), rival_claims,
          throws=("KeyError",)),
    Fault("stale claim of a topic given up", stale_unsubscribed_claim.__doc__,
          lambda strategy: _sticky(*SINCE_2_3)(strategy) or strategy.startswith("kafka-python-"),
          stale_unsubscribed_claim, ("fixed_point", "settles"), ("NullPointerException",),
          there=("subscribed",)),
    Fault("empty subscription first", empty_subscriptions_first.__doc__, _sticky(*SINCE_2_5),
          empty_subscriptions_first,
          ("subscribed", "fixed_point", "no_better_move", "no_exchange", "settles")),
    Fault("older claims count for nothing", older_generations.__doc__, _sticky(*NEWEST_ONLY),
          older_generations,
          ("gives_up_first", "settles", "keeps_most", "keeps_before_it_receives"),
          number="KAFKA-14639"),
    Fault("racks and equal subscriptions", racks_in_play.__doc__, _sticky("@3.5.0", "@3.5"),
          racks_in_play, ("gives_up_first", "settles"), ("IllegalStateException",),
          number="KAFKA-15170"),
    Fault("racks: more rounds than Kafka's tests allow", racks_in_play.__doc__,
          _these("cooperative-sticky"), racks_in_play, ("settles",)),
    Fault("racks in librdkafka", racks_in_play.__doc__,
          lambda strategy: strategy.startswith("librdkafka-"), racks_in_play,
          ("settles", "gives_up_first")),
    Fault("moves among different subscriptions", claims_and_subscriptions_differ.__doc__,
          _these("librdkafka-cooperative-sticky"), claims_and_subscriptions_differ,
          throws=("SIGSEGV", "SIGABRT")),
    Fault("claims taken over unseen", claims_not_to_keep.__doc__,
          lambda strategy: strategy.startswith("librdkafka-"), claims_not_to_keep,
          ("settles", "complete"), there=("existing", "subscribed", "one_owner", "gives_up_first")),
    Fault("missing topic", missing_topic.__doc__, _these("sticky@2.0"), missing_topic,
          throws=("NullPointerException",), number="KAFKA-7962"),
    Fault("claim and a topic nobody reads", claim_and_unread_topic.__doc__, _these("sticky@2.0"),
          claim_and_unread_topic, throws=("NoSuchElementException",)),
    Fault("asked again with a topic nobody reads", unread_topic.__doc__, _these("sticky@2.0"),
          unread_topic, ("fixed_point",)),
    Fault("claims the coordinator never holds", rival_claims.__doc__,
          lambda strategy: strategy.startswith("server-"), rival_claims,
          ("complete", "even_topics", "fixed_point"),
          ("PartitionAssignorException", "ArrayIndexOutOfBoundsException",
           "NoSuchElementException"), there=("one_owner",)),
    Fault("member without topics", member_without_topics.__doc__, _these("server-uniform@3.7"),
          member_without_topics, throws=("NullPointerException",), number="KAFKA-16930"),
    Fault("racks and different subscriptions", racks_and_subscriptions_differ.__doc__,
          _these("server-uniform@3.7"), racks_and_subscriptions_differ, ("subscribed",),
          ("PartitionAssignorException",)),
    Fault("topic recreated smaller, on the coordinator", claims_beyond_the_end.__doc__,
          lambda strategy: strategy.startswith("server-"), claims_beyond_the_end,
          ("complete", "fixed_point", "keeps_most", "floor_and_ceiling", "even_topics",
           "keeps_before_it_receives"),
          ("PartitionAssignorException", "ArrayIndexOutOfBoundsException",
           "NoSuchElementException"), there=("existing",)),
    Fault("topic that nobody reads", claims_of_topics_nobody_reads.__doc__,
          _these("server-simple"), claims_of_topics_nobody_reads, ("existing", "subscribed")),
    Fault("left to a member that does not subscribe", claims_not_to_keep.__doc__,
          _these("server-simple@4.1"), claims_not_to_keep, there=("complete",)),
    Fault("topics or streams differ", topics_or_streams_differ.__doc__,
          _these("scala-roundrobin"), topics_or_streams_differ,
          throws=("IllegalArgumentException",), number="by design until 0.10.2 (KAFKA-2434)"),
    Fault("nobody subscribes", nobody_subscribes.__doc__, _these("scala-roundrobin"),
          nobody_subscribes, throws=("NullPointerException",), number="KAFKA-1648"),
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
"""The faults known by name; the order decides which one of several a breach is counted under.
The smallest groups that show them are in ``published/exhibits.yaml``."""


def known(state: State, promise: str = "", throws: str = "") -> Fault | None:
    """The fault under which a broken promise or an exception is known, or None: then it is ours.

    Several faults may break one promise in several places; then the first of them is named.
    """
    there: list[tuple[Fault, set[Partition]]] = []
    for fault in FAULTS:
        if not fault.strategies(state.strategy.name):
            continue
        if (promise in fault.excuses or throws in fault.throws) and fault.holds(state):
            return fault
        if promise in fault.there and (places := fault.holds(state)):
            there.append((fault, places))
            if _kept_elsewhere(state, promise, places):
                return fault
    if len(there) > 1 and _kept_elsewhere(state, promise, set().union(*(p for _, p in there))):
        return there[0][0]
    return None


def _kept_elsewhere(state: State, promise: str, places: set[Partition]) -> bool:
    return not broken(state.leaving_out(places), [promise])


def named(name: str) -> Fault:
    """The fault of that name; raises :class:`UnknownName`."""
    table = {fault.name: fault for fault in FAULTS}
    if name not in table:
        raise UnknownName("fault", name, table)
    return table[name]


def unused(strategies: Iterable) -> list[str]:
    """Faults that excuse promises which none of these strategies gives: entries to take out."""
    return [
        fault.name
        for fault in FAULTS
        if (excused := {*fault.excuses, *fault.there})
        and not any(fault.strategies(s.name) and excused & set(promises(s)) for s in strategies)
    ]
