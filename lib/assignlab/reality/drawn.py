"""Random groups for a real broker: what no script thought of.

What a group is and what happens to it follow from a seed and the broker's release. Most of it comes
far enough apart for the group to settle in between, some of it sooner.
"""

import json
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pandas as pd

from assignlab.errors import refuse_unknown
from assignlab.jvm.names import string_hash
from assignlab.reality import beside, recording
from assignlab.reality.broker import REPLICATED
from assignlab.reality.record import record
from assignlab.reality.scripts import CLASSIC, SERVER, Script, is_server, pace
from assignlab.timeline import scenario as happens
from assignlab.timeline.config import COMMITS
from assignlab.timeline.scenario import Action, Member, Scenario, Topic

THEMES = {"plain": 4, "records": 2, "coordinator moves": 1, "migration": 1, "librdkafka": 1}
"""What a group is about, and how often of nine times."""
RECORDS_PER_S = 100
"""Of all partitions of a group that reads records, about: members that take 8 ms for each keep up."""
IN_C = ("librdkafka-range", "librdkafka-roundrobin", "librdkafka-cooperative-sticky")
MIGRATING = ("range", "sticky", "cooperative-sticky", "server-uniform")
PLAYS = 8
"""For every drift: a random group is held against so many plays, so that its moments are among them."""
SETTLED_MS = 9_000


def drawn(release: str, seed: int) -> Script:
    """The script of this seed for a broker of this release."""
    return Life(release, seed).script()


def name_of(seed: int) -> str:
    """A name whose group has another partition of the offsets topic than those of the next seeds, which
    stay where they are when its coordinator moves."""
    partitions, random = REPLICATED["offsets.topic.num.partitions"], Random(seed)
    names = (f"drawn-{seed}-{random.getrandbits(32):08x}" for _ in count())
    return next(n for n in names if (string_hash(n) & 0x7FFFFFFF) % partitions == seed % partitions)


class Life:
    """A group while it is drawn. ``at``: ms, when something happens next; ``sizes``: partitions of
    the topics that exist; ``read``: those that members choose from; ``alive``, ``away``: members;
    ``busy``: until when, ms, a member stands still. ``mixed``: whether some are Java's members;
    ``records``, ``moves``: whether there are records, and whether its coordinator moves."""

    def __init__(self, release: str, seed: int):
        self.random = Random(f"{release} {seed}")
        self.name = name_of(seed)
        before_kip848 = release.startswith("3.")
        themes = {t: n for t, n in THEMES.items() if not (before_kip848 and t == "migration")}
        (self.theme,) = self.random.choices(list(themes), list(themes.values()))
        strategies = {
            "librdkafka": IN_C,
            "migration": MIGRATING,
        }.get(self.theme, CLASSIC if before_kip848 else CLASSIC + SERVER)
        self.strategy = self.random.choice(strategies)
        in_c = self.theme == "librdkafka"
        self.records = self.theme == "records" or (in_c and self.chance(0.3))
        self.patterns = self.theme != "migration" and not self.records and self.chance(0.3)
        self.mixed = in_c and self.chance(0.4)
        self.moves = self.theme == "coordinator moves" or (in_c and self.chance(0.2))
        self.static = self.chance(0.35)
        self.settings: dict[str, Any] = {
            "session_timeout_ms": self.random.choice((6_000, 8_000, 10_000)),
            "heartbeat_interval_ms": self.random.choice((500, 1_000, 2_000, 3_000)),
            "max_poll_interval_ms": self.random.choice((10_000, 12_000, 20_000)),
            "metadata_max_age_ms": self.random.choice((2_000, 3_000, 5_000)),
        }
        sizes = [self.random.randint(1, 9) for _ in range(self.random.randint(1, 3))]
        self.sizes = {f"{self.name}-{i}": size for i, size in enumerate(sizes)}
        self.read = list(self.sizes)
        self.pace: dict[str, Any] = {}
        rate = 0
        if self.records:
            commit = "auto" if in_c else self.random.choice(COMMITS[:-1])
            self.settings |= {
                "commit": commit,
                "auto_commit_interval_ms": self.random.choice((1_000, 3_000)),
                "auto_offset_reset": "earliest",
            }
            self.pace = pace(commit)
            rate = -(-RECORDS_PER_S // sum(sizes))
        self.topics = [Topic(name, size, rate=rate) for name, size in self.sizes.items()]
        names = "abcde"[: self.random.randint(2, 5)]
        apart = 600 if is_server([self.strategy]) else self.random.choice((0, 200, 600))
        self.members = [self.member(name, start_ms=apart * i) for i, name in enumerate(names)]
        self.alive, self.newcomers = list(names), iter("fghijk")
        self.away: list[str] = []
        self.busy: dict[str, int] = {}
        self.actions: list[Action] = []
        self.at = SETTLED_MS

    def script(self) -> Script:
        """Three to six things happen."""
        if self.moves:
            self.coordinator_moves()
        for _ in range(self.random.randint(3, 6)):
            weights = self.possible()
            (kind,) = self.random.choices(list(weights), list(weights.values()))
            wait = KINDS[kind](self)
            self.at += self.random.choice((300, 1_200)) if self.chance(0.2) else wait
        scenario = Scenario(
            self.topics, self.members, self.actions, max(self.at, 15_000) + SETTLED_MS
        )
        return Script(self.name, (self.strategy,), scenario, self.settings)

    def possible(self) -> dict[str, int]:
        """What may happen now, and how often of how many times."""
        weights = {"join": 2, "create": 1}
        if not self.records:  # these come to the partitions that there are at first
            weights["grow"] = 1
            if len(self.read) > 1:
                weights["delete"] = 1
        if self.away:
            weights["back"] = 5
        if self.free():
            weights["stall"] = 2
            if not self.patterns:
                weights["subscribe"] = 1
            if len(self.alive) > 1:
                weights |= {"leave": 2, "crash": 1, "freeze": 1, "long stall": 1}
                if self.theme == "migration":
                    weights["migrate"] = 8
        if self.moves:
            weights["coordinator moves"] = 6
        return weights

    def chance(self, share: float) -> bool:
        """Whether something happens that does in this share of all cases."""
        return self.random.random() < share

    def free(self) -> list[str]:
        """Members that are there and do not stand still."""
        return [name for name in self.alive if self.busy.get(name, 0) <= self.at]

    def one(self) -> str:
        return self.random.choice(self.free())

    def some(self) -> list[str]:
        """Some of the topics that members read."""
        return sorted(self.random.sample(self.read, self.random.randint(1, len(self.read))))

    def member(self, name: str, **values) -> Member:
        """A member, with topics of its own at times, and of Java's client where a group is mixed."""
        values |= self.pace
        if self.mixed and self.chance(0.5):
            values["strategies"] = [self.strategy.removeprefix("librdkafka-")]
        if self.static and self.chance(0.8):
            values["instance"] = f"instance-{name}"
        if self.patterns:
            values["pattern"] = f"{self.name}-.*"
            values["client_pattern"] = not is_server([self.strategy]) or self.chance(0.5)
        elif self.chance(0.4):
            values["topics"] = self.some()
        return Member(name, **values)

    def other_strategy(self) -> str:
        """One that members may come back with."""
        cooperative = self.strategy == "cooperative-sticky"
        classic = ("cooperative-sticky",) if cooperative else ("range", "sticky")
        return self.random.choice((*classic, "server-uniform", "server-uniform"))

    # ---- what happens; each returns after how many ms the next thing does ------------------------

    def happen(self, action: Action, wait: int = SETTLED_MS) -> int:
        self.actions.append(action)
        return wait

    def join(self) -> int:
        """A new member, in a migration at times of the other protocol."""
        name = next(self.newcomers)
        migrates = self.theme == "migration" and self.chance(0.5)
        values = {"strategies": [self.other_strategy()]} if migrates else {}
        self.alive.append(name)
        return self.happen(happens.join(self.at, self.member(name, **values)))

    def goes(self, action: Callable[[int, str], Action], waits: tuple[int, ...]) -> int:
        name = self.one()
        self.alive.remove(name)
        self.away.append(name)
        return self.happen(action(self.at, name), self.random.choice(waits))

    def back(self) -> int:
        """One that went is back."""
        name = self.away.pop(self.random.randrange(len(self.away)))
        self.alive.append(name)
        return self.happen(happens.back(self.at, name))

    def migrate(self) -> int:
        """A member is away for a moment and comes back with another strategy."""
        name, down = self.one(), self.random.choice((1_000, 3_500))
        self.happen(happens.leave(self.at, name))
        again = happens.back(self.at + down, name, strategies=[self.other_strategy()])
        return self.happen(again, down + self.random.choice((1_500, 6_000, SETTLED_MS)))

    def stands(self, action: Callable[[int, str, int], Action], lengths: tuple[int, ...]) -> int:
        """A member or its process stands still for so many ms, at times until it is out."""
        name, length = self.one(), self.random.choice(lengths)
        self.busy[name] = self.at + length + 3_000
        return self.happen(action(self.at, name, length), length + SETTLED_MS)

    def stall(self) -> int:
        """Processing stands still for less than a poll may take; then something happens at times."""
        most = self.settings["max_poll_interval_ms"]
        wait = self.stands(happens.stall, (1_000, 4_000, most - 1_500))
        return self.random.choice((400, 700, wait))

    def subscribe(self) -> int:
        return self.happen(happens.subscribe(self.at, self.one(), self.some()))

    def grow(self) -> int:
        topic = self.random.choice(list(self.sizes))
        self.sizes[topic] += self.random.randint(1, 4)
        return self.happen(happens.add_partitions(self.at, topic, self.sizes[topic]))

    def create(self) -> int:
        """A topic that patterns fit, or that members may subscribe to from now on."""
        topic = Topic(f"{self.name}-new-{len(self.actions)}", self.random.randint(1, 6))
        self.sizes[topic.name] = topic.partitions
        self.read.append(topic.name)
        return self.happen(happens.create_topic(self.at, topic))

    def delete(self) -> int:
        topic = self.read.pop(self.random.randrange(len(self.read)))
        del self.sizes[topic]
        return self.happen(happens.delete_topic(self.at, topic))

    def coordinator_moves(self) -> int:
        wait = self.random.choice((300, 700, 2_000, SETTLED_MS))
        return self.happen(happens.coordinator_moves(self.at), wait)


KINDS: dict[str, Callable[[Life], int]] = {
    "join": Life.join,
    "leave": lambda life: life.goes(happens.leave, (1_200, 2_500, 4_000, 12_000)),
    "crash": lambda life: life.goes(
        happens.crash, (3_000, life.settings["session_timeout_ms"] + 3_000)
    ),
    "back": Life.back,
    "migrate": Life.migrate,
    "stall": Life.stall,
    "long stall": lambda life: life.stands(
        happens.stall, tuple(life.settings["max_poll_interval_ms"] + n for n in (1_500, 5_000))
    ),
    "freeze": lambda life: life.stands(
        happens.freeze, (1_500, 4_500, life.settings["session_timeout_ms"] + 2_500)
    ),
    "subscribe": Life.subscribe,
    "grow": Life.grow,
    "create": Life.create,
    "delete": Life.delete,
    "coordinator moves": Life.coordinator_moves,
}
"""What may happen to a group."""


def main(release: str, seed: int, groups: int, to: Path | None, say: Callable[[str], None]) -> int:
    """Play groups of these seeds on a real broker and tell where the timeline says something else;
    returns 1 if it does anywhere.

    ``to``: where the recordings are kept, a line for each. Raises
    :class:`~assignlab.errors.UnknownName` for a release that no script was recorded on, and
    :class:`~assignlab.proof.originals.OriginalsUnavailable` where Java, Maven or jars are missing.
    """
    refuse_unknown("release", [release], recording.releases())
    say(f"broker {release}: {groups} groups in real time, seeds {seed} to {seed + groups - 1}")
    compared: list[pd.DataFrame] = []
    try:
        with to.open("w", encoding="utf-8") if to else nullcontext() as kept:
            for one in record(release, [drawn(release, s) for s in range(seed, seed + groups)]):
                if kept:
                    kept.write(json.dumps(one) + "\n")
                    kept.flush()
                compared.append(beside.compare([one], beside.DRIFTS_MS * PLAYS))
                for line in _told(one, compared[-1]):
                    say(line)
    finally:  # some groups may not have been played
        for line in beside.totals(pd.concat(compared)) if compared else ():
            say(line)
    return int(not all(one["equal"].all() for one in compared))


def _told(one: recording.Recording, compared: pd.DataFrame) -> Iterator[str]:
    """How many checks of a group were made, and both sides of those that differ."""
    differ = compared[~compared["equal"]]
    said = f"  {one['name']}, {one['strategies'][0]}: {len(compared)} checks"
    yield f"{said}, {len(differ)} differ" if len(differ) else said
    for row in differ.itertuples():
        yield f"    step {row.step}, {row.what}, {row.check}:"
        yield f"      real      {row.real}\n      timeline  {row.predicted}"
