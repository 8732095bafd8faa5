"""How often automatic commits run ahead of the work: ``python bench/auto_commit.py [RELEASE ...]``.

On a real broker one member of each release of Java's client, under each protocol, reads a topic whose
records come faster than it works them off, so that every poll finds some at hand. A batch takes a second,
and so long are commits apart at least. Whenever the group's offsets have moved, they are compared with what
the member has processed by then. A crash loses what is committed and not processed. Members run in a JVM
with one compiler and one collector (:data:`~assignlab.local.java.BRIEF`), or as Java's defaults have it.
"""

import argparse
import time
from collections.abc import Iterator
from functools import partial

from arguments import amount, checked

from assignlab.local.java import BRIEF
from assignlab.reality import hosts
from assignlab.reality.broker import Broker
from assignlab.reality.hosts import JAVA, Client, Host, Inbox
from assignlab.releases import NEWEST, of_kafka

RELEASES = ("4.0.0", "4.1.2", "4.2.0", "4.2.2", "4.3.0", "4.4.0")
PROTOCOLS = ("classic", "consumer")
PARTITIONS, RATE = 4, 30.0
PROCESSING_MS, BATCH = 20.0, 50
LOOK_S = 0.1


def commits(broker: Broker, client: Client, protocol: str, seconds: float) -> Iterator[int]:
    """Of every commit that is seen, how many records it is ahead of what has been processed."""
    inbox = Inbox()
    group = f"auto-{protocol}-{client.release}"
    with (
        Host(Client(JAVA, NEWEST), broker.bootstrap, inbox) as admin,
        Host(client, broker.bootstrap, inbox) as host,
    ):
        admin.tell("create", topic=group, partitions=PARTITIONS)
        inbox.wait(group, "created")
        admin.tell("produce", key=group, rates={group: RATE})
        inbox.wait(group, "produces")
        admin.tell("flow", key=group, **{"from": round(time.time() * 1000)})
        settings = {
            "bootstrap.servers": broker.bootstrap,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "auto.commit.interval.ms": round(BATCH * PROCESSING_MS),
            "max.poll.records": BATCH,
        }
        member = f"{group}/a"
        host.tell(
            "prepare", key=member, settings=settings, topics=[group], commit="auto",
            processing_ms=PROCESSING_MS,
        )  # fmt: skip
        inbox.wait(member, "ready")
        host.tell("start", key=member)
        inbox.wait(member, "assigned")
        processed: dict[str, int] = {}
        last, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            time.sleep(LOOK_S)
            admin.tell("committed", key=group)
            offsets = inbox.wait(group, "committed")[0]["offsets"]
            for event in inbox.taken(member):
                for partition, _, stop in event.get("ranges", ()):
                    processed[partition] = stop
            if sum(offsets.values()) > last:
                last = sum(offsets.values())
                beyond = [offsets[p] - processed.get(p, 0) for p in offsets]
                yield sum(max(records, 0) for records in beyond)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    release = partial(checked, of_kafka)
    parser.add_argument("releases", nargs="*", type=release, default=RELEASES, metavar="RELEASE")
    parser.add_argument("--seconds", type=amount(1), default=60, help="for each client")
    parser.add_argument("--protocols", nargs="+", default=PROTOCOLS, choices=PROTOCOLS)
    parser.add_argument(
        "--whole-jvm", action="store_true", help="run members as Java's defaults have it"
    )
    asked = parser.parse_args()
    if asked.whole_jvm:
        hosts.HEAP = tuple(option for option in hosts.HEAP if option not in BRIEF)
    with Broker(NEWEST) as broker:
        for protocol in asked.protocols:
            for release in asked.releases:
                found = list(commits(broker, Client(JAVA, release), protocol, asked.seconds))
                ahead = [records for records in found if records]
                span = f", by {min(ahead)} to {max(ahead)} records" if ahead else ""
                print(
                    f"{protocol:8} {release:6} {len(ahead)} of {len(found)} commits ahead of the work"
                    f"{span}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
