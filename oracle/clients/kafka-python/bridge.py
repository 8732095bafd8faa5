"""kafka-python's own assignors as an oracle: one group document a line in, one answer a line out.

Runs in a Python of its own that has kafka-python and nothing else. The sticky assignors take
partitions out of sets whose order follows Python's hash seed, so one process always gives the same
answer and another process may give another. Documents therefore go round a ring of processes with
seeds 1 to 16: whoever asks twice asks two of them. Whoever has asked all of them and asks once more
is answered by a new process, with the next seed.

    python bridge.py           the ring
    python bridge.py --one     one process, with the hash seed that it was started with
"""

import itertools
import json
import os
import subprocess
import sys

SEEDS = range(1, 17)
STICKY = ("kafka-python-sticky", "kafka-python-cooperative-sticky")


def ring():
    """Pass every line to a process, the sticky ones to the next each time."""
    started = {}
    turn = itertools.cycle(SEEDS)
    before, repeated = None, 0
    for line in sys.stdin.buffer:
        sticky = json.loads(line).get("strategy") in STICKY
        repeated = repeated + 1 if line == before else 0
        before = line
        if sticky and repeated >= len(SEEDS):
            with process(SEEDS.start + repeated) as newcomer:
                ask(newcomer, line)
            continue
        seed = next(turn) if sticky else SEEDS.start
        if seed not in started:
            started[seed] = process(seed)
        ask(started[seed], line)


def process(seed):
    """A process of its own, with that hash seed."""
    return subprocess.Popen(
        [sys.executable, __file__, "--one"],
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def ask(asked, line):
    """Pass a line to a process, and its answer on; if that process has ended, so does the ring."""
    asked.stdin.write(line)
    asked.stdin.flush()
    said = asked.stdout.readline()
    if not said:
        sys.exit(asked.wait() or 1)
    say(said)


def one():
    """Answer in this process."""
    for line in sys.stdin.buffer:
        try:
            reply = answer(json.loads(line))
        except Exception as thrown:
            reply = {"error": f"{type(thrown).__name__}: {thrown}"}
        say(json.dumps(reply, ensure_ascii=False).encode() + b"\n")


def say(line):
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def answer(document):
    """What the leader's assignor gives every member, as the member reads it from the wire."""
    kind = assignors().get(document["strategy"].removeprefix("kafka-python-"))
    if kind is None:
        raise BadDocument(f"no strategy {document['strategy']}")
    sent = [joined(kind, member) for member in document.get("members", [])]
    # Only the topics that somebody subscribes to are known to a leader.
    names = {name for member in document.get("members", []) for name in member["topics"]}
    cluster = Cluster(
        {t["name"]: t["partitions"] for t in document.get("topics", []) if t["name"] in names}
    )
    given = {
        member: ConsumerProtocolAssignment.decode(assignment.encode())
        for member, assignment in kind().assign(cluster, sent).items()
    }
    reply = {"assignment": {m: [list(pair) for pair in a.partitions()] for m, a in given.items()}}
    if "next_generation" in document and document["strategy"] in STICKY:
        reply["next_owned"] = {
            member["id"]: claimed_next(kind(), given[member["id"]], member["topics"], document)
            for member in document["members"]
        }
    return reply


def joined(kind, member):
    """A member as the JoinGroup response brings it to the leader, its metadata decoded."""
    owned, topics = member.get("owned"), list(member["topics"])
    runs = [
        (topic, [partition for _, partition in run])
        for topic, run in itertools.groupby(owned or [], key=lambda pair: pair[0])
    ]
    data, held, version, generation = b"", [], 0, -1
    if kind.name == "sticky" and owned is not None:
        # Without a generation the user data is of version 0, as other clients may send it.
        if "generation" in member:
            data = StickyAssignorUserData(runs, member["generation"], version=1).encode()
        else:
            data = StickyAssignorUserData(runs, version=0).encode()
    if kind.name == "cooperative-sticky":
        fields = ConsumerProtocolSubscription.TopicPartition
        held = [fields(topic=topic, partitions=partitions) for topic, partitions in runs]
        # kafka-python itself sends version 1; a generation comes from clients that send version 2.
        generation = member.get("sub_generation", -1)
        version = 2 if "sub_generation" in member else 1
    sent = ConsumerProtocolSubscription(
        version=version, topics=topics, user_data=data,
        owned_partitions=held, generation_id=generation,
    )  # fmt: skip
    return Joined(
        member["id"], member.get("instance"), ConsumerProtocolSubscription.decode(sent.encode())
    )


def claimed_next(assignor, assignment, topics, document):
    """What the member's own assignor would claim after it received this assignment."""
    assignor.on_assignment(assignment, document["next_generation"])
    sent = assignor.metadata(topics)
    if assignor.name == "sticky":
        read = assignor.parse_member_metadata(
            ConsumerProtocolSubscription(sent.version, sent.topics, sent.user_data.encode())
        )
    else:
        read = assignor.parse_member_metadata(ConsumerProtocolSubscription.decode(sent.encode()))
    return [list(pair) for pair in read.partitions]


class BadDocument(Exception):
    """The original was not asked."""


class Joined:
    def __init__(self, member_id, group_instance_id, metadata):
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


class Cluster:
    """The part of ClusterMetadata that assignors ask."""

    def __init__(self, partitions):
        self.partitions = partitions

    def topics(self):
        return set(self.partitions)

    def partitions_for_topic(self, topic):
        return set(range(self.partitions[topic])) if topic in self.partitions else None


def assignors():
    return {
        kind.name: kind
        for kind in (
            RangePartitionAssignor,
            RoundRobinPartitionAssignor,
            StickyPartitionAssignor,
            CooperativeStickyAssignor,
        )
    }


if __name__ == "__main__" and sys.argv[1:] != ["--one"]:
    ring()
elif __name__ == "__main__":
    import logging

    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor
    from kafka.coordinator.assignors.sticky.user_data import StickyAssignorUserData
    from kafka.protocol.consumer.metadata import (
        ConsumerProtocolAssignment,
        ConsumerProtocolSubscription,
    )

    logging.disable(logging.CRITICAL)
    one()
