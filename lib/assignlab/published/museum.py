"""The museum of faults: the smallest group that shows each, what every release answers to it.

:mod:`assignlab.published.diagnosis` says what is wrong with an answer and what a correct one is;
:func:`~assignlab.proof.smaller.first_cut` whether a smaller group shows the same.

``published/data/exhibits.yaml`` holds the groups, each with the name of its fault in
:mod:`assignlab.proof.faults`; ``published/data/exhibits.jsonl`` what every release of the original
answered, so that the museum needs no Java:

    assignlab proof museum --record                # ask all releases anew, and try every smaller group
    assignlab proof museum --record "two claims"   # about this exhibit alone
"""

import json
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd
import yaml

from assignlab import assignors
from assignlab.assignors.answer import answer
from assignlab.errors import AssignlabError, OriginalError, refuse_unknown
from assignlab.group import document as documents
from assignlab.group.assignment import Assignment
from assignlab.group.document import Document
from assignlab.group.model import Group
from assignlab.local.files import read_lines, write_lines
from assignlab.proof import faults as known_faults
from assignlab.proof.clients import others
from assignlab.proof.originals import Original, Originals, System, original_of
from assignlab.proof.smaller import first_cut
from assignlab.proof.verify import Answer, as_recorded, error_class
from assignlab.proof.versions import releases
from assignlab.published.diagnosis import KEEPS, correct, faults
from assignlab.published.notation import PUBLISHED, described, group_text, lists
from assignlab.releases import spans, version
from assignlab.replay.rebalance import settled

EXHIBITS = PUBLISHED / "exhibits.yaml"
NOT_ON_SHOW = PUBLISHED / "not_on_show.yaml"
ANSWERS = PUBLISHED / "exhibits.jsonl"
CLIENT_ANSWERS = PUBLISHED / "exhibits_clients.jsonl"
CLIENT_ASKED = 40
COOPERATIVE = "cooperative-sticky"

Tell = Callable[[str], None]
"""What takes a line about the progress."""


# ---- exhibits ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Exhibit:
    """One fault: the group that shows it, what it breaks, where it was reported, what happens.
    ``known``: its name in :mod:`assignlab.proof.faults`, "" for what the strategy never promised.
    ``shape``: in which groups it can happen."""

    name: str
    known: str
    shape: str
    number: str
    strategy: str
    fault: str
    keeps: tuple[str, ...]
    document: Document
    told: str

    def shows(self, document: Document, ask: Callable[[Document], Answer]) -> bool:
        """Whether a group shows this fault and is one that counts."""
        return all(KEEPS[name](document) for name in self.keeps) and self.fault in faults(
            document, ask(document)
        )


@cache
def exhibits() -> dict[str, Exhibit]:
    """All exhibits by name, in the order of the file."""
    entries = yaml.safe_load(EXHIBITS.read_text(encoding="utf-8"))
    return {
        entry["name"]: Exhibit(
            **{field: entry[field] for field in ("name", "strategy", "fault", "told")},
            known=entry.get("known", ""),
            shape=entry.get("shape") or shape_of(entry["known"]),
            number=known_faults.of_name(entry["known"]).number if "known" in entry else entry["number"],
            keeps=tuple(entry.get("keeps", ())),
            document={
                "strategy": entry["strategy"], **described(entry), **entry.get("options", {})
            },
        )
        for entry in entries
    }  # fmt: skip


def shape_of(known: str) -> str:
    """In which groups a known fault can happen, as its predicate says it of itself."""
    return " ".join((known_faults.of_name(known).holds.__doc__ or "").split())


@cache
def recorded() -> dict[str, dict[str, Answer]]:
    """Exhibit -> release -> what the original answered, oldest release first."""
    found: dict[str, dict[str, Answer]] = {}
    for entry in read_lines(ANSWERS):
        found.setdefault(entry["exhibit"], {})[entry["release"]] = entry["answer"]
    return found


def showing(exhibit: Exhibit) -> list[str]:
    """The releases whose recorded answer has the fault, oldest first."""
    answers = recorded()[exhibit.name]
    return [r for r, given in answers.items() if exhibit.fault in faults(exhibit.document, given)]


def record(names: Collection[str], tell: Tell) -> Iterator[dict[str, Any]]:
    """The lines of ``exhibits.jsonl``: every release is asked the exhibits that are named; what is
    recorded of the others stays.

    The newest release comes first: nothing smaller than the exhibit may show the fault in the first
    that has it, and the older ones are asked after that. ``tell`` gets a line for every answer.
    Raises :class:`NotMinimal` where a smaller group shows the fault, and :class:`NotShown` where no
    release has it.
    """
    asked: dict[str, dict[str, Answer]] = {name: {} for name in names}
    missing = set(names)
    for system, release, shown in reversed(_by_release(names)):
        with Original(system, release) as original:
            for exhibit in shown:
                given = as_recorded(original.ask(exhibit.document))
                asked[exhibit.name][release] = given
                found = faults(exhibit.document, given)
                tell(f"{exhibit.name}, {exhibit.strategy} {release}: {', '.join(found) or 'sound'}")
                if exhibit.name in missing and exhibit.fault in found:
                    tell(f"{exhibit.name}: asking {release} about smaller groups")
                    refuse_larger(exhibit, original)
                    missing.remove(exhibit.name)
    if missing:
        of = exhibits()[min(missing)]
        raise NotShown(f"{of.name}: no release of {of.strategy} shows {of.fault!r}")
    newest_last = {name: dict(reversed(answers.items())) for name, answers in asked.items()}
    kept = recorded() | newest_last
    for name in exhibits():
        for release, given in kept.get(name, {}).items():
            yield {"exhibit": name, "release": release, "answer": given}


def refuse_larger(exhibit: Exhibit, original: Original) -> None:
    """Raises :class:`NotMinimal` where the original shows the fault in a smaller group, too."""
    cut = first_cut(exhibit.document, lambda document: exhibit.shows(document, original.ask))
    if cut is not None:
        raise NotMinimal(f"{exhibit.name}: {json.dumps(cut)} shows {exhibit.fault!r} too")


def record_clients(
    names: Collection[str], originals: Originals, tell: Tell
) -> Iterator[dict[str, Any]]:
    """The lines of ``exhibits_clients.jsonl``: clients that are not Java are asked the exhibits that
    are named; what is recorded of the others stays.

    Asked is every assignor of :func:`client_strategies`, ``CLIENT_ASKED`` times, since some walk maps
    in an order drawn anew every time; but no more where it never ends.
    """
    for exhibit in exhibits().values():
        if exhibit.name not in names:
            yield from (one for one in recorded_clients() if one["exhibit"] == exhibit.name)
            continue
        for client, strategy in client_strategies(exhibit).items():
            document = {**exhibit.document, "strategy": strategy}
            given: list[Answer] = []
            while len(given) < CLIENT_ASKED and {"error": "NeverEnds"} not in given:
                given.append(as_recorded(originals.ask(document)))
            answers = [json.loads(text) for text in sorted(set(map(json.dumps, given)))]
            tell(f"{exhibit.name}, {client}: different answers: {len(answers)}")
            yield {
                "exhibit": exhibit.name,
                "strategy": strategy,
                "client": client,
                "answers": answers,
            }


def client_strategies(exhibit: Exhibit) -> dict[str, str]:
    """Client with its release -> its assignor of the exhibit's strategy, of all that have one.

    Nothing where the group would be another one to them: their cooperative members send generations
    in the subscription only.

    >>> list(client_strategies(exhibits()["third claimant"]).values())[:2]
    ['franz-go-cooperative-sticky', 'kafka-python-cooperative-sticky']
    """
    if exhibit.strategy == COOPERATIVE and "dated" in exhibit.keeps:
        return {}
    asked = {name: original_of(name) for name in others(exhibit.strategy)}
    return {f"{system.module} {release}": name for name, (system, release) in asked.items()}


@cache
def recorded_clients() -> tuple[dict[str, Any], ...]:
    """What other clients' assignors answered: exhibit, strategy, client with release, answers."""
    return tuple(read_lines(CLIENT_ANSWERS))


def _by_release(names: Collection[str]) -> list[tuple[System, str, list[Exhibit]]]:
    """Every release that has an exhibit of these names once, so that one JVM will do, oldest first:
    its system, the release, what it is asked."""
    found: dict[tuple[str, str], tuple[System, list[Exhibit]]] = {}
    for exhibit in (exhibits()[name] for name in names):
        for system, release in releases(exhibit.strategy):
            found.setdefault((system.main, release), (system, []))[1].append(exhibit)
    rows = [(system, release, shown) for (_, release), (system, shown) in found.items()]
    return sorted(rows, key=lambda row: version(row[1]))


class NotMinimal(AssignlabError):
    """A smaller group shows the fault of an exhibit."""


class NotShown(AssignlabError):
    """No release shows the fault of an exhibit."""


# ---- tables --------------------------------------------------------------------------------------


def strategy_of(base: str, release: str) -> str | None:
    """Our strategy for a release of an original; None where there is none."""
    for strategy in assignors.strategies().values():
        first, last = version(strategy.first), version(strategy.last)
        if strategy.base == base and first <= version(release) <= last:
            return strategy.name
    return None


def ours(exhibit: Exhibit, release: str) -> Answer | None:
    """What our strategy of that release answers; None where there is none."""
    name = strategy_of(exhibit.strategy, release)
    return None if name is None else as_recorded(answer(exhibit.document, name))


def table() -> pd.DataFrame:
    """One row per exhibit and release: the original's answer (recorded), its faults, and ours."""
    rows = []
    for name, answers in recorded().items():
        exhibit = exhibits()[name]
        for release, given in answers.items():
            mine = ours(exhibit, release)
            found = faults(exhibit.document, given)
            rows.append((
                name, exhibit.strategy, release, text(exhibit, given), ", ".join(found),
                exhibit.fault in found, "" if mine is None else text(exhibit, mine),
            ))  # fmt: skip
    return pd.DataFrame(
        rows, columns=["exhibit", "strategy", "release", "original", "faults", "has it", "ours"]
    )


def catalogue() -> pd.DataFrame:
    """One row per exhibit: the group, the original's answer in the newest release that has the
    fault, the correct answer, and the releases that have it."""
    rows = []
    for name, exhibit in exhibits().items():
        answers, having = recorded()[name], showing(exhibit)
        rows.append((
            name, exhibit.known, exhibit.number, exhibit.strategy, group_text(exhibit.document),
            text(exhibit, answers[having[-1]]), exhibit.fault,
            text(exhibit, correct(exhibit.document)), spans(having, list(answers)), exhibit.told,
        ))  # fmt: skip
    return pd.DataFrame(
        rows,
        columns=["exhibit", "known as", "number", "strategy", "group", "original", "fault",
                 "correct", "releases", "what happens"],
    )  # fmt: skip


SEEN = {
    "no such partition": "describe --members --verbose beside kafka-topics --describe: a member holds a "
    "number that the topic has not",
    "not subscribed": "describe --members --verbose beside your application's code: a member holds a topic "
    "that it does not subscribe to",
    "owned twice": "describe --members --verbose: a partition stands under two members",
    "no owner": "assignlab group show: 'without owner' is above 0",
    "uneven": "assignlab group show: the gap is above 1",
    "topic on one": "assignlab group show: the gap of a topic is above 1",
    "starving": "assignlab group show: a member is idle",
    "needless move": "assignlab group what-if: avoidable moves",
    "moves too many": "assignlab group what-if: avoidable moves",
    "older claim wins": "describe --members --verbose, twice: a partition is back at an earlier owner",
    "given too early": "records come twice around a rebalance: two members read a partition at once",
    "withheld": "assignlab group show, in a rebalance: 'without owner'; another rebalance follows",
    "NeverEnds": "the leader neither answers nor sends heartbeats: it is expelled after a session, the "
    "next one follows, the group is never Stable",
}
"""Fault -> how it shows in a running group; exceptions stand in the log of whoever assigns."""
SEEN_ELSEWHERE = {
    "consumers disagree": "a consumer's log, repeated: 'waiting for the partition ownership to be deleted'",
    "a number to one consumer": "the consumers' own counts of partitions: some have several more than others",
}
"""The same by exhibit, where no command describes such groups."""


def risks() -> pd.DataFrame:
    """Whether it can happen to a group: one row per exhibit, those of the newest releases first.

    Columns: exhibit, strategy, releases (those asked that have it), still (whether the newest one
    asked has it), happens to, seen by.
    """
    rows = []
    for name, exhibit in exhibits().items():
        axis, having = list(recorded()[name]), showing(exhibit)
        still = having[-1] == axis[-1]
        seen = SEEN.get(exhibit.fault, f"the log of whoever assigns: {exhibit.fault}")
        seen = SEEN_ELSEWHERE.get(name, seen)
        releases = spans(having, axis)
        rows.append((name, exhibit.strategy, releases, still, exhibit.shape, seen, having[-1]))
    rows.sort(key=lambda row: (not row[3], [-n for n in version(row[-1])]))
    columns = ["exhibit", "strategy", "releases", "still", "happens to", "seen by", "last"]
    return pd.DataFrame(rows, columns=columns).drop(columns="last")


def with_cooperative(table: pd.DataFrame) -> pd.DataFrame:
    """:func:`risks` with a column ``cooperative-sticky``: the releases in which it has the fault,
    in a group of its own or in one of sticky."""

    def asked(row) -> str:
        if row.strategy == "sticky":
            return spans(cooperative_too(exhibits()[row.exhibit]), cooperative_releases())
        return row.releases if row.strategy == COOPERATIVE else ""

    found = table.copy()
    column = [asked(row) for row in table.itertuples()]
    found.insert(table.columns.get_loc("still") + 1, COOPERATIVE, column)
    return found


def cooperative_releases() -> list[str]:
    return [release for _, release in releases(COOPERATIVE)]


def cooperative_too(exhibit: Exhibit) -> list[str]:
    """The releases of cooperative-sticky that do the same to a group of sticky: at once, or in what
    the group settles at. Ours answers in place of the original.

    >>> cooperative_too(exhibits()["two claims"])
    ['2.5.1']
    """
    asked = {release: strategy_of(COOPERATIVE, release) for release in cooperative_releases()}
    return [release for release, ours in asked.items() if ours and _does(ours, exhibit.name)]


@cache
def _does(name: str, exhibit_name: str) -> bool:
    """Whether our cooperative strategy of that name shows the fault of an exhibit of sticky."""
    exhibit = exhibits()[exhibit_name]
    document = {**exhibit.document, "strategy": COOPERATIVE}
    first = as_recorded(answer(document, name))
    if exhibit.fault in faults(document, first):
        return True
    strategy, group = assignors.get(name), documents.parse(document)
    try:
        last = {"assignment": strategy.render(group, settled(group, strategy))}
    except OriginalError:
        return False
    return exhibit.fault in faults(exhibit.document, last)


def not_on_show() -> pd.DataFrame:
    """Reported faults that are no exhibit: number, fault, why."""
    return pd.DataFrame(yaml.safe_load(NOT_ON_SHOW.read_text(encoding="utf-8")))


def text(exhibit: Exhibit, answer: Answer) -> str:
    """An answer in a line."""
    return error_class(answer) if "error" in answer else lists(exhibit.document, answer)


MARKS = {
    "no such partition": "gone", "not subscribed": "guest", "owned twice": "twice",
    "no owner": "lost", "older claim wins": "older", "given too early": "early",
    "withheld": "held", "needless move": "moved", "uneven": "uneven", "topic on one": "topic",
    "NeverEnds": "never", "starving": "idle", "moves too many": "moved",
}  # fmt: skip


MEANT = {
    "gone": "a partition that does not exist", "guest": "given to a member that did not subscribe",
    "twice": "two owners", "lost": "nobody owns it", "older": "the older claim wins",
    "early": "given before it is given up", "held": "withheld from its owner",
    "moved": "moved without need", "uneven": "a member has two more", "topic": "a topic to one member",
    "idle": "a member gets nothing though it could", "never": "assign does not return",
    "NPE": "NullPointerException", "ISE": "IllegalStateException", "NSEE": "NoSuchElementException",
    "KE": "KeyError", "SIGSEGV": "the process ends",
}  # fmt: skip
"""What the marks stand for."""


def mark(fault: str) -> str:
    """A fault in a word that fits a tile; exceptions by the capitals of their class.

    >>> mark("NullPointerException"), mark("owned twice")
    ('NPE', 'twice')
    """
    return MARKS.get(fault) or "".join(letter for letter in fault if letter.isupper())


def explained(words: pd.DataFrame) -> str:
    """What the marks of a :func:`matrix` stand for.

    >>> explained(pd.DataFrame({"3.9": ["twice", ""], "4.0": ["-", "NPE"]}))
    'twice: two owners; NPE: NullPointerException; -: has no such strategy'
    >>> explained(pd.DataFrame({"3.9": ["(lost)"]}))
    'lost: nobody owns it; in brackets: wrong, but not this fault'
    """
    marks = set(words.to_numpy().ravel())
    drawn = {mark.strip("()") for mark in marks}
    told = [f"{word}: {meant}" for word, meant in MEANT.items() if word in drawn]
    told += ["in brackets: wrong, but not this fault"] * any(mark.startswith("(") for mark in marks)
    told += ["-: has no such strategy"] * ("-" in marks)
    return "; ".join(told)


def matrix(strategies: Iterable[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Exhibits of these strategies against releases: (shade, text).

    Shade 2 and the mark of the fault where a release has it; shade 1 and the mark in brackets where
    it does something else that is wrong; "-" where it does not have the strategy; nothing where
    the answer is sound.
    """
    shown = [e.name for e in exhibits().values() if e.strategy in set(strategies)]
    answers = {(name, r): [given] for name in shown for r, given in recorded()[name].items()}
    return _tiles(shown, sorted({release for _, release in answers}, key=version), answers)


def client_matrix() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Exhibits against other clients, as :func:`matrix` has them; any of several answers counts."""
    answers = {(one["exhibit"], one["client"]): one["answers"] for one in recorded_clients()}
    names = list(dict.fromkeys(name for name, _ in answers))
    return _tiles(names, sorted({client for _, client in answers}), answers)


def _tiles(
    names: list[str], columns: list[str], answers: dict[tuple[str, str], list[Answer]]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    shade = pd.DataFrame(0, index=names, columns=columns)
    words = pd.DataFrame("-", index=names, columns=columns)
    for place, given in answers.items():
        exhibit = exhibits()[place[0]]
        found = [f for answer in given for f in faults(exhibit.document, answer)]
        if exhibit.fault in found:
            shade.loc[place], words.loc[place] = 2, mark(exhibit.fault)
        else:
            shade.loc[place], words.loc[place] = (1, f"({mark(found[0])})") if found else (0, "")
    return shade, words


def drawn(document: Document, answer: Answer) -> tuple[Group, Assignment]:
    """A group and an answer as the pictures take them; an exception gives nothing to anybody.

    Consumer threads of Kafka 0.8 are left out.
    """
    rocketmq = document["strategy"].startswith("rocketmq")
    held = {
        id: [[topic, "{}-{}".format(*named) if rocketmq else named[0]] for topic, *named in pairs]
        for id, pairs in answer.get("assignment", {}).items()
    }
    members = [{**member, "owned": held.get(member["id"])} for member in document["members"]]
    claims = documents.parse({**document, "members": members}).claims
    return documents.parse(document), Assignment(claims.offsets, claims.codes)


def panels(names: Iterable[str]) -> dict[str, tuple[Group, Assignment, Assignment]]:
    """For each exhibit what the original does beside the correct answer, over the claims; for
    :func:`assignlab.pictures.panels.picture`. Raises UnknownName for a name that is no exhibit."""
    found = {}
    for name in names:
        refuse_unknown("exhibit", [name], exhibits())
        exhibit = exhibits()[name]
        document = exhibit.document
        claims = documents.parse(document).claims
        before = Assignment(claims.offsets, claims.codes)
        release = showing(exhibit)[-1]
        given = recorded()[name][release]
        thrown = f"\n{error_class(given)}" if "error" in given else ""
        title = f"{name}\n{exhibit.strategy}\n{release}{thrown}"
        found[title] = (*drawn(document, given), before)
        found[f"{name}\ncorrect"] = (*drawn(document, correct(document)), before)
    return found


def recheck(strategies: Iterable[str], newest_only: bool = False) -> list[str]:
    """:func:`changed` of all exhibits of some strategies."""
    wanted = set(strategies)
    names = [name for name, exhibit in exhibits().items() if exhibit.strategy in wanted]
    return changed(names, newest_only)


def changed(
    names: Collection[str], newest_only: bool = False, tell: Tell = lambda line: None
) -> list[str]:
    """Asks the live originals these exhibits again: "exhibit release" of every answer that is not as
    recorded.

    ``newest_only``: of every exhibit the newest release alone, and not where that would never end.
    ``tell`` gets a line for every release that is asked.
    """
    found = []
    for system, release, shown in _by_release(names):
        if newest_only:
            newest = [list(recorded()[e.name].items())[-1] for e in shown]
            shown = [
                e for e, (last, given) in zip(shown, newest, strict=True)
                if release == last and given != {"error": "NeverEnds"}
            ]  # fmt: skip
        if not shown:
            continue
        tell(f"asking {system.module} {release}, exhibits: {len(shown)}")
        with Original(system, release) as original:
            for exhibit in shown:
                given = as_recorded(original.ask(exhibit.document))
                if given != recorded().get(exhibit.name, {}).get(release):
                    found.append(f"{exhibit.name} {release}")
    return found


def main(names: Collection[str], anew: bool, tell: Tell) -> int:
    """Record what every release answers to some exhibits, or all, or check that it still is what is
    recorded: else 1. Raises UnknownName for a name that is no exhibit."""
    refuse_unknown("exhibit", names, exhibits())
    names = list(dict.fromkeys(names)) or list(exhibits())
    if not anew:
        differ = changed(names, tell=tell)
        asked = sum(len(shown) for *_, shown in _by_release(names))
        tell(f"{asked} answers asked again, changed: {differ}")
        return int(bool(differ))
    write_lines(ANSWERS, record(names, tell))
    with Originals() as originals:
        write_lines(CLIENT_ANSWERS, record_clients(names, originals, tell))
    return 0
