"""What real groups are put through: scenarios of the timeline, played on a real broker too.

Topics carry the script's name, since many groups live on one broker at a time. Actions come far
enough apart for the group to settle in between, but where a script is about their coming together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from assignlab.timeline import scenario as happens
from assignlab.timeline.scenario import Action, Member, Scenario, Topic

EAGER = ("range", "roundrobin", "sticky")
CLASSIC = (*EAGER, "cooperative-sticky")
SERVER = ("server-uniform", "server-range")
ONE_OF_EACH = ("range", "sticky", "cooperative-sticky", "server-uniform")

USUAL = MappingProxyType(
    {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "max_poll_interval_ms": 20_000}
)
"""Settings of the consumers, by the names of :class:`~assignlab.timeline.config.Config`."""
STAGGER_MS = 600
"""From one member's start to the next: the order of joining is that of the scenario."""


@dataclass(frozen=True)
class Script:
    """One group: its name, what its members propose, what happens, and what is set otherwise."""

    name: str
    strategies: tuple[str, ...]
    scenario: Scenario
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def server(self) -> bool:
        """Whether some member speaks the consumer protocol at some time."""
        return any(is_server(m.strategies or self.strategies) for m in self.scenario.versions)


def is_server(strategies: Sequence[str]) -> bool:
    """Whether a member with these strategies speaks the consumer protocol."""
    return strategies[0].startswith("server-")


def topics(name: str, *partitions: int) -> list[Topic]:
    """Topics ``name-0``, ``name-1``, ... of so many partitions."""
    return [Topic(f"{name}-{i}", count) for i, count in enumerate(partitions)]


def members(names: str, static: bool = False, apart_ms: int = STAGGER_MS, **values) -> list[Member]:
    """Members of one letter each, started one after the other."""
    return [
        Member(
            name, start_ms=i * apart_ms, instance=f"instance-{name}" if static else None, **values
        )
        for i, name in enumerate(names)
    ]


def script(
    name: str,
    strategy: str | Sequence[str],
    who: Sequence[Member],
    actions: Sequence[Action],
    partitions: Sequence[int] = (7, 4),
    lasts_ms: int = 0,
    **settings,
) -> Script:
    """A script whose group reads topics of so many partitions; it lasts 7 s beyond its last action."""
    strategies = (strategy,) if isinstance(strategy, str) else tuple(strategy)
    last = max((action.at_ms for action in actions), default=6_000)
    scenario = Scenario(topics(name, *partitions), who, actions, lasts_ms or last + 7_000)
    return Script(name, strategies, scenario, dict(USUAL) | settings)


JOINS, LATER = 9_000, 16_000
"""When a group has settled and something is done to it, and when it has settled again."""


def joins_and_leaves() -> Iterator[Script]:
    """Members come and go, one at a time and together."""
    join_leave = [happens.join(JOINS, Member("d")), happens.leave(LATER, "b")]
    for strategy in CLASSIC + SERVER:
        yield script(f"join-leave.{strategy}", strategy, members("abc"), join_leave)
    for strategy in ONE_OF_EACH:
        two = [happens.join(JOINS, Member("d")), happens.join(JOINS + 300, Member("e"))]
        gone = [happens.leave(LATER, "a"), happens.leave(LATER + 300, "d")]
        yield script(f"two-at-once.{strategy}", strategy, members("abc"), [*two, *gone])
    for strategy in ("range", "server-uniform"):
        all_leave = [happens.leave(JOINS, "a"), happens.leave(JOINS + 300, "b")]
        yield script(
            f"empty-for-a-while.{strategy}",
            strategy,
            members("ab"),
            [*all_leave, happens.back(LATER, "b"), happens.back(LATER + 300, "a")],
            lasts_ms=LATER + 9_000,
        )
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        few = [happens.join(JOINS, Member("e")), happens.leave(LATER, "a")]
        yield script(f"idle-members.{strategy}", strategy, members("abcd"), few, partitions=(3,))
    for strategy in ("cooperative-sticky", "server-uniform"):
        many = [happens.leave(JOINS, "c"), happens.join(LATER, Member("i"))]
        yield script(
            f"eight-members.{strategy}",
            strategy,
            members("abcdefgh", apart_ms=240),
            many,
            partitions=(13, 8, 6),
        )


def crashes() -> Iterator[Script]:
    """A process is killed and comes back when its session is over; or it stands still meanwhile."""
    for strategy in ONE_OF_EACH:
        crash = [happens.crash(JOINS, "b"), happens.back(JOINS + 10_000, "b")]
        yield script(f"crash.{strategy}", strategy, members("abc"), crash)
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        freeze = [happens.freeze(JOINS, "b", for_ms=9_000)]
        yield script(
            f"freeze.{strategy}", strategy, members("abc"), freeze, lasts_ms=JOINS + 15_000
        )


def stalls() -> Iterator[Script]:
    """An application does not poll: longer than it may, or while another member joins."""
    for strategy in ("sticky", "cooperative-sticky", "server-uniform"):
        yield script(
            f"stall-too-long.{strategy}",
            strategy,
            members("abc"),
            [happens.stall(JOINS, "b", for_ms=9_000)],
            lasts_ms=JOINS + 15_000,
            max_poll_interval_ms=6_000,
        )
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        wait = [happens.stall(JOINS, "a", for_ms=5_000), happens.join(JOINS + 500, Member("d"))]
        yield script(
            f"join-during-stall.{strategy}", strategy, members("abc"), wait, lasts_ms=JOINS + 10_000
        )


def static_members() -> Iterator[Script]:
    """Static members restart: back within their session, back too late, one after the other."""
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        yield script(
            f"static-restart.{strategy}",
            strategy,
            members("abc", static=True),
            [happens.leave(JOINS, "b"), happens.back(JOINS + 2_000, "b")],
        )
        yield script(
            f"static-too-late.{strategy}",
            strategy,
            members("abc", static=True),
            [happens.leave(JOINS, "b"), happens.back(JOINS + 10_000, "b")],
        )
    for strategy in ("cooperative-sticky", "server-uniform"):
        yield script(
            f"static-rollout.{strategy}", strategy, members("abc", static=True), rollout("abc")
        )


def rollout(
    names: str, at_ms: int = JOINS, away_ms: int = 1_000, every_ms: int = 6_000, **changed
) -> list[Action]:
    """The members restart one after the other, each away for a while; what is ``changed`` then."""
    return [
        action
        for i, name in enumerate(names)
        for action in (
            happens.leave(at_ms + i * every_ms, name),
            happens.back(at_ms + i * every_ms + away_ms, name, **changed),
        )
    ]


def rollouts() -> Iterator[Script]:
    """All members restart, or are replaced: by members of another strategy too, in two bounces."""
    for strategy in ONE_OF_EACH:
        yield script(f"rollout.{strategy}", strategy, members("abc"), rollout("abc"))
    for name, lists in {
        "to-cooperative": (["cooperative-sticky", "range"], ["cooperative-sticky"]),
        "to-sticky": (["sticky", "range"], ["sticky"]),
    }.items():
        first = bounce("abc", "def", JOINS, lists[0])
        second = bounce("def", "ghi", JOINS + 18_000, lists[1])
        yield script(f"upgrade.{name}", "range", members("abc"), [*first, *second])


def bounce(old: str, new: str, at_ms: int, strategies: list[str]) -> list[Action]:
    """Each old member is replaced by a new one, which lists these strategies."""
    return [
        action
        for i, (leaves, joins) in enumerate(zip(old, new, strict=True))
        for action in (
            happens.join(at_ms + i * 6_000, Member(joins, strategies=strategies)),
            happens.leave(at_ms + i * 6_000 + 1_500, leaves),
        )
    ]


def migrations() -> Iterator[Script]:
    """Members restart with the other protocol: all of them, or some and then back; and too early."""
    server = "server-uniform"

    def restarts(names: str, strategy: str, at_ms: int = JOINS) -> list[Action]:
        return rollout(names, at_ms, away_ms=3_500, every_ms=8_500, strategies=[strategy])

    for strategy in ("range", "cooperative-sticky"):
        up, down = restarts("abc", server), restarts("abc", strategy)
        yield script(f"migrate-up.{strategy}", strategy, members("abc"), up)
        yield script(f"migrate-down.{strategy}", server, members("abc"), down)
        there_and_back = [*restarts("a", server), *restarts("a", strategy, JOINS + 8_500)]
        yield script(f"migrate-half-way.{strategy}", strategy, members("abc"), there_and_back)
    static = members("abc", static=True)
    up, down = restarts("abc", server), restarts("abc", "range")
    yield script("migrate-static-up.range", "range", static, up)
    yield script("migrate-static-down.range", server, static, down)
    name = "migrate-static-grown.range"
    grown = [happens.add_partitions(JOINS, f"{name}-0", 9), *restarts("ab", server, JOINS + 3_000)]
    yield script(name, "range", static, grown)
    early = [happens.join(600, Member("b", strategies=[server]))]
    yield script("migrate-too-early.range", "range", members("a"), early, lasts_ms=JOINS)


def topics_change() -> Iterator[Script]:
    """Partitions are added, topics are created: read by name, or matched by a pattern."""
    soon = {"metadata_max_age_ms": 2_000}
    for strategy in ONE_OF_EACH:
        name = f"partitions-added.{strategy}"
        grown = [happens.add_partitions(JOINS, f"{name}-0", 10)]
        yield script(name, strategy, members("abc"), grown, **soon)
    for strategy in ("range", "cooperative-sticky"):
        name = f"pattern.{strategy}"
        created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
        yield script(name, strategy, members("abc", pattern=f"{name}-.*"), created, **soon)
    for kind, in_client in (("client-pattern", True), ("broker-pattern", False)):
        name = f"{kind}.server-uniform"
        created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
        who = members("abc", pattern=f"{name}-.*", client_pattern=in_client)
        yield script(name, "server-uniform", who, created, lasts_ms=JOINS + 15_000, **soon)
    for strategy in ONE_OF_EACH:
        name = f"topic-deleted.{strategy}"
        deleted = [happens.delete_topic(JOINS, f"{name}-1")]
        yield script(name, strategy, members("abc"), deleted)
    for strategy in ("range", "cooperative-sticky", "server-uniform"):
        name = f"topic-comes-late.{strategy}"
        read = [f"{name}-0", f"{name}-9"]
        created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
        yield script(name, strategy, members("abc", topics=read), created, **soon)


def subscriptions() -> Iterator[Script]:
    """Members read different topics, and change what they read."""
    for strategy in ONE_OF_EACH:
        name = f"subscribe.{strategy}"
        changes = [
            happens.subscribe(JOINS, "b", [f"{name}-0"]),
            happens.subscribe(LATER, "b", [f"{name}-0", f"{name}-1"]),
        ]
        yield script(name, strategy, members("abc"), changes)
    for strategy in (*ONE_OF_EACH, "roundrobin"):
        name = f"different.{strategy}"
        both, one = [f"{name}-0", f"{name}-1"], [f"{name}-1"]
        who = [*members("ab", topics=both), replace(*members("c", topics=one), start_ms=1_200)]
        changes = [
            happens.join(JOINS, Member("d", topics=[f"{name}-0"])),
            happens.leave(LATER, "a"),
        ]
        yield script(name, strategy, who, changes)


def all_scripts() -> Iterator[Script]:
    """Every script."""
    yield from joins_and_leaves()
    yield from crashes()
    yield from stalls()
    yield from static_members()
    yield from rollouts()
    yield from migrations()
    yield from topics_change()
    yield from subscriptions()


SCRIPTS = {one.name: one for one in all_scripts()}
"""All scripts, by name."""


def for_release(release: str) -> list[Script]:
    """The scripts that a broker of this release can play: before 4.0 none of the consumer protocol."""
    old = release.startswith("3.")
    return [one for one in SCRIPTS.values() if not (old and one.server)]
