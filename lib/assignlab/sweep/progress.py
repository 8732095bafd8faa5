"""Says on stderr how far a sweep is."""

import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import contextmanager, suppress

from assignlab.sweep.spark import is_connect

PROGRESS_EVERY = 2.0
NOTHING_YET = 10.0
"""Seconds, after which it is told what a sweep may wait for of which nothing is done."""


class Progress:
    """Tells on stderr how far a sweep is, every few seconds, while it is entered.

    ``reported``: gives how many scenarios are done, and what they were to cost;
    ``costs``: predicted, per scenario. Time left is judged by cost and not by number.
    """

    def __init__(self, reported: Callable[[], tuple[int, float]], costs: Sequence[float]):
        self._reported = reported
        self._scenarios = len(costs)
        self._cost = sum(costs) or 1.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._over.set()
        self._thread.join()
        if failure[0] is None:
            self._say(f"{time.monotonic() - self._began:.1f} s", self._scenarios, 1.0)

    def _watch(self):
        seen = share = 0.0
        told = False
        while not self._over.wait(PROGRESS_EVERY):
            done, cost = self._reported()
            taken = time.monotonic() - self._began
            if cost / self._cost != share:
                seen, share = taken, cost / self._cost
            if done:
                # What is reported may stand still for as long as a task takes, or an executor is gone.
                left = round(seen / share - taken)
                time_told = f"{left} s left" if left > 0 else f"{taken:.0f} s so far"
                self._say(time_told, done, min(share, 1.0))
            elif taken >= NOTHING_YET and not told:
                told = True
                compiled = (
                    "a strategy is compiled when it is first played "
                    "('assignlab warm' does it ahead)"
                )
                self._say(f"{taken:.0f} s so far; {compiled}", 0, 0.0)

    def _say(self, text: str, done: int, share: float):
        line = f"sweep: {done}/{self._scenarios} scenarios, {share:.0%}, {text}"
        print(line, file=sys.stderr, flush=True)


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
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch():
        while not over.wait(PROGRESS_EVERY):
            with suppress(Exception):  # Spark ends; whoever waits for the round says so
                stages = [tracker.getStageInfo(i) for i in tracker.getActiveStageIds()]
                done = [s.numCompletedTasks for s in stages if s and s.numTasks == tasks]
                if done:
                    count(max(done))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
