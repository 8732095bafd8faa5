"""Kafka's own command-line tools, asked about groups on a real broker."""

import re
import subprocess

from assignlab.proof.originals import OriginalsUnavailable, java
from assignlab.reality.broker import HEAP, TOOLS, Broker, fetched

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
ALL_GROUPS = (GROUPS, "--describe", "--all-groups")

TEXTS = {
    "describe": ALL_GROUPS,
    "offsets-verbose": (*ALL_GROUPS, "--offsets", "--verbose"),
    "members": (*ALL_GROUPS, "--members"),
    "members-verbose": (*ALL_GROUPS, "--members", "--verbose"),
    "state": (*ALL_GROUPS, "--state"),
    "state-verbose": (*ALL_GROUPS, "--state", "--verbose"),
    "list": (GROUPS, "--list", "--type", "--state"),
    "topics": (TOPICS, "--describe"),
}
"""The texts that describe groups, and how they are asked for."""


def ask(broker: Broker, main: str, *arguments: str) -> str:
    """What a tool prints, errors last; of the broker's release, or the newest published."""
    folder = fetched("tools", "kafka-tools", TOOLS.get(broker.release, broker.release))
    done = subprocess.run(
        [java(), *HEAP, "-cp", str(folder / "*"), main, "--bootstrap-server", broker.bootstrap,
         *arguments],
        capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120, check=False,
    )  # fmt: skip
    if "Exception" in done.stderr:
        raise OriginalsUnavailable(f"{main}: {done.stderr.strip().splitlines()[0]}")
    return done.stdout + "".join(
        f"{line}\n" for line in done.stderr.splitlines() if not line.startswith("SLF4J")
    )


def ask_all(broker: Broker) -> dict[str, str]:
    """All texts of :data:`TEXTS`, without the broker's port."""
    port = broker.bootstrap.rpartition(":")[2]
    return {
        name: re.sub(rf"\S+:{port}", "broker:9092", ask(broker, *arguments))
        for name, arguments in TEXTS.items()
    }
