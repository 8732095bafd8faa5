"""Assignors of one name in different clients: the originals compared with Java's of that name.

    assignlab proof clients [--histories 40] [--seed 1] [range sticky ...]

Two comparisons, over the same random histories of groups (:mod:`assignlab.proof.histories`):

- *On the same states.* Java's assignor lives through the histories; every client is then asked for
  the very states that Java met, claims included. How many answers are Java's, as ordered lists and
  as sets of partitions per member?
- *Each on its own history.* The same events happen to every client's group, and its own answers
  become its next claims. How many partitions does a rebalance take away from members that could
  have kept them, and how far apart are the sizes?

Some clients do not give one answer to one question. Each is asked several times, and the share of
states with several answers is told.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, takewhile

from assignlab.group.document import Document
from assignlab.proof.histories import Answer, answered_history
from assignlab.proof.originals import SYSTEMS, Originals, OriginalsUnavailable, original_of
from assignlab.proof.state import State
from assignlab.proof.versions import as_lists, as_sets

KINDS = ("range", "roundrobin", "sticky", "cooperative-sticky")
ASKED = 4
MOST_PARTITIONS = 300
"""Histories with larger groups are left out: some originals take minutes for them."""


@dataclass(frozen=True)
class Row:
    """One client's assignor beside Java's, over states with equal or with different subscriptions.

    ``states``: compared; ``lists``, ``sets``: equal to Java's answer; ``threw``: errors;
    ``several``: states with several answers. On its own history: ``steps`` rebalances without an
    error, ``moves`` and ``gap`` summed over them; ``unread``: partitions of subscribed topics left
    without an owner; ``astray``: partitions given to members that do not subscribe to them, or that
    do not exist.
    """

    strategy: str
    equal: bool
    states: int
    lists: int
    sets: int
    threw: int
    several: int
    steps: int
    moves: int
    gap: int
    unread: int
    astray: int


def others(kind: str) -> list[str]:
    """The assignors of that name in clients that are not Java, by client."""
    return [
        name
        for system in SYSTEMS
        if system.bridged
        for name in system.strategies
        if name == f"{system.module}-{kind}"
    ]


def compare(kind: str, histories: int, seed: int, originals: Originals) -> Iterator[Row]:
    """Two rows per client, for equal and for different subscriptions; Java's own come first.

    A client whose original cannot be run here has no rows.
    """
    played = [own_history(kind, kind, seed, number, originals) for number in range(histories)]
    lived = {number: steps for number, steps in enumerate(played) if not any(map(is_large, steps))}
    for name in (kind, *others(kind)):
        try:
            own = [step for n in lived for step in own_history(name, kind, seed, n, originals)]
            asked = [
                (document, java, [plainly_asked(name, originals, document) for _ in range(ASKED)])
                for document, java in chain.from_iterable(lived.values())
            ]
        except OriginalsUnavailable:
            continue
        for equal in (True, False):
            yield row(
                name,
                equal,
                [entry for entry in asked if subscriptions_equal(entry[0]) == equal],
                [entry for entry in own if subscriptions_equal(entry[0]) == equal],
            )


def is_large(step: tuple[Document, Answer]) -> bool:
    """Whether a group has more partitions than are asked for."""
    return sum(topic["partitions"] for topic in step[0]["topics"]) > MOST_PARTITIONS


def own_history(
    name: str, kind: str, seed: int, number: int, originals: Originals
) -> list[tuple[Document, Answer]]:
    """The states and answers of one history whose events are those of Java's ``kind``.

    Claims that no healthy group sends are left out, with all that follows them.
    """
    steps = answered_history(kind, seed, number, partial(plainly_asked, name, originals))
    healthy = takewhile(lambda step: step[0] != "arbitrary claims", steps)
    return [(document, answer) for _, document, answer in healthy]


def plainly_asked(name: str, originals: Originals, document: Document) -> Answer:
    """What another assignor says of the same group, made plain: no racks, all names ASCII.

    Most clients do not know racks, and not all sort other characters alike.
    """
    topics = [{"name": t["name"], "partitions": t["partitions"]} for t in document["topics"]]
    members = [
        {
            field: ascii(value) if field in ("id", "instance") else value
            for field, value in member.items()
            if field != "rack"
        }
        for member in document["members"]
    ]
    ids = {ascii(member["id"]): member["id"] for member in document["members"]}
    answer = originals.ask({**document, "strategy": name, "topics": topics, "members": members})
    return {
        field: value
        if field == "error"
        else {ids[plain]: partitions for plain, partitions in value.items()}
        for field, value in answer.items()
    }


def row(name: str, equal: bool, asked, own) -> Row:
    """Count: ``asked`` has (document, Java's answer, answers), ``own`` (document, answer)."""
    healthy = [
        State(document, answer["assignment"]) for document, answer in own if "error" not in answer
    ]
    return Row(
        name,
        equal,
        len(asked),
        sum(as_lists(said[0]) == as_lists(java) for _, java, said in asked),
        sum(as_sets(said[0]) == as_sets(java) for _, java, said in asked),
        sum("error" in said[0] for _, _, said in asked),
        sum(any(as_lists(one) != as_lists(said[0]) for one in said) for _, _, said in asked),
        len(healthy),
        sum(map(moves, healthy)),
        sum(map(gap, healthy)),
        sum(map(unread, healthy)),
        sum(map(astray, healthy)),
    )


def subscriptions_equal(document: Document) -> bool:
    return len({frozenset(member["topics"]) for member in document["members"]}) == 1


def moves(state: State) -> int:
    """Partitions that a member claims alone, could keep, and does not get.

    >>> moves(State({"strategy": "sticky", "topics": [{"name": "t", "partitions": 2}], "members": [
    ...     {"id": "a", "topics": ["t"], "owned": [["t", 0], ["t", 1], ["t", 7]]},
    ...     {"id": "b", "topics": ["t"]}]}, {"a": [["t", 0]], "b": [["t", 1]]}))
    1
    """
    times = Counter(chain.from_iterable(state.claims.values()))
    return sum(
        times[partition] == 1 and partition not in state.given[member]
        for member, claimed in state.claims.items()
        for partition in claimed
    )


def gap(state: State) -> int:
    """Partitions of the member with the most less those of the member with the fewest."""
    sizes = [len(given) for given in state.given.values()]
    return max(sizes) - min(sizes)


def unread(state: State) -> int:
    """Partitions of subscribed topics that nobody is given.

    >>> unread(State({"strategy": "sticky", "topics": [{"name": "t", "partitions": 2},
    ...     {"name": "u", "partitions": 1}], "members": [{"id": "a", "topics": ["t"]}]},
    ...     {"a": [["t", 1]]}))
    1
    """
    return len(set(state.wanted) - state.owners.keys())


def astray(state: State) -> int:
    """Partitions that do not exist, or whose topic their member does not subscribe to.

    >>> astray(State({"strategy": "sticky", "topics": [{"name": "t", "partitions": 2}],
    ...     "members": [{"id": "a", "topics": ["t"]}]}, {"a": [["t", 2], ["t", 1]]}))
    1
    """
    return sum(
        topic not in state.members[member]["topics"] or name not in state.topics.get(topic, ())
        for member, given in state.given.items()
        for topic, name in given
    )


HEAD = """\
| assignor | release | subscriptions | states | lists as Java | sets as Java | threw \
| several answers | moves a step | mean gap | unread a step | astray a step |
| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"""


def line(found: Row) -> str:

    def share(count: int) -> str:
        return f"{100 * count / found.states:.1f} %" if found.states else "-"

    def mean(total: int) -> str:
        return f"{total / found.steps:.2f}" if found.steps else "-"

    sticky = found.strategy.endswith("sticky")
    cells = (
        found.strategy, original_of(found.strategy)[1], "equal" if found.equal else "different",
        str(found.states), *map(share, (found.lists, found.sets, found.threw, found.several)),
        mean(found.moves) if sticky else "", *map(mean, (found.gap, found.unread, found.astray)),
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main(kinds: Iterable[str], histories: int, seed: int) -> None:
    """Print the table as Markdown."""
    print(HEAD)
    with Originals() as originals:
        for kind in kinds:
            for found in compare(kind, histories, seed, originals):
                print(line(found), flush=True)
