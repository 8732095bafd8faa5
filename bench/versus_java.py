"""Our strategies beside the warm originals: ``python bench/versus_java.py [--sizes S,M] [...]``.

Same inputs, same run. Both sides make the same group from a few numbers; the results are compared
first (a digest over every member's list, in its order; the coordinator's sets by topic name and
partition), then both are timed and the ratio Java / ours is printed. Inputs are prebuilt on both
sides. Ours is timed twice: ``prepared``, where the names and
subscriptions have been met before, as in a replay or at a leader that assigns again; and ``new``,
where the group object is new and everything is derived from its names once more, but for their hash
codes and order, which are known of few names from the group before, as Java's strings keep their hash
codes from call to call.
"""

import argparse
import hashlib
import statistics
import sys
import time
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np

from assignlab import assignors
from assignlab.assignors.kafka_server.parts import sets
from assignlab.errors import AssignlabError
from assignlab.group.assignment import partition_of, topic_of
from assignlab.group.document import parse
from assignlab.group.model import Group
from assignlab.proof.originals import Original, OriginalTimedOut, original_of
from assignlab.published.examples import claiming
from assignlab.replay.kafkas_grid import renewed

SIZES = {  # topics, partitions of each, members
    "S": (10, 10, 10),
    "M": (50, 100, 500),
    "L": (100, 200, 1_000),
    "X": (500, 2_000, 2_000),
}
OURS = {"S": 501, "M": 51, "L": 11, "X": 5}
CASES = {
    "range": ("EQUAL FULL", "NEST5 FULL"),
    "range@2.0": ("EQUAL FULL",),
    "roundrobin": ("EQUAL FULL", "NEST5 FULL"),
    "roundrobin@2.0": ("EQUAL FULL",),
    "sticky": (
        "EQUAL FULL",
        "EQUAL JOIN",
        "HET1 FULL",
        "HET1 JOIN",
        "NEST5 FULL",
        "NEST5 JOIN",
        "DOWN5 JOIN",
    ),
    "cooperative-sticky": ("EQUAL FULL", "EQUAL JOIN", "NEST5 FULL", "NEST5 JOIN", "DOWN5 JOIN"),
    "sticky@2.0": ("EQUAL FULL", "EQUAL JOIN", "NEST5 FULL"),
    "scala-range": ("EQUAL FULL",),
    "scala-roundrobin": ("EQUAL FULL",),
    "metaq-default": ("EQUAL FULL",),
    "metaq-consistent-hash": ("EQUAL FULL",),
    "rocketmq-avg": ("EQUAL FULL",),
    "rocketmq-avg-by-circle": ("EQUAL FULL",),
    "rocketmq-config": ("EQUAL FULL",),
    "rocketmq-consistent-hash": ("EQUAL FULL",),
    "rocketmq-machine-room": ("EQUAL FULL",),
    "rocketmq-machine-room-nearby": ("EQUAL FULL",),
    "server-uniform": ("EQUAL FULL", "EQUAL JOIN", "NEST5 FULL", "NEST5 JOIN"),
    "server-uniform@4.0.0": ("EQUAL JOIN",),
    "server-uniform@3.7": ("EQUAL FULL", "EQUAL JOIN", "NEST5 JOIN"),
    "server-uniform@3.9": ("NEST5 FULL", "NEST5 JOIN"),
    "server-range": ("EQUAL FULL", "NEST5 FULL"),
    "server-range@3.8": ("EQUAL FULL", "EQUAL JOIN"),
    "server-simple": ("EQUAL FULL", "EQUAL JOIN"),
    "server-simple@4.0": ("EQUAL FULL", "NEST5 FULL"),
    "server-simple@4.1": ("EQUAL FULL", "EQUAL JOIN", "NEST5 FULL", "NEST5 JOIN"),
}
LEFT_OUT = {("server-simple@4.0", "X"): "every member gets everything: 2 billion entries"}
WARM, REPEAT = 500, 101
"""Calls of the original before those that count, and those; fewer where the budget ends before."""
AT_HOME = {  # what these strategies need to have something to do
    "rocketmq-machine-room": {"broker": "room@broker", "options": {"idcs": ["room"]}},
    "rocketmq-machine-room-nearby": {"broker": "room@broker", "rack": "room"},
}


def numbers(size: str) -> tuple[int, ...]:
    """(topics, partitions of each, members) of a size, by its name or as ``50x100x500``."""
    found = SIZES.get(size) or tuple(int(n) for n in size.split("x") if n.isdecimal())
    if len(found) != 3 or 0 in found:
        raise AssignlabError(f"expected {', '.join(SIZES)} or such as 50x100x500, got {size!r}")
    return found


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
    for start, end in pairwise(np.asarray(offsets).tolist()):
        hasher.update((end - start).to_bytes(4, "little"))
        hasher.update(pairs[start:end].tobytes())
    return hasher.hexdigest()


def built(strategy: str, spec: dict) -> Group:
    """The group of a spec; for JOIN with the claims of everybody but the newcomer."""
    document = spec_document(strategy, spec)
    group = parse(document)
    if spec["event"] == "FULL":
        return group
    before = parse({**document, "members": document["members"][:-1]})
    return claiming(group, strategy, before, assignors.get(strategy).assign(before))


def seconds(call, repeat: int) -> float:
    """Median seconds of a call."""
    taken = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def compare(
    original: Original, strategy: str, size: str, case: str, budget: float, patience: float
) -> bool | None:
    """One line: results equal or not, both times, the ratios; None if Java gave no answer in time."""
    shape, event = case.split()
    spec = dict(zip(("topics", "partitions", "members"), numbers(size), strict=True))
    spec |= {"shape": shape, "event": event} | AT_HOME.get(strategy, {})
    group = built(strategy, spec)
    assign = assignors.get(strategy).assign
    ours = assign(group)
    asked = {"strategy": strategy, "spec": spec, "budget_seconds": budget}
    calls = OURS.get(size, 11)
    prepared = seconds(lambda: assign(group.with_claims(group.claims)), calls)
    try:
        cold = original.ask(asked | {"warmup": 0, "repeat": 1}, seconds=budget + patience)
        rounds = int(0.3 * budget * 1e9 / cold["nanos"][0])
        asked |= {"warmup": min(max(rounds, 3), WARM), "repeat": min(max(rounds, 5), REPEAT)}
        answer = original.ask(asked, seconds=budget + patience)
    except OriginalTimedOut:
        print(
            f"{strategy:20} {size}  {case:10}  java over {budget + patience:.0f} s  "
            f"ours {1e3 * prepared:9.3f} ms prepared; larger sizes left out", flush=True,
        )  # fmt: skip
        return None
    fresh = [renewed(group) for _ in range(calls)]
    new = seconds(lambda: assign(fresh.pop()), len(fresh))
    java = statistics.median(answer["nanos"]) / 1e9
    if assignors.get(strategy).protocol == "server":
        ours = sets.in_order(group, ours)
    same = answer["digest"] == digest(
        ours.offsets, topic_of(ours.codes), partition_of(ours.codes)
    ) and np.array_equal(answer["sizes"], ours.sizes)
    print(
        f"{strategy:20} {size}  {case:10}  {'equal' if same else 'DIFFERENT':9} "
        f"java {1e3 * java:11.3f} ms  ours {1e3 * prepared:9.3f} ms prepared {1e3 * new:9.3f} ms new"
        f"  ratio {java / prepared:9.1f}  new {java / new:9.1f}  ({len(answer['nanos'])} calls)",
        flush=True,
    )
    return same


def main() -> int:
    """0 if all results were equal."""
    from arguments import amount, checked, each, one_of

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--sizes",
        type=each(partial(checked, numbers)),
        default="S,M,L,X",
        help="or such as 50x100x500, see numbers()",
    )
    names = each(one_of("strategy", CASES))
    parser.add_argument("--strategies", type=names, default=",".join(CASES))
    cases = each(one_of("case", sorted({case for of in CASES.values() for case in of})))
    parser.add_argument("--cases", type=cases, help="such as 'EQUAL JOIN,NEST5 FULL'")
    parser.add_argument("--budget", type=amount(1), default=60.0, help="seconds of Java per line")
    parser.add_argument(
        "--patience", type=amount(0), default=900.0, help="more seconds for one call"
    )
    chosen = parser.parse_args()
    same = True
    for strategy in chosen.strategies:
        system, release = original_of(strategy)
        with Original(system, release, ("-Xmx8g", "-XX:+UseParallelGC")) as original:
            for size, case in product(chosen.sizes, CASES[strategy]):
                if chosen.cases and case not in chosen.cases:
                    continue
                if why := LEFT_OUT.get((strategy, size)):
                    print(f"{strategy:20} {size}  {case:10}  left out: {why}", flush=True)
                    continue
                equal = compare(original, strategy, size, case, chosen.budget, chosen.patience)
                if equal is None:
                    break
                same &= equal
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
