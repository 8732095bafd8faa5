"""Settings by Kafka's names, with underscores, and their defaults; all times in milliseconds.

One :class:`Config` serves every protocol; each reads its own settings. What has no counterpart in
Kafka says so.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Any

import numpy as np

from assignlab.errors import AssignlabError, UnknownRelease, refuse_unknown
from assignlab.releases import NEWEST_LINE, of_kafka, version

COMMITS = ("auto", "after", "before", "transaction", "none")
"""When a consumer commits; see :attr:`Config.commit`."""

WAKES = ("timeout", "at once", "backoff")
"""What ends a wait in poll for records; see :attr:`Config.poll_wakes`."""

MOST = 2**53
"""Of any number: integers up to here are exact as a float, too, and their sums fit 64 bits."""

LEAST = MappingProxyType(
    {
        "heartbeat_interval_ms": 1,
        "max_poll_interval_ms": 1,
        "max_poll_records": 1,
        "fetch_min_records": 1,
        "group_consumer_heartbeat_interval_ms": 1,
        "metadata_max_age_ms": 1,
        "retry_backoff_ms": 1,
        "auto_commit_interval_ms": 1,
        "group_consumer_regex_refresh_interval_ms": 10_000,
    }
)
"""What Kafka itself refuses to go below, and 1 where 0 cannot be played."""
SESSIONS = (
    "session_timeout_ms", "group_consumer_session_timeout_ms", "zookeeper_session_timeout_ms",
)  # fmt: skip
LIMITS = MappingProxyType({"auto_commit_ahead_percent": 100} | dict.fromkeys(SESSIONS, 86_400_000))
"""What is less than :data:`MOST` at most: sessions, of which every heartbeat is played, a day."""

POLICIES = ("bidirectional", "upgrade", "downgrade", "disabled")
"""Which migrations a coordinator allows."""


class TimelineError(AssignlabError):
    """A scenario or a setting is refused: names the field, the value and what is allowed."""


class Given:
    """What a user gives in fields, each made :func:`plain`: elsewhere types are asked for."""

    def __post_init__(self):
        for name, value in vars(self).items():
            object.__setattr__(self, name, plain(value))


def plain(value: Any) -> Any:
    """A number of NumPy as Python's own, what can be read once as a tuple; else as it is."""
    if isinstance(value, Iterator):
        return tuple(value)
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Given):
    """Settings of one group, its coordinator and its clients. Times in milliseconds.

    ``poll_timeout_ms``: the application's ``poll(Duration)``; what a KIP-848 member has to do in
    its application's thread waits for it, and polls of kafka-python await a join for so long.
    ``poll_wakes``, no setting of Kafka's but a change of 4.2 and 4.4: before which end of it a poll
    without records looks: ``timeout`` none (and heartbeats and auto commits that are due), ``at once``
    all the time (librdkafka's in any case), ``backoff`` every ``retry_backoff_ms``. Since 4.2 a poll of
    Java's does not wait for the network thread either (all but ``timeout``): where records of two
    partitions are always at hand, every other poll asks it for nothing, no commit and no new poll
    interval; and of a hundred auto commits that are due in one of the others,
    ``auto_commit_ahead_percent`` cover the records that the poll returns, which a crash then loses.

    Consumer, classic protocol: ``session_timeout_ms``, ``heartbeat_interval_ms``,
    ``max_poll_interval_ms`` (also the rebalance timeout; aiokafka's is its session, and
    it is nothing else for Sarama's, franz-go's, kafka-go's and KafkaJS's), ``max_poll_records``,
    ``metadata_max_age_ms``, ``auto_commit_interval_ms``, ``auto_offset_reset`` (``earliest``,
    ``latest``), ``fetch_min_records`` (Kafka: ``fetch.min.bytes``), ``fetch_max_wait_ms``,
    ``retry_backoff_ms``; ``retry_backoff_max_ms``, up to which looks at topics that are not there
    wait twice as long each.

    ``commit``: when the application commits. ``auto`` (``enable.auto.commit``: inside poll, every
    ``auto_commit_interval_ms``, and before a rebalance) and ``after`` (``commitSync`` when a batch
    is processed): at least once. ``before`` (``commitSync`` as soon as poll returns, then process):
    at most once. ``transaction`` (outputs and offsets in one transaction): exactly once. ``none``:
    only the rebalance listener commits, if :attr:`commit_on_revoke` is set. ``commit_interval_ms``:
    the application's ``after`` commits come at least so far apart; 0 for one per batch.
    ``commit_on_revoke``: the listener commits what is processed in ``onPartitionsRevoked``.
    ``isolation_level``: how the readers of the outputs see aborted transactions.

    Coordinator: ``group_initial_rebalance_delay_ms``; ``group_coordinator_new_enable``: the one in
    Java, as since 4.0, else the one in Scala; ``group_coordinator_append_linger_ms``: how long it gathers
    what it writes before it answers a KIP-848 heartbeat, 0 for what Kafka calls -1. No setting of
    Kafka's but a change of 3.2:
    ``group_static_leader_leads``, whether a static leader that is back in time goes on to lead; before,
    nobody watches the topics until the next rebalance (KAFKA-13435). KIP-848: ``group_consumer_*``. A
    change of 4.3: ``group_consumer_older_epochs``, whether a commit with an older member
    epoch counts for partitions that the member has had since then, ``group_consumer_new_epoch``,
    the epoch of a group before its first member's, and ``group_consumer_rejoin_for_target``:
    members of the classic protocol in a consumer group are told to join again when there is another
    target assignment; before, when the group's epoch was bumped (and a group that becomes classic with
    an old target rebalances; before, where the member that turns it subscribes to something else).
    Two of 4.4: ``group_consumer_assignor_watched``, whether the group's epoch is bumped when another
    assignor is the preferred one (KAFKA-20434), and
    ``group_consumer_empty_is_assigned``, whether the last member that goes leaves a target of its epoch
    (KAFKA-20442), so that who comes next begins a new one, and does not wait. And one of 4.0.1:
    ``group_consumer_knows_topics``, whether a classic group that becomes a consumer group knows the
    topics it has read; in 4.0.0 they are new to it, and its epoch is bumped.
    ``group_consumer_migration_policy``: which groups may turn from one protocol to the other while
    they run (``bidirectional``, ``upgrade``, ``downgrade``, ``disabled``). A change of 4.2.2 and of
    4.3.1: ``group_consumer_refuses_classic``, whether under ``disabled`` nobody joins a consumer group
    with the classic protocol. One of 4.0.2 and of 4.1.2 (KAFKA-19449): ``group_consumer_gives_back``, whether
    a member whose next target has what it just gave up gets it with that answer, not a heartbeat later.
    ``fencing``: False
    switches off every check of membership and generation of a commit, on both sides; there is no
    such switch in Kafka.

    Kafka 0.8 and MetaQ: ``zookeeper_session_timeout_ms``, ``rebalance_backoff_ms`` (0.8's
    ``rebalance.backoff.ms``, MetaQ's ``zkSyncTimeMs``), ``rebalance_max_retries``.

    Not Kafka's: ``latency_ms`` one way between any two machines; ``replication_ms`` until a record
    is below the high watermark; ``coordinator_load_ms`` until a new coordinator has loaded the
    group; ``assignment_ms`` that the leader's assignor takes; ``start_spread_ms``: how much later
    than planned the members of the scenario start, and those that restart, at most, drawn from the seed;
    those that join or return come when the action says; ``heartbeat_drift_ms``:
    likewise how much later than due every heartbeat is sent, as threads and clocks are not exact.

    Shown are the settings that are not the defaults above:

    >>> Config(session_timeout_ms=10_000)
    Config(session_timeout_ms=10000)
    """

    session_timeout_ms: int = 45_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 300_000
    max_poll_records: int = 500
    metadata_max_age_ms: int = 300_000
    auto_commit_interval_ms: int = 5_000
    auto_offset_reset: str = "latest"
    fetch_min_records: int = 1
    fetch_max_wait_ms: int = 500
    retry_backoff_ms: int = 100
    retry_backoff_max_ms: int = 1_000
    poll_timeout_ms: int = 100
    poll_wakes: str = "backoff"
    auto_commit_ahead_percent: int = 50

    commit: str = "auto"
    commit_interval_ms: int = 0
    commit_on_revoke: bool = False
    isolation_level: str = "read_committed"

    group_initial_rebalance_delay_ms: int = 3_000
    group_coordinator_new_enable: bool = True
    group_coordinator_append_linger_ms: int = 0
    group_static_leader_leads: bool = True
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_assignment_interval_ms: int = 1_000
    group_consumer_regex_refresh_interval_ms: int = 600_000
    group_consumer_older_epochs: bool = True
    group_consumer_new_epoch: int = 1
    group_consumer_rejoin_for_target: bool = True
    group_consumer_assignor_watched: bool = True
    group_consumer_empty_is_assigned: bool = True
    group_consumer_knows_topics: bool = True
    group_consumer_refuses_classic: bool = True
    group_consumer_gives_back: bool = True
    group_consumer_migration_policy: str = "bidirectional"
    fencing: bool = True

    zookeeper_session_timeout_ms: int = 6_000
    rebalance_backoff_ms: int = 2_000
    rebalance_max_retries: int = 4

    latency_ms: int = 1
    replication_ms: int = 1
    coordinator_load_ms: int = 50
    assignment_ms: int = 0
    start_spread_ms: int = 0
    heartbeat_drift_ms: int = 0

    def __repr__(self):
        given = ((field.name, getattr(self, field.name), field.default) for field in fields(self))
        told = [f"{name}={value!r}" for name, value, default in given if value != default]
        return f"Config({', '.join(told)})"

    def __post_init__(self):
        super().__post_init__()
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if type(value) is not type(field.default):
                expected = type(field.default).__name__
                raise TimelineError(f"{name}: expected {expected}, got {value!r}")
            least, most = LEAST.get(name, 0), LIMITS.get(name, MOST)
            if isinstance(value, int) and not least <= value <= most:
                raise TimelineError(f"{name}: expected {least} to {most}, got {value}")
        for name, allowed in (
            ("commit", COMMITS),
            ("poll_wakes", WAKES),
            ("auto_offset_reset", ("earliest", "latest")),
            ("group_consumer_migration_policy", POLICIES),
            ("isolation_level", ("read_committed", "read_uncommitted")),
        ):
            refuse_unknown(name, [getattr(self, name)], allowed)
        for interval, session in (
            ("heartbeat_interval_ms", "session_timeout_ms"),
            ("group_consumer_heartbeat_interval_ms", "group_consumer_session_timeout_ms"),
        ):
            given, most = getattr(self, interval), getattr(self, session)
            if given >= most:
                raise TimelineError(f"{interval}: {given} is not below {session} ({most})")


CHANGES: Mapping[str, Mapping[str, Mapping[str, object]]] = MappingProxyType(
    {
        "kafka": {
            "0.8": {
                "auto_commit_interval_ms": 60_000,
                "fetch_max_wait_ms": 100,
            },
            "0.9": {
                "auto_commit_interval_ms": 5_000,
                "session_timeout_ms": 30_000,
                "max_poll_interval_ms": 30_000,
                "max_poll_records": 2**31 - 1,
                "fetch_max_wait_ms": 500,
                "retry_backoff_max_ms": 100,
                "group_initial_rebalance_delay_ms": 0,
                "group_coordinator_new_enable": False,
                "group_coordinator_append_linger_ms": 0,
                "group_static_leader_leads": False,
                "group_consumer_migration_policy": "disabled",
                "group_consumer_assignment_interval_ms": 0,
                "group_consumer_older_epochs": False,
                "group_consumer_new_epoch": 0,
                "group_consumer_rejoin_for_target": False,
                "group_consumer_assignor_watched": False,
                "group_consumer_empty_is_assigned": False,
                "group_consumer_knows_topics": False,
                "group_consumer_refuses_classic": False,
                "group_consumer_gives_back": False,
                "poll_wakes": "timeout",
                "auto_commit_ahead_percent": 0,
            },
            "0.10.1": {
                "session_timeout_ms": 10_000,
                "max_poll_interval_ms": 300_000,
                "max_poll_records": 500,
            },
            "0.11": {"group_initial_rebalance_delay_ms": 3_000},
            "3.0": {"session_timeout_ms": 45_000},
            "3.2": {"group_static_leader_leads": True},
            "3.7": {"retry_backoff_max_ms": 1_000},
            "4.0": {
                "group_coordinator_new_enable": True,
                "group_coordinator_append_linger_ms": 5,
                "group_consumer_migration_policy": "bidirectional",
            },
            "4.0.1": {"group_consumer_knows_topics": True},
            "4.0.2": {"group_consumer_gives_back": True},
            "4.1": {"group_consumer_gives_back": False},
            "4.1.2": {"group_consumer_gives_back": True},
            "4.2": {
                "group_coordinator_append_linger_ms": 0,
                "poll_wakes": "at once",
                "auto_commit_ahead_percent": 50,
            },
            "4.2.2": {"group_consumer_refuses_classic": True},
            "4.3": {
                "group_consumer_refuses_classic": False,
                "group_consumer_assignment_interval_ms": 1_000,
                "group_consumer_older_epochs": True,
                "group_consumer_rejoin_for_target": True,
                "group_consumer_new_epoch": 1,
            },
            "4.3.1": {"group_consumer_refuses_classic": True},
            "4.4": {
                "poll_wakes": "backoff",
                "group_consumer_assignor_watched": True,
                "group_consumer_empty_is_assigned": True,
            },
        },
        "metaq": {
            "1.4": {
                "auto_offset_reset": "earliest",
                "zookeeper_session_timeout_ms": 30_000,
                "rebalance_backoff_ms": 5_000,
                "rebalance_max_retries": 7,
            },
        },
    }
)
"""Which defaults changed in which release: system -> first release -> setting -> value."""


OF_CLIENTS = (
    "session_timeout_ms", "max_poll_interval_ms", "max_poll_records", "fetch_max_wait_ms",
    "auto_commit_interval_ms", "retry_backoff_max_ms", "poll_wakes", "auto_commit_ahead_percent",
)  # fmt: skip
"""What of :data:`CHANGES` the release of Kafka's client decides, whatever the broker's is."""


def defaults(release: str = NEWEST_LINE, system: str = "kafka", **settings) -> Config:
    """The settings that a release of a system has by default, changed by ``settings``.

    One of Kafka without its last number stands for the last of its line, as in strategies' names.
    Raises :class:`~assignlab.errors.UnknownRelease` for a release of Kafka that is not known, and
    for one of another system before the first that is; :class:`TimelineError` for what is none;
    :class:`~assignlab.errors.UnknownName` for a system or a setting.

    >>> defaults("2.8").session_timeout_ms, defaults("4.4").session_timeout_ms
    (10000, 45000)
    >>> defaults("1.4", system="metaq").rebalance_max_retries
    7
    """
    refuse_unknown("system", [system], list(CHANGES))
    refuse_unknown("setting", settings, sorted(field.name for field in fields(Config)))
    wanted = _numbers(release)
    if system == "kafka":
        wanted = _numbers(of_kafka(release))
    values: dict[str, object] = {}
    for first, changed in CHANGES[system].items():
        if _numbers(first) <= wanted:
            values |= changed
    if not values:
        raise UnknownRelease(
            release, f"the first one of {system} that is known is {next(iter(CHANGES[system]))}"
        )
    return Config(**(values | settings))


def beside_default(setting: str, value_ms: float) -> str:
    """A time in seconds beside what its setting is by default, and since which release.

    >>> beside_default("session_timeout_ms", 45_000)
    "45 s, Kafka's default since 3.0"
    >>> beside_default("session_timeout_ms", 10_000)
    "10 s (Kafka's default since 3.0: 45 s)"
    """
    [*_, (since, default)] = [
        (release, changed[setting])
        for release, changed in CHANGES["kafka"].items()
        if setting in changed
    ]
    if value_ms == default:
        return f"{value_ms / 1000:g} s, Kafka's default since {since}"
    return f"{value_ms / 1000:g} s (Kafka's default since {since}: {default / 1000:g} s)"


def _numbers(release: str) -> tuple[int, ...]:
    try:
        return version(release)
    except (ValueError, AttributeError):
        raise TimelineError(
            f"release: expected numbers and dots as text, such as '3.9', got {release!r}"
        ) from None
