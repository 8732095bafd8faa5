"""Runs a sweep: cuts the work into slices, has Spark play them, and puts the table in its place."""

import heapq
import math
import pickle
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from assignlab.local.files import write_json
from assignlab.local.project import cores, outputs, run_folder, versions
from assignlab.replay.records import cost
from assignlab.replay.scenarios import Scenario
from assignlab.sweep.progress import Progress
from assignlab.sweep.question import Grid, SweepError, check, digest, digest_of
from assignlab.sweep.slices import REBALANCES, WITH_OPTIMUM
from assignlab.sweep.spark import answering, is_local, session, unpack_shipped
from assignlab.sweep.subject import Subject
from assignlab.sweep.table import Table
from assignlab.sweep.workplace import Workplace, tell

SLICES_PER_CORE = 3
SHORTEST_SLICE = 0.25
LONGEST_SLICE = 30.0
CLUSTER_SLICE = 10.0
CLUSTER_SLICES = 16
KEY = REBALANCES.key
TIME_LIMIT = 300.0
DESCRIPTION = "_description.json"


def run(
    scenarios: Iterable[Scenario],
    strategies: Sequence[str] | str,
    name: str | None = None,
    limit: float = TIME_LIMIT,
    slices: int | None = None,
    optimum: bool = False,
) -> "Table":
    """Play every scenario with every strategy on Spark; returns the table of records.

    ``name``: the table is ``<name>.parquet`` in the folder of the run or in ``outputs/sweeps``, in
    place of an earlier one; without a name it is called after what was asked. ``limit``: seconds of
    processor time for one strategy on one scenario; more makes an error row (the one thing in the
    table that depends on the machine). ``slices``: how many tasks the work is cut into.
    ``optimum``: the table has the columns of :data:`assignlab.replay.columns.BESIDE_OPTIMUM` too, and
    its needed and avoidable moves are proven for every kind of subscription.

    A sweep that was interrupted, asked again, keeps the slices that were done.

    A simulation that raises becomes an error row too: :attr:`Table.failures` has them, and a line
    on stderr says how many. Progress goes to stderr, a line every few seconds.
    """
    scenarios = scenarios if isinstance(scenarios, Grid) else list(scenarios)
    strategies = [strategies] if isinstance(strategies, str) else list(strategies)
    check(scenarios, strategies, name, limit)
    longest = limit * len(strategies)
    costs = [min(cost(scenario, len(strategies), optimum), longest) for scenario in scenarios]
    question = digest(scenarios, strategies)
    subject = WITH_OPTIMUM if optimum else REBALANCES
    work = Work(scenarios, strategies, costs, limit, subject, question)
    return play_on_spark(work, name or f"sweep-{question}", slices)


class Work(NamedTuple):
    """What Spark is to play, whatever its subject.

    ``scenarios``: what ``subject`` plays, of a class that the executors can import; ``costs``:
    about how many seconds each takes; ``limit``: see :func:`run`; ``question``: a name of scenarios,
    strategies and subject, so that an interrupted sweep is found again; None where these depend on
    code outside the library.
    """

    scenarios: Sequence
    strategies: Sequence[str]
    costs: Sequence[float]
    limit: float
    subject: Subject
    question: str | None


def play_on_spark(work: Work, name: str, slices: int | None = None) -> "Table":
    """Have Spark play the work into the table of this name; see :func:`run`."""
    spark = session()
    began = time.monotonic()
    costs = work.costs
    path = folder() / f"{name}.parquet"
    with Workplace(unfinished_beside(path.parent), question_of(work)) as place:
        dealt = place.dealt(
            lambda: deal(costs, slices or slice_count(spark, sum(costs), len(costs)))
        )
        done = place.done()
        rest = [cost for cost, slice in zip(costs, dealt, strict=True) if slice not in done]
        if done:
            tell(f"{len(costs) - len(rest)} scenarios are there, from a sweep that did not end")
        with Progress(place.progress, rest):
            failed = write(spark, work, dealt, place)
        write_json(place.slices / DESCRIPTION, describe(work, round(time.monotonic() - began, 3)))
        place.take_place(path)
    table = Table(path, work.subject)
    if failed:
        table.tell_failures()
    return table


def question_of(work: Work) -> str | None:
    """A name of all that a table depends on, the limit of time among it; see :class:`Work`."""
    if work.question is None:
        return None
    return digest_of([work.question, work.limit, versions(), work.subject.schema.to_string()])


def unfinished_beside(tables: Path) -> Path:
    """The folder whose sweeps work where an interruption leaves them.

    That of ``tables`` itself; but a run that fails takes its folder with it, and runs have theirs
    below ``outputs()``.
    """
    return outputs() / "sweeps" if tables.is_relative_to(outputs()) else tables


def folder() -> Path:
    """Where tables go: the folder of the notebook's run, or ``outputs/sweeps`` of the project."""
    return run_folder() or outputs() / "sweeps"


def slice_count(spark, cost: float, scenarios: int) -> int:
    """How many tasks to cut a sweep into that should take ``cost`` seconds on one core."""
    if is_local(spark):
        # An interruption costs what is not finished.
        wanted = max(SLICES_PER_CORE * cores(), math.ceil(cost / LONGEST_SLICE))
    else:
        # A cluster does not say how large it is: tasks long enough to be worth their start.
        wanted = max(CLUSTER_SLICES, math.ceil(cost / CLUSTER_SLICE))
    return min(scenarios, wanted, math.ceil(cost / SHORTEST_SLICE))


def deal(costs: Sequence[float], slices: int) -> list[int]:
    """The slice of every scenario, so that all slices cost about the same: longest first, each to
    the slice that has least.

    >>> deal([1.0, 5.0, 2.0, 2.0], 2)
    [1, 0, 1, 1]
    """
    loads = [(0.0, number) for number in range(slices)]
    dealt = [0] * len(costs)
    for i in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        load, number = heapq.heappop(loads)
        dealt[i] = number
        heapq.heappush(loads, (load + costs[i], number))
    return dealt


def write(spark, work: Work, dealt: Sequence[int], place: Workplace) -> int:
    """Let Spark play the slices that are not done yet; every task writes its own, as a file.

    Returns how many simulations failed in all slices.
    """
    done = place.done()
    slices: dict[int, list[int]] = {}
    for i in sorted(range(len(dealt)), key=lambda i: (-work.costs[i], i)):
        if dealt[i] not in done:
            slices.setdefault(dealt[i], []).append(i)
    if slices:
        jobs = pa.table(
            {
                "task": pa.array(range(len(slices)), pa.int32()),
                "slice": pa.array(slices, pa.int32()),
                "jobs": pa.array([pickled(work, slice) for slice in slices.values()], pa.binary()),
            }
        )
        with answering(spark):
            spark.createDataFrame(jobs).repartitionById(len(slices), "task").mapInArrow(
                player(work, place), "slice int"
            ).collect()
        done = place.done()
    if missing := set(dealt) - set(done):
        raise SweepError(f"{len(missing)} of {max(dealt) + 1} slices are not in {place.slices}")
    return sum(done.values())


def pickled(work: Work, numbers: Sequence[int]) -> bytes:
    """A slice for its task: numbers and costs of its scenarios, and these; of a grid its axes."""
    asked = work.scenarios
    scenarios = asked if isinstance(asked, Grid) else {i: asked[i] for i in numbers}
    costs = np.array([work.costs[i] for i in numbers], dtype=np.float64)
    return pickle.dumps((np.array(numbers, dtype=np.int64), costs, scenarios))


def player(work: Work, place: Workplace) -> Callable:
    """What a task does with its slice. It travels by value, with plain things only."""
    unpack = unpack_shipped()
    strategies, limit, subject = work.strategies, work.limit, pickle.dumps(work.subject)
    folders = str(place.slices), str(place.parts), str(place.progress)

    def play(batches):
        unpack()
        # Imported where it runs: an executor may know the package from the zip only.
        from assignlab.sweep.slices import Folders, write_slice

        yield from write_slice(batches, strategies, limit, Folders(*folders), pickle.loads(subject))

    return play


def describe(work: Work, seconds: float) -> dict:
    """What lies beside a table: how it was made, and its columns."""
    return {
        "scenarios": len(work.scenarios),
        "strategies": work.strategies,
        "seconds": seconds,
        "versions": versions(),
        "columns": [column._asdict() for column in work.subject.columns],
    }
