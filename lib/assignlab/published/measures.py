"""What printed texts claim of an assignment, measured on ours."""

from collections import Counter
from collections.abc import Callable

from assignlab.group.document import Document
from assignlab.proof.verify import Answer
from assignlab.published.notation import lists, short


def sets(document: Document, answer: Answer, *_) -> str:
    """Every member's partitions, sorted."""
    held = {id: sorted(pairs) for id, pairs in answer["assignment"].items()}
    return lists(document, {"assignment": held})


def threads(document: Document, answer: Answer, *_) -> str:
    """Partition by partition the consumer thread that owns it."""
    pairs = sorted(pair for held in answer["assignment"].values() for pair in held)
    return " ".join(f"{short(pair)} {pair[2]}" for pair in pairs)


def _sizes(document: Document, answer: Answer) -> list[int]:
    return [len(answer["assignment"][member["id"]]) for member in document["members"]]


def sizes(document: Document, answer: Answer, *_) -> str:
    """Partitions per member."""
    return "/".join(map(str, _sizes(document, answer)))


def shares(document: Document, answer: Answer, *_) -> str:
    """Partitions per member, largest first: where the text does not say which member is which."""
    return "/".join(map(str, sorted(_sizes(document, answer), reverse=True)))


def spread(document: Document, answer: Answer, *_) -> str:
    """The largest and the smallest share."""
    held = _sizes(document, answer)
    return f"{max(held)}/{min(held)}"


def gap(document: Document, answer: Answer, *_) -> str:
    """The largest share minus the smallest."""
    held = _sizes(document, answer)
    return str(max(held) - min(held))


def idle(document: Document, answer: Answer, *_) -> str:
    """Members without a partition."""
    return str(_sizes(document, answer).count(0))


def order(document: Document, answer: Answer, *_) -> str:
    """The partition numbers in the order of the members."""
    members = [member["id"] for member in document["members"]]
    return " ".join(str(pair[1]) for id in members for pair in answer["assignment"][id])


def _owners(answer: Answer | None) -> dict[tuple, str]:
    held = answer["assignment"] if answer else {}
    return {(pair[0], pair[1]): id for id, pairs in held.items() for pair in pairs}


def moved(document: Document, answer: Answer, before: Answer | None, *_) -> str:
    """Partitions that somebody else owned before."""
    was = _owners(before)
    return str(sum(was.get(pair, id) != id for pair, id in _owners(answer).items()))


def kept(document: Document, answer: Answer, before: Answer | None, *_) -> str:
    """Partitions that stay with their owner."""
    was = _owners(before)
    return str(sum(was.get(pair) == id for pair, id in _owners(answer).items()))


def taken(document: Document, answer: Answer, *_) -> str:
    """Partitions that a member claims and another one gets."""
    owners = _owners(answer)
    claims = [(m["id"], tuple(pair)) for m in document["members"] for pair in m.get("owned", [])]
    return str(sum(owners.get(pair, id) != id for id, pair in claims))


def transfers(document: Document, answer: Answer, *_) -> str:
    """Every partition that somebody else claims than the member that gets it, and that member."""
    claims: dict[tuple, set[str]] = {}
    for member in document["members"]:
        for pair in member.get("owned", []):
            claims.setdefault(tuple(pair), set()).add(member["id"])
    moved = {
        short(pair): owner
        for pair, owner in sorted(_owners(answer).items())
        if claims.get(pair, set()) - {owner}
    }
    return owners_in_words(moved)


def owners_in_words(owners: dict[str, str]) -> str:
    """Partitions and the members that get them."""
    return "; ".join(f"{partition}: {member}" for partition, member in owners.items())


def withheld(document: Document, answer: Answer, *_) -> str:
    """Partitions that nobody gets in this round of a cooperative rebalance."""
    there = sum(topic["partitions"] for topic in document["topics"])
    return str(there - len(_owners(answer)))


def twice(document: Document, answer: Answer, *_) -> str:
    """Partitions with more than one owner."""
    count = Counter((t, p) for pairs in answer["assignment"].values() for t, p, *_ in pairs)
    return str(sum(owners > 1 for owners in count.values()))


def _per_topic(document: Document, answer: Answer) -> list[Counter]:
    return [Counter(p[0] for p in answer["assignment"][m["id"]]) for m in document["members"]]


def topic_gap(document: Document, answer: Answer, *_) -> str:
    """The largest share minus the smallest within a topic, of the worst topic; all subscribe."""
    counts = _per_topic(document, answer)
    gaps = [max(c[t["name"]] for c in counts) - min(c[t["name"]] for c in counts)
            for t in document["topics"]]  # fmt: skip
    return str(max(gaps))


def by_topic(document: Document, answer: Answer, *_) -> str:
    """Partitions by topic, member by member, whoever the member is."""
    counts = _per_topic(document, answer)
    return " | ".join(sorted(" ".join(f"{t} {n}" for t, n in sorted(c.items())) for c in counts))


def load(document: Document, answer: Answer, _, rates: dict[str, list[int]]) -> str:
    """What the partitions of each member carry together."""
    return "/".join(
        str(sum(rates[topic][partition] for topic, partition in answer["assignment"][member["id"]]))
        for member in document["members"]
    )


def ties(document: Document, answer: Answer, *_) -> str:
    """Whether the original says that equal hash codes leave the order open."""
    return "yes" if answer.get("hash_ties") else "no"


def partitions(document: Document, answer: Answer, *_) -> str:
    """The partition of every record that a producer sends."""
    return " ".join(map(str, answer["partitions"]))


MEASURES: dict[str, Callable[..., str]] = {
    **{
        measure.__name__.replace("_", " "): measure
        for measure in (
            lists, sets, threads, sizes, shares, spread, gap, idle, order, moved, kept, taken,
            transfers, withheld, twice, topic_gap, by_topic, load, ties, partitions,
        )
    },
    "hash": lambda document, answer, *_: str(answer["hash"]),
    "weights": lambda document, answer, *_: " ".join(map(str, answer["weights"])),
}  # fmt: skip
"""Name in the file -> function of (document, answer, answer before, rates)."""
