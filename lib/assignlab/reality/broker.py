"""A real broker: one KRaft node of a published release, on 127.0.0.1, with its data in a temporary folder."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Self

from assignlab.local.java import BRIEF
from assignlab.proof.originals import (
    PROJECT,
    OriginalsUnavailable,
    java,
    maven,
    one_build_at_a_time,
)

FOLDER = PROJECT / "reality"
TOOLS = {"4.4.0": "4.3.0"}
"""Releases of kafka-tools-api where the broker's own is not published."""
STARTS_WITHIN_S = 90

SETTINGS = {
    "group.initial.rebalance.delay.ms": 2_000,
    "group.min.session.timeout.ms": 1_000,
    "group.consumer.heartbeat.interval.ms": 1_000,
    "group.consumer.min.heartbeat.interval.ms": 500,
    "group.consumer.session.timeout.ms": 6_000,
    "group.consumer.min.session.timeout.ms": 2_000,
}
"""Shorter than Kafka's defaults, so that a scenario takes seconds."""

CLUSTER = {
    "process.roles": "broker,controller",
    "node.id": 1,
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL",
    "offsets.topic.num.partitions": 4,
    "offsets.topic.replication.factor": 1,
    "transaction.state.log.num.partitions": 1,
    "transaction.state.log.replication.factor": 1,
    "transaction.state.log.min.isr": 1,
    "auto.create.topics.enable": "false",
    "num.network.threads": 2,
    "num.io.threads": 2,
    "log.cleaner.enable": "false",
}
HEAP = ("-Xms64m", "-Xmx256m", *BRIEF)


def jars(release: str) -> Path:
    """The folder with all jars of a release of the broker; fetched by Maven where need be."""
    folder = FOLDER / "target" / "releases" / f"broker-{release}"
    with one_build_at_a_time():
        if not list(folder.glob("kafka_2.13-*.jar")):
            maven(
                "-f", str(FOLDER / "broker.xml"), "dependency:copy-dependencies",
                f"-Dkafka.version={release}",
                f"-Dkafka.tools.version={TOOLS.get(release, release)}",
                "-DincludeScope=runtime", f"-DoutputDirectory={folder}",
            )  # fmt: skip
    return folder


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Broker:
    """A running broker; a context manager that ends it and removes its data.

    ``own``: settings of its own, beside :data:`SETTINGS`. ``listener``: one more, such as
    ``SASL_SSL://127.0.0.1:9093``.
    """

    def __init__(
        self, release: str, own: Mapping[str, str] = MappingProxyType({}), listener: str = ""
    ):
        self.release = release
        self._folder = tempfile.TemporaryDirectory(prefix="assignlab-broker-")
        folder = Path(self._folder.name)
        port, controller = free_port(), free_port()
        self.bootstrap = f"127.0.0.1:{port}"
        advertised = ",".join(filter(None, (f"PLAINTEXT://{self.bootstrap}", listener)))
        settings = {
            **CLUSTER,
            **SETTINGS,
            **own,
            "listeners": f"{advertised},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": advertised,
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "log.dirs": folder / "data",
        }
        if release.startswith("3."):
            settings["group.coordinator.rebalance.protocols"] = "classic"
        properties = folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self._command = [
            java(), *HEAP, f"-Dkafka.logs.dir={folder}", "-cp", str(jars(release) / "*"),
        ]  # fmt: skip
        self._output = (folder / "output").open("wb")
        format_it = ["format", "-t", "assignlabAAAAAAAAAAAAA", "-c", str(properties)]
        subprocess.run(
            [*self._command, "kafka.tools.StorageTool", *format_it],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        self._process = subprocess.Popen(
            [*self._command, "kafka.Kafka", str(properties)],
            stdin=subprocess.DEVNULL, stdout=self._output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        try:
            self._wait_for(port)
        except OriginalsUnavailable:
            self.close()
            raise

    def _wait_for(self, port: int) -> None:
        until = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < until and self._process.poll() is None:
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", port)) == 0:
                    return
            time.sleep(0.2)
        self._output.flush()
        said = Path(self._output.name).read_text(encoding="utf-8", errors="replace")
        raise OriginalsUnavailable(f"the broker {self.release} does not start: {said[-600:]}")

    def close(self) -> None:
        """End the broker at once; its data is of no more use."""
        self._process.kill()
        self._process.wait()
        self._output.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised) -> None:
        self.close()
