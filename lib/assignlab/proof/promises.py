"""What each strategy promises, as checks of one answer: an independent judge of every assignment.

A :class:`State` is a group document and the lists that a strategy answered. A promise is a small
generator of what is broken; the first says enough. Which promises a strategy gives follows from its
facts: what every strategy promises, less its ``exceptions``; what its ``protocol`` asks for; its
own ``promises``. The checks know documents and lists only, nothing of how a strategy works.

The originals break promises of theirs in some groups, and we with them:
:mod:`assignlab.proof.faults` knows these by name. :func:`common_checker` is the check that Kafka's
tests and three other clients share, for comparison.

>>> from assignlab.assignors.answer import solve
>>> group = {"strategy": "sticky", "topics": [{"name": "t", "partitions": 2}],
...          "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]}
>>> broken(State(group, solve(group)["assignment"]))
[]
>>> [one.promise for one in broken(State(group, {"a": [["t", 0], ["t", 1]], "b": []}))]
['repeatable', 'fixed_point', 'floor_and_ceiling', 'no_better_move']
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.errors import OriginalError, refuse_unknown
from assignlab.proof.state import MAX_ROUNDS, Lists, Partition, State, solve, streams, utf16


@dataclass(frozen=True)
class Broken:
    """A promise that an answer does not keep."""

    promise: str
    reason: str


Check = Callable[[State], Iterator[str]]
CHECKS: dict[str, Check] = {}


def _promise(check: Check) -> Check:
    CHECKS[check.__name__] = check
    return check


def _sizes(total: int, members: int) -> list[int]:
    """Sizes of an even split, the larger ones first."""
    floor, more = divmod(total, members)
    return [floor + 1] * more + [floor] * (members - more)


# ---- every strategy ----------------------------------------------------------------------------


@_promise
def every_member(state: State) -> Iterator[str]:
    """Every member is in the answer, even with nothing, and nobody else."""
    if set(state.lists) != set(state.members):
        yield f"answered for {sorted(state.lists)}, the members are {sorted(state.members)}"


@_promise
def existing(state: State) -> Iterator[str]:
    """Only partitions that the cluster has are given."""
    for topic, name in state.owners:
        if name not in state.topics.get(topic, ()):
            yield f"{topic} {name} does not exist"


@_promise
def subscribed(state: State) -> Iterator[str]:
    """A member gets partitions of topics that it subscribes to."""
    for member, given in state.given.items():
        for topic, name in given:
            if member in state.members and topic not in state.members[member]["topics"]:
                yield f"{member} gets {topic} {name} and does not subscribe to it"


@_promise
def once_each(state: State) -> Iterator[str]:
    """No member gets a partition twice."""
    for member, given in state.given.items():
        if len(set(given)) != len(given):
            yield f"{member} gets a partition twice"


@_promise
def one_owner(state: State) -> Iterator[str]:
    """A partition has one owner."""
    for partition, owners in state.owners.items():
        if len(set(owners)) > 1:
            yield f"{partition} goes to {sorted(set(owners))}"


@_promise
def complete(state: State) -> Iterator[str]:
    """Every partition of a topic with a subscriber is given to somebody.

    In a cooperative round: or somebody has it, and has to give it up first.
    """
    may_wait = state.had if state.strategy.protocol == "cooperative" else ()
    for partition in state.wanted:
        if partition not in state.owners and partition not in may_wait:
            yield f"nobody gets {partition}"


@_promise
def complete_if_equal(state: State) -> Iterator[str]:
    """Where all members subscribe to the same topics, every partition is given to somebody."""
    if state.equal:
        yield from complete(state)


@_promise
def repeatable(state: State) -> Iterator[str]:
    """The same question gets the same answer."""
    again = state.solve(state.document)
    if again != state.lists:
        yield f"asked again: {again}"


# ---- range -------------------------------------------------------------------------------------


@_promise
def blocks(state: State) -> Iterator[str]:
    """Per topic the subscribers get P div S partitions each, the first P mod S one more, in
    contiguous blocks, in the original's order of members: static ones by instance, then by id."""
    if state.racks:
        return
    for topic, names in state.topics.items():
        shares = list(state.shares(topic).values())
        if shares:
            if [len(share) for share in shares] != _sizes(len(names), len(shares)):
                yield f"{topic} is cut into {[len(share) for share in shares]}"
            if [name for share in shares for name in share] != names:
                yield f"the blocks of {topic} are not in order: {shares}"


@_promise
def even_topics(state: State) -> Iterator[str]:
    """Per topic the subscribers get P div S or one more."""
    for topic, names in state.topics.items():
        sizes = sorted((len(share) for share in state.shares(topic).values()), reverse=True)
        if sizes and sizes != _sizes(len(names), len(sizes)):
            yield f"{topic} is cut into {sizes}"


@_promise
def cut_alike(state: State) -> Iterator[str]:
    """Topics with the same subscribers and as many partitions are cut alike."""
    cuts: dict[tuple, tuple[str, dict]] = {}
    for topic, names in state.topics.items():
        shares = {member: sorted(share) for member, share in state.shares(topic).items()}
        other, cut = cuts.setdefault((tuple(shares), len(names)), (topic, shares))
        if cut != shares:
            yield f"{other} is cut into {cut}, {topic} into {shares}"


@_promise
def contiguous(state: State) -> Iterator[str]:
    """Per topic the partitions of a subscriber lie side by side and are given in order."""
    if state.racks:
        return
    for topic in state.topics:
        for member, share in state.shares(topic).items():
            if share and share != list(range(share[0], share[0] + len(share))):
                yield f"{member} gets {share} of {topic}"


@_promise
def thread_blocks(state: State) -> Iterator[str]:
    """Per topic contiguous blocks of P div T or one more for its T threads, sorted by name."""
    for topic, names in state.topics.items():
        threads = []
        for member in state.subscribers[topic]:
            fields = state.members[member]
            count = dict(zip(fields["topics"], streams(fields), strict=True))[topic]
            threads += [f"{member}-{number}" for number in range(count)]
        dealt: dict[str, list[int]] = {thread: [] for thread in sorted(threads, key=utf16)}
        for given in state.lists.values():
            for name, partition, thread in given:
                if name == topic and thread not in dealt:
                    yield f"{topic} {partition} goes to {thread}, no thread of a subscriber"
                elif name == topic:
                    dealt[thread].append(partition)
        if threads and [len(d) for d in dealt.values()] != _sizes(len(names), len(threads)):
            yield f"{topic} is cut into {dealt}"
        if threads and [p for partitions in dealt.values() for p in partitions] != names:
            yield f"the blocks of {topic} are not in order: {dealt}"


# ---- round robin -------------------------------------------------------------------------------


@_promise
def circle(state: State) -> Iterator[str]:
    """Partition after partition, by topic and number, goes to the next subscriber in the circle."""
    order, place = state.in_order, -1
    dealt: dict[str, list[Partition]] = {member: [] for member in order}
    for topic in sorted(state.topics, key=utf16):
        if not state.subscribers[topic]:
            continue
        for name in state.topics[topic]:
            place = next(
                p % len(order)
                for p in range(place + 1, place + 1 + len(order))
                if order[p % len(order)] in state.subscribers[topic]
            )
            dealt[order[place]].append((topic, name))
    if dealt != state.given:
        yield f"the circle gives {dealt}"


@_promise
def goes_round(state: State) -> Iterator[str]:
    """With equal subscriptions a member that gets a partition of a topic gets every n-th from there
    on, n members."""
    for (topic, name), owners in state.owners.items() if state.equal else ():
        next_round = state.owners.get((topic, name + len(state.members)), owners)
        if next_round != owners:
            yield f"{topic} {name} goes to {owners}, a round later to {next_round}"


@_promise
def even_threads(state: State) -> Iterator[str]:
    """All threads get equally many partitions, or one more."""
    sizes = Counter(thread for given in state.lists.values() for _, _, thread in given)
    if sizes and max(sizes.values()) - min(sizes.values()) > 1:
        yield f"threads get {dict(sizes)}"


@_promise
def even_threads_if_alike(state: State) -> Iterator[str]:
    """As even_threads, where all consumers read the same topics, each all of them with all its threads."""
    if state.equal and all(len(set(streams(m))) < 2 for m in state.members.values()):
        yield from even_threads(state)


@_promise
def round_the_clients(state: State) -> Iterator[str]:
    """Per topic, queue i goes to client i mod C, clients by id; who does not subscribe drops it."""
    order = sorted(state.members, key=utf16)
    for topic, names in state.topics.items():
        for i, name in enumerate(names):
            client = order[i % len(order)]
            wanted = [client] if client in state.subscribers[topic] else []
            if state.owners.get((topic, name), []) != wanted:
                yield f"{topic} {name} goes to {state.owners.get((topic, name))}, not to {wanted}"


@_promise
def client_blocks(state: State) -> Iterator[str]:
    """Per topic contiguous blocks of Q div C or one more for all clients of the group, by id."""
    order = sorted(state.members, key=utf16)
    for topic, names in state.topics.items():
        start = 0
        for client, size in zip(order, _sizes(len(names), len(order)), strict=True):
            wanted = names[start : start + size] if client in state.subscribers[topic] else []
            start += size
            if state.shares(topic).get(client, []) != wanted:
                yield f"{client} gets {state.shares(topic).get(client)} of {topic}"


@_promise
def queues_of_rooms(state: State) -> Iterator[str]:
    """Per topic only queues of the rooms in ``idcs`` are given, and of these Q div C or one more to
    each of the group's C clients."""
    rooms = state.document.get("idcs") or ()
    for topic, names in state.topics.items():
        parts = {name: name[0].rstrip("@").split("@") for name in names}
        named = [name for name in names if len(parts[name]) == 2 and parts[name][0] in rooms]
        for member, share in state.shares(topic).items():
            if set(share) - set(named):
                yield f"{member} gets {share} of {topic}, and {named} are in the rooms"
            if not 0 <= len(share) - len(named) // len(state.members) <= 1:
                yield f"{member} gets {len(share)} of {len(named)} queues of {topic}"


# ---- balance -----------------------------------------------------------------------------------


@_promise
def floor_and_ceiling(state: State) -> Iterator[str]:
    """With equal subscriptions P mod C members get one partition more than the others."""
    if not state.equal or state.settled is None:
        return
    sizes = sorted((len(g) for g in state.settled.given.values()), reverse=True)
    if sizes != _sizes(len(state.wanted), len(state.members)):
        yield f"sizes {sizes}"


@_promise
def no_better_move(state: State) -> Iterator[str]:
    """No partition could go to a subscriber with at least two fewer, unless nothing was moved."""
    settled = state.settled
    if settled is None or _moved_nothing(state):
        return
    for partition, owners in settled.owners.items():
        for owner in owners:
            for other in settled.subscribers.get(partition[0], ()):
                gap = len(settled.given[owner]) - len(settled.given.get(other, ()))
                if gap >= 2:
                    yield f"{partition} could go from {owner} to {other}, which has {gap} fewer"


def _moved_nothing(state: State) -> bool:
    """Whether every holder kept all it held: what the general algorithm goes back to."""
    return bool(state.holders) and all(
        holder in state.settled.owners.get(partition, ())
        for partition, holder in state.holders.items()
    )


# ---- stickiness --------------------------------------------------------------------------------


@_promise
def keeps_most(state: State) -> Iterator[str]:
    """With equal subscriptions as much is kept as an even assignment allows."""
    if not state.equal or state.racks:
        return
    held = Counter(state.holders.values())
    kept = sum(holder in state.owners.get(p, ()) for p, holder in state.holders.items())
    floor, more = divmod(len(state.wanted), len(state.members))
    above = sum(count > floor for count in held.values())
    most = sum(min(count, floor) for count in held.values()) + min(above, more)
    if kept < most:
        yield f"{kept} partitions are kept, {most} could be"


@_promise
def keeps_before_it_receives(state: State) -> Iterator[str]:
    """With equal subscriptions no member loses a partition that it held and gets a new one."""
    if not state.equal or state.racks:
        return
    held: dict[str, set] = defaultdict(set)
    for partition, holder in state.holders.items():
        held[holder].add(partition)
    for member in state.members:
        lost = held[member] - set(state.given.get(member, ()))
        new = set(state.given.get(member, ())) - set(state.claims[member])
        if lost and new:
            yield f"{member} loses {sorted(lost)[:3]} and gets {sorted(new)[:3]}"


@_promise
def kept_first(state: State) -> Iterator[str]:
    """With equal subscriptions a list has what is kept by number and topic, then what is new by
    topic and number."""
    if not state.equal or state.racks:
        return
    for member, given in state.given.items():
        kept = [p for p in given if state.holders.get(p) == member]
        new = [p for p in given if state.holders.get(p) != member]
        kept.sort(key=lambda partition: (partition[1], utf16(partition[0])))
        new.sort(key=lambda partition: (utf16(partition[0]), partition[1]))
        if given != kept + new:
            yield f"{member} gets {given} in this order"


@_promise
def no_exchange(state: State) -> Iterator[str]:
    """No two members hand each other partitions of one topic."""
    if state.racks:
        return
    moved = set()
    for partition, holder in state.holders.items():
        for owner in state.owners.get(partition, ()):
            if owner != holder:
                moved.add((partition[0], holder, owner))
    for topic, one, other in moved:
        if (topic, other, one) in moved:
            yield f"{one} and {other} exchange partitions of {topic}"


@_promise
def older_claims_lose(state: State) -> Iterator[str]:
    """A partition claimed in two generations goes to the older claim only from a full holder."""
    if state.racks:
        return
    for partition, holder in state.holders.items():
        for owner in state.owners.get(partition, ()):
            if owner == holder or owner not in state.claimants.get(partition, ()):
                continue
            if set(state.given.get(holder, ())) - set(state.claims[holder]):
                yield f"{partition} goes to the older claim of {owner}, and {holder} had room"


@_promise
def fixed_point(state: State) -> Iterator[str]:
    """Asked again with what it gave as claims, the strategy moves nothing."""
    settled = state.settled
    if settled is None or state.racks:
        return
    again = state.solve(settled.after(settled.lists))
    for member, given in again.items():
        if sorted(map(tuple, given)) != sorted(map(tuple, settled.lists.get(member, []))):
            yield f"{member} then has {given}"


# ---- the cooperative protocol ------------------------------------------------------------------


@_promise
def gives_up_first(state: State) -> Iterator[str]:
    """No partition is given to one member while another one still has it."""
    for partition, owners in state.owners.items():
        had = state.had.get(partition, owners)
        for owner in owners:
            if owner not in had:
                yield f"{owner} gets {partition}, which {had} still have"


@_promise
def eager_less_held_back(state: State) -> Iterator[str]:
    """Every member gets what the eager strategy of the release gives it, less what must wait."""
    eager = state.strategy.name.replace("cooperative-", "")
    if eager not in assignors.names():
        return
    for member, given in _eager(state, eager).items():
        held_back = [pair for pair in given if pair not in state.lists.get(member, [])]
        if [pair for pair in given if pair not in held_back] != state.lists.get(member, []):
            yield f"{member} gets {state.lists.get(member)}, the eager strategy gives {given}"


def _eager(state: State, name: str) -> Lists:
    """The eager answer: it takes the claim's generation from another field."""
    members = []
    for member in state.document["members"]:
        if "sub_generation" in member:
            member = {**member, "generation": member["sub_generation"]}
        members.append(member)
    return solve({**state.document, "strategy": name, "members": members})


@_promise
def settles(state: State) -> Iterator[str]:
    """After four more rounds at the most nobody has to give anything up."""
    if state.settled is None:
        yield f"not settled after {MAX_ROUNDS} more rounds"


# ---- consistent hashing ------------------------------------------------------------------------


@_promise
def monotone(state: State) -> Iterator[str]:
    """Without one member, only that member's partitions change hands."""
    for leaver in list(state.members)[:3]:
        members = [m for m in state.document["members"] if m["id"] != leaver]
        if not members:
            return
        after = State({**state.document, "members": members}, {}, state.solve)
        after.lists = state.solve(after.document)
        for partition, owners in state.owners.items():
            if leaver not in owners and after.owners.get(partition) != owners:
                yield f"{leaver} leaves, and {partition} goes from {owners} elsewhere"


@_promise
def one_place_for_all_topics(state: State) -> Iterator[str]:
    """The partition of one name goes to the same consumer in all topics with the same consumers."""
    places: dict[tuple, list[str]] = {}
    for (topic, name), owners in state.owners.items():
        key = (name, tuple(state.subscribers.get(topic, ())))
        if places.setdefault(key, owners) != owners:
            yield f"partition {name} goes to {places[key]} and to {owners}"


# ---- share groups ------------------------------------------------------------------------------


@_promise
def nobody_idle(state: State) -> Iterator[str]:
    """A member that subscribes to a topic with partitions shares some partition."""
    for id, member in state.members.items():
        if any(state.topics.get(t) for t in member["topics"]) and not state.given.get(id):
            yield f"{id} gets nothing"


@_promise
def everything(state: State) -> Iterator[str]:
    """A member shares all partitions of the topics that it subscribes to."""
    for id, member in state.members.items():
        wanted = {(t, p) for t in member["topics"] for p in state.topics.get(t, ())}
        if set(state.given.get(id, ())) != wanted:
            yield f"{id} does not have exactly all partitions of its topics"


# ---- who promises what -------------------------------------------------------------------------

EVERY = ("every_member", "existing", "subscribed", "once_each", "repeatable")
COOPERATIVE = ("gives_up_first", "settles")


def promises(strategy: Strategy) -> tuple[str, ...]:
    """The names of the promises that a strategy gives; raises
    :class:`~assignlab.errors.UnknownName` for one without a check."""
    refuse_unknown("promise", strategy.promises, CHECKS)
    names = [
        *EVERY,
        *(name for name in ("one_owner", "complete") if name not in strategy.exceptions),
    ]
    if strategy.protocol == "cooperative":
        names += COOPERATIVE
    return tuple(dict.fromkeys([*names, *strategy.promises]))


def broken(state: State, names: Iterable[str] | None = None) -> list[Broken]:
    """The promises of its strategy that a state does not keep."""
    found = []
    for name in promises(state.strategy) if names is None else names:
        try:
            reason = next(CHECKS[name](state), None)
        except OriginalError as error:
            reason = f"the strategy throws where it is asked once more: {error}"
        if reason is not None:
            found.append(Broken(name, reason))
    return found


# ---- the checker that others share -------------------------------------------------------------


def common_checker(state: State) -> str | None:
    """What ``verifyValidityAndBalance`` of Kafka's AbstractStickyAssignorTest asserts.

    sarama, librdkafka and kafka-python carry the same rule: every assigned topic is among the
    member's subscribed ones, no two members share a partition, and of two members whose sizes
    differ by two or more, no topic assigned to one is assigned to the other.
    """
    if len(state.lists) != len(state.members):
        return "not as many members"
    members = sorted(state.members)
    assigned = {m: set(state.given.get(m, ())) for m in members}
    for i, one in enumerate(members):
        for topic, _ in assigned[one]:
            if topic not in state.members[one]["topics"]:
                return f"{one} does not subscribe to {topic}"
        for other in members[i + 1 :]:
            if assigned[one] & assigned[other]:
                return f"{one} and {other} share partitions"
            gap = len(state.given.get(one, ())) - len(state.given.get(other, ()))
            topics = {topic for topic, _ in assigned[one]} & {t for t, _ in assigned[other]}
            if abs(gap) > 1 and topics:
                return f"{one} and {other} differ by {abs(gap)}"
    return None
