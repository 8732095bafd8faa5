"""How many records a table may have: ``python bench/summary.py [--records 100000000] [--doubles 1]``.

Writes a table of that many records in three groups, one measure of whole numbers and up to four of
doubles that all differ, and has ``Table.summary`` aggregate it under Spark's usual memory, the data cut once
into few large parts and once into many small ones. Both answers have to be the same to the last bit,
and those of NumPy over all values: means by ``math.fsum``, quantiles by ``numpy.quantile``.
"""

import argparse
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from arguments import whole

from assignlab.sweep import Table
from assignlab.sweep.spark import session

GROUPS = ("range", "roundrobin", "sticky")
WHOLE = "count_gap"
DOUBLES = ("variation", "gini", "jain", "max_over_mean")
BAND = (0.05, 0.95)
ROWS_PER_FILE = 1_000_000
CUTS = (("256m", "4"), ("8m", "7"))
"""Of the data for Spark: largest part of a file, parts of a shuffle."""


def write(folder: Path, records: int, doubles: Sequence[str]) -> dict[str, dict[str, list]]:
    """Write the table; per group and measure its values, in parts."""
    rng = np.random.default_rng(0)
    kept: dict[str, dict[str, list]] = {g: {m: [] for m in (WHOLE, *doubles)} for g in GROUPS}
    for number, first in enumerate(range(0, records, ROWS_PER_FILE)):
        scenario = np.arange(first, min(first + ROWS_PER_FILE, records))
        group = rng.integers(len(GROUPS), size=len(scenario))
        values = {
            WHOLE: rng.poisson(3 + group).astype(np.int64),
            **{measure: rng.lognormal(0.1 * group) for measure in doubles},
        }
        for g, name in enumerate(GROUPS):
            for measure, found in values.items():
                kept[name][measure].append(found[group == g])
        columns = {
            "scenario": scenario,
            "strategy": pa.array(np.array(GROUPS)[group]),
            "error": pa.nulls(len(scenario), pa.string()),
            **values,
        }
        pq.write_table(pa.table(columns), folder / f"slice-{number:05}.parquet")
    return kept


def by_numpy(kept: dict[str, dict[str, list]]) -> dict[tuple[str, str], list[float]]:
    """Mean and quantiles of every group and measure."""
    found = {}
    for group, measures in kept.items():
        for measure, parts in measures.items():
            values = np.concatenate(parts).astype(float)
            mean = math.fsum(values) / len(values)
            found[group, measure] = [mean, *np.quantile(values, [BAND[0], 0.5, BAND[1]]).tolist()]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=whole(1_000), default=100_000_000)
    parser.add_argument("--doubles", type=int, choices=range(1, len(DOUBLES) + 1), default=1)
    asked = parser.parse_args()
    records, measures = asked.records, (WHOLE, *DOUBLES[: asked.doubles])
    with tempfile.TemporaryDirectory(prefix="bench-") as place:
        kept = write(Path(place), records, measures[1:])
        frames = []
        for part, shuffle in CUTS:
            spark = session()
            spark.conf.set("spark.sql.files.maxPartitionBytes", part)
            spark.conf.set("spark.sql.shuffle.partitions", shuffle)
            table = Table(place)
            cut = table.records().rdd.getNumPartitions()
            began = time.perf_counter()
            frames.append(table.summary(by=["strategy"], measures=measures, band=BAND))
            seconds = time.perf_counter() - began
            print(f"{records:,} records in {cut} parts: {seconds:.1f} s", flush=True)
        memory = spark.sparkContext.getConf().get("spark.driver.memory")
    print(f"Spark's memory: {memory}; cut both ways the same bits: {frames[0].equals(frames[1])}")
    ends = ("", "_low", "_median", "_high")
    rows = frames[0].set_index("strategy")
    differ, most = 0, 0.0
    for (group, measure), expected in by_numpy(kept).items():
        for end, value in zip(ends, expected, strict=True):
            ours = float(rows.loc[group, measure + end])
            differ += ours != value
            most = max(most, abs(ours - value) / abs(value))
    compared = len(GROUPS) * len(measures) * len(ends)
    print(
        f"NumPy over all values: {compared - differ} of {compared} numbers are the same bits, "
        f"the others differ by at most {most:.1e} of their value"
    )
    print(frames[0].to_string(index=False))
    return int(not frames[0].equals(frames[1]) or most > 1e-15)


if __name__ == "__main__":
    sys.exit(main())
