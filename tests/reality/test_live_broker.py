"""Groups of real consumers, asked of a real broker: by us, by Kafka's own tools, and what the members say.

``python tests/reality/test_live_broker.py FOLDER`` keeps the answers, as ``tests/data/groups`` has them.
"""

import json
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from assignlab import groups
from assignlab.errors import UnknownName
from assignlab.proof.originals import OriginalsUnavailable
from assignlab.reality import tools
from assignlab.reality.broker import Broker
from assignlab.reality.hosts import JAVA, Client, Host, Inbox

RELEASE = "4.4.0"
BOTH = ["orders", "payments"]
CONSUMER = "org.apache.kafka.clients.consumer."
SESSION = {"session.timeout.ms": "6000", "heartbeat.interval.ms": "1000"}
RANGE = SESSION | {"partition.assignment.strategy": CONSUMER + "RangeAssignor"}
COOPERATIVE = SESSION | {"partition.assignment.strategy": CONSUMER + "CooperativeStickyAssignor"}
MEMBERS = [
    ("billing", "m1", BOTH, RANGE | {"client.rack": "east"}),
    ("billing", "m2", BOTH, RANGE | {"client.rack": "east"}),
    ("billing", "m3", BOTH, RANGE | {"client.rack": "west"}),
    ("static", "s1", BOTH, COOPERATIVE | {"group.instance.id": "s1"}),
    ("static", "s2", ["orders"], COOPERATIVE | {"group.instance.id": "s2"}),
    *(("mail", name, BOTH, {"group.protocol": "consumer"}) for name in ("n1", "n2", "n3")),
]
SETTLED_S = 12


@contextmanager
def running():
    """A broker with three settled groups, and what has happened to their members."""
    with Broker(RELEASE, {"broker.rack": "east"}) as broker:
        inbox = Inbox()
        with Host(Client(JAVA, RELEASE), broker.bootstrap, inbox) as host:
            for topic, partitions in (("orders", 7), ("payments", 4)):
                host.tell("create", topic=topic, partitions=partitions)
                inbox.wait(topic, "created")
            for group, name, topics, own in MEMBERS:
                key = f"{group}/{name}"
                settings = {
                    "bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": name
                } | own  # fmt: skip
                host.tell("prepare", key=key, settings=settings, topics=topics)
                inbox.wait(key, "ready")
                host.tell("start", key=key)
            time.sleep(SETTLED_S)
            yield broker, {f"{g}/{name}": inbox.taken(f"{g}/{name}") for g, name, *_ in MEMBERS}


def held(events):
    """What a member has, as its listener was told."""
    partitions = set()
    for event in events:
        if event["kind"] == "assigned":
            partitions |= set(event["partitions"])
        elif event["kind"] in ("revoked", "lost"):
            partitions -= set(event["partitions"])
    return sorted(partitions)


@pytest.mark.slow
def test_a_live_cluster_says_what_its_members_and_kafkas_tools_say(tmp_path):
    pytest.importorskip("confluent_kafka")
    try:
        with running() as (broker, told):
            cluster = groups.Live(broker.bootstrap)
            live = groups.read(cluster)
            [one] = groups.read(groups.Live(broker.bootstrap, None, ["mail"]))
            with pytest.raises(UnknownName, match="did you mean 'billing'"):
                groups.read(groups.Live(broker.bootstrap, None, ["biling"]))
            printed = groups.read(tools.ask(broker, *tools.TEXTS["members-verbose"]))
    except OriginalsUnavailable as missing:
        pytest.skip(str(missing))
    assert one == next(group for group in live if group["group"] == "mail")
    found = {
        f"{group['group']}/{member['client']}": sorted(f"{t}-{p}" for t, p in member["owned"])
        for group in live
        for member in group["members"]
    }
    assert found == {key: held(events) for key, events in told.items()}
    assert {m["id"] for g in live for m in g["members"]} == {
        m["id"] for g in printed for m in g["members"]
    }


def main(folder: Path) -> None:
    """Keep what the broker and the tools say."""
    with running() as (broker, _):
        live = groups.read(groups.Live(broker.bootstrap))
        texts = tools.ask_all(broker)
    (folder / "live.jsonl").write_text("".join(json.dumps(group) + "\n" for group in live))
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
