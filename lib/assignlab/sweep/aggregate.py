"""Means and quantiles whose digits do not depend on how Spark cuts the data, in bounded memory.

**Means.** A sum of doubles depends on its order, a sum of whole numbers does not. So every value is
cut into three whole numbers, each of as many bits as the sum of all rows leaves room for, from the
bits of the largest value downwards: Spark adds whole numbers, and the mean is rounded once, at the
end. With a million rows that keeps 126 bits below the largest value, with a hundred million 105.

**Quantiles.** Up to `ROWS_AT_ONCE` rows, Spark's ``percentile``, which holds all different values.
Above, the same numbers by selection: count the values in bins, find the bins of the wanted ranks,
count what is in these alone. Both are exact and interpolate linearly between neighbouring ranks.
"""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pandas as pd

ROWS_AT_ONCE = 1_000_000
BINS = 8192
BITS = 62
"""That a sum of whole numbers may have; Spark's bigint has one more, and the sign."""
SMALLEST_EXPONENT = -900
"""Smaller numbers are scaled as those of this exponent: the power of two for them would be infinite."""


class Extent(NamedTuple):
    """How large the values of a table are: ``rows``, and per measure an ``exponent`` e: all finite
    values are below 2 ** e."""

    rows: int
    exponent: Mapping[str, int]

    @property
    def bits(self) -> int:
        """Of one whole number, so that the sum over all rows has room."""
        return BITS - self.rows.bit_length()

    def summed(self) -> "Extent":
        """The extent of sums over some of the rows."""
        more = self.rows.bit_length()
        return Extent(self.rows, {name: e + more for name, e in self.exponent.items()})


def extent(files: Iterable[Path], rows, measures: Sequence[str]) -> Extent:
    """The extent of a table, read off the ends of its files; of ``rows`` where these do not say."""
    count, largest = 0, dict.fromkeys(measures, 0.0)
    for file in files:
        found = pq.read_metadata(file)
        count += found.num_rows
        places = {name: found.schema.names.index(name) for name in measures}
        for i in range(found.num_row_groups):
            for name, place in places.items():
                column = found.row_group(i).column(place)
                ends = column.statistics
                if ends is not None and ends.has_min_max:
                    largest[name] = max(largest[name], abs(ends.min), abs(ends.max))
                elif ends is None or ends.null_count != column.num_values:
                    largest[name] = math.inf
    odd = [name for name in measures if not math.isfinite(largest[name])]
    read = extent_of(rows, odd).exponent if odd else {}
    return Extent(count, {**exponents(largest), **read})


def extent_of(rows, measures: Sequence[str]) -> Extent:
    """The extent of rows, counted by Spark."""
    from pyspark.sql import functions as F

    values = [F.abs(F.col(name).cast("double")) for name in measures]
    count, *most = rows.agg(
        F.count("*"), *(F.max(F.when(value < math.inf, value)) for value in values)
    ).first()
    return Extent(count, exponents(dict(zip(measures, [x or 0.0 for x in most], strict=True))))


def exponents(largest: Mapping[str, float]) -> dict[str, int]:
    """Of each measure, see :class:`Extent`."""
    return {name: max(math.frexp(x)[1], SMALLEST_EXPONENT) for name, x in largest.items()}


def is_finite(value):
    """Whether a column's value is a number that can be added."""
    from pyspark.sql import functions as F

    # NaN is larger than infinity in Spark.
    return F.abs(value) < math.inf


def digits(value, exponent: int, bits: int) -> list:
    """Three columns of whole numbers below 2 ** bits that together are the value, or null."""
    from pyspark.sql import functions as F

    left = F.when(is_finite(value), value) * 2.0 ** (bits - exponent)
    found = []
    for _ in range(3):
        found.append(left.cast("bigint"))
        left = (left - found[-1].cast("double")) * 2.0**bits
    return found


def sums_over(rows, key: Sequence[str], measures: Sequence[str], size: Extent):
    """``rows`` added up over those of one key: each measure's sum, null where one of them has none, and
    the first ``error``."""
    from pyspark.sql import functions as F

    columns = [F.first("error", ignorenulls=True).alias("error")]
    for name in measures:
        value = F.col(name).cast("double")
        high, middle, low = (F.sum(d) for d in digits(value, size.exponent[name], size.bits))
        small = (middle + low * 2.0**-size.bits) * 2.0**-size.bits
        exact = (high + small) * 2.0 ** (size.exponent[name] - size.bits)
        odd = F.sum(F.when(~is_finite(value), value))
        whole = F.count(value) == F.count(F.lit(1))
        columns.append(F.when(whole, F.coalesce(odd, exact)).alias(name))
    return rows.groupBy(*key).agg(*columns)


def summarise(
    rows, by: Sequence[str], measures: Sequence[str], band: tuple[float, float] | None, size: Extent
) -> "pd.DataFrame":
    """See :meth:`assignlab.sweep.table.Table.summary`."""
    import pandas as pd
    from pyspark.sql import functions as F

    shares = [band[0], 0.5, band[1]] if band else []
    columns: list = []
    at_once = size.rows <= ROWS_AT_ONCE
    for m, name in enumerate(measures):
        value = F.col(name).cast("double")
        for place, part in enumerate(digits(value, size.exponent[name], size.bits)):
            columns.append(F.coalesce(F.sum(part), F.lit(0)).alias(f"_{m}_{place}"))
        columns.append(F.count(value).alias(f"_{m}_count"))
        columns.append(F.sum(F.when(~is_finite(value), value)).alias(f"_{m}_odd"))
        if shares and at_once:
            columns.append(F.percentile(value, shares).alias(f"_{m}_quantiles"))
        elif shares:
            finite = F.when(is_finite(value), value)
            columns += [F.min(finite).alias(f"_{m}_least"), F.max(finite).alias(f"_{m}_most")]
    columns.append(F.count_if(F.isnull("error")).alias("runs"))
    columns.append(F.count("error").alias("failed"))
    rows_by = rows.groupBy(*by).agg(*columns)
    found = (rows_by.orderBy(*by) if by else rows_by).toArrow()
    frame = found.select([*by]).to_pandas()
    selected = select(rows, by, measures, shares, found) if shares and not at_once else []
    for m, name in enumerate(measures):
        unit = Fraction(2) ** (size.exponent[name] - 3 * size.bits)
        facts = [found.column(f"_{m}_{key}").to_pylist() for key in (0, 1, 2, "count", "odd")]
        means = [
            mean(parts, count, odd, size.bits, unit)
            for *parts, count, odd in zip(*facts, strict=True)
        ]
        frame[name] = pd.Series(means, dtype=float)
        if not shares:
            continue
        three = found.column(f"_{m}_quantiles").to_pylist() if at_once else selected[m]
        for place, suffix in enumerate(("low", "median", "high")):
            values = [math.nan if some is None else some[place] for some in three]
            frame[f"{name}_{suffix}"] = pd.Series(values, dtype=float)
    return frame.assign(**{name: found.column(name).to_pandas() for name in ("runs", "failed")})


def mean(parts: Sequence[int], count: int, odd: float | None, bits: int, unit: Fraction) -> float:
    """The mean of values whose sums of whole numbers are ``parts``, rounded once.

    ``odd``: the sum of those that are no finite numbers, None without them.
    """
    if odd is not None or not count:
        return math.nan if odd is None else odd
    high, middle, low = parts
    return float(((high << 2 * bits) + (middle << bits) + low) * unit / count)


# ---- quantiles of more rows than memory holds --------------------------------------------------


def select(
    rows, by: Sequence[str], measures: Sequence[str], shares: Sequence[float], found: pa.Table
) -> list[list]:
    """Per measure and row of ``found`` the quantiles, None without values.

    ``found``: per group the least and the most value of each measure.
    """
    from pyspark.sql import functions as F
    from pyspark.sql.window import Window

    groups = {f"_by{i}": found.column(name) for i, name in enumerate(by)}
    groups["_group"] = pa.array(range(found.num_rows), pa.int64())
    for m in range(len(measures)):
        least, most = (found.column(f"_{m}_{end}").to_pylist() for end in ("least", "most"))
        groups[f"_{m}_least"] = found.column(f"_{m}_least")
        groups[f"_{m}_scale"] = pa.array(map(scale, least, most), pa.float64())
    same = [F.col(name).eqNullSafe(F.col(f"_by{i}")) for i, name in enumerate(by)]
    rows = rows.join(
        F.broadcast(rows.sparkSession.createDataFrame(pa.table(groups))), on=same or None
    )

    cells = []
    for m, name in enumerate(measures):
        value = F.col(name).cast("double")
        inside = F.floor((value - F.col(f"_{m}_least")) * F.col(f"_{m}_scale"))
        beyond = F.when(value < 0, -1).otherwise(BINS + 1)
        bin = F.when(is_finite(value), inside).otherwise(beyond)
        cells.append(F.struct(value.alias("x"), bin.alias("bin")))
    values = (
        rows.select("_group", F.posexplode(F.array(*cells)).alias("measure", "cell"))
        .select("_group", "measure", "cell.x", "cell.bin")
        .where("x is not null")
    )

    def has_rank(before):
        positions = [share * (F.col("count") - 1) for share in shares]
        ranks = [end(position) for position in positions for end in (F.floor, F.ceil)]
        return reduce(or_, [(rank >= F.col(before)) & (rank < F.col("upto")) for rank in ranks])

    whole = Window.partitionBy("_group", "measure")
    bins = (
        values.groupBy("_group", "measure", "bin")
        .agg(F.count("x").alias("some"))
        .withColumn("count", F.sum("some").over(whole))
        .withColumn("upto", F.sum("some").over(whole.orderBy("bin")))
        .withColumn("before", F.col("upto") - F.col("some"))
        .where(has_rank("before"))
        .select("_group", "measure", "bin", "before", "count")
    )
    rank = F.col("before") + F.sum("some").over(
        Window.partitionBy("_group", "measure", "bin").orderBy("x")
    )
    near = (
        values.join(F.broadcast(bins), on=["_group", "measure", "bin"])
        .groupBy("_group", "measure", "bin", "before", "count", "x")
        .agg(F.count("x").alias("some"))
        .withColumn("upto", rank)
        .withColumn("first", F.col("upto") - F.col("some"))
        .where(has_rank("first"))
        .select("_group", "measure", "first", "upto", "count", "x")
        .collect()
    )
    runs: dict[tuple[int, int], list] = {}
    for group, measure, first, upto, count, x in near:
        runs.setdefault((measure, group), []).append((first, upto, count, x))
    return [
        [
            [quantile(runs[m, group], share) for share in shares] if (m, group) in runs else None
            for group in range(found.num_rows)
        ]
        for m in range(len(measures))
    ]


def scale(least: float | None, most: float | None) -> float:
    """Bins per unit between the ends; 0 puts all into one."""
    if least is None or most is None or not 0.0 < most - least < math.inf:
        return 0.0
    return min(BINS / (most - least), sys.float_info.max)


def quantile(runs: Sequence[tuple[int, int, int, float]], share: float) -> float:
    """The quantile by linear interpolation: of runs of equal values (first rank, rank after the
    last, number of all values, value)."""

    def at(rank: int) -> float:
        return next(x for first, upto, _, x in runs if first <= rank < upto)

    position = share * (runs[0][2] - 1)
    below, above = math.floor(position), math.ceil(position)
    if at(below) == at(above):
        return at(below)
    return (above - position) * at(below) + (position - below) * at(above)
