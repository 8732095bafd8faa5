"""Says on stderr how far a sweep is."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from assignlab.sweep.spark import every, is_connect
from assignlab.sweep.workplace import tell

PROGRESS_EVERY = 2.0
NOTHING_YET = 10.0
"""Seconds, after which it is told what a sweep may wait for of which nothing is done."""


@contextmanager
def told_progress(
    reported: Callable[[], tuple[int, float]], costs: Sequence[float]
) -> Iterator[None]:
    """Tell on stderr how far a sweep is, every few seconds, while the block runs.

    ``reported``: gives how many scenarios are done, and what they were to cost;
    ``costs``: predicted, per scenario. Time left is judged by cost and not by number.
    """
    whole, began = sum(costs) or 1.0, time.monotonic()
    seen = share = 0.0
    nothing_told = False

    def say(text: str, done: int, share: float) -> None:
        tell(f"{done}/{len(costs)} scenarios, {share:.0%}, {text}")

    def look() -> None:
        nonlocal seen, share, nothing_told
        done, cost = reported()
        taken = time.monotonic() - began
        if cost / whole != share:
            seen, share = taken, cost / whole
        so_far = f"{taken:.0f} s so far"
        if done:
            # What is reported may stand still for as long as a task takes, or an executor is gone.
            left = round(seen / share - taken)
            say(f"{left} s left" if left > 0 else so_far, done, min(share, 1.0))
        elif taken >= NOTHING_YET and not nothing_told:
            nothing_told = True
            compiled = (
                "a strategy is compiled when it is first played ('assignlab warm' does it ahead)"
            )
            say(f"{so_far}; {compiled}", 0, 0.0)

    with every(PROGRESS_EVERY, look):
        yield
    say(f"{time.monotonic() - began:.1f} s", len(costs), 1.0)


class RoundCount:
    """How far the rounds of a sweep are, by what Spark says of its tasks; no folder is needed."""

    def __init__(self):
        self._before = self._now = (0, 0.0)

    def reported(self) -> tuple[int, float]:
        """How many scenarios are done, and what they were to cost."""
        return max(self._before, self._now)

    @contextmanager
    def round(self, spark, tasks: int, scenarios: int, cost: float):
        """Count one round of ``tasks`` while the block runs; afterwards it is done."""

        def count(done: int):
            share = min(done / tasks, 1.0)
            self._now = (self._before[0] + round(share * scenarios), self._before[1] + share * cost)

        with told_tasks(spark, tasks, count):
            yield
        self._before = (self._before[0] + scenarios, self._before[1] + cost)


@contextmanager
def told_tasks(spark, tasks: int, count: Callable[[int], None]):
    """Have ``count`` called with the number of finished tasks of the stage that has so many."""
    if is_connect(spark):

        def handle(stages, **_):
            for stage in stages or ():
                if stage.num_tasks == tasks:
                    count(stage.num_completed_tasks)

        spark.registerProgressHandler(handle)
        try:
            yield
        finally:
            spark.removeProgressHandler(handle)
        return
    tracker = spark.sparkContext.statusTracker()

    def look() -> None:
        with suppress(Exception):  # Spark ends; whoever waits for the round says so
            stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
            done = [s.numCompletedTasks for s in stages if s and s.numTasks == tasks]
            if done:
                count(max(done))

    with every(PROGRESS_EVERY, look):
        yield
