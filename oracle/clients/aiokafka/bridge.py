"""aiokafka's own assignors as an oracle: one group document a line in, one answer a line out.

Runs in a Python of its own that has aiokafka and what it needs. Members without a generation send -1,
as aiokafka's client always does.

    python bridge.py           a ring of processes (see ring.py)
    python bridge.py --one     one process, with the hash seed that it was started with
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import ring

STICKY = ("aiokafka-sticky",)


def answer(document):
    """What the leader's assignor gives every member, as the member reads it from the wire."""
    kind = assignors().get(document["strategy"].removeprefix("aiokafka-"))
    if kind is None:
        raise ring.BadDocument(f"no strategy {document['strategy']}")
    sent = {
        member["id"]: ConsumerProtocolMemberMetadata.decode(joined(kind, member).encode())
        for member in document.get("members", [])
    }
    given = {
        member: ConsumerProtocolMemberAssignment.decode(assignment.encode())
        for member, assignment in kind.assign(ring.Cluster(document), sent).items()
    }
    reply = {"assignment": {m: [list(pair) for pair in a.partitions()] for m, a in given.items()}}
    if "next_generation" in document and document["strategy"] in STICKY:
        reply["next_owned"] = {
            member["id"]: claimed_next(kind, given[member["id"]], member["topics"])
            for member in document["members"]
        }
    return reply


def joined(kind, member):
    """What a member sends with JoinGroup."""
    data = b""
    if kind.name == "sticky" and member.get("owned") is not None:
        claimed = ring.runs(member["owned"])
        data = StickyAssignorUserDataV1(claimed, member.get("generation", -1)).encode()
    return ConsumerProtocolMemberMetadata(kind.version, list(member["topics"]), data)


def claimed_next(kind, assignment, topics):
    """What the member's own assignor would claim after it received this assignment."""
    kind.on_assignment(assignment)
    sent = ConsumerProtocolMemberMetadata.decode(kind.metadata(topics).encode())
    return [list(pair) for pair in kind.parse_member_metadata(sent).partitions]


def assignors():
    return {
        kind.name: kind
        for kind in (RangePartitionAssignor, RoundRobinPartitionAssignor, StickyPartitionAssignor)
    }


if __name__ == "__main__" and sys.argv[1:] != [ring.ONE]:
    ring.go_round(__file__, STICKY)
elif __name__ == "__main__":
    import logging

    from aiokafka.coordinator.assignors.range import RangePartitionAssignor
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import (
        StickyAssignorUserDataV1,
        StickyPartitionAssignor,
    )
    from aiokafka.coordinator.protocol import (
        ConsumerProtocolMemberAssignment,
        ConsumerProtocolMemberMetadata,
    )

    logging.disable(logging.CRITICAL)
    ring.answer_all(answer)
