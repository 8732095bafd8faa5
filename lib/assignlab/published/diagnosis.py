"""Which faults an answer shows, and what a correct one would be."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator

from assignlab.group.document import Document
from assignlab.proof import promises
from assignlab.proof.state import Partition, State
from assignlab.proof.verify import Answer, error_class

MOST_ANSWERS = 100_000

FAULTS = (
    "no such partition", "not subscribed", "owned twice", "no owner", "older claim wins",
    "given too early", "withheld", "needless move", "uneven", "topic on one", "starving",
    "moves too many",
)  # fmt: skip


def faults(document: Document, answer: Answer) -> list[str]:
    """What is wrong with an answer, in the order of the list; nothing for a sound one.

    - the class of the exception, alone, where there is one (``NeverEnds`` if there is no answer);
    - ``no such partition``, ``not subscribed``: an owner of what does not exist, of what it did not
      ask for;
    - ``owned twice``: a partition stands in two lists, or twice in one;
    - ``no owner``: of a partition that somebody subscribes to, unless a cooperative assignor
      leaves it out until a member gives it up;
    - ``older claim wins``: a claimant gets what another one claims with a newer generation;
    - ``given too early``: a member of a cooperative group gets what another one still holds;
    - ``withheld``: a cooperative assignor takes a partition from its owner for nobody's good;
    - ``needless move``: the claims are a sound answer already, and something moves;
    - ``uneven``: a member has at least two more than another that could take one of them, and no
      cooperative assignor has yet to hand out what is left out;
    - ``topic on one``: the same within one topic, all members having the same subscription;
    - ``starving``: a member has nothing, and there is an answer that leaves nobody without;
    - ``moves too many``: an equally even answer leaves more partitions where they rightfully are.

    >>> group = {"strategy": "range", "topics": [{"name": "t", "partitions": 2}],
    ...          "members": [{"id": "a", "topics": ["t"]}, {"id": "b", "topics": []}]}
    >>> faults(group, {"assignment": {"a": [["t", 0]], "b": [["t", 0]]}})
    ['not subscribed', 'owned twice', 'no owner']
    """
    if "error" in answer:
        return [error_class(answer)]
    state = State(document, answer["assignment"])
    found = broken(state) | (set() if awaits(state) else uneven(state))
    if state.strategy.sticky and not state.strategy.shares:
        found |= against_claims(state)
        if not found and state.strategy.protocol == "eager":
            found |= {"starving"} if starving(state) else set()
            found |= {"moves too many"} if moves_too_many(state) else set()
    return [fault for fault in FAULTS if fault in found]


PROMISED = {
    "no such partition": ("existing",),
    "not subscribed": ("subscribed",),
    "owned twice": ("once_each", "one_owner"),
    "no owner": ("complete",),
}
"""Faults that make an answer wrong whatever was before -> the promises broken."""


def broken(state: State) -> set[str]:
    """Faults that make an answer wrong whatever was before."""
    return {fault for fault, promised in PROMISED.items() if promises.broken(state, promised)}


def awaits(state: State) -> bool:
    """Whether a cooperative assignor leaves out what somebody has to give up first."""
    return (
        state.strategy.protocol == "cooperative" and not state.holders.keys() <= state.owners.keys()
    )


def uneven(state: State) -> set[str]:
    """Whether a single move would make shares more even, over all or within a topic."""
    subscribed = {id: member["topics"] for id, member in state.members.items()}
    improvable = any(
        len(mine) > len(state.given[other]) + 1 and any(t in subscribed[other] for t, _ in mine)
        for mine in state.given.values()
        for other in state.given
    )
    alike = len(set(map(frozenset, subscribed.values()))) == 1
    clustered = alike and any(gap(state.given, topic) > 1 for topic in state.topics)
    found = {"uneven": improvable, "topic on one": clustered}
    return {fault for fault, there in found.items() if there}


def against_claims(state: State) -> set[str]:
    """Faults that are seen beside what the members claim."""
    cooperative = state.strategy.protocol == "cooperative"
    lost = {pair: id for pair, id in state.holders.items() if pair not in state.given[id]}
    found = set()
    if any(owner in state.had[pair] for pair in lost for owner in state.owners.get(pair, ())):
        found.add("older claim wins")
    if cooperative and any(pair in state.owners for pair in lost):
        found.add("given too early")
    if cooperative and any(
        all(len(state.given[id]) <= len(given) for given in state.given.values())
        for pair, id in lost.items()
        if pair not in state.owners
    ):
        found.add("withheld")
    claims = {id: member.get("owned") or [] for id, member in state.members.items()}
    before = State(state.document, claims)
    if lost and not broken(before) and "uneven" not in uneven(before):
        found.add("needless move")
    return found


def starving(state: State) -> bool:
    """Whether a member has nothing, and everybody could have something: a matching says so."""
    readers = {
        id: [pair for pair in state.owners if pair[0] in member["topics"]]
        for id, member in state.members.items()
    }
    matched: dict[Partition, str] = {}

    def finds_one(id: str, tried: set[Partition]) -> bool:
        for pair in readers[id]:
            if pair not in tried:
                tried.add(pair)
                if pair not in matched or finds_one(matched[pair], tried):
                    matched[pair] = id
                    return True
        return False

    hungry = any(readers[id] and not given for id, given in state.given.items())
    return hungry and all(finds_one(id, set()) for id, pairs in readers.items() if pairs)


def moves_too_many(state: State) -> bool:
    """Whether the correct answer is as even and moves less; False where it cannot be found."""
    try:
        best = State(state.document, correct(state.document)["assignment"])
    except ValueError:
        return False

    def squares_and_moves(given: State) -> tuple[int, int]:
        moved = sum(pair not in given.given[id] for pair, id in given.holders.items())
        return sum(len(pairs) ** 2 for pairs in given.given.values()), moved

    (even, moved), (best_even, fewest) = squares_and_moves(state), squares_and_moves(best)
    return even == best_even and moved > fewest


def gap(held: dict[str, list], topic: str) -> int:
    """Partitions of one topic: the most that a member has minus the least."""
    counts = [sum(t == topic for t, _ in pairs) for pairs in held.values()]
    return max(counts) - min(counts)


def existing(document: Document) -> set[Partition]:
    """The partitions of the cluster."""
    topics = State(document, {}).topics
    return {(topic, name) for topic, names in topics.items() for name in names}


def existing_claims(document: Document) -> bool:
    """All claims name partitions that exist."""
    state = State(document, {})
    return all(name in state.topics.get(topic, ()) for _, (topic, name) in state.claimed)


def dated_claims(document: Document) -> bool:
    """Members that claim say their generation, as clients before 3.4: in the user data."""
    return all("generation" in member for member in document["members"] if "owned" in member)


def current_claims(document: Document) -> bool:
    """Members that claim say their generation as clients since 3.4: in the subscription too."""
    both = all(("generation" in m) == ("sub_generation" in m) for m in document["members"])
    return both and dated_claims(document)


KEEPS: dict[str, Callable[[Document], bool]] = {
    "existing": existing_claims,
    "dated": dated_claims,
    "current": current_claims,
    "subscribing": lambda document: all(member["topics"] for member in document["members"]),
    "known": lambda document: (
        {t for m in document["members"] for t in m["topics"]}
        <= {topic for topic, _ in existing(document)}
    ),
    "alike": lambda document: len({frozenset(m["topics"]) for m in document["members"]}) == 1,
    "complete": lambda document: set(State(document, {}).holders) == existing(document),
    "living": lambda document: bool(document["members"]),
}
"""What a smaller group has to keep to count: groups that real clients could send."""


# ---- the correct answer --------------------------------------------------------------------------


def correct(document: Document) -> Answer:
    """The best answer, found by trying all: complete and valid; then as even as can be; then with
    the most partitions left where they rightfully are; then with every topic spread; then the
    first in order. A cooperative assignor leaves out what another member must give up first.

    Raises ValueError where there are more than ``MOST_ANSWERS`` to try.
    """
    state = State(document, {})
    partitions, holders = sorted(state.wanted), state.holders
    alike: dict[tuple, list[int]] = {}
    for i, pair in enumerate(partitions):
        alike.setdefault((pair[0], holders.get(pair)), []).append(i)
    # Which of the partitions that are alike goes to whom makes no difference, but for the order.
    choices = [
        itertools.combinations_with_replacement(state.subscribers[topic], len(places))
        for (topic, _), places in alike.items()
    ]
    order = list(itertools.chain.from_iterable(alike.values()))
    index = {id: m for m, id in enumerate(state.members)}

    def answers() -> Iterator[tuple[str, ...]]:
        owners = [""] * len(partitions)
        for number, picked in enumerate(itertools.product(*choices)):
            if number == MOST_ANSWERS:
                raise ValueError("a group too large to try all answers")
            for place, id in zip(order, itertools.chain.from_iterable(picked), strict=True):
                owners[place] = id
            yield tuple(owners)

    def cost(owners: tuple[str, ...]) -> tuple:
        sizes = Counter(owners)
        per_topic = Counter((id, t) for id, (t, _) in zip(owners, partitions, strict=True))
        moved = sum(
            holders.get(pair, id) != id for id, pair in zip(owners, partitions, strict=True)
        )
        return (
            sum(size * size for size in sizes.values()),
            moved,
            sum(size * size for size in per_topic.values()),
            [index[id] for id in owners],
        )

    best = min(answers(), key=cost)
    held: dict[str, list] = {id: [] for id in state.members}
    cooperative = state.strategy.protocol == "cooperative"
    for id, (topic, partition) in zip(best, partitions, strict=True):
        if cooperative and holders.get((topic, partition), id) != id:
            continue
        named = partition if isinstance(partition, tuple) else (partition,)
        held[id].append([topic, *named])
    return {"assignment": held}
