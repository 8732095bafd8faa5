"""The optimum of a million partitions and two thousand members: ``python bench/optimum.py``.

500 topics of 2,000 partitions, equal and nested subscriptions; every member claims what the optimum
gave it before the event. Printed per event: the seconds of the whole ``optimum`` (claims read,
solved, dealt out, certificate checked; subscriptions of the new group prepared), of ``least``
(the closed form, where subscriptions are equal) and of the front with its points; beside them
OR-Tools' ``SimpleMinCostFlow`` on the same problem (topics, members and (topic, former owner) as
nodes, one arc for every partition that a member may have), and whether it finds the same numbers.
``--no-ortools`` leaves that out.
"""

import argparse
import time
from dataclasses import replace

import numpy as np
from ortools.graph.python.min_cost_flow import SimpleMinCostFlow

from assignlab.group.assignment import Assignment, topic_of
from assignlab.group.model import Claims, Group
from assignlab.optimum import front, least, optimum
from assignlab.replay.history import history, origins
from assignlab.replay.scenarios import Scenario

EVENTS = (
    "JOIN_ONE",
    "LEAVE_ONE",
    "TOPIC_CREATED",
    "TOPIC_DELETED",
    "PARTITIONS_ADDED",
    "SUBSCRIBE",
)
SHAPES = ("HOMOGENEOUS", "HETEROGENEOUS_NESTED")


def claiming(group: Group, before: Group, held: Assignment) -> Group:
    """The group, whose members claim what they held before."""
    claims = Claims.none(len(group.members))
    origin = origins(before, group)
    if origin is None:  # the same members
        return group.with_claims(replace(claims, offsets=held.offsets, codes=held.codes))
    lists = [held.of(m) if m >= 0 else held.codes[:0] for m in origin]
    offsets = np.cumsum([0] + [codes.size for codes in lists])
    return group.with_claims(replace(claims, offsets=offsets, codes=np.concatenate(lists)))


def by_ortools(group: Group, largest: int) -> tuple[int, int, float]:
    """(sum of squares, moves, seconds) by min-cost flow; sizes <= largest; topics may be gone."""
    members, partitions = len(group.members), np.maximum(group.topics.partitions, 0)
    readers = [group.members.topics_of(m) for m in range(members)]
    member = np.repeat(np.arange(members), [topics.size for topics in readers])
    topic = np.concatenate(readers)
    claimed = topic_of(group.claims.codes)
    owner = np.repeat(np.arange(members), np.diff(group.claims.offsets))[partitions[claimed] > 0]
    claimed = claimed[partitions[claimed] > 0]
    kinds, owned = np.unique(claimed * members + owner, return_counts=True)
    pools = members + partitions.size
    kind, sink = pools + np.arange(kinds.size), pools + kinds.size
    square = int(owned.sum()) + 1
    level = np.tile(np.arange(largest + 1), members)
    arcs = [
        (members + topic, member, partitions[topic], 0),
        (kind, kinds % members, owned, 0),
        (kind, members + kinds // members, owned, 1),
        (np.repeat(np.arange(members), largest + 1), sink, 1, square * (2 * level + 1)),
    ]
    flow = SimpleMinCostFlow()
    for columns in arcs:
        flow.add_arcs_with_capacity_and_unit_cost(*np.broadcast_arrays(*columns))
    unclaimed = partitions - np.bincount(kinds // members, owned, partitions.size).astype(np.int64)
    unclaimed[np.bincount(topic, minlength=partitions.size) == 0] = 0
    flow.set_nodes_supplies(members + np.arange(partitions.size), unclaimed)
    flow.set_nodes_supplies(kind, owned)
    flow.set_node_supply(int(sink), -int(unclaimed.sum() + owned.sum()))
    began = time.perf_counter()
    assert flow.solve() == flow.OPTIMAL
    taken = time.perf_counter() - began
    return *divmod(flow.optimal_cost(), square), taken


def timed(function, group: Group):
    """(result, seconds) of the fastest of three, of a group of which nothing is prepared."""
    times = []
    for _ in range(3):
        fresh = group.with_topics(group.topics)
        began = time.perf_counter()
        result = function(fresh)
        times.append(time.perf_counter() - began)
    return result, min(times)


def main(beside: bool) -> None:
    for shape in SHAPES:
        for event in EVENTS:
            events = ("FULL", event)
            scenario = Scenario(2_000, 500, 1_000_000, subscription=shape, events=events)
            before, after = [moment.group for moment in history(scenario)[:2]]
            group = claiming(after, before, optimum(before).assignment)
            best, taken = timed(optimum, group)
            numbers, short = timed(least, group)
            points, walked = timed(front, group)
            line = (
                f"{shape:21} {event:17} optimum {taken:6.3f} s  least {short:6.3f} s  front "
                f"{walked:6.3f} s, {len(points.points):5,} points  moves {best.moves:6,}"
            )
            assert numbers == (best.sum_of_squares, best.moves)
            if beside:
                squares, moves, theirs = by_ortools(group, int(best.assignment.sizes.max()))
                same = (squares, moves) == numbers
                line += f"  OR-Tools {theirs:7.3f} s, {'the same' if same else 'DIFFERENT'}"
            print(line, flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--no-ortools", action="store_true", help="leave OR-Tools out")
    main(beside=not parser.parse_args().no_ortools)
