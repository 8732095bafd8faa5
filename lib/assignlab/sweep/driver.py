"""Runs a sweep: cuts the work into slices, has Spark play them, and puts the table in its place."""

import errno
import heapq
import math
import os
import pickle
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import random
from typing import NamedTuple
from uuid import uuid4

import numpy as np
import pyarrow as pa

from assignlab.local import project
from assignlab.local.doctor import folder_problem
from assignlab.local.files import write_json
from assignlab.replay.records import cost
from assignlab.replay.scenarios import Scenario
from assignlab.sweep.probe import ask_executors
from assignlab.sweep.progress import RoundCount, told_progress
from assignlab.sweep.question import Grid, SweepError, check, digest, digest_of, listed, words
from assignlab.sweep.slices import NOT_SHARED, REBALANCES, WITH_OPTIMUM, reported
from assignlab.sweep.spark import answering, cores_of, is_local, session, unpack_shipped
from assignlab.sweep.store import Cut, Store
from assignlab.sweep.subject import Subject
from assignlab.sweep.table import Table
from assignlab.sweep.workplace import DESCRIPTION, Workplace, code, refuse_other, tell

SLICES_PER_CORE = 3
SHORTEST_SLICE = 0.25
LONGEST_SLICE = 30.0
CLUSTER_SLICES = 16
SHORTEST_CLUSTER_SLICE, LONGEST_CLUSTER_SLICE = 1.0, 10.0
TIME_LIMIT = 300.0
ROUNDS, SHORTEST_ROUND, WAVES = 20, 60.0, 4
"""Of a sweep into a store: how many at most, seconds of processor time in one, and how many tasks
of one follow each other on a core. A round waits for its last task: of few waves it would leave
cores idle for long."""
PAUSES = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Seconds until a table is tried again that another sweep wrote in the same moment; a draw makes each up
to twice as long."""


def run(
    scenarios: Iterable[Scenario],
    strategies: Sequence[str] | str,
    name: str | None = None,
    limit: float = TIME_LIMIT,
    slices: int | None = None,
    optimum: bool = False,
    to: str | os.PathLike | None = None,
) -> "Table":
    """Play every scenario with every strategy on Spark; returns the table of records.

    ``name``: the table is ``<name>.parquet`` in the notebook's folder or in ``outputs/sweeps``, in
    place of an earlier one; without a name it is called after what was asked. ``limit``: seconds of
    processor time for one strategy on one scenario; more makes an error row (the one thing in the
    table that depends on the machine). ``slices``: how many tasks the work is cut into.
    ``optimum``: the table has the columns of :data:`assignlab.replay.columns.BESIDE_OPTIMUM` too,
    and its needed and avoidable moves are proven for every kind of subscription. ``to``: where the
    table goes instead, a folder or a URI of a store that Spark's executors can write
    (``hdfs://host/tables``, ``s3a://bucket/tables``); ``ASSIGNLAB_TABLES`` is the same for all
    sweeps.

    A sweep that was interrupted, asked again, keeps the slices that were done.

    A simulation that raises becomes an error row too: :attr:`Table.failures` has them; those in which
    the original itself throws or never ends are :attr:`Table.unanswered`. Lines on stderr say how
    many there are. Progress goes to stderr, a line every few seconds.
    """
    scenarios, strategies = listed(scenarios), words("strategies", strategies)
    check(scenarios, strategies, name, limit, slices)
    if to == "" or to is not None and not isinstance(to, str | os.PathLike):
        raise SweepError(f"to: expected a folder or the URI of a store, got {to!r}")
    longest = limit * len(strategies)
    costs = [min(cost(scenario, len(strategies), optimum), longest) for scenario in scenarios]
    question = digest(scenarios, strategies)
    subject = WITH_OPTIMUM if optimum else REBALANCES
    work = Work(scenarios, strategies, costs, limit, subject, question)
    return play_on_spark(
        work, name or f"sweep-{question}", slices, None if to is None else os.fspath(to)
    )


class Work(NamedTuple):
    """What Spark is to play, whatever its subject.

    ``scenarios``: what ``subject`` plays, of a class that the executors can import; ``costs``:
    about how many seconds each takes; ``limit``: see :func:`run`; ``question``: a name of
    scenarios, strategies and subject, so that an interrupted sweep is found again; None where these
    depend on code outside the library. ``together``: for each scenario the number of what it shares
    with others; those of one number are played in one slice; None where nothing is shared.
    """

    scenarios: Sequence
    strategies: Sequence[str]
    costs: Sequence[float]
    limit: float
    subject: Subject
    question: str | None
    together: Sequence[int] | None = None


def play_on_spark(
    work: Work, name: str, slices: int | None = None, to: str | None = None
) -> "Table":
    """Have Spark play the work into the table of this name; see :func:`run`."""
    # Notes hold plain numbers, not NumPy's.
    work, slices = work._replace(limit=float(work.limit)), slices and int(slices)
    target = to or tables_named()
    if target and project.is_uri(target):
        return play_into_store(session(), work, target, name, slices)
    path = folder_to_write(target) / f"{name}.parquet"
    refuse_other(path)
    spark = session()
    began = time.monotonic()
    costs = work.costs
    with (
        room_on_disk(path.parent),
        Workplace(unfinished_beside(path.parent), question_of(work)) as place,
    ):
        with answering(spark):
            if not is_local(spark) and not ask_executors(spark, place.path):
                raise SweepError(not_shared(place.path))
            number = slices or slice_count(spark, cores_of(spark), sum(costs), len(costs))
        dealt = place.dealt(lambda: dealt_together(work, number))
        done = place.done()
        waiting = slices_to_play(work, dealt, done.__contains__)
        rest = costs_of(work, waiting)
        if done:
            tell(f"{len(costs) - len(rest)} scenarios are there, from a sweep that did not end")
        with told_progress(partial(reported, place.progress), rest):
            errors = write(spark, work, waiting, place)
        described = describe(work, round(time.monotonic() - began, 3)) | {"slices": len(set(dealt))}
        write_json(place.slices / DESCRIPTION, described)
        place.take_place(path)
    table = Table(path, work.subject)
    if errors:
        table.tell_errors()
    return table


@contextmanager
def room_on_disk(folder: Path) -> Iterator[None]:
    """A disk that is full, or cannot be written any more, becomes :class:`SweepError`."""
    try:
        yield
    except OSError as error:
        cut_off = "requested and" in str(error)  # as NumPy says it
        if not cut_off and error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
            raise
        why = error.strerror or "a file was cut off, the disk may be full"
        raise SweepError(f"{error.filename or folder}: {why}") from None


def play_into_store(spark, work: Work, to: str, name: str, slices: int | None) -> "Table":
    """Have Spark play the work and write its records to a store, in rounds; see :class:`Store`."""
    began = time.monotonic()
    known = question_of(work)
    asked = digest_of([known, code()]) if known else uuid4().hex[:12]
    store = Store(spark, to, name, asked)
    with answering(spark):
        if not is_local(spark):
            ask_executors(spark, None)
        cut = cut_of(spark, sum(work.costs), len(work.costs), slices)
        for pause in (*PAUSES, None):
            store.enter(cut)
            try:
                play_rounds(spark, work, store)
                tell(f"writes {store.path}")
                described = describe(work, round(time.monotonic() - began, 3))
                if store.take_place(work.subject.spark_schema, described):
                    break
            except BaseException as error:
                if not isinstance(error, Exception) or not store.is_disturbed() or pause is None:
                    if store.done and known:
                        tell(
                            f"{len(store.done)} finished rounds are kept: the same sweep, asked "
                            "again, goes on from them"
                        )
                    raise
            other = f"{store.path} is not as this sweep wrote it: another sweep writes it, too"
            if pause is None:
                raise SweepError(f"{other}, or some executor does not see that place; ask again")
            tell(f"{other}; this one tries again")
            time.sleep(pause * (1 + random()))
            if store.is_answered():
                break
        store.leave()
    table = Table(store.path, work.subject)
    if any(one.errors for one in store.done.values()):
        table.tell_errors()
    return table


def cut_of(spark, cost: float, scenarios: int, slices: int | None) -> Cut:
    """How a sweep into a store is cut that should take ``cost`` seconds on one core."""
    there = cores_of(spark)
    number = min(slices or slice_count(spark, there, cost, scenarios), scenarios)
    rounds = min(ROUNDS, int(cost / SHORTEST_ROUND), number // (WAVES * there))
    return Cut(number, max(1, rounds))


def play_rounds(spark, work: Work, store: Store) -> None:
    """Have Spark play the rounds of a store that are not done."""
    done, rounds = set(store.done), store.cut.rounds
    dealt = dealt_together(work, store.cut.slices)
    if done:
        there = sum(one.scenarios for one in store.done.values())
        tell(f"{there} scenarios are there, from a sweep that did not end")
    waiting = slices_to_play(work, dealt, lambda slice: slice % rounds in done)
    if not waiting:
        return
    count = RoundCount()
    with told_progress(count.reported, costs_of(work, waiting)):
        for at in sorted({slice % rounds for slice in waiting}):
            slices = {slice: waiting[slice] for slice in waiting if slice % rounds == at}
            costs = costs_of(work, slices)
            rows = jobs(spark, work, slices).mapInArrow(player(work), work.subject.spark_schema)
            with count.round(spark, len(slices), len(costs), sum(costs)):
                store.write_round(at, rows, len(costs), sum(costs), work.subject.always)


def question_of(work: Work) -> str | None:
    """A name of all that a table depends on, the limit of time among it; see :class:`Work`."""
    if work.question is None:
        return None
    columns = work.subject.schema.to_string()
    return digest_of([work.question, work.limit, project.versions(), columns])


def unfinished_beside(tables: Path) -> Path:
    """The folder whose sweeps work where an interruption leaves them.

    That of ``tables`` itself; but a run that fails takes its folder with it, and runs have theirs
    below ``outputs()``.
    """
    return project.outputs() / "sweeps" if tables.is_relative_to(project.outputs()) else tables


def folder_to_write(target: str | None) -> Path:
    """The folder that tables are sent to, or the notebook's, or ``outputs/sweeps`` outside of one;
    raises :class:`SweepError` if it cannot be."""
    try:
        own = project.run_folder() or next(iter(project.BEGUN), project.outputs() / "sweeps")
        place = project.folder_named(target) if target else own
    except ValueError as error:
        raise SweepError(str(error)) from None
    if target and (problem := folder_problem(str(place), "--tables")):
        raise SweepError(problem)
    return place


def tables_named() -> str | None:
    """Where ``ASSIGNLAB_TABLES`` sends tables; every notebook has a folder of its own there.

    It is called like the notebook's folder in ``outputs``, also while a run works elsewhere.
    """
    named = os.environ.get(project.TABLES_VARIABLE)
    run = project.run_folder()
    if named and run and run.is_relative_to(project.outputs()):
        parts = run.relative_to(project.outputs()).parts
        if project.RUNNING in parts:
            at = parts.index(project.RUNNING)
            parts = parts[:at] + parts[at + 2 :]
        return "/".join((named.rstrip("/"), *parts))
    return named and named.rstrip("/")


def not_shared(folder: Path) -> str:
    """What a user is told where executors do not see the driver's folder, or cannot write there."""
    if not folder.is_dir():
        return f"{folder} is gone: it was removed while the sweep worked there"
    return (
        f"Spark's executors do not see {folder}, or may not write there: send tables to a store that "
        f"they can write, assignlab run --tables hdfs://..., sweep.run(to=...) or {project.TABLES_VARIABLE}"
    )


def slice_count(spark, there: int, cost: float, scenarios: int) -> int:
    """How many tasks to cut a sweep into that should take ``cost`` seconds on one core of those ``there``."""
    # As many for each core, so that none waits in the end for one that has a slice more.
    if is_local(spark):
        # An interruption costs what is not finished.
        wanted = there * max(SLICES_PER_CORE, math.ceil(cost / LONGEST_SLICE / there))
        return min(scenarios, wanted, math.ceil(cost / SHORTEST_SLICE))
    # More cores may join. Tasks long enough to be worth their start.
    wanted = there * max(1, math.ceil(cost / LONGEST_CLUSTER_SLICE / there))
    wanted = min(wanted, math.ceil(cost / SHORTEST_CLUSTER_SLICE))
    return min(scenarios, max(CLUSTER_SLICES, wanted), math.ceil(cost / SHORTEST_SLICE))


def equal_slices(costs: Sequence[float], slices: int) -> list[int]:
    """The slice of every scenario, so that all slices cost about the same: longest first, each to
    the slice that has least.

    >>> equal_slices([1.0, 5.0, 2.0, 2.0], 2)
    [1, 0, 1, 1]
    """
    loads = [(0.0, number) for number in range(slices)]
    dealt = [0] * len(costs)
    for i in sorted(range(len(costs)), key=lambda i: (-costs[i], i)):
        load, number = heapq.heappop(loads)
        dealt[i] = number
        heapq.heappush(loads, (load + costs[i], number))
    return dealt


def dealt_together(work: Work, slices: int) -> list[int]:
    """The slice of every scenario; those that share something in one, if there are enough."""
    if work.together is None or len(set(work.together)) < slices:
        return equal_slices(work.costs, slices)
    dealt = equal_slices(np.bincount(work.together, work.costs).tolist(), slices)
    return [dealt[number] for number in work.together]


def slices_to_play(
    work: Work, dealt: Sequence[int], done: Callable[[int], bool]
) -> dict[int, list[int]]:
    """The scenarios of every slice that is not done, those that take longest first."""
    slices: dict[int, list[int]] = {}
    for i in sorted(range(len(dealt)), key=lambda i: (-work.costs[i], i)):
        if not done(dealt[i]):
            slices.setdefault(dealt[i], []).append(i)
    return slices


def costs_of(work: Work, slices: Mapping[int, Sequence[int]]) -> list[float]:
    """What the scenarios of slices cost, each."""
    return [work.costs[i] for slice in slices.values() for i in slice]


def write(spark, work: Work, slices: Mapping[int, Sequence[int]], place: Workplace) -> int:
    """Let Spark play slices; every task writes its own, as a file.

    Returns how many error records there are, also in the slices that were there before.
    """
    if slices:
        with answering(spark):
            try:
                jobs(spark, work, slices).mapInArrow(player(work, place), "slice int").collect()
            except Exception as error:
                if NOT_SHARED in str(error) or not place.slices.is_dir():
                    raise SweepError(not_shared(place.path)) from None
                if full := re.search(r"\[Errno (28|122)\] ([^\n]+)", str(error)):
                    raise SweepError(f"{place.path}: {full[2]}") from None
                raise
    done = place.done()
    if missing := slices.keys() - done.keys():
        raise SweepError(f"{len(missing)} of {len(slices)} slices are not in {place.slices}")
    return sum(done.values())


def jobs(spark, work: Work, slices: Mapping[int, Sequence[int]]):
    """The slices as rows for tasks, one each."""
    rows = pa.table(
        {
            "task": pa.array(range(len(slices)), pa.int32()),
            "slice": pa.array(slices, pa.int32()),
            "jobs": pa.array([pickled(work, slice) for slice in slices.values()], pa.binary()),
        }
    )
    return spark.createDataFrame(rows).repartitionById(len(slices), "task")


def pickled(work: Work, numbers: Sequence[int]) -> bytes:
    """A slice for its task: numbers and costs of its scenarios, and these."""
    asked, places = work.scenarios, np.array(numbers, dtype=np.int64)
    scenarios = asked.picked(places) if isinstance(asked, Grid) else [asked[i] for i in numbers]
    costs = np.array([work.costs[i] for i in numbers], dtype=np.float64)
    return pickle.dumps((places, costs, scenarios))


def player(work: Work, place: Workplace | None = None) -> Callable:
    """What a task does with its slice: writes its records to the ``place``, or where there is none
    hands them to Spark. It travels by value, with plain things only."""
    unpack = unpack_shipped()
    strategies, limit, subject = work.strategies, work.limit, pickle.dumps(work.subject)
    folder = place and str(place.path)

    def play_own(batches):
        unpack()
        # Imported where it runs: an executor may know the package from the zip only.
        from assignlab.sweep.slices import send_slice, write_slice

        asked = batches, strategies, limit, pickle.loads(subject)
        yield from write_slice(*asked, folder) if folder else send_slice(*asked)

    return play_own


def describe(work: Work, seconds: float) -> dict:
    """What lies beside a table: how it was made, and its columns."""
    return {
        "scenarios": len(work.scenarios),
        "strategies": work.strategies,
        "seconds": seconds,
        "versions": project.versions(),
        "columns": [column._asdict() for column in work.subject.columns],
    }
