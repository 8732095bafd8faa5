"""Means and quantiles: exact, and the same digits however the data is cut and whatever is held at once."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assignlab.sweep import SweepError, Table, aggregate
from assignlab.sweep.workplace import errors_in

MEASURES = ["gini", "variation", "largest", "jain"]


def rows() -> pd.DataFrame:
    """Sums that lose digits in most orders, ties, nulls, what is no number, a group without values."""
    drawn = np.random.default_rng(5)
    count = 400
    gini = drawn.normal(size=count) * 2.0 ** drawn.integers(-70, 60, count)
    gini[:4] = [1e30, 1.0, -1e30, 2.0**-60]
    frame = pd.DataFrame(
        {
            "scenario": np.arange(count) // 4,
            "strategy": drawn.choice(["range", "sticky", "roundrobin"], count),
            "step": np.arange(count) % 4,
            "racks": pd.array(drawn.choice([0, 3, None], count), dtype="Int64"),
            "error": None,
            "gini": gini,
            "variation": drawn.integers(0, 5, count) / 3,
            "largest": drawn.integers(0, 2**40, count),
            "jain": np.where(drawn.random(count) < 0.1, np.inf, drawn.random(count)),
        }
    )
    frame.loc[frame["strategy"] == "roundrobin", "variation"] = None
    frame.loc[7, "error"] = "RuntimeError: no"
    frame.loc[frame.index[frame["strategy"] == "sticky"][3], "jain"] = -np.inf
    return frame


@pytest.fixture(scope="module")
def cuts(spark, tmp_path_factory):
    """The same rows in one file, and in seven in another order."""
    frame = rows()
    tables = []
    for parts in (1, 7):
        folder = tmp_path_factory.mktemp("cut")
        mixed = frame.sample(frac=1, random_state=parts)
        for number, some in enumerate(np.array_split(np.arange(len(frame)), parts)):
            part = pa.Table.from_pandas(mixed.iloc[some], preserve_index=False)
            part = part.set_column(4, "error", part.column("error").cast(pa.string()))
            pq.write_table(part, folder / f"slice-{number}.parquet", row_group_size=50)
        tables.append(Table(folder))
    return tables


@pytest.mark.parametrize("whole_histories", [False, True])
def test_the_same_digits_however_the_data_is_cut(cuts, monkeypatch, whole_histories):
    asked = dict(by=["strategy", "racks"], measures=MEASURES, band=(0.05, 0.95))
    asked["whole_histories"] = whole_histories
    one, seven = [table.summary(**asked) for table in cuts]
    assert len(one) == 9
    pd.testing.assert_frame_equal(one, seven, check_exact=True)
    monkeypatch.setattr(aggregate, "ROWS_AT_ONCE", 100)
    monkeypatch.setattr(aggregate, "BINS", 16)
    selected, again = [table.summary(**asked) for table in cuts]
    pd.testing.assert_frame_equal(selected, again, check_exact=True)
    # Spark rounds differently between two ranks, in the last digit.
    pd.testing.assert_frame_equal(selected, one, rtol=1e-14, atol=0.0)


def test_means_are_rounded_once_and_quantiles_interpolate(cuts):
    frame = cuts[1].summary(["strategy"], MEASURES, band=(0.1, 0.9)).set_index("strategy")
    for strategy, some in rows().groupby("strategy"):
        for measure in ("gini", "largest"):
            exact = sum(map(Fraction, some[measure].tolist())) / len(some)
            assert frame.loc[strategy, measure] == float(exact)
            wanted = some[measure].quantile([0.1, 0.5, 0.9])
            columns = [f"{measure}_low", f"{measure}_median", f"{measure}_high"]
            np.testing.assert_allclose(frame.loc[strategy, columns].astype(float), wanted)
    assert frame.loc["range", "jain"] == math.inf and math.isnan(frame.loc["sticky", "jain"])
    none = frame.loc["roundrobin", ["variation", "variation_low", "variation_high"]]
    assert none.isna().all()
    assert frame["failed"].sum() == 1 and frame["runs"].sum() == len(rows()) - 1


def test_a_table_without_numbers(spark, tmp_path):
    table = pa.table({"strategy": ["a"], "error": ["no"], "gini": pa.array([None], pa.float64())})
    pq.write_table(table, tmp_path / "slice-0.parquet")
    frame = Table(tmp_path).summary(["strategy"], ["gini"])
    assert frame[["runs", "failed"]].values.tolist() == [[0, 1]] and frame["gini"].isna().all()
    assert Table(tmp_path).summary(["strategy"], ["gini"], where="false").empty


def test_files_that_do_not_say_how_large_their_values_are(cuts, tmp_path):
    table = pa.concat_tables(map(pq.read_table, cuts[0].path.glob("*.parquet")))
    pq.write_table(table, tmp_path / "slice-0.parquet", write_statistics=False)
    asked = (["strategy"], ["gini", "largest"])
    pd.testing.assert_frame_equal(Table(tmp_path).summary(*asked), cuts[1].summary(*asked))
    with pytest.raises(SweepError, match="has no column 'idle': it is of another sweep"):
        Table(tmp_path).summary("strategy", "idle")
    assert errors_in(tmp_path / "slice-0.parquet") == len(table)
