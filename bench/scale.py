"""The law of what sweeps cost, and what a billion rebalances would: ``python bench/scale.py``.

Counted is processor time of the driver, Spark's Java machine and its workers together, which other
work on the machine hardly changes; wall time is told beside it. Groups of size S (10 members, 10
topics, 100 partitions) live through ten events under Kafka's four current strategies.

1. In one process: what building a group, asking a strategy, measuring and writing a record cost, at S
   and at larger groups.
2. On Spark: the same rebalances in few tasks and in many, more rebalances in as many tasks. The
   differences are the cost of a task, of a rebalance, and of a group in the driver, which no cores share.
3. The law, put to a billion rebalances on 16, 256 and 4,096 cores in tasks of ten seconds.
4. ``--check N``: a sweep of N rebalances beside what the law says of it.
"""

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
from arguments import whole

from assignlab import assignors, sweep
from assignlab.local.project import FOLDER_VARIABLE, cores
from assignlab.replay.history import history
from assignlab.replay.rebalance import replay
from assignlab.replay.records import record, scenario_values
from assignlab.sweep import load, slices
from assignlab.words import counted
from sweep import EVENTS

STRATEGIES = ("range", "roundrobin", "sticky", "cooperative-sticky")
"""Those that Kafka's clients have now."""
SIZES = {"S": (10, 10, 100), "M": (100, 50, 1_000), "L": (1_000, 100, 10_000)}
"""Members, topics, partitions."""
CLUSTERS = (16, 256, 4_096)
MANY = 10**9
TASK_SECONDS = 10.0
"""How long tasks are on a cluster, :data:`assignlab.sweep.driver.LONGEST_CLUSTER_SLICE`."""
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--groups", type=whole(), default=2_000, help="of the smaller sweeps on Spark"
    )
    parser.add_argument(
        "--check", type=whole(0), default=0, help="rebalances of a sweep to check by"
    )
    chosen = parser.parse_args()
    for size, shape in SIZES.items():
        tell_steps(size, shape)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[FOLDER_VARIABLE] = folder
        law = measured_law(chosen.groups)
        tell(law)
        if chosen.check:
            check(law, math.ceil(chosen.check / rebalances(1)))
    return 0


def rebalances(groups: int) -> int:
    """How many rebalances so many groups live through."""
    return groups * len(EVENTS) * len(STRATEGIES)


def groups_of(count: int, shape=SIZES["S"], first: int = 0):
    """Seeded groups with their events."""
    members, topics, partitions = shape
    return sweep.grid(
        members=members, topics=topics, partitions=partitions,
        seed=range(first, first + count), events=EVENTS,
    )  # fmt: skip


# ---- in one process ----------------------------------------------------------------------------


def tell_steps(size: str, shape) -> None:
    """Print what the steps of a rebalance cost at a size, in microseconds of processor time."""
    asked = groups_of(max(4, 20_000 // shape[2]), shape)
    for name in STRATEGIES:
        load.load(name)
    with tempfile.TemporaryDirectory() as folder:
        taken = [steps(asked, Path(folder) / "part.parquet") for _ in range(5)]
    total = rebalances(len(asked))
    build, ask, measure, write = (
        1e6 * statistics.median(of) / total for of in zip(*taken, strict=True)
    )
    print(
        f"{size}, {shape[0]:,} members, {shape[1]} topics, {shape[2]:,} partitions: a rebalance takes "
        f"{build + ask + measure + write:.1f} us: its group {build:.1f} (one for {len(STRATEGIES)} "
        f"strategies), the strategy {ask:.1f}, measures {measure:.1f}, its record {write:.1f}",
        flush=True,
    )


def steps(asked, file: Path) -> tuple[float, ...]:
    """Processor seconds of building, asking, measuring and writing."""
    chosen = [assignors.get(name) for name in STRATEGIES]
    clock = [time.process_time()]
    told = [history(scenario) for scenario in asked]
    clock.append(time.process_time())
    played = [
        (scenario, step)
        for scenario, moments in zip(asked, told, strict=True)
        for strategy in chosen
        for step in replay(moments, strategy)
    ]
    clock.append(time.process_time())
    rows = [(0, *scenario_values(scenario), *record(step)) for scenario, step in played]
    clock.append(time.process_time())
    with pq.ParquetWriter(file, slices.SCHEMA) as writer:
        for start in range(0, len(rows), slices.ROWS_PER_BATCH):
            writer.write_batch(slices.record_batch(rows[start : start + slices.ROWS_PER_BATCH]))
    clock.append(time.process_time())
    return tuple(end - start for start, end in pairwise(clock))


# ---- on Spark ----------------------------------------------------------------------------------


def measured_law(groups: int) -> dict[str, float]:
    """Seconds of processor time of a ``task``, a ``rebalance``, one whose record goes to a ``store``,
    and a group in the ``driver`` alone."""
    run(groups_of(2 * cores()), cores())  # Spark, a worker on every core, their code
    few, many, sizes = 2 * cores(), 32 * cores(), (groups, 4 * groups)
    found: dict[str, list[float]] = {"task": [], "rebalance": [], "driver": [], "store": []}
    for turn in range(3):
        short = run(groups_of(groups, first=10**6 * (turn + 1)), few)
        cut = run(groups_of(groups, first=10**6 * (turn + 1)), many)
        long = run(groups_of(4 * groups, first=10**7 * (turn + 1)), few)
        stored = [run(groups_of(n, first=10**7 * (turn + 1)), few, "store") for n in sizes]
        found["task"].append((cut.all - short.all) / (many - few))
        found["rebalance"].append((long.all - short.all) / rebalances(3 * groups))
        found["store"].append((stored[1].all - stored[0].all) / rebalances(3 * groups))
        found["driver"].append((long.driver - short.driver) / (3 * groups))
    return {what: statistics.median(values) for what, values in found.items()}


class Taken(NamedTuple):
    """Processor seconds of all processes and of the driver's alone, wall seconds, number of tasks."""

    all: float
    driver: float
    wall: float
    tasks: int


def run(asked, tasks: int | None = None, store: str | None = None) -> Taken:
    """What a sweep takes, cut into so many tasks, or as a user's would be; into a store of that
    name, which Spark writes, or the folder that tasks write."""
    to = f"file:{os.environ[FOLDER_VARIABLE]}/{store}" if store else None
    began, all_before, own_before = time.perf_counter(), tree_seconds(), time.process_time()
    table = sweep.run(asked, STRATEGIES, name="scale", slices=tasks, to=to)
    wall, own = time.perf_counter() - began, time.process_time() - own_before
    files = 0 if store else sum(1 for _ in table.path.glob("*.parquet"))
    return Taken(tree_seconds() - all_before, own, wall, tasks or files)


def tree_seconds() -> float:
    """Processor seconds of this process and all below it, those that ended included."""
    parents, spent = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:  # ended just now
            continue
        pid = int(stat.parent.name)
        parents[pid] = int(fields[1])
        spent[pid] = sum(map(int, fields[11:15]))
    inside = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in inside} - inside:
        inside |= more
    return sum(spent[pid] for pid in inside) / TICKS


# ---- the law -----------------------------------------------------------------------------------


def tell(law: dict[str, float]) -> None:
    """Print the law, and a billion rebalances by it."""
    print(
        f"on Spark: a task takes {1e3 * law['task']:.0f} ms, a rebalance with its record "
        f"{1e6 * law['rebalance']:.1f} us of a core, {1 / law['rebalance']:,.0f} a second; a group takes "
        f"{1e6 * law['driver']:.0f} us of the driver, {1e6 * law['driver'] / rebalances(1):.2f} a rebalance; "
        f"into a store, through Spark, a rebalance takes {law['store'] / law['rebalance']:.2f} times as much"
    )
    work = MANY * law["rebalance"]
    tasks = math.ceil(work / TASK_SECONDS)
    serial = MANY / rebalances(1) * law["driver"]
    print(
        f"{MANY:,} rebalances at S: {work / 3600:.1f} core hours in {tasks:,} tasks, which add "
        f"{tasks * law['task'] / 3600:.2f}; {serial / 60:.0f} minutes of the driver"
    )
    for count in CLUSTERS:
        waves = math.ceil(tasks / count)
        shared = waves * (work / tasks + law["task"])
        print(
            f"  {count:5,} cores: {shared / 60:7.1f} minutes in {counted(waves, 'wave')}, "
            f"{(shared + serial) / 60:7.1f} with the driver's"
        )


def check(law: dict[str, float], groups: int) -> None:
    """Print how long a large sweep took, beside the law."""
    taken = run(groups_of(groups, first=10**8))
    expected = rebalances(groups) * law["rebalance"] + taken.tasks * law["task"]
    print(
        f"checked: {rebalances(groups):,} rebalances in {taken.tasks} tasks took {taken.all:.0f} s of "
        f"processor time, the law says {expected:.0f} ({taken.all / expected:.2f} times); the driver's "
        f"part {taken.driver:.0f}, the law says {groups * law['driver']:.0f}; wall time {taken.wall:.0f} s "
        f"on {cores()} cores"
    )


if __name__ == "__main__":
    sys.exit(main())
