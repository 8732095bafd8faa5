"""How fast sweeps are, and what Spark costs them: ``python bench/sweep.py``.

The same scenarios are swept on Spark and played by plain processes on the same cores, in turns.
Both build the scenarios, replay them through every strategy, measure, and write a Parquet table;
the tables are compared first. Both have started and loaded their code before the clock runs; what
the start takes is printed too.

Size S of the sweeps: 10 topics x 10 partitions x 10 members.

``--optimum`` measures what the columns of the optimum cost instead: the same sweep on Spark with and
without them, in turns, for equal and for other subscriptions.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import amount, strategy_name, whole

from assignlab import assignors, sweep
from assignlab.local.project import FOLDER_VARIABLE, cores
from assignlab.replay.records import cost, records
from assignlab.replay.scenarios import Scenario
from assignlab.sweep import load, slices
from assignlab.sweep.driver import equal_slices
from assignlab.sweep.spark import session

EVENTS = (
    "FULL", "STABLE", "JOIN_ONE", "LEAVE_ONE", "JOIN_MANY", "LEAVE_MANY", "CRASH", "RETURN",
    "PARTITIONS_ADDED", "TOPIC_CREATED",
)  # fmt: skip
LEAST_RATE = 15_000
MOST_RATIO = 1.1
LEAST_WITH_OPTIMUM = 0.5
"""How fast a sweep of equal subscriptions is with the optimum, of one without."""


def scenarios(count: int, subscription: str = "HOMOGENEOUS") -> list[Scenario]:
    """Groups of size S that live through every kind of event."""
    return sweep.grid(
        members=10,
        topics=10,
        partitions=100,
        subscription=subscription,
        seed=range(count),
        events=EVENTS,
    )


def on_spark(
    asked, strategies, slices: int | None = None, optimum: bool = False
) -> tuple[float, list[Path]]:
    """(seconds, files) of the sweep, cut as a user's would be where ``slices`` says nothing."""
    began = time.perf_counter()
    table = sweep.run(asked, strategies, name="bench", slices=slices, optimum=optimum)
    seconds = time.perf_counter() - began
    return seconds, sorted(Path(table.path).glob("*.parquet"))


def in_processes(pool, asked, strategies, folder: Path) -> tuple[float, list[Path]]:
    """(seconds, files) of the same work in plain processes, each with a file of its own."""
    began = time.perf_counter()
    costs = [cost(scenario, len(strategies)) for scenario in asked]
    dealt = equal_slices(costs, 3 * cores())
    slices = [[] for _ in range(3 * cores())]
    for number, scenario in enumerate(asked):
        slices[dealt[number]].append((number, scenario))
    jobs = [(slice, strategies, folder / f"{n}.parquet") for n, slice in enumerate(slices) if slice]
    files = pool.starmap(play_slice, jobs, chunksize=1)
    return time.perf_counter() - began, files


def play_slice(jobs, strategies, file: Path) -> Path:
    """Play one slice without Spark and without children; runs in a process of the pool."""
    with pq.ParquetWriter(file, slices.SCHEMA) as writer:
        rows = []
        for number, scenario in jobs:
            rows += [(number, *row) for row in records(scenario, strategies)]
            if len(rows) >= slices.ROWS_PER_BATCH:
                writer.write_batch(slices.record_batch(rows))
                rows = []
        if rows:
            writer.write_batch(slices.record_batch(rows))
    return file


def ready(strategies) -> None:
    """Load the compiled code into a process of the pool."""
    for strategy in strategies:
        load.load(strategy)


def content(files) -> tuple[int, int]:
    """Number of records in the files, and a digest of all of them that no order changes.

    Every record is hashed as a whole; the digest is the sum of the hashes. One batch is in memory
    at a time: a minute makes millions of records.
    """
    count, digest = 0, 0
    for file in files:
        for batch in pq.ParquetFile(file).iter_batches(columns=slices.SCHEMA.names):
            frame = pa.Table.from_batches([batch]).cast(slices.SCHEMA).to_pandas()
            hashes = pd.util.hash_pandas_object(frame, index=False, categorize=True)
            count += len(frame)
            digest = (digest + int(hashes.sum())) % 2**64
    return count, digest


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--seconds", type=amount(1), default=60, help="about how long one sweep takes"
    )
    parser.add_argument("--rounds", type=whole(), default=2, help="how often each side runs")
    parser.add_argument("--strategies", nargs="+", type=strategy_name, default=assignors.names())
    parser.add_argument("--optimum", action="store_true", help="what the optimum costs")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        return (with_optimum if asked.optimum else compare)(asked, Path(folder))


def with_optimum(asked, folder: Path) -> int:
    """Print how fast sweeps are with the optimum and without; 0 if it is fast enough."""
    os.environ[FOLDER_VARIABLE] = str(folder)
    speeds = {}
    for subscription in ("HOMOGENEOUS", "HETEROGENEOUS_NESTED", "RANDOM"):
        few = scenarios(2 * cores(), subscription)
        for optimum in (False, True):  # a worker on every core, with all its code
            on_spark(few, asked.strategies, cores(), optimum)
        seconds, _ = on_spark(few, asked.strategies, cores(), True)
        grid = scenarios(max(len(few), round(len(few) * asked.seconds / seconds)), subscription)
        times: dict[bool, list[float]] = {False: [], True: []}
        for _ in range(asked.rounds):
            for optimum, taken in times.items():
                taken.append(on_spark(grid, asked.strategies, optimum=optimum)[0])
        without, beside = (statistics.median(taken) for taken in times.values())
        speeds[subscription] = without / beside
        rebalances = len(grid) * len(EVENTS) * len(asked.strategies)
        print(
            f"{subscription}: {rebalances / without / cores():.0f} rebalances per second and core, "
            f"with the optimum {rebalances / beside / cores():.0f}: {without / beside:.2f} times"
        )
    print(f"to reach for equal subscriptions: {LEAST_WITH_OPTIMUM} times")
    return 0 if speeds["HOMOGENEOUS"] >= LEAST_WITH_OPTIMUM else 1


def compare(asked, folder: Path) -> int:
    os.environ[FOLDER_VARIABLE] = str(folder)
    strategies = asked.strategies
    began = time.perf_counter()
    session()
    on_spark(scenarios(2 * cores()), strategies, slices=cores())  # a worker on every core
    print(f"start of Spark, its workers and their code: {time.perf_counter() - began:.1f} s")
    began = time.perf_counter()
    with multiprocessing.get_context("spawn").Pool(cores(), ready, (strategies,)) as pool:
        in_processes(pool, scenarios(2 * cores()), strategies, folder)
        print(f"start of plain processes and their code: {time.perf_counter() - began:.1f} s")
        grid = long_enough(pool, asked, folder)
        times = {"Spark": [], "processes": []}
        for round_ in range(asked.rounds):
            spark, files = on_spark(grid, strategies)
            one = content(files)
            plain, files = in_processes(pool, grid, strategies, folder)
            if one != content(files):
                print("the tables differ")
                return 1
            times["Spark"].append(spark)
            times["processes"].append(plain)
            print(f"round {round_ + 1}: equal tables, Spark {spark:.1f} s, processes {plain:.1f} s")
    return verdict(one[0], times, strategies)


def long_enough(pool, asked, folder: Path) -> list[Scenario]:
    """Scenarios for about ``asked.seconds``, after trials that double until one tells enough."""
    count, seconds = 100, 0.0
    while seconds < asked.seconds / 20:
        count *= 2
        seconds, _ = in_processes(pool, scenarios(count), asked.strategies, folder)
    return scenarios(round(count * asked.seconds / seconds))


def verdict(rebalances: int, times: dict, strategies) -> int:
    """Print what was reached; 0 if it is enough."""
    best = {side: statistics.median(seconds) for side, seconds in times.items()}
    ratio = best["Spark"] / best["processes"]
    rate = rebalances / best["Spark"] / cores()
    print(
        f"{rebalances} rebalances at S ({', '.join(strategies)}) on {cores()} cores: "
        f"Spark {rate:.0f}, processes {rebalances / best['processes'] / cores():.0f} "
        f"per second and core; wall time Spark / processes {ratio:.3f}"
    )
    print(f"to reach: {LEAST_RATE} per second and core, ratio {MOST_RATIO}")
    return 0 if rate >= LEAST_RATE and ratio <= MOST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
