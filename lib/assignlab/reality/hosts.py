"""Processes with real consumers in them: told what to do,
and telling what happens to their members.

Members that share a process are cheap; one that is to crash or to freeze has a process of its own,
which a signal ends or stops. The other side is ``oracle/reality``: ``Members.java`` for Java's
clients, ``members.py`` for librdkafka, kafka-python and aiokafka, ``members.go`` for Sarama, franz-go
and kafka-go, ``members.js`` for KafkaJS.
"""

import contextlib
import json
import queue
import signal
import subprocess
import threading
from collections import defaultdict
from typing import Any, NamedTuple

from assignlab.local.java import BRIEF
from assignlab.proof import bridges
from assignlab.proof.originals import (
    PROJECT,
    SYSTEMS,
    Closing,
    OriginalsUnavailable,
    System,
    classpath,
    java,
    one_build_at_a_time,
)
from assignlab.timeline.scenario import (
    AIOKAFKA,
    FRANZ_GO,
    KAFKA_GO,
    KAFKA_PYTHON,
    KAFKAJS,
    LIBRDKAFKA,
    OTHERS,
    SARAMA,
)

JAVA = "kafka-clients"
IN_GO = (SARAMA, FRANZ_GO, KAFKA_GO)
IN_JAVA = System(
    module="reality",
    main="assignlab.oracle.reality.Members",
    fetched=("org.apache.kafka:kafka-clients",),
)
HEAP = ("-Xms32m", "-Xmx192m", *BRIEF)
PACKAGES = {
    LIBRDKAFKA: ("confluent-kafka", ()),
    KAFKA_PYTHON: ("kafka-python", ()),
    AIOKAFKA: ("aiokafka", bridges.AIOKAFKA_NEEDS),
}
"""The clients in Python: name -> the package that brings it, in the same release, and what that needs."""
PINNED = {system.module: system.release for system in SYSTEMS if system.module in OTHERS}
"""The other clients' releases: those of their assignors here."""
WAITS_S = 120

Event = dict[str, Any]


class Client(NamedTuple):
    """A client: :data:`JAVA` or one of :data:`PINNED`, and its release."""

    name: str
    release: str

    def __str__(self) -> str:
        return f"{self.name} {self.release}"

    def command(self) -> list[str]:
        """The program with its members; fetched and built where need be."""
        if self.name == JAVA:
            return [java(), *HEAP, "-cp", classpath(IN_JAVA, self.release), IN_JAVA.main]
        folder = PROJECT / "reality"
        target = folder / "target" / self.name
        with one_build_at_a_time():
            target.mkdir(parents=True, exist_ok=True)
            try:
                if self.name in IN_GO:
                    pins, file = PROJECT / "clients" / "go", folder / "members.go"
                    return [*bridges.build_go(pins, target, self.release, file=file), self.name]
                if self.name == KAFKAJS:
                    return bridges.build_node(folder, target, self.release, "members.js")
                python, _ = bridges.build_python(folder, target, self.release, *PACKAGES[self.name])
            except bridges.BridgeFailed as failed:
                raise OriginalsUnavailable(f"{self.name}: {failed}") from failed
        return [python, str(folder / "members.py"), self.name]


class Inbox:
    """Events of all processes, sorted by the key of the member whom they concern, in order."""

    def __init__(self):
        self._queues: dict[str, queue.SimpleQueue[Event]] = defaultdict(queue.SimpleQueue)

    def put(self, event: Event) -> None:
        """Sort an event in by its key; one without a key goes to its topic's."""
        self._queues[event.pop("key", event.get("topic", ""))].put(event)

    def wait(self, key: str, kind: str) -> tuple[Event, list[Event]]:
        """The next event of this kind, and those that came before it;
        OriginalsUnavailable if none."""
        before = []
        while True:
            try:
                event = self._queues[key].get(timeout=WAITS_S)
            except queue.Empty:
                raise OriginalsUnavailable(
                    f"{key}: no {kind!r} within {WAITS_S} s, but {before}"
                ) from None
            if event["kind"] == kind:
                return event, before
            before.append(event)

    def taken(self, key: str) -> list[Event]:
        """What has come so far."""
        events = self._queues[key]
        return [events.get_nowait() for _ in range(events.qsize())]


class Host(Closing):
    """One process with consumers of one release of a client; Java's are administrators, too."""

    def __init__(self, client: Client, bootstrap: str, inbox: Inbox):
        self._process = subprocess.Popen(
            [*client.command(), bootstrap],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._client = client
        self._inbox = inbox
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self._process.stdout:
            with contextlib.suppress(json.JSONDecodeError):  # a line cut off by a kill
                self._inbox.put(json.loads(line))

    def tell(self, do: str, **values) -> None:
        """Send a command; OriginalsUnavailable if nobody is there to take it."""
        try:
            self._process.stdin.write(json.dumps({"do": do, **values}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise OriginalsUnavailable(f"{self._client}: its process is gone") from None

    def kill(self) -> None:
        """The process is gone, and all its members crash."""
        self._process.kill()

    def freeze(self, seconds: float) -> None:
        """The process stands still; the call returns at once."""
        self._process.send_signal(signal.SIGSTOP)
        timer = threading.Timer(seconds, self._process.send_signal, [signal.SIGCONT])
        timer.daemon = True
        timer.start()

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()
        with contextlib.suppress(BrokenPipeError):  # a command that nobody took
            self._process.stdin.close()
        self._process.stdout.close()
