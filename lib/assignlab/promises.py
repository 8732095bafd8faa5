"""What each strategy promises, as checks of one answer: an independent judge of every assignment.

A :class:`State` is a group document and the lists that a strategy answered. A promise is a small
function that says what is broken, or None. Which promises a strategy gives follows from its facts
(``sticky``, ``shares``, ``leaves_out``, ``protocol``) and from the table ``BY_NAME``. The checks know
documents and lists only, nothing of how a strategy works.

The originals break promises of theirs in some groups, and we with them: :mod:`assignlab.faults`
knows these by name. :func:`common_checker` is the check that Kafka's tests and three other clients
share, for comparison.

>>> from assignlab.document import solve
>>> group = {"strategy": "sticky", "topics": [{"name": "t", "partitions": 2}],
...          "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": ["t"]}]}
>>> broken(State(group, solve(group)["assignment"]))
[]
>>> [one.promise for one in broken(State(group, {"a": [["t", 0], ["t", 1]], "b": []}))]
['repeatable', 'fixed_point', 'floor_and_ceiling', 'no_better_move']
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from assignlab import assignors
from assignlab import document as documents
from assignlab.errors import OriginalError
from assignlab.strategy import Strategy

Document = dict[str, Any]
Lists = dict[str, list[list]]
Partition = tuple[str, Any]
Solve = Callable[[Document], Lists]

BROKER = {"MetaQ": "0", "RocketMQ": "broker-a"}
"""Where a topic's partitions lie that no broker is named for."""

NEWEST_ONLY = ("@2.5", "@2.8", "@3.0", "@3.4.0")
"""Versions of the sticky strategies in which a claim of an older generation counts for nothing."""

MAX_ROUNDS = 4
"""Rounds after the first that Kafka's own tests allow a cooperative rebalance."""


def solve(document: Document) -> Lists:
    """The lists that the document's own strategy answers."""
    return documents.solve(document)["assignment"]


@dataclass(frozen=True)
class Broken:
    """A promise that an answer does not keep."""

    promise: str
    reason: str


class State:
    """One group document, the lists answered, and ``solve``, which would answer again.

    A partition is a pair of its topic and whatever names it there: a number, MetaQ's
    ``broker-number``, RocketMQ's ``(broker, number)``. ``aside``: partitions that are left out of
    account, whoever claims, wants or gets them.
    """

    def __init__(
        self,
        document: Document,
        lists: Lists,
        solve: Solve = solve,
        aside: frozenset[Partition] = frozenset(),
    ):
        self.document = document
        self.lists = lists
        self.solve = solve
        self.aside = aside
        self.strategy: Strategy = assignors.get(document["strategy"])
        self.rocketmq = self.strategy.system == "RocketMQ"

    @cached_property
    def members(self) -> dict[str, Document]:
        """The members by id."""
        return {member["id"]: member for member in self.document["members"]}

    @cached_property
    def topics(self) -> dict[str, list]:
        """The names of every topic's partitions, in the order in which they are laid out."""
        return {topic["name"]: self._names(topic) for topic in self.document["topics"]}

    def _names(self, topic: Document) -> list:
        brokers = topic.get("brokers")
        if brokers is None:
            if self.strategy.system not in BROKER:
                return list(range(topic["partitions"]))
            brokers = [[BROKER[self.strategy.system], topic["partitions"]]]
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
        owners: dict[Partition, list[str]] = defaultdict(list)
        for member, given in self.given.items():
            for partition in given:
                owners[partition].append(member)
        return owners

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
    def claims(self) -> dict[str, list[Partition]]:
        """What each member claims and could keep: subscribed, and in the cluster."""
        by_id = {t["id"]: t["name"] for t in self.document["topics"] if t.get("id") is not None}
        claims = {}
        for id, member in self.members.items():
            named = [(by_id.get(t, t), p) for t, p in member.get("owned") or []]
            claims[id] = [
                (t, p)
                for t, p in named
                if t in member["topics"]
                and p in self.topics.get(t, ())
                and (t, p) not in self.aside
            ]
        return claims

    @cached_property
    def claimants(self) -> dict[Partition, list[str]]:
        """Who claims each partition and could keep it."""
        claimants: dict[Partition, list[str]] = defaultdict(list)
        for member, claimed in self.claims.items():
            for partition in dict.fromkeys(claimed):
                claimants[partition].append(member)
        return claimants

    @cached_property
    def had(self) -> dict[Partition, list[str]]:
        """Who claims each partition of the cluster, subscribed or not."""
        had: dict[Partition, list[str]] = defaultdict(list)
        for id, member in self.members.items():
            for topic, partition in member.get("owned") or []:
                pair = topic, partition
                exists = partition in self.topics.get(topic, ()) and pair not in self.aside
                if exists and id not in had[pair]:
                    had[pair].append(id)
        return dict(had)

    @cached_property
    def holders(self) -> dict[Partition, str]:
        """Who may keep each partition: its only claimant, or that of the highest generation.

        Before 3.4 only the claims of the newest generation of all count.
        """
        newest = max(map(self.generation, self.members), default=-1)
        holders = {}
        for partition, members in self.claimants.items():
            generations = sorted(((self.generation(m), m) for m in members), reverse=True)
            if generations[0][0] < newest and self.strategy.name.endswith(NEWEST_ONLY):
                continue
            if len(generations) == 1 or generations[0][0] > generations[1][0]:
                holders[partition] = generations[0][1]
        return holders

    def leaving_out(self, partitions: Iterable[Partition]) -> "State":
        """The same state, with these partitions left out of account."""
        return State(self.document, self.lists, self.solve, self.aside | frozenset(partitions))

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


def utf16(text: str) -> bytes:
    """Java compares strings by their UTF-16 units."""
    return text.encode("utf-16-be", "surrogatepass")


Check = Callable[[State], str | None]
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
def every_member(state: State) -> str | None:
    """Every member is in the answer, even with nothing, and nobody else."""
    if set(state.lists) != set(state.members):
        return f"answered for {sorted(state.lists)}, the members are {sorted(state.members)}"
    return None


@_promise
def existing(state: State) -> str | None:
    """Only partitions that the cluster has are given."""
    for topic, name in state.owners:
        if name not in state.topics.get(topic, ()):
            return f"{topic} {name} does not exist"
    return None


@_promise
def subscribed(state: State) -> str | None:
    """A member gets partitions of topics that it subscribes to."""
    for member, given in state.given.items():
        for topic, name in given:
            if member in state.members and topic not in state.members[member]["topics"]:
                return f"{member} gets {topic} {name} and does not subscribe to it"
    return None


@_promise
def once_each(state: State) -> str | None:
    """No member gets a partition twice."""
    for member, given in state.given.items():
        if len(set(given)) != len(given):
            return f"{member} gets a partition twice"
    return None


@_promise
def one_owner(state: State) -> str | None:
    """A partition has one owner."""
    for partition, owners in state.owners.items():
        if len(set(owners)) > 1:
            return f"{partition} goes to {sorted(set(owners))}"
    return None


@_promise
def complete(state: State) -> str | None:
    """Every partition of a topic with a subscriber is given to somebody.

    In a cooperative round: or somebody has it, and has to give it up first.
    """
    may_wait = state.had if state.strategy.protocol == "cooperative" else ()
    for partition in state.wanted:
        if partition not in state.owners and partition not in may_wait:
            return f"nobody gets {partition}"
    return None


@_promise
def complete_if_equal(state: State) -> str | None:
    """Where all members subscribe to the same topics, every partition is given to somebody."""
    return complete(state) if state.equal else None


@_promise
def repeatable(state: State) -> str | None:
    """The same question gets the same answer."""
    again = state.solve(state.document)
    return None if again == state.lists else f"asked again: {again}"


# ---- range -------------------------------------------------------------------------------------


@_promise
def blocks(state: State) -> str | None:
    """Per topic the subscribers get P div S partitions each, the first P mod S one more, in
    contiguous blocks, in order."""
    if state.racks:
        return None
    for topic, names in state.topics.items():
        shares = list(state.shares(topic).values())
        if shares:
            if [len(share) for share in shares] != _sizes(len(names), len(shares)):
                return f"{topic} is cut into {[len(share) for share in shares]}"
            if [name for share in shares for name in share] != names:
                return f"the blocks of {topic} are not in order: {shares}"
    return None


@_promise
def even_topics(state: State) -> str | None:
    """Per topic the subscribers get P div S or one more."""
    for topic, names in state.topics.items():
        sizes = sorted((len(share) for share in state.shares(topic).values()), reverse=True)
        if sizes and sizes != _sizes(len(names), len(sizes)):
            return f"{topic} is cut into {sizes}"
    return None


@_promise
def cut_alike(state: State) -> str | None:
    """Topics with the same subscribers and as many partitions are cut alike."""
    cuts: dict[tuple, tuple[str, dict]] = {}
    for topic, names in state.topics.items():
        shares = {member: sorted(share) for member, share in state.shares(topic).items()}
        other, cut = cuts.setdefault((tuple(shares), len(names)), (topic, shares))
        if cut != shares:
            return f"{other} is cut into {cut}, {topic} into {shares}"
    return None


@_promise
def thread_blocks(state: State) -> str | None:
    """Per topic contiguous blocks of P div T or one more for its T threads, sorted by name."""
    for topic, names in state.topics.items():
        threads = []
        for member in state.subscribers[topic]:
            streams = state.members[member].get("streams", 1)
            if isinstance(streams, list):
                streams = streams[state.members[member]["topics"].index(topic)]
            threads += [f"{member}-{number}" for number in range(streams)]
        dealt: dict[str, list[int]] = {thread: [] for thread in sorted(threads, key=utf16)}
        for given in state.lists.values():
            for name, partition, thread in given:
                if name == topic:
                    dealt[thread].append(partition)
        if threads and [len(d) for d in dealt.values()] != _sizes(len(names), len(threads)):
            return f"{topic} is cut into {dealt}"
        if threads and [p for partitions in dealt.values() for p in partitions] != names:
            return f"the blocks of {topic} are not in order: {dealt}"
    return None


# ---- round robin -------------------------------------------------------------------------------


@_promise
def circle(state: State) -> str | None:
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
        return f"the circle gives {dealt}"
    return None


@_promise
def even_threads(state: State) -> str | None:
    """All threads get equally many partitions, or one more."""
    sizes: dict[str, int] = defaultdict(int)
    for given in state.lists.values():
        for _, _, thread in given:
            sizes[thread] += 1
    if sizes and max(sizes.values()) - min(sizes.values()) > 1:
        return f"threads get {dict(sizes)}"
    return None


@_promise
def round_the_clients(state: State) -> str | None:
    """Per topic, queue i goes to client i mod C, clients by id; who does not subscribe drops it."""
    order = sorted(state.members, key=utf16)
    for topic, names in state.topics.items():
        for i, name in enumerate(names):
            client = order[i % len(order)]
            wanted = [client] if client in state.subscribers[topic] else []
            if state.owners.get((topic, name), []) != wanted:
                return f"{topic} {name} goes to {state.owners.get((topic, name))}, not to {wanted}"
    return None


@_promise
def client_blocks(state: State) -> str | None:
    """Per topic contiguous blocks of Q div C or one more for all clients of the group, by id."""
    order = sorted(state.members, key=utf16)
    for topic, names in state.topics.items():
        start = 0
        for client, size in zip(order, _sizes(len(names), len(order)), strict=True):
            wanted = names[start : start + size] if client in state.subscribers[topic] else []
            start += size
            if state.shares(topic).get(client, []) != wanted:
                return f"{client} gets {state.shares(topic).get(client)} of {topic}"
    return None


# ---- balance -----------------------------------------------------------------------------------


@_promise
def floor_and_ceiling(state: State) -> str | None:
    """With equal subscriptions P mod C members get one partition more than the others."""
    if not state.equal or state.settled is None:
        return None
    sizes = sorted((len(g) for g in state.settled.given.values()), reverse=True)
    if sizes != _sizes(len(state.wanted), len(state.members)):
        return f"sizes {sizes}"
    return None


@_promise
def no_better_move(state: State) -> str | None:
    """No partition could go to a subscriber with at least two fewer, unless nothing was moved."""
    settled = state.settled
    if settled is None or _moved_nothing(state):
        return None
    for partition, owners in settled.owners.items():
        for owner in owners:
            for other in settled.subscribers.get(partition[0], ()):
                gap = len(settled.given[owner]) - len(settled.given.get(other, ()))
                if gap >= 2:
                    return f"{partition} could go from {owner} to {other}, which has {gap} fewer"
    return None


def _moved_nothing(state: State) -> bool:
    """Whether every holder kept all it held: what the general algorithm goes back to."""
    return bool(state.holders) and all(
        holder in state.settled.owners.get(partition, ())
        for partition, holder in state.holders.items()
    )


# ---- stickiness --------------------------------------------------------------------------------


@_promise
def keeps_most(state: State) -> str | None:
    """With equal subscriptions as much is kept as an even assignment allows."""
    if not state.equal or state.racks:
        return None
    held: dict[str, int] = defaultdict(int)
    kept = 0
    for partition, holder in state.holders.items():
        held[holder] += 1
        kept += holder in state.owners.get(partition, ())
    floor, more = divmod(len(state.wanted), len(state.members))
    above = sum(count > floor for count in held.values())
    most = sum(min(count, floor) for count in held.values()) + min(above, more)
    return None if kept >= most else f"{kept} partitions are kept, {most} could be"


@_promise
def keeps_before_it_receives(state: State) -> str | None:
    """With equal subscriptions no member loses a partition that it held and gets a new one."""
    if not state.equal or state.racks:
        return None
    held: dict[str, set] = defaultdict(set)
    for partition, holder in state.holders.items():
        held[holder].add(partition)
    for member in state.members:
        lost = held[member] - set(state.given.get(member, ()))
        new = set(state.given.get(member, ())) - set(state.claims[member])
        if lost and new:
            return f"{member} loses {sorted(lost)[:3]} and gets {sorted(new)[:3]}"
    return None


@_promise
def kept_first(state: State) -> str | None:
    """With equal subscriptions a list has what is kept by number and topic, then what is new by
    topic and number."""
    if not state.equal or state.racks:
        return None
    for member, given in state.given.items():
        kept = [p for p in given if state.holders.get(p) == member]
        new = [p for p in given if state.holders.get(p) != member]
        kept.sort(key=lambda partition: (partition[1], utf16(partition[0])))
        new.sort(key=lambda partition: (utf16(partition[0]), partition[1]))
        if given != kept + new:
            return f"{member} gets {given} in this order"
    return None


@_promise
def no_exchange(state: State) -> str | None:
    """No two members hand each other partitions of one topic."""
    if state.racks:
        return None
    moved = set()
    for partition, holder in state.holders.items():
        for owner in state.owners.get(partition, ()):
            if owner != holder:
                moved.add((partition[0], holder, owner))
    for topic, one, other in moved:
        if (topic, other, one) in moved:
            return f"{one} and {other} exchange partitions of {topic}"
    return None


@_promise
def older_claims_lose(state: State) -> str | None:
    """A partition claimed in two generations goes to the older claim only from a full holder."""
    if state.racks:
        return None
    for partition, holder in state.holders.items():
        for owner in state.owners.get(partition, ()):
            if owner == holder or owner not in state.claimants.get(partition, ()):
                continue
            if set(state.given.get(holder, ())) - set(state.claims[holder]):
                return f"{partition} goes to the older claim of {owner}, and {holder} had room"
    return None


@_promise
def fixed_point(state: State) -> str | None:
    """Asked again with what it gave as claims, the strategy moves nothing."""
    settled = state.settled
    if settled is None or state.racks:
        return None
    again = state.solve(settled.after(settled.lists))
    for member, given in again.items():
        if sorted(map(tuple, given)) != sorted(map(tuple, settled.lists.get(member, []))):
            return f"{member} then has {given}"
    return None


# ---- the cooperative protocol ------------------------------------------------------------------


@_promise
def gives_up_first(state: State) -> str | None:
    """No partition is given to one member while another one still has it."""
    for partition, owners in state.owners.items():
        had = state.had.get(partition, owners)
        for owner in owners:
            if owner not in had:
                return f"{owner} gets {partition}, which {had} still have"
    return None


@_promise
def eager_less_held_back(state: State) -> str | None:
    """Every member gets what the eager strategy of the release gives it, less what must wait."""
    eager = "sticky" + state.document["strategy"].removeprefix("cooperative-sticky")
    if eager not in assignors.names():
        return None
    for member, given in _eager(state, eager).items():
        held_back = [pair for pair in given if pair not in state.lists.get(member, [])]
        if [pair for pair in given if pair not in held_back] != state.lists.get(member, []):
            return f"{member} gets {state.lists.get(member)}, the eager strategy gives {given}"
    return None


def _eager(state: State, name: str) -> Lists:
    """The eager answer: it takes the claim's generation from another field."""
    members = []
    for member in state.document["members"]:
        if "sub_generation" in member:
            member = {**member, "generation": member["sub_generation"]}
        members.append(member)
    return solve({**state.document, "strategy": name, "members": members})


@_promise
def settles(state: State) -> str | None:
    """After four more rounds at the most nobody has to give anything up."""
    return None if state.settled is not None else f"not settled after {MAX_ROUNDS} more rounds"


# ---- consistent hashing ------------------------------------------------------------------------


@_promise
def monotone(state: State) -> str | None:
    """Without one member, only that member's partitions change hands."""
    for leaver in list(state.members)[:3]:
        members = [m for m in state.document["members"] if m["id"] != leaver]
        if not members:
            return None
        after = State({**state.document, "members": members}, {}, state.solve)
        after.lists = state.solve(after.document)
        for partition, owners in state.owners.items():
            if leaver not in owners and after.owners.get(partition) != owners:
                return f"{leaver} leaves, and {partition} goes from {owners} elsewhere"
    return None


@_promise
def one_place_for_all_topics(state: State) -> str | None:
    """The partition of one name goes to the same consumer in all topics with the same consumers."""
    places: dict[tuple, list[str]] = {}
    for (topic, name), owners in state.owners.items():
        key = (name, tuple(state.subscribers.get(topic, ())))
        if places.setdefault(key, owners) != owners:
            return f"partition {name} goes to {places[key]} and to {owners}"
    return None


# ---- share groups ------------------------------------------------------------------------------


@_promise
def nobody_idle(state: State) -> str | None:
    """A member that subscribes to a topic with partitions shares some partition."""
    for id, member in state.members.items():
        if any(state.topics.get(t) for t in member["topics"]) and not state.given.get(id):
            return f"{id} gets nothing"
    return None


@_promise
def everything(state: State) -> str | None:
    """A member shares all partitions of the topics that it subscribes to."""
    for id, member in state.members.items():
        wanted = {(t, p) for t in member["topics"] for p in state.topics.get(t, ())}
        if set(state.given.get(id, ())) != wanted:
            return f"{id} does not have exactly all partitions of its topics"
    return None


# ---- who promises what -------------------------------------------------------------------------

EVERY = ("every_member", "existing", "subscribed", "once_each", "repeatable")
CONSTRAINED = ("fixed_point", "floor_and_ceiling", "no_better_move", "keeps_most",
               "keeps_before_it_receives", "no_exchange", "older_claims_lose")  # fmt: skip
BEFORE_3_0 = (
    "floor_and_ceiling",
    "no_better_move",
    "keeps_most",
    "keeps_before_it_receives",
    "older_claims_lose",
)
GENERAL = ("fixed_point", "floor_and_ceiling", "no_better_move", "no_exchange")
COOPERATIVE = ("gives_up_first", "settles")
BY_NAME: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("range", "range@2.0", "range@2.3", "range@2.4", "server-range"),
                    ("blocks", "even_topics", "cut_alike")),
    **dict.fromkeys(("roundrobin", "roundrobin@2.0"), ("circle", "floor_and_ceiling")),
    "sticky": (*CONSTRAINED, "kept_first"),
    "sticky@3.0": CONSTRAINED,
    "sticky@3.4": CONSTRAINED,
    "sticky@3.5": CONSTRAINED,
    "sticky@2.0": GENERAL,
    "sticky@2.3": GENERAL,
    "sticky@2.4": GENERAL,
    "sticky@2.5": BEFORE_3_0,
    "sticky@2.8": BEFORE_3_0,
    "cooperative-sticky": (*CONSTRAINED, "kept_first", "eager_less_held_back"),
    "cooperative-sticky@3.0": CONSTRAINED,
    "cooperative-sticky@3.4": (*CONSTRAINED, "eager_less_held_back"),
    "cooperative-sticky@3.5": (*CONSTRAINED, "eager_less_held_back"),
    "cooperative-sticky@2.4": GENERAL,
    "cooperative-sticky@2.5": BEFORE_3_0,
    "cooperative-sticky@2.8": BEFORE_3_0,
    "server-range@3.8": ("even_topics",),
    "server-uniform": ("fixed_point", "floor_and_ceiling", "keeps_most",
                       "keeps_before_it_receives"),
    "server-uniform@3.7": ("floor_and_ceiling",),
    "server-uniform@3.9": ("floor_and_ceiling",),
    "server-uniform@4.0.0": ("fixed_point", "floor_and_ceiling"),
    **dict.fromkeys(("server-simple", "server-simple@4.1"), ("nobody_idle",)),
    "server-simple@4.0": ("everything",),
    "scala-range": ("thread_blocks",),
    "scala-roundrobin": ("even_threads",),
    "metaq-default": ("blocks", "even_topics"),
    "metaq-consistent-hash": ("monotone", "one_place_for_all_topics"),
    "rocketmq-avg": ("complete_if_equal", "client_blocks"),
    "rocketmq-avg-by-circle": ("complete_if_equal", "round_the_clients"),
    "rocketmq-consistent-hash": ("complete_if_equal", "monotone"),
    "rocketmq-machine-room-nearby": ("complete_if_equal",),
}  # fmt: skip
"""What strategies promise beyond what follows from their facts; each version speaks for itself."""


def promises(strategy: Strategy) -> tuple[str, ...]:
    """The names of the promises that a strategy gives."""
    names = list(EVERY)
    if not strategy.shares:
        names.append("one_owner")
    if not strategy.leaves_out:
        names.append("complete")
    if strategy.protocol == "cooperative":
        names += COOPERATIVE
    return tuple(dict.fromkeys([*names, *BY_NAME.get(strategy.name, ())]))


def broken(state: State, names: Iterable[str] | None = None) -> list[Broken]:
    """The promises of its strategy that a state does not keep."""
    found = []
    for name in promises(state.strategy) if names is None else names:
        try:
            reason = CHECKS[name](state)
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
