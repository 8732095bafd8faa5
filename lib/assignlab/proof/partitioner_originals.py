"""The original partitioners, asked one history at a time, and what they answered, recorded.

Java's run in the modules ``producers...`` of ``oracle/``, one JVM a release; other clients' in the
programs of ``oracle/producer-clients/``, built by :mod:`~assignlab.proof.bridges`. Recorded answers
are in ``tests/golden/producers/<name>.jsonl.xz``, where keys are numbers into ``keys.json``.

    assignlab proof partitioners                   # record all anew
    assignlab proof partitioners --check built-in  # fresh histories, every release known
"""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from assignlab import producers
from assignlab.proof import bridges, golden
from assignlab.proof.originals import PROJECT, Original, OriginalsUnavailable, System
from assignlab.proof.partitioner_histories import History, history, key_pool, our_answer, same
from assignlab.proof.verify import NotUnderstood, error_class, understood

FOLDER = golden.FOLDER / "producers"
POOL = 500
SEED = 20261121
SENDS = 3000
SECONDS = 300
JAVA_OPTIONS = (
    "-Xmx1g", "-XX:+UseSerialGC",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",  # the seed of a thread's draws
)  # fmt: skip

KAFKA = System("producers", "assignlab.oracle.producers.Producers",
               fetched=("org.apache.kafka:kafka-clients",))  # fmt: skip
SCALA = System("producers-0-8", "assignlab.oracle.producers08.Producers08")
SCALA_0_8_1 = System("producers-0-8-1", "assignlab.oracle.producers08.Producers08")
QUEUES = System("producers-queues", "assignlab.oracle.queues.QueueProducers")

JAVA = {
    "default@0.8.2": (KAFKA, "0.8.2.2", "0.9.0.1", "0.10.1.1"),
    "default@2.0": (KAFKA, "2.0.1", "0.10.2.2", "0.11.0.3", "1.1.1", "2.3.1"),
    "default@2.4": (KAFKA, "2.4.1", "2.8.2", "3.3.2", "3.9.2"),
    "uniform-sticky": (KAFKA, "2.4.1", "2.8.2", "3.3.2", "3.9.2"),
    "round-robin@2.4": (KAFKA, "2.4.1", "3.3.2", "3.9.1"),
    "round-robin@3.9": (KAFKA, "3.9.2"),
    "round-robin": (KAFKA, "4.4.0", "4.0.2"),
    "built-in": (KAFKA, "4.4.0", "3.3.2", "3.9.2", "4.0.2"),
    "built-in-racks": (KAFKA, "4.4.0"),
    "accumulator": (KAFKA, "4.4.0", "3.3.2", "3.9.2", "4.0.2"),
    "scala-default": (SCALA, "0.8.2.2"),
    "scala-default@0.8.1": (SCALA_0_8_1, "0.8.1.1"),
    "rocketmq-hash": (QUEUES, "5.3.3"),
    "rocketmq-random": (QUEUES, "5.3.3"),
    "metaq-round-robin": (QUEUES, "1.4.6.2"),
    "metaq-random": (QUEUES, "1.4.6.2"),
}
"""Which module answers, and for which releases; the first is the one that is recorded."""


OTHERS = ("built-in-racks", "accumulator")
"""What is recorded beside the partitioners: a setting of one, and the producer's buffer."""

CLIENTS = PROJECT / "producer-clients"
PROGRAMS = {
    "aiokafka": bridges.build_aiokafka,
    "kafka-python": bridges.build_python,
    "KafkaJS": bridges.build_node,
    "librdkafka": partial(bridges.build_python, package="confluent-kafka"),
    "sarama": bridges.build_go,
}
"""How the programs of clients other than Java's are built."""


def recorded_release(name: str) -> str:
    """The release whose answers are recorded; "" for clients whose program says it."""
    return JAVA[name][1] if name in JAVA else ""


def client_command(name: str) -> list[str]:
    """How the program of a client other than Java's is started; it is built first where need be.

    The client comes from its registry in the release that the partitioner's facts name. Raises
    OriginalsUnavailable where there is no program or it cannot be had.
    """
    partitioner = producers.get(name)
    client, release = partitioner.client, partitioner.last
    if client not in PROGRAMS:
        raise OriginalsUnavailable(
            f"no original is known for partitioner {name!r}: it is not in JAVA, nor its client "
            f"{client!r} in PROGRAMS, of lib/assignlab/proof/partitioner_originals.py"
        )
    folder = CLIENTS / client.lower()
    target = folder / "target"
    try:
        target.mkdir(exist_ok=True)
        return PROGRAMS[client](folder, target, release)
    except (bridges.BridgeFailed, OSError) as why:
        raise OriginalsUnavailable(str(why)) from None


Ask = Callable[[list[History]], list[History]]


@contextmanager
def original(name: str, release: str = "") -> Iterator[Ask]:
    """The original of a partitioner, which answers many histories at once.

    ``release``: one of those in `JAVA`, the recorded one unless told. Raises OriginalsUnavailable
    where it cannot be run here; what it yields as :func:`class_only`.
    """
    if name not in JAVA:
        command = client_command(name)
        yield lambda histories: [class_only(each) for each in _ask_program(command, histories)]
        return
    system, *releases = JAVA[name]
    with Original(system, release or releases[0], JAVA_OPTIONS) as java:
        yield lambda histories: [class_only(java.ask(each)) for each in histories]


def class_only(answer: History) -> History:
    """An answer whose exception is its class alone; raises NotUnderstood as :func:`understood`."""
    return {"error": error_class(answer)} if "error" in understood(answer) else answer


def _ask_program(command: list[str], histories: list[History]) -> list[History]:
    lines = "".join(json.dumps(each) + "\n" for each in histories)
    try:
        done = subprocess.run(
            command, input=lines, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except OSError as missing:
        raise OriginalsUnavailable(f"cannot start {command[0]}: {missing}") from None
    except subprocess.TimeoutExpired:
        raise OriginalsUnavailable(f"{command[-1]} took more than {SECONDS} s") from None
    if done.returncode != 0:
        raise OriginalsUnavailable(f"{command[-1]} failed: {done.stderr.strip()[-300:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def fresh(name: str, seed: int, sends: int, pool: list[bytes]) -> list[History]:
    """Histories until they hold that many records; long ones where nothing but keys decides."""
    found: list[History] = []
    each = 150 if name.startswith(("librdkafka", "sarama")) else 0
    while sum(step[0] in ("send", "append") for one in found for step in one["steps"]) < sends:
        found.append(history(name, seed, len(found), pool, each))
    return found


def record(name: str, folder: Path = FOLDER) -> Path:
    """Asks the original and writes its vectors; the keys' pool is made where there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    pool = _pool(folder)
    numbers = {key.hex(): number for number, key in enumerate(pool)}
    asked = fresh(name, SEED, SENDS, pool)
    with original(name) as ask:
        answers = ask(asked)
    release = recorded_release(name)
    vectors = []
    for each, expected in zip(asked, answers, strict=True):
        steps = [
            [*s[:2], None if s[2] is None else numbers[s[2]], *s[3:]] if s[0] == "send" else s
            for s in each["steps"]
        ]
        vectors.append({**each, "release": release, "steps": steps, "expected": expected})
    return golden.write(name, vectors, folder)


def read(name: str, folder: Path = FOLDER) -> Iterator[tuple[History, History]]:
    """The recorded histories of a partitioner and their answers."""
    pool = [key.hex() for key in _pool(folder)]
    for vector in golden.read(name, folder):
        for step in vector["steps"]:
            if step[0] == "send" and step[2] is not None:
                step[2] = pool[step[2]]
        yield vector, vector.pop("expected")


def _pool(folder: Path) -> list[bytes]:
    path = folder / "keys.json"
    if not path.exists():
        texts = [key.decode() for key in key_pool(POOL, SEED)]
        path.write_text(json.dumps(texts, ensure_ascii=False) + "\n", encoding="utf-8")
    return [text.encode() for text in json.loads(path.read_text(encoding="utf-8"))]


def check(name: str, release: str, seed: int, sends: int) -> tuple[int, list[History]]:
    """Records compared on fresh histories, and the histories on which ours differs."""
    asked = fresh(name, seed, sends, key_pool(POOL, seed))
    with original(name, release) as ask:
        answers = ask(asked)
    different = [
        {**each, "original": answer, "ours": ours}
        for each, answer, ours in zip(asked, answers, map(our_answer, asked), strict=True)
        if not same(answer, ours, each)
    ]
    return sum(len(answer.get("partitions", ())) for answer in answers), different


def main(names: Iterable[str], checking: bool, seed: int, sends: int) -> int:
    """Record vectors of partitioners, or check ours against the live originals; 1 if that fails."""
    failed = False
    known = [*producers.names(), *OTHERS]
    own = [name if name in known else producers.resolved(name).same for name in names]
    for name in own or known:
        for release in JAVA[name][1:] if name in JAVA else ("",):
            try:
                if not checking:
                    path = record(name)
                    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB", file=sys.stderr)
                    break
                compared, different = check(name, release, seed, sends)
            except (OriginalsUnavailable, NotUnderstood) as why:
                print(f"{name} {release}: {why}", file=sys.stderr)
                failed = True
                continue
            print(f"{name} {release}: {compared} records, {len(different)} histories differ")
            failed |= bool(different)
            for each in sorted(different, key=lambda one: len(one["steps"]))[:1]:
                print(json.dumps(each))
    return int(failed)
