"""Sweeps: a grid of scenarios, every strategy on each, one flat record per simulated rebalance.

    from assignlab import sweep

    scenarios = sweep.grid(members=[5, 10, 20], topics=range(1, 41), seed=range(20))
    table = sweep.run(scenarios, strategies=["range", "sticky"])
    frame = table.summary(by=["strategy", "members", "topics"], measures=["count_gap"])

`run` refuses what it does not know before a JVM starts, deals the scenarios into slices of about
equal cost, lets Spark play them and leaves one Parquet table, whole or not at all. The table does
not depend on the number of cores or slices, nor on the order of tasks. Frames that come back to
pandas are aggregated by Spark first, so they stay small.
"""

from assignlab.sweep.driver import run
from assignlab.sweep.question import SweepError, grid
from assignlab.sweep.table import Table

__all__ = ["SweepError", "Table", "grid", "run"]
