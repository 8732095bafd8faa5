"""``assignlab optimum``: a line in, the proven optimum out, and a strategy beside it."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab import assignors
from assignlab.cli import main
from assignlab.replay import beside
from assignlab.replay.history import history
from assignlab.replay.rebalance import replay
from assignlab.replay.records import COLUMNS_BESIDE_OPTIMUM, measure, records
from assignlab.replay.scenarios import Scenario

TWO_MOVES = {
    "topics": [{"name": f"t{t}", "partitions": n} for t, n in enumerate((1, 2, 2))],
    "members": [
        {"id": "a", "topics": ["t0", "t1"], "owned": [["t0", 0], ["t1", 0], ["t1", 1]],
         "generation": 7},
        {"id": "b", "topics": ["t0", "t2"], "owned": [["t2", 0], ["t2", 1]], "generation": 7},
        {"id": "new", "topics": ["t0", "t2"]},
    ],
}  # fmt: skip
OPTIMUM = {
    "assignment": {
        "a": [["t1", 0], ["t1", 1]],
        "b": [["t2", 0], ["t2", 1]],
        "new": [["t0", 0]],
    },
    "sum_of_squares": 9,
    "moves": 1,
    "front": [[9, 1], [13, 0]],
}


def answers(*lines: str, options: tuple[str, ...] = ()) -> tuple[list[dict], int]:
    """(one answer per line, exit code) of the command."""
    result = CliRunner().invoke(main, ["optimum", *options], input="\n".join(lines))
    return [json.loads(line) for line in result.stdout.splitlines()], result.exit_code


def test_one_line_each_and_a_bad_one_does_not_end_it():
    told, code = answers(json.dumps(TWO_MOVES), '{"topics": 3}', "", json.dumps(TWO_MOVES))
    assert told[0] == told[2] == OPTIMUM
    assert told[1] == {"error": "DocumentError: topics: expected an array of topics, got 3"}
    assert code == 1


@pytest.mark.parametrize(
    "strategy, squares, moves, gap, needless",
    [
        ("sticky", 9, 2, 0, 1),
        ("cooperative-sticky", 9, 2, 0, 1),
        ("range", 11, 1, 1, 0),
    ],
)
def test_a_strategy_beside_the_optimum(strategy, squares, moves, gap, needless):
    [told], code = answers(json.dumps(TWO_MOVES), options=("--strategy", strategy))
    assert code == 0
    assert told.pop("strategy") == {
        "name": strategy, "sum_of_squares": squares, "moves": moves, "gap_regret": gap,
        "moves_regret": needless, "price_of_balance": 1,
    }  # fmt: skip
    assert told == OPTIMUM


def test_a_strategy_without_a_complete_answer():
    queues = {
        "topics": [{"name": "t", "brokers": [["b", 3]]}],
        "members": [{"id": "a", "topics": ["t"]}],
    }
    [told], code = answers(json.dumps(queues), options=("--strategy", "rocketmq-machine-room"))
    assert told["assignment"] == {"a": [["t", "b-0"], ["t", "b-1"], ["t", "b-2"]]}
    assert told["strategy"]["error"].startswith("NotComplete: 3 of the partitions have no owner")
    assert code == 0


def test_a_strategy_that_does_not_exist():
    assert answers(json.dumps(TWO_MOVES), options=("--strategy", "stikky")) == ([], 2)


def test_the_answer_is_the_same_where_nothing_is_compiled():
    command = [sys.executable, "-m", "assignlab", "optimum", "--strategy", "sticky"]
    done = subprocess.run(
        command, input=json.dumps(TWO_MOVES), capture_output=True, text=True, check=True,
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
    )  # fmt: skip
    told = answers(json.dumps(TWO_MOVES), options=("--strategy", "sticky"))
    assert told == ([json.loads(done.stdout)], 0)


def test_the_groups_in_the_documentation_are_answered_as_printed():
    page = (Path(__file__).parents[2] / "docs" / "optimum.md").read_text(encoding="utf-8")
    asked = re.findall(r"echo '(.*?)' \|.*?--strategy (\w+)\n(\{.*?)\n", page, re.DOTALL)
    assert [strategy for _, strategy, _ in asked] == ["sticky", "range"]
    for group, strategy, printed in asked:
        told = answers(group.replace("\n", ""), options=("--strategy", strategy))
        assert told == ([json.loads(printed)], 0)


EVENTS = ("FULL", "JOIN_ONE", "LEAVE_ONE", "TOPIC_CREATED", "PARTITIONS_ADDED")
NAMES = [column.name for column in COLUMNS_BESIDE_OPTIMUM]


def rows(subscription: str, strategy: str, seed: int = 3) -> list[dict]:
    """The records of a small history, with the columns of the optimum."""
    scenario = Scenario(5, 4, 23, subscription=subscription, seed=seed, events=EVENTS)
    found = records(scenario, [strategy], optimum=True)
    return [dict(zip(NAMES, row, strict=True)) for row in found]


@pytest.mark.parametrize("strategy", ["range", "sticky"])
def test_the_closed_form_of_a_rebalance_is_what_the_solver_says(strategy):
    for seed in range(5):
        scenario = Scenario(5, 4, 23, seed=seed, events=EVENTS)
        for step in replay(history(scenario), assignors.get(strategy)):
            best, regret = beside.regret_of(step)
            *_, squares, least, ratio, idle, moves, gap, needless = beside.measure(
                step, measure(step)
            )
            assert (squares, least, moves) == (
                regret.sum_of_squares, best.sum_of_squares, best.moves
            )  # fmt: skip
            assert idle == (best.assignment.sizes == 0).sum()
            assert ratio == pytest.approx(
                best.assignment.sizes.max() / best.assignment.sizes.mean()
            )
            assert (gap, needless) == (regret.gap_regret, regret.moves_regret)


@pytest.mark.parametrize("subscription", ["RANDOM", "HETEROGENEOUS_NESTED"])
def test_needed_and_avoidable_moves_are_proven_for_every_subscription(subscription):
    found = [row for s in ("range", "roundrobin", "sticky") for row in rows(subscription, s)]
    for row in found:
        assert row["needed"] + row["avoidable"] == row["by_choice"]
        assert row["avoidable"] == row["moves_regret"] >= 0 <= row["gap_regret"]
        assert row["sum_of_squares"] >= row["least_squares"]
        if row["sum_of_squares"] == row["least_squares"]:
            assert (row["needed"], row["gap_regret"]) == (row["fewest"], 0)
    assert any(row["gap_regret"] > 0 for row in found)
    assert any(row["avoidable"] > 0 for row in found)


def test_an_error_and_an_incomplete_answer_have_no_regret():
    [failed] = list(records(Scenario(1, events=("FULL", "LEAVE_ONE")), ["range"], optimum=True))
    assert len(failed) == len(NAMES) and failed[-7:] == (None,) * 7
    crowded = Scenario(9, 2, 3, subscription="RANDOM", events=("FULL",))
    [row] = records(crowded, ["server-simple"], optimum=True)
    shared = dict(zip(NAMES, row, strict=True))
    assert shared["doubled"] > 0 and shared["least_squares"] > 0
    assert (shared["gap_regret"], shared["moves_regret"]) == (None, None)
