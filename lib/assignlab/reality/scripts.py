"""What real groups are put through: scenarios of the timeline, played on a real broker too.

Topics carry the script's name, since many groups live on one broker at a time. Actions come far
enough apart for the group to settle in between, but where a script is about their coming together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from assignlab import assignors
from assignlab.reality.hosts import JAVA, PINNED, Client
from assignlab.releases import NEWEST
from assignlab.timeline import scenario as happens
from assignlab.timeline.scenario import Action, Member, Scenario, Topic

EAGER = ("range", "roundrobin", "sticky")
CLASSIC = (*EAGER, "cooperative-sticky")
SERVER = ("server-uniform", "server-range")
ONE_PER_PROTOCOL = ("range", "cooperative-sticky", "server-uniform")
ONE_OF_EACH = ("range", "sticky", "cooperative-sticky", "server-uniform")

USUAL = MappingProxyType(
    {"session_timeout_ms": 6_000, "heartbeat_interval_ms": 1_000, "max_poll_interval_ms": 20_000}
)
"""Settings of the consumers, by the names of :class:`~assignlab.timeline.config.Config`."""
STAGGER_MS = 600
"""From one member's start to the next: the order of joining is that of the scenario."""


@dataclass(frozen=True)
class Script:
    """One group: its name, what its members propose, what happens, and what is set otherwise.

    A strategy's name says who runs the member: Java's client of the broker's release (``sticky``)
    or of another one (``sticky@2.8.2``), or another client (``librdkafka-range``). ``client``: the
    one that has strategies named as Java's or the coordinator's, where it is not Java's.
    ``restarts``: the broker that coordinates the group restarts, where it would just hand it over.
    """

    name: str
    strategies: tuple[str, ...]
    scenario: Scenario
    settings: dict[str, Any] = field(default_factory=dict)
    client: str = ""
    restarts: bool = False

    @property
    def nodes(self) -> int:
        """How many brokers it takes: three where another one is to coordinate the group."""
        moves = any(action.kind == "coordinator_moves" for action in self.scenario.actions)
        return 3 if moves else 1

    @property
    def alone(self) -> bool:
        """Whether no other group may run on its brokers: one restarts, which coordinates others, too; or
        the coordinator resolves a pattern, after any topic that is created, and then not for 10 s."""
        resolved = [m for m in self.scenario.versions if m.pattern and not m.client_pattern]
        return self.restarts or any(is_server(m.strategies or self.strategies) for m in resolved)

    @property
    def server(self) -> bool:
        """Whether some member speaks the consumer protocol at some time."""
        return any(is_server(m.strategies or self.strategies) for m in self.scenario.versions)

    @property
    def others(self) -> bool:
        """Whether some member's client is not Java's."""
        return any(client.name != JAVA for client in self.clients(NEWEST))

    def clients(self, release: str) -> set[Client]:
        """All who run members on a broker of this release."""
        return {self.client_of(member, release) for member in self.scenario.versions}

    @property
    def rates(self) -> dict[str, float]:
        """Topics that get records, and how many a second and partition."""
        return {topic.name: topic.rate for topic in self.scenario.topics if topic.rate}

    def client_of(self, member: Member, release: str) -> Client:
        """Who runs a member on a broker of this release."""
        name, _, asked = (member.strategies or self.strategies)[0].partition("@")
        system = assignors.get(name).system
        other = system if system in PINNED else member.client or self.client
        return Client(other, PINNED[other]) if other else Client(JAVA, asked or release)


def is_server(strategies: Sequence[str]) -> bool:
    """Whether a member with these strategies speaks the consumer protocol."""
    return strategies[0].startswith("server-")


def topics(name: str, *partitions: int, rate: float = 0.0) -> list[Topic]:
    """Topics ``name-0``, ``name-1``, ... of so many partitions."""
    return [Topic(f"{name}-{i}", count, rate) for i, count in enumerate(partitions)]


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
    client: str = "",
    rate: float = 0.0,
    **settings,
) -> Script:
    """A script whose group reads topics of so many partitions; it lasts 7 s beyond its last action.

    ``rate``: records a second and partition.
    """
    strategies = (strategy,) if isinstance(strategy, str) else tuple(strategy)
    last = max((action.at_ms for action in actions), default=6_000)
    read = topics(name, *partitions, rate=rate)
    scenario = Scenario(read, who, actions, lasts_ms or last + 7_000)
    return Script(name, strategies, scenario, dict(USUAL) | settings, client)


JOINS, LATER = 9_000, 16_000
"""When a group has settled and something is done to it, and when it has settled again."""


def named(what: str, strategy: str, client: str) -> str:
    return ".".join(filter(None, (what, strategy.replace("@", "-"), client)))


def usual(
    what: str,
    strategy: str,
    actions: Sequence[Action],
    client: str = "",
    static: bool = False,
    **how: Any,
) -> Script:
    """The script of what happens to members a, b and c."""
    name = named(what, strategy, client)
    return script(name, strategy, members("abc", static), actions, client=client, **how)


def join_leave(strategy: str, client: str = "") -> Script:
    actions = [happens.join(JOINS, Member("d")), happens.leave(LATER, "b")]
    return usual("join-leave", strategy, actions, client)


def two_at_once(strategy: str, *then: Action) -> Script:
    """Two members join, the second while the group rebalances for the first."""
    two = [happens.join(JOINS, Member("d")), happens.join(JOINS + 300, Member("e"))]
    return usual("two-at-once", strategy, [*two, *then])


def idle_members(strategy: str) -> Script:
    """One member more than partitions, then two; then one leaves."""
    few = [happens.join(JOINS, Member("e")), happens.leave(LATER, "a")]
    return script(f"idle-members.{strategy}", strategy, members("abcd"), few, partitions=(3,))


def joins_and_leaves() -> Iterator[Script]:
    """Members come and go, one at a time and together."""
    yield from map(join_leave, CLASSIC + SERVER)
    for strategy in ONE_OF_EACH:
        gone = [happens.leave(LATER, "a"), happens.leave(LATER + 300, "d")]
        yield two_at_once(strategy, *gone)
    for strategy in ("range", "server-uniform"):
        all_leave = [happens.leave(JOINS, "a"), happens.leave(JOINS + 300, "b")]
        back = [happens.back(LATER, "b"), happens.back(LATER + 300, "a")]
        name, lasts_ms = f"empty-for-a-while.{strategy}", LATER + 9_000
        yield script(name, strategy, members("ab"), [*all_leave, *back], lasts_ms=lasts_ms)
    yield from map(idle_members, ONE_PER_PROTOCOL)
    for strategy in ("cooperative-sticky", "server-uniform"):
        many = [happens.leave(JOINS, "c"), happens.join(LATER, Member("i"))]
        eight = members("abcdefgh", apart_ms=240)
        yield script(f"eight-members.{strategy}", strategy, eight, many, partitions=(13, 8, 6))


def crash(strategy: str, client: str = "") -> Script:
    """A process is killed, and comes back when its session is over."""
    actions = [happens.crash(JOINS, "b"), happens.back(JOINS + 10_000, "b")]
    return usual("crash", strategy, actions, client)


def crashes() -> Iterator[Script]:
    """A process is killed, or it stands still longer than its session."""
    yield from map(crash, ONE_OF_EACH)
    yield from map(freeze, ONE_PER_PROTOCOL)


def freeze(strategy: str, client: str = "") -> Script:
    """A process stands still longer than its session."""
    actions = [happens.freeze(JOINS, "b", for_ms=9_000)]
    return usual("freeze", strategy, actions, client, lasts_ms=JOINS + 15_000)


def stall_too_long(strategy: str, client: str = "") -> Script:
    """An application does not poll for longer than it may."""
    actions = [happens.stall(JOINS, "b", for_ms=9_000)]
    how = {"lasts_ms": JOINS + 15_000, "max_poll_interval_ms": 6_000}
    return usual("stall-too-long", strategy, actions, client, **how)


def former_leader(strategy: str) -> Script:
    """The leader, who reads one of two topics, does not poll for longer than it may."""
    name = f"former-leader.{strategy}"
    who = [Member("a", topics=[f"{name}-0"]), Member("b", start_ms=STAGGER_MS)]
    how = {"max_poll_interval_ms": 6_000, "metadata_max_age_ms": 1_000}
    actions = [happens.stall(JOINS, "a", for_ms=9_000)]
    return script(name, strategy, who, actions, lasts_ms=JOINS + 15_000, **how)


def join_during_stall(strategy: str) -> Script:
    wait = [happens.stall(JOINS, "a", for_ms=5_000), happens.join(JOINS + 500, Member("d"))]
    return usual("join-during-stall", strategy, wait, lasts_ms=JOINS + 10_000)


def stalls() -> Iterator[Script]:
    """An application does not poll: longer than it may, or while another member joins."""
    yield from map(stall_too_long, ("sticky", "cooperative-sticky", "server-uniform"))
    yield from map(former_leader, ("range", "cooperative-sticky"))
    yield from map(join_during_stall, ONE_PER_PROTOCOL)
    given = [happens.stall(JOINS, "b", for_ms=9_000), happens.leave(JOINS + 500, "a")]
    how = {"lasts_ms": JOINS + 15_000, "max_poll_interval_ms": 6_000}
    yield usual("given-while-stalled", "server-uniform", given, **how)
    back = [
        happens.stall(JOINS, "a", for_ms=4_000),
        happens.join(JOINS + 500, Member("d")),
        happens.leave(JOINS + 2_500, "d"),
    ]
    yield usual("given-back-while-stalled", "server-uniform", back, lasts_ms=JOINS + 8_000)


def static_restart(strategy: str, client: str = "") -> Script:
    """A static member is back within its session."""
    actions = [happens.leave(JOINS, "b"), happens.back(JOINS + 2_000, "b")]
    return usual("static-restart", strategy, actions, client, static=True)


def static_members() -> Iterator[Script]:
    """Static members restart: back within their session, back too late, one after the other."""
    for strategy in ONE_PER_PROTOCOL:
        yield static_restart(strategy)
        late = [happens.leave(JOINS, "b"), happens.back(JOINS + 10_000, "b")]
        yield usual("static-too-late", strategy, late, static=True)
    for strategy in ("cooperative-sticky", "server-uniform"):
        yield usual("static-rollout", strategy, rollout("abc"), static=True)


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


def restarts(strategy: str, client: str = "") -> Script:
    """All members restart, one after the other."""
    return usual("rollout", strategy, rollout("abc"), client)


def rollouts() -> Iterator[Script]:
    """All members restart, or are replaced: by members of another strategy too, in two bounces."""
    yield from map(restarts, ONE_OF_EACH)
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


def moves(names: str, strategy: str, at_ms: int = JOINS) -> list[Action]:
    """The members restart with a strategy of the other protocol."""
    return rollout(names, at_ms, away_ms=3_500, every_ms=8_500, strategies=[strategy])


def migrate(strategy: str, client: str = "") -> Iterator[Script]:
    """All members restart with the other protocol."""
    server, up, down = "server-uniform", f"migrate-up.{strategy}", f"migrate-down.{strategy}"
    yield script(up, strategy, members("abc"), moves("abc", server), client=client)
    yield script(down, server, members("abc"), moves("abc", strategy), client=client)


def migrations() -> Iterator[Script]:
    """Members restart with the other protocol: all, or some and then back; and too early."""
    server = "server-uniform"
    for strategy in ("range", "cooperative-sticky"):
        yield from migrate(strategy)
        there_and_back = [*moves("a", server), *moves("a", strategy, JOINS + 8_500)]
        yield usual("migrate-half-way", strategy, there_and_back)
    yield usual("migrate-static-up", "range", moves("abc", server), static=True)
    static, down = members("abc", static=True), moves("abc", "range")
    yield script("migrate-static-down.range", server, static, down)
    grown = happens.add_partitions(JOINS, "migrate-static-grown.range-0", 9)
    later = moves("ab", server, JOINS + 3_000)
    yield usual("migrate-static-grown", "range", [grown, *later], static=True)
    early = [happens.join(600, Member("b", strategies=[server]))]
    yield script("migrate-too-early.range", "range", members("a"), early, lasts_ms=JOINS)


SOON = MappingProxyType({"metadata_max_age_ms": 2_000})


def partitions_added(strategy: str, client: str = "") -> Script:
    name = named("partitions-added", strategy, client)
    grown = [happens.add_partitions(JOINS, f"{name}-0", 10)]
    return usual("partitions-added", strategy, grown, client, **SOON)


def pattern(strategy: str) -> Script:
    """A topic is created that a pattern matches."""
    name = f"pattern.{strategy}"
    created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
    return script(name, strategy, members("abc", pattern=f"{name}-.*"), created, **SOON)


def server_pattern(what: str, in_client: bool, client: str = "") -> Script:
    """A topic is created that a pattern matches, under KIP-848."""
    name = named(what, "server-uniform", client)
    created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
    who = members("abc", pattern=f"{name}-.*", client_pattern=in_client)
    lasts_ms = JOINS + 15_000
    return script(name, "server-uniform", who, created, lasts_ms=lasts_ms, client=client, **SOON)


def patterns_both_ways() -> Script:
    """One member resolves the pattern itself, for the others the coordinator does."""
    name = "patterns-both-ways.server-uniform"
    read = f"{name}-.*"
    who = [
        Member("a", pattern=read, client_pattern=True),
        Member("b", pattern=read, start_ms=STAGGER_MS),
    ]
    comes = [happens.join(JOINS, Member("c", pattern=read))]
    return script(name, "server-uniform", who, comes, partitions=(9, 6))


def another_topic_first() -> Script:
    """A topic is created that nobody reads, and soon after it one that the pattern matches."""
    name = "another-topic-first.server-uniform"
    created = [
        happens.create_topic(at, Topic(topic, 3))
        for at, topic in ((LATER, "another-topic"), (LATER + 3_000, f"{name}-9"))
    ]
    who = members("abc", pattern=f"{name}-.*")
    return script(name, "server-uniform", who, created, lasts_ms=LATER + 18_000)


def all_it_had_deleted(what: str, in_client: bool) -> Script:
    """A topic is deleted, and a member has partitions of no other one."""
    name = f"all-it-had-deleted.{what}"
    read = f"{name}-.*"
    who = members("ab", pattern=read, client_pattern=in_client)
    changes = [
        happens.delete_topic(JOINS, f"{name}-0"),
        happens.join(LATER, Member("c", pattern=read)),
    ]
    return script(name, "server-uniform", who, changes, partitions=(2, 2), **SOON)


def topic_deleted(strategy: str, client: str = "") -> Script:
    deleted = happens.delete_topic(JOINS, f"{named('topic-deleted', strategy, client)}-1")
    return usual("topic-deleted", strategy, [deleted], client)


def topic_comes_late(strategy: str) -> Script:
    """A topic is created that members name already."""
    name = f"topic-comes-late.{strategy}"
    read = [f"{name}-0", f"{name}-9"]
    created = [happens.create_topic(JOINS, Topic(f"{name}-9", 5))]
    return script(name, strategy, members("abc", topics=read), created, **SOON)


def topics_looked_at(strategy: str) -> Iterator[Script]:
    """A topic grows, or is gone, before members look at their topics; meanwhile one comes."""
    grown, gone = (f"{what}-before-a-look.{strategy}" for what in ("grown", "gone"))
    for name, change in (
        (grown, happens.add_partitions(JOINS, f"{grown}-0", 10)),
        (gone, happens.delete_topic(JOINS, f"{gone}-1")),
    ):
        comes = happens.join(JOINS + 3_000, Member("d"))
        yield script(
            name, strategy, members("abc"), [change, comes], lasts_ms=JOINS + 25_000,
            metadata_max_age_ms=10_000,
        )  # fmt: skip


def topics_change() -> Iterator[Script]:
    """Partitions are added, topics are created: read by name, or matched by a pattern."""
    yield from map(partitions_added, ONE_OF_EACH)
    yield from map(pattern, ("range", "cooperative-sticky"))
    yield server_pattern("client-pattern", True)
    yield server_pattern("broker-pattern", False)
    yield patterns_both_ways()
    yield another_topic_first()
    yield from map(topic_deleted, ONE_OF_EACH)
    yield all_it_had_deleted("client-pattern", True)
    yield all_it_had_deleted("broker-pattern", False)
    yield from map(topic_comes_late, ONE_PER_PROTOCOL)


def subscribe(strategy: str) -> Script:
    """A member reads one topic less, then both again."""
    one, other = (f"subscribe.{strategy}-{i}" for i in range(2))
    changes = [happens.subscribe(JOINS, "b", [one]), happens.subscribe(LATER, "b", [one, other])]
    return usual("subscribe", strategy, changes)


def subscriptions() -> Iterator[Script]:
    """Members read different topics, and change what they read."""
    yield from map(subscribe, ONE_OF_EACH)
    for strategy in (*ONE_OF_EACH, "roundrobin"):
        name = f"different.{strategy}"
        both, one = [f"{name}-0", f"{name}-1"], [f"{name}-1"]
        who = [*members("ab", topics=both), replace(*members("c", topics=one), start_ms=1_200)]
        joins = happens.join(JOINS, Member("d", topics=[f"{name}-0"]))
        yield script(name, strategy, who, [joins, happens.leave(LATER, "a")])
    yield from map(only_reader_leaves, ONE_PER_PROTOCOL)
    away = [
        happens.unsubscribe(JOINS, "b"),
        happens.leave(JOINS + 3_000, "b"),
        happens.back(JOINS + 6_000, "b"),
    ]
    yield usual("unsubscribe-and-close", "server-uniform", away)
    yield from map(unsubscribes_in_rebalance, ("range", "sticky"))


def unsubscribes_in_rebalance(strategy: str) -> Script:
    """A static member that waits for a join gives everything up, and subscribes to less."""
    what = "unsubscribe-in-rebalance"
    changes = [
        happens.stall(JOINS, "c", for_ms=6_000),
        happens.enforce_rebalance(JOINS + 300, "b"),
        happens.unsubscribe(JOINS + 2_500, "b"),
        happens.subscribe(JOINS + 4_000, "b", [f"{what}.{strategy}-1"]),
    ]
    return usual(what, strategy, changes, static=True, lasts_ms=JOINS + 8_500)


def only_reader_leaves(strategy: str) -> Script:
    """The member leaves that alone reads a topic; the other one looks at its metadata soon."""
    name = f"only-reader-leaves.{strategy}"
    both, one = [f"{name}-0", f"{name}-1"], [f"{name}-0"]
    who = [Member("a", topics=one), Member("b", topics=both, start_ms=STAGGER_MS)]
    # The leader looks after 5 s, at the first rebalance, and 5 s later: with neither that nor the leave.
    leaves = [happens.leave(JOINS - 1_500, "b")]
    return script(name, strategy, who, leaves, metadata_max_age_ms=5_000)


def mixed(strategy: str, other: str, client: str = "") -> Script:
    """Members of Java's client and of another one in a group, and one of each comes and goes."""
    theirs: dict[str, Any] = {"strategies": [other], "client": client}
    others = [Member("c", start_ms=2 * STAGGER_MS, **theirs)]
    changes = [
        happens.join(JOINS, Member("d", **theirs)),
        happens.leave(LATER, "a"),
        happens.leave(LATER + 7_000, "c"),
    ]
    return script(named("mixed", other, client), strategy, [*members("ab"), *others], changes)


def other_clients() -> Iterator[Script]:
    """librdkafka, kafka-python and aiokafka, alone and beside Java's client."""
    for client, sticky in (
        ("librdkafka", "cooperative-sticky"), ("kafka-python", "sticky"), ("aiokafka", "sticky"),
    ):  # fmt: skip
        both = [f"{client}-{kind}" for kind in ("range", sticky)]
        yield from map(join_leave, [*both, f"{client}-roundrobin"])
        for what in (
            crash, freeze, stall_too_long, restarts, static_restart, partitions_added, pattern,
            topic_deleted, subscribe,
        ):  # fmt: skip
            yield from map(what, both)
        yield mixed("range", both[0])
        if client == "librdkafka":
            yield from map(topic_comes_late, both)
            yield from map(handed_out, both)
            for strategy in both:
                yield from topics_looked_at(strategy)
    cooperative = "kafka-python-cooperative-sticky"
    for what in (join_leave, restarts):
        yield what(cooperative)
    yield mixed("cooperative-sticky", "librdkafka-cooperative-sticky")
    yield mixed("cooperative-sticky", cooperative)
    for what in (
        join_leave, crash, stall_too_long, restarts, static_restart, partitions_added,
    ):  # fmt: skip
        yield what("server-uniform", "librdkafka")
    yield server_pattern("broker-pattern", False, "librdkafka")
    for kind in ("range", "cooperative-sticky"):
        yield from migrate(f"librdkafka-{kind}", "librdkafka")


def instance_taken(strategy: str) -> Script:
    """Another process comes with the instance id of one that lives."""
    takes_over = [happens.join(JOINS, Member("x", instance="instance-b"))]
    return usual("instance-taken", strategy, takes_over, static=True)


def static_leader_grown(strategy: str) -> Script:
    """A topic grows after a static leader has come back."""
    grown = [
        happens.leave(JOINS, "a"),
        happens.back(JOINS + 1_000, "a"),
        happens.add_partitions(LATER, f"static-leader-grown.{strategy}-0", 10),
    ]
    return usual("static-leader-grown", strategy, grown, static=True, **SOON)


def in_rebalance(what: str, strategy: str, of_java: str, does: Action) -> Script:
    """Java's member keeps a rebalance open that those of another client have joined; one of them does
    something."""
    who = [Member("a", strategies=[of_java]), *members("abc")[1:]]
    kept, joins = happens.stall(JOINS, "a", for_ms=9_000), happens.join(JOINS + 500, Member("d"))
    name = f"{what}.{strategy}"
    return script(name, strategy, who, [kept, joins, does], lasts_ms=JOINS + 17_000)


def closes_in_rebalance(strategy: str, of_java: str) -> Script:
    closes = happens.leave(JOINS + 4_000, "b")
    return in_rebalance("close-in-rebalance", strategy, of_java, closes)


def subscribes_in_rebalance(strategy: str, of_java: str) -> Script:
    what = "subscribe-in-rebalance"
    subscribes = happens.subscribe(JOINS + 4_000, "b", [f"{what}.{strategy}-0"])
    return in_rebalance(what, strategy, of_java, subscribes)


def of_librdkafka() -> Iterator[Script]:
    """What members of librdkafka meet while their application is at work, or has nothing to read."""
    eager, cooperative = "librdkafka-range", "librdkafka-cooperative-sticky"
    busy, how = happens.stall(JOINS, "b", for_ms=9_000), {"max_poll_interval_ms": 6_000}
    joins = happens.join(JOINS + 500, Member("d"))
    name = f"late-without-partitions.{cooperative}"
    stalls = [happens.stall(JOINS, "c", for_ms=9_000)]
    yield script(name, cooperative, members("abc"), stalls, (2,), JOINS + 16_000, **how)
    yield script(
        f"late-with-news.{cooperative}", cooperative, members("abc"), [busy, joins], (7,),
        JOINS + 23_000, **how,
    )  # fmt: skip
    again = happens.join(JOINS + 4_500, Member("e"))
    name = f"two-join-one-at-work.{cooperative}"
    yield script(name, cooperative, members("abc"), [busy, joins, again], lasts_ms=JOINS + 21_000)
    for strategy, of_java in ((eager, "range"), (cooperative, "cooperative-sticky")):
        yield closes_in_rebalance(strategy, of_java)
        yield subscribes_in_rebalance(strategy, of_java)
        name = f"last-topic-deleted.{strategy}"
        who = [*members("ab"), Member("c", topics=[f"{name}-1"], start_ms=2 * STAGGER_MS)]
        deleted = [happens.delete_topic(JOINS, f"{name}-1")]
        yield script(name, strategy, who, deleted, lasts_ms=JOINS + 17_000, **SOON)
        name = f"pattern-before-a-look.{strategy}"
        created = happens.create_topic(JOINS, Topic(f"{name}-9", 3))
        comes = happens.join(JOINS + 1_500, Member("d", pattern=f"{name}-.*"))
        yield script(
            name, strategy, members("abc", pattern=f"{name}-.*"), [created, comes], (4,),
            JOINS + 21_000, metadata_max_age_ms=16_000,
        )  # fmt: skip
        static = how | {"who": members("abc", static=True)}
        yield with_records("late-static", strategy, "auto", [busy], JOINS + 21_000, **static)


def of_aiokafka() -> Iterator[Script]:
    """What members of aiokafka meet while their application is at work, in a rebalance, with a list of
    strategies, and where others take their place."""
    strategy = "aiokafka-range"
    yield join_during_stall(strategy)
    lists = [happens.join(JOINS, Member("d")), happens.leave(LATER, "b")]
    who = members("abc", strategies=[strategy, "aiokafka-sticky"])
    yield script("lists.aiokafka", [strategy, "aiokafka-sticky"], who, lists)
    yield closes_in_rebalance(strategy, "range")
    yield subscribes_in_rebalance(strategy, "range")
    yield instance_taken(strategy)
    yield static_leader_grown(strategy)
    deleted = [happens.delete_topic(JOINS, f"topic-deleted-commit-auto.{strategy}-1")]
    yield with_records("topic-deleted", strategy, "auto", deleted, JOINS + 20_000)
    yield late(strategy)
    yield from topics_looked_at(strategy)
    yield topic_comes_late(strategy)
    yield only_reader_leaves(strategy)
    yield handed_out(strategy)


def of_kafka_python() -> Iterator[Script]:
    """What members of kafka-python meet while their application is at work, in a rebalance, where topics are
    not all members', and where they commit; and its cooperative members."""
    strategy, cooperative = "kafka-python-range", "kafka-python-cooperative-sticky"
    for kind, of_java in ((strategy, "range"), (cooperative, "cooperative-sticky")):
        yield join_during_stall(kind)
        yield closes_in_rebalance(kind, of_java)
        stalls = happens.stall(JOINS + 4_000, "b", for_ms=8_000)
        yield in_rebalance("stall-in-rebalance", kind, of_java, stalls)
        yield subscribes_in_rebalance(kind, of_java)
        deleted = [happens.delete_topic(JOINS, f"topic-deleted-commit-auto.{kind}-1")]
        yield with_records("topic-deleted", kind, "auto", deleted, JOINS + 20_000)
        yield late(kind)
        yield with_records("join", kind, "auto", [happens.join(JOINS, Member("d"))])
        yield only_reader_leaves(kind)
    yield instance_taken(strategy)
    name = f"unsub-static.{strategy}"
    less = [happens.unsubscribe(JOINS, "b"), happens.subscribe(JOINS + 2_000, "b", [f"{name}-0"])]
    yield script(name, strategy, members("ab", static=True), less, lasts_ms=JOINS + 5_000)
    yield static_leader_grown(strategy)
    yield from topics_looked_at(strategy)
    yield topic_comes_late(strategy)
    for what in (
        crash, freeze, stall_too_long, static_restart, partitions_added, pattern, topic_deleted, subscribe,
    ):  # fmt: skip
        yield what(cooperative)


def of_sarama() -> Iterator[Script]:
    """Members of Sarama come, go, stand still, and are at work while others come; topics change."""
    strategy, other = "sarama-range", "sarama-roundrobin"
    for what in (join_leave, crash, restarts, partitions_added):
        yield from map(what, (strategy, other))
    for what in (
        freeze, stall_too_long, static_restart, topic_deleted, subscribe, topic_comes_late,
        only_reader_leaves, handed_out,
    ):  # fmt: skip
        yield what(strategy)
    yield join_leave("sticky", "sarama")
    yield mixed("range", strategy)
    yield mixed("roundrobin", other)
    yield two_at_once(strategy)
    yield join_during_stall(strategy)
    kept = [happens.stall(JOINS, "a", for_ms=9_000), happens.join(JOINS + 500, Member("d"))]
    how = {"max_poll_interval_ms": 6_000}
    yield usual("late-in-rebalance", strategy, kept, lasts_ms=JOINS + 17_000, **how)
    yield closes_in_rebalance(strategy, "range")
    late = [happens.leave(JOINS, "b"), happens.back(JOINS + 10_000, "b")]
    yield usual("static-too-late", strategy, late, static=True)
    yield instance_taken(strategy)
    yield static_leader_grown(strategy)
    name = f"topic-deleted-soon.{strategy}"
    gone = happens.delete_topic(JOINS, f"{name}-1")
    yield script(name, strategy, members("abc"), [gone], lasts_ms=JOINS + 17_000, **SOON)
    yield with_records("join", strategy, "auto", [happens.join(JOINS, Member("d"))])


def takes_over_while_idle(strategy: str, client: str) -> Script:
    """What a member takes over has records, and what it had has none."""
    name = named("takes-over-while-idle-commit-auto", strategy, client)
    read = [Topic(f"{name}-0", 1), Topic(f"{name}-1", 1, 20.0)]
    who = [Member("a"), Member("b", topics=[f"{name}-1"], start_ms=STAGGER_MS)]
    scenario = Scenario(read, who, [happens.leave(JOINS, "b")], JOINS + 12_000)
    settings = {
        "commit": "auto", "auto_commit_interval_ms": 3_000, "auto_offset_reset": "earliest",
        "fetch_max_wait_ms": 5_000,
    }  # fmt: skip
    return Script(name, (strategy,), scenario, dict(USUAL) | settings, client)


def of_franz_go() -> Iterator[Script]:
    """Members of franz-go come, go, stand still, and are at work while others come; topics change."""
    strategy, (cooperative, client) = "franz-go-range", ("cooperative-sticky", "franz-go")
    for what in (
        join_leave, crash, freeze, restarts, static_restart, partitions_added, topic_deleted,
    ):  # fmt: skip
        yield what(strategy)
        yield what(cooperative, client)
    yield join_leave("franz-go-roundrobin")
    yield join_leave("sticky", client)
    yield mixed("range", strategy)
    yield mixed(cooperative, cooperative, client)
    for one in (
        subscribe, topic_comes_late, only_reader_leaves, handed_out, instance_taken, static_leader_grown,
    ):  # fmt: skip
        yield one(strategy)
    yield closes_in_rebalance(strategy, "range")
    first = rollout("abc", strategies=[cooperative, strategy])
    again = rollout("abc", JOINS + 18_000, strategies=[cooperative])
    yield usual("upgrade", strategy, [*first, *again], client)
    yield takes_over_while_idle(cooperative, client)
    joins = happens.join(JOINS + 500, Member("d"))
    busy = happens.stall(JOINS, "a", for_ms=5_000)
    for kind, of in ((strategy, ""), (cooperative, client)):
        yield late(kind, of)
        how = {"max_poll_records": 10, "client": of, "who": members("abc", **pace("after"))}
        yield with_records("at-work", kind, "auto", [busy, joins], JOINS + 12_000, **how)


def waits(made: Script, for_ms: int) -> Script:
    """The same where a fetch waits so long for records."""
    return replace(made, settings=made.settings | {"fetch_max_wait_ms": for_ms})


def of_kafkajs() -> Iterator[Script]:
    """Members of KafkaJS come, go, stand still, and are at work while others come; topics change. What they
    hear waits for a fetch to be back: by default up to 5 s, in some groups half a second."""
    strategy, patient, quick = "kafkajs-roundrobin", 5_000, 500
    joins, leaves = happens.join(JOINS, Member("d")), happens.leave(LATER, "b")
    later = [happens.join(JOINS + 2_000, Member("d")), happens.leave(LATER + 5_000, "b")]
    dies = [happens.crash(JOINS, "b"), happens.back(JOINS + 16_000, "b")]
    grown = f"partitions-added.{strategy}"
    grows = happens.add_partitions(JOINS + 2_000, f"{grown}-0", 10)
    for made in (
        usual("join-leave", strategy, later, lasts_ms=LATER + 16_000),
        usual("crash", strategy, dies, lasts_ms=JOINS + 36_000),
        usual("rollout", strategy, rollout("ab", JOINS + 2_000, 7_000, 16_000), lasts_ms=JOINS + 37_000),
        script(grown, strategy, members("abc"), [grows], lasts_ms=JOINS + 16_000, **SOON),
        topic_deleted(strategy),
    ):  # fmt: skip
        yield waits(made, patient)
    for made in (
        usual("join-leave-quick", strategy, [joins, leaves]),
        two_at_once(strategy), freeze(strategy), pattern(strategy), only_reader_leaves(strategy),
        mixed("roundrobin", strategy),
        usual("rollout-quick", strategy, rollout("abc")),
        script(f"eight-members.{strategy}", strategy, members("abcdefgh", apart_ms=240), [leaves]),
        usual("coordinator-moves", strategy, [happens.coordinator_moves(JOINS)], lasts_ms=LATER),
        with_records("coordinator-moves", strategy, "auto", [happens.coordinator_moves(JOINS)]),
    ):  # fmt: skip
        yield waits(made, quick)
    yield waits(idle_members(strategy), 2_000)
    name = f"partitions-added-quick.{strategy}"
    grown = happens.add_partitions(JOINS, f"{name}-0", 10)
    yield waits(script(name, strategy, members("abc"), [grown], **SOON), quick)
    name = f"topic-deleted-quick.{strategy}"
    gone = happens.delete_topic(JOINS, f"{name}-1")
    yield waits(script(name, strategy, members("abc"), [gone], lasts_ms=JOINS + 40_000), quick)
    name = f"different.{strategy}"
    who = [*members("ab"), *members("c", topics=[f"{name}-1"])]
    comes = happens.join(JOINS, Member("d", topics=[f"{name}-0"]))
    yield waits(script(name, strategy, who, [comes, happens.leave(LATER, "a")]), quick)
    yield takes_over_while_idle(strategy, "")
    late = [happens.stall(JOINS, "b", for_ms=9_000)]
    yield waits(with_records("late", strategy, "auto", late, JOINS + 17_000), quick)
    for made in (
        with_records("join", strategy, "auto", [joins]),
        with_records("leave", strategy, "auto", [happens.leave(JOINS, "b")]),
        with_records("rollout", strategy, "auto", rollout("abc")),
    ):
        yield waits(made, patient)
    yield waits(script(
        f"crash-at-work-commit-auto.{strategy}", strategy, members("ab", processing_ms=400.0),
        [happens.crash(LATER, "a")], (1,), LATER + 22_000, rate=10, commit="auto",
        auto_offset_reset="earliest",
    ), quick)  # fmt: skip
    busy, soon = happens.stall(JOINS, "a", for_ms=5_000), happens.join(JOINS + 500, Member("d"))
    at_hand = happens.stall(JOINS, "b", for_ms=4_000)
    longer, slow = {"session_timeout_ms": 15_000}, members("abc", **pace("after"))
    kept, closes = happens.stall(JOINS, "a", for_ms=9_000), happens.leave(JOINS + 4_000, "b")
    for what, actions, how in (
        ("at-work", [busy, soon], {}),
        ("crash", [at_hand, happens.crash(JOINS + 4_800, "b")], {}),
        ("leave-at-work", [at_hand, happens.leave(JOINS + 4_800, "b")], {}),
        ("late-in-rebalance", [kept, soon], longer | {"max_poll_interval_ms": 6_000}),
        ("close-in-rebalance", [kept, soon, closes], longer),
    ):
        made = with_records(what, strategy, "auto", actions, JOINS + 17_000, who=slow, **how)
        yield waits(made, quick)
    name, own = f"slow-records.{strategy}", {"processing_ms": 150.0}
    late, joins = happens.stall(JOINS, "b", for_ms=9_000), happens.join(30_000, Member("d", **own))
    yield waits(script(
        name, strategy, members("abc", **own), [late, joins], (8, 8), 40_000, rate=0.7, commit="auto",
        auto_offset_reset="earliest",
    ), 2_000)  # fmt: skip
    name, joins = f"three-brokers.{strategy}", happens.join(JOINS + 2_000, Member("d"))
    moves = happens.coordinator_moves(26_000)
    yield waits(script(
        name, strategy, members("abc"), [joins, moves], (4, 2), 40_000, rate=25, commit="auto",
        auto_offset_reset="earliest",
    ), patient)  # fmt: skip


def unwatched(strategy: str) -> Iterator[Script]:
    """A topic grows, is gone or comes that members name, and nobody looks; then one joins."""
    for what, change in (
        ("grown", lambda name: happens.add_partitions(JOINS, f"{name}-0", 10)),
        ("gone", lambda name: happens.delete_topic(JOINS, f"{name}-1")),
        ("comes", lambda name: happens.create_topic(JOINS, Topic(f"{name}-9", 5))),
    ):
        name = f"{what}-unwatched.{strategy}"
        named = [f"{name}-0", f"{name}-1", *([f"{name}-9"] if what == "comes" else [])]
        joins = happens.join(LATER, Member("d", topics=named))
        yield script(name, strategy, members("abc", topics=named), [change(name), joins])


def led_by(leads: str, follows: str, lasts_ms: int) -> Script:
    """A member of one client leads, and one of another client is in its group."""
    name = f"{leads}-leads.{follows}"
    follower = Member("b", start_ms=STAGGER_MS, strategies=[follows])
    who = [Member("a", strategies=[leads]), follower]
    return script(name, leads, who, [], lasts_ms=lasts_ms)


def of_kafka_go() -> Iterator[Script]:
    """Members of kafka-go come, go, stand still, and are at work while others come; topics change. A fetch
    waits 10 s for records unless it is told otherwise, and a rebalance waits for the fetch."""
    strategy = "kafka-go-range"
    for one in _of_kafka_go(strategy, "kafka-go-roundrobin"):
        yield waits(one, 500)
    unset = {
        "session_timeout_ms": 30_000, "heartbeat_interval_ms": 3_000, "max_poll_interval_ms": 30_000,
    }  # fmt: skip
    idle = {"fetch_max_wait_ms": 10_000}
    at, later = 15_000, 40_000
    joins, leaves = happens.join(at, Member("d")), happens.leave(later, "b")
    yield usual("nothing-to-read", strategy, [joins, leaves], lasts_ms=60_000, **idle, **unset)
    yield usual("short-session", strategy, [joins], lasts_ms=50_000, **idle)
    yield led_by("range", strategy, 9_500)  # with the session of who has died of it
    name = f"sparse-records.{strategy}"
    grown = happens.add_partitions(JOINS + 300, f"{name}-0", 7)
    yield waits(script(
        name, strategy, members("abc"), [grown], (3, 2), 24_000, rate=0.5, commit="auto",
        auto_offset_reset="earliest", session_timeout_ms=10_000, heartbeat_interval_ms=3_000,
        metadata_max_age_ms=2_000,
    ), 2_000)  # fmt: skip
    yield led_by(strategy, "range", 14_000)


def _of_kafka_go(strategy: str, other: str) -> Iterator[Script]:
    for what in (join_leave, crash, restarts):
        yield from map(what, (strategy, other))
    for one in (stall_too_long, partitions_added, only_reader_leaves):
        yield one(strategy)
    yield handed_out(other)  # of range the last member has the only partition
    yield from unwatched(strategy)
    stands_still = happens.freeze(JOINS, "b", for_ms=9_000)
    yield usual("freeze", strategy, [stands_still], lasts_ms=JOINS + 20_000)
    joins, soon = (happens.join(at, Member("d")) for at in (JOINS, JOINS + 500))
    yield two_at_once(strategy)
    kept = happens.freeze(JOINS, "a", for_ms=5_000)
    closes = happens.leave(JOINS + 3_000, "b")
    yield usual("close-in-rebalance", strategy, [kept, soon, closes], lasts_ms=JOINS + 12_000)
    moves, later = happens.coordinator_moves, happens.join(LATER, Member("d"))
    twice = [moves(JOINS), later, moves(LATER + 300)]
    yield usual("coordinator-moves-again", strategy, twice, lasts_ms=LATER + 14_000)
    yield idle_members(strategy)
    at_hand, midst = happens.stall(JOINS, "b", for_ms=4_000), JOINS + 4_800
    for commit in ("auto", "before", "after"):
        yield with_records("join", strategy, commit, [joins])
        dies = [at_hand, happens.crash(midst, "b")]
        yield with_records("crash", strategy, commit, dies, midst + 10_000)
        late = [happens.stall(JOINS, "a", for_ms=9_000), soon]
        how = {"max_poll_interval_ms": 6_000}
        yield with_records("late", strategy, commit, late, JOINS + 17_000, **how)


def older_clients() -> Iterator[Script]:
    """Earlier releases of Java's client, and their members restarting with the broker's."""
    for release in ("2.8.2", "3.5.2"):
        for kind in ("range", "sticky", "cooperative-sticky"):
            for what in (join_leave, crash, restarts):
                yield what(f"{kind}@{release}")
    for kind in ("sticky", "cooperative-sticky"):
        newer = rollout("abc", strategies=[kind])
        yield script(f"upgrade.{kind}-2.8.2", f"{kind}@2.8.2", members("abc"), newer)


def pace(commit: str) -> dict[str, float]:
    """Who commits by call takes its time with every record."""
    return {} if commit == "auto" else {"processing_ms": 8.0}


def with_records(
    what: str,
    strategy: str,
    commit: str,
    actions: Sequence[Action],
    lasts_ms: int = 0,
    client: str = "",
    who: Sequence[Member] = (),
    **settings,
) -> Script:
    """A group that reads records and commits, of members a, b and c if not others."""
    name = named(f"{what}-commit-{commit}", strategy, client)
    return script(
        name, strategy, who or members("abc", **pace(commit)), actions, (4, 2), lasts_ms, client,
        rate=25, commit=commit, auto_commit_interval_ms=3_000, auto_offset_reset="earliest", **settings,
    )  # fmt: skip


def late(strategy: str, client: str = "") -> Script:
    """A member that commits automatically does not poll for longer than it may."""
    stalls = [happens.stall(JOINS, "b", for_ms=9_000)]
    how = {"max_poll_interval_ms": 6_000}
    return with_records("late", strategy, "auto", stalls, JOINS + 17_000, client, **how)


def deliveries() -> Iterator[Script]:
    """Records are delivered while members crash, stall, come and go, for each way to commit.

    A batch is large, and takes its time, after a stall:
    then a crash or another stall comes in its midst.
    """
    at_hand, midst = happens.stall(JOINS, "b", for_ms=4_000), JOINS + 4_800
    for strategy in ("range", "server-uniform"):
        crash = [happens.crash(JOINS, "b")]
        yield with_records("crash", strategy, "auto", crash, JOINS + 10_000)
        crash = [at_hand, happens.crash(midst, "b")]
        for commit in ("after", "before"):
            yield with_records("crash", strategy, commit, crash, midst + 10_000)
        yield with_records("crash", strategy, "transaction", crash, midst + 10_000)
        stall = [at_hand, happens.stall(midst, "b", for_ms=9_000)]
        for commit in ("after", "before", "transaction"):
            yield with_records(
                "stall", strategy, commit, stall, midst + 17_000, max_poll_interval_ms=6_000
            )
        freeze = [at_hand, happens.freeze(midst, "b", for_ms=9_000)]
        yield with_records("freeze", strategy, "after", freeze, midst + 17_000)
        yield with_records("leave", strategy, "auto", [happens.leave(JOINS, "b")])
    for strategy in ("range", "cooperative-sticky"):
        joins = [happens.join(JOINS, Member("d"))]
        yield with_records("join", strategy, "auto", joins)
    for strategy in ("cooperative-sticky", "server-uniform"):
        wait = [
            happens.stall(JOINS, "a", for_ms=5_000),
            happens.join(JOINS + 500, Member("d", processing_ms=8.0)),
        ]
        yield with_records("join-during-stall", strategy, "after", wait, JOINS + 12_000)
        yield with_records("rollout", strategy, "auto", rollout("abc"))


def handed_out(strategy: str) -> Script:
    """A record is at work for longer than automatic commits are apart when its member crashes; the other
    member has nothing before."""
    return script(
        f"crash-at-work-commit-auto.{strategy}", strategy, members("ab", processing_ms=2_500.0),
        [happens.crash(LATER, "a")], (1,), LATER + 20_000, rate=1, commit="auto",
        auto_commit_interval_ms=1_000, auto_offset_reset="earliest", max_poll_records=1,
    )  # fmt: skip


def backlogs() -> Iterator[Script]:
    """What a member that stalled finds at hand takes it some polls: two of them crash in the first large
    batch, or another one joins, or that batch lasts longer than the poll interval leaves."""
    goes_on = JOINS + 5_000
    stalls = [happens.stall(JOINS, name, for_ms=5_000) for name in "bc"]
    crashes = [happens.crash(goes_on + 200 + 50 * i, name) for i, name in enumerate("bc")]
    joins = [happens.join(goes_on + 300, Member("d"))]
    who = [*members("a"), *members("abc", **pace("after"))[1:]]
    for strategy in ("range", "server-uniform"):
        for what, actions, fields in (
            ("crash", [*stalls, *crashes], {"max_poll_records": 50}),
            ("join", [stalls[0], *joins], {"max_poll_records": 50}),
            ("stall", stalls[:1], {"max_poll_interval_ms": 6_000}),
        ):
            yield with_records(
                f"{what}-at-hand", strategy, "auto", actions, goes_on + 12_000, who=who, **fields
            )


def coordinator_moves() -> Iterator[Script]:
    """Another broker becomes the coordinator: of a group at rest, and while something happens."""
    moves, what = happens.coordinator_moves, "coordinator-moves"
    for strategy in ONE_PER_PROTOCOL:
        twice = [moves(JOINS), moves(LATER), moves(LATER + 200)]
        yield usual(what, strategy, twice)
        joins = [happens.join(JOINS, Member("d")), moves(JOINS + 300)]
        leaves = [happens.leave(LATER, "a"), moves(LATER + 300)]
        yield usual(f"{what}-in-rebalance", strategy, [*joins, *leaves])
        # Whoever leaves before its next heartbeat says so to the broker before.
        leaves = [moves(JOINS + 400), happens.leave(JOINS + 700, "b")]
        yield usual(f"{what}-leave", strategy, leaves, lasts_ms=JOINS + 12_000)
        dies = [happens.crash(JOINS, "b"), moves(JOINS + 3_500)]
        yield usual(f"{what}-crash", strategy, dies, lasts_ms=JOINS + 13_000)
        away = [happens.leave(JOINS, "b"), moves(JOINS + 3_500), happens.back(JOINS + 8_000, "b")]
        yield usual(f"{what}-static", strategy, away, static=True)
    for strategy, commit in (
        ("range", "auto"), ("range", "before"), ("range", "transaction"),
        ("cooperative-sticky", "after"), ("server-uniform", "auto"), ("server-uniform", "after"),
    ):  # fmt: skip
        joins = happens.join(LATER, Member("d", **pace(commit)))
        yield with_records(what, strategy, commit, [moves(JOINS), joins, moves(LATER + 300)])
    again = LATER + 7_000
    for strategy in ONE_PER_PROTOCOL:
        changes = [moves(JOINS), happens.join(again, Member("d")), moves(again + 300)]
        yield replace(usual("broker-restarts", strategy, changes), restarts=True)
    for strategy in ("range", "server-uniform"):
        joins = happens.join(again, Member("d", **pace("after")))
        changes = [moves(JOINS), joins, moves(again + 300)]
        yield replace(with_records("broker-restarts", strategy, "after", changes), restarts=True)


def all_scripts() -> Iterator[Script]:
    for some in (
        joins_and_leaves, crashes, stalls, static_members, rollouts, migrations, topics_change,
        subscriptions, other_clients, of_librdkafka, of_aiokafka, of_kafka_python, of_sarama, of_franz_go,
        of_kafka_go, of_kafkajs, older_clients, deliveries, backlogs, coordinator_moves,
    ):  # fmt: skip
        yield from some()


SCRIPTS = {one.name: one for one in all_scripts()}
"""All scripts, by name."""


def for_release(release: str) -> list[Script]:
    """The scripts of a broker of this release.

    Before 4.0 none of the consumer protocol; older clients of Java's on the oldest broker, other
    clients on the newest, and on those between what depends on the broker most: KIP-848. Groups
    that read records on the newest.
    """
    old, new = release.startswith("3."), release == NEWEST
    return [
        one
        for one in SCRIPTS.values()
        if not (old and one.server)
        and (old or "@" not in one.strategies[0])
        and (new or not one.others or one.server)
        and (new or not one.rates)
    ]
