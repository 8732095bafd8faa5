"""``assignlab optimum``: a line in, the proven optimum out, and a strategy beside it."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from assignlab.cli import main

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


def test_the_group_in_the_documentation_is_answered_as_printed():
    page = (Path(__file__).parents[2] / "docs" / "optimum.md").read_text(encoding="utf-8")
    asked = re.search(r"echo '(.*?)' \|", page, re.DOTALL)[1].replace("\n", "")
    printed = re.search(r'^\{"assignment".*$', page, re.MULTILINE)[0]
    assert answers(asked, options=("--strategy", "sticky")) == ([json.loads(printed)], 0)
