"""bench/arguments.py: a wrong argument of a script is one line, not a traceback."""

import argparse
import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

BENCH = SimpleNamespace(
    **runpy.run_path(str(Path(__file__).parents[1] / "bench" / "arguments.py"), run_name="bench")
)
TYPES = {
    "whole": BENCH.whole(2),
    "amount": BENCH.amount(0),
    "strategy": BENCH.strategy_name,
    "names": BENCH.each(BENCH.one_of("case", ["EQUAL FULL", "HET1 FULL"])),
}


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("whole", "1e6", 1_000_000),
        ("amount", "0.25", 0.25),
        ("strategy", "sticky@3.6.1", "sticky@3.6.1"),
        ("names", "HET1 FULL,EQUAL FULL", ["HET1 FULL", "EQUAL FULL"]),
    ],
)
def test_an_argument_that_is_right_is_taken(kind, text, value):
    assert TYPES[kind](text) == value


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        *[("whole", text, f"whole number from 2 on, got '{text}'") for text in ("1", "2.5", "x")],
        *[("amount", text, "expected a number from 0 on") for text in ("-1", "nan", "inf")],
        ("strategy", "stiky", "did you mean 'sticky'"),
        ("names", "EQUAL FULL,EQUAL", "unknown case 'EQUAL'"),
    ],
)
def test_an_argument_that_is_wrong_is_told(kind, text, why):
    with pytest.raises(argparse.ArgumentTypeError, match=why):
        TYPES[kind](text)
