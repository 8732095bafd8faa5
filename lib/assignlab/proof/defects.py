"""Planted defects: what a broken assignor might answer, to see who notices.

A defect is a pure function of a group document and of the right answer, or it asks for the right
answer to another question (a group without claims, without static ids, in another order). Where it
has no place in a group it gives None. The same defects are put before our promises
(:mod:`assignlab.proof.promises`), before the checker that several clients share, and before Kafka's
own tests (:mod:`assignlab.proof.judge`): ``assignlab proof defects NAME`` answers like
``assignlab assign``, with the defect wherever it has a place.
"""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.assignors.answer import solve as our_solve
from assignlab.errors import OriginalError, refuse_unknown
from assignlab.group.document import Document
from assignlab.proof.smaller import without
from assignlab.proof.state import Lists, Solve


@dataclass(frozen=True)
class Defect:
    """``apply(document, lists, solve)``: the flawed lists, or None where it has no place."""

    meaning: str
    apply: Callable[[Document, Lists, Solve], Lists | None]


DEFECTS: dict[str, Defect] = {}


def _in_answer(function: Callable[[Document, Lists], None]):
    """A defect of the answer: ``function`` changes the copy of the lists that it is given."""

    def apply(document: Document, lists: Lists, solve: Solve) -> Lists | None:
        flawed = {member: [list(pair) for pair in given] for member, given in lists.items()}
        function(document, flawed)
        return None if flawed == lists else flawed

    return _named(function, apply)


def _in_question(function: Callable[[Document], Document]):
    """A defect of what the assignor takes notice of: the right answer to another question."""

    def apply(document: Document, lists: Lists, solve: Solve) -> Lists | None:
        try:
            flawed = solve(function(document))
        except OriginalError:
            return None
        return None if flawed == lists else flawed

    return _named(function, apply)


def _named(function, apply):
    meaning = function.__doc__.strip().rstrip(".")
    DEFECTS[function.__name__.replace("_", "-")] = Defect(meaning, apply)
    return function


# ---- what a group document says ----------------------------------------------------------------


def _topics(document: Document) -> dict[str, list[str]]:
    return {member["id"]: member["topics"] for member in document["members"]}


def _claims(document: Document) -> dict[str, list[list]]:
    return {member["id"]: member.get("owned") or [] for member in document["members"]}


def _generation(member: Document) -> int:
    return member.get("sub_generation", member.get("generation", -1))


def _each_member(document: Document, change: Callable[[Document], Document]) -> Document:
    return {**document, "members": [change(member) for member in document["members"]]}


def _given(lists: Lists) -> list[tuple[str, list]]:
    return [(member, pair) for member, given in lists.items() for pair in given]


def _fullest(lists: Lists) -> str:
    return max(lists, key=lambda member: len(lists[member]))


# ---- invalid answers ---------------------------------------------------------------------------


@_in_answer
def partition_lost(document, lists):
    """One partition of the fullest member is given to nobody."""
    del lists[_fullest(lists)][-1:]


@_in_answer
def half_lost(document, lists):
    """Every second partition is given to nobody."""
    for given in lists.values():
        del given[1::2]


@_in_answer
def nothing_assigned(document, lists):
    """Nobody gets anything."""
    for given in lists.values():
        given.clear()


@_in_answer
def partition_shared(document, lists):
    """A partition goes to a second subscriber too."""
    subscribed = _topics(document)
    for member, pair in _given(lists):
        for other in lists:
            if other != member and pair[0] in subscribed[other] and pair not in lists[other]:
                lists[other].append(pair)
                return


@_in_answer
def partition_twice(document, lists):
    """A member gets one of its partitions twice."""
    member = _fullest(lists)
    lists[member] += lists[member][:1]


@_in_answer
def beyond_the_end(document, lists):
    """A member gets a partition number that its topic does not have."""
    for _, pair in _given(lists):
        for i, part in enumerate(pair):
            if isinstance(part, int):
                pair[i] = part + 999
                return


@_in_answer
def invented_topic(document, lists):
    """A member gets a partition of a topic that does not exist."""
    for _, pair in _given(lists):
        pair[0] = "no-such-topic"
        return


@_in_answer
def unsubscribed_owner(document, lists):
    """A partition goes to a member that does not subscribe to its topic, instead of its owner."""
    subscribed = _topics(document)
    for member, pair in _given(lists):
        for other in lists:
            if pair[0] not in subscribed[other]:
                lists[member].remove(pair)
                lists[other].append(pair)
                return


@_in_answer
def member_missing(document, lists):
    """A member that got nothing is not in the answer."""
    for member, given in lists.items():
        if not given:
            del lists[member]
            return


@_in_answer
def stranger(document, lists):
    """Somebody is in the answer who is not in the group."""
    lists["no-such-member"] = []


# ---- imbalance ---------------------------------------------------------------------------------


@_in_answer
def one_too_many(document, lists):
    """The emptiest member gives one of its partitions to the fullest that subscribes to it."""
    subscribed = _topics(document)
    for poor in sorted(lists, key=lambda member: len(lists[member])):
        for pair in lists[poor]:
            rich = [m for m in lists if m != poor and pair[0] in subscribed[m]]
            if rich:
                most = max(rich, key=lambda member: len(lists[member]))
                if len(lists[most]) >= len(lists[poor]):
                    lists[poor].remove(pair)
                    lists[most].append(pair)
                    return


@_in_answer
def starved(document, lists):
    """A member that could share a topic gets nothing: another one takes all it had."""
    subscribed = _topics(document)
    for member, given in lists.items():
        for other in lists:
            if other != member and given and all(pair[0] in subscribed[other] for pair in given):
                lists[other] += given
                lists[member] = []
                return


@_in_answer
def newcomer_ignored(document, lists):
    """A member without a claim gets nothing; what it should get stays where it was."""
    owner = {tuple(pair): member for member, owned in _claims(document).items() for pair in owned}
    subscribed = _topics(document)
    for member, given in lists.items():
        others = [owner.get(tuple(pair)) for pair in given]
        if any(other not in (None, member) for other in others):
            for pair, other in list(zip(given, others, strict=True)):
                if other not in (None, member) and pair[0] in subscribed[other]:
                    given.remove(pair)
                    lists[other].append(pair)
            return


@_in_question
def every_topic_starts_anew(document):
    """The topics are dealt one at a time, each from the first member on."""
    return {**document, "one at a time": True}


@_in_answer
def extra_to_the_last(document, lists):
    """Members that subscribe alike swap their lists from first to last."""
    order = sorted(lists)
    subscribed = _topics(document)
    alike = {tuple(sorted(subscribed[member])) for member in lists}
    for topics in alike:
        members = [m for m in order if tuple(sorted(subscribed[m])) == topics]
        given = [lists[m] for m in members]
        for member, other in zip(members, reversed(given), strict=True):
            lists[member] = other


# ---- stickiness --------------------------------------------------------------------------------


@_in_answer
def swapped(document, lists):
    """Two members swap a partition of one topic that each of them had kept."""
    claims = _claims(document)
    kept = [(m, pair) for m, pair in _given(lists) if pair in claims[m]]
    for member, pair in kept:
        for other, theirs in kept:
            if other != member and theirs[0] == pair[0]:
                lists[member][lists[member].index(pair)] = theirs
                lists[other][lists[other].index(theirs)] = pair
                return


@_in_answer
def passed_round(document, lists):
    """Three members that subscribe alike pass a kept partition on in a circle."""
    claims, subscribed = _claims(document), _topics(document)
    first: dict[str, list] = {}
    for member, pair in _given(lists):
        if pair in claims[member]:
            first.setdefault(member, pair)
    members = [m for m in first if set(subscribed[m]) == set(subscribed[next(iter(first))])][:3]
    if len(members) < 3:
        return
    for member, other in zip(members, members[1:] + members[:1], strict=True):
        lists[other][lists[other].index(first[other])] = first[member]


@_in_answer
def needless_move(document, lists):
    """A member loses a partition that it had kept and gets one that was new to another instead."""
    claims, subscribed = _claims(document), _topics(document)
    for member, pair in _given(lists):
        if pair not in claims[member]:
            continue
        for other, new in _given(lists):
            if (
                other != member
                and new not in claims[other]
                and new not in claims[member]
                and new[0] in subscribed[member]
                and pair[0] in subscribed[other]
            ):
                lists[member][lists[member].index(pair)] = new
                lists[other][lists[other].index(new)] = pair
                return


@_in_question
def claims_ignored(document):
    """Nobody's claim is looked at."""
    claim = ("owned", "generation", "sub_generation")
    return _each_member(document, lambda m: {k: v for k, v in m.items() if k not in claim})


@_in_question
def generations_ignored(document):
    """All claims count as of one generation."""

    fields = ("generation", "sub_generation")
    return _each_member(document, lambda m: m | {field: 1 for field in fields if field in m})


@_in_answer
def stale_owner_kept(document, lists):
    """A partition claimed in two generations goes to the older claim."""
    members = {member["id"]: member for member in document["members"]}
    claims, subscribed = _claims(document), _topics(document)
    for member, pair in _given(lists):
        for other in lists:
            if (
                other != member
                and pair in claims[other]
                and pair in claims.get(member, [])
                and pair[0] in subscribed[other]
                and _generation(members[other]) < _generation(members[member])
            ):
                lists[member].remove(pair)
                lists[other].append(pair)
                return


# ---- the cooperative protocol ------------------------------------------------------------------


@_in_question
def revoked_and_added(document):
    """A cooperative assignor gives a partition away before its owner has given it up."""
    eager = document["strategy"].replace("cooperative-", "")
    return {**document, "strategy": eager} if eager in assignors.names() else document


@_in_answer
def held_back(document, lists):
    """A cooperative assignor holds back a partition that nobody has."""
    if assignors.get(document["strategy"]).protocol != "cooperative":
        return
    claimed = [pair for owned in _claims(document).values() for pair in owned]
    for member, pair in _given(lists):
        if pair not in claimed:
            lists[member].remove(pair)
            return


# ---- orders and identities ---------------------------------------------------------------------


@_in_answer
def list_reversed(document, lists):
    """Every member's list is in reverse order."""
    for given in lists.values():
        given.reverse()


@_in_answer
def blocks_rotated(document, lists):
    """The members that share one topic pass their shares of it on by one place."""
    shares: dict[str, list[str]] = {}
    for member, pair in _given(lists):
        if member not in shares.setdefault(pair[0], []):
            shares[pair[0]].append(member)
    for topic, members in sorted(shares.items()):
        if len(members) > 1:
            mine = {m: [pair for pair in lists[m] if pair[0] == topic] for m in members}
            for member, other in zip(members, members[1:] + members[:1], strict=True):
                lists[other] = [p for p in lists[other] if p[0] != topic] + mine[member]
            return


@_in_question
def static_ids_ignored(document):
    """Static members are taken for ordinary ones."""
    return _each_member(document, lambda member: without(member, "instance"))


@_in_question
def arrival_order(document):
    """Members are taken in another order than that of their ids."""
    order = sorted(member["id"] for member in document["members"])
    names = dict(zip(order, reversed(order), strict=True))
    renamed = _each_member(document, lambda member: {**member, "id": names[member["id"]]})
    return {**renamed, "renamed": names}


@_in_question
def growth_unnoticed(document):
    """The last partition of every topic is not seen."""

    def shorter(topic):
        if topic.get("partitions", 0) > 1:
            topic = {**topic, "partitions": topic["partitions"] - 1}
            if "racks" in topic:
                topic["racks"] = topic["racks"][:-1]
        return topic

    return {**document, "topics": [shorter(topic) for topic in document["topics"]]}


_ASKED = count(1)


@_in_answer
def wavering(document, lists):
    """The same question gets another answer every second time."""
    if next(_ASKED) % 2:
        return
    subscribed = _topics(document)
    for member in lists:
        for other in lists:
            if set(subscribed[member]) == set(subscribed[other]) and lists[member] != lists[other]:
                lists[member], lists[other] = lists[other], lists[member]
                return


# ---- answering with a defect -------------------------------------------------------------------


def solve(document: Document) -> Lists:
    """The right lists; raises what the original raises. Knows the marks that questions leave."""
    if document.get("one at a time"):
        lists: Lists = {member["id"]: [] for member in document["members"]}
        alone = without(document, "one at a time")
        for topic in document["topics"]:
            for member, given in solve({**alone, "topics": [topic]}).items():
                lists[member] += given
        return lists
    lists = our_solve(document)["assignment"]
    if "renamed" in document:
        lists = {document["renamed"][member]: given for member, given in lists.items()}
        lists = {name: lists[name] for name in document["renamed"]}
    return lists


def flawed(name: str, document: Document, lists: Lists) -> Lists | None:
    """The lists with the defect of that name, or None where it has no place in this group."""
    return DEFECTS[name].apply(document, lists, solve)


def main(name: str) -> None:
    """Answers group documents line by line, with the defect ``name``; UnknownName for no defect."""
    refuse_unknown("defect", [name], DEFECTS)
    for line in iter(sys.stdin.buffer.readline, b""):
        document = json.loads(line)
        reply = answer(document)
        if "assignment" in reply:
            reply["assignment"] = flawed(name, document, reply["assignment"]) or reply["assignment"]
        print(json.dumps(reply), flush=True)
