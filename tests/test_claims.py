"""docs/README.md: every place that is said to show a statement of the articles is there."""

import json
import re
from functools import cache
from pathlib import Path

import pytest

from assignlab.runner.articles import CITED, TITLE

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
STATEMENTS = PAGE.split(f"\n# {TITLE}\n")[1]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in STATEMENTS.splitlines()
    if line.startswith("| ") and not re.match(r"\| (statement|00\d)? ?\|", line)
]
ARTICLES = sorted(set(re.findall(r"^\| (00\d) \| \S+", STATEMENTS, re.MULTILINE)))


@cache
def notebook(name: str) -> tuple[set[str], set[str], str]:
    """Its headings, the names of its results, and all its text."""
    found = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in found["cells"])
    headings = {line.lstrip("# ") for line in text.splitlines() if re.match("##+ ", line)}
    return headings, set(found["metadata"]["assignlab"]["results"]), text


def missing(told: str, must_cite: bool = True) -> list[str]:
    """What a cell of the tables names and what is not there; nothing named is missing, too."""
    wrong, cited = [], 0
    for number, name, behind in CITED.findall(told):
        if not (ROOT / "notebooks" / f"{name}.ipynb").is_file() or number != name[:2]:
            wrong.append(name)
            continue
        headings, results, text = notebook(name)
        for heading, result in re.findall(r"\*([^*]+)\*|`([a-z0-9_]+)`", behind):
            cited += 1
            there = (
                any(known.startswith(heading) for known in headings) or f"**{heading}" in text
                if heading
                else result in results
            )
            wrong += [] if there else [heading or result]
        cited += "the same" in behind
    for page in re.findall(r"\]\(([\w.]+\.md)\)", told):
        cited += 1
        wrong += [] if (ROOT / "docs" / page).is_file() else [page]
    return wrong + (["any place"] if must_cite and not cited else [])


@pytest.mark.parametrize(("statement", "shown_in", "original"), ROWS)
def test_every_place_that_shows_a_statement_is_there(statement, shown_in, original):
    assert not missing(shown_in), statement
    assert not missing(original, must_cite=False), statement


IN_01 = "[01](../notebooks/01_strategies_by_example.ipynb)"


@pytest.mark.parametrize(
    ("told", "wrong"),
    [
        (f"{IN_01}, `range_by_topic`, *Range: topic by topic*", []),
        (f"{IN_01}, `range_by_topics`", ["range_by_topics"]),
        (f"{IN_01}, *Range, topic by topic*", ["Range, topic by topic"]),
        (f"{IN_01}, *circle of consumers*", ["circle of consumers"]),
        ("[02](../notebooks/01_strategies_by_example.ipynb), `slips`", ["01_strategies_by_example", "any place"]),
        ("[17](../notebooks/17_none.ipynb)", ["17_none", "any place"]),
        ("[none.md](none.md)", ["none.md"]),
        (IN_01, ["any place"]),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told(told, wrong):
    assert missing(told) == wrong


def test_all_five_articles_are_listed_and_cited():
    assert ARTICLES == ["000", "001", "002", "003", "004"]
    assert {number for row in ROWS for number in re.findall(r"00\d", row[0])} == set(ARTICLES)
    assert len(ROWS) >= 45
