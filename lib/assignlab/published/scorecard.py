"""The scorecard: what texts claim an assignor gives, what ours gives, what the original gives.

``published/data/examples.yaml`` holds the claims: a source, a group, a strategy, and the printed
lists or numbers; those of Kafka's own tests come from :mod:`assignlab.published.kafka_tests`.
``published/data/originals.jsonl`` holds the very group documents that were asked, with what the
original answered, so that the table needs no Java:

    assignlab proof scorecard --record    # ask the live originals anew

Where a group lives on (a member leaves, another joins), its members claim what the original gave
them before, in the order in which its own clients send it.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import yaml

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.errors import AssignlabError
from assignlab.group.document import Document
from assignlab.local.files import read_lines, write_lines
from assignlab.producers import hashes, kafka_built_in
from assignlab.proof import partitioner_histories as producer_histories
from assignlab.proof import partitioner_originals as producer_originals
from assignlab.proof.originals import Originals, OriginalsUnavailable, original_of
from assignlab.proof.verify import Answer, as_recorded, error_class
from assignlab.published import kafka_tests
from assignlab.published.measures import MEASURES, owners_in_words
from assignlab.published.notation import PUBLISHED, described, pair_of

EXAMPLES = PUBLISHED / "examples.yaml"
ORIGINALS = PUBLISHED / "originals.jsonl"

MATCH = "match"
BEYOND = "not reproducible"
VERDICTS = (MATCH, "stale text", "other version", "misprint", "doubtful", BEYOND)
"""``stale text``: it was true of an earlier release and is still printed. ``other version``: it
tells of another release than the one asked. ``misprint``: a slip of the pen. ``doubtful``: it was
never true of any release asked, as far as can be seen. ``not reproducible``: the claim is not about
a result of an assignor, or lacks what one would need."""

KINDS = (
    "documentation", "KIP", "issue", "measurement", "test suite", "article", "computed",
)  # fmt: skip
OWN_WORDS = ("hash", "weights")
"""Measures that no original is asked for: the text quoted is the original's own test or comment."""

COLUMNS = (
    "fixture", "case", "kind", "source", "about", "strategy", "measure", "claimed", "ours",
    "the jar's", "release", "verdict", "why",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """One claim of one text.

    ``case`` is its name, as in the recorded answers; ``before`` the case of the same group one
    rebalance earlier. ``group`` is the group as the text has it, ``rates`` what its partitions
    carry; ``of`` the members that the claim is about, where not all. ``stated``: the members'
    claims stand in the group, and those without one have none. A claim without a strategy cannot
    be checked here.
    """

    fixture: str
    case: str
    kind: str
    source: str
    about: str
    claimed: str
    verdict: str = MATCH
    why: str = ""
    strategy: str | None = None
    measure: str = ""
    group: Document | None = None
    rates: dict[str, list[int]] | None = None
    before: str | None = None
    of: tuple[str, ...] = ()
    stated: bool = False


# ---- reading the claims --------------------------------------------------------------------------


@cache
def examples() -> tuple[Example, ...]:
    """All claims, in the order of the file; rebalances of which a text prints nothing included."""
    found: list[Example] = []
    numbers: Counter = Counter()
    entries = yaml.safe_load(EXAMPLES.read_text(encoding="utf-8"))
    tests = entries.index({"include": "kafka_tests"})
    for entry in (*entries[:tests], *kafka_tests.entries(), *entries[tests + 1 :]):
        origin = {name: entry[name] for name in ("fixture", "kind", "source", "about")}
        if "beyond" in entry:
            case = _numbered(numbers, entry["fixture"])
            found.append(
                Example(**origin, case=case, claimed=str(entry["claimed"]), verdict=BEYOND,
                        why=entry["beyond"])
            )  # fmt: skip
            continue
        groups = entry.get("groups") or [entry.get("group")]
        for asked in entry["asked"]:
            case = _numbered(numbers, entry["fixture"])
            if groups == [None]:
                found.append(_sent(origin, asked, case))
            else:
                found += _history(origin, groups, asked, case, entry.get("stated", False))
    return tuple(found)


def _numbered(numbers: Counter, fixture: str) -> str:
    numbers[fixture] += 1
    return f"{fixture}/{numbers[fixture]}"


def _history(origin: dict, groups: list, asked: dict, case: str, stated: bool) -> Iterator[Example]:
    """One example per group; each group is the one before, after something happened to it."""
    single = len(groups) == 1
    before = None
    for i, group in enumerate(groups):
        claimed = asked["claimed"] if single else asked["claimed"][i]
        told = asked if single else asked.get(i, {})
        document = described(group)
        measure = asked.get("measure", "lists")
        of = tuple(asked.get("of", ()))
        name = case if single else f"{case}.{i}"
        yield Example(
            **origin,
            case=name,
            claimed="" if claimed is None else printed(measure, limited(document, of), claimed),
            verdict=told.get("verdict", MATCH),
            why=told.get("why", ""),
            strategy=asked["strategy"],
            measure=measure,
            group=document,
            rates=group.get("rates"),
            before=before,
            of=of,
            stated=stated,
        )
        before = name


def _sent(origin: dict, asked: dict, case: str) -> Example:
    """A claim about a producer: a hash, running sums of weights, or the partitions of some keys."""
    if "hash" in asked:
        strategy, measure, document = "murmur2", "hash", {"hash": asked["hash"]}
    elif "queues" in asked:
        strategy, measure, document = "built-in", "weights", {"queues": asked["queues"]}
    else:
        strategy, measure = asked["partitioner"], "partitions"
        document = sending(strategy, asked["keys"], asked["partitions"])
    return Example(
        **{**origin, "about": origin["about"].format_map(asked)},
        case=case,
        claimed=str(asked["claimed"]),
        verdict=asked.get("verdict", MATCH),
        why=asked.get("why", ""),
        strategy=strategy,
        measure=measure,
        group=document,
    )


def sending(partitioner: str, keys: list[str | None], partitions: int) -> Document:
    """A history of a producer, see ``proof/partitioner_histories.py``: each record in a new batch."""
    return {
        "partitioner": partitioner,
        "seed": "0",
        "topics": [{"name": "t", "partitions": partitions, "available": list(range(partitions))}],
        **({"batch_size": 16384} if partitioner == "built-in" else {}),
        "steps": [
            ["send", 0, None if key is None else key.encode().hex(), None, 1, 0, 0, 10]
            for key in keys
        ],
    }


def read_off(example: Example, document: Document, answer: Answer, before: Answer | None) -> str:
    """What an answer says about the claim, in the words of the claim."""
    if "error" in answer:
        return error_class(answer)
    return MEASURES[example.measure](limited(document, example.of), answer, before, example.rates)


def limited(document: Document, of: tuple[str, ...]) -> Document:
    """The document with these members only; with all where none are named."""
    if not of:
        return document
    return {**document, "members": [m for m in document["members"] if m["id"] in of]}


def printed(measure: str, document: Document, claimed: Any) -> str:
    """The claim as text; lists come in the order of the members, absent members own nothing."""
    if not isinstance(claimed, dict):
        return str(claimed)
    if measure == "transfers":
        return owners_in_words(claimed)
    unknown = claimed.keys() - {member["id"] for member in document["members"]}
    if unknown:
        raise ValueError(f"the claim names {sorted(unknown)}, who are not in the group")
    held = {m["id"]: claimed.get(m["id"], "").split() for m in document["members"]}
    if measure == "sets":
        held = {id: sorted(names, key=pair_of) for id, names in held.items()}
    return "; ".join(f"{id}: {' '.join(names) or '-'}" for id, names in held.items())


# ---- recorded answers ----------------------------------------------------------------------------


@cache
def recorded() -> dict[str, Document]:
    """Case -> the document that was asked, with ``release`` and ``expected``."""
    return {record["case"]: record for record in read_lines(ORIGINALS)}


def asked(record: Document) -> Document:
    """The group document of a record."""
    return {k: v for k, v in record.items() if k not in ("case", "release", "expected")}


def record(originals: Originals) -> Iterator[Document]:
    """Asks the originals about every claim, rebalance after rebalance.

    Hashes and weights are not asked: the test and the comment quoted are the original's own.
    Programs of other clients' producers are asked where they are installed.
    """
    answers: dict[str, Answer] = {}
    generation: dict[str, int] = {}
    for example in examples():
        if example.strategy is None or example.measure in OWN_WORDS:
            continue
        if example.measure == "partitions":
            answer = asked_producer(example.group)
            if answer is not None:
                yield {
                    "case": example.case,
                    "release": producer_originals.recorded_release(example.strategy),
                    **example.group,
                    "expected": answer,
                }
            continue
        generation[example.case] = generation.get(example.before, 0) + 1
        document = {"strategy": example.strategy, **example.group}
        if example.before and not example.stated:
            document = claiming(document, answers[example.before], generation[example.before])
        send = document
        strategy = assignors.strategies().get(example.strategy)
        if strategy and "owned" in strategy.member_fields:
            send = {**document, "next_generation": generation[example.case]}
        answer = answers[example.case] = originals.ask(send)
        yield {
            "case": example.case,
            "release": original_of(example.strategy)[1],
            **document,
            "expected": as_recorded(answer),
        }


def asked_producer(document: Document) -> Answer | None:
    """What the original partitioner answers; None where it cannot be run here."""
    try:
        with producer_originals.original(document["partitioner"]) as ask:
            [answer] = ask([document])
    except OriginalsUnavailable:
        return None
    return {"partitions": answer["partitions"]}


def claiming(document: Document, before: Answer, generation: int) -> Document:
    """The document with the claims of those who were there before, where it has none of its own."""
    fields = assignors.get(document["strategy"]).member_fields
    names = [name for name in ("generation", "sub_generation") if name in fields]
    members = []
    for member in document["members"]:
        owned = before.get("next_owned", {}).get(member["id"])
        if "owned" in fields and owned is not None and "owned" not in member:
            member = {**member, "owned": owned, **dict.fromkeys(names, generation)}
        members.append(member)
    return {**document, "members": members}


# ---- the table -----------------------------------------------------------------------------------


def ours(document: Document) -> Answer | None:
    """Our answer; None where the strategy is not in the collection."""
    if "hash" in document:
        return {"hash": int(hashes.murmur2(hashes.keys([document["hash"]]))[0])}
    if "queues" in document:
        queues = np.array(document["queues"])
        return {"weights": kafka_built_in.load_table(queues, queues.size).tolist()}
    if "partitioner" in document:
        return producer_histories.our_answer(document)
    if document["strategy"] not in assignors.names():
        return None
    return answer(document)


def table() -> pd.DataFrame:
    """One row per claim: claimed, ours, the jar's (as recorded), verdict and why.

    Raises :class:`WrongVerdict` where the verdict that is written beside a claim is not what the
    answers say.
    """
    rows = []
    own: dict[str, Answer | None] = {}
    for example in examples():
        mine = theirs = release = ""
        if example.strategy is not None:
            record = recorded().get(example.case)
            document = asked(record) if record else example.group
            own[example.case] = ours(document)
            if record:
                before = recorded()[example.before]["expected"] if example.before else None
                theirs = read_off(example, document, record["expected"], before)
                release = record["release"]
            if own[example.case] is not None:
                was = own[example.before] if example.before else None
                mine = read_off(example, document, own[example.case], was)
            if not example.claimed:
                continue
            given = theirs or mine
            if (given == example.claimed) != (example.verdict == MATCH):
                raise WrongVerdict(example, given)
        rows.append((
            example.fixture, example.case, example.kind, example.source, example.about,
            example.strategy or "", example.measure, example.claimed, mine, theirs, release,
            example.verdict, example.why,
        ))  # fmt: skip
    return pd.DataFrame(rows, columns=COLUMNS)


class WrongVerdict(AssignlabError):
    """The verdict that the file gives a claim is not the one that the answers give."""

    def __init__(self, example: Example, given: str):
        super().__init__(
            f"{example.case} ({example.source}): marked {example.verdict!r}, but claimed is "
            f"{example.claimed!r} and given is {given!r}"
        )


def recheck(originals: Originals, cases: Iterable[str] | None = None) -> list[str]:
    """Those of the cases (all unless given) whose live answer is not the recorded one."""
    changed = []
    for case in recorded() if cases is None else cases:
        record = recorded()[case]
        if "partitioner" in record:
            answer = asked_producer(asked(record)) or record["expected"]
        else:
            answer = originals.ask(asked(record))
        if as_recorded(answer, record["expected"]) != record["expected"]:
            changed.append(case)
    return changed


def true_of(rows: pd.DataFrame, among: pd.DataFrame) -> list[str]:
    """For each row: who of those that were asked about the same text gives what it prints.

    >>> everything = table()
    >>> true_of(everything[everything["case"] == "F-05/2.1"], everything)
    ['sticky 2.0.1']
    """
    held = among[among["verdict"] == MATCH].assign(
        who=lambda of: of["strategy"].str.partition("@")[0] + " " + of["release"]
    )
    text = [name for name in ("source", "about", "claimed", "printed") if name in among]
    givers = held.groupby(text)["who"].agg(lambda who: ", ".join(dict.fromkeys(who)))
    return [givers.get(of, "") for of in rows[text].itertuples(index=False, name=None)]


def counts(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows by kind of source and verdict: int[kinds, verdicts]."""
    return pd.crosstab(frame["kind"], frame["verdict"]).reindex(
        index=[kind for kind in KINDS if kind in set(frame["kind"])],
        columns=list(VERDICTS),
        fill_value=0,
    )


def live() -> str:
    """Asks all originals again and says in a sentence what came of it; about a minute."""
    try:
        with Originals() as originals:
            changed = recheck(originals)
    except OriginalsUnavailable as why:
        return f"The originals could not be asked here: {why}."
    told = "none has changed" if not changed else f"changed: {', '.join(changed)}"
    return f"All {len(recorded())} recorded answers were asked for again: {told}."


def main(anew: bool) -> int:
    """Record the originals' answers, or check that they still are what is recorded: else 1."""
    with Originals() as originals:
        if anew:
            print(f"{write_lines(ORIGINALS, record(originals))} answers recorded")
            return 0
        changed = recheck(originals)
        print(f"{len(recorded())} answers asked again, {len(changed)} changed: {changed}")
        return int(bool(changed))
