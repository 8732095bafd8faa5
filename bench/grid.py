"""All 8,064 points of Kafka's grid, under every strategy: ``python bench/grid.py``.

The grid is that of :mod:`assignlab.replay.kafkas_grid`: 576 groups, seven events each, and every
strategy in the place of Kafka's two; one that does not read racks is asked once about groups that
differ in them alone. Every answer is looked at (is it valid, how even, what did it move, how far is
that from the proven optimum) and timed. It goes from groups of few members to those of many. A
strategy is not asked about a group for which the smaller ones foretell a call of more than
``--patience`` seconds; the fewest moves are proven above ``--solved`` members for equal subscriptions
alone. What is left out is counted.

The records stay in ``outputs/sweeps/grid-<members>.parquet``. The warm Java classes beside ours:
``bench/versus_java.py --sizes 50x100x500``, for any number of topics, partitions of each and members.
"""

import argparse
import math
import sys
import time
from collections.abc import Collection
from dataclasses import replace
from functools import partial

import pandas as pd
from arguments import amount, strategy_name, whole

from assignlab import assignors, timeline, warm
from assignlab.local.project import cores
from assignlab.replay.kafkas_grid import (
    AXES,
    MEMBERS,
    PARTITIONS,
    SOLVED,
    TOPICS,
    Trial,
    growth,
    load_all,
    play,
    reads_racks,
    trials,
)

POINT = ("strategy", "members", "topics", "partitions", "distribution", "subscription", "racks")


def main() -> int:
    """0 if no group failed but those that take too long."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--strategies", nargs="+", type=strategy_name, default=assignors.names())
    parser.add_argument("--patience", type=amount(0), default=0.25, help="seconds of one call")
    parser.add_argument(
        "--solved", type=whole(0), default=SOLVED, help="members of the largest optimum"
    )
    parser.add_argument("--limit", type=amount(1), default=10.0, help="seconds of one group")
    parser.add_argument("--members", type=whole(5), nargs="+", default=MEMBERS)
    chosen = parser.parse_args()
    warm.main(chosen.strategies)  # a group's limit is no time to compile in
    began = time.perf_counter()
    records, left_out = played(chosen)
    tell(records, left_out)
    print(f"{time.perf_counter() - began:.0f} s in all")
    failed = records["error"].dropna()
    return 0 if failed.str.startswith("TimeLimit").all() else 1


def played(chosen) -> tuple[pd.DataFrame, pd.Series]:
    """(all records, how many groups each strategy was not asked about)."""
    frames: list[pd.DataFrame] = []
    usual: dict[tuple, float] = {}
    left_out = dict.fromkeys(chosen.strategies, 0)
    for members in sorted(chosen.members):
        began = time.perf_counter()
        asked = []
        # What takes longest comes first, so that no core waits for it in the end.
        axes = {"members": [members], "topics": TOPICS[::-1], "partitions": PARTITIONS[::-1]}
        for trial in trials(chosen.strategies, chosen.solved, **axes):
            if foretold(trial, usual, chosen.members) > chosen.patience:
                left_out[trial.strategy] += 1
                continue
            asked.append(replace(trial, patience=chosen.patience))
        load = partial(load_all, chosen.strategies)
        table = timeline.sweep(asked, play, f"grid-{members}", chosen.limit, 24 * cores(), load)
        frame = table.frame()
        frames.append(frame)
        threw = frame["thrown"].fillna("") != ""
        milliseconds = frame["again_ms"].mask(threw, 0.0)  # to throw takes no time
        # Of a group's events the median: one call that had to wait for a core foretells nothing.
        calls = milliseconds.groupby([frame[name] for name in POINT]).median() / 1e3
        usual |= calls.fillna(math.inf).to_dict()  # nothing came of it in time
        seconds = time.perf_counter() - began
        print(f"{members} members: {len(asked):,} groups, {seconds:.0f} s", flush=True)
    return pd.concat(frames, ignore_index=True), pd.Series(left_out)


def foretold(trial: Trial, usual: dict[tuple, float], members: Collection[int]) -> float:
    """The seconds of a usual call, as smaller groups let expect; 0 for the smallest.

    ``members``: of the groups that are played. Ten times as many members take as many times longer
    as they did the last time. What was not asked about, or not answered in time, takes for ever.
    """
    fewer = [replace(trial, members=trial.members // 10**k) for k in (1, 2)]
    if fewer[0].members not in members:
        return 0.0
    one, two = (
        usual.get(tuple(getattr(smaller, name) for name in POINT), math.inf) for smaller in fewer
    )
    return one * one / two if fewer[1].members in members and 0 < two < one else one


def tell(records: pd.DataFrame, left_out: pd.Series) -> None:
    """The page: for each kind of subscription a line for each strategy."""
    failed = records[records["error"].notna()]
    answered = records[records["error"].isna() & (records["thrown"] == "")]
    exponents = growth(answered).set_index(["strategy", "subscription", "axis"])
    for subscription, part in answered.groupby("subscription"):
        print(
            f"\n{subscription}\n{'strategy':30} {'answers':>7} {'wrong':>5} {'gap regret':>10} "
            f"{'moves regret':>12} {'median ms':>9} {'slowest':>9}  at members topics partitions event"
            f"{'':12} exponents in {', '.join(AXES)}, with 95 %"
        )
        for name, rows in part.groupby("strategy", sort=False):
            wrong = (rows[["unassigned", "doubled", "invalid"]].sum(axis=1) > 0).sum()
            at = rows.loc[rows["again_ms"].idxmax()]
            powers = (
                exponents.loc[(name, subscription, axis)]
                for axis in AXES
                if axis in exponents.index.levels[2]
            )
            told = "  ".join(f"{p.exponent:5.2f} ({p.low:5.2f} {p.high:5.2f})" for p in powers)
            print(
                f"{name:30} {len(rows):7,} {wrong:5,} {rows['gap_regret'].max():10,.0f} "
                f"{rows['moves_regret'].max():12,.0f} {rows['again_ms'].median():9.3f} "
                f"{at['again_ms']:9.2f}  {at['members']:5} {at['topics']:5} {at['partitions']:6} "
                f"{at['event']:17} {told}"
            )
    threw = records[records["thrown"].fillna("") != ""]
    same = (~answered["strategy"].map(reads_racks)).sum()
    print(
        f"\n{len(answered):,} answers, which hold for {same:,} points more with racks that nobody reads; "
        f"{len(threw):,} times the original throws; {len(failed):,} failed; "
        f"{answered['gap_regret'].isna().sum():,} incomplete, without a regret; "
        f"{answered['moves_regret'].isna().sum():,} whose fewest moves are not proven"
    )
    for name, groups in left_out[left_out > 0].items():
        print(f"{name}: not asked about {groups} of the groups, which would take too long")
    for (name, why), rows in failed.groupby(["strategy", "error"]):
        print(f"{name}: {len(rows)} groups: {why}")


if __name__ == "__main__":
    sys.exit(main())
