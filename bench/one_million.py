"""A million partitions and two thousand members: ``python bench/one_million.py [STRATEGY ...]``.

500 topics of 2,000 partitions each. Every strategy assigns the group afresh, then after each kind of
event, after a quarter of new members, and after all subscriptions changed. Printed: the whole
rebalance (names and subscriptions of the new group prepared, assigned, and turned into the next
claims), beside how many partitions moved, and the peak memory of the process.
"""

import resource
import sys
import time

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
STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky", "sticky@2.0")
SHAPES = ("HOMOGENEOUS", "HETEROGENEOUS_NESTED")


def scenario(subscription: str, *events: str) -> Scenario:
    """The group at its start, with what happens to it."""
    return Scenario(
        members=2_000, topics=500, partitions=1_000_000, subscription=subscription,
        events=("FULL", *events),
    )  # fmt: skip


def after_events(subscription: str):
    """(event, group before, group after) for everything that may happen; groups are unprepared."""
    for event in EVENTS:
        before, after = [moment.group for moment in history(scenario(subscription, event))[:2]]
        yield event, before, after
    start = scenario(subscription)
    before = history(start)[0].group
    numbers = range(2_000, 2_500)
    ids = [member_id(start, number) for number in numbers]
    topics = [topics_of_bucket(start, number) for number in numbers]
    yield "a quarter joins", before, join(before, ids, topics)
    other = SHAPES[1 - SHAPES.index(subscription)]
    yield "all subscriptions change", before, history(scenario(other))[0].group


def rebalance(strategy: str, group: Group) -> tuple[Assignment, float]:
    """(assignment, seconds) of one rebalance, the next claims included."""
    chosen = assignors.get(strategy)
    began = time.perf_counter()
    assignment = chosen.assign(group)
    if chosen.reclaim is not None:
        chosen.reclaim(group, assignment)
    return assignment, time.perf_counter() - began


def main() -> None:
    for strategy in sys.argv[1:] or STRATEGIES:
        load.load(strategy)
        for subscription in SHAPES:
            for event, before, after in after_events(subscription):
                held, fresh = rebalance(strategy, before)
                claimed = claiming(after, strategy, before, held)
                given, taken = rebalance(strategy, claimed)
                kept, _ = metrics.still_held(
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
