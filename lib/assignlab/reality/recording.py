"""Recordings of real groups: one line of JSON each, one file per release of the broker.

A recording has the script's name, the releases, strategies and settings, topics and members with
the ids that they got, actions with the moments at which they happened, and what the members'
listeners were told; of groups whose topics have a rate also refused commits and which records
members processed. Times are milliseconds since the beginning. Host names and paths are not in it.
"""

import lzma
from collections.abc import Iterable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from assignlab.local.files import read_lines, write_lines
from assignlab.releases import CAME_WITH
from assignlab.timeline.scenario import OTHERS, Action, Member, Scenario, Topic

FOLDER = Path(__file__).parent / "recordings"
SUFFIX = ".jsonl.xz"

Recording = dict[str, Any]


class Got(NamedTuple):
    """A member processed the records ``start`` to ``stop`` of a partition, the first of them told
    at ``since``, the last at ``until``."""

    member: str
    since: int
    until: int
    partition: str
    start: int
    stop: int


def merged(got: Iterable[Got]) -> list[Got]:
    """One row where a member went on with a partition, and nobody else read of it in between."""
    rows: list[Got] = []
    last: dict[str, int] = {}
    for one in sorted(got, key=lambda one: (one.until, one.member, one.start)):
        before = rows[last[one.partition]] if one.partition in last else None
        if before and (before.member, before.stop) == (one.member, one.start):
            rows[last[one.partition]] = before._replace(until=one.until, stop=one.stop)
        else:
            last[one.partition] = len(rows)
            rows.append(one)
    return rows


def releases(folder: Path = FOLDER) -> list[str]:
    """The releases of the broker of which there are recordings."""
    return sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))


def read(release: str, folder: Path = FOLDER) -> list[Recording]:
    """The recordings of groups on a broker of this release, in the order of their names."""
    return list(read_lines(folder / f"{release}{SUFFIX}", lzma.open))


def write(release: str, recordings: Iterable[Recording], folder: Path = FOLDER) -> Path:
    """Keep recordings, in place of the earlier ones of the same names."""
    path = folder / f"{release}{SUFFIX}"
    known = read(release, folder) if path.exists() else []
    kept = {one["name"]: one for one in [*known, *recordings]}
    write_lines(path, (kept[name] for name in sorted(kept)), open=lzma.open)
    return path


def all_of() -> list[Recording]:
    return [one for release in releases() for one in read(release)]


def scenario_of(recording: Recording) -> Scenario:
    """The scenario with the moments at which things really happened."""
    return Scenario(
        [Topic(t["name"], t["partitions"], t.get("rate", 0.0)) for t in recording["topics"]],
        [_member(recording, member) for member in recording["members"]],
        [_action(recording, action) for action in recording["actions"]],
        recording["duration_ms"],
        sample_ms=recording["duration_ms"],  # nobody asks for lag
    )


def strategies_of(recording: Recording, names: Sequence[str] | None = None) -> list[str]:
    """The names of the group's strategies, or of these; Kafka's as the broker's release has them, which is
    that of Java's members, too, where they do not say another."""
    return [
        f"{name}@{recording['broker']}" if name in CAME_WITH else name
        for name in names or recording["strategies"]
    ]


def _member(recording: Recording, values: dict[str, Any]) -> Member:
    names = {client.split()[0] for client in recording["client"].split(", ")}
    all_run = names.pop() if len(names) == 1 else ""
    client = all_run if all_run in OTHERS else ""
    return Member(**{"client": client} | _released(recording, values))


def _released(recording: Recording, values: dict[str, Any]) -> dict[str, Any]:
    if "strategies" in values:
        return values | {"strategies": strategies_of(recording, values["strategies"])}
    return values


def _action(recording: Recording, told: dict[str, Any]) -> Action:
    values = dict(told)
    at, kind, member = values.pop("at"), values.pop("kind"), values.pop("member", None)
    if "joins" in values:
        values = {"member": _member(recording, values["joins"])}
    if "changed" in values:
        values["changed"] = tuple(_released(recording, dict(values["changed"])).items())
    if "creates" in values:
        values = {"topic": Topic(*values["creates"])}
    return Action(at, kind, member, tuple(values.items()))


def told_of(action: Action, at: int) -> dict[str, Any]:
    """An action as a recording has it."""
    values: dict[str, Any] = dict(action.values)
    if action.kind == "join":
        values = {"joins": member_values(action["member"], at)}
    if action.kind == "create_topic":
        values = {"creates": [action["topic"].name, action["topic"].partitions]}
    member = {"member": action.member} if action.member else {}
    return {"at": at, "kind": action.kind, **member, **values}


def member_values(member: Member, start_ms: int) -> dict[str, Any]:
    """What of a member is not as usual, and when it started."""
    told = {
        field.name: value
        for field in fields(Member)
        if field.name not in ("name", "start_ms")
        and (value := getattr(member, field.name)) != field.default
    }
    return {"name": member.name, "start_ms": start_ms, **told}
