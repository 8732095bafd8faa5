"""The originals, run from their published jars: the Python side of the Maven project ``oracle/``.

One JVM per release, kept alive, asked one JSON line at a time. Maven builds the project and fetches
the jars on first use; where it cannot, :class:`OriginalsUnavailable` says why. Clients that are not
Java have a program in their own language instead (:mod:`assignlab.proof.bridges`).

    with Originals() as originals:
        originals.ask({"strategy": "sticky@2.0", "members": [...], "topics": [...]})
"""

import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from assignlab import assignors
from assignlab.assignors.strategy import Strategy
from assignlab.errors import AssignlabError
from assignlab.local.java import BRIEF, machine_java, reason
from assignlab.local.locks import fcntl
from assignlab.proof import bridges

PROJECT = Path(__file__).resolve().parents[3] / "oracle"
BUILD_SECONDS = 600
ANSWER_SECONDS = 60
NEVER_SECONDS = 20
"""A sticky assignor that has not answered about so small a group by then is taken never to end."""
LOG_APART = ("-Xlog:disable", "-Xlog:all=warning:stderr")
"""Or warnings of the JVM, and what JAVA_TOOL_OPTIONS has it log, come between the answers."""
SMALL = 1000
"""Partitions of a small group: the slowest original answers about it in a second."""


class OriginalsUnavailable(AssignlabError):
    """The originals cannot be run here: none is known, no JDK, no Maven, the jars cannot be had."""


class OriginalTimedOut(AssignlabError):
    """The original gave no answer in the time allowed; its JVM has been ended."""


class OriginalDied(AssignlabError):
    """The JVM ended in the middle of the conversation."""


@dataclass(frozen=True)
class System:
    """One module of ``oracle/``: answers for the strategies whose ``original`` is its ``artifact``.

    ``release``: the only one that it runs; None for any that Maven has. ``fetched``: what is put on
    the class path in that release; the rest is brought by the module's own pom. ``between``:
    releases that are compared (:mod:`assignlab.proof.versions`) beside the strategies' own.
    ``others``: assignors that it answers for and that are no strategies here. ``bridged``: no JVM,
    but the client's bridge in ``oracle/clients/``.
    """

    module: str
    main: str
    artifact: str = ""
    release: str | None = None
    between: tuple[str, ...] = ()
    fetched: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    bridged: bool = False

    @property
    def strategies(self) -> tuple[str, ...]:
        """The names of all assignors that it answers for, those of ours first."""
        ours = assignors.strategies().values()
        return (*(s.name for s in ours if system_of(s) is self), *self.others)


def client(name: str, release: str, *others: str, between: tuple[str, ...] = ()) -> System:
    """A client that is not Java."""
    return System(name, name, name, release, between, others=others, bridged=True)


SYSTEMS = (
    System(
        "kafka-clients", "assignlab.oracle.kafka.KafkaClients", "kafka-clients",
        between=("3.3.2", "3.6.2", "3.7.1", "3.8.1", "3.9.2", "4.0.2", "4.1.2", "4.2.2", "4.3.0"),
        fetched=("org.apache.kafka:kafka-clients",),
    ),
    System(
        "kafka-server", "assignlab.oracle.kafkaserver.KafkaServer", "kafka-group-coordinator",
        release="4.4.0",
    ),
    System(
        "kafka-server", "assignlab.oracle.kafkaserver.EarlierRelease", "kafka-group-coordinator",
        between=("4.2.2", "4.3.0"),
        # Of the second, TopicIdPartition.hashCode decides ties, and is another one since 4.1.
        fetched=("org.apache.kafka:kafka-group-coordinator", "org.apache.kafka:kafka-server-common"),
    ),
    System("kafka-0-8", "assignlab.oracle.kafka08.Kafka08", "kafka_2.11", "0.8.2.2"),
    System(
        "kafka-0-11", "assignlab.oracle.kafka08.Kafka011", "kafka_2.11",
        between=("0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "1.0.2", "1.1.1"),
        fetched=("org.apache.kafka:kafka_2.11", "org.apache.kafka:kafka-clients"),
    ),
    System("metaq", "assignlab.oracle.metaq.MetaQ", "metamorphosis-client", "1.4.6.2"),
    System(
        "rocketmq", "assignlab.oracle.rocketmq.RocketMQ", "rocketmq-client", "5.3.3",
        between=("4.2.0", "4.7.1", "4.9.2", "4.9.8", "5.5.0"),
        fetched=("org.apache.rocketmq:rocketmq-client", "org.apache.rocketmq:rocketmq-common"),
    ),
    client("aiokafka", "0.14.0", between=("0.11.0", "0.13.0")),
    client(
        "franz-go", "1.22.2", "franz-go-sticky", "franz-go-cooperative-sticky",
        between=("1.7.0", "1.15.3", "1.22.3"),
    ),
    client("kafka-go", "0.4.51", between=("0.2.0", "0.4.47")),
    client("kafka-python", "3.0.12", between=("3.0.0", "3.0.6")),
    client("kafkajs", "2.2.4", between=("1.14.0", "2.0.2")),
    client("librdkafka", "2.15.1", between=("2.3.0", "2.6.1")),
    client("sarama", "1.61.1", "sarama-sticky", "sarama-cooperative-sticky", between=("1.60.2",)),
)  # fmt: skip


BUILT_ON = {"kafka-0-11": ("kafka-0-8",), "producers-0-8-1": ("producers-0-8",)}
"""Modules of ``oracle/`` whose code others use, beside ``common``."""


def system_of(strategy: Strategy) -> System | None:
    """The system that answers for a strategy; None where none does."""
    artifact, _, release = strategy.original.partition(":")
    found = (s for s in SYSTEMS if s.artifact == artifact and s.release in (None, release))
    return next(found, None)


def original_of(name: str) -> tuple[System, str]:
    """The system and the release that answer for a name; OriginalsUnavailable where none does."""
    for system in SYSTEMS:
        if name in system.others:
            return system, system.release
    strategy = assignors.strategies().get(name)
    system = strategy and system_of(strategy)
    if system is None:
        why = (
            f": nothing in SYSTEMS of {__name__} runs {strategy.original}"
            if strategy and strategy.original
            else ""
        )
        raise OriginalsUnavailable(f"no original is known for strategy {name!r}{why}")
    return system, strategy.original.partition(":")[2]


def has_original(strategy: str) -> bool:
    """Whether a strategy's original can be asked (where Java and Maven are there)."""
    try:
        original_of(strategy)
    except OriginalsUnavailable:
        return False
    return True


def known() -> list[str]:
    """The names of the strategies that have an original."""
    return [name for name in assignors.names() if has_original(name)]


def classpath(system: System, release: str) -> str:
    """Class path of one release; builds the module and fetches the release where need be.

    Raises what :func:`maven` raises.
    """
    target = PROJECT / system.module / "target"
    jar = target / f"oracle-{system.module}-1.jar"
    entries = [str(jar)]
    with one_build_at_a_time():
        if not jar.exists() or jar.stat().st_mtime < _newest_source(system.module):
            maven("-f", str(PROJECT / "pom.xml"), "-pl", system.module, "-am", "package")
        for artifact in system.fetched:
            name = artifact.split(":")[1]
            original = target / "releases" / f"{name}-{release}.jar"
            if not original.exists():
                what, to = (
                    f"-Dartifact={artifact}:{release}",
                    f"-DoutputDirectory={original.parent}",
                )
                maven("-f", str(PROJECT / "common" / "pom.xml"), "dependency:copy", what, to)
            entries.append(str(original))
    # The release comes first: where the module is built against the newest, that is there as well.
    entries.append(str(target / "lib" / "*"))
    return os.pathsep.join(entries)


@contextmanager
def one_build_at_a_time() -> Iterator[None]:
    """Test runs side by side must not build into the same folder at once.

    Raises :class:`OriginalsUnavailable` where there is no such folder.
    """
    if not PROJECT.is_dir():
        raise OriginalsUnavailable("the folder oracle/ is only in a checkout of the project")
    lock = PROJECT / "target" / "lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _newest_source(module: str) -> float:
    files = [PROJECT / "pom.xml"]
    for folder in ("common", module, *BUILT_ON.get(module, ())):
        files.append(PROJECT / folder / "pom.xml")
        files.extend((PROJECT / folder / "src").rglob("*.java"))
    return max(file.stat().st_mtime for file in files)


def maven(*arguments: str) -> None:
    """Run Maven; with versions that are all pinned it asks the network only for what is not there.

    Raises :class:`OriginalsUnavailable` where there is no Maven, it fails or takes too long. A program
    of ours that does not compile is another error: tests are not skipped for it.
    """
    maven = shutil.which("mvn")
    if maven is None:
        raise OriginalsUnavailable("Maven (mvn) is not on the PATH; it fetches the originals' jars")
    try:
        done = subprocess.run(
            [maven, "-q", "-B", *arguments], capture_output=True, text=True, timeout=BUILD_SECONDS,
            check=False, stdin=subprocess.DEVNULL, env={"MAVEN_OPTS": " ".join(BRIEF)} | os.environ,
        )  # fmt: skip
    except subprocess.TimeoutExpired as expired:
        raise OriginalsUnavailable(f"Maven took more than {BUILD_SECONDS} s") from expired
    if done.returncode != 0:
        if wrong := next((line for line in done.stdout.splitlines() if ".java:[" in line), None):
            raise AssignlabError(f"oracle/ does not compile: {wrong}")
        raise OriginalsUnavailable(f"Maven failed: {bridges.why(done.stdout or done.stderr)}")


@cache
def java() -> str:
    """The java command of this machine; raises :class:`OriginalsUnavailable` where none will do."""
    found, too_old = machine_java()
    if found is None:
        raise OriginalsUnavailable(f"{reason(too_old)}; the originals need 17 or later")
    return str(Path(found.home) / "bin" / "java")


def bridge(system: System, release: str) -> list[str]:
    """The command line of a client's bridge; builds it where need be.

    Raises :class:`OriginalsUnavailable` where that fails.
    """
    with one_build_at_a_time():
        try:
            return bridges.command(system.module, release, PROJECT)
        except bridges.BridgeFailed as failed:
            raise OriginalsUnavailable(f"{system.module}: {failed}") from failed


def may_never_end(document: dict[str, Any]) -> bool:
    """Whether a document is a small group whose partitions a sticky assignor may move in a loop.

    A benchmark's request names no topics: it takes long without being endless.
    """
    name = document.get("strategy", "")
    strategy = assignors.strategies().get(name)
    # Some originals are no strategies here.
    loops = strategy.may_loop if strategy else name.endswith("sticky")
    partitions = sum(topic.get("partitions", 0) for topic in document.get("topics", ()))
    return loops and 0 < partitions <= SMALL


class Closing(AbstractContextManager):
    """A context manager that closes itself at the end."""

    def __exit__(self, *raised) -> None:
        self.close()


class Original(Closing):
    """One JVM, or bridge, that runs one release; ask it one document at a time."""

    def __init__(self, system: System, release: str, java_options: tuple[str, ...] = ()):
        if system.bridged:
            self.command = bridge(system, release)
        else:
            options = java_options or ("-Xmx1g", *BRIEF)
            self.command = [java(), *LOG_APART, *options, "-cp", classpath(system, release)]
            self.command.append(system.main)
        self._start()

    def _start(self) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115, closed with the process
        self._process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._errors, bufsize=0
        )  # fmt: skip
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._unread = bytearray()

    def ask(self, request: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The answer to one document or request.

        Raises :class:`OriginalTimedOut` after ``seconds``, :class:`OriginalDied` if the JVM ended;
        an exception of the original comes back as ``{"error": "<class>: <message>"}``, and that it
        never ends as ``{"error": "NeverEnds: ..."}``: then its process is ended,
        and a new one started.
        """
        if seconds < NEVER_SECONDS or not may_never_end(request):
            return self._ask(request, seconds)
        try:
            return self._ask(request, NEVER_SECONDS)
        except OriginalTimedOut:
            self._start()
            return {"error": f"NeverEnds: no answer within {NEVER_SECONDS} s"}

    def _ask(self, request: dict[str, Any], seconds: float) -> dict[str, Any]:
        line = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        try:
            view = memoryview(line)
            while view:
                view = view[self._process.stdin.write(view) :]
            # A reason that C cuts off may end in the middle of a character.
            return json.loads(self._line(time.monotonic() + seconds).decode(errors="replace"))
        except BrokenPipeError:
            raise self._died() from None

    def _line(self, deadline: float) -> bytes:
        searched = 0
        while (end := self._unread.find(b"\n", searched)) < 0:
            searched = len(self._unread)
            if not self._selector.select(max(0.0, deadline - time.monotonic())):
                self.close()
                raise OriginalTimedOut(f"no answer from {self.command[-1]} in time")
            chunk = os.read(self._process.stdout.fileno(), 1 << 20)
            if not chunk:
                raise self._died()
            self._unread += chunk
        line = bytes(self._unread[:end])
        del self._unread[: end + 1]
        return line

    def _died(self) -> OriginalDied:
        code = self._process.wait()
        self._errors.seek(0)
        said = bridges.why(self._errors.read().decode(errors="replace")[-2000:])
        self.close()
        return OriginalDied(f"{self.command[-1]} ended with code {code}: {said}")

    def close(self) -> None:
        self._selector.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            stream.close()


@dataclass
class Originals(Closing):
    """The JVMs of all releases asked so far, each started when first needed."""

    running: dict[tuple[str, str], Original] = field(default_factory=dict)

    def ask(self, document: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The original's answer; the document's ``strategy`` says which original.

        Raises what :meth:`Original.ask` raises, and :class:`OriginalsUnavailable` where there is none.
        """
        system, release = original_of(document["strategy"])
        key = (system.module, release)
        if key not in self.running:
            self.running[key] = Original(system, release)
        try:
            return self.running[key].ask(document, seconds)
        except (OriginalTimedOut, OriginalDied):
            del self.running[key]
            raise

    def close(self) -> None:
        for original in self.running.values():
            original.close()
        self.running.clear()
