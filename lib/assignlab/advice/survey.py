"""``assignlab group survey``: the groups of a whole cluster, ranked by what a change would gain.

Every group is played under its own strategy and those that it could change to: the fullest member,
and what a member more would move. Hundreds of groups are played here, thousands on Spark.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from assignlab import assignors
from assignlab.advice.clients import as_run, strategies_for
from assignlab.advice.play import numbers, steps
from assignlab.advice.report import Report, Table
from assignlab.advice.scaling import LEAST_DRAWS, joined, switched
from assignlab.advice.subject import NotAnswerable, drawn, subject
from assignlab.errors import AssignlabError, GroupError
from assignlab.groups.inference import TWO_MOMENTS
from assignlab.groups.show import name_of
from assignlab.words import counted

ON_SPARK = 1_000
"""From so many groups on, Spark plays them."""
NOTHING: dict[str, Any] = {
    "gain": 0.0, "group": "", "strategy": "", "members": 0, "partitions": 0, "fullest": 0,
    "emptiest": 0, "idle": 0, "better": "", "fullest_then": 0, "avoidable": 0, "avoidable_then": 0,
    "why_not": "",
}  # fmt: skip
"""The record of a group of which nothing is known."""
COLUMNS = tuple(name.replace("_", " ") for name in NOTHING)


@dataclass(frozen=True)
class Trial:
    """A group document as JSON, and the release of its clients: a trial of a sweep."""

    number: int
    document: str
    release: str


def play(trial: Trial) -> dict[str, Any]:
    """The record of a group; ``why_not``: why it could not be asked, else ''.

    ``gain``: how much less the fullest member would hold, and how many moves fewer a member more
    would cost beyond need, both as shares of the group's partitions per member, or of one; infinite
    where the group's own strategy fails.
    """
    document = json.loads(trial.document)
    try:
        return _unasked(document) | _played(document, trial.release)
    except AssignlabError as error:
        return _unasked(document, str(error))


def _unasked(document: dict[str, Any], why_not: str = "") -> dict[str, Any]:
    return {
        **NOTHING,
        "group": document.get("group") or "",
        "strategy": document.get("strategy") or "",
        "members": len(document["members"]),
        "why_not": why_not,
    }


def _played(document: dict[str, Any], release: str) -> dict[str, Any]:
    asked = subject(as_run(document, release))
    if asked.strategy is None:
        raise NotAnswerable(asked.no_strategy())
    if not asked.partitions:
        raise NotAnswerable(f"{asked.name}: no partitions")
    own, found = asked.strategy.name, {}
    for name in strategies_for(asked, release):
        strategy = assignors.get(name)
        first = switched(asked, strategy) or [("a rebalance", asked.group)]

        def once(draw, strategy=strategy, first=first):
            group = joined(asked, asked.group, strategy, draw)
            then, more = steps(asked, [*first, ("more", group)], strategy)[1:]
            return {"fullest": numbers(then)["fullest"], "avoidable": numbers(more)["avoidable"]}

        try:
            drawn_here = drawn(LEAST_DRAWS, once)
        except AssignlabError as error:
            if name == own:
                return {"gain": inf, "strategy": own, "why_not": str(error)}
            continue  # no gain from what fails here
        found[name] = int(drawn_here["fullest"].median), int(drawn_here["avoidable"].median)
    now = found[own]
    share = max(1.0, asked.partitions / asked.members)

    def gain(name: str) -> float:
        return (now[0] - found[name][0] + now[1] - found[name][1]) / share

    best = max(found, key=lambda name: (gain(name), name == own, -found[name][1]))
    return {
        "gain": round(max(0.0, gain(best)), 3),
        "strategy": own,
        "partitions": asked.partitions,
        **asked.evenness,
        "better": "" if best == own else best,
        "fullest_then": found[best][0],
        "avoidable": now[1],
        "avoidable_then": found[best][1],
    }


def report(
    documents: Sequence[dict[str, Any]],
    release: str,
    spark: bool | None = None,
    refused: Sequence[GroupError] = (),
) -> Report:
    """All groups, most gain first; ``spark``: whether Spark plays them (None: where many are);
    ``refused``: of which the texts contradict each other."""
    trials = [Trial(n, json.dumps(document), release) for n, document in enumerate(documents)]
    if spark if spark is not None else len(trials) >= ON_SPARK:
        records = _on_spark(trials)
    else:
        records = [play(trial) for trial in trials]
    records += [
        {**NOTHING, "group": error.group, "members": "", "why_not": str(error)} for error in refused
    ]
    records.sort(key=lambda record: (-record["gain"], bool(record["why_not"]), record["group"]))
    told = ("group", "strategy", "members", "why_not")  # of a group that could not be asked, too
    rows = [
        tuple(
            record[name] if record[name] != "" and (name in told or not record["why_not"]) else None
            for name in NOTHING
        )
        for record in records
    ]
    gaining = sum(0 < record["gain"] < inf for record in records)
    failing = sum(record["gain"] == inf for record in records)
    asked = sum(not record["why_not"] for record in records)
    asked_of = (
        f"{asked} of {counted(len(records), 'group')} could be asked; {gaining} would gain by another"
        " strategy. gain: partitions fewer on the fullest member, and avoidable moves fewer when a member"
        " joins, over the partitions per member, or over 1 where there are fewer partitions than members."
        " group recommend weighs more than these two, and says for one group what to set."
    )
    said = [asked_of]
    if failing:
        said.append(
            f"First: {counted(failing, 'group')} whose own strategy fails, now or when a member joins; group"
            " recommend says which do not."
        )
    table = Table("survey", "Groups by what a change would gain", COLUMNS, rows)
    doubtful = [
        f"{name_of(document)}: {sentence}"
        for document in documents
        for sentence in document.get("inferred", [])
        if TWO_MOMENTS in sentence
    ]
    return Report(counted(len(records), "group"), doubtful, said, [table])


def _on_spark(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    from assignlab.timeline import sweep

    found = sweep(trials, play).frame().sort_values("scenario").to_dict("records")
    return [
        _unasked(json.loads(trials[record["scenario"]].document), record["error"])
        if record["error"]
        else {name: type(nothing)(record[name]) for name, nothing in NOTHING.items()}
        for record in found
    ]
