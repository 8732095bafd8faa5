"""Play scripts on a real broker with real consumers, several groups at a time, and record them."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import replace
from typing import Any, NamedTuple

from assignlab import assignors
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality.broker import Broker
from assignlab.reality.hosts import IN_GO, JAVA, KAFKAJS, Client, Event, Host, Inbox
from assignlab.reality.recording import Got, Recording, member_values, merged, told_of
from assignlab.reality.scripts import Script, is_server
from assignlab.timeline.scenario import Action, Member, Topic, back, leave

AT_A_TIME = 4
APART_S = 1
"""From one group's start to the next: starts are what costs a machine most."""
KNOWN_AFTER_S = 0.5
"""Until all of a broker knows of topics that were just created;
without them clients begin otherwise."""
SIGNALS = ("crash", "freeze")
"""What happens to a whole process; a member of whom it is asked has a process of its own."""


class Place(NamedTuple):
    """Where scripts are played: a broker, and per client a process that members share."""

    broker: Broker
    inbox: Inbox
    shared: dict[Client, Host]

    @property
    def admin(self) -> Host:
        """Who creates topics."""
        return self.shared[Client(JAVA, self.broker.release)]

    def have(self, do: str, done: str, **about) -> Event:
        """Tell the administrator to do something; the event that says it is done."""
        self.admin.tell(do, **about)
        event, _ = self.inbox.wait(about.get("key") or about["topic"], done)
        return event


def record(release: str, scripts: Iterable[Script]) -> Iterator[Recording]:
    """Recordings of these scripts on a broker of this release, or on as many as they ask for.

    They come as they are done. Raises :class:`~assignlab.proof.originals.OriginalsUnavailable`
    where Java, Maven or jars are missing, and at the end, if groups could not be played, with their
    names.
    """
    scripts = list(scripts)
    failed: dict[str, OriginalsUnavailable] = {}
    for kind in sorted({(script.nodes, script.alone) for script in scripts}):
        alike = [one for one in scripts if (one.nodes, one.alone) == kind]
        yield from _record(release, alike, failed)
    if failed:
        told = "; ".join(f"{name}: {reason}" for name, reason in failed.items())
        raise OriginalsUnavailable(f"not recorded: {told}")


def _record(
    release: str, scripts: Sequence[Script], failed: dict[str, OriginalsUnavailable]
) -> Iterator[Recording]:
    admin = Client(JAVA, release)
    with Broker(release, nodes=scripts[0].nodes) as broker, ExitStack() as hosts:
        inbox, shared, missing = Inbox(), {}, {}
        for client in sorted({admin}.union(*(script.clients(release) for script in scripts))):
            try:
                shared[client] = hosts.enter_context(Host(client, broker.bootstrap, inbox))
            except OriginalsUnavailable as reason:
                if client == admin:
                    raise
                missing[client] = reason
        place = Place(broker, inbox, shared)
        for client, host in shared.items():
            place.have("create", "created", topic=_warm_topic(client), partitions=1)
            _warm_up(place, client, host)
        with ThreadPoolExecutor(1 if scripts[0].alone else AT_A_TIME) as pool:
            runs = {}
            for script in scripts:
                if lacks := script.clients(release) & missing.keys():
                    failed[script.name] = missing[min(lacks)]
                    continue
                runs[pool.submit(_play, place, script)] = script.name
                time.sleep(APART_S)
            for run in as_completed(runs):
                try:
                    yield run.result()
                except OriginalsUnavailable as reason:
                    failed[runs[run]] = reason


def _play(place: Place, script: Script) -> Recording:
    return Run(place, script).record()


def _warm_topic(client: Client) -> str:
    return f"warm-{client.name}-{client.release}"


def _warm_up(place: Place, client: Client, host: Host) -> None:
    """A group that nobody records: the process has loaded its code, the broker its topics."""
    topic = _warm_topic(client)
    old = place.broker.release.startswith("3.") or client.name not in (JAVA, "librdkafka")
    protocols = ({}, {"group.protocol": "consumer"})[: 2 - old]
    for i, protocol in enumerate(protocols):
        key = f"{topic}/{id(host)}/{i}"
        settings = {"bootstrap.servers": place.broker.bootstrap, "group.id": key, **protocol}
        host.tell("prepare", key=key, settings=settings, topics=[topic])
        host.tell("start", key=key)
        place.inbox.wait(key, "assigned")
        host.tell("close", key=key)
        place.inbox.wait(key, "closed")


class Run:
    """One script on a real broker."""

    def __init__(self, place: Place, script: Script):
        self.place = place
        self.script = script
        self.began = 0
        self.made: dict[str, int] = {}
        self.ids: dict[str, str] = {}
        self.events: list[Event] = []
        self.got: list[Got] = []
        self.actions: list[dict[str, Any]] = []
        self.hosts: dict[str, Host] = {}
        self.restarting: list[Future[None]] = []
        self.members = script.scenario.processes
        signalled = {a.member for a in script.scenario.actions if a.kind in SIGNALS}
        self.own: dict[str, Host] = {name: self._own_host(name) for name in sorted(signalled)}

    def _client(self, member: Member) -> Client:
        return self.script.client_of(member, self.place.broker.release)

    def _own_host(self, name: str) -> Host:
        client = self._client(self.members[name])
        host = Host(client, self.place.broker.bootstrap, self.place.inbox)
        _warm_up(self.place, client, host)
        return host

    def record(self) -> Recording:
        """Let the script happen in real time."""
        scenario = self.script.scenario
        topics = [self._create(topic) for topic in scenario.topics]
        if self.script.restarts:
            self._move(order=[2, 3, 1])  # the first is the controller, too
        time.sleep(KNOWN_AFTER_S)
        for member in scenario.members:
            self._prepare(member)
        for member in scenario.members:
            self._wait(member.name, "ready")
        rates = self.script.rates
        if rates:
            self._create(Topic(self.outputs, 1))
            self.place.have("produce", "produces", key=self.script.name, rates=rates)
        self.began = self._now() + 100
        if rates:
            self.place.admin.tell("flow", key=self.script.name, **{"from": self.began})
        starts = {}
        plan = [(one.start_ms, one) for one in scenario.members]
        plan += [(one.at_ms, one) for action in scenario.actions for one in steps_of(action)]
        for at, planned in sorted(plan, key=lambda timed: timed[0]):
            self._sleep_until(at)
            if isinstance(planned, Member):
                starts[planned.name] = self._start(planned) - self.began
            else:
                self._act(planned)
        self._sleep_until(scenario.duration_ms)
        members = [
            member_values(self._with_made(member), starts[member.name])
            for member in scenario.members
        ]
        for name in scenario.processes:
            self._collect(name)
        duration = self._now() - self.began
        self._end()
        if rates:
            self.place.admin.tell("stop", key=self.script.name)
        for restart in self.restarting:
            restart.result()
        return {
            "name": self.script.name,
            "broker": self.place.broker.release,
            "client": ", ".join(map(str, sorted(self.script.clients(self.place.broker.release)))),
            "strategies": self.script.strategies,
            "settings": self.script.settings,
            "broker_settings": self.place.broker.settings,
            "topics": topics,
            "members": members,
            "actions": self.actions,
            "duration_ms": duration,
            "events": sorted(self.events, key=lambda event: event["at"]),
        } | ({"records": merged(self.got)} if rates else {})

    def _now(self) -> int:
        return time.time_ns() // 1_000_000

    def _sleep_until(self, at: int) -> None:
        time.sleep(max(0, self.began + at - self._now()) / 1000)

    @property
    def outputs(self) -> str:
        """The topic of what transactions write."""
        return f"{self.script.name}-outputs"

    def _key(self, name: str) -> str:
        return f"{self.script.name}/{name}"

    def _create(self, topic: Topic) -> dict[str, Any]:
        about = {"topic": topic.name, "partitions": topic.partitions}
        made = self.place.have("create", "created", **about)
        self.ids[topic.name] = made["id"]
        told = {"name": topic.name, "partitions": topic.partitions, "id": made["id"]}
        return told | ({"rate": topic.rate} if topic.rate else {})

    # ---- members -------------------------------------------------------------------------------

    def _prepare(self, member: Member) -> None:
        """A consumer that is connected and has not joined."""
        host = self.own.get(member.name, self.place.shared[self._client(member)])
        self.hosts[member.name] = host
        resolved_there = is_server(self._strategies(member)) and not member.client_pattern
        wanted = (
            {"broker_pattern" if resolved_there else "pattern": member.pattern}
            if member.pattern
            else {"topics": member.topics or [topic.name for topic in self.script.scenario.topics]}
        )
        if self.script.rates:
            wanted |= {
                "commit": self.script.settings["commit"],
                "processing_ms": member.processing_ms,
                "outputs": self.outputs,
            }
        host.tell("prepare", key=self._key(member.name), settings=self._settings(member), **wanted)

    def _start(self, member: Member) -> int:
        """Let a member join; returns the moment at which it did."""
        self.hosts[member.name].tell("start", key=self._key(member.name))
        return self._wait(member.name, "started")["at"]

    def _prepare_and_start(self, member: Member) -> int:
        self._prepare(member)
        self._wait(member.name, "ready")
        return self._start(member)

    def _settings(self, member: Member) -> dict[str, Any]:
        settings = {name.replace("_", "."): value for name, value in self.script.settings.items()}
        commit = settings.pop("commit", "none")
        settings |= {
            "bootstrap.servers": self.place.broker.bootstrap,
            "group.id": self.script.name,
            "client.id": member.name,
            "enable.auto.commit": str(commit == "auto").lower(),
        }
        if commit == "transaction":
            settings["isolation.level"] = "read_committed"  # wait for offsets that are pending
        if member.instance is not None:
            settings["group.instance.id"] = member.instance
        strategies = self._strategies(member)
        if is_server(strategies):
            for name in ("session.timeout.ms", "heartbeat.interval.ms"):
                del settings[name]
            assignor = assignors.get(strategies[0]).remote
            return settings | {"group.protocol": "consumer", "group.remote.assignor": assignor}
        found = map(assignors.get, strategies)
        by_kind = self._client(member).name in ("librdkafka", KAFKAJS, *IN_GO)
        wanted = ",".join(one.kind if by_kind else one.source for one in found)
        return settings | {"partition.assignment.strategy": wanted}

    def _strategies(self, member: Member) -> Sequence[str]:
        return member.strategies or self.script.strategies

    def _wait(self, name: str, kind: str) -> Event:
        event, before = self.place.inbox.wait(self._key(name), kind)
        self._note(name, [*before, event])
        return event

    def _with_made(self, member: Member) -> Member:
        """When its first consumer was made, too."""
        return replace(member, made_ms=self.made[member.name] - self.began)

    def _collect(self, name: str) -> None:
        self._note(name, self.place.inbox.taken(self._key(name)))

    def _note(self, name: str, events: Iterable[Event]) -> None:
        known = {event["member"]: event["id"] for event in self.events if event.get("id")}
        for event in events:
            if event["kind"] == "ready":  # nothing has happened yet
                self.made.setdefault(name, event["made"])
                continue
            if event["kind"] == "got":
                at = event["at"] - self.began
                self.got += [Got(name, at, at, *of) for of in event["ranges"]]
                continue
            event["member"] = name
            told = {**event, "at": event["at"] - self.began}
            if told.get("id", "") in ("", known.get(name)):
                told.pop("id", None)
            else:
                known[name] = told["id"]
            self.events.append(told)

    def _end(self) -> None:
        """Close who is left, so that the broker is rid of the group."""
        for name, host in self.hosts.items():
            if host in self.place.shared.values():
                host.tell("close", key=self._key(name))
        for host in self.own.values():
            host.close()

    # ---- actions -------------------------------------------------------------------------------

    def _act(self, action: Action) -> None:
        at = ACTIONS[action.kind](self, action)
        if action.kind == "join":
            action = replace(action, values=(("member", self._with_made(action["member"])),))
        told = told_of(action, at - self.began)
        if action.kind == "create_topic":
            told["id"] = self.ids[action["topic"].name]
        self.actions.append(told)

    def _do(self, action: Action, do: str, **values) -> int:
        """Tell a member to do something; returns the moment at which it begins."""
        name = str(action.member)
        self._collect(name)
        if any(event["member"] == name and event["kind"] == "fatal" for event in self.events):
            return self._now()
        self.hosts[name].tell(do, key=self._key(name), **values)
        return self._wait(name, "does")["at"]

    def _leave(self, action: Action) -> int:
        member, for_good = self.members[str(action.member)], action.get("for_good", False)
        client = self._client(member)
        if for_good and member.instance is not None and client.name != JAVA:
            raise OriginalsUnavailable(f"{client}: its static members cannot leave for good")
        return self._do(action, "close", for_good=for_good)

    def _back(self, action: Action) -> int:
        name = str(action.member)
        if name in self.own:
            self.own[name].close()
            self.own[name] = self._own_host(name)
        self.members[name] = replace(self.members[name], **action.changed)
        return self._prepare_and_start(self.members[name])

    def _crash(self, action: Action) -> int:
        at = self._now()
        self.hosts[str(action.member)].kill()
        return at

    def _freeze(self, action: Action) -> int:
        at = self._now()
        self.hosts[str(action.member)].freeze(action["for_ms"] / 1000)
        return at

    def _create_topic(self, action: Action) -> int:
        self._create(action["topic"])
        return self._now()

    def _change_topic(self, action: Action, do: str, done: str) -> int:
        return self.place.have(do, done, **dict(action.values))["at"]

    def _coordinator_moves(self, action: Action) -> int:
        if not self.script.restarts:
            return self._move()["at"]
        group = self.script.name
        node = self.place.have("leader", "leader", key=group)["node"]
        self.restarting.append(ThreadPoolExecutor(1).submit(self.place.broker.restart, node))
        return self.place.have("leader", "leader", key=group, after=node)["at"]

    def _move(self, **order) -> Event:
        """Elect another leader for the group's own partition of the offsets topic,
        while all brokers live."""
        return self.place.have("move", "moved", key=self.script.name, **order)


def steps_of(action: Action) -> list[Action]:
    """An action as it is done to a real group: a restart is a leave and a return.

    >>> from assignlab.timeline import restart
    >>> [(step.at_ms, step.kind) for step in steps_of(restart(9_000, "a", 2_000))]
    [(9000, 'leave'), (11000, 'return')]
    """
    if action.kind != "restart":
        return [action]
    name, again_ms = str(action.member), action.at_ms + action["down_ms"]
    return [leave(action.at_ms, name), back(again_ms, name, **action.changed)]


ACTIONS: dict[str, Callable[[Run, Action], int]] = {
    "join": lambda run, action: run._prepare_and_start(action["member"]),
    "leave": Run._leave,
    "crash": Run._crash,
    "return": Run._back,
    "freeze": Run._freeze,
    "stall": lambda run, action: run._do(action, "stall", ms=action["for_ms"]),
    "subscribe": lambda run, action: run._do(action, "subscribe", topics=action["topics"]),
    "unsubscribe": lambda run, action: run._do(action, "unsubscribe"),
    "enforce_rebalance": lambda run, action: run._do(action, "enforce"),
    "create_topic": Run._create_topic,
    "delete_topic": lambda run, action: run._change_topic(action, "delete", "deleted"),
    "add_partitions": lambda run, action: run._change_topic(action, "grow", "grown"),
    "coordinator_moves": Run._coordinator_moves,
}
"""How an action is done to a real group; each returns the moment at which it was."""
