"""A million partitions and two thousand members: ``python bench/one_million.py [STRATEGY ...]``.

500 topics of 2,000 partitions each, or other numbers (``--partitions 1e7 --members 10000``). Every
strategy assigns the group afresh, then after each kind of event, after a quarter of new members, and
after all subscriptions changed. Printed: the whole rebalance (names and subscriptions of the new group
prepared, assigned, and turned into the next claims), beside how many partitions moved, and the peak
memory of the process. A virtual machine may have to fetch memory that it has not used for a while, which
is no strategy's work: so another process writes to as much of it before, twice, and both times are printed.
"""

import argparse
import resource
import subprocess
import sys
import time
from dataclasses import replace

from arguments import strategy_name, whole

from assignlab import assignors
from assignlab.group.assignment import Assignment
from assignlab.group.model import Group
from assignlab.published.examples import claiming
from assignlab.replay import metrics
from assignlab.replay.events import join
from assignlab.replay.history import history
from assignlab.replay.scenarios import Scenario, member_id, topics_of_bucket
from assignlab.sweep import load

EVENTS = (
    "JOIN_ONE", "LEAVE_ONE", "CRASH", "JOIN_MANY", "LEAVE_MANY", "TOPIC_CREATED", "TOPIC_DELETED",
    "PARTITIONS_ADDED", "SUBSCRIBE", "UNSUBSCRIBE", "STABLE",
)  # fmt: skip
BYTES = 400
"""More than any strategy needs for a partition."""
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky", "sticky@2.0")
SHAPES = ("HOMOGENEOUS", "HETEROGENEOUS_NESTED")


def after_events(size: dict[str, int], subscription: str):
    """(event, group before, group after) for everything that may happen; groups are unprepared."""
    for event in EVENTS:
        scenario = Scenario(**size, subscription=subscription, events=("FULL", event))
        before, after = [moment.group for moment in history(scenario)[:2]]
        yield event, before, after
    start = Scenario(**size, subscription=subscription, events=("FULL",))
    before = history(start)[0].group
    numbers = range(start.members, start.members * 5 // 4)
    ids = [member_id(start, number) for number in numbers]
    topics = [topics_of_bucket(start, number) for number in numbers]
    yield "a quarter joins", before, join(before, ids, topics)
    other = SHAPES[1 - SHAPES.index(subscription)]
    yield "all subscriptions change", before, history(replace(start, subscription=other))[0].group


def rebalance(strategy: str, group: Group) -> tuple[Assignment, float]:
    """(assignment, seconds) of one rebalance, the next claims included."""
    chosen = assignors.get(strategy)
    began = time.perf_counter()
    assignment = chosen.assign(group)
    if chosen.reclaim is not None:
        chosen.reclaim(group, assignment)
    return assignment, time.perf_counter() - began


def fetch_memory(size: int) -> float:
    """Seconds to write to so many bytes once, in a process of its own."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", f"import numpy; numpy.ones({size // 8})"], check=True)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "strategies", nargs="*", type=strategy_name, default=STRATEGIES, metavar="STRATEGY"
    )
    sizes = {"partitions": 1_000_000, "topics": 500, "members": 2_000}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=whole(2), default=default)
    asked = parser.parse_args()
    size = {name: getattr(asked, name) for name in sizes}
    if size["partitions"] < size["topics"]:
        parser.error("--partitions: fewer than a partition for each topic")
    print(", ".join(f"{number:,} {name}" for name, number in size.items()))
    memory = BYTES * size["partitions"]
    once, again = fetch_memory(memory), fetch_memory(memory)
    print(f"{memory / 2**30:.1f} GB of memory written to in {once:.1f} s, again in {again:.1f} s")
    for strategy in asked.strategies:
        load.load(strategy)
        for subscription in SHAPES:
            for event, before, after in after_events(size, subscription):
                held, fresh = rebalance(strategy, before)
                claimed = claiming(after, strategy, before, held)
                given, taken = rebalance(strategy, claimed)
                kept, *_ = metrics.still_held(
                    claimed.claims.offsets, claimed.claims.codes, given.offsets, given.codes
                )
                print(
                    f"{strategy:20} {subscription:21} {event:25} first {fresh:7.3f} s  "
                    f"rebalance {taken:7.3f} s  kept {kept[-1]:9,} of {held.codes.size:,}",
                    flush=True,
                )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"peak memory {peak / 2**20:.2f} GB")


if __name__ == "__main__":
    main()
