"""The groups of the benchmarks, as the originals' side builds them too."""

import hashlib
import itertools
from typing import Any

import numpy as np


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
