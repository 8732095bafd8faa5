"""kafka-python's own assignors as an oracle: one group document a line in, one answer a line out.

Runs in a Python of its own that has kafka-python and nothing else.

    python bridge.py           a ring of processes (see ring.py)
    python bridge.py --one     one process, with the hash seed that it was started with
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import ring

STICKY = ("kafka-python-sticky", "kafka-python-cooperative-sticky")


def answer(document):
    """What the leader's assignor gives every member, as the member reads it from the wire."""
    kind = assignors().get(document["strategy"].removeprefix("kafka-python-"))
    if kind is None:
        raise ring.BadDocument(f"no strategy {document['strategy']}")
    sent = [joined(kind, member) for member in document.get("members", [])]
    cluster = ring.Cluster(document)
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
    runs = ring.runs(owned)
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


class Joined:
    def __init__(self, member_id, group_instance_id, metadata):
        self.member_id = member_id
        self.group_instance_id = group_instance_id
        self.metadata = metadata


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


if __name__ == "__main__" and sys.argv[1:] != [ring.ONE]:
    ring.go_round(__file__, STICKY)
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
    ring.answer_all(answer)
