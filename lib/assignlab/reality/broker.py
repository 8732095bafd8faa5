"""Real brokers: KRaft nodes of a published release, on 127.0.0.1,
with their data in a temporary folder."""

import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from assignlab.local.java import BRIEF
from assignlab.proof.originals import (
    PROJECT,
    Closing,
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
REPLICATED = {
    "offsets.topic.num.partitions": 62,
    "offsets.topic.replication.factor": 3,
    "default.replication.factor": 3,
    "auto.leader.rebalance.enable": "false",
}
"""Of three nodes: any may coordinate any group, and each group moves alone, when it is to."""
HEAP = ("-Xms64m", "-Xmx256m", *BRIEF)


def fetched(what: str, main: str, release: str, *others: str) -> Path:
    """The folder with the jars of a release: ``main`` and what it needs,
    as ``what``.xml lists them.

    Fetched by Maven where need be. ``others``: what Maven has to be told beside the release.
    """
    folder = FOLDER / "target" / "releases" / f"{what}-{release}"
    with one_build_at_a_time():
        if not list(folder.glob(f"{main}-*.jar")):
            maven(
                "-f", str(FOLDER / f"{what}.xml"), "dependency:copy-dependencies",
                f"-Dkafka.version={release}", *others, "-DincludeScope=runtime",
                f"-DoutputDirectory={folder}",
            )  # fmt: skip
    return folder


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class Broker(Closing):
    """A running broker, or several; a context manager that ends them and removes their data.

    ``own``: settings of its own, beside :data:`SETTINGS`. ``listener``: one more, such as
    ``SASL_SSL://127.0.0.1:9093``. ``nodes``: 1, or 3 with :data:`REPLICATED`;
    the first is the controller.
    """

    def __init__(
        self,
        release: str,
        own: Mapping[str, str] = MappingProxyType({}),
        listener: str = "",
        nodes: int = 1,
    ):
        self.release = release
        self.settings = SETTINGS | (REPLICATED if nodes > 1 else {})
        """What differs from Kafka's defaults and matters to a group."""
        self._folder = tempfile.TemporaryDirectory(prefix="assignlab-broker-")
        tools = f"-Dkafka.tools.version={TOOLS.get(release, release)}"
        self._jars = fetched("broker", "kafka_2.13", release, tools)
        self._controller = free_port()
        self._ports = {node: free_port() for node in range(1, nodes + 1)}
        self._processes: dict[int, subprocess.Popen] = {}
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self._ports.values())
        try:
            for node in self._ports:
                self._format(node, own, listener)
                self._start(node)
            for node in self._ports:
                self._wait_for(node)
        except OriginalsUnavailable:
            self.close()
            raise

    def restart(self, node: int) -> None:
        """Shut a node down, which hands over what it leads, and start it again."""
        self._processes[node].terminate()
        self._processes[node].wait()
        self._start(node)
        self._wait_for(node)

    def _folder_of(self, node: int) -> Path:
        return Path(self._folder.name) / str(node)

    def _command(self, node: int, *words: str) -> list[str]:
        logs = f"-Dkafka.logs.dir={self._folder_of(node)}"
        return [java(), *HEAP, logs, "-cp", str(self._jars / "*"), *words]

    def _format(self, node: int, own: Mapping[str, str], listener: str) -> None:
        """Write a node's settings, and have its folder of data made."""
        controls = node == 1
        folder = self._folder_of(node)
        folder.mkdir()
        address = f"PLAINTEXT://127.0.0.1:{self._ports[node]}"
        advertised = ",".join(filter(None, (address, listener)))
        of_controller = f",CONTROLLER://127.0.0.1:{self._controller}" if controls else ""
        settings = {
            **CLUSTER,
            **self.settings,
            **own,
            "node.id": node,
            "process.roles": "broker,controller" if controls else "broker",
            "listeners": advertised + of_controller,
            "advertised.listeners": advertised,
            "controller.quorum.voters": f"1@127.0.0.1:{self._controller}",
            "log.dirs": folder / "data",
        }
        if self.release.startswith("3."):
            settings["group.coordinator.rebalance.protocols"] = "classic"
        properties = folder / "server.properties"
        properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        tool = ["kafka.tools.StorageTool", "format", "-t", "assignlabAAAAAAAAAAAAA"]
        with (folder / "output").open("ab") as output:
            subprocess.run(
                self._command(node, *tool, "-c", str(properties)),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, check=False,
            )  # fmt: skip

    def _start(self, node: int) -> None:
        folder = self._folder_of(node)
        with (folder / "output").open("ab") as output:
            self._processes[node] = subprocess.Popen(
                self._command(node, "kafka.Kafka", str(folder / "server.properties")),
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
            )  # fmt: skip

    def _wait_for(self, node: int) -> None:
        until = time.monotonic() + STARTS_WITHIN_S
        while time.monotonic() < until and self._processes[node].poll() is None:
            with socket.socket() as caller:
                if caller.connect_ex(("127.0.0.1", self._ports[node])) == 0:
                    return
            time.sleep(0.2)
        output = self._folder_of(node) / "output"
        said = output.read_text(encoding="utf-8", errors="replace")
        raise OriginalsUnavailable(f"the broker {self.release} does not start: {said[-600:]}")

    def close(self) -> None:
        """End the broker at once; its data is of no more use."""
        for process in self._processes.values():
            process.kill()
        for process in self._processes.values():
            process.wait()
        self._folder.cleanup()
