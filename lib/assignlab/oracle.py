"""The originals, run from their published jars: the Python side of the Maven project ``oracle/``.

One JVM per release, kept alive, asked one JSON line at a time. Maven builds the project and fetches
the jars on first use; where it cannot, :class:`OriginalsUnavailable` says why. Clients that are not
Java have a program in their own language instead (:mod:`assignlab.bridges`).

    with Originals() as originals:
        originals.ask({"strategy": "sticky@2.0", "members": [...], "topics": [...]})
"""

import fcntl
import hashlib
import itertools
import json
import os
import selectors
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from assignlab import bridges

PROJECT = Path(__file__).resolve().parents[2] / "oracle"
BUILD_SECONDS = 600
ANSWER_SECONDS = 60


class OriginalsUnavailable(RuntimeError):
    """The originals cannot be run here: no JDK, no Maven, or the jars cannot be had."""


class OriginalTimedOut(RuntimeError):
    """The original gave no answer in the time allowed; its JVM has been ended."""


class OriginalDied(RuntimeError):
    """The JVM ended in the middle of the conversation."""


@dataclass(frozen=True)
class System:
    """One system's module of ``oracle/``, and which release answers for which strategy.

    ``strategies`` are base names (before an ``@``). ``releases`` maps the version of a strategy's
    name (``2.0`` in ``sticky@2.0``; "" for a name without one) to the release that is run.
    ``artifact`` is fetched in that release and put on the classpath; where it is None, the
    module's own pom brings all that it needs; ``beside`` are others of that release. ``bridged``:
    no JVM, but the client's bridge in ``oracle/clients/``.
    """

    module: str
    main: str
    strategies: tuple[str, ...]
    releases: dict[str, str]
    artifact: str | None = None
    beside: tuple[str, ...] = ()
    bridged: bool = False


def client(name: str, release: str, *assignors: str) -> System:
    """A client that is not Java, with its assignors by the names that it gives them."""
    strategies = tuple(f"{name}-{assignor}" for assignor in assignors)
    return System(name, name, strategies, {"": release}, bridged=True)


SYSTEMS = (
    System(
        module="kafka-clients",
        main="assignlab.oracle.kafka.KafkaClients",
        strategies=("range", "roundrobin", "sticky", "cooperative-sticky"),
        releases={
            "": "4.4.0",
            "2.0": "2.0.1",
            "2.3": "2.3.1",
            "2.4": "2.4.1",
            "2.5": "2.5.1",
            "2.8": "2.8.2",
            "3.0": "3.0.1",
            "3.3": "3.3.2",
            "3.4.0": "3.4.0",
            "3.4": "3.4.1",
            "3.5.0": "3.5.1",
            "3.5": "3.5.2",
            "3.6": "3.6.2",
            "3.7": "3.7.1",
            "3.8": "3.8.1",
            "3.9": "3.9.2",
            "4.0": "4.0.2",
            "4.1": "4.1.2",
            "4.2": "4.2.2",
            "4.3": "4.3.0",
            "4.4": "4.4.0",
        },
        artifact="org.apache.kafka:kafka-clients",
    ),
    System(
        module="kafka-server",
        main="assignlab.oracle.kafkaserver.KafkaServer",
        strategies=("server-range", "server-simple", "server-uniform"),
        releases={"": "4.4.0"},
    ),
    System(
        module="kafka-server",
        main="assignlab.oracle.kafkaserver.EarlierRelease",
        strategies=("server-range", "server-simple", "server-uniform"),
        releases={
            "3.7": "3.7.2",
            "3.8": "3.8.1",
            "3.9": "3.9.2",
            "4.0.0": "4.0.0",
            "4.0": "4.0.2",
            "4.1": "4.1.2",
            "4.2": "4.2.2",
            "4.3": "4.3.0",
        },
        artifact="org.apache.kafka:kafka-group-coordinator",
        # Its TopicIdPartition.hashCode decides ties, and is another one since 4.1.
        beside=("org.apache.kafka:kafka-server-common",),
    ),
    System(
        module="kafka-0-8",
        main="assignlab.oracle.kafka08.Kafka08",
        strategies=("scala-range", "scala-roundrobin"),
        releases={"": "0.8.2.2"},
    ),
    System(
        module="metaq",
        main="assignlab.oracle.metaq.MetaQ",
        strategies=("metaq-default", "metaq-consistent-hash"),
        releases={"": "1.4.6.2"},
    ),
    System(
        module="rocketmq",
        main="assignlab.oracle.rocketmq.RocketMQ",
        strategies=(
            "rocketmq-avg",
            "rocketmq-avg-by-circle",
            "rocketmq-config",
            "rocketmq-consistent-hash",
            "rocketmq-machine-room",
            "rocketmq-machine-room-nearby",
        ),
        releases={"": "5.3.3"},
    ),
    client("franz-go", "1.22.2", "range", "roundrobin", "sticky", "cooperative-sticky"),
    client("kafka-go", "0.4.51", "range", "roundrobin"),
    client("kafka-python", "3.0.12", "range", "roundrobin", "sticky", "cooperative-sticky"),
    client("kafkajs", "2.2.4", "roundrobin"),
    client("librdkafka", "2.15.1", "range", "roundrobin", "cooperative-sticky"),
    client("sarama", "1.61.1", "range", "roundrobin", "sticky", "cooperative-sticky"),
)


def original_of(strategy: str) -> tuple[System, str]:
    """The system and the release that answer for a strategy; KeyError where none does."""
    base, _, version = strategy.partition("@")
    for system in SYSTEMS:
        if base in system.strategies and version in system.releases:
            return system, system.releases[version]
    raise KeyError(f"no original is known for strategy {strategy!r}")


def has_original(strategy: str) -> bool:
    """Whether a strategy's original can be asked (where Java and Maven are there)."""
    try:
        original_of(strategy)
    except KeyError:
        return False
    return True


def classpath(system: System, release: str) -> str:
    """Class path of one release; builds the module and fetches the release where need be."""
    if not PROJECT.is_dir():
        raise OriginalsUnavailable("the folder oracle/ is only in a checkout of the project")
    target = PROJECT / system.module / "target"
    jar = target / f"oracle-{system.module}-1.jar"
    entries = [str(jar)]
    with _one_build_at_a_time():
        if not jar.exists() or jar.stat().st_mtime < _newest_source(system.module):
            _maven("-f", str(PROJECT / "pom.xml"), "-pl", system.module, "-am", "package")
        for artifact in (system.artifact, *system.beside):
            if artifact is None:
                continue
            name = artifact.split(":")[1]
            original = target / "releases" / f"{name}-{release}.jar"
            if not original.exists():
                _maven(
                    "-f",
                    str(PROJECT / "common" / "pom.xml"),
                    "dependency:copy",
                    f"-Dartifact={artifact}:{release}",
                    f"-DoutputDirectory={original.parent}",
                )
            entries.append(str(original))
    # The release comes first: where the module is built against the newest, that is there as well.
    entries.append(str(target / "lib" / "*"))
    return os.pathsep.join(entries)


@contextmanager
def _one_build_at_a_time() -> Iterator[None]:
    """Test runs side by side must not build into the same folder at once."""
    lock = PROJECT / "target" / "lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _newest_source(module: str) -> float:
    files = [PROJECT / "pom.xml"]
    for folder in ("common", module):
        files.append(PROJECT / folder / "pom.xml")
        files.extend((PROJECT / folder / "src").rglob("*.java"))
    return max(file.stat().st_mtime for file in files)


def _maven(*arguments: str) -> None:
    """Maven without the network first: what is already there answers in a fraction of the time."""
    maven = shutil.which("mvn")
    if maven is None:
        raise OriginalsUnavailable("Maven (mvn) is not on the PATH; it fetches the originals' jars")
    for mode in (["-o"], []):
        try:
            done = subprocess.run(
                [maven, "-q", "-B", *mode, *arguments],
                capture_output=True,
                text=True,
                timeout=BUILD_SECONDS,
                stdin=subprocess.DEVNULL,
            )
        except subprocess.TimeoutExpired as expired:
            raise OriginalsUnavailable(f"Maven took more than {BUILD_SECONDS} s") from expired
        if done.returncode == 0:
            return
    errors = [line for line in done.stdout.splitlines() if "ERROR" in line]
    raise OriginalsUnavailable(f"Maven failed: {errors[0] if errors else done.stderr.strip()}")


def java() -> str:
    """The java command: of JAVA_HOME, or on the PATH."""
    home = os.environ.get("JAVA_HOME")
    found = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    if not found or not Path(found).exists():
        raise OriginalsUnavailable("no Java 17 or later on the PATH")
    return found


def spec_document(strategy: str, spec: dict[str, Any]) -> dict[str, Any]:
    """The group of a bench ``spec`` before anybody owns anything (event FULL), as a document.

    ``spec``: ``topics``, ``partitions`` (of each), ``members``, ``shape`` (EQUAL; HET1: the last
    member takes the first topic only; NEST5: five nested buckets; DOWN5, Kafka clients only: the
    same from the largest bucket down, so that a newcomer is in the smallest), ``event`` (FULL, or
    JOIN: all but the last member own what the strategy gave them without it, generation 1). The
    oracle makes the same group from the same numbers, so that a million partitions need not cross
    as JSON. Names are chosen so that hash codes do not collide. ``broker`` of all partitions,
    ``rack`` of all members and ``options`` of the strategy may be given (RocketMQ).
    """
    names = [f"topic-{i}-events" for i in range(spec["topics"])]
    members = spec["members"]

    def wanted(member: int) -> int:
        if spec["shape"] == "EQUAL":
            return len(names)
        if spec["shape"] == "HET1":
            return 1 if member == members - 1 else len(names)
        if spec["shape"] == "NEST5":
            return len(names) * (member * 5 // members + 1) // 5
        if spec["shape"] == "DOWN5":
            return len(names) * (5 - member * 5 // members) // 5
        raise ValueError(f"shape {spec['shape']!r} is not EQUAL, HET1, NEST5 or DOWN5")

    partitions = {"partitions": spec["partitions"]}
    if "broker" in spec:
        partitions = {"brokers": [[spec["broker"], spec["partitions"]]]}
    return {
        "strategy": strategy,
        **spec.get("options", {}),
        "topics": [{"name": name, **partitions} for name in names],
        "members": [
            {
                "id": f"consumer-{i}-{i * 0x9E3779B1 & 0xFFFFFFFF:08x}",
                **({"rack": spec["rack"]} if "rack" in spec else {}),
                "topics": sorted(names[: wanted(i)]),
            }
            for i in range(members)
        ],
    }


def digest(offsets: np.ndarray, topics: np.ndarray, partitions: np.ndarray) -> str:
    """The oracle's digest of an assignment: SHA-256 over every member's list in its order.

    ``offsets`` int[members + 1] into ``topics`` (index in the spec) and ``partitions``. Hashed are,
    member by member, the length and then the pairs, as little-endian int32.
    """
    pairs = np.column_stack((topics, partitions)).astype("<i4")
    hasher = hashlib.sha256()
    for start, end in itertools.pairwise(np.asarray(offsets).tolist()):
        hasher.update((end - start).to_bytes(4, "little"))
        hasher.update(pairs[start:end].tobytes())
    return hasher.hexdigest()


def bridge(system: System, release: str) -> list[str]:
    """The command line of a client's bridge; builds it where need be."""
    if not PROJECT.is_dir():
        raise OriginalsUnavailable("the folder oracle/ is only in a checkout of the project")
    with _one_build_at_a_time():
        try:
            return bridges.command(system.module, release, PROJECT)
        except bridges.BridgeFailed as failed:
            raise OriginalsUnavailable(f"{system.module}: {failed}") from failed


class Original:
    """One JVM, or bridge, that runs one release; ask it one document at a time."""

    def __init__(self, system: System, release: str, java_options: tuple[str, ...] = ()):
        if system.bridged:
            self.command = bridge(system, release)
        else:
            options = java_options or ("-Xmx1g", "-XX:+UseSerialGC")
            self.command = [java(), *options, "-cp", classpath(system, release), system.main]
        self._errors = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._process.stdout, selectors.EVENT_READ)
        self._unread = bytearray()

    def ask(self, request: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The answer to one document or request.

        Raises :class:`OriginalTimedOut` after ``seconds``, :class:`OriginalDied` if the JVM ended;
        an exception of the original comes back as ``{"error": "<class>: <message>"}``.
        """
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
        said = self._errors.read().decode(errors="replace").strip()
        self.close()
        return OriginalDied(f"{self.command[-1]} ended with code {code}: {said[-500:]}")

    def close(self) -> None:
        """Ends the JVM."""
        self._selector.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            stream.close()

    def __enter__(self) -> "Original":
        return self

    def __exit__(self, *raised) -> None:
        self.close()


@dataclass
class Originals:
    """The JVMs of all releases asked so far, each started when first needed."""

    running: dict[tuple[str, str], Original] = field(default_factory=dict)

    def ask(self, document: dict[str, Any], seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """The original's answer; the document's ``strategy`` says which original."""
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

    def __enter__(self) -> "Originals":
        return self

    def __exit__(self, *raised) -> None:
        self.close()
