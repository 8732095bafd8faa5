"""Faults of the originals: in which groups they are known to break what they promise.

Our strategies give what the originals give, faults included. A fault is a predicate on the group
alone, never on the answer, together with the promises that do not hold there and the exceptions
that the original throws there. Where it is known which partitions go wrong, it excuses a breach
only if nothing is broken any more when these are left out of account. Whatever else is broken, or
broken elsewhere, is an error of ours.

The smallest groups that show them are in ``published/data/exhibits.yaml``.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from itertools import groupby

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.assignors.parts.orders import members_by_hash
from assignlab.assignors.strategy import Strategy
from assignlab.errors import refuse_unknown
from assignlab.group import document as documents
from assignlab.proof.promises import broken, promises
from assignlab.proof.state import Partition, State, java_sticky, newest_claims_only, streams, utf16

Who = Callable[[Strategy], bool]
Predicate = Callable[[State], bool | set[Partition]]

FAULTS: list["Fault"] = []
"""The faults known by name; of several, a breach is counted under the first."""


@dataclass(frozen=True)
class Fault:
    """A decorator that makes a predicate known as a fault of some strategies.

    ``excuses``: promises that do not hold in such a group; ``there``: promises that hold but for
    the partitions that make it one; ``throws``: exceptions; each as words in a text. ``number``:
    where it was reported, as exhibits have it. ``name``: that of the predicate, unless told.
    ``holds``: the predicate, whether a group is one of those, or the partitions that make it one.
    """

    strategies: Who
    excuses: str = ""
    there: str = ""
    throws: str = ""
    number: str = "none found"
    name: str = ""
    holds: Predicate | None = None

    def __call__(self, holds: Predicate) -> Predicate:
        name = self.name or holds.__name__.replace("_", " ")
        FAULTS.append(replace(self, name=name, holds=holds))
        return holds


def named(*names: str) -> Who:
    """The strategies of these names; raises :class:`~assignlab.errors.UnknownName` for others."""
    refuse_unknown("strategy", names, assignors.names())
    return lambda strategy: strategy.name in names


def of(fact: str, value: str) -> Who:
    """The strategies with this fact; :class:`~assignlab.errors.UnknownName` where none has it."""
    values = sorted({getattr(strategy, fact) for strategy in assignors.strategies().values()})
    refuse_unknown(fact, [value], values)
    return lambda strategy: getattr(strategy, fact) == value


def either(*some: Who) -> Who:
    """All of these strategies."""
    return lambda strategy: any(who(strategy) for who in some)


sticky_in_python = either(of("system", "kafka-python"), named("aiokafka-sticky"))

beaten_claims_count = java_sticky("3.4.1", "3.5.1")
"""Whether a claim that lost against another one still is the one to beat."""


# ---- the faults, each above its predicate ------------------------------------------------------


@Fault(java_sticky("2.5.1"), excuses="fixed_point settles", name="beyond the end, again and again")
@Fault(
    java_sticky("2.5.1"),
    excuses="no_better_move",
    there="existing kept_first older_claims_lose",
    name="partition beyond the end is kept",
)
def claims_beyond_the_end(state: State) -> set[Partition]:
    """A member claims a partition that its topic does not have (any more), and keeps it; it counts
    as one of its partitions."""
    return {(t, p) for _, (t, p) in state.claimed if t in state.topics and p not in state.topics[t]}


@Fault(
    java_sticky("2.5.1"),
    excuses="floor_and_ceiling keeps_most keeps_before_it_receives older_claims_lose",
    throws="IllegalStateException",
)
def quota_beyond_the_end(state: State) -> bool:
    """Equal subscriptions: what a member claims beyond the end of a topic takes places of its
    quota, and those who shall have the rest find no place, or too many."""
    equal = state.equal or alike_as_read(state)
    return equal and bool(claims_beyond_the_end(state))


@Fault(
    java_sticky("3.0.0"),
    excuses="no_better_move",
    there="once_each one_owner gives_up_first no_exchange older_claims_lose kept_first",
)
def dealt_once_more(state: State) -> set[Partition]:
    """What is unassigned is found by walking along all partitions and those assigned, both by
    (subscribers of the topic, topic, partition). The walk stops at a partition that does not
    exist, or that two members keep, and all behind it is dealt once more."""
    stops = claims_beyond_the_end(state)
    if beaten_claims_count(state.strategy):
        stops |= beaten_claim_still_counts(state)

    def place(partition: Partition) -> tuple:
        topic, number = partition
        named = sum(member["topics"].count(topic) for member in state.members.values())
        return named, utf16(topic), number

    stops = {pair for pair in stops if state.subscribers.get(pair[0])}
    if not stops:
        return set()
    first = min(map(place, stops))
    return {pair for pair in state.wanted if place(pair) > first}


@Fault(
    either(named("sticky@2.0"), java_sticky("2.5.1")),
    excuses="once_each one_owner kept_first keeps_most keeps_before_it_receives no_exchange "
    "older_claims_lose fixed_point no_better_move floor_and_ceiling",
)
def claimed_twice(state: State) -> bool:
    """A member claims a partition twice."""
    return any(count > 1 for count in Counter(state.claimed).values())


@Fault(
    of("protocol", "server"),
    excuses="complete even_topics fixed_point",
    throws="PartitionAssignorException ArrayIndexOutOfBoundsException NoSuchElementException",
    there="one_owner",
    name="claims the coordinator never holds",
)
@Fault(sticky_in_python, throws="KeyError", name="rival claims in Python's clients")
@Fault(java_sticky("2.3.0"), there="no_exchange", name="rival claims moved about")
@Fault(
    named("sticky@2.0"),
    excuses="floor_and_ceiling no_better_move fixed_point",
    throws="NullPointerException",
    there="once_each one_owner",
    number="KAFKA-7026",
    name="claims without generations",
)
def rival_claims(state: State) -> set[Partition]:
    """Two members claim one partition."""
    return _claimed_by(state, 2)


@Fault(
    java_sticky("2.5.1", "2.8.0"),
    excuses="floor_and_ceiling keeps_most keeps_before_it_receives settles",
    throws="IllegalStateException",
    there="one_owner older_claims_lose",
    number="KAFKA-12984",
)
def two_claims_of_the_newest_generation(state: State) -> set[Partition]:
    """Equal subscriptions: two members claim one partition in the newest generation; both keep
    it, and it counts twice. The cooperative assignor reads no generation: any two claims do."""
    if not alike_as_read(state):
        return set()
    if state.strategy.protocol == "cooperative":
        return rival_claims(state)
    newest = max(_generation_read(state, member) for member in state.members)
    return _claimed_by(state, 2, lambda member: _generation_read(state, member) == newest)


@Fault(
    beaten_claims_count,
    excuses="floor_and_ceiling no_better_move fixed_point settles",
    throws="IllegalStateException",
    there="one_owner gives_up_first older_claims_lose",
)
def beaten_claim_still_counts(state: State) -> set[Partition]:
    """Three members claim one partition: the third is compared with the second, even if that one
    lost against the first."""
    return _claimed_by(state, 3)


@Fault(lambda s: java_sticky("3.4.1")(s) and s.protocol == "cooperative", excuses="keeps_most")
def note_of_a_void_claim(state: State) -> set[Partition]:
    """Two claims void each other, and the partition is noted as one of several owners. A third
    claim may win it, but the note stays: whoever gets the partition, it is held back."""
    return beaten_claim_still_counts(state)


@Fault(
    java_sticky("3.4.0"),
    excuses="keeps_most keeps_before_it_receives",
    there="kept_first older_claims_lose",
)
def generation_in_one_place_only(state: State) -> set[Partition]:
    """Of two who claim one partition, one tells its generation in its user data and in its
    subscription another one, or none: the rival's is looked for in the subscription only."""
    apart = {
        pair
        for member, pair in state.claimed
        if state.members[member].get("generation") != state.members[member].get("sub_generation")
    }
    return rival_claims(state) & apart


@Fault(java_sticky("2.5.1"), there="older_claims_lose")
def back_to_an_older_claim(state: State) -> set[Partition]:
    """Different subscriptions: a partition that is moved to even out goes back to the member with
    an older claim, if that one has less."""
    generations: dict[Partition, set[int]] = {}
    for member, pair in state.claimed:
        generations.setdefault(pair, set()).add(state.generation(member))
    if alike_as_read(state):
        return set()
    return {pair for pair, found in generations.items() if len(found) > 1}


@Fault(
    sticky_in_python,
    excuses="fixed_point settles no_better_move",
    there="subscribed",
    name="stale claim in Python's clients",
)
@Fault(
    java_sticky("2.3.0"),
    excuses="fixed_point settles",
    throws="NullPointerException",
    there="subscribed",
)
def stale_claim_of_a_topic_given_up(state: State) -> set[Partition]:
    """An older generation's member claims a partition of a topic that it no longer names."""
    read = {member: _generation_read(state, member) for member in state.members}
    newest = max(read.values(), default=-1)
    return {
        (topic, partition)
        for member, (topic, partition) in state.claimed
        if topic in state.topics
        and topic not in state.members[member]["topics"]
        and read[member] < newest
    }


@Fault(java_sticky("2.5.1"), excuses="subscribed fixed_point no_better_move no_exchange settles")
def empty_subscription_first(state: State) -> bool:
    """Members without a topic come first in the HashMap, all others name the same topics."""
    return alike_as_read(state) and not all(m["topics"] for m in state.members.values())


@Fault(
    newest_claims_only,
    excuses="gives_up_first settles keeps_most keeps_before_it_receives",
    number="KAFKA-14639",
)
def older_claims_count_for_nothing(state: State) -> bool:
    """Members claim in different generations, or some in none."""
    return len(set(map(state.generation, state.members))) > 1


@Fault(of("system", "librdkafka"), excuses="settles gives_up_first", name="racks in librdkafka")
@Fault(
    named("cooperative-sticky"),
    excuses="settles",
    name="racks: more rounds than Kafka's tests allow",
)
@Fault(
    java_sticky("3.5.0", "3.7.0"),
    excuses="gives_up_first settles",
    throws="IllegalStateException",
    number="KAFKA-15170",
    name="racks and equal subscriptions",
)
def racks_in_play(state: State) -> bool:
    """Both members and partitions have racks."""
    return state.racks


@Fault(named("server-uniform@3.7"), excuses="subscribed", throws="PartitionAssignorException")
def racks_and_different_subscriptions(state: State) -> bool:
    """Both members and partitions have racks, and members do not all name the same topics."""
    return state.racks and not state.equal


@Fault(
    of("protocol", "server"),
    excuses="complete fixed_point keeps_most floor_and_ceiling even_topics keeps_before_it_receives",
    throws="PartitionAssignorException ArrayIndexOutOfBoundsException NoSuchElementException",
    there="existing",
    name="topic recreated smaller, on the coordinator",
)
def recreated_smaller(state: State) -> set[Partition]:
    """A member claims a partition that its topic does not have (any more): it was created again."""
    return claims_beyond_the_end(state)


@Fault(named("server-simple"), excuses="existing subscribed")
def topic_that_nobody_reads(state: State) -> bool:
    """A member holds a partition of a topic that is gone, or that no member subscribes to."""
    return any(not state.subscribers.get(topic) for _, (topic, _) in state.claimed)


@Fault(
    named("server-simple@4.1"), there="complete", name="left to a member that does not subscribe"
)
@Fault(
    of("system", "librdkafka"),
    excuses="settles complete floor_and_ceiling no_better_move",
    there="existing subscribed one_owner gives_up_first",
    name="claims taken over unseen",
)
def claims_not_to_keep(state: State) -> set[Partition]:
    """A member claims what it does not subscribe to, or what the cluster does not have."""
    return {
        (topic, p)
        for member, (topic, p) in state.claimed
        if topic not in state.members[member]["topics"] or p not in state.topics.get(topic, ())
    }


@Fault(named("librdkafka-cooperative-sticky"), throws="SIGSEGV SIGABRT")
def moves_among_different_subscriptions(state: State) -> bool:
    """Members claim partitions and do not all name the same topics."""
    return not state.equal and any(member.get("owned") for member in state.members.values())


@Fault(lambda strategy: strategy.may_loop, throws="NeverEnds")
def moves_come_round(state: State) -> bool:
    """Members do not all name the same topics: a move may undo another one, and that one it again."""
    return not state.equal


@Fault(named("roundrobin@0.9"), throws="NullPointerException", name="missing topic to deal")
@Fault(named("sticky@2.0"), throws="NullPointerException", number="KAFKA-7962")
def missing_topic(state: State) -> bool:
    """A member names a topic that does not exist or has no partitions."""
    return any(not state.topics.get(t) for m in state.members.values() for t in m["topics"])


@Fault(named("sticky@2.0"), throws="NoSuchElementException")
def claim_and_a_topic_nobody_reads(state: State) -> bool:
    """A member sends a claim, even an empty one, and nobody reads some topic, or there is none."""
    claims = any("owned" in member for member in state.members.values())
    return claims and (unread_topic(state) or not state.topics)


@Fault(named("sticky@2.0"), excuses="fixed_point", name="asked again with a topic nobody reads")
def unread_topic(state: State) -> bool:
    """Nobody reads some topic."""
    return not all(state.subscribers.values())


@Fault(named("server-uniform@3.7"), throws="NullPointerException", number="KAFKA-16930")
def member_without_topics(state: State) -> bool:
    """A member subscribes to nothing that exists."""
    return any(state.topics.keys().isdisjoint(m["topics"]) for m in state.members.values())


@Fault(
    named("scala-roundrobin"),
    throws="IllegalArgumentException",
    number="by design until 0.10.2 (KAFKA-2434)",
)
def topics_or_streams_differ(state: State) -> bool:
    """Consumers differ in topics, or a consumer has more streams for one topic than for another."""
    topics = {frozenset(member["topics"]) for member in state.members.values()}
    return len(topics) > 1 or any(len({*streams(m)}) > 1 for m in state.members.values())


@Fault(named("scala-roundrobin"), throws="NullPointerException", number="KAFKA-1648")
def nobody_subscribes(state: State) -> bool:
    """No consumer names a topic."""
    return not any(member["topics"] for member in state.members.values())


@Fault(named("kafka-python-roundrobin"), throws="KeyError")
def passing_over_a_member(state: State) -> bool:
    """Some topic is read by some members, but not by all."""
    return any(0 < len(m) < len(state.members) for m in state.subscribers.values())


@Fault(of("system", "kafka-python"), excuses="even_topics floor_and_ceiling goes_round")
def static_members_between_others(state: State) -> bool:
    """In the group's order, static members and others take turns: of either kind kafka-python sees
    only those that stand together last, be it in the group or among the subscribers of a topic."""

    def static(id: str) -> bool:
        return state.members[id].get("instance") is not None

    seen_together = [list(state.members), *state.subscribers.values()]
    return any(len(list(groupby(members, static))) > 2 for members in seen_together)


@Fault(named("sarama-roundrobin"), throws="errorString")
def nothing_to_read(state: State) -> bool:
    """Nobody subscribes to a topic that exists."""
    return not any(state.subscribers.values())


@Fault(of("system", "Kafka Scala consumer"), throws="AssertionError")
def no_stream(state: State) -> bool:
    """A consumer asks for no stream."""
    return any(0 in streams(member) for member in state.members.values())


@Fault(named("scala-roundrobin"), excuses="one_owner even_threads")
def equal_hash_codes(state: State) -> bool:
    """Two partitions have equal hash codes: every consumer sees them in an order of its own."""
    return "hash_ties" in answer(state.document)


@Fault(
    named("rocketmq-consistent-hash", "rocketmq-machine-room-nearby"), excuses="complete_if_equal"
)
def vnodes_0(state: State) -> bool:
    """The ring has no points: vnodes is 0."""
    return state.document.get("vnodes") == 0


@Fault(named("rocketmq-machine-room-nearby"), excuses="complete_if_equal")
def inner_machine_room(state: State) -> bool:
    """The inner strategy deals only what lies in the configured rooms."""
    return state.document.get("inner") == "rocketmq-machine-room"


@Fault(named("rocketmq-config"), excuses="one_owner")
def listed_twice(state: State) -> bool:
    """A queue stands in the lists of two clients."""
    lists = state.document.get("config", {}).values()
    listed = [queue for queues in lists for queue in set(map(tuple, queues))]
    return len(listed) != len(set(listed))


@Fault(
    named("rocketmq-machine-room", "rocketmq-machine-room-nearby"), throws="NullPointerException"
)
def no_machine_rooms(state: State) -> bool:
    """No machine rooms are given."""
    return state.document.get("idcs") is None


@Fault(of("system", "RocketMQ"), throws="IllegalArgumentException")
def no_queue_or_no_room(state: State) -> bool:
    """A topic has no queue, or a broker or a client has no machine room."""
    brokers = [b for t in state.document["topics"] for b, _ in t.get("brokers") or [["", 1]]]
    rooms = [broker.split("@") for broker in brokers]
    return (
        any(not state.topics[t] for t, readers in state.subscribers.items() if readers)
        or any(len(room) != 2 or not all(room) for room in rooms)
        or any(not member.get("rack") for member in state.members.values())
    )


@Fault(
    either(
        of("system", "kafka-go"),
        named("range@2.0", "range@2.3", "range@2.4"),
        named("metaq-default", "franz-go-range", "kafka-python-range", "aiokafka-range"),
    ),
    excuses="blocks even_topics cut_alike complete goes_round one_place_for_all_topics",
    name="named twice, counted twice",
)
@Fault(
    either(of("system", "RocketMQ"), of("system", "kafkajs")),
    excuses="once_each one_owner client_blocks round_the_clients queues_of_rooms floor_and_ceiling",
    name="named twice, dealt twice",
)
def topic_named_twice(state: State) -> bool:
    """A member names a topic twice."""
    return any(len(set(m["topics"])) < len(m["topics"]) for m in state.members.values())


@Fault(
    java_sticky("2.5.1"),
    excuses="kept_first keeps_most keeps_before_it_receives older_claims_lose",
    name="named twice, taken to differ",
)
def equal_but_for_length(state: State) -> bool:
    """All name the same topics, one of them twice, and are taken to differ."""
    return state.equal and not alike_as_read(state)


@Fault(
    java_sticky("2.5.1"),
    excuses="subscribed fixed_point no_better_move no_exchange settles",
    name="named twice, taken to be alike",
)
def equal_only_in_length(state: State) -> bool:
    """All name equally many topics, one of them twice instead of another one, and are taken to be alike."""
    named = {frozenset(m["topics"]) for m in state.members.values() if m["topics"]}
    return len(named) > 1 and alike_as_read(state)


@Fault(
    of("protocol", "server"),
    excuses="subscribed complete blocks even_topics cut_alike everything nobody_idle "
    "floor_and_ceiling keeps_most keeps_before_it_receives fixed_point",
    name="named twice, counts mislead",
)
def counts_mislead(state: State) -> bool:
    """A topic named twice makes equal subscriptions count as different, or different ones as equal:
    what counts is whether each topic is named as often as there are members."""
    times = Counter(topic for member in state.members.values() for topic in member["topics"])
    equal = len({frozenset(member["topics"]) for member in state.members.values()}) < 2
    return (set(times.values()) <= {len(state.members)}) != equal


# ---- what predicates ask for -------------------------------------------------------------------


def _claimed_by(
    state: State, members: int, counts: Callable[[str], bool] = lambda member: True
) -> set[Partition]:
    claims = Counter(pair for member, pair in set(state.claimed) if counts(member))
    return {pair for pair, count in claims.items() if count >= members}


def alike_as_read(state: State) -> bool:
    """Whether sticky takes the subscriptions for equal: empty ones that come first in its map are
    passed over, and those behind the first are as long as its set of topics and name no others."""
    order = members_by_hash(documents.parse(state.document)).tolist()
    named = [state.document["members"][m]["topics"] for m in order]
    first = next((i for i, topics in enumerate(named) if topics), 0)
    wanted = set(named[first])
    return all(
        len(topics) == len(wanted) and wanted >= set(topics) for topics in named[first + 1 :]
    )


def _generation_read(state: State, member: str) -> int:
    """The generation of a claim as the assignor reads it: the eager ones from the user data, which
    a member without claims does not send."""
    if state.strategy.protocol == "cooperative":
        return state.generation(member)
    fields = state.members[member]
    return max(-1, fields.get("generation", -1)) if fields.get("owned") is not None else -1


# ---- asked by the fuzz -------------------------------------------------------------------------


def known(state: State, promise: str = "", throws: str = "") -> Fault | None:
    """The fault under which a broken promise or an exception is known, or None: then it is ours.

    Several faults may break one promise in several places; then the first of them is named.
    """
    there: list[tuple[Fault, set[Partition]]] = []
    for fault in FAULTS:
        if not fault.strategies(state.strategy):
            continue
        excused = promise in fault.excuses.split() or throws in fault.throws.split()
        if excused and fault.holds(state):
            return fault
        if promise in fault.there.split() and (places := fault.holds(state)):
            there.append((fault, places))
            if _kept_elsewhere(state, promise, places):
                return fault
    if len(there) > 1 and _kept_elsewhere(state, promise, set().union(*(p for _, p in there))):
        return there[0][0]
    return None


def _kept_elsewhere(state: State, promise: str, places: set[Partition]) -> bool:
    return not broken(replace(state, aside=state.aside | places), [promise])


def of_name(name: str) -> Fault:
    """The fault of that name; raises :class:`~assignlab.errors.UnknownName`."""
    table = {fault.name: fault for fault in FAULTS}
    refuse_unknown("fault", [name], table)
    return table[name]


def unused(strategies: Collection[Strategy]) -> list[str]:
    """Faults that excuse promises which none of these strategies gives: entries to take out."""
    return [
        fault.name
        for fault in FAULTS
        if (excused := {*fault.excuses.split(), *fault.there.split()})
        and not any(fault.strategies(s) and excused & set(promises(s)) for s in strategies)
    ]
